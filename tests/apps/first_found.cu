// Threads look for the first place of a value and leave the loop when one of the block has found an earlier one: what they find
// they put together by an atomic that the assembler makes one of for the lanes that are there, in a branch, while the others are
// on their way to the barrier.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#define BLOCKS 64
#define THREADS 160

__global__ void first_found(const float *in, int width, const float *keys, int *out)
{
    __shared__ int first;
    const float *row = in + blockIdx.x * width;
    float key = keys[blockIdx.x];
    if (threadIdx.x == 0)
        first = width;
    __syncthreads();
    for (int i = threadIdx.x; i < width && i < *(volatile int *)&first; i += blockDim.x) {
        float v = row[i];
        if (v == key || (v != v && key != key)) {
            atomicMin(&first, i);
            break;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0)
        out[blockIdx.x] = first;
}

// The same twice, with a count of who found it: each lane that is there has its part.
__global__ void counted(const float *in, int width, const float *keys, int *out)
{
    __shared__ int first, sum, most;
    const float *row = in + blockIdx.x * width;
    float key = keys[blockIdx.x];
    if (threadIdx.x == 0) {
        first = width;
        sum = most = 0;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        if (row[i] >= key) {
            atomicAdd(&sum, i);
            atomicMax(&most, i);
            if (i < *(volatile int *)&first)
                atomicMin(&first, i);
        }
        if (*(volatile int *)&first < 0)
            break;
    }
    __syncthreads();
    if (threadIdx.x < 3)
        out[3 * blockIdx.x + threadIdx.x] = threadIdx.x == 0 ? first : threadIdx.x == 1 ? sum : most;
}

static float in[BLOCKS * 700], keys[BLOCKS];

static void fill(int width, unsigned seed)
{
    for (int b = 0; b < BLOCKS; b++) {
        for (int i = 0; i < width; i++) {
            seed = seed * 1664525u + 1013904223u;
            in[b * width + i] = (float)(seed >> 20 & (b % 3 ? 255 : 7));
        }
        seed = seed * 1664525u + 1013904223u;
        keys[b] = b % 5 == 4 ? -1 : in[b * width + seed % width];
    }
}

int main()
{
    static const int widths[] = { 1, 7, 31, 160, 161, 300, 700 };
    float *d_in, *d_keys;
    int *d_out, out[3 * BLOCKS];
    CHECK(cudaMalloc(&d_in, sizeof in));
    CHECK(cudaMalloc(&d_keys, sizeof keys));
    CHECK(cudaMalloc(&d_out, sizeof out));
    for (unsigned w = 0; w < sizeof widths / sizeof *widths; w++) {
        int width = widths[w];
        fill(width, w + 1);
        CHECK(cudaMemcpy(d_in, in, sizeof in, cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(d_keys, keys, sizeof keys, cudaMemcpyHostToDevice));
        first_found<<<BLOCKS, THREADS>>>(d_in, width, d_keys, d_out);
        CHECK(cudaMemcpy(out, d_out, BLOCKS * sizeof *out, cudaMemcpyDeviceToHost));
        for (int b = 0; b < BLOCKS; b++) {
            int want = 0;
            while (want < width && in[b * width + want] != keys[b])
                want++;
            EXPECT(out[b] == want, "width %d, row %d: %d, expected %d", width, b, out[b], want);
        }
        counted<<<BLOCKS, THREADS>>>(d_in, width, d_keys, d_out);
        CHECK(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost));
        for (int b = 0; b < BLOCKS; b++) {
            int first = width, sum = 0, most = 0;
            for (int i = width; i-- > 0;)
                if (in[b * width + i] >= keys[b]) {
                    first = i;
                    sum += i;
                    most = most > i ? most : i;
                }
            EXPECT(out[3 * b] == first && out[3 * b + 1] == sum && out[3 * b + 2] == most,
                   "width %d, row %d: %d %d %d, expected %d %d %d", width, b, out[3 * b], out[3 * b + 1], out[3 * b + 2], first,
                   sum, most);
        }
    }
    return check_done();
}
