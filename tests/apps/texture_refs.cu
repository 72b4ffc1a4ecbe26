// Texture and surface references: variables of a module of PTX text, bound and set through the driver API, in both texture modes;
// samplers
// that are declared in PTX; opaque kernel parameters; queries.
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
#define DRV_ERR(call, want)                                                          \
    do {                                                                             \
        CUresult drv_ = (call);                                                      \
        EXPECT(drv_ == (want), "got %d, expected %d", (int)drv_, (int)(want));       \
    } while (0)

// Declared in newer toolkits' headers only as deprecated, or not at all.
extern "C" {
CUresult cuModuleGetTexRef(CUtexref *, CUmodule, const char *);
CUresult cuModuleGetSurfRef(CUsurfref *, CUmodule, const char *);
CUresult cuTexRefSetArray(CUtexref, CUarray, unsigned);
CUresult cuTexRefGetArray(CUarray *, CUtexref);
CUresult cuTexRefSetAddress_v2(size_t *, CUtexref, CUdeviceptr, size_t);
CUresult cuTexRefSetAddress2D_v3(CUtexref, const CUDA_ARRAY_DESCRIPTOR *, CUdeviceptr, size_t);
CUresult cuTexRefSetFormat(CUtexref, CUarray_format, int);
CUresult cuTexRefSetAddressMode(CUtexref, int, CUaddress_mode);
CUresult cuTexRefSetFilterMode(CUtexref, CUfilter_mode);
CUresult cuTexRefSetFlags(CUtexref, unsigned);
CUresult cuTexRefGetFlags(unsigned *, CUtexref);
CUresult cuTexRefGetFilterMode(CUfilter_mode *, CUtexref);
CUresult cuTexRefCreate(CUtexref *);
CUresult cuTexRefDestroy(CUtexref);
CUresult cuSurfRefSetArray(CUsurfref, CUarray, unsigned);
}

static const char unified[] = R"(
.version 4.0
.target sm_30
.address_size 64
.global .texref plane;
.tex .u64 line;
.global .surfref target;
.global .texref preset = { normalized_coords = 1, addr_mode_0 = wrap, addr_mode_1 = clamp_to_border, filter_mode = linear };
.visible .entry begun(.param .u64 out, .param .f32 x, .param .f32 y)
{
    .reg .f32 %f<7>; .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    ld.param.f32 %f1, [x];
    ld.param.f32 %f2, [y];
    tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [preset, {%f1, %f2}];
    st.global.f32 [%rd1], %f3;
    ret;
}
.visible .entry read(.param .u64 out, .param .f32 x, .param .f32 y)
{
    .reg .f32 %f<12>; .reg .b32 %r<12>; .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [out];
    ld.param.f32 %f1, [x];
    ld.param.f32 %f2, [y];
    mov.u32 %r1, %tid.x;
    tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [plane, {%f1, %f2}];
    tex.1d.v4.s32.s32 {%r2, %r3, %r4, %r5}, [line, {%r1}];
    mov.u64 %rd2, plane;
    txq.width.b32 %r6, [%rd2];
    txq.filter_mode.b32 %r7, [plane];
    txq.addr_mode_1.b32 %r8, [plane];
    mad.wide.u32 %rd3, %r1, 24, %rd1;
    st.global.f32 [%rd3], %f3;
    st.global.u32 [%rd3+4], %r2;
    st.global.u32 [%rd3+8], %r6;
    st.global.u32 [%rd3+12], %r7;
    st.global.u32 [%rd3+16], %r8;
    shl.b32 %r9, %r1, 2;
    add.u32 %r10, %r1, 40;
    sust.b.1d.b32.trap [target, {%r9}], %r10;
    suld.b.1d.b32.trap %r11, [target, {%r9}];
    st.global.u32 [%rd3+20], %r11;
    ret;
}
)";

