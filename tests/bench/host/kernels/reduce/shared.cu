/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void reduce_shared(const float *x, float *sums, int count)
{
    __shared__ float cell[BLOCK];
    unsigned t = threadIdx.x;
    float sum = 0;

    for (int i = blockIdx.x * blockDim.x + t; i < count; i += gridDim.x * blockDim.x)
        sum += x[i];
    cell[t] = sum;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half >>= 1) {
        if (t < half)
            cell[t] += cell[t + half];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = cell[0];
}

static void run(void)
{
    reduce_shared<<<GRID, BLOCK>>>(DEV(X, float), DEV(SUMS, float), n);
}
