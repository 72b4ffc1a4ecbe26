/* Rounding: exact results in PTX's four modes, and the narrow formats, on machines that round to nearest only.
 *
 * One idea serves all: compute the nearest result r and the sign of the error t = exact - r, then move r to its
 * neighbour where the mode asks (ptx_round_fix).  f32 errors come from f64 arithmetic, f64 ones from error-free
 * transformations.  NaN and infinities make t a NaN or leave it zero, so that r stays. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/internal.h"

enum ptx_round ptx_round_of(const struct ptx_instr *in)
{
    return ptx_has(in, PTX_MOD_RZ) ? PTX_RZ : ptx_has(in, PTX_MOD_RM) ? PTX_RM : ptx_has(in, PTX_MOD_RP) ? PTX_RP : PTX_RN;
}

static LLVMValueRef zero_of(LLVMValueRef v)
{
    return LLVMConstNull(LLVMTypeOf(v));
}

static LLVMValueRef sign_mask(LLVMValueRef bits)
{
    return LLVMConstInt(LLVMTypeOf(bits), 1ull << (b_bits(bits) - 1), 0);
}

LLVMValueRef ptx_is_nan(struct ptx_lower *l, LLVMValueRef v)
{
    return b_fcmp(l, LLVMRealUNO, v, v);
}

static LLVMValueRef is_finite(struct ptx_lower *l, LLVMValueRef v)
{
    return b_fcmp(l, LLVMRealOLT, b_unary(l, "llvm.fabs", v), b_real(LLVMTypeOf(v), __builtin_inf()));
}

static LLVMValueRef is_infinite(struct ptx_lower *l, LLVMValueRef v)
{
    return b_fcmp(l, LLVMRealOEQ, b_unary(l, "llvm.fabs", v), b_real(LLVMTypeOf(v), __builtin_inf()));
}

/* ---- Neighbours */
LLVMValueRef ptx_round_fix(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef r, LLVMValueRef t)
{
    if (mode == PTX_RN)
        return r;
    LLVMValueRef bits = ptx_to_bits(l, r), sign = sign_mask(bits), one = b_like(bits, 1);
    LLVMValueRef negative = b_slt(l, bits, b_like(bits, 0));
    LLVMValueRef is_zero = b_eq(l, b_and(l, bits, b_not(l, sign)), b_like(bits, 0));
    LLVMValueRef above = b_fcmp(l, LLVMRealOGT, t, zero_of(t)), below = b_fcmp(l, LLVMRealOLT, t, zero_of(t));
    LLVMValueRef inward = b_sub(l, bits, one), outward = b_add(l, bits, one), moved, move;
    if (mode == PTX_RZ) {
        move = b_and(l, b_select(l, negative, above, below), b_not(l, is_zero));
        moved = inward;
    } else if (mode == PTX_RP) {
        move = above;
        moved = b_select(l, is_zero, one, b_select(l, negative, inward, outward));
    } else {
        move = below;
        moved = b_select(l, is_zero, b_or(l, sign, one), b_select(l, negative, outward, inward));
    }
    return ptx_from_bits(l, b_select(l, move, moved, bits), LLVMTypeOf(r));
}

/* Rounds to odd: r is the nearest to r + t; an inexact even r moves to the odd neighbour on t's side. */
static LLVMValueRef fix_odd(struct ptx_lower *l, LLVMValueRef r, LLVMValueRef t)
{
    LLVMValueRef bits = ptx_to_bits(l, r), one = b_like(bits, 1), zero = b_like(bits, 0);
    LLVMValueRef inexact = b_fcmp(l, LLVMRealONE, t, zero_of(t)), even = b_eq(l, b_and(l, bits, one), zero);
    LLVMValueRef same = b_eq(l, b_slt(l, bits, zero), b_fcmp(l, LLVMRealOLT, t, zero_of(t)));
    LLVMValueRef moved = b_select(l, same, b_add(l, bits, one), b_sub(l, bits, one));
    return ptx_from_bits(l, b_select(l, b_and(l, inexact, even), moved, bits), LLVMTypeOf(r));
}

/* a + b - (a + b), exactly, for |a| >= |b| or in any order where nothing overflows (Knuth). */
static LLVMValueRef sum_error(struct ptx_lower *l, LLVMValueRef a, LLVMValueRef b, LLVMValueRef s)
{
    LLVMValueRef b_part = b_fsub(l, s, a), a_part = b_fsub(l, s, b_part);
    return b_fadd(l, b_fsub(l, a, a_part), b_fsub(l, b, b_part));
}

