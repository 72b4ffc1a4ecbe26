/* Runtime API: copies and fills.  Copies of rectangles into and out of arrays are cudart_array.c's; boxes are here.
 * Each public function is one of two forms: on a stream it returns as soon as CUDA would, without one when it is done.  The _ptds
 * forms are those without a stream on the thread's own default stream. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "abi"
#include "abi/cudart.h"

#include "base/log.h"

/* ---- One dimension */

static cudaError_t copy(void *dst, const void *src, size_t size, cudaMemcpyKind cuda_kind, cudaStream_t handle, bool async)
{
    static const enum aw_copy_kind kinds[] = { AW_COPY_H2H, AW_COPY_H2D, AW_COPY_D2H, AW_COPY_D2D, AW_COPY_DEFAULT };
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    if ((unsigned)cuda_kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    enum aw_status status = aw_rt_stream(handle, &ctx, &stream);
    return aw_rt_error(status ? status : aw_mem_copy(ctx, dst, src, size, kinds[cuda_kind], stream, async));
}

cudaError_t awrt_cudaMemcpy_on(void *dst, const void *src, size_t size, cudaMemcpyKind kind, CUstream default_stream)
{
    return copy(dst, src, size, kind, default_stream, false);
}

cudaError_t awrt_cudaMemcpyAsync(void *dst, const void *src, size_t size, cudaMemcpyKind kind, cudaStream_t stream)
{
    return copy(dst, src, size, kind, stream, true);
}

/* ---- Symbols */

cudaError_t aw_rt_symbol_at(const void *symbol, size_t offset, size_t size, void **ret_pointer)
{
    struct aw_ctx *ctx;
    uintptr_t address;
    size_t symbol_size;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (!status)
        status = aw_registry_symbol(ctx, symbol, &address, &symbol_size);
    if (status)
        return aw_rt_error(status);
    if (offset > symbol_size || size > symbol_size - offset)
        return cudaErrorInvalidValue;
    *ret_pointer = (void *)(address + offset);
    return cudaSuccess;
}

static cudaError_t copy_to_symbol(const void *symbol, const void *src, size_t size, size_t offset, cudaMemcpyKind kind,
                                  cudaStream_t stream, bool async)
{
    void *dst = NULL;
    if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    cudaError_t error = aw_rt_symbol_at(symbol, offset, size, &dst);
    return error ? error : copy(dst, src, size, kind, stream, async);
}

static cudaError_t copy_from_symbol(void *dst, const void *symbol, size_t size, size_t offset, cudaMemcpyKind kind,
                                    cudaStream_t stream, bool async)
{
    void *src = NULL;
    if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    cudaError_t error = aw_rt_symbol_at(symbol, offset, size, &src);
    return error ? error : copy(dst, src, size, kind, stream, async);
}

cudaError_t awrt_cudaMemcpyToSymbol_on(const void *symbol, const void *src, size_t size, size_t offset, cudaMemcpyKind kind,
                                       CUstream default_stream)
{
    return copy_to_symbol(symbol, src, size, offset, kind, default_stream, false);
}

cudaError_t awrt_cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t size, size_t offset, cudaMemcpyKind kind,
                                         cudaStream_t stream)
{
    return copy_to_symbol(symbol, src, size, offset, kind, stream, true);
}

cudaError_t awrt_cudaMemcpyFromSymbol_on(void *dst, const void *symbol, size_t size, size_t offset, cudaMemcpyKind kind,
                                         CUstream default_stream)
{
    return copy_from_symbol(dst, symbol, size, offset, kind, default_stream, false);
}

cudaError_t awrt_cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t size, size_t offset, cudaMemcpyKind kind,
                                           cudaStream_t stream)
{
    return copy_from_symbol(dst, symbol, size, offset, kind, stream, true);
}

/* ---- Two and three dimensions */

enum aw_status aw_rt_copy_types(cudaMemcpyKind kind, struct aw_copy_box *box)
{
    if ((unsigned)kind > cudaMemcpyDefault)
        return AW_ERR_INVALID_DIRECTION;
    enum aw_side_type src = kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice ? AW_SIDE_HOST : AW_SIDE_DEVICE;
    enum aw_side_type dst = kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost ? AW_SIDE_HOST : AW_SIDE_DEVICE;
    box->src.type = box->src.array ? AW_SIDE_ARRAY : kind == cudaMemcpyDefault ? AW_SIDE_ANY : src;
    box->dst.type = box->dst.array ? AW_SIDE_ARRAY : kind == cudaMemcpyDefault ? AW_SIDE_ANY : dst;
    return AW_OK;
}

