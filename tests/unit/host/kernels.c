/* Kernels for the host device's tests: what the host finisher would generate, written by hand against hostabi.h.
 * Compiled once per kernel with -DKERNEL=name; each result is a shared object without dependencies. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <anywarp/hostabi.h>

#define EXPORT __attribute__((visibility("default")))
#define ARG(type, at) (*(const type *)(b->launch->kernarg + (at)))
#define PTR(type, at) ((type *)(uintptr_t)ARG(uint64_t, at))
#define SERVICE (b->launch->services)

typedef struct aw_host_block block;

static inline uint32_t warp_lanes(const block *b, uint32_t warp)
{
    uint32_t left = b->launch->threads - warp * 32;
    return left < 32 ? left : 32;
}

static inline uint64_t block_linear(const block *b)
{
    return ((uint64_t)b->ctaid[2] * b->launch->grid[1] + b->ctaid[1]) * b->launch->grid[0] + b->ctaid[0];
}

#define FOR_LANES(b, warp) for (uint32_t lane = 0, n_ = warp_lanes(b, warp); lane < n_; lane++)
#define THREAD(b, warp) (block_linear(b) * (b)->launch->threads + (warp) * 32 + lane)

static inline void set_index(block *b, uint64_t linear)
{
    const uint32_t *g = b->launch->grid;
    b->ctaid[0] = (uint32_t)(linear % g[0]);
    b->ctaid[1] = (uint32_t)(linear / g[0] % g[1]);
    b->ctaid[2] = (uint32_t)(linear / g[0] / g[1]);
}

/* A loop over blocks and warps, as generated for kernels without barriers. */
#define BLOCKS(name)                                                         \
    static void name##_blocks(block *b, uint64_t first, uint64_t count)      \
    {                                                                        \
        for (uint64_t i = first; i < first + count; i++) {                   \
            set_index(b, i);                                                 \
            for (b->warp = 0; b->warp < b->launch->warps; b->warp++)         \
                name(b, b->warp);                                            \
        }                                                                    \
    }

#define CONCAT_(a, b) a##b
#define CONCAT(a, b) CONCAT_(a, b)
#define STRING_(a) #a
#define STRING(a) STRING_(a)

/* args: out, a, b, n */
static void add(block *b, uint32_t warp)
{
    FOR_LANES(b, warp)
    {
        uint64_t i = THREAD(b, warp);
        if (i < ARG(uint64_t, 24))
            PTR(float, 0)[i] = PTR(float, 8)[i] + PTR(float, 16)[i];
    }
}
BLOCKS(add)

static void empty(block *b, uint32_t warp)
{
}
BLOCKS(empty)

/* For blocks of 20 x 5 alone, and for those whose rows are whole warps. */
static void one_shape(block *b, uint32_t warp)
{
}
BLOCKS(one_shape)

static void whole_rows(block *b, uint32_t warp)
{
}
BLOCKS(whole_rows)

/* args: data, one int per thread; reverses each block through shared memory. */
static void reverse(block *b, uint32_t warp)
{
    int *shared = (int *)b->shared, *data = PTR(int, 0);
    FOR_LANES(b, warp)
        shared[warp * 32 + lane] = data[THREAD(b, warp)];
    SERVICE->barrier(b, 0, 0);
    FOR_LANES(b, warp)
        data[THREAD(b, warp)] = shared[b->launch->threads - 1 - (warp * 32 + lane)];
}

/* args: errors, rounds.  Every round each warp writes its slot, and must see every other's after the barrier. */
static void rounds(block *b, uint32_t warp)
{
    volatile uint32_t *slot = (uint32_t *)b->shared;
    uint64_t n = ARG(uint64_t, 8);
    slot[warp] = 0;
    SERVICE->barrier(b, 0, 0);
    for (uint64_t r = 1; r <= n; r++) {
        if (b->warp != warp)
            __atomic_fetch_add(PTR(uint32_t, 0), 1, __ATOMIC_RELAXED);
        slot[warp] = (uint32_t)r;
        SERVICE->barrier(b, 0, 0);
        for (uint32_t w = 0; w < b->launch->warps; w++) {
            if (slot[w] != (uint32_t)r)
                __atomic_fetch_add(PTR(uint32_t, 0), 1, __ATOMIC_RELAXED);
        }
        SERVICE->barrier(b, 0, 0);
    }
}

