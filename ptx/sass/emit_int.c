/* Integers: sums with carries, products, shifts, logic, comparisons. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "sass/lift.h"

static bool is_signed(struct sass_lift *l)
{
    return sass_mod(l, SASS_F_TYPE) == SASS_TYPE_S32 || sass_mod(l, SASS_F_TYPE) == SASS_TYPE_S64;
}

/* ---- Sums */

/* What is negated counts in a sum that has a carry out as ~x + 1, in 64 bits, so that subtracting carries unless it borrows. */
static struct sass_text minus64(struct sass_lift *l, const char *x)
{
    struct sass_text t = sass_temp(l, 't'), one = sass_temp(l, 'w');
    sass_step(l, "not.b32 %s, %s", t.s, x);
    sass_step(l, "add.u64 %s, %s, 1", one.s, sass_widen(l, t.s).s);
    return one;
}

/* An addend of such a sum. */
static struct sass_text addend(struct sass_lift *l, const struct sass_operand *o)
{
    struct sass_operand plain = *o;
    plain.neg = plain.inv = false;
    struct sass_text v = sass_raw(l, &plain);
    if (o->neg)
        return minus64(l, v.s);
    if (o->inv) {
        struct sass_text t = sass_temp(l, 't');
        sass_step(l, "not.b32 %s, %s", t.s, v.s);
        v = t;
    }
    return sass_widen(l, v.s);
}

static struct sass_text add64(struct sass_lift *l, struct sass_text a, struct sass_text b)
{
    struct sass_text w = sass_temp(l, 'w');
    sass_step(l, "add.u64 %s, %s, %s", w.s, a.s, b.s);
    return w;
}

/* d = the low word of a sum below 2^34, p and q: that it is at least 2^32, 2^33. */
static void put_sum(struct sass_lift *l, const struct sass_insn *i, struct sass_text sum)
{
    static const char *const limits[] = { "4294967295", "8589934591" };
    struct sass_text carry[2];
    for (int k = 0; k < 2; k++)
        if (sass_writes(&i->opnd[SASS_P + k])) {
            carry[k] = sass_temp(l, 'q');
            sass_step(l, "setp.gt.u64 %s, %s, %s", carry[k].s, sum.s, limits[k]);
        }
    if (sass_writes(&i->opnd[SASS_D]))
        sass_do(l, "cvt.u32.u64 %s, %s", sass_dest(l, &i->opnd[SASS_D], 0).s, sum.s);
    for (int k = 0; k < 2; k++)
        if (sass_writes(&i->opnd[SASS_P + k]))
            sass_put_pred(l, (enum sass_slot)(SASS_P + k), carry[k].s);
}

static bool has_carry_out(const struct sass_insn *i)
{
    return sass_writes(&i->opnd[SASS_P]) || sass_writes(&i->opnd[SASS_Q]);
}

/* The carry that comes in, 0 or 1 or 2. */
static struct sass_text carry_in(struct sass_lift *l, const struct sass_insn *i)
{
    if (!sass_mod(l, SASS_F_X))
        return (struct sass_text){ "0" };
    return sass_sum(l, false, sass_bit(l, &i->opnd[SASS_S]), sass_bit(l, &i->opnd[SASS_T]));
}

void sass_emit_iadd3(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    if (sass_carry_add_high(l, i))
        return;
    sass_carry_add(l, i);
    if (has_carry_out(i)) {
        struct sass_text sum = { "" };
        for (int k = SASS_A; k <= SASS_C; k++)
            if (!sass_is_zero(&o[k]) || o[k].neg) /* -0 carries */
                sum = sum.s[0] ? add64(l, sum, addend(l, &o[k])) : addend(l, &o[k]);
        if (!sum.s[0])
            sum = sass_widen(l, "0");
        if (sass_mod(l, SASS_F_X))
            sum = add64(l, sum, sass_widen(l, carry_in(l, i).s));
        put_sum(l, i, sum);
        return;
    }
    struct sass_text sum = { "0" };
    for (int k = SASS_A; k <= SASS_C; k++)
        if (!sass_is_zero(&o[k])) {
            bool minus = o[k].neg && strcmp(sum.s, "0") != 0;
            struct sass_operand plain = o[k];
            plain.neg = o[k].neg && !minus;
            struct sass_text v = sass_int(l, &plain);
            if (!minus) {
                sum = sass_sum(l, false, sum, v);
                continue;
            }
            struct sass_text t = sass_temp(l, 't');
            sass_step(l, "sub.s32 %s, %s, %s", t.s, sum.s, v.s);
            sum = t;
        }
    sum = sass_sum(l, false, sum, carry_in(l, i));
    sass_put(l, SASS_D, sum.s);
}

void sass_emit_uiadd3_64(struct sass_lift *l, const struct sass_insn *i)
{
    struct sass_text a = sass_int64(l, sass_look(l, SASS_A)), b = sass_int64(l, sass_look(l, SASS_B)),
                     c = sass_int64(l, sass_look(l, SASS_C)), two = sass_temp(l, 'w'), sum = sass_temp(l, 'w');
    sass_step(l, "add.s64 %s, %s, %s", two.s, a.s, b.s);
    sass_step(l, "add.s64 %s, %s, %s", sum.s, two.s, c.s);
    sass_put64(l, SASS_D, sum.s);
}

