/* The driver API: graphs and their nodes.  Executable graphs are cuda_graph_exec.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "abi"
#include <stdlib.h>
#include <string.h>

#include "abi/cuda_util.h"
#include "abi/graph.h"
#include "base/log.h"

/* ---- Graphs. */

CUresult awcu_cuGraphCreate(CUgraph *phGraph, unsigned int flags)
{
    struct aw_graph *graph;
    enum aw_status status = aw_core_ready();
    if (status)
        return cu_result(status);
    if (!phGraph || flags)
        return CUDA_ERROR_INVALID_VALUE;
    status = aw_graph_create(&graph);
    if (status == AW_OK)
        *phGraph = (CUgraph)graph;
    return cu_result(status);
}

CUresult awcu_cuGraphDestroy(CUgraph hGraph)
{
    struct aw_graph *graph;
    enum aw_status status = aw_abi_graph(hGraph, &graph);
    return cu_result(status ? status : aw_graph_destroy(graph));
}

CUresult awcu_cuGraphClone(CUgraph *phGraphClone, CUgraph originalGraph)
{
    struct aw_graph *graph, *clone;
    enum aw_status status = phGraphClone ? aw_abi_graph(originalGraph, &graph) : AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        status = aw_graph_clone(graph, &clone);
    if (status == AW_OK)
        *phGraphClone = (CUgraph)clone;
    return cu_result(status);
}

CUresult awcu_cuGraphNodeFindInClone(CUgraphNode *phNode, CUgraphNode hOriginalNode, CUgraph hClonedGraph)
{
    struct aw_graph_node *node;
    struct aw_graph *clone;
    enum aw_status status = phNode ? aw_abi_graph_node(hOriginalNode, &node) : AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        status = aw_abi_graph(hClonedGraph, &clone);
    if (status)
        return cu_result(status);
    struct aw_graph_node *found = aw_graph_find_clone(clone, node);
    if (!found)
        return CUDA_ERROR_INVALID_VALUE;
    *phNode = (CUgraphNode)found;
    return CUDA_SUCCESS;
}

CUresult awcu_cuGraphGetId(CUgraph hGraph, unsigned int *graphId)
{
    struct aw_graph *graph;
    enum aw_status status = graphId ? aw_abi_graph(hGraph, &graph) : AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        *graphId = (unsigned)graph->id;
    return cu_result(status);
}

CUresult awcu_cuGraphDebugDotPrint(CUgraph hGraph, const char *path, unsigned int flags)
{
    struct aw_graph *graph;
    enum aw_status status = path ? aw_abi_graph(hGraph, &graph) : AW_ERR_INVALID_VALUE;
    return cu_result(status ? status : aw_graph_dot(graph, path, flags));
}

/* ---- Asking for nodes and edges. */

/* Stores NULLs behind the last in an array that is longer than the list. */
static void list_pad(CUgraphNode *out, size_t n, size_t room)
{
    for (size_t i = n; out && i < room; i++)
        out[i] = NULL;
}

/* How many there are, when no array was given, or how many were stored. */
static void list_count(bool array, size_t n, size_t *num)
{
    if (!array || *num > n)
        *num = n;
}

static CUresult list_nodes(CUgraph handle, CUgraphNode *out, size_t *num, bool roots)
{
    struct aw_graph *graph;
    size_t n = 0;
    enum aw_status status = num ? aw_abi_graph(handle, &graph) : AW_ERR_INVALID_VALUE;
    if (status)
        return cu_result(status);
    for (size_t i = 0; i < graph->nodes.n; i++) {
        if (roots && graph->nodes.at[i]->in.n)
            continue;
        if (out && n < *num)
            out[n] = (CUgraphNode)graph->nodes.at[i];
        n++;
    }
    list_pad(out, n, *num);
    list_count(out != NULL, n, num);
    return CUDA_SUCCESS;
}

CUresult awcu_cuGraphGetNodes(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes)
{
    return list_nodes(hGraph, nodes, numNodes, false);
}

CUresult awcu_cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes)
{
    return list_nodes(hGraph, rootNodes, numRootNodes, true);
}

/* A list of edges on its way out.  `data` NULL: edges that have some cannot be told. */
struct edges_out {
    CUgraphNode *from, *to;
    CUgraphEdgeData *data;
    size_t n, room;
    bool lossy;
};

static void edge_tell(struct edges_out *out, const struct aw_graph_edge *edge, const struct aw_graph_node *to)
{
    if (out->n < out->room) {
        if (out->from)
            out->from[out->n] = (CUgraphNode)edge->node;
        if (out->to)
            out->to[out->n] = (CUgraphNode)(uintptr_t)to;
        if (out->data)
            memcpy(&out->data[out->n], &edge->data, sizeof *out->data);
        else if (!aw_edge_plain(&edge->data))
            out->lossy = true;
    }
    out->n++;
}

static CUresult edges_end(struct edges_out *out, size_t *num)
{
    if (out->lossy)
        return CUDA_ERROR_LOSSY_QUERY;
    for (size_t i = out->n; out->data && i < out->room; i++)
        out->data[i] = (CUgraphEdgeData){ 0 };
    list_pad(out->from, out->n, out->room);
    list_pad(out->to, out->n, out->room);
    list_count(out->from || out->to, out->n, num);
    return CUDA_SUCCESS;
}

