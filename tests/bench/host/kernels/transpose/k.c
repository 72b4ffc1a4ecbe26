/* Tile by tile, so that both sides stay in cache. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

enum { TILE = 32 };

static inline int smaller(int a, int b)
{
    return a < b ? a : b;
}

static void run(void)
{
    const float *restrict from = HOST(FROM, float);
    float *restrict to = HOST(TO, float);
    int w = width, h = height;

#pragma omp parallel for collapse(2)
    for (int x0 = 0; x0 < w; x0 += TILE)
        for (int y0 = 0; y0 < h; y0 += TILE)
            for (int x = x0; x < smaller(x0 + TILE, w); x++)
                for (int y = y0; y < smaller(y0 + TILE, h); y++)
                    to[(long)x * h + y] = from[(long)y * w + x];
}
