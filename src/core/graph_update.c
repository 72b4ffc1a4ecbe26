/* Changing executable graphs: single nodes, whole graphs of the same shape. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "core/graph_exec.h"

/* ---- What may replace what. */

static enum aw_update_result child_fit(const struct aw_graph *old, const struct aw_graph *new);

static enum aw_update_result kernel_fit(const struct aw_node_params *old, const struct aw_node_params *new)
{
    if (old->ctx != new->ctx)
        return AW_UPDATE_FUNCTION_KIND;
    return aw_node_cooperative(&old->kernel) == aw_node_cooperative(&new->kernel) ? AW_UPDATE_OK : AW_UPDATE_ATTRIBUTES;
}

static enum aw_update_result copy_fit(const struct aw_node_copy *old, const struct aw_node_copy *new)
{
    return old->src.type == new->src.type && old->dst.type == new->dst.type ? AW_UPDATE_OK : AW_UPDATE_PARAMETERS;
}

static enum aw_update_result fill_fit(const struct aw_work_fill *old, const struct aw_work_fill *new)
{
    if (old->height <= 1 && new->height <= 1)
        return AW_UPDATE_OK;
    bool same = old->height == new->height && old->count == new->count && old->element_bytes == new->element_bytes &&
                old->pitch == new->pitch;
    return same ? AW_UPDATE_OK : AW_UPDATE_PARAMETERS;
}

static enum aw_update_result condition_fit(const struct aw_node_condition *old, const struct aw_node_condition *new)
{
    enum aw_update_result result = AW_UPDATE_OK;
    if (old->condition != new->condition || old->type != new->type || old->n != new->n)
        return AW_UPDATE_PARAMETERS;
    for (unsigned i = 0; i < old->n && result == AW_UPDATE_OK; i++)
        result = child_fit(old->bodies[i], new->bodies[i]);
    return result;
}

enum aw_update_result aw_graph_params_fit(const struct aw_node_params *old, const struct aw_node_params *new)
{
    if (old->type != new->type)
        return AW_UPDATE_NODE_TYPE;
    switch (old->type) {
    case AW_NODE_KERNEL:
        return kernel_fit(old, new);
    case AW_NODE_MEMCPY:
        return old->ctx == new->ctx ? copy_fit(&old->copy, &new->copy) : AW_UPDATE_PARAMETERS;
    case AW_NODE_MEMSET:
        return old->ctx == new->ctx ? fill_fit(&old->fill, &new->fill) : AW_UPDATE_PARAMETERS;
    case AW_NODE_GRAPH:
        return child_fit(old->child, new->child);
    case AW_NODE_CONDITION:
        return condition_fit(&old->condition, &new->condition);
    case AW_NODE_ALLOC:
    case AW_NODE_FREE:
        return old->alloc.mem == new->alloc.mem ? AW_UPDATE_OK : AW_UPDATE_NOT_SUPPORTED;
    case AW_NODE_HOST:
    case AW_NODE_EMPTY:
    case AW_NODE_EVENT_WAIT:
    case AW_NODE_EVENT_RECORD:
        break;
    }
    return AW_UPDATE_OK;
}

/* ---- Pairing two graphs.  Sinks are paired in the order in which they were added, then dependencies in the order of edges. */

typedef AW_VEC(struct aw_graph_node *) node_vec;

static int by_local_id(const void *a, const void *b)
{
    uint32_t left = (*(struct aw_graph_node *const *)a)->local_id, right = (*(struct aw_graph_node *const *)b)->local_id;
    return left < right ? -1 : left > right;
}

/* The nodes without successors in the order of adding; an executable's nodes lie in running order.  False: no memory. */
static bool sinks_find(const struct aw_graph *graph, node_vec *sinks)
{
    for (size_t i = 0; i < graph->nodes.n; i++)
        if (!graph->nodes.at[i]->out.n && !aw_vec_push(sinks, graph->nodes.at[i]))
            return false;
    if (sinks->n)
        qsort(sinks->at, sinks->n, sizeof *sinks->at, by_local_id);
    return true;
}

struct pairing {
    const struct aw_graph *b;
    struct aw_graph_node **pair;            /* by the position of b's node, which is its mark */
    node_vec work;                          /* of b: paired, dependencies not yet looked at */
};

static bool pair_set(struct pairing *p, struct aw_graph_node *a, struct aw_graph_node *b)
{
    p->pair[b->mark] = a;
    a->mark = 1;
    return aw_vec_push(&p->work, b);
}

