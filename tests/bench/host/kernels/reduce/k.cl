/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
__kernel void reduce(__global const float *x, __global float *sums, int count, __local float *cell)
{
    uint t = get_local_id(0);
    float sum = 0;

    for (int i = get_global_id(0); i < count; i += get_global_size(0))
        sum += x[i];
    cell[t] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_size = get_local_size(0) / 2; half_size > 0; half_size >>= 1) {
        if (t < half_size)
            cell[t] += cell[t + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t == 0)
        sums[get_group_id(0)] = cell[0];
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH1("reduce", GRID * BLOCK, BLOCK, BUF(X), BUF(SUMS), VAL(n), LOCAL(BLOCK * sizeof(float)));
}
#endif