size_t aw_rt_element_bytes(cudaArray_const_t handle)
{
    const struct aw_array *array = handle ? aw_array_from(handle) : NULL;
    return array ? aw_shape_element_bytes(&array->shape) : handle ? 0 : 1;
}

/* One side.  Positions in an array, and the extent where there is one, count elements. */
static enum aw_status side_read(cudaArray_const_t array, const cudaPitchedPtr *p, const cudaPos *pos,
                                struct aw_copy_side *ret_side)
{
    size_t each = aw_rt_element_bytes(array);
    if (array && p->ptr)
        return AW_ERR_INVALID_VALUE;
    *ret_side = (struct aw_copy_side){ .base = (uintptr_t)p->ptr, .y = pos->y, .z = pos->z, .pitch = p->pitch, .rows = p->ysize,
                                       .array = array };
    if (!each)
        return AW_ERR_INVALID_HANDLE;
    return __builtin_mul_overflow(pos->x, each, &ret_side->x) ? AW_ERR_INVALID_VALUE : AW_OK;
}

enum aw_status aw_rt_copy_box(const cudaMemcpy3DParms *p, struct aw_copy_box *ret_box)
{
    if (!p)
        return AW_ERR_INVALID_VALUE;
    *ret_box = (struct aw_copy_box){ .height = p->extent.height, .depth = p->extent.depth };
    enum aw_status status = side_read(p->srcArray, &p->srcPtr, &p->srcPos, &ret_box->src);
    if (!status)
        status = side_read(p->dstArray, &p->dstPtr, &p->dstPos, &ret_box->dst);
    if (!status &&
        __builtin_mul_overflow(p->extent.width, aw_rt_element_bytes(p->srcArray ? p->srcArray : p->dstArray), &ret_box->width))
        status = AW_ERR_INVALID_VALUE;
    return status ? status : aw_rt_copy_types(p->kind, ret_box);
}

static cudaError_t copy_box(const struct aw_copy_box *box, cudaStream_t handle, bool async)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = aw_rt_stream(handle, &ctx, &stream);
    return aw_rt_error(status ? status : aw_copy_box_run(ctx, box, stream, async));
}

static cudaError_t copy2d(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height,
                          cudaMemcpyKind kind, cudaStream_t stream, bool async)
{
    struct aw_copy_box box = { .src = { .base = (uintptr_t)src, .pitch = src_pitch, .rows = height },
                               .dst = { .base = (uintptr_t)dst, .pitch = dst_pitch, .rows = height },
                               .width = width, .height = height, .depth = 1 };
    enum aw_status status = aw_rt_copy_types(kind, &box);
    if (!status && (width > src_pitch || width > dst_pitch)) /* also where there is one row or none, as CUDA has it */
        status = AW_ERR_INVALID_PITCH;
    return status ? aw_rt_error(status) : copy_box(&box, stream, async);
}

cudaError_t awrt_cudaMemcpy2D_on(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height,
                                 cudaMemcpyKind kind, CUstream default_stream)
{
    return copy2d(dst, dst_pitch, src, src_pitch, width, height, kind, default_stream, false);
}

cudaError_t awrt_cudaMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height,
                                   cudaMemcpyKind kind, cudaStream_t stream)
{
    return copy2d(dst, dst_pitch, src, src_pitch, width, height, kind, stream, true);
}

static cudaError_t copy3d_params(const cudaMemcpy3DParms *p, cudaStream_t stream, bool async)
{
    struct aw_copy_box box;
    enum aw_status status = aw_rt_copy_box(p, &box);
    return status ? aw_rt_error(status) : copy_box(&box, stream, async);
}

cudaError_t awrt_cudaMemcpy3D_on(const cudaMemcpy3DParms *p, CUstream default_stream)
{
    return copy3d_params(p, default_stream, false);
}

cudaError_t awrt_cudaMemcpy3DAsync(const cudaMemcpy3DParms *p, cudaStream_t stream)
{
    return copy3d_params(p, stream, true);
}

/* ---- Between devices */

/* The primary context of a device, started. */
static enum aw_status peer_ctx(int ordinal, struct aw_ctx **ret_ctx)
{
    struct aw_device *device;
    enum aw_status status = aw_rt_device_at(ordinal, &device);
    if (!status)
        status = aw_primary_use(device);
    if (!status)
        *ret_ctx = device->primary;
    return status;
}

