/* Arrays over the real host device: shapes that are and are not, every kind of copy, mipmaps, and what a descriptor says. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "abi/cuda_util.h"

#define eq(a, b) cr_assert_eq((long long)(a), (long long)(b), "%s is %lld, not %s", #a, (long long)(a), #b)
#define ok(call) eq(call, CUDA_SUCCESS)

static CUcontext context;

static void start(void)
{
    setenv("ANYWARP_DEVICE", "host", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    ok(awcu_cuInit(0));
    ok(awcu_cuCtxCreate_v2(&context, 0, 0));
}

Test(array, shapes, .init = start)
{
    CUarray a;
    CUDA_ARRAY3D_DESCRIPTOR back, bad[] = {
        { 0, 0, 0, CU_AD_FORMAT_FLOAT, 1, 0 },        { 4, 0, 0, CU_AD_FORMAT_FLOAT, 3, 0 },
        { 4, 0, 0, (CUarray_format)7, 1, 0 },         { 4, 0, 4, CU_AD_FORMAT_FLOAT, 1, 0 },
        { 131073, 0, 0, CU_AD_FORMAT_FLOAT, 1, 0 },   { 4, 65537, 0, CU_AD_FORMAT_FLOAT, 1, 0 },
        { 4, 4, 0, CU_AD_FORMAT_FLOAT, 1, 1 }, { 4, 5, 6, CU_AD_FORMAT_FLOAT, 1, 4 }, { 4, 4, 5, CU_AD_FORMAT_FLOAT, 1, 4 },
        { 4, 4, 8, CU_AD_FORMAT_FLOAT, 1, 5 }, { SIZE_MAX, 1, 0, CU_AD_FORMAT_FLOAT, 1, 0 },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_eq(awcu_cuArray3DCreate_v2(&a, &bad[i]), CUDA_ERROR_INVALID_VALUE, "shape %zu", i);
    eq(awcu_cuArray3DCreate_v2(&a, &(CUDA_ARRAY3D_DESCRIPTOR){ 4, 4, 0, CU_AD_FORMAT_FLOAT, 1, 0x40 }), CUDA_ERROR_NOT_SUPPORTED);
    eq(awcu_cuArray3DCreate_v2(NULL, &(CUDA_ARRAY3D_DESCRIPTOR){ 4, 4, 0, CU_AD_FORMAT_FLOAT, 1, 0 }), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuArray3DCreate_v2(&a, NULL), CUDA_ERROR_INVALID_VALUE);
    CUDA_ARRAY3D_DESCRIPTOR good = { 5, 7, 3, CU_AD_FORMAT_SIGNED_INT16, 2, 2 };
    ok(awcu_cuArray3DCreate_v2(&a, &good));
    ok(awcu_cuArray3DGetDescriptor_v2(&back, a));
    eq(back.Width, 5);
    eq(back.Height, 7);
    eq(back.Depth, 3);
    eq(back.Format, CU_AD_FORMAT_SIGNED_INT16);
    eq(back.NumChannels, 2);
    eq(back.Flags, 2);
    CUDA_ARRAY_MEMORY_REQUIREMENTS needs;
    ok(awcu_cuArrayGetMemoryRequirements(&needs, a, 0));
    cr_assert_geq(needs.size, 5 * 7 * 3 * 4);
    eq(needs.alignment, 256);
    eq(awcu_cuArrayGetMemoryRequirements(NULL, a, 0), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuArrayGetSparseProperties((CUDA_ARRAY_SPARSE_PROPERTIES *)&needs, a), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuArray3DGetDescriptor_v2(NULL, a), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuArrayDestroy((CUarray)((char *)a + 16)), CUDA_ERROR_INVALID_HANDLE);
    eq(awcu_cuArrayDestroy(NULL), CUDA_ERROR_INVALID_HANDLE);
    ok(awcu_cuArrayDestroy(a));
    eq(awcu_cuArrayDestroy(a), CUDA_ERROR_INVALID_HANDLE);
    eq(awcu_cuArray3DGetDescriptor_v2(&back, a), CUDA_ERROR_INVALID_HANDLE);
}

Test(array, row_copies, .init = start)
{
    CUarray a, b;
    CUdeviceptr d;
    char in[100], out[100] = { 0 };
    for (int i = 0; i < 100; i++)
        in[i] = (char)(i + 1);
    CUDA_ARRAY_DESCRIPTOR desc = { 100, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1 };
    ok(awcu_cuArrayCreate_v2(&a, &desc));
    ok(awcu_cuArrayCreate_v2(&b, &desc));
    ok(awcu_cuMemAlloc_v2(&d, 100));
    ok(awcu_cuMemcpyHtoA_v2(a, 0, in, 100));
    ok(awcu_cuMemcpyAtoA_v2(b, 10, a, 0, 90));
    ok(awcu_cuMemcpyAtoD_v2(d, b, 10, 90));
    ok(awcu_cuMemcpyDtoA_v2(b, 0, d, 10));
    ok(awcu_cuMemcpyAtoH_v2(out, b, 0, 100));
    for (int i = 0; i < 100; i++)
        eq(out[i], i < 10 ? i + 1 : i - 9);
    ok(awcu_cuMemcpyHtoAAsync_v2(a, 50, in, 50, NULL));
    ok(awcu_cuMemcpyAtoHAsync_v2(out, a, 50, 50, NULL));
    ok(awcu_cuCtxSynchronize());
    cr_assert_arr_eq(out, in, 50);
    eq(awcu_cuMemcpyHtoA_v2(a, 51, in, 50), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuMemcpyHtoA_v2(a, SIZE_MAX, in, 2), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuMemcpyHtoA_v2((CUarray)in, 0, in, 2), CUDA_ERROR_INVALID_HANDLE);
    /* The memory behind an array is not the user's. */
    eq(awcu_cuMemFree_v2((CUdeviceptr)aw_array_from(a)->base), CUDA_ERROR_INVALID_VALUE);
}

