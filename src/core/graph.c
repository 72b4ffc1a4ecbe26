/* Graphs as a structure: nodes, edges, clones.  Parameters are graph_params.c, memory of graphs graph_mem.c, running
 * graph_exec.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/graph.h"

#include <stdlib.h>
#include <string.h>

struct aw_slab aw_graph_slab = AW_SLAB_INIT("graph", struct aw_graph);
struct aw_slab aw_graph_node_slab = AW_SLAB_INIT("graph node", struct aw_graph_node);

/* ---- Graphs. */

static struct aw_graph *graph_new(bool hidden)
{
    struct aw_graph *graph = aw_slab_take(&aw_graph_slab);
    if (!graph)
        return NULL;
    graph->id = aw_next_id();
    graph->hidden = hidden;
    if (!hidden)
        aw_slab_publish(&aw_graph_slab, graph);
    return graph;
}

enum aw_status aw_graph_create(struct aw_graph **ret_graph)
{
    struct aw_graph *graph = graph_new(false);
    if (!graph)
        return AW_ERR_OUT_OF_MEMORY;
    *ret_graph = graph;
    return AW_OK;
}

static void node_free(struct aw_graph_node *node)
{
    (void)aw_slab_kill(&aw_graph_node_slab, node);
    aw_node_params_fini(&node->params);
    aw_vec_fini(&node->in);
    aw_vec_fini(&node->out);
    aw_slab_give(&aw_graph_node_slab, node);
}

void aw_graph_free(struct aw_graph *graph)
{
    (void)aw_slab_kill(&aw_graph_slab, graph);
    for (size_t i = 0; i < graph->nodes.n; i++)
        node_free(graph->nodes.at[i]);
    aw_vec_fini(&graph->nodes);
    for (size_t i = 0; i < graph->conditions.n; i++)
        aw_condition_unref(graph->conditions.at[i]);
    aw_vec_fini(&graph->conditions);
    aw_graph_drop_objects(graph);
    aw_slab_give(&aw_graph_slab, graph);
}

enum aw_status aw_graph_destroy(struct aw_graph *graph)
{
    if (graph->owned || graph->capture)
        return AW_ERR_INVALID_VALUE;
    aw_graph_free(graph);
    return AW_OK;
}

bool aw_graph_allocates(const struct aw_graph *graph)
{
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const struct aw_node_params *params = &graph->nodes.at[i]->params;
        size_t n;
        struct aw_graph *const *inner = aw_node_graphs(params, &n);
        bool allocates = params->type == AW_NODE_ALLOC || params->type == AW_NODE_FREE;
        for (size_t k = 0; k < n && !allocates; k++)
            allocates = aw_graph_allocates(inner[k]);
        if (allocates)
            return true;
    }
    return false;
}

/* ---- Edges. */

static bool edge_find(const struct aw_graph_node *from, const struct aw_graph_node *to, const struct aw_edge_data *data,
                      size_t *ret_index)
{
    for (size_t i = 0; i < to->in.n; i++) {
        if (to->in.at[i].node != from || memcmp(&to->in.at[i].data, data, sizeof *data) != 0)
            continue;
        *ret_index = i;
        return true;
    }
    return false;
}

static bool edge_add(struct aw_graph_node *from, struct aw_graph_node *to, const struct aw_edge_data *data)
{
    if (!aw_vec_reserve(&from->out, 1) || !aw_vec_reserve(&to->in, 1))
        return false;
    from->out.at[from->out.n++] = to;
    to->in.at[to->in.n++] = (struct aw_graph_edge){ from, *data };
    return true;
}

static void out_remove(struct aw_graph_node *from, const struct aw_graph_node *to)
{
    for (size_t i = 0; i < from->out.n; i++) {
        if (from->out.at[i] != to)
            continue;
        memmove(from->out.at + i, from->out.at + i + 1, (from->out.n - i - 1) * sizeof *from->out.at);
        from->out.n--;
        return;
    }
}

static void edge_remove(struct aw_graph_node *to, size_t index)
{
    out_remove(to->in.at[index].node, to);
    memmove(to->in.at + index, to->in.at + index + 1, (to->in.n - index - 1) * sizeof *to->in.at);
    to->in.n--;
}

enum aw_status aw_edge_check(const struct aw_graph_node *from, enum aw_node_type to, const struct aw_edge_data *data)
{
    static const unsigned char zero[5];
    enum { PROGRAMMATIC = 1, LAST_PORT = 2 };
    if (memcmp(data->reserved, zero, sizeof zero) != 0 || data->to_port)
        return AW_ERR_INVALID_VALUE;
    if (data->type == 0)
        return data->from_port ? AW_ERR_INVALID_VALUE : AW_OK;
    bool kernels = from->params.type == AW_NODE_KERNEL && to == AW_NODE_KERNEL;
    return data->type == PROGRAMMATIC && data->from_port && data->from_port <= LAST_PORT && kernels ? AW_OK
                                                                                                    : AW_ERR_INVALID_VALUE;
}

