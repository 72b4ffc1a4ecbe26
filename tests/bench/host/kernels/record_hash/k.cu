/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void record_hash(const unsigned *records, unsigned *hashes, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= count)
        return;
    unsigned a = 0x9e3779b9u, b = WORDS * 4;

    for (int k = 0; k < WORDS; k += 2) {
        unsigned long long both = (unsigned long long)(a ^ records[k * count + i] ^ 0x53c5ca59u) *
                                  (b ^ records[(k + 1) * count + i] ^ 0x74743c1bu);
        a = (unsigned)both;
        b = (unsigned)(both >> 32);
    }
    hashes[i] = a ^ b;
}

static void run(void)
{
    record_hash<<<blocks(n, 256), 256>>>(DEV(RECORDS, unsigned), DEV(HASHES, unsigned), n);
}
