/* The driver API: virtual memory management. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/vmm.h"

#include <string.h>

#include "abi/cuda_util.h"

enum { USAGE_NONE = 0 };

/* The device that a location names and AW_VMM_DEVICE, or for the host's memory the first device and the node: 0 where any will
 * do. */
static enum aw_status place_of(const CUmemLocation *location, struct aw_device **ret_device, int *ret_node)
{
    enum aw_status status = aw_core_ready();
    if (status)
        return status;
    bool numbered = location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
    *ret_node = AW_VMM_DEVICE;
    switch (location->type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        *ret_device = aw_device_find(location->id);
        return *ret_device ? AW_OK : AW_ERR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        *ret_device = aw_device_find(0);
        if (!*ret_device || !aw_vmm_serves_host(*ret_device))
            return AW_ERR_NOT_SUPPORTED;
        *ret_node = numbered ? location->id : 0;
        return *ret_node < 0 ? AW_ERR_INVALID_VALUE : AW_OK;
    default:
        return AW_ERR_INVALID_VALUE;
    }
}

/* What an allocation may be: pinned, on a device or the host, to be shared by file descriptor or not at all.  Compression is a
 * wish. */
static enum aw_status prop_check(const CUmemAllocationProp *prop, struct aw_device **ret_device, int *ret_node)
{
    if (!prop || prop->type == CU_MEM_ALLOCATION_TYPE_INVALID)
        return AW_ERR_INVALID_VALUE;
    enum aw_status status = place_of(&prop->location, ret_device, ret_node);
    if (status)
        return status;
    bool fits = prop->type == CU_MEM_ALLOCATION_TYPE_PINNED && !prop->allocFlags.gpuDirectRDMACapable &&
                prop->allocFlags.usage == USAGE_NONE &&
                (prop->requestedHandleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == 0;
    return fits && aw_vmm_supported(*ret_device) ? AW_OK : AW_ERR_NOT_SUPPORTED;
}

CUresult awcu_cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                            CUmemAllocationGranularity_flags option)
{
    struct aw_device *device;
    int node;
    if (!granularity || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM && option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
        return CUDA_ERROR_INVALID_VALUE;
    enum aw_status status = prop_check(prop, &device, &node);
    return cu_result(status ? status : aw_vmm_granularity(device, granularity));
}

CUresult awcu_cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr, unsigned long long flags)
{
    uintptr_t address;
    enum aw_status status = aw_core_ready();
    if (status == AW_OK && (!ptr || flags))
        status = AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        status = aw_vmm_reserve(size, alignment, addr, &address);
    if (status == AW_OK)
        *ptr = address;
    return cu_result(status);
}

CUresult awcu_cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    return cu_result(aw_vmm_unreserve(ptr, size));
}

CUresult awcu_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
                          unsigned long long flags)
{
    struct aw_device *device;
    struct aw_vmm_memory *memory;
    int node;
    if (!handle || flags)
        return CUDA_ERROR_INVALID_VALUE;
    enum aw_status status = prop_check(prop, &device, &node);
    if (status == AW_OK)
        status = aw_vmm_create(device, node, size, prop->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE, &memory);
    if (status == AW_OK)
        *handle = (uintptr_t)memory;
    return cu_result(status);
}

CUresult awcu_cuMemRelease(CUmemGenericAllocationHandle handle)
{
    struct aw_vmm_memory *memory = aw_vmm_from(handle);
    return cu_result(memory ? aw_vmm_release(memory) : AW_ERR_INVALID_VALUE);
}

CUresult awcu_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
    struct aw_vmm_memory *memory;
    enum aw_status status = handle ? aw_vmm_retain((uintptr_t)addr, &memory) : AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        *handle = (uintptr_t)memory;
    return cu_result(status);
}

CUresult awcu_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
    struct aw_vmm_memory *memory = aw_vmm_from(handle);
    if (!prop || !memory)
        return CUDA_ERROR_INVALID_VALUE;
    memset(prop, 0, sizeof *prop);
    prop->type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop->requestedHandleTypes = memory->shared ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
    prop->location = memory->node == AW_VMM_DEVICE ? (CUmemLocation){ CU_MEM_LOCATION_TYPE_DEVICE, memory->device->ordinal }
                                                   : (CUmemLocation){ CU_MEM_LOCATION_TYPE_HOST_NUMA, memory->node };
    return CUDA_SUCCESS;
}

/* `offset` must be 0, as CUDA has it so far. */
CUresult awcu_cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    struct aw_vmm_memory *memory = aw_vmm_from(handle);
    return cu_result(memory && !offset && !flags ? aw_vmm_map(ptr, size, memory) : AW_ERR_INVALID_VALUE);
}

CUresult awcu_cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    return cu_result(aw_vmm_unmap(ptr, size));
}

CUresult awcu_cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
    struct aw_device *device;
    int node;
    if (!desc || !count)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        enum aw_status status = place_of(&desc[i].location, &device, &node);
        if (status == AW_OK)
            status = aw_vmm_set_access(node == AW_VMM_DEVICE ? device : NULL, ptr, size, desc[i].flags);
        if (status)
            return cu_result(status);
    }
    return CUDA_SUCCESS;
}

CUresult awcu_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr)
{
    struct aw_device *device;
    unsigned access;
    int node;
    if (!flags || !location)
        return CUDA_ERROR_INVALID_VALUE;
    enum aw_status status = place_of(location, &device, &node);
    if (status == AW_OK)
        status = aw_vmm_get_access(node == AW_VMM_DEVICE ? device : NULL, ptr, &access);
    if (status == AW_OK)
        *flags = access;
    return cu_result(status);
}

CUresult awcu_cuMemExportToShareableHandle(void *shareableHandle, CUmemGenericAllocationHandle handle,
                                           CUmemAllocationHandleType handleType, unsigned long long flags)
{
    struct aw_vmm_memory *memory = aw_vmm_from(handle);
    int fd;
    if (!shareableHandle || !memory || flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_NOT_SUPPORTED;
    enum aw_status status = aw_vmm_export(memory, &fd);
    if (status == AW_OK)
        memcpy(shareableHandle, &fd, sizeof fd);
    return cu_result(status);
}

/* A file descriptor comes as the pointer's value. */
CUresult awcu_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *osHandle,
                                             CUmemAllocationHandleType shHandleType)
{
    struct aw_ctx *ctx;
    struct aw_vmm_memory *memory;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status)
        return cu_result(status);
    if (!handle)
        return CUDA_ERROR_INVALID_VALUE;
    if (shHandleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_NOT_SUPPORTED;
    status = aw_vmm_import(ctx->device, (int)(intptr_t)osHandle, &memory);
    if (status == AW_OK)
        *handle = (uintptr_t)memory;
    return cu_result(status);
}
