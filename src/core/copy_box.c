/* Boxes: where each side begins, how far apart its rows and slices are, and what kind of copy the two make. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/copy_box.h"

struct place {
    uintptr_t first;
    size_t pitch, slice; /* bytes */
};

static enum aw_status array_resolve(const struct aw_copy_side *side, const struct aw_copy_box *box, struct place *ret)
{
    const struct aw_array *array = aw_array_from(side->array);
    if (!array)
        return AW_ERR_INVALID_HANDLE;
    if (side->lod)
        return AW_ERR_INVALID_VALUE;
    enum aw_status status = aw_array_box(array, side->x, side->y, side->z, box->width, box->height, box->depth, &ret->first);
    ret->pitch = array->pitch;
    ret->slice = array->slice;
    return status;
}

static enum aw_status side_resolve(const struct aw_copy_side *side, const struct aw_copy_box *box, struct place *ret)
{
    size_t need, slice, offset, part, pitch = side->pitch, rows = side->rows;
    if (side->type == AW_SIDE_ARRAY)
        return array_resolve(side, box, ret);
    if (side->type != AW_SIDE_HOST && side->type != AW_SIDE_DEVICE && side->type != AW_SIDE_ANY)
        return AW_ERR_INVALID_VALUE;
    if (!side->base || side->lod || __builtin_add_overflow(side->x, box->width, &need))
        return AW_ERR_INVALID_VALUE;
    if (!pitch && box->height <= 1 && box->depth <= 1 && !side->y && !side->z)
        pitch = need;
    if (!rows && box->depth <= 1 && !side->z)
        rows = side->y + box->height;
    /* x may lie beyond its row: programs count it from an allocation's start (Dr.Jit's textures of more than four channels). */
    if (pitch < box->width)
        return AW_ERR_INVALID_PITCH;
    if ((box->depth > 1 || side->z) && (side->y > rows || rows - side->y < box->height))
        return AW_ERR_INVALID_VALUE;
    if (__builtin_mul_overflow(pitch, rows, &slice) || __builtin_mul_overflow(side->z, slice, &offset) ||
        __builtin_mul_overflow(side->y, pitch, &part) || __builtin_add_overflow(offset, part, &offset) ||
        __builtin_add_overflow(offset, side->x, &offset) || __builtin_add_overflow(side->base, offset, &ret->first))
        return AW_ERR_INVALID_VALUE;
    ret->pitch = pitch;
    ret->slice = slice;
    return AW_OK;
}

/* What the user claims about the two sides: nothing, unless both are named. */
static enum aw_copy_kind kind_of(enum aw_side_type src, enum aw_side_type dst)
{
    bool src_device = src == AW_SIDE_DEVICE || src == AW_SIDE_ARRAY, dst_device = dst == AW_SIDE_DEVICE || dst == AW_SIDE_ARRAY;
    if (src_device && dst_device)
        return AW_COPY_D2D;
    if (src_device && dst == AW_SIDE_HOST)
        return AW_COPY_D2H;
    return src == AW_SIDE_HOST && dst_device ? AW_COPY_H2D : AW_COPY_DEFAULT;
}

enum aw_status aw_copy_box_resolve(const struct aw_copy_box *box, struct aw_copy3d *ret_copy)
{
    struct place src, dst;
    if (!box->width || !box->height || !box->depth) {
        *ret_copy = (struct aw_copy3d){ .kind = AW_COPY_DEFAULT };
        return AW_OK;
    }
    enum aw_status status = side_resolve(&box->src, box, &src);
    if (status == AW_OK)
        status = side_resolve(&box->dst, box, &dst);
    if (status)
        return status;
    *ret_copy = (struct aw_copy3d){
        .src = (const void *)src.first, .dst = (void *)dst.first, .src_pitch = src.pitch, .dst_pitch = dst.pitch,
        .src_slice = src.slice, .dst_slice = dst.slice, .width = box->width, .height = box->height, .depth = box->depth,
        .kind = kind_of(box->src.type, box->dst.type),
    };
    return AW_OK;
}

enum aw_status aw_copy_box_run(struct aw_ctx *ctx, const struct aw_copy_box *box, struct aw_cstream *stream, bool async)
{
    struct aw_copy3d copy;
    enum aw_status status = aw_copy_box_resolve(box, &copy);
    return status ? status : aw_mem_copy3d(ctx, &copy, stream, async);
}
