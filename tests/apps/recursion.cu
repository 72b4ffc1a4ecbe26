// Recursive device functions with per-lane depth, mutual recursion, local arrays on the stack, and a recursive quicksort.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <algorithm>

__host__ __device__ int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

__host__ __device__ int odd(int n);
__host__ __device__ int even(int n)
{
    return n == 0 ? 1 : odd(n - 1);
}
__host__ __device__ int odd(int n)
{
    return n == 0 ? 0 : even(n - 1);
}

__host__ __device__ int ackermann(int m, int n)
{
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

/* Keeps a local array alive over the recursive call. */
__host__ __device__ int digits(int n, int depth)
{
    int local[4];
    for (int i = 0; i < 4; i++)
        local[i] = n >> (2 * i) & 3;
    int below = depth ? digits(n * 5 + depth, depth - 1) : 0;
    int sum = below;
    for (int i = 0; i < 4; i++)
        sum = sum * 3 + local[(i + depth) & 3];
    return sum;
}

__device__ void quicksort(int *a, int lo, int hi)
{
    if (lo >= hi)
        return;
    int pivot = a[(lo + hi) / 2], i = lo, j = hi;
    while (i <= j) {
        while (a[i] < pivot)
            i++;
        while (a[j] > pivot)
            j--;
        if (i <= j) {
            int t = a[i];
            a[i++] = a[j];
            a[j--] = t;
        }
    }
    quicksort(a, lo, j);
    quicksort(a, i, hi);
}

__global__ void functions(int *out)
{
    int t = threadIdx.x;
    out[4 * t] = fib(t % 13);
    out[4 * t + 1] = even(t);
    out[4 * t + 2] = ackermann(t % 3, t % 5);
    out[4 * t + 3] = digits(t, t % 6);
}

/* Lanes that took longer for a root, in a function of the machine's, are at the barrier with the others. */
__global__ void meets(const float *in, int *out)
{
    __shared__ int sums[32];
    int t = threadIdx.x;
    if (t < 32)
        sums[t] = 0;
    __syncthreads();
    int root = (int)__fsqrt_rn(in[t]);
    atomicAdd(&sums[root & 31], t + 1);
    __syncthreads();
    out[t] = sums[(t + root) & 31] + __popc(__ballot_sync(0xffffffff, root & 1)) + 64 * digits(t, root % 5);
}

static void check_meets()
{
    enum { N = 128 };
    float in[N];
    int out[N], sums[32] = { 0 };
    for (int t = 0; t < N; t++) {
        in[t] = t % 5 ? (float)(t * t % 1000) : 0.0f;
        sums[(int)sqrtf(in[t]) & 31] += t + 1;
    }
    Dev<float> din(in, N);
    Dev<int> d(N);
    meets<<<1, N>>>(din, d);
    CHECK_LAUNCH();
    d.get(out);
    for (int t = 0; t < N; t++) {
        int root = (int)sqrtf(in[t]), ones = 0;
        for (int i = 0; i < 32; i++)
            ones += (int)sqrtf(in[t / 32 * 32 + i]) & 1;
        int want = sums[(t + root) & 31] + ones + 64 * digits(t, root % 5);
        EXPECT(out[t] == want, "meets t=%d: %d, expected %d", t, out[t], want);
    }
}

enum { RUN = 24 };
__global__ void sorts(int *data)
{
    quicksort(data + threadIdx.x * RUN, 0, RUN - 1);
}

int main()
{
    CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 16 * 1024));
    const int n = 48;
    int out[4 * n];
    Dev<int> d(4 * n);
    functions<<<1, n>>>(d);
    CHECK_LAUNCH();
    d.get(out);
    for (int t = 0; t < n; t++) {
        EXPECT(out[4 * t] == fib(t % 13), "fib t=%d: %d", t, out[4 * t]);
        EXPECT(out[4 * t + 1] == even(t), "even t=%d: %d", t, out[4 * t + 1]);
        EXPECT(out[4 * t + 2] == ackermann(t % 3, t % 5), "ackermann t=%d: %d", t, out[4 * t + 2]);
        EXPECT(out[4 * t + 3] == digits(t, t % 6), "digits t=%d: %d", t, out[4 * t + 3]);
    }
    check_meets();
    Rng rng(16);
    int runs[40 * RUN], sorted[40 * RUN];
    for (int &v : runs)
        v = (int)rng.below(50);
    Dev<int> ds(runs, 40 * RUN);
    sorts<<<1, 40>>>(ds);
    CHECK_LAUNCH();
    ds.get(sorted);
    for (int r = 0; r < 40; r++) {
        std::sort(runs + r * RUN, runs + (r + 1) * RUN);
        EXPECT(std::equal(runs + r * RUN, runs + (r + 1) * RUN, sorted + r * RUN), "run %d is not sorted", r);
    }
    return check_done();
}
