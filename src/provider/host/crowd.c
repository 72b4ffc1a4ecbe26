/* How many workers a kernel goes fastest with.
 * Not who runs which of its blocks (pool.c).
 *
 * Processors that write the same lines take turns, and a line on its way between two costs more than a write: kernels with
 * atomics on few places, or with flags that all threads set, are done sooner by fewer workers, often by one.  Only running
 * them tells, as it depends on the data.  So kernels are watched where they take long enough: now and then another number of
 * workers is tried amid a launch, for a piece of each, between two measurements of the usual number, so that blocks that
 * differ do not pass for workers that disturb each other.  What goes faster is the usual number from then on. A piece counts
 * if nobody came or went while it ran, and by the processor's time: on a busy machine only what is slow, and not what has to
 * wait for a processor, is held against a crowd.  A trial has its price, as processors rest meanwhile: the next one waits
 * until many times that has passed, and longer after each that changed nothing.
 *
 * Launches too short for a trial are compared within: what a block takes where one worker is at it, as it is when others come
 * late or are done, with what it takes where several are.  When several launches in a row have said that one is better, the
 * next has one; as blocks may differ, it must take less time than the last with all, or else many more launches in a row are
 * asked for. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <float.h>
#include <time.h>

/* Measured in each phase of a trial, or one of each worker. */
#define PHASE_PIECES 3
/* A kernel's first trial: after and before so many pieces.  It takes about eight, half of them alone; it is likely to be worth
 * it where there are atomics. */
#define FIRST_PIECES 100
#define FIRST_PIECES_ATOMIC 24
/* No trial where less is left of the launch. */
#define TRIAL_PIECES 8
/* Later ones: one part in so many of the time at first, and at last. */
#define PATIENCE_LEAST 100
#define PATIENCE_MOST 4096

/* Short launches: so many in a row must show that workers disturb each other, at first and at last, by blocks that take so
 * many times as long of all workers' time; and one in so many is divided nevertheless from then on.  Pieces of fewer cycles
 * say nothing. */
#define SHORT_LAUNCHES 2
#define SHORT_LAUNCHES_MOST 2048
#define SHORT_TIMES 2
#define SHORT_HOLD 256
#define SHORT_CYCLES 2000

static uint32_t all_workers(void)
{
    return aw_host.n_workers;
}

static uint32_t level_of(const struct aw_host_crowd *c)
{
    return c->level ? c->level : all_workers();
}

static uint64_t blocks_left(const struct aw_host_op *op)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < op->n_shares; i++) {
        uint64_t claimed = atomic_load_explicit(&op->shares[i].claimed, memory_order_relaxed);
        sum += claimed < op->shares[i].end ? op->shares[i].end - claimed : 0;
    }
    return sum;
}

/* From now on `level` workers are wanted. */
static void phase_begin(struct aw_host_op *op, enum aw_host_phase phase, uint32_t level)
{
    struct aw_host_trial *t = &op->trial;
    atomic_store_explicit(&t->phase, phase, memory_order_relaxed);
    t->level = level;
    t->pieces = 0;
    t->ns = t->blocks = 0;
    t->least = DBL_MAX;
    aw_host_pool_limit(op, level < all_workers() ? level : UINT32_MAX);
}

/* One worker, twice as many as usual, half as many, by turns. */
static uint32_t other_level(struct aw_host_crowd *c)
{
    uint32_t usual = level_of(c), level = usual, most = all_workers();
    while (level == usual) {
        uint32_t turn = c->turn++ % 3;
        level = turn == 0 ? 1 : turn == 1 ? 2 * usual : usual / 2;
        level = level < 1 ? 1 : level > most ? most : level;
    }
    return level;
}

/* Is it time for a trial, after a piece of so many cycles and blocks? */
static bool trial_due(const struct aw_host_op *op, uint64_t cycles, uint64_t blocks)
{
    const struct aw_host_crowd *c = &op->kernel.pace->crowd;
    double left = (double)blocks_left(op) * (double)cycles / (double)blocks / op->trial.level;
    uint32_t first = op->kernel.code->flags & AW_HOST_ATOMIC ? FIRST_PIECES_ATOMIC : FIRST_PIECES;
    if (left < TRIAL_PIECES * (double)cycles)
        return false;
    return c->price ? c->since >= c->price * c->patience : (double)c->since + left >= (double)cycles * first;
}

static void trial_begin(struct aw_host_op *op)
{
    op->trial.other = other_level(&op->kernel.pace->crowd);
    phase_begin(op, AW_HOST_BEFORE, op->trial.level);
}

static void trial_end(struct aw_host_op *op, uint32_t patience)
{
    struct aw_host_crowd *c = &op->kernel.pace->crowd;
    c->patience = patience < PATIENCE_LEAST ? PATIENCE_LEAST : patience < PATIENCE_MOST ? patience : PATIENCE_MOST;
    c->price = op->trial.price;
    c->since = 0;
    phase_begin(op, AW_HOST_USUAL, level_of(c));
}

static void trial_decide(struct aw_host_op *op, bool better)
{
    struct aw_host_crowd *c = &op->kernel.pace->crowd;
    if (better)
        c->level = op->trial.other;
    trial_end(op, better ? PATIENCE_LEAST : 2 * c->patience);
}

/* What a block takes of the workers' time, by the mean of the fewer workers' pieces and the least of the more: it takes all of
 * a crowd's pieces, not a few that are long whoever runs them, to say that workers disturb each other. */
static double phase_cost(const struct aw_host_op *op)
{
    const struct aw_host_trial *t = &op->trial;
    uint32_t usual = level_of(&op->kernel.pace->crowd), more = usual > t->other ? usual : t->other;
    return (t->level == more ? t->least : (double)t->ns / (double)t->blocks) / t->level;
}

