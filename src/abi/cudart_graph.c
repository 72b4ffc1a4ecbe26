/* Runtime API: capture, graphs, executable graphs: what is the driver API's under another name.  The runtime adds only that a context is
 * there.  Nodes whose structures are the runtime's own are in cudart_graph_node.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/cuda_proto.h"
#include "abi/cudart.h"

/* ---- Capture */

cudaError_t awrt_cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode)
{
    AW_RT_AS_DRIVER(awcu_cuStreamBeginCapture_v2(stream, (CUstreamCaptureMode)mode));
}

cudaError_t awrt_cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                               const cudaGraphEdgeData *data, size_t n, cudaStreamCaptureMode mode)
{
    AW_RT_AS_DRIVER(awcu_cuStreamBeginCaptureToGraph(stream, graph, dependencies, data, n, (CUstreamCaptureMode)mode));
}

cudaError_t awrt_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    AW_RT_AS_DRIVER(awcu_cuStreamEndCapture(stream, graph));
}

static cudaError_t capture_info(cudaStream_t stream, cudaStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t *graph,
                                const cudaGraphNode_t **dependencies, const cudaGraphEdgeData **data, size_t *n, bool with_data)
{
    CUstreamCaptureStatus capture;
    cuuint64_t number = 0;
    if (!status)
        return cudaErrorInvalidValue;
    struct aw_ctx *ctx;
    enum aw_status ready = aw_rt_ctx(&ctx);
    if (ready)
        return aw_rt_error(ready);
    CUresult result = with_data ? awcu_cuStreamGetCaptureInfo_v3(stream, &capture, &number, graph, dependencies, data, n)
                                : awcu_cuStreamGetCaptureInfo_v2(stream, &capture, &number, graph, dependencies, n);
    if (result)
        return (cudaError_t)result;
    *status = (cudaStreamCaptureStatus)capture;
    if (id && capture == CU_STREAM_CAPTURE_STATUS_ACTIVE)
        *id = number;
    return cudaSuccess;
}

cudaError_t awrt_cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *status)
{
    return capture_info(stream, status, NULL, NULL, NULL, NULL, NULL, false);
}

cudaError_t awrt_cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus *status, unsigned long long *id)
{
    return capture_info(stream, status, id, NULL, NULL, NULL, NULL, false);
}

cudaError_t awrt_cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus *status, unsigned long long *id,
                                             cudaGraph_t *graph, const cudaGraphNode_t **dependencies, size_t *n)
{
    return capture_info(stream, status, id, graph, dependencies, NULL, n, false);
}

cudaError_t awrt_cudaStreamGetCaptureInfo_v3(cudaStream_t stream, cudaStreamCaptureStatus *status, unsigned long long *id,
                                             cudaGraph_t *graph, const cudaGraphNode_t **dependencies,
                                             const cudaGraphEdgeData **data, size_t *n)
{
    return capture_info(stream, status, id, graph, dependencies, data, n, true);
}

cudaError_t awrt_cudaStreamUpdateCaptureDependencies(cudaStream_t stream, const cudaGraphNode_t *dependencies, size_t n,
                                                     unsigned int flags)
{
    AW_RT_AS_DRIVER(awcu_cuStreamUpdateCaptureDependencies(stream, dependencies, n, flags));
}

cudaError_t awrt_cudaStreamUpdateCaptureDependencies_v2(cudaStream_t stream, const cudaGraphNode_t *dependencies,
                                                        const cudaGraphEdgeData *data, size_t n, unsigned int flags)
{
    AW_RT_AS_DRIVER(awcu_cuStreamUpdateCaptureDependencies_v2(stream, dependencies, data, n, flags));
}

cudaError_t awrt_cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode *mode)
{
    if (!mode)
        return cudaErrorInvalidValue;
    CUstreamCaptureMode swapped = (CUstreamCaptureMode)*mode;
    CUresult result = awcu_cuThreadExchangeStreamCaptureMode(&swapped);
    if (!result)
        *mode = (cudaStreamCaptureMode)swapped;
    return (cudaError_t)result;
}