CUresult awcu_cuGraphGetEdges_v2(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edgeData, size_t *numEdges)
{
    struct aw_graph *graph;
    if (!numEdges || !from != !to || (edgeData && !from))
        return CUDA_ERROR_INVALID_VALUE;
    enum aw_status status = aw_abi_graph(hGraph, &graph);
    if (status)
        return cu_result(status);
    struct edges_out out = { .from = from, .to = to, .data = edgeData, .room = from ? *numEdges : 0 };
    for (size_t i = 0; i < graph->nodes.n; i++)
        for (size_t k = 0; k < graph->nodes.at[i]->in.n; k++)
            edge_tell(&out, &graph->nodes.at[i]->in.at[k], graph->nodes.at[i]);
    return edges_end(&out, numEdges);
}

CUresult awcu_cuGraphGetEdges(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, size_t *numEdges)
{
    return awcu_cuGraphGetEdges_v2(hGraph, from, to, NULL, numEdges);
}

CUresult awcu_cuGraphNodeGetDependencies_v2(CUgraphNode hNode, CUgraphNode *dependencies, CUgraphEdgeData *edgeData,
                                            size_t *numDependencies)
{
    struct aw_graph_node *node;
    if (!numDependencies || (edgeData && !dependencies))
        return CUDA_ERROR_INVALID_VALUE;
    enum aw_status status = aw_abi_graph_node(hNode, &node);
    if (status)
        return cu_result(status);
    struct edges_out out = { .from = dependencies, .data = edgeData, .room = dependencies ? *numDependencies : 0 };
    for (size_t k = 0; k < node->in.n; k++)
        edge_tell(&out, &node->in.at[k], node);
    return edges_end(&out, numDependencies);
}

CUresult awcu_cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode *dependencies, size_t *numDependencies)
{
    return awcu_cuGraphNodeGetDependencies_v2(hNode, dependencies, NULL, numDependencies);
}

CUresult awcu_cuGraphNodeGetDependentNodes_v2(CUgraphNode hNode, CUgraphNode *dependentNodes, CUgraphEdgeData *edgeData,
                                              size_t *numDependentNodes)
{
    struct aw_graph_node *node;
    if (!numDependentNodes || (edgeData && !dependentNodes))
        return CUDA_ERROR_INVALID_VALUE;
    enum aw_status status = aw_abi_graph_node(hNode, &node);
    if (status)
        return cu_result(status);
    struct edges_out out = { .to = dependentNodes, .data = edgeData, .room = dependentNodes ? *numDependentNodes : 0 };
    for (size_t i = 0; i < node->graph->nodes.n; i++) {
        struct aw_graph_node *later = node->graph->nodes.at[i];
        for (size_t k = 0; k < later->in.n; k++)
            if (later->in.at[k].node == node)
                edge_tell(&out, &later->in.at[k], later);
    }
    return edges_end(&out, numDependentNodes);
}

CUresult awcu_cuGraphNodeGetDependentNodes(CUgraphNode hNode, CUgraphNode *dependentNodes, size_t *numDependentNodes)
{
    return awcu_cuGraphNodeGetDependentNodes_v2(hNode, dependentNodes, NULL, numDependentNodes);
}

/* ---- Changing edges. */

static CUresult edges_change(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *data,
                             size_t n,
                             enum aw_status (*change)(struct aw_graph *graph, struct aw_graph_node *const *from,
                                                      struct aw_graph_node *const *to, const struct aw_edge_data *data, size_t n))
{
    struct aw_graph *graph;
    struct aw_graph_node *node;
    enum aw_status status = aw_abi_graph(handle, &graph);
    if (status || !n)
        return cu_result(status);
    if (!from || !to)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < n && status == AW_OK; i++) {
        status = aw_abi_graph_node(from[i], &node);
        if (status == AW_OK)
            status = aw_abi_graph_node(to[i], &node);
    }
    if (status)
        return cu_result(status);
    /* Handles are the nodes' addresses, and both kinds of edge data the same bytes. */
    return cu_result(change(graph, (struct aw_graph_node *const *)(const void *)from,
                            (struct aw_graph_node *const *)(const void *)to, (const struct aw_edge_data *)(const void *)data, n));
}

CUresult awcu_cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
                                        const CUgraphEdgeData *edgeData, size_t numDependencies)
{
    return edges_change(hGraph, from, to, edgeData, numDependencies, aw_graph_link);
}

CUresult awcu_cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to, size_t numDependencies)
{
    return edges_change(hGraph, from, to, NULL, numDependencies, aw_graph_link);
}

CUresult awcu_cuGraphRemoveDependencies_v2(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
                                           const CUgraphEdgeData *edgeData, size_t numDependencies)
{
    return edges_change(hGraph, from, to, edgeData, numDependencies, aw_graph_unlink);
}

CUresult awcu_cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to, size_t numDependencies)
{
    return edges_change(hGraph, from, to, NULL, numDependencies, aw_graph_unlink);
}

