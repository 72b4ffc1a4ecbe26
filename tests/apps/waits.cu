// Threads that wait for each other, pattern by pattern (docs/waiting.md has the table): whoever waits, those it waits for go on.
// `waits NAME...` runs those alone; a pattern that does not end within the time is reported by name.
// needs: -arch=sm_80
// variants: shared debug
// bytes: vary, lanes take locks in any order
// races: words of shared memory, volatile but not atomic, are flags
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <csignal>
#include <cuda/atomic>
#include <cuda/barrier>
#include <unistd.h>
#include <vector>

/* A pattern has `cells`, all 0 before, and tells in out[] of each thread of the grid what it saw. */
enum { CELLS = 4096, SECONDS = 60 };

static __device__ int thread()
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

/* ---- Locks that each lane takes for itself */

__global__ void ticket_lock(int *cells, int *out)
{
    volatile int *serving = cells + 1, *count = cells + 2;
    int mine = atomicAdd(cells, 1);
    while (*serving != mine)
        ;
    __threadfence();
    out[thread()] = (*count)++ == mine;
    __threadfence();
    *serving = mine + 1;
}

__global__ void ticket_lock_shared(int *, int *out)
{
    __shared__ int next, serving, count;
    if (threadIdx.x == 0)
        next = serving = count = 0;
    __syncthreads();
    cuda::atomic_ref<int, cuda::thread_scope_block> now(serving);
    int mine = atomicAdd(&next, 1);
    while (now.load(cuda::memory_order_acquire) != mine)
        ;
    out[thread()] = count++ == mine;
    now.store(mine + 1, cuda::memory_order_release);
}

/* As often as the lane says: the loop of the tries and that of the times have one head. */
__global__ void lock_again(int *cells, int *out)
{
    volatile int *count = cells + 1;
    int times = threadIdx.x % 3;
    for (int i = 0; i < times; i++)
        for (bool done = false; !done;)
            if (atomicCAS(cells, 0, 1) == 0) {
                __threadfence();
                *count = *count + 1;
                __threadfence();
                *(volatile int *)cells = 0;
                done = true;
            }
    out[thread()] = *count >= times;
}

/* libcu++'s, by references through many layers in code that is not optimised. */
__global__ void lock_layers(int *cells, int *out)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> lock(cells[0]), other(cells[1]);
    volatile int *count = cells + 2;
    while (lock.exchange(1, cuda::memory_order_acquire))
        ;
    int before = *count;
    *count = before + 1;
    lock.store(0, cuda::memory_order_release);
    int free;
    do
        free = 0;
    while (!other.compare_exchange_weak(free, 1, cuda::memory_order_acquire));
    count[1] = count[1] + 1;
    other.store(0, cuda::memory_order_release);
    out[thread()] = before >= 0 && before < gridDim.x * blockDim.x;
}

/* Looks before it tries. */
__global__ void test_and_set(int *cells, int *out)
{
    volatile int *lock = cells, *count = cells + 1;
    do
        while (*lock)
            ;
    while (atomicExch(cells, 1));
    __threadfence();
    int before = *count;
    *count = before + 1;
    __threadfence();
    *lock = 0;
    out[thread()] = before >= 0 && before < gridDim.x * blockDim.x;
    __threadfence();
    atomicAdd(cells + 2, 1);
    while (((volatile int *)cells)[2] != gridDim.x * blockDim.x) /* all threads have had it */
        __nanosleep(100);
    __threadfence();
    out[thread()] += *count == gridDim.x * blockDim.x ? 0 : 100;
}

__global__ void test_and_set_shared(int *, int *out)
{
    __shared__ int lock, count;
    if (threadIdx.x == 0)
        lock = count = 0;
    __syncthreads();
    bool done = false;
    while (!done)
        if (atomicCAS(&lock, 0, 1) == 0) {
            __threadfence_block();
            *(volatile int *)&count = *(volatile int *)&count + 1;
            __threadfence_block();
            atomicExch(&lock, 0);
            done = true;
        }
    __syncthreads();
    out[thread()] = count == blockDim.x;
}

static __device__ void lock_take(int *lock)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> l(*lock);
    while (atomicExch(lock, 1))
        while (l.load(cuda::memory_order_relaxed))
            __nanosleep(20);
    __threadfence();
}

static __device__ void lock_give(int *lock)
{
    cuda::atomic_ref<int, cuda::thread_scope_device>(*lock).store(0, cuda::memory_order_release);
}

