/* A part for each thread, which counts its digits and then places its keys. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"
#include <omp.h>

static void run(void)
{
    const unsigned *restrict from = HOST(FROM, unsigned);
    unsigned *restrict to = HOST(TO, unsigned), *counts = HOST(COUNTS, unsigned);

    memset(counts, 0, bench.buffers[COUNTS].bytes);
#pragma omp parallel num_threads(omp_get_max_threads() < n / CHUNK ? omp_get_max_threads() : n / CHUNK)
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads(), first = (long)n * me / all, end = (long)n * (me + 1) / all;
        unsigned mine[DIGITS] = {0};
        for (int i = first; i < end; i++)
            mine[from[i] >> SHIFT & (DIGITS - 1)]++;
        memcpy(counts + me * DIGITS, mine, sizeof mine);
#pragma omp barrier
        unsigned sum = 0;
        for (int d = 0; d < DIGITS; d++) {
            for (int thread = 0; thread < all; thread++) {
                if (thread == me)
                    mine[d] = sum;
                sum += counts[thread * DIGITS + d];
            }
        }
        for (int i = first; i < end; i++)
            to[mine[from[i] >> SHIFT & (DIGITS - 1)]++] = from[i];
    }
}
