// Streams and events: order within a stream, waiting across streams, timing, queries, priorities, host functions, async copies
// from pinned memory, and the legacy default stream's barrier against blocking streams.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <atomic>
#include <vector>

__global__ void scale(int *data, int n, int by, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int v = data[i];
        for (int r = 0; r < rounds; r++)
            v = v * by + r;
        data[i] = v;
    }
}

static int scaled(int v, int by, int rounds)
{
    for (int r = 0; r < rounds; r++)
        v = v * by + r;
    return v;
}

static int host_calls;

static void CUDART_CB on_host(void *arg)
{
    host_calls = host_calls * 10 + *(int *)arg;
}

static void across_streams()
{
    const int n = 5000;
    cudaStream_t s[3];
    cudaEvent_t done[3];
    int *host, *dev;
    CHECK(cudaMallocHost((void **)&host, 3 * n * sizeof(int)));
    CHECK(cudaMalloc((void **)&dev, 3 * n * sizeof(int)));
    for (int i = 0; i < 3 * n; i++)
        host[i] = i % 100;
    for (int k = 0; k < 3; k++) {
        CHECK(cudaStreamCreateWithFlags(&s[k], cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&done[k], cudaEventDisableTiming));
    }
    for (int k = 0; k < 3; k++) {
        CHECK(cudaMemcpyAsync(dev + k * n, host + k * n, n * sizeof(int), cudaMemcpyHostToDevice, s[k]));
        scale<<<(n + 127) / 128, 128, 0, s[k]>>>(dev + k * n, n, 3, 20 + k);
        CHECK(cudaEventRecord(done[k], s[k]));
    }
    CHECK(cudaStreamWaitEvent(s[0], done[1], 0));
    CHECK(cudaStreamWaitEvent(s[0], done[2], 0));
    scale<<<(3 * n + 127) / 128, 128, 0, s[0]>>>(dev, 3 * n, 5, 2);
    CHECK(cudaMemcpyAsync(host, dev, 3 * n * sizeof(int), cudaMemcpyDeviceToHost, s[0]));
    CHECK(cudaStreamSynchronize(s[0]));
    CHECK(cudaStreamQuery(s[0]));
    for (int i = 0; i < 3 * n; i++) {
        int want = scaled(scaled(i % 100, 3, 20 + i / n), 5, 2);
        EXPECT(host[i] == want, "i=%d: %d, expected %d", i, host[i], want);
    }
    for (int k = 0; k < 3; k++) {
        CHECK(cudaEventQuery(done[k]));
        CHECK(cudaEventDestroy(done[k]));
        CHECK(cudaStreamDestroy(s[k]));
    }
    CHECK(cudaFree(dev));
    CHECK(cudaFreeHost(host));
}

static void timing()
{
    const int n = 20000;
    std::vector<int> ones(n, 1);
    Dev<int> d(ones.data(), n);
    cudaEvent_t a, b, c;
    CHECK(cudaEventCreate(&a));
    CHECK(cudaEventCreate(&b));
    CHECK(cudaEventCreate(&c));
    scale<<<(n + 127) / 128, 128>>>(d, n, 3, 1);
    CHECK(cudaEventRecord(a));
    scale<<<(n + 127) / 128, 128>>>(d, n, 3, 50);
    CHECK(cudaEventRecord(b));
    scale<<<(n + 127) / 128, 128>>>(d, n, 3, 1);
    CHECK(cudaEventRecord(c));
    CHECK(cudaEventSynchronize(c));
    float ab, bc, ac;
    CHECK(cudaEventElapsedTime(&ab, a, b));
    CHECK(cudaEventElapsedTime(&bc, b, c));
    CHECK(cudaEventElapsedTime(&ac, a, c));
    EXPECT(ab > 0 && ab < 30000 && bc >= 0 && fabs(ab + bc - ac) < 0.01 + 0.001 * ac, "%g + %g against %g ms", ab, bc, ac);
    cudaEvent_t never;
    CHECK(cudaEventCreate(&never));
    EXPECT(cudaEventElapsedTime(&ab, a, never) == cudaErrorInvalidResourceHandle, "time to an event not recorded");
    cudaGetLastError();
    CHECK(cudaEventDestroy(never));
    CHECK(cudaEventDestroy(a));
    CHECK(cudaEventDestroy(b));
    CHECK(cudaEventDestroy(c));
}

static void host_functions()
{
    cudaStream_t s;
    int one = 1, two = 2, three = 3, least, greatest;
    CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    EXPECT(least >= greatest, "priorities %d to %d", least, greatest);
    CHECK(cudaStreamCreateWithPriority(&s, cudaStreamDefault, greatest));
    Dev<int> d(100);
    CHECK(cudaMemsetAsync(d, 0, 400, s));
    CHECK(cudaLaunchHostFunc(s, on_host, &one));
    scale<<<1, 100, 0, s>>>(d, 100, 2, 3);
    CHECK(cudaLaunchHostFunc(s, on_host, &two));
    CHECK(cudaLaunchHostFunc(s, on_host, &three));
    CHECK(cudaStreamSynchronize(s));
    EXPECT(host_calls == 123, "host functions ran as %d", host_calls);
    CHECK(cudaStreamDestroy(s));
}

static std::atomic<int> may_go;
static void CUDART_CB wait_to_go(void *)
{
    while (!may_go)
        ;
}

/* Asking too early is no failure. */
static void not_ready()
{
    cudaStream_t s;
    cudaEvent_t done;
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&done));
    CHECK(cudaLaunchHostFunc(s, wait_to_go, nullptr));
    CHECK(cudaEventRecord(done, s));
    CHECK_ERR(cudaStreamQuery(s), cudaErrorNotReady);
    CHECK_ERR(cudaEventQuery(done), cudaErrorNotReady);
    CHECK_ERR(cudaGetLastError(), cudaSuccess);
    may_go = 1;
    CHECK(cudaEventSynchronize(done));
    CHECK(cudaEventQuery(done));
    CHECK(cudaEventDestroy(done));
    CHECK(cudaStreamDestroy(s));
}

/* A blocking stream and the legacy default stream wait for each other without any event. */
static void legacy_default()
{
    const int n = 8000;
    cudaStream_t s;
    std::vector<int> zero(n, 0), out(n);
    Dev<int> d(zero.data(), n);
    CHECK(cudaStreamCreate(&s));
    for (int k = 0; k < 4; k++) {
        scale<<<(n + 127) / 128, 128, 0, s>>>(d, n, 2, 10);
        scale<<<(n + 127) / 128, 128>>>(d, n, 7, 3);
    }
    CHECK(cudaMemcpy(out.data(), d, n * sizeof(int), cudaMemcpyDeviceToHost));
    int want = 0;
    for (int k = 0; k < 4; k++)
        want = scaled(scaled(want, 2, 10), 7, 3);
    for (int i = 0; i < n; i++)
        EXPECT(out[i] == want, "legacy i=%d: %d, expected %d", i, out[i], want);
    CHECK(cudaStreamDestroy(s));
}

int main()
{
    across_streams();
    timing();
    host_functions();
    not_ready();
    legacy_default();
    return check_done();
}
