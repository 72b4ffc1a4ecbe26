/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static void run(void)
{
#pragma omp parallel for num_threads(STREAMS)
    for (int i = 0; i < LAUNCHES; i++) {
        unsigned v[BLOCK];
        for (int t = 0; t < BLOCK; t++)
            v[t] = i * BLOCK + t;
        for (int step = 0; step < steps; step++)
#pragma omp simd
            for (int t = 0; t < BLOCK; t++)
                v[t] = v[t] * 1664525u + 1013904223u;
        memcpy(HOST(RESULT, unsigned) + i * BLOCK, v, sizeof v);
    }
}
