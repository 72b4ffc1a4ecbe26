/* Decoded instructions as text: a listing for people and tests, spelled after the names that NVIDIA publishes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sass/insn.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sass/form.h"

const char *sass_op_name(enum sass_op op)
{
    return op < SASS_OPS ? sass_op_names[op] : "?";
}

const char *sass_op_meaning(enum sass_op op)
{
    return op < SASS_OPS ? sass_op_meanings[op] : "";
}

const char *sass_sreg_name(unsigned sreg)
{
    return sreg < 256 ? sass_sreg_names[sreg] : NULL;
}

static void print_reg(const char *file, uint8_t reg, const char *none, struct aw_buf *out)
{
    if (reg == SASS_RZ)
        aw_buf_str(out, aw_str_from(none));
    else
        aw_buf_printf(out, "%s%u", file, reg);
}

static void print_pred(const char *file, uint8_t reg, struct aw_buf *out)
{
    if (reg == SASS_PT)
        aw_buf_printf(out, "%sT", file);
    else
        aw_buf_printf(out, "%s%u", file, reg);
}

static void print_signed(int64_t value, struct aw_buf *out)
{
    if (value < 0)
        aw_buf_printf(out, "-0x%" PRIx64, -(uint64_t)value);
    else
        aw_buf_printf(out, "0x%" PRIx64, (uint64_t)value);
}

static double half_value(unsigned bits)
{
    int exponent = (int)(bits >> 10 & 31);
    double mantissa = bits & 1023;
    double value = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    if (exponent == 31)
        value = mantissa ? NAN : INFINITY;
    return bits & 0x8000 ? -value : value;
}

static void print_float(double value, int digits, uint64_t bits, struct aw_buf *out)
{
    if (isfinite(value))
        aw_buf_printf(out, "%.*g", digits, value);
    else
        aw_buf_printf(out, "0x%" PRIx64, bits);
}

/* Whether packed halves are bfloat16, so that an immediate of them is. */
static bool is_bf16(const struct sass_insn *insn)
{
    return insn->mod[SASS_F_BF16_V2];
}

/* Are its operands two halves each, not one of those of a register? */
static bool of_two_halves(const struct sass_insn *insn)
{
    return sass_op_names[insn->op][0] == 'H' || insn->op == SASS_VHMNMX;
}

static void print_immediate(const struct sass_insn *insn, const struct sass_operand_desc *d, const struct sass_operand *o,
                            struct aw_buf *out)
{
    uint64_t bits = (uint64_t)o->value;
    float single;
    double value;

    if (insn->op == SASS_MUFU && (insn->mod[SASS_F_FN] == SASS_FN_RCP64H || insn->mod[SASS_F_FN] == SASS_FN_RSQ64H))
        bits <<= 32; /* the high half of a double, without the low one */
    if (d->flags & SASS_HIGH || bits >> 32) {
        memcpy(&value, &bits, sizeof value);
        print_float(value, 17, bits, out);
    } else if (d->flags & SASS_FP16 && of_two_halves(insn)) {
        for (int i = 1; i >= 0; i--) {
            uint32_t half = (uint32_t)(bits >> 16 * i) & 0xffff, wide = half << 16;
            memcpy(&single, &wide, sizeof single);
            print_float(is_bf16(insn) ? (double)single : half_value(half), 9, half, out);
            if (i)
                aw_buf_printf(out, ", ");
        }
    } else if (d->flags & SASS_FLOAT) {
        uint32_t word = (uint32_t)bits;
        memcpy(&single, &word, sizeof single);
        print_float((double)single, 9, word, out);
    } else {
        print_signed(o->value, out);
    }
}

static void print_constant(const struct sass_operand *o, struct aw_buf *out)
{
    if (o->handle)
        aw_buf_printf(out, "cx[UR%u][", o->ureg);
    else
        aw_buf_printf(out, "c[0x%x][", o->bank);
    if (o->reg != SASS_RZ)
        aw_buf_printf(out, "R%u%s", o->reg, o->value ? "+" : "");
    if (o->ureg != SASS_RZ && !o->handle)
        aw_buf_printf(out, "UR%u%s", o->ureg, o->value ? "+" : "");
    if (o->value || (o->reg == SASS_RZ && (o->ureg == SASS_RZ || o->handle)))
        print_signed(o->value, out);
    aw_buf_printf(out, "]");
}

