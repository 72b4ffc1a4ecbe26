/* Where lanes that go in step may hand values to each other through shared memory, without an operation that waits for them.
 *
 * Code that was written with `volatile` for lanes in step has loads and stores in an order that matters, and nothing says so of
 * them; who compiles the text looks at one lane, and would forward, drop or move what seems to concern no other.  So where a load
 * and a store of shared memory follow each other on some way with no barrier between, an ordering point comes between them
 * (`.pragma "anywarp in step"`), which costs no instruction; and so where two stores follow each other of which one lane's second
 * may be where another lane's first was: by one register, less than a warp apart.  Two other stores are what fills a tile;
 * nothing but a load tells their order, and before that there is a point.  In kernels with a loop that waits, accesses to shared
 * memory are volatile instead. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sass/lift.h"

enum { LOADED = 1, STORED = 2 }; /* since the last ordering point, on some way */

bool sass_nop_waits(const struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_code_part *part = sass_part_of(l, i->offset / SASS_INSN_SIZE);
    for (uint32_t k = 0; k < part->code->n_coop_groups && i->op == SASS_NOP; k++)
        if (part->code->coop_groups[k] == i->offset - part->first * SASS_INSN_SIZE)
            return true;
    return false;
}

static bool orders(const struct sass_lift *l, const struct sass_insn *i)
{
    return i->op == SASS_BAR || i->op == SASS_WARPSYNC || i->op == SASS_MEMBAR || sass_nop_waits(l, i);
}

/* What the instruction does to shared memory, as far as nothing else orders it. */
static unsigned access_of(const struct sass_lift *l, const struct sass_insn *i)
{
    unsigned order = i->mod[SASS_F_ORDER];
    bool generic = l->shared_window && (order == 0 || order == SASS_ORDER_WEAK);
    switch (i->op) {
    case SASS_LDS: case SASS_LDSM: return LOADED;
    case SASS_STS: case SASS_STSM: case SASS_LDGSTS: return STORED;
    case SASS_ATOMS: return LOADED | STORED;
    case SASS_LD: return generic ? LOADED : 0;
    case SASS_ST: return generic ? STORED : 0;
    case SASS_ATOM: case SASS_RED: return l->shared_window ? LOADED | STORED : 0;
    default: return 0;
    }
}

/* The state behind an instruction; *ret_point: an ordering point comes before it. */
static unsigned behind(const struct sass_lift *l, const struct sass_insn *i, unsigned state, bool *ret_point)
{
    unsigned access = access_of(l, i);
    *ret_point = (access & STORED && state & LOADED) || (access & LOADED && state & STORED);
    if (orders(l, i))
        return 0;
    return (*ret_point ? 0 : state) | access;
}

struct step_walk {
    struct sass_lift *l;
    uint8_t *state;     /* before each leader; bit 7: has been reached */
    uint32_t *work, n;  /* leaders to look at; each is there once */
    uint8_t *waiting;
    unsigned returned;  /* at any return: it goes on behind any call */
};

static void reach(struct step_walk *w, int64_t offset, unsigned state)
{
    uint32_t k;
    if (!sass_target_index(w->l, offset, &k))
        return;
    unsigned now = w->state[k] | state | 128;
    if (now == w->state[k])
        return;
    w->state[k] = (uint8_t)now;
    if (!w->waiting[k])
        w->work[w->n++] = k;
    w->waiting[k] = 1;
}

/* The other ways than to the next instruction. */
static void leave(struct step_walk *w, const struct sass_insn *i, unsigned state)
{
    uint32_t n;
    const uint32_t *targets;
    switch (i->op) {
    case SASS_BRA: case SASS_CALL:
        if (i->opnd[SASS_J].kind == SASS_TARGET)
            reach(w, i->opnd[SASS_J].value, state);
        break;
    case SASS_BRX: case SASS_BRXU:
        targets = sass_indirect_targets(w->l, i->offset, &n);
        for (uint32_t t = 0; t < n; t++)
            reach(w, targets[t], state);
        break;
    case SASS_RET:
        if ((w->returned | state) == w->returned)
            break;
        w->returned |= state;
        for (uint32_t j = 0; j < w->l->n_jumps; j++)
            if (w->l->insns[w->l->jumps[j]].op == SASS_CALL)
                reach(w, (int64_t)(w->l->jumps[j] + 1) * SASS_INSN_SIZE, w->returned);
        break;
    default: break;
    }
}

/* The stores of shared memory since the last ordering point, of a straight way. */
struct stores {
    const struct sass_insn *at[16];
    unsigned n;
};

static bool overlaps(const struct sass_insn *a, const struct sass_insn *b)
{
    enum { WARP = 32 };
    const struct sass_operand *m = &a->opnd[SASS_M], *o = &b->opnd[SASS_M];
    bool one = m->kind == SASS_MEM && o->kind == SASS_MEM && m->reg == o->reg && m->ureg == o->ureg && m->reg != SASS_RZ;
    int64_t apart = m->value > o->value ? m->value - o->value : o->value - m->value;
    return one && apart < WARP * 16; /* bytes that a lane stores at most */
}

