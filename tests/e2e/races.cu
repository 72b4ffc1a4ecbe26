// Kernels with a race each, and the same kernel in order: what tests/e2e/races.py runs under the race detector of the simulated
// Radeon.  All have blocks of 128 threads, four waves of it; names of those in order end in _ordered.  check_race.cu has more.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cuda_pipeline.h>

#ifndef PAIR
#ifdef MORE // kernels of which the first threads run, or the last ones
__device__ __forceinline__ bool runs(int some)
{
    return some < 0 ? (int)threadIdx.x >= (int)blockDim.x + some : (int)threadIdx.x < some;
}

#define WARM(name, racy, ordered)                                                                                           \
    __global__ void racy(int *p, int *q) { if (runs(p[3 * N])) name##_body<false>(p, q); }                                  \
    __global__ void ordered(int *p, int *q) { if (runs(p[3 * N])) name##_body<true>(p, q); }
#define ENTRY(name) { #name, name, name##_ordered, name##_warm, name##_warm_ordered },
#else
#define WARM(name, racy, ordered)
#define ENTRY(name) { #name, name, name##_ordered },
#endif
#define PAIR(name) template<bool ORDERED> __device__ __forceinline__ void name##_body(int *p, int *q);                     \
    __global__ void name(int *p, int *q) { name##_body<false>(p, q); }                                                  \
    __global__ void name##_ordered(int *p, int *q) { name##_body<true>(p, q); }                                         \
    WARM(name, name##_warm, name##_warm_ordered)                                                                        \
    template<bool ORDERED> __device__ __forceinline__ void name##_body(int *p, int *q)
#define SYNC_IF(x) do { if (x) __syncthreads(); } while (0)

enum { N = 128 };

// A neighbour's word is read before it is there for sure.
PAIR(no_barrier)
{
    __shared__ int s[N];
    int t = threadIdx.x;
    s[t] = p[t];
    SYNC_IF(ORDERED);
    q[t] = s[(t + 32) % N];
}

// Two buffers in turn, one barrier a round: right.  One buffer with one barrier: it is written while others still read.
PAIR(overwritten)
{
    __shared__ int s[2][N];
    int t = threadIdx.x, sum = 0;
    for (int round = 0; round < 4; round++) {
        int *b = s[ORDERED ? round & 1 : 0];
        b[t] = p[t] + round;
        __syncthreads();
        sum += b[(t + 32) % N];
    }
    q[t] = sum;
}

// There is a barrier, but before the store.
PAIR(barrier_misplaced)
{
    __shared__ int s[N];
    int t = threadIdx.x;
    SYNC_IF(!ORDERED);
    s[t] = p[t];
    SYNC_IF(ORDERED);
    q[t] = s[N - 1 - t];
}

// Memory is used for something else before all have read what was in it.
PAIR(reused)
{
    __shared__ int s[N];
    int t = threadIdx.x;
    s[t] = p[t];
    __syncthreads();
    int first = s[(t + 64) % N];
    SYNC_IF(ORDERED);
    s[t] = first * 2;
    __syncthreads();
    q[t] = s[(t + 1) % N];
}

// One block tells another by a flag that data is there, with neither fence.
PAIR(flag)
{
    volatile int *f = q + N;
    if (blockIdx.x == 0) {
        q[threadIdx.x] = p[threadIdx.x];
        __syncthreads();
        if (ORDERED)
            __threadfence();
        if (threadIdx.x == 0)
            *f = 1;
    } else {
        while (!*f)
            ;
        if (ORDERED)
            __threadfence();
        p[N + threadIdx.x] = q[threadIdx.x ^ 1];
    }
}

// The fence is on one side only: here, that of the reader.
PAIR(not_released)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        q[0] = p[0];
        if (ORDERED)
            __threadfence();
        atomicExch(&q[N], 1);
    } else if (blockIdx.x == 1 && threadIdx.x == 0) {
        while (!atomicAdd(&q[N], 0))
            ;
        __threadfence();
        p[N] = q[0];
    }
}

// That of the writer.
PAIR(not_acquired)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        q[0] = p[0];
        __threadfence();
        atomicExch(&q[N], 1);
    } else if (blockIdx.x == 1 && threadIdx.x == 0) {
        while (!atomicAdd(&q[N], 0))
            ;
        if (ORDERED)
            __threadfence();
        p[N] = q[0];
    }
}

// Two blocks store different values to a word; or the same.
PAIR(same_word)
{
    if (threadIdx.x == 0)
        q[0] = ORDERED ? 7 : blockIdx.x;
}

// One block begins a count while the other counts.
PAIR(atomic_and_store)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        if (ORDERED)
            atomicExch(&q[0], p[0]);
        else
            q[0] = p[0] * 3 + 1;
    } else {
        atomicAdd(&q[0], 1);
    }
}

// The last rounds of a sum are left to one wave, which begins while two still work.
PAIR(reduction_tail)
{
    __shared__ int s[N];
    int t = threadIdx.x;
    s[t] = p[t];
    __syncthreads();
    for (int n = N / 2; n; n /= 2) {
        if (t < n)
            s[t] += s[t + n];
        SYNC_IF(ORDERED || n < 32);
    }
    if (t == 0)
        q[0] = s[0];
}

