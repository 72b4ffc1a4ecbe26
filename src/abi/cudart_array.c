/* Runtime API: arrays, mipmapped arrays, channel formats, and copies of rectangles into and out of arrays.
 * Boxes (cudaMemcpy3D) are cudart_copy.c's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/cudart_array.h"

/* ---- Channel formats */

enum { BLOCKS = 17 /* cudaChannelFormatKindUnsignedBlockCompressed1: BC1 to BC7 from here, in AW_FORMAT_BLOCK's order */ };

bool aw_rt_format(const cudaChannelFormatDesc *desc, unsigned *ret_format, unsigned *ret_channels)
{
    static const unsigned formats[3][3] = { /* by kind; 8, 16, 32 bits; 0: none */
        { AW_FORMAT_S8, AW_FORMAT_S16, AW_FORMAT_S32 }, { AW_FORMAT_U8, AW_FORMAT_U16, AW_FORMAT_U32 },
        { 0, AW_FORMAT_HALF, AW_FORMAT_FLOAT } };
    unsigned channels = desc->w ? 4 : desc->z ? 3 : desc->y ? 2 : 1;
    const struct aw_block_format *block = (unsigned)desc->f >= BLOCKS
                                              ? aw_block_format((unsigned)desc->f - BLOCKS + AW_FORMAT_BLOCK)
                                              : NULL;
    int bits[4] = { desc->x, desc->y, desc->z, desc->w };
    for (unsigned i = 1; i < channels; i++)
        if (bits[i] != desc->x)
            return false;
    if (block) {
        *ret_format = (unsigned)desc->f - BLOCKS + AW_FORMAT_BLOCK;
        *ret_channels = channels;
        return channels == block->channels && desc->x == (block->kind == 6 ? 16 : 8);
    }
    if (channels == 3 || (unsigned)desc->f > cudaChannelFormatKindFloat || (desc->x != 8 && desc->x != 16 && desc->x != 32))
        return false;
    *ret_format = formats[desc->f][desc->x / 16];
    *ret_channels = channels;
    return *ret_format != 0;
}

cudaChannelFormatDesc aw_rt_channel_desc(unsigned format, unsigned channels)
{
    const struct aw_block_format *block = aw_block_format(format);
    int bits = block ? block->kind == 6 ? 16 : 8 : (int)aw_format_bytes(format) * 8;
    cudaChannelFormatKind kind = block ? (cudaChannelFormatKind)(format - AW_FORMAT_BLOCK + BLOCKS)
                                 : format == AW_FORMAT_HALF || format == AW_FORMAT_FLOAT ? cudaChannelFormatKindFloat
                                 : format >= AW_FORMAT_S8 ? cudaChannelFormatKindSigned : cudaChannelFormatKindUnsigned;
    return (cudaChannelFormatDesc){ bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0, channels > 3 ? bits : 0, kind };
}

/* ---- Arrays */

static cudaError_t shape_of(const cudaChannelFormatDesc *desc, cudaExtent extent, unsigned flags,
                            struct aw_array_shape *ret_shape)
{
    *ret_shape = (struct aw_array_shape){ .width = extent.width, .height = extent.height, .depth = extent.depth, .flags = flags };
    if (!desc)
        return cudaErrorInvalidValue;
    return aw_rt_format(desc, &ret_shape->format, &ret_shape->channels) ? cudaSuccess : cudaErrorInvalidChannelDescriptor;
}

cudaError_t awrt_cudaMalloc3DArray(cudaArray_t *array, const cudaChannelFormatDesc *desc, cudaExtent extent, unsigned int flags)
{
    struct aw_ctx *ctx;
    struct aw_array *made;
    struct aw_array_shape shape;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (status)
        return aw_rt_error(status);
    if (!array)
        return cudaErrorInvalidValue;
    cudaError_t error = shape_of(desc, extent, flags, &shape);
    if (error)
        return error;
    status = aw_array_create(ctx, &shape, &made);
    if (status == AW_OK)
        *array = (cudaArray_t)made;
    return aw_rt_error(status);
}

