/* Copies and fills as stream operations.  Small ones on an idle stream are done at once by the caller: a wake-up would cost
 * more.  Large ones are split over the workers.  Not ordering (stream.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"
#include "unwritten.h"

#include <string.h>

#include "base/log.h"

/* What a worker claims is a multiple of this. */
#define UNIT_BYTES ((size_t)256 << 10)
#define PIECE_BYTES ((size_t)1 << 20)
#define INLINE_BYTES ((size_t)64 << 10)
/* Takes 50 ns: less than letting go of the device meanwhile. */
#define LOCKED_BYTES ((size_t)4 << 10)

/* Under sanitizers, bytes go one by one: their memcpy would look at wild addresses before it copies. */
#if AW_HOST_ASAN || AW_HOST_TSAN
static void bytes_copy(void *dst, const void *src, size_t n)
{
    __asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(n) : : "memory");
}
static void bytes_set(void *dst, int value, size_t n)
{
    __asm__ volatile("rep stosb" : "+D"(dst), "+c"(n) : "a"(value) : "memory");
}
#else
#define bytes_copy memcpy
#define bytes_set memset
#endif

__attribute__((no_sanitize("address", "thread")))
static void fill_elements(char *dst, uint32_t value, uint32_t element, size_t bytes)
{
    if (element == 1 || value == 0 || (element == 2 && (value & 0xff) == (value >> 8 & 0xff)) ||
        (element == 4 && value == (value & 0xff) * 0x01010101u)) {
        bytes_set(dst, (int)(value & 0xff), bytes);
        return;
    }
    if (element == 2)
        value = (value & 0xffff) * 0x10001u;
    size_t i = 0;
    for (; i + 4 <= bytes; i += 4)
        memcpy(dst + i, &value, 4);
    if (i < bytes)
        memcpy(dst + i, &value, bytes - i); /* little-endian: the low half is the element */
}

struct piece {
    const struct aw_host_memory_op *m;
    uint64_t first, count;
};

static void do_piece(void *arg)
{
    const struct piece *p = arg;
    const struct aw_copy3d *r = &p->m->rect;
    if (p->m->rows) {
        for (uint64_t row = p->first; row < p->first + p->count; row++) {
            uint64_t z = row / r->height, y = row % r->height;
            char *dst = (char *)r->dst + z * r->dst_slice + y * r->dst_pitch;
            bytes_copy(dst, (const char *)r->src + z * r->src_slice + y * r->src_pitch, r->width);
            aw_host_unwritten_store(dst, r->width);
        }
        return;
    }
    size_t begin = p->first * UNIT_BYTES, end = begin + p->count * UNIT_BYTES;
    if (end > r->width)
        end = r->width;
    if (p->m->element)
        fill_elements((char *)r->dst + begin, p->m->value, p->m->element, end - begin);
    else
        bytes_copy((char *)r->dst + begin, (const char *)r->src + begin, end - begin);
    aw_host_unwritten_store((char *)r->dst + begin, end - begin);
}

void aw_host_copy_piece(struct aw_host_op *op, uint64_t first, uint64_t count)
{
    struct piece p = { &op->memory, first, count };
    int status = aw_host_guarded(do_piece, &p);
    if (status == AW_OK || !aw_host_op_kill(op, status))
        return;
    aw_say(COPY_FAULT, op->memory.element ? "fill" : "copy", op->memory.rect.width * (op->memory.rows ? op->total : 1),
           op->memory.rect.dst, op->memory.element ? ", value at " : " from ", op->memory.rect.src);
    aw_host_op_fault(op);
}

/* Here and now, in no stream's order. */
static int run_at_once(const struct aw_host_memory_op *m, uint64_t units)
{
    aw_host_thread.waited = true;
    /* The caller is here to be told: no sticky fault. */
    return aw_host_guarded(do_piece, &(struct piece){ m, 0, units }) == AW_OK ? AW_OK : AW_ERR_INVALID_VALUE;
}

/* May it be done at once, without a lock?  Where nothing is queued, what others queue meanwhile has no order with it. */
static bool unqueued(size_t bytes)
{
    return bytes <= INLINE_BYTES && !aw_host_any_pending();
}

/* Runs it here and now: the operation holds its place in the stream, so that others keep their order. */
static int run_inline(struct aw_host_stream *stream, struct aw_host_op *op, const struct aw_host_memory_op *m,
                      uint64_t units)
{
    op->kind = AW_HOST_OP_INLINE;
    int status = aw_host_op_submit(stream, op);
    if (status != AW_OK)
        return status;
    aw_host_unlock();
    status = run_at_once(m, units);
    aw_host_lock();
    aw_host_op_complete(op);
    return status;
}

