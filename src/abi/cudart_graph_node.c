/* Runtime API: graph nodes.  Kernels are named by host functions and copies described by the runtime's structures; all else is the
 * driver API's. */
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
    if (!from || !from->func)
        return AW_ERR_INVALID_VALUE;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (!status)
        status = aw_rt_func(ctx, from->func, &func);
    if (status)
        return status;
    struct aw_kernel *kernel = aw_kernel_from(from->func);
    const void *host = kernel ? __atomic_load_n(&kernel->host, __ATOMIC_RELAXED) : NULL;
    struct aw_launch_args args = {
        .grid = { from->gridDimX, from->gridDimY, from->gridDimZ }, .block = { from->blockDimX, from->blockDimY, from->blockDimZ },
        .shared_bytes = from->sharedMemBytes, .params = from->kernelParams, .extra = from->extra,
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

/* Bytes of what an array's positions count; 1 without one, 0 for a dead handle. */
static size_t element_of(cudaArray_const_t handle)
{
    const struct aw_array *array = handle ? aw_array_from(handle) : NULL;
    return array ? aw_shape_element_bytes(&array->shape) : handle ? 0 : 1;
}

/* The runtime's description as the driver's. */
static cudaError_t copy_read(const cudaMemcpy3DParms *p, CUDA_MEMCPY3D *ret_copy)
{
    if (!p || (p->srcArray && p->srcPtr.ptr) || (p->dstArray && p->dstPtr.ptr))
        return cudaErrorInvalidValue;
    if ((unsigned)p->kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    size_t src_each = element_of(p->srcArray), dst_each = element_of(p->dstArray), each = p->srcArray ? src_each : dst_each;
    if (!src_each || !dst_each)
        return cudaErrorInvalidResourceHandle;
    if (p->extent.width > SIZE_MAX / each || p->srcPos.x > SIZE_MAX / src_each || p->dstPos.x > SIZE_MAX / dst_each)
        return cudaErrorInvalidValue;
    bool open = p->kind == cudaMemcpyDefault;
    bool from_host = p->kind == cudaMemcpyHostToHost || p->kind == cudaMemcpyHostToDevice;
    bool to_host = p->kind == cudaMemcpyHostToHost || p->kind == cudaMemcpyDeviceToHost;
    CUmemorytype src = from_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE, dst = to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    *ret_copy = (CUDA_MEMCPY3D){
        .srcMemoryType = p->srcArray ? CU_MEMORYTYPE_ARRAY : open ? CU_MEMORYTYPE_UNIFIED : src,
        .srcArray = (CUarray)p->srcArray, .dstArray = (CUarray)p->dstArray,
        .srcXInBytes = p->srcPos.x * src_each, .srcY = p->srcPos.y, .srcZ = p->srcPos.z, .srcHost = p->srcPtr.ptr,
        .srcDevice = (CUdeviceptr)(uintptr_t)p->srcPtr.ptr, .srcPitch = p->srcPtr.pitch, .srcHeight = p->srcPtr.ysize,
        .dstMemoryType = p->dstArray ? CU_MEMORYTYPE_ARRAY : open ? CU_MEMORYTYPE_UNIFIED : dst,
        .dstXInBytes = p->dstPos.x * dst_each, .dstY = p->dstPos.y, .dstZ = p->dstPos.z, .dstHost = p->dstPtr.ptr,
        .dstDevice = (CUdeviceptr)(uintptr_t)p->dstPtr.ptr, .dstPitch = p->dstPtr.pitch, .dstHeight = p->dstPtr.ysize,
        .WidthInBytes = p->extent.width * each, .Height = p->extent.height, .Depth = p->extent.depth,
    };
    return cudaSuccess;
}

/* Bytes in a row as a box. */
static cudaMemcpy3DParms line(void *dst, const void *src, size_t size, cudaMemcpyKind kind)
{
    return (cudaMemcpy3DParms){ .srcPtr = { (void *)(uintptr_t)src, size, size, 1 }, .dstPtr = { dst, size, size, 1 },
                                .extent = { size, 1, 1 }, .kind = kind };
}

static cudaError_t copy_params(const cudaMemcpy3DParms *p, struct aw_node_params *ret_params)
{
    struct aw_ctx *ctx;
    CUDA_MEMCPY3D copy;
    cudaError_t error = copy_read(p, &copy);
    if (error)
        return error;
    enum aw_status status = aw_rt_ctx(&ctx);
    return aw_rt_error(status ? status : aw_abi_memcpy_params(ctx, &copy, ret_params));
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

static void copy_tell(const struct aw_node_copy *copy, cudaMemcpy3DParms *ret)
{
    const struct aw_node_side *src = &copy->src, *dst = &copy->dst;
    bool open = src->type == CU_MEMORYTYPE_UNIFIED || dst->type == CU_MEMORYTYPE_UNIFIED;
    bool from_host = src->type == CU_MEMORYTYPE_HOST, to_host = dst->type == CU_MEMORYTYPE_HOST;
    *ret = (cudaMemcpy3DParms){
        .srcPos = { src->x, src->y, src->z }, .srcPtr = { (void *)src->base, src->pitch, copy->work.width, src->rows },
        .dstPos = { dst->x, dst->y, dst->z }, .dstPtr = { (void *)dst->base, dst->pitch, copy->work.width, dst->rows },
        .extent = { copy->work.width, copy->work.height, copy->work.depth },
        .kind = open        ? cudaMemcpyDefault
                : from_host ? (to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice)
                            : (to_host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice),
    };
}

cudaError_t awrt_cudaGraphMemcpyNodeGetParams(cudaGraphNode_t handle, cudaMemcpy3DParms *ret_params)
{
    struct aw_graph_node *node;
    enum aw_status status = ret_params ? aw_abi_graph_node_of(handle, AW_NODE_MEMCPY, &node) : AW_ERR_INVALID_VALUE;
    if (!status)
        copy_tell(&node->params.copy, ret_params);
    return aw_rt_error(status);
}

cudaError_t awrt_cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps, size_t n, void *dst,
                                          const void *src, size_t count, cudaMemcpyKind kind)
{
    cudaMemcpy3DParms p = line(dst, src, count, kind);
    return copy_add(node, graph, deps, n, &p);
}

cudaError_t awrt_cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *dst, const void *src, size_t count, cudaMemcpyKind kind)
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

/* ---- Fills, host functions, child graphs, events, allocations */

/* ---- Any type, in one structure */

/* The runtime's structure as the driver's, for all types but kernels. */
static cudaError_t any_read(const cudaGraphNodeParams *from, CUgraphNodeParams *ret_params)
{
    _Static_assert(sizeof *from == sizeof *ret_params, "both are 256 bytes");
    memcpy(ret_params, from, sizeof *ret_params);
    if (from->type != CU_GRAPH_NODE_TYPE_MEMCPY) {
        if (from->type == CU_GRAPH_NODE_TYPE_MEMSET)
            ret_params->memset.ctx = NULL; /* the current one */
        return cudaSuccess;
    }
    memset(&ret_params->memcpy, 0, sizeof ret_params->memcpy);
    if (from->memcpy.flags)
        return cudaErrorInvalidValue;
    return copy_read(&from->memcpy.copyParams, &ret_params->memcpy.copyParams);
}

cudaError_t awrt_cudaGraphAddNode_v2(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps,
                                     const cudaGraphEdgeData *data, size_t n, cudaGraphNodeParams *from)
{
    struct aw_ctx *ctx;
    struct aw_node_params kernel;
    CUgraphNodeParams params;
    if (!from)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (!status && from->type == CU_GRAPH_NODE_TYPE_KERNEL) {
        status = kernel_params(&from->kernel, &kernel);
        return aw_rt_error(status ? status : aw_abi_graph_add(node, graph, deps, data, n, &kernel));
    }
    cudaError_t error = status ? aw_rt_error(status) : any_read(from, &params);
    if (error)
        return error;
    CUresult result = awcu_cuGraphAddNode_v2(node, graph, deps, data, n, &params);
    if (!result && (from->type == CU_GRAPH_NODE_TYPE_GRAPH || from->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC))
        memcpy(from, &params, sizeof *from); /* the node's own graph, the address */
    return (cudaError_t)result;
}

cudaError_t awrt_cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps, size_t n,
                                  cudaGraphNodeParams *params)
{
    return awrt_cudaGraphAddNode_v2(node, graph, deps, NULL, n, params);
}

cudaError_t awrt_cudaGraphNodeSetParams(cudaGraphNode_t node, const cudaGraphNodeParams *from)
{
    CUgraphNodeParams params;
    if (!from)
        return cudaErrorInvalidValue;
    if (from->type == CU_GRAPH_NODE_TYPE_KERNEL)
        return awrt_cudaGraphKernelNodeSetParams(node, &from->kernel);
    cudaError_t error = any_read(from, &params);
    if (error)
        return error;
    AW_RT_AS_DRIVER(awcu_cuGraphNodeSetParams(node, &params));
}

cudaError_t awrt_cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const cudaGraphNodeParams *from)
{
    CUgraphNodeParams params;
    if (!from)
        return cudaErrorInvalidValue;
    if (from->type == CU_GRAPH_NODE_TYPE_KERNEL)
        return awrt_cudaGraphExecKernelNodeSetParams(exec, node, &from->kernel);
    cudaError_t error = any_read(from, &params);
    if (error)
        return error;
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
