// Conditional nodes of graphs: if, if and else, while, switch, one in another, in child graphs, filled by hand and by capture;
// values that kernels set, that begin anew with each launch and that do not; launches beside work in their stream and others.
// needs: -rdc=true
// link: -lcudadevrt
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <tuple>
#include <vector>

#if CUDART_VERSION >= 12040
#if CUDART_VERSION >= 13000
#define NO_EDGES NULL, NULL
#else
#define NO_EDGES NULL
#endif

typedef cudaGraphConditionalHandle Handle;

__global__ void count(int *n, Handle h, int limit)
{
    cudaGraphSetConditional(h, ++*n < limit);
}

__global__ void set(Handle h, unsigned value)
{
    cudaGraphSetConditional(h, value);
}

__global__ void set_from(Handle h, const int *value)
{
    cudaGraphSetConditional(h, *value);
}

__global__ void add(int *n, int what)
{
    *n += what;
}

/* n = n * 10 + what: tells in which order things were done. */
__global__ void note(int *n, int what)
{
    *n = *n * 10 + what;
}

static Handle handle(cudaGraph_t graph, unsigned initial, bool assign)
{
    Handle h;
    CHECK(cudaGraphConditionalHandleCreate(&h, graph, initial, assign ? cudaGraphCondAssignDefault : 0));
    return h;
}

static cudaError_t try_node(cudaGraph_t graph, Handle h, cudaGraphConditionalNodeType type, unsigned size,
                            std::vector<cudaGraphNode_t> after, std::vector<cudaGraph_t> *ret, cudaGraphNode_t *ret_node)
{
    cudaGraphNodeParams p = { cudaGraphNodeTypeConditional };
    p.conditional.handle = h;
    p.conditional.type = type;
    p.conditional.size = size;
#if CUDART_VERSION >= 13000
    cudaError_t error = cudaGraphAddNode(ret_node, graph, after.data(), NULL, after.size(), &p);
#else
    cudaError_t error = cudaGraphAddNode(ret_node, graph, after.data(), after.size(), &p);
#endif
    if (error == cudaSuccess)
        ret->assign(p.conditional.phGraph_out, p.conditional.phGraph_out + size);
    return error;
}

/* The node's graphs. */
static std::vector<cudaGraph_t> node(cudaGraph_t graph, Handle h, cudaGraphConditionalNodeType type, unsigned size = 1,
                                     std::vector<cudaGraphNode_t> after = {}, cudaGraphNode_t *ret_node = NULL)
{
    cudaGraphNode_t made;
    std::vector<cudaGraph_t> bodies;
    CHECK(try_node(graph, h, type, size, after, &bodies, ret_node ? ret_node : &made));
    return bodies;
}

template <typename... Types, typename... Args>
static cudaGraphNode_t kernel(cudaGraph_t graph, std::vector<cudaGraphNode_t> after, void (*fn)(Types...), Args... args)
{
    cudaGraphNode_t made;
    std::tuple<Types...> values(args...);
    void *pointers[sizeof...(Types)];
    std::apply([&](auto &...v) { size_t i = 0; ((pointers[i++] = &v), ...); }, values);
    cudaKernelNodeParams p = { (void *)fn, dim3(1), dim3(1), 0, pointers, NULL };
    CHECK(cudaGraphAddKernelNode(&made, graph, after.data(), after.size(), &p));
    return made;
}

static int value(const Dev<int> &n)
{
    int v;
    n.get(&v);
    return v;
}

static cudaGraphExec_t instantiate(cudaGraph_t graph)
{
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0ull));
    return exec;
}

static int run(cudaGraph_t graph, const Dev<int> &n, int begin, int times = 1)
{
    cudaStream_t s;
    cudaGraphExec_t exec = instantiate(graph);
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaMemcpy(n, &begin, sizeof begin, cudaMemcpyHostToDevice));
    for (int i = 0; i < times; i++)
        CHECK(cudaGraphLaunch(exec, s));
    CHECK(cudaStreamSynchronize(s));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaStreamDestroy(s));
    return value(n);
}

