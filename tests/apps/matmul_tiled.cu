// Tiled matrix product in float and in integers; ragged edges are padded with zero.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

template <typename T, int TILE> __global__ void matmul(const T *a, const T *b, T *c, int m, int k, int n)
{
    __shared__ T as[TILE][TILE], bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    T sum = 0;
    for (int t = 0; t < k; t += TILE) {
        as[threadIdx.y][threadIdx.x] = row < m && t + threadIdx.x < k ? a[row * k + t + threadIdx.x] : T(0);
        bs[threadIdx.y][threadIdx.x] = col < n && t + threadIdx.y < k ? b[(t + threadIdx.y) * n + col] : T(0);
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n)
        c[row * n + col] = sum;
}

template <typename T, int TILE> static void run(int m, int k, int n, double tolerance)
{
    Rng rng(m * 100 + n);
    std::vector<T> a(m * k), b(k * n), c(m * n);
    for (T &v : a)
        v = (T)rng.range(-8, 8);
    for (T &v : b)
        v = (T)rng.range(-8, 8);
    Dev<T> da(a.data(), a.size()), db(b.data(), b.size()), dc(c.size());
    dim3 grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
    matmul<T, TILE><<<grid, dim3(TILE, TILE)>>>(da, db, dc, m, k, n);
    CHECK_LAUNCH();
    dc.get(c.data());
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double want = 0;
            for (int l = 0; l < k; l++)
                want += (double)a[i * k + l] * (double)b[l * n + j];
            EXPECT(fabs((double)c[i * n + j] - want) <= tolerance, "(%d,%d): %g, expected %g", i, j, (double)c[i * n + j],
                   want);
        }
}

int main()
{
    run<float, 16>(64, 64, 64, 2e-3);
    run<float, 16>(50, 37, 61, 2e-3);
    run<double, 8>(33, 40, 17, 1e-10);
    run<int, 16>(47, 30, 35, 0);
    return check_done();
}
