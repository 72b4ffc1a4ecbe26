/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

enum { LANES = 16 };

/* TILE filters at LANES places of a row. */
static void tile(const float *restrict image, const float *restrict weights, float *restrict result)
{
    float sum[TILE][LANES] = {0};
    long row = pitch, plane = row * (height + SIDE - 1);

    for (int c = 0; c < CHANNELS; c++)
        for (int v = 0; v < SIDE; v++)
            for (int u = 0; u < SIDE; u++)
                for (int k = 0; k < TILE; k++) {
                    float weight = weights[((k * CHANNELS + c) * SIDE + v) * SIDE + u];
#pragma omp simd
                    for (int x = 0; x < LANES; x++)
                        sum[k][x] += weight * image[c * plane + v * row + u + x];
                }
    for (int k = 0; k < TILE; k++)
        memcpy(result + (long)k * width * height, sum[k], sizeof sum[k]);
}

static void run(void)
{
    const float *restrict image = HOST(IMAGE, float), *restrict weights = HOST(WEIGHTS, float);
    float *restrict result = HOST(RESULT, float);

#pragma omp parallel for collapse(2)
    for (int first = 0; first < FILTERS; first += TILE)
        for (long y = 0; y < height; y++)
            for (long x = 0; x < width; x += LANES)
                tile(image + y * pitch + x, weights + (long)first * CHANNELS * SIDE * SIDE,
                     result + (first * (long)height + y) * width + x);
}
