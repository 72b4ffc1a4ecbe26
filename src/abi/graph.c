/* Node parameters from and to CUDA's structures, and handles of graphs: see graph.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/graph.h"

#include <stdlib.h>
#include <string.h>

#include "core/core.h"

_Static_assert(sizeof(CUgraphEdgeData) == sizeof(struct aw_edge_data), "edge data is taken as it is");

/* ---- Handles. */

enum aw_status aw_abi_graph(CUgraph handle, struct aw_graph **ret_graph)
{
    enum aw_status status = aw_core_ready();
    if (status)
        return status;
    struct aw_graph *graph = aw_graph_from(handle);
    if (!graph)
        return AW_ERR_INVALID_VALUE;
    *ret_graph = graph;
    return AW_OK;
}

enum aw_status aw_abi_graph_node(CUgraphNode handle, struct aw_graph_node **ret_node)
{
    enum aw_status status = aw_core_ready();
    if (status)
        return status;
    struct aw_graph_node *node = aw_graph_node_from(handle);
    if (!node)
        return AW_ERR_INVALID_VALUE;
    *ret_node = node;
    return AW_OK;
}

enum aw_status aw_abi_graph_node_of(CUgraphNode handle, enum aw_node_type type, struct aw_graph_node **ret_node)
{
    struct aw_graph_node *node;
    enum aw_status status = aw_abi_graph_node(handle, &node);
    if (status)
        return status;
    if (node->params.type != type)
        return AW_ERR_INVALID_VALUE;
    *ret_node = node;
    return AW_OK;
}

enum aw_status aw_abi_graph_exec(CUgraphExec handle, struct aw_graph_exec **ret_exec)
{
    enum aw_status status = aw_core_ready();
    if (status)
        return status;
    struct aw_graph_exec *exec = aw_graph_exec_from(handle);
    if (!exec)
        return AW_ERR_INVALID_VALUE;
    *ret_exec = exec;
    return AW_OK;
}

enum aw_status aw_abi_graph_edges(const CUgraphNode *nodes, const CUgraphEdgeData *data, size_t n,
                                  struct aw_graph_edge **ret_edges)
{
    struct aw_graph_edge *edges = NULL;
    if (n && !nodes)
        return AW_ERR_INVALID_VALUE;
    if (n && !(edges = calloc(n, sizeof *edges)))
        return AW_ERR_OUT_OF_MEMORY;
    for (size_t i = 0; i < n; i++) {
        enum aw_status status = aw_abi_graph_node(nodes[i], &edges[i].node);
        if (status) {
            free(edges);
            return status;
        }
        if (data)
            memcpy(&edges[i].data, &data[i], sizeof edges[i].data);
    }
    *ret_edges = edges;
    return AW_OK;
}

/* ---- Where parameters go. */

enum aw_status aw_abi_graph_add(CUgraphNode *ret_handle, CUgraph handle, const CUgraphNode *deps, const CUgraphEdgeData *data,
                                size_t n, struct aw_node_params *params)
{
    struct aw_graph *graph;
    struct aw_graph_node *node;
    struct aw_graph_edge *edges = NULL;
    enum aw_status status = ret_handle ? aw_abi_graph(handle, &graph) : AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        status = aw_abi_graph_edges(deps, data, n, &edges);
    if (status == AW_OK)
        status = aw_graph_add(graph, edges, n, params, &node);
    free(edges);
    if (status)
        aw_node_params_fini(params);
    else
        *ret_handle = (CUgraphNode)node;
    return status;
}

enum aw_status aw_abi_graph_node_set(CUgraphNode handle, struct aw_node_params *params)
{
    struct aw_graph_node *node;
    enum aw_status status = aw_abi_graph_node_of(handle, params->type, &node);
    if (status == AW_OK)
        status = aw_graph_node_set(node, params);
    if (status)
        aw_node_params_fini(params);
    return status;
}

