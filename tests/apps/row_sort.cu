// Rows of at most 32 keys with values, each sorted by half a warp: a bitonic network in shared memory over keys, values and bytes
// that say which of them are there, rows of two in a warp.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <algorithm>
#include <vector>

enum { WIDTH = 32, ROWS = 2 };

template <typename K> struct Row {
    K key[WIDTH];
    int64_t value[WIDTH];
    bool there[WIDTH];
};

template <typename T> __device__ void exchange(T &a, T &b)
{
    T t = a;
    a = b;
    b = t;
}

template <typename K> __device__ void order(Row<K> &row, unsigned at, unsigned stride, bool down)
{
    unsigned other = at + stride;
    bool less = (row.there[at] && row.key[at] < row.key[other]) || !row.there[other];
    if (less == down) {
        exchange(row.key[at], row.key[other]);
        exchange(row.value[at], row.value[other]);
        exchange(row.there[at], row.there[other]);
    }
}

template <typename K> __device__ void sort_row(Row<K> &row)
{
#pragma unroll
    for (unsigned size = 2; size <= WIDTH; size *= 2) {
        bool down = size < WIDTH && (threadIdx.x & (size / 2)) != 0;
#pragma unroll
        for (unsigned stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            order(row, 2 * threadIdx.x - (threadIdx.x & (stride - 1)), stride, down);
        }
    }
    __syncthreads();
}

template <typename K> __global__ void sort_rows(K *keys, int64_t *values, unsigned rows, unsigned n)
{
    __shared__ Row<K> all[ROWS];
    Row<K> &row = all[threadIdx.y];
    unsigned r = blockIdx.x * ROWS + threadIdx.y;
    for (unsigned i = threadIdx.x; i < WIDTH; i += blockDim.x) {
        row.there[i] = r < rows && i < n;
        row.key[i] = row.there[i] ? keys[r * n + i] : K();
        row.value[i] = row.there[i] ? values[r * n + i] : 0;
    }
    sort_row(row);
    for (unsigned i = threadIdx.x; i < n && r < rows; i += blockDim.x) {
        keys[r * n + i] = row.key[i];
        values[r * n + i] = row.value[i];
    }
}

template <typename K> static void check(unsigned rows, unsigned n)
{
    Rng rng(rows + n);
    std::vector<K> in(rows * n), keys(rows * n);
    std::vector<int64_t> values(rows * n), got(rows * n);
    for (unsigned i = 0; i < rows * n; i++) {
        in[i] = (K)(rng.u32() % 100);
        values[i] = i % n;
    }
    Dev<K> k(in.data(), rows * n);
    Dev<int64_t> v(values.data(), rows * n);
    sort_rows<K><<<(rows + ROWS - 1) / ROWS, dim3(16, ROWS)>>>(k, v, rows, n);
    CHECK_LAUNCH();
    k.get(keys.data());
    v.get(got.data());
    for (unsigned r = 0; r < rows; r++) {
        for (unsigned i = 0; i < n; i++)
            EXPECT(got[r * n + i] >= 0 && got[r * n + i] < n && keys[r * n + i] == in[r * n + got[r * n + i]],
                   "%u x %u: row %u, key %u is not its value's", rows, n, r, i);
        std::sort(&in[r * n], &in[r * n] + n);
        for (unsigned i = 0; i < n; i++)
            EXPECT(keys[r * n + i] == in[r * n + i], "%u x %u: row %u, key %u: %d, expected %d", rows, n, r, i,
                   (int)keys[r * n + i], (int)in[r * n + i]);
    }
}

int main()
{
    for (unsigned n : { 5, 9, 16, 17, 31, 32 }) {
        check<int>(33, n);
        check<short>(33, n);
        check<float>(33, n);
        check<int64_t>(33, n);
    }
    return check_done();
}
