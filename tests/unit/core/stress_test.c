/* The driver API's bodies, the core and the host device under many threads at once: streams of one's own and shared ones, events
 * of all, launches with and without barriers, modules that come and go, captured graphs, pools of memory, host functions.  Every
 * buffer's content is known at each step, and looked at.  A few seconds in a test run; its long form is for a build with
 * -Db_sanitize=thread:
 *
 *     TSAN_OPTIONS=suppressions=tests/tsan.supp stress_test [THREADS [ROUNDS [SEED]]]
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "abi/cuda_util.h"

enum { STREAMS = 3, N = 500, SHARED_STREAMS = 4, EVENTS = 16 };

static const char text[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .u32 launched;\n"
    /* x = 3 x + 1 */
    ".visible .entry step(.param .u64 p, .param .u32 n)\n{\n .reg .b64 %l<3>; .reg .b32 %r<6>; .reg .pred %p<2>;\n"
    " ld.param.u64 %l1, [p]; ld.param.u32 %r1, [n]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    " mad.lo.u32 %r2, %r2, %r3, %r4; setp.ge.u32 %p1, %r2, %r1; @%p1 ret; mul.wide.u32 %l2, %r2, 4; add.u64 %l2, %l1, %l2;\n"
    " ld.global.u32 %r5, [%l2]; mad.lo.u32 %r5, %r5, 3, 1; st.global.u32 [%l2], %r5; ret;\n}\n"
    /* The same by way of another thread of the block. */
    ".visible .entry turned(.param .u64 p, .param .u32 n)\n{\n"
    " .reg .b64 %l<3>; .reg .b32 %r<9>; .reg .pred %p<3>; .shared .b32 s[128];\n"
    " ld.param.u64 %l1, [p]; ld.param.u32 %r1, [n]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    " mad.lo.u32 %r2, %r2, %r3, %r4; setp.ge.u32 %p1, %r2, %r1; mul.wide.u32 %l2, %r2, 4; add.u64 %l2, %l1, %l2;\n"
    " mov.u32 %r6, s; mad.lo.u32 %r6, %r4, 4, %r6; mov.u32 %r5, 0; @!%p1 ld.global.u32 %r5, [%l2]; st.shared.u32 [%r6], %r5; "
    "bar.sync 0;\n"
    " xor.b32 %r7, %r4, 33; mov.u32 %r8, s; mad.lo.u32 %r7, %r7, 4, %r8; ld.shared.u32 %r5, [%r7]; mad.lo.u32 %r5, %r5, 3, 1; "
    "bar.sync 0;\n"
    " st.shared.u32 [%r7], %r5; bar.sync 0; ld.shared.u32 %r5, [%r6]; @!%p1 st.global.u32 [%l2], %r5; ret;\n}\n"
    ".visible .entry count(.param .u64 p)\n{\n .reg .b64 %l<2>; ld.param.u64 %l1, [p];\n"
    " red.global.add.u32 [%l1], 1; red.global.add.u32 [launched], 1; ret;\n}\n";

static CUcontext context;
static CUmodule common;
static CUfunction step, turned, count;
static CUstream shared[SHARED_STREAMS];
static CUevent events[EVENTS];
static CUdeviceptr counter;
static uint32_t counted, called, rounds = 60;
static unsigned long long calls;

static void check(CUresult result, const char *what, int line)
{
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "line %d: %s: %d\n", line, what, (int)result);
        exit(1);
    }
}

#define OK(call) check(call, #call, __LINE__)

static void host_called(void *user)
{
    __atomic_fetch_add((uint32_t *)user, 1, __ATOMIC_RELAXED);
}

/* ---- One thread: its streams, what it expects in their buffers ---- */

/* The first of a thread's streams waits for the legacy stream, so it must not be captured: the others' launches there would end
 * the capture. */
static unsigned flags_of(int i)
{
    return i ? CU_STREAM_NON_BLOCKING : 0;
}

struct worker {
    unsigned seed;
    CUstream stream[STREAMS];
    CUdeviceptr data[STREAMS];
    uint32_t expected[STREAMS];
    CUevent mine;
    CUmemoryPool pool;
};

static unsigned some(struct worker *w, unsigned n)
{
    return (unsigned)rand_r(&w->seed) / 8 % n;
}

static void launch_step(struct worker *w, int i, CUfunction f)
{
    uint32_t n = N;
    void *args[] = { &w->data[i], &n };
    OK(awcu_cuLaunchKernel(f, (N + 127) / 128, 1, 1, 128, 1, 1, 0, w->stream[i], args, NULL));
    w->expected[i] = w->expected[i] * 3 + 1;
}

static void launch_count(CUstream s, CUfunction f)
{
    void *args[] = { &counter };
    OK(awcu_cuLaunchKernel(f, 2, 1, 1, 40, 1, 1, 0, s, args, NULL));
    __atomic_fetch_add(&counted, 80, __ATOMIC_RELAXED);
}

static void look_at(struct worker *w, int i, const uint32_t *values)
{
    for (int k = 0; k < N; k++)
        if (values[k] != w->expected[i]) {
            fprintf(stderr, "element %d is %u, not %u\n", k, values[k], w->expected[i]);
            exit(1);
        }
}

