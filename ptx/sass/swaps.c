/* Loops of compare-and-swap that stand for one atomic operation.
 *
 * There is no instruction that adds floats in shared memory, so the assembler makes a loop of an `atom.shared.add`:
 *
 *     L: LDS R8, [R0]
 *        FADD R9, R4, R8
 *        ATOMS.CAST.SPIN R9, [R0], R8, R9     1 where it has written
 *        ISETP.EQ.U32.AND P1, PT, R9, 0x1, PT
 *        @!P1 BRA L
 *
 * Lanes of a warp that mean one place take a round each there.  Here it is the atomic again, which says what is meant: behind it
 * R8 is what was in memory, R9 is 1 and P1 is true.  Loops with anything else in them stay loops. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sass/access.h"

enum { LOAD, ADD, SWAP, COMPARE, COMPARE_HIGH };

/* The loop from an instruction on. */
struct swap_loop {
    uint32_t n; /* instructions, with the branch; 0: there is none */
    bool wide;  /* 64 bits */
    const struct sass_insn *i;
    enum sass_slot addend; /* of the addition: what is added */
};

bool sass_is_plain(const struct sass_insn *i, unsigned op, const enum sass_field known[4])
{
    struct sass_looked looked = { .slots = UINT32_MAX };
    for (unsigned k = 0; known && k < 4; k++)
        sass_look_at_field(&looked, known[k]);
    return i->op == op && !i->undecoded && !sass_guarded(i) && !sass_overlooked(i, &looked);
}

static bool is_register(const struct sass_operand *o, unsigned reg)
{
    return o->kind == SASS_REG && o->reg == reg && !o->neg && !o->abs && !o->inv;
}

static bool is_number(const struct sass_operand *o, int64_t value)
{
    return value ? o->kind == SASS_IMM && o->value == value : sass_is_zero(o);
}

static bool overlap(const struct sass_operand *a, const struct sass_operand *b)
{
    unsigned na = a->regs ? a->regs : 1, nb = b->regs ? b->regs : 1;
    return a->kind == SASS_REG && b->kind == SASS_REG && a->reg != SASS_RZ && a->reg < b->reg + nb && b->reg < a->reg + na;
}

bool sass_is_entered(const struct sass_lift *l, uint32_t k, uint32_t from)
{
    uint32_t only = l->entered_from[k];
    return (only && only != from + 1) || !k || sass_part_of(l, k)->first == k || l->insns[k - 1].op == SASS_CALL;
}

/* Is the instruction a sum of these two registers into `d`? */
static bool is_sum(const struct sass_insn *i, const struct sass_operand *d, const struct sass_operand *mem)
{
    const struct sass_operand *o = i->opnd;
    unsigned found = 0;
    if (!sass_is_plain(i, SASS_IADD3, NULL) || !is_register(&o[SASS_D], d->reg))
        return false;
    for (int s = SASS_A; s <= SASS_C; s++) {
        bool plain = !o[s].neg && !o[s].abs && !o[s].inv;
        if (plain && o[s].kind == SASS_REG && o[s].reg == mem->reg && mem->reg != SASS_RZ)
            found |= 1;
        else if (plain && o[s].kind == SASS_UREG && o[s].reg == mem->ureg)
            found |= 2;
        else if (!sass_is_zero(&o[s]))
            return false;
    }
    return found == 3;
}

/* From sm_90 on the load adds a uniform register, and the swap has the sum in a register, made before the loop. */
static bool is_sum_before(const struct sass_lift *l, uint32_t k, uint32_t end, const struct sass_operand *mem,
                          const struct sass_operand *sum)
{
    if (sum->ureg != SASS_RZ || mem->ureg == SASS_RZ || sum->value != mem->value || sass_is_entered(l, k, end))
        return false;
    for (uint32_t at = k; at > 0; at--) {
        const struct sass_insn *i = &l->insns[at - 1];
        const struct sass_operand *d = &i->opnd[SASS_D];
        if (is_sum(i, sum, mem))
            return !overlap(d, mem);
        if (overlap(d, sum) || overlap(d, mem) || (d->kind == SASS_UREG && d->reg <= mem->ureg && mem->ureg <= d->reg + 3) ||
            overlap(&i->opnd[SASS_D2], sum) || overlap(&i->opnd[SASS_D2], mem) || l->leader[at - 1] || i->op == SASS_CALL ||
            sass_never_falls(l, i))
            return false;
    }
    return false;
}

