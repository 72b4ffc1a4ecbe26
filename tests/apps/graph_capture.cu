// Stream capture: forks and joins over several streams, replay, updating by capturing again, kernels as nodes, memory allocated
// in a captured stream, the thread's own default stream, what is forbidden while a stream captures and what it does to the
// capture.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <thread>
#include <vector>

__global__ void axpb(int *data, int n, int a, int b)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] = data[i] * a + b;
}

__global__ void add(const int *x, const int *y, int *sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        sum[i] = x[i] + y[i];
}

struct Streams {
    cudaStream_t s[3];
    cudaEvent_t fork, join[3];
    explicit Streams(unsigned flags)
    {
        for (int i = 0; i < 3; i++) {
            CHECK(cudaStreamCreateWithFlags(&s[i], flags));
            CHECK(cudaEventCreateWithFlags(&join[i], cudaEventDisableTiming));
        }
        CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    }
    ~Streams()
    {
        for (int i = 0; i < 3; i++) {
            cudaStreamDestroy(s[i]);
            cudaEventDestroy(join[i]);
        }
        cudaEventDestroy(fork);
    }
};

static void CUDART_CB count_up(void *arg) { ++*(int *)arg; }

static cudaGraphExec_t instantiate(cudaGraph_t graph)
{
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

// What is captured: x = 3 * 2 + b on one stream, y = in * 5 on another, x + y copied out.
static cudaGraph_t forked(Streams &st, int *x, int *y, const int *in, int *out, int n, int b, int *calls)
{
    cudaGraph_t graph;
    int blocks = (n + 127) / 128;
    CHECK(cudaStreamBeginCapture(st.s[0], cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(st.fork, st.s[0]));
    CHECK(cudaStreamWaitEvent(st.s[1], st.fork, 0));
    CHECK(cudaMemsetAsync(x, 0, n * sizeof(int), st.s[0]));
    axpb<<<blocks, 128, 0, st.s[0]>>>(x, n, 1, 3);
    axpb<<<blocks, 128, 0, st.s[0]>>>(x, n, 2, b);
    CHECK(cudaMemcpyAsync(y, in, n * sizeof(int), cudaMemcpyHostToDevice, st.s[1]));
    axpb<<<blocks, 128, 0, st.s[1]>>>(y, n, 5, 0);
    CHECK(cudaEventRecord(st.join[1], st.s[1]));
    cudaStreamCaptureStatus status;
    CHECK(cudaStreamIsCapturing(st.s[1], &status));
    EXPECT(status == cudaStreamCaptureStatusActive, "the second stream does not capture");
    CHECK(cudaStreamIsCapturing(st.s[2], &status));
    EXPECT(status == cudaStreamCaptureStatusNone, "the third stream captures");
    CHECK(cudaStreamWaitEvent(st.s[0], st.join[1], 0));
    add<<<blocks, 128, 0, st.s[0]>>>(x, y, x, n);
    CHECK(cudaMemcpyAsync(out, x, n * sizeof(int), cudaMemcpyDeviceToHost, st.s[0]));
    CHECK(cudaLaunchHostFunc(st.s[0], count_up, calls));
    CHECK(cudaGetLastError());
    CHECK(cudaStreamEndCapture(st.s[0], &graph));
    CHECK(cudaStreamIsCapturing(st.s[1], &status));
    EXPECT(status == cudaStreamCaptureStatusNone, "the second stream still captures");
    return graph;
}

static void fork_join()
{
    const int n = 5000;
    Streams st(cudaStreamNonBlocking);
    int *in, *out, *x, *y, calls = 0;
    CHECK(cudaMallocHost((void **)&in, n * sizeof(int)));
    CHECK(cudaMallocHost((void **)&out, n * sizeof(int)));
    CHECK(cudaMalloc((void **)&x, n * sizeof(int)));
    CHECK(cudaMalloc((void **)&y, n * sizeof(int)));
    memset(out, 0, n * sizeof(int));
    cudaGraph_t graph = forked(st, x, y, in, out, n, 10, &calls);
    CHECK(cudaDeviceSynchronize());
    EXPECT(calls == 0 && out[0] == 0, "captured work was done");

    size_t count = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &count));
    std::vector<cudaGraphNode_t> nodes(count);
    CHECK(cudaGraphGetNodes(graph, nodes.data(), &count));
    int kernels = 0, adds = 0;
    for (auto node : nodes) {
        cudaGraphNodeType type;
        CHECK(cudaGraphNodeGetType(node, &type));
        cudaKernelNodeParams params;
        if (type != cudaGraphNodeTypeKernel)
            continue;
        kernels++;
        CHECK(cudaGraphKernelNodeGetParams(node, &params));
        adds += params.func == (void *)add;
    }
    EXPECT(count == 8 && kernels == 4 && adds == 1, "%zu nodes, %d kernels, %d of add", count, kernels, adds);

    cudaGraphExec_t exec = instantiate(graph);
    for (int k = 0; k < 100; k++) {
        for (int i = 0; i < n; i++)
            in[i] = i + k;
        CHECK(cudaGraphLaunch(exec, st.s[k % 3]));
        CHECK(cudaStreamSynchronize(st.s[k % 3]));
        for (int i = 0; i < n; i += 999)
            EXPECT(out[i] == 16 + 5 * (i + k), "launch %d, i=%d: %d", k, i, out[i]);
    }
    EXPECT(calls == 100, "%d calls", calls);
    CHECK(cudaGraphDestroy(graph));

    // The same again with other numbers: the executable graph takes them over.
    graph = forked(st, x, y, in, out, n, 20, &calls);
#if CUDART_VERSION >= 12000
    cudaGraphExecUpdateResultInfo info;
    CHECK(cudaGraphExecUpdate(exec, graph, &info));
#else
    cudaGraphNode_t node;
    cudaGraphExecUpdateResult result;
    CHECK(cudaGraphExecUpdate(exec, graph, &node, &result));
#endif
    CHECK(cudaGraphLaunch(exec, st.s[0]));
    CHECK(cudaStreamSynchronize(st.s[0]));
    EXPECT(out[7] == 26 + 5 * in[7], "after the update: %d", out[7]);

    // A graph launched while its stream captures is a child of what is captured.
    cudaGraph_t outer;
    CHECK(cudaStreamBeginCapture(st.s[0], cudaStreamCaptureModeThreadLocal));
    CHECK(cudaGraphLaunch(exec, st.s[0]));
    CHECK(cudaGraphLaunch(exec, st.s[0]));
    CHECK(cudaStreamEndCapture(st.s[0], &outer));
    count = 0;
    CHECK(cudaGraphGetNodes(outer, nullptr, &count));
    cudaGraphExec_t twice = instantiate(outer);
    CHECK(cudaGraphLaunch(twice, 0));
    CHECK(cudaDeviceSynchronize());
    EXPECT(count == 2 && calls == 103, "%zu nodes, %d calls", count, calls);
    CHECK(cudaGraphExecDestroy(twice));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(outer));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    CHECK(cudaFreeHost(in));
    CHECK(cudaFreeHost(out));
}

