// Reads of memory that was never written, which tests/e2e/check_found.py has `anywarp check --init` find, by number; number 0
// runs what is as close and sound.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>

#include "check_pointers.h"

__global__ void first_read(const int *in, int *out)
{
    out[threadIdx.x] = in[threadIdx.x]; // LINE first_read
}

__global__ void last_byte(const char *in, int *out, int n)
{
    out[threadIdx.x] = threadIdx.x < n ? in[threadIdx.x] : 0; // LINE last_byte
}

__global__ void beside_rows(const float *in, float *out, int n)
{
    int x = threadIdx.x + 1;
    out[x] = in[x - 1] + in[x] + in[x + 1]; // LINE beside_rows
}

__global__ void scattered(const int *index, const int *in, int *out)
{
    out[threadIdx.x] = in[index[threadIdx.x]]; // LINE scattered
}

__global__ void counter(int *sum)
{
    atomicAdd(sum, 1); // LINE counter
}

__global__ void wide(const float4 *in, float4 *out)
{
    out[threadIdx.x] = in[threadIdx.x]; // LINE wide
}

__global__ void half_stored(char *p, int *out)
{
    if (threadIdx.x % 2)
        p[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = p[threadIdx.x ^ 1]; // LINE half_stored
}

__global__ void loop(const int *in, int *out, int n)
{
    int sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        sum += in[i]; // LINE loop
    out[threadIdx.x] = sum;
}

__global__ void fill(int *p, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        p[i] = i;
}

__global__ void odd_bytes(char *p)
{
    p[threadIdx.x * 3 + 1] = 1;
}

__device__ int variable[40], given[3] = { 1, 2, 3 };
__global__ void variables(int *out)
{
    out[threadIdx.x] = variable[threadIdx.x] + given[threadIdx.x % 3];
}

struct memory {
    int *out, *fresh, *index;
};

static int *make(size_t bytes)
{
    int *p = NULL;
    if (cudaMalloc(&p, bytes) != cudaSuccess)
        exit(3);
    return p;
}

static void sound(const memory &m)
{
    int *p = make(4000), host[1000] = { 0 }, *managed, *pinned;
    size_t pitch;
    char *rows;
    cudaMallocManaged(&managed, 400);
    cudaMallocHost(&pinned, 400);
    cudaMallocPitch((void **)&rows, &pitch, 100, 10);
    cudaMemset2D(rows, pitch, 1, 100, 10);
    for (int y = 0; y < 10; y++)
        last_byte<<<1, 100>>>(rows + y * pitch, m.out, 100);
    managed[3] = pinned[5] = 1;
    first_read<<<1, 100>>>(managed, m.out);
    first_read<<<1, 100>>>(pinned, m.out);
    fill<<<2, 64>>>(p, 1000);
    loop<<<1, 96>>>(p, m.out, 1000);
    cudaFree(p);
    p = make(4000);
    cudaMemcpy(p, host, 3999, cudaMemcpyHostToDevice);
    last_byte<<<1, 128>>>((char *)p + 3999 - 128, m.out, 128);
    int *q = make(4000);
    cudaMemcpy(q, p, 4000, cudaMemcpyDeviceToDevice);
    first_read<<<1, 128>>>(q + 100, m.out);
    odd_bytes<<<1, 32>>>((char *)m.fresh);
    last_byte<<<1, 1>>>((char *)m.fresh + 1, m.out, 1);
    last_byte<<<1, 1>>>((char *)m.fresh + 94, m.out, 1);
    variables<<<1, 40>>>(m.out);
    pointers_run(m.out, q);
    cudaDeviceSynchronize();
    cudaFree(p);
    cudaFree(q);
    cudaFree(managed);
    cudaFreeHost(pinned);
    cudaFree(rows);
}

static void run(int which, const memory &m)
{
    switch (which) {
    case 0: sound(m); break;
    case 1: first_read<<<1, 64>>>(m.fresh, m.out); break;
    case 2:
        cudaMemset(m.fresh, 0, 99);
        last_byte<<<1, 100>>>((char *)m.fresh, m.out, 100);
        break;
    case 3:
        cudaMemset(m.fresh, 0, 33 * 4);
        beside_rows<<<1, 32>>>((float *)m.fresh, (float *)m.out, 32);
        break;
    case 4:
        fill<<<1, 32>>>(m.index, 32);
        cudaMemset(m.fresh, 0, 31 * 4);
        scattered<<<1, 32>>>(m.index, m.fresh, m.out);
        break;
    case 5: counter<<<1, 1>>>(m.fresh); break;
    case 6:
        cudaMemset(m.fresh, 0, 508);
        wide<<<1, 32>>>((float4 *)m.fresh, (float4 *)m.out);
        break;
    case 7: half_stored<<<1, 64>>>((char *)m.fresh, m.out); break;
    case 8:
        cudaMemset(m.fresh, 0, 2000);
        loop<<<1, 64>>>(m.fresh, m.out, 501);
        break;
    }
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        memory m = { make(8192), make(8192), make(8192) };
        run(atoi(argv[i]), m);
        printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
        cudaFree(m.out);
        cudaFree(m.fresh);
        cudaFree(m.index);
    }
    return 0;
}
