/* References: integer arithmetic, extended precision, bit fields, dot products (PTX ISA 9.7.1, 9.7.2).
 *
 * Written from the manual's words, bit by bit where it speaks of bits. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/oracle.h"

typedef unsigned __int128 u128;
typedef __int128 s128;

static unsigned bits_of(enum ptx_type type)
{
    return ptx_type_bits(type);
}

static uint64_t cut(uint64_t v, unsigned bits)
{
    return bits < 64 ? v & ((1ull << bits) - 1) : v;
}

/* An operand's value, as its type has it. */
static s128 value(const union oracle_value *v, enum ptx_type type)
{
    unsigned bits = bits_of(type);
    uint64_t u = cut(v->u64[0], bits);
    if (ptx_type_class(type) == 'S' && u >> (bits - 1))
        return (s128)u - ((s128)1 << bits);
    return (s128)u;
}

static void give(struct oracle_lane *l, enum ptx_type type, s128 v)
{
    l->dst[0].u64[0] = cut((uint64_t)v, bits_of(type));
}

static s128 clamp(s128 v, s128 least, s128 most)
{
    return v < least ? least : v > most ? most : v;
}

#define T (in->types[0])
#define A value(&l->src[0], T)
#define B value(&l->src[1], T)
#define C value(&l->src[2], T)
#define REF(name) void oracle_ref_##name(const struct ptx_instr *in, struct oracle_lane *l)
#define SIMPLE(name, expression) \
    REF(name)                    \
    {                            \
        give(l, T, expression);  \
    }

/* ---- add, sub, and the condition code: the carry of a + b, or of a + ~b + 1 */
SIMPLE(add_int, A + B)
SIMPLE(sub_int, A - B)
SIMPLE(add_sat, clamp(A + B, INT32_MIN, INT32_MAX))
SIMPLE(sub_sat, clamp(A - B, INT32_MIN, INT32_MAX))

/* Unsigned sums in 128 bits: what leaves the type is the carry. */
static void sum(const struct ptx_instr *in, struct oracle_lane *l, u128 a, u128 b, bool carry_in)
{
    u128 r = a + b + (carry_in ? l->carry : 0);
    give(l, T, (s128)r);
    if (ptx_has(in, PTX_MOD_CC))
        l->carry = r >> bits_of(T) & 1;
}

#define UA ((u128)cut(l->src[0].u64[0], bits_of(T)))
#define UB ((u128)cut(l->src[1].u64[0], bits_of(T)))
#define UC ((u128)cut(l->src[2].u64[0], bits_of(T)))
#define NOT_B ((u128)cut(~l->src[1].u64[0], bits_of(T)))
REF(add_cc)
{
    sum(in, l, UA, UB, false);
}
REF(addc)
{
    sum(in, l, UA, UB, true);
}
REF(sub_cc)
{
    l->carry = true; /* a + ~b + 1 */
    sum(in, l, UA, NOT_B, true);
}
REF(subc)
{
    sum(in, l, UA, NOT_B, true);
}

static uint32_t halves(const struct oracle_lane *l, bool is_signed, s128 (*f)(s128, s128))
{
    uint32_t r = 0;
    for (unsigned i = 0; i < 2; i++) {
        s128 a = is_signed ? l->src[0].s16[i] : l->src[0].u16[i], b = is_signed ? l->src[1].s16[i] : l->src[1].u16[i];
        r |= (uint32_t)(uint16_t)f(a, b) << 16 * i;
    }
    return r;
}

static s128 plus(s128 a, s128 b)
{
    return a + b;
}
static s128 least(s128 a, s128 b)
{
    return a < b ? a : b;
}
static s128 most(s128 a, s128 b)
{
    return a > b ? a : b;
}
static s128 least_relu(s128 a, s128 b)
{
    return most(least(a, b), 0);
}
static s128 most_relu(s128 a, s128 b)
{
    return most(most(a, b), 0);
}

