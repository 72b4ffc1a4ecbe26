/* Conversion between types: cvt and cvt.pack (PTX ISA 9.7.9.22, 9.7.9.23). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/internal.h"

static enum ptx_round rounding(const struct ptx_instr *in, bool *ret_integral)
{
    *ret_integral = ptx_has(in, PTX_MOD_RNI) || ptx_has(in, PTX_MOD_RZI) || ptx_has(in, PTX_MOD_RMI) ||
                    ptx_has(in, PTX_MOD_RPI);
    return ptx_has(in, PTX_MOD_RZI) ? PTX_RZ : ptx_has(in, PTX_MOD_RMI) ? PTX_RM
           : ptx_has(in, PTX_MOD_RPI) ? PTX_RP : ptx_round_of(in);
}

/* ---- Integer to integer */

/* Bounds of `type` as constants of the wide type `v` has. */
static LLVMValueRef clamp_int(struct ptx_lower *l, LLVMValueRef v, bool v_signed, enum ptx_type to)
{
    unsigned bits = ptx_type_bits(to);
    uint64_t max = ptx_is_signed(to) ? (1ull << (bits - 1)) - 1 : bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
    LLVMTypeRef wide = l->i128;
    LLVMValueRef x = v_signed ? b_sext(l, v, wide) : b_zext(l, v, wide);
    LLVMValueRef low = ptx_is_signed(to) ? LLVMConstInt(wide, -(1ull << (bits - 1)), 1) : b_int(wide, 0);
    x = b_binary(l, "llvm.smax", x, low);
    x = b_binary(l, "llvm.smin", x, LLVMConstInt(wide, max, 0));
    return b_trunc(l, x, ptx_int_type(l, bits));
}

static LLVMValueRef int_to_int(struct ptx_lower *l, const struct ptx_instr *in, LLVMValueRef v, enum ptx_type to,
                               enum ptx_type from)
{
    if (ptx_has(in, PTX_MOD_SAT))
        return clamp_int(l, v, ptx_is_signed(from), to);
    LLVMTypeRef type = ptx_int_type(l, ptx_type_bits(to));
    return ptx_is_signed(from) ? b_sresize(l, v, type) : b_resize(l, v, type);
}

/* ---- Float to float */
static LLVMValueRef to_integral(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef v)
{
    static const char *const names[] = { [PTX_RN] = "llvm.roundeven", [PTX_RZ] = "llvm.trunc", [PTX_RM] = "llvm.floor",
                                         [PTX_RP] = "llvm.ceil" };
    return b_unary(l, names[mode], v);
}

/* Any float as f32 or f64, whichever holds it exactly. */
static LLVMValueRef widen(struct ptx_lower *l, LLVMValueRef v, enum ptx_type from)
{
    if (from == PTX_F16)
        return b_fpext(l, v, l->f32);
    return from == PTX_BF16 ? ptx_bf16_to_f32(l, v) : v;
}

static LLVMValueRef narrow_to(struct ptx_lower *l, enum ptx_round mode, LLVMValueRef v, enum ptx_type to)
{
    LLVMTypeRef have = LLVMTypeOf(v);
    if (to == PTX_F64)
        return have == l->f64 ? v : b_fpext(l, v, l->f64);
    if (to == PTX_F32)
        return have == l->f64 ? ptx_round_f64_f32(l, mode, v) : v;
    if (have == l->f64) /* odd keeps what the second rounding has to know, in every mode */
        v = ptx_round_f64_f32_odd(l, v);
    return to == PTX_F16 ? ptx_f32_to_f16(l, mode, v) : ptx_f32_to_bf16(l, mode, v);
}

static LLVMValueRef canonical(struct ptx_lower *l, LLVMValueRef v, enum ptx_type to)
{
    if (to == PTX_BF16)
        return v; /* done by the conversion */
    LLVMTypeRef type = LLVMTypeOf(v);
    LLVMValueRef nan = to == PTX_F16 ? b_int(l->i16, 0x7fff) : to == PTX_F32 ? b_i32(l, 0x7fffffff)
                                                                            : b_i64(l, 0x7fffffffffffffffull);
    return b_select(l, ptx_is_nan(l, v), LLVMConstBitCast(nan, type), v);
}

static LLVMValueRef relu(struct ptx_lower *l, LLVMValueRef v, enum ptx_type to)
{
    if (to == PTX_BF16) {
        LLVMValueRef nan = ptx_is_nan(l, ptx_bf16_to_f32(l, v)), negative = b_slt(l, v, b_like(v, 0));
        return b_select(l, b_and(l, negative, b_not(l, nan)), b_like(v, 0), v);
    }
    return ptx_minmax(l, true, true, v, b_real(LLVMTypeOf(v), 0.0));
}