/* The same by size (Dekker), which overflows only where the sum does. */
static LLVMValueRef sum_error_sorted(struct ptx_lower *l, LLVMValueRef a, LLVMValueRef b, LLVMValueRef s)
{
    LLVMValueRef larger = b_fcmp(l, LLVMRealOGE, b_unary(l, "llvm.fabs", a), b_unary(l, "llvm.fabs", b));
    LLVMValueRef big = b_select(l, larger, a, b), small = b_select(l, larger, b, a);
    return b_fsub(l, small, b_fsub(l, s, big));
}

LLVMValueRef ptx_round_sum_odd(struct ptx_lower *l, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef s = b_fadd(l, a, b);
    return fix_odd(l, s, sum_error(l, a, b, s));
}

/* The double `s` + `e` (e at most half a place of s) as a float. */
static LLVMValueRef narrow(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef s, LLVMValueRef e)
{
    LLVMValueRef r = b_fptrunc(l, s, l->f32);
    LLVMValueRef t = b_fsub(l, s, b_fpext(l, r, l->f64));
    return ptx_round_fix(l, mode, r, e ? b_fadd(l, t, e) : t);
}

LLVMValueRef ptx_round_f64_f32(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef d)
{
    return mode == PTX_RN ? b_fptrunc(l, d, l->f32) : narrow(l, mode, d, NULL);
}

LLVMValueRef ptx_round_f64_f32_odd(struct ptx_lower *l, LLVMValueRef d)
{
    LLVMValueRef r = b_fptrunc(l, d, l->f32);
    return fix_odd(l, r, b_fsub(l, d, b_fpext(l, r, l->f64)));
}

/* A sum that is exactly zero is -0 when rounding down, but for +0 + +0. */
static LLVMValueRef zero_sum(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef r, LLVMValueRef s, LLVMValueRef a,
                             LLVMValueRef b)
{
    if (mode != PTX_RM)
        return r;
    LLVMValueRef signs = b_or(l, ptx_to_bits(l, a), ptx_to_bits(l, b));
    LLVMValueRef negative = b_slt(l, signs, b_like(signs, 0)), is_zero = b_fcmp(l, LLVMRealOEQ, s, zero_of(s));
    LLVMValueRef zero = b_select(l, negative, LLVMConstReal(LLVMTypeOf(r), -0.0), LLVMConstReal(LLVMTypeOf(r), 0.0));
    return b_select(l, is_zero, zero, r);
}

/* ---- Arithmetic */

/* The machine's own, in one of the three directions; NULL where it has none.  `id` is the f32 form's. */
static LLVMValueRef native(struct ptx_lower *l, enum ptx_simt id, enum ptx_round mode, LLVMValueRef a, LLVMValueRef b,
                           LLVMValueRef c)
{
    if (!(l->target->features & PTX_TARGET_ROUNDING))
        return NULL;
    if (LLVMTypeOf(a) == l->f64)
        id += PTX_SIMT_ROUND_ADD_F64 - PTX_SIMT_ROUND_ADD_F32;
    return b_simt(l, id, (LLVMValueRef[]){ b_i32(l, mode), a, b, c });
}

static LLVMValueRef add_f64(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef s = b_fadd(l, a, b), e = sum_error_sorted(l, a, b, s);
    LLVMValueRef over = b_and(l, is_infinite(l, s), b_and(l, is_finite(l, a), is_finite(l, b)));
    LLVMValueRef t = b_select(l, over, b_fneg(l, s), e);
    return zero_sum(l, mode, ptx_round_fix(l, mode, s, t), s, a, b);
}

LLVMValueRef ptx_round_add(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef a, LLVMValueRef b)
{
    if (mode == PTX_RN)
        return b_fadd(l, a, b);
    LLVMValueRef r = native(l, PTX_SIMT_ROUND_ADD_F32, mode, a, b, NULL);
    if (r)
        return r;
    if (LLVMTypeOf(a) == l->f64)
        return add_f64(l, mode, a, b);
    LLVMValueRef x = b_fpext(l, a, l->f64), y = b_fpext(l, b, l->f64), s = b_fadd(l, x, y);
    return zero_sum(l, mode, narrow(l, mode, s, sum_error(l, x, y, s)), s, x, y);
}