static const struct aw_edge_data plain_edge;

enum aw_status aw_graph_link(struct aw_graph *graph, struct aw_graph_node *const *from, struct aw_graph_node *const *to,
                             const struct aw_edge_data *data, size_t n)
{
    enum aw_status status = AW_OK;
    size_t done, index;
    for (done = 0; done < n && status == AW_OK; done++) {
        const struct aw_edge_data *edge = data ? &data[done] : &plain_edge;
        if (from[done]->graph != graph || to[done]->graph != graph || from[done] == to[done] ||
            edge_find(from[done], to[done], edge, &index))
            status = AW_ERR_INVALID_VALUE;
        if (status == AW_OK)
            status = aw_edge_check(from[done], to[done]->params.type, edge);
        if (status == AW_OK && !edge_add(from[done], to[done], edge))
            status = AW_ERR_OUT_OF_MEMORY;
        if (status)
            break;
    }
    while (status && done-- > 0)
        if (edge_find(from[done], to[done], data ? &data[done] : &plain_edge, &index))
            edge_remove(to[done], index);
    return status;
}

enum aw_status aw_graph_unlink(struct aw_graph *graph, struct aw_graph_node *const *from, struct aw_graph_node *const *to,
                               const struct aw_edge_data *data, size_t n)
{
    size_t index;
    for (size_t i = 0; i < n; i++)
        if (from[i]->graph != graph || to[i]->graph != graph || !edge_find(from[i], to[i], data ? &data[i] : &plain_edge, &index))
            return AW_ERR_INVALID_VALUE;
    for (size_t i = 0; i < n; i++)
        if (edge_find(from[i], to[i], data ? &data[i] : &plain_edge, &index)) /* gone when the list names it twice */
            edge_remove(to[i], index);
    return AW_OK;
}

/* ---- Nodes. */

static struct aw_graph_node *node_new(struct aw_graph *graph)
{
    struct aw_graph_node *node = aw_vec_reserve(&graph->nodes, 1) ? aw_slab_take(&aw_graph_node_slab) : NULL;
    if (!node)
        return NULL;
    node->graph = graph;
    node->id = aw_next_id();
    node->local_id = graph->next_local_id++;
    return node;
}

static enum aw_status deps_check(const struct aw_graph *graph, const struct aw_graph_edge *deps, size_t n, enum aw_node_type type)
{
    uint32_t mark = aw_graph_next_mark();
    for (size_t i = 0; i < n; i++) {
        if (deps[i].node->graph != graph || deps[i].node->mark == mark)
            return AW_ERR_INVALID_VALUE;
        deps[i].node->mark = mark;
        enum aw_status status = aw_edge_check(deps[i].node, type, &deps[i].data);
        if (status)
            return status;
    }
    return AW_OK;
}

enum aw_status aw_graph_add(struct aw_graph *graph, const struct aw_graph_edge *deps, size_t n, struct aw_node_params *params,
                            struct aw_graph_node **ret_node)
{
    enum aw_status status = deps_check(graph, deps, n, params->type);
    if (status)
        return status;
    struct aw_graph_node *node = node_new(graph);
    if (!node)
        return AW_ERR_OUT_OF_MEMORY;
    for (size_t i = 0; i < n; i++) {
        if (edge_add(deps[i].node, node, &deps[i].data))
            continue;
        while (node->in.n)
            edge_remove(node, node->in.n - 1);
        node_free(node);
        return AW_ERR_OUT_OF_MEMORY;
    }
    node->params = *params;
    *params = (struct aw_node_params){ .type = AW_NODE_EMPTY };
    graph->nodes.at[graph->nodes.n++] = node;
    if (!graph->hidden)
        aw_slab_publish(&aw_graph_node_slab, node);
    *ret_node = node;
    return AW_OK;
}

enum aw_status aw_graph_node_destroy(struct aw_graph_node *node)
{
    struct aw_graph *graph = node->graph;
    if (graph->capture || aw_graph_allocates(graph))
        return AW_ERR_INVALID_VALUE;
    while (node->in.n)
        edge_remove(node, node->in.n - 1);
    while (node->out.n) {
        struct aw_graph_node *later = node->out.at[node->out.n - 1];
        for (size_t i = later->in.n; i-- > 0;)
            if (later->in.at[i].node == node)
                edge_remove(later, i);
    }
    for (size_t i = 0; i < graph->nodes.n; i++) {
        if (graph->nodes.at[i] != node)
            continue;
        memmove(graph->nodes.at + i, graph->nodes.at + i + 1, (graph->nodes.n - i - 1) * sizeof *graph->nodes.at);
        graph->nodes.n--;
        break;
    }
    node_free(node);
    return AW_OK;
}

