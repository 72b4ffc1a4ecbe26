/* Tiles of the result, 4 rows by 16 columns in registers, over slices of the depth that stay in cache. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

enum { ROWS = 4, COLS = 16, DEEP = 128 };

static inline void tile(const float *restrict a, const float *restrict b, float *restrict c, long size, long deep)
{
    float sum[ROWS][COLS];

    for (int i = 0; i < ROWS; i++)
#pragma omp simd
        for (int j = 0; j < COLS; j++)
            sum[i][j] = c[i * size + j];
    for (long k = 0; k < deep; k++)
#pragma GCC unroll 4
        for (int i = 0; i < ROWS; i++)
#pragma omp simd
            for (int j = 0; j < COLS; j++)
                sum[i][j] += a[i * size + k] * b[k * size + j];
    for (int i = 0; i < ROWS; i++)
#pragma omp simd
        for (int j = 0; j < COLS; j++)
            c[i * size + j] = sum[i][j];
}

static void run(void)
{
    const float *restrict a = HOST(A, float), *restrict b = HOST(B, float);
    float *restrict c = HOST(C, float);
    long size = n;

#pragma omp parallel for
    for (long i0 = 0; i0 < size; i0 += 32) {
        memset(c + i0 * size, 0, 32 * size * sizeof *c);
        for (long k = 0; k < size; k += DEEP)
            for (long j = 0; j < size; j += COLS)
                for (long i = i0; i < i0 + 32; i += ROWS)
                    tile(a + i * size + k, b + k * size + j, c + i * size + j, size, DEEP);
    }
}
