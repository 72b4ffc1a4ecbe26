/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
#define CHANNELS 32
#define SIDE 3
#define TILE 8
#define COLUMNS 4
#define BX 32
#define BY 2

__kernel void conv_layer(__global const float *image, __global const float *weights, __global float *result, int w, int h,
                         int row)
{
    __local float filter[SIDE * SIDE][TILE];
    int tx = get_local_id(0), ty = get_local_id(1), x = get_group_id(0) * BX * COLUMNS + tx, y = get_group_id(1) * BY + ty;
    int first = get_group_id(2) * TILE, in = min(y, h - 1);
    float sum[TILE][COLUMNS];

    for (int k = 0; k < TILE; k++)
        for (int j = 0; j < COLUMNS; j++)
            sum[k][j] = 0;
    for (int c = 0; c < CHANNELS; c++) {
        for (int i = ty * BX + tx; i < TILE * SIDE * SIDE; i += BX * BY)
            filter[i % (SIDE * SIDE)][i / (SIDE * SIDE)] =
                weights[((first + i / (SIDE * SIDE)) * CHANNELS + c) * SIDE * SIDE + i % (SIDE * SIDE)];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int v = 0; v < SIDE; v++)
            for (int u = 0; u < SIDE; u++)
                for (int j = 0; j < COLUMNS; j++) {
                    float pixel = image[(c * (h + SIDE - 1) + in + v) * row + x + j * BX + u];
                    for (int k = 0; k < TILE; k++)
                        sum[k][j] += filter[v * SIDE + u][k] * pixel;
                }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (y >= h)
        return;
    for (int k = 0; k < TILE; k++)
        for (int j = 0; j < COLUMNS; j++)
            result[((first + k) * h + y) * w + x + j * BX] = sum[k][j];
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH("conv_layer", width / COLUMNS, ROUND(height, 2), FILTERS / TILE, 32, 2, 1, BUF(IMAGE), BUF(WEIGHTS), BUF(RESULT),
           VAL(width), VAL(height), VAL(pitch));
}
#endif
