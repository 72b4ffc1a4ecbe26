/* The driver API: streams, host functions, events.  Capture is cuda_capture.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/abi.h"
#include "abi/cuda_util.h"
#include "core/activity.h"
#include "core/device.h"
#include "core/managed.h"

#include <stdlib.h>
#include <string.h>

/* ---- Streams. */

CUresult awcu_cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status)
        return cu_result(status);
    if (!phStream)
        return CUDA_ERROR_INVALID_VALUE;
    status = aw_stream_create(ctx, flags, priority, &stream);
    if (status == AW_OK)
        *phStream = (CUstream)stream;
    return cu_result(status);
}

CUresult awcu_cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
    return awcu_cuStreamCreateWithPriority(phStream, Flags, 0);
}

CUresult awcu_cuStreamDestroy_v2(CUstream hStream)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = aw_ctx_current_any(&ctx);
    if (status == AW_OK)
        status = aw_stream_find(ctx, hStream, false, &stream);
    else if (status == AW_ERR_INVALID_CONTEXT)
        status = aw_stream_find_made(hStream, &ctx, &stream);
    return cu_result(status ? status : aw_stream_destroy(stream));
}

CUresult awcu_cuStreamDestroy(CUstream hStream)
{
    return awcu_cuStreamDestroy_v2(hStream);
}

CUresult awcu_cuStreamQuery(CUstream hStream)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(hStream, &ctx, &stream);
    return cu_result(status ? status : aw_stream_query(stream));
}

CUresult awcu_cuStreamSynchronize(CUstream hStream)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(hStream, &ctx, &stream);
    return cu_result(status ? status : aw_stream_sync(stream));
}

CUresult awcu_cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(hStream, &ctx, &stream);
    if (status)
        return cu_result(status);
    if (Flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    struct aw_cevent *event = aw_event_from(hEvent);
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    return cu_result(Flags & CU_EVENT_WAIT_EXTERNAL ? aw_stream_wait_external(stream, event) : aw_stream_wait(stream, event));
}

CUresult awcu_cuStreamGetPriority(CUstream hStream, int *priority)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(hStream, &ctx, &stream);
    if (status)
        return cu_result(status);
    if (!priority)
        return CUDA_ERROR_INVALID_VALUE;
    *priority = stream->priority;
    return CUDA_SUCCESS;
}

CUresult awcu_cuStreamGetFlags(CUstream hStream, unsigned int *flags)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(hStream, &ctx, &stream);
    if (status)
        return cu_result(status);
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = stream->flags;
    return CUDA_SUCCESS;
}

CUresult awcu_cuStreamGetId(CUstream hStream, unsigned long long *streamId)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(hStream, &ctx, &stream);
    if (status)
        return cu_result(status);
    if (!streamId)
        return CUDA_ERROR_INVALID_VALUE;
    *streamId = stream->id;
    return CUDA_SUCCESS;
}

CUresult awcu_cuStreamGetCtx(CUstream hStream, CUcontext *pctx)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(hStream, &ctx, &stream);
    if (status)
        return cu_result(status);
    if (!pctx)
        return CUDA_ERROR_INVALID_VALUE;
    struct aw_green *green = aw_stream_green(stream);
    *pctx = green ? (CUcontext)green : (CUcontext)stream->ctx;
    return CUDA_SUCCESS;
}

CUresult awcu_cuStreamGetDevice(CUstream hStream, CUdevice *device)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(hStream, &ctx, &stream);
    if (status)
        return cu_result(status);
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    *device = stream->ctx->device->ordinal;
    return CUDA_SUCCESS;
}

/* ---- Attributes: hints, but for the priority, which is the stream's own. */

static bool attribute_is_hint(CUstreamAttrID attr)
{
    return attr == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW || attr == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY ||
           attr == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP || attr == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;
}

CUresult awcu_cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue *value)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(hStream, &ctx, &stream);
    if (status)
        return cu_result(status);
    if (!value || !(attribute_is_hint(attr) || attr == CU_LAUNCH_ATTRIBUTE_PRIORITY))
        return CUDA_ERROR_INVALID_VALUE;
    memset(value, 0, sizeof *value);
    if (attr == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY)
        value->syncPolicy = CU_SYNC_POLICY_AUTO;
    else if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY)
        value->priority = stream->priority;
    else if (attr == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP)
        value->pad[1] = 1; /* default domain 0, remote domain 1 */
    return CUDA_SUCCESS;
}

CUresult awcu_cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr, const CUstreamAttrValue *param)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(hStream, &ctx, &stream);
    if (status)
        return cu_result(status);
    return param && attribute_is_hint(attr) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult awcu_cuStreamCopyAttributes(CUstream dstStream, CUstream srcStream)
{
    struct aw_ctx *ctx;
    struct aw_cstream *dst, *src;
    enum aw_status status = cu_stream(dstStream, &ctx, &dst);
    return cu_result(status ? status : aw_stream_find(ctx, srcStream, false, &src));
}

CUresult awcu_cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length, unsigned int flags)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(hStream, &ctx, &stream);
    return cu_result(status ? status : aw_managed_attach(stream, dptr, length, flags));
}

/* ---- Host functions. */

