/* The race detector: what its files share.  What it looks for is said in docs/simulated-radeon.md.
 *
 *   race.c         the hooks: what an instruction, a wait, a barrier does to who knows of what
 *   race_clock.c   what waves know of each other's accesses
 *   race_shadow.c  the last accesses to each piece of memory
 *   race_report.c  the lines that are printed, once for each pair of instructions
 *
 * Each wave numbers its instructions that may access memory.  An access is before another wave's present one when that wave has
 * heard of its number: at a barrier of the block, or by reading atomically what was written after it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_RACE_H
#define SIM_RACE_H

#include <pthread.h>
#include <stdatomic.h>

#include "run.h"

/* ---- What waves know ---- */

/* How far another wave's instructions are known to be before what comes here.  `done` are those that memory has completed, as
 * the wave had waited for them: what a wave of another block may see.  `issued` are those that came before, which is enough
 * where all goes one way: in LDS, and in the memory pipeline of a compute unit. */
struct race_stamp {
    uint32_t done, issued;
};

struct race_entry {
    uint32_t wave;
    struct race_stamp upto;
};

/* Of waves anywhere, ascending.  Never changed once it is there. */
struct race_clock {
    _Atomic uint32_t refs;
    uint32_t n;
    struct race_entry e[];
};

/* What a wave had to pass on when it stored or did an atomic. */
struct race_given {
    uint32_t at;              /* from this number on */
    uint32_t done;            /* of its own; RACE_ALL: all that came before */
    struct race_clock *others; /* owned, may be NULL */
};

#define RACE_ALL UINT32_MAX

enum { RACE_QUEUE = 64, RACE_SUSPECTS = 16 };

/* Numbers of instructions that one of the wave's counters counts, in order. */
struct race_queue {
    uint32_t number[RACE_QUEUE];
    uint32_t issued, done;    /* how many */
};

enum race_kind { RACE_LOAD, RACE_COHERENT /* a load past the caches: atomic or volatile */, RACE_STORE,
                 RACE_RELEASE /* a store that is waited for, or that waited: may be atomic or volatile */, RACE_ATOMIC };

/* One of the last accesses to eight bytes. */
struct race_record {
    uint32_t wave, number;    /* number 0: none */
    uint32_t pc;              /* low half */
    uint8_t mask;             /* of the bytes */
    uint8_t kind, lane;
};

/* Two accesses that nothing orders; it remains to be seen whether they are stores of the same value. */
struct race_suspect {
    struct race_record before;
    enum race_kind kind;
    uint8_t lane, size;
    bool lds, unfinished;     /* ordered, had it been waited for */
    uint64_t address;         /* of the access, or offset in LDS */
    const char *at;
    char old[16];
};

/* An atomic access of the present instruction: what it saw is looked up when it has been done. */
struct race_seen {
    uint64_t address;
    bool lds;
};

/* Of one wave. */
struct sim_watch {
    struct race_block *block;
    uint32_t wave;            /* number in the launch */
    unsigned index;           /* in its block */
    uint32_t number;          /* of the present instruction */
    uint32_t victim;          /* which record has to go next */
    struct race_queue loads, stores;
    struct race_stamp *mates; /* of the block's waves; the own one is not looked at */
    struct race_clock *far;   /* of other blocks' waves; owned, NULL: none */
    struct race_clock *fresh; /* as far as caches hold nothing older: what its loads are after; owned */
    struct race_clock *others; /* mates and far in one; owned, NULL: to be made */
    struct race_given *given; /* owned; ascending */
    size_t n_given, given_room;
    struct race_suspect suspects[RACE_SUSPECTS];
    unsigned n_suspects;
    struct race_seen seen[64];
    unsigned n_seen;
    uint64_t lds_busy;        /* pc of the last LDS instruction, 0: they were waited for */
    uint32_t met;             /* its number when it last left a barrier */
    bool waited;              /* the last instruction was a wait for all memory */
};

/* Of one block; stays until the launch ends, as others may hear of it. */
struct race_block {
    struct race_block *next;
    struct race_run *race;
    struct sim_run *run;
    pthread_mutex_t lock;     /* of the `given` of its waves */
    struct race_page *lds;    /* owned, while the block runs */
    size_t n_lds;
    unsigned n_waves;
    uint32_t first_wave;      /* number of its first wave in the launch */
    bool one_way;             /* the compute unit's pipeline keeps the order of the block's accesses */
    struct race_stamp *stamps; /* owned: of all its waves */
    struct sim_watch waves[];
};

static inline bool race_is_mate(const struct race_block *b, uint32_t wave)
{
    return wave - b->first_wave < b->n_waves;
}

