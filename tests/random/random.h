/* What random programs (generate.py) share: words of both sides' arithmetic, memory, and the comparison of what the device and
 * the host left in it.
 *
 * The host's version of a kernel runs a block in step: each statement is a loop over the threads whose mask is set, each variable
 * an array. */
/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

enum {
    WORDS = 1 << 14, /* of each input, but `rows` */
    ROWS = 1 << 12,  /* threads of a launch, at most */
    SLOTS = 8,       /* of output for each thread */
    COUNTERS = 64
};

/* Inputs are the same on both sides and nobody writes them; a thread writes its own slots of the outputs; all add to the
 * counters. */
struct memory {
    u32 *words, *odd;
    u64 *doubles;
    u16 *halves;
    u8 *bytes;
    u16 *tiles; /* halves that are small whole numbers */
    u32 *rows; /* where each thread's row of `words` begins, and one more */
    u32 *out, *least;
    u64 *wide;
    u8 *small;
    u32 *counters;
    u32 *marks; /* nothing at first; whoever writes one writes what all others do */
};

/* ---- arithmetic, the same to the bit on both sides ---- */

#define BOTH static __host__ __device__ __forceinline__

BOTH u32 shl(u32 a, u32 n) { return a << (n & 31); }
BOTH u32 shr(u32 a, u32 n) { return a >> (n & 31); }
BOTH u32 sar(u32 a, u32 n) { return (u32)((int32_t)a >> (n & 31)); }
BOTH u32 quotient(u32 a, u32 b) { return a / (b | 1); }
BOTH u32 rest(u32 a, u32 b) { return a % (b | 1); }
BOTH u32 lesser(u32 a, u32 b) { return a < b ? a : b; }
BOTH u32 greater(u32 a, u32 b) { return a > b ? a : b; }
BOTH u32 lesser_signed(u32 a, u32 b) { return (int32_t)a < (int32_t)b ? a : b; }
BOTH u32 distance(u32 a, u32 b) { return a < b ? b - a : a - b; }
BOTH u32 rotate(u32 a, u32 n) { return a << (n & 31) | a >> (-n & 31); }

BOTH u32 ones(u32 a)
{
#ifdef __CUDA_ARCH__
    return (u32)__popc(a);
#else
    return (u32)__builtin_popcount(a);
#endif
}

BOTH u32 zeros_above(u32 a)
{
#ifdef __CUDA_ARCH__
    return (u32)__clz((int)a);
#else
    return a ? (u32)__builtin_clz(a) : 32;
#endif
}

BOTH u32 first_one(u32 a)
{
#ifdef __CUDA_ARCH__
    return (u32)__ffs((int)a);
#else
    return (u32)__builtin_ffs((int)a);
#endif
}

BOTH u32 high(u32 a, u32 b)
{
#ifdef __CUDA_ARCH__
    return __umulhi(a, b);
#else
    return (u32)((u64)a * b >> 32);
#endif
}

BOTH u32 bytes_of(u32 a, u32 b, u32 choice)
{
#ifdef __CUDA_ARCH__
    return __byte_perm(a, b, choice & 0x7777);
#else
    u64 both = (u64)b << 32 | a;
    u32 r = 0;
    for (int i = 0; i < 4; i++)
        r |= (u32)(both >> 8 * (choice >> 4 * i & 7) & 255) << 8 * i;
    return r;
#endif
}

/* Floats go about as their bits; what is not a number has many bits and is one here. */
BOTH float to_float(u32 a)
{
    return (float)(int32_t)(a & 0xffffff) * 0.0625f;
}

BOTH u32 of_float(float x)
{
    u32 bits;
    memcpy(&bits, &x, sizeof bits);
    return x != x ? 0x7fffffff : bits;
}

