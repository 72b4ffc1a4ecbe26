/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static void run(void)
{
#pragma omp parallel for
    for (int m = 0; m < count; m++) {
        const float *restrict a = HOST(A, float) + (long)m * SIDE * SIDE, *restrict b = HOST(B, float) + (long)m * SIDE * SIDE;
        float *restrict c = HOST(C, float) + (long)m * SIDE * SIDE;
        for (int i = 0; i < SIDE; i++) {
            float sum[SIDE] = {0};
            for (int k = 0; k < SIDE; k++)
#pragma omp simd
                for (int j = 0; j < SIDE; j++)
                    sum[j] += a[i * SIDE + k] * b[k * SIDE + j];
            memcpy(c + i * SIDE, sum, sizeof sum);
        }
    }
}
