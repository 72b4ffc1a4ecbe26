/* Executable graphs: order, launch, end.  Changing them is graph_update.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "core"
#include "core/activity.h"
#include "core/graph_exec.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/thread.h"

struct aw_slab aw_graph_exec_slab = AW_SLAB_INIT("executable graph", struct aw_graph_exec);

/* A stream of another context than the launching one's, and the events that bracket its work. */
struct aw_graph_lane {
    struct aw_cstream stream; /* not a handle: nobody else sees it */
    struct aw_event *begin, *end;
    struct aw_ctx *begin_ctx; /* that `begin` was made in */
};

/* ---- Order. */

/* Sorts the nodes so that every edge points forwards, keeping the order of adding where it may.  *ret_error: a node on a
 * cycle. */
static enum aw_status graph_sort(struct aw_graph *graph, struct aw_graph_node **ret_error)
{
    size_t n = graph->nodes.n, done = 0;
    struct aw_graph_node **order = malloc((n + 1) * sizeof *order);
    if (!order)
        return AW_ERR_OUT_OF_MEMORY;
    for (size_t i = 0; i < n; i++) {
        graph->nodes.at[i]->mark = (uint32_t)graph->nodes.at[i]->in.n;
        if (!graph->nodes.at[i]->in.n)
            order[done++] = graph->nodes.at[i];
    }
    for (size_t at = 0; at < done; at++)
        for (size_t k = 0; k < order[at]->out.n; k++)
            if (--order[at]->out.at[k]->mark == 0)
                order[done++] = order[at]->out.at[k];
    if (done < n) {
        for (size_t i = 0; i < n && ret_error; i++)
            if (graph->nodes.at[i]->mark)
                *ret_error = graph->nodes.at[i];
        free(order);
        return AW_ERR_INVALID_VALUE;
    }
    if (n) /* without nodes there is no list of them */
        memcpy(graph->nodes.at, order, n * sizeof *order);
    free(order);
    enum aw_status status = AW_OK;
    for (size_t i = 0; i < n && status == AW_OK; i++) {
        size_t inside;
        struct aw_graph *const *inner = aw_node_graphs(&graph->nodes.at[i]->params, &inside);
        for (size_t k = 0; k < inside && status == AW_OK; k++)
            status = graph_sort(inner[k], ret_error);
    }
    return status;
}

/* ---- Life. */

/* The node that the user knows for one of a clone. */
static struct aw_graph_node *source_node(const struct aw_graph *source, const struct aw_graph_node *copy)
{
    for (size_t i = 0; i < source->nodes.n; i++)
        if (source->nodes.at[i]->id == copy->origin)
            return source->nodes.at[i];
    return NULL;
}

static bool graph_conditional(const struct aw_graph *graph)
{
    bool found = false;
    for (size_t i = 0; i < graph->nodes.n && !found; i++) {
        const struct aw_node_params *params = &graph->nodes.at[i]->params;
        found = params->type == AW_NODE_CONDITION || (params->type == AW_NODE_GRAPH && graph_conditional(params->child));
    }
    return found;
}

/* CUDA allows work of a device in the graphs of conditional nodes. */
static bool graph_bodies_fit(const struct aw_graph *graph, bool body)
{
    static const bool allowed[AW_NODE_CONDITION + 1] = {
        [AW_NODE_KERNEL] = true, [AW_NODE_MEMCPY] = true, [AW_NODE_MEMSET] = true,
        [AW_NODE_GRAPH] = true,  [AW_NODE_EMPTY] = true,  [AW_NODE_CONDITION] = true,
    };
    bool fit = true;
    for (size_t i = 0; i < graph->nodes.n && fit; i++) {
        const struct aw_node_params *params = &graph->nodes.at[i]->params;
        size_t n;
        struct aw_graph *const *inner = aw_node_graphs(params, &n);
        fit = !body || allowed[params->type];
        for (size_t k = 0; k < n && fit; k++)
            fit = graph_bodies_fit(inner[k], body || params->type == AW_NODE_CONDITION);
    }
    return fit;
}

void aw_graph_exec_lock(struct aw_graph_exec *exec)
{
    pthread_mutex_lock(&exec->lock);
    while (exec->busy)
        pthread_cond_wait(&exec->idle, &exec->lock);
}

