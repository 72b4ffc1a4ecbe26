/* Tiles by shuffles, then the tiles' sums by one block, then both added. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

/* The sum of the block's values up to this thread's. */
static __device__ unsigned block_scan(unsigned v)
{
    __shared__ unsigned part[32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;

    for (int d = 1; d < 32; d <<= 1) {
        unsigned other = __shfl_up_sync(~0u, v, d);
        if (lane >= d)
            v += other;
    }
    if (lane == 31)
        part[warp] = v;
    __syncthreads();
    if (warp == 0) {
        unsigned p = lane < (int)(blockDim.x >> 5) ? part[lane] : 0;
        for (int d = 1; d < 32; d <<= 1) {
            unsigned other = __shfl_up_sync(~0u, p, d);
            if (lane >= d)
                p += other;
        }
        part[lane] = p;
    }
    __syncthreads();
    v += warp ? part[warp - 1] : 0;
    __syncthreads();
    return v;
}

__global__ void scan_tiles(const unsigned *from, unsigned *to, unsigned *sums, int count)
{
    int first = blockIdx.x * TILE + threadIdx.x * EACH;
    unsigned v[EACH], sum = 0;

    for (int j = 0; j < EACH; j++)
        v[j] = sum += first + j < count ? from[first + j] : 0;
    unsigned until = block_scan(sum), before = until - sum;
    for (int j = 0; j < EACH; j++)
        if (first + j < count)
            to[first + j] = before + v[j];
    if (threadIdx.x == BLOCK - 1)
        sums[blockIdx.x] = until;
}

__global__ void scan_sums(unsigned *sums, int count)
{
    unsigned carry = 0;
    __shared__ unsigned last;

    for (int first = 0; first < count; first += blockDim.x) {
        int i = first + threadIdx.x;
        unsigned v = block_scan(i < count ? sums[i] : 0) + carry;
        if (i < count)
            sums[i] = v;
        if (threadIdx.x == blockDim.x - 1)
            last = v;
        __syncthreads();
        carry = last;
    }
}

__global__ void scan_add(unsigned *to, const unsigned *sums, int count)
{
    int i = (blockIdx.x + 1) * TILE + threadIdx.x;

    for (int j = 0; j < EACH; j++, i += BLOCK)
        if (i < count)
            to[i] += sums[blockIdx.x];
}

static void run(void)
{
    scan_tiles<<<tiles, BLOCK>>>(DEV(FROM, unsigned), DEV(TO, unsigned), DEV(SUMS, unsigned), n);
    scan_sums<<<1, 1024>>>(DEV(SUMS, unsigned), tiles);
    scan_add<<<tiles - 1, BLOCK>>>(DEV(TO, unsigned), DEV(SUMS, unsigned), n);
}
