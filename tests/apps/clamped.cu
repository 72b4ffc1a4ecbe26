// Neighbours in shared memory whose indices are held within bounds, reflected at them or go round: most warps read a row there,
// those at an end do not (ptx/simt/emit/likely_row.c).  Elements of 1 to 8 bytes, arrays anywhere in the block's memory, parts of
// warps, reads and writes.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

enum { BLOCKS = 3 };

// By `way`: held within bounds, reflected, around a ring.
__host__ __device__ static int neighbour(int t, int by, int n, int way)
{
    int i = t + by;
    if (way == 0)
        return i < 0 ? 0 : i > n - 1 ? n - 1 : i;
    if (way == 1)
        return i < 0 ? -i : i > n - 1 ? 2 * (n - 1) - i : i;
    return (i + n) % n;
}

template <class T> __global__ void gathered(const T *in, T *out, int n, int by, int way, int skip)
{
    extern __shared__ double memory[];
    T *s = (T *)memory + skip;
    int t = threadIdx.x, at = blockIdx.x * n;
    if (t < n)
        s[t] = in[at + t];
    __syncthreads();
    int left = neighbour(t, -by, n, way), right = neighbour(t, by, n, way);
    for (int round = 0; round < 3; round++) {
        T v = 0;
        if (t < n && (t + round) % 5)
            v = s[left] + s[right] * (T)2;
        __syncthreads();
        if (t < n)
            s[t] = s[t] + v;
        __syncthreads();
    }
    if (t < n)
        out[at + t] = s[t];
}

template <class T> __global__ void scattered(const T *in, T *out, int n, int by, int skip)
{
    extern __shared__ double memory[];
    T *s = (T *)memory + skip;
    int t = threadIdx.x, at = blockIdx.x * n;
    if (t < n)
        s[neighbour(t, by, n, 2)] = in[at + t];
    __syncthreads();
    if (t < n)
        out[at + t] = s[t];
}

template <class T> static void try_one(const char *type, int threads, int n, int by, int skip)
{
    std::vector<T> in(BLOCKS * n), out(in.size());
    Rng rng(threads * 131 + n * 7 + by);
    for (T &v : in)
        v = (T)rng.below(100);
    Dev<T> din(in.data(), in.size()), dout(out.size());
    size_t bytes = (n + skip) * sizeof(T);
    for (int way = 0; way < 3; way++) {
        gathered<<<BLOCKS, threads, bytes>>>(din.ptr, dout.ptr, n, by, way, skip);
        CHECK_LAUNCH();
        dout.get(out.data());
        for (int b = 0; b < BLOCKS; b++) {
            std::vector<T> s(in.begin() + b * n, in.begin() + (b + 1) * n), v(n);
            for (int round = 0; round < 3; round++) {
                for (int t = 0; t < n; t++)
                    v[t] = (t + round) % 5 ? (T)(s[neighbour(t, -by, n, way)] + s[neighbour(t, by, n, way)] * (T)2) : (T)0;
                for (int t = 0; t < n; t++)
                    s[t] = s[t] + v[t];
            }
            for (int t = 0; t < n; t++)
                EXPECT(out[b * n + t] == s[t], "%s, %d threads, %d of %d, way %d: [%d] is %g, expected %g", type, threads, by, n,
                       way, b * n + t, (double)out[b * n + t], (double)s[t]);
        }
    }
    scattered<<<BLOCKS, threads, bytes>>>(din.ptr, dout.ptr, n, by, skip);
    CHECK_LAUNCH();
    dout.get(out.data());
    for (int b = 0; b < BLOCKS; b++)
        for (int t = 0; t < n; t++) {
            T got = out[b * n + neighbour(t, by, n, 2)];
            EXPECT(got == in[b * n + t], "%s, %d threads, scattered by %d of %d: [%d] is %g, expected %g", type, threads, by, n,
                   b * n + t, (double)got, (double)in[b * n + t]);
        }
}

int main()
{
    const int shapes[][4] = { { 256, 256, 1, 0 }, { 256, 250, 3, 7 }, { 64, 64, 33, 1 },  { 32, 32, 1, 0 },
                              { 96, 71, 5, 3 },   { 33, 33, 2, 0 },   { 512, 500, 16, 2 } };
    for (const int *s : shapes) {
        try_one<float>("float", s[0], s[1], s[2], s[3]);
        try_one<double>("double", s[0], s[1], s[2], s[3]);
        try_one<unsigned char>("byte", s[0], s[1], s[2], s[3]);
        try_one<short>("short", s[0], s[1], s[2], s[3]);
        try_one<long long>("long", s[0], s[1], s[2], s[3]);
    }
    return check_done();
}