/* args: nothing, rounds.  Nothing but barriers. */
static void switches(block *b, uint32_t warp)
{
    uint64_t n = ARG(uint64_t, 8);
    for (uint64_t r = 0; r < n; r++)
        SERVICE->barrier(b, 0, 0);
}

/* args: out[3 * warps].  Lane l of warp w votes l < w. */
static void reduce(block *b, uint32_t warp)
{
    uint32_t active = 0xffffffffu >> (32 - warp_lanes(b, warp)), vote = ((1u << warp) - 1) & active;
    uint32_t *out = PTR(uint32_t, 0) + warp * 3;
    out[0] = SERVICE->barrier_reduce(b, 0, 0, 0, active, vote);
    out[1] = SERVICE->barrier_reduce(b, 0, 0, 1, active, warp == 1 ? active & ~1u : active);
    out[2] = SERVICE->barrier_reduce(b, 5, 0, 2, active, warp == 2 ? 2 : 0);
}

/* args: out, rounds.  Even warps produce, odd ones consume, over two named barriers with counts. */
static void named(block *b, uint32_t warp)
{
    volatile uint32_t *cell = (uint32_t *)b->shared + warp / 2;
    uint32_t full = 1 + warp / 2 * 2, taken = full + 1;
    uint64_t n = ARG(uint64_t, 8);
    for (uint32_t r = 0; r < n; r++) {
        if (warp % 2 == 0) {
            *cell = r;
            SERVICE->barrier_arrive(b, full, 64);
            SERVICE->barrier(b, taken, 64);
        } else {
            SERVICE->barrier(b, full, 64);
            PTR(uint32_t, 0)[warp / 2] += *cell == r;
            SERVICE->barrier_arrive(b, taken, 64);
        }
    }
}

/* args: errors.  Even blocks leave a warp counted in at barrier 3; in odd ones the first warp waits there for the second. */
static void leftover(block *b, uint32_t warp)
{
    volatile uint32_t *cell = (uint32_t *)b->shared;
    if (warp > 1)
        return;
    if (block_linear(b) % 2 == 0) {
        if (warp == 0)
            SERVICE->barrier_arrive(b, 3, 64);
    } else if (warp == 0) {
        *cell = 0;
        SERVICE->barrier(b, 3, 64);
        if (*cell != 1)
            __atomic_fetch_add(PTR(uint32_t, 0), 1, __ATOMIC_RELAXED);
    } else {
        *cell = 1;
        SERVICE->barrier_arrive(b, 3, 64);
    }
}

static inline uint32_t mixed_hash(uint64_t seed, uint32_t a, uint32_t b_)
{
    uint64_t x = (seed + a) * 0x9e3779b97f4a7c15u + b_ * 0xbf58476d1ce4e5b9u;
    x ^= x >> 31;
    return (uint32_t)((x * 0x94d049bb133111ebu) >> 33);
}

/* args: errors, seed, rounds, done.  The same random sequence of barriers of all kinds in every warp, with yields between, and
 * warps that leave on the way.  At most 14 warps. */
