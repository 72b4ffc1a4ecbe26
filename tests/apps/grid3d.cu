// Grids and blocks in three dimensions: every index register, sizes that differ in each dimension, each block exactly once.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

struct Seen {
    unsigned short tx, ty, tz, bx, by, bz;
    unsigned count;
};

__global__ void visit(Seen *seen)
{
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    Seen *s = &seen[block * (blockDim.x * blockDim.y * blockDim.z) + thread];
    s->tx = threadIdx.x, s->ty = threadIdx.y, s->tz = threadIdx.z;
    s->bx = blockIdx.x, s->by = blockIdx.y, s->bz = blockIdx.z;
    atomicAdd(&s->count, 1u);
}

__global__ void lane_and_warp(unsigned *out)
{
    unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x, lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    out[thread] = lane | (warpSize << 8);
}

static void run(dim3 g, dim3 b)
{
    size_t per = b.x * b.y * b.z, n = per * g.x * g.y * g.z;
    std::vector<Seen> seen(n);
    Dev<Seen> d(n);
    d.fill(0);
    visit<<<g, b>>>(d);
    CHECK_LAUNCH();
    d.get(seen.data());
    for (size_t i = 0; i < n; i++) {
        size_t t = i % per, k = i / per;
        const Seen &s = seen[i];
        bool ok = s.count == 1 && s.tx == t % b.x && s.ty == t / b.x % b.y && s.tz == t / (b.x * b.y) && s.bx == k % g.x &&
                  s.by == k / g.x % g.y && s.bz == k / (g.x * g.y);
        EXPECT(ok, "%zu: count %u thread (%u,%u,%u) block (%u,%u,%u)", i, s.count, s.tx, s.ty, s.tz, s.bx, s.by, s.bz);
    }
}

int main()
{
    run(dim3(3, 5, 7), dim3(4, 2, 6));
    run(dim3(1, 1, 9), dim3(1, 33, 2));
    run(dim3(2, 40, 1), dim3(5, 1, 64));
    run(dim3(1000, 2, 2), dim3(2, 2, 1));
    unsigned out[210];
    Dev<unsigned> d(210);
    lane_and_warp<<<1, dim3(7, 5, 6)>>>(d);
    CHECK_LAUNCH();
    d.get(out);
    for (unsigned i = 0; i < 210; i++)
        EXPECT(out[i] == (i % 32 | 32 << 8), "thread %u: lane %u", i, out[i] & 255);
    return check_done();
}
