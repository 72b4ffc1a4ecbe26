/* Stream capture: work that streams are given becomes nodes of a graph instead of being done.
 *
 * One sequence begins on one stream and may spread to others through events.  The calls that a capture forbids come here, too,
 * with CUDA's codes: most of them also invalidate the sequence, which stays until its end is asked for, and fails then.
 *
 * What operations of streams call is recorder.h.  All functions are thread-safe. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_CAPTURE_H
#define AW_CORE_CAPTURE_H

#include "core/graph.h"
#include "core/recorder.h"

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

/* ---- The calls themselves. */

/* `graph` NULL: a new one, given out at the end.  Dependencies as aw_graph_add's.  AW_ERR_CAPTURE_UNSUPPORTED: the legacy stream;
 * AW_ERR_ILLEGAL_STATE: it captures already. */
enum aw_status aw_capture_begin(struct aw_cstream *stream, enum aw_capture_mode mode, struct aw_graph *graph,
                                const struct aw_graph_edge *deps, size_t n);
/* The sequence is over in any case but AW_ERR_ILLEGAL_STATE (none), _CAPTURE_UNMATCHED (begun on another stream) and
 * _CAPTURE_WRONG_THREAD.  AW_ERR_CAPTURE_INVALIDATED and _UNJOINED leave no graph: *ret_graph is set to NULL then.
 * ret_graph may be NULL where the sequence fills a graph of the caller's, else AW_ERR_INVALID_VALUE and the sequence goes on. */
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

#endif
