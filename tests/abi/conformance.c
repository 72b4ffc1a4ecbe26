/* One body of what every device does the same: memory, copies of every kind, streams, events, modules, launches, capture, errors.
 * It is run over each provider (meson.build), and knows of none: what only some can do is asked for first.  Not what kernels
 * compute: that is tests/apps and tests/matrix.  Exits with 77 where there is no device. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/cuda_types.h"

#include "check.h"

#define CU(name, ...) CUresult name(__VA_ARGS__);
CU(cuInit, unsigned)
CU(cuDeviceGetAttribute, int *, CUdevice_attribute, CUdevice)
CU(cuDevicePrimaryCtxRetain, CUcontext *, CUdevice)
CU(cuDevicePrimaryCtxRelease_v2, CUdevice)
CU(cuCtxSetCurrent, CUcontext)
CU(cuCtxSynchronize, void)
CU(cuCtxGetCurrent, CUcontext *)
CU(cuCtxPushCurrent_v2, CUcontext)
CU(cuCtxPopCurrent_v2, CUcontext *)
CU(cuCtxDestroy_v2, CUcontext)
CU(cuDeviceGetDevResource, CUdevice, CUdevResource *, CUdevResourceType)
CU(cuCtxGetDevResource, CUcontext, CUdevResource *, CUdevResourceType)
CU(cuDevSmResourceSplitByCount, CUdevResource *, unsigned *, const CUdevResource *, CUdevResource *, unsigned, unsigned)
CU(cuDevResourceGenerateDesc, CUdevResourceDesc *, const CUdevResource *, unsigned)
CU(cuGreenCtxCreate, CUgreenCtx *, CUdevResourceDesc, CUdevice, unsigned)
CU(cuGreenCtxDestroy, CUgreenCtx)
CU(cuGreenCtxGetDevResource, CUgreenCtx, CUdevResource *, CUdevResourceType)
CU(cuGreenCtxGetId, CUgreenCtx, unsigned long long *)
CU(cuGreenCtxStreamCreate, CUstream *, CUgreenCtx, unsigned, int)
CU(cuCtxFromGreenCtx, CUcontext *, CUgreenCtx)
CU(cuCtxRecordEvent, CUcontext, CUevent)
CU(cuCtxWaitEvent, CUcontext, CUevent)
CU(cuGreenCtxRecordEvent, CUgreenCtx, CUevent)
CU(cuGreenCtxWaitEvent, CUgreenCtx, CUevent)
CU(cuStreamGetGreenCtx, CUstream, CUgreenCtx *)
CU(cuStreamGetCtx, CUstream, CUcontext *)
CU(cuStreamGetCtx_v2, CUstream, CUcontext *, CUgreenCtx *)
CU(cuMemGetInfo_v2, size_t *, size_t *)
CU(cuMemAlloc_v2, CUdeviceptr *, size_t)
CU(cuMemAllocPitch_v2, CUdeviceptr *, size_t *, size_t, size_t, unsigned)
CU(cuMemAllocManaged, CUdeviceptr *, size_t, unsigned)
CU(cuMemAllocAsync, CUdeviceptr *, size_t, CUstream)
CU(cuMemFreeAsync, CUdeviceptr, CUstream)
CU(cuMemFree_v2, CUdeviceptr)
CU(cuMemGetAddressRange_v2, CUdeviceptr *, size_t *, CUdeviceptr)
CU(cuMemHostAlloc, void **, size_t, unsigned)
CU(cuMemFreeHost, void *)
CU(cuMemHostRegister_v2, void *, size_t, unsigned)
CU(cuMemHostUnregister, void *)
CU(cuMemHostGetDevicePointer_v2, CUdeviceptr *, void *, unsigned)
CU(cuMemcpy, CUdeviceptr, CUdeviceptr, size_t)
CU(cuMemcpyHtoD_v2, CUdeviceptr, const void *, size_t)
CU(cuMemcpyDtoH_v2, void *, CUdeviceptr, size_t)
CU(cuMemcpyDtoD_v2, CUdeviceptr, CUdeviceptr, size_t)
CU(cuMemcpyAsync, CUdeviceptr, CUdeviceptr, size_t, CUstream)
CU(cuMemcpyHtoDAsync_v2, CUdeviceptr, const void *, size_t, CUstream)
CU(cuMemcpyDtoHAsync_v2, void *, CUdeviceptr, size_t, CUstream)
CU(cuMemcpyDtoDAsync_v2, CUdeviceptr, CUdeviceptr, size_t, CUstream)
CU(cuMemcpyHtoA_v2, CUarray, size_t, const void *, size_t)
CU(cuMemcpy2D_v2, const CUDA_MEMCPY2D *)
CU(cuMemcpy3D_v2, const CUDA_MEMCPY3D *)
CU(cuMemsetD8_v2, CUdeviceptr, unsigned char, size_t)
CU(cuMemsetD16_v2, CUdeviceptr, unsigned short, size_t)
CU(cuMemsetD32Async, CUdeviceptr, unsigned, size_t, CUstream)
CU(cuMemsetD2D32_v2, CUdeviceptr, size_t, unsigned, size_t, size_t)
CU(cuArray3DCreate_v2, CUarray *, const CUDA_ARRAY3D_DESCRIPTOR *)
CU(cuArrayDestroy, CUarray)
CU(cuStreamCreate, CUstream *, unsigned)
CU(cuStreamDestroy_v2, CUstream)
CU(cuStreamQuery, CUstream)
CU(cuStreamSynchronize, CUstream)
CU(cuStreamWaitEvent, CUstream, CUevent, unsigned)
CU(cuStreamBeginCapture_v2, CUstream, CUstreamCaptureMode)
CU(cuStreamEndCapture, CUstream, CUgraph *)
CU(cuLaunchHostFunc, CUstream, CUhostFn, void *)
CU(cuEventCreate, CUevent *, unsigned)
CU(cuEventDestroy_v2, CUevent)
CU(cuEventRecord, CUevent, CUstream)
CU(cuEventQuery, CUevent)
CU(cuEventSynchronize, CUevent)
CU(cuEventElapsedTime, float *, CUevent, CUevent)
CU(cuModuleLoadData, CUmodule *, const void *)
CU(cuModuleUnload, CUmodule)
CU(cuModuleGetFunction, CUfunction *, CUmodule, const char *)
CU(cuModuleGetGlobal_v2, CUdeviceptr *, size_t *, CUmodule, const char *)
CU(cuFuncGetAttribute, int *, CUfunction_attribute, CUfunction)
CU(cuLaunchKernel, CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **)
CU(cuGraphInstantiateWithFlags, CUgraphExec *, CUgraph, unsigned long long)
CU(cuGraphLaunch, CUgraphExec, CUstream)
CU(cuGraphExecDestroy, CUgraphExec)
CU(cuGraphDestroy, CUgraph)

#define OK(call) EQUAL(call, CUDA_SUCCESS)

/* step: out[i] = in[i] * factor + bias + `base`, over a grid in three dimensions; turn: each block of shared memory backwards;
 * wild: writes to an address of nobody's. */