static void mixed(block *b, uint32_t warp)
{
    volatile uint32_t *slot = (uint32_t *)b->shared;
    uint32_t n = (uint32_t)ARG(uint64_t, 16), warps = b->launch->warps, errors = 0, last[14];
    uint64_t seed = ARG(uint64_t, 8) + block_linear(b) % 8;
    for (uint32_t w = 0; w < warps; w++)
        last[w] = mixed_hash(seed, w, 77) % (4 * n); /* three of four stay to the end */
    for (uint32_t r = 1; r < n && r < last[warp]; r++) {
        uint32_t op = mixed_hash(seed, r, 5) % 16, live = 0;
        slot[warp] = r;
        if (mixed_hash(seed, r, warp) % 32 == 0)
            SERVICE->yield(b);
        for (uint32_t w = 0; w < warps; w++)
            live += r < last[w];
        if (op == 0) {
            if (warp / 2 * 2 + 1 < warps)
                SERVICE->barrier(b, 1 + warp / 2, 64);
            slot[warp] = r;
        }
        if (op == 1)
            SERVICE->barrier(b, 9, 0);
        else if (op == 2)
            errors += SERVICE->barrier_reduce(b, 0, 0, 0, 1, 1) != live;
        else if (op == 3)
            errors += SERVICE->barrier_reduce(b, 15, warps * 32, 0, 1, 1) != live;
        else
            SERVICE->barrier(b, 0, op == 4 ? warps * 32 : 0);
        errors += b->warp != warp;
        for (uint32_t w = 0; w < warps; w++)
            errors += r < last[w] && slot[w] != r;
        SERVICE->barrier(b, 0, 0);
    }
    if (errors)
        __atomic_fetch_add(PTR(uint32_t, 0), errors, __ATOMIC_RELAXED);
    __atomic_fetch_add(PTR(uint32_t, 24), 1, __ATOMIC_RELAXED);
}

/* args: out.  Odd warps leave at once; the others meet at barriers all the same. */
static void early(block *b, uint32_t warp)
{
    if (warp % 2)
        return;
    for (int i = 0; i < 3; i++) {
        SERVICE->barrier(b, 0, 0);
        __atomic_fetch_add(PTR(uint32_t, 0), 1, __ATOMIC_RELAXED);
    }
}

static void deadlock(block *b, uint32_t warp)
{
    SERVICE->barrier(b, warp == 0 ? 3 : 4, 0);
}

static void bad_barrier(block *b, uint32_t warp)
{
    SERVICE->barrier(b, 16, 0);
}

/* args: counter, out, phases.  All blocks meet `phases` times; the last to come opens the next phase. */
static void gridsync(block *b, uint32_t warp)
{
    uint32_t *counter = PTR(uint32_t, 0), total = b->launch->grid[0] * b->launch->warps;
    for (uint32_t p = 1; p <= ARG(uint64_t, 16); p++) {
        __atomic_fetch_add(counter, 1, __ATOMIC_ACQ_REL);
        while (__atomic_load_n(counter, __ATOMIC_ACQUIRE) < p * total)
            SERVICE->yield(b);
    }
    PTR(uint32_t, 8)[block_linear(b) * b->launch->warps + warp] = __atomic_load_n(counter, __ATOMIC_ACQUIRE);
}
BLOCKS(gridsync)

/* args: flag, out.  The first blocks wait for the last one. */
static void await_last(block *b, uint32_t warp)
{
    uint32_t *flag = PTR(uint32_t, 0);
    if (block_linear(b) == b->launch->grid[0] - 1)
        __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
        SERVICE->yield(b);
    __atomic_fetch_add(PTR(uint32_t, 8), 1, __ATOMIC_RELAXED);
}
BLOCKS(await_last)

/* args: nanoseconds.  Keeps its worker that long, and lets nobody else run. */
static void linger(block *b, uint32_t warp)
{
    uint64_t until = SERVICE->globaltimer() + ARG(uint64_t, 0);
    while (SERVICE->globaltimer() < until)
        continue;
}
BLOCKS(linger)

/* args: flag.  Runs until the host sets it. */
static void gate(block *b, uint32_t warp)
{
    while (!__atomic_load_n(PTR(uint32_t, 0), __ATOMIC_ACQUIRE))
        SERVICE->yield(b);
}
BLOCKS(gate)

/* args: address */
static void wild(block *b, uint32_t warp)
{
    *PTR(volatile int, 0) = 1;
}
BLOCKS(wild)

/* args: address.  The third warp of block 2 stores there; all others wait at a barrier. */
static void wild_barrier(block *b, uint32_t warp)
{
    SERVICE->barrier(b, 0, 0);
    if (warp == 2 && b->ctaid[0] == 2)
        *PTR(volatile int, 0) = 1;
    SERVICE->barrier(b, 0, 0);
}

