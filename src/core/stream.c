/* Streams and events.  The provider orders work; here handles are checked and CUDA's rules for them kept. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stream.h"

#include <stdlib.h>

#include "core/recorder.h"

enum { PRIORITY_LEAST = 0, PRIORITY_GREATEST = -5 };
enum { STREAM_LEGACY = 1, STREAM_PER_THREAD = 2 };        /* CUDA's special handles */
enum { EVENT_BLOCKING = 1, EVENT_NO_TIMING = 2, EVENT_IPC = 4 }; /* CU_EVENT_* */

struct aw_slab aw_stream_slab = AW_SLAB_INIT("stream", struct aw_cstream);
struct aw_slab aw_event_slab = AW_SLAB_INIT("event", struct aw_cevent);

/* ---- The thread's own streams, one per context it asked for. */

struct thread_stream {
    struct thread_stream *next;
    struct aw_cstream *stream;
    uint64_t stream_id, ctx_id;
};

static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;
static _Thread_local struct thread_stream *thread_streams;

/* Held while a stream stops being one, and while all of a context are gone through. */
static pthread_mutex_t living = PTHREAD_MUTEX_INITIALIZER;

static enum aw_status stream_end(struct aw_cstream *stream)
{
    pthread_mutex_lock(&living);
    bool mine = aw_slab_kill(&aw_stream_slab, stream);
    pthread_mutex_unlock(&living);
    if (!mine)
        return AW_ERR_INVALID_HANDLE;
    aw_capture_forget_stream(stream);
    int status = aw_provider->stream_destroy(stream->native);
    aw_slab_give(&aw_stream_slab, stream);
    return (enum aw_status)status;
}

static void thread_end(void *list)
{
    for (struct thread_stream *next, *own = list; own; own = next) {
        next = own->next;
        if (!aw_core_forked() && aw_slab_valid(&aw_stream_slab, own->stream) && own->stream->id == own->stream_id)
            (void)stream_end(own->stream);
        free(own);
    }
    thread_streams = NULL;
}

static void thread_key_init(void)
{
    pthread_key_create(&thread_key, thread_end);
}

/* Cards have fewer priorities than CUDA tells of: the nearest. */
static int native_priority(struct aw_ctx *ctx, int priority)
{
    int least, greatest;
    if (!aw_provider->stream_priorities || aw_provider->stream_priorities(ctx->device->native, &least, &greatest))
        return priority;
    return priority > least ? least : priority < greatest ? greatest : priority;
}

/* `later` goes on when what `earlier` has now is done. */
static int follow(struct aw_device *device, struct aw_stream *later, struct aw_stream *earlier)
{
    struct aw_event *event;
    int status = aw_provider->event_create(device->native, AW_EVENT_NO_TIMING, &event);
    if (status)
        return status;
    status = aw_provider->event_record(device->native, event, earlier);
    if (!status)
        status = aw_provider->stream_wait(device->native, later, event);
    int ended = aw_provider->event_destroy(event);
    return status ? status : ended;
}

static enum aw_status stream_make(struct aw_ctx *ctx, unsigned flags, int priority, bool per_thread,
                                  struct aw_cstream **ret_stream)
{
    struct aw_cstream *stream = aw_slab_take(&aw_stream_slab);
    if (!stream)
        return AW_ERR_OUT_OF_MEMORY;
    stream->ctx = ctx;
    struct aw_green *green = per_thread ? NULL : aw_green_top();
    stream->green = green && green->ctx == ctx ? green : NULL;
    stream->green_id = stream->green ? green->id : 0;
    stream->flags = flags;
    stream->priority = priority;
    stream->per_thread = per_thread;
    stream->id = aw_next_id();
    int status = aw_provider->stream_create(ctx->device->native, flags & 1 ? AW_STREAM_NON_BLOCKING : 0,
                                            native_priority(ctx, priority), &stream->native);
    if (!status && __atomic_load_n(&ctx->streams_wait, __ATOMIC_ACQUIRE)) {
        status = follow(ctx->device, stream->native, ctx->meeting->native);
        if (status)
            (void)aw_provider->stream_destroy(stream->native);
    }
    if (status) {
        aw_slab_give(&aw_stream_slab, stream);
        return aw_device_note(ctx->device, status);
    }
    aw_slab_publish(&aw_stream_slab, stream);
    *ret_stream = stream;
    return AW_OK;
}

