// Copies that run beside their thread, each form with its own way to wait: cp.async with groups and mbarriers, bulk copies and
// reductions, st.async and red.async, multicast and masks; and what the libraries build on them, memcpy_async and pipelines.
// needs: -arch=sm_100
// variants: shared static debug rdc
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <algorithm>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
#include <utility>
#include <vector>

namespace cg = cooperative_groups;

__device__ uint32_t at(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ void bar_init(uint64_t *b, uint32_t n)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(at(b)), "r"(n) : "memory");
}

__device__ void expect(uint64_t *b, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" :: "r"(at(b)), "r"(bytes) : "memory");
}

__device__ void wait(uint64_t *b, uint32_t parity)
{
    asm volatile("{ .reg .pred p;\nagain: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra.uni again;\n}"
                 :: "r"(at(b)), "r"(parity) : "memory");
}

/* cp.async of every size, whole, in part, not at all, with hints; out has 16 words for each thread. */
__global__ void pieces(const uint32_t *in, uint32_t *out, uint32_t part)
{
    extern __shared__ __align__(16) uint32_t s[];
    uint32_t *to = s + 16 * threadIdx.x;
    const uint32_t *from = in + 16 * threadIdx.x;
    for (int i = 0; i < 16; i++)
        to[i] = ~0u;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(at(to)), "l"(from) : "memory");
    asm volatile("cp.async.ca.shared::cta.global.L2::128B [%0], [%1], 8, %2;" ::"r"(at(to + 2)), "l"(from + 2),
                 "r"(min(part & 15, 8u))
                 : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(at(to + 4)), "l"(from + 4), "r"(part) : "memory");
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 3; cp.async.cg.shared.global [%0], [%1], 16, p; }"
                 :: "r"(at(to + 8)), "l"(from + 8), "r"(threadIdx.x % 4) : "memory");
    asm volatile("{ .reg .b64 h; createpolicy.fractional.L2::evict_last.b64 h, 1.0; "
                 "cp.async.ca.shared.global.L2::cache_hint [%0], [%1], 4, h; cp.async.ca.shared.global.L2::cache_hint [%2], "
                 "[%3], 4, 0, h; }" ::"r"(at(to + 12)),
                 "l"(from + 12), "r"(at(to + 13)), "l"(from + 13)
                 : "memory");
    asm volatile("cp.async.commit_group; cp.async.wait_group 1; cp.async.wait_all;" ::: "memory");
    for (int i = 0; i < 16; i++)
        out[16 * threadIdx.x + i] = to[i];
}

/* Tiles through a ring of slots: one thread asks for bulk copies, everyone uses what has come, one thread sends the results
 * back. */
__global__ void ring(const uint32_t *in, uint32_t *out, int tiles)
{
    const int S = 2, N = 256;
    __shared__ __align__(128) uint32_t slot[S][N], result[N];
    __shared__ uint64_t full[S], loaded;
    uint32_t t = threadIdx.x, n = blockDim.x;
    if (t == 0) {
        for (int s = 0; s < S; s++)
            bar_init(&full[s], 1);
        bar_init(&loaded, n);
        asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
        for (int i = 0; i < S && i < tiles; i++) {
            expect(&full[i], sizeof slot[i]);
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                         :: "r"(at(slot[i])), "l"(in + i * N), "r"((uint32_t)sizeof slot[i]), "r"(at(&full[i])) : "memory");
        }
    }
    __syncthreads();
    for (int i = 0; i < tiles; i++) {
        int s = i % S;
        wait(&full[s], i / S & 1);
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        for (uint32_t k = t; k < N; k += n)
            result[k] = slot[s][N - 1 - k] * 3 + i;
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (t == 0) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\ncp.async.bulk.commit_group;\n"
                         "cp.async.bulk.wait_group.read 0;"
                         :: "l"(out + i * N), "r"(at(result)), "r"((uint32_t)sizeof result) : "memory");
            if (i + S < tiles) {
                expect(&full[s], sizeof slot[s]);
                asm volatile(
                    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::
                        "r"(at(slot[s])),
                    "l"(in + (i + S) * N), "r"((uint32_t)sizeof slot[s]), "r"(at(&full[s])), "l"(0ull)
                    : "memory");
            }
        }
        __syncthreads();
    }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/* Forms of bulk copies: multicast to this block and to none, within shared memory, with a mask, of 16 bytes and of nothing. */
