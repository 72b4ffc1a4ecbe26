// Loops whose indices and addresses are numbers of threads times arguments, as reductions have them: lanes that are all alike,
// side by side or apart, in whole warps and in some lanes, in rows of any length; sums, and what is written on the way.
// variants: shared static
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

enum { ROOM = 1 << 14, THREADS = 256 };

struct Way {
    unsigned a, b, first; // the index begins at first + x * a + y * b, ...
    unsigned c, d;        // ... in what is x * c + y * d elements from the beginning
    unsigned n, step, stride;
    unsigned odd;         // threads of which the number ends in this go by
};

struct alignas(16) Four {
    float x[4];
};

__host__ __device__ static void add(float *sum, float v) { *sum += v; }
__host__ __device__ static void add(unsigned *sum, unsigned v) { *sum = *sum * 3 + v; }
__host__ __device__ static void add(Four *sum, Four v)
{
    for (int k = 0; k < 4; k++)
        sum->x[k] += v.x[k] * (k + 1);
}

template <bool DENSE, class T>
__host__ __device__ T sum_of(const T *in, Way w, unsigned x, unsigned y)
{
    T sum = T();
    const T *from = in + (size_t)x * w.c + (size_t)y * w.d;
    unsigned i = w.first + x * w.a + y * w.b;
#pragma unroll 1
    for (; i < w.n; i += w.step)
        add(&sum, from[DENSE ? i : i * w.stride]);
    return sum;
}

template <bool DENSE, class T>
__global__ void sums(const T *in, T *out, Way w)
{
    unsigned t = threadIdx.y * blockDim.x + threadIdx.x;
    if ((t & 3) != w.odd)
        out[t] = sum_of<DENSE>(in, w, threadIdx.x, threadIdx.y);
}

// Four rounds at a time, each by itself, and a value of the last one that is used behind the loop.
template <class T>
__host__ __device__ T four_of(const T *in, Way w, unsigned x, unsigned y, unsigned *ret_left)
{
    T part[4] = {};
    unsigned i = w.first + x * w.a + y * w.b;
    const T *from = in + x * w.c + y * w.d;
#pragma unroll 1
    while (i + 3 * w.step < w.n) {
        for (int k = 0; k < 4; k++)
            add(&part[k], from[(i + k * w.step) * w.stride]);
        i += 4 * w.step;
    }
    *ret_left = i;
    for (int k = 1; k < 4; k++)
        add(&part[0], part[k]);
    return part[0];
}

template <class T>
__global__ void fours(const T *in, T *out, unsigned *left, Way w)
{
    unsigned t = threadIdx.y * blockDim.x + threadIdx.x;
    if ((t & 3) != w.odd)
        out[t] = four_of(in, w, threadIdx.x, threadIdx.y, &left[t]);
}

// Writes on the way, where only some lanes may: each to places of its own, where the way has such.
template <class T>
__global__ void writes(const T *in, T *out, Way w)
{
    const T *from = in + threadIdx.x * w.c + threadIdx.y * w.d;
    T *to = out + threadIdx.x * w.c + threadIdx.y * w.d;
#pragma unroll 1
    for (unsigned i = w.first + threadIdx.x * w.a + threadIdx.y * w.b; i < w.n; i += w.step) {
        T v = from[i * w.stride];
        add(&v, v);
        if (((i + threadIdx.x) & 3) != w.odd)
            to[i * w.stride] = v;
    }
}

template <class T> static T element(int i);
template <> float element<float>(int i) { return (float)(i * 7 % 1001); }
template <> unsigned element<unsigned>(int i) { return (unsigned)i * 7919; }
template <> Four element<Four>(int i) { return { { (float)(i % 31), (float)(i % 71), (float)(i % 501), (float)(i % 9) } }; }

template <class T>
struct Arrays {
    std::vector<T> in, out, want;
    std::vector<unsigned> left, want_left;
    Dev<T> d_in, d_out;
    Dev<unsigned> d_left;
    Arrays() : in(ROOM), out(ROOM), want(ROOM), left(THREADS), want_left(THREADS), d_in(ROOM), d_out(ROOM), d_left(THREADS)
    {
        for (int i = 0; i < ROOM; i++)
            in[i] = element<T>(i);
        d_in.put(in.data());
    }
    void begin()
    {
        d_out.fill(0);
        d_left.fill(0);
        std::memset((void *)want.data(), 0, sizeof(T) * ROOM);
        std::memset(want_left.data(), 0, sizeof(unsigned) * THREADS);
    }
    void compare(const char *what, const Way &w, dim3 block)
    {
        CHECK_LAUNCH();
        d_out.get(out.data());
        d_left.get(left.data());
        for (int i = 0; i < ROOM; i++)
            EXPECT(!std::memcmp(&out[i], &want[i], sizeof(T)),
                   "%s of %d bytes, block %u x %u, index %u %u %u, place %u %u, to %u by %u: %d", what, (int)sizeof(T), block.x,
                   block.y, w.first, w.a, w.b, w.c, w.d, w.n, w.step, i);
        EXPECT(left == want_left, "%s: where the loop ends", what);
    }
};

