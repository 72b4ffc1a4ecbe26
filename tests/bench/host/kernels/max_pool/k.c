/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static void run(void)
{
    const float *restrict images = HOST(IMAGES, float);
    float *restrict result = HOST(RESULT, float);
    int n = side, m = half, rows = count * half;

#pragma omp parallel for
    for (int row = 0; row < rows; row++) {
        const float *restrict image = images + (long)(row / m) * n * n;
        int y = row % m, y0 = 2 * y - 1 < 0 ? 0 : 2 * y - 1, y1 = 2 * y + 2 > n ? n : 2 * y + 2;
        for (int x = 0; x < m; x++) {
            int x0 = 2 * x - 1 < 0 ? 0 : 2 * x - 1, x1 = 2 * x + 2 > n ? n : 2 * x + 2;
            float best = -INFINITY;
            for (int v = y0; v < y1; v++)
                for (int u = x0; u < x1; u++)
                    best = fmaxf(best, image[v * n + u]);
            result[(long)row * m + x] = best;
        }
    }
}
