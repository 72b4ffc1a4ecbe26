/* SPDX-License-Identifier: Apache-2.0 */
#define TILE 64
#define DEEP 16
#define EACH 4
#ifdef __OPENCL_VERSION__
__kernel void matmul(__global const float *a, __global const float *b, __global float *c, int size)
{
    __local float ta[DEEP][TILE], tb[DEEP][TILE];
    int tx = get_local_id(0), ty = get_local_id(1), t = ty * 16 + tx, row = get_group_id(1) * TILE, col = get_group_id(0) * TILE;
    float sum[EACH][EACH] = {{0}};

    for (int first = 0; first < size; first += DEEP) {
        for (int i = t; i < TILE * DEEP; i += 256) {
            ta[i % DEEP][i / DEEP] = a[(row + i / DEEP) * size + first + i % DEEP];
            tb[i / TILE][i % TILE] = b[(first + i / TILE) * size + col + i % TILE];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int k = 0; k < DEEP; k++) {
            float x[EACH], y[EACH];
            for (int i = 0; i < EACH; i++) {
                x[i] = ta[k][ty * EACH + i];
                y[i] = tb[k][tx + i * 16];
            }
            for (int i = 0; i < EACH; i++)
                for (int j = 0; j < EACH; j++)
                    sum[i][j] += x[i] * y[j];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH; j++)
            c[(row + ty * EACH + i) * size + col + tx + j * 16] = sum[i][j];
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH("matmul", n / EACH, n / EACH, 1, 16, 16, 1, BUF(A), BUF(B), BUF(C), VAL(n));
}
#endif
