/* Executable graphs: a private copy of a graph in the order in which it runs, launched any number of times.
 *
 * A launch hands the nodes to the launching stream one after another, in an order that keeps every edge; nodes of other
 * contexts run on a stream of that context between two events.  Branches that could overlap do not: the order is right, the
 * width is not used.
 *
 * What runs behind a conditional node is known only when the stream has come there.  So a graph with such nodes is handed by a
 * thread of its own to a stream of its own, which follows the launching one and is followed by it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_GRAPH_EXEC_H
#define AW_CORE_GRAPH_EXEC_H

#include "core/graph.h"

/* CUDA_GRAPH_INSTANTIATE_FLAG_*. */
enum { AW_EXEC_AUTO_FREE = 1, AW_EXEC_UPLOAD = 2, AW_EXEC_DEVICE_LAUNCH = 4, AW_EXEC_NODE_PRIORITY = 8 };

/* CU_GRAPH_EXEC_UPDATE_*. */
enum aw_update_result { AW_UPDATE_OK, AW_UPDATE_ERROR, AW_UPDATE_TOPOLOGY, AW_UPDATE_NODE_TYPE, AW_UPDATE_FUNCTION,
                        AW_UPDATE_PARAMETERS, AW_UPDATE_NOT_SUPPORTED, AW_UPDATE_FUNCTION_KIND, AW_UPDATE_ATTRIBUTES };

struct aw_graph_exec {
    struct aw_handle handle;
    struct aw_graph *graph;         /* hidden clone; its nodes are in running order, children's too */
    struct aw_graph *source;        /* the graph whose `instantiated` it counts in; NULL: it allocates nothing */
    uint64_t source_id;
    uint64_t id, flags;
    pthread_mutex_t lock;           /* over launching and changing: aw_graph_exec_lock */
    pthread_cond_t idle;            /* `busy` ended */
    bool busy;                      /* a thread hands its nodes over */
    bool conditional;               /* it has conditional nodes */
    uint32_t *gate;                 /* pinned: the number of the last run that has ended; NULL before the first */
    uint32_t runs;                  /* the number of the last one begun */
    struct aw_event *done;          /* after the last launch; NULL before the first */
    struct aw_ctx *done_ctx;
    uint64_t last_stream;           /* id of the stream of the last launch */
    AW_VEC(struct aw_graph_lane *) lanes; /* streams for nodes of other contexts */
};

extern struct aw_slab aw_graph_exec_slab;

static inline struct aw_graph_exec *aw_graph_exec_from(const void *handle)
{
    return aw_slab_valid(&aw_graph_exec_slab, handle) ? (struct aw_graph_exec *)(uintptr_t)handle : NULL;
}

/* Takes the lock once no thread hands its nodes over. */
void aw_graph_exec_lock(struct aw_graph_exec *exec);

/* AW_ERR_INVALID_VALUE: a flag that does not exist, a graph being captured, a cycle (then *ret_error is a node of it), or a
 * second executable of a graph that allocates; AW_ERR_NOT_SUPPORTED: launching from the device.  ret_error may be NULL. */
enum aw_status aw_graph_instantiate(struct aw_graph *graph, uint64_t flags, struct aw_graph_node **ret_error,
                                    struct aw_graph_exec **ret_exec);
/* Waits for the last launch where something of the executable's is in use by it. */
enum aw_status aw_graph_exec_destroy(struct aw_graph_exec *exec);
/* Queues one run behind the stream's work and the last launch of the same executable.  On a capturing stream: a child graph node.
 * AW_ERR_INVALID_VALUE: an allocation of the graph has not been freed.  A function, event or context of a node that is gone is an
 * invalid handle; what was queued before stays queued. */
enum aw_status aw_graph_launch(struct aw_graph_exec *exec, struct aw_cstream *stream);
/* The node of the executable that was made from `node`; NULL: none. */
struct aw_graph_node *aw_graph_exec_node(struct aw_graph_exec *exec, const struct aw_graph_node *node);
/* Replaces parameters for later launches; *params is taken over on success.  AW_ERR_INVALID_VALUE when a type, a context or a
 * child's structure would change. */
enum aw_status aw_graph_exec_set(struct aw_graph_exec *exec, struct aw_graph_node *node, struct aw_node_params *params);
/* Kernels, copies and fills can be switched off, else AW_ERR_INVALID_VALUE. */
enum aw_status aw_graph_exec_enable(struct aw_graph_exec *exec, struct aw_graph_node *node, bool on);

struct aw_update_info {
    enum aw_update_result result;
    struct aw_graph_node *node, *from; /* of `graph`, or NULL */
};
/* Takes over the parameters of a graph of the same shape: all or none.  AW_ERR_GRAPH_UPDATE and *ret_info says why not. */
enum aw_status aw_graph_exec_update(struct aw_graph_exec *exec, struct aw_graph *graph, struct aw_update_info *ret_info);
/* For update and set: whether parameters may replace others in an executable graph. */
enum aw_update_result aw_graph_params_fit(const struct aw_node_params *old, const struct aw_node_params *new);
/* Pairs the nodes of two graphs by their sinks and the order of their edges: pair[i] is the node of `a` that nodes[i] of `b`
 * stands for.  `pair` has b->nodes.n entries. */
struct aw_update_info aw_graph_pair(const struct aw_graph *a, const struct aw_graph *b, struct aw_graph_node **pair);

#endif
