/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
__kernel void histogram(__global const uint *words, volatile __global uint *bins, int count)
{
    for (int i = get_global_id(0); i < count; i += get_global_size(0)) {
        uint v = words[i];
        atomic_inc(&bins[v & 255]);
        atomic_inc(&bins[v >> 8 & 255]);
        atomic_inc(&bins[v >> 16 & 255]);
        atomic_inc(&bins[v >> 24]);
    }
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH1("histogram", GRID * BLOCK, BLOCK, BUF(WORDS), BUF(BINS), VAL(n));
}
#endif
