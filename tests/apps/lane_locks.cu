// Lanes of one warp that take a lock one after another and wait for each other's flags: each lane makes progress by itself.
// bytes: vary, lanes take the lock in any order
// races: words of shared memory, volatile but not atomic, are flags
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <cuda/atomic>
#include <vector>

__global__ void in_turn(int *lock, volatile int *count, int *place, int *sums)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    while (atomicExch(lock, 1))
        ;
    __threadfence();
    place[t] = *count;
    *count = place[t] + 1;
    __threadfence();
    atomicExch(lock, 0);
    __syncwarp();
    int v = threadIdx.x & 31;
    for (int d = 16; d; d >>= 1)
        v += __shfl_xor_sync(~0u, v, d);
    sums[t] = v * 1000 + __syncthreads_count(place[t] & 1 || !(place[t] & 1));
}

/* The same with nothing after it. */
__global__ void and_end(int *lock, volatile int *count)
{
    while (atomicCAS(lock, 0, 1))
        ;
    __threadfence();
    *count = *count + 3;
    __threadfence();
    atomicExch(lock, 0);
}

/* A loop that begins with a warp operation, and lanes that take the lock in it a different number of times. */
__global__ void rounds(int *lock, volatile int *count, int *sums)
{
    int lane = threadIdx.x & 31, sum = 0, i = 0;
    do {
        sum += __popc(__ballot_sync(~0u, lane > i));
        if (lane > i) {
            while (atomicExch(lock, 1))
                ;
            __threadfence();
            *count = *count + 1;
            __threadfence();
            atomicExch(lock, 0);
        }
    } while (++i < 6);
    sums[threadIdx.x] = sum;
}

/* A barrier and what lanes tell each other right after it, all in one go after the lock. */
__global__ void told(int *lock, volatile int *count, int *sums)
{
    __shared__ int cell[256];
    int t = threadIdx.x;
    while (atomicExch(lock, 1))
        ;
    __threadfence();
    *count = *count + 1;
    cell[t] = t;
    __threadfence();
    atomicExch(lock, 0);
    __syncthreads();
    sums[t] = __shfl_sync(~0u, cell[blockDim.x - 1 - t], 31 - t % 32) * 1000 + __popc(__ballot_sync(~0u, cell[t ^ 1] & 1));
    asm volatile("bar.sync 1, %0;" :: "r"(blockDim.x) : "memory");
    sums[t] += *count * 1000000;
}

/* Lane i waits for lane i + 1. */
__global__ void backwards(int *out)
{
    __shared__ volatile int flag[256];
    int t = threadIdx.x, last = t == (int)blockDim.x - 1;
    flag[t] = last;
    __syncthreads();
    if (!last) {
        while (!flag[t + 1])
            ;
        __threadfence_block();
        flag[t] = flag[t + 1] + 1;
    }
    __syncthreads();
    out[t] = flag[t];
}

/* libcu++'s exchange and compare-and-swap: many functions deep, by references, where code is not optimised. */
__global__ void layers(int *lock, volatile int *count)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> one(*lock);
    while (one.exchange(1, cuda::memory_order_acquire))
        ;
    *count = *count + 1;
    one.store(0, cuda::memory_order_release);
    int free;
    do
        free = 0;
    while (!one.compare_exchange_weak(free, 1, cuda::memory_order_acquire));
    *count = *count + 1;
    one.store(0, cuda::memory_order_release);
}

int main()
{
    const int n = 192;
    Dev<int> lock(1), count(1), place(n), sums(n), d(n);
    std::vector<int> p(n), s(n), seen(n);
    lock.fill(0);
    count.fill(0);
    in_turn<<<3, n / 3>>>(lock, count, place, sums);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(p.data(), place, n * sizeof(int), cudaMemcpyDeviceToHost));
    sums.get(s.data());
    for (int t = 0; t < n; t++) {
        EXPECT(p[t] >= 0 && p[t] < n && !seen[p[t]]++, "thread %d had turn %d", t, p[t]);
        EXPECT(s[t] == 496 * 1000 + n / 3, "thread %d: %d", t, s[t]);
    }
    int total;
    and_end<<<3, n / 3>>>(lock, count);
    CHECK_LAUNCH();
    count.get(&total);
    EXPECT(total == 4 * n, "%d, expected %d", total, 4 * n);
    count.fill(0);
    rounds<<<1, n>>>(lock, count, sums);
    CHECK_LAUNCH();
    count.get(&total);
    sums.get(s.data());
    EXPECT(total == n / 32 * 171, "%d turns, expected %d", total, n / 32 * 171); /* 31 + 30 + ... + 26 */
    for (int t = 0; t < n; t++)
        EXPECT(s[t] == 171, "rounds, thread %d: %d", t, s[t]);
    count.fill(0);
    layers<<<1, n>>>(lock, count);
    CHECK_LAUNCH();
    count.get(&total);
    EXPECT(total == 2 * n, "layers: %d, expected %d", total, 2 * n);
    count.fill(0);
    told<<<1, n>>>(lock, count, sums);
    CHECK_LAUNCH();
    sums.get(s.data());
    for (int t = 0; t < n; t++)
        EXPECT(s[t] == n * 1000000 + (n - 1 - (t / 32 * 32 + 31 - t % 32)) * 1000 + 16, "told, thread %d: %d", t, s[t]);
    for (int m : {2, 32, 33, 64, 192}) {
        backwards<<<1, m>>>(d);
        CHECK_LAUNCH();
        d.get(s.data());
        for (int t = 0; t < m; t++)
            EXPECT(s[t] == m - t, "%d threads, thread %d: %d", m, t, s[t]);
    }
    return check_done();
}