/* Fewer workers must be faster by a quarter. */
static bool other_is_better(const struct aw_host_op *op)
{
    const struct aw_host_trial *t = &op->trial;
    bool fewer = t->other < level_of(&op->kernel.pace->crowd);
    return t->other_cost * (fewer ? 1.25 : 1) < t->usual_cost;
}

static void phase_measured(struct aw_host_op *op)
{
    struct aw_host_crowd *c = &op->kernel.pace->crowd;
    struct aw_host_trial *t = &op->trial;
    switch (t->phase) {
    case AW_HOST_USUAL:
        return;
    case AW_HOST_BEFORE:
        t->usual_cost = phase_cost(op);
        t->price = 0;
        phase_begin(op, AW_HOST_OTHER, t->other);
        return;
    case AW_HOST_OTHER:
        t->other_cost = phase_cost(op);
        if (other_is_better(op))
            phase_begin(op, AW_HOST_AFTER, level_of(c));
        else
            trial_decide(op, false);
        return;
    case AW_HOST_AFTER:
        t->usual_cost = phase_cost(op);
        trial_decide(op, other_is_better(op));
        return;
    }
}

static uint64_t thread_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void aw_host_crowd_enter(const struct aw_host_op *op, struct aw_host_stay *ret_stay)
{
    ret_stay->phase = atomic_load_explicit(&op->trial.phase, memory_order_relaxed);
    ret_stay->comings = atomic_load_explicit(&op->comings, memory_order_relaxed);
    ret_stay->ns = ret_stay->phase == AW_HOST_USUAL ? 0 : thread_ns();
}

void aw_host_crowd_leave(struct aw_host_op *op, const struct aw_host_stay *stay, uint64_t cycles, uint64_t blocks)
{
    struct aw_host_trial *t = &op->trial;
    uint64_t ns = stay->phase == AW_HOST_USUAL ? 0 : thread_ns() - stay->ns;
    aw_host_lock();
    bool clean = stay->phase == t->phase && stay->comings == atomic_load_explicit(&op->comings, memory_order_relaxed) &&
                 atomic_load_explicit(&op->users, memory_order_relaxed) == t->level;
    t->price += cycles / t->level;
    if (t->phase == AW_HOST_USUAL) {
        op->kernel.pace->crowd.since += cycles / t->level;
        if (clean && trial_due(op, cycles, blocks))
            trial_begin(op);
    } else if (clean) {
        double each = (double)ns / (double)blocks;
        t->ns += ns;
        t->blocks += blocks;
        t->least = each < t->least ? each : t->least;
        if (++t->pieces >= (t->level > PHASE_PIECES ? t->level : PHASE_PIECES))
            phase_measured(op);
    }
    aw_host_unlock();
}

void aw_host_crowd_begin(struct aw_host_op *op)
{
    op->watched = true;
    phase_begin(op, AW_HOST_USUAL, level_of(&op->kernel.pace->crowd));
}

void aw_host_crowd_end(struct aw_host_op *op)
{
    if (op->trial.phase > AW_HOST_BEFORE)
        trial_end(op, op->kernel.pace->crowd.patience); /* no answer */
}

/* ---- short launches ---- */

enum { PARTS = 16 }; /* of a cycle */

static uint32_t short_needed(const struct aw_host_crowd *c)
{
    return c->needed ? c->needed : SHORT_LAUNCHES;
}

void aw_host_crowd_short_begin(struct aw_host_op *op)
{
    struct aw_host_crowd *c = &op->kernel.pace->crowd;
    struct aw_host_trial *t = &op->trial;
    atomic_store_explicit(&t->alone, 0, memory_order_relaxed);
    atomic_store_explicit(&t->together, 0, memory_order_relaxed);
    t->begun = __builtin_ia32_rdtsc();
    t->level = c->disturbed >= short_needed(c) && ++c->held % SHORT_HOLD ? 1 : all_workers();
    if (t->level == 1)
        aw_host_pool_limit(op, 1);
}

void aw_host_crowd_short_note(struct aw_host_op *op, uint32_t users, uint64_t cycles, uint64_t blocks)
{
    _Atomic uint32_t *least = users > 1 ? &op->trial.together : &op->trial.alone;
    uint64_t each = cycles * PARTS / blocks / users + 1, known = atomic_load_explicit(least, memory_order_relaxed);
    if (cycles >= SHORT_CYCLES && (!known || each < known))
        atomic_store_explicit(least, each < UINT32_MAX ? (uint32_t)each : UINT32_MAX, memory_order_relaxed);
}

void aw_host_crowd_short_end(struct aw_host_op *op)
{
    struct aw_host_crowd *c = &op->kernel.pace->crowd;
    struct aw_host_trial *t = &op->trial;
    uint64_t alone = atomic_load_explicit(&t->alone, memory_order_relaxed),
             together = atomic_load_explicit(&t->together, memory_order_relaxed);
    uint64_t each = (__builtin_ia32_rdtsc() - t->begun) * PARTS / op->total;
    if (t->level != 1) {
        c->all_each = each;
        if (alone && together)
            c->disturbed = together < SHORT_TIMES * alone ? 0 : c->disturbed < short_needed(c) ? c->disturbed + 1 : c->disturbed;
    } else if (each > c->all_each / 4 * 3) {
        c->disturbed = 0;
        c->needed = 4 * short_needed(c) < SHORT_LAUNCHES_MOST ? 4 * short_needed(c) : SHORT_LAUNCHES_MOST;
    }
}