void sass_emit_lea(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    unsigned shift = (unsigned)sass_look(l, SASS_L)->value & 31;
    if (sass_carry_lea_high(l, i))
        return;
    sass_carry_lea(l, i);
    struct sass_operand plain = o[SASS_A];
    bool negated = plain.neg, inverted = plain.inv, minus_carries = false;
    plain.neg = plain.inv = false;
    struct sass_text a = sass_raw(l, &plain), t = sass_temp(l, 't');
    if (sass_mod(l, SASS_F_HI)) {
        struct sass_text w, high = sass_temp(l, 'w');
        if (sass_mod(l, SASS_F_SX32)) {
            w = sass_temp(l, 'w');
            sass_step(l, "cvt.s64.s32 %s, %s", w.s, a.s);
        } else {
            w = sass_join(l, a.s, sass_raw(l, &o[SASS_C]).s);
        }
        if (negated) {
            struct sass_text minus = sass_temp(l, 'w');
            sass_step(l, "neg.s64 %s, %s", minus.s, w.s);
            w = minus;
        }
        sass_step(l, "shr.u64 %s, %s, %u", high.s, w.s, 32 - shift);
        sass_step(l, "cvt.u32.u64 %s, %s", t.s, high.s);
    } else {
        sass_step(l, "shl.b32 %s, %s, %u", t.s, a.s, shift);
        minus_carries = negated && has_carry_out(i);
        if (negated && !minus_carries) {
            struct sass_text minus = sass_temp(l, 't');
            sass_step(l, "neg.s32 %s, %s", minus.s, t.s);
            t = minus;
        }
    }
    if (inverted) {
        struct sass_text other = sass_temp(l, 't');
        sass_step(l, "not.b32 %s, %s", other.s, t.s);
        t = other;
    }
    if (has_carry_out(i)) {
        struct sass_text shifted = minus_carries ? minus64(l, t.s) : sass_widen(l, t.s),
                         sum = add64(l, shifted, addend(l, &o[SASS_B]));
        put_sum(l, i, sass_mod(l, SASS_F_X) ? add64(l, sum, sass_widen(l, carry_in(l, i).s)) : sum);
        return;
    }
    sass_put(l, SASS_D, sass_sum(l, false, sass_sum(l, false, t, sass_int(l, &o[SASS_B])), carry_in(l, i)).s);
}

/* ---- Products */

void sass_emit_imad(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    (void)sass_mod(l, SASS_F_TYPE); /* the low word is the same */
    if (has_carry_out(i)) {
        sass_fail(l, "carry");
        return;
    }
    if (sass_carry_mad_high(l, i))
        return;
    struct sass_text c = sass_sum(l, false, sass_int(l, &o[SASS_C]), carry_in(l, i));
    (void)sass_look(l, SASS_A);
    (void)sass_look(l, SASS_B);
    if (sass_is_zero(&o[SASS_A]) || sass_is_zero(&o[SASS_B])) {
        sass_put(l, SASS_D, c.s);
        return;
    }
    struct sass_text a = sass_int(l, &o[SASS_A]), b = sass_int(l, &o[SASS_B]), d = sass_dest(l, &o[SASS_D], 0);
    if (!strcmp(b.s, "1"))
        sass_put(l, SASS_D, sass_sum(l, false, a, c).s);
    else if (!strcmp(c.s, "0"))
        sass_do(l, "mul.lo.s32 %s, %s, %s", d.s, a.s, b.s);
    else
        sass_do(l, "mad.lo.s32 %s, %s, %s, %s", d.s, a.s, b.s, c.s);
}

static struct sass_text product64(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    bool sign = is_signed(l);
    (void)sass_look(l, SASS_A);
    (void)sass_look(l, SASS_B);
    if (sass_is_zero(&o[SASS_A]) || sass_is_zero(&o[SASS_B]))
        return (struct sass_text){ "0" };
    struct sass_text w = sass_temp(l, 'w');
    struct sass_operand plain = o[SASS_B];
    plain.neg = false; /* of the product: -b may not be a number of 32 bits */
    sass_step(l, "mul.wide.%s %s, %s, %s", sign ? "s32" : "u32", w.s, sass_int(l, &o[SASS_A]).s, sass_int(l, &plain).s);
    if (!o[SASS_B].neg)
        return w;
    struct sass_text minus = sass_temp(l, 'w');
    sass_step(l, "neg.s64 %s, %s", minus.s, w.s);
    return minus;
}

/* a * b + c (+ s); *ret_carry (when P is written) is the carry out of the 64-bit sums. */
static struct sass_text mad64(struct sass_lift *l, const struct sass_insn *i, struct sass_text *ret_carry)
{
    const struct sass_operand *o = i->opnd;
    bool carry = sass_writes(&o[SASS_P]);
    struct sass_text sum = product64(l, i), c = sass_int64(l, &o[SASS_C]);
    if (carry && o[SASS_B].neg)
        sass_fail(l, "carry of a negated product");
    if (carry && o[SASS_C].neg)
        sass_fail(l, "carry of a negated addend");
    struct sass_text in = carry_in(l, i), q = { "" };
    for (int k = 0; k < 2; k++) {
        struct sass_text more = k ? in : c;
        if (!strcmp(more.s, "0"))
            continue;
        more = k ? sass_widen(l, more.s) : more;
        if (!strcmp(sum.s, "0")) {
            sum = more;
            continue;
        }
        struct sass_text next = add64(l, sum, more);
        if (carry) {
            struct sass_text now = sass_temp(l, 'q');
            sass_step(l, "setp.lt.u64 %s, %s, %s", now.s, next.s, more.s);
            if (q.s[0]) {
                struct sass_text both = sass_temp(l, 'q');
                sass_step(l, "or.pred %s, %s, %s", both.s, q.s, now.s);
                now = both;
            }
            q = now;
        }
        sum = next;
    }
    if (carry && !q.s[0]) {
        l->true_pred = true;
        q = (struct sass_text){ "%never" };
    }
    *ret_carry = q;
    return sum;
}

