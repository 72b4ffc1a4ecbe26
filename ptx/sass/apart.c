/* Operations of a warp for the lanes that are there, where others may have gone another way.
 *
 * A warp operation has no member mask in machine code; it takes the lanes that execute it together.  What a source has with a
 * mask comes where the assembler knows that lanes are together, or has a wait or a question of its own (flow.c), and may as well
 * wait for all of its mask.  But the assembler makes one atomic of those of the lanes that are there: REDUX puts together what
 * they add, and a vote says which of them are there and does it for all; what the atomic returns one of them has for all (SHFL).
 * Others may be in the other branch, or at the block's barrier, and must not be waited for. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sass/lift.h"

enum { BARRIERS = 16, NEAR = 64 /* instructions */ };

/* The barriers that lanes have entered on the way here, the first one first, and in which of them they may have parted. */
struct entered {
    uint8_t at[BARRIERS], n;
    uint16_t apart;
    bool parted; /* they may have before they entered any */
    bool reached;
};

struct apart_walk {
    struct sass_lift *l;
    struct entered *before; /* each leader */
    uint32_t *work, n;      /* leaders to look at; each is there once */
    uint8_t *waiting;
};

static void reach(struct apart_walk *w, int64_t offset, const struct entered *now)
{
    uint32_t k;
    if (!sass_target_index(w->l, offset, &k))
        return;
    struct entered *s = &w->before[k];
    bool changed = !s->reached;
    if (changed) {
        *s = *now;
        s->reached = true;
    } else {
        unsigned n = 0;
        while (n < s->n && n < now->n && s->at[n] == now->at[n])
            n++;
        uint16_t apart = 0;
        for (unsigned b = 0; b < n; b++)
            apart |= (uint16_t)((s->apart | now->apart) & 1u << s->at[b]);
        changed = n != s->n || apart != s->apart || (now->parted && !s->parted);
        s->parted = s->parted || now->parted;
        s->n = (uint8_t)n;
        s->apart = apart;
    }
    if (changed && !w->waiting[k]) {
        w->waiting[k] = 1;
        w->work[w->n++] = k;
    }
}

/* Lanes go different ways: they come together at the barrier entered last, unless some have left that. */
static void part(const struct apart_walk *w, struct entered *s)
{
    for (unsigned b = s->n; b > 0; b--) {
        s->apart |= (uint16_t)(1u << s->at[b - 1]);
        if (!(w->l->breaks & 1u << s->at[b - 1]))
            return;
    }
    s->parted = true;
}

static void leave(struct entered *s, unsigned barrier)
{
    for (unsigned b = s->n; b > 0; b--)
        if (s->at[b - 1] == barrier) {
            s->n = (uint8_t)(b - 1);
            break;
        }
    uint16_t left = 0;
    for (unsigned b = 0; b < s->n; b++)
        left |= (uint16_t)(s->apart & 1u << s->at[b]);
    s->apart = left;
}

static void enter(struct entered *s, unsigned barrier)
{
    leave(s, barrier);
    if (s->n < BARRIERS)
        s->at[s->n++] = (uint8_t)barrier;
}

/* What wrote a predicate on the straight way before, from operands that all lanes have alike. */
static bool same_for_all(const struct sass_lift *l, uint32_t k, unsigned pred)
{
    enum { CLOSE = 16 };
    for (uint32_t back = k; back > 0 && k - back < CLOSE && !l->leader[back]; back--) {
        const struct sass_insn *i = &l->insns[back - 1];
        bool written = false;
        for (int s = SASS_P; s <= SASS_Q; s++)
            written = written || (i->opnd[s].kind == SASS_PRED && i->opnd[s].reg == pred);
        if (sass_writes_predicates(i))
            return false;
        if (!written)
            continue;
        bool same = !sass_guarded(i) || i->guard_uniform;
        for (int s = SASS_A; s <= SASS_U; s++) {
            const struct sass_operand *o = &i->opnd[s];
            same = same && !(o->kind == SASS_REG && o->reg != SASS_RZ) && !(o->kind == SASS_PRED && o->reg != SASS_PT) &&
                   o->kind != SASS_MEM;
        }
        return same && i->op != SASS_VOTE && i->op != SASS_QSPC;
    }
    return false;
}

bool sass_may_part(const struct sass_lift *l, const struct sass_insn *i)
{
    uint32_t k = i->offset / SASS_INSN_SIZE;
    const struct sass_operand *s = &i->opnd[SASS_S];
    bool guard = sass_guarded(i) && !i->guard_uniform && !same_for_all(l, k, i->guard);
    if (i->op == SASS_BRX)
        return true;
    return guard || (s->kind == SASS_PRED && !sass_is_true(s) && !same_for_all(l, k, s->reg));
}

