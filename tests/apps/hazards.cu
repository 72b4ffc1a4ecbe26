// Sums of a block through one place in shared memory, one after the other, with no barrier between a sum's reads and the next
// one's writes.  CUDA leaves open what comes of it, and cards give what is meant, as all warps have read long before: so does the
// host device.
// variants: shared static sm_75 sm_80 sm_86 sm_89 sm_90
// devices: host                 a simulated card runs one wave up to a barrier before it goes on with the next
// races: that is what it is about
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

template <class T>
__device__ T warp_sum(T x)
{
    for (int o = 16; o; o >>= 1)
        x += __shfl_xor_sync(~0u, x, o);
    return x;
}

// Each warp reads what all have written.
template <class T>
__device__ T sum_by_all(T x, T *part)
{
    int t = threadIdx.x + blockDim.x * threadIdx.y, lane = t % 32, warps = blockDim.x * blockDim.y / 32;
    x = warp_sum(x);
    if (lane == 0)
        part[t / 32] = x;
    __syncthreads();
    return warp_sum(lane < warps ? part[lane] : T(0));
}

// Thread 0 tells the others.
template <class T>
__device__ T sum_by_one(T x, T *part, T *whole)
{
    int t = threadIdx.x + blockDim.x * threadIdx.y, lane = t % 32, warps = blockDim.x * blockDim.y / 32;
    x = warp_sum(x);
    if (lane == 0)
        part[t / 32] = x;
    __syncthreads();
    if (t == 0) {
        T sum = 0;
        for (int w = 0; w < warps; w++)
            sum += part[w];
        *whole = sum;
    }
    __syncthreads();
    return *whole;
}

template <class T, bool ONE>
__global__ void normalise(const T *in, T *out, int rounds)
{
    __shared__ T part[32], whole;
    int n = blockDim.x * blockDim.y, t = threadIdx.x + blockDim.x * threadIdx.y;
    T x = in[blockIdx.x * n + t];
    for (int i = 0; i < rounds; i++) {
        T mean = (ONE ? sum_by_one(x, part, &whole) : sum_by_all(x, part)) / n;
        T square = (x - mean) * (x - mean);
        T variance = (ONE ? sum_by_one(square, part, &whole) : sum_by_all(square, part)) / n;
        x = (x - mean) / sqrt(variance + T(1)) + T(t % 7);
    }
    out[blockIdx.x * n + t] = x;
}

template <class T>
static void expected(T *x, int n, int rounds)
{
    std::vector<double> v(x, x + n);
    for (int i = 0; i < rounds; i++) {
        double mean = 0, variance = 0;
        for (int t = 0; t < n; t++)
            mean += v[t] / n;
        for (int t = 0; t < n; t++)
            variance += (v[t] - mean) * (v[t] - mean) / n;
        for (int t = 0; t < n; t++)
            v[t] = (v[t] - mean) / sqrt(variance + 1) + t % 7;
    }
    for (int t = 0; t < n; t++)
        x[t] = T(v[t]);
}

template <class T, bool ONE>
static void run(const char *name, dim3 block, int rounds)
{
    enum { BLOCKS = 3 };
    int n = block.x * block.y;
    std::vector<T> in(BLOCKS * n), out(BLOCKS * n);
    T *d_in, *d_out;
    for (int i = 0; i < BLOCKS * n; i++)
        in[i] = T(i * 37 % 101) / 7;
    CHECK(cudaMalloc(&d_in, in.size() * sizeof(T)));
    CHECK(cudaMalloc(&d_out, in.size() * sizeof(T)));
    CHECK(cudaMemcpy(d_in, in.data(), in.size() * sizeof(T), cudaMemcpyHostToDevice));
    normalise<T, ONE><<<BLOCKS, block>>>(d_in, d_out, rounds);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out.data(), d_out, in.size() * sizeof(T), cudaMemcpyDeviceToHost));
    for (int b = 0; b < BLOCKS; b++)
        expected(&in[b * n], n, rounds);
    for (int i = 0; i < BLOCKS * n; i++)
        EXPECT(fabs(double(out[i] - in[i])) < 1e-4, "%s, block %u x %u: %d is %g, not %g", name, block.x, block.y, i,
               double(out[i]), double(in[i]));
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
}

// A warp whose lanes count on going in step: no barrier of the warp, and volatile memory.
__global__ void in_step(const int *in, int *out)
{
    __shared__ volatile int cell[256];
    int t = threadIdx.x, lane = t % 32;
    cell[t] = in[t];
    for (int o = 16; o; o /= 2)
        if (lane < o)
            cell[t] += cell[t + o];
    __syncthreads();
    out[t] = cell[t - lane] + lane;
}

static void run_in_step()
{
    enum { N = 256 };
    int in[N], out[N], sum = 0, *d_in, *d_out;
    for (int i = 0; i < N; i++)
        in[i] = i * i % 1000;
    CHECK(cudaMalloc(&d_in, sizeof in));
    CHECK(cudaMalloc(&d_out, sizeof out));
    CHECK(cudaMemcpy(d_in, in, sizeof in, cudaMemcpyHostToDevice));
    in_step<<<1, N>>>(d_in, d_out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) {
        sum = i % 32 ? sum : 0;
        for (int k = 0; k < 32 && i % 32 == 0; k++)
            sum += in[i + k];
        EXPECT(out[i] == sum + i % 32, "in step, %d: %d, not %d", i, out[i], sum + i % 32);
    }
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
}