/* A box of a 3D array, from host memory and back through another array. */
Test(array, boxes, .init = start)
{
    enum { W = 9, H = 6, D = 4 };
    CUarray a, b;
    static short in[D][H][W], out[D][H][W];
    for (int i = 0; i < D * H * W; i++)
        (&in[0][0][0])[i] = (short)(i * 5);
    CUDA_ARRAY3D_DESCRIPTOR desc = { W, H, D, CU_AD_FORMAT_SIGNED_INT16, 1, 0 };
    ok(awcu_cuArray3DCreate_v2(&a, &desc));
    ok(awcu_cuArray3DCreate_v2(&b, &desc));
    CUDA_MEMCPY3D up = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = in, .srcPitch = W * 2, .srcHeight = H,
                         .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = a, .WidthInBytes = W * 2, .Height = H, .Depth = D };
    CUDA_MEMCPY3D over = { .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = a, .srcXInBytes = 2, .srcY = 1, .srcZ = 1,
                           .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = b, .WidthInBytes = 14, .Height = 4, .Depth = 3 };
    CUDA_MEMCPY3D down = { .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = b, .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = out,
                           .dstPitch = W * 2, .dstHeight = H, .WidthInBytes = 14, .Height = 4, .Depth = 3 };
    ok(awcu_cuMemcpy3D_v2(&up));
    ok(awcu_cuMemcpy3D_v2(&over));
    ok(awcu_cuMemcpy3D_v2(&down));
    for (int z = 0; z < D; z++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++)
                eq(out[z][y][x], z < 3 && y < 4 && x < 7 ? in[z + 1][y + 1][x + 1] : 0);
    over.srcZ = 2;
    eq(awcu_cuMemcpy3D_v2(&over), CUDA_ERROR_INVALID_VALUE);
    over.srcZ = 1;
    over.srcLOD = 1;
    eq(awcu_cuMemcpy3D_v2(&over), CUDA_ERROR_INVALID_VALUE);
    CUDA_MEMCPY2D plane = { .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = a, .srcXInBytes = 4, .srcY = 5,
                            .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = out, .dstPitch = 6, .WidthInBytes = 6, .Height = 1 };
    ok(awcu_cuMemcpy2D_v2(&plane));
    cr_assert_arr_eq(out, &in[0][5][2], 6);
    plane.Height = 2;
    eq(awcu_cuMemcpy2D_v2(&plane), CUDA_ERROR_INVALID_VALUE);
    /* A node tells its copy as it was described, arrays too. */
    CUgraph graph;
    CUgraphNode node;
    CUDA_MEMCPY3D told;
    over.srcLOD = 0;
    ok(awcu_cuGraphCreate(&graph, 0));
    ok(awcu_cuGraphAddMemcpyNode(&node, graph, NULL, 0, &over, context));
    ok(awcu_cuGraphMemcpyNodeGetParams(node, &told));
    eq(told.srcMemoryType, CU_MEMORYTYPE_ARRAY);
    eq((uintptr_t)told.srcArray, (uintptr_t)a);
    eq((uintptr_t)told.dstArray, (uintptr_t)b);
    eq(told.srcXInBytes, 2);
    eq(told.Depth, 3);
    ok(awcu_cuGraphDestroy(graph));
}

