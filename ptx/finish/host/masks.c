/* Masked loads and stores of several registers, register by register, where their mask is made beside them: masks of one register
 * come from comparisons of one and are what such an access takes.  LLVM would put the comparisons' results together, for all
 * lanes, and take them apart again.  After optimisation, which would do so, too. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/host.h"
#include <llvm-c/DebugInfo.h>
#include <string.h>

enum { MOST_LANES = 32, DEPTH = 4 /* a comparison, its opposite, and a mask or two around */ };

struct masks {
    LLVMModuleRef m;
    LLVMBuilderRef b;
    LLVMTypeRef i8, i64;
    uint64_t bytes;       /* of a register */
    LLVMBasicBlockRef at; /* where the access at hand is */
};

static bool is_mask(LLVMValueRef x)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind && LLVMGetTypeKind(LLVMGetElementType(t)) == LLVMIntegerTypeKind &&
           LLVMGetIntTypeWidth(LLVMGetElementType(t)) == 1;
}

/* Is it a mask that can be made register by register from its operands? */
static bool comes_apart(const struct masks *k, LLVMValueRef x)
{
    if (!LLVMIsAInstruction(x) || LLVMGetInstructionParent(x) != k->at || !is_mask(x))
        return false;
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMICmp: case LLVMFCmp: case LLVMAnd: case LLVMOr: case LLVMXor: return true;
    case LLVMSelect: return is_mask(LLVMGetOperand(x, 0));
    default: return false;
    }
}

static LLVMValueRef slice(struct masks *k, LLVMValueRef x, unsigned first, unsigned n, int depth)
{
    LLVMValueRef part[3] = { NULL };
    if (!depth || !comes_apart(k, x))
        return ptx_host_piece(k->b, x, first, n);
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++)
        part[i] = slice(k, LLVMGetOperand(x, i), first, n, depth - 1);
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMICmp: return LLVMBuildICmp(k->b, LLVMGetICmpPredicate(x), part[0], part[1], "");
    case LLVMFCmp: return LLVMBuildFCmp(k->b, LLVMGetFCmpPredicate(x), part[0], part[1], "");
    case LLVMSelect: return LLVMBuildSelect(k->b, part[0], part[1], part[2], "");
    default: return LLVMBuildBinOp(k->b, LLVMGetInstructionOpcode(x), part[0], part[1], "");
    }
}

/* Operands are (pointer, mask, what lanes that are off hold) of a load, (value, pointer, mask) of a store. */
static void split(struct masks *k, LLVMValueRef x, bool store, LLVMTypeRef type, unsigned n)
{
    unsigned lanes = LLVMGetVectorSize(type), address = store, width = lanes / n, align = ptx_llvm_masked_align(x, store);
    LLVMValueRef part[MOST_LANES], vector = ptx_llvm_masked_operand(x, store ? 0 : 2, store),
                                   mask = ptx_llvm_masked_operand(x, store ? 2 : 1, store);
    LLVMTypeRef types[2] = { LLVMVectorType(LLVMGetElementType(type), width), LLVMTypeOf(LLVMGetOperand(x, address)) };
    unsigned id = ptx_intrinsic_llvm_id(store ? PTX_INTRINSIC_MASKED_STORE : PTX_INTRINSIC_MASKED_LOAD);
    align = align < k->bytes ? align : (unsigned)k->bytes;
    LLVMPositionBuilderBefore(k->b, x);
    LLVMSetCurrentDebugLocation2(k->b, LLVMInstructionGetDebugLoc(x));
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef by = LLVMConstInt(k->i64, i * k->bytes, 0), v = ptx_host_piece(k->b, vector, i * width, width);
        LLVMValueRef p = LLVMBuildGEP2(k->b, k->i8, LLVMGetOperand(x, address), &by, 1, ""),
                     m = slice(k, mask, i * width, width, DEPTH);
        LLVMValueRef load[3] = { p, m, v }, stored[3] = { v, p, m };
        part[i] = ptx_llvm_masked_build(k->b, k->m, id, types, store ? stored : load, align);
        ptx_metadata_access_copy(x, part[i]);
    }
    if (!store)
        LLVMReplaceAllUsesWith(x, ptx_host_join(k->b, part, n));
    LLVMInstructionEraseFromParent(x);
}

static void take(struct masks *k, LLVMValueRef x)
{
    enum ptx_intrinsic id = ptx_intrinsic_called(x);
    bool store = id == PTX_INTRINSIC_MASKED_STORE;
    if (!store && id != PTX_INTRINSIC_MASKED_LOAD)
        return;
    LLVMTypeRef type = store ? LLVMTypeOf(LLVMGetOperand(x, 0)) : LLVMTypeOf(x);
    unsigned lanes = LLVMGetVectorSize(type);
    uint64_t size = LLVMABISizeOfType(LLVMGetModuleDataLayout(k->m), LLVMGetElementType(type));
    k->at = LLVMGetInstructionParent(x);
    if ((size == 4 || size == 8) && lanes <= MOST_LANES && lanes * size > k->bytes &&
        comes_apart(k, ptx_llvm_masked_operand(x, store ? 2 : 1, store)))
        split(k, x, store, type, (unsigned)(lanes * size / k->bytes));
}

static void in_module(LLVMModuleRef m, uint64_t register_bytes)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    struct masks k = { .m = m, .b = LLVMCreateBuilderInContext(c), .i8 = LLVMInt8TypeInContext(c),
                       .i64 = LLVMInt64TypeInContext(c),
                       .bytes = register_bytes };
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (LLVMValueRef x = LLVMGetFirstInstruction(bb), next; x; x = next) {
                next = LLVMGetNextInstruction(x);
                take(&k, x);
            }
    LLVMDisposeBuilder(k.b);
}

int ptx_run_masks(struct ptx_pipeline *pipe)
{
    in_module(*pipe->module, pipe->on & PTX_PASS_AVX512 ? 64 : 32);
    return AW_OK;
}
