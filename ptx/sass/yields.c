/* Loops that may wait for other lanes.
 *
 * YIELD lets others run, so code with it may have been written for lanes that wait.  The assembler puts it into loops of other
 * kinds, too, such as those with an atomic addition of floats in them.  A loop that waits ends by what it reads in memory; what
 * is not seen through here counts as that. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sass/lift.h"

/* A loop in the order of the code: from where a branch leads back to, up to the branch. */
struct yield_loop {
    const struct sass_lift *l;
    uint32_t first, last;
    uint32_t *work, n;  /* instructions that its end depends on and that are still to be looked at */
    uint8_t *seen;
};

static bool may_write(const struct sass_insn *i, uint8_t kind, unsigned reg)
{
    static const enum sass_slot slots[] = { SASS_D, SASS_P, SASS_Q, SASS_D2 };
    if (sass_writes_predicates(i) && (kind == SASS_PRED || kind == SASS_UPRED))
        return true;
    for (size_t s = 0; s < sizeof slots / sizeof *slots; s++) {
        const struct sass_operand *o = &i->opnd[slots[s]];
        if (o->kind == kind && reg >= o->reg && reg < o->reg + (o->regs ? o->regs : 1u))
            return true;
    }
    return false;
}

static void depend(struct yield_loop *o, uint32_t k)
{
    if (!o->seen[k])
        o->work[o->n++] = k;
    o->seen[k] = 1;
}

/* On what wrote a register before instruction k: the last one on the straight way there, or any in the loop. */
static void depend_on(struct yield_loop *o, uint32_t k, uint8_t kind, unsigned reg)
{
    for (uint32_t at = k; at > o->first && !o->l->leader[at]; at--)
        if (may_write(&o->l->insns[at - 1], kind, reg)) {
            depend(o, at - 1);
            if (!sass_guarded(&o->l->insns[at - 1]))
                return;
        }
    for (uint32_t at = o->first; at <= o->last; at++)
        if (may_write(&o->l->insns[at], kind, reg))
            depend(o, at);
}

static void depend_on_guard(struct yield_loop *o, uint32_t k)
{
    const struct sass_insn *i = &o->l->insns[k];
    if (sass_guarded(i))
        depend_on(o, k, i->guard_uniform ? SASS_UPRED : SASS_PRED, i->guard);
}

static void depend_on_operands(struct yield_loop *o, uint32_t k)
{
    depend_on_guard(o, k);
    for (int s = SASS_A; s < SASS_D2; s++) {
        const struct sass_operand *a = &o->l->insns[k].opnd[s];
        for (unsigned w = 0; sass_writes(a) && w < (a->regs ? a->regs : 1u); w++)
            depend_on(o, k, a->kind, a->reg + w);
        if (a->kind == SASS_CONST && a->reg != SASS_RZ)
            depend_on(o, k, SASS_REG, a->reg);
        if (a->kind == SASS_CONST && a->ureg != SASS_RZ)
            depend_on(o, k, SASS_UREG, a->ureg);
    }
}

/* How the loop is left: by a branch out of it, or past the one that leads back.  False: in a way that is not seen through. */
static bool find_ends(struct yield_loop *o)
{
    for (uint32_t k = o->first; k <= o->last; k++) {
        const struct sass_insn *i = &o->l->insns[k];
        uint32_t to = 0;
        bool always = !sass_guarded(i) && (i->opnd[SASS_S].kind == SASS_NONE || sass_is_true(&i->opnd[SASS_S]));
        bool ends = i->op == SASS_EXIT || i->op == SASS_KILL || k == o->last || sass_call_jumps(o->l, i, &to);
        if (i->op == SASS_BRA && sass_target_index(o->l, i->opnd[SASS_J].value, &to))
            ends |= to < o->first || to > o->last;
        else if (i->op == SASS_BRX || i->op == SASS_BRXU || i->op == SASS_RET || i->op == SASS_BRA || i->undecoded ||
                 (i->op == SASS_CALL && !ends))
            return false;
        if (!ends)
            continue;
        if (always && k != o->last)
            return false;
        depend_on_operands(o, k);
    }
    return true;
}

static bool ends_by_memory(struct yield_loop *o)
{
    enum { LONGEST = 2048 }; /* time goes with the square */
    memset(o->seen, 0, o->l->n);
    o->n = 0;
    if (o->last - o->first >= LONGEST || !find_ends(o))
        return true;
    while (o->n) {
        uint32_t k = o->work[--o->n];
        if (o->l->insns[k].opnd[SASS_M].kind != SASS_NONE)
            return true;
        depend_on_operands(o, k);
    }
    return false;
}

bool sass_may_wait(struct sass_lift *l)
{
    struct yield_loop o = { .l = l,
                      .work = AW_NEW_ARRAY(&l->arena, uint32_t, l->n + 1),
                      .seen = AW_NEW_ARRAY(&l->arena, uint8_t, l->n + 1) };
    bool waits = l->arena.failed;
    for (uint32_t j = 0; j < l->n_jumps && !waits; j++) {
        o.last = l->jumps[j];
        bool back = l->insns[o.last].op == SASS_BRA && sass_target_index(l, l->insns[o.last].opnd[SASS_J].value, &o.first) &&
                    o.first <= o.last;
        waits = back && sass_swap_loop(l, o.first) != o.last - o.first + 1 && ends_by_memory(&o);
    }
    return waits;
}