CUresult awcu_cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(hStream, &ctx, &stream);
    if (status)
        return cu_result(status);
    return fn ? cu_result(aw_stream_host_func(stream, fn, userData)) : CUDA_ERROR_INVALID_VALUE;
}

/* How the device waits for the function, blocking (0) or spinning (1), changes nothing here. */
CUresult awcu_cuLaunchHostFunc_v2(CUstream hStream, CUhostFn fn, void *userData, unsigned int syncMode)
{
    return syncMode <= 1 ? awcu_cuLaunchHostFunc(hStream, fn, userData) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- Private: for libs/. */

CUresult aw_abi_stream_inline(CUstream handle, void (*fn)(void *user), void *user)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(handle, &ctx, &stream);
    return cu_result(status ? status : aw_stream_inline(stream, fn, user));
}

CUresult aw_abi_stream_native(CUstream handle, void **ret_native)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(handle, &ctx, &stream);
    return cu_result(status ? status : aw_stream_native(stream, ret_native));
}

void aw_abi_spread(uint32_t parts, void (*fn)(void *user, uint32_t part), void *user)
{
    aw_stream_spread(parts, fn, user);
}

uint32_t aw_abi_spread_threads(void)
{
    return aw_stream_spread_threads();
}

uint32_t aw_abi_activity_context(CUcontext ctx)
{
    const struct aw_ctx *found = ctx ? aw_ctx_behind(ctx) : NULL;
    return found ? aw_activity_context(found) : 0;
}

uint32_t aw_abi_activity_stream(CUstream handle, bool per_thread)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    if (aw_ctx_current(&ctx) != AW_OK || aw_stream_find(ctx, handle, per_thread, &stream) != AW_OK)
        return 0;
    return aw_activity_stream(stream);
}

bool aw_abi_activity_stream_fill(CUstream handle, struct aw_activity_record *ret_record)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    if (cu_stream(handle, &ctx, &stream) != AW_OK)
        return false;
    ret_record->device = (uint32_t)stream->ctx->device->ordinal;
    ret_record->context = aw_activity_context(stream->ctx);
    ret_record->stream = aw_activity_stream(stream);
    return true;
}

struct callback {
    CUstreamCallback fn;
    void *user;
};

static void callback_run(void *handle, enum aw_status status, void *user)
{
    struct callback *call = user;
    call->fn((CUstream)handle, cu_result(status), call->user);
    free(call);
}

CUresult awcu_cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData, unsigned int flags)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(hStream, &ctx, &stream);
    if (status)
        return cu_result(status);
    if (!callback || flags)
        return CUDA_ERROR_INVALID_VALUE;
    struct callback *call = malloc(sizeof *call);
    if (!call)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *call = (struct callback){ callback, userData };
    status = aw_stream_callback(stream, hStream, callback_run, call);
    if (status)
        free(call);
    return cu_result(status);
}

/* ---- Events. */

CUresult awcu_cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
    struct aw_ctx *ctx;
    struct aw_cevent *event;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status)
        return cu_result(status);
    if (!phEvent)
        return CUDA_ERROR_INVALID_VALUE;
    status = aw_event_create(ctx, Flags, &event);
    if (status == AW_OK)
        *phEvent = (CUevent)event;
    return cu_result(status);
}

CUresult awcu_cuEventDestroy_v2(CUevent hEvent)
{
    enum aw_status status = aw_core_ready();
    if (status)
        return cu_result(status);
    struct aw_cevent *event = aw_event_from(hEvent);
    return event ? cu_result(aw_event_destroy(event)) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult awcu_cuEventDestroy(CUevent hEvent)
{
    return awcu_cuEventDestroy_v2(hEvent);
}

CUresult awcu_cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(hStream, &ctx, &stream);
    if (status)
        return cu_result(status);
    if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    struct aw_cevent *event = aw_event_from(hEvent);
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    return cu_result(flags & CU_EVENT_RECORD_EXTERNAL ? aw_event_record_external(event, stream) : aw_event_record(event, stream));
}

CUresult awcu_cuEventRecord(CUevent hEvent, CUstream hStream)
{
    return awcu_cuEventRecordWithFlags(hEvent, hStream, 0);
}

CUresult awcu_cuEventQuery(CUevent hEvent)
{
    enum aw_status status = aw_core_ready();
    if (status)
        return cu_result(status);
    struct aw_cevent *event = aw_event_from(hEvent);
    return event ? cu_result(aw_event_query(event)) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult awcu_cuEventSynchronize(CUevent hEvent)
{
    enum aw_status status = aw_core_ready();
    if (status)
        return cu_result(status);
    struct aw_cevent *event = aw_event_from(hEvent);
    return event ? cu_result(aw_event_sync(event)) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult awcu_cuEventElapsedTime_v2(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
    enum aw_status status = aw_core_ready();
    if (status)
        return cu_result(status);
    struct aw_cevent *begin = aw_event_from(hStart), *end = aw_event_from(hEnd);
    if (!begin || !end)
        return CUDA_ERROR_INVALID_HANDLE;
    return pMilliseconds ? cu_result(aw_event_elapsed(begin, end, pMilliseconds)) : CUDA_ERROR_INVALID_VALUE;
}

CUresult awcu_cuEventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
    return awcu_cuEventElapsedTime_v2(pMilliseconds, hStart, hEnd);
}