REF(add_x2)
{
    l->dst[0].u32[0] = halves(l, T == PTX_S16X2, plus);
}
REF(min_x2)
{
    l->dst[0].u32[0] = halves(l, T == PTX_S16X2, least);
}
REF(max_x2)
{
    l->dst[0].u32[0] = halves(l, T == PTX_S16X2, most);
}
REF(min_relu)
{
    if (T == PTX_S32)
        give(l, T, least_relu(A, B));
    else
        l->dst[0].u32[0] = halves(l, true, least_relu);
}
REF(max_relu)
{
    if (T == PTX_S32)
        give(l, T, most_relu(A, B));
    else
        l->dst[0].u32[0] = halves(l, true, most_relu);
}
SIMPLE(min_int, least(A, B))
SIMPLE(max_int, most(A, B))

/* ---- mul, mad */
static s128 product(const struct ptx_instr *in, const struct oracle_lane *l)
{
    s128 p;
    if (T == PTX_U64) /* may need all 128 bits */
        p = (s128)((u128)l->src[0].u64[0] * l->src[1].u64[0]);
    else
        p = A * B;
    if (ptx_has(in, PTX_MOD_HI))
        return T == PTX_U64 ? (s128)((u128)p >> 64) : p >> bits_of(T);
    return p;
}

static enum ptx_type twice(enum ptx_type type)
{
    return type == PTX_U16 ? PTX_U32 : type == PTX_S16 ? PTX_S32 : type == PTX_U32 ? PTX_U64 : PTX_S64;
}

SIMPLE(mul_int, product(in, l))
SIMPLE(mad_int, product(in, l) + C)
SIMPLE(mad_hi_sat, clamp(product(in, l) + C, INT32_MIN, INT32_MAX))
REF(mul_wide)
{
    give(l, twice(T), A * B);
}
REF(mad_wide)
{
    give(l, twice(T), A * B + value(&l->src[2], twice(T)));
}
REF(mad_cc)
{
    sum(in, l, cut((uint64_t)product(in, l), bits_of(T)), UC, false);
}
REF(madc)
{
    sum(in, l, cut((uint64_t)product(in, l), bits_of(T)), UC, true);
}

/* The low 24 bits of each operand; .lo is the low and .hi the high 32 bits of the 48 of the product. */
static s128 product_24(const struct ptx_instr *in, const struct oracle_lane *l)
{
    s128 v[2];
    for (unsigned i = 0; i < 2; i++) {
        v[i] = l->src[i].u32[0] & 0xffffff;
        if (T == PTX_S32 && v[i] >> 23)
            v[i] -= 1 << 24;
    }
    s128 p = v[0] * v[1];
    return ptx_has(in, PTX_MOD_HI) ? p >> 16 : p;
}
static s128 signed_32(const struct ptx_instr *in, s128 v)
{
    return T == PTX_S32 ? (int32_t)(uint32_t)v : (s128)(uint32_t)v;
}
SIMPLE(mul24, product_24(in, l))
SIMPLE(mad24, product_24(in, l) + C)
SIMPLE(mad24_sat, clamp(signed_32(in, product_24(in, l)) + C, INT32_MIN, INT32_MAX))
SIMPLE(sad, C + (A < B ? B - A : A - B))

/* ---- div, rem: by zero "unspecified, machine-dependent"; cards give all ones (tests/recorded/isa.txt), and MIN / -1 wraps */
SIMPLE(div_int, B == 0 ? -1 : A / B)
SIMPLE(rem_int, B == 0 ? -1 : A % B)
SIMPLE(abs_int, A < 0 ? -A : A)
SIMPLE(neg_int, -A)

