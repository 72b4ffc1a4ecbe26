/* Blocks in execution: warps on contexts, barriers between them, and the ends a block can come to.
 * Not who runs which block (pool.c), not the stack switch (context.c), not printing (service.c).
 *
 * A run lives on one worker thread from start to end, so nothing here is atomic except the look at op->killed.  A context
 * stands for the warps of one call of generated code.  When a warp has to wait, its context hands the processor straight to
 * the next: a warp not yet started, else the oldest ready one; only when none is left does it go back to the worker.
 *
 * When all that live have met at barrier 0, they are linked into a ring in the order in which they go on.  For as long as they
 * do nothing but meet there again, whoever arrives counts itself and hands over to the next in the ring: no list is touched.
 * Anything else (another barrier, a yield, a return) first dissolves the ring into the lists. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "race.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"

/* A shared address is an offset of 32 bits, extended with its sign: guards of 2 GiB at both ends catch every one, and what a
 * vector reads from there.  That is for the first few thousand windows, and where a process may have so much of its address
 * space; others have small ones. Windows have as many pages as their blocks need: pooled by that number, so that there is a
 * guard at the lower end as well. */
#define WINDOW_FAR (((size_t)2 << 30) + ((size_t)64 << 10))
#define WINDOW_NEAR ((size_t)64 << 10)
enum { WINDOWS_FAR = 4096 };
#define WINDOW_PAGE ((size_t)4096)
_Static_assert(AW_HOST_WINDOW_PAGES * WINDOW_PAGE >= AW_HOST_SHARED_MAX + AW_HOST_SHARED_GRANULE + AW_HOST_SHARED_RESERVED,
               "no window for so much");

static struct aw_host_run *run_of(struct aw_host_block *block)
{
    return (struct aw_host_run *)(void *)block;
}

/* ---- pools: all per worker ---- */

static struct aw_host_context *context_get(struct aw_host_worker *w, unsigned size_class)
{
    struct aw_host_context *c = w->free_contexts[size_class];
    if (c) {
        w->free_contexts[size_class] = c->next;
        return c;
    }
    return aw_host_context_create(size_class);
}

static char *window_map(size_t bytes, size_t guard)
{
    size_t size = bytes + 2 * guard;
    char *map = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return NULL;
    if (mprotect(map + guard, bytes, PROT_READ | PROT_WRITE) != 0) {
        munmap(map, size);
        return NULL;
    }
    return map + guard;
}

static bool window_create(struct aw_host_run *run, unsigned pages)
{
    run->window_bytes = pages * WINDOW_PAGE;
    static _Atomic uint32_t far;
    run->window_guard = aw_host_guard_bytes(WINDOW_FAR, WINDOW_NEAR);
    if (run->window_guard > WINDOW_NEAR && atomic_fetch_add_explicit(&far, 1, memory_order_relaxed) >= WINDOWS_FAR) {
        atomic_fetch_sub_explicit(&far, 1, memory_order_relaxed);
        run->window_guard = WINDOW_NEAR;
    }
    run->window = window_map(run->window_bytes, run->window_guard);
    if (!run->window && run->window_guard > WINDOW_NEAR)
        run->window = window_map(run->window_bytes, run->window_guard = WINDOW_NEAR);
    return run->window;
}

/* With a window of so many pages. */
static struct aw_host_run *run_get(struct aw_host_worker *w, unsigned pages)
{
    struct aw_host_run *run = w->free_runs[pages];
    if (run) {
        w->free_runs[pages] = run->next;
        return run;
    }
    run = aligned_alloc(64, sizeof *run);
    if (!run)
        return NULL;
    memset(run, 0, sizeof *run);
    if (!window_create(run, pages)) {
        free(run);
        return NULL;
    }
    run->worker = w;
    return run;
}

static void run_put(struct aw_host_run *run)
{
    struct aw_host_run **list = &run->worker->free_runs[run->window_bytes / WINDOW_PAGE];
    run->next = *list;
    *list = run;
}

void aw_host_worker_trim(struct aw_host_worker *w)
{
    for (int i = 0; i < AW_HOST_STACK_CLASSES; i++) {
        while (w->free_contexts[i]) {
            struct aw_host_context *c = w->free_contexts[i];
            w->free_contexts[i] = c->next;
            aw_host_context_destroy(c);
        }
    }
    for (unsigned pages = 0; pages <= AW_HOST_WINDOW_PAGES; pages++) {
        while (w->free_runs[pages]) {
            struct aw_host_run *run = w->free_runs[pages];
            w->free_runs[pages] = run->next;
            munmap(run->window - run->window_guard, run->window_bytes + 2 * run->window_guard);
            free(run->sync);
            aw_host_race_end(run);
            free(run);
        }
    }
}

