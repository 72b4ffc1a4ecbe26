// Depth comparison in fetches: the operand of tex and tld4 that compares each element before it is filtered.  nvcc has no
// function for it, so the kernels are PTX; the expected values are computed here.  And integers whose filter is linear, which the
// runtime refuses and the driver does not: the nearest one is read.
// link: -lcuda
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <cuda.h>

#include <cmath>
#include <cstring>

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

// Each thread has four floats of input (x, y, layer, depth) and eight of output: filtered in a plane, a point of a layer, a
// gather.
static const char text[] = R"(
.version 6.0
.target sm_60
.address_size 64
.visible .entry compare(.param .u64 smooth, .param .u64 layers, .param .u64 in, .param .u64 out)
{
    .reg .f32 %f<24>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .b16 %h<5>;
    ld.param.u64 %rd1, [smooth];
    ld.param.u64 %rd2, [layers];
    ld.param.u64 %rd3, [in];
    ld.param.u64 %rd4, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd5, %r1, 16;
    add.u64 %rd3, %rd3, %rd5;
    mul.wide.u32 %rd5, %r1, 48;
    add.u64 %rd4, %rd4, %rd5;
    ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%rd3];
    cvt.rzi.u32.f32 %r2, %f2;
    tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd1, {%f0, %f1}], %f3;
    st.global.v4.f32 [%rd4], {%f4, %f5, %f6, %f7};
    tex.a2d.v4.f16.f32 {%h1, %h2, %h3, %h4}, [%rd2, {%r2, %f0, %f1, %f1}], {1, -1}, %f3;
    cvt.f32.f16 %f8, %h1;
    st.global.f32 [%rd4+16], %f8;
    tex.level.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd1, {%f0, %f1}], 0f00000000, 0f40a00000;
    st.global.f32 [%rd4+20], %f4;
    tld4.r.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd1, {%f0, %f1}], %f3;
    st.global.v4.f32 [%rd4+32], {%f4, %f5, %f6, %f7};
    ret;
}
.visible .entry whole(.param .u64 bytes, .param .u64 in, .param .u64 out)
{
    .reg .f32 %f<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [bytes];
    ld.param.u64 %rd3, [in];
    ld.param.u64 %rd4, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd5, %r1, 16;
    add.u64 %rd3, %rd3, %rd5;
    mul.wide.u32 %rd5, %r1, 4;
    add.u64 %rd4, %rd4, %rd5;
    ld.global.v2.f32 {%f0, %f1}, [%rd3];
    tex.2d.v4.u32.f32 {%r2, %r3, %r4, %r5}, [%rd1, {%f0, %f1}];
    st.global.u32 [%rd4], %r2;
    ret;
}
)";

static const int W = 8, H = 4, LAYERS = 3, N = 96;
static float plane[H][W], layers[LAYERS][H][W];

// The element after comparison; outside of the plane its border of 3, of the layers the nearest.
static float passes(float depth, int x, int y, int layer)
{
    if (layer < 0 && (x < 0 || x >= W || y < 0 || y >= H))
        return depth <= 3;
    x = x < 0 ? 0 : x >= W ? W - 1 : x;
    y = y < 0 ? 0 : y >= H ? H - 1 : y;
    return depth <= (layer < 0 ? plane[y][x] : layers[layer][y][x]);
}

static float filtered(float depth, float x, float y)
{
    int fx = (int)floorf(fmaf(x, 256, -127.5f)), fy = (int)floorf(fmaf(y, 256, -127.5f)), ix = fx >> 8, iy = fy >> 8;
    float wx = (float)(fx & 255) / 256, wy = (float)(fy & 255) / 256, sum = 0;
    for (int k = 0; k < 4; k++) {
        float weight = (k & 1 ? wx : 1 - wx) * (k & 2 ? wy : 1 - wy);
        sum = fmaf(weight, passes(depth, ix + (k & 1), iy + (k >> 1), -1), sum);
    }
    return sum;
}

static CUarray array_of(const void *data, int depth, unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR shape = { W, H, (size_t)depth, CU_AD_FORMAT_FLOAT, 1, flags };
    CUDA_MEMCPY3D copy;
    CUarray array;
    DRV(cuArray3DCreate(&array, &shape));
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = data;
    copy.srcPitch = W * sizeof(float);
    copy.srcHeight = H;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array;
    copy.WidthInBytes = W * sizeof(float);
    copy.Height = H;
    copy.Depth = depth ? depth : 1;
    DRV(cuMemcpy3D(&copy));
    return array;
}

static CUtexObject texture_of(CUarray array, CUaddress_mode mode, CUfilter_mode filter)
{
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC how;
    CUtexObject object;
    memset(&resource, 0, sizeof resource);
    memset(&how, 0, sizeof how);
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = mode;
    how.filterMode = filter;
    how.borderColor[0] = 3;
    how.borderColor[3] = 1;
    DRV(cuTexObjectCreate(&object, &resource, &how, NULL));
    return object;
}