static enum aw_status thread_stream_find(struct aw_ctx *ctx, struct aw_cstream **ret_stream)
{
    struct thread_stream *own;
    for (own = thread_streams; own; own = own->next) {
        if (own->ctx_id == ctx->id && aw_slab_valid(&aw_stream_slab, own->stream) && own->stream->id == own->stream_id) {
            *ret_stream = own->stream;
            return AW_OK;
        }
    }
    pthread_once(&thread_once, thread_key_init);
    own = calloc(1, sizeof *own);
    if (!own)
        return AW_ERR_OUT_OF_MEMORY;
    enum aw_status status = stream_make(ctx, 0, PRIORITY_LEAST, true, &own->stream);
    if (status) {
        free(own);
        return status;
    }
    own->stream_id = own->stream->id;
    own->ctx_id = ctx->id;
    own->next = thread_streams;
    thread_streams = own;
    pthread_setspecific(thread_key, own);
    *ret_stream = own->stream;
    return AW_OK;
}

/* ---- Streams. */

enum aw_status aw_stream_find(struct aw_ctx *ctx, const void *handle, bool per_thread, struct aw_cstream **ret_stream)
{
    uintptr_t value = (uintptr_t)handle;
    if (value == STREAM_LEGACY || (value == 0 && !per_thread)) {
        *ret_stream = &ctx->legacy;
        return AW_OK;
    }
    if (value == 0 || value == STREAM_PER_THREAD)
        return thread_stream_find(ctx, ret_stream);
    if (!aw_slab_valid(&aw_stream_slab, handle))
        return AW_ERR_INVALID_HANDLE;
    *ret_stream = (struct aw_cstream *)value;
    return AW_OK;
}

enum aw_status aw_stream_find_made(const void *handle, struct aw_ctx **ret_ctx, struct aw_cstream **ret_stream)
{
    if (!aw_slab_valid(&aw_stream_slab, handle))
        return AW_ERR_INVALID_CONTEXT;
    struct aw_cstream *stream = (struct aw_cstream *)(uintptr_t)handle;
    enum aw_status status = aw_ctx_fault(stream->ctx);
    if (status)
        return status;
    *ret_ctx = stream->ctx;
    *ret_stream = stream;
    return AW_OK;
}

void aw_stream_priorities(int *ret_least, int *ret_greatest)
{
    *ret_least = PRIORITY_LEAST;
    *ret_greatest = PRIORITY_GREATEST;
}

enum aw_status aw_stream_create(struct aw_ctx *ctx, unsigned flags, int priority, struct aw_cstream **ret_stream)
{
    if (flags & ~1u)
        return AW_ERR_INVALID_VALUE;
    if (priority > PRIORITY_LEAST)
        priority = PRIORITY_LEAST;
    if (priority < PRIORITY_GREATEST)
        priority = PRIORITY_GREATEST;
    return stream_make(ctx, flags, priority, false, ret_stream);
}

enum aw_status aw_stream_destroy(struct aw_cstream *stream)
{
    if (!stream->native || stream->per_thread)
        return AW_ERR_INVALID_HANDLE;
    return stream_end(stream);
}

enum aw_status aw_stream_query(struct aw_cstream *stream)
{
    enum aw_status refused;
    if (aw_capture_any() && aw_capture_refuse(stream, &refused))
        return refused;
    int status = aw_provider->stream_query(stream->ctx->device->native, stream->native);
    return status == AW_ERR_NOT_READY ? AW_ERR_NOT_READY : aw_ctx_settle(stream->ctx, status);
}

enum aw_status aw_stream_sync(struct aw_cstream *stream)
{
    enum aw_status refused;
    if (aw_capture_any() && aw_capture_refuse(stream, &refused))
        return refused;
    return aw_ctx_settle(stream->ctx, aw_provider->stream_sync(stream->ctx->device->native, stream->native));
}

