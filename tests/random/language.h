/* What programs of language.py need beside random.h: numbers of 64 bits, doubles as their bits, packed halves, structures,
 * functions that are called, and the host's side of lanes that take turns. */
/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "random.h"

#include <cuda_fp16.h>

/* What may be read and written as any other type. */
typedef u8 u8_any;
typedef u16 __attribute__((may_alias)) u16_any;
typedef int16_t __attribute__((may_alias)) s16_any;
typedef int16_t s16;
typedef u32 __attribute__((may_alias)) u32_any;
typedef u64 __attribute__((may_alias)) u64_any;

#define CALLED static __host__ __device__ __noinline__

/* ---- 64 bits ---- */

BOTH u64 shl64(u64 a, u64 n) { return a << (n & 63); }
BOTH u64 shr64(u64 a, u64 n) { return a >> (n & 63); }
BOTH u64 sar64(u64 a, u64 n) { return (u64)((int64_t)a >> (n & 63)); }
BOTH u64 quotient64(u64 a, u64 b) { return a / (b | 1); }
BOTH u64 rest64(u64 a, u64 b) { return a % (b | 1); }
BOTH u64 quotient_signed(u64 a, u64 b) { return (b | 1) == ~0ull ? 0 - a : (u64)((int64_t)a / (int64_t)(b | 1)); }
BOTH u64 rest_signed(u64 a, u64 b) { return (b | 1) == ~0ull ? 0 : (u64)((int64_t)a % (int64_t)(b | 1)); }
BOTH u64 lesser64(u64 a, u64 b) { return a < b ? a : b; }
BOTH u64 lesser_signed64(u64 a, u64 b) { return (int64_t)a < (int64_t)b ? a : b; }

BOTH u64 high64(u64 a, u64 b)
{
#ifdef __CUDA_ARCH__
    return __umul64hi(a, b);
#else
    return (u64)((unsigned __int128)a * b >> 64);
#endif
}

BOTH u64 ones64(u64 a)
{
#ifdef __CUDA_ARCH__
    return (u64)__popcll(a);
#else
    return (u64)__builtin_popcountll(a);
#endif
}

BOTH u64 zeros64(u64 a)
{
#ifdef __CUDA_ARCH__
    return (u64)__clzll((long long)a);
#else
    return a ? (u64)__builtin_clzll(a) : 64;
#endif
}

/* Doubles go about as their bits, as random.h's floats do. */
BOTH double to_double(u64 a) { return (double)(int64_t)(a & 0x1fffffffffffff) * 0.00390625; }

/* Of numbers of any size beside others. */
BOTH double d_scaled(double x) { return x * 0.0000152587890625; }

BOTH u64 of_double(double x)
{
    u64 bits;
    memcpy(&bits, &x, sizeof bits);
    return x != x ? 0x7fffffffffffffff : bits;
}

BOTH u64 d_add(u64 a, u64 b) { double x = to_double(a), y = to_double(b); EXACT(of_double(__dadd_rn(x, y)), of_double(x + y)); }
BOTH u64 d_mul(u64 a, u64 b) { double x = to_double(a), y = to_double(b); EXACT(of_double(__dmul_rn(x, y)), of_double(x * y)); }
BOTH u64 d_div(u64 a, u64 b) { double x = to_double(a), y = to_double(b); EXACT(of_double(__ddiv_rn(x, y)), of_double(x / y)); }
BOTH u64 d_root(u64 a) { double x = to_double(a); EXACT(of_double(__dsqrt_rn(x)), of_double(sqrt(x))); }
BOTH u64 d_fused(u64 a, u64 b, u64 c)
{
    double x = to_double(a), y = to_double(b), z = to_double(c);
    EXACT(of_double(__fma_rn(x, y, -z)), of_double(fma(x, y, -z)));
}
BOTH u64 d_least(u64 a, u64 b) { return of_double(fmin(to_double(a), to_double(b))); }
BOTH u64 d_floor(u64 a) { return of_double(floor(to_double(a))); }
BOTH u64 d_short(u64 a) { return of_double((double)(float)to_double(a)); }
BOTH u64 d_whole(u64 a) { return (u64)(int64_t)to_double(a) + (u32)(int32_t)(to_double(a) * 0.00001); }

