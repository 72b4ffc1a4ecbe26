/* Runtime API of CUDA 11: texture and surface references.  A reference is a structure of the program, registered beside the
 * module's variable of the same name; what it says is read when something is bound to it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/cudart_array.h"

/* The core's reference behind a registered structure, and whether its texture reads integers as fractions. */
static cudaError_t ref_find(const void *host, enum aw_texture_kind kind, struct aw_texref **ret_ref, bool *ret_normalized)
{
    struct aw_ctx *ctx;
    uintptr_t cell;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (status)
        return aw_rt_error(status);
    if (aw_registry_reference(ctx, host, kind == AW_TEXTURE ? AW_REGISTERED_TEXTURE : AW_REGISTERED_SURFACE, &cell,
                              ret_normalized))
        return kind == AW_TEXTURE ? cudaErrorInvalidTexture : cudaErrorInvalidSurface;
    return aw_rt_error(aw_texref_get(ctx, kind, cell, AW_SAMPLER_OF_REFERENCE, ret_ref));
}

static struct aw_tex_sampler sampler_read(const textureReference *t, bool normalized_read)
{
    struct aw_tex_sampler s = { .filter = t->filterMode, .mip_filter = t->mipmapFilterMode, .max_anisotropy = t->maxAnisotropy,
                                .lod_bias = t->mipmapLevelBias, .lod_min = t->minMipmapLevelClamp,
                                .lod_max = t->maxMipmapLevelClamp };
    for (int i = 0; i < 3; i++)
        s.address[i] = t->addressMode[i];
    s.flags = (normalized_read ? 0u : AW_TEX_READ_INTEGER) | (t->normalized ? AW_TEX_NORMALIZED : 0u) |
              (t->sRGB ? AW_TEX_SRGB : 0u) | (t->disableTrilinearOptimization ? AW_TEX_NO_TRILINEAR : 0u);
    return s;
}

/* Binds `resource`; `desc` gives the format of memory, and must be there for it. */
static cudaError_t bind(const textureReference *texref, struct aw_tex_resource *resource, const cudaChannelFormatDesc *desc)
{
    struct aw_texref *ref;
    bool normalized;
    if (!texref)
        return cudaErrorInvalidTexture;
    if (!desc)
        return cudaErrorInvalidValue;
    cudaError_t error = ref_find(texref, AW_TEXTURE, &ref, &normalized);
    if (error)
        return error;
    if (!aw_rt_format(desc, &resource->format, &resource->channels))
        return cudaErrorInvalidChannelDescriptor;
    struct aw_tex_info info = { .kind = AW_TEXTURE, .resource = *resource, .sampler = sampler_read(texref, normalized) };
    return aw_rt_error(aw_texref_set(ref, &info, true));
}

/* Any element may be the first one: the offset to apply is always 0. */
cudaError_t awrt_cudaBindTexture(size_t *offset, const textureReference *texref, const void *devPtr,
                                 const cudaChannelFormatDesc *desc, size_t size)
{
    struct aw_tex_resource resource = { .type = AW_RESOURCE_LINEAR, .address = (uintptr_t)devPtr, .bytes = size };
    struct aw_mem mem;
    if (devPtr && aw_mem_find((uintptr_t)devPtr, &mem) && size > mem.size - ((uintptr_t)devPtr - mem.base))
        resource.bytes = mem.size - ((uintptr_t)devPtr - mem.base); /* UINT_MAX where a program does not say */
    cudaError_t error = bind(texref, &resource, desc);
    if (!error && offset)
        *offset = 0;
    return error;
}

cudaError_t awrt_cudaBindTexture2D(size_t *offset, const textureReference *texref, const void *devPtr,
                                   const cudaChannelFormatDesc *desc, size_t width, size_t height, size_t pitch)
{
    struct aw_tex_resource resource = {
        .type = AW_RESOURCE_PITCH2D, .address = (uintptr_t)devPtr, .width = width, .height = height, .pitch = pitch
    };
    cudaError_t error = bind(texref, &resource, desc);
    if (!error && offset)
        *offset = 0;
    return error;
}

cudaError_t awrt_cudaBindTextureToArray(const textureReference *texref, cudaArray_const_t array,
                                        const cudaChannelFormatDesc *desc)
{
    struct aw_tex_resource resource = { .type = AW_RESOURCE_ARRAY, .array = (struct aw_array *)(uintptr_t)array };
    return bind(texref, &resource, desc);
}

cudaError_t awrt_cudaBindTextureToMipmappedArray(const textureReference *texref, cudaMipmappedArray_const_t mipmappedArray,
                                                 const cudaChannelFormatDesc *desc)
{
    struct aw_tex_resource resource = { .type = AW_RESOURCE_MIPMAP, .mipmap = (struct aw_mipmap *)(uintptr_t)mipmappedArray };
    return bind(texref, &resource, desc);
}

cudaError_t awrt_cudaUnbindTexture(const textureReference *texref)
{
    struct aw_texref *ref;
    bool normalized;
    cudaError_t error = texref ? ref_find(texref, AW_TEXTURE, &ref, &normalized) : cudaErrorInvalidTexture;
    return error ? error : aw_rt_error(aw_texref_set(ref, &ref->info, false));
}

cudaError_t awrt_cudaGetTextureAlignmentOffset(size_t *offset, const textureReference *texref)
{
    struct aw_texref *ref;
    bool normalized;
    if (!offset)
        return cudaErrorInvalidValue;
    cudaError_t error = texref ? ref_find(texref, AW_TEXTURE, &ref, &normalized) : cudaErrorInvalidTexture;
    if (error)
        return error;
    if (!ref->bound)
        return cudaErrorInvalidTextureBinding;
    *offset = 0;
    return cudaSuccess;
}

/* The symbol is the structure itself. */
cudaError_t awrt_cudaGetTextureReference(const textureReference **texref, const void *symbol)
{
    struct aw_texref *ref;
    bool normalized;
    cudaError_t error = texref ? ref_find(symbol, AW_TEXTURE, &ref, &normalized) : cudaErrorInvalidValue;
    if (!error)
        *texref = symbol;
    return error;
}

cudaError_t awrt_cudaBindSurfaceToArray(const surfaceReference *surfref, cudaArray_const_t array,
                                        const cudaChannelFormatDesc *desc)
{
    struct aw_texref *ref;
    bool normalized;
    if (!surfref || !desc)
        return surfref ? cudaErrorInvalidValue : cudaErrorInvalidSurface;
    cudaError_t error = ref_find(surfref, AW_SURFACE, &ref, &normalized);
    if (error)
        return error;
    struct aw_tex_info info = { .kind = AW_SURFACE, .resource = { .type = AW_RESOURCE_ARRAY,
                                                                  .array = (struct aw_array *)(uintptr_t)array } };
    return aw_rt_error(aw_texref_set(ref, &info, true));
}

cudaError_t awrt_cudaGetSurfaceReference(const surfaceReference **surfref, const void *symbol)
{
    struct aw_texref *ref;
    bool normalized;
    cudaError_t error = surfref ? ref_find(symbol, AW_SURFACE, &ref, &normalized) : cudaErrorInvalidValue;
    if (!error)
        *surfref = symbol;
    return error;
}
