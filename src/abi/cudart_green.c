/* The runtime API: execution contexts, which are green contexts and devices' primary ones.  What they are is cuda_green.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/cuda_proto.h"
#include "abi/cudart.h"

cudaError_t awrt_cudaGreenCtxCreate(cudaExecutionContext_t *phCtx, cudaDevResourceDesc_t desc, int device, unsigned int flags)
{
    enum aw_status status = aw_core_init();
    if (status || flags)
        return status ? aw_rt_error(status) : cudaErrorInvalidValue;
    return (cudaError_t)awcu_cuGreenCtxCreate((CUgreenCtx *)phCtx, desc, device, CU_GREEN_CTX_DEFAULT_STREAM);
}

/* One of both kinds; `ret_green` is NULL of a primary one. */
static cudaError_t execution(cudaExecutionContext_t handle, struct aw_green **ret_green, struct aw_ctx **ret_ctx)
{
    enum aw_status status = aw_core_init();
    if (status)
        return aw_rt_error(status);
    *ret_green = aw_green_from(handle);
    *ret_ctx = aw_ctx_behind(handle);
    return *ret_ctx ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t awrt_cudaExecutionCtxDestroy(cudaExecutionContext_t handle)
{
    struct aw_green *green;
    struct aw_ctx *ctx;
    cudaError_t error = execution(handle, &green, &ctx);
    if (!error && !green)
        return cudaErrorInvalidValue;
    return error ? error : aw_rt_error(aw_green_destroy(green));
}

cudaError_t awrt_cudaDeviceGetExecutionCtx(cudaExecutionContext_t *ctx, int ordinal)
{
    cudaError_t error = ctx ? awrt_cudaInitDevice(ordinal, 0, 0) : cudaErrorInvalidValue;
    if (!error)
        *ctx = (cudaExecutionContext_t)aw_device_find(ordinal)->primary;
    return error;
}

cudaError_t awrt_cudaExecutionCtxGetDevResource(cudaExecutionContext_t handle, cudaDevResource *resource,
                                                cudaDevResourceType type)
{
    struct aw_green *green;
    struct aw_ctx *ctx;
    cudaError_t error = execution(handle, &green, &ctx);
    return error ? error : (cudaError_t)awcu_cuCtxGetDevResource((CUcontext)handle, resource, type);
}

cudaError_t awrt_cudaExecutionCtxGetDevice(int *device, cudaExecutionContext_t handle)
{
    struct aw_green *green;
    struct aw_ctx *ctx;
    cudaError_t error = execution(handle, &green, &ctx);
    if (!error && !device)
        error = cudaErrorInvalidValue;
    if (!error)
        *device = ctx->device->ordinal;
    return error;
}

cudaError_t awrt_cudaExecutionCtxGetId(cudaExecutionContext_t handle, unsigned long long *id)
{
    struct aw_green *green;
    struct aw_ctx *ctx;
    cudaError_t error = execution(handle, &green, &ctx);
    if (!error && !id)
        error = cudaErrorInvalidValue;
    if (!error)
        *id = green ? green->id : ctx->id;
    return error;
}

cudaError_t awrt_cudaExecutionCtxStreamCreate(cudaStream_t *phStream, cudaExecutionContext_t handle, unsigned int flags,
                                              int priority)
{
    struct aw_green *green;
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    cudaError_t error = execution(handle, &green, &ctx);
    if (!error && (!phStream || (flags & ~(unsigned)cudaStreamNonBlocking)))
        error = cudaErrorInvalidValue;
    if (error)
        return error;
    if (green) /* whose streams are all non-blocking */
        return (cudaError_t)awcu_cuGreenCtxStreamCreate(phStream, (CUgreenCtx)green, CU_STREAM_NON_BLOCKING, priority);
    error = aw_rt_error(aw_stream_create(ctx, flags, priority, &stream));
    if (!error)
        *phStream = (cudaStream_t)stream;
    return error;
}

/* All of the device's work is waited for, the green context's with it. */
cudaError_t awrt_cudaExecutionCtxSynchronize(cudaExecutionContext_t handle)
{
    struct aw_green *green;
    struct aw_ctx *ctx;
    cudaError_t error = execution(handle, &green, &ctx);
    return error ? error : aw_rt_error(aw_ctx_sync(ctx));
}
