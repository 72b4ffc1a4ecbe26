/* Arithmetic that older x86-64 processors have no instruction for, under the names that LLVM calls it by: fused multiply-add
 * (FMA), half precision (F16C) and rounding to whole numbers (SSE4.1).
 *
 * Not part of the compiler: built alone for any x86-64, carried as bytes (host/soft/bytes.c), and linked into those kernels that
 * need it.  So nothing here may call anything.  IEEE 754-2019, round to nearest even, subnormals kept; NaNs come out quiet. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

#define EXPORT __attribute__((visibility("hidden"), noinline))

double fma(double x, double y, double z);
float fmaf(float x, float y, float z);
_Float16 __truncdfhf2(double x);
_Float16 __truncsfhf2(float x);
float __extendhfsf2(_Float16 x);

static uint64_t bits_of(double x)
{
    union { double f; uint64_t u; } v = { x };
    return v.u;
}

static double of_bits(uint64_t u)
{
    union { uint64_t u; double f; } v = { u };
    return v.f;
}

static uint32_t bits_of_float(float x)
{
    union { float f; uint32_t u; } v = { x };
    return v.u;
}

static float of_float_bits(uint32_t u)
{
    union { uint32_t u; float f; } v = { u };
    return v.f;
}

/* ---- Fused multiply-add */

typedef unsigned __int128 u128;

/* m * 2^e, with the sign; m has its highest bit at 126, or is 0.  Bits shifted out stay as a 1 in the lowest place. */
struct wide {
    u128 m;
    int e;
    uint64_t sign;
};

static u128 shift_right_sticky(u128 m, int n)
{
    if (n <= 0)
        return m;
    if (n > 127)
        return m != 0;
    return m >> n | ((m & (((u128)1 << n) - 1)) != 0);
}

static int leading_zeros(u128 m)
{
    uint64_t high = (uint64_t)(m >> 64);
    return high ? __builtin_clzll(high) : 64 + __builtin_clzll((uint64_t)m);
}

static struct wide normal(u128 m, int e, uint64_t sign)
{
    int up = m ? leading_zeros(m) - 1 : 0; /* one bit stays free, for a carry */
    return (struct wide){ up >= 0 ? m << up : m >> 1 | (m & 1), e - up, sign };
}

/* Of a finite number that is not 0: its significand, and the exponent of the lowest bit. */
static uint64_t significand_of(uint64_t bits, int *ret_e)
{
    uint64_t m = bits & 0xfffffffffffff;
    int e = (int)(bits >> 52 & 0x7ff);
    *ret_e = (e ? e : 1) - 1075;
    return e ? m | UINT64_C(1) << 52 : m;
}

static struct wide sum(struct wide a, struct wide b)
{
    if (a.e < b.e) {
        struct wide t = a;
        a = b;
        b = t;
    }
    u128 m = shift_right_sticky(b.m, a.e - b.e);
    if (a.sign == b.sign)
        return normal(a.m + m, a.e, a.sign);
    return a.m >= m ? normal(a.m - m, a.e, a.sign) : normal(m - a.m, a.e, b.sign);
}

static double rounded(struct wide w)
{
    if (!w.m)
        return 0.0; /* of x - x */
    int top = w.e + 126;                              /* the exponent of the highest bit */
    int lowest = top - 52 < -1074 ? -1074 : top - 52; /* of the result */
    u128 m = shift_right_sticky(w.m, lowest - w.e - 2);
    uint64_t r = (uint64_t)(m >> 2) + ((m & 3) == 3 || (m & 7) == 6);
    if (top > 1023)
        return of_bits(w.sign | UINT64_C(0x7ff) << 52);
    /* The leading bit adds 1 to the exponent; a carry out of the significand one more, up to infinity. */
    uint64_t biased = top < -1022 ? 0 : (uint64_t)(top + 1022) << 52;
    return of_bits(w.sign | (biased + r));
}

EXPORT double fma(double x, double y, double z)
{
    uint64_t a = bits_of(x), b = bits_of(y), c = bits_of(z), infinity = UINT64_C(0x7ff) << 52, sign = UINT64_C(1) << 63;
    int ea, eb, ec;
    if ((a & infinity) == infinity || (b & infinity) == infinity)
        return x * y + z;
    if ((c & infinity) == infinity)
        return z + z;
    if (!(a & ~sign) || !(b & ~sign))
        return x * y + z;
    if (!(c & ~sign))
        return x * y;
    u128 product = (u128)significand_of(a, &ea) * significand_of(b, &eb);
    uint64_t m = significand_of(c, &ec);
    return rounded(sum(normal(product, ea + eb, (a ^ b) & sign), normal(m, ec, c & sign)));
}

/* The product is exact in double precision.  The sum rounded to odd there has two bits more than a float at least, so that the
 * second rounding is as if it were the only one. */
