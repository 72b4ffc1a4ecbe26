/* Orders and dominators of control-flow graphs, which LLVM's C interface has not: what the vectoriser's and the finishers' graphs are built on.
 *
 * Not a graph itself: nodes are numbers, and who asks says which edges they have.  Thread-safe on distinct arenas. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_LOWER_GRAPH_H
#define AW_PTX_LOWER_GRAPH_H

#include "base/arena.h"
#include "base/map.h"
#include <llvm-c/Core.h>
#include <stdbool.h>

/* The blocks that can be reached from `entry`, in reverse postorder: `entry` first, each before those that it dominates.  `ret_index`, empty, has
 * 1 + its place for each; *ret_blocks is `arena`'s, *ret_n long.  False when memory is out. */
bool ptx_blocks_order(LLVMBasicBlockRef entry, struct aw_arena *arena, struct aw_ptrmap *ret_index, LLVMBasicBlockRef **ret_blocks, int *ret_n);

/* Where edges of a node lead to, or where they come from. */
struct ptx_edges {
    const int *at;
    int n;
};
typedef struct ptx_edges ptx_edges_of(const void *graph, int node);

/* Those of `n` nodes that can be reached from `root`, in reverse postorder: *ret_n of them in ret_order[], and each one's place in ret_number[],
 * -1 of others.  Both are n long.  False when memory is out. */
bool ptx_graph_order(struct aw_arena *arena, const void *graph, int n, int root, ptx_edges_of *out, int *ret_order, int *ret_number, int *ret_n);

/* The nearest dominator of each of the nodes in `order`, the root's being itself (Cooper, Harvey, Kennedy); order NULL: of all `n`, whose numbers
 * are their places.  `into`: edges into a node.  ret_idom[] of nodes that are not in the order stays. */
void ptx_graph_dominators(const void *graph, int n, const int *order, const int *number, ptx_edges_of *into, int *ret_idom);

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
