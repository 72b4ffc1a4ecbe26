// What terminal.py runs: many small kernels, so that compiling them takes a while, and one with a line to stop at.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

template <int N>
__global__ void scale(float *x)
{
    float v = x[threadIdx.x];
    for (int i = 0; i < N; i++)
        v = v * v + N; // stop here
    x[threadIdx.x] = v;
}

template <int N>
static void launch(float *x)
{
    scale<N><<<1, 32>>>(x);
    if constexpr (N > 1)
        launch<N - 1>(x);
}

int main()
{
    float *x, first = -1;
    cudaMalloc(&x, 32 * sizeof *x);
    cudaMemset(x, 0, 32 * sizeof *x);
    launch<KERNELS>(x);
    cudaMemcpy(&first, x, sizeof first, cudaMemcpyDeviceToHost);
    printf("first %g, %s\n", first, cudaGetErrorString(cudaGetLastError()));
    return cudaGetLastError() != cudaSuccess;
}
