/* The driver API: copies and fills. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/cuda_util.h"
#include "abi/graph.h"
#include "core/array.h"

/* ---- Linear copies. */

static CUresult copy_linear(uintptr_t dst, uintptr_t src, size_t size, enum aw_copy_kind kind, CUstream handle, bool async)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(handle, &ctx, &stream);
    return cu_result(status ? status : aw_mem_copy(ctx, (void *)dst, (const void *)src, size, kind, stream, async));
}

CUresult awcu_cuMemcpy_on(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream default_stream)
{
    return copy_linear(dst, src, ByteCount, AW_COPY_DEFAULT, default_stream, false);
}

CUresult awcu_cuMemcpyHtoD_v2_on(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream default_stream)
{
    return copy_linear(dstDevice, (uintptr_t)srcHost, ByteCount, AW_COPY_H2D, default_stream, false);
}

CUresult awcu_cuMemcpyDtoH_v2_on(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream default_stream)
{
    return copy_linear((uintptr_t)dstHost, srcDevice, ByteCount, AW_COPY_D2H, default_stream, false);
}

CUresult awcu_cuMemcpyDtoD_v2_on(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream default_stream)
{
    return copy_linear(dstDevice, srcDevice, ByteCount, AW_COPY_D2D, default_stream, false);
}

CUresult awcu_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
    return copy_linear(dst, src, ByteCount, AW_COPY_DEFAULT, hStream, true);
}

CUresult awcu_cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream)
{
    return copy_linear(dstDevice, (uintptr_t)srcHost, ByteCount, AW_COPY_H2D, hStream, true);
}

CUresult awcu_cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream)
{
    return copy_linear((uintptr_t)dstHost, srcDevice, ByteCount, AW_COPY_D2H, hStream, true);
}

CUresult awcu_cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream)
{
    return copy_linear(dstDevice, srcDevice, ByteCount, AW_COPY_D2D, hStream, true);
}

/* ---- Several copies in one call. */

/* When the source is read: in the stream's order (1), during the call (2), or at any time from then on (3). */
static bool access_order_known(int order)
{
    return order >= 1 && order <= 3;
}

/* The attributes of a batch: each is of the copies from its index on, and indices ascend from 0. */
static bool batch_attributes_valid(const CUmemcpyAttributes *attrs, const size_t *indices, size_t n, size_t count)
{
    if (!n || n > count || !attrs || !indices || indices[0] != 0 || indices[n - 1] >= count)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!access_order_known(attrs[i].srcAccessOrder) || (i && indices[i] <= indices[i - 1]))
            return false;
    return true;
}

static enum aw_status copy_batch(const CUdeviceptr *dsts, const CUdeviceptr *srcs, const size_t *sizes, size_t count,
                                 const CUmemcpyAttributes *attrs, const size_t *attrsIdxs, size_t numAttrs, CUstream hStream,
                                 size_t *ret_fail)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    size_t attr = 0;
    *ret_fail = SIZE_MAX; /* no copy in particular */
    enum aw_status status = cu_stream(hStream, &ctx, &stream);
    if (status)
        return status;
    if (!count || !dsts || !srcs || !sizes || !batch_attributes_valid(attrs, attrsIdxs, numAttrs, count))
        return AW_ERR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        while (attr + 1 < numAttrs && attrsIdxs[attr + 1] <= i)
            attr++;
        status = aw_mem_copy(ctx, (void *)(uintptr_t)dsts[i], (const void *)(uintptr_t)srcs[i], sizes[i], AW_COPY_DEFAULT, stream,
                             attrs[attr].srcAccessOrder != 2);
        if (status) {
            *ret_fail = i;
            return status;
        }
    }
    return AW_OK;
}

CUresult awcu_cuMemcpyBatchAsync(const CUdeviceptr *dsts, const CUdeviceptr *srcs, const size_t *sizes, size_t count,
                                 const CUmemcpyAttributes *attrs, const size_t *attrsIdxs, size_t numAttrs, size_t *failIdx,
                                 CUstream hStream)
{
    size_t fail;
    enum aw_status status = copy_batch(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, hStream, &fail);
    if (status && failIdx)
        *failIdx = fail;
    return cu_result(status);
}