/* args: offset.  Writes shared memory at it. */
static void wild_shared(block *b, uint32_t warp)
{
    *(volatile char *)(b->shared + ARG(int64_t, 0)) = 1;
}
BLOCKS(wild_shared)

/* args: address, form.  Reads 16 bytes that must be aligned, by one form of operand or another. */
static void unaligned(block *b, uint32_t warp)
{
    uint64_t p = ARG(uint64_t, 0);
    switch (ARG(uint64_t, 1)) {
    case 0: __asm__ volatile("movaps (%0), %%xmm0" : : "r"(p) : "xmm0"); break;
    case 1: __asm__ volatile("mov %0, %%r13\n movaps 64(%%r13), %%xmm9" : : "r"(p - 64) : "r13", "xmm9"); break;
    case 2:
        __asm__ volatile("mov %0, %%r12\n mov $3, %%r9d\n movapd -100000(%%r12,%%r9,8), %%xmm1"
                         :
                         : "r"(p + 100000 - 24)
                         : "r12", "r9", "xmm1");
        break;
    case 3: __asm__ volatile("mov %0, %%rax\n paddd (,%%rax,1), %%xmm2" : : "r"(p) : "rax", "xmm2"); break;
    default: __asm__ volatile("mov %0, %%r12\n pshufb (%%r12), %%xmm2" : : "r"(p) : "r12", "xmm2"); break;
    }
}
BLOCKS(unaligned)

/* Never ends, nor asks whether it should. */
static void forever(block *b, uint32_t warp)
{
    for (volatile uint32_t i = 0;; i++)
        continue;
}
BLOCKS(forever)

static void divide(block *b, uint32_t warp)
{
    volatile int zero = 0, one = 1;
    __asm__ volatile("cltd; idivl %1" : : "a"(one), "m"(zero) : "edx");
}
BLOCKS(divide)

static void illegal(block *b, uint32_t warp)
{
    __asm__ volatile("ud2");
}
BLOCKS(illegal)

static __attribute__((noinline)) int deep(volatile char *above, uint64_t n)
{
    volatile char here[256];
    here[0] = above[0];
    return n ? deep(here, n - 1) + here[0] : here[0];
}

/* args: depth */
static void recurse(block *b, uint32_t warp)
{
    volatile char top[1] = { 0 };
    deep(top, ARG(uint64_t, 0));
}
BLOCKS(recurse)

static void trap(block *b, uint32_t warp)
{
    SERVICE->trap(b, 719, "trap"); /* not a status of ours: reads as launch failed */
}
BLOCKS(trap)

static void assertion(block *b, uint32_t warp)
{
    if (block_linear(b) == 1) {
        SERVICE->assert_fail(b, "x > 0", "file.cu", 12, "void kernel()", 33, 1);
        SERVICE->assert_fail(b, "x > 0", "file.cu", 12, "void kernel()", 35, 0);
    }
}
BLOCKS(assertion)

/* args: format, packed buffer, result */
static void print(block *b, uint32_t warp)
{
    *PTR(int32_t, 16) = SERVICE->vprintf(b, PTR(const char, 0), PTR(const void, 8));
}
BLOCKS(print)

/* args: out */
static void heap(block *b, uint32_t warp)
{
    char *p[64];
    uint32_t good = 0;
    for (uint32_t i = 0; i < 64; i++) {
        p[i] = SERVICE->malloc(b, 1 + i * 700);
        if (p[i]) {
            p[i][0] = (char)i;
            p[i][i * 700] = (char)i;
        }
    }
    for (uint32_t i = 0; i < 64; i++) {
        good += p[i] && p[i][0] == (char)i && p[i][i * 700] == (char)i;
        SERVICE->free(b, p[i]);
    }
    __atomic_fetch_add(PTR(uint32_t, 0), good, __ATOMIC_RELAXED);
}
BLOCKS(heap)

static void heap_bad(block *b, uint32_t warp)
{
    SERVICE->free(b, b->shared);
}
BLOCKS(heap_bad)