__global__ void forms(const uint32_t *in, uint32_t *out)
{
    __shared__ __align__(16) uint32_t a[64], b[64], c[64];
    __shared__ uint64_t done;
    if (threadIdx.x == 0) {
        bar_init(&done, 1);
        for (int i = 0; i < 64; i++)
            a[i] = b[i] = c[i] = 7;
        asm volatile("fence.proxy.async;" ::: "memory");
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], 256;" :: "l"(in) : "memory");
        expect(&done, 80 + 256 + 128 + 0);
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 80, [%2], %3;" ::
                "r"(at(a + 4)),
            "l"(in + 8), "r"(at(&done)), "h"((short)1)
            : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
                     :: "r"(at(b)), "l"(in), "r"(at(&done)) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];"
                     :: "r"(at(c + 8)), "r"(at(b + 4)), "r"(at(&done)) : "memory");
        asm volatile("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1], 0, [%2];"
                     :: "r"(at(c)), "l"(in), "r"(at(&done)) : "memory");
        wait(&done, 0);
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%0], [%1], 64, %2; cp.async.bulk.commit_group;"
                     :: "l"(out + 192), "r"(at(b)), "h"((short)0x8421) : "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        for (int i = 0; i < 64; i++) {
            out[i] = a[i];
            out[64 + i] = b[i];
            out[128 + i] = c[i];
        }
    }
}

#define REDUCE_OUT(op, to, s) \
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." op " [%0], [%1], 64; cp.async.bulk.commit_group;" \
                 :: "l"(to), "r"(at(s)) : "memory")
#define REDUCE_IN(op, to, s) \
    asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes." op " [%0], [%1], 64, [%2];" \
                 :: "r"(at(to)), "r"(at(s)), "r"(at(&done)) : "memory")

/* Every operation and type, several blocks at once into the same place.  A row of 16 words for each.  The limits of inc and dec
 * are the same in all blocks, as the result depends on the blocks' order otherwise. */
__global__ void reductions(const uint32_t *in, uint32_t *out)
{
    __shared__ __align__(128) uint32_t s[16], limit[16], to[12][16];
    __shared__ uint64_t done;
    if (threadIdx.x < 16) {
        s[threadIdx.x] = in[threadIdx.x + 16 * blockIdx.x];
        limit[threadIdx.x] = in[threadIdx.x] & 3;
    }
    for (int i = threadIdx.x; i < 12 * 16; i += blockDim.x)
        to[i / 16][i % 16] = in[64 + i % 16];
    __syncthreads();
    if (threadIdx.x)
        return;
    bar_init(&done, 1);
    expect(&done, 12 * 64);
    asm volatile("fence.proxy.async;" ::: "memory");
    REDUCE_OUT("and.b32", out + 0 * 16, s);
    REDUCE_OUT("or.b64", out + 1 * 16, s);
    REDUCE_OUT("xor.b32", out + 2 * 16, s);
    REDUCE_OUT("add.u32", out + 3 * 16, s);
    REDUCE_OUT("add.s32", out + 4 * 16, s);
    REDUCE_OUT("add.u64", out + 5 * 16, s);
    REDUCE_OUT("min.u32", out + 6 * 16, s);
    REDUCE_OUT("max.s32", out + 7 * 16, s);
    REDUCE_OUT("min.s64", out + 8 * 16, s);
    REDUCE_OUT("max.u64", out + 9 * 16, s);
    REDUCE_OUT("inc.u32", out + 10 * 16, limit);
    REDUCE_OUT("dec.u32", out + 11 * 16, limit);
    REDUCE_IN("and.b32", to[0], s);
    REDUCE_IN("or.b32", to[1], s);
    REDUCE_IN("xor.b32", to[2], s);
    REDUCE_IN("add.u32", to[3], s);
    REDUCE_IN("add.s32", to[4], s);
    REDUCE_IN("add.u64", to[5], s);
    REDUCE_IN("min.u32", to[6], s);
    REDUCE_IN("max.u32", to[7], s);
    REDUCE_IN("min.s32", to[8], s);
    REDUCE_IN("max.s32", to[9], s);
    REDUCE_IN("inc.u32", to[10], limit);
    REDUCE_IN("dec.u32", to[11], limit);
    wait(&done, 0);
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    for (int i = 0; i < 12 * 16; i++)
        out[12 * 16 * (1 + blockIdx.x) + i] = to[i / 16][i % 16];
}

