// 64-bit atomics: add, min, max, and, or, xor, exch, CAS on global and shared memory, double add, and packed updates by CAS.
// bytes: vary, the last of the exchanges wins
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

typedef unsigned long long U64;

struct Ops {
    U64 add, umin, umax, conj, disj, exor, exch, cas;
    long long smin, smax;
    double sum;
    U64 packed; /* count in the low half, maximum in the high half */
};

__device__ void apply(Ops *o, U64 t)
{
    atomicAdd(&o->add, t << 30);
    atomicMin(&o->umin, 0x8000000000000000ull + t);
    atomicMax(&o->umax, 0x8000000000000000ull + t);
    atomicMin(&o->smin, -(long long)(t << 33));
    atomicMax(&o->smax, (long long)(t << 33) - 5);
    atomicAnd(&o->conj, ~(1ull << t % 64));
    atomicOr(&o->disj, 1ull << t % 64);
    atomicXor(&o->exor, t * 0x100000001ull);
    atomicExch(&o->exch, t);
    atomicAdd(&o->sum, t * 0.25);
    U64 old = o->packed, seen;
    do {
        seen = old;
        U64 high = seen >> 32 > t ? seen >> 32 : t;
        old = atomicCAS(&o->packed, seen, high << 32 | (unsigned)(seen + 1));
    } while (old != seen);
    atomicCAS(&o->cas, t, t + 1);
}

__global__ void global_ops(Ops *o)
{
    apply(o, blockIdx.x * blockDim.x + threadIdx.x);
}

__global__ void shared_ops(const Ops *start, Ops *out)
{
    __shared__ Ops s;
    if (threadIdx.x == 0)
        s = *start;
    __syncthreads();
    apply(&s, threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0)
        *out = s;
}

/* Several places, which lanes share unevenly. */
enum { CELLS = 12 };

struct Cell {
    U64 add, conj, disj, exor, count, seen; /* seen: a bit for each number that was counted */
};

__device__ __host__ unsigned cell_of(unsigned t)
{
    return t * t % CELLS;
}

__global__ void scattered(Cell *out)
{
    __shared__ Cell s[CELLS];
    unsigned t = threadIdx.x;
    if (t < CELLS)
        s[t] = { ~0ull - 5, ~0ull, 0, t, 0, 0 };
    __syncthreads();
    Cell *c = &s[cell_of(t)];
    atomicAdd(&c->add, (U64)t << 31);
    atomicAnd(&c->conj, ~(5ull << t % 60));
    atomicOr(&c->disj, 3ull << t % 63);
    atomicXor(&c->exor, t * 0x100000007ull);
    U64 before = atomicAdd(&c->count, 1ull);
    atomicOr(&c->seen, 1ull << before % 64);
    __syncthreads();
    if (t < CELLS)
        out[t] = s[t];
}

static void check_scattered(const Cell *got, unsigned n)
{
    for (unsigned c = 0; c < CELLS; c++) {
        Cell want = { ~0ull - 5, ~0ull, 0, c, 0, 0 };
        for (unsigned t = 0; t < n; t++)
            if (cell_of(t) == c) {
                want.add += (U64)t << 31;
                want.conj &= ~(5ull << t % 60);
                want.disj |= 3ull << t % 63;
                want.exor ^= t * 0x100000007ull;
                want.seen |= 1ull << want.count++ % 64;
            }
        EXPECT(got[c].add == want.add && got[c].conj == want.conj && got[c].disj == want.disj && got[c].exor == want.exor &&
                   got[c].count == want.count && got[c].seen == want.seen,
               "cell %u: %llx %llx %llx %llx %llu %llx", c, got[c].add, got[c].conj, got[c].disj, got[c].exor, got[c].count,
               got[c].seen);
    }
}

static void check(const Ops &o, U64 n, const char *where)
{
    U64 exor = 0;
    for (U64 t = 0; t < n; t++)
        exor ^= t * 0x100000001ull;
    EXPECT(o.add == (n * (n - 1) / 2) << 30, "%s add %llx", where, o.add);
    EXPECT(o.umin == 0x8000000000000000ull && o.umax == 0x8000000000000000ull + n - 1, "%s %llx %llx", where, o.umin, o.umax);
    EXPECT(o.smin == -(long long)((n - 1) << 33) && o.smax == (long long)((n - 1) << 33) - 5, "%s %llx %llx", where, o.smin,
           o.smax);
    EXPECT(o.conj == 0 && o.disj == ~0ull && o.exor == exor, "%s and %llx or %llx xor %llx", where, o.conj, o.disj, o.exor);
    EXPECT(o.exch < n, "%s exch %llu", where, o.exch);
    EXPECT(o.sum == n * (n - 1) / 2 * 0.25, "%s sum %g", where, o.sum);
    EXPECT(o.packed == ((n - 1) << 32 | n), "%s packed %llx", where, o.packed);
    EXPECT(o.cas >= 1 && o.cas <= n, "%s cas %llu", where, o.cas);
}

/* Where it is the address alone says. */
static __device__ __noinline__ void count(U64 *at, U64 by)
{
    U64 old = *at, seen;
    do {
        seen = old;
        old = atomicCAS(at, seen, seen + by);
    } while (old != seen);
}

__global__ void by_address(U64 *sums, const int *where)
{
    __shared__ U64 sum;
    if (!threadIdx.x)
        sum = 1;
    __syncthreads();
    count(where[threadIdx.x] ? &sum : sums, threadIdx.x + 1);
    __syncthreads();
    if (!threadIdx.x)
        sums[1] = sum;
}

static void check_by_address()
{
    enum { N = 96 };
    int where[N];
    U64 sums[2] = { 0 }, want[2] = { 0, 1 };
    for (int t = 0; t < N; t++) {
        where[t] = t % 3 == 1;
        want[where[t]] += t + 1;
    }
    Dev<int> dwhere(where, N);
    Dev<U64> d(sums, 2);
    by_address<<<1, N>>>(d, dwhere);
    CHECK_LAUNCH();
    d.get(sums);
    for (int i = 0; i < 2; i++)
        EXPECT(sums[i] == want[i], "by address %d: %llu, expected %llu", i, sums[i], want[i]);
}

int main()
{
    Ops start = {}, got;
    start.umin = ~0ull, start.conj = ~0ull, start.smin = INT64_MAX, start.smax = INT64_MIN;
    Dev<Ops> a(&start, 1), b(1);
    shared_ops<<<1, 192>>>(a, b);
    global_ops<<<6, 96>>>(a);
    CHECK_LAUNCH();
    a.get(&got);
    check(got, 576, "global");
    b.get(&got);
    check(got, 192, "shared");
    check_by_address();
    Cell cells[CELLS] = {};
    Dev<Cell> c(cells, CELLS);
    scattered<<<1, 250>>>(c);
    CHECK_LAUNCH();
    c.get(cells);
    check_scattered(cells, 250);
    return check_done();
}
