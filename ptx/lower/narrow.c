/* Conversion to and from formats below 16 bits (fp8, fp6, fp4, powers of two), and stochastic rounding (PTX ISA 9.7.9.22).
 *
 * No machine here has these formats: all is integer arithmetic on an f32's bits.  Not the formats of 16 bits with the usual
 * roundings (cvt.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/internal.h"

struct narrow {
    unsigned bits, fraction; /* of one element; of its fraction */
    int e_min;               /* exponent of the smallest normal number */
    unsigned max, nan;       /* codes: the largest finite number's, and what a NaN becomes */
    unsigned over;           /* what is too large becomes without .satfinite */
};

static const struct narrow *narrow_of(enum ptx_type type)
{
    static const struct narrow e4m3 = { 8, 3, -6, 0x7e, 0x7f, 0x7e }, e5m2 = { 8, 2, -14, 0x7b, 0x7f, 0x7b };
    static const struct narrow e2m3 = { 6, 3, 0, 0x1f, 0x1f, 0x1f }, e3m2 = { 6, 2, -2, 0x1f, 0x1f, 0x1f };
    static const struct narrow e2m1 = { 4, 1, 0, 7, 7, 7 }, f16 = { 16, 10, -14, 0x7bff, 0x7fff, 0x7c00 };
    static const struct narrow bf16 = { 16, 7, -126, 0x7f7f, 0x7fff, 0x7f80 };
    switch (type) {
    case PTX_E4M3X2: case PTX_E4M3X4: return &e4m3;
    case PTX_E5M2X2: case PTX_E5M2X4: return &e5m2;
    case PTX_E2M3X2: case PTX_E2M3X4: return &e2m3;
    case PTX_E3M2X2: case PTX_E3M2X4: return &e3m2;
    case PTX_E2M1X2: case PTX_E2M1X4: return &e2m1;
    case PTX_F16X2: return &f16;
    default: return &bf16;
    }
}

/* Bits from one element of a packed type to the next. */
static unsigned stride_of(enum ptx_type type, unsigned n)
{
    return ptx_type_bits(type) / n;
}

/* Element i, from the lowest, of a conversion of pairs, as f32: f32 sources are operands of their own, the first the highest. */
static LLVMValueRef pair_source(struct ptx_lower *l, const struct ptx_instr *in, unsigned i)
{
    enum ptx_type from = in->types[1];
    if (from == PTX_F32)
        return ptx_src(l, &in->ops[2 - i], PTX_F32);
    LLVMValueRef pair = ptx_src(l, &in->ops[1], PTX_B32), half = b_trunc(l, b_lshr(l, pair, b_i32(l, 16 * i)), l->i16);
    return from == PTX_BF16X2 ? ptx_bf16_to_f32(l, half) : b_fpext(l, b_bitcast(l, half, l->f16), l->f32);
}

/* Elements of i32 side by side, the first the lowest. */
static void pack(struct ptx_lower *l, const struct ptx_instr *in, LLVMValueRef *element, unsigned n)
{
    unsigned stride = stride_of(in->types[0], n);
    LLVMValueRef r = element[0];
    for (unsigned i = 1; i < n; i++)
        r = b_or(l, r, b_shl(l, element[i], b_i32(l, i * stride)));
    enum ptx_type whole = n * stride == 8 ? PTX_B8 : n * stride == 16 ? PTX_B16 : PTX_B32;
    ptx_dst(l, &in->ops[0], whole, b_trunc(l, r, ptx_int_type(l, n * stride)));
}

static LLVMValueRef magnitude_of(struct ptx_lower *l, LLVMValueRef bits)
{
    return b_and(l, bits, b_i32(l, 0x7fffffff));
}

/* The code of a magnitude with its sign; NaN and .relu as the instruction has them. */
static LLVMValueRef finish(struct ptx_lower *l, const struct ptx_instr *in, const struct narrow *n, LLVMValueRef v,
                           LLVMValueRef code)
{
    LLVMValueRef bits = ptx_to_bits(l, v), sign = b_lshr(l, bits, b_i32(l, 31)), r;
    if (ptx_has(in, PTX_MOD_RELU))
        r = b_select(l, b_ne(l, sign, b_i32(l, 0)), b_i32(l, 0), code);
    else
        r = b_or(l, code, b_shl(l, sign, b_i32(l, n->bits - 1)));
    return b_select(l, b_ult(l, b_i32(l, 0x7f800000), magnitude_of(l, bits)), b_i32(l, n->nan), r);
}

/* To nearest even.  A normal number's fraction is rounded in place; below, adding a power of two whose last place is the format's
 * leaves the code in the sum's low bits. */
