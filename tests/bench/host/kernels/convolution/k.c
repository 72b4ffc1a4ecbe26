/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static void run(void)
{
    const float *restrict image = HOST(IMAGE, float), *restrict filter = HOST(FILTER, float);
    float *restrict result = HOST(RESULT, float);
    long w = width, h = height, row = pitch;

#pragma omp parallel for
    for (long y = 0; y < h; y++) {
        const float *restrict in = image + y * row;
#pragma omp simd
        for (long x = 0; x < w; x++) {
            float sum = 0;
            for (int v = 0; v < SIDE; v++)
                for (int u = 0; u < SIDE; u++)
                    sum += filter[v * SIDE + u] * in[v * row + x + u];
            result[y * w + x] = sum;
        }
    }
}
