/* The driver API: graph nodes by type: adding them, their parameters. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "abi"
#include <stdlib.h>
#include <string.h>

#include "abi/cuda_util.h"
#include "abi/graph.h"
#include "base/log.h"

/* ---- Kernels. */

static CUDA_KERNEL_NODE_PARAMS kernel_v2(const CUDA_KERNEL_NODE_PARAMS_v1 *from)
{
    CUDA_KERNEL_NODE_PARAMS params = { 0 };
    memcpy(&params, from, sizeof *from); /* the first version is the head of the second */
    return params;
}

CUresult awcu_cuGraphAddKernelNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                      size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    struct aw_node_params params;
    enum aw_status status = nodeParams ? aw_abi_kernel_params(nodeParams, &params) : AW_ERR_INVALID_VALUE;
    return cu_result(status ? status : aw_abi_graph_add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &params));
}

CUresult awcu_cuGraphAddKernelNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                   size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    if (!nodeParams)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS params = kernel_v2(nodeParams);
    return awcu_cuGraphAddKernelNode_v2(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult awcu_cuGraphKernelNodeGetParams_v2(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    struct aw_graph_node *node;
    enum aw_status status = nodeParams ? aw_abi_graph_node_of(hNode, AW_NODE_KERNEL, &node) : AW_ERR_INVALID_VALUE;
    if (status)
        return cu_result(status);
    aw_abi_kernel_tell(&node->params.kernel, nodeParams);
    nodeParams->ctx = (CUcontext)node->params.ctx;
    return CUDA_SUCCESS;
}

CUresult awcu_cuGraphKernelNodeGetParams(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    CUDA_KERNEL_NODE_PARAMS params;
    CUresult result = nodeParams ? awcu_cuGraphKernelNodeGetParams_v2(hNode, &params) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        memcpy(nodeParams, &params, sizeof *nodeParams);
    return result;
}

CUresult awcu_cuGraphKernelNodeSetParams_v2(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    struct aw_node_params params;
    enum aw_status status = nodeParams ? aw_abi_kernel_params(nodeParams, &params) : AW_ERR_INVALID_VALUE;
    return cu_result(status ? status : aw_abi_graph_node_set(hNode, &params));
}

CUresult awcu_cuGraphKernelNodeSetParams(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    if (!nodeParams)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS params = kernel_v2(nodeParams);
    return awcu_cuGraphKernelNodeSetParams_v2(hNode, &params);
}

CUresult awcu_cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    struct aw_node_params params;
    enum aw_status status = nodeParams ? aw_abi_kernel_params(nodeParams, &params) : AW_ERR_INVALID_VALUE;
    return cu_result(status ? status : aw_abi_graph_exec_set(hGraphExec, hNode, &params));
}

CUresult awcu_cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                             const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    if (!nodeParams)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS params = kernel_v2(nodeParams);
    return awcu_cuGraphExecKernelNodeSetParams_v2(hGraphExec, hNode, &params);
}

/* Hints are kept for asking; what would change what runs is obeyed or refused. */
static enum aw_status attribute_check(CUkernelNodeAttrID attr, const CUkernelNodeAttrValue *value)
{
    switch ((CUlaunchAttributeID)attr) {
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        if (value && (value->clusterDim.x > 1 || value->clusterDim.y > 1 || value->clusterDim.z > 1)) {
            aw_say(NODE_CLUSTERS);
            return AW_ERR_INVALID_CLUSTER;
        }
        return AW_OK;
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        if (!value)
            return AW_OK;
        aw_say(NODE_DEVICE);
        return AW_ERR_NOT_SUPPORTED;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
    case CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE:
    case CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE:
        return AW_OK;
    default: /* of streams, or of launches */
        return AW_ERR_INVALID_VALUE;
    }
}

CUresult awcu_cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr, CUkernelNodeAttrValue *value_out)
{
    struct aw_graph_node *node;
    enum aw_status status = value_out ? aw_abi_graph_node_of(hNode, AW_NODE_KERNEL, &node) : AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        status = attribute_check(attr, NULL);
    return cu_result(status ? status : aw_node_attr_get(&node->params.kernel, attr, value_out));
}

