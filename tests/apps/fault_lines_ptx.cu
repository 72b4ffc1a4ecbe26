// A wild access in code without line information names the line of its PTX, also in a text of several that were linked.
// link: -lcuda
// devices: host
// expect-stderr: kernel wild: illegal access to address 0x40 in block \(0,0,0\), warp 0, at second\.ptx:11\b
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <cuda.h>
#include <unistd.h>

#define HEAD ".version 7.0\n.target sm_52\n.address_size 64\n"

static const char first[] = HEAD R"(.extern .func put(.param .b64 p, .param .b32 v);
.visible .entry wild(.param .u64 p)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    {
        .param .b64 a;
        .param .b32 b;
        st.param.b64 [a], %rd1;
        st.param.b32 [b], %r1;
        call.uni put, (a, b);
    }
    ret;
}
)";

// The store is in line 11.
static const char second[] = HEAD R"(
.visible .func put(.param .b64 p, .param .b32 v)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [p];
    ld.param.u32 %r1, [v];
    st.u32 [%rd1], %r1;
    ret;
}
)";

#define DRV(call) EXPECT((call) == CUDA_SUCCESS, "it failed")

int main()
{
    CUlinkState link;
    CUmodule module;
    CUfunction f;
    CUdeviceptr wild = 0x40;
    void *image, *args[] = {&wild};
    size_t size;
    CHECK(cudaFree(nullptr));
    DRV(cuLinkCreate(0, nullptr, nullptr, &link));
    DRV(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)first, sizeof first, "first.ptx", 0, nullptr, nullptr));
    DRV(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)second, sizeof second, "second.ptx", 0, nullptr, nullptr));
    DRV(cuLinkComplete(link, &image, &size));
    DRV(cuModuleLoadData(&module, image));
    DRV(cuLinkDestroy(link));
    DRV(cuModuleGetFunction(&f, module, "wild"));
    DRV(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr));
    EXPECT(cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS, "no fault");
    int failed = check_done();
    std::fflush(stdout);
    _exit(failed); // what is left to clean up would fail
}
