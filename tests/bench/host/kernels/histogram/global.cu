/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void histogram_global(const unsigned *words, unsigned *bins, int count)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        unsigned v = words[i];
        atomicAdd(&bins[v & 255], 1);
        atomicAdd(&bins[v >> 8 & 255], 1);
        atomicAdd(&bins[v >> 16 & 255], 1);
        atomicAdd(&bins[v >> 24], 1);
    }
}

static void run(void)
{
    histogram_global<<<GRID, BLOCK>>>(DEV(WORDS, unsigned), DEV(BINS, unsigned), n);
}