static enum aw_status exec_make(struct aw_graph *graph, uint64_t flags, struct aw_graph_node **ret_error,
                                struct aw_graph_exec **ret_exec)
{
    struct aw_graph_exec *exec = aw_slab_take(&aw_graph_exec_slab);
    struct aw_graph_node *error = NULL;
    if (!exec)
        return AW_ERR_OUT_OF_MEMORY;
    enum aw_status status = aw_graph_clone_hidden(graph, &exec->graph);
    if (status == AW_OK)
        status = graph_sort(exec->graph, &error);
    if (status) {
        if (error && ret_error)
            *ret_error = source_node(graph, error);
        if (exec->graph)
            aw_graph_free(exec->graph);
        aw_slab_give(&aw_graph_exec_slab, exec);
        return status;
    }
    exec->flags = flags;
    exec->id = aw_next_id();
    exec->conditional = graph_conditional(exec->graph);
    pthread_mutex_init(&exec->lock, NULL);
    pthread_cond_init(&exec->idle, NULL);
    aw_slab_publish(&aw_graph_exec_slab, exec);
    *ret_exec = exec;
    return AW_OK;
}

enum aw_status aw_graph_instantiate(struct aw_graph *graph, uint64_t flags, struct aw_graph_node **ret_error,
                                    struct aw_graph_exec **ret_exec)
{
    const uint64_t known = AW_EXEC_AUTO_FREE | AW_EXEC_UPLOAD | AW_EXEC_DEVICE_LAUNCH | AW_EXEC_NODE_PRIORITY;
    bool allocates = aw_graph_allocates(graph);
    if (flags & ~known || graph->capture || (allocates && graph->instantiated) || !graph_bodies_fit(graph, false))
        return AW_ERR_INVALID_VALUE;
    if (flags & AW_EXEC_DEVICE_LAUNCH) {
        aw_say(GRAPH_DEVICE_LAUNCH);
        return AW_ERR_NOT_SUPPORTED;
    }
    enum aw_status status = exec_make(graph, flags, ret_error, ret_exec);
    if (status == AW_OK && allocates) {
        graph->instantiated++;
        (*ret_exec)->source = graph;
        (*ret_exec)->source_id = graph->id;
    }
    return status;
}

static void lane_free(struct aw_graph_lane *lane)
{
    if (lane->begin)
        aw_provider->event_destroy(lane->begin);
    if (lane->end)
        aw_provider->event_destroy(lane->end);
    if (lane->stream.native)
        aw_provider->stream_destroy(lane->stream.native);
    free(lane);
}

/* Whether something that the last launch may still use goes with the executable: pinned memory, user objects. */
static bool graph_holds(const struct aw_graph *graph)
{
    bool holds = graph->objects.n != 0;
    for (size_t i = 0; i < graph->nodes.n && !holds; i++) {
        const struct aw_graph_node *node = graph->nodes.at[i];
        size_t n;
        struct aw_graph *const *inner = aw_node_graphs(&node->params, &n);
        holds = node->staging || node->params.type == AW_NODE_CONDITION;
        for (size_t k = 0; k < n && !holds; k++)
            holds = graph_holds(inner[k]);
    }
    return holds;
}

static void staging_free(struct aw_graph *graph)
{
    for (size_t i = 0; i < graph->nodes.n; i++) {
        struct aw_graph_node *node = graph->nodes.at[i];
        if (node->staging)
            aw_provider->host_free(node->staging);
        node->staging = NULL;
        size_t n;
        struct aw_graph *const *inner = aw_node_graphs(&node->params, &n);
        for (size_t k = 0; k < n; k++)
            staging_free(inner[k]);
    }
}

enum aw_status aw_graph_exec_destroy(struct aw_graph_exec *exec)
{
    if (!aw_slab_kill(&aw_graph_exec_slab, exec))
        return AW_ERR_INVALID_VALUE;
    aw_graph_exec_lock(exec);
    if (exec->done && graph_holds(exec->graph))
        aw_provider->event_sync(exec->done);
    staging_free(exec->graph);
    for (size_t i = 0; i < exec->lanes.n; i++)
        lane_free(exec->lanes.at[i]);
    aw_vec_fini(&exec->lanes);
    if (exec->done)
        aw_provider->event_destroy(exec->done);
    if (exec->gate)
        aw_provider->host_free(exec->gate);
    if (exec->source && aw_graph_from(exec->source) && exec->source->id == exec->source_id)
        exec->source->instantiated--;
    aw_graph_free(exec->graph);
    pthread_mutex_unlock(&exec->lock);
    pthread_mutex_destroy(&exec->lock);
    pthread_cond_destroy(&exec->idle);
    aw_slab_give(&aw_graph_exec_slab, exec);
    return AW_OK;
}

