/* What waves know of each other's accesses: sets of numbers, one for each wave that was heard of. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "race.h"

/* ---- Clocks ---- */

static struct race_clock *clock_new(size_t room)
{
    struct race_clock *c = malloc(sizeof *c + room * sizeof *c->e);
    if (c) {
        c->refs = 1;
        c->n = 0;
    }
    return c;
}

static struct race_clock *clock_get(struct race_clock *c)
{
    if (c)
        c->refs++;
    return c;
}

void race_clock_put(struct race_clock *c)
{
    if (c && --c->refs == 0)
        free(c);
}

static void raise_stamp(struct race_stamp *s, struct race_stamp by)
{
    s->done = by.done > s->done ? by.done : s->done;
    s->issued = by.issued > s->issued ? by.issued : s->issued;
}

static const struct race_entry *clock_find(const struct race_clock *c, uint32_t wave)
{
    size_t lo = 0, hi = c ? c->n : 0;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (c->e[mid].wave < wave)
            lo = mid + 1;
        else
            hi = mid;
    }
    return c && lo < c->n && c->e[lo].wave == wave ? &c->e[lo] : NULL;
}

/* Is there more in `n` ascending entries than in `c`? */
static bool has_news(const struct race_clock *c, const struct race_entry *e, size_t n, const struct race_block *without)
{
    size_t at = 0, n_old = c ? c->n : 0;
    for (size_t i = 0; i < n; i++) {
        if (without && race_is_mate(without, e[i].wave))
            continue;
        const struct race_entry *have = NULL;
        if (n < n_old / 16) { /* a few looked up are quicker than all gone through */
            have = clock_find(c, e[i].wave);
        } else {
            while (at < n_old && c->e[at].wave < e[i].wave)
                at++;
            have = at < n_old && c->e[at].wave == e[i].wave ? &c->e[at] : NULL;
        }
        if (!have || have->upto.done < e[i].upto.done || have->upto.issued < e[i].upto.issued)
            return true;
    }
    return false;
}

/* Adds `n` ascending entries to *c, leaving out the waves of `without`, which may be NULL.  What was there stays when memory is
 * short. */
static void clock_join(struct race_clock **c, const struct race_entry *e, size_t n, const struct race_block *without)
{
    struct race_clock *old = *c;
    struct race_clock *to = has_news(old, e, n, without) ? clock_new((old ? old->n : 0) + n) : NULL;
    if (!to)
        return;
    size_t a = 0, b = 0, n_old = old ? old->n : 0;
    while (a < n_old || b < n) {
        if (b < n && without && race_is_mate(without, e[b].wave)) {
            b++;
        } else if (b == n || (a < n_old && old->e[a].wave < e[b].wave)) {
            to->e[to->n++] = old->e[a++];
        } else {
            bool both = a < n_old && old->e[a].wave == e[b].wave;
            to->e[to->n] = e[b++];
            if (both)
                raise_stamp(&to->e[to->n].upto, old->e[a++].upto);
            to->n++;
        }
    }
    race_clock_put(old);
    *c = to;
}

/* ---- A wave ---- */

static void changed(struct sim_watch *w)
{
    race_clock_put(w->others);
    w->others = NULL;
}

struct race_stamp race_own(const struct sim_watch *w)
{
    struct race_stamp s = { w->number, w->number };
    const struct race_queue *q[] = { &w->loads, &w->stores };
    for (int k = 0; k < 2; k++) {
        if (q[k]->done < q[k]->issued) {
            uint32_t oldest = q[k]->number[q[k]->done % RACE_QUEUE];
            s.done = oldest - 1 < s.done ? oldest - 1 : s.done;
        }
    }
    return s;
}

bool race_is_before(const struct sim_watch *w, const struct race_record *r, bool lds, bool load, bool *ret_unfinished)
{
    struct race_stamp s = { 0 };
    bool mate = race_is_mate(w->block, r->wave);
    if (mate) {
        s = w->mates[r->wave - w->block->first_wave];
    } else {
        const struct race_entry *e = clock_find(load ? w->fresh : w->far, r->wave);
        s = e ? e->upto : s;
    }
    *ret_unfinished = r->number <= s.issued;
    return r->number <= (lds || (mate && w->block->one_way) ? s.issued : s.done);
}

