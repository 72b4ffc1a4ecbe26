// Arrays of a thread's own, indexed far beyond their ends: it ends the kernel with an error, or hits such arrays of the warp's
// alone; never the process.  Each index in a child of its own, which survives, in time, and says what became of it.  With an
// argument (`wild_local all`): 100 indices, all with all kernels.
// devices: host
// Cards see local memory thread by thread, and let other indices pass.
// expect-stderr: past the warp's local memory.* in block
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 64 };

__global__ void plain(int *out, int i, int v)
{
    int a[4] = { v, v + 1, v + 2, v + 3 };
    a[i + (threadIdx.x & 1)] = v;
    a[(i + 1) & 3] += 1;
    out[blockIdx.x * blockDim.x + threadIdx.x] = a[threadIdx.x & 3];
}

__global__ void barriers(int *out, int i, int v)
{
    __shared__ int s[N];
    int a[4] = { v, v + 1, v + 2, v + 3 };
    s[threadIdx.x] = v;
    __syncthreads();
    a[i] = s[N - 1 - threadIdx.x];
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = a[threadIdx.x & 3] + s[threadIdx.x ^ 1];
}

/* Warps that come to their barriers by different ways have stacks of their own. */
__global__ void apart(int *out, int i, int v)
{
    __shared__ int s[N];
    int a[4] = { v, v + 1, v + 2, v + 3 };
    s[threadIdx.x] = v;
    if (threadIdx.x < 32) {
        a[i] = v;
        asm volatile("bar.sync 1, 64;");
    } else {
        asm volatile("bar.sync 1, 64;");
        a[i + 1] = v;
    }
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = a[threadIdx.x & 3] + s[threadIdx.x ^ 1];
}

__device__ __noinline__ int set(int i, int v)
{
    volatile int a[4];
    for (int k = 0; k < 4; k++)
        a[k] = v + k;
    a[i] = v;
    return a[v & 3];
}

__global__ void called(int *out, int i, int v)
{
    int x = set(i, v);
    out[blockIdx.x * blockDim.x + threadIdx.x] = x + set(i + 1, x);
}

__global__ void called_between(int *out, int i, int v)
{
    __shared__ int s[N];
    s[threadIdx.x] = set(i, v + threadIdx.x);
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = set(i + 1, s[N - 1 - threadIdx.x]);
}

__device__ __noinline__ int deep(int i, int v, int depth)
{
    volatile int a[4];
    for (int k = 0; k < 4; k++)
        a[k] = v + k;
    int below = depth ? deep(i, v + 1, depth - 1) : 0;
    a[i] = below;
    return a[depth & 3] + below;
}

__global__ void recursion(int *out, int i, int v)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] = deep(i, v, 3 + (threadIdx.x & 1));
}

static void (*const kernels[])(int *, int, int) = { plain, barriers, apart, called, called_between, recursion };
static const char *const names[] = { "plain", "barriers", "apart", "called", "called_between", "recursion" };
enum { KERNELS = sizeof kernels / sizeof *kernels };

/* 0: it went through; 1: illegal address; 2: another error. */
static int child(int which, int index)
{
    int *out;
    check_failures = 0;
    CHECK(cudaMalloc(&out, 8 * N * sizeof(int)));
    kernels[which]<<<8, N>>>(out, index, 5);
    cudaError_t err = cudaDeviceSynchronize();
    return err == cudaSuccess ? 0 : err == cudaErrorIllegalAddress ? 1 : 2;
}

int main(int argc, char **argv)
{
    static const int sample[] = { 2, 44, 168, 404, 1000, 30000, 100000, -1, -4, -30, -168, -1000, -30000, -100000 };
    bool scan = argc > 1;
    int n = scan ? 100 : (int)(sizeof sample / sizeof *sample), outcomes[3] = { 0 };
    /* A sample takes each index with two kernels, a scan all with all. */
    for (int which = 0; which < KERNELS; which++)
        for (int i = 0; i < n; i++) {
            int index = !scan    ? sample[i]
                        : i < 50 ? 4 + i * 8
                        : i < 75 ? -1 - (i - 50) * 17
                                 : (i & 1 ? -1 : 1) * (400 << (i - 75) / 3);
            if (!scan && i && i % 3 != which % 3)
                continue;
            std::fflush(stdout);
            pid_t pid = fork();
            if (pid == 0) {
                alarm(20);
                _exit(child(which, index));
            }
            int status = 0;
            waitpid(pid, &status, 0);
            bool lived = WIFEXITED(status) && WEXITSTATUS(status) < 2;
            EXPECT(lived, "%s, index %d: status %x", names[which], index, status);
            outcomes[lived ? WEXITSTATUS(status) : 2]++;
            if (i == 0 && !scan)
                EXPECT(lived && WEXITSTATUS(status) == 0, "%s: status %x within the array", names[which], status);
        }
    std::fprintf(stderr, "%d went through, %d ended with an error, %d otherwise\n", outcomes[0], outcomes[1], outcomes[2]);
    EXPECT(outcomes[1] > 0, "no error");
    return check_done();
}