static void exec_drop(void *object, void *user)
{
    struct aw_graph_exec *exec = object;
    struct aw_ctx *ctx = user;
    aw_graph_exec_lock(exec);
    if (exec->done && exec->done_ctx == ctx) {
        aw_provider->event_destroy(exec->done);
        exec->done = NULL;
        exec->last_stream = 0;
        staging_free(exec->graph);
    }
    for (size_t i = 0; i < exec->lanes.n; i++) {
        if (exec->lanes.at[i]->stream.ctx != ctx)
            continue;
        lane_free(exec->lanes.at[i]);
        exec->lanes.at[i--] = exec->lanes.at[--exec->lanes.n];
    }
    pthread_mutex_unlock(&exec->lock);
}

/* Lets go of what executables hold in a context that ends. */
static void execs_drop(struct aw_ctx *ctx)
{
    aw_slab_each(&aw_graph_exec_slab, exec_drop, ctx);
}

/* ---- Nodes of other contexts. */

static enum aw_status lane_make(struct aw_ctx *ctx, struct aw_graph_lane **ret_lane)
{
    int native = ctx->device->native;
    struct aw_graph_lane *lane = calloc(1, sizeof *lane);
    if (!lane)
        return AW_ERR_OUT_OF_MEMORY;
    lane->stream.ctx = ctx;
    lane->stream.flags = AW_STREAM_NON_BLOCKING;
    lane->stream.id = aw_next_id();
    int status = aw_provider->stream_create(native, AW_STREAM_NON_BLOCKING, 0, &lane->stream.native);
    if (status == AW_OK)
        status = aw_provider->event_create(native, AW_EVENT_NO_TIMING, &lane->end);
    if (status) {
        lane_free(lane);
        return aw_device_note(ctx->device, status);
    }
    *ret_lane = lane;
    return AW_OK;
}

static enum aw_status lane_find(struct aw_graph_exec *exec, struct aw_ctx *ctx, struct aw_graph_lane **ret_lane)
{
    for (size_t i = 0; i < exec->lanes.n; i++) {
        if (exec->lanes.at[i]->stream.ctx != ctx)
            continue;
        *ret_lane = exec->lanes.at[i];
        return AW_OK;
    }
    if (!aw_vec_reserve(&exec->lanes, 1))
        return AW_ERR_OUT_OF_MEMORY;
    enum aw_status status = lane_make(ctx, ret_lane);
    if (status == AW_OK)
        exec->lanes.at[exec->lanes.n++] = *ret_lane;
    return status;
}

/* Makes `to` wait for all that `from` has been given so far; the event is made when it is first needed. */
static enum aw_status stream_follow(struct aw_cstream *to, struct aw_cstream *from, struct aw_event **event)
{
    int native = from->ctx->device->native;
    int status = *event ? AW_OK : aw_provider->event_create(native, AW_EVENT_NO_TIMING, event);
    if (status == AW_OK)
        status = aw_provider->event_record(native, *event, from->native);
    if (status == AW_OK)
        status = aw_provider->stream_wait(to->ctx->device->native, to->native, *event);
    return aw_device_note(from->ctx->device, status);
}

/* ---- Running one node. */

static enum aw_status run_kernel(const struct aw_node_kernel *kernel, struct aw_cstream *stream)
{
    if (!aw_slab_valid(&aw_func_slab, kernel->func) || kernel->func->kernel != kernel->desc)
        return AW_ERR_INVALID_HANDLE;
    size_t size = kernel->packed_size;
    void *extra[] = { (void *)1, kernel->packed, (void *)2, &size, NULL }; /* CU_LAUNCH_PARAM_BUFFER_POINTER, _SIZE, _END */
    struct aw_launch_args args = {
        .grid = { kernel->grid[0], kernel->grid[1], kernel->grid[2] },
        .block = { kernel->block[0], kernel->block[1], kernel->block[2] },
        .shared_bytes = kernel->shared_bytes, .cooperative = aw_node_cooperative(kernel), .extra = extra,
    };
    return aw_launch_kernel(kernel->func, &args, stream);
}

/* A copy from or to pageable memory on a device that cannot read it by itself: rows are moved by a host function to or from
 * pinned memory, in stream order. */
struct rows {
    const char *src;
    char *dst;
    size_t src_pitch, src_slice, dst_pitch, dst_slice, width, height, depth;
};