void race_clock_put(struct race_clock *c);
/* Is `r` before what the wave does now, a load or else?  `ret_unfinished`: it would be, had its wave waited for it. */
bool race_is_before(const struct sim_watch *w, const struct race_record *r, bool lds, bool load, bool *ret_unfinished);
/* The wave's own stamp now. */
struct race_stamp race_own(const struct sim_watch *w);
/* Notes what the wave passes on with its present instruction. */
void race_give(struct sim_watch *w);
/* Makes known to `w` what the instruction `number` of `wave` passed on. */
void race_learn(struct sim_watch *w, uint32_t wave, uint32_t number);
/* The caches were emptied: what the wave knows of has an effect on its loads as well. */
void race_acquire(struct sim_watch *w);
/* All waves of the block know what each knows. */
void race_meet(struct race_block *b);
struct sim_watch *race_watch_of(struct race_run *race, uint32_t wave);
void race_watch_fini(struct sim_watch *w);

/* ---- Memory ---- */

enum { RACE_RECORDS = 4, RACE_CELL = 8 /* bytes */, RACE_CELLS = 128, RACE_PAGE = RACE_CELL * RACE_CELLS };

struct race_cell {
    struct race_record r[RACE_RECORDS];
};

/* Who did atomic operations on a cell, the latest last. */
struct race_sync {
    uint32_t n, room;
    bool looked;              /* in LDS: it is a lock or a barrier, say, and not a sum: waves look at it while others change it */
    bool shared;              /* in global memory: some load it past the caches, so what is stored there is meant to be atomic */
    struct race_touch {
        uint32_t wave, number;
        bool passes_on;       /* with what it has given then, all that the others before it have */
    } e[];
};

struct race_page {
    struct race_page *next;
    uint64_t number;
    atomic_flag busy;
    struct race_sync **sync;  /* owned: of each cell, or NULL */
    struct race_cell cells[RACE_CELLS];
};

/* An access of one lane, of several whose bytes follow each other, or a scalar one. */
struct race_access {
    struct sim_watch *w;
    uint64_t address;         /* of the first byte, or offset in LDS */
    unsigned size, n;         /* bytes of a lane, and lanes */
    enum race_kind kind;
    uint8_t lane;             /* the first */
    bool lds, returns;        /* of an atomic: what was there before */
    uint32_t pc;
    char *const *at;          /* the host's addresses, of each lane; of LDS only that of all of it */
};

/* Shadow of one launch's global memory. */
struct race_shadow;
struct race_shadow *race_shadow_new(void);
void race_shadow_free(struct race_shadow *s);
/* Locked until race_page_leave; NULL when memory is short. */
struct race_page *race_page_enter(struct race_shadow *s, uint64_t number);
void race_page_leave(struct race_page *p);
void race_page_fini(struct race_page *p);
/* Compares the bytes of `mask` of the cell for `address` with what was done to them, and notes the access. */
/* `atomics`: some were done in it; `looked`: and waves are known to look at what they do.  True when this shows that they do. */
bool race_cell_touch(const struct race_access *a, struct race_cell *c, uint64_t address, uint8_t mask, bool atomics, bool looked);
/* Of two in conflict, is one a load that may turn out to be a mere look at what others change by atomics? */
bool race_may_be_look(enum race_kind a, enum race_kind b);
/* Some load the bytes of `mask` past the caches: the cell's stores are atomic from now on, and those noted. */
void race_cell_share(struct race_page *p, unsigned cell, uint8_t mask);
/* Adds the wave's present instruction to the cell's atomic operations. */
void race_sync_add(struct race_page *p, unsigned cell, const struct sim_watch *w);
/* The wave has seen what the cell held: it learns what those who wrote it passed on. */
void race_sync_look(struct sim_watch *w, struct race_page *p, unsigned cell);

/* ---- A launch ---- */

/* A load that races, to be printed if it turns out not to be a mere look. */
struct race_late {
    struct race_late *next;
    uint32_t load, other;     /* low halves of their pcs */
    const struct race_block *lds; /* of which block's LDS, NULL: global memory */
    uint64_t cell;
    char text[3][800];        /* lines */
};

enum { RACE_LOOKS = 1024 };

struct race_run {
    struct race_shadow *shadow;
    pthread_mutex_t lock;     /* of blocks and late */
    struct race_block *blocks;
    struct race_late *late;   /* owned */
    _Atomic uint32_t looks[RACE_LOOKS]; /* low halves of pcs, hashed */
    struct sim_watch **waves; /* owned; by number, NULL until started */
    uint64_t n_waves;
};

/* Prints the two accesses, unless they were before; those of a load and an atomic later. */
void race_report(struct sim_wave *w, const struct sim_inst *i, const struct race_suspect *s);
/* Prints that the wave comes to the barrier `i` while LDS instructions of it are under way. */
/* The loads at `pc` look at what others change by atomics. */
void race_is_look(struct race_run *race, uint32_t pc);
/* So do those of this cell of the wave's LDS. */
void race_is_looked(const struct sim_watch *w, uint64_t cell);
/* Prints the late ones that are left. */
void race_report_late(struct race_run *race);
void race_report_barrier(struct sim_wave *w, const struct sim_inst *i);

#endif
