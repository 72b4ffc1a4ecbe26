/* SPDX-License-Identifier: Apache-2.0 */
#define SIDE 16
#ifdef __OPENCL_VERSION__
__kernel void matmul_batched(__global const float *a, __global const float *b, __global float *c)
{
    __local float ta[SIDE][SIDE], tb[SIDE][SIDE];
    int tx = get_local_id(0), ty = get_local_id(1), i = get_group_id(0) * SIDE * SIDE + ty * SIDE + tx;
    float sum = 0;

    ta[ty][tx] = a[i];
    tb[ty][tx] = b[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < SIDE; k++)
        sum += ta[ty][k] * tb[k][tx];
    c[i] = sum;
}
#else
#undef SIDE
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH("matmul_batched", (long)count * SIDE, SIDE, 1, SIDE, SIDE, 1, BUF(A), BUF(B), BUF(C));
}
#endif
