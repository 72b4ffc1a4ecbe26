// Graphs built by hand: kernels, copies of one to three dimensions, fills, host functions, events, child graphs, allocations;
// edges and what can be asked about them; executable graphs launched many times, changed node by node and as a whole.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <string>
#include <vector>

#if CUDART_VERSION >= 13000
#define EDGES(from, to) from, to, nullptr
#else
#define EDGES(from, to) from, to
#endif

__constant__ int factor[2];

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

__global__ void by_constant(int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] *= factor[1];
}

struct Step {
    int *data;
    int n, a, b;
    void *args[4] = { &data, &n, &a, &b };
    cudaKernelNodeParams params{};
    Step(int *data_, int n_, int a_, int b_) : data(data_), n(n_), a(a_), b(b_)
    {
        params.func = (void *)axpb;
        params.gridDim = dim3((n + 127) / 128);
        params.blockDim = dim3(128);
        params.kernelParams = args;
    }
};

static void CUDART_CB count_up(void *arg) { ++*(int *)arg; }

static cudaGraphExec_t instantiate(cudaGraph_t graph)
{
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

// memset ─▶ kernel ─▶ add ─▶ copy out ─▶ host function
//        copy in ──────┘
static void diamond()
{
    const int n = 3000, launches = 100;
    std::vector<int> in(n), out(n);
    for (int i = 0; i < n; i++)
        in[i] = 3 * i;
    Dev<int> x(n), y(n);
    int calls = 0;
    cudaGraph_t graph;
    cudaGraphNode_t set, kernel, copy, sum, back, call;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaMemsetParams fill{};
    fill.dst = x;
    fill.value = 7;
    fill.elementSize = 4;
    fill.width = n;
    fill.height = 1;
    CHECK(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &fill));
    {
        Step step(x, n, 5, 1); // its arguments are copied: they are gone when the graph runs
        CHECK(cudaGraphAddKernelNode(&kernel, graph, &set, 1, &step.params));
    }
    CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, y, in.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    int *px = x, *py = y, count = n;
    void *args[] = { &px, &py, &px, &count };
    cudaKernelNodeParams add_params{};
    add_params.func = (void *)add;
    add_params.gridDim = dim3((n + 63) / 64);
    add_params.blockDim = dim3(64);
    add_params.kernelParams = args;
    cudaGraphNode_t both[] = { kernel, copy };
    CHECK(cudaGraphAddKernelNode(&sum, graph, both, 2, &add_params));
    CHECK(cudaGraphAddMemcpyNode1D(&back, graph, &sum, 1, out.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost));
    cudaHostNodeParams host = { count_up, &calls };
    CHECK(cudaGraphAddHostNode(&call, graph, &back, 1, &host));

    size_t nodes = 0, roots = 0, edges = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    CHECK(cudaGraphGetRootNodes(graph, nullptr, &roots));
    CHECK(cudaGraphGetEdges(graph, EDGES(nullptr, nullptr), &edges));
    EXPECT(nodes == 6 && roots == 2 && edges == 5, "%zu nodes, %zu roots, %zu edges", nodes, roots, edges);
    cudaGraphNodeType type;
    CHECK(cudaGraphNodeGetType(back, &type));
    EXPECT(type == cudaGraphNodeTypeMemcpy, "type %d", (int)type);
    cudaKernelNodeParams told;
    CHECK(cudaGraphKernelNodeGetParams(kernel, &told));
    EXPECT(told.func == (void *)axpb && told.blockDim.x == 128 && *(int *)told.kernelParams[2] == 5,
           "kernel node reads otherwise");

    cudaGraphExec_t exec = instantiate(graph);
    CHECK(cudaGraphDestroy(graph)); // the executable does not need it
    cudaStream_t s;
    CHECK(cudaStreamCreate(&s));
    for (int k = 0; k < launches; k++) {
        in[k] = -k; // read at each launch
        CHECK(cudaGraphLaunch(exec, k % 2 ? s : nullptr));
        CHECK(cudaDeviceSynchronize());
        EXPECT(calls == k + 1 && out[k] == 36 - k && out[n - 1] == 36 + in[n - 1], "launch %d: %d calls, %d", k, calls, out[k]);
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaStreamDestroy(s));
}

