/* Packed halves: f16 and bf16 in both halves of a register. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sass/lift.h"

static const char *type2(struct sass_lift *l)
{
    return sass_mod(l, SASS_F_BF16_V2) ? "bf16x2" : "f16x2";
}

/* An operand with the halves that it names in both places, negated and made absolute; .F32 ones are rounded to a half first. */
static struct sass_text packed(struct sass_lift *l, const struct sass_operand *o)
{
    struct sass_operand plain = *o;
    plain.neg = plain.abs = false;
    plain.half = SASS_HALF_BOTH;
    struct sass_text v = sass_raw(l, &plain);
    if (o->half == SASS_HALF_F32)
        sass_fail(l, "a float among halves");
    if (o->half == SASS_HALF_LOW || o->half == SASS_HALF_HIGH) {
        struct sass_text t = sass_temp(l, 't');
        sass_step(l, "prmt.b32 %s, %s, 0, %u", t.s, v.s, o->half == SASS_HALF_LOW ? 0x1010u : 0x3232u);
        v = t;
    }
    for (int k = 0; k < 2; k++)
        if (k ? o->neg : o->abs) {
            struct sass_text t = sass_temp(l, 't');
            sass_step(l, "%s.b32 %s, %s, %s", k ? "xor" : "and", t.s, v.s, k ? "-2147450880" : "2147450879");
            v = t;
        }
    return sass_in_register(l, v, 't');
}

/* One half of an operand, as a float of 32 bits. */
static struct sass_text widened(struct sass_lift *l, const struct sass_insn *i, const struct sass_operand *o, bool high)
{
    struct sass_text v = packed(l, o), lo = sass_temp(l, 'h'), hi = sass_temp(l, 'h'), f = sass_temp(l, 't');
    sass_step(l, "mov.b32 {%s, %s}, %s", lo.s, hi.s, v.s);
    sass_step(l, "cvt.f32.%s %s, %s", sass_mod(l, SASS_F_BF16_V2) ? "bf16" : "f16", f.s, high ? hi.s : lo.s);
    return f;
}

static bool float_result(struct sass_lift *l, const struct sass_insn *i, const char *op, unsigned b)
{
    if (!sass_mod(l, SASS_F_F32))
        return false;
    struct sass_text x = widened(l, i, &i->opnd[SASS_A], false), y = widened(l, i, &i->opnd[b], false);
    sass_do(l, "%s.rn%s%s.f32 %s, %s, %s", op, sass_mod(l, SASS_F_FTZ) ? ".ftz" : "", sass_mod(l, SASS_F_SAT) ? ".sat" : "",
            sass_dest(l, &i->opnd[SASS_D], 0).s, x.s, y.s);
    return true;
}

/* From sm_90 on .FMZ and .FTZ of a sum say that a number outside of a tensor is an operand, which is a NaN, and that the sum is
 * zero then: PTX's .oob. */
static bool is_out_of_bounds(struct sass_lift *l, const struct sass_insn *i)
{
    return i->op == SASS_HFMA2 && l->cubin->arch >= 90 && sass_mod(l, SASS_F_FMZ) && sass_mod(l, SASS_F_FTZ) &&
           !sass_mod(l, SASS_F_SAT);
}

static void modifiers_known(struct sass_lift *l, const struct sass_insn *i)
{
    if (sass_mod(l, SASS_F_FMZ) && !is_out_of_bounds(l, i))
        sass_fail(l, "a product in which 0 wins");
    if (sass_mod(l, SASS_F_BF16_V2) && !is_out_of_bounds(l, i) && (sass_mod(l, SASS_F_FTZ) || sass_mod(l, SASS_F_SAT)))
        sass_fail(l, ".FTZ or .SAT of bf16");
}

static const char *ftz_sat(struct sass_lift *l)
{
    return sass_mod(l, SASS_F_FTZ) ? sass_mod(l, SASS_F_SAT) ? ".ftz.sat" : ".ftz" : sass_mod(l, SASS_F_SAT) ? ".sat" : "";
}

