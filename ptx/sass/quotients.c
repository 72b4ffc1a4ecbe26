/* Divisions, reciprocals and square roots that are rounded to nearest: one operation again.
 *
 * There is no instruction for them.  The assembler writes an approximation and steps that make it exact, and for operands for
 * which these are not, a call of a function of its own, which it names (`$__internal_0_$__cuda_sm3x_div_rn_noftz_f32_slowpath`):
 *
 *        MUFU.RCP R9, R4
 *        FFMA R0, -R4, R9, 1
 *        FFMA R0, R9, R0, R9
 *        FCHK P0, R7, R4
 *        FFMA R9, R7, R0, RZ
 *        FFMA R6, -R4, R9, R7
 *        FFMA R9, R0, R6, R9
 *        @!P0 BRA J                 or the steps lie there, and the slow way jumps past them
 *        CALL the function          with moves around it
 *     J:
 *
 * Both ways end with the quotient in one register, so it is computed as such where both operands are at hand, and the branch
 * always goes the quick way.  What is proved of a place: the function's name, that the slow way writes the register, and that
 * what the quick way writes there is made of the steps of the table, by operations without other modifiers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "sass/lift.h"

enum { MAX_STEPS = 12, NAMES = 26, NOWHERE = UINT32_MAX };

enum step_op { END, FMA, MUL, NEG, HALF, RCP, RSQ };

/* d = x * y + z, x * y, -x, x / 2, or an approximation.  Operands: a name, after '-' negated; 1, H (0.5), E (0.375), 0 (any sign)
 * are numbers. */
struct quotient_step {
    char d;
    uint8_t op;
    char x[3], y[3], z[3];
};

/* A kind of function. */
struct quotient_helper {
    const char *name;                      /* the end of its symbol */
    const char *op;                        /* in PTX */
    bool wide;                             /* of 64 bits */
    uint8_t at;                            /* the step at which all operands are at hand; which of them: */
    char a[3], b[3];                       /* b is empty where there is one only */
    struct quotient_step steps[MAX_STEPS]; /* the result first; each name before its own step */
};

#define DIVISION(name, op)                                                                                                       \
    {                                                                                                                            \
        name, op, false, 1, "a", "-b",                                                                                           \
        {                                                                                                                        \
            { 'd', FMA, "y", "m", "q" }, { 'm', FMA, "-b", "q", "a" }, { 'q', FMA, "a", "y", "0" }, { 'y', FMA, "r", "e", "r" }, \
                { 'e', FMA, "-b", "r", "1" },                                                                                    \
            {                                                                                                                    \
                'r', RCP, "b", "", ""                                                                                            \
            }                                                                                                                    \
        }                                                                                                                        \
    }
#define RECIPROCAL(name, op)                                                                      \
    {                                                                                             \
        name, op, false, 2, "b", "",                                                              \
        {                                                                                         \
            { 'd', FMA, "r", "n", "r" }, { 'n', NEG, "e", "", "" }, { 'e', FMA, "b", "r", "-1" }, \
            {                                                                                     \
                'r', RCP, "b", "", ""                                                             \
            }                                                                                     \
        }                                                                                         \
    }
#define ROOT(name, op)                                                                                                         \
    {                                                                                                                          \
        name, op, false, 1, "a", "",                                                                                           \
        {                                                                                                                      \
            { 'd', FMA, "m", "h", "s" }, { 'm', FMA, "-s", "s", "a" }, { 's', MUL, "a", "r", "" }, { 'h', MUL, "r", "H", "" }, \
            {                                                                                                                  \
                'r', RSQ, "a", "", ""                                                                                          \
            }                                                                                                                  \
        }                                                                                                                      \
    }

