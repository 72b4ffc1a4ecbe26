// Kernels to stop in: tests/e2e/debugger.py looks for the words "stop: NAME" to find lines.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

__device__ __noinline__ float deep(float x)
{
    return x * 3 + 1; // stop: deep
}

__global__ void rows(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if (i % 4 == 1)
            out[i] = deep(in[i]); // stop: some
        else
            out[i] = in[i]; // stop: others
    }
}

namespace shapes {
template <int N> __global__ void scale(float *p)
{
    __shared__ float s[64];
    int i = threadIdx.y * blockDim.x + threadIdx.x;
    s[i] = p[i];
    __syncthreads();
    p[i] = s[63 - i] * N; // stop: met
}
}

namespace {
__global__ void hidden(float *p)
{
    p[threadIdx.x] += 1;
}
}

__device__ __noinline__ long long far(int at)
{
    return (long long)at << 20;
}

__global__ void wild(float *p, int at)
{
    if (threadIdx.x == 5)
        p[far(at)] = 1; // stop: wild
}

__global__ void named(short *out, double d, bool flag)
{
    int i = threadIdx.x;
    unsigned char c = 'a';
    for (int k = 0; k < i % 3; k++)
        c++;
    float f = d / 2 + i;
    if (flag)
        f = f + c; // stop: before
    out[i] = (short)f; // stop: after
}

int main(int argc, char **)
{
    float *in, *out;
    cudaMalloc(&in, 1000);
    cudaMalloc(&out, 1000);
    cudaMemset(in, 0, 1000);
    rows<<<3, 40>>>(in, out, 110);
    shapes::scale<3><<<2, dim3(16, 4)>>>(out);
    hidden<<<1, 8>>>(out);
    named<<<1, 16>>>((short *)in, 5, true);
    std::printf("first %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    if (argc > 1) {
        wild<<<1, 8>>>(out, 1 << 20);
        std::printf("then %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    }
    return 0;
}
