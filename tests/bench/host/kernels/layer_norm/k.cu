/* A block for each row. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

#define BLOCK 256

static __device__ float block_sum(float v)
{
    __shared__ float part[BLOCK / 32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;

    for (int d = 16; d > 0; d >>= 1)
        v += __shfl_xor_sync(~0u, v, d);
    if (lane == 0)
        part[warp] = v;
    __syncthreads();
    v = 0;
    for (int i = 0; i < BLOCK / 32; i++)
        v += part[i];
    __syncthreads();
    return v;
}

__global__ void layer_norm(const float *from, const float *scale, const float *shift, float *to, int width, float epsilon)
{
    const float *in = from + (size_t)blockIdx.x * width;
    float *out = to + (size_t)blockIdx.x * width, sum = 0, square = 0;

    for (int i = threadIdx.x; i < width; i += BLOCK)
        sum += in[i];
    float mean = block_sum(sum) / width;
    for (int i = threadIdx.x; i < width; i += BLOCK)
        square += (in[i] - mean) * (in[i] - mean);
    float inverse = rsqrtf(block_sum(square) / width + epsilon);
    for (int i = threadIdx.x; i < width; i += BLOCK)
        out[i] = (in[i] - mean) * inverse * scale[i] + shift[i];
}

static void run(void)
{
    layer_norm<<<rows, BLOCK>>>(DEV(FROM, float), DEV(SCALE, float), DEV(SHIFT, float), DEV(TO, float), cols, tiny);
}