/* Two of eight locks each, always the lower one first: dining philosophers. */
__global__ void two_locks(int *cells, int *out)
{
    int a = thread() % 8, b = (a + 1) % 8, low = min(a, b), high = max(a, b);
    int *meals = cells + 64;
    for (int i = 0; i < 3; i++) {
        lock_take(&cells[low]);
        lock_take(&cells[high]);
        meals[a]++;
        meals[b]++;
        lock_give(&cells[high]);
        lock_give(&cells[low]);
    }
    int *done = cells + 128;
    __threadfence();
    atomicAdd(done, 1);
    while (cuda::atomic_ref<int>(*done).load() != gridDim.x * blockDim.x)
        __nanosleep(100);
    int sum = 0;
    for (int i = 0; i < 8; i++)
        sum += ((volatile int *)meals)[i];
    out[thread()] = sum == 6 * gridDim.x * blockDim.x;
}

/* Every fourth lane writes, the others read what must be whole. */
__global__ void readers_writer(int *cells, int *out)
{
    volatile int *state = cells, *a = cells + 1, *b = cells + 2; /* state: readers, or -1 */
    bool good = true;
    for (int i = 0; i < 3; i++)
        if (threadIdx.x % 4 == 0) {
            while (atomicCAS((int *)state, 0, -1) != 0)
                ;
            __threadfence();
            int v = *a + 1;
            *a = v;
            *b = v;
            __threadfence();
            *state = 0;
        } else {
            for (;;) {
                int now = *state;
                if (now >= 0 && atomicCAS((int *)state, now, now + 1) == now)
                    break;
            }
            __threadfence();
            good &= *a == *b;
            __threadfence();
            atomicSub((int *)state, 1);
        }
    out[thread()] = good;
}

/* ---- Two lanes of a warp */

__global__ void ping_pong_volatile(int *cells, int *out)
{
    int lane = threadIdx.x & 31, turns = 0;
    volatile int *turn = cells + thread() / 32;
    if (lane < 2)
        for (int i = 0; i < 5; i++) {
            while (*turn != lane)
                ;
            turns++;
            *turn = 1 - lane;
        }
    out[thread()] = lane < 2 ? turns == 5 : 1;
}

/* Lanes 5 and 20, as std::atomic does it, by several accesses a turn. */
__global__ void ping_pong_acquire(int *cells, int *out)
{
    int lane = threadIdx.x & 31;
    cuda::atomic_ref<int, cuda::thread_scope_device> turn(cells[thread() / 32 * 2]);
    int *sum = cells + thread() / 32 * 2 + 1;
    if (lane == 5 || lane == 20) {
        for (int i = 0; i < 5; i++) {
            while (turn.load(cuda::memory_order_acquire) % 2 != (lane == 20))
                ;
            *sum += lane;
            turn.fetch_add(1, cuda::memory_order_release);
        }
        while (turn.load(cuda::memory_order_acquire) != 10)
            ;
        out[thread()] = *sum == 125;
    } else
        out[thread()] = 1;
}

__global__ void ping_pong_shared(int *, int *out)
{
    __shared__ volatile int turn[32];
    int lane = threadIdx.x & 31, sum = 0;
    turn[threadIdx.x / 32] = 0;
    __syncthreads();
    for (int i = 0; i < 3; i++) { /* all the lanes in turn */
        while (turn[threadIdx.x / 32] != lane)
            ;
        sum += lane;
        turn[threadIdx.x / 32] = (lane + 1) % 32;
    }
    out[thread()] = sum == 3 * lane;
}

/* ---- Flags */

/* As sparse triangular solvers without levels: row r needs the flags of rows 0, 3, 6, ..., one after the other.  In each pair of
 * warps the first has a row for each lane, the second one row for all of its lanes, which is the next. */
__global__ void solver(int *cells, int *out)
{
    volatile int *flag = cells;
    int warp = thread() / 32, lane = threadIdx.x & 31, row = warp / 2 * 33 + (warp % 2 ? 32 : lane), sum = 0;
    if (warp % 2) {
        for (int j = 3 * lane; j < row;)
            if (flag[j] == 1) {
                __threadfence();
                sum++;
                j += 96;
            }
        sum = __reduce_add_sync(~0u, sum);
    } else {
        for (int j = 0; j < row;)
            if (flag[j] == 1) {
                __threadfence();
                sum++;
                j += 3;
            }
    }
    out[thread()] = sum == (row + 2) / 3;
    __threadfence();
    if (warp % 2 == 0 || lane == 0)
        flag[row] = 1;
}

