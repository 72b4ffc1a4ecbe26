/* Copies and fills with CUDA's rules for what is finished when the call returns. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "core/activity.h"
#include "core/memory.h"
#include "core/recorder.h"
#include "core/stream.h"

enum { STAGE_MAX = 64 * 1024 }; /* bytes: a pageable source up to this is copied aside, a larger one waited for */

enum side { SIDE_DEVICE, SIDE_MANAGED, SIDE_PINNED, SIDE_PAGEABLE, SIDE_BAD };

/* Of a range of virtual memory, which may go on in mappings that follow the one it begins in.  The host's, in part, is read and
 * written by the host as soon as a call has returned. */
static enum side side_mapped(const struct aw_mem *mem, uintptr_t address, size_t size)
{
    struct aw_mem next = *mem;
    size_t left = size;
    bool host = false;
    for (uintptr_t at = address; aw_mem_is_vmm(&next);) {
        size_t here = next.size - (at - next.base);
        host = host || next.kind == AW_MEM_VMM_HOST;
        if (left <= here)
            return host ? SIDE_PINNED : SIDE_DEVICE;
        left -= here;
        at = next.base + next.size;
        if (!aw_mem_find(at, &next) || next.base != at)
            return SIDE_BAD;
    }
    return SIDE_BAD;
}

/* Where `size` bytes at `address` lie, which is in `mem` if that has a base.  A range that leaves its allocation is bad. */
static enum side side_in(const struct aw_mem *mem, uintptr_t address, size_t size)
{
    if (!mem->base)
        return SIDE_PAGEABLE;
    if (mem->kind == AW_MEM_REGISTERED) /* the user's own memory may well go on beyond what was registered */
        return size > mem->size - (address - mem->base) ? SIDE_PAGEABLE : SIDE_PINNED;
    if (aw_mem_is_vmm(mem))
        return side_mapped(mem, address, size);
    if (size > mem->size - (address - mem->base))
        return SIDE_BAD;
    switch (mem->kind) {
    case AW_MEM_MANAGED:
    case AW_MEM_MODULE_MANAGED:
        return SIDE_MANAGED;
    case AW_MEM_HOST:
        return SIDE_PINNED;
    default:
        return SIDE_DEVICE;
    }
}

static enum side side_find(uintptr_t address, size_t size)
{
    struct aw_mem mem;
    return aw_mem_find(address, &mem) ? side_in(&mem, address, size) : SIDE_PAGEABLE;
}

static bool side_is_host(enum side side)
{
    return side == SIDE_PINNED || side == SIDE_PAGEABLE;
}

/* Checks both sides against what the caller claims and names the copy for the provider. */
static enum aw_status sides_check(enum side src, enum side dst, enum aw_copy_kind claim, enum aw_copy_kind *ret_kind)
{
    bool src_device = claim == AW_COPY_D2H || claim == AW_COPY_D2D, dst_device = claim == AW_COPY_H2D || claim == AW_COPY_D2D;
    if (src == SIDE_BAD || dst == SIDE_BAD)
        return AW_ERR_INVALID_VALUE;
    if ((src_device && src == SIDE_PAGEABLE) || (dst_device && dst == SIDE_PAGEABLE))
        return AW_ERR_INVALID_VALUE;
    bool src_host = side_is_host(src), dst_host = side_is_host(dst);
    *ret_kind = src_host ? (dst_host ? AW_COPY_H2H : AW_COPY_H2D) : (dst_host ? AW_COPY_D2H : AW_COPY_D2D);
    return AW_OK;
}

/* A copy that was given to its stream, for who watches. */
static void copy_seen(struct aw_activity *seen, int status, size_t bytes, enum aw_copy_kind kind, bool src_pageable,
                      bool dst_pageable)
{
    struct aw_activity_record record = { .kind = AW_ACTIVITY_COPY, .bytes = bytes, .copy_kind = (int)kind,
                                         .src_pageable = src_pageable,
                                         .dst_pageable = dst_pageable };
    if (__builtin_expect(seen != NULL, 0))
        aw_activity_end(seen, status ? NULL : &record);
}

/* A copy from pageable memory that must not change any more: through a block that frees itself. */
static enum aw_status copy_staged(struct aw_ctx *ctx, void *dst, const void *src, size_t size, enum aw_copy_kind kind,
                                  struct aw_cstream *stream)
{
    int native = ctx->device->native;
    struct aw_activity *seen = aw_activity_begin(stream);
    if (aw_provider->copy_pageable && kind == AW_COPY_H2D) { /* it knows memory that the device can read at once */
        int taken = aw_provider->copy_pageable(native, dst, src, size, stream->native);
        if (taken != AW_ERR_NOT_SUPPORTED) {
            copy_seen(seen, taken, size, kind, true, false);
            return aw_device_note(ctx->device, taken);
        }
    }
    void *aside = malloc(size);
    if (!aside) {
        copy_seen(seen, AW_ERR_OUT_OF_MEMORY, size, kind, true, false);
        return AW_ERR_OUT_OF_MEMORY;
    }
    memcpy(aside, src, size);
    int status = aw_provider->copy(native, dst, aside, size, kind, stream->native);
    copy_seen(seen, status, size, kind, true, false);
    if (status) {
        free(aside);
        return aw_device_note(ctx->device, status);
    }
    if (aw_provider->stream_callback(native, stream->native, free, aside) == AW_OK)
        return AW_OK;
    enum aw_status settled = aw_stream_sync(stream);
    free(aside);
    return settled;
}

