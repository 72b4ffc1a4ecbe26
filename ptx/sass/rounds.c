/* Lanes that come to one place of the code in different rounds of a loop.
 *
 * Lanes of one round are together where their ways meet, at the latest where the round ends.  So an operation for lanes of a mask
 * is come to in turn only where they part: one side of a branch leads to it in this round, another does not but comes to it in a
 * later one.  What the latter may not come by is a barrier of the block, or a wait for all of the warp, elsewhere: those wait for
 * the lanes that are at the operation.
 *
 * Loops are known by an order of the code in which only their last ways lead back.  Calls of functions are passed over. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sass/lift.h"

enum {
    SOON = 1,   /* control comes to the operation in this round of the loop that is looked at */
    LATER = 2,  /* ... in this one or another */
    BEHIND = 4, /* it comes here from the operation */
};

struct sass_rounds {
    struct sass_lift *l;
    uint32_t *place;        /* in the order of the walk, from 1 on; 0: not reached */
    uint32_t *first, *from; /* what leads to instruction k: from[first[k]] up to from[first[k + 1]] */
    uint32_t *stack;
    uint8_t *comes;         /* SOON, LATER: to the operation that is looked at */
    uint32_t *heads, n_heads; /* where something leads back to */
    uint32_t *soon, n_soon; /* what has SOON */
};

/* Offsets of where control goes from an instruction. */
struct ways {
    const uint32_t *to;
    uint32_t n, own[2];
};

static void ways_of(const struct sass_lift *l, const struct sass_insn *i, struct ways *ret)
{
    uint32_t called;
    bool jumps = sass_call_jumps(l, i, &called);
    ret->n = 0;
    ret->to = i->op == SASS_BRX || i->op == SASS_BRXU ? sass_indirect_targets(l, i->offset, &ret->n) : NULL;
    if (ret->to)
        return;
    ret->to = ret->own;
    if (i->op == SASS_BRA && i->opnd[SASS_J].kind == SASS_TARGET)
        ret->own[ret->n++] = (uint32_t)i->opnd[SASS_J].value;
    if (jumps)
        ret->own[ret->n++] = called * SASS_INSN_SIZE;
    if (!sass_never_falls(l, i) && !(jumps && !sass_guarded(i)))
        ret->own[ret->n++] = i->offset + SASS_INSN_SIZE;
}

static bool is_back(const struct sass_rounds *r, uint32_t at, uint32_t to)
{
    return r->place[at] >= r->place[to];
}

/* ---- The order of a walk: an instruction comes before those that it leads to, unless it closes a loop */

/* Numbers are given from the last one down, as instructions are left. */
static void order(struct sass_rounds *r, uint32_t *way)
{
    struct sass_lift *l = r->l;
    uint32_t n = 1, next = l->n;
    r->stack[0] = 0;
    r->comes[0] = 1; /* while this is made: entered */
    while (n) {
        uint32_t k = r->stack[n - 1], to;
        struct ways w;
        ways_of(l, &l->insns[k], &w);
        if (way[k] == w.n) {
            r->place[k] = next--;
            n--;
        } else if (sass_target_index(l, w.to[way[k]++], &to) && !r->comes[to]) {
            r->comes[to] = 1;
            r->stack[n++] = to;
        }
    }
}

static void reverse(struct sass_rounds *r)
{
    struct sass_lift *l = r->l;
    for (unsigned fill = 0; fill < 2; fill++) {
        for (uint32_t k = 0; k < l->n; k++) {
            struct ways w;
            uint32_t to;
            ways_of(l, &l->insns[k], &w);
            for (uint32_t j = 0; j < w.n && r->place[k]; j++)
                if (sass_target_index(l, w.to[j], &to)) {
                    if (fill)
                        r->from[--r->first[to]] = k;
                    else
                        r->first[to]++;
                }
        }
        for (uint32_t k = 0; k < l->n && !fill; k++)
            r->first[k + 1] += r->first[k];
        if (!fill && !(r->from = AW_NEW_ARRAY(&l->arena, uint32_t, r->first[l->n] + 1)))
            return;
    }
}

static void find_heads(struct sass_rounds *r)
{
    for (uint32_t at = 0; at < r->l->n; at++) {
        bool back = false;
        for (uint32_t j = r->first[at]; j < r->first[at + 1] && !back; j++)
            back = is_back(r, r->from[j], at);
        if (back)
            r->heads[r->n_heads++] = at;
    }
}

