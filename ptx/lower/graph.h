/* Orders and dominators of control-flow graphs, which LLVM's C interface has not: what the vectoriser's and the finishers' graphs
 * are built on.
 *
 * Not a graph itself: nodes are numbers, and who asks says which edges they have.  Thread-safe on distinct arenas. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_LOWER_GRAPH_H
#define AW_PTX_LOWER_GRAPH_H

#include "base/arena.h"
#include "base/map.h"
#include "llvm_version.h"
#include <stdbool.h>

/* The blocks that can be reached from `entry`, in reverse postorder: `entry` first, each before those that it dominates.
 * `ret_index`, empty, has 1 + its place for each; *ret_blocks is `arena`'s, *ret_n long.  False when memory is out. */
bool ptx_blocks_order(LLVMBasicBlockRef entry, struct aw_arena *arena, struct aw_ptrmap *ret_index,
                      LLVMBasicBlockRef **ret_blocks, int *ret_n);

/* The only block that leads to another, by one way; NULL: there are several, or none. */
LLVMBasicBlockRef ptx_only_way_to(LLVMBasicBlockRef block);

/* Where edges of a node lead to, or where they come from. */
struct ptx_edges {
    const int *at;
    int n;
};
typedef struct ptx_edges ptx_edges_of(const void *graph, int node);

/* Which of the `n` blocks, by place, lead to each, as often as they do; *ret_into and what it has are `arena`'s.  What index[]
 * does not know is left out.  False when memory is out. */
bool ptx_blocks_into(struct aw_arena *arena, const LLVMBasicBlockRef *blocks, int n, const struct aw_ptrmap *index,
                     struct ptx_edges **ret_into);

/* Those of `n` nodes that can be reached from `root`, in reverse postorder: *ret_n of them in ret_order[], and each one's place
 * in ret_number[],
 * -1 of others.  Both are n long.  False when memory is out. */
bool ptx_graph_order(struct aw_arena *arena, const void *graph, int n, int root, ptx_edges_of *out, int *ret_order,
                     int *ret_number, int *ret_n);

/* Walks from the nodes for which seen[] says yes to all that their edges lead to.  `enter` is asked of each edge from a node that
 * was seen to one that was not, and whether that is seen then; NULL: yes.  It may be asked of a node as often as it says no.
 * False when memory is out. */
typedef bool ptx_graph_enter(void *data, int from, int to);
bool ptx_graph_walk(const void *graph, int n, ptx_edges_of *edges, bool *seen, ptx_graph_enter *enter, void *data);

/* The nearest dominator of each of the nodes in `order`, the root's being itself (Cooper, Harvey, Kennedy); order NULL: of all
 * `n`, whose numbers are their places.  `into`: edges into a node.  ret_idom[] of nodes that are not in the order stays. */
void ptx_graph_dominators(const void *graph, int n, const int *order, const int *number, ptx_edges_of *into, int *ret_idom);

/* Strongly connected components of parts of a graph, one part after the other (Tarjan, without recursion). */
struct ptx_components {
    int *component;     /* of a node of the last part: its component's number, as they were found, from 0 */
    int n;              /* of the last part's components */
    long long steps;    /* edges that were gone along, in all parts */
    int *set, sets, *index, *low, *stack, *sorted;
    struct ptx_visit {
        int node, edge;
    } *calls;
};

/* Of a graph of `n` nodes; false when memory is out. */
bool ptx_components_init(struct aw_arena *arena, int n, struct ptx_components *ret);
/* Those of `n` nodes and of the edges between these.  Sorts nodes[]: component by component, each before those that it leads to,
 * which have lower numbers. */
void ptx_components_find(struct ptx_components *c, const void *graph, ptx_edges_of *out, int *nodes, int n);

/* The dominator tree of `n` nodes in reverse postorder. */
struct ptx_dominators {
    int *idom;
    int *in, *out; /* a node's place in a walk of the tree, and the last one below it */
};

/* False when memory is out. */
bool ptx_dominators_find(struct aw_arena *arena, const void *graph, int n, ptx_edges_of *into, struct ptx_dominators *ret);
/* Does `a` dominate `b`, or is it that? */
bool ptx_dominates(const struct ptx_dominators *d, int a, int b);

#endif
