/* Runtime API: streams, callbacks, events.  Capture is cudart_graph.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/cudart.h"
#include "core/capture.h"

#include <stdlib.h>

static cudaError_t stream_create(cudaStream_t *ret_stream, unsigned flags, int priority)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    if (!ret_stream)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (!status)
        status = aw_stream_create(ctx, flags, priority, &stream);
    if (!status)
        *ret_stream = (cudaStream_t)stream;
    return aw_rt_error(status);
}

cudaError_t awrt_cudaStreamCreate(cudaStream_t *stream)
{
    return stream_create(stream, cudaStreamDefault, 0);
}

cudaError_t awrt_cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
    return stream_create(stream, flags, 0);
}

cudaError_t awrt_cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority)
{
    return stream_create(stream, flags, priority);
}

cudaError_t awrt_cudaStreamDestroy(cudaStream_t handle)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = aw_rt_ctx_any(&ctx);
    if (!status)
        status = aw_stream_find(ctx, handle, false, &stream);
    return aw_rt_error(status ? status : aw_stream_destroy(stream));
}

cudaError_t awrt_cudaStreamQuery(cudaStream_t handle)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = aw_rt_stream(handle, &ctx, &stream);
    return aw_rt_error(status ? status : aw_stream_query(stream));
}

cudaError_t awrt_cudaStreamSynchronize(cudaStream_t handle)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = aw_rt_stream(handle, &ctx, &stream);
    return aw_rt_error(status ? status : aw_stream_sync(stream));
}

cudaError_t awrt_cudaStreamGetFlags(cudaStream_t handle, unsigned int *flags)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = flags ? aw_rt_stream(handle, &ctx, &stream) : AW_ERR_INVALID_VALUE;
    if (!status)
        *flags = stream->flags;
    return aw_rt_error(status);
}

cudaError_t awrt_cudaStreamGetPriority(cudaStream_t handle, int *priority)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = priority ? aw_rt_stream(handle, &ctx, &stream) : AW_ERR_INVALID_VALUE;
    if (!status)
        *priority = stream->priority;
    return aw_rt_error(status);
}

cudaError_t awrt_cudaStreamGetId(cudaStream_t handle, unsigned long long *id)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = id ? aw_rt_stream(handle, &ctx, &stream) : AW_ERR_INVALID_VALUE;
    if (!status)
        *id = stream->id;
    return aw_rt_error(status);
}

cudaError_t awrt_cudaStreamGetDevice(cudaStream_t handle, int *device)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = device ? aw_rt_stream(handle, &ctx, &stream) : AW_ERR_INVALID_VALUE;
    if (!status)
        *device = stream->ctx->device->ordinal;
    return aw_rt_error(status);
}

cudaError_t awrt_cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned int flags)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    struct aw_cevent *event = aw_event_from(event_handle);
    if (flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)
        return cudaErrorInvalidValue;
    if (!event)
        return cudaErrorInvalidResourceHandle;
    enum aw_status status = aw_rt_stream(handle, &ctx, &stream);
    if (status)
        return aw_rt_error(status);
    return aw_rt_error(flags & CU_EVENT_WAIT_EXTERNAL ? aw_stream_wait_external(stream, event) : aw_stream_wait(stream, event));
}

/* Validates; managed memory is usable everywhere at all times here, which grants more than any attachment asks for. */
cudaError_t awrt_cudaStreamAttachMemAsync(cudaStream_t handle, void *pointer, size_t length, unsigned int flags)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    struct aw_mem mem;
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost && flags != cudaMemAttachSingle)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_stream(handle, &ctx, &stream);
    if (status)
        return aw_rt_error(status);
    if (!aw_mem_find((uintptr_t)pointer, &mem) || (mem.kind != AW_MEM_MANAGED && mem.kind != AW_MEM_MODULE_MANAGED) ||
        (length != 0 && length != mem.size))
        return cudaErrorInvalidValue;
    if (aw_capture_any() && aw_capture_refuse(stream, &status))
        return aw_rt_error(status);
    return cudaSuccess;
}

