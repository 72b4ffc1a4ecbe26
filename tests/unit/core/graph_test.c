/* Graphs and capture through the driver API's bodies, over the recording provider: order, copies of parameters, what is held
 * while a launch runs, errors.  The provider cannot read pageable memory, so copies from and to it go through pinned memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/cuda_util.h"
#include "fake.h"

#define eq(a, b) cr_assert_eq((long long)(a), (long long)(b), "%s is %lld, not %s", #a, (long long)(a), #b)
#define ok(call) eq(call, CUDA_SUCCESS)

static CUcontext context;
static CUfunction add;
static CUmodule module;

static void start(void)
{
    setenv("ANYWARP_LOG", "err", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    fake_reset();
    fake.devices = 2;
    aw_core_test_provider(&fake_provider);
    ok(awcu_cuInit(0));
    ok(awcu_cuCtxCreate_v2(&context, 0, 0));
    ok(awcu_cuModuleLoadData(&module, FAKE_PTX));
    ok(awcu_cuModuleGetFunction(&add, module, "add"));
}

/* ---- Building. */

static char order[64]; /* letters that host nodes leave */

static void leave(void *letter)
{
    size_t n = strlen(order);
    order[n] = *(const char *)letter;
    order[n + 1] = '\0';
}

static CUgraph graph_new(void)
{
    CUgraph graph;
    ok(awcu_cuGraphCreate(&graph, 0));
    order[0] = '\0';
    return graph;
}

static CUgraphNode host_node(CUgraph graph, const char *letter, const CUgraphNode *deps, size_t n)
{
    CUgraphNode node;
    CUDA_HOST_NODE_PARAMS params = { leave, (void *)(uintptr_t)letter };
    ok(awcu_cuGraphAddHostNode(&node, graph, deps, n, &params));
    return node;
}