CUresult awcu_cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr, const CUkernelNodeAttrValue *value)
{
    struct aw_graph_node *node;
    enum aw_status status = value ? aw_abi_graph_node_of(hNode, AW_NODE_KERNEL, &node) : AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        status = attribute_check(attr, value);
    return cu_result(status ? status : aw_node_attr_set(&node->params.kernel, attr, value));
}

CUresult awcu_cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src)
{
    struct aw_graph_node *to, *from;
    enum aw_status status = aw_abi_graph_node_of(dst, AW_NODE_KERNEL, &to);
    if (status == AW_OK)
        status = aw_abi_graph_node_of(src, AW_NODE_KERNEL, &from);
    for (int i = 0; i < AW_NODE_ATTRS && status == AW_OK; i++)
        if (from->params.kernel.attrs_set & 1u << i)
            status = aw_node_attr_set(&to->params.kernel, i, from->params.kernel.attrs[i]);
    return cu_result(status);
}

/* ---- Copies. */

static enum aw_status memcpy_params(CUcontext ctx_handle, const CUDA_MEMCPY3D *from, struct aw_node_params *ret_params)
{
    struct aw_ctx *ctx;
    enum aw_status status = from ? cu_context(ctx_handle, true, &ctx) : AW_ERR_INVALID_VALUE;
    return status ? status : aw_abi_memcpy_params(ctx, from, ret_params);
}

CUresult awcu_cuGraphAddMemcpyNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                   size_t numDependencies, const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
    struct aw_node_params params;
    enum aw_status status = memcpy_params(ctx, copyParams, &params);
    return cu_result(status ? status : aw_abi_graph_add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &params));
}

CUresult awcu_cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D *nodeParams)
{
    struct aw_graph_node *node;
    enum aw_status status = nodeParams ? aw_abi_graph_node_of(hNode, AW_NODE_MEMCPY, &node) : AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        aw_abi_memcpy_tell(&node->params.copy, nodeParams);
    return cu_result(status);
}

/* The node stays in its context. */
CUresult awcu_cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D *nodeParams)
{
    struct aw_graph_node *node;
    struct aw_node_params params;
    enum aw_status status = aw_abi_graph_node_of(hNode, AW_NODE_MEMCPY, &node);
    if (status == AW_OK)
        status = memcpy_params((CUcontext)node->params.ctx, nodeParams, &params);
    return cu_result(status ? status : aw_abi_graph_node_set(hNode, &params));
}

CUresult awcu_cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_MEMCPY3D *copyParams,
                                             CUcontext ctx)
{
    struct aw_node_params params;
    enum aw_status status = memcpy_params(ctx, copyParams, &params);
    return cu_result(status ? status : aw_abi_graph_exec_set(hGraphExec, hNode, &params));
}

/* ---- Fills. */

static enum aw_status memset_params(CUcontext ctx_handle, const CUDA_MEMSET_NODE_PARAMS *from, struct aw_node_params *ret_params)
{
    struct aw_ctx *ctx;
    enum aw_status status = from ? cu_context(ctx_handle, true, &ctx) : AW_ERR_INVALID_VALUE;
    return status ? status : aw_abi_memset_params(ctx, from, ret_params);
}

CUresult awcu_cuGraphAddMemsetNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                   size_t numDependencies, const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx)
{
    struct aw_node_params params;
    enum aw_status status = memset_params(ctx, memsetParams, &params);
    return cu_result(status ? status : aw_abi_graph_add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &params));
}

CUresult awcu_cuGraphMemsetNodeGetParams(CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
    struct aw_graph_node *node;
    enum aw_status status = nodeParams ? aw_abi_graph_node_of(hNode, AW_NODE_MEMSET, &node) : AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        aw_abi_memset_tell(&node->params.fill, nodeParams);
    return cu_result(status);
}