/* Sums of small whole numbers, so that their order does not matter, and least and greatest of halves. */
__global__ void float_reductions(const uint32_t *in, uint32_t *out)
{
    __shared__ __align__(128) uint32_t s[16];
    for (int i = 0; i < 8; i++) {
        __syncthreads();
        if (threadIdx.x < 16)
            s[threadIdx.x] = in[threadIdx.x + 16 * i];
        __syncthreads();
        asm volatile("fence.proxy.async;" ::: "memory");
        if (threadIdx.x == 0) {
            switch (i) {
            case 0: REDUCE_OUT("add.f32", out, s); break;
            case 1: REDUCE_OUT("add.f64", out + 16, s); break;
            case 2: REDUCE_OUT("add.noftz.f16", out + 2 * 16, s); break;
            case 3: REDUCE_OUT("add.noftz.bf16", out + 3 * 16, s); break;
            case 4: REDUCE_OUT("min.f16", out + 4 * 16, s); break;
            case 5: REDUCE_OUT("max.f16", out + 5 * 16, s); break;
            case 6: REDUCE_OUT("min.bf16", out + 6 * 16, s); break;
            case 7: REDUCE_OUT("max.bf16", out + 7 * 16, s); break;
            }
            asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        }
    }
}

/* Stores and reductions of single elements that complete on an object, from all threads. */
__global__ void elements(uint32_t *out)
{
    __shared__ __align__(16) uint32_t s[256 * 4], sums[8];
    __shared__ uint64_t big, done;
    uint32_t t = threadIdx.x, n = blockDim.x;
    if (t < 8)
        sums[t] = t == 3 ? ~0u : t == 4 ? 1000 : 0;
    if (t == 0) {
        big = 5;
        bar_init(&done, 1);
        expect(&done, n * (16 + 4 * 6 + 8));
    }
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (t % 3 == 0)
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];"
                     :: "r"(at(s + 4 * t)), "r"(t), "r"(t + 1), "r"(t * 2), "r"(~t), "r"(at(&done)) : "memory");
    else if (t % 3 == 1)
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u64 [%0], {%1, %2}, [%3];"
                     :: "r"(at(s + 4 * t)), "l"((uint64_t)t << 32 | 5), "l"(~(uint64_t)t), "r"(at(&done)) : "memory");
    else
        for (int i = 0; i < 4; i += 2)
            asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%4];\n"
                         "st.async.shared::cluster.mbarrier::complete_tx::bytes.s32 [%2], %3, [%4];" ::"r"(at(s + 4 * t + i)),
                         "f"((float)t), "r"(at(s + 4 * t + i + 1)), "r"(t - i), "r"(at(&done))
                         : "memory");
#define ELEMENT(op, i, v) \
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." op " [%0], %1, [%2];" \
                 :: "r"(at(sums + i)), "r"(v), "r"(at(&done)) : "memory")
    ELEMENT("add.u32", 0, t);
    ELEMENT("max.s32", 1, (int)t - 100);
    ELEMENT("inc.u32", 2, 10);
    ELEMENT("and.b32", 3, ~(1u << t % 32 & 0xff00));
    ELEMENT("min.u32", 4, 900 - t);
    ELEMENT("xor.b32", 5, t * 77);
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%0], %1, [%2];"
                 :: "r"(at(&big)), "l"((uint64_t)t << 40), "r"(at(&done)) : "memory");
    wait(&done, 0);
    for (int i = 0; i < 4; i++)
        out[4 * t + i] = s[4 * t + i];
    if (t < 8)
        out[4 * n + t] = t < 6 ? sums[t] : (uint32_t)(big >> 32 * (t - 6));
}