static struct sass_rounds *create(struct sass_lift *l)
{
    struct sass_rounds *r = AW_NEW(&l->arena, struct sass_rounds);
    uint32_t *way = AW_NEW_ARRAY(&l->arena, uint32_t, l->n + 1);
    if (r && way) {
        *r = (struct sass_rounds){ .l = l, .place = AW_NEW_ARRAY(&l->arena, uint32_t, l->n + 1),
                                   .first = AW_NEW_ARRAY(&l->arena, uint32_t, l->n + 2),
                                   .stack = AW_NEW_ARRAY(&l->arena, uint32_t, l->n + 1),
                                   .heads = AW_NEW_ARRAY(&l->arena, uint32_t, l->n + 1),
                                   .soon = AW_NEW_ARRAY(&l->arena, uint32_t, l->n + 1),
                                   .comes = AW_NEW_ARRAY(&l->arena, uint8_t, l->n + 1) };
        if (!l->arena.failed) {
            order(r, way);
            reverse(r);
        }
        if (!l->arena.failed)
            find_heads(r);
    }
    if (!l->arena.failed)
        return r;
    l->status = AW_ERR_OUT_OF_MEMORY;
    return NULL;
}

/* ---- Questions */

/* Marks what comes to k; to a round of the loop that begins at `head`, all that does so in this round. */
static void mark_before(struct sass_rounds *r, uint32_t k, uint8_t how, uint32_t head)
{
    uint32_t n = 1;
    r->stack[0] = k;
    while (n) {
        uint32_t to = r->stack[--n];
        for (uint32_t j = r->first[to]; j < r->first[to + 1]; j++) {
            uint32_t at = r->from[j];
            if (r->comes[at] & how || (to == head && is_back(r, at, to)) || (at != k && sass_waits_for_all(r->l, at)))
                continue;
            r->comes[at] |= how;
            r->stack[n++] = at;
            if (how == SOON)
                r->soon[r->n_soon++] = at;
        }
    }
}

/* Marks what is come to from k. */
static void mark_behind(struct sass_rounds *r, uint32_t k)
{
    uint32_t n = 1;
    r->stack[0] = k;
    while (n) {
        uint32_t at = r->stack[--n], to;
        struct ways w;
        ways_of(r->l, &r->l->insns[at], &w);
        for (uint32_t j = 0; j < w.n; j++) {
            if (!sass_target_index(r->l, w.to[j], &to) || r->comes[to] & BEHIND || sass_waits_for_all(r->l, to))
                continue;
            r->comes[to] |= BEHIND;
            r->stack[n++] = to;
        }
    }
}

/* Does one way from here lead to k in this round, and another in a later one only? */
static bool parts(const struct sass_rounds *r, const struct sass_insn *i, uint32_t k, uint32_t head)
{
    bool soon = false, later = false;
    struct ways w;
    ways_of(r->l, i, &w);
    for (uint32_t j = 0; j < w.n; j++) {
        uint32_t to;
        if (!sass_target_index(r->l, w.to[j], &to) || (to != k && sass_waits_for_all(r->l, to)))
            continue;
        bool next = to == head && is_back(r, i->offset / SASS_INSN_SIZE, to);
        bool comes = !next && (to == k || r->comes[to] & SOON);
        soon = soon || comes;
        later = later || (!comes && (to == k || r->comes[to] & LATER));
    }
    return soon && later;
}

static bool parts_in_round(struct sass_rounds *r, uint32_t k, uint32_t head)
{
    struct sass_lift *l = r->l;
    while (r->n_soon)
        r->comes[r->soon[--r->n_soon]] &= (uint8_t)~SOON;
    mark_before(r, k, SOON, head);
    for (uint32_t s = 0; s < r->n_soon; s++) {
        const struct sass_insn *i = &l->insns[r->soon[s]];
        if (!sass_is_question(l, i) && sass_may_part(l, i) && parts(r, i, k, head))
            return true;
    }
    return false;
}

bool sass_comes_in_turn(struct sass_lift *l, uint32_t k)
{
    struct sass_rounds *r = l->rounds ? l->rounds : create(l);
    if (!r)
        return false;
    l->rounds = r;
    memset(r->comes, 0, l->n);
    r->n_soon = 0;
    mark_before(r, k, LATER, l->n);
    if (!(r->comes[k] & LATER))
        return false;
    mark_behind(r, k);
    bool found = !sass_is_question(l, &l->insns[k]) && sass_may_part(l, &l->insns[k]);
    for (uint32_t h = 0; h < r->n_heads && !found; h++) /* of rounds of loops with k in them */
        found = !(~r->comes[r->heads[h]] & (LATER | BEHIND)) && parts_in_round(r, k, r->heads[h]);
    return found;
}
