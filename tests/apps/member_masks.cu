// Operations of a warp that lanes of one member mask come to at different places: each waits for all of the mask, wherever they
// are.
// needs: -arch=sm_80
// variants: shared debug sm_75 sm_80 sm_86 sm_89 sm_90 rdc_sm_75 rdc_sm_80 rdc_sm_86 rdc_sm_90
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

enum { WARPS = 3, THREADS = 32 * WARPS, BLOCKS = 2, ALL = THREADS * BLOCKS };
static const unsigned EVERY = 0xffffffff;
typedef unsigned u32;

#define LANE (threadIdx.x & 31)

/* ---- Places that the source has.  in[] and out[] have an element for each thread of the grid. */

__global__ void both_sides(const u32 *in, u32 *out)
{
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, v = in[t];
    if (LANE < 16)
        out[t] = 3 * __shfl_sync(EVERY, v, LANE + 16) + 1;
    else
        out[t] = 5 * __shfl_sync(EVERY, v + 7, LANE - 16) - 2;
}

static void both_sides_host(const u32 *v, u32 *r)
{
    for (u32 i = 0; i < 32; i++)
        r[i] = i < 16 ? 3 * (v[i + 16] + 7) + 1 : 5 * v[i - 16] - 2;
}

__global__ void by_memory(const u32 *in, u32 *out)
{
    __shared__ u32 s[THREADS];
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, at = threadIdx.x, v = in[t], r;
    if (at & 1) {
        s[at] = 2 * v;
        __syncwarp();
        r = s[at ^ 1];
        __syncwarp();
        s[at] = r + 1;
    } else {
        s[at] = v + 100;
        __syncwarp();
        r = s[at ^ 1] + 5;
        __syncwarp();
    }
    __syncwarp();
    out[t] = r + s[at ^ 1];
}

static void by_memory_host(const u32 *v, u32 *r)
{
    u32 got[32], left[32];
    for (u32 i = 0; i < 32; i++) {
        got[i] = i & 1 ? v[i - 1] + 100 : 2 * v[i + 1] + 5;
        left[i] = i & 1 ? got[i] + 1 : v[i] + 100;
    }
    for (u32 i = 0; i < 32; i++)
        r[i] = got[i] + left[i ^ 1];
}

__global__ void votes(const u32 *in, u32 *out)
{
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, v = in[t], r;
    if (v & 1)
        r = __ballot_sync(EVERY, v & 2) + 3 * __any_sync(EVERY, v == in[0]);
    else
        r = ~__ballot_sync(EVERY, v & 4) * 7 + 5 * __any_sync(EVERY, v == in[0] + 1);
    out[t] = r;
}

static void votes_host(const u32 *v, u32 *r)
{
    static u32 first;
    static bool known;
    if (!known)
        first = v[0], known = true;
    u32 bits = 0;
    bool any = false;
    for (u32 i = 0; i < 32; i++) {
        bits |= (u32)((v[i] & (v[i] & 1 ? 2 : 4)) != 0) << i;
        any |= v[i] & 1 ? v[i] == first : v[i] == first + 1;
    }
    for (u32 i = 0; i < 32; i++)
        r[i] = v[i] & 1 ? bits + 3 * any : ~bits * 7 + 5 * any;
}

static __device__ __forceinline__ u32 sum_of_all(u32 v)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(EVERY, v);
#else
    for (u32 far = 16; far; far /= 2)
        v += __shfl_xor_sync(EVERY, v, far);
    return v;
#endif
}

__global__ void sums(const u32 *in, u32 *out)
{
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, v = in[t], r;
    switch (LANE % 3) {
    case 0: r = sum_of_all(v) ^ __match_any_sync(EVERY, v % 5); break;
    case 1: r = sum_of_all(v * 3) + __match_any_sync(EVERY, v % 5); break;
    default: r = sum_of_all(v + 11) * 3 + __match_any_sync(EVERY, v % 7); break;
    }
    out[t] = r;
}

static void sums_host(const u32 *v, u32 *r)
{
    u32 sum = 0, key[32];
    for (u32 i = 0; i < 32; i++) {
        sum += i % 3 == 0 ? v[i] : i % 3 == 1 ? v[i] * 3 : v[i] + 11;
        key[i] = i % 3 == 2 ? v[i] % 7 : v[i] % 5;
    }
    for (u32 i = 0; i < 32; i++) {
        u32 same = 0;
        for (u32 j = 0; j < 32; j++)
            same |= (u32)(key[i] == key[j]) << j;
        r[i] = i % 3 == 0 ? sum ^ same : i % 3 == 1 ? sum + same : sum * 3 + same;
    }
}

