/* Just-in-time links and legacy launches, over the recording provider and compiler. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "../fatbin/make_fatbin.h"
#include "abi/cuda_util.h"
#include "fake.h"

#define eq(a, b) cr_assert_eq((long long)(a), (long long)(b), "%s is %lld, not %s", #a, (long long)(a), #b)
#define ok(call) eq(call, CUDA_SUCCESS)

static void start(void)
{
    CUcontext context;
    setenv("ANYWARP_LOG", "err", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("ANYWARP_CC");
    fake_reset();
    aw_core_test_provider(&fake_provider);
    ok(awcu_cuInit(0));
    ok(awcu_cuDevicePrimaryCtxRetain(&context, 0));
    ok(awcu_cuCtxSetCurrent(context));
}

static CUresult add(CUlinkState link, CUjitInputType type, const char *bytes, size_t size)
{
    return awcu_cuLinkAddData_v2(link, type, (void *)(uintptr_t)bytes, size, "input", 0, NULL, NULL);
}

/* Two PTX texts from heap memory that ends with them, a fat binary, and a linked image with two of its own. */
Test(link, all_inputs_reach_the_compiler, .init = start)
{
    struct aw_buf fatbin = { 0 };
    CUlinkState first, second;
    CUmodule module;
    void *image, *again;
    size_t size, size_again;
    char *exact = malloc(sizeof FAKE_PTX - 1);
    memcpy(exact, FAKE_PTX, sizeof FAKE_PTX - 1);
    make_begin(&fatbin);
    make_add(&fatbin,
             &(struct make_entry){ .kind = 1, .sm = 75, .compression = MAKE_ZSTD, .text = FAKE_PTX, .len = sizeof FAKE_PTX });
    make_end(&fatbin, 0);
    ok(awcu_cuLinkCreate_v2(0, NULL, NULL, &first));
    ok(add(first, CU_JIT_INPUT_PTX, exact, sizeof FAKE_PTX - 1));
    ok(add(first, CU_JIT_INPUT_PTX, FAKE_PTX, sizeof FAKE_PTX));
    free(exact);
    ok(awcu_cuLinkComplete(first, &image, &size));
    eq(fake.texts, 2);
    eq(add(first, CU_JIT_INPUT_PTX, FAKE_PTX, sizeof FAKE_PTX), CUDA_ERROR_ILLEGAL_STATE);
    ok(awcu_cuLinkComplete(first, &again, &size_again));
    cr_assert(again == image && size_again == size);
    ok(awcu_cuLinkCreate(0, NULL, NULL, &second));
    ok(add(second, CU_JIT_INPUT_CUBIN, image, size));
    ok(add(second, CU_JIT_INPUT_FATBINARY, fatbin.ptr, fatbin.len));
    ok(awcu_cuLinkDestroy(first));
    aw_buf_fini(&fatbin);
    ok(awcu_cuLinkComplete(second, &image, NULL));
    eq(fake.texts, 3);
    fake.texts = 0;
    ok(awcu_cuModuleLoadData(&module, image));
    eq(fake.texts, 3);
    ok(awcu_cuModuleUnload(module));
    ok(awcu_cuLinkDestroy(second));
    eq(awcu_cuLinkDestroy(second), CUDA_ERROR_INVALID_HANDLE);
    eq(awcu_cuLinkComplete(second, &image, NULL), CUDA_ERROR_INVALID_HANDLE);
}

