/* Gathers and scatters of which few lanes run, always the same ones, as behind `if (threadIdx.x == 0)` in blocks of short rows:
 * an access for each of those, by an address of its own.  The machine's instruction takes as long for one lane as for all. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/host.h"
#include <llvm-c/DebugInfo.h>

typedef LLVMValueRef V;

enum { FEW = 4, DEPTH = 6 /* operations from an address to what one lane of it is made of */ };

struct few {
    V call;
    bool stores;
    unsigned lane[FEW], n;
};

/* The mask's lanes; false: it is no constant, or they are more. */
static bool lanes_find(V mask, struct few *ret)
{
    ret->n = 0;
    if (!LLVMIsAConstantVector(mask) && !LLVMIsAConstantDataVector(mask))
        return false;
    for (unsigned i = 0; i < LLVMGetVectorSize(LLVMTypeOf(mask)); i++) {
        V on = LLVMGetAggregateElement(mask, i);
        if (!LLVMIsAConstantInt(on) || (LLVMConstIntGetZExtValue(on) && ret->n == FEW))
            return false;
        if (LLVMConstIntGetZExtValue(on))
            ret->lane[ret->n++] = i;
    }
    return ret->n && ret->n * 2 < LLVMGetVectorSize(LLVMTypeOf(mask));
}

static bool find(V x, struct few *ret)
{
    enum ptx_intrinsic id = ptx_intrinsic_called(x);
    if (id != PTX_INTRINSIC_MASKED_GATHER && id != PTX_INTRINSIC_MASKED_SCATTER)
        return false;
    ret->call = x;
    ret->stores = id == PTX_INTRINSIC_MASKED_SCATTER;
    return lanes_find(ptx_llvm_masked_operand(x, ret->stores ? 2 : 1, ret->stores), ret);
}

/* One lane of a vector, computed as that alone where its operations can be; a scalar is the same in all. */
static V lane_of(LLVMBuilderRef b, V v, unsigned lane, int depth)
{
    LLVMTypeRef type = LLVMTypeOf(v);
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind)
        return v;
    V same = ptx_host_splatted(v), x, y;
    if (same)
        return same;
    LLVMOpcode op = LLVMIsAInstruction(v) ? LLVMGetInstructionOpcode(v) : LLVMRet;
    switch (depth ? op : LLVMRet) {
    case LLVMGetElementPtr:
        if (LLVMGetNumOperands(v) != 2)
            break;
        x = lane_of(b, LLVMGetOperand(v, 0), lane, depth - 1);
        y = lane_of(b, LLVMGetOperand(v, 1), lane, depth - 1);
        return LLVMBuildGEP2(b, LLVMGetGEPSourceElementType(v), x, &y, 1, "");
    case LLVMAdd: case LLVMSub: case LLVMMul: case LLVMShl: case LLVMOr: case LLVMAnd: case LLVMXor:
        x = lane_of(b, LLVMGetOperand(v, 0), lane, depth - 1);
        y = lane_of(b, LLVMGetOperand(v, 1), lane, depth - 1);
        return LLVMBuildBinOp(b, op, x, y, "");
    case LLVMSExt: case LLVMZExt: case LLVMTrunc: case LLVMIntToPtr:
        x = lane_of(b, LLVMGetOperand(v, 0), lane, depth - 1);
        return LLVMBuildCast(b, op, x, LLVMGetElementType(type), "");
    default:
        break;
    }
    return LLVMBuildExtractElement(b, v, LLVMConstInt(LLVMInt32TypeInContext(LLVMGetBuilderContext(b)), lane, 0), "");
}

static void like(V access, const struct few *few)
{
    LLVMSetAlignment(access, ptx_llvm_masked_align(few->call, few->stores));
    ptx_metadata_access_copy(few->call, access);
}

static V load_each(LLVMBuilderRef b, const struct few *few)
{
    V ptrs = ptx_llvm_masked_operand(few->call, 0, false), r = ptx_llvm_masked_operand(few->call, 2, false);
    LLVMTypeRef elem = LLVMGetElementType(LLVMTypeOf(few->call)), i32 = LLVMInt32TypeInContext(LLVMGetBuilderContext(b));
    for (unsigned i = 0; i < few->n; i++) {
        V x = LLVMBuildLoad2(b, elem, lane_of(b, ptrs, few->lane[i], DEPTH), "");
        like(x, few);
        r = LLVMBuildInsertElement(b, r, x, LLVMConstInt(i32, few->lane[i], 0), "");
    }
    return r;
}

/* Lanes in their order: of two that write one place, the later one's stays. */
static void store_each(LLVMBuilderRef b, const struct few *few)
{
    V values = ptx_llvm_masked_operand(few->call, 0, true), ptrs = ptx_llvm_masked_operand(few->call, 1, true);
    for (unsigned i = 0; i < few->n; i++) {
        V x = lane_of(b, values, few->lane[i], DEPTH);
        like(LLVMBuildStore(b, x, lane_of(b, ptrs, few->lane[i], DEPTH)), few);
    }
}

static void replace(LLVMBuilderRef b, const struct few *few)
{
    LLVMPositionBuilderBefore(b, few->call);
    LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(few->call));
    if (few->stores)
        store_each(b, few);
    else
        LLVMReplaceAllUsesWith(few->call, load_each(b, few));
    LLVMInstructionEraseFromParent(few->call);
}

int ptx_run_few_lanes(struct ptx_pipeline *pipe)
{
    LLVMModuleRef m = *pipe->module;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    for (V fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (V x = LLVMGetFirstInstruction(bb), next; x; x = next) {
                struct few few;
                next = LLVMGetNextInstruction(x);
                if (find(x, &few))
                    replace(b, &few);
            }
    LLVMDisposeBuilder(b);
    return AW_OK;
}
