/* The race detector's hooks: what instructions, waits and barriers do to what waves know of each other (race_clock.c), and
 * which memory is compared (race_shadow.c).  See race.h.
 *
 * What was written must be noted before it can be seen, and what is seen looked up after it was read, as other blocks run
 * meanwhile. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "race.h"

enum { NO_LANE = 255, WGP_MODE_BIT = 29 };

/* ---- Launches and blocks ---- */

bool sim_race_begin(struct sim_run *run)
{
    if (!sim_settings()->check_race)
        return true;
    struct race_run *race = calloc(1, sizeof *race);
    uint64_t n = run->shape.blocks * run->shape.waves_per_block;
    if (race && n < UINT32_MAX) {
        race->n_waves = n;
        race->waves = calloc(n, sizeof(struct sim_watch *));
        race->shadow = race_shadow_new();
        pthread_mutex_init(&race->lock, NULL);
    }
    run->race = race;
    if (race && race->waves && race->shadow)
        return true;
    sim_race_end(run);
    return false;
}

void sim_race_end(struct sim_run *run)
{
    struct race_run *race = run->race;
    if (!race)
        return;
    race_report_late(race);
    while (race->blocks) {
        struct race_block *b = race->blocks;
        race->blocks = b->next;
        for (unsigned k = 0; k < b->n_waves; k++)
            race_watch_fini(&b->waves[k]);
        for (size_t k = 0; b->lds && k < b->n_lds; k++)
            race_page_fini(&b->lds[k]);
        free(b->lds);
        free(b->stamps);
        pthread_mutex_destroy(&b->lock);
        free(b);
    }
    race_shadow_free(race->shadow);
    free(race->waves);
    free(race);
    run->race = NULL;
}

struct sim_watch *race_watch_of(struct race_run *race, uint32_t wave)
{
    return wave < race->n_waves ? __atomic_load_n(&race->waves[wave], __ATOMIC_ACQUIRE) : NULL;
}

/* All accesses of a block go through one pipeline when it runs on one compute unit: always, but for RDNA's mode of two. */
static bool is_one_way(const struct sim_run *run)
{
    return !(run->dispatch->card->major >= 10 && run->kernel.rsrc1 >> WGP_MODE_BIT & 1);
}

void sim_race_block(struct sim_group *g, uint64_t index)
{
    struct sim_run *run = g->run;
    struct race_run *race = run->race;
    if (!race)
        return;
    unsigned n = g->n_waves;
    struct race_block *b = calloc(1, sizeof *b + n * sizeof *b->waves);
    if (!b)
        return;
    b->n_lds = (g->lds_size + RACE_PAGE - 1) / RACE_PAGE;
    b->lds = calloc(b->n_lds ? b->n_lds : 1, sizeof *b->lds);
    b->stamps = calloc((size_t)n * n, sizeof *b->stamps);
    if (!b->lds || !b->stamps) {
        free(b->lds);
        free(b->stamps);
        free(b);
        return;
    }
    pthread_mutex_init(&b->lock, NULL);
    b->race = race;
    b->run = run;
    b->n_waves = n;
    b->first_wave = (uint32_t)(index * run->shape.waves_per_block);
    b->one_way = is_one_way(run);
    for (unsigned k = 0; k < n; k++) {
        struct sim_watch *w = &b->waves[k];
        w->block = b;
        w->wave = b->first_wave + k;
        w->index = k;
        w->mates = b->stamps + (size_t)k * n;
        g->waves[k].watch = w;
        __atomic_store_n(&race->waves[w->wave], w, __ATOMIC_RELEASE);
    }
    pthread_mutex_lock(&race->lock);
    b->next = race->blocks;
    race->blocks = b;
    pthread_mutex_unlock(&race->lock);
}

void sim_race_block_end(struct sim_group *g)
{
    struct race_block *b = g->n_waves && g->waves[0].watch ? g->waves[0].watch->block : NULL;
    for (size_t k = 0; b && k < b->n_lds; k++)
        race_page_fini(&b->lds[k]);
    if (b) {
        free(b->lds);
        b->lds = NULL;
    }
}