static const struct quotient_helper helpers[] = {
    DIVISION("_div_rn_noftz_f32_slowpath", "div.rn.f32"),
    DIVISION("_div_rn_ftz_f32_slowpath", "div.rn.ftz.f32"),
    RECIPROCAL("_rcp_rn_f32_slowpath", "rcp.rn.f32"),
    RECIPROCAL("_rcp_rn_ftz_f32_slowpath", "rcp.rn.ftz.f32"),
    ROOT("_sqrt_rn_f32_slowpath", "sqrt.rn.f32"),
    ROOT("_sqrt_rn_ftz_f32_slowpath", "sqrt.rn.ftz.f32"),
    { "_div_rn_f64_full",
      "div.rn.f64",
      true,
      1,
      "a",
      "-b",
      { { 'd', FMA, "y", "m", "q" },
        { 'm', FMA, "-b", "q", "a" },
        { 'q', MUL, "a", "y", "" },
        { 'y', FMA, "v", "f", "v" },
        { 'f', FMA, "-b", "v", "1" },
        { 'v', FMA, "r", "g", "r" },
        { 'g', FMA, "e", "e", "e" },
        { 'e', FMA, "-b", "r", "1" },
        { 'r', RCP, "b", "", "" } } },
    { "_dblrcp_rn_slowpath_v3",
      "rcp.rn.f64",
      true,
      1,
      "-b",
      "",
      { { 'd', FMA, "v", "f", "v" },
        { 'f', FMA, "-b", "v", "1" },
        { 'v', FMA, "r", "g", "r" },
        { 'g', FMA, "e", "e", "e" },
        { 'e', FMA, "-b", "r", "1" },
        { 'r', RCP, "b", "", "" } } },
    { "_dsqrt_rn_f64_mediumpath_v1",
      "sqrt.rn.f64",
      true,
      1,
      "a",
      "",
      { { 'd', FMA, "m", "h", "s" },
        { 'm', FMA, "-s", "s", "a" },
        { 'h', HALF, "y", "", "" },
        { 's', MUL, "a", "y", "" },
        { 'y', FMA, "w", "g", "r" },
        { 'w', FMA, "e", "E", "H" },
        { 'g', MUL, "r", "e", "" },
        { 'e', FMA, "a", "-t", "1" },
        { 't', MUL, "r", "r", "" },
        { 'r', RSQ, "a", "", "" } } },
};

/* ---- Values: what a register holds at an instruction, by where it was written */

struct quotient_word {
    uint8_t kind;       /* SASS_IMM, SASS_REG, SASS_UREG, SASS_CONST; SASS_NONE: not looked at */
    uint32_t what;      /* bits; the register; the place in the bank */
    uint32_t bank, def; /* the instruction that wrote it; NOWHERE: none on the straight way */
};

struct quotient_value {
    bool known, neg, abs;
    struct quotient_word word[2];
};

struct quotient_match {
    const struct sass_lift *l;
    const struct quotient_helper *helper;
    uint32_t begin, from; /* where the block begins, and the branch that leads there; NOWHERE: none, or not it alone */
    uint32_t at;          /* the instruction of the step helper->at, and its operands in slots */
    struct sass_operand a, b;
    struct quotient_value of[NAMES]; /* by name, from 'a' on */
};

static bool writes(const struct sass_operand *d, uint8_t kind, unsigned reg)
{
    return d->kind == kind && d->reg != SASS_RZ && d->reg <= reg && reg < d->reg + (d->regs ? d->regs : 1u);
}

/* The instruction before k on the straight way, which all lanes at k have run; NOWHERE. */
static uint32_t before(const struct quotient_match *m, uint32_t k)
{
    if (k == m->begin && m->from != NOWHERE)
        return m->from;
    return !k || m->l->leader[k] ? NOWHERE : k - 1;
}

static uint32_t find_def(const struct quotient_match *m, uint32_t k, uint8_t kind, unsigned reg)
{
    while ((k = before(m, k)) != NOWHERE) {
        const struct sass_operand *o = m->l->insns[k].opnd;
        if (m->l->insns[k].undecoded || writes(&o[SASS_D], kind, reg) || writes(&o[SASS_D2], kind, reg))
            return k;
    }
    return NOWHERE;
}