struct Graph {
    cudaGraph_t graph;
    Graph() { CHECK(cudaGraphCreate(&graph, 0)); }
    ~Graph() { CHECK(cudaGraphDestroy(graph)); }
    operator cudaGraph_t() const { return graph; }
};

#define IS(got, want)                                                     \
    do {                                                                  \
        int got_ = (got);                                                 \
        EXPECT(got_ == (want), "%s: got %d, expected %d", #got, got_, (int)(want)); \
    } while (0)

static void ifs(const Dev<int> &n)
{
    for (unsigned v : { 0u, 1u, 7u }) {
        Graph one, both;
        Handle h = handle(one, v, true), k = handle(both, v, true);
        kernel(node(one, h, cudaGraphCondTypeIf)[0], {}, add, (int *)n, 5);
        IS(run(one, n, 1), v ? 6 : 1);
        auto bodies = node(both, k, cudaGraphCondTypeIf, 2);
        kernel(bodies[0], {}, add, (int *)n, 5);
        kernel(bodies[1], {}, add, (int *)n, 50);
        IS(run(both, n, 1), v ? 6 : 51);
    }
}

/* A kernel before the node decides; what is before and behind stays there. */
static void decided(const Dev<int> &n)
{
    for (int v : { 0, 1 }) {
        Graph g;
        cudaGraphNode_t chosen;
        Handle h = handle(g, !v, true);
        cudaGraphNode_t first = kernel(g, {}, note, (int *)n, 1), second = kernel(g, { first }, set, h, v);
        auto bodies = node(g, h, cudaGraphCondTypeIf, 2, { second }, &chosen);
        kernel(bodies[0], { kernel(bodies[0], {}, note, (int *)n, 2) }, note, (int *)n, 3);
        kernel(bodies[1], {}, note, (int *)n, 4);
        kernel(g, { chosen }, note, (int *)n, 5);
        IS(run(g, n, 0), v ? 1235 : 145);
    }
}

static void whiles(const Dev<int> &n)
{
    Graph g, never;
    Handle h = handle(g, 1, true), k = handle(never, 0, true);
    kernel(node(g, h, cudaGraphCondTypeWhile)[0], {}, count, (int *)n, h, 10);
    IS(run(g, n, 0), 10);
    IS(run(g, n, 0, 3), 12); /* each launch goes round once at least */
    kernel(node(never, k, cudaGraphCondTypeWhile)[0], {}, add, (int *)n, 1);
    IS(run(never, n, 0), 0);
}

/* Without a value for each launch a kernel says it, before the node comes.  (One that nobody has said is a failed launch on a
 * card; here it is the first one given.) */
static void said_first(const Dev<int> &n)
{
    Graph g;
    Handle h = handle(g, 0, false);
    auto body = node(g, h, cudaGraphCondTypeIf, 1, { kernel(g, {}, set, h, 1) })[0];
    kernel(body, { kernel(body, {}, add, (int *)n, 1) }, set, h, 0);
    IS(run(g, n, 0, 4), 4);
}

static void switches(const Dev<int> &n)
{
    for (unsigned v = 0; v < 6; v++) {
        Graph g;
        Handle h = handle(g, v, true);
        auto bodies = node(g, h, cudaGraphCondTypeSwitch, 4);
        for (int i = 0; i < 4; i++)
            kernel(bodies[i], {}, add, (int *)n, 10 + i);
        IS(run(g, n, 0), v < 4 ? (int)(10 + v) : 0);
    }
}

/* A loop in a loop in an if; rounds counted in two places. */
static void nested(const Dev<int> &n)
{
    Graph g;
    Dev<int> outer(1), inner(1);
    Handle top = handle(g, 1, true), around = handle(g, 1, true), within = handle(g, 1, true);
    cudaGraphNode_t loop;
    auto first = node(g, top, cudaGraphCondTypeIf)[0];
    auto body = node(first, around, cudaGraphCondTypeWhile)[0];
    cudaGraphNode_t again = kernel(body, {}, set, within, 1);
    cudaMemsetParams zero = { inner.ptr, 0, 0, 4, 1, 1 };
    cudaGraphNode_t cleared;
    CHECK(cudaGraphAddMemsetNode(&cleared, body, &again, 1, &zero));
    auto round = node(body, within, cudaGraphCondTypeWhile, 1, { cleared }, &loop)[0];
    kernel(round, { kernel(round, {}, count, (int *)inner, within, 4) }, add, (int *)n, 1);
    kernel(body, { loop }, count, (int *)outer, around, 3);
    outer.fill(0);
    IS(run(g, n, 0), 12);
    IS(value(outer), 3);
    IS(value(inner), 4);
}

static void captured(const Dev<int> &n)
{
    Graph g;
    cudaStream_t s;
    Handle h = handle(g, 1, true);
    auto body = node(g, h, cudaGraphCondTypeWhile)[0];
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaStreamBeginCaptureToGraph(s, body, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
    add<<<1, 1, 0, s>>>(n, 2);
    count<<<1, 1, 0, s>>>(n, h, 30);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamEndCapture(s, NULL));
    CHECK(cudaStreamDestroy(s));
    IS(run(g, n, 0), 30);

    Graph around; /* in a child graph, which CUDA 13.0 refuses, and in one that a launch was captured into */
    cudaGraphNode_t child;
    cudaGraphExec_t exec = instantiate(g);
    cudaGraph_t whole;
    CHECK(cudaGraphAddChildGraphNode(&child, around, NULL, 0, g));
    kernel(around, { child }, note, (int *)n, 7);
    IS(run(around, n, 0), 307);
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    CHECK(cudaGraphLaunch(exec, s));
    note<<<1, 1, 0, s>>>(n, 8);
    CHECK_ERR(cudaStreamEndCapture(s, NULL), cudaErrorInvalidValue); /* this graph would be nobody's */
    (void)cudaGetLastError();
    CHECK(cudaStreamEndCapture(s, &whole));
    IS(run(whole, n, 0), 308);
    CHECK(cudaGraphDestroy(whole));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaStreamDestroy(s));
}

