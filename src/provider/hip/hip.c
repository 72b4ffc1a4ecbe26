/* The hip provider: forwards the seam's calls to AMD's HIP runtime, opened with dlopen.
 * Not a second implementation of anything: what HIP decides stays HIP's.  Here is what every call does, and the table. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/hip/hip.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "provider/hip/internal.h"

struct aw_hip aw_hip = { .lock = PTHREAD_MUTEX_INITIALIZER, .grid_most = UINT32_MAX };
_Thread_local int aw_hip_current = -1;

/* Errors after which a device does nothing any more until it is reset. */
static bool is_sticky(enum aw_status status)
{
    return status == AW_ERR_ILLEGAL_ADDRESS || status == AW_ERR_ILLEGAL_INSTRUCTION || status == AW_ERR_LAUNCH_FAILED ||
           status == AW_ERR_ASSERT || status == AW_ERR_LAUNCH_TIMEOUT;
}

void aw_hip_fault_set(int dev, int status)
{
    int none = AW_OK;
    atomic_compare_exchange_strong(&aw_hip.dev[dev].fault, &none, status);
}

int aw_hip_result(int dev, int error)
{
    if (error == HIP_SUCCESS)
        return AW_OK;
    /* HIP also keeps the thread's last error; the program must not meet it as somebody else's. */
    if (error != HIP_NOT_READY)
        aw_hip.api.hipGetLastError();
    enum aw_status status = aw_status_from_hip(error);
    if (status == AW_ERR_UNKNOWN)
        aw_say(HIP_ERROR, error);
    if (aw_hip_dev_ok(dev) && is_sticky(status))
        aw_hip_fault_set(dev, (int)status);
    return (int)status;
}

int aw_hip_use(int dev)
{
    if (!aw_hip_dev_ok(dev))
        return aw_hip.closed ? AW_ERR_DEINITIALIZED : AW_ERR_INVALID_DEVICE;
    aw_hip_current = dev;
    return aw_hip_result(dev, aw_hip.api.hipSetDevice(aw_hip.dev[dev].ordinal));
}

/* ---- Names of kernels */

struct name {
    struct name *next;
    char text[];
};

/* Kept for ever: a fault is told of when its module may be gone.  Their number is that of the program's kernels. */
const char *aw_hip_intern(const char *name)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct name *names[256];
    unsigned hash = 5381;
    for (const char *p = name; *p; p++)
        hash = hash * 33 + (unsigned char)*p;
    struct name **slot = &names[hash % 256], *n;
    pthread_mutex_lock(&lock);
    for (n = *slot; n && strcmp(n->text, name) != 0; n = n->next) {
    }
    if (!n) {
        size_t size = strlen(name) + 1;
        n = malloc(sizeof *n + size);
        if (n) {
            memcpy(n->text, name, size);
            n->next = *slot;
            *slot = n;
        }
    }
    pthread_mutex_unlock(&lock);
    return n ? n->text : NULL;
}

/* ---- The table */

static int device_count(void)
{
    return aw_hip.opened ? aw_hip.count : 0;
}

const struct aw_provider aw_provider_hip = {
    .name = "hip",
    .open = aw_hip_open,
    .device_count = device_count,
    .device_name = aw_hip_device_name,
    .device_target = aw_hip_device_target,
    .device_attr = aw_hip_device_attr,
    .device_uuid = aw_hip_device_uuid,
    .device_memory = aw_hip_device_memory,
    .code_object_version = aw_hip_code_object_version,
    .device_sync = aw_hip_device_sync,
    .device_fault = aw_hip_device_fault,
    .device_reset = aw_hip_device_reset,
    .mem_alloc = aw_hip_mem_alloc,
    .mem_free = aw_hip_mem_free,
    .host_alloc = aw_hip_host_alloc,
    .host_free = aw_hip_host_free,
    .host_register = aw_hip_host_register,
    .host_unregister = aw_hip_host_unregister,
    .managed_alloc = aw_hip_managed_alloc,
    .pointer_info = aw_hip_pointer_info,
    .copy = aw_hip_copy,
    .copy3d = aw_hip_copy3d,
    .fill = aw_hip_fill,
    .copy_peer = aw_hip_copy_peer,
    .stream_create = aw_hip_stream_create,
    .stream_destroy = aw_hip_stream_destroy,
    .stream_query = aw_hip_stream_query,
    .stream_sync = aw_hip_stream_sync,
    .stream_wait = aw_hip_stream_wait,
    .stream_callback = aw_hip_stream_callback,
    .stream_native = aw_hip_stream_native,
    .event_create = aw_hip_event_create,
    .event_destroy = aw_hip_event_destroy,
    .event_record = aw_hip_event_record,
    .event_query = aw_hip_event_query,
    .event_sync = aw_hip_event_sync,
    .event_elapsed = aw_hip_event_elapsed,
    .object_load = aw_hip_object_load,
    .object_unload = aw_hip_object_unload,
    .object_function = aw_hip_object_function,
    .function_attr = aw_hip_function_attr,
    .occupancy = aw_hip_occupancy,
    .function_set_shared = aw_hip_function_set_shared,
    .launch = aw_hip_launch,
    .vmm = &aw_hip_vmm,
    .grid_parts = true,
    .shared_full = true,
    .peer_access = aw_hip_peer_access,
    .peer_enable = aw_hip_peer_enable,
    .limit_set = aw_hip_limit_set,
    .stream_priorities = aw_hip_stream_priorities,
    .copy_pageable = aw_hip_copy_pageable,
    .ipc_mem_get = aw_hip_ipc_mem_get,
    .ipc_mem_open = aw_hip_ipc_mem_open,
    .ipc_mem_close = aw_hip_ipc_mem_close,
    .ipc_event_get = aw_hip_ipc_event_get,
    .ipc_event_open = aw_hip_ipc_event_open,
    .stream_write_value = aw_hip_stream_write_value,
    .stream_wait_value = aw_hip_stream_wait_value,
};