/* ---- directed roundings: beside others that are to nearest ---- */

/* `r`, to nearest, is moved to where `error`, what it lacks, and the direction say: -1 down, 1 up, 0 towards zero. */
static inline float host_directed(float r, double error, int where)
{
    if (error < 0 && (where < 0 || (where == 0 && r > 0)))
        return nextafterf(r, -INFINITY);
    return error > 0 && (where > 0 || (where == 0 && r < 0)) ? nextafterf(r, INFINITY) : r;
}

static inline double host_directed(double r, double error, int where)
{
    if (error < 0 && (where < 0 || (where == 0 && r > 0)))
        return nextafter(r, -INFINITY);
    return error > 0 && (where > 0 || (where == 0 && r < 0)) ? nextafter(r, INFINITY) : r;
}

/* By 3 of `how` down, up or towards zero. */
#define WHERE ((int)(how % 3) - 1)
#define IN_DIRECTION(down, zero, up) (how % 3 == 0 ? (down) : how % 3 == 1 ? (zero) : (up))

BOTH float to_signed_float(u32 a) { return a >> 31 ? -to_float(a) : to_float(a); }

BOTH u32 r_add(u32 a, u32 b, u32 how)
{
    float x = to_signed_float(a), y = to_signed_float(b) * 0.001f, r;
#ifdef __CUDA_ARCH__
    r = IN_DIRECTION(__fadd_rd(x, y), __fadd_rz(x, y), __fadd_ru(x, y));
#else
    r = host_directed(x + y, (double)x + y - (double)(x + y), WHERE);
#endif
    return r == 0 ? 0 : of_float(r);
}

BOTH u32 r_mul(u32 a, u32 b, u32 how)
{
    float x = to_float(a), y = to_float(b);
#ifdef __CUDA_ARCH__
    return of_float(IN_DIRECTION(__fmul_rd(x, y), __fmul_rz(x, y), __fmul_ru(x, y)));
#else
    return of_float(host_directed(x * y, (double)x * y - (double)(x * y), WHERE));
#endif
}

BOTH u32 r_div(u32 a, u32 b, u32 how)
{
    float x = to_float(a), y = to_float(b | 1);
#ifdef __CUDA_ARCH__
    return of_float(IN_DIRECTION(__fdiv_rd(x, y), __fdiv_rz(x, y), __fdiv_ru(x, y)));
#else
    float r = x / y;
    return of_float(host_directed(r, fma(-(double)r, (double)y, (double)x), WHERE));
#endif
}

BOTH u32 r_fused(u32 a, u32 b, u32 c, u32 how)
{
    float x = to_float(a), y = to_signed_float(b), z = to_float(c);
#ifdef __CUDA_ARCH__
    float r = IN_DIRECTION(__fmaf_rd(x, y, z), __fmaf_rz(x, y, z), __fmaf_ru(x, y, z));
    return r == 0 ? 0 : of_float(r);
#else
    double exact = (double)x * y + z; /* 2^-8 to 2^41 */
    return of_float(host_directed((float)exact, exact - (double)(float)exact, WHERE)) & (exact == 0 ? 0 : ~0u);
#endif
}

BOTH u32 r_whole(u32 a, u32 how)
{
    float x = to_float(a) * 0.1f;
#ifdef __CUDA_ARCH__
    return (u32)IN_DIRECTION(__float2int_rd(x), __float2int_rn(x), __float2int_ru(x));
#else
    return (u32)(int)IN_DIRECTION(floorf(x), rintf(x), ceilf(x));
#endif
}

BOTH u64 rd_add(u64 a, u64 b, u64 how)
{
    double x = to_double(a), y = d_scaled(to_double(b));
#ifdef __CUDA_ARCH__
    return of_double(IN_DIRECTION(__dadd_rd(x, y), __dadd_rz(x, y), __dadd_ru(x, y)));
#else
    double sum = x + y, part = sum - x;
    return of_double(host_directed(sum, (x - (sum - part)) + (y - part), WHERE)) & (sum == 0 ? 0 : ~0ull);
#endif
}

