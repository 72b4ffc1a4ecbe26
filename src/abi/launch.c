/* Launch attributes: which are obeyed, which are hints that may be passed over, which are refused. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "abi"
#include "abi/launch.h"

#include "base/log.h"

enum aw_status aw_abi_wishes_read(const CUlaunchAttribute *attrs, unsigned n, struct aw_abi_wishes *ret_wishes)
{
    struct aw_abi_wishes wishes = { 0 };
    if (n && !attrs)
        return AW_ERR_INVALID_VALUE;
    for (unsigned i = 0; i < n; i++) {
        const CUlaunchAttributeValue *value = &attrs[i].value;
        CUevent event = NULL;
        switch (attrs[i].id) {
        case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
            wishes.cooperative = value->cooperative != 0;
            break;
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
            if (value->clusterDim.x > 1 || value->clusterDim.y > 1 || value->clusterDim.z > 1) {
                aw_say(LAUNCH_CLUSTERS);
                return AW_ERR_INVALID_CLUSTER;
            }
            break;
        case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
        case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
            event = attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT ? value->programmaticEvent.event
                                                                         : value->launchCompletionEvent.event;
            if (wishes.n_after == 2 || !aw_event_from(event))
                return AW_ERR_INVALID_HANDLE;
            wishes.after[wishes.n_after++] = event;
            break;
        case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE: /* only inside a graph */
            aw_say(LAUNCH_DEVICE_NODE);
            return AW_ERR_NOT_SUPPORTED;
        case CU_LAUNCH_ATTRIBUTE_IGNORE:
        case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: /* permits overlap; never requires it */
        case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
        case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
        case CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE:
        case CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE:
            break;
        default:
            return AW_ERR_INVALID_VALUE;
        }
    }
    *ret_wishes = wishes;
    return AW_OK;
}

enum aw_status aw_abi_launch(struct aw_func *func, struct aw_launch_args *args, const struct aw_abi_wishes *wishes,
                             struct aw_cstream *stream)
{
    args->cooperative = wishes->cooperative;
    enum aw_status status = aw_launch_kernel(func, args, stream);
    for (int i = 0; status == AW_OK && i < wishes->n_after; i++) {
        struct aw_cevent *event = aw_event_from(wishes->after[i]);
        status = event ? aw_event_record(event, stream) : AW_ERR_INVALID_HANDLE;
    }
    return status;
}

enum aw_status aw_abi_clusters(struct aw_func *func, const uint32_t block[3], size_t shared_bytes, const CUlaunchAttribute *attrs,
                               unsigned n, int *ret_clusters)
{
    int blocks;
    struct aw_abi_wishes wishes;
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    enum aw_status status = aw_abi_wishes_read(attrs, n, &wishes);
    if (status == AW_OK)
        status = threads && threads <= 1024 ? aw_func_occupancy(func, (int)threads, shared_bytes, &blocks) : AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        *ret_clusters = blocks * func->module->ctx->device->attr[AW_DEV_MULTIPROCESSORS];
    return status;
}
