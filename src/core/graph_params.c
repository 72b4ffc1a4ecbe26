/* What graph nodes hold: making, copying and freeing their parameters. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "core/graph.h"

/* ---- Kernels. */

/* Pointers into `packed`, one per parameter, as the launch calls take them. */
static void **kernel_pointers(const struct aw_func *func, char *packed)
{
    void **params = malloc((func->kernel->n_params + 1) * sizeof *params);
    for (uint32_t i = 0; params && i < func->kernel->n_params; i++)
        params[i] = packed + func->params[i].offset;
    return params;
}

enum aw_status aw_node_kernel_make(struct aw_func *func, const struct aw_launch_args *args, struct aw_node_params *ret_params)
{
    struct aw_node_kernel kernel = { .func = func,
                                     .desc = func->kernel,
                                     .symbol = args->symbol,
                                     .shared_bytes = args->shared_bytes,
                                     .packed_size = func->kernel->param_size,
                                     .n_params = func->kernel->n_params };
    enum aw_status status = aw_launch_check(func, args);
    if (status)
        return status;
    memcpy(kernel.grid, args->grid, sizeof kernel.grid);
    memcpy(kernel.block, args->block, sizeof kernel.block);
    kernel.packed = calloc(1, kernel.packed_size + 1);
    kernel.params = kernel.packed ? kernel_pointers(func, kernel.packed) : NULL;
    status = kernel.params ? aw_launch_pack(func, args, kernel.packed) : AW_ERR_OUT_OF_MEMORY;
    if (status == AW_OK && args->cooperative)
        status = aw_node_attr_set(&kernel, AW_NODE_ATTR_COOPERATIVE, &(int[AW_NODE_ATTR_BYTES / sizeof(int)]){ 1 });
    struct aw_node_params params = { .type = AW_NODE_KERNEL, .ctx = func->module->ctx, .ctx_id = func->module->ctx->id,
                                     .kernel = kernel };
    if (status) {
        aw_node_params_fini(&params);
        return status;
    }
    *ret_params = params;
    return AW_OK;
}

static enum aw_status kernel_copy(const struct aw_node_kernel *from, struct aw_node_kernel *to)
{
    /* The function may be gone by now; what was packed still tells its own size. */
    size_t size = from->packed_size;
    *to = *from;
    to->packed = malloc(size + 1);
    to->params = malloc((from->n_params + 1) * sizeof *to->params);
    to->attrs = from->attrs ? malloc(AW_NODE_ATTRS * sizeof *to->attrs) : NULL;
    if (!to->packed || !to->params || (from->attrs && !to->attrs))
        return AW_ERR_OUT_OF_MEMORY;
    memcpy(to->packed, from->packed, size);
    for (uint32_t i = 0; i < from->n_params; i++)
        to->params[i] = to->packed + ((char *)from->params[i] - from->packed);
    if (to->attrs)
        memcpy(to->attrs, from->attrs, AW_NODE_ATTRS * sizeof *to->attrs);
    return AW_OK;
}

enum aw_status aw_node_attr_get(const struct aw_node_kernel *kernel, int attr, void *ret_value)
{
    if (attr < 0 || attr >= AW_NODE_ATTRS)
        return AW_ERR_INVALID_VALUE;
    memset(ret_value, 0, AW_NODE_ATTR_BYTES);
    if (kernel->attrs)
        memcpy(ret_value, kernel->attrs[attr], AW_NODE_ATTR_BYTES);
    return AW_OK;
}

enum aw_status aw_node_attr_set(struct aw_node_kernel *kernel, int attr, const void *value)
{
    if (attr < 0 || attr >= AW_NODE_ATTRS)
        return AW_ERR_INVALID_VALUE;
    if (!kernel->attrs)
        kernel->attrs = calloc(AW_NODE_ATTRS, sizeof *kernel->attrs);
    if (!kernel->attrs)
        return AW_ERR_OUT_OF_MEMORY;
    memcpy(kernel->attrs[attr], value, AW_NODE_ATTR_BYTES);
    kernel->attrs_set |= 1u << attr;
    return AW_OK;
}

bool aw_node_cooperative(const struct aw_node_kernel *kernel)
{
    int on = 0;
    if (kernel->attrs)
        memcpy(&on, kernel->attrs[AW_NODE_ATTR_COOPERATIVE], sizeof on);
    return on != 0;
}

/* ---- Copies and fills. */

static struct aw_copy_side side_of(const void *at, size_t pitch, size_t slice, enum aw_side_type type)
{
    return (struct aw_copy_side){ .base = (uintptr_t)at, .pitch = pitch, .rows = pitch ? slice / pitch : 0, .type = type };
}

