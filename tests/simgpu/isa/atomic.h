/* What atomic instructions compute, for vector memory, scalar memory and LDS alike.  The functions differ per place in whether
 * other threads may be at the same address: LDS belongs to one block, which one thread runs at a time. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATOMIC_H
#define ATOMIC_H

#include <math.h>

#include "../inst.h"

static inline float atomic_f32(uint64_t bits)
{
    uint32_t word = (uint32_t)bits;
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
}

static inline double atomic_f64(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t atomic_from_f32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline uint64_t atomic_from_f64(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Rows: operation, new value of the memory from `o` (the old one), `d` and `c` (data and compared value) of type U (unsigned) or
 * S (signed). inc and dec wrap at the data; csub stops at zero; wrap and mskor are LDS's. */
#define ATOMIC_INTEGER(X)                                                                                               \
    X(swap, d) X(cmpswap, o == c ? d : o) X(add, o + d) X(sub, o - d) X(smin, (S)d < (S)o ? d : o)                      \
    X(umin, d < o ? d : o) X(smax, (S)d > (S)o ? d : o) X(umax, d > o ? d : o) X(and, o & d) X(or, o | d) X(xor, o ^ d) \
    X(inc, o >= d ? 0 : o + 1) X(dec, o == 0 || o > d ? d : o - 1) X(csub, o < d ? 0 : o - d) X(rsub, d - o)            \
    X(mskor, (o & ~d) | c) X(wrap, o >= d ? o - d : o + c)

/* Minimum and maximum replace the memory only when the comparison holds, so a NaN never does and stays when it is there. */
#define ATOMIC_F32(X)                                                                                                   \
    X(fmin, atomic_f32(d) < atomic_f32(o) ? d : o) X(fmax, atomic_f32(d) > atomic_f32(o) ? d : o)                       \
    X(fcmpswap, atomic_f32(o) == atomic_f32(c) ? d : o)
#define ATOMIC_F64(X)                                                                                                   \
    X(fmin, atomic_f64(d) < atomic_f64(o) ? d : o) X(fmax, atomic_f64(d) > atomic_f64(o) ? d : o)                       \
    X(fcmpswap, atomic_f64(o) == atomic_f64(c) ? d : o)

static inline uint32_t atomic_flush_f32(uint32_t x)
{
    return x & 0x7f800000 ? x : x & 0x80000000;
}

/* Sums round to nearest even.  A NaN among the operands is the result, quieted, the memory's before the data's; that of
 * infinities of both signs is the card's, which is positive. */
static inline uint32_t atomic_sum_f32(uint32_t a, uint32_t b)
{
    float x = atomic_f32(a), y = atomic_f32(b), sum = x + y;
    return isnan(x) ? a | 0x400000 : isnan(y) ? b | 0x400000 : isnan(sum) ? 0x7fc00000 : atomic_from_f32(sum);
}

static inline uint64_t atomic_sum_f64(uint64_t a, uint64_t b)
{
    const uint64_t quiet = (uint64_t)1 << 51;
    double x = atomic_f64(a), y = atomic_f64(b), sum = x + y;
    return isnan(x) ? a | quiet : isnan(y) ? b | quiet : isnan(sum) ? 0x7ff8000000000000 : atomic_from_f64(sum);
}

/* Memory's f32 adder flushes denormals before gfx940 and gfx11; that of LDS follows MODE.  The others keep them. */
static inline uint32_t atomic_add_f32_memory(const struct sim_wave *w, uint32_t o, uint32_t d)
{
    if (w->card->major >= 11 || (w->card->major == 9 && w->card->minor >= 4))
        return atomic_sum_f32(o, d);
    return atomic_flush_f32(atomic_sum_f32(atomic_flush_f32(o), atomic_flush_f32(d)));
}

