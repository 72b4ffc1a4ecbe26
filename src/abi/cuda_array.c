/* The driver API: arrays, mipmapped arrays, and copies between one-dimensional arrays and memory.  Rectangles are
 * cuda_copy.c's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/cuda_util.h"

/* ---- Arrays */

static CUresult array_create(CUarray *ret_handle, const struct aw_array_shape *shape)
{
    struct aw_ctx *ctx;
    struct aw_array *array;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status)
        return cu_result(status);
    if (!ret_handle)
        return CUDA_ERROR_INVALID_VALUE;
    status = aw_array_create(ctx, shape, &array);
    if (status == AW_OK)
        *ret_handle = (CUarray)array;
    return cu_result(status);
}

CUresult awcu_cuArrayCreate_v2(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *desc)
{
    if (!desc)
        return CUDA_ERROR_INVALID_VALUE;
    return array_create(pHandle, &(struct aw_array_shape){ .width = desc->Width, .height = desc->Height, .format = desc->Format,
                                                           .channels = desc->NumChannels });
}

CUresult awcu_cuArrayCreate(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR_v1 *desc)
{
    if (!desc)
        return CUDA_ERROR_INVALID_VALUE;
    return array_create(pHandle, &(struct aw_array_shape){ .width = desc->Width, .height = desc->Height, .format = desc->Format,
                                                           .channels = desc->NumChannels });
}

static struct aw_array_shape shape_3d(const CUDA_ARRAY3D_DESCRIPTOR *desc)
{
    return (struct aw_array_shape){ desc->Width, desc->Height, desc->Depth, desc->Format, desc->NumChannels, desc->Flags };
}

CUresult awcu_cuArray3DCreate_v2(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *desc)
{
    if (!desc)
        return CUDA_ERROR_INVALID_VALUE;
    struct aw_array_shape shape = shape_3d(desc);
    return array_create(pHandle, &shape);
}

CUresult awcu_cuArray3DCreate(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR_v1 *desc)
{
    if (!desc)
        return CUDA_ERROR_INVALID_VALUE;
    return array_create(pHandle, &(struct aw_array_shape){ desc->Width, desc->Height, desc->Depth, desc->Format,
                                                           desc->NumChannels, desc->Flags });
}

CUresult awcu_cuArrayDestroy(CUarray hArray)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current_any(&ctx);
    if (status)
        return cu_result(status);
    struct aw_array *array = aw_array_from(hArray);
    return cu_result(array ? aw_array_destroy(array) : AW_ERR_INVALID_HANDLE);
}

/* The live array behind a handle, where there is a current context and somewhere to write. */
static enum aw_status array_find(CUarray handle, const void *out, const struct aw_array **ret_array)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current_any(&ctx);
    if (status)
        return status;
    if (!out)
        return AW_ERR_INVALID_VALUE;
    *ret_array = aw_array_from(handle);
    return *ret_array ? AW_OK : AW_ERR_INVALID_HANDLE;
}

CUresult awcu_cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *desc, CUarray hArray)
{
    const struct aw_array *array;
    enum aw_status status = array_find(hArray, desc, &array);
    if (status == AW_OK)
        *desc = (CUDA_ARRAY_DESCRIPTOR){ array->shape.width, array->shape.height, (CUarray_format)array->shape.format,
                                         array->shape.channels };
    return cu_result(status);
}

CUresult awcu_cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR_v1 *desc, CUarray hArray)
{
    const struct aw_array *array;
    enum aw_status status = array_find(hArray, desc, &array);
    if (status == AW_OK)
        *desc = (CUDA_ARRAY_DESCRIPTOR_v1){ (unsigned)array->shape.width, (unsigned)array->shape.height,
                                            (CUarray_format)array->shape.format, array->shape.channels };
    return cu_result(status);
}