/* Plain loads that nvcc leaves in the loop: with a clock and a volatile load, with a fence, with a nap. */
__global__ void plain_clock(int *cells, int *out)
{
    volatile __shared__ int one;
    one = 1;
    __syncthreads();
    long long t;
    do {
        t = clock64();
    } while (one != cells[blockIdx.x] + (blockIdx.x == 0));
    out[thread()] = t != 0;
    __syncthreads();
    if (!threadIdx.x && blockIdx.x + 1 < gridDim.x)
        atomicAdd(&cells[blockIdx.x + 1], 1);
}

__global__ void plain_fence(int *cells, int *out)
{
    int *flag = cells + thread() / 32;
    if ((threadIdx.x & 31) == 31) {
        atomicExch(flag, 1);
        out[thread()] = 1;
    } else {
        do {
            __threadfence();
        } while (!*flag);
        out[thread()] = *flag;
    }
}

__global__ void plain_nap(int *cells, int *out)
{
    int *flag = cells + thread() / 32;
    if ((threadIdx.x & 31) == 0) {
        atomicExch(flag, 1);
        out[thread()] = 1;
    } else {
        do {
            __nanosleep(20);
        } while (!*flag);
        out[thread()] = *flag;
    }
}

__global__ void first_to_others(int *cells, int *out)
{
    volatile int *flag = cells + thread() / 32;
    if ((threadIdx.x & 31) == 0) {
        cells[64 + thread() / 32] = 7;
        __threadfence();
        *flag = 1;
        out[thread()] = 1;
    } else {
        while (!*flag)
            ;
        __threadfence();
        out[thread()] = ((volatile int *)cells)[64 + thread() / 32] == 7;
    }
}

__global__ void last_to_first(int *cells, int *out)
{
    volatile int *flag = cells + thread() / 32;
    if ((threadIdx.x & 31) == 0)
        while (!*flag)
            ;
    if ((threadIdx.x & 31) == 31)
        *flag = 1;
    out[thread()] = (threadIdx.x & 31) == 0 ? *flag : 1;
}

/* Each thread waits for the one before it, across warps and blocks. */
__global__ void chain(int *cells, int *out)
{
    volatile int *c = cells;
    int t = thread();
    if (t > 0)
        while (!c[t - 1])
            ;
    __threadfence();
    c[t] = t > 0 ? c[t - 1] + 1 : 1;
    out[t] = c[t] == t + 1;
}

/* ... and for the one after it. */
__global__ void chain_back(int *cells, int *out)
{
    int t = threadIdx.x, n = blockDim.x;
    cuda::atomic_ref<int, cuda::thread_scope_block> mine(cells[blockIdx.x * n + t]), next(cells[blockIdx.x * n + (t + 1) % n]);
    int before = 0;
    if (t < n - 1)
        while (!(before = next.load(cuda::memory_order_acquire)))
            ;
    mine.store(before + 1, cuda::memory_order_release);
    out[thread()] = mine.load() == n - t;
}

__global__ void back_off(int *cells, int *out)
{
    volatile int *flag = cells + thread() / 32;
    int lane = threadIdx.x & 31, ns = 8;
    while (*flag != 31 - lane) {
        __nanosleep(ns);
        ns = min(2 * ns, 256);
    }
    __threadfence();
    *flag = 32 - lane;
    out[thread()] = 1;
}

/* The lanes come together again where they ask for it. */
__global__ void then_together(int *cells, int *out)
{
    volatile int *flag = cells + thread() / 32;
    int lane = threadIdx.x & 31;
    while (*flag != lane)
        ;
    *flag = lane + 1;
    __syncwarp();
    int sum = __reduce_add_sync(~0u, *flag == 32 ? lane : 1000);
    sum += __shfl_sync(~0u, lane, 31 - lane) - (31 - lane);
    __syncthreads();
    out[thread()] = sum == 496;
}

__device__ __noinline__ void wait_for(volatile int *p, int v)
{
    while (*p != v)
        ;
    __threadfence();
}

__global__ void in_function(int *cells, int *out)
{
    volatile int *flag = cells + thread() / 32;
    int lane = threadIdx.x & 31;
    wait_for(flag, 31 - lane);
    *flag = 32 - lane;
    wait_for(flag, 32);
    out[thread()] = *flag == 32;
}

