// Neighbouring warps that go different ways, as two halves of one 64-lane wave would: warp operations with the masks of partial
// and diverged warps, barriers at different places of the program, loops of different length, named barriers between neighbours,
// early exits, locks and flags between neighbours.
// bytes: vary, a shuffle from a lane that is not there gives anything
// races: words of shared memory, volatile but not atomic, are flags
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

static __device__ unsigned lanes_here(int threads)
{
    int left = threads - (int)(threadIdx.x & ~31u);
    return left >= 32 ? ~0u : (1u << left) - 1;
}

static unsigned lanes_of(int threads, int t)
{
    int left = threads - (t & ~31);
    return left >= 32 ? ~0u : (1u << left) - 1;
}

static __device__ void block_barrier()
{
    asm volatile("barrier.sync 0;" ::: "memory");
}

/* ---- Different operations in the two warps of a pair, some under half of a warp's lanes */
enum { OPS = 6 };

__global__ void operations(const int *in, unsigned *out)
{
    int t = threadIdx.x, lane = t & 31, n = blockDim.x, v = in[t];
    unsigned mask = lanes_here(n), odd = mask & 0xaaaaaaaau, r[OPS] = {};
    switch (t / 32 % 3) {
    case 0:
        r[0] = __shfl_xor_sync(mask, v, 1);
        r[1] = __ballot_sync(mask, v & 1);
        if (lane & 1) {
            r[2] = __shfl_sync(odd, v, 31 - __clz(odd));
            r[3] = __match_any_sync(odd, v % 3);
            r[4] = __activemask();
        }
        r[5] = __any_sync(mask, v == in[0]);
        break;
    case 1:
        r[0] = __shfl_down_sync(mask, v, 3);
        r[1] = __match_any_sync(mask, v % 5);
        if (lane & 1) {
            r[2] = __ballot_sync(odd, v & 2);
            r[3] = __all_sync(odd, v > 10);
        } else {
            r[2] = __shfl_up_sync(mask & ~odd, v, 2);
            r[3] = __activemask();
        }
        int same;
        r[4] = __match_all_sync(mask, v / 1000, &same);
        r[5] = same;
        break;
    default:
        for (int i = 0; i <= lane % 4; i++)
            r[0] += __popc(__activemask()) << 8 * i;
        __syncwarp(mask);
#if __CUDA_ARCH__ >= 800
        r[1] = __reduce_add_sync(mask, v);
        r[2] = __reduce_min_sync(mask, v);
        if (lane & 1)
            r[3] = __reduce_xor_sync(odd, (unsigned)v);
#else
        for (int k = 0; k < 32; k++) {
            int x = __shfl_sync(mask, v, k);
            if (!(mask >> k & 1))
                continue;
            r[1] += x;
            r[2] = k ? min((int)r[2], x) : x;
            r[3] ^= k & 1 ? x : 0;
        }
        r[3] = lane & 1 ? r[3] : 0;
#endif
        r[4] = __shfl_sync(mask, v, lane * 7 & 15, 16);
        r[5] = __all_sync(mask, v >= 0);
        break;
    }
    for (int i = 0; i < OPS; i++)
        out[t * OPS + i] = r[i];
}

static void operations_want(const int *in, int n, int t, unsigned *r, bool *known)
{
    unsigned mask = lanes_of(n, t), odd = mask & 0xaaaaaaaau;
    int lane = t & 31, base = t & ~31, v = in[t];
    auto has = [&](int k) { return k >= 0 && k < 32 && (mask >> k & 1); };
    auto at = [&](int k) { return has(k) ? in[base + k] : 0; };
    for (int i = 0; i < OPS; i++)
        r[i] = 0, known[i] = true;
    if (t / 32 % 3 == 0) {
        r[0] = at(lane ^ 1), known[0] = has(lane ^ 1);
        for (int k = 0; k < 32; k++) {
            r[1] |= (unsigned)(at(k) & 1) << k;
            r[5] |= has(k) && at(k) == in[0];
            if (lane & 1 && k & 1 && has(k)) {
                r[2] = at(k); /* the highest */
                r[3] |= (unsigned)(at(k) % 3 == v % 3) << k;
            }
        }
        r[4] = lane & 1 ? odd : 0;
    } else if (t / 32 % 3 == 1) {
        r[0] = lane + 3 < 32 ? at(lane + 3) : v, known[0] = lane + 3 >= 32 || has(lane + 3);
        bool all = true;
        r[5] = 1;
        for (int k = 0; k < 32; k++) {
            r[1] |= (unsigned)(has(k) && at(k) % 5 == v % 5) << k;
            r[5] &= !has(k) || at(k) / 1000 == v / 1000;
            if (k & 1 && has(k)) {
                r[2] |= (unsigned)(at(k) >> 1 & 1) << k;
                all &= at(k) > 10;
            }
        }
        r[3] = all;
        if (!(lane & 1))
            r[2] = lane >= 2 ? at(lane - 2) : v, r[3] = mask & ~odd;
        r[4] = r[5] ? mask : 0;
    } else {
        for (int i = 0; i <= lane % 4; i++)
            for (int k = 0; k < 32; k++)
                r[0] += (unsigned)(has(k) && i <= k % 4) << 8 * i;
        int least = INT32_MAX;
        for (int k = 0; k < 32; k++) {
            r[1] += at(k);
            least = has(k) && at(k) < least ? at(k) : least;
            r[3] ^= lane & 1 && k & 1 ? at(k) : 0;
        }
        r[2] = least;
        r[4] = at((lane & 16) | (lane * 7 & 15)), known[4] = has((lane & 16) | (lane * 7 & 15));
        r[5] = 1;
    }
}