static CUgraphExec instantiate(CUgraph graph)
{
    CUgraphExec exec;
    ok(awcu_cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

static void run(CUgraph graph)
{
    CUgraphExec exec = instantiate(graph);
    order[0] = '\0';
    ok(awcu_cuGraphLaunch(exec, NULL));
    ok(awcu_cuCtxSynchronize());
    ok(awcu_cuGraphExecDestroy(exec));
}

static CUDA_KERNEL_NODE_PARAMS kernel_params(void **args)
{
    return (CUDA_KERNEL_NODE_PARAMS){ .func = add, .gridDimX = 3, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1,
                                      .blockDimZ = 1, .kernelParams = args };
}

Test(graph, edges_order_what_runs, .init = start)
{
    CUgraph graph = graph_new();
    CUgraphNode a = host_node(graph, "a", NULL, 0), b = host_node(graph, "b", NULL, 0), c = host_node(graph, "c", &b, 1);
    CUgraphNode d = host_node(graph, "d", &c, 1);
    ok(awcu_cuGraphAddDependencies(graph, &d, &a, 1)); /* b c d a */
    run(graph);
    cr_assert_str_eq(order, "bcda");
    ok(awcu_cuGraphRemoveDependencies(graph, &d, &a, 1));
    run(graph);
    cr_assert_str_eq(order, "abcd");
    ok(awcu_cuGraphDestroyNode(c)); /* d waits for nothing now */
    run(graph);
    cr_assert_str_eq(order, "abd");
}

Test(graph, asking, .init = start)
{
    CUgraph graph = graph_new(), of;
    CUgraphNode a = host_node(graph, "a", NULL, 0), b = host_node(graph, "b", &a, 1), both[] = { a, b };
    CUgraphNode c = host_node(graph, "c", both, 2), from[5], to[5], nodes[5];
    size_t n = 5;
    unsigned id;
    CUgraphNodeType type;
    ok(awcu_cuGraphGetEdges(graph, from, to, &n));
    eq(n, 3);
    eq(from[0] == a && to[0] == b && from[1] == a && to[1] == c && from[2] == b && to[2] == c, true);
    eq(from[3] == NULL && from[4] == NULL && to[4] == NULL, true);
    n = 2; /* a short array: what fits */
    memset(from, 0x55, sizeof from);
    ok(awcu_cuGraphGetEdges(graph, from, to, &n));
    eq(n, 2);
    eq(from[2] == (CUgraphNode)0x5555555555555555, true);
    eq(awcu_cuGraphGetEdges(graph, from, NULL, &n), CUDA_ERROR_INVALID_VALUE);
    n = 5;
    ok(awcu_cuGraphNodeGetDependencies(c, nodes, &n));
    eq(n == 2 && nodes[0] == a && nodes[1] == b && !nodes[2], true);
    n = 5;
    ok(awcu_cuGraphNodeGetDependentNodes(a, nodes, &n));
    eq(n == 2 && nodes[0] == b && nodes[1] == c, true);
    ok(awcu_cuGraphNodeGetDependentNodes(c, NULL, &n));
    eq(n, 0);
    ok(awcu_cuGraphNodeGetType(c, &type));
    eq(type, CU_GRAPH_NODE_TYPE_HOST);
    ok(awcu_cuGraphNodeGetContainingGraph(c, &of));
    eq(of == graph, true);
    ok(awcu_cuGraphNodeGetLocalId(c, &id));
    eq(id, 2);
    eq(awcu_cuGraphGetNodes(graph, nodes, NULL), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuGraphGetNodes((CUgraph)a, nodes, &n), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuGraphNodeGetType((CUgraphNode)0x1234, &type), CUDA_ERROR_INVALID_VALUE);
}

Test(graph, edge_data, .init = start)
{
    uint64_t p = 0;
    uint32_t v = 0;
    void *args[] = { &p, &v };
    CUDA_KERNEL_NODE_PARAMS params = kernel_params(args);
    CUgraph graph = graph_new();
    CUgraphNode a, b, from, to, h = host_node(graph, "h", NULL, 0);
    CUgraphEdgeData early = { .from_port = 1, .type = 1 }, told, odd = { .from_port = 1 };
    size_t n = 1;
    ok(awcu_cuGraphAddKernelNode_v2(&a, graph, NULL, 0, &params));
    ok(awcu_cuGraphAddKernelNode_v2(&b, graph, NULL, 0, &params));
    eq(awcu_cuGraphAddDependencies_v2(graph, &a, &b, &odd, 1), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuGraphAddDependencies_v2(graph, &a, &h, &early, 1), CUDA_ERROR_INVALID_VALUE); /* only between kernels */
    ok(awcu_cuGraphAddDependencies_v2(graph, &a, &b, &early, 1));
    eq(awcu_cuGraphGetEdges(graph, &from, &to, &n), CUDA_ERROR_LOSSY_QUERY);
    ok(awcu_cuGraphGetEdges_v2(graph, &from, &to, &told, &n));
    eq(n == 1 && told.from_port == 1 && told.type == 1, true);
    eq(awcu_cuGraphRemoveDependencies(graph, &a, &b, 1), CUDA_ERROR_INVALID_VALUE); /* another edge than the one that is there */
    ok(awcu_cuGraphRemoveDependencies_v2(graph, &a, &b, &early, 1));
}

Test(graph, links_all_or_none, .init = start)
{
    CUgraph graph = graph_new();
    CUgraphNode a = host_node(graph, "a", NULL, 0), b = host_node(graph, "b", NULL, 0), c = host_node(graph, "c", NULL, 0);
    CUgraphNode from[] = { a, b, a }, to[] = { b, c, a };
    size_t n;
    eq(awcu_cuGraphAddDependencies(graph, from, to, 3), CUDA_ERROR_INVALID_VALUE); /* the last is to itself */
    ok(awcu_cuGraphGetEdges(graph, NULL, NULL, &n));
    eq(n, 0);
    ok(awcu_cuGraphAddDependencies(graph, from, to, 2));
    from[1] = c;
    eq(awcu_cuGraphRemoveDependencies(graph, from, to, 2), CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuGraphGetEdges(graph, NULL, NULL, &n));
    eq(n, 2);
}

Test(graph, a_cycle_is_told, .init = start)
{
    CUgraph graph = graph_new();
    CUgraphNode a = host_node(graph, "a", NULL, 0), b = host_node(graph, "b", &a, 1), error = NULL;
    CUgraphExec exec;
    char log[64] = "";
    CUDA_GRAPH_INSTANTIATE_PARAMS params = { 0 };
    ok(awcu_cuGraphAddDependencies(graph, &b, &a, 1));
    eq(awcu_cuGraphInstantiate_v2(&exec, graph, &error, log, sizeof log), CUDA_ERROR_INVALID_VALUE);
    eq(error == a || error == b, true);
    cr_assert_str_eq(log, "the graph has a cycle");
    eq(awcu_cuGraphInstantiateWithParams(&exec, graph, &params), CUDA_ERROR_INVALID_VALUE);
    eq(params.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
    eq(params.hErrNode_out == a || params.hErrNode_out == b, true);
    ok(awcu_cuGraphRemoveDependencies(graph, &b, &a, 1));
    ok(awcu_cuGraphInstantiateWithParams(&exec, graph, &params));
    eq(params.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
    eq(params.hErrNode_out == NULL, true);
    eq(awcu_cuGraphInstantiateWithFlags(&exec, graph, 64), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuGraphInstantiateWithFlags(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH), CUDA_ERROR_NOT_SUPPORTED);
}

/* ---- Nodes. */

Test(node, kernel_parameters_are_copied, .init = start)
{
    uint64_t p = 0x1122334455667788;
    uint32_t v = 77;
    void *args[] = { &p, &v };
    CUDA_KERNEL_NODE_PARAMS params = kernel_params(args), told;
    CUgraph graph = graph_new();
    CUgraphNode node;
    ok(awcu_cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
    p = 0;
    v = 0;
    ok(awcu_cuGraphKernelNodeGetParams_v2(node, &told));
    eq(told.func == add && told.gridDimX == 3 && told.blockDimX == 32 && *(uint32_t *)told.kernelParams[1] == 77, true);
    run(graph);
    eq(fake.launches, 1);
    memcpy(&p, fake.kernarg, sizeof p);
    memcpy(&v, fake.kernarg + 8, sizeof v);
    eq(p, 0x1122334455667788);
    eq(v, 77);
    eq(fake.launch.grid[0], 3);
    params.blockDimX = 2000;
    eq(awcu_cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE);
    params.blockDimX = 32;
    params.func = (CUfunction)0x77;
    eq(awcu_cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE);
    params.func = add;
    params.kernelParams = NULL;
    eq(awcu_cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE);
}

Test(node, a_function_that_is_gone, .init = start)
{
    uint64_t p = 0;
    uint32_t v = 0;
    void *args[] = { &p, &v };
    CUDA_KERNEL_NODE_PARAMS params = kernel_params(args);
    CUgraph graph = graph_new(), clone;
    CUgraphNode node;
    ok(awcu_cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
    CUgraphExec exec = instantiate(graph);
    ok(awcu_cuModuleUnload(module));
    eq(awcu_cuGraphLaunch(exec, NULL), CUDA_ERROR_INVALID_HANDLE);
    eq(fake.launches, 0);
    ok(awcu_cuGraphClone(&clone, graph)); /* its parameters need no function */
    ok(awcu_cuGraphDebugDotPrint(clone, "/dev/null", 1));
    ok(awcu_cuGraphExecDestroy(exec));
    ok(awcu_cuGraphDestroy(graph));
    ok(awcu_cuGraphDestroy(clone));
}

Test(node, attributes, .init = start)
{
    uint64_t p = 0;
    uint32_t v = 0;
    void *args[] = { &p, &v };
    CUDA_KERNEL_NODE_PARAMS params = kernel_params(args);
    CUgraph graph = graph_new();
    CUgraphNode a, b;
    CUkernelNodeAttrValue value = { .cooperative = 1 }, told;
    ok(awcu_cuGraphAddKernelNode_v2(&a, graph, NULL, 0, &params));
    ok(awcu_cuGraphAddKernelNode_v2(&b, graph, &a, 1, &params));
    ok(awcu_cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
    ok(awcu_cuGraphKernelNodeGetAttribute(b, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &told));
    eq(told.cooperative, 0);
    ok(awcu_cuGraphKernelNodeCopyAttributes(b, a));
    ok(awcu_cuGraphKernelNodeSetParams_v2(b, &params)); /* attributes stay */
    ok(awcu_cuGraphKernelNodeGetAttribute(b, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &told));
    eq(told.cooperative, 1);
    run(graph);
    eq(fake.launch.cooperative, true);
    eq(awcu_cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuGraphKernelNodeSetAttribute(a, 99, &value), CUDA_ERROR_INVALID_VALUE);
    value.clusterDim.x = 2;
    eq(awcu_cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    eq(awcu_cuGraphKernelNodeGetAttribute(host_node(graph, "h", NULL, 0), CU_LAUNCH_ATTRIBUTE_PRIORITY, &told),
       CUDA_ERROR_INVALID_VALUE);
}

static CUDA_MEMCPY3D line(CUmemorytype to, void *dst, CUmemorytype from, const void *src, size_t size)
{
    return (CUDA_MEMCPY3D){ .srcMemoryType = from, .srcHost = src, .srcDevice = (uintptr_t)src, .srcPitch = size, .srcHeight = 1,
                            .dstMemoryType = to, .dstHost = dst, .dstDevice = (uintptr_t)dst, .dstPitch = size, .dstHeight = 1,
                            .WidthInBytes = size, .Height = 1, .Depth = 1 };
}

/* The source is written by a host node that runs just before, and read back by one just after. */
static char page_in[8], page_out[8], page_seen[8];

static void page_fill(void *text) { memcpy(page_in, text, 8); }
static void page_look(void *unused) { memcpy(page_seen, page_out, 8); }

Test(node, pageable_memory_is_read_in_its_turn, .init = start)
{
    CUgraph graph = graph_new();
    CUgraphNode fill, in, out, look;
    CUdeviceptr d;
    CUDA_HOST_NODE_PARAMS filler = { page_fill, "letters" }, looker = { page_look, NULL };
    ok(awcu_cuMemAlloc_v2(&d, 8));
    CUDA_MEMCPY3D to = line(CU_MEMORYTYPE_DEVICE, (void *)(uintptr_t)d, CU_MEMORYTYPE_HOST, page_in, 8);
    CUDA_MEMCPY3D from = line(CU_MEMORYTYPE_HOST, page_out, CU_MEMORYTYPE_UNIFIED, (void *)(uintptr_t)d, 8), told;
    ok(awcu_cuGraphAddHostNode(&fill, graph, NULL, 0, &filler));
    ok(awcu_cuGraphAddMemcpyNode(&in, graph, &fill, 1, &to, context));
    ok(awcu_cuGraphAddMemcpyNode(&out, graph, &in, 1, &from, NULL));
    ok(awcu_cuGraphAddHostNode(&look, graph, &out, 1, &looker));
    ok(awcu_cuGraphMemcpyNodeGetParams(out, &told));
    eq(told.srcMemoryType == CU_MEMORYTYPE_UNIFIED && told.srcDevice == d && told.dstHost == page_out && told.WidthInBytes == 8,
       true);
    CUgraphExec exec = instantiate(graph);
    fake.held = true; /* nothing runs before it is waited for */
    ok(awcu_cuGraphLaunch(exec, NULL));
    eq(page_in[0], 0);
    ok(awcu_cuCtxSynchronize());
    cr_assert_str_eq(page_seen, "letters");
    filler.userData = "further";
    ok(awcu_cuGraphExecHostNodeSetParams(exec, fill, &filler));
    ok(awcu_cuGraphLaunch(exec, NULL));
    eq(fake.host_allocs, 2); /* pinned memory is kept for the next launch */
    ok(awcu_cuGraphExecDestroy(exec)); /* waits */
    cr_assert_str_eq(page_seen, "further");
    eq(fake.host_frees, 2);
}

Test(node, copies_are_checked, .init = start)
{
    CUgraph graph = graph_new();
    CUgraphNode node;
    CUdeviceptr d;
    char host[8];
    ok(awcu_cuMemAlloc_v2(&d, 8));
    CUDA_MEMCPY3D copy = line(CU_MEMORYTYPE_DEVICE, (void *)(uintptr_t)d, CU_MEMORYTYPE_HOST, host, 9);
    eq(awcu_cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, NULL), CUDA_ERROR_INVALID_VALUE); /* leaves the allocation */
    copy = line(CU_MEMORYTYPE_DEVICE, host, CU_MEMORYTYPE_HOST, host, 8);
    eq(awcu_cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, NULL), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuGraphAddMemcpyNode(&node, graph, NULL, 0, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    copy = line(CU_MEMORYTYPE_DEVICE, (void *)(uintptr_t)d, CU_MEMORYTYPE_HOST, host, 8);
    ok(awcu_cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, NULL));
    CUgraphExec exec = instantiate(graph);
    ok(awcu_cuMemFree_v2(d)); /* freed since: told at the launch */
    eq(awcu_cuGraphLaunch(exec, NULL), CUDA_ERROR_INVALID_VALUE);
    CUDA_MEMSET_NODE_PARAMS fill = { .dst = d, .elementSize = 3, .width = 1, .height = 1 };
    eq(awcu_cuGraphAddMemsetNode(&node, graph, NULL, 0, &fill, NULL), CUDA_ERROR_INVALID_VALUE);
}

Test(node, of_another_context, .init = start)
{
    CUcontext second;
    CUgraph graph = graph_new();
    CUgraphNode a, b;
    CUdeviceptr here, there;
    unsigned char got[2] = { 0 };
    ok(awcu_cuMemAlloc_v2(&here, 1));
    ok(awcu_cuCtxCreate_v2(&second, 0, 1));
    ok(awcu_cuMemAlloc_v2(&there, 1));
    CUDA_MEMSET_NODE_PARAMS fill = { .dst = here, .value = 3, .elementSize = 1, .width = 1, .height = 1 };
    ok(awcu_cuGraphAddMemsetNode(&a, graph, NULL, 0, &fill, context));
    fill.dst = there;
    fill.value = 4;
    ok(awcu_cuGraphAddMemsetNode(&b, graph, &a, 1, &fill, second));
    CUgraphExec exec = instantiate(graph);
    ok(awcu_cuCtxSetCurrent(context));
    int streams = fake.streams;
    ok(awcu_cuGraphLaunch(exec, NULL));
    ok(awcu_cuGraphLaunch(exec, NULL));
    eq(fake.streams, streams + 1);
    ok(awcu_cuMemcpyDtoH_v2(&got[0], here, 1));
    ok(awcu_cuMemcpyDtoH_v2(&got[1], there, 1));
    eq(got[0] * 10 + got[1], 34);
    ok(awcu_cuCtxDestroy_v2(second));
    eq(fake.streams, streams);
    eq(awcu_cuGraphLaunch(exec, NULL), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    ok(awcu_cuGraphExecDestroy(exec));
    ok(awcu_cuCtxDestroy_v2(context));
    eq(fake.events, 0);
}

Test(node, child_graphs, .init = start)
{
    CUgraph inner = graph_new(), outer = graph_new(), own;
    CUgraphNode a = host_node(inner, "a", NULL, 0), first = host_node(outer, "1", NULL, 0), child, last;
    host_node(inner, "b", &a, 1);
    ok(awcu_cuGraphAddChildGraphNode(&child, outer, &first, 1, inner));
    last = host_node(outer, "2", &child, 1);
    eq(last != NULL, true);
    ok(awcu_cuGraphDestroy(inner));
    run(outer);
    cr_assert_str_eq(order, "1ab2");
    ok(awcu_cuGraphChildGraphNodeGetGraph(child, &own));
    host_node(own, "c", NULL, 0); /* the node's own graph can grow */
    run(outer);
    eq(strlen(order), 5);
    eq(awcu_cuGraphDestroy(own), CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuGraphDestroy(outer));
    eq(awcu_cuGraphDestroy(own), CUDA_ERROR_INVALID_VALUE);
}

Test(node, in_one_structure, .init = start)
{
    CUgraph graph = graph_new(), inner = graph_new();
    CUgraphNode node, child;
    CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_HOST, .host = { leave, "x" } }, told;
    ok(awcu_cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &params));
    params.host.userData = "y";
    ok(awcu_cuGraphNodeSetParams(node, &params));
    run(graph);
    cr_assert_str_eq(order, "y");
    ok(awcu_cuGraphNodeGetParams(node, &told));
    eq(memcmp(&told, &params, sizeof told), 0);
    host_node(inner, "i", NULL, 0);
    CUgraphNodeParams moved = { .type = CU_GRAPH_NODE_TYPE_GRAPH, .graph = { inner, 1 } };
    ok(awcu_cuGraphAddNode_v2(&child, graph, &node, NULL, 1, &moved));
    eq(moved.graph.graph == inner, true); /* no copy */
    eq(awcu_cuGraphDestroy(inner), CUDA_ERROR_INVALID_VALUE);
    run(graph);
    cr_assert_str_eq(order, "yi");
    CUgraphNodeParams bad = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL }; /* of no handle */
    eq(awcu_cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &bad), CUDA_ERROR_INVALID_VALUE);
    bad = (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP };
    eq(awcu_cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &bad), CUDA_ERROR_NOT_SUPPORTED);
    bad = (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_EMPTY, .reserved2 = 1 };
    eq(awcu_cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &bad), CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuGraphDestroy(graph));
}

Test(node, allocations, .init = start)
{
    CUgraph graph = graph_new();
    CUgraphNode alloc, release;
    CUgraphExec exec;
    cuuint64_t bytes, zero = 0;
    size_t before = fake.used;
    CUDA_MEM_ALLOC_NODE_PARAMS params = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                         .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } }, .bytesize = 1000 };
    ok(awcu_cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &params));
    CUdeviceptr address = params.dptr;
    exec = instantiate(graph);
    eq(awcu_cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE); /* not allocated before a launch */
    ok(awcu_cuGraphLaunch(exec, NULL));
    ok(awcu_cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &bytes));
    eq(bytes, 1000);
    eq(awcu_cuGraphLaunch(exec, NULL), CUDA_ERROR_INVALID_VALUE); /* not freed since */
    ok(awcu_cuMemsetD8_v2(address, 1, 1000));
    ok(awcu_cuMemFree_v2(address));
    ok(awcu_cuGraphLaunch(exec, NULL));
    ok(awcu_cuMemFreeAsync(address, NULL));
    ok(awcu_cuGraphLaunch(exec, NULL));
    eq(awcu_cuGraphDestroyNode(alloc), CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuGraphExecDestroy(exec));
    ok(awcu_cuGraphInstantiateWithFlags(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    ok(awcu_cuGraphLaunch(exec, NULL));
    ok(awcu_cuGraphLaunch(exec, NULL));
    ok(awcu_cuGraphExecDestroy(exec));
    ok(awcu_cuGraphDestroy(graph));
    ok(awcu_cuMemsetD8_v2(address, 2, 1000)); /* still the user's */
    ok(awcu_cuMemFree_v2(address));
    eq(awcu_cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
    eq(fake.used, before);
    ok(awcu_cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &bytes));
    eq(bytes, 0);
    ok(awcu_cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &bytes));
    eq(bytes, 1000);
    ok(awcu_cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero));
    ok(awcu_cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &bytes));
    eq(bytes, 0);
    eq(awcu_cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &zero), CUDA_ERROR_INVALID_VALUE);
    graph = graph_new();
    eq(awcu_cuGraphAddMemFreeNode(&release, graph, NULL, 0, address), CUDA_ERROR_INVALID_VALUE);
    params.bytesize = 0;
    eq(awcu_cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE);
}