CUresult awcu_cuGraphMemsetNodeSetParams(CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
    struct aw_graph_node *node;
    struct aw_node_params params;
    enum aw_status status = aw_abi_graph_node_of(hNode, AW_NODE_MEMSET, &node);
    if (status == AW_OK)
        status = memset_params((CUcontext)node->params.ctx, nodeParams, &params);
    return cu_result(status ? status : aw_abi_graph_node_set(hNode, &params));
}

CUresult awcu_cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                             const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx)
{
    struct aw_node_params params;
    enum aw_status status = memset_params(ctx, memsetParams, &params);
    return cu_result(status ? status : aw_abi_graph_exec_set(hGraphExec, hNode, &params));
}

/* ---- Host functions. */

CUresult awcu_cuGraphAddHostNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                 size_t numDependencies, const CUDA_HOST_NODE_PARAMS *nodeParams)
{
    struct aw_node_params params;
    enum aw_status status = nodeParams ? aw_abi_host_params(nodeParams, &params) : AW_ERR_INVALID_VALUE;
    return cu_result(status ? status : aw_abi_graph_add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &params));
}

CUresult awcu_cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS *nodeParams)
{
    struct aw_graph_node *node;
    enum aw_status status = nodeParams ? aw_abi_graph_node_of(hNode, AW_NODE_HOST, &node) : AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        *nodeParams = (CUDA_HOST_NODE_PARAMS){ node->params.host.fn, node->params.host.user };
    return cu_result(status);
}

CUresult awcu_cuGraphHostNodeSetParams(CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS *nodeParams)
{
    struct aw_node_params params;
    enum aw_status status = nodeParams ? aw_abi_host_params(nodeParams, &params) : AW_ERR_INVALID_VALUE;
    return cu_result(status ? status : aw_abi_graph_node_set(hNode, &params));
}

CUresult awcu_cuGraphExecHostNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS *nodeParams)
{
    struct aw_node_params params;
    enum aw_status status = nodeParams ? aw_abi_host_params(nodeParams, &params) : AW_ERR_INVALID_VALUE;
    return cu_result(status ? status : aw_abi_graph_exec_set(hGraphExec, hNode, &params));
}

/* ---- Child graphs and empty nodes. */

CUresult awcu_cuGraphAddChildGraphNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                       size_t numDependencies, CUgraph childGraph)
{
    struct aw_node_params params;
    enum aw_status status = aw_abi_child_params(childGraph, &params);
    return cu_result(status ? status : aw_abi_graph_add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &params));
}

CUresult awcu_cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph *phGraph)
{
    struct aw_graph_node *node;
    enum aw_status status = phGraph ? aw_abi_graph_node_of(hNode, AW_NODE_GRAPH, &node) : AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        *phGraph = (CUgraph)node->params.child;
    return cu_result(status);
}

CUresult awcu_cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraph childGraph)
{
    struct aw_node_params params;
    enum aw_status status = aw_abi_child_params(childGraph, &params);
    return cu_result(status ? status : aw_abi_graph_exec_set(hGraphExec, hNode, &params));
}

CUresult awcu_cuGraphAddEmptyNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                  size_t numDependencies)
{
    struct aw_node_params params = { .type = AW_NODE_EMPTY };
    return cu_result(aw_abi_graph_add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &params));
}

/* ---- Events. */

static CUresult event_add(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *deps, size_t n, CUevent event,
                          enum aw_node_type type)
{
    struct aw_node_params params;
    enum aw_status status = aw_abi_event_params(event, type, &params);
    return cu_result(status ? status : aw_abi_graph_add(ret_node, graph, deps, NULL, n, &params));
}

static CUresult event_get(CUgraphNode handle, CUevent *ret_event, enum aw_node_type type)
{
    struct aw_graph_node *node;
    enum aw_status status = ret_event ? aw_abi_graph_node_of(handle, type, &node) : AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        *ret_event = (CUevent)node->params.event;
    return cu_result(status);
}

