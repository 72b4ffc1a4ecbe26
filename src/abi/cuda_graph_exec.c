/* The driver API: executable graphs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "abi/cuda_util.h"
#include "abi/graph.h"

/* ---- Making. */

static enum aw_status instantiate(CUgraphExec *ret_exec, CUgraph handle, cuuint64_t flags, struct aw_graph_node **ret_error)
{
    struct aw_graph *graph;
    struct aw_graph_exec *exec;
    enum aw_status status = ret_exec ? aw_abi_graph(handle, &graph) : AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        status = aw_graph_instantiate(graph, flags, ret_error, &exec);
    if (status == AW_OK)
        *ret_exec = (CUgraphExec)exec;
    return status;
}

/* UPLOAD belongs to the form that names a stream. */
CUresult awcu_cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph, unsigned long long flags)
{
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)
        return CUDA_ERROR_INVALID_VALUE;
    return cu_result(instantiate(phGraphExec, hGraph, flags, NULL));
}

CUresult awcu_cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode, char *logBuffer,
                                    size_t bufferSize)
{
    struct aw_graph_node *error = NULL;
    enum aw_status status = instantiate(phGraphExec, hGraph, 0, &error);
    if (logBuffer && bufferSize)
        snprintf(logBuffer, bufferSize, "%s", status == AW_OK ? "" : error ? "the graph has a cycle" : aw_status_text(status));
    if (phErrorNode)
        *phErrorNode = (CUgraphNode)error;
    return cu_result(status);
}

CUresult awcu_cuGraphInstantiate(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode, char *logBuffer,
                                 size_t bufferSize)
{
    return awcu_cuGraphInstantiate_v2(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

static CUresult instantiate_params(CUgraphExec *ret_exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params,
                                   CUstream default_stream)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    struct aw_graph_node *error = NULL;
    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    enum aw_status status = AW_OK;
    if (params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)
        status = cu_stream(params->hUploadStream ? params->hUploadStream : default_stream, &ctx, &stream);
    if (status == AW_OK)
        status = instantiate(ret_exec, graph, params->flags, &error);
    params->hErrNode_out = (CUgraphNode)error;
    params->result_out = status == AW_OK                  ? CUDA_GRAPH_INSTANTIATE_SUCCESS
                         : error                          ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
                         : status == AW_ERR_NOT_SUPPORTED ? CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED
                                                          : CUDA_GRAPH_INSTANTIATE_ERROR;
    return cu_result(status);
}

CUresult awcu_cuGraphInstantiateWithParams_on(CUgraphExec *phGraphExec, CUgraph hGraph,
                                              CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams, CUstream default_stream)
{
    return instantiate_params(phGraphExec, hGraph, instantiateParams, default_stream);
}

CUresult awcu_cuGraphExecDestroy(CUgraphExec hGraphExec)
{
    struct aw_graph_exec *exec;
    enum aw_status status = aw_abi_graph_exec(hGraphExec, &exec);
    return cu_result(status ? status : aw_graph_exec_destroy(exec));
}

CUresult awcu_cuGraphExecGetFlags(CUgraphExec hGraphExec, cuuint64_t *flags)
{
    struct aw_graph_exec *exec;
    enum aw_status status = flags ? aw_abi_graph_exec(hGraphExec, &exec) : AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        *flags = exec->flags;
    return cu_result(status);
}

CUresult awcu_cuGraphExecGetId(CUgraphExec hGraphExec, unsigned int *graphId)
{
    struct aw_graph_exec *exec;
    enum aw_status status = graphId ? aw_abi_graph_exec(hGraphExec, &exec) : AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        *graphId = (unsigned)exec->id;
    return cu_result(status);
}

/* ---- Launching. */

/* There is nothing that a first launch does and a later one does not. */
CUresult awcu_cuGraphUpload(CUgraphExec hGraph, CUstream hStream)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    struct aw_graph_exec *exec;
    enum aw_status status = cu_stream(hStream, &ctx, &stream);
    if (status == AW_OK)
        status = aw_abi_graph_exec(hGraph, &exec);
    if (status == AW_OK && aw_capture_any() && aw_capture_refuse(stream, &status))
        return cu_result(status);
    return cu_result(status);
}

CUresult awcu_cuGraphLaunch(CUgraphExec hGraph, CUstream hStream)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    struct aw_graph_exec *exec;
    enum aw_status status = cu_stream(hStream, &ctx, &stream);
    if (status == AW_OK)
        status = aw_abi_graph_exec(hGraph, &exec);
    return cu_result(status ? status : aw_graph_launch(exec, stream));
}

/* ---- Changing. */

static enum aw_status exec_node(CUgraphExec exec_handle, CUgraphNode handle, struct aw_graph_exec **ret_exec,
                                struct aw_graph_node **ret_node)
{
    struct aw_graph_node *node;
    enum aw_status status = aw_abi_graph_exec(exec_handle, ret_exec);
    if (status == AW_OK)
        status = aw_abi_graph_node(handle, &node);
    if (status)
        return status;
    *ret_node = aw_graph_exec_node(*ret_exec, node);
    return *ret_node ? AW_OK : AW_ERR_INVALID_VALUE;
}

CUresult awcu_cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int isEnabled)
{
    struct aw_graph_exec *exec;
    struct aw_graph_node *node;
    enum aw_status status = exec_node(hGraphExec, hNode, &exec, &node);
    return cu_result(status ? status : aw_graph_exec_enable(exec, node, isEnabled != 0));
}

CUresult awcu_cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int *isEnabled)
{
    struct aw_graph_exec *exec;
    struct aw_graph_node *node;
    enum aw_status status = isEnabled ? exec_node(hGraphExec, hNode, &exec, &node) : AW_ERR_INVALID_VALUE;
    if (status)
        return cu_result(status);
    enum aw_node_type type = node->params.type;
    if (type != AW_NODE_KERNEL && type != AW_NODE_MEMCPY && type != AW_NODE_MEMSET)
        return CUDA_ERROR_INVALID_VALUE;
    *isEnabled = !node->disabled;
    return CUDA_SUCCESS;
}

CUresult awcu_cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphExecUpdateResultInfo *resultInfo)
{
    struct aw_graph_exec *exec;
    struct aw_graph *graph;
    struct aw_update_info info;
    if (!resultInfo)
        return CUDA_ERROR_INVALID_VALUE;
    enum aw_status status = aw_abi_graph_exec(hGraphExec, &exec);
    if (status == AW_OK)
        status = aw_abi_graph(hGraph, &graph);
    if (status) {
        *resultInfo = (CUgraphExecUpdateResultInfo){ .result = CU_GRAPH_EXEC_UPDATE_ERROR };
        return cu_result(status);
    }
    status = aw_graph_exec_update(exec, graph, &info);
    *resultInfo = (CUgraphExecUpdateResultInfo){ (CUgraphExecUpdateResult)info.result, (CUgraphNode)info.node,
                                                 (CUgraphNode)info.from };
    return cu_result(status);
}

CUresult awcu_cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode *hErrorNode_out,
                                CUgraphExecUpdateResult *updateResult_out)
{
    CUgraphExecUpdateResultInfo info;
    if (!hErrorNode_out || !updateResult_out)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = awcu_cuGraphExecUpdate_v2(hGraphExec, hGraph, &info);
    *hErrorNode_out = info.errorNode;
    *updateResult_out = info.result;
    return result;
}
