/* What is known of a kernel: its graph, which values are the same or at known distances in all lanes, which loops wait, march or
 * run equally often.  Changes nothing. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_SIMT_ANALYSIS_ANALYSIS_H
#define AW_PTX_SIMT_ANALYSIS_ANALYSIS_H

#include "simt/ir.h"

/* ---- cfg.c */
bool simt_cfg_order(struct simt_fn *f); /* blocks and edges alone; the graph may be irreducible */
bool simt_cfg_build(struct simt_fn *f);
struct ptx_edges simt_edges_into(const void *blocks, int block); /* of f->blocks as a graph */
struct ptx_edges simt_edges_out(const void *blocks, int block);
void simt_cfg_fini(struct simt_fn *f);
int simt_block_of(const struct simt_fn *f, LLVMBasicBlockRef bb); /* -1: unreachable */
bool simt_leads_to(const struct simt_block *from, int to); /* by an edge */
bool simt_dominates(const struct simt_fn *f, int a, int b);
bool simt_loop_has(const struct simt_fn *f, int loop, int block);
int simt_outermost(const struct simt_fn *f, int loop); /* of the loops around it, or itself; -1: -1 */
int simt_loop_headed(const struct simt_fn *f, int b); /* the loop that begins with block `b`, or -1 */
/* is the value known in blocks that block `b` dominates? */
bool simt_there_before(const struct simt_fn *f, int b, LLVMValueRef x);
/* Is it, or can it be computed where block `b` ends, from what is, in `left` operations?  Those are counted down. */
bool simt_known_before(const struct simt_fn *f, int b, LLVMValueRef x, int *left);

/* ---- shape.c */
bool simt_shape_analyse(struct simt_fn *f);
bool simt_shape_estimate(struct simt_fn *f); /* where control flow is not nested: nearly right */
struct simt_val *simt_get(struct simt_fn *f, LLVMValueRef v); /* instructions and parameters; NULL for constants */
bool simt_uniform(struct simt_fn *f, LLVMValueRef v);
bool simt_varying(struct simt_fn *f, LLVMValueRef v);
const int64_t *simt_offsets(struct simt_fn *f, LLVMValueRef v); /* of an affine value; NULL = zero */
bool simt_ext_exact(const struct simt_val *operand);            /* sext and zext keep the shape without a check */
bool simt_phi_joins_lanes(struct simt_fn *f, int block);        /* predecessors differ by lane */
int simt_loop_left(struct simt_fn *f, int block);               /* outermost divergent loop left on entry, or -1 */
bool simt_defined_in(struct simt_fn *f, int loop, LLVMValueRef v);

/* ---- likely_row.c */
enum { SIMT_MORE_ROWS = 3 };
struct simt_likely {
    bool scaled; /* by a stride that is not known, and so perhaps 0: the same element for all lanes */
    int more;    /* rows that lanes are likely in beyond the first one, at most SIMT_MORE_ROWS; 0, too: hardly ever, or many */
};
/* Is a varying address likely that of neighbouring elements of `size` bytes in most warps? */
bool simt_likely_row(struct simt_fn *f, LLVMValueRef ptr, uint64_t size, struct simt_likely *ret);
/* Is the value likely the same for all lanes but for a multiple of the lane's number that is not known? */
bool simt_likely_scaled(struct simt_fn *f, LLVMValueRef v);
/* Is the difference of the two integers likely the same for all lanes? */
bool simt_likely_apart_alike(struct simt_fn *f, LLVMValueRef x, LLVMValueRef y);

/* ---- update.c */
/* Does block `then`, behind a branch of block `b`, only write over what that has read? */
bool simt_only_updates(struct simt_fn *f, int b, int then);

/* ---- access.c */
int simt_access_parts(struct simt_fn *f, LLVMValueRef x); /* how many accesses like this one make a structure, or 0 */
/* All parts of a structure or row, the first in the block being `inst`; loads may have loads between them. */
bool simt_interleaved_find(struct simt_fn *f, LLVMValueRef inst, struct simt_interleaved *ret);

/* ---- spin.c */
/* Does the loop only wait for memory that someone else writes? */
bool simt_loop_spins(struct simt_fn *f, int loop);

