/* Memory of the card and pinned memory of the host: HIP allocates, and what it gave is kept in an ordered list, because HIP's own
 * answers about pointers changed with its versions. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "provider/hip/internal.h"

enum { HIP_HOST_PORTABLE = 1, HIP_HOST_MAPPED = 2, HIP_HOST_WRITE_COMBINED = 4, HIP_HOST_COHERENT = 0x40000000 };
enum { HIP_ATTACH_GLOBAL = 1, HIP_IPC_LAZY_PEER = 1, HIP_INVALID_VALUE = 1 };

/* An allocation made through us: what pointer_info answers from. */
struct range {
    char *base;
    size_t size;
    int device; /* -1: host memory */
    bool managed;
    bool pinned; /* managed, and emulated by pinned memory of the host */
};

static struct {
    pthread_rwlock_t lock;
    struct range *at; /* ordered by base */
    size_t n, cap;
} ranges = { .lock = PTHREAD_RWLOCK_INITIALIZER };

/* ---- The list */

/* Index of the first range whose base is above `ptr`; locked. */
static size_t range_above(const void *ptr)
{
    size_t low = 0, high = ranges.n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if ((uintptr_t)ranges.at[mid].base <= (uintptr_t)ptr)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

bool aw_hip_range_add(void *base, size_t size, int device, bool managed)
{
    bool ok = true;
    pthread_rwlock_wrlock(&ranges.lock);
    if (ranges.n == ranges.cap) {
        size_t cap = ranges.cap ? ranges.cap * 2 : 64;
        struct range *grown = realloc(ranges.at, cap * sizeof *grown);
        ok = grown != NULL;
        if (ok) {
            ranges.at = grown;
            ranges.cap = cap;
        }
    }
    if (ok) {
        size_t at = range_above(base);
        memmove(ranges.at + at + 1, ranges.at + at, (ranges.n - at) * sizeof *ranges.at);
        ranges.at[at] = (struct range){ base, size, device, managed, false };
        ranges.n++;
    }
    pthread_rwlock_unlock(&ranges.lock);
    return ok;
}

void aw_hip_range_remove(const void *base)
{
    pthread_rwlock_wrlock(&ranges.lock);
    size_t above = range_above(base);
    if (above && ranges.at[above - 1].base == base) {
        memmove(ranges.at + above - 1, ranges.at + above, (ranges.n - above) * sizeof *ranges.at);
        ranges.n--;
    }
    pthread_rwlock_unlock(&ranges.lock);
}

int aw_hip_pointer_info(const void *ptr, struct aw_pointer_info *ret_info)
{
    int status = AW_ERR_INVALID_VALUE;
    pthread_rwlock_rdlock(&ranges.lock);
    size_t above = range_above(ptr);
    if (above) {
        const struct range *r = &ranges.at[above - 1];
        if ((uintptr_t)ptr - (uintptr_t)r->base < r->size) {
            *ret_info = (struct aw_pointer_info){ r->base, r->size, r->device, r->managed };
            status = AW_OK;
        }
    }
    pthread_rwlock_unlock(&ranges.lock);
    return status;
}

void aw_hip_ranges_forget(int dev)
{
    size_t n = 0;
    pthread_rwlock_wrlock(&ranges.lock);
    for (size_t i = 0; i < ranges.n && dev >= 0; i++)
        if (ranges.at[i].device != dev)
            ranges.at[n++] = ranges.at[i];
    ranges.n = n;
    pthread_rwlock_unlock(&ranges.lock);
}

/* ---- Memory of the card */

/* Marks the allocation, or tells whether it is marked. */
static bool range_pinned(const void *base, bool mark)
{
    bool pinned = false;
    pthread_rwlock_wrlock(&ranges.lock);
    size_t above = range_above(base);
    if (above && ranges.at[above - 1].base == base)
        pinned = ranges.at[above - 1].pinned |= mark;
    pthread_rwlock_unlock(&ranges.lock);
    return pinned;
}

/* HIP waits for the whole device before it frees.  A device whose queues are stuck keeps its memory to the end of the process. */
int aw_hip_mem_free(int dev, void *ptr)
{
    struct aw_pointer_info info;
    USE(dev);
    if (aw_hip_pointer_info(ptr, &info) != AW_OK || info.base != ptr || info.device < 0)
        return AW_ERR_INVALID_VALUE;
    (void)aw_hip_device_settle(dev); /* a fault of its own is told by who waits for it */
    if (aw_hip_dead(dev))
        return aw_hip_fault_of(dev);
    /* First, so that another thread's allocation at the same address is not taken out. */
    bool pinned = range_pinned(ptr, false);
    aw_hip_range_remove(ptr);
    int status = aw_hip_result(dev, pinned ? aw_hip.api.hipHostFree(ptr) : aw_hip.api.hipFree(ptr));
    if (status != AW_OK && aw_hip_range_add(info.base, info.size, info.device, info.managed) && pinned)
        range_pinned(ptr, true);
    return status;
}

int aw_hip_mem_alloc(int dev, size_t size, void **ret_ptr)
{
    void *p = NULL;
    USE(dev);
    int status = aw_hip_result(dev, aw_hip.api.hipMalloc(&p, size));
    if (status != AW_OK)
        return status;
    if (!aw_hip_range_add(p, size, dev, false)) {
        aw_hip.api.hipFree(p);
        return AW_ERR_OUT_OF_MEMORY;
    }
    *ret_ptr = p;
    return AW_OK;
}

/* Where the card or its driver has no managed memory, pinned memory of the host serves: both sides reach it at the same
 * address, and neither needs to know where it is. */
int aw_hip_managed_alloc(int dev, size_t size, void **ret_ptr)
{
    void *p = NULL;
    USE(dev);
    int status = aw_hip_result(dev, aw_hip.api.hipMallocManaged(&p, size, HIP_ATTACH_GLOBAL));
    bool pinned = status == AW_ERR_NOT_SUPPORTED;
    if (pinned)
        status = aw_hip_result(dev, aw_hip.api.hipHostMalloc(&p, size, HIP_HOST_PORTABLE | HIP_HOST_MAPPED | HIP_HOST_COHERENT));
    if (status != AW_OK)
        return status;
    if (!aw_hip_range_add(p, size, dev, true)) {
        if (pinned)
            aw_hip.api.hipHostFree(p);
        else
            aw_hip.api.hipFree(p);
        return AW_ERR_OUT_OF_MEMORY;
    }
    range_pinned(p, pinned);
    *ret_ptr = p;
    return AW_OK;
}

/* ---- Pinned memory of the host */

static unsigned host_flags(unsigned flags)
{
    return (flags & AW_HOST_MAPPED ? HIP_HOST_MAPPED : 0u) | (flags & AW_HOST_PORTABLE ? HIP_HOST_PORTABLE : 0u) |
           (flags & AW_HOST_WRITE_COMBINED ? HIP_HOST_WRITE_COMBINED : 0u);
}

int aw_hip_host_alloc(int dev, size_t size, unsigned flags, void **ret_ptr)
{
    void *p = NULL;
    USE(dev);
    int status = aw_hip_result(dev, aw_hip.api.hipHostMalloc(&p, size, host_flags(flags)));
    if (status != AW_OK)
        return status;
    if (!aw_hip_range_add(p, size, -1, false)) {
        aw_hip.api.hipHostFree(p);
        return AW_ERR_OUT_OF_MEMORY;
    }
    *ret_ptr = p;
    return AW_OK;
}

/* HIP waits for every device in these two. */
static int all_settle(void)
{
    for (int i = 0; i < aw_hip.count; i++) {
        if (!aw_hip_dead(i))
            (void)aw_hip_device_settle(i);
        if (aw_hip_dead(i))
            return aw_hip_fault_of(i);
    }
    return AW_OK;
}

int aw_hip_host_free(void *ptr)
{
    struct aw_pointer_info info;
    if (!aw_hip.opened || aw_hip_pointer_info(ptr, &info) != AW_OK || info.base != ptr || info.device >= 0)
        return AW_ERR_INVALID_VALUE;
    int status = all_settle();
    if (status != AW_OK)
        return status;
    aw_hip_range_remove(ptr);
    status = aw_hip_result(-1, aw_hip.api.hipHostFree(ptr));
    if (status != AW_OK)
        aw_hip_range_add(info.base, info.size, info.device, info.managed);
    return status;
}

int aw_hip_host_register(int dev, void *ptr, size_t size, unsigned flags, void **ret_device_ptr)
{
    void *device_ptr = NULL;
    USE(dev);
    unsigned native = host_flags(flags) & ~(unsigned)HIP_HOST_WRITE_COMBINED;
    int status = aw_hip_result(dev, aw_hip.api.hipHostRegister(ptr, size, native));
    if (status != AW_OK)
        return status;
    status = aw_hip_result(dev, aw_hip.api.hipHostGetDevicePointer(&device_ptr, ptr, 0));
    if (status == AW_OK && !aw_hip_range_add(ptr, size, -1, false))
        status = AW_ERR_OUT_OF_MEMORY;
    if (status != AW_OK) {
        aw_hip.api.hipHostUnregister(ptr);
        return status;
    }
    *ret_device_ptr = device_ptr;
    return AW_OK;
}

int aw_hip_host_unregister(void *ptr)
{
    if (!aw_hip.opened)
        return AW_ERR_HOST_NOT_REGISTERED;
    int status = all_settle();
    if (status != AW_OK)
        return status;
    status = aw_hip_result(-1, aw_hip.api.hipHostUnregister(ptr));
    if (status == AW_OK)
        aw_hip_range_remove(ptr);
    return status;
}

/* ---- Memory of other processes */

/* What we send: HIP's handle takes all of its 64 bytes, so the size is learnt from the card's driver at the other end. */
int aw_hip_ipc_mem_get(int dev, void *ptr, struct aw_ipc_handle *ret_handle)
{
    struct aw_pointer_info info;
    struct aw_ipc_handle handle;
    USE(dev);
    if (aw_hip_pointer_info(ptr, &info) != AW_OK || info.base != ptr || info.device < 0 || info.managed)
        return AW_ERR_INVALID_VALUE;
    if (!aw_hip.api.hipIpcGetMemHandle)
        return AW_ERR_NOT_SUPPORTED;
    int status = aw_hip_result(dev, aw_hip.api.hipIpcGetMemHandle(&handle, ptr));
    if (status == AW_OK)
        *ret_handle = handle;
    return status;
}

int aw_hip_ipc_mem_open(int dev, const struct aw_ipc_handle *handle, void **ret_ptr, size_t *ret_size)
{
    void *p = NULL, *base = NULL;
    size_t size = 0;
    USE(dev);
    if (!aw_hip.api.hipIpcOpenMemHandle || !aw_hip.api.hipIpcCloseMemHandle || !aw_hip.api.hipMemGetAddressRange)
        return AW_ERR_NOT_SUPPORTED;
    /* The only flag there is was 0 in HIP 5.2 and before, and 1 later; either version takes no other. */
    int error = aw_hip.api.hipIpcOpenMemHandle(&p, *handle, HIP_IPC_LAZY_PEER);
    if (error == HIP_INVALID_VALUE)
        error = aw_hip.api.hipIpcOpenMemHandle(&p, *handle, 0);
    int status = aw_hip_result(dev, error);
    if (status != AW_OK)
        return status;
    status = aw_hip_result(dev, aw_hip.api.hipMemGetAddressRange(&base, &size, p));
    if (status == AW_OK && !aw_hip_range_add(p, size, dev, false))
        status = AW_ERR_OUT_OF_MEMORY;
    if (status != AW_OK) {
        aw_hip.api.hipIpcCloseMemHandle(p);
        return status;
    }
    *ret_ptr = p;
    *ret_size = size;
    return AW_OK;
}

int aw_hip_ipc_mem_close(int dev, void *ptr)
{
    struct aw_pointer_info info;
    USE(dev);
    if (aw_hip_pointer_info(ptr, &info) != AW_OK || info.base != ptr || !aw_hip.api.hipIpcCloseMemHandle)
        return AW_ERR_INVALID_VALUE;
    (void)aw_hip_device_settle(dev);
    if (aw_hip_dead(dev))
        return aw_hip_fault_of(dev);
    aw_hip_range_remove(ptr);
    return aw_hip_result(dev, aw_hip.api.hipIpcCloseMemHandle(ptr));
}
