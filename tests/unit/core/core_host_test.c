/* The driver API's bodies over the real host device: what needs no kernel.  Choosing the provider is part of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "abi/cuda_util.h"

#define eq(a, b) cr_assert_eq((long long)(a), (long long)(b), "%s is %lld, not %s", #a, (long long)(a), #b)
#define ok(call) eq(call, CUDA_SUCCESS)

static CUcontext context;

static void start(void)
{
    setenv("ANYWARP_LOG", "err", 1);
    setenv("ANYWARP_DEVICE", "host", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    ok(awcu_cuInit(0));
    ok(awcu_cuDevicePrimaryCtxRetain(&context, 0));
    ok(awcu_cuCtxSetCurrent(context));
}

Test(host, device, .init = start)
{
    char name[256];
    int value;
    size_t free_bytes, total;
    cr_assert_str_eq(aw_provider->name, "host");
    ok(awcu_cuDeviceGetName(name, sizeof name, 0));
    cr_assert_gt(strlen(name), 3);
    for (int i = 1; i <= 147; i++)
        ok(awcu_cuDeviceGetAttribute(&value, (CUdevice_attribute)i, 0));
    static const int positive[] = { 1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 16, 39, 81, 82, 97 };
    for (size_t i = 0; i < sizeof positive / sizeof *positive; i++) {
        ok(awcu_cuDeviceGetAttribute(&value, (CUdevice_attribute)positive[i], 0));
        cr_assert_gt(value, 0, "attribute %d is %d", positive[i], value);
    }
    ok(awcu_cuMemGetInfo_v2(&free_bytes, &total));
    cr_assert_gt(free_bytes, 0);
    cr_assert_leq(free_bytes, total);
}

static void slow(void *done)
{
    usleep(30000);
    __atomic_store_n((int *)done, 1, __ATOMIC_RELEASE);
}

/* The legacy stream waits for blocking streams and is waited for; non-blocking ones go their own way. */
Test(host, default_stream_rules, .init = start)
{
    CUstream blocking, free_stream;
    CUdeviceptr d;
    int done = 0, two = 0;
    ok(awcu_cuMemAlloc_v2(&d, 4));
    ok(awcu_cuStreamCreate(&blocking, 0));
    ok(awcu_cuStreamCreate(&free_stream, CU_STREAM_NON_BLOCKING));
    ok(awcu_cuLaunchHostFunc(blocking, slow, &done));
    eq(awcu_cuStreamQuery(blocking), CUDA_ERROR_NOT_READY);
    ok(awcu_cuMemcpyHtoD_v2(d, &two, 4));
    eq(__atomic_load_n(&done, __ATOMIC_ACQUIRE), 1);
    ok(awcu_cuLaunchHostFunc(NULL, slow, &two));
    ok(awcu_cuStreamSynchronize(free_stream));
    eq(__atomic_load_n(&two, __ATOMIC_ACQUIRE), 0);
    ok(awcu_cuStreamSynchronize(NULL));
    eq(two, 1);
}

Test(host, copies_and_fills, .init = start)
{
    enum { N = 3 << 20 };
    char *src = malloc(N), *dst = calloc(1, N);
    CUdeviceptr d, pitched;
    CUstream s;
    size_t pitch;
    for (int i = 0; i < N; i++)
        src[i] = (char)(i * 7);
    ok(awcu_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    ok(awcu_cuMemAllocAsync(&d, N, s));
    ok(awcu_cuMemcpyHtoDAsync_v2(d, src, N, s));
    ok(awcu_cuMemsetD8Async(d + 100, 1, 50, s));
    ok(awcu_cuMemcpyDtoHAsync_v2(dst, d, N, s));
    memset(src + 100, 1, 50);
    eq(memcmp(src, dst, N), 0);
    ok(awcu_cuMemFreeAsync(d, s));
    ok(awcu_cuMemAllocPitch_v2(&pitched, &pitch, 100, 10, 4));
    CUDA_MEMCPY2D in = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = src, .srcPitch = 100, .dstDevice = pitched,
                         .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstPitch = pitch, .WidthInBytes = 100, .Height = 10 };
    ok(awcu_cuMemcpy2D_v2(&in));
    ok(awcu_cuMemcpyDtoH_v2(dst, pitched + 9 * pitch, 100));
    eq(memcmp(dst, src + 900, 100), 0);
    ok(awcu_cuMemsetD32_v2(pitched, 0x12345678, 25));
    ok(awcu_cuMemcpyDtoH_v2(dst, pitched, 100));
    eq(((unsigned *)dst)[24], 0x12345678);
    free(src), free(dst);
}

