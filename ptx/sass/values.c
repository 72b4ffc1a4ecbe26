/* Numbers of 64 bits that code holds in two registers: a sum whose carry a second instruction takes becomes one sum.
 *
 * The first instruction is lifted as it stands and remembered under the predicate that has its carry.  When a second one adds the
 * high words with that carry, while neither the predicate nor the low result has changed, both words are written again from one
 * 64-bit sum: the low word gets the value that it has.  What then has no use the compiler drops.  Without guards, and in code
 * that follows the first instruction and that control enters by it alone: branches may lead past parts of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "sass/lift.h"

static struct sass_carry *carry_of(struct sass_lift *l, const struct sass_operand *p)
{
    return &l->carries[8 * (p->kind == SASS_UPRED) + (p->reg & 7)];
}

void sass_carry_forget(struct sass_lift *l)
{
    l->carried = 0;
}

/* What was remembered at an instruction that all come by: none jumps here but from behind it. */
void sass_carry_enter(struct sass_lift *l, uint32_t k)
{
    bool entered = l->first_entry[k] < l->n || l->last_entry[k];
    for (uint32_t left = entered ? l->carried : 0; left; left &= left - 1) {
        int c = __builtin_ctz(left);
        if (l->first_entry[k] <= l->carries[c].offset / SASS_INSN_SIZE || l->last_entry[k] >= k)
            l->carried &= ~(1u << c);
    }
}

static bool touches(const struct sass_operand *written, uint8_t kind, unsigned reg)
{
    unsigned n = written->regs ? written->regs : 1;
    return written->kind == kind && sass_writes(written) && reg >= written->reg && reg < written->reg + n;
}

/* Forgets registers that the instruction writes. */
static void terms_after(struct sass_carry *c, const struct sass_insn *i)
{
    for (int k = 0; k < 3; k++)
        if (touches(&i->opnd[SASS_D], c->from[k].kind, c->from[k].reg) ||
            touches(&i->opnd[SASS_D2], c->from[k].kind, c->from[k].reg))
            c->from[k].kind = SASS_NONE;
}

void sass_carry_after(struct sass_lift *l, const struct sass_insn *i)
{
    if (i->op == SASS_CALL || sass_writes_predicates(i)) {
        sass_carry_forget(l);
        return;
    }
    for (uint32_t left = l->carried; left; left &= left - 1) {
        int k = __builtin_ctz(left);
        const struct sass_carry *c = &l->carries[k];
        if (c->offset == i->offset)
            continue;
        uint8_t pred = k / 8 ? SASS_UPRED : SASS_PRED;
        bool changed = false;
        for (int s = SASS_P; s <= SASS_Q; s++)
            changed |= i->opnd[s].kind == pred && i->opnd[s].reg == k % 8;
        if (changed || touches(&i->opnd[SASS_D], c->low.kind, c->low.reg) ||
            (c->shifted.kind && touches(&i->opnd[SASS_D], c->shifted.kind, c->shifted.reg)))
            l->carried &= ~(1u << k);
        terms_after(&l->carries[k], i);
    }
}

/* A term of the low words' sum, in a temporary of its own: registers may change before the high words come. */
static struct sass_text low_term(struct sass_lift *l, const struct sass_operand *o)
{
    struct sass_operand plain = *o;
    plain.neg = plain.inv = false;
    struct sass_text v = sass_raw(l, &plain), t;
    if (o->neg || o->inv || o->kind == SASS_REG || o->kind == SASS_UREG) {
        t = sass_temp(l, 't');
        sass_step(l, "%s %s, %s", o->neg || o->inv ? "not.b32" : "mov.b32", t.s, v.s);
        return t;
    }
    return v;
}

static bool starts_chain(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    return !sass_guarded(i) && !sass_mod(l, SASS_F_X) && sass_writes(&o[SASS_P]) && !sass_writes(&o[SASS_Q]) &&
           sass_writes(&o[SASS_D]);
}

static void remember(struct sass_lift *l, const struct sass_insn *i, struct sass_carry *c)
{
    struct sass_carry *to = carry_of(l, &i->opnd[SASS_P]);
    c->offset = i->offset;
    c->low = i->opnd[SASS_D];
    *to = *c;
    l->carried |= 1u << (to - l->carries);
}

