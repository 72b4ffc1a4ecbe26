/* The driver API: stream capture. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "abi/cuda_util.h"
#include "abi/graph.h"

CUresult awcu_cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(hStream, &ctx, &stream);
    return cu_result(status ? status : aw_capture_begin(stream, (enum aw_capture_mode)mode, NULL, NULL, 0));
}

CUresult awcu_cuStreamBeginCapture(CUstream hStream)
{
    return awcu_cuStreamBeginCapture_v2(hStream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult awcu_cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies,
                                          const CUgraphEdgeData *dependencyData, size_t numDependencies, CUstreamCaptureMode mode)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    struct aw_graph *graph;
    struct aw_graph_edge *deps = NULL;
    enum aw_status status = cu_stream(hStream, &ctx, &stream);
    if (status == AW_OK)
        status = aw_abi_graph(hGraph, &graph);
    if (status == AW_OK)
        status = aw_abi_graph_edges(dependencies, dependencyData, numDependencies, &deps);
    if (status == AW_OK)
        status = aw_capture_begin(stream, (enum aw_capture_mode)mode, graph, deps, numDependencies);
    free(deps);
    return cu_result(status);
}

/* The graph is stored, NULL, also when the sequence fails, as CUDA does. */
CUresult awcu_cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(hStream, &ctx, &stream);
    if (status)
        return cu_result(status);
    struct aw_graph *graph = NULL;
    status = aw_capture_end(stream, phGraph ? &graph : NULL);
    if (phGraph)
        *phGraph = (CUgraph)graph;
    return cu_result(status);
}

static enum aw_status info_of(CUstream handle, struct aw_capture_info *ret_info)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(handle, &ctx, &stream);
    return status ? status : aw_capture_info(stream, ret_info);
}

CUresult awcu_cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
    struct aw_capture_info info;
    if (!captureStatus)
        return CUDA_ERROR_INVALID_VALUE;
    enum aw_status status = info_of(hStream, &info);
    if (status == AW_OK)
        *captureStatus = (CUstreamCaptureStatus)info.status;
    return cu_result(status);
}

/* Beside the status nothing is told about a stream that does not capture; CUDA leaves the other outputs alone, too. */
static CUresult capture_info(CUstream handle, CUstreamCaptureStatus *ret_status, cuuint64_t *ret_id, CUgraph *ret_graph,
                             const CUgraphNode **ret_deps, const CUgraphEdgeData **ret_data, size_t *ret_n)
{
    struct aw_capture_info info;
    if (!ret_status || (ret_data && !ret_deps))
        return CUDA_ERROR_INVALID_VALUE;
    enum aw_status status = info_of(handle, &info);
    if (status)
        return cu_result(status);
    if (info.status == AW_CAPTURE_ACTIVE) {
        if (ret_deps && !ret_data && !info.plain)
            return CUDA_ERROR_LOSSY_QUERY;
        if (ret_id)
            *ret_id = info.id;
        if (ret_graph)
            *ret_graph = (CUgraph)info.graph;
        if (ret_deps)
            *ret_deps = (const CUgraphNode *)(const void *)info.deps; /* handles are the nodes' addresses */
        if (ret_data)
            *ret_data = (const CUgraphEdgeData *)(const void *)info.data;
        if (ret_n)
            *ret_n = info.n;
    }
    *ret_status = (CUstreamCaptureStatus)info.status;
    return CUDA_SUCCESS;
}

CUresult awcu_cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out)
{
    return capture_info(hStream, captureStatus_out, id_out, NULL, NULL, NULL, NULL);
}

CUresult awcu_cuStreamGetCaptureInfo_v2(CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out,
                                        CUgraph *graph_out, const CUgraphNode **dependencies_out, size_t *numDependencies_out)
{
    return capture_info(hStream, captureStatus_out, id_out, graph_out, dependencies_out, NULL, numDependencies_out);
}

CUresult awcu_cuStreamGetCaptureInfo_v3(CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out,
                                        CUgraph *graph_out, const CUgraphNode **dependencies_out,
                                        const CUgraphEdgeData **edgeData_out, size_t *numDependencies_out)
{
    return capture_info(hStream, captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out, numDependencies_out);
}

CUresult awcu_cuStreamUpdateCaptureDependencies_v2(CUstream hStream, const CUgraphNode *dependencies,
                                                   const CUgraphEdgeData *dependencyData, size_t numDependencies,
                                                   unsigned int flags)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    struct aw_graph_edge *deps = NULL;
    if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
        return CUDA_ERROR_INVALID_VALUE;
    enum aw_status status = cu_stream(hStream, &ctx, &stream);
    if (status == AW_OK)
        status = aw_abi_graph_edges(dependencies, dependencyData, numDependencies, &deps);
    if (status == AW_OK)
        status = aw_capture_update(stream, deps, numDependencies, flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES);
    free(deps);
    return cu_result(status);
}

CUresult awcu_cuStreamUpdateCaptureDependencies(CUstream hStream, const CUgraphNode *dependencies, size_t numDependencies,
                                                unsigned int flags)
{
    return awcu_cuStreamUpdateCaptureDependencies_v2(hStream, dependencies, NULL, numDependencies, flags);
}

CUresult awcu_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = (CUstreamCaptureMode)aw_capture_exchange_mode((enum aw_capture_mode)*mode);
    return CUDA_SUCCESS;
}
