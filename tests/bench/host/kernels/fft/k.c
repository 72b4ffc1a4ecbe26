/* Real and imaginary parts apart while a run is in cache, so that neighbours are vectors. */
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

static void transform(float *restrict data, const unsigned *restrict order, const float (*restrict factors)[POINTS])
{
    float re[POINTS], im[POINTS];

    for (int i = 0; i < POINTS; i++) {
        re[order[i]] = data[2 * i];
        im[order[i]] = data[2 * i + 1];
    }
    for (int half = 1; half < POINTS; half <<= 1) {
        for (int first = 0; first < POINTS; first += 2 * half) {
            float *restrict ar = re + first, *restrict ai = im + first, *restrict br = ar + half, *restrict bi = ai + half;
            const float *restrict wr = factors[0] + half, *restrict wi = factors[1] + half;
#pragma omp simd
            for (int k = 0; k < half; k++) {
                float x = br[k] * wr[k] - bi[k] * wi[k], y = br[k] * wi[k] + bi[k] * wr[k];
                br[k] = ar[k] - x;
                bi[k] = ai[k] - y;
                ar[k] += x;
                ai[k] += y;
            }
        }
    }
    for (int i = 0; i < POINTS; i++) {
        data[2 * i] = re[i];
        data[2 * i + 1] = im[i];
    }
}

static void run(void)
{
    const float *restrict table = HOST(FACTORS, float);
    static unsigned order[POINTS];
    static float factors[2][POINTS];  /* of each step, in the order it takes them, from index half */

    for (unsigned i = 0; i < POINTS; i++)
        order[i] = reversed(i);
    for (int half = 1; half < POINTS; half <<= 1) {
        for (int k = 0; k < half; k++) {
            factors[0][half + k] = table[2 * k * (POINTS / 2 / half)];
            factors[1][half + k] = table[2 * k * (POINTS / 2 / half) + 1];
        }
    }
#pragma omp parallel for
    for (int i = 0; i < count; i++)
        transform(HOST(DATA, float) + (long)i * POINTS * 2, order, factors);
}
