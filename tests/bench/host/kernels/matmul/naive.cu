/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void matmul_naive(const float *a, const float *b, float *c, int size)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;

    if (row >= size || col >= size)
        return;
    float sum = 0;
    for (int k = 0; k < size; k++)
        sum += a[row * size + k] * b[k * size + col];
    c[row * size + col] = sum;
}

static void run(void)
{
    matmul_naive<<<dim3(blocks(n, 16), blocks(n, 16)), dim3(16, 16)>>>(DEV(A, float), DEV(B, float), DEV(C, float), n);
}