void sass_emit_imad_wide(struct sass_lift *l, const struct sass_insn *i)
{
    struct sass_text carry, sum = mad64(l, i, &carry);
    sass_put64(l, SASS_D, sum.s);
    sass_put_pred(l, SASS_P, carry.s);
}

void sass_emit_imad_hi(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    struct sass_text d = sass_dest(l, &o[SASS_D], 0);
    if (sass_is_zero(&o[SASS_C]) && !sass_mod(l, SASS_F_X) && !o[SASS_B].neg && !has_carry_out(i)) {
        sass_do(l, "mul.hi.%s %s, %s, %s", is_signed(l) ? "s32" : "u32", d.s, sass_int(l, &o[SASS_A]).s,
                sass_int(l, &o[SASS_B]).s);
        return;
    }
    struct sass_text carry, sum = mad64(l, i, &carry), lo, hi;
    sass_split(l, sum.s, &lo, &hi);
    sass_put(l, SASS_D, hi.s);
    sass_put_pred(l, SASS_P, carry.s);
}

void sass_emit_idp(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    bool a = sass_mod(l, SASS_F_TYPE) == SASS_TYPE_S8 || sass_mod(l, SASS_F_TYPE) == SASS_TYPE_S16,
         b = sass_mod(l, SASS_F_TYPEB) == SASS_TYPEB_S8;
    bool two = sass_mod(l, SASS_F_TYPE) == SASS_TYPE_U16 || sass_mod(l, SASS_F_TYPE) == SASS_TYPE_S16;
    const char *part = !two ? "" : sass_mod(l, SASS_F_PART) == SASS_PART_HI ? ".hi" : ".lo";
    sass_do(l, "dp%ca%s.%s.%s %s, %s, %s, %s", two ? '2' : '4', part, a ? "s32" : "u32", b ? "s32" : "u32",
            sass_dest(l, &o[SASS_D], 0).s, sass_raw(l, &o[SASS_A]).s, sass_raw(l, &o[SASS_B]).s, sass_int(l, &o[SASS_C]).s);
}

/* ---- Comparisons */

const char *sass_cmp_name(unsigned cmp)
{
    static const char *const names[] = {
        [SASS_CMP_LT] = "lt",   [SASS_CMP_EQ] = "eq",   [SASS_CMP_LE] = "le",   [SASS_CMP_GT] = "gt",   [SASS_CMP_NE] = "ne",
        [SASS_CMP_GE] = "ge",   [SASS_CMP_NUM] = "num", [SASS_CMP_NAN] = "nan", [SASS_CMP_LTU] = "ltu", [SASS_CMP_EQU] = "equ",
        [SASS_CMP_LEU] = "leu", [SASS_CMP_GTU] = "gtu", [SASS_CMP_NEU] = "neu", [SASS_CMP_GEU] = "geu",
    };
    return cmp < sizeof names / sizeof *names && names[cmp] ? names[cmp] : "?";
}

bool sass_cmp_constant(unsigned cmp, bool *ret_value)
{
    *ret_value = cmp == SASS_CMP_T;
    return cmp == SASS_CMP_T || cmp == SASS_CMP_F;
}

/* How PTX writes the operator that joins comparison and predicate; the default is "and". */
static const char *bool_name(struct sass_lift *l)
{
    return sass_mod(l, SASS_F_BOOL) == SASS_BOOL_OR ? "or" : sass_mod(l, SASS_F_BOOL) == SASS_BOOL_XOR ? "xor" : "and";
}

void sass_put_compared(struct sass_lift *l, const struct sass_insn *i, const char *value)
{
    const struct sass_operand *s = sass_look(l, SASS_S);
    bool is_and = !strcmp(bool_name(l), "and"), none = s->kind == SASS_NONE || (is_and ? sass_is_true(s) : sass_is_false(s));
    struct sass_text p = none ? (struct sass_text){ "" } : sass_pred(l, s), out[2];
    for (int k = 0; k < 2; k++) {
        if (!sass_writes(&i->opnd[SASS_P + k]))
            continue;
        out[k] = sass_format("%s", value);
        if (k) {
            out[k] = sass_temp(l, 'q');
            sass_step(l, "not.pred %s, %s", out[k].s, value);
        }
        if (!none) {
            struct sass_text both = sass_temp(l, 'q');
            sass_step(l, "%s.pred %s, %s, %s", bool_name(l), both.s, out[k].s, p.s);
            out[k] = both;
        }
    }
    for (int k = 0; k < 2; k++)
        if (sass_writes(&i->opnd[SASS_P + k]))
            sass_put_pred(l, (enum sass_slot)(SASS_P + k), out[k].s);
}