enum aw_status aw_abi_graph_exec_set(CUgraphExec exec_handle, CUgraphNode handle, struct aw_node_params *params)
{
    struct aw_graph_exec *exec;
    struct aw_graph_node *node;
    enum aw_status status = aw_abi_graph_exec(exec_handle, &exec);
    if (status == AW_OK)
        status = aw_abi_graph_node(handle, &node);
    if (status == AW_OK) {
        struct aw_graph_node *copy = aw_graph_exec_node(exec, node);
        status = copy ? aw_graph_exec_set(exec, copy, params) : AW_ERR_INVALID_VALUE;
    }
    if (status)
        aw_node_params_fini(params);
    return status;
}

/* ---- Parameters from the driver API's structures. */

enum aw_status aw_abi_kernel_params(const CUDA_KERNEL_NODE_PARAMS *from, struct aw_node_params *ret_params)
{
    struct aw_func *func = (struct aw_func *)from->func;
    struct aw_launch_args args = {
        .grid = { from->gridDimX, from->gridDimY, from->gridDimZ },
        .block = { from->blockDimX, from->blockDimY, from->blockDimZ },
        .shared_bytes = from->sharedMemBytes,
        .params = from->kernelParams,
        .extra = from->extra,
    };
    if (!aw_slab_valid(&aw_func_slab, func)) { /* a kernel of a library: in the context that is named, or the current one */
        struct aw_ctx *ctx = from->func ? NULL : aw_ctx_behind(from->ctx);
        enum aw_status status = ctx ? AW_OK : aw_ctx_current(&ctx);
        if (status == AW_OK)
            status = aw_func_find(ctx, from->func ? (const void *)from->func : (const void *)from->kern, &func);
        if (status)
            return status == AW_ERR_INVALID_HANDLE ? AW_ERR_INVALID_VALUE : status;
    }
    return aw_node_kernel_make(func, &args, ret_params);
}

static struct aw_copy_side side_read(CUmemorytype type, const void *host, CUdeviceptr device, CUarray array, size_t x, size_t y,
                                     size_t z, size_t pitch, size_t rows, size_t lod)
{
    uintptr_t base = type == CU_MEMORYTYPE_HOST ? (uintptr_t)host : (uintptr_t)device;
    return (struct aw_copy_side){ (enum aw_side_type)type, base, x, y, z, pitch, rows, array, lod };
}

void aw_abi_box_read(const CUDA_MEMCPY3D *from, struct aw_copy_box *ret_box)
{
    *ret_box = (struct aw_copy_box){
        side_read(from->srcMemoryType, from->srcHost, from->srcDevice, from->srcArray, from->srcXInBytes, from->srcY, from->srcZ,
                  from->srcPitch, from->srcHeight, from->srcLOD),
        side_read(from->dstMemoryType, from->dstHost, from->dstDevice, from->dstArray, from->dstXInBytes, from->dstY, from->dstZ,
                  from->dstPitch, from->dstHeight, from->dstLOD),
        from->WidthInBytes, from->Height, from->Depth,
    };
}

enum aw_status aw_abi_memcpy_params(struct aw_ctx *ctx, const CUDA_MEMCPY3D *from, struct aw_node_params *ret_params)
{
    struct aw_copy_box box;
    aw_abi_box_read(from, &box);
    return aw_node_box_make(ctx, &box, ret_params);
}

enum aw_status aw_abi_memset_params(struct aw_ctx *ctx, const CUDA_MEMSET_NODE_PARAMS *from, struct aw_node_params *ret_params)
{
    struct aw_work_fill fill = { from->dst, from->pitch, from->value, from->elementSize, from->width, from->height };
    return aw_node_fill_make(ctx, &fill, ret_params);
}

enum aw_status aw_abi_host_params(const CUDA_HOST_NODE_PARAMS *from, struct aw_node_params *ret_params)
{
    if (!from->fn)
        return AW_ERR_INVALID_VALUE;
    *ret_params = (struct aw_node_params){ .type = AW_NODE_HOST, .host = { from->fn, from->userData } };
    return AW_OK;
}

enum aw_status aw_abi_child_params(CUgraph child, struct aw_node_params *ret_params)
{
    struct aw_graph *graph;
    enum aw_status status = aw_abi_graph(child, &graph);
    return status ? status : aw_node_child_make(graph, ret_params);
}