static CUresult event_set(CUgraphNode node, CUevent event, enum aw_node_type type)
{
    struct aw_node_params params;
    enum aw_status status = aw_abi_event_params(event, type, &params);
    return cu_result(status ? status : aw_abi_graph_node_set(node, &params));
}

static CUresult event_exec_set(CUgraphExec exec, CUgraphNode node, CUevent event, enum aw_node_type type)
{
    struct aw_node_params params;
    enum aw_status status = aw_abi_event_params(event, type, &params);
    return cu_result(status ? status : aw_abi_graph_exec_set(exec, node, &params));
}

CUresult awcu_cuGraphAddEventRecordNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                        size_t numDependencies, CUevent event)
{
    return event_add(phGraphNode, hGraph, dependencies, numDependencies, event, AW_NODE_EVENT_RECORD);
}

CUresult awcu_cuGraphEventRecordNodeGetEvent(CUgraphNode hNode, CUevent *event_out)
{
    return event_get(hNode, event_out, AW_NODE_EVENT_RECORD);
}

CUresult awcu_cuGraphEventRecordNodeSetEvent(CUgraphNode hNode, CUevent event)
{
    return event_set(hNode, event, AW_NODE_EVENT_RECORD);
}

CUresult awcu_cuGraphExecEventRecordNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event)
{
    return event_exec_set(hGraphExec, hNode, event, AW_NODE_EVENT_RECORD);
}

CUresult awcu_cuGraphAddEventWaitNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                      size_t numDependencies, CUevent event)
{
    return event_add(phGraphNode, hGraph, dependencies, numDependencies, event, AW_NODE_EVENT_WAIT);
}

CUresult awcu_cuGraphEventWaitNodeGetEvent(CUgraphNode hNode, CUevent *event_out)
{
    return event_get(hNode, event_out, AW_NODE_EVENT_WAIT);
}

CUresult awcu_cuGraphEventWaitNodeSetEvent(CUgraphNode hNode, CUevent event)
{
    return event_set(hNode, event, AW_NODE_EVENT_WAIT);
}

CUresult awcu_cuGraphExecEventWaitNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event)
{
    return event_exec_set(hGraphExec, hNode, event, AW_NODE_EVENT_WAIT);
}

/* ---- Allocations. */

CUresult awcu_cuGraphAddMemAllocNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                     size_t numDependencies, CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams)
{
    struct aw_ctx *ctx;
    struct aw_node_params params;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status == AW_OK)
        status = nodeParams ? aw_abi_alloc_params(ctx, nodeParams, &params) : AW_ERR_INVALID_VALUE;
    return cu_result(status ? status : aw_abi_graph_add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &params));
}

CUresult awcu_cuGraphMemAllocNodeGetParams(CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS *params_out)
{
    struct aw_graph_node *node;
    enum aw_status status = params_out ? aw_abi_graph_node_of(hNode, AW_NODE_ALLOC, &node) : AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        aw_abi_alloc_tell(&node->params, params_out);
    return cu_result(status);
}

CUresult awcu_cuGraphAddMemFreeNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                    size_t numDependencies, CUdeviceptr dptr)
{
    struct aw_node_params params;
    enum aw_status status = aw_core_ready();
    if (status == AW_OK)
        status = aw_node_free_make(dptr, &params);
    return cu_result(status ? status : aw_abi_graph_add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &params));
}

CUresult awcu_cuGraphMemFreeNodeGetParams(CUgraphNode hNode, CUdeviceptr *dptr_out)
{
    struct aw_graph_node *node;
    enum aw_status status = dptr_out ? aw_abi_graph_node_of(hNode, AW_NODE_FREE, &node) : AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        *dptr_out = node->params.alloc.address;
    return cu_result(status);
}

/* ---- Any type, in one structure. */