enum aw_status aw_graph_node_set(struct aw_graph_node *node, struct aw_node_params *params)
{
    if (node->params.type != params->type)
        return AW_ERR_INVALID_VALUE;
    struct aw_node_params old = node->params;
    if (params->type == AW_NODE_KERNEL && !params->kernel.attrs_set) { /* attributes are set apart and stay */
        params->kernel.attrs = old.kernel.attrs;
        params->kernel.attrs_set = old.kernel.attrs_set;
        old.kernel.attrs = NULL;
    }
    node->params = *params;
    *params = (struct aw_node_params){ .type = AW_NODE_EMPTY };
    aw_node_params_fini(&old);
    return AW_OK;
}

/* ---- Walks. */

uint32_t aw_graph_next_mark(void)
{
    static uint32_t last; /* the upper half: clone_fill marks nodes with positions */
    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED) | 1u << 31;
}

bool aw_graph_mark_before(const struct aw_graph_edge *last, size_t n, uint32_t mark)
{
    AW_VEC(struct aw_graph_node *) work = { 0 };
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++) {
        if (last[i].node->mark == mark)
            continue;
        last[i].node->mark = mark;
        ok = aw_vec_push(&work, last[i].node);
    }
    while (ok && work.n) {
        struct aw_graph_node *node = work.at[--work.n];
        for (size_t i = 0; i < node->in.n && ok; i++) {
            struct aw_graph_node *before = node->in.at[i].node;
            if (before->mark == mark)
                continue;
            before->mark = mark;
            ok = aw_vec_push(&work, before);
        }
    }
    aw_vec_fini(&work);
    return ok;
}

/* ---- Clones. */

/* Copies nodes first and edges after, by position. */
static enum aw_status clone_fill(const struct aw_graph *graph, struct aw_graph *clone)
{
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const struct aw_graph_node *from = graph->nodes.at[i];
        struct aw_node_params params;
        struct aw_graph_node *to;
        enum aw_status status = aw_node_params_copy(&from->params, &params);
        if (status)
            return status;
        status = aw_graph_add(clone, NULL, 0, &params, &to);
        if (status) {
            aw_node_params_fini(&params);
            return status;
        }
        to->origin = from->id;
        graph->nodes.at[i]->mark = (uint32_t)i;
    }
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const aw_edge_vec *in = &graph->nodes.at[i]->in;
        for (size_t k = 0; k < in->n; k++)
            if (!edge_add(clone->nodes.at[in->at[k].node->mark], clone->nodes.at[i], &in->at[k].data))
                return AW_ERR_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < graph->nodes.n; i++)
        graph->nodes.at[i]->mark = 0;
    return aw_graph_share_objects(graph, clone);
}

static enum aw_status graph_copy(const struct aw_graph *graph, bool hidden, struct aw_graph **ret_clone)
{
    struct aw_graph *clone = graph_new(hidden);
    if (!clone)
        return AW_ERR_OUT_OF_MEMORY;
    enum aw_status status = clone_fill(graph, clone);
    if (status) {
        aw_graph_free(clone);
        return status;
    }
    *ret_clone = clone;
    return AW_OK;
}

enum aw_status aw_graph_clone(const struct aw_graph *graph, struct aw_graph **ret_clone)
{
    return aw_graph_allocates(graph) ? AW_ERR_INVALID_VALUE : graph_copy(graph, false, ret_clone);
}

enum aw_status aw_graph_clone_hidden(const struct aw_graph *graph, struct aw_graph **ret_clone)
{
    return graph_copy(graph, true, ret_clone);
}

struct aw_graph_node *aw_graph_find_clone(const struct aw_graph *clone, const struct aw_graph_node *node)
{
    for (size_t i = 0; i < clone->nodes.n; i++)
        if (clone->nodes.at[i]->origin == node->id)
            return clone->nodes.at[i];
    for (size_t i = 0; i < clone->nodes.n; i++) {
        size_t n;
        struct aw_graph *const *inner = aw_node_graphs(&clone->nodes.at[i]->params, &n);
        struct aw_graph_node *found = NULL;
        for (size_t k = 0; k < n && !found; k++)
            found = aw_graph_find_clone(inner[k], node);
        if (found)
            return found;
    }
    return NULL;
}
