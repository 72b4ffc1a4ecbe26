/* Runtime API: graph nodes.  Kernels are named by host functions and copies described by the runtime's structures; all else is
 * the driver API's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "abi/cuda_proto.h"
#include "abi/cudart.h"
#include "abi/graph.h"

/* ---- Any node */

/* ---- Kernels */

static enum aw_status kernel_params(const cudaKernelNodeParams *from, struct aw_node_params *ret_params)
{
    struct aw_ctx *ctx;
    struct aw_func *func;
    if (!from)
        return AW_ERR_INVALID_VALUE;
    if (!from->func)
        return AW_ERR_INVALID_DEVFUNC;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (!status)
        status = aw_rt_func(ctx, from->func, &func);
    if (status)
        return status;
    struct aw_kernel *kernel = aw_kernel_from(from->func);
    const void *host = kernel ? __atomic_load_n(&kernel->host, __ATOMIC_RELAXED) : NULL;
    struct aw_launch_args args = {
        .grid = { from->gridDimX, from->gridDimY, from->gridDimZ },
        .block = { from->blockDimX, from->blockDimY, from->blockDimZ },
        .shared_bytes = from->sharedMemBytes,
        .params = from->kernelParams,
        .extra = from->extra,
        .symbol = host ?: (const void *)from->func,
    };
    return aw_node_kernel_make(func, &args, ret_params);
}

cudaError_t awrt_cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps, size_t n,
                                        const cudaKernelNodeParams *from)
{
    struct aw_node_params params;
    enum aw_status status = kernel_params(from, &params);
    return aw_rt_error(status ? status : aw_abi_graph_add(node, graph, deps, NULL, n, &params));
}

static void kernel_tell(const struct aw_node_kernel *kernel, cudaKernelNodeParams *ret)
{
    CUDA_KERNEL_NODE_PARAMS full;
    aw_abi_kernel_tell(kernel, &full);
    memcpy(ret, &full, sizeof *ret);
    if (kernel->symbol)
        ret->func = (CUfunction)(uintptr_t)kernel->symbol;
}

cudaError_t awrt_cudaGraphKernelNodeGetParams(cudaGraphNode_t handle, cudaKernelNodeParams *ret_params)
{
    struct aw_graph_node *node;
    enum aw_status status = ret_params ? aw_abi_graph_node_of(handle, AW_NODE_KERNEL, &node) : AW_ERR_INVALID_VALUE;
    if (!status)
        kernel_tell(&node->params.kernel, ret_params);
    return aw_rt_error(status);
}

cudaError_t awrt_cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams *from)
{
    struct aw_node_params params;
    enum aw_status status = kernel_params(from, &params);
    return aw_rt_error(status ? status : aw_abi_graph_node_set(node, &params));
}

cudaError_t awrt_cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const cudaKernelNodeParams *from)
{
    struct aw_node_params params;
    enum aw_status status = kernel_params(from, &params);
    return aw_rt_error(status ? status : aw_abi_graph_exec_set(exec, node, &params));
}

/* ---- Copies */

/* Bytes in a row as a box. */
static cudaMemcpy3DParms line(void *dst, const void *src, size_t size, cudaMemcpyKind kind)
{
    return (cudaMemcpy3DParms){ .srcPtr = { (void *)(uintptr_t)src, size, size, 1 }, .dstPtr = { dst, size, size, 1 },
                                .extent = { size, 1, 1 }, .kind = kind };
}

static cudaError_t copy_params(const cudaMemcpy3DParms *p, struct aw_node_params *ret_params)
{
    struct aw_ctx *ctx;
    struct aw_copy_box box;
    enum aw_status status = aw_rt_copy_box(p, &box);
    if (!status)
        status = aw_rt_ctx(&ctx);
    return aw_rt_error(status ? status : aw_node_box_make(ctx, &box, ret_params));
}

