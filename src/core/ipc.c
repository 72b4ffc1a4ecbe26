/* Sharing with other processes, and stream memory operations: checked here, done by the provider. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ipc.h"

#include "core/recorder.h"
#include "core/memory.h"

enum { EVENT_IPC = 4 };

/* ---- Memory */

enum aw_status aw_ipc_mem_get(struct aw_ctx *ctx, uintptr_t address, struct aw_ipc_handle *ret_handle)
{
    struct aw_mem mem;
    if (!aw_mem_find(address, &mem) || mem.kind != AW_MEM_DEVICE || mem.pool)
        return AW_ERR_INVALID_VALUE;
    if (!aw_provider->ipc_mem_get)
        return AW_ERR_NOT_SUPPORTED;
    return aw_device_note(ctx->device, aw_provider->ipc_mem_get(mem.ctx->device->native, (void *)mem.base, ret_handle));
}

enum aw_status aw_ipc_mem_open(struct aw_ctx *ctx, const struct aw_ipc_handle *handle, uintptr_t *ret_address)
{
    void *p = NULL;
    size_t size = 0;
    if (!aw_provider->ipc_mem_open || !aw_provider->ipc_mem_close)
        return AW_ERR_NOT_SUPPORTED;
    enum aw_status status = aw_device_note(ctx->device, aw_provider->ipc_mem_open(ctx->device->native, handle, &p, &size));
    if (status)
        return status;
    status = aw_mem_ipc_add(ctx, (uintptr_t)p, size);
    if (status)
        aw_provider->ipc_mem_close(ctx->device->native, p);
    else
        *ret_address = (uintptr_t)p;
    return status;
}

enum aw_status aw_ipc_mem_close(uintptr_t address)
{
    return aw_mem_ipc_close(address);
}

/* ---- Events */

enum aw_status aw_ipc_event_get(struct aw_cevent *event, struct aw_ipc_handle *ret_handle)
{
    if (!(event->flags & EVENT_IPC))
        return AW_ERR_INVALID_VALUE;
    if (!aw_provider->ipc_event_get)
        return AW_ERR_NOT_SUPPORTED;
    return aw_device_note(event->ctx->device, aw_provider->ipc_event_get(event->native, ret_handle));
}

enum aw_status aw_ipc_event_open(struct aw_ctx *ctx, const struct aw_ipc_handle *handle, struct aw_cevent **ret_event)
{
    struct aw_event *native = NULL;
    if (!aw_provider->ipc_event_open)
        return AW_ERR_NOT_SUPPORTED;
    enum aw_status status = aw_device_note(ctx->device, aw_provider->ipc_event_open(ctx->device->native, handle, &native));
    if (status)
        return status;
    status = aw_event_adopt(ctx, native, ret_event);
    if (status)
        aw_provider->event_destroy(native);
    return status;
}

/* ---- Values */

static enum aw_status value_check(struct aw_cstream *stream, uintptr_t address, unsigned bytes)
{
    enum aw_status refused;
    struct aw_mem mem;
    if (aw_capture_any() && aw_capture_refuse(stream, &refused)) /* no node of ours does it */
        return refused;
    if (!address || address % bytes || !aw_mem_find(address, &mem) || bytes > mem.size - (address - mem.base))
        return AW_ERR_INVALID_VALUE;
    return AW_OK;
}

enum aw_status aw_stream_write_value(struct aw_cstream *stream, uintptr_t address, uint64_t value, unsigned bytes)
{
    struct aw_device *device = stream->ctx->device;
    enum aw_status status = value_check(stream, address, bytes);
    if (status)
        return status;
    if (!aw_provider->stream_write_value)
        return AW_ERR_NOT_SUPPORTED;
    return aw_device_note(device, aw_provider->stream_write_value(device->native, stream->native, (void *)address, value, bytes));
}

enum aw_status aw_stream_wait_value(struct aw_cstream *stream, uintptr_t address, uint64_t value, unsigned bytes, unsigned how)
{
    struct aw_device *device = stream->ctx->device;
    enum aw_status status = value_check(stream, address, bytes);
    if (status)
        return status;
    if (how > AW_WAIT_NOR)
        return AW_ERR_INVALID_VALUE;
    if (!aw_provider->stream_wait_value)
        return AW_ERR_NOT_SUPPORTED;
    return aw_device_note(device, aw_provider->stream_wait_value(device->native, stream->native, (void *)address, value, bytes,
                                                                 (enum aw_wait)how, stream->ctx));
}
