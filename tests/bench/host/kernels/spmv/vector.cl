/* A group of 32 for each row: OpenCL 1.2 has no shuffles. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
__kernel void spmv(int count, __global const int *start, __global const int *column, __global const float *value,
                   __global const float *x, __global float *y)
{
    __local float part[32];
    int row = get_group_id(0), lane = get_local_id(0);
    float sum = 0;

    for (int i = start[row] + lane; i < start[row + 1]; i += 32)
        sum += value[i] * x[column[i]];
    part[lane] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0) {
        for (int i = 1; i < 32; i++)
            sum += part[i];
        y[row] = sum;
    }
}
#else
#define AVERAGE 96
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH1("spmv", rows * 32, 32, VAL(rows), BUF(START), BUF(COLUMN), BUF(VALUE), BUF(VECTOR), BUF(RESULT));
}
#endif
