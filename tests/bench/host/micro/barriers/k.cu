/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void ring(int *result)
{
    __shared__ int cell[BLOCK];
    int t = threadIdx.x, v = blockIdx.x + t;

    for (int i = 0; i < TURNS; i++) {
        cell[t] = v;
        __syncthreads();
        v = cell[(t + 1) % BLOCK];
        __syncthreads();
    }
    result[blockIdx.x * BLOCK + t] = v;
}

static void run(void)
{
    ring<<<block_count, BLOCK>>>(DEV(RESULT, int));
}
