// Sparse matrix times vector in CSR: one row a thread (divergent loop counts), and one row a warp with a shuffle sum.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

__global__ void spmv_scalar(int rows, const int *start, const int *col, const double *val, const double *x, double *y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        double sum = 0;
        for (int i = start[row]; i < start[row + 1]; i++)
            sum += val[i] * x[col[i]];
        y[row] = sum;
    }
}

__global__ void spmv_warp(int rows, const int *start, const int *col, const double *val, const double *x, double *y)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    double sum = 0;
    for (int i = start[row] + lane; i < start[row + 1]; i += 32)
        sum += val[i] * x[col[i]];
    for (int d = 16; d; d >>= 1)
        sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0)
        y[row] = sum;
}

int main()
{
    const int rows = 500, cols = 400;
    Rng rng(12);
    std::vector<int> start(1, 0), col;
    std::vector<double> val, x(cols), want(rows), y(rows);
    for (double &v : x)
        v = rng.range(-1, 1);
    for (int r = 0; r < rows; r++) {
        int count = r % 7 == 0 ? 0 : r % 50 == 1 ? 150 : (int)rng.below(20);
        for (int i = 0; i < count; i++) {
            col.push_back((int)rng.below(cols));
            val.push_back(rng.range(-2, 2));
            want[r] += val.back() * x[col.back()];
        }
        start.push_back((int)col.size());
    }
    Dev<int> ds(start.data(), start.size()), dc(col.data(), col.size());
    Dev<double> dv(val.data(), val.size()), dx(x.data(), cols), dy(rows);
    for (int form = 0; form < 2; form++) {
        dy.fill(0xff);
        if (form)
            spmv_warp<<<(rows * 32 + 127) / 128, 128>>>(rows, ds, dc, dv, dx, dy);
        else
            spmv_scalar<<<(rows + 127) / 128, 128>>>(rows, ds, dc, dv, dx, dy);
        CHECK_LAUNCH();
        dy.get(y.data());
        for (int r = 0; r < rows; r++)
            EXPECT(fabs(y[r] - want[r]) < 1e-11, "form %d row %d: %.17g, expected %.17g", form, r, y[r], want[r]);
    }
    return check_done();
}
