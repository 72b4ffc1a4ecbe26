/* The driver API: allocation, pinned and managed memory, what is known of an address, memory pools. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/cuda_util.h"
#include "core/managed.h"
#include "core/pool.h"

#include <limits.h>
#include <string.h>

/* ---- Device memory. */

CUresult awcu_cuMemGetInfo_v2(size_t *free, size_t *total)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status)
        return cu_result(status);
    return free && total ? cu_result(aw_mem_info(ctx, free, total)) : CUDA_ERROR_INVALID_VALUE;
}

/* The form of CUDA 2 counts in 32 bits. */
CUresult awcu_cuMemGetInfo(unsigned int *free, unsigned int *total)
{
    size_t free_bytes = 0, total_bytes = 0;
    CUresult result = free && total ? awcu_cuMemGetInfo_v2(&free_bytes, &total_bytes) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        *free = free_bytes > UINT_MAX ? UINT_MAX : (unsigned)free_bytes;
        *total = total_bytes > UINT_MAX ? UINT_MAX : (unsigned)total_bytes;
    }
    return result;
}

CUresult awcu_cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    struct aw_ctx *ctx;
    uintptr_t address;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status)
        return cu_result(status);
    if (!dptr)
        return CUDA_ERROR_INVALID_VALUE;
    status = aw_mem_alloc(ctx, bytesize, &address);
    if (status == AW_OK)
        *dptr = address;
    return cu_result(status);
}

CUresult awcu_cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
                                 unsigned int ElementSizeBytes)
{
    struct aw_ctx *ctx;
    uintptr_t address;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status)
        return cu_result(status);
    if (!dptr || !pPitch)
        return CUDA_ERROR_INVALID_VALUE;
    status = aw_mem_alloc_pitch(ctx, WidthInBytes, Height, ElementSizeBytes, &address, pPitch);
    if (status == AW_OK)
        *dptr = address;
    return cu_result(status);
}

CUresult awcu_cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
    struct aw_ctx *ctx;
    uintptr_t address;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status)
        return cu_result(status);
    if (!dptr)
        return CUDA_ERROR_INVALID_VALUE;
    status = aw_mem_alloc_managed(ctx, bytesize, flags, &address);
    if (status == AW_OK)
        *dptr = address;
    return cu_result(status);
}

CUresult awcu_cuMemFree_v2(CUdeviceptr dptr)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current(&ctx);
    return cu_result(status ? status : aw_mem_free(dptr));
}

CUresult awcu_cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
    struct aw_mem mem;
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status)
        return cu_result(status);
    if (!aw_mem_find(dptr, &mem))
        return CUDA_ERROR_NOT_FOUND;
    if (pbase)
        *pbase = mem.base;
    if (psize)
        *psize = mem.size;
    return CUDA_SUCCESS;
}

/* ---- Host memory. */

CUresult awcu_cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status)
        return cu_result(status);
    return pp ? cu_result(aw_mem_host_alloc(ctx, bytesize, Flags, pp)) : CUDA_ERROR_INVALID_VALUE;
}

CUresult awcu_cuMemAllocHost_v2(void **pp, size_t bytesize)
{
    return awcu_cuMemHostAlloc(pp, bytesize, 0);
}

CUresult awcu_cuMemAllocHost(void **pp, unsigned int bytesize)
{
    return awcu_cuMemHostAlloc(pp, bytesize, 0);
}

CUresult awcu_cuMemFreeHost(void *p)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current(&ctx);
    return cu_result(status ? status : aw_mem_host_free(p));
}

CUresult awcu_cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
    uintptr_t address;
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status == AW_OK)
        status = pdptr && !Flags ? aw_mem_host_address(p, &address) : AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        *pdptr = address;
    return cu_result(status);
}

CUresult awcu_cuMemHostGetFlags(unsigned int *pFlags, void *p)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status)
        return cu_result(status);
    return pFlags ? cu_result(aw_mem_host_flags(p, pFlags)) : CUDA_ERROR_INVALID_VALUE;
}