static void rows_move(void *user)
{
    struct rows *rows = user;
    for (size_t z = 0; z < rows->depth; z++)
        for (size_t y = 0; y < rows->height; y++)
            memcpy(rows->dst + z * rows->dst_slice + y * rows->dst_pitch, rows->src + z * rows->src_slice + y * rows->src_pitch,
                   rows->width);
    free(rows);
}

static enum aw_status rows_queue(const struct aw_copy3d *copy, struct aw_cstream *stream)
{
    struct rows *rows = malloc(sizeof *rows);
    if (!rows)
        return AW_ERR_OUT_OF_MEMORY;
    *rows = (struct rows){ copy->src, copy->dst, copy->src_pitch, copy->src_slice, copy->dst_pitch, copy->dst_slice,
                           copy->width, copy->height, copy->depth };
    enum aw_status status = aw_stream_host_func(stream, rows_move, rows);
    if (status)
        free(rows);
    return status;
}

static enum aw_status provider_copy(const struct aw_copy3d *copy, struct aw_cstream *stream)
{
    struct aw_device *device = stream->ctx->device;
    struct aw_activity *seen = aw_activity_begin(stream);
    int status = copy->height == 1 && copy->depth == 1 ?
                     aw_provider->copy(device->native, copy->dst, copy->src, copy->width, copy->kind, stream->native) :
                     aw_provider->copy3d(device->native, copy, stream->native);
    if (__builtin_expect(seen != NULL, 0))
        aw_activity_end(seen, status ? NULL
                                     : &(struct aw_activity_record){ .kind = AW_ACTIVITY_COPY,
                                                                     .copy_kind = (int)copy->kind,
                                                                     .bytes = copy->width * copy->height * copy->depth });
    return aw_device_note(device, status);
}

static enum aw_status copy_through(struct aw_graph_node *node, const struct aw_copy3d *copy, const struct aw_copy_sides *sides,
                                   struct aw_cstream *stream)
{
    if (copy->kind == AW_COPY_H2H)
        return rows_queue(copy, stream);
    if (!node->staging) {
        size_t bytes = copy->width * copy->height * copy->depth; /* checked with the spans */
        int status = aw_provider->host_alloc(stream->ctx->device->native, bytes, AW_HOST_PORTABLE, &node->staging);
        if (status)
            return aw_device_note(stream->ctx->device, status);
    }
    struct aw_copy3d first = *copy, second = *copy;
    first.dst = node->staging;
    second.src = node->staging;
    first.dst_pitch = second.src_pitch = copy->width;
    first.dst_slice = second.src_slice = copy->width * copy->height;
    enum aw_status status = sides->src_pageable ? rows_queue(&first, stream) : provider_copy(&first, stream);
    if (status)
        return status;
    return sides->dst_pageable ? rows_queue(&second, stream) : provider_copy(&second, stream);
}

static enum aw_status run_copy(struct aw_graph_node *node, struct aw_cstream *stream)
{
    struct aw_copy3d copy = node->params.copy.work;
    struct aw_copy_sides sides;
    if (!copy.width || !copy.height || !copy.depth)
        return AW_OK;
    enum aw_status status = aw_mem_copy_check(&copy, &sides);
    if (status)
        return status;
    copy.kind = sides.kind;
    if ((sides.src_pageable || sides.dst_pageable) && !stream->ctx->device->attr[AW_DEV_PAGEABLE])
        return copy_through(node, &copy, &sides, stream);
    return provider_copy(&copy, stream);
}

static enum aw_status run_alloc(const struct aw_graph_exec *exec, const struct aw_node_alloc *alloc)
{
    if (exec->flags & AW_EXEC_AUTO_FREE && aw_graph_mem_live(alloc->mem))
        return AW_OK;
    return aw_graph_mem_use(alloc->mem);
}

static enum aw_status run_event(const struct aw_node_params *params, struct aw_cstream *stream)
{
    if (!aw_event_from(params->event))
        return AW_ERR_INVALID_HANDLE;
    return params->type == AW_NODE_EVENT_WAIT ? aw_stream_wait(stream, params->event)
                                              : aw_event_record(params->event, stream);
}

static enum aw_status run_graph(struct aw_graph_exec *exec, struct aw_graph *graph, struct aw_cstream *stream);

/* Waits until the stream has come here: only then is the value there. */
static enum aw_status run_condition(struct aw_graph_exec *exec, const struct aw_node_condition *condition,
                                    struct aw_cstream *stream)
{
    for (;;) {
        struct aw_device *device = stream->ctx->device;
        enum aw_status status = aw_device_note(device, aw_provider->stream_sync(device->native, stream->native));
        if (status)
            return status;
        struct aw_graph *body = aw_node_condition_choose(condition, aw_condition_value(condition->condition));
        if (body)
            status = run_graph(exec, body, stream);
        if (status || !body || condition->type != AW_CONDITION_WHILE)
            return status;
    }
}

