/* The driver API: texture and surface references, of modules and of one's own. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/cuda_util.h"

#include <limits.h>
#include <string.h>

/* ---- Finding */

static CUresult module_ref(enum aw_texture_kind kind, struct aw_texref **ret_ref, CUmodule handle, const char *name)
{
    struct aw_ctx *ctx;
    uintptr_t cell;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status)
        return cu_result(status);
    struct aw_module *module = aw_module_from(handle);
    if (!name || !ret_ref)
        return CUDA_ERROR_INVALID_VALUE;
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    status = aw_module_global(module, name, &cell, NULL);
    return cu_result(status ? status : aw_texref_get(module->ctx, kind, cell, aw_module_sampler(module, name), ret_ref));
}

CUresult awcu_cuModuleGetTexRef(CUtexref *pTexRef, CUmodule hmod, const char *name)
{
    return module_ref(AW_TEXTURE, (struct aw_texref **)pTexRef, hmod, name);
}

CUresult awcu_cuModuleGetSurfRef(CUsurfref *pSurfRef, CUmodule hmod, const char *name)
{
    return module_ref(AW_SURFACE, (struct aw_texref **)pSurfRef, hmod, name);
}

CUresult awcu_cuTexRefCreate(CUtexref *pTexRef)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status)
        return cu_result(status);
    return pTexRef ? cu_result(aw_texref_get(ctx, AW_TEXTURE, 0, AW_SAMPLER_OF_REFERENCE, (struct aw_texref **)pTexRef))
                   : CUDA_ERROR_INVALID_VALUE;
}

CUresult awcu_cuTexRefDestroy(CUtexref hTexRef)
{
    struct aw_texref *ref = aw_texref_from(hTexRef);
    if (!ref || ref->cell)
        return CUDA_ERROR_INVALID_VALUE; /* a module's goes with it */
    aw_texref_destroy(ref);
    return CUDA_SUCCESS;
}

/* The reference, and its settings to be changed. */
static bool ref_open(const void *handle, enum aw_texture_kind kind, struct aw_texref **ret_ref, struct aw_tex_info *ret_info)
{
    struct aw_texref *ref = aw_texref_from(handle);
    if (!ref || ref->info.kind != kind)
        return false;
    *ret_ref = ref;
    if (ret_info)
        *ret_info = ref->info;
    return true;
}

/* Settings changed, what is bound stays. */
static CUresult ref_change(struct aw_texref *ref, const struct aw_tex_info *info)
{
    return cu_result(aw_texref_set(ref, info, ref->bound));
}

/* ---- Binding */

CUresult awcu_cuTexRefSetArray(CUtexref hTexRef, CUarray hArray, unsigned int Flags)
{
    struct aw_texref *ref;
    struct aw_tex_info info;
    if (!ref_open(hTexRef, AW_TEXTURE, &ref, &info) || !(Flags & 1)) /* CU_TRSA_OVERRIDE_FORMAT must be given */
        return CUDA_ERROR_INVALID_VALUE;
    const struct aw_array *array = aw_array_from(hArray);
    if (!array)
        return CUDA_ERROR_INVALID_HANDLE;
    info.resource = (struct aw_tex_resource){ .type = AW_RESOURCE_ARRAY, .array = (struct aw_array *)hArray,
                                              .format = array->shape.format, .channels = array->shape.channels };
    return cu_result(aw_texref_set(ref, &info, true));
}

CUresult awcu_cuTexRefSetMipmappedArray(CUtexref hTexRef, CUmipmappedArray hMipmappedArray, unsigned int Flags)
{
    struct aw_texref *ref;
    struct aw_tex_info info;
    if (!ref_open(hTexRef, AW_TEXTURE, &ref, &info) || !(Flags & 1))
        return CUDA_ERROR_INVALID_VALUE;
    if (!aw_mipmap_from(hMipmappedArray))
        return CUDA_ERROR_INVALID_HANDLE;
    info.resource = (struct aw_tex_resource){ .type = AW_RESOURCE_MIPMAP, .mipmap = (struct aw_mipmap *)hMipmappedArray,
                                              .format = info.resource.format, .channels = info.resource.channels };
    return cu_result(aw_texref_set(ref, &info, true));
}

