// What calls of the runtime and driver API answer when they are used wrongly, or at their limits, and what ends a kernel: one
// line a question.  tests/recorded/api.txt has what NVIDIA's libraries said; tests/recorded/run compares.
//
//     api [GROUP]      all groups, each in a process of its own, since some errors stay; or one
// SPDX-License-Identifier: Apache-2.0
#include <cuda.h>
#include <cuda_runtime.h>
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *name(cudaError_t e) { return cudaGetErrorName(e); }
static const char *name(CUresult e)
{
    const char *s = "?";
    cuGetErrorName(e, &s);
    return s;
}
// The answer, and what cudaGetLastError says after it.
#define ASK(call)                                                                                    \
    do {                                                                                             \
        auto e_ = (call);                                                                            \
        cudaError_t last_ = cudaGetLastError();                                                      \
        printf("%s -> %s%s%s\n", #call, name(e_), last_ ? ", last " : "", last_ ? name(last_) : ""); \
    } while (0)
#define SAY(expression) printf("%s = %lld\n", #expression, (long long)(expression))

__global__ void nothing() {}
__global__ void store(int *p) { *p = 1; }
__global__ void many_parameters(int a, char b, double c, short d) { (void)a; (void)b; (void)c; (void)d; }
__global__ void __launch_bounds__(128) bounded(int *p) { *p = 1; }
__device__ int variable;
__constant__ int constant[4];
static void *const NOWHERE = (void *)0x10;

static void memory()
{
    void *p = nullptr, *q = nullptr;
    size_t pitch = 0, n, m;
    ASK(cudaMalloc(&p, 0));
    SAY(p == nullptr);
    ASK(cudaMalloc(nullptr, 4));
    ASK(cudaMalloc(&p, 1ull << 50));
    ASK(cudaMalloc(&p, 1000));
    SAY((uintptr_t)p % 256);
    ASK(cudaFree(nullptr));
    ASK(cudaFree((char *)p + 4));
    ASK(cudaFree(NOWHERE));
    ASK(cudaMallocPitch(&q, &pitch, 0, 4));
    ASK(cudaMallocPitch(&q, &pitch, 100, 0));
    ASK(cudaMallocPitch(&q, &pitch, 100, 4));
    SAY(pitch);
    ASK(cudaMallocPitch(nullptr, &pitch, 100, 4));
    ASK(cudaMemcpy(nullptr, p, 4, cudaMemcpyDeviceToHost));
    ASK(cudaMemcpy(&n, nullptr, 4, cudaMemcpyDeviceToHost));
    ASK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyDeviceToHost));
    ASK(cudaMemcpy(&n, p, 4, (cudaMemcpyKind)9));
    ASK(cudaMemcpy(&n, &m, 4, cudaMemcpyDeviceToHost));
    ASK(cudaMemcpy(p, &n, 4, cudaMemcpyDeviceToHost));
    ASK(cudaMemcpy(&n, p, 4, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy(&n, p, 4, cudaMemcpyDefault));
    ASK(cudaMemcpy(p, &n, 2000, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy((char *)p + 996, &n, 8, cudaMemcpyHostToDevice));
    ASK(cudaMemset(p, 0, 1001));
    ASK(cudaMemset(nullptr, 0, 0));
    ASK(cudaMemset(nullptr, 0, 1));
    ASK(cudaMemset(&n, 0, 4));
    ASK(cudaMemcpy2D(p, 4, &n, 8, 8, 1, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy2D(p, 8, &n, 4, 8, 1, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy2D(p, 8, &n, 8, 8, 0, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy2D(p, 1ull << 40, &n, 8, 8, 1, cudaMemcpyHostToDevice));
    ASK(cudaMemset2D(p, 4, 0, 8, 2));
    ASK(cudaMemcpyToSymbol(variable, &n, 8));
    ASK(cudaMemcpyToSymbol(constant, &n, 4, 16));
    ASK(cudaMemcpyToSymbol(constant, &n, 4, 12));
    ASK(cudaMemcpyFromSymbol(&n, variable, 4, 1));
    ASK(cudaMemcpyToSymbol((const void *)&n, &n, 4));
    ASK(cudaGetSymbolAddress(&q, (const void *)&n));
    ASK(cudaGetSymbolSize(&n, constant));
    SAY(n);
    ASK(cudaHostAlloc(&q, 0, 0));
    ASK(cudaHostAlloc(&q, 64, 0x80));
    ASK(cudaHostAlloc(&q, 64, cudaHostAllocMapped | cudaHostAllocPortable));
    unsigned flags = 99;
    ASK(cudaHostGetFlags(&flags, q));
    SAY(flags);
    ASK(cudaHostGetFlags(&flags, &n));
    ASK(cudaHostGetDevicePointer(&p, q, 1));
    ASK(cudaHostGetDevicePointer(&p, &n, 0));
    ASK(cudaFree(q));
    ASK(cudaFreeHost(q));
    ASK(cudaFreeHost(q));
    ASK(cudaFreeHost(nullptr));
    ASK(cudaFreeHost(&n));
    static char page[8192] __attribute__((aligned(4096)));
    ASK(cudaHostRegister(page, 4096, 0));
    ASK(cudaHostRegister(page, 4096, 0));
    ASK(cudaHostRegister(page + 2048, 4096, 0));
    ASK(cudaHostRegister(nullptr, 4096, 0));
    ASK(cudaHostRegister(page, 0, 0));
    ASK(cudaHostUnregister(page + 16));
    ASK(cudaHostUnregister(page));
    ASK(cudaHostUnregister(page));
    ASK(cudaMallocManaged(&q, 0));
    ASK(cudaMallocManaged(&q, 4, 7));
    ASK(cudaMallocManaged(&q, 4, cudaMemAttachHost));
    cudaPointerAttributes a;
    ASK(cudaPointerGetAttributes(&a, q));
    SAY(a.type);
    ASK(cudaPointerGetAttributes(&a, &n));
    SAY(a.type);
    SAY(a.device);
    ASK(cudaPointerGetAttributes(&a, nullptr));
    SAY(a.type);
    ASK(cudaPointerGetAttributes(nullptr, q));
    ASK(cudaMemGetInfo(&n, nullptr));
    ASK(cudaFree(q));
    ASK(cudaFree(q));
}

static void streams()
{
    cudaStream_t s, gone;
    cudaEvent_t e, f;
    float ms = -1;
    unsigned flags;
    int least, greatest, priority;
    ASK(cudaStreamCreate(nullptr));
    ASK(cudaStreamCreateWithFlags(&s, 7));
    ASK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    ASK(cudaStreamGetFlags(s, &flags));
    SAY(flags);
    ASK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    SAY(least);
    SAY(greatest);
    ASK(cudaStreamCreateWithPriority(&gone, 0, -100));
    ASK(cudaStreamGetPriority(gone, &priority));
    SAY(priority);
    ASK(cudaStreamDestroy(gone));
    ASK(cudaStreamDestroy(nullptr));
    ASK(cudaStreamDestroy(cudaStreamLegacy));
    ASK(cudaStreamQuery(s));
    ASK(cudaStreamSynchronize(cudaStreamPerThread));
    ASK(cudaStreamWaitEvent(s, nullptr, 0));
    ASK(cudaEventCreateWithFlags(&e, 0x40));
    ASK(cudaEventCreateWithFlags(&e, cudaEventInterprocess));
    ASK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    ASK(cudaEventCreate(&f));
    ASK(cudaEventElapsedTime(&ms, e, f));
    ASK(cudaEventQuery(e));
    ASK(cudaEventSynchronize(e));
    ASK(cudaEventRecord(e, s));
    ASK(cudaEventRecord(f, s));
    ASK(cudaEventSynchronize(f));
    ASK(cudaEventElapsedTime(&ms, e, f));
    ASK(cudaEventElapsedTime(&ms, f, nullptr));
    ASK(cudaEventElapsedTime(nullptr, f, f));
    ASK(cudaEventDestroy(nullptr));
    ASK(cudaEventRecord(nullptr, s));
    ASK(cudaStreamWaitEvent(s, e, 5));
    ASK(cudaLaunchHostFunc(s, nullptr, nullptr));
    ASK(cudaStreamAddCallback(s, nullptr, nullptr, 0));
    ASK(cudaStreamAttachMemAsync(s, nullptr, 0, cudaMemAttachSingle));
    ASK(cudaMemcpyAsync(&ms, nullptr, 4, cudaMemcpyDeviceToHost, s));
    ASK(cudaMemPrefetchAsync(nullptr, 4, cudaMemLocation{ cudaMemLocationTypeDevice, 0 }, 0, s));
    void *p;
    ASK(cudaMallocAsync(&p, 0, s));
    ASK(cudaMallocAsync(&p, 64, s));
    ASK(cudaFreeAsync(p, s));
    ASK(cudaFreeAsync(nullptr, s));
    ASK(cudaStreamSynchronize(s));
    ASK(cudaStreamDestroy(s));
}

static void captures()
{
    cudaStream_t s, t;
    cudaGraph_t g = nullptr;
    cudaGraphExec_t x = nullptr;
    cudaStreamCaptureStatus status;
    int *p;
    cudaMalloc(&p, 64);
    cudaStreamCreate(&s);
    cudaStreamCreate(&t);
    ASK(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal));
    ASK(cudaStreamBeginCapture(s, (cudaStreamCaptureMode)9));
    ASK(cudaStreamEndCapture(s, &g));
    ASK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    ASK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    ASK(cudaStreamIsCapturing(s, &status));
    SAY(status);
    ASK(cudaMalloc(&p, 64));
    ASK(cudaStreamIsCapturing(s, &status));
    SAY(status);
    ASK(cudaStreamQuery(s));
    ASK(cudaStreamIsCapturing(s, &status));
    SAY(status);
    ASK(cudaStreamEndCapture(s, &g));
    SAY(g == nullptr);
    ASK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    store<<<1, 1, 0, s>>>(p);
    ASK(cudaStreamSynchronize(s));
    ASK(cudaStreamEndCapture(s, &g));
    ASK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    cudaEvent_t e;
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    store<<<1, 1, 0, s>>>(p);
    ASK(cudaEventRecord(e, s));
    ASK(cudaEventQuery(e));
    ASK(cudaStreamWaitEvent(t, e, 0));
    store<<<1, 1, 0, t>>>(p);
    ASK(cudaStreamEndCapture(s, &g));
    ASK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    store<<<1, 1, 0, s>>>(p);
    store<<<1, 1, 0, nullptr>>>(p);
    ASK(cudaGetLastError());
    ASK(cudaStreamEndCapture(s, &g));
    ASK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    store<<<1, 1, 0, s>>>(p);
    ASK(cudaStreamEndCapture(s, &g));
    size_t n = 0;
    ASK(cudaGraphGetNodes(g, nullptr, &n));
    SAY(n);
    ASK(cudaGraphInstantiate(&x, g, 0));
    ASK(cudaGraphLaunch(x, s));
    ASK(cudaGraphLaunch(nullptr, s));
    ASK(cudaGraphInstantiate(&x, nullptr, 0));
    ASK(cudaGraphExecDestroy(x));
    ASK(cudaGraphDestroy(g));
    ASK(cudaGraphDestroy(nullptr));
    cudaGraph_t h;
    cudaGraphNode_t a, b;
    ASK(cudaGraphCreate(&h, 1));
    ASK(cudaGraphCreate(&h, 0));
    ASK(cudaGraphAddEmptyNode(&a, h, nullptr, 0));
    ASK(cudaGraphAddEmptyNode(&b, h, &a, 1));
    ASK(cudaGraphAddDependencies(h, &b, &a, nullptr, 1));
    ASK(cudaGraphAddDependencies(h, &a, &a, nullptr, 1));
    ASK(cudaGraphAddDependencies(h, &a, &b, nullptr, 1));
    ASK(cudaGraphInstantiate(&x, h, 0));
    ASK(cudaGraphDestroyNode(a));
    cudaKernelNodeParams kernel = {};
    ASK(cudaGraphAddKernelNode(&a, h, nullptr, 0, &kernel));
    cudaMemsetParams set = {};
    ASK(cudaGraphAddMemsetNode(&a, h, nullptr, 0, &set));
}

static void launches()
{
    int *p;
    cudaMalloc(&p, 64);
    void *args[] = { &p };
    ASK((nothing<<<0, 1>>>(), cudaPeekAtLastError()));
    ASK((nothing<<<1, 0>>>(), cudaPeekAtLastError()));
    ASK((nothing<<<1, 1025>>>(), cudaPeekAtLastError()));
    ASK((nothing<<<1, dim3(1, 1, 65)>>>(), cudaPeekAtLastError()));
    ASK((nothing<<<dim3(1, 65536, 1), 1>>>(), cudaPeekAtLastError()));
    ASK((nothing<<<dim3(1, 1, 65536), 1>>>(), cudaPeekAtLastError()));
    ASK((nothing<<<dim3(2147483648u, 1, 1), 1>>>(), cudaPeekAtLastError()));
    ASK((nothing<<<1, 1, 49153>>>(), cudaPeekAtLastError()));
    ASK((nothing<<<1, 1, 1 << 20>>>(), cudaPeekAtLastError()));
    ASK((bounded<<<1, 129>>>(p), cudaPeekAtLastError()));
    ASK((nothing<<<1, 1, 0, (cudaStream_t)nullptr>>>(), cudaPeekAtLastError()));
    ASK(cudaLaunchKernel((const void *)&p, dim3(1), dim3(1), args, 0, nullptr));
    ASK(cudaLaunchKernel((const void *)nullptr, dim3(1), dim3(1), args, 0, nullptr));
    ASK(cudaLaunchCooperativeKernel((const void *)nothing, dim3(1000000), dim3(1), args, 0, nullptr));
    ASK(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20));
    ASK(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, -1));
    ASK(cudaFuncSetAttribute(nothing, (cudaFuncAttribute)0, 1));
    ASK(cudaFuncSetAttribute(nothing, cudaFuncAttributePreferredSharedMemoryCarveout, 101));
    ASK(cudaFuncSetAttribute(nothing, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
    cudaFuncAttributes a;
    ASK(cudaFuncGetAttributes(&a, (const void *)&p));
    ASK(cudaFuncGetAttributes(nullptr, nothing));
    ASK(cudaFuncGetAttributes(&a, bounded));
    SAY(a.maxThreadsPerBlock);
    SAY(a.maxDynamicSharedSizeBytes);
    int n;
    ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, nothing, 0, 0));
    ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, nothing, 2000, 0));
    SAY(n);
    ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, nothing, 1024, 0));
    SAY(n);
    ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, bounded, 256, 0));
    SAY(n);
    ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, nothing, 32, 0));
    size_t offset, size;
    ASK(cudaFuncGetParamInfo((const void *)many_parameters, 2, &offset, &size));
    SAY(offset);
    SAY(size);
    ASK(cudaFuncGetParamInfo((const void *)many_parameters, 4, &offset, &size));
    const char *text;
    ASK(cudaFuncGetName(&text, (const void *)many_parameters));
    printf("name %s\n", text);
    cudaLaunchConfig_t config = {};
    config.gridDim = config.blockDim = dim3(1);
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 3, attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
    ASK(cudaLaunchKernelEx(&config, nothing));
    ASK(cudaDeviceSynchronize());
}

