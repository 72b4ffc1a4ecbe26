/* Runtime API: what is the driver API's under another name: memory pools, stream attributes, copies in batches.  The runtime adds
 * only that a context is there; error numbers and structures are the same. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/cuda_proto.h"
#include "abi/cudart.h"

/* ---- Pools */

cudaError_t awrt_cudaDeviceGetDefaultMemPool(cudaMemPool_t *ret_pool, int device)
{
    AW_RT_AS_DRIVER(awcu_cuDeviceGetDefaultMemPool(ret_pool, device));
}

cudaError_t awrt_cudaDeviceGetMemPool(cudaMemPool_t *ret_pool, int device)
{
    AW_RT_AS_DRIVER(awcu_cuDeviceGetMemPool(ret_pool, device));
}

cudaError_t awrt_cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
    AW_RT_AS_DRIVER(awcu_cuDeviceSetMemPool(device, pool));
}

cudaError_t awrt_cudaMemPoolCreate(cudaMemPool_t *ret_pool, const cudaMemPoolProps *props)
{
    AW_RT_AS_DRIVER(awcu_cuMemPoolCreate(ret_pool, props));
}

cudaError_t awrt_cudaMemPoolDestroy(cudaMemPool_t pool)
{
    AW_RT_AS_DRIVER(awcu_cuMemPoolDestroy(pool));
}

cudaError_t awrt_cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep)
{
    AW_RT_AS_DRIVER(awcu_cuMemPoolTrimTo(pool, keep));
}

cudaError_t awrt_cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attr, void *value)
{
    AW_RT_AS_DRIVER(awcu_cuMemPoolSetAttribute(pool, (CUmemPool_attribute)attr, value));
}

cudaError_t awrt_cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attr, void *value)
{
    AW_RT_AS_DRIVER(awcu_cuMemPoolGetAttribute(pool, (CUmemPool_attribute)attr, value));
}

cudaError_t awrt_cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc *list, size_t count)
{
    AW_RT_AS_DRIVER(awcu_cuMemPoolSetAccess(pool, list, count));
}

cudaError_t awrt_cudaMemPoolGetAccess(cudaMemAccessFlags *flags, cudaMemPool_t pool, const cudaMemLocation *location)
{
    AW_RT_AS_DRIVER(awcu_cuMemPoolGetAccess(flags, pool, location));
}

cudaError_t awrt_cudaMallocFromPoolAsync(void **ret_pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream)
{
    CUdeviceptr address;
    struct aw_ctx *ctx;
    if (!ret_pointer)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (status)
        return aw_rt_error(status);
    CUresult result = awcu_cuMemAllocFromPoolAsync(&address, size, pool, stream);
    if (!result)
        *ret_pointer = (void *)(uintptr_t)address;
    return (cudaError_t)result;
}

/* ---- Stream attributes */

cudaError_t awrt_cudaStreamGetAttribute(cudaStream_t stream, cudaLaunchAttributeID attr, cudaLaunchAttributeValue *value)
{
    AW_RT_AS_DRIVER(awcu_cuStreamGetAttribute(stream, attr, value));
}

cudaError_t awrt_cudaStreamSetAttribute(cudaStream_t stream, cudaLaunchAttributeID attr, const cudaLaunchAttributeValue *value)
{
    AW_RT_AS_DRIVER(awcu_cuStreamSetAttribute(stream, attr, value));
}

cudaError_t awrt_cudaStreamCopyAttributes(cudaStream_t dst, cudaStream_t src)
{
    AW_RT_AS_DRIVER(awcu_cuStreamCopyAttributes(dst, src));
}

/* ---- Copies in batches */

static cudaError_t copy_batch(void *const *dsts, const void *const *srcs, const size_t *sizes, size_t count,
                              const cudaMemcpyAttributes *attrs, const size_t *attr_indices, size_t attr_count, size_t *fail_index,
                              cudaStream_t stream)
{
    _Static_assert(sizeof(void *) == sizeof(CUdeviceptr), "an array of pointers is an array of addresses");
    const CUdeviceptr *to = (const CUdeviceptr *)(const void *)dsts, *from = (const CUdeviceptr *)(const void *)srcs;
    AW_RT_AS_DRIVER(awcu_cuMemcpyBatchAsync(to, from, sizes, count, attrs, attr_indices, attr_count, fail_index, stream));
}

cudaError_t awrt_cudaMemcpyBatchAsync(void **dsts, void **srcs, const size_t *sizes, size_t count,
                                      const cudaMemcpyAttributes *attrs, const size_t *attr_indices, size_t attr_count,
                                      size_t *fail_index, cudaStream_t stream)
{
    return copy_batch(dsts, (const void *const *)srcs, sizes, count, attrs, attr_indices, attr_count, fail_index, stream);
}

cudaError_t awrt_cudaMemcpyBatchAsync_v13(void **dsts, const void **srcs, const size_t *sizes, size_t count,
                                          const cudaMemcpyAttributes *attrs, const size_t *attr_indices, size_t attr_count,
                                          cudaStream_t stream)
{
    return copy_batch(dsts, srcs, sizes, count, attrs, attr_indices, attr_count, NULL, stream);
}