Test(array, mipmaps, .init = start)
{
    CUmipmappedArray m;
    CUarray level, again;
    CUDA_ARRAY3D_DESCRIPTOR desc = { 20, 9, 0, CU_AD_FORMAT_FLOAT, 4, 0 }, got;
    ok(awcu_cuMipmappedArrayCreate(&m, &desc, 40));
    static const size_t widths[] = { 20, 10, 5, 2, 1 }, heights[] = { 9, 4, 2, 1, 1 };
    for (unsigned i = 0; i < 5; i++) {
        ok(awcu_cuMipmappedArrayGetLevel(&level, m, i));
        ok(awcu_cuMipmappedArrayGetLevel(&again, m, i));
        eq((uintptr_t)level, (uintptr_t)again);
        ok(awcu_cuArray3DGetDescriptor_v2(&got, level));
        eq(got.Width, widths[i]);
        eq(got.Height, heights[i]);
        eq(awcu_cuArrayDestroy(level), CUDA_ERROR_INVALID_HANDLE);
    }
    eq(awcu_cuMipmappedArrayGetLevel(&level, m, 5), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuMipmappedArrayCreate(&m, &desc, 0), CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuMipmappedArrayDestroy(m));
    eq(awcu_cuMipmappedArrayDestroy(m), CUDA_ERROR_INVALID_HANDLE);
    eq(awcu_cuArray3DGetDescriptor_v2(&got, level), CUDA_ERROR_INVALID_HANDLE);
}

/* All that was made in a context ends with it. */
Test(array, context_end, .init = start)
{
    CUarray a;
    CUmipmappedArray m;
    CUDA_ARRAY3D_DESCRIPTOR desc = { 20, 9, 0, CU_AD_FORMAT_FLOAT, 4, 0 };
    ok(awcu_cuArray3DCreate_v2(&a, &desc));
    ok(awcu_cuMipmappedArrayCreate(&m, &desc, 3));
    ok(awcu_cuCtxDestroy_v2(context));
    cr_assert_null(aw_array_from(a));
    cr_assert_null(aw_mipmap_from(m));
}

/* ---- Descriptors */

static struct aw_tex_info info_of(CUarray array, unsigned flags)
{
    struct aw_tex_info info = { .kind = AW_TEXTURE,
                                .resource = { .type = AW_RESOURCE_ARRAY, .array = (struct aw_array *)array } };
    info.sampler.flags = flags;
    return info;
}

