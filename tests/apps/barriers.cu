// Barriers by number: waiting, arriving and reducing, with numbers and counts in registers and as constants, several in use at
// once.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

/* Half of the warps hands data to the other half and back, a barrier for each direction and pair of warps. */
__global__ void handed(int *out, int rounds)
{
    __shared__ int cell[256];
    int t = threadIdx.x, warp = t / 32, half = blockDim.x / 64, pair = warp % half, there = 1 + pair, back = 8 + pair, sum = 0;
    for (int i = 0; i < rounds; i++) {
        if (warp < half) {
            cell[t] = t * 10 + i;
            if (i & 1)
                asm volatile("bar.arrive %0, 64;" :: "r"(there) : "memory");
            else
                asm volatile("barrier.cta.arrive.aligned %0, %1;" :: "r"(there), "r"(64) : "memory");
            asm volatile("barrier.sync %0, %1;" :: "r"(back), "r"(64) : "memory");
            sum += cell[t];
        } else {
            asm volatile("bar.cta.sync %0, %1;" :: "r"(there), "r"(64) : "memory");
            int v = cell[t - half * 32];
            sum += v;
            cell[t - half * 32] = v * 2;
            asm volatile("bar.arrive %0, %1;" :: "r"(back), "r"(64) : "memory");
        }
    }
    out[t] = sum;
}

