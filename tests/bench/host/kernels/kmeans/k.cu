/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void kmeans(const float *points, const float *centres, int *labels, float *sums, int *numbers, int count)
{
    __shared__ float centre[K][DIMS], mine[K][DIMS];
    __shared__ int number[K];

    for (int i = threadIdx.x; i < K * DIMS; i += BLOCK) {
        centre[i / DIMS][i % DIMS] = centres[i];
        mine[i / DIMS][i % DIMS] = 0;
        if (i < K)
            number[i] = 0;
    }
    __syncthreads();
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < count; i += gridDim.x * BLOCK) {
        float p[DIMS], least = FLT_MAX;
        int label = 0;
        for (int d = 0; d < DIMS; d++)
            p[d] = points[d * count + i];
        for (int c = 0; c < K; c++) {
            float far = 0;
            for (int d = 0; d < DIMS; d++)
                far += (p[d] - centre[c][d]) * (p[d] - centre[c][d]);
            if (far < least) {
                least = far;
                label = c;
            }
        }
        labels[i] = label;
        atomicAdd(&number[label], 1);
        for (int d = 0; d < DIMS; d++)
            atomicAdd(&mine[label][d], p[d]);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < K * DIMS; i += BLOCK) {
        atomicAdd(&sums[i], mine[i / DIMS][i % DIMS]);
        if (i < K)
            atomicAdd(&numbers[i], number[i]);
    }
}

static void run(void)
{
    kmeans<<<GRID, BLOCK>>>(DEV(POINTS, float), DEV(CENTRES, float), DEV(LABELS, int), DEV(SUMS, float), DEV(NUMBERS, int), n);
}