static inline uint32_t atomic_add_f32_mode(const struct sim_wave *w, uint32_t o, uint32_t d)
{
    uint32_t a = w->mode & 16 ? o : atomic_flush_f32(o), b = w->mode & 16 ? d : atomic_flush_f32(d);
    uint32_t sum = atomic_sum_f32(a, b);
    return w->mode & 32 ? sum : atomic_flush_f32(sum);
}

/* Two f16 sums.  By way of f32 they are the same: its 24 bits are enough for the second rounding to do no harm. */
static inline uint32_t atomic_add_pk_f16(uint32_t o, uint32_t d)
{
    uint32_t result = 0;
    for (unsigned shift = 0; shift < 32; shift += 16) {
        _Float16 a, b, sum;
        uint16_t x = (uint16_t)(o >> shift), y = (uint16_t)(d >> shift);
        memcpy(&a, &x, sizeof a);
        memcpy(&b, &y, sizeof b);
        uint32_t bits = atomic_sum_f32(atomic_from_f32((float)a), atomic_from_f32((float)b));
        sum = (_Float16)atomic_f32(bits);
        memcpy(&x, &sum, sizeof x);
        result |= (uint32_t)x << shift;
    }
    return result;
}

/* Two bf16 sums, likewise. */
static inline uint32_t atomic_add_pk_bf16(uint32_t o, uint32_t d)
{
    uint32_t result = 0;
    for (unsigned shift = 0; shift < 32; shift += 16) {
        uint32_t bits = atomic_sum_f32(o >> shift << 16, d >> shift << 16);
        if (!isnan(atomic_f32(bits))) /* to nearest even */
            bits += 0x7fff + (bits >> 16 & 1);
        result |= bits >> 16 << shift;
    }
    return result;
}

/* Defines `name`, a function of type memory_atomic (memory.h), for memory that other threads use too. */
#define ATOMIC_SHARED(name, type, stype, expr)                                                                          \
    uint64_t name(const struct sim_wave *w, char *at, uint64_t data, uint64_t compare)                                  \
    {                                                                                                                   \
        typedef stype S __attribute__((unused));                                                                        \
        type *p = (type *)at, o = __atomic_load_n(p, __ATOMIC_RELAXED), d = (type)data, c = (type)compare, n;           \
        (void)w, (void)d, (void)c;                                                                                      \
        do                                                                                                              \
            n = (type)(expr);                                                                                           \
        while (!__atomic_compare_exchange_n(p, &o, n, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));                      \
        return o;                                                                                                       \
    }
/* A static one, for LDS, which has not all of them: does it for all lanes in order.  `compare` and `result` may be NULL; lanes
 * that are not live get zeros.  The addresses are aligned. */
#define ATOMIC_OWN(name, type, stype, expr)                                                                             \
    static __attribute__((unused)) void name(const struct sim_wave *w, const struct access *a, const uint32_t *data,    \
                                             const uint32_t *compare, uint32_t *result)                                 \
    {                                                                                                                   \
        typedef stype S __attribute__((unused));                                                                        \
        const size_t lanes = w->lanes;                                                                                  \
        for (uint64_t left = a->exec; left; left &= left - 1) {                                                         \
            unsigned l = (unsigned)__builtin_ctzll(left);                                                               \
            type o = 0, d = (type)memory_value(data, lanes, l, sizeof o), n;                                            \
            type c = compare ? (type)memory_value(compare, lanes, l, sizeof o) : 0;                                     \
            (void)d, (void)c;                                                                                           \
            if (a->live >> l & 1) {                                                                                     \
                memcpy(&o, a->at[l], sizeof o);                                                                         \
                n = (type)(expr);                                                                                       \
                memcpy(a->at[l], &n, sizeof n);                                                                         \
            }                                                                                                           \
            if (!result)                                                                                                \
                continue;                                                                                               \
            result[l] = (uint32_t)o;                                                                                    \
            if (sizeof o == 8)                                                                                          \
                result[lanes + l] = (uint32_t)((uint64_t)o >> 32);                                                      \
        }                                                                                                               \
    }

#endif
