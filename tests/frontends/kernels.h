/* The kernels, for clang's CUDA C++ (kernels.cu) and for plain C on LLVM's NVPTX (kernels.c), with clang's builtins and no header
 * of any toolkit.  Each takes `in` and `out`, n elements both; blocks have BLOCK threads, and n is a multiple of it.  run.c says
 * what must come out. */
/* SPDX-License-Identifier: Apache-2.0 */
#define ON_DEVICE
#include "bodies.h"

#define BLOCK 128

INLINE u32 lane_index(void)
{
    return __nvvm_read_ptx_sreg_tid_x();
}

INLINE u32 element(void)
{
    return __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + lane_index();
}

#define ELEMENT_KERNEL(name)                                  \
    KERNEL void name(const u32 *in, u32 *out, u32 n)          \
    {                                                         \
        u32 i = element();                                    \
        if (i < n)                                            \
            out[i] = body_##name(in[i], i);                   \
    }
ELEMENT_KERNEL(integers)
ELEMENT_KERNEL(floats)
ELEMENT_KERNEL(doubles)
ELEMENT_KERNEL(halves)
ELEMENT_KERNEL(branches)
ELEMENT_KERNEL(locals)
ELEMENT_KERNEL(wide)

/* The block's elements in reverse, plus the sum of all of them. */
KERNEL void shared_sum(const u32 *in, u32 *out, u32 n)
{
    static SHARED u32 tile[BLOCK], sums[BLOCK];
    u32 i = element(), t = lane_index();
    tile[t] = sums[t] = in[i];
    __syncthreads();
    for (u32 step = BLOCK / 2; step; step /= 2) {
        if (t < step)
            sums[t] += sums[t + step];
        __syncthreads();
    }
    out[i] = tile[BLOCK - 1 - t] + sums[0];
}

KERNEL void warp_steps(const u32 *in, u32 *out, u32 n)
{
    u32 i = element(), v = in[i], lane = lane_index() & 31, sum = v;
    for (int step = 1; step < 32; step *= 2) {
        u32 other = (u32)__nvvm_shfl_sync_up_i32(-1, (int)sum, step, 0);
        sum += lane >= (u32)step ? other : 0;
    }
    u32 votes = (u32)__nvvm_vote_ballot_sync((u32)-1, v & 1), turned = (u32)__nvvm_shfl_sync_bfly_i32(-1, (int)v, 5, 31);
    if (__nvvm_vote_any_sync((u32)-1, v % 61 == 0))
        sum ^= 0x1000;
    out[i] = sum + votes * 3 + turned;
}

/* `out` begins as zeroes: 16 counters of elements, their largest, the sum as u64, a lock's count. */
KERNEL void atomics(const u32 *in, u32 *out, u32 n)
{
    u32 v = in[element()];
    __nvvm_atom_add_gen_i((int *)&out[v & 15], 1);
    __nvvm_atom_max_gen_ui(&out[16], v);
    __nvvm_atom_add_gen_ll((s64 *)&out[18], v);
    for (u32 seen = out[20];;) { /* largest of the low halves, by compare and swap */
        u32 want = (v & 0xffff) > seen ? v & 0xffff : seen,
            was = (u32)__nvvm_atom_cas_gen_i((int *)&out[20], (int)seen, (int)want);
        if (was == seen)
            break;
        seen = was;
    }
    __atomic_fetch_xor(&out[21], v, __ATOMIC_RELAXED);
}

/* ---- Tables and function pointers */
NOINLINE u32 op_add(u32 a, u32 b) { return a + b; }
NOINLINE u32 op_mul(u32 a, u32 b) { return a * b; }
NOINLINE u32 op_rot(u32 a, u32 b) { return a << (b & 31) | a >> (-b & 31); }
NOINLINE u32 op_sub(u32 a, u32 b) { return a - b; }

static CONSTANT const u32 primes[8] = { 2, 3, 5, 7, 11, 13, 17, 19 };
static GLOBAL u32 (*operations[4])(u32, u32) = { op_add, op_mul, op_rot, op_sub };
static GLOBAL const u32 *inner = primes + 2;

KERNEL void tables(const u32 *in, u32 *out, u32 n)
{
    u32 i = element(), v = in[i];
    out[i] = operations[v & 3](v, primes[i & 7]) + inner[v % 5];
}
