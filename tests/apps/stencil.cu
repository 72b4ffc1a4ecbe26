// Heat in 2-D with a halo in shared memory, and a 3-D seven-point stencil, both in exact integer arithmetic.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <utility>
#include <vector>

enum { W = 100, H = 75, STEPS = 6, BX = 16, BY = 12, N3 = 20 };

__global__ void heat(const int *in, int *out)
{
    __shared__ int s[BY + 2][BX + 2];
    int x = blockIdx.x * BX + threadIdx.x, y = blockIdx.y * BY + threadIdx.y;
    for (int j = threadIdx.y; j < BY + 2; j += BY)
        for (int i = threadIdx.x; i < BX + 2; i += BX) {
            int gx = min(max((int)(blockIdx.x * BX) + i - 1, 0), W - 1);
            int gy = min(max((int)(blockIdx.y * BY) + j - 1, 0), H - 1);
            s[j][i] = in[gy * W + gx];
        }
    __syncthreads();
    if (x < W && y < H) {
        int i = threadIdx.x + 1, j = threadIdx.y + 1;
        out[y * W + x] = (4 * s[j][i] + s[j - 1][i] + s[j + 1][i] + s[j][i - 1] + s[j][i + 1]) >> 3;
    }
}

__global__ void seven(const int *in, int *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z, i = (z * N3 + y) * N3 + x;
    if (x >= N3 || y >= N3 || z >= N3)
        return;
    if (x == 0 || y == 0 || z == 0 || x == N3 - 1 || y == N3 - 1 || z == N3 - 1)
        out[i] = in[i];
    else
        out[i] = 2 * in[i] - in[i - 1] - in[i + 1] + in[i - N3] - in[i + N3] + in[i - N3 * N3] - in[i + N3 * N3];
}

int main()
{
    Rng rng(11);
    std::vector<int> a(W * H), b(W * H), got(W * H);
    for (int &v : a)
        v = (int)rng.below(100000);
    Dev<int> da(a.data(), a.size()), db(b.size());
    for (int s = 0; s < STEPS; s++) {
        heat<<<dim3((W + BX - 1) / BX, (H + BY - 1) / BY), dim3(BX, BY)>>>(s % 2 ? db : da, s % 2 ? da : db);
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                int l = x ? x - 1 : 0, r = x < W - 1 ? x + 1 : x, u = y ? y - 1 : 0, d = y < H - 1 ? y + 1 : y;
                b[y * W + x] = (4 * a[y * W + x] + a[u * W + x] + a[d * W + x] + a[y * W + l] + a[y * W + r]) >> 3;
            }
        std::swap(a, b);
    }
    CHECK_LAUNCH();
    (STEPS % 2 ? db : da).get(got.data());
    for (int i = 0; i < W * H; i++)
        EXPECT(got[i] == a[i], "heat (%d,%d): %d, expected %d", i % W, i / W, got[i], a[i]);

    std::vector<int> c(N3 * N3 * N3), out(c.size());
    for (int &v : c)
        v = (int)rng.below(1000);
    Dev<int> dc(c.data(), c.size()), dd(c.size());
    seven<<<dim3(3, 4, 7), dim3(8, 5, 3)>>>(dc, dd);
    CHECK_LAUNCH();
    dd.get(out.data());
    for (int i = 0; i < (int)c.size(); i++) {
        int x = i % N3, y = i / N3 % N3, z = i / (N3 * N3), e = N3 - 1;
        bool edge = !x || !y || !z || x == e || y == e || z == e;
        int want = edge ? c[i]
                        : 2 * c[i] - c[i - 1] - c[i + 1] + c[i - N3] - c[i + N3] + c[i - N3 * N3] - c[i + N3 * N3];
        EXPECT(out[i] == want, "seven (%d,%d,%d): %d, expected %d", x, y, z, out[i], want);
    }
    return check_done();
}
