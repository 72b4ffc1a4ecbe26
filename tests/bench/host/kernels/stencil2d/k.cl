/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
__kernel void stencil2d(__global const float *restrict from, __global float *restrict to, int w, int h)
{
    int x = get_global_id(0), y = get_global_id(1), i = y * w + x;

    if (x >= w || y >= h)
        return;
    if (x == 0 || y == 0 || x == w - 1 || y == h - 1)
        to[i] = from[i];
    else
        to[i] = 0.5f * from[i] + 0.125f * (from[i - 1] + from[i + 1] + from[i - w] + from[i + w]);
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH("stencil2d", ROUND(width, 32), ROUND(height, 8), 1, 32, 8, 1, BUF(FROM), BUF(TO), VAL(width), VAL(height));
}
#endif
