/* Carries that LLVM's AMDGPU backend would get wrong.
 *
 * LLVM 22 (SITargetLowering::performAddCarrySubCarryCombine) rewrites "add with carry of (x + y), 0" to "add with carry of x, y",
 * and likewise for subtraction, without asking whether the carry out is used: that is then the carry of three numbers where the
 * program asked for the one of two.  It happens where the second operand's upper word is known to be zero and the first one's
 * comes from an addition in the same block.  Found by an app on the simulated card; can go once an LLVM checks it.
 *
 * Where that could happen the carry is computed from the sum's bits instead: those that carry are set in both operands, or set in
 * one and cleared in the sum. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/amdgpu/amdgpu.h"

typedef LLVMValueRef V;

/* A value that the backend's pattern matching cannot look into. */
static bool is_opaque(V v, LLVMBasicBlockRef block)
{
    if (LLVMIsAExtractElementInst(v) || LLVMIsABitCastInst(v))
        v = LLVMGetOperand(v, 0);
    return !LLVMIsAInstruction(v) || LLVMGetInstructionParent(v) != block || LLVMIsALoadInst(v) || LLVMIsAPHINode(v);
}

static bool is_zext_of_bit(V v)
{
    return LLVMIsAZExtInst(v) && LLVMGetIntTypeWidth(LLVMTypeOf(LLVMGetOperand(v, 0))) == 1;
}

/* Could the upper word (of 64 bits), or all but the carry (of 32), be the constant zero? */
static bool may_vanish(V v, LLVMBasicBlockRef block)
{
    if (LLVMIsAConstantInt(v))
        return LLVMConstIntGetZExtValue(v) <= UINT32_MAX;
    if (LLVMGetIntTypeWidth(LLVMTypeOf(v)) <= 32)
        return is_zext_of_bit(v);
    return LLVMIsAZExtInst(v) || !is_opaque(v, block);
}

static bool endangered(V x, V y, LLVMBasicBlockRef block)
{
    return (may_vanish(y, block) && !is_opaque(x, block)) || (may_vanish(x, block) && !is_opaque(y, block));
}

static V carry_of(struct ptx_lower *b, bool subtract, V x, V y, V result)
{
    V ones = LLVMConstAllOnes(LLVMTypeOf(x));
    if (subtract)
        x = b_xor(b, x, ones);
    else
        result = b_xor(b, result, ones);
    V bits = b_or(b, b_and(b, x, y), b_and(b, b_or(b, x, y), result));
    return b_icmp(b, LLVMIntSLT, bits, LLVMConstNull(LLVMTypeOf(bits)));
}

/* {sum, carry} = llvm.uadd.with.overflow(x, y) */
static void overflow_mend(struct ptx_lower *b, V call, bool subtract)
{
    V x = LLVMGetOperand(call, 0), y = LLVMGetOperand(call, 1), carry = NULL;
    if (!endangered(x, y, LLVMGetInstructionParent(call)))
        return;
    LLVMPositionBuilderBefore(b->builder, call);
    V result = subtract ? b_sub(b, x, y) : b_add(b, x, y);
    for (LLVMUseRef use = LLVMGetFirstUse(call), next; use; use = next) {
        V part = LLVMGetUser(use);
        next = LLVMGetNextUse(use);
        if (!LLVMIsAExtractValueInst(part))
            return; /* LLVM makes no others */
        if (*LLVMGetIndices(part) == 1 && !carry)
            carry = carry_of(b, subtract, x, y, result);
        LLVMReplaceAllUsesWith(part, *LLVMGetIndices(part) == 1 ? carry : result);
        LLVMInstructionEraseFromParent(part);
    }
    LLVMInstructionEraseFromParent(call);
}

/* Comparisons of which the backend would make the calls above: x + y < x, x < y beside x - y. */
static V comparison_mend(struct ptx_lower *b, V compare)
{
    LLVMIntPredicate predicate = LLVMGetICmpPredicate(compare);
    V small = LLVMGetOperand(compare, 0), large = LLVMGetOperand(compare, 1);
    LLVMBasicBlockRef block = LLVMGetInstructionParent(compare);
    if (predicate == LLVMIntUGT) {
        V other = small;
        small = large;
        large = other;
    } else if (predicate != LLVMIntULT) {
        return NULL;
    }
    if (LLVMGetTypeKind(LLVMTypeOf(small)) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(LLVMTypeOf(small)) > 64)
        return NULL;
    LLVMPositionBuilderBefore(b->builder, compare);
    if (LLVMIsAInstruction(small) && LLVMGetInstructionOpcode(small) == LLVMAdd) {
        V x = LLVMGetOperand(small, 0), y = LLVMGetOperand(small, 1);
        if ((large == x || large == y) && endangered(x, y, block))
            return carry_of(b, false, x, y, small);
    }
    for (LLVMUseRef use = LLVMIsAConstant(small) ? NULL : LLVMGetFirstUse(small); use; use = LLVMGetNextUse(use)) {
        V sub = LLVMGetUser(use);
        if (LLVMIsAInstruction(sub) && LLVMGetInstructionOpcode(sub) == LLVMSub && LLVMGetOperand(sub, 0) == small &&
            LLVMGetOperand(sub, 1) == large && endangered(small, large, block))
            return carry_of(b, true, small, large, b_sub(b, small, large));
    }
    return NULL;
}

static void instruction_mend(struct ptx_lower *b, V i)
{
    enum ptx_intrinsic id = ptx_intrinsic_called(i);
    bool overflows = id == PTX_INTRINSIC_UADD_OVERFLOW || id == PTX_INTRINSIC_USUB_OVERFLOW;
    if (overflows && LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(i, 0))) == LLVMIntegerTypeKind) {
        overflow_mend(b, i, id == PTX_INTRINSIC_USUB_OVERFLOW);
    } else if (LLVMIsAICmpInst(i)) {
        V carry = comparison_mend(b, i);
        if (carry) {
            LLVMReplaceAllUsesWith(i, carry);
            LLVMInstructionEraseFromParent(i);
        }
    }
}

void ptx_amdgpu_carries(struct amdgpu *a)
{
    for (V fn = LLVMGetFirstFunction(a->b.module); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (V i = LLVMGetFirstInstruction(bb), next; i; i = next) {
                next = LLVMGetNextInstruction(i);
                /* What is replaced may be what comes next. */
                while (next && LLVMIsAExtractValueInst(next) && LLVMGetOperand(next, 0) == i)
                    next = LLVMGetNextInstruction(next);
                instruction_mend(&a->b, i);
            }
}
