/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void transpose_naive(const float *from, float *to, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < w && y < h)
        to[x * h + y] = from[y * w + x];
}

static void run(void)
{
    transpose_naive<<<dim3(blocks(width, 32), blocks(height, 8)), dim3(32, 8)>>>(DEV(FROM, float), DEV(TO, float), width, height);
}
