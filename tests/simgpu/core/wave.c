/* Executing a wave: the loop over instructions, jumps, and how a wave stops with a line that says where.  Who runs when is
 * core/schedule.c's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "decode.h"
#include "run.h"

void (*sim_interrupt)(uint32_t node, uint32_t event);

/* ---- Stopping ---- */

/* ": <instruction> at +<offset> of the kernel, block x,y,z wave n lane l". */
static void say_where(struct sim_wave *w, const struct sim_inst *i, int lane)
{
    char *text = w->report.text;
    size_t size = sizeof w->report.text, used = strlen(text);
    const struct sim_group *g = w->group;
    used += (size_t)snprintf(text + used, size - used, ": %s", i->text);
    if (g->run && used < size)
        used += (size_t)snprintf(text + used, size - used, " at %+" PRId64 " of the kernel",
                                 (int64_t)(i->pc - g->run->kernel.entry));
    else if (used < size)
        used += (size_t)snprintf(text + used, size - used, " at %#" PRIx64, i->pc);
    if (used < size)
        used += (size_t)snprintf(text + used, size - used, ", block %u,%u,%u wave %u", g->id[0], g->id[1], g->id[2], w->index);
    if (lane >= 0 && used < size)
        snprintf(text + used, size - used, " lane %d", lane);
}

static void stop(struct sim_wave *w, const struct sim_inst *i, enum sim_end end, int lane, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
static void stop(struct sim_wave *w, const struct sim_inst *i, enum sim_end end, int lane, const char *fmt, ...)
{
    va_list ap;
    if (w->state == SIM_STOPPED) /* the first reason is the one */
        return;
    va_start(ap, fmt);
    vsnprintf(w->report.text, sizeof w->report.text, fmt, ap);
    va_end(ap);
    say_where(w, i, lane);
    w->report.pc = i->pc;
    w->state = SIM_STOPPED;
    w->end = end;
}

void sim_fault(struct sim_wave *w, const struct sim_inst *i, enum sim_access access, uint64_t address, unsigned size, int lane)
{
    static const char *const what[] = {
        [SIM_LOAD] = "load", [SIM_STORE] = "store", [SIM_ATOMIC] = "atomic", [SIM_FETCH] = "code fetch"
    };
    char place[200];
    if (w->state == SIM_STOPPED)
        return;
    sim_map_describe(address, place, sizeof place);
    stop(w, i, SIM_END_FAULT, lane, "memory fault: %s of %u bytes at %#" PRIx64 " (%s)", what[access], size, address, place);
    w->report.address = address;
}

void sim_illegal(struct sim_wave *w, const struct sim_inst *i, const char *why)
{
    stop(w, i, SIM_END_ILLEGAL, -1, "illegal instruction (%s)", why);
}

void sim_trap(struct sim_wave *w, const struct sim_inst *i, unsigned number)
{
    if (w->state == SIM_STOPPED)
        return;
    stop(w, i, SIM_END_TRAP, -1, "trap %u", number);
    w->report.trap = number;
}

/* ---- Going on ---- */

/* Stands in `next` while an instruction runs whose follower is not known yet, so that a jump (NULL, or a real one) can be
 * told. */
static const struct sim_inst follower_unknown;

void sim_jump(struct sim_wave *w, uint64_t pc)
{
    w->next = NULL;
    w->pc = pc;
}

void sim_branch(struct sim_wave *w, const struct sim_inst *i)
{
    struct sim_inst *self = (struct sim_inst *)i->self; /* the decoder's, which lets this one field be filled in */
    const struct sim_inst *target = __atomic_load_n(&self->target, __ATOMIC_ACQUIRE);
    if (!target) {
        target = sim_decode(w, i->pc + i->size + (uint64_t)(int64_t)i->simm * 4);
        if (!target)
            return;
        __atomic_store_n(&self->target, target, __ATOMIC_RELEASE);
    }
    w->next = target;
    w->stats.taken++;
}

static void trace(const struct sim_wave *w, const struct sim_inst *i)
{
    const uint32_t *id = w->group->id;
    sim_say("block %u,%u,%u wave %u %#" PRIx64 " exec %#" PRIx64 " scc %u: %s", id[0], id[1], id[2], w->index, i->pc, sim_exec(w),
            w->scc, i->text);
}

/* Is it still what memory holds, and within the wave's registers?  The instruction to execute, or NULL when the wave stopped. */
static const struct sim_inst *check(struct sim_wave *w, const struct sim_inst *i)
{
    i = sim_decode(w, i->pc);
    if (i && (i->vgprs > w->n_vgprs || (i->agprs && !w->a))) {
        sim_illegal(w, i, "it names a vector register that the wave does not have");
        return NULL;
    }
    return i;
}

static inline void count(struct sim_wave *w, const struct sim_inst *i)
{
    w->stats.executed[i->cls]++;
    if (i->slots) {
        w->stats.vector_lanes += (unsigned)__builtin_popcountll(sim_exec(w));
        w->stats.vector_slots += i->slots;
    }
}

/* After `i` went on to the next instruction without saying to which: decodes it, unless the wave does not run on. */
static void follow(struct sim_wave *w, const struct sim_inst *i)
{
    sim_jump(w, i->pc + i->size);
    if (w->state == SIM_ENDED || w->state == SIM_STOPPED)
        return;
    const struct sim_inst *next = sim_decode(w, w->pc);
    if (!next)
        return;
    __atomic_store_n(&((struct sim_inst *)i)->follow, next, __ATOMIC_RELEASE);
    w->next = next;
}

void sim_wave_run(struct sim_wave *w, unsigned budget)
{
    const uint32_t epoch = sim_decode_now();
    const bool traced = sim_settings()->trace_instructions, watched = w->watch;
    for (; budget && w->state == SIM_RUNNING; budget--) {
        const struct sim_inst *i = w->next;
        if (__builtin_expect(!i, 0) && !(i = sim_decode(w, w->pc)))
            return;
        if (__builtin_expect((int32_t)(__atomic_load_n(&i->epoch, __ATOMIC_ACQUIRE) - epoch) < 0 || i->vgprs > w->n_vgprs ||
                             (i->agprs && !w->a), 0) && !(i = check(w, i)))
            return;
        if (__builtin_expect(traced, 0))
            trace(w, i);
        if (__builtin_expect(watched, 0))
            sim_race_before(w, i);
        const struct sim_inst *next = __atomic_load_n(&i->follow, __ATOMIC_ACQUIRE);
        w->pc = i->pc;
        w->next = next ? next : &follower_unknown;
        w->clock++;
        count(w, i);
        i->run(w, i);
        if (__builtin_expect(watched, 0))
            sim_race_after(w, i);
        if (__builtin_expect(w->next == &follower_unknown, 0))
            follow(w, i);
    }
}