void sass_emit_hadd2(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    modifiers_known(l, i);
    unsigned x = o[SASS_A].half == SASS_HALF_F32 ? SASS_A : SASS_B, zero = x == SASS_A ? SASS_B : SASS_A;
    if (o[x].half == SASS_HALF_F32 && sass_is_zero(&o[zero]) && o[zero].neg && !sass_mod(l, SASS_F_FTZ) &&
        !sass_mod(l, SASS_F_F32)) {
        /* How a float becomes a half that is rounded toward zero: x + -0, in either order. */
        struct sass_operand whole = o[x];
        whole.half = SASS_HALF_BOTH;
        (void)sass_look(l, zero);
        struct sass_text v = sass_f32(l, &whole), half = sass_temp(l, 'h');
        if (sass_mod(l, SASS_F_SAT)) { /* of which PTX makes one at a time */
            sass_step(l, "cvt.rz.sat.f16.f32 %s, %s", half.s, v.s);
            sass_do(l, "mov.b32 %s, {%s, %s}", sass_dest(l, &o[SASS_D], 0).s, half.s, half.s);
            return;
        }
        sass_do(l, "cvt.rz.%s.f32 %s, %s, %s", type2(l), sass_dest(l, &o[SASS_D], 0).s, v.s, v.s);
        return;
    }
    if (float_result(l, i, "add", SASS_B))
        return;
    struct sass_text a = packed(l, &o[SASS_A]), b = packed(l, &o[SASS_B]);
    sass_do(l, "add.rn%s.%s %s, %s, %s", ftz_sat(l), type2(l), sass_dest(l, &o[SASS_D], 0).s, a.s, b.s);
}

void sass_emit_hmul2(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    modifiers_known(l, i);
    if (sass_mod(l, SASS_F_RELU))
        sass_fail(l, ".RELU");
    if (float_result(l, i, "mul", SASS_B))
        return;
    struct sass_text a = packed(l, &o[SASS_A]), b = packed(l, &o[SASS_B]);
    sass_do(l, "mul.rn%s.%s %s, %s, %s", ftz_sat(l), type2(l), sass_dest(l, &o[SASS_D], 0).s, a.s, b.s);
}

static bool is_number(const struct sass_operand *o)
{
    return o->kind == SASS_IMM && o->half == SASS_HALF_BOTH && !o->neg && !o->abs;
}

void sass_emit_hfma2(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    modifiers_known(l, i);
    if (sass_mod(l, SASS_F_F32))
        sass_fail(l, ".F32");
    /* -0 * 0 + c is c: how numbers get into registers. */
    if (o[SASS_A].kind == SASS_REG && o[SASS_A].reg == SASS_RZ && o[SASS_B].kind == SASS_REG && o[SASS_B].reg == SASS_RZ &&
        o[SASS_A].neg != o[SASS_B].neg && is_number(&o[SASS_C]) && !ftz_sat(l)[0] && !sass_mod(l, SASS_F_RELU)) {
        (void)sass_look(l, SASS_A);
        (void)sass_look(l, SASS_B);
        sass_put(l, SASS_D, sass_raw(l, &o[SASS_C]).s);
        return;
    }
    struct sass_text a = packed(l, &o[SASS_A]), b = packed(l, &o[SASS_B]), c = packed(l, &o[SASS_C]);
    if (sass_mod(l, SASS_F_NH1)) { /* i * b, of complex numbers: .H0_NH1 is the upper half first, as .H1_H0 is */
        struct sass_text swapped = sass_temp(l, 't'), turned = sass_temp(l, 't');
        if (o[SASS_B].half != SASS_HALF_BOTH)
            sass_fail(l, "one half of a complex number");
        sass_step(l, "prmt.b32 %s, %s, 0, 0x1032", swapped.s, b.s);
        sass_step(l, "xor.b32 %s, %s, 0x8000", turned.s, swapped.s);
        b = turned;
    }
    sass_do(l, "fma.rn%s%s.%s %s, %s, %s, %s", is_out_of_bounds(l, i) ? ".oob" : ftz_sat(l),
            sass_mod(l, SASS_F_RELU) ? ".relu" : "", type2(l), sass_dest(l, &o[SASS_D], 0).s, a.s, b.s, c.s);
}

void sass_emit_hmnmx2(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    const char *op = sass_least_or_greatest(l);
    if (sass_mod(l, SASS_F_F32))
        sass_fail(l, ".F32");
    struct sass_operand first = sass_sign_apart(l, SASS_A), second = sass_sign_apart(l, SASS_B);
    struct sass_text a = packed(l, &first), b = packed(l, &second);
    sass_do(l, "%s%s%s%s.%s %s, %s, %s", op, sass_mod(l, SASS_F_FTZ) ? ".ftz" : "",
            sass_mod(l, SASS_F_NAN) ? ".NaN" : "", sass_mod(l, SASS_F_XORSIGN) ? ".xorsign.abs" : "", type2(l),
            sass_dest(l, &o[SASS_D], 0).s, a.s, b.s);
}

