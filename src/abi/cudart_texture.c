/* Runtime API: texture and surface objects.  CUDA 11's texture description ends one field earlier than later ones, its resource
 * description is smaller than 13's: bodies for those end in _v11 and _v13. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/cudart_array.h"

#include <stddef.h>
#include <string.h>

enum { TEXTURE_DESC_V11 = offsetof(cudaTextureDesc, seamlessCubemap) };

/* ---- Descriptions between the runtime's structures and the core's */

static cudaError_t resource_read(const cudaResourceDesc *desc, struct aw_tex_resource *ret)
{
    const cudaChannelFormatDesc *format = NULL;
    *ret = (struct aw_tex_resource){ .type = (enum aw_resource_type)desc->resType };
    switch (desc->resType) {
    case cudaResourceTypeArray:
        ret->array = (struct aw_array *)desc->res.array.array;
        break;
    case cudaResourceTypeMipmappedArray:
        ret->mipmap = (struct aw_mipmap *)desc->res.mipmap.mipmap;
        break;
    case cudaResourceTypeLinear:
        format = &desc->res.linear.desc;
        ret->address = (uintptr_t)desc->res.linear.devPtr;
        ret->bytes = desc->res.linear.sizeInBytes;
        break;
    case cudaResourceTypePitch2D:
        format = &desc->res.pitch2D.desc;
        ret->address = (uintptr_t)desc->res.pitch2D.devPtr;
        ret->width = desc->res.pitch2D.width;
        ret->height = desc->res.pitch2D.height;
        ret->pitch = desc->res.pitch2D.pitchInBytes;
        break;
    default:
        return cudaErrorInvalidValue;
    }
    return !format || aw_rt_format(format, &ret->format, &ret->channels) ? cudaSuccess : cudaErrorInvalidChannelDescriptor;
}

static void resource_write(const struct aw_tex_resource *r, cudaResourceDesc *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->resType = (cudaResourceType)r->type;
    switch (r->type) {
    case AW_RESOURCE_ARRAY:
        ret->res.array.array = (cudaArray_t)r->array;
        break;
    case AW_RESOURCE_MIPMAP:
        ret->res.mipmap.mipmap = (cudaMipmappedArray_t)r->mipmap;
        break;
    case AW_RESOURCE_LINEAR:
        ret->res.linear.devPtr = (void *)r->address;
        ret->res.linear.desc = aw_rt_channel_desc(r->format, r->channels);
        ret->res.linear.sizeInBytes = r->bytes;
        break;
    case AW_RESOURCE_PITCH2D:
        ret->res.pitch2D.devPtr = (void *)r->address;
        ret->res.pitch2D.desc = aw_rt_channel_desc(r->format, r->channels);
        ret->res.pitch2D.width = r->width;
        ret->res.pitch2D.height = r->height;
        ret->res.pitch2D.pitchInBytes = r->pitch;
        break;
    }
}

static struct aw_tex_sampler sampler_read(const cudaTextureDesc *desc)
{
    struct aw_tex_sampler s = { .filter = desc->filterMode, .mip_filter = desc->mipmapFilterMode,
                                .max_anisotropy = desc->maxAnisotropy, .lod_bias = desc->mipmapLevelBias,
                                .lod_min = desc->minMipmapLevelClamp, .lod_max = desc->maxMipmapLevelClamp };
    for (int i = 0; i < 3; i++)
        s.address[i] = desc->addressMode[i];
    memcpy(s.border, desc->borderColor, sizeof s.border);
    s.flags = (desc->readMode == cudaReadModeElementType ? AW_TEX_READ_INTEGER : 0u) |
              (desc->normalizedCoords ? AW_TEX_NORMALIZED : 0u) | (desc->sRGB ? AW_TEX_SRGB : 0u) |
              (desc->disableTrilinearOptimization ? AW_TEX_NO_TRILINEAR : 0u) | (desc->seamlessCubemap ? AW_TEX_SEAMLESS : 0u);
    return s;
}