/* A mark outlives its capture: the event then stands for a place in a graph, not in time. */
static bool event_marked(struct aw_cevent *event)
{
    return __atomic_load_n(&event->mark, __ATOMIC_ACQUIRE) != NULL;
}

static enum aw_status stream_wait(struct aw_cstream *stream, struct aw_cevent *event, bool external)
{
    enum aw_status taken;
    if ((aw_capture_any() || event_marked(event)) && aw_capture_wait(stream, event, external, &taken))
        return taken;
    if (!__atomic_load_n(&event->recorded, __ATOMIC_ACQUIRE))
        return AW_OK;
    struct aw_device *device = stream->ctx->device;
    return aw_device_note(device, aw_provider->stream_wait(device->native, stream->native, event->native));
}

enum aw_status aw_stream_wait(struct aw_cstream *stream, struct aw_cevent *event)
{
    return stream_wait(stream, event, false);
}

enum aw_status aw_stream_wait_external(struct aw_cstream *stream, struct aw_cevent *event)
{
    return stream_wait(stream, event, true);
}

enum aw_status aw_stream_host_func(struct aw_cstream *stream, void (*fn)(void *user), void *user)
{
    enum aw_status taken;
    if (aw_capture_any() && aw_capture_add(stream, &(struct aw_work){ .type = AW_WORK_HOST, .host = { fn, user } }, &taken))
        return taken;
    struct aw_device *device = stream->ctx->device;
    return aw_device_note(device, aw_provider->stream_callback(device->native, stream->native, fn, user));
}

enum aw_status aw_stream_inline(struct aw_cstream *stream, void (*fn)(void *user), void *user)
{
    struct aw_device *device = stream->ctx->device;
    if (!aw_provider->stream_inline)
        return AW_ERR_NOT_SUPPORTED;
    if (aw_capture_any())
        return AW_ERR_NOT_READY;
    int status = aw_provider->stream_inline(device->native, stream->native, fn, user);
    return status == AW_ERR_NOT_READY ? AW_ERR_NOT_READY : aw_device_note(device, status);
}

void aw_stream_spread(uint32_t parts, void (*fn)(void *user, uint32_t part), void *user)
{
    if (aw_provider && aw_provider->spread) {
        aw_provider->spread(parts, fn, user);
        return;
    }
    for (uint32_t i = 0; i < parts; i++)
        fn(user, i);
}

uint32_t aw_stream_spread_threads(void)
{
    return aw_provider && aw_provider->spread ? aw_provider->spread_threads() : 0;
}

enum aw_status aw_stream_native(struct aw_cstream *stream, void **ret_native)
{
    if (!aw_provider->stream_native)
        return AW_ERR_NOT_SUPPORTED;
    if (aw_capture_any() && aw_capture_has(stream))
        return AW_ERR_NOT_READY;
    return (enum aw_status)aw_provider->stream_native(stream->ctx->device->native, stream->native, ret_native);
}

struct callback {
    void (*fn)(void *user_handle, enum aw_status status, void *user);
    void *user_handle, *user;
    struct aw_device *device;
};

static void callback_run(void *arg)
{
    struct callback *call = arg;
    int status = aw_provider->device_fault(call->device->native);
    call->fn(call->user_handle, (enum aw_status)status, call->user);
    free(call);
}

enum aw_status aw_stream_callback(struct aw_cstream *stream, void *user_handle,
                                  void (*fn)(void *user_handle, enum aw_status status, void *user), void *user)
{
    enum aw_status refused;
    if (aw_capture_any() && aw_capture_refuse(stream, &refused))
        return refused;
    struct callback *call = malloc(sizeof *call);
    if (!call)
        return AW_ERR_OUT_OF_MEMORY;
    *call = (struct callback){ fn, user_handle, user, stream->ctx->device };
    enum aw_status status = aw_stream_host_func(stream, callback_run, call);
    if (status)
        free(call);
    return status;
}

/* ---- Events. */

