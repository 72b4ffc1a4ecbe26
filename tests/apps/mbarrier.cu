// mbarrier objects: what tokens, counts, parities and drops are, step by step; then warps that hand data on through them, with
// the instructions themselves and with cuda::barrier.
// needs: -arch=sm_90
// variants: shared static debug rdc sm_90
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <utility>
#include <vector>

namespace cg = cooperative_groups;

__device__ uint32_t at(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ uint64_t arrive(void *b, uint32_t n = 1)
{
    uint64_t t;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], %2;" : "=l"(t) : "r"(at(b)), "r"(n) : "memory");
    return t;
}

__device__ uint32_t pending(uint64_t token)
{
    uint32_t n;
    asm("mbarrier.pending_count.b64 %0, %1;" : "=r"(n) : "l"(token));
    return n;
}

__device__ bool test(void *b, uint64_t token)
{
    uint32_t r;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.acquire.cta.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(r) : "r"(at(b)), "l"(token) : "memory");
    return r;
}

__device__ bool test_parity(void *b, uint32_t parity)
{
    uint32_t r;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(r) : "r"(at(b)), "r"(parity) : "memory");
    return r;
}

__device__ bool try_parity(void *b, uint32_t parity)
{
    uint32_t r;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(r) : "r"(at(b)), "r"(parity) : "memory");
    return r;
}

#define NOTE(x) (out[i++] = (uint32_t)(x))

/* One thread does everything: each step's result is in the manual. */
__global__ void steps(uint32_t *out)
{
    __shared__ alignas(8) uint64_t b;
    uint64_t t;
    uint32_t r;
    int i = 0;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(at(&b)), "r"(5) : "memory");
    NOTE(test_parity(&b, 0)); /* the first phase is even, and has not passed */
    NOTE(test_parity(&b, 1)); /* the one before it has */
    t = arrive(&b);
    NOTE(pending(t));
    NOTE(pending(arrive(&b, 3)));
    NOTE(test(&b, t));
    uint64_t last = arrive(&b);
    NOTE(pending(last));
    NOTE(test(&b, t) + 2 * test(&b, last) + 4 * test_parity(&b, 0) + 8 * test_parity(&b, 1));
    t = arrive(&b, 2); /* the second phase waits for five again */
    NOTE(pending(t));
    asm volatile("mbarrier.arrive_drop.noComplete.release.cta.shared::cta.b64 %0, [%1], 1;" : "=l"(t) : "r"(at(&b)) : "memory");
    NOTE(pending(t));
    asm volatile("mbarrier.arrive_drop.relaxed.cta.shared.b64 %0, [%1];" : "=l"(t) : "r"(at(&b)) : "memory");
    NOTE(pending(t));
    t = arrive(&b);
    NOTE(pending(t));
    NOTE(test(&b, t) + 4 * test_parity(&b, 0) + 8 * test_parity(&b, 1));
    NOTE(pending(arrive(&b))); /* the third waits for three, as two were dropped */
    /* Bytes keep a phase from passing as arrivals do, and may be taken before they are announced. */
    asm volatile("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], 16;" :: "r"(at(&b)) : "memory");
    NOTE(pending(arrive(&b, 1)));
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %0, [%1], 48;" : "=l"(t) : "r"(at(&b)) : "memory");
    NOTE(pending(t));
    NOTE(test(&b, t));
    asm volatile("mbarrier.complete_tx.shared::cta.b64 [%0], 1;" :: "r"(at(&b)) : "memory");
    NOTE(test(&b, t));
    asm volatile("mbarrier.complete_tx.shared::cta.b64 [%0], %1;" :: "r"(at(&b)), "r"(31) : "memory");
    NOTE(test(&b, t) + 2 * try_parity(&b, 0) + 4 * try_parity(&b, 1));
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 0xfffff;" :: "r"(at(&b)) : "memory");
    NOTE(pending(arrive(&b, 3)));
    NOTE(test_parity(&b, 1));
    asm volatile("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], 0xfffff;" :: "r"(at(&b)) : "memory");
    NOTE(test_parity(&b, 1));
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0], 2;" :: "r"(at(&b)) : "memory");
    asm volatile("mbarrier.arrive_drop.expect_tx.relaxed.cluster.shared::cluster.b64 _, [%0], 8;" :: "r"(at(&b)) : "memory");
    asm volatile("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], 8;" :: "r"(at(&b)) : "memory");
    asm volatile("mbarrier.arrive.b64 %0, [%1];" : "=l"(t) : "l"(&b) : "memory");
    NOTE(pending(t));
    /* A wait with a time limit comes back without the phase, but not before its time. */
    uint64_t before, after;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(before));
    asm volatile("{ .reg .pred p; mbarrier.try_wait.shared::cta.b64 p, [%1], %2, 20000; selp.u32 %0, 1, 0, p; }"
                 : "=r"(r) : "r"(at(&b)), "l"(t) : "memory");
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(after));
    NOTE(r + 2 * (after - before >= 20000));
    asm volatile("mbarrier.inval.shared.b64 [%0];" :: "r"(at(&b)) : "memory");
    /* Two phases by one thread, one after the other; a count as large as there is. */
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(at(&b)) : "memory");
    t = arrive(&b);
    NOTE(test(&b, t) + 2 * pending(t));
    arrive(&b);
    NOTE(test_parity(&b, 1) + 2 * test_parity(&b, 0));
    asm volatile("mbarrier.init.shared.b64 [%0], 0xfffff;" :: "r"(at(&b)) : "memory");
    asm volatile("mbarrier.arrive.noComplete.shared.b64 %0, [%1], 0xffffe;" : "=l"(t) : "r"(at(&b)) : "memory");
    NOTE(pending(t));
    NOTE(pending(arrive(&b)));
    NOTE(pending(arrive(&b)));
    NOTE(i);
}