CUresult awcu_cuMemcpyBatchAsync_v2(const CUdeviceptr *dsts, const CUdeviceptr *srcs, const size_t *sizes, size_t count,
                                    const CUmemcpyAttributes *attrs, const size_t *attrsIdxs, size_t numAttrs, CUstream hStream)
{
    size_t fail;
    return cu_result(copy_batch(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, hStream, &fail));
}

CUresult awcu_cuMemcpyWithAttributesAsync(CUdeviceptr dst, CUdeviceptr src, size_t size, const CUmemcpyAttributes *attr,
                                          CUstream hStream)
{
    if (!attr || !access_order_known(attr->srcAccessOrder))
        return CUDA_ERROR_INVALID_VALUE;
    return copy_linear(dst, src, size, AW_COPY_DEFAULT, hStream, attr->srcAccessOrder != 2);
}

/* ---- Between contexts. */

static CUresult copy_peer(CUdeviceptr dst, CUcontext dst_handle, CUdeviceptr src, CUcontext src_handle, size_t size,
                          CUstream handle, bool async)
{
    struct aw_ctx *ctx, *dst_ctx, *src_ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(handle, &ctx, &stream);
    if (status == AW_OK)
        status = cu_context(dst_handle, true, &dst_ctx);
    if (status == AW_OK)
        status = cu_context(src_handle, true, &src_ctx);
    if (status)
        return cu_result(status);
    return cu_result(
        aw_mem_copy_peer(dst_ctx, (void *)(uintptr_t)dst, src_ctx, (const void *)(uintptr_t)src, size, stream, async));
}

CUresult awcu_cuMemcpyPeer_on(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext,
                              size_t ByteCount, CUstream default_stream)
{
    return copy_peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, default_stream, false);
}

CUresult awcu_cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext,
                                size_t ByteCount, CUstream hStream)
{
    return copy_peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream, true);
}

/* ---- Rectangles. */

static CUresult copy_3d(const CUDA_MEMCPY3D *copy, CUstream handle, bool async)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    struct aw_copy_box box;
    if (!copy)
        return CUDA_ERROR_INVALID_VALUE;
    enum aw_status status = cu_stream(handle, &ctx, &stream);
    if (status)
        return cu_result(status);
    aw_abi_box_read(copy, &box);
    return cu_result(aw_copy_box_run(ctx, &box, stream, async));
}

static CUresult copy_2d(const CUDA_MEMCPY2D *copy, CUstream handle, bool async)
{
    if (!copy)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_MEMCPY3D box = {
        .srcXInBytes = copy->srcXInBytes, .srcY = copy->srcY, .srcMemoryType = copy->srcMemoryType, .srcHost = copy->srcHost,
        .srcDevice = copy->srcDevice, .srcArray = copy->srcArray, .srcPitch = copy->srcPitch,
        .dstXInBytes = copy->dstXInBytes, .dstY = copy->dstY, .dstMemoryType = copy->dstMemoryType, .dstHost = copy->dstHost,
        .dstDevice = copy->dstDevice, .dstArray = copy->dstArray, .dstPitch = copy->dstPitch,
        .WidthInBytes = copy->WidthInBytes, .Height = copy->Height, .Depth = 1,
    };
    return copy_3d(&box, handle, async);
}

/* Addresses are unified, so the contexts only have to be ones. */
static CUresult copy_3d_peer(const CUDA_MEMCPY3D_PEER *copy, CUstream handle, bool async)
{
    struct aw_ctx *ctx;
    if (!copy)
        return CUDA_ERROR_INVALID_VALUE;
    enum aw_status status = cu_context(copy->srcContext, true, &ctx);
    if (status == AW_OK)
        status = cu_context(copy->dstContext, true, &ctx);
    if (status)
        return cu_result(status);
    CUDA_MEMCPY3D box = {
        .srcXInBytes = copy->srcXInBytes, .srcY = copy->srcY, .srcZ = copy->srcZ, .srcLOD = copy->srcLOD,
        .srcMemoryType = copy->srcMemoryType, .srcHost = copy->srcHost, .srcDevice = copy->srcDevice, .srcArray = copy->srcArray,
        .srcPitch = copy->srcPitch, .srcHeight = copy->srcHeight,
        .dstXInBytes = copy->dstXInBytes, .dstY = copy->dstY, .dstZ = copy->dstZ, .dstLOD = copy->dstLOD,
        .dstMemoryType = copy->dstMemoryType, .dstHost = copy->dstHost, .dstDevice = copy->dstDevice, .dstArray = copy->dstArray,
        .dstPitch = copy->dstPitch, .dstHeight = copy->dstHeight,
        .WidthInBytes = copy->WidthInBytes, .Height = copy->Height, .Depth = copy->Depth,
    };
    return copy_3d(&box, handle, async);
}

