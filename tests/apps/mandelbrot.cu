// Mandelbrot in integer fixed point, so that each pixel's iteration count is exact: a loop with a divergent exit.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

enum { W = 96, H = 70, LIMIT = 200, FRACTION = 24 };

__host__ __device__ int escape(int px, int py)
{
    const int64_t one = 1 << FRACTION;
    int64_t cx = -2 * one + (3 * one * px) / W, cy = -one + (2 * one * py) / H, x = 0, y = 0;
    int n = 0;
    while (n < LIMIT) {
        int64_t xx = (x * x) >> FRACTION, yy = (y * y) >> FRACTION;
        if (xx + yy > 4 * one)
            break;
        y = ((x * y) >> (FRACTION - 1)) + cy;
        x = xx - yy + cx;
        n++;
    }
    return n;
}

__global__ void mandelbrot(int *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W || y >= H)
        return;
    out[y * W + x] = escape(x, y);
}

/* The usual float form; compared loosely, as contraction moves a few boundary pixels. */
__global__ void mandelbrot_float(int *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W || y >= H)
        return;
    float cx = -2.0f + 3.0f * x / W, cy = -1.0f + 2.0f * y / H, zx = 0, zy = 0;
    int n = 0;
    for (; n < LIMIT && zx * zx + zy * zy <= 4.0f; n++) {
        float t = zx * zx - zy * zy + cx;
        zy = 2 * zx * zy + cy;
        zx = t;
    }
    out[y * W + x] = n;
}

int main()
{
    std::vector<int> fixed(W * H), floating(W * H);
    Dev<int> d(W * H), e(W * H);
    dim3 block(16, 8), grid((W + 15) / 16, (H + 7) / 8);
    mandelbrot<<<grid, block>>>(d);
    mandelbrot_float<<<grid, block>>>(e);
    CHECK_LAUNCH();
    d.get(fixed.data());
    e.get(floating.data());
    int differ = 0;
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            int want = escape(x, y);
            EXPECT(fixed[y * W + x] == want, "(%d,%d): %d, expected %d", x, y, fixed[y * W + x], want);
            differ += floating[y * W + x] != want;
        }
    EXPECT(differ < W * H / 20, "%d of %d float pixels differ", differ, W * H);
    return check_done();
}
