/* Last touches on optimised IR before LLVM's AMDGPU backend: what LLVM's passes undo or do not know. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/amdgpu/amdgpu.h"
#include "lower/copy.h"

typedef LLVMValueRef V;

/* ---- Kernel arguments.  Optimisation moves each load to where it is used; together at the kernel's head they are one or two
 * scalar loads of several words. */

static bool is_plain_load(V v, V pointer)
{
    return LLVMIsALoadInst(v) && LLVMGetOperand(v, 0) == pointer && !LLVMGetVolatile(v) &&
           LLVMGetOrdering(v) == LLVMAtomicOrderingNotAtomic;
}

/* Reads of `pointer`, kernarg + offset, that lie within the arguments. */
static void loads_hoist(struct amdgpu *a, V pointer, uint64_t offset, V before)
{
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(a->b.module);
    for (LLVMUseRef use = LLVMGetFirstUse(pointer); use; use = LLVMGetNextUse(use)) {
        V load = LLVMGetUser(use);
        if (!is_plain_load(load, pointer) || offset + LLVMABISizeOfType(layout, LLVMTypeOf(load)) > a->finish->kernarg_size)
            continue;
        ptx_move_before(a->b.builder, load, before);
    }
}

/* kernarg + a constant, as LLVM writes it when all is folded. */
static bool offset_of(V gep, V kernarg, uint64_t *ret)
{
    if (!LLVMIsAGetElementPtrInst(gep) || LLVMGetOperand(gep, 0) != kernarg || LLVMGetNumOperands(gep) != 2 ||
        !LLVMIsAConstantInt(LLVMGetOperand(gep, 1)))
        return false;
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(type) != 8)
        return false;
    *ret = LLVMConstIntGetZExtValue(LLVMGetOperand(gep, 1));
    return *ret < UINT32_MAX;
}

void ptx_amdgpu_arguments(struct amdgpu *a)
{
    V kernarg = LLVMGetParam(a->kernel, 0), before = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(a->kernel));
    while (LLVMIsAAllocaInst(before))
        before = LLVMGetNextInstruction(before);
    LLVMPositionBuilderBefore(a->b.builder, before); /* a place of our own: what stands there may be moved itself */
    V mark = LLVMBuildFreeze(a->b.builder, b_i32(&a->b, 0), "");
    loads_hoist(a, kernarg, 0, mark);
    for (LLVMUseRef use = LLVMGetFirstUse(kernarg), next; use; use = next) {
        V gep = LLVMGetUser(use);
        uint64_t offset;
        next = LLVMGetNextUse(use);
        if (!offset_of(gep, kernarg, &offset))
            continue;
        ptx_move_before(a->b.builder, gep, mark);
        loads_hoist(a, gep, offset, mark);
    }
    LLVMReplaceAllUsesWith(mark, b_i32(&a->b, 0));
    if (LLVMIsAInstruction(mark))
        LLVMInstructionEraseFromParent(mark);
}

/* ---- Exact division by something only known at run time: n = q * d.  With d = o * 2^k, o odd, q = (n >> k) * (1 / o) modulo
 * 2^32; three steps of Newton's method make the 5 good bits of 3o ^ 2 into 40. */
static V exact_quotient(struct amdgpu *a, V n, V d)
{
    struct ptx_lower *b = &a->b;
    V k = b_intrinsic(b, "llvm.cttz", &b->i32, 1, (V[]){ d, b_bool(b, true) }, 2);
    V odd = b_lshr(b, d, k), x = b_xor(b, b_mul(b, odd, b_i32(b, 3)), b_i32(b, 2));
    for (int i = 0; i < 3; i++)
        x = b_mul(b, x, b_sub(b, b_i32(b, 2), b_mul(b, odd, x)));
    return b_mul(b, b_lshr(b, n, k), x);
}

void ptx_amdgpu_divisions(struct amdgpu *a)
{
    for (V fn = LLVMGetFirstFunction(a->b.module); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (V i = LLVMGetFirstInstruction(bb), next; i; i = next) {
                next = LLVMGetNextInstruction(i);
                if (!LLVMIsAInstruction(i) || LLVMGetInstructionOpcode(i) != LLVMUDiv || !LLVMGetExact(i) ||
                    LLVMTypeOf(i) != a->b.i32 || LLVMIsAConstant(LLVMGetOperand(i, 1)))
                    continue;
                LLVMPositionBuilderBefore(a->b.builder, i);
                LLVMReplaceAllUsesWith(i, exact_quotient(a, LLVMGetOperand(i, 0), LLVMGetOperand(i, 1)));
                LLVMInstructionEraseFromParent(i);
            }
}

static bool is_float(LLVMTypeRef type)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    return kind == LLVMHalfTypeKind || kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind;
}

