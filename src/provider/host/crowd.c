/* How many workers a kernel goes fastest with.
 * Not who runs which of its blocks (pool.c).
 *
 * Processors that write the same lines take turns, and a line on its way between two costs more than a write: kernels with atomics on
 * few places, or with flags that all threads set, are done sooner by fewer workers, often by one.  Only running them tells, as it depends on
 * the data.  So kernels are watched where they take long enough: what a block takes is known from every piece; now and then another number
 * of workers is tried amid a launch, for a piece of each, and the usual one once more after it, so that blocks that differ do not pass for
 * workers that disturb each other.  What goes faster is the usual number from then on.
 * A piece counts if nobody came or went while it ran, and by the processor's time: on a busy machine only what is slow, and not what has
 * to wait for a processor, is held against a crowd.  A trial has its price, as processors rest meanwhile: the next one waits until
 * many times that has passed, and longer after each that changed nothing. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <time.h>

/* A kernel's first trial: after and before so many pieces.  It takes about two, and is likely to be worth it where there are atomics. */
#define FIRST_PIECES 150
#define FIRST_PIECES_ATOMIC 24
/* Later ones: one part in so many of the time at first, and at last. */
#define PATIENCE_LEAST 100
#define PATIENCE_MOST 4096

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
    t->phase = phase;
    t->level = level;
    t->pieces = 0;
    t->ns = t->blocks = 0;
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

/* Is it time for a trial?  `piece` is what one takes, in ns. */
static bool trial_due(const struct aw_host_op *op, uint64_t piece)
{
    const struct aw_host_crowd *c = &op->kernel.pace->crowd;
    double left = (double)blocks_left(op) * op->trial.usual_cost;
    uint32_t first = op->kernel.code->flags & AW_HOST_ATOMIC ? FIRST_PIECES_ATOMIC : FIRST_PIECES;
    double wait = c->price ? (double)c->price * c->patience : (double)piece * first;
    return (double)c->since + left >= wait && left >= 4.0 * (double)piece;
}

static void trial_end(struct aw_host_op *op, uint32_t patience)
{
    struct aw_host_crowd *c = &op->kernel.pace->crowd;
    c->patience = patience < PATIENCE_LEAST ? PATIENCE_LEAST : patience < PATIENCE_MOST ? patience : PATIENCE_MOST;
    c->price = aw_host_now_ns() - op->trial.begin;
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

/* Fewer workers must be faster by a quarter: it is a loss if it was by chance, and other kernels' gain only if they wait for a processor. */
static bool other_is_better(const struct aw_host_op *op)
{
    const struct aw_host_trial *t = &op->trial;
    bool fewer = t->other < level_of(&op->kernel.pace->crowd);
    return t->other_cost * (fewer ? 1.25 : 1) < t->usual_cost;
}

/* So many workers have each run a piece: `cost` ns go by for a block. */
static void phase_measured(struct aw_host_op *op, double cost, uint64_t piece)
{
    struct aw_host_crowd *c = &op->kernel.pace->crowd;
    struct aw_host_trial *t = &op->trial;
    switch (t->phase) {
    case AW_HOST_USUAL:
        t->usual_cost = cost;
        c->since += piece;
        if (!trial_due(op, piece)) {
            phase_begin(op, AW_HOST_USUAL, t->level);
            return;
        }
        t->begin = aw_host_now_ns();
        t->other = other_level(c);
        phase_begin(op, AW_HOST_OTHER, t->other);
        return;
    case AW_HOST_OTHER:
        t->other_cost = cost;
        if (other_is_better(op))
            phase_begin(op, AW_HOST_AGAIN, level_of(c));
        else
            trial_decide(op, false);
        return;
    case AW_HOST_AGAIN:
        t->usual_cost = cost;
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
    ret_stay->comings = atomic_load_explicit(&op->comings, memory_order_relaxed);
    ret_stay->ns = thread_ns();
}

void aw_host_crowd_note(struct aw_host_op *op, const struct aw_host_stay *stay, uint64_t blocks)
{
    struct aw_host_trial *t = &op->trial;
    uint64_t ns = thread_ns() - stay->ns;
    aw_host_lock();
    if (stay->comings == atomic_load_explicit(&op->comings, memory_order_relaxed) &&
        atomic_load_explicit(&op->users, memory_order_relaxed) == t->level) {
        t->ns += ns;
        t->blocks += blocks;
        if (++t->pieces == t->level)
            phase_measured(op, (double)t->ns / (double)t->blocks / t->level, t->ns / t->level);
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
    if (op->trial.phase != AW_HOST_USUAL)
        trial_end(op, op->kernel.pace->crowd.patience); /* no answer */
}
