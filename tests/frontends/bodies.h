/* What the kernels of kernels.h compute for one element: plain C that the device and the host must agree on to the bit.
 * Contraction of floating point is off in both builds.  Not how lanes work together: that is kernels.h and its references in
 * run.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TESTS_FRONTENDS_BODIES_H
#define AW_TESTS_FRONTENDS_BODIES_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#ifndef DEVICE
#define DEVICE
#endif
#define NOINLINE static __attribute__((noinline, unused)) DEVICE
#define INLINE static inline __attribute__((unused)) DEVICE

INLINE u32 mix(u32 x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

INLINE u32 fold(u64 x)
{
    return (u32)(x ^ x >> 32);
}

NOINLINE u32 body_integers(u32 a, u32 i)
{
    u32 b = mix(i) | 1, s = i & 31, r = 0;
    s32 sa = (s32)a, sb = (s32)b;
    u64 wide = ((u64)a << 32 | b) * 0x9e3779b97f4a7c15ull;
    r += a / b + a % b;
    r ^= (u32)(sa / (sb | 1 << 4)) + (u32)(sb % ((sa >> 8) | 3));
    r += (a << s | a >> (-s & 31)) ^ (u32)(sa >> s);
    r ^= (u32)__builtin_popcount(a) * 3u + (u32)__builtin_popcountll(wide) * 5u;
    r += (u32)__builtin_clz(a | 1) * 7u + (u32)__builtin_ctz(b << s | 0x80000000u) * 11u + (u32)__builtin_clzll(wide | 1);
    r ^= __builtin_bswap32(a) + (u32)(u8)(a >> 3) + (u32)(s32)(signed char)(b >> 5) + (u32)(s32)(short)(a >> 7);
    r += fold(wide / (b & 0xffff)) + fold((u64)((s64)wide / (s64)(sb | 1))) + fold(wide % 1000003);
    r ^= a > b ? a - b : b - a;
    r += sa < sb ? a : b;
    return r;
}

/* Values that stay normal and finite whatever comes in. */
INLINE float unit_float(u32 x)
{
    return (float)(x >> 8) * 5.9604645e-8f + 0.5f;
}

INLINE u32 float_bits(float x)
{
    u32 bits;
    __builtin_memcpy(&bits, &x, 4);
    return bits;
}

INLINE u64 double_bits(double x)
{
    u64 bits;
    __builtin_memcpy(&bits, &x, 8);
    return bits;
}

NOINLINE u32 body_floats(u32 a, u32 i)
{
    float x = unit_float(a), y = unit_float(mix(i)), z = x * y - x / y;
    u32 r = float_bits(z) + (u32)(s32)(z * 1000.0f) + (u32)(x * 2e9f);
    r ^= float_bits(__builtin_sqrtf(x + y)) ^ float_bits(__builtin_fmaf(x, y, -z));
    r += float_bits(__builtin_floorf(z * 37.0f) + __builtin_truncf(x * 11.5f) + __builtin_ceilf(-y * 7.25f));
    r ^= float_bits(x < y ? x : y) + float_bits(__builtin_copysignf(z, -y)) + float_bits(__builtin_fabsf(z));
    r += float_bits((float)(s32)a) ^ float_bits((float)(((u64)a << 20) | i));
    return r + (x < y) + 2u * (z != z) + 4u * (z >= 0.25f);
}

NOINLINE u32 body_doubles(u32 a, u32 i)
{
    double x = (double)a * 2.3283064365386963e-10 + 0.5, y = (double)mix(i) + 1.5, z = x * y - y / x;
    u64 r = double_bits(z) + (u64)(s64)(z * 4096.0) + (u64)(x * 1e18);
    r ^= double_bits(__builtin_sqrt(y)) ^ double_bits(__builtin_fma(x, y, -z)) ^ double_bits((double)(float)z);
    r += double_bits((double)(s64)r) ^ double_bits(__builtin_floor(z)) ^ double_bits(z < x ? z : y);
    return fold(r);
}

