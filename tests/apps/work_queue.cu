// Threads that stay and take item after item from a counter: one thread fetches for the block, or one lane for the warp, and
// works alone behind it. Lanes come back to the loop's head on different ways, and meet there (ptx/finish/amdgpu/heads.c).
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

enum { ITEMS = 300 };
__device__ int next_item;

__device__ int steps_of(int v)
{
    int steps = 0;
    for (; v != 1; steps++)
        v = v & 1 ? 3 * v + 1 : v >> 1;
    return steps;
}

/* One thread fetches, the others wait; it alone has work. */
__global__ void one_works(int *out, int n)
{
    __shared__ int item;
    for (;;) {
        if (threadIdx.x == 0)
            item = atomicAdd(&next_item, 1);
        __syncthreads();
        int mine = item;
        __syncthreads();
        if (mine >= n)
            break;
        if (threadIdx.x == 0)
            out[mine] = steps_of(mine + 1);
    }
}

/* All work, and each knows by itself whether it is done. */
__global__ void all_work(int *out, int n)
{
    __shared__ int item;
    bool done = false;
    while (!done) {
        if (threadIdx.x == 0)
            item = atomicAdd(&next_item, 1);
        __syncthreads();
        int mine = item;
        __syncthreads();
        done = mine >= n;
        if (!done && threadIdx.x % 3 == 0)
            atomicAdd(&out[mine], steps_of(mine + 1));
    }
}

/* One lane fetches for its warp, which hears of it by a shuffle. */
__global__ void warp_works(int *out, int n)
{
    unsigned lane = threadIdx.x % 32;
    for (;;) {
        int mine = 0;
        if (lane == 0)
            mine = atomicAdd(&next_item, 1);
        mine = __shfl_sync(~0u, mine, 0);
        if (mine >= n)
            break;
        if (lane == 0)
            out[mine] = steps_of(mine + 1);
    }
}

/* The same with a vote on whether anything is left. */
__global__ void warp_votes(int *out, int n)
{
    unsigned lane = threadIdx.x % 32;
    int mine = 0;
    while (__any_sync(~0u, mine < n)) {
        if (lane == 3)
            mine = atomicAdd(&next_item, 1);
        if (lane != 3 || mine >= n) {
            if (lane != 3)
                mine = n;
            continue;
        }
        out[mine] = steps_of(mine + 1);
    }
}

static void run(const char *name, void (*kernel)(int *, int), int times)
{
    const int zero = 0;
    std::vector<int> out(ITEMS);
    Dev<int> d(out.data(), ITEMS);
    CHECK(cudaMemcpyToSymbol(next_item, &zero, sizeof zero));
    kernel<<<5, 64>>>(d, ITEMS);
    CHECK_LAUNCH();
    d.get(out.data());
    for (int i = 0; i < ITEMS; i++) {
        int steps = 0;
        for (int v = i + 1; v != 1; steps++)
            v = v & 1 ? 3 * v + 1 : v >> 1;
        EXPECT(out[i] == times * steps, "%s: %d has %d, expected %d", name, i, out[i], times * steps);
    }
}

int main()
{
    run("one_works", one_works, 1);
    run("all_work", all_work, 22);
    run("warp_works", warp_works, 1);
    run("warp_votes", warp_votes, 1);
    return check_done();
}
