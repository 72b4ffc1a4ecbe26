/* Signs of vectors of words, cleared, set or turned by and, or and xor: they are taken apart, a word at a time.
 *
 * LLVM 22's instruction selection crashes (22.1.8, in MachineRegisterInfo::constrainRegClass) where a selection has an element of
 * such a pair as an operand.  It takes the operation for a sign modifier of the selecting instruction (SelectVOP3ModsImpl in
 * AMDGPUISelDAGToDAG.cpp), and to get at what stands below makes an extraction, which is never selected itself.  So with most
 * pairs on gfx90a, gfx942 and gfx950, for which LLVM's SLP vectoriser makes them (of PyTorch's atan2), and with some on all other
 * cards.  Calls of llvm.fabs and fneg do not crash.  Can go once an LLVM selects tests/ptx/lower/signs.ptx.
 *
 * No instruction works on two words of every lane: nothing is lost but where all lanes have the same ones. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/amdgpu/amdgpu.h"

typedef LLVMValueRef V;

static bool is_sign_mask(V v)
{
    return LLVMIsAConstantInt(v) && (LLVMConstIntGetZExtValue(v) == INT32_MAX || LLVMConstIntGetZExtValue(v) == 1u << 31);
}

/* Has the constant vector of words one? */
static bool has_sign_mask(V constant)
{
    for (unsigned i = 0; i < LLVMGetVectorSize(LLVMTypeOf(constant)); i++) {
        V element = LLVMGetAggregateElement(constant, i);
        if (element && is_sign_mask(element))
            return true;
    }
    return false;
}

static bool is_of_signs(struct amdgpu *a, V v)
{
    LLVMTypeRef type = LLVMTypeOf(v);
    if (!LLVMIsABinaryOperator(v) || LLVMGetTypeKind(type) != LLVMVectorTypeKind || LLVMGetElementType(type) != a->b.i32)
        return false;
    LLVMOpcode op = LLVMGetInstructionOpcode(v);
    V mask = LLVMGetOperand(v, 1); /* where LLVM puts constants */
    return (op == LLVMAnd || op == LLVMOr || op == LLVMXor) && LLVMIsAConstant(mask) && has_sign_mask(mask);
}

static V by_words(struct amdgpu *a, V v)
{
    LLVMBuilderRef builder = a->b.builder;
    V x = LLVMGetOperand(v, 0), mask = LLVMGetOperand(v, 1), r = LLVMGetPoison(LLVMTypeOf(v));
    LLVMPositionBuilderBefore(builder, v);
    for (unsigned i = 0; i < LLVMGetVectorSize(LLVMTypeOf(v)); i++) {
        V at = b_i32(&a->b, i), word = LLVMBuildExtractElement(builder, x, at, "");
        word = LLVMBuildBinOp(builder, LLVMGetInstructionOpcode(v), word, LLVMBuildExtractElement(builder, mask, at, ""), "");
        r = LLVMBuildInsertElement(builder, r, word, at, "");
    }
    return r;
}

void ptx_amdgpu_signs(struct amdgpu *a)
{
    for (V fn = LLVMGetFirstFunction(a->b.module); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (V i = LLVMGetFirstInstruction(bb), next; i; i = next) {
                next = LLVMGetNextInstruction(i);
                if (!is_of_signs(a, i))
                    continue;
                LLVMReplaceAllUsesWith(i, by_words(a, i));
                LLVMInstructionEraseFromParent(i);
            }
}
