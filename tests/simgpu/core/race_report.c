/* What the race detector prints, once for each pair of instructions of a kernel, and how many there were. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "race.h"

enum { PAIRS = 4096, MOST = 1000 /* pairs printed */, LATE = 256 /* kept of a launch */, NO_LANE = 255 };

static _Atomic uint64_t pairs[PAIRS];
static _Atomic unsigned races;
static pthread_mutex_t printing = PTHREAD_MUTEX_INITIALIZER;

unsigned sim_race_count(void)
{
    return races;
}

void sim_race_summary(void)
{
    if (!sim_settings()->check_race)
        return;
    if (!races)
        sim_say("no races");
    else
        sim_say("%u race%s", races, races == 1 ? "" : "s");
}

/* Has this pair not been there before? */
static bool is_new(uint64_t a, uint64_t b)
{
    uint64_t lo = a < b ? a : b, hi = a < b ? b : a;
    uint64_t key = (lo * 0x9e3779b97f4a7c15ull ^ hi) * 0xc2b2ae3d27d4eb4full | 1;
    for (unsigned n = 0, at = key >> 32 & (PAIRS - 1); n < PAIRS; n++, at = (at + 1) & (PAIRS - 1)) {
        uint64_t old = pairs[at];
        if (!old && atomic_compare_exchange_strong(&pairs[at], &old, key))
            return true;
        if (old == key)
            return false;
    }
    return false;
}

/* "  store: ds_write_b32 v1, v2 at +40 of the kernel, block 0,0,0 wave 1 lane 3, file.cu:12" */
static void write_place(struct sim_wave *w, uint64_t pc, const char *what, uint32_t wave, unsigned lane, char *ret, size_t size)
{
    const struct sim_run *run = w->group->run;
    uint32_t block = wave / run->shape.waves_per_block, id[3];
    char lines[540], where[32] = "";
    const struct sim_inst *i = sim_decode(w, pc);
    for (int k = 0; k < 3; k++) {
        id[k] = block % run->count[k];
        block /= run->count[k];
    }
    bool found = sim_lines_find(run->dispatch, pc, lines, sizeof lines);
    if (lane < 64)
        snprintf(where, sizeof where, " lane %u", lane);
    snprintf(ret, size, "  %s: %s at %+" PRId64 " of the kernel, block %u,%u,%u wave %u%s%s%s", what, i ? i->text : "?",
             (int64_t)(pc - run->kernel.entry), id[0], id[1], id[2], wave % run->shape.waves_per_block, where, found ? ", " : "",
             found ? lines : "");
}

static const char *kernel_of(const struct sim_run *run, char *buffer, size_t size)
{
    if (run->dispatch->name)
        return run->dispatch->name;
    sim_kernel_name(run->node, run->dispatch->descriptor, buffer, size);
    return buffer;
}

static void describe(const struct sim_wave *w, const struct race_suspect *s, char *ret, size_t size)
{
    struct sim_view view = { .node = w->data[0].node };
    if (s->lds)
        snprintf(ret, size, "%u bytes at %#" PRIx64 " of the block's LDS", s->size, s->address);
    else if (sim_map_lookup(&view, s->address))
        snprintf(ret, size, "%u bytes at %#" PRIx64 ", byte %#" PRIx64 " of %#" PRIx64 " allocated at %#" PRIx64, s->size,
                 s->address, s->address - view.lo, view.hi - view.lo, view.lo);
    else
        snprintf(ret, size, "%u bytes at %#" PRIx64, s->size, s->address);
}

/* "race N in kernel " and so on. */
static void say(char (*text)[800])
{
    unsigned number = ++races;
    if (number > MOST)
        return;
    pthread_mutex_lock(&printing);
    sim_say("race %u in kernel %s", number, text[0]);
    sim_say("%s", text[1]);
    sim_say("%s", text[2]);
    pthread_mutex_unlock(&printing);
}

