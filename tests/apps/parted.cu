// Lanes of one warp on ways of their own: barriers that they reach at different places, and ends in the midst of loops, branches
// and functions, with barriers and warp operations of those that are left.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <cooperative_groups.h>
#include <vector>

namespace cg = cooperative_groups;

__device__ void bar(int id)
{
    asm volatile("barrier.sync %0;" :: "r"(id) : "memory");
}

/* Odd lanes hand on to even ones and back, each from its own branch. */
__global__ void branches(int *out)
{
    __shared__ int cell[256];
    int t = threadIdx.x, n = blockDim.x, got;
    auto block = cg::this_thread_block();
    cell[t] = 100 + t;
    if (t & 1) {
        block.sync();
        got = cell[(t + 31) % n] * 2;
        block.sync();
        cell[t] = got;
        bar(0);
    } else {
        bar(0);
        got = cell[(t + 33) % n] * 3;
        block.sync();
        cell[t] = got + 1;
        block.sync();
    }
    out[t] = cell[n - 1 - t];
}

/* Some lanes meet the others' barrier in a function, some in a loop, and some are gone. */
__device__ __noinline__ int deep(int *cell, int t, int n, int depth)
{
    if (depth)
        return deep(cell, t, n, depth - 1) + 1;
    bar(0);
    return cell[(t + 5) % n];
}

__global__ void mixed(int *out)
{
    __shared__ int cell[256];
    int t = threadIdx.x, n = blockDim.x, sum = 0;
    cell[t] = t;
    out[t] = -1;
    if (t % 7 == 6)
        return;
    switch (t % 3) {
    case 0:
        for (int i = 0; i < 3; i++) {
            bar(0);
            sum += cell[(t + i) % n];
        }
        break;
    case 1:
        sum = deep(cell, t, n, t % 4);
        bar(0);
        sum += deep(cell, t, n, 2);
        break;
    default:
        bar(0);
        if (t % 2)
            bar(0);
        else
            asm volatile("barrier.sync 0;" ::: "memory");
        bar(0);
        sum = 7;
    }
    out[t] = sum;
}

/* Lanes leave a loop for good one after another; those left vote, shuffle and meet. */
__device__ __noinline__ void leave_if(bool p)
{
    if (p)
        asm volatile("exit;");
}

__global__ void leaving(int *out)
{
    int t = threadIdx.x, lane = t % 32, sum = 0;
    for (int i = 0;; i++) {
        out[t] = sum;
        if (lane % 5 == i % 5 && lane / 5 <= i / 5)
            asm volatile("exit;");
        unsigned here = __activemask();
        unsigned left = __ballot_sync(here, true);
        sum += __popc(left) + (i & 1 ? __shfl_sync(left, t, __ffs(left) - 1) % 32 : 0);
        leave_if(i == 17 && lane % 2);
        if (i > 40)
            break;
    }
    out[t] = sum + 1000;
}

/* Those that end early count for barriers as if they had come. */
__global__ void ended(int *out)
{
    __shared__ int cell[256];
    int t = threadIdx.x, n = blockDim.x;
    cell[t] = t;
    __syncthreads();
    if (t % 4 == 1)
        asm volatile("exit;");
    out[t] = cell[n - 1 - t];
    if (t / 32 == 1)
        return;
    bar(0);
    cell[t] = t * 2;
    bar(0);
    if (t >= 64 && t % 4 != 2)
        return;
    out[t] += cell[t ^ 2] + 1000 * __popc(__activemask());
}

__device__ void bar(int id, int count)
{
    asm volatile("barrier.sync %0, %1;" :: "r"(id), "r"(count) : "memory");
}

__device__ void arrive(int id, int count)
{
    asm volatile("barrier.arrive %0, %1;" :: "r"(id), "r"(count) : "memory");
}

/* Barriers with a count: each warp of the first half hands on to one of the second and back, the lanes of both from places of
 * their own. */
__global__ void counted(int *out, int rounds)
{
    __shared__ int cell[256];
    int t = threadIdx.x, warp = t / 32, half = blockDim.x / 64, pair = warp % half, there = 1 + pair, back = 5 + pair, sum = 0;
#pragma unroll 1
    for (int i = 0; i < rounds; i++) {
        if (warp < half) {
            cell[t] = t * 10 + i;
            if (t % 3 == 0)
                arrive(there, 64);
            else if (t % 3 == 1)
                asm volatile("barrier.cta.arrive %0, 64;" :: "r"(there) : "memory");
            else
                arrive(there, 64);
            if (t & 1) {
                bar(back, 64);
                sum += cell[t ^ 3];
            } else {
                bar(back, 64);
                sum -= cell[t ^ 3];
            }
            bar(9 + pair, 32);
        } else {
            int at = t - half * 32, v;
            if (t & 8) {
                bar(there, 64);
                v = cell[at ^ 1];
                bar(9 + half + pair, 32);
                cell[at] = v + 1;
                arrive(back, 64);
            } else {
                bar(there, 64);
                v = cell[at ^ 1];
                asm volatile("barrier.sync %0, 32;" :: "r"(9 + half + pair) : "memory");
                cell[at] = v + 2;
                asm volatile("barrier.arrive %0, 64;" :: "r"(back) : "memory");
            }
            sum += v;
        }
    }
    out[t] = sum;
}

