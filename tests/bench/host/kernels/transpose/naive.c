/* Row by row, as the naive kernel. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static void run(void)
{
    const float *restrict from = HOST(FROM, float);
    float *restrict to = HOST(TO, float);
    int w = width, h = height;

#pragma omp parallel for
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            to[(long)x * h + y] = from[(long)y * w + x];
}