static void devices()
{
    int n = -1, value;
    cudaDeviceProp prop;
    char id[4];
    ASK(cudaSetDevice(-1));
    ASK(cudaSetDevice(77));
    ASK(cudaGetDevice(nullptr));
    ASK(cudaGetDevice(&n));
    SAY(n);
    ASK(cudaGetDeviceProperties(&prop, 77));
    ASK(cudaDeviceGetAttribute(&value, (cudaDeviceAttr)0, 0));
    ASK(cudaDeviceGetAttribute(&value, (cudaDeviceAttr)9999, 0));
    ASK(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 77));
    ASK(cudaDeviceGetPCIBusId(id, sizeof id, 0));
    ASK(cudaDeviceGetByPCIBusId(&n, "ffff:ff:1f.7"));
    ASK(cudaDeviceGetByPCIBusId(&n, "nonsense"));
    ASK(cudaDeviceCanAccessPeer(&value, 0, 0));
    SAY(value);
    ASK(cudaDeviceEnablePeerAccess(0, 0));
    ASK(cudaDeviceDisablePeerAccess(0));
    ASK(cudaSetDeviceFlags(0xff00));
    ASK(cudaSetDeviceFlags(cudaDeviceScheduleYield));
    unsigned flags;
    ASK(cudaGetDeviceFlags(&flags));
    SAY(flags);
    ASK(cudaDeviceSetLimit(cudaLimitStackSize, 1ull << 40));
    ASK(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
    size_t limit;
    ASK(cudaDeviceGetLimit(&limit, cudaLimitStackSize));
    SAY(limit);
    ASK(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
    SAY(limit);
    ASK(cudaDeviceGetLimit(&limit, cudaLimitPrintfFifoSize));
    SAY(limit);
    ASK(cudaDeviceGetLimit(&limit, (cudaLimit)99));
    ASK(cudaDeviceSetLimit((cudaLimit)99, 1));
    ASK(cudaDeviceSetCacheConfig((cudaFuncCache)9));
    ASK(cudaDriverGetVersion(nullptr));
    ASK(cudaRuntimeGetVersion(nullptr));
    ASK(cudaDeviceReset());
    for (int e = 0; e < 1000; e++) {
        const char *s = cudaGetErrorName((cudaError_t)e);
        if (strcmp(s, "unrecognized error code"))
            printf("%d %s\n", e, s);
    }
    printf("%s\n", cudaGetErrorString((cudaError_t)12345));
    const char *text = "unchanged";
    ASK(cuGetErrorName((CUresult)12345, &text));
    printf("%s\n", text ? text : "null");
}

static void driver_before()
{
    CUdevice d;
    CUcontext c;
    int n;
    CUdeviceptr p;
    printf("%s\n", name(cuDeviceGet(&d, 0)));
    printf("%s\n", name(cuDeviceGetCount(&n)));
    printf("%s\n", name(cuCtxGetCurrent(&c)));
    printf("%s\n", name(cuMemAlloc(&p, 4)));
    printf("%s\n", name(cuInit(1)));
    printf("%s\n", name(cuInit(0)));
    printf("%s\n", name(cuMemAlloc(&p, 4)));
    printf("%s\n", name(cuCtxSynchronize()));
    printf("%s\n", name(cuDeviceGet(&d, 77)));
    printf("%s\n", name(cuDeviceGet(nullptr, 0)));
    printf("%s\n", name(cuDeviceGet(&d, 0)));
    printf("%s\n", name(cuCtxPopCurrent(&c)));
    printf("%s\n", name(cuDevicePrimaryCtxRelease(d)));
    printf("%s\n", name(cuDevicePrimaryCtxRetain(&c, d)));
    printf("%s\n", name(cuCtxSetCurrent(c)));
    printf("%s\n", name(cuMemAlloc(&p, 0)));
    printf("%s\n", name(cuMemAlloc(nullptr, 4)));
    printf("%s\n", name(cuMemAlloc(&p, 1ull << 50)));
    printf("%s\n", name(cuMemFree(0)));
    printf("%s\n", name(cuMemFree(16)));
    printf("%s\n", name(cuMemAlloc(&p, 100)));
    printf("%s\n", name(cuMemsetD32(p + 1, 0, 1)));
    printf("%s\n", name(cuMemsetD16(p + 1, 0, 1)));
    printf("%s\n", name(cuMemsetD8(p, 0, 101)));
    printf("%s\n", name(cuMemcpyHtoD(p, nullptr, 4)));
    printf("%s\n", name(cuMemcpyDtoH(nullptr, p, 4)));
    printf("%s\n", name(cuMemcpyDtoD(p, 0, 4)));
    printf("%s\n", name(cuMemcpyDtoH(&n, p + 98, 4)));
    CUcontext extra;
    printf("%s\n", name(cuCtxCreate(&extra, nullptr, 0x1000, d)));
    printf("%s\n", name(cuCtxCreate(&extra, nullptr, 0, d)));
    printf("%s\n", name(cuCtxDestroy(extra)));
    printf("%s\n", name(cuCtxGetCurrent(&extra)));
    printf("%d\n", extra == nullptr);
    printf("%s\n", name(cuCtxSetCurrent(c)));
    printf("%s\n", name(cuCtxDestroy(c)));
    printf("%s\n", name(cuCtxDestroy(nullptr)));
    printf("%s\n", name(cuDevicePrimaryCtxReset(d)));
}

static const char good[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .align 4 .u32 g[3];\n"
                           ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n ret;\n}\n";
static void modules()
{
    CUmodule m = nullptr;
    CUfunction f = nullptr;
    CUdeviceptr p;
    size_t n;
    cudaFree(nullptr);
    ASK(cuModuleLoadData(&m, nullptr));
    ASK(cuModuleLoadData(&m, "this is no module at all, and no text of PTX"));
    ASK(cuModuleLoadData(&m, ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() { nonsense.u32 %r1; }\n"));
    ASK(cuModuleLoadData(&m, ".version 99.0\n.target sm_70\n.address_size 64\n.visible .entry k() { ret; }\n"));
    ASK(cuModuleLoadData(&m, ".version 7.0\n.target sm_999\n.address_size 64\n.visible .entry k() { ret; }\n"));
    ASK(cuModuleLoadData(&m, ".version 7.0\n.target sm_70\n.address_size 64\n.extern .func missing;\n"
                             ".visible .entry k() { call missing; ret; }\n"));
    ASK(cuModuleLoadData(&m, ".version 7.0\n.target sm_70\n.address_size 64\n.extern .func missing();\n"
                             ".visible .entry k() { call missing, (); ret; }\n"));
    ASK(cuModuleLoadData(&m, ".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry k() { ret; }\n"));
    ASK(cuModuleLoadData(&m, ""));
    ASK(cuModuleLoadData(&m, "\177ELF rubbish that follows a magic number                                                    "));
    ASK(cuModuleLoad(&m, "/nowhere/at/all.cubin"));
    ASK(cuModuleLoadData(&m, good));
    ASK(cuModuleGetFunction(&f, m, "absent"));
    ASK(cuModuleGetFunction(&f, m, ""));
    ASK(cuModuleGetFunction(&f, m, "g"));
    ASK(cuModuleGetFunction(&f, m, "k"));
    ASK(cuModuleGetGlobal(&p, &n, m, "absent"));
    ASK(cuModuleGetGlobal(nullptr, &n, m, "g"));
    SAY(n);
    ASK(cuModuleGetGlobal(&p, nullptr, m, "k"));
    uint64_t a = 0;
    uint32_t b = 0;
    void *params[] = { &a, &b };
    char buffer[16] = {};
    size_t size = 12, small = 8;
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END };
    void *less[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &small, CU_LAUNCH_PARAM_END };
    ASK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr));
    ASK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra));
    ASK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, less));
    ASK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, params, extra));
    ASK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
    ASK(cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr));
    ASK(cuLaunchKernel(f, 0, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr));
    ASK(cuLaunchKernel(f, 1, 1, 1, 2048, 1, 1, 0, nullptr, params, nullptr));
    ASK(cuLaunchKernel(f, 1, 1, 1, 32, 32, 2, 0, nullptr, params, nullptr));
    ASK(cuLaunchKernel(f, 1, 70000, 1, 1, 1, 1, 0, nullptr, params, nullptr));
    ASK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 50000, nullptr, params, nullptr));
    int value;
    ASK(cuFuncGetAttribute(&value, (CUfunction_attribute)99, f));
    ASK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_BINARY_VERSION, f));
    ASK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PTX_VERSION, f));
    SAY(value);
    ASK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS, 4));
    ASK(cuModuleUnload(m));
    ASK(cuModuleUnload(nullptr));
    char log[2000] = "";
    CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    void *values[] = { log, (void *)sizeof log };
    ASK(cuModuleLoadDataEx(&m, ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n{\n add.u32 %a, %b;\n}\n", 2,
                           options, values));
    SAY(strlen(log) > 0);
    CUlinkState link;
    ASK(cuLinkCreate(0, nullptr, nullptr, &link));
    ASK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)"rubbish", 8, "r", 0, nullptr, nullptr));
    ASK(cuLinkDestroy(link));
    CUlibrary library;
    CUkernel kernel;
    ASK(cuLibraryLoadData(&library, good, nullptr, nullptr, 0, nullptr, nullptr, 0));
    ASK(cuLibraryGetKernel(&kernel, library, "absent"));
    ASK(cuLibraryGetKernel(&kernel, library, "k"));
    ASK(cuLibraryGetGlobal(&p, &n, library, "g"));
    ASK(cuLibraryGetGlobal(&p, &n, library, "absent"));
    ASK(cuKernelGetFunction(&f, kernel));
    ASK(cuLibraryUnload(library));
    void *entry;
    CUdriverProcAddressQueryResult found;
    ASK(cuGetProcAddress("cuNothingAtAll", &entry, 12000, 0, &found));
    SAY(found);
    ASK(cuGetProcAddress("cuMemAlloc", &entry, 2000, 0, &found));
    SAY(found);
    ASK(cuGetProcAddress("cuLibraryLoadData", &entry, 11000, 0, &found));
    SAY(found);
    ASK(cuGetProcAddress("cuMemAlloc", &entry, 12000, 0x40, &found));
    ASK(cuGetProcAddress(nullptr, &entry, 12000, 0, &found));
    ASK(cudaGetDriverEntryPoint("cuNothingAtAll", &entry, 0, (cudaDriverEntryPointQueryResult *)&found));
    SAY(found);
}

