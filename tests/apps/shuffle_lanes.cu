// Shuffles by lanes that only the running code knows, the same for a warp or each lane's own: all four kinds, all widths, lanes
// beyond the width and beyond 31, whole warps, a part of one, and every third lane gone; beside the definition on the processor.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

enum Kind { UP, DOWN, XOR, FROM, KINDS };

enum { THREADS = 2 * 32 + 20 };

template <int KIND, class T>
__device__ T shuffle(unsigned members, T x, int by, int width)
{
    switch (KIND) {
    case UP: return __shfl_up_sync(members, x, (unsigned)by, width);
    case DOWN: return __shfl_down_sync(members, x, (unsigned)by, width);
    case XOR: return __shfl_xor_sync(members, x, by, width);
    default: return __shfl_sync(members, x, by, width);
    }
}

template <int KIND, class T>
__global__ void shuffles(const T *x, const int *by, int one, int width, bool some, T *own, T *same)
{
    int i = threadIdx.x;
    unsigned members = __ballot_sync(__activemask(), !some || i % 3);
    if (some && i % 3 == 0)
        return;
    own[i] = shuffle<KIND>(members, x[i], by[i], width);
    same[i] = shuffle<KIND>(members, x[i], one, width);
}

// A sum of the lanes from each on, as libraries write it: the distance is halved in a loop.
__global__ void halving(const float *x, int from, float *sums)
{
    float sum = x[threadIdx.x];
#pragma unroll 1
    for (int by = from; by > 0; by >>= 1)
        sum += __shfl_down_sync(~0u, sum, by);
    sums[threadIdx.x] = sum;
}

static int source(int kind, int lane, int by, int width)
{
    int first = lane & ~(width - 1), last = first + width - 1, at;
    by &= 31;
    switch (kind) {
    case UP: at = lane - by; return at < first ? lane : at;
    case DOWN: at = lane + by; break;
    case XOR: at = lane ^ by; break;
    default: at = first + (by & (width - 1)); break;
    }
    return at > last ? lane : at;
}

static bool is_there(int i, bool some)
{
    return i < THREADS && !(some && i % 3 == 0);
}

template <int KIND, class T>
static void test(const std::vector<T> &x, const std::vector<int> &by, int one, int width, bool some)
{
    Dev<T> dx(x.data(), THREADS), own(THREADS), same(THREADS);
    Dev<int> dby(by.data(), THREADS);
    std::vector<T> got_own(THREADS), got_same(THREADS);
    shuffles<KIND, T><<<1, THREADS>>>(dx, dby, one, width, some, own, same);
    CHECK_LAUNCH();
    own.get_unordered(got_own.data()); // what lanes that are not there hand out is anything
    same.get_unordered(got_same.data());
    for (int i = 0; i < THREADS; i++) {
        int warp = i & ~31, own_at = warp + source(KIND, i & 31, by[i], width), same_at = warp + source(KIND, i & 31, one, width);
        if (!is_there(i, some))
            continue;
        if (is_there(own_at, some)) // nothing is said of lanes that are not there
            EXPECT(got_own[i] == x[own_at], "kind %d, width %d, thread %d by %d", KIND, width, i, by[i]);
        if (is_there(same_at, some))
            EXPECT(got_same[i] == x[same_at], "kind %d, width %d, thread %d, all by %d", KIND, width, i, one);
    }
}

template <class T>
static void test_all(int width, int one, bool some)
{
    static uint64_t state = 2025;
    std::vector<T> x(THREADS);
    std::vector<int> by(THREADS);
    for (int i = 0; i < THREADS; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x[i] = (T)(state >> 34);
        by[i] = (int)(state >> 50 & 63);
    }
    test<UP, T>(x, by, one, width, some);
    test<DOWN, T>(x, by, one, width, some);
    test<XOR, T>(x, by, one, width, some);
    test<FROM, T>(x, by, one, width, some);
}

static void test_halving()
{
    float x[32], got[32];
    for (int i = 0; i < 32; i++)
        x[i] = (float)(i * i + 1);
    Dev<float> dx(x, 32), sums(32);
    for (int from = 0; from <= 16; from++) {
        float want[32];
        memcpy(want, x, sizeof x);
        for (int by = from; by > 0; by >>= 1)
            for (int i = 0; i < 32; i++) // upwards: what is read has not been added to yet
                want[i] += want[i + by < 32 ? i + by : i];
        halving<<<1, 32>>>(dx, from, sums);
        CHECK_LAUNCH();
        sums.get(got);
        for (int i = 0; i < 32; i++)
            EXPECT(got[i] == want[i], "from %d: sum %d is %g, not %g", from, i, got[i], want[i]);
    }
}

int main()
{
    for (int width = 1; width <= 32; width *= 2)
        for (int one : { 0, 1, 2, 5, 8, 15, 16, 17, 31, 32, 33, -1 }) {
            test_all<int>(width, one, false);
            test_all<float>(width, one, true);
        }
    test_all<double>(32, 7, false);
    test_all<long long>(8, 3, true);
    test_halving();
    return check_done();
}
