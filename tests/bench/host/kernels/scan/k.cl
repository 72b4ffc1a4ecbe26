/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
#define BLOCK 256
#define EACH 4
#define TILE (BLOCK * EACH)

/* The sum of the group's values up to this item's; part has as many elements as the group. */
static uint group_scan(uint v, __local uint *part)
{
    int t = get_local_id(0), size = get_local_size(0);

    part[t] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 1; d < size; d <<= 1) {
        uint other = t >= d ? part[t - d] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        part[t] += other;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    v = part[t];
    barrier(CLK_LOCAL_MEM_FENCE);
    return v;
}

__kernel void scan_tiles(__global const uint *from, __global uint *to, __global uint *sums, int count, __local uint *part)
{
    int first = get_group_id(0) * TILE + get_local_id(0) * EACH;
    uint v[EACH], sum = 0;

    for (int j = 0; j < EACH; j++)
        v[j] = sum += first + j < count ? from[first + j] : 0;
    uint until = group_scan(sum, part), before = until - sum;
    for (int j = 0; j < EACH; j++)
        if (first + j < count)
            to[first + j] = before + v[j];
    if (get_local_id(0) == BLOCK - 1)
        sums[get_group_id(0)] = until;
}

__kernel void scan_sums(__global uint *sums, int count, __local uint *part)
{
    uint carry = 0;
    int size = get_local_size(0);

    for (int first = 0; first < count; first += size) {
        int i = first + get_local_id(0);
        uint v = group_scan(i < count ? sums[i] : 0, part) + carry;
        if (i < count)
            sums[i] = v;
        part[get_local_id(0)] = v;
        barrier(CLK_LOCAL_MEM_FENCE);
        carry = part[size - 1];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

__kernel void scan_add(__global uint *to, __global const uint *sums, int count)
{
    int i = (get_group_id(0) + 1) * TILE + get_local_id(0);

    for (int j = 0; j < EACH; j++, i += BLOCK)
        if (i < count)
            to[i] += sums[get_group_id(0)];
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH1("scan_tiles", tiles * BLOCK, BLOCK, BUF(FROM), BUF(TO), BUF(SUMS), VAL(n), LOCAL(BLOCK * 4));
    LAUNCH1("scan_sums", 1024, 1024, BUF(SUMS), VAL(tiles), LOCAL(1024 * 4));
    LAUNCH1("scan_add", (tiles - 1) * BLOCK, BLOCK, BUF(TO), BUF(SUMS), VAL(n));
}
#endif