static void arrays()
{
    cudaArray_t a = nullptr;
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>(), odd = { 8, 8, 8, 0, cudaChannelFormatKindUnsigned },
                          wide = { 64, 0, 0, 0, cudaChannelFormatKindUnsigned };
    float v[64] = {};
    ASK(cudaMallocArray(&a, &f, 0, 0));
    ASK(cudaMallocArray(&a, &odd, 8, 8));
    ASK(cudaMallocArray(&a, &wide, 8, 8));
    ASK(cudaMallocArray(&a, nullptr, 8, 8));
    ASK(cudaMallocArray(&a, &f, 1 << 20, 1 << 20));
    ASK(cudaMallocArray(&a, &f, 8, 8, 0x1000));
    ASK(cudaMallocArray(&a, &f, 8, 8));
    ASK(cudaMemcpy2DToArray(a, 4, 0, v, 32, 32, 8, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy2DToArray(a, 0, 0, v, 16, 32, 8, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy2DToArray(a, 1, 0, v, 16, 16, 1, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy2DToArray(a, 0, 8, v, 32, 32, 1, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy2DToArray(a, 0, 0, v, 32, 32, 8, cudaMemcpyHostToDevice));
    cudaResourceDesc res = {};
    cudaTextureDesc desc = {};
    cudaTextureObject_t t;
    cudaSurfaceObject_t s;
    res.resType = cudaResourceTypeArray;
    ASK(cudaCreateTextureObject(&t, &res, &desc, nullptr));
    res.res.array.array = a;
    ASK(cudaCreateTextureObject(nullptr, &res, &desc, nullptr));
    ASK(cudaCreateTextureObject(&t, &res, nullptr, nullptr));
    desc.readMode = cudaReadModeNormalizedFloat;
    ASK(cudaCreateTextureObject(&t, &res, &desc, nullptr));
    desc.readMode = cudaReadModeElementType;
    desc.addressMode[0] = cudaAddressModeWrap;
    ASK(cudaCreateTextureObject(&t, &res, &desc, nullptr));
    cudaTextureDesc back;
    ASK(cudaGetTextureObjectTextureDesc(&back, t));
    SAY(back.addressMode[0]);
    SAY(back.addressMode[1]);
    ASK(cudaCreateSurfaceObject(&s, &res));
    ASK(cudaDestroyTextureObject(t));
    ASK(cudaDestroyTextureObject(0));
    ASK(cudaDestroyTextureObject(12345));
    void *linear;
    cudaMalloc(&linear, 4096);
    res.resType = cudaResourceTypeLinear;
    res.res.linear.devPtr = (char *)linear + 4;
    res.res.linear.desc = f;
    res.res.linear.sizeInBytes = 1024;
    ASK(cudaCreateTextureObject(&t, &res, &desc, nullptr));
    res.res.linear.devPtr = linear;
    desc.filterMode = cudaFilterModeLinear;
    ASK(cudaCreateTextureObject(&t, &res, &desc, nullptr));
    desc.filterMode = cudaFilterModePoint;
    desc.normalizedCoords = 1;
    ASK(cudaCreateTextureObject(&t, &res, &desc, nullptr));
    desc.normalizedCoords = 0;
    ASK(cudaCreateTextureObject(&t, &res, &desc, nullptr));
    res.resType = cudaResourceTypePitch2D;
    res.res.pitch2D.devPtr = linear;
    res.res.pitch2D.desc = f;
    res.res.pitch2D.width = 8;
    res.res.pitch2D.height = 8;
    res.res.pitch2D.pitchInBytes = 33;
    ASK(cudaCreateTextureObject(&t, &res, &desc, nullptr));
    res.res.pitch2D.pitchInBytes = 64;
    ASK(cudaCreateTextureObject(&t, &res, &desc, nullptr));
    cudaMipmappedArray_t m;
    ASK(cudaMallocMipmappedArray(&m, &f, make_cudaExtent(8, 8, 0), 9));
    cudaArray_t level;
    ASK(cudaGetMipmappedArrayLevel(&level, m, 3));
    ASK(cudaGetMipmappedArrayLevel(&level, m, 4));
    cudaExtent extent;
    unsigned flags;
    cudaChannelFormatDesc g;
    ASK(cudaArrayGetInfo(&g, &extent, &flags, a));
    SAY(extent.depth);
    ASK(cudaMalloc3DArray(&a, &f, make_cudaExtent(8, 7, 6), cudaArrayCubemap));
    ASK(cudaMalloc3DArray(&a, &f, make_cudaExtent(8, 8, 5), cudaArrayCubemap));
    ASK(cudaMalloc3DArray(&a, &f, make_cudaExtent(8, 8, 4), cudaArrayLayered));
    ASK(cudaFreeArray(nullptr));
}

// ---- What ends a kernel
__device__ volatile int zero;
typedef int function(int);
__device__ function *volatile pointer;
__device__ int deep(int n)
{
    volatile int space[64];
    space[n & 63] = n;
    return n == -1 ? 0 : deep(n + 1) + space[(n + 1) & 63];
}
__global__ void fault(int kind, char *p, size_t n)
{
    extern __shared__ int shared[];
    volatile int local[4] = { 1, 2, 3, 4 };
    switch (kind) {
    case 0: *(volatile int *)nullptr = 1; break;
    case 1: *(volatile int *)(p + 2) = 1; break;
    case 2: zero = *(volatile int *)(p + 1); break;
    case 3: ((volatile double2 *)(p + 8))->x = 1; *(double2 *)(p + 8 + zero) = make_double2(1, 2); break;
    case 4: *(volatile int *)((char *)shared + 2 + zero) = 1; break;
    case 5: shared[zero + (1 << 20)] = 1; break;
    case 6: *(volatile int *)(p + (1ll << 45)) = 1; break;
    case 7: asm volatile("trap;"); break;
    case 8: asm volatile("brkpt;"); break;
    case 9: assert(zero == 1); break;
    case 10: zero = pointer(1); break;
    case 11: zero = deep(zero); break;
    case 12: atomicAdd((int *)(p + 2 + zero), 1); break;
    case 13: atomicAdd((int *)nullptr + zero, 1); break;
    case 14: *(volatile int *)((char *)local + 1 + zero) = 1; break;
    case 15: __trap(); break;
    case 16: asm volatile("ld.global.u32 %0, [%1];" : "=r"(kind) : "l"(0x7ffff0000000ull)); zero = kind; break;
    case 17: asm volatile("exit;"); break;
    }
}

static void one_fault(int kind)
{
    char *p;
    if (!freopen("/dev/null", "w", stderr)) // the assertion's text, which goes either way
        return;
    cudaMalloc(&p, 4096);
    fault<<<1, 1, 64>>>(kind, p, 4096);
    cudaError_t launched = cudaGetLastError(), sync = cudaDeviceSynchronize(), last = cudaGetLastError(),
                again = cudaGetLastError();
    void *q;
    cudaError_t alloc = cudaMalloc(&q, 4), copy = cudaMemcpy(&q, p, 4, cudaMemcpyDeviceToHost), freed = cudaFree(p);
    cudaStream_t s;
    cudaError_t stream = cudaStreamCreate(&s), count = cudaGetDeviceCount(&kind), reset = cudaDeviceReset();
    cudaError_t after = cudaMalloc(&p, 4);
    printf("launch %s, wait %s, last %s, again %s, malloc %s, copy %s, free %s, stream %s, count %s, reset %s, malloc %s\n",
           name(launched), name(sync), name(last), name(again), name(alloc), name(copy), name(freed), name(stream), name(count),
           name(reset), name(after));
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(); } groups[] = {
        { "memory", memory }, { "streams", streams }, { "captures", captures }, { "launches", launches }, { "devices", devices },
        { "driver", driver_before }, { "modules", modules }, { "arrays", arrays } };
    static const char *const what[] = { "store to null", "misaligned store", "misaligned load", "misaligned store of 16 bytes",
        "misaligned store to shared memory", "store behind shared memory", "store far away", "trap", "brkpt", "assert",
        "call of a null function pointer", "endless recursion", "misaligned atomic", "atomic at null", "misaligned local store",
        "__trap", "load far away", "exit" };
    const unsigned GROUPS = sizeof(groups) / sizeof(groups[0]), FAULTS = sizeof(what) / sizeof(what[0]);

    setvbuf(stdout, nullptr, _IOLBF, 0);
    for (unsigned i = 0; i < GROUPS + FAULTS; i++) {
        const char *name = i < GROUPS ? groups[i].name : what[i - GROUPS];
        if (argc > 1 && strcmp(argv[1], name))
            continue;
        printf("== %s\n", name);
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            alarm(100);
            i < GROUPS ? groups[i].run() : one_fault((int)(i - GROUPS));
            fflush(stdout);
            _exit(0);
        }
        int status;
        waitpid(pid, &status, 0);
        if (status)
            printf("the process ended: %d\n", status);
    }
}
