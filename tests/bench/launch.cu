// What the host device's scheduler costs: launches, blocks, streams, copies, barriers and atomics.  Not how fast kernels compute.
// Each row is wall time and processor time (of all the program's threads) of one unit; rows come in turns, the least of them is
// shown.  On a machine with other work, believe the processor time.  Every result is checked; a wrong one fails the program.
// Usage: launch [TURNS [ROW-PREFIX]]
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#define CHECK(call)                                                                                                         \
    do {                                                                                                                    \
        cudaError_t e_ = (call);                                                                                            \
        if (e_ != cudaSuccess) {                                                                                            \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(e_));                          \
            exit(1);                                                                                                        \
        }                                                                                                                   \
    } while (0)

static double clock_ns(clockid_t clock)
{
    timespec t;
    clock_gettime(clock, &t);
    return 1e9 * t.tv_sec + t.tv_nsec;
}

struct Cost {
    double wall, cpu; // ns
};

struct Meter {
    clockid_t clock;
    double wall, cpu;
    explicit Meter(clockid_t c = CLOCK_PROCESS_CPUTIME_ID) : clock(c), wall(clock_ns(CLOCK_MONOTONIC)), cpu(clock_ns(c)) {}
    Cost end(double units) const { return { (clock_ns(CLOCK_MONOTONIC) - wall) / units, (clock_ns(clock) - cpu) / units }; }
};

// ---- kernels

__global__ void empty(int *, float, int) {}

__global__ void gate(volatile int *flag)
{
    while (!*flag)
        __nanosleep(1000);
}

__global__ void count(unsigned *n)
{
    if (threadIdx.x == 0)
        atomicAdd(n, 1u);
}

__global__ void spin(float *out, int rounds)
{
    float x = threadIdx.x;
    for (int i = 0; i < rounds; i++)
        x = x * 0.999f + 1.0f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

__global__ void barriers(int *out, int rounds)
{
    __shared__ int turn[32];
    int warp = threadIdx.x / 32, warps = blockDim.x / 32, seen = 0;
    for (int i = 0; i < rounds; i++) {
        if (threadIdx.x % 32 == 0)
            turn[warp] = i;
        __syncthreads();
        seen += turn[(warp + 1) % warps] == i;
        __syncthreads();
    }
    if (threadIdx.x % 32 == 0)
        out[blockIdx.x * warps + warp] = seen;
}

__global__ void one_barrier(int *out)
{
    __shared__ int first;
    if (threadIdx.x == 0)
        first = blockIdx.x;
    __syncthreads();
    if (first != (int)blockIdx.x)
        *out = 1;
}

__global__ void tree(const float *in, float *out)
{
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * 256 + t];
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (t < half)
            s[t] += s[t + half];
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
}

__global__ void tiles(const float *a, const float *b, float *c, int n)
{
    __shared__ float ta[16][16], tb[16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        ta[y][x] = a[row * n + k + x];
        tb[y][x] = b[(k + y) * n + col];
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum += ta[y][i] * tb[i][x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}

__global__ void shared_histogram(unsigned *out, int per_thread)
{
    __shared__ unsigned bins[64];
    if (threadIdx.x < 64)
        bins[threadIdx.x] = 0;
    __syncthreads();
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < per_thread; i++) {
        x = x * 1664525u + 1013904223u;
        atomicAdd(&bins[x >> 26], 1u);
    }
    __syncthreads();
    if (threadIdx.x < 64)
        atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

__global__ void shared_counter(unsigned *out, int per_thread)
{
    __shared__ unsigned n;
    if (threadIdx.x == 0)
        n = 0;
    __syncthreads();
    for (int i = 0; i < per_thread; i++)
        atomicAdd(&n, 1u);
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(out, n);
}

__global__ void global_add(unsigned *n, int per_thread)
{
    for (int i = 0; i < per_thread; i++)
        atomicAdd(n, threadIdx.x & 3);
}

__global__ void global_ticket(unsigned *n, unsigned *sum, int per_thread)
{
    unsigned mine = 0;
    for (int i = 0; i < per_thread; i++)
        mine += atomicAdd(n, 1u);
    sum[blockIdx.x * blockDim.x + threadIdx.x] = mine;
}

__global__ void global_max(int *n, int per_thread)
{
    for (int i = 0; i < per_thread; i++)
        atomicMax(n, (int)threadIdx.x * 7 + i);
}

// ---- rows

struct Row {
    char name[64];
    const char *unit;
    Cost best;
};
static std::vector<Row> rows;
static const char *only = "";

static bool wanted(const char *name)
{
    return strncmp(name, only, strlen(only)) == 0;
}

static void note(const char *name, const char *unit, Cost c)
{
    for (Row &r : rows)
        if (strcmp(r.name, name) == 0) {
            r.best.wall = c.wall < r.best.wall ? c.wall : r.best.wall;
            r.best.cpu = c.cpu < r.best.cpu ? c.cpu : r.best.cpu;
            return;
        }
    Row r = { "", unit, c };
    snprintf(r.name, sizeof r.name, "%s", name);
    rows.push_back(r);
}

static void require(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "wrong result: %s\n", what);
        exit(1);
    }
}

