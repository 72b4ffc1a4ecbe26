/* What a card is and can do, its limits and its peers, as HIP tells; and its reset. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include <anywarp/env.h>

#include "base/log.h"
#include "provider/hip/internal.h"

/* hipDeviceAttribute_t: numbers that CUDA has too lie below 10000, in HIP 5 as in later versions; those of AMD's own from
 * 10000. */
enum {
    HIP_ATTR_ASYNC_ENGINES = 2, HIP_ATTR_CLOCK = 5, HIP_ATTR_CONCURRENT_MANAGED = 9, HIP_ATTR_COOPERATIVE = 10,
    HIP_ATTR_HOST_NATIVE_ATOMICS = 15, HIP_ATTR_INTEGRATED = 16, HIP_ATTR_L2 = 19, HIP_ATTR_MANAGED = 24,
    HIP_ATTR_BLOCK_X = 26, HIP_ATTR_GRID_X = 29, HIP_ATTR_THREADS_PER_BLOCK = 56, HIP_ATTR_THREADS_PER_SM = 57,
    HIP_ATTR_BUS_WIDTH = 59, HIP_ATTR_MEMORY_CLOCK = 60, HIP_ATTR_MULTIPROCESSORS = 63, HIP_ATTR_PAGEABLE = 65,
    HIP_ATTR_PCI_BUS = 67, HIP_ATTR_PCI_DEVICE = 68, HIP_ATTR_PCI_DOMAIN = 69, HIP_ATTR_REGS_PER_BLOCK = 71,
    HIP_ATTR_SHARED_PER_BLOCK = 74, HIP_ATTR_SHARED_PER_SM = 10002, HIP_ATTR_UNIFIED = 85, HIP_ATTR_WARP_SIZE = 87,
    HIP_ATTR_WALL_CLOCK = 10017,
};

