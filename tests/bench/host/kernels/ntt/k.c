/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static unsigned reversed(unsigned i)
{
    unsigned r = 0;

    for (int bit = 0; bit < BITS; bit++)
        r |= (i >> bit & 1) << (BITS - 1 - bit);
    return r;
}

static inline unsigned product(unsigned a, unsigned b)
{
    uint64_t all = (uint64_t)a * b;
    unsigned high = (unsigned)(all >> 32), less = (unsigned)((uint64_t)((unsigned)all * INVERSE) * PRIME >> 32);

    return high >= less ? high - less : high - less + PRIME;
}

static inline unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static void transform(unsigned *restrict data, const unsigned *restrict order, const unsigned *restrict factors)
{
    unsigned s[POINTS];

    for (int i = 0; i < POINTS; i++)
        s[order[i]] = data[i];
    for (int half = 1; half < POINTS; half <<= 1) {
        for (int first = 0; first < POINTS; first += 2 * half) {
            unsigned *restrict a = s + first, *restrict b = a + half;
            const unsigned *restrict w = factors + half;
#pragma omp simd
            for (int k = 0; k < half; k++) {
                unsigned x = a[k], y = product(b[k], w[k]);
                a[k] = least(x + y, x + y - PRIME);
                b[k] = least(x - y, x - y + PRIME);
            }
        }
    }
    memcpy(data, s, sizeof s);
}

static void run(void)
{
    const unsigned *restrict table = HOST(FACTORS, unsigned);
    static unsigned order[POINTS], factors[POINTS];  /* of each step, in the order it takes them, from index half */

    for (unsigned i = 0; i < POINTS; i++)
        order[i] = reversed(i);
    for (int half = 1; half < POINTS; half <<= 1)
        for (int k = 0; k < half; k++)
            factors[half + k] = table[k * (POINTS / 2 / half)];
#pragma omp parallel for
    for (int i = 0; i < count; i++)
        transform(HOST(DATA, unsigned) + (long)i * POINTS, order, factors);
}
