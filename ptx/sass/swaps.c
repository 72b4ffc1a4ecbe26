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
 * and of one that adds integers of 64 bits, or combines their bits, with two instructions in the middle: IADD3 and IADD3.X (or
 * IMAD.X by 1), or two of LOP3.
 *
 * Lanes of a warp that mean one place take a round each there.  Here it is the atomic again, which says what is meant: behind it
 * R8 is what was in memory, R9 is 1 and P1 is true.  Loops with anything else in them stay loops. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sass/access.h"

enum { LOAD, OPERATION, OPERATION_HIGH };

/* The loop from an instruction on. */
struct swap_loop {
    uint32_t n; /* instructions, with the branch; 0: there is none */
    bool wide;  /* 64 bits */
    const struct sass_insn *i, *swap, *compare; /* compare: of 64 bits, two */
    const char *name;                           /* of the atomic operation: add.f32 */
    const struct sass_operand *by, *by_high;    /* what it is given; by_high: of an integer's, or NULL */
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
    if ((!sass_is_plain(i, SASS_IADD3, NULL) && !sass_is_plain(i, SASS_VIADD, NULL)) || !is_register(&o[SASS_D], d->reg))
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

static bool same_place(const struct sass_lift *l, uint32_t k, uint32_t end, const struct sass_insn *swap)
{
    const struct sass_insn *load = &l->insns[k];
    const struct sass_operand *a = &load->opnd[SASS_M], *b = &swap->opnd[SASS_M];
    if (a->kind != SASS_MEM || b->kind != SASS_MEM || load->mod[SASS_F_SCALE] != swap->mod[SASS_F_SCALE])
        return false;
    return (a->reg == b->reg && a->ureg == b->ureg && a->value == b->value) ||
           (load->mod[SASS_F_SCALE] <= SASS_SCALE_X1 && is_sum_before(l, k, end, a, b));
}

/* The addition: it takes the old value as it is, and what else it takes stays as it is. */
static bool adds(struct swap_loop *s)
{
    const struct sass_operand *o = s->i[OPERATION].opnd, *old = &s->i[LOAD].opnd[SASS_D], *d = &o[SASS_D];
    enum sass_slot second = s->wide ? SASS_C : SASS_B;
    if (!sass_is_plain(&s->i[OPERATION], s->wide ? SASS_DADD : SASS_FADD, NULL))
        return false;
    bool first = is_register(&o[second], old->reg);
    s->by = &o[first ? SASS_A : second];
    s->name = s->wide ? "add.f64" : "add.f32";
    return is_register(&o[first ? second : SASS_A], old->reg) && !overlap(s->by, old) && !overlap(s->by, d) &&
           !overlap(d, old) && sass_writes(d) && sass_writes(old);
}

/* Of a sum, or of bits, of register `old` and one other operand: that one; or NULL. */
static const struct sass_operand *other_of(const struct sass_insn *i, unsigned old)
{
    const struct sass_operand *found = NULL, *zero = &i->opnd[SASS_B], *other = NULL;
    bool product = i->op == SASS_IMAD, nothing = product && sass_is_zero(zero); /* times 1, or 0 */
    for (int k = SASS_A; k <= SASS_C; k++) {
        const struct sass_operand *o = &i->opnd[k];
        if (product && (k == SASS_B || (k == SASS_A && nothing)))
            continue;
        if (o->neg || o->abs || o->inv)
            return NULL;
        if (!found && is_register(o, old) && old != SASS_RZ)
            found = o;
        else if (sass_is_zero(o))
            zero = o;
        else if (other)
            return NULL;
        else
            other = o;
    }
    return !found ? NULL : other ? other : zero;
}

/* The words of an integer's sum: the low one says whether it carries, the high one takes that. */
static bool sums_words(const struct swap_loop *s)
{
    static const enum sass_field known[4] = { SASS_F_X, SASS_F_TYPE, SASS_F_X, SASS_F_X };
    const struct sass_insn *low = &s->i[OPERATION], *high = &s->i[OPERATION_HIGH];
    const struct sass_operand *carry = &low->opnd[SASS_P], *in = &high->opnd[SASS_S];
    bool carries = sass_is_plain(low, SASS_IADD3, known) && !low->mod[SASS_F_X] && !sass_writes(&low->opnd[SASS_Q]) &&
                   sass_writes(carry) && carry->kind == SASS_PRED && carry->reg == s->compare->opnd[SASS_P].reg;
    bool sum = sass_is_plain(high, SASS_IADD3, known) && sass_is_false(&high->opnd[SASS_T]);
    bool product = sass_is_plain(high, SASS_IMAD, known) &&
                   (is_number(&high->opnd[SASS_B], 1) || sass_is_zero(&high->opnd[SASS_B]));
    return carries && (sum || product) && high->mod[SASS_F_X] && !sass_writes(&high->opnd[SASS_P]) &&
           !sass_writes(&high->opnd[SASS_Q]) && in->kind == SASS_PRED && in->reg == carry->reg && !in->inv;
}

static bool combines_word(const struct swap_loop *s, bool high, int64_t table)
{
    const struct sass_insn *i = &s->i[OPERATION + high];
    const struct sass_operand *o = i->opnd;
    return sass_is_plain(i, SASS_LOP3, NULL) && !sass_writes(&o[SASS_P]) && sass_is_zero(&o[SASS_C]) &&
           o[SASS_L].kind == SASS_IMM && (o[SASS_L].value & 255) == table;
}

/* The same of integers of 64 bits, word by word.  The carry's predicate is the one that is written next. */
static bool combines(struct swap_loop *s)
{
    static const struct {
        int64_t table;
        const char *name;
    } bits[] = { { 0xc0, "and.b64" }, { 0xfc, "or.b64" }, { 0x3c, "xor.b64" } };
    const struct sass_operand *old = &s->i[LOAD].opnd[SASS_D], *low = &s->i[OPERATION].opnd[SASS_D];
    const struct sass_operand *high = &s->i[OPERATION_HIGH].opnd[SASS_D], both = { .kind = SASS_REG, .reg = low->reg, .regs = 2 };
    s->name = sums_words(s) ? "add.u64" : NULL;
    for (size_t k = 0; k < sizeof bits / sizeof *bits && !s->name; k++)
        s->name = combines_word(s, false, bits[k].table) && combines_word(s, true, bits[k].table) ? bits[k].name : NULL;
    if (!s->wide || !s->name || !sass_writes(low) || !is_register(high, low->reg + 1u) || !sass_writes(old))
        return false;
    s->by = other_of(&s->i[OPERATION], old->reg);
    s->by_high = other_of(&s->i[OPERATION_HIGH], old->reg + 1u);
    return s->by && s->by_high && !overlap(s->by, old) && !overlap(s->by, &both) && !overlap(s->by_high, old) &&
           !overlap(s->by_high, &both) && !overlap(&both, old);
}

static bool swaps(const struct swap_loop *s)
{
    const struct sass_operand *o = s->swap->opnd, *old = &s->i[LOAD].opnd[SASS_D], *sum = &s->i[OPERATION].opnd[SASS_D];
    unsigned type = s->swap->mod[SASS_F_ATYPE];
    static const enum sass_field known[4] = { SASS_F_CAS, SASS_F_ATYPE, SASS_F_SCALE, SASS_F_SCALE };
    return sass_is_plain(s->swap, SASS_ATOMS, known) && s->swap->mod[SASS_F_CAS] == SASS_CAS_CAST_SPIN &&
           (type == SASS_ATYPE_64) == s->wide && (s->wide || !type || type == SASS_ATYPE_U32) &&
           is_register(&o[SASS_B], old->reg) && is_register(&o[SASS_C], sum->reg) && sass_writes(&o[SASS_D]) &&
           !overlap(&o[SASS_D], old) && !overlap(&o[SASS_D], s->by) && !(s->by_high && overlap(&o[SASS_D], s->by_high));
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

/* Where the words of the new value lie. */
static struct sass_operand made(const struct swap_loop *s)
{
    return (struct sass_operand){ .kind = SASS_REG, .reg = s->i[OPERATION].opnd[SASS_D].reg, .regs = s->wide ? 2 : 1 };
}

static struct swap_loop find(const struct sass_lift *l, uint32_t k)
{
    static const enum sass_field known[4] = { SASS_F_U, SASS_F_SIZE, SASS_F_SCALE, SASS_F_SCALE };
    const struct swap_loop none = { .n = 0 };
    if (l->insns[k].op != SASS_LDS || k + OPERATION_HIGH >= l->n)
        return none;
    struct swap_loop s = { .i = &l->insns[k], .wide = l->insns[k].mod[SASS_F_SIZE] == SASS_SIZE_64 };
    bool two = s.wide && s.i[OPERATION].op != SASS_DADD;
    s.swap = s.i + OPERATION + 1 + two;
    s.compare = s.swap + 1;
    uint32_t end = k + OPERATION + 3 + two + s.wide;
    if (end >= l->n || l->handles)
        return none;
    for (uint32_t at = k + 1; at <= end; at++)
        if (l->leader[at])
            return none;
    const struct sass_operand *swapped = &s.swap->opnd[SASS_D], *low = &s.compare->opnd[SASS_P], sum = made(&s);
    const struct sass_operand *from = &s.i->opnd[SASS_M], *to = &s.swap->opnd[SASS_M];
    bool found = sass_is_plain(s.i, SASS_LDS, known) && (s.wide || s.i->mod[SASS_F_SIZE] == SASS_SIZE_32) &&
                 (two ? combines(&s) : adds(&s)) && swaps(&s) && !overlap(from, &s.i->opnd[SASS_D]) && !overlap(from, &sum) &&
                 !overlap(from, swapped) && compares(s.compare, swapped->reg, 1, NULL) &&
                 (!s.wide || compares(s.compare + 1, swapped->reg + 1u, 0, low)) && same_place(l, k, end, s.swap) &&
                 !overlap(to, &s.i->opnd[SASS_D]) && !overlap(to, swapped) && !overlap(to, &sum) &&
                 leads_back(l, &l->insns[end], &l->insns[end - 1].opnd[SASS_P], k);
    s.n = found ? end + 1 - k : 0;
    return s;
}

uint32_t sass_swap_loop(const struct sass_lift *l, uint32_t k)
{
    return find(l, k).n;
}

/* What the atomic is given, in a register of its size. */
static struct sass_text given(struct sass_lift *l, const struct swap_loop *s)
{
    l->at = &s->i[OPERATION];
    if (!s->by_high)
        return s->wide ? sass_in_register(l, sass_f64(l, s->by), 'w') : sass_in_register(l, sass_f32(l, s->by), 't');
    struct sass_text low = sass_int(l, s->by);
    l->at = &s->i[OPERATION_HIGH];
    struct sass_text high = sass_int(l, s->by_high), both = sass_temp(l, 'w');
    sass_step(l, "mov.b64 %s, {%s, %s}", both.s, low.s, high.s);
    return both;
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
    struct sass_text value = given(l, &s);
    l->at = &s.i[LOAD];
    struct sass_text a = sass_access_address(l, &s.i[LOAD], SASS_IN_SHARED, &space);
    struct sass_text old = s.wide ? sass_temp(l, 'w') : sass_dest(l, &s.i[LOAD].opnd[SASS_D], 0);
    sass_step(l, "atom.relaxed.cta%s.%s %s, [%s], %s", space, s.name, old.s, a.s, value.s);
    if (s.wide)
        sass_put64(l, SASS_D, old.s);
    for (unsigned word = 0; word < 1u + s.wide; word++)
        sass_step(l, "mov.b32 %s, %u", sass_dest(l, &s.swap->opnd[SASS_D], word).s, word ? 0u : 1u);
    l->true_pred = true;
    for (unsigned which = 0; which < 1u + s.wide; which++) {
        l->at = &s.compare[which];
        sass_put_pred(l, SASS_P, "%always");
    }
}