/* All threads arrive: tokens are all different, and no one passes early. */
__global__ void everyone(uint32_t *out, int rounds)
{
    extern __shared__ uint32_t seen[];
    __shared__ alignas(8) uint64_t b;
    int t = threadIdx.x, n = blockDim.x;
    if (t == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at(&b)), "r"(n) : "memory");
    uint32_t sum = 0;
    for (int round = 0; round < rounds; round++) {
        seen[t] = 0;
        __syncthreads();
        uint64_t token = arrive(&b);
        atomicAdd(&seen[pending(token) - 1], 1);
        while (!test(&b, token))
            ;
        sum += test_parity(&b, round & 1) + 2 * test_parity(&b, ~round & 1);
        __syncthreads();
        sum += seen[t] == 1 ? 100 : 10000;
    }
    out[blockIdx.x * n + t] = sum;
}

/* One warp fills slots, the others use them up: two objects for each slot. */
__global__ void slots(const uint32_t *in, uint32_t *out, int n)
{
    const int S = 3;
    __shared__ alignas(8) uint64_t full[S], empty[S];
    __shared__ uint32_t data[S][32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, users = blockDim.x / 32 - 1;
    if (threadIdx.x < S) {
        asm volatile("mbarrier.init.shared.b64 [%0], 32;" :: "r"(at(&full[threadIdx.x])) : "memory");
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at(&empty[threadIdx.x])), "r"(users) : "memory");
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    __syncthreads();
    uint32_t sum = 0;
    for (int i = 0; i < n; i++) {
        int s = i % S, round = i / S;
        if (warp == 0) {
            while (!try_parity(&empty[s], (round & 1) ^ 1))
                ;
            data[s][lane] = in[i * 32 + lane];
            arrive(&full[s]);
        } else {
            while (!test_parity(&full[s], round & 1))
                ;
            sum = sum * 31 + data[s][(lane + warp) % 32];
            __syncwarp();
            if (lane == 0)
                arrive(&empty[s]);
        }
    }
    out[threadIdx.x] = sum;
}