/* The product's error where it would underflow: everything times 2^1200, the smaller factor first. */
static LLVMValueRef product_error_tiny(struct ptx_lower *l, LLVMValueRef a, LLVMValueRef b, LLVMValueRef p)
{
    LLVMValueRef up = b_real(l->f64, 0x1p600);
    LLVMValueRef less = b_fcmp(l, LLVMRealOLT, b_unary(l, "llvm.fabs", a), b_unary(l, "llvm.fabs", b));
    LLVMValueRef small = b_select(l, less, a, b), big = b_select(l, less, b, a);
    small = b_fmul(l, b_fmul(l, small, up), up);
    return b_fma(l, small, big, b_fneg(l, b_fmul(l, b_fmul(l, p, up), up)));
}

static LLVMValueRef mul_f64(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef p = b_fmul(l, a, b), e = b_fma(l, a, b, b_fneg(l, p));
    LLVMValueRef tiny = b_fcmp(l, LLVMRealOLT, b_unary(l, "llvm.fabs", p), b_real(l->f64, 0x1p-900));
    LLVMValueRef over = b_and(l, is_infinite(l, p), b_and(l, is_finite(l, a), is_finite(l, b)));
    LLVMValueRef t = b_select(l, tiny, product_error_tiny(l, a, b, p), e);
    LLVMValueRef r = ptx_round_fix(l, mode, p, b_select(l, over, b_fneg(l, p), t));
    /* A product that vanishes has its sign in p, but the neighbour of zero is made without it. */
    return b_binary(l, "llvm.copysign", r, p);
}

LLVMValueRef ptx_round_mul(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef a, LLVMValueRef b)
{
    if (mode == PTX_RN)
        return b_fmul(l, a, b);
    LLVMValueRef r = native(l, PTX_SIMT_ROUND_MUL_F32, mode, a, b, NULL);
    if (r)
        return r;
    if (LLVMTypeOf(a) == l->f64)
        return mul_f64(l, mode, a, b);
    return narrow(l, mode, b_fmul(l, b_fpext(l, a, l->f64), b_fpext(l, b, l->f64)), NULL); /* 24 + 24 bits fit */
}

/* Twice, as 2^1200 is no double. */
static LLVMValueRef scale_twice(struct ptx_lower *l, LLVMValueRef v, LLVMValueRef by)
{
    return b_fmul(l, b_fmul(l, v, by), by);
}

/* The sign of a * b + c - r where nothing in it can overflow (Boldo and Muller's exact fma error).  A product that vanishes, all
 * but its sign, is replaced by `hint`. */
static LLVMValueRef fma_error(struct ptx_lower *l, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c, LLVMValueRef r,
                              LLVMValueRef hint)
{
    LLVMValueRef tiny = b_real(l->f64, 0x1p-960), none = b_real(l->f64, 0.0);
    LLVMValueRef u1 = b_fmul(l, a, b), u2 = b_fma(l, a, b, b_fneg(l, u1));
    LLVMValueRef small = b_fcmp(l, LLVMRealOLT, b_unary(l, "llvm.fabs", u1), tiny);
    u1 = b_select(l, small, hint, u1);
    u2 = b_select(l, small, none, u2);
    LLVMValueRef a1 = b_fadd(l, c, u2), a2 = sum_error(l, c, u2, a1);
    LLVMValueRef b1 = b_fadd(l, u1, a1), b2 = sum_error(l, u1, a1, b1);
    return b_fadd(l, b_fadd(l, b_fsub(l, b1, r), b2), a2);
}

