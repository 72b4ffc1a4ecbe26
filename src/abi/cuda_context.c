/* The driver API: primary contexts, created contexts, the current one and its settings. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/cuda_util.h"

/* ---- Primary contexts. */

CUresult awcu_cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    struct aw_device *device;
    struct aw_ctx *ctx;
    enum aw_status status = cu_device(dev, &device);
    if (status)
        return cu_result(status);
    if (!pctx)
        return CUDA_ERROR_INVALID_VALUE;
    status = aw_primary_retain(device, &ctx);
    if (status == AW_OK)
        *pctx = (CUcontext)ctx;
    return cu_result(status);
}

CUresult awcu_cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    struct aw_device *device;
    enum aw_status status = cu_device(dev, &device);
    return cu_result(status ? status : aw_primary_release(device));
}

CUresult awcu_cuDevicePrimaryCtxRelease(CUdevice dev)
{
    return awcu_cuDevicePrimaryCtxRelease_v2(dev);
}

CUresult awcu_cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    struct aw_device *device;
    enum aw_status status = cu_device(dev, &device);
    return cu_result(status ? status : aw_primary_reset(device));
}

CUresult awcu_cuDevicePrimaryCtxReset(CUdevice dev)
{
    return awcu_cuDevicePrimaryCtxReset_v2(dev);
}

CUresult awcu_cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
    struct aw_device *device;
    enum aw_status status = cu_device(dev, &device);
    return cu_result(status ? status : aw_primary_set_flags(device, flags));
}

CUresult awcu_cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
    return awcu_cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

CUresult awcu_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
    struct aw_device *device;
    bool is_active;
    enum aw_status status = cu_device(dev, &device);
    if (status)
        return cu_result(status);
    if (!flags || !active)
        return CUDA_ERROR_INVALID_VALUE;
    aw_primary_state(device, flags, &is_active);
    *active = is_active;
    return CUDA_SUCCESS;
}

/* ---- Created contexts. */

static CUresult context_create(CUcontext *pctx, unsigned flags, CUdevice dev, unsigned version)
{
    struct aw_device *device;
    struct aw_ctx *ctx;
    enum aw_status status = cu_device(dev, &device);
    if (status)
        return cu_result(status);
    if (!pctx)
        return CUDA_ERROR_INVALID_VALUE;
    status = aw_ctx_create(device, flags, version, &ctx);
    if (status)
        return cu_result(status);
    status = aw_ctx_push(ctx);
    if (status)
        (void)aw_ctx_destroy(ctx);
    else
        *pctx = (CUcontext)ctx;
    return cu_result(status);
}

CUresult awcu_cuCtxCreate(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    return context_create(pctx, flags, dev, 3010);
}

CUresult awcu_cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    return context_create(pctx, flags, dev, 3020);
}

CUresult awcu_cuCtxCreate_v3(CUcontext *pctx, const CUexecAffinityParam *paramsArray, int numParams, unsigned int flags,
                             CUdevice dev)
{
    if (numParams < 0 || (numParams && !paramsArray))
        return CUDA_ERROR_INVALID_VALUE;
    return numParams ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : context_create(pctx, flags, dev, 3020);
}

CUresult awcu_cuCtxCreate_v4(CUcontext *pctx, const CUctxCreateParams *ctxCreateParams, unsigned int flags, CUdevice dev)
{
    if (ctxCreateParams && ctxCreateParams->cigParams)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (ctxCreateParams)
        return awcu_cuCtxCreate_v3(pctx, ctxCreateParams->execAffinityParams, ctxCreateParams->numExecAffinityParams, flags, dev);
    return context_create(pctx, flags, dev, 3020);
}

CUresult awcu_cuCtxDestroy_v2(CUcontext ctx)
{
    struct aw_ctx *found;
    if (!ctx)
        return CUDA_ERROR_INVALID_VALUE;
    enum aw_status status = cu_context(ctx, false, &found);
    return cu_result(status ? status : aw_ctx_destroy(found));
}

CUresult awcu_cuCtxDestroy(CUcontext ctx)
{
    return awcu_cuCtxDestroy_v2(ctx);
}

/* From before contexts were destroyed: whoever made a context has attached it once, and it ends with that. */
CUresult awcu_cuCtxDetach(CUcontext ctx)
{
    CUcontext current = NULL;
    CUresult result = awcu_cuCtxGetCurrent(&current);
    if (result != CUDA_SUCCESS)
        return result;
    return ctx && ctx == current ? awcu_cuCtxDestroy_v2(ctx) : CUDA_ERROR_INVALID_CONTEXT;
}

/* ---- The current context. */

CUresult awcu_cuCtxPushCurrent_v2(CUcontext ctx)
{
    struct aw_ctx *found;
    struct aw_green *green = aw_green_from(ctx);
    enum aw_status status = cu_context(ctx, false, &found);
    return cu_result(status ? status : green ? aw_green_push(green) : aw_ctx_push(found));
}

CUresult awcu_cuCtxPushCurrent(CUcontext ctx)
{
    return awcu_cuCtxPushCurrent_v2(ctx);
}

CUresult awcu_cuCtxPopCurrent_v2(CUcontext *pctx)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_core_ready();
    struct aw_green *green = status ? NULL : aw_green_top();
    if (status == AW_OK)
        status = aw_ctx_pop(&ctx);
    if (status == AW_OK && pctx)
        *pctx = green ? (CUcontext)green : (CUcontext)ctx;
    return cu_result(status);
}

