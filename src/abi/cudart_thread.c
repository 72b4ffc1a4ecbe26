/* The runtime API's state of a thread: which device it chose, its last error, its context, made at first use. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/cudart.h"

#include <stdio.h>

#include "core/logs.h"

/* A few bytes, so that they fit the static thread storage even when we are loaded late. */
static _Thread_local __attribute__((tls_model("initial-exec"))) struct {
    cudaError_t last;
    int device; /* chosen + 1; 0: not chosen */
} thread;

static int first_device; /* for threads that chose none: the first of cudaSetValidDevices; atomic */

/* ---- Last error */

/* That something is not ready is an answer, not a failure: programs poll, and then look whether anything went wrong. */
void aw_rt_error_set(cudaError_t error)
{
    if (error != cudaErrorNotReady)
        thread.last = error;
}

void aw_rt_failed(const char *function, cudaError_t error)
{
    char text[192];
    aw_rt_error_set(error);
    if (error == cudaErrorNotReady)
        return;
    snprintf(text, sizeof text, "Returning %d (%s) from %s", (int)error, awrt_cudaGetErrorName(error), function);
    aw_logs_add("CUDART", AW_LOGS_ERROR, text);
}

cudaError_t awrt_cudaGetLastError(void)
{
    cudaError_t error = thread.last;
    thread.last = cudaSuccess;
    return error;
}

cudaError_t awrt_cudaPeekAtLastError(void)
{
    return thread.last;
}

const char *awrt_cudaGetErrorName(cudaError_t error)
{
    const char *name = aw_abi_error_name(error, false);
    return name ? name : "unrecognized error code";
}

const char *awrt_cudaGetErrorString(cudaError_t error)
{
    const char *text = aw_abi_error_text(error, false);
    return text ? text : "unrecognized error code";
}

/* ---- Device and context */

enum aw_status aw_rt_device_at(int ordinal, struct aw_device **ret_device)
{
    enum aw_status status = aw_core_init();
    if (status)
        return status;
    struct aw_device *device = ordinal < 0 ? NULL : aw_device_find(ordinal);
    if (!device)
        return AW_ERR_INVALID_DEVICE;
    *ret_device = device;
    return AW_OK;
}

static int chosen_device(void)
{
    return thread.device ? thread.device - 1 : __atomic_load_n(&first_device, __ATOMIC_RELAXED);
}

enum aw_status aw_rt_device(struct aw_device **ret_device)
{
    struct aw_ctx *ctx = aw_ctx_top();
    if (ctx && aw_ctx_from(ctx)) {
        *ret_device = ctx->device;
        return AW_OK;
    }
    return aw_rt_device_at(chosen_device(), ret_device);
}

/* Starts the primary context of the thread's device and makes it current. */
static __attribute__((noinline)) enum aw_status context_begin(void)
{
    struct aw_ctx *top = aw_ctx_top();
    struct aw_device *device;
    enum aw_status status = AW_OK;
    if (top && aw_ctx_from(top) && top->primary)
        device = top->device; /* current, but ended by a reset or a release: begins anew */
    else
        status = aw_rt_device_at(chosen_device(), &device);
    if (!status)
        status = aw_primary_use(device);
    if (!status)
        status = aw_registry_init_all_managed(device->primary);
    return status;
}

enum aw_status aw_rt_ctx_any(struct aw_ctx **ret_ctx)
{
    enum aw_status status = aw_ctx_current_any(ret_ctx);
    if (__builtin_expect(status == AW_OK, 1))
        return AW_OK;
    if (status != AW_ERR_NOT_INITIALIZED && status != AW_ERR_INVALID_CONTEXT && status != AW_ERR_CONTEXT_DESTROYED)
        return status;
    status = context_begin();
    return status ? status : aw_ctx_current_any(ret_ctx);
}

