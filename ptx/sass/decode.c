/* Bits to struct sass_insn, by the table alone.  Knows what fields there are, not what an instruction means. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sass/insn.h"

#include <endian.h>
#include <stddef.h>
#include <string.h>

#include "sass/form.h"

struct word {
    uint64_t half[3]; /* the low one, the high one, 0 */
};

/* Of at most 63 bits.  Without branches: fields are at other places in each instruction, which no processor foresees. */
static uint64_t field(const struct word *w, unsigned at, unsigned n)
{
    const uint64_t *half = &w->half[at / 64];
    return (half[0] >> at % 64 | half[1] << 1 << (63 - at % 64)) & ((1ull << n) - 1);
}

static bool bit(const struct word *w, unsigned at)
{
    return (w->half[at / 64] >> at % 64 & 1) & (at != 0);
}

static uint64_t runs(const struct word *w, const uint8_t at[2], const uint8_t n[2])
{
    return field(w, at[0], n[0]) | (n[1] ? field(w, at[1], n[1]) << n[0] : 0);
}

static int64_t sign_extend(uint64_t value, unsigned bits)
{
    uint64_t sign = 1ull << (bits - 1);
    return bits >= 64 ? (int64_t)value : (int64_t)((value ^ sign) - sign);
}

/* ---- Finding the form */

static bool holds(const struct sass_form *form, const struct word *w, unsigned arch)
{
    if (arch < form->first || arch > form->last)
        return false;
    for (unsigned i = 0; i < form->n_conds; i++)
        if (field(w, form->conds[i].at, form->conds[i].n) != form->conds[i].value)
            return false;
    return true;
}

static const struct sass_form *find(const struct word *w, unsigned arch)
{
    unsigned key = (unsigned)(field(w, 0, 12) | field(w, 91, 1) << 12), k = sass_first_forms[key];
    for (; k && k <= sass_forms_n && sass_forms[k - 1].key == key; k++)
        if (holds(&sass_forms[k - 1], w, arch))
            return &sass_forms[k - 1];
    return NULL;
}

/* ---- Modifiers */

static bool decode_modifiers(const struct sass_form *form, const struct word *w, struct sass_insn *insn)
{
    bool known = true;
    for (unsigned i = 0; i < form->n_modifiers; i++) {
        const struct sass_modifier_desc *m = &form->modifiers[i];
        if (m->text)
            continue;
        uint64_t bits = runs(w, m->at, m->n);
        uint8_t value = m->values ? m->values[bits] & 127 : (uint8_t)bits;
        if (m->values && !value)
            known = false;
        insn->mod[m->field] = value;
    }
    return known;
}

/* How many registers a size or a type takes: what its name says of bits. */
static uint8_t registers_of(const struct sass_operand_desc *d, const struct sass_insn *insn)
{
    if (d->regs < SASS_REGS_OF)
        return d->regs;
    unsigned of = d->regs - SASS_REGS_OF;
    return sass_value_regs[of][insn->mod[of]];
}

/* ---- Operands */

/* The register without a value has the highest number: 255, of uniform ones 63. */
static uint8_t uniform(uint64_t reg)
{
    return (reg & 63) == 63 ? SASS_RZ : (uint8_t)(reg & 63);
}

static void decode_memory(const struct sass_operand_desc *d, const struct word *w, const struct sass_insn *insn,
                          struct sass_operand *o)
{
    o->reg = (uint8_t)field(w, d->at[0], d->n[0]);
    o->ureg = SASS_RZ;
    o->value = d->flags & SASS_FAR ? sign_extend(field(w, 32, 32), 32) : sign_extend(field(w, 40, 24), 24);
    o->regs = insn->mod[SASS_F_E] ? 2 : 1;
    if (!d->ureg_n)
        return;
    if (d->wide)
        o->regs = bit(w, d->wide) ? 2 : 1;
    if (!d->desc || !bit(w, d->desc))
        o->ureg = uniform(field(w, d->ureg_at, d->ureg_n));
    o->uregs = d->wide ? 2 : 1;
}

/* LDGSTS has two addresses in one instruction: 12 bits of offset for global memory, 20 for shared. */
static void decode_copy(struct sass_insn *insn, const struct word *w)
{
    if (insn->op != SASS_LDGSTS)
        return;
    insn->opnd[SASS_M].value = sign_extend(field(w, 32, 12), 12);
    insn->opnd[SASS_M2].value = sign_extend(field(w, 44, 20), 20);
    insn->opnd[SASS_M2].regs = 1;
}

static void decode_constant(const struct sass_operand_desc *d, const struct word *w, struct sass_operand *o)
{
    o->value = (int64_t)(d->slot == SASS_H ? field(w, 40, 14) << 2 : field(w, 38, 16)); /* a handle's place is in words */
    o->bank = (uint8_t)field(w, 54, 5);
    o->reg = o->ureg = SASS_RZ;
    if (d->flags & SASS_INDEX_REG)
        o->reg = (uint8_t)field(w, 24, 8);
    if (d->flags & SASS_INDEX_UREG)
        o->ureg = uniform(field(w, 24, 6));
    if (d->flags & SASS_HANDLE) {
        o->ureg = uniform(field(w, 32, 6));
        o->handle = true;
    }
}

static void decode_immediate(const struct sass_operand_desc *d, uint64_t bits, struct sass_operand *o)
{
    o->value = d->flags & SASS_SIGNED ? sign_extend(bits, d->n[0] + d->n[1]) : (int64_t)bits;
    if (d->flags & SASS_HIGH || (d->flags & SASS_FLOAT && o->regs == 2)) /* of a double */
        o->value = (int64_t)(bits << 32);
}

