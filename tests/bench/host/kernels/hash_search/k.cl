/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
__kernel void hash_search(__global const ulong *table, __global const ulong *keys, __global ulong *values, int count, uint mask)
{
    int i = get_global_id(0);

    if (i >= count)
        return;
    ulong h = keys[i];
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdul;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53ul;
    h ^= h >> 33;
    unsigned at = (unsigned)h & mask;
    while (table[2 * at] != 0 && table[2 * at] != keys[i])
        at = (at + 1) & mask;
    values[i] = table[2 * at] ? table[2 * at + 1] : 0;
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    const unsigned mask = (1u << bits) - 1;

    LAUNCH1("hash_search", n, 256, BUF(TABLE), BUF(KEYS), BUF(VALUES), VAL(n), VAL(mask));
}
#endif
