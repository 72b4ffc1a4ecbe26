/* What a barrier or fence orders, kept in that order by LLVM's AMDGPU backend.
 *
 * To the backend a fence and a barrier are instructions with side effects that touch no memory.  Two of its passes take that at its word:
 *
 * - MachineSink (llvm/lib/CodeGen) moves a load from the end of a block into the successor that uses it, and what it looks at on the way are
 *   stores, calls and ordered accesses (MachineInstr::isSafeToMove).  So a load goes past the fences and the barrier behind it in its own
 *   block, and reads what another wave has written since.  LLVM 17 to 22 at least (seen in 22.1; llvm-project issue 181708).
 * - AMDGPUAnnotateUniformValues lets a load at the same address for all lanes go through the scalar cache when nothing in the kernel can have
 *   written there before, and takes fences, barriers and atomics at other places for nothing (AMDGPU::isReallyAClobber).  That cache is
 *   invalidated by no fence; what another wave has written and published may not be in it.
 *
 * An empty piece of assembly that may read and write all of memory is what both of them respect, in IR and in machine code, and is no
 * instruction.  It goes before each run of fences and barriers, and after each atomic that acquires, once everything else is done: to LLVM's
 * optimiser fences are as strong.  tests/order/order.py proves the order in the code that comes out. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "target/amdgpu.h"

typedef LLVMValueRef V;

static bool is_barrier(V i)
{
    V callee = LLVMIsACallInst(i) ? LLVMGetCalledValue(i) : NULL;
    size_t len;
    const char *name = callee && LLVMIsAFunction(callee) ? LLVMGetValueName2(callee, &len) : "";
    return !strncmp(name, "llvm.amdgcn.s.barrier", 21) || !strcmp(name, "llvm.amdgcn.wave.barrier");
}

static bool is_order(V i)
{
    return i && (LLVMIsAFenceInst(i) || is_barrier(i));
}

static bool acquires(LLVMAtomicOrdering order)
{
    return order == LLVMAtomicOrderingAcquire || order == LLVMAtomicOrderingAcquireRelease ||
           order == LLVMAtomicOrderingSequentiallyConsistent;
}

static bool is_acquiring_atomic(V i)
{
    if (LLVMIsAAtomicCmpXchgInst(i))
        return acquires(LLVMGetCmpXchgSuccessOrdering(i)) || acquires(LLVMGetCmpXchgFailureOrdering(i));
    return (LLVMIsAAtomicRMWInst(i) || LLVMIsALoadInst(i)) && acquires(LLVMGetOrdering(i));
}

static void clobber(struct amdgpu *a, V before)
{
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(a->b.context), NULL, 0, 0);
    V nothing = LLVMGetInlineAsm(type, "", 0, "~{memory}", 9, 1, 0, LLVMInlineAsmDialectATT, 0);
    LLVMPositionBuilderBefore(a->b.builder, before);
    V call = LLVMBuildCall2(a->b.builder, type, nothing, NULL, 0, "");
    ptx_amdgpu_call_attribute(a, call, "nounwind", 0);
}

void ptx_amdgpu_orders(struct amdgpu *a)
{
    for (V fn = LLVMGetFirstFunction(a->b.module); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (V i = LLVMGetFirstInstruction(bb), next; i; i = next) {
                next = LLVMGetNextInstruction(i);
                if (is_order(i) && !is_order(LLVMGetPreviousInstruction(i)))
                    clobber(a, i);
                else if (is_acquiring_atomic(i) && !is_order(next))
                    clobber(a, next);
            }
}