/* ---- contexts of a run ---- */

static void ready_push(struct aw_host_run *run, struct aw_host_context *c)
{
    c->next = NULL;
    *run->ready_end = c;
    run->ready_end = &c->next;
    run->n_ready++;
}

static struct aw_host_context *ready_pop(struct aw_host_run *run)
{
    struct aw_host_context *c = run->ready;
    if (!c)
        return NULL;
    run->ready = c->next;
    if (!run->ready)
        run->ready_end = &run->ready;
    run->n_ready--;
    return c;
}

static void warp_assign(struct aw_host_run *run, struct aw_host_context *c)
{
    uint32_t left = run->n_warps - run->next_warp;
    uint32_t per_call = run->code.object->warps_per_call;
    c->warp = run->next_warp;
    c->warps = left < per_call ? left : per_call;
    run->next_warp += c->warps;
}

static bool warp_unstarted(const struct aw_host_run *run)
{
    return run->next_warp < run->n_warps;
}

static void context_main(struct aw_host_context *c);

/* A context that begins with the next unstarted warps, or with the whole range; NULL when memory is out. */
static struct aw_host_context *context_begin(struct aw_host_run *run)
{
    struct aw_host_context *c = run->ended;
    if (c) {
        run->ended = c->next;
        run->n_ended--;
    } else {
        c = context_get(run->worker, run->code.stack_class);
        if (!c)
            return NULL;
        uint32_t local = run->code.object->local_stack;
        if (local > c->local_size && !aw_host_context_local(c, local)) {
            c->next = run->worker->free_contexts[c->size_class];
            run->worker->free_contexts[c->size_class] = c;
            return NULL;
        }
        c->run = run;
        c->all = run->contexts;
        run->contexts = c;
        run->n_contexts++;
    }
    if (run->n_warps)
        warp_assign(run, c);
    else
        c->warp = 0;
    aw_host_context_prepare(c, context_main);
    return c;
}

static void resume(struct aw_host_run *run, struct aw_host_context *from, struct aw_host_context *to, bool last)
{
    run->current = to;
    run->block.warp = to->warp;
    aw_host_context_switch(from, to, 0, last);
}

/* From a context back to the worker. */
static void leave(struct aw_host_run *run, struct aw_host_context *from, enum aw_host_outcome outcome, bool last)
{
    run->current = NULL;
    aw_host_context_switch(from, &run->worker->thread, outcome, last);
}

_Noreturn void aw_host_run_die(struct aw_host_run *run)
{
    leave(run, run->current, AW_HOST_RUN_DEAD, true);
    abort(); /* a dead context is never resumed */
}

/* Nothing of the run can go on: says which barrier it hangs at and ends the kernel. */
static _Noreturn void die_deadlocked(struct aw_host_run *run)
{
    struct aw_host_op *op = run->op;
    if (aw_host_op_kill(op, AW_ERR_LAUNCH_FAILED)) {
        uint32_t id = (uint32_t)__builtin_ctz(run->used_barriers | 1u << (AW_HOST_BARRIERS - 1));
        for (uint32_t i = id; i < AW_HOST_BARRIERS; i++) {
            if (run->barriers[i].first) {
                id = i;
                break;
            }
        }
        const struct aw_host_barrier *b = &run->barriers[id];
        char place[800];
        aw_say(BARRIER_DEADLOCK, op->kernel.name, run->block.ctaid[0], run->block.ctaid[1], run->block.ctaid[2], id, b->arrived,
               b->expected ? b->expected : run->live,
               b->first ? aw_host_sync_place(run, b->first->warp, place, sizeof place) : "");
        aw_host_op_fault(op);
    }
    aw_host_run_die(run);
}

/* ---- barriers ---- */

static uint32_t barrier_result(const struct aw_host_barrier *b)
{
    return b->op == 0 ? b->popc : b->op == 1 ? b->all : b->any;
}

