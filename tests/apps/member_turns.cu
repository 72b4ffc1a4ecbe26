// Operations of a warp with one member mask that its lanes come to in turn: in different rounds of a loop, at one place after the
// other, on sides of a branch within a function.  Each waits for all lanes of the mask (member_masks.cu has what lies on two
// sides of one branch, or was unrolled).
// needs: -arch=sm_80
// variants: shared debug sm_75 sm_80 sm_86 sm_89 sm_90 rdc_sm_75 rdc_sm_80 rdc_sm_86 rdc_sm_90
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

enum { WARPS = 3, THREADS = 32 * WARPS, BLOCKS = 2, ALL = THREADS * BLOCKS };
static const unsigned EVERY = 0xffffffff;
typedef unsigned u32;

#define LANE (threadIdx.x & 31)

/* Each lane exchanges in one round, in which, its number says. */
__global__ void later_round(const u32 *in, u32 *out)
{
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, v = in[t], turn = v >> 3 & 3;
#pragma unroll 1
    for (u32 i = 0; i < 4; i++)
        if (i == turn)
            v = v * 5 + __shfl_sync(EVERY, v * 3 + i, LANE ^ 1);
        else
            v += i + 1;
    out[t] = v;
}

/* Adds what the rounds behind a lane's turn add. */
static u32 after_turn(u32 v, u32 turn)
{
    for (u32 k = turn + 1; k < 4; k++)
        v += k + 1;
    return v;
}

static void later_round_host(const u32 *v, u32 *r)
{
    u32 given[32], mine[32];
    for (u32 i = 0; i < 32; i++) {
        u32 turn = v[i] >> 3 & 3;
        mine[i] = v[i] + turn * (turn + 1) / 2;
        given[i] = mine[i] * 3 + turn;
    }
    for (u32 i = 0; i < 32; i++)
        r[i] = after_turn(mine[i] * 5 + given[i ^ 1], v[i] >> 3 & 3);
}

/* The same through shared memory: nothing but the wait is for the warp. */
__global__ void later_wait(const u32 *in, u32 *out)
{
    __shared__ u32 s[THREADS];
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, v = in[t], turn = v >> 3 & 3;
#pragma unroll 1
    for (u32 i = 0; i < 4; i++)
        if (i == turn) {
            s[threadIdx.x] = v;
            __syncwarp();
            v = v * 5 + s[threadIdx.x ^ 1];
        } else {
            v += i + 1;
        }
    out[t] = v;
}

static void later_wait_host(const u32 *v, u32 *r)
{
    u32 mine[32];
    for (u32 i = 0; i < 32; i++)
        mine[i] = v[i] + (v[i] >> 3 & 3) * ((v[i] >> 3 & 3) + 1) / 2;
    for (u32 i = 0; i < 32; i++)
        r[i] = after_turn(mine[i] * 5 + mine[i ^ 1], v[i] >> 3 & 3);
}

/* Votes of half a warp each, with a mask that a register holds. */
__global__ void later_votes(const u32 *in, u32 *out)
{
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, v = in[t], turn = v >> 3 & 3, half = 0xffffu << (LANE & 16);
#pragma unroll 1
    for (u32 i = 0; i < 4; i++)
        if (i == turn)
            v = v * 5 + __ballot_sync(half, v & 32) + 3 * __match_any_sync(half, v >> 6 & 7);
        else
            v += i + 1;
    out[t] = v;
}

static void later_votes_host(const u32 *v, u32 *r)
{
    u32 mine[32];
    for (u32 i = 0; i < 32; i++)
        mine[i] = v[i] + (v[i] >> 3 & 3) * ((v[i] >> 3 & 3) + 1) / 2;
    for (u32 i = 0; i < 32; i++) {
        u32 ballot = 0, match = 0;
        for (u32 k = i & 16; k < (i & 16) + 16; k++) {
            ballot |= (u32)!!(mine[k] & 32) << k;
            match |= (u32)((mine[k] >> 6 & 7) == (mine[i] >> 6 & 7)) << k;
        }
        r[i] = after_turn(mine[i] * 5 + ballot + 3 * match, v[i] >> 3 & 3);
    }
}

/* How often a lane exchanges in a round of the outer loop: six times in all three. */
static __host__ __device__ u32 times(u32 round, u32 lane)
{
    return (round + lane % 3) % 3 + 1;
}