/* Deep in loops that lanes leave at different times. */
__global__ void nested(int *cells, int *out)
{
    volatile int *flag = cells + thread() / 32;
    int lane = threadIdx.x & 31, n = 0;
    for (int i = 0; i <= lane; i++)
        for (int j = i; j < 3; j++)
            if ((i + j + lane) % 2) {
                while (*flag < 0)
                    ;
                if (lane == i)
                    atomicAdd((int *)flag, 1);
                n++;
            }
    for (int i = 0; i < 2; i++)
        if (lane % 4 != 3) {
            while (((volatile int *)cells)[64 + thread() / 32 * 2 + i] != 8)
                ;
            n += 100;
        } else
            atomicAdd(cells + 64 + thread() / 32 * 2 + i, 1);
    int expected = lane % 4 != 3 ? 200 : 0;
    for (int i = 0; i <= lane; i++)
        for (int j = i; j < 3; j++)
            expected += (i + j + lane) % 2;
    out[thread()] = n == expected;
}

/* Lane t's round i needs the neighbour's round i - 1, or i: a wave front through the warp's and the block's lanes. */
__global__ void rounds(int *cells, int *out)
{
    volatile int *at = cells + blockIdx.x * blockDim.x;
    int t = threadIdx.x;
    bool good = true;
    for (int i = 1; i <= 4; i++) {
        if (t > 0)
            while (at[t - 1] < i)
                ;
        if (t + 1 < blockDim.x)
            while (at[t + 1] < i - 1)
                ;
        good &= at[t] == i - 1;
        at[t] = i;
    }
    out[thread()] = good;
}

/* One half of a warp waits for the other, each together. */
__global__ void half_warps(int *cells, int *out)
{
    volatile int *flag = cells + thread() / 32;
    int half = threadIdx.x / 16 % 2;
    unsigned mask = half ? 0xffff0000u : 0xffffu;
    for (int i = 0; i < 3; i++) {
        while (!__all_sync(mask, *flag == 2 * i + half))
            ;
        __syncwarp(mask);
        if (threadIdx.x % 16 == 3)
            *flag = 2 * i + half + 1;
        __syncwarp(mask);
    }
    out[thread()] = __popc(__ballot_sync(mask, 1)) == 16;
}

/* ---- Warps of a block */

__global__ void warps_volatile(int *, int *out)
{
    __shared__ volatile int ring[4][32], head, tail;
    int lane = threadIdx.x & 31, sum = 0;
    if (threadIdx.x == 0)
        head = tail = 0;
    __syncthreads();
    if (threadIdx.x < 32)
        for (int i = 0; i < 10; i++) {
            while (i - tail >= 4)
                ;
            ring[i % 4][lane] = i + lane;
            __threadfence_block();
            __syncwarp();
            if (lane == 0)
                head = i + 1;
            __syncwarp();
        }
    else if (threadIdx.x < 64)
        for (int i = 0; i < 10; i++) {
            while (head <= i)
                ;
            __threadfence_block();
            sum += ring[i % 4][lane];
            __syncwarp();
            if (lane == 0)
                tail = i + 1;
            __syncwarp();
        }
    out[thread()] = threadIdx.x / 32 == 1 ? sum == 45 + 10 * lane : 1;
}

#pragma nv_diag_suppress static_var_with_dynamic_init
__global__ void warps_mbarrier(int *, int *out)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> full[2], empty[2];
    __shared__ int slot[2][32];
    int lane = threadIdx.x & 31, sum = 0;
    if (threadIdx.x == 0)
        for (int i = 0; i < 2; i++) {
            init(&full[i], 64);
            init(&empty[i], 64);
        }
    __syncthreads();
    if (threadIdx.x < 32) {
#pragma unroll 1
        for (int i = 0; i < 6; i++) {
            empty[i % 2].arrive_and_wait();
            slot[i % 2][lane] = i * lane;
            (void)full[i % 2].arrive();
        }
    } else if (threadIdx.x < 64) {
        for (int i = 0; i < 2; i++)
            (void)empty[i].arrive();
#pragma unroll 1
        for (int i = 0; i < 6; i++) {
            full[i % 2].arrive_and_wait();
            sum += slot[i % 2][31 - lane];
            if (i < 4)
                (void)empty[i % 2].arrive();
        }
    }
    out[thread()] = threadIdx.x / 32 == 1 ? sum == 15 * (31 - lane) : 1;
}

template <int ID> __device__ void bar_sync(int n)
{
    asm volatile("bar.sync %0, %1;" :: "n"(ID), "r"(n) : "memory");
}

template <int ID> __device__ void bar_arrive(int n)
{
    asm volatile("bar.arrive %0, %1;" :: "n"(ID), "r"(n) : "memory");
}

