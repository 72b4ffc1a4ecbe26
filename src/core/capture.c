/* Stream capture.  One lock over all sequences: capturing is rare and short, and a sequence spans streams and events. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture.h"

#include <stdlib.h>
#include <string.h>

struct aw_capture {
    struct aw_capture *next;
    uint64_t id;
    struct aw_graph *graph;
    bool graph_is_ours;             /* made for this sequence, so it goes when the sequence fails */
    bool invalid;
    enum aw_capture_mode mode;
    pthread_t thread;
    struct aw_cstream *origin;      /* NULL: destroyed */
    AW_VEC(struct aw_cstream *) streams; /* all that capture, the origin among them */
    aw_edge_vec loose;              /* last nodes of streams that were destroyed: to be joined all the same */
};

static _Thread_local enum aw_capture_mode thread_mode;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct aw_capture *captures;

static const struct aw_edge_data plain_edge;

/* ---- Sets of dependencies. */

static bool deps_add(aw_edge_vec *deps, const struct aw_graph_edge *more, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool there = false;
        for (size_t k = 0; k < deps->n && !there; k++)
            there = deps->at[k].node == more[i].node;
        if (!there && !aw_vec_push(deps, more[i]))
            return false;
    }
    return true;
}

static bool deps_set(aw_edge_vec *deps, const struct aw_graph_edge *all, size_t n)
{
    if (!aw_vec_reserve(deps, n + 1))
        return false;
    deps->n = 0;
    return deps_add(deps, all, n);
}

/* ---- Sequences.  The lock is held. */

static struct aw_capture *capture_by_id(uint64_t id)
{
    struct aw_capture *capture = captures;
    while (capture && capture->id != id)
        capture = capture->next;
    return capture;
}

static bool capture_take_stream(struct aw_capture *capture, struct aw_cstream *stream, const struct aw_graph_edge *deps, size_t n)
{
    struct aw_capture_stream *place = calloc(1, sizeof *place);
    if (!place || !deps_set(&place->deps, deps, n) || !aw_vec_push(&capture->streams, stream)) {
        if (place)
            aw_vec_fini(&place->deps);
        free(place);
        return false;
    }
    place->capture = capture;
    stream->capture = place;
    return true;
}

static void stream_release(struct aw_cstream *stream)
{
    struct aw_capture_stream *place = stream->capture;
    stream->capture = NULL;
    aw_vec_fini(&place->deps);
    aw_vec_fini(&place->told);
    aw_vec_fini(&place->told_data);
    free(place);
}

/* Frees the sequence, but not its graph. */
static void capture_free(struct aw_capture *capture)
{
    for (struct aw_capture **at = &captures; *at; at = &(*at)->next) {
        if (*at != capture)
            continue;
        *at = capture->next;
        break;
    }
    for (size_t i = 0; i < capture->streams.n; i++)
        stream_release(capture->streams.at[i]);
    aw_vec_fini(&capture->streams);
    aw_vec_fini(&capture->loose);
    capture->graph->capture = NULL;
    free(capture);
    __atomic_sub_fetch(&aw_capture_count, 1, __ATOMIC_RELAXED);
}

static enum aw_status invalidate(struct aw_capture *capture, enum aw_status why)
{
    capture->invalid = true;
    return why;
}

/* ---- The legacy stream: it waits for every blocking stream of its context, so it cannot be used while one captures. */

static struct aw_capture *capture_behind_legacy(const struct aw_cstream *stream)
{
    if (stream != &stream->ctx->legacy)
        return NULL;
    for (struct aw_capture *capture = captures; capture; capture = capture->next)
        for (size_t i = 0; i < capture->streams.n; i++)
            if (capture->streams.at[i]->ctx == stream->ctx && !(capture->streams.at[i]->flags & 1))
                return capture;
    return NULL;
}

/* What stands against any use of the stream: AW_OK, or the status and the sequence that it concerns. */
static enum aw_status stream_check(const struct aw_cstream *stream)
{
    struct aw_capture *behind = capture_behind_legacy(stream);
    if (behind)
        return invalidate(behind, AW_ERR_CAPTURE_IMPLICIT);
    return stream->capture && stream->capture->capture->invalid ? AW_ERR_CAPTURE_INVALIDATED : AW_OK;
}

/* ---- Operations. */

