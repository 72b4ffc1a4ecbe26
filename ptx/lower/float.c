/* Floating-point arithmetic: f32, f64, f16, bf16 and their pairs (PTX ISA 9.7.3 and 9.7.4).
 *
 * Every instruction here is read operands, flush where .ftz says, compute, flush, saturate, write; pairs do it per half.
 * Rounding itself is round.c's.  bf16 values are i16 between instructions. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/internal.h"

/* One scalar computation on up to three operands of `type` (never a pair). */
typedef LLVMValueRef compute_fn(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type type, LLVMValueRef *v);

static enum ptx_type element_of(enum ptx_type t)
{
    return t == PTX_F16X2 ? PTX_F16 : t == PTX_BF16X2 ? PTX_BF16 : t == PTX_F32X2 ? PTX_F32 : t;
}

/* .ftz of an operand or result; f64 has none. */
static LLVMValueRef flush_where_asked(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type type, LLVMValueRef v)
{
    if (!ptx_has(in, PTX_MOD_FTZ) || type == PTX_F64 || ptx_flushes_itself(l, in, type))
        return v;
    if (type != PTX_BF16)
        return ptx_flush(l, v);
    LLVMValueRef small = b_eq(l, b_and(l, v, b_like(v, 0x7f80)), b_like(v, 0));
    return b_select(l, small, b_and(l, v, b_like(v, 0x8000)), v);
}

static LLVMValueRef relu(struct ptx_lower *l, enum ptx_type type, LLVMValueRef v)
{
    if (type == PTX_BF16) {
        LLVMValueRef nan = ptx_is_nan(l, ptx_bf16_to_f32(l, v)), negative = b_slt(l, v, b_like(v, 0));
        return b_select(l, nan, b_like(v, 0x7fff), b_select(l, negative, b_like(v, 0), v));
    }
    return ptx_minmax(l, true, true, v, b_real(LLVMTypeOf(v), 0.0));
}

static LLVMValueRef finish_value(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type type, LLVMValueRef r)
{
    r = flush_where_asked(l, in, type, r);
    if (ptx_flushes_as_operand(l, in, type)) /* once that is known, LLVM takes the operand as it is */
        r = b_unary(l, "llvm.canonicalize", r);
    if (ptx_has(in, PTX_MOD_SAT) && type != PTX_BF16)
        r = ptx_saturate(l, r);
    if (ptx_has(in, PTX_MOD_RELU))
        r = relu(l, type, r);
    return r;
}

static LLVMValueRef half_of(struct ptx_lower *l, LLVMValueRef pair, unsigned i, enum ptx_type element)
{
    unsigned bits = ptx_type_bits(element);
    LLVMValueRef part = b_trunc(l, b_lshr(l, pair, b_like(pair, bits * i)), ptx_int_type(l, bits));
    return ptx_from_bits(l, part, ptx_llvm_type(l, element));
}

/* Applies `compute` to operands 1 .. n of type in->types[t], per half for pairs. */
static bool apply(struct ptx_lower *l, const struct ptx_instr *in, unsigned n, compute_fn *compute)
{
    enum ptx_type type = in->types[0], element = element_of(type);
    LLVMValueRef v[3] = { 0 }, raw[3] = { 0 }, r = NULL;
    for (unsigned i = 0; i < n; i++)
        raw[i] = ptx_src(l, &in->ops[1 + i], type);
    unsigned parts = element == type ? 1 : 2;
    for (unsigned p = 0; p < parts; p++) {
        l->half = p;
        for (unsigned i = 0; i < n; i++)
            v[i] = flush_where_asked(l, in, element, parts == 1 ? raw[i] : half_of(l, raw[i], p, element));
        LLVMValueRef x = finish_value(l, in, element, compute(l, in, element, v));
        if (parts == 1) {
            r = x;
            break;
        }
        LLVMTypeRef whole = ptx_llvm_type(l, type);
        x = b_zext(l, ptx_to_bits(l, x), whole);
        r = p == 0 ? x : b_or(l, r, b_shl(l, x, b_like(x, ptx_type_bits(element))));
    }
    ptx_dst(l, &in->ops[0], type, r);
    return true;
}