Test(link, logs_and_errors, .init = start)
{
    char error[16], info[100] = "old";
    CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_INFO_LOG_BUFFER,
                               CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_WALL_TIME };
    void *values[] = { error, (void *)8, info, (void *)sizeof info, NULL };
    CUlinkState link;
    void *image = NULL;
    memset(error, 'x', sizeof error);
    ok(awcu_cuLinkCreate_v2(5, options, values, &link));
    eq(add(link, CU_JIT_INPUT_PTX, ".SYNTAX", 8), CUDA_ERROR_INVALID_PTX);
    cr_assert_str_eq(error, "x.ptx:3");
    eq((uintptr_t)values[1], 8);
    cr_assert_eq(error[8], 'x', "the log ran over its buffer");
    eq(add(link, CU_JIT_INPUT_PTX, "not PTX", 8), CUDA_ERROR_INVALID_PTX);
    eq(add(link, CU_JIT_INPUT_PTX, "", 1), CUDA_ERROR_INVALID_PTX);
    eq(add(link, CU_JIT_INPUT_FATBINARY, FAKE_PTX, sizeof FAKE_PTX), CUDA_ERROR_INVALID_IMAGE);
    eq(add(link, CU_JIT_INPUT_CUBIN, FAKE_PTX, sizeof FAKE_PTX), CUDA_ERROR_INVALID_IMAGE);
    eq(add(link, CU_JIT_INPUT_LIBRARY, FAKE_PTX, sizeof FAKE_PTX), CUDA_ERROR_INVALID_IMAGE);
    eq(add(link, CU_JIT_INPUT_LIBRARY, "!<arch>\n", 8), CUDA_ERROR_NO_BINARY_FOR_GPU);
    eq(add(link, CU_JIT_INPUT_NVVM, "BC", 2), CUDA_ERROR_NOT_SUPPORTED);
    eq(add(link, CU_JIT_NUM_INPUT_TYPES, "", 1), CUDA_ERROR_INVALID_VALUE);
    eq(add(link, CU_JIT_INPUT_PTX, NULL, 1), CUDA_ERROR_INVALID_VALUE);
    eq(add(link, CU_JIT_INPUT_PTX, FAKE_PTX, 0), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuLinkAddFile_v2(link, CU_JIT_INPUT_PTX, "/nonexistent/x.ptx", 0, NULL, NULL), CUDA_ERROR_FILE_NOT_FOUND);
    eq(awcu_cuLinkComplete(link, &image, NULL), CUDA_ERROR_INVALID_VALUE);
    cr_assert_null(image);
    ok(awcu_cuLinkDestroy(link));
    eq(awcu_cuLinkCreate_v2(1, NULL, values, &link), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuLinkCreate_v2(0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
}

Test(legacy, parameters_and_shape, .init = start)
{
    CUmodule module;
    CUfunction f;
    const uint64_t pointer = 0x1122334455667788;
    ok(awcu_cuModuleLoadData(&module, FAKE_PTX));
    ok(awcu_cuModuleGetFunction(&f, module, "add"));
    eq(awcu_cuLaunch(f), CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuFuncSetBlockShape(f, 4, 3, 2));
    ok(awcu_cuFuncSetSharedSize(f, 128));
    ok(awcu_cuParamSetv(f, 0, (void *)(uintptr_t)&pointer, 8));
    ok(awcu_cuParamSeti(f, 8, 7));
    eq(awcu_cuLaunchGrid(f, 2, 5), CUDA_ERROR_INVALID_VALUE); /* 0 bytes of parameters so far */
    ok(awcu_cuParamSetSize(f, 12));
    ok(awcu_cuLaunchGrid(f, 2, 5));
    eq(fake.launches, 1);
    cr_assert(fake.launch.grid[0] == 2 && fake.launch.grid[1] == 5 && fake.launch.grid[2] == 1);
    cr_assert(fake.launch.block[0] == 4 && fake.launch.block[1] == 3 && fake.launch.block[2] == 2);
    eq(fake.launch.shared_bytes, 128);
    cr_assert(memcmp(fake.kernarg, &pointer, 8) == 0 && fake.kernarg[8] == 7);
    eq(awcu_cuParamSetv(f, 4096, (void *)(uintptr_t)&pointer, 1), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuParamSeti(f, -4, 1), CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuModuleUnload(module));
    eq(awcu_cuLaunch(f), CUDA_ERROR_INVALID_HANDLE);
}
