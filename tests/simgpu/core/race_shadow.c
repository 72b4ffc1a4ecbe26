/* The last accesses to each eight bytes of memory, four of them: those that came later are told from these.  When a fifth comes
 * that says nothing about one of them, one goes, a load if there is one. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "race.h"

enum { SHARDS = 64, CACHED = 256, SPARES = 16384 /* pages kept for later launches */ };

struct shard {
    pthread_mutex_t lock;
    struct race_page **buckets; /* owned */
    size_t n_buckets, n;
};

struct race_shadow {
    uint64_t id;               /* never the same in a process */
    struct shard shards[SHARDS];
};

/* ---- Pages ---- */

static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;
static struct race_page *spares;
static unsigned n_spares;

/* Empty: fresh memory costs more than what is cleared. */
static struct race_page *page_new(void)
{
    pthread_mutex_lock(&spare_lock);
    struct race_page *p = spares;
    if (p) {
        spares = p->next;
        n_spares--;
    }
    pthread_mutex_unlock(&spare_lock);
    if (!p)
        return calloc(1, sizeof *p);
    memset(p, 0, sizeof *p);
    return p;
}

static void page_free(struct race_page *p)
{
    race_page_fini(p);
    pthread_mutex_lock(&spare_lock);
    bool keep = n_spares < SPARES;
    if (keep) {
        p->next = spares;
        spares = p;
        n_spares++;
    }
    pthread_mutex_unlock(&spare_lock);
    if (!keep)
        free(p);
}

struct race_shadow *race_shadow_new(void)
{
    static _Atomic uint64_t ids;
    struct race_shadow *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->id = ++ids;
    for (unsigned k = 0; k < SHARDS; k++)
        pthread_mutex_init(&s->shards[k].lock, NULL);
    return s;
}

void race_page_fini(struct race_page *p)
{
    for (unsigned k = 0; p->sync && k < RACE_CELLS; k++)
        free(p->sync[k]);
    free(p->sync);
}

void race_shadow_free(struct race_shadow *s)
{
    for (unsigned k = 0; s && k < SHARDS; k++) {
        struct shard *shard = &s->shards[k];
        for (size_t i = 0; i < shard->n_buckets; i++) {
            while (shard->buckets[i]) {
                struct race_page *p = shard->buckets[i];
                shard->buckets[i] = p->next;
                page_free(p);
            }
        }
        free(shard->buckets);
        pthread_mutex_destroy(&shard->lock);
    }
    free(s);
}

static uint64_t hash(uint64_t number)
{
    number *= 0x9e3779b97f4a7c15ull;
    return number ^ number >> 29;
}

static void shard_grow(struct shard *s)
{
    size_t n = s->n_buckets ? 2 * s->n_buckets : 16;
    struct race_page **to = calloc(n, sizeof(struct race_page *));
    if (!to)
        return;
    for (size_t i = 0; i < s->n_buckets; i++) {
        while (s->buckets[i]) {
            struct race_page *p = s->buckets[i];
            s->buckets[i] = p->next;
            struct race_page **at = &to[hash(p->number) / SHARDS % n];
            p->next = *at;
            *at = p;
        }
    }
    free(s->buckets);
    s->buckets = to;
    s->n_buckets = n;
}

static struct race_page *shard_find(struct shard *s, uint64_t number)
{
    if (s->n >= s->n_buckets)
        shard_grow(s);
    if (!s->n_buckets)
        return NULL;
    struct race_page **at = &s->buckets[hash(number) / SHARDS % s->n_buckets], *p = *at;
    while (p && p->number != number)
        p = p->next;
    if (!p && (p = page_new())) {
        p->number = number;
        p->next = *at;
        *at = p;
        s->n++;
    }
    return p;
}

static void lock(atomic_flag *busy)
{
    for (unsigned n = 0; atomic_flag_test_and_set_explicit(busy, memory_order_acquire); n++)
        if (n > 100)
            sched_yield();
}

