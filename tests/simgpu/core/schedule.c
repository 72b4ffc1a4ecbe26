/* Who runs when: a kernel's blocks over the calling thread and a pool that all launches of the process share.
 *
 * A thread executes one block for a slice, wave after wave.  A block that has not ended then is parked and the next begins, as
 * long as it fits the card beside the others (their occupancy); after that the parked ones take turns.  So blocks that wait for
 * later blocks get them, as on hardware and no further.  A launch whose blocks all wait for a global sync that nobody can
 * complete is reported. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "run.h"

#define WAVE_BUDGET 2048u     /* instructions of a wave before the block's next has its turn */
#define SLICE 16384u          /* of a block, before another has its turn: blocks that wait for each other cost that much each */
#define ALONE 20000u          /* executed by the caller, in somewhat less than a millisecond, before it asks the pool for help */
#define HELP_SLICES 16u       /* of a helper before it looks for a launch that has fewer */
#define NAP_NS 30000          /* when all resident blocks wait */
#define SPARES 64u            /* blocks' memory kept for later launches */
#define SPARE_BYTES (4u << 20) /* but none larger */

/* ---- Global wave sync ---- */

#define GWS_RESOURCES 64u
#define GWS_NODES 32u

static struct {
    uint32_t size;            /* waves less one that a barrier waits for */
    uint32_t arrived;
    _Atomic uint32_t round;   /* of barriers completed */
} gws[GWS_NODES][GWS_RESOURCES];
static pthread_mutex_t gws_lock = PTHREAD_MUTEX_INITIALIZER;

void sim_gws_init(struct sim_wave *w, unsigned resource, uint32_t waves_less_one)
{
    unsigned node = w->data[0].node % GWS_NODES;
    resource %= GWS_RESOURCES;
    pthread_mutex_lock(&gws_lock);
    gws[node][resource].size = waves_less_one;
    gws[node][resource].arrived = 0;
    pthread_mutex_unlock(&gws_lock);
}

void sim_gws_barrier(struct sim_wave *w, unsigned resource, uint32_t waves_less_one)
{
    unsigned node = w->data[0].node % GWS_NODES;
    resource %= GWS_RESOURCES;
    pthread_mutex_lock(&gws_lock);
    if (gws[node][resource].arrived++ >= gws[node][resource].size) {
        gws[node][resource].arrived = 0;
        gws[node][resource].size = waves_less_one; /* of the next one */
        gws[node][resource].round++;
    } else {
        w->state = SIM_AT_GWS;
        w->gws_resource = resource;
        w->gws_round = gws[node][resource].round;
    }
    pthread_mutex_unlock(&gws_lock);
}

static bool gws_passed(const struct sim_wave *w)
{
    return gws[w->data[0].node % GWS_NODES][w->gws_resource].round != w->gws_round;
}

/* ---- Memory of blocks ---- */

static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sim_block *spares;
static unsigned n_spares;

static void block_destroy(struct sim_block *b)
{
    free(b->waves);
    free(b->registers);
    free(b->lds);
    free(b->scratch);
    free(b);
}

/* NULL when memory is short. */
static struct sim_block *block_create(const struct sim_run *run)
{
    pthread_mutex_lock(&spare_lock);
    struct sim_block *b = spares;
    if (b) {
        spares = b->next;
        n_spares--;
    }
    pthread_mutex_unlock(&spare_lock);
    if (!b)
        b = calloc(1, sizeof *b);
    if (b && !sim_block_reserve(b, run)) {
        block_destroy(b);
        b = NULL;
    }
    return b;
}

static void block_recycle(struct sim_block *b)
{
    if (b->registers && b->register_room + b->scratch_room <= SPARE_BYTES) {
        pthread_mutex_lock(&spare_lock);
        if (n_spares < SPARES) {
            n_spares++;
            b->next = spares;
            spares = b;
            b = NULL;
        }
        pthread_mutex_unlock(&spare_lock);
    }
    if (b)
        block_destroy(b);
}

/* ---- One block's slice ---- */

