// The driver API with PTX text: options and log buffers, launches by parameter array and by packed buffer, globals by name,
// function attributes, text that does not compile (with its message), errors for what is not there, two modules side by side.
// link: -lcuda
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <cuda.h>

#define DRV(call)                                                                    \
    do {                                                                             \
        CUresult drv_ = (call);                                                      \
        if (drv_ != CUDA_SUCCESS) {                                                  \
            const char *name_ = "?";                                                 \
            cuGetErrorName(drv_, &name_);                                            \
            std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, name_);        \
            std::exit(1);                                                            \
        }                                                                            \
    } while (0)

#define DRV_ERR(call, want)                                                                            \
    do {                                                                                               \
        CUresult drv_ = (call);                                                                        \
        EXPECT(drv_ == (want), "got %d, expected %d", (int)drv_, (int)(want));                         \
    } while (0)

static const char source[] = R"(
// a comment before the header
.version 6.4
.target sm_50
.address_size 64

.visible .global .align 4 .u32 offset = 7;
.visible .const .align 8 .f64 factors[3] = {0.5, 2.0, 0d4010000000000000};
.extern .shared .align 4 .b8 dynamic[];

.func (.reg .u32 %result) triple(.reg .u32 %x)
{
    mul.lo.u32 %result, %x, 3;
    ret;
}

.visible .entry affine(.param .u64 data, .param .u32 n, .param .f64 scale)
{
    .reg .pred %p<3>;
    .reg .b32 %r<12>;
    .reg .b64 %rd<6>;
    .reg .f64 %fd<6>;

    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [n];
    ld.param.f64 %fd1, [scale];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    ld.global.u32 %r6, [offset];
    call.uni (%r7), triple, (%r5);
    add.u32 %r8, %r7, %r6;
    cvt.rn.f64.u32 %fd2, %r8;
    rem.u32 %r9, %r5, 3;
    mov.u64 %rd3, factors;
    mad.wide.u32 %rd4, %r9, 8, %rd3;
    ld.const.f64 %fd3, [%rd4];
    mul.f64 %fd4, %fd2, %fd3;
    mul.f64 %fd5, %fd4, %fd1;
    mad.wide.u32 %rd5, %r5, 8, %rd2;
    st.global.f64 [%rd5], %fd5;
DONE:
    ret;
}

.visible .entry rotate(.param .u64 .ptr .global .align 4 data)
.maxntid 256, 1, 1
{
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ntid.x;
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    ld.global.u32 %r3, [%rd2];
    shl.b32 %r4, %r1, 2;
    mov.u32 %r5, dynamic;
    add.u32 %r4, %r4, %r5;
    st.shared.u32 [%r4], %r3;
    bar.sync 0;
    add.u32 %r6, %r1, 1;
    rem.u32 %r6, %r6, %r2;
    shl.b32 %r6, %r6, 2;
    add.u32 %r6, %r6, %r5;
    ld.shared.u32 %r7, [%r6];
    st.global.u32 [%rd2], %r7;
    ret;
}
)";

static const char broken[] = ".version 6.4\n"
                             ".target sm_50\n"
                             ".address_size 64\n"
                             ".visible .entry bad()\n"
                             "{\n"
                             "    .reg .b32 %r<2>;\n"
                             "    frobnicate.s32 %r0, %r1;\n"
                             "    ret;\n"
                             "}\n";

static void check_affine(CUmodule module, unsigned offset)
{
    const unsigned n = 1000;
    CUfunction f;
    CUdeviceptr data;
    double out[n], scale = 0.25;
    unsigned count = n;
    DRV(cuModuleGetFunction(&f, module, "affine"));
    DRV(cuMemAlloc(&data, sizeof out));
    void *args[] = {&data, &count, &scale};
    DRV(cuLaunchKernel(f, 4, 1, 1, 256, 1, 1, 0, nullptr, args, nullptr));
    DRV(cuCtxSynchronize());
    DRV(cuMemcpyDtoH(out, data, sizeof out));
    const double factors[3] = {0.5, 2.0, 4.0};
    for (unsigned i = 0; i < n; i++)
        EXPECT(out[i] == (3 * i + offset) * factors[i % 3] * 0.25, "i=%u: %g", i, out[i]);

    DRV(cuMemsetD32(data, 0, n * 2));
    struct {
        CUdeviceptr data;
        unsigned n, pad;
        double scale;
    } packed = {data, 10, 0, 1.0};
    size_t size = sizeof packed;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    DRV(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra));
    DRV(cuMemcpyDtoH(out, data, sizeof out));
    for (unsigned i = 0; i < 20; i++)
        EXPECT(out[i] == (i < 10 ? (3 * i + offset) * factors[i % 3] : 0), "packed i=%u: %g", i, out[i]);
    DRV(cuMemFree(data));
}

