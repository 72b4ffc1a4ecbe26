/* What the driver API's entry bodies share: statuses to CUresult, handles to core objects.  A body checks its pointers, finds the
 * context and the objects behind its handles, calls the core, and maps the status. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_ABI_CUDA_UTIL_H
#define AW_ABI_CUDA_UTIL_H

#include "abi/cuda_proto.h"
#include "core/core.h"

static inline CUresult cu_result(enum aw_status status)
{
    return status == AW_OK ? CUDA_SUCCESS : (CUresult)aw_status_to_cu(status);
}

/* The visible device behind an ordinal. */
static inline enum aw_status cu_device(CUdevice dev, struct aw_device **ret_device)
{
    enum aw_status status = aw_core_ready();
    if (status)
        return status;
    struct aw_device *device = aw_device_find(dev);
    if (!device)
        return AW_ERR_INVALID_DEVICE;
    *ret_device = device;
    return AW_OK;
}

/* A context handle, of a green context its primary one; NULL is the current context where `or_current` says so. */
static inline enum aw_status cu_context(CUcontext handle, bool or_current, struct aw_ctx **ret_ctx)
{
    enum aw_status status = aw_core_ready();
    if (status)
        return status;
    if (!handle && or_current)
        return aw_ctx_current_any(ret_ctx);
    struct aw_ctx *ctx = aw_ctx_behind(handle);
    if (!ctx)
        return AW_ERR_INVALID_CONTEXT;
    *ret_ctx = ctx;
    return AW_OK;
}

/* The current context and a stream of it; where there is none, a stream that the program made and its own context. */
static inline enum aw_status cu_stream(CUstream handle, struct aw_ctx **ret_ctx, struct aw_cstream **ret_stream)
{
    enum aw_status status = aw_ctx_current(ret_ctx);
    if (__builtin_expect(status == AW_ERR_INVALID_CONTEXT, 0))
        return aw_stream_find_made(handle, ret_ctx, ret_stream);
    return status ? status : aw_stream_find(*ret_ctx, handle, false, ret_stream);
}

/* A CUfunction or CUkernel handle and the current context. */
static inline enum aw_status cu_function(CUfunction handle, struct aw_func **ret_func)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current(&ctx);
    return status ? status : aw_func_find(ctx, handle, ret_func);
}

#endif
