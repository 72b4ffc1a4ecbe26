// The second translation unit of rdc_multi.
// SPDX-License-Identifier: Apache-2.0
__device__ int shared_counter = 100;
__constant__ float shared_factors[4] = {0.5f, 1.0f, 2.0f, -4.0f};
static __device__ int same_name = 50;

extern __device__ int called_from_other(int x);

__device__ float other_scale(float x, int which)
{
    return x * shared_factors[which];
}

/* Its numbers are the kernel's constants in machine code. */
__device__ double other_line(double x)
{
    return fma(x, 0.1234567890123, 9.87654321e-5);
}

static __device__ int step(int x)
{
    return x * 3 + 1;
}

typedef int (*Step)(int);
__device__ Step other_step = step;

__global__ void other_kernel(int *out)
{
    out[threadIdx.x] = called_from_other(threadIdx.x) + same_name + shared_counter;
}
