// PTX that calls CUDA's device-side runtime, as compilers other than nvcc write it for grid groups, for memory and for kernels
// that start kernels: what can be answered is, and a kernel that calls something else is refused when it is used, by its name,
// while the module's others work.
// link: -lcuda
// expect-stderr: <ptx>:\d+:\d+: error: kernel 'asks', in 'helper' calls 'cudaGetDevice' of the device-side runtime: not supported
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <cuda.h>

#define DRV(call, want)                                                                                \
    do {                                                                                               \
        CUresult drv_ = (call);                                                                        \
        EXPECT(drv_ == (want), "%s: got %d, expected %d", #call, (int)drv_, (int)(want));              \
    } while (0)

enum { BLOCKS = 6, THREADS = 96 };

static const char text[] = R"(
.version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 scope);
.extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 handle, .param .b32 flags);
.extern .func (.param .b32 r) cudaGetDevice(.param .b64 p);
.extern .func (.param .b32 r) cudaMalloc(.param .b64 p, .param .b64 n);
.extern .func (.param .b32 r) __cudaCDP2Free(.param .b64 p);
.func (.param .b32 e) grid_sync(.param .b64 handle)
{
    .reg .b64 %h;
    .reg .b32 %e;
    ld.param.u64 %h, [handle];
    { .param .b64 h; .param .b32 f, r; st.param.b64 [h], %h; st.param.b32 [f], 0;
      call.uni (r), cudaCGSynchronize, (h, f); ld.param.b32 %e, [r]; }
    st.param.b32 [e], %e;
    ret;
}
.visible .entry meet(.param .u64 out)
{
    .reg .b32 %r<9>;
    .reg .b64 %d<5>;
    ld.param.u64 %d1, [out];
    { .param .b32 s; .param .b64 h; st.param.b32 [s], 1; call.uni (h), cudaCGGetIntrinsicHandle, (s); ld.param.b64 %d2, [h]; }
    mov.u32 %r5, 0;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r1, %r1, %r2, %r3;
    mad.wide.u32 %d3, %r1, 16, %d1;
ROUND:
    .reg .pred %p;
    atom.global.add.u32 %r4, [%d1], 1;
    { .param .b64 h; .param .b32 e; st.param.b64 [h], %d2; call.uni (e), grid_sync, (h); ld.param.b32 %r6, [e]; }
    ld.volatile.global.u32 %r7, [%d1];
    mul.wide.u32 %d4, %r5, 4;
    add.u64 %d4, %d4, %d3;
    add.u32 %r7, %r7, %r6;
    st.global.u32 [%d4+16], %r7;
    { .param .b64 h; .param .b32 e; st.param.b64 [h], %d2; call.uni (e), grid_sync, (h); ld.param.b32 %r6, [e]; }
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p, %r5, 3;
    @%p bra ROUND;
    ret;
}
.func helper(.param .b64 p)
{
    .reg .b64 %d;
    ld.param.u64 %d, [p];
    { .param .b64 a; .param .b32 r; st.param.b64 [a], %d; call.uni (r), cudaGetDevice, (a); }
    ret;
}
.visible .entry asks(.param .u64 out)
{
    .reg .b64 %d;
    ld.param.u64 %d, [out];
    { .param .b64 a; st.param.b64 [a], %d; call.uni helper, (a); }
    ret;
}
.visible .entry takes(.param .u64 out, .param .u64 size)
{
    .local .align 8 .b8 cell[8];
    .reg .b64 %d<6>;
    .reg .b32 %r<6>;
    .reg .pred %p;
    ld.param.u64 %d1, [out];
    ld.param.u64 %d2, [size];
    mov.u64 %d3, cell;
    cvta.local.u64 %d3, %d3;
    { .param .b64 p, n; .param .b32 e; st.param.b64 [p], %d3; st.param.b64 [n], %d2;
      call.uni (e), cudaMalloc, (p, n); ld.param.b32 %r1, [e]; }
    ld.local.u64 %d4, [cell];
    setp.ne.u64 %p, %d4, 0;
    mov.u32 %r2, %tid.x;
    @%p st.u32 [%d4], %r2;
    @%p ld.u32 %r3, [%d4];
    @!%p mov.u32 %r3, 77;
    { .param .b64 p; .param .b32 e; st.param.b64 [p], %d4; call.uni (e), __cudaCDP2Free, (p); ld.param.b32 %r4, [e]; }
    mad.wide.u32 %d5, %r2, 12, %d1;
    st.global.u32 [%d5], %r1;
    st.global.u32 [%d5+4], %r3;
    st.global.u32 [%d5+8], %r4;
    ret;
}
)";

/* Kernels that start others, by the functions that compilers before CUDA 5.5 called, and by one that they may call at any
 * time. */
static const char starting[] = R"(
.version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b64 r) cudaGetParameterBuffer(.param .b64 alignment, .param .b64 size);
.extern .func (.param .b32 r) cudaLaunchDevice(.param .b64 f, .param .b64 p, .param .align 4 .b8 g[12], .param .align 4 .b8 b[12],
    .param .b32 s, .param .b64 stream);