// A graph is ordered between what its stream was given before and after, and behind its own last launch on another stream.
static void order()
{
    const int n = 1 << 16;
    Dev<int> d(n);
    std::vector<int> out(n);
    cudaGraph_t graph;
    cudaGraphNode_t first, second;
    CHECK(cudaGraphCreate(&graph, 0));
    Step a(d, n, 3, 1), b(d, n, 5, 2);
    CHECK(cudaGraphAddKernelNode(&second, graph, nullptr, 0, &b.params));
    CHECK(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &a.params));
    CHECK(cudaGraphAddDependencies(graph, EDGES(&first, &second), 1)); // against the order of adding
    cudaGraphExec_t exec = instantiate(graph);
    cudaStream_t s[2];
    for (auto &stream : s)
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMemsetAsync(d, 0, n * sizeof(int), s[0]));
    axpb<<<(n + 127) / 128, 128, 0, s[0]>>>(d, n, 1, 1);
    int want = 1;
    for (int k = 0; k < 20; k++) {
        CHECK(cudaGraphLaunch(exec, s[k % 2]));
        want = (want * 3 + 1) * 5 + 2;
    }
    axpb<<<(n + 127) / 128, 128, 0, s[1]>>>(d, n, 1, 4);
    want += 4;
    CHECK(cudaMemcpyAsync(out.data(), d, n * sizeof(int), cudaMemcpyDeviceToHost, s[1]));
    CHECK(cudaStreamSynchronize(s[1]));
    for (int i = 0; i < n; i++)
        EXPECT(out[i] == want, "order i=%d: %d, expected %d", i, out[i], want);
    for (auto &stream : s)
        CHECK(cudaStreamDestroy(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

static void changes()
{
    const int n = 500;
    Dev<int> d(n), e(n);
    std::vector<int> out(n);
    cudaGraph_t graph, other;
    cudaGraphNode_t set, kernel, copy;
    cudaMemsetParams fill{};
    fill.dst = d;
    fill.elementSize = 4;
    fill.width = n;
    fill.height = 1;
    Step step(d, n, 2, 10);
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &fill));
    CHECK(cudaGraphAddKernelNode(&kernel, graph, &set, 1, &step.params));
    CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, out.data(), d, n * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaGraphClone(&other, graph));
    cudaGraphExec_t exec = instantiate(graph);
    auto run = [&](int want) {
        CHECK(cudaGraphLaunch(exec, 0));
        CHECK(cudaDeviceSynchronize());
        EXPECT(out[0] == want && out[n - 1] == want, "%d, expected %d", out[0], want);
    };
    run(10);
    step.b = 11;
    CHECK(cudaGraphExecKernelNodeSetParams(exec, kernel, &step.params));
    run(11);
    fill.value = 4;
    CHECK(cudaGraphExecMemsetNodeSetParams(exec, set, &fill));
    run(19);
    step.b = 100; // the graph's own node: the executable stays as it is
    CHECK(cudaGraphKernelNodeSetParams(kernel, &step.params));
    run(19);
    CHECK(cudaGraphNodeSetEnabled(exec, kernel, 0));
    run(4);
    unsigned enabled = 1;
    CHECK(cudaGraphNodeGetEnabled(exec, kernel, &enabled));
    EXPECT(!enabled, "the node is enabled");
    CHECK(cudaGraphNodeSetEnabled(exec, kernel, 1));
    run(19);

    // The clone, changed, as an update of the whole.
    cudaGraphNode_t in_clone;
    CHECK(cudaGraphNodeFindInClone(&in_clone, kernel, other));
    Step elsewhere(d, n, 1, -3);
    CHECK(cudaGraphKernelNodeSetParams(in_clone, &elsewhere.params));
