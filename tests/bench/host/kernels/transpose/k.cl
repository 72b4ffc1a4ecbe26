/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
__kernel void transpose(__global const float *from, __global float *to, int w, int h)
{
    __local float tile[32][33];
    int tx = get_local_id(0), ty = get_local_id(1), x = get_group_id(0) * 32 + tx, y = get_group_id(1) * 32 + ty;

    for (int j = 0; j < 32; j += 8)
        if (x < w && y + j < h)
            tile[ty + j][tx] = from[(y + j) * w + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    x = get_group_id(1) * 32 + tx;
    y = get_group_id(0) * 32 + ty;
    for (int j = 0; j < 32; j += 8)
        if (x < h && y + j < w)
            to[(y + j) * h + x] = tile[tx][ty + j];
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH("transpose", ROUND(width, 32), ROUND(height, 32) / 4, 1, 32, 8, 1, BUF(FROM), BUF(TO), VAL(width), VAL(height));
}
#endif