Test(array, descriptor, .init = start)
{
    CUarray a;
    struct aw_texture d;
    CUDA_ARRAY3D_DESCRIPTOR desc = { 16, 8, 4, CU_AD_FORMAT_UNSIGNED_INT8, 4, AW_ARRAY_LAYERED };
    ok(awcu_cuArray3DCreate_v2(&a, &desc));
    struct aw_tex_info info = info_of(a, AW_TEX_NORMALIZED | AW_TEX_SRGB);
    info.sampler.address[0] = AW_ADDRESS_WRAP;
    info.sampler.address[1] = AW_ADDRESS_BORDER;
    info.sampler.address[2] = AW_ADDRESS_MIRROR;
    info.sampler.filter = 1;
    eq(aw_texture_describe(&info, &d), AW_OK);
    eq(d.format, 2 | 0 << AW_TEXEL_CHANNEL_SHIFT | 4 << AW_TEXEL_CHANNELS_SHIFT | AW_TEXEL_NORMALIZED | AW_TEXEL_SRGB);
    eq(d.sampler, 0 | 3 << 2 | 2 << 4 | AW_SAMPLER_LINEAR | AW_SAMPLER_NORMALIZED);
    eq(d.layers, 4);
    eq(d.levels, 1);
    eq(d.level[0].base, aw_array_from(a)->base);
    eq(d.level[0].width, 16);
    eq(d.level[0].depth, 4);
    /* Without normalised coordinates wrapping and mirroring clamp. */
    info.sampler.flags = 0;
    eq(aw_texture_describe(&info, &d), AW_OK);
    eq(d.sampler, 1 | 3 << 2 | 1 << 4 | AW_SAMPLER_LINEAR);
    /* Integers are not filtered, whoever asks. */
    info.sampler.flags = AW_TEX_READ_INTEGER;
    eq(aw_texture_describe(&info, &d), AW_OK);
    eq(d.sampler, 1 | 3 << 2 | 1 << 4);
    info.sampler.filter = 0;
    eq(aw_texture_describe(&info, &d), AW_OK);
    info.sampler.flags = 4;
    eq(aw_texture_describe(&info, &d), AW_ERR_INVALID_VALUE);
    info.sampler.flags = 0;
    info.kind = AW_SURFACE; /* the array is not made for it, which CUDA takes */
    eq(aw_texture_describe(&info, &d), AW_OK);
    info.kind = AW_TEXTURE;
    info.resource.array = (struct aw_array *)&info;
    eq(aw_texture_describe(&info, &d), AW_ERR_INVALID_HANDLE);
}

Test(array, views, .init = start)
{
    CUarray a;
    struct aw_texture d;
    CUDA_ARRAY3D_DESCRIPTOR desc = { 16, 8, 4, CU_AD_FORMAT_UNSIGNED_INT8, 4, AW_ARRAY_LAYERED };
    ok(awcu_cuArray3DCreate_v2(&a, &desc));
    struct aw_tex_info info = info_of(a, 0);
    info.has_view = true;
    info.view = (struct aw_tex_view){ .format = 0x16, .first_layer = 1, .last_layer = 2 }; /* one float */
    eq(aw_texture_describe(&info, &d), AW_OK);
    eq(d.format, 2 | 2 << AW_TEXEL_CHANNEL_SHIFT | 1 << AW_TEXEL_CHANNELS_SHIFT | AW_TEXEL_FLOAT);
    eq(d.layers, 2);
    eq(d.level[0].base, aw_array_from(a)->base + aw_array_from(a)->slice);
    info.view.format = 0x13; /* one half: of another size */
    eq(aw_texture_describe(&info, &d), AW_ERR_INVALID_VALUE);
    info.view.format = 0x19; /* blocks: of words of 32 bits */
    eq(aw_texture_describe(&info, &d), AW_ERR_INVALID_VALUE);
    info.view = (struct aw_tex_view){ .first_layer = 3, .last_layer = 4 };
    eq(aw_texture_describe(&info, &d), AW_ERR_INVALID_VALUE);
    info.view = (struct aw_tex_view){ .last_level = 1 };
    eq(aw_texture_describe(&info, &d), AW_ERR_INVALID_VALUE);
}

