/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static void run(void)
{
    const int *restrict start = HOST(START, int), *restrict edge = HOST(EDGE, int);
    int *levels = HOST(LEVEL, int), last = level;

#pragma omp parallel for schedule(dynamic, 1024)
    for (int v = 0; v < vertices; v++) {
        if (levels[v] != last)
            continue;
        for (int e = start[v]; e < start[v + 1]; e++)
            if (levels[edge[e]] < 0)
                levels[edge[e]] = last + 1;
    }
}
