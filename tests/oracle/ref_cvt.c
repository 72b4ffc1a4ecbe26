/* References of conversion: cvt in every pair of types, to and from packed narrow formats, and cvt.pack (PTX ISA 9.7.9.22,
 * 9.7.9.23). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "ref_exact.h"

static uint64_t low_bits(uint64_t v, unsigned n)
{
    return n >= 64 ? v : v & ((1ull << n) - 1);
}

static uint64_t element(const union oracle_value *v, enum ptx_type type, unsigned i)
{
    return low_bits(v->u64[0] >> (i * exact_stride(type)), exact_stride(type));
}

/* An integer of `type` as a 64-bit one of its own signedness. */
static uint64_t extended(uint64_t v, enum ptx_type type)
{
    unsigned bits = ptx_type_bits(type);
    v = low_bits(v, bits);
    bool negative = ptx_type_class(type) == 'S' && v >> (bits - 1) & 1;
    return negative && bits < 64 ? v | UINT64_MAX << bits : v;
}

/* A value on its way into `f`: rounded, then .satfinite and .relu as the instruction has them. */
static uint64_t limited(const struct ptx_instr *in, const struct exact_format *f, struct exact x, uint64_t code)
{
    uint64_t sign = 1ull << (f->width - 1);
    if (ptx_has(in, PTX_MOD_SATFINITE) && x.kind != EXACT_NAN && (code & ~sign) > f->max)
        code = (code & sign) | f->max;
    if (ptx_has(in, PTX_MOD_RELU) && x.kind != EXACT_NAN && x.negative)
        code = 0;
    return code;
}

static uint64_t converted(const struct ptx_instr *in, const struct exact_format *f, struct exact x)
{
    return limited(in, f, x, exact_round(x, f, exact_mode_of(in)));
}

/* ---- Scalars */
static uint64_t from_float(const struct ptx_instr *in, enum ptx_type to, enum ptx_type from, uint64_t v, bool *ret_any_nan)
{
    const struct exact_format *f = exact_format_of(from), *t = exact_format_of(to);
    bool ftz = ptx_has(in, PTX_MOD_FTZ);
    bool integral = ptx_has(in, PTX_MOD_RNI) || ptx_has(in, PTX_MOD_RZI) || ptx_has(in, PTX_MOD_RMI) || ptx_has(in, PTX_MOD_RPI);
    if (ftz && from == PTX_F32)
        v = exact_flush(f, v);
    struct exact x = exact_from(f, v);
    if (integral)
        x = exact_integral(x, exact_mode_of(in));
    if (!t) {
        unsigned bits = ptx_type_bits(to);
        if (x.kind == EXACT_NAN) /* 0, or the highest bit alone where either side is as wide as 64 bits */
            return from == PTX_F64 || bits == 64 ? 1ull << (bits - 1) : 0;
        return low_bits(exact_to_int(x, bits, ptx_type_class(to) == 'S'), bits);
    }
    uint64_t r = integral ? exact_round(x, t, EXACT_RN) : converted(in, t, x);
    if (ftz && to == PTX_F32)
        r = exact_flush(t, r);
    *ret_any_nan = !ptx_has(in, PTX_MOD_RELU);
    return ptx_has(in, PTX_MOD_SAT) ? exact_saturate(t, r) : r;
}

static uint64_t clamped(uint64_t v, bool v_signed, unsigned bits, bool is_signed)
{
    return low_bits(exact_to_int(exact_from_int(v, v_signed), bits, is_signed), bits);
}

void oracle_ref_cvt(const struct ptx_instr *in, struct oracle_lane *lane)
{
    enum ptx_type to = in->types[0], from = in->types[1];
    const struct exact_format *t = exact_format_of(to);
    uint64_t v = lane->src[0].u64[0], r;
    if (ptx_type_class(from) == 'F') {
        r = from_float(in, to, from, low_bits(v, ptx_type_bits(from)), &lane->any_nan);
    } else if (t) {
        bool is_signed = ptx_type_class(from) == 'S';
        r = exact_round(exact_from_int(extended(v, from), is_signed), t, exact_mode_of(in));
        if (ptx_has(in, PTX_MOD_SAT))
            r = exact_saturate(t, r);
    } else {
        v = extended(v, from);
        r = ptx_has(in, PTX_MOD_SAT)
                ? clamped(v, ptx_type_class(from) == 'S', ptx_type_bits(to), ptx_type_class(to) == 'S')
                : low_bits(v, ptx_type_bits(to));
    }
    lane->dst[0].u64[0] = r;
}

/* Ten bits of fraction in f32's place. */
void oracle_ref_cvt_tf32(const struct ptx_instr *in, struct oracle_lane *lane)
{
    static const struct exact_format tf32 = { 19, 11, -126, 0x3fc00, 0x3fbff, 0x3ffff };
    struct exact x = exact_from(exact_format_of(PTX_F32), lane->src[0].u32[0]);
    uint32_t code = (uint32_t)converted(in, &tf32, x) << 13;
    lane->dst[0].u32[0] = x.kind == EXACT_NAN ? 0x7fffffff : code;
}

/* ---- Packed: a in the high part, b in the low one */

/* Element i of the source: operand of its own for f32 (the first operand is the highest), else a part of the one. */
static struct exact source(const struct ptx_instr *in, const struct oracle_lane *lane, unsigned i)
{
    enum ptx_type from = in->types[1];
    const struct exact_format *f = exact_format_of(from);
    if (from == PTX_F32)
        return exact_from(f, lane->src[1 - i].u32[0]);
    return exact_from(f, element(&lane->src[0], from, i));
}

