/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static void run(void)
{
    const float *restrict x = HOST(X, float);
    float *restrict y = HOST(Y, float);

#pragma omp parallel for simd
    for (int i = 0; i < n; i++)
        y[i] = a * x[i] + y[i];
}