static LLVMValueRef nearest(struct ptx_lower *l, const struct ptx_instr *in, const struct narrow *n, LLVMValueRef v)
{
    unsigned shift = 23 - n->fraction, least = (unsigned)(n->e_min + 127);
    LLVMValueRef size = magnitude_of(l, ptx_to_bits(l, v));
    LLVMValueRef odd = b_and(l, b_lshr(l, size, b_i32(l, shift)), b_i32(l, 1));
    LLVMValueRef normal = b_lshr(l, b_add(l, size, b_add(l, b_i32(l, (1u << (shift - 1)) - 1), odd)), b_i32(l, shift));
    normal = b_sub(l, normal, b_i32(l, (least - 1) << n->fraction));
    uint32_t unit = (uint32_t)(n->e_min - (int)n->fraction + 23 + 127) << 23;
    LLVMValueRef one = LLVMConstBitCast(b_i32(l, unit), l->f32);
    LLVMValueRef sum = b_fadd(l, ptx_from_bits(l, size, l->f32), one);
    LLVMValueRef below = b_sub(l, ptx_to_bits(l, sum), b_i32(l, unit));
    LLVMValueRef code = b_select(l, b_ult(l, size, b_i32(l, least << 23)), below, normal);
    return finish(l, in, n, v, b_umin(l, code, b_i32(l, n->max)));
}

/* `random`, of `bits` bits, added to the first bits that are cut off.  Those below them cannot carry, and go first. */
static LLVMValueRef stochastic(struct ptx_lower *l, const struct ptx_instr *in, const struct narrow *n, LLVMValueRef v,
                               LLVMValueRef random, unsigned bits)
{
    unsigned shift = 23 - n->fraction, least = (unsigned)(n->e_min + 127);
    LLVMValueRef size = magnitude_of(l, ptx_to_bits(l, v)), code;
    if (n->e_min == -126) { /* f32's own exponents */
        code = b_lshr(l, b_add(l, b_lshr(l, size, b_i32(l, shift - bits)), random), b_i32(l, bits));
    } else {
        LLVMValueRef exponent = b_lshr(l, size, b_i32(l, 23));
        LLVMValueRef whole = b_or(l, b_and(l, size, b_i32(l, 0x7fffff)), b_i32(l, 0x800000));
        LLVMValueRef down = b_binary(l, "llvm.usub.sat", b_i32(l, least), exponent);
        down = b_umin(l, b_add(l, down, b_i32(l, shift - bits)), b_i32(l, 31));
        LLVMValueRef kept = b_lshr(l, b_add(l, b_lshr(l, whole, down), random), b_i32(l, bits));
        LLVMValueRef above = b_binary(l, "llvm.usub.sat", exponent, b_i32(l, least));
        code = b_add(l, kept, b_shl(l, above, b_i32(l, n->fraction)));
    }
    bool finite = ptx_has(in, PTX_MOD_SATFINITE);
    return finish(l, in, n, v, b_umin(l, code, b_i32(l, finite ? n->max : n->over)));
}

bool ptx_lower_cvt_narrow(struct ptx_lower *l, const struct ptx_instr *in)
{
    const struct narrow *n = narrow_of(in->types[0]);
    LLVMValueRef r[2];
    for (unsigned i = 0; i < 2; i++)
        r[i] = nearest(l, in, n, pair_source(l, in, i));
    pack(l, in, r, 2);
    return true;
}

/* a takes the high half of the random bits, b the low one; f16 cuts 13 bits and uses as many of each half. */
bool ptx_lower_cvt_rs_x2(struct ptx_lower *l, const struct ptx_instr *in)
{
    const struct narrow *n = narrow_of(in->types[0]);
    unsigned bits = in->types[0] == PTX_F16X2 ? 13 : 16;
    LLVMValueRef random = ptx_src(l, &in->ops[3], PTX_B32), r[2];
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef mine = b_and(l, b_lshr(l, random, b_i32(l, 16 * i)), b_i32(l, (1u << bits) - 1));
        r[i] = stochastic(l, in, n, pair_source(l, in, i), mine, bits);
    }
    pack(l, in, r, 2);
    return true;
}

/* cvt.rs d, {a, b, e, f}, rbits: two elements share 16 random bits, of which the first of the two reads them in reverse order, as
 * the machines do that have the instruction.  For e2m1x4 they are the upper bytes of rbits' halves, and the lower ones. */
bool ptx_lower_cvt_rs_x4(struct ptx_lower *l, const struct ptx_instr *in)
{
    const struct ptx_operand *source = &in->ops[1];
    const struct narrow *n = narrow_of(in->types[0]);
    LLVMValueRef random = ptx_src(l, &in->ops[2], PTX_B32), shared[2], r[4];
    if (in->types[0] == PTX_E2M1X4) { /* the middle bytes change places */
        LLVMValueRef outer = b_and(l, random, b_i32(l, 0xff0000ff)), up = b_and(l, random, b_i32(l, 0xff00));
        LLVMValueRef down = b_and(l, b_lshr(l, random, b_i32(l, 8)), b_i32(l, 0xff00));
        random = b_or(l, b_or(l, outer, b_shl(l, up, b_i32(l, 8))), down);
    }
    LLVMValueRef reversed = b_unary(l, "llvm.bitreverse", random);
    shared[0] = b_and(l, random, b_i32(l, 0xffff));
    shared[1] = b_lshr(l, random, b_i32(l, 16));
    for (unsigned i = 0; i < 4; i++) {
        LLVMValueRef mine = shared[i / 2];
        if (i & 1) /* the reverse of the low half is the high half of the reverse */
            mine = i == 1 ? b_lshr(l, reversed, b_i32(l, 16)) : b_and(l, reversed, b_i32(l, 0xffff));
        r[i] = stochastic(l, in, n, ptx_src(l, &source->items[3 - i], PTX_F32), mine, 16);
    }
    pack(l, in, r, 4);
    return true;
}