void sim_race_barrier(struct sim_group *g)
{
    if (g->waves[0].watch)
        race_meet(g->waves[0].watch->block);
}

/* ---- Waits ---- */

static void queue_push(struct race_queue *q, uint32_t number)
{
    if (q->issued - q->done == RACE_QUEUE) /* no counter counts that far: the wave was held up until one was done */
        q->done++;
    q->number[q->issued++ % RACE_QUEUE] = number;
}

static void queue_wait(struct race_queue *q, unsigned left)
{
    if (q->issued - q->done > left)
        q->done = q->issued - left;
}

void sim_race_wait(struct sim_wave *w, unsigned vm, unsigned lgkm, unsigned vs)
{
    struct sim_watch *t = w->watch;
    if (!t)
        return;
    queue_wait(&t->loads, vm);
    queue_wait(&t->stores, vs);
    t->lds_busy = lgkm ? t->lds_busy : 0;
    t->waited |= !vm || !vs;
}

void sim_race_invalidate(struct sim_wave *w, bool beyond)
{
    if (w->watch && beyond)
        race_acquire(w->watch);
}

void sim_race_at_barrier(struct sim_wave *w, const struct sim_inst *i)
{
    if (w->watch && w->watch->lds_busy)
        race_report_barrier(w, i);
}

/* ---- Around each instruction ---- */

void sim_race_before(struct sim_wave *w, const struct sim_inst *i)
{
    struct sim_watch *t = w->watch;
    bool loads = i->n_results != 0;
    switch (i->cls) {
    case SIM_VMEM_ATOMIC:
        loads = i->glc;
        break;
    case SIM_VMEM_LOAD: case SIM_VMEM_STORE: case SIM_SCRATCH: case SIM_IMAGE:
        break;
    case SIM_LDS:
        t->lds_busy = i->pc;
        t->number++;
        return;
    case SIM_SMEM:
        t->number++;
        return;
    default:
        return;
    }
    t->number++;
    queue_push(loads || w->card->major < 10 ? &t->loads : &t->stores, t->number);
}

static bool is_store(unsigned kind)
{
    return kind == RACE_STORE || kind == RACE_RELEASE;
}

/* Page and cell of an address. */
static struct race_page *enter(struct sim_watch *t, uint64_t address, bool lds)
{
    uint64_t number = address / RACE_PAGE;
    if (!lds)
        return race_page_enter(t->block->race->shadow, number);
    return t->block->lds && number < t->block->n_lds ? &t->block->lds[number] : NULL;
}

static void leave(struct race_page *p, bool lds)
{
    if (!lds)
        race_page_leave(p);
}

/* What the atomics of this instruction saw. */
static void look(struct sim_watch *t)
{
    for (unsigned k = 0; k < t->n_seen; k++) {
        const struct race_seen *s = &t->seen[k];
        struct race_page *p = enter(t, s->address, s->lds);
        if (!p)
            continue;
        race_sync_look(t, p, s->address / RACE_CELL % RACE_CELLS);
        leave(p, s->lds);
    }
    t->n_seen = 0;
}

void sim_race_after(struct sim_wave *w, const struct sim_inst *i)
{
    struct sim_watch *t = w->watch;
    for (unsigned k = 0; k < t->n_suspects; k++) {
        const struct race_suspect *s = &t->suspects[k];
        /* Several that store the same mean it: one of them wins. */
        bool same = is_store(s->kind) && is_store(s->before.kind) && s->size <= sizeof s->old && !memcmp(s->at, s->old, s->size);
        if (!same)
            race_report(w, i, s);
    }
    t->n_suspects = 0;
    if (t->n_seen)
        look(t);
    if (i->cls != SIM_WAIT)
        t->waited = false;
}

/* ---- Accesses ---- */