static inline void barrier_wait_at(struct aw_host_barrier *b, struct aw_host_context *c)
{
    c->next = NULL;
    if (b->first)
        *b->end = c;
    else
        b->first = c;
    b->end = &c->next;
    b->waiting++;
}

static bool barrier_complete(const struct aw_host_run *run, const struct aw_host_barrier *b, uint32_t exited)
{
    return b->arrived && (b->expected ? b->arrived + exited >= b->expected : b->arrived >= run->live);
}

static __attribute__((noinline)) uint32_t barrier_reduced(struct aw_host_barrier *b)
{
    uint32_t result = barrier_result(b);
    for (struct aw_host_context *c = b->first; c; c = c->next)
        c->result = result;
    b->reduces = false;
    return result;
}

/* Lets the waiters go; returns the reduction's result. */
static inline uint32_t barrier_release(struct aw_host_run *run, struct aw_host_barrier *b)
{
    uint32_t result = b->reduces ? barrier_reduced(b) : 0;
    if (b->first) {
        *run->ready_end = b->first;
        run->ready_end = b->end;
        run->n_ready += b->waiting;
        b->first = NULL;
        b->waiting = 0;
    }
    b->arrived = 0;
    run->streak = 0;
    if (run->block.race)
        aw_host_race_meet(run, (uint32_t)(b - run->barriers), !b->expected);
    return result;
}

/* The warp that runs completes barrier 0: links it and those who wait, if they are all that live.  Not the first time: blocks
 * with one barrier would only have a ring to dissolve. */
static __attribute__((noinline)) bool ring_form(struct aw_host_run *run, struct aw_host_barrier *b)
{
    struct aw_host_context *self = run->current;
    if (b->reduces || b->expected || !b->first || run->ready || run->next_warp < run->n_warps ||
        b->waiting + 1 != run->n_contexts - run->n_ended)
        return false;
    *b->end = self;
    self->next = b->first;
    run->ring = b->waiting + 1;
    run->ring_arrived = 0;
    b->first = NULL;
    b->arrived = b->waiting = 0;
    run->streak = 0;
    if (run->block.race)
        aw_host_race_meet(run, 0, true);
    return true;
}

/* Back to the lists, seen from the warp that runs: after it in the ring come those who may go on, then those who have arrived. */
static __attribute__((noinline)) void ring_dissolve(struct aw_host_run *run)
{
    struct aw_host_barrier *b = &run->barriers[0];
    struct aw_host_context *c = run->current->next, *next;
    uint32_t go_on = run->ring - 1 - run->ring_arrived;
    for (uint32_t i = 0; i < run->ring - 1; i++, c = next) {
        next = c->next;
        if (i < go_on) {
            ready_push(run, c);
            continue;
        }
        barrier_wait_at(b, c);
        b->arrived += c->warps;
    }
    if (b->arrived) {
        b->expected = 0;
        run->used_barriers |= 1;
    }
    run->ring = 0;
}

/* Warps have returned: barriers that waited for all that live may be complete now. */
static void barriers_recheck(struct aw_host_run *run, uint32_t exited)
{
    for (uint32_t set = run->used_barriers; set; set &= set - 1) {
        struct aw_host_barrier *b = &run->barriers[__builtin_ctz(set)];
        if (barrier_complete(run, b, exited))
            barrier_release(run, b);
    }
}

/* The next context to run, or NULL when none can.  A barrier with a stated count does not count warps that have returned;
 * but before a block is given up they do. */
static struct aw_host_context *pick_next(struct aw_host_run *run)
{
    if (warp_unstarted(run)) {
        struct aw_host_context *c = context_begin(run);
        if (c)
            return c;
        if (!run->ready) {
            if (aw_host_op_kill(run->op, AW_ERR_OUT_OF_RESOURCES)) {
                aw_say(WARP_MEMORY, run->op->kernel.name, run->next_warp);
                aw_host_op_fault(run->op);
            }
            return NULL;
        }
    }
    if (!run->ready)
        barriers_recheck(run, run->n_warps - run->live);
    return ready_pop(run);
}

static bool killed(const struct aw_host_run *run)
{
    return atomic_load_explicit(&run->op->killed, memory_order_relaxed) != 0;
}

static _Noreturn __attribute__((noinline, cold)) void die_at_barrier(struct aw_host_run *run, uint32_t id)
{
    if (aw_host_op_kill(run->op, AW_ERR_LAUNCH_FAILED)) {
        aw_say(BARRIER_WRONG, run->op->kernel.name, id,
               id >= AW_HOST_BARRIERS ? "does not exist" : "in a kernel that was compiled without barriers");
        aw_host_op_fault(run->op);
    }
    aw_host_run_die(run);
}

