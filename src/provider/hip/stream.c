/* Streams, events and callbacks.  HIP orders the work; waiting for it is in wait.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "provider/hip/internal.h"

enum { HIP_EVENT_BLOCKING = 1, HIP_EVENT_NO_TIMING = 2, HIP_EVENT_INTERPROCESS = 4 };

int aw_hip_device_sync(int dev)
{
    USE(dev);
    return aw_hip_device_settle(dev);
}

/* ---- Streams */

int aw_hip_stream_create(int dev, unsigned flags, int priority, struct aw_stream **ret_stream)
{
    USE(dev);
    struct aw_hip_device *d = &aw_hip.dev[dev];
    struct aw_hip_stream *s = calloc(1, sizeof *s);
    if (!s)
        return AW_ERR_OUT_OF_MEMORY;
    s->dev = dev;
    s->flags = flags;
    int status = aw_hip_result(dev, aw_hip.api.hipStreamCreateWithPriority(&s->handle, flags & AW_STREAM_NON_BLOCKING, priority));
    if (status != AW_OK) {
        free(s);
        return status;
    }
    pthread_mutex_lock(&d->lock);
    s->next = d->streams;
    if (s->next)
        s->next->prev = s;
    d->streams = s;
    pthread_mutex_unlock(&d->lock);
    *ret_stream = (struct aw_stream *)(void *)s;
    return AW_OK;
}

/* HIP waits for the stream's work when it destroys it; so do we, before.  A stuck stream is left alone. */
int aw_hip_stream_destroy(struct aw_stream *stream)
{
    if (!stream || !aw_hip.opened)
        return AW_ERR_INVALID_HANDLE;
    struct aw_hip_stream *s = (struct aw_hip_stream *)(void *)stream;
    struct aw_hip_device *d = &aw_hip.dev[s->dev];
    int status = aw_hip_use(s->dev);
    if (status == AW_OK && !aw_hip_dead(s->dev))
        (void)aw_hip_stream_settle(s->dev, s);
    pthread_mutex_lock(&d->lock);
    if (s->prev)
        s->prev->next = s->next;
    else
        d->streams = s->next;
    if (s->next)
        s->next->prev = s->prev;
    pthread_mutex_unlock(&d->lock);
    if (aw_hip_dead(s->dev))
        return aw_hip_fault_of(s->dev); /* its kernels may still be writing what belongs to it */
    aw_hip_env_drop(s);
    status = aw_hip_result(-1, aw_hip.api.hipStreamDestroy(s->handle));
    free(s);
    return status;
}

int aw_hip_stream_query(int dev, struct aw_stream *stream)
{
    USE(dev);
    int fault = aw_hip_fault_of(dev);
    int error = aw_hip_stream_poll(aw_hip_stream_of(dev, stream));
    if (error == HIP_SUCCESS) {
        aw_hip_env_drain(dev);
        fault = aw_hip_fault_of(dev);
    }
    return fault ? fault : aw_hip_result(dev, error);
}

int aw_hip_stream_sync(int dev, struct aw_stream *stream)
{
    USE(dev);
    return aw_hip_stream_settle(dev, aw_hip_stream_of(dev, stream));
}

int aw_hip_stream_wait(int dev, struct aw_stream *stream, struct aw_event *event)
{
    if (!event)
        return AW_ERR_INVALID_HANDLE;
    USE(dev);
    return aw_hip_result(dev, aw_hip.api.hipStreamWaitEvent(aw_hip_stream_of(dev, stream)->handle,
                                                            ((struct aw_hip_event *)(void *)event)->handle, 0));
}

/* ---- Callbacks */

struct callback {
    void (*fn)(void *user);
    void *user;
};

static void on_callback(void *stream, int error, void *user)
{
    struct callback c = *(struct callback *)user;
    (void)stream;
    (void)error; /* the next call on the device tells */
    free(user);
    c.fn(c.user);
}

int aw_hip_stream_native(int dev, struct aw_stream *stream, void **ret_native)
{
    USE(dev);
    *ret_native = stream ? ((struct aw_hip_stream *)(void *)stream)->handle : NULL;
    return AW_OK;
}

int aw_hip_stream_callback(int dev, struct aw_stream *stream, void (*fn)(void *user), void *user)
{
    if (!fn)
        return AW_ERR_INVALID_VALUE;
    USE(dev);
    struct callback *c = malloc(sizeof *c);
    if (!c)
        return AW_ERR_OUT_OF_MEMORY;
    *c = (struct callback){ fn, user };
    int status = aw_hip_result(dev, aw_hip.api.hipStreamAddCallback(aw_hip_stream_of(dev, stream)->handle, on_callback, c, 0));
    if (status != AW_OK)
        free(c);
    return status;
}

/* ---- Values in memory */

int aw_hip_stream_write_value(int dev, struct aw_stream *stream, void *ptr, uint64_t value, unsigned bytes)
{
    void *s = aw_hip_stream_of(dev, stream)->handle;
    if ((bytes != 4 && bytes != 8) || (uintptr_t)ptr % bytes)
        return AW_ERR_INVALID_VALUE;
    USE(dev);
    if (bytes == 4 ? !aw_hip.api.hipStreamWriteValue32 : !aw_hip.api.hipStreamWriteValue64)
        return AW_ERR_NOT_SUPPORTED;
    return aw_hip_result(dev, bytes == 4 ? aw_hip.api.hipStreamWriteValue32(s, ptr, (uint32_t)value, 0)
                                         : aw_hip.api.hipStreamWriteValue64(s, ptr, value, 0));
}