/* What the instruction puts into its registers as it is; NULL. */
static const struct sass_operand *copied(const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd, *from = NULL;
    static const enum sass_field type[4] = { SASS_F_TYPE, SASS_F_TYPE, SASS_F_TYPE, SASS_F_TYPE },
                                 size[4] = { SASS_F_SIZE, SASS_F_SIZE, SASS_F_SIZE, SASS_F_SIZE };
    if (i->op == SASS_LDC || i->op == SASS_ULDC)
        return sass_is_plain(i, i->op, size) && (i->mod[SASS_F_SIZE] == SASS_SIZE_32 || i->mod[SASS_F_SIZE] == SASS_SIZE_64)
                   ? &o[SASS_A]
                   : NULL;
    if (i->opnd[SASS_D].regs > 1)
        return NULL;
    if (i->op == SASS_HFMA2 && sass_is_plain(i, SASS_HFMA2, NULL) && o[SASS_A].reg == SASS_RZ && o[SASS_B].reg == SASS_RZ &&
        o[SASS_A].kind == SASS_REG && o[SASS_B].kind == SASS_REG && o[SASS_A].neg != o[SASS_B].neg &&
        o[SASS_C].kind == SASS_IMM && o[SASS_C].half == SASS_HALF_BOTH)
        from = &o[SASS_C];
    else if ((i->op == SASS_MOV || i->op == SASS_UMOV) && sass_is_plain(i, i->op, NULL) &&
             (o[SASS_L].kind != SASS_IMM || (o[SASS_L].value & 15) == 15))
        from = &o[SASS_B];
    else if (i->op == SASS_IMAD && sass_is_plain(i, SASS_IMAD, type) && sass_is_zero(&o[SASS_A]) && !sass_writes(&o[SASS_P]))
        from = &o[SASS_C];
    return from && !from->neg && !from->abs && !from->inv ? from : NULL;
}

/* Word `which` of an operand as instruction k reads it. */
static struct quotient_word word_of(const struct quotient_match *m, uint32_t k, const struct sass_operand *o, unsigned which)
{
    struct quotient_word none = { .kind = SASS_NONE }, w;
    struct sass_operand one = *o;
    for (;;) {
        if (sass_is_zero(&one))
            return (struct quotient_word){ .kind = SASS_IMM };
        if (one.kind == SASS_IMM)
            return (struct quotient_word){ .kind = SASS_IMM, .what = (uint32_t)((uint64_t)one.value >> 32 * which) };
        if (one.kind == SASS_CONST && one.reg == SASS_RZ && one.ureg == SASS_RZ && !one.handle)
            return (struct quotient_word){ .kind = SASS_CONST, .what = (uint32_t)one.value + 4 * which, .bank = one.bank };
        if (one.kind != SASS_REG && one.kind != SASS_UREG)
            return none;
        w = (struct quotient_word){ .kind = one.kind, .what = one.reg + which };
        w.def = k = find_def(m, k, one.kind, w.what);
        const struct sass_operand *from = k == NOWHERE ? NULL : copied(&m->l->insns[k]);
        if (!from)
            return w;
        one = *from;
        which = w.what - m->l->insns[k].opnd[SASS_D].reg;
    }
}

/* Signs of numbers are in their bits. */
static struct quotient_value with_signs(struct quotient_value v, bool wide)
{
    struct quotient_word *top = &v.word[wide];
    if (top->kind == SASS_IMM && v.word[0].kind == SASS_IMM) {
        top->what = v.abs ? top->what & INT32_MAX : top->what;
        top->what ^= v.neg ? 1u << 31 : 0;
        v.neg = v.abs = false;
    }
    return v;
}

static struct quotient_value value_of(const struct quotient_match *m, uint32_t k, const struct sass_operand *o, bool wide)
{
    struct quotient_value v = { .known = true, .neg = o->neg, .abs = o->abs, .word[0] = word_of(m, k, o, 0) };
    if (wide)
        v.word[1] = word_of(m, k, o, 1);
    return with_signs(v, wide);
}

static bool same_word(const struct quotient_word *a, const struct quotient_word *b)
{
    return a->kind == b->kind && a->what == b->what && a->bank == b->bank && a->def == b->def;
}

static bool same(const struct quotient_value *a, const struct quotient_value *b, bool wide)
{
    return a->neg == b->neg && a->abs == b->abs && same_word(&a->word[0], &b->word[0]) &&
           (!wide || same_word(&a->word[1], &b->word[1]));
}

static bool is_number(const struct quotient_value *v, char name, bool wide)
{
    double number = name == 'H' ? 0.5 : name == 'E' ? 0.375 : name - '0', found;
    float narrow;
    uint64_t bits = v->word[0].what | (uint64_t)v->word[1].what << 32;
    if (v->word[0].kind != SASS_IMM || (wide && v->word[1].kind != SASS_IMM))
        return false;
    memcpy(&narrow, &v->word[0].what, sizeof narrow);
    memcpy(&found, &bits, sizeof found);
    return (wide ? found : (double)narrow) == number;
}