static void memory_in_a_capture()
{
    const int n = 900;
    Streams st(cudaStreamDefault);
    std::vector<int> out(n);
    cudaGraph_t graph;
    int *p = nullptr;
    CHECK(cudaStreamBeginCapture(st.s[0], cudaStreamCaptureModeRelaxed));
    CHECK(cudaMallocAsync((void **)&p, n * sizeof(int), st.s[0]));
    CHECK(cudaMemsetAsync(p, 0, n * sizeof(int), st.s[0]));
    axpb<<<8, 128, 0, st.s[0]>>>(p, n, 1, 6);
    CHECK(cudaMemcpyAsync(out.data(), p, n * sizeof(int), cudaMemcpyDefault, st.s[0]));
    CHECK(cudaFreeAsync(p, st.s[0]));
    CHECK(cudaStreamEndCapture(st.s[0], &graph));
    cudaGraphExec_t exec = instantiate(graph);
    for (int k = 0; k < 3; k++) {
        out[n - 1] = 0;
        CHECK(cudaGraphLaunch(exec, st.s[1]));
        CHECK(cudaStreamSynchronize(st.s[1]));
        EXPECT(out[n - 1] == 6, "%d", out[n - 1]);
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

static void own_default_stream()
{
    Dev<int> d(10);
    d.fill(0);
    int out[10] = { 0 };
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeGlobal));
    axpb<<<1, 10, 0, cudaStreamPerThread>>>(d, 10, 1, 2);
    CHECK(cudaStreamEndCapture(cudaStreamPerThread, &graph));
    cudaGraphExec_t exec = instantiate(graph);
    for (int k = 0; k < 3; k++)
        CHECK(cudaGraphLaunch(exec, cudaStreamPerThread));
    CHECK(cudaDeviceSynchronize());
    d.get(out);
    EXPECT(out[9] == 6, "%d", out[9]);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

#if CUDART_VERSION >= 12030
static void into_a_graph()
{
    Streams st(cudaStreamNonBlocking);
    Dev<int> d(10);
    int out[10];
    cudaGraph_t graph, same;
    cudaGraphNode_t set;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaMemsetParams fill{};
    fill.dst = d;
    fill.value = 4;
    fill.elementSize = 4;
    fill.width = 10;
    fill.height = 1;
    CHECK(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &fill));
    CHECK(cudaStreamBeginCaptureToGraph(st.s[0], graph, &set, nullptr, 1, cudaStreamCaptureModeGlobal));
    axpb<<<1, 10, 0, st.s[0]>>>(d, 10, 2, 1);
    cudaGraphExec_t exec;
    CHECK_ERR(cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaErrorInvalidValue); // not before the end
    CHECK(cudaStreamEndCapture(st.s[0], &same));
    EXPECT(same == graph, "another graph");
    exec = instantiate(graph);
    CHECK(cudaGraphLaunch(exec, st.s[1]));
    CHECK(cudaStreamSynchronize(st.s[1]));
    d.get(out);
    EXPECT(out[0] == 9, "%d", out[0]);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    cudaGetLastError();
}
#endif

