/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
__kernel void transpose(__global const float *from, __global float *to, int w, int h)
{
    int x = get_global_id(0), y = get_global_id(1);

    if (x < w && y < h)
        to[x * h + y] = from[y * w + x];
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH("transpose", ROUND(width, 32), ROUND(height, 8), 1, 32, 8, 1, BUF(FROM), BUF(TO), VAL(width), VAL(height));
}
#endif