/* Whether the caller may go on before the copy has ended. */
static bool copy_may_run_on(enum side src, enum side dst, bool async)
{
    if (async)
        return src != SIDE_PAGEABLE && dst != SIDE_PAGEABLE;
    return src == SIDE_DEVICE && dst == SIDE_DEVICE;
}

/* Whether a capture deals with the copy: a node, or a refusal when the caller would wait for it. */
static bool copy_captured(struct aw_ctx *ctx, const struct aw_copy3d *copy, struct aw_cstream *stream, bool async,
                          enum aw_status *ret_status)
{
    return async ? aw_capture_add(stream, &(struct aw_work){ .type = AW_WORK_COPY, .ctx = ctx, .copy = copy }, ret_status)
                 : aw_capture_refuse(stream, ret_status);
}

enum aw_status aw_mem_copy(struct aw_ctx *ctx, void *dst, const void *src, size_t size, enum aw_copy_kind kind,
                           struct aw_cstream *stream, bool async)
{
    enum aw_status taken;
    if (!size)
        return AW_OK;
    if (!dst || !src)
        return AW_ERR_INVALID_VALUE;
    if (aw_capture_any()) {
        struct aw_copy3d line = { .src = src, .dst = dst, .src_pitch = size, .dst_pitch = size, .src_slice = size,
                                  .dst_slice = size, .width = size, .height = 1, .depth = 1, .kind = kind };
        if (copy_captured(ctx, &line, stream, async, &taken))
            return taken;
    }
    const struct aw_mem_ends *ends = aw_mem_find_ends((uintptr_t)src, (uintptr_t)dst);
    enum side from = side_in(&ends->src, (uintptr_t)src, size), to = side_in(&ends->dst, (uintptr_t)dst, size);
    enum aw_status status = sides_check(from, to, kind, &kind);
    if (status)
        return status;
    if (async && from == SIDE_PAGEABLE && to != SIDE_PAGEABLE && size <= STAGE_MAX)
        return copy_staged(ctx, dst, src, size, kind, stream);
    struct aw_activity *seen = aw_activity_begin(stream);
    status = aw_device_note(ctx->device, aw_provider->copy(ctx->device->native, dst, src, size, kind, stream->native));
    copy_seen(seen, status, size, kind, from == SIDE_PAGEABLE, to == SIDE_PAGEABLE);
    if (status || copy_may_run_on(from, to, async))
        return status;
    return aw_stream_sync(stream);
}

/* Bytes from the first to one past the last of a rectangle; false when the numbers do not fit. */
static bool extent_span(const struct aw_copy3d *copy, size_t pitch, size_t slice, size_t *ret_span)
{
    size_t rows, slices, span;
    if (copy->height > 1 && pitch < copy->width)
        return false;
    if (__builtin_mul_overflow(copy->height - 1, pitch, &rows) || __builtin_mul_overflow(copy->depth - 1, slice, &slices) ||
        __builtin_add_overflow(rows, slices, &span) || __builtin_add_overflow(span, copy->width, &span))
        return false;
    *ret_span = span;
    return true;
}

/* Both sides of a rectangular copy that is not empty. */
static enum aw_status sides_find(const struct aw_copy3d *copy, enum side *ret_from, enum side *ret_to,
                                 enum aw_copy_kind *ret_kind)
{
    size_t src_span, dst_span;
    if (!copy->src || !copy->dst || !extent_span(copy, copy->src_pitch, copy->src_slice, &src_span) ||
        !extent_span(copy, copy->dst_pitch, copy->dst_slice, &dst_span))
        return AW_ERR_INVALID_VALUE;
    *ret_from = side_find((uintptr_t)copy->src, src_span);
    *ret_to = side_find((uintptr_t)copy->dst, dst_span);
    return sides_check(*ret_from, *ret_to, copy->kind, ret_kind);
}

enum aw_status aw_mem_copy_check(const struct aw_copy3d *copy, struct aw_copy_sides *ret_sides)
{
    enum side from, to;
    enum aw_copy_kind kind;
    if (!copy->width || !copy->height || !copy->depth) {
        *ret_sides = (struct aw_copy_sides){ .kind = copy->kind };
        return AW_OK;
    }
    enum aw_status status = sides_find(copy, &from, &to, &kind);
    if (status == AW_OK)
        *ret_sides = (struct aw_copy_sides){ kind, from == SIDE_PAGEABLE, to == SIDE_PAGEABLE };
    return status;
}

