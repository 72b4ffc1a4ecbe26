// Kernels whose numbers are known: tests/e2e/count.py has them, and looks for "line: NAME".
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

__global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i]; // line: saxpy
}

__global__ void half_of(const float4 *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x & 16) {
        float4 v = in[i]; // line: half
        out[i] = v.x + v.y * v.z + v.w; // line: half out
    }
}

__global__ void short_warp(double *p)
{
    p[blockIdx.x * blockDim.x + threadIdx.x] += 1; // line: short
}

__global__ void updates(int *sum, unsigned char *bytes)
{
    atomicAdd(sum, 1);
    bytes[threadIdx.x] = 1; // line: byte
}

// Which memory the address is in is only known when it runs: odd threads go to the block's.
__global__ void anywhere(int *p, int odd)
{
    __shared__ int own[128];
    int *at = threadIdx.x % 2 == odd ? own : p;
    at[threadIdx.x] = 7; // line: anywhere
    __syncthreads();
    p[threadIdx.x + 128] = own[threadIdx.x]; // line: back
}

__global__ void uneven(const float *in, float *p, int rounds)
{
    __shared__ float s[128];
    for (int k = 0; k < 20; k++) {
        float v = in[threadIdx.x + 128 * k];
        for (int i = 0; i < rounds * ((int)threadIdx.x / 32 + 1); i++)
            v = v * 0.999f + 0.5f;
        s[threadIdx.x] = v;
        __syncthreads();
        p[threadIdx.x] = s[127 - threadIdx.x];
    }
}

int main()
{
    enum { N = 100003 };
    float *x, *y;
    cudaMalloc(&x, 16 * N);
    cudaMalloc(&y, 16 * N);
    cudaMemset(x, 0, 16 * N);
    cudaMemset(y, 0, 16 * N);
    saxpy<<<(N + 255) / 256, 256>>>(N, 2, x, y);
    half_of<<<100, 64>>>((const float4 *)x, y);
    short_warp<<<50, 40>>>((double *)x);
    updates<<<10, 96>>>((int *)x, (unsigned char *)y);
    anywhere<<<4, 128>>>((int *)x, 1);
    cudaMemset(x, 0, 16 * N);
    uneven<<<4, 128>>>(x, y, 20000);
    std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    return 0;
}
