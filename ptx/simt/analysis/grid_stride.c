/* Loops in steps of the grid: how far they go in a round, and whether the warps of a block should go through one side by side, a
 * round of each in turn, as what they read lies side by side.  Questions; prefetch.c and versions.c do something about it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"

enum { MAX_CARRIED = 4 }; /* vectors from round to round of a loop that warps go through side by side */

LLVMValueRef simt_loop_step(struct simt_fn *f, int loop, LLVMValueRef phi)
{
    const struct simt_loop *l = &f->loops[loop];
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        LLVMValueRef x = LLVMGetIncomingValue(phi, i);
        if (l->latch < 0 || LLVMGetIncomingBlock(phi, i) != f->blocks[l->latch].bb)
            continue;
        if (!LLVMIsAInstruction(x) || LLVMGetInstructionOpcode(x) != LLVMAdd)
            return NULL;
        bool first = LLVMGetOperand(x, 0) == phi;
        LLVMValueRef step = LLVMGetOperand(x, first);
        return (first || LLVMGetOperand(x, 1) == phi) && simt_uniform(f, step) ? step : NULL;
    }
    return NULL;
}

/* Is it what a copy of a loop asks, whether all lanes, or all warps, go on? */
static bool asks_all(LLVMValueRef c)
{
    return simt_private_has(simt_private_called(c), SIMT_PRIVATE_VOTE);
}

/* Does the loop go on while an index is below the same bound for all threads, with steps of a length that is known at launch: the
 * grid's, as a rule?  Then warps leave it in the same round, or one apart.  What a block reads in shorter steps is often in the
 * caches by then. */
bool simt_goes_by_blocks(struct simt_fn *f, int loop)
{
    const struct simt_loop *l = &f->loops[loop];
    LLVMValueRef term = l->latch < 0 ? NULL : LLVMGetBasicBlockTerminator(f->blocks[l->latch].bb);
    int64_t k;
    if (!term || !LLVMIsABranchInst(term) || !LLVMIsConditional(term))
        return false;
    LLVMValueRef c = LLVMGetCondition(term);
    while (asks_all(c) || simt_opposite(c))
        c = LLVMGetOperand(c, 0);
    if (!LLVMIsAICmpInst(c) || simt_uniform(f, LLVMGetOperand(c, 0)) == simt_uniform(f, LLVMGetOperand(c, 1)))
        return false;
    LLVMValueRef x = LLVMGetOperand(c, simt_uniform(f, LLVMGetOperand(c, 0)));
    if (!LLVMIsAInstruction(x) || simt_varying(f, x))
        return false;
    for (LLVMValueRef phi = LLVMGetFirstInstruction(f->blocks[l->header].bb); LLVMIsAPHINode(phi);
         phi = LLVMGetNextInstruction(phi)) {
        LLVMValueRef step = simt_varying(f, phi) ? NULL : simt_loop_step(f, loop, phi);
        if (step && simt_offsets(f, phi))
            return !simt_int_const(step, &k);
    }
    return false;
}

/* One block that reads rows of memory, a round of the grid after the other; does it also update memory by atomics? */
static bool reads_rounds(struct simt_fn *f, int loop, bool *ret_updates)
{
    int carried = 0, reads = 0;
    const struct simt_loop *l = &f->loops[loop];
    if (l->header != l->latch)
        return false;
    for (LLVMValueRef x = LLVMGetFirstInstruction(f->blocks[l->header].bb); x; x = LLVMGetNextInstruction(x)) {
        switch (LLVMGetInstructionOpcode(x)) {
        case LLVMPHI: carried += simt_varying(f, x); break;
        case LLVMLoad:
            reads += !simt_is_shared_ptr(LLVMTypeOf(LLVMGetOperand(x, 0))) && simt_offsets(f, LLVMGetOperand(x, 0));
            break;
        case LLVMCall:
            if (!LLVMGetIntrinsicID(LLVMGetCalledValue(x)) && !simt_is_lanewise(simt_call_id(f->u, x)))
                return false;
            break;
        case LLVMAtomicRMW: *ret_updates = true; break;
        case LLVMAtomicCmpXchg: case LLVMFence: return false;
        default: break;
        }
    }
    return reads && carried <= MAX_CARRIED && simt_goes_by_blocks(f, loop);
}

bool simt_streams(struct simt_fn *f, int loop)
{
    bool updates = false;
    return reads_rounds(f, loop, &updates) && !updates;
}

bool simt_counts(struct simt_fn *f, int loop)
{
    bool updates = false;
    return reads_rounds(f, loop, &updates) && updates;
}

/* A block is one row, so that what its warps read is, too. */
bool simt_abreast(struct simt *u, enum simt_form form)
{
    struct simt_fn f = { .u = u, .form = form, .src = u->kernel };
    if (u->options->block[1] * u->options->block[2] != 1 || !simt_warps_free(u, form))
        return false;
    bool yes = simt_cfg_build(&f) && f.n_loops && simt_shape_analyse(&f), found = false;
    for (int l = 0; yes && l < f.n_loops; l++)
        found |= f.loops[l].parent < 0 && simt_streams(&f, l);
    aw_ptrmap_fini(&f.vals);
    simt_cfg_fini(&f);
    return found;
}