/* Adds the node with the lock held; *params is taken over in any case. */
static enum aw_status place_add(struct aw_capture_stream *place, struct aw_node_params *params)
{
    struct aw_graph_node *node;
    enum aw_status status = aw_graph_add(place->capture->graph, place->deps.at, place->deps.n, params, &node);
    if (status) {
        aw_node_params_fini(params);
        return status;
    }
    place->deps.n = 0;
    place->deps.at[place->deps.n++] = (struct aw_graph_edge){ node, plain_edge }; /* deps_set left room for one */
    return AW_OK;
}

static enum aw_status alloc_make(const struct aw_work *work, struct aw_node_params *ret_params)
{
    enum aw_status status = aw_node_alloc_make(work->ctx, work->alloc.size, ret_params);
    if (status == AW_OK)
        *work->alloc.ret_address = ret_params->alloc.address;
    return status;
}

/* The work as a node's parameters, checked as it would be when it is done. */
static enum aw_status work_make(const struct aw_work *work, struct aw_node_params *ret_params)
{
    switch (work->type) {
    case AW_WORK_KERNEL:
        return aw_node_kernel_make(work->kernel.func, work->kernel.args, ret_params);
    case AW_WORK_COPY:
        return aw_node_copy_make(work->ctx, work->copy, NULL, NULL, ret_params);
    case AW_WORK_FILL:
        return aw_node_fill_make(work->ctx, &work->fill, ret_params);
    case AW_WORK_ALLOC:
        return alloc_make(work, ret_params);
    case AW_WORK_FREE:
        return aw_node_free_make(work->free, ret_params);
    case AW_WORK_GRAPH:
        return aw_node_child_make(work->graph, ret_params);
    case AW_WORK_HOST:
        *ret_params = (struct aw_node_params){ .type = AW_NODE_HOST, .host = work->host };
        return AW_OK;
    }
    return AW_ERR_NOT_SUPPORTED;
}

static bool capture_add(struct aw_cstream *stream, const struct aw_work *work, enum aw_status *ret_status)
{
    struct aw_node_params params;
    uint64_t id = 0;
    pthread_mutex_lock(&lock);
    enum aw_status status = stream_check(stream);
    if (stream->capture)
        id = stream->capture->capture->id;
    pthread_mutex_unlock(&lock);
    if (status == AW_OK && !id)
        return false;
    if (status == AW_OK)
        status = work_make(work, &params); /* without the lock: it may compile a kernel */
    if (status) {
        *ret_status = status;
        return true;
    }
    pthread_mutex_lock(&lock);
    struct aw_capture_stream *place = stream->capture;
    if (place && place->capture->id == id) {
        status = place->capture->invalid ? AW_ERR_CAPTURE_INVALIDATED : place_add(place, &params);
    } else {
        status = AW_ERR_ILLEGAL_STATE; /* ended by another thread in between */
    }
    pthread_mutex_unlock(&lock);
    if (status)
        aw_node_params_fini(&params);
    *ret_status = status;
    return true;
}

static bool capture_refuse(struct aw_cstream *stream, enum aw_status *ret_status)
{
    pthread_mutex_lock(&lock);
    enum aw_status status = stream_check(stream);
    if (status == AW_OK && stream->capture)
        status = invalidate(stream->capture->capture, AW_ERR_CAPTURE_UNSUPPORTED);
    pthread_mutex_unlock(&lock);
    *ret_status = status;
    return status != AW_OK;
}

static bool capture_has(struct aw_cstream *stream)
{
    pthread_mutex_lock(&lock);
    bool has = stream->capture;
    pthread_mutex_unlock(&lock);
    return has;
}

/* ---- Events. */

/* Makes the event stand for the stream's place. */
static enum aw_status event_mark(struct aw_cevent *event, const struct aw_capture_stream *place)
{
    struct aw_capture_mark *mark = event->mark ? event->mark : calloc(1, sizeof *mark);
    if (!mark)
        return AW_ERR_OUT_OF_MEMORY;
    mark->capture = place->capture->id;
    bool ok = deps_set(&mark->deps, place->deps.at, place->deps.n);
    __atomic_store_n(&event->mark, mark, __ATOMIC_RELEASE);
    return ok ? AW_OK : AW_ERR_OUT_OF_MEMORY;
}

static void event_unmark(struct aw_cevent *event)
{
    struct aw_capture_mark *mark = event->mark;
    if (!mark)
        return;
    __atomic_store_n(&event->mark, NULL, __ATOMIC_RELEASE);
    aw_vec_fini(&mark->deps);
    free(mark);
}

