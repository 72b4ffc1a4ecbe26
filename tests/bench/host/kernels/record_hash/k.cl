/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
#define WORDS 16

__kernel void record_hash(__global const uint *records, __global uint *hashes, int count)
{
    int i = get_global_id(0);

    if (i >= count)
        return;
    uint a = 0x9e3779b9u, b = WORDS * 4;

    for (int k = 0; k < WORDS; k += 2) {
        ulong both = (ulong)(a ^ records[k * count + i] ^ 0x53c5ca59u) * (b ^ records[(k + 1) * count + i] ^ 0x74743c1bu);
        a = (uint)both;
        b = (uint)(both >> 32);
    }
    hashes[i] = a ^ b;
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH1("record_hash", n, 256, BUF(RECORDS), BUF(HASHES), VAL(n));
}
#endif