static const char kinds[] = R"(
.version 4.0
.target sm_30, texmode_independent
.address_size 64
.global .texref texture;
.global .texref unbound;
.global .surfref surface;
.global .samplerref sampler = { filter_mode = nearest };
.visible .entry ask(.param .u64 out)
{
    .reg .pred %p<12>; .reg .b32 %r<12>; .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [out];
    mov.u64 %rd5, sampler;
    mov.u64 %rd2, texture;
    mov.u64 %rd3, surface;
    mov.u64 %rd4, unbound;
    istypep.texref %p1, %rd2;
    istypep.surfref %p2, %rd2;
    istypep.texref %p3, %rd3;
    istypep.surfref %p4, %rd3;
    istypep.texref %p5, %rd4;
    istypep.surfref %p6, %rd4;
    selp.u32 %r1, 1, 0, %p1;
    selp.u32 %r2, 2, 0, %p2;
    selp.u32 %r3, 4, 0, %p3;
    selp.u32 %r4, 8, 0, %p4;
    selp.u32 %r5, 16, 0, %p5;
    selp.u32 %r6, 32, 0, %p6;
    add.u32 %r1, %r1, %r2;
    add.u32 %r1, %r1, %r3;
    add.u32 %r1, %r1, %r4;
    add.u32 %r1, %r1, %r5;
    add.u32 %r1, %r1, %r6;
    istypep.samplerref %p7, %rd5;
    istypep.samplerref %p8, %rd2;
    istypep.samplerref %p9, %rd3;
    istypep.texref %p10, %rd5;
    istypep.surfref %p11, %rd5;
    selp.u32 %r7, 64, 0, %p7;
    selp.u32 %r8, 128, 0, %p8;
    selp.u32 %r9, 256, 0, %p9;
    selp.u32 %r10, 512, 0, %p10;
    selp.u32 %r11, 1024, 0, %p11;
    add.u32 %r1, %r1, %r7;
    add.u32 %r1, %r1, %r8;
    add.u32 %r1, %r1, %r9;
    add.u32 %r1, %r1, %r10;
    add.u32 %r1, %r1, %r11;
    st.global.u32 [%rd1], %r1;
    ret;
}
)";

static const char independent[] = R"(
.version 4.0
.target sm_30, texmode_independent
.address_size 64
.global .texref plane;
.global .samplerref border = { addr_mode_0 = clamp_to_border, addr_mode_1 = clamp_to_border, filter_mode = nearest };
.global .samplerref smooth = { addr_mode_0 = wrap, addr_mode_1 = clamp_to_edge, filter_mode = linear };
.global .samplerref texels = { filter_mode = nearest, addr_mode_0 = clamp_to_edge, addr_mode_1 = clamp_to_edge,
                               force_unnormalized_coords = 1 };
.visible .entry read(.param .texref given, .param .samplerref sampler, .param .u64 out)
{
    .reg .f32 %f<8>; .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<2>;
    ld.param.u64 %rd1, [out];
    mov.f32 %f1, 0f3fc00000;
    mov.f32 %f2, 0f3f000000;
    tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [plane, border, {%f1, %f2}];
    st.global.f32 [%rd1], %f3;
    tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [plane, smooth, {%f1, %f2}];
    st.global.f32 [%rd1+4], %f3;
    tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [plane, texels, {%f1, %f2}];
    st.global.f32 [%rd1+8], %f3;
    tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [given, sampler, {%f1, %f2}];
    st.global.f32 [%rd1+12], %f3;
    txq.filter_mode.b32 %r1, [smooth];
    st.global.u32 [%rd1+16], %r1;
    txq.force_unnormalized_coords.b32 %r1, [texels];
    st.global.u32 [%rd1+20], %r1;
    mov.u32 %r2, %tid.x;
    setp.eq.u32 %p1, %r2, 0;
    mov.u64 %rd2, texels;
    mov.u64 %rd3, smooth;
    selp.b64 %rd2, %rd2, %rd3, %p1;
    tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [plane, %rd2, {%f1, %f2}];
    shl.b32 %r2, %r2, 2;
    cvt.u64.u32 %rd3, %r2;
    add.u64 %rd1, %rd1, %rd3;
    st.global.f32 [%rd1+24], %f3;
    ret;
}
)";

