/* What LLVM 21 and 22 get wrong where ways join.
 *
 * StructurizeCFG moves an instruction that costs nothing, a conversion as a rule, out of a block that goes to a join, to where
 * the block's way and another one part, and puts it in place of poison in the phis between.  But where the other way does not
 * go to the join alone, or more than these two do, the phis are on the way of others, too, which then get that value, or none
 * (llvm-project's pull request 183792; 22.1.8 has it).  So such instructions leave their block before: to right behind what they
 * are made of, where that pass does not look for any.  What is made of several, or of none, is frozen in its block instead: an
 * instruction that is made of another one of its block stays there.
 *
 * AMD's backend moves such instructions back into those blocks, and makes others, before that pass; so it is done again right
 * before (amdgpu_backend.cpp). */
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

/* The only block that goes here; NULL where there are several. */
static BB only_predecessor(BB bb)
{
    BB from = NULL;
    for (LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(bb)); use; use = LLVMGetNextUse(use)) {
        V user = LLVMGetUser(use); /* no phi: those have blocks otherwise */
        BB other = LLVMIsAInstruction(user) ? LLVMGetInstructionParent(user) : NULL;
        if (!other || (from && from != other))
            return NULL;
        from = other;
    }
    return from;
}

/* Do two ways part in one block and meet here again, with nothing but a block each between?  That is done right. */
static bool is_diamond(V phi)
{
    if (LLVMCountIncoming(phi) != 2)
        return false;
    BB one = LLVMGetIncomingBlock(phi, 0), other = LLVMGetIncomingBlock(phi, 1), from = only_predecessor(one);
    return from && from == only_predecessor(other) && LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(one)) == 1 &&
           LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(other)) == 1;
}

/* Is it made of something in its own block? */
static bool is_held(V x)
{
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++) {
        V operand = LLVMGetOperand(x, i);
        if (LLVMIsAInstruction(operand) && LLVMGetInstructionParent(operand) == LLVMGetInstructionParent(x))
            return true;
    }
    return false;
}

/* Each use of it by a phi of that way, as they are to stay equal. */
static void freeze(LLVMBuilderRef b, V x, V phi)
{
    BB bb = LLVMGetInstructionParent(x);
    LLVMPositionBuilderBefore(b, LLVMGetBasicBlockTerminator(bb));
    V frozen = LLVMBuildFreeze(b, x, "");
    for (; phi && LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi))
        for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
            if (LLVMGetIncomingBlock(phi, i) == bb && LLVMGetIncomingValue(phi, i) == x)
                LLVMSetOperand(phi, i, frozen);
}

static bool settle(LLVMBuilderRef b, V phi)
{
    bool changed = false;
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        V x = LLVMGetIncomingValue(phi, i);
        BB bb = LLVMGetIncomingBlock(phi, i);
        if (!LLVMIsAInstruction(x) || LLVMGetInstructionParent(x) != bb || !is_free(x) || is_held(x) ||
            LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(bb)) != 1)
            continue;
        V from = made_of(x), before = from ? behind(from) : NULL;
        if (before)
            ptx_move_before(b, x, before);
        else
            freeze(b, x, phi);
        changed = true;
    }
    return changed;
}

bool ptx_joins_settle_in(LLVMValueRef fn)
{
    bool changed = false;
    if (LLVMIsDeclaration(fn))
        return false;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(LLVMGetGlobalParent(fn)));
    for (BB bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (V x = LLVMGetFirstInstruction(bb); x && LLVMIsAPHINode(x) && !is_diamond(x); x = LLVMGetNextInstruction(x))
            changed |= settle(b, x);
    LLVMDisposeBuilder(b);
    return changed;
}

void ptx_joins_settle(LLVMModuleRef module)
{
    for (V fn = LLVMGetFirstFunction(module); fn; fn = LLVMGetNextFunction(fn))
        ptx_joins_settle_in(fn);
}