void sass_emit_isetp(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    unsigned cmp = sass_mod(l, SASS_F_CMP);
    struct sass_text q = sass_temp(l, 'q');
    bool constant;
    if (sass_cmp_constant(cmp, &constant)) {
        l->true_pred = true;
        sass_put_compared(l, i, constant ? "%always" : "%never");
        return;
    }
    const char *type = is_signed(l) ? "s32" : "u32";
    struct sass_text a = sass_int(l, &o[SASS_A]), b = sass_int(l, &o[SASS_B]);
    sass_step(l, "setp.%s.%s %s, %s, %s", sass_cmp_name(cmp), type, q.s, a.s, b.s);
    if (sass_mod(l, SASS_F_EX)) {
        /* The high words decide; where they are equal, the low ones' result does. */
        struct sass_text low = sass_pred(l, &o[SASS_U]), equal = sass_temp(l, 'q'), tie = sass_temp(l, 'q'),
                         all = sass_temp(l, 'q');
        if (cmp == SASS_CMP_EQ || cmp == SASS_CMP_NE) {
            sass_step(l, "%s.pred %s, %s, %s", cmp == SASS_CMP_EQ ? "and" : "or", all.s, q.s, low.s);
        } else {
            struct sass_text strict = sass_temp(l, 'q');
            sass_step(l, "setp.%s.%s %s, %s, %s", cmp == SASS_CMP_LT || cmp == SASS_CMP_LE ? "lt" : "gt", type, strict.s, a.s,
                      b.s);
            sass_step(l, "setp.eq.u32 %s, %s, %s", equal.s, a.s, b.s);
            sass_step(l, "and.pred %s, %s, %s", tie.s, equal.s, low.s);
            sass_step(l, "or.pred %s, %s, %s", all.s, strict.s, tie.s);
        }
        q = all;
    }
    sass_put_compared(l, i, q.s);
}

static bool of_halves(struct sass_lift *l)
{
    return sass_mod(l, SASS_F_TYPE) == SASS_TYPE_U16X2 || sass_mod(l, SASS_F_TYPE) == SASS_TYPE_S16X2;
}

/* What min, max and their kin compare, of 32 bits. */
static const char *compared_type(struct sass_lift *l)
{
    bool sign = is_signed(l) || sass_mod(l, SASS_F_TYPE) == SASS_TYPE_S16X2;
    return of_halves(l) ? sign ? "s16x2" : "u16x2" : sign ? "s32" : "u32";
}

/* Two halves, each of them negated where the operand is. */
static struct sass_text halves_of(struct sass_lift *l, const struct sass_operand *o)
{
    struct sass_operand plain = *o;
    plain.neg = false;
    struct sass_text v = sass_raw(l, &plain), inverse, negated;
    if (!o->neg)
        return v;
    inverse = sass_temp(l, 't');
    negated = sass_temp(l, 't');
    sass_step(l, "not.b32 %s, %s", inverse.s, v.s);
    sass_step(l, "add.u16x2 %s, %s, %u", negated.s, inverse.s, 0x10001u);
    return negated;
}

/* Two words added, or two halves of each. */
static struct sass_text sum_of(struct sass_lift *l, const struct sass_operand *a, const struct sass_operand *b)
{
    struct sass_text t;
    if (!of_halves(l))
        return sass_sum(l, false, sass_int(l, a), sass_int(l, b));
    if (a->inv || b->inv)
        sass_fail(l, "an inverted pair of halves");
    struct sass_text first = halves_of(l, a), second = halves_of(l, b);
    t = sass_temp(l, 't');
    sass_step(l, "add.u16x2 %s, %s, %s", t.s, first.s, second.s);
    return t;
}

void sass_emit_viadd(struct sass_lift *l, const struct sass_insn *i)
{
    sass_put(l, SASS_D, sum_of(l, sass_look(l, SASS_A), sass_look(l, SASS_B)).s);
}

static const char *relu(struct sass_lift *l)
{
    return sass_mod(l, SASS_F_RELU) ? ".relu" : "";
}

/* Which halves of a word the result has.  Where both go to one predicate, as the assembler has it when only the low one is asked
 * for, that one stays. */
static void put_chosen(struct sass_lift *l, const char *result, const char *a)
{
    struct sass_text half[2][2], q[2];
    for (int k = 0; k < 2; k++) {
        half[k][0] = sass_temp(l, 'h');
        half[k][1] = sass_temp(l, 'h');
        sass_step(l, "mov.b32 {%s, %s}, %s", half[k][0].s, half[k][1].s, k ? a : result);
    }
    for (int k = 0; k < 2; k++) {
        q[k] = sass_temp(l, 'q');
        sass_step(l, "setp.eq.u16 %s, %s, %s", q[k].s, half[0][k].s, half[1][k].s);
    }
    sass_put_pred(l, SASS_Q, q[1].s);
    sass_put_pred(l, SASS_P, q[0].s);
}