static bool same_place(const struct sass_lift *l, uint32_t k, uint32_t end)
{
    const struct sass_insn *load = &l->insns[k], *swap = &l->insns[k + SWAP];
    const struct sass_operand *a = &load->opnd[SASS_M], *b = &swap->opnd[SASS_M];
    if (a->kind != SASS_MEM || b->kind != SASS_MEM || load->mod[SASS_F_SCALE] != swap->mod[SASS_F_SCALE])
        return false;
    return (a->reg == b->reg && a->ureg == b->ureg && a->value == b->value) ||
           (load->mod[SASS_F_SCALE] <= SASS_SCALE_X1 && is_sum_before(l, k, end, a, b));
}

/* The addition: it takes the old value as it is, and what else it takes stays as it is. */
static bool adds(struct swap_loop *s)
{
    const struct sass_operand *o = s->i[ADD].opnd, *old = &s->i[LOAD].opnd[SASS_D], *d = &o[SASS_D];
    enum sass_slot second = s->wide ? SASS_C : SASS_B;
    if (!sass_is_plain(&s->i[ADD], s->wide ? SASS_DADD : SASS_FADD, NULL))
        return false;
    s->addend = is_register(&o[second], old->reg) ? SASS_A : second;
    const struct sass_operand *sum = &o[s->addend == SASS_A ? second : SASS_A], *addend = &o[s->addend];
    return is_register(sum, old->reg) && !overlap(addend, old) && !overlap(addend, d) && !overlap(d, old) && sass_writes(d) &&
           sass_writes(old);
}

static bool swaps(const struct swap_loop *s)
{
    const struct sass_operand *o = s->i[SWAP].opnd, *old = &s->i[LOAD].opnd[SASS_D], *sum = &s->i[ADD].opnd[SASS_D];
    unsigned type = s->i[SWAP].mod[SASS_F_ATYPE];
    static const enum sass_field known[4] = { SASS_F_CAS, SASS_F_ATYPE, SASS_F_SCALE, SASS_F_SCALE };
    return sass_is_plain(&s->i[SWAP], SASS_ATOMS, known) && s->i[SWAP].mod[SASS_F_CAS] == SASS_CAS_CAST_SPIN &&
           (type == SASS_ATYPE_64) == s->wide && (s->wide || !type || type == SASS_ATYPE_U32) &&
           is_register(&o[SASS_B], old->reg) && is_register(&o[SASS_C], sum->reg) && sass_writes(&o[SASS_D]) &&
           !overlap(&o[SASS_D], old) && !overlap(&o[SASS_D], &s->i[ADD].opnd[s->addend]);
}

/* The question whether register `reg` is `value`; of the high words `low` is what the other one found. */
static bool compares(const struct sass_insn *i, unsigned reg, int64_t value, const struct sass_operand *low)
{
    const struct sass_operand *o = i->opnd;
    static const enum sass_field known[4] = { SASS_F_CMP, SASS_F_TYPE, SASS_F_BOOL, SASS_F_EX };
    return sass_is_plain(i, SASS_ISETP, known) && i->mod[SASS_F_CMP] == SASS_CMP_EQ && i->mod[SASS_F_BOOL] == SASS_BOOL_AND &&
           !i->mod[SASS_F_EX] == !low && sass_writes(&o[SASS_P]) && !sass_writes(&o[SASS_Q]) && is_register(&o[SASS_A], reg) &&
           is_number(&o[SASS_B], value) && sass_is_true(&o[SASS_S]) &&
           (!low || (o[SASS_U].kind == SASS_PRED && o[SASS_U].reg == low->reg && !o[SASS_U].inv));
}

static bool leads_back(const struct sass_lift *l, const struct sass_insn *i, const struct sass_operand *p, uint32_t to)
{
    struct sass_insn plain = *i;
    plain.guard = SASS_PT;
    plain.guard_inv = false;
    return sass_is_plain(&plain, SASS_BRA, NULL) && i->guard == p->reg && i->guard_inv && !i->guard_uniform &&
           (i->opnd[SASS_S].kind == SASS_NONE || sass_is_true(&i->opnd[SASS_S])) && !sass_is_question(l, i) &&
           i->opnd[SASS_J].kind == SASS_TARGET && i->opnd[SASS_J].value == (int64_t)to * SASS_INSN_SIZE;
}

