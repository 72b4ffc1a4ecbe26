/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
#define POINTS 512
#define BITS 9

__kernel void fft(__global float2 *data, __global const float2 *factors)
{
    __local float2 s[POINTS];
    uint t = get_local_id(0);
    __global float2 *mine = data + get_group_id(0) * POINTS;

    for (uint i = t; i < POINTS; i += POINTS / 2) {
        uint r = 0;
        for (uint bit = 0; bit < BITS; bit++)
            r |= (i >> bit & 1) << (BITS - 1 - bit);
        s[r] = mine[i];
    }
    for (uint half_size = 1; half_size < POINTS; half_size <<= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        uint k = t & (half_size - 1), at = 2 * t - k;
        float2 w = factors[k * (POINTS / 2 / half_size)], a = s[at], b = s[at + half_size];
        float2 c = (float2)(b.x * w.x - b.y * w.y, b.x * w.y + b.y * w.x);
        s[at] = a + c;
        s[at + half_size] = a - c;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = t; i < POINTS; i += POINTS / 2)
        mine[i] = s[i];
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH1("fft", (long)count * POINTS / 2, POINTS / 2, BUF(DATA), BUF(FACTORS));
}
#endif