static struct aw_update_info pair_sinks(struct pairing *p, const struct aw_graph *a)
{
    node_vec from = { 0 }, to = { 0 };
    struct aw_update_info info = { .result = AW_UPDATE_OK };
    if (!sinks_find(a, &from) || !sinks_find(p->b, &to))
        info.result = AW_UPDATE_ERROR;
    else if (from.n != to.n)
        info = (struct aw_update_info){ .result = AW_UPDATE_TOPOLOGY, .node = to.n > from.n ? to.at[from.n] : NULL };
    for (size_t i = 0; i < to.n && info.result == AW_UPDATE_OK; i++)
        if (!pair_set(p, from.at[i], to.at[i]))
            info.result = AW_UPDATE_ERROR;
    aw_vec_fini(&from);
    aw_vec_fini(&to);
    return info;
}

static struct aw_update_info pair_deps(struct pairing *p, struct aw_graph_node *b)
{
    const struct aw_graph_node *a = p->pair[b->mark];
    if (a->in.n != b->in.n)
        return (struct aw_update_info){ .result = AW_UPDATE_TOPOLOGY, .node = b };
    for (size_t i = 0; i < b->in.n; i++) {
        struct aw_graph_node *before_a = a->in.at[i].node, *before_b = b->in.at[i].node;
        bool fresh = !p->pair[before_b->mark] && !before_a->mark;
        if (fresh ? !pair_set(p, before_a, before_b) : p->pair[before_b->mark] != before_a)
            return (struct aw_update_info){ .result = fresh ? AW_UPDATE_ERROR : AW_UPDATE_TOPOLOGY, .node = b, .from = before_b };
    }
    return (struct aw_update_info){ .result = AW_UPDATE_OK };
}

struct aw_update_info aw_graph_pair(const struct aw_graph *a, const struct aw_graph *b, struct aw_graph_node **pair)
{
    struct pairing p = { .b = b, .pair = pair };
    if (a->nodes.n != b->nodes.n)
        return (struct aw_update_info){ .result = AW_UPDATE_TOPOLOGY };
    for (size_t i = 0; i < b->nodes.n; i++) {
        a->nodes.at[i]->mark = 0;
        b->nodes.at[i]->mark = (uint32_t)i;
        pair[i] = NULL;
    }
    struct aw_update_info info = pair_sinks(&p, a);
    for (size_t done = 0; info.result == AW_UPDATE_OK && done < p.work.n; done++)
        info = pair_deps(&p, p.work.at[done]);
    if (info.result == AW_UPDATE_OK && p.work.n != b->nodes.n) /* a cycle has no sink */
        info.result = AW_UPDATE_TOPOLOGY;
    aw_vec_fini(&p.work);
    return info;
}

/* Whether `b` has a's shape and parameters that fit: the pairs are stored. */
static struct aw_update_info graphs_fit(const struct aw_graph *a, const struct aw_graph *b, struct aw_graph_node **pair)
{
    struct aw_update_info info = aw_graph_pair(a, b, pair);
    for (size_t i = 0; i < b->nodes.n && info.result == AW_UPDATE_OK; i++) {
        info.result = aw_graph_params_fit(&pair[i]->params, &b->nodes.at[i]->params);
        info.node = info.result == AW_UPDATE_OK ? NULL : b->nodes.at[i];
    }
    return info;
}

static enum aw_update_result child_fit(const struct aw_graph *old, const struct aw_graph *new)
{
    struct aw_graph_node **pair = malloc((new->nodes.n + 1) * sizeof *pair);
    if (!pair)
        return AW_UPDATE_ERROR;
    enum aw_update_result result = graphs_fit(old, new, pair).result;
    free(pair);
    return result;
}

/* ---- Taking over. */

/* Pinned memory made for other sizes goes, once nobody uses it. */
static void staging_drop(struct aw_graph_exec *exec, struct aw_graph_node *node)
{
    if (!node->staging)
        return;
    if (exec->done)
        aw_provider->event_sync(exec->done);
    aw_provider->host_free(node->staging);
    node->staging = NULL;
}

static enum aw_status graph_take(struct aw_graph_exec *exec, struct aw_graph *a, const struct aw_graph *b);

/* Moves *params into the node; a child's parameters go into the child's nodes, which keep their identity. */
static enum aw_status node_take(struct aw_graph_exec *exec, struct aw_graph_node *node, struct aw_node_params *params)
{
    size_t n, n_new;
    struct aw_graph *const *inner = aw_node_graphs(&node->params, &n), *const *new = aw_node_graphs(params, &n_new);
    enum aw_status status = AW_OK;
    if (!n) {
        staging_drop(exec, node);
        return aw_graph_node_set(node, params);
    }
    for (size_t i = 0; i < n && status == AW_OK; i++)
        status = graph_take(exec, inner[i], new[i]);
    if (status == AW_OK)
        aw_node_params_fini(params);
    return status;
}

