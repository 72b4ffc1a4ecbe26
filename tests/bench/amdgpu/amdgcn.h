/* What kernels.cu uses of CUDA's device side, in terms of clang's amdgcn builtins, so that clang can compile that file for a card
 * directly (-x hip, without HIP's headers).  Each does what HIP's own header does for the same name, no more: the comparison is
 * with what a port of the kernel would get.  Not a CUDA implementation. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_AMDGCN_H
#define BENCH_AMDGCN_H

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(n) __attribute__((amdgpu_flat_work_group_size(1, n)))
#define FN static __device__ inline __attribute__((always_inline))

#define DIM(type, fx, fy)                                                                        \
    struct type {                                                                                \
        __declspec(property(get = get_x)) unsigned x;                                            \
        __declspec(property(get = get_y)) unsigned y;                                            \
        __device__ inline __attribute__((always_inline)) unsigned get_x() const { return (fx); } \
        __device__ inline __attribute__((always_inline)) unsigned get_y() const { return (fy); } \
    }
DIM(bench_thread, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y());
DIM(bench_block, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y());
DIM(bench_block_size, __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y());
DIM(bench_grid_size, __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(),
    __builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y());
#undef DIM
extern const __device__ __attribute__((weak)) bench_thread threadIdx;
extern const __device__ __attribute__((weak)) bench_block blockIdx;
extern const __device__ __attribute__((weak)) bench_block_size blockDim;
extern const __device__ __attribute__((weak)) bench_grid_size gridDim;

struct float2 { float x, y; } __attribute__((aligned(8)));
struct float4 { float x, y, z, w; } __attribute__((aligned(16)));
struct uint4 { unsigned x, y, z, w; } __attribute__((aligned(16)));
FN float2 make_float2(float x, float y) { return { x, y }; }
FN float4 make_float4(float x, float y, float z, float w) { return { x, y, z, w }; }
FN uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return { x, y, z, w }; }

FN void __syncthreads()
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

/* ---- Warps: 32 lanes, also on cards whose waves have 64 */
FN int bench_lane()
{
    return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}

FN int bench_shuffle(int v, int self, int from, bool ok)
{
    return __builtin_amdgcn_ds_bpermute((ok ? from : self) << 2, v);
}

FN int bench_down(int v, unsigned by, int width = 32)
{
    int self = bench_lane();
    return bench_shuffle(v, self, self + by, (self & (width - 1)) + by < width);
}
FN int bench_up(int v, unsigned by, int width = 32)
{
    int self = bench_lane();
    return bench_shuffle(v, self, self - by, (self & (width - 1)) >= by);
}
FN int bench_xor(int v, int by, int width = 32)
{
    int self = bench_lane(), from = self ^ by;
    return bench_shuffle(v, self, from, from < ((self + width) & ~(width - 1)));
}

#define SHUFFLE(name, by_type, inner)                                                                                       \
    FN int name(unsigned, int v, by_type by) { return inner(v, by); }                                                       \
    FN unsigned name(unsigned, unsigned v, by_type by) { return (unsigned)inner((int)v, by); }                              \
    FN float name(unsigned, float v, by_type by) { return __builtin_bit_cast(float, inner(__builtin_bit_cast(int, v), by)); } \
    FN double name(unsigned, double v, by_type by)                                                                          \
    {                                                                                                                       \
        unsigned long long b = __builtin_bit_cast(unsigned long long, v);                                                   \
        unsigned lo = (unsigned)inner((int)b, by), hi = (unsigned)inner((int)(b >> 32), by);                                \
        return __builtin_bit_cast(double, (unsigned long long)hi << 32 | lo);                                               \
    }
SHUFFLE(__shfl_down_sync, unsigned, bench_down)
SHUFFLE(__shfl_up_sync, unsigned, bench_up)
SHUFFLE(__shfl_xor_sync, int, bench_xor)
#undef SHUFFLE

FN unsigned __ballot_sync(unsigned, int p)
{
#ifdef __GFX9__ /* waves of 64 */
    return (unsigned)(__builtin_amdgcn_ballot_w64(p != 0) >> (bench_lane() & 32));
#else
    return __builtin_amdgcn_ballot_w32(p != 0);
#endif
}
FN int __popc(unsigned v) { return __builtin_popcount(v); }

/* ---- Atomics */
#define ATOMIC(type)                                                                           \
    FN type atomicAdd(type *p, type v)                                                         \
    {                                                                                          \
        return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);       \
    }
ATOMIC(int)
ATOMIC(unsigned)
ATOMIC(float)
#undef ATOMIC

/* ---- Arithmetic */
FN float sqrtf(float v) { return __builtin_elementwise_sqrt(v); }
FN float expf(float v) { return __builtin_expf(v); }
FN float logf(float v) { return __builtin_logf(v); }
FN float fabsf(float v) { return __builtin_fabsf(v); }
FN float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
FN float fminf(float a, float b) { return __builtin_fminf(a, b); }
FN double fabs(double v) { return __builtin_fabs(v); }
FN int min(int a, int b) { return a < b ? a : b; }
FN int max(int a, int b) { return a > b ? a : b; }
FN unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
FN float rsqrtf(float v) /* the machine's takes no subnormals */
{
    bool small = v < 0x1p-100f;
    float r = __builtin_amdgcn_rsqf(small ? v * 0x1p32f : v);
    return small ? r * 0x1p16f : r;
}

#undef FN
#endif