CUresult awcu_cuMemcpy2D_v2_on(const CUDA_MEMCPY2D *pCopy, CUstream default_stream)
{
    return copy_2d(pCopy, default_stream, false);
}

CUresult awcu_cuMemcpy2DUnaligned_v2_on(const CUDA_MEMCPY2D *pCopy, CUstream default_stream)
{
    return copy_2d(pCopy, default_stream, false);
}

CUresult awcu_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
    return copy_2d(pCopy, hStream, true);
}

CUresult awcu_cuMemcpy3D_v2_on(const CUDA_MEMCPY3D *pCopy, CUstream default_stream)
{
    return copy_3d(pCopy, default_stream, false);
}

CUresult awcu_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
    return copy_3d(pCopy, hStream, true);
}

CUresult awcu_cuMemcpy3DPeer_on(const CUDA_MEMCPY3D_PEER *pCopy, CUstream default_stream)
{
    return copy_3d_peer(pCopy, default_stream, false);
}

CUresult awcu_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream)
{
    return copy_3d_peer(pCopy, hStream, true);
}

/* ---- Several rectangles in one call. */

enum { OPERAND_POINTER = 1, OPERAND_ARRAY = 2 };

/* Bytes of an element of the operand; 0: it is a pointer, which has none of its own. */
static enum aw_status operand_element(const CUmemcpy3DOperand *o, size_t *ret_bytes)
{
    *ret_bytes = 0;
    if (o->type == OPERAND_POINTER)
        return o->ptr.ptr ? AW_OK : AW_ERR_INVALID_VALUE;
    if (o->type != OPERAND_ARRAY)
        return AW_ERR_INVALID_VALUE;
    const struct aw_array *array = aw_array_from(o->array.array);
    if (array)
        *ret_bytes = aw_shape_element_bytes(&array->shape);
    return *ret_bytes ? AW_OK : AW_ERR_INVALID_HANDLE;
}

/* One side of the copy; rows and layers whose length is 0 are as long as the copy's. */
static bool operand_read(const CUmemcpy3DOperand *o, const CUDA_MEMCPY3D_BATCH_OP *op, size_t element,
                         struct aw_copy_side *ret_side)
{
    if (o->type == OPERAND_ARRAY) {
        *ret_side = (struct aw_copy_side){
            .type = AW_SIDE_ARRAY, .array = o->array.array, .x = o->array.x * element, .y = o->array.y, .z = o->array.z
        };
        return true;
    }
    size_t row = o->ptr.rowLength ?: op->width, rows = o->ptr.layerHeight ?: op->height;
    *ret_side = (struct aw_copy_side){ .type = AW_SIDE_ANY, .base = o->ptr.ptr, .pitch = row * element, .rows = rows };
    return row >= op->width && rows >= op->height && row <= SIZE_MAX / element;
}

/* Between an array and memory elements are the array's; between two arrays they must be as large. */
static enum aw_status operation_read(const CUDA_MEMCPY3D_BATCH_OP *op, struct aw_copy_box *ret_box)
{
    size_t src, dst;
    enum aw_status status = operand_element(&op->src, &src);
    if (status == AW_OK)
        status = operand_element(&op->dst, &dst);
    if (status)
        return status;
    size_t element = src ?: dst ?: 1;
    if ((src && dst && src != dst) || !op->width || !op->height || !op->depth || op->width > SIZE_MAX / element ||
        !access_order_known(op->srcAccessOrder))
        return AW_ERR_INVALID_VALUE;
    *ret_box = (struct aw_copy_box){ .width = op->width * element, .height = op->height, .depth = op->depth };
    if (!operand_read(&op->src, op, element, &ret_box->src) || !operand_read(&op->dst, op, element, &ret_box->dst))
        return AW_ERR_INVALID_VALUE;
    return AW_OK;
}