CUresult awcu_cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current(&ctx);
    return status ? cu_result(status) : cu_result(aw_mem_host_register(ctx, p, bytesize, Flags));
}

CUresult awcu_cuMemHostRegister(void *p, size_t bytesize, unsigned int Flags)
{
    return awcu_cuMemHostRegister_v2(p, bytesize, Flags);
}

CUresult awcu_cuMemHostUnregister(void *p)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current(&ctx);
    return cu_result(status ? status : aw_mem_host_unregister(p));
}

/* ---- What is known of an address. */

/* Bytes of an attribute's value, 0 for an attribute there is not. */
static size_t attribute_size(CUpointer_attribute attribute)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        return 4;
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        return 8;
    default:
        return 0;
    }
}

/* The value for an address inside `mem`; false when there is none for this kind of memory. */
static bool attribute_value(const struct aw_mem *mem, CUpointer_attribute attribute, uintptr_t address, uint64_t *ret_value)
{
    bool host = aw_mem_is_host(mem), managed = aw_mem_is_managed(mem);
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *ret_value = (uintptr_t)mem->ctx;
        return true;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *ret_value = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *ret_value = mem->device_address + (address - mem->base);
        return true;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        *ret_value = address;
        return host || managed;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        *ret_value = mem->sync_memops;
        return true;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        *ret_value = mem->id;
        return true;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *ret_value = managed;
        return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *ret_value = (uint64_t)mem->device->ordinal; return true;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        *ret_value = mem->base;
        return true;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        *ret_value = mem->size;
        return true;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *ret_value = 1;
        return true;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *ret_value = 3; /* read and write */
        return true;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *ret_value = aw_pool_from(mem->pool) ? (uintptr_t)mem->pool : 0;
        return true;
    default:
        *ret_value = 0;
        return true;
    }
}

CUresult awcu_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    struct aw_mem mem;
    uint64_t value;
    enum aw_status status = aw_core_ready();
    size_t size = attribute_size(attribute);
    if (status)
        return cu_result(status);
    if (!data || !size || !aw_mem_find(ptr, &mem) || !attribute_value(&mem, attribute, ptr, &value))
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(data, &value, size); /* little endian: the low half is the 32-bit value */
    return CUDA_SUCCESS;
}

/* An address of no allocation is no error here: every attribute then reads as nothing. */
CUresult awcu_cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes, void **data, CUdeviceptr ptr)
{
    struct aw_mem mem;
    enum aw_status status = aw_core_ready();
    if (status)
        return cu_result(status);
    if (!numAttributes || !attributes || !data)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < numAttributes; i++)
        if (!data[i] || !attribute_size(attributes[i]))
            return CUDA_ERROR_INVALID_VALUE;
    bool found = aw_mem_find(ptr, &mem);
    for (unsigned i = 0; i < numAttributes; i++) {
        uint64_t value = 0;
        if (!found)
            value = attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL ? (uint64_t)(int64_t)CU_DEVICE_INVALID : 0;
        else if (!attribute_value(&mem, attributes[i], ptr, &value))
            value = 0;
        memcpy(data[i], &value, attribute_size(attributes[i]));
    }
    return CUDA_SUCCESS;
}

CUresult awcu_cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    enum aw_status status = aw_core_ready();
    if (status)
        return cu_result(status);
    if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
        return CUDA_ERROR_INVALID_VALUE;
    return aw_mem_set_sync_memops(ptr, *(const unsigned *)value != 0) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- Hints about managed memory. */

static struct aw_place place_of(CUmemLocation location)
{
    return (struct aw_place){ (enum aw_place_type)location.type, location.id };
}

static struct aw_place place_of_device(CUdevice device)
{
    return (struct aw_place){ device == CU_DEVICE_CPU ? AW_PLACE_HOST : AW_PLACE_DEVICE, device };
}

static CUresult prefetch(CUdeviceptr address, size_t size, struct aw_place place, unsigned flags, CUstream handle)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(handle, &ctx, &stream);
    return cu_result(status ? status : aw_managed_prefetch(address, size, place, flags));
}

