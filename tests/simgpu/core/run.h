/* A kernel being run: what core/dispatch.c (descriptor, blocks' initial state) and core/schedule.c (who runs when) share.
 * core/wave.c looks at it for its messages. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include <pthread.h>
#include <stdatomic.h>

#include "../inst.h"

/* A kernel descriptor, read. */
struct sim_kernel {
    uint64_t entry;
    uint32_t rsrc1, rsrc2, rsrc3;
    uint16_t properties;        /* which user SGPRs */
    unsigned preload, preload_offset; /* dwords of the arguments that come in user SGPRs */
    unsigned user_sgprs;
    unsigned lanes, vgprs, agprs;
};

/* The memory of a resident block. */
struct sim_block {
    struct sim_block *next;     /* in its run's or the process' list */
    struct sim_group group;
    size_t wave_room, register_room, lds_room, scratch_room; /* bytes allocated */
    struct sim_wave *waves;
    uint32_t *registers;
    uint8_t *lds, *scratch;
};

struct sim_run {
    const struct sim_dispatch *dispatch;
    struct sim_kernel kernel;
    struct sim_shape shape;
    uint32_t count[3];          /* blocks */
    uint32_t node;
    const _Atomic bool *stop;
    _Atomic bool failed;

    pthread_mutex_t lock;       /* of what follows */
    pthread_cond_t left;        /* a helper went */
    uint64_t started;           /* blocks */
    uint64_t resident;
    unsigned executing;         /* threads inside a block */
    unsigned helpers;           /* threads of the pool in here */
    struct sim_block *parked, **parked_end; /* resident and not executed now, oldest first */
    uint64_t n_parked;
    struct sim_block *spare;
    struct sim_stats stats;
    struct sim_report report;
    enum sim_end end;

    struct race_run *race;      /* core/race.c's, NULL: races are not looked for */
    struct sim_run *next;       /* in the pool's list, the pool's lock */
    bool published;
};

/* core/dispatch.c */
bool sim_block_reserve(struct sim_block *b, const struct sim_run *run);
void sim_block_start(struct sim_block *b, struct sim_run *run, uint64_t index);
void sim_block_collect(struct sim_block *b, unsigned n_waves, struct sim_stats *to);

/* core/schedule.c: runs all blocks; the run's end, report and stats say how it went. */
void sim_run_all(struct sim_run *run);

/* core/race.c: at a launch's begin (false: no memory for it) and end, when a block begins and has ended, when its waves leave a
 * barrier, and around each instruction of a watched wave. */
bool sim_race_begin(struct sim_run *run);
void sim_race_end(struct sim_run *run);
void sim_race_block(struct sim_group *g, uint64_t index);
void sim_race_block_end(struct sim_group *g);
void sim_race_barrier(struct sim_group *g);
void sim_race_before(struct sim_wave *w, const struct sim_inst *i);
void sim_race_after(struct sim_wave *w, const struct sim_inst *i);

#endif