#if CUDART_VERSION >= 12000
    cudaGraphExecUpdateResultInfo info;
    CHECK(cudaGraphExecUpdate(exec, other, &info));
    EXPECT(info.result == cudaGraphExecUpdateSuccess, "update: %d", (int)info.result);
    run(-3);
    cudaGraphNode_t extra;
    CHECK(cudaGraphAddEmptyNode(&extra, other, nullptr, 0));
    CHECK_ERR(cudaGraphExecUpdate(exec, other, &info), cudaErrorGraphExecUpdateFailure);
    EXPECT(info.result == cudaGraphExecUpdateErrorTopologyChanged, "update: %d", (int)info.result);
    cudaGetLastError();
    run(-3);
#endif
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphDestroy(other));
}

static void shapes()
{
    const int w = 40, h = 6, z = 3;
    cudaPitchedPtr box;
    CHECK(cudaMalloc3D(&box, make_cudaExtent(w, h, z)));
    std::vector<unsigned char> in(w * h * z), out(w * h * z, 1);
    for (size_t i = 0; i < in.size(); i++)
        in[i] = (unsigned char)(i * 7);
    cudaGraph_t graph;
    cudaGraphNode_t set, to, from;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaMemsetParams fill{};
    fill.dst = box.ptr;
    fill.pitch = box.pitch;
    fill.value = 0xee;
    fill.elementSize = 1;
    fill.width = w;
    fill.height = h;
    cudaMemcpy3DParms copy{};
    copy.srcPtr = make_cudaPitchedPtr(in.data(), w, w, h);
    copy.dstPtr = box;
    copy.dstPos = make_cudaPos(0, 0, 1);
    copy.extent = make_cudaExtent(w, h, z - 1);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &fill));
    CHECK(cudaGraphAddMemcpyNode(&to, graph, nullptr, 0, &copy));
    cudaMemcpy3DParms told{};
    CHECK(cudaGraphMemcpyNodeGetParams(to, &told));
    EXPECT(told.dstPos.z == 1 && told.srcPtr.ptr == in.data() && told.kind == cudaMemcpyHostToDevice &&
               told.extent.depth == z - 1,
           "the copy reads otherwise");
    copy = cudaMemcpy3DParms{};
    copy.srcPtr = box;
    copy.dstPtr = make_cudaPitchedPtr(out.data(), w, w, h);
    copy.extent = make_cudaExtent(w, h, z);
    copy.kind = cudaMemcpyDeviceToHost;
    cudaGraphNode_t both[] = { set, to };
    CHECK(cudaGraphAddMemcpyNode(&from, graph, both, 2, &copy));
    cudaGraphExec_t exec = instantiate(graph);
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < w * h * z; i++) {
        int want = i < w * h ? 0xee : in[i - w * h];
        EXPECT(out[i] == want, "shapes %d: %d, expected %d", i, out[i], want);
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(box.ptr));
}

// A child graph is a copy of what it was made from; its own can be asked for and changed before it is instantiated.
static void children()
{
    const int n = 300;
    Dev<int> d(n);
    std::vector<int> out(n), two = { 9, 2 };
    cudaGraph_t inner, outer, own;
    cudaGraphNode_t a, b, child, set, symbol, scale, back;
    CHECK(cudaGraphCreate(&inner, 0));
    Step first(d, n, 1, 5), second(d, n, 3, 0);
    CHECK(cudaGraphAddKernelNode(&a, inner, nullptr, 0, &first.params));
    CHECK(cudaGraphAddKernelNode(&b, inner, &a, 1, &second.params));
    CHECK(cudaGraphCreate(&outer, 0));
    cudaMemsetParams fill{};
    fill.dst = d;
    fill.elementSize = 1;
    fill.width = n * sizeof(int);
    fill.height = 1;
    CHECK(cudaGraphAddMemsetNode(&set, outer, nullptr, 0, &fill));
    CHECK(cudaGraphAddChildGraphNode(&child, outer, &set, 1, inner));
    CHECK(cudaGraphAddMemcpyNodeToSymbol(&symbol, outer, &child, 1, factor, two.data(), 2 * sizeof(int), 0,
                                         cudaMemcpyHostToDevice));
    int *p = d, count = n;
    void *args[] = { &p, &count };
    cudaKernelNodeParams params{};
    params.func = (void *)by_constant;
    params.gridDim = dim3(3);
    params.blockDim = dim3(100);
    params.kernelParams = args;
    CHECK(cudaGraphAddKernelNode(&scale, outer, &symbol, 1, &params));
    CHECK(cudaGraphAddMemcpyNode1D(&back, outer, &scale, 1, out.data(), d, n * sizeof(int), cudaMemcpyDefault));
    CHECK(cudaGraphChildGraphNodeGetGraph(child, &own));
    EXPECT(own != inner, "the child is no copy");
    CHECK_ERR(cudaGraphDestroy(own), cudaErrorInvalidValue);
    cudaGetLastError();
    cudaGraphExec_t exec = instantiate(outer);
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaDeviceSynchronize());
    EXPECT(out[0] == 30 && out[n - 1] == 30, "child: %d", out[0]);
    first.b = 7; // in the first graph: as a child's new parameters
    CHECK(cudaGraphKernelNodeSetParams(a, &first.params));
    CHECK(cudaGraphExecChildGraphNodeSetParams(exec, child, inner));
    two[1] = -1;
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaDeviceSynchronize());
    EXPECT(out[0] == -21, "child with new parameters: %d", out[0]);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(outer));
    CHECK(cudaGraphDestroy(inner));
}