/* Objects that the executable held for its old nodes go once nobody uses them. */
static void objects_drop(const struct aw_graph_exec *exec, struct aw_graph *old)
{
    if (old->objects.n && exec->done)
        aw_provider->event_sync(exec->done);
    aw_graph_drop_objects(old);
}

/* The nodes of `b`, whose copied parameters are `fresh`, and what their graph holds for them. */
static enum aw_status nodes_take(struct aw_graph_exec *exec, struct aw_graph *a, const struct aw_graph *b,
                                 struct aw_graph_node **pair, struct aw_node_params *fresh)
{
    struct aw_graph old = { .objects = a->objects }, none = { 0 };
    a->objects = none.objects;
    enum aw_status status = aw_graph_share_objects(b, a);
    if (status) {
        aw_graph_drop_objects(a);
        a->objects = old.objects;
        return status;
    }
    for (size_t i = 0; i < b->nodes.n && status == AW_OK; i++)
        status = node_take(exec, pair[i], &fresh[i]);
    if (status) /* some are old ones still */
        (void)aw_graph_share_objects(&old, a);
    objects_drop(exec, &old);
    return status;
}

/* Copies everything first, so that lack of memory changes nothing. */
static enum aw_status graph_take(struct aw_graph_exec *exec, struct aw_graph *a, const struct aw_graph *b)
{
    size_t n = b->nodes.n, made = 0;
    struct aw_graph_node **pair = malloc((n + 1) * sizeof *pair);
    struct aw_node_params *fresh = calloc(n + 1, sizeof *fresh);
    enum aw_status status = pair && fresh ? AW_OK : AW_ERR_OUT_OF_MEMORY;
    if (status == AW_OK && graphs_fit(a, b, pair).result != AW_UPDATE_OK)
        status = AW_ERR_INVALID_VALUE;
    while (status == AW_OK && made < n) {
        status = aw_node_params_copy(&b->nodes.at[made]->params, &fresh[made]);
        made += status == AW_OK;
    }
    if (status == AW_OK)
        status = nodes_take(exec, a, b, pair, fresh);
    for (size_t i = 0; i < made; i++)
        aw_node_params_fini(&fresh[i]); /* taken ones are empty by now */
    free(pair);
    free(fresh);
    return status;
}

struct aw_graph_node *aw_graph_exec_node(struct aw_graph_exec *exec, const struct aw_graph_node *node)
{
    return aw_graph_find_clone(exec->graph, node);
}

enum aw_status aw_graph_exec_set(struct aw_graph_exec *exec, struct aw_graph_node *node, struct aw_node_params *params)
{
    enum aw_status status = AW_ERR_INVALID_VALUE;
    aw_graph_exec_lock(exec);
    bool keeps_attrs = node->params.type == AW_NODE_KERNEL && params->type == AW_NODE_KERNEL && !params->kernel.attrs_set;
    enum aw_update_result fit = keeps_attrs && node->params.ctx == params->ctx ? AW_UPDATE_OK
                                                                                : aw_graph_params_fit(&node->params, params);
    if (fit == AW_UPDATE_OK)
        status = node_take(exec, node, params);
    pthread_mutex_unlock(&exec->lock);
    return status;
}

enum aw_status aw_graph_exec_enable(struct aw_graph_exec *exec, struct aw_graph_node *node, bool on)
{
    enum aw_node_type type = node->params.type;
    if (type != AW_NODE_KERNEL && type != AW_NODE_MEMCPY && type != AW_NODE_MEMSET)
        return AW_ERR_INVALID_VALUE;
    aw_graph_exec_lock(exec);
    node->disabled = !on;
    pthread_mutex_unlock(&exec->lock);
    return AW_OK;
}

enum aw_status aw_graph_exec_update(struct aw_graph_exec *exec, struct aw_graph *graph, struct aw_update_info *ret_info)
{
    struct aw_update_info info = { .result = AW_UPDATE_ERROR };
    struct aw_graph_node **pair = malloc((graph->nodes.n + 1) * sizeof *pair);
    enum aw_status status = pair && !graph->capture ? AW_OK : pair ? AW_ERR_INVALID_VALUE : AW_ERR_OUT_OF_MEMORY;
    aw_graph_exec_lock(exec);
    if (status == AW_OK) {
        info = graphs_fit(exec->graph, graph, pair);
        status = info.result == AW_UPDATE_OK ? graph_take(exec, exec->graph, graph) : AW_ERR_GRAPH_UPDATE;
    }
    pthread_mutex_unlock(&exec->lock);
    free(pair);
    if (status && info.result == AW_UPDATE_OK)
        info = (struct aw_update_info){ .result = AW_UPDATE_ERROR };
    *ret_info = info;
    return status;
}