.extern .func (.param .b32 r) cudaDeviceSynchronize();
.global .u64 which = started;
.visible .entry started(.param .u32 by, .param .u64 out)
{
    .reg .b64 %d<3>;
    .reg .b32 %r<5>;
    ld.param.u64 %d1, [out];
    ld.param.u32 %r1, [by];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %ctaid.x;
    mad.lo.u32 %r2, %r3, 10, %r2;
    mad.wide.u32 %d2, %r2, 4, %d1;
    st.global.u32 [%d2], %r1;
    ret;
}
.visible .entry starts(.param .u64 out, .param .u32 waits)
{
    .reg .b64 %d<6>;
    .reg .b32 %r<6>;
    .reg .pred %p;
    ld.param.u64 %d1, [out];
    ld.global.u64 %d3, [which];
    { .param .b64 a, n, p; st.param.b64 [a], 8; st.param.b64 [n], 16; call.uni (p), cudaGetParameterBuffer, (a, n);
      ld.param.b64 %d2, [p]; }
    mov.u32 %r1, 42;
    st.u32 [%d2], %r1;
    st.u64 [%d2+8], %d1;
    { .param .b64 f, p, stream; .param .align 4 .b8 g[12], b[12]; .param .b32 s, e;
      st.param.b64 [f], %d3; st.param.b64 [p], %d2; st.param.b64 [stream], 0; st.param.b32 [s], 0;
      st.param.b32 [g], 2; st.param.b32 [g+4], 1; st.param.b32 [g+8], 1;
      st.param.b32 [b], 5; st.param.b32 [b+4], 1; st.param.b32 [b+8], 1;
      call.uni (e), cudaLaunchDevice, (f, p, g, b, s, stream); ld.param.b32 %r2, [e]; }
    st.global.u32 [%d1+24], %r2;
    ld.param.u32 %r3, [waits];
    setp.eq.u32 %p, %r3, 0;
    @%p ret;
    { .param .b32 e; call.uni (e), cudaDeviceSynchronize, (); }
    ret;
}
)";

static CUfunction function(CUmodule module, const char *name)
{
    CUfunction f = nullptr;
    DRV(cuModuleGetFunction(&f, module, name), CUDA_SUCCESS);
    return f;
}

static void check_meet(CUmodule module)
{
    static int out[4 + BLOCKS * THREADS * 4];
    Dev<int> d(4 + BLOCKS * THREADS * 4);
    d.fill(0);
    void *args[] = { &d.ptr };
    DRV(cuLaunchCooperativeKernel(function(module, "meet"), BLOCKS, 1, 1, THREADS, 1, 1, 0, nullptr, args), CUDA_SUCCESS);
    CHECK(cudaDeviceSynchronize());
    d.get(out);
    for (int t = 0; t < BLOCKS * THREADS; t++)
        for (int i = 0; i < 3; i++)
            EXPECT(out[4 + 4 * t + i] == (i + 1) * BLOCKS * THREADS, "thread %d, round %d: %d", t, i, out[4 + 4 * t + i]);
}

static void check_takes(CUmodule module, size_t size, int error)
{
    int out[3 * 40];
    Dev<int> d(3 * 40);
    void *args[] = { &d.ptr, &size };
    DRV(cuLaunchKernel(function(module, "takes"), 1, 1, 1, 40, 1, 1, 0, nullptr, args, nullptr), CUDA_SUCCESS);
    CHECK(cudaDeviceSynchronize());
    d.get(out);
    for (int t = 0; t < 40; t++)
        EXPECT(out[3 * t] == error && out[3 * t + 1] == (error ? 77 : t) && !out[3 * t + 2], "thread %d: %d %d %d", t, out[3 * t],
               out[3 * t + 1], out[3 * t + 2]);
}

static void check_starts(CUmodule module)
{
    int out[15];
    Dev<int> d(15);
    unsigned waits = 0;
    void *args[] = { &d.ptr, &waits };
    d.fill(0xff);
    DRV(cuLaunchKernel(function(module, "starts"), 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr), CUDA_SUCCESS);
    CHECK(cudaDeviceSynchronize());
    d.get(out);
    for (int i = 0; i < 15; i++)
        EXPECT(out[i] == (i % 10 < 5 ? 42 : i == 6 ? 0 : -1), "started: %d is %d", i, out[i]);
    waits = 1; /* for what runs when it has ended: it is told, and not passed over */
    DRV(cuLaunchKernel(function(module, "starts"), 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr), CUDA_SUCCESS);
    CHECK_ERR(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
}

int main()
{
    CHECK(cudaFree(nullptr));
    CUmodule module, alone;
    if (cuModuleLoadData(&module, text) != CUDA_SUCCESS) {
        std::printf("the module cannot be loaded\n");
        return 1;
    }
    check_meet(module);
    Dev<int> d(4);
    void *args[] = { &d.ptr };
    DRV(cuLaunchKernel(function(module, "asks"), 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr), CUDA_ERROR_NOT_SUPPORTED);
    check_takes(module, 64, 0);
    check_takes(module, (size_t)1 << 40, 2);
    /* Nothing is wrong with a text whose only kernel asks for what is not there. */
    static const char only[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                               ".extern .func (.param .b32 r) cudaGetDeviceCount(.param .b64 p);\n"
                               ".visible .entry k() { { .param .b64 p; .param .b32 r; st.param.b64 [p], 0;\n"
                               "  call.uni (r), cudaGetDeviceCount, (p); } ret; }\n";
    DRV(cuModuleLoadData(&alone, only), CUDA_SUCCESS);
    DRV(cuLaunchKernel(function(alone, "k"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_ERROR_NOT_SUPPORTED);
    DRV(cuModuleLoadData(&alone, starting), CUDA_SUCCESS);
    check_starts(alone);
    return check_done();
}
