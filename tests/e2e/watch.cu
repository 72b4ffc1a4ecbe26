// What tests/e2e/watch.py watches: calls of each kind, one that fails, kernels of two names and three shapes, copies both ways.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

__global__ void fill(float *out, float value)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

template <int N> __global__ void scale(float *out)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] *= N;
}

int main()
{
    enum { N = 1 << 16, ROUNDS = 10 };
    static float host[N];
    float *out;
    cudaFuncAttributes has;
    int blocks;
    /* What a kernel has is known without its code on the host device: --record lists none for these. */
    if (cudaFuncGetAttributes(&has, fill) != cudaSuccess || has.maxThreadsPerBlock < 256 ||
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale<2>, 128, 0) != cudaSuccess || !blocks)
        return 3;
    if (cudaMalloc(&out, N * sizeof(float)) != cudaSuccess)
        return 1;
    cudaMemcpy(out, host, N * sizeof(float), cudaMemcpyHostToDevice);
    fill<<<N / 256, 256>>>(out, 1);
    for (int i = 0; i < ROUNDS; i++)
        scale<3><<<N / 64, 64>>>(out);
    scale<2><<<N / 128, 128>>>(out);
    cudaMemset(out, 0, 64);
    cudaMemcpy(host, out, N * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%g %g\n", host[0], host[N - 1]);
    if (cudaFree((void *)16) == cudaSuccess)
        return 2;
    cudaGetLastError();
    return cudaFree(out) != cudaSuccess;
}
