/* Copies of instructions: a map says what stands for a value or a block in the copy, and everything else stands for itself.  What
 * all passes that run a block, a region or a computation a second time are built on.
 *
 * Not LLVM's cloning of whole functions, which its C interface has not.  Thread-safe on distinct copies. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_LOWER_COPY_H
#define AW_PTX_LOWER_COPY_H

#include "base/map.h"
#include "llvm_version.h"
#include <stdbool.h>

struct ptx_copy {
    LLVMBuilderRef b;    /* borrowed: copies are put where it stands */
    struct aw_ptrmap of; /* value or block -> what stands for it */
    bool failed;         /* memory is out; the copy is not whole */
};

void ptx_copy_fini(struct ptx_copy *c); /* forgets the map; the copies stay */

/* From now on `as` stands for `x`. */
void ptx_copy_note(struct ptx_copy *c, const void *x, void *as);
/* What stands for a value or a block: it itself where nothing was noted. */
void *ptx_copied(const struct ptx_copy *c, const void *x);

/* A copy of an instruction with the operands that it has; of a phi one without edges.  It is noted. */
LLVMValueRef ptx_copy_as_is(struct ptx_copy *c, LLVMValueRef x);
/* A copy whose operands are what stands for those of `x`; of a phi as above. */
LLVMValueRef ptx_copy_instruction(struct ptx_copy *c, LLVMValueRef x);
/* Instructions of `from` but its terminator.  For a phi stands what comes to it from the block `way`; NULL: an empty phi. */
void ptx_copy_body(struct ptx_copy *c, LLVMBasicBlockRef from, LLVMBasicBlockRef way);

/* Need a value not be computed: is it there already? */
typedef bool ptx_is_there(const void *data, LLVMValueRef x);
/* Computes `x` and what it is made of once more, as far as neither is there or noted. */
LLVMValueRef ptx_copy_computation(struct ptx_copy *c, LLVMValueRef x, ptx_is_there *is_there, const void *data);

/* Is it arithmetic of its operands alone, no division: what any thread may do at any time, and as often as one likes?  An
 * instruction. */
bool ptx_arithmetic(LLVMValueRef x);

/* Puts an instruction that stands nowhere where the builder stands.  It keeps its line, which LLVM's own function replaces by
 * that of where the builder stands; one that has none takes that. */
void ptx_insert(LLVMBuilderRef b, LLVMValueRef x);

/* ---- Instructions go elsewhere, and the builder with them: before another one, to the end of a block; or one and all that
 * follows it in its block to the end of another.  Each keeps its line; what has none takes the builder's. */
void ptx_move_before(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef before);
void ptx_move_to_end(LLVMBuilderRef b, LLVMValueRef x, LLVMBasicBlockRef bb);
void ptx_move_rest(LLVMBuilderRef b, LLVMValueRef x, LLVMBasicBlockRef to);

/* ---- Phis and their edges */
/* The first instruction, from `x` on, that is no phi; NULL: none. */
LLVMValueRef ptx_behind_phis(LLVMValueRef x);
void ptx_phi_add(LLVMValueRef phi, LLVMValueRef x, LLVMBasicBlockRef from); /* one more way in */
LLVMValueRef ptx_phi_value(LLVMValueRef phi, LLVMBasicBlockRef from);       /* what comes from there; NULL: that is no way in */
/* Each phi of a block anew, as LLVM-C can neither rename nor drop an edge: `edges` gives `now`, empty, those of `old`, which is
 * replaced and erased then.  Moves the builder. */
typedef void ptx_phi_edges(LLVMValueRef old, LLVMValueRef now, void *data);
void ptx_phis_rebuild(LLVMBuilderRef b, LLVMBasicBlockRef bb, ptx_phi_edges *edges, void *data);
/* What came to a block's phis from one block comes from another. */
void ptx_phis_rename(LLVMBuilderRef b, LLVMBasicBlockRef bb, LLVMBasicBlockRef from, LLVMBasicBlockRef to);

#endif