// Bytes in rows, as integers, with a linear filter and the edge's beyond it.
static void try_integers(CUmodule module, CUdeviceptr in, const float given[N][4])
{
    static const unsigned PITCH = 512;
    static unsigned char bytes[H * PITCH];
    unsigned got[N];
    CUdeviceptr rows, out;
    CUtexObject object;
    CUfunction f;
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC how;
    memset(&resource, 0, sizeof resource);
    memset(&how, 0, sizeof how);
    for (int i = 0; i < H * W; i++)
        bytes[i / W * PITCH + i % W] = (unsigned char)(i * 71 + 9);
    DRV(cuMemAlloc(&rows, sizeof bytes));
    DRV(cuMemAlloc(&out, sizeof got));
    DRV(cuMemcpyHtoD(rows, bytes, sizeof bytes));
    resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    resource.res.pitch2D.devPtr = rows;
    resource.res.pitch2D.format = CU_AD_FORMAT_UNSIGNED_INT8;
    resource.res.pitch2D.numChannels = 1;
    resource.res.pitch2D.width = W;
    resource.res.pitch2D.height = H;
    resource.res.pitch2D.pitchInBytes = PITCH;
    how.addressMode[0] = how.addressMode[1] = CU_TR_ADDRESS_MODE_CLAMP;
    how.filterMode = CU_TR_FILTER_MODE_LINEAR;
    how.flags = CU_TRSF_READ_AS_INTEGER;
    DRV(cuTexObjectCreate(&object, &resource, &how, NULL));
    DRV(cuModuleGetFunction(&f, module, "whole"));
    void *args[] = { &object, &in, &out };
    DRV(cuLaunchKernel(f, 1, 1, 1, N, 1, 1, 0, NULL, args, NULL));
    DRV(cuMemcpyDtoH(got, out, sizeof got));
    for (int i = 0; i < N; i++) {
        int x = (int)floorf(given[i][0]), y = (int)floorf(given[i][1]);
        x = x < 0 ? 0 : x >= W ? W - 1 : x;
        y = y < 0 ? 0 : y >= H ? H - 1 : y;
        EXPECT(got[i] == bytes[y * PITCH + x], "%d: integer %u, not %u", i, got[i], bytes[y * PITCH + x]);
    }
}

int main()
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction f;
    CUdeviceptr in, out;
    static float given[N][4], got[N][12];
    DRV(cuInit(0));
    DRV(cuDeviceGet(&device, 0));
    DRV(cuDevicePrimaryCtxRetain(&context, device));
    DRV(cuCtxSetCurrent(context));
    for (int i = 0; i < LAYERS * H * W; i++) {
        (&layers[0][0][0])[i] = (float)(i * 7 % 11);
        if (i < H * W)
            (&plane[0][0])[i] = (float)(i * 5 % 13);
    }
    plane[1][2] = NAN; // never passes
    for (int i = 0; i < N; i++) {
        given[i][0] = (float)(i * 37 % 160) / 16 - 1;
        given[i][1] = (float)(i * 23 % 96) / 16 - 1;
        given[i][2] = (float)(i % LAYERS);
        given[i][3] = i == 50 ? NAN : (float)(i % 12);
    }
    CUtexObject smooth = texture_of(array_of(plane, 0, CUDA_ARRAY3D_DEPTH_TEXTURE), CU_TR_ADDRESS_MODE_BORDER,
                                    CU_TR_FILTER_MODE_LINEAR);
    CUtexObject point = texture_of(array_of(layers, LAYERS, CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_DEPTH_TEXTURE),
                                   CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT);
    DRV(cuMemAlloc(&in, sizeof given));
    DRV(cuMemAlloc(&out, sizeof got));
    DRV(cuMemcpyHtoD(in, given, sizeof given));
    DRV(cuModuleLoadData(&module, text));
    DRV(cuModuleGetFunction(&f, module, "compare"));
    void *args[] = { &smooth, &point, &in, &out };
    DRV(cuLaunchKernel(f, 1, 1, 1, N, 1, 1, 0, NULL, args, NULL));
    DRV(cuMemcpyDtoH(got, out, sizeof got));
    for (int i = 0; i < N; i++) {
        float x = given[i][0], y = given[i][1], depth = given[i][3], want = filtered(depth, x, y);
        EXPECT(got[i][0] == want && got[i][1] == 0 && got[i][2] == 0 && got[i][3] == 1, "%d: filtered %g %g %g %g, not %g 0 0 1",
               i, got[i][0], got[i][1], got[i][2], got[i][3], want);
        want = passes(depth, (int)floorf(x) + 1, (int)floorf(y) - 1, (int)given[i][2]);
        EXPECT(got[i][4] == want, "%d: layer %g, not %g", i, got[i][4], want);
        want = filtered(5, x, y);
        EXPECT(got[i][5] == want, "%d: constant depth %g, not %g", i, got[i][5], want);
        int ix = (int)floorf(fmaf(x, 256, -127.5f)) >> 8, iy = (int)floorf(fmaf(y, 256, -127.5f)) >> 8;
        static const int dx[4] = { 0, 1, 1, 0 }, dy[4] = { 1, 1, 0, 0 };
        for (int k = 0; k < 4; k++) {
            want = passes(depth, ix + dx[k], iy + dy[k], -1);
            EXPECT(got[i][8 + k] == want, "%d: gathered[%d] %g, not %g", i, k, got[i][8 + k], want);
        }
    }
    try_integers(module, in, given);
    return check_done();
}