/* bf16 through f32: exact for one operation, as 24 > 2 * 8 + 2. */
#define VIA_F32(l, expression) ptx_f32_to_bf16(l, PTX_RN, expression)
static LLVMValueRef wide(struct ptx_lower *l, LLVMValueRef v) { return ptx_bf16_to_f32(l, v); }

/* ---- add, sub, mul, fma */

static LLVMValueRef compute_add(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type type, LLVMValueRef *v)
{
    bool subtract = aw_str_is(in->mnemonic, "sub");
    LLVMValueRef fused = ptx_fuse_sum(l, in, type, v);
    if (fused)
        return fused;
    if (type == PTX_BF16) {
        LLVMValueRef b = wide(l, v[1]);
        return VIA_F32(l, b_fadd(l, wide(l, v[0]), subtract ? b_fneg(l, b) : b));
    }
    if (ptx_round_of(in) == PTX_RN)
        return subtract ? b_fsub(l, v[0], v[1]) : b_fadd(l, v[0], v[1]);
    return ptx_round_add(l, ptx_round_of(in), v[0], subtract ? b_fneg(l, v[1]) : v[1]);
}

bool ptx_lower_add_float(struct ptx_lower *l, const struct ptx_instr *in) { return apply(l, in, 2, compute_add); }

static LLVMValueRef compute_mul(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type type, LLVMValueRef *v)
{
    ptx_fuse_product(l, in, v);
    if (type == PTX_BF16)
        return VIA_F32(l, b_fmul(l, wide(l, v[0]), wide(l, v[1])));
    if (ptx_round_of(in) == PTX_RN)
        return b_fmul(l, v[0], v[1]);
    return ptx_round_mul(l, ptx_round_of(in), v[0], v[1]);
}

bool ptx_lower_mul_float(struct ptx_lower *l, const struct ptx_instr *in) { return apply(l, in, 2, compute_mul); }

static LLVMValueRef compute_fma(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type type, LLVMValueRef *v)
{
    if (type == PTX_BF16)
        return ptx_fma_bf16(l, v[0], v[1], v[2]);
    if (type == PTX_F16)
        return ptx_fma_f16(l, v[0], v[1], v[2]);
    return ptx_round_fma(l, ptx_round_of(in), v[0], v[1], v[2]);
}

bool ptx_lower_fma(struct ptx_lower *l, const struct ptx_instr *in) { return apply(l, in, 3, compute_fma); }

/* fma.oob: 0 where a factor is the NaN that a tensor copy fills in for elements out of bounds.  The manual does not print its
 * value; it is 0x7ff7 in both formats of 16 bits, whatever its sign. */
static LLVMValueRef compute_fma_oob(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type type, LLVMValueRef *v)
{
    LLVMValueRef oob = b_int(l->i16, 0x7ff7), magnitude = b_int(l->i16, 0x7fff);
    LLVMValueRef a = b_and(l, ptx_to_bits(l, v[0]), magnitude), b = b_and(l, ptx_to_bits(l, v[1]), magnitude);
    LLVMValueRef r = compute_fma(l, in, type, v);
    return b_select(l, b_or(l, b_eq(l, a, oob), b_eq(l, b, oob)), LLVMConstNull(LLVMTypeOf(r)), r);
}

bool ptx_lower_fma_oob(struct ptx_lower *l, const struct ptx_instr *in) { return apply(l, in, 3, compute_fma_oob); }

/* ---- Mixed precision: f16 or bf16 operands widened, which is exact, then f32 */
static LLVMValueRef widened(struct ptx_lower *l, const struct ptx_operand *op, enum ptx_type type)
{
    LLVMValueRef v = ptx_src(l, op, type);
    return type == PTX_BF16 ? ptx_bf16_to_f32(l, v) : b_fpext(l, v, l->f32);
}