/* The same in global memory, where a release comes before: who sees the flag sees the data. */
__global__ void released(uint32_t *out)
{
    uint32_t t = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    uint64_t *big = (uint64_t *)(out + 8);
    out[16 + t] = t + 1;
    asm volatile("red.async.release.gpu.global.add.u32 [%0], 1;" :: "l"(out) : "memory");
    asm volatile("red.async.release.sys.global.max.s32 [%0], %1;" :: "l"(out + 1), "r"((int)t - 50) : "memory");
    asm volatile("red.async.release.gpu.global.inc.u32 [%0], 6;" :: "l"(out + 2) : "memory");
    asm volatile("red.async.release.gpu.xor.b32 [%0], %1;" :: "l"(out + 3), "r"(t * 99) : "memory");
    asm volatile("red.async.mmio.release.sys.global.add.u64 [%0], %1;" :: "l"(big), "l"((uint64_t)t << 33) : "memory");
    if (t == 0) {
        uint32_t seen;
        do
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(out) : "memory");
        while (seen != n);
        uint32_t sum = 0;
        for (uint32_t i = 0; i < n; i++)
            sum += out[16 + i];
        asm volatile("st.async.release.gpu.global.u32 [%0], %1;" :: "l"(out + 4), "r"(sum) : "memory");
        asm volatile("st.async.mmio.release.sys.global.b32 [%0], %1;" :: "l"(out + 5), "r"(~sum) : "memory");
        asm volatile("st.async.release.sys.b16 [%0], %1;" :: "l"(out + 6), "h"((short)sum) : "memory");
        asm volatile("st.async.release.gpu.global.f64 [%0], %1;" :: "l"(out + 10), "d"((double)sum) : "memory");
    }
}

/* clusterlaunchcontrol: a block asks for another's work, and may be told that there is none to take. */
__global__ void steal(uint32_t *out)
{
    __shared__ __align__(16) uint4 answer;
    __shared__ uint64_t done;
    uint32_t canceled = 2;
    if (threadIdx.x == 0) {
        bar_init(&done, 1);
        expect(&done, 16);
        asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];"
                     :: "r"(at(&answer)), "r"(at(&done)) : "memory");
        wait(&done, 0);
        uint64_t low = (uint64_t)answer.y << 32 | answer.x, high = (uint64_t)answer.w << 32 | answer.z;
        asm volatile(
            "{ .reg .b128 r; .reg .pred p; mov.b128 r, {%1, %2}; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, r; "
                     "selp.u32 %0, 1, 0, p; }" : "=r"(canceled) : "l"(low), "l"(high));
        uint32_t x = blockIdx.x;
        if (canceled)
            asm volatile(
                "{ .reg .b128 r; mov.b128 r, {%1, %2}; clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %0, r; }"
                         : "=r"(x) : "l"(low), "l"(high));
        atomicAdd(&out[blockIdx.x], 1);
        if (canceled)
            atomicAdd(&out[x], 1);
    }
}

/* The libraries: cooperative groups, pipelines of a thread and of the block, barriers with transactions. */
__global__ void grouped(const uint32_t *in, uint32_t *out, int n)
{
    extern __shared__ __align__(16) uint32_t s[];
    cg::thread_block block = cg::this_thread_block();
    uint32_t *odd = s + ((n + 3) & ~3);
    cg::memcpy_async(block, s, in, n * 4);
    cg::wait(block);
    cg::memcpy_async(block, odd + 1, in + 3, (n - 3) * 4); /* nothing is aligned to 16 */
    cg::memcpy_async(block, s, n, in + 1, n - 1);
    cg::wait_prior<1>(block);
    cg::wait(block);
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        out[i] = s[i];
        out[n + i] = i && i < n - 2 ? odd[i] : 0;
    }
}

