/* What LLVM 21 and 22 get wrong where three ways and more join.
 *
 * StructurizeCFG moves an instruction that costs nothing, a conversion as a rule, out of a block that goes to a join, to where
 * the block's way and another one part, and puts it in place of poison in the phis between.  At a join of more than two ways
 * these phis are on the way of others, too, which then get that value, or none (llvm-project's pull request 183792; 22.1.8 has
 * it).  So such instructions leave their block before: to right behind what they are made of, where that pass does not look
 * for any. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/joins.h"

#include <stdbool.h>
#include <stddef.h>

#include "lower/copy.h"

typedef LLVMValueRef V;
typedef LLVMBasicBlockRef BB;

/* May it cost nothing, and be done anywhere? */
static bool is_free(V x)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMExtractElement: case LLVMExtractValue: case LLVMShuffleVector: case LLVMInsertElement: case LLVMInsertValue:
    case LLVMGetElementPtr: case LLVMFNeg: case LLVMFreeze: return true;
    default: return LLVMIsACastInst(x) != NULL;
    }
}

/* The instruction that it is made of, if that is one and in another block. */
static V made_of(V x)
{
    V from = NULL;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++) {
        V operand = LLVMGetOperand(x, i);
        if (!LLVMIsAInstruction(operand) || operand == from)
            continue;
        if (from)
            return NULL;
        from = operand;
    }
    return from && LLVMGetInstructionParent(from) != LLVMGetInstructionParent(x) ? from : NULL;
}

/* Where what is made of it may stand; allocas stay together. */
static V behind(V x)
{
    V next = ptx_behind_phis(LLVMGetNextInstruction(x));
    while (next && LLVMIsAAllocaInst(next))
        next = LLVMGetNextInstruction(next);
    return next;
}

static void settle(LLVMBuilderRef b, V phi)
{
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        V x = LLVMGetIncomingValue(phi, i);
        if (!LLVMIsAInstruction(x) || LLVMGetInstructionParent(x) != LLVMGetIncomingBlock(phi, i) || !is_free(x))
            continue;
        V from = made_of(x), before = from ? behind(from) : NULL;
        if (before)
            ptx_move_before(b, x, before);
    }
}

void ptx_joins_settle(LLVMModuleRef module)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (V fn = LLVMGetFirstFunction(module); fn; fn = LLVMGetNextFunction(fn))
        for (BB bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (V x = LLVMGetFirstInstruction(bb); x && LLVMIsAPHINode(x); x = LLVMGetNextInstruction(x))
                if (LLVMCountIncoming(x) > 2)
                    settle(b, x);
    LLVMDisposeBuilder(b);
}