/* Lanes come one by one out of a lock to barriers at which their warp arrives once. */
__global__ void lock_then_named(int *cells, int *out)
{
    __shared__ int slot[128];
    int t = threadIdx.x, warp = t / 32, sum = 0;
    while (atomicExch(cells, 1))
        ;
    atomicExch(cells, 0);
    for (int i = 0; i < 3; i++)
        if (warp & 1) {
            if (warp < 2)
                bar_sync<1>(64);
            else
                bar_sync<2>(64);
            sum += slot[t - 32];
            if (warp < 2)
                bar_arrive<3>(64);
            else
                bar_arrive<4>(64);
        } else {
            slot[t] = t + i;
            if (warp < 2) {
                bar_arrive<1>(64);
                bar_sync<3>(64);
            } else {
                bar_arrive<2>(64);
                bar_sync<4>(64);
            }
        }
    out[thread()] = sum == (warp & 1 ? 3 * (t - 32) + 3 : 0);
}

__global__ void warps_named(int *, int *out)
{
    __shared__ int slot[32];
    int lane = threadIdx.x & 31, sum = 0;
    if (threadIdx.x < 32)
        for (int i = 0; i < 6; i++) {
            if (i)
                bar_sync<2>(64);
            slot[lane] = i * lane;
            bar_arrive<1>(64);
        }
    else if (threadIdx.x < 64)
        for (int i = 0; i < 6; i++) {
            bar_sync<1>(64);
            sum += slot[31 - lane];
            if (i < 5)
                bar_arrive<2>(64);
        }
    out[thread()] = threadIdx.x / 32 == 1 ? sum == 15 * (31 - lane) : 1;
}

/* The producer ends after its last piece, and the others go on to barriers without it. */
__global__ void producer_ends(int *, int *out)
{
    __shared__ int slot[32], sums[32];
    __shared__ volatile int ready;
    int lane = threadIdx.x & 31;
    if (threadIdx.x == 0)
        ready = 0;
    __syncthreads();
    out[thread()] = 1;
    if (threadIdx.x < 32) {
        slot[lane] = lane;
        __threadfence_block();
        __syncwarp();
        if (lane == 0)
            ready = 1;
        return;
    }
    while (!ready)
        ;
    __threadfence_block();
    sums[threadIdx.x / 32] = slot[5];
    __syncthreads();
    out[thread()] = sums[1] == 5 && sums[(blockDim.x - 1) / 32] == 5;
}

/* Barriers of the whole block when some of its warps have ended: before they come, and while others wait. */
__global__ void after_ended(int *, int *out)
{
    __shared__ int seen[32];
    __shared__ volatile int late;
    int warp = threadIdx.x / 32, n = (int)(blockDim.x + 31) / 32;
    if (threadIdx.x == 0)
        late = 0;
    seen[warp] = 0;
    __syncthreads();
    out[thread()] = 1;
    if (warp == n - 1)
        return;
    if (warp == n - 2) { /* the others wait by then */
        while (late != n - 2)
            ;
        return;
    }
    if (threadIdx.x % 32 == 0)
        atomicAdd((int *)&late, 1);
    seen[warp] = 1;
    asm volatile("bar.sync 1;" ::: "memory");
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += seen[i];
    __syncthreads();
    seen[warp] = 2;
    asm volatile("bar.sync 3;" ::: "memory");
    for (int i = 0; i < n; i++)
        sum += seen[i];
    int all;
    asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %1, 0; bar.red.and.pred q, 2, p; selp.u32 %0, 1, 0, q; }"
                 : "=r"(all)
                 : "r"(sum));
    out[thread()] = sum == 3 * (n - 2) && all == 1;
}

/* The warps of a wave64 wait for each other: each pair both ways. */
__global__ void other_warp(int *cells, int *out)
{
    volatile int *flag = cells + thread() / 64 * 2;
    int warp = threadIdx.x / 32 % 2;
    for (int i = 1; i <= 3; i++)
        if (warp == 0) {
            flag[0] = i;
            while (flag[1] != i)
                ;
        } else {
            while (flag[0] != i)
                ;
            flag[1] = i;
        }
    __syncthreads();
    out[thread()] = flag[0] == 3 && flag[1] == 3;
}

