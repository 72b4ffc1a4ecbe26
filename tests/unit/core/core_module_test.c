/* Modules, libraries, launching and the registry, over the recording provider and compiler. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "../fatbin/make_fatbin.h"
#include "abi/cuda_util.h"
#include "core/tiers.h"
#include "fake.h"

#define eq(a, b) cr_assert_eq((long long)(a), (long long)(b), "%s is %lld, not %s", #a, (long long)(a), #b)
#define ok(call) eq(call, CUDA_SUCCESS)

static CUcontext context;

static void start_with(bool quick)
{
    setenv("ANYWARP_LOG", "err", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("ANYWARP_CC");
    fake_reset();
    fake.quick = quick;
    aw_core_test_provider(&fake_provider);
    ok(awcu_cuInit(0));
    ok(awcu_cuDevicePrimaryCtxRetain(&context, 0));
    ok(awcu_cuCtxSetCurrent(context));
}

static void start(void)
{
    start_with(false);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* what others do on the machine is not measured */
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ---- Fat binaries. */

struct wrapper {
    uint32_t magic, version;
    const void *data;
    const void *extra;
};

static char *container(uint16_t kind, const char *text, uint64_t flags)
{
    struct aw_buf out = { 0 };
    make_begin(&out);
    if (text)
        make_add(&out, &(struct make_entry){ .kind = kind, .sm = 75, .flags = flags, .compression = MAKE_ZSTD, .text = text,
                                             .len = strlen(text) + 1 });
    make_end(&out, 0);
    return out.ptr;
}

static struct wrapper wrapper_of(const void *data)
{
    return (struct wrapper){ 0x466243b1, 1, data, NULL };
}

/* ---- Loading. */

Test(module, kinds_of_image, .init = start)
{
    CUmodule m;
    char *fatbin = container(1, FAKE_PTX, 0);
    struct wrapper wrapper = wrapper_of(fatbin);
    ok(awcu_cuModuleLoadData(&m, FAKE_PTX));
    ok(awcu_cuModuleUnload(m));
    eq(awcu_cuModuleUnload(m), CUDA_ERROR_INVALID_HANDLE);
    ok(awcu_cuModuleLoadData(&m, "/* a comment */ // another\n\t.version 8.0\n"));
    ok(awcu_cuModuleLoadData(&m, fatbin));
    ok(awcu_cuModuleLoadFatBinary(&m, fatbin));
    ok(awcu_cuModuleLoadFatBinary(&m, &wrapper));
    ok(awcu_cuModuleLoadFatBinary(&m, FAKE_PTX));
    eq(awcu_cuModuleLoadFatBinary(&m, "x"), CUDA_ERROR_INVALID_IMAGE);
    eq(awcu_cuModuleLoadData(&m, ""), CUDA_ERROR_INVALID_IMAGE);
    eq(awcu_cuModuleLoadData(&m, "x"), CUDA_ERROR_INVALID_IMAGE);
    eq(awcu_cuModuleLoadData(&m, "/* not closed"), CUDA_ERROR_INVALID_IMAGE);
    static const char cubin[64] = "\177ELF\2\1\1"; /* as many bytes as its header has */
    eq(awcu_cuModuleLoadData(&m, cubin), CUDA_ERROR_NO_BINARY_FOR_GPU);
    eq(awcu_cuModuleLoadFatBinary(&m, cubin), CUDA_ERROR_NO_BINARY_FOR_GPU);
    eq(awcu_cuModuleLoadData(&m, NULL), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuModuleLoadData(NULL, FAKE_PTX), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuModuleLoad(&m, "/nonexistent/x.ptx"), CUDA_ERROR_FILE_NOT_FOUND);
    eq(awcu_cuModuleLoad(&m, "/dev/zero"), CUDA_ERROR_FILE_NOT_FOUND); /* it has no end */
    free(fatbin);
}

Test(module, from_a_file, .init = start)
{
    char path[] = "/tmp/aw-core-test-XXXXXX";
    CUmodule m;
    CUfunction f;
    int fd = mkstemp(path);
    cr_assert_eq(write(fd, FAKE_PTX, sizeof FAKE_PTX - 1), (ssize_t)sizeof FAKE_PTX - 1);
    close(fd);
    ok(awcu_cuModuleLoad(&m, path));
    ok(awcu_cuModuleGetFunction(&f, m, "add"));
    unlink(path);
}

Test(module, cubins_alone_are_no_binary, .init = start)
{
    CUmodule m;
    char *fatbin = container(2, "not really an ELF file", 0), *empty = container(1, NULL, 0);
    char error[600] = "";
    CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    void *values[] = { error, (void *)sizeof error };
    eq(awcu_cuModuleLoadDataEx(&m, fatbin, 2, options, values), CUDA_SUCCESS); /* is lifted: the compiler's affair */
    eq(awcu_cuModuleUnload(m), CUDA_SUCCESS);
    setenv("ANYWARP_LIFT", "0", 1);
    values[1] = (void *)sizeof error; /* was told how much there is to read */
    eq(awcu_cuModuleLoadDataEx(&m, fatbin, 2, options, values), CUDA_ERROR_NO_BINARY_FOR_GPU);
    cr_assert_not_null(strstr(error, "sm_75 (cubin), which ANYWARP_LIFT=0 says not to use"), "%s", error);
    eq(awcu_cuModuleLoadData(&m, empty), CUDA_ERROR_NO_BINARY_FOR_GPU);
    free(fatbin);
    free(empty);
}

