/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static void run(void)
{
    double *restrict a = HOST(A, double);
    const double *restrict b = HOST(B, double), *restrict c = HOST(C, double);

#pragma omp parallel for simd
    for (int i = 0; i < n; i++)
        a[i] = b[i] + s * c[i];
}
