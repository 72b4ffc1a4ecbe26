/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

/* Threads read levels that others store in the same launch, without order (--check=race says so): what they see is -1 or
 * last + 1, and neither is `last`, nor does it matter which of them stores last + 1 once more. */
__global__ void bfs(const int *start, const int *edge, int *levels, int count, int last)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;

    if (v >= count || levels[v] != last)
        return;
    for (int e = start[v]; e < start[v + 1]; e++)
        if (levels[edge[e]] < 0)
            levels[edge[e]] = last + 1;
}

static void run(void)
{
    bfs<<<blocks(vertices, 256), 256>>>(DEV(START, int), DEV(EDGE, int), DEV(LEVEL, int), vertices, level);
}
