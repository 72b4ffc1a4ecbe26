/* A block for each tile: digits counted with shared atomics; all counts summed by one block; places within a warp from votes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

static __device__ unsigned digit_of(unsigned key)
{
    return key >> SHIFT & (DIGITS - 1);
}

__global__ void radix_count(const unsigned *from, unsigned *counts, int all)
{
    __shared__ unsigned mine[DIGITS];

    if (threadIdx.x < DIGITS)
        mine[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&mine[digit_of(from[blockIdx.x * TILE + threadIdx.x])], 1);
    __syncthreads();
    if (threadIdx.x < DIGITS)
        counts[threadIdx.x * all + blockIdx.x] = mine[threadIdx.x];
}

/* Exclusive prefix sums by one block of 1024: each thread its part, then the parts. */
__global__ void radix_scan(unsigned *counts, int count)
{
    __shared__ unsigned part[1024];
    int each = (count + 1023) / 1024, first = threadIdx.x * each, end = min(first + each, count);
    unsigned sum = 0;

    for (int i = first; i < end; i++)
        sum += counts[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int d = 1; d < 1024; d <<= 1) {
        unsigned other = threadIdx.x >= d ? part[threadIdx.x - d] : 0;
        __syncthreads();
        part[threadIdx.x] += other;
        __syncthreads();
    }
    sum = part[threadIdx.x] - sum;
    for (int i = first; i < end; i++) {
        unsigned v = counts[i];
        counts[i] = sum;
        sum += v;
    }
}

__global__ void radix_scatter(const unsigned *from, unsigned *to, const unsigned *counts, int all)
{
    __shared__ unsigned warps[TILE / 32][DIGITS];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    unsigned key = from[blockIdx.x * TILE + threadIdx.x], digit = digit_of(key), same = ~0u;

    for (int bit = 1; bit < DIGITS; bit <<= 1) {
        unsigned vote = __ballot_sync(~0u, digit & bit);
        same &= digit & bit ? vote : ~vote;
    }
    if (lane < DIGITS)
        warps[warp][lane] = 0;
    __syncwarp();
    unsigned before = __popc(same & ((1u << lane) - 1));
    if (before == 0)
        warps[warp][digit] = __popc(same);
    __syncthreads();
    for (int w = 0; w < warp; w++)
        before += warps[w][digit];
    to[counts[digit * all + blockIdx.x] + before] = key;
}

static void run(void)
{
    radix_count<<<tiles, TILE>>>(DEV(FROM, unsigned), DEV(COUNTS, unsigned), tiles);
    radix_scan<<<1, 1024>>>(DEV(COUNTS, unsigned), tiles * DIGITS);
    radix_scatter<<<tiles, TILE>>>(DEV(FROM, unsigned), DEV(TO, unsigned), DEV(COUNTS, unsigned), tiles);
}