/* Counts the warp in, where there is no ring; does not return when the call cannot be served, or when the kernel was killed: a
 * look at its first warp's arrival is enough, as no warp gets past a barrier before all have come. */
static inline struct aw_host_barrier *barrier_arrive(struct aw_host_run *run, uint32_t id, uint32_t threads)
{
    if (id >= AW_HOST_BARRIERS || !run->n_warps)
        die_at_barrier(run, id);
    struct aw_host_barrier *b = &run->barriers[id];
    if (!b->arrived) {
        if (killed(run))
            aw_host_run_die(run);
        uint32_t expected = threads / 32 + (threads % 32 != 0);
        b->expected = expected <= run->n_warps ? expected : 0; /* those count, too, that end once they have come */
        run->used_barriers |= 1u << id;
    }
    b->arrived += run->current->warps;
    if (run->block.race)
        aw_host_race_come(run, id, run->current->warp, run->current->warps, true);
    return b;
}

/* Goes on with another warp than the one that runs, which waits; NULL: with itself, as pick_next may have let it go. */
static __attribute__((noinline)) struct aw_host_context *barrier_pick(struct aw_host_run *run)
{
    struct aw_host_context *next = pick_next(run);
    if (!next)
        die_deadlocked(run);
    return next != run->current ? next : NULL;
}

/* Lets all go on that wait at `b` when it is complete with the warp that runs, else puts that one among them: true. */
static inline bool barrier_enqueue(struct aw_host_run *run, struct aw_host_barrier *b)
{
    struct aw_host_context *self = run->current;
    if (barrier_complete(run, b, 0)) {
        if (b == run->barriers && run->met && ring_form(run, b))
            return false;
        run->met = true;
        self->result = barrier_release(run, b);
        return false;
    }
    barrier_wait_at(b, self);
    return true;
}

static inline bool ready_at_once(const struct aw_host_run *run)
{
    return run->ready && !warp_unstarted(run);
}

static inline void *hand_over(struct aw_host_run *run, struct aw_host_context *self, struct aw_host_context *next, void *sp)
{
    self->sp = sp;
    run->current = next;
    run->block.warp = next->warp;
    return next->sp;
}

/* The warp that runs arrives at barrier 0 in a ring: true when it was the last, and goes on. */
static inline bool ring_arrive(struct aw_host_run *run)
{
    if (++run->ring_arrived < run->ring)
        return false;
    if (killed(run))
        aw_host_run_die(run);
    run->ring_arrived = 0;
    if (run->block.race)
        aw_host_race_meet_all(run);
    return true;
}

/* Out of line, so that the ways through aw_host_barrier_next that are taken nearly always save no registers. */
static __attribute__((noinline)) void *barrier_next_slowly(struct aw_host_run *run, void *sp)
{
    struct aw_host_context *next = barrier_pick(run);
    return next ? hand_over(run, run->current, next, sp) : NULL;
}

static __attribute__((noinline)) void *barrier_next_unringed(struct aw_host_run *run, uint32_t id, uint32_t threads, void *sp)
{
    ring_dissolve(run);
    return aw_host_barrier_next(&run->block, id, threads, sp);
}

void *aw_host_barrier_next(struct aw_host_block *block, uint32_t id, uint32_t threads, void *sp)
{
    struct aw_host_run *run = run_of(block);
    if (run->ring) {
        if (id | threads)
            return barrier_next_unringed(run, id, threads, sp);
        return ring_arrive(run) ? NULL : hand_over(run, run->current, run->current->next, sp);
    }
    struct aw_host_barrier *b = barrier_arrive(run, id, threads);
    if (!barrier_enqueue(run, b))
        return NULL;
    if (!ready_at_once(run))
        return barrier_next_slowly(run, sp);
    return hand_over(run, run->current, ready_pop(run), sp);
}

static uint32_t barrier_wait(struct aw_host_run *run, struct aw_host_barrier *b)
{
    struct aw_host_context *self = run->current;
    if (barrier_enqueue(run, b)) {
        struct aw_host_context *next = ready_at_once(run) ? ready_pop(run) : barrier_pick(run);
        if (next)
            resume(run, self, next, false);
    }
    return self->result;
}