// Each thread waits for its own copies; what it reads is another's.
PAIR(copied)
{
    __shared__ int s[N];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[t], &p[t], sizeof(int));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    SYNC_IF(ORDERED);
    q[t] = s[(t + 32) % N];
}

// The block's last wave reads what all have added before that is so.
PAIR(added)
{
    __shared__ int s[4];
    int t = threadIdx.x;
    if (t < 4)
        s[t] = 0;
    __syncthreads();
    atomicAdd(&s[t & 3], t);
    SYNC_IF(ORDERED);
    if (t < 4)
        q[t] = s[t];
}

// Half of the block meets at a barrier of its own; the other half is in it, or not.
PAIR(named_barrier)
{
    __shared__ int s[N];
    int t = threadIdx.x;
    s[t] = p[t];
    if (ORDERED || t < 64)
        asm volatile("bar.sync 1, %0;" :: "r"(ORDERED ? N : 64) : "memory");
    q[t] = s[N - 1 - t];
}

// The last block to come sums what all have stored.
PAIR(last_block)
{
    __shared__ bool last;
    q[blockIdx.x * N + threadIdx.x] = p[threadIdx.x];
    if (ORDERED)
        __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(&p[2 * N], 1) == gridDim.x - 1;
    __syncthreads();
    if (last) {
        if (ORDERED)
            __threadfence();
        q[2 * N + threadIdx.x] = q[threadIdx.x] + q[N + threadIdx.x];
    }
}

// A lock, taken and given back as books say; or without the fences.
PAIR(locked)
{
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(&q[N], 0, 1))
            ;
        if (ORDERED)
            __threadfence();
        q[0] += 1;
        if (ORDERED)
            __threadfence();
        atomicExch(&q[N], 0);
    }
}

// A barrier begins each round, but for the racy one; what the last round stored is read after it.
PAIR(loop_head)
{
    __shared__ int s[N];
    int t = threadIdx.x, sum = 0;
#pragma unroll 1
    for (int round = 0; round < 3; round++) {
        SYNC_IF(ORDERED);
        if (round)
            sum += s[(t + 32) % N];
        __syncthreads();
        s[t] = p[t] + round;
    }
    q[t] = sum;
}
#endif

#ifndef PAIRS_ONLY
typedef void kernel(int *, int *);
static const struct pair { const char *name; kernel *racy, *ordered, *warm[2]; } pairs[] = {
#define X(name) ENTRY(name)
#ifdef MORE
    X(no_barrier) X(overwritten) X(barrier_misplaced) X(reused) X(reduction_tail) X(copied) X(added) X(named_barrier) X(loop_head)
    MORE
#else
    X(no_barrier) X(overwritten) X(barrier_misplaced) X(reused) X(flag) X(not_released) X(not_acquired) X(same_word)
        X(atomic_and_store) X(reduction_tail) X(copied) X(added) X(named_barrier) X(last_block) X(locked) X(loop_head)
#endif
};

// The names of those to run, such as flag or flag_ordered; without any, all.
static bool wanted(int argc, char **argv, const char *name, const char *end)
{
    bool any = argc < 2;
    for (int i = 1; i < argc; i++) {
        size_t n = strlen(name);
        any |= !strncmp(argv[i], name, n) && !strcmp(argv[i] + n, end);
    }
    return any;
}

// Code has been there, of one thread at a time, when all run.  Not where that would wait for others.
static void warm_up(const struct pair *x, int ordered, int *p, int *q)
{
    for (int some : { 1, -1, (int)N }) {
        cudaMemcpy(p + 3 * N, &some, sizeof some, cudaMemcpyHostToDevice);
        if (some < N && strcmp(x->name, "phases"))
            x->warm[ordered]<<<1, N, N * sizeof(int)>>>(p, q);
        cudaDeviceSynchronize();
    }
}

int main(int argc, char **argv)
{
    int *p, *q;
    bool warm = argc > 1 && !strcmp(argv[1], "warm");
    cudaMalloc(&p, 4 * N * sizeof *p);
    cudaMalloc(&q, 4 * N * sizeof *q);
    for (const auto &x : pairs) {
        for (int ordered = 0; ordered < 2; ordered++) {
            if (!wanted(argc - warm, argv + warm, x.name, ordered ? "_ordered" : ""))
                continue;
            cudaMemset(p, 0, 4 * N * sizeof *p);
            cudaMemset(q, 0, 4 * N * sizeof *q);
            if (warm)
                warm_up(&x, ordered, p, q);
            (warm ? x.warm[ordered] : ordered ? x.ordered : x.racy)<<<2, N, N * sizeof(int)>>>(p, q);
            cudaError_t error = cudaDeviceSynchronize();
            printf("ran %s%s%s\n", x.name, ordered ? "_ordered" : "", error ? ": error" : "");
        }
    }
    return 0;
}
#endif