static void events()
{
    const int n = 1000;
    Dev<int> d(n);
    d.fill(0);
    std::vector<int> out(n);
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    cudaGraph_t graph;
    cudaGraphNode_t a, k, b, w;
    CHECK(cudaGraphCreate(&graph, 0));
    Step step(d, n, 1, 1);
    CHECK(cudaGraphAddEventRecordNode(&a, graph, nullptr, 0, begin));
    CHECK(cudaGraphAddKernelNode(&k, graph, &a, 1, &step.params));
    CHECK(cudaGraphAddEventRecordNode(&b, graph, &k, 1, end));
    CHECK(cudaGraphAddEventWaitNode(&w, graph, &b, 1, begin));
    cudaEvent_t told = nullptr;
    CHECK(cudaGraphEventRecordNodeGetEvent(b, &told));
    EXPECT(told == end, "another event");
    cudaGraphExec_t exec = instantiate(graph);
    cudaStream_t s, t;
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    CHECK(cudaGraphLaunch(exec, s));
    CHECK(cudaStreamWaitEvent(t, end, 0));
    CHECK(cudaMemcpyAsync(out.data(), d, n * sizeof(int), cudaMemcpyDeviceToHost, t));
    CHECK(cudaStreamSynchronize(t));
    EXPECT(out[n - 1] == 1, "events: %d", out[n - 1]);
    float ms = -1;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    EXPECT(ms >= 0 && ms < 30000, "%g ms", ms);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(s));
    CHECK(cudaStreamDestroy(t));
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
}

static void allocations()
{
    const int n = 700;
    std::vector<int> out(n);
    cudaGraph_t graph;
    cudaGraphNode_t alloc, set, kernel, back, release;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaMemAllocNodeParams params{};
    params.poolProps.allocType = cudaMemAllocationTypePinned;
    params.poolProps.location.type = cudaMemLocationTypeDevice;
    params.bytesize = n * sizeof(int);
    CHECK(cudaGraphAddMemAllocNode(&alloc, graph, nullptr, 0, &params));
    EXPECT(params.dptr != nullptr, "no address");
    cudaMemsetParams fill{};
    fill.dst = params.dptr;
    fill.value = 2;
    fill.elementSize = 4;
    fill.width = n;
    fill.height = 1;
    CHECK(cudaGraphAddMemsetNode(&set, graph, &alloc, 1, &fill));
    Step step((int *)params.dptr, n, 10, 1);
    CHECK(cudaGraphAddKernelNode(&kernel, graph, &set, 1, &step.params));
    CHECK(cudaGraphAddMemcpyNode1D(&back, graph, &kernel, 1, out.data(), params.dptr, n * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaGraphAddMemFreeNode(&release, graph, &back, 1, params.dptr));
    void *freed = nullptr;
    CHECK(cudaGraphMemFreeNodeGetParams(release, &freed));
    EXPECT(freed == params.dptr, "frees %p", freed);
    cudaGraph_t clone;
    CHECK_ERR(cudaGraphClone(&clone, graph), cudaErrorInvalidValue);
    cudaGraphExec_t exec = instantiate(graph), second;
    CHECK_ERR(cudaGraphInstantiateWithFlags(&second, graph, 0), cudaErrorInvalidValue);
    cudaGetLastError();
    for (int k = 0; k < 5; k++) {
        out[0] = 0;
        CHECK(cudaGraphLaunch(exec, 0));
        CHECK(cudaDeviceSynchronize());
        EXPECT(out[0] == 21 && out[n - 1] == 21, "allocation: %d", out[0]);
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    unsigned long long used = 1;
    CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
    EXPECT(used == 0, "%llu bytes in use", used);
}

static int destroyed;
static void CUDART_CB on_destroy(void *) { destroyed++; }

static void user_objects()
{
    cudaUserObject_t object;
    cudaGraph_t graph;
    cudaGraphNode_t node;
    CHECK(cudaUserObjectCreate(&object, nullptr, on_destroy, 1, cudaUserObjectNoDestructorSync));
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddEmptyNode(&node, graph, nullptr, 0));
    CHECK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    cudaGraphExec_t exec = instantiate(graph);
    CHECK(cudaGraphDestroy(graph));
    EXPECT(destroyed == 0, "destroyed while an executable graph holds it");
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaDeviceSynchronize());
    EXPECT(destroyed == 1, "destroyed %d times", destroyed);
}