static int *flag;
static unsigned *cells;    // device
static float *floats;      // device

static void queued(cudaStream_t s, const char *name)
{
    if (!wanted(name))
        return;
    const int n = 5000;
    *(volatile int *)flag = 0;
    gate<<<1, 32, 0, s>>>(flag);
    Meter m(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < n; i++)
        empty<<<1, 128, 0, s>>>((int *)cells, 1.0f, i);
    note(name, "launch", m.end(n));
    *(volatile int *)flag = 1;
    CHECK(cudaStreamSynchronize(s));
}

static void launches(cudaStream_t s)
{
    queued(s, "launch queued, caller's side");
    queued(0, "launch queued, default stream");
    if (wanted("launch and sync")) {
        Meter m;
        for (int i = 0; i < 10000; i++) {
            empty<<<1, 128, 0, s>>>(NULL, 1.0f, i);
            CHECK(cudaStreamSynchronize(s));
        }
        note("launch and sync", "launch", m.end(10000));
    }
    if (wanted("launch back to back")) {
        Meter m;
        for (int i = 0; i < 50000; i++)
            empty<<<1, 128, 0, s>>>(NULL, 1.0f, i);
        CHECK(cudaStreamSynchronize(s));
        note("launch back to back", "launch", m.end(50000));
    }
}

static void grids(cudaStream_t s)
{
    for (int blocks = 1; blocks <= 10000000; blocks *= 10) {
        char name[64];
        snprintf(name, sizeof name, "grid of %d tiny blocks", blocks);
        if (!wanted(name))
            continue;
        int times = blocks >= 1000000 ? 1 : blocks >= 1000 ? 100 : 2000;
        CHECK(cudaMemsetAsync(cells, 0, 4, s));
        count<<<blocks, 32, 0, s>>>(cells);
        unsigned got = 0;
        CHECK(cudaMemcpyAsync(&got, cells, 4, cudaMemcpyDeviceToHost, s));
        CHECK(cudaStreamSynchronize(s));
        require(got == (unsigned)blocks, name);
        Meter m;
        for (int i = 0; i < times; i++) {
            empty<<<blocks, 32, 0, s>>>(NULL, 1.0f, i);
            CHECK(cudaStreamSynchronize(s));
        }
        note(name, "block", m.end((double)times * blocks));
    }
}