/* A reduction whose lanes come from two places, of the block and of one warp; the lanes that end count for neither. */
__global__ void reduced(int *out, int limit)
{
    int t = threadIdx.x, all, some;
    if (t % 32 == 5)
        asm volatile("exit;");
    if (t & 2) {
        asm volatile("{ .reg .pred a; setp.lt.s32 a, %1, %2; barrier.red.popc.u32 %0, 2, a; }" : "=r"(all) : "r"(t),
                     "r"(limit) : "memory");
        out[t] = all;
        asm volatile("{ .reg .pred a, b; setp.lt.s32 a, %1, %2; barrier.red.and.pred b, %3, 32, a; selp.u32 %0, 1, 0, b; }"
                     : "=r"(some) : "r"(t), "r"(limit), "r"(3 + t / 32) : "memory");
    } else {
        asm volatile("{ .reg .pred a; setp.lt.s32 a, %1, %2; barrier.red.popc.u32 %0, 2, a; }" : "=r"(all) : "r"(t),
                     "r"(limit) : "memory");
        out[t] = all;
        asm volatile("{ .reg .pred a, b; setp.lt.s32 a, %1, %2; barrier.red.and.pred b, %3, 32, a; selp.u32 %0, 1, 0, b; }"
                     : "=r"(some) : "r"(t), "r"(limit), "r"(3 + t / 32) : "memory");
    }
    out[t] += 1000 * some;
}

static void check_counted(Dev<int> &out, std::vector<int> &got)
{
    const int rounds = 4;
    for (int n : { 64, 128, 192 }) {
        counted<<<1, n>>>(out, rounds);
        CHECK_LAUNCH();
        out.get(got.data());
        for (int t = 0; t < n; t++) {
            int half = n / 2, at = t % half, w = 0;
            for (int i = 0; i < rounds; i++) {
                int read = (at ^ 1) * 10 + i;                                        /* what the second half saw */
                int source = at ^ 3, seen = (source ^ 1) * 10 + i + ((source + half) & 8 ? 1 : 2);
                w += t >= half ? read : t & 1 ? seen : -seen;
            }
            EXPECT(got[t] == w, "counted, %d threads, thread %d: %d, expected %d", n, t, got[t], w);
        }
    }
    for (int n : { 32, 64, 160 })
        for (int limit : { 0, 17, 64, 160 }) {
            out.fill(0xff);
            reduced<<<1, n>>>(out, limit);
            CHECK_LAUNCH();
            out.get(got.data());
            int count = 0;
            for (int t = 0; t < n; t++)
                count += t % 32 != 5 && t < limit;
            for (int t = 0; t < n; t++) {
                int w = t % 32 == 5 ? -1 : count + (t / 32 * 32 + 31 < limit ? 1000 : 0);
                EXPECT(got[t] == w, "reduced, %d threads, %d, thread %d: %d, expected %d", n, limit, t, got[t], w);
            }
        }
}

int main()
{
    Dev<int> out(256);
    std::vector<int> got(out.n), want(out.n);
    for (int n : { 32, 64, 160, 256 }) {
        branches<<<1, n>>>(out);
        CHECK_LAUNCH();
        out.get(got.data());
        for (int t = 0; t < n; t++)
            want[t] = t & 1 ? (100 + (t + 31) % n) * 2 : (100 + (t + 33) % n) * 3 + 1;
        for (int t = 0; t < n; t++)
            EXPECT(got[t] == want[n - 1 - t], "branches, %d threads, thread %d: %d, expected %d", n, t, got[t], want[n - 1 - t]);
        mixed<<<1, n>>>(out);
        CHECK_LAUNCH();
        out.get(got.data());
        for (int t = 0; t < n; t++) {
            int w = t % 3 == 0 ? t + (t + 1) % n + (t + 2) % n : t % 3 == 1 ? 2 * ((t + 5) % n) + t % 4 + 2 : 7;
            w = t % 7 == 6 ? -1 : w;
            EXPECT(got[t] == w, "mixed, %d threads, thread %d: %d, expected %d", n, t, got[t], w);
        }
    }
    out.fill(0);
    leaving<<<1, 96>>>(out);
    CHECK_LAUNCH();
    out.get(got.data());
    for (int w = 0; w < 3; w++) {
        bool gone[32] = { false };
        int sum[32] = { 0 }, last[32];
        for (int i = 0; i <= 41; i++) {
            unsigned here = 0;
            for (int l = 0; l < 32; l++) {
                if (gone[l])
                    continue;
                last[l] = sum[l];
                gone[l] = l % 5 == i % 5 && l / 5 <= i / 5;
                here |= gone[l] ? 0 : 1u << l;
            }
            for (int l = 0; l < 32; l++)
                if (!gone[l]) {
                    sum[l] += __builtin_popcount(here) + (i & 1 ? (w * 32 + __builtin_ffs((int)here) - 1) % 32 : 0);
                    gone[l] = i == 17 && l % 2;
                }
        }
        for (int l = 0; l < 32; l++) {
            int r = gone[l] ? last[l] : sum[l] + 1000;
            EXPECT(got[w * 32 + l] == r, "leaving, lane %d: %d, expected %d", l, got[w * 32 + l], r);
        }
    }
    for (int n : { 64, 128, 200 }) {
        out.fill(0xff);
        ended<<<1, n>>>(out);
        CHECK_LAUNCH();
        out.get(got.data());
        for (int t = 0; t < n; t++) {
            int w = t % 4 == 1 ? -1 : n - 1 - t;
            bool goes_on = t % 4 != 1 && t / 32 != 1 && !(t >= 64 && t % 4 != 2);
            int here = t < 64 ? 24 : 0;
            for (int l = t / 32 * 32; t >= 64 && l < t / 32 * 32 + 32 && l < n; l++)
                here += l % 4 == 2;
            int other = (t ^ 2) < n && (t ^ 2) % 4 != 1 ? (t ^ 2) * 2 : t ^ 2;
            EXPECT(got[t] == (goes_on ? w + other + 1000 * here : w), "ended, %d threads, thread %d: %d", n, t, got[t]);
        }
    }
    check_counted(out, got);
    return check_done();
}