static bool write_mixed(struct ptx_lower *l, const struct ptx_instr *in, LLVMValueRef r)
{
    ptx_dst(l, &in->ops[0], PTX_F32, finish_value(l, in, PTX_F32, r));
    return true;
}

/* add and sub: d = a + c. */
bool ptx_lower_add_mixed(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMValueRef a = widened(l, &in->ops[1], in->types[1]), c = ptx_src(l, &in->ops[2], PTX_F32);
    if (aw_str_is(in->mnemonic, "sub"))
        c = b_fneg(l, c);
    return write_mixed(l, in, ptx_round_add(l, ptx_round_of(in), a, c));
}

bool ptx_lower_fma_mixed(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMValueRef a = widened(l, &in->ops[1], in->types[1]), b = widened(l, &in->ops[2], in->types[1]);
    return write_mixed(l, in, ptx_round_fma(l, ptx_round_of(in), a, b, ptx_src(l, &in->ops[3], PTX_F32)));
}

/* The approximation `id`, or `flushing` where the instruction flushes and the machine's approximation does so by itself. */
static LLVMValueRef approximation(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_simt id, enum ptx_simt flushing,
                                  LLVMValueRef *v)
{
    bool native = ptx_has(in, PTX_MOD_FTZ) && (l->target->features & PTX_TARGET_FTZ_APPROX);
    return b_simt(l, native ? flushing : id, v);
}

/* ---- div, rcp, sqrt, rsqrt */
static LLVMValueRef compute_div(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type type, LLVMValueRef *v)
{
    if (ptx_has(in, PTX_MOD_APPROX))
        return b_simt(l, PTX_SIMT_DIV_F32, v);
    if (ptx_has(in, PTX_MOD_FULL))
        return b_simt(l, PTX_SIMT_DIVFULL_F32, v);
    return ptx_round_div(l, ptx_round_of(in), v[0], v[1]);
}

bool ptx_lower_div_float(struct ptx_lower *l, const struct ptx_instr *in) { return apply(l, in, 2, compute_div); }

static LLVMValueRef compute_rcp(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type type, LLVMValueRef *v)
{
    if (ptx_has(in, PTX_MOD_APPROX))
        return approximation(l, in, PTX_SIMT_RCP_F32, PTX_SIMT_RCP_FTZ_F32, v); /* f64 has its own way */
    return ptx_round_div(l, ptx_round_of(in), b_real(LLVMTypeOf(v[0]), 1.0), v[0]);
}

static LLVMValueRef compute_sqrt(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type type, LLVMValueRef *v)
{
    if (ptx_has(in, PTX_MOD_APPROX))
        return approximation(l, in, PTX_SIMT_SQRT_F32, PTX_SIMT_SQRT_FTZ_F32, v);
    return ptx_round_sqrt(l, ptx_round_of(in), v[0]);
}

static LLVMValueRef compute_rsqrt(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type type, LLVMValueRef *v)
{
    return type == PTX_F64 ? b_simt(l, PTX_SIMT_RSQRT_F64, v)
                           : approximation(l, in, PTX_SIMT_RSQRT_F32, PTX_SIMT_RSQRT_FTZ_F32, v);
}

/* rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: subnormals count as zero; the result's low word is zero. */
static bool approx_ftz_f64(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_simt id)
{
    LLVMValueRef v = ptx_flush(l, ptx_src(l, &in->ops[1], PTX_F64));
    LLVMValueRef high = b_and(l, ptx_to_bits(l, v), b_i64(l, 0xffffffff00000000ull));
    v = ptx_from_bits(l, high, l->f64);
    LLVMValueRef r = ptx_flush(l, b_simt(l, id, &v));
    high = b_and(l, ptx_to_bits(l, r), b_i64(l, 0xffffffff00000000ull));
    LLVMValueRef nan = b_i64(l, 0x7fffffff00000000ull);
    ptx_dst(l, &in->ops[0], PTX_B64, b_select(l, ptx_is_nan(l, r), nan, high));
    return true;
}