static enum aw_status event_node(struct aw_capture_stream *place, enum aw_node_type type, struct aw_cevent *event)
{
    struct aw_node_params params;
    enum aw_status status = aw_node_event_make(type, event, &params);
    return status ? status : place_add(place, &params);
}

static bool capture_record(struct aw_cevent *event, struct aw_cstream *stream, bool external, enum aw_status *ret_status)
{
    pthread_mutex_lock(&lock);
    struct aw_capture_stream *place = stream->capture;
    enum aw_status status = stream_check(stream);
    bool taken = status || place;
    if (status == AW_OK && place)
        status = external ? event_node(place, AW_NODE_EVENT_RECORD, event) : event_mark(event, place);
    else if (status == AW_OK)
        event_unmark(event);
    pthread_mutex_unlock(&lock);
    *ret_status = status;
    return taken;
}

/* A stream waits for an event that was captured by `capture`, NULL when that sequence is over. */
static enum aw_status wait_captured(struct aw_cstream *stream, struct aw_cevent *event, struct aw_capture *capture)
{
    struct aw_capture_stream *place = stream->capture;
    if (!capture)
        return place ? invalidate(place->capture, AW_ERR_CAPTURE_ISOLATION) : AW_ERR_CAPTURED_EVENT;
    if (capture->invalid)
        return AW_ERR_CAPTURE_INVALIDATED;
    if (place && place->capture != capture) {
        (void)invalidate(place->capture, AW_OK);
        return invalidate(capture, AW_ERR_CAPTURE_MERGE);
    }
    if (stream == &stream->ctx->legacy)
        return invalidate(capture, AW_ERR_CAPTURE_IMPLICIT);
    bool ok = place ? aw_vec_reserve(&place->deps, event->mark->deps.n + 1) &&
                          deps_add(&place->deps, event->mark->deps.at, event->mark->deps.n)
                    : capture_take_stream(capture, stream, event->mark->deps.at, event->mark->deps.n);
    return ok ? AW_OK : AW_ERR_OUT_OF_MEMORY;
}

static bool capture_wait(struct aw_cstream *stream, struct aw_cevent *event, bool external, enum aw_status *ret_status)
{
    pthread_mutex_lock(&lock);
    struct aw_capture_stream *place = stream->capture;
    enum aw_status status = stream_check(stream);
    bool taken = status || place || event->mark;
    if (status == AW_OK && place && external)
        status = event_node(place, AW_NODE_EVENT_WAIT, event);
    else if (status == AW_OK && event->mark)
        status = wait_captured(stream, event, capture_by_id(event->mark->capture));
    else if (status == AW_OK && place)
        status = invalidate(place->capture, AW_ERR_CAPTURE_ISOLATION);
    pthread_mutex_unlock(&lock);
    *ret_status = status;
    return taken;
}

static bool capture_refuse_event(struct aw_cevent *event, enum aw_status *ret_status)
{
    pthread_mutex_lock(&lock);
    bool refused = event->mark != NULL;
    struct aw_capture *capture = refused ? capture_by_id(event->mark->capture) : NULL;
    if (capture)
        (void)invalidate(capture, AW_OK);
    pthread_mutex_unlock(&lock);
    *ret_status = AW_ERR_CAPTURED_EVENT;
    return refused;
}

/* ---- Calls that are no operation of a stream. */

static bool capture_refuse_unsafe(enum aw_status *ret_status)
{
    bool refused = false;
    if (thread_mode == AW_CAPTURE_RELAXED)
        return false;
    pthread_mutex_lock(&lock);
    for (struct aw_capture *capture = captures; capture; capture = capture->next) {
        bool own = pthread_equal(capture->thread, pthread_self());
        if (own ? capture->mode == AW_CAPTURE_RELAXED
                : thread_mode == AW_CAPTURE_THREAD_LOCAL || capture->mode != AW_CAPTURE_GLOBAL)
            continue;
        refused = true;
        (void)invalidate(capture, AW_OK);
    }
    pthread_mutex_unlock(&lock);
    *ret_status = AW_ERR_CAPTURE_UNSUPPORTED;
    return refused;
}

static bool capture_refuse_ctx(struct aw_ctx *ctx, enum aw_status *ret_status)
{
    bool refused = false;
    pthread_mutex_lock(&lock);
    for (struct aw_capture *capture = captures; capture; capture = capture->next) {
        for (size_t i = 0; i < capture->streams.n; i++) {
            if (capture->streams.at[i]->ctx != ctx)
                continue;
            refused = true;
            (void)invalidate(capture, AW_OK);
        }
    }
    pthread_mutex_unlock(&lock);
    *ret_status = AW_ERR_CAPTURE_UNSUPPORTED;
    return refused;
}

