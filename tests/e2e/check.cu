// Defects that tests/e2e/check.py has `anywarp check` find, one a run, by number; and as many accesses that are none, as close to
// the ends.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>

enum { SMALL = 1001, LARGE = 5000001 };

__global__ void read_at(const char *p, char *out, long at)
{
    *out = p[at]; // LINE read
}

__global__ void write_at(char *p, long at)
{
    p[at + threadIdx.x] = 1; // LINE write
}

__global__ void wide_at(const float4 *p, float4 *out, long at)
{
    *out = p[at]; // LINE wide
}

__global__ void add_at(int *p, long at)
{
    atomicAdd(p + at, 1); // LINE add: in an inlined function of nvcc's, whose line is told, too
}

__device__ char variable[77];
__global__ void variable_at(long at)
{
    variable[at] = 1;
}

__global__ void heap(char *out)
{
    char *p = (char *)malloc(100);
    p[99] = 1;
    *out = p[99];
    free(p);
}

static __attribute__((noinline)) char *make(size_t bytes)
{
    char *p;
    if (cudaMalloc(&p, bytes) != cudaSuccess)
        exit(3);
    return p;
}

static void sound(char *p, char *out, char *big)
{
    char *managed, *host;
    cudaMallocManaged(&managed, 33);
    cudaMallocHost(&host, 17);
    read_at<<<1, 1>>>(p, out, SMALL - 1);
    write_at<<<1, 32>>>(p, SMALL - 32);
    wide_at<<<1, 1>>>((float4 *)p, (float4 *)out, SMALL / 16 - 1);
    add_at<<<1, 32>>>((int *)p, SMALL / 4 - 1);
    read_at<<<1, 1>>>(big, out, LARGE - 1);
    write_at<<<1, 33>>>(managed, 0);
    write_at<<<1, 17>>>(host, 0);
    variable_at<<<1, 1>>>(76);
    heap<<<1, 1>>>(out);
    cudaDeviceSynchronize();
    managed[32] = host[16] = 1; // the processor's own
    for (int i = 0; i < 6000; i++) // more than is kept of what was freed
        cudaFree(make(1 + i * 37 % 100000));
    cudaFree(managed);
    cudaFreeHost(host);
}

int main(int argc, char **argv)
{
    int which = argc > 1 ? atoi(argv[1]) : 0;
    char *p = make(SMALL), *out = make(16), *big = make(LARGE), *gone = make(400);
    cudaFree(gone);
    switch (which) {
    case 0: sound(p, out, big); break;
    case 1: read_at<<<1, 1>>>(p, out, SMALL); break;
    case 2: write_at<<<1, 32>>>(p, SMALL - 31); break;
    case 3: read_at<<<1, 1>>>(big, out, LARGE); break;
    case 4: read_at<<<1, 1>>>(big, out, -1); break;
    case 5: wide_at<<<1, 1>>>((float4 *)p, (float4 *)out, SMALL / 16); break;
    case 6: add_at<<<1, 1>>>((int *)p, SMALL / 4); break;
    case 7: read_at<<<1, 1>>>(gone, out, 399); break;
    case 8: write_at<<<1, 32>>>(gone, 0); break;
    case 9: add_at<<<1, 1>>>((int *)(p + 2), 0); break;
    case 10: cudaFree(gone); break;
    case 11: cudaFree(p + 8); break;
    case 12: p = NULL; break;
    }
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    if (error == cudaSuccess) {
        cudaFree(p);
        cudaFree(out);
        cudaFree(big);
    }
    return 0;
}