void sass_emit_imnmx(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    bool chosen = sass_writes(&o[SASS_P]) || sass_writes(&o[SASS_Q]);
    struct sass_text type = sass_format("%s.%s", relu(l), compared_type(l));
    struct sass_text a = sass_int(l, &o[SASS_A]), b = sass_int(l, &o[SASS_B]), low, high, p;
    struct sass_text d = chosen ? sass_temp(l, 't') : sass_dest(l, &o[SASS_D], 0);
    bool least = sass_is_true(sass_look(l, SASS_S)), fixed = least || sass_is_false(&o[SASS_S]);
    if (chosen && (!fixed || !of_halves(l) || sass_mod(l, SASS_F_RELU))) {
        sass_fail(l, "predicates of such a form");
        return;
    }
    if (chosen) {
        sass_step(l, "%s%s %s, %s, %s", least ? "min" : "max", type.s, d.s, a.s, b.s);
        put_chosen(l, d.s, a.s);
        sass_put(l, SASS_D, d.s);
        return;
    }
    if (fixed) {
        sass_do(l, "%s%s %s, %s, %s", least ? "min" : "max", type.s, d.s, a.s, b.s);
        return;
    }
    low = sass_temp(l, 't');
    high = sass_temp(l, 't');
    p = sass_pred(l, &o[SASS_S]);
    sass_step(l, "min%s %s, %s, %s", type.s, low.s, a.s, b.s);
    sass_step(l, "max%s %s, %s, %s", type.s, high.s, a.s, b.s);
    sass_do(l, "selp.b32 %s, %s, %s, %s", d.s, low.s, high.s, p.s);
}

static const char *narrow_type(unsigned type)
{
    static const char *const types[] = {
        [SASS_TYPE_U8] = "u8", [SASS_TYPE_S8] = "s8", [SASS_TYPE_U16] = "u16", [SASS_TYPE_S16] = "s16",
        [SASS_TYPE_U4] = "u4", [SASS_TYPE_S4] = "s4", [SASS_TYPE_U2] = "u2",   [SASS_TYPE_S2] = "s2"
    };
    return type < sizeof types / sizeof *types ? types[type] : NULL;
}

void sass_emit_i2i(struct sass_lift *l, const struct sass_insn *i)
{
    const char *name = narrow_type(sass_mod(l, SASS_F_TYPE));
    struct sass_text x = sass_int(l, &i->opnd[SASS_B]);
    sass_do(l, "cvt.sat.%s.s32 %s, %s", name, sass_dest(l, &i->opnd[SASS_D], 0).s, x.s);
}

void sass_emit_i2ip(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    unsigned type = sass_mod(l, SASS_F_TYPE);
    const char *name = narrow_type(type);
    bool small = type == SASS_TYPE_U4 || type == SASS_TYPE_S4 || type == SASS_TYPE_U2 || type == SASS_TYPE_S2;
    struct sass_text a = sass_int(l, &o[SASS_A]), b = sass_int(l, &o[SASS_B]), d = sass_dest(l, &o[SASS_D], 0);
    if (!name || small != (bool)sass_mod(l, SASS_F_SHIFT))
        sass_fail(l, "type %u", type);
    else if (type == SASS_TYPE_U16 || type == SASS_TYPE_S16)
        sass_do(l, "cvt.pack.sat.%s.s32 %s, %s, %s", name, d.s, a.s, b.s);
    else
        sass_do(l, "cvt.pack.sat.%s.s32.b32 %s, %s, %s, %s", name, d.s, a.s, b.s, sass_int(l, &o[SASS_C]).s);
}

void sass_emit_viaddmnmx(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    const char *type = compared_type(l);
    struct sass_text sum = sum_of(l, sass_look(l, SASS_A), sass_look(l, SASS_B)), c = sass_int(l, &o[SASS_C]);
    sass_do(l, "%s%s.%s %s, %s, %s", sass_least_or_greatest(l), relu(l), type, sass_dest(l, &o[SASS_D], 0).s, sum.s, c.s);
}

void sass_emit_vimnmx3(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    const char *op = sass_least_or_greatest(l), *type = compared_type(l);
    struct sass_text two = sass_temp(l, 't');
    sass_step(l, "%s.%s %s, %s, %s", op, type, two.s, sass_int(l, &o[SASS_A]).s, sass_int(l, &o[SASS_B]).s);
    sass_do(l, "%s%s.%s %s, %s, %s", op, relu(l), type, sass_dest(l, &o[SASS_D], 0).s, two.s, sass_int(l, &o[SASS_C]).s);
}

/* ---- Bits */

void sass_emit_lop3(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    unsigned table = (unsigned)sass_look(l, SASS_L)->value & 255;
    struct sass_text a = sass_int(l, &o[SASS_A]), b = sass_int(l, &o[SASS_B]), c = sass_int(l, &o[SASS_C]);
    bool pred = sass_writes(&o[SASS_P]);
    (void)sass_look(l, SASS_S);
    struct sass_text d = pred ? sass_temp(l, 't') : sass_dest(l, &o[SASS_D], 0);
    const char *simple = !sass_is_zero(&o[SASS_C]) ? NULL
                         : table == 0xc0           ? "and"
                         : table == 0xfc           ? "or"
                         : table == 0x3c           ? "xor"
                                                   : NULL;
    if (!pred && !sass_writes(&o[SASS_D]))
        return;
    if (simple && pred)
        sass_step(l, "%s.b32 %s, %s, %s", simple, d.s, a.s, b.s);
    else if (simple)
        sass_do(l, "%s.b32 %s, %s, %s", simple, d.s, a.s, b.s);
    else if (pred)
        sass_step(l, "lop3.b32 %s, %s, %s, %s, %u", d.s, a.s, b.s, c.s, table);
    else
        sass_do(l, "lop3.b32 %s, %s, %s, %s, %u", d.s, a.s, b.s, c.s, table);
    if (!pred)
        return;
    struct sass_text q = sass_temp(l, 'q');
    sass_step(l, "setp.ne.u32 %s, %s, 0", q.s, d.s);
    bool both = sass_mod(l, SASS_F_PAND);
    if (!(both ? sass_is_true(&o[SASS_S]) : sass_is_false(&o[SASS_S])) && o[SASS_S].kind != SASS_NONE) {
        struct sass_text s = sass_pred(l, &o[SASS_S]), joined = sass_temp(l, 'q');
        sass_step(l, "%s.pred %s, %s, %s", both ? "and" : "or", joined.s, q.s, s.s);
        q = joined;
    }
    sass_put(l, SASS_D, d.s);
    sass_put_pred(l, SASS_P, q.s);
}

