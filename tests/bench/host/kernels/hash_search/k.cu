/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void hash_search(const unsigned long long *table, const unsigned long long *keys, unsigned long long *values,
                            int count, unsigned mask)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= count)
        return;
    unsigned long long h = keys[i];
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdull;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53ull;
    h ^= h >> 33;
    unsigned at = (unsigned)h & mask;
    while (table[2 * at] != 0 && table[2 * at] != keys[i])
        at = (at + 1) & mask;
    values[i] = table[2 * at] ? table[2 * at + 1] : 0;
}

static void run(void)
{
    hash_search<<<blocks(n, 256), 256>>>(DEV(TABLE, unsigned long long), DEV(KEYS, unsigned long long),
                                         DEV(VALUES, unsigned long long), n, (1u << bits) - 1);
}
