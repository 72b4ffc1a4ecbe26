/* What `anywarp profile` has of a run, and the forms it shows it in. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TOOLS_PROFILE_H
#define AW_TOOLS_PROFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/str.h"
#include "base/vec.h"

enum aw_profile_kind {
    AW_PROFILE_KERNEL,
    AW_PROFILE_COPY,
    AW_PROFILE_FILL,
    AW_PROFILE_CALL,
    AW_PROFILE_COMPILE,
    AW_PROFILE_SAMPLE,
    AW_PROFILE_COUNT,
    AW_PROFILE_WAIT,
    AW_PROFILE_KINDS
};

/* Of the kind: what it is called, its fields between name and begin, and behind end (src/abi/profile.c, base/calltrace.c). */
struct aw_profile_record {
    enum aw_profile_kind kind;
    const char *name;    /* as written; borrowed from the profile's text, as are all strings */
    const char *library; /* calls */
    uint64_t process;
    uint64_t thread;     /* of calls and compilations; of work, the stream */
    uint32_t device;     /* of work */
    uint64_t begin, end; /* ns */
    uint64_t call;       /* calls: its number; work: of the call that gave it; 0: none */
    bool failed;
    uint64_t bytes;                    /* copies, fills */
    const char *kernel;                /* samples, which are of a place in it: `end` many, `begin` is 0; counts, likewise */
    uint64_t counts[6];                /* counts and waits: the record's numbers (src/provider/host/count.c) */
    const char *grid, *block, *shared; /* kernels: "x,y,z"; bytes */
};

struct aw_profile {
    char *text;
    AW_VEC(struct aw_profile_record) records;
    uint64_t begin, end; /* of the program, ns */
    bool counted;        /* it was asked for */
};

/* The tables, of `top` rows each (0: all), or the same as JSON.  False when memory is out. */
bool aw_profile_report(const struct aw_profile *profile, unsigned top, bool json, FILE *out);
/* What was counted, as part of the tables; nothing where nothing was. */
bool aw_profile_counters(const struct aw_profile *profile, unsigned top, FILE *out);
bool aw_profile_counters_json(const struct aw_profile *profile, struct aw_buf *out);
/* The timeline in the Trace Event Format, which Perfetto and chrome://tracing open.  False likewise, or with errno. */
bool aw_profile_timeline(const struct aw_profile *profile, const char *path);

#endif