static __device__ __noinline__ u32 exchange(u32 mask, u32 v, u32 from)
{
    return __shfl_sync(mask, v, from) * 3 + 1;
}

__global__ void in_function(const u32 *in, u32 *out)
{
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, v = in[t], next = (LANE + 1) % 32;
    if (LANE % 3 == 0)
        v = exchange(EVERY, v + 1, next);
    else if (LANE % 3 == 1)
        v = exchange(EVERY, v * 2, next) ^ 9;
    else
        v = exchange(EVERY, v, next) + v;
    out[t] = v;
}

static void in_function_host(const u32 *v, u32 *r)
{
    for (u32 i = 0; i < 32; i++) {
        u32 j = (i + 1) % 32, far = (j % 3 == 0 ? v[j] + 1 : j % 3 == 1 ? v[j] * 2 : v[j]) * 3 + 1;
        r[i] = i % 3 == 0 ? far : i % 3 == 1 ? far ^ 9 : far + v[i];
    }
}

/* A shuffle that says whether there was a lane to take from. */
template <int ROW> static __device__ u32 add_lower(u32 v, u32 by, u32 mask)
{
    u32 r;
    asm volatile("{ .reg .pred p; shfl.sync.up.b32 %0|p, %1, %2, %3, %4; @p add.u32 %0, %0, %1; }"
                 : "=r"(r)
                 : "r"(v), "r"(by), "n"((32 - ROW) << 8), "r"(mask));
    return r;
}

__global__ void with_predicate(const u32 *in, u32 *out)
{
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, v = in[t], mask = LANE < 16 ? 0xffff : 0xffff0000;
    if (v & 1) {
        v = add_lower<32>(v, 1, EVERY) + 1;
        v = add_lower<16>(v, 2, mask) * 3;
    } else {
        v = add_lower<32>(v * 2, 1, EVERY);
        v = add_lower<16>(v, 2, mask) + 7;
    }
    out[t] = v;
}

static void with_predicate_host(const u32 *v, u32 *r)
{
    u32 given[32], once[32];
    for (u32 i = 0; i < 32; i++) {
        given[i] = v[i] & 1 ? v[i] : v[i] * 2;
        once[i] = (i ? given[i] + given[i - 1] : given[i]) + (v[i] & 1);
    }
    for (u32 i = 0; i < 32; i++) {
        u32 sum = i % 16 < 2 ? once[i] : once[i] + once[i - 2];
        r[i] = v[i] & 1 ? sum * 3 : sum + 7;
    }
}

/* Two groups of lanes, each with a mask of its own, at both places. */
__global__ void halves(const u32 *in, u32 *out)
{
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, v = in[t], mask = LANE < 16 ? 0xffff : 0xffff0000;
    if (LANE & 4)
        out[t] = __shfl_sync(mask, v, LANE ^ 4) + 1;
    else
        out[t] = __shfl_sync(mask, v * 2, LANE ^ 4);
}

static void halves_host(const u32 *v, u32 *r)
{
    for (u32 i = 0; i < 32; i++)
        r[i] = i & 4 ? v[i ^ 4] * 2 + 1 : v[i ^ 4];
}

/* One side has an operation of its own before that of all. */
__global__ void part_first(const u32 *in, u32 *out)
{
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, v = in[t], upper = __ballot_sync(EVERY, LANE >= 16);
    if (LANE >= 16) {
        v += __shfl_sync(upper, v, 16 | ((LANE + 1) & 15));
        out[t] = __shfl_sync(EVERY, v, LANE - 16);
    } else {
        out[t] = __shfl_sync(EVERY, v * 7, LANE + 16);
    }
}

static void part_first_host(const u32 *v, u32 *r)
{
    for (u32 i = 0; i < 32; i++)
        r[i] = i < 16 ? v[i + 16] + v[16 | ((i + 1) & 15)] : v[i - 16] * 7;
}

/* A loop on one side, the same number of operations on the other. */
__global__ void rounds(const u32 *in, u32 *out)
{
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, v = in[t];
    if (LANE < 16) {
#pragma unroll 1
        for (u32 i = 0; i < 3; i++)
            v = v * 3 + __shfl_sync(EVERY, v, LANE + 16);
    } else {
        v ^= __shfl_sync(EVERY, v, LANE - 16);
        v += __shfl_sync(EVERY, v + 2, LANE - 16);
        v ^= __shfl_sync(EVERY, v, LANE - 16) * 5;
    }
    out[t] = v;
}

