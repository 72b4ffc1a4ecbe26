/* References: moves, loads, stores and atomics on memory that no other lane uses (PTX ISA 9.7.9, 9.7.13.5). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/oracle.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

#define REF(name) void oracle_ref_##name(const struct ptx_instr *in, struct oracle_lane *l)

/* Packing and unpacking move bits: the first element is the lowest. */
REF(mov)
{
    l->dst[0] = l->src[0];
}

static unsigned bytes_of(const struct ptx_instr *in)
{
    return in->vec * ptx_type_bits(in->types[0]) / 8;
}

REF(ld)
{
    memcpy(&l->dst[0], &l->src[0], bytes_of(in));
}
REF(st)
{
    memcpy(&l->dst[0], &l->src[1], bytes_of(in));
}

/* ---- Atomics: what one element becomes */
static float f32_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}
static uint32_t bits_of_f32(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static double narrow_value(uint16_t bits, bool is_bf16)
{
    if (is_bf16)
        return f32_of((uint32_t)bits << 16);
    int exponent = bits >> 10 & 31;
    double fraction = bits & 1023, v = exponent == 31 ? fraction != 0 ? NAN : INFINITY
                                       : ldexp(exponent ? fraction + 1024 : fraction, (exponent ? exponent : 1) - 25);
    return bits & 0x8000 ? -v : v;
}

/* To the nearest, ties to even.  The sum of two of these formats is exact in double but for parts far below a tie of bf16, which
 * only matter for being there: added towards zero with the last bit sticky. */
static uint16_t narrow(double a, double b, bool is_bf16)
{
    volatile double x = a, y = b;
    double sum = x + y, error = (x - (sum - (sum - x))) + (y - (sum - x));
    int mantissa = is_bf16 ? 7 : 10, least = is_bf16 ? -126 : -14, most = is_bf16 ? 127 : 15, e;
    uint16_t sign = signbit(sum) ? 0x8000 : 0, infinity = (uint16_t)(is_bf16 ? 0x7f80 : 0x7c00);

    if (isnan(sum))
        return 0x7fff;
    if (isinf(sum))
        return sign | infinity;
    frexp(sum, &e);
    e = sum == 0 || e - 1 < least ? least : e - 1;
    double scaled = ldexp(fabs(sum), mantissa - e), whole = floor(scaled), rest = scaled - whole;
    if (signbit(sum))
        error = -error;
    bool up = rest > 0.5 || (rest == 0.5 && (error > 0 || (error == 0 && fmod(whole, 2) != 0)));
    if (isfinite(error) && rest == 0.5 && error < 0)
        up = false;
    whole += up;
    if (whole >= ldexp(2, mantissa)) {
        whole /= 2;
        e++;
    }
    if (e > most)
        return sign | infinity;
    bool normal = whole >= ldexp(1, mantissa);
    return (uint16_t)(sign | (normal ? (uint16_t)(e - least + 1) << mantissa | ((uint16_t)whole & ((1 << mantissa) - 1))
                                     : (uint16_t)whole));
}

static uint16_t half_op(const struct ptx_instr *in, struct oracle_lane *l, uint16_t a, uint16_t b, bool is_bf16)
{
    double x = narrow_value(a, is_bf16), y = narrow_value(b, is_bf16);
    if (ptx_has(in, PTX_MOD_ADD)) {
        l->any_nan = true;
        return narrow(x, y, is_bf16);
    }
    if (isnan(x) || isnan(y) || x == y) { /* what becomes of NaN, and which zero, is not said */
        l->undefined = l->undefined || isnan(x) || isnan(y) || a != b;
        return a;
    }
    return (x < y) == ptx_has(in, PTX_MOD_MIN) ? a : b;
}

static uint64_t float_add(struct oracle_lane *l, enum ptx_type type, uint64_t a, uint64_t b)
{
    l->any_nan = true;
    if (type == PTX_F64) {
        double x, y, r;
        memcpy(&x, &a, 8);
        memcpy(&y, &b, 8);
        r = x + y;
        memcpy(&a, &r, 8);
        return a;
    }
    l->abs_error = 0x1p-126; /* "current implementations" flush subnormals in global memory, and not in shared */
    return bits_of_f32(f32_of((uint32_t)a) + f32_of((uint32_t)b));
}

static uint64_t integer(const struct ptx_instr *in, enum ptx_type type, uint64_t a, uint64_t b)
{
    unsigned bits = ptx_type_bits(type);
    uint64_t flip = ptx_type_class(type) == 'S' ? 1ull << (bits - 1) : 0;

    if (ptx_has(in, PTX_MOD_AND))
        return a & b;
    if (ptx_has(in, PTX_MOD_OR))
        return a | b;
    if (ptx_has(in, PTX_MOD_XOR))
        return a ^ b;
    if (ptx_has(in, PTX_MOD_ADD))
        return a + b;
    if (ptx_has(in, PTX_MOD_INC))
        return a >= b ? 0 : a + 1;
    if (ptx_has(in, PTX_MOD_DEC))
        return a == 0 || a > b ? b : a - 1;
    if (ptx_has(in, PTX_MOD_MIN))
        return (a ^ flip) < (b ^ flip) ? a : b;
    if (ptx_has(in, PTX_MOD_MAX))
        return (a ^ flip) > (b ^ flip) ? a : b;
    return b; /* .exch */
}

static uint64_t element(const struct ptx_instr *in, struct oracle_lane *l, enum ptx_type type, uint64_t a, uint64_t b)
{
    switch (type) {
    case PTX_F16:
    case PTX_BF16: return half_op(in, l, (uint16_t)a, (uint16_t)b, type == PTX_BF16);
    case PTX_F16X2:
    case PTX_BF16X2: {
        uint64_t low = half_op(in, l, (uint16_t)a, (uint16_t)b, type == PTX_BF16X2);
        return low | (uint64_t)half_op(in, l, (uint16_t)(a >> 16), (uint16_t)(b >> 16), type == PTX_BF16X2) << 16;
    }
    case PTX_F32:
    case PTX_F64: return float_add(l, type, a, b);
    default: return integer(in, type, a, b);
    }
}

/* src: memory, b, and c of .cas. */
static void change(const struct ptx_instr *in, struct oracle_lane *l, union oracle_value *memory)
{
    unsigned bytes = ptx_type_bits(in->types[0]) / 8;

    if (ptx_has(in, PTX_MOD_CAS)) {
        if (!memcmp(&l->src[0], &l->src[1], bytes))
            memcpy(memory, &l->src[2], bytes);
        return;
    }
    if (bytes == 16) { /* .exch.b128 */
        memcpy(memory, &l->src[1], bytes);
        return;
    }
    for (unsigned i = 0; i < in->vec; i++) {
        uint64_t a = 0, b = 0;
        memcpy(&a, l->src[0].u8 + i * bytes, bytes);
        memcpy(&b, l->src[1].u8 + i * bytes, bytes);
        a = element(in, l, in->types[0], a, b);
        memcpy(memory->u8 + i * bytes, &a, bytes);
    }
}

REF(atom)
{
    memcpy(&l->dst[0], &l->src[0], bytes_of(in));
    change(in, l, &l->dst[1]);
}
REF(red)
{
    change(in, l, &l->dst[0]);
}
