/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void reduce_shuffle(const float *x, float *sums, int count)
{
    __shared__ float part[32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    float sum = 0;

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        sum += x[i];
    for (int d = 16; d > 0; d >>= 1)
        sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0)
        part[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = lane < (int)(blockDim.x >> 5) ? part[lane] : 0.0f;
        for (int d = 16; d > 0; d >>= 1)
            sum += __shfl_xor_sync(~0u, sum, d);
        if (lane == 0)
            sums[blockIdx.x] = sum;
    }
}

static void run(void)
{
    reduce_shuffle<<<GRID, BLOCK>>>(DEV(X, float), DEV(SUMS, float), n);
}
