/* Blocks in execution: warps on contexts, barriers between them, and the ends a block can come to.
 * Not who runs which block (pool.c), not the stack switch (context.c), not printing (service.c).
 *
 * A run lives on one worker thread from start to end, so nothing here is atomic except the look at op->killed.  A context
 * stands for the warps of one call of generated code.  When a warp has to wait, its context hands the processor straight to the
 * next: a warp not yet started, else the oldest ready one; only when none is left does it go back to the worker. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"

/* Shared windows end at a guard, so that an index past the end faults; the other guard catches small negative offsets. */
#define WINDOW_GUARD ((size_t)64 << 10)
#define WINDOW_BYTES (((size_t)AW_HOST_SHARED_MAX + 4095) & ~(size_t)4095)
#define WINDOW_MAP (WINDOW_BYTES + 2 * WINDOW_GUARD)

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

static char *window_create(void)
{
    char *map = mmap(NULL, WINDOW_MAP, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return NULL;
    if (mprotect(map + WINDOW_GUARD, WINDOW_BYTES, PROT_READ | PROT_WRITE) != 0) {
        munmap(map, WINDOW_MAP);
        return NULL;
    }
    return map;
}

static struct aw_host_run *run_get(struct aw_host_worker *w)
{
    struct aw_host_run *run = w->free_runs;
    if (run) {
        w->free_runs = run->next;
        return run;
    }
    run = calloc(1, sizeof *run);
    if (!run)
        return NULL;
    run->window = window_create();
    if (!run->window) {
        free(run);
        return NULL;
    }
    run->worker = w;
    return run;
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
    while (w->free_runs) {
        struct aw_host_run *run = w->free_runs;
        w->free_runs = run->next;
        munmap(run->window, WINDOW_MAP);
        free(run);
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
    uint32_t left = run->block.launch->warps - run->next_warp;
    uint32_t per_call = run->op->kernel.code->warps_per_call;
    c->warp = run->next_warp;
    c->warps = left < per_call ? left : per_call;
    run->next_warp += c->warps;
}

static bool warp_unstarted(const struct aw_host_run *run)
{
    return run->next_warp < run->block.launch->warps;
}

static void context_main(struct aw_host_context *c);

/* A context that begins with the next unstarted warps, or with the whole range; NULL when memory is out. */
static struct aw_host_context *context_begin(struct aw_host_run *run)
{
    struct aw_host_context *c = context_get(run->worker, run->op->kernel.stack_class);
    if (!c)
        return NULL;
    c->run = run;
    c->all = run->contexts;
    run->contexts = c;
    run->n_contexts++;
    if (run->op->kernel.warps)
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
            if (run->barriers[i].waiters) {
                id = i;
                break;
            }
        }
        const struct aw_host_barrier *b = &run->barriers[id];
        aw_err("kernel %s: block (%u,%u,%u) deadlocked: barrier %u has %u of %u warps and no other warp can arrive",
               op->kernel.name, run->block.ctaid[0], run->block.ctaid[1], run->block.ctaid[2], id, b->arrived,
               b->expected ? b->expected : run->live);
    }
    aw_host_run_die(run);
}

/* ---- barriers ---- */

static uint32_t barrier_result(const struct aw_host_barrier *b)
{
    return b->op == 0 ? b->popc : b->op == 1 ? b->all : b->any;
}

static bool barrier_complete(const struct aw_host_run *run, const struct aw_host_barrier *b, uint32_t exited)
{
    return b->arrived && b->arrived + exited >= (b->expected ? b->expected : run->live);
}

