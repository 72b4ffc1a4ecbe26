/* SPDX-License-Identifier: Apache-2.0 */
#define RUN_SIZE 512
#ifdef __OPENCL_VERSION__
__kernel void bitonic(__global uint *keys)
{
    __local uint s[RUN_SIZE];
    uint t = get_local_id(0), base = get_group_id(0) * RUN_SIZE;

    s[t] = keys[base + t];
    s[t + RUN_SIZE / 2] = keys[base + t + RUN_SIZE / 2];
    for (uint size = 2; size <= RUN_SIZE; size <<= 1) {
        for (uint stride = size / 2; stride > 0; stride >>= 1) {
            barrier(CLK_LOCAL_MEM_FENCE);
            uint at = 2 * t - (t & (stride - 1));
            bool up = (t & (size / 2)) == 0;
            uint a = s[at], b = s[at + stride];
            if ((a > b) == up) {
                s[at] = b;
                s[at + stride] = a;
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    keys[base + t] = s[t];
    keys[base + t + RUN_SIZE / 2] = s[t + RUN_SIZE / 2];
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH1("bitonic", runs * RUN / 2, RUN / 2, BUF(KEYS));
}
#endif
