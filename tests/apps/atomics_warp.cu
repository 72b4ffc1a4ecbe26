// Atomics of a whole warp on one address: every operation, with all lanes, some, or one, values that are the same or differ,
// results that are used or not, in global and in shared memory, at device and at block scope.  The old values must be those of
// some order of the updates.
// bytes: vary, the order of the updates is free
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <cuda_fp16.h>

#include <map>
#include <vector>

enum { THREADS = 80, BLOCKS = 6 }; /* the last warp of a block is half empty */

#define INT_OPS(name, op)                                                                                                 \
    struct name {                                                                                                         \
        template <typename T> __device__ static T atomic(T *p, T x) { return op(p, x); }                                  \
        template <typename T> __device__ static T block(T *p, T x) { return op##_block(p, x); }                           \
        template <typename T> static T apply(T a, T b);                                                                   \
        static const char *text() { return #name; }                                                                       \
    };
INT_OPS(Add, atomicAdd)
INT_OPS(Min, atomicMin)
INT_OPS(Max, atomicMax)
INT_OPS(And, atomicAnd)
INT_OPS(Or, atomicOr)
INT_OPS(Xor, atomicXor)
INT_OPS(Sub, atomicSub)
INT_OPS(Inc, atomicInc)
INT_OPS(Dec, atomicDec)
template <typename T> T Add::apply(T a, T b) { return a + b; }
template <typename T> T Sub::apply(T a, T b) { return a - b; }
template <typename T> T Min::apply(T a, T b) { return a < b ? a : b; }
template <typename T> T Max::apply(T a, T b) { return a > b ? a : b; }
template <typename T> T And::apply(T a, T b) { return a & b; }
template <typename T> T Or::apply(T a, T b) { return a | b; }
template <typename T> T Xor::apply(T a, T b) { return a ^ b; }
template <typename T> T Inc::apply(T a, T b) { return a >= b ? 0 : a + 1; }
template <typename T> T Dec::apply(T a, T b) { return a == 0 || a > b ? b : a - 1; }

/* Which threads take part. */
enum Who { ALL, ODD, FEW, ONE, NOBODY, WHOS };

__host__ __device__ static bool takes_part(int who, int thread, int block)
{
    int lane = thread % 32;
    return who == ALL || (who == ODD && thread % 2) || (who == FEW && lane >= 3 && lane < 3 + block) ||
           (who == ONE && lane == 7 + block);
}

template <typename T> __host__ __device__ static T operand(const T *table, bool same, int thread, int block)
{
    return same ? table[block % 2] : table[(block * THREADS + thread) % 64];
}

template <typename Op, typename T> __global__ void on_global(T *p, T *olds, const T *table, int who, bool same, bool used)
{
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    T x = operand(table, same, t, blockIdx.x);
    if (takes_part(who, t, blockIdx.x)) {
        if (used)
            olds[i] = Op::template atomic<T>(p, x);
        else
            Op::template atomic<T>(p, x);
    }
}

/* As above, and the value for all lanes in a register that the compiler knows to be one. */
template <typename Op, typename T> __global__ void on_global_uniform(T *p, T *olds, const T *table, int who, bool used)
{
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    T x = table[blockIdx.x % 2];
    if (takes_part(who, t, blockIdx.x)) {
        if (used)
            olds[i] = Op::template atomic<T>(p, x);
        else
            Op::template atomic<T>(p, x);
    }
}

/* One block: in shared memory, and on global memory with the block's scope. */
template <typename Op, typename T> __global__ void on_block(T *p, T *olds, const T *table, int who, bool same, bool shared)
{
    __shared__ T s;
    int t = threadIdx.x;
    if (t == 0)
        s = *p;
    __syncthreads();
    T x = operand(table, same, t, 0);
    if (takes_part(who, t, 0))
        olds[t] = shared ? Op::template atomic<T>(&s, x) : Op::template block<T>(p, x);
    __syncthreads();
    if (t == 0 && shared)
        *p = s;
}

/* From `start`, is there an order of the updates in which each sees its old value, and which ends in `end`?  The values of these
 * tests never come back once they have changed, so those that change nothing go first. */
template <typename Op, typename T> static bool in_some_order(T start, T end, const std::vector<T> &olds, const std::vector<T> &xs)
{
    std::map<T, std::vector<T>> by_old;
    for (size_t i = 0; i < olds.size(); i++)
        by_old[olds[i]].push_back(xs[i]);
    T now = start;
    for (size_t done = 0; done < olds.size();) {
        auto at = by_old.find(now);
        if (at == by_old.end())
            return false;
        bool changed = false;
        T next = now;
        for (T x : at->second) {
            T made = Op::template apply<T>(now, x);
            done++;
            if (made == now)
                continue;
            if (changed)
                return false;
            changed = true;
            next = made;
        }
        by_old.erase(at);
        if (!changed)
            return done == olds.size() && now == end;
        now = next;
    }
    return now == end;
}

template <typename Op, typename T> struct Case {
    const char *type;
    T start;
    std::vector<T> table;
    T *p, *olds, *device_table;

    void check(const char *where, int who, bool same, bool used, int blocks)
    {
        std::vector<T> all(BLOCKS * THREADS), olds_of, xs;
        T end, want = start;
        CHECK(cudaMemcpy(&end, p, sizeof end, cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(all.data(), olds, all.size() * sizeof(T), cudaMemcpyDeviceToHost));
        for (int b = 0; b < blocks; b++)
            for (int t = 0; t < THREADS; t++)
                if (takes_part(who, t, b)) {
                    olds_of.push_back(all[b * THREADS + t]);
                    xs.push_back(operand(table.data(), same, t, b));
                    want = Op::template apply<T>(want, xs.back());
                }
        if (used)
            EXPECT((in_some_order<Op, T>(start, end, olds_of, xs)), "%s %s %s, who %d, same %d: no order explains the old values",
                   where, Op::text(), type, who, same);
        else
            EXPECT(end == want, "%s %s %s, who %d, same %d: wrong in the end", where, Op::text(), type, who, same);
    }

    void begin()
    {
        CHECK(cudaMemcpy(p, &start, sizeof start, cudaMemcpyHostToDevice));
        CHECK(cudaMemset(olds, 0x5a, BLOCKS * THREADS * sizeof(T)));
    }

    void globals()
    {
        for (int who = 0; who < WHOS; who++)
            for (int used = 0; used < 2; used++) {
                for (int same = 0; same < 2; same++) {
                    begin();
                    on_global<Op, T><<<BLOCKS, THREADS>>>(p, olds, device_table, who, same, used);
                    CHECK_LAUNCH();
                    check("global", who, same, used, BLOCKS);
                }
                begin();
                on_global_uniform<Op, T><<<BLOCKS, THREADS>>>(p, olds, device_table, who, used);
                CHECK_LAUNCH();
                check("uniform", who, true, used, BLOCKS);
            }
    }

    void blocks()
    {
        for (int who = 0; who < WHOS; who++)
            for (int shared = 0; shared < 2; shared++)
                for (int same = 0; same < 2; same++) {
                    begin();
                    on_block<Op, T><<<1, THREADS>>>(p, olds, device_table, who, same, shared);
                    CHECK_LAUNCH();
                    check(shared ? "shared" : "block", who, same, true, 1);
                }
    }

    void create(T (*make)(int))
    {
        for (int i = 0; i < 64; i++)
            table.push_back(make(i));
        CHECK(cudaMalloc(&p, sizeof(T)));
        CHECK(cudaMalloc(&olds, BLOCKS * THREADS * sizeof(T)));
        CHECK(cudaMalloc(&device_table, 64 * sizeof(T)));
        CHECK(cudaMemcpy(device_table, table.data(), 64 * sizeof(T), cudaMemcpyHostToDevice));
    }

    void destroy()
    {
        CHECK(cudaFree(p));
        CHECK(cudaFree(olds));
        CHECK(cudaFree(device_table));
    }
};

template <typename Op, typename T> static void run(const char *type, T start, T (*make)(int))
{
    Case<Op, T> c = { type, start };
    c.create(make);
    c.globals();
    c.blocks();
    c.destroy();
}

/* Half precision has no block scope here, and its sums are exact. */
__global__ void half_sum(__half *p, int who)
{
    if (takes_part(who, threadIdx.x, blockIdx.x))
        atomicAdd(p, __float2half(0.5f));
}

static void halves()
{
    __half *p, start = __float2half(3.0f), end;
    CHECK(cudaMalloc(&p, 2));
    for (int who = 0; who < WHOS; who++) {
        float want = 3.0f;
        for (int i = 0; i < BLOCKS * THREADS; i++)
            want += takes_part(who, i % THREADS, i / THREADS) ? 0.5f : 0.0f;
        CHECK(cudaMemcpy(p, &start, 2, cudaMemcpyHostToDevice));
        half_sum<<<BLOCKS, THREADS>>>(p, who);
        CHECK_LAUNCH();
        CHECK(cudaMemcpy(&end, p, 2, cudaMemcpyDeviceToHost));
        EXPECT(__half2float(end) == want, "half, who %d: %g, not %g", who, __half2float(end), want);
    }
    CHECK(cudaFree(p));
}

typedef unsigned long long U64;

int main()
{
    run<Add, int>("int", -3, [](int i) { return i * 3 + 1; });
    run<Add, unsigned>("unsigned", 5, [](int i) { return i * 7u + 2; });
    run<Add, U64>("64 bits", 0xfffffff0, [](int i) { return (U64)i * 0x10000001 + 1; });
    /* Exact sums: cards join the lanes' values first, which rounds otherwise. */
    run<Add, float>("float", 0.25f, [](int i) { return 0.25f * (i + 1); });
    run<Add, double>("double", 0.125, [](int i) { return 0.125 * (i + 1); });
    run<Sub, int>("int", 3, [](int i) { return i * 3 + 1; });
    run<Sub, unsigned>("unsigned", 1u << 31, [](int i) { return i * 7u + 2; });
    run<Inc, unsigned>("unsigned", 4, [](int i) { return 4000000000u + i; });
    run<Dec, unsigned>("unsigned", 4000000u, [](int i) { return 4000000000u + i; });
    run<Min, int>("int", 100, [](int i) { return 90 - (i * 37) % 64 * 3; });
    run<Min, unsigned>("unsigned", 0xffffff00u, [](int i) { return 0xf0000000u - (i * 37) % 64 * 0x3000000u; });
    run<Min, long long>("64 bits, signed", 100ll << 32, [](int i) { return (90ll - (i * 37) % 64 * 3) << 32; });
    run<Max, int>("int", -100, [](int i) { return (i * 37) % 64 * 3 - 90; });
    run<Max, U64>("64 bits", 100, [](int i) { return (U64)((i * 37) % 64) << 56; });
    run<And, unsigned>("unsigned", ~0u, [](int i) { return ~(1u << i % 32); });
    run<And, U64>("64 bits", ~0ull, [](int i) { return ~(1ull << i); });
    run<Or, unsigned>("unsigned", 0, [](int i) { return 1u << i % 32; });
    run<Or, U64>("64 bits", 0, [](int i) { return 1ull << i; });
    halves();
    return check_done();
}