/* Lets the waiters go; returns the reduction's result. */
static uint32_t barrier_release(struct aw_host_run *run, struct aw_host_barrier *b)
{
    uint32_t result = barrier_result(b);
    /* The list has the latest first; the ready queue wants the earliest first. */
    struct aw_host_context *in_order = NULL;
    while (b->waiters) {
        struct aw_host_context *c = b->waiters;
        b->waiters = c->next;
        c->next = in_order;
        in_order = c;
    }
    while (in_order) {
        struct aw_host_context *c = in_order;
        in_order = c->next;
        c->result = result;
        ready_push(run, c);
    }
    memset(b, 0, sizeof *b);
    run->streak = 0;
    return result;
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
            if (aw_host_op_kill(run->op, AW_ERR_OUT_OF_RESOURCES))
                aw_err("kernel %s: no memory for the stack of warp %u", run->op->kernel.name, run->next_warp);
            return NULL;
        }
    }
    if (!run->ready)
        barriers_recheck(run, run->block.launch->warps - run->live);
    return ready_pop(run);
}

static bool killed(const struct aw_host_run *run)
{
    return atomic_load_explicit(&run->op->killed, memory_order_relaxed) != 0;
}

/* Checks what a barrier call was given; does not return when it cannot be served. */
static struct aw_host_barrier *barrier_arrive(struct aw_host_run *run, uint32_t id, uint32_t threads)
{
    if (killed(run))
        aw_host_run_die(run);
    if (id >= AW_HOST_BARRIERS || !run->op->kernel.warps) {
        if (aw_host_op_kill(run->op, AW_ERR_LAUNCH_FAILED))
            aw_err("kernel %s: barrier %u %s", run->op->kernel.name, id,
                   id >= AW_HOST_BARRIERS ? "does not exist" : "in a kernel that was compiled without barriers");
        aw_host_run_die(run);
    }
    struct aw_host_barrier *b = &run->barriers[id];
    uint32_t expected = threads / 32 + (threads % 32 != 0);
    if (expected >= run->block.launch->warps)
        expected = 0;
    if (!b->arrived) {
        b->expected = expected;
        b->all = true;
        run->used_barriers |= 1u << id;
    }
    b->arrived += run->current->warps;
    return b;
}

static uint32_t barrier_wait(struct aw_host_run *run, struct aw_host_barrier *b)
{
    struct aw_host_context *self = run->current;
    if (barrier_complete(run, b, 0))
        return barrier_release(run, b);
    self->next = b->waiters;
    b->waiters = self;
    struct aw_host_context *next = pick_next(run);
    if (!next)
        die_deadlocked(run);
    if (next != self) /* pick_next may have let this very warp go */
        resume(run, self, next, false);
    return self->result;
}

static void service_barrier(struct aw_host_block *block, uint32_t id, uint32_t threads)
{
    struct aw_host_run *run = run_of(block);
    barrier_wait(run, barrier_arrive(run, id, threads));
}

static void service_barrier_arrive(struct aw_host_block *block, uint32_t id, uint32_t threads)
{
    struct aw_host_run *run = run_of(block);
    struct aw_host_barrier *b = barrier_arrive(run, id, threads);
    if (barrier_complete(run, b, 0))
        barrier_release(run, b);
}

static uint32_t service_barrier_reduce(struct aw_host_block *block, uint32_t id, uint32_t threads, uint32_t op,
                                       uint32_t active, uint32_t predicate)
{
    struct aw_host_run *run = run_of(block);
    struct aw_host_barrier *b = barrier_arrive(run, id, threads);
    b->op = (uint8_t)op;
    b->popc += (uint32_t)__builtin_popcount(active & predicate);
    b->any |= (active & predicate) != 0;
    b->all &= (active & ~predicate) == 0;
    return barrier_wait(run, b);
}

static void service_yield(struct aw_host_block *block)
{
    struct aw_host_run *run = run_of(block);
    struct aw_host_context *self = run->current;
    if (killed(run))
        aw_host_run_die(run);
    ready_push(run, self);
    run->streak++;
    if (run->op->kernel.warps && (warp_unstarted(run) || run->streak < run->n_ready)) {
        struct aw_host_context *next = pick_next(run);
        if (next && next != self) {
            resume(run, self, next, false);
            return;
        }
        if (next)
            ready_push(run, self);
    }
    run->streak = 0;
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
};