/* ---- Graphs */

cudaError_t awrt_cudaGraphCreate(cudaGraph_t *graph, unsigned int flags)
{
    AW_RT_AS_DRIVER(awcu_cuGraphCreate(graph, flags));
}

cudaError_t awrt_cudaGraphDestroy(cudaGraph_t graph)
{
    AW_RT_AS_DRIVER(awcu_cuGraphDestroy(graph));
}

cudaError_t awrt_cudaGraphClone(cudaGraph_t *clone, cudaGraph_t original)
{
    AW_RT_AS_DRIVER(awcu_cuGraphClone(clone, original));
}

cudaError_t awrt_cudaGraphNodeFindInClone(cudaGraphNode_t *node, cudaGraphNode_t original, cudaGraph_t clone)
{
    AW_RT_AS_DRIVER(awcu_cuGraphNodeFindInClone(node, original, clone));
}

cudaError_t awrt_cudaGraphGetId(cudaGraph_t graph, unsigned int *id)
{
    AW_RT_AS_DRIVER(awcu_cuGraphGetId(graph, id));
}

cudaError_t awrt_cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned int flags)
{
    AW_RT_AS_DRIVER(awcu_cuGraphDebugDotPrint(graph, path, flags));
}

cudaError_t awrt_cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *n)
{
    AW_RT_AS_DRIVER(awcu_cuGraphGetNodes(graph, nodes, n));
}

cudaError_t awrt_cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *n)
{
    AW_RT_AS_DRIVER(awcu_cuGraphGetRootNodes(graph, nodes, n));
}

cudaError_t awrt_cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *n)
{
    AW_RT_AS_DRIVER(awcu_cuGraphGetEdges(graph, from, to, n));
}

cudaError_t awrt_cudaGraphGetEdges_v2(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *data,
                                      size_t *n)
{
    AW_RT_AS_DRIVER(awcu_cuGraphGetEdges_v2(graph, from, to, data, n));
}

cudaError_t awrt_cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *n)
{
    AW_RT_AS_DRIVER(awcu_cuGraphNodeGetDependencies(node, nodes, n));
}

cudaError_t awrt_cudaGraphNodeGetDependencies_v2(cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *data, size_t *n)
{
    AW_RT_AS_DRIVER(awcu_cuGraphNodeGetDependencies_v2(node, nodes, data, n));
}

cudaError_t awrt_cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *n)
{
    AW_RT_AS_DRIVER(awcu_cuGraphNodeGetDependentNodes(node, nodes, n));
}

cudaError_t awrt_cudaGraphNodeGetDependentNodes_v2(cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *data,
                                                   size_t *n)
{
    AW_RT_AS_DRIVER(awcu_cuGraphNodeGetDependentNodes_v2(node, nodes, data, n));
}

cudaError_t awrt_cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t n)
{
    AW_RT_AS_DRIVER(awcu_cuGraphAddDependencies(graph, from, to, n));
}

cudaError_t awrt_cudaGraphAddDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                             const cudaGraphEdgeData *data, size_t n)
{
    AW_RT_AS_DRIVER(awcu_cuGraphAddDependencies_v2(graph, from, to, data, n));
}

cudaError_t awrt_cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t n)
{
    AW_RT_AS_DRIVER(awcu_cuGraphRemoveDependencies(graph, from, to, n));
}

cudaError_t awrt_cudaGraphRemoveDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                                const cudaGraphEdgeData *data, size_t n)
{
    AW_RT_AS_DRIVER(awcu_cuGraphRemoveDependencies_v2(graph, from, to, data, n));
}

/* ---- User objects */

cudaError_t awrt_cudaUserObjectCreate(cudaUserObject_t *object, void *ptr, cudaHostFn_t destroy, unsigned int refs,
                                      unsigned int flags)
{
    AW_RT_AS_DRIVER(awcu_cuUserObjectCreate(object, ptr, destroy, refs, flags));
}