static cudaError_t copy_peer(void *dst, int dst_device, const void *src, int src_device, size_t size, cudaStream_t handle,
                             bool async)
{
    struct aw_ctx *ctx, *dst_ctx, *src_ctx;
    struct aw_cstream *stream;
    enum aw_status status = aw_rt_stream(handle, &ctx, &stream);
    if (!status)
        status = peer_ctx(dst_device, &dst_ctx);
    if (!status)
        status = peer_ctx(src_device, &src_ctx);
    if (status)
        return aw_rt_error(status);
    return aw_rt_error(aw_mem_copy_peer(dst_ctx, dst, src_ctx, src, size, stream, async));
}

cudaError_t awrt_cudaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device, size_t size)
{
    return copy_peer(dst, dst_device, src, src_device, size, CU_STREAM_LEGACY, false);
}

cudaError_t awrt_cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device, size_t size,
                                     cudaStream_t stream)
{
    return copy_peer(dst, dst_device, src, src_device, size, stream, true);
}

static cudaError_t copy3d_peer(const cudaMemcpy3DPeerParms *p, cudaStream_t stream, bool async)
{
    struct aw_ctx *ctx;
    if (!p)
        return cudaErrorInvalidValue;
    enum aw_status status = peer_ctx(p->srcDevice, &ctx);
    if (!status)
        status = peer_ctx(p->dstDevice, &ctx);
    if (status)
        return aw_rt_error(status);
    if (p->srcDevice != p->dstDevice) {
        aw_say(PEER_BOX);
        return cudaErrorNotSupported;
    }
    cudaMemcpy3DParms params = { p->srcArray, p->srcPos, p->srcPtr, p->dstArray, p->dstPos, p->dstPtr, p->extent,
                                 cudaMemcpyDeviceToDevice };
    return copy3d_params(&params, stream, async);
}

cudaError_t awrt_cudaMemcpy3DPeer_on(const cudaMemcpy3DPeerParms *p, CUstream default_stream)
{
    return copy3d_peer(p, default_stream, false);
}

cudaError_t awrt_cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms *p, cudaStream_t stream)
{
    return copy3d_peer(p, stream, true);
}

/* ---- Fills */

static cudaError_t fill(void *dst, int value, size_t size, cudaStream_t handle, bool async)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = aw_rt_stream(handle, &ctx, &stream);
    if (status)
        return aw_rt_error(status);
    return aw_rt_error(aw_mem_fill(ctx, (uintptr_t)dst, (uint8_t)value, 1, size, stream, async));
}

static cudaError_t fill2d(void *dst, size_t pitch, int value, size_t width, size_t height, cudaStream_t handle, bool async)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = aw_rt_stream(handle, &ctx, &stream);
    if (status)
        return aw_rt_error(status);
    return aw_rt_error(aw_mem_fill2d(ctx, (uintptr_t)dst, pitch, (uint8_t)value, 1, width, height, stream, async));
}

static cudaError_t fill3d(cudaPitchedPtr dst, int value, cudaExtent extent, cudaStream_t stream, bool async)
{
    size_t slice, rows;
    if (__builtin_mul_overflow(dst.pitch, dst.ysize, &slice) || __builtin_mul_overflow(extent.height, extent.depth, &rows))
        return cudaErrorInvalidValue;
    if (extent.depth <= 1 || extent.height == dst.ysize) /* the slices follow each other without a gap */
        return fill2d(dst.ptr, dst.pitch, value, extent.width, rows, stream, async);
    cudaError_t error = cudaSuccess;
    for (size_t z = 0; !error && z < extent.depth; z++)
        error = fill2d((char *)dst.ptr + z * slice, dst.pitch, value, extent.width, extent.height, stream, async);
    return error;
}

cudaError_t awrt_cudaMemset_on(void *dst, int value, size_t size, CUstream default_stream)
{
    return fill(dst, value, size, default_stream, false);
}

cudaError_t awrt_cudaMemsetAsync(void *dst, int value, size_t size, cudaStream_t stream)
{
    return fill(dst, value, size, stream, true);
}

cudaError_t awrt_cudaMemset2D_on(void *dst, size_t pitch, int value, size_t width, size_t height, CUstream default_stream)
{
    return fill2d(dst, pitch, value, width, height, default_stream, false);
}

cudaError_t awrt_cudaMemset2DAsync(void *dst, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream)
{
    return fill2d(dst, pitch, value, width, height, stream, true);
}

cudaError_t awrt_cudaMemset3D_on(cudaPitchedPtr dst, int value, cudaExtent extent, CUstream default_stream)
{
    return fill3d(dst, value, extent, default_stream, false);
}

cudaError_t awrt_cudaMemset3DAsync(cudaPitchedPtr dst, int value, cudaExtent extent, cudaStream_t stream)
{
    return fill3d(dst, value, extent, stream, true);
}
