/* A part for each thread: first its sum, then its scan from what is before it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"
#include <omp.h>

static void run(void)
{
    const unsigned *restrict from = HOST(FROM, unsigned);
    unsigned *restrict to = HOST(TO, unsigned), sums[256] = {0};

#pragma omp parallel num_threads(omp_get_max_threads() < 255 ? omp_get_max_threads() : 255)
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads(), first = (long)n * me / all, end = (long)n * (me + 1) / all;
        unsigned sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int i = first; i < end; i++)
            sum += from[i];
        sums[me] = sum;
#pragma omp barrier
        sum = 0;
        for (int i = 0; i < me; i++)
            sum += sums[i];
#pragma omp simd reduction(inscan, + : sum)
        for (int i = first; i < end; i++) {
            sum += from[i];
#pragma omp scan inclusive(sum)
            to[i] = sum;
        }
    }
}
