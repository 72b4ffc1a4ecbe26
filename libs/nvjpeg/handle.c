/* nvJPEG's handles, versions, and buffers of the program's allocators.  Decoding needs no memory of the device beside the result,
 * so buffers stay empty until the program gives them a size. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "handle.h"

#include <stdlib.h>
#include <string.h>

#include "nvjpeg_proto.h"
#include "turbo.h"

struct aw_lib_queue aw_jpeg_queue(const struct nvjpegHandle *handle, cudaStream_t stream)
{
    struct aw_lib_queue queue = handle->queue;
    queue.stream = (CUstream)stream;
    return queue;
}

nvjpegStatus_t aw_jpeg_driver_status(CUresult result)
{
    return result == CUDA_SUCCESS       ? NVJPEG_STATUS_SUCCESS
           : result == AW_LIB_NO_MEMORY ? NVJPEG_STATUS_ALLOCATOR_FAILURE
                                        : NVJPEG_STATUS_EXECUTION_FAILED;
}

nvjpegStatus_t aw_jpeg_keep(const uint8_t *data, size_t length, uint8_t **at, size_t *at_length)
{
    uint8_t *copy = malloc(length ? length : 1);
    if (!copy)
        return NVJPEG_STATUS_ALLOCATOR_FAILURE;
    memcpy(copy, data, length);
    free(*at);
    *at = copy;
    *at_length = length;
    return NVJPEG_STATUS_SUCCESS;
}

/* ---- Handles.  There are no engines for JPEG: what asks for them is told so. */

