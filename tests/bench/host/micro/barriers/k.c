/* What the barriers part are loops. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static void run(void)
{
#pragma omp parallel for
    for (int block = 0; block < block_count; block++) {
        int cell[BLOCK], v[BLOCK];
        for (int t = 0; t < BLOCK; t++)
            v[t] = block + t;
        for (int i = 0; i < TURNS; i++) {
#pragma omp simd
            for (int t = 0; t < BLOCK; t++)
                cell[t] = v[t];
#pragma omp simd
            for (int t = 0; t < BLOCK - 1; t++)
                v[t] = cell[t + 1];
            v[BLOCK - 1] = cell[0];
        }
        memcpy(HOST(RESULT, int) + (long)block * BLOCK, v, sizeof v);
    }
}