#if AW_HOST_ASAN || AW_HOST_TSAN
static void service_barrier(struct aw_host_block *block, uint32_t id, uint32_t threads)
{
    struct aw_host_run *run = run_of(block);
    if (run->ring && (id | threads))
        ring_dissolve(run);
    if (!run->ring)
        barrier_wait(run, barrier_arrive(run, id, threads));
    else if (!ring_arrive(run))
        resume(run, run->current, run->current->next, false);
}
#else
#define service_barrier aw_host_barrier_
#endif

static void service_barrier_arrive(struct aw_host_block *block, uint32_t id, uint32_t threads)
{
    struct aw_host_run *run = run_of(block);
    if (run->ring)
        ring_dissolve(run);
    struct aw_host_barrier *b = barrier_arrive(run, id, threads);
    if (run->block.race)
        aw_host_race_come(run, id, run->current->warp, run->current->warps, false);
    if (barrier_complete(run, b, 0))
        barrier_release(run, b);
}

static uint32_t service_barrier_reduce(struct aw_host_block *block, uint32_t id, uint32_t threads, uint32_t op,
                                       uint32_t active, uint32_t predicate)
{
    struct aw_host_run *run = run_of(block);
    if (run->ring)
        ring_dissolve(run);
    struct aw_host_barrier *b = barrier_arrive(run, id, threads);
    if (!b->reduces) {
        b->reduces = b->all = true;
        b->any = false;
        b->popc = 0;
    }
    b->op = (uint8_t)op;
    b->popc += (uint32_t)__builtin_popcount(active & predicate);
    b->any |= (active & predicate) != 0;
    b->all &= (active & ~predicate) == 0;
    return barrier_wait(run, b);
}

void aw_host_turn(struct aw_host_block *block)
{
    struct aw_host_run *run = run_of(block);
    struct aw_host_context *self = run->current, *next;
    if (run->ring)
        ring_dissolve(run);
    if (!run->n_warps || !(warp_unstarted(run) || run->n_ready))
        return;
    ready_push(run, self);
    next = pick_next(run);
    if (next && next != self)
        resume(run, self, next, false);
}

/* By each warp before its block is left, though other things happened in between: a loop that polls may have a barrier. */
enum { YIELDS_MOST = 8 };

static void service_yield(struct aw_host_block *block)
{
    struct aw_host_run *run = run_of(block);
    struct aw_host_context *self = run->current;
    if (killed(run))
        aw_host_run_die(run);
    if (run->ring)
        ring_dissolve(run);
    ready_push(run, self);
    run->streak++;
    run->yields++;
    if (run->n_warps && run->yields < YIELDS_MOST * run->n_warps && (warp_unstarted(run) || run->streak < run->n_ready)) {
        struct aw_host_context *next = pick_next(run);
        if (next && next != self) {
            resume(run, self, next, false);
            return;
        }
        if (next)
            ready_push(run, self);
    }
    run->streak = run->yields = 0;
    leave(run, self, AW_HOST_RUN_YIELD, false);
}

const struct aw_host_services aw_host_services = {
    .barrier = service_barrier,
    .barrier_reduce = service_barrier_reduce,
    .barrier_arrive = service_barrier_arrive,
    .yield = service_yield,
    .vprintf = aw_host_vprintf,
    .assert_fail = aw_host_assert_fail,
    .trap = aw_host_trap,
    .malloc = aw_host_heap_malloc,
    .free = aw_host_heap_free,
    .globaltimer = aw_host_globaltimer,
    .block_texel = aw_host_block_texel,
    .check_sync = aw_host_check_sync,
    .check_access = aw_host_check_access,
    .check_race = aw_host_check_race,
    .check_order = aw_host_check_order,
    .lanes_blocks = aw_host_lanes_blocks,
    .lanes_warp = aw_host_lanes_warp,
    .lane_op = aw_host_lane_op,
    .lane_yield = aw_host_lane_yield,
    .turn = aw_host_turn,
};

/* ---- entry and end ---- */

/* The warps of `c` have returned.  Goes on with unstarted warps on the same stack, else gives the stack back. */
static bool warps_returned(struct aw_host_run *run, struct aw_host_context *c)
{
    if (run->ring)
        ring_dissolve(run);
    run->live -= c->warps;
    run->streak = 0;
    if (run->used_barriers)
        barriers_recheck(run, 0);
    if (!warp_unstarted(run) || killed(run))
        return false;
    warp_assign(run, c);
    run->block.warp = c->warp;
    return true;
}