static const int W = 4, H = 4, N = 32;
static float image[H][W];

struct Result {
    float plane;
    int line, width, filter, mode, surface;
};

static void run(CUfunction f, CUdeviceptr out, float x, float y, Result *ret)
{
    void *args[] = { &out, &x, &y };
    DRV(cuLaunchKernel(f, 1, 1, 1, N, 1, 1, 0, NULL, args, NULL));
    DRV(cuCtxSynchronize());
    DRV(cuMemcpyDtoH(ret, out, N * sizeof(Result)));
}

static void try_unified(CUarray array)
{
    CUmodule module;
    CUfunction f;
    CUtexref plane, again, line, own;
    CUsurfref target;
    CUarray row, back;
    CUdeviceptr out, memory;
    CUfilter_mode filter;
    unsigned flags;
    size_t offset = 99;
    Result r[N];
    int words[N];
    for (int i = 0; i < N; i++)
        words[i] = i * i - 7;
    DRV(cuModuleLoadData(&module, unified));
    DRV(cuModuleGetFunction(&f, module, "read"));
    DRV(cuModuleGetTexRef(&plane, module, "plane"));
    DRV(cuModuleGetTexRef(&again, module, "plane"));
    DRV(cuModuleGetTexRef(&line, module, "line"));
    DRV(cuModuleGetSurfRef(&target, module, "target"));
    EXPECT(plane == again, "two handles for one reference");
    DRV_ERR(cuModuleGetTexRef(&own, module, "none"), CUDA_ERROR_NOT_FOUND);
    DRV_ERR(cuModuleGetSurfRef((CUsurfref *)&own, module, "plane"), CUDA_ERROR_INVALID_VALUE);
    CUDA_ARRAY3D_DESCRIPTOR shape = { N, 0, 0, CU_AD_FORMAT_SIGNED_INT32, 1, CUDA_ARRAY3D_SURFACE_LDST };
    DRV(cuArray3DCreate(&row, &shape));
    DRV(cuMemAlloc(&out, N * sizeof(Result)));
    DRV(cuMemAlloc(&memory, sizeof words));
    DRV(cuMemcpyHtoD(memory, words, sizeof words));
    DRV(cuTexRefSetFormat(line, CU_AD_FORMAT_SIGNED_INT32, 1));
    DRV(cuTexRefSetFlags(line, CU_TRSF_READ_AS_INTEGER));
    DRV(cuTexRefSetAddress_v2(&offset, line, memory, (N - 2) * sizeof(int)));
    EXPECT(offset == 0, "an offset of %zu", offset);
    DRV(cuSurfRefSetArray(target, row, 0));
    DRV(cuTexRefSetArray(plane, array, CU_TRSA_OVERRIDE_FORMAT));
    DRV(cuTexRefGetArray(&back, plane));
    EXPECT(back == array, "another array came back");

    run(f, out, 1.5f, 2.5f, r);
    for (int i = 0; i < N; i++) {
        EXPECT(r[i].plane == image[2][1], "point: %g, not %g", r[i].plane, image[2][1]);
        EXPECT(r[i].line == (i < N - 2 ? words[i] : 0), "line[%d]: %d", i, r[i].line);
        EXPECT(r[i].width == W && r[i].filter == 0 && r[i].mode == CU_TR_ADDRESS_MODE_CLAMP, "queries: %d %d %d", r[i].width,
               r[i].filter, r[i].mode);
        EXPECT(r[i].surface == i + 40, "surface[%d]: %d", i, r[i].surface);
    }
    // Changes count for the next launch, whatever is bound.
    DRV(cuTexRefSetFilterMode(plane, CU_TR_FILTER_MODE_LINEAR));
    DRV(cuTexRefSetFlags(plane, CU_TRSF_NORMALIZED_COORDINATES));
    DRV(cuTexRefSetAddressMode(plane, 0, CU_TR_ADDRESS_MODE_WRAP));
    DRV(cuTexRefSetAddressMode(plane, 1, CU_TR_ADDRESS_MODE_MIRROR));
    DRV(cuTexRefGetFilterMode(&filter, plane));
    DRV(cuTexRefGetFlags(&flags, plane));
    EXPECT(filter == CU_TR_FILTER_MODE_LINEAR && flags == CU_TRSF_NORMALIZED_COORDINATES, "settings: %d %u", filter, flags);
    run(f, out, 1.5f, 1.375f, r); // halfway between columns 1 and 2, on row 2
    float want = (image[2][1] + image[2][2]) / 2;
    EXPECT(r[0].plane == want && r[0].filter == 1 && r[0].mode == CU_TR_ADDRESS_MODE_MIRROR, "linear: %g, not %g", r[0].plane,
           want);
    // Pitched memory in its place.
    CUdeviceptr pitched;
    size_t pitch;
    DRV(cuMemAllocPitch(&pitched, &pitch, W * sizeof(float), 2, 4));
    DRV(cuMemcpyHtoD(pitched, image[3], W * sizeof(float)));
    DRV(cuMemcpyHtoD(pitched + pitch, image[1], W * sizeof(float)));
    CUDA_ARRAY_DESCRIPTOR two = { W, 2, CU_AD_FORMAT_FLOAT, 1 };
    DRV(cuTexRefSetFlags(plane, 0));
    DRV(cuTexRefSetFilterMode(plane, CU_TR_FILTER_MODE_POINT));
    DRV(cuTexRefSetAddress2D_v3(plane, &two, pitched, pitch));
    run(f, out, 3.5f, 1.5f, r);
    EXPECT(r[0].plane == image[1][3], "pitched: %g, not %g", r[0].plane, image[1][3]);
    DRV_ERR(cuTexRefGetArray(&back, plane), CUDA_ERROR_INVALID_VALUE);
    DRV_ERR(cuTexRefSetAddressMode(plane, 3, CU_TR_ADDRESS_MODE_WRAP), CUDA_ERROR_INVALID_VALUE);
    DRV_ERR(cuTexRefSetFormat(plane, CU_AD_FORMAT_FLOAT, 3), CUDA_ERROR_INVALID_VALUE);
    DRV(cuTexRefCreate(&own));
    DRV(cuTexRefDestroy(own));
    DRV_ERR(cuTexRefDestroy(own), CUDA_ERROR_INVALID_VALUE);
    DRV_ERR(cuTexRefDestroy(plane), CUDA_ERROR_INVALID_VALUE);
    // What its initialiser says is what a reference begins with; the program may change it.
    CUtexref preset;
    DRV(cuModuleGetTexRef(&preset, module, "preset"));
    DRV(cuTexRefGetFilterMode(&filter, preset));
    DRV(cuTexRefGetFlags(&flags, preset));
    EXPECT(filter == CU_TR_FILTER_MODE_LINEAR && flags == CU_TRSF_NORMALIZED_COORDINATES, "preset: %d %u", filter, flags);
    DRV(cuTexRefSetArray(preset, array, CU_TRSA_OVERRIDE_FORMAT));
    DRV(cuModuleGetFunction(&f, module, "begun"));
    run(f, out, 1.5f, 0.625f, r);
    want = (image[2][1] + image[2][2]) / 2; // 1.5 wraps to the middle
    EXPECT(r[0].plane == want, "preset: %g, not %g", r[0].plane, want);
    run(f, out, 0.125f, 1.0f, r); // half of it beyond the border
    EXPECT(r[0].plane == image[3][0] / 2, "preset border: %g, not %g", r[0].plane, image[3][0] / 2);
    DRV(cuTexRefSetFilterMode(preset, CU_TR_FILTER_MODE_POINT));
    run(f, out, 0.125f, 0.875f, r);
    EXPECT(r[0].plane == image[3][0], "preset changed: %g, not %g", r[0].plane, image[3][0]);
    DRV(cuModuleUnload(module));
    DRV_ERR(cuTexRefSetFlags(plane, 0), CUDA_ERROR_INVALID_VALUE);
    DRV(cuArrayDestroy(row));
}

