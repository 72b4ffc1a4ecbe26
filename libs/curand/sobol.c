/* Directions of Sobol's sequence from Joe and Kuo's polynomials and initial numbers (2008, criterion D6), which sobol.py brings
 * in. */
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

static uint32_t *vectors32;
static uint64_t *vectors64;
static pthread_once_t once32 = PTHREAD_ONCE_INIT, once64 = PTHREAD_ONCE_INIT;

unsigned aw_rand_sobol_dimensions(void)
{
    return AW_SOBOL_DIMENSIONS;
}

static void make(unsigned bits, uint32_t *narrow, uint64_t *wide)
{
    const uint32_t *m = sobol_m;
    uint64_t v[64];
    const unsigned n = aw_rand_sobol_dimensions();
    for (unsigned d = 0; d < n; d++) {
        directions(sobol_polynomial[d], m, bits, v);
        m += sobol_polynomial[d] > 1 ? 31 - __builtin_clz(sobol_polynomial[d]) : 0;
        for (unsigned k = 0; k < bits; k++)
            if (narrow)
                narrow[d * bits + k] = (uint32_t)v[k];
            else
                wide[d * bits + k] = v[k];
    }
}

static void make32(void)
{
    uint32_t *v = AW_SOBOL_DIMENSIONS ? malloc((size_t)AW_SOBOL_DIMENSIONS * 32 * sizeof *v) : NULL;
    if (v)
        make(32, v, NULL);
    vectors32 = v;
}

static void make64(void)
{
    uint64_t *v = AW_SOBOL_DIMENSIONS ? malloc((size_t)AW_SOBOL_DIMENSIONS * 64 * sizeof *v) : NULL;
    if (v)
        make(64, NULL, v);
    vectors64 = v;
}

const uint32_t *aw_rand_sobol_vectors32(void)
{
    pthread_once(&once32, make32);
    return vectors32;
}

const uint64_t *aw_rand_sobol_vectors64(void)
{
    pthread_once(&once64, make64);
    return vectors64;
}
