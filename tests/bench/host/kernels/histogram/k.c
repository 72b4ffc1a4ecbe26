/* An array for each thread, summed at the end. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static void run(void)
{
    const unsigned *restrict words = HOST(WORDS, unsigned);
    unsigned *restrict bins = HOST(BINS, unsigned);

#pragma omp parallel for reduction(+ : bins[:BIN_COUNT])
    for (int i = 0; i < n; i++) {
        unsigned v = words[i];
        bins[v & 255]++;
        bins[v >> 8 & 255]++;
        bins[v >> 16 & 255]++;
        bins[v >> 24]++;
    }
}