/* Brings all into the middle of the range first.  Where c is lost in scaling down, its sign is what counts. */
static LLVMValueRef fma_f64(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    LLVMValueRef r = b_fma(l, a, b, c), p = b_fmul(l, a, b), one = b_real(l->f64, 1.0);
    LLVMValueRef size = ptx_llvm_extreme(l->builder, l->module, true, b_unary(l, "llvm.fabs", p), b_unary(l, "llvm.fabs", c));
    LLVMValueRef low = b_fcmp(l, LLVMRealOLT, size, b_real(l->f64, 0x1p-700));
    LLVMValueRef high = b_fcmp(l, LLVMRealOGE, size, b_real(l->f64, 0x1p1000));
    LLVMValueRef by = b_select(l, low, b_real(l->f64, 0x1p600), b_select(l, high, b_real(l->f64, 0x1p-100), one));
    LLVMValueRef a_less = b_fcmp(l, LLVMRealOLT, b_unary(l, "llvm.fabs", a), b_unary(l, "llvm.fabs", b));
    LLVMValueRef small = b_select(l, a_less, a, b), big = b_select(l, a_less, b, a);
    small = b_select(l, high, small, scale_twice(l, small, by));
    big = b_select(l, high, scale_twice(l, big, by), big);
    LLVMValueRef lost = b_and(l, high, b_fcmp(l, LLVMRealOLT, b_unary(l, "llvm.fabs", c), b_real(l->f64, 0x1p-700)));
    lost = b_and(l, lost, b_fcmp(l, LLVMRealUNE, c, b_real(l->f64, 0.0)));
    LLVMValueRef sc = b_select(l, lost, b_binary(l, "llvm.copysign", b_real(l->f64, 0x1p-600), c), scale_twice(l, c, by));
    LLVMValueRef zero = b_real(l->f64, 0.0);
    LLVMValueRef present = b_and(l, b_fcmp(l, LLVMRealUNE, a, zero), b_fcmp(l, LLVMRealUNE, b, zero));
    LLVMValueRef hint = b_select(l, present, b_binary(l, "llvm.copysign", b_real(l->f64, 0x1p-1000), p), zero);
    LLVMValueRef t = fma_error(l, small, big, sc, scale_twice(l, r, by), hint);
    LLVMValueRef inputs = b_and(l, is_finite(l, a), b_and(l, is_finite(l, b), is_finite(l, c)));
    t = b_select(l, b_and(l, is_infinite(l, r), inputs), b_fneg(l, r), t);
    LLVMValueRef fixed = ptx_round_fix(l, mode, r, t), exact = b_fcmp(l, LLVMRealOEQ, t, b_real(l->f64, 0.0));
    return b_select(l, exact, zero_sum(l, mode, fixed, r, p, c), fixed);
}

LLVMValueRef ptx_round_fma(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    if (mode == PTX_RN)
        return b_fma(l, a, b, c);
    LLVMValueRef r = native(l, PTX_SIMT_ROUND_FMA_F32, mode, a, b, c);
    if (r)
        return r;
    if (LLVMTypeOf(a) == l->f64)
        return fma_f64(l, mode, a, b, c);
    LLVMValueRef p = b_fmul(l, b_fpext(l, a, l->f64), b_fpext(l, b, l->f64)), z = b_fpext(l, c, l->f64);
    LLVMValueRef s = b_fadd(l, p, z);
    r = zero_sum(l, mode, narrow(l, mode, s, sum_error(l, p, z, s)), s, p, z);
    if (!(l->target->features & PTX_TARGET_ROUND_KNOWN))
        return r;
    return b_simt(l, PTX_SIMT_ROUND_KNOWN_F32, (LLVMValueRef[]){ b_i32(l, mode), a, b, c, r });
}

/* The sign of a / b - r is that of (a - r * b) * b; small numerators are scaled so that the difference does not vanish. */
static LLVMValueRef div_f64(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef r = b_fdiv(l, a, b), up = b_real(l->f64, 0x1p200), zero = b_real(l->f64, 0.0);
    LLVMValueRef tiny = b_fcmp(l, LLVMRealOLT, b_unary(l, "llvm.fabs", a), b_real(l->f64, 0x1p-800));
    LLVMValueRef r_less = b_fcmp(l, LLVMRealOLT, b_unary(l, "llvm.fabs", r), b_unary(l, "llvm.fabs", b));
    LLVMValueRef small = b_select(l, r_less, r, b), big = b_select(l, r_less, b, r);
    small = b_select(l, tiny, b_fmul(l, small, up), small);
    LLVMValueRef rest = b_fma(l, b_fneg(l, small), big, b_select(l, tiny, b_fmul(l, a, up), a));
    LLVMValueRef t = b_select(l, b_fcmp(l, LLVMRealOLT, b, zero), b_fneg(l, rest), rest);
    LLVMValueRef inputs = b_and(l, is_finite(l, a), b_fcmp(l, LLVMRealONE, b, zero));
    LLVMValueRef over = b_and(l, is_infinite(l, r), inputs);
    return ptx_round_fix(l, mode, r, b_select(l, over, b_fneg(l, r), t));
}

