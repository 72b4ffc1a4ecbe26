/* The driver API: resources of devices, and green contexts that have some of them.  No device of ours can keep work
 * on a part of itself, so how many multiprocessors a context has is told and nothing more. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "abi/cuda_util.h"

enum { IGNORE_SM_COSCHEDULING = 1, MAX_POTENTIAL_CLUSTER_SIZE = 2 }; /* how to split */
enum { SM_COUNT = 16 }; /* the attribute */

/* What a resource has in its reserved bytes: of which device it is, and of which split, whose parts alone go together. */
struct origin {
    uint32_t mark;
    int32_t device;
    uint64_t split; /* 0: it is all that the device or a context has */
};

#define MARK UINT32_C(0x6177736d)

static struct origin origin_of(const CUdevResource *resource)
{
    struct origin origin;
    memcpy(&origin, resource->reserved + 4, sizeof origin);
    return origin;
}

/* `count` 0: no resource. */
static CUdevResource sm_resource(unsigned count, int device, uint64_t split)
{
    CUdevResource made;
    struct origin origin = { MARK, device, split };
    memset(&made, 0, sizeof made);
    if (!count)
        return made;
    made.type = CU_DEV_RESOURCE_TYPE_SM;
    made.sm = (CUdevSmResource){ count, 1, 1, 0 };
    memcpy(made.reserved + 4, &origin, sizeof origin);
    return made;
}

static unsigned device_sms(const struct aw_device *device)
{
    int count;
    return aw_device_attribute(device, SM_COUNT, &count) == AW_OK && count > 0 ? (unsigned)count : 1;
}

/* Those of a green context, or of all of its device where it is none. */
static CUresult resource_tell(const struct aw_green *green, const struct aw_device *device, CUdevResource *resource,
                              CUdevResourceType type)
{
    if (!resource)
        return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_DEV_RESOURCE_TYPE_SM)
        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    *resource = sm_resource(green ? green->sms : device_sms(device), device->ordinal, 0);
    return CUDA_SUCCESS;
}

CUresult awcu_cuDeviceGetDevResource(CUdevice device, CUdevResource *resource, CUdevResourceType type)
{
    struct aw_device *found;
    enum aw_status status = cu_device(device, &found);
    return status ? cu_result(status) : resource_tell(NULL, found, resource, type);
}

CUresult awcu_cuCtxGetDevResource(CUcontext hCtx, CUdevResource *resource, CUdevResourceType type)
{
    struct aw_ctx *ctx;
    enum aw_status status = cu_context(hCtx, false, &ctx);
    return status ? cu_result(status) : resource_tell(aw_green_from(hCtx), ctx->device, resource, type);
}

