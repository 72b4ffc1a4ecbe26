/* Devices of the simulated HIP: the cards of ANYWARP_SIM, their properties, errors and limits. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "hip.h"
#include "api.h"

enum { VERSION_6_4 = 60400000, LIMIT_STACK = 0, NAME_BYTES = 256, ARCH_AT = 1160, PROPERTIES = 1472 };

static _Atomic int fault;
static _Atomic size_t stack_limit = 1024;
static _Thread_local int current, last_error;

int hip_fault(void)
{
    return atomic_load(&fault);
}

void hip_set_fault(int error)
{
    int none = HIP_SUCCESS;
    atomic_compare_exchange_strong(&fault, &none, error);
}

int hip_result(int error)
{
    if (!error)
        error = hip_fault();
    if (error)
        last_error = error;
    return error;
}

int hip_current(void)
{
    return current;
}

const struct sim_card *hip_card(void)
{
    return sim_settings()->cards[current];
}

size_t hip_stack_limit(void)
{
    return atomic_load(&stack_limit);
}

static bool is_device(int device)
{
    return device >= 0 && (unsigned)device < sim_settings()->n_cards;
}

int hipInit(unsigned flags)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)flags;
    if (sim_settings()->problem[0]) {
        sim_say("%s", sim_settings()->problem);
        return HIP_NO_DEVICE;
    }
    pthread_once(&once, sim_exit_watch);
    return HIP_SUCCESS;
}

__attribute__((destructor)) static void at_exit(void)
{
    sim_exit_report();
}

int hipGetDeviceCount(int *count)
{
    *count = sim_settings()->problem[0] ? 0 : (int)sim_settings()->n_cards;
    return *count ? HIP_SUCCESS : HIP_NO_DEVICE;
}

int hipSetDevice(int device)
{
    if (!is_device(device))
        return hip_result(HIP_INVALID_DEVICE);
    current = device;
    return HIP_SUCCESS;
}

int hipRuntimeGetVersion(int *version)
{
    *version = VERSION_6_4;
    return HIP_SUCCESS;
}

/* hipDeviceAttribute_t: those that have a value other than 0 here. */
int hipDeviceGetAttribute(int *value, int attr, int device)
{
    if (!is_device(device))
        return hip_result(HIP_INVALID_DEVICE);
    const struct sim_card *c = sim_settings()->cards[device];
    const struct {
        int attr;
        unsigned value;
    } table[] = {
        { 2, 1 /* copy engines */ }, { 5, 2000000 /* kHz */ }, { 9, 1 /* managed memory while kernels run */ },
        { 10, 1 /* cooperative */ },
        { 19, 4 << 20 /* L2 */ }, { 24, 1 /* managed memory */ }, { 26, 1024 }, { 27, 1024 }, { 28, 1024 /* block */ },
        { 29, INT32_MAX }, { 30, 65536 }, { 31, 65536 /* grid */ }, { 56, 1024 /* threads of a block */ },
        { 57, c->waves_per_simd * c->simds_per_cu * 32 }, { 59, 256 /* bus */ }, { 60, 1000000 /* kHz */ }, { 63, c->cus },
        { 67, (unsigned)device + 1 /* PCI bus */ }, { 71, c->vgprs_per_simd_lane * 32 }, { 74, c->lds_bytes },
        { 85, 1 /* unified addresses */ },
        { 87, c->wave32 ? 32 : 64 }, { 10002, c->lds_bytes }, { 10017, 100000 /* the steady clock, kHz */ },
    };
    *value = 0;
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (table[k].attr == attr)
            *value = (int)table[k].value;
    return HIP_SUCCESS;
}

int hipDeviceGetName(char *name, int size, int device)
{
    if (!is_device(device) || size <= 0)
        return hip_result(HIP_INVALID_VALUE);
    snprintf(name, (size_t)size, "%s", sim_settings()->cards[device]->marketing);
    return HIP_SUCCESS;
}

int hipDeviceGetUuid(void *uuid, int device)
{
    if (!is_device(device))
        return hip_result(HIP_INVALID_DEVICE);
    memcpy(uuid, "simulated-card\0", 15);
    ((char *)uuid)[15] = (char)device;
    return HIP_SUCCESS;
}

/* Name and architecture alone are filled in. */
int hipGetDevicePropertiesR0600(void *prop, int device)
{
    if (!is_device(device))
        return hip_result(HIP_INVALID_DEVICE);
    memset(prop, 0, PROPERTIES);
    snprintf(prop, NAME_BYTES, "%s", sim_settings()->cards[device]->marketing);
    snprintf((char *)prop + ARCH_AT, NAME_BYTES, "%s", sim_settings()->cards[device]->name);
    return HIP_SUCCESS;
}

int hipDeviceSynchronize(void)
{
    return hip_result(HIP_SUCCESS);
}

int hipDeviceReset(void)
{
    return hip_result(HIP_SUCCESS);
}

int hipGetLastError(void)
{
    int error = last_error;
    last_error = hip_fault();
    return error;
}

int hipDeviceSetLimit(int limit, size_t value)
{
    if (limit == LIMIT_STACK)
        atomic_store(&stack_limit, value);
    return hip_result(HIP_SUCCESS);
}

int hipDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = is_device(device) && is_device(peer) && device != peer;
    return HIP_SUCCESS;
}

int hipDeviceEnablePeerAccess(int peer, unsigned flags)
{
    (void)flags;
    return hip_result(is_device(peer) ? HIP_SUCCESS : HIP_INVALID_DEVICE);
}

int hipDeviceDisablePeerAccess(int peer)
{
    return hip_result(is_device(peer) ? HIP_SUCCESS : HIP_INVALID_DEVICE);
}

int hipDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = *greatest = 0;
    return HIP_SUCCESS;
}
