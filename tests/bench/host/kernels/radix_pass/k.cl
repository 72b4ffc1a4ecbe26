/* An item for each chunk of keys, in a group of 64. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
#define SHIFT 8
#define DIGITS 16
#define CHUNK 128

__kernel void radix_count(__global const uint *from, __global uint *counts)
{
    uint mine[DIGITS] = {0}, me = get_global_id(0), all = get_global_size(0);

    for (uint i = 0; i < CHUNK; i++)
        mine[from[me * CHUNK + i] >> SHIFT & (DIGITS - 1)]++;
    for (uint d = 0; d < DIGITS; d++)
        counts[d * all + me] = mine[d];
}

__kernel void radix_scan(__global uint *counts, int count, __local uint *part)
{
    int t = get_local_id(0), each = (count + 1023) / 1024, first = t * each, end = min(first + each, count);
    uint sum = 0;

    for (int i = first; i < end; i++)
        sum += counts[i];
    part[t] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 1; d < 1024; d <<= 1) {
        uint other = t >= d ? part[t - d] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        part[t] += other;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sum = part[t] - sum;
    for (int i = first; i < end; i++) {
        uint v = counts[i];
        counts[i] = sum;
        sum += v;
    }
}

__kernel void radix_scatter(__global const uint *from, __global uint *to, __global const uint *counts)
{
    uint place[DIGITS], me = get_global_id(0), all = get_global_size(0);

    for (uint d = 0; d < DIGITS; d++)
        place[d] = counts[d * all + me];
    for (uint i = 0; i < CHUNK; i++) {
        uint key = from[me * CHUNK + i];
        to[place[key >> SHIFT & (DIGITS - 1)]++] = key;
    }
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    int count = n / CHUNK * DIGITS;

    LAUNCH1("radix_count", n / CHUNK, 64, BUF(FROM), BUF(COUNTS));
    LAUNCH1("radix_scan", 1024, 1024, BUF(COUNTS), VAL(count), LOCAL(1024 * 4));
    LAUNCH1("radix_scatter", n / CHUNK, 64, BUF(FROM), BUF(TO), BUF(COUNTS));
}
#endif