/* ... after no branch, by lane 0 alone, and in a loop with votes. */
__global__ void other_warp_votes(int *cells, int *out)
{
    volatile int *flag = cells + thread() / 64 * 4;
    int warp = threadIdx.x / 32 % 2, lane = threadIdx.x & 31;
    while (!__any_sync(~0u, flag[warp] || warp == 1))
        ;
    if (lane == 0) {
        flag[1 - warp] = 1;
        while (!flag[warp])
            ;
    }
    __syncwarp();
    while (__ballot_sync(~0u, flag[warp] == 0))
        __nanosleep(10);
    if (warp == 0 && lane == 0)
        flag[2] = 1;
    while (!flag[2])
        ;
    out[thread()] = flag[0] + flag[1] == 2;
}

__global__ void other_warp_shared(int *, int *out)
{
    __shared__ volatile int count;
    if (threadIdx.x == 0)
        count = 0;
    __syncthreads();
    int warp = threadIdx.x / 32, n = blockDim.x / 32;
    while (count != n - 1 - warp)
        ;
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        count = n - warp;
    out[thread()] = 1;
}

/* ---- Blocks */

__global__ void block_chain(int *cells, int *out)
{
    volatile int *done = cells;
    __shared__ int before;
    if (threadIdx.x == 0) {
        if (blockIdx.x)
            while (!done[blockIdx.x - 1])
                ;
        __threadfence();
        before = blockIdx.x ? done[blockIdx.x - 1] : 0;
    }
    __syncthreads();
    out[thread()] = before == blockIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        done[blockIdx.x] = before + 1;
    }
}

/* Thread 0 takes a lock for its block, whose rows are warps, and gives it back when all are done. */
__global__ void block_lock(int *cells, int *out)
{
    volatile int *count = cells + 1;
    int t = threadIdx.y * 32 + threadIdx.x, n = blockDim.y * 32;
    if (t == 0) {
        while (atomicCAS(cells, 0, 1) != 0)
            __nanosleep(20);
        __threadfence();
    }
    __syncthreads();
    int before = __shfl_xor_sync(~0u, *count, 1);
    __syncthreads();
    if (t == 0) {
        *count = before + 1;
        __threadfence();
        atomicExch(cells, 0);
    }
    out[blockIdx.x * n + t] = before >= 0 && before < (int)gridDim.x;
}

/* Thread 0 waits, by exchanges, for another of its warp. */
__global__ void lane_waits(int *cells, int *out)
{
    int t = threadIdx.y * 32 + threadIdx.x, *flag = cells + blockIdx.x;
    if (t == 0) {
        while (atomicCAS(flag, 1, 2) != 1)
            ;
    } else if (t == 1) {
        atomicExch(flag, 1);
    }
    __syncthreads();
    out[blockIdx.x * blockDim.y * 32 + t] = *(volatile int *)flag == 2;
}

/* Of as many blocks as fit at once. */
__global__ void grid_barrier(int *cells, int *out)
{
    volatile int *round = cells + 1;
    int n = gridDim.x;
    bool good = true;
    for (int i = 0; i < 3; i++) {
        cells[64 + thread()] = i + 1;
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            if (atomicAdd(cells, 1) == n * (i + 1) - 1)
                *round = i + 1;
            else
                while (*round <= i)
                    ;
            __threadfence();
        }
        __syncthreads();
        good &= ((volatile int *)cells)[64 + (thread() + blockDim.x) % (n * blockDim.x)] >= i + 1;
    }
    out[thread()] = good;
}

/* Scan with look-back: a warp looks at the blocks before its own, together. */
__global__ void look_back(int *cells, int *out)
{
    volatile unsigned *state = (volatile unsigned *)cells; /* 1 << 30: the block's own; 2 << 30: with all before it */
    __shared__ unsigned prefix;
    int lane = threadIdx.x & 31, b = blockIdx.x;
    if (threadIdx.x < 32) {
        if (lane == 0)
            state[b] = (b ? 1u << 30 : 2u << 30) + blockDim.x;
        unsigned sum = 0;
        for (int at = b - 1; at >= 0; at -= 32) {
            unsigned v;
            do
                v = at - lane >= 0 ? state[at - lane] : 2u << 30;
            while (__any_sync(~0u, v >> 30 == 0));
            unsigned whole = __ballot_sync(~0u, v >> 30 == 2);
            v = !whole || lane <= __ffs(whole) - 1 ? v & 0x3fffffff : 0;
            sum += __reduce_add_sync(~0u, v);
            if (whole)
                break;
        }
        if (lane == 0) {
            state[b] = (2u << 30) + sum + blockDim.x;
            prefix = sum;
        }
    }
    __syncthreads();
    out[thread()] = prefix == b * blockDim.x;
}

