/* Devices, contexts, memory, streams and events, through the driver API's entry bodies over the recording provider. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/cuda_util.h"
#include "core/handle.h"
#include "core/pool.h"
#include "fake.h"

#define eq(a, b) cr_assert_eq((long long)(a), (long long)(b), "%s is %lld, not %s", #a, (long long)(a), #b)
#define ok(call) eq(call, CUDA_SUCCESS)

static CUcontext context;

static void start(void)
{
    setenv("ANYWARP_LOG", "err", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("ANYWARP_CC");
    fake_reset();
    aw_core_test_provider(&fake_provider);
}

static void start_context(void)
{
    start();
    ok(awcu_cuInit(0));
    ok(awcu_cuCtxCreate_v2(&context, 0, 0));
}

/* ---- Devices. */

Test(device, nothing_works_before_init, .init = start)
{
    int n;
    CUdeviceptr ptr;
    eq(awcu_cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
    eq(awcu_cuMemAlloc_v2(&ptr, 16), CUDA_ERROR_NOT_INITIALIZED);
    eq(awcu_cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
    eq(awcu_cuInit(1), CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuDriverGetVersion(&n));
    eq(n, 13000);
}

Test(device, provider_that_fails, .init = start)
{
    fake.open_status = AW_ERR_NO_DEVICE;
    eq(awcu_cuInit(0), CUDA_ERROR_NO_DEVICE);
}

Test(device, no_provider, .init = start)
{
    aw_core_test_provider(NULL);
    eq(awcu_cuInit(0), CUDA_ERROR_NO_DEVICE);
}

static int visible(const char *list)
{
    int n = -1;
    fake.devices = 4;
    setenv("CUDA_VISIBLE_DEVICES", list, 1);
    aw_core_test_provider(&fake_provider);
    CUresult result = awcu_cuInit(0);
    if (result == CUDA_ERROR_NO_DEVICE)
        return 0;
    ok(result);
    ok(awcu_cuDeviceGetCount(&n));
    return n;
}

Test(device, visible_devices, .init = start)
{
    char name[16];
    eq(visible("3,1"), 2);
    ok(awcu_cuDeviceGetName(name, sizeof name, 0));
    cr_assert_str_eq(name, "Fake 3");
    ok(awcu_cuDeviceGetName(name, 4, 1));
    cr_assert_str_eq(name, "Fak");
    eq(awcu_cuDeviceGetName(name, 4, 2), CUDA_ERROR_INVALID_DEVICE);
    eq(visible(""), 0);
    eq(visible("-1"), 0);
    eq(visible("2,7,1"), 1);
    eq(visible("2,2"), 1);
    eq(visible(" 0 , 2 "), 2);
    eq(visible("GPU-a2a2"), 1);
    ok(awcu_cuDeviceGetName(name, sizeof name, 0));
    cr_assert_str_eq(name, "Fake 2");
    eq(visible("GPU-a9"), 0);
}

Test(device, attributes, .init = start)
{
    int value, major, minor;
    setenv("ANYWARP_CC", "9.0", 1);
    ok(awcu_cuInit(0));
    ok(awcu_cuDeviceGetAttribute(&value, 10, 0));
    eq(value, 32); /* whatever the device's wave is */
    ok(awcu_cuDeviceGetAttribute(&value, 8, 0));
    eq(value, 48 * 1024);
    ok(awcu_cuDeviceGetAttribute(&value, 97, 0));
    eq(value, 100 * 1024);
    ok(awcu_cuDeviceGetAttribute(&value, 16, 0));
    eq(value, 4);
    ok(awcu_cuDeviceComputeCapability(&major, &minor, 0));
    eq(major, 9);
    ok(awcu_cuDeviceGetAttribute(&value, 75, 0));
    eq(value, 9);
    for (int i = 1; i <= 147; i++)
        ok(awcu_cuDeviceGetAttribute(&value, (CUdevice_attribute)i, 0));
    eq(awcu_cuDeviceGetAttribute(&value, 148, 0), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuDeviceGetAttribute(&value, 0, 0), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuDeviceGetAttribute(&value, -5, 0), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuDeviceGetAttribute(NULL, 1, 0), CUDA_ERROR_INVALID_VALUE);
}

Test(device, compute_capability_that_is_none, .init = start)
{
    int major, minor;
    setenv("ANYWARP_CC", "eight", 1);
    ok(awcu_cuInit(0));
    ok(awcu_cuDeviceComputeCapability(&major, &minor, 0));
    eq(major * 10 + minor, 80);
}

Test(device, pci, .init = start)
{
    char text[32] = "";
    CUdevice dev = -1;
    fake.devices = 2;
    ok(awcu_cuInit(0));
    ok(awcu_cuDeviceGetPCIBusId(text, (int)sizeof text, 1));
    cr_assert_str_eq(text, "0000:65:01.0");
    ok(awcu_cuDeviceGetByPCIBusId(&dev, text));
    eq(dev, 1);
    ok(awcu_cuDeviceGetByPCIBusId(&dev, "65:0"));
    eq(dev, 0);
    eq(awcu_cuDeviceGetByPCIBusId(&dev, "12:0"), CUDA_ERROR_INVALID_DEVICE);
    eq(awcu_cuDeviceGetByPCIBusId(&dev, "nonsense"), CUDA_ERROR_INVALID_VALUE);
}

Test(device, fork_ends_it_in_the_child, .init = start_context)
{
    pid_t pid = fork();
    if (pid == 0) {
        int n;
        bool dead = awcu_cuDeviceGetCount(&n) == CUDA_ERROR_NOT_INITIALIZED && awcu_cuInit(0) == CUDA_ERROR_NOT_INITIALIZED;
        _exit(dead ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    eq(status, 0);
    ok(awcu_cuCtxSynchronize());
}

/* ---- Contexts. */

Test(context, stack, .init = start)
{
    CUcontext a, b, now;
    CUdevice dev;
    fake.devices = 2;
    ok(awcu_cuInit(0));
    eq(awcu_cuCtxGetDevice(&dev), CUDA_ERROR_INVALID_CONTEXT);
    eq(awcu_cuCtxPopCurrent_v2(&now), CUDA_ERROR_INVALID_CONTEXT);
    ok(awcu_cuCtxCreate_v2(&a, 0, 0));
    ok(awcu_cuCtxCreate_v2(&b, 0, 1));
    ok(awcu_cuCtxGetDevice(&dev));
    eq(dev, 1);
    ok(awcu_cuCtxPopCurrent_v2(&now));
    eq(now == b, true);
    ok(awcu_cuCtxGetCurrent(&now));
    eq(now == a, true);
    ok(awcu_cuCtxPushCurrent_v2(b));
    ok(awcu_cuCtxSetCurrent(a)); /* replaces b */
    ok(awcu_cuCtxPopCurrent_v2(&now));
    ok(awcu_cuCtxPopCurrent_v2(&now));
    eq(now == a, true);
    ok(awcu_cuCtxGetCurrent(&now));
    eq(now == NULL, true);
    ok(awcu_cuCtxSetCurrent(b));
    eq(awcu_cuCtxDetach(a), CUDA_ERROR_INVALID_CONTEXT); /* not the current one */
    ok(awcu_cuCtxDetach(b)); /* current, so it is popped */
    ok(awcu_cuCtxGetCurrent(&now));
    eq(now == NULL, true);
    eq(awcu_cuCtxDestroy_v2(b), CUDA_ERROR_INVALID_CONTEXT);
    eq(awcu_cuCtxSetCurrent(b), CUDA_ERROR_INVALID_CONTEXT);
    eq(awcu_cuCtxPushCurrent_v2((CUcontext)0x1234), CUDA_ERROR_INVALID_CONTEXT);
    eq(awcu_cuCtxPushCurrent_v2(NULL), CUDA_ERROR_INVALID_CONTEXT);
    eq(awcu_cuCtxCreate_v2(&a, 3, 0), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuCtxCreate_v2(&a, 0, 9), CUDA_ERROR_INVALID_DEVICE);
}

static void *thread_with_a_stream(void *arg)
{
    CUstream stream = *(CUstream *)arg;
    CUcontext now = (CUcontext)0x1, its = NULL;
    bool good = awcu_cuCtxGetCurrent(&now) == CUDA_SUCCESS && !now && awcu_cuStreamGetCtx(stream, &its) == CUDA_SUCCESS &&
                its == context &&
                awcu_cuStreamQuery(stream) == CUDA_SUCCESS && awcu_cuStreamSynchronize(stream) == CUDA_SUCCESS &&
                awcu_cuStreamSynchronize(NULL) == CUDA_ERROR_INVALID_CONTEXT &&
                awcu_cuStreamQuery((CUstream)0x1) == CUDA_ERROR_INVALID_CONTEXT &&
                awcu_cuStreamDestroy_v2((CUstream)0x1) == CUDA_ERROR_INVALID_CONTEXT &&
                awcu_cuStreamDestroy_v2(stream) == CUDA_SUCCESS &&
                awcu_cuStreamDestroy_v2(stream) == CUDA_ERROR_INVALID_CONTEXT;
    return good ? arg : NULL;
}

/* A stream knows its context: a thread needs none to ask or to destroy it (DALI's threads have none when they end). */
Test(context, streams_need_no_current_one, .init = start_context)
{
    pthread_t thread;
    void *result;
    CUstream stream;
    ok(awcu_cuStreamCreate(&stream, 0));
    pthread_create(&thread, NULL, thread_with_a_stream, &stream);
    pthread_join(thread, &result);
    eq(result == &stream, true);
}

static void *other_thread(void *arg)
{
    CUcontext now = (CUcontext)0x1;
    CUdeviceptr ptr;
    bool good = awcu_cuCtxGetCurrent(&now) == CUDA_SUCCESS && !now && awcu_cuMemAlloc_v2(&ptr, 8) == CUDA_ERROR_INVALID_CONTEXT &&
                awcu_cuCtxSetCurrent(context) == CUDA_SUCCESS && awcu_cuMemAlloc_v2(&ptr, 8) == CUDA_SUCCESS;
    return good ? arg : NULL;
}

Test(context, each_thread_has_its_own, .init = start_context)
{
    pthread_t thread;
    void *result;
    static int mark;
    pthread_create(&thread, NULL, other_thread, &mark);
    pthread_join(thread, &result);
    eq(result == &mark, true);
}

Test(context, destroyed_elsewhere, .init = start_context)
{
    CUcontext copy = context;
    CUdeviceptr ptr;
    ok(awcu_cuCtxPushCurrent_v2(copy));
    ok(awcu_cuCtxDestroy_v2(copy)); /* pops one of the two */
    eq(awcu_cuMemAlloc_v2(&ptr, 8), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

Test(context, primary, .init = start)
{
    CUcontext a, b;
    CUdeviceptr ptr;
    unsigned flags;
    int active;
    ok(awcu_cuInit(0));
    ok(awcu_cuDevicePrimaryCtxGetState(0, &flags, &active));
    eq(active, 0);
    ok(awcu_cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_SCHED_YIELD));
    eq(awcu_cuDevicePrimaryCtxSetFlags_v2(0, 0x1000), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
    ok(awcu_cuDevicePrimaryCtxRetain(&a, 0));
    ok(awcu_cuDevicePrimaryCtxRetain(&b, 0));
    eq(a == b, true);
    ok(awcu_cuCtxSetCurrent(a));
    ok(awcu_cuCtxGetFlags(&flags));
    eq(flags, CU_CTX_SCHED_YIELD);
    ok(awcu_cuMemAlloc_v2(&ptr, 100));
    eq(awcu_cuCtxDestroy_v2(a), CUDA_ERROR_INVALID_CONTEXT);
    ok(awcu_cuDevicePrimaryCtxRelease_v2(0));
    eq(fake.frees, 0);
    ok(awcu_cuDevicePrimaryCtxRelease_v2(0));
    eq(fake.frees, 1);
    eq(awcu_cuMemAlloc_v2(&ptr, 100), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    ok(awcu_cuDevicePrimaryCtxRetain(&b, 0));
    eq(a == b, true);
    ok(awcu_cuMemAlloc_v2(&ptr, 100));
    ok(awcu_cuDevicePrimaryCtxReset_v2(0));
    eq(fake.used, 0);
    ok(awcu_cuDevicePrimaryCtxGetState(0, &flags, &active));
    eq(active, 0);
}

Test(context, owns_what_was_made_in_it, .init = start_context)
{
    CUdeviceptr ptr;
    void *host;
    CUstream stream;
    CUevent event;
    CUmodule module;
    ok(awcu_cuMemAlloc_v2(&ptr, 100));
    ok(awcu_cuMemAllocManaged(&ptr, 100, CU_MEM_ATTACH_GLOBAL));
    ok(awcu_cuMemHostAlloc(&host, 100, 0));
    ok(awcu_cuStreamCreate(&stream, 0));
    ok(awcu_cuEventCreate(&event, 0));
    ok(awcu_cuMemAllocAsync(&ptr, 100, stream));
    ok(awcu_cuMemFreeAsync(ptr, stream));
    ok(awcu_cuModuleLoadData(&module, FAKE_PTX));
    ok(awcu_cuModuleGetGlobal_v2(&ptr, NULL, module, "answer"));
    ok(awcu_cuCtxDestroy_v2(context));
    eq(fake.used, 0);
    eq(fake.host_allocs, fake.host_frees);
    eq(fake.streams, 0);
    eq(fake.events, 0);
    ok(awcu_cuCtxCreate_v2(&context, 0, 0));
    eq(awcu_cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
    eq(awcu_cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
}

Test(context, limits, .init = start_context)
{
    size_t value;
    ok(awcu_cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
    eq(value, 1024);
    ok(awcu_cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 65536));
    ok(awcu_cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
    eq(value, 65536);
    ok(awcu_cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 1 << 24));
    ok(awcu_cuCtxGetLimit(&value, CU_LIMIT_MALLOC_HEAP_SIZE));
    eq(value, 1 << 24);
    eq(awcu_cuCtxSetLimit(CU_LIMIT_CIG_ENABLED, 1), CUDA_ERROR_UNSUPPORTED_LIMIT);
    eq(awcu_cuCtxSetLimit((CUlimit)77, 1), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuCtxGetLimit(&value, (CUlimit)-1), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuCtxSetLimit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 129), CUDA_ERROR_INVALID_VALUE);
}

Test(context, fault_is_sticky_until_reset, .init = start)
{
    CUcontext ctx;
    CUdeviceptr ptr;
    CUstream stream;
    ok(awcu_cuInit(0));
    ok(awcu_cuDevicePrimaryCtxRetain(&ctx, 0));
    ok(awcu_cuCtxSetCurrent(ctx));
    ok(awcu_cuStreamCreate(&stream, 0));
    fake.fault = AW_ERR_ILLEGAL_ADDRESS;
    eq(awcu_cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    eq(awcu_cuMemAlloc_v2(&ptr, 8), CUDA_ERROR_ILLEGAL_ADDRESS);
    eq(awcu_cuStreamQuery(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    fake.fault = AW_ERR_LAUNCH_FAILED; /* a later fault does not replace the first */
    eq(awcu_cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    ok(awcu_cuCtxGetCurrent(&ctx));
    ok(awcu_cuDevicePrimaryCtxReset_v2(0));
    eq(fake.resets, 1);
    ok(awcu_cuDevicePrimaryCtxRetain(&ctx, 0));
    ok(awcu_cuMemAlloc_v2(&ptr, 8));
    fake.fault = 0;
}

/* ---- Memory. */

Test(memory, allocation, .init = start_context)
{
    CUdeviceptr a, base;
    size_t size, free_bytes, total, pitch;
    eq(awcu_cuMemAlloc_v2(&a, 0), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuMemAlloc_v2(NULL, 8), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuMemAlloc_v2(&a, (size_t)1 << 40), CUDA_ERROR_OUT_OF_MEMORY);
    eq(awcu_cuMemAlloc_v2(&a, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
    ok(awcu_cuMemAlloc_v2(&a, 1000));
    ok(awcu_cuMemGetAddressRange_v2(&base, &size, a + 999));
    eq(base, a);
    eq(size, 1000);
    eq(awcu_cuMemGetAddressRange_v2(&base, &size, a + 1000), CUDA_ERROR_NOT_FOUND);
    ok(awcu_cuMemGetInfo_v2(&free_bytes, &total));
    eq(total - free_bytes, 1000);
    eq(awcu_cuMemFree_v2(a + 8), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuMemFree_v2(0x1234), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuMemFreeHost((void *)(uintptr_t)a), CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuMemFree_v2(a));
    eq(awcu_cuMemFree_v2(a), CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuMemFree_v2(0));
    ok(awcu_cuMemAllocPitch_v2(&a, &pitch, 100, 7, 4));
    eq(pitch, 512);
    ok(awcu_cuMemGetAddressRange_v2(NULL, &size, a));
    eq(size, 512 * 7);
    eq(awcu_cuMemAllocPitch_v2(&a, &pitch, 100, 7, 5), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuMemAllocPitch_v2(&a, &pitch, 100, SIZE_MAX / 2, 4), CUDA_ERROR_OUT_OF_MEMORY);
}

Test(memory, many_allocations_are_told_apart, .init = start_context)
{
    enum { N = 2000 };
    static CUdeviceptr at[N];
    CUdeviceptr base;
    size_t size;
    srand(7);
    for (int i = 0; i < N; i++)
        ok(awcu_cuMemAlloc_v2(&at[i], 1 + i % 97));
    for (int i = 0; i < N; i++) {
        int j = rand() % N;
        CUdeviceptr t = at[i];
        at[i] = at[j];
        at[j] = t;
    }
    for (int i = 0; i < N; i++) {
        ok(awcu_cuMemGetAddressRange_v2(&base, &size, at[i]));
        eq(base, at[i]);
        ok(awcu_cuMemFree_v2(at[i]));
        eq(awcu_cuMemGetAddressRange_v2(&base, &size, at[i]), CUDA_ERROR_NOT_FOUND);
    }
    eq(fake.used, 0);
}

Test(memory, pinned, .init = start_context)
{
    static char mine[4096];
    void *p;
    CUdeviceptr d;
    unsigned flags;
    eq(awcu_cuMemHostAlloc(&p, 100, 8), CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuMemHostAlloc(&p, 100, CU_MEMHOSTALLOC_PORTABLE));
    ok(awcu_cuMemHostGetDevicePointer_v2(&d, (char *)p + 5, 0));
    eq(d, (uintptr_t)p + 5);
    ok(awcu_cuMemHostGetFlags(&flags, p));
    eq(flags, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    eq(awcu_cuMemHostUnregister(p), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    ok(awcu_cuMemFreeHost(p));
    eq(awcu_cuMemFreeHost(p), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuMemFreeHost(NULL), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuMemHostRegister_v2(mine, 0, 0), CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuMemHostRegister_v2(mine + 100, 1000, 0));
    eq(awcu_cuMemHostRegister_v2(mine, 200, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    eq(awcu_cuMemHostRegister_v2(mine + 500, 10, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    eq(awcu_cuMemHostUnregister(mine), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    ok(awcu_cuMemHostUnregister(mine + 100));
    eq(awcu_cuMemHostGetDevicePointer_v2(&d, mine + 100, 0), CUDA_ERROR_INVALID_VALUE);
}

Test(memory, pointer_attributes, .init = start_context)
{
    CUdeviceptr d, m, got = 0;
    void *h, *none = (void *)1;
    unsigned type = 0, managed = 9, type2 = 9;
    int ordinal = 0;
    CUcontext ctx = NULL;
    ok(awcu_cuMemAlloc_v2(&d, 64));
    ok(awcu_cuMemAllocManaged(&m, 64, CU_MEM_ATTACH_GLOBAL));
    ok(awcu_cuMemHostAlloc(&h, 64, 0));
    ok(awcu_cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d + 10));
    eq(type, CU_MEMORYTYPE_DEVICE);
    ok(awcu_cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)h));
    eq(type, CU_MEMORYTYPE_HOST);
    ok(awcu_cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, m));
    eq(managed, 1);
    ok(awcu_cuPointerGetAttribute(&got, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, d + 10));
    eq(got, d + 10);
    eq(awcu_cuPointerGetAttribute(&got, CU_POINTER_ATTRIBUTE_HOST_POINTER, d), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuPointerGetAttribute(&got, CU_POINTER_ATTRIBUTE_CONTEXT, (uintptr_t)&got), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuPointerGetAttribute(&got, (CUpointer_attribute)0, d), CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuPointerSetAttribute(&managed, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, d));
    ok(awcu_cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, d));
    eq(type, 1);
    CUpointer_attribute which[] = { CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_HOST_POINTER };
    void *data[] = { &ctx, &type2, &ordinal, &none };
    ok(awcu_cuPointerGetAttributes(4, which, data, d));
    eq(ctx == context && type2 == CU_MEMORYTYPE_DEVICE && ordinal == 0 && none == NULL, true);
    ok(awcu_cuPointerGetAttributes(4, which, data, (uintptr_t)&got)); /* the stack is nobody's */
    eq(ctx == NULL && type2 == 0 && ordinal == CU_DEVICE_INVALID, true);
}

Test(memory, copies, .init = start_context)
{
    char src[300], dst[300] = { 0 };
    CUdeviceptr a, b;
    for (int i = 0; i < 300; i++)
        src[i] = (char)i;
    ok(awcu_cuMemAlloc_v2(&a, 300));
    ok(awcu_cuMemAlloc_v2(&b, 300));
    ok(awcu_cuMemcpyHtoD_v2(a, src, 300));
    ok(awcu_cuMemcpyDtoD_v2(b, a, 300));
    ok(awcu_cuMemcpyDtoH_v2(dst, b, 300));
    cr_assert_arr_eq(src, dst, 300);
    ok(awcu_cuMemcpy((uintptr_t)dst, b, 300));
    ok(awcu_cuMemcpyHtoD_v2(a, src, 0));
    eq(awcu_cuMemcpyHtoD_v2(a, src, 301), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuMemcpyHtoD_v2(a + 300, src, 1), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuMemcpyHtoD_v2((uintptr_t)dst, src, 10), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuMemcpyDtoH_v2(dst, (uintptr_t)src, 10), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuMemcpyDtoH_v2(NULL, a, 10), CUDA_ERROR_INVALID_VALUE);
}

/* A pageable source may change as soon as the call returned; what was queued must not see it. */
/* What one copy found out about its ends does not outlive them: the same copy after one was freed, and after it was made anew. */
Test(memory, the_same_copy_again, .init = start_context)
{
    static char host[256];
    CUdeviceptr a;
    ok(awcu_cuMemAlloc_v2(&a, 256));
    ok(awcu_cuMemcpyHtoD_v2(a, host, 256));
    ok(awcu_cuMemcpyHtoD_v2(a, host, 256));
    ok(awcu_cuMemFree_v2(a));
    eq(awcu_cuMemcpyHtoD_v2(a, host, 256), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuMemcpyHtoD_v2((uintptr_t)host, host + 128, 128), CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuMemHostRegister_v2(host, sizeof host, 0));
    ok(awcu_cuMemcpy((uintptr_t)host, (uintptr_t)host + 128, 128));
    ok(awcu_cuMemHostUnregister(host));
    eq(awcu_cuMemcpyHtoD_v2((uintptr_t)host, host + 128, 128), CUDA_ERROR_INVALID_VALUE);
}

/* Only an object's first byte is a handle: what lies in between is told from it without a division. */
Test(handles, are_first_bytes)
{
    static const size_t sizes[] = { 16, 48, 64, 80, 208, 1008, 4096, 65552 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct aw_slab slab = { .size = sizes[i], .inverse = UINT64_MAX / sizes[i] + 1 };
        for (uintptr_t at = 0; at < (uintptr_t)512 << 20; at += sizes[i] + (at >> 3 & 255) * sizes[i]) {
            cr_assert(aw_slab_aligned(&slab, at));
            cr_assert_not(aw_slab_aligned(&slab, at + 1));
            cr_assert_not(aw_slab_aligned(&slab, at + sizes[i] - 1));
            cr_assert_not(aw_slab_aligned(&slab, at + sizes[i] / 2));
        }
    }
}

Test(memory, pageable_source_of_an_async_copy, .init = start_context)
{
    enum { SMALL = 1000, LARGE = 1 << 20 };
    char *src = malloc(LARGE);
    CUdeviceptr d;
    CUstream stream;
    ok(awcu_cuMemAlloc_v2(&d, LARGE));
    ok(awcu_cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    fake.held = true;
    memset(src, 1, LARGE);
    ok(awcu_cuMemcpyHtoDAsync_v2(d, src, SMALL, stream));
    eq(awcu_cuStreamQuery(stream), CUDA_ERROR_NOT_READY); /* not waited for */
    memset(src, 2, LARGE);
    ok(awcu_cuStreamSynchronize(stream));
    eq(((char *)(uintptr_t)d)[SMALL - 1], 1);
    ok(awcu_cuMemcpyHtoDAsync_v2(d, src, LARGE, stream));
    memset(src, 3, LARGE);
    ok(awcu_cuStreamSynchronize(stream));
    eq(((char *)(uintptr_t)d)[LARGE - 1], 2);
    memset(src, 0, LARGE);
    ok(awcu_cuMemcpyDtoHAsync_v2(src, d, LARGE, stream));
    eq(src[LARGE - 1], 2); /* a pageable destination is complete at return */
    free(src);
}

Test(memory, pinned_copies_do_not_wait, .init = start_context)
{
    CUdeviceptr d;
    CUstream stream;
    void *h;
    ok(awcu_cuMemAlloc_v2(&d, 4096));
    ok(awcu_cuMemHostAlloc(&h, 4096, 0));
    ok(awcu_cuStreamCreate(&stream, 0));
    fake.held = true;
    int before = fake.syncs;
    ok(awcu_cuMemcpyHtoDAsync_v2(d, h, 4096, stream));
    ok(awcu_cuMemcpyDtoHAsync_v2(h, d, 4096, stream));
    ok(awcu_cuMemsetD8Async(d, 1, 4096, stream));
    eq(fake.syncs, before);
    ok(awcu_cuMemcpyHtoD_v2(d, h, 4096));
    eq(fake.syncs, before + 1);
    ok(awcu_cuMemcpyDtoD_v2(d, d + 2048, 1024));
    eq(fake.syncs, before + 1);
}

Test(memory, rectangles, .init = start_context)
{
    unsigned char host[4][8], back[4][8] = { { 0 } };
    CUdeviceptr d;
    size_t pitch;
    for (int i = 0; i < 32; i++)
        host[i / 8][i % 8] = (unsigned char)i;
    ok(awcu_cuMemAllocPitch_v2(&d, &pitch, 8, 4, 4));
    CUDA_MEMCPY2D in = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host, .srcPitch = 8, .srcXInBytes = 2, .srcY = 1,
                         .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = d, .dstPitch = pitch, .WidthInBytes = 4,
                         .Height = 3 };
    ok(awcu_cuMemcpy2D_v2(&in));
    eq(((unsigned char *)(uintptr_t)d)[pitch * 2 + 3], host[3][5]);
    CUDA_MEMCPY3D out = { .srcMemoryType = CU_MEMORYTYPE_UNIFIED, .srcDevice = d, .srcPitch = pitch, .srcHeight = 3,
                          .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = back, .dstPitch = 8, .dstHeight = 3, .dstXInBytes = 4,
                          .WidthInBytes = 4, .Height = 3, .Depth = 1 };
    ok(awcu_cuMemcpy3D_v2(&out));
    eq(back[2][7], host[3][5]);
    eq(back[2][3], 0);
    in.dstPitch = 3;
    eq(awcu_cuMemcpy2D_v2(&in), CUDA_ERROR_INVALID_VALUE);
    in.dstPitch = 4;
    in.dstXInBytes = 100; /* beyond a row: counted from the first one */
    ok(awcu_cuMemcpy2D_v2(&in));
    eq(((unsigned char *)(uintptr_t)d)[100 + 4 * 2 + 3], host[3][5]);
    in.dstXInBytes = 0;
    in.dstPitch = pitch;
    in.Height = 5; /* past the allocation */
    eq(awcu_cuMemcpy2D_v2(&in), CUDA_ERROR_INVALID_VALUE);
    in.Height = 0;
    ok(awcu_cuMemcpy2D_v2(&in));
    in.Height = SIZE_MAX / 2;
    eq(awcu_cuMemcpy2D_v2(&in), CUDA_ERROR_INVALID_VALUE);
    in.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    in.Height = 1;
    eq(awcu_cuMemcpy2D_v2(&in), CUDA_ERROR_INVALID_HANDLE);
    eq(awcu_cuMemcpy2D_v2(NULL), CUDA_ERROR_INVALID_VALUE);
}

Test(memory, fills, .init = start_context)
{
    CUdeviceptr d;
    ok(awcu_cuMemAlloc_v2(&d, 1024));
    unsigned char *p = (unsigned char *)(uintptr_t)d;
    ok(awcu_cuMemsetD8_v2(d, 0, 1024));
    ok(awcu_cuMemsetD32_v2(d + 4, 0x01020304, 2));
    eq(p[4] == 4 && p[7] == 1 && p[11] == 1 && p[12] == 0 && p[3] == 0, true);
    ok(awcu_cuMemsetD16_v2(d, 0xbeef, 1));
    eq(p[0] == 0xef && p[1] == 0xbe && p[2] == 0, true);
    ok(awcu_cuMemsetD2D8_v2(d, 100, 9, 10, 3));
    eq(p[200] == 9 && p[209] == 9 && p[210] == 0 && p[99] == 0, true);
    eq(awcu_cuMemsetD32_v2(d + 2, 0, 2), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuMemsetD8_v2(d, 0, 1025), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuMemsetD8_v2(0, 0, 1), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuMemsetD32_v2(d, 0, SIZE_MAX / 2), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuMemsetD2D8_v2(d, 5, 0, 10, 3), CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuMemsetD8_v2(d, 0, 0));
}

Test(memory, stream_ordered, .init = start_context)
{
    CUdeviceptr a, b, c;
    CUstream s, t;
    CUmemoryPool pool;
    uint64_t kept = 0, zero = 0;
    ok(awcu_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    ok(awcu_cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
    ok(awcu_cuDeviceGetDefaultMemPool(&pool, 0));
    fake.held = true;
    ok(awcu_cuMemAllocAsync(&a, 5000, s));
    ok(awcu_cuMemsetD8Async(a, 1, 5000, s));
    ok(awcu_cuMemFreeAsync(a, s));
    eq(awcu_cuMemFree_v2(a), CUDA_ERROR_INVALID_VALUE); /* freed as far as the user goes */
    ok(awcu_cuMemAllocAsync(&b, 5000, t));
    eq(a == b, false); /* the other stream must not have it yet */
    ok(awcu_cuMemAllocAsync(&c, 5000, s));
    eq(a == c, true);
    ok(awcu_cuMemFreeAsync(c, s));
    ok(awcu_cuStreamSynchronize(s));
    ok(awcu_cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &kept));
    cr_assert_geq(kept, 5000);
    int frees = fake.frees;
    ok(awcu_cuMemPoolTrimTo(pool, 0));
    eq(fake.frees, frees + 1);
    eq(awcu_cuMemAllocAsync(&a, 0, s), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuMemFreeAsync(0x4242, s), CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuMemFree_v2(b)); /* allowed for stream-ordered memory */
    ok(awcu_cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
    eq(awcu_cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
}

/* Memory of pools is the device's; what a context was given besides is not. */
Test(memory, pool_memory_outlives_its_context, .init = start_context)
{
    CUcontext other;
    CUdeviceptr pooled, own;
    CUmemoryPool pool;
    uint64_t used = 0;
    unsigned char byte = 0;
    ok(awcu_cuDeviceGetDefaultMemPool(&pool, 0));
    ok(awcu_cuCtxCreate_v2(&other, 0, 0));
    ok(awcu_cuMemAllocAsync(&pooled, 5000, NULL));
    ok(awcu_cuMemAlloc_v2(&own, 5000));
    ok(awcu_cuMemsetD8_v2(pooled, 7, 5000));
    ok(awcu_cuCtxDestroy_v2(other));
    eq(awcu_cuMemFree_v2(own), CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuMemcpyDtoH_v2(&byte, pooled, 1));
    eq(byte, 7);
    ok(awcu_cuMemFreeAsync(pooled, NULL));
    ok(awcu_cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    eq(used, 0);
}

/* A primary context's reset frees it, and the pool knows. */
Test(memory, reset_takes_what_pools_gave, .init = start)
{
    CUcontext primary;
    CUdeviceptr pooled;
    CUmemoryPool pool;
    uint64_t used = 0;
    ok(awcu_cuInit(0));
    ok(awcu_cuDeviceGetDefaultMemPool(&pool, 0));
    ok(awcu_cuDevicePrimaryCtxRetain(&primary, 0));
    ok(awcu_cuCtxSetCurrent(primary));
    ok(awcu_cuMemAllocAsync(&pooled, 5000, NULL));
    ok(awcu_cuDevicePrimaryCtxReset_v2(0));
    ok(awcu_cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    eq(used, 0);
}

static CUmemAccess_flags access_of(CUmemoryPool pool, int device)
{
    CUmemAccess_flags flags = (CUmemAccess_flags)99;
    CUmemLocation at = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device };
    ok(awcu_cuMemPoolGetAccess(&flags, pool, &at));
    return flags;
}

static void two_devices(bool peers)
{
    start();
    fake.devices = 2;
    fake.peers = peers;
    ok(awcu_cuInit(0));
}

Test(memory, pool_is_open_to_a_peer)
{
    CUmemoryPool pool;
    CUcontext own, peer;
    CUmemAccessDesc map = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 },
                            .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    two_devices(true);
    ok(awcu_cuDeviceGetDefaultMemPool(&pool, 0));
    eq(access_of(pool, 0), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    eq(access_of(pool, 1), CU_MEM_ACCESS_FLAGS_PROT_NONE);
    ok(awcu_cuMemPoolSetAccess(pool, &map, 1));
    eq(access_of(pool, 1), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    eq(fake.peers_on, (uint64_t)1 << 8);
    ok(awcu_cuDevicePrimaryCtxRetain(&own, 0));
    ok(awcu_cuDevicePrimaryCtxRetain(&peer, 1));
    ok(awcu_cuCtxSetCurrent(peer)); /* access to all memory is another matter: neither asked for nor ended by it */
    eq(awcu_cuCtxDisablePeerAccess(own), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    ok(awcu_cuCtxEnablePeerAccess(own, 0));
    ok(awcu_cuCtxDisablePeerAccess(own));
    eq(fake.peers_on, (uint64_t)1 << 8);
    map.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    ok(awcu_cuMemPoolSetAccess(pool, &map, 1));
    eq(access_of(pool, 1), CU_MEM_ACCESS_FLAGS_PROT_NONE);
    map.location.id = 0;
    eq(awcu_cuMemPoolSetAccess(pool, &map, 1), CUDA_ERROR_INVALID_VALUE);
}

Test(memory, pool_is_not_open_to_a_device_that_is_no_peer)
{
    CUmemoryPool pool;
    CUmemAccessDesc map = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 },
                            .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    two_devices(false);
    ok(awcu_cuDeviceGetDefaultMemPool(&pool, 0));
    eq(awcu_cuMemPoolSetAccess(pool, &map, 1), CUDA_ERROR_NOT_SUPPORTED);
    eq(access_of(pool, 1), CU_MEM_ACCESS_FLAGS_PROT_NONE);
}

/* A kept block serves a little less than its size: what is used is what was asked for, what is reserved stays. */
Test(memory, pool_counts_what_was_asked_for, .init = start_context)
{
    CUdeviceptr a;
    CUmemoryPool pool;
    uint64_t used = 0, reserved = 0, before = 0, size = 0;
    ok(awcu_cuDeviceGetDefaultMemPool(&pool, 0));
    ok(awcu_cuMemAllocAsync(&a, 1024, NULL));
    ok(awcu_cuMemFreeAsync(a, NULL));
    ok(awcu_cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &before));
    for (int i = 0; i < 3; i++) {
        ok(awcu_cuMemAllocAsync(&a, 512, NULL));
        ok(awcu_cuMemGetAddressRange_v2(NULL, &size, a));
        ok(awcu_cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
        ok(awcu_cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
        eq(used, 512);
        eq(size, 512);
        eq(reserved, before);
        ok(awcu_cuMemFreeAsync(a, NULL));
        ok(awcu_cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
        ok(awcu_cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
        eq(used, 0);
        eq(reserved, before);
    }
}

Test(memory, pool_gives_back_when_memory_is_short, .init = start_context)
{
    CUdeviceptr a;
    fake.memory = 10000;
    ok(awcu_cuMemAllocAsync(&a, 8000, NULL));
    ok(awcu_cuMemFreeAsync(a, NULL));
    ok(awcu_cuMemAlloc_v2(&a, 9000));
}

/* ---- Streams and events. */

Test(stream, handles_are_checked, .init = start_context)
{
    CUstream s;
    unsigned flags;
    int priority;
    eq(awcu_cuStreamSynchronize((CUstream)0x1234567), CUDA_ERROR_INVALID_HANDLE);
    eq(awcu_cuStreamSynchronize((CUstream)&s), CUDA_ERROR_INVALID_HANDLE);
    eq(awcu_cuStreamCreate(&s, 2), CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuStreamCreateWithPriority(&s, 1, -100));
    ok(awcu_cuStreamGetPriority(s, &priority));
    eq(priority, -5);
    ok(awcu_cuStreamGetFlags(s, &flags));
    eq(flags, 1);
    eq(awcu_cuStreamQuery((CUstream)((char *)s + 8)), CUDA_ERROR_INVALID_HANDLE);
    ok(awcu_cuStreamDestroy_v2(s));
    eq(awcu_cuStreamDestroy_v2(s), CUDA_ERROR_INVALID_HANDLE);
    eq(awcu_cuStreamSynchronize(s), CUDA_ERROR_INVALID_HANDLE);
    eq(awcu_cuStreamDestroy_v2(NULL), CUDA_ERROR_INVALID_HANDLE);
    eq(awcu_cuStreamDestroy_v2(CU_STREAM_PER_THREAD), CUDA_ERROR_INVALID_HANDLE);
    ok(awcu_cuStreamSynchronize(NULL));
    ok(awcu_cuStreamSynchronize(CU_STREAM_LEGACY));
}

static void *thread_id(void *arg)
{
    unsigned long long id = 0;
    if (awcu_cuCtxSetCurrent(context) || awcu_cuStreamGetId(CU_STREAM_PER_THREAD, &id))
        return NULL;
    return (void *)(uintptr_t)id;
}

Test(stream, per_thread, .init = start_context)
{
    pthread_t thread;
    void *other;
    unsigned long long a, b, legacy;
    ok(awcu_cuStreamGetId(CU_STREAM_PER_THREAD, &a));
    ok(awcu_cuStreamGetId(CU_STREAM_PER_THREAD, &b));
    ok(awcu_cuStreamGetId(NULL, &legacy));
    eq(a, b);
    cr_assert_neq(a, legacy);
    pthread_create(&thread, NULL, thread_id, NULL);
    pthread_join(thread, &other);
    cr_assert_not_null(other);
    cr_assert_neq(a, (uintptr_t)other);
    eq(fake.streams, 1); /* the other thread's went with it */
}

static void count(void *n)
{
    ++*(int *)n;
}

static void callback(CUstream stream, CUresult status, void *user)
{
    void **got = user;
    got[0] = stream;
    got[1] = (void *)(uintptr_t)(status + 1);
}

Test(stream, host_functions, .init = start_context)
{
    CUstream s;
    int n = 0;
    void *got[2] = { 0 };
    ok(awcu_cuStreamCreate(&s, 0));
    fake.held = true;
    ok(awcu_cuLaunchHostFunc(s, count, &n));
    ok(awcu_cuStreamAddCallback(s, callback, got, 0));
    eq(n, 0);
    ok(awcu_cuStreamSynchronize(s));
    eq(n, 1);
    eq(got[0] == s && got[1] == (void *)1, true);
    eq(awcu_cuStreamAddCallback(s, callback, got, 1), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuLaunchHostFunc(s, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    int before = n;
    for (unsigned how = 0; how < 3; how++) /* blocking, spinning, and no way to wait */
        eq(awcu_cuLaunchHostFunc_v2(s, count, &n, how), how < 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuStreamSynchronize(s));
    eq(n, before + 2);
}

Test(event, codes, .init = start_context)
{
    CUevent a, b, quiet;
    CUcontext second;
    float ms = -1;
    ok(awcu_cuEventCreate(&a, 0));
    ok(awcu_cuEventCreate(&b, CU_EVENT_BLOCKING_SYNC));
    ok(awcu_cuEventCreate(&quiet, CU_EVENT_DISABLE_TIMING));
    eq(awcu_cuEventCreate(&quiet, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuEventCreate(&quiet, 8), CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuEventQuery(a)); /* never recorded */
    ok(awcu_cuEventSynchronize(a));
    eq(awcu_cuEventElapsedTime(&ms, a, b), CUDA_ERROR_INVALID_HANDLE);
    fake.held = true;
    ok(awcu_cuEventRecord(a, NULL));
    ok(awcu_cuEventRecord(b, NULL));
    ok(awcu_cuEventRecord(quiet, NULL));
    eq(awcu_cuEventQuery(a), CUDA_ERROR_NOT_READY);
    eq(awcu_cuEventElapsedTime(&ms, a, b), CUDA_ERROR_NOT_READY);
    ok(awcu_cuEventSynchronize(b));
    ok(awcu_cuEventElapsedTime(&ms, a, b));
    cr_assert_float_eq(ms, 1, 1e-6);
    eq(awcu_cuEventElapsedTime(&ms, a, quiet), CUDA_ERROR_INVALID_HANDLE);
    ok(awcu_cuStreamWaitEvent(NULL, a, 0));
    eq(awcu_cuStreamWaitEvent(NULL, NULL, 0), CUDA_ERROR_INVALID_HANDLE);
    ok(awcu_cuCtxCreate_v2(&second, 0, 0));
    eq(awcu_cuEventRecord(a, NULL), CUDA_ERROR_INVALID_HANDLE); /* of the other context */
    ok(awcu_cuEventDestroy_v2(a));
    eq(awcu_cuEventDestroy_v2(a), CUDA_ERROR_INVALID_HANDLE);
    eq(awcu_cuEventQuery((CUevent)(uintptr_t)0x10), CUDA_ERROR_INVALID_HANDLE);
}

Test(event, lookup_by_name, .init = start)
{
    void *pfn = NULL;
    CUdriverProcAddressQueryResult found;
    const void *private_table = &pfn;
    CUuuid id = { { 0 } };
    ok(awcu_cuGetProcAddress_v2("cuInit", &pfn, 12000, 0, &found));
    cr_assert_not_null(pfn);
    eq(found, 0);
    ok(awcu_cuGetProcAddress_v2("cuNothing", &pfn, 12000, 0, &found));
    cr_assert_null(pfn);
    eq(found, 1);
    eq(awcu_cuGetProcAddress("cuNothing", &pfn, 12000, 0), CUDA_ERROR_NOT_FOUND);
    eq(awcu_cuGetProcAddress("cuInit", &pfn, 12000, 3), CUDA_ERROR_INVALID_VALUE);
    cr_assert_neq(awcu_cuGetExportTable(&private_table, &id), CUDA_SUCCESS);
    cr_assert_null(private_table);
}