static void print_memory(const struct sass_insn *insn, const struct sass_operand_desc *d, const struct sass_operand *o,
                         struct aw_buf *out)
{
    static const unsigned scales[] = { [SASS_SCALE_X4] = 4, [SASS_SCALE_X8] = 8, [SASS_SCALE_X16] = 16 };
    unsigned scale = d->slot == SASS_M ? scales[insn->mod[SASS_F_SCALE] & 7] : 0;
    const char *plus = "";

    aw_buf_printf(out, "[");
    if (o->reg != SASS_RZ) {
        aw_buf_printf(out, "R%u", o->reg);
        if (scale)
            aw_buf_printf(out, ".X%u", scale);
        if (d->ureg_n && d->wide)
            aw_buf_printf(out, o->regs == 2 ? ".64" : ".U32");
        plus = "+";
    }
    if (o->ureg != SASS_RZ) {
        aw_buf_printf(out, "%sUR%u", plus, o->ureg);
        plus = "+";
    }
    if (o->value || !plus[0]) {
        aw_buf_printf(out, "%s", o->value < 0 ? "" : plus);
        print_signed(o->value, out);
    }
    aw_buf_printf(out, "]");
}

static void print_barrier(const struct sass_operand *o, struct aw_buf *out)
{
    if (o->reg == SASS_MACTIVE)
        aw_buf_printf(out, "MACTIVE");
    else
        aw_buf_printf(out, "B%u", o->reg);
}

static void print_place(const struct sass_insn *insn, const struct sass_operand_desc *d, const struct sass_operand *o,
                        struct aw_buf *out)
{
    switch (o->kind) {
    case SASS_REG:
        print_reg("R", o->reg, "RZ", out);
        break;
    case SASS_UREG:
        print_reg("UR", o->reg, "URZ", out);
        break;
    case SASS_PRED:
        print_pred("P", o->reg, out);
        break;
    case SASS_UPRED:
        print_pred("UP", o->reg, out);
        break;
    case SASS_IMM:
        print_immediate(insn, d, o, out);
        break;
    case SASS_CONST:
        print_constant(o, out);
        break;
    case SASS_MEM:
        print_memory(insn, d, o, out);
        break;
    case SASS_TARGET:
        print_signed(o->value, out);
        break;
    case SASS_SREG:
        if (sass_sreg_name((unsigned)o->value))
            aw_buf_printf(out, "%s", sass_sreg_name((unsigned)o->value));
        else
            aw_buf_printf(out, "SR%u", (unsigned)o->value);
        break;
    case SASS_BARRIER:
        print_barrier(o, out);
        break;
    case SASS_SCOREBOARD:
        aw_buf_printf(out, "SB%u", o->reg);
        break;
    }
}

static void print_operand(const struct sass_insn *insn, const struct sass_operand_desc *d, struct aw_buf *out)
{
    static const char *const halves[] = { [SASS_HALF_F32] = ".F32", [SASS_HALF_LOW] = ".H0_H0", [SASS_HALF_HIGH] = ".H1_H1" };
    static const char *const bytes[] = { [SASS_BYTE_B1] = ".B1", [SASS_BYTE_B2] = ".B2", [SASS_BYTE_B3] = ".B3" };
    const struct sass_operand *o = &insn->opnd[d->slot];

    if (o->neg)
        aw_buf_printf(out, "-");
    if (o->inv)
        aw_buf_printf(out, o->kind == SASS_PRED || o->kind == SASS_UPRED ? "!" : "~");
    if (o->abs)
        aw_buf_printf(out, "|");
    print_place(insn, d, o, out);
    if (o->abs)
        aw_buf_printf(out, "|");
    if (d->half && o->half)
        aw_buf_printf(out, "%s", of_two_halves(insn) ? halves[o->half & 3] : ".H1");
    unsigned from = insn->mod[SASS_F_FROM];
    bool of_halves = insn->op == SASS_I2F && (from == SASS_FROM_U16 || from == SASS_FROM_S16);
    if (insn->mod[SASS_F_BYTE] > SASS_BYTE_B0 && (d->slot == SASS_A || (d->slot == SASS_B && insn->op == SASS_I2F)) &&
        (o->kind == SASS_REG || o->kind == SASS_UREG))
        aw_buf_printf(out, "%s", of_halves ? ".H1" : bytes[insn->mod[SASS_F_BYTE] & 7]);
}