/* ---- Executable graphs. */

Test(exec, update_pairs_by_shape, .init = start)
{
    CUgraph graph = graph_new();
    CUgraphNode a = host_node(graph, "a", NULL, 0), b = host_node(graph, "b", &a, 1);
    host_node(graph, "c", &b, 1);
    CUgraphExec exec = instantiate(graph);
    CUgraph other = graph_new(); /* the same chain, added from its end */
    CUgraphNode z = host_node(other, "z", NULL, 0), y = host_node(other, "y", NULL, 0), x = host_node(other, "x", NULL, 0);
    ok(awcu_cuGraphAddDependencies(other, &x, &y, 1));
    ok(awcu_cuGraphAddDependencies(other, &y, &z, 1));
    CUgraphExecUpdateResultInfo info;
    ok(awcu_cuGraphExecUpdate_v2(exec, other, &info));
    eq(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    ok(awcu_cuGraphLaunch(exec, NULL));
    cr_assert_str_eq(order, "xyz");
    CUDA_HOST_NODE_PARAMS params = { leave, "B" }; /* the first graph's nodes still name the executable's */
    ok(awcu_cuGraphExecHostNodeSetParams(exec, b, &params));
    order[0] = '\0';
    ok(awcu_cuGraphLaunch(exec, NULL));
    cr_assert_str_eq(order, "xBz");
    eq(awcu_cuGraphExecHostNodeSetParams(exec, y, &params), CUDA_ERROR_INVALID_VALUE);
}

Test(exec, update_that_does_not_fit, .init = start)
{
    CUgraph graph = graph_new(), other = graph_new();
    CUgraphNode a = host_node(graph, "a", NULL, 0), p, q, error;
    host_node(graph, "b", &a, 1);
    CUgraphExec exec = instantiate(graph);
    CUgraphExecUpdateResult result;
    p = host_node(other, "p", NULL, 0);
    eq(awcu_cuGraphExecUpdate(exec, other, &error, &result), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    eq(result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED && !error, true);
    ok(awcu_cuGraphAddEmptyNode(&q, other, NULL, 0)); /* two sinks now */
    eq(awcu_cuGraphExecUpdate(exec, other, &error, &result), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    eq(result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED && error == q, true);
    ok(awcu_cuGraphAddDependencies(other, &p, &q, 1));
    eq(awcu_cuGraphExecUpdate(exec, other, &error, &result), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    eq(result == CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED && error == q, true);
    ok(awcu_cuGraphLaunch(exec, NULL));
    cr_assert_str_eq(order, "ab"); /* nothing was taken over */
}

Test(exec, enabled, .init = start)
{
    CUgraph graph = graph_new();
    CUgraphNode set, host = host_node(graph, "h", NULL, 0);
    CUdeviceptr d;
    unsigned on;
    ok(awcu_cuMemAlloc_v2(&d, 4));
    CUDA_MEMSET_NODE_PARAMS fill = { .dst = d, .elementSize = 4, .width = 1, .height = 1 };
    ok(awcu_cuGraphAddMemsetNode(&set, graph, NULL, 0, &fill, NULL));
    CUgraphExec exec = instantiate(graph);
    ok(awcu_cuGraphNodeSetEnabled(exec, set, 0));
    ok(awcu_cuGraphLaunch(exec, NULL));
    eq(fake.fills, 0);
    ok(awcu_cuGraphNodeGetEnabled(exec, set, &on));
    eq(on, 0);
    ok(awcu_cuGraphNodeSetEnabled(exec, set, 1));
    ok(awcu_cuGraphLaunch(exec, NULL));
    eq(fake.fills, 1);
    eq(awcu_cuGraphNodeSetEnabled(exec, host, 0), CUDA_ERROR_INVALID_VALUE);
}

static int destroyed;
static void on_destroy(void *unused) { destroyed++; }

Test(exec, holds_user_objects_until_done, .init = start)
{
    CUgraph graph = graph_new();
    CUuserObject object;
    host_node(graph, "a", NULL, 0);
    eq(awcu_cuUserObjectCreate(&object, NULL, on_destroy, 1, 0), CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuUserObjectCreate(&object, NULL, on_destroy, 2, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    ok(awcu_cuGraphRetainUserObject(graph, object, 1, 0));
    eq(awcu_cuGraphReleaseUserObject(graph, object, 2), CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuUserObjectRelease(object, 2));
    CUgraphExec exec = instantiate(graph);
    ok(awcu_cuGraphDestroy(graph));
    fake.held = true;
    ok(awcu_cuGraphLaunch(exec, NULL));
    eq(destroyed, 0);
    ok(awcu_cuGraphExecDestroy(exec));
    eq(destroyed, 1);
    cr_assert_str_eq(order, "a"); /* it ran before the object went */
    eq(awcu_cuUserObjectRetain(object, 1), CUDA_ERROR_INVALID_VALUE);
}

/* A graph of a node, inside a child where asked for, which owns an object. */
static CUgraph owning_graph(const char *letter, bool child)
{
    CUgraph graph = graph_new(), whole = graph;
    CUgraphNode node;
    CUuserObject object;
    host_node(graph, letter, NULL, 0);
    ok(awcu_cuUserObjectCreate(&object, NULL, on_destroy, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    ok(awcu_cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    if (child) {
        whole = graph_new();
        ok(awcu_cuGraphAddChildGraphNode(&node, whole, NULL, 0, graph));
        ok(awcu_cuGraphDestroy(graph));
    }
    return whole;
}

static void update_holds(bool child)
{
    CUgraph graph = owning_graph("a", child), other = owning_graph("b", child);
    CUgraphExec exec = instantiate(graph);
    CUgraphExecUpdateResultInfo info;
    destroyed = 0;
    ok(awcu_cuGraphDestroy(graph));
    fake.held = true;
    ok(awcu_cuGraphLaunch(exec, NULL));
    ok(awcu_cuGraphExecUpdate_v2(exec, other, &info));
    ok(awcu_cuGraphDestroy(other));
    eq(destroyed, 1); /* the first one's, once its run was through */
    cr_assert_str_eq(order, "a");
    ok(awcu_cuGraphLaunch(exec, NULL));
    ok(awcu_cuGraphExecDestroy(exec));
    eq(destroyed, 2);
    cr_assert_str_eq(order, "ab");
}

Test(exec, update_takes_user_objects_over, .init = start)
{
    update_holds(false);
    order[0] = '\0';
    update_holds(true);
}

Test(exec, dot, .init = start)
{
    char path[] = "/tmp/anywarp_dot_XXXXXX", text[4096] = "";
    CUgraph graph = graph_new();
    CUgraphNode a = host_node(graph, "a", NULL, 0);
    host_node(graph, "b", &a, 1);
    close(mkstemp(path));
    ok(awcu_cuGraphDebugDotPrint(graph, path, 1));
    FILE *in = fopen(path, "r");
    cr_assert(in && fread(text, 1, sizeof text - 1, in) > 0);
    fclose(in);
    unlink(path);
    cr_assert(strstr(text, "digraph") && strstr(text, "HOST") && strstr(text, "_node_0\" -> \""), "%s", text);
    eq(awcu_cuGraphDebugDotPrint(graph, "/no/such/folder/x", 0), CUDA_ERROR_OPERATING_SYSTEM);
    eq(awcu_cuGraphDebugDotPrint(graph, NULL, 0), CUDA_ERROR_INVALID_VALUE);
}

/* ---- Capture. */

Test(capture, streams_events_and_info, .init = start)
{
    CUstream s, t;
    CUevent e;
    CUgraph graph, told;
    const CUgraphNode *deps;
    CUstreamCaptureStatus status;
    cuuint64_t id = 0, second = 0;
    size_t n = 9;
    order[0] = '\0';
    ok(awcu_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    ok(awcu_cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
    ok(awcu_cuEventCreate(&e, 0));
    ok(awcu_cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(awcu_cuStreamGetCaptureInfo_v2(s, &status, &id, &told, &deps, &n));
    eq(status == CU_STREAM_CAPTURE_STATUS_ACTIVE && id && n == 0, true);
    ok(awcu_cuLaunchHostFunc(s, leave, "a"));
    ok(awcu_cuEventRecord(e, s));
    ok(awcu_cuStreamWaitEvent(t, e, 0));
    ok(awcu_cuLaunchHostFunc(t, leave, "b"));
    ok(awcu_cuLaunchHostFunc(s, leave, "c"));
    ok(awcu_cuStreamGetCaptureInfo_v2(t, &status, &second, NULL, NULL, NULL));
    eq(second, id);
    ok(awcu_cuEventRecord(e, t));
    ok(awcu_cuStreamWaitEvent(s, e, 0));
    ok(awcu_cuStreamGetCaptureInfo_v2(s, &status, &id, &told, &deps, &n));
    eq(n, 2);
    CUgraphNode extra = host_node(told, "x", deps, n); /* into the graph itself, then into the stream's set */
    eq(awcu_cuGraphDestroyNode(extra), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuGraphDestroy(told), CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuStreamUpdateCaptureDependencies(s, &extra, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    ok(awcu_cuLaunchHostFunc(s, leave, "d"));
    cr_assert_str_eq(order, "");
    ok(awcu_cuStreamEndCapture(s, &graph));
    eq(graph == told, true);
    eq(awcu_cuStreamUpdateCaptureDependencies(s, &extra, 1, 0), CUDA_ERROR_ILLEGAL_STATE);
    run(graph);
    cr_assert_eq(strlen(order), 5);
    eq(order[0] == 'a' && order[3] == 'x' && order[4] == 'd', true);
    eq(awcu_cuEventQuery(e), CUDA_ERROR_CAPTURED_EVENT); /* it stands for a place in a graph */
    ok(awcu_cuEventRecord(e, s));
    ok(awcu_cuEventQuery(e));
}

Test(capture, external_events_are_nodes, .init = start)
{
    CUstream s;
    CUevent e;
    CUgraph graph;
    CUgraphNode nodes[3];
    CUgraphNodeType type[3];
    size_t n = 3;
    ok(awcu_cuStreamCreate(&s, 0));
    ok(awcu_cuEventCreate(&e, 0));
    ok(awcu_cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok(awcu_cuStreamWaitEvent(s, e, CU_EVENT_WAIT_EXTERNAL));
    ok(awcu_cuEventRecordWithFlags(e, s, CU_EVENT_RECORD_EXTERNAL));
    ok(awcu_cuStreamEndCapture(s, &graph));
    ok(awcu_cuGraphGetNodes(graph, nodes, &n));
    eq(n, 2);
    for (size_t i = 0; i < n; i++)
        ok(awcu_cuGraphNodeGetType(nodes[i], &type[i]));
    eq(type[0] == CU_GRAPH_NODE_TYPE_WAIT_EVENT && type[1] == CU_GRAPH_NODE_TYPE_EVENT_RECORD, true);
    run(graph);
    ok(awcu_cuEventQuery(e));
    CUgraphExec exec = instantiate(graph);
    ok(awcu_cuEventDestroy_v2(e));
    eq(awcu_cuGraphLaunch(exec, NULL), CUDA_ERROR_INVALID_HANDLE);
}

Test(capture, streams_that_go_away, .init = start)
{
    CUstream s, t;
    CUevent e;
    CUgraph graph;
    ok(awcu_cuStreamCreate(&s, 0));
    ok(awcu_cuStreamCreate(&t, 0));
    ok(awcu_cuEventCreate(&e, 0));
    ok(awcu_cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(awcu_cuEventRecord(e, s));
    ok(awcu_cuStreamWaitEvent(t, e, 0));
    ok(awcu_cuLaunchHostFunc(t, leave, "t"));
    ok(awcu_cuStreamDestroy_v2(t)); /* its node was not joined */
    eq(awcu_cuStreamEndCapture(s, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    ok(awcu_cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(awcu_cuLaunchHostFunc(s, leave, "s"));
    ok(awcu_cuStreamDestroy_v2(s)); /* takes the capture with it */
    CUdeviceptr d;
    ok(awcu_cuMemAlloc_v2(&d, 16));
    ok(awcu_cuStreamCreate(&s, 0));
    ok(awcu_cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(awcu_cuCtxDestroy_v2(context)); /* so does a context */
    ok(awcu_cuCtxCreate_v2(&context, 0, 0));
    ok(awcu_cuMemAlloc_v2(&d, 16));
}

Test(capture, a_modules_variables_are_filled_at_once, .init = start)
{
    CUstream s;
    CUgraph graph;
    uint64_t p = 1;
    uint32_t v = 2;
    void *args[] = { &p, &v };
    size_t n;
    ok(awcu_cuStreamCreate(&s, 0)); /* blocking: the legacy stream could not be used */
    ok(awcu_cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(awcu_cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, s, args, NULL));
    eq(awcu_cuLaunchKernel(add, 1, 1, 1, 4096, 1, 1, 0, s, args, NULL), CUDA_ERROR_INVALID_VALUE); /* no node, no harm */
    ok(awcu_cuStreamEndCapture(s, &graph));
    ok(awcu_cuGraphGetNodes(graph, NULL, &n));
    eq(n, 1);
    eq(fake.launches, 0);
    run(graph);
    eq(fake.launches, 1);
}

Test(capture, calls_that_cannot_be_captured, .init = start)
{
    CUstream s;
    CUgraph graph = (CUgraph)1;
    ok(awcu_cuStreamCreate(&s, 0));
    ok(awcu_cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    eq(awcu_cuStreamAddCallback(s, (CUstreamCallback)(void (*)(void))leave, NULL, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    eq(awcu_cuStreamQuery(s), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    eq(awcu_cuLaunchHostFunc(s, leave, "x"), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    eq(awcu_cuStreamEndCapture(s, NULL), CUDA_ERROR_INVALID_VALUE); /* goes on */
    eq(awcu_cuStreamEndCapture(s, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    eq(graph == NULL, true);
    ok(awcu_cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    eq(awcu_cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    eq(awcu_cuStreamEndCapture(s, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    eq(awcu_cuStreamBeginCapture_v2(s, (CUstreamCaptureMode)3), CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuStreamSynchronize(s));
}

/* Who joined a capture cannot end it, and the try is its end. */
Test(capture, another_stream_ends_it, .init = start)
{
    CUstream s, t;
    CUevent event;
    CUgraph graph = (CUgraph)1;
    ok(awcu_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    ok(awcu_cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
    ok(awcu_cuEventCreate(&event, 0));
    ok(awcu_cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    eq(awcu_cuStreamEndCapture(t, &graph), CUDA_ERROR_ILLEGAL_STATE); /* which is none of the capture's: it goes on */
    ok(awcu_cuEventRecord(event, s));
    ok(awcu_cuStreamWaitEvent(t, event, 0));
    ok(awcu_cuLaunchHostFunc(t, leave, "x"));
    eq(awcu_cuStreamEndCapture(t, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    eq(awcu_cuStreamEndCapture(s, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    eq(graph == NULL, true);
    ok(awcu_cuStreamSynchronize(s));
    ok(awcu_cuStreamSynchronize(t));
}

/* Several threads capture and launch their own graphs at once. */
static void *many(void *arg)
{
    static const char *const letter = "m";
    CUstream s = arg;
    CUgraph graph;
    CUgraphExec exec;
    bool good = awcu_cuCtxSetCurrent(context) == CUDA_SUCCESS;
    for (int i = 0; i < 200 && good; i++) {
        CUstreamCaptureStatus status;
        good = awcu_cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) == CUDA_SUCCESS &&
               awcu_cuLaunchHostFunc(s, (CUhostFn)(void (*)(void))strlen, (void *)(uintptr_t)letter) == CUDA_SUCCESS &&
               awcu_cuStreamIsCapturing(s, &status) == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE &&
               awcu_cuStreamEndCapture(s, &graph) == CUDA_SUCCESS &&
               awcu_cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_SUCCESS &&
               awcu_cuGraphExecDestroy(exec) == CUDA_SUCCESS && awcu_cuGraphDestroy(graph) == CUDA_SUCCESS;
    }
    return good ? arg : NULL;
}

Test(capture, in_several_threads, .init = start)
{
    pthread_t threads[4];
    CUstream streams[4];
    void *result;
    for (int i = 0; i < 4; i++)
        ok(awcu_cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, many, streams[i]);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &result);
        eq(result == streams[i], true);
    }
}
