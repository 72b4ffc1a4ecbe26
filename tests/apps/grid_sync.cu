// Grid groups: this_grid().sync() many times in one kernel, in two kernels at once, after each other, and where the launch is
// none that can.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <cooperative_groups.h>
#include <vector>

namespace cg = cooperative_groups;

/* Every round each block reads what its neighbour wrote in the round before. */
__global__ void rounds(unsigned *a, unsigned *b, int n)
{
    cg::grid_group grid = cg::this_grid();
    unsigned here = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    a[here] = here;
    grid.sync();
    for (int i = 0; i < n; i++) {
        unsigned *from = i & 1 ? b : a, *to = i & 1 ? a : b;
        to[here] = from[(here + blockDim.x) % all] * 3 + 1;
        grid.sync();
    }
}

__global__ void asked(int *valid)
{
    *valid = cg::this_grid().is_valid();
}

static void launch(unsigned *a, unsigned *b, int n, int blocks, int threads, cudaStream_t stream)
{
    void *args[] = { &a, &b, &n };
    CHECK(cudaLaunchCooperativeKernel((const void *)rounds, dim3(blocks), dim3(threads), args, 0, stream));
}

static void verify(const Dev<unsigned> &a, const Dev<unsigned> &b, int n, int blocks, int threads)
{
    unsigned all = (unsigned)(blocks * threads);
    std::vector<unsigned> want(all), next(all), got(a.n);
    for (unsigned i = 0; i < all; i++)
        want[i] = i;
    for (int k = 0; k < n; k++) {
        for (unsigned i = 0; i < all; i++)
            next[i] = want[(i + threads) % all] * 3 + 1;
        want.swap(next);
    }
    (n & 1 ? b : a).get(got.data());
    for (unsigned i = 0; i < all; i++)
        EXPECT(got[i] == want[i], "thread %u of %u after %d rounds: %u, not %u", i, all, n, got[i], want[i]);
}

int main()
{
    enum { BLOCKS = 6, THREADS = 96, N = 25 };
    cudaStream_t streams[2];
    for (cudaStream_t &s : streams)
        CHECK(cudaStreamCreate(&s));
    Dev<unsigned> a0(BLOCKS * THREADS), b0(BLOCKS * THREADS), a1(BLOCKS * THREADS), b1(BLOCKS * THREADS);
    for (int repeat = 0; repeat < 3; repeat++) {
        launch(a0, b0, N + repeat, BLOCKS, THREADS, streams[0]);
        launch(a1, b1, N - repeat, BLOCKS - 1, THREADS, streams[1]);
        CHECK(cudaDeviceSynchronize());
        verify(a0, b0, N + repeat, BLOCKS, THREADS);
        verify(a1, b1, N - repeat, BLOCKS - 1, THREADS);
    }
    Dev<int> valid(1);
    int value = -1;
    asked<<<1, 1>>>(valid);
    CHECK_LAUNCH();
    valid.get(&value);
    EXPECT(value == 0, "a plain launch has a grid to wait for");
    int *ptr = valid.ptr;
    void *args[] = { &ptr };
    CHECK(cudaLaunchCooperativeKernel((const void *)asked, dim3(1), dim3(1), args, 0, 0));
    CHECK(cudaDeviceSynchronize());
    valid.get(&value);
    EXPECT(value == 1, "a cooperative launch has none");
    for (cudaStream_t s : streams)
        CHECK(cudaStreamDestroy(s));
    return check_done();
}
