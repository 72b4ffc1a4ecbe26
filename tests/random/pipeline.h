/* Device side of pipelines.py: copies that run ahead, halves packed into words, and matrices by warp.  The host needs none of it,
 * but for the value of a half.  What only sm_80 has is done by what sm_75 has, where that is compiled for. */
/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdint.h>

static __device__ __forceinline__ uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* Of BYTES, the first `given` come from memory and the others are 0. */
template <int BYTES> static __device__ __forceinline__ void copy_async(void *to, const void *from, uint32_t given)
{
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(to)), "l"(from), "n"(BYTES), "r"(given)
                 : "memory");
#else
    for (uint32_t i = 0; i < BYTES / 4; i++)
        ((uint32_t *)to)[i] = i < given / 4 ? ((const uint32_t *)from)[i] : 0;
#endif
}

static __device__ __forceinline__ void copy_commit(void)
{
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Until at most LEFT groups are under way. */
template <int LEFT> static __device__ __forceinline__ void copy_wait(void)
{
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" :: "n"(LEFT) : "memory");
#endif
}

/* The sum over the lanes that `mask` names, each of which calls it. */
static __device__ __forceinline__ uint32_t sum_of(uint32_t mask, uint32_t x)
{
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800
    return __reduce_add_sync(mask, x);
#else
    uint32_t sum = 0;
    for (uint32_t left = mask; left; left &= left - 1)
        sum += __shfl_sync(mask, x, __ffs(left) - 1);
    return sum;
#endif
}

static __device__ __forceinline__ uint32_t pack(uint16_t low, uint16_t high)
{
    uint32_t both;
    asm("mov.b32 %0, {%1, %2};" : "=r"(both) : "h"(low), "h"(high));
    return both;
}

static __device__ __forceinline__ void unpack(uint32_t both, uint16_t *low, uint16_t *high)
{
    asm("mov.b32 {%0, %1}, %2;" : "=h"(*low), "=h"(*high) : "r"(both));
}

/* Where 8 halves lie in a tile: rows of CHUNKS of them, each row's in an order of its own so that columns lie in different
 * banks. */
template <int CHUNKS, int SHIFT> static __device__ __forceinline__ uint32_t swizzled(uint32_t row, uint32_t chunk)
{
    return (row * CHUNKS + (SHIFT < 0 ? chunk : chunk ^ row >> (SHIFT & 3) & (CHUNKS - 1))) * 8;
}

/* 16 by 16 of a tile as mma's first operand. */
template <int CHUNKS, int SHIFT>
static __device__ __forceinline__ void load_rows(uint32_t f[4], const uint16_t *tile, uint32_t row, uint32_t k, uint32_t lane)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3])
                 : "r"(shared_address(tile + swizzled<CHUNKS, SHIFT>(row + (lane & 15), k / 8 + (lane >> 4)))) : "memory");
}

/* 16 by 8 as its second: from a tile whose rows are k (they are transposed on the way), or whose rows are columns. */
template <int CHUNKS, int SHIFT, bool ROWS_ARE_K>
static __device__ __forceinline__ void load_columns(uint32_t f[2], const uint16_t *tile, uint32_t k, uint32_t column,
                                                    uint32_t lane)
{
    if (ROWS_ARE_K)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(f[0]), "=r"(f[1])
                     : "r"(shared_address(tile + swizzled<CHUNKS, SHIFT>(k + (lane & 15), column / 8))) : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(f[0]), "=r"(f[1])
                     : "r"(shared_address(tile + swizzled<CHUNKS, SHIFT>(column + (lane & 7), k / 8 + (lane >> 3 & 1))))
                     : "memory");
}

/* Fragments as twelve halves, and back. */
static __device__ __forceinline__ void halve(uint16_t h[12], const uint32_t a[4], const uint32_t b[2])
{
    for (int i = 0; i < 6; i++)
        unpack(i < 4 ? a[i] : b[i - 4], &h[2 * i], &h[2 * i + 1]);
}

static __device__ __forceinline__ void join(uint32_t a[4], uint32_t b[2], const uint16_t h[12])
{
    for (int i = 0; i < 6; i++)
        (i < 4 ? a[i] : b[i - 4]) = pack(h[2 * i], h[2 * i + 1]);
}

/* c += a b; the sums are whole numbers that either type holds. */
static __device__ __forceinline__ void multiply(float c[4], const uint32_t a[4], const uint32_t b[2])
{
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    for (int k = 0; k < 2; k++)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[2 * k]), "r"(a[2 * k + 1]), "r"(b[k]));
#endif
}

static __device__ __forceinline__ void multiply(uint32_t c[2], const uint32_t a[4], const uint32_t b[2])
{
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
                 : "+r"(c[0]), "+r"(c[1]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    for (int k = 0; k < 2; k++)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%4}, {%0, %1};"
                     : "+r"(c[0]), "+r"(c[1]) : "r"(a[2 * k]), "r"(a[2 * k + 1]), "r"(b[k]));
#endif
}

static __device__ __forceinline__ int of_half(uint16_t bits)
{
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return (int)x;
}

static __device__ __forceinline__ uint32_t fold(const float c[4])
{
    return (uint32_t)((int)c[0] + 3 * (int)c[1] + 5 * (int)c[2] + 7 * (int)c[3]);
}

static __device__ __forceinline__ uint32_t fold(const uint32_t c[2])
{
    uint16_t h[4];
    unpack(c[0], &h[0], &h[1]);
    unpack(c[1], &h[2], &h[3]);
    return (uint32_t)(of_half(h[0]) + 3 * of_half(h[1]) + 5 * of_half(h[2]) + 7 * of_half(h[3]));
}

/* ---- halves of small whole numbers ---- */

/* -3 .. 3 */
static inline uint16_t small_half(uint32_t random)
{
    static const uint16_t halves[] = { 0, 0x3c00, 0x4000, 0x4200, 0xbc00, 0xc000, 0xc200, 0 };
    return halves[random & 7];
}

static inline int small_value(uint16_t half)
{
    int size = half & 0x7fff ? half & 0x0200 ? 3 : half & 0x0400 ? 1 : 2 : 0;
    return half & 0x8000 ? -size : size;
}

/* What fold() gives for the thread's elements: rows lane / 4 and 8 below, columns 2 (lane % 4) and the next, of a product over
 * `depth`. */
template <class A, class B> static uint32_t host_product(uint32_t lane, uint32_t row, uint32_t column, uint32_t depth, A a, B b)
{
    int sums[4] = { 0, 0, 0, 0 };
    for (uint32_t k = 0; k < depth; k++)
        for (int i = 0; i < 4; i++)
            sums[i] += a(row + lane / 4 + i / 2 * 8, k) * b(k, column + lane % 4 * 2 + i % 2);
    return (uint32_t)(sums[0] + 3 * sums[1] + 5 * sums[2] + 7 * sums[3]);
}