cudaError_t awrt_cudaUserObjectRetain(cudaUserObject_t object, unsigned int count)
{
    AW_RT_AS_DRIVER(awcu_cuUserObjectRetain(object, count));
}

cudaError_t awrt_cudaUserObjectRelease(cudaUserObject_t object, unsigned int count)
{
    AW_RT_AS_DRIVER(awcu_cuUserObjectRelease(object, count));
}

cudaError_t awrt_cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count, unsigned int flags)
{
    AW_RT_AS_DRIVER(awcu_cuGraphRetainUserObject(graph, object, count, flags));
}

cudaError_t awrt_cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count)
{
    AW_RT_AS_DRIVER(awcu_cuGraphReleaseUserObject(graph, object, count));
}

/* ---- Memory of graphs */

cudaError_t awrt_cudaDeviceGraphMemTrim(int device)
{
    AW_RT_AS_DRIVER(awcu_cuDeviceGraphMemTrim(device));
}

cudaError_t awrt_cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attr, void *value)
{
    AW_RT_AS_DRIVER(awcu_cuDeviceGetGraphMemAttribute(device, (CUgraphMem_attribute)attr, value));
}

cudaError_t awrt_cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attr, void *value)
{
    AW_RT_AS_DRIVER(awcu_cuDeviceSetGraphMemAttribute(device, (CUgraphMem_attribute)attr, value));
}

/* ---- Executable graphs */

cudaError_t awrt_cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphNode_t *error, char *log, size_t size)
{
    AW_RT_AS_DRIVER(awcu_cuGraphInstantiate_v2(exec, graph, error, log, size));
}

cudaError_t awrt_cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    AW_RT_AS_DRIVER(awcu_cuGraphInstantiateWithFlags(exec, graph, flags));
}

cudaError_t awrt_cudaGraphInstantiate_v12(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    return awrt_cudaGraphInstantiateWithFlags(exec, graph, flags);
}

cudaError_t awrt_cudaGraphInstantiateWithParams(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphInstantiateParams *params)
{
    AW_RT_AS_DRIVER(awcu_cuGraphInstantiateWithParams(exec, graph, params));
}

cudaError_t awrt_cudaGraphInstantiateWithParams_ptsz(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphInstantiateParams *params)
{
    AW_RT_AS_DRIVER(awcu_cuGraphInstantiateWithParams_ptsz(exec, graph, params));
}

cudaError_t awrt_cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    AW_RT_AS_DRIVER(awcu_cuGraphExecDestroy(exec));
}

cudaError_t awrt_cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long *flags)
{
    cuuint64_t value;
    if (!flags)
        return cudaErrorInvalidValue;
    CUresult result = awcu_cuGraphExecGetFlags(exec, &value);
    if (!result)
        *flags = value;
    return (cudaError_t)result;
}

cudaError_t awrt_cudaGraphExecGetId(cudaGraphExec_t exec, unsigned int *id)
{
    AW_RT_AS_DRIVER(awcu_cuGraphExecGetId(exec, id));
}

cudaError_t awrt_cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream)
{
    AW_RT_AS_DRIVER(awcu_cuGraphUpload(exec, stream));
}

cudaError_t awrt_cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    AW_RT_AS_DRIVER(awcu_cuGraphLaunch(exec, stream));
}

cudaError_t awrt_cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned int enabled)
{
    AW_RT_AS_DRIVER(awcu_cuGraphNodeSetEnabled(exec, node, enabled));
}

cudaError_t awrt_cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned int *enabled)
{
    AW_RT_AS_DRIVER(awcu_cuGraphNodeGetEnabled(exec, node, enabled));
}

cudaError_t awrt_cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *error,
                                     cudaGraphExecUpdateResult *update)
{
    AW_RT_AS_DRIVER(awcu_cuGraphExecUpdate(exec, graph, error, update));
}

cudaError_t awrt_cudaGraphExecUpdate_v12(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info)
{
    AW_RT_AS_DRIVER(awcu_cuGraphExecUpdate_v2(exec, graph, info));
}
