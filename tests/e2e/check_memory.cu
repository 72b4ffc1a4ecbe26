// Wrong accesses that tests/e2e/check_found.py has `anywarp check` find, one a run, by number; number 0 runs what is as close and
// sound.  Those of tests/e2e/check.cu are told in more detail.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <cuda_pipeline.h>

#include "check_pointers.h"

enum { N = 1000 };

__global__ void shared_end(int *out, int at)
{
    extern __shared__ int s[];
    s[threadIdx.x + at] = 1; // LINE shared_end
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}

__global__ void shared_column(int *out, int step)
{
    __shared__ int s[32 * 33];
    for (int i = threadIdx.x; i < 32 * 33; i += 32)
        s[i] = i;
    __syncwarp();
    out[threadIdx.x] = s[threadIdx.x * step]; // LINE shared_column
}

__global__ void shared_count(int *out, const int *in)
{
    __shared__ int s[64];
    s[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&s[in[threadIdx.x]], 1); // LINE shared_count
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}

__global__ void shared_pair(int2 *out, int by)
{
    extern __shared__ char bytes[];
    for (int i = threadIdx.x; i < 512; i += 32)
        bytes[i] = i;
    __syncwarp();
    out[threadIdx.x] = *(int2 *)(bytes + 8 * threadIdx.x + by); // LINE shared_pair
}

__global__ void copy_async(int *out, const int *in)
{
    __shared__ int s[32 * 4];
    __pipeline_memcpy_async(s + 4 * threadIdx.x, in + 4 * threadIdx.x, 16); // LINE copy_async
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[threadIdx.x] = s[threadIdx.x];
}

__global__ void row_tail(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i] + in[i + 1]; // LINE row_tail
}

__global__ void strided(int *out, const int *in, int step)
{
    for (int i = threadIdx.x; i < N; i += blockDim.x)
        out[i] = in[(long)i * step]; // LINE strided
}

__global__ void scattered(int *out, const int *index)
{
    out[index[threadIdx.x]] = 1; // LINE scattered
}

__global__ void heap_freed(int *out)
{
    int *p = (int *)malloc(64);
    p[3] = 5;
    out[0] = p[3];
    free(p);
    out[1] = p[3]; // LINE heap_freed
}

__global__ void one_lane(int *out, int n)
{
    if (threadIdx.x == 13)
        for (int i = 0; i < n; i++)
            out[i * 7 % n + 64] = i; // LINE one_lane
}

__global__ void swap_at(unsigned *out, long at)
{
    if (atomicCAS(out + at, 0u, 1u) == 7) // LINE swap_at
        out[0] = 3;
}

static int *make(int n)
{
    int *p = NULL;
    if (cudaMalloc(&p, n * 4) != cudaSuccess || cudaMemset(p, 0, n * 4) != cudaSuccess)
        exit(3);
    return p;
}

/* 0 to n - 1, but for one. */
static int *indices(int n, int at, int value)
{
    int *p = make(n), host[256];
    for (int i = 0; i < n; i++)
        host[i] = i == at ? value : i;
    cudaMemcpy(p, host, n * 4, cudaMemcpyHostToDevice);
    return p;
}

static void run(int which, int *out, int *in)
{
    bool bad = which != 0;
    switch (which) {
    case 0: pointers_run(out, in); // fall through
    case 1: shared_end<<<1, 64, 64 * 4>>>(out, bad); if (bad) break; // fall through
    case 2: shared_column<<<1, 32>>>(out, bad ? 35 : 33); if (bad) break; // fall through
    case 3: shared_count<<<1, 64>>>(out, indices(64, 41, bad ? 64 : 3)); if (bad) break; // fall through
    case 4: shared_pair<<<1, 32, 512>>>((int2 *)out, bad ? 4 : 8); if (bad) break; // fall through
    case 5: copy_async<<<1, 32>>>(out, in + N - (bad ? 124 : 128)); if (bad) break; // fall through
    case 6: row_tail<<<4, 256>>>((float *)out, (float *)in, bad ? N : N - 1); if (bad) break; // fall through
    case 7: strided<<<1, 64>>>(out, in, bad ? -1 : 0); if (bad) break; // fall through
    case 8: scattered<<<1, 64>>>(out, indices(64, 63, bad ? N : N - 1)); if (bad) break; // fall through
    case 9: if (bad) { heap_freed<<<1, 1>>>(out); break; } // fall through
    case 10: one_lane<<<1, 32>>>(out, bad ? N - 63 : N - 64); if (bad) break; // fall through
    case 11: swap_at<<<1, 64>>>((unsigned *)out, bad ? N : N - 1); break;
    }
}

int main(int argc, char **argv)
{
    int *out = make(N), *in = make(N);
    run(argc > 1 ? atoi(argv[1]) : 0, out, in);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    return 0;
}
