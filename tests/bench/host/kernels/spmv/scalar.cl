/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
__kernel void spmv(int count, __global const int *start, __global const int *column, __global const float *value,
                   __global const float *x, __global float *y)
{
    int row = get_global_id(0);

    if (row < count) {
        float sum = 0;
        for (int i = start[row]; i < start[row + 1]; i++)
            sum += value[i] * x[column[i]];
        y[row] = sum;
    }
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH1("spmv", rows, 256, VAL(rows), BUF(START), BUF(COLUMN), BUF(VALUE), BUF(VECTOR), BUF(RESULT));
}
#endif
