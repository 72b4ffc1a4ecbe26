/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static inline unsigned high(unsigned a, unsigned b)
{
    return (unsigned)((uint64_t)a * b >> 32);
}

static void run(void)
{
    unsigned *restrict words = HOST(WORDS, unsigned), first = seed;

#pragma omp parallel for simd
    for (int i = 0; i < n; i++) {
        unsigned c0 = i, c1 = 0, c2 = 7, c3 = 0, k0 = first, k1 = first ^ 0x5bd1e995u;

        for (int r = 0; r < 10; r++) {
            unsigned h0 = high(0xd2511f53u, c0), l0 = 0xd2511f53u * c0, h1 = high(0xcd9e8d57u, c2), l1 = 0xcd9e8d57u * c2;
            c0 = h1 ^ c1 ^ k0;
            c1 = l1;
            c2 = h0 ^ c3 ^ k1;
            c3 = l0;
            k0 += 0x9e3779b9u;
            k1 += 0xbb67ae85u;
        }
        words[i * 4L] = c0;
        words[i * 4L + 1] = c1;
        words[i * 4L + 2] = c2;
        words[i * 4L + 3] = c3;
    }
}