/* Operands that say nothing are left out: PT and RZ written, PT read, numbers that mean all or none. */
static bool is_default(const struct sass_insn *insn, const struct sass_operand_desc *d)
{
    const struct sass_operand *o = &insn->opnd[d->slot];
    switch (o->kind) {
    case SASS_PRED:
    case SASS_UPRED: /* where the second predicate is written, the first is shown as well */
        return o->reg == SASS_PT &&
               (d->slot != SASS_P || insn->opnd[SASS_Q].reg == SASS_PT || insn->opnd[SASS_Q].kind == SASS_NONE);
    case SASS_REG:
    case SASS_UREG:
        return o->reg == SASS_RZ && !o->inv;
    case SASS_IMM:
        return (uint64_t)o->value == (d->n[0] == 4 ? 15u : 0u);
    case SASS_MEM:
        return o->reg == SASS_RZ && o->ureg == SASS_RZ && !o->value;
    }
    return false;
}

static bool shown(const struct sass_insn *insn, const struct sass_operand_desc *d)
{
    if (d->flags & SASS_HIDE)
        return !is_default(insn, d);
    if (d->flags & SASS_ONLY_X)
        return insn->mod[SASS_F_X];
    if (d->flags & SASS_ONLY_EX)
        return insn->mod[SASS_F_EX];
    return true;
}

static void print_modifiers(const struct sass_insn *insn, const struct sass_form *form, struct aw_buf *out)
{
    for (unsigned i = 0; i < form->n_modifiers; i++) {
        const struct sass_modifier_desc *m = &form->modifiers[i];
        unsigned value = m->text ? 0 : insn->mod[m->field];
        if (m->text)
            aw_buf_printf(out, "%s", m->text);
        else if (!m->values && value)
            aw_buf_printf(out, ".%s", sass_field_names[m->field]);
        else if (m->values && value) {
            bool quiet = false; /* a value is printed or not whatever its bits are */
            for (unsigned b = 0; b < 1u << (m->n[0] + m->n[1]) && !quiet; b++)
                quiet = m->values[b] == value + 128;
            if (!quiet)
                aw_buf_printf(out, ".%s", sass_value_names[m->field][value]);
        } else if (m->values) {
            aw_buf_printf(out, ".?");
        }
    }
}

void sass_print(const struct sass_insn *insn, struct aw_buf *out)
{
    if (insn->guard != SASS_PT || insn->guard_inv) {
        aw_buf_printf(out, insn->guard_inv ? "@!" : "@");
        print_pred(insn->guard_uniform ? "UP" : "P", insn->guard, out);
        aw_buf_printf(out, " ");
    }
    if (!insn->op) {
        aw_buf_printf(out, "?");
        return;
    }
    const struct sass_form *form = &sass_forms[insn->form];
    aw_buf_printf(out, "%s", sass_op_names[insn->op]);
    print_modifiers(insn, form, out);
    const char *comma = " ";
    for (unsigned i = 0; i < form->n_operands; i++) {
        const struct sass_operand_desc *d = &form->operands[i];
        if (!d->text && !shown(insn, d))
            continue;
        aw_buf_printf(out, "%s", comma);
        if (d->text)
            aw_buf_printf(out, "%s", d->text);
        else
            print_operand(insn, d, out);
        comma = ", ";
    }
}
