/* Streams and events of a context, behind checked handles.  While a stream captures (capture.h), its operations become nodes of a
 * graph, and asking or waiting for it fails with AW_ERR_CAPTURE_*.
 *
 * CUDA's special stream handles are 0 (the legacy stream, or the thread's own in the _ptsz and _ptds entry points), 1 (legacy)
 * and 2 (the thread's own).  All functions are thread-safe. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_STREAM_H
#define AW_CORE_STREAM_H

#include <anywarp/provider.h>

#include "core/context.h"

struct aw_cevent {
    struct aw_handle handle;
    struct aw_ctx *ctx;
    struct aw_event *native;
    unsigned flags;           /* CU_EVENT_*: 1 blocking sync, 2 no timing, 4 interprocess */
    bool recorded;            /* atomic: recorded at least once */
    struct aw_capture_mark *mark; /* capture.h's: last recorded in a capturing stream; atomic */
};

extern struct aw_slab aw_stream_slab, aw_event_slab;

/* What an entry point does with its stream argument: `handle` as given, `per_thread` true in _ptsz and _ptds forms.
 * AW_ERR_INVALID_HANDLE (or AW_ERR_INVALID_CONTEXT for a dead context), else a stream borrowed until destroyed.
 * `ctx` is the current context, used for the special handles. */
enum aw_status aw_stream_find(struct aw_ctx *ctx, const void *handle, bool per_thread, struct aw_cstream **ret_stream);
/* For a thread without a current context: a stream that a program made, and its context, whose fault is returned if it has one.
 * AW_ERR_INVALID_CONTEXT for the special handles and what is none. */
enum aw_status aw_stream_find_made(const void *handle, struct aw_ctx **ret_ctx, struct aw_cstream **ret_stream);

/* flags: 0 or 1 (non-blocking), else AW_ERR_INVALID_VALUE.  priority is clamped to the range. */
enum aw_status aw_stream_create(struct aw_ctx *ctx, unsigned flags, int priority, struct aw_cstream **ret_stream);
enum aw_status aw_stream_destroy(struct aw_cstream *stream); /* AW_ERR_INVALID_HANDLE for the special streams */
enum aw_status aw_stream_query(struct aw_cstream *stream);
enum aw_status aw_stream_sync(struct aw_cstream *stream);
/* An event that was never recorded is no wait. */
enum aw_status aw_stream_wait(struct aw_cstream *stream, struct aw_cevent *event);
/* The same; in a capturing stream this makes a node, and the event need not be of the capture. */
enum aw_status aw_stream_wait_external(struct aw_cstream *stream, struct aw_cevent *event);
/* Calls fn on some thread of ours once all earlier work has ended. */
enum aw_status aw_stream_host_func(struct aw_cstream *stream, void (*fn)(void *user), void *user);
/* Calls fn(user) now, in this thread, as the stream's work.  AW_ERR_NOT_READY, and nothing is done, unless the stream is idle and
 * nobody captures; AW_ERR_NOT_SUPPORTED where device memory is not the host's own. */
enum aw_status aw_stream_inline(struct aw_cstream *stream, void (*fn)(void *user), void *user);
/* Calls fn(user, part) for each part below `parts` on the device's threads, this one among them, and returns when all have
 * returned; fn calls nothing of CUDA.  For what aw_stream_host_func and aw_stream_inline call. */
void aw_stream_spread(uint32_t parts, void (*fn)(void *user, uint32_t part), void *user);
/* How many threads that may be; 0: devices have none, and aw_stream_spread does all in this one. */
uint32_t aw_stream_spread_threads(void);
/* The platform's own stream, borrowed.  AW_ERR_NOT_READY while the stream captures, AW_ERR_NOT_SUPPORTED where there is none. */
enum aw_status aw_stream_native(struct aw_cstream *stream, void **ret_native);
/* As cuStreamAddCallback: fn gets the stream's handle as the user knows it and the stream's status, as enum aw_status. */
enum aw_status aw_stream_callback(struct aw_cstream *stream, void *user_handle,
                                  void (*fn)(void *user_handle, enum aw_status status, void *user), void *user);
/* The range of priorities: *ret_least >= *ret_greatest, 0 and a negative number. */
void aw_stream_priorities(int *ret_least, int *ret_greatest);

static inline struct aw_cevent *aw_event_from(const void *handle) /* NULL: not a live event */
{
    return aw_slab_valid(&aw_event_slab, handle) ? (struct aw_cevent *)(uintptr_t)handle : NULL;
}

enum aw_status aw_event_create(struct aw_ctx *ctx, unsigned flags, struct aw_cevent **ret_event);
/* An event of another process, already recorded for all that is known; takes `native` when it succeeds. */
enum aw_status aw_event_adopt(struct aw_ctx *ctx, struct aw_event *native, struct aw_cevent **ret_event);
enum aw_status aw_event_destroy(struct aw_cevent *event);
/* AW_ERR_INVALID_HANDLE when stream and event belong to different contexts. */
enum aw_status aw_event_record(struct aw_cevent *event, struct aw_cstream *stream);
/* The same; in a capturing stream this makes a node that records the event at each launch. */
enum aw_status aw_event_record_external(struct aw_cevent *event, struct aw_cstream *stream);
/* The event stands for all work that the context's streams have now, or with `green` those of that green context and the default
 * streams.  AW_ERR_INVALID_HANDLE when it belongs to another context; AW_ERR_CAPTURE_UNSUPPORTED when a stream of the context
 * captures, whose capture is then invalid. */
enum aw_status aw_ctx_record(struct aw_ctx *ctx, const struct aw_green *green, struct aw_cevent *event);
/* What those streams are given from now on waits for the event, and so do streams of the context that are made later. */
enum aw_status aw_ctx_wait(struct aw_ctx *ctx, const struct aw_green *green, struct aw_cevent *event);
enum aw_status aw_event_query(struct aw_cevent *event); /* AW_OK when never recorded */
enum aw_status aw_event_sync(struct aw_cevent *event);
/* Milliseconds.  AW_ERR_INVALID_HANDLE when either was not recorded or has no timing; AW_ERR_NOT_READY. */
enum aw_status aw_event_elapsed(struct aw_cevent *begin, struct aw_cevent *end, float *ret_ms);

#endif