enum aw_status aw_rt_ctx(struct aw_ctx **ret_ctx)
{
    enum aw_status status = aw_ctx_current(ret_ctx);
    if (__builtin_expect(status == AW_OK, 1))
        return AW_OK;
    if (status != AW_ERR_NOT_INITIALIZED && status != AW_ERR_INVALID_CONTEXT && status != AW_ERR_CONTEXT_DESTROYED)
        return status;
    status = context_begin();
    return status ? status : aw_ctx_current(ret_ctx);
}

enum aw_status aw_rt_stream(cudaStream_t handle, struct aw_ctx **ret_ctx, struct aw_cstream **ret_stream)
{
    enum aw_status status = aw_rt_ctx(ret_ctx);
    return status ? status : aw_stream_find(*ret_ctx, handle, false, ret_stream);
}

cudaError_t awrt_cudaGetDevice(int *device)
{
    if (!device)
        return cudaErrorInvalidValue;
    struct aw_ctx *top = aw_ctx_top();
    if (top && aw_ctx_from(top)) {
        *device = top->device->ordinal;
        return cudaSuccess;
    }
    enum aw_status status = aw_core_init();
    if (!status)
        *device = chosen_device();
    return aw_rt_error(status);
}

cudaError_t awrt_cudaSetDevice(int ordinal)
{
    struct aw_ctx *top = aw_ctx_top(), *ctx;
    if (top && aw_ctx_from(top) && top->primary && top->device->ordinal == ordinal && thread.device == ordinal + 1)
        return cudaSuccess;
    struct aw_device *device;
    enum aw_status status = aw_rt_device_at(ordinal, &device);
    if (status)
        return aw_rt_error(status);
    thread.device = ordinal + 1;
    status = aw_primary_use(device);
    if (!status)
        status = aw_ctx_set(device->primary);
    if (!status)
        status = aw_registry_init_all_managed(device->primary);
    /* As CUDA 12 does, choosing a device also tells of the fault it may have. */
    return aw_rt_error(status ? status : aw_ctx_current(&ctx));
}

cudaError_t awrt_cudaSetValidDevices(const int *devices, int count)
{
    struct aw_device *device;
    enum aw_status status = count < 0 || (count > 0 && !devices) ? AW_ERR_INVALID_VALUE : aw_core_init();
    for (int i = 0; !status && i < count; i++)
        status = aw_rt_device_at(devices[i], &device);
    if (!status)
        __atomic_store_n(&first_device, count ? devices[0] : 0, __ATOMIC_RELAXED);
    return aw_rt_error(status);
}

cudaError_t awrt_cudaInitDevice(int ordinal, unsigned int device_flags, unsigned int flags)
{
    struct aw_device *device;
    if (flags & ~(unsigned)cudaInitDeviceFlagsAreValid)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_device_at(ordinal, &device);
    if (!status && (flags & cudaInitDeviceFlagsAreValid))
        status = aw_primary_set_flags(device, device_flags & cudaDeviceMask);
    if (status)
        return aw_rt_error(status);
    /* Starting a context makes it current for a thread that has none, which this call must not do. */
    bool had = aw_ctx_top() != NULL;
    status = aw_primary_use(device);
    if (!had)
        (void)aw_ctx_set(NULL);
    return aw_rt_error(status ? status : aw_registry_init_all_managed(device->primary));
}

cudaError_t awrt_cudaDeviceReset(void)
{
    struct aw_device *device;
    enum aw_status status = aw_rt_device(&device);
    thread.last = cudaSuccess;
    return aw_rt_error(status ? status : aw_primary_reset(device));
}

cudaError_t awrt_cudaSetDeviceFlags(unsigned int flags)
{
    struct aw_device *device;
    enum aw_status status = aw_rt_device(&device);
    return aw_rt_error(status ? status : aw_primary_set_flags(device, flags));
}

cudaError_t awrt_cudaGetDeviceFlags(unsigned int *flags)
{
    struct aw_device *device;
    bool active;
    if (!flags)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_device(&device);
    if (!status) {
        aw_primary_state(device, flags, &active);
        *flags |= cudaDeviceMapHost; /* always so */
    }
    return aw_rt_error(status);
}
