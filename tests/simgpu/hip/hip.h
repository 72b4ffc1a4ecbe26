/* The HIP of simulated cards: what its files share.  HIP's own functions are in api.h.
 *
 * Everything is done when its call returns: a launch runs on the caller's thread (and the simulator's pool) to its end, so
 * streams and events are but names.  A program whose kernel waits for the host, or for a kernel launched later, waits for ever
 * here. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_HIP_H
#define SIM_HIP_H

#include "../sim.h"

/* hipError_t */
enum { HIP_SUCCESS = 0, HIP_INVALID_VALUE = 1, HIP_OUT_OF_MEMORY = 2, HIP_NOT_INITIALIZED = 3, HIP_INVALID_CONFIGURATION = 9,
       HIP_NO_DEVICE = 100, HIP_INVALID_DEVICE = 101, HIP_INVALID_IMAGE = 200, HIP_NO_BINARY = 209, HIP_NOT_FOUND = 500,
       HIP_ILLEGAL_ADDRESS = 700, HIP_ILLEGAL_INSTRUCTION = 715, HIP_COOPERATIVE_TOO_LARGE = 720, HIP_LAUNCH_FAILURE = 719,
       HIP_NOT_REGISTERED = 713, HIP_NOT_SUPPORTED = 801, HIP_UNKNOWN = 999 };

/* All cards reach all memory. */
#define HIP_ALL_NODES 0xffffffffu
static inline uint32_t hip_node(int device)
{
    return (uint32_t)device + 1;
}

/* ---- device.c */
const struct sim_card *hip_card(void);  /* of the thread's current device */
int hip_current(void);
/* A kernel faulted: every later call says so.  HIP_SUCCESS: none did. */
int hip_fault(void);
void hip_set_fault(int error);
/* Remembers the thread's last error and hands it on. */
int hip_result(int error);
size_t hip_stack_limit(void);

/* ---- memory.c: memory whose address on the cards is the host's */
void *hip_memory_new(size_t size);
bool hip_memory_free(void *p);

#endif