static void rounds_host(const u32 *v, u32 *r)
{
    memcpy(r, v, 32 * sizeof *r);
    for (u32 k = 0; k < 3; k++) {
        u32 old[32];
        memcpy(old, r, sizeof old);
        for (u32 i = 0; i < 16; i++) {
            r[i] = old[i] * 3 + old[i + 16] + (k == 1 ? 2 : 0);
            r[i + 16] = k == 0 ? old[i + 16] ^ old[i] : k == 1 ? old[i + 16] + old[i] : old[i + 16] ^ old[i] * 5;
        }
    }
}

/* Two branches, one behind the other, by one condition. */
__global__ void in_order(const u32 *in, u32 *out)
{
    __shared__ u32 s[THREADS];
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, at = threadIdx.x, v = in[t], r = 0;
    bool upper = v & 8;
    if (!upper) {
        s[at] = v;
        __syncwarp();
        r = __shfl_sync(EVERY, v * 3, LANE ^ 1);
        r += s[at ^ 1];
    }
    out[ALL + t] = r * 5;
    if (upper) {
        s[at] = v + 9;
        __syncwarp();
        r = __shfl_sync(EVERY, v - 1, LANE ^ 1);
        r ^= s[at ^ 1];
    }
    out[t] = r;
}

static void in_order_host(const u32 *v, u32 *r)
{
    for (u32 i = 0; i < 32; i++) {
        u32 far = v[i ^ 1], upper = far & 8, given = upper ? far - 1 : far * 3, kept = upper ? far + 9 : far;
        r[i] = v[i] & 8 ? given ^ kept : given + kept;
    }
}

/* Lanes that have ended are waited for no more. */
__global__ void some_end(const u32 *in, u32 *out)
{
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, v = in[t];
    if (LANE >= 20) {
        out[t] = __shfl_sync(EVERY, v, 3);
        return;
    }
    v += __shfl_sync(EVERY, v, 25);
    for (u32 i = 0; i < 3; i++)
        v = v * 5 + __shfl_sync(EVERY, v, (LANE + i + 1) % 20);
    out[t] = v;
}

static void some_end_host(const u32 *v, u32 *r)
{
    for (u32 i = 0; i < 32; i++)
        r[i] = i < 20 ? v[i] + v[25] : v[3];
    for (u32 k = 0; k < 3; k++) {
        u32 old[32];
        memcpy(old, r, sizeof old);
        for (u32 i = 0; i < 20; i++)
            r[i] = old[i] * 5 + old[(i + k + 1) % 20];
    }
}

/* ---- Places that nvcc makes of one: it unrolls the loop, and lanes with few rounds go to what is left of it at once. */

static __host__ __device__ u32 next_of(u32 bits, u32 lane)
{
    for (u32 i = 1; i < 32; i++)
        if (bits >> (lane + i) % 32 & 1)
            return (lane + i) % 32;
    return lane;
}

template <bool SHARED> __global__ void fewer(const u32 *in, u32 *out)
{
    __shared__ u32 s[THREADS];
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, at = threadIdx.x, v = in[t], last = v % 7;
    u32 left = __ballot_sync(EVERY, v & 24);
    if (v & 24)
        for (u32 i = 0;; i++) {
            u32 from = next_of(left, LANE), far;
            if (SHARED) {
                s[at] = v + i;
                __syncwarp(left);
                far = s[at / 32 * 32 + from];
                __syncwarp(left);
            } else {
                far = __shfl_sync(left, v + i, from);
            }
            v = v * 3 + far;
            bool ends = i >= last;
            left &= ~__ballot_sync(left, ends);
            if (ends)
                break;
        }
    __syncthreads();
    out[t] = v;
}

static void fewer_host(const u32 *v, u32 *r)
{
    u32 left = 0;
    memcpy(r, v, 32 * sizeof *r);
    for (u32 i = 0; i < 32; i++)
        left |= (u32)((v[i] & 24) != 0) << i;
    for (u32 k = 0; left; k++) {
        u32 old[32], ends = 0;
        memcpy(old, r, sizeof old);
        for (u32 i = 0; i < 32; i++)
            if (left >> i & 1) {
                r[i] = old[i] * 3 + old[next_of(left, i)] + k;
                ends |= (u32)(k >= v[i] % 7) << i;
            }
        left &= ~ends;
    }
}

/* ---- A wait that is all that is left of an operation whose result nobody wants; the next operation is not for its mask. */

