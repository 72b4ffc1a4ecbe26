// Cooperative groups within a block: thread blocks, tiles of each size with shuffles and votes, coalesced groups, partitions.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

template <int TILE> __device__ int tile_sum(int v)
{
    auto tile = cg::tiled_partition<TILE>(cg::this_thread_block());
    for (int d = tile.size() / 2; d > 0; d /= 2)
        v += tile.shfl_down(v, d);
    return tile.shfl(v, 0);
}

__global__ void tiles(int *out)
{
    cg::thread_block block = cg::this_thread_block();
    int t = block.thread_rank(), n = block.size();
    out[t] = tile_sum<32>(t);
    out[n + t] = tile_sum<8>(t);
    out[2 * n + t] = tile_sum<2>(t);
    auto four = cg::tiled_partition<4>(block);
    int bits = (four.any(t % 12 == 5) != 0) | (four.all(t % 8 < 4) != 0) << 1 | (int)four.ballot(t & 1) << 2;
    out[3 * n + t] = bits | four.meta_group_rank() << 8 | four.thread_rank() << 16;
}

__global__ void coalesced(int *out, int *counter)
{
    int t = threadIdx.x;
    out[t] = -1;
    if (t % 3 == 0) {
        cg::coalesced_group g = cg::coalesced_threads();
        int base = 0;
        if (g.thread_rank() == 0)
            base = atomicAdd(counter, (int)g.size());
        base = g.shfl(base, 0);
        out[t] = base + g.thread_rank();
        g.sync();
    }
}

__global__ void block_wide(int *out)
{
    __shared__ int s[128];
    cg::thread_block block = cg::this_thread_block();
    s[block.thread_rank()] = block.thread_rank() * block.group_index().x;
    block.sync();
    out[block.group_index().x * 128 + block.thread_rank()] = s[127 - block.thread_rank()] + block.thread_index().y;
    cg::sync(block);
    auto dynamic = cg::tiled_partition(block, 16);
    if (dynamic.thread_rank() == 3)
        s[dynamic.size()] = 1;
    dynamic.sync();
}

int main()
{
    const int n = 96;
    Dev<int> d(512);
    int out[512];
    tiles<<<1, n>>>(d);
    CHECK_LAUNCH();
    d.get(out);
    for (int t = 0; t < n; t++) {
        int b32 = t & ~31, b8 = t & ~7, b2 = t & ~1, b4 = t & ~3, any = 0, all = 1, ballot = 0;
        for (int k = 0; k < 4; k++) {
            any |= (b4 + k) % 12 == 5;
            all &= (b4 + k) % 8 < 4;
            ballot |= ((b4 + k) & 1) << k;
        }
        int bits = any | all << 1 | ballot << 2 | t / 4 << 8 | t % 4 << 16;
        EXPECT(out[t] == 32 * b32 + 496 && out[n + t] == 8 * b8 + 28 && out[2 * n + t] == 2 * b2 + 1, "sums t=%d: %d %d %d", t,
               out[t], out[n + t], out[2 * n + t]);
        EXPECT(out[3 * n + t] == bits, "tile of 4, t=%d: %x, expected %x", t, out[3 * n + t], bits);
    }

    Dev<int> counter(1);
    counter.fill(0);
    coalesced<<<1, 64>>>(d, counter);
    CHECK_LAUNCH();
    d.get_unordered(out);
    int total, seen = 0;
    counter.get(&total);
    EXPECT(total == 22, "coalesced total %d", total);
    for (int t = 0; t < 64; t++)
        if (t % 3 == 0)
            seen |= out[t] >= 0 && out[t] < 22 ? 1 << out[t] : 0;
        else
            EXPECT(out[t] == -1, "t=%d took part", t);
    EXPECT(seen == (1 << 22) - 1, "coalesced ranks %x", seen);

    block_wide<<<4, dim3(32, 4)>>>(d);
    CHECK_LAUNCH();
    d.get(out);
    for (int b = 0; b < 4; b++)
        for (int t = 0; t < 128; t++)
            EXPECT(out[b * 128 + t] == (127 - t) * b + t / 32, "block %d thread %d: %d", b, t, out[b * 128 + t]);
    return check_done();
}
