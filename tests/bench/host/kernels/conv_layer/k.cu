/* A thread has a tile of sums in registers: 8 filters at 4 places of a row. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

#define BX 32
#define BY 2

__global__ void conv_layer(const float *image, const float *weights, float *result, int w, int h, int row)
{
    __shared__ float filter[SIDE * SIDE][TILE];
    int x = blockIdx.x * BX * COLUMNS + threadIdx.x, y = blockIdx.y * BY + threadIdx.y, first = blockIdx.z * TILE;
    int t = threadIdx.y * BX + threadIdx.x, in = min(y, h - 1);
    float sum[TILE][COLUMNS] = {};

    for (int c = 0; c < CHANNELS; c++) {
        for (int i = t; i < TILE * SIDE * SIDE; i += BX * BY)
            filter[i % (SIDE * SIDE)][i / (SIDE * SIDE)] =
                weights[((first + i / (SIDE * SIDE)) * CHANNELS + c) * SIDE * SIDE + i % (SIDE * SIDE)];
        __syncthreads();
#pragma unroll
        for (int v = 0; v < SIDE; v++)
#pragma unroll
            for (int u = 0; u < SIDE; u++)
#pragma unroll
                for (int j = 0; j < COLUMNS; j++) {
                    float pixel = image[(c * (h + SIDE - 1) + in + v) * row + x + j * BX + u];
#pragma unroll
                    for (int k = 0; k < TILE; k++)
                        sum[k][j] += filter[v * SIDE + u][k] * pixel;
                }
        __syncthreads();
    }
    if (y >= h)
        return;
    for (int k = 0; k < TILE; k++)
        for (int j = 0; j < COLUMNS; j++)
            result[((first + k) * h + y) * w + x + j * BX] = sum[k][j];
}

static void run(void)
{
    conv_layer<<<dim3(width / (BX * COLUMNS), blocks(height, BY), FILTERS / TILE), dim3(BX, BY)>>>(
        DEV(IMAGE, float), DEV(WEIGHTS, float), DEV(RESULT, float), width, height, pitch);
}
