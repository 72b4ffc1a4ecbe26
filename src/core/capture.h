/* Stream capture: work that streams are given becomes nodes of a graph instead of being done.
 *
 * One sequence begins on one stream and may spread to others through events.  The calls that a capture forbids come here, too, with
 * CUDA's codes: most of them also invalidate the sequence, which stays until its end is asked for, and fails then.
 *
 * Every operation of a stream asks first whether anything is captured at all, which is one load.  All functions are thread-safe. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_CAPTURE_H
#define AW_CORE_CAPTURE_H

#include "core/graph.h"

/* CU_STREAM_CAPTURE_MODE_* and _STATUS_*. */
enum aw_capture_mode { AW_CAPTURE_GLOBAL, AW_CAPTURE_THREAD_LOCAL, AW_CAPTURE_RELAXED };
enum aw_capture_status { AW_CAPTURE_NONE, AW_CAPTURE_ACTIVE, AW_CAPTURE_INVALIDATED };

/* Where a capturing stream stands.  One per stream, freed when the sequence ends. */
struct aw_capture_stream {
    struct aw_capture *capture;
    aw_edge_vec deps;                   /* what the next node will wait for */
    AW_VEC(struct aw_graph_node *) told; /* deps as last given out by aw_capture_info */
    AW_VEC(struct aw_edge_data) told_data;
};

/* The place that an event recorded in a capturing stream stands for. */
struct aw_capture_mark {
    uint64_t capture; /* id of the sequence */
    aw_edge_vec deps;
};

extern int aw_capture_count; /* sequences going on, atomic */
extern _Thread_local int aw_capture_paused;

static inline bool aw_capture_any(void)
{
    return __builtin_expect(__atomic_load_n(&aw_capture_count, __ATOMIC_RELAXED) != 0, 0) && !aw_capture_paused;
}

/* Between the two, this thread's work is the core's own (filling a module's variables, say) and none of a capture's business. */
static inline void aw_capture_pause(void) { aw_capture_paused++; }
static inline void aw_capture_resume(void) { aw_capture_paused--; }

/* ---- What operations of streams call first.  True: the call has been dealt with and returns *ret_status.  False: go on. */

/* Adds a node when the stream is capturing.  `make` fills the parameters, and is called only then. */
bool aw_capture_add(struct aw_cstream *stream, enum aw_status (*make)(const void *arg, struct aw_node_params *ret_params),
                    const void *arg, enum aw_status *ret_status);
/* For what no stream may do while it captures: synchronous copies, queries, waits on the host, callbacks of the old kind. */
bool aw_capture_refuse(struct aw_cstream *stream, enum aw_status *ret_status);
/* With `external` a node is made; else the event stands for the stream's place, and who waits for it joins the capture. */
bool aw_capture_record(struct aw_cevent *event, struct aw_cstream *stream, bool external, enum aw_status *ret_status);
bool aw_capture_wait(struct aw_cstream *stream, struct aw_cevent *event, bool external, enum aw_status *ret_status);
/* Asking or waiting for an event that was last recorded in a capturing stream. */
bool aw_capture_refuse_event(struct aw_cevent *event, enum aw_status *ret_status);
/* For calls that a replay would not repeat, such as allocating: as cuThreadExchangeStreamCaptureMode says. */
bool aw_capture_refuse_unsafe(enum aw_status *ret_status);
/* For waiting for all work of a context. */
bool aw_capture_refuse_ctx(struct aw_ctx *ctx, enum aw_status *ret_status);

/* ---- The calls themselves. */

/* `graph` NULL: a new one, given out at the end.  Dependencies as aw_graph_add's.  AW_ERR_CAPTURE_UNSUPPORTED: the legacy stream;
 * AW_ERR_ILLEGAL_STATE: it captures already. */
enum aw_status aw_capture_begin(struct aw_cstream *stream, enum aw_capture_mode mode, struct aw_graph *graph,
                                const struct aw_graph_edge *deps, size_t n);
/* The sequence is over in any case but AW_ERR_ILLEGAL_STATE (none), _CAPTURE_UNMATCHED (begun on another stream) and
 * _CAPTURE_WRONG_THREAD.  AW_ERR_CAPTURE_INVALIDATED and _UNJOINED leave no graph: *ret_graph is set to NULL then. */
enum aw_status aw_capture_end(struct aw_cstream *stream, struct aw_graph **ret_graph);

struct aw_capture_info {
    enum aw_capture_status status;
    uint64_t id;
    struct aw_graph *graph;                  /* borrowed until the end */
    struct aw_graph_node *const *deps;       /* borrowed until the next call on the stream */
    const struct aw_edge_data *data;
    size_t n;
    bool plain;                              /* no edge has data */
};
/* AW_ERR_CAPTURE_IMPLICIT: the legacy stream, while a stream that it waits for captures. */
enum aw_status aw_capture_info(struct aw_cstream *stream, struct aw_capture_info *ret_info);
/* AW_ERR_ILLEGAL_STATE: not capturing. */
enum aw_status aw_capture_update(struct aw_cstream *stream, const struct aw_graph_edge *deps, size_t n, bool replace);
/* Sets the thread's mode and returns the old one. */
enum aw_capture_mode aw_capture_exchange_mode(enum aw_capture_mode mode);

/* A stream or an event is about to be freed. */
void aw_capture_forget_stream(struct aw_cstream *stream);
void aw_capture_forget_event(struct aw_cevent *event);

#endif