static const char kernels[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .align 4 .u32 base = 1000;\n"
    ".visible .const .align 4 .u32 table[2] = {3, 5};\n"
    ".extern .shared .align 4 .b8 dynamic[];\n"
    ".visible .entry step(.param .u64 out, .param .u64 in, .param .u8 factor, .param .u32 bias)\n"
    "{\n"
    "    .reg .b32 i, x, f, b, t, n;\n    .reg .b64 o, s, w;\n"
    "    ld.param.u64 o, [out];\n    ld.param.u64 s, [in];\n    ld.param.u8 f, [factor];\n    ld.param.u32 b, [bias];\n"
    "    mov.u32 i, %ctaid.z;\n    mov.u32 n, %nctaid.y;\n    mov.u32 t, %ctaid.y;\n    mad.lo.u32 i, i, n, t;\n"
    "    mov.u32 n, %nctaid.x;\n    mov.u32 t, %ctaid.x;\n    mad.lo.u32 i, i, n, t;\n"
    "    mov.u32 n, %ntid.y;\n    mov.u32 t, %tid.y;\n    mad.lo.u32 i, i, n, t;\n"
    "    mov.u32 n, %ntid.x;\n    mov.u32 t, %tid.x;\n    mad.lo.u32 i, i, n, t;\n"
    "    mul.wide.u32 w, i, 4;\n    add.u64 o, o, w;\n    add.u64 s, s, w;\n"
    "    ld.global.u32 x, [s];\n    mad.lo.u32 x, x, f, b;\n    ld.global.u32 t, [base];\n    add.u32 x, x, t;\n"
    "    st.global.u32 [o], x;\n    ret;\n}\n"
    ".visible .entry turn(.param .u64 data)\n"
    "{\n"
    "    .reg .b32 t, n, a, c, x;\n    .reg .b64 d, w;\n"
    "    ld.param.u64 d, [data];\n    mov.u32 t, %tid.x;\n    mov.u32 n, %ntid.x;\n"
    "    mov.u32 a, %ctaid.x;\n    mad.lo.u32 a, a, n, t;\n    mul.wide.u32 w, a, 4;\n    add.u64 d, d, w;\n"
    "    ld.global.u32 x, [d];\n    shl.b32 a, t, 2;\n    mov.u32 c, dynamic;\n    add.u32 a, a, c;\n    st.shared.u32 [a], x;\n"
    "    bar.sync 0;\n"
    "    sub.u32 a, n, t;\n    sub.u32 a, a, 1;\n    shl.b32 a, a, 2;\n    add.u32 a, a, c;\n    ld.shared.u32 x, [a];\n"
    "    st.global.u32 [d], x;\n    ret;\n}\n"
    ".visible .entry wild()\n{\n    .reg .b64 a;\n    mov.u64 a, 0x123456789000;\n    st.global.u32 [a], 1;\n    ret;\n}\n";

static CUmodule module;

static CUfunction kernel(const char *name)
{
    CUfunction f = NULL;
    OK(cuModuleGetFunction(&f, module, name));
    return f;
}

static unsigned pattern(unsigned i)
{
    return i * 2654435761u ^ i >> 3;
}

/* ---- Memory. */

static void memory(void)
{
    CUdeviceptr d, base, e;
    size_t left, total, size, pitch;
    void *pinned;
    static char own[8192] __attribute__((aligned(4096)));
    OK(cuMemGetInfo_v2(&left, &total));
    CHECK(left > 0 && left <= total);
    OK(cuMemAlloc_v2(&d, 1000));
    EQUAL(d % 256, 0);
    OK(cuMemGetAddressRange_v2(&base, &size, d + 999));
    CHECK(base == d && size == 1000);
    EQUAL(cuMemGetAddressRange_v2(&base, &size, d + 1000), CUDA_ERROR_NOT_FOUND);
    EQUAL(cuMemFree_v2(d + 4), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(d));
    EQUAL(cuMemFree_v2(d), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(0));
    EQUAL(cuMemAlloc_v2(&d, 0), CUDA_ERROR_INVALID_VALUE);
    EQUAL(cuMemAlloc_v2(&d, (size_t)1 << 60), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemAllocPitch_v2(&d, &pitch, 100, 7, 4));
    CHECK(pitch >= 100 && pitch % 4 == 0);
    OK(cuMemFree_v2(d));
    OK(cuMemHostAlloc(&pinned, 100, 0));
    OK(cuMemHostGetDevicePointer_v2(&e, pinned, 0));
    CHECK(e != 0);
    OK(cuMemFreeHost(pinned));
    EQUAL(cuMemHostGetDevicePointer_v2(&e, own, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemHostRegister_v2(own, sizeof own, 0));
    EQUAL(cuMemHostRegister_v2(own, sizeof own, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    OK(cuMemHostUnregister(own));
    EQUAL(cuMemHostUnregister(own), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    OK(cuMemAllocAsync(&d, 5000, NULL));
    OK(cuMemsetD8_v2(d, 9, 5000));
    OK(cuMemFreeAsync(d, NULL));
    OK(cuCtxSynchronize());
}

static void managed(void)
{
    int can = 0;
    CUdeviceptr d;
    OK(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 0));
    if (!can)
        return;
    OK(cuMemAllocManaged(&d, 64 * 4, CU_MEM_ATTACH_GLOBAL));
    unsigned *words = (unsigned *)(uintptr_t)d;
    for (unsigned i = 0; i < 64; i++)
        words[i] = i;
    OK(cuLaunchKernel(kernel("turn"), 1, 1, 1, 64, 1, 1, 256, NULL, (void *[]){ &d }, NULL));
    OK(cuCtxSynchronize());
    for (unsigned i = 0; i < 64; i++)
        EQUAL(words[i], 63 - i);
    OK(cuMemFree_v2(d));
}

/* ---- Copies. */

enum { N = 70001 }; /* bytes: more than is copied aside, and no multiple of anything */

/* There, on the device, and back; from and to memory of one kind. */
static void copies_of(unsigned char *src, unsigned char *dst, CUstream stream)
{
    CUdeviceptr a, b;
    OK(cuMemAlloc_v2(&a, N));
    OK(cuMemAlloc_v2(&b, N));
    for (unsigned i = 0; i < N; i++)
        src[i] = (unsigned char)pattern(i);
    memset(dst, 0, N);
    if (stream) {
        OK(cuMemcpyHtoDAsync_v2(a, src, N, stream));
        OK(cuMemcpyDtoDAsync_v2(b + 1, a, N - 1, stream));
        OK(cuMemcpyAsync(b, a + N - 1, 1, stream));
        OK(cuMemcpyDtoHAsync_v2(dst, b, N, stream));
        OK(cuStreamSynchronize(stream));
    } else {
        OK(cuMemcpyHtoD_v2(a, src, N));
        OK(cuMemcpyDtoD_v2(b + 1, a, N - 1));
        OK(cuMemcpy(b, a + N - 1, 1));
        OK(cuMemcpyDtoH_v2(dst, b, N));
    }
    CHECK(dst[0] == src[N - 1] && !memcmp(dst + 1, src, N - 1));
    OK(cuMemcpy((uintptr_t)dst, (uintptr_t)src, N));
    CHECK(!memcmp(dst, src, N));
    OK(cuMemcpyHtoD_v2(a, src, 0));
    EQUAL(cuMemcpyHtoD_v2(a, src, N + 1), CUDA_ERROR_INVALID_VALUE);
    EQUAL(cuMemcpyDtoH_v2(dst, a + 1, N), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(a));
    OK(cuMemFree_v2(b));
}

static void copies(void)
{
    CUstream stream;
    void *pinned;
    unsigned char *pageable = malloc(2 * N);
    if (!pageable)
        exit(1);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemHostAlloc(&pinned, 2 * N, 0));
    copies_of(pageable, pageable + N, NULL);
    copies_of(pageable, pageable + N, stream);
    copies_of(pinned, (unsigned char *)pinned + N, NULL);
    copies_of(pinned, (unsigned char *)pinned + N, stream);
    copies_of(pageable, pinned, stream);
    OK(cuMemFreeHost(pinned));
    OK(cuStreamDestroy_v2(stream));
    free(pageable);
}

static void fills(void)
{
    CUdeviceptr d;
    size_t pitch;
    unsigned words[100];
    OK(cuMemAlloc_v2(&d, sizeof words));
    OK(cuMemsetD8_v2(d, 0x11, sizeof words));
    OK(cuMemsetD16_v2(d + 4, 0x2233, 6));
    OK(cuMemsetD32Async(d + 20, 0x44556677, 10, NULL));
    OK(cuMemcpyDtoH_v2(words, d, sizeof words));
    EQUAL(words[0], 0x11111111);
    EQUAL(words[1], 0x22332233);
    EQUAL(words[3], 0x22332233);
    EQUAL(words[4], 0x11111111);
    EQUAL(words[5], 0x44556677);
    EQUAL(words[14], 0x44556677);
    EQUAL(words[15], 0x11111111);
    EQUAL(cuMemsetD16_v2(d + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
    EQUAL(cuMemsetD8_v2(d, 0, sizeof words + 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(d));
    OK(cuMemAllocPitch_v2(&d, &pitch, 20, 3, 4));
    OK(cuMemsetD2D32_v2(d, pitch, 7, 5, 3));
    OK(cuMemcpyDtoH_v2(words, d + 2 * pitch, 20));
    EQUAL(words[4], 7);
    OK(cuMemFree_v2(d));
}

/* A box through pitched memory and an array, off its first corner. */
static void boxes(void)
{
    enum { W = 24, H = 6, D = 4 };
    static unsigned char in[D][H][W], out[D][H][W];
    CUdeviceptr d;
    CUarray array;
    size_t pitch;
    for (unsigned i = 0; i < sizeof in; i++)
        (&in[0][0][0])[i] = (unsigned char)pattern(i);
    OK(cuMemAllocPitch_v2(&d, &pitch, W, H * D, 4));
    OK(cuArray3DCreate_v2(&array, &(CUDA_ARRAY3D_DESCRIPTOR){ W / 4, H, D, CU_AD_FORMAT_UNSIGNED_INT32, 1, 0 }));
    CUDA_MEMCPY3D up = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = in, .srcPitch = W, .srcHeight = H,
                         .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = d, .dstPitch = pitch, .dstHeight = H,
                         .WidthInBytes = W, .Height = H, .Depth = D };
    CUDA_MEMCPY3D over = { .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = d, .srcPitch = pitch, .srcHeight = H,
                           .srcXInBytes = 4,
                           .srcY = 1, .srcZ = 1, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = array, .dstXInBytes = 8,
                           .dstY = 2,
                           .WidthInBytes = 16, .Height = 4, .Depth = 3 };
    CUDA_MEMCPY3D down = { .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = array, .srcXInBytes = 8, .srcY = 2,
                           .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = out, .dstPitch = W, .dstHeight = H,
                           .WidthInBytes = 16, .Height = 4, .Depth = 3 };
    OK(cuMemcpy3D_v2(&up));
    OK(cuMemcpy3D_v2(&over));
    OK(cuMemcpy3D_v2(&down));
    for (int z = 0; z < D; z++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++)
                EQUAL(out[z][y][x], z < 3 && y < 4 && x < 16 ? in[z + 1][y + 1][x + 4] : 0);
    over.srcZ = 2;
    EQUAL(cuMemcpy3D_v2(&over), CUDA_ERROR_INVALID_VALUE);
    CUDA_MEMCPY2D rows = { .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = d, .srcPitch = pitch, .srcXInBytes = 3, .srcY = 2,
                           .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = out, .dstPitch = W, .WidthInBytes = 10, .Height = 3 };
    memset(out, 0, sizeof out);
    OK(cuMemcpy2D_v2(&rows));
    for (int y = 0; y < 3; y++)
        CHECK(!memcmp(out[0][y], &in[0][y + 2][3], 10) && out[0][y][10] == 0);
    OK(cuArrayDestroy(array));
    OK(cuMemFree_v2(d));
}

/* ---- Modules and launches. */

static void modules(void)
{
    CUmodule bad;
    CUfunction f;
    CUdeviceptr d;
    size_t size;
    unsigned word;
    int value;
    EQUAL(cuModuleLoadData(&bad, ".version 7.0\n.target sm_70\n.address_size 64\nnonsense;\n"), CUDA_ERROR_INVALID_PTX);
    OK(cuModuleLoadData(&module, kernels));
    EQUAL(cuModuleGetFunction(&f, module, "absent"), CUDA_ERROR_NOT_FOUND);
    OK(cuModuleGetGlobal_v2(&d, &size, module, "base"));
    EQUAL(size, 4);
    OK(cuMemcpyDtoH_v2(&word, d, 4));
    EQUAL(word, 1000);
    word = 2000;
    OK(cuMemcpyHtoD_v2(d, &word, 4));
    OK(cuModuleGetGlobal_v2(&d, &size, module, "table"));
    EQUAL(size, 8);
    OK(cuMemcpyDtoH_v2(&word, d + 4, 4));
    EQUAL(word, 5);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel("step")));
    CHECK(value >= 64 && value <= 1024);
    OK(cuModuleLoadData(&bad, kernels));
    OK(cuModuleUnload(bad));
}

static void launches(void)
{
    enum { GX = 2, GY = 3, GZ = 2, BX = 16, BY = 4, ALL = GX * GY * GZ * BX * BY };
    CUfunction step = kernel("step"), turn = kernel("turn");
    CUdeviceptr in, out;
    unsigned host[ALL], bias = 17;
    unsigned char factor = 3;
    OK(cuMemAlloc_v2(&in, sizeof host));
    OK(cuMemAlloc_v2(&out, sizeof host));
    for (unsigned i = 0; i < ALL; i++)
        host[i] = pattern(i);
    OK(cuMemcpyHtoD_v2(in, host, sizeof host));
    OK(cuLaunchKernel(step, GX, GY, GZ, BX, BY, 1, 0, NULL, (void *[]){ &out, &in, &factor, &bias }, NULL));
    OK(cuMemcpyDtoH_v2(host, out, sizeof host));
    for (unsigned i = 0; i < ALL; i++)
        EQUAL(host[i], pattern(i) * 3 + 17 + 2000);
    struct {
        CUdeviceptr out, in;
        unsigned char factor;
        unsigned bias;
    } packed = { out, in, 5, 1 };
    size_t size = sizeof packed;
    OK(cuLaunchKernel(step, ALL / 64, 1, 1, 64, 1, 1, 0, NULL, NULL,
        (void *[]){ CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END }));
    OK(cuLaunchKernel(turn, ALL / 96, 1, 1, 96, 1, 1, 96 * 4, NULL, (void *[]){ &out }, NULL));
    OK(cuMemcpyDtoH_v2(host, out, sizeof host));
    for (unsigned i = 0; i < ALL; i++)
        EQUAL(host[i], pattern(i / 96 * 96 + 95 - i % 96) * 5 + 1 + 2000);
    EQUAL(cuLaunchKernel(turn, 0, 1, 1, 32, 1, 1, 0, NULL, (void *[]){ &out }, NULL), CUDA_ERROR_INVALID_VALUE);
    EQUAL(cuLaunchKernel(turn, 1, 1, 1, 2048, 1, 1, 0, NULL, (void *[]){ &out }, NULL), CUDA_ERROR_INVALID_VALUE);
    EQUAL(cuLaunchKernel(turn, 1, 1, 1, 32, 1, 1, 1 << 30, NULL, (void *[]){ &out }, NULL), CUDA_ERROR_INVALID_VALUE);
    EQUAL(cuLaunchKernel(NULL, 1, 1, 1, 32, 1, 1, 0, NULL, (void *[]){ &out }, NULL), CUDA_ERROR_INVALID_HANDLE);
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(in));
    OK(cuMemFree_v2(out));
}

/* ---- Streams and events. */

static void add_one(void *count)
{
    __atomic_add_fetch((int *)count, 1, __ATOMIC_RELEASE);
}

/* Work of one stream is in order; another waits for it through an event. */
static void streams(void)
{
    enum { WORDS = 4096, ROUNDS = 20 };
    CUstream a, b;
    CUevent half;
    CUdeviceptr d, zero;
    CUfunction step = kernel("step");
    static unsigned host[WORDS];
    unsigned char one = 1;
    unsigned bias = 1;
    int called = 0;
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&half, CU_EVENT_DISABLE_TIMING));
    OK(cuMemAlloc_v2(&d, sizeof host));
    OK(cuModuleGetGlobal_v2(&zero, NULL, module, "base"));
    OK(cuMemsetD32Async(zero, 0, 1, a));
    OK(cuMemsetD32Async(d, 5, WORDS, a));
    for (int i = 0; i < ROUNDS; i++)
        OK(cuLaunchKernel(step, WORDS / 256, 1, 1, 256, 1, 1, 0, a, (void *[]){ &d, &d, &one, &bias }, NULL));
    OK(cuLaunchHostFunc(a, add_one, &called));
    OK(cuEventRecord(half, a));
    OK(cuStreamWaitEvent(b, half, 0));
    OK(cuLaunchKernel(step, WORDS / 256, 1, 1, 256, 1, 1, 0, b, (void *[]){ &d, &d, &one, &bias }, NULL));
    OK(cuMemcpyDtoHAsync_v2(host, d, sizeof host, b));
    OK(cuStreamSynchronize(b));
    for (unsigned i = 0; i < WORDS; i++)
        EQUAL(host[i], 5 + ROUNDS + 1);
    OK(cuStreamSynchronize(a));
    EQUAL(__atomic_load_n(&called, __ATOMIC_ACQUIRE), 1);
    OK(cuStreamQuery(a));
    OK(cuEventQuery(half));
    OK(cuMemFree_v2(d));
    OK(cuEventDestroy_v2(half));
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
    EQUAL(cuStreamQuery(b), CUDA_ERROR_INVALID_HANDLE);
}

