// Updates in place that lack a barrier between what a block's threads read and what others of them write.  CUDA leaves open what
// comes of it, and cards, whose warps go side by side, give what is meant: so does the host device.
// variants: shared static O0 sm_75 sm_80 sm_90 debug_sm_75 debug_sm_80 debug_sm_90
// devices: host                 a simulated card runs one wave up to a barrier before it goes on with the next
// races: that is what it is about
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <functional>
#include <vector>

enum { N = 1024 };

// Each thread's neighbours, in a ring.
__global__ void ring(int *g)
{
    __shared__ int s[256];
    int t = threadIdx.x;
    s[t] = g[t];
    __syncthreads();
    int left = s[(t + 255) & 255], right = s[(t + 1) & 255];
    s[t] = 3 * left - right;
    __syncthreads();
    g[t] = s[t];
}

// And but for the ends, several times.
__global__ void line(int *g, int rounds)
{
    extern __shared__ int dynamic[];
    int t = threadIdx.x;
    dynamic[t] = g[t];
    __syncthreads();
    for (int i = 0; i < rounds; i++) {
        if (t > 0 && t < int(blockDim.x) - 1)
            dynamic[t] = dynamic[t - 1] + 2 * dynamic[t] - dynamic[t + 1];
        __syncthreads();
    }
    g[t] = dynamic[t];
}

// Rows and columns.
__global__ void plane(int *g)
{
    __shared__ int s[18][18];
    int x = threadIdx.x + 1, y = threadIdx.y + 1;
    s[y][x] = g[(y - 1) * 16 + x - 1];
    if (y == 1)
        s[0][x] = 5;
    if (y == 16)
        s[17][x] = 7;
    __syncthreads();
    s[y][x] += s[y - 1][x] - s[y + 1][x];
    __syncthreads();
    g[(y - 1) * 16 + x - 1] = s[y][x];
}

// Sums of all before, in one array.
__global__ void scan(int *g, int n)
{
    __shared__ int s[N];
    int t = threadIdx.x;
    s[t] = g[t];
    __syncthreads();
    for (int d = 1; d < n; d *= 2) {
        if (t >= d)
            s[t] += s[t - d];
        __syncthreads();
    }
    g[t] = s[t];
}

__global__ void scan_all(int *g)
{
    __shared__ int s[256];
    int t = threadIdx.x;
    s[t] = g[t];
    __syncthreads();
    for (int d = 1; d < 256; d <<= 1) {
        int before = 0;
        if (t >= d)
            before = s[t - d];
        s[t] += before;
        __syncthreads();
    }
    g[t] = s[t];
}

// Sums of all behind.
__global__ void scan_back(int *g, int n)
{
    __shared__ int s[N];
    int t = threadIdx.x;
    s[t] = g[t];
    __syncthreads();
    for (int d = 1; d < n; d *= 2) {
        if (t + d < n)
            s[t] += s[t + d];
        __syncthreads();
    }
    g[t] = s[t];
}

__global__ void transpose(int *g)
{
    __shared__ int s[16][17];
    int x = threadIdx.x, y = threadIdx.y;
    s[y][x] = g[y * 16 + x];
    __syncthreads();
    s[x][y] = s[y][x];
    __syncthreads();
    g[y * 16 + x] = s[y][x];
}

__global__ void reverse(int *g)
{
    __shared__ int s[256];
    int t = threadIdx.x;
    s[t] = g[t];
    __syncthreads();
    s[t] = s[255 - t];
    __syncthreads();
    g[t] = s[t];
}

// The last threads read nothing: their warps come to the write by another way.
__global__ void shift(int *g, int by)
{
    __shared__ int s[512];
    int t = threadIdx.x, next = 0;
    s[t] = g[t];
    __syncthreads();
    if (t + by < 512)
        next = s[t + by];
    s[t] = next;
    __syncthreads();
    g[t] = s[t];
}

// What a thread has read decides whether it writes: a guard within another, as where a maximum is looked for (BEAGLE does).
__global__ void greater(int *g)
{
    __shared__ int s[512];
    int t = threadIdx.x;
    s[t] = g[t];
    __syncthreads();
    if (t < 511) {
        int own = s[t], next = s[t + 1];
        if (next > own)
            s[t] = next;
    }
    __syncthreads();
    g[t] = s[t];
}

// All rows of a block scale the same 16 elements (ASTRA's SART does).
__global__ void scale(int *g, int n)
{
    int x = threadIdx.x + 16 * blockIdx.x;
    if (x < n)
        g[x] *= 3;
}