BOTH u64 rd_mul(u64 a, u64 b, u64 how)
{
    double x = to_double(a), y = to_double(b);
#ifdef __CUDA_ARCH__
    return of_double(IN_DIRECTION(__dmul_rd(x, y), __dmul_rz(x, y), __dmul_ru(x, y)));
#else
    return of_double(host_directed(x * y, fma(x, y, -(x * y)), WHERE));
#endif
}

/* ---- parts of a word ---- */

union halves {
    u32 word;
    __half half[2];
};

BOTH u32 h_bits(__half2 h)
{
    union halves x;
    x.half[0] = __low2half(h), x.half[1] = __high2half(h);
    u32 r = x.word;
    r = __hisnan(x.half[0]) ? (r & 0xffff0000) | 0x7fff : r;
    return __hisnan(x.half[1]) ? (r & 0xffff) | 0x7fff0000 : r;
}

BOTH __half2 h_pair(u32 a)
{
    union halves x;
    x.word = a;
    return __halves2half2(x.half[0], x.half[1]);
}

/* The host rounds to float first, which does no harm to sums and products. */
BOTH u32 h_add(u32 a, u32 b) { return h_bits(__hadd2_rn(h_pair(a), h_pair(b))); }
BOTH u32 h_mul(u32 a, u32 b) { return h_bits(__hmul2_rn(h_pair(a), h_pair(b))); }

BOTH u32 h_most(u32 a, u32 b)
{
    __half2 x = h_pair(a), y = h_pair(b);
    u32 low = __hgt(__low2half(x), __low2half(y)) ? a : b, high = __hgt(__high2half(x), __high2half(y)) ? a : b;
    return (low & 0xffff) | (high & 0xffff0000);
}

/* Pairs of bf16, with subnormals, whatever is done to those of f32. */
BOTH double b_value(u32 a)
{
    float x;
    a <<= 16;
    memcpy(&x, &a, sizeof x);
    return (double)x;
}

/* x + y, and where that is not a double, one of the two next to it, whose last bit says so: what rounds it further is not misled
 * by a tie. */
static double host_odd_sum(double x, double y)
{
    double sum = x + y, part = sum - x, lost = (x - (sum - part)) + (y - part);
    u64 bits;
    memcpy(&bits, &sum, sizeof bits);
    if (lost == lost && lost != 0 && !(bits & 1))
        bits += (lost > 0) == (sum > 0) ? 1 : ~0ull;
    memcpy(&sum, &bits, sizeof bits);
    return sum;
}

static u32 host_bf16(double x)
{
    u64 bits, left;
    memcpy(&bits, &x, sizeof bits);
    u32 sign = (u32)(bits >> 48) & 0x8000;
    int power = (int)(bits >> 52 & 2047) - 1023, shift = power < -126 ? 45 - (power + 126) : 45;
    u64 digits = (bits & 0xfffffffffffff) | 1ull << 52;
    if (x != x)
        return 0x7fff;
    if (power > 127 || shift > 60)
        return power > 127 ? sign | 0x7f80 : sign;
    left = digits & ((1ull << shift) - 1);
    digits >>= shift;
    digits += left > 1ull << (shift - 1) || (left == 1ull << (shift - 1) && (digits & 1));
    /* The leading one adds to the exponent. */
    return sign | ((u32)(power < -126 ? 0 : power + 126) * 128 + (u32)digits);
}

BOTH u32 b_clean(u32 a)
{
    a = (a & 0x7fff) > 0x7f80 ? (a & 0xffff0000) | 0x7fff : a;
    return (a & 0x7fffffff) > 0x7f80ffff ? (a & 0xffff) | 0x7fff0000 : a;
}

/* Of a b c the parts of a word: c + a * b, a * b or a + b. */
BOTH u32 b_do(u32 a, u32 b, u32 c, int what)
{
    u32 r;
#ifdef __CUDA_ARCH__
    if (what == 0)
        asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    else if (what == 1)
        asm("{.reg .b32 z; mov.b32 z, 0x80008000; fma.rn.bf16x2 %0, %1, %2, z;}" : "=r"(r) : "r"(a), "r"(b));
    else
        asm("{.reg .b32 z; mov.b32 z, 0x3f803f80; fma.rn.bf16x2 %0, %1, z, %2;}" : "=r"(r) : "r"(a), "r"(b));
#else
    r = 0;
    for (int i = 0; i < 32; i += 16) {
        double x = b_value(a >> i & 0xffff), y = b_value(b >> i & 0xffff), z = b_value(c >> i & 0xffff);
        r |= host_bf16(what == 0 ? host_odd_sum(x * y, z) : what == 1 ? x * y : x + y) << i;
    }
#endif
    return b_clean(r);
}

