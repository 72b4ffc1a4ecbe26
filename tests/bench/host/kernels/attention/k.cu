/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void scores(const float *query, const float *key, float *score, int count, float scale)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    const float *q = query + ((size_t)blockIdx.z * count + row) * DEPTH, *k = key + ((size_t)blockIdx.z * count + col) * DEPTH;
    float sum = 0;

    if (row >= count || col >= count)
        return;
    for (int i = 0; i < DEPTH; i++)
        sum += q[i] * k[i];
    score[((size_t)blockIdx.z * count + row) * count + col] = sum * scale;
}

__global__ void normalise(float *score, int count)
{
    int lane = threadIdx.x & 31;
    float *row = score + ((size_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * count, most = -FLT_MAX, sum = 0;

    for (int i = lane; i < count; i += 32)
        most = fmaxf(most, row[i]);
    for (int d = 16; d > 0; d >>= 1)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
    for (int i = lane; i < count; i += 32) {
        row[i] = expf(row[i] - most);
        sum += row[i];
    }
    for (int d = 16; d > 0; d >>= 1)
        sum += __shfl_xor_sync(~0u, sum, d);
    for (int i = lane; i < count; i += 32)
        row[i] /= sum;
}

__global__ void weigh(const float *score, const float *value, float *result, int count)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    const float *weight = score + ((size_t)blockIdx.z * count + row) * count,
                *v = value + (size_t)blockIdx.z * count * DEPTH + threadIdx.x;
    float sum = 0;

    if (row >= count)
        return;
    for (int i = 0; i < count; i++)
        sum += weight[i] * v[i * DEPTH];
    result[((size_t)blockIdx.z * count + row) * DEPTH + threadIdx.x] = sum;
}

static void run(void)
{
    scores<<<dim3(blocks(length, 32), blocks(length, 8), heads), dim3(32, 8)>>>(DEV(QUERY, float), DEV(KEY, float),
                                                                                DEV(SCORES, float), length, 0.125f);
    normalise<<<heads * length / 8, 256>>>(DEV(SCORES, float), length);
    weigh<<<dim3(blocks(length, 4), 1, heads), dim3(DEPTH, 4)>>>(DEV(SCORES, float), DEV(VALUE, float), DEV(RESULT, float),
                                                                 length);
}