/* One stream's buffer to another's, in order by an event of one's own. */
static void hand_on(struct worker *w, int from, int to)
{
    OK(awcu_cuEventRecord(w->mine, w->stream[from]));
    OK(awcu_cuStreamWaitEvent(w->stream[to], w->mine, 0));
    OK(awcu_cuMemcpyDtoDAsync_v2(w->data[to], w->data[from], N * 4, w->stream[to]));
    w->expected[to] = w->expected[from];
    OK(awcu_cuEventRecord(w->mine, w->stream[to]));
    OK(awcu_cuStreamWaitEvent(w->stream[from], w->mine, 0));
}

static void module_round(struct worker *w, int i)
{
    CUmodule module;
    CUfunction f;
    CUdeviceptr launched;
    size_t size;
    uint32_t times = 0;
    OK(awcu_cuModuleLoadData(&module, text));
    OK(awcu_cuModuleGetFunction(&f, module, some(w, 2) ? "step" : "turned"));
    launch_step(w, i, f);
    OK(awcu_cuModuleGetFunction(&f, module, "count"));
    OK(awcu_cuModuleGetGlobal_v2(&launched, &size, module, "launched"));
    OK(awcu_cuMemsetD32Async(launched, 7, 1, w->stream[i]));
    launch_count(w->stream[i], f);
    OK(awcu_cuMemcpyDtoHAsync_v2(&times, launched, 4, w->stream[i]));
    OK(awcu_cuStreamSynchronize(w->stream[i]));
    if (times != 87) {
        fprintf(stderr, "a module of one's own counted %u, not 87\n", times);
        exit(1);
    }
    OK(awcu_cuModuleUnload(module));
}

static void graph_round(struct worker *w, int i)
{
    CUgraph graph;
    CUgraphExec exec;
    uint32_t before = w->expected[i];
    OK(awcu_cuStreamBeginCapture_v2(w->stream[i], CU_STREAM_CAPTURE_MODE_RELAXED));
    launch_step(w, i, step);
    launch_step(w, i, turned);
    launch_count(w->stream[i], count);
    OK(awcu_cuLaunchHostFunc(w->stream[i], host_called, &called));
    OK(awcu_cuStreamEndCapture(w->stream[i], &graph));
    OK(awcu_cuGraphInstantiateWithFlags(&exec, graph, 0));
    w->expected[i] = before;
    __atomic_fetch_sub(&counted, 80, __ATOMIC_RELAXED);
    for (unsigned k = 1 + some(w, 3); k > 0; k--) {
        OK(awcu_cuGraphLaunch(exec, w->stream[i]));
        w->expected[i] = (w->expected[i] * 3 + 1) * 3 + 1;
        __atomic_fetch_add(&counted, 80, __ATOMIC_RELAXED);
    }
    OK(awcu_cuGraphExecDestroy(exec));
    OK(awcu_cuGraphDestroy(graph));
}

static void pool_round(struct worker *w, int i)
{
    CUdeviceptr d;
    static const size_t sizes[] = { N * 4, 70000, 3 << 20 };
    size_t size = sizes[some(w, 3)];
    if (some(w, 2))
        OK(awcu_cuMemAllocAsync(&d, size, w->stream[i]));
    else
        OK(awcu_cuMemAllocFromPoolAsync(&d, size, w->pool, w->stream[i]));
    OK(awcu_cuMemcpyDtoDAsync_v2(d, w->data[i], N * 4, w->stream[i]));
    launch_step(w, i, step);
    OK(awcu_cuMemcpyDtoDAsync_v2(w->data[i], d, N * 4, w->stream[i]));
    w->expected[i] = (w->expected[i] - 1) * 0xaaaaaaabu; /* a third, as before the step */
    OK(awcu_cuMemFreeAsync(d, w->stream[i]));
    if (some(w, 8) == 0)
        OK(awcu_cuMemPoolTrimTo(w->pool, 0));
}

static void stream_round(struct worker *w, int i)
{
    OK(awcu_cuEventRecord(w->mine, w->stream[i]));
    OK(awcu_cuStreamDestroy_v2(w->stream[i])); /* with work in it */
    OK(awcu_cuStreamCreate(&w->stream[i], flags_of(i)));
    OK(awcu_cuStreamWaitEvent(w->stream[i], w->mine, 0));
}

static void read_round(struct worker *w, int i)
{
    uint32_t values[N];
    if (some(w, 2)) {
        OK(awcu_cuMemcpyDtoHAsync_v2(values, w->data[i], sizeof values, w->stream[i]));
        OK(awcu_cuStreamSynchronize(w->stream[i]));
        look_at(w, i, values);
        return;
    }
    for (int k = 0; k < N; k++)
        values[k] = w->expected[i] + 5;
    OK(awcu_cuMemcpyHtoDAsync_v2(w->data[i], values, sizeof values, w->stream[i]));
    w->expected[i] += 5;
    memset(values, 0, sizeof values); /* a pageable source is read when the call returns */
}

