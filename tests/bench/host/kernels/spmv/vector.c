/* SPDX-License-Identifier: Apache-2.0 */
#define AVERAGE 96
#include "openmp.h"
#include "work.h"

static void run(void)
{
    const int *restrict start = HOST(START, int), *restrict column = HOST(COLUMN, int);
    const float *restrict value = HOST(VALUE, float), *restrict x = HOST(VECTOR, float);
    float *restrict y = HOST(RESULT, float);

#pragma omp parallel for
    for (int row = 0; row < rows; row++) {
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int i = start[row]; i < start[row + 1]; i++)
            sum += value[i] * x[column[i]];
        y[row] = sum;
    }
}
