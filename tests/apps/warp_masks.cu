// Warp operations under partial masks and in divergent code: shuffles, votes, match, warp barriers with shared memory,
// reduce_sync, groups of lanes that run different code with disjoint masks, and operations in loops that lanes leave one by one.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

__global__ void halves(int *out)
{
    int t = threadIdx.x, lane = t & 31;
    if (lane < 12) {
        int v = __shfl_xor_sync(0xfffu, t * 2, 3);
        out[t] = v + __popc(__ballot_sync(0xfffu, lane % 3 == 0)) * 1000;
    } else if (lane & 1) {
        int v = __shfl_sync(0xaaaaa000u, t, 13);
        out[t] = v + (__any_sync(0xaaaaa000u, lane == 31) != 0) * 1000 + (__all_sync(0xaaaaa000u, lane > 12) != 0) * 2000;
    } else {
        unsigned b = __ballot_sync(0x55555000u, lane > 20);
        out[t] = (int)(b >> 12);
    }
    __syncwarp();
    out[64 + t] = __shfl_down_sync(~0u, out[t], 1);
}

__global__ void matches(const int *in, const long long *wide, unsigned *out, int *pred)
{
    int t = threadIdx.x;
    out[t] = __match_any_sync(~0u, in[t]);
    out[64 + t] = __match_any_sync(~0u, wide[t]);
    int p, q;
    out[128 + t] = __match_all_sync(~0u, in[t] < 1000, &p);
    out[192 + t] = __match_all_sync(~0u, wide[t], &q);
    pred[t] = p | q << 1;
    if (t % 2)
        out[256 + t] = __match_any_sync(0xaaaaaaaau, in[t]);
    else
        out[256 + t] = 0;
}

/* Lanes leave a loop one after another; the ones that are left vote with the mask of those still in. */
__global__ void leaving(const int *limit, int *out)
{
    int t = threadIdx.x, lane = t & 31, n = limit[t], sum = 0;
    unsigned mask = ~0u;
    for (int i = 0;; i++) {
        unsigned stay = __ballot_sync(mask, i < n);
        if (i >= n)
            break;
        mask = stay;
        int leader = __ffs(stay) - 1;
        sum += __shfl_sync(mask, lane * 100 + i, leader) + __popc(mask);
    }
    out[t] = sum;
}

__global__ void reduces(const int *in, int *out)
{
    int t = threadIdx.x, v = in[t];
#if __CUDA_ARCH__ >= 800
    out[t] = __reduce_add_sync(~0u, v);
    out[64 + t] = __reduce_min_sync(~0u, v);
    out[128 + t] = __reduce_max_sync(~0u, (unsigned)v);
    out[192 + t] = __reduce_xor_sync(~0u, (unsigned)v);
    if (t % 4 == 1)
        out[256 + t] = __reduce_or_sync(0x22222222u, (unsigned)v);
    else
        out[256 + t] = 0;
#else
    int sum = v, least = v;
    unsigned most = v, exor = v, either = v;
    for (int d = 16; d; d >>= 1) {
        sum += __shfl_xor_sync(~0u, sum, d);
        least = min(least, __shfl_xor_sync(~0u, least, d));
        most = max(most, __shfl_xor_sync(~0u, most, d));
        exor ^= __shfl_xor_sync(~0u, exor, d);
    }
    out[t] = sum, out[64 + t] = least, out[128 + t] = most, out[192 + t] = exor;
    out[256 + t] = 0;
    if (t % 4 == 1) {
        for (int d = 16; d >= 4; d >>= 1)
            either |= __shfl_xor_sync(0x22222222u, either, d);
        out[256 + t] = either;
    }
#endif
}

/* A warp passes values on through shared memory with no barrier but __syncwarp. */
__global__ void ring(int *out)
{
    __shared__ volatile int s[96];
    int t = threadIdx.x, base = t & ~31, lane = t & 31;
    s[t] = t;
    for (int i = 0; i < 40; i++) {
        __syncwarp();
        int v = s[base + ((lane + 1) & 31)];
        __syncwarp();
        s[t] = v + (lane == i % 32);
    }
    __syncwarp();
    out[t] = s[t];
}

/* One atomic a warp for any number of lanes, with the lanes that happen to be active. */
__global__ void aggregated(const int *in, int *counter, int *slots)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (in[t] & 1) {
        unsigned active = __activemask();
        int lane = threadIdx.x & 31, leader = __ffs(active) - 1, base = 0;
        if (lane == leader)
            base = atomicAdd(counter, __popc(active));
        base = __shfl_sync(active, base, leader);
        slots[base + __popc(active & ((1u << lane) - 1))] = t;
    }
}

/* The first of the lanes that are there counts them, and is alone then. */
__global__ void counted(const int *in, int *counter, int *parity)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    if (in[t] & 1) {
        unsigned active = __activemask();
        if (lane == __ffs(active) - 1)
            atomicAdd(counter, __popc(active) + (in[t] & 64));
    }
    parity[t] = in[t] & 1;
}

static void check_counted()
{
    int in[192], want = 0, got = 0;
    for (int t = 0; t < 192; t++)
        in[t] = (t * 7 ^ t >> 2) & 63, want += in[t] & 1;
    Dev<int> din(in, 192), dcounter(&got, 1), dparity(192);
    counted<<<2, 96>>>(din, dcounter, dparity);
    CHECK_LAUNCH();
    dcounter.get(&got);
    EXPECT(got == want, "%d counted, expected %d", got, want);
}