int aw_hip_device_name(int dev, char *ret_name, size_t size)
{
    if (!aw_hip_dev_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    if (!size || !ret_name)
        return AW_ERR_INVALID_VALUE;
    /* Some runtimes know no name for a card. */
    snprintf(ret_name, size, "%s", *aw_hip.dev[dev].name ? aw_hip.dev[dev].name : aw_hip.dev[dev].arch);
    return AW_OK;
}

const char *aw_hip_device_target(int dev)
{
    return aw_hip_dev_ok(dev) ? aw_hip.dev[dev].target : NULL;
}

int aw_hip_code_object_version(int dev)
{
    return aw_hip_dev_ok(dev) ? aw_hip.dev[dev].object_version : 0;
}

/* HIP's attribute, and what holds where a runtime does not answer (-1: that is an error). */
static const struct {
    int hip, fallback;
} attr_map[AW_DEV_COUNT_] = {
    [AW_DEV_MULTIPROCESSORS] = { HIP_ATTR_MULTIPROCESSORS, -1 },
    [AW_DEV_CLOCK_KHZ] = { HIP_ATTR_CLOCK, -1 },
    [AW_DEV_MEMORY_CLOCK_KHZ] = { HIP_ATTR_MEMORY_CLOCK, -1 },
    [AW_DEV_BUS_WIDTH] = { HIP_ATTR_BUS_WIDTH, -1 },
    [AW_DEV_L2_BYTES] = { HIP_ATTR_L2, -1 },
    [AW_DEV_MAX_THREADS_PER_BLOCK] = { HIP_ATTR_THREADS_PER_BLOCK, -1 },
    [AW_DEV_MAX_BLOCK_X] = { HIP_ATTR_BLOCK_X, -1 },
    [AW_DEV_MAX_BLOCK_Y] = { HIP_ATTR_BLOCK_X + 1, -1 },
    [AW_DEV_MAX_BLOCK_Z] = { HIP_ATTR_BLOCK_X + 2, -1 },
    [AW_DEV_MAX_GRID_X] = { HIP_ATTR_GRID_X, -1 },
    [AW_DEV_MAX_GRID_Y] = { HIP_ATTR_GRID_X + 1, -1 },
    [AW_DEV_MAX_GRID_Z] = { HIP_ATTR_GRID_X + 2, -1 },
    [AW_DEV_SHARED_PER_BLOCK] = { HIP_ATTR_SHARED_PER_BLOCK, -1 },
    [AW_DEV_SHARED_PER_MULTIPROCESSOR] = { HIP_ATTR_SHARED_PER_SM, 65536 }, /* LDS of every card so far */
    [AW_DEV_REGS_PER_BLOCK] = { HIP_ATTR_REGS_PER_BLOCK, 65536 },
    [AW_DEV_MAX_THREADS_PER_MULTIPROCESSOR] = { HIP_ATTR_THREADS_PER_SM, -1 },
    [AW_DEV_WAVE_SIZE] = { HIP_ATTR_WARP_SIZE, -1 },
    [AW_DEV_PCI_DOMAIN] = { HIP_ATTR_PCI_DOMAIN, 0 },
    [AW_DEV_PCI_BUS] = { HIP_ATTR_PCI_BUS, 0 },
    [AW_DEV_PCI_DEVICE] = { HIP_ATTR_PCI_DEVICE, 0 },
    [AW_DEV_INTEGRATED] = { HIP_ATTR_INTEGRATED, 0 },
    [AW_DEV_MANAGED] = { HIP_ATTR_MANAGED, 0 },
    [AW_DEV_CONCURRENT_MANAGED] = { HIP_ATTR_CONCURRENT_MANAGED, 0 },
    [AW_DEV_PAGEABLE] = { HIP_ATTR_PAGEABLE, 0 },
    [AW_DEV_COOPERATIVE] = { HIP_ATTR_COOPERATIVE, 0 },
    [AW_DEV_UNIFIED_ADDRESSING] = { HIP_ATTR_UNIFIED, 1 },
    [AW_DEV_HOST_NATIVE_ATOMICS] = { HIP_ATTR_HOST_NATIVE_ATOMICS, 0 },
    [AW_DEV_ASYNC_ENGINES] = { HIP_ATTR_ASYNC_ENGINES, 1 },
};

int aw_hip_device_attr(int dev, enum aw_device_attr attr, int *ret_value)
{
    int value = 0;
    if (!aw_hip_dev_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    if ((unsigned)attr >= AW_DEV_COUNT_ || !ret_value)
        return AW_ERR_INVALID_VALUE;
    int error = aw_hip.api.hipDeviceGetAttribute(&value, attr_map[attr].hip, aw_hip.dev[dev].ordinal);
    if (error && attr_map[attr].fallback < 0)
        return aw_hip_result(dev, error);
    if (error) {
        aw_hip.api.hipGetLastError();
        value = attr_map[attr].fallback;
    }
    if (attr == AW_DEV_MANAGED)
        value = 1; /* emulated where the card has none (memory.c) */
    *ret_value = value;
    return AW_OK;
}

/* a / b in 64 and 64 bits. */
static void quotient(uint64_t a, uint64_t b, uint64_t ret[2])
{
    ret[0] = a / b;
    ret[1] = (uint64_t)(((unsigned __int128)(a % b) << 64) / b);
}

void aw_hip_clock_write(int dev, unsigned char *scale)
{
    int steady = 0, clock = 0; /* kHz */
    uint64_t words[4];
    int ordinal = aw_hip.dev[dev].ordinal;
    if (aw_hip.api.hipDeviceGetAttribute(&steady, HIP_ATTR_WALL_CLOCK, ordinal) != 0 ||
        aw_hip.api.hipDeviceGetAttribute(&clock, HIP_ATTR_CLOCK, ordinal) != 0 || steady <= 0 || clock <= 0) {
        aw_hip.api.hipGetLastError();
        return;
    }
    quotient(1000000, (uint64_t)steady, words);
    quotient((uint64_t)clock, (uint64_t)steady, words + 2);
    _Static_assert(sizeof words == sizeof(struct aw_clock_scale), "nanoseconds, then cycles");
    memcpy(scale, words, sizeof words);
}

int aw_hip_device_uuid(int dev, uint8_t ret_uuid[16])
{
    if (!aw_hip_dev_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    uint8_t uuid[16] = { 0 };
    if (!aw_hip.api.hipDeviceGetUuid || aw_hip.api.hipDeviceGetUuid(uuid, aw_hip.dev[dev].ordinal) != 0) {
        /* Older runtimes: the place on the bus tells cards of one machine apart. */
        int place[3] = { 0 };
        for (int i = 0; i < 3; i++)
            aw_hip_device_attr(dev, AW_DEV_PCI_DOMAIN + i, &place[i]);
        snprintf((char *)uuid, sizeof uuid, "hip%04x%02x%02x%02x", place[0] & 0xffff, place[1] & 0xff, place[2] & 0xff,
                 dev & 0xff);
    }
    memcpy(ret_uuid, uuid, 16);
    return AW_OK;
}

int aw_hip_device_memory(int dev, size_t *ret_free, size_t *ret_total)
{
    size_t left = 0, total = 0;
    USE(dev);
    int status = aw_hip_result(dev, aw_hip.api.hipMemGetInfo(&left, &total));
    if (status == AW_OK) {
        *ret_free = left;
        *ret_total = total;
    }
    return status;
}

int aw_hip_device_fault(int dev)
{
    return aw_hip_dev_ok(dev) ? aw_hip_fault_of(dev) : AW_ERR_INVALID_DEVICE;
}

/* Least and greatest as HIP has them: 1 and -1 in 5, so that CUDA's 0 is its normal. */
int aw_hip_stream_priorities(int dev, int *ret_least, int *ret_greatest)
{
    int least = 0, greatest = 0;
    USE(dev);
    int error = aw_hip.api.hipDeviceGetStreamPriorityRange ? aw_hip.api.hipDeviceGetStreamPriorityRange(&least, &greatest) : 0;
    if (error)
        return aw_hip_result(dev, error);
    *ret_least = least < 0 || least < greatest ? 0 : least;
    *ret_greatest = greatest > 0 ? 0 : greatest;
    return AW_OK;
}

/* ---- Peers and reset */

int aw_hip_peer_access(int dev, int peer, bool *ret_can)
{
    int can = 0;
    if (!aw_hip_dev_ok(peer))
        return AW_ERR_INVALID_DEVICE;
    USE(dev);
    int status = aw_hip_result(dev, aw_hip.api.hipDeviceCanAccessPeer(&can, aw_hip.dev[dev].ordinal, aw_hip.dev[peer].ordinal));
    if (status == AW_OK)
        *ret_can = can != 0;
    return status;
}

int aw_hip_peer_enable(int dev, int peer, bool on)
{
    if (!aw_hip_dev_ok(peer))
        return AW_ERR_INVALID_DEVICE;
    USE(dev);
    int ordinal = aw_hip.dev[peer].ordinal;
    return aw_hip_result(dev, on ? aw_hip.api.hipDeviceEnablePeerAccess(ordinal, 0)
                                 : aw_hip.api.hipDeviceDisablePeerAccess(ordinal));
}

/* HIP frees the device's memory, so we forget it as well.  A device whose queues are stuck stays faulty: nothing that HIP offers
 * brings it back, and its own reset would wait for ever. */
int aw_hip_device_reset(int dev)
{
    USE(dev);
    (void)aw_hip_device_settle(dev);
    if (aw_hip_dead(dev))
        return aw_hip_fault_of(dev);
    aw_hip_env_fini(dev);
    aw_hip_stage_fini(dev);
    int status = aw_hip_result(dev, aw_hip.api.hipDeviceReset());
    if (status != AW_OK)
        return status;
    aw_hip_ranges_forget(dev);
    aw_hip.dev[dev].print_bytes = AW_HIP_PRINT_DEFAULT;
    aw_hip.dev[dev].heap_bytes = AW_HIP_HEAP_DEFAULT;
    aw_hip_stack_reset(dev);
    atomic_store(&aw_hip.dev[dev].fault, AW_OK);
    return AW_OK;
}
