// Kernels that start kernels (dynamic parallelism): a sort that starts itself for its halves, a tree, streams and events of the
// device, copies and fills, parameters of many sizes, tails that start the next round, printf and dynamic shared memory in
// started kernels, shapes that are none, the deepest grid, thousands from one grid, from several streams at once, in a graph,
// from a stream of launches that nobody waits for, a kernel of another source, and those that tables have.
// needs: -rdc=true
// link: -lcudadevrt
// sources: nested_launches_other.cu
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <algorithm>
#include <vector>

extern __global__ void other_scale(int *x, int n, int by);

/* ---- A sort: each half of what a grid has parted is a grid's. */
__global__ void sort(int *x, int low, int high)
{
    if (high - low < 16) {
        for (int i = low + 1; i <= high; i++)
            for (int j = i; j > low && x[j - 1] > x[j]; j--) {
                int t = x[j];
                x[j] = x[j - 1];
                x[j - 1] = t;
            }
        return;
    }
    int pivot = x[(low + high) / 2], i = low, j = high;
    while (i <= j) {
        while (x[i] < pivot)
            i++;
        while (x[j] > pivot)
            j--;
        if (i <= j) {
            int t = x[i];
            x[i++] = x[j];
            x[j--] = t;
        }
    }
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (low < j)
        sort<<<1, 1, 0, stream>>>(x, low, j);
    if (i < high)
        sort<<<1, 1>>>(x, i, high);
    cudaStreamDestroy(stream);
}

static void check_sort(int n)
{
    std::vector<int> want(n), got(n);
    int *x;
    for (int i = 0; i < n; i++)
        want[i] = (int)((i * 2654435761u >> 7) % 1000u);
    CHECK(cudaMalloc(&x, n * sizeof *x));
    CHECK(cudaMemcpy(x, want.data(), n * sizeof *x, cudaMemcpyHostToDevice));
    sort<<<1, 1>>>(x, 0, n - 1);
    CHECK(cudaMemcpy(got.data(), x, n * sizeof *x, cudaMemcpyDeviceToHost)); /* waits for all of them */
    std::sort(want.begin(), want.end());
    EXPECT(got == want, "%d numbers are not sorted", n);
    CHECK(cudaFree(x));
}

/* ---- A tree of blocks: each thread of each block starts the next level, and parameters are structures. */
struct Place {
    char tag;
    double weight;
    int where[3];
};

__global__ void tree(Place p, int depth, unsigned long long *sum)
{
    extern __shared__ double room[];
    room[threadIdx.x] = p.weight + threadIdx.x;
    __syncthreads();
    double w = room[blockDim.x - 1 - threadIdx.x];
    atomicAdd(sum, (unsigned long long)(w + p.where[0] + 10 * p.where[1] + 100 * p.where[2]) + (p.tag == 'a' + depth));
    if (depth < 3) {
        Place next = { (char)(p.tag + 1), w, { (int)threadIdx.x, (int)blockIdx.x, depth } };
        tree<<<2, dim3(2 + depth), (2 + depth) * sizeof(double)>>>(next, depth + 1, sum);
    }
}

static unsigned long long tree_want(Place p, int depth, int blocks, int threads)
{
    unsigned long long sum = 0;
    for (int b = 0; b < blocks; b++)
        for (int t = 0; t < threads; t++) {
            double w = p.weight + threads - 1 - t;
            sum += (unsigned long long)(w + p.where[0] + 10 * p.where[1] + 100 * p.where[2]) + (p.tag == 'a' + depth);
            if (depth < 3)
                sum += tree_want({ (char)(p.tag + 1), w, { t, b, depth } }, depth + 1, 2, 2 + depth);
        }
    return sum;
}