enum aw_status aw_event_create(struct aw_ctx *ctx, unsigned flags, struct aw_cevent **ret_event)
{
    if (flags & ~(unsigned)(EVENT_BLOCKING | EVENT_NO_TIMING | EVENT_IPC))
        return AW_ERR_INVALID_VALUE;
    if ((flags & EVENT_IPC) && !(flags & EVENT_NO_TIMING))
        return AW_ERR_INVALID_VALUE;
    struct aw_cevent *event = aw_slab_take(&aw_event_slab);
    if (!event)
        return AW_ERR_OUT_OF_MEMORY;
    event->ctx = ctx;
    event->flags = flags;
    unsigned native = (flags & EVENT_BLOCKING ? AW_EVENT_BLOCKING_SYNC : 0) |
                      (flags & EVENT_NO_TIMING ? AW_EVENT_NO_TIMING : 0) | (flags & EVENT_IPC ? AW_EVENT_INTERPROCESS : 0);
    int status = aw_provider->event_create(ctx->device->native, native, &event->native);
    if (status) {
        aw_slab_give(&aw_event_slab, event);
        return aw_device_note(ctx->device, status);
    }
    aw_slab_publish(&aw_event_slab, event);
    *ret_event = event;
    return AW_OK;
}

enum aw_status aw_event_adopt(struct aw_ctx *ctx, struct aw_event *native, struct aw_cevent **ret_event)
{
    struct aw_cevent *event = aw_slab_take(&aw_event_slab);
    if (!event)
        return AW_ERR_OUT_OF_MEMORY;
    event->ctx = ctx;
    event->flags = EVENT_NO_TIMING | EVENT_IPC;
    event->native = native;
    event->recorded = true;
    aw_slab_publish(&aw_event_slab, event);
    *ret_event = event;
    return AW_OK;
}

enum aw_status aw_event_destroy(struct aw_cevent *event)
{
    if (!aw_slab_kill(&aw_event_slab, event))
        return AW_ERR_INVALID_HANDLE;
    aw_capture_forget_event(event);
    int status = aw_provider->event_destroy(event->native);
    aw_slab_give(&aw_event_slab, event);
    return (enum aw_status)status;
}

static enum aw_status event_record(struct aw_cevent *event, struct aw_cstream *stream, bool external)
{
    enum aw_status taken;
    if (event->ctx != stream->ctx)
        return AW_ERR_INVALID_HANDLE;
    if ((aw_capture_any() || event_marked(event)) && aw_capture_record(event, stream, external, &taken))
        return taken;
    struct aw_device *device = event->ctx->device;
    int status = aw_provider->event_record(device->native, event->native, stream->native);
    if (status == AW_OK)
        __atomic_store_n(&event->recorded, true, __ATOMIC_RELEASE);
    return aw_device_note(device, status);
}

enum aw_status aw_event_record(struct aw_cevent *event, struct aw_cstream *stream)
{
    return event_record(event, stream, false);
}

enum aw_status aw_event_record_external(struct aw_cevent *event, struct aw_cstream *stream)
{
    return event_record(event, stream, true);
}

/* ---- All streams of a context. */

struct gathering {
    struct aw_ctx *ctx;
    const struct aw_green *green;
    struct aw_event *event; /* what the streams wait for; NULL: the meeting stream is to wait for them */
    int status;
};

static void gather(void *object, void *user)
{
    struct aw_cstream *stream = object;
    struct gathering *g = user;
    struct aw_device *device = g->ctx->device;
    if (g->status || stream->ctx != g->ctx || stream == g->ctx->meeting)
        return;
    if (g->green && stream->native && !stream->per_thread && aw_stream_green(stream) != g->green)
        return;
    g->status = g->event ? aw_provider->stream_wait(device->native, stream->native, g->event)
                         : follow(device, g->ctx->meeting->native, stream->native);
}

static enum aw_status meeting_find(struct aw_ctx *ctx)
{
    static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&making);
    enum aw_status status = ctx->meeting ? AW_OK : stream_make(ctx, 1, PRIORITY_LEAST, true, &ctx->meeting);
    pthread_mutex_unlock(&making);
    return status;
}

