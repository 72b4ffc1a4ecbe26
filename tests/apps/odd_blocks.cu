// Block shapes whose last warp is partial: barriers, shuffles, ballots and block reductions for 1 to 1024 threads.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <algorithm>
#include <vector>

struct Result {
    int sum, votes, down, any, all, count;
};

__global__ void work(const int *in, Result *out, int *rotated)
{
    __shared__ int s[1024], warp_sums[32];
    int n = blockDim.x * blockDim.y * blockDim.z;
    int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    int lane = t & 31, first = t & ~31, in_warp = min(32, n - first);
    unsigned mask = in_warp == 32 ? ~0u : (1u << in_warp) - 1;
    int v = in[blockIdx.x * n + t];

    s[t] = v;
    __syncthreads();
    rotated[blockIdx.x * n + t] = s[(t + 1) % n];

    int sum = v;
    for (int d = 16; d; d >>= 1) {
        int other = __shfl_down_sync(mask, sum, d);
        if (lane + d < in_warp)
            sum += other;
    }
    if (lane == 0)
        warp_sums[t / 32] = sum;
    Result r;
    r.votes = __ballot_sync(mask, v & 1);
    r.down = __shfl_sync(mask, v, in_warp - 1);
    r.any = __any_sync(mask, v > 990) != 0;
    r.all = __all_sync(mask, v >= 0) != 0;
    r.count = __syncthreads_count(v < 500);
    r.sum = 0;
    for (int w = 0; w < (n + 31) / 32; w++)
        r.sum += warp_sums[w];
    r.all |= (__syncthreads_and(v < 1000) != 0) << 1;
    r.any |= (__syncthreads_or(v == 17) != 0) << 1;
    out[blockIdx.x * n + t] = r;
}

/* A copy alone, in the memory of one block: nothing but a partial warp's masked loads and stores. */
__global__ void pass_on(int *memory)
{
    __shared__ int s[1024];

    s[threadIdx.x] = memory[threadIdx.x + 1024];
    __syncthreads();
    memory[threadIdx.x] = s[threadIdx.x];
}

static void run_copy(int n)
{
    std::vector<int> memory(2048);
    for (int i = 0; i < 2048; i++)
        memory[i] = i * 2654435761u >> 3;
    Dev<int> d(memory.data(), 2048);
    pass_on<<<1, n>>>(d);
    CHECK_LAUNCH();
    std::copy_n(memory.begin() + 1024, n, memory.begin());
    std::vector<int> got(2048);
    d.get(got.data());
    EXPECT(got == memory, "%d threads", n);
}

static void run(dim3 block)
{
    const int n = block.x * block.y * block.z, blocks = 3, total = n * blocks;
    Rng rng(n * 31 + block.y);
    std::vector<int> in(total), rotated(total);
    std::vector<Result> out(total);
    for (int &v : in)
        v = (int)rng.below(1000);
    Dev<int> din(in.data(), total), dr(total);
    Dev<Result> dout(total);
    work<<<blocks, block>>>(din, dout, dr);
    CHECK_LAUNCH();
    dout.get(out.data());
    dr.get(rotated.data());
    for (int i = 0; i < total; i++) {
        int b = i / n * n, t = i - b, first = b + (t & ~31), end = first + 32 < b + n ? first + 32 : b + n;
        Result w = {0, 0, in[end - 1], 0, 1, 0};
        int every = 1, some = 0;
        for (int k = first; k < end; k++) {
            w.votes |= (in[k] & 1) << (k - first);
            w.any |= in[k] > 990;
        }
        for (int k = b; k < b + n; k++) {
            w.sum += in[k];
            w.count += in[k] < 500;
            every &= in[k] < 1000;
            some |= in[k] == 17;
        }
        w.all |= every << 1;
        w.any |= some << 1;
        EXPECT(!memcmp(&w, &out[i], sizeof w), "block %ux%ux%u thread %d: sum %d/%d votes %x/%x down %d/%d any %d/%d all %d/%d "
               "count %d/%d", block.x, block.y, block.z, t, out[i].sum, w.sum, out[i].votes, w.votes, out[i].down, w.down,
               out[i].any, w.any, out[i].all, w.all, out[i].count, w.count);
        EXPECT(rotated[i] == in[b + (t + 1) % n], "block %ux%ux%u thread %d: rotated %d", block.x, block.y, block.z, t,
               rotated[i]);
    }
}

int main()
{
    const dim3 shapes[] = {dim3(1),        dim3(2),       dim3(31),     dim3(32),        dim3(33),    dim3(63), dim3(100),
                           dim3(3, 5, 7),  dim3(1, 1, 47), dim3(17, 3), dim3(8, 8, 3),   dim3(1, 96), dim3(1000), dim3(1024),
                           dim3(32, 32, 1), dim3(5, 7, 9), dim3(2, 256, 2)};
    for (dim3 s : shapes)
        run(s);
    /* Partial warps of 1 to 4 registers of 8 lanes, whole or not; the first eight shapes have code of their own. */
    for (int n : {48, 40, 56, 44, 24, 72, 33, 63, 8, 1000})
        run_copy(n);
    return check_done();
}
