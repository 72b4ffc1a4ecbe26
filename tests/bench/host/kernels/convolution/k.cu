/* The filter is in constant memory, and the block's part of the image in shared memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

#define BX 32
#define BY 8

__constant__ float weights[SIDE * SIDE];

__global__ void convolution(const float *image, float *result, int w, int h, int row)
{
    __shared__ float tile[BY + SIDE - 1][BX + SIDE - 1];
    int x = blockIdx.x * BX + threadIdx.x, y = blockIdx.y * BY + threadIdx.y;

    for (int v = threadIdx.y; v < BY + SIDE - 1; v += BY)
        for (int u = threadIdx.x; u < BX + SIDE - 1; u += BX)
            if (blockIdx.x * BX + u < row && blockIdx.y * BY + v < h + SIDE - 1)
                tile[v][u] = image[(blockIdx.y * BY + v) * row + blockIdx.x * BX + u];
    __syncthreads();
    if (x >= w || y >= h)
        return;
    float sum = 0;
#pragma unroll
    for (int v = 0; v < SIDE; v++)
#pragma unroll
        for (int u = 0; u < SIDE; u++)
            sum += weights[v * SIDE + u] * tile[threadIdx.y + v][threadIdx.x + u];
    result[y * w + x] = sum;
}

static void run(void)
{
    static bool copied;

    if (!copied)
        CHECK(cudaMemcpyToSymbol(weights, HOST(FILTER, float), sizeof weights));
    copied = true;
    convolution<<<dim3(blocks(width, BX), blocks(height, BY)), dim3(BX, BY)>>>(DEV(IMAGE, float), DEV(RESULT, float), width,
                                                                               height, pitch);
}