static void see(struct sim_watch *t, uint64_t address, bool lds)
{
    if (t->n_seen && t->seen[t->n_seen - 1].address == address && t->seen[t->n_seen - 1].lds == lds)
        return;
    if (t->n_seen < sizeof t->seen / sizeof *t->seen)
        t->seen[t->n_seen++] = (struct race_seen){ address, lds };
}

/* True when what the cell held is seen, so that what came before it may be known to have been. */
static bool touch_cell(const struct race_access *a, struct race_page *p, unsigned cell, uint8_t mask, uint64_t number)
{
    const struct race_sync *s = p->sync ? p->sync[cell] : NULL;
    struct race_access atomic = *a;
    if (a->kind == RACE_STORE && s && s->shared && a->size <= 8) {
        atomic.kind = RACE_RELEASE;
        a = &atomic;
    }
    if (a->kind == RACE_COHERENT)
        race_cell_share(p, cell, mask);
    bool looks = race_cell_touch(a, &p->cells[cell], number * RACE_CELL, mask, s, a->lds && s && s->looked);
    bool returns = a->kind == RACE_ATOMIC && a->returns;
    if (a->kind == RACE_ATOMIC)
        race_sync_add(p, cell, a->w);
    struct race_sync *now = p->sync ? p->sync[cell] : NULL;
    if (a->lds && now && !now->looked && (looks || returns)) {
        now->looked = true;
        race_is_looked(a->w, number);
    }
    return returns || a->kind == RACE_COHERENT || (a->lds && a->kind == RACE_LOAD && now);
}

/* The cells of an access; `held` is the page that the last one was in, or NULL. */
static struct race_page *touch(const struct race_access *a, struct race_page *held)
{
    for (uint64_t at = a->address, end = at + (uint64_t)a->size * a->n; at < end;) {
        unsigned cell = at / RACE_CELL % RACE_CELLS, first = at % RACE_CELL;
        unsigned n = end - at < RACE_CELL - first ? (unsigned)(end - at) : RACE_CELL - first;
        if (a->lds || !held || held->number != at / RACE_PAGE) {
            if (held)
                leave(held, a->lds);
            held = enter(a->w, at, a->lds);
        }
        if (held && touch_cell(a, held, cell, (uint8_t)(((1u << n) - 1) << first), at / RACE_CELL))
            see(a->w, at, a->lds);
        at += n;
    }
    return held;
}

/* Does the access go past the caches that other compute units do not share? */
static bool is_coherent(const struct sim_wave *w, const struct sim_inst *i)
{
    if (w->card->major >= 12)
        return i->scope >= SIM_SCOPE_DEV;
    if (w->card->major == 9 && w->card->minor == 4) /* gfx940's sc1, which is where dlc is, says so alone */
        return i->dlc;
    /* On gfx11 dlc says something else: glc goes past all caches that are not shared. */
    return i->glc && (i->dlc || w->card->major != 10);
}

/* Is the instruction behind `i` a wait for all stores? */
static bool is_waited_for(struct sim_wave *w, const struct sim_inst *i)
{
    const struct sim_inst *next = __atomic_load_n(&i->follow, __ATOMIC_ACQUIRE);
    if (!next && !(next = sim_decode(w, i->pc + i->size)))
        return false;
    if (w->card->major >= 12)
        return (!strcmp(next->op->name, "s_wait_storecnt") && !(next->simm & 63)) ||
               (!strcmp(next->op->name, "s_wait_storecnt_dscnt") && !(next->simm >> 8 & 63));
    if (w->card->major >= 10)
        return !strcmp(next->op->name, "s_waitcnt_vscnt") && !next->simm;
    return !strcmp(next->op->name, "s_waitcnt") && !(next->simm & 0xc00f);
}

/* Do stores say whether they go past the caches? */
static bool marks_stores(const struct sim_card *card)
{
    return card->major >= 12 || (card->major == 9 && card->minor == 4);
}