BOTH u32 b_fused(u32 a, u32 b, u32 c) { return b_do(a, b, c, 0); }
BOTH u32 b_mul(u32 a, u32 b) { return b_do(a, b, 0, 1); }
BOTH u32 b_add(u32 a, u32 b) { return b_do(a, b, 0, 2); }
/* About and below the least normal one. */
BOTH u32 b_small(u32 a) { return a & 0x81ff81ff; }

/* None is a NaN, nor zero, whose signs may be as they like. */
BOTH u32 b_most(u32 a, u32 b)
{
    u32 r;
    a = (a & 0xbfffbfff) | 0x10001, b = (b & 0xbfffbfff) | 0x10001;
#ifdef __CUDA_ARCH__
    asm("max.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
#else
    r = 0;
    for (int i = 0; i < 32; i += 16) {
        u32 x = a >> i & 0xffff, y = b >> i & 0xffff;
        r |= (b_value(x) > b_value(y) ? x : y) << i;
    }
#endif
    return r;
}

BOTH u32 dot(u32 a, u32 b, u32 c)
{
#ifdef __CUDA_ARCH__
    return __dp4a(a, b, c);
#else
    for (int i = 0; i < 32; i += 8)
        c += (a >> i & 255) * (b >> i & 255);
    return c;
#endif
}

BOTH u32 funnel(u32 a, u32 b, u32 n)
{
#ifdef __CUDA_ARCH__
    return __funnelshift_l(a, b, n);
#else
    return (u32)(((u64)b << 32 | a) << (n & 31) >> 32);
#endif
}

BOTH u32 reversed(u32 a)
{
#ifdef __CUDA_ARCH__
    return __brev(a);
#else
    u32 r = 0;
    for (int i = 0; i < 32; i++)
        r |= (a >> i & 1) << (31 - i);
    return r;
#endif
}

/* An array that lies in local memory where indices are not known. */
BOTH u32 sorted_bytes(u32 a, u32 b)
{
    u8 x[8];
    for (u32 i = 0; i < 8; i++)
        x[i] = (u8)((i < 4 ? a : b) >> i % 4 * 8);
    for (u32 i = 1; i < 8; i++) {
        u8 v = x[i];
        u32 j = i;
        for (; j && x[j - 1] > v; j--)
            x[j] = x[j - 1];
        x[j] = v;
    }
    return x[0] | (u32)x[3] << 8 | (u32)x[a & 7] << 16 | (u32)x[7] << 24;
}

BOTH u32 digits(u32 a, u32 base)
{
    u32 n = 0, sum = 0, x[8];
    do
        x[n++ & 7] = a % (base % 37 + 2);
    while ((a /= base % 37 + 2));
    while (n--)
        sum = sum * 41 + x[n & 7];
    return sum;
}

BOTH u32 four_bytes(const u8 *bytes, u32 at)
{
    uchar4 x = *(const uchar4 *)&bytes[at % (WORDS / 4) * 4];
    return x.x + x.y * 3u + x.z * 256u - x.w;
}

BOTH u32 four_halves(const u16 *halves, u32 at)
{
    short4 x = *(const short4 *)&halves[at % (WORDS / 4) * 4];
    return (u32)(x.x * 3 - x.y) ^ (u32)(x.z + x.w * 5);
}

BOTH u32 two_words(const u32 *words, u32 at)
{
    uint2 x = *(const uint2 *)&words[at % (WORDS / 2) * 2];
    return x.x - x.y;
}

/* ---- functions ---- */

CALLED u32 called_0(u32 a, u32 b) { return a * 3 + b; }
CALLED u32 called_1(u32 a, u32 b) { return a > b ? a - b : b >> 3; }
CALLED u32 called_2(u32 a, u32 b)
{
    for (u32 i = 0; i < (b & 7); i++)
        a = (a ^ a >> 5) * 9 + i;
    return a;
}

CALLED u32 called_3(u32 a, u32 b) { return a & 4 ? called_1(b, a) : called_2(b, a >> 4) + 1; }
CALLED u32 tree(u32 n, u32 x)
{
    if (!(n & 7))
        return x;
    u32 s = tree((n & 7) - 1, x * 3 + 1);
    if (x & n & 3)
        s += tree((n & 7) / 2, s ^ x);
    return s * 5 + n;
}

/* Two that call each other, and leave from loops. */
CALLED u32 chain(u32 a, u32 b);
CALLED u32 link(u32 a, u32 b)
{
    for (u32 i = 0; i < 4; i++) {
        if ((a >> i & 3) == 3)
            return a + i;
        a += b & 15;
    }
    return b > 1000 ? chain(b >> 3, a & 63) : a;
}
CALLED u32 chain(u32 a, u32 b)
{
    while (a & 1) {
        if (b & 1 << (a & 15))
            return link(a >> 1, b >> 2);
        a = a >> 1 ^ (b & 5);
        if (!(b >>= 1))
            break;
    }
    return a - b;
}

typedef u32 (*called)(u32, u32);
static __device__ const called device_called[4] = { called_0, called_1, called_2, called_3 };
static const called host_called[4] = { called_0, called_1, called_2, called_3 };

BOTH u32 apply(u32 a, u32 b, u32 which)
{
#ifdef __CUDA_ARCH__
    return device_called[which & 3](a, b);
#else
    return host_called[which & 3](a, b);
#endif
}

/* ---- structures: no byte of one is padding ---- */

struct cell {
    u64 wide;
    u32 word;
    u16 half;
    u8 byte[2];
};

CALLED u32 touch(struct cell *c, u32 x)
{
    c->word += x;
    if (x & 1)
        c->byte[x >> 1 & 1] ^= (u8)(x >> 3);
    else
        c->wide = c->wide * 7 + c->half;
    return c->word ^ (u32)(c->wide >> 20);
}

CALLED void swap_cells(struct cell *a, struct cell *b)
{
    struct cell old = *a;
    *a = *b;
    *b = old;
}

BOTH u32 fold_cell(const struct cell *c)
{
    return (u32)(c->wide ^ c->wide >> 32) + c->word * 3 + c->half * 5 + c->byte[0] * 7 + c->byte[1] * 11;
}

/* ---- lanes ---- */

/* Of the set `bits`, the lane behind `lane`, round the end. */
BOTH u32 next_lane(u32 bits, u32 lane)
{
    u32 above = lane == 31 ? 0 : bits >> (lane + 1) << (lane + 1);
    return first_one(above ? above : bits) - 1;
}

static inline void host_in_turn(u32 n, const bool *on, u32 *to, const u32 *key)
{
    for (u32 warp = 0; warp < n; warp += 32) {
        u32 done = 0, turn = 0;
        for (u32 i = 0; i < 32; i++) {
            u32 same = 0;
            for (u32 j = i; j < 32 && on[warp + i] && !(done >> i & 1); j++)
                same |= (u32)(on[warp + j] && key[warp + j] == key[warp + i]) << j;
            for (u32 j = i; j < 32; j++)
                if (same >> j & 1)
                    to[warp + j] = to[warp + j] * 3 + ones(same) + turn * 64 + ones(same & ((1u << j) - 1)) * 4096;
            done |= same;
            turn += same != 0;
        }
    }
}

static inline void host_fewer(u32 n, const bool *on, u32 *v, const u32 *when)
{
    for (u32 warp = 0; warp < n; warp += 32) {
        u32 left = 0;
        for (u32 i = 0; i < 32; i++)
            left |= (u32)on[warp + i] << i;
        for (u32 i = 0; left; i++) {
            u32 old[32], ends = 0;
            memcpy(old, v + warp, sizeof old);
            for (u32 j = 0; j < 32; j++)
                if (left >> j & 1) {
                    v[warp + j] = old[j] * 3 + old[next_lane(left, j)] + i;
                    ends |= (u32)(i >= when[warp + j]) << j;
                }
            left &= ~ends;
        }
    }
}