/* What it knows of its block's waves and of others, in one. */
static struct race_clock *all_others(struct sim_watch *w)
{
    const struct race_block *b = w->block;
    if (w->others)
        return w->others;
    struct race_clock *mates = clock_new(b->n_waves);
    for (unsigned k = 0; mates && k < b->n_waves; k++)
        if (k != w->index && w->mates[k].issued)
            mates->e[mates->n++] = (struct race_entry){ b->first_wave + k, w->mates[k] };
    w->others = mates;
    if (w->far && mates)
        clock_join(&w->others, w->far->e, w->far->n, NULL);
    return w->others;
}

void race_give(struct sim_watch *w)
{
    struct race_stamp own = race_own(w);
    own.done = own.done >= w->number - 1 ? RACE_ALL : own.done;
    struct race_clock *others = all_others(w);
    const struct race_given *last = w->n_given ? &w->given[w->n_given - 1] : NULL;
    if (last && last->done == own.done && last->others == others)
        return;
    pthread_mutex_lock(&w->block->lock);
    if (w->n_given == w->given_room) {
        size_t room = w->given_room ? 2 * w->given_room : 4;
        struct race_given *more = realloc(w->given, room * sizeof *more);
        if (more)
            w->given = more, w->given_room = room;
    }
    if (w->n_given < w->given_room)
        w->given[w->n_given++] = (struct race_given){ w->number, own.done, clock_get(others) };
    pthread_mutex_unlock(&w->block->lock);
}

/* What the wave passed on at `number`; the clock is the caller's. */
static struct race_given given_at(struct sim_watch *from, uint32_t number)
{
    struct race_given g = { 0 };
    pthread_mutex_lock(&from->block->lock);
    size_t lo = 0, hi = from->n_given;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (from->given[mid].at <= number)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo) {
        g = from->given[lo - 1];
        g.done = g.done == RACE_ALL ? number : g.done; /* what is heard of has been done itself */
        clock_get(g.others);
    }
    pthread_mutex_unlock(&from->block->lock);
    return g;
}

static void learn_entries(struct sim_watch *w, const struct race_entry *e, size_t n)
{
    const struct race_block *b = w->block;
    for (size_t i = 0; i < n; i++)
        if (race_is_mate(b, e[i].wave))
            raise_stamp(&w->mates[e[i].wave - b->first_wave], e[i].upto);
    clock_join(&w->far, e, n, b);
    changed(w);
}

void race_learn(struct sim_watch *w, uint32_t wave, uint32_t number)
{
    struct sim_watch *from = race_watch_of(w->block->race, wave);
    if (!from || from == w)
        return;
    const struct race_entry *known = race_is_mate(w->block, wave) ? NULL : clock_find(w->far, wave);
    uint32_t have = race_is_mate(w->block, wave) ? w->mates[wave - w->block->first_wave].issued : known ? known->upto.issued : 0;
    if (have >= number) /* and with it what was passed on then */
        return;
    struct race_given g = given_at(from, number);
    struct race_entry own = { wave, { g.done, number } };
    learn_entries(w, &own, 1);
    if (g.others)
        learn_entries(w, g.others->e, g.others->n);
    race_clock_put(g.others);
}

void race_acquire(struct sim_watch *w)
{
    race_clock_put(w->fresh);
    w->fresh = clock_get(w->far);
}

/* One clock that has all of both. */
static void join_into(struct race_clock **c, struct race_clock *more)
{
    if (!*c)
        *c = clock_get(more);
    else if (more && more != *c)
        clock_join(c, more->e, more->n, NULL);
}

void race_meet(struct race_block *b)
{
    struct race_clock *far = NULL, *fresh = NULL;
    struct race_stamp *all = b->waves[0].mates;
    for (unsigned k = 0; k < b->n_waves; k++) {
        struct sim_watch *w = &b->waves[k];
        w->mates[k] = race_own(w);
        for (unsigned j = 0; j < b->n_waves; j++)
            raise_stamp(&all[j], w->mates[j]);
        join_into(&far, w->far);
        join_into(&fresh, w->fresh);
    }
    for (unsigned k = 0; k < b->n_waves; k++) {
        struct sim_watch *w = &b->waves[k];
        if (k)
            memcpy(w->mates, all, b->n_waves * sizeof *all);
        race_clock_put(w->far);
        race_clock_put(w->fresh);
        w->far = clock_get(far);
        w->fresh = clock_get(fresh);
        w->met = w->number;
        changed(w);
    }
    race_clock_put(far);
    race_clock_put(fresh);
}

void race_watch_fini(struct sim_watch *w)
{
    race_clock_put(w->far);
    race_clock_put(w->fresh);
    race_clock_put(w->others);
    for (size_t i = 0; i < w->n_given; i++)
        race_clock_put(w->given[i].others);
    free(w->given);
}
