/* What callbacks (callback.c) and activities (activity.c) share.
 *
 * Both hang on one hook in the core, which is told of each call of the two APIs, and which is there only while somebody wants to
 * know. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUPTI_STATE_H
#define AW_LIBS_CUPTI_STATE_H

#include <stdbool.h>

#include "base/activity.h"
#include "cupti_types.h"

enum { DOMAIN_DRIVER = 1, DOMAIN_RUNTIME = 2, DOMAINS = 7 };

/* A function of one of the APIs; found once for each and kept. */
struct aw_cupti_function {
    int domain;
    uint32_t cbid; /* 0: CUPTI knows none of the name */
    const char *name;
    const struct aw_cupti_launch *launch; /* NULL: it launches nothing, or is the driver's */
};

/* A call that has ended. */
struct aw_cupti_call {
    struct aw_cupti_function function;
    uint64_t number, begin, end;
    uint32_t result;
};

/* Sets or takes away the hook, by what is wanted now. */
void aw_cupti_hook_update(void);
bool aw_cupti_callbacks_wanted(void); /* callback.c */
bool aw_cupti_activities_wanted(void); /* activity.c */
bool aw_cupti_work_wanted(void);
/* Writes the records of a call. */
void aw_cupti_call_record(const struct aw_cupti_call *call);
uint64_t aw_cupti_now(void); /* in the clock of records */
void aw_cupti_activities_end(void);

/* The core's (libs/common/driver.h has the others). */
void aw_abi_hook_set(const struct aw_call_hook *hook);
void aw_abi_activity_watch(bool on);
void aw_abi_activity_drain(void (*fn)(void *user, const struct aw_activity_record *), void *user);
uint32_t aw_abi_activity_context(CUcontext ctx);
uint32_t aw_abi_activity_stream(CUstream stream, bool per_thread);
typedef struct CUfunc_st *CUfunction;
CUfunction aw_abi_activity_function(const void *symbol);
bool aw_abi_activity_gives_job(void);

#endif