static void try_independent(CUarray array)
{
    CUmodule module;
    CUfunction f;
    CUtexref plane;
    CUdeviceptr out;
    CUtexObject object, sampler;
    float v[4], chosen[2];
    int q[2];
    DRV(cuModuleLoadData(&module, independent));
    DRV(cuModuleGetFunction(&f, module, "read"));
    DRV(cuModuleGetTexRef(&plane, module, "plane"));
    DRV(cuTexRefSetArray(plane, array, CU_TRSA_OVERRIDE_FORMAT));
    CUDA_RESOURCE_DESC resource = {};
    CUDA_TEXTURE_DESC point = {}, linear = {};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    for (int d = 0; d < 3; d++)
        point.addressMode[d] = linear.addressMode[d] = CU_TR_ADDRESS_MODE_CLAMP;
    linear.filterMode = CU_TR_FILTER_MODE_LINEAR;
    DRV(cuTexObjectCreate(&object, &resource, &point, NULL));
    DRV(cuTexObjectCreate(&sampler, &resource, &linear, NULL));
    DRV(cuMemAlloc(&out, 32));
    void *args[] = { &object, &sampler, &out };
    DRV(cuLaunchKernel(f, 1, 1, 1, 2, 1, 1, 0, NULL, args, NULL));
    DRV(cuCtxSynchronize());
    DRV(cuMemcpyDtoH(v, out, 16));
    DRV(cuMemcpyDtoH(q, out + 16, 8));
    DRV(cuMemcpyDtoH(chosen, out + 24, 8));
    EXPECT(v[0] == 0, "border: %g", v[0]);
    float want = (image[1][1] + image[1][2] + image[2][1] + image[2][2]) / 4; // 1.5 wraps to the middle
    EXPECT(v[1] == want, "smooth: %g, not %g", v[1], want);
    EXPECT(chosen[0] == image[0][1] && chosen[1] == want, "samplers in registers: %g %g", chosen[0], chosen[1]);
    EXPECT(v[2] == image[0][1], "texels: %g, not %g", v[2], image[0][1]);
    want = image[0][1]; // column 1's centre, row 0's
    EXPECT(v[3] == want, "parameters: %g, not %g", v[3], want);
    EXPECT(q[0] == 1 && q[1] == 1, "queries: %d %d", q[0], q[1]);
    DRV(cuTexObjectDestroy(object));
    DRV(cuTexObjectDestroy(sampler));
    DRV(cuModuleUnload(module));
}