/* args: log, index, value: log[(*index)++] = value */
static void append(block *b, uint32_t warp)
{
    PTR(uint32_t, 0)[__atomic_fetch_add(PTR(uint32_t, 8), 1, __ATOMIC_RELAXED)] = ARG(uint32_t, 16);
}
BLOCKS(append)

/* args: data, n; data[i] = data[i] * 3 + 1, one thread an element */
static void step(block *b, uint32_t warp)
{
    FOR_LANES(b, warp)
    {
        uint64_t i = THREAD(b, warp);
        if (i < ARG(uint64_t, 8))
            PTR(uint32_t, 0)[i] = PTR(uint32_t, 0)[i] * 3 + 1;
    }
}
BLOCKS(step)

/* args: out, cycles.  Takes that long and says on which thread. */
static void thread(block *b, uint32_t warp)
{
    uint64_t begin = __builtin_ia32_rdtsc(), self;
    while (__builtin_ia32_rdtsc() - begin < ARG(uint64_t, 8))
        continue;
    __asm__("mov %%fs:0, %0" : "=r"(self));
    __atomic_store_n(PTR(uint64_t, 0), self, __ATOMIC_RELAXED);
}
BLOCKS(thread)

/* args: counts[3], disturb: blocks inside; blocks that ran alone, and that began beside others.  Takes 50,000 cycles, times the
 * square of the blocks inside if they disturb each other. */
static void crowded(block *b, uint32_t warp)
{
    uint32_t *counts = PTR(uint32_t, 0), inside = __atomic_add_fetch(&counts[0], 1, __ATOMIC_RELAXED);
    for (uint32_t n = 50000 * (ARG(uint32_t, 8) ? inside * inside : 1); n; n--)
        __asm__ volatile("");
    __atomic_fetch_add(&counts[inside > 1 ? 2 : 1], 1, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&counts[0], 1, __ATOMIC_RELAXED);
}
BLOCKS(crowded)

/* args: out[2].  The floating-point state that kernels see; leaves it changed. */
static void fpstate(block *b, uint32_t warp)
{
    uint32_t mxcsr, flushed = 0x9fc0;
    uint16_t cw, narrow = 0x007f;
    __asm__ volatile("stmxcsr %0; fnstcw %1" : "=m"(mxcsr), "=m"(cw));
    PTR(uint32_t, 0)[0] = mxcsr & 0xffc0;
    PTR(uint32_t, 0)[1] = cw;
    __asm__ volatile("ldmxcsr %0; fldcw %1" : : "m"(flushed), "m"(narrow));
}
BLOCKS(fpstate)

/* args: out, then 4000 bytes whose sum it computes */
static void big_args(block *b, uint32_t warp)
{
    uint64_t sum = 0;
    for (int i = 0; i < 4000; i++)
        sum += ARG(uint8_t, 8 + i);
    __atomic_fetch_add(PTR(uint64_t, 0), sum, __ATOMIC_RELAXED);
}
BLOCKS(big_args)

/* args: out[4]: dynamic, total, threads, warps as the launch has them */
static void shape(block *b, uint32_t warp)
{
    uint32_t *out = PTR(uint32_t, 0);
    out[0] = b->launch->dynamic_shared;
    out[1] = b->launch->total_shared;
    out[2] = b->launch->threads;
    out[3] = b->launch->warps;
    if (((uintptr_t)b->shared & 63) == 0)
        b->shared[b->launch->total_shared - 1] = 1;
}
BLOCKS(shape)

/* ---- Quick code: the lanes of a warp, each on a stack of its own.
 *
 * args: out, LANE_RESULTS words for each thread */