/* What a block that was given up, or whose warps only arrived, has left at barriers. */
static void barriers_clear(struct aw_host_run *run)
{
    for (uint32_t set = run->used_barriers; set; set &= set - 1) {
        struct aw_host_barrier *b = &run->barriers[__builtin_ctz(set)];
        if (b->arrived)
            *b = (struct aw_host_barrier){ 0 };
    }
    run->used_barriers = 0;
}

/* All warps of the block have returned: sets up the next one of the run, to begin on the stack of the last that returned. */
static bool next_block(struct aw_host_run *run, struct aw_host_context *c)
{
    const uint32_t *grid = run->block.launch->grid;
    if (--run->count == 0)
        return false;
    run->first++;
    if (++run->block.ctaid[0] == grid[0]) {
        run->block.ctaid[0] = 0;
        if (++run->block.ctaid[1] == grid[1]) {
            run->block.ctaid[1] = 0;
            run->block.ctaid[2]++;
        }
    }
    barriers_clear(run);
    run->met = false;
    run->next_warp = 0;
    run->live = run->n_warps;
    warp_assign(run, c);
    run->block.warp = c->warp;
    return true;
}

/* Before each entry: where the kernel's variables lie that it may overrun. */
static void local_set(struct aw_host_run *run, const struct aw_host_context *c)
{
    run->block.local = c->local;
    run->block.local_size = c->local_size;
}

/* Entry of every context.  Never returns: its end is a switch to whatever goes on. */
static void context_main(struct aw_host_context *c)
{
    aw_host_context_entered(c);
    struct aw_host_run *run = c->run;
    const struct aw_host_object *code = run->code.object;
    if (!run->code.warps) {
        local_set(run, c);
        code->blocks(&run->block, run->first, run->count);
        leave(run, c, AW_HOST_RUN_DONE, true);
        abort();
    }
    do {
        do {
            local_set(run, c);
            code->warp(&run->block, c->warp);
        } while (warps_returned(run, c));
        if (killed(run))
            aw_host_run_die(run);
    } while (run->live == 0 && next_block(run, c));
    if (run->live == 0) {
        leave(run, c, AW_HOST_RUN_DONE, true);
        abort();
    }
    struct aw_host_context *next = pick_next(run);
    if (!next)
        die_deadlocked(run);
    c->next = run->ended; /* not before: pick_next may begin on one of them */
    run->ended = c;
    run->n_ended++;
    resume(run, c, next, true);
    abort();
}

static void set_block_index(struct aw_host_run *run, uint64_t linear)
{
    const uint32_t *grid = run->block.launch->grid;
    run->block.ctaid[0] = (uint32_t)(linear % grid[0]);
    run->block.ctaid[1] = (uint32_t)(linear / grid[0] % grid[1]);
    run->block.ctaid[2] = (uint32_t)(linear / grid[0] / grid[1]);
}

/* From the block's first shared byte to the guard: as far as a card lets it go, or as near as the 64-byte alignment that the
 * interface promises allows. */
static size_t window_bytes(size_t total)
{
    if (aw_host.exact)
        return (total + 63) & ~(size_t)63;
    return ((total + AW_HOST_SHARED_GRANULE - 1) & ~(size_t)(AW_HOST_SHARED_GRANULE - 1)) + AW_HOST_SHARED_RESERVED;
}

struct aw_host_run *aw_host_run_start(struct aw_host_worker *w, struct aw_host_op *op, uint64_t first, uint64_t count)
{
    const struct aw_host_launch *launch = &op->kernel.launch;
    size_t shared = window_bytes(launch->total_shared);
    struct aw_host_run *run = run_get(w, (unsigned)((shared + WINDOW_PAGE - 1) / WINDOW_PAGE));
    if (!run)
        return NULL;
    run->op = op;
    run->code = aw_host_kernel_code(&op->kernel);
    run->first = first;
    run->count = count;
    run->next = NULL;
    run->contexts = run->ended = NULL;
    run->ready = NULL;
    run->ready_end = &run->ready;
    run->n_ready = run->n_contexts = run->n_ended = 0;
    run->ring = 0;
    run->met = false;
    run->next_warp = 0;
    run->live = launch->warps;
    run->n_warps = run->code.warps ? launch->warps : 0;
    run->streak = run->yields = 0;
    run->block.launch = launch;
    run->block.worker = w->index;
    run->block.warp = 0;
    run->block.shared = run->window + run->window_bytes - shared;
    set_block_index(run, first);
    if (op->kernel.counting)
        aw_host_counting_run(run);
    struct aw_host_context *c = aw_host_race_start(run) ? context_begin(run) : NULL;
    if (!c) {
        run_put(run);
        return NULL;
    }
    ready_push(run, c);
    return run;
}