void sass_carry_add(struct sass_lift *l, const struct sass_insn *i)
{
    struct sass_carry c = { 0 };
    unsigned terms = 0;
    if (!starts_chain(l, i))
        return;
    for (int k = 0; k < 3; k++) {
        const struct sass_operand *o = &i->opnd[SASS_A + k];
        bool none = sass_is_zero(o) && !o->neg;
        c.term[k] = none ? (struct sass_text){ "0" } : low_term(l, o);
        if (!none && !o->neg && !o->inv && (o->kind == SASS_REG || o->kind == SASS_UREG))
            c.from[k] = *o;
        terms += !none;
        c.ones += o->neg;
    }
    terms_after(&c, i);
    /* With more the sum may carry twice. */
    if (terms <= 2 && c.ones <= 1)
        remember(l, i, &c);
}

void sass_carry_lea(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *a = &i->opnd[SASS_A];
    struct sass_carry c = { .shift = (uint32_t)sass_look(l, SASS_L)->value & 31 };
    if (!starts_chain(l, i) || sass_mod(l, SASS_F_HI) || a->neg || a->inv || (a->kind != SASS_REG && a->kind != SASS_UREG))
        return;
    c.shifted = *a;
    c.source = low_term(l, a);
    c.term[0] = sass_temp(l, 't');
    sass_step(l, "shl.b32 %s, %s, %u", c.term[0].s, c.source.s, c.shift);
    c.term[1] = low_term(l, &i->opnd[SASS_B]);
    c.term[2] = (struct sass_text){ "0" };
    c.ones = i->opnd[SASS_B].neg;
    if (!(a->kind == i->opnd[SASS_D].kind && a->reg == i->opnd[SASS_D].reg))
        remember(l, i, &c);
}

/* The chain that the instruction's carry belongs to; NULL. */
static struct sass_carry *chain(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd, *s = &o[SASS_S];
    if (!sass_mod(l, SASS_F_X) || sass_guarded(i) || (s->kind != SASS_PRED && s->kind != SASS_UPRED) || s->reg == SASS_PT ||
        s->inv || !sass_writes(&o[SASS_D]) || sass_writes(&o[SASS_P]) || sass_writes(&o[SASS_Q]) ||
        !(o[SASS_T].kind == SASS_NONE || sass_is_false(&o[SASS_T])))
        return NULL;
    struct sass_carry *c = carry_of(l, s);
    (void)sass_look(l, SASS_S);
    (void)sass_look(l, SASS_T);
    return l->carried >> (c - l->carries) & 1 && c->low.kind == o[SASS_D].kind && c->low.reg != o[SASS_D].reg ? c : NULL;
}

static struct sass_text joined(struct sass_lift *l, struct sass_text lo, struct sass_text hi)
{
    if (!strcmp(hi.s, "0"))
        return !strcmp(lo.s, "0") ? lo : lo.s[0] == '%' ? sass_widen(l, lo.s) : lo;
    return sass_join(l, lo.s, hi.s);
}

static void put_both(struct sass_lift *l, const struct sass_insn *i, struct sass_carry *c, struct sass_text sum)
{
    if (c->ones)
        sum = sass_sum(l, true, sum, (struct sass_text){ "1" });
    struct sass_text lo = sass_dest(l, &c->low, 0), hi = sass_dest(l, &i->opnd[SASS_D], 0);
    sum = sass_in_register(l, sum, 'w');
    sass_step(l, "mov.b64 {%s, %s}, %s", lo.s, hi.s, sum.s);
}

/* What an operand's text is: nothing, a number, a parameter, a register. */
static unsigned kind_of(struct sass_text t)
{
    return !strcmp(t.s, "0") ? 0 : t.s[0] != '%' ? 1 : t.s[1] == 'c' ? 2 : 3;
}

/* The sum of the chain's low words and these high ones.  Which goes with which is all the same for the sum; those of one kind are
 * likely to be halves of one number. */
