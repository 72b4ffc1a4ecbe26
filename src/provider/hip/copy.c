/* Copies and fills.  Memory that is not pinned goes to the card through pinned blocks of ours when it is small; otherwise HIP
 * pins or stages it, and waits in doing so: then the stream is waited for first, where no stuck queue can hold us up. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "provider/hip/internal.h"

enum { STAGE_BYTES = 64 << 10, STAGES = 16 };

/* Pinned blocks of one device, each in use until its event has passed. */
static struct stage {
    pthread_mutex_t lock;
    char *memory;                      /* NULL: none yet */
    struct aw_hip_event event[STAGES]; /* handle NULL: never used */
    unsigned next;
} stages[AW_HIP_MAX_DEVICES];
static pthread_once_t stages_once = PTHREAD_ONCE_INIT;

static void stages_init(void)
{
    for (int i = 0; i < AW_HIP_MAX_DEVICES; i++)
        pthread_mutex_init(&stages[i].lock, NULL);
}

static struct stage *stage_lock(int dev)
{
    pthread_once(&stages_once, stages_init);
    pthread_mutex_lock(&stages[dev].lock);
    return &stages[dev];
}

/* The block to use next, free by now.  The lock is held. */
static int stage_take(int dev, struct stage *s, unsigned *ret_index)
{
    enum { NO_TIMING = 2 };
    if (!s->memory) {
        void *p = NULL;
        int status = aw_hip_result(dev, aw_hip.api.hipHostMalloc(&p, (size_t)STAGE_BYTES * STAGES, 0));
        if (status != AW_OK)
            return status;
        s->memory = p;
    }
    unsigned i = s->next;
    struct aw_hip_event *event = &s->event[i];
    int status = AW_OK;
    if (event->handle) {
        status = aw_hip_event_settle(event);
        if (aw_hip_dead(dev))
            return status;
        status = AW_OK; /* a fault of an earlier kernel's own is none of this copy */
    } else {
        event->dev = dev;
        status = aw_hip_result(dev, aw_hip.api.hipEventCreateWithFlags(&event->handle, NO_TIMING));
    }
    s->next = (i + 1) % STAGES;
    *ret_index = i;
    return status;
}