/* The largest finite value instead of an infinity, for .satfinite; NaN stays. */
static LLVMValueRef satfinite(struct ptx_lower *l, LLVMValueRef v, enum ptx_type to)
{
    LLVMValueRef bits = ptx_to_bits(l, v);
    uint64_t infinity = to == PTX_F16 ? 0x7c00 : to == PTX_BF16 ? 0x7f80 : 0x7f800000;
    LLVMValueRef sign = b_like(bits, 1ull << (b_bits(bits) - 1)), magnitude = b_and(l, bits, b_not(l, sign));
    LLVMValueRef is_infinite = b_eq(l, magnitude, b_like(bits, infinity));
    return ptx_from_bits(l, b_select(l, is_infinite, b_sub(l, bits, b_like(bits, 1)), bits), LLVMTypeOf(v));
}

static LLVMValueRef float_to_float(struct ptx_lower *l, const struct ptx_instr *in, LLVMValueRef v, enum ptx_type to,
                                   enum ptx_type from)
{
    bool integral, ftz = ptx_has(in, PTX_MOD_FTZ);
    enum ptx_round mode = rounding(in, &integral);
    if (ftz && from == PTX_F32)
        v = ptx_flush(l, v);
    if (to == from && from == PTX_BF16 && !integral)
        return v;
    LLVMValueRef w = widen(l, v, from);
    if (integral)
        w = to_integral(l, mode, w);
    LLVMValueRef r = narrow_to(l, integral ? PTX_RN : mode, w, to);
    if (ftz && to == PTX_F32)
        r = ptx_flush(l, r);
    if (ptx_has(in, PTX_MOD_SAT) && to != PTX_BF16)
        r = ptx_saturate(l, r);
    if (ptx_has(in, PTX_MOD_RELU))
        r = relu(l, r, to);
    if (ptx_has(in, PTX_MOD_SATFINITE))
        r = satfinite(l, r, to);
    /* A wider or equal format keeps what payload there is; PTX states the NaN of narrower ones. */
    return ptx_type_bits(to) >= ptx_type_bits(from) ? r : canonical(l, r, to);
}

/* ---- Float to integer: clamps; NaN is 0, or the sign bit where either side is 64 bits wide */
static LLVMValueRef float_to_int(struct ptx_lower *l, const struct ptx_instr *in, LLVMValueRef v, enum ptx_type to,
                                 enum ptx_type from)
{
    bool integral;
    enum ptx_round mode = rounding(in, &integral);
    unsigned bits = ptx_type_bits(to);
    if (ptx_has(in, PTX_MOD_FTZ) && from == PTX_F32)
        v = ptx_flush(l, v);
    LLVMValueRef w = widen(l, v, from);
    if (mode != PTX_RZ)
        w = to_integral(l, mode, w);
    LLVMTypeRef types[2] = { ptx_int_type(l, bits), LLVMTypeOf(w) };
    LLVMValueRef r = b_intrinsic(l, ptx_is_signed(to) ? "llvm.fptosi.sat" : "llvm.fptoui.sat", types, 2, &w, 1);
    if (from == PTX_F64 || bits == 64)
        r = b_select(l, ptx_is_nan(l, w), LLVMConstInt(types[0], 1ull << (bits - 1), 0), r);
    return r;
}

/* ---- Integer to float */
static LLVMValueRef int_to_float(struct ptx_lower *l, const struct ptx_instr *in, LLVMValueRef v, enum ptx_type to,
                                 enum ptx_type from)
{
    enum ptx_round mode = ptx_round_of(in);
    LLVMValueRef r;
    if (to == PTX_F32 || to == PTX_F64) {
        r = ptx_round_int(l, mode, v, ptx_is_signed(from), ptx_llvm_type(l, to));
    } else {
        /* Through f64, rounding to odd above 53 bits, so that the second rounding sees what it must. */
        LLVMValueRef d = ptx_round_int(l, PTX_RZ, v, ptx_is_signed(from), l->f64);
        if (ptx_type_bits(from) == 64) {
            LLVMValueRef magnitude = v;
            if (ptx_is_signed(from))
                magnitude = b_select(l, b_slt(l, v, b_i64(l, 0)), b_neg(l, v), v);
            LLVMValueRef zeros = b_intrinsic(l, "llvm.ctlz", &l->i64, 1, (LLVMValueRef[]){ magnitude, b_bool(l, false) }, 2);
            LLVMValueRef excess = b_binary(l, "llvm.usub.sat", b_i64(l, 11), zeros);
            LLVMValueRef lost = b_and(l, magnitude, b_sub(l, b_shl(l, b_i64(l, 1), excess), b_i64(l, 1)));
            LLVMValueRef sticky = b_zext(l, b_ne(l, lost, b_i64(l, 0)), l->i64);
            d = ptx_from_bits(l, b_or(l, ptx_to_bits(l, d), sticky), l->f64);
        }
        r = narrow_to(l, mode, d, to);
    }
    return ptx_has(in, PTX_MOD_SAT) && to != PTX_BF16 ? ptx_saturate(l, r) : r;
}

