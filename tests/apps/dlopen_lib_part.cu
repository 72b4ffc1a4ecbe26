// The library of dlopen_lib.
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

__device__ int base = 5;

__global__ void part_kernel(int *out, int by)
{
    out[threadIdx.x] = threadIdx.x * by + base;
}

extern "C" int part_run(int by, const char **ret_why)
{
    int *d, host[40];
    cudaError_t err = cudaMalloc((void **)&d, sizeof host);
    if (err == cudaSuccess) {
        part_kernel<<<1, 40>>>(d, by);
        err = cudaMemcpy(host, d, sizeof host, cudaMemcpyDeviceToHost);
        cudaFree(d);
    }
    if (err != cudaSuccess) {
        *ret_why = cudaGetErrorString(err);
        return 1;
    }
    for (int i = 0; i < 40; i++)
        if (host[i] != i * by + 5) {
            *ret_why = "wrong result";
            return 1;
        }
    return 0;
}