CUresult awcu_cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *desc, CUarray hArray)
{
    const struct aw_array *array;
    enum aw_status status = array_find(hArray, desc, &array);
    if (status == AW_OK)
        *desc = (CUDA_ARRAY3D_DESCRIPTOR){ array->shape.width, array->shape.height, array->shape.depth,
                                           (CUarray_format)array->shape.format, array->shape.channels, array->shape.flags };
    return cu_result(status);
}

CUresult awcu_cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR_v1 *desc, CUarray hArray)
{
    const struct aw_array *array;
    enum aw_status status = array_find(hArray, desc, &array);
    if (status == AW_OK)
        *desc = (CUDA_ARRAY3D_DESCRIPTOR_v1){ (unsigned)array->shape.width, (unsigned)array->shape.height,
                                              (unsigned)array->shape.depth, (CUarray_format)array->shape.format,
                                              array->shape.channels, array->shape.flags };
    return cu_result(status);
}

/* ---- Mipmapped arrays */

CUresult awcu_cuMipmappedArrayCreate(CUmipmappedArray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned int numMipmapLevels)
{
    struct aw_ctx *ctx;
    struct aw_mipmap *mipmap;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status)
        return cu_result(status);
    if (!pHandle || !desc)
        return CUDA_ERROR_INVALID_VALUE;
    struct aw_array_shape shape = shape_3d(desc);
    status = aw_mipmap_create(ctx, &shape, numMipmapLevels, &mipmap);
    if (status == AW_OK)
        *pHandle = (CUmipmappedArray)mipmap;
    return cu_result(status);
}

CUresult awcu_cuMipmappedArrayGetLevel(CUarray *pLevelArray, CUmipmappedArray hMipmappedArray, unsigned int level)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current_any(&ctx);
    if (status)
        return cu_result(status);
    const struct aw_mipmap *mipmap = aw_mipmap_from(hMipmappedArray);
    if (!pLevelArray)
        return CUDA_ERROR_INVALID_VALUE;
    if (!mipmap)
        return CUDA_ERROR_INVALID_HANDLE;
    if (level >= mipmap->n_levels)
        return CUDA_ERROR_INVALID_VALUE;
    *pLevelArray = (CUarray)mipmap->levels[level];
    return CUDA_SUCCESS;
}

CUresult awcu_cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current_any(&ctx);
    if (status)
        return cu_result(status);
    struct aw_mipmap *mipmap = aw_mipmap_from(hMipmappedArray);
    return cu_result(mipmap ? aw_mipmap_destroy(mipmap) : AW_ERR_INVALID_HANDLE);
}

/* ---- What they take */

enum { MEMORY_ALIGN = 256 }; /* bytes, as all device memory */

static CUresult requirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *ret, size_t size, CUdevice dev)
{
    struct aw_device *device;
    enum aw_status status = cu_device(dev, &device);
    if (status)
        return cu_result(status);
    if (!ret)
        return CUDA_ERROR_INVALID_VALUE;
    *ret = (CUDA_ARRAY_MEMORY_REQUIREMENTS){ .size = size, .alignment = MEMORY_ALIGN };
    return CUDA_SUCCESS;
}

CUresult awcu_cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements, CUarray array, CUdevice device)
{
    const struct aw_array *found = aw_array_from(array);
    return found ? requirements(memoryRequirements, aw_array_bytes(found), device) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult awcu_cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements, CUmipmappedArray mipmap,
                                                    CUdevice device)
{
    const struct aw_mipmap *found = aw_mipmap_from(mipmap);
    size_t size = 0;
    if (!found)
        return CUDA_ERROR_INVALID_HANDLE;
    for (unsigned i = 0; i < found->n_levels; i++)
        size += (aw_array_bytes(found->levels[i]) + MEMORY_ALIGN - 1) / MEMORY_ALIGN * MEMORY_ALIGN;
    return requirements(memoryRequirements, size, device);
}

/* No array has planes, and none is sparse. */
CUresult awcu_cuArrayGetPlane(CUarray *pPlaneArray, CUarray hArray, unsigned int planeIdx)
{
    return pPlaneArray && aw_array_from(hArray) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
}