/* Pages stay where they are until the launch ends, so that those found lately need no look-up. */
struct race_page *race_page_enter(struct race_shadow *s, uint64_t number)
{
    static _Thread_local struct { uint64_t id, number; struct race_page *page; } cache[CACHED];
    unsigned slot = number % CACHED;
    struct race_page *p = cache[slot].page;
    if (cache[slot].id != s->id || cache[slot].number != number) {
        struct shard *shard = &s->shards[hash(number) % SHARDS];
        pthread_mutex_lock(&shard->lock);
        p = shard_find(shard, number);
        pthread_mutex_unlock(&shard->lock);
        if (!p)
            return NULL;
        cache[slot].id = s->id;
        cache[slot].number = number;
        cache[slot].page = p;
    }
    lock(&p->busy);
    return p;
}

void race_page_leave(struct race_page *p)
{
    atomic_flag_clear_explicit(&p->busy, memory_order_release);
}

/* ---- Cells ---- */

/* With which kinds each is in conflict when nothing orders the two. */
#define BIT(kind) (1u << (kind))
static const uint8_t conflicts[] = {
    [RACE_LOAD] = BIT(RACE_STORE) | BIT(RACE_RELEASE) | BIT(RACE_ATOMIC),
    [RACE_COHERENT] = 0,
    [RACE_STORE] = BIT(RACE_LOAD) | BIT(RACE_STORE) | BIT(RACE_RELEASE) | BIT(RACE_ATOMIC),
    [RACE_RELEASE] = BIT(RACE_LOAD) | BIT(RACE_STORE),
    [RACE_ATOMIC] = BIT(RACE_LOAD) | BIT(RACE_STORE),
};

static bool conflict(enum race_kind a, enum race_kind b)
{
    return conflicts[a] >> b & 1;
}

/* Which of its lanes accesses the lowest byte of `mask`, in the cell for `address`? */
static unsigned lane_of(const struct race_access *a, uint64_t address, unsigned mask)
{
    uint64_t byte = address + (unsigned)__builtin_ctz(mask);
    return a->n == 1 ? 0 : (unsigned)(byte - a->address) / a->size;
}

static void suspect(const struct race_access *a, const struct race_record *r, uint64_t address, unsigned mask, bool unfinished)
{
    struct sim_watch *w = a->w;
    for (unsigned k = 0; k < w->n_suspects; k++)
        if (w->suspects[k].before.pc == r->pc && w->suspects[k].before.kind == r->kind && k >= RACE_SUSPECTS / 2)
            return;
    if (w->n_suspects == RACE_SUSPECTS)
        return;
    unsigned lane = lane_of(a, address, mask & r->mask);
    struct race_suspect *s = &w->suspects[w->n_suspects++];
    *s = (struct race_suspect){ .before = *r, .kind = a->kind, .lane = (uint8_t)(a->lane + lane), .size = (uint8_t)a->size,
                                .lds = a->lds,
                                .unfinished = unfinished, .address = a->address + (uint64_t)lane * a->size };
    s->at = a->lds ? *a->at + s->address : a->at[lane];
    if (a->size <= sizeof s->old)
        memcpy(s->old, s->at, a->size);
}

/* Whoever conflicts with the old one conflicts with the new one as well. */
static bool stands_for(enum race_kind new, enum race_kind old)
{
    return (conflicts[old] & ~conflicts[new]) == 0;
}

/* The place for the new record: that of one it stands for, an empty one, or that of a load or any other. */
static struct race_record *place(struct sim_watch *w, struct race_cell *c)
{
    struct race_record *any = &c->r[w->victim++ % RACE_RECORDS];
    for (unsigned k = 0; k < RACE_RECORDS; k++)
        if (!c->r[k].number)
            return &c->r[k];
    for (unsigned k = 0; k < RACE_RECORDS; k++)
        if (c->r[(w->victim + k) % RACE_RECORDS].kind == RACE_LOAD)
            return &c->r[(w->victim + k) % RACE_RECORDS];
    return any;
}

/* The wave's own earlier access to the cell may show that a load is only a look at what others change by atomics: an atomic
 * follows that returns what it found (compare and swap begins so), or where there are atomics, it is done again without a
 * barrier between. */
static bool is_look(const struct race_access *a, const struct race_record *r, bool atomics)
{
    return r->kind == RACE_LOAD && ((a->kind == RACE_ATOMIC && a->returns) ||
                                    (a->kind == RACE_LOAD && atomics && r->number > a->w->met && r->number != a->w->number));
}

bool race_may_be_look(enum race_kind a, enum race_kind b)
{
    return (a == RACE_LOAD && b == RACE_ATOMIC) || (a == RACE_ATOMIC && b == RACE_LOAD);
}