/* ---- Order: what one block gives one stream, an event's record and wait, copies and fills, and what comes last. */
__global__ void set(int *x, int i, int v)
{
    if (threadIdx.x == 0)
        x[i] = v;
}
__global__ void twice(int *x, int i) { x[i] = 2 * x[i] + 1; }
__global__ void order(int *x)
{
    if (threadIdx.x == 7) {
        set<<<1, 32>>>(x, 0, 5);
        twice<<<1, 1, 0, cudaStreamTailLaunch>>>(x, 0); /* after all others: 2 * 23 + 1 */
        twice<<<1, 1>>>(x, 0);                          /* 11 */
        cudaStream_t a, b;
        cudaEvent_t done;
        cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
        cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
        set<<<1, 1, 0, a>>>(x, 1, 40);
        cudaEventRecord(done, a);
        cudaStreamWaitEvent(b, done, 0);
        twice<<<1, 1, 0, b>>>(x, 1); /* 81 */
        cudaMemcpyAsync(x + 2, x + 1, sizeof *x, cudaMemcpyDeviceToDevice, b);
        cudaMemsetAsync(x + 3, 0x11, 2 * sizeof *x, b);
        twice<<<1, 1, 0, b>>>(x, 4);
        cudaEventDestroy(done);
        cudaStreamDestroy(a);
        cudaStreamDestroy(b);
        twice<<<1, 1>>>(x, 0); /* 23 */
        other_scale<<<1, 8>>>(x + 8, 8, 3);
    }
    if (threadIdx.x < 8)
        x[8 + threadIdx.x] = threadIdx.x + 1;
}

/* ---- Rounds: each starts the next as its tail. */
__global__ void round_of(int *x, int left)
{
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        x[left % 7]++;
        if (left > 1)
            round_of<<<2, 32, 0, cudaStreamTailLaunch>>>(x, left - 1);
    }
}

/* ---- What cannot be started, and how deep it goes. */
__global__ void wrong(int *x)
{
    set<<<0, 1>>>(x, 0, 77);
    x[1] = cudaPeekAtLastError();
    x[2] = cudaGetLastError();
    x[3] = cudaGetLastError();
    set<<<1, dim3(64, 32, 1)>>>(x, 0, 78);
    x[4] = cudaGetLastError();
    set<<<1, 1024>>>(x, 5, 6);
    x[6] = cudaGetLastError();
}
__global__ void deep(int *x, int depth)
{
    x[0] = depth;
    deep<<<1, 1>>>(x, depth + 1);
    x[1] = cudaGetLastError();
}

/* ---- Many. */
__global__ void add_at(int *x, int i, int v) { atomicAdd(x + i, v); }
/* Which kernel is started stands in memory. */
typedef void (*Kernel)(int *, int, int);
__device__ Kernel in_memory[] = { set, add_at };
__constant__ Kernel in_constants[] = { add_at, set };
__global__ void by_table(int *x)
{
    for (int k = 0; k < 2; k++) {
        in_memory[k]<<<1, 1>>>(x, 2 * k, 5);
        in_constants[k]<<<1, 1>>>(x, 2 * k + 1, 5);
    }
}

__global__ void many(int *x, int v)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    add_at<<<1, 1>>>(x, t % 64, v);
    if (t % 3 == 0)
        add_at<<<dim3(1, 2, 1), 1, 0, cudaStreamFireAndForget>>>(x, t % 64, 1000 * v);
}

static void check_many(int *x, const char *what, int threads, long times, int v)
{
    int got[64];
    long sum = 0, want = 0;
    CHECK(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++)
        sum += got[i];
    for (int t = 0; t < threads; t++)
        want += v + (t % 3 == 0 ? 2000 * v : 0);
    EXPECT(sum == times * want, "%s: %ld, expected %ld", what, sum, times * want);
    CHECK(cudaMemset(x, 0, 64 * sizeof *x));
}

/* ---- What the device cannot know: that there is not so much shared memory. */
__global__ void too_much(int *x) { set<<<1, 1, 1 << 24>>>(x, 0, 1); }