/* ---- Host functions */

struct callback {
    cudaStreamCallback_t fn;
    void *user;
};

static void callback_run(void *handle, enum aw_status status, void *user)
{
    struct callback callback = *(struct callback *)user;
    free(user);
    callback.fn((cudaStream_t)handle, aw_rt_error(status), callback.user);
}

cudaError_t awrt_cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t fn, void *user, unsigned int flags)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    if (!fn || flags)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_stream(handle, &ctx, &stream);
    if (status)
        return aw_rt_error(status);
    struct callback *callback = malloc(sizeof(*callback));
    if (!callback)
        return cudaErrorMemoryAllocation;
    *callback = (struct callback){ fn, user };
    status = aw_stream_callback(stream, handle, callback_run, callback);
    if (status)
        free(callback);
    return aw_rt_error(status);
}

cudaError_t awrt_cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t fn, void *user)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    if (!fn)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_stream(handle, &ctx, &stream);
    return aw_rt_error(status ? status : aw_stream_host_func(stream, fn, user));
}

/* ---- Events */

cudaError_t awrt_cudaEventCreateWithFlags(cudaEvent_t *ret_event, unsigned int flags)
{
    struct aw_ctx *ctx;
    struct aw_cevent *event;
    const unsigned known = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    if (!ret_event || (flags & ~known) || ((flags & cudaEventInterprocess) && !(flags & cudaEventDisableTiming)))
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (!status)
        status = aw_event_create(ctx, flags, &event);
    if (!status)
        *ret_event = (cudaEvent_t)event;
    return aw_rt_error(status);
}

cudaError_t awrt_cudaEventCreate(cudaEvent_t *event)
{
    return awrt_cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t awrt_cudaEventDestroy(cudaEvent_t handle)
{
    struct aw_cevent *event = aw_event_from(handle);
    return event ? aw_rt_error(aw_event_destroy(event)) : cudaErrorInvalidResourceHandle;
}

cudaError_t awrt_cudaEventRecordWithFlags(cudaEvent_t handle, cudaStream_t stream_handle, unsigned int flags)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    struct aw_cevent *event = aw_event_from(handle);
    if (flags & ~(unsigned)cudaEventRecordExternal)
        return cudaErrorInvalidValue;
    if (!event)
        return cudaErrorInvalidResourceHandle;
    enum aw_status status = aw_rt_stream(stream_handle, &ctx, &stream);
    if (status)
        return aw_rt_error(status);
    return aw_rt_error(flags & cudaEventRecordExternal ? aw_event_record_external(event, stream) : aw_event_record(event, stream));
}

cudaError_t awrt_cudaEventRecord(cudaEvent_t handle, cudaStream_t stream)
{
    return awrt_cudaEventRecordWithFlags(handle, stream, cudaEventRecordDefault);
}

cudaError_t awrt_cudaEventQuery(cudaEvent_t handle)
{
    struct aw_cevent *event = aw_event_from(handle);
    return event ? aw_rt_error(aw_event_query(event)) : cudaErrorInvalidResourceHandle;
}

cudaError_t awrt_cudaEventSynchronize(cudaEvent_t handle)
{
    struct aw_cevent *event = aw_event_from(handle);
    return event ? aw_rt_error(aw_event_sync(event)) : cudaErrorInvalidResourceHandle;
}

cudaError_t awrt_cudaEventElapsedTime(float *ms, cudaEvent_t begin_handle, cudaEvent_t end_handle)
{
    struct aw_cevent *begin = aw_event_from(begin_handle), *end = aw_event_from(end_handle);
    if (!ms)
        return cudaErrorInvalidValue;
    return begin && end ? aw_rt_error(aw_event_elapsed(begin, end, ms)) : cudaErrorInvalidResourceHandle;
}