static void ask_round(struct worker *w, int i)
{
    size_t free_bytes, total;
    CUmemorytype type;
    CUevent any = events[some(w, EVENTS)];
    CUresult result = awcu_cuEventQuery(any);
    OK(result == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : result);
    result = awcu_cuStreamQuery(w->stream[i]);
    OK(result == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : result);
    OK(awcu_cuMemGetInfo_v2(&free_bytes, &total));
    OK(awcu_cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, w->data[i]));
    OK(awcu_cuEventRecord(any, shared[some(w, SHARED_STREAMS)]));
    OK(awcu_cuStreamWaitEvent(w->stream[i], events[some(w, EVENTS)], 0));
    if (some(w, 8) == 0)
        OK(awcu_cuEventSynchronize(any));
}

static void one_round(struct worker *w)
{
    int i = (int)some(w, STREAMS), k = (int)some(w, STREAMS);
    switch (some(w, 12)) {
    case 0: hand_on(w, i, k); break;
    case 1: module_round(w, i); break;
    case 2: graph_round(w, i ? i : 1); break;
    case 3:
    case 4: pool_round(w, i); break;
    case 5: stream_round(w, i); break;
    case 6: read_round(w, i); break;
    case 7: ask_round(w, i); break;
    case 8: launch_count(shared[some(w, SHARED_STREAMS)], count); break;
    case 9: launch_step(w, i, turned); break;
    case 10:
        OK(awcu_cuLaunchHostFunc(w->stream[i], host_called, &called));
        launch_count(NULL, count);
        break;
    default: launch_step(w, i, step);
    }
}

static void *work(void *arg)
{
    struct worker w = { .seed = *(unsigned *)arg };
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    OK(awcu_cuCtxSetCurrent(context));
    OK(awcu_cuEventCreate(&w.mine, CU_EVENT_DISABLE_TIMING));
    OK(awcu_cuMemPoolCreate(&w.pool, &props));
    for (int i = 0; i < STREAMS; i++) {
        OK(awcu_cuStreamCreate(&w.stream[i], flags_of(i)));
        OK(awcu_cuMemAlloc_v2(&w.data[i], N * 4));
        OK(awcu_cuMemsetD32Async(w.data[i], 0, N, w.stream[i]));
    }
    for (uint32_t r = 0; r < rounds; r++)
        one_round(&w);
    for (int i = 0; i < STREAMS; i++) {
        uint32_t values[N];
        OK(awcu_cuMemcpyDtoHAsync_v2(values, w.data[i], sizeof values, w.stream[i]));
        OK(awcu_cuStreamSynchronize(w.stream[i]));
        look_at(&w, i, values);
        OK(awcu_cuStreamDestroy_v2(w.stream[i]));
        OK(awcu_cuMemFree_v2(w.data[i]));
    }
    OK(awcu_cuMemPoolDestroy(w.pool));
    OK(awcu_cuEventDestroy_v2(w.mine));
    return NULL;
}

static void begin(void)
{
    OK(awcu_cuInit(0));
    OK(awcu_cuDevicePrimaryCtxRetain(&context, 0));
    OK(awcu_cuCtxSetCurrent(context));
    OK(awcu_cuModuleLoadData(&common, text));
    OK(awcu_cuModuleGetFunction(&step, common, "step"));
    OK(awcu_cuModuleGetFunction(&turned, common, "turned"));
    OK(awcu_cuModuleGetFunction(&count, common, "count"));
    OK(awcu_cuMemAlloc_v2(&counter, 4));
    OK(awcu_cuMemsetD32_v2(counter, 0, 1));
    for (int i = 0; i < SHARED_STREAMS; i++)
        OK(awcu_cuStreamCreate(&shared[i], i % 2 ? CU_STREAM_NON_BLOCKING : 0));
    for (int i = 0; i < EVENTS; i++)
        OK(awcu_cuEventCreate(&events[i], 0));
}

int main(int argc, char **argv)
{
    enum { MOST = 64 };
    pthread_t threads[MOST];
    unsigned seeds[MOST], n = argc > 1 ? (unsigned)atoi(argv[1]) : 6,
                          seed = argc > 3 ? (unsigned)atoi(argv[3]) : (unsigned)time(NULL);
    uint32_t total = 0;
    n = n > MOST ? MOST : n;
    if (argc > 2)
        rounds = (uint32_t)atoi(argv[2]);
    setenv("ANYWARP_DEVICE", "host", 0);
    printf("seed %u\n", seed);
    begin();
    for (unsigned i = 0; i < n; i++) {
        seeds[i] = seed * 64 + i;
        pthread_create(&threads[i], NULL, work, &seeds[i]);
    }
    for (unsigned i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    OK(awcu_cuCtxSynchronize());
    OK(awcu_cuMemcpyDtoH_v2(&total, counter, 4));
    if (total != counted) {
        fprintf(stderr, "counted %u, not %u\n", total, counted);
        return 1;
    }
    printf("%u threads, %llu calls, %u host functions\n", n, calls, called);
    OK(awcu_cuModuleUnload(common));
    OK(awcu_cuDevicePrimaryCtxReset_v2(0));
    return 0;
}