/* Any element may be the first: there is never an offset to apply. */
CUresult awcu_cuTexRefSetAddress_v2(size_t *ByteOffset, CUtexref hTexRef, CUdeviceptr dptr, size_t bytes)
{
    struct aw_texref *ref;
    struct aw_tex_info info;
    if (!ref_open(hTexRef, AW_TEXTURE, &ref, &info))
        return CUDA_ERROR_INVALID_VALUE;
    info.resource = (struct aw_tex_resource){ .type = AW_RESOURCE_LINEAR, .address = dptr, .bytes = bytes,
                                              .format = info.resource.format, .channels = info.resource.channels };
    CUresult result = cu_result(aw_texref_set(ref, &info, dptr != 0));
    if (result == CUDA_SUCCESS && ByteOffset)
        *ByteOffset = 0;
    return result;
}

CUresult awcu_cuTexRefSetAddress2D_v3(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR *desc, CUdeviceptr dptr, size_t Pitch)
{
    struct aw_texref *ref;
    struct aw_tex_info info;
    if (!ref_open(hTexRef, AW_TEXTURE, &ref, &info) || !desc)
        return CUDA_ERROR_INVALID_VALUE;
    info.resource = (struct aw_tex_resource){ .type = AW_RESOURCE_PITCH2D, .address = dptr, .format = desc->Format,
                                              .channels = desc->NumChannels, .width = desc->Width, .height = desc->Height,
                                              .pitch = Pitch };
    return cu_result(aw_texref_set(ref, &info, true));
}

CUresult awcu_cuTexRefSetAddress2D_v2(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR *desc, CUdeviceptr dptr, size_t Pitch)
{
    return awcu_cuTexRefSetAddress2D_v3(hTexRef, desc, dptr, Pitch);
}

/* ---- Settings */

CUresult awcu_cuTexRefSetFormat(CUtexref hTexRef, CUarray_format fmt, int NumPackedComponents)
{
    struct aw_texref *ref;
    struct aw_tex_info info;
    if (!ref_open(hTexRef, AW_TEXTURE, &ref, &info) || NumPackedComponents < 1 ||
        !aw_element_bytes(fmt, (unsigned)NumPackedComponents))
        return CUDA_ERROR_INVALID_VALUE;
    info.resource.format = fmt;
    info.resource.channels = (unsigned)NumPackedComponents;
    return ref_change(ref, &info);
}

CUresult awcu_cuTexRefSetAddressMode(CUtexref hTexRef, int dim, CUaddress_mode am)
{
    struct aw_texref *ref;
    struct aw_tex_info info;
    if (!ref_open(hTexRef, AW_TEXTURE, &ref, &info) || dim < 0 || dim > 2 || (unsigned)am > CU_TR_ADDRESS_MODE_BORDER)
        return CUDA_ERROR_INVALID_VALUE;
    info.sampler.address[dim] = am;
    return ref_change(ref, &info);
}

CUresult awcu_cuTexRefSetFilterMode(CUtexref hTexRef, CUfilter_mode fm)
{
    struct aw_texref *ref;
    struct aw_tex_info info;
    if (!ref_open(hTexRef, AW_TEXTURE, &ref, &info) || (unsigned)fm > CU_TR_FILTER_MODE_LINEAR)
        return CUDA_ERROR_INVALID_VALUE;
    info.sampler.filter = fm;
    return ref_change(ref, &info);
}

CUresult awcu_cuTexRefSetMipmapFilterMode(CUtexref hTexRef, CUfilter_mode fm)
{
    struct aw_texref *ref;
    struct aw_tex_info info;
    if (!ref_open(hTexRef, AW_TEXTURE, &ref, &info) || (unsigned)fm > CU_TR_FILTER_MODE_LINEAR)
        return CUDA_ERROR_INVALID_VALUE;
    info.sampler.mip_filter = fm;
    return ref_change(ref, &info);
}

