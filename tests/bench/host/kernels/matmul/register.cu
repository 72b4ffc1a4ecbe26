/* 64 x 64 elements a block of 16 x 16 threads, 4 x 4 a thread, 16 deep. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

#define TILE 64
#define DEEP 16
#define EACH 4

__global__ void matmul_register(const float *a, const float *b, float *c, int size)
{
    __shared__ float ta[DEEP][TILE], tb[DEEP][TILE];
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * 16 + tx, row = blockIdx.y * TILE, col = blockIdx.x * TILE;
    float sum[EACH][EACH] = {};

    for (int first = 0; first < size; first += DEEP) {
        for (int i = t; i < TILE * DEEP; i += 256) {
            ta[i % DEEP][i / DEEP] = a[(row + i / DEEP) * size + first + i % DEEP];
            tb[i / TILE][i % TILE] = b[(first + i / TILE) * size + col + i % TILE];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEEP; k++) {
            float x[EACH], y[EACH];
            for (int i = 0; i < EACH; i++) {
                x[i] = ta[k][ty * EACH + i];
                y[i] = tb[k][tx + i * 16];
            }
            for (int i = 0; i < EACH; i++)
                for (int j = 0; j < EACH; j++)
                    sum[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH; j++)
            c[(row + ty * EACH + i) * size + col + tx + j * 16] = sum[i][j];
}

static void run(void)
{
    matmul_register<<<dim3(n / TILE, n / TILE), dim3(16, 16)>>>(DEV(A, float), DEV(B, float), DEV(C, float), n);
}