static void write_report(struct sim_wave *w, const struct sim_inst *i, const struct race_suspect *s, uint64_t before,
                         char (*ret)[800])
{
    static const char *const names[] = { "load", "atomic load", "store", "store", "atomic" };
    const struct sim_run *run = w->group->run;
    char name[256], what[200];
    describe(w, s, what, sizeof what);
    snprintf(ret[0], sizeof ret[0], "%s on %s: %s%s", kernel_of(run, name, sizeof name), run->dispatch->card->name, what,
             s->unfinished ? ": the first was not waited for before others heard of it" : "");
    write_place(w, before, names[s->before.kind], s->before.wave, s->before.lane, ret[1], sizeof ret[1]);
    write_place(w, i->pc, names[s->kind], w->watch->wave, s->lane, ret[2], sizeof ret[2]);
}

/* Keeps it until the launch ends: the load may turn out to be a mere look. */
static void report_later(struct sim_wave *w, const struct sim_inst *i, const struct race_suspect *s, uint64_t before)
{
    struct race_run *race = w->watch->block->race;
    bool loads = s->kind == RACE_LOAD;
    uint32_t load = (uint32_t)(loads ? i->pc : before), other = (uint32_t)(loads ? before : i->pc);
    unsigned n = 0;
    pthread_mutex_lock(&race->lock);
    struct race_late **at = &race->late;
    for (; *at && ((*at)->load != load || (*at)->other != other); at = &(*at)->next)
        n++;
    if (!*at && n < LATE && (*at = calloc(1, sizeof **at))) {
        (*at)->load = load;
        (*at)->other = other;
        (*at)->lds = s->lds ? w->watch->block : NULL;
        (*at)->cell = s->address / RACE_CELL;
        write_report(w, i, s, before, (*at)->text);
    }
    pthread_mutex_unlock(&race->lock);
}

void race_report(struct sim_wave *w, const struct sim_inst *i, const struct race_suspect *s)
{
    char text[3][800];
    /* The older one's address: only the low half was kept, and a kernel's code is smaller than that. */
    uint64_t before = i->pc + (uint64_t)(int64_t)(int32_t)(s->before.pc - (uint32_t)i->pc);
    if (race_may_be_look(s->kind, s->before.kind)) {
        report_later(w, i, s, before);
    } else if (is_new(before, i->pc)) {
        write_report(w, i, s, before, text);
        say(text);
    }
}

void race_report_barrier(struct sim_wave *w, const struct sim_inst *i)
{
    const struct sim_run *run = w->group->run;
    char name[256], text[3][800];
    if (!is_new(i->pc, w->watch->lds_busy))
        return;
    snprintf(text[0], sizeof text[0], "%s on %s: the wave's LDS instructions are not waited for before a barrier",
             kernel_of(run, name, sizeof name), run->dispatch->card->name);
    write_place(w, i->pc, "barrier", w->watch->wave, NO_LANE, text[1], sizeof text[1]);
    write_place(w, w->watch->lds_busy, "the last of them", w->watch->wave, NO_LANE, text[2], sizeof text[2]);
    say(text);
}

/* ---- Loads and atomics ---- */

/* Its place in the table, or that of an empty one; NULL when it is full. */
static _Atomic uint32_t *look_at(struct race_run *race, uint32_t pc)
{
    uint32_t at = pc * 0x9e3779b1u;
    for (unsigned n = 0; n < 64; n++) {
        _Atomic uint32_t *p = &race->looks[(at + n) % RACE_LOOKS];
        if (*p == pc || !*p)
            return p;
    }
    return NULL;
}

void race_is_look(struct race_run *race, uint32_t pc)
{
    _Atomic uint32_t *p = look_at(race, pc);
    if (p && !*p)
        *p = pc;
}

void race_is_looked(const struct sim_watch *w, uint64_t cell)
{
    struct race_run *race = w->block->race;
    pthread_mutex_lock(&race->lock);
    for (const struct race_late *l = race->late; l; l = l->next)
        if (l->lds == w->block && l->cell == cell)
            race_is_look(race, l->load);
    pthread_mutex_unlock(&race->lock);
}

void race_report_late(struct race_run *race)
{
    while (race->late) {
        struct race_late *l = race->late;
        const _Atomic uint32_t *p = look_at(race, l->load);
        race->late = l->next;
        if (!(p && *p) && is_new(l->load, l->other))
            say(l->text);
        free(l);
    }
}