/* ---- Conversions to integers.  The machine's saturate and make a NaN zero, which is what PTX asks; LLVM takes their result for
 * undefined out of range, and surrounds llvm.fptosi.sat with comparisons.  Only here, where nothing looks at that any more, it
 * becomes the plain conversion; but not of what was an integer before, of which LLVM's code generator takes that integer. */
static V conversion(struct amdgpu *a, V call)
{
    struct ptx_lower *b = &a->b;
    enum ptx_intrinsic id = ptx_intrinsic_called(call);
    bool is_signed = id == PTX_INTRINSIC_FPTOSI_SAT;
    if ((!is_signed && id != PTX_INTRINSIC_FPTOUI_SAT) || LLVMTypeOf(call) != b->i32 ||
        !is_float(LLVMTypeOf(LLVMGetOperand(call, 0))) || LLVMIsASIToFPInst(LLVMGetOperand(call, 0)) ||
        LLVMIsAUIToFPInst(LLVMGetOperand(call, 0)))
        return NULL;
    LLVMPositionBuilderBefore(b->builder, call);
    V x = LLVMGetOperand(call, 0);
    V r = is_signed ? LLVMBuildFPToSI(b->builder, x, b->i32, "") : LLVMBuildFPToUI(b->builder, x, b->i32, "");
    return LLVMIsAInstruction(r) ? LLVMBuildFreeze(b->builder, r, "") : NULL; /* not what LLVM folds by its own rules */
}

void ptx_amdgpu_conversions(struct amdgpu *a)
{
    for (V fn = LLVMGetFirstFunction(a->b.module); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (V i = LLVMGetFirstInstruction(bb), next; i; i = next) {
                next = LLVMGetNextInstruction(i);
                V r = conversion(a, i);
                if (r) {
                    LLVMReplaceAllUsesWith(i, r);
                    LLVMInstructionEraseFromParent(i);
                }
            }
}

/* ---- Subnormals.  Where the machine's mode flushes all of them (lower/flush.c), LLVM takes x * 1, x + -0 and the like for x as
 * it is, so results that may be an operand come with a canonicalize, which flushes whatever it is given.  Those of arithmetic
 * that stayed arithmetic do without. */
static bool is_neutral(V v)
{
    LLVMBool lossy;
    if (!LLVMIsAConstant(v))
        return false;
    if (!LLVMIsAConstantFP(v))
        return true; /* a vector, of whatever */
    double x = LLVMConstRealGetDouble(v, &lossy);
    return x == 0 || x == 1 || x == -1 || x != x;
}

/* Of a selection of a NaN or a minimum, which is how those of PTX look (lower/round.c), the minimum counts. */
static bool flushes_anyway(V v)
{
    if (LLVMIsASelectInst(v) && LLVMIsAConstantFP(LLVMGetOperand(v, 1)) && is_neutral(LLVMGetOperand(v, 1)))
        v = LLVMGetOperand(v, 2);
    enum ptx_intrinsic id = ptx_intrinsic_called(v);
    LLVMOpcode op = LLVMIsAInstruction(v) ? LLVMGetInstructionOpcode(v) : LLVMRet;
    bool minmax = id == PTX_INTRINSIC_MINIMUMNUM || id == PTX_INTRINSIC_MAXIMUMNUM;
    if (op != LLVMFAdd && op != LLVMFSub && op != LLVMFMul && !minmax && id != PTX_INTRINSIC_FMA)
        return false;
    V x = LLVMGetOperand(v, 0), y = LLVMGetOperand(v, 1);
    return !is_neutral(x) && !is_neutral(y) && (!minmax || x != y);
}

void ptx_amdgpu_subnormals(struct amdgpu *a)
{
    for (V fn = LLVMGetFirstFunction(a->b.module); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (V i = LLVMGetFirstInstruction(bb), next; i; i = next) {
                next = LLVMGetNextInstruction(i);
                if (ptx_intrinsic_called(i) != PTX_INTRINSIC_CANONICALIZE || !flushes_anyway(LLVMGetOperand(i, 0)))
                    continue;
                LLVMReplaceAllUsesWith(i, LLVMGetOperand(i, 0));
                LLVMInstructionEraseFromParent(i);
            }
}

/* ---- Signs of zeros.
 *
 * Products that become halves.  LLVM 22's backend selects the fused instruction of mixed widths (v_fma_mixlo_f16,
 * v_mad_mixlo_f16) for them and adds +0, which makes a product of -0 +0; a fused multiply and add of -0 is the product, and is
 * selected as it stands.  Can go once an LLVM adds -0 (MadFmaMixPats in VOP3PInstructions.td). */
static V product_narrowed(V trunc)
{
    LLVMTypeRef type = LLVMTypeOf(trunc);
    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind)
        type = LLVMGetElementType(type);
    if (!LLVMIsAFPTruncInst(trunc) || LLVMGetTypeKind(type) != LLVMHalfTypeKind)
        return NULL;
    V product = LLVMGetOperand(trunc, 0);
    return LLVMIsABinaryOperator(product) && LLVMGetInstructionOpcode(product) == LLVMFMul ? product : NULL;
}

static V product_exact(struct amdgpu *a, V product)
{
    LLVMTypeRef type = LLVMTypeOf(product);
    V p[] = { LLVMGetOperand(product, 0), LLVMGetOperand(product, 1), LLVMBuildFNeg(a->b.builder, LLVMConstNull(type), "") };
    return b_intrinsic(&a->b, "llvm.fma", &type, 1, p, 3);
}

static bool is_minus_one(V v)
{
    LLVMBool lossy;
    return LLVMIsAConstantFP(v) && LLVMConstRealGetDouble(v, &lossy) == -1;
}

/* 0 - x, which is +0 where x is: instruction selection takes it for a sign to turn where it is an operand (SelectVOP3ModsImpl in
 * AMDGPUISelDAGToDAG.cpp), unless something stands between.  Of doubles, and of pairs of halves, it does not.  It makes it of
 * y + 0 as well, where it finds that y is -x, and of x * -1 + 0. */
static bool is_negation(V v)
{
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(v));
    if (kind != LLVMFloatTypeKind && kind != LLVMHalfTypeKind)
        return false;
    if (ptx_intrinsic_called(v) == PTX_INTRINSIC_FMA)
        return LLVMIsNull(LLVMGetOperand(v, 2)) && (is_minus_one(LLVMGetOperand(v, 0)) || is_minus_one(LLVMGetOperand(v, 1)));
    if (!LLVMIsABinaryOperator(v))
        return false;
    V x = LLVMGetOperand(v, 0), y = LLVMGetOperand(v, 1);
    return LLVMGetInstructionOpcode(v) == LLVMFSub ? LLVMIsNull(x) :
           LLVMGetInstructionOpcode(v) == LLVMFAdd ? LLVMIsNull(x) || LLVMIsNull(y) : false;
}