static void check_rotate(CUmodule module)
{
    CUfunction f;
    CUdeviceptr data;
    unsigned v[96];
    int threads;
    for (unsigned i = 0; i < 96; i++)
        v[i] = i * i;
    DRV(cuModuleGetFunction(&f, module, "rotate"));
    DRV(cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
    EXPECT(threads == 256, "max threads %d", threads);
    DRV(cuMemAlloc(&data, sizeof v));
    DRV(cuMemcpyHtoD(data, v, sizeof v));
    void *args[] = {&data};
    DRV(cuLaunchKernel(f, 1, 1, 1, 96, 1, 1, 96 * 4, nullptr, args, nullptr));
    DRV(cuMemcpyDtoH(v, data, sizeof v));
    for (unsigned i = 0; i < 96; i++)
        EXPECT(v[i] == ((i + 1) % 96) * ((i + 1) % 96), "rotate %u: %u", i, v[i]);
    DRV_ERR(cuLaunchKernel(f, 1, 1, 1, 512, 1, 1, 512 * 4, nullptr, args, nullptr), CUDA_ERROR_INVALID_VALUE);
    DRV(cuMemFree(data));
}

static void check_broken()
{
    char errors[4096] = "", info[1024] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_INFO_LOG_BUFFER,
                              CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_LOG_VERBOSE, CU_JIT_OPTIMIZATION_LEVEL};
    void *values[] = {errors, (void *)sizeof errors, info, (void *)sizeof info, (void *)1, (void *)4};
    CUmodule module;
    DRV_ERR(cuModuleLoadDataEx(&module, broken, 6, options, values), CUDA_ERROR_INVALID_PTX);
    EXPECT(strstr(errors, "7") && strstr(errors, "frobnicate"), "the error log says: %s", errors);
    EXPECT((size_t)values[1] == strlen(errors) || (size_t)values[1] == strlen(errors) + 1, "log size %zu of %zu",
           (size_t)values[1], strlen(errors));
    char tiny[8];
    memset(tiny, 'x', sizeof tiny);
    values[0] = tiny;
    values[1] = (void *)4;
    DRV_ERR(cuModuleLoadDataEx(&module, broken, 2, options, values), CUDA_ERROR_INVALID_PTX);
    EXPECT(tiny[4] == 'x' && tiny[7] == 'x', "the log ran over its buffer");
    CUresult bad = cuModuleLoadData(&module, "this is no PTX at all");
    EXPECT(bad == CUDA_ERROR_INVALID_PTX || bad == CUDA_ERROR_INVALID_IMAGE, "text that is no PTX gave %d", (int)bad);
    values[0] = errors;
    values[1] = (void *)sizeof errors;
    DRV(cuModuleLoadDataEx(&module, source, 6, options, values));
    DRV(cuModuleUnload(module));
}

int main()
{
    int count, version;
    DRV_ERR(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    DRV(cuInit(0));
    DRV(cuDriverGetVersion(&version));
    DRV(cuDeviceGetCount(&count));
    EXPECT(count >= 1 && version >= 11000, "%d devices, driver %d", count, version);
    CUdevice device;
    CUcontext context, current;
    char name[200];
    size_t memory;
    DRV(cuDeviceGet(&device, 0));
    DRV(cuDeviceGetName(name, sizeof name, device));
    DRV(cuDeviceTotalMem(&memory, device));
    EXPECT(strlen(name) > 0 && memory > 0, "name '%s', %zu bytes", name, memory);
    DRV_ERR(cuMemAlloc((CUdeviceptr *)&memory, 16), CUDA_ERROR_INVALID_CONTEXT);
    DRV(cuDevicePrimaryCtxRetain(&context, device));
    DRV(cuCtxSetCurrent(context));
    DRV(cuCtxGetCurrent(&current));
    EXPECT(current == context, "current context differs");

    CUmodule a, b;
    DRV(cuModuleLoadData(&a, source));
    DRV(cuModuleLoadData(&b, source));
    check_affine(a, 7);
    check_rotate(a);
    CUdeviceptr offset;
    size_t bytes;
    DRV(cuModuleGetGlobal(&offset, &bytes, a, "offset"));
    EXPECT(bytes == 4, "offset is %zu bytes", bytes);
    DRV(cuMemsetD32(offset, 100, 1));
    check_affine(a, 100);
    check_affine(b, 7);
    DRV(cuModuleGetGlobal(&offset, &bytes, a, "factors"));
    EXPECT(bytes == 24, "factors is %zu bytes", bytes);

    CUfunction f;
    DRV_ERR(cuModuleGetFunction(&f, a, "no_such_kernel"), CUDA_ERROR_NOT_FOUND);
    DRV_ERR(cuModuleGetGlobal(&offset, &bytes, a, "no_such_variable"), CUDA_ERROR_NOT_FOUND);
    check_broken();
    DRV(cuModuleUnload(a));
    DRV(cuModuleUnload(b));
    DRV(cuDevicePrimaryCtxRelease(device));
    return check_done();
}