CUresult awcu_cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties, CUarray array)
{
    return sparseProperties && aw_array_from(array) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
}

CUresult awcu_cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties, CUmipmappedArray mipmap)
{
    return sparseProperties && aw_mipmap_from(mipmap) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
}

/* ---- Copies of a one-dimensional array's row */

enum end { END_HOST, END_DEVICE };

/* `size` bytes at `offset` of the first row. */
static enum aw_status row_at(CUarray handle, size_t offset, size_t size, void **ret_at)
{
    uintptr_t at;
    const struct aw_array *array = aw_array_from(handle);
    if (!array)
        return AW_ERR_INVALID_HANDLE;
    enum aw_status status = aw_array_box(array, offset, 0, 0, size, 1, 1, &at);
    if (status == AW_OK)
        *ret_at = (void *)at;
    return status;
}

static CUresult copy_in(CUarray dst, size_t offset, uintptr_t src, enum end end, size_t size, CUstream handle, bool async)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    void *at;
    enum aw_status status = cu_stream(handle, &ctx, &stream);
    if (status == AW_OK)
        status = row_at(dst, offset, size, &at);
    return cu_result(status ? status : aw_mem_copy(ctx, at, (const void *)src, size, end == END_HOST ? AW_COPY_H2D : AW_COPY_D2D,
                                                   stream, async));
}

static CUresult copy_out(uintptr_t dst, enum end end, CUarray src, size_t offset, size_t size, CUstream handle, bool async)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    void *at;
    enum aw_status status = cu_stream(handle, &ctx, &stream);
    if (status == AW_OK)
        status = row_at(src, offset, size, &at);
    return cu_result(status ? status : aw_mem_copy(ctx, (void *)dst, at, size, end == END_HOST ? AW_COPY_D2H : AW_COPY_D2D,
                                                   stream, async));
}

static CUresult copy_across(CUarray dst, size_t dst_offset, CUarray src, size_t src_offset, size_t size, CUstream handle)
{
    void *from;
    enum aw_status status = row_at(src, src_offset, size, &from);
    return status ? cu_result(status)
                  : copy_in(dst, dst_offset, (uintptr_t)from, END_DEVICE, size, handle, false);
}

CUresult awcu_cuMemcpyDtoA_v2_on(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice, size_t ByteCount,
                                 CUstream default_stream)
{
    return copy_in(dstArray, dstOffset, srcDevice, END_DEVICE, ByteCount, default_stream, false);
}

CUresult awcu_cuMemcpyAtoD_v2_on(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset, size_t ByteCount,
                                 CUstream default_stream)
{
    return copy_out(dstDevice, END_DEVICE, srcArray, srcOffset, ByteCount, default_stream, false);
}

CUresult awcu_cuMemcpyHtoA_v2_on(CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount,
                                 CUstream default_stream)
{
    return copy_in(dstArray, dstOffset, (uintptr_t)srcHost, END_HOST, ByteCount, default_stream, false);
}

CUresult awcu_cuMemcpyHtoAAsync_v2(CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount, CUstream hStream)
{
    return copy_in(dstArray, dstOffset, (uintptr_t)srcHost, END_HOST, ByteCount, hStream, true);
}

CUresult awcu_cuMemcpyAtoH_v2_on(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount, CUstream default_stream)
{
    return copy_out((uintptr_t)dstHost, END_HOST, srcArray, srcOffset, ByteCount, default_stream, false);
}

CUresult awcu_cuMemcpyAtoHAsync_v2(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount, CUstream hStream)
{
    return copy_out((uintptr_t)dstHost, END_HOST, srcArray, srcOffset, ByteCount, hStream, true);
}

CUresult awcu_cuMemcpyAtoA_v2_on(CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset, size_t ByteCount,
                                 CUstream default_stream)
{
    return copy_across(dstArray, dstOffset, srcArray, srcOffset, ByteCount, false);
}

