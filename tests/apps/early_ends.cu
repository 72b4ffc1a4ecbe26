// Threads that end while others go on to barriers: what they read and write before they end is before these barriers, which no
// longer wait for them.  Single lanes of a warp, whole warps, from loops and on the way; in shared and in global memory.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

enum { MOST = 256 };

/* A kernel for each kind of memory: `s` has an element for each thread, and one more. */
#define TWICE(name)                                   \
    __device__ __forceinline__ void name##_in(int *s, int *out); \
    __global__ void name(int *, int *out)             \
    {                                                 \
        __shared__ int s[MOST + 1];                   \
        name##_in(s, out);                            \
    }                                                 \
    __global__ void name##_global(int *s, int *out)   \
    {                                                 \
        name##_in(s, out);                            \
    }                                                 \
    __device__ __forceinline__ void name##_in(int *s, int *out)

/* Each round all write, and some read what another has written, for the last time, and end. */
TWICE(lanes_end)
{
    int t = threadIdx.x, n = blockDim.x;
    for (int round = 1;; round++) {
        s[t] = t + round * 1000;
        __syncthreads();
        if (round == t % 4 + 1) {
            out[t] = s[(t + 5) % n];
            return;
        }
        __syncthreads();
    }
}

TWICE(warps_end)
{
    int t = threadIdx.x, n = blockDim.x;
    for (int round = 1;; round++) {
        s[t] = t + round * 1000;
        __syncthreads();
        if (round == t / 32 % 4 + 1) {
            out[t] = s[(t + 37) % n];
            return;
        }
        __syncthreads();
    }
}

/* Both sides of a branch: odd threads read and end, even ones meet and write. */
TWICE(odd_end)
{
    int t = threadIdx.x;
    s[t] = t + 1000;
    __syncthreads();
    if (t & 1) {
        out[t] = s[t ^ 1];
        return;
    }
    __syncthreads();
    s[t] = -1;
    out[t] = 7;
}

TWICE(even_go_on)
{
    int t = threadIdx.x;
    s[t] = t + 1000;
    __syncthreads();
    if (!(t & 1)) {
        __syncthreads();
        s[t] = -1;
        out[t] = 7;
        return;
    }
    out[t] = s[t ^ 1];
}

/* Who ends leaves something for those who are at the barrier. */
TWICE(last_words)
{
    int t = threadIdx.x, n = blockDim.x, &sum = s[MOST];
    s[t] = 0;
    if (t == 0)
        sum = 0;
    __syncthreads();
    for (int round = 1; round <= 4; round++) {
        if (round == t % 5) {
            s[t] = t;
            atomicAdd(&sum, t);
            return;
        }
        __syncthreads();
        int seen = 0;
        for (int i = 0; i < n; i++)
            seen += s[i];
        out[t] = seen == sum ? seen : -1;
        __syncthreads();
    }
}

static int rounds_of(int a, int b)
{
    return 1000 * (a < b ? a : b);
}

static int want_lanes(int t, int n)
{
    int u = (t + 5) % n;
    return u + rounds_of(t % 4 + 1, u % 4 + 1);
}

static int want_warps(int t, int n)
{
    int u = (t + 37) % n;
    return u + rounds_of(t / 32 % 4 + 1, u / 32 % 4 + 1);
}

static int want_odd(int t, int n)
{
    (void)n;
    return t & 1 ? (t ^ 1) + 1000 : 7;
}

/* What those have left that ended in the rounds that thread `t` has seen the end of; 0: none. */
static int want_words(int t, int n)
{
    int most = t % 5 ? t % 5 - 1 : 4, sum = 0;
    for (int u = 0; u < n; u++)
        sum += u % 5 && u % 5 <= most ? u : 0;
    return sum;
}

static void check(const char *name, void (*kernel)(int *, int *), int (*want)(int, int))
{
    static const int sizes[] = { 32, 64, 96, 128, 256 };
    for (int n : sizes) {
        Dev<int> d(n), s(MOST + 1);
        std::vector<int> out(n, 0);
        d.put(out.data());
        kernel<<<1, n>>>(s, d);
        CHECK_LAUNCH();
        d.get(out.data());
        for (int t = 0; t < n; t++)
            EXPECT(out[t] == want(t, n), "%s, %d threads, thread %d: %d, expected %d", name, n, t, out[t], want(t, n));
    }
}

int main()
{
#define CHECK_BOTH(name, want) check(#name, name, want), check(#name "_global", name##_global, want)
    CHECK_BOTH(lanes_end, want_lanes);
    CHECK_BOTH(warps_end, want_warps);
    CHECK_BOTH(odd_end, want_odd);
    CHECK_BOTH(even_go_on, want_odd);
    CHECK_BOTH(last_words, want_words);
    return check_done();
}
