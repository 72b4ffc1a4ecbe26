/* A warp for each row. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void softmax(const float *from, float *to, int width)
{
    int lane = threadIdx.x & 31, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const float *in = from + (long long)row * width;
    float *out = to + (long long)row * width, most = -FLT_MAX, sum = 0;

    for (int i = lane; i < width; i += 32)
        most = fmaxf(most, in[i]);
    for (int d = 16; d > 0; d >>= 1)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
    for (int i = lane; i < width; i += 32)
        sum += expf(in[i] - most);
    for (int d = 16; d > 0; d >>= 1)
        sum += __shfl_xor_sync(~0u, sum, d);
    float scale = 1.0f / sum;
    for (int i = lane; i < width; i += 32)
        out[i] = expf(in[i] - most) * scale;
}

static void run(void)
{
    softmax<<<rows / 8, 256>>>(DEV(FROM, float), DEV(TO, float), cols);
}
