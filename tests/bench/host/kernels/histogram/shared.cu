/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void histogram_shared(const unsigned *words, unsigned *bins, int count)
{
    __shared__ unsigned mine[BIN_COUNT];

    for (int b = threadIdx.x; b < BIN_COUNT; b += blockDim.x)
        mine[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        unsigned v = words[i];
        atomicAdd(&mine[v & 255], 1);
        atomicAdd(&mine[v >> 8 & 255], 1);
        atomicAdd(&mine[v >> 16 & 255], 1);
        atomicAdd(&mine[v >> 24], 1);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < BIN_COUNT; b += blockDim.x)
        atomicAdd(&bins[b], mine[b]);
}

static void run(void)
{
    histogram_shared<<<GRID, BLOCK>>>(DEV(WORDS, unsigned), DEV(BINS, unsigned), n);
}