/* In the order of the stream, of the legacy stream and of events, with no wait between. */
static void ordered(const Dev<int> &n)
{
    Graph g;
    Handle h = handle(g, 1, true);
    cudaStream_t s, t;
    cudaEvent_t event;
    auto body = node(g, h, cudaGraphCondTypeWhile)[0];
    kernel(body, {}, count, (int *)n, h, 50);
    cudaGraphExec_t exec = instantiate(g);
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&event));
    n.fill(0);
    for (int i = 0; i < 20; i++) {
        add<<<1, 1, 0, s>>>(n, 1);      /* i + 1 more than 50 * i */
        CHECK(cudaGraphLaunch(exec, s)); /* up to 50, or one more */
    }
    CHECK(cudaEventRecord(event, s));
    CHECK(cudaStreamWaitEvent(t, event, 0));
    note<<<1, 1, 0, t>>>(n, 3);
    CHECK(cudaStreamSynchronize(t));
    IS(value(n), (50 + 2 * 19) * 10 + 3);
    n.fill(0);
    CHECK(cudaGraphLaunch(exec, 0));
    note<<<1, 1>>>(n, 4);
    CHECK(cudaGraphExecDestroy(exec)); /* while it runs */
    CHECK(cudaDeviceSynchronize());
    IS(value(n), 504);
    CHECK(cudaEventDestroy(event));
    CHECK(cudaStreamDestroy(s));
    CHECK(cudaStreamDestroy(t));
}