__device__ unsigned kinds_of(unsigned long long handle)
{
    unsigned is;
    asm("{ .reg .pred t, s, u; .reg .b32 a, b, c; istypep.texref t, %1; istypep.surfref s, %1; istypep.samplerref u, %1;\n"
        "selp.u32 a, 1, 0, t; selp.u32 b, 2, 0, s; selp.u32 c, 4, 0, u; add.u32 a, a, b; add.u32 %0, a, c; }"
        : "=r"(is)
        : "l"(handle));
    return is;
}

// What is asked of a handle that only the launch knows, as a parameter and out of memory.
__global__ void ask_objects(CUtexObject texture, CUsurfObject surface, const unsigned long long *others, unsigned *out)
{
    out[0] = kinds_of(texture);
    out[1] = kinds_of(surface);
    for (int i = 0; i < 3; i++)
        out[2 + i] = kinds_of(others[i]);
}

static void try_objects(CUarray array)
{
    CUtexObject texture;
    CUsurfObject surface;
    CUarray row;
    CUdeviceptr memory;
    CUDA_ARRAY3D_DESCRIPTOR shape = { N, 0, 0, CU_AD_FORMAT_SIGNED_INT32, 1, CUDA_ARRAY3D_SURFACE_LDST };
    CUDA_RESOURCE_DESC resource = {}, target = {};
    CUDA_TEXTURE_DESC how = {};
    DRV(cuArray3DCreate(&row, &shape));
    resource.resType = target.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    target.res.array.hArray = row;
    DRV(cuTexObjectCreate(&texture, &resource, &how, NULL));
    DRV(cuSurfObjectCreate(&surface, &target));
    const unsigned long long others[3] = { surface, 0, texture };
    unsigned answers[5], want[5] = { 1, 2, 2, 0, 1 };
    DRV(cuMemAlloc(&memory, sizeof others + sizeof answers));
    DRV(cuMemcpyHtoD(memory, others, sizeof others));
    ask_objects<<<1, 1>>>(texture, surface, (const unsigned long long *)memory, (unsigned *)(memory + sizeof others));
    DRV(cuCtxSynchronize());
    DRV(cuMemcpyDtoH(answers, memory + sizeof others, sizeof answers));
    for (int i = 0; i < 5; i++)
        EXPECT(answers[i] == want[i], "kind of object %d: %u, not %u", i, answers[i], want[i]);
    DRV_ERR(cuTexObjectGetResourceDesc(&target, surface), CUDA_ERROR_INVALID_VALUE);
    DRV_ERR(cuSurfObjectGetResourceDesc(&target, texture), CUDA_ERROR_INVALID_VALUE);
    DRV(cuTexObjectDestroy(texture));
    DRV(cuSurfObjectDestroy(surface));
    DRV(cuArrayDestroy(row));
    DRV(cuMemFree(memory));
}