/* A shift amount: modulo the width with .W; else PTX's own shifts stop at the width, too. */
static struct sass_text amount(struct sass_lift *l, const struct sass_insn *i, unsigned width)
{
    const struct sass_operand *b = sass_look(l, SASS_B);
    if (b->kind == SASS_IMM && !b->inv && !b->neg) {
        uint32_t n = (uint32_t)b->value;
        return sass_format("%u", sass_mod(l, SASS_F_W) ? n & (width - 1) : n < width ? n : width);
    }
    struct sass_text v = sass_int(l, b), t = sass_temp(l, 't');
    if (sass_mod(l, SASS_F_W))
        sass_step(l, "and.b32 %s, %s, %u", t.s, v.s, width - 1);
    else
        sass_step(l, "min.u32 %s, %s, %u", t.s, v.s, width);
    return t;
}

void sass_emit_shf(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    bool right = sass_mod(l, SASS_F_DIR) == SASS_DIR_R, high = sass_mod(l, SASS_F_HI), sign = is_signed(l);
    bool wide = sass_mod(l, SASS_F_TYPE) == SASS_TYPE_S64 || sass_mod(l, SASS_F_TYPE) == SASS_TYPE_U64;
    struct sass_text n = amount(l, i, wide ? 64 : 32), d = sass_dest(l, &o[SASS_D], 0);
    bool below_32 = !wide || (n.s[0] != '%' && strtoul(n.s, NULL, 10) <= 32);
    if (below_32 && !right && !high) {
        sass_do(l, "shl.b32 %s, %s, %s", d.s, sass_int(l, &o[SASS_A]).s, n.s);
    } else if (below_32 && right && high) {
        sass_do(l, "shr.%s %s, %s, %s", sign ? "s32" : "u32", d.s, sass_int(l, &o[SASS_C]).s, n.s);
    } else if (below_32) {
        sass_do(l, "shf.%c.clamp.b32 %s, %s, %s, %s", right ? 'r' : 'l', d.s, sass_int(l, &o[SASS_A]).s,
                sass_int(l, &o[SASS_C]).s, n.s);
    } else {
        struct sass_text x = sass_join(l, sass_int(l, &o[SASS_A]).s, sass_int(l, &o[SASS_C]).s), y = sass_temp(l, 'w'), lo, hi;
        sass_step(l, "%s %s, %s, %s", !right ? "shl.b64" : sign ? "shr.s64" : "shr.u64", y.s, x.s, n.s);
        sass_split(l, y.s, &lo, &hi);
        sass_put(l, SASS_D, high ? hi.s : lo.s);
    }
}

void sass_emit_mov(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *lanes = sass_look(l, SASS_L);
    if (lanes->kind == SASS_IMM && (lanes->value & 15) != 15) {
        sass_quad_mov(l, i);
        return;
    }
    sass_put(l, SASS_D, sass_int(l, &i->opnd[SASS_B]).s);
}

void sass_emit_sel(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    struct sass_operand s = o[SASS_S];
    bool swap = s.inv && s.reg != SASS_PT;
    s.inv = swap ? false : s.inv;
    struct sass_text a = sass_int(l, &o[SASS_A]), b = sass_int(l, &o[SASS_B]), p = sass_pred(l, &s);
    sass_do(l, "selp.b32 %s, %s, %s, %s", sass_dest(l, &o[SASS_D], 0).s, swap ? b.s : a.s, swap ? a.s : b.s, p.s);
}

void sass_emit_prmt(struct sass_lift *l, const struct sass_insn *i)
{
    static const char *const modes[] = { [SASS_MODE_F4E] = ".f4e", [SASS_MODE_B4E] = ".b4e", [SASS_MODE_RC8] = ".rc8",
                                         [SASS_MODE_ECL] = ".ecl", [SASS_MODE_ECR] = ".ecr", [SASS_MODE_RC16] = ".rc16" };
    const struct sass_operand *o = i->opnd;
    unsigned mode = sass_mod(l, SASS_F_MODE);
    const char *name = mode < sizeof modes / sizeof *modes && modes[mode] ? modes[mode] : "";
    sass_do(l, "prmt.b32%s %s, %s, %s, %s", name, sass_dest(l, &o[SASS_D], 0).s, sass_int(l, &o[SASS_A]).s,
            sass_int(l, &o[SASS_C]).s, sass_int(l, &o[SASS_B]).s);
}

