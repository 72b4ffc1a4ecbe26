/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void spmv_scalar(int count, const int *start, const int *column, const float *value, const float *x, float *y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;

    if (row < count) {
        float sum = 0;
        for (int i = start[row]; i < start[row + 1]; i++)
            sum += value[i] * x[column[i]];
        y[row] = sum;
    }
}

static void run(void)
{
    spmv_scalar<<<blocks(rows, 256), 256>>>(rows, DEV(START, int), DEV(COLUMN, int), DEV(VALUE, float), DEV(VECTOR, float),
                                            DEV(RESULT, float));
}
