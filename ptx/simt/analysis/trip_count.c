/* Loops that run equally often in all lanes: nvcc unrolls `for (i = lane; i < n; i += 32)` by four and puts a loop for the
 * remainder first, whose count is computed from `lane` but equal where rows are multiples of 32.  Taken for divergent it would
 * leave the lanes at different places, and each later access a gather.  versions.c makes the copy in which the count is one
 * scalar.
 *
 * Here: recognising such a loop, and lane 0's value.  Counts are compared when the code runs; nothing is assumed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include <stdio.h>

/* A phi of the loop's header plus a constant, or itself; NULL: something else. */
static LLVMValueRef counter_of(struct simt_fn *f, int loop, LLVMValueRef x)
{
    int64_t c;
    if (!LLVMIsAInstruction(x))
        return NULL;
    LLVMOpcode op = LLVMGetInstructionOpcode(x);
    if ((op == LLVMAdd || op == LLVMSub) && simt_int_const(LLVMGetOperand(x, 1), &c))
        x = LLVMGetOperand(x, 0);
    return LLVMIsAPHINode(x) && simt_block_of(f, LLVMGetInstructionParent(x)) == f->loops[loop].header ? x : NULL;
}

/* Does the value come back as itself plus a constant? */
static bool counts(struct simt_fn *f, int loop, LLVMValueRef phi, LLVMValueRef *ret_begin)
{
    LLVMBasicBlockRef latch = f->blocks[f->loops[loop].latch].bb;
    LLVMValueRef begin = NULL;
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        LLVMValueRef x = LLVMGetIncomingValue(phi, i);
        if (LLVMGetIncomingBlock(phi, i) != latch)
            begin = x;
        else if (x == phi || counter_of(f, loop, x) != phi)
            return false;
    }
    *ret_begin = begin;
    return begin != NULL;
}

LLVMValueRef simt_trip_count(struct simt_fn *f, int loop)
{
    const struct simt_loop *l = &f->loops[loop];
    LLVMValueRef begin, term = l->latch >= 0 ? LLVMGetBasicBlockTerminator(f->blocks[l->latch].bb) : NULL;
    int64_t c;
    if (!term || !LLVMIsABranchInst(term) || !LLVMIsConditional(term))
        return NULL;
    LLVMValueRef cond = LLVMGetCondition(term);
    for (LLVMValueRef of; (of = simt_opposite(cond)) != NULL;)
        cond = of;
    if (!LLVMIsAICmpInst(cond) || (LLVMGetICmpPredicate(cond) != LLVMIntEQ && LLVMGetICmpPredicate(cond) != LLVMIntNE) ||
        LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(cond, 0))) != LLVMIntegerTypeKind ||
        !simt_int_const(LLVMGetOperand(cond, 1), &c))
        return NULL;
    LLVMValueRef phi = counter_of(f, loop, LLVMGetOperand(cond, 0));
    if (!phi || !counts(f, loop, phi, &begin) || !LLVMIsAInstruction(begin) || simt_uniform(f, begin))
        return NULL;
    const struct simt_val *val = simt_get(f, begin);
    return val && val->kind == SIMT_VARYING ? begin : NULL; /* known distances are not equal */
}