enum aw_status aw_node_copy_make(struct aw_ctx *ctx, const struct aw_copy3d *copy, const struct aw_copy_side *src,
                                 const struct aw_copy_side *dst, struct aw_node_params *ret_params)
{
    bool from_device = copy->kind == AW_COPY_D2H || copy->kind == AW_COPY_D2D;
    bool to_device = copy->kind == AW_COPY_H2D || copy->kind == AW_COPY_D2D;
    bool open = copy->kind == AW_COPY_DEFAULT;
    struct aw_copy_sides sides;
    enum aw_status status = aw_mem_copy_check(copy, &sides);
    if (status)
        return status;
    *ret_params = (struct aw_node_params){
        .type = AW_NODE_MEMCPY, .ctx = ctx, .ctx_id = ctx->id,
        .copy = {
            .work = *copy,
            .src = src ? *src : side_of(copy->src, copy->src_pitch, copy->src_slice,
                                        open ? AW_SIDE_ANY : from_device ? AW_SIDE_DEVICE : AW_SIDE_HOST),
            .dst = dst ? *dst : side_of(copy->dst, copy->dst_pitch, copy->dst_slice,
                                        open ? AW_SIDE_ANY : to_device ? AW_SIDE_DEVICE : AW_SIDE_HOST),
        },
    };
    return AW_OK;
}

enum aw_status aw_node_box_make(struct aw_ctx *ctx, const struct aw_copy_box *box, struct aw_node_params *ret_params)
{
    struct aw_copy3d copy;
    enum aw_status status = aw_copy_box_resolve(box, &copy);
    if (status == AW_OK)
        status = aw_node_copy_make(ctx, &copy, &box->src, &box->dst, ret_params);
    if (status == AW_OK) {
        ret_params->copy.work.width = box->width;
        ret_params->copy.work.height = box->height;
        ret_params->copy.work.depth = box->depth;
    }
    return status;
}

enum aw_status aw_node_fill_make(struct aw_ctx *ctx, const struct aw_work_fill *fill, struct aw_node_params *ret_params)
{
    if (fill->element_bytes != 1 && fill->element_bytes != 2 && fill->element_bytes != 4)
        return AW_ERR_INVALID_VALUE;
    enum aw_status status = aw_mem_fill_check(fill->dst, fill->pitch, fill->element_bytes, fill->count, fill->height);
    if (status)
        return status;
    *ret_params = (struct aw_node_params){ .type = AW_NODE_MEMSET, .ctx = ctx, .ctx_id = ctx->id, .fill = *fill };
    return AW_OK;
}

/* ---- The others. */

enum aw_status aw_node_child_make(const struct aw_graph *child, struct aw_node_params *ret_params)
{
    struct aw_graph *copy;
    enum aw_status status = aw_graph_clone(child, &copy);
    if (status)
        return status;
    copy->owned = true;
    *ret_params = (struct aw_node_params){ .type = AW_NODE_GRAPH, .child = copy };
    return AW_OK;
}

enum aw_status aw_node_event_make(enum aw_node_type type, struct aw_cevent *event, struct aw_node_params *ret_params)
{
    struct aw_ctx *ctx = type == AW_NODE_EVENT_RECORD ? event->ctx : NULL;
    *ret_params = (struct aw_node_params){ .type = type, .ctx = ctx, .ctx_id = ctx ? ctx->id : 0, .event = event };
    return AW_OK;
}

enum aw_status aw_node_params_copy(const struct aw_node_params *params, struct aw_node_params *ret_params)
{
    struct aw_node_params copy = *params;
    enum aw_status status = AW_OK;
    if (params->type == AW_NODE_KERNEL)
        status = kernel_copy(&params->kernel, &copy.kernel);
    else if (params->type == AW_NODE_GRAPH)
        status = aw_node_child_make(params->child, &copy);
    else if (params->type == AW_NODE_CONDITION)
        status = aw_node_condition_copy(&params->condition, &copy.condition);
    else if ((params->type == AW_NODE_ALLOC || params->type == AW_NODE_FREE) && params->alloc.mem)
        aw_graph_mem_ref(params->alloc.mem);
    if (status) {
        if (params->type == AW_NODE_KERNEL)
            aw_node_params_fini(&copy);
        return status;
    }
    *ret_params = copy;
    return AW_OK;
}

void aw_node_params_fini(struct aw_node_params *params)
{
    switch (params->type) {
    case AW_NODE_KERNEL:
        free(params->kernel.packed);
        free(params->kernel.params);
        free(params->kernel.attrs);
        break;
    case AW_NODE_GRAPH:
        aw_graph_free(params->child);
        break;
    case AW_NODE_CONDITION:
        aw_node_condition_fini(&params->condition);
        break;
    case AW_NODE_ALLOC:
    case AW_NODE_FREE:
        if (params->alloc.mem)
            aw_graph_mem_unref(params->alloc.mem);
        break;
    default:
        break;
    }
    *params = (struct aw_node_params){ .type = AW_NODE_EMPTY };
}

struct aw_graph *const *aw_node_graphs(const struct aw_node_params *params, size_t *ret_n)
{
    *ret_n = params->type == AW_NODE_GRAPH ? 1 : params->type == AW_NODE_CONDITION ? params->condition.n : 0;
    return params->type == AW_NODE_CONDITION ? params->condition.bodies : &params->child;
}