static void check_operations(int n)
{
    Rng rng(n);
    std::vector<int> in(n);
    for (int &v : in)
        v = (int)rng.below(1200);
    Dev<int> din(in.data(), n);
    Dev<unsigned> dout(n * OPS);
    std::vector<unsigned> out(n * OPS);
    operations<<<1, n>>>(din, dout);
    CHECK_LAUNCH();
    dout.get(out.data());
    for (int t = 0; t < n; t++) {
        unsigned want[OPS];
        bool known[OPS];
        operations_want(in.data(), n, t, want, known);
        for (int i = 0; i < OPS; i++)
            EXPECT(!known[i] || out[t * OPS + i] == want[i], "%d threads, thread %d, operation %d: %x, expected %x", n, t, i,
                   out[t * OPS + i], want[i]);
    }
}

/* ---- One barrier, reached at two places of the program: even warps write before it, odd ones in their own branch.  `late` makes
 * one side much slower than the other. */
__global__ void two_places(int *out, int late)
{
    __shared__ int s[256];
    int t = threadIdx.x, n = blockDim.x, r;
    s[t] = -1;
    __syncthreads();
    if (t / 32 % 2 == late) {
        int x = t;
        for (int i = 0; i < 300; i++)
            x = x * 5 + 1;
        s[t] = (x & 0) + t * 3;
        block_barrier();
        r = s[(t + 32) % n];
        block_barrier();
        s[t] = r;
    } else {
        s[t] = t * 3;
        block_barrier();
        r = s[(t + n - 32 % n) % n] + 1000;
        block_barrier();
        s[t] = r;
    }
    __syncthreads();
    out[t] = s[(t + 33) % n];
}

static void check_two_places(int n)
{
    Dev<int> d(n);
    std::vector<int> out(n), r(n);
    for (int late = 0; late < 2; late++) {
        two_places<<<1, n>>>(d, late);
        CHECK_LAUNCH();
        d.get(out.data());
        for (int t = 0; t < n; t++)
            r[t] = t / 32 % 2 == late ? (t + 32) % n * 3 : (t + n - 32 % n) % n * 3 + 1000;
        for (int t = 0; t < n; t++)
            EXPECT(out[t] == r[(t + 33) % n], "two places, %d threads, thread %d: %d, expected %d", n, t, out[t],
                   r[(t + 33) % n]);
    }
}

/* ---- The same number of barriers in every warp, split differently between two loops; a value travels through all threads. */
__global__ void two_loops(int *out, int steps)
{
    extern __shared__ int ring[]; /* two of n */
    int t = threadIdx.x, n = blockDim.x, first = t / 32 % 5 * 2, v = t;
    ring[t] = t;
    __syncthreads();
    for (int i = 0; i < first; i++) {
        v = ring[i % 2 * n + (t + 1) % n];
        ring[(i + 1) % 2 * n + t] = v + 1;
        block_barrier();
    }
    for (int i = first; i < steps; i++) {
        if (i % 3 == 0) {
            v = ring[i % 2 * n + (t + 1) % n] + 1;
            ring[(i + 1) % 2 * n + t] = v;
            block_barrier();
        } else {
            v = ring[i % 2 * n + (t + 1) % n];
            ring[(i + 1) % 2 * n + t] = v + 1;
            block_barrier();
        }
    }
    out[t] = ring[steps % 2 * n + t] + (v & 0);
}

