/* Masked loads and stores of eight bytes are of sixteen, the upper eight off by an AND.  AVX-512 has none that is narrower than
 * sixteen bytes, and LLVM widens the mask by KMOVB, which clears its upper bits; but LLVM takes that instruction for a plain copy
 * (isMoveReg), and where the widened mask goes to the stack, the mask that it came of is stored there, whose upper bits are
 * other lanes': a store then writes what they write eight bytes too low.  For LLVM 19 and 20:
 * in 21 and 22 mask_moves.cpp mends it for every mask. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/host.h"
#include <llvm-c/DebugInfo.h>

enum { LANES = 8, WIDE = 16 };

struct byte_masks {
    LLVMModuleRef m;
    LLVMBuilderRef b;
};

/* The first n lanes, undefined ones behind the eight. */
static LLVMValueRef lanes_of(struct byte_masks *k, LLVMValueRef x, unsigned n)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetModuleContext(k->m));
    LLVMValueRef at[WIDE];
    for (unsigned i = 0; i < n; i++)
        at[i] = i < LANES ? LLVMConstInt(i32, i, 0) : LLVMGetPoison(i32);
    return LLVMBuildShuffleVector(k->b, x, LLVMGetPoison(LLVMTypeOf(x)), LLVMConstVector(at, n), "");
}

static LLVMValueRef wide_mask(struct byte_masks *k, LLVMValueRef mask)
{
    LLVMTypeRef i1 = LLVMInt1TypeInContext(LLVMGetModuleContext(k->m));
    LLVMValueRef on[WIDE];
    for (unsigned i = 0; i < WIDE; i++)
        on[i] = LLVMConstInt(i1, i < LANES, 0);
    return LLVMBuildAnd(k->b, lanes_of(k, mask, WIDE), LLVMConstVector(on, WIDE), "");
}

/* Operands are (pointer, mask, what lanes that are off hold) of a load, (value, pointer, mask) of a store. */
static void widen(struct byte_masks *k, LLVMValueRef x, bool store)
{
    LLVMPositionBuilderBefore(k->b, x);
    LLVMSetCurrentDebugLocation2(k->b, LLVMInstructionGetDebugLoc(x));
    LLVMValueRef value = lanes_of(k, ptx_llvm_masked_operand(x, store ? 0 : 2, store), WIDE),
                 address = ptx_llvm_masked_operand(x, store, store),
                 mask = wide_mask(k, ptx_llvm_masked_operand(x, store ? 2 : 1, store));
    LLVMValueRef load[3] = { address, mask, value }, stored[3] = { value, address, mask };
    LLVMTypeRef types[2] = { LLVMTypeOf(value), LLVMTypeOf(address) };
    unsigned id = ptx_intrinsic_llvm_id(store ? PTX_INTRINSIC_MASKED_STORE : PTX_INTRINSIC_MASKED_LOAD);
    LLVMValueRef wide = ptx_llvm_masked_build(k->b, k->m, id, types, store ? stored : load, ptx_llvm_masked_align(x, store));
    ptx_metadata_access_copy(x, wide);
    if (!store)
        LLVMReplaceAllUsesWith(x, lanes_of(k, wide, LANES));
    LLVMInstructionEraseFromParent(x);
}

static bool is_eight_bytes(LLVMTypeRef type)
{
    LLVMTypeRef of = LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : NULL;
    return of && LLVMGetVectorSize(type) == LANES && LLVMGetTypeKind(of) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(of) == 8;
}

static void take(struct byte_masks *k, LLVMValueRef x)
{
    enum ptx_intrinsic id = ptx_intrinsic_called(x);
    bool store = id == PTX_INTRINSIC_MASKED_STORE;
    if ((store || id == PTX_INTRINSIC_MASKED_LOAD) && is_eight_bytes(LLVMTypeOf(store ? ptx_llvm_masked_operand(x, 0, true) : x)))
        widen(k, x, store);
}

int ptx_run_byte_masks(struct ptx_pipeline *pipe)
{
    struct byte_masks k = { .m = *pipe->module, .b = LLVMCreateBuilderInContext(LLVMGetModuleContext(*pipe->module)) };
    for (LLVMValueRef fn = LLVMGetFirstFunction(k.m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (LLVMValueRef x = LLVMGetFirstInstruction(bb), next; x; x = next) {
                next = LLVMGetNextInstruction(x);
                take(&k, x);
            }
    LLVMDisposeBuilder(k.b);
    return AW_OK;
}
