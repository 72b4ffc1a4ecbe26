/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void transpose_tiled(const float *from, float *to, int w, int h)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;

    for (int j = 0; j < 32; j += 8)
        if (x < w && y + j < h)
            tile[threadIdx.y + j][threadIdx.x] = from[(y + j) * w + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < h && y + j < w)
            to[(y + j) * h + x] = tile[threadIdx.x][threadIdx.y + j];
}

static void run(void)
{
    transpose_tiled<<<dim3(blocks(width, 32), blocks(height, 32)), dim3(32, 8)>>>(DEV(FROM, float), DEV(TO, float), width,
                                                                                  height);
}