/* One element as f16's bits: the significand as an integer, times a power of two; exact. */
static LLVMValueRef widened(struct ptx_lower *l, const struct ptx_instr *in, const struct narrow *n, LLVMValueRef code)
{
    LLVMValueRef size = b_and(l, code, b_i32(l, (1u << (n->bits - 1)) - 1)), sign = b_lshr(l, code, b_i32(l, n->bits - 1)), r;
    if (n->e_min == -14) {
        r = b_shl(l, size, b_i32(l, 10 - n->fraction)); /* e5m2 is f16's upper half */
    } else {
        LLVMValueRef exponent = b_lshr(l, size, b_i32(l, n->fraction)), hidden = b_i32(l, 1u << n->fraction);
        LLVMValueRef fraction = b_and(l, size, b_i32(l, (1u << n->fraction) - 1));
        LLVMValueRef normal = b_ne(l, exponent, b_i32(l, 0));
        LLVMValueRef whole = b_select(l, normal, b_or(l, fraction, hidden), fraction);
        whole = b_shl(l, whole, b_binary(l, "llvm.usub.sat", exponent, b_i32(l, 1)));
        double unit = 1.0;
        for (int e = n->e_min - (int)n->fraction; e < 0; e++)
            unit /= 2;
        LLVMValueRef f = b_fmul(l, b_sitofp(l, whole, l->f32), b_real(l->f32, unit));
        r = b_zext(l, b_bitcast(l, b_fptrunc(l, f, l->f16), l->i16), l->i32);
    }
    if (ptx_has(in, PTX_MOD_RELU))
        r = b_select(l, b_ne(l, sign, b_i32(l, 0)), b_i32(l, 0), r);
    else
        r = b_or(l, r, b_shl(l, sign, b_i32(l, 15)));
    if (n->nan == n->max)
        return r;
    unsigned last = n->fraction == 2 ? 0x7c : n->max; /* e5m2 has an infinity */
    return b_select(l, b_ult(l, b_i32(l, last), size), b_i32(l, 0x7fff), r);
}

bool ptx_lower_cvt_from_narrow(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type from = in->types[1];
    const struct narrow *n = narrow_of(from);
    unsigned stride = stride_of(from, 2);
    LLVMValueRef v = b_resize(l, ptx_src(l, &in->ops[1], stride == 4 ? PTX_B8 : PTX_B16), l->i32), r[2];
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef code = b_and(l, b_lshr(l, v, b_i32(l, i * stride)), b_i32(l, (1u << n->bits) - 1));
        r[i] = widened(l, in, n, code);
    }
    pack(l, in, r, 2);
    return true;
}

/* ---- ue8m0: f32's exponent alone, 0xff for NaN; the sign plays no part.  Its 0 is 2^-127, in the middle of f32's subnormals. */
bool ptx_lower_cvt_ue8m0(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMValueRef r[2], ceiling = b_i32(l, ptx_has(in, PTX_MOD_SATFINITE) ? 0xfe : 0xff);
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef size = magnitude_of(l, ptx_to_bits(l, pair_source(l, in, i))), code = b_lshr(l, size, b_i32(l, 23));
        if (ptx_has(in, PTX_MOD_RP)) {
            LLVMValueRef rest = b_and(l, size, b_i32(l, 0x7fffff));
            LLVMValueRef half = b_select(l, b_eq(l, code, b_i32(l, 0)), b_i32(l, 0x400000), b_i32(l, 0));
            code = b_add(l, code, b_zext(l, b_ult(l, half, rest), l->i32));
        }
        code = b_umin(l, code, ceiling);
        r[i] = b_select(l, b_ult(l, b_i32(l, 0x7f800000), size), b_i32(l, 0xff), code);
    }
    pack(l, in, r, 2);
    return true;
}

bool ptx_lower_cvt_from_ue8m0(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMValueRef v = b_zext(l, ptx_src(l, &in->ops[1], PTX_B16), l->i32), r[2];
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef code = b_and(l, b_lshr(l, v, b_i32(l, 8 * i)), b_i32(l, 0xff));
        LLVMValueRef bits = b_select(l, b_eq(l, code, b_i32(l, 0)), b_i32(l, 0x40), b_shl(l, code, b_i32(l, 7)));
        r[i] = b_select(l, b_eq(l, code, b_i32(l, 0xff)), b_i32(l, 0x7fff), bits);
    }
    pack(l, in, r, 2);
    return true;
}