Test(array, block_views, .init = start)
{
    CUarray a;
    struct aw_texture d;
    CUDA_ARRAY3D_DESCRIPTOR desc = { 5, 3, 0, CU_AD_FORMAT_UNSIGNED_INT32, 4, 0 };
    ok(awcu_cuArray3DCreate_v2(&a, &desc));
    struct aw_tex_info info = info_of(a, 0);
    info.has_view = true;
    info.view = (struct aw_tex_view){ .format = 0x21, .width = 18, .height = 12 }; /* BC6H, signed */
    eq(aw_texture_describe(&info, &d), AW_OK);
    eq(d.format, 4 | 2 << AW_TEXEL_CHANNEL_SHIFT | 3 << AW_TEXEL_CHANNELS_SHIFT | AW_TEXEL_FLOAT | AW_TEXEL_SIGNED |
                     6 << AW_TEXEL_BLOCK_SHIFT);
    eq(d.level[0].width, 18);
    eq(d.level[0].height, 12);
    eq(d.level[0].pitch, aw_array_from(a)->pitch);
    static const struct aw_tex_view bad[] = {
        { .format = 0x22, .width = 21, .height = 12 },       { .format = 0x22, .width = 16, .height = 12 },
        { .format = 0x22, .width = 20, .height = 13 },       { .format = 0x22 },
        { .format = 0x22, .width = SIZE_MAX, .height = 12 }, { .format = 0x19, .width = 20, .height = 12 },
        { .format = 0x23, .width = 20, .height = 12 },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        info.view = bad[i];
        cr_expect_eq(aw_texture_describe(&info, &d), AW_ERR_INVALID_VALUE, "view %zu", i);
    }
}