CUresult awcu_cuTexRefSetMipmapLevelBias(CUtexref hTexRef, float bias)
{
    struct aw_texref *ref;
    struct aw_tex_info info;
    if (!ref_open(hTexRef, AW_TEXTURE, &ref, &info))
        return CUDA_ERROR_INVALID_VALUE;
    info.sampler.lod_bias = bias;
    return ref_change(ref, &info);
}

CUresult awcu_cuTexRefSetMipmapLevelClamp(CUtexref hTexRef, float minMipmapLevelClamp, float maxMipmapLevelClamp)
{
    struct aw_texref *ref;
    struct aw_tex_info info;
    if (!ref_open(hTexRef, AW_TEXTURE, &ref, &info))
        return CUDA_ERROR_INVALID_VALUE;
    info.sampler.lod_min = minMipmapLevelClamp;
    info.sampler.lod_max = maxMipmapLevelClamp;
    return ref_change(ref, &info);
}

CUresult awcu_cuTexRefSetMaxAnisotropy(CUtexref hTexRef, unsigned int maxAniso)
{
    struct aw_texref *ref;
    struct aw_tex_info info;
    if (!ref_open(hTexRef, AW_TEXTURE, &ref, &info))
        return CUDA_ERROR_INVALID_VALUE;
    info.sampler.max_anisotropy = maxAniso;
    return ref_change(ref, &info);
}

CUresult awcu_cuTexRefSetBorderColor(CUtexref hTexRef, float *pBorderColor)
{
    struct aw_texref *ref;
    struct aw_tex_info info;
    if (!ref_open(hTexRef, AW_TEXTURE, &ref, &info) || !pBorderColor)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(info.sampler.border, pBorderColor, sizeof info.sampler.border);
    return ref_change(ref, &info);
}

CUresult awcu_cuTexRefSetFlags(CUtexref hTexRef, unsigned int Flags)
{
    struct aw_texref *ref;
    struct aw_tex_info info;
    if (!ref_open(hTexRef, AW_TEXTURE, &ref, &info) || (Flags & ~(unsigned)AW_TEX_FLAGS))
        return CUDA_ERROR_INVALID_VALUE;
    info.sampler.flags = Flags;
    return ref_change(ref, &info);
}

/* ---- Asking.  GET fails for no live reference and for no place to write to. */
#define GET(handle, out)                                              \
    struct aw_texref *ref;                                            \
    if (!ref_open((handle), AW_TEXTURE, &ref, NULL) || !(out))        \
        return CUDA_ERROR_INVALID_VALUE

static bool is_bound_to(const struct aw_texref *ref, enum aw_resource_type type)
{
    return ref->bound && ref->info.resource.type == type;
}

CUresult awcu_cuTexRefGetAddress_v2(CUdeviceptr *pdptr, CUtexref hTexRef)
{
    GET(hTexRef, pdptr);
    if (!is_bound_to(ref, AW_RESOURCE_LINEAR) && !is_bound_to(ref, AW_RESOURCE_PITCH2D))
        return CUDA_ERROR_INVALID_VALUE;
    *pdptr = ref->info.resource.address;
    return CUDA_SUCCESS;
}

CUresult awcu_cuTexRefGetArray(CUarray *phArray, CUtexref hTexRef)
{
    GET(hTexRef, phArray);
    if (!is_bound_to(ref, AW_RESOURCE_ARRAY))
        return CUDA_ERROR_INVALID_VALUE;
    *phArray = (CUarray)ref->info.resource.array;
    return CUDA_SUCCESS;
}

CUresult awcu_cuTexRefGetMipmappedArray(CUmipmappedArray *phMipmappedArray, CUtexref hTexRef)
{
    GET(hTexRef, phMipmappedArray);
    if (!is_bound_to(ref, AW_RESOURCE_MIPMAP))
        return CUDA_ERROR_INVALID_VALUE;
    *phMipmappedArray = (CUmipmappedArray)ref->info.resource.mipmap;
    return CUDA_SUCCESS;
}