enum aw_capture_mode aw_capture_exchange_mode(enum aw_capture_mode mode)
{
    enum aw_capture_mode old = thread_mode;
    thread_mode = mode;
    return old;
}

/* ---- Beginning and ending. */

static enum aw_status deps_in_graph(const struct aw_graph *graph, const struct aw_graph_edge *deps, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (deps[i].node->graph != graph)
            return AW_ERR_INVALID_VALUE;
    return AW_OK;
}

/* The lock is held. */
static enum aw_status capture_start(struct aw_cstream *stream, enum aw_capture_mode mode, struct aw_graph *graph, bool ours,
                                    const struct aw_graph_edge *deps, size_t n)
{
    if (stream->capture)
        return AW_ERR_ILLEGAL_STATE;
    if (graph->capture || deps_in_graph(graph, deps, n))
        return AW_ERR_INVALID_VALUE;
    struct aw_capture *capture = calloc(1, sizeof *capture);
    if (!capture)
        return AW_ERR_OUT_OF_MEMORY;
    if (!capture_take_stream(capture, stream, deps, n)) {
        free(capture);
        return AW_ERR_OUT_OF_MEMORY;
    }
    capture->id = aw_next_id();
    capture->graph = graph;
    capture->graph_is_ours = ours;
    capture->mode = mode;
    capture->thread = pthread_self();
    capture->origin = stream;
    capture->next = captures;
    captures = capture;
    graph->capture = capture;
    __atomic_add_fetch(&aw_capture_count, 1, __ATOMIC_RELAXED);
    return AW_OK;
}

enum aw_status aw_capture_begin(struct aw_cstream *stream, enum aw_capture_mode mode, struct aw_graph *graph,
                                const struct aw_graph_edge *deps, size_t n)
{
    struct aw_graph *own = NULL;
    if ((unsigned)mode > AW_CAPTURE_RELAXED)
        return AW_ERR_INVALID_VALUE;
    if (stream == &stream->ctx->legacy)
        return AW_ERR_CAPTURE_UNSUPPORTED;
    enum aw_status status = graph ? AW_OK : aw_graph_create(&own);
    if (status)
        return status;
    pthread_mutex_lock(&lock);
    status = capture_start(stream, mode, graph ? graph : own, own != NULL, deps, n);
    pthread_mutex_unlock(&lock);
    if (status && own)
        aw_graph_free(own);
    return status;
}

/* Whether all that the other streams were given has come back to the origin. */
static enum aw_status joined_check(const struct aw_capture *capture)
{
    const aw_edge_vec *last = &capture->origin->capture->deps;
    uint32_t mark = aw_graph_next_mark();
    if (!aw_graph_mark_before(last->at, last->n, mark))
        return AW_ERR_OUT_OF_MEMORY;
    for (size_t i = 0; i < capture->streams.n; i++) {
        const aw_edge_vec *deps = &capture->streams.at[i]->capture->deps;
        for (size_t k = 0; k < deps->n; k++)
            if (deps->at[k].node->mark != mark)
                return AW_ERR_CAPTURE_UNJOINED;
    }
    for (size_t k = 0; k < capture->loose.n; k++)
        if (capture->loose.at[k].node->mark != mark)
            return AW_ERR_CAPTURE_UNJOINED;
    return AW_OK;
}

enum aw_status aw_capture_end(struct aw_cstream *stream, struct aw_graph **ret_graph)
{
    struct aw_graph *failed = NULL;
    pthread_mutex_lock(&lock);
    struct aw_capture *capture = stream->capture ? stream->capture->capture : NULL;
    enum aw_status status = !capture                     ? AW_ERR_ILLEGAL_STATE
                            : capture->origin != stream ? AW_ERR_CAPTURE_UNMATCHED
                            : capture->mode != AW_CAPTURE_RELAXED && !pthread_equal(capture->thread, pthread_self())
                                ? AW_ERR_CAPTURE_WRONG_THREAD
                            : !ret_graph && capture->graph_is_ours ? AW_ERR_INVALID_VALUE
                                                                   : AW_OK;
    if (status == AW_ERR_CAPTURE_UNMATCHED)
        (void)invalidate(capture, AW_OK);
    if (status) {
        pthread_mutex_unlock(&lock);
        return status;
    }
    status = capture->invalid ? AW_ERR_CAPTURE_INVALIDATED : joined_check(capture);
    if (ret_graph)
        *ret_graph = status ? NULL : capture->graph;
    if (status && capture->graph_is_ours)
        failed = capture->graph;
    capture_free(capture);
    pthread_mutex_unlock(&lock);
    if (failed)
        aw_graph_free(failed);
    return status;
}

