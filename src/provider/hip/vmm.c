/* Virtual memory over HIP's functions of the same names, from HIP 6 on: before, the description of an allocation had another
 * layout.  Whether a device can is found out by doing it once, to the bytes that a copy brings back.  Memory is not handed to
 * other processes: it could not be tried how HIP takes a descriptor. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "provider/hip/internal.h"

enum { TYPE_PINNED = 1, LOCATION_DEVICE = 1, READ_WRITE = 3, MINIMUM = 0 };
enum { UNKNOWN, YES, NO };

/* hipMemLocation, hipMemAccessDesc and hipMemAllocationProp of HIP 6 and 7. */
struct location {
    int type, id;
};
struct access_desc {
    struct location location;
    int flags;
};
struct allocation_prop {
    int type, handle_type;
    struct location location;
    void *win32;
    unsigned char compression, rdma;
    unsigned short usage;
};

struct aw_vmm {
    void *handle;
    int dev;
};

static struct allocation_prop prop_of(int dev)
{
    return (struct allocation_prop){ .type = TYPE_PINNED, .location = { LOCATION_DEVICE, aw_hip.dev[dev].ordinal } };
}

static int granularity(int dev, size_t *ret_bytes)
{
    struct allocation_prop prop = prop_of(dev);
    USE(dev);
    return aw_hip_result(dev, aw_hip.api.hipMemGetAllocationGranularity(ret_bytes, &prop, MINIMUM));
}

static int reserve(size_t size, size_t alignment, void *wish, void **ret_ptr)
{
    USE(0);
    return aw_hip_result(0, aw_hip.api.hipMemAddressReserve(ret_ptr, size, alignment, wish, 0));
}

static int unreserve(void *ptr, size_t size)
{
    USE(0);
    return aw_hip_result(0, aw_hip.api.hipMemAddressFree(ptr, size));
}

static int create(int dev, size_t size, bool shared, struct aw_vmm **ret_memory)
{
    struct allocation_prop prop = prop_of(dev);
    USE(dev);
    if (shared)
        return AW_ERR_NOT_SUPPORTED;
    struct aw_vmm *m = calloc(1, sizeof *m);
    if (!m)
        return AW_ERR_OUT_OF_MEMORY;
    m->dev = dev;
    int status = aw_hip_result(dev, aw_hip.api.hipMemCreate(&m->handle, size, &prop, 0));
    if (status == AW_OK)
        *ret_memory = m;
    else
        free(m);
    return status;
}

static int destroy(struct aw_vmm *memory)
{
    int dev = memory->dev;
    void *handle = memory->handle;
    free(memory);
    USE(dev);
    return aw_hip_result(dev, aw_hip.api.hipMemRelease(handle));
}

static int map(void *ptr, size_t size, struct aw_vmm *memory)
{
    USE(memory->dev);
    if (!aw_hip_range_add(ptr, size, memory->dev, false))
        return AW_ERR_OUT_OF_MEMORY;
    int status = aw_hip_result(memory->dev, aw_hip.api.hipMemMap(ptr, size, 0, memory->handle, 0));
    if (status != AW_OK)
        aw_hip_range_remove(ptr);
    return status;
}

static int unmap(void *ptr, size_t size)
{
    USE(0);
    int status = aw_hip_result(0, aw_hip.api.hipMemUnmap(ptr, size));
    if (status == AW_OK)
        aw_hip_range_remove(ptr);
    return status;
}

static int set_access(int dev, void *ptr, size_t size, unsigned access)
{
    struct access_desc desc = { { LOCATION_DEVICE, aw_hip.dev[dev].ordinal }, (int)access };
    USE(dev);
    return aw_hip_result(dev, aw_hip.api.hipMemSetAccess(ptr, size, &desc, 1));
}

/* Memory that is mapped is written and read back. */
static bool holds_values(int dev, void *ptr, size_t size)
{
    unsigned char got[8] = { 0 };
    return aw_hip.api.hipMemsetD8Async(ptr, 0x5a, size, NULL) == 0 && aw_hip.api.hipStreamSynchronize(NULL) == 0 &&
           aw_hip.api.hipMemcpyAsync(got, (char *)ptr + size - sizeof got, sizeof got, AW_COPY_D2H, NULL) == 0 &&
           aw_hip.api.hipStreamSynchronize(NULL) == 0 && got[0] == 0x5a && got[7] == 0x5a;
}

static bool try_once(int dev)
{
    struct aw_vmm *memory = NULL;
    void *ptr = NULL;
    size_t unit = 0;
    bool good = granularity(dev, &unit) == AW_OK && unit && reserve(unit, 0, NULL, &ptr) == AW_OK && ptr;
    bool made = good && create(dev, unit, false, &memory) == AW_OK;
    bool mapped = made && map(ptr, unit, memory) == AW_OK;
    bool works = mapped && set_access(dev, ptr, unit, READ_WRITE) == AW_OK && holds_values(dev, ptr, unit);
    if (mapped)
        works = unmap(ptr, unit) == AW_OK && works;
    if (made)
        works = destroy(memory) == AW_OK && works;
    if (good)
        works = unreserve(ptr, unit) == AW_OK && works;
    return works;
}

static bool supported(int dev)
{
    static _Atomic int known[AW_HIP_MAX_DEVICES];
    const struct aw_hip_api *api = &aw_hip.api;
    if (!aw_hip_dev_ok(dev) || aw_hip.major < 6 || !api->hipMemAddressReserve || !api->hipMemAddressFree || !api->hipMemCreate ||
        !api->hipMemRelease || !api->hipMemMap || !api->hipMemUnmap || !api->hipMemSetAccess ||
        !api->hipMemGetAllocationGranularity)
        return false;
    if (atomic_load(&known[dev]) == UNKNOWN)
        atomic_store(&known[dev], try_once(dev) ? YES : NO);
    return atomic_load(&known[dev]) == YES;
}

const struct aw_provider_vmm aw_hip_vmm = {
    .supported = supported, .granularity = granularity, .reserve = reserve, .unreserve = unreserve, .create = create,
    .destroy = destroy, .map = map, .unmap = unmap, .access = set_access,
};