/* Lanes that leave the inner loop sooner come to it again in the next round of the outer one. */
__global__ void outer_round(const u32 *in, u32 *out)
{
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, v = in[t];
#pragma unroll 1
    for (u32 i = 0; i < 3; i++) {
        u32 n = times(i, LANE);
#pragma unroll 1
        for (u32 k = 0; k < n; k++)
            v = v * 3 + __shfl_sync(EVERY, v ^ k, (LANE + 1) % 32);
        v += i + 7;
    }
    out[t] = v;
}

static void outer_round_host(const u32 *v, u32 *r)
{
    u32 round[32] = { 0 }, k[32] = { 0 };
    memcpy(r, v, 32 * sizeof *r);
    for (u32 n = 0; n < 6; n++) {
        u32 given[32];
        for (u32 i = 0; i < 32; i++)
            given[i] = r[i] ^ k[i];
        for (u32 i = 0; i < 32; i++) {
            r[i] = r[i] * 3 + given[(i + 1) % 32];
            if (++k[i] == times(round[i], i))
                r[i] += round[i]++ + 7, k[i] = 0;
        }
    }
}

/* Two branches, one behind the other; that the conditions are opposites does not show. */
__global__ void in_turn(const u32 *in, u32 *out)
{
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, v = in[t], r = v;
    if (v & 8)
        r = r * 3 + __shfl_sync(EVERY, v * 3, LANE ^ 1);
    out[ALL + t] = r * 5;
    if (!(__brev(v) >> 28 & 1))
        r = r * 5 ^ __shfl_sync(EVERY, v - 1, LANE ^ 1);
    out[t] = r;
}

static void in_turn_host(const u32 *v, u32 *r)
{
    for (u32 i = 0; i < 32; i++) {
        u32 far = v[i ^ 1], given = far & 8 ? far * 3 : far - 1;
        r[i] = v[i] & 8 ? v[i] * 3 + given : v[i] * 5 ^ given;
    }
}

/* Three places by what memory says, of which each lane comes to one, and shared memory that they hand over. */
__global__ void by_memory(const u32 *in, u32 *out)
{
    __shared__ u32 s[THREADS];
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, at = threadIdx.x, v = in[t], r = 0;
    u32 first = out[t], second = out[ALL + t], third = out[2 * ALL + t];
    if (first) {
        s[at] = v;
        __syncwarp();
        r = s[at ^ 1] + 1;
    }
    if (second) {
        s[at] = v * 3;
        __syncwarp();
        r = s[at ^ 1] + 2;
    }
    if (third) {
        s[at] = v * 5;
        __syncwarp();
        r = s[at ^ 1] + 3;
    }
    out[t] = r;
}

static void by_memory_host(const u32 *v, u32 *r)
{
    for (u32 i = 0; i < 32; i++) {
        u32 far = v[i ^ 1];
        r[i] = far * (2 * (far % 3) + 1) + v[i] % 3 + 1;
    }
}

static __device__ __noinline__ u32 either(u32 v)
{
    if (LANE < 16)
        return 3 * __shfl_sync(EVERY, v, LANE + 16) + 1;
    return 5 * __shfl_sync(EVERY, v + 7, LANE - 16) - 2;
}

/* Functions that lanes come to together, and in which they part: by their number, and by what they are given. */
__global__ void in_function(const u32 *in, u32 *out)
{
    u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    out[t] = either(in[t]);
}

static void in_function_host(const u32 *v, u32 *r)
{
    for (u32 i = 0; i < 32; i++)
        r[i] = i < 16 ? 3 * (v[i + 16] + 7) + 1 : 5 * v[i - 16] - 2;
}

static __device__ __noinline__ u32 as_given(u32 side, u32 v)
{
    u32 r;
    if (side)
        r = __shfl_sync(EVERY, v + 1, LANE ^ 1);
    else
        r = __shfl_sync(EVERY, v * 3, LANE ^ 1) ^ 5;
    return r;
}

__global__ void by_argument(const u32 *in, u32 *out)
{
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, v = in[t];
    out[t] = as_given(v & 4, v) + 2 * as_given(v & 16, v + 9);
}

static void by_argument_host(const u32 *v, u32 *r)
{
    for (u32 i = 0; i < 32; i++) {
        u32 far = v[i ^ 1], one = far & 4 ? far + 1 : far * 3, two = far & 16 ? far + 10 : (far + 9) * 3;
        r[i] = (v[i] & 4 ? one : one ^ 5) + 2 * (v[i] & 16 ? two : two ^ 5);
    }
}