/* The state behind an instruction, and its other ways. */
static void step(struct apart_walk *w, const struct sass_insn *i, struct entered *s)
{
    struct sass_lift *l = w->l;
    uint32_t n;
    const struct sass_operand *target = &i->opnd[SASS_J];
    switch (i->op) {
    case SASS_BSSY: enter(s, i->opnd[SASS_K].reg); break;
    case SASS_BSYNC: leave(s, i->opnd[SASS_K].reg); break;
    case SASS_WARPSYNC: /* for all lanes: they are here */
        if (i->opnd[SASS_B].kind == SASS_NONE ||
            (i->opnd[SASS_B].kind == SASS_IMM && (uint32_t)i->opnd[SASS_B].value == UINT32_MAX))
            s->apart = s->parted = 0;
        break;
    case SASS_BAR: s->apart = s->parted = 0; break;
    case SASS_BRA:
    case SASS_CALL:
    case SASS_RET:
        if (sass_way_of(l, i) == SASS_WAY_ON)
            break;
        if (sass_way_of(l, i) == SASS_WAY_EITHER && sass_may_part(l, i))
            part(w, s);
        if (target->kind == SASS_TARGET && i->op != SASS_RET)
            reach(w, target->value, s);
        break;
    case SASS_BRX: {
        part(w, s);
        const uint32_t *targets = sass_indirect_targets(l, i->offset, &n);
        for (uint32_t t = 0; t < n; t++)
            reach(w, targets[t], s);
        break;
    }
    case SASS_BRXU: {
        const uint32_t *targets = sass_indirect_targets(l, i->offset, &n);
        for (uint32_t t = 0; t < n; t++)
            reach(w, targets[t], s);
        break;
    }
    default: break;
    }
}

static bool asks_who_is_here(const struct sass_lift *l, uint32_t k)
{
    const struct sass_insn *i = &l->insns[k];
    return (i->op == SASS_VOTE || i->op == SASS_VOTEU) && !l->mask_of[k] && sass_writes(&i->opnd[SASS_D]) &&
           sass_is_true(&i->opnd[SASS_S]);
}

static bool waits(const struct sass_lift *l, uint32_t k)
{
    unsigned op = l->insns[k].op;
    return op == SASS_BAR || op == SASS_WARPSYNC || op == SASS_CALL || op == SASS_BSYNC;
}

/* Whether who is here is asked on the same straight way before. */
static bool asked_before(const struct sass_lift *l, uint32_t k)
{
    for (uint32_t at = k; at > 0 && k - at < NEAR && !l->leader[at] && !waits(l, at - 1); at--)
        if (asks_who_is_here(l, at - 1))
            return true;
    return false;
}

/* The question, or a reduction or a lane's value for all with one on the same straight way; and one whose result only a branch
 * asks that is never taken here. */
static bool takes_lanes_here(const struct sass_lift *l, uint32_t k)
{
    const struct sass_insn *i = &l->insns[k];
    if (l->asks[k])
        return true;
    if (!l->mask_of[k] && i->op == SASS_SHFL && i->mod[SASS_F_MODE] == SASS_MODE_IDX)
        return asked_before(l, k);
    if (l->mask_of[k] || i->op != SASS_REDUX)
        return asks_who_is_here(l, k);
    for (uint32_t at = k + 1; at < l->n && at - k < NEAR && !l->leader[at] && !waits(l, at); at++)
        if (asks_who_is_here(l, at) ||
            (sass_asks_together(l, &l->insns[at]) && l->insns[at].opnd[SASS_UN].reg == i->opnd[SASS_D].reg))
            return true;
    return asked_before(l, k);
}

static void look(struct apart_walk *w, uint32_t k)
{
    struct sass_lift *l = w->l;
    struct entered s = w->before[k];
    for (;;) {
        l->here[k] = (s.apart || s.parted) && takes_lanes_here(l, k);
        step(w, &l->insns[k], &s);
        if (sass_never_falls(l, &l->insns[k]) || (k = sass_next_bit(l, l->marks, k + 1)) == l->n)
            return;
        if (l->leader[k]) {
            reach(w, (int64_t)k * SASS_INSN_SIZE, &s);
            return;
        }
    }
}

void sass_find_apart(struct sass_lift *l)
{
    struct apart_walk w = { .l = l };
    if (!l->asked && !l->occurs[SASS_REDUX] && !l->occurs[SASS_SHFL])
        return;
    w.before = AW_NEW_ARRAY(&l->arena, struct entered, l->n + 1);
    w.waiting = AW_NEW_ARRAY(&l->arena, uint8_t, l->n + 1);
    w.work = AW_NEW_ARRAY(&l->arena, uint32_t, l->n + 1);
    if (l->arena.failed) {
        l->status = AW_ERR_OUT_OF_MEMORY;
        return;
    }
    reach(&w, 0, &(struct entered){ .n = 0 });
    while (w.n) {
        uint32_t k = w.work[--w.n];
        w.waiting[k] = 0;
        look(&w, k);
    }
}