/* A handle of a green context; NULL is none. */
static CUresult cu_green(const void *handle, struct aw_green **ret_green)
{
    enum aw_status status = aw_core_ready();
    *ret_green = status ? NULL : aw_green_from(handle);
    if (status)
        return cu_result(status);
    return *ret_green ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult awcu_cuGreenCtxGetDevResource(CUgreenCtx hCtx, CUdevResource *resource, CUdevResourceType type)
{
    struct aw_green *green;
    CUresult result = cu_green(hCtx, &green);
    return result ? result : resource_tell(green, green->ctx->device, resource, type);
}

/* ---- Split, and what is to be put together. */

CUresult awcu_cuDevSmResourceSplitByCount(CUdevResource *result, unsigned int *nbGroups, const CUdevResource *input,
                                          CUdevResource *remainder, unsigned int flags, unsigned int minCount)
{
    enum aw_status status = aw_core_ready();
    if (status)
        return cu_result(status);
    if (!nbGroups || !input || (flags & ~(unsigned)(IGNORE_SM_COSCHEDULING | MAX_POTENTIAL_CLUSTER_SIZE)))
        return CUDA_ERROR_INVALID_VALUE;
    if (input->type != CU_DEV_RESOURCE_TYPE_SM)
        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    struct origin origin = origin_of(input);
    const unsigned count = input->sm.smCount, each = minCount ? minCount : 1;
    if (origin.mark != MARK || origin.split)
        return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    if (minCount > count)
        return CUDA_ERROR_INVALID_VALUE;
    unsigned groups = count / each;
    if (result && groups > *nbGroups)
        groups = *nbGroups;
    *nbGroups = groups;
    const uint64_t split = aw_next_id();
    for (unsigned i = 0; result && i < groups; i++)
        result[i] = sm_resource(each, origin.device, split);
    if (remainder)
        *remainder = sm_resource(count - groups * each, origin.device, split);
    return CUDA_SUCCESS;
}

/* A descriptor is its own handle: nothing destroys one. */
enum { DESC_MARK = 0x6177, DESC_MARK_AT = 48, DESC_DEVICE_AT = 32 };

static CUdevResourceDesc desc_make(int device, unsigned sms)
{
    return (CUdevResourceDesc)((uintptr_t)DESC_MARK << DESC_MARK_AT | (uintptr_t)device << DESC_DEVICE_AT | sms);
}

static bool desc_read(CUdevResourceDesc desc, int *ret_device, unsigned *ret_sms)
{
    uintptr_t value = (uintptr_t)desc;
    *ret_device = (uint16_t)(value >> DESC_DEVICE_AT);
    *ret_sms = (uint32_t)value;
    return value >> DESC_MARK_AT == DESC_MARK;
}

CUresult awcu_cuDevResourceGenerateDesc(CUdevResourceDesc *phDesc, const CUdevResource *resources, unsigned int nbResources)
{
    unsigned sms = 0;
    enum aw_status status = aw_core_ready();
    if (status)
        return cu_result(status);
    if (!phDesc || !resources || !nbResources)
        return CUDA_ERROR_INVALID_VALUE;
    const struct origin first = origin_of(resources);
    for (unsigned i = 0; i < nbResources; i++) {
        const struct origin origin = origin_of(&resources[i]);
        if (resources[i].type != CU_DEV_RESOURCE_TYPE_SM)
            return CUDA_ERROR_INVALID_RESOURCE_TYPE;
        if (origin.mark != MARK || origin.device != first.device || origin.split != first.split || (i && !first.split))
            return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
        sms += resources[i].sm.smCount;
    }
    const struct aw_device *device = aw_device_find(first.device);
    if (!device || sms > device_sms(device))
        return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    *phDesc = desc_make(first.device, sms);
    return CUDA_SUCCESS;
}

/* ---- Green contexts. */

CUresult awcu_cuGreenCtxCreate(CUgreenCtx *phCtx, CUdevResourceDesc desc, CUdevice dev, unsigned int flags)
{
    struct aw_device *device;
    struct aw_green *green;
    unsigned sms;
    int of;
    enum aw_status status = cu_device(dev, &device);
    if (status)
        return cu_result(status);
    if (!phCtx || flags != CU_GREEN_CTX_DEFAULT_STREAM || !desc_read(desc, &of, &sms) || of != dev)
        return CUDA_ERROR_INVALID_VALUE;
    status = aw_green_create(device, sms, &green);
    if (status == AW_OK)
        *phCtx = (CUgreenCtx)green;
    return cu_result(status);
}

CUresult awcu_cuGreenCtxDestroy(CUgreenCtx hCtx)
{
    struct aw_green *green;
    CUresult result = cu_green(hCtx, &green);
    return result ? result : cu_result(aw_green_destroy(green));
}

CUresult awcu_cuCtxFromGreenCtx(CUcontext *pContext, CUgreenCtx hCtx)
{
    struct aw_green *green;
    CUresult result = cu_green(hCtx, &green);
    if (result)
        return result;
    if (!pContext)
        return CUDA_ERROR_INVALID_VALUE;
    *pContext = (CUcontext)green;
    return CUDA_SUCCESS;
}

CUresult awcu_cuGreenCtxGetId(CUgreenCtx greenCtx, unsigned long long *greenCtxId)
{
    struct aw_green *green;
    CUresult result = cu_green(greenCtx ? (const void *)greenCtx : aw_green_top(), &green);
    if (result)
        return result;
    if (!greenCtxId)
        return CUDA_ERROR_INVALID_VALUE;
    *greenCtxId = green->id;
    return CUDA_SUCCESS;
}

/* ---- Their streams. */

CUresult awcu_cuGreenCtxStreamCreate(CUstream *phStream, CUgreenCtx greenCtx, unsigned int flags, int priority)
{
    struct aw_green *green;
    struct aw_ctx *old;
    struct aw_cstream *stream;
    CUresult result = cu_green(greenCtx, &green);
    if (!result && (!phStream || flags != CU_STREAM_NON_BLOCKING))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        result = cu_result(aw_green_push(green)); /* a stream is of the context that is current */
    if (result)
        return result;
    enum aw_status status = aw_stream_create(green->ctx, flags, priority, &stream);
    (void)aw_ctx_pop(&old);
    if (status == AW_OK)
        *phStream = (CUstream)stream;
    return cu_result(status);
}

/* ---- Events of all streams of a context. */

/* A context, a green one's handle among them, and the event. */
static enum aw_status ctx_and_event(const void *hctx, CUevent hevent, struct aw_ctx **ret_ctx, struct aw_cevent **ret_event)
{
    enum aw_status status = cu_context((CUcontext)hctx, false, ret_ctx);
    *ret_event = status ? NULL : aw_event_from(hevent);
    return status || *ret_event ? status : AW_ERR_INVALID_HANDLE;
}

CUresult awcu_cuCtxRecordEvent(CUcontext hCtx, CUevent hEvent)
{
    struct aw_ctx *ctx = NULL;
    struct aw_cevent *event;
    enum aw_status status = ctx_and_event(hCtx, hEvent, &ctx, &event);
    return cu_result(status ? status : aw_ctx_record(ctx, aw_green_from(hCtx), event));
}

CUresult awcu_cuCtxWaitEvent(CUcontext hCtx, CUevent hEvent)
{
    struct aw_ctx *ctx = NULL;
    struct aw_cevent *event;
    enum aw_status status = ctx_and_event(hCtx, hEvent, &ctx, &event);
    return cu_result(status ? status : aw_ctx_wait(ctx, aw_green_from(hCtx), event));
}

CUresult awcu_cuGreenCtxRecordEvent(CUgreenCtx hCtx, CUevent hEvent)
{
    struct aw_green *green;
    CUresult result = cu_green(hCtx, &green);
    return result ? result : awcu_cuCtxRecordEvent((CUcontext)hCtx, hEvent);
}

CUresult awcu_cuGreenCtxWaitEvent(CUgreenCtx hCtx, CUevent hEvent)
{
    struct aw_green *green;
    CUresult result = cu_green(hCtx, &green);
    return result ? result : awcu_cuCtxWaitEvent((CUcontext)hCtx, hEvent);
}

/* ---- What a stream belongs to. */

CUresult awcu_cuStreamGetGreenCtx(CUstream hStream, CUgreenCtx *phCtx)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(hStream, &ctx, &stream);
    if (status)
        return cu_result(status);
    if (!phCtx)
        return CUDA_ERROR_INVALID_VALUE;
    *phCtx = (CUgreenCtx)aw_stream_green(stream);
    return CUDA_SUCCESS;
}

CUresult awcu_cuStreamGetCtx_v2(CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx)
{
    CUresult result = awcu_cuStreamGetCtx(hStream, pCtx);
    if (!result && pGreenCtx)
        result = awcu_cuStreamGetGreenCtx(hStream, pGreenCtx);
    if (!result && pGreenCtx && *pGreenCtx)
        *pCtx = NULL; /* it is one or the other */
    return result;
}

CUresult awcu_cuStreamGetDevResource(CUstream hStream, CUdevResource *resource, CUdevResourceType type)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(hStream, &ctx, &stream);
    return status ? cu_result(status) : resource_tell(aw_stream_green(stream), stream->ctx->device, resource, type);
}