cudaError_t awrt_cudaMallocArray(cudaArray_t *array, const cudaChannelFormatDesc *desc, size_t width, size_t height,
                                 unsigned int flags)
{
    return awrt_cudaMalloc3DArray(array, desc, (cudaExtent){ width, height, 0 }, flags);
}

cudaError_t awrt_cudaMallocMipmappedArray(cudaMipmappedArray_t *mipmappedArray, const cudaChannelFormatDesc *desc,
                                          cudaExtent extent, unsigned int numLevels, unsigned int flags)
{
    struct aw_ctx *ctx;
    struct aw_mipmap *made;
    struct aw_array_shape shape;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (status)
        return aw_rt_error(status);
    if (!mipmappedArray)
        return cudaErrorInvalidValue;
    cudaError_t error = shape_of(desc, extent, flags, &shape);
    if (error)
        return error;
    status = aw_mipmap_create(ctx, &shape, numLevels, &made);
    if (status == AW_OK)
        *mipmappedArray = (cudaMipmappedArray_t)made;
    return aw_rt_error(status);
}

cudaError_t awrt_cudaFreeArray(cudaArray_t array)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_rt_ctx_any(&ctx);
    if (status || !array)
        return aw_rt_error(status);
    struct aw_array *found = aw_array_from(array);
    return aw_rt_error(found ? aw_array_destroy(found) : AW_ERR_INVALID_HANDLE);
}

cudaError_t awrt_cudaFreeMipmappedArray(cudaMipmappedArray_t mipmappedArray)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_rt_ctx_any(&ctx);
    if (status || !mipmappedArray)
        return aw_rt_error(status);
    struct aw_mipmap *found = aw_mipmap_from(mipmappedArray);
    return aw_rt_error(found ? aw_mipmap_destroy(found) : AW_ERR_INVALID_HANDLE);
}

cudaError_t awrt_cudaArrayGetInfo(cudaChannelFormatDesc *desc, cudaExtent *extent, unsigned int *flags, cudaArray_t array)
{
    const struct aw_array *found = aw_array_from(array);
    if (!found)
        return cudaErrorInvalidResourceHandle;
    const struct aw_array_shape *shape = &found->shape;
    if (desc)
        *desc = aw_rt_channel_desc(shape->format, shape->channels);
    if (extent)
        *extent = (cudaExtent){ shape->width, shape->height, shape->depth };
    if (flags)
        *flags = shape->flags;
    return cudaSuccess;
}

cudaError_t awrt_cudaGetChannelDesc(cudaChannelFormatDesc *desc, cudaArray_const_t array)
{
    const struct aw_array *found = aw_array_from(array);
    if (!desc)
        return cudaErrorInvalidValue;
    if (!found)
        return cudaErrorInvalidResourceHandle;
    *desc = aw_rt_channel_desc(found->shape.format, found->shape.channels);
    return cudaSuccess;
}

/* ---- What they take: structures and numbers are the driver's */

/* ---- Copies of rectangles */

/* Memory and arrays as sides; `kind` may not say the contrary of what an array is. */
static cudaError_t copy_rect(const struct aw_copy_side *dst, const struct aw_copy_side *src, size_t width, size_t height,
                             cudaMemcpyKind kind, cudaStream_t handle, bool async)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    struct aw_copy_box box = { *src, *dst, width, height, 1 };
    enum aw_status status = aw_rt_copy_types(kind, &box);
    if (status || kind == cudaMemcpyHostToHost || (kind == cudaMemcpyHostToDevice && src->array) ||
        (kind == cudaMemcpyDeviceToHost && dst->array))
        return cudaErrorInvalidMemcpyDirection;
    if ((src->array && !aw_array_from(src->array)) || (dst->array && !aw_array_from(dst->array)))
        return cudaErrorInvalidResourceHandle;
    status = aw_rt_stream(handle, &ctx, &stream);
    return aw_rt_error(status ? status : aw_copy_box_run(ctx, &box, stream, async));
}