static enum aw_status run_node(struct aw_graph_exec *exec, struct aw_graph_node *node, struct aw_cstream *stream)
{
    const struct aw_node_params *params = &node->params;
    switch (params->type) {
    case AW_NODE_KERNEL:
        return run_kernel(&params->kernel, stream);
    case AW_NODE_MEMCPY:
        return run_copy(node, stream);
    case AW_NODE_MEMSET:
        return aw_mem_fill2d(stream->ctx, params->fill.dst, params->fill.pitch, params->fill.value, params->fill.element_bytes,
                             params->fill.count, params->fill.height, stream, true);
    case AW_NODE_HOST:
        return aw_stream_host_func(stream, params->host.fn, params->host.user);
    case AW_NODE_GRAPH:
        return run_graph(exec, params->child, stream);
    case AW_NODE_EVENT_WAIT:
    case AW_NODE_EVENT_RECORD:
        return run_event(params, stream);
    case AW_NODE_ALLOC:
        return run_alloc(exec, &params->alloc);
    case AW_NODE_FREE:
        return aw_graph_mem_unuse(params->alloc.mem);
    case AW_NODE_CONDITION:
        return run_condition(exec, &params->condition, stream);
    case AW_NODE_EMPTY:
        break;
    }
    return AW_OK;
}

/* On the node's own context when that is not the launching stream's. */
static enum aw_status run_elsewhere(struct aw_graph_exec *exec, struct aw_graph_node *node, struct aw_cstream *stream)
{
    struct aw_graph_lane *lane = NULL;
    struct aw_ctx *ctx = node->params.ctx;
    if (!aw_ctx_from(ctx) || ctx->id != node->params.ctx_id)
        return AW_ERR_CONTEXT_DESTROYED;
    enum aw_status status = lane_find(exec, ctx, &lane);
    if (status == AW_OK && lane->begin && lane->begin_ctx != stream->ctx) {
        aw_provider->event_destroy(lane->begin);
        lane->begin = NULL;
    }
    if (status == AW_OK)
        lane->begin_ctx = stream->ctx;
    if (status == AW_OK)
        status = stream_follow(&lane->stream, stream, &lane->begin);
    if (status == AW_OK)
        status = run_node(exec, node, &lane->stream);
    return status ? status : stream_follow(stream, &lane->stream, &lane->end);
}

static enum aw_status run_graph(struct aw_graph_exec *exec, struct aw_graph *graph, struct aw_cstream *stream)
{
    enum aw_status status = AW_OK;
    for (size_t i = 0; i < graph->nodes.n && status == AW_OK; i++) {
        struct aw_graph_node *node = graph->nodes.at[i];
        if (node->disabled)
            continue;
        bool elsewhere = node->params.ctx && node->params.ctx != stream->ctx;
        status = elsewhere ? run_elsewhere(exec, node, stream) : run_node(exec, node, stream);
    }
    return status;
}

/* ---- Launching. */

/* Whether every allocation of the graph is free to be made again. */
static enum aw_status allocs_check(const struct aw_graph_exec *exec)
{
    for (size_t i = 0; i < exec->graph->nodes.n; i++) {
        const struct aw_node_params *params = &exec->graph->nodes.at[i]->params;
        if (params->type == AW_NODE_ALLOC && !(exec->flags & AW_EXEC_AUTO_FREE) && aw_graph_mem_live(params->alloc.mem))
            return AW_ERR_INVALID_VALUE;
    }
    return AW_OK;
}

/* Conditions that begin anew with each launch. */
static void conditions_begin(const struct aw_graph *graph)
{
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const struct aw_node_params *params = &graph->nodes.at[i]->params;
        size_t n;
        struct aw_graph *const *inner = aw_node_graphs(params, &n);
        if (params->type == AW_NODE_CONDITION)
            aw_condition_begin(params->condition.condition);
        for (size_t k = 0; k < n; k++)
            conditions_begin(inner[k]);
    }
}