/* Every thread puts in two and takes out two; a slot is a sequence number and a value. */
__global__ void queue(int *cells, int *out)
{
    enum { SLOTS = 32 };
    int *head = cells, *tail = cells + 1, *value = cells + 256, sum = 0;
    cuda::atomic_ref<int, cuda::thread_scope_device> done(cells[2]), total(cells[3]);
    for (int i = 0; i < 2; i++) {
        unsigned at = atomicAdd(tail, 1);
        cuda::atomic_ref<int, cuda::thread_scope_device> in(cells[64 + at % SLOTS]);
        while (in.load(cuda::memory_order_acquire) != 2 * (int)(at / SLOTS))
            ;
        value[at % SLOTS] = thread() + 1;
        in.store(2 * (int)(at / SLOTS) + 1, cuda::memory_order_release);
        at = atomicAdd(head, 1);
        cuda::atomic_ref<int, cuda::thread_scope_device> from(cells[64 + at % SLOTS]);
        while (from.load(cuda::memory_order_acquire) != 2 * (int)(at / SLOTS) + 1)
            __nanosleep(20);
        sum += value[at % SLOTS];
        from.store(2 * (int)(at / SLOTS) + 2, cuda::memory_order_release);
    }
    int n = gridDim.x * blockDim.x;
    total.fetch_add(sum);
    done.fetch_add(1);
    while (done.load() != n)
        __nanosleep(50);
    out[thread()] = total.load() == n * (n + 1);
}

/* Workers take tasks, and make new ones, until all have been done. */
__global__ void tasks(int *cells, int *out)
{
    volatile int *ready = cells + 64;
    int *made = cells, *taken = cells + 1, *done = cells + 2, n = 0;
    enum { TASKS = 400 };
    if (thread() == 0) {
        ready[0] = 1;
        atomicAdd(made, 1);
    }
    for (int at; (at = atomicAdd(taken, 1)) < TASKS; n++) {
        while (!ready[at])
            ;
        __threadfence();
        for (int i = 0; i < 2; i++) {
            int next = atomicAdd(made, 1);
            if (next < TASKS)
                ready[next] = 1;
        }
        atomicAdd(done, 1);
    }
    while (*(volatile int *)done < TASKS)
        ;
    out[thread()] = *(volatile int *)done == TASKS;
}

/* ---- Blocks that wait, a barrier in each round, for the one behind them */

static __device__ bool is_last()
{
    return blockIdx.x == gridDim.x - 1;
}

static __device__ void go_on(int *cells, int *out)
{
    out[thread()] = is_last() || *(volatile int *)(cells + blockIdx.x + 1);
    __syncthreads();
    if (threadIdx.x == 0)
        *(volatile int *)(cells + blockIdx.x) = 1;
}

/* Thread 0 looks, and tells the others by shared memory. */
__global__ void told(int *cells, int *out)
{
    __shared__ int seen;
    for (bool go = is_last(); !go; go = seen) {
        __syncthreads();
        if (threadIdx.x == 0)
            seen = *(volatile int *)(cells + blockIdx.x + 1);
        __syncthreads();
    }
    go_on(cells, out);
}

/* One thread of the second warp does, and says so when it is time only. */
__global__ void told_when(int *cells, int *out)
{
    __shared__ bool seen[2];
    seen[threadIdx.x & 1] = is_last();
    __syncthreads();
    while (!seen[1]) {
        __syncthreads();
        if (threadIdx.x == 37 && atomicAdd(cells + blockIdx.x + 1, 0))
            seen[threadIdx.x & 1] = true;
        __syncthreads();
    }
    go_on(cells, out);
}

/* By a load that is neither volatile nor atomic, and a fence. */
__global__ void told_fence(int *cells, int *out)
{
    __shared__ int seen;
    for (bool go = is_last(); !go; go = seen) {
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            seen = __ldcg(cells + blockIdx.x + 1);
        }
        __syncthreads();
    }
    go_on(cells, out);
}

/* All lanes write for the next block, and the first one tells it so, behind a fence, without a barrier of the warp. */
__global__ void told_by_one(int *cells, int *out)
{
    volatile int *sums = cells + 256;
    int b = blockIdx.x, t = threadIdx.x, x = 1;
    for (int d = 1; d < 32; d *= 2) {
        int other = __shfl_up_sync(~0u, x, d);
        x += t >= d ? other : 0;
    }
    if (b > 0) {
        while (atomicAdd(cells + b - 1, 0) == 0)
            ;
        x += sums[32 * b - 1];
    }
#pragma unroll 1
    for (int i = 0; i < 320; i++) /* back to where it was, which takes time */
        x = x << 1 | unsigned(x) >> 31;
    sums[32 * b + t] = x;
    if (t == 0) {
        __threadfence();
        atomicAdd(cells + b, 1);
    }
    out[thread()] = x == 32 * b + t + 1;
}

