/* A thread for each column, which goes through the planes and keeps three values. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void stencil3d(const float *__restrict__ from, float *__restrict__ to, int sx, int sy, int sz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < 1 || x >= sx - 1 || y < 1 || y >= sy - 1)
        return;
    int plane = sx * sy, i = plane + y * sx + x;
    float below = from[i - plane], here = from[i];
    for (int z = 1; z < sz - 1; z++, i += plane) {
        float above = from[i + plane];
        to[i] = 0.4f * here + 0.1f * (from[i - 1] + from[i + 1] + from[i - sx] + from[i + sx] + below + above);
        below = here;
        here = above;
    }
}

static void run(void)
{
    stencil3d<<<dim3(blocks(nx, 32), blocks(ny, 4)), dim3(32, 4)>>>(DEV(FROM, float), DEV(TO, float), nx, ny, nz);
}