static void check_two_loops(int n, int steps)
{
    Dev<int> d(n);
    std::vector<int> out(n);
    two_loops<<<1, n, 2 * n * sizeof(int)>>>(d, steps);
    CHECK_LAUNCH();
    d.get(out.data());
    for (int t = 0; t < n; t++)
        EXPECT(out[t] == (t + steps) % n + steps, "two loops, %d threads, thread %d: %d, expected %d", n, t, out[t],
               (t + steps) % n + steps);
}

/* ---- Warps leave one after another, before and between barriers; those that stay still meet. */
__global__ void leaving(int *out, int first)
{
    __shared__ int s[256], left;
    int t = threadIdx.x, n = blockDim.x, warp = t / 32, warps = (n + 31) / 32;
    if (t == 0)
        left = 0;
    __syncthreads();
    if (warp == first) {
        out[t] = -7;
        return;
    }
    for (int round = 1;; round++) {
        s[t] = t + round;
        __syncthreads();
        int sum = 0, from = (warp + 1) % warps;
        for (int k = 0; k < 32 && from * 32 + k < n; k++)
            sum += s[from * 32 + k] - t;
        if (round == warp + 1) {
            out[t] = sum;
            if (t % 32 == 0)
                atomicAdd(&left, 1);
            return;
        }
        __syncthreads();
    }
}

static void check_leaving(int n)
{
    int warps = (n + 31) / 32;
    for (int first = 0; first < warps; first++) {
        Dev<int> d(n);
        std::vector<int> out(n);
        leaving<<<1, n>>>(d, first);
        CHECK_LAUNCH();
        d.get(out.data());
        for (int t = 0; t < n; t++) {
            int warp = t / 32, from = (warp + 1) % warps, sum = 0;
            bool known = warp == first || (from != first && from > warp) || from == warp;
            for (int k = from * 32; k < from * 32 + 32 && k < n; k++)
                sum += k + warp + 1 - t;
            sum = warp == first ? -7 : sum;
            EXPECT(!known || out[t] == sum, "leaving, %d threads, thread %d: %d, expected %d", n, t, out[t], sum);
        }
    }
}

/* ---- A producer and a consumer, neighbours, and two named barriers: full and empty. */
__global__ void handing_over(int *out, int rounds)
{
    __shared__ int box[32], result[32];
    int t = threadIdx.x, lane = t & 31;
    if (t < 32) {
        for (int i = 0; i < rounds; i++) {
            box[lane] = i * 100 + lane;
            asm volatile("bar.arrive 1, 64;" ::: "memory");
            asm volatile("bar.sync 2, 64;" ::: "memory");
        }
    } else {
        int sum = 0;
        for (int i = 0; i < rounds; i++) {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            sum += box[31 - lane];
            asm volatile("bar.arrive 2, 64;" ::: "memory");
        }
        result[lane] = sum;
    }
    __syncthreads();
    out[t] = result[lane] + t;
}

/* ---- Every pair of warps has its barrier, whose number is not known before; pairs are not the halves of one wave. */
__global__ void pairs(int *out, int rounds)
{
    __shared__ int s[256];
    int t = threadIdx.x, warp = t / 32, warps = blockDim.x / 32, id = 1 + warp % (warps / 2), v = t;
    int other = (warp + warps / 2) % warps * 32 + t % 32;
    for (int i = 0; i < rounds + id; i++) {
        s[t] = v;
        asm volatile("barrier.sync %0, 64;" ::"r"(id) : "memory");
        v = s[other] + 1;
        asm volatile("barrier.sync %0, 64;" ::"r"(id) : "memory");
    }
    out[t] = v;
}

static void check_named()
{
    Dev<int> d(256);
    int out[256];
    const int rounds = 9;
    handing_over<<<1, 64>>>(d, rounds);
    CHECK_LAUNCH();
    d.get(out);
    for (int t = 0; t < 64; t++) {
        int want = rounds * (rounds - 1) / 2 * 100 + rounds * (31 - (t & 31)) + t;
        EXPECT(out[t] == want, "handing over, thread %d: %d, expected %d", t, out[t], want);
    }
    for (int n = 64; n <= 256; n += 64) {
        pairs<<<1, n>>>(d, rounds);
        CHECK_LAUNCH();
        d.get(out);
        for (int t = 0; t < n; t++) {
            int warps = n / 32, warp = t / 32, times = rounds + 1 + warp % (warps / 2);
            int from = times % 2 ? (warp + warps / 2) % warps * 32 + t % 32 : t;
            EXPECT(out[t] == from + times, "pairs, %d threads, thread %d: %d, expected %d", n, t, out[t], from + times);
        }
    }
}