static int submit(int dev, const struct aw_host_memory_op *m, uint64_t units, uint64_t piece, size_t bytes,
                  struct aw_stream *stream)
{
    struct aw_host_stream *s = aw_host_stream_of(dev, stream);
    struct aw_host_op *op;
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    if (aw_host_fault())
        return aw_host_fault();
    if (unqueued(bytes))
        return run_at_once(m, units);
    aw_host_lock();
    int status = AW_OK;
    if (bytes <= LOCKED_BYTES && aw_host_stream_idle(s)) {
        status = run_at_once(m, units);
        goto out;
    }
    status = aw_host_op_create(AW_HOST_OP_MEMORY, &op);
    if (status != AW_OK)
        goto out;
    if (bytes <= INLINE_BYTES && aw_host_stream_idle(s)) {
        status = run_inline(s, op, m, units);
        goto out;
    }
    op->memory = *m;
    op->total = units;
    op->piece = piece;
    status = aw_host_op_submit(s, op);
out:
    aw_host_unlock();
    return status;
}

static int submit_linear(int dev, struct aw_host_memory_op *m, size_t bytes, struct aw_stream *stream)
{
    m->rect.width = bytes;
    return submit(dev, m, (bytes + UNIT_BYTES - 1) / UNIT_BYTES, PIECE_BYTES / UNIT_BYTES, bytes, stream);
}

int aw_host_copy(int dev, void *dst, const void *src, size_t size, enum aw_copy_kind kind, struct aw_stream *stream)
{
    (void)kind; /* one address space */
    if (size == 0)
        return aw_host_fault();
    if (!dst || !src)
        return AW_ERR_INVALID_VALUE;
    struct aw_host_memory_op m = { .rect = { .src = src, .dst = dst } };
    return submit_linear(dev, &m, size, stream);
}

/* The source is read now: by the copy itself where it can be done at once, else into the operation. */
int aw_host_copy_pageable(int dev, void *dst, const void *src, size_t size, struct aw_stream *stream)
{
    struct aw_host_stream *s = aw_host_stream_of(dev, stream);
    struct aw_host_op *op;
    if (size > INLINE_BYTES)
        return AW_ERR_NOT_SUPPORTED;
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    if (aw_host_fault() || size == 0)
        return aw_host_fault();
    if (!dst || !src)
        return AW_ERR_INVALID_VALUE;
    struct aw_host_memory_op m = { .rect = { .src = src, .dst = dst, .width = size } };
    if (unqueued(size))
        return run_at_once(&m, 1);
    aw_host_lock();
    int status = aw_host_op_create(AW_HOST_OP_MEMORY, &op);
    if (status != AW_OK)
        goto out;
    if (aw_host_stream_idle(s)) {
        status = run_inline(s, op, &m, 1);
        goto out;
    }
    aw_host_unlock();
    m.rect.dst = aw_host_op_buffer(op, size);
    struct piece p = { &m, 0, 1 };
    if (!m.rect.dst)
        status = AW_ERR_OUT_OF_MEMORY;
    else if (aw_host_guarded(do_piece, &p) != AW_OK)
        status = AW_ERR_INVALID_VALUE;
    aw_host_lock();
    op->memory = (struct aw_host_memory_op){ .rect = { .src = m.rect.dst, .dst = dst, .width = size } };
    op->total = op->piece = 1;
    if (status == AW_OK)
        status = aw_host_op_submit(s, op);
    else
        aw_host_op_discard(op);
out:
    aw_host_unlock();
    return status;
}

int aw_host_copy_peer(int dst_dev, void *dst, int src_dev, const void *src, size_t size, struct aw_stream *stream)
{
    if (!aw_host_device_ok(src_dev))
        return AW_ERR_INVALID_DEVICE;
    return aw_host_copy(dst_dev, dst, src, size, AW_COPY_D2D, stream);
}

int aw_host_fill(int dev, void *dst, uint32_t value, unsigned element_bytes, size_t count, struct aw_stream *stream)
{
    size_t bytes;
    if ((element_bytes != 1 && element_bytes != 2 && element_bytes != 4) ||
        __builtin_mul_overflow(count, element_bytes, &bytes))
        return AW_ERR_INVALID_VALUE;
    if (count == 0)
        return aw_host_fault();
    if (!dst)
        return AW_ERR_INVALID_VALUE;
    struct aw_host_memory_op m = { .rect = { .dst = dst }, .value = value, .element = element_bytes };
    return submit_linear(dev, &m, bytes, stream);
}

int aw_host_copy3d(int dev, const struct aw_copy3d *c, struct aw_stream *stream)
{
    size_t rows, bytes;
    if (!c)
        return AW_ERR_INVALID_VALUE;
    if (c->width == 0 || c->height == 0 || c->depth == 0)
        return aw_host_fault();
    if (!c->dst || !c->src || __builtin_mul_overflow(c->height, c->depth, &rows) ||
        __builtin_mul_overflow(rows, c->width, &bytes))
        return AW_ERR_INVALID_VALUE;
    if (c->height > 1 && (c->src_pitch < c->width || c->dst_pitch < c->width))
        return AW_ERR_INVALID_PITCH;
    struct aw_host_memory_op m = { .rect = *c, .rows = true };
    uint64_t piece = PIECE_BYTES / c->width;
    return submit(dev, &m, rows, piece ? piece : 1, bytes, stream);
}