Test(array, blocks, .init = start)
{
    CUarray a;
    struct aw_texture d;
    uintptr_t at;
    CUDA_ARRAY3D_DESCRIPTOR desc = { 18, 11, 0, (CUarray_format)0x92, 4, 0 }, back; /* BC1, sRGB */
    ok(awcu_cuArray3DCreate_v2(&a, &desc));
    ok(awcu_cuArray3DGetDescriptor_v2(&back, a));
    eq(back.Width, 18);
    eq((int)back.Format, 0x92);
    const struct aw_array *array = aw_array_from(a);
    eq(aw_array_box(array, 0, 0, 0, 5 * 8, 3, 1, &at), AW_OK); /* five blocks, three rows of them */
    eq(aw_array_box(array, 0, 0, 0, 5 * 8 + 1, 3, 1, &at), AW_ERR_INVALID_VALUE);
    eq(aw_array_box(array, 0, 1, 0, 5 * 8, 3, 1, &at), AW_ERR_INVALID_VALUE);
    struct aw_tex_info info = info_of(a, 0);
    eq(aw_texture_describe(&info, &d), AW_OK);
    eq(d.format, 3 | 2 << AW_TEXEL_CHANNEL_SHIFT | 4 << AW_TEXEL_CHANNELS_SHIFT | AW_TEXEL_NORMALIZED | AW_TEXEL_SRGB |
                     1 << AW_TEXEL_BLOCK_SHIFT);
    eq(d.level[0].width, 18);
    eq(d.level[0].height, 11);
    eq(d.data_type, 0x92);
    info.has_view = true;
    info.view = (struct aw_tex_view){ .format = 0x0e, .width = 5, .height = 3 }; /* two words: no view of blocks */
    eq(aw_texture_describe(&info, &d), AW_ERR_INVALID_VALUE);
    static const CUDA_ARRAY3D_DESCRIPTOR bad[] = {
        { 16, 16, 0, (CUarray_format)0x91, 2, 0 },
        { 16, 0, 0, (CUarray_format)0x91, 4, 0 },
        { 16, 16, 0, (CUarray_format)0x91, 4, AW_ARRAY_SURFACE },
        { 16, 16, 0, (CUarray_format)0x90, 4, 0 },
        { 16, 16, 0, (CUarray_format)0x9f, 4, 0 },
        { 16, 16, 0, (CUarray_format)0x9b, 4, 0 },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_eq(awcu_cuArray3DCreate_v2(&a, &bad[i]), CUDA_ERROR_INVALID_VALUE, "shape %zu", i);
}

Test(array, linear_textures, .init = start)
{
    CUdeviceptr memory;
    CUtexObject t;
    CUDA_RESOURCE_DESC resource = { .resType = CU_RESOURCE_TYPE_LINEAR }, back;
    CUDA_TEXTURE_DESC how = { .filterMode = CU_TR_FILTER_MODE_POINT };
    ok(awcu_cuMemAlloc_v2(&memory, 4096));
    resource.res.linear.devPtr = memory;
    resource.res.linear.format = CU_AD_FORMAT_FLOAT;
    resource.res.linear.numChannels = 4;
    resource.res.linear.sizeInBytes = 4096;
    ok(awcu_cuTexObjectCreate(&t, &resource, &how, NULL));
    ok(awcu_cuTexObjectGetResourceDesc(&back, t));
    eq(back.res.linear.devPtr, memory);
    eq(awcu_cuTexObjectGetResourceViewDesc(&(CUDA_RESOURCE_VIEW_DESC){ 0 }, t), CUDA_ERROR_INVALID_VALUE);
    ok(awcu_cuSurfObjectDestroy(t)); /* which it is not */
    ok(awcu_cuTexObjectDestroy(t));
    ok(awcu_cuTexObjectDestroy(t));
    resource.res.linear.devPtr = memory + 4;
    eq(awcu_cuTexObjectCreate(&t, &resource, &how, NULL), CUDA_ERROR_INVALID_VALUE);
    resource.res.linear.devPtr = memory;
    resource.res.linear.sizeInBytes = 15;
    eq(awcu_cuTexObjectCreate(&t, &resource, &how, NULL), CUDA_ERROR_INVALID_VALUE);
    resource.resType = (CUresourcetype)9;
    eq(awcu_cuTexObjectCreate(&t, &resource, &how, NULL), CUDA_ERROR_INVALID_VALUE);
    eq(awcu_cuTexObjectCreate(&t, NULL, &how, NULL), CUDA_ERROR_INVALID_VALUE);
}

/* Copies with arrays as nodes of a graph, built by hand and captured. */
Test(array, graphs, .init = start)
{
    CUarray a;
    CUgraph graph, captured;
    CUgraphNode node;
    CUgraphExec exec;
    CUstream stream;
    void *out;
    int in[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    CUDA_ARRAY_DESCRIPTOR desc = { 4, 2, CU_AD_FORMAT_SIGNED_INT32, 1 };
    ok(awcu_cuArrayCreate_v2(&a, &desc));
    ok(awcu_cuMemHostAlloc(&out, sizeof in, 0));
    CUDA_MEMCPY3D up = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = in, .srcPitch = 16, .srcHeight = 2,
                         .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = a, .WidthInBytes = 16, .Height = 2, .Depth = 1 };
    ok(awcu_cuGraphCreate(&graph, 0));
    ok(awcu_cuGraphAddMemcpyNode(&node, graph, NULL, 0, &up, context));
    ok(awcu_cuGraphInstantiateWithFlags(&exec, graph, 0));
    in[5] = 60; /* read when the graph runs */
    ok(awcu_cuGraphLaunch(exec, NULL));
    ok(awcu_cuCtxSynchronize());
    CUDA_MEMCPY2D down = { .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = a, .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = out,
                           .dstPitch = 16, .WidthInBytes = 16, .Height = 2 };
    ok(awcu_cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ok(awcu_cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(awcu_cuMemcpy2DAsync_v2(&down, stream));
    ok(awcu_cuStreamEndCapture(stream, &captured));
    ok(awcu_cuGraphInstantiateWithFlags(&exec, captured, 0));
    ok(awcu_cuGraphLaunch(exec, stream));
    ok(awcu_cuStreamSynchronize(stream));
    for (int i = 0; i < 8; i++)
        eq(((int *)out)[i], i == 5 ? 60 : i + 1);
}
