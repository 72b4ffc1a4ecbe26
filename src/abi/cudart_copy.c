/* Runtime API: copies and fills.  Copies of rectangles into and out of arrays are cudart_array.c's; boxes are here.
 * Each public function is one of two forms: on a stream it returns as soon as CUDA would, without one when it is done.  The _ptds
 * forms are those without a stream on the thread's own default stream. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "abi"
#include "abi/cudart.h"

#include "base/log.h"

static cudaError_t kind_check(cudaMemcpyKind kind, enum aw_copy_kind *ret_kind)
{
    static const enum aw_copy_kind kinds[] = { AW_COPY_H2H, AW_COPY_H2D, AW_COPY_D2H, AW_COPY_D2D, AW_COPY_DEFAULT };
    if ((unsigned)kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    *ret_kind = kinds[kind];
    return cudaSuccess;
}

/* ---- One dimension */

static cudaError_t copy(void *dst, const void *src, size_t size, cudaMemcpyKind cuda_kind, cudaStream_t handle, bool async)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_copy_kind kind;
    cudaError_t error = kind_check(cuda_kind, &kind);
    if (error)
        return error;
    enum aw_status status = aw_rt_stream(handle, &ctx, &stream);
    if (status || !size)
        return aw_rt_error(status);
    if (!dst || !src)
        return cudaErrorInvalidValue;
    return aw_rt_error(aw_mem_copy(ctx, dst, src, size, kind, stream, async));
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

static cudaError_t copy3d(const struct aw_copy3d *what, cudaStream_t handle, bool async)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = aw_rt_stream(handle, &ctx, &stream);
    if (status || !what->width || !what->height || !what->depth)
        return aw_rt_error(status);
    if (!what->dst || !what->src)
        return cudaErrorInvalidValue;
    return aw_rt_error(aw_mem_copy3d(ctx, what, stream, async));
}