static void check_halves()
{
    Dev<int> d(128);
    int out[128], want[65];
    halves<<<1, 64>>>(d);
    CHECK_LAUNCH();
    d.get(out);
    for (int t = 0; t < 64; t++) {
        int lane = t & 31, base = t & 32;
        want[t] = lane < 12 ? (base + (lane ^ 3)) * 2 + 4000 : lane & 1 ? base + 13 + 3000 : 0x55400;
        EXPECT(out[t] == want[t], "halves %d: %x, expected %x", t, out[t], want[t]);
    }
    for (int t = 0; t < 64; t++) {
        int w = (t & 31) == 31 ? want[t] : want[t + 1];
        EXPECT(out[64 + t] == w, "after joining %d: %x, expected %x", t, out[64 + t], w);
    }
}

static void check_matches()
{
    int in[64], pred[64];
    long long wide[64];
    unsigned out[320];
    for (int t = 0; t < 64; t++) {
        in[t] = t < 32 ? t * t % 7 : t % 5;
        wide[t] = t < 32 ? (long long)(t % 3) << 40 | 1 : 0x1234567800000000LL;
    }
    Dev<int> di(in, 64), dp(64);
    Dev<long long> dw(wide, 64);
    Dev<unsigned> d(320);
    matches<<<1, 64>>>(di, dw, d, dp);
    CHECK_LAUNCH();
    d.get(out);
    dp.get(pred);
    for (int t = 0; t < 64; t++) {
        unsigned a = 0, b = 0, odd = 0;
        for (int k = 0; k < 32; k++) {
            a |= (unsigned)(in[(t & 32) + k] == in[t]) << k;
            b |= (unsigned)(wide[(t & 32) + k] == wide[t]) << k;
            odd |= (unsigned)(k % 2 && in[(t & 32) + k] == in[t]) << k;
        }
        EXPECT(out[t] == a && out[64 + t] == b, "match any %d: %x %x, expected %x %x", t, out[t], out[64 + t], a, b);
        EXPECT(out[128 + t] == ~0u && out[192 + t] == (t < 32 ? 0 : ~0u) && pred[t] == (t < 32 ? 1 : 3),
               "match all %d: %x %x %d", t, out[128 + t], out[192 + t], pred[t]);
        EXPECT(out[256 + t] == (t % 2 ? odd : 0), "partial match %d: %x, expected %x", t, out[256 + t], odd);
    }
}

static void check_leaving()
{
    int limit[96], out[96];
    for (int t = 0; t < 96; t++)
        limit[t] = t < 32 ? t % 11 : t < 64 ? 63 - t : 5;
    Dev<int> dl(limit, 96), d(96);
    leaving<<<1, 96>>>(dl, d);
    CHECK_LAUNCH();
    d.get(out);
    for (int t = 0; t < 96; t++) {
        int sum = 0;
        for (int i = 0; i < limit[t]; i++) {
            int leader = -1, count = 0;
            for (int k = 0; k < 32; k++)
                if (i < limit[(t & ~31) + k]) {
                    leader = leader < 0 ? k : leader;
                    count++;
                }
            sum += leader * 100 + i + count;
        }
        EXPECT(out[t] == sum, "leaving %d: %d, expected %d", t, out[t], sum);
    }
}

static void check_reduces()
{
    int in[64], out[320];
    Rng rng(36);
    for (int &v : in)
        v = (int)rng.u32() >> 3;
    Dev<int> di(in, 64), d(320);
    reduces<<<1, 64>>>(di, d);
    CHECK_LAUNCH();
    d.get(out);
    for (int t = 0; t < 64; t++) {
        unsigned sum = 0, most = 0, exor = 0, either = 0;
        int least = INT32_MAX;
        for (int k = t & 32; k < (t & 32) + 32; k++) {
            sum += in[k];
            least = in[k] < least ? in[k] : least;
            most = (unsigned)in[k] > most ? in[k] : most;
            exor ^= in[k];
            either |= k % 4 == 1 ? in[k] : 0;
        }
        EXPECT((unsigned)out[t] == sum && out[64 + t] == least && (unsigned)out[128 + t] == most &&
                   (unsigned)out[192 + t] == exor && (unsigned)out[256 + t] == (t % 4 == 1 ? either : 0),
               "reduce %d: %x %x %x %x %x", t, out[t], out[64 + t], out[128 + t], out[192 + t], out[256 + t]);
    }
}

static void check_ring_and_aggregated()
{
    int out[96], want[96];
    Dev<int> d(96);
    ring<<<1, 96>>>(d);
    CHECK_LAUNCH();
    d.get(out);
    for (int t = 0; t < 96; t++)
        want[t] = t;
    for (int i = 0; i < 40; i++) {
        int next[96];
        for (int t = 0; t < 96; t++)
            next[t] = want[(t & ~31) + ((t + 1) & 31)] + ((t & 31) == i % 32);
        memcpy(want, next, sizeof want);
    }
    for (int t = 0; t < 96; t++)
        EXPECT(out[t] == want[t], "ring %d: %d, expected %d", t, out[t], want[t]);

    const int n = 768;
    static int in[n], slots[n], seen[n];
    Rng rng(37);
    int odd = 0, count;
    for (int &v : in)
        odd += (v = (int)rng.below(100)) & 1;
    Dev<int> di(in, n), counter(1), ds(n);
    counter.fill(0);
    aggregated<<<4, 192>>>(di, counter, ds);
    CHECK_LAUNCH();
    counter.get(&count);
    ds.get_unordered(slots);
    EXPECT(count == odd, "aggregated count %d, expected %d", count, odd);
    for (int i = 0; i < count && i < n; i++)
        if (slots[i] >= 0 && slots[i] < n)
            seen[slots[i]]++;
    for (int t = 0; t < n; t++)
        EXPECT(seen[t] == (in[t] & 1), "thread %d has %d slots", t, seen[t]);
}

int main()
{
    check_halves();
    check_matches();
    check_leaving();
    check_reduces();
    check_ring_and_aggregated();
    check_counted();
    return check_done();
}