#ifdef __CUDA_ARCH__
#define EXACT(name, host) return name
#else
#define EXACT(name, host) return host
#endif
/* Never contracted to a fused one. */
BOTH u32 f_add(u32 a, u32 b) { float x = to_float(a), y = to_float(b); EXACT(of_float(__fadd_rn(x, y)), of_float(x + y)); }
BOTH u32 f_mul(u32 a, u32 b) { float x = to_float(a), y = to_float(b); EXACT(of_float(__fmul_rn(x, y)), of_float(x * y)); }
BOTH u32 f_div(u32 a, u32 b) { float x = to_float(a), y = to_float(b); EXACT(of_float(__fdiv_rn(x, y)), of_float(x / y)); }
BOTH u32 f_root(u32 a) { float x = to_float(a); EXACT(of_float(__fsqrt_rn(x)), of_float(sqrtf(x))); }
BOTH u32 f_fused(u32 a, u32 b, u32 c) { float x = to_float(a), y = to_float(b),
                                        z = to_float(c); EXACT(of_float(__fmaf_rn(x, y, -z)), of_float(fmaf(x, y, -z))); }
BOTH u32 f_least(u32 a, u32 b) { return of_float(fminf(to_float(a), to_float(b))); }
BOTH u32 f_whole(u32 a) { return (u32)(int)to_float(a); }

/* ---- the host's side of what lanes do together; n threads in warps of 32, masks by thread ---- */

#define EACH(mask) \
    for (u32 t = 0; t < T; t++) \
        if (mask[t])

static inline bool any_of(const bool *on, u32 n)
{
    for (u32 t = 0; t < n; t++)
        if (on[t])
            return true;
    return false;
}

static inline u32 warp_bits(const bool *on, const u32 *x, u32 warp)
{
    u32 bits = 0;
    for (u32 i = 0; i < 32; i++)
        bits |= (u32)(on[warp * 32 + i] && x[warp * 32 + i]) << i;
    return bits;
}

static inline void host_ballot(u32 n, const bool *on, u32 *to, const u32 *x)
{
    for (u32 t = 0; t < n; t++)
        if (on[t])
            to[t] = warp_bits(on, x, t / 32);
}

/* Lane `from` (5 bits) of a segment of `width` lanes, as shfl.idx does; 0 from one that is not here. */
static inline void host_shuffle(u32 n, const bool *on, u32 *to, const u32 *x, const u32 *from, u32 width)
{
    static u32 old[1024];
    memcpy(old, x, n * sizeof *x);
    for (u32 t = 0; t < n; t++)
        if (on[t]) {
            u32 at = t / 32 * 32 + (t % 32 & ~(width - 1)) + (from[t] & (width - 1));
            to[t] = on[at] ? old[at] : 0;
        }
}

/* The lane that shfl.up, .down or .bfly (kind 0, 1, 2) reads: who would read outside of his segment reads his own. */
static __host__ __device__ u32 shifted(u32 lane, u32 kind, u32 by, u32 width)
{
    int first = (int)(lane & ~(width - 1)), last = first + (int)width - 1;
    int from = kind == 0 ? (int)(lane - by) : kind == 1 ? (int)(lane + by) : (int)(lane ^ by);
    return (kind == 0 && from < first) || (kind && from > last) ? lane : (u32)from;
}

/* What was given by a lane, if that is one of those in `bits`; else 0. */
static __device__ u32 among(u32 bits, u32 lane, u32 given)
{
    return bits >> (lane & 31) & 1 ? given : 0;
}

static inline void host_shift(u32 n, const bool *on, u32 *to, const u32 *x, u32 kind, u32 by, u32 width)
{
    static u32 old[1024];
    memcpy(old, x, n * sizeof *x);
    for (u32 t = 0; t < n; t++)
        if (on[t]) {
            u32 at = t / 32 * 32 + shifted(t % 32, kind, by, width);
            to[t] = on[at] ? old[at] : 0;
        }
}

/* a s m: add, sub, mad.lo, with carry out; A S M: addc, subc, madc.hi, with carry in and out.  The first operand is the result so
 * far, the others take turns; the carry is doubled in at the end. */
static inline u32 host_carry(const char *codes, u32 a, u32 b, u32 c)
{
    const u32 operand[3] = { a, b, c };
    u64 x = a, carry = 0;
    for (u32 i = 0; codes[i]; i++) {
        u64 y = operand[1 + i % 2], z = operand[i % 3], in = codes[i] < 'a' ? carry : codes[i] == 's';
        u64 sum = codes[i] == 'm'                      ? (u32)(x * y) + z
                  : codes[i] == 'M'                    ? (x * y >> 32) + z
                  : codes[i] == 's' || codes[i] == 'S' ? x + (u32)~y
                                                       : x + y;
        sum += codes[i] == 'm' || codes[i] == 'a' ? 0 : in;
        x = (u32)sum;
        carry = sum >> 32;
    }
    return (u32)(x + x + carry);
}