int aw_hip_stream_wait_value(int dev, struct aw_stream *stream, void *ptr, uint64_t value, unsigned bytes, enum aw_wait how,
                             const void *owner)
{
    (void)owner; /* there is no device_stop */
    void *s = aw_hip_stream_of(dev, stream)->handle;
    if ((bytes != 4 && bytes != 8) || (uintptr_t)ptr % bytes || (unsigned)how > AW_WAIT_NOR)
        return AW_ERR_INVALID_VALUE;
    USE(dev);
    if (bytes == 4 ? !aw_hip.api.hipStreamWaitValue32 : !aw_hip.api.hipStreamWaitValue64)
        return AW_ERR_NOT_SUPPORTED;
    /* Comparisons are numbered alike. */
    return aw_hip_result(dev, bytes == 4 ? aw_hip.api.hipStreamWaitValue32(s, ptr, (uint32_t)value, (unsigned)how, UINT32_MAX)
                                         : aw_hip.api.hipStreamWaitValue64(s, ptr, value, (unsigned)how, UINT64_MAX));
}

/* ---- Events */

static int event_keep(int dev, void *handle, struct aw_event **ret_event)
{
    struct aw_hip_event *e = malloc(sizeof *e);
    if (!e) {
        aw_hip.api.hipEventDestroy(handle);
        return AW_ERR_OUT_OF_MEMORY;
    }
    *e = (struct aw_hip_event){ handle, dev };
    *ret_event = (struct aw_event *)(void *)e;
    return AW_OK;
}

int aw_hip_event_create(int dev, unsigned flags, struct aw_event **ret_event)
{
    void *handle = NULL;
    USE(dev);
    unsigned f = (flags & AW_EVENT_NO_TIMING ? HIP_EVENT_NO_TIMING : 0u) |
                 (flags & AW_EVENT_BLOCKING_SYNC ? HIP_EVENT_BLOCKING : 0u) |
                 (flags & AW_EVENT_INTERPROCESS ? HIP_EVENT_INTERPROCESS : 0u);
    int status = aw_hip_result(dev, aw_hip.api.hipEventCreateWithFlags(&handle, f));
    return status == AW_OK ? event_keep(dev, handle, ret_event) : status;
}

int aw_hip_event_destroy(struct aw_event *event)
{
    struct aw_hip_event *e = (struct aw_hip_event *)(void *)event;
    if (!e || !aw_hip.opened)
        return AW_ERR_INVALID_HANDLE;
    int status = aw_hip_dead(e->dev) ? aw_hip_fault_of(e->dev) : aw_hip_result(-1, aw_hip.api.hipEventDestroy(e->handle));
    free(e);
    return status;
}

int aw_hip_event_record(int dev, struct aw_event *event, struct aw_stream *stream)
{
    if (!event)
        return AW_ERR_INVALID_HANDLE;
    USE(dev);
    return aw_hip_result(dev, aw_hip.api.hipEventRecord(((struct aw_hip_event *)(void *)event)->handle,
                                                        aw_hip_stream_of(dev, stream)->handle));
}

int aw_hip_event_query(struct aw_event *event)
{
    struct aw_hip_event *e = (struct aw_hip_event *)(void *)event;
    if (!e || !aw_hip.opened)
        return AW_ERR_INVALID_HANDLE;
    USE(e->dev);
    return aw_hip_result(e->dev, aw_hip.api.hipEventQuery(e->handle));
}

int aw_hip_event_sync(struct aw_event *event)
{
    struct aw_hip_event *e = (struct aw_hip_event *)(void *)event;
    if (!e || !aw_hip.opened)
        return AW_ERR_INVALID_HANDLE;
    USE(e->dev);
    return aw_hip_event_settle(e);
}

int aw_hip_event_elapsed(struct aw_event *begin, struct aw_event *end, float *ret_ms)
{
    struct aw_hip_event *a = (struct aw_hip_event *)(void *)begin, *b = (struct aw_hip_event *)(void *)end;
    float ms = 0;
    if (!a || !b || !aw_hip.opened)
        return AW_ERR_INVALID_HANDLE;
    USE(a->dev);
    int status = aw_hip_result(a->dev, aw_hip.api.hipEventElapsedTime(&ms, a->handle, b->handle));
    if (status == AW_OK)
        *ret_ms = ms;
    return status;
}

/* ---- Events of other processes */

int aw_hip_ipc_event_get(struct aw_event *event, struct aw_ipc_handle *ret_handle)
{
    struct aw_hip_event *e = (struct aw_hip_event *)(void *)event;
    struct aw_ipc_handle handle;
    if (!e || !aw_hip.opened)
        return AW_ERR_INVALID_HANDLE;
    USE(e->dev);
    if (!aw_hip.api.hipIpcGetEventHandle)
        return AW_ERR_NOT_SUPPORTED;
    int status = aw_hip_result(e->dev, aw_hip.api.hipIpcGetEventHandle(&handle, e->handle));
    if (status == AW_OK)
        *ret_handle = handle;
    return status;
}

int aw_hip_ipc_event_open(int dev, const struct aw_ipc_handle *handle, struct aw_event **ret_event)
{
    void *native = NULL;
    USE(dev);
    if (!aw_hip.api.hipIpcOpenEventHandle)
        return AW_ERR_NOT_SUPPORTED;
    int status = aw_hip_result(dev, aw_hip.api.hipIpcOpenEventHandle(&native, *handle));
    return status == AW_OK ? event_keep(dev, native, ret_event) : status;
}
