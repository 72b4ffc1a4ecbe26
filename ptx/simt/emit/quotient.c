/* Quotients of whole numbers by floating point: machines divide no vectors of integers, and 32 divisions one after the other cost
 * more than all else that turns a thread's index into places in an array.
 *
 * Of numbers of 32 bits (signed or not) a double's quotient, cut off, is the exact one: a / b is an integer, which is rounded to
 * itself, or at least 1 / b away from the next, and 1 / b is more than 2^-34 of it, where rounding moves it by 2^-53.  Of 16 bits
 * a float's is.  A divisor that is the same for all lanes becomes a factor, made once: its inverse, rounded and then enlarged by
 * 2^-51, is not below 1 / b and less than 2^-49 above, so what is an integer is not missed and nothing else reaches one.
 *
 * Nothing here traps, so lanes that are off need no other divisor; what they get is frozen, as it may be no integer.  Constant
 * divisors are left to LLVM, whose products are as fast, and 64 bits to the machine. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"

struct quotient {
    struct simt_fn *f;
    bool is_signed;
    LLVMTypeRef real;    /* float or double */
    LLVMValueRef common; /* the divisor of all lanes but those of `ones`, a source value; NULL: each has its own */
    LLVMValueRef ones;   /* lanes whose divisor is 1, a mask; NULL: none */
};

/* Lowering divides by 1 where there is no quotient, as of the least integer and -1. */
static void find_common(struct quotient *q, LLVMValueRef divisor)
{
    struct simt *u = q->f->u;
    LLVMValueRef ones = NULL;
    for (int64_t c; LLVMIsASelectInst(divisor) && !simt_uniform(q->f, divisor);) {
        bool first = simt_int_const(LLVMGetOperand(divisor, 1), &c) && c == 1;
        if (!first && !(simt_int_const(LLVMGetOperand(divisor, 2), &c) && c == 1))
            return;
        LLVMValueRef lanes = simt_vector(q->f, LLVMGetOperand(divisor, 0));
        lanes = first ? lanes : LLVMBuildNot(u->b, lanes, "");
        ones = ones ? LLVMBuildOr(u->b, ones, lanes, "") : lanes;
        divisor = LLVMGetOperand(divisor, first ? 2 : 1);
    }
    if (!simt_uniform(q->f, divisor))
        return;
    q->common = divisor;
    q->ones = ones;
}

static LLVMValueRef to_real(struct quotient *q, LLVMValueRef x, bool vec)
{
    struct simt *u = q->f->u;
    LLVMTypeRef whole = vec ? simt_vec_type(u, u->i32) : u->i32, real = vec ? simt_vec_type(u, q->real) : q->real;
    x = LLVMBuildIntCast2(u->b, x, whole, q->is_signed, "");
    return q->is_signed ? LLVMBuildSIToFP(u->b, x, real, "") : LLVMBuildUIToFP(u->b, x, real, "");
}

static LLVMValueRef by_factor(struct quotient *q, LLVMValueRef a)
{
    struct simt *u = q->f->u;
    bool wide = LLVMGetTypeKind(q->real) == LLVMDoubleTypeKind;
    LLVMValueRef inverse = LLVMBuildFDiv(u->b, LLVMConstReal(q->real, 1), to_real(q, simt_scalar(q->f, q->common), false), "");
    inverse = LLVMBuildFMul(u->b, inverse, LLVMConstReal(q->real, wide ? 1 + 0x1p-51 : 1 + 0x1p-22), "");
    return LLVMBuildFMul(u->b, a, simt_splat(u, inverse), "");
}

static LLVMValueRef build(struct quotient *q, LLVMValueRef a, LLVMValueRef divisor)
{
    struct simt *u = q->f->u;
    LLVMTypeRef whole = simt_vec_type(u, u->i32);
    LLVMValueRef r = to_real(q, a, true);
    r = q->common ? by_factor(q, r) : LLVMBuildFDiv(u->b, r, to_real(q, simt_vector(q->f, divisor), true), "");
    r = q->is_signed ? LLVMBuildFPToSI(u->b, r, whole, "") : LLVMBuildFPToUI(u->b, r, whole, "");
    r = LLVMBuildIntCast2(u->b, LLVMBuildFreeze(u->b, r, ""), LLVMTypeOf(a), q->is_signed, "");
    return q->ones ? LLVMBuildSelect(u->b, q->ones, a, r, "") : r;
}

LLVMValueRef simt_quotient_build(struct simt_fn *f, LLVMValueRef inst, LLVMOpcode op)
{
    struct simt *u = f->u;
    LLVMValueRef divisor = LLVMGetOperand(inst, 1);
    unsigned bits = LLVMGetIntTypeWidth(LLVMTypeOf(inst));
    int64_t c;
    if (bits > 32 || simt_int_const(divisor, &c) || !simt_step(u, PTX_PASS_QUOTIENTS))
        return NULL;
    LLVMContextRef ctx = LLVMGetTypeContext(u->i32);
    struct quotient q = { .f = f, .is_signed = op == LLVMSDiv || op == LLVMSRem,
                          .real = bits <= 16 ? LLVMFloatTypeInContext(ctx) : LLVMDoubleTypeInContext(ctx) };
    find_common(&q, divisor);
    LLVMValueRef a = simt_vector(f, LLVMGetOperand(inst, 0)), r = build(&q, a, divisor);
    if (op == LLVMSDiv || op == LLVMUDiv)
        return r;
    return LLVMBuildSub(u->b, a, LLVMBuildMul(u->b, r, simt_vector(f, divisor), ""), "");
}