void sass_emit_vhmnmx(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    const char *op = sass_least_or_greatest(l);
    struct sass_text a = packed(l, &o[SASS_A]), b = packed(l, &o[SASS_B]), c = packed(l, &o[SASS_C]), two = sass_temp(l, 't');
    struct sass_text how = sass_format("%s%s.%s", op, sass_mod(l, SASS_F_NAN) ? ".NaN" : "", type2(l));
    sass_step(l, "%s %s, %s, %s", how.s, two.s, a.s, b.s);
    sass_do(l, "%s %s, %s, %s", how.s, sass_dest(l, &o[SASS_D], 0).s, two.s, c.s);
}

/* In 16 bits, where what is not normal counts as 0. */
static struct sass_text compare_flushing(struct sass_lift *l, const struct sass_insn *i, bool high)
{
    struct sass_text half[2][2], q = sass_temp(l, 'q');
    if (sass_mod(l, SASS_F_BF16_V2))
        sass_fail(l, ".FTZ of bf16");
    for (int k = 0; k < 2; k++) {
        struct sass_text v = packed(l, &i->opnd[k ? SASS_B : SASS_A]);
        half[k][0] = sass_temp(l, 'h');
        half[k][1] = sass_temp(l, 'h');
        sass_step(l, "mov.b32 {%s, %s}, %s", half[k][0].s, half[k][1].s, v.s);
    }
    sass_step(l, "setp.%s.ftz.f16 %s, %s, %s", sass_cmp_name(sass_mod(l, SASS_F_CMP)), q.s, half[0][high].s, half[1][high].s);
    return q;
}

/* The comparison of one half; bool not applied.  Others than the flushing ones are exact in 32 bits. */
static struct sass_text compare(struct sass_lift *l, const struct sass_insn *i, bool high)
{
    bool constant;
    if (sass_cmp_constant(sass_mod(l, SASS_F_CMP), &constant)) {
        l->true_pred = true;
        return sass_format("%s", constant ? "%always" : "%never");
    }
    if (sass_mod(l, SASS_F_FTZ))
        return compare_flushing(l, i, high);
    struct sass_text a = widened(l, i, &i->opnd[SASS_A], high), b = widened(l, i, &i->opnd[SASS_B], high), q = sass_temp(l, 'q');
    sass_step(l, "setp.%s.f32 %s, %s, %s", sass_cmp_name(sass_mod(l, SASS_F_CMP)), q.s, a.s, b.s);
    return q;
}

static struct sass_text with_bool(struct sass_lift *l, const struct sass_insn *i, struct sass_text q)
{
    const struct sass_operand *s = sass_look(l, SASS_S);
    unsigned op = sass_mod(l, SASS_F_BOOL);
    bool other = op == SASS_BOOL_OR || op == SASS_BOOL_XOR;
    if (s->kind == SASS_NONE || (other ? sass_is_false(s) : sass_is_true(s)))
        return q;
    struct sass_text p = sass_pred(l, s), both = sass_temp(l, 'q');
    sass_step(l, "%s.pred %s, %s, %s", op == SASS_BOOL_OR ? "or" : op == SASS_BOOL_XOR ? "xor" : "and", both.s, q.s, p.s);
    return both;
}

void sass_emit_hsetp2(struct sass_lift *l, const struct sass_insn *i)
{
    struct sass_text low = compare(l, i, false), high = compare(l, i, true);
    if (sass_mod(l, SASS_F_H_AND)) {
        struct sass_text both = sass_temp(l, 'q'), no = sass_temp(l, 'q');
        sass_step(l, "and.pred %s, %s, %s", both.s, low.s, high.s);
        sass_step(l, "not.pred %s, %s", no.s, both.s);
        low = both;
        high = no;
    }
    low = with_bool(l, i, low);
    high = with_bool(l, i, high);
    sass_put_pred(l, SASS_P, low.s);
    sass_put_pred(l, SASS_Q, high.s);
}

void sass_emit_hset2(struct sass_lift *l, const struct sass_insn *i)
{
    struct sass_text low = with_bool(l, i, compare(l, i, false)), high = with_bool(l, i, compare(l, i, true));
    struct sass_text a = sass_temp(l, 't'), b = sass_temp(l, 't');
    uint32_t one = !sass_mod(l, SASS_F_BF) ? 0xffff : sass_mod(l, SASS_F_BF16_V2) ? 0x3f80 : 0x3c00;
    sass_step(l, "selp.b32 %s, %u, 0, %s", a.s, one, low.s);
    sass_step(l, "selp.b32 %s, %u, 0, %s", b.s, one << 16, high.s);
    sass_do(l, "or.b32 %s, %s, %s", sass_dest(l, &i->opnd[SASS_D], 0).s, a.s, b.s);
}