void oracle_ref_cvt_x2(const struct ptx_instr *in, struct oracle_lane *lane)
{
    enum ptx_type to = in->types[0];
    const struct exact_format *f = exact_format_of(to);
    uint64_t r = 0;
    for (unsigned i = 0; i < 2; i++)
        r |= converted(in, f, source(in, lane, i)) << (i * exact_stride(to));
    lane->dst[0].u64[0] = r;
    lane->any_nan = f->width == 16 && !ptx_has(in, PTX_MOD_RELU);
}

/* Stochastic: a has the high half of the random bits, b the low one; f16 uses 13 of each half. */
void oracle_ref_cvt_rs_x2(const struct ptx_instr *in, struct oracle_lane *lane)
{
    enum ptx_type to = in->types[0];
    const struct exact_format *f = exact_format_of(to), *f32 = exact_format_of(PTX_F32);
    unsigned n = to == PTX_F16X2 ? 13 : 16;
    uint64_t r = 0;
    for (unsigned i = 0; i < 2; i++) {
        struct exact x = exact_from(f32, lane->src[1 - i].u32[0]);
        uint64_t random = low_bits(lane->src[2].u16[i], n);
        r |= limited(in, f, x, exact_round_random(x, f, n, random)) << (i * 16);
    }
    lane->dst[0].u64[0] = r;
    lane->any_nan = !ptx_has(in, PTX_MOD_RELU);
}

static unsigned reversed(unsigned v)
{
    unsigned r = 0;
    for (unsigned i = 0; i < 16; i++)
        r |= (v >> i & 1) << (15 - i);
    return r;
}

/* {a, b, e, f} from the highest part down.  Two elements share 16 random bits, the first of them in reverse order: the high half
 * and the low one; four-bit results take the upper bytes of both halves for a and b, the lower ones for e and f. */
void oracle_ref_cvt_rs_x4(const struct ptx_instr *in, struct oracle_lane *lane)
{
    enum ptx_type to = in->types[0];
    const struct exact_format *f = exact_format_of(to), *f32 = exact_format_of(PTX_F32);
    const uint8_t *bytes = lane->src[1].u8;
    unsigned shared[2] = { bytes[0] | bytes[1] << 8, bytes[2] | bytes[3] << 8 };
    if (to == PTX_E2M1X4) {
        shared[0] = bytes[0] | bytes[2] << 8;
        shared[1] = bytes[1] | bytes[3] << 8;
    }
    uint64_t r = 0;
    for (unsigned i = 0; i < 4; i++) {
        struct exact x = exact_from(f32, lane->src[0].u32[3 - i]);
        unsigned random = i & 1 ? reversed(shared[i / 2]) : shared[i / 2];
        r |= limited(in, f, x, exact_round_random(x, f, 16, random)) << (i * exact_stride(to));
    }
    lane->dst[0].u64[0] = r;
}

/* A power of two, of the magnitude; 0xff is the NaN. */
static unsigned power_of_two(struct exact x, bool up, bool finite)
{
    unsigned ceiling = finite ? 0xfe : 0xff;
    if (x.kind == EXACT_NAN)
        return 0xff;
    if (x.kind == EXACT_INFINITE)
        return ceiling;
    if (!x.m)
        return 0;
    int top = x.e + 127;
    bool inexact = x.m & (x.m - 1);
    for (exact_bits m = x.m; m > 1; m >>= 1)
        top++;
    if (up && inexact)
        top++;
    return top < 0 ? 0 : (unsigned)top > ceiling ? ceiling : (unsigned)top;
}

void oracle_ref_cvt_ue8m0(const struct ptx_instr *in, struct oracle_lane *lane)
{
    unsigned r = 0;
    for (unsigned i = 0; i < 2; i++)
        r |= power_of_two(source(in, lane, i), ptx_has(in, PTX_MOD_RP), ptx_has(in, PTX_MOD_SATFINITE)) << (8 * i);
    lane->dst[0].u64[0] = r;
}

void oracle_ref_cvt_from_ue8m0(const struct ptx_instr *in, struct oracle_lane *lane)
{
    const struct exact_format *f = exact_format_of(PTX_BF16);
    uint64_t r = 0;
    for (unsigned i = 0; i < 2; i++) {
        unsigned code = lane->src[0].u8[i];
        struct exact x = { .kind = code == 0xff ? EXACT_NAN : EXACT_FINITE, .m = 1, .e = (int)code - 127 };
        r |= converted(in, f, x) << (16 * i);
    }
    lane->dst[0].u64[0] = r;
}

/* cvt.pack: both clamped, a above b, c above them where the results leave room. */
void oracle_ref_cvt_pack(const struct ptx_instr *in, struct oracle_lane *lane)
{
    enum ptx_type to = in->types[0], from = in->types[1];
    unsigned bits = ptx_type_bits(to);
    uint64_t r = 0;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t v = extended(lane->src[1 - i].u64[0], from);
        r |= clamped(v, ptx_type_class(from) == 'S', bits, ptx_type_class(to) == 'S') << (i * bits);
    }
    if (in->n_types > 2)
        r |= lane->src[2].u64[0] << (2 * bits);
    lane->dst[0].u64[0] = low_bits(r, 32);
}