enum aw_status aw_abi_event_params(CUevent handle, enum aw_node_type type, struct aw_node_params *ret_params)
{
    struct aw_cevent *event = aw_event_from(handle);
    return event ? aw_node_event_make(type, event, ret_params) : AW_ERR_INVALID_HANDLE;
}

enum aw_status aw_abi_alloc_params(struct aw_ctx *ctx, CUDA_MEM_ALLOC_NODE_PARAMS *from, struct aw_node_params *ret_params)
{
    const CUmemPoolProps *props = &from->poolProps;
    struct aw_device *device = props->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? aw_device_find(props->location.id) : NULL;
    if (props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED || props->handleTypes || !device || !from->bytesize ||
        (from->accessDescCount && !from->accessDescs))
        return AW_ERR_INVALID_VALUE;
    if (ctx->device != device) { /* then in that device's primary context, if it is in use */
        ctx = __atomic_load_n(&device->primary, __ATOMIC_ACQUIRE);
        if (!ctx || !__atomic_load_n(&ctx->active, __ATOMIC_ACQUIRE))
            return AW_ERR_INVALID_VALUE;
    }
    enum aw_status status = aw_node_alloc_make(ctx, from->bytesize, ret_params);
    if (status == AW_OK)
        from->dptr = ret_params->alloc.address;
    return status;
}

/* ---- And back. */

void aw_abi_kernel_tell(const struct aw_node_kernel *kernel, CUDA_KERNEL_NODE_PARAMS *ret)
{
    *ret = (CUDA_KERNEL_NODE_PARAMS){
        .func = (CUfunction)kernel->func, .gridDimX = kernel->grid[0], .gridDimY = kernel->grid[1], .gridDimZ = kernel->grid[2],
        .blockDimX = kernel->block[0], .blockDimY = kernel->block[1], .blockDimZ = kernel->block[2],
        .sharedMemBytes = (unsigned)kernel->shared_bytes, .kernelParams = kernel->n_params ? kernel->params : NULL,
    };
}

void aw_abi_memcpy_tell(const struct aw_node_copy *copy, CUDA_MEMCPY3D *ret)
{
    const struct aw_copy_side *src = &copy->src, *dst = &copy->dst;
    bool from_host = src->type == AW_SIDE_HOST, to_host = dst->type == AW_SIDE_HOST;
    *ret = (CUDA_MEMCPY3D){
        .srcXInBytes = src->x, .srcY = src->y, .srcZ = src->z, .srcMemoryType = (CUmemorytype)src->type,
        .srcHost = from_host ? (const void *)src->base : NULL, .srcDevice = from_host ? 0 : src->base,
        .srcPitch = src->pitch, .srcHeight = src->rows, .srcArray = (CUarray)(uintptr_t)src->array,
        .dstXInBytes = dst->x, .dstY = dst->y, .dstZ = dst->z, .dstMemoryType = (CUmemorytype)dst->type,
        .dstHost = to_host ? (void *)dst->base : NULL, .dstDevice = to_host ? 0 : dst->base,
        .dstPitch = dst->pitch, .dstHeight = dst->rows, .dstArray = (CUarray)(uintptr_t)dst->array,
        .WidthInBytes = copy->work.width, .Height = copy->work.height, .Depth = copy->work.depth,
    };
}

void aw_abi_memset_tell(const struct aw_work_fill *fill, CUDA_MEMSET_NODE_PARAMS *ret)
{
    *ret = (CUDA_MEMSET_NODE_PARAMS){ fill->dst, fill->pitch, fill->value, fill->element_bytes, fill->count, fill->height };
}

void aw_abi_alloc_tell(const struct aw_node_params *params, CUDA_MEM_ALLOC_NODE_PARAMS *ret)
{
    bool known = aw_ctx_from(params->ctx) && params->ctx->id == params->ctx_id;
    *ret = (CUDA_MEM_ALLOC_NODE_PARAMS){
        .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                       .location = { CU_MEM_LOCATION_TYPE_DEVICE, known ? params->ctx->device->ordinal : 0 } },
        .bytesize = params->alloc.size, .dptr = params->alloc.address,
    };
}