bool ptx_lower_rcp(struct ptx_lower *l, const struct ptx_instr *in)
{
    if (in->types[0] == PTX_F64 && ptx_has(in, PTX_MOD_APPROX))
        return approx_ftz_f64(l, in, PTX_SIMT_RCP_F64);
    return apply(l, in, 1, compute_rcp);
}

bool ptx_lower_sqrt(struct ptx_lower *l, const struct ptx_instr *in) { return apply(l, in, 1, compute_sqrt); }

bool ptx_lower_rsqrt(struct ptx_lower *l, const struct ptx_instr *in)
{
    if (in->types[0] == PTX_F64 && ptx_has(in, PTX_MOD_FTZ))
        return approx_ftz_f64(l, in, PTX_SIMT_RSQRT_F64);
    return apply(l, in, 1, compute_rsqrt);
}

/* ---- Approximations; f16 and bf16 through f32 */
static LLVMValueRef approximate(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_simt id, enum ptx_type type,
                                LLVMValueRef v)
{
    if (type == PTX_F32 && id == PTX_SIMT_EX2_F32)
        return approximation(l, in, id, PTX_SIMT_EX2_FTZ_F32, &v);
    if (type == PTX_F32 && id == PTX_SIMT_LG2_F32)
        return approximation(l, in, id, PTX_SIMT_LG2_FTZ_F32, &v);
    if (type == PTX_F32)
        return b_simt(l, id, &v);
    LLVMValueRef f = type == PTX_BF16 ? wide(l, v) : b_fpext(l, v, l->f32), r = b_simt(l, id, &f);
    return type == PTX_BF16 ? VIA_F32(l, r) : b_fptrunc(l, r, l->f16);
}

#define APPROXIMATION(name, id)                                                                                          \
    static LLVMValueRef compute_##name(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type type,              \
                                       LLVMValueRef *v)                                                                  \
    {                                                                                                                    \
        return approximate(l, in, id, type, v[0]);                                                                           \
    }                                                                                                                    \
    bool ptx_lower_##name(struct ptx_lower *l, const struct ptx_instr *in) { return apply(l, in, 1, compute_##name); }
APPROXIMATION(ex2, PTX_SIMT_EX2_F32)
APPROXIMATION(lg2, PTX_SIMT_LG2_F32)
APPROXIMATION(sin, PTX_SIMT_SIN_F32)
APPROXIMATION(cos, PTX_SIMT_COS_F32)
APPROXIMATION(tanh, PTX_SIMT_TANH_F32)
#undef APPROXIMATION

/* ---- Signs */
static LLVMValueRef compute_abs(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type type, LLVMValueRef *v)
{
    return type == PTX_BF16 ? b_and(l, v[0], b_like(v[0], 0x7fff)) : b_unary(l, "llvm.fabs", v[0]);
}

static LLVMValueRef compute_neg(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type type, LLVMValueRef *v)
{
    return type == PTX_BF16 ? b_xor(l, v[0], b_like(v[0], 0x8000)) : b_fneg(l, v[0]);
}

bool ptx_lower_abs_float(struct ptx_lower *l, const struct ptx_instr *in) { return apply(l, in, 1, compute_abs); }
bool ptx_lower_neg_float(struct ptx_lower *l, const struct ptx_instr *in) { return apply(l, in, 1, compute_neg); }

bool ptx_lower_copysign(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type t = in->types[0];
    LLVMValueRef sign = ptx_src(l, &in->ops[1], t), magnitude = ptx_src(l, &in->ops[2], t);
    ptx_dst(l, &in->ops[0], t, b_binary(l, "llvm.copysign", magnitude, sign));
    return true;
}

/* ---- min, max */
static LLVMValueRef minmax_bf16(struct ptx_lower *l, bool max, bool nan, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef r = ptx_minmax(l, max, nan, wide(l, a), wide(l, b));
    return b_trunc(l, b_lshr(l, ptx_to_bits(l, r), b_i32(l, 16)), l->i16); /* exact; 0x7fffffff gives 0x7fff */
}

