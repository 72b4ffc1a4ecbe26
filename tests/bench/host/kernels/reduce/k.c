/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static void run(void)
{
    const float *restrict x = HOST(X, float);
    float sum = 0;

#pragma omp parallel for simd reduction(+ : sum)
    for (int i = 0; i < n; i++)
        sum += x[i];
    HOST(SUMS, float)[0] = sum;
}
