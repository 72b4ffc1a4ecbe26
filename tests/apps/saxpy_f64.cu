// y = a x + y in double with a grid-stride loop; the device contracts to fma, so the reference does too.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

__global__ void saxpy(int n, double a, const double *__restrict__ x, double *__restrict__ y)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = fma(a, x[i], y[i]);
}

int main()
{
    const int n = 50001;
    const double a = 1.0 / 3.0;
    Rng rng(2);
    std::vector<double> x(n), y(n), got(n);
    for (int i = 0; i < n; i++) {
        x[i] = rng.range(-1e6, 1e6);
        y[i] = rng.range(-1e-3, 1e3);
    }
    Dev<double> dx(x.data(), n), dy(y.data(), n);
    saxpy<<<7, 160>>>(n, a, dx, dy);
    CHECK_LAUNCH();
    dy.get(got.data());
    for (int i = 0; i < n; i++) {
        double want = std::fma(a, x[i], y[i]);
        EXPECT(got[i] == want, "i=%d: %.17g, expected %.17g", i, got[i], want);
    }
    return check_done();
}