/* ---- Bits */
REF(popc)
{
    unsigned n = 0;
    for (unsigned i = 0; i < bits_of(T); i++)
        n += l->src[0].u64[0] >> i & 1;
    l->dst[0].u32[0] = n;
}
REF(clz)
{
    unsigned n = 0;
    while (n < bits_of(T) && !(l->src[0].u64[0] >> (bits_of(T) - 1 - n) & 1))
        n++;
    l->dst[0].u32[0] = n;
}
REF(bfind)
{
    int msb = (int)bits_of(T) - 1, at = -1;
    uint64_t a = l->src[0].u64[0];
    if (ptx_type_class(T) == 'S' && (a >> msb & 1))
        a = ~a;
    for (int i = msb; i >= 0 && at < 0; i--)
        if (a >> i & 1)
            at = i;
    l->dst[0].u32[0] = at < 0 ? UINT32_MAX : (uint32_t)(ptx_has(in, PTX_MOD_SHIFTAMT) ? msb - at : at);
}
REF(brev)
{
    for (unsigned i = 0; i < bits_of(T); i++)
        l->dst[0].u64[0] |= (l->src[0].u64[0] >> (bits_of(T) - 1 - i) & 1) << i;
}
REF(fns)
{
    uint32_t mask = l->src[0].u32[0], base = l->src[1].u32[0], found = UINT32_MAX;
    int32_t offset = l->src[2].s32[0];
    if (base > 31) {
        l->undefined = true; /* "base must be within 0 to 31" */
    } else if (offset == 0) {
        found = mask >> base & 1 ? base : UINT32_MAX;
    } else {
        int64_t step = offset > 0 ? 1 : -1, count = offset > 0 ? offset : -(int64_t)offset;
        for (int64_t at = base; at >= 0 && at < 32 && found == UINT32_MAX; at += step)
            if ((mask >> at & 1) && --count == 0)
                found = (uint32_t)at;
    }
    l->dst[0].u32[0] = found;
}
REF(bfe)
{
    unsigned msb = bits_of(T) - 1, pos = l->src[1].u8[0], len = l->src[2].u8[0], end = pos + len - 1 < msb ? pos + len - 1 : msb;
    uint64_t a = l->src[0].u64[0];
    bool sign = ptx_type_class(T) == 'S' && len && (a >> end & 1);
    for (unsigned i = 0; i <= msb; i++)
        l->dst[0].u64[0] |= (uint64_t)(i < len && pos + i <= msb ? a >> (pos + i) & 1 : sign) << i;
}
REF(bfi)
{
    unsigned msb = bits_of(T) - 1, pos = l->src[2].u8[0], len = l->src[3].u8[0];
    uint64_t f = cut(l->src[1].u64[0], bits_of(T));
    for (unsigned i = 0; i < len && pos + i <= msb; i++)
        f = (f & ~(1ull << (pos + i))) | (l->src[0].u64[0] >> i & 1) << (pos + i);
    l->dst[0].u64[0] = f;
}
REF(szext)
{
    uint32_t a = l->src[0].u32[0], b = l->src[1].u32[0], n = b & 31;
    bool large = b >= 32 && ptx_has(in, PTX_MOD_CLAMP);
    uint32_t mask = large ? 0 : UINT32_MAX << n;
    bool sign = n && !large && T == PTX_S32 && (a >> (n - 1) & 1);
    l->dst[0].u32[0] = (a & ~mask) | (sign ? mask : 0);
}
REF(bmsk)
{
    uint32_t a = l->src[0].u32[0], b = l->src[1].u32[0], first = a & 31, sum_ = first + (b & 31);
    bool clamped = ptx_has(in, PTX_MOD_CLAMP);
    uint32_t mask0 = clamped && a >= 32 ? 0 : UINT32_MAX << first;
    bool over = sum_ >= 32 || (clamped && (a >= 32 || b >= 32));
    l->dst[0].u32[0] = mask0 & ~(over ? 0 : UINT32_MAX << sum_);
}

/* ---- Dot products */
static int64_t part_8(const union oracle_value *v, unsigned i, enum ptx_type type)
{
    return type == PTX_S32 ? v->s8[i] : v->u8[i];
}
static int64_t part_16(const union oracle_value *v, unsigned i, enum ptx_type type)
{
    return type == PTX_S32 ? v->s16[i] : v->u16[i];
}
REF(dp4a)
{
    uint32_t d = l->src[2].u32[0];
    for (unsigned i = 0; i < 4; i++)
        d += (uint32_t)(part_8(&l->src[0], i, in->types[0]) * part_8(&l->src[1], i, in->types[1]));
    l->dst[0].u32[0] = d;
}
REF(dp2a)
{
    uint32_t d = l->src[2].u32[0];
    for (unsigned i = 0; i < 2; i++)
        d += (uint32_t)(part_16(&l->src[0], i, in->types[0]) *
                        part_8(&l->src[1], i + (ptx_has(in, PTX_MOD_HI) ? 2 : 0), in->types[1]));
    l->dst[0].u32[0] = d;
}
