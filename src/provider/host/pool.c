/* Workers: threads that claim pieces of active operations and run them.
 * Not what a block does (block.c) or when an operation may start (stream.c).
 *
 * Workers are started one by one as work appears.  Waking goes in a chain: whoever finds more work than it takes wakes the
 * next, so a launch costs at most one wake-up, and what a worker makes ready by completing an operation it takes itself.  A
 * thread that waits for a stream may help as a guest while workers sleep, and counts as one of them.
 * An operation is divided into shares, one for each worker that has something to do.  A worker begins where it began in the
 * last operation, as what it reads may still be in its caches, and helps with the other shares when its own has none left.
 * Pieces shrink as a share nears its end, so that workers end together, but not below what claiming them is worth.  A kernel
 * whose blocks are known to be few and short wakes no second worker; should they not be short this time, the first one
 * notices after its first piece. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"

/* Who waits looks this long before it sleeps, or as long as waking somebody has taken of late, which is ten times that where
 * an idle processor is first to be had from a hypervisor; but no longer than ... */
#define SPIN_NS 3000
#define MOST_SPIN_NS 50000
/* One wake-up in so many counts for the next. */
#define WAKES 8
/* A guest looks up from its work this often. */
#define GUEST_NS 100000
/* Cycles of work that are worth waking a worker for: some microseconds. */
#define SMALL_CYCLES 20000
/* Cycles that a piece shall take at least, by what is known: claiming and starting one takes 300 to 400. */
#define PIECE_CYCLES 4000
/* An operation that takes less is not divided. */
#define UNDIVIDED_CYCLES (2 * PIECE_CYCLES)
/* What a block takes is news when it differs by one part in so many: all workers read it, and each write takes the line from
 * them. */
#define NEWS 4
/* So many times what is known is far off. */
#define FAR_OFF 4
/* This many pieces in a row must have had short blocks before the caller of a launch trusts that the next are short, too. */
#define BRIEF_PIECES 8
/* A worker that has served one kernel this long goes on with another's, if there is one: a millisecond, about. */
#define SLICE_CYCLES 2500000
/* Shorter pieces say little about a crowd: 50 us. */
#define NOTED_CYCLES 125000
/* Bytes of a worker's own stack, which parts of libraries' jobs run on; of untouched ones there is no memory. */
#define WORKER_STACK ((size_t)4 << 20)
/* Rounds over parked runs before the processor is offered to others. */
#define PATIENT_ROUNDS 32
/* Warps of blocks that meet, of all workers together; and rounds after which they wait no longer for blocks that nobody has
 * begun. */
#define MEETING_CONTEXTS 4096u
#define MEETING_ROUNDS (1 << 16)

static uint32_t n_spinning; /* locked */
static uint32_t n_helping;  /* guests that serve an operation; locked */
static uint64_t woken_at;   /* when a worker was last told to wake; locked */
static uint64_t spin_ns = SPIN_NS; /* locked */

int aw_host_pool_init(void)
{
    size_t size = (aw_host.n_workers + AW_HOST_GUESTS) * sizeof *aw_host.workers;
    aw_host.workers = aligned_alloc(AW_HOST_APART, size);
    if (!aw_host.workers)
        return AW_ERR_OUT_OF_MEMORY;
    memset(aw_host.workers, 0, size);
    for (uint32_t i = 0; i < aw_host.n_workers + AW_HOST_GUESTS; i++) {
        aw_host.workers[i].index = aw_host.workers[i].home = i % aw_host.n_workers;
        aw_host.workers[i].guest = i >= aw_host.n_workers;
    }
    return AW_OK;
}

bool aw_host_op_kill(struct aw_host_op *op, int status)
{
    int none = 0;
    return atomic_compare_exchange_strong(&op->killed, &none, status);
}

void aw_host_op_fault(struct aw_host_op *op)
{
    int none = 0;
    atomic_compare_exchange_strong(&aw_host.fault, &none, atomic_load(&op->killed));
}

/* ---- the list of active operations; locked ---- */

static bool exhausted(struct aw_host_op *op)
{
    return atomic_load_explicit(&op->killed, memory_order_relaxed) || !atomic_load_explicit(&op->open, memory_order_relaxed);
}

