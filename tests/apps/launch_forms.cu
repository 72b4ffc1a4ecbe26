// Every way to launch: <<<>>>, cudaLaunchKernel, cudaLaunchKernelExC and its template, with arguments of many sizes and
// alignments; occupancy and function attributes; kernels in anonymous namespaces and static ones; nested configuration.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

struct Three {
    char a, b, c;
};
struct __align__(16) Wide {
    float x, y, z, w;
};
struct Empty {};

__global__ void many(char a, short b, Three c, int d, char e, double f, Wide g, Empty, unsigned char h, long long i, int *out)
{
    if (threadIdx.x == 0) {
        out[0] = a, out[1] = b, out[2] = c.a * 10000 + c.b * 100 + c.c, out[3] = d, out[4] = e;
        out[5] = (int)(f * 4), out[6] = (int)(g.x + 10 * g.y + 100 * g.z + 1000 * g.w), out[7] = h, out[8] = (int)(i >> 40);
        out[9] = gridDim.x * 1000 + blockDim.x;
    }
}

// Arguments that are aligned to more than 16 bytes, of which elements are taken: in machine code such alignments count from the
// beginning of the constant bank, which is not where the arguments begin.
template <int N> struct alignas(N) Line {
    int v[8];
};
__global__ void aligned(char a, Line<256> p, int n, Line<64> q, short b, Line<128> r, int *out)
{
    int t = threadIdx.x, i = (t + n) % 8;
    out[t] = a + 10 * p.v[i] + 100 * q.v[7 - i] + 1000 * r.v[i ^ 1] + 10000 * b;
}

namespace {
__global__ void hidden(int *out) { atomicAdd(out, 1); }
}
static __global__ void internal(int *out) { atomicAdd(out, 10); }
template <typename T, int N> __global__ void templated(T *out) { atomicAdd(out, T(N)); }

__global__ void __launch_bounds__(128, 2) attributed(int *out)
{
    __shared__ int s[100];
    if (threadIdx.x < 100)
        s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s[0];
}

static int *next_argument(int *p, int *ret_calls)
{
    ++*ret_calls;
    hidden<<<1, 1>>>(p);
    return p;
}

static void check_many(const Dev<int> &d, int where, int shape)
{
    int out[10];
    const int want[10] = {-5, 1234, 10203, 1 << 30, 'z', -9, 4321, 200, -77, shape};
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(out, d, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 10; i++)
        EXPECT(out[i] == want[i], "form %d, value %d: %d, expected %d", where, i, out[i], want[i]);
    CHECK(cudaMemset(d, 0, sizeof out));
}

static void check_aligned(const Dev<int> &d)
{
    int out[32], n = 3;
    Line<256> p;
    Line<64> q;
    Line<128> r;
    for (int i = 0; i < 8; i++)
        p.v[i] = i + 1, q.v[i] = 2 * i, r.v[i] = 9 - i;
    aligned<<<1, 32>>>(7, p, n, q, 5, r, d);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(out, d, sizeof out, cudaMemcpyDeviceToHost));
    for (int t = 0; t < 32; t++) {
        int i = (t + n) % 8, want = 7 + 10 * p.v[i] + 100 * q.v[7 - i] + 1000 * r.v[i ^ 1] + 10000 * 5;
        EXPECT(out[t] == want, "aligned arguments, thread %d: %d, not %d", t, out[t], want);
    }
    CHECK(cudaMemset(d, 0, sizeof out));
}

int main()
{
    Dev<int> d(256);
    d.fill(0);
    check_aligned(d);
    char a = -5, e = 'z';
    short b = 1234;
    Three c = {1, 2, 3};
    int i32 = 1 << 30, *out = d;
    double f = -2.25;
    Wide g = {1, 2, 3, 4};
    Empty empty;
    unsigned char h = 200;
    long long i64 = -77LL * (1LL << 40);
    many<<<3, 64>>>(a, b, c, i32, e, f, g, empty, h, i64, out);
    check_many(d, 0, 3064);
    void *args[] = {&a, &b, &c, &i32, &e, &f, &g, &empty, &h, &i64, &out};
    CHECK(cudaLaunchKernel((const void *)many, dim3(2), dim3(96), args, 0, nullptr));
    check_many(d, 1, 2096);
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(5);
    config.blockDim = dim3(32);
    CHECK(cudaLaunchKernelExC(&config, (const void *)many, args));
    check_many(d, 2, 5032);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    config.stream = stream;
    CHECK(cudaLaunchKernelEx(&config, many, a, b, c, i32, e, f, g, empty, h, i64, out));
    check_many(d, 3, 5032);
    CHECK(cudaStreamDestroy(stream));

    int calls = 0, sum[2];
    double *dd = (double *)(out + 2);
    hidden<<<1, 32>>>(next_argument(out, &calls));
    internal<<<2, 8>>>(out);
    templated<int, 100><<<1, 4>>>(out);
    templated<unsigned, 7><<<1, 2>>>((unsigned *)out + 1);
    templated<double, 3><<<1, 5>>>(dd);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(sum, out, sizeof sum, cudaMemcpyDeviceToHost));
    EXPECT(sum[0] == 33 + 160 + 400 && sum[1] == 14 && calls == 1, "sums %d %d, calls %d", sum[0], sum[1], calls);
    double dsum;
    CHECK(cudaMemcpy(&dsum, dd, sizeof dsum, cudaMemcpyDeviceToHost));
    EXPECT(dsum == 15, "double sum %g", dsum);

    cudaFuncAttributes attr;
    CHECK(cudaFuncGetAttributes(&attr, attributed));
    EXPECT(attr.sharedSizeBytes == 400, "static shared %zu", attr.sharedSizeBytes);
    EXPECT(attr.maxThreadsPerBlock == 128, "max threads %d", attr.maxThreadsPerBlock);
    EXPECT(attr.ptxVersion >= 50 && attr.binaryVersion >= 50, "versions %d %d", attr.ptxVersion, attr.binaryVersion);
    int blocks = 0, grid = 0, size = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, attributed, 128, 0));
    EXPECT(blocks >= 1 && blocks <= 64, "occupancy %d", blocks);
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &size, attributed));
    EXPECT(grid >= 1 && size >= 32 && size <= 128 && size % 32 == 0, "potential grid %d block %d", grid, size);
    attributed<<<1, 128>>>(out);
    CHECK_LAUNCH();
    return check_done();
}