static void nap(void *unused)
{
    (void)unused;
    usleep(5000);
}

static void wait_until(void *open)
{
    while (!__atomic_load_n((int *)open, __ATOMIC_ACQUIRE))
        usleep(1000);
}

static void note_thread(void *thread)
{
    *(pthread_t *)thread = pthread_self();
}

/* Or before cuLaunchHostFunc returns, in the thread that calls it, as the simulator's own HIP does it. */
static bool host_functions_run_later(void)
{
    pthread_t thread;
    OK(cuLaunchHostFunc(NULL, note_thread, &thread));
    OK(cuCtxSynchronize());
    return !pthread_equal(thread, pthread_self());
}

/* An event of all streams of a context, and all streams that wait for one.  One host function alone waits: those of different
 * streams may be serialised. */
static void events_of_contexts(void)
{
    CUcontext ctx;
    CUevent all, one;
    CUstream held, other, later, capturing;
    CUgraph graph = NULL;
    bool asynchronous = host_functions_run_later();
    int open = !asynchronous;
    CUdeviceptr d;
    OK(cuCtxGetCurrent(&ctx));
    OK(cuMemAlloc_v2(&d, 4));
    OK(cuEventCreate(&all, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&one, CU_EVENT_DISABLE_TIMING));
    OK(cuStreamCreate(&held, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuCtxWaitEvent(ctx, one)); /* never recorded: no wait */
    OK(cuLaunchHostFunc(held, wait_until, &open));
    OK(cuEventRecord(one, held));
    OK(cuCtxRecordEvent(ctx, all));
    OK(cuMemsetD32Async(d, 1, 1, other));
    OK(cuStreamSynchronize(other)); /* what comes after the record waits for nothing */
    EQUAL(cuEventQuery(all), asynchronous ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);

    OK(cuCtxWaitEvent(ctx, one));
    OK(cuStreamCreate(&later, CU_STREAM_NON_BLOCKING));
    OK(cuMemsetD32Async(d, 2, 1, other));
    OK(cuMemsetD32Async(d, 3, 1, later));
    if (asynchronous) {
        usleep(20000);
        EQUAL(cuStreamQuery(other), CUDA_ERROR_NOT_READY);
        EQUAL(cuStreamQuery(later), CUDA_ERROR_NOT_READY);
    }
    __atomic_store_n(&open, 1, __ATOMIC_RELEASE);
    OK(cuEventSynchronize(all));
    OK(cuStreamSynchronize(other));
    OK(cuStreamSynchronize(later));

    EQUAL(cuCtxRecordEvent(NULL, all), CUDA_ERROR_INVALID_CONTEXT);
    EQUAL(cuCtxWaitEvent(ctx, NULL), CUDA_ERROR_INVALID_HANDLE);
    EQUAL(cuGreenCtxRecordEvent(NULL, all), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuStreamCreate(&capturing, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture_v2(capturing, CU_STREAM_CAPTURE_MODE_RELAXED));
    EQUAL(cuCtxRecordEvent(ctx, all), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EQUAL(cuStreamEndCapture(capturing, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CUstream made[] = { held, other, later, capturing };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        OK(cuStreamDestroy_v2(made[i]));
    OK(cuEventDestroy_v2(all));
    OK(cuEventDestroy_v2(one));
    OK(cuMemFree_v2(d));
}

static void events(void)
{
    CUevent begin, end, untimed;
    float ms = -1;
    OK(cuEventCreate(&begin, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&end, CU_EVENT_BLOCKING_SYNC));
    OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    OK(cuEventQuery(begin)); /* never recorded */
    EQUAL(cuEventElapsedTime(&ms, begin, end), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventRecord(begin, NULL));
    OK(cuLaunchHostFunc(NULL, nap, NULL));
    OK(cuEventRecord(end, NULL));
    OK(cuEventSynchronize(end));
    OK(cuEventElapsedTime(&ms, begin, end));
    CHECK(ms >= 4 && ms < 60000);
    OK(cuEventRecord(untimed, NULL));
    OK(cuEventSynchronize(untimed));
    EQUAL(cuEventElapsedTime(&ms, begin, untimed), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventDestroy_v2(begin));
    OK(cuEventDestroy_v2(end));
    OK(cuEventDestroy_v2(untimed));
    EQUAL(cuEventQuery(end), CUDA_ERROR_INVALID_HANDLE);
}

/* What a stream is given becomes a graph, and runs as often as that is launched. */
static void capture(void)
{
    enum { WORDS = 512 };
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    CUdeviceptr d;
    unsigned host[WORDS], bias = 2;
    unsigned char two = 2;
    int called = 0;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc_v2(&d, sizeof host));
    OK(cuMemsetD8_v2(d, 0xff, sizeof host));
    OK(cuCtxSynchronize()); /* the stream does not wait for others */
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemsetD32Async(d, 10, WORDS / 2, stream));
    OK(cuLaunchKernel(kernel("step"), WORDS / 128, 1, 1, 128, 1, 1, 0, stream, (void *[]){ &d, &d, &two, &bias }, NULL));
    OK(cuLaunchHostFunc(stream, add_one, &called));
    OK(cuStreamQuery(NULL)); /* which others may still be asked */
    OK(cuStreamEndCapture(stream, &graph));
    EQUAL(called, 0);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
    OK(cuGraphLaunch(exec, stream));
    OK(cuMemcpyDtoHAsync_v2(host, d, sizeof host, stream));
    OK(cuStreamSynchronize(stream));
    EQUAL(__atomic_load_n(&called, __ATOMIC_ACQUIRE), 2);
    EQUAL(host[0], 22);
    EQUAL(host[WORDS - 1], (0xffffffffu * 2 + 2) * 2 + 2);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    EQUAL(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EQUAL(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(cuMemFree_v2(d));
    OK(cuStreamDestroy_v2(stream));
}

/* ---- Parts of the device */

static CUdevResource all_sms(void)
{
    CUdevResource all;
    int sms;
    memset(&all, 0xff, sizeof all);
    OK(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    OK(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
    EQUAL(all.type, CU_DEV_RESOURCE_TYPE_SM);
    EQUAL(all.sm.smCount, sms);
    EQUAL(cuDeviceGetDevResource(0, &all, 1000), CUDA_ERROR_INVALID_RESOURCE_TYPE);
    EQUAL(cuDeviceGetDevResource(99, &all, CU_DEV_RESOURCE_TYPE_SM), CUDA_ERROR_INVALID_DEVICE);
    return all;
}

/* Splits, and what is put together; gives a descriptor of two thirds or more. */
static CUdevResourceDesc parts_of(const CUdevResource *all, unsigned *ret_sms)
{
    enum { MANY = 3 };
    CUdevResource part[MANY], other[1], rest;
    CUdevResourceDesc desc;
    const unsigned each = all->sm.smCount >= MANY ? all->sm.smCount / MANY : 1;
    unsigned n = 0, one = 1;
    OK(cuDevSmResourceSplitByCount(NULL, &n, all, NULL, 0, each));
    EQUAL(n, all->sm.smCount / each);
    n = n < MANY ? n : MANY;
    OK(cuDevSmResourceSplitByCount(part, &n, all, &rest, 0, each));
    for (unsigned i = 0; i < n; i++)
        EQUAL(part[i].sm.smCount, each);
    EQUAL(rest.type == CU_DEV_RESOURCE_TYPE_SM ? rest.sm.smCount : 0, all->sm.smCount - n * each);
    OK(cuDevSmResourceSplitByCount(other, &one, all, NULL, 0, each));
    CUdevResource mixed[] = { part[0], other[0] }, twice[] = { *all, *all };
    EQUAL(cuDevResourceGenerateDesc(&desc, mixed, 2), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    EQUAL(cuDevResourceGenerateDesc(&desc, twice, 2), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    EQUAL(cuDevResourceGenerateDesc(&desc, part, 0), CUDA_ERROR_INVALID_VALUE);
    EQUAL(cuDevSmResourceSplitByCount(part, &one, &part[0], NULL, 0, 1), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    EQUAL(cuDevSmResourceSplitByCount(part, &one, all, NULL, 0, all->sm.smCount + 1), CUDA_ERROR_INVALID_VALUE);
    n = n < 2 ? n : 2;
    OK(cuDevResourceGenerateDesc(&desc, part, n));
    *ret_sms = n * each;
    return desc;
}

/* Work in a green context's stream is on the primary context's memory, by its modules. */
static void green_work(CUgreenCtx green, CUcontext primary)
{
    enum { WORDS = 1024 };
    static unsigned host[WORDS];
    unsigned char two = 2;
    unsigned bias = 2;
    CUdeviceptr d;
    CUstream stream, plain;
    CUcontext ctx, seen;
    CUgreenCtx of;
    CUevent event;
    bool asynchronous = host_functions_run_later();
    int open = !asynchronous;
    OK(cuMemAlloc_v2(&d, sizeof host));
    EQUAL(cuGreenCtxStreamCreate(&stream, green, 0, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
    OK(cuMemsetD32Async(d, 10, WORDS, stream));
    OK(cuLaunchKernel(kernel("step"), WORDS / 128, 1, 1, 128, 1, 1, 0, stream, (void *[]){ &d, &d, &two, &bias }, NULL));
    OK(cuMemcpyDtoHAsync_v2(host, d, sizeof host, stream));
    OK(cuStreamSynchronize(stream));
    EQUAL(host[0], 22);
    EQUAL(host[WORDS - 1], 22);
    OK(cuStreamGetGreenCtx(stream, &of));
    CHECK(of == green);
    OK(cuStreamGetCtx_v2(stream, &ctx, &of));
    CHECK(!ctx && of == green);
    OK(cuCtxFromGreenCtx(&ctx, green));
    OK(cuStreamGetCtx(stream, &seen));
    CHECK(seen == ctx && ctx != primary);

    OK(cuCtxPushCurrent_v2(ctx));
    OK(cuCtxGetCurrent(&seen));
    CHECK(seen == ctx);
    OK(cuStreamCreate(&plain, 0));
    OK(cuStreamGetGreenCtx(NULL, &of));
    CHECK(of == green);
    OK(cuMemcpyDtoHAsync_v2(host, d, sizeof host, NULL));
    OK(cuCtxSynchronize());
    OK(cuCtxPopCurrent_v2(&seen));
    CHECK(seen == ctx);
    OK(cuStreamGetGreenCtx(plain, &of));
    CHECK(of == green);
    OK(cuStreamGetGreenCtx(NULL, &of));
    CHECK(!of);
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuLaunchHostFunc(stream, wait_until, &open));
    OK(cuGreenCtxRecordEvent(green, event));
    EQUAL(cuEventQuery(event), asynchronous ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
    OK(cuGreenCtxWaitEvent(green, event));
    EQUAL(cuStreamQuery(plain), asynchronous ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
    __atomic_store_n(&open, 1, __ATOMIC_RELEASE);
    OK(cuStreamSynchronize(plain));
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(plain));
    OK(cuStreamDestroy_v2(stream));
    OK(cuMemFree_v2(d));
}

static void greens(void)
{
    CUcontext primary, ctx;
    CUgreenCtx green, other;
    CUdevResource got;
    unsigned long long id, id2;
    unsigned sms;
    OK(cuCtxGetCurrent(&primary));
    CUdevResource all = all_sms();
    CUdevResourceDesc desc = parts_of(&all, &sms);
    EQUAL(cuGreenCtxCreate(&green, desc, 0, 0), CUDA_ERROR_INVALID_VALUE);
    EQUAL(cuGreenCtxCreate(&green, NULL, 0, CU_GREEN_CTX_DEFAULT_STREAM), CUDA_ERROR_INVALID_VALUE);
    OK(cuGreenCtxCreate(&green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    OK(cuGreenCtxCreate(&other, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    OK(cuGreenCtxGetDevResource(green, &got, CU_DEV_RESOURCE_TYPE_SM));
    EQUAL(got.sm.smCount, sms);
    OK(cuCtxGetDevResource(primary, &got, CU_DEV_RESOURCE_TYPE_SM));
    EQUAL(got.sm.smCount, all.sm.smCount);
    OK(cuGreenCtxGetId(green, &id));
    OK(cuGreenCtxGetId(other, &id2));
    CHECK(id != id2);
    green_work(green, primary);
    OK(cuCtxFromGreenCtx(&ctx, other));
    OK(cuCtxSetCurrent(ctx));
    EQUAL(cuCtxDestroy_v2(ctx), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuGreenCtxDestroy(green));
    EQUAL(cuGreenCtxDestroy(green), CUDA_ERROR_INVALID_CONTEXT);
    EQUAL(cuCtxFromGreenCtx(&ctx, green), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuGreenCtxDestroy(other)); /* is the current one, no more */
    OK(cuCtxGetCurrent(&ctx));
    CHECK(!ctx);
    OK(cuCtxSetCurrent(primary));
}

/* ---- The last: the device is not to be used any more. */
static void faults(void)
{
    CUdeviceptr d;
    OK(cuLaunchKernel(kernel("wild"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    EQUAL(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EQUAL(cuMemAlloc_v2(&d, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
    EQUAL(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

int main(void)
{
    CUcontext context;
    CUresult ready = cuInit(0);
    if (ready == CUDA_ERROR_NO_DEVICE)
        return 77;
    OK(ready);
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = { { "memory", memory }, { "copies", copies }, { "fills", fills }, { "boxes", boxes }, { "modules", modules },
                  { "launches", launches }, { "managed", managed }, { "streams", streams }, { "events", events },
                  { "events of contexts", events_of_contexts },
                  { "capture", capture }, { "greens", greens }, { "faults", faults } };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        int before = failures;
        parts[i].run();
        printf("%s %s\n", failures == before ? "ok    " : "FAILED", parts[i].name);
        fflush(stdout);
    }
    return failures != 0;
}
