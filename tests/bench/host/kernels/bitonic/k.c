/* The same network; its inner loop is over neighbours. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static void step(unsigned *restrict s, int size, int stride)
{
    for (int first = 0; first < RUN; first += 2 * stride) {
        unsigned *restrict low = s + first, *restrict high = s + first + stride;
        if (first & size) {
#pragma omp simd
            for (int i = 0; i < stride; i++) {
                unsigned a = low[i], b = high[i];
                low[i] = a > b ? a : b;
                high[i] = a > b ? b : a;
            }
        } else {
#pragma omp simd
            for (int i = 0; i < stride; i++) {
                unsigned a = low[i], b = high[i];
                low[i] = a > b ? b : a;
                high[i] = a > b ? a : b;
            }
        }
    }
}

static void run(void)
{
#pragma omp parallel for
    for (int at = 0; at < runs; at++)
        for (int size = 2; size <= RUN; size <<= 1)
            for (int stride = size / 2; stride > 0; stride >>= 1)
                step(HOST(KEYS, unsigned) + (long)at * RUN, size, stride);
}