static void copies(cudaStream_t s)
{
    const size_t most = 64 << 20;
    static char *host = (char *)calloc(1, most), *device;
    if (!device)
        CHECK(cudaMalloc(&device, most));
    for (size_t size = 64; size <= most; size *= 32) {
        char name[64];
        snprintf(name, sizeof name, "copy to device, %zu bytes", size);
        if (!wanted(name))
            continue;
        int times = size > 1 << 20 ? 4 : size > 1 << 14 ? 100 : 5000;
        memset(host, 1, size);
        CHECK(cudaMemcpy(device, host, size, cudaMemcpyHostToDevice));
        Meter m;
        for (int i = 0; i < times; i++)
            CHECK(cudaMemcpy(device, host, size, cudaMemcpyHostToDevice));
        note(name, "byte", m.end((double)times * size));
    }
    if (wanted("copy async, 64 bytes")) {
        Meter m;
        for (int i = 0; i < 20000; i++)
            CHECK(cudaMemcpyAsync(device, host, 64, cudaMemcpyHostToDevice, s));
        CHECK(cudaStreamSynchronize(s));
        note("copy async, 64 bytes", "copy", m.end(20000));
    }
}

static void streams(int n)
{
    static cudaStream_t s[8];
    char name[64];
    for (int i = 0; i < n; i++)
        if (!s[i])
            CHECK(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
    snprintf(name, sizeof name, "%d streams, empty kernels", n);
    if (wanted(name)) {
        Meter m;
        for (int i = 0; i < 20000; i++)
            empty<<<1, 128, 0, s[i % n]>>>(NULL, 1.0f, i);
        CHECK(cudaDeviceSynchronize());
        note(name, "launch", m.end(20000));
    }
    snprintf(name, sizeof name, "%d streams, 10 us of work each", n);
    if (wanted(name)) {
        Meter m;
        for (int i = 0; i < 2000; i++)
            spin<<<1, 128, 0, s[i % n]>>>(floats + i % n * 1024, 1000);
        CHECK(cudaDeviceSynchronize());
        note(name, "launch", m.end(2000));
    }
}

static void synchronised(cudaStream_t s)
{
    for (int warps = 2; warps <= 32; warps *= 4) {
        char name[64];
        snprintf(name, sizeof name, "barrier, %d warps", warps);
        if (!wanted(name))
            continue;
        const int rounds = 20000;
        Meter m;
        barriers<<<1, warps * 32, 0, s>>>((int *)cells, rounds);
        CHECK(cudaStreamSynchronize(s));
        note(name, "warp and barrier", m.end(2.0 * rounds * warps));
        int seen[32];
        CHECK(cudaMemcpy(seen, cells, sizeof(int) * warps, cudaMemcpyDeviceToHost));
        for (int i = 0; i < warps; i++)
            require(seen[i] == rounds, name);
    }
    if (wanted("block with one barrier")) {
        CHECK(cudaMemsetAsync(cells, 0, 4, s));
        Meter m;
        one_barrier<<<100000, 128, 0, s>>>((int *)cells);
        CHECK(cudaStreamSynchronize(s));
        note("block with one barrier", "block", m.end(100000));
        unsigned bad;
        CHECK(cudaMemcpy(&bad, cells, 4, cudaMemcpyDeviceToHost));
        require(!bad, "block with one barrier");
    }
    if (wanted("tree reduction of 256")) {
        static std::vector<float> ones(256 * 1024, 1.0f), sums(1024);
        CHECK(cudaMemcpy(floats, ones.data(), ones.size() * 4, cudaMemcpyHostToDevice));
        Meter m;
        for (int i = 0; i < 20; i++)
            tree<<<1024, 256, 0, s>>>(floats, floats + 256 * 1024);
        CHECK(cudaStreamSynchronize(s));
        note("tree reduction of 256", "block", m.end(20 * 1024));
        CHECK(cudaMemcpy(sums.data(), floats + 256 * 1024, 4096, cudaMemcpyDeviceToHost));
        for (float x : sums)
            require(x == 256.0f, "tree reduction of 256");
    }
    if (wanted("matrix product, 16x16 tiles")) {
        const int n = 512;
        static std::vector<float> a(n * n), c(n * n);
        for (int i = 0; i < n * n; i++)
            a[i] = (float)(i % 7);
        float *b = floats + n * n, *out = floats + 2 * n * n;
        CHECK(cudaMemcpy(floats, a.data(), a.size() * 4, cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(b, a.data(), a.size() * 4, cudaMemcpyHostToDevice));
        Meter m;
        tiles<<<dim3(n / 16, n / 16), dim3(16, 16), 0, s>>>(floats, b, out, n);
        CHECK(cudaStreamSynchronize(s));
        note("matrix product, 16x16 tiles", "multiply-add", m.end((double)n * n * n));
        CHECK(cudaMemcpy(c.data(), out, c.size() * 4, cudaMemcpyDeviceToHost));
        for (int i = 0; i < n * n; i += 997) {
            float want = 0;
            for (int k = 0; k < n; k++)
                want += a[i / n * n + k] * a[k * n + i % n];
            require(c[i] == want, "matrix product"); // integers below 2^24: exact in any order
        }
    }
}

static unsigned cell(int i)
{
    unsigned x;
    CHECK(cudaMemcpy(&x, cells + i, 4, cudaMemcpyDeviceToHost));
    return x;
}

template <typename Launch, typename Check> static void atomic_row(const char *name, cudaStream_t s, Launch launch, Check check)
{
    if (!wanted(name))
        return;
    CHECK(cudaMemsetAsync(cells, 0, 256, s));
    CHECK(cudaStreamSynchronize(s));
    Meter m;
    launch();
    CHECK(cudaStreamSynchronize(s));
    note(name, "operation", m.end(64.0 * 256 * 100));
    require(check(), name);
}

static void atomics(cudaStream_t s)
{
    const unsigned all = 64 * 256 * 100;
    atomic_row("atomic, shared histogram", s, [&] { shared_histogram<<<64, 256, 0, s>>>(cells, 100); }, [] {
        unsigned sum = 0;
        for (int i = 0; i < 64; i++)
            sum += cell(i);
        return sum == all;
    });
    atomic_row(
        "atomic, shared counter", s, [&] { shared_counter<<<64, 256, 0, s>>>(cells, 100); }, [] { return cell(0) == all; });
    atomic_row(
        "atomic, global sum", s, [&] { global_add<<<64, 256, 0, s>>>(cells, 100); }, [] { return cell(0) == all / 4 * 6; });
    atomic_row("atomic, global maximum", s, [&] { global_max<<<64, 256, 0, s>>>((int *)cells, 100); },
               [] { return cell(0) == 255 * 7 + 99; });
    atomic_row("atomic, global tickets", s, [&] { global_ticket<<<64, 256, 0, s>>>(cells, (unsigned *)floats, 100); }, [] {
        static std::vector<unsigned> sums(64 * 256);
        CHECK(cudaMemcpy(sums.data(), floats, sums.size() * 4, cudaMemcpyDeviceToHost));
        unsigned sum = 0; // each value from 0 once, modulo 2^32
        for (unsigned x : sums)
            sum += x;
        return cell(0) == all && sum == (unsigned)((unsigned long long)all * (all - 1) / 2);
    });
}

int main(int argc, char **argv)
{
    int turns = argc > 1 ? atoi(argv[1]) : 5;
    only = argc > 2 ? argv[2] : "";
    if (turns < 1)
        turns = 1;
    cudaStream_t s;
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaHostAlloc(&flag, 4, cudaHostAllocMapped));
    CHECK(cudaMalloc(&cells, 1 << 16));
    CHECK(cudaMalloc(&floats, 4 << 20));
    for (int turn = 0; turn <= turns; turn++) { // the first compiles, starts threads and touches memory
        launches(s);
        grids(s);
        copies(s);
        for (int n = 1; n <= 8; n = n == 2 ? 8 : n + 1)
            streams(n);
        synchronised(s);
        atomics(s);
        if (turn == 0)
            rows.clear();
    }
    printf("%-36s %12s %12s\n", "", "wall ns", "CPU ns");
    for (const Row &r : rows)
        printf("%-36s %12.2f %12.2f  per %s\n", r.name, r.best.wall, r.best.cpu, r.unit);
    CHECK(cudaGetLastError());
    return 0;
}
