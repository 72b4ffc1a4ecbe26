/* A provider and a compiler for the core's tests: they record what they are asked, and fail on demand.  Streams queue their work
 * while `held` and run it when something waits. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAKE_H
#define FAKE_H

#include <anywarp/provider.h>

#include <stdbool.h>
#include <stddef.h>

#define FAKE_PTX "\n // made for tests\n.version 8.0\n"

extern struct fake {
    /* Switches. */
    bool peers;             /* devices can be peers */
    uint64_t peers_on;      /* bit 8 * device + peer: enabled by the provider's call */
    int devices;
    int open_status;
    bool held;              /* streams keep their work until something waits for it */
    int fault;              /* what device_fault says */
    int compile_status;     /* of kernel "broken" */
    int shared_per_block;
    size_t code_size;       /* bytes of each object, where that is more than it takes */
    size_t memory;          /* bytes that can be allocated */
    bool quick;             /* the device has quick code */
    unsigned good_ms;       /* what the good form of code takes to make */
    int quick_status;       /* of quick forms, for every kernel */
    int good_status;        /* of good ones */
    /* Records. */
    int allocs, frees, host_allocs, host_frees, streams, events, objects, copies, fills, syncs, resets;
    char left[64];          /* the kernel that was left for after the end */
    int opens, compiles;    /* of the compiler */
    int texts;              /* in the last open */
    int launches;
    struct aw_launch launch; /* the last; kernarg is below */
    unsigned char kernarg[8192];
    struct aw_stream *launch_stream;
    unsigned opt_level;     /* of the last compilation */
    unsigned block[3];      /* of the last compilation */
    unsigned code_block[3]; /* that the last launched code was compiled for */
    bool code_quick;        /* the last launched was */
    int replaced;           /* calls of function_replace */
    int shared_sets;        /* calls of function_set_shared */
    size_t used;            /* bytes allocated */
} fake;

extern const struct aw_provider fake_provider;

/* Back to the beginning, with one device. */
void fake_reset(void);

#endif