static cudaError_t copy_add(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps, size_t n,
                            const cudaMemcpy3DParms *p)
{
    struct aw_node_params params;
    cudaError_t error = copy_params(p, &params);
    return error ? error : aw_rt_error(aw_abi_graph_add(node, graph, deps, NULL, n, &params));
}

static cudaError_t copy_set(cudaGraphNode_t node, const cudaMemcpy3DParms *p)
{
    struct aw_node_params params;
    cudaError_t error = copy_params(p, &params);
    return error ? error : aw_rt_error(aw_abi_graph_node_set(node, &params));
}

static cudaError_t copy_exec_set(cudaGraphExec_t exec, cudaGraphNode_t node, const cudaMemcpy3DParms *p)
{
    struct aw_node_params params;
    cudaError_t error = copy_params(p, &params);
    return error ? error : aw_rt_error(aw_abi_graph_exec_set(exec, node, &params));
}

cudaError_t awrt_cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps, size_t n,
                                        const cudaMemcpy3DParms *p)
{
    return copy_add(node, graph, deps, n, p);
}

cudaError_t awrt_cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms *p)
{
    return copy_set(node, p);
}

cudaError_t awrt_cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const cudaMemcpy3DParms *p)
{
    return copy_exec_set(exec, node, p);
}

/* Bytes of what a side's positions count; 1 also where its array is gone. */
static size_t element_of(const struct aw_copy_side *side)
{
    size_t each = aw_rt_element_bytes(side->array);
    return each ? each : 1;
}

static void copy_tell(const struct aw_node_copy *copy, cudaMemcpy3DParms *ret)
{
    const struct aw_copy_side *src = &copy->src, *dst = &copy->dst;
    size_t width = copy->work.width, src_each = element_of(src), dst_each = element_of(dst);
    bool open = src->type == AW_SIDE_ANY || dst->type == AW_SIDE_ANY;
    bool from_host = src->type == AW_SIDE_HOST, to_host = dst->type == AW_SIDE_HOST;
    *ret = (cudaMemcpy3DParms){
        .srcArray = (cudaArray_t)(uintptr_t)src->array, .srcPos = { src->x / src_each, src->y, src->z },
        .dstArray = (cudaArray_t)(uintptr_t)dst->array, .dstPos = { dst->x / dst_each, dst->y, dst->z },
        .extent = { width / (src->array ? src_each : dst_each), copy->work.height, copy->work.depth },
        .kind = open        ? cudaMemcpyDefault
                : from_host ? (to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice)
                            : (to_host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice),
    };
    if (!src->array)
        ret->srcPtr = (cudaPitchedPtr){ (void *)src->base, src->pitch, width, src->rows };
    if (!dst->array)
        ret->dstPtr = (cudaPitchedPtr){ (void *)dst->base, dst->pitch, width, dst->rows };
}

cudaError_t awrt_cudaGraphMemcpyNodeGetParams(cudaGraphNode_t handle, cudaMemcpy3DParms *ret_params)
{
    struct aw_graph_node *node;
    enum aw_status status = ret_params ? aw_abi_graph_node_of(handle, AW_NODE_MEMCPY, &node) : AW_ERR_INVALID_VALUE;
    if (!status)
        copy_tell(&node->params.copy, ret_params);
    return aw_rt_error(status);
}

cudaError_t awrt_cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps, size_t n,
                                          void *dst, const void *src, size_t count, cudaMemcpyKind kind)
{
    cudaMemcpy3DParms p = line(dst, src, count, kind);
    return copy_add(node, graph, deps, n, &p);
}

cudaError_t awrt_cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *dst, const void *src, size_t count,
                                                cudaMemcpyKind kind)
{
    cudaMemcpy3DParms p = line(dst, src, count, kind);
    return copy_set(node, &p);
}

cudaError_t awrt_cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void *dst, const void *src,
                                                    size_t count, cudaMemcpyKind kind)
{
    cudaMemcpy3DParms p = line(dst, src, count, kind);
    return copy_exec_set(exec, node, &p);
}

/* ---- Copies to and from symbols */