/* ---- Steps */

/* Whether an operand is what the step says; a name without a meaning yet gets it. */
static bool unify(struct quotient_match *m, const char *text, struct quotient_value v)
{
    if (text[0] == '-') {
        v.neg = !v.neg;
        v = with_signs(v, m->helper->wide);
        text++;
    }
    if ((text[0] >= '0' && text[0] <= '9') || text[0] == 'H' || text[0] == 'E')
        return is_number(&v, text[0], m->helper->wide);
    struct quotient_value *known = &m->of[text[0] - 'a'];
    if (known->known)
        return same(known, &v, m->helper->wide);
    *known = v;
    return true;
}

/* An approximation of 1 / b that the assembler has made itself. */
static bool is_reciprocal(const struct quotient_value *r, const struct quotient_value *b, bool wide)
{
    double x[2];
    const struct quotient_value *v[2] = { r, b };
    for (unsigned k = 0; k < 2; k++) {
        uint64_t bits = v[k]->word[0].what | (uint64_t)v[k]->word[1].what << 32;
        float narrow;
        if (v[k]->word[0].kind != SASS_IMM || (wide && v[k]->word[1].kind != SASS_IMM))
            return false;
        memcpy(&narrow, &v[k]->word[0].what, sizeof narrow);
        memcpy(&x[k], &bits, sizeof bits);
        x[k] = wide ? x[k] : (double)narrow;
    }
    return fabs(x[0] * x[1] - 1) < 1.0 / (wide ? 1 << 18 : 1 << 22);
}

/* Of 64 bits the high words; whatever the low one is, the steps make the number exact. */
static bool is_approximation(struct quotient_match *m, const struct quotient_step *s, const struct quotient_value *d,
                             uint32_t def)
{
    bool wide = m->helper->wide;
    const struct sass_insn *i = &m->l->insns[def];
    static const enum sass_field known[4] = { SASS_F_FN, SASS_F_FN, SASS_F_FN, SASS_F_FN };
    unsigned fn = s->op == RCP ? (wide ? SASS_FN_RCP64H : SASS_FN_RCP) : (wide ? SASS_FN_RSQ64H : SASS_FN_RSQ);
    if (!sass_is_plain(i, SASS_MUFU, known) || i->mod[SASS_F_FN] != fn || d->neg || d->abs)
        return false;
    if (!wide)
        return unify(m, s->x, value_of(m, def, &i->opnd[SASS_B], false));
    const struct sass_operand *o = &i->opnd[SASS_B];
    struct quotient_value *x = &m->of[s->x[0] - 'a'];
    struct quotient_word high = word_of(m, def, o, 0);
    if (high.kind == SASS_IMM) {
        high.what ^= o->neg ? 1u << 31 : 0;
        return same_word(&high, &x->word[1]);
    }
    return same_word(&high, &x->word[1]) && o->neg == x->neg && o->abs == x->abs;
}

/* The low word as it is, one less in the high word's exponent. */
static bool is_half(struct quotient_match *m, const struct quotient_step *s, const struct quotient_value *d)
{
    struct quotient_value x = { .known = true, .word[0] = d->word[0] };
    uint32_t def = d->word[1].def;
    if (d->neg || d->abs || d->word[1].kind != SASS_REG || def == NOWHERE)
        return false;
    const struct sass_insn *i = &m->l->insns[def];
    const struct sass_operand *o = i->opnd;
    if (!sass_is_plain(i, i->op, NULL) || (i->op != SASS_IADD3 && i->op != SASS_VIADD) || !sass_is_zero(&o[SASS_C]) ||
        sass_writes(&o[SASS_P]) || sass_writes(&o[SASS_Q]) || o[SASS_B].kind != SASS_IMM ||
        (uint32_t)o[SASS_B].value != 0xfff00000u || o[SASS_A].neg || o[SASS_A].inv)
        return false;
    x.word[1] = word_of(m, def, &o[SASS_A], 0);
    return unify(m, s->x, x);
}

/* Is it this operation of the helper's type, rounded to nearest?  Whether subnormals are flushed matters to operands alone for
 * which the slow way is there. */
