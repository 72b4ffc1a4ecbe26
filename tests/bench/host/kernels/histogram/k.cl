/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
#define BIN_COUNT 256
__kernel void histogram(__global const uint *words, volatile __global uint *bins, int count)
{
    volatile __local uint mine[BIN_COUNT];

    for (int b = get_local_id(0); b < BIN_COUNT; b += get_local_size(0))
        mine[b] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < count; i += get_global_size(0)) {
        uint v = words[i];
        atomic_inc(&mine[v & 255]);
        atomic_inc(&mine[v >> 8 & 255]);
        atomic_inc(&mine[v >> 16 & 255]);
        atomic_inc(&mine[v >> 24]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int b = get_local_id(0); b < BIN_COUNT; b += get_local_size(0))
        atomic_add(&bins[b], mine[b]);
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH1("histogram", GRID * BLOCK, BLOCK, BUF(WORDS), BUF(BINS), VAL(n));
}
#endif