static enum aw_status gather_all(struct aw_ctx *ctx, const struct aw_green *green, struct aw_event *event)
{
    struct gathering g = { .ctx = ctx, .green = green, .event = event };
    pthread_mutex_lock(&living);
    gather(&ctx->legacy, &g);
    aw_slab_each(&aw_stream_slab, gather, &g);
    pthread_mutex_unlock(&living);
    return aw_device_note(ctx->device, g.status);
}

enum aw_status aw_ctx_record(struct aw_ctx *ctx, const struct aw_green *green, struct aw_cevent *event)
{
    enum aw_status status;
    if (event->ctx != ctx)
        return AW_ERR_INVALID_HANDLE;
    if (aw_capture_any() && aw_capture_refuse_ctx(ctx, &status))
        return status;
    status = meeting_find(ctx);
    if (!status)
        status = gather_all(ctx, green, NULL);
    return status ? status : aw_event_record(event, ctx->meeting);
}

enum aw_status aw_ctx_wait(struct aw_ctx *ctx, const struct aw_green *green, struct aw_cevent *event)
{
    enum aw_status status;
    if ((aw_capture_any() && aw_capture_refuse_ctx(ctx, &status)) ||
        (event_marked(event) && aw_capture_refuse_event(event, &status)))
        return status;
    if (!__atomic_load_n(&event->recorded, __ATOMIC_ACQUIRE))
        return AW_OK;
    status = meeting_find(ctx);
    if (!status)
        status = aw_stream_wait(ctx->meeting, event);
    if (status)
        return status;
    __atomic_store_n(&ctx->streams_wait, true, __ATOMIC_RELEASE);
    return gather_all(ctx, green, event->native);
}

/* ---- An event's state. */

enum aw_status aw_event_query(struct aw_cevent *event)
{
    enum aw_status refused;
    if (event_marked(event) && aw_capture_refuse_event(event, &refused))
        return refused;
    if (!__atomic_load_n(&event->recorded, __ATOMIC_ACQUIRE))
        return AW_OK;
    int status = aw_provider->event_query(event->native);
    return status == AW_ERR_NOT_READY ? AW_ERR_NOT_READY : aw_ctx_settle(event->ctx, status);
}

enum aw_status aw_event_sync(struct aw_cevent *event)
{
    enum aw_status refused;
    if (event_marked(event) && aw_capture_refuse_event(event, &refused))
        return refused;
    if (!__atomic_load_n(&event->recorded, __ATOMIC_ACQUIRE))
        return AW_OK;
    return aw_ctx_settle(event->ctx, aw_provider->event_sync(event->native));
}

enum aw_status aw_event_elapsed(struct aw_cevent *begin, struct aw_cevent *end, float *ret_ms)
{
    if ((begin->flags | end->flags) & EVENT_NO_TIMING || begin->ctx->device != end->ctx->device)
        return AW_ERR_INVALID_HANDLE;
    if (!__atomic_load_n(&begin->recorded, __ATOMIC_ACQUIRE) || !__atomic_load_n(&end->recorded, __ATOMIC_ACQUIRE))
        return AW_ERR_INVALID_HANDLE;
    enum aw_status status = aw_event_query(begin);
    if (status == AW_OK)
        status = aw_event_query(end);
    if (status)
        return status;
    return aw_device_note(begin->ctx->device, aw_provider->event_elapsed(begin->native, end->native, ret_ms));
}

/* ---- The context's end. */

static void stream_drop(void *object, void *ctx)
{
    struct aw_cstream *stream = object;
    if (stream->ctx == ctx)
        (void)stream_end(stream);
}

static void event_drop(void *object, void *ctx)
{
    struct aw_cevent *event = object;
    if (event->ctx == ctx)
        (void)aw_event_destroy(event);
}

static void streams_drop(struct aw_ctx *ctx)
{
    ctx->streams_wait = false;
    aw_slab_each(&aw_stream_slab, stream_drop, ctx);
    ctx->meeting = NULL;
    aw_slab_each(&aw_event_slab, event_drop, ctx);
}

AW_CTX_DROP(AW_DROP_STREAMS, streams_drop)
