// Lanes that read several neighbouring elements each, at fixed distances: rows of a matrix in global and shared memory, forwards
// and backwards.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

enum { PITCH = 24, COLUMNS = 22 };

// Every element in turn, in several orders; three whole rows of four, and a rest of two or one.
__global__ void forwards(const int *in, unsigned *out, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n)
        return;
    const int *row = in + t * PITCH;
    unsigned hash = 3;
#pragma unroll
    for (int i = 0; i < COLUMNS; i++)
        hash = hash * 31 + row[i];
    out[t] = hash;
}

__global__ void backwards(const float *in, float *out, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n)
        return;
    const float *row = in + (size_t)(n - 1 - t) * PITCH;
    float sum = 0;
#pragma unroll
    for (int i = COLUMNS - 1; i >= 0; i--)
        sum = sum * 0.5f + row[i];
    out[t] = sum;
}

// Stores come between the loads: they may be to what is read next.
__global__ void between(int *data, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n)
        return;
    int *row = data + t * PITCH;
    int a = row[0], b = row[1];
    row[3] = a + b;
    int c = row[2], d = row[3];
    row[4] = c * 7 + d;
    row[5] = row[4] + row[3] + row[2] + row[1];
}

template <int SHARED_PITCH>
__global__ void window(const int *in, unsigned *out)
{
    __shared__ int s[129 * SHARED_PITCH];
    for (int i = 0; i < 8; i++)
        s[threadIdx.x * SHARED_PITCH + i] = in[(blockIdx.x * blockDim.x + threadIdx.x) * PITCH + i];
    __syncthreads();
    const int *row = s + (blockDim.x - 1 - threadIdx.x) * SHARED_PITCH;
    unsigned hash = 3;
#pragma unroll
    for (int i = 0; i < 8; i++)
        hash = hash * 31 + row[i ^ 1];
    out[blockIdx.x * blockDim.x + threadIdx.x] = hash;
}

static unsigned hash_of(const int *row, int n, int flip)
{
    unsigned hash = 3;
    for (int i = 0; i < n; i++)
        hash = hash * 31 + row[i ^ flip];
    return hash;
}

static void check(int threads)
{
    const int blocks = 3, n = blocks * threads;
    Rng rng(threads);
    std::vector<int> in(n * PITCH), data(n * PITCH);
    std::vector<float> fin(n * PITCH), fout(n);
    std::vector<unsigned> out(n);
    for (int i = 0; i < n * PITCH; i++) {
        in[i] = (int)rng.below(100000);
        fin[i] = (float)rng.range(-1, 1);
    }
    Dev<int> din(in.data(), in.size()), ddata(in.data(), in.size());
    Dev<float> dfin(fin.data(), fin.size()), dfout(fout.data(), n);
    Dev<unsigned> dout(out.data(), n);
    for (int some : { n, n - 5 > 0 ? n - 5 : 1 }) {
        forwards<<<blocks, threads>>>(din, dout, some);
        CHECK_LAUNCH();
        dout.get(out.data());
        backwards<<<blocks, threads>>>(dfin, dfout, some);
        CHECK_LAUNCH();
        dfout.get(fout.data());
        for (int t = 0; t < some; t++) {
            volatile float sum = 0;
            for (int i = COLUMNS - 1; i >= 0; i--)
                sum = fmaf(sum, 0.5f, fin[(some - 1 - t) * PITCH + i]);
            EXPECT(out[t] == hash_of(&in[t * PITCH], COLUMNS, 0), "forwards, thread %d of %d", t, threads);
            EXPECT(fout[t] == sum, "backwards, thread %d of %d: %g, not %g", t, threads, fout[t], sum);
        }
    }
    between<<<blocks, threads>>>(ddata, n);
    CHECK_LAUNCH();
    ddata.get(data.data());
    for (int t = 0; t < n; t++) {
        const int *row = &in[t * PITCH], *now = &data[t * PITCH];
        int d = row[0] + row[1], e = row[2] * 7 + d;
        EXPECT(now[3] == d && now[4] == e && now[5] == e + d + row[2] + row[1], "between, thread %d of %d", t, threads);
    }
    for (int pitch : { 9, 16 }) {
        if (pitch == 9)
            window<9><<<blocks, threads>>>(din, dout);
        else
            window<16><<<blocks, threads>>>(din, dout);
        CHECK_LAUNCH();
        dout.get(out.data());
        for (int t = 0; t < n; t++) {
            int other = t / threads * threads + threads - 1 - t % threads;
            EXPECT(out[t] == hash_of(&in[other * PITCH], 8, 1), "window of %d, thread %d of %d", pitch, t, threads);
        }
    }
}

int main()
{
    for (int threads : { 31, 48, 64, 129 })
        check(threads);
    return check_done();
}