static __device__ __noinline__ u32 perhaps(u32 is, u32 v)
{
    if (is)
        v = v * 3 + __shfl_sync(EVERY, v * 3, LANE ^ 1);
    return v;
}

/* Each lane exchanges in one of two calls, or of four rounds, of a function. */
__global__ void two_calls(const u32 *in, u32 *out)
{
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, v = in[t];
    v = perhaps(v & 8, v) + 1;
    out[t] = perhaps(!(__brev(in[t]) >> 28 & 1), v);
}

static void two_calls_host(const u32 *v, u32 *r)
{
    for (u32 i = 0; i < 32; i++) {
        u32 far = v[i ^ 1], given = 3 * (far & 8 ? far : far + 1);
        r[i] = v[i] & 8 ? v[i] * 3 + given + 1 : (v[i] + 1) * 3 + given;
    }
}

__global__ void calls_in_rounds(const u32 *in, u32 *out)
{
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, v = in[t];
#pragma unroll 1
    for (u32 i = 0; i < 4; i++)
        v = perhaps(i == (in[t] >> 3 & 3), v) + 1;
    out[t] = v;
}

static void calls_in_rounds_host(const u32 *v, u32 *r)
{
    for (u32 i = 0; i < 32; i++) {
        u32 turn = v[i] >> 3 & 3, far = v[i ^ 1];
        r[i] = (v[i] + turn) * 3 + 3 * (far + (far >> 3 & 3)) + 4 - turn;
    }
}

/* Lanes leave a loop one after the other, and those that are left exchange.  The assembler makes two loops of it, one of four
 * rounds at a time: lanes with one mask are in both, and none may wait for those that have left. */
__global__ void fewer_each_round(const u32 *in, u32 *out)
{
    __shared__ u32 s[THREADS];
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, v = in[t], rounds = (v >> 5) % 7, left = __ballot_sync(EVERY, v & 1);
    if (v & 1)
        for (u32 i = 0;; i++) {
            s[threadIdx.x] = v + i;
            __syncwarp(left);
            u32 above = LANE == 31 ? 0 : left & 0xfffffffeu << LANE;
            u32 far = s[(threadIdx.x & ~31u) + __ffs(above ? above : left) - 1];
            __syncwarp(left);
            v = v * 3 + far;
            bool ends = i >= rounds;
            left &= ~__ballot_sync(left, ends);
            if (ends)
                break;
        }
    __syncthreads();
    out[t] = v ^ __ballot_sync(EVERY, v & 4);
}

static void fewer_each_round_host(const u32 *v, u32 *r)
{
    u32 now[32], next[32];
    for (u32 i = 0; i < 32; i++)
        r[i] = now[i] = v[i];
    for (u32 k = 0; k < 7; k++) {
        for (u32 i = 0; i < 32; i++) {
            if (!(v[i] & 1) || (v[i] >> 5) % 7 < k)
                continue;
            u32 at = i;
            do
                at = (at + 1) % 32;
            while (!(v[at] & 1) || (v[at] >> 5) % 7 < k);
            next[i] = r[i] = now[i] * 3 + now[at] + k;
        }
        for (u32 i = 0; i < 32; i++)
            if (v[i] & 1 && (v[i] >> 5) % 7 >= k)
                now[i] = next[i];
    }
    u32 ballot = 0;
    for (u32 i = 0; i < 32; i++)
        ballot |= (r[i] >> 2 & 1) << i;
    for (u32 i = 0; i < 32; i++)
        r[i] ^= ballot;
}

typedef void kernel(const u32 *in, u32 *out);

static void check(const char *name, kernel *k, kernel *host, const u32 *in)
{
    static u32 got[3 * ALL], want[ALL];
    for (int t = 0; t < ALL; t++)
        for (u32 i = 0; i < 3; i++)
            got[i * ALL + t] = in[t] % 3 == i;
    Dev<u32> din(in, ALL), dout(got, 3 * ALL);
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
    X(later_round) X(later_wait) X(later_votes) X(outer_round) X(in_turn) X(by_memory) X(in_function) X(by_argument)
    X(two_calls) X(calls_in_rounds) X(fewer_each_round)
    return check_done();
}