static inline void host_match(u32 n, const bool *on, u32 *to, const u32 *x)
{
    for (u32 t = 0; t < n; t++)
        if (on[t]) {
            to[t] = 0;
            for (u32 i = 0; i < 32; i++)
                to[t] |= (u32)(on[t / 32 * 32 + i] && x[t / 32 * 32 + i] == x[t]) << i;
        }
}

static inline void host_sum(u32 n, const bool *on, u32 *to, const u32 *x)
{
    static u32 old[1024];
    memcpy(old, x, n * sizeof *x);
    for (u32 t = 0; t < n; t++)
        if (on[t]) {
            to[t] = 0;
            for (u32 i = 0; i < 32; i++)
                to[t] += on[t / 32 * 32 + i] ? old[t / 32 * 32 + i] : 0;
        }
}

/* ---- memory ---- */

#define FILLED(DO)                                                                                           \
    DO(words, WORDS)                                                                                         \
    DO(odd, WORDS) DO(doubles, WORDS) DO(halves, WORDS) DO(bytes, WORDS) DO(rows, ROWS + 1) DO(tiles, WORDS) \
        DO(out, ROWS *SLOTS) DO(least, ROWS) DO(wide, ROWS) DO(small, ROWS) DO(counters, COUNTERS)
#define MEMORY(DO) FILLED(DO) DO(marks, WORDS)

static u64 random_state = 1;

static u32 random_word(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (u32)(random_state >> 32);
}

#define CHECK(call) \
    do { \
        cudaError_t status_ = (call); \
        if (status_ != cudaSuccess) { \
            printf("%s: %s\n", #call, cudaGetErrorString(status_)); \
            exit(2); \
        } \
    } while (0)

/* On the host, filled: small numbers are as frequent as large ones, and rows are mostly short. */
static void memory_fill(struct memory *m, u64 seed)
{
    random_state = seed;
#define DO(name, n) \
    m->name = (decltype(m->name))calloc(n, sizeof *m->name); \
    for (u32 i = 0; i < n; i++) \
        m->name[i] = (decltype(+*m->name))((u64)random_word() * random_word() >> random_word() % 61);
    FILLED(DO)
#undef DO
    m->marks = (u32 *)calloc(WORDS, sizeof *m->marks);
    for (u32 i = 0; i < WORDS; i++)
        m->odd[i] = (i * 2654435761u) % WORDS, m->tiles[i] = small_half(m->words[i] ^ i >> 3);
    m->rows[0] = 0;
    for (u32 i = 0; i < ROWS; i++) {
        u32 n = random_word() % 8 ? random_word() % 4 : random_word() % 40;
        m->rows[i + 1] = m->rows[i] + n < WORDS ? m->rows[i] + n : WORDS;
    }
}

static void memory_to_device(const struct memory *m, struct memory *d)
{
#define DO(name, n) \
    CHECK(cudaMalloc(&d->name, (n) * sizeof *m->name)); \
    CHECK(cudaMemcpy(d->name, m->name, (n) * sizeof *m->name, cudaMemcpyHostToDevice));
    MEMORY(DO)
#undef DO
}

/* How many elements differ; says which came first. */
static u32 memory_compare(const struct memory *m, const struct memory *d, const char *kernel)
{
    u32 wrong = 0;
#define DO(name, n)                                                                                      \
    {                                                                                                    \
        u32 size = (n) * sizeof *m->name, before = wrong;                                                \
        decltype(m->name) got = (decltype(m->name))malloc(size);                                         \
        CHECK(cudaMemcpy(got, d->name, size, cudaMemcpyDeviceToHost));                                   \
        for (u32 i = 0; i < n; i++)                                                                      \
            if (got[i] != m->name[i] && wrong++ == before)                                               \
                printf("%s: %s[%u] is %#llx, not %#llx\n", kernel, #name, i, (unsigned long long)got[i], \
                       (unsigned long long)m->name[i]);                                                  \
        free(got);                                                                                       \
        cudaFree(d->name);                                                                               \
        free(m->name);                                                                                   \
    }
    MEMORY(DO)
#undef DO
    return wrong;
}