static cudaError_t to_symbol(const void *symbol, const void *src, size_t count, size_t offset, cudaMemcpyKind kind,
                             cudaMemcpy3DParms *ret_line)
{
    void *dst;
    if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    cudaError_t error = aw_rt_symbol_at(symbol, offset, count, &dst);
    if (!error)
        *ret_line = line(dst, src, count, kind);
    return error;
}

static cudaError_t from_symbol(void *dst, const void *symbol, size_t count, size_t offset, cudaMemcpyKind kind,
                               cudaMemcpy3DParms *ret_line)
{
    void *src;
    if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    cudaError_t error = aw_rt_symbol_at(symbol, offset, count, &src);
    if (!error)
        *ret_line = line(dst, src, count, kind);
    return error;
}

cudaError_t awrt_cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps, size_t n,
                                                const void *symbol, const void *src, size_t count, size_t offset,
                                                cudaMemcpyKind kind)
{
    cudaMemcpy3DParms p;
    cudaError_t error = to_symbol(symbol, src, count, offset, kind, &p);
    return error ? error : copy_add(node, graph, deps, n, &p);
}

cudaError_t awrt_cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps, size_t n,
                                                  void *dst, const void *symbol, size_t count, size_t offset, cudaMemcpyKind kind)
{
    cudaMemcpy3DParms p;
    cudaError_t error = from_symbol(dst, symbol, count, offset, kind, &p);
    return error ? error : copy_add(node, graph, deps, n, &p);
}

cudaError_t awrt_cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol, const void *src, size_t count,
                                                      size_t offset, cudaMemcpyKind kind)
{
    cudaMemcpy3DParms p;
    cudaError_t error = to_symbol(symbol, src, count, offset, kind, &p);
    return error ? error : copy_set(node, &p);
}

cudaError_t awrt_cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst, const void *symbol, size_t count,
                                                        size_t offset, cudaMemcpyKind kind)
{
    cudaMemcpy3DParms p;
    cudaError_t error = from_symbol(dst, symbol, count, offset, kind, &p);
    return error ? error : copy_set(node, &p);
}

cudaError_t awrt_cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, const void *symbol,
                                                          const void *src, size_t count, size_t offset, cudaMemcpyKind kind)
{
    cudaMemcpy3DParms p;
    cudaError_t error = to_symbol(symbol, src, count, offset, kind, &p);
    return error ? error : copy_exec_set(exec, node, &p);
}

cudaError_t awrt_cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, void *dst,
                                                            const void *symbol, size_t count, size_t offset, cudaMemcpyKind kind)
{
    cudaMemcpy3DParms p;
    cudaError_t error = from_symbol(dst, symbol, count, offset, kind, &p);
    return error ? error : copy_exec_set(exec, node, &p);
}

/* ---- Any type, in one structure */

cudaError_t awrt_cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *pHandle_out, cudaGraph_t graph,
                                                  unsigned int defaultLaunchValue, unsigned int flags)
{
    AW_RT_AS_DRIVER(awcu_cuGraphConditionalHandleCreate((CUgraphConditionalHandle *)pHandle_out, graph, NULL, defaultLaunchValue,
                                                        flags));
}

/* Kernels and copies are described in the runtime's own way, all else in the driver's. */
static bool is_own(const cudaGraphNodeParams *from)
{
    return from->type == CU_GRAPH_NODE_TYPE_KERNEL || from->type == CU_GRAPH_NODE_TYPE_MEMCPY;
}

static cudaError_t own_params(const cudaGraphNodeParams *from, struct aw_node_params *ret_params)
{
    if (from->type == CU_GRAPH_NODE_TYPE_KERNEL)
        return aw_rt_error(kernel_params(&from->kernel, ret_params));
    return from->memcpy.flags ? cudaErrorInvalidValue : copy_params(&from->memcpy.copyParams, ret_params);
}