Test(module, unknown_words_for_lifting_are_said)
{
    CUmodule m;
    char *fatbin = container(2, "not really an ELF file", 0), said[2000] = "";
    aw_log_on(AW_LOG_WARN, "core"); /* reads how much is to be said before start() silences it */
    start();
    FILE *file = tmpfile();
    cr_assert_geq(dup2(fileno(file), STDERR_FILENO), 0);
    setenv("ANYWARP_LIFT", "maybe", 1);
    eq(awcu_cuModuleLoadData(&m, fatbin), CUDA_SUCCESS);
    rewind(file);
    cr_assert_gt(fread(said, 1, sizeof said - 1, file), 0);
    cr_assert_not_null(strstr(said, "ANYWARP_LIFT=maybe is not known; known are 0, 1 and always; using 1"), "%s", said);
    fclose(file);
    free(fatbin);
}

Test(module, logs, .init = start)
{
    CUmodule m;
    char info[64] = "x", error[16] = "x";
    CUjit_option options[] = { CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER,
                               CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_WALL_TIME, CU_JIT_OPTIMIZATION_LEVEL };
    void *values[] = { info, (void *)sizeof info, error, (void *)sizeof error, NULL, (void *)4 };
    eq(awcu_cuModuleLoadDataEx(&m, FAKE_PTX "SYNTAX", 6, options, values), CUDA_ERROR_INVALID_PTX);
    cr_assert_str_eq(error, "x.ptx:3:1: erro"); /* cut, and still a string */
    eq((uintptr_t)values[3], 16);
    eq((uintptr_t)values[1], 0);
    values[1] = (void *)sizeof info;
    values[3] = (void *)sizeof error;
    ok(awcu_cuModuleLoadDataEx(&m, FAKE_PTX, 6, options, values));
    eq((uintptr_t)values[3], 0);
    options[0] = (CUjit_option)99;
    eq(awcu_cuModuleLoadDataEx(&m, FAKE_PTX, 6, options, values), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuModuleLoadDataEx(&m, FAKE_PTX, 1, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
}

Test(module, functions_and_variables, .init = start)
{
    CUmodule m;
    CUfunction f, all[9] = { 0 };
    CUdeviceptr answer, far, link, managed;
    size_t size, offset;
    unsigned n;
    const char *name;
    ok(awcu_cuModuleLoadData(&m, FAKE_PTX));
    eq(fake.allocs, 0); /* nothing until it is needed */
    ok(awcu_cuModuleGetFunction(&f, m, "bounded"));
    ok(awcu_cuFuncGetName(&name, f));
    cr_assert_str_eq(name, "bounded");
    eq(awcu_cuModuleGetFunction(&f, m, "boundedd"), CUDA_ERROR_NOT_FOUND);
    eq(awcu_cuModuleGetFunction(&f, m, NULL), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuModuleGetFunction(&f, (CUmodule)&m, "add"), CUDA_ERROR_INVALID_HANDLE);
    ok(awcu_cuModuleGetFunctionCount(&n, m));
    eq(n, 4);
    ok(awcu_cuModuleEnumerateFunctions(all, 9, m));
    cr_assert_not_null(all[3]);
    cr_assert_null(all[4]);
    ok(awcu_cuModuleGetFunction(&f, m, "add"));
    eq(f == all[0], true);
    ok(awcu_cuFuncGetParamInfo(f, 1, &offset, &size));
    eq(offset * 100 + size, 804);
    eq(awcu_cuFuncGetParamInfo(f, 2, &offset, &size), CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuModuleGetGlobal_v2(&answer, &size, m, "answer"));
    eq(size, 4);
    eq(*(int *)(uintptr_t)answer, 42);
    ok(awcu_cuModuleGetGlobal_v2(&far, NULL, m, "far"));
    eq(far - answer, 1024);
    eq(((char *)(uintptr_t)far)[2047], 0); /* zero beyond the image */
    ok(awcu_cuModuleGetGlobal_v2(&link, NULL, m, "link"));
    eq(*(uint64_t *)(uintptr_t)link, (answer + 2) / 2);
    ok(awcu_cuModuleGetGlobal_v2(&managed, &size, m, "shared_by_all"));
    eq(size, 8);
    eq(*(uint64_t *)(uintptr_t)managed, 7);
    eq(*(uint64_t *)(uintptr_t)(answer + 16), managed); /* the cell */
    eq(awcu_cuModuleGetGlobal_v2(&managed, &size, m, "nowhere"), CUDA_ERROR_NOT_FOUND);
    eq(awcu_cuMemFree_v2(answer), CUDA_ERROR_INVALID_VALUE); /* not the user's to free */
    eq(fake.compiles, 0);
    ok(awcu_cuModuleUnload(m));
    eq(fake.used, 0);
    eq(awcu_cuFuncGetName(&name, f), CUDA_ERROR_INVALID_HANDLE);
}

/* ---- Compiling. */

Test(func, attributes, .init = start)
{
    CUmodule m;
    CUfunction f;
    CUfunctionLoadingState state;
    int value;
    ok(awcu_cuModuleLoadData(&m, FAKE_PTX));
    ok(awcu_cuModuleGetFunction(&f, m, "bounded"));
    ok(awcu_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f));
    eq(value, 1000);
    ok(awcu_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PTX_VERSION, f));
    eq(value, 75);
    ok(awcu_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_BINARY_VERSION, f));
    eq(value, 80);
    ok(awcu_cuFuncIsLoaded(&state, f));
    eq(state, CU_FUNCTION_LOADING_STATE_UNLOADED);
    eq(fake.compiles, 0);
    ok(awcu_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
    eq(value, 64);
    ok(awcu_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
    eq(value, 24);
    eq(fake.compiles, 1);
    eq(fake.opt_level, 3);
    ok(awcu_cuFuncIsLoaded(&state, f));
    eq(state, CU_FUNCTION_LOADING_STATE_LOADED);
    eq(awcu_cuFuncGetAttribute(&value, (CUfunction_attribute)99, f), CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
    eq(value, 48 * 1024 - 1000);
    ok(awcu_cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 * 1024 - 1000));
    eq(awcu_cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 * 1024 - 999), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS, 1), CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuModuleGetFunction(&f, m, "add"));
    ok(awcu_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
    eq(value, 512);
}