/* A quotient or root of 24-bit numbers that is no float differs from every float by more than f64's rounding. */
LLVMValueRef ptx_round_div(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef a, LLVMValueRef b)
{
    if (mode == PTX_RN)
        return b_fdiv(l, a, b);
    if (LLVMTypeOf(a) == l->f64)
        return div_f64(l, mode, a, b);
    return narrow(l, mode, b_fdiv(l, b_fpext(l, a, l->f64), b_fpext(l, b, l->f64)), NULL);
}

static LLVMValueRef sqrt_f64(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef a)
{
    LLVMValueRef r = b_unary(l, "llvm.sqrt", a);
    /* a - r*r, scaled by 2^200 so that small arguments keep their error. */
    LLVMValueRef small = b_fcmp(l, LLVMRealOLT, a, b_real(l->f64, 0x1p-800));
    LLVMValueRef sa = b_select(l, small, b_fmul(l, a, b_real(l->f64, 0x1p200)), a);
    LLVMValueRef sr = b_select(l, small, b_fmul(l, r, b_real(l->f64, 0x1p100)), r);
    return ptx_round_fix(l, mode, r, b_fma(l, b_fneg(l, sr), sr, sa));
}

LLVMValueRef ptx_round_sqrt(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef a)
{
    if (mode == PTX_RN)
        return b_unary(l, "llvm.sqrt", a);
    if (LLVMTypeOf(a) == l->f64)
        return sqrt_f64(l, mode, a);
    return narrow(l, mode, b_unary(l, "llvm.sqrt", b_fpext(l, a, l->f64)), NULL);
}

/* ---- From integers */
static LLVMValueRef int_nearest(struct ptx_lower *l, LLVMValueRef i, bool is_signed, LLVMTypeRef to)
{
    return is_signed ? b_sitofp(l, i, to) : b_uitofp(l, i, to);
}

/* The magnitude cut to the format's precision converts exactly; what was cut decides about the neighbour. */
LLVMValueRef ptx_round_int(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef i, bool is_signed, LLVMTypeRef to)
{
    unsigned width = b_bits(i), precision = to == l->f64 ? 53 : 24;
    if (mode == PTX_RN || width <= precision)
        return int_nearest(l, i, is_signed, to);
    LLVMTypeRef type = LLVMTypeOf(i);
    LLVMValueRef negative = is_signed ? b_slt(l, i, b_like(i, 0)) : b_bool(l, false);
    LLVMValueRef magnitude = b_select(l, negative, b_neg(l, i), i);
    LLVMValueRef zeros = b_intrinsic(l, "llvm.ctlz", &type, 1, (LLVMValueRef[]){ magnitude, b_bool(l, false) }, 2);
    LLVMValueRef excess = b_binary(l, "llvm.usub.sat", b_like(i, width - precision), zeros);
    LLVMValueRef cut = b_shl(l, b_lshr(l, magnitude, excess), excess);
    LLVMValueRef r = b_uitofp(l, cut, to), bits = ptx_to_bits(l, r);
    LLVMValueRef away = b_ne(l, cut, magnitude);
    if (mode == PTX_RZ)
        away = b_bool(l, false);
    else
        away = b_and(l, away, mode == PTX_RP ? b_not(l, negative) : negative);
    bits = b_add(l, bits, b_zext(l, away, LLVMTypeOf(bits)));
    bits = b_or(l, bits, b_select(l, negative, sign_mask(bits), b_like(bits, 0)));
    return ptx_from_bits(l, bits, to);
}

/* ---- Narrow formats */
LLVMValueRef ptx_f32_to_f16(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef f)
{
    LLVMValueRef r = b_fptrunc(l, f, l->f16);
    return mode == PTX_RN ? r : ptx_round_fix(l, mode, r, b_fsub(l, f, b_fpext(l, r, l->f32)));
}

