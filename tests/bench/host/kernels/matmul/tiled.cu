/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

#define TILE 16

__global__ void matmul_tiled(const float *a, const float *b, float *c, int size)
{
    __shared__ float ta[TILE][TILE], tb[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0;

    for (int t = 0; t < size; t += TILE) {
        ta[ty][tx] = a[row * size + t + tx];
        tb[ty][tx] = b[(t + ty) * size + col];
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum += ta[ty][k] * tb[k][tx];
        __syncthreads();
    }
    c[row * size + col] = sum;
}

static void run(void)
{
    matmul_tiled<<<dim3(n / TILE, n / TILE), dim3(TILE, TILE)>>>(DEV(A, float), DEV(B, float), DEV(C, float), n);
}
