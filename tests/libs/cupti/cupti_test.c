/* CUPTI: records of kernels, copies, fills and calls, that belong together; callbacks; nothing once nobody asks.  Usage:
 * cupti_test */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cupti.h"

int cudaMalloc(void **ptr, size_t size);
int cudaFree(void *ptr);
int cudaMemcpy(void *dst, const void *src, size_t size, int kind);
int cudaMemsetAsync(void *ptr, int value, size_t size, CUstream stream);
int cudaDeviceSynchronize(void);
int cudaStreamCreate(CUstream *stream);
struct dim3 {
    unsigned x, y, z;
};
int cudaLaunchKernel(const void *func, struct dim3 grid, struct dim3 block, void **args, size_t shared, CUstream stream);
int cudaStreamBeginCapture(CUstream stream, int mode);
int cudaStreamEndCapture(CUstream stream, void **graph);
int cudaGraphInstantiate(void **exec, void *graph, unsigned long long flags);
int cudaGraphLaunch(void *exec, CUstream stream);
int cuModuleLoadData(void **module, const void *image);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuModuleUnload(void *module);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   CUstream stream, void **params, void **extra);

static int bad;
#define CHECK(condition) \
    do { \
        if (!(condition)) \
            bad++, printf("line %d: %s\n", __LINE__, #condition); \
    } while (0)
#define FINE(call) CHECK((call) == 0)

enum { MEMCPY = 1, MEMSET = 2, DRIVER = 4, RUNTIME = 5, KERNEL = 10, EXTERNAL = 39, BYTES = 4096 };
enum { CBID_LAUNCH = 307, CBID_MALLOC = 20, CBID_MEMCPY = 31, CBID_MEMSET_ASYNC = 51, CBID_HOST_FUNC = 527,
       CBID_GRAPH_LAUNCH = 514, CBID_RT_GRAPH_LAUNCH = 311 };

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry add_one(.param .u64 p)\n{\n .reg .u64 %a<4>;\n .reg .u32 %r<3>;\n"
                          " ld.param.u64 %a1, [p];\n"
                          " mov.u32 %r1, %tid.x;\n mul.wide.u32 %a2, %r1, 4;\n add.u64 %a3, %a1, %a2;\n"
                          " ld.global.u32 %r2, [%a3];\n"
                          " add.u32 %r2, %r2, 1;\n st.global.u32 [%a3], %r2;\n ret;\n}\n";

static const char ptx_variable[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                                   ".visible .global .u32 v = 5;\n.visible .global .align 4 .b8 zeros[4096];\n"
                                   ".visible .entry add_variable(.param .u64 p)\n{\n .reg .u64 %a<2>;\n .reg .u32 %r<4>;\n"
                                   " ld.param.u64 %a1, [p];\n ld.global.u32 %r1, [v];\n ld.global.u32 %r2, [zeros];\n"
                                   " add.u32 %r3, %r1, %r2;\n st.global.u32 [%a1], %r3;\n ret;\n}\n";

/* ---- Records, gathered as they come. */

static struct record {
    uint32_t words[64];
} records[256];
static int n_records, n_buffers;
static size_t buffer_size = 64 << 10, n_dropped;

static void request(uint8_t **buffer, size_t *size, size_t *most)
{
    *buffer = malloc(buffer_size);
    *size = buffer_size;
    *most = 0;
}

static void complete(CUcontext ctx, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    CUpti_Activity *r = NULL;
    size_t dropped = 0;
    (void)ctx, (void)stream;
    CHECK(valid <= size);
    FINE(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped)); /* as JAX's profiler asks, from here */
    n_dropped += dropped;
    n_buffers++;
    while (cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS && n_records < 256) {
        size_t left = valid - (size_t)((uint8_t *)r - buffer);
        memcpy(&records[n_records++], r, left < sizeof *records ? left : sizeof *records);
    }
    free(buffer);
}

static uint64_t word64(const struct record *r, size_t byte)
{
    uint64_t v;
    memcpy(&v, (const char *)r + byte, 8);
    return v;
}

static uint32_t word32(const struct record *r, size_t byte)
{
    return r->words[byte / 4];
}

/* The n-th of a kind. */
static const struct record *find(uint32_t kind, int n)
{
    for (int i = 0; i < n_records; i++)
        if (records[i].words[0] == kind && !n--)
            return &records[i];
    static const struct record none;
    CHECK(!"a record is missing");
    return &none;
}

/* The call's record by its function. */
static const struct record *call(uint32_t kind, uint32_t cbid)
{
    for (int i = 0; i < n_records; i++)
        if (records[i].words[0] == kind && records[i].words[1] == cbid)
            return &records[i];
    static const struct record none;
    printf("no call %u of kind %u\n", cbid, kind);
    bad++;
    return &none;
}

/* Records of a function of the runtime. */
static int calls_of(uint32_t cbid)
{
    int n = 0;
    for (int i = 0; i < n_records; i++)
        n += records[i].words[0] == RUNTIME && records[i].words[1] == cbid;
    return n;
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- What is watched. */

static void *function, *memory;
static CUstream stream;

static void work(void)
{
    char host[BYTES] = { 0 };
    void *at, *params[] = { &memory };
    FINE(cudaMalloc(&at, 64));
    FINE(cudaMemcpy(memory, host, BYTES, 1));
    FINE(cudaMemsetAsync(memory, 1, BYTES / 2, NULL));
    FINE(cuLaunchKernel(function, 3, 1, 1, 32, 2, 1, 0, stream, params, NULL));
    FINE(cudaDeviceSynchronize());
    FINE(cudaFree(at));
}

static void activities(void)
{
    const int kinds[] = { MEMCPY, MEMSET, KERNEL, DRIVER, RUNTIME, EXTERNAL };
    uint64_t last = 0, before = now();
    FINE(cuptiActivityRegisterCallbacks(request, complete));
    for (int i = 0; i < 6; i++)
        FINE(cuptiActivityEnable(kinds[i]));
    CHECK(cuptiActivityEnable(20) == CUPTI_ERROR_NOT_SUPPORTED);
    CHECK(cuptiActivityEnable(99) == CUPTI_ERROR_INVALID_KIND);
    FINE(cuptiActivityPushExternalCorrelationId(2, 4711));
    work();
    FINE(cuptiActivityPopExternalCorrelationId(2, &last));
    CHECK(last == 4711 && cuptiActivityPopExternalCorrelationId(2, &last) == CUPTI_ERROR_QUEUE_EMPTY);
    FINE(cuptiActivityFlushAll(0));
    uint64_t after = now();

    const struct record *kernel = find(KERNEL, 0), *copy = find(MEMCPY, 0), *fill = find(MEMSET, 0);
    uint64_t name = word64(kernel, 104);
    CHECK(name && !strcmp((const char *)(uintptr_t)name, "add_one"));
    CHECK(word32(kernel, 52) == 3 && word32(kernel, 56) == 1 && word32(kernel, 64) == 32 && word32(kernel, 68) == 2);
    CHECK(word32(kernel, 92) == word32(call(DRIVER, CBID_LAUNCH), 32) && word32(kernel, 92));
    CHECK(word32(copy, 44) == word32(call(RUNTIME, CBID_MEMCPY), 32) && word64(copy, 8) == BYTES);
    CHECK((copy->words[1] & 0xffffff) == 0x030101); /* host to device, pageable, to device memory */
    CHECK(word32(fill, 44) == word32(call(RUNTIME, CBID_MEMSET_ASYNC), 32) && word64(fill, 8) == BYTES / 2 &&
          word32(fill, 4) == 1);
    CHECK(word32(copy, 40) == 7 && word32(kernel, 48) != 7); /* streams: the default one, and another */
    const uint64_t times[] = { before, word64(copy, 16), word64(copy, 24), word64(fill, 16), word64(fill, 24), word64(kernel, 16),
                               word64(kernel, 24), after };
    for (int i = 1; i < 8; i++)
        CHECK(times[i - 1] <= times[i] + 2000000); /* two clocks, and floats between: what is beside the point is 2 ms */
    CHECK(word64(kernel, 16) <= word64(kernel, 24) && word64(copy, 16) <= word64(copy, 24));
    const struct record *external = find(EXTERNAL, 0);
    CHECK(word32(external, 4) == 2 && word64(external, 8) == 4711 &&
          word32(external, 16) == word32(call(RUNTIME, CBID_MALLOC), 32));

    uint32_t id = 0;
    FINE(cuptiGetStreamId(NULL, stream, &id));
    CHECK(id == word32(kernel, 48));
    for (int i = 0; i < 6; i++)
        FINE(cuptiActivityDisable(kinds[i]));
    n_records = 0;
    work();
    FINE(cuptiActivityFlushAll(1));
    CHECK(n_records == 0);
}

/* Single functions: switched off among all, and on alone; a kind is all of them again, whatever was said before. */
static void single_functions(void)
{
    FINE(cuptiActivityEnable(RUNTIME));
    FINE(cuptiActivityEnableRuntimeApi(CBID_MEMCPY, 0));
    n_records = 0;
    work();
    FINE(cuptiActivityFlushAll(0));
    CHECK(calls_of(CBID_MEMCPY) == 0 && calls_of(CBID_MALLOC) == 1 && calls_of(CBID_MEMSET_ASYNC) == 1);
    FINE(cuptiActivityEnable(RUNTIME));
    n_records = 0;
    work();
    FINE(cuptiActivityFlushAll(0));
    CHECK(calls_of(CBID_MEMCPY) == 1 && calls_of(CBID_MALLOC) == 1);
    FINE(cuptiActivityDisable(RUNTIME));
    FINE(cuptiActivityEnableRuntimeApi(CBID_MALLOC, 1));
    n_records = 0;
    work();
    FINE(cuptiActivityFlushAll(0));
    CHECK(n_records == 1 && calls_of(CBID_MALLOC) == 1);
    CHECK(word32(&records[0], 28) == (uint32_t)pthread_self());
    int type = 7;
    FINE(cuptiSetThreadIdType(1));
    FINE(cuptiGetThreadIdType(&type));
    n_records = 0;
    work();
    FINE(cuptiActivityFlushAll(0));
    CHECK(type == 1 && n_records == 1 && word32(&records[0], 28) == (uint32_t)getpid()); /* the first thread */
    CHECK(cuptiSetThreadIdType(2) == CUPTI_ERROR_NOT_SUPPORTED);
    FINE(cuptiSetThreadIdType(0));
    FINE(cuptiActivityEnableRuntimeApi(CBID_MALLOC, 0));
    n_records = 0;
    work();
    FINE(cuptiActivityFlushAll(0));
    CHECK(n_records == 0);
}

/* A module's variables are filled at its first launch: work of the runtime's own, which the program never asked for. */
static void variables(void)
{
    void *module, *kernel, *params[] = { &memory };
    FINE(cuModuleLoadData(&module, ptx_variable));
    FINE(cuModuleGetFunction(&kernel, module, "add_variable"));
    for (int i = 0; i < 3; i++)
        FINE(cuptiActivityEnable((const int[]){ MEMCPY, MEMSET, KERNEL }[i]));
    n_records = 0;
    FINE(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
    FINE(cudaDeviceSynchronize());
    FINE(cuptiActivityFlushAll(0));
    CHECK(n_records == 1 && records[0].words[0] == KERNEL);
    for (int i = 0; i < 3; i++)
        FINE(cuptiActivityDisable((const int[]){ MEMCPY, MEMSET, KERNEL }[i]));
    FINE(cuModuleUnload(module));
}

/* Buffers that hold few records come one after another, none is lost. */
static void small_buffers(void)
{
    buffer_size = 512;
    n_records = n_buffers = 0;
    FINE(cuptiActivityEnable(KERNEL));
    for (int i = 0; i < 20; i++)
        work();
    FINE(cuptiActivityFlushAll(0));
    CHECK(n_records == 20 && n_buffers >= 10);
    for (int i = 1; i < n_records; i++)
        CHECK(word64(&records[i], 16) >= word64(&records[i - 1], 16));
    FINE(cuptiActivityDisable(KERNEL));
    buffer_size = 64;
    n_records = n_dropped = 0;
    FINE(cuptiActivityEnable(KERNEL));
    work();
    FINE(cuptiActivityFlushAll(0));
    CHECK(n_records == 0 && n_dropped == 1);
    FINE(cuptiActivityDisable(KERNEL));
    buffer_size = 64 << 10;
}

static uint64_t ticks(void)
{
    return now() / 1000; /* a clock of the program's own: microseconds */
}

static void own_clock(void)
{
    uint64_t before = ticks(), stamp;
    n_records = 0;
    FINE(cuptiActivityRegisterTimestampCallback(ticks));
    FINE(cuptiGetTimestamp(&stamp));
    FINE(cuptiActivityEnable(KERNEL));
    work();
    FINE(cuptiActivityFlushAll(0));
    const struct record *kernel = find(KERNEL, 0);
    CHECK(stamp >= before && word64(kernel, 16) + 2000 >= before && word64(kernel, 24) <= ticks() + 2000);
    FINE(cuptiActivityDisable(KERNEL));
}

/* ---- Callbacks. */

struct callback_data {
    int site;
    const char *name;
    const void *params;
    void *result;
    const char *symbol;
    CUcontext context;
    uint32_t context_id;
    uint64_t *word;
    uint32_t correlation;
};
static int enters, exits;

static void heard(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *given)
{
    const struct callback_data *d = given;
    CHECK(user == &enters && domain == 1 && id == CBID_LAUNCH && !strcmp(d->name, "cuLaunchKernel") && d->context);
    struct {
        void *f;
        unsigned grid[3], block[3], shared;
        CUstream stream;
    } params;
    memcpy(&params, d->params, sizeof params);
    CHECK(params.f == function && params.grid[0] == 3 && params.block[0] == 32 && params.stream == stream);
    if (d->site == 0) {
        enters++;
        *d->word = 99;
        FINE(cudaDeviceSynchronize()); /* calls in a callback are not told */
    } else {
        exits++;
        CHECK(*d->word == 99 && *(const int *)d->result == 0);
    }
}

/* Launches of the runtime and of other libraries are the driver's, too, inside theirs. */
static int order[8], n_order;
static void *graph_exec;
static void heard_launch(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *given)
{
    const struct callback_data *d = given;
    (void)user;
    if (n_order < 8)
        order[n_order++] = 1000 * (int)domain + (int)id + 10000 * d->site;
    if (domain == 1 && id == CBID_GRAPH_LAUNCH)
        CHECK(*(void *const *)d->params == graph_exec && d->correlation);
    if (domain == 1 && id == CBID_LAUNCH)
        CHECK(!*(void *const *)d->params && ((const unsigned *)d->params)[2] == 1); /* a library's: no function, one block */
}

static void launches(void)
{
    CUpti_SubscriberHandle one;
    void *graph;
    FINE(cudaStreamBeginCapture(stream, 0));
    FINE(cudaMemsetAsync(memory, 0, 4, stream));
    FINE(cudaStreamEndCapture(stream, &graph));
    FINE(cudaGraphInstantiate(&graph_exec, graph, 0));
    n_order = 0;
    FINE(cuptiSubscribe(&one, heard_launch, NULL));
    FINE(cuptiEnableCallback(1, one, 1, CBID_GRAPH_LAUNCH));
    FINE(cuptiEnableCallback(1, one, 2, CBID_RT_GRAPH_LAUNCH));
    FINE(cuptiEnableCallback(1, one, 1, CBID_LAUNCH));
    FINE(cudaGraphLaunch(graph_exec, stream));
    CHECK(n_order == 4 && order[0] == 2000 + CBID_RT_GRAPH_LAUNCH && order[1] == 1000 + CBID_GRAPH_LAUNCH &&
          order[2] == order[1] + 10000 && order[3] == order[0] + 10000);
    FINE(cuptiUnsubscribe(one));
    FINE(cudaDeviceSynchronize());
    uint32_t id = 0, exec_id = 0;
    FINE(cuptiGetGraphId(graph, &id));
    FINE(cuptiGetGraphExecId(graph_exec, &exec_id));
    CHECK(id && exec_id && id != exec_id);
    CHECK(cuptiGetGraphId(NULL, &id) == CUPTI_ERROR_INVALID_PARAMETER);
}

static void callbacks(void)
{
    CUpti_SubscriberHandle one, two;
    const char *name = NULL;
    uint32_t on = 9;
    FINE(cuptiSubscribe(&one, heard, &enters));
    CHECK(cuptiSubscribe(&two, heard, NULL) == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    FINE(cuptiEnableCallback(1, one, 1, CBID_LAUNCH));
    FINE(cuptiGetCallbackState(&on, one, 1, CBID_LAUNCH));
    CHECK(on == 1);
    work();
    CHECK(enters == 1 && exits == 1);
    void *where = memory, *params[] = { &where };
    FINE(cudaLaunchKernel(function, (struct dim3){ 3, 1, 1 }, (struct dim3){ 32, 2, 1 }, params, 0, stream));
    FINE(cuptiEnableCallback(0, one, 1, CBID_LAUNCH));
    work();
    CHECK(enters == 2 && exits == 2);
    FINE(cuptiGetCallbackName(2, CBID_MALLOC, &name));
    CHECK(name && !strcmp(name, "cudaMalloc_v3020"));
    CHECK(cuptiGetCallbackName(2, 100000, &name) == CUPTI_ERROR_INVALID_PARAMETER);
    FINE(cuptiUnsubscribe(one));
    CHECK(cuptiUnsubscribe(one) == CUPTI_ERROR_INVALID_PARAMETER);
    FINE(cuptiSubscribe(&two, heard, NULL));
    FINE(cuptiFinalize());
}

/* A job is a launch of the driver's to a subscriber. */
static void library_launch(int (*uniform)(void *, float *, size_t), void *generator)
{
    CUpti_SubscriberHandle one;
    n_order = 0;
    FINE(cuptiActivityEnable(KERNEL));
    FINE(cuptiSubscribe(&one, heard_launch, NULL));
    FINE(cuptiEnableCallback(1, one, 1, CBID_LAUNCH));
    FINE(uniform(generator, memory, BYTES / 4));
    CHECK(n_order == 2 && order[0] == 1000 + CBID_LAUNCH && order[1] == order[0] + 10000);
    FINE(cuptiUnsubscribe(one));
    FINE(cuptiActivityDisable(KERNEL));
    FINE(cudaDeviceSynchronize());
    FINE(cuptiActivityFlushAll(0));
}

/* What another of CUDA's libraries does is a kernel with its function's name, of the call that gave it to the stream; in a graph,
 * a kernel at each launch. */
static void libraries(void)
{
    void *generator, *graph, *exec, *lib = dlopen("libcurand.so.10", RTLD_NOW);
    int (*create)(void **, int) = lib ? (int (*)(void **, int))dlsym(lib, "curandCreateGenerator") : NULL;
    int (*set)(void *, CUstream) = lib ? (int (*)(void *, CUstream))dlsym(lib, "curandSetStream") : NULL;
    int (*uniform)(void *, float *, size_t) = lib ? (int (*)(void *, float *, size_t))dlsym(lib, "curandGenerateUniform") : NULL;
    CHECK(create && set && uniform);
    if (!create || !set || !uniform)
        return;
    FINE(create(&generator, 161)); /* Philox */
    FINE(set(generator, stream));
    library_launch(uniform, generator);
    n_records = 0;
    FINE(cuptiActivityEnable(KERNEL));
    FINE(cuptiActivityEnable(DRIVER));
    FINE(uniform(generator, memory, BYTES / 4));
    FINE(cudaDeviceSynchronize());
    FINE(cuptiActivityFlushAll(0));
    const struct record *kernel = find(KERNEL, 0);
    uint32_t id = 0;
    FINE(cuptiGetStreamId(NULL, stream, &id));
    CHECK(word64(kernel, 104) && !strcmp((const char *)(uintptr_t)word64(kernel, 104), "curandGenerateUniform"));
    CHECK(word32(kernel, 92) == word32(call(DRIVER, CBID_HOST_FUNC), 32) && word32(kernel, 92) && word32(kernel, 48) == id);
    CHECK(word64(kernel, 16) < word64(kernel, 24) && word64(kernel, 24) <= now());
    FINE(cudaStreamBeginCapture(stream, 0));
    FINE(uniform(generator, memory, BYTES / 4));
    FINE(cudaStreamEndCapture(stream, &graph));
    FINE(cudaGraphInstantiate(&exec, graph, 0));
    n_records = 0;
    for (int i = 0; i < 2; i++)
        FINE(cudaGraphLaunch(exec, stream));
    FINE(cudaDeviceSynchronize());
    FINE(cuptiActivityFlushAll(0));
    for (int i = 0; i < 2; i++)
        CHECK(!strcmp((const char *)(uintptr_t)word64(find(KERNEL, i), 104), "curandGenerateUniform"));
    FINE(cuptiActivityDisable(KERNEL));
    FINE(cuptiActivityDisable(DRIVER));
    n_records = 0;
    FINE(uniform(generator, memory, BYTES / 4));
    FINE(cudaDeviceSynchronize());
    FINE(cuptiActivityFlushAll(0));
    CHECK(n_records == 0);
}

int main(void)
{
    void *module;
    FINE(cudaMalloc(&memory, BYTES));
    FINE(cudaStreamCreate(&stream));
    FINE(cuModuleLoadData(&module, ptx));
    FINE(cuModuleGetFunction(&function, module, "add_one"));
    work();
    activities();
    single_functions();
    variables();
    libraries();
    small_buffers();
    own_clock();
    callbacks();
    launches();
    FINE(cuModuleUnload(module));
    printf("%d wrong\n", bad);
    return bad != 0;
}
