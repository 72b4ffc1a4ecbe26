// Variables that are aligned to more than anything in them needs, in every kind of memory: each thread's address is a multiple of
// what was asked for, and the values are where they should be.
// variants: shared debug
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <cstdint>

enum { T = 96 };

template <int N> struct alignas(N) box {
    int x;
};

__device__ box<512> global_box[3];
__constant__ box<256> constant_box[2] = { { 11 }, { 12 } };
__managed__ box<1024> managed_box[2];

// Whose addresses are not within a multiple of their alignment.
struct wrong {
    int n;
    __device__ void look(const void *p, uintptr_t align) { n += (uintptr_t)p % align != 0; }
};

template <int N> __device__ __noinline__ int sum(const box<N> *p, int n, int deep, wrong *w)
{
    box<2 * N> own[2] = { { n }, { deep } };
    w->look(own, 2 * N);
    w->look(p, N);
    own[deep & 1].x += p[n & 1].x;
    return deep ? sum(p, n, deep - 1, w) + own[0].x : own[0].x + own[1].x;
}

static int expected_sum(const int *p, int n, int deep)
{
    int own[2] = { n, deep };
    own[deep & 1] += p[n & 1];
    return deep ? expected_sum(p, n, deep - 1) + own[0] : own[0] + own[1];
}

__global__ void locals(int *out, int *bad)
{
    int i = blockIdx.x * T + threadIdx.x;
    wrong w = { 0 };
    box<256> a[2] = { { i }, { 2 * i } };
    box<16> b[2] = { { i + 1 }, { i + 2 } };
    box<512> c[2] = { { i + 3 }, { i + 4 } };
    w.look(a, 256);
    w.look(b, 16);
    w.look(c, 512);
    out[i] = sum(a, i, 2, &w) + 2 * sum(b, i, 0, &w) + 4 * sum(c, i, 1, &w);
    atomicAdd(bad, w.n);
}

__global__ void elsewhere(int *out, int *bad, const __grid_constant__ box<128> parameter)
{
    __shared__ char odd;
    __shared__ box<512> shared_box[2];
    extern __shared__ box<1024> dynamic_box[];
    wrong w = { 0 };
    odd = 1;
    shared_box[threadIdx.x & 1].x = threadIdx.x & 1;
    dynamic_box[threadIdx.x & 1].x = 5;
    __syncthreads();
    w.look(shared_box, 512);
    w.look(global_box, 512);
    w.look(constant_box, 256);
    w.look(managed_box, 1024);
    atomicAdd(bad, w.n);
    if (threadIdx.x == 0)
        out[0] = shared_box[1].x + dynamic_box[1].x + global_box[2].x + constant_box[1].x + managed_box[1].x + parameter.x + odd;
}

int main()
{
    enum { BLOCKS = 3 };
    int *out, *bad, value[3 * 128] = { 0 };
    CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 16 << 10));
    CHECK(cudaMalloc(&out, BLOCKS * T * sizeof *out));
    CHECK(cudaMalloc(&bad, sizeof *bad));
    CHECK(cudaMemset(bad, 0, sizeof *bad));
    for (int threads : { (int)T, T - 1, 32, 1 }) {
        CHECK(cudaMemset(out, 0, BLOCKS * T * sizeof *out));
        locals<<<BLOCKS, threads>>>(out, bad);
        CHECK(cudaGetLastError());
        int got[BLOCKS * T], n = -1;
        CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(&n, bad, sizeof n, cudaMemcpyDeviceToHost));
        EXPECT(n == 0, "%d addresses of locals in blocks of %d are not aligned", n, threads);
        for (int i = 0; i < BLOCKS * T; i++) {
            if (i % T >= threads)
                continue;
            int a[2] = { i, 2 * i }, b[2] = { i + 1, i + 2 }, c[2] = { i + 3, i + 4 };
            int want = expected_sum(a, i, 2) + 2 * expected_sum(b, i, 0) + 4 * expected_sum(c, i, 1);
            EXPECT(got[i] == want, "blocks of %d, thread %d: %d, not %d", threads, i, got[i], want);
        }
    }
    value[2 * 128] = 7;
    CHECK(cudaMemcpyToSymbol(global_box, value, sizeof value));
    managed_box[1].x = 100;
    elsewhere<<<1, T, 2 * sizeof(box<1024>)>>>(out, bad, box<128>{ 1000 });
    CHECK(cudaGetLastError());
    int got = -1, n = -1;
    CHECK(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&n, bad, sizeof n, cudaMemcpyDeviceToHost));
    EXPECT(n == 0, "%d addresses elsewhere are not aligned", n);
    EXPECT(got == 1 + 5 + 7 + 12 + 100 + 1000 + 1, "sum of all kinds: %d", got);
    return check_done();
}