static void sampler_write(const struct aw_tex_sampler *s, cudaTextureDesc *ret)
{
    *ret = (cudaTextureDesc){ .filterMode = (cudaTextureFilterMode)s->filter,
                              .readMode = s->flags & AW_TEX_READ_INTEGER ? cudaReadModeElementType : cudaReadModeNormalizedFloat,
                              .sRGB = !!(s->flags & AW_TEX_SRGB), .normalizedCoords = !!(s->flags & AW_TEX_NORMALIZED),
                              .maxAnisotropy = s->max_anisotropy, .mipmapFilterMode = (cudaTextureFilterMode)s->mip_filter,
                              .mipmapLevelBias = s->lod_bias, .minMipmapLevelClamp = s->lod_min,
                              .maxMipmapLevelClamp = s->lod_max,
                              .disableTrilinearOptimization = !!(s->flags & AW_TEX_NO_TRILINEAR),
                              .seamlessCubemap = !!(s->flags & AW_TEX_SEAMLESS) };
    for (int i = 0; i < 3; i++)
        ret->addressMode[i] = (cudaTextureAddressMode)s->address[i];
    memcpy(ret->borderColor, s->border, sizeof s->border);
}

/* ---- Texture objects */

/* Reads that CUDA refuses with errors of their own: filtered integers, and 32 bits as fractions, floats of arrays too. */
static cudaError_t reading_check(const struct aw_tex_info *info)
{
    const struct aw_tex_resource *r = &info->resource;
    const struct aw_array *array = r->type == AW_RESOURCE_ARRAY    ? aw_array_from(r->array)
                                   : r->type == AW_RESOURCE_MIPMAP && aw_mipmap_from(r->mipmap) ? r->mipmap->levels[0] : NULL;
    unsigned format = array ? array->shape.format : r->format;
    bool is_float = format == AW_FORMAT_HALF || format == AW_FORMAT_FLOAT, integer = info->sampler.flags & AW_TEX_READ_INTEGER;
    if (array && format == AW_FORMAT_FLOAT && !integer)
        return cudaErrorInvalidNormSetting;
    if (is_float || aw_block_format(format) || r->type == AW_RESOURCE_LINEAR ||
        (info->has_view && aw_view_is_block(info->view.format)))
        return cudaSuccess;
    if (!integer && aw_format_bytes(format) == 4)
        return cudaErrorInvalidNormSetting;
    return integer && info->sampler.filter ? cudaErrorInvalidFilterSetting : cudaSuccess;
}

static cudaError_t object_create(unsigned long long *ret_object, const struct aw_tex_info *info)
{
    struct aw_ctx *ctx;
    uint64_t handle;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (status == AW_OK)
        status = aw_texture_create(ctx, info, &handle);
    if (status == AW_OK)
        *ret_object = handle;
    return aw_rt_error(status);
}

cudaError_t awrt_cudaCreateTextureObject(cudaTextureObject_t *pTexObject, const cudaResourceDesc *pResDesc,
                                         const cudaTextureDesc *pTexDesc, const cudaResourceViewDesc *pResViewDesc)
{
    struct aw_tex_info info = { .kind = AW_TEXTURE };
    if (!pTexObject || !pResDesc || !pTexDesc)
        return cudaErrorInvalidValue;
    cudaError_t error = resource_read(pResDesc, &info.resource);
    if (error)
        return error;
    info.sampler = sampler_read(pTexDesc);
    if (pResViewDesc) {
        info.has_view = true;
        info.view = (struct aw_tex_view){ pResViewDesc->format, pResViewDesc->width, pResViewDesc->height, pResViewDesc->depth,
                                          pResViewDesc->firstMipmapLevel, pResViewDesc->lastMipmapLevel,
                                          pResViewDesc->firstLayer, pResViewDesc->lastLayer };
    }
    error = reading_check(&info);
    return error ? error : object_create(pTexObject, &info);
}

cudaError_t awrt_cudaCreateTextureObject_v2(cudaTextureObject_t *pTexObject, const cudaResourceDesc *pResDesc,
                                            const cudaTextureDesc_v2 *pTexDesc, const cudaResourceViewDesc *pResViewDesc)
{
    return awrt_cudaCreateTextureObject(pTexObject, pResDesc, pTexDesc, pResViewDesc);
}

cudaError_t awrt_cudaCreateTextureObject_v11(cudaTextureObject_t *pTexObject, const cudaResourceDesc *pResDesc,
                                             const cudaTextureDesc_v11 *pTexDesc, const cudaResourceViewDesc *pResViewDesc)
{
    cudaTextureDesc desc = { .seamlessCubemap = 0 };
    if (!pTexDesc)
        return cudaErrorInvalidValue;
    memcpy(&desc, pTexDesc, TEXTURE_DESC_V11);
    return awrt_cudaCreateTextureObject(pTexObject, pResDesc, &desc, pResViewDesc);
}

static cudaError_t object_find(enum aw_texture_kind kind, uint64_t handle, const void *out, struct aw_tex_info *ret_info)
{
    return out ? aw_rt_error(aw_texture_find(kind, handle, ret_info)) : cudaErrorInvalidValue;
}

