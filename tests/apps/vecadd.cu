// Vector add with a ragged tail, a grid larger than the data, and zero-length and one-element edges.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

__global__ void vecadd(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

static void run(int n, int block)
{
    Rng rng(n + block);
    std::vector<float> a(n + 64), b(n + 64), c(n + 64);
    for (int i = 0; i < n + 64; i++) {
        a[i] = (float)rng.range(-10, 10);
        b[i] = (float)rng.range(-10, 10);
    }
    Dev<float> da(a.data(), a.size()), db(b.data(), b.size()), dc(c.size());
    dc.fill(0x7f);
    vecadd<<<(n + block) / block + 1, block>>>(da, db, dc, n);
    CHECK_LAUNCH();
    dc.get(c.data());
    for (int i = 0; i < n; i++)
        EXPECT(c[i] == a[i] + b[i], "n=%d block=%d i=%d: %g, expected %g", n, block, i, c[i], a[i] + b[i]);
    for (int i = n; i < n + 64; i++) {
        uint32_t bits;
        memcpy(&bits, &c[i], 4);
        EXPECT(bits == 0x7f7f7f7fu, "n=%d: wrote past the end at %d", n, i);
    }
}

int main()
{
    const int sizes[] = {0, 1, 31, 32, 33, 1000, 4097, 100003};
    for (int n : sizes) {
        run(n, 256);
        run(n, 96);
    }
    return check_done();
}
