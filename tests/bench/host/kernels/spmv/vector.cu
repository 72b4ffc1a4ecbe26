/* SPDX-License-Identifier: Apache-2.0 */
#define AVERAGE 96
#include "cuda.h"
#include "work.h"

__global__ void spmv_vector(int count, const int *start, const int *column, const float *value, const float *x, float *y)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;

    if (row >= count)
        return;
    float sum = 0;
    for (int i = start[row] + lane; i < start[row + 1]; i += 32)
        sum += value[i] * x[column[i]];
    for (int d = 16; d > 0; d >>= 1)
        sum += __shfl_xor_sync(~0u, sum, d);
    if (lane == 0)
        y[row] = sum;
}

static void run(void)
{
    spmv_vector<<<blocks(rows, 8), 256>>>(rows, DEV(START, int), DEV(COLUMN, int), DEV(VALUE, float), DEV(VECTOR, float),
                                          DEV(RESULT, float));
}