Test(func, debug_code_is_not_optimised, .init = start)
{
    CUmodule m;
    CUfunction f;
    char *fatbin = container(1, FAKE_PTX, 2);
    ok(awcu_cuModuleLoadData(&m, fatbin));
    ok(awcu_cuModuleGetFunction(&f, m, "add"));
    ok(awcu_cuFuncLoad(f));
    eq(fake.opt_level, 0);
    free(fatbin);
}

Test(func, broken_kernel_fails_alone_and_once, .init = start)
{
    CUmodule m;
    CUfunction broken, add;
    uint64_t a = 0;
    uint32_t b = 0;
    void *params[] = { &a, &b };
    ok(awcu_cuModuleLoadData(&m, FAKE_PTX));
    ok(awcu_cuModuleGetFunction(&broken, m, "broken"));
    ok(awcu_cuModuleGetFunction(&add, m, "add"));
    for (int i = 0; i < 3; i++)
        eq(awcu_cuLaunchKernel(broken, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_NOT_SUPPORTED);
    eq(fake.compiles, 1);
    ok(awcu_cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
}

Test(func, dead_compiler_is_asked_again, .init = start)
{
    CUmodule m;
    CUfunction broken;
    fake.compile_status = AW_ERR_OS;
    ok(awcu_cuModuleLoadData(&m, FAKE_PTX));
    ok(awcu_cuModuleGetFunction(&broken, m, "broken"));
    for (int i = 0; i < 6; i++)
        eq(awcu_cuFuncLoad(broken), CUDA_ERROR_OPERATING_SYSTEM);
    eq(fake.compiles, 3); /* and then no more */
}

static CUfunction shared_func;

static void *load_it(void *arg)
{
    return awcu_cuCtxSetCurrent(context) || awcu_cuFuncLoad(shared_func) ? NULL : arg;
}

Test(func, compiled_once_by_many_threads, .init = start)
{
    enum { N = 16 };
    pthread_t threads[N];
    CUmodule m;
    void *result;
    ok(awcu_cuModuleLoadData(&m, FAKE_PTX));
    ok(awcu_cuModuleGetFunction(&shared_func, m, "add"));
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, load_it, &m);
    for (int i = 0; i < N; i++) {
        pthread_join(threads[i], &result);
        cr_assert_not_null(result);
    }
    eq(fake.compiles, 1);
}

/* ---- Launching. */

static CUfunction kernel(const char *name)
{
    static CUmodule m;
    CUfunction f;
    if (!m)
        ok(awcu_cuModuleLoadData(&m, FAKE_PTX));
    ok(awcu_cuModuleGetFunction(&f, m, name));
    return f;
}

Test(launch, arguments, .init = start)
{
    CUfunction f = kernel("add");
    uint64_t a = 0x1122334455667788;
    uint32_t b = 0x99aabbcc;
    void *params[] = { &a, &b }, *missing[] = { &a, NULL };
    char packed[12];
    size_t size = 12, small = 11;
    CUdeviceptr arena;
    ok(awcu_cuLaunchKernel(f, 2, 3, 4, 5, 6, 7, 8, NULL, params, NULL));
    eq(fake.launches, 1);
    eq(fake.launch.grid[0] * 100 + fake.launch.grid[1] * 10 + fake.launch.grid[2], 234);
    eq(fake.launch.block[0] * 100 + fake.launch.block[1] * 10 + fake.launch.block[2], 567);
    eq(fake.launch.shared_bytes, 8);
    eq(fake.launch.kernarg_size, 32);
    eq(memcmp(fake.kernarg, &a, 8), 0);
    eq(memcmp(fake.kernarg + 8, &b, 4), 0);
    struct aw_func *func = (struct aw_func *)f;
    arena = func->module->arena;
    eq(memcmp(fake.kernarg + 16, &arena, 8), 0);
    cr_assert_neq(arena, 0);
    eq(memcmp(fake.kernarg + 24, &(uint64_t){ 0 }, 8), 0);
    memset(fake.kernarg, 0, sizeof fake.kernarg);
    memcpy(packed, &a, 8);
    memcpy(packed + 8, &b, 4);
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END };
    ok(awcu_cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
    eq(memcmp(fake.kernarg, packed, 12), 0);
    extra[3] = &small;
    eq(awcu_cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra), CUDA_ERROR_INVALID_VALUE);
    extra[0] = (void *)7;
    eq(awcu_cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, extra), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, missing, NULL), CUDA_ERROR_INVALID_VALUE);
}