/* cuda::barrier for the block: waiting at once, apart, by parity, and threads that drop out. */
__global__ void library(uint32_t *out, int rounds)
{
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ barrier b;
    __shared__ uint32_t cell[256];
    auto block = cg::this_thread_block();
    uint32_t t = threadIdx.x, n = blockDim.x, sum = 0, mine = rounds - t / 32;
    if (t == 0)
        init(&b, n);
    block.sync();
    for (uint32_t i = 0; i < (uint32_t)rounds; i++) {
        if (i == mine) {
            b.arrive_and_drop();
            break;
        }
        uint32_t left = 0; /* threads of warps still here */
        for (uint32_t w = 0; w < n; w += 32)
            left += rounds - w / 32 > i ? min(32, n - w) : 0;
        cell[t] = t * i;
        b.arrive_and_wait();
        sum += cell[(t + 1) % left];
        auto token = b.arrive();
        sum += 7 * i;
        b.wait(std::move(token));
        (void)b.arrive();
        b.wait_parity(i & 1); /* there are three phases in each round */
    }
    out[t] = sum;
}

/* The library's own barrier, in global memory, for two blocks. */
__global__ void between_blocks(cuda::barrier<cuda::thread_scope_device> *b, uint32_t *cells, uint32_t *out)
{
    uint32_t t = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x, sum = 0;
    for (uint32_t i = 0; i < 3; i++) {
        cells[t] = t + i;
        b->arrive_and_wait();
        sum += cells[n - 1 - t];
        b->arrive_and_wait();
    }
    out[t] = sum;
}

__global__ void make(cuda::barrier<cuda::thread_scope_device> *b, int n)
{
    init(b, n);
}

static void try_steps()
{
    static const uint32_t want[] = { 0, 1, 5, 4, 0, 1, 7, 5, 3, 2, 1, 8 + 1, 3, 2, 1, 0, 0, 3, 3, 0, 1, 2, 2, 3, 1, 0xfffff, 1,
                                     0xfffff };
    const int n = sizeof want / sizeof *want;
    Dev<uint32_t> out(64);
    uint32_t got[64];
    steps<<<1, 1>>>(out);
    CHECK_LAUNCH();
    out.get(got);
    const bool machine_code = getenv("ANYWARP_CC") != NULL; /* where the limit is a hint of NANOSLEEP.SYNCS */
    for (int i = 0; i < n; i++)
        EXPECT(got[i] == want[i] || (machine_code && i == 22), "step %d: %u, expected %u", i, got[i], want[i]);
    EXPECT(got[n] == (uint32_t)n, "%u steps, expected %d", got[n], n);
}

__device__ void begin(void *b, uint32_t n)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(at(b)), "r"(n) : "memory");
}

/* Lanes of one warp hand a value round through objects of their own: each waits for the one before it. */
__global__ void lanes(uint32_t *out)
{
    __shared__ uint64_t bar[256];
    __shared__ volatile uint32_t cell[256];
    uint32_t t = threadIdx.x, last = blockDim.x - 1;
    begin(&bar[t], 1);
    __syncthreads();
    if (t == last) {
        cell[t] = 1;
        arrive(&bar[t]);
    } else {
        while (!try_parity(&bar[t + 1], 0))
            ;
        __threadfence_block();
        cell[t] = cell[t + 1] + t;
        arrive(&bar[t]);
    }
    __syncwarp();
    out[t] = cell[t];
}

