// How many registers a kernel takes is what machine code beside the PTX says: programs choose the shapes of their blocks by it
// (gpu4pyscf's gradients were wrong in blocks twice as large as any card would have had).
// variants: shared static rdc sm_75 sm_80 sm_90
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

__global__ void light(float *x)
{
    x[threadIdx.x] += 1;
}

// N values that live all the time.
template <int N>
__global__ void heavy(const float *in, float *out, int rounds)
{
    float v[N];
    int t = threadIdx.x, n = blockDim.x;
#pragma unroll
    for (int i = 0; i < N; i++)
        v[i] = in[i * n + t];
    for (int r = 0; r < rounds; r++) {
#pragma unroll
        for (int i = 0; i < N; i++)
            v[i] = v[i] * 0.5f + v[(i + 7) % N] * 0.25f + v[(i + 31) % N] * 0.125f;
    }
#pragma unroll
    for (int i = 0; i < N; i++)
        out[i * n + t] = v[i];
}

template <int N>
static void run_heavy()
{
    cudaFuncAttributes attr;
    CHECK(cudaFuncGetAttributes(&attr, heavy<N>));
    EXPECT(attr.numRegs >= N && attr.numRegs <= 255, "%d values live take %d registers", N, attr.numRegs);
    int block = attr.numRegs <= 64 ? 256 : 128;
    EXPECT(block == (N < 48 ? 256 : 128), "%d values: blocks of %d", N, block);
    std::vector<float> in(N * block), out(N * block);
    float *d_in, *d_out;
    for (int i = 0; i < N * block; i++)
        in[i] = float(i % 29);
    CHECK(cudaMalloc(&d_in, in.size() * sizeof(float)));
    CHECK(cudaMalloc(&d_out, in.size() * sizeof(float)));
    CHECK(cudaMemcpy(d_in, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice));
    heavy<N><<<1, block>>>(d_in, d_out, 1);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(out.data(), d_out, in.size() * sizeof(float), cudaMemcpyDeviceToHost));
    for (int t = 0; t < block; t++) {
        float v[N];
        for (int i = 0; i < N; i++)
            v[i] = in[i * block + t];
        for (int i = 0; i < N; i++)
            v[i] = v[i] * 0.5f + v[(i + 7) % N] * 0.25f + v[(i + 31) % N] * 0.125f;
        for (int i = 0; i < N; i++)
            EXPECT(fabsf(out[i * block + t] - v[i]) < 1e-4f, "value %d of thread %d is %g, not %g", i, t,
                   double(out[i * block + t]), double(v[i]));
    }
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
}

int main()
{
    cudaFuncAttributes attr;
    CHECK(cudaFuncGetAttributes(&attr, light));
    EXPECT(attr.numRegs >= 4 && attr.numRegs <= 24, "light: %d registers", attr.numRegs);
    run_heavy<40>();
    run_heavy<150>();
    return check_done();
}