void sass_emit_sgxt(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    sass_do(l, "szext.%s.%s %s, %s, %s", sass_mod(l, SASS_F_W) ? "wrap" : "clamp", is_signed(l) ? "s32" : "u32",
            sass_dest(l, &o[SASS_D], 0).s, sass_int(l, &o[SASS_A]).s, sass_int(l, &o[SASS_B]).s);
}

void sass_emit_bmsk(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    sass_do(l, "bmsk.%s.b32 %s, %s, %s", sass_mod(l, SASS_F_W) ? "wrap" : "clamp", sass_dest(l, &o[SASS_D], 0).s,
            sass_int(l, &o[SASS_A]).s, sass_int(l, &o[SASS_B]).s);
}

void sass_emit_iabs(struct sass_lift *l, const struct sass_insn *i)
{
    sass_do(l, "abs.s32 %s, %s", sass_dest(l, &i->opnd[SASS_D], 0).s, sass_int(l, &i->opnd[SASS_B]).s);
}

void sass_emit_vabsdiff(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    sass_do(l, "sad.%s %s, %s, %s, %s", is_signed(l) ? "s32" : "u32", sass_dest(l, &o[SASS_D], 0).s, sass_int(l, &o[SASS_A]).s,
            sass_int(l, &o[SASS_B]).s, sass_int(l, &o[SASS_C]).s);
}

/* Differences of bytes: their sum with a number, or each in its place, where the number means nothing. */
void sass_emit_vabsdiff4(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    bool summed = sass_mod(l, SASS_F_ACC), sign = sass_mod(l, SASS_F_TYPE) == SASS_TYPE_S8;
    struct sass_text sum = sass_int(l, &o[SASS_C]), a = sass_int(l, &o[SASS_A]), b = sass_int(l, &o[SASS_B]);
    for (unsigned k = 0; k < 4; k++) {
        struct sass_text x = sass_temp(l, 't'), y = sass_temp(l, 't'), next = sass_temp(l, 't');
        sass_step(l, "bfe.%s %s, %s, %u, 8", sign ? "s32" : "u32", x.s, a.s, 8 * k);
        sass_step(l, "bfe.%s %s, %s, %u, 8", sign ? "s32" : "u32", y.s, b.s, 8 * k);
        if (summed) {
            sass_step(l, "sad.s32 %s, %s, %s, %s", next.s, x.s, y.s, sum.s);
        } else {
            struct sass_text difference = sass_temp(l, 't');
            sass_step(l, "sad.s32 %s, %s, %s, 0", difference.s, x.s, y.s);
            sass_step(l, "bfi.b32 %s, %s, %s, %u, 8", next.s, difference.s, sum.s, 8 * k);
        }
        sum = next;
    }
    sass_put(l, SASS_D, sum.s);
}

void sass_emit_flo(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    if (sass_writes(&o[SASS_P]))
        sass_fail(l, "predicate result");
    sass_do(l, "bfind%s.%s %s, %s", sass_mod(l, SASS_F_SH) ? ".shiftamt" : "", is_signed(l) ? "s32" : "u32",
            sass_dest(l, &o[SASS_D], 0).s, sass_int(l, &o[SASS_B]).s);
}

void sass_emit_popc(struct sass_lift *l, const struct sass_insn *i)
{
    sass_do(l, "popc.b32 %s, %s", sass_dest(l, &i->opnd[SASS_D], 0).s, sass_int(l, &i->opnd[SASS_B]).s);
}

void sass_emit_brev(struct sass_lift *l, const struct sass_insn *i)
{
    sass_do(l, "brev.b32 %s, %s", sass_dest(l, &i->opnd[SASS_D], 0).s, sass_int(l, &i->opnd[SASS_B]).s);
}

/* ---- Predicates */

/* Logic of three predicates by a table, bit 4a + 2b + c of which is the result. */
static struct sass_text logic(struct sass_lift *l, const struct sass_operand *const *in, unsigned n, unsigned table)
{
    unsigned bits = 1u << (1u << n), half = 1u << (n ? n - 1 : 0);
    table &= bits - 1;
    if (table == 0 || table == bits - 1) {
        l->true_pred = true;
        return sass_format("%s", table ? "%always" : "%never");
    }
    unsigned low = table & ((1u << half) - 1), high = table >> half; /* where in[0] is false, true */
    if (in[0]->kind == SASS_NONE || in[0]->reg == SASS_PT)
        return logic(l, in + 1, n - 1, in[0]->kind != SASS_NONE && !in[0]->inv ? high : low);
    struct sass_operand plain = *in[0];
    plain.inv = false;
    if (in[0]->inv) {
        unsigned t = low;
        low = high;
        high = t;
    }
    if (low == high)
        return logic(l, in + 1, n - 1, low);
    struct sass_text p = sass_pred(l, &plain), q = sass_temp(l, 'q'), a = logic(l, in + 1, n - 1, high),
                     b = logic(l, in + 1, n - 1, low);
    unsigned all = (1u << half) - 1;
    if (low == 0 && high == all)
        return p;
    if (low == all && high == 0) {
        sass_step(l, "not.pred %s, %s", q.s, p.s);
    } else if (low == 0) {
        sass_step(l, "and.pred %s, %s, %s", q.s, p.s, a.s);
    } else if (high == all) {
        sass_step(l, "or.pred %s, %s, %s", q.s, p.s, b.s);
    } else if (low == (~high & all)) {
        sass_step(l, "xor.pred %s, %s, %s", q.s, p.s, b.s);
    } else {
        struct sass_text with = sass_temp(l, 'q'), no = sass_temp(l, 'q'), without = sass_temp(l, 'q');
        sass_step(l, "and.pred %s, %s, %s", with.s, p.s, a.s);
        sass_step(l, "not.pred %s, %s", no.s, p.s);
        sass_step(l, "and.pred %s, %s, %s", without.s, no.s, b.s);
        sass_step(l, "or.pred %s, %s, %s", q.s, with.s, without.s);
    }
    return q;
}