CUresult awcu_cuCtxPopCurrent(CUcontext *pctx)
{
    return awcu_cuCtxPopCurrent_v2(pctx);
}

CUresult awcu_cuCtxSetCurrent(CUcontext ctx)
{
    struct aw_ctx *found = NULL;
    struct aw_green *green = ctx ? aw_green_from(ctx) : NULL;
    enum aw_status status = ctx ? cu_context(ctx, false, &found) : aw_core_ready();
    return cu_result(status ? status : green ? aw_green_set(green) : aw_ctx_set(found));
}

CUresult awcu_cuCtxGetCurrent(CUcontext *pctx)
{
    enum aw_status status = aw_core_ready();
    if (status)
        return cu_result(status);
    if (!pctx)
        return CUDA_ERROR_INVALID_VALUE;
    struct aw_ctx *ctx = aw_ctx_top();
    struct aw_green *green = aw_green_top();
    *pctx = green ? (CUcontext)green : aw_ctx_from(ctx) ? (CUcontext)ctx : NULL;
    return CUDA_SUCCESS;
}

CUresult awcu_cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
    struct aw_ctx *found;
    enum aw_status status = cu_context(ctx, true, &found);
    if (status)
        return cu_result(status);
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    *device = found->device->ordinal;
    return CUDA_SUCCESS;
}

CUresult awcu_cuCtxGetDevice(CUdevice *device)
{
    return awcu_cuCtxGetDevice_v2(device, NULL);
}

CUresult awcu_cuCtxSynchronize_v2(CUcontext ctx)
{
    struct aw_ctx *found;
    enum aw_status status = cu_context(ctx, true, &found);
    return cu_result(status ? status : aw_ctx_sync(found));
}

CUresult awcu_cuCtxSynchronize(void)
{
    return awcu_cuCtxSynchronize_v2(NULL);
}

/* ---- Settings. */

CUresult awcu_cuCtxGetFlags(unsigned int *flags)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current_any(&ctx);
    if (status)
        return cu_result(status);
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = ctx->flags;
    return CUDA_SUCCESS;
}

CUresult awcu_cuCtxSetFlags(unsigned int flags)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current(&ctx);
    return cu_result(status ? status : aw_ctx_set_flags(ctx, flags));
}

CUresult awcu_cuCtxGetId(CUcontext ctx, unsigned long long *ctxId)
{
    struct aw_ctx *found;
    enum aw_status status = cu_context(ctx, true, &found);
    if (status)
        return cu_result(status);
    if (!ctxId)
        return CUDA_ERROR_INVALID_VALUE;
    *ctxId = found->id;
    return CUDA_SUCCESS;
}

CUresult awcu_cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
    struct aw_ctx *found;
    enum aw_status status = cu_context(ctx, true, &found);
    if (status)
        return cu_result(status);
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = found->api_version;
    return CUDA_SUCCESS;
}

CUresult awcu_cuCtxSetLimit(CUlimit limit, size_t value)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current(&ctx);
    return cu_result(status ? status : aw_ctx_limit_set(ctx, (int)limit, value));
}

CUresult awcu_cuCtxGetLimit(size_t *pvalue, CUlimit limit)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status)
        return cu_result(status);
    return pvalue ? cu_result(aw_ctx_limit_get(ctx, (int)limit, pvalue)) : CUDA_ERROR_INVALID_VALUE;
}

CUresult awcu_cuCtxGetCacheConfig(CUfunc_cache *pconfig)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status)
        return cu_result(status);
    if (!pconfig)
        return CUDA_ERROR_INVALID_VALUE;
    *pconfig = (CUfunc_cache)ctx->cache_config;
    return CUDA_SUCCESS;
}

CUresult awcu_cuCtxSetCacheConfig(CUfunc_cache config)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current(&ctx);
    return cu_result(status ? status : aw_cache_config_set(&ctx->cache_config, (int)config));
}

CUresult awcu_cuCtxGetSharedMemConfig(CUsharedconfig *pConfig)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status)
        return cu_result(status);
    if (!pConfig)
        return CUDA_ERROR_INVALID_VALUE;
    *pConfig = ctx->shared_config ? (CUsharedconfig)ctx->shared_config : CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    return CUDA_SUCCESS;
}

CUresult awcu_cuCtxSetSharedMemConfig(CUsharedconfig config)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status)
        return cu_result(status);
    if ((unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
        return CUDA_ERROR_INVALID_VALUE;
    ctx->shared_config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE; /* the only one there is, as on CUDA devices since 5.0 */
    return CUDA_SUCCESS;
}

CUresult awcu_cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    struct aw_ctx *ctx;
    int least, greatest;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status)
        return cu_result(status);
    aw_stream_priorities(&least, &greatest);
    if (leastPriority)
        *leastPriority = least;
    if (greatestPriority)
        *greatestPriority = greatest;
    return CUDA_SUCCESS;
}

/* No line of cache can be made to persist, so there is none to reset. */
CUresult awcu_cuCtxResetPersistingL2Cache(void)
{
    struct aw_ctx *ctx;
    return cu_result(aw_ctx_current(&ctx));
}
