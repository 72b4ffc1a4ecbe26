/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
__kernel void ring(__global int *result)
{
    __local int cell[128];
    int t = get_local_id(0), v = get_group_id(0) + t;

    for (int i = 0; i < 16; i++) {
        cell[t] = v;
        barrier(CLK_LOCAL_MEM_FENCE);
        v = cell[(t + 1) % 128];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    result[get_global_id(0)] = v;
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH1("ring", (long)block_count * BLOCK, BLOCK, BUF(RESULT));
}
#endif