static int stage_copy(int dev, void *dst, const void *src, size_t size, struct aw_hip_stream *stream)
{
    unsigned i = 0;
    struct stage *s = stage_lock(dev);
    int status = stage_take(dev, s, &i);
    if (status == AW_OK) {
        char *block = s->memory + (size_t)i * STAGE_BYTES;
        memcpy(block, src, size);
        status = aw_hip_result(dev, aw_hip.api.hipMemcpyAsync(dst, block, size, AW_COPY_H2D, stream->handle));
        int recorded = aw_hip_result(dev, aw_hip.api.hipEventRecord(s->event[i].handle, stream->handle));
        if (recorded != AW_OK) /* the block is free only when the stream is */
            (void)aw_hip_stream_settle(dev, stream);
        status = status != AW_OK ? status : recorded;
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

void aw_hip_stage_fini(int dev)
{
    struct stage *s = stage_lock(dev);
    for (unsigned i = 0; i < STAGES; i++) {
        if (s->event[i].handle && !aw_hip_dead(dev))
            aw_hip.api.hipEventDestroy(s->event[i].handle);
        s->event[i].handle = NULL;
    }
    if (s->memory && !aw_hip_dead(dev))
        aw_hip.api.hipHostFree(s->memory);
    s->memory = NULL;
    s->next = 0;
    pthread_mutex_unlock(&s->lock);
}

static bool pageable(const void *ptr)
{
    struct aw_pointer_info info;
    return aw_hip_pointer_info(ptr, &info) != AW_OK;
}

/* Before HIP waits inside a copy.  AW_OK, or why the copy must not be made. */
static int pageable_ready(int dev, struct aw_hip_stream *stream)
{
    (void)aw_hip_stream_settle(dev, stream);
    return aw_hip_dead(dev) ? aw_hip_fault_of(dev) : AW_OK;
}

int aw_hip_copy_pageable(int dev, void *dst, const void *src, size_t size, struct aw_stream *stream)
{
    USE(dev);
    if (size == 0)
        return AW_OK;
    if (size > STAGE_BYTES)
        return AW_ERR_NOT_SUPPORTED;
    return stage_copy(dev, dst, src, size, aw_hip_stream_of(dev, stream));
}

int aw_hip_copy(int dev, void *dst, const void *src, size_t size, enum aw_copy_kind kind, struct aw_stream *stream)
{
    struct aw_hip_stream *s = aw_hip_stream_of(dev, stream);
    USE(dev);
    if (size == 0)
        return AW_OK;
    if (kind == AW_COPY_H2D && size <= STAGE_BYTES && pageable(src))
        return stage_copy(dev, dst, src, size, s);
    if ((kind != AW_COPY_D2D && pageable(src)) || (kind != AW_COPY_D2D && pageable(dst))) {
        int status = pageable_ready(dev, s);
        if (status != AW_OK)
            return status;
    }
    return aw_hip_result(dev, aw_hip.api.hipMemcpyAsync(dst, src, size, (int)kind, s->handle)); /* kinds are numbered alike */
}

/* Slice by slice: the structure of HIP's own 3-D copy brings arrays with it that we do not need. */
int aw_hip_copy3d(int dev, const struct aw_copy3d *c, struct aw_stream *stream)
{
    struct aw_hip_stream *s = aw_hip_stream_of(dev, stream);
    if (!c || (c->height > 1 && (c->src_pitch < c->width || c->dst_pitch < c->width)))
        return c ? AW_ERR_INVALID_PITCH : AW_ERR_INVALID_VALUE;
    USE(dev);
    if (c->width == 0 || c->height == 0)
        return AW_OK;
    if (c->kind != AW_COPY_D2D && (pageable(c->src) || pageable(c->dst))) {
        int status = pageable_ready(dev, s);
        if (status != AW_OK)
            return status;
    }
    for (size_t z = 0; z < c->depth; z++) {
        char *dst = (char *)c->dst + z * c->dst_slice;
        const char *src = (const char *)c->src + z * c->src_slice;
        int error = c->height == 1
                        ? aw_hip.api.hipMemcpyAsync(dst, src, c->width, (int)c->kind, s->handle)
                        : aw_hip.api.hipMemcpy2DAsync(dst, c->dst_pitch, src, c->src_pitch, c->width, c->height,
                                                      (int)c->kind, s->handle);
        if (error)
            return aw_hip_result(dev, error);
    }
    return AW_OK;
}

/* Elements before the next 16-byte boundary go by a copy: HIP 5.2 fills 2^64 bytes when asked for fewer bytes than lie before one
 * (hipMemsetD8Async of 3 bytes at an address ending in 2).  It can go with HIP 5. */
static int fill_head(int dev, char **dst, uint32_t value, unsigned element_bytes, size_t *count, struct aw_hip_stream *stream)
{
    unsigned char pattern[16];
    size_t head = (-(uintptr_t)*dst & 15) / element_bytes;
    if (head > *count)
        head = *count;
    if (!head)
        return AW_OK;
    for (size_t i = 0; i < head; i++)
        memcpy(pattern + i * element_bytes, &value, element_bytes); /* little endian */
    int status = stage_copy(dev, *dst, pattern, head * element_bytes, stream);
    *dst += head * element_bytes;
    *count -= head;
    return status;
}

int aw_hip_fill(int dev, void *dst, uint32_t value, unsigned element_bytes, size_t count, struct aw_stream *stream)
{
    struct aw_hip_stream *s = aw_hip_stream_of(dev, stream);
    char *at = dst;
    USE(dev);
    if ((element_bytes != 1 && element_bytes != 2 && element_bytes != 4) || (uintptr_t)dst % element_bytes)
        return AW_ERR_INVALID_VALUE;
    int status = fill_head(dev, &at, value, element_bytes, &count, s);
    if (status != AW_OK || count == 0)
        return status;
    switch (element_bytes) {
    case 1:
        return aw_hip_result(dev, aw_hip.api.hipMemsetD8Async(at, (unsigned char)value, count, s->handle));
    case 2:
        return aw_hip_result(dev, aw_hip.api.hipMemsetD16Async(at, (unsigned short)value, count, s->handle));
    default:
        return aw_hip_result(dev, aw_hip.api.hipMemsetD32Async(at, (int)value, count, s->handle));
    }
}

int aw_hip_copy_peer(int dst_dev, void *dst, int src_dev, const void *src, size_t size, struct aw_stream *stream)
{
    if (!aw_hip_dev_ok(src_dev))
        return AW_ERR_INVALID_DEVICE;
    USE(dst_dev);
    if (aw_hip_dead(src_dev))
        return aw_hip_fault_of(src_dev);
    return aw_hip_result(dst_dev, aw_hip.api.hipMemcpyPeerAsync(dst, aw_hip.dev[dst_dev].ordinal, src,
                                                                aw_hip.dev[src_dev].ordinal, size,
                                                                aw_hip_stream_of(dst_dev, stream)->handle));
}