CUresult awcu_cuGraphConditionalHandleCreate(CUgraphConditionalHandle *pHandle_out, CUgraph hGraph, CUcontext ctx_handle,
                                             unsigned int defaultLaunchValue, unsigned int flags)
{
    struct aw_ctx *ctx;
    struct aw_graph *graph;
    enum aw_status status = pHandle_out ? aw_abi_graph(hGraph, &graph) : AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        status = cu_context(ctx_handle, true, &ctx);
    return cu_result(status ? status
                            : aw_condition_create(graph, ctx, defaultLaunchValue, flags, (uint64_t *)pHandle_out));
}

/* A child graph that is handed over becomes the node's: nothing is copied, its handles stay. */
static enum aw_status child_move(CUgraph handle, struct aw_node_params *ret_params)
{
    struct aw_graph *child;
    enum aw_status status = aw_abi_graph(handle, &child);
    if (status)
        return status;
    if (child->owned || child->capture)
        return AW_ERR_INVALID_VALUE;
    child->owned = true;
    *ret_params = (struct aw_node_params){ .type = AW_NODE_GRAPH, .child = child };
    return AW_OK;
}

static bool node_params_clean(const CUgraphNodeParams *from)
{
    return !from->reserved0[0] && !from->reserved0[1] && !from->reserved0[2] && !from->reserved2;
}

static enum aw_status any_params(CUgraphNodeParams *from, struct aw_node_params *ret_params)
{
    struct aw_ctx *ctx;
    if (!from || !node_params_clean(from))
        return AW_ERR_INVALID_VALUE;
    switch (from->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return aw_abi_kernel_params(&from->kernel, ret_params);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return from->memcpy.flags ? AW_ERR_INVALID_VALUE
                                  : memcpy_params(from->memcpy.copyCtx, &from->memcpy.copyParams, ret_params);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return memset_params(from->memset.ctx, &from->memset.set, ret_params);
    case CU_GRAPH_NODE_TYPE_HOST:
        return aw_abi_host_params(&from->host, ret_params);
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return from->graph.ownership == 1 ? child_move(from->graph.graph, ret_params)
                                          : aw_abi_child_params(from->graph.graph, ret_params);
    case CU_GRAPH_NODE_TYPE_EMPTY:
        *ret_params = (struct aw_node_params){ .type = AW_NODE_EMPTY };
        return AW_OK;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return aw_abi_event_params(from->eventWait, AW_NODE_EVENT_WAIT, ret_params);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return aw_abi_event_params(from->eventRecord, AW_NODE_EVENT_RECORD, ret_params);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
        enum aw_status status = aw_ctx_current(&ctx);
        return status ? status : aw_abi_alloc_params(ctx, &from->alloc, ret_params);
    }
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return aw_node_free_make(from->free, ret_params);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return aw_node_condition_make(from->conditional.handle, from->conditional.type, from->conditional.size, ret_params);
    default: aw_say(NODE_TYPE, (int)from->type); return AW_ERR_NOT_SUPPORTED;
    }
}

