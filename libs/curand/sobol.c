/* Directions of Sobol's sequence from Joe and Kuo's polynomials and initial numbers (2008, criterion D6), which sobol.py brings
 * in; and a scrambling of them (Matousek 1998): the bits of each dimension's numbers are multiplied by a triangular matrix of
 * random bits, and a random number is added. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>

#include "engine.h"
#include "sobol_table.h"

/* v[k] of `bits` bits: the numbers m of Joe and Kuo at the upper end.  The first dimension's are all 1. */
static void directions(uint32_t polynomial, const uint32_t *m, unsigned bits, uint64_t *v)
{
    unsigned degree = polynomial > 1 ? 31 - (unsigned)__builtin_clz(polynomial) : 0;
    for (unsigned k = 0; k < bits; k++) {
        if (degree == 0)
            v[k] = UINT64_C(1) << (bits - 1 - k);
        else if (k < degree)
            v[k] = (uint64_t)m[k] << (bits - 1 - k);
        else {
            v[k] = v[k - degree] ^ v[k - degree] >> degree;
            for (unsigned i = 1; i < degree; i++)
                if (polynomial >> (degree - i) & 1)
                    v[k] ^= v[k - i];
        }
    }
}

/* Of the plain sequence and of the scrambled one. */
static struct tables {
    uint32_t *vectors32, *constants32;
    uint64_t *vectors64, *constants64;
} plain, scrambled;
static pthread_once_t once_plain32 = PTHREAD_ONCE_INIT, once_plain64 = PTHREAD_ONCE_INIT, once_scrambled32 = PTHREAD_ONCE_INIT,
                      once_scrambled64 = PTHREAD_ONCE_INIT;

/* Number i of a fixed random sequence: a counter's bits, mixed (SplitMix64). */
static uint64_t random_of(uint64_t i)
{
    uint64_t x = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Each bit becomes the parity of itself and some of those above it, chosen by dimension and bit. */
static void scramble(unsigned d, unsigned bits, uint64_t *v)
{
    uint64_t above = 0;
    uint64_t row[64];
    for (unsigned r = 0; r < bits; r++) {
        uint64_t own = UINT64_C(1) << (bits - 1 - r);
        row[r] = own | (random_of((uint64_t)d * 128 + bits + r - 32) & above);
        above |= own;
    }
    for (unsigned k = 0; k < bits; k++) {
        uint64_t x = 0;
        for (unsigned r = 0; r < bits; r++)
            x = x << 1 | (uint64_t)__builtin_parityll(v[k] & row[r]);
        v[k] = x;
    }
}

unsigned aw_rand_sobol_dimensions(void)
{
    return AW_SOBOL_DIMENSIONS;
}

static void make(unsigned bits, bool is_scrambled, uint32_t *narrow, uint64_t *wide)
{
    const uint32_t *m = sobol_m;
    uint64_t v[64];
    const unsigned n = aw_rand_sobol_dimensions();
    for (unsigned d = 0; d < n; d++) {
        directions(sobol_polynomial[d], m, bits, v);
        m += sobol_polynomial[d] > 1 ? 31 - __builtin_clz(sobol_polynomial[d]) : 0;
        if (is_scrambled)
            scramble(d, bits, v);
        for (unsigned k = 0; k < bits; k++)
            if (narrow)
                narrow[d * bits + k] = (uint32_t)v[k];
            else
                wide[d * bits + k] = v[k];
    }
}

static void make32(struct tables *t, bool is_scrambled)
{
    t->vectors32 = AW_SOBOL_DIMENSIONS ? malloc((size_t)AW_SOBOL_DIMENSIONS * 33 * sizeof *t->vectors32) : NULL;
    if (!t->vectors32)
        return;
    make(32, is_scrambled, t->vectors32, NULL);
    t->constants32 = t->vectors32 + (size_t)AW_SOBOL_DIMENSIONS * 32;
    for (uint64_t d = 0; d < AW_SOBOL_DIMENSIONS; d++)
        t->constants32[d] = is_scrambled ? (uint32_t)(random_of(~d) >> 32) : 0;
}

static void make64(struct tables *t, bool is_scrambled)
{
    t->vectors64 = AW_SOBOL_DIMENSIONS ? malloc((size_t)AW_SOBOL_DIMENSIONS * 65 * sizeof *t->vectors64) : NULL;
    if (!t->vectors64)
        return;
    make(64, is_scrambled, NULL, t->vectors64);
    t->constants64 = t->vectors64 + (size_t)AW_SOBOL_DIMENSIONS * 64;
    for (uint64_t d = 0; d < AW_SOBOL_DIMENSIONS; d++)
        t->constants64[d] = is_scrambled ? random_of(~d) : 0;
}

static void make_plain32(void)
{
    make32(&plain, false);
}

static void make_plain64(void)
{
    make64(&plain, false);
}

static void make_scrambled32(void)
{
    make32(&scrambled, true);
}

static void make_scrambled64(void)
{
    make64(&scrambled, true);
}

const uint32_t *aw_rand_sobol_vectors32(bool is_scrambled, const uint32_t **ret_constants)
{
    const struct tables *t = is_scrambled ? &scrambled : &plain;
    pthread_once(is_scrambled ? &once_scrambled32 : &once_plain32, is_scrambled ? make_scrambled32 : make_plain32);
    if (ret_constants)
        *ret_constants = t->constants32;
    return t->vectors32;
}

const uint64_t *aw_rand_sobol_vectors64(bool is_scrambled, const uint64_t **ret_constants)
{
    const struct tables *t = is_scrambled ? &scrambled : &plain;
    pthread_once(is_scrambled ? &once_scrambled64 : &once_plain64, is_scrambled ? make_scrambled64 : make_plain64);
    if (ret_constants)
        *ret_constants = t->constants64;
    return t->vectors64;
}
