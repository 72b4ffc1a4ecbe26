/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void stencil2d(const float *__restrict__ from, float *__restrict__ to, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, i = y * w + x;

    if (x >= w || y >= h)
        return;
    if (x == 0 || y == 0 || x == w - 1 || y == h - 1)
        to[i] = from[i];
    else
        to[i] = 0.5f * from[i] + 0.125f * (from[i - 1] + from[i + 1] + from[i - w] + from[i + w]);
}

static void run(void)
{
    stencil2d<<<dim3(blocks(width, 32), blocks(height, 8)), dim3(32, 8)>>>(DEV(FROM, float), DEV(TO, float), width, height);
}
