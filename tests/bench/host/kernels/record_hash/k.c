/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static void run(void)
{
    const unsigned *restrict records = HOST(RECORDS, unsigned);
    unsigned *restrict hashes = HOST(HASHES, unsigned);
    long count = n;

#pragma omp parallel for simd
    for (long i = 0; i < count; i++) {
        unsigned a = 0x9e3779b9u, b = WORDS * 4;
        for (int k = 0; k < WORDS; k += 2) {
            uint64_t both = (uint64_t)(a ^ records[k * count + i] ^ 0x53c5ca59u) *
                            (b ^ records[(k + 1) * count + i] ^ 0x74743c1bu);
            a = (unsigned)both;
            b = (unsigned)(both >> 32);
        }
        hashes[i] = a ^ b;
    }
}