/* Values from memory, copies in a body; parameters of a body's kernel changed in the executable graph, and taken from another. */
static void changed(const Dev<int> &n)
{
    Graph g;
    Dev<int> choice(1), from(1);
    int one = 1, nine = 9;
    cudaGraphNode_t copy, kernel_node, set_node = NULL;
    Handle h = handle(g, 0, true);
    set_node = kernel(g, {}, set_from, h, (const int *)choice);
    auto body = node(g, h, cudaGraphCondTypeIf, 1, { set_node })[0];
    CHECK(cudaGraphAddMemcpyNode1D(&copy, body, NULL, 0, n, from, sizeof(int), cudaMemcpyDeviceToDevice));
    kernel_node = kernel(body, { copy }, add, (int *)n, 100);
    cudaGraphExec_t exec = instantiate(g);
    choice.put(&one);
    from.put(&nine);
    CHECK(cudaGraphLaunch(exec, 0));
    IS(value(n), 109);
    int *p = n, what = 200;
    void *args[] = { &p, &what };
    cudaKernelNodeParams other = { (void *)add, dim3(1), dim3(1), 0, args, NULL };
    CHECK(cudaGraphExecKernelNodeSetParams(exec, kernel_node, &other));
    CHECK(cudaGraphLaunch(exec, 0));
    IS(value(n), 209);
    what = 300;
    CHECK(cudaGraphKernelNodeSetParams(kernel_node, &other));
    cudaGraphExecUpdateResultInfo info;
    CHECK(cudaGraphExecUpdate(exec, g, &info));
    CHECK(cudaGraphLaunch(exec, 0));
    IS(value(n), 309);
    CHECK(cudaGraphExecDestroy(exec));
}

static void wrong()
{
    Graph g;
    Handle h = handle(g, 0, true), none;
    std::vector<cudaGraph_t> bodies;
    cudaGraphNode_t made;
    CHECK_ERR(cudaGraphConditionalHandleCreate(&none, g, 0, 2), cudaErrorInvalidValue);
    CHECK_ERR(cudaGraphConditionalHandleCreate(NULL, g, 0, 0), cudaErrorInvalidValue);
    CHECK_ERR(try_node(g, h, cudaGraphCondTypeIf, 0, {}, &bodies, &made), cudaErrorInvalidValue);
    CHECK_ERR(try_node(g, h, cudaGraphCondTypeIf, 3, {}, &bodies, &made), cudaErrorInvalidValue);
    CHECK_ERR(try_node(g, h, cudaGraphCondTypeWhile, 2, {}, &bodies, &made), cudaErrorInvalidValue);
    CHECK_ERR(try_node(g, h, (cudaGraphConditionalNodeType)9, 1, {}, &bodies, &made), cudaErrorInvalidValue);
    CHECK_ERR(try_node(g, h + 4, cudaGraphCondTypeIf, 1, {}, &bodies, &made), cudaErrorInvalidValue);
    bodies = node(g, h, cudaGraphCondTypeIf, 1, {}, &made);
    CHECK_ERR(cudaGraphDestroy(bodies[0]), cudaErrorInvalidValue); /* the node's */
    cudaGraphNodeType type;
    CHECK(cudaGraphNodeGetType(made, &type));
    IS(type, cudaGraphNodeTypeConditional);
    cudaHostNodeParams host = { [](void *) {}, NULL };
    cudaGraphExec_t exec;
    CHECK(cudaGraphAddHostNode(&made, bodies[0], NULL, 0, &host)); /* only work of a device may be there */
    CHECK_ERR(cudaGraphInstantiate(&exec, g, 0ull), cudaErrorInvalidValue);
}

int main()
{
    Dev<int> n(1);
    ifs(n);
    decided(n);
    whiles(n);
    said_first(n);
    switches(n);
    nested(n);
    captured(n);
    ordered(n);
    changed(n);
    wrong();
    return check_done();
}
#else
int main() { return check_done(); }
#endif