CUresult awcu_cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags,
                                    CUstream hStream)
{
    return prefetch(devPtr, count, place_of(location), flags, hStream);
}

CUresult awcu_cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream)
{
    return prefetch(devPtr, count, place_of_device(dstDevice), 0, hStream);
}

static CUresult advise(CUdeviceptr address, size_t size, CUmem_advise advice, struct aw_place place)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current(&ctx);
    return cu_result(status ? status : aw_managed_advise(address, size, (int)advice, place));
}

CUresult awcu_cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUmemLocation location)
{
    return advise(devPtr, count, advice, place_of(location));
}

CUresult awcu_cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device)
{
    return advise(devPtr, count, advice, place_of_device(device));
}

/* Each location is for the ranges from its index on, up to the next one's. */
static CUresult each_range(CUdeviceptr *addresses, size_t *sizes, size_t n, CUmemLocation *places, size_t *firsts,
                           size_t n_places, unsigned long long flags, CUstream handle, bool discards)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(handle, &ctx, &stream);
    if (status == AW_OK && stream == &ctx->legacy)
        status = AW_ERR_INVALID_VALUE; /* as on an H200 with CUDA 13.0 */
    if (status == AW_OK &&
        (!addresses || !sizes || !n || flags || (places && (!firsts || !n_places || n_places > n || firsts[0]))))
        status = AW_ERR_INVALID_VALUE;
    for (size_t i = 1; i < n_places && status == AW_OK; i++)
        if (firsts[i] <= firsts[i - 1] || firsts[i] >= n)
            status = AW_ERR_INVALID_VALUE;
    for (size_t i = 0, at = 0; i < n && status == AW_OK; i++) {
        if (at + 1 < n_places && firsts[at + 1] == i)
            at++;
        if (discards)
            status = aw_managed_discard(addresses[i], sizes[i]);
        if (status == AW_OK && places)
            status = aw_managed_prefetch(addresses[i], sizes[i], place_of(places[at]), 0);
    }
    return cu_result(status);
}

CUresult awcu_cuMemPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count, CUmemLocation *prefetchLocs,
                                      size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags, CUstream hStream)
{
    if (!prefetchLocs)
        return CUDA_ERROR_INVALID_VALUE;
    return each_range(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, hStream, false);
}

CUresult awcu_cuMemDiscardBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count, unsigned long long flags, CUstream hStream)
{
    return each_range(dptrs, sizes, count, NULL, NULL, 0, flags, hStream, true);
}

CUresult awcu_cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count, CUmemLocation *prefetchLocs,
                                                size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags,
                                                CUstream hStream)
{
    if (!prefetchLocs)
        return CUDA_ERROR_INVALID_VALUE;
    return each_range(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, hStream, true);
}

/* As the older attributes have it: a device's number, or one of these. */
static int place_tell(struct aw_place place)
{
    return place.type == AW_PLACE_DEVICE ? place.id : place.type ? CU_DEVICE_CPU : CU_DEVICE_INVALID;
}

/* Devices that were said to access all of the range, as many as there is room for; the rest is CU_DEVICE_INVALID. */
static void accessed_tell(const struct aw_managed_hints *hints, int *ret, size_t n)
{
    size_t at = 0;
    for (int device = 0; device < 64 && at < n; device++)
        if (hints->accessed >> device & 1)
            ret[at++] = device;
    if (hints->accessed_by_host && at < n)
        ret[at++] = CU_DEVICE_CPU;
    while (at < n)
        ret[at++] = CU_DEVICE_INVALID;
}