bool ptx_lower_cvt(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type to = in->types[0], from = in->types[1];
    LLVMValueRef v = ptx_src(l, &in->ops[1], from), r;
    if (ptx_is_float(to))
        r = ptx_is_float(from) ? float_to_float(l, in, v, to, from) : int_to_float(l, in, v, to, from);
    else
        r = ptx_is_float(from) ? float_to_int(l, in, v, to, from) : int_to_int(l, in, v, to, from);
    ptx_dst(l, &in->ops[0], to, r);
    return true;
}

/* cvt.rn.f16x2.f32 d, a, b: a in the high half, b in the low. */
bool ptx_lower_cvt_x2(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type element = in->types[0] == PTX_F16X2 ? PTX_F16 : PTX_BF16;
    LLVMValueRef r = b_i32(l, 0);
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef v = float_to_float(l, in, ptx_src(l, &in->ops[2 - i], PTX_F32), element, PTX_F32);
        r = b_or(l, r, b_shl(l, b_zext(l, ptx_to_bits(l, v), l->i32), b_i32(l, 16 * i)));
    }
    ptx_dst(l, &in->ops[0], PTX_B32, r);
    return true;
}

/* cvt to tf32: 10 explicit bits.  .rna rounds ties away from zero, .rn to even, .rz cuts. */
bool ptx_lower_cvt_tf32(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMValueRef f = ptx_src(l, &in->ops[1], PTX_F32), bits = ptx_to_bits(l, f), r = bits;
    LLVMValueRef odd = b_and(l, b_lshr(l, bits, b_i32(l, 13)), b_i32(l, 1));
    if (ptx_has(in, PTX_MOD_RNA))
        r = b_add(l, bits, b_i32(l, 0x1000));
    else if (!ptx_has(in, PTX_MOD_RZ))
        r = b_add(l, bits, b_add(l, b_i32(l, 0xfff), odd));
    r = b_and(l, r, b_i32(l, 0xffffe000));
    if (ptx_has(in, PTX_MOD_SATFINITE)) {
        LLVMValueRef infinite = b_eq(l, b_and(l, r, b_i32(l, 0x7fffffff)), b_i32(l, 0x7f800000));
        r = b_select(l, infinite, b_sub(l, r, b_i32(l, 0x2000)), r);
    }
    if (ptx_has(in, PTX_MOD_RELU))
        r = b_select(l, b_slt(l, bits, b_i32(l, 0)), b_i32(l, 0), r);
    LLVMValueRef infinity = b_eq(l, b_and(l, bits, b_i32(l, 0x7fffffff)), b_i32(l, 0x7f800000));
    if (!ptx_has(in, PTX_MOD_SATFINITE) && !ptx_has(in, PTX_MOD_RELU))
        r = b_select(l, infinity, bits, r);
    ptx_dst(l, &in->ops[0], PTX_B32, b_select(l, ptx_is_nan(l, f), b_i32(l, 0x7fffffff), r));
    return true;
}

/* cvt.pack.sat: a and b clamped side by side, b low; narrower results shift c in above.  types: result, source, of c. */
bool ptx_lower_cvt_pack(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type to = in->types[0];
    unsigned bits = ptx_type_bits(to);
    uint32_t max = (1u << (ptx_is_signed(to) ? bits - 1 : bits)) - 1;
    LLVMValueRef r = in->n_ops > 3 ? ptx_src(l, &in->ops[3], PTX_B32) : b_i32(l, 0);
    if (in->n_ops > 3)
        r = b_shl(l, r, b_i32(l, 2 * bits));
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef v = ptx_src(l, &in->ops[2 - i], PTX_S32);
        v = b_binary(l, "llvm.smax", v, b_i32(l, ptx_is_signed(to) ? ~max : 0));
        v = b_and(l, b_binary(l, "llvm.smin", v, b_i32(l, max)), b_i32(l, (1u << bits) - 1));
        r = b_or(l, r, b_shl(l, v, b_i32(l, i * bits)));
    }
    ptx_dst(l, &in->ops[0], PTX_B32, r);
    return true;
}