static void try_kinds(CUarray array)
{
    CUmodule module;
    CUfunction f;
    CUtexref texture;
    CUsurfref surface;
    CUarray row;
    CUdeviceptr out;
    unsigned answer = 0;
    CUDA_ARRAY3D_DESCRIPTOR shape = { N, 0, 0, CU_AD_FORMAT_SIGNED_INT32, 1, CUDA_ARRAY3D_SURFACE_LDST };
    DRV(cuModuleLoadData(&module, kinds));
    DRV(cuModuleGetFunction(&f, module, "ask"));
    DRV(cuModuleGetTexRef(&texture, module, "texture"));
    DRV(cuModuleGetSurfRef(&surface, module, "surface"));
    DRV(cuArray3DCreate(&row, &shape));
    DRV(cuTexRefSetArray(texture, array, CU_TRSA_OVERRIDE_FORMAT));
    DRV(cuSurfRefSetArray(surface, row, 0));
    DRV(cuMemAlloc(&out, 4));
    void *args[] = { &out };
    DRV(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
    DRV(cuCtxSynchronize());
    DRV(cuMemcpyDtoH(&answer, out, 4));
    EXPECT(answer == 1 + 8 + 16 + 64, "kinds: %u", answer);
    DRV(cuModuleUnload(module));
    DRV(cuArrayDestroy(row));
}

int main()
{
    CUdevice device;
    CUcontext context;
    CUarray array;
    DRV(cuInit(0));
    DRV(cuDeviceGet(&device, 0));
    DRV(cuDevicePrimaryCtxRetain(&context, device));
    DRV(cuCtxSetCurrent(context));
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            image[y][x] = (float)(y * 10 + x * x) + 0.5f;
    CUDA_ARRAY_DESCRIPTOR desc = { W, H, CU_AD_FORMAT_FLOAT, 1 };
    DRV(cuArrayCreate(&array, &desc));
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = image;
    copy.srcPitch = W * sizeof(float);
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array;
    copy.WidthInBytes = W * sizeof(float);
    copy.Height = H;
    DRV(cuMemcpy2D(&copy));
    try_unified(array);
    try_independent(array);
    try_kinds(array);
    try_objects(array);
    DRV(cuArrayDestroy(array));
    return check_done();
}