/* ---- Any node. */

CUresult awcu_cuGraphDestroyNode(CUgraphNode hNode)
{
    struct aw_graph_node *node;
    enum aw_status status = aw_abi_graph_node(hNode, &node);
    return cu_result(status ? status : aw_graph_node_destroy(node));
}

CUresult awcu_cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type)
{
    struct aw_graph_node *node;
    enum aw_status status = type ? aw_abi_graph_node(hNode, &node) : AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        *type = (CUgraphNodeType)node->params.type;
    return cu_result(status);
}

CUresult awcu_cuGraphNodeGetContainingGraph(CUgraphNode hNode, CUgraph *phGraph)
{
    struct aw_graph_node *node;
    enum aw_status status = phGraph ? aw_abi_graph_node(hNode, &node) : AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        *phGraph = (CUgraph)node->graph;
    return cu_result(status);
}

CUresult awcu_cuGraphNodeGetLocalId(CUgraphNode hNode, unsigned int *nodeId)
{
    struct aw_graph_node *node;
    enum aw_status status = nodeId ? aw_abi_graph_node(hNode, &node) : AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        *nodeId = node->local_id;
    return cu_result(status);
}

CUresult awcu_cuGraphNodeGetToolsId(CUgraphNode hNode, unsigned long long *toolsNodeId)
{
    struct aw_graph_node *node;
    enum aw_status status = toolsNodeId ? aw_abi_graph_node(hNode, &node) : AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        *toolsNodeId = node->id;
    return cu_result(status);
}

/* ---- User objects. */

CUresult awcu_cuUserObjectCreate(CUuserObject *object_out, void *ptr, CUhostFn destroy, unsigned int initialRefcount,
                                 unsigned int flags)
{
    struct aw_user_object *object;
    enum aw_status status = aw_core_ready();
    if (status)
        return cu_result(status);
    if (!object_out || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
        return CUDA_ERROR_INVALID_VALUE;
    status = aw_user_object_create(ptr, destroy, initialRefcount, &object);
    if (status == AW_OK)
        *object_out = (CUuserObject)object;
    return cu_result(status);
}

static enum aw_status object_of(CUuserObject handle, struct aw_user_object **ret_object)
{
    enum aw_status status = aw_core_ready();
    if (status)
        return status;
    *ret_object = aw_user_object_from(handle);
    return *ret_object ? AW_OK : AW_ERR_INVALID_VALUE;
}

CUresult awcu_cuUserObjectRetain(CUuserObject handle, unsigned int count)
{
    struct aw_user_object *object;
    enum aw_status status = object_of(handle, &object);
    return cu_result(status ? status : aw_user_object_retain(object, count));
}

CUresult awcu_cuUserObjectRelease(CUuserObject handle, unsigned int count)
{
    struct aw_user_object *object;
    enum aw_status status = object_of(handle, &object);
    return cu_result(status ? status : aw_user_object_release(object, count));
}

CUresult awcu_cuGraphRetainUserObject(CUgraph hGraph, CUuserObject handle, unsigned int count, unsigned int flags)
{
    struct aw_graph *graph;
    struct aw_user_object *object;
    if (flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE)
        return CUDA_ERROR_INVALID_VALUE;
    enum aw_status status = aw_abi_graph(hGraph, &graph);
    if (status == AW_OK)
        status = object_of(handle, &object);
    return cu_result(status ? status : aw_graph_retain_object(graph, object, count, flags & CU_GRAPH_USER_OBJECT_MOVE));
}

CUresult awcu_cuGraphReleaseUserObject(CUgraph hGraph, CUuserObject handle, unsigned int count)
{
    struct aw_graph *graph;
    struct aw_user_object *object;
    enum aw_status status = aw_abi_graph(hGraph, &graph);
    if (status == AW_OK)
        status = object_of(handle, &object);
    return cu_result(status ? status : aw_graph_release_object(graph, object, count));
}

/* ---- Memory of graphs. */

/* Nothing is kept back: a block goes with the last graph that names it. */
CUresult awcu_cuDeviceGraphMemTrim(CUdevice dev)
{
    struct aw_device *device;
    return cu_result(cu_device(dev, &device));
}

CUresult awcu_cuDeviceGetGraphMemAttribute(CUdevice dev, CUgraphMem_attribute attr, void *value)
{
    struct aw_device *device;
    uint64_t bytes;
    enum aw_status status = cu_device(dev, &device);
    if (status == AW_OK)
        status = value ? aw_graph_mem_get(device, (int)attr, &bytes) : AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        *(cuuint64_t *)value = bytes;
    return cu_result(status);
}

/* A high mark can be set, to 0 only, which means to now. */
CUresult awcu_cuDeviceSetGraphMemAttribute(CUdevice dev, CUgraphMem_attribute attr, void *value)
{
    struct aw_device *device;
    enum aw_status status = cu_device(dev, &device);
    if (status)
        return cu_result(status);
    if (!value || *(const cuuint64_t *)value)
        return CUDA_ERROR_INVALID_VALUE;
    return cu_result(aw_graph_mem_reset(device, (int)attr));
}
