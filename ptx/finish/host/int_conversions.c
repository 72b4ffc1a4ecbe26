/* Floating-point numbers to integers, for vectors: PTX's conversions clamp, and LLVM makes of a vector's that ask for it some six
 * instructions for each lane by itself.
 *
 * Here the machine's own conversion of a vector has what it is given in range, or is not asked for the result where it is not.
 * A bound that the format has exactly, as doubles have all of 32 bits, is a minimum or maximum; else the greatest integer is put
 * where the number is above.  The lower bound always is one, and it takes NaNs with it, whose result is 0 (LLVM's reference,
 * llvm.fptosi.sat and llvm.fptoui.sat).
 *
 * 64 bits only where the machine converts vectors to them, which is with AVX-512. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/host.h"
#include <llvm-c/DebugInfo.h>
#include <math.h>

typedef LLVMValueRef V;

struct conversion {
    V x;
    bool is_signed;
    unsigned bits, precision; /* of the result; of the number, with the leading one */
    LLVMTypeRef numbers, integers; /* vectors */
};

static V real(LLVMTypeRef vector, double x)
{
    return ptx_host_splat(LLVMConstReal(LLVMGetElementType(vector), x), LLVMGetVectorSize(vector));
}

static V integer(LLVMTypeRef vector, uint64_t x)
{
    return ptx_host_splat(LLVMConstInt(LLVMGetElementType(vector), x, 0), LLVMGetVectorSize(vector));
}

/* Is it one of a vector that the machine converts? */
static bool find(V x, bool wide, struct conversion *ret)
{
    enum ptx_intrinsic id = ptx_intrinsic_called(x);
    if ((id != PTX_INTRINSIC_FPTOSI_SAT && id != PTX_INTRINSIC_FPTOUI_SAT) ||
        LLVMGetTypeKind(LLVMTypeOf(x)) != LLVMVectorTypeKind)
        return false;
    *ret = (struct conversion){ .x = LLVMGetOperand(x, 0), .is_signed = id == PTX_INTRINSIC_FPTOSI_SAT,
                                .integers = LLVMTypeOf(x) };
    ret->numbers = LLVMTypeOf(ret->x);
    ret->bits = LLVMGetIntTypeWidth(LLVMGetElementType(ret->integers));
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMGetElementType(ret->numbers));
    ret->precision = kind == LLVMFloatTypeKind ? 24 : kind == LLVMDoubleTypeKind ? 53 : 0;
    return ret->precision && (ret->bits == 8 || ret->bits == 16 || ret->bits == 32 || (ret->bits == 64 && wide));
}

/* The greater, or less, of a number and a bound; the bound of a NaN. */
static V bound_take(LLVMBuilderRef b, LLVMRealPredicate better, V x, V bound)
{
    return LLVMBuildSelect(b, LLVMBuildFCmp(b, better, x, bound, ""), x, bound, "");
}

static V build(LLVMBuilderRef b, const struct conversion *c)
{
    unsigned magnitude = c->bits - c->is_signed; /* bits */
    double low = c->is_signed ? -ldexp(1, (int)magnitude) : 0, above = ldexp(1, (int)magnitude);
    bool exact = magnitude <= c->precision;
    LLVMContextRef context = LLVMGetBuilderContext(b);
    LLVMTypeRef to = LLVMVectorType(LLVMIntTypeInContext(context, c->bits < 32 ? 32 : c->bits), LLVMGetVectorSize(c->integers));
    bool as_signed = c->is_signed || c->bits < 32;
    V x = bound_take(b, LLVMRealOGT, c->x, real(c->numbers, low));
    if (exact)
        x = bound_take(b, LLVMRealOLT, x, real(c->numbers, above - 1));
    V r = as_signed ? LLVMBuildFPToSI(b, x, to, "") : LLVMBuildFPToUI(b, x, to, "");
    if (!exact) { /* anything, where it is above */
        uint64_t most = magnitude == 64 ? UINT64_MAX : (UINT64_C(1) << magnitude) - 1;
        V over = LLVMBuildFCmp(b, LLVMRealOGE, c->x, real(c->numbers, above), "");
        r = LLVMBuildSelect(b, over, integer(to, most), LLVMBuildFreeze(b, r, ""), "");
    }
    if (c->is_signed)
        r = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealUNO, c->x, c->x, ""), LLVMConstNull(to), r, "");
    return to == c->integers ? r : LLVMBuildTrunc(b, r, c->integers, "");
}

int ptx_run_int_conversions(struct ptx_pipeline *pipe)
{
    LLVMModuleRef m = *pipe->module;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    bool wide = pipe->on & PTX_PASS_AVX512;
    for (V fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (V x = LLVMGetFirstInstruction(bb), next; x; x = next) {
                struct conversion c;
                next = LLVMGetNextInstruction(x);
                if (!find(x, wide, &c))
                    continue;
                LLVMPositionBuilderBefore(b, x);
                LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(x));
                LLVMReplaceAllUsesWith(x, build(b, &c));
                LLVMInstructionEraseFromParent(x);
            }
    LLVMDisposeBuilder(b);
    return AW_OK;
}
