// Launches as before CUDA 4: a function holds the shape of its blocks, its shared memory and its parameters between calls.
// link: -lcuda
// needs: -Wno-deprecated-declarations
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <cuda.h>

#define DRV(call)                                                              \
    do {                                                                       \
        CUresult drv_ = (call);                                                \
        EXPECT(drv_ == CUDA_SUCCESS, "%s gave %d", #call, (int)drv_);          \
    } while (0)

#define DRV_ERR(call, want) EXPECT((call) == (want), "%s", #call)

static const char source[] = R"(
.version 6.4
.target sm_50
.address_size 64
.extern .shared .align 4 .b8 dynamic[];
.visible .entry fill(.param .u64 out, .param .u32 add, .param .f32 scale)
{
    .reg .b32 %r<12>;
    .reg .b64 %rd<4>;
    .reg .f32 %f<4>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [add];
    ld.param.f32 %f1, [scale];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %tid.y;
    mov.u32 %r4, %ntid.x;
    mad.lo.u32 %r5, %r3, %r4, %r2;
    mov.u32 %r6, %ctaid.y;
    mov.u32 %r7, %nctaid.x;
    mov.u32 %r8, %ctaid.x;
    mad.lo.u32 %r6, %r6, %r7, %r8;
    mov.u32 %r9, dynamic;
    shl.b32 %r10, %r5, 2;
    add.u32 %r9, %r9, %r10;
    st.shared.u32 [%r9], %r5;
    ld.shared.u32 %r5, [%r9];
    mad.lo.u32 %r5, %r6, 64, %r5;
    add.u32 %r10, %r5, %r1;
    cvt.rn.f32.u32 %f2, %r10;
    mul.f32 %f3, %f2, %f1;
    mul.wide.u32 %rd2, %r5, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.f32 [%rd3], %f3;
    ret;
}
)";

static void reset(float *data)
{
    static float out[1024];
    for (float &f : out)
        f = -1;
    CHECK(cudaMemcpy(data, out, sizeof out, cudaMemcpyHostToDevice));
}

static void check(float *data, unsigned n, float add, float scale)
{
    static float out[1024];
    CHECK(cudaMemcpy(out, data, sizeof out, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < 1024; i++)
        EXPECT(out[i] == (i < n ? ((float)i + add) * scale : -1), "%u of %u: %g", i, n, out[i]);
    reset(data);
}

int main()
{
    Dev<float> data(1024);
    CUmodule module;
    CUfunction f;
    CUstream stream;
    float *pointer = data;
    reset(data);
    DRV(cuModuleLoadData(&module, source));
    DRV(cuModuleGetFunction(&f, module, "fill"));
    DRV_ERR(cuLaunch(f), CUDA_ERROR_INVALID_VALUE);
    DRV(cuFuncSetBlockShape(f, 8, 8, 1));
    DRV(cuFuncSetSharedSize(f, 64 * 4));
    DRV(cuParamSetv(f, 0, &pointer, sizeof pointer));
    DRV(cuParamSeti(f, 8, 5));
    DRV(cuParamSetf(f, 12, 0.5f));
    DRV_ERR(cuLaunch(f), CUDA_ERROR_INVALID_VALUE); // no size
    DRV(cuParamSetSize(f, 16));
    DRV(cuLaunch(f));
    check(data, 64, 5, 0.5f);
    DRV(cuParamSetf(f, 12, 2));
    DRV(cuLaunchGrid(f, 3, 2));
    check(data, 384, 5, 2);
    DRV(cuStreamCreate(&stream, 0));
    DRV(cuParamSeti(f, 8, 0));
    DRV(cuLaunchGridAsync(f, 1, 16, stream));
    DRV(cuStreamSynchronize(stream));
    check(data, 1024, 0, 2);
    DRV_ERR(cuFuncSetBlockShape(f, 0, 1, 1), CUDA_ERROR_INVALID_VALUE);
    DRV_ERR(cuLaunchGrid(f, 0, 1), CUDA_ERROR_INVALID_VALUE);
    DRV_ERR(cuParamSetv(f, 4090, &pointer, 8), CUDA_ERROR_INVALID_VALUE);
    DRV_ERR(cuParamSetv(f, -1, &pointer, 8), CUDA_ERROR_INVALID_VALUE);
    DRV_ERR(cuParamSetSize(f, 5000), CUDA_ERROR_INVALID_VALUE);
    DRV(cuModuleUnload(module));
    return check_done();
}