bool race_cell_touch(const struct race_access *a, struct race_cell *c, uint64_t address, uint8_t mask, bool atomics, bool looked)
{
    bool looks = false;
    struct sim_watch *w = a->w;
    struct race_record *own = NULL;
    for (unsigned k = 0; k < RACE_RECORDS; k++) {
        struct race_record *r = &c->r[k];
        if (!r->number)
            continue;
        bool mine = r->wave == w->wave, unfinished = false, before = mine;
        if (mine && r->number == w->number && r->kind == a->kind) {
            own = r;
            continue;
        }
        if (!(r->mask & mask))
            continue;
        if (mine && is_look(a, r, atomics)) {
            race_is_look(w->block->race, r->pc);
            looks = true;
            r->number = a->kind == RACE_ATOMIC ? 0 : r->number;
        }
        if (!mine && ((r->mask & ~mask) == 0 || conflict(a->kind, r->kind)))
            before = race_is_before(w, r, a->lds, a->kind == RACE_LOAD, &unfinished);
        if (!before && looked && race_may_be_look(a->kind, r->kind))
            race_is_look(w->block->race, a->kind == RACE_LOAD ? a->pc : r->pc);
        else if (!before && conflict(a->kind, r->kind))
            suspect(a, r, address, mask, unfinished);
        if (before && (r->mask & ~mask) == 0 && stands_for(a->kind, r->kind))
            r->number = 0;
    }
    if (a->kind == RACE_COHERENT)
        return looks;
    if (own) {
        own->mask |= mask;
        return looks;
    }
    uint8_t lane = (uint8_t)(a->lane + lane_of(a, address, mask));
    *place(w, c) = (struct race_record){ w->wave, w->number, a->pc, mask, (uint8_t)a->kind, lane };
    return looks;
}

/* ---- What atomics pass on ---- */

static bool has_sync(struct race_page *p)
{
    return p->sync || (p->sync = calloc(RACE_CELLS, sizeof(struct race_sync *)));
}

void race_cell_share(struct race_page *p, unsigned cell, uint8_t mask)
{
    if (!has_sync(p) || (!p->sync[cell] && !(p->sync[cell] = calloc(1, sizeof *p->sync[cell]))))
        return;
    p->sync[cell]->shared = true;
    for (unsigned k = 0; k < RACE_RECORDS; k++)
        if (p->cells[cell].r[k].mask & mask && p->cells[cell].r[k].kind == RACE_STORE)
            p->cells[cell].r[k].kind = RACE_RELEASE;
}

void race_sync_add(struct race_page *p, unsigned cell, const struct sim_watch *w)
{
    if (!has_sync(p))
        return;
    struct race_sync *s = p->sync[cell];
    uint32_t at = s ? s->n : 0;
    while (at && s->e[at - 1].wave != w->wave)
        at--;
    if (at) {
        memmove(s->e + at - 1, s->e + at, (s->n - at) * sizeof *s->e);
        s->n--;
    } else if (!s || s->n == s->room) {
        uint32_t room = s && s->room ? 2 * s->room : 2;
        struct race_sync *more = realloc(s, sizeof *s + room * sizeof *s->e);
        if (!more)
            return;
        if (!s)
            *more = (struct race_sync){ 0 };
        more->room = room;
        p->sync[cell] = s = more;
    }
    s->e[s->n++] = (struct race_touch){ w->wave, w->number, false };
}

void race_sync_look(struct sim_watch *w, struct race_page *p, unsigned cell)
{
    struct race_sync *s = p->sync ? p->sync[cell] : NULL;
    struct race_touch *own = NULL;
    for (uint32_t k = s ? s->n : 0; k--;) {
        struct race_touch *t = &s->e[k];
        race_learn(w, t->wave, t->number);
        own = t->wave == w->wave && t->number == w->number ? t : own;
        if (t->passes_on)
            break;
    }
    for (unsigned k = 0; k < RACE_RECORDS; k++) {
        const struct race_record *r = &p->cells[cell].r[k];
        if (r->number && (r->kind == RACE_STORE || r->kind == RACE_RELEASE))
            race_learn(w, r->wave, r->number);
    }
    if (own) {
        race_give(w);
        own->passes_on = true;
    }
}