// Ends a capture that went wrong.
static void expect_invalid(cudaStream_t s, cudaError_t want)
{
    cudaGraph_t graph = (cudaGraph_t)1;
    CHECK_ERR(cudaStreamEndCapture(s, &graph), want);
    EXPECT(graph == nullptr, "a graph came of it");
    cudaStreamCaptureStatus status;
    CHECK(cudaStreamIsCapturing(s, &status));
    EXPECT(status == cudaStreamCaptureStatusNone, "still capturing");
    cudaGetLastError();
}

static void forbidden()
{
    Streams st(cudaStreamDefault), nb(cudaStreamNonBlocking);
    Dev<int> d(10);
    d.fill(0);
    cudaGraph_t graph;
    void *p = nullptr;
    int host[10];
    cudaStreamCaptureStatus status;
    cudaStream_t s = st.s[0], t = st.s[1];

    CHECK_ERR(cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
    CHECK_ERR(cudaStreamEndCapture(s, &graph), cudaErrorIllegalState);

    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal)); // waiting for a captured stream
    CHECK_ERR(cudaStreamSynchronize(s), cudaErrorStreamCaptureUnsupported);
    CHECK_ERR(cudaMemsetAsync(d, 0, 4, s), cudaErrorStreamCaptureInvalidated);
    CHECK(cudaStreamIsCapturing(s, &status));
    EXPECT(status == cudaStreamCaptureStatusInvalidated, "not invalidated");
    expect_invalid(s, cudaErrorStreamCaptureInvalidated);

    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal)); // a second beginning
    CHECK_ERR(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaErrorIllegalState);
    CHECK(cudaEventRecord(st.fork, s));
    CHECK(cudaStreamWaitEvent(t, st.fork, 0));
    axpb<<<1, 10, 0, t>>>(d, 10, 1, 1);
    expect_invalid(s, cudaErrorStreamCaptureUnjoined); // the fork never came back
    CHECK(cudaStreamIsCapturing(t, &status));
    EXPECT(status == cudaStreamCaptureStatusNone, "the fork still captures");

    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal)); // an end on another stream, which spoils it
    CHECK(cudaEventRecord(st.fork, s));
    CHECK(cudaStreamWaitEvent(t, st.fork, 0));
    CHECK_ERR(cudaStreamEndCapture(t, &graph), cudaErrorStreamCaptureUnmatched);
    expect_invalid(s, cudaErrorStreamCaptureInvalidated);
    CHECK(cudaStreamIsCapturing(t, &status));
    EXPECT(status == cudaStreamCaptureStatusNone, "the fork still captures");

    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal)); // the legacy stream waits for blocking streams
    CHECK_ERR(cudaMemset(d, 0, 4), cudaErrorStreamCaptureImplicit);
    CHECK_ERR(cudaStreamIsCapturing(0, &status), cudaErrorStreamCaptureImplicit);
    expect_invalid(s, cudaErrorStreamCaptureInvalidated);

    CHECK(cudaStreamBeginCapture(nb.s[0], cudaStreamCaptureModeRelaxed)); // but not for others
    CHECK(cudaMemset(d, 0, 4));
    CHECK(cudaMalloc(&p, 16)); // relaxed: allocating is allowed
    CHECK(cudaFree(p));
    CHECK(cudaStreamEndCapture(nb.s[0], &graph));
    CHECK(cudaGraphDestroy(graph));

    CHECK(cudaStreamBeginCapture(nb.s[0], cudaStreamCaptureModeThreadLocal));
    std::thread([&] { CHECK(cudaMalloc(&p, 16)); CHECK(cudaFree(p)); }).join(); // another thread's affair
    CHECK_ERR(cudaMalloc(&p, 16), cudaErrorStreamCaptureUnsupported);
    expect_invalid(nb.s[0], cudaErrorStreamCaptureInvalidated);

    CHECK(cudaStreamBeginCapture(nb.s[0], cudaStreamCaptureModeThreadLocal));
    CHECK_ERR(cudaFree(NULL), cudaErrorStreamCaptureUnsupported); // nothing to free does not make it safe
    expect_invalid(nb.s[0], cudaErrorStreamCaptureInvalidated);

    CHECK(cudaStreamBeginCapture(nb.s[0], cudaStreamCaptureModeGlobal)); // everybody's affair, unless they say otherwise
    std::thread([&] {
        cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal;
        CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
        EXPECT(mode == cudaStreamCaptureModeGlobal, "mode was %d", (int)mode);
        CHECK(cudaMalloc(&p, 16));
        CHECK(cudaFree(p));
        CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
        CHECK_ERR(cudaMalloc(&p, 16), cudaErrorStreamCaptureUnsupported);
    }).join();
    expect_invalid(nb.s[0], cudaErrorStreamCaptureInvalidated);

    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal)); // events from outside, and captured ones outside
    CHECK_ERR(cudaStreamWaitEvent(s, nb.join[0], 0), cudaErrorStreamCaptureIsolation);
    expect_invalid(s, cudaErrorStreamCaptureInvalidated);
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(st.fork, s));
    CHECK_ERR(cudaEventQuery(st.fork), cudaErrorCapturedEvent);
    expect_invalid(s, cudaErrorStreamCaptureInvalidated);
    CHECK(cudaEventRecord(st.fork, s)); // an ordinary event again
    CHECK(cudaEventSynchronize(st.fork));

    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal)); // two captures must not meet
    CHECK(cudaStreamBeginCapture(t, cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(st.fork, s));
    CHECK_ERR(cudaStreamWaitEvent(t, st.fork, 0), cudaErrorStreamCaptureMerge);
    expect_invalid(s, cudaErrorStreamCaptureInvalidated);
    expect_invalid(t, cudaErrorStreamCaptureInvalidated);

    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    std::thread([&] { CHECK_ERR(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureWrongThread); }).join();
    CHECK_ERR(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
    expect_invalid(s, cudaErrorStreamCaptureInvalidated);

    axpb<<<1, 10, 0, s>>>(d, 10, 0, 5); // and all goes on as before
    CHECK(cudaMemcpyAsync(host, d, sizeof host, cudaMemcpyDeviceToHost, s));
    CHECK(cudaStreamSynchronize(s));
    EXPECT(host[0] == 5, "%d", host[0]);
}

int main()
{
    fork_join();
    memory_in_a_capture();
    own_default_stream();
#if CUDART_VERSION >= 12030
    into_a_graph();
#endif
    forbidden();
    return check_done();
}
