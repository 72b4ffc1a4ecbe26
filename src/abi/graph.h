/* What the graph bodies of both APIs share: handles to core objects, the driver's structures to node parameters.
 *
 * Functions that take `params` take what it holds over in any case.  AW_ERR_INVALID_VALUE where a handle is none, as CUDA has
 * it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_ABI_GRAPH_H
#define AW_ABI_GRAPH_H

#include "abi/cuda_types.h"
#include "core/capture.h"
#include "core/graph_exec.h"

enum aw_status aw_abi_graph(CUgraph handle, struct aw_graph **ret_graph);
enum aw_status aw_abi_graph_node(CUgraphNode handle, struct aw_graph_node **ret_node);
enum aw_status aw_abi_graph_exec(CUgraphExec handle, struct aw_graph_exec **ret_exec);
/* A node of one type. */
enum aw_status aw_abi_graph_node_of(CUgraphNode handle, enum aw_node_type type, struct aw_graph_node **ret_node);
/* `n` handles as edges from those nodes; data may be NULL.  The caller frees *ret_edges, NULL when n is 0. */
enum aw_status aw_abi_graph_edges(const CUgraphNode *nodes, const CUgraphEdgeData *data, size_t n,
                                  struct aw_graph_edge **ret_edges);

/* Adds a node; gives it to a node; gives it to an executable graph. */
enum aw_status aw_abi_graph_add(CUgraphNode *ret_handle, CUgraph graph, const CUgraphNode *deps, const CUgraphEdgeData *data,
                                size_t n, struct aw_node_params *params);
enum aw_status aw_abi_graph_node_set(CUgraphNode node, struct aw_node_params *params);
enum aw_status aw_abi_graph_exec_set(CUgraphExec exec, CUgraphNode node, struct aw_node_params *params);

/* Parameters from the driver API's structures. */
enum aw_status aw_abi_kernel_params(const CUDA_KERNEL_NODE_PARAMS *from, struct aw_node_params *ret_params);
enum aw_status aw_abi_memcpy_params(struct aw_ctx *ctx, const CUDA_MEMCPY3D *from, struct aw_node_params *ret_params);
enum aw_status aw_abi_memset_params(struct aw_ctx *ctx, const CUDA_MEMSET_NODE_PARAMS *from, struct aw_node_params *ret_params);
enum aw_status aw_abi_host_params(const CUDA_HOST_NODE_PARAMS *from, struct aw_node_params *ret_params);
enum aw_status aw_abi_child_params(CUgraph child, struct aw_node_params *ret_params);
enum aw_status aw_abi_event_params(CUevent event, enum aw_node_type type, struct aw_node_params *ret_params);
/* Stores the address in from->dptr. */
enum aw_status aw_abi_alloc_params(struct aw_ctx *ctx, CUDA_MEM_ALLOC_NODE_PARAMS *from, struct aw_node_params *ret_params);
/* And back. */
void aw_abi_kernel_tell(const struct aw_node_kernel *kernel, CUDA_KERNEL_NODE_PARAMS *ret);
void aw_abi_memcpy_tell(const struct aw_node_copy *copy, CUDA_MEMCPY3D *ret);
void aw_abi_memset_tell(const struct aw_work_fill *fill, CUDA_MEMSET_NODE_PARAMS *ret);
void aw_abi_alloc_tell(const struct aw_node_params *params, CUDA_MEM_ALLOC_NODE_PARAMS *ret);
/* The driver's description of a copy as the core's. */
void aw_abi_box_read(const CUDA_MEMCPY3D *from, struct aw_copy_box *ret_box);

#endif