/* `count` bytes in a row on one side, and in the array's rows from (x, y) on: the rest of a row, whole rows, the head of a
 * row. */
static cudaError_t copy_rows(struct aw_copy_side *dst, struct aw_copy_side *src, size_t count, cudaMemcpyKind kind,
                             cudaStream_t stream, bool async)
{
    struct aw_copy_side *rows = dst->array ? dst : src, *line = dst->array ? src : dst;
    const struct aw_array *array = aw_array_from(rows->array);
    if (!array)
        return cudaErrorInvalidResourceHandle;
    size_t row = aw_shape_row_bytes(&array->shape);
    if (rows->x >= row)
        return count ? cudaErrorInvalidValue : cudaSuccess;
    cudaError_t error = cudaSuccess;
    while (count && !error) {
        size_t width = row - rows->x < count ? row - rows->x : count, height = width == row ? count / row : 1;
        line->pitch = width;
        error = copy_rect(dst, src, width, height, kind, stream, async);
        line->base = line->base ? line->base + width * height : 0;
        count -= width * height;
        rows->x = 0;
        rows->y += height;
    }
    return error;
}

#define IN_ARRAY(handle, at_x, at_y) { .array = (handle), .x = (at_x), .y = (at_y) }
#define IN_MEMORY(pointer, row_pitch) { .base = (uintptr_t)(pointer), .pitch = (row_pitch) }

static cudaError_t to_array(cudaArray_t dst, size_t x, size_t y, const void *src, size_t count, cudaMemcpyKind kind,
                            cudaStream_t stream, bool async)
{
    struct aw_copy_side to = IN_ARRAY(dst, x, y), from = IN_MEMORY(src, count);
    return copy_rows(&to, &from, count, kind, stream, async);
}

static cudaError_t from_array(void *dst, cudaArray_const_t src, size_t x, size_t y, size_t count, cudaMemcpyKind kind,
                              cudaStream_t stream, bool async)
{
    struct aw_copy_side to = IN_MEMORY(dst, count), from = IN_ARRAY(src, x, y);
    return src ? copy_rows(&to, &from, count, kind, stream, async) : cudaErrorInvalidResourceHandle;
}

static cudaError_t to_array_2d(cudaArray_t dst, size_t x, size_t y, const void *src, size_t pitch, size_t width, size_t height,
                               cudaMemcpyKind kind, cudaStream_t stream, bool async)
{
    struct aw_copy_side to = IN_ARRAY(dst, x, y), from = IN_MEMORY(src, pitch);
    return dst ? copy_rect(&to, &from, width, height, kind, stream, async) : cudaErrorInvalidResourceHandle;
}

static cudaError_t from_array_2d(void *dst, size_t pitch, cudaArray_const_t src, size_t x, size_t y, size_t width, size_t height,
                                 cudaMemcpyKind kind, cudaStream_t stream, bool async)
{
    struct aw_copy_side to = IN_MEMORY(dst, pitch), from = IN_ARRAY(src, x, y);
    return src ? copy_rect(&to, &from, width, height, kind, stream, async) : cudaErrorInvalidResourceHandle;
}

static cudaError_t across_2d(cudaArray_t dst, size_t dst_x, size_t dst_y, cudaArray_const_t src, size_t src_x, size_t src_y,
                             size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream)
{
    struct aw_copy_side to = IN_ARRAY(dst, dst_x, dst_y), from = IN_ARRAY(src, src_x, src_y);
    return dst && src ? copy_rect(&to, &from, width, height, kind, stream, false) : cudaErrorInvalidResourceHandle;
}