/* One lane waits in one branch for what the others do in the other; then the other way round. */
__global__ void branches(uint32_t *out, int rounds)
{
    __shared__ uint64_t full, empty;
    __shared__ volatile uint32_t cell;
    uint32_t t = threadIdx.x, sum = 0;
    if (t == 0) {
        begin(&full, 1);
        begin(&empty, blockDim.x - 1);
    }
    __syncthreads();
    for (int i = 0; i < rounds; i++) {
        if (t == 7) {
            cell = 100 + i;
            arrive(&full);
            uint32_t done = 0;
            while (!done)
                asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                             : "=r"(done) : "r"(at(&empty)), "r"(i & 1) : "memory");
        } else {
            while (!try_parity(&full, i & 1))
                ;
            __threadfence_block();
            sum += cell;
            arrive(&empty);
        }
    }
    out[t] = sum;
}

int main()
{
    try_steps();
    Dev<uint32_t> out(1024);
    std::vector<uint32_t> got(1024);
    for (int n : { 1, 31, 32, 100, 256 }) {
        everyone<<<2, n, n * 4>>>(out, 5);
        CHECK_LAUNCH();
        out.get(got.data());
        for (int t = 0; t < 2 * n; t++)
            EXPECT(got[t] == 5 * 101, "%d threads, thread %d: %u", n, t, got[t]);
    }
    const int items = 20;
    std::vector<uint32_t> in(items * 32);
    for (size_t i = 0; i < in.size(); i++)
        in[i] = (uint32_t)(i * 2654435761u);
    Dev<uint32_t> d(in.data(), in.size());
    for (int n : { 64, 128, 224 }) {
        slots<<<1, n>>>(d, out, items);
        CHECK_LAUNCH();
        out.get(got.data());
        for (int t = 0; t < n; t++) {
            uint32_t sum = 0;
            for (int i = 0; i < items && t >= 32; i++)
                sum = sum * 31 + in[i * 32 + (t + t / 32) % 32];
            EXPECT(got[t] == sum, "slots, %d threads, thread %d: %u, expected %u", n, t, got[t], sum);
        }
    }
    for (int n : { 32, 96, 160 }) {
        const int rounds = 8;
        library<<<1, n>>>(out, rounds);
        CHECK_LAUNCH();
        out.get(got.data());
        for (int t = 0; t < n; t++) {
            uint32_t sum = 0, mine = rounds - t / 32;
            for (uint32_t i = 0; i < rounds && i != mine; i++) {
                uint32_t left = 0;
                for (uint32_t w = 0; w < (uint32_t)n; w += 32)
                    left += rounds - w / 32 > i ? 32 : 0;
                sum += (t + 1) % left * i + 7 * i;
            }
            EXPECT(got[t] == sum, "library, %d threads, thread %d: %u, expected %u", n, t, got[t], sum);
        }
    }
    Dev<cuda::barrier<cuda::thread_scope_device>> b(1);
    Dev<uint32_t> cells(192);
    make<<<1, 1>>>(b, 192);
    between_blocks<<<3, 64>>>(b, cells, out);
    CHECK_LAUNCH();
    out.get(got.data());
    for (int t = 0; t < 192; t++)
        EXPECT(got[t] == 3u * (191 - t) + 3, "between blocks, thread %d: %u", t, got[t]);
    for (uint32_t n : { 2u, 32u, 33u, 256u }) {
        Dev<uint32_t> out(n);
        std::vector<uint32_t> got(n);
        lanes<<<1, n>>>(out);
        CHECK_LAUNCH();
        out.get(got.data());
        uint32_t want = 1;
        for (uint32_t t = n - 1; t != ~0u; want += --t)
            EXPECT(got[t] == want, "lanes, %u threads, thread %u: %u, expected %u", n, t, got[t], want);
    }
    for (uint32_t n : { 8u, 32u, 64u, 200u }) {
        Dev<uint32_t> out(n);
        std::vector<uint32_t> got(n);
        branches<<<1, n>>>(out, 5);
        CHECK_LAUNCH();
        out.get(got.data());
        for (uint32_t t = 0; t < n; t++)
            EXPECT(got[t] == (t == 7 ? 0 : 510), "branches, %u threads, thread %u: %u", n, t, got[t]);
    }
    return check_done();
}