// Who comes to the barriers depends on data: rows are skipped, and the array lies behind one whose size is an argument.
__global__ void products(const float *x, const float *y, const int *skip, float *out, int rows, int before)
{
    extern __shared__ float room[];
    float *part = room + before;
    int t = threadIdx.x, n = blockDim.x;
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        if (skip[row])
            continue;
        float sum = warp_sum(x[row * n + t] * y[row * n + t]);
        if (t % 32 == 0)
            part[t / 32] = sum;
        __syncthreads();
        if (t == 0)
            for (int w = 1; w < n / 32; w++)
                part[0] += part[w];
        __syncthreads();
        out[row * n + t] = part[0];
    }
}

static void run_products(int n)
{
    enum { ROWS = 70 };
    std::vector<float> x(ROWS * n), y(ROWS * n), out(ROWS * n);
    std::vector<int> skip(ROWS);
    float *d_x, *d_y, *d_out;
    int *d_skip;
    for (int i = 0; i < ROWS * n; i++) {
        x[i] = float(i * 7 % 13 - 6);
        y[i] = float(i * 11 % 17 - 8);
    }
    for (int row = 0; row < ROWS; row++)
        skip[row] = row % 5 == 3;
    CHECK(cudaMalloc(&d_x, x.size() * sizeof(float)));
    CHECK(cudaMalloc(&d_y, x.size() * sizeof(float)));
    CHECK(cudaMalloc(&d_out, x.size() * sizeof(float)));
    CHECK(cudaMalloc(&d_skip, ROWS * sizeof(int)));
    CHECK(cudaMemcpy(d_x, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_y, y.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_skip, skip.data(), ROWS * sizeof(int), cudaMemcpyHostToDevice));
    products<<<3, n, (n + 32) * sizeof(float)>>>(d_x, d_y, d_skip, d_out, ROWS, n);
    CHECK(cudaMemcpy(out.data(), d_out, x.size() * sizeof(float), cudaMemcpyDeviceToHost));
    for (int row = 0; row < ROWS; row++) {
        float sum = 0; // whole numbers: in any order the same
        for (int t = 0; t < n; t++)
            sum += x[row * n + t] * y[row * n + t];
        for (int t = 0; t < n && !skip[row]; t++)
            EXPECT(out[row * n + t] == sum, "products of %d, row %d: thread %d has %g, not %g", n, row, t,
                   double(out[row * n + t]), double(sum));
    }
    CHECK(cudaFree(d_x));
    CHECK(cudaFree(d_y));
    CHECK(cudaFree(d_out));
    CHECK(cudaFree(d_skip));
}

// A flag that all read at the loop's end, and thread 0 sets again at its begin.
__global__ void until_done(const int *steps, int *rounds)
{
    __shared__ int done;
    int i = blockIdx.x * blockDim.x + threadIdx.x, left = steps[i], n = 0;
    do {
        if (threadIdx.x == 0)
            done = 1;
        __syncthreads();
        if (left > 0) {
            left--;
            done = 0;
        }
        n++;
        __syncthreads();
    } while (!done);
    rounds[i] = n;
}

static void run_until_done()
{
    enum { BLOCKS = 6, N = 192 };
    std::vector<int> steps(BLOCKS * N), rounds(BLOCKS * N);
    int *d_steps, *d_rounds;
    for (int i = 0; i < BLOCKS * N; i++)
        steps[i] = i * 31 % (17 + i / N);
    CHECK(cudaMalloc(&d_steps, steps.size() * sizeof(int)));
    CHECK(cudaMalloc(&d_rounds, steps.size() * sizeof(int)));
    CHECK(cudaMemcpy(d_steps, steps.data(), steps.size() * sizeof(int), cudaMemcpyHostToDevice));
    until_done<<<BLOCKS, N>>>(d_steps, d_rounds);
    CHECK(cudaMemcpy(rounds.data(), d_rounds, steps.size() * sizeof(int), cudaMemcpyDeviceToHost));
    for (int b = 0; b < BLOCKS; b++) {
        int most = 0;
        for (int t = 0; t < N; t++)
            most = steps[b * N + t] > most ? steps[b * N + t] : most;
        for (int t = 0; t < N; t++)
            EXPECT(rounds[b * N + t] == most + 1, "until done, block %d: thread %d goes %d rounds, not %d", b, t,
                   rounds[b * N + t], most + 1);
    }
    CHECK(cudaFree(d_steps));
    CHECK(cudaFree(d_rounds));
}

int main()
{
    run_in_step();
    for (int n : { 64, 256, 1024 })
        run_products(n);
    run_until_done();
    const dim3 blocks[] = { 64, 256, 1024, dim3(32, 8), dim3(64, 4) };
    for (const dim3 &block : blocks) {
        run<float, false>("floats, by all", block, 1);
        run<double, false>("doubles, by all", block, 3);
        run<float, true>("floats, by one", block, 3);
        run<double, true>("doubles, by one", block, 1);
    }
    return check_done();
}