static void negation_keep(struct amdgpu *a, V v)
{
    LLVMTypeRef type = LLVMTypeOf(v);
    V undefined = LLVMGetUndef(type);
    LLVMPositionBuilderBefore(a->b.builder, LLVMGetNextInstruction(v));
    V kept = b_intrinsic(&a->b, "llvm.canonicalize", &type, 1, &undefined, 1);
    LLVMReplaceAllUsesWith(v, kept);
    LLVMSetOperand(kept, 0, v);
}

void ptx_amdgpu_zeros(struct amdgpu *a)
{
    for (V fn = LLVMGetFirstFunction(a->b.module); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (V i = LLVMGetFirstInstruction(bb), next; i; i = next) {
                V product = product_narrowed(i);
                next = LLVMGetNextInstruction(i);
                LLVMPositionBuilderBefore(a->b.builder, i);
                if (product)
                    LLVMSetOperand(i, 0, product_exact(a, product));
                else if (is_negation(i))
                    negation_keep(a, i);
            }
}

/* ---- Saturated halves that become integers of 32 bits.  On gfx9 most instructions of 16 bits clear the register's upper half,
 * which LLVM 22's instruction selection counts on where they are extended; but not v_fma_f16, into which it folds the clamp
 * behind it later. */
static bool ends_in_fma(V v, int depth)
{
    if (ptx_intrinsic_called(v) == PTX_INTRINSIC_FMA)
        return true;
    bool inside = LLVMIsASelectInst(v) || LLVMIsACallInst(v);
    for (int i = 0; inside && depth && i < LLVMGetNumOperands(v); i++)
        if (LLVMIsAInstruction(LLVMGetOperand(v, i)) && ends_in_fma(LLVMGetOperand(v, i), depth - 1))
            return true;
    return false;
}

static bool is_saturated(struct amdgpu *a, V zext)
{
    V bits = LLVMIsAZExtInst(zext) ? LLVMGetOperand(zext, 0) : NULL,
      v = bits && LLVMIsABitCastInst(bits) ? LLVMGetOperand(bits, 0) : NULL;
    return v && LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMHalfTypeKind && (LLVMIsASelectInst(v) || LLVMIsACallInst(v)) &&
           ends_in_fma(v, 4);
}

/* Through an empty piece of assembly, of whose result nothing is known. */
void ptx_amdgpu_saturated(struct amdgpu *a)
{
    LLVMTypeRef half = LLVMHalfTypeInContext(LLVMGetModuleContext(a->b.module)), type = LLVMFunctionType(half, &half, 1, false);
    if (a->major != 9)
        return;
    for (V fn = LLVMGetFirstFunction(a->b.module); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (V i = LLVMGetFirstInstruction(bb); i; i = LLVMGetNextInstruction(i)) {
                if (!is_saturated(a, i))
                    continue;
                V bits = LLVMGetOperand(i, 0), value = LLVMGetOperand(bits, 0);
                V hidden = LLVMGetInlineAsm(type, "", 0, "=v,0", 4, false, false, LLVMInlineAsmDialectATT, false);
                LLVMPositionBuilderBefore(a->b.builder, i);
                value = LLVMBuildCall2(a->b.builder, type, hidden, &value, 1, "");
                LLVMSetOperand(i, 0, LLVMBuildBitCast(a->b.builder, value, LLVMTypeOf(bits), ""));
            }
}

/* ---- Branches around a block, `br (x ^ cmp), join, block`.  Lanes are masked by the condition under which the block runs; the
 * backend turns a plain comparison round, but spends an instruction on the rest. */

/* The comparison, used once, that is an operand of `v`; NULL when there is none. */
static V comparison_in(V v, unsigned *ret_index)
{
    for (unsigned i = 0; i < 2; i++) {
        V x = LLVMGetOperand(v, i);
        LLVMUseRef use = LLVMIsAICmpInst(x) || LLVMIsAFCmpInst(x) ? LLVMGetFirstUse(x) : NULL;
        *ret_index = i;
        if (use && !LLVMGetNextUse(use))
            return x;
    }
    return NULL;
}

static V inverse(struct amdgpu *a, V cmp)
{
    static const LLVMIntPredicate ints[] = {
        [LLVMIntEQ] = LLVMIntNE,   [LLVMIntNE] = LLVMIntEQ,   [LLVMIntUGT] = LLVMIntULE, [LLVMIntUGE] = LLVMIntULT,
        [LLVMIntULT] = LLVMIntUGE, [LLVMIntULE] = LLVMIntUGT, [LLVMIntSGT] = LLVMIntSLE, [LLVMIntSGE] = LLVMIntSLT,
        [LLVMIntSLT] = LLVMIntSGE, [LLVMIntSLE] = LLVMIntSGT,
    };
    V x = LLVMGetOperand(cmp, 0), y = LLVMGetOperand(cmp, 1);
    LLVMPositionBuilderBefore(a->b.builder, cmp);
    if (LLVMIsAICmpInst(cmp))
        return b_icmp(&a->b, ints[LLVMGetICmpPredicate(cmp)], x, y);
    return b_fcmp(&a->b, LLVMRealPredicateTrue - LLVMGetFCmpPredicate(cmp), x, y); /* four bits, one for each outcome */
}

static void branch_turn(struct amdgpu *a, V branch)
{
    V condition = LLVMGetCondition(branch);
    LLVMUseRef use = LLVMIsAInstruction(condition) ? LLVMGetFirstUse(condition) : NULL;
    LLVMBasicBlockRef join = LLVMGetSuccessor(branch, 0), block = LLVMGetSuccessor(branch, 1);
    V end = LLVMGetBasicBlockTerminator(block);
    unsigned index;
    if (!use || LLVMGetNextUse(use) || LLVMGetInstructionOpcode(condition) != LLVMXor || LLVMGetNumSuccessors(end) != 1 ||
        LLVMGetSuccessor(end, 0) != join)
        return;
    V cmp = comparison_in(condition, &index);
    if (!cmp)
        return;
    LLVMSetOperand(condition, index, inverse(a, cmp));
    LLVMInstructionEraseFromParent(cmp);
    LLVMSetSuccessor(branch, 0, block);
    LLVMSetSuccessor(branch, 1, join);
}

void ptx_amdgpu_branches(struct amdgpu *a)
{
    for (V fn = LLVMGetFirstFunction(a->b.module); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb)) {
            V end = LLVMGetBasicBlockTerminator(bb);
            if (LLVMIsABranchInst(end) && LLVMIsConditional(end))
                branch_turn(a, end);
        }
}
