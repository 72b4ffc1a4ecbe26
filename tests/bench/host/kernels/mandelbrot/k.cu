/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void mandelbrot(int *out, int w, int h, float x0, float y0, float step)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;

    if (px >= w || py >= h)
        return;
    float cx = x0 + px * step, cy = y0 + py * step, x = 0, y = 0;
    int steps = 0;

    while (steps < LIMIT && x * x + y * y <= 4.0f) {
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        steps++;
    }
    out[py * w + px] = steps;
}

static void run(void)
{
    mandelbrot<<<dim3(blocks(width, 32), blocks(height, 8)), dim3(32, 8)>>>(DEV(STEPS, int), width, height, left, top, pitch);
}
