// Loops that the lanes of a warp, the threads of a block or of a grid share out: bounds that fall within a warp and ones that do
// not, which nvcc unrolls by four with a loop for the remainder before.  Lanes may run them equally often or not.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <climits>
#include <cmath>
#include <vector>

// A warp a row; the rows begin and end anywhere.  The order of what a lane sees counts.
__global__ void rows(const int *in, const int *start, unsigned *out, int *copy, int count)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
    if (row >= count)
        return;
    unsigned hash = 1;
    for (int i = start[row] + lane; i < start[row + 1]; i += 32)
        hash = hash * 31 + in[i];
    for (int i = start[row] + lane; i < start[row + 1]; i += 32)
        copy[i] = in[i] + (int)hash;
    out[row * 32 + lane] = hash;
}

// One width for all.
__global__ void matrix(const int *in, unsigned *out, int width)
{
    unsigned hash = 7;
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        hash = hash * 33 ^ in[blockIdx.x * width + i];
    for (int i = threadIdx.x & 31; i < width; i += 32)
        if (in[blockIdx.x * width + i] % 3)
            hash += in[blockIdx.x * width + i] * (i + 1);
    out[blockIdx.x * blockDim.x + threadIdx.x] = hash;
}

// Under a condition of the lane, in a loop that is shared, and with an early end.
__global__ void nested(const int *in, unsigned *out, int n, int odd)
{
    unsigned hash = 5;
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int round = 0; round < 3; round++) {
        if (t % 7 != odd)
            for (int i = t; i < n; i += gridDim.x * blockDim.x)
                hash = hash * 17 + in[i] + round;
        for (int i = threadIdx.x; i < n - round * 5; i += 32) {
            if (in[i] == 999)
                break;
            hash ^= in[i] << (i & 7);
        }
    }
    out[t] = hash;
}

// Indices from anywhere: below 0, and up to the largest.  `in` is where the first element is.
__global__ void ends(const float *in, float *out, int first, int n)
{
    float sum = 3;
    const float *from = in - (long long)first;
    for (int i = first + (threadIdx.x & 31); i < n; i += 32)
        sum = fmaf(sum, 0.875f, from[i]);
    out[threadIdx.x] = sum;
}

static void check_rows(int threads, int shape)
{
    const int count = 37;
    Rng rng(threads * 100 + shape);
    std::vector<int> start(count + 1);
    for (int r = 0; r < count; r++)
        start[r + 1] = start[r] + (shape == 0   ? 128
                                   : shape == 1 ? (int)rng.below(300)
                                   : shape == 2 ? 32 * (int)rng.below(9)
                                                : 96 + r);
    std::vector<int> in(start[count] + 1), copy(in.size());
    std::vector<unsigned> out(count * 32);
    for (int &v : in)
        v = (int)rng.below(100000) - 50000;
    Dev<int> din(in.data(), in.size()), dstart(start.data(), start.size()), dcopy(copy.data(), copy.size());
    Dev<unsigned> dout(out.data(), out.size());
    rows<<<(count * 32 + threads - 1) / threads, threads>>>(din, dstart, dout, dcopy, count);
    CHECK_LAUNCH();
    dout.get(out.data());
    dcopy.get(copy.data());
    for (int r = 0; r < count; r++)
        for (int lane = 0; lane < 32; lane++) {
            unsigned hash = 1;
            for (int i = start[r] + lane; i < start[r + 1]; i += 32)
                hash = hash * 31 + in[i];
            EXPECT(out[r * 32 + lane] == hash, "row %d lane %d of %d threads, shape %d: %u, not %u", r, lane, threads, shape,
                   out[r * 32 + lane], hash);
            for (int i = start[r] + lane; i < start[r + 1]; i += 32)
                EXPECT(copy[i] == in[i] + (int)hash, "copy %d of %d threads, shape %d", i, threads, shape);
        }
}

static void check_matrix(int threads, int width)
{
    const int count = 5;
    Rng rng(threads * 1000 + width);
    std::vector<int> in(count * width + 1);
    std::vector<unsigned> out(count * threads);
    for (int &v : in)
        v = (int)rng.below(1000000);
    Dev<int> din(in.data(), in.size());
    Dev<unsigned> dout(out.data(), out.size());
    matrix<<<count, threads>>>(din, dout, width);
    CHECK_LAUNCH();
    dout.get(out.data());
    for (int b = 0; b < count; b++)
        for (int t = 0; t < threads; t++) {
            unsigned hash = 7;
            for (int i = t; i < width; i += threads)
                hash = hash * 33 ^ in[b * width + i];
            for (int i = t & 31; i < width; i += 32)
                if (in[b * width + i] % 3)
                    hash += in[b * width + i] * (i + 1);
            EXPECT(out[b * threads + t] == hash, "block %d thread %d of %d, width %d: %u, not %u", b, t, threads, width,
                   out[b * threads + t], hash);
        }
}

static void check_nested(int threads, int n, int odd)
{
    const int blocks = 3, total = blocks * threads;
    Rng rng(threads * 1000 + n + odd);
    std::vector<int> in(n + 1);
    std::vector<unsigned> out(total);
    for (int &v : in)
        v = (int)rng.below(1000);
    Dev<int> din(in.data(), in.size());
    Dev<unsigned> dout(out.data(), out.size());
    nested<<<blocks, threads>>>(din, dout, n, odd);
    CHECK_LAUNCH();
    dout.get(out.data());
    for (int t = 0; t < total; t++) {
        unsigned hash = 5;
        for (int round = 0; round < 3; round++) {
            if (t % 7 != odd)
                for (int i = t; i < n; i += total)
                    hash = hash * 17 + in[i] + round;
            for (int i = t % threads; i < n - round * 5; i += 32) {
                if (in[i] == 999)
                    break;
                hash ^= in[i] << (i & 7);
            }
        }
        EXPECT(out[t] == hash, "thread %d of %d, %d elements, odd %d: %u, not %u", t, threads, n, odd, out[t], hash);
    }
}

static void check_ends(int first, int count)
{
    const int threads = 64;
    Rng rng(count);
    std::vector<float> in(count + 1), out(threads);
    for (float &v : in)
        v = (float)rng.below(1000000);
    Dev<float> din(in.data(), in.size()), dout(out.data(), out.size());
    ends<<<1, threads>>>(din, dout, first, first + count);
    CHECK_LAUNCH();
    dout.get(out.data());
    for (int t = 0; t < threads; t++) {
        float sum = 3;
        for (int k = t & 31; k < count; k += 32)
            sum = fmaf(sum, 0.875f, in[k]);
        EXPECT(out[t] == sum, "thread %d, %d elements from %d: %g, not %g", t, count, first, out[t], sum);
    }
}

int main()
{
    const int blocks[] = { 31, 32, 48, 100, 128 }, widths[] = { 1, 31, 32, 33, 64, 96, 100, 128, 160, 255, 256, 384, 1000, 1024 };
    for (int threads : blocks)
        for (int width : widths)
            check_matrix(threads, width);
    for (int threads : { 32, 96 })
        for (int shape = 0; shape < 4; shape++)
            check_rows(threads, shape);
    for (int threads : blocks)
        for (int n : { 5, 96, 129, 1000, 1536 })
            for (int odd : { 3, 9 })
                check_nested(threads, n, odd);
    for (int first : { 0, 77, -1, -300, -5000, INT_MAX - 3000, INT_MAX - 2300 })
        for (int count : { 0, 1, 31, 32, 33, 127, 128, 129, 255, 257, 384, 385, 511, 512, 513, 640, 767, 1000, 1535, 2049 })
            check_ends(first, count);
    return check_done();
}
