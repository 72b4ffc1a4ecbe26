/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
__kernel void max_pool(__global const float *images, __global float *result, int all, int n, int m)
{
    int i = get_global_id(0);

    if (i >= all)
        return;
    int x = i % m, y = i / m % m, x0 = max(2 * x - 1, 0), y0 = max(2 * y - 1, 0), x1 = min(2 * x + 2, n), y1 = min(2 * y + 2, n);
    __global const float *image = images + (long)(i / (m * m)) * n * n;
    float best = -INFINITY;

    for (int v = y0; v < y1; v++)
        for (int u = x0; u < x1; u++)
            best = fmax(best, image[v * n + u]);
    result[i] = best;
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    int all = count * half * half;

    LAUNCH1("max_pool", all, 256, BUF(IMAGES), BUF(RESULT), VAL(all), VAL(side), VAL(half));
}
#endif
