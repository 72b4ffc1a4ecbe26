/* Conditions of graphs, and what conditional nodes hold: see graph.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/graph.h"

#include <stdlib.h>

struct aw_condition {
    uint32_t *cell; /* pinned memory of the provider; its address is the handle */
    uint32_t initial;
    bool assign;
    int refs; /* atomic */
    struct aw_condition *next;
};

static struct {
    pthread_mutex_t lock;
    struct aw_condition *first;
} conditions = { .lock = PTHREAD_MUTEX_INITIALIZER };

enum aw_status aw_condition_create(struct aw_graph *graph, struct aw_ctx *ctx, uint32_t initial, unsigned flags,
                                   uint64_t *ret_handle)
{
    void *cell;
    if (flags & ~(unsigned)AW_CONDITION_ASSIGN)
        return AW_ERR_INVALID_VALUE;
    struct aw_condition *c = aw_vec_reserve(&graph->conditions, 1) ? calloc(1, sizeof *c) : NULL;
    if (!c)
        return AW_ERR_OUT_OF_MEMORY;
    enum aw_status status = aw_device_note(
        ctx->device, aw_provider->host_alloc(ctx->device->native, sizeof *c->cell, AW_HOST_PORTABLE | AW_HOST_MAPPED, &cell));
    if (status) {
        free(c);
        return status;
    }
    *c = (struct aw_condition){ .cell = cell, .initial = initial, .assign = flags & AW_CONDITION_ASSIGN, .refs = 1 };
    __atomic_store_n(c->cell, initial, __ATOMIC_RELEASE);
    pthread_mutex_lock(&conditions.lock);
    c->next = conditions.first;
    conditions.first = c;
    pthread_mutex_unlock(&conditions.lock);
    graph->conditions.at[graph->conditions.n++] = c;
    *ret_handle = aw_condition_handle(c);
    return AW_OK;
}

void aw_condition_ref(struct aw_condition *condition)
{
    __atomic_add_fetch(&condition->refs, 1, __ATOMIC_RELAXED);
}

void aw_condition_unref(struct aw_condition *condition)
{
    pthread_mutex_lock(&conditions.lock); /* nobody finds it between the last reference and its end */
    bool last = __atomic_sub_fetch(&condition->refs, 1, __ATOMIC_ACQ_REL) == 0;
    for (struct aw_condition **p = &conditions.first; last && *p; p = &(*p)->next)
        if (*p == condition) {
            *p = condition->next;
            break;
        }
    pthread_mutex_unlock(&conditions.lock);
    if (!last)
        return;
    aw_provider->host_free(condition->cell);
    free(condition);
}

/* With a reference for the caller; NULL: no handle. */
static struct aw_condition *condition_find(uint64_t handle)
{
    pthread_mutex_lock(&conditions.lock);
    struct aw_condition *c = conditions.first;
    while (c && aw_condition_handle(c) != handle)
        c = c->next;
    if (c)
        aw_condition_ref(c);
    pthread_mutex_unlock(&conditions.lock);
    return c;
}

uint64_t aw_condition_handle(const struct aw_condition *condition)
{
    return (uint64_t)(uintptr_t)condition->cell;
}

uint32_t aw_condition_value(const struct aw_condition *condition)
{
    return __atomic_load_n(condition->cell, __ATOMIC_ACQUIRE);
}

void aw_condition_begin(struct aw_condition *condition)
{
    if (condition->assign)
        __atomic_store_n(condition->cell, condition->initial, __ATOMIC_RELEASE);
}

/* ---- Nodes. */

static bool number_fits(int type, unsigned n)
{
    switch (type) {
    case AW_CONDITION_IF:
        return n == 1 || n == 2;
    case AW_CONDITION_WHILE:
        return n == 1;
    case AW_CONDITION_SWITCH:
        return n >= 1 && n <= 1u << 16;
    default:
        return false;
    }
}

enum aw_status aw_node_condition_make(uint64_t handle, int type, unsigned n, struct aw_node_params *ret_params)
{
    struct aw_condition *condition = number_fits(type, n) ? condition_find(handle) : NULL;
    if (!condition)
        return AW_ERR_INVALID_VALUE;
    struct aw_node_condition made = { .condition = condition, .type = (enum aw_condition_type)type };
    made.bodies = calloc(n, sizeof *made.bodies);
    enum aw_status status = made.bodies ? AW_OK : AW_ERR_OUT_OF_MEMORY;
    for (; status == AW_OK && made.n < n; made.n += status == AW_OK)
        status = aw_graph_create(&made.bodies[made.n]);
    for (unsigned i = 0; i < made.n; i++)
        made.bodies[i]->owned = true;
    if (status) {
        aw_node_condition_fini(&made);
        return status;
    }
    *ret_params = (struct aw_node_params){ .type = AW_NODE_CONDITION, .condition = made };
    return AW_OK;
}

enum aw_status aw_node_condition_copy(const struct aw_node_condition *from, struct aw_node_condition *ret)
{
    struct aw_node_condition copy = { .condition = from->condition, .type = from->type };
    enum aw_status status = AW_OK;
    aw_condition_ref(copy.condition);
    copy.bodies = calloc(from->n, sizeof *copy.bodies);
    if (!copy.bodies)
        status = AW_ERR_OUT_OF_MEMORY;
    for (; status == AW_OK && copy.n < from->n; copy.n += status == AW_OK)
        status = aw_graph_clone(from->bodies[copy.n], &copy.bodies[copy.n]);
    for (unsigned i = 0; i < copy.n; i++)
        copy.bodies[i]->owned = true;
    if (status) {
        aw_node_condition_fini(&copy);
        return status;
    }
    *ret = copy;
    return AW_OK;
}

void aw_node_condition_fini(struct aw_node_condition *condition)
{
    for (unsigned i = 0; i < condition->n; i++)
        aw_graph_free(condition->bodies[i]);
    free(condition->bodies);
    aw_condition_unref(condition->condition);
}

struct aw_graph *aw_node_condition_choose(const struct aw_node_condition *condition, uint32_t value)
{
    if (condition->type == AW_CONDITION_SWITCH)
        return value < condition->n ? condition->bodies[value] : NULL;
    if (value)
        return condition->bodies[0];
    return condition->type == AW_CONDITION_IF && condition->n == 2 ? condition->bodies[1] : NULL;
}
