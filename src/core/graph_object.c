/* User objects: what a program wants destroyed when the last graph that uses it is gone. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>

#include "core/graph.h"

struct aw_slab aw_user_object_slab = AW_SLAB_INIT("user object", struct aw_user_object);

enum aw_status aw_user_object_create(void *ptr, void (*destroy)(void *ptr), unsigned refs, struct aw_user_object **ret_object)
{
    if (!destroy || !refs || refs > INT_MAX)
        return AW_ERR_INVALID_VALUE;
    struct aw_user_object *object = aw_slab_take(&aw_user_object_slab);
    if (!object)
        return AW_ERR_OUT_OF_MEMORY;
    object->ptr = ptr;
    object->destroy = destroy;
    object->refs = refs;
    aw_slab_publish(&aw_user_object_slab, object);
    *ret_object = object;
    return AW_OK;
}

enum aw_status aw_user_object_retain(struct aw_user_object *object, unsigned count)
{
    if (!count || count > INT_MAX)
        return AW_ERR_INVALID_VALUE;
    __atomic_add_fetch(&object->refs, count, __ATOMIC_RELAXED);
    return AW_OK;
}

enum aw_status aw_user_object_release(struct aw_user_object *object, unsigned count)
{
    int64_t had = __atomic_load_n(&object->refs, __ATOMIC_ACQUIRE);
    do {
        if (!count || (int64_t)count > had)
            return AW_ERR_INVALID_VALUE;
    } while (!__atomic_compare_exchange_n(&object->refs, &had, had - count, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    if (had == (int64_t)count && aw_slab_kill(&aw_user_object_slab, object)) {
        object->destroy(object->ptr);
        aw_slab_give(&aw_user_object_slab, object);
    }
    return AW_OK;
}

enum aw_status aw_graph_retain_object(struct aw_graph *graph, struct aw_user_object *object, unsigned count, bool move)
{
    struct aw_graph_object *at = NULL;
    if (!count || count > INT_MAX)
        return AW_ERR_INVALID_VALUE;
    for (size_t i = 0; i < graph->objects.n && !at; i++)
        if (graph->objects.at[i].object == object)
            at = &graph->objects.at[i];
    if (!at) {
        if (!aw_vec_push(&graph->objects, (struct aw_graph_object){ object, 0 }))
            return AW_ERR_OUT_OF_MEMORY;
        at = &graph->objects.at[graph->objects.n - 1];
    }
    if (!move)
        (void)aw_user_object_retain(object, count);
    at->count += count;
    return AW_OK;
}

enum aw_status aw_graph_release_object(struct aw_graph *graph, struct aw_user_object *object, unsigned count)
{
    for (size_t i = 0; i < graph->objects.n; i++) {
        struct aw_graph_object *at = &graph->objects.at[i];
        if (at->object != object)
            continue;
        if (!count || count > at->count)
            return AW_ERR_INVALID_VALUE;
        at->count -= count;
        if (!at->count)
            *at = graph->objects.at[--graph->objects.n];
        return aw_user_object_release(object, count);
    }
    return AW_ERR_INVALID_VALUE;
}

enum aw_status aw_graph_share_objects(const struct aw_graph *from, struct aw_graph *to)
{
    enum aw_status status = AW_OK;
    for (size_t i = 0; i < from->objects.n && status == AW_OK; i++)
        status = aw_graph_retain_object(to, from->objects.at[i].object, 1, false);
    return status;
}

void aw_graph_drop_objects(struct aw_graph *graph)
{
    while (graph->objects.n) {
        struct aw_graph_object last = graph->objects.at[--graph->objects.n];
        (void)aw_user_object_release(last.object, last.count);
    }
    aw_vec_fini(&graph->objects);
}