__global__ void unwanted(const u32 *in, u32 *out)
{
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, mask = (LANE & 4 ? 0xf0f0f0f0u : 0x0f0f0f0fu) + (in[t] >> 31);
    if (mask & 16)
        (void)__shfl_down_sync(mask, t, 16);
    __syncthreads();
    out[t] = __match_any_sync(EVERY, in[t] % 3);
}

static void unwanted_host(const u32 *v, u32 *r)
{
    for (u32 i = 0; i < 32; i++) {
        r[i] = 0;
        for (u32 k = 0; k < 32; k++)
            r[i] |= (u32)(v[k] % 3 == v[i] % 3) << k;
    }
}

/* ---- Results that nobody wants on the other side, whose lanes have what is wanted on this one: so FAISS sums squares. */

__global__ void one_side(const u32 *in, u32 *out)
{
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, v = in[t], x = 7;
    if (LANE < 16) {
        x = __shfl_sync(EVERY, v, LANE + 16);
        x ^= __ballot_sync(EVERY, v & 1);
    } else {
        (void)__shfl_sync(EVERY, v, 0);
        (void)__ballot_sync(EVERY, v & 2);
    }
    out[t] = x;
}

static void one_side_host(const u32 *v, u32 *r)
{
    u32 vote = 0;
    for (u32 i = 0; i < 32; i++)
        vote |= (u32)((v[i] & (i < 16 ? 1 : 2)) != 0) << i;
    for (u32 i = 0; i < 32; i++)
        r[i] = i < 16 ? v[i + 16] ^ vote : 7;
}

/* As one_side, but what the other side does with them is seen to be nothing only later, by the compiler's own folding. */
__device__ u32 nothing_of(u32 v)
{
    u32 r;
    asm volatile("{ .reg .b32 a; .reg .b32 b; shfl.sync.idx.b32 a, %1, 0, 31, -1; and.b32 b, a, 255; shr.u32 %0, b, 9; }"
                 : "=r"(r)
                 : "r"(v));
    return r;
}

__global__ void folded(const u32 *in, u32 *out)
{
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, v = in[t], x;
    if (LANE < 16)
        x = __shfl_sync(EVERY, v, LANE + 16);
    else
        x = 7 + nothing_of(v);
    out[t] = x;
}

static void folded_host(const u32 *v, u32 *r)
{
    for (u32 i = 0; i < 32; i++)
        r[i] = i < 16 ? v[i + 16] : 7;
}

__global__ void first_wants(const u32 *in, u32 *out)
{
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, n = in[t - LANE] % 4 + 1;
    out[t] = 0;
    for (u32 k = 0; k < n; k++) {
        u32 v = in[t] * (k + 1);
        for (int d = 16; d; d >>= 1)
            v += __shfl_xor_sync(EVERY, v, d);
        if (LANE == 0)
            out[t] = out[t] * 3 + v;
    }
}

static void first_wants_host(const u32 *v, u32 *r)
{
    memset(r, 0, 32 * sizeof *r);
    for (u32 k = 0; k < v[0] % 4 + 1; k++) {
        u32 sum = 0;
        for (u32 i = 0; i < 32; i++)
            sum += v[i] * (k + 1);
        r[0] = r[0] * 3 + sum;
    }
}

typedef void kernel(const u32 *in, u32 *out);

static void check(const char *name, kernel *k, kernel *host, const u32 *in)
{
    static u32 got[2 * ALL], want[ALL];
    Dev<u32> din(in, ALL), dout(2 * ALL);
    dout.fill(0);
    k<<<BLOCKS, THREADS>>>(din, dout);
    CHECK_LAUNCH();
    dout.get(got);
    for (int w = 0; w < ALL; w += 32)
        host(in + w, want + w);
    for (int t = 0; t < ALL; t++)
        EXPECT(got[t] == want[t], "%s, thread %d: %x, expected %x", name, t, got[t], want[t]);
}

int main()
{
    static u32 in[ALL];
    for (int t = 0; t < ALL; t++)
        in[t] = 2654435761u * (u32)(t + 1) >> 7;
#define X(name) check(#name, name, name##_host, in);
    X(both_sides) X(by_memory) X(votes) X(sums) X(in_function) X(with_predicate)
        X(halves) X(part_first) X(rounds) X(in_order) X(some_end) X(unwanted) X(one_side) X(folded) X(first_wants)
    check("fewer, shared memory", fewer<true>, fewer_host, in);
    check("fewer, shuffles", fewer<false>, fewer_host, in);
    return check_done();
}
