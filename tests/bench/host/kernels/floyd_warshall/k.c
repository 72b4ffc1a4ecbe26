/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static void run(void)
{
    int *way = HOST(WAY, int), count = n;

#pragma omp parallel
    for (int k = 0; k < count; k++) {
#pragma omp for
        for (int i = 0; i < count; i++) {
            int to = way[i * count + k];
            int *row = way + i * count;
            const int *from = way + k * count;
#pragma omp simd
            for (int j = 0; j < count; j++)
                row[j] = to + from[j] < row[j] ? to + from[j] : row[j];
        }
    }
}