static bool is_operation(const struct quotient_match *m, const struct sass_insn *i, unsigned op)
{
    static const uint8_t narrow[] = { [FMA] = SASS_FFMA, [MUL] = SASS_FMUL, [NEG] = SASS_FADD },
                         wide[] = { [FMA] = SASS_DFMA, [MUL] = SASS_DMUL, [NEG] = SASS_DADD };
    static const enum sass_field known[4] = { SASS_F_FTZ, SASS_F_FTZ, SASS_F_FTZ, SASS_F_FTZ };
    return op < sizeof narrow && sass_is_plain(i, m->helper->wide ? wide[op] : narrow[op], known);
}

static bool steps_match(struct quotient_match *m, unsigned k);

/* The operation at `def` with its factors in this order, and all steps behind it. */
static bool operation_matches(struct quotient_match *m, unsigned k, uint32_t def, enum sass_slot x, enum sass_slot y)
{
    const struct quotient_step *s = &m->helper->steps[k];
    const struct sass_operand *o = m->l->insns[def].opnd;
    bool wide = m->helper->wide;
    struct quotient_match saved = *m;
    if (k == m->helper->at) {
        m->at = def;
        m->a = o[!strcmp(s->x, m->helper->a) ? x : SASS_C];
        m->b = o[x];
        m->a.neg ^= m->helper->a[0] == '-';
        m->b.neg ^= m->helper->b[0] == '-';
    }
    if (unify(m, s->x, value_of(m, def, &o[x], wide)) && (!s->y[0] || unify(m, s->y, value_of(m, def, &o[y], wide))) &&
        (!s->z[0] || unify(m, s->z, value_of(m, def, &o[SASS_C], wide))) && steps_match(m, k + 1))
        return true;
    *m = saved;
    return false;
}

static bool steps_match(struct quotient_match *m, unsigned k)
{
    const struct quotient_step *s = &m->helper->steps[k];
    if (k == MAX_STEPS || s->op == END)
        return true;
    const struct quotient_value *d = &m->of[s->d - 'a'];
    if ((s->op == RCP) && is_reciprocal(d, &m->of[s->x[0] - 'a'], m->helper->wide))
        return steps_match(m, k + 1);
    const struct quotient_word *made = &d->word[m->helper->wide];
    if (made->kind != SASS_REG || made->def == NOWHERE)
        return false;
    if (s->op == RCP || s->op == RSQ)
        return is_approximation(m, s, d, made->def) && steps_match(m, k + 1);
    if (s->op == HALF)
        return is_half(m, s, d) && steps_match(m, k + 1);
    const struct sass_insn *i = &m->l->insns[made->def];
    bool whole = !m->helper->wide || (d->word[0].kind == SASS_REG && d->word[0].def == made->def &&
                                      i->opnd[SASS_D].reg == d->word[0].what && i->opnd[SASS_D].regs == 2);
    if (!whole || d->neg || d->abs || !is_operation(m, i, s->op))
        return false;
    if (s->op != NEG)
        return operation_matches(m, k, made->def, SASS_A, SASS_B) || operation_matches(m, k, made->def, SASS_B, SASS_A);
    struct quotient_value x = value_of(m, made->def, &i->opnd[SASS_A], m->helper->wide);
    x.neg = !x.neg;
    return sass_is_zero(&i->opnd[SASS_B]) && i->opnd[SASS_B].neg && unify(m, s->x, x) && steps_match(m, k + 1);
}

/* ---- Places */

static const struct quotient_helper *helper_at(const struct sass_lift *l, uint32_t index, uint32_t *ret_end)
{
    for (uint32_t f = 0; f < l->n_functions; f++) {
        uint32_t s = l->functions[f], place;
        struct aw_str name = l->cubin->symbols[s].name;
        if (!sass_place_of(l, s, 0, &place) || place != index * SASS_INSN_SIZE || !aw_str_starts(name, "$__internal_"))
            continue;
        *ret_end = index + (uint32_t)(l->cubin->symbols[s].size / SASS_INSN_SIZE);
        for (size_t k = 0; k < sizeof helpers / sizeof *helpers; k++) {
            size_t n = strlen(helpers[k].name);
            if (name.len > n && !memcmp(name.ptr + name.len - n, helpers[k].name, n))
                return &helpers[k];
        }
    }
    return NULL;
}

static bool changes_way(const struct sass_insn *i)
{
    return i->undecoded || i->op == SASS_BRA || i->op == SASS_BRX || i->op == SASS_BRXU || i->op == SASS_CALL ||
           i->op == SASS_RET || i->op == SASS_EXIT || i->op == SASS_KILL || i->op == SASS_JMP || i->op == SASS_BSYNC ||
           i->op == SASS_BREAK;
}

