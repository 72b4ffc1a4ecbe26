/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
__kernel void matmul(__global const float *a, __global const float *b, __global float *c, int size)
{
    int col = get_global_id(0), row = get_global_id(1);

    if (row >= size || col >= size)
        return;
    float sum = 0;
    for (int k = 0; k < size; k++)
        sum += a[row * size + k] * b[k * size + col];
    c[row * size + col] = sum;
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH("matmul", ROUND(n, 16), ROUND(n, 16), 1, 16, 16, 1, BUF(A), BUF(B), BUF(C), VAL(n));
}
#endif