static void errors()
{
    cudaGraph_t graph, other;
    cudaGraphNode_t a, b, c, stranger;
    cudaGraphExec_t exec;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphCreate(&other, 0));
    CHECK(cudaGraphAddEmptyNode(&stranger, other, nullptr, 0));
    CHECK(cudaGraphAddEmptyNode(&a, graph, nullptr, 0));
    CHECK(cudaGraphAddEmptyNode(&b, graph, &a, 1));
    CHECK_ERR(cudaGraphAddEmptyNode(&c, graph, &stranger, 1), cudaErrorInvalidValue);
    cudaGraphNode_t twice[] = { a, a };
    CHECK_ERR(cudaGraphAddEmptyNode(&c, graph, twice, 2), cudaErrorInvalidValue);
    CHECK_ERR(cudaGraphAddDependencies(graph, EDGES(&a, &b), 1), cudaErrorInvalidValue); // there already
    CHECK_ERR(cudaGraphAddDependencies(graph, EDGES(&a, &a), 1), cudaErrorInvalidValue);
    CHECK_ERR(cudaGraphRemoveDependencies(graph, EDGES(&b, &a), 1), cudaErrorInvalidValue);
    CHECK(cudaGraphAddDependencies(graph, EDGES(&b, &a), 1)); // a cycle
    CHECK_ERR(cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaErrorInvalidValue);
    CHECK(cudaGraphRemoveDependencies(graph, EDGES(&b, &a), 1));
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK_ERR(cudaGraphExecDestroy(exec), cudaErrorInvalidValue);
    CHECK_ERR(cudaGraphLaunch(exec, 0), cudaErrorInvalidValue);
    Dev<int> d(10);
    Step step(d, 10, 1, 1);
    step.params.blockDim = dim3(4096);
    CHECK_ERR(cudaGraphAddKernelNode(&c, graph, nullptr, 0, &step.params), cudaErrorInvalidConfiguration);
    CHECK_ERR(cudaGraphAddMemcpyNode1D(&c, graph, nullptr, 0, d, d + 8, 100, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
    CHECK(cudaGraphDestroyNode(a));
    size_t n = 0;
    CHECK(cudaGraphGetRootNodes(graph, nullptr, &n));
    EXPECT(n == 1, "%zu roots", n);
    CHECK_ERR(cudaGraphDestroyNode(a), cudaErrorInvalidValue);
    CHECK(cudaGraphDestroy(graph));
    CHECK_ERR(cudaGraphDestroy(graph), cudaErrorInvalidValue);
    CHECK(cudaGraphDestroy(other));
    cudaGetLastError();
}

int main()
{
    diamond();
    order();
    changes();
    shapes();
    children();
    events();
    allocations();
    user_objects();
    errors();
    return check_done();
}
