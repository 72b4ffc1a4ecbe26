/* One array for all threads, by atomics, as the kernel. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static void run(void)
{
    const unsigned *restrict words = HOST(WORDS, unsigned);
    unsigned *bins = HOST(BINS, unsigned);

#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        for (int byte = 0; byte < 32; byte += 8) {
#pragma omp atomic
            bins[words[i] >> byte & 255]++;
        }
    }
}