static nvjpegStatus_t create(nvjpegBackend_t backend, unsigned flags, nvjpegHandle_t *handle)
{
    if (!handle || backend < NVJPEG_BACKEND_DEFAULT || backend > NVJPEG_BACKEND_LOSSLESS_JPEG)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    if (backend == NVJPEG_BACKEND_HARDWARE || backend == NVJPEG_BACKEND_HARDWARE_DEVICE)
        return NVJPEG_STATUS_ARCH_MISMATCH;
    if (backend == NVJPEG_BACKEND_LOSSLESS_JPEG || !aw_turbo_open())
        return NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED;
    struct nvjpegHandle *h = calloc(1, sizeof *h);
    if (!h)
        return NVJPEG_STATUS_ALLOCATOR_FAILURE;
    if (aw_lib_queue_init(&h->queue) != CUDA_SUCCESS) {
        free(h);
        return NVJPEG_STATUS_NOT_INITIALIZED;
    }
    h->flags = flags;
    *handle = h;
    return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t awnvjpeg_nvjpegCreate(nvjpegBackend_t backend, nvjpegDevAllocator_t *dev_allocator, nvjpegHandle_t *handle)
{
    return create(backend, 0, handle);
}

nvjpegStatus_t awnvjpeg_nvjpegCreateEx(nvjpegBackend_t backend, nvjpegDevAllocator_t *dev_allocator,
                                       nvjpegPinnedAllocator_t *pinned_allocator, unsigned int flags, nvjpegHandle_t *handle)
{
    return create(backend, flags, handle);
}

nvjpegStatus_t awnvjpeg_nvjpegCreateExV2(nvjpegBackend_t backend, nvjpegDevAllocatorV2_t *dev_allocator,
                                         nvjpegPinnedAllocatorV2_t *pinned_allocator, unsigned int flags, nvjpegHandle_t *handle)
{
    return create(backend, flags, handle);
}

nvjpegStatus_t awnvjpeg_nvjpegCreateSimple(nvjpegHandle_t *handle)
{
    return create(NVJPEG_BACKEND_DEFAULT, 0, handle);
}

nvjpegStatus_t awnvjpeg_nvjpegDestroy(nvjpegHandle_t handle)
{
    if (!handle)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    free(handle);
    return NVJPEG_STATUS_SUCCESS;
}

#define PADDING(which, member)                                                                                  \
    nvjpegStatus_t awnvjpeg_nvjpegSet##which##MemoryPadding(size_t padding, nvjpegHandle_t handle)              \
    {                                                                                                           \
        if (!handle)                                                                                            \
            return NVJPEG_STATUS_INVALID_PARAMETER;                                                             \
        handle->member = padding;                                                                               \
        return NVJPEG_STATUS_SUCCESS;                                                                           \
    }                                                                                                           \
    nvjpegStatus_t awnvjpeg_nvjpegGet##which##MemoryPadding(size_t *padding, nvjpegHandle_t handle)             \
    {                                                                                                           \
        if (!handle || !padding)                                                                                \
            return NVJPEG_STATUS_INVALID_PARAMETER;                                                             \
        *padding = handle->member;                                                                              \
        return NVJPEG_STATUS_SUCCESS;                                                                           \
    }
PADDING(Device, device_padding)
PADDING(Pinned, pinned_padding)

nvjpegStatus_t awnvjpeg_nvjpegGetHardwareDecoderInfo(nvjpegHandle_t handle, unsigned int *num_engines,
                                                     unsigned int *num_cores_per_engine)
{
    if (!handle || !num_engines || !num_cores_per_engine)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    *num_engines = *num_cores_per_engine = 0;
    return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t awnvjpeg_nvjpegGetHardwareEncoderInfo(nvjpegHandle_t handle, unsigned int *num_engines)
{
    if (!handle || !num_engines)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    *num_engines = 0;
    return NVJPEG_STATUS_SUCCESS;
}

/* ---- Versions, of the last release of each CUDA that the table was taken from. */

#define VERSION(lib, major, minor, patch, cuda_minor)                                            \
    nvjpegStatus_t awnvjpeg_nvjpegGetProperty_##lib(libraryPropertyType type, int *value)        \
    {                                                                                            \
        if (!value || type < MAJOR_VERSION || type > PATCH_LEVEL)                                \
            return NVJPEG_STATUS_INVALID_PARAMETER;                                              \
        *value = type == MAJOR_VERSION ? major : type == MINOR_VERSION ? minor : patch;          \
        return NVJPEG_STATUS_SUCCESS;                                                            \
    }                                                                                            \
    nvjpegStatus_t awnvjpeg_nvjpegGetCudartProperty_##lib(libraryPropertyType type, int *value)  \
    {                                                                                            \
        if (!value || type < MAJOR_VERSION || type > PATCH_LEVEL)                                \
            return NVJPEG_STATUS_INVALID_PARAMETER;                                              \
        *value = type == MAJOR_VERSION ? lib : type == MINOR_VERSION ? cuda_minor : 0;           \
        return NVJPEG_STATUS_SUCCESS;                                                            \
    }
VERSION(11, 11, 9, 0, 8)
VERSION(12, 12, 4, 0, 9)
VERSION(13, 13, 3, 2, 3)

/* ---- Buffers */

struct nvjpegBufferDevice {
    nvjpegDevAllocator_t v1; /* or v2, or neither: the driver's */
    nvjpegDevAllocatorV2_t v2;
    struct aw_lib_queue queue;
    void *ptr;
    size_t size;
    cudaStream_t stream;
};

struct nvjpegBufferPinned {
    nvjpegPinnedAllocator_t v1;
    nvjpegPinnedAllocatorV2_t v2;
    struct aw_lib_queue queue;
    void *ptr;
    size_t size;
    cudaStream_t stream;
};

static int device_malloc(struct nvjpegBufferDevice *b, void **ptr, size_t size)
{
    CUdeviceptr at = 0;
    int result = aw_lib_queue_enter(&b->queue);
    if (result == CUDA_SUCCESS)
        result = cuMemAlloc_v2(&at, size);
    *ptr = (void *)(uintptr_t)at;
    return result;
}

static int pinned_malloc(struct nvjpegBufferPinned *b, void **ptr, size_t size)
{
    int result = aw_lib_queue_enter(&b->queue);
    return result == CUDA_SUCCESS ? cuMemHostAlloc(ptr, size, 0) : result;
}

static void device_free(struct nvjpegBufferDevice *b)
{
    cuMemFree_v2((CUdeviceptr)(uintptr_t)b->ptr);
}

static void pinned_free(struct nvjpegBufferPinned *b)
{
    cuMemFreeHost(b->ptr);
}

/* The two kinds, which differ in names alone; the allocator of version 1 of pinned memory has flags, too. */
#define BUFFER(Kind, lower, V1, V2, FLAGS)                                                                                  \
    static void lower##_drop(struct nvjpegBuffer##Kind *b)                                                                  \
    {                                                                                                                       \
        if (!b->ptr)                                                                                                        \
            return;                                                                                                         \
        if (b->v2.V1##_free)                                                                                                \
            b->v2.V1##_free(b->v2.V2, b->ptr, b->size, b->stream);                                                          \
        else if (b->v1.V1##_free)                                                                                           \
            b->v1.V1##_free(b->ptr);                                                                                        \
        else                                                                                                                \
            lower##_free(b);                                                                                                \
        b->ptr = NULL;                                                                                                      \
        b->size = 0;                                                                                                        \
    }                                                                                                                       \
    static nvjpegStatus_t lower##_create(nvjpegHandle_t handle, nvjpegBuffer##Kind##_t *buffer)                             \
    {                                                                                                                       \
        if (!handle || !buffer)                                                                                             \
            return NVJPEG_STATUS_INVALID_PARAMETER;                                                                         \
        struct nvjpegBuffer##Kind *b = calloc(1, sizeof *b);                                                                \
        if (!b)                                                                                                             \
            return NVJPEG_STATUS_ALLOCATOR_FAILURE;                                                                         \
        b->queue = handle->queue;                                                                                           \
        *buffer = b;                                                                                                        \
        return NVJPEG_STATUS_SUCCESS;                                                                                       \
    }                                                                                                                       \
    nvjpegStatus_t awnvjpeg_nvjpegBuffer##Kind##Destroy(nvjpegBuffer##Kind##_t buffer)                                      \
    {                                                                                                                       \
        if (!buffer)                                                                                                        \
            return NVJPEG_STATUS_INVALID_PARAMETER;                                                                         \
        lower##_drop(buffer);                                                                                               \
        free(buffer);                                                                                                       \
        return NVJPEG_STATUS_SUCCESS;                                                                                       \
    }                                                                                                                       \
    nvjpegStatus_t awnvjpeg_nvjpegBuffer##Kind##Resize(nvjpegBuffer##Kind##_t buffer, size_t size, cudaStream_t stream)     \
    {                                                                                                                       \
        if (!buffer)                                                                                                        \
            return NVJPEG_STATUS_INVALID_PARAMETER;                                                                         \
        if (size <= buffer->size)                                                                                           \
            return NVJPEG_STATUS_SUCCESS;                                                                                   \
        void *ptr = NULL;                                                                                                   \
        int result = buffer->v2.V1##_malloc   ? buffer->v2.V1##_malloc(buffer->v2.V2, &ptr, size, stream)                   \
                     : buffer->v1.V1##_malloc ? buffer->v1.V1##_malloc FLAGS                                                \
                                              : lower##_malloc(buffer, &ptr, size);                                         \
        if (result || !ptr)                                                                                                 \
            return NVJPEG_STATUS_ALLOCATOR_FAILURE;                                                                         \
        lower##_drop(buffer);                                                                                               \
        buffer->ptr = ptr;                                                                                                  \
        buffer->size = size;                                                                                                \
        buffer->stream = stream;                                                                                            \
        return NVJPEG_STATUS_SUCCESS;                                                                                       \
    }                                                                                                                       \
    nvjpegStatus_t awnvjpeg_nvjpegBuffer##Kind##Retrieve(nvjpegBuffer##Kind##_t buffer, size_t *size, void **ptr)           \
    {                                                                                                                       \
        if (!buffer || !size || !ptr)                                                                                       \
            return NVJPEG_STATUS_INVALID_PARAMETER;                                                                         \
        *size = buffer->size;                                                                                               \
        *ptr = buffer->ptr;                                                                                                 \
        return NVJPEG_STATUS_SUCCESS;                                                                                       \
    }
BUFFER(Device, device, dev, dev_ctx, (&ptr, size))
BUFFER(Pinned, pinned, pinned, pinned_ctx, (&ptr, size, 0))

#define CREATE(Kind, lower, Allocator, suffix, member)                                                                  \
    nvjpegStatus_t awnvjpeg_nvjpegBuffer##Kind##Create##suffix(nvjpegHandle_t handle, Allocator *lower##_allocator,     \
                                                               nvjpegBuffer##Kind##_t *buffer)                          \
    {                                                                                                                   \
        nvjpegStatus_t status = lower##_create(handle, buffer);                                                         \
        if (status == NVJPEG_STATUS_SUCCESS && lower##_allocator)                                                       \
            (*buffer)->member = *lower##_allocator;                                                                     \
        return status;                                                                                                  \
    }
CREATE(Device, device, nvjpegDevAllocator_t, , v1)
CREATE(Device, device, nvjpegDevAllocatorV2_t, V2, v2)
CREATE(Pinned, pinned, nvjpegPinnedAllocator_t, , v1)
CREATE(Pinned, pinned, nvjpegPinnedAllocatorV2_t, V2, v2)