enum { LANE_RESULTS = 8 };
#define SITE(number, op, flags) static const uint32_t at_##number[] = { number, AW_HOST_LANE_##op, flags, 0 }
SITE(0, SHFL_DOWN, AW_HOST_SITE_MEMBERS);
SITE(1, BALLOT, AW_HOST_SITE_MEMBERS);
SITE(2, SHFL_IDX, AW_HOST_SITE_MEMBERS);
SITE(3, SHFL_IDX, AW_HOST_SITE_MEMBERS);
static const uint32_t at_4[] = { 4, AW_HOST_LANE_ACTIVEMASK, 0, 1, 0 };
SITE(5, BALLOT, AW_HOST_SITE_MEMBERS);
SITE(6, BARRIER, 0);
SITE(7, BARRIER_REDUCE, 0);
SITE(8, ADD, 0);

/* __builtin_popcount is a library's without an instruction for it. */
static uint32_t bits_in(uint32_t x)
{
    uint32_t n = 0;
    for (; x; x &= x - 1)
        n++;
    return n;
}

static void lanes_lane(struct aw_host_lane *l)
{
    block *b = &l->own;
    uint32_t lane = l->lane, thread = l->own.warp * 32 + lane, *out = PTR(uint32_t, 0) + thread * LANE_RESULTS;
    volatile uint32_t *shared = (volatile uint32_t *)(void *)b->shared;
    uint64_t r = SERVICE->lane_op(l, at_0, ~0u, 100 + lane, 1, 31);
    out[0] = (uint32_t)r + (uint32_t)(r >> 32 & 1) * 1000;
    out[1] = (uint32_t)SERVICE->lane_op(l, at_1, lane < 16 ? 0xffff : 0xffff0000, lane % 3 == 0, 0, 0);
    if (lane % 2) /* lanes of one mask at two places */
        out[2] = (uint32_t)SERVICE->lane_op(l, at_2, ~0u, lane, lane ^ 1, 31);
    else
        out[2] = (uint32_t)SERVICE->lane_op(l, at_3, ~0u, lane, lane ^ 1, 31);
    out[3] = 0;
    l->rounds[0] = 0;
    for (uint32_t i = 0; i < 2; i++) { /* odd lanes are at the place in the second round alone, and wait for the others' first */
        l->rounds[0]++;
        if (i >= lane % 2)
            out[3] = out[3] * 100 + bits_in((uint32_t)SERVICE->lane_op(l, at_4, 0, 0, 0, 0));
    }
    if (lane < 8) /* of a mask of whom the others do not come */
        out[4] = (uint32_t)SERVICE->lane_op(l, at_5, ~0u, 1, 0, 0);
    shared[thread] = thread;
    SERVICE->lane_op(l, at_6, 0, 0, 0, 0);
    out[5] = shared[b->launch->threads - 1 - thread];
    out[6] = (uint32_t)SERVICE->lane_op(l, at_7, 0, 0, 0, (uint64_t)(lane == 5) << 32);
    volatile uint32_t *flag = shared + b->launch->threads;
    if (thread == 0) { /* the first waits for the last, in another warp */
        while (!*flag)
            SERVICE->lane_yield(l);
    } else if (thread == b->launch->threads - 1) {
        *flag = 1;
    }
    out[7] = (uint32_t)SERVICE->lane_op(l, at_8, ~0u, lane, 0, 0);
}

static void lanes(block *b, uint32_t warp)
{
    if (warp_lanes(b, warp))
        ((volatile uint32_t *)(void *)b->shared)[b->launch->threads] = 0;
    SERVICE->lanes_warp(b, warp, lanes_lane);
}
BLOCKS(lanes)

#ifndef FLAGS
#define FLAGS 0
#endif
#ifndef BLOCK_X
#define BLOCK_X 0
#define BLOCK_Y 0
#define BLOCK_Z 0
#endif
#ifndef ABI
#define ABI AW_HOST_ABI
#endif

EXPORT const struct aw_host_object aw_host_object = {
    .abi = ABI,
    .flags = FLAGS,
    .static_shared = 4100,
    .stack_bytes = 16384,
    .kernarg_size = 0,
    .warps_per_call = 1,
    .block = { BLOCK_X, BLOCK_Y, BLOCK_Z },
#if !(FLAGS & 1)
    .blocks = CONCAT(KERNEL, _blocks),
#endif
    .warp = KERNEL,
    .name = STRING(KERNEL),
};