/* Hands the nodes over, in a stream of the executable's own, and opens the gate behind them. */
static void run_conditional(struct aw_graph_exec *exec, struct aw_cstream *stream)
{
    struct aw_device *device = stream->ctx->device;
    enum aw_status status = aw_device_note(device, aw_provider->stream_sync(device->native, stream->native));
    conditions_begin(exec->graph); /* what was before has ended */
    if (status == AW_OK)
        status = run_graph(exec, exec->graph, stream);
    if (status)
        aw_say(GRAPH_CONDITIONAL, aw_status_text(status)); /* the launch has returned */
    if (aw_provider->stream_write_value(device->native, stream->native, exec->gate, exec->runs, sizeof *exec->gate) != AW_OK)
        __atomic_store_n(exec->gate, exec->runs, __ATOMIC_RELEASE);
}

struct conditional_run {
    struct aw_graph_exec *exec;
    struct aw_cstream *stream;
};

static void *conditional_thread(void *user)
{
    struct conditional_run run = *(struct conditional_run *)user;
    free(user);
    run_conditional(run.exec, run.stream);
    pthread_mutex_lock(&run.exec->lock);
    run.exec->busy = false;
    pthread_cond_broadcast(&run.exec->idle);
    pthread_mutex_unlock(&run.exec->lock);
    return NULL;
}

/* Behind `stream`'s work, which waits for it at the gate. */
static enum aw_status launch_conditional(struct aw_graph_exec *exec, struct aw_cstream *stream)
{
    struct aw_device *device = stream->ctx->device;
    struct aw_graph_lane *lane = NULL;
    void *gate = exec->gate;
    if (!aw_provider->stream_wait_value || !aw_provider->stream_write_value)
        return AW_ERR_NOT_SUPPORTED;
    enum aw_status status = lane_find(exec, stream->ctx, &lane);
    if (status == AW_OK && !gate)
        status = aw_device_note(device, aw_provider->host_alloc(device->native, sizeof *exec->gate,
                                                                AW_HOST_PORTABLE | AW_HOST_MAPPED, &gate));
    struct conditional_run *run = status ? NULL : malloc(sizeof *run);
    if (!status && !run)
        status = AW_ERR_OUT_OF_MEMORY;
    if (!status && !exec->gate)
        *(exec->gate = gate) = exec->runs;
    if (!status)
        status = stream_follow(&lane->stream, stream, &lane->begin);
    if (!status)
        status = aw_device_note(device, aw_provider->stream_wait_value(device->native, stream->native, exec->gate, exec->runs + 1,
                                                                       sizeof *exec->gate, AW_WAIT_GEQ, stream->ctx));
    if (status) {
        free(run);
        return status;
    }
    exec->runs++;
    exec->busy = true;
    *run = (struct conditional_run){ exec, &lane->stream };
    if (aw_thread_detached(NULL, conditional_thread, run) != 0) { /* then in this one */
        free(run);
        run_conditional(exec, &lane->stream);
        exec->busy = false;
    }
    return AW_OK;
}

static enum aw_status exec_run(struct aw_graph_exec *exec, struct aw_cstream *stream)
{
    struct aw_device *device = stream->ctx->device;
    enum aw_status status = allocs_check(exec);
    if (status == AW_OK && exec->done && exec->last_stream != stream->id)
        status = aw_device_note(device, aw_provider->stream_wait(device->native, stream->native, exec->done));
    if (status)
        return status;
    if (exec->done && exec->done_ctx != stream->ctx) {
        aw_provider->event_destroy(exec->done);
        exec->done = NULL;
    }
    if (!exec->done)
        status = aw_device_note(device, aw_provider->event_create(device->native, AW_EVENT_NO_TIMING, &exec->done));
    if (status) {
        exec->done = NULL;
        return status;
    }
    exec->done_ctx = stream->ctx;
    exec->last_stream = stream->id;
    status = exec->conditional ? launch_conditional(exec, stream) : run_graph(exec, exec->graph, stream);
    /* Also after a failure: what was queued uses what the executable holds. */
    enum aw_status marked = aw_device_note(device, aw_provider->event_record(device->native, exec->done, stream->native));
    return status ? status : marked;
}

enum aw_status aw_graph_launch(struct aw_graph_exec *exec, struct aw_cstream *stream)
{
    enum aw_status status;
    if (aw_capture_any() && aw_capture_add(stream, &(struct aw_work){ .type = AW_WORK_GRAPH, .graph = exec->graph }, &status))
        return status;
    aw_graph_exec_lock(exec);
    status = exec_run(exec, stream);
    pthread_mutex_unlock(&exec->lock);
    return status;
}

AW_CTX_DROP(AW_DROP_GRAPHS, execs_drop)