enum slice_end { SLICE_ENDED, SLICE_USED, SLICE_WAITS /* for others: asleep or at a global sync */,
                 SLICE_STUCK /* at syncs only */,
                 SLICE_STOPPED };

struct turn {
    unsigned live, running, at_barrier, arrived /* and those that signalled */, asleep, at_gws;
};

/* Each wave of the block that can gets its budget; says how they stand after it.  False when one was stopped. */
static bool block_turn(struct sim_block *b, struct turn *t)
{
    *t = (struct turn){ 0 };
    for (unsigned i = 0; i < b->group.n_waves; i++) {
        struct sim_wave *w = &b->waves[i];
        if (w->state == SIM_ASLEEP || (w->state == SIM_AT_GWS && gws_passed(w)))
            w->state = SIM_RUNNING;
        if (w->state == SIM_RUNNING)
            sim_wave_run(w, WAVE_BUDGET);
        switch ((enum sim_state)w->state) {
        case SIM_STOPPED:
            return false;
        case SIM_ENDED:
            continue;
        case SIM_RUNNING:
            t->running++;
            break;
        case SIM_AT_BARRIER:
            t->at_barrier++;
            break;
        case SIM_ASLEEP:
            t->asleep++;
            break;
        case SIM_AT_GWS:
            t->at_gws += !gws_passed(w);
            t->running += gws_passed(w);
            break;
        }
        t->arrived += w->state == SIM_AT_BARRIER || w->signal == SIM_SIGNALLED;
        t->live++;
    }
    return true;
}

static uint64_t clock_of(const struct sim_block *b)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < b->group.n_waves; i++)
        sum += b->waves[i].clock;
    return sum;
}

static bool must_stop(const struct sim_run *run)
{
    return atomic_load_explicit(&run->failed, memory_order_relaxed) || (run->stop && *run->stop);
}

/* All have come to the barrier: those that wait go on, those that signalled will not wait. */
static void release(struct sim_block *b)
{
    for (unsigned i = 0; i < b->group.n_waves; i++) {
        struct sim_wave *w = &b->waves[i];
        if (w->state == SIM_AT_BARRIER) {
            w->state = SIM_RUNNING;
            w->signal = SIM_NOT_SIGNALLED;
        } else if (w->signal == SIM_SIGNALLED) {
            w->signal = SIM_ALL_SIGNALLED;
        }
    }
}

static enum slice_end block_slice(struct sim_block *b, struct sim_run *run, uint64_t *ret_executed)
{
    uint64_t begin = clock_of(b), executed = 0;
    enum slice_end end;
    for (;;) {
        struct turn t;
        if (!block_turn(b, &t) || must_stop(run)) {
            end = SLICE_STOPPED;
            break;
        }
        executed = clock_of(b) - begin;
        if (!t.live) {
            end = SLICE_ENDED;
            break;
        }
        if (t.at_barrier && t.arrived == t.live) {
            sim_race_barrier(&b->group);
            release(b);
        } else if (!t.running) {
            end = t.asleep ? SLICE_WAITS : SLICE_STUCK;
            break;
        }
        if (executed >= SLICE) {
            end = SLICE_USED;
            break;
        }
    }
    *ret_executed = executed;
    return end;
}

/* ---- A launch's blocks ---- */

static void run_fail(struct sim_run *run, enum sim_end end, const struct sim_report *report)
{
    if (run->end == SIM_END_DONE) {
        run->end = end;
        if (report)
            run->report = *report;
    }
    run->failed = true;
}

/* Why the block could not go on: what stopped its first stopped wave says. */
static void run_fail_block(struct sim_run *run, const struct sim_block *b)
{
    for (unsigned i = 0; i < b->group.n_waves; i++) {
        const struct sim_wave *w = &b->waves[i];
        if (w->state == SIM_STOPPED) {
            run_fail(run, w->end, &w->report);
            return;
        }
    }
    run_fail(run, SIM_END_STOPPED, &(struct sim_report){ .text = "the queue was destroyed" }); /* or another block failed first */
}

static bool can_start(const struct sim_run *run)
{
    return run->started < run->shape.blocks && run->resident < run->shape.resident;
}