/* A call of a helper, the branch around it, and the quick way. */
struct quotient_place {
    uint32_t call, branch, end; /* end: the quick way goes on there, or jumps to the other one's end */
    uint32_t quick;             /* where the quick way begins: the branch's target, or the block that the branch ends */
    uint32_t helper, helper_end;
};

/* Where the slow way goes on behind the call, from its last instruction; NOWHERE. */
static uint32_t behind_call(const struct sass_lift *l, uint32_t call, uint32_t target)
{
    uint32_t to;
    for (uint32_t k = call + 1; k < l->n; k++) {
        const struct sass_insn *i = &l->insns[k];
        if (k == target)
            return k;
        if (i->op == SASS_BRA && sass_never_falls(l, i) && sass_target_index(l, i->opnd[SASS_J].value, &to))
            return to;
        if (changes_way(i) || (l->leader[k] && k != call + 1))
            return NOWHERE;
    }
    return NOWHERE;
}

static bool find_place(const struct sass_lift *l, struct quotient_place *p)
{
    uint32_t k = p->call, target;
    while (k && !l->leader[k] && !changes_way(&l->insns[k - 1]))
        k--;
    p->branch = k - 1;
    const struct sass_insn *i = &l->insns[p->branch];
    if (!k || l->leader[k] || i->op != SASS_BRA || sass_never_falls(l, i) || sass_is_question(l, i) || i->mod[SASS_F_ANY] ||
        !sass_target_index(l, i->opnd[SASS_J].value, &target) || target <= p->call)
        return false;
    uint32_t join = behind_call(l, p->call, target);
    p->quick = target;
    p->end = join;
    if (join != target)
        return join != NOWHERE && join > target;
    p->end = p->branch;
    p->quick = p->branch;
    while (p->quick && !l->leader[p->quick] && !changes_way(&l->insns[p->quick - 1]))
        p->quick--;
    return true;
}

/* Does the quick way lead to where the slow one does, and nowhere else? */
static bool joins(const struct sass_lift *l, const struct quotient_place *p)
{
    uint32_t k = p->quick, to;
    if (p->end == p->branch)
        return true;
    while (k < p->end && !changes_way(&l->insns[k]) && (k == p->quick || !l->leader[k]))
        k++;
    return k == p->end || (l->insns[k].op == SASS_BRA && sass_never_falls(l, &l->insns[k]) &&
                           sass_target_index(l, l->insns[k].opnd[SASS_J].value, &to) && to == p->end);
}

/* Does the slow way put something into the register: the helper, or what comes behind it? */
static bool slow_writes(const struct sass_lift *l, const struct quotient_place *p, unsigned reg)
{
    for (uint32_t k = p->helper; k < p->helper_end && k < l->n; k++)
        if (writes(&l->insns[k].opnd[SASS_D], SASS_REG, reg))
            return true;
    for (uint32_t k = p->call + 1; k < l->n && !changes_way(&l->insns[k]) && (k == p->call + 1 || !l->leader[k]); k++)
        if (writes(&l->insns[k].opnd[SASS_D], SASS_REG, reg))
            return true;
    return false;
}

/* Is what instruction k writes still there where the quick way ends? */
static bool stays(const struct sass_lift *l, const struct quotient_place *p, uint32_t k)
{
    const struct sass_operand *d = &l->insns[k].opnd[SASS_D];
    for (uint32_t at = k + 1; at < p->end && !changes_way(&l->insns[at]); at++)
        for (unsigned reg = d->reg; reg < d->reg + (d->regs ? d->regs : 1u); reg++)
            if (writes(&l->insns[at].opnd[SASS_D], SASS_REG, reg) || writes(&l->insns[at].opnd[SASS_D2], SASS_REG, reg))
                return false;
    return true;
}