LLVMValueRef ptx_f32_to_bf16(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef f)
{
    LLVMValueRef bits = ptx_to_bits(l, f), high = b_lshr(l, bits, b_i32(l, 16)), r;
    LLVMValueRef inexact = b_ne(l, b_and(l, bits, b_i32(l, 0xffff)), b_i32(l, 0));
    LLVMValueRef negative = b_slt(l, bits, b_i32(l, 0));
    if (mode == PTX_RN) {
        LLVMValueRef half = b_add(l, b_i32(l, 0x7fff), b_and(l, high, b_i32(l, 1)));
        r = b_lshr(l, b_add(l, bits, half), b_i32(l, 16));
    } else if (mode == PTX_RZ) {
        r = high;
    } else {
        LLVMValueRef away = b_and(l, inexact, mode == PTX_RP ? b_not(l, negative) : negative);
        r = b_add(l, high, b_zext(l, away, l->i32));
    }
    return b_trunc(l, b_select(l, ptx_is_nan(l, f), b_i32(l, 0x7fff), r), l->i16);
}

LLVMValueRef ptx_bf16_to_f32(struct ptx_lower *l, LLVMValueRef bits)
{
    return b_bitcast(l, b_shl(l, b_zext(l, bits, l->i32), b_i32(l, 16)), l->f32);
}

LLVMValueRef ptx_fma_f16(struct ptx_lower *l, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    if (l->target->features & PTX_TARGET_NATIVE_F16)
        return b_fma(l, a, b, c);
    /* The product is exact in f32, and nothing on the way is subnormal there. */
    LLVMValueRef p = b_fmul(l, b_fpext(l, a, l->f32), b_fpext(l, b, l->f32));
    return b_fptrunc(l, ptx_round_sum_odd(l, p, b_fpext(l, c, l->f32)), l->f16);
}

LLVMValueRef ptx_fma_bf16(struct ptx_lower *l, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    LLVMValueRef x = b_fpext(l, ptx_bf16_to_f32(l, a), l->f64), y = b_fpext(l, ptx_bf16_to_f32(l, b), l->f64);
    LLVMValueRef z = b_fpext(l, ptx_bf16_to_f32(l, c), l->f64);
    LLVMValueRef s = ptx_round_sum_odd(l, b_fmul(l, x, y), z);
    return ptx_f32_to_bf16(l, PTX_RN, ptx_round_f64_f32_odd(l, s));
}

/* ---- Flushing, saturation, minimum and maximum */
LLVMValueRef ptx_flush(struct ptx_lower *l, LLVMValueRef v)
{
    LLVMTypeRef type = LLVMTypeOf(v);
    if (type == l->f32 && l->flushing)
        return b_unary(l, "llvm.canonicalize", v); /* nothing where `v` is a result already */
    LLVMValueRef least = b_real(type, type == l->f16 ? 0x1p-14 : type == l->f32 ? 0x1p-126 : 0x1p-1022);
    LLVMValueRef small = b_fcmp(l, LLVMRealOLT, b_unary(l, "llvm.fabs", v), least);
    return b_select(l, small, b_binary(l, "llvm.copysign", b_real(type, 0.0), v), v);
}

LLVMValueRef ptx_saturate(struct ptx_lower *l, LLVMValueRef v)
{
    LLVMTypeRef type = LLVMTypeOf(v);
    LLVMValueRef low = b_select(l, b_fcmp(l, LLVMRealOGT, v, b_real(type, 0.0)), v, b_real(type, 0.0));
    return b_select(l, b_fcmp(l, LLVMRealOLT, low, b_real(type, 1.0)), low, b_real(type, 1.0));
}

static LLVMValueRef canonical_nan(struct ptx_lower *l, LLVMTypeRef type)
{
    return type == l->f64 ? LLVMConstBitCast(b_i64(l, 0x7fffffffffffffffull), type)
           : type == l->f32 ? LLVMConstBitCast(b_i32(l, 0x7fffffff), type)
                            : LLVMConstBitCast(b_int(l->i16, 0x7fff), type);
}

LLVMValueRef ptx_minmax(struct ptx_lower *l, bool max, bool nan, LLVMValueRef a, LLVMValueRef b)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    LLVMValueRef r;
    if (type == l->f16 && !(l->target->features & PTX_TARGET_NATIVE_F16)) {
        LLVMValueRef x = b_fpext(l, a, l->f32), y = b_fpext(l, b, l->f32);
        r = b_fptrunc(l, ptx_llvm_extreme(l->builder, l->module, max, x, y), type);
    } else {
        r = ptx_llvm_extreme(l->builder, l->module, max, a, b);
    }
    LLVMValueRef bad = nan ? b_fcmp(l, LLVMRealUNO, a, b) : ptx_is_nan(l, r);
    return b_select(l, bad, canonical_nan(l, type), r);
}