static enum aw_status hint_tell(const struct aw_managed_hints *hints, CUmem_range_attribute attribute, void *data, size_t size)
{
    int value = 0;
    if (!data || !size || size % sizeof value || (size != sizeof value && attribute != CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY))
        return AW_ERR_INVALID_VALUE;
    switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
        value = hints->read_mostly;
        break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
        value = place_tell(hints->preferred);
        break;
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
        accessed_tell(hints, data, size / sizeof value);
        return AW_OK;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
        value = place_tell(hints->prefetched);
        break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
        value = hints->preferred.type;
        break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
        value = place_tell(hints->preferred);
        break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
        value = hints->prefetched.type;
        break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
        value = place_tell(hints->prefetched);
        break;
    default:
        return AW_ERR_INVALID_VALUE;
    }
    memcpy(data, &value, sizeof value);
    return AW_OK;
}

CUresult awcu_cuMemRangeGetAttributes(void **data, size_t *dataSizes, CUmem_range_attribute *attributes, size_t numAttributes,
                                      CUdeviceptr devPtr, size_t count)
{
    struct aw_ctx *ctx;
    struct aw_managed_hints hints;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status == AW_OK && (!data || !dataSizes || !attributes || !numAttributes))
        status = AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        status = aw_managed_hints(devPtr, count, &hints);
    for (size_t i = 0; i < numAttributes && status == AW_OK; i++)
        status = hint_tell(&hints, attributes[i], data[i], dataSizes[i]);
    return cu_result(status);
}

CUresult awcu_cuMemRangeGetAttribute(void *data, size_t dataSize, CUmem_range_attribute attribute, CUdeviceptr devPtr,
                                     size_t count)
{
    return awcu_cuMemRangeGetAttributes(&data, &dataSize, &attribute, 1, devPtr, count);
}

/* ---- Stream-ordered allocation. */

CUresult awcu_cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    uintptr_t address;
    enum aw_status status = cu_stream(hStream, &ctx, &stream);
    if (status)
        return cu_result(status);
    struct aw_pool *found = aw_pool_from(pool);
    if (!dptr || !found || found->device != ctx->device)
        return CUDA_ERROR_INVALID_VALUE;
    status = aw_pool_alloc(found, ctx, bytesize, stream, &address);
    if (status == AW_OK)
        *dptr = address;
    return cu_result(status);
}

CUresult awcu_cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    uintptr_t address;
    enum aw_status status = cu_stream(hStream, &ctx, &stream);
    if (status)
        return cu_result(status);
    if (!dptr)
        return CUDA_ERROR_INVALID_VALUE;
    status = aw_mem_alloc_async(ctx, bytesize, stream, &address);
    if (status == AW_OK)
        *dptr = address;
    return cu_result(status);
}

CUresult awcu_cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(hStream, &ctx, &stream);
    return cu_result(status ? status : aw_mem_free_async(dptr, stream));
}

/* ---- Pools. */

CUresult awcu_cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
    struct aw_device *device;
    enum aw_status status = cu_device(dev, &device);
    if (status)
        return cu_result(status);
    if (!pool_out)
        return CUDA_ERROR_INVALID_VALUE;
    struct aw_pool *pool = aw_pool_default(device);
    if (!pool)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *pool_out = (CUmemoryPool)pool;
    return CUDA_SUCCESS;
}

CUresult awcu_cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
    struct aw_device *device;
    enum aw_status status = cu_device(dev, &device);
    if (status)
        return cu_result(status);
    if (!pool)
        return CUDA_ERROR_INVALID_VALUE;
    struct aw_pool *found = aw_pool_current(device);
    if (!found)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *pool = (CUmemoryPool)found;
    return CUDA_SUCCESS;
}

CUresult awcu_cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
    struct aw_device *device;
    enum aw_status status = cu_device(dev, &device);
    if (status)
        return cu_result(status);
    struct aw_pool *found = aw_pool_from(pool);
    if (!found || found->device != device || found->imported)
        return CUDA_ERROR_INVALID_VALUE;
    aw_pool_set_current(device, found);
    return CUDA_SUCCESS;
}

/* Which device's pools are meant; there are none of the host's memory, nor of managed memory. */
static CUresult pool_device(const CUmemLocation *location, CUmemAllocationType type, CUdevice *ret)
{
    if (!location || (type != CU_MEM_ALLOCATION_TYPE_PINNED && type != CU_MEM_ALLOCATION_TYPE_MANAGED))
        return CUDA_ERROR_INVALID_VALUE;
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_NOT_SUPPORTED;
    *ret = location->id;
    return CUDA_SUCCESS;
}

