/* The driver API: texture and surface objects.  References are cuda_texref.c's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/cuda_util.h"

#include <string.h>

/* ---- Descriptions between CUDA's structures and the core's */

static bool resource_read(const CUDA_RESOURCE_DESC *desc, struct aw_tex_resource *ret)
{
    *ret = (struct aw_tex_resource){ .type = (enum aw_resource_type)desc->resType };
    switch (desc->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        ret->array = (struct aw_array *)desc->res.array.hArray;
        return true;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        ret->mipmap = (struct aw_mipmap *)desc->res.mipmap.hMipmappedArray;
        return true;
    case CU_RESOURCE_TYPE_LINEAR:
        ret->address = desc->res.linear.devPtr;
        ret->format = desc->res.linear.format;
        ret->channels = desc->res.linear.numChannels;
        ret->bytes = desc->res.linear.sizeInBytes;
        return true;
    case CU_RESOURCE_TYPE_PITCH2D:
        ret->address = desc->res.pitch2D.devPtr;
        ret->format = desc->res.pitch2D.format;
        ret->channels = desc->res.pitch2D.numChannels;
        ret->width = desc->res.pitch2D.width;
        ret->height = desc->res.pitch2D.height;
        ret->pitch = desc->res.pitch2D.pitchInBytes;
        return true;
    }
    return false;
}

static void resource_write(const struct aw_tex_resource *r, CUDA_RESOURCE_DESC *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->resType = (CUresourcetype)r->type;
    switch (r->type) {
    case AW_RESOURCE_ARRAY:
        ret->res.array.hArray = (CUarray)r->array;
        break;
    case AW_RESOURCE_MIPMAP:
        ret->res.mipmap.hMipmappedArray = (CUmipmappedArray)r->mipmap;
        break;
    case AW_RESOURCE_LINEAR:
        ret->res.linear.devPtr = r->address;
        ret->res.linear.format = (CUarray_format)r->format;
        ret->res.linear.numChannels = r->channels;
        ret->res.linear.sizeInBytes = r->bytes;
        break;
    case AW_RESOURCE_PITCH2D:
        ret->res.pitch2D.devPtr = r->address;
        ret->res.pitch2D.format = (CUarray_format)r->format;
        ret->res.pitch2D.numChannels = r->channels;
        ret->res.pitch2D.width = r->width;
        ret->res.pitch2D.height = r->height;
        ret->res.pitch2D.pitchInBytes = r->pitch;
        break;
    }
}

static struct aw_tex_sampler sampler_read(const CUDA_TEXTURE_DESC *desc)
{
    struct aw_tex_sampler s = { .filter = desc->filterMode, .mip_filter = desc->mipmapFilterMode, .flags = desc->flags,
                                .max_anisotropy = desc->maxAnisotropy, .lod_bias = desc->mipmapLevelBias,
                                .lod_min = desc->minMipmapLevelClamp, .lod_max = desc->maxMipmapLevelClamp };
    for (int i = 0; i < 3; i++)
        s.address[i] = desc->addressMode[i];
    memcpy(s.border, desc->borderColor, sizeof s.border);
    return s;
}

static void sampler_write(const struct aw_tex_sampler *s, CUDA_TEXTURE_DESC *ret)
{
    *ret = (CUDA_TEXTURE_DESC){ .filterMode = (CUfilter_mode)s->filter, .flags = s->flags, .maxAnisotropy = s->max_anisotropy,
                                .mipmapFilterMode = (CUfilter_mode)s->mip_filter, .mipmapLevelBias = s->lod_bias,
                                .minMipmapLevelClamp = s->lod_min, .maxMipmapLevelClamp = s->lod_max };
    for (int i = 0; i < 3; i++)
        ret->addressMode[i] = (CUaddress_mode)s->address[i];
    memcpy(ret->borderColor, s->border, sizeof s->border);
}

static struct aw_tex_view view_read(const CUDA_RESOURCE_VIEW_DESC *desc)
{
    return (struct aw_tex_view){ desc->format,           desc->width,           desc->height,     desc->depth,
                                 desc->firstMipmapLevel, desc->lastMipmapLevel, desc->firstLayer, desc->lastLayer };
}

/* ---- Texture objects */