static LLVMValueRef compute_minmax(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type type, LLVMValueRef *v)
{
    bool max = aw_str_is(in->mnemonic, "max"), nan = ptx_has(in, PTX_MOD_NAN_RESULT);
    if (!ptx_has(in, PTX_MOD_XORSIGN))
        return type == PTX_BF16 ? minmax_bf16(l, max, nan, v[0], v[1]) : ptx_minmax(l, max, nan, v[0], v[1]);
    /* .xorsign.abs: of the magnitudes, with the product's sign */
    LLVMValueRef sign = b_xor(l, ptx_to_bits(l, v[0]), ptx_to_bits(l, v[1]));
    LLVMValueRef a = compute_abs(l, in, type, &v[0]), b = compute_abs(l, in, type, &v[1]);
    LLVMValueRef r = type == PTX_BF16 ? minmax_bf16(l, max, nan, a, b) : ptx_minmax(l, max, nan, a, b);
    LLVMValueRef bits = ptx_to_bits(l, r), top = b_like(bits, 1ull << (b_bits(bits) - 1));
    LLVMValueRef signs = b_or(l, b_and(l, bits, b_not(l, top)), b_and(l, sign, top));
    return ptx_from_bits(l, signs, LLVMTypeOf(r));
}

bool ptx_lower_minmax_float(struct ptx_lower *l, const struct ptx_instr *in) { return apply(l, in, 2, compute_minmax); }

/* Of three, f32 alone; .abs: of the magnitudes.  Two NaNs of three leave the number. */
static LLVMValueRef compute_minmax3(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type type, LLVMValueRef *v)
{
    bool max = aw_str_is(in->mnemonic, "max"), nan = ptx_has(in, PTX_MOD_NAN_RESULT);
    for (unsigned i = 0; i < 3; i++)
        v[i] = ptx_has(in, PTX_MOD_ABS) ? compute_abs(l, in, type, &v[i]) : v[i];
    return ptx_minmax(l, max, nan, ptx_minmax(l, max, nan, v[0], v[1]), v[2]);
}

bool ptx_lower_minmax3_float(struct ptx_lower *l, const struct ptx_instr *in) { return apply(l, in, 3, compute_minmax3); }

/* ---- testp */
bool ptx_lower_testp(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMValueRef v = ptx_src(l, &in->ops[1], in->types[0]), a = b_unary(l, "llvm.fabs", v), r;
    LLVMTypeRef type = LLVMTypeOf(v);
    LLVMValueRef bits = ptx_to_bits(l, a);
    LLVMValueRef infinity = b_real(type, __builtin_inf()), least = b_real(type, type == l->f32 ? 0x1p-126 : 0x1p-1022);
    if (ptx_has(in, PTX_MOD_FINITE))
        r = b_fcmp(l, LLVMRealOLT, a, infinity);
    else if (ptx_has(in, PTX_MOD_INFINITE))
        r = b_fcmp(l, LLVMRealOEQ, a, infinity);
    else if (ptx_has(in, PTX_MOD_NUMBER))
        r = b_fcmp(l, LLVMRealORD, v, v);
    else if (ptx_has(in, PTX_MOD_NOTANUMBER))
        r = b_fcmp(l, LLVMRealUNO, v, v);
    else if (ptx_has(in, PTX_MOD_NORMAL)) /* zeros count among the normal numbers */
        r = b_or(l, b_and(l, b_fcmp(l, LLVMRealOGE, a, least), b_fcmp(l, LLVMRealOLT, a, infinity)),
                 b_eq(l, bits, b_like(bits, 0)));
    else /* subnormal: not zero either */
        r = b_and(l, b_fcmp(l, LLVMRealOLT, a, least), b_ne(l, bits, b_like(bits, 0)));
    ptx_dst(l, &in->ops[0], PTX_PRED, r);
    return true;
}