Test(launch, large_arguments, .init = start)
{
    static char big[5000];
    int first = 17;
    void *params[] = { &first, big };
    memset(big, 'b', sizeof big);
    ok(awcu_cuLaunchKernel(kernel("big"), 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    eq(fake.launch.kernarg_size, 5008 + 16);
    eq(fake.kernarg[0], 17);
    eq(fake.kernarg[5003], 'b');
}

Test(launch, configuration, .init = start)
{
    CUfunction f = kernel("bounded");
    CUstream s;
    CUcontext second;
    ok(awcu_cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
    ok(awcu_cuLaunchKernel(f, 1, 1, 1, 8, 8, 1, 48 * 1024 - 1000, NULL, NULL, NULL));
    int done = fake.launches;
    eq(awcu_cuLaunchKernel(f, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuLaunchKernel(f, 1, 1, 1, 1, 0, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuLaunchKernel(f, 1, 70000, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuLaunchKernel(f, 1, 1, 1, 1, 1, 65, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuLaunchKernel(f, 1, 1, 1, 1024, 1024, 64, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuLaunchKernel(f, 1, 1, 1, 65, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 48 * 1024 - 999, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, (CUstream)0x999, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    eq(awcu_cuLaunchKernel((CUfunction)&f, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    eq(awcu_cuLaunchKernel(NULL, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    ok(awcu_cuStreamCreate(&s, 0));
    ok(awcu_cuCtxCreate_v2(&second, 0, 0));
    eq(awcu_cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    eq(fake.launches, done);
    uint64_t a = 0;
    void *params[] = { &a, &a };
    ok(awcu_cuCtxPopCurrent_v2(&second));
    eq(awcu_cuLaunchKernel(kernel("add"), 1, 1, 1, 513, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
}

Test(launch, cooperative_and_attributes, .init = start)
{
    CUfunction f = kernel("bounded");
    CUevent event;
    ok(awcu_cuEventCreate(&event, 0));
    /* 2048 / 64 blocks on each of 4 multiprocessors. */
    ok(awcu_cuLaunchCooperativeKernel(f, 128, 1, 1, 64, 1, 1, 0, NULL, NULL));
    eq(fake.launch.cooperative, true);
    eq(awcu_cuLaunchCooperativeKernel(f, 129, 1, 1, 64, 1, 1, 0, NULL, NULL), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    eq(awcu_cuLaunchCooperativeKernel(f, 1u << 30, 65535, 65535, 64, 1, 1, 0, NULL, NULL),
       CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    CUlaunchAttribute attrs[3] = { { .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1 },
                                   { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = { 1, 1, 1 } },
                                   { .id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT,
                                     .value.launchCompletionEvent.event = event } };
    CUlaunchConfig config = { 3, 1, 1, 32, 1, 1, 0, NULL, attrs, 3 };
    ok(awcu_cuLaunchKernelEx(&config, f, NULL, NULL));
    eq(fake.launch.cooperative && fake.launch.grid[0] == 3, true);
    fake.held = true;
    ok(awcu_cuLaunchKernelEx_ptsz(&config, f, NULL, NULL));
    cr_assert_not_null(fake.launch_stream);
    eq(awcu_cuEventQuery(event), CUDA_ERROR_NOT_READY);
    fake.held = false;
    attrs[1].value.clusterDim.x = 2;
    eq(awcu_cuLaunchKernelEx(&config, f, NULL, NULL), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    attrs[1].id = (CUlaunchAttributeID)200;
    eq(awcu_cuLaunchKernelEx(&config, f, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuLaunchKernelEx(NULL, f, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
}

Test(launch, occupancy, .init = start)
{
    CUfunction f = kernel("bounded"), add = kernel("add");
    int blocks, grid, block;
    size_t shared;
    ok(awcu_cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 64, 0));
    eq(blocks, 32);
    ok(awcu_cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 65, 0));
    eq(blocks, 0);
    ok(awcu_cuOccupancyMaxPotentialBlockSize(&grid, &block, add, NULL, 0, 0));
    eq(block * 1000 + grid, 512 * 1000 + 16);
    ok(awcu_cuOccupancyMaxPotentialBlockSize(&grid, &block, add, NULL, 0, 100));
    eq(block, 64); /* 32 blocks of it fill a multiprocessor; 20 of 100 threads do not */
    ok(awcu_cuOccupancyAvailableDynamicSMemPerBlock(&shared, f, 2, 64));
    eq(shared, 64 * 1024 - 1000);
    eq(awcu_cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 0, 0), CUDA_ERROR_INVALID_VALUE);
}

/* ---- Code for shapes of blocks. */

static void launch_block(CUfunction f, unsigned x, unsigned y, unsigned z)
{
    uint64_t a = 0;
    void *params[] = { &a, &a };
    ok(awcu_cuLaunchKernel(f, 1, 1, 1, x, y, z, 0, NULL, params, NULL));
}

/* The last launch ran code for these blocks, and so many compilations were needed up to here. */
#define ran(x, y, z, n) \
    do { \
        cr_assert(fake.code_block[0] == (x) && fake.code_block[1] == (y) && fake.code_block[2] == (z), "code for %u,%u,%u", \
                  fake.code_block[0], fake.code_block[1], fake.code_block[2]); \
        eq(fake.compiles, n); \
    } while (0)

Test(shapes, first_ones_get_their_own_code, .init = start)
{
    CUfunction f = kernel("add");
    launch_block(f, 256, 1, 1);
    ran(256, 1, 1, 1);
    launch_block(f, 256, 1, 1);
    ran(256, 1, 1, 1);
    launch_block(f, 128, 1, 1);
    ran(128, 1, 1, 2);
    launch_block(f, 16, 16, 1);
    ran(16, 16, 1, 3);
    launch_block(f, 1, 33, 2);
    ran(1, 33, 2, 4);
    for (unsigned z = 1; z <= 4; z++) {
        launch_block(f, 32, 2, z);
        ran(32, 2, z, 4 + (int)z);
    }
    launch_block(f, 64, 2, 1); /* from here on they share */
    ran(32, 0, 0, 9);
    launch_block(f, 96, 1, 1);
    ran(32, 0, 0, 9);
    launch_block(f, 33, 1, 1);
    ran(1, 0, 0, 10);
    launch_block(f, 7, 5, 3);
    ran(1, 0, 0, 10);
    launch_block(f, 1, 33, 2);
    ran(1, 33, 2, 10);
    launch_block(f, 256, 1, 1);
    ran(256, 1, 1, 10);
    eq(fake.objects, 10);
}

/* ---- Code in two forms. */

static void start_with_tiers(void)
{
    setenv("ANYWARP_TIERS", "auto", 1);
    start_with(true);
}

static bool replaced_within(unsigned ms)
{
    for (; ms && !__atomic_load_n(&fake.replaced, __ATOMIC_RELAXED); ms--)
        usleep(1000);
    return ms;
}

Test(tiers, quick_code_runs_until_the_good_is_there, .init = start_with_tiers)
{
    CUfunction f = kernel("add");
    fake.good_ms = 600;
    launch_block(f, 64, 1, 1);
    cr_assert(fake.code_quick);
    cr_assert(replaced_within(5000));
    launch_block(f, 64, 1, 1);
    cr_assert(!fake.code_quick);
    ran(64, 1, 1, 2);
}

Test(tiers, the_good_is_waited_for_a_little, .init = start_with_tiers)
{
    CUfunction f = kernel("add");
    launch_block(f, 64, 1, 1);
    cr_assert(!fake.code_quick);
    ran(64, 1, 1, 1);
}

Test(tiers, the_good_is_waited_for_where_there_is_no_quick_one, .init = start_with_tiers)
{
    CUfunction f = kernel("add");
    fake.good_ms = 400;
    fake.quick_status = AW_ERR_NOT_SUPPORTED;
    launch_block(f, 64, 1, 1);
    cr_assert(!fake.code_quick);
    ran(64, 1, 1, 2);
    eq(fake.replaced, 0);
}

/* After so many milliseconds: at once, and while the launch waits for its quick form or runs it. */
static void good_form_fails(unsigned after_ms)
{
    CUfunction f = kernel("add");
    fake.good_ms = after_ms;
    fake.good_status = AW_ERR_OS;
    launch_block(f, 64, 1, 1);
    cr_assert(fake.code_quick);
    usleep(after_ms * 1000 + 50000);
    launch_block(f, 64, 1, 1);
    cr_assert(fake.code_quick);
    ran(64, 1, 1, 2);
    eq(fake.replaced, 0);
}

Test(tiers, quick_code_stays_where_the_good_fails_at_once, .init = start_with_tiers)
{
    good_form_fails(0);
}

Test(tiers, quick_code_stays_where_the_good_fails_later, .init = start_with_tiers)
{
    good_form_fails(400);
}

Test(tiers, a_launch_fails_where_neither_is_made, .init = start_with_tiers)
{
    CUfunction f = kernel("add");
    fake.good_status = AW_ERR_NOT_SUPPORTED;
    fake.quick_status = AW_ERR_NOT_SUPPORTED;
    eq(awcu_cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_NOT_SUPPORTED);
}

/* Nine shapes, of which the last is one for many: more than there are processes for. */
Test(tiers, what_was_not_begun_is_left, .init = start_with_tiers)
{
    CUfunction f = kernel("add");
    fake.good_ms = 2000;
    for (unsigned i = 1; i <= 9; i++)
        launch_block(f, 32 * i, 1, 1);
    cr_assert_str_empty(fake.left);
    aw_tiers_leave();
    cr_assert_str_eq(fake.left, "add");
    fake.left[0] = '\0';
    aw_tiers_leave(); /* once */
    cr_assert_str_empty(fake.left);
}

Test(tiers, modules_go_while_the_good_is_made, .init = start_with_tiers)
{
    CUmodule m;
    CUfunction f;
    fake.good_ms = 400;
    ok(awcu_cuModuleLoadData(&m, FAKE_PTX));
    ok(awcu_cuModuleGetFunction(&f, m, "add"));
    launch_block(f, 64, 1, 1);
    cr_assert(fake.code_quick);
    ok(awcu_cuModuleUnload(m));
    cr_assert(!replaced_within(800));
    eq(fake.objects, 0);
}

Test(tiers, quick_code_alone_when_told, .init = start_with_tiers)
{
    CUfunction f = kernel("add");
    setenv("ANYWARP_TIERS", "quick", 1);
    launch_block(f, 64, 1, 1);
    cr_assert(fake.code_quick);
    ran(64, 1, 1, 1);
}

Test(shapes, none_get_their_own_when_told, .init = start)
{
    CUfunction f = kernel("add");
    setenv("ANYWARP_SHAPES", "0", 1);
    launch_block(f, 256, 1, 1);
    ran(32, 0, 0, 1);
    launch_block(f, 16, 16, 1);
    ran(1, 0, 0, 2);
    launch_block(f, 128, 1, 1);
    ran(32, 0, 0, 2);
}

Test(shapes, large_code_is_shared_soon, .init = start)
{
    CUfunction f = kernel("add");
    fake.code_size = 70000;
    launch_block(f, 256, 1, 1);
    ran(256, 1, 1, 1);
    launch_block(f, 8, 8, 1);
    ran(8, 8, 1, 2);
    launch_block(f, 128, 1, 1);
    ran(32, 0, 0, 3);
    launch_block(f, 64, 1, 1);
    ran(32, 0, 0, 3);
    launch_block(f, 256, 1, 1);
    ran(256, 1, 1, 3);
}

Test(shapes, questions_take_what_is_there, .init = start)
{
    CUfunction f = kernel("add");
    int value;
    launch_block(f, 100, 1, 1);
    ok(awcu_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
    ok(awcu_cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, f, 100, 0));
    eq(value, 20);
    ok(awcu_cuFuncLoad(f));
    eq(fake.compiles, 1);
    ok(awcu_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
    eq(value, 1024); /* not what the code for 100 says of itself */
    ok(awcu_cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, f, 128, 0));
    eq(value, 16);
    eq(fake.compiles, 2);
    ok(awcu_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
    eq(value, 512); /* the general code says so */
    launch_block(f, 128, 1, 1); /* what questions needed counts for nothing */
    ran(128, 1, 1, 3);
}

Test(shapes, shared_memory_is_allowed_for_all, .init = start)
{
    CUfunction f = kernel("add");
    launch_block(f, 32, 1, 1);
    launch_block(f, 64, 1, 1);
    eq(fake.shared_sets, 2); /* each as it is loaded */
    ok(awcu_cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000));
    eq(fake.shared_sets, 4);
    launch_block(f, 96, 1, 1);
    eq(fake.shared_sets, 5);
}

static void *launch_many(void *arg)
{
    static const unsigned rows[] = { 32, 64, 96, 128, 160, 33, 34, 224, 256, 35, 288, 36 };
    uint64_t a = 0;
    void *params[] = { &a, &a };
    for (int i = 0; i < 480; i++)
        if (awcu_cuCtxSetCurrent(context) || awcu_cuLaunchKernel(shared_func, 1, 1, 1, rows[i % 12], 1, 1, 0, NULL, params, NULL))
            return NULL;
    return arg;
}

Test(shapes, many_threads, .init = start)
{
    enum { N = 16 };
    pthread_t threads[N];
    void *result;
    shared_func = kernel("add");
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, launch_many, &threads);
    for (int i = 0; i < N; i++) {
        pthread_join(threads[i], &result);
        cr_assert_not_null(result);
    }
    cr_assert(fake.compiles == 9 || fake.compiles == 10, "%d", fake.compiles); /* eight, and one or both shared forms */
    eq(fake.objects, fake.compiles);
}

/* A bound on the road to the provider, wide enough for slow machines and instrumented builds. */
Test(launch, is_fast, .init = start)
{
    enum { N = 100000 };
    CUfunction f = kernel("add");
    uint64_t a = 0;
    void *params[] = { &a, &a };
    ok(awcu_cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    double begin = now_ms();
    for (int i = 0; i < N; i++)
        awcu_cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
    double ns = (now_ms() - begin) * 1e6 / N;
    fprintf(stderr, "launch: %.0f ns\n", ns);
    cr_assert_lt(ns, 10000); /* on a quiet machine a few hundred */
    for (unsigned i = 2; i <= 11; i++) /* more shapes than get code of their own: the longest way to it */
        launch_block(f, i * 32, 1, 1);
    begin = now_ms();
    for (unsigned i = 0; i < N; i++)
        awcu_cuLaunchKernel(f, 1, 1, 1, 33 + i % 2, 1, 1, 0, NULL, params, NULL);
    ns = (now_ms() - begin) * 1e6 / N;
    fprintf(stderr, "launch, shared code: %.0f ns\n", ns);
    cr_assert_lt(ns, 10000);
    eq(fake.launches, 2 * N + 11);
}

/* ---- Libraries. */

Test(library, lazy, .init = start)
{
    CUlibrary lib;
    CUkernel k;
    CUfunction f;
    CUmodule m;
    CUdeviceptr d, e;
    const char *name;
    unsigned n;
    char *text = strdup(FAKE_PTX);
    ok(awcu_cuLibraryLoadData(&lib, text, NULL, NULL, 0, NULL, NULL, 0));
    memset(text, 'x', strlen(text)); /* it was copied */
    free(text);
    eq(fake.opens, 0);
    eq(awcu_cuLibraryGetKernel(&k, lib, "nothing"), CUDA_ERROR_NOT_FOUND);
    ok(awcu_cuLibraryGetKernel(&k, lib, "bounded"));
    eq(fake.opens, 1);
    ok(awcu_cuKernelGetName(&name, k));
    cr_assert_str_eq(name, "bounded");
    ok(awcu_cuLibraryGetKernelCount(&n, lib));
    eq(n, 4);
    ok(awcu_cuLaunchKernel((CUfunction)k, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL)); /* a kernel serves as function */
    ok(awcu_cuKernelGetFunction(&f, k));
    ok(awcu_cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    eq(fake.compiles, 1);
    ok(awcu_cuLibraryGetModule(&m, lib));
    eq(awcu_cuModuleUnload(m), CUDA_ERROR_INVALID_HANDLE);
    ok(awcu_cuLibraryGetGlobal(&d, NULL, lib, "answer"));
    ok(awcu_cuModuleGetGlobal_v2(&e, NULL, m, "answer"));
    eq(d, e);
    ok(awcu_cuLibraryGetManaged(&d, NULL, lib, "shared_by_all"));
    eq(*(int *)(uintptr_t)d, 7);
    eq(awcu_cuLibraryGetManaged(&d, NULL, lib, "answer"), CUDA_ERROR_NOT_FOUND);
    ok(awcu_cuLibraryUnload(lib));
    eq(awcu_cuLibraryUnload(lib), CUDA_ERROR_INVALID_HANDLE);
    eq(awcu_cuKernelGetName(&name, k), CUDA_ERROR_INVALID_HANDLE);
    eq(awcu_cuLaunchKernel((CUfunction)k, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    eq(fake.used, 0);
    eq(fake.objects, 0);
}

Test(library, kernel_in_two_contexts, .init = start)
{
    CUlibrary lib;
    CUkernel k;
    CUfunction f, g;
    CUcontext second;
    ok(awcu_cuLibraryLoadData(&lib, FAKE_PTX, NULL, NULL, 0, NULL, NULL, 0));
    ok(awcu_cuLibraryGetKernel(&k, lib, "bounded"));
    ok(awcu_cuKernelGetFunction(&f, k));
    ok(awcu_cuCtxCreate_v2(&second, 0, 0));
    ok(awcu_cuKernelGetFunction(&g, k));
    eq(f == g, false);
    ok(awcu_cuLaunchKernel((CUfunction)k, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    ok(awcu_cuCtxDestroy_v2(second));
    ok(awcu_cuLaunchKernel((CUfunction)k, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    ok(awcu_cuDevicePrimaryCtxReset_v2(0)); /* the library outlives contexts */
    ok(awcu_cuDevicePrimaryCtxRetain(&context, 0));
    ok(awcu_cuLaunchKernel((CUfunction)k, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    eq(fake.opens, 1);
}

Test(library, loading_thousands_is_quick, .init = start)
{
    enum { N = 3500 };
    static CUlibrary libs[N];
    CUlibraryOption option = CU_LIBRARY_BINARY_IS_PRESERVED;
    void *value = (void *)1;
    char *fatbin = container(1, FAKE_PTX, 0);
    double begin = now_ms();
    for (int i = 0; i < N; i++)
        awcu_cuLibraryLoadData(&libs[i], fatbin, NULL, NULL, 0, &option, &value, 1);
    double ms = now_ms() - begin;
    fprintf(stderr, "3500 libraries: %.1f ms\n", ms);
    cr_assert_lt(ms, 100); /* on a quiet machine 2 */
    CUkernel k;
    ok(awcu_cuLibraryGetKernel(&k, libs[N - 1], "add"));
    eq(fake.opens, 1);
}

/* ---- The registry. */

static char stub_a, stub_b, stub_c;

Test(registry, kernels, .init = start)
{
    char *fatbin = container(1, FAKE_PTX, 0);
    struct wrapper wrapper = wrapper_of(fatbin);
    struct aw_kernel *k, *again;
    struct aw_registered_fatbin *h = aw_registry_fatbin(&wrapper);
    aw_registry_function(h, &stub_a, "bounded");
    aw_registry_function(h, &stub_b, "gone");
    aw_registry_fatbin_end(h);
    eq(aw_registry_kernel(&stub_c, &k), AW_ERR_INVALID_DEVFUNC);
    eq(aw_registry_kernel(NULL, &k), AW_ERR_INVALID_DEVFUNC);
    eq(aw_registry_kernel(&stub_a, &k), AW_OK);
    eq(aw_registry_kernel(&stub_a, &again), AW_OK);
    eq(k == again, true);
    eq(fake.opens, 0);
    ok(awcu_cuLaunchKernel((CUfunction)k, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    eq(fake.opens * 10 + fake.compiles, 11);
    eq(aw_registry_kernel(&stub_b, &k), AW_OK);
    cr_assert_neq(awcu_cuLaunchKernel((CUfunction)k, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), CUDA_SUCCESS);
    aw_registry_unregister(h);
    aw_registry_unregister(h); /* the second time is ignored */
    eq(aw_registry_kernel(&stub_a, &k), AW_ERR_INVALID_DEVFUNC);
    eq(fake.objects, 0);
    h = aw_registry_fatbin(&wrapper);
    aw_registry_function(h, &stub_a, "add");
    eq(aw_registry_kernel(&stub_a, &k), AW_OK);
    cr_assert_str_eq(k->name, "add");
    free(fatbin);
}

/* Two libraries with one weak stub: the first serves until it goes, then the second does. */
Test(registry, same_address_twice, .init = start)
{
    char *fatbin = container(1, FAKE_PTX, 0);
    struct wrapper one = wrapper_of(fatbin), two = wrapper_of(fatbin);
    struct aw_kernel *k;
    struct aw_registered_fatbin *a = aw_registry_fatbin(&one), *b = aw_registry_fatbin(&two);
    aw_registry_function(a, &stub_a, "add");
    aw_registry_function(b, &stub_a, "bounded");
    eq(aw_registry_kernel(&stub_a, &k), AW_OK);
    cr_assert_str_eq(k->name, "add");
    aw_registry_unregister(a);
    eq(aw_registry_kernel(&stub_a, &k), AW_OK);
    cr_assert_str_eq(k->name, "bounded");
    aw_registry_unregister(b);
    eq(aw_registry_kernel(&stub_a, &k), AW_ERR_INVALID_DEVFUNC);
    free(fatbin);
}

Test(registry, variables, .init = start)
{
    static int answer, far;
    static void *managed;
    char *fatbin = container(1, FAKE_PTX, 0);
    struct wrapper wrapper = wrapper_of(fatbin);
    struct aw_registered_fatbin *h = aw_registry_fatbin(&wrapper);
    struct aw_ctx *ctx = (struct aw_ctx *)context;
    uintptr_t address;
    size_t size;
    aw_registry_var(h, &answer, "answer", 4, AW_REGISTERED_CONST);
    aw_registry_var(h, &far, "lost", 4, AW_REGISTERED_VAR);
    aw_registry_var(h, &managed, "shared_by_all", 8, AW_REGISTERED_MANAGED);
    eq(aw_registry_symbol(ctx, &answer, &address, &size), AW_OK);
    eq(*(int *)address * 10 + (int)size, 424);
    eq(aw_registry_symbol(ctx, &far, &address, &size), AW_ERR_INVALID_SYMBOL);
    eq(aw_registry_symbol(ctx, &size, &address, &size), AW_ERR_INVALID_SYMBOL);
    eq(aw_registry_init_managed(h, ctx), AW_OK);
    eq(*(int *)managed, 7);
    *(int *)managed = 8;
    eq(aw_registry_init_all_managed(ctx), AW_OK);
    eq(*(int *)managed, 8);
    ok(awcu_cuDevicePrimaryCtxReset_v2(0));
    ok(awcu_cuDevicePrimaryCtxRetain(&context, 0));
    eq(aw_registry_init_all_managed(ctx), AW_OK);
    eq(*(int *)managed, 7); /* begins anew */
    struct aw_kernel *k;
    eq(aw_registry_kernel(&answer, &k), AW_ERR_INVALID_DEVFUNC); /* a variable is no function */
    aw_registry_unregister(h);
    free(fatbin);
}

Test(registry, linked_objects_are_one_module, .init = start)
{
    char *linked = container(1, NULL, 0), *a = container(1, FAKE_PTX, 0), *b = container(1, FAKE_PTX, 0);
    const void *all[] = { a, b, NULL };
    struct wrapper wrapper = { 0x466243b1, 2, linked, all };
    struct aw_kernel *k;
    struct aw_registered_fatbin *h = aw_registry_fatbin(&wrapper);
    aw_registry_function(h, &stub_a, "bounded");
    eq(aw_registry_kernel(&stub_a, &k), AW_OK);
    ok(awcu_cuLaunchKernel((CUfunction)k, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    eq(fake.texts, 2);
    aw_registry_unregister(h);
    free(linked), free(a), free(b);
}

Test(registry, cubins_alone, .init = start)
{
    char *fatbin = container(2, "machine code", 0);
    struct wrapper wrapper = wrapper_of(fatbin), bad = { 0x12345678, 1, fatbin, NULL };
    struct aw_kernel *k;
    struct aw_registered_fatbin *h = aw_registry_fatbin(&wrapper), *i = aw_registry_fatbin(&bad);
    aw_registry_function(h, &stub_a, "bounded");
    aw_registry_function(i, &stub_b, "bounded");
    setenv("ANYWARP_LIFT", "0", 1);
    eq(aw_registry_kernel(&stub_a, &k), AW_OK);
    eq(awcu_cuLaunchKernel((CUfunction)k, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_NO_BINARY_FOR_GPU);
    cr_assert_not_null(strstr(aw_registry_log(&stub_a), "sm_75"), "%s", aw_registry_log(&stub_a));
    eq(aw_registry_kernel(&stub_b, &k), AW_ERR_INVALID_IMAGE);
    free(fatbin);
}

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* `n` images with 64 functions each, at addresses `apart` from one image to the next; they go as a program's end has it, the
 * last first. */
static double time_of_images(int n, int apart)
{
    enum { EACH = 64 };
    struct wrapper *wrappers = calloc((size_t)n, sizeof *wrappers);
    struct aw_registered_fatbin **handles = calloc((size_t)n, sizeof *handles);
    char *fatbin = container(1, FAKE_PTX, 0), *hosts = calloc(1, (size_t)n * EACH);
    struct aw_kernel *k;
    double begin = cpu_ms();
    for (int i = 0; i < n; i++) {
        wrappers[i] = wrapper_of(fatbin);
        handles[i] = aw_registry_fatbin(&wrappers[i]);
        for (int f = 0; f < EACH; f++)
            aw_registry_function(handles[i], &hosts[i * apart + f], "add");
    }
    eq(aw_registry_kernel(&hosts[0], &k), AW_OK);
    for (int i = n - 1; i >= 0; i--)
        aw_registry_unregister(handles[i]);
    double took = cpu_ms() - begin;
    eq(aw_registry_kernel(&hosts[0], &k), AW_ERR_INVALID_DEVFUNC);
    free(handles);
    free(wrappers);
    free(hosts);
    free(fatbin);
    return took;
}

/* PyTorch registers the same few dozen symbols with hundreds of images. */
Test(registry, shared_addresses_are_quick, .init = start)
{
    enum { IMAGES = 2000 };
    double own = time_of_images(IMAGES, 64), shared = time_of_images(IMAGES, 0);
    fprintf(stderr, "own addresses %.1f ms, shared ones %.1f ms\n", own, shared);
    cr_assert_lt(shared, own * 5); /* were it quadratic, fifty times as long */
}

Test(registry, thousands_are_quick, .init = start)
{
    enum { FUNCTIONS = 25000, VARIABLES = 18000, FATBINS = 477 };
    static char hosts[FUNCTIONS + VARIABLES];
    static struct wrapper wrappers[FATBINS];
    static struct aw_registered_fatbin *handles[FATBINS];
    char *fatbin = container(1, FAKE_PTX, 0);
    struct aw_kernel *k;
    double begin = now_ms();
    for (int i = 0; i < FATBINS; i++) {
        wrappers[i] = wrapper_of(fatbin);
        handles[i] = aw_registry_fatbin(&wrappers[i]);
    }
    for (int i = 0; i < FUNCTIONS; i++)
        aw_registry_function(handles[i % FATBINS], &hosts[i], i % 2 ? "add" : "bounded");
    for (int i = 0; i < VARIABLES; i++)
        aw_registry_var(handles[i % FATBINS], &hosts[FUNCTIONS + i], "answer", 4, AW_REGISTERED_VAR);
    double registered = now_ms() - begin;
    eq(aw_registry_kernel(&hosts[12344], &k), AW_OK);
    double found = now_ms() - begin - registered;
    fprintf(stderr, "registered in %.1f ms, first found in %.1f ms\n", registered, found);
    cr_assert_lt(registered + found, 100); /* on a quiet machine 5; were it quadratic, seconds */
    ok(awcu_cuLaunchKernel((CUfunction)k, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    eq(fake.opens * 10 + fake.compiles, 11);
    for (int i = 0; i < FUNCTIONS; i++)
        eq(aw_registry_kernel(&hosts[i], &k), AW_OK);
    for (int i = 0; i < FATBINS; i++)
        aw_registry_unregister(handles[i]);
    for (int i = 0; i < FUNCTIONS; i++)
        eq(aw_registry_kernel(&hosts[i], &k), AW_ERR_INVALID_DEVFUNC);
    free(fatbin);
}