CUresult awcu_cuTexObjectCreate(CUtexObject *pTexObject, const CUDA_RESOURCE_DESC *pResDesc, const CUDA_TEXTURE_DESC *pTexDesc,
                                const CUDA_RESOURCE_VIEW_DESC *pResViewDesc)
{
    struct aw_ctx *ctx;
    uint64_t handle;
    struct aw_tex_info info = { .kind = AW_TEXTURE };
    enum aw_status status = aw_ctx_current(&ctx);
    if (status)
        return cu_result(status);
    if (!pTexObject || !pResDesc || !pTexDesc || !resource_read(pResDesc, &info.resource))
        return CUDA_ERROR_INVALID_VALUE;
    info.sampler = sampler_read(pTexDesc);
    if (pResViewDesc) {
        info.view = view_read(pResViewDesc);
        info.has_view = true;
    }
    status = aw_texture_create(ctx, &info, &handle);
    if (status == AW_OK)
        *pTexObject = handle;
    return cu_result(status);
}

/* What is no object is none afterwards: CUDA 13's driver has no complaint. */
static CUresult object_destroy(enum aw_texture_kind kind, uint64_t handle)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current_any(&ctx);
    if (status == AW_OK)
        (void)aw_texture_destroy(kind, handle);
    return cu_result(status);
}

static CUresult object_find(enum aw_texture_kind kind, uint64_t handle, const void *out, struct aw_tex_info *ret_info)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current_any(&ctx);
    if (status)
        return cu_result(status);
    return out ? cu_result(aw_texture_find(kind, handle, ret_info)) : CUDA_ERROR_INVALID_VALUE;
}

CUresult awcu_cuTexObjectDestroy(CUtexObject texObject)
{
    return object_destroy(AW_TEXTURE, texObject);
}

CUresult awcu_cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUtexObject texObject)
{
    struct aw_tex_info info;
    CUresult result = object_find(AW_TEXTURE, texObject, pResDesc, &info);
    if (result == CUDA_SUCCESS)
        resource_write(&info.resource, pResDesc);
    return result;
}

CUresult awcu_cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *pTexDesc, CUtexObject texObject)
{
    struct aw_tex_info info;
    CUresult result = object_find(AW_TEXTURE, texObject, pTexDesc, &info);
    if (result == CUDA_SUCCESS)
        sampler_write(&info.sampler, pTexDesc);
    return result;
}

/* An object made without a view has none to tell. */
CUresult awcu_cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *pResViewDesc, CUtexObject texObject)
{
    struct aw_tex_info info;
    CUresult result = object_find(AW_TEXTURE, texObject, pResViewDesc, &info);
    if (result != CUDA_SUCCESS)
        return result;
    if (!info.has_view)
        return CUDA_ERROR_INVALID_VALUE;
    const struct aw_tex_view *v = &info.view;
    *pResViewDesc = (CUDA_RESOURCE_VIEW_DESC){ (CUresourceViewFormat)v->format, v->width, v->height, v->depth, v->first_level,
                                               v->last_level, v->first_layer, v->last_layer, { 0 } };
    return CUDA_SUCCESS;
}

/* ---- Surface objects */

CUresult awcu_cuSurfObjectCreate(CUsurfObject *pSurfObject, const CUDA_RESOURCE_DESC *pResDesc)
{
    struct aw_ctx *ctx;
    uint64_t handle;
    struct aw_tex_info info = { .kind = AW_SURFACE };
    enum aw_status status = aw_ctx_current(&ctx);
    if (status)
        return cu_result(status);
    if (!pSurfObject || !pResDesc || !resource_read(pResDesc, &info.resource))
        return CUDA_ERROR_INVALID_VALUE;
    status = aw_texture_create(ctx, &info, &handle);
    if (status == AW_OK)
        *pSurfObject = handle;
    return cu_result(status);
}

CUresult awcu_cuSurfObjectDestroy(CUsurfObject surfObject)
{
    return object_destroy(AW_SURFACE, surfObject);
}

CUresult awcu_cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUsurfObject surfObject)
{
    struct aw_tex_info info;
    CUresult result = object_find(AW_SURFACE, surfObject, pResDesc, &info);
    if (result == CUDA_SUCCESS)
        resource_write(&info.resource, pResDesc);
    return result;
}

CUresult awcu_cuDeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements, CUarray_format format, unsigned int numChannels,
                                                 CUdevice dev)
{
    struct aw_device *device;
    enum aw_status status = cu_device(dev, &device);
    if (status)
        return cu_result(status);
    if (!maxWidthInElements || !aw_element_bytes(format, numChannels))
        return CUDA_ERROR_INVALID_VALUE;
    *maxWidthInElements = AW_LINEAR_TEXTURE_MAX;
    return CUDA_SUCCESS;
}