/* ---- Asking. */

static enum aw_status info_tell(struct aw_capture_stream *place, struct aw_capture_info *info)
{
    place->told.n = place->told_data.n = 0;
    if (!aw_vec_reserve(&place->told, place->deps.n + 1) || !aw_vec_reserve(&place->told_data, place->deps.n + 1))
        return AW_ERR_OUT_OF_MEMORY;
    info->plain = true;
    for (size_t i = 0; i < place->deps.n; i++) {
        place->told.at[place->told.n++] = place->deps.at[i].node;
        place->told_data.at[place->told_data.n++] = place->deps.at[i].data;
        info->plain = info->plain && aw_edge_plain(&place->deps.at[i].data);
    }
    info->deps = place->told.at;
    info->data = place->told_data.at;
    info->n = place->told.n;
    return AW_OK;
}

enum aw_status aw_capture_info(struct aw_cstream *stream, struct aw_capture_info *ret_info)
{
    struct aw_capture_info info = { .status = AW_CAPTURE_NONE };
    enum aw_status status = AW_OK;
    pthread_mutex_lock(&lock);
    struct aw_capture_stream *place = stream->capture;
    if (place) {
        info.status = place->capture->invalid ? AW_CAPTURE_INVALIDATED : AW_CAPTURE_ACTIVE;
        info.id = place->capture->id;
        info.graph = place->capture->graph;
        status = info_tell(place, &info);
    } else if (capture_behind_legacy(stream)) {
        status = AW_ERR_CAPTURE_IMPLICIT;
    }
    pthread_mutex_unlock(&lock);
    if (status == AW_OK)
        *ret_info = info;
    return status;
}

enum aw_status aw_capture_update(struct aw_cstream *stream, const struct aw_graph_edge *deps, size_t n, bool replace)
{
    enum aw_status status = AW_OK;
    pthread_mutex_lock(&lock);
    struct aw_capture_stream *place = stream->capture;
    if (!place)
        status = AW_ERR_ILLEGAL_STATE;
    else if (place->capture->invalid)
        status = AW_ERR_CAPTURE_INVALIDATED;
    else if (deps_in_graph(place->capture->graph, deps, n))
        status = AW_ERR_INVALID_VALUE;
    else if (replace ? !deps_set(&place->deps, deps, n)
                     : !aw_vec_reserve(&place->deps, n + 1) || !deps_add(&place->deps, deps, n))
        status = AW_ERR_OUT_OF_MEMORY;
    pthread_mutex_unlock(&lock);
    return status;
}

/* ---- Ends of streams and events. */

static void capture_forget_stream(struct aw_cstream *stream)
{
    struct aw_graph *failed = NULL;
    pthread_mutex_lock(&lock);
    struct aw_capture *capture = stream->capture ? stream->capture->capture : NULL;
    if (capture && capture->origin == stream) { /* nobody can end it any more */
        failed = capture->graph_is_ours ? capture->graph : NULL;
        capture_free(capture);
    } else if (capture) {
        if (!deps_add(&capture->loose, stream->capture->deps.at, stream->capture->deps.n))
            (void)invalidate(capture, AW_OK);
        for (size_t i = 0; i < capture->streams.n; i++)
            if (capture->streams.at[i] == stream)
                capture->streams.at[i--] = capture->streams.at[--capture->streams.n];
        stream_release(stream);
    }
    pthread_mutex_unlock(&lock);
    if (failed)
        aw_graph_free(failed);
}

static void capture_forget_event(struct aw_cevent *event)
{
    pthread_mutex_lock(&lock);
    event_unmark(event);
    pthread_mutex_unlock(&lock);
}

static const struct aw_recorder recorder = {
    .add = capture_add, .refuse = capture_refuse, .record = capture_record, .wait = capture_wait,
    .refuse_event = capture_refuse_event, .refuse_unsafe = capture_refuse_unsafe, .refuse_ctx = capture_refuse_ctx,
    .has = capture_has, .forget_stream = capture_forget_stream, .forget_event = capture_forget_event,
};

__attribute__((constructor)) static void capture_register(void)
{
    aw_recorder = &recorder;
}