/* Too deep a recursion whose functions have arrays of their own ends below, too. */
static const char *beyond_local(const struct aw_host_context *c, const void *address)
{
    int side = c ? aw_host_context_guards_local(c, address) : 0;
    return side > 0 ? " (past the warp's local memory)" : side < 0 ? " (below the warp's local memory)" : "";
}

/* Says what went wrong, and where. */
static void fault_tell(const struct aw_host_run *run, const struct aw_host_context *c, bool memory, bool overflow)
{
    const struct aw_host_worker *w = run->worker;
    const uint32_t *at = run->block.ctaid;
    const char *kernel = run->op->kernel.name;
    char text[800];
    const char *place = aw_host_locate(&run->op->kernel, w->fault_pc, text, sizeof text);
    if (overflow)
        aw_say(STACK_OVERFLOW, kernel, at[0], at[1], at[2], c->warp, c->stack_size, place);
    else if (memory && w->fault_unaligned)
        aw_say(UNALIGNED, kernel, at[0], at[1], at[2], run->block.warp, place);
    else if (memory && w->fault_code == SI_KERNEL)
        aw_say(NOT_CANONICAL, kernel, at[0], at[1], at[2], run->block.warp, place);
    else if (memory)
        aw_say(ILLEGAL_ACCESS, kernel, w->fault_address, beyond_local(c, w->fault_address), at[0], at[1], at[2], run->block.warp,
               place);
    else
        aw_say(KERNEL_SIGNAL, kernel, w->fault_signal == SIGFPE ? "arithmetic fault" : "illegal instruction", w->fault_pc, at[0],
               at[1], at[2], run->block.warp, place);
}

static void report_fault(struct aw_host_run *run, const struct aw_host_context *c)
{
    const struct aw_host_worker *w = run->worker;
    bool memory = w->fault_signal == SIGSEGV || w->fault_signal == SIGBUS;
    bool overflow = memory && c && aw_host_context_guards(c, w->fault_address);
    int status = memory && w->fault_unaligned ? AW_ERR_MISALIGNED
                 : memory && !overflow        ? AW_ERR_ILLEGAL_ADDRESS
                 : w->fault_signal == SIGILL ? AW_ERR_ILLEGAL_INSTRUCTION
                                             : AW_ERR_LAUNCH_FAILED;
    if (!aw_host_op_kill(run->op, status))
        return;
    fault_tell(run, c, memory, overflow);
    aw_host_op_fault(run->op);
}

enum aw_host_outcome aw_host_run_step(struct aw_host_run *run)
{
    struct aw_host_worker *w = run->worker;
    if (killed(run))
        return AW_HOST_RUN_DONE;
    struct aw_host_context *c = ready_pop(run);
    run->current = c;
    run->block.warp = c->warp;
    w->running = run;
    if (run->op->kernel.counting)
        aw_host_counting_step(run);
    aw_host_thread.worker = w;
    enum aw_host_outcome outcome = aw_host_context_switch(&w->thread, c, 0, false);
    aw_host_thread.worker = NULL;
    w->running = NULL;
    if (outcome == AW_HOST_RUN_FAULT) {
        aw_host_context_landed(&w->thread);
        report_fault(run, run->current);
    }
    return outcome == AW_HOST_RUN_YIELD ? AW_HOST_RUN_YIELD : AW_HOST_RUN_DONE;
}

void aw_host_run_finish(struct aw_host_run *run)
{
    struct aw_host_worker *w = run->worker;
    while (run->contexts) {
        struct aw_host_context *c = run->contexts;
        run->contexts = c->all;
        c->next = w->free_contexts[c->size_class];
        w->free_contexts[c->size_class] = c;
    }
    barriers_clear(run);
    if (run->block.race)
        aw_host_race_finish(run);
    run_put(run);
}