/* ---- grid_stride.c */
/* What is added to a phi of the loop's header in each round, if it is the same for all lanes; else NULL. */
LLVMValueRef simt_loop_step(struct simt_fn *f, int loop, LLVMValueRef phi);
bool simt_goes_by_blocks(struct simt_fn *f, int loop); /* with steps of the grid, as a rule, up to a bound */
bool simt_streams(struct simt_fn *f, int loop);        /* and reads memory in rows, with few things carried round */
bool simt_counts(struct simt_fn *f, int loop);         /* likewise, and updates memory by what it reads: a histogram */
/* Has a kernel without barriers such a loop, for which a block's warps had better go side by side? */
bool simt_abreast(struct simt *u, enum simt_form form);

/* ---- trip_count.c */
/* How often a divergent loop runs is often the same for all lanes, though not known to be: the value that says so, if the loop
 * does no more than count it, and an instruction; else NULL. */
LLVMValueRef simt_trip_count(struct simt_fn *f, int loop);

/* ---- warp_uniform.c */
/* May the warps of a block go through the kernel in any order and by turns: it is small, of a known shape, and no warp or lane
 * waits for another? */
bool simt_warps_free(struct simt *u, enum simt_form form);
/* Do the warps of a block read so much the same that a kernel without barriers had better run several at once? */
bool simt_warps_alike(struct simt *u, enum simt_form form);
uint32_t simt_row_vectors(const struct simt *u); /* that a row of the block consists of, if there are several rows; else 1 */
/* of vectors `m` apart: is the first thread's along axis `d` one? */
bool simt_index_alike(const struct simt *u, unsigned d, uint32_t m);
/* Adds to the set the values that differ among warps whose place in their rows is the same; false: u->status is set. */
bool simt_find_own(struct simt_fn *f, struct aw_ptrmap *own);
bool simt_own(const struct aw_ptrmap *own, LLVMValueRef v);
/* vectors that such warps read alike in a block */
size_t simt_loads_alike(struct simt_fn *f, const struct aw_ptrmap *own, int b);

/* ---- all_lanes.c */
/* Do a few scalar operations tell whether a condition, or its opposite, holds for all lanes? */
bool simt_all_scalar(struct simt_fn *f, LLVMValueRef cond, bool negated);
/* From the first lane to the highest of an integer none of whose lanes is below the first one's, at distances known without a
 * check; -1: it is none. */
int64_t simt_span(struct simt_fn *f, LLVMValueRef x);
/* A condition that holds for `lanes`, as bits, where the affine `x` of the first lane is `base`, and else for none. */
struct simt_same {
    LLVMValueRef x;
    uint64_t base;
    uint32_t lanes;
};
bool simt_same_lanes(struct simt_fn *f, LLVMValueRef cond, bool negated, struct simt_same *ret);
/* A comparison of an affine value with a uniform one, which one of the lanes decides. */
struct simt_compare {
    const struct simt_val *x;
    LLVMValueRef other;
    LLVMTypeRef type;
    bool swapped; /* the affine value is the second */
    int64_t hi;   /* from the first lane to the highest */
};
/* Such a comparison that may hold for every lane. */
bool simt_one_decides(struct simt_fn *f, LLVMValueRef c, bool negated, struct simt_compare *ret);
/* Conditions that must all hold for `c` (or its opposite) to; each may be meant as its opposite.  0: it is none but itself. */
int simt_split_condition(LLVMValueRef c, bool negated, LLVMValueRef ret[2], bool ret_negated[2]);

/* ---- marching.c */
/* Is there a loop through which warps had better go together?  Decided before emission; the body is split after it, and its turns
 * are made once it is. */
bool simt_marches(struct simt *u, enum simt_form form);
bool simt_loop_marches(struct simt_fn *f, int loop); /* is it one that warps may take turns in? */
int simt_loop_bytes(struct simt_fn *f, int loop); /* how many bytes an iteration of a warp touches; 0: the loop does not suit */

/* ---- shared_order.c */
/* May parts of a warp go one after the other between barriers, as far as the block's shared memory shows it?  The kernel calls no
 * function, its block's shape is known.  False, too, where memory is out: u->status says so. */
bool simt_shared_in_parts(struct simt *u, enum simt_form form);

/* ---- vector_width.c */
int simt_row_lanes(uint32_t row); /* that a vector has where it lies in one row of so many threads; all where none does */
/* Sets how many lanes a vector of the kernel has, as it will be emitted in `form`.  False: u->status says why. */
bool simt_vector_width_choose(struct simt *u, enum simt_form form);

#endif