template <bool DENSE, class T, class E>
static void run_sums(Arrays<T> &a, Way w, dim3 block, E each)
{
    a.begin();
    each([&](unsigned t, unsigned x, unsigned y) {
        if ((t & 3) != w.odd)
            a.want[t] = sum_of<DENSE>(a.in.data(), w, x, y);
    });
    sums<DENSE, T><<<1, block>>>(a.d_in, a.d_out, w);
    a.compare("sums", w, block);
}

template <class T>
static void run(Arrays<T> &a, Way w, dim3 block, bool writing)
{
    auto each = [&](auto f) {
        for (unsigned t = 0; t < block.x * block.y; t++)
            f(t, t % block.x, t / block.x);
    };
    run_sums<false>(a, w, block, each);
    run_sums<true>(a, w, block, each);
    if (w.first > ROOM) // four rounds might wrap
        return;
    a.begin();
    each([&](unsigned t, unsigned x, unsigned y) {
        if ((t & 3) != w.odd)
            a.want[t] = four_of(a.in.data(), w, x, y, &a.want_left[t]);
    });
    fours<T><<<1, block>>>(a.d_in, a.d_out, a.d_left, w);
    a.compare("fours", w, block);
    if (!writing)
        return;
    a.begin();
    each([&](unsigned, unsigned x, unsigned y) {
        for (unsigned i = w.first + x * w.a + y * w.b; i < w.n; i += w.step)
            if (((i + x) & 3) != w.odd) {
                size_t at = x * w.c + y * w.d + (size_t)i * w.stride;
                T v = a.in[at];
                add(&v, v);
                a.want[at] = v;
            }
    });
    writes<T><<<1, block>>>(a.d_in, a.d_out, w);
    a.compare("writes", w, block);
}

template <class T>
static void all(const std::vector<dim3> &blocks)
{
    Arrays<T> arrays;
    for (dim3 block : blocks)
        for (unsigned odd = 2; odd < 5; odd += 2) { // 4: none goes by
            unsigned x = block.x, y = block.y;
            run(arrays, { 0, 1, 0, 1, 0, 50, y, x, odd }, block, true);       // columns: lanes alike
            run(arrays, { 0, 1, 3, 1, 0, 50, y, x + 5, odd }, block, true);
            run(arrays, { 1, x, 0, 0, 0, 1000, x * y, 1, odd }, block, true); // one row: lanes side by side
            run(arrays, { 1, x, 7, 0, 0, 777, x * y, 3, odd }, block, true);
            run(arrays, { 1, 0, 0, 0, 300, 300, x, 1, odd }, block, true);    // a row for each y
            run(arrays, { 0, 0, 0, 1, x, 9, 1, x * y, odd }, block, true);
            run(arrays, { 2, 1, 0, 3, 5, 300, 7, 2, odd }, block, false);     // anything
            run(arrays, { 1, 1, 0, 1, 1, 100, 3, 1, odd }, block, false);
            run(arrays, { 0, 1, 0, 2, 1, 60, 2, 9, odd }, block, false);
            run(arrays, { 0, 1, 0, 0, 0, 60, 2, 9, odd }, block, false);      // all read the same
            run(arrays, { 1u << 31, 0, 0, 1, 0, 90, 11, 4, odd }, block, false); // every second lane has no round
            run(arrays, { 1, 5, 0u - 8u, 1, 0, 60, 3, 4, odd }, block, false);   // a few lanes' index wraps
            run(arrays, { 0, 1, 5, 1, 0, 4, 1, 1, odd }, block, true);        // no round
        }
}

int main()
{
    all<float>({ { 32, 4, 1 }, { 64, 1, 1 }, { 16, 8, 1 }, { 33, 3, 1 }, { 20, 1, 1 }, { 128, 2, 1 } });
    all<unsigned>({ { 32, 4, 1 }, { 20, 1, 1 } });
    all<Four>({ { 64, 1, 1 }, { 33, 3, 1 } });
    return check_done();
}