/* All are looked at before the first is given to the stream. */
static enum aw_status copy_boxes(size_t n, const CUDA_MEMCPY3D_BATCH_OP *ops, unsigned long long flags, CUstream handle,
                                 size_t *ret_fail)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    struct aw_copy_box box;
    struct aw_copy3d copy;
    enum aw_status status = cu_stream(handle, &ctx, &stream);
    *ret_fail = SIZE_MAX; /* no copy in particular */
    if (status == AW_OK && (!n || !ops || flags))
        status = AW_ERR_INVALID_VALUE;
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < n && status == AW_OK; i++) {
            status = operation_read(&ops[i], &box);
            if (status == AW_OK)
                status = pass ? aw_copy_box_run(ctx, &box, stream, ops[i].srcAccessOrder != 2) : aw_copy_box_resolve(&box, &copy);
            if (status)
                *ret_fail = i;
        }
    return status;
}

CUresult awcu_cuMemcpy3DBatchAsync(size_t numOps, const CUDA_MEMCPY3D_BATCH_OP *opList, size_t *failIdx, unsigned long long flags,
                                   CUstream hStream)
{
    size_t fail;
    enum aw_status status = copy_boxes(numOps, opList, flags, hStream, &fail);
    if (status && failIdx)
        *failIdx = fail;
    return cu_result(status);
}

CUresult awcu_cuMemcpy3DBatchAsync_v2(size_t numOps, const CUDA_MEMCPY3D_BATCH_OP *opList, unsigned long long flags,
                                      CUstream hStream)
{
    size_t fail;
    return cu_result(copy_boxes(numOps, opList, flags, hStream, &fail));
}

CUresult awcu_cuMemcpy3DWithAttributesAsync(const CUDA_MEMCPY3D_BATCH_OP *op, unsigned long long flags, CUstream hStream)
{
    return awcu_cuMemcpy3DBatchAsync_v2(1, op, flags, hStream);
}

/* ---- Fills. */

static CUresult fill(uintptr_t dst, size_t pitch, uint32_t value, unsigned element_bytes, size_t count, size_t height,
                     CUstream handle, bool async)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(handle, &ctx, &stream);
    return cu_result(status ? status : aw_mem_fill2d(ctx, dst, pitch, value, element_bytes, count, height, stream, async));
}

CUresult awcu_cuMemsetD8_v2_on(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream default_stream)
{
    return fill(dstDevice, 0, uc, 1, N, 1, default_stream, false);
}

CUresult awcu_cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream)
{
    return fill(dstDevice, 0, uc, 1, N, 1, hStream, true);
}

CUresult awcu_cuMemsetD16_v2_on(CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream default_stream)
{
    return fill(dstDevice, 0, us, 2, N, 1, default_stream, false);
}

CUresult awcu_cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream)
{
    return fill(dstDevice, 0, us, 2, N, 1, hStream, true);
}

CUresult awcu_cuMemsetD32_v2_on(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream default_stream)
{
    return fill(dstDevice, 0, ui, 4, N, 1, default_stream, false);
}

CUresult awcu_cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream)
{
    return fill(dstDevice, 0, ui, 4, N, 1, hStream, true);
}

CUresult awcu_cuMemsetD2D8_v2_on(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height,
                                 CUstream default_stream)
{
    return fill(dstDevice, dstPitch, uc, 1, Width, Height, default_stream, false);
}

CUresult awcu_cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height,
                                CUstream hStream)
{
    return fill(dstDevice, dstPitch, uc, 1, Width, Height, hStream, true);
}

CUresult awcu_cuMemsetD2D16_v2_on(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height,
                                  CUstream default_stream)
{
    return fill(dstDevice, dstPitch, us, 2, Width, Height, default_stream, false);
}

CUresult awcu_cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height,
                                 CUstream hStream)
{
    return fill(dstDevice, dstPitch, us, 2, Width, Height, hStream, true);
}

CUresult awcu_cuMemsetD2D32_v2_on(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height,
                                  CUstream default_stream)
{
    return fill(dstDevice, dstPitch, ui, 4, Width, Height, default_stream, false);
}

CUresult awcu_cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height,
                                 CUstream hStream)
{
    return fill(dstDevice, dstPitch, ui, 4, Width, Height, hStream, true);
}
