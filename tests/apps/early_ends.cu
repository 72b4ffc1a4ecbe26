// Threads that end while others go on to barriers: what they read and write before they end is before these barriers, which no longer wait for
// them.  Single lanes of a warp, whole warps, from loops and on the way.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

enum { MOST = 256 };

/* Each round all write, and some read what another has written, for the last time, and end. */
__global__ void lanes_end(int *out)
{
    __shared__ int s[MOST];
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

__global__ void warps_end(int *out)
{
    __shared__ int s[MOST];
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
__global__ void odd_end(int *out)
{
    __shared__ int s[MOST];
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

__global__ void even_go_on(int *out)
{
    __shared__ int s[MOST];
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
__global__ void last_words(int *out)
{
    __shared__ int s[MOST], sum;
    int t = threadIdx.x, n = blockDim.x;
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

static void check(const char *name, void (*kernel)(int *), int (*want)(int, int))
{
    static const int sizes[] = { 32, 64, 96, 128, 256 };
    for (int n : sizes) {
        Dev<int> d(n);
        std::vector<int> out(n, 0);
        d.put(out.data());
        kernel<<<1, n>>>(d);
        CHECK_LAUNCH();
        d.get(out.data());
        for (int t = 0; t < n; t++)
            EXPECT(out[t] == want(t, n), "%s, %d threads, thread %d: %d, expected %d", name, n, t, out[t], want(t, n));
    }
}

int main()
{
    check("lanes_end", lanes_end, want_lanes);
    check("warps_end", warps_end, want_warps);
    check("odd_end", odd_end, want_odd);
    check("even_go_on", even_go_on, want_odd);
    check("last_words", last_words, want_words);
    return check_done();
}