/* ---- Counting and deciding barriers at two places */
__global__ void counting(const int *in, int *out)
{
    int t = threadIdx.x, v = in[t], r;
    if (t & 32)
        r = __syncthreads_count(v & 1) * 4 + __syncthreads_or(v == 5) * 2 + __syncthreads_and(v < 90);
    else
        r = __syncthreads_count(v & 1) * 4 + __syncthreads_or(v == 5) * 2 + __syncthreads_and(v < 90) + 10000;
    out[t] = r;
}

static void check_counting(int n)
{
    for (int limit = 4; limit <= 100; limit += 48) {
        std::vector<int> in(n), out(n);
        Rng rng(n + limit);
        int count = 0, some = 0, every = 1;
        for (int &v : in) {
            v = (int)rng.below(limit);
            count += v & 1, some |= v == 5, every &= v < 90;
        }
        Dev<int> din(in.data(), n), d(n);
        counting<<<1, n>>>(din, d);
        CHECK_LAUNCH();
        d.get(out.data());
        for (int t = 0; t < n; t++) {
            int want = count * 4 + some * 2 + every + (t & 32 ? 0 : 10000);
            EXPECT(out[t] == want, "counting, %d threads, thread %d: %d, expected %d", n, t, out[t], want);
        }
    }
}

/* ---- A lock that the leaders of neighbouring warps take, each for its warp. */
__global__ void locks(int *lock, int *sum, int rounds)
{
    int t = threadIdx.x, lane = t & 31;
    unsigned mask = lanes_here(blockDim.x);
    for (int i = 0; i < rounds; i++) {
        if (lane == 0) {
            while (atomicCAS(lock, 0, 1) != 0)
                ;
            __threadfence();
        }
        __syncwarp(mask);
        int seen = *(volatile int *)sum + __shfl_sync(mask, t, 0);
        __syncwarp(mask);
        if (lane == 0)
            *(volatile int *)sum = seen;
        __threadfence();
        __syncwarp(mask);
        if (lane == 0)
            atomicExch(lock, 0);
    }
}

/* ---- A warp waits in a loop for a flag that its neighbour sets later. */
__global__ void flags(int *out)
{
    __shared__ volatile int flag[16], value[16];
    int t = threadIdx.x, warp = t / 32, lane = t & 31, warps = (blockDim.x + 31) / 32;
    if (lane == 0)
        flag[warp] = 0;
    __syncthreads();
    int next = warp ^ 1;
    if (next < warps) {
        if (warp & 1) { /* the odd one asks, the even one answers */
            if (lane == 0) {
                value[warp] = warp * 7;
                __threadfence_block();
                flag[warp] = 1;
                while (flag[next] == 0)
                    ;
                __threadfence_block();
            }
        } else {
            if (lane == 0) {
                while (flag[next] == 0)
                    ;
                __threadfence_block();
                value[warp] = value[next] + 1;
                __threadfence_block();
                flag[warp] = 1;
            }
        }
        __syncwarp(lanes_here(blockDim.x));
        out[t] = __shfl_sync(lanes_here(blockDim.x), (int)value[next], 0) + t;
    } else {
        out[t] = -t;
    }
    __syncthreads();
    out[t] += flag[0];
}

static void check_spinning(int n)
{
    const int rounds = 5;
    int warps = (n + 31) / 32, sum, want = 0;
    Dev<int> lock(1), total(1), d(n);
    std::vector<int> out(n);
    lock.fill(0);
    total.fill(0);
    locks<<<1, n>>>(lock, total, rounds);
    CHECK_LAUNCH();
    total.get(&sum);
    for (int w = 0; w < warps; w++)
        want += rounds * 32 * w;
    EXPECT(sum == want, "locks, %d threads: %d, expected %d", n, sum, want);
    flags<<<1, n>>>(d);
    CHECK_LAUNCH();
    d.get(out.data());
    for (int t = 0; t < n; t++) {
        int w = t / 32, v = (w ^ 1) >= warps ? -t : (w & 1 ? w * 7 + 1 : (w ^ 1) * 7) + t;
        v += warps > 1;
        EXPECT(out[t] == v, "flags, %d threads, thread %d: %d, expected %d", n, t, out[t], v);
    }
}

int main()
{
    for (int n : {32, 33, 64, 80, 128, 256})
        check_spinning(n);
    for (int n : {1, 31, 32, 33, 48, 63, 64, 65, 96, 127, 160, 256}) {
        check_operations(n);
        check_two_loops(n, 11);
        check_counting(n);
    }
    for (int n : {32, 33, 48, 64, 96, 128, 160, 192, 256}) {
        check_two_places(n);
        check_leaving(n);
    }
    check_two_loops(1024, 40);
    check_named();
    return check_done();
}
