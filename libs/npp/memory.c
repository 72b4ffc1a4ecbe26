/* NPP's memory: images whose rows begin where the device likes it, and signals. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/queue.h"
#include "nppisu_proto.h"
#include "npps_proto.h"

enum { ROW_ELEMENT = 16 }; /* bytes that one access may have: rows are that well aligned at least */

/* NULL: no memory, or nothing to have. */
static void *image(int width, int height, size_t pixel, int *step)
{
    struct aw_lib_queue queue;
    CUdeviceptr data;
    size_t pitch;
    if (width <= 0 || height <= 0 || !step || aw_lib_queue_init(&queue) != CUDA_SUCCESS ||
        cuMemAllocPitch_v2(&data, &pitch, (size_t)width * pixel, (size_t)height, ROW_ELEMENT) != CUDA_SUCCESS)
        return NULL;
    if (pitch > INT32_MAX) {
        cuMemFree_v2(data);
        return NULL;
    }
    *step = (int)pitch;
    return (void *)(uintptr_t)data;
}

static void *signal(size_t n, size_t size)
{
    struct aw_lib_queue queue;
    CUdeviceptr data;
    if (!n || n > SIZE_MAX / size || aw_lib_queue_init(&queue) != CUDA_SUCCESS || cuMemAlloc_v2(&data, n * size) != CUDA_SUCCESS)
        return NULL;
    return (void *)(uintptr_t)data;
}

static void release(void *data)
{
    struct aw_lib_queue queue;
    if (data && aw_lib_queue_init(&queue) == CUDA_SUCCESS)
        cuMemFree_v2((CUdeviceptr)(uintptr_t)data);
}

void awnppisu_nppiFree(void *data)
{
    release(data);
}

void awnpps_nppsFree(void *values)
{
    release(values);
}

#define IMAGE(type, channels) \
    Npp##type *awnppisu_nppiMalloc_##type##_C##channels(int width, int height, int *step) \
    { \
        return image(width, height, channels * sizeof(Npp##type), step); \
    }
#define IMAGES_124(type) IMAGE(type, 1) IMAGE(type, 2) IMAGE(type, 4)
#define IMAGES_134(type) IMAGE(type, 1) IMAGE(type, 3) IMAGE(type, 4)
#define IMAGES(type) IMAGES_124(type) IMAGE(type, 3)
IMAGES(8u)
IMAGES(16u)
IMAGES_124(16s)
IMAGES(16sc)
IMAGES_134(32s)
IMAGES(32sc)
IMAGES(32f)
IMAGES(32fc)

/* CUDA 11's have an int. */
#define SIGNAL(type) \
    Npp##type *awnpps_nppsMalloc_##type(size_t n) \
    { \
        return signal(n, sizeof(Npp##type)); \
    } \
    Npp##type *awnpps_nppsMalloc_##type##_11(int n) \
    { \
        return n < 0 ? NULL : signal((size_t)n, sizeof(Npp##type)); \
    }
SIGNAL(8u)
SIGNAL(8s)
SIGNAL(16u)
SIGNAL(16s)
SIGNAL(16sc)
SIGNAL(32u)
SIGNAL(32s)
SIGNAL(32sc)
SIGNAL(32f)
SIGNAL(32fc)
SIGNAL(64s)
SIGNAL(64sc)
SIGNAL(64f)
SIGNAL(64fc)
