/* Directed rounding of f32 fma where operands are known well enough for a short way: the magic numbers of exponential functions,
 * which nvcc rounds down (fma.rm of a saturated value, a constant and 1.5 * 2^23 or so).
 *
 * Not the general way, which lower/round.c takes through f64, and no other machine's: those that round as told do so. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/internal.h"
#include "finish/host/host.h"
#include <math.h>

/* Numbers from lo to hi, and no NaN. */
struct value_range {
    double lo, hi;
    bool known;
};

enum { DEPTH = 6 }; /* selections of selections */

static bool constant_of(LLVMValueRef v, double *ret)
{
    LLVMBool lossy;
    if (!LLVMIsAConstantFP(v))
        return false;
    *ret = LLVMConstRealGetDouble(v, &lossy);
    return isfinite(*ret);
}

/* `x > k ? x : k` and `x < k ? x : k`, as .sat and clamping by hand make them; a NaN becomes k. */
static struct value_range clamped(LLVMValueRef select, int depth);

static struct value_range range_of(LLVMValueRef v, int depth)
{
    double k;
    if (constant_of(v, &k))
        return (struct value_range){ k, k, true };
    if (depth && LLVMIsASelectInst(v))
        return clamped(v, depth - 1);
    return (struct value_range){ -INFINITY, INFINITY, false };
}

static struct value_range clamped(LLVMValueRef select, int depth)
{
    struct value_range none = { -INFINITY, INFINITY, false };
    LLVMValueRef cond = LLVMGetOperand(select, 0), x = LLVMGetOperand(select, 1), other = LLVMGetOperand(select, 2);
    double k;
    if (!LLVMIsAFCmpInst(cond) || LLVMGetOperand(cond, 0) != x || LLVMGetOperand(cond, 1) != other || !constant_of(other, &k))
        return none;
    struct value_range r = range_of(x, depth);
    switch (LLVMGetFCmpPredicate(cond)) { /* ordered: false for a NaN */
    case LLVMRealOGT: case LLVMRealOGE: return (struct value_range){ fmax(r.lo, k), fmax(r.hi, k), true };
    case LLVMRealOLT: case LLVMRealOLE: return (struct value_range){ fmin(r.lo, k), fmin(r.hi, k), true };
    default: return none;
    }
}

/* a * b + c with |a * b| <= |c| / 2: the nearest result r is between c / 2 and 3 c / 2, so r - c is exact; and as b is whole, a *
 * b - (r - c) is a multiple of the least subnormal, whose sign one fma tells.  r is no zero, so its neighbours are one away in
 * its bits. */
static bool fits(LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    double kb, kc;
    struct value_range r = range_of(a, DEPTH);
    if (!r.known || !constant_of(b, &kb) || !constant_of(c, &kc) || kb != rint(kb) || fabs(kc) < 0x1p-100 || fabs(kc) > 0x1p100)
        return false;
    return fmax(fabs(r.lo), fabs(r.hi)) * fabs(kb) <= fabs(kc) / 2;
}

LLVMValueRef ptx_host_fma(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z)
{
    LLVMModuleRef m = LLVMGetGlobalParent(LLVMGetBasicBlockParent(LLVMGetInsertBlock(b)));
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(m, LLVMLookupIntrinsicID("llvm.fma", 8), &type, 1), args[3] = { x, y, z };
    return LLVMBuildCall2(b, LLVMGlobalGetValueType(fn), fn, args, 3, "");
}

static LLVMValueRef fma_directed(LLVMBuilderRef bl, enum ptx_round mode, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    double kc = 0;
    constant_of(c, &kc);
    LLVMTypeRef f32 = LLVMTypeOf(a), i32 = LLVMInt32TypeInContext(LLVMGetTypeContext(f32));
    LLVMValueRef r = ptx_host_fma(bl, a, b, c), d = LLVMBuildFSub(bl, r, c, "");
    LLVMValueRef t = ptx_host_fma(bl, a, b, LLVMBuildFNeg(bl, d, "")), zero = LLVMConstReal(f32, 0.0);
    bool down = mode == PTX_RM || (mode == PTX_RZ && kc > 0);
    LLVMValueRef move = LLVMBuildSExt(bl, LLVMBuildFCmp(bl, down ? LLVMRealOLT : LLVMRealOGT, t, zero, ""), i32, "");
    LLVMValueRef bits = LLVMBuildBitCast(bl, r, i32, "");
    bits = down == (kc > 0) ? LLVMBuildAdd(bl, bits, move, "") : LLVMBuildSub(bl, bits, move, "");
    return LLVMBuildBitCast(bl, bits, f32, "");
}

int ptx_host_round(LLVMModuleRef module, struct aw_buf *diags)
{
    LLVMValueRef fn = LLVMGetNamedFunction(module, "aw.round.fma.known.f32");
    int status = fn ? ptx_passes_run(module, NULL, "function(sroa)", diags) : AW_OK; /* registers to values */
    if (!fn || status != AW_OK)
        return status;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (LLVMUseRef use = LLVMGetFirstUse(fn), next; use; use = next) {
        LLVMValueRef call = LLVMGetUser(use), r = LLVMGetOperand(call, 4);
        next = LLVMGetNextUse(use);
        LLVMPositionBuilderBefore(b, call);
        LLVMValueRef x[3] = { LLVMGetOperand(call, 1), LLVMGetOperand(call, 2), LLVMGetOperand(call, 3) };
        if (LLVMIsConstant(x[0])) /* factors in either order */
            x[0] = x[1], x[1] = LLVMGetOperand(call, 1);
        if (fits(x[0], x[1], x[2]))
            r = fma_directed(b, (enum ptx_round)LLVMConstIntGetZExtValue(LLVMGetOperand(call, 0)), x[0], x[1], x[2]);
        LLVMReplaceAllUsesWith(call, r);
        LLVMInstructionEraseFromParent(call);
    }
    LLVMDisposeBuilder(b);
    return AW_OK;
}