CUresult awcu_cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                const CUgraphEdgeData *dependencyData, size_t numDependencies, CUgraphNodeParams *nodeParams)
{
    struct aw_node_params params;
    struct aw_graph *moved = NULL;
    enum aw_status status = aw_core_ready();
    if (status == AW_OK)
        status = any_params(nodeParams, &params);
    if (status)
        return cu_result(status);
    bool child = params.type == AW_NODE_GRAPH;
    if (child && nodeParams->graph.ownership == 1) { /* a failure must leave it whole */
        moved = params.child;
        if (!aw_graph_from(hGraph) || moved == aw_graph_from(hGraph)) {
            moved->owned = false;
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    struct aw_graph_edge *edges = NULL;
    struct aw_graph_node *node;
    status = phGraphNode && aw_graph_from(hGraph)
                 ? aw_abi_graph_edges(dependencies, dependencyData, numDependencies, &edges)
                 : AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        status = aw_graph_add(aw_graph_from(hGraph), edges, numDependencies, &params, &node);
    free(edges);
    if (status && moved)
        moved->owned = false;
    else if (status)
        aw_node_params_fini(&params);
    if (status)
        return cu_result(status);
    *phGraphNode = (CUgraphNode)node;
    if (child)
        nodeParams->graph.graph = (CUgraph)node->params.child;
    if (node->params.type == AW_NODE_CONDITION)
        nodeParams->conditional.phGraph_out = (CUgraph *)node->params.condition.bodies;
    return CUDA_SUCCESS;
}

CUresult awcu_cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies,
                             CUgraphNodeParams *nodeParams)
{
    return awcu_cuGraphAddNode_v2(phGraphNode, hGraph, dependencies, NULL, numDependencies, nodeParams);
}

/* Parameters of an allocation or of a condition cannot be changed, and a child's only in an executable graph. */
CUresult awcu_cuGraphNodeSetParams(CUgraphNode hNode, const CUgraphNodeParams *nodeParams)
{
    struct aw_node_params params;
    enum aw_status status = aw_core_ready();
    if (status)
        return cu_result(status);
    if (!nodeParams || nodeParams->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || nodeParams->type == CU_GRAPH_NODE_TYPE_MEM_FREE ||
        nodeParams->type == CU_GRAPH_NODE_TYPE_GRAPH || nodeParams->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams from = *nodeParams;
    status = any_params(&from, &params);
    return cu_result(status ? status : aw_abi_graph_node_set(hNode, &params));
}

CUresult awcu_cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, const CUgraphNodeParams *nodeParams)
{
    struct aw_node_params params;
    enum aw_status status = aw_core_ready();
    if (status)
        return cu_result(status);
    if (!nodeParams || nodeParams->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || nodeParams->type == CU_GRAPH_NODE_TYPE_MEM_FREE ||
        nodeParams->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams from = *nodeParams;
    if (from.type == CU_GRAPH_NODE_TYPE_GRAPH)
        from.graph.ownership = 0; /* its parameters are taken, not it */
    status = any_params(&from, &params);
    return cu_result(status ? status : aw_abi_graph_exec_set(hGraphExec, hNode, &params));
}

CUresult awcu_cuGraphNodeGetParams(CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
    struct aw_graph_node *node;
    enum aw_status status = nodeParams ? aw_abi_graph_node(hNode, &node) : AW_ERR_INVALID_VALUE;
    if (status)
        return cu_result(status);
    const struct aw_node_params *params = &node->params;
    CUgraphNodeParams told = { .type = (CUgraphNodeType)params->type };
    switch (params->type) {
    case AW_NODE_KERNEL:
        aw_abi_kernel_tell(&params->kernel, &told.kernel);
        told.kernel.ctx = (CUcontext)params->ctx;
        break;
    case AW_NODE_MEMCPY:
        aw_abi_memcpy_tell(&params->copy, &told.memcpy.copyParams);
        told.memcpy.copyCtx = (CUcontext)params->ctx;
        break;
    case AW_NODE_MEMSET:
        aw_abi_memset_tell(&params->fill, &told.memset.set);
        told.memset.ctx = (CUcontext)params->ctx;
        break;
    case AW_NODE_HOST:
        told.host = (CUDA_HOST_NODE_PARAMS){ params->host.fn, params->host.user };
        break;
    case AW_NODE_GRAPH:
        told.graph.graph = (CUgraph)params->child;
        break;
    case AW_NODE_EVENT_WAIT:
    case AW_NODE_EVENT_RECORD:
        told.eventRecord = (CUevent)params->event;
        break;
    case AW_NODE_ALLOC:
        aw_abi_alloc_tell(params, &told.alloc);
        break;
    case AW_NODE_FREE:
        told.free = params->alloc.address;
        break;
    case AW_NODE_CONDITION:
        told.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){ .handle = aw_condition_handle(params->condition.condition),
                                                            .type = params->condition.type,
                                                            .size = params->condition.n,
                                                            .phGraph_out = (CUgraph *)params->condition.bodies };
        break;
    case AW_NODE_EMPTY:
        break;
    }
    *nodeParams = told;
    return CUDA_SUCCESS;
}
