/* Green contexts: parts of a device by name, whose work is the primary context's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/context.h"

struct aw_slab aw_green_slab = AW_SLAB_INIT("green context", struct aw_green);

enum aw_status aw_green_create(struct aw_device *device, unsigned sms, struct aw_green **ret_green)
{
    struct aw_green *green = aw_slab_take(&aw_green_slab);
    if (!green)
        return AW_ERR_OUT_OF_MEMORY;
    enum aw_status status = aw_primary_retain(device, &green->ctx);
    if (status) {
        aw_slab_give(&aw_green_slab, green);
        return status;
    }
    green->sms = sms;
    green->id = aw_next_id();
    aw_slab_publish(&aw_green_slab, green);
    *ret_green = green;
    return AW_OK;
}

enum aw_status aw_green_destroy(struct aw_green *green)
{
    struct aw_ctx *top;
    bool current = aw_green_top() == green;
    if (!aw_slab_kill(&aw_green_slab, green))
        return AW_ERR_INVALID_CONTEXT;
    if (current)
        (void)aw_ctx_pop(&top);
    struct aw_device *device = green->ctx->device;
    aw_slab_give(&aw_green_slab, green);
    (void)aw_primary_release(device); /* after a reset there is nothing to release */
    return AW_OK;
}

struct aw_green *aw_stream_green(const struct aw_cstream *stream)
{
    if (stream == &stream->ctx->legacy || stream->per_thread)
        return aw_green_top();
    struct aw_green *green = aw_green_from(stream->green);
    return green && green->id == stream->green_id ? green : NULL;
}
