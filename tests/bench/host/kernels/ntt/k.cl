/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
#define POINTS 512
#define BITS 9
#define PRIME 998244353u
#define INVERSE 3296722945u

uint product(uint a, uint b)
{
    uint high = mul_hi(a, b), less = mul_hi(a * b * INVERSE, PRIME);

    return high >= less ? high - less : high - less + PRIME;
}

uint reversed(uint i)
{
    uint r = 0;

    for (int bit = 0; bit < BITS; bit++)
        r |= (i >> bit & 1) << (BITS - 1 - bit);
    return r;
}

__kernel void ntt(__global uint *data, __global const uint *factors)
{
    __local uint s[POINTS];
    uint t = get_local_id(0);
    __global uint *mine = data + get_group_id(0) * POINTS;

    for (uint i = t; i < POINTS; i += POINTS / 2)
        s[reversed(i)] = mine[i];
    for (uint half_ = 1; half_ < POINTS; half_ <<= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        uint k = t & (half_ - 1), at = 2 * t - k;
        uint a = s[at], b = product(s[at + half_], factors[k * (POINTS / 2 / half_)]);
        s[at] = min(a + b, a + b - PRIME);
        s[at + half_] = min(a - b, a - b + PRIME);
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
    LAUNCH1("ntt", (long)count * (POINTS / 2), POINTS / 2, BUF(DATA), BUF(FACTORS));
}
#endif
