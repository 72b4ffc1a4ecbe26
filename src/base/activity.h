/* What the core tells libs/cupti of work that devices have done, and of calls.  Declarations only. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_ACTIVITY_H
#define AW_BASE_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>

enum aw_activity_kind { AW_ACTIVITY_KERNEL, AW_ACTIVITY_COPY, AW_ACTIVITY_FILL };
enum { AW_ACTIVITY_DEFAULT_STREAM = 7 }; /* the number of the legacy stream; others have greater ones */

struct aw_activity_record {
    enum aw_activity_kind kind;
    uint64_t call;             /* of the API, that gave the work; 0: none that was seen */
    uint64_t begin_ns, end_ns; /* CLOCK_REALTIME */
    uint32_t device, context, stream;
    /* Kernels.  `name` is borrowed for the call that hands the record out. */
    const char *name;
    uint32_t grid[3], block[3], dynamic_shared, static_shared, registers, local;
    /* Copies and fills. */
    uint64_t bytes;
    int copy_kind;             /* enum aw_copy_kind */
    bool src_pageable, dst_pageable;
    uint32_t value;
};

/* Called at the beginning and end of each call of the driver and the runtime API, by the calling thread. */
struct aw_call_hook {
    /* `text`: static, "K" and the function's name up to '|' (base/calltrace.h); `args`: a structure of its arguments; `result`:
     * NULL at the beginning, then where the result is. */
    void (*call)(const char *text, const void *args, const void *result, uint64_t call);
};

#endif