static enum race_kind kind_of(struct sim_wave *w, const struct sim_inst *i, enum sim_access kind, unsigned size)
{
    if (kind == SIM_ATOMIC)
        return RACE_ATOMIC;
    if (kind == SIM_LOAD)
        return is_coherent(w, i) ? RACE_COHERENT : RACE_LOAD;
    return size <= 8 && ((marks_stores(w->card) && is_coherent(w, i)) || w->watch->waited || is_waited_for(w, i)) ? RACE_RELEASE
                                                                                                                  : RACE_STORE;
}

/* How many lanes from `l` on are live and access bytes that follow each other. */
static unsigned run_of(const uint64_t *address, unsigned size, uint64_t live, unsigned l)
{
    unsigned n = 1;
    while (l + n < 64 && live >> (l + n) & 1 && address[l + n] == address[l] + (uint64_t)n * size)
        n++;
    return n;
}

void sim_race_memory(struct sim_wave *w, const struct sim_inst *i, enum sim_access kind, unsigned size, uint64_t live,
                     const uint64_t *address, char *const *at)
{
    struct sim_watch *t = w->watch;
    char *lds_at = (char *)w->group->lds;
    struct race_access a = { .w = t, .size = size, .kind = kind_of(w, i, kind, size), .returns = i->glc, .pc = (uint32_t)i->pc };
    struct race_page *held = NULL;
    if (kind == SIM_ATOMIC || (kind == SIM_STORE && size <= 8))
        race_give(t);
    for (unsigned l = 0; l < w->lanes; l += a.n) {
        a.n = 1;
        if (!(live >> l & 1) || (l && live >> (l - 1) & 1 && address[l] == address[l - 1])) /* the same again says nothing new */
            continue;
        uint64_t space = address[l] >> 48 << 48;
        bool lds = space == SIM_LDS_APERTURE;
        if (space == SIM_SCRATCH_APERTURE)
            continue;
        if (lds != a.lds && held) {
            leave(held, a.lds);
            held = NULL;
        }
        a.n = run_of(address, size, live, l);
        a.lds = lds;
        a.address = lds ? address[l] - SIM_LDS_APERTURE : address[l];
        a.lane = (uint8_t)l;
        a.at = lds ? &lds_at : at + l;
        held = touch(&a, held);
    }
    if (held)
        leave(held, a.lds);
}

void sim_race_lds(struct sim_wave *w, const struct sim_inst *i, enum sim_access kind, unsigned size, uint64_t live,
                  const uint32_t *address)
{
    char *lds_at = (char *)w->group->lds;
    struct race_access a = { .w = w->watch, .size = size, .n = 1, .lds = true, .returns = i->n_results != 0,
                             .pc = (uint32_t)i->pc,
                             .at = &lds_at,
                             .kind = kind == SIM_ATOMIC ? RACE_ATOMIC : kind == SIM_LOAD ? RACE_LOAD : RACE_STORE };
    if (kind == SIM_ATOMIC)
        race_give(w->watch);
    for (unsigned l = 0; l < w->lanes; l += a.n) {
        a.n = 1;
        if (!(live >> l & 1) || (l && live >> (l - 1) & 1 && address[l] == address[l - 1]))
            continue;
        a.address = address[l];
        a.lane = (uint8_t)l;
        while (l + a.n < w->lanes && live >> (l + a.n) & 1 && address[l + a.n] == address[l] + a.n * size)
            a.n++;
        touch(&a, NULL);
    }
}

void sim_race_scalar(struct sim_wave *w, const struct sim_inst *i, enum sim_access kind, unsigned size, uint64_t address,
                     char *at)
{
    struct race_access a = { .w = w->watch, .address = address, .size = size, .n = 1, .lane = NO_LANE, .returns = i->glc,
                             .pc = (uint32_t)i->pc, .at = &at,
                             .kind = kind == SIM_ATOMIC ? RACE_ATOMIC : kind == SIM_LOAD ? RACE_LOAD : RACE_STORE };
    if (kind != SIM_LOAD)
        race_give(w->watch);
    struct race_page *held = touch(&a, NULL);
    if (held)
        leave(held, false);
}