// All threads update one place, behind a loop whose counter is halved, and behind one that threads leave as data says.
__global__ void halved(int *g)
{
    int t = threadIdx.x, x = g[t];
#pragma unroll 1
    for (int d = warpSize / 2; d > 0; d /= 2)
        x += __shfl_down_sync(~0u, x, d);
    __syncthreads();
    if ((t & 31) == 0)
        g[t / 32] = x;
    __syncthreads();
    g[0] += g[1];
}

__global__ void searched(int *g)
{
    int t = threadIdx.x, i = t;
    do
        i = (i + 5) & 255;
    while (g[i] % 7);
    __syncthreads();
    if (g[t] & 1)
        g[t] = i;
    else if (g[t] & 2)
        g[t] = -i;
    __syncthreads();
    g[3] += 2 * g[4];
}

// So where blocks have set together what they add to (Eigen's sums of halves).
__device__ void swap_in(int *g, int x)
{
    int old = *g, expected;
    do {
        expected = old;
        old = atomicCAS(g, expected, expected + x);
    } while (old != expected);
}

__global__ void set_and_added(int *g)
{
    int t = threadIdx.x, x = g[t];
    __syncthreads();
    if (gridDim.x == 1) {
        if (t == 0)
            g[0] = g[1] = 0;
        __syncthreads();
    }
    swap_in(g, x);
    swap_in(g + 1, 2 * x);
    __syncthreads();
    g[0] += g[1];
}

// Warps update one place each in its turn: who met there would wait for ever.
__global__ void in_turns(int *g, volatile int *turn)
{
    int w = threadIdx.x / 32;
    while (*turn != w)
        ;
    __threadfence();
    g[0] = 3 * g[0] + w;
    __syncwarp();
    __threadfence();
    if (threadIdx.x % 32 == 0)
        *turn = w + 1;
}

// Blocks set sums to 0 together, and add to them behind a barrier, which holds back no other block (dlib does).
__global__ void zeroed(int *g, int n, int rows)
{
    int i = blockIdx.x * blockDim.y + threadIdx.y, all = gridDim.x * blockDim.y;
    for (int j = i; j < n; j += all)
        if (threadIdx.x == 0)
            g[j] = 0;
    __syncthreads();
    for (int j = i; j < rows; j += all)
        atomicAdd(&g[j % n], j + threadIdx.x);
}

// Right by themselves, for who looks too hard: sums by halves, each thread's own elements, pairs that one thread swaps.
__global__ void no_race(int *g)
{
    __shared__ int s[512];
    int t = threadIdx.x;
    s[t] = g[t];
    s[t + 256] = g[t + 256];
    int other = s[t + 256];
    s[t] += 2 * other;
    __syncthreads();
    if (t < 128) {
        int a = s[t], b = s[255 - t];
        s[t] = b;
        s[255 - t] = a;
    }
    __syncthreads();
    for (int d = 128; d; d /= 2) {
        if (t < d)
            s[t] += s[t + d];
        __syncthreads();
    }
    g[t] = s[t];
}

static void run(const char *name, int n, const std::function<void(int *)> &kernel,
                const std::function<void(std::vector<int> &)> &meant)
{
    std::vector<int> in(N), out(N), want;
    int *g;
    for (int i = 0; i < N; i++)
        in[i] = i * i % 97 - 40;
    want = in;
    meant(want);
    CHECK(cudaMalloc(&g, N * sizeof(int)));
    for (int round = 0; round < 4; round++) { // some of them perhaps by code that is made quickly
        CHECK(cudaMemcpy(g, in.data(), N * sizeof(int), cudaMemcpyHostToDevice));
        kernel(g);
        CHECK_LAUNCH();
        CHECK(cudaMemcpy(out.data(), g, N * sizeof(int), cudaMemcpyDeviceToHost));
        for (int i = 0; i < n; i++)
            EXPECT(out[i] == want[i], "%s of %d, round %d: element %d is %d, not %d", name, n, round, i, out[i], want[i]);
    }
    CHECK(cudaFree(g));
}