/* Binary16 by way of binary32, which for one operation gives the same; the device may have instructions for it. */
#ifdef ON_DEVICE
INLINE _Float16 half_op(int op, _Float16 a, _Float16 b)
{
    return op == 0 ? a + b : op == 1 ? a * b : a - b;
}
#else
INLINE _Float16 half_op(int op, _Float16 a, _Float16 b)
{
    float x = (float)a, y = (float)b;
    return (_Float16)(op == 0 ? x + y : op == 1 ? x * y : x - y);
}
#endif

NOINLINE u32 body_halves(u32 a, u32 i)
{
    _Float16 x = (_Float16)(float)(a & 1023), y = (_Float16)(unit_float(mix(i)) * 8.0f),
             z = half_op(0, half_op(1, x, y), half_op(2, y, x));
    u16 bits;
    __builtin_memcpy(&bits, &z, 2);
    return bits | (u32)(x < y) << 16 | (u32)(s32)(float)z << 20;
}

/* Loops in loops, a switch, jumps out of the middle and into a loop from two sides. */
NOINLINE u32 body_branches(u32 a, u32 i)
{
    u32 r = 0, steps = 0;
    for (u32 x = a | 1; x != 1 && steps < 60; steps++) {
        x = x & 1 ? 3 * x + 1 : x / 2;
        if (x == 0)
            return ~r;
        for (u32 k = x & 7; k; k--) {
            if ((k ^ i) == 5)
                goto again;
            r = r * 31 + k;
        }
        switch (x % 9) {
        case 0: r += 17; break;
        case 1: r ^= x;
            __attribute__((fallthrough));
        case 2: r -= steps; break;
        case 5: r = r << 3 | r >> 29; continue;
        case 7: if (i & 2) goto done;
            break;
        default: r++;
        }
again:
        r ^= steps << 8;
    }
    if (a & 1)
        goto inside;
    while (r & 3) {
        r += 5;
inside:
        r ^= r >> 3;
        if (++steps > 100)
            break;
    }
done:
    return r + steps;
}

/* ---- Memory of a lane's own, structs by value, recursion */
struct pair {
    u8 tag;
    u16 small[3];
    u64 wide;
    float real;
};

NOINLINE struct pair pair_make(u32 a, u32 i)
{
    struct pair p = { (u8)a, { (u16)i, (u16)(a >> 8), (u16)(a ^ i) }, (u64)a * i, (float)(a & 0xffff) };
    return p;
}

NOINLINE u32 pair_fold(struct pair p, u32 k)
{
    return p.tag + p.small[k % 3] * 3u + fold(p.wide) + (u32)p.real;
}

NOINLINE u32 climb(u32 depth, u32 x)
{
    u32 kept[4] = { x, x + depth, mix(x), depth };
    if (depth == 0)
        return x;
    return climb(depth - 1, kept[x & 3] + 1) ^ kept[depth & 3];
}

NOINLINE u32 body_locals(u32 a, u32 i)
{
    u32 table[16];
    u8 bytes[20];
    for (u32 k = 0; k < 16; k++)
        table[k] = mix(a + k);
    __builtin_memset(bytes, (int)(a & 0x7f), sizeof bytes);
    __builtin_memcpy(bytes + 3, table + (i & 7), 12);
    for (u32 k = 0; k < 16; k++)
        table[table[k] & 15] += bytes[(k + i) % 20];
    u32 r = pair_fold(pair_make(a, i), i) + climb(i & 7, a);
    for (u32 k = 0; k < 16; k++)
        r = r * 33 + table[(k * 5 + i) & 15];
    return r;
}

struct fields {
    u32 a : 5, b : 11;
    s32 c : 9;
    u64 d : 40;
};

NOINLINE u32 body_wide(u32 a, u32 i)
{
    unsigned __int128 x = (unsigned __int128)((u64)a << 31 | i) * ((u64)mix(a) << 27 | a), y = x << (i & 127 ? i & 127 : 1);
    __int128 s = (__int128)x - (__int128)y;
    struct fields f = { a & 31, (a >> 3) & 2047, (s32)(a % 255), (u64)a << 6 ^ i };
    f.b += 3;
    f.d = f.d * 5 + (u64)f.c;
    y += x;
    s >>= i & 63;
    return fold((u64)x) ^ fold((u64)(y >> 64)) ^ fold((u64)s) ^ fold((u64)(s >> 64)) ^ (x < y) ^ (f.a + f.b * 7u + fold(f.d));
}

#endif
