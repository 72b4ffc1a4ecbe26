/* Memory that runs out, at random: every allocation of base, fatbin, cache, core, the providers and the entry bodies may fail, as
 * a seed says, while a program of the driver API goes through what these do.  A call may fail then; it may not crash, and what
 * follows once there is memory again must work.
 *
 *     test_alloc [FIRST_SEED [SEEDS]]      prints the seed that it dies in
 *
 * The linker puts __wrap_malloc and its like in the place of the C library's (meson.build).  Worker threads and the compiler
 * process see no failures: what they need is no answer to a call. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/cuda_proto.h"

/* ---- The failing allocator. */

static _Thread_local uint64_t state; /* 0: nothing fails */
static _Thread_local unsigned one_in;
static unsigned long injected;

static bool fails(void)
{
    if (!state)
        return false;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    if (state % one_in)
        return false;
    injected++;
    errno = ENOMEM;
    return true;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
int __real_posix_memalign(void **ret, size_t align, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
int __wrap_posix_memalign(void **ret, size_t align, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);

void *__wrap_malloc(size_t size) { return fails() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t n, size_t size) { return fails() ? NULL : __real_calloc(n, size); }
void *__wrap_realloc(void *p, size_t size) { return fails() ? NULL : __real_realloc(p, size); }
void *__wrap_aligned_alloc(size_t align, size_t size) { return fails() ? NULL : __real_aligned_alloc(align, size); }
int __wrap_posix_memalign(void **ret, size_t align, size_t size) { return fails() ? ENOMEM : __real_posix_memalign(ret, align,
                                                                                                                   size); }
char *__wrap_strdup(const char *s) { return fails() ? NULL : __real_strdup(s); }
char *__wrap_strndup(const char *s, size_t n) { return fails() ? NULL : __real_strndup(s, n); }

static void memory_runs_out(unsigned seed)
{
    one_in = 2 + seed % 5 * (seed % 7) * 4; /* from every second one to one in a hundred */
    state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

static void memory_is_back(void)
{
    state = 0;
}

/* ---- The program. */

static const char kernels[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .align 4 .u32 base = 7;\n"
    ".visible .entry put(.param .u64 out)\n{\n    .reg .b32 x, t;\n    .reg .b64 o, w;\n    ld.param.u64 o, [out];\n"
    "    mov.u32 t, %tid.x;\n    mul.wide.u32 w, t, 4;\n    add.u64 o, o, w;\n    ld.global.u32 x, [base];\n"
    "    add.u32 x, x, t;\n"
    "    st.global.u32 [o], x;\n    ret;\n}\n";

static volatile sig_atomic_t current;
static int failures;

static void died(int signal)
{
    char text[64];
    int n = snprintf(text, sizeof text, "signal %d in seed %d\n", signal, (int)current);
    if (write(2, text, (size_t)n) < 0)
        _exit(2);
    _exit(1);
}

/* What a call may say while memory runs out. */
static bool said(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS)
        return true;
    if (result != CUDA_ERROR_OUT_OF_MEMORY && result != CUDA_ERROR_OPERATING_SYSTEM &&
        result != CUDA_ERROR_JIT_COMPILER_NOT_FOUND && result != CUDA_ERROR_STREAM_CAPTURE_INVALIDATED &&
        result != CUDA_ERROR_STREAM_CAPTURE_UNJOINED) {
        memory_is_back();
        fprintf(stderr, "seed %d: %s says %d\n", (int)current, what, result);
        failures++;
    }
    return false;
}

#define TRY(call) said((call), #call)

static void nothing(void *unused)
{
    (void)unused;
}

static void memories(void)
{
    CUdeviceptr d = 0, p = 0, m = 0;
    void *host = NULL;
    char bytes[300] = { 1 };
    CUstream s = NULL;
    CUevent e = NULL;
    TRY(awcu_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    TRY(awcu_cuEventCreate(&e, CU_EVENT_DEFAULT));
    if (TRY(awcu_cuMemAlloc_v2(&d, 1000))) {
        TRY(awcu_cuMemcpyHtoDAsync_v2(d, bytes, sizeof bytes, s));
        TRY(awcu_cuMemsetD8_v2(d, 3, 1000));
        TRY(awcu_cuMemcpyDtoH_v2(bytes, d, sizeof bytes));
    }
    if (TRY(awcu_cuMemAllocAsync(&p, 5000, s)))
        TRY(awcu_cuMemFreeAsync(p, s));
    if (TRY(awcu_cuMemAllocManaged(&m, 100, CU_MEM_ATTACH_GLOBAL)))
        TRY(awcu_cuMemFree_v2(m));
    if (TRY(awcu_cuMemHostAlloc(&host, 100, 0)))
        TRY(awcu_cuMemFreeHost(host));
    if (e)
        TRY(awcu_cuEventRecord(e, s));
    TRY(awcu_cuLaunchHostFunc(s, nothing, NULL));
    TRY(awcu_cuStreamSynchronize(s));
    TRY(awcu_cuMemFree_v2(d));
    if (s)
        TRY(awcu_cuStreamDestroy_v2(s));
}

static void textures(void)
{
    CUarray a = NULL;
    CUmipmappedArray mip = NULL;
    CUtexObject t = 0;
    CUDA_ARRAY3D_DESCRIPTOR desc = { 8, 8, 0, CU_AD_FORMAT_FLOAT, 1, 0 };
    if (TRY(awcu_cuMipmappedArrayCreate(&mip, &desc, 3)))
        TRY(awcu_cuMipmappedArrayDestroy(mip));
    if (!TRY(awcu_cuArray3DCreate_v2(&a, &desc)))
        return;
    CUDA_RESOURCE_DESC resource = { .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = a };
    CUDA_TEXTURE_DESC sampler = { .flags = 2 };
    if (TRY(awcu_cuTexObjectCreate(&t, &resource, &sampler, NULL)))
        TRY(awcu_cuTexObjectDestroy(t));
    TRY(awcu_cuArrayDestroy(a));
}

static void graphs(void)
{
    CUgraph graph = NULL, captured = NULL, clone = NULL;
    CUgraphExec exec = NULL;
    CUgraphNode a = NULL, b = NULL, c = NULL;
    CUstream s = NULL;
    CUdeviceptr d = 0;
    CUDA_HOST_NODE_PARAMS host = { nothing, NULL };
    TRY(awcu_cuMemAlloc_v2(&d, 256));
    CUDA_MEMSET_NODE_PARAMS fill = { d, 0, 1, 1, 256, 1 };
    if (TRY(awcu_cuGraphCreate(&graph, 0))) {
        TRY(awcu_cuGraphAddHostNode(&a, graph, NULL, 0, &host));
        if (a && d)
            TRY(awcu_cuGraphAddMemsetNode(&b, graph, &a, 1, &fill, NULL));
        TRY(awcu_cuGraphAddChildGraphNode(&c, graph, NULL, 0, graph));
        if (TRY(awcu_cuGraphClone(&clone, graph)))
            TRY(awcu_cuGraphDestroy(clone));
        if (TRY(awcu_cuGraphInstantiateWithFlags(&exec, graph, 0))) {
            TRY(awcu_cuGraphLaunch(exec, NULL));
            TRY(awcu_cuCtxSynchronize());
            TRY(awcu_cuGraphExecDestroy(exec));
        }
        TRY(awcu_cuGraphDestroy(graph));
    }
    if (TRY(awcu_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING))) {
        if (TRY(awcu_cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED))) {
            if (d)
                TRY(awcu_cuMemsetD8Async(d, 0, 256, s));
            TRY(awcu_cuLaunchHostFunc(s, nothing, NULL));
            if (TRY(awcu_cuStreamEndCapture(s, &captured)))
                TRY(awcu_cuGraphDestroy(captured));
        }
        TRY(awcu_cuStreamDestroy_v2(s));
    }
    TRY(awcu_cuMemFree_v2(d));
}

static void modules(void)
{
    CUmodule module = NULL;
    CUfunction f = NULL;
    CUdeviceptr d = 0;
    static char text[sizeof kernels + 16];
    snprintf(text, sizeof text, "%s// %d\n", kernels, (int)current / 20); /* a text of its own now and then: that is compiled */
    if (!TRY(awcu_cuModuleLoadData(&module, text)))
        return;
    TRY(awcu_cuMemAlloc_v2(&d, 128));
    if (TRY(awcu_cuModuleGetFunction(&f, module, "put")) && d) {
        TRY(awcu_cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, (void *[]){ &d }, NULL));
        TRY(awcu_cuCtxSynchronize());
    }
    TRY(awcu_cuMemFree_v2(d));
    TRY(awcu_cuModuleUnload(module));
}

/* With memory: everything works, whatever went before. */
static void intact(void)
{
    CUmodule module;
    CUfunction f;
    CUdeviceptr d;
    unsigned words[32] = { 0 };
    if (!TRY(awcu_cuMemAlloc_v2(&d, sizeof words)) || !TRY(awcu_cuModuleLoadData(&module, kernels)) ||
        !TRY(awcu_cuModuleGetFunction(&f, module, "put")) ||
        !TRY(awcu_cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, (void *[]){ &d }, NULL)) ||
        !TRY(awcu_cuMemcpyDtoH_v2(words, d, sizeof words)) || words[31] != 38) {
        fprintf(stderr, "seed %d: with memory again, word 31 is %u\n", (int)current, words[31]);
        failures++;
        return;
    }
    TRY(awcu_cuModuleUnload(module));
    TRY(awcu_cuMemFree_v2(d));
}

int main(int argc, char **argv)
{
    int first = argc > 1 ? atoi(argv[1]) : 1, count = argc > 2 ? atoi(argv[2]) : 200;
    setenv("ANYWARP_DEVICE", "host", 1);
    setenv("ANYWARP_LOG", "none", 0);
    signal(SIGABRT, died);
    signal(SIGSEGV, died);
    CUcontext context = NULL;
    if (awcu_cuInit(0) || awcu_cuCtxCreate_v2(&context, 0, 0))
        return 1;
    intact();
    for (current = first; current < first + count && failures < 10; current++) {
        static void (*const parts[])(void) = { memories, textures, graphs, modules };
        CUcontext own = NULL;
        memory_runs_out((unsigned)current);
        if (TRY(awcu_cuCtxCreate_v2(&own, 0, 0)))
            for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
                parts[i]();
        memory_is_back();
        if (own)
            TRY(awcu_cuCtxDestroy_v2(own));
        intact();
    }
    printf("%d seeds, %lu allocations failed, %d failures\n", count, injected, failures);
    return failures || !injected;
}
