/* Memory of the simulated HIP, copies and fills: memory of the process, at the same address on the cards. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hip.h"
#include "api.h"

struct range {
    struct range *next;
    char *base;
    size_t size, mapped;
    bool registered;   /* the program's own: the range is mapped to whole pages */
};

static struct range *ranges;
static size_t in_use;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t whole_pages(size_t size)
{
    return (size + 4095) & ~(size_t)4095;
}

static int range_add(void *base, size_t size, size_t mapped, bool registered)
{
    struct range *r = malloc(sizeof *r);
    if (!r)
        return HIP_OUT_OF_MEMORY;
    uint64_t from = (uint64_t)(uintptr_t)base & ~4095ull, to = whole_pages((uint64_t)(uintptr_t)base + size);
    if (!sim_map_add(from, (void *)(uintptr_t)from, to - from, HIP_ALL_NODES)) {
        free(r);
        return HIP_INVALID_VALUE;
    }
    pthread_mutex_lock(&lock);
    *r = (struct range){ ranges, base, size, mapped, registered };
    ranges = r;
    in_use += mapped;
    pthread_mutex_unlock(&lock);
    return HIP_SUCCESS;
}

/* The range at `base` taken from the list, NULL when there is none of that kind. */
static struct range *range_take(const void *base, bool registered)
{
    pthread_mutex_lock(&lock);
    struct range **at = &ranges;
    while (*at && ((*at)->base != base || (*at)->registered != registered))
        at = &(*at)->next;
    struct range *r = *at;
    if (r) {
        *at = r->next;
        in_use -= r->mapped;
    }
    pthread_mutex_unlock(&lock);
    return r;
}

void *hip_memory_new(size_t size)
{
    size_t mapped = whole_pages(size ? size : 1);
    if (mapped < size || mapped > sim_settings()->vram - in_use)
        return NULL;
    void *p = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    if (range_add(p, size ? size : 1, mapped, false) != HIP_SUCCESS) {
        munmap(p, mapped);
        return NULL;
    }
    return p;
}

bool hip_memory_free(void *p)
{
    struct range *r = range_take(p, false);
    if (!r)
        return false;
    sim_map_remove((uint64_t)(uintptr_t)p);
    munmap(p, r->mapped);
    free(r);
    return true;
}

static int allocate(void **ptr, size_t size)
{
    *ptr = size ? hip_memory_new(size) : NULL;
    return hip_result(*ptr || !size ? HIP_SUCCESS : HIP_OUT_OF_MEMORY);
}

static int release(void *ptr)
{
    return hip_result(!ptr || hip_memory_free(ptr) ? HIP_SUCCESS : HIP_INVALID_VALUE);
}

int hipMemGetInfo(size_t *available, size_t *total)
{
    *total = sim_settings()->vram;
    *available = *total - in_use;
    return hip_result(HIP_SUCCESS);
}

int hipMalloc(void **ptr, size_t size)
{
    return allocate(ptr, size);
}

int hipFree(void *ptr)
{
    return release(ptr);
}

int hipHostMalloc(void **ptr, size_t size, unsigned flags)
{
    (void)flags;
    return allocate(ptr, size);
}

int hipHostFree(void *ptr)
{
    return release(ptr);
}

int hipMallocManaged(void **ptr, size_t size, unsigned flags)
{
    (void)flags;
    return allocate(ptr, size);
}

int hipHostRegister(void *ptr, size_t size, unsigned flags)
{
    (void)flags;
    return hip_result(range_add(ptr, size, 0, true));
}

int hipHostUnregister(void *ptr)
{
    struct range *r = range_take(ptr, true);
    if (!r)
        return hip_result(HIP_NOT_REGISTERED);
    sim_map_remove((uint64_t)(uintptr_t)ptr & ~4095ull);
    free(r);
    return hip_result(HIP_SUCCESS);
}

int hipHostGetDevicePointer(void **device_ptr, void *ptr, unsigned flags)
{
    (void)flags;
    *device_ptr = ptr;
    return hip_result(HIP_SUCCESS);
}

int hipMemGetAddressRange(void **base, size_t *size, void *ptr)
{
    int error = HIP_NOT_FOUND;
    pthread_mutex_lock(&lock);
    for (struct range *r = ranges; r && error; r = r->next) {
        if ((char *)ptr < r->base || (size_t)((char *)ptr - r->base) >= r->size)
            continue;
        *base = r->base;
        *size = r->size;
        error = HIP_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return hip_result(error);
}

/* ---- Copies and fills */

int hipMemcpyAsync(void *dst, const void *src, size_t size, int kind, void *stream)
{
    (void)kind, (void)stream;
    if (!hip_fault())
        memmove(dst, src, size);
    return hip_result(HIP_SUCCESS);
}

int hipMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height, int kind,
                     void *stream)
{
    (void)kind, (void)stream;
    for (size_t row = 0; row < height && !hip_fault(); row++)
        memmove((char *)dst + row * dst_pitch, (const char *)src + row * src_pitch, width);
    return hip_result(HIP_SUCCESS);
}

int hipMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device, size_t size, void *stream)
{
    (void)dst_device, (void)src_device;
    return hipMemcpyAsync(dst, src, size, 0, stream);
}

int hipMemsetD8Async(void *dst, unsigned char value, size_t count, void *stream)
{
    (void)stream;
    if (!hip_fault())
        memset(dst, value, count);
    return hip_result(HIP_SUCCESS);
}

int hipMemsetD16Async(void *dst, unsigned short value, size_t count, void *stream)
{
    (void)stream;
    for (size_t k = 0; k < count && !hip_fault(); k++)
        memcpy((char *)dst + k * sizeof value, &value, sizeof value);
    return hip_result(HIP_SUCCESS);
}

int hipMemsetD32Async(void *dst, int value, size_t count, void *stream)
{
    (void)stream;
    for (size_t k = 0; k < count && !hip_fault(); k++)
        memcpy((char *)dst + k * sizeof value, &value, sizeof value);
    return hip_result(HIP_SUCCESS);
}
