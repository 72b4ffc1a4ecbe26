/* Scalar rewrites of what one lane does, before it is emitted: all-lanes versions, merge guards, lane serialisation,
 * rerolling. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_SIMT_REWRITE_REWRITE_H
#define AW_PTX_SIMT_REWRITE_REWRITE_H

#include "simt/ir.h"

/* ---- blend.c */
/* Makes plain stores of updates in place of the kernel, as `form` would be analysed, where masked ones are slow.  False:
 * u->status says why. */
bool simt_blend(struct simt *u, enum simt_form form);

/* ---- versions.c */
/* Adds copies of divergent regions for the case that all lanes take them, to a source function, as `form` would be analysed. */
bool simt_all_lanes_versions(struct simt *u, LLVMValueRef fn, enum simt_form form);

/* ---- region_copy.c */
LLVMValueRef simt_all_build(struct simt *u, LLVMValueRef cond); /* a call of the private ALL, at the builder */

/* ---- merge_guards.c */
/* Adds copies of guards that follow each other, for warps all of whose lanes pass all of them; what is left for others is noted
 * in `cold`. */
bool simt_merge_guards(struct simt *u, LLVMValueRef fn, enum simt_form form, struct aw_ptrmap *cold);

/* ---- reroll.c */
/* Joins loops of a source function that were unrolled with the loop for their remainder, where lanes run differently often. */
bool simt_reroll(struct simt *u, LLVMValueRef fn, enum simt_form form);

/* ---- scaled_loops.c */
/* Adds copies of a source function's loops whose lanes are likely alike or neighbours, by a factor that is known at run time. */
bool simt_scaled_loops(struct simt *u, LLVMValueRef fn, enum simt_form form);

#endif