CUresult awcu_cuTexRefGetAddressMode(CUaddress_mode *pam, CUtexref hTexRef, int dim)
{
    GET(hTexRef, pam);
    if (dim < 0 || dim > 2)
        return CUDA_ERROR_INVALID_VALUE;
    *pam = (CUaddress_mode)ref->info.sampler.address[dim];
    return CUDA_SUCCESS;
}

CUresult awcu_cuTexRefGetFilterMode(CUfilter_mode *pfm, CUtexref hTexRef)
{
    GET(hTexRef, pfm);
    *pfm = (CUfilter_mode)ref->info.sampler.filter;
    return CUDA_SUCCESS;
}

CUresult awcu_cuTexRefGetFormat(CUarray_format *pFormat, int *pNumChannels, CUtexref hTexRef)
{
    GET(hTexRef, pFormat);
    *pFormat = (CUarray_format)ref->info.resource.format;
    if (pNumChannels)
        *pNumChannels = (int)ref->info.resource.channels;
    return CUDA_SUCCESS;
}

CUresult awcu_cuTexRefGetMipmapFilterMode(CUfilter_mode *pfm, CUtexref hTexRef)
{
    GET(hTexRef, pfm);
    *pfm = (CUfilter_mode)ref->info.sampler.mip_filter;
    return CUDA_SUCCESS;
}

CUresult awcu_cuTexRefGetMipmapLevelBias(float *pbias, CUtexref hTexRef)
{
    GET(hTexRef, pbias);
    *pbias = ref->info.sampler.lod_bias;
    return CUDA_SUCCESS;
}

CUresult awcu_cuTexRefGetMipmapLevelClamp(float *pminMipmapLevelClamp, float *pmaxMipmapLevelClamp, CUtexref hTexRef)
{
    GET(hTexRef, pminMipmapLevelClamp && pmaxMipmapLevelClamp);
    *pminMipmapLevelClamp = ref->info.sampler.lod_min;
    *pmaxMipmapLevelClamp = ref->info.sampler.lod_max;
    return CUDA_SUCCESS;
}

CUresult awcu_cuTexRefGetMaxAnisotropy(int *pmaxAniso, CUtexref hTexRef)
{
    GET(hTexRef, pmaxAniso);
    *pmaxAniso = (int)ref->info.sampler.max_anisotropy;
    return CUDA_SUCCESS;
}

CUresult awcu_cuTexRefGetBorderColor(float *pBorderColor, CUtexref hTexRef)
{
    GET(hTexRef, pBorderColor);
    memcpy(pBorderColor, ref->info.sampler.border, sizeof ref->info.sampler.border);
    return CUDA_SUCCESS;
}

CUresult awcu_cuTexRefGetFlags(unsigned int *pFlags, CUtexref hTexRef)
{
    GET(hTexRef, pFlags);
    *pFlags = ref->info.sampler.flags;
    return CUDA_SUCCESS;
}

/* References of a module are part of every launch without being told. */
CUresult awcu_cuParamSetTexRef(CUfunction hfunc, int texunit, CUtexref hTexRef)
{
    struct aw_func *func;
    enum aw_status status = cu_function(hfunc, &func);
    if (status)
        return cu_result(status);
    return texunit == -1 && aw_texref_from(hTexRef) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- Surface references */

CUresult awcu_cuSurfRefSetArray(CUsurfref hSurfRef, CUarray hArray, unsigned int Flags)
{
    struct aw_texref *ref;
    struct aw_tex_info info;
    if (!ref_open(hSurfRef, AW_SURFACE, &ref, &info) || Flags)
        return CUDA_ERROR_INVALID_VALUE;
    info.resource = (struct aw_tex_resource){ .type = AW_RESOURCE_ARRAY, .array = (struct aw_array *)hArray };
    return cu_result(aw_texref_set(ref, &info, true));
}

CUresult awcu_cuSurfRefGetArray(CUarray *phArray, CUsurfref hSurfRef)
{
    struct aw_texref *ref;
    if (!ref_open(hSurfRef, AW_SURFACE, &ref, NULL) || !phArray || !ref->bound)
        return CUDA_ERROR_INVALID_VALUE;
    *phArray = (CUarray)ref->info.resource.array;
    return CUDA_SUCCESS;
}