enum aw_status aw_mem_copy3d(struct aw_ctx *ctx, const struct aw_copy3d *copy, struct aw_cstream *stream, bool async)
{
    struct aw_copy3d work = *copy;
    enum side from, to;
    enum aw_status status;
    if (!copy->width || !copy->height || !copy->depth)
        return AW_OK;
    if (aw_capture_any() && copy_captured(ctx, copy, stream, async, &status))
        return status;
    status = sides_find(copy, &from, &to, &work.kind);
    if (status)
        return status;
    struct aw_activity *seen = aw_activity_begin(stream);
    status = aw_device_note(ctx->device, aw_provider->copy3d(ctx->device->native, &work, stream->native));
    copy_seen(seen, status, copy->width * copy->height * copy->depth, work.kind, from == SIDE_PAGEABLE, to == SIDE_PAGEABLE);
    if (status || copy_may_run_on(from, to, async))
        return status;
    return aw_stream_sync(stream);
}

enum aw_status aw_mem_copy_peer(struct aw_ctx *dst_ctx, void *dst, struct aw_ctx *src_ctx, const void *src, size_t size,
                                struct aw_cstream *stream, bool async)
{
    if (dst_ctx->device == src_ctx->device)
        return aw_mem_copy(stream->ctx, dst, src, size, AW_COPY_D2D, stream, async);
    if (!size)
        return AW_OK;
    enum aw_status refused;
    if (aw_capture_any() && aw_capture_refuse(stream, &refused)) /* no node copies between devices */
        return refused;
    if (side_find((uintptr_t)src, size) >= SIDE_PAGEABLE || side_find((uintptr_t)dst, size) >= SIDE_PAGEABLE)
        return AW_ERR_INVALID_VALUE;
    struct aw_activity *seen = aw_activity_begin(stream);
    int status = aw_provider->copy_peer(dst_ctx->device->native, dst, src_ctx->device->native, src, size, stream->native);
    copy_seen(seen, status, size, AW_COPY_D2D, false, false);
    return aw_device_note(stream->ctx->device, status);
}

/* ---- Fills. */

enum aw_status aw_mem_fill(struct aw_ctx *ctx, uintptr_t dst, uint32_t value, unsigned element_bytes, size_t count,
                           struct aw_cstream *stream, bool async)
{
    return aw_mem_fill2d(ctx, dst, count * element_bytes, value, element_bytes, count, 1, stream, async);
}

/* The bytes of a fill that is not empty lie inside one allocation: *ret_side says of what kind. */
static enum aw_status fill_check(uintptr_t dst, size_t pitch, unsigned element_bytes, size_t count, size_t height,
                                 enum side *ret_side)
{
    size_t width, span;
    if (!dst || dst % element_bytes || __builtin_mul_overflow(count, (size_t)element_bytes, &width))
        return AW_ERR_INVALID_VALUE;
    if (height > 1 && (pitch < width || pitch % element_bytes))
        return AW_ERR_INVALID_VALUE;
    if (__builtin_mul_overflow(height - 1, pitch, &span) || __builtin_add_overflow(span, width, &span))
        return AW_ERR_INVALID_VALUE;
    *ret_side = side_find(dst, span);
    return *ret_side == SIDE_PAGEABLE || *ret_side == SIDE_BAD ? AW_ERR_INVALID_VALUE : AW_OK;
}

enum aw_status aw_mem_fill_check(uintptr_t dst, size_t pitch, unsigned element_bytes, size_t count, size_t height)
{
    enum side side;
    return count && height ? fill_check(dst, pitch, element_bytes, count, height, &side) : AW_OK;
}

enum aw_status aw_mem_fill2d(struct aw_ctx *ctx, uintptr_t dst, size_t pitch, uint32_t value, unsigned element_bytes,
                             size_t count, size_t height, struct aw_cstream *stream, bool async)
{
    enum side side;
    enum aw_status status;
    if (!count || !height)
        return AW_OK;
    if (aw_capture_any()) {
        struct aw_work fill = { .type = AW_WORK_FILL, .ctx = ctx, .fill = { dst, pitch, value, element_bytes, count, height } };
        if (async ? aw_capture_add(stream, &fill, &status) : aw_capture_refuse(stream, &status))
            return status;
    }
    status = fill_check(dst, pitch, element_bytes, count, height, &side);
    if (status)
        return status;
    if (height > 1 && pitch == count * element_bytes)
        count *= height, height = 1;
    struct aw_activity *seen = aw_activity_begin(stream);
    for (size_t row = 0; row < height; row++) {
        status = aw_device_note(ctx->device, aw_provider->fill(ctx->device->native, (void *)(dst + row * pitch), value,
                                                               element_bytes, count, stream->native));
        if (status)
            break;
    }
    if (__builtin_expect(seen != NULL, 0))
        aw_activity_end(seen, status ? NULL : &(struct aw_activity_record){ .kind = AW_ACTIVITY_FILL, .value = value,
                                                                            .bytes = count * element_bytes * height });
    if (status)
        return status;
    return async || side == SIDE_DEVICE ? AW_OK : aw_stream_sync(stream);
}