/* Staged copies must read what the source held when they were asked for. */
Test(host, staged_source, .init = start)
{
    int value, gate = 0, back[100];
    CUdeviceptr d;
    CUstream s;
    ok(awcu_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    ok(awcu_cuMemAlloc_v2(&d, sizeof back));
    ok(awcu_cuLaunchHostFunc(s, slow, &gate));
    for (int i = 0; i < 100; i++) {
        value = i * i;
        ok(awcu_cuMemcpyHtoDAsync_v2(d + 4 * (CUdeviceptr)i, &value, 4, s));
    }
    eq(__atomic_load_n(&gate, __ATOMIC_ACQUIRE), 0);
    ok(awcu_cuMemcpyDtoHAsync_v2(back, d, sizeof back, s));
    for (int i = 0; i < 100; i++)
        eq(back[i], i * i);
}

Test(host, events, .init = start)
{
    CUevent a, b;
    CUstream s, t;
    int done = 0;
    float ms;
    ok(awcu_cuEventCreate(&a, 0));
    ok(awcu_cuEventCreate(&b, 0));
    ok(awcu_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    ok(awcu_cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
    ok(awcu_cuEventRecord(a, s));
    ok(awcu_cuLaunchHostFunc(s, slow, &done));
    ok(awcu_cuEventRecord(b, s));
    eq(awcu_cuEventElapsedTime(&ms, a, b), CUDA_ERROR_NOT_READY);
    ok(awcu_cuStreamWaitEvent(t, b, 0));
    ok(awcu_cuStreamSynchronize(t));
    eq(done, 1);
    ok(awcu_cuEventElapsedTime(&ms, a, b));
    cr_assert(ms > 20 && ms < 5000, "%f ms", ms);
}

static void *work(void *arg)
{
    CUdeviceptr d;
    CUstream s;
    CUevent e;
    char bytes[5000];
    if (awcu_cuCtxSetCurrent(context) || awcu_cuStreamCreate(&s, 0) || awcu_cuEventCreate(&e, 0))
        return NULL;
    for (int i = 0; i < 200; i++) {
        memset(bytes, i, sizeof bytes);
        if (awcu_cuMemAllocAsync(&d, sizeof bytes, s) || awcu_cuMemcpyHtoDAsync_v2(d, bytes, sizeof bytes, s))
            return NULL;
        memset(bytes, 0xff, sizeof bytes);
        if (awcu_cuMemcpyDtoHAsync_v2(bytes, d, sizeof bytes, s) || awcu_cuEventRecord(e, CU_STREAM_PER_THREAD) ||
            awcu_cuMemFreeAsync(d, s) || bytes[4999] != (char)i)
            return NULL;
    }
    return awcu_cuStreamDestroy_v2(s) || awcu_cuEventDestroy_v2(e) ? NULL : arg;
}

Test(host, many_threads, .init = start)
{
    enum { N = 8 };
    pthread_t threads[N];
    static int mark;
    void *result;
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, work, &mark);
    for (int i = 0; i < N; i++) {
        pthread_join(threads[i], &result);
        cr_assert_not_null(result);
    }
    ok(awcu_cuCtxSynchronize());
    ok(awcu_cuDevicePrimaryCtxReset_v2(0));
}

static int hint(CUmem_range_attribute attribute, CUdeviceptr at, size_t size)
{
    int value = 77;
    ok(awcu_cuMemRangeGetAttribute(&value, sizeof value, attribute, at, size));
    return value;
}

/* What is said of pages is what is told of them, and of ranges what all of their pages have. */
Test(host, hints, .init = start)
{
    enum { PAGE = 4096, PAGES = 16 };
    const CUmemLocation host = { CU_MEM_LOCATION_TYPE_HOST, 0 }, device = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
                        none = { CU_MEM_LOCATION_TYPE_DEVICE, 99 };
    CUdeviceptr m, plain;
    int who[3];
    ok(awcu_cuMemAllocManaged(&m, PAGES * PAGE, 1));
    ok(awcu_cuMemAlloc_v2(&plain, PAGE));
    eq(hint(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m, PAGE), 0);
    eq(hint(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, m, PAGE), CU_DEVICE_INVALID);
    eq(hint(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE, m, PAGE), CU_MEM_LOCATION_TYPE_INVALID);

    ok(awcu_cuMemAdvise_v2(m, 8 * PAGE, CU_MEM_ADVISE_SET_READ_MOSTLY, none)); /* names no place */
    ok(awcu_cuMemAdvise_v2(m + 4 * PAGE, 4 * PAGE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device));
    ok(awcu_cuMemAdvise_v2(m + 6 * PAGE, 6 * PAGE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
    ok(awcu_cuMemAdvise_v2(m, 2 * PAGE, CU_MEM_ADVISE_SET_ACCESSED_BY, device));
    ok(awcu_cuMemAdvise_v2(m + PAGE, 2 * PAGE, CU_MEM_ADVISE_SET_ACCESSED_BY, host));
    eq(hint(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m, 8 * PAGE), 1);
    eq(hint(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m + 1, 8 * PAGE - 1), 1);
    eq(hint(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m, 8 * PAGE + 1), 0);
    eq(hint(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, m + 4 * PAGE, 2 * PAGE), 0);
    eq(hint(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, m + 6 * PAGE, 6 * PAGE), CU_DEVICE_CPU);
    eq(hint(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, m + 6 * PAGE, 6 * PAGE), CU_MEM_LOCATION_TYPE_HOST);
    eq(hint(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID, m + 6 * PAGE, 6 * PAGE), CU_DEVICE_CPU);
    eq(hint(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID, m + 5 * PAGE, 2 * PAGE), CU_DEVICE_INVALID);
    eq(hint(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, m + 5 * PAGE, 2 * PAGE), CU_DEVICE_INVALID);
    ok(awcu_cuMemRangeGetAttribute(who, sizeof who, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, m + PAGE, PAGE));
    cr_assert(who[0] == 0 && who[1] == CU_DEVICE_CPU && who[2] == CU_DEVICE_INVALID);
    ok(awcu_cuMemAdvise_v2(m, PAGES * PAGE, CU_MEM_ADVISE_UNSET_ACCESSED_BY, device));
    ok(awcu_cuMemRangeGetAttribute(who, 4, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, m + PAGE, PAGE));
    eq(who[0], CU_DEVICE_CPU);
    ok(awcu_cuMemAdvise_v2(m + 2 * PAGE, PAGE, CU_MEM_ADVISE_UNSET_READ_MOSTLY, none));
    eq(hint(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m, 2 * PAGE), 1);
    eq(hint(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m, 3 * PAGE), 0);

    ok(awcu_cuMemPrefetchAsync_v2(m + 100, 1, device, 0, NULL)); /* its page */
    eq(hint(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, m, PAGE), 0);
    CUdeviceptr at[] = { m + 8 * PAGE, m + 9 * PAGE, m + 10 * PAGE };
    size_t sizes[] = { PAGE, PAGE, PAGE }, firsts[] = { 0, 2 }, wrong[] = { 1, 2 };
    CUmemLocation places[] = { host, device };
    CUstream stream;
    ok(awcu_cuStreamCreate(&stream, 0));
    eq(awcu_cuMemPrefetchBatchAsync(at, sizes, 3, places, firsts, 2, 0, NULL), CUDA_ERROR_INVALID_VALUE); /* the legacy stream */
    ok(awcu_cuMemPrefetchBatchAsync(at, sizes, 3, places, firsts, 2, 0, stream));
    eq(hint(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, m + 8 * PAGE, 2 * PAGE), CU_DEVICE_CPU);
    eq(hint(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, m + 10 * PAGE, PAGE), 0);
    ok(awcu_cuMemDiscardBatchAsync(at, sizes, 3, 0, stream));
    ok(awcu_cuMemDiscardAndPrefetchBatchAsync(at, sizes, 3, places, firsts, 1, 0, stream));
    eq(hint(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, m + 8 * PAGE, 3 * PAGE), CU_DEVICE_CPU);

    eq(awcu_cuMemPrefetchBatchAsync(at, sizes, 3, places, wrong, 2, 0, stream), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuMemPrefetchBatchAsync(at, sizes, 1, places, firsts, 2, 0, stream), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuMemPrefetchBatchAsync(at, sizes, 3, NULL, firsts, 2, 0, stream), CUDA_ERROR_INVALID_VALUE);
    at[2] = plain;
    eq(awcu_cuMemDiscardBatchAsync(at, sizes, 3, 0, stream), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuMemRangeGetAttribute(who, 8, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m, PAGE), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuMemRangeGetAttribute(who, 6, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, m, PAGE), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuMemRangeGetAttribute(who, 4, (CUmem_range_attribute)9, m, PAGE), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuMemRangeGetAttribute(who, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, plain, PAGE), CUDA_ERROR_INVALID_VALUE);

    CUdeviceptr again[4];
    ok(awcu_cuMemFree_v2(m));
    for (int i = 0; i < 4; i++) {
        ok(awcu_cuMemAllocManaged(&again[i], PAGES * PAGE, 1)); /* one of them likely at the same place, and new */
        eq(hint(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, again[i], 2 * PAGE), 0);
    }
}
