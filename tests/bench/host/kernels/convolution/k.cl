/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
#define SIDE 9
#define BX 32
#define BY 8

__kernel void convolution(__global const float *image, __constant float *weights, __global float *result, int w, int h, int row)
{
    __local float tile[BY + SIDE - 1][BX + SIDE - 1];
    int tx = get_local_id(0), ty = get_local_id(1), x0 = get_group_id(0) * BX, y0 = get_group_id(1) * BY;

    for (int v = ty; v < BY + SIDE - 1; v += BY)
        for (int u = tx; u < BX + SIDE - 1; u += BX)
            if (x0 + u < row && y0 + v < h + SIDE - 1)
                tile[v][u] = image[(y0 + v) * row + x0 + u];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (x0 + tx >= w || y0 + ty >= h)
        return;
    float sum = 0;
    for (int v = 0; v < SIDE; v++)
        for (int u = 0; u < SIDE; u++)
            sum += weights[v * SIDE + u] * tile[ty + v][tx + u];
    result[(y0 + ty) * w + x0 + tx] = sum;
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH("convolution", ROUND(width, 32), ROUND(height, 8), 1, 32, 8, 1, BUF(IMAGE), BUF(FILTER), BUF(RESULT), VAL(width),
           VAL(height), VAL(pitch));
}
#endif