/* The next block to execute, NULL when there is none now.  The run's lock is held. */
static struct sim_block *run_pick(struct sim_run *run, bool *ret_fresh)
{
    struct sim_block *b;
    *ret_fresh = can_start(run);
    if (*ret_fresh) {
        b = run->spare;
        if (b)
            run->spare = b->next;
        else
            b = block_create(run);
        if (b) {
            run->started++;
            run->resident++;
            return b;
        }
        *ret_fresh = false;
        if (!run->resident) {
            run_fail(run, SIM_END_STOPPED, &(struct sim_report){ .text = "no memory for the simulation of one block" });
            return NULL;
        }
    }
    b = run->parked;
    if (b) {
        run->parked = b->next;
        if (!run->parked)
            run->parked_end = &run->parked;
        run->n_parked--;
    }
    return b;
}

/* Takes an ended block's memory back, or parks it. */
static void run_put(struct sim_run *run, struct sim_block *b, enum slice_end end)
{
    if (end == SLICE_ENDED || end == SLICE_STOPPED) {
        run->resident--;
        b->next = run->spare;
        run->spare = b;
    } else {
        b->next = NULL;
        *run->parked_end = b;
        run->parked_end = &b->next;
        run->n_parked++;
    }
}

static bool run_over(const struct sim_run *run)
{
    return run->failed || (run->started == run->shape.blocks && !run->resident);
}

static void nap(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
}

/* How a thread fares in a launch. */
struct labour {
    uint64_t executed;  /* instructions of waves */
    uint64_t fruitless; /* slices since the last one that was of use */
};

/* No wave of any resident block can move, and no block can join them. */
static bool proven_stuck(const struct sim_run *run)
{
    if (run->n_parked != run->resident || run->executing || can_start(run))
        return false;
    for (const struct sim_block *b = run->parked; b; b = b->next) {
        for (unsigned i = 0; i < b->group.n_waves; i++) {
            const struct sim_wave *w = &b->waves[i];
            if (w->state == SIM_RUNNING || w->state == SIM_ASLEEP || (w->state == SIM_AT_GWS && gws_passed(w)))
                return false;
        }
    }
    return true;
}

static void note_slice(struct sim_run *run, struct labour *l, enum slice_end end, uint64_t executed)
{
    l->executed += executed;
    l->fruitless = end == SLICE_WAITS || end == SLICE_STUCK ? l->fruitless + 1 : 0;
    if (end == SLICE_STUCK && l->fruitless >= run->n_parked && proven_stuck(run))
        run_fail(run, SIM_END_STUCK, &(struct sim_report){
            .text = "every block that fits the card waits at a sync that the others cannot reach" });
}

/* One slice of some block.  The run's lock is held, and let go meanwhile.  False when there is none to execute now. */
static bool run_slice(struct sim_run *run, struct labour *l)
{
    bool fresh;
    struct sim_block *b = run_pick(run, &fresh);
    if (!b)
        return false;
    uint64_t index = run->started - 1, executed;
    run->executing++;
    pthread_mutex_unlock(&run->lock);
    if (fresh)
        sim_block_start(b, run, index);
    enum slice_end end = block_slice(b, run, &executed);
    pthread_mutex_lock(&run->lock);
    run->executing--;
    if (end == SLICE_ENDED || end == SLICE_STOPPED)
        sim_race_block_end(&b->group);
    if (end == SLICE_STOPPED)
        run_fail_block(run, b);
    run_put(run, b, end);
    note_slice(run, l, end, executed);
    if (l->fruitless > run->n_parked && !can_start(run) && !run->failed) {
        pthread_mutex_unlock(&run->lock);
        nap();
        pthread_mutex_lock(&run->lock);
        l->fruitless = 0;
    }
    return true;
}

/* ---- The pool ---- */

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t pool_work = PTHREAD_COND_INITIALIZER;
static struct sim_run *pool_runs; /* those that want help, the one helped last at the end */
static bool pool_started;

static bool wants_help(struct sim_run *run)
{
    pthread_mutex_lock(&run->lock);
    bool wants = !run->failed && (can_start(run) || run->n_parked > 1);
    pthread_mutex_unlock(&run->lock);
    return wants;
}