CUresult awcu_cuMemGetDefaultMemPool(CUmemoryPool *pool_out, const CUmemLocation *location, CUmemAllocationType type)
{
    CUdevice device;
    CUresult status = pool_device(location, type, &device);
    return status ? status : awcu_cuDeviceGetDefaultMemPool(pool_out, device);
}

CUresult awcu_cuMemGetMemPool(CUmemoryPool *pool, const CUmemLocation *location, CUmemAllocationType type)
{
    CUdevice device;
    CUresult status = pool_device(location, type, &device);
    return status ? status : awcu_cuDeviceGetMemPool(pool, device);
}

CUresult awcu_cuMemSetMemPool(const CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
    CUdevice device;
    CUresult status = pool_device(location, type, &device);
    return status ? status : awcu_cuDeviceSetMemPool(device, pool);
}

CUresult awcu_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
    struct aw_device *device;
    struct aw_pool *made;
    enum aw_status status = aw_core_ready();
    if (status)
        return cu_result(status);
    if (!pool || !poolProps || poolProps->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (poolProps->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        (poolProps->handleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
        return CUDA_ERROR_NOT_SUPPORTED;
    status = cu_device(poolProps->location.id, &device);
    if (status == AW_OK)
        status = aw_pool_create(device, poolProps->handleTypes != 0, &made);
    if (status == AW_OK)
        *pool = (CUmemoryPool)made;
    return cu_result(status);
}

CUresult awcu_cuMemPoolDestroy(CUmemoryPool pool)
{
    struct aw_pool *found = aw_pool_from(pool);
    return cu_result(found ? aw_pool_destroy(found) : AW_ERR_INVALID_VALUE);
}

CUresult awcu_cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep)
{
    struct aw_pool *found = aw_pool_from(pool);
    if (!found)
        return CUDA_ERROR_INVALID_VALUE;
    aw_pool_trim(found->device, minBytesToKeep);
    return CUDA_SUCCESS;
}

CUresult awcu_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    struct aw_pool *found = aw_pool_from(pool);
    if (!found || !value)
        return CUDA_ERROR_INVALID_VALUE;
    switch (attr) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        found->reuse[attr - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = *(const int *)value != 0;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        found->release_threshold = *(const uint64_t *)value;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        if (*(const uint64_t *)value)
            return CUDA_ERROR_INVALID_VALUE; /* high marks can only be reset */
        if (attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
            found->used_high = found->used;
        else
            found->reserved_high = aw_pool_reserved(found);
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult awcu_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    struct aw_pool *found = aw_pool_from(pool);
    if (!found || !value)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t *wide = value;
    switch (attr) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        *(int *)value = found->reuse[attr - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES];
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        *wide = found->release_threshold;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        *wide = aw_pool_reserved(found);
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        *wide = found->reserved_high;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        *wide = found->used;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        *wide = found->used_high;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* Memory is mapped for reading and writing or not at all. */
CUresult awcu_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
    struct aw_pool *found = aw_pool_from(pool);
    if (!found || (count && !map))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        struct aw_device *device = aw_device_find(map[i].location.id);
        bool open = map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || !device)
            return CUDA_ERROR_INVALID_VALUE;
        if (!open && map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE)
            return CUDA_ERROR_NOT_SUPPORTED;
        enum aw_status status = aw_pool_open(found, device, open);
        if (status)
            return cu_result(status);
    }
    return CUDA_SUCCESS;
}

CUresult awcu_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool memPool, const CUmemLocation *location)
{
    struct aw_pool *found = aw_pool_from(memPool);
    const struct aw_device *device =
        location && location->type == CU_MEM_LOCATION_TYPE_DEVICE ? aw_device_find(location->id) : NULL;
    if (!found || !flags || !device)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = aw_pool_is_open(found, device) ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
}