void sass_emit_plop3(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *const in[3] = { &i->opnd[SASS_S], &i->opnd[SASS_T], &i->opnd[SASS_U] };
    struct sass_text p = { "" }, q = { "" };
    for (int k = SASS_S; k <= SASS_U; k++)
        (void)sass_look(l, (enum sass_slot)k);
    (void)sass_look(l, SASS_L);
    (void)sass_look(l, SASS_L2);
    if (sass_writes(&i->opnd[SASS_P]))
        p = logic(l, in, 3, (unsigned)sass_look(l, SASS_L)->value);
    if (sass_writes(&i->opnd[SASS_Q]))
        q = logic(l, in, 3, (unsigned)sass_look(l, SASS_L2)->value);
    /* Both are read before either is written. */
    if (p.s[0] && q.s[0]) {
        struct sass_text copy = sass_temp(l, 'q');
        sass_step(l, "mov.pred %s, %s", copy.s, q.s);
        q = copy;
    }
    sass_put_pred(l, SASS_P, p.s);
    sass_put_pred(l, SASS_Q, q.s);
}

/* Of the sign bits of three registers, by tables. */
void sass_emit_plop3r(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    unsigned tables[2] = { (unsigned)sass_look(l, SASS_L)->value & 255, (unsigned)sass_look(l, SASS_L2)->value & 255 };
    struct sass_text in[3], q[2];
    for (int k = 0; k < 3; k++)
        in[k] = sass_int(l, &o[SASS_A + k]);
    for (int k = 0; k < 2; k++) {
        struct sass_text bits = sass_temp(l, 't');
        q[k] = sass_temp(l, 'q');
        sass_step(l, "lop3.b32 %s, %s, %s, %s, %u", bits.s, in[0].s, in[1].s, in[2].s, tables[k]);
        sass_step(l, "setp.lt.s32 %s, %s, 0", q[k].s, bits.s);
    }
    sass_put_pred(l, SASS_P, q[0].s);
    sass_put_pred(l, SASS_Q, q[1].s);
}

static unsigned byte_shift(struct sass_lift *l)
{
    return sass_mod(l, SASS_F_BYTE) ? 8 * (sass_mod(l, SASS_F_BYTE) - SASS_BYTE_B0) : 0;
}

void sass_emit_p2r(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    if (sass_look(l, SASS_B)->kind != SASS_IMM) {
        sass_fail(l, "a mask that is no number");
        return;
    }
    uint32_t mask = (uint32_t)o[SASS_B].value & 255, shift = byte_shift(l);
    struct sass_text sum = sass_temp(l, 't');
    sass_step(l, "and.b32 %s, %s, %u", sum.s, sass_raw(l, &o[SASS_A]).s, ~(mask << shift));
    for (unsigned k = 0; k < 8; k++) {
        if (!(mask >> k & 1))
            continue;
        struct sass_operand p = { .kind = i->op == SASS_UP2UR ? SASS_UPRED : SASS_PRED, .reg = (uint8_t)k };
        struct sass_text bit = sass_temp(l, 't'), next = sass_temp(l, 't');
        sass_step(l, "selp.b32 %s, %u, 0, %s", bit.s, 1u << (k + shift), sass_pred(l, &p).s);
        sass_step(l, "or.b32 %s, %s, %s", next.s, sum.s, bit.s);
        sum = next;
    }
    sass_put(l, SASS_D, sum.s);
}

void sass_emit_r2p(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    bool uniform = i->op == SASS_UR2UP;
    if (sass_look(l, SASS_B)->kind != SASS_IMM) {
        sass_fail(l, "a mask that is no number");
        return;
    }
    uint32_t mask = (uint32_t)o[SASS_B].value & 127, shift = byte_shift(l);
    struct sass_text a = sass_raw(l, &o[SASS_A]);
    for (unsigned k = 0; k < 7; k++) {
        if (!(mask >> k & 1))
            continue;
        struct sass_text bit = sass_temp(l, 't');
        sass_step(l, "and.b32 %s, %s, %u", bit.s, a.s, 1u << (k + shift));
        (uniform ? l->upreds : l->preds)[k] = 1;
        /* The guard may be one of them. */
        struct sass_text q = sass_temp(l, 'q');
        sass_step(l, "setp.ne.u32 %s, %s, 0", q.s, bit.s);
        if (sass_guarded(i) && i->guard_uniform == uniform && (mask >> i->guard & 1))
            sass_fail(l, "writes its own guard");
        sass_do(l, "mov.pred %%%s%u, %s", uniform ? "up" : "p", k, q.s);
    }
}