static cudaError_t copy2d(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height,
                          cudaMemcpyKind cuda_kind, cudaStream_t stream, bool async)
{
    struct aw_copy3d what = { .src = src, .dst = dst, .src_pitch = src_pitch, .dst_pitch = dst_pitch, .width = width,
                              .height = height, .depth = 1 };
    cudaError_t error = kind_check(cuda_kind, &what.kind);
    if (error)
        return error;
    if (width > src_pitch || width > dst_pitch)
        return cudaErrorInvalidPitchValue;
    if (__builtin_mul_overflow(src_pitch, height, &what.src_slice) ||
        __builtin_mul_overflow(dst_pitch, height, &what.dst_slice))
        return cudaErrorInvalidValue;
    return copy3d(&what, stream, async);
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

/* One side of a copied box. */
struct end {
    const struct aw_array *array; /* or NULL: */
    const cudaPitchedPtr *pitched;
    const cudaPos *pos; /* x in elements of the array, else in bytes */
};

/* The first byte of an end's box, and the distances; NULL for a pitched pointer that is NULL. */
static cudaError_t end_at(const struct end *end, const struct aw_copy3d *what, char **ret_at, size_t *ret_pitch, size_t *ret_slice)
{
    const cudaPos *pos = end->pos;
    size_t z, y, at;
    if (end->array) {
        const struct aw_array_shape *shape = &end->array->shape;
        uintptr_t first;
        if (__builtin_mul_overflow(pos->x, (size_t)aw_shape_element_bytes(shape), &at) ||
            aw_array_box(end->array, at, pos->y, pos->z, what->width, what->height, what->depth, &first))
            return cudaErrorInvalidValue;
        *ret_at = (char *)first;
        *ret_pitch = end->array->pitch;
        *ret_slice = end->array->slice;
        return cudaSuccess;
    }
    const cudaPitchedPtr *p = end->pitched;
    if (__builtin_mul_overflow(p->pitch, p->ysize, ret_slice) || __builtin_mul_overflow(*ret_slice, pos->z, &z) ||
        __builtin_mul_overflow(p->pitch, pos->y, &y) || __builtin_add_overflow(z, y, &at) ||
        __builtin_add_overflow(at, pos->x, &at))
        return cudaErrorInvalidValue;
    *ret_at = p->ptr ? (char *)p->ptr + at : NULL;
    *ret_pitch = p->pitch;
    return cudaSuccess;
}

static cudaError_t box_copy(const struct end *dst_end, const struct end *src_end, const cudaExtent *extent,
                            enum aw_copy_kind kind, cudaStream_t stream, bool async)
{
    struct aw_copy3d what = { .width = extent->width, .height = extent->height, .depth = extent->depth, .kind = kind };
    char *src, *dst;
    const struct aw_array *counted = src_end->array ? src_end->array : dst_end->array; /* whose elements the extent counts */
    if (counted && __builtin_mul_overflow(what.width, (size_t)aw_shape_element_bytes(&counted->shape),
                                          &what.width))
        return cudaErrorInvalidValue;
    cudaError_t error = end_at(src_end, &what, &src, &what.src_pitch, &what.src_slice);
    if (!error)
        error = end_at(dst_end, &what, &dst, &what.dst_pitch, &what.dst_slice);
    if (error)
        return error;
    what.src = src;
    what.dst = dst;
    if (what.height > 1 || what.depth > 1)
        if (what.width > what.src_pitch || what.width > what.dst_pitch)
            return cudaErrorInvalidPitchValue;
    return copy3d(&what, stream, async);
}

/* An array handle that may be absent: false when it is there and dead. */
static bool end_array(cudaArray_const_t handle, struct end *end)
{
    end->array = handle ? aw_array_from(handle) : NULL;
    return !handle || end->array;
}

static cudaError_t copy3d_params(const cudaMemcpy3DParms *p, cudaStream_t stream, bool async)
{
    enum aw_copy_kind kind;
    if (!p || (p->srcArray && p->srcPtr.ptr) || (p->dstArray && p->dstPtr.ptr))
        return cudaErrorInvalidValue;
    struct end src = { NULL, &p->srcPtr, &p->srcPos }, dst = { NULL, &p->dstPtr, &p->dstPos };
    cudaError_t error = kind_check(p->kind, &kind);
    if (error)
        return error;
    if (!end_array(p->srcArray, &src) || !end_array(p->dstArray, &dst))
        return cudaErrorInvalidResourceHandle;
    return box_copy(&dst, &src, &p->extent, kind, stream, async);
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
    if (status || !size)
        return aw_rt_error(status);
    if (!dst || !src)
        return cudaErrorInvalidValue;
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
    if (!p || (p->srcArray && p->srcPtr.ptr) || (p->dstArray && p->dstPtr.ptr))
        return cudaErrorInvalidValue;
    enum aw_status status = peer_ctx(p->srcDevice, &ctx);
    if (!status)
        status = peer_ctx(p->dstDevice, &ctx);
    if (status)
        return aw_rt_error(status);
    if (p->srcDevice != p->dstDevice) {
        aw_fixme("cudaMemcpy3DPeer between two devices is not implemented");
        return cudaErrorNotSupported;
    }
    struct end src = { NULL, &p->srcPtr, &p->srcPos }, dst = { NULL, &p->dstPtr, &p->dstPos };
    if (!end_array(p->srcArray, &src) || !end_array(p->dstArray, &dst))
        return cudaErrorInvalidResourceHandle;
    return box_copy(&dst, &src, &p->extent, AW_COPY_D2D, stream, async);
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
    if (status || !size)
        return aw_rt_error(status);
    if (!dst)
        return cudaErrorInvalidValue;
    return aw_rt_error(aw_mem_fill(ctx, (uintptr_t)dst, (uint8_t)value, 1, size, stream, async));
}

static cudaError_t fill2d(void *dst, size_t pitch, int value, size_t width, size_t height, cudaStream_t handle, bool async)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    if (height > 1 && width > pitch)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_stream(handle, &ctx, &stream);
    if (status || !width || !height)
        return aw_rt_error(status);
    if (!dst)
        return cudaErrorInvalidValue;
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