cudaError_t awrt_cudaGetTextureObjectResourceDesc(cudaResourceDesc *pResDesc, cudaTextureObject_t texObject)
{
    struct aw_tex_info info;
    cudaError_t error = object_find(AW_TEXTURE, texObject, pResDesc, &info);
    if (!error)
        resource_write(&info.resource, pResDesc);
    return error;
}

cudaError_t awrt_cudaGetTextureObjectResourceDesc_v13(cudaResourceDesc_v13 *pResDesc, cudaTextureObject_t texObject)
{
    if (pResDesc)
        memset(pResDesc, 0, sizeof *pResDesc);
    return awrt_cudaGetTextureObjectResourceDesc((cudaResourceDesc *)pResDesc, texObject);
}

cudaError_t awrt_cudaGetTextureObjectTextureDesc(cudaTextureDesc *pTexDesc, cudaTextureObject_t texObject)
{
    struct aw_tex_info info;
    cudaError_t error = object_find(AW_TEXTURE, texObject, pTexDesc, &info);
    if (!error)
        sampler_write(&info.sampler, pTexDesc);
    return error;
}

cudaError_t awrt_cudaGetTextureObjectTextureDesc_v2(cudaTextureDesc_v2 *pTexDesc, cudaTextureObject_t texObject)
{
    return awrt_cudaGetTextureObjectTextureDesc(pTexDesc, texObject);
}

cudaError_t awrt_cudaGetTextureObjectTextureDesc_v11(cudaTextureDesc_v11 *pTexDesc, cudaTextureObject_t texObject)
{
    cudaTextureDesc desc;
    cudaError_t error = awrt_cudaGetTextureObjectTextureDesc(pTexDesc ? &desc : NULL, texObject);
    if (!error)
        memcpy(pTexDesc, &desc, TEXTURE_DESC_V11);
    return error;
}

/* The head that all versions share; 13's reserved words stay. */
cudaError_t awrt_cudaGetTextureObjectResourceViewDesc(cudaResourceViewDesc *pResViewDesc, cudaTextureObject_t texObject)
{
    struct aw_tex_info info;
    cudaError_t error = object_find(AW_TEXTURE, texObject, pResViewDesc, &info);
    if (error)
        return error;
    if (!info.has_view)
        return cudaErrorInvalidValue;
    const struct aw_tex_view *v = &info.view;
    *pResViewDesc = (cudaResourceViewDesc){ (cudaResourceViewFormat)v->format, v->width, v->height, v->depth, v->first_level,
                                            v->last_level, v->first_layer, v->last_layer };
    return cudaSuccess;
}

/* ---- Surface objects */

cudaError_t awrt_cudaCreateSurfaceObject(cudaSurfaceObject_t *pSurfObject, const cudaResourceDesc *pResDesc)
{
    struct aw_tex_info info = { .kind = AW_SURFACE };
    if (!pSurfObject || !pResDesc)
        return cudaErrorInvalidValue;
    if (pResDesc->resType != cudaResourceTypeArray)
        return cudaErrorInvalidValue;
    cudaError_t error = resource_read(pResDesc, &info.resource);
    return error ? error : object_create(pSurfObject, &info);
}

cudaError_t awrt_cudaGetSurfaceObjectResourceDesc(cudaResourceDesc *pResDesc, cudaSurfaceObject_t surfObject)
{
    struct aw_tex_info info;
    cudaError_t error = object_find(AW_SURFACE, surfObject, pResDesc, &info);
    if (!error)
        resource_write(&info.resource, pResDesc);
    return error;
}

cudaError_t awrt_cudaGetSurfaceObjectResourceDesc_v13(cudaResourceDesc_v13 *pResDesc, cudaSurfaceObject_t surfObject)
{
    if (pResDesc)
        memset(pResDesc, 0, sizeof *pResDesc);
    return awrt_cudaGetSurfaceObjectResourceDesc((cudaResourceDesc *)pResDesc, surfObject);
}

cudaError_t awrt_cudaDeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements, const cudaChannelFormatDesc *fmtDesc,
                                                      int device)
{
    unsigned format, channels;
    if (!fmtDesc || !aw_rt_format(fmtDesc, &format, &channels))
        return cudaErrorInvalidValue;
    struct aw_device *found;
    enum aw_status status = aw_rt_device_at(device, &found);
    if (status || !maxWidthInElements)
        return status ? aw_rt_error(status) : cudaErrorInvalidValue;
    *maxWidthInElements = AW_LINEAR_TEXTURE_MAX;
    return cudaSuccess;
}