#define COUNTED(ret, p, text, ...) \
    asm volatile("{ .reg .pred a; setp.ne.s32 a, %1, 0; " text " }" : "=r"(ret) : "r"((int)(p)), ##__VA_ARGS__ : "memory")

/* Every reduction, of the whole block and of the first two warps. */
__global__ void reduced(int *out, int limit)
{
    int t = threadIdx.x, n = blockDim.x, number = 3 + limit % 2, r[10];
    unsigned p;
#define REDUCE(i, text, ...) \
    asm volatile("{ .reg .pred a, b; setp.lt.s32 a, %1, %2; " text " selp.u32 %0, 1, 0, b; }" \
                 : "=r"(p) : "r"(t), "r"(limit), ##__VA_ARGS__ : "memory"); \
    r[i] = (int)p
#define COUNT(i, text, ...) \
    asm volatile("{ .reg .pred a; setp.lt.s32 a, %1, %2; " text " }" : "=r"(p) : "r"(t), "r"(limit), ##__VA_ARGS__ : "memory"); \
    r[i] = (int)p
    COUNT(0, "bar.red.popc.u32 %0, 0, a;");
    COUNT(1, "barrier.cta.red.popc.aligned.u32 %0, %3, !a;", "r"(number));
    REDUCE(2, "bar.red.and.pred b, 0, a;");
    REDUCE(3, "bar.cta.red.or.pred b, %3, a;", "r"(number));
    REDUCE(4, "barrier.red.and.aligned.pred b, 15, %3, !a;", "r"(n));
    REDUCE(5, "barrier.red.or.pred b, 7, !a;");
    for (int i = 6; i < 10; i++)
        r[i] = 0;
    if (t < 64) {
        COUNT(6, "bar.red.popc.u32 %0, %3, 64, a;", "r"(number));
        COUNT(7, "barrier.red.popc.u32 %0, 9, %3, !a;", "r"(64));
        REDUCE(8, "bar.red.and.pred b, 2, 64, a;");
        REDUCE(9, "barrier.cta.red.or.aligned.pred b, %3, %4, a;", "r"(number + 5), "r"(64));
    }
    for (int i = 0; i < 10; i++)
        out[t * 10 + i] = r[i];
}

/* Warps that come to a barrier late and some not at all: of those that end, the block's barriers know. */
__global__ void thinned(int *out)
{
    __shared__ int turn;
    int warp = threadIdx.x / 32, warps = blockDim.x / 32, sum = 0;
    if (threadIdx.x == 0)
        turn = 0;
    asm volatile("bar.sync 0;" ::: "memory");
    for (int i = 0; i < warps; i++) {
        if (threadIdx.x % 32 == 0)
            atomicAdd(&turn, 1);
        asm volatile("bar.sync 0;" ::: "memory");
        sum = turn;
        asm volatile("barrier.sync.aligned 0;" ::: "memory");
        if (warp == i)
            break;
    }
    out[threadIdx.x] = sum;
}

/* Barrier 0 with and without the number of the block's threads is one barrier, in blocks of whatever shape. */
__global__ void with_and_without(int *out)
{
    __shared__ int cell[1024];
    int t = threadIdx.x, n = blockDim.x;
    cell[t] = t;
    if (t < n / 2)
        asm volatile("barrier.sync 0;" ::: "memory");
    else
        asm volatile("barrier.sync 0, %0;" :: "r"(n) : "memory");
    out[t] = cell[(t + n / 2) % n];
}

/* What barriers take of shared memory is not seen. */
__global__ void sized(int *out)
{
    extern __shared__ int dynamic[];
    unsigned size, total;
    asm("mov.u32 %0, %dynamic_smem_size;" : "=r"(size));
    asm("mov.u32 %0, %total_smem_size;" : "=r"(total));
    dynamic[threadIdx.x] = 1;
    asm volatile("barrier.sync 3;" ::: "memory");
    int sum = __syncthreads_count(dynamic[(threadIdx.x + 40) % blockDim.x]);
    if (threadIdx.x == 0) {
        out[0] = (int)size;
        out[1] = total >= size;
        out[2] = sum;
    }
}

/* All the shared memory that there is, and every kind of barrier beside it. */
__global__ void filled(int *out, int words)
{
    extern __shared__ int dynamic[];
    int t = threadIdx.x, n = blockDim.x, seed = blockIdx.x * 7919, warp = t / 32, wrong = 0;
    for (int i = t; i < words; i += n)
        dynamic[i] = seed + i;
    int odd = __syncthreads_count(dynamic[t] & 1);
    wrong += odd != n / 2;
    wrong += !__syncthreads_or(t == n - 1) + !__syncthreads_and(dynamic[words - 1 - t] == seed + words - 1 - t) +
             __syncthreads_and(t != 5);
    for (int i = 0; i < 3; i++) {
        if (warp < 2) {
            dynamic[t] += 1;
            asm volatile("bar.arrive 3, 128;" ::: "memory");
            asm volatile("bar.sync 4, 128;" ::: "memory");
        } else if (warp < 4) {
            asm volatile("bar.sync 3, 128;" ::: "memory");
            wrong += dynamic[t - 64] != seed + t - 64 + i + 1;
            asm volatile("barrier.sync 4, 128;" ::: "memory");
        }
    }
    if (warp == 2) { /* ends: the barriers of the whole block go on without it */
        atomicAdd(&out[2 * blockIdx.x], wrong);
        return;
    }
    asm volatile("barrier.sync 5;" ::: "memory");
    wrong += __syncthreads_count(1) != n - 32;
    for (int i = t; i < words; i += n)
        wrong += dynamic[i] != seed + i + (i < 64 ? 3 : 0);
    atomicAdd(&out[2 * blockIdx.x], wrong);
    if (t == 0)
        out[2 * blockIdx.x + 1] = odd;
}

/* The same inside a function that calls itself. */
__device__ __noinline__ int descend(int depth)
{
    if (depth < 1)
        return 1;
    int n = __syncthreads_count(threadIdx.x % (depth + 1) == 0);
    asm volatile("barrier.sync 3;" ::: "memory");
    return n + 2 * descend(depth - 1) + descend(depth - 2);
}

static int descended(int depth, int n)
{
    return depth < 1 ? 1 : (n + depth) / (depth + 1) + 2 * descended(depth - 1, n) + descended(depth - 2, n);
}

__global__ void filled_deep(int *out, int words, int depth)
{
    extern __shared__ int dynamic[];
    int t = threadIdx.x, n = blockDim.x, seed = blockIdx.x * 7919, wrong = 0;
    for (int i = t; i < words; i += n)
        dynamic[i] = seed + i;
    int sum = descend(depth);
    asm volatile("barrier.sync 5;" ::: "memory");
    for (int i = t; i < words; i += n)
        wrong += dynamic[i] != seed + i;
    atomicAdd(&out[2 * blockIdx.x], wrong);
    atomicMax(&out[2 * blockIdx.x + 1], sum);
}

static void check_filled_deep()
{
    const int bytes = 65536, blocks = 8, n = 256, depth = 3;
    CHECK(cudaFuncSetAttribute(filled_deep, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    Dev<int> out(2 * blocks);
    std::vector<int> got(out.n);
    for (int less : { 0, 4096 }) {
        out.fill(0);
        filled_deep<<<blocks, n, bytes - less>>>(out, (bytes - less) / 4, depth);
        CHECK_LAUNCH();
        out.get(got.data());
        for (int i = 0; i < blocks; i++)
            EXPECT(got[2 * i] == 0 && got[2 * i + 1] == descended(depth, n),
                   "filled deep, less %d, block %d: %d wrong, %d, expected %d", less, i, got[2 * i], got[2 * i + 1],
                   descended(depth, n));
    }
}

static void check_filled()
{
    const int bytes = 65536, blocks = 24, n = 256;
    int most, fit = -1;
    CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    EXPECT(most >= bytes, "%d bytes of shared memory", most);
    CHECK(cudaFuncSetAttribute(filled, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, filled, n, bytes));
    EXPECT(fit >= 1, "%d blocks fit", fit);
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, filled));
    EXPECT(attributes.sharedSizeBytes == 0 && attributes.maxDynamicSharedSizeBytes == bytes, "%zu and %d bytes",
           attributes.sharedSizeBytes, attributes.maxDynamicSharedSizeBytes);
    Dev<int> out(2 * blocks);
    std::vector<int> got(out.n);
    for (int less : { 0, 64, 4096 }) {
        out.fill(0);
        filled<<<blocks, n, bytes - less>>>(out, (bytes - less) / 4);
        CHECK_LAUNCH();
        out.get(got.data());
        for (int i = 0; i < blocks; i++)
            EXPECT(got[2 * i] == 0 && got[2 * i + 1] == n / 2, "filled less %d, block %d: %d wrong, %d odd", less, i, got[2 * i],
                   got[2 * i + 1]);
    }
}

/* Lanes end in every warp, and one warp wholly: a warp's other lanes count for all of it, and barriers of all threads, by
 * whatever number, go on without those that have ended. */
__global__ void thinned_lanes(int *out, int gone)
{
    __shared__ int cell[256];
    int t = threadIdx.x, n = blockDim.x, warp = t / 32, lane = t % 32, pair = warp / 2, r = 0, p;
    cell[t] = 0;
    __syncthreads();
    if (lane >= 8 + warp || warp == gone) {
        cell[t] = 1;
        return;
    }
    for (int i = 0; i < 3 && pair != gone / 2; i++) {
        asm volatile("barrier.sync %0, 64;" :: "r"(1 + pair) : "memory");
        COUNTED(p, lane < 4, "bar.red.popc.u32 %0, %2, 64, a;", "r"(5 + pair));
        r = r * 16 + p;
    }
    asm volatile("barrier.sync 9;" ::: "memory");
    COUNTED(p, lane < 2, "bar.red.popc.u32 %0, 0, a;");
    r += 100000 * p;
    COUNTED(p, lane < 3, "barrier.red.popc.u32 %0, 10, a;");
    r += 10000000 * p;
    for (int i = 0; i < n; i++)
        r += cell[i];
    out[t] = r;
}

static void check_thinned_lanes()
{
    Dev<int> out(256);
    std::vector<int> got(out.n);
    for (int gone : { 3, 99 })
        for (int n : { 128, 256 }) {
            int warps = n / 32, left = warps - (gone < warps), ended = gone < warps ? 8 + gone : 0;
            for (int w = 0; w < warps; w++)
                ended += 32 - (8 + w);
            thinned_lanes<<<1, n>>>(out, gone);
            CHECK_LAUNCH();
            out.get(got.data());
            for (int t = 0; t < n; t++) {
                int w = t / 32, want = (w / 2 == gone / 2 ? 0 : 8 * 273) + 100000 * 2 * left + 10000000 * 3 * left + ended;
                if (t % 32 < 8 + w && w != gone)
                    EXPECT(got[t] == want, "thinned lanes, %d threads, less warp %d, thread %d: %d, expected %d", n, gone, t,
                           got[t], want);
            }
        }
}

/* Half of the block fills what the other half waits for, and ends as soon as it has said so: who has ended has come all the
 * same. */
__global__ void left_behind(int *out)
{
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = -1;
    __syncthreads();
    if (t >= 64) {
        s[t] = t * 3;
        asm volatile("bar.arrive 1, 128;" ::: "memory");
        return;
    }
    asm volatile("bar.sync 1, 128;" ::: "memory");
    out[t] = s[127 - t];
}

static void check_left_behind()
{
    Dev<int> out(64);
    std::vector<int> got(out.n);
    left_behind<<<1, 128>>>(out);
    CHECK_LAUNCH();
    out.get(got.data());
    for (int t = 0; t < 64; t++)
        EXPECT(got[t] == (127 - t) * 3, "left behind, thread %d: %d", t, got[t]);
}

int main()
{
    Dev<int> out(2560);
    check_left_behind();
    check_filled();
    check_filled_deep();
    check_thinned_lanes();
    std::vector<int> got(out.n);
    for (int bytes : { 256, 1024, 8192 }) {
        sized<<<1, 64, bytes>>>(out);
        CHECK_LAUNCH();
        out.get(got.data());
        EXPECT(got[0] == bytes && got[1] && got[2] == 64, "%d bytes of dynamic shared memory: %d; %d", bytes, got[0], got[2]);
    }
    /* More shapes than a kernel has code of its own for. */
    for (int n = 64; n <= 704; n += 64) {
        with_and_without<<<1, n>>>(out);
        CHECK_LAUNCH();
        out.get(got.data());
        for (int t = 0; t < n; t++)
            EXPECT(got[t] == (t + n / 2) % n, "with and without, %d threads, thread %d: %d", n, t, got[t]);
    }
    for (int n : { 64, 128, 256 }) {
        const int rounds = 5;
        handed<<<1, n>>>(out, rounds);
        CHECK_LAUNCH();
        out.get(got.data());
        for (int t = 0; t < n; t++) {
            int from = t % (n / 2), sum = rounds * from * 10 + rounds * (rounds - 1) / 2;
            EXPECT(got[t] == (t < n / 2 ? 2 * sum : sum), "handed, %d threads, thread %d: %d", n, t, got[t]);
        }
        thinned<<<1, n>>>(out);
        CHECK_LAUNCH();
        out.get(got.data());
        for (int t = 0; t < n; t++) {
            int w = t / 32, warps = n / 32, sum = 0;
            for (int i = 0; i <= w; i++)
                sum += warps - i;
            EXPECT(got[t] == sum, "thinned, %d threads, thread %d: %d, expected %d", n, t, got[t], sum);
        }
    }
    for (int n : { 64, 96, 256 })
        for (int limit : { 0, 1, 40, 63, 64, 95, 256 }) {
            reduced<<<1, n>>>(out, limit);
            CHECK_LAUNCH();
            out.get(got.data());
            int yes = limit < n ? limit : n, few = limit < 64 ? limit : 64;
            for (int t = 0; t < n; t++) {
                int want[10] = { yes, n - yes, yes == n, yes > 0, yes == 0, yes < n, few, 64 - few, few == 64, few > 0 };
                for (int i = 0; i < 10; i++) {
                    int w = i >= 6 && t >= 64 ? 0 : want[i];
                    EXPECT(got[t * 10 + i] == w, "reduced, %d threads, limit %d, thread %d, %d: %d, expected %d", n, limit, t, i,
                           got[t * 10 + i], w);
                }
            }
        }
    return check_done();
}
