/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
__kernel void stencil3d(__global const float *restrict from, __global float *restrict to, int sx, int sy, int sz)
{
    int x = get_global_id(0), y = get_global_id(1);

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
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH("stencil3d", ROUND(nx, 32), ROUND(ny, 4), 1, 32, 4, 1, BUF(FROM), BUF(TO), VAL(nx), VAL(ny), VAL(nz));
}
#endif