static CUgraphNodeParams driver_params(const cudaGraphNodeParams *from)
{
    CUgraphNodeParams params;
    _Static_assert(sizeof *from == sizeof params, "both are 256 bytes");
    memcpy(&params, from, sizeof params);
    if (from->type == CU_GRAPH_NODE_TYPE_MEMSET)
        params.memset.ctx = NULL; /* the current one */
    return params;
}

cudaError_t awrt_cudaGraphAddNode_v2(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps,
                                     const cudaGraphEdgeData *data, size_t n, cudaGraphNodeParams *from)
{
    struct aw_ctx *ctx;
    struct aw_node_params own;
    if (!from)
        return cudaErrorInvalidValue;
    if (is_own(from)) {
        cudaError_t error = own_params(from, &own);
        return error ? error : aw_rt_error(aw_abi_graph_add(node, graph, deps, data, n, &own));
    }
    enum aw_status status = aw_rt_ctx(&ctx);
    if (status)
        return aw_rt_error(status);
    CUgraphNodeParams params = driver_params(from);
    CUresult result = awcu_cuGraphAddNode_v2(node, graph, deps, data, n, &params);
    if (!result && (from->type == CU_GRAPH_NODE_TYPE_GRAPH || from->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
                    from->type == CU_GRAPH_NODE_TYPE_CONDITIONAL))
        memcpy(from, &params, sizeof *from); /* the node's own graphs, the address */
    return (cudaError_t)result;
}

cudaError_t awrt_cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps, size_t n,
                                  cudaGraphNodeParams *params)
{
    return awrt_cudaGraphAddNode_v2(node, graph, deps, NULL, n, params);
}

cudaError_t awrt_cudaGraphNodeSetParams(cudaGraphNode_t node, const cudaGraphNodeParams *from)
{
    struct aw_node_params own;
    if (!from)
        return cudaErrorInvalidValue;
    if (is_own(from)) {
        cudaError_t error = own_params(from, &own);
        return error ? error : aw_rt_error(aw_abi_graph_node_set(node, &own));
    }
    CUgraphNodeParams params = driver_params(from);
    AW_RT_AS_DRIVER(awcu_cuGraphNodeSetParams(node, &params));
}

cudaError_t awrt_cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const cudaGraphNodeParams *from)
{
    struct aw_node_params own;
    if (!from)
        return cudaErrorInvalidValue;
    if (is_own(from)) {
        cudaError_t error = own_params(from, &own);
        return error ? error : aw_rt_error(aw_abi_graph_exec_set(exec, node, &own));
    }
    CUgraphNodeParams params = driver_params(from);
    AW_RT_AS_DRIVER(awcu_cuGraphExecNodeSetParams(exec, node, &params));
}

cudaError_t awrt_cudaGraphNodeGetParams(cudaGraphNode_t handle, cudaGraphNodeParams *ret_params)
{
    struct aw_graph_node *node;
    CUgraphNodeParams params;
    enum aw_status status = ret_params ? aw_abi_graph_node(handle, &node) : AW_ERR_INVALID_VALUE;
    if (status)
        return aw_rt_error(status);
    CUresult result = awcu_cuGraphNodeGetParams(handle, &params);
    if (result)
        return (cudaError_t)result;
    cudaGraphNodeParams told;
    memcpy(&told, &params, sizeof told);
    if (params.type == CU_GRAPH_NODE_TYPE_MEMSET)
        params.memset.ctx = NULL, memcpy(&told, &params, sizeof told);
    if (params.type == CU_GRAPH_NODE_TYPE_KERNEL || params.type == CU_GRAPH_NODE_TYPE_MEMCPY)
        memset(told.reserved1, 0, sizeof told.reserved1);
    if (params.type == CU_GRAPH_NODE_TYPE_KERNEL)
        kernel_tell(&node->params.kernel, &told.kernel);
    else if (params.type == CU_GRAPH_NODE_TYPE_MEMCPY)
        copy_tell(&node->params.copy, &told.memcpy.copyParams);
    *ret_params = told;
    return cudaSuccess;
}