static struct swap_loop find(const struct sass_lift *l, uint32_t k)
{
    static const enum sass_field known[4] = { SASS_F_U, SASS_F_SIZE, SASS_F_SCALE, SASS_F_SCALE };
    const struct swap_loop none = { .n = 0 };
    if (l->insns[k].op != SASS_LDS)
        return none;
    struct swap_loop s = { .i = &l->insns[k], .wide = l->insns[k].mod[SASS_F_SIZE] == SASS_SIZE_64 };
    uint32_t end = k + COMPARE + 1 + s.wide;
    if (end >= l->n || l->handles)
        return none;
    for (uint32_t at = k + 1; at <= end; at++)
        if (l->leader[at])
            return none;
    const struct sass_operand *swapped = &s.i[SWAP].opnd[SASS_D], *low = &s.i[COMPARE].opnd[SASS_P];
    bool found = sass_is_plain(s.i, SASS_LDS, known) && (s.wide || s.i->mod[SASS_F_SIZE] == SASS_SIZE_32) && adds(&s) &&
                 swaps(&s) && !overlap(&s.i->opnd[SASS_M], &s.i->opnd[SASS_D]) &&
                 !overlap(&s.i->opnd[SASS_M], &s.i[ADD].opnd[SASS_D]) && !overlap(&s.i->opnd[SASS_M], swapped) &&
                 compares(&s.i[COMPARE], swapped->reg, 1, NULL) &&
                 (!s.wide || compares(&s.i[COMPARE_HIGH], swapped->reg + 1u, 0, low)) && same_place(l, k, end) &&
                 !overlap(&s.i[SWAP].opnd[SASS_M], &s.i->opnd[SASS_D]) && !overlap(&s.i[SWAP].opnd[SASS_M], swapped) &&
                 !overlap(&s.i[SWAP].opnd[SASS_M], &s.i[ADD].opnd[SASS_D]) &&
                 leads_back(l, &l->insns[end], &l->insns[end - 1].opnd[SASS_P], k);
    s.n = found ? end + 1 - k : 0;
    return s;
}

uint32_t sass_swap_loop(const struct sass_lift *l, uint32_t k)
{
    return find(l, k).n;
}

void sass_emit_swap_loop(struct sass_lift *l, uint32_t k)
{
    struct swap_loop s = find(l, k);
    const char *space;
    bool point = false;
    for (uint32_t at = k; at < k + s.n; at++) {
        point = point || l->in_step[at];
        sass_turns_after(l, &l->insns[at]);
    }
    sass_line_begin(l, k);
    if (point)
        sass_step(l, ".pragma \"anywarp in step\"");
    l->at = &s.i[ADD];
    struct sass_text value = s.wide ? sass_in_register(l, sass_f64(l, &s.i[ADD].opnd[s.addend]), 'w')
                                    : sass_in_register(l, sass_f32(l, &s.i[ADD].opnd[s.addend]), 't');
    l->at = &s.i[LOAD];
    struct sass_text a = sass_access_address(l, &s.i[LOAD], SASS_IN_SHARED, &space);
    struct sass_text old = s.wide ? sass_temp(l, 'w') : sass_dest(l, &s.i[LOAD].opnd[SASS_D], 0);
    sass_step(l, "atom.relaxed.cta%s.add.f%u %s, [%s], %s", space, s.wide ? 64u : 32u, old.s, a.s, value.s);
    if (s.wide)
        sass_put64(l, SASS_D, old.s);
    for (unsigned word = 0; word < 1u + s.wide; word++)
        sass_step(l, "mov.b32 %s, %u", sass_dest(l, &s.i[SWAP].opnd[SASS_D], word).s, word ? 0u : 1u);
    l->true_pred = true;
    for (unsigned which = COMPARE; which <= (s.wide ? COMPARE_HIGH : COMPARE); which++) {
        l->at = &s.i[which];
        sass_put_pred(l, SASS_P, "%always");
    }
}
