/* Approximations that keep subnormals: one operation again, where machine code was lifted.
 *
 * The machine's own flush them.  NVIDIA's assembler scales operands that are too small, and takes the scale out of the result:
 *
 *     c = |x| < 2^-126
 *     r = rsqrt.ftz(c ? x * 2^24 : x)
 *     c ? r * 2^12 : r                 is rsqrt(x)
 *
 * What is found is the last choice, with all that it is made of; so it is replaced by a value that is as exact, and whoever uses
 * something in between still has it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/target.h"
#include "lower/intrinsic.h"
#include "lower/match.h"
#include "lower/simt.h"

typedef LLVMValueRef V;

struct scaled_row {
    enum ptx_simt flushing, keeping;
    bool magnitude;      /* it is |x| that is compared */
    double below, scale; /* scaled where it is below this, by this */
    LLVMOpcode op;       /* of the result and ... */
    double by;           /* ... this; 0: itself */
};

static const struct scaled_row rows[] = {
    { PTX_SIMT_RSQRT_FTZ_F32, PTX_SIMT_RSQRT_F32, true, 0x1p-126, 0x1p24, LLVMFMul, 0x1p12 },
    { PTX_SIMT_SQRT_FTZ_F32, PTX_SIMT_SQRT_F32, true, 0x1p-126, 0x1p24, LLVMFMul, 0x1p-12 },
    { PTX_SIMT_LG2_FTZ_F32, PTX_SIMT_LG2_F32, true, 0x1p-126, 0x1p24, LLVMFAdd, -24 },
    { PTX_SIMT_EX2_FTZ_F32, PTX_SIMT_EX2_F32, false, -126, 0.5, LLVMFMul, 0 },
};

static const struct scaled_row *row_of(V call)
{
    enum ptx_simt id = LLVMIsACallInst(call) ? ptx_simt_called(call) : PTX_SIMT_NONE;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (rows[k].flushing == id)
            return &rows[k];
    return NULL;
}

/* A float and its bits are one. */
static V plain(V v) { return is_op(v, LLVMBitCast) ? operand(v, 0) : v; }

static bool is_real(V v, double number)
{
    LLVMBool lost;
    return LLVMIsAConstantFP(v) && LLVMConstRealGetDouble(v, &lost) == number;
}

/* x and a number, in either order. */
static bool is_with_number(V v, LLVMOpcode op, V x, double number)
{
    if (!is_op(v, op))
        return false;
    for (unsigned k = 0; k < 2; k++)
        if (plain(operand(v, k)) == x && is_real(operand(v, 1 - k), number))
            return true;
    return false;
}

static bool is_magnitude(V v, V x)
{
    if (ptx_intrinsic_called(v) == PTX_INTRINSIC_FABS)
        return plain(operand(v, 0)) == x;
    v = plain(v);
    return is_op(v, LLVMAnd) && plain(operand(v, 0)) == x && is_number(operand(v, 1), INT32_MAX);
}

/* Does c say that x is to be scaled? */
static bool is_below(const struct scaled_row *row, V c, V x)
{
    bool inverted = false;
    for (; is_op(c, LLVMXor) && is_number(operand(c, 1), 1); c = operand(c, 0))
        inverted = !inverted;
    return is_op(c, LLVMFCmp) && LLVMGetFCmpPredicate(c) == (inverted ? LLVMRealUGE : LLVMRealOLT) &&
           is_real(operand(c, 1), row->below) &&
           (row->magnitude ? is_magnitude(operand(c, 0), x) : plain(operand(c, 0)) == x);
}

/* The x of which a choice is the approximation, and how; NULL. */
static V operand_of(V choice, const struct scaled_row **ret_row)
{
    V c = operand(choice, 0), r = plain(operand(choice, 2)), scaled_back = plain(operand(choice, 1));
    const struct scaled_row *row = *ret_row = row_of(r);
    V given = row ? plain(operand(r, 0)) : NULL;
    if (!given || !is_op(given, LLVMSelect) || operand(given, 0) != c)
        return NULL;
    V x = plain(operand(given, 2));
    bool back = row->by != 0 ? is_with_number(scaled_back, row->op, r, row->by)
                             : is_op(scaled_back, row->op) && operand(scaled_back, 0) == r && operand(scaled_back, 1) == r;
    return back && is_below(row, c, x) && is_with_number(plain(operand(given, 1)), LLVMFMul, x, row->scale) ? x : NULL;
}

static void function(LLVMModuleRef module, LLVMBuilderRef b, V fn)
{
    const struct scaled_row *row;
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn); block; block = LLVMGetNextBasicBlock(block))
        for (V i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
            V x = is_op(i, LLVMSelect) ? operand_of(i, &row) : NULL;
            if (!x)
                continue;
            LLVMPositionBuilderBefore(b, i);
            x = LLVMBuildBitCast(b, x, LLVMFloatTypeInContext(LLVMGetModuleContext(module)), "");
            LLVMReplaceAllUsesWith(i, LLVMBuildBitCast(b, ptx_simt_call(b, module, row->keeping, &x), LLVMTypeOf(i), ""));
        }
}

static bool has_any(LLVMModuleRef module)
{
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (LLVMGetNamedFunction(module, ptx_simt_info(rows[k].flushing)->name))
            return true;
    return false;
}

int ptx_target_scaled(LLVMModuleRef module, struct aw_buf *diags)
{
    if (!has_any(module))
        return AW_OK;
    int status = ptx_passes_run(module, NULL, "function(sroa,early-cse)", diags);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (V fn = LLVMGetFirstFunction(module); fn && status == AW_OK; fn = LLVMGetNextFunction(fn))
        function(module, b, fn);
    LLVMDisposeBuilder(b);
    return status;
}