static void unlist(struct aw_host_op *op)
{
    if (!op->active)
        return;
    if (op->active_prev)
        op->active_prev->active_next = op->active_next;
    else
        aw_host.active_head = op->active_next;
    if (op->active_next)
        op->active_next->active_prev = op->active_prev;
    else
        aw_host.active_tail = op->active_prev;
    op->active = false;
    atomic_fetch_sub_explicit(&aw_host.n_active, 1, memory_order_relaxed);
}

static void list(struct aw_host_op *op, bool front)
{
    op->active = true;
    op->active_prev = front ? NULL : aw_host.active_tail;
    op->active_next = front ? aw_host.active_head : NULL;
    if (op->active_prev)
        op->active_prev->active_next = op;
    else
        aw_host.active_head = op;
    if (op->active_next)
        op->active_next->active_prev = op;
    else
        aw_host.active_tail = op;
    atomic_fetch_add_explicit(&aw_host.n_active, 1, memory_order_release);
}

static uint32_t users(const struct aw_host_op *op)
{
    return atomic_load_explicit(&op->users, memory_order_relaxed);
}

static uint32_t limit(const struct aw_host_op *op)
{
    return atomic_load_explicit(&op->limit, memory_order_relaxed);
}

/* One user more or less. */
static void users_add(struct aw_host_op *op, uint32_t n)
{
    atomic_store_explicit(&op->users, users(op) + n, memory_order_relaxed);
    atomic_store_explicit(&op->comings, atomic_load_explicit(&op->comings, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* Whoever takes less than all of an operation leaves it to be found, where it may have more users. */
static void relist(struct aw_host_op *op)
{
    if (users(op) >= limit(op))
        unlist(op);
    else if (!op->active && !exhausted(op))
        list(op, false);
}

/* A kernel's launch that is not watched, but might be disturbed by more than one worker. */
static bool is_short(const struct aw_host_op *op)
{
    return op->kind == AW_HOST_OP_KERNEL && !op->watched && op->n_shares > 1;
}

/* The thread that waits for the parts discards the operation. */
static void parts_end(struct aw_host_op *op)
{
    atomic_store_explicit(&op->parts.done, true, memory_order_release);
    pthread_cond_signal(op->parts.ended);
}

/* One user less; the last one out of an exhausted operation completes it. */
static void op_leave(struct aw_host_op *op)
{
    users_add(op, -1u);
    if (!users(op) && exhausted(op)) {
        unlist(op);
        if (op->watched)
            aw_host_crowd_end(op);
        else if (is_short(op))
            aw_host_crowd_short_end(op);
        if (op->kind == AW_HOST_OP_PARTS)
            parts_end(op);
        else
            aw_host_op_complete(op);
    } else if (limit(op) != UINT32_MAX) {
        relist(op);
    }
}

void aw_host_pool_killed(struct aw_host_op *op)
{
    if (users(op))
        return; /* the last completes it */
    users_add(op, 1);
    op_leave(op);
}

/* Of blocks that meet, all workers together have about as many as a card has: each would take all that it can. */
static bool has_room(const struct aw_host_worker *w, const struct aw_host_op *op)
{
    uint32_t most = op->meets ? MEETING_CONTEXTS / aw_host.n_workers : AW_HOST_RESIDENT_CONTEXTS;
    return w->parked_contexts < (most < AW_HOST_RESIDENT_CONTEXTS ? most : AW_HOST_RESIDENT_CONTEXTS);
}

static bool may_take(const struct aw_host_worker *w, const struct aw_host_op *op)
{
    if (!w->parked || op->kind != AW_HOST_OP_KERNEL || op->kernel.cooperative)
        return true;
    return has_room(w, op);
}

/* May a thread that waits for the operation run pieces of it? */
static bool may_help(const struct aw_host_op *op)
{
    return op->kind != AW_HOST_OP_KERNEL || !op->kernel.cooperative;
}

/* Where `w` begins in the operation: where it began in the last one, unless another worker has. */
static void join(struct aw_host_worker *w, struct aw_host_op *op)
{
    uint32_t n = op->n_shares, at = w->home % n;
    for (uint32_t i = 0; i < n && op->shares[at].joined; i++)
        at = at + 1 < n ? at + 1 : 0;
    op->shares[at].joined = true;
    w->share = at;
    if (n == aw_host_shares())
        w->home = at;
    users_add(op, 1);
    if (users(op) >= limit(op))
        unlist(op);
}

static struct aw_host_op *take(struct aw_host_worker *w)
{
    struct aw_host_op *next;
    for (struct aw_host_op *op = aw_host.active_head; op; op = next) {
        next = op->active_next;
        if (exhausted(op)) {
            unlist(op);
        } else if (may_take(w, op)) {
            join(w, op);
            return op;
        }
    }
    return NULL;
}

uint32_t aw_host_shares(void)
{
    return aw_host.n_workers < AW_HOST_SHARES_MAX ? aw_host.n_workers : AW_HOST_SHARES_MAX;
}

static uint64_t block_cycles(const struct aw_host_op *op)
{
    return op->kind == AW_HOST_OP_KERNEL ? atomic_load_explicit(&op->kernel.pace->block_cycles, memory_order_relaxed) : 0;
}

/* Is all of the operation known to take less than that? */
static bool less_work(const struct aw_host_op *op, uint64_t cycles)
{
    uint64_t each = block_cycles(op);
    return each && op->total < cycles && op->total * each < cycles;
}

/* Into how many shares: one for each worker that has something to do. */
static uint32_t shares_for(const struct aw_host_op *op)
{
    uint64_t n = aw_host_shares(), most = op->kind == AW_HOST_OP_KERNEL ? op->total : (op->total - 1) / op->piece + 1;
    if (op->ordered)
        return 1;
    n = n < most ? n : most;
    if (less_work(op, n * PIECE_CYCLES))
        n = op->total * block_cycles(op) / PIECE_CYCLES;
    return n ? (uint32_t)n : 1;
}

static void shares_divide(struct aw_host_op *op)
{
    uint32_t n = shares_for(op);
    uint64_t at = 0, each = op->total / n, rest = op->total % n;
    for (uint32_t i = 0; i < n; i++) {
        struct aw_host_share *share = &op->shares[i];
        atomic_store_explicit(&share->claimed, at, memory_order_relaxed);
        share->end = at += each + (i < rest);
        share->joined = false;
    }
    op->n_shares = n;
    atomic_store_explicit(&op->open, n, memory_order_relaxed);
}

/* How much to claim of what is left of a share. */
static uint64_t piece_of(const struct aw_host_op *op, uint64_t left)
{
    if (op->ordered)
        return 1;
    if (op->kind != AW_HOST_OP_KERNEL)
        return left < op->piece ? left : op->piece;
    uint64_t part = left / 2, most = op->piece, each = block_cycles(op);
    if (each) {
        most = SLICE_CYCLES / each;
        part = part < PIECE_CYCLES / each ? PIECE_CYCLES / each : part;
    } else {
        part /= 16; /* the first will tell */
    }
    part = part < most ? part : most;
    return !part ? 1 : part < left ? part : left;
}

static uint64_t left_of(const struct aw_host_share *share)
{
    uint64_t claimed = atomic_load_explicit(&share->claimed, memory_order_relaxed);
    return claimed < share->end ? share->end - claimed : 0;
}

/* Is there anything for one more worker, beyond one piece of `op`?  Locked. */
static bool more_work(struct aw_host_op *op)
{
    if (atomic_load_explicit(&aw_host.n_active, memory_order_relaxed) > op->active)
        return true;
    if (!op->active || exhausted(op) || atomic_load_explicit(&op->small, memory_order_relaxed))
        return false;
    uint64_t left = left_of(&op->shares[0]);
    return op->n_shares > 1 || piece_of(op, left) < left;
}

/* The next piece of `share`; returns how much, 0 when nothing is left. */
static uint64_t share_claim(struct aw_host_op *op, struct aw_host_share *share, uint64_t *ret_first)
{
    uint64_t first = atomic_load_explicit(&share->claimed, memory_order_relaxed), count;
    do {
        if (first >= share->end)
            return 0;
        count = piece_of(op, share->end - first);
    } while (!atomic_compare_exchange_weak_explicit(&share->claimed, &first, first + count, memory_order_relaxed,
                                                    memory_order_relaxed));
    if (first + count == share->end)
        atomic_fetch_sub_explicit(&op->open, 1, memory_order_relaxed);
    *ret_first = first;
    return count;
}

/* A piece of the worker's share or, where that has none, of the next. */
static uint64_t claim(struct aw_host_worker *w, struct aw_host_op *op, uint64_t *ret_first)
{
    while (!exhausted(op)) {
        uint64_t count = share_claim(op, &op->shares[w->share], ret_first);
        if (count)
            return count;
        w->share = w->share + 1 < op->n_shares ? w->share + 1 : 0;
    }
    return 0;
}

/* ---- running ---- */

static void park(struct aw_host_worker *w, struct aw_host_run *run)
{
    struct aw_host_run **end = &w->parked;
    while (*end)
        end = &(*end)->next;
    *end = run;
    run->next = NULL;
    w->parked_contexts += run->n_contexts;
    aw_host_lock();
    users_add(run->op, 1);
    aw_host_unlock();
}

static void run_piece(struct aw_host_worker *w, struct aw_host_op *op, uint64_t first, uint64_t count)
{
    if (op->kind == AW_HOST_OP_MEMORY) {
        aw_host_copy_piece(op, first, count);
        return;
    }
    if (op->kind == AW_HOST_OP_PARTS) {
        for (uint64_t i = first; i < first + count; i++)
            op->parts.fn(op->parts.user, (uint32_t)i);
        return;
    }
    struct aw_host_run *run = aw_host_run_start(w, op, first, count);
    if (!run) {
        if (aw_host_op_kill(op, AW_ERR_OUT_OF_RESOURCES)) {
            aw_say(BLOCK_MEMORY, op->kernel.name);
            aw_host_op_fault(op);
        }
        return;
    }
    enum aw_host_outcome outcome = aw_host_run_step(run);
    if (op->meets)
        atomic_fetch_add_explicit(&op->came, count, memory_order_acq_rel);
    if (outcome == AW_HOST_RUN_YIELD)
        park(w, run);
    else
        aw_host_run_finish(run);
}

/* Is that news of how long a block takes?  A piece that took far longer than those before it says nothing as a rule: its
 * processor was taken from it.  The second in a row is believed. */
static bool believable(struct aw_host_pace *pace, uint64_t each, uint64_t known)
{
    bool odd = known && each > FAR_OFF * known, before = atomic_load_explicit(&pace->odd, memory_order_relaxed);
    if (odd != before)
        atomic_store_explicit(&pace->odd, odd, memory_order_relaxed);
    return !odd || before;
}

static void learn_pace(struct aw_host_pace *pace, uint64_t each)
{
    uint64_t known = atomic_load_explicit(&pace->block_cycles, memory_order_relaxed);
    uint32_t brief = atomic_load_explicit(&pace->brief, memory_order_relaxed);
    if (!believable(pace, each, known))
        return;
    if (each < known - known / NEWS || each > known + known / NEWS || !known)
        atomic_store_explicit(&pace->block_cycles,
                              each < 1            ? 1
                              : each > UINT32_MAX ? UINT32_MAX
                                                  : (uint32_t)each,
                              memory_order_relaxed);
    if (each > UNDIVIDED_CYCLES)
        atomic_store_explicit(&pace->brief, 0, memory_order_relaxed);
    else if (brief < BRIEF_PIECES)
        atomic_store_explicit(&pace->brief, brief + 1, memory_order_relaxed);
}

/* After a kernel's piece: how long its blocks take, and whether it was rightly thought small. */
static void learn(struct aw_host_op *op, uint64_t cycles, uint64_t count)
{
    learn_pace(op->kernel.pace, cycles / count);
    if (cycles > SMALL_CYCLES && atomic_load_explicit(&op->small, memory_order_relaxed)) {
        atomic_store_explicit(&op->small, false, memory_order_relaxed);
        aw_host_lock();
        aw_host_pool_nudge();
        aw_host_unlock();
    }
}

static inline uint64_t run_timed(struct aw_host_worker *w, struct aw_host_op *op, uint64_t first, uint64_t count)
{
    uint32_t comings = atomic_load_explicit(&op->comings, memory_order_relaxed), n = users(op);
    uint64_t begin = __builtin_ia32_rdtsc();
    run_piece(w, op, first, count);
    uint64_t cycles = __builtin_ia32_rdtsc() - begin;
    learn(op, cycles, count);
    if (is_short(op) && n && comings == atomic_load_explicit(&op->comings, memory_order_relaxed))
        aw_host_crowd_short_note(op, n, cycles, count);
    return cycles;
}

/* Of an operation that is watched. */
static __attribute__((noinline)) void run_noted(struct aw_host_worker *w, struct aw_host_op *op, uint64_t first, uint64_t count)
{
    struct aw_host_stay stay;
    aw_host_crowd_enter(op, &stay);
    uint64_t cycles = run_timed(w, op, first, count);
    aw_host_crowd_leave(op, &stay, cycles, count);
}

/* Does the piece take long enough to say something about a crowd, as far as is known? */
static bool noteworthy(const struct aw_host_op *op, uint64_t count)
{
    uint64_t each = block_cycles(op);
    return op->watched && (!each || count * each >= NOTED_CYCLES);
}

/* Claims and runs one piece; false when none was left. */
static bool serve_piece(struct aw_host_worker *w, struct aw_host_op *op)
{
    uint64_t first, count = claim(w, op, &first);
    if (!count)
        return false;
    if (op->kind != AW_HOST_OP_KERNEL)
        run_piece(w, op, first, count);
    else if (noteworthy(op, count))
        run_noted(w, op, first, count);
    else
        run_timed(w, op, first, count);
    return true;
}

/* Do blocks wait for others of their grid, which still come?  Not where this worker has as many as it can, as a card whose units
 * are full; nor for ever: who has begun them may have no processor. */
static bool meeting_waits(const struct aw_host_worker *w, const struct aw_host_op *op)
{
    return op->meets && atomic_load_explicit(&op->came, memory_order_acquire) < op->total &&
           !atomic_load_explicit(&op->killed, memory_order_relaxed) && has_room(w, op) &&
           w->idle_rounds < MEETING_ROUNDS;
}

/* Gives every parked run one step. */
static void parked_round(struct aw_host_worker *w)
{
    bool ended = false;
    for (struct aw_host_run **at = &w->parked; *at;) {
        struct aw_host_run *run = *at;
        uint32_t contexts = run->n_contexts;
        if (meeting_waits(w, run->op)) {
            at = &run->next;
            continue;
        }
        if (aw_host_run_step(run) == AW_HOST_RUN_YIELD) {
            w->parked_contexts += run->n_contexts - contexts;
            at = &run->next;
            continue;
        }
        struct aw_host_op *op = run->op;
        *at = run->next;
        w->parked_contexts -= contexts;
        aw_host_run_finish(run);
        aw_host_lock();
        op_leave(op);
        aw_host_unlock();
        ended = true;
    }
    if (ended)
        w->idle_rounds = 0;
    else if (++w->idle_rounds > PATIENT_ROUNDS)
        sched_yield();
}

/* ---- waking and sleeping; locked ---- */

static void *worker_main(void *arg);

static bool worker_start(void)
{
    pthread_attr_t attr;
    if (pthread_attr_init(&attr) != 0)
        return false;
    pthread_attr_setstacksize(&attr, WORKER_STACK);
    int error = aw_thread_detached(&attr, worker_main, &aw_host.workers[aw_host.n_started]);
    pthread_attr_destroy(&attr);
    if (error)
        return false;
    aw_host.n_started++;
    return true;
}

/* The last to fall asleep, but rather one that did not do so on the caller's processor: it would wake there.  Linux takes an
 * idle processor of a virtual machine for one that its host has taken away, and leaves both on the busy one until the load is
 * balanced. */
static struct aw_host_worker *idle_pop(void)
{
    struct aw_host_worker **at = &aw_host.idle_head;
    int here = sched_getcpu();
    for (struct aw_host_worker **i = at; *i; i = &(*i)->idle_next)
        if ((*i)->cpu != here) {
            at = i;
            break;
        }
    struct aw_host_worker *w = *at;
    if (w)
        *at = w->idle_next;
    return w;
}

/* Who helps is as good as a worker: one more would only take a processor from it in the middle of its piece. */
static void wake(void)
{
    if (n_spinning || aw_host.n_started - aw_host.n_idle + aw_host.n_waking + n_helping >= aw_host.n_workers)
        return;
    struct aw_host_worker *w = idle_pop();
    if (w) {
        w->woken = true;
        aw_host.n_waking++;
        woken_at = aw_clock_ns();
        pthread_cond_signal(&w->wake);
    } else if (aw_host.n_idle == 0 && aw_host.n_started < aw_host.n_workers) {
        worker_start();
    }
}

bool aw_host_pool_ready(void)
{
    return aw_host.n_started || worker_start();
}

/* May its workers disturb each other, for long enough that it matters, or are they known to?  One by itself may be done soon.
 * Those that wait for each other must all run. */
static bool worth_watching(const struct aw_host_op *op)
{
    return op->kind == AW_HOST_OP_KERNEL && !op->ordered && aw_host.n_workers > 1 &&
           (op->kernel.pace->crowd.level || !less_work(op, aw_host.n_workers * (uint64_t)SLICE_CYCLES));
}

void aw_host_pool_limit(struct aw_host_op *op, uint32_t limit)
{
    bool was_active = op->active;
    atomic_store_explicit(&op->limit, limit, memory_order_relaxed);
    if (!users(op))
        return;
    relist(op);
    if (op->active && !was_active)
        wake();
}

void aw_host_pool_activate(struct aw_host_op *op)
{
    shares_divide(op);
    atomic_store_explicit(&op->small, !op->ordered && less_work(op, SMALL_CYCLES), memory_order_relaxed);
    if (worth_watching(op))
        aw_host_crowd_begin(op);
    else if (is_short(op))
        aw_host_crowd_short_begin(op);
    /* Copies first: they are short, and others' kernels should not hold them up.  Parts, too: somebody is at them already. */
    list(op, op->kind != AW_HOST_OP_KERNEL);
    if (!aw_host_thread.takes)
        wake();
}

void aw_host_pool_nudge(void)
{
    for (struct aw_host_op *op = aw_host.active_head; op; op = op->active_next) {
        if (!exhausted(op) && !(users(op) && atomic_load_explicit(&op->small, memory_order_relaxed))) {
            wake();
            return;
        }
    }
}

uint64_t aw_host_pool_patience(void)
{
    return spin_ns;
}

/* A worker has woken. */
static void learn_to_wait(void)
{
    uint64_t took = aw_clock_ns() - woken_at;
    took = took < SPIN_NS ? SPIN_NS : took > MOST_SPIN_NS ? MOST_SPIN_NS : took;
    spin_ns = (spin_ns * (WAKES - 1) + took) / WAKES;
}

/* Waits for work; locked, unlocks meanwhile. */
static void worker_rest(struct aw_host_worker *w)
{
    n_spinning++;
    uint64_t until = aw_clock_ns() + spin_ns;
    aw_host_unlock();
    while (!atomic_load_explicit(&aw_host.n_active, memory_order_relaxed) && aw_clock_ns() < until)
        __builtin_ia32_pause();
    aw_host_lock();
    n_spinning--;
    if (aw_host.active_head)
        return;
    aw_host.n_idle++;
    w->cpu = sched_getcpu();
    w->woken = false;
    w->idle_next = aw_host.idle_head;
    aw_host.idle_head = w;
    while (!w->woken)
        pthread_cond_wait(&w->wake, &aw_host.lock);
    aw_host.n_idle--;
    aw_host.n_waking--;
    learn_to_wait();
}

/* Runs pieces until none is left, a block yields, there are too many in it, or it is others' turn (true). */
static bool serve(struct aw_host_worker *w, struct aw_host_op *op)
{
    uint64_t begin = __builtin_ia32_rdtsc();
    while (serve_piece(w, op) && !w->parked && users(op) <= limit(op)) {
        if (atomic_load_explicit(&aw_host.n_active, memory_order_relaxed) > 1 && __builtin_ia32_rdtsc() - begin > SLICE_CYCLES)
            return true;
    }
    return false;
}

/* One more for the operation, or for what else there is: a thread that waits for it and is awake, if that can do. */
static void call_for_help(struct aw_host_op *op)
{
    if (op->stream && op->stream->lookers && atomic_load_explicit(&aw_host.n_active, memory_order_relaxed) <= op->active &&
        may_help(op))
        atomic_store_explicit(&op->stream->wanted, true, memory_order_relaxed);
    else
        wake();
}

/* The calling thread is the worker from now on. */
static void become(struct aw_host_worker *w)
{
    if (!aw_host_thread.id)
        aw_host_thread.id = (int)syscall(SYS_gettid);
    atomic_store_explicit(&w->thread_id, aw_host_thread.id, memory_order_relaxed);
    aw_host_context_adopt(&w->thread);
}

static void *worker_main(void *arg)
{
    struct aw_host_worker *w = arg;
    aw_host_thread.is_worker = aw_host_thread.takes = true;
    pthread_setname_np(pthread_self(), "anywarp");
    struct aw_host_signals before;
    if (aw_host_fault_enter(&before) != AW_OK)
        aw_say(SIGNAL_STACK);
    become(w);
    aw_host_lock();
    for (;;) {
        struct aw_host_op *op = take(w);
        if (!op && !w->parked) {
            worker_rest(w);
            continue;
        }
        if (op && more_work(op))
            call_for_help(op);
        else if (!op && aw_host.active_head)
            wake();
        aw_host_unlock();
        bool turn = op && serve(w, op);
        if (w->parked)
            parked_round(w);
        aw_host_lock();
        if (turn && op->active) {
            unlist(op);
            list(op, false);
        }
        if (op)
            op_leave(op);
    }
    return NULL;
}

/* ---- guests ---- */

static struct aw_host_worker *guest_get(void)
{
    for (uint32_t i = 0; i < AW_HOST_GUESTS; i++) {
        struct aw_host_worker *w = &aw_host.workers[aw_host.n_workers + i];
        if (!w->busy) {
            w->busy = true;
            return w;
        }
    }
    return NULL;
}

/* Until all that is parked has ended.  The guest takes nothing more, though its blocks may wait for some that nobody has: so
 * it is no help. */
static void guest_stay(struct aw_host_worker *w)
{
    aw_host_lock();
    n_helping--;
    aw_host_pool_nudge();
    aw_host_unlock();
    while (w->parked)
        parked_round(w);
    aw_host_lock();
    n_helping++;
    aw_host_unlock();
}

static void guest_serve(struct aw_host_worker *w, struct aw_host_op *op)
{
    struct aw_host_signals before;
    if (aw_host_fault_enter(&before) != AW_OK)
        return;
    become(w);
    uint64_t until = aw_clock_ns() + GUEST_NS;
    while (serve_piece(w, op) && !w->parked && users(op) <= limit(op) && aw_clock_ns() < until)
        continue;
    if (w->parked)
        guest_stay(w);
    atomic_store_explicit(&w->thread_id, 0, memory_order_relaxed);
    aw_host_fault_leave(&before);
}

bool aw_host_pool_help(struct aw_host_op *op)
{
    if (!op->active || exhausted(op) || !may_help(op))
        return false;
    if (aw_host.n_started - aw_host.n_idle - n_spinning >= aw_host.n_workers)
        return false;
    struct aw_host_worker *w = guest_get();
    if (!w)
        return false;
    join(w, op);
    n_helping++;
    if (more_work(op))
        wake();
    aw_host_unlock();
    guest_serve(w, op);
    aw_host_lock();
    n_helping--;
    w->busy = false;
    aw_host_thread.takes = true; /* the caller helps again, or nudges */
    op_leave(op);
    aw_host_thread.takes = false;
    if (atomic_load_explicit(&aw_host.n_active, memory_order_relaxed) > 1)
        wake();
    return true;
}

/* ---- parts of a library's job ---- */

uint32_t aw_host_spread_threads(void)
{
    return aw_host.n_workers;
}

/* Locked; NULL: the caller had better do all by itself. */
static struct aw_host_op *parts_create(uint32_t parts, struct aw_host_worker **ret_guest)
{
    struct aw_host_op *op;
    if (parts < 2 || aw_host.n_workers < 2 || aw_host_thread.is_worker || !aw_host_pool_ready())
        return NULL;
    if (!(*ret_guest = guest_get()))
        return NULL;
    if (aw_host_op_create(AW_HOST_OP_PARTS, &op) == AW_OK)
        return op;
    (*ret_guest)->busy = false;
    return NULL;
}

/* The caller's part of it, and the wait for what others have begun; locked, unlocks meanwhile. */
static void parts_serve(struct aw_host_worker *w, struct aw_host_op *op)
{
    aw_host_unlock();
    while (serve_piece(w, op))
        continue;
    aw_host_lock();
    n_helping--;
    w->busy = false;
    op_leave(op);
    uint64_t until = aw_clock_ns() + spin_ns;
    aw_host_unlock();
    while (!atomic_load_explicit(&op->parts.done, memory_order_acquire) && aw_clock_ns() < until)
        __builtin_ia32_pause();
    aw_host_lock();
    while (!atomic_load_explicit(&op->parts.done, memory_order_relaxed))
        pthread_cond_wait(op->parts.ended, &aw_host.lock);
}

void aw_host_spread(uint32_t parts, void (*fn)(void *user, uint32_t part), void *user)
{
    pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
    struct aw_host_worker *w;
    aw_host_lock();
    struct aw_host_op *op = parts_create(parts, &w);
    if (op) {
        op->stream = NULL;
        op->total = parts;
        op->piece = 1;
        op->parts.fn = fn;
        op->parts.user = user;
        op->parts.ended = &ended;
        atomic_store_explicit(&op->parts.done, false, memory_order_relaxed);
        n_helping++; /* so that no worker is woken in this thread's place */
        aw_host_pool_activate(op);
        join(w, op);
        parts_serve(w, op);
        aw_host_op_discard(op);
    }
    aw_host_unlock();
    pthread_cond_destroy(&ended);
    for (uint32_t i = 0; !op && i < parts; i++)
        fn(user, i);
}

/* A thread that waits for what it launches gets there sooner by running it than by having it run, where one worker would do
 * all of it; the worker sleeps on.  A thread that launches without waiting goes on with its own work, as it would on a card,
 * unless handing the launch over and waking somebody takes it longer than to run it. */
static bool caller_runs(struct aw_host_stream *stream, const struct aw_host_op *op)
{
    uint64_t most = aw_host_thread.waited ? UNDIVIDED_CYCLES : PIECE_CYCLES;
    return !op->ordered && atomic_load_explicit(&op->kernel.pace->brief, memory_order_relaxed) >= BRIEF_PIECES &&
           less_work(op, most) && aw_host_stream_idle(stream);
}

/* All of it, as a guest; false when this thread cannot. */
static bool caller_serve(struct aw_host_worker *w, struct aw_host_op *op)
{
    struct aw_host_signals before;
    if (aw_host_fault_enter(&before) != AW_OK)
        return false;
    become(w);
    run_timed(w, op, 0, op->total);
    while (w->parked)
        parked_round(w);
    atomic_store_explicit(&w->thread_id, 0, memory_order_relaxed);
    aw_host_fault_leave(&before);
    return true;
}

int aw_host_pool_launch(struct aw_host_stream *stream, struct aw_host_op *op)
{
    struct aw_host_worker *w = caller_runs(stream, op) ? guest_get() : NULL;
    aw_host_thread.waited = false;
    op->here = w != NULL;
    int status = aw_host_op_submit(stream, op);
    if (status == AW_OK && w) {
        atomic_store_explicit(&op->users, 1, memory_order_relaxed);
        atomic_store_explicit(&op->open, 0, memory_order_relaxed);
        aw_host_unlock();
        bool served = caller_serve(w, op);
        aw_host_lock();
        atomic_store_explicit(&op->users, 0, memory_order_relaxed);
        if (served)
            aw_host_op_complete(op); /* nobody else could enter */
        else
            aw_host_pool_activate(op);
    }
    if (w)
        w->busy = false;
    return status;
}

void aw_host_pool_forked(void)
{
    /* The threads are gone, and their pools may have been caught in mid-change: begin with new ones, keep the old reachable. */
    struct aw_host_worker *old = aw_host.workers;
    if (!old)
        return;
    if (aw_host_pool_init() == AW_OK)
        aw_host.workers[0].abandoned = old;
    else
        aw_host.opened = false;
    aw_host.n_started = aw_host.n_idle = aw_host.n_waking = 0;
    n_spinning = n_helping = 0;
    aw_host.idle_head = NULL;
    aw_host.active_head = aw_host.active_tail = NULL;
    atomic_store(&aw_host.n_active, 0);
}