/* All look, and each warp has looked at something else before, other times than the others. */
__global__ void all_look(int *cells, int *out)
{
    volatile int *tries = out + thread();
    for (int i = 0; i < (int)threadIdx.x / 32 && *tries == i; i++)
        *tries = i + 1;
    bool go;
    do {
        go = is_last() || *(volatile int *)(cells + blockIdx.x + 1);
        __syncwarp();
    } while (!__syncthreads_and(go));
    go_on(cells, out);
}

struct pattern {
    const char *name;
    void (*kernel)(int *, int *);
    unsigned blocks, threads;
    bool rows; /* of 32 threads each */
};

static const pattern patterns[] = {
#define P(name, blocks, threads) { #name, name, blocks, threads, false }
#define ROWS(name, blocks, threads) { #name, name, blocks, threads, true }
    P(ticket_lock, 3, 64), P(ticket_lock_shared, 2, 96), P(test_and_set, 2, 64), P(test_and_set_shared, 2, 64),
    P(two_locks, 2, 64), P(lock_again, 2, 64), P(lock_layers, 2, 64), P(lock_then_named, 2, 128),
    P(readers_writer, 2, 64), P(ping_pong_volatile, 2, 96), P(ping_pong_acquire, 2, 96), P(ping_pong_shared, 1, 64),
    P(solver, 2, 128), P(plain_clock, 20, 64), P(plain_fence, 2, 64), P(plain_nap, 2, 64), P(first_to_others, 2, 128),
    P(last_to_first, 2, 128), P(chain, 3, 80), P(chain_back, 2, 96), P(back_off, 1, 64), P(then_together, 2, 64),
    P(in_function, 1, 64), P(nested, 1, 64), P(rounds, 1, 96), P(half_warps, 1, 64), P(warps_volatile, 2, 64),
    P(warps_mbarrier, 2, 64),
    P(warps_named, 2, 64), P(producer_ends, 1, 160), P(after_ended, 2, 192), P(other_warp, 2, 128), P(other_warp_votes, 2, 128),
    P(other_warp_shared, 2, 128), P(block_chain, 20, 64), P(grid_barrier, 4, 64), P(look_back, 40, 64), P(queue, 2, 64),
    P(tasks, 2, 64), P(told, 20, 128), P(told_when, 20, 128), P(told_fence, 20, 128), P(told_by_one, 120, 32),
    P(all_look, 20, 256),
    ROWS(block_lock, 20, 128), ROWS(lane_waits, 2, 64),
#undef P
#undef ROWS
};

static const char *running;

static void late(int)
{
    char line[200];
    int n = std::snprintf(line, sizeof line, "%s: did not end in %d s\n", running, (int)SECONDS);
    if (write(1, line, (size_t)n) < 0)
        _exit(2);
    _exit(1);
}

static void run(const pattern *p)
{
    unsigned n = p->blocks * p->threads;
    std::vector<int> seen(n);
    int *cells, *out;
    running = p->name;
    alarm(SECONDS);
    CHECK(cudaMalloc(&cells, CELLS * sizeof(int)));
    CHECK(cudaMalloc(&out, n * sizeof(int)));
    CHECK(cudaMemset(cells, 0, CELLS * sizeof(int)));
    CHECK(cudaMemset(out, 0, n * sizeof(int)));
    p->kernel<<<p->blocks, p->rows ? dim3(32, p->threads / 32) : dim3(p->threads)>>>(cells, out);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(seen.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost));
    for (unsigned t = 0; t < n; t++)
        EXPECT(seen[t] == 1, "%s, thread %u: %d", p->name, t, seen[t]);
    CHECK(cudaFree(cells));
    CHECK(cudaFree(out));
    alarm(0);
}

int main(int argc, char **argv)
{
    std::signal(SIGALRM, late);
    for (const pattern &p : patterns) {
        bool asked = argc < 2;
        for (int i = 1; i < argc; i++)
            asked |= !std::strcmp(argv[i], p.name);
        if (asked)
            run(&p);
    }
    return check_done();
}