/* ---- entry and end ---- */

/* The warps of `c` have returned.  Goes on with unstarted warps on the same stack, else gives the stack back. */
static bool warps_returned(struct aw_host_run *run, struct aw_host_context *c)
{
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

/* Entry of every context.  Never returns: its end is a switch to whatever goes on. */
static void context_main(struct aw_host_context *c)
{
    aw_host_context_entered(c);
    struct aw_host_run *run = c->run;
    const struct aw_host_object *code = run->op->kernel.code;
    if (!run->op->kernel.warps) {
        code->blocks(&run->block, run->first, run->count);
        leave(run, c, AW_HOST_RUN_DONE, true);
        abort();
    }
    do {
        code->warp(&run->block, c->warp);
    } while (warps_returned(run, c));
    if (killed(run))
        aw_host_run_die(run);
    if (run->live == 0) {
        leave(run, c, AW_HOST_RUN_DONE, true);
        abort();
    }
    struct aw_host_context *next = pick_next(run);
    if (!next)
        die_deadlocked(run);
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

struct aw_host_run *aw_host_run_start(struct aw_host_worker *w, struct aw_host_op *op, uint64_t first, uint64_t count)
{
    struct aw_host_run *run = run_get(w);
    if (!run)
        return NULL;
    const struct aw_host_launch *launch = &op->kernel.launch;
    run->op = op;
    run->first = first;
    run->count = count;
    run->next = NULL;
    run->contexts = NULL;
    run->ready = NULL;
    run->ready_end = &run->ready;
    run->n_ready = run->n_contexts = 0;
    run->next_warp = 0;
    run->live = launch->warps;
    run->streak = 0;
    run->block.launch = launch;
    run->block.worker = w->index;
    run->block.warp = 0;
    /* The window ends at the guard; 64-byte alignment is what the interface promises. */
    size_t bytes = ((size_t)launch->total_shared + 63) & ~(size_t)63;
    run->block.shared = run->window + WINDOW_GUARD + WINDOW_BYTES - bytes;
    set_block_index(run, first);
    struct aw_host_context *c = context_begin(run);
    if (!c) {
        run->next = w->free_runs;
        w->free_runs = run;
        return NULL;
    }
    ready_push(run, c);
    return run;
}

static void report_fault(struct aw_host_run *run, const struct aw_host_context *c)
{
    struct aw_host_worker *w = run->worker;
    const uint32_t *at = run->block.ctaid;
    bool memory = w->fault_signal == SIGSEGV || w->fault_signal == SIGBUS;
    bool overflow = memory && c && aw_host_context_guards(c, w->fault_address);
    int status = memory && !overflow ? AW_ERR_ILLEGAL_ADDRESS : AW_ERR_LAUNCH_FAILED;
    if (!aw_host_op_kill(run->op, status))
        return;
    const char *kernel = run->op->kernel.name;
    if (overflow)
        aw_err("kernel %s: stack overflow in block (%u,%u,%u), warp %u (%zu bytes of stack)", kernel, at[0], at[1], at[2],
               c->warp, c->stack_size);
    else if (memory && w->fault_code == SI_KERNEL)
        aw_err("kernel %s: access to an address that cannot exist (not canonical) in block (%u,%u,%u), warp %u", kernel,
               at[0], at[1], at[2], run->block.warp);
    else if (memory)
        aw_err("kernel %s: illegal access to address %p in block (%u,%u,%u), warp %u", kernel, w->fault_address, at[0],
               at[1], at[2], run->block.warp);
    else
        aw_err("kernel %s: %s at %p in block (%u,%u,%u), warp %u", kernel,
               w->fault_signal == SIGFPE ? "arithmetic fault" : "illegal instruction", w->fault_pc, at[0], at[1], at[2],
               run->block.warp);
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
    if (run->used_barriers)
        memset(run->barriers, 0, sizeof run->barriers);
    run->used_barriers = 0;
    run->next = w->free_runs;
    w->free_runs = run;
}
