// What a card lets pass passes: a flag just past shared memory, or just past an array; what it notices, on the host device's
// guards, is an error: shared addresses below the window and far from it, global ones past CUDA's pages.  With exact guards, what
// is just past memory is an error, and what is not aligned.  Each case in a child of its own, as errors are sticky.
// devices: host
// On cards other memory lies there.
// variants: shared static rdc
// Unoptimised code has generic addresses, which are not compared with shared memory's end.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

extern __shared__ int dynamic[];

/* As a well-known training program does: the last warp done leaves a flag behind what was asked for. */
__global__ void flag(int *out, int at)
{
    dynamic[threadIdx.x] = threadIdx.x;
    if (threadIdx.x == 0)
        dynamic[at] = 1;
    __syncthreads();
    out[threadIdx.x] = dynamic[31 - threadIdx.x] + dynamic[at];
}

__global__ void scattered(int *out, int at)
{
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    s[(threadIdx.x * 7 & 31) + at] = 1;
    out[threadIdx.x] = s[threadIdx.x ^ 1];
}

__global__ void counted(int *out, int at)
{
    __shared__ int s[64];
    s[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&s[(threadIdx.x & 3) + at], 1);
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}

__global__ void store(int *p, long at)
{
    p[at + threadIdx.x] = 3;
}

template <typename T> __global__ void moves(char *p, int at)
{
    T *q = (T *)(p + at) + threadIdx.x;
    q[64] = q[0];
}

template <typename T> __global__ void adds(char *p, int at)
{
    atomicAdd((T *)(p + at) + threadIdx.x, (T)1);
}

__global__ void adds_shared(char *p, int at)
{
    __shared__ unsigned long long s[64];
    s[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd((unsigned long long *)((char *)s + at) + (threadIdx.x & 7), 1);
    __syncthreads();
    ((unsigned long long *)p)[threadIdx.x] = s[threadIdx.x];
}

static void (*const unaligned[])(char *, int) = { moves<short>, moves<int>, moves<double>, moves<int4>, moves<float2>, adds<int>,
                                                  adds<unsigned long long>, adds<double>, adds_shared };
static const char *const unaligned_names[] = { "short", "int", "double", "int4", "float2", "add int", "add 64", "add double",
                                               "add shared" };
enum { UNALIGNED = sizeof unaligned / sizeof *unaligned };

/* An address that is not aligned: an error if `exact`, else that error or none. */
static int unaligned_child(int which, bool exact)
{
    if (exact)
        setenv("ANYWARP_HOST_GUARD", "exact", 1);
    Dev<char> p(4096);
    CHECK(cudaMemset(p, 0, 4096));
    unaligned[which]<<<2, 32>>>(p, 0);
    if (cudaDeviceSynchronize() != cudaSuccess)
        return 2;
    unaligned[which]<<<2, 32>>>(p, which ? 4 - (which == 1 || which == 5) : 1);
    cudaError_t err = cudaDeviceSynchronize();
    return !(err == cudaErrorMisalignedAddress || (err == cudaSuccess && !exact));
}

static void unaligned_all(void)
{
    for (int i = 0; i < 2 * UNALIGNED; i++) {
        if (!(i & 1) && i / 2 % 3)
            continue; /* without exact guards a few will do */
        std::fflush(stdout);
        pid_t pid = fork();
        if (pid == 0)
            _exit(unaligned_child(i / 2, i & 1));
        int status = 0;
        waitpid(pid, &status, 0);
        EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "unaligned %s%s: status %x", unaligned_names[i / 2],
               i & 1 ? ", exact" : "", status);
    }
}

static cudaError_t shared(int which, int at)
{
    Dev<int> out(32);
    if (which == 0)
        flag<<<64, 32, 13312>>>(out, at);
    else if (which == 1)
        scattered<<<64, 32>>>(out, at);
    else
        counted<<<64, 32>>>(out, at);
    return cudaDeviceSynchronize();
}

static cudaError_t global(size_t size, long at)
{
    Dev<int> p(size / sizeof(int));
    store<<<1, 32>>>(p, at);
    return cudaDeviceSynchronize();
}

struct attempt {
    bool shared;
    int which;  /* or bytes of the array */
    long at;    /* in ints */
    bool passes, exact;
};
static const attempt attempts[] = {
    { true, 0, 3327, true }, { true, 0, 3328, true }, { true, 0, 3328 + 255, true }, { true, 0, 3328 + 256, false },
    { true, 0, -4096, false }, { true, 0, -40000, false }, { true, 0, 100000, false }, { true, 0, -100000, false },
    { true, 0, 300000000, false },
    { true, 0, -300000000, false }, { true, 1, 64, true }, { true, 1, -1100, false }, { true, 1, 100000, false },
    { true, 1, -100000, false },
    { true, 2, -40000, false }, { true, 2, 100000, false }, { true, 2, 500000000, false },
    { false, 100000, 25000, true }, { false, 100000, (2 << 18) - 32, true }, { false, 100000, 2 << 18, false },
    { false, 100000, -32, false },
    { true, 0, 3327, true, true }, { true, 0, 3328, false, true }, { true, 1, -1, false, true }, { true, 1, 33, false, true },
    { true, 1, 32, true, true }, { true, 2, 61, false, true }, { false, 100000, 24968, true, true },
    { false, 100000, 25088, false, true },
    { false, 1000, 250, true }, { false, 3 << 20, 3 << 18, true }, { false, 3 << 20, 4 << 18, false },
};

int main()
{
    for (const attempt &a : attempts) {
        std::fflush(stdout);
        pid_t pid = fork();
        if (pid == 0 && a.exact)
            setenv("ANYWARP_HOST_GUARD", "exact", 1);
        if (pid == 0)
            _exit((a.shared ? shared(a.which, (int)a.at) : global(a.which, a.at)) & 1023 ? 1 : 0);
        int status = 0;
        waitpid(pid, &status, 0);
        EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == !a.passes, "%s %d at %ld%s: status %x", a.shared ? "shared" : "global",
               a.which, a.at, a.exact ? ", exact" : "", status);
    }
    unaligned_all();
    return check_done();
}
