/* A block for each pair. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void matmul_batched(const float *a, const float *b, float *c)
{
    __shared__ float ta[SIDE][SIDE], tb[SIDE][SIDE];
    int tx = threadIdx.x, ty = threadIdx.y, i = blockIdx.x * SIDE * SIDE + ty * SIDE + tx;
    float sum = 0;

    ta[ty][tx] = a[i];
    tb[ty][tx] = b[i];
    __syncthreads();
    for (int k = 0; k < SIDE; k++)
        sum += ta[ty][k] * tb[k][tx];
    c[i] = sum;
}

static void run(void)
{
    matmul_batched<<<count, dim3(SIDE, SIDE)>>>(DEV(A, float), DEV(B, float), DEV(C, float));
}