/* Whether a store may be where another lane's earlier one was; keeps account of what there is. */
static bool stores_meet(const struct sass_lift *l, const struct sass_insn *i, bool point, struct stores *s)
{
    bool meets = false;
    unsigned kept = 0;
    const struct sass_operand *d = &i->opnd[SASS_D];
    if (point || orders(l, i))
        s->n = 0;
    for (unsigned k = 0; k < s->n; k++) { /* by a register that is written it is another address */
        const struct sass_operand *m = &s->at[k]->opnd[SASS_M];
        if (!(d->kind == SASS_REG && m->reg >= d->reg && m->reg < d->reg + (d->regs ? d->regs : 1)))
            s->at[kept++] = s->at[k];
    }
    s->n = kept;
    if (access_of(l, i) != STORED)
        return false;
    for (unsigned k = 0; k < s->n; k++)
        meets = meets || overlaps(s->at[k], i);
    if (meets || s->n == sizeof s->at / sizeof *s->at)
        s->n = 0;
    s->at[s->n++] = i;
    return meets;
}

static void look(struct step_walk *w, uint32_t k)
{
    unsigned state = w->state[k] & 127u;
    struct sass_lift *l = w->l;
    struct stores stores = { .n = 0 };
    for (;;) {
        bool point;
        state = behind(l, &l->insns[k], state, &point);
        point = stores_meet(l, &l->insns[k], point, &stores) || point;
        l->in_step[k] |= point;
        leave(w, &l->insns[k], state);
        if (sass_never_falls(l, &l->insns[k]))
            return;
        k = stores.n ? k + 1 : sass_next_bit(l, l->marks, k + 1);
        if (k == l->n)
            return;
        if (l->leader[k]) {
            reach(w, (int64_t)k * SASS_INSN_SIZE, state | (l->insns[k - 1].op == SASS_CALL ? w->returned : 0));
            return;
        }
    }
}

/* A loop that reads the same place of shared memory again and again, with nothing in it that stores there or waits: for what
 * another lane writes. */
static bool polls(const struct sass_lift *l, uint32_t first, uint32_t last)
{
    bool written[256] = { false }, reads = false;
    for (uint32_t k = first; k <= last; k++) {
        const struct sass_insn *i = &l->insns[k];
        const struct sass_operand *d = &i->opnd[SASS_D];
        if (orders(l, i) || access_of(l, i) & STORED || i->op == SASS_CALL)
            return false;
        for (unsigned r = 0; d->kind == SASS_REG && r < (d->regs ? d->regs : 1u); r++)
            written[(d->reg + r) & 255] = true;
    }
    for (uint32_t k = first; k <= last && !reads; k++) {
        const struct sass_operand *m = &l->insns[k].opnd[SASS_M];
        reads = access_of(l, &l->insns[k]) == LOADED && (m->reg == SASS_RZ || !written[m->reg]);
    }
    return reads;
}

static bool has_polls(const struct sass_lift *l)
{
    enum { LONGEST = 256 };
    for (uint32_t j = 0; j < l->n_jumps; j++) {
        uint32_t k = l->jumps[j], to;
        const struct sass_insn *i = &l->insns[k];
        if (i->op == SASS_BRA && sass_target_index(l, i->opnd[SASS_J].value, &to) && to <= k && k - to < LONGEST &&
            polls(l, to, k))
            return true;
    }
    return false;
}

/* Operations that access_of() may know. */
static bool has_accesses(const struct sass_lift *l)
{
    static const uint16_t shared[] = { SASS_LDS, SASS_LDSM, SASS_STS, SASS_STSM, SASS_LDGSTS, SASS_ATOMS },
                          generic[] = { SASS_LD, SASS_ST, SASS_ATOM, SASS_RED };
    bool has = false;
    for (size_t k = 0; k < sizeof shared / sizeof *shared; k++)
        has |= l->occurs[shared[k]];
    for (size_t k = 0; k < sizeof generic / sizeof *generic; k++)
        has |= l->shared_window && l->occurs[generic[k]];
    return has;
}

void sass_find_steps(struct sass_lift *l)
{
    struct step_walk w = { .l = l };
    if (!has_accesses(l))
        return;
    l->spins = has_polls(l) || (l->occurs[SASS_YIELD] && sass_may_wait(l));
    if (l->spins)
        return;
    w.state = AW_NEW_ARRAY(&l->arena, uint8_t, l->n + 1);
    w.waiting = AW_NEW_ARRAY(&l->arena, uint8_t, l->n + 1);
    w.work = AW_NEW_ARRAY(&l->arena, uint32_t, l->n + 1);
    if (l->arena.failed) {
        l->status = AW_ERR_OUT_OF_MEMORY;
        return;
    }
    reach(&w, 0, 0);
    while (w.n) {
        uint32_t k = w.work[--w.n];
        w.waiting[k] = 0;
        look(&w, k);
    }
}