int main()
{
    int *x, got[64];
    unsigned long long *sum, total;
    CHECK(cudaMalloc(&x, sizeof got));
    CHECK(cudaMalloc(&sum, sizeof *sum));
    check_sort(10);
    check_sort(500);

    Place root = { 'a', 1.5, { 1, 2, 3 } };
    CHECK(cudaMemset(sum, 0, sizeof *sum));
    tree<<<2, 3, 3 * sizeof(double)>>>(root, 0, sum);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(&total, sum, sizeof total, cudaMemcpyDeviceToHost));
    EXPECT(total == tree_want(root, 0, 2, 3), "tree: %llu, expected %llu", total, tree_want(root, 0, 2, 3));

    CHECK(cudaMemset(x, 0, sizeof got));
    order<<<1, 32>>>(x);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    const int ordered[] = { 47, 81, 81, 0x11111111, 0x22222223 };
    for (int i = 0; i < 5; i++)
        EXPECT(got[i] == ordered[i], "order: %d is %d, expected %d", i, got[i], ordered[i]);
    for (int i = 0; i < 8; i++)
        EXPECT(got[8 + i] == 3 * (i + 1), "order: other source's kernel made %d of %d", got[8 + i], i + 1);

    CHECK(cudaMemset(x, 0, sizeof got));
    round_of<<<2, 32>>>(x, 70);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 7; i++)
        EXPECT(got[i] == 10, "rounds: %d is %d, expected 10", i, got[i]);

    CHECK(cudaMemset(x, 0, sizeof got));
    wrong<<<1, 1>>>(x);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    const int errors[] = {
        0, cudaErrorInvalidConfiguration, cudaErrorInvalidConfiguration, 0, cudaErrorInvalidConfiguration, 6, 0
    };
    for (int i = 0; i < 7; i++)
        EXPECT(got[i] == errors[i], "wrong: %d is %d, expected %d", i, got[i], errors[i]);
    deep<<<1, 1>>>(x, 0);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(got, x, 2 * sizeof *got, cudaMemcpyDeviceToHost));
    EXPECT(got[0] == 24 && got[1] == cudaErrorLaunchMaxDepthExceeded, "deep: %d, error %d", got[0], got[1]);

    CHECK(cudaMemset(x, 0, sizeof got));
    by_table<<<1, 1>>>(x);
    by_table<<<1, 1>>>(x);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 4; i++)
        EXPECT(got[i] == (i == 0 || i == 3 ? 5 : 10), "by table: %d is %d", i, got[i]);

    CHECK(cudaMemset(x, 0, sizeof got));
    many<<<8, 128>>>(x, 3);
    check_many(x, "many", 1024, 1, 3);
    for (int i = 0; i < 4; i++)
        many<<<1, 96>>>(x, 3); /* nobody waits */
    check_many(x, "queued", 96, 4, 3);

    cudaStream_t streams[2];
    for (cudaStream_t &s : streams)
        CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    for (int i = 0; i < 6; i++)
        many<<<3, 32, 0, streams[i % 2]>>>(x, 1);
    CHECK(cudaDeviceSynchronize());
    check_many(x, "streams", 96, 6, 1);

    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
    many<<<1, 96, 0, streams[0]>>>(x, 2);
    CHECK(cudaStreamEndCapture(streams[0], &graph));
#if CUDART_VERSION >= 12000
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
#else
    CHECK(cudaGraphInstantiate(&exec, graph, NULL, NULL, 0));
#endif
    for (int i = 0; i < 3; i++)
        CHECK(cudaGraphLaunch(exec, streams[1]));
    CHECK(cudaStreamSynchronize(streams[1]));
    check_many(x, "graph", 96, 3, 2);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    too_much<<<1, 1>>>(x);
    CHECK(cudaGetLastError());
    CHECK_ERR(cudaDeviceSynchronize(), cudaErrorLaunchFailure); /* no started kernel is dropped in silence */
    return check_done();
}