template <int STAGES> __global__ void piped(const uint32_t *in, uint32_t *out, int tiles)
{
    extern __shared__ __align__(16) uint32_t s[];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    uint32_t n = blockDim.x, sum = 0;
    for (int i = 0, next = 0; i < tiles; i++) {
        for (; next < tiles && next < i + STAGES; next++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, s + next % STAGES * n, in + next * n, cuda::aligned_size_t<4>(n * 4), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum = sum * 5 + s[i % STAGES * n + (threadIdx.x + i) % n];
        pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}

/* The first half of the block's warps produces, the other consumes. */
__global__ void divided(const uint32_t *in, uint32_t *out, int tiles)
{
    extern __shared__ __align__(16) uint32_t s[];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 3> state;
    auto block = cg::this_thread_block();
    uint32_t half = blockDim.x / 2, t = threadIdx.x, sum = 0;
    auto role = t < half ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipe = cuda::make_pipeline(block, &state, role);
    for (int i = 0; i < tiles; i++) {
        if (role == cuda::pipeline_role::producer) {
            pipe.producer_acquire();
            cuda::memcpy_async(s + i % 3 * half + t, in + i * half + t, sizeof *s, pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            sum = sum * 5 + s[i % 3 * half + (t + i) % half];
            pipe.consumer_release();
        }
    }
    out[t] = sum;
}

__global__ void primitives(const uint4 *in, uint4 *out, int tiles)
{
    __shared__ uint4 s[2][64];
    uint32_t t = threadIdx.x;
    __pipeline_memcpy_async(&s[0][t], in + t, 16, t % 17);
    __pipeline_commit();
    for (int i = 0; i < tiles; i++) {
        if (i + 1 < tiles)
            __pipeline_memcpy_async(&s[(i + 1) & 1][t], in + (i + 1) * 64 + t, 16, t % 17);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        out[i * 64 + t] = s[i & 1][63 - t];
        __syncthreads();
    }
}

__global__ void transacted(const uint32_t *in, uint32_t *out, int tiles)
{
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ __align__(128) uint32_t s[512];
    __shared__ barrier b, c;
    uint32_t t = threadIdx.x, n = blockDim.x, sum = 0;
    if (t == 0) {
        init(&b, n);
        init(&c, n);
        cuda::device::experimental::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    for (int i = 0; i < tiles; i++) {
        barrier::arrival_token token;
        if (t == 0) {
            cuda::memcpy_async(s, in + 512 * i, cuda::aligned_size_t<16>(sizeof s), b);
            token = cuda::device::barrier_arrive_tx(b, 1, 0);
        } else {
            token = b.arrive();
        }
        b.wait(std::move(token));
        for (uint32_t k = t; k < 512; k += n)
            sum = sum * 3 + s[k ^ i];
        __syncthreads(); /* nobody reads now */
        cuda::memcpy_async(cg::this_thread_block(), s, in, sizeof(uint32_t) * 8 * n, c);
        c.arrive_and_wait();
        sum += s[t] & 1;
        c.arrive_and_wait();
    }
    out[t] = sum;
}

static uint16_t bf16(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return (uint16_t)(u >> 16);
}

/* Whole numbers up to 2048 have a form without rounding in f16. */
static uint16_t f16(int v)
{
    if (!v)
        return 0;
    unsigned sign = v < 0 ? 0x8000u : 0, a = (unsigned)std::abs(v), e = 31u - (unsigned)__builtin_clz(a);
    return (uint16_t)(sign | (e + 15) << 10 | (a << 10 >> e & 0x3ff));
}

static uint32_t folded(int op, uint32_t a, uint32_t b)
{
    switch (op) {
    case 0: return a & b;
    case 1: return a | b;
    case 2: return a ^ b;
    case 3: case 4: return a + b;
    case 6: return std::min(a, b);
    case 7: return (uint32_t)std::max((int32_t)a, (int32_t)b);
    case 10: return a >= b ? 0 : a + 1;
    case 11: return a == 0 || a > b ? b : a - 1;
    case 12: return std::max(a, b);
    case 13: return (uint32_t)std::min((int32_t)a, (int32_t)b);
    default: return 0;
    }
}

static uint64_t wide(const uint32_t *p, int i)
{
    return (uint64_t)p[2 * i + 1] << 32 | p[2 * i];
}

static uint64_t folded64(int op, uint64_t a, uint64_t b)
{
    return op == 5 ? a + b : op == 8 ? (uint64_t)std::min((int64_t)a, (int64_t)b) : std::max(a, b);
}

static void try_reductions()
{
    const int blocks = 4;
    std::vector<uint32_t> in(16 * 5), got(12 * 16 * (1 + blocks)), want(12 * 16);
    Rng rng(5);
    for (auto &x : in)
        x = rng.u32();
    Dev<uint32_t> d(in.data(), in.size()), out(got.size());
    std::vector<uint32_t> start(got.size());
    for (size_t i = 0; i < start.size(); i++)
        start[i] = rng.u32() & (i / 16 == 10 || i / 16 == 11 ? 3 : ~0u);
    out.put(start.data());
    reductions<<<blocks, 32>>>(d, out);
    CHECK_LAUNCH();
    out.get(got.data());
    std::copy(start.begin(), start.begin() + 12 * 16, want.begin());
    for (int b = 0; b < blocks; b++)
        for (int op = 0; op < 12; op++)
            for (int i = 0; i < 16; i++) {
                uint32_t *w = &want[op * 16];
                if (op != 5 && op != 8 && op != 9) {
                    w[i] = folded(op, w[i], op >= 10 ? in[i] & 3 : in[16 * b + i]);
                } else if (i < 8) {
                    uint64_t r = folded64(op, wide(w, i), wide(&in[16 * b], i));
                    w[2 * i] = (uint32_t)r;
                    w[2 * i + 1] = (uint32_t)(r >> 32);
                }
            }
    for (int i = 0; i < 12 * 16; i++)
        EXPECT(got[i] == want[i], "reduction %d, word %d: %x, expected %x", i / 16, i % 16, got[i], want[i]);
    static const int inner[] = { 0, 1, 2, 3, 4, 5, 6, 12, 13, 7, 10, 11 };
    for (int b = 0; b < blocks; b++)
        for (int r = 0; r < 12; r++)
            for (int i = 0; i < 16; i++) {
                uint64_t sum = folded64(5, wide(&in[64], i / 2), wide(&in[16 * b], i / 2));
                uint32_t by = r >= 10 ? in[i] & 3 : in[16 * b + i];
                uint32_t w = inner[r] == 5 ? (uint32_t)(sum >> 32 * (i & 1)) : folded(inner[r], in[64 + i], by);
                uint32_t g = got[12 * 16 * (1 + b) + 16 * r + i];
                EXPECT(g == w, "block %d, inner reduction %d, word %d: %x, expected %x", b, r, i, g, w);
            }
}

static void try_float_reductions()
{
    std::vector<uint32_t> in(16 * 8), got(16 * 8);
    std::vector<uint16_t> half(32);
    for (int i = 0; i < 16; i++) {
        float f = (float)(i * 3 - 20);
        memcpy(&in[i], &f, 4);
        if (i < 8) {
            double d = i * 5 - 11;
            memcpy(&in[16 + 2 * i], &d, 8);
        }
    }
    for (int row = 2; row < 8; row++) {
        bool bf = row == 3 || row >= 6;
        for (int i = 0; i < 32; i++)
            half[i] = row >= 4 && i == 7 ? (bf ? 0x7fc0 : 0x7e00) : bf ? bf16((float)(i - 9)) : f16(i - 9);
        memcpy(&in[16 * row], half.data(), 64);
    }
    Dev<uint32_t> d(in.data(), in.size()), out(got.size());
    out.fill(0);
    const int blocks = 6;
    float_reductions<<<blocks, 32>>>(d, out);
    CHECK_LAUNCH();
    out.get(got.data());
    for (int i = 0; i < 16; i++) {
        float f;
        double v;
        memcpy(&f, &got[i], 4);
        EXPECT(f == (float)blocks * (i * 3 - 20), "f32 %d: %g", i, f);
        memcpy(&v, &got[16 + 2 * (i / 2)], 8);
        EXPECT(v == blocks * (i / 2 * 5 - 11), "f64 %d: %g", i / 2, v);
    }
    for (int row = 2; row < 8; row++) {
        memcpy(half.data(), &got[16 * row], 64);
        for (int i = 0; i < 32; i++) {
            bool bf = row == 3 || row >= 6, min = row == 4 || row == 6;
            int v = row < 4 ? blocks * (i - 9) : i == 7 ? 0 : min ? std::min(i - 9, 0) : std::max(i - 9, 0);
            uint16_t want = bf ? bf16((float)v) : f16(v);
            EXPECT(half[i] == want, "halves %d, %d: %x, expected %x", row, i, half[i], want);
        }
    }
}

static void try_forms(const std::vector<uint32_t> &in, const uint32_t *d)
{
    Dev<uint32_t> out(4 * 64 + 16 * 128);
    std::vector<uint32_t> got(out.n);
    out.fill(0);
    forms<<<1, 32>>>(d, out);
    CHECK_LAUNCH();
    out.get(got.data());
    for (int i = 0; i < 64; i++) {
        uint32_t a = i >= 4 && i < 24 ? in[i + 4] : 7, c = i >= 8 && i < 40 ? in[i - 4] : 7;
        EXPECT(got[i] == a && got[64 + i] == in[i] && got[128 + i] == c, "forms %d: %x %x %x", i, got[i], got[64 + i],
               got[128 + i]);
        uint32_t masked = i < 16 ? in[i] & (0xffu << 8 * (i % 4)) : 0;
        EXPECT(got[192 + i] == masked, "mask %d: %x, expected %x", i, got[192 + i], masked);
    }
    for (uint32_t part : { 0u, 1u, 5u, 8u, 15u, 16u }) {
        pieces<<<1, 128, 128 * 64>>>(d, out, part);
        CHECK_LAUNCH();
        out.get(got.data());
        for (int k = 0; k < 128 * 16; k++) {
            int i = k % 16, t = k / 16;
            uint32_t want = ~0u;
            auto cut = [&](uint32_t bytes, int word) {
                return bytes >= 4u * word + 4 ? in[k] : bytes <= 4u * word ? 0 : in[k] & ((1u << 8 * (bytes - 4u * word)) - 1);
            };
            if (i == 0 || i == 12)
                want = in[k];
            else if (i == 2 || i == 3)
                want = cut(std::min(part & 15, 8u), i - 2);
            else if (i >= 4 && i < 8)
                want = cut(part, i - 4);
            else if (i >= 8 && i < 12)
                want = t % 4 == 3 ? in[k] : 0;
            else if (i == 13)
                want = 0;
            EXPECT(got[k] == want, "pieces, %u bytes, thread %d, word %d: %x, expected %x", part, t, i, got[k], want);
        }
    }
}

static void try_elements()
{
    for (uint32_t n : { 32u, 96u, 192u }) {
        Dev<uint32_t> out(4 * n + 8);
        std::vector<uint32_t> got(out.n);
        elements<<<1, n>>>(out);
        CHECK_LAUNCH();
        out.get(got.data());
        uint32_t sum[8] = { 0, 0, 0, ~0u, 1000, 0, 5, 0 };
        for (uint32_t t = 0; t < n; t++) {
            uint32_t want[4] = { t, t + 1, t * 2, ~t };
            float f = (float)t;
            if (t % 3 == 1) {
                want[0] = 5, want[1] = t, want[2] = ~t, want[3] = ~0u;
            } else if (t % 3 == 2) {
                memcpy(&want[0], &f, 4);
                want[1] = t, want[2] = want[0], want[3] = t - 2;
            }
            for (int i = 0; i < 4; i++)
                EXPECT(got[4 * t + i] == want[i], "elements, thread %u, word %d: %x, expected %x", t, i, got[4 * t + i], want[i]);
            sum[0] += t;
            sum[1] = (uint32_t)std::max((int)sum[1], (int)t - 100);
            sum[2] = sum[2] >= 10 ? 0 : sum[2] + 1;
            sum[3] &= ~(1u << t % 32 & 0xff00);
            sum[4] = std::min(sum[4], 900 - t);
            sum[5] ^= t * 77;
            sum[7] += t << 8;
        }
        for (int i = 0; i < 8; i++)
            EXPECT(got[4 * n + i] == sum[i], "elements, %u threads, sum %d: %x, expected %x", n, i, got[4 * n + i], sum[i]);
    }
}

static void try_released()
{
    const uint32_t n = 4 * 64;
    Dev<uint32_t> out(16 + n);
    std::vector<uint32_t> got(out.n);
    out.fill(0);
    released<<<4, 64>>>(out);
    CHECK_LAUNCH();
    out.get(got.data());
    uint32_t sum = n * (n + 1) / 2, bits = 0;
    uint64_t big = 0;
    for (uint32_t t = 0; t < n; t++) {
        bits ^= t * 99;
        big += (uint64_t)t << 33;
    }
    uint32_t want[12] = { n, n - 51, n % 7, bits, sum, ~sum, sum & 0xffff, 0, (uint32_t)big, (uint32_t)(big >> 32) };
    double d = sum;
    memcpy(&want[10], &d, 8);
    for (int i = 0; i < 12; i++)
        EXPECT(got[i] == want[i], "released %d: %x, expected %x", i, got[i], want[i]);
}

static void try_library(const std::vector<uint32_t> &in, const uint32_t *d)
{
    Dev<uint32_t> out(8192);
    std::vector<uint32_t> got(out.n);
    for (int n : { 8, 33, 500 }) {
        grouped<<<1, 64, 8 * n + 64>>>(d, out, n);
        CHECK_LAUNCH();
        out.get(got.data());
        for (int i = 0; i < n; i++) {
            EXPECT(got[i] == (i < n - 1 ? in[i + 1] : in[i]), "grouped %d, %d: %x", n, i, got[i]);
            EXPECT(got[n + i] == (i && i < n - 2 ? in[i + 2] : 0), "grouped %d, odd %d: %x", n, i, got[n + i]);
        }
    }
    const int tiles = 7;
    for (int n : { 32, 96 }) {
        piped<2><<<1, n, 2 * 4 * n>>>(d, out, tiles);
        CHECK_LAUNCH();
        out.get(got.data());
        piped<4><<<1, n, 4 * 4 * n>>>(d, out, tiles);
        CHECK_LAUNCH();
        std::vector<uint32_t> four(out.n);
        out.get(four.data());
        divided<<<1, 2 * n, 3 * 4 * n>>>(d, out, tiles);
        CHECK_LAUNCH();
        std::vector<uint32_t> apart(out.n);
        out.get(apart.data());
        for (int t = 0; t < n; t++) {
            uint32_t sum = 0;
            for (int i = 0; i < tiles; i++)
                sum = sum * 5 + in[i * n + (t + i) % n];
            EXPECT(got[t] == sum && four[t] == sum && apart[n + t] == sum && apart[t] == 0,
                   "pipelines, %d threads, thread %d: %x %x %x %x, expected %x", n, t, got[t], four[t], apart[n + t], apart[t],
                   sum);
        }
    }
    Dev<uint4> vectors((const uint4 *)in.data(), 64 * tiles), copied(64 * tiles);
    std::vector<uint32_t> words(256 * tiles);
    primitives<<<1, 64>>>(vectors, copied, tiles);
    CHECK_LAUNCH();
    copied.get((uint4 *)words.data());
    for (int k = 0; k < 256 * tiles; k++) {
        int i = k / 256, t = 63 - k % 256 / 4;
        uint32_t v = in[256 * i + 4 * t + k % 4];
        int keep = 16 - t % 17 - 4 * (k % 4);
        v = keep >= 4 ? v : keep <= 0 ? 0 : v & ((1u << 8 * keep) - 1);
        EXPECT(words[k] == v, "primitives %d: %x, expected %x", k, words[k], v);
    }
    transacted<<<1, 64>>>(d, out, tiles);
    CHECK_LAUNCH();
    out.get(got.data());
    for (uint32_t t = 0; t < 64; t++) {
        uint32_t sum = 0;
        for (int i = 0; i < tiles; i++) {
            for (uint32_t k = t; k < 512; k += 64)
                sum = sum * 3 + in[512 * i + (k ^ i)];
            sum += in[t] & 1;
        }
        EXPECT(got[t] == sum, "transacted, thread %u: %x, expected %x", t, got[t], sum);
    }
}

int main()
{
    std::vector<uint32_t> in(16384);
    Rng rng(3);
    for (auto &x : in)
        x = rng.u32();
    Dev<uint32_t> d(in.data(), in.size());
    try_forms(in, d);
    for (int tiles : { 1, 2, 5, 9 }) {
        Dev<uint32_t> out(256 * tiles);
        std::vector<uint32_t> got(out.n);
        ring<<<1, 96>>>(d, out, tiles);
        CHECK_LAUNCH();
        out.get(got.data());
        for (int i = 0; i < 256 * tiles; i++)
            EXPECT(got[i] == in[i / 256 * 256 + 255 - i % 256] * 3 + i / 256, "ring of %d, %d: %x", tiles, i, got[i]);
    }
    try_reductions();
    try_float_reductions();
    try_elements();
    try_released();
    Dev<uint32_t> work(40);
    std::vector<uint32_t> done(40);
    work.fill(0);
    steal<<<40, 32>>>(work);
    CHECK_LAUNCH();
    work.get(done.data());
    for (int i = 0; i < 40; i++)
        EXPECT(done[i] == 1, "block %d's work was done %u times", i, done[i]);
    try_library(in, d);
    return check_done();
}
