// What libcu++ and cooperative groups build from barriers in memory, atomics and masks: pipelines of copies, barriers, semaphores
// and latches with C++'s interface, reductions and scans of groups, groups by label.
// variants: shared static debug sm_80 sm_90
// needs: -arch=sm_80
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>

namespace cg = cooperative_groups;

enum { THREADS = 128, TILES = 8, BLOCKS = 32 };

// Two tiles in flight.  The buffer says nothing of its alignment, as is usual.
__global__ void pipelined(const float *in, float *out)
{
    __shared__ char odd;
    __shared__ float buffer[2][THREADS];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    cg::thread_block block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    float sum = 0;
    odd = 1;
    for (int tile = 0, next = 0; tile < TILES; tile++) {
        for (; next < TILES && next < tile + 2; next++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, buffer[next % 2], in + next * THREADS, cuda::aligned_size_t<16>(sizeof buffer[0]), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += buffer[tile % 2][THREADS - 1 - threadIdx.x] * odd;
        pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}

__global__ void arrived(int *out)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ int n;
    if (threadIdx.x == 0) {
        init(&barrier, blockDim.x);
        n = 5;
    }
    __syncthreads();
    auto token = barrier.arrive();
    barrier.wait(std::move(token));
    atomicAdd(&n, 1);
    barrier.arrive_and_wait();
    out[threadIdx.x] = n;
}

using semaphore = cuda::counting_semaphore<cuda::thread_scope_device, 4>;
using latch = cuda::latch<cuda::thread_scope_device>;
using counter = cuda::atomic<int, cuda::thread_scope_device>;

/* Lanes of each warp leave the barrier one after the other while the warp's others go on waiting at it. */
__global__ void dropped(int *out)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ int counts[96];
    int t = threadIdx.x;
    if (t == 0)
        init(&barrier, 96);
    counts[t] = 0;
    __syncthreads();
#pragma unroll 1
    for (int round = 0; round < 4; round++) {
        if (t % 4 == round) {
            counts[t] = -1;
            barrier.arrive_and_drop();
            break;
        }
        counts[t] += round + 1;
        barrier.arrive_and_wait();
        int last = counts[t / 4 * 4 + 3];
        barrier.arrive_and_wait();
        out[t * 4 + round] = last;
    }
}

__global__ void make(semaphore *turns, latch *all, counter *inside)
{
    new (turns) semaphore(4);
    new (all) latch(BLOCKS);
    new (&inside[0]) counter(0);
    new (&inside[1]) counter(0);
}

// inside[0]: who holds a turn; inside[1]: the most that ever did.
__global__ void in_turns(semaphore *turns, latch *all, counter *inside, int *out)
{
    if (threadIdx.x != 0)
        return;
    turns->acquire();
    inside[1].fetch_max(inside[0].fetch_add(1) + 1);
    inside[0].fetch_sub(1);
    turns->release();
    all->count_down();
    out[blockIdx.x] = blockIdx.x < 4 ? 1 : all->try_wait() || inside[1].load() <= 4;
}

__global__ void groups(int *out)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int t = threadIdx.x, *row = out + t * 6;
    row[0] = cg::reduce(warp, t, cg::plus<int>());
    row[1] = cg::exclusive_scan(warp, t, cg::plus<int>());
    row[2] = cg::inclusive_scan(warp, t ^ 5, cg::greater<int>());
    row[3] = -1;
    if (t % 3 == 0) {
        auto some = cg::coalesced_threads();
        row[3] = cg::reduce(some, t, cg::less<int>()) * 100 + some.size();
    }
    auto alike = cg::labeled_partition(warp, t % 5);
    row[4] = alike.size() * 100 + alike.thread_rank();
    auto half = cg::binary_partition(warp, t % 4 == 1);
    row[5] = cg::reduce(half, t, cg::bit_xor<int>());
}

static void expect_pipelined(void)
{
    float in[TILES * THREADS], out[THREADS];
    for (int i = 0; i < TILES * THREADS; i++)
        in[i] = (float)(i * 7 % 100);
    Dev<float> from(in, TILES * THREADS), to(THREADS);
    pipelined<<<1, THREADS>>>(from, to);
    CHECK_LAUNCH();
    to.get(out);
    for (int t = 0; t < THREADS; t++) {
        float want = 0;
        for (int tile = 0; tile < TILES; tile++)
            want += in[tile * THREADS + THREADS - 1 - t];
        EXPECT(out[t] == want, "thread %d: %g, not %g", t, out[t], want);
    }
}

static void expect_counted(void)
{
    int n[96], ended[BLOCKS];
    Dev<int> out(96), done(BLOCKS);
    arrived<<<1, 96>>>(out);
    CHECK_LAUNCH();
    out.get(n);
    for (int t = 0; t < 96; t++)
        EXPECT(n[t] == 5 + 96, "thread %d: %d", t, n[t]);
    semaphore *turns;
    latch *all;
    counter *inside;
    CHECK(cudaMalloc(&turns, 256));
    CHECK(cudaMalloc(&all, 256));
    CHECK(cudaMalloc(&inside, 256));
    make<<<1, 1>>>(turns, all, inside);
    in_turns<<<BLOCKS, 32>>>(turns, all, inside, done);
    CHECK_LAUNCH();
    done.get_unordered(ended);
    for (int b = 0; b < BLOCKS; b++)
        EXPECT(ended[b], "block %d", b);
}

static void expect_groups(void)
{
    int rows[64 * 6];
    Dev<int> out(64 * 6);
    groups<<<1, 64>>>(out);
    CHECK_LAUNCH();
    out.get(rows);
    for (int t = 0; t < 64; t++) {
        int first = t & ~31, want[6] = { 0, 0, -1, -1, 0, 0 }, least = 1 << 30, some = 0, alike = 0, before = 0;
        for (int k = first; k < first + 32; k++) {
            want[0] += k;
            want[1] += k < t ? k : 0;
            want[2] = k <= t && (k ^ 5) > want[2] ? k ^ 5 : want[2];
            if (k % 3 == 0) {
                least = k < least ? k : least;
                some++;
            }
            alike += k % 5 == t % 5;
            before += k % 5 == t % 5 && k < t;
            want[5] ^= (k % 4 == 1) == (t % 4 == 1) ? k : 0;
        }
        want[3] = t % 3 == 0 ? least * 100 + some : -1;
        want[4] = alike * 100 + before;
        for (int i = 0; i < 6; i++)
            EXPECT(rows[t * 6 + i] == want[i], "thread %d, %d: %d, not %d", t, i, rows[t * 6 + i], want[i]);
    }
}

static void expect_dropped(void)
{
    int rows[96 * 4];
    Dev<int> out(96 * 4);
    out.fill(0);
    dropped<<<1, 96>>>(out);
    CHECK_LAUNCH();
    out.get(rows);
    for (int i = 0; i < 96 * 4; i++) {
        int round = i % 4, want = round < i / 4 % 4 ? (round + 1) * (round + 2) / 2 : 0;
        EXPECT(rows[i] == want, "thread %d, round %d: %d, not %d", i / 4, round, rows[i], want);
    }
}

int main()
{
    expect_pipelined();
    expect_counted();
    expect_groups();
    expect_dropped();
    return check_done();
}
