/* Three loops in the order that runs along rows. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static void run(void)
{
    const float *restrict a = HOST(A, float), *restrict b = HOST(B, float);
    float *restrict c = HOST(C, float);
    long size = n;

#pragma omp parallel for
    for (long i = 0; i < size; i++) {
        memset(c + i * size, 0, size * sizeof *c);
        for (long k = 0; k < size; k++) {
            float x = a[i * size + k];
#pragma omp simd
            for (long j = 0; j < size; j++)
                c[i * size + j] += x * b[k * size + j];
        }
    }
}
