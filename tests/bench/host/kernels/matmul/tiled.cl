/* SPDX-License-Identifier: Apache-2.0 */
#define TILE 16
#ifdef __OPENCL_VERSION__
__kernel void matmul(__global const float *a, __global const float *b, __global float *c, int size)
{
    __local float ta[TILE][TILE], tb[TILE][TILE];
    int tx = get_local_id(0), ty = get_local_id(1), row = get_global_id(1), col = get_global_id(0);
    float sum = 0;

    for (int t = 0; t < size; t += TILE) {
        ta[ty][tx] = a[row * size + t + tx];
        tb[ty][tx] = b[(t + ty) * size + col];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++)
            sum += ta[ty][k] * tb[k][tx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * size + col] = sum;
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH("matmul", n, n, 1, TILE, TILE, 1, BUF(A), BUF(B), BUF(C), VAL(n));
}
#endif