/* The first launch that wants help, put at the list's end; NULL when none does.  The pool's lock is held. */
static struct sim_run *pool_pick(void)
{
    for (struct sim_run **at = &pool_runs; *at; at = &(*at)->next) {
        struct sim_run *run = *at;
        if (!wants_help(run))
            continue;
        *at = run->next;
        run->next = NULL;
        struct sim_run **end = &pool_runs;
        while (*end)
            end = &(*end)->next;
        *end = run;
        return run;
    }
    return NULL;
}

static void *pool_main(void *unused)
{
    pthread_mutex_lock(&pool_lock);
    for (;;) {
        struct sim_run *run = pool_pick();
        if (!run) {
            pthread_cond_wait(&pool_work, &pool_lock);
            continue;
        }
        pthread_mutex_lock(&run->lock);
        run->helpers++;
        pthread_mutex_unlock(&pool_lock);
        struct labour labour = { 0 };
        for (unsigned i = 0; i < HELP_SLICES && !run_over(run); i++)
            if (!run_slice(run, &labour))
                break;
        run->helpers--;
        pthread_cond_signal(&run->left);
        pthread_mutex_unlock(&run->lock);
        pthread_mutex_lock(&pool_lock);
    }
    return unused;
}

static void pool_start(void)
{
    pool_started = true;
    pthread_attr_t attr;
    if (pthread_attr_init(&attr))
        return;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    for (unsigned i = 1; i < sim_settings()->threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &attr, pool_main, NULL))
            break; /* the callers' own threads are enough */
    }
    pthread_attr_destroy(&attr);
}

/* Asks the pool for help.  No lock is held. */
static void pool_publish(struct sim_run *run)
{
    pthread_mutex_lock(&pool_lock);
    if (!pool_started)
        pool_start();
    run->next = pool_runs;
    pool_runs = run;
    pthread_cond_broadcast(&pool_work);
    pthread_mutex_unlock(&pool_lock);
    run->published = true;
}

/* After it no helper is in the run or comes. */
static void pool_withdraw(struct sim_run *run)
{
    pthread_mutex_lock(&pool_lock);
    for (struct sim_run **at = &pool_runs; *at; at = &(*at)->next) {
        if (*at == run) {
            *at = run->next;
            break;
        }
    }
    pthread_mutex_unlock(&pool_lock);
    pthread_mutex_lock(&run->lock);
    while (run->helpers)
        pthread_cond_wait(&run->left, &run->lock);
    pthread_mutex_unlock(&run->lock);
}

static void run_free_blocks(struct sim_run *run, struct sim_block *list)
{
    while (list) {
        struct sim_block *b = list;
        list = b->next;
        sim_block_collect(b, run->shape.waves_per_block, &run->stats);
        block_recycle(b);
    }
}

/* There is work left that another thread could do now. */
static bool is_worth_help(const struct sim_run *run, const struct labour *l)
{
    return !run->published && l->executed >= ALONE && (run->started < run->shape.blocks || run->n_parked > 1);
}

void sim_run_all(struct sim_run *run)
{
    pthread_mutex_init(&run->lock, NULL);
    pthread_cond_init(&run->left, NULL);
    run->parked_end = &run->parked;
    struct labour labour = { 0 };
    pthread_mutex_lock(&run->lock);
    while (!run_over(run)) {
        if (!run_slice(run, &labour)) {
            if (run_over(run))
                break;
            pthread_mutex_unlock(&run->lock);
            nap(); /* helpers have all that is left */
            pthread_mutex_lock(&run->lock);
        }
        if (is_worth_help(run, &labour)) {
            pthread_mutex_unlock(&run->lock);
            pool_publish(run);
            pthread_mutex_lock(&run->lock);
        }
    }
    pthread_mutex_unlock(&run->lock);
    if (run->published)
        pool_withdraw(run);
    run_free_blocks(run, run->spare);
    run_free_blocks(run, run->parked);
    pthread_cond_destroy(&run->left);
    pthread_mutex_destroy(&run->lock);
}
