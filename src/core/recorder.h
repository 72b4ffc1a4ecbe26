/* What operations of streams ask of stream capture, for the files that lie below graphs: capture.c registers how it is done.
 *
 * Every operation of a stream asks first whether anything is captured at all, which is one load.  All functions are
 * thread-safe. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_RECORDER_H
#define AW_CORE_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct aw_cevent;
struct aw_copy3d;
struct aw_cstream;
struct aw_ctx;
struct aw_func;
struct aw_graph;
struct aw_launch_args;

struct aw_work_fill {
    uintptr_t dst;
    size_t pitch;               /* bytes; of no matter when height is 1 */
    uint32_t value;
    unsigned element_bytes;     /* 1, 2 or 4 */
    size_t count, height;       /* elements in a row, rows */
};

struct aw_work_host {
    void (*fn)(void *user);
    void *user;
};

/* An operation that may become a node of a graph. */
struct aw_work {
    enum aw_work_type { AW_WORK_KERNEL, AW_WORK_COPY, AW_WORK_FILL, AW_WORK_HOST, AW_WORK_ALLOC, AW_WORK_FREE,
                        AW_WORK_GRAPH } type;
    struct aw_ctx *ctx;         /* of copies, fills and allocations */
    union {
        struct {
            struct aw_func *func;
            const struct aw_launch_args *args;
        } kernel;
        const struct aw_copy3d *copy;
        struct aw_work_fill fill;
        struct aw_work_host host;
        struct {
            size_t size;
            uintptr_t *ret_address; /* stored when the node is made */
        } alloc;
        uintptr_t free;
        const struct aw_graph *graph;
    };
};

/* How a capture does it; functions below say what. */
struct aw_recorder {
    bool (*add)(struct aw_cstream *stream, const struct aw_work *work, enum aw_status *ret_status);
    bool (*refuse)(struct aw_cstream *stream, enum aw_status *ret_status);
    bool (*record)(struct aw_cevent *event, struct aw_cstream *stream, bool external, enum aw_status *ret_status);
    bool (*wait)(struct aw_cstream *stream, struct aw_cevent *event, bool external, enum aw_status *ret_status);
    bool (*refuse_event)(struct aw_cevent *event, enum aw_status *ret_status);
    bool (*refuse_unsafe)(enum aw_status *ret_status);
    bool (*refuse_ctx)(struct aw_ctx *ctx, enum aw_status *ret_status);
    bool (*has)(struct aw_cstream *stream);
    void (*forget_stream)(struct aw_cstream *stream);
    void (*forget_event)(struct aw_cevent *event);
};

/* Set before main; NULL in a program without capture.c, where nothing is ever captured. */
extern const struct aw_recorder *aw_recorder;
extern int aw_capture_count; /* sequences going on, atomic */
extern _Thread_local int aw_capture_paused;

static inline bool aw_capture_any(void)
{
    return __builtin_expect(__atomic_load_n(&aw_capture_count, __ATOMIC_RELAXED) != 0, 0) && !aw_capture_paused;
}

/* Between the two, this thread's work is the core's own (filling a module's variables, say) and none of a capture's business. */
static inline void aw_capture_pause(void) { aw_capture_paused++; }
static inline void aw_capture_resume(void) { aw_capture_paused--; }

/* ---- What operations of streams call first, when anything is captured or the event is marked.  True: the call has been dealt
 * with and returns *ret_status.  False: go on. */

/* Adds a node when the stream is capturing. */
static inline bool aw_capture_add(struct aw_cstream *stream, const struct aw_work *work, enum aw_status *ret_status)
{
    return aw_recorder->add(stream, work, ret_status);
}

/* For what no stream may do while it captures: synchronous copies, queries, waits on the host, callbacks of the old kind. */
static inline bool aw_capture_refuse(struct aw_cstream *stream, enum aw_status *ret_status)
{
    return aw_recorder->refuse(stream, ret_status);
}

/* With `external` a node is made; else the event stands for the stream's place, and who waits for it joins the capture. */
static inline bool aw_capture_record(struct aw_cevent *event, struct aw_cstream *stream, bool external,
                                     enum aw_status *ret_status)
{
    return aw_recorder->record(event, stream, external, ret_status);
}

static inline bool aw_capture_wait(struct aw_cstream *stream, struct aw_cevent *event, bool external, enum aw_status *ret_status)
{
    return aw_recorder->wait(stream, event, external, ret_status);
}

/* Asking or waiting for an event that was last recorded in a capturing stream. */
static inline bool aw_capture_refuse_event(struct aw_cevent *event, enum aw_status *ret_status)
{
    return aw_recorder->refuse_event(event, ret_status);
}

/* For calls that a replay would not repeat, such as allocating: as cuThreadExchangeStreamCaptureMode says. */
static inline bool aw_capture_refuse_unsafe(enum aw_status *ret_status)
{
    return aw_recorder->refuse_unsafe(ret_status);
}

/* For waiting for all work of a context. */
static inline bool aw_capture_refuse_ctx(struct aw_ctx *ctx, enum aw_status *ret_status)
{
    return aw_recorder->refuse_ctx(ctx, ret_status);
}

/* Does the stream belong to a capture, whatever has become of that? */
static inline bool aw_capture_has(struct aw_cstream *stream)
{
    return aw_recorder->has(stream);
}

/* A stream or an event is about to be freed. */
static inline void aw_capture_forget_stream(struct aw_cstream *stream)
{
    if (aw_recorder)
        aw_recorder->forget_stream(stream);
}

static inline void aw_capture_forget_event(struct aw_cevent *event)
{
    if (aw_recorder)
        aw_recorder->forget_event(event);
}

#endif