int main()
{
    run("ring", 256, [](int *g) { ring<<<1, 256>>>(g); }, [](std::vector<int> &v) {
        std::vector<int> old = v;
        for (int i = 0; i < 256; i++)
            v[i] = 3 * old[(i + 255) & 255] - old[(i + 1) & 255];
    });
    for (int n : { 64, 96, 512 })
        run("line", n, [n](int *g) { line<<<1, n, n * sizeof(int)>>>(g, 5); }, [n](std::vector<int> &v) {
            for (int round = 0; round < 5; round++) {
                std::vector<int> old = v;
                for (int i = 1; i < n - 1; i++)
                    v[i] = old[i - 1] + 2 * old[i] - old[i + 1];
            }
        });
    run("plane", 256, [](int *g) { plane<<<1, dim3(16, 16)>>>(g); }, [](std::vector<int> &v) {
        std::vector<int> old = v;
        for (int y = 0; y < 16; y++)
            for (int x = 0; x < 16; x++)
                v[y * 16 + x] += (y ? old[(y - 1) * 16 + x] : 5) - (y < 15 ? old[(y + 1) * 16 + x] : 7);
    });
    for (int n : { 64, 128, 256, 1024 }) {
        run("scan", n, [n](int *g) { scan<<<1, n>>>(g, n); }, [n](std::vector<int> &v) {
            for (int i = 1; i < n; i++)
                v[i] += v[i - 1];
        });
        run("scan_back", n, [n](int *g) { scan_back<<<1, n>>>(g, n); }, [n](std::vector<int> &v) {
            for (int i = n - 2; i >= 0; i--)
                v[i] += v[i + 1];
        });
    }
    run("scan_all", 256, [](int *g) { scan_all<<<1, 256>>>(g); }, [](std::vector<int> &v) {
        for (int i = 1; i < 256; i++)
            v[i] += v[i - 1];
    });
    run("transpose", 256, [](int *g) { transpose<<<1, dim3(16, 16)>>>(g); }, [](std::vector<int> &v) {
        std::vector<int> old = v;
        for (int i = 0; i < 256; i++)
            v[i] = old[i % 16 * 16 + i / 16];
    });
    run("reverse", 256, [](int *g) { reverse<<<1, 256>>>(g); }, [](std::vector<int> &v) {
        std::vector<int> old = v;
        for (int i = 0; i < 256; i++)
            v[i] = old[255 - i];
    });
    run("shift", 512, [](int *g) { shift<<<1, 512>>>(g, 37); }, [](std::vector<int> &v) {
        for (int i = 0; i < 512; i++)
            v[i] = i + 37 < 512 ? v[i + 37] : 0;
    });
    run("greater", 512, [](int *g) { greater<<<1, 512>>>(g); }, [](std::vector<int> &v) {
        for (int i = 0; i < 511; i++)
            v[i] = v[i + 1] > v[i] ? v[i + 1] : v[i];
    });
    run("scale", 100, [](int *g) { scale<<<7, dim3(16, 16)>>>(g, 100); }, [](std::vector<int> &v) {
        for (int i = 0; i < 100; i++)
            v[i] *= 3;
    });
#ifndef __CUDACC_DEBUG__ /* there shuffles are calls, and the array's address lies in local memory: it is as written */
    run("halved", 256, [](int *g) { halved<<<1, 256>>>(g); }, [](std::vector<int> &v) {
        std::vector<int> old = v;
        for (int w = 0; w < 8; w++)
            for (int i = v[w] = 0; i < 32; i++)
                v[w] += old[32 * w + i];
        v[0] += v[1];
    });
#endif
    run("searched", 256, [](int *g) { searched<<<1, 256>>>(g); }, [](std::vector<int> &v) {
        std::vector<int> old = v;
        for (int t = 0; t < 256; t++) {
            int i = t;
            do
                i = (i + 5) & 255;
            while (old[i] % 7);
            v[t] = v[t] & 1 ? i : v[t] & 2 ? -i : v[t];
        }
        v[3] += 2 * v[4];
    });
    run("set_and_added", 256, [](int *g) { set_and_added<<<1, 256>>>(g); }, [](std::vector<int> &v) {
        int sum = 0;
        for (int i = 0; i < 256; i++)
            sum += v[i];
        v[0] = 3 * sum;
        v[1] = 2 * sum;
    });
    run("in_turns", 1, [](int *g) {
        CHECK(cudaMemset(g + 1, 0, sizeof(int)));
        in_turns<<<1, 256>>>(g, g + 1);
    }, [](std::vector<int> &v) {
        for (int w = 0; w < 8; w++)
            v[0] = 3 * v[0] + w;
    });
    for (int blocks : { 1, 2, 7, 40, 2000 })
        run("zeroed", 90, [blocks](int *g) { zeroed<<<blocks, dim3(32, 4)>>>(g, 90, 400); }, [](std::vector<int> &v) {
            for (int i = 0; i < 90; i++)
                v[i] = 0;
            for (int j = 0; j < 400; j++)
                v[j % 90] += 32 * j + 31 * 16;
        });
    run("no_race", 1, [](int *g) { no_race<<<1, 256>>>(g); }, [](std::vector<int> &v) {
        int sum = 0;
        for (int i = 0; i < 256; i++)
            sum += v[i] + 2 * v[i + 256];
        v[0] = sum;
    });
    return check_done();
}