static bool matches(struct quotient_match *m, const struct quotient_place *p, uint32_t k)
{
    const struct sass_insn *i = &m->l->insns[k];
    const struct sass_operand *d = &i->opnd[SASS_D];
    if (!is_operation(m, i, FMA) || !sass_writes(d) || !stays(m->l, p, k))
        return false;
    for (unsigned w = 0; w <= m->helper->wide; w++)
        if (!slow_writes(m->l, p, d->reg + w))
            return false;
    memset(m->of, 0, sizeof m->of);
    m->of['d' - 'a'] = (struct quotient_value){ .known = true,
                                                .word = { { SASS_REG, d->reg, 0, k }, { SASS_REG, d->reg + 1u, 0, k } } };
    if (!steps_match(m, 0))
        return false;
    for (uint32_t at = m->at + 1; at <= k; at++)
        if (m->l->leader[at])
            return false;
    return true;
}

static void note(struct sass_lift *l, const struct quotient_match *m, const struct quotient_place *p, uint32_t end)
{
    struct sass_quotient *q = &l->quotients[l->n_quotients++];
    *q = (struct sass_quotient){ .at = m->at,
                                 .end = end,
                                 .branch = p->branch,
                                 .op = m->helper->op,
                                 .wide = m->helper->wide,
                                 .two = m->helper->b[0],
                                 .a = m->a,
                                 .b = m->b };
    l->quotient_of[m->at] |= SASS_QUOTIENT_AT;
    l->quotient_of[end] |= SASS_QUOTIENT_END;
    l->quotient_of[p->branch] |= SASS_QUOTIENT_BRANCH;
}

static void find_quotient(struct sass_lift *l, uint32_t call)
{
    struct quotient_place p = { .call = call };
    struct quotient_match m = { .l = l, .from = NOWHERE };
    if (!sass_called(l, &l->insns[call], &p.helper) || sass_guarded(&l->insns[call]) ||
        !(m.helper = helper_at(l, p.helper, &p.helper_end)) || !find_place(l, &p) || !joins(l, &p))
        return;
    m.begin = p.quick;
    if (p.end != p.branch && !sass_is_entered(l, p.quick, p.branch) && sass_never_falls(l, &l->insns[p.quick - 1]))
        m.from = p.branch;
    for (uint32_t k = p.quick; k < p.end && !(k > p.quick && l->leader[k]) && !changes_way(&l->insns[k]); k++)
        if (matches(&m, &p, k)) {
            note(l, &m, &p, k);
            return;
        }
}

void sass_find_quotients(struct sass_lift *l)
{
    uint32_t calls = 0;
    for (uint32_t j = 0; j < l->n_jumps; j++)
        calls += l->insns[l->jumps[j]].op == SASS_CALL;
    l->quotients = AW_NEW_ARRAY(&l->arena, struct sass_quotient, calls + 1);
    if (l->arena.failed) {
        l->status = AW_ERR_OUT_OF_MEMORY;
        return;
    }
    for (uint32_t j = 0; j < l->n_jumps; j++)
        if (l->insns[l->jumps[j]].op == SASS_CALL)
            find_quotient(l, l->jumps[j]);
}

/* ---- Text */

static struct sass_quotient *quotient(struct sass_lift *l, uint32_t k, bool end)
{
    for (uint32_t q = 0; q < l->n_quotients; q++)
        if ((end ? l->quotients[q].end : l->quotients[q].at) == k)
            return &l->quotients[q];
    return NULL;
}

void sass_quotient_before(struct sass_lift *l, const struct sass_insn *i)
{
    uint32_t k = i->offset / SASS_INSN_SIZE;
    if (!(l->quotient_of[k] & SASS_QUOTIENT_AT))
        return;
    struct sass_quotient *q = quotient(l, k, false);
    struct sass_text a = q->wide ? sass_f64(l, &q->a) : sass_f32(l, &q->a), b = sass_format("%s", "");
    if (q->two)
        b = q->wide ? sass_f64(l, &q->b) : sass_f32(l, &q->b);
    q->value = sass_temp(l, q->wide ? 'w' : 't');
    sass_step(l, "%s %s, %s%s%s", q->op, q->value.s, a.s, q->two ? ", " : "", b.s);
}

bool sass_quotient_end(struct sass_lift *l, const struct sass_insn *i)
{
    uint32_t k = i->offset / SASS_INSN_SIZE;
    if (!(l->quotient_of[k] & SASS_QUOTIENT_END))
        return false;
    const struct sass_quotient *q = quotient(l, k, true);
    sass_look_all(l);
    if (q->wide)
        sass_put64(l, SASS_D, q->value.s);
    else
        sass_put(l, SASS_D, q->value.s);
    return true;
}
