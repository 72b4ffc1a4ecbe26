/* The empty statement keeps the compiler from leaving blocks out. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static void run(void)
{
    int *words = HOST(WORDS, int);

    for (int i = 0; i < launches; i++) {
#pragma omp parallel for
        for (int block = 0; block < block_count; block++) {
            int first = block * 32 % WORD_COUNT;
#pragma omp simd
            for (int t = 0; t < 32; t++)
                words[first + t] = first + t;
            __asm__ volatile("" : : : "memory");
        }
    }
}
