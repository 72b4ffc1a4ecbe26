// Kernels shaped as those of a library of tensors: templates in several fat binaries, views with sizes and strides in arrays
// among the parameters, checks that end the kernel, tables of constants, and launches that depend on what a kernel was compiled
// for.
// sources: tensor_kernels_other.cu
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "tensor_kernels.h"
#include <cassert>
#include <vector>

__constant__ float weights[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };

__global__ void copy_views(View to, View from, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        to.data[offset_of(to, i)] = from.data[offset_of(from, i)];
}

/* The dimension that is left out is an argument, so the arrays are indexed by what the launch says. */
__global__ void strides_without(View v, int leave, int *out)
{
    int d = threadIdx.x, at = d < leave ? d : d + 1;
    if (d < v.dims - 1)
        out[d] = v.strides[at] + 1000 * v.sizes[at];
}

__global__ void block_size(const int *axis, unsigned *out)
{
    unsigned size[3] = { blockDim.x, blockDim.y, blockDim.z };
    out[threadIdx.x] = size[axis[threadIdx.x]];
}

/* Each index is checked, as gathers do. */
__global__ void gather(float *out, const float *in, const int *index, int n, int size)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    assert(index[i] >= 0 && "not below 0");
    assert(index[i] < size && "below the size");
    out[i] = in[index[i]] * weights[i & 7];
}

__global__ void compiled_for(int *out)
{
#ifdef __CUDA_ARCH__
    *out = __CUDA_ARCH__ / 10;
#endif
}

/* A sum of a mask of two origins, behind a barrier each, as block sums with a short last block have it. */
__global__ void block_sums(const char *in, int *out, int n, int rounds)
{
    __shared__ int of_warp[32];
    int sum = 0, left = n;
    for (int r = 0; r < rounds; r++) {
        int mine = 0;
        if (left >= 4 * (int)blockDim.x) {
            for (int k = 0; k < 4; k++)
                mine += in[k * blockDim.x + threadIdx.x] != 0;
        } else {
            for (int k = 0; k < 4; k++)
                if (k * (int)blockDim.x + (int)threadIdx.x < left)
                    mine += in[k * blockDim.x + threadIdx.x] != 0;
        }
        for (int d = 16; d; d >>= 1)
            mine += __shfl_xor_sync(~0u, mine, d);
        if (threadIdx.x % 32 == 0)
            of_warp[threadIdx.x / 32] = mine;
        __syncthreads();
        if (threadIdx.x == 0)
            for (unsigned w = 0; w < blockDim.x / 32; w++)
                sum += of_warp[w];
        in += 4 * blockDim.x;
        left -= 4 * blockDim.x;
        if (left <= 0)
            break;
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *out = sum;
}

static View view(float *data, int dims, const int *sizes, const int *strides)
{
    View v = { data, {}, {}, dims };
    for (int d = 0; d < dims; d++) {
        v.sizes[d] = sizes[d];
        v.strides[d] = strides[d];
    }
    return v;
}

static void elementwise(float *a, float *b)
{
    enum { N = 1003 };
    std::vector<float> in(N), out(N);
    for (int i = 0; i < N; i++)
        in[i] = (float)(i % 17);
    CHECK(cudaMemcpy(a, in.data(), N * 4, cudaMemcpyHostToDevice));
    vectorized_elementwise<4><<<2, 128>>>(N, Scale{ 3 }, b, a);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(out.data(), b, N * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        EXPECT(out[i] == in[i] * 3 + 1, "scale %d: %g", i, out[i]);
    other_square(N, b, a);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(out.data(), b, N * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        EXPECT(out[i] == in[i] * in[i], "square %d: %g", i, out[i]);
}

static void views(float *a, float *b, int *c)
{
    const int sizes[] = { 3, 4, 5, 7 }, there[] = { 140, 35, 7, 1 }, turned[] = { 1, 3, 12, 60 };
    enum { N = 3 * 4 * 5 * 7 };
    std::vector<float> in(N), out(N);
    for (int i = 0; i < N; i++)
        in[i] = (float)i;
    CHECK(cudaMemcpy(a, in.data(), N * 4, cudaMemcpyHostToDevice));
    copy_views<<<2, 64>>>(view(b, 4, sizes, turned), view(a, 4, sizes, there), N);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(out.data(), b, N * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) {
        int at = i / 140 + i / 35 % 4 * 3 + i / 7 % 5 * 12 + i % 7 * 60;
        EXPECT(out[at] == in[i], "view %d: %g", i, out[at]);
    }
    int got[3];
    strides_without<<<1, 32>>>(view(a, 4, sizes, there), 1, c);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(got, c, sizeof got, cudaMemcpyDeviceToHost));
    for (int d = 0; d < 3; d++)
        EXPECT(got[d] == there[d ? d + 1 : 0] + 1000 * sizes[d ? d + 1 : 0], "stride %d: %d", d, got[d]);
}

static void others(float *a, float *b, int *c)
{
    const int axis[] = { 2, 0, 1, 1, 0, 2, 0, 2 }, shape[] = { 8, 3, 2 };
    int size[8], index[64], arch = 0, sum = 0, want = 0;
    float in[64], out[64];
    CHECK(cudaMemcpy(c, axis, sizeof axis, cudaMemcpyHostToDevice));
    block_size<<<1, dim3(8, 3, 2)>>>(c, (unsigned *)a);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(size, a, sizeof size, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 8; i++)
        EXPECT(size[i] == shape[axis[i]], "block %d: %d", i, size[i]);
    for (int i = 0; i < 64; i++) {
        in[i] = (float)(i * i);
        index[i] = i * 37 % 64;
    }
    CHECK(cudaMemcpy(a, in, sizeof in, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(c, index, sizeof index, cudaMemcpyHostToDevice));
    gather<<<2, 32>>>(b, a, c, 64, 64);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(out, b, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++)
        EXPECT(out[i] == in[index[i]] * (float)(i % 8 + 1), "gather %d: %g", i, out[i]);

    compiled_for<<<1, 1>>>(c);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(&arch, c, sizeof arch, cudaMemcpyDeviceToHost));
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, compiled_for));
    EXPECT(attributes.ptxVersion == arch, "compiled for %d: %d", 0, attributes.ptxVersion);

    std::vector<char> flags(3000);
    for (size_t i = 0; i < flags.size(); i++)
        want += flags[i] = i % 7 == 3;
    for (int n : { 100, 2048, 3000 }) {
        int part = 0;
        for (int i = 0; i < n; i++)
            part += flags[i];
        CHECK(cudaMemcpy(a, flags.data(), flags.size(), cudaMemcpyHostToDevice));
        block_sums<<<1, 512>>>((const char *)a, c, n, 2);
        CHECK_LAUNCH();
        CHECK(cudaMemcpy(&sum, c, sizeof sum, cudaMemcpyDeviceToHost));
        EXPECT(sum == part, "sum %d: %d", n, sum);
    }
}

int main()
{
    float *a, *b;
    int *c;
    CHECK(cudaMalloc(&a, 8192));
    CHECK(cudaMalloc(&b, 8192));
    CHECK(cudaMalloc(&c, 8192));
    elementwise(a, b);
    views(a, b, c);
    others(a, b, c);
    return check_done();
}