EXPORT float fmaf(float x, float y, float z)
{
    double p = (double)x * y, s = p + z;
    uint64_t u = bits_of(s);
    double z_seen = s - p, rest = (p - (s - z_seen)) + (z - z_seen);
    if (rest != 0 && !(u & 1) && (u & UINT64_C(0x7ff) << 52) != UINT64_C(0x7ff) << 52)
        s = of_bits((rest > 0) == (s > 0) ? u + 1 : u - 1);
    return (float)s;
}

/* ---- Half precision */

static _Float16 half_of_bits(uint32_t u)
{
    union { uint16_t u; _Float16 h; } v = { (uint16_t)u };
    return v.h;
}

EXPORT float __extendhfsf2(_Float16 x)
{
    union { _Float16 h; uint16_t u; } v = { x };
    uint32_t sign = (uint32_t)(v.u & 0x8000) << 16, m = v.u & 0x7fff;
    if (m >= 0x7c00) /* infinity, NaN */
        return of_float_bits(sign | 0x7f800000 | (m & 0x3ff) << 13 | (m > 0x7c00 ? 0x400000 : 0));
    if (m < 0x400) /* a whole number of 2^-24 */
        return of_float_bits(sign | bits_of_float((float)m * 0x1p-24f));
    return of_float_bits(sign | ((m << 13) + (112u << 23)));
}

/* Double precision to half, rounding once. */
EXPORT _Float16 __truncdfhf2(double x)
{
    uint64_t u = bits_of(x), m = u & 0xfffffffffffff;
    uint32_t sign = (uint32_t)(u >> 48 & 0x8000);
    int e = (int)(u >> 52 & 0x7ff) - 1023;
    if (e == 1024)
        return half_of_bits(sign | 0x7c00 | (m ? 0x200 | (uint32_t)(m >> 42) : 0));
    if (e > 15)
        return half_of_bits(sign | 0x7c00);
    if (e < -25)
        return half_of_bits(sign);
    m |= UINT64_C(1) << 52;
    int drop = e < -14 ? 42 + (-14 - e) : 42;
    uint64_t low = m & ((UINT64_C(1) << drop) - 1), half = UINT64_C(1) << (drop - 1);
    uint32_t r = (uint32_t)(m >> drop);
    r += low > half || (low == half && (r & 1));
    return half_of_bits(sign | (r + (e < -14 ? 0 : (uint32_t)(e + 14) << 10)));
}

EXPORT _Float16 __truncsfhf2(float x)
{
    return __truncdfhf2(x); /* exact until then, and a NaN keeps its highest bits */
}

/* ---- To a whole number */

/* To nearest even: adding what leaves no place for a fraction rounds, and what is that large is whole already. */
#define NEAREST(type, name, bits, of, sign_bit, big) \
    static type name(type x)                         \
    {                                                \
        type a = of(bits(x) & ~(sign_bit));          \
        if (!(a < (big)))                            \
            return x + 0; /* a NaN becomes quiet */  \
        a = a + (big) - (big);                       \
        return of(bits(a) | (bits(x) & (sign_bit))); \
    }
NEAREST(double, nearest, bits_of, of_bits, UINT64_C(1) << 63, 0x1p52)
NEAREST(float, nearest_float, bits_of_float, of_float_bits, UINT32_C(1) << 31, 0x1p23f)

#define WHOLE(type, name, expression) \
    type name(type x);                \
    EXPORT type name(type x)          \
    {                                 \
        return expression;            \
    }
/* -0.0 for what is less than 0 and rounds to it, so the sign is put back. */
#define SIGNED(r) of_bits(bits_of(r) | (bits_of(x) & UINT64_C(1) << 63))
#define SIGNED_FLOAT(r) of_float_bits(bits_of_float(r) | (bits_of_float(x) & UINT32_C(1) << 31))
#define DOWN(near) (near(x) > x ? near(x) - 1 : near(x))
#define UP(near) (near(x) < x ? near(x) + 1 : near(x))
WHOLE(double, roundeven, nearest(x))
WHOLE(double, rint, nearest(x))
WHOLE(double, nearbyint, nearest(x))
WHOLE(double, floor, DOWN(nearest))
WHOLE(double, ceil, SIGNED(UP(nearest)))
WHOLE(double, trunc, x < 0 ? SIGNED(UP(nearest)) : DOWN(nearest))
WHOLE(float, roundevenf, nearest_float(x))
WHOLE(float, rintf, nearest_float(x))
WHOLE(float, nearbyintf, nearest_float(x))
WHOLE(float, floorf, DOWN(nearest_float))
WHOLE(float, ceilf, SIGNED_FLOAT(UP(nearest_float)))
WHOLE(float, truncf, x < 0 ? SIGNED_FLOAT(UP(nearest_float)) : DOWN(nearest_float))