/* Pieces that lie in one row of both. */
static cudaError_t across(cudaArray_t dst, size_t dst_x, size_t dst_y, cudaArray_const_t src, size_t src_x, size_t src_y,
                          size_t count, cudaMemcpyKind kind, cudaStream_t stream)
{
    const struct aw_array *to = aw_array_from(dst), *from = aw_array_from(src);
    if (!to || !from)
        return cudaErrorInvalidResourceHandle;
    size_t to_row = aw_shape_row_bytes(&to->shape);
    size_t from_row = aw_shape_row_bytes(&from->shape);
    cudaError_t error = cudaSuccess;
    while (count && !error) {
        if (dst_x >= to_row || src_x >= from_row)
            return cudaErrorInvalidValue;
        size_t width = count;
        width = width > to_row - dst_x ? to_row - dst_x : width;
        width = width > from_row - src_x ? from_row - src_x : width;
        error = across_2d(dst, dst_x, dst_y, src, src_x, src_y, width, 1, kind, stream);
        count -= width;
        dst_x += width;
        src_x += width;
        dst_y += dst_x == to_row;
        src_y += src_x == from_row;
        dst_x = dst_x == to_row ? 0 : dst_x;
        src_x = src_x == from_row ? 0 : src_x;
    }
    return error;
}

cudaError_t awrt_cudaMemcpyToArray_on(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t count,
                                      cudaMemcpyKind kind, CUstream default_stream)
{
    return to_array(dst, wOffset, hOffset, src, count, kind, default_stream, false);
}

cudaError_t awrt_cudaMemcpyToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t count,
                                        cudaMemcpyKind kind, cudaStream_t stream)
{
    return to_array(dst, wOffset, hOffset, src, count, kind, stream, true);
}

cudaError_t awrt_cudaMemcpyFromArray_on(void *dst, cudaArray_const_t src, size_t wOffset, size_t hOffset, size_t count,
                                        cudaMemcpyKind kind, CUstream default_stream)
{
    return from_array(dst, src, wOffset, hOffset, count, kind, default_stream, false);
}

cudaError_t awrt_cudaMemcpyFromArrayAsync(void *dst, cudaArray_const_t src, size_t wOffset, size_t hOffset, size_t count,
                                          cudaMemcpyKind kind, cudaStream_t stream)
{
    return from_array(dst, src, wOffset, hOffset, count, kind, stream, true);
}

cudaError_t awrt_cudaMemcpy2DToArray_on(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t spitch,
                                        size_t width, size_t height, cudaMemcpyKind kind, CUstream default_stream)
{
    return to_array_2d(dst, wOffset, hOffset, src, spitch, width, height, kind, default_stream, false);
}

cudaError_t awrt_cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t spitch,
                                          size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream)
{
    return to_array_2d(dst, wOffset, hOffset, src, spitch, width, height, kind, stream, true);
}

cudaError_t awrt_cudaMemcpy2DFromArray_on(void *dst, size_t dpitch, cudaArray_const_t src, size_t wOffset, size_t hOffset,
                                          size_t width, size_t height, cudaMemcpyKind kind, CUstream default_stream)
{
    return from_array_2d(dst, dpitch, src, wOffset, hOffset, width, height, kind, default_stream, false);
}

cudaError_t awrt_cudaMemcpy2DFromArrayAsync(void *dst, size_t dpitch, cudaArray_const_t src, size_t wOffset, size_t hOffset,
                                            size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream)
{
    return from_array_2d(dst, dpitch, src, wOffset, hOffset, width, height, kind, stream, true);
}

cudaError_t awrt_cudaMemcpyArrayToArray_on(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst, cudaArray_const_t src,
                                           size_t wOffsetSrc, size_t hOffsetSrc, size_t count, cudaMemcpyKind kind,
                                           CUstream default_stream)
{
    return across(dst, wOffsetDst, hOffsetDst, src, wOffsetSrc, hOffsetSrc, count, kind, default_stream);
}

cudaError_t awrt_cudaMemcpy2DArrayToArray_on(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst, cudaArray_const_t src,
                                             size_t wOffsetSrc, size_t hOffsetSrc, size_t width, size_t height,
                                             cudaMemcpyKind kind, CUstream default_stream)
{
    return across_2d(dst, wOffsetDst, hOffsetDst, src, wOffsetSrc, hOffsetSrc, width, height, kind, default_stream);
}