static void decode_operand(const struct sass_operand_desc *d, const struct word *w, struct sass_insn *insn)
{
    uint64_t bits = runs(w, d->at, d->n);
    bool negated = bit(w, d->neg), inverts = d->flags & SASS_INVERT || (d->flags & SASS_INVERT_X && insn->mod[SASS_F_X]);
    struct sass_operand *o = &insn->opnd[d->slot];
    *o = (struct sass_operand){ .kind = d->kind,
                                .slot = d->slot,
                                .regs = registers_of(d, insn),
                                .half = (d->half ? field(w, d->half, 2) : SASS_HALF_BOTH) & 3,
                                .abs = bit(w, d->abs),
                                .inv = negated & inverts,
                                .neg = negated & !inverts };
    switch (d->kind) {
    case SASS_UREG:
        o->reg = uniform(bits);
        break;
    case SASS_IMM:
        decode_immediate(d, bits, o);
        break;
    case SASS_CONST:
        decode_constant(d, w, o);
        break;
    case SASS_MEM:
        decode_memory(d, w, insn, o);
        break;
    case SASS_TARGET: /* counted in words of 4 bytes from the instruction behind */
        o->value = (int64_t)insn->offset + SASS_INSN_SIZE + sign_extend(bits, d->n[0] + d->n[1]) * 4;
        break;
    case SASS_SREG:
        o->value = (int64_t)bits;
        break;
    default:
        o->reg = (uint8_t)bits;
    }
}

/* ---- What nobody looked at */

static bool is_nothing(const struct sass_operand_desc *d, const struct sass_insn *insn)
{
    const struct sass_operand *o = &insn->opnd[d->slot];
    if ((d->flags & SASS_ONLY_X && !insn->mod[SASS_F_X]) || (d->flags & SASS_ONLY_EX && !insn->mod[SASS_F_EX]))
        return o->reg == SASS_PT;
    if (o->neg || o->abs || o->inv || o->half)
        return false;
    switch (o->kind) {
    case SASS_REG: case SASS_UREG: return o->reg == SASS_RZ;
    case SASS_PRED: case SASS_UPRED: return o->reg == SASS_PT;
    case SASS_IMM: return o->value == (d->flags & SASS_HIDE && d->n[0] == 4 ? 15 : 0);
    default: return false;
    }
}

const char *sass_overlooked(const struct sass_insn *insn, const struct sass_looked *looked)
{
    static const char *const names[SASS_SLOTS] = {
        [SASS_D] = "operand D",   [SASS_P] = "operand P",   [SASS_Q] = "operand Q",   [SASS_A] = "operand A",
        [SASS_B] = "operand B",   [SASS_C] = "operand C",   [SASS_S] = "operand S",   [SASS_T] = "operand T",
        [SASS_U] = "operand U",   [SASS_M] = "operand M",   [SASS_M2] = "operand M2", [SASS_UN] = "operand UN",
        [SASS_J] = "operand J",   [SASS_K] = "operand K",   [SASS_K2] = "operand K2", [SASS_L] = "operand L",
        [SASS_L2] = "operand L2", [SASS_D2] = "operand D2", [SASS_H] = "operand H",
    };
    const struct sass_form *form = &sass_forms[insn->form];
    uint64_t fields = 0;
    for (unsigned k = 0; k < sizeof looked->fields / sizeof *looked->fields; k++)
        fields |= form->has.fields[k] & ~looked->fields[k];
    for (unsigned k = 0; fields && k < form->n_modifiers; k++) {
        const struct sass_modifier_desc *m = &form->modifiers[k];
        if (!m->text && insn->mod[m->field] != m->usual && !sass_has_looked(looked, m->field))
            return sass_field_names[m->field];
    }
    for (unsigned k = 0; form->has.slots & ~looked->slots && k < form->n_operands; k++) {
        const struct sass_operand_desc *d = &form->operands[k];
        if (!d->text && !(looked->slots >> d->slot & 1) && !is_nothing(d, insn))
            return names[d->slot];
    }
    return NULL;
}

/* Is the guard one of the uniform predicates, which the uniform datapath has?  As NVIDIA's disassembler has them. */
static bool is_uniform(const struct sass_insn *insn)
{
    return sass_op_names[insn->op][0] == 'U' || insn->op == SASS_S2UR || insn->op == SASS_SYNCS_EXCH;
}

enum sass_decoded sass_decode(const uint8_t bytes[SASS_INSN_SIZE], uint32_t offset, unsigned arch, struct sass_insn *ret_insn)
{
    struct word w = { { 0 } };
    for (unsigned i = 0; i < 2; i++) {
        memcpy(&w.half[i], bytes + 8 * i, 8);
        w.half[i] = le64toh(w.half[i]);
    }
    const struct sass_form *form = find(&w, arch);

    ret_insn->offset = offset;
    ret_insn->guard = (uint8_t)field(&w, 12, 3);
    ret_insn->guard_inv = bit(&w, 15);
    if (!form)
        return SASS_UNKNOWN_OPCODE;
    ret_insn->op = form->op;
    ret_insn->form = (uint16_t)(form - sass_forms);
    bool known = decode_modifiers(form, &w, ret_insn);
    for (unsigned i = 0; i < form->n_operands; i++)
        if (!form->operands[i].text)
            decode_operand(&form->operands[i], &w, ret_insn);
    ret_insn->guard_uniform = is_uniform(ret_insn);
    decode_copy(ret_insn, &w);
    if (!known)
        return SASS_UNKNOWN_MODIFIER;
    bool usual = (w.half[0] & form->rest[0]) == form->usual[0] && (w.half[1] & form->rest[1]) == form->usual[1];
    return usual ? SASS_DECODED : SASS_UNKNOWN_BITS;
}