static struct sass_text sum_with(struct sass_lift *l, struct sass_carry *c, const struct sass_text high[3])
{
    struct sass_text of[3] = { { "0" }, { "0" }, { "0" } }, sum = { "0" };
    bool used[3] = { false, false, false }, placed[3];
    for (int k = 0; k < 3; k++)
        placed[k] = !kind_of(high[k]);
    for (int strict = 2; strict >= 0; strict--)
        for (int k = 0; k < 3; k++)
            for (int low = 0; low < 3 && !placed[k]; low++) {
                bool fits = strict == 2   ? kind_of(high[k]) == kind_of(c->term[low])
                            : strict == 1 ? kind_of(c->term[low]) == 3
                                          : true;
                if (used[low] || !fits)
                    continue;
                of[low] = high[k];
                used[low] = placed[k] = true;
            }
    for (int k = 0; k < 3; k++)
        sum = sass_sum(l, true, sum, joined(l, c->term[k], of[k]));
    return sum;
}

bool sass_carry_add_high(struct sass_lift *l, const struct sass_insn *i)
{
    struct sass_carry *c = chain(l, i);
    if (!c)
        return false;
    struct sass_text high[3];
    for (int k = 0; k < 3; k++)
        high[k] = sass_int(l, &i->opnd[SASS_A + k]);
    put_both(l, i, c, sum_with(l, c, high));
    return true;
}

/* c + carry, or a + c + carry where b is 1, as IMAD.X has it. */
bool sass_carry_mad_high(struct sass_lift *l, const struct sass_insn *i)
{
    struct sass_carry *c = chain(l, i);
    const struct sass_operand *o = i->opnd;
    const struct sass_operand *a = sass_look(l, SASS_A), *b = sass_look(l, SASS_B);
    bool nothing = sass_is_zero(a) || sass_is_zero(b), once = b->kind == SASS_IMM && (uint32_t)b->value == 1;
    if (!c || (!nothing && !once))
        return false;
    struct sass_text high[3] = { { "0" }, { "0" }, { "0" } };
    if (!nothing)
        high[0] = sass_int(l, a);
    high[once && !nothing] = sass_int(l, &o[SASS_C]);
    put_both(l, i, c, sum_with(l, c, high));
    return true;
}

/* The other high word and the sign of one of the low words, which is a number of 32 bits: LEA.HI.X.SX32 by 1. */
static bool sign_high(struct sass_lift *l, const struct sass_insn *i, struct sass_carry *c)
{
    const struct sass_operand *o = i->opnd, *a = &o[SASS_A];
    int k = 0, other;
    while (k < 3 && !(c->from[k].kind && c->from[k].kind == a->kind && c->from[k].reg == a->reg))
        k++;
    if (k == 3 || c->shifted.kind || a->neg || a->inv || !sass_mod(l, SASS_F_SX32) || (sass_look(l, SASS_L)->value & 31) != 1)
        return false;
    (void)sass_look(l, SASS_A);
    for (other = 2; other > 0 && (other == k || !kind_of(c->term[other]));)
        other--;
    other = other == k ? 1 : other;
    struct sass_text number = sass_temp(l, 'w');
    sass_step(l, "cvt.s64.s32 %s, %s", number.s, c->term[k].s);
    put_both(l, i, c, sass_sum(l, true, number, joined(l, c->term[other], sass_int(l, &o[SASS_B]))));
    return true;
}

bool sass_carry_lea_high(struct sass_lift *l, const struct sass_insn *i)
{
    struct sass_carry *c = chain(l, i);
    const struct sass_operand *o = i->opnd;
    if (c && sass_mod(l, SASS_F_HI) && sign_high(l, i, c))
        return true;
    if (!c || !sass_mod(l, SASS_F_HI) || !c->shifted.kind || o[SASS_A].kind != c->shifted.kind ||
        o[SASS_A].reg != c->shifted.reg || o[SASS_A].neg || o[SASS_A].inv ||
        ((uint32_t)sass_look(l, SASS_L)->value & 31) != c->shift)
        return false;
    struct sass_text w, shifted = sass_temp(l, 'w');
    (void)sass_look(l, SASS_A); /* what the first instruction has read */
    if (sass_mod(l, SASS_F_SX32)) {
        w = sass_temp(l, 'w');
        sass_step(l, "cvt.s64.s32 %s, %s", w.s, c->source.s);
    } else {
        w = sass_join(l, c->source.s, sass_raw(l, &o[SASS_C]).s);
    }
    sass_step(l, "shl.b64 %s, %s, %u", shifted.s, w.s, c->shift);
    put_both(l, i, c, sass_sum(l, true, shifted, joined(l, c->term[1], sass_int(l, &o[SASS_B]))));
    return true;
}
