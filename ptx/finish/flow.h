/* What the finishers know of a kernel's control flow where lanes may wait for each other (wait.c): its blocks and natural loops,
 * and where the lanes of a wave, two CUDA warps on some machines, or of the host's warp may have parted.  Not the vectoriser's
 * analysis (ptx/simt). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_FINISH_FLOW_H
#define AW_PTX_FINISH_FLOW_H

#include "base/arena.h"
#include "base/map.h"
#include "lower/graph.h"
#include "lower/internal.h"

/* What is looked at. */
enum ptx_flow_of {
    PTX_FLOW_WAITS = 1, /* not for barriers but for waits: a block is `parted` when lanes may be elsewhere at all, and what lanes
                         * together read at one address to see what others write, is the same for them */
    PTX_FLOW_ROW = 4,   /* a block has one row of threads */
    PTX_FLOW_ENDS = 8,  /* lanes that come to no barrier but still use shared memory, or global memory that the others use behind
                         * one (ends.c), count as those that have one ahead */
    PTX_FLOW_WARP = 2,  /* the wave is one warp: votes, looks at one mbarrier object and all that tells warps apart are the same
                         * for its lanes */
    PTX_FLOW_ROWS = 16, /* a block's rows of threads are whole warps */
    PTX_FLOW_STEP = 32, /* lanes that are in a loop are in the same round of it, as in kernels without a meeting */
    PTX_FLOW_FUNCTION = 64, /* no kernel: what it is given may differ between lanes */
};

struct flow_block {
    LLVMBasicBlockRef bb;
    unsigned n_succ, n_preds, *succ, *preds;
    bool waits;      /* has a barrier in it */
    bool coming;     /* a barrier may still come, in it or after it; or any block, where lanes may wait for others anywhere */
    bool parted;     /* lanes of a wave may be elsewhere and a barrier may still come for them */
    bool joins;      /* ... and come back here */
    bool parts;      /* ends in a branch where they part */
    bool one;        /* only one warp of a block comes here, as far as is known */
    bool alone;      /* only one lane does, of each warp of the block */
    bool selects;    /* ends in the branch that sends these there */
    bool mixed;      /* parted, and not only by such a branch: lanes of one warp may be elsewhere that could be here; with
                      * PTX_FLOW_STEP: in a loop that lanes leave in different rounds */
};

struct sets;

struct flow {
    struct aw_arena arena;
    struct aw_ptrmap index;      /* block -> 1 + number */
    struct aw_ptrmap divergent;  /* values that may differ between the lanes of a wave */
    unsigned of;                 /* enum ptx_flow_of */
    const struct sets *post;     /* postdominators */
    unsigned n;
    struct flow_block *blocks;   /* reverse postorder; 0 is the entry.  Unreachable ones are not here */
};

/* Is it a call that waits for other warps of the block, or for the other lanes of its warp to arrive at a barrier? */
bool ptx_flow_is_barrier(LLVMValueRef instruction);
/* Is it one of these that the lanes of a warp may reach apart? */
bool ptx_flow_is_unaligned(LLVMValueRef instruction);

/* Is it a volatile or atomic load? */
bool ptx_flow_is_ordered(LLVMValueRef v);
/* Does an exchange add, and not 0?  Each time round a loop it sees something else by its own doing. */
bool ptx_flow_counts(LLVMValueRef rmw);
/* The member mask of a call that is an operation of a warp; NULL: it is none. */
LLVMValueRef ptx_flow_mask(LLVMValueRef call);
/* Does it wait for the lanes of its mask wherever they are?  `call` has a mask. */
bool ptx_flow_is_members(LLVMValueRef call);
/* Is it an operation of all the warp's lanes, by its mask? */
bool ptx_flow_is_whole(LLVMValueRef v);

/* Reads `fn`, a kernel of SIMT IR; `of`: enum ptx_flow_of, both for the host's warps.  False when memory is out.  ptx_flow_fini
 * in any case. */
bool ptx_flow_init(struct flow *f, LLVMValueRef fn, unsigned of);
void ptx_flow_fini(struct flow *f);

/* The function that an instruction calls, if it is known and has a body; or NULL. */
LLVMValueRef ptx_flow_callee(LLVMValueRef instruction);

/* Walks on from the blocks in seen[], along the edges for which `enter` says so; lower/graph.h has the rest. */
bool ptx_flow_walk(const struct flow *f, bool *seen, ptx_graph_enter *enter, void *data);
/* Sets ret[i] for the blocks that can be reached from block `from` by at least one edge.  `ret` has f->n elements, cleared. */
bool ptx_flow_reach(struct flow *f, unsigned from, bool *ret);
/* ret[i]: block i is the header of a natural loop for whose blocks, body[], `test` says yes: of the loop of all edges back to it,
 * or of one's. */
typedef bool flow_test(const struct flow *f, const bool *body, void *data);
bool ptx_flow_loops(struct flow *f, flow_test *test, void *data, bool *ret);
/* Sets ret[] for the blocks where others may begin when lanes have come to block `at`: what those went to at branches where they
 * parted and have not met again.  `ret` has f->n elements.  `within`, if not NULL: only branches in these blocks.  False when
 * memory is out. */
bool ptx_flow_others(struct flow *f, unsigned at, const bool *within, bool *ret);
/* Sets ret[] for the blocks that lanes may come to which leave block `at`, where they part from others, for block
 * `from`, before they meet these again; not by way of block `around` (below f->n: else by any), nor into block `until`
 * (likewise).  `ret` has f->n elements, cleared.  False when memory is out. */
bool ptx_flow_side(const struct flow *f, unsigned at, unsigned from, unsigned around, unsigned until, bool *ret);
/* May the value differ between lanes that are at one place? */
bool ptx_flow_differs(const struct flow *f, LLVMValueRef v);
/* The number of a block; not below f->n: it is not reached. */
unsigned ptx_flow_block(const struct flow *f, LLVMBasicBlockRef bb);

#endif
