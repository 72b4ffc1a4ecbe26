// Sum, minimum and arg-max by warp shuffles (down, xor, up, idx), then across warps through shared memory.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <climits>
#include <vector>

__device__ int warp_sum(int v)
{
    for (int d = 16; d; d >>= 1)
        v += __shfl_down_sync(0xffffffffu, v, d);
    return v;
}

__device__ int warp_min(int v)
{
    for (int d = 16; d; d >>= 1)
        v = min(v, __shfl_xor_sync(0xffffffffu, v, d));
    return v;
}

__global__ void reduce(const int *in, int n, int *ret_sum, int *ret_min)
{
    __shared__ int sums[32], mins[32];
    int sum = 0, least = INT_MAX;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        sum += in[i];
        least = min(least, in[i]);
    }
    sum = warp_sum(sum);
    least = warp_min(least);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (lane == 0) {
        sums[warp] = sum;
        mins[warp] = least;
    }
    __syncthreads();
    if (warp == 0) {
        int warps = blockDim.x / 32;
        sum = warp_sum(lane < warps ? sums[lane] : 0);
        least = warp_min(lane < warps ? mins[lane] : INT_MAX);
        if (lane == 0) {
            atomicAdd(ret_sum, sum);
            atomicMin(ret_min, least);
        }
    }
}

/* Each of the four shuffles with widths below 32, for int, float, double and long long. */
__global__ void shuffles(int *out, float *fout, double *dout, long long *lout)
{
    int t = threadIdx.x;
    out[t] = __shfl_up_sync(~0u, t * 10, 3, 8);
    out[64 + t] = __shfl_down_sync(~0u, t * 10, 3, 8);
    out[128 + t] = __shfl_xor_sync(~0u, t * 10, 5, 16);
    out[192 + t] = __shfl_sync(~0u, t * 10, 6, 4);
    fout[t] = __shfl_sync(~0u, t * 0.5f, (t + 1) & 31);
    dout[t] = __shfl_up_sync(~0u, t * 0.25, 1);
    lout[t] = __shfl_xor_sync(~0u, (long long)t << 40 | t, 31);
}

static void check_shuffles()
{
    Dev<int> d(256);
    Dev<float> f(64);
    Dev<double> g(64);
    Dev<long long> l(64);
    int out[256];
    float fo[64];
    double go[64];
    long long lo[64];
    shuffles<<<1, 64>>>(d, f, g, l);
    CHECK_LAUNCH();
    d.get(out);
    f.get(fo);
    g.get(go);
    l.get(lo);
    for (int t = 0; t < 64; t++) {
        int lane = t & 31, base = t & ~31;
        int up = (lane & 7) >= 3 ? t - 3 : t, down = (lane & 7) + 3 < 8 ? t + 3 : t;
        int bfly = t ^ 5, idx = base | (lane & ~3) | (6 & 3);
        EXPECT(out[t] == up * 10, "up t=%d: %d, expected %d", t, out[t], up * 10);
        EXPECT(out[64 + t] == down * 10, "down t=%d: %d, expected %d", t, out[64 + t], down * 10);
        EXPECT(out[128 + t] == bfly * 10, "xor t=%d: %d, expected %d", t, out[128 + t], bfly * 10);
        EXPECT(out[192 + t] == idx * 10, "idx t=%d: %d, expected %d", t, out[192 + t], idx * 10);
        EXPECT(fo[t] == (base + ((t + 1) & 31)) * 0.5f, "float t=%d: %g", t, fo[t]);
        EXPECT(go[t] == (lane ? t - 1 : t) * 0.25, "double t=%d: %g", t, go[t]);
        EXPECT(lo[t] == ((long long)(t ^ 31) << 40 | (t ^ 31)), "long t=%d: %llx", t, lo[t]);
    }
}

/* Lanes that follow from the thread's index or the lane's, as matrix products and transposes make them. */
__host__ __device__ int lane_of(int way, int t)
{
    int l = t & 31;
    switch (way) {
    case 0: return (l * 4 + (l >> 3)) & 31;
    case 1: return l / 4 * 4;
    case 2: return (l & 3) * 8 + 5;
    case 3: return t ^ 7;
    case 4: return t + 9;
    case 5: return (t >> 2) + 24;
    default: return (t << 1 | l >> 4) - 40;
    }
}

enum { WAYS = 7 };

__global__ void computed(int *out, int n)
{
    int t = threadIdx.y * blockDim.x + threadIdx.x, l;
    asm("mov.u32 %0, %%laneid;" : "=r"(l));
#pragma unroll
    for (int way = 0; way < WAYS; way++) {
        out[way * n + t] = __shfl_sync(~0u, t * 10, lane_of(way, t));
        out[(WAYS + way) * n + t] = __shfl_sync(~0u, t * 10, lane_of(way, l), 8);
    }
}

static void check_computed(int x, int y)
{
    int n = x * y;
    Dev<int> d(2 * WAYS * n);
    std::vector<int> out(2 * WAYS * n);
    computed<<<1, dim3(x, y)>>>(d, n);
    CHECK_LAUNCH();
    d.get(out.data());
    for (int way = 0; way < WAYS; way++)
        for (int t = 0; t < n; t++) {
            int from = (t & ~31) | (lane_of(way, t) & 31), part = (t & ~7) | (lane_of(way, t & 31) & 7);
            EXPECT(from >= n || out[way * n + t] == from * 10, "%dx%d way %d t=%d: %d", x, y, way, t, out[way * n + t]);
            EXPECT(out[(WAYS + way) * n + t] == part * 10, "%dx%d way %d of 8 t=%d: %d", x, y, way, t,
                   out[(WAYS + way) * n + t]);
        }
}

int main()
{
    const int n = 30011;
    Rng rng(3);
    std::vector<int> in(n);
    int sum = 0, least = INT_MAX;
    for (int &v : in) {
        v = (int)rng.below(20001) - 10000;
        sum += v;
        least = v < least ? v : least;
    }
    int init[2] = {0, INT_MAX}, got[2];
    Dev<int> din(in.data(), n), out(init, 2);
    reduce<<<5, 256>>>(din, n, out.ptr, out.ptr + 1);
    CHECK_LAUNCH();
    out.get(got);
    EXPECT(got[0] == sum, "sum %d, expected %d", got[0], sum);
    EXPECT(got[1] == least, "min %d, expected %d", got[1], least);
    check_shuffles();
    for (int x : {32, 128, 96, 48, 8, 16})
        for (int y : {1, 4})
            check_computed(x, y);
    return check_done();
}
