/* Which row of the instruction table an instruction is: modifiers once per spelling, operands for each instruction. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "module/state.h"
#include "syntax/opcode.h"
#include "tab/form.h"

#include <stdio.h>

/* ---- Modifiers */
static enum ptx_space space_from(struct aw_str s)
{
    for (int i = PTX_SPACE_REG; i <= PTX_SPACE_TEX; i++)
        if (aw_str_is(s, ptx_space_name((enum ptx_space)i)))
            return (enum ptx_space)i;
    return PTX_SPACE_NONE;
}

/* What one modifier is, in the terms of struct ptx_group. */
struct atom {
    enum ptx_group_kind kind;
    uint16_t value;
};

static bool classify(struct aw_str mod, struct atom *ret)
{
    struct aw_str word = { mod.ptr + 1, mod.len - 1 }, plain = word;
    enum ptx_type type;
    enum ptx_mod known;
    const char *colon = memchr(word.ptr, ':', word.len);

    if (ptx_type_from(word, &type)) {
        *ret = (struct atom){ PTX_GROUP_TYPE, (uint16_t)type };
        return true;
    }
    if (word.len == 2 && word.ptr[0] == 'v' && strchr("248", word.ptr[1])) {
        *ret = (struct atom){ PTX_GROUP_VEC, (uint16_t)(word.ptr[1] - '0') };
        return true;
    }
    if (colon)
        plain.len = (size_t)(colon - word.ptr);
    enum ptx_space space = space_from(plain);
    if (space && !colon) {
        *ret = (struct atom){ PTX_GROUP_SPACE, (uint16_t)space };
        return true;
    }
    if (!ptx_mod_from(word, &known))
        return false;
    *ret = (struct atom){ space ? PTX_GROUP_SPACE : PTX_GROUP_MOD, (uint16_t)known };
    if (space)
        ret->value = (uint16_t)(space + 256 * (1 + known));
    return true;
}

static void note(struct ptx_opcode *op, struct atom atom)
{
    unsigned mod = atom.value;

    switch (atom.kind) {
    case PTX_GROUP_TYPE:
        if (op->n_types < PTX_MAX_TYPES)
            op->types[op->n_types] = (enum ptx_type)atom.value;
        op->n_types++;
        return;
    case PTX_GROUP_VEC:
        op->vec = atom.value;
        return;
    case PTX_GROUP_SPACE:
        if (!op->space)
            op->space = PTX_ALT_SPACE(atom.value);
        else
            op->space2 = PTX_ALT_SPACE(atom.value);
        if (atom.value < 256)
            return;
        mod = atom.value / 256u - 1;
        break;
    case PTX_GROUP_MOD:
        break;
    }
    op->flags[mod / 64] |= (uint64_t)1 << (mod % 64);
}

static bool group_has(const struct ptx_group *g, struct atom atom)
{
    static const char shared_cta[] = "shared::cta";

    if (g->kind != atom.kind)
        return false;
    for (unsigned i = 0; i < g->n; i++)
        if (g->alternatives[i] == atom.value)
            return true;
    /* .shared::cta is what .shared means; a row need not name it. */
    if (atom.kind == PTX_GROUP_SPACE && atom.value >= 256 &&
        strcmp(ptx_mod_name((enum ptx_mod)(atom.value / 256 - 1)), shared_cta) == 0)
        return group_has(g, (struct atom){ PTX_GROUP_SPACE, PTX_SPACE_SHARED });
    return false;
}

#define MAX_MODS 32

/* Each modifier takes the first free group that has it; types and spaces take theirs in order. */
static bool form_takes(const struct ptx_form *form, const struct atom *atoms, uint32_t n)
{
    uint32_t taken = 0, next[4] = { 0 };

    for (uint32_t i = 0; i < n; i++) {
        bool ordered = atoms[i].kind == PTX_GROUP_TYPE || atoms[i].kind == PTX_GROUP_SPACE, found = false;
        for (uint32_t g = ordered ? next[atoms[i].kind] : 0; g < form->n_groups && !found; g++) {
            if ((taken >> g & 1) || !group_has(&form->groups[g], atoms[i]))
                continue;
            taken |= (uint32_t)1 << g;
            next[atoms[i].kind] = g + 1;
            found = true;
        }
        if (!found)
            return false;
    }
    for (uint32_t g = 0; g < form->n_groups; g++)
        if (!(taken >> g & 1) && !form->groups[g].optional)
            return false;
    return true;
}

/* Families that are tied to one architecture: their operands are layouts of its hardware, which nothing else can stand for. */
static const struct {
    const char *mnemonic, *modifier; /* NULL: any */
    const char *why;
} foreign[] = {
    { "wgmma", NULL, "warpgroup matrix products (wgmma) are tied to one architecture, sm_90a" },
    { "tcgen05", NULL, "tensor memory (tcgen05) is tied to one architecture, sm_100a and its kin" },
    { "tensormap", NULL, "tensor maps (tensormap) are tied to the copy engine of NVIDIA's sm_90 and later" },
    { "cvt", ".s2f6x2", "conversions of s2f6x2 are tied to single architectures, sm_100a and its kin" },
    { "cp", ".tensor",
      "copies through tensor maps (cp.async.bulk.tensor) are tied to the copy engine of NVIDIA's sm_90 and later" },
};

static bool is_foreign(struct ptx_opcode *op)
{
    for (size_t f = 0; f < sizeof foreign / sizeof *foreign; f++) {
        bool found = aw_str_is(op->mnemonic, foreign[f].mnemonic);
        for (uint32_t i = 0; found && foreign[f].modifier; i++) {
            if (i == op->n_mods)
                found = false;
            else if (aw_str_is(op->mods[i], foreign[f].modifier))
                break;
        }
        if (found) {
            op->bad = aw_str_from(foreign[f].why);
            op->foreign = true;
            return true;
        }
    }
    return false;
}

static void decode(struct ptx_opcode *op, struct aw_arena *arena)
{
    struct atom atoms[MAX_MODS];
    size_t n;
    const struct ptx_form *forms = ptx_forms_of(op->mnemonic, &n);

    op->decoded = true;
    if (is_foreign(op))
        return;
    if (!forms) {
        op->bad = AW_STR("not known to anywarp");
        return;
    }
    if (op->n_mods > MAX_MODS) {
        op->bad = AW_STR("too many modifiers");
        return;
    }
    for (uint32_t i = 0; i < op->n_mods; i++) {
        if (!classify(op->mods[i], &atoms[i])) {
            op->bad = aw_arena_printf(arena, "modifier '%.*s' is not known to anywarp",
                                      (int)(op->mods[i].len > 60 ? 60 : op->mods[i].len), op->mods[i].ptr);
            return;
        }
        note(op, atoms[i]);
    }
    op->forms = AW_NEW_ARRAY(arena, const struct ptx_form *, n);
    if (!op->forms)
        return;
    for (size_t i = 0; i < n; i++)
        if (forms[i].n_groups <= 32 && form_takes(&forms[i], atoms, op->n_mods))
            op->forms[op->n_forms++] = &forms[i];
    if (!op->n_forms)
        op->bad = n == 1 ? aw_arena_printf(arena, "its form is '%s'", forms[0].syntax)
                         : aw_arena_printf(arena, "none of the %zu forms of '%s' has these modifiers", n, forms[0].mnemonic);
}

/* ---- Operands */
struct match {
    struct ptx_module *module;
    struct ptx_instr *in;
    const struct ptx_form *form;
    bool select, negatable; /* of the shape in hand */
    char why[160];
};

static bool no(struct match *m, uint32_t index, const char *what)
{
    snprintf(m->why, sizeof m->why, "operand %u %s", index + 1, what);
    return false;
}

/* Width of the register an operand names: a component of a vector register has the element's. */
static enum ptx_type reg_type(const struct ptx_operand *op)
{
    return op->kind == PTX_OP_SREG ? ptx_sreg_type(op->sreg) : op->var->type;
}

static bool fits_reg(struct match *m, uint32_t index, const struct ptx_operand *op, enum ptx_type type, bool wider)
{
    unsigned have = ptx_type_bits(reg_type(op)), want = ptx_type_bits(type);

    if (op->kind == PTX_OP_REG && op->suffix.len && op->var->vec == 1 && !m->select)
        return no(m, index, "has a selector, which this form does not allow");
    if (type == PTX_NONE)
        return true;
    if ((reg_type(op) == PTX_PRED) != (type == PTX_PRED))
        return no(m, index, type == PTX_PRED ? "must be a predicate" : "must not be a predicate");
    if (op->kind == PTX_OP_SREG || have == want || (wider && have > want))
        return true;
    char text[96];
    snprintf(text, sizeof text, "is a register of %u bits where .%s is needed", have, ptx_type_name(type));
    return no(m, index, text);
}

static bool fits_source(struct match *m, uint32_t index, const struct ptx_operand *op, enum ptx_type type, bool wider)
{
    char class = ptx_type_class(type);

    if (op->negate && !(m->negatable && op->negate == PTX_MINUS && op->kind == PTX_OP_REG))
        return no(m, index, "must not be negated");
    switch (op->kind) {
    case PTX_OP_REG:
    case PTX_OP_SREG:
        return fits_reg(m, index, op, type, wider);
    case PTX_OP_INT:
        /* As a predicate it is false where it is 0 (PTX ISA §4.5.3): xor.pred %p1, %p1, -1 */
        return class != 'F' || no(m, index, "is an integer constant where a float is needed");
    case PTX_OP_FLOAT:
        return class == 'F' || class == 'B' || type == PTX_NONE || no(m, index, "is a float constant where an integer is needed");
    case PTX_OP_SYMBOL:
    case PTX_OP_FUNC:
        if (type != PTX_NONE && (class == 'P' || ptx_type_bits(type) < 32))
            return no(m, index, "is an address, too wide for the type");
        return true;
    default:
        return no(m, index, "must be a register or a constant");
    }
}

static bool fits_dest(struct match *m, uint32_t index, const struct ptx_operand *op, enum ptx_type type, bool wider)
{
    if (op->kind == PTX_OP_SINK)
        return true;
    if (op->kind != PTX_OP_REG || op->negate || op->offset)
        return no(m, index, "must be a register");
    return fits_reg(m, index, op, type, wider);
}

/* A {vector} of as many elements as the row says. */
static bool fits_counted(struct match *m, uint32_t index, const struct ptx_operand *op, enum ptx_type type,
                         const struct ptx_shape *shape)
{
    if (op->kind != PTX_OP_VECTOR || op->n_items != shape->count) {
        char text[48];
        snprintf(text, sizeof text, "must be a vector of %u elements", shape->count);
        return no(m, index, text);
    }
    for (uint32_t i = 0; i < op->n_items; i++) {
        const struct ptx_operand *item = &op->items[i];
        if (!(shape->kind == PTX_SHAPE_DSTVEC ? fits_dest(m, index, item, type, shape->wider)
                                              : fits_source(m, index, item, type, shape->wider)))
            return false;
    }
    return true;
}

static bool fits_vector(struct match *m, uint32_t index, const struct ptx_operand *op, enum ptx_type type, bool wider, bool dest)
{
    uint32_t vec = m->in->opcode->vec;
    unsigned bits = 0;

    if (op->kind != PTX_OP_VECTOR) {
        if (vec)
            return no(m, index, "must be a vector");
        return dest ? fits_dest(m, index, op, type, wider) : fits_source(m, index, op, type, wider);
    }
    if (!vec && op->n_items == 1) /* suld writes {%r1} for one register */
        return dest ? fits_dest(m, index, &op->items[0], type, wider) : fits_source(m, index, &op->items[0], type, wider);
    if (vec && op->n_items != vec)
        return no(m, index, "has not as many elements as the instruction says");
    for (uint32_t i = 0; i < op->n_items; i++) {
        const struct ptx_operand *item = &op->items[i];
        enum ptx_type each = vec ? type : PTX_NONE;
        if (!(dest ? fits_dest(m, index, item, each, wider) : fits_source(m, index, item, each, wider)))
            return false;
        if (item->kind == PTX_OP_REG)
            bits += ptx_type_bits(reg_type(item)) == 1 ? 1000 : ptx_type_bits(reg_type(item)); /* no predicates */
        else if (type != PTX_NONE && op->n_items)
            bits += ptx_type_bits(type) / op->n_items;
    }
    if (!vec && type != PTX_NONE && bits != ptx_type_bits(type))
        return no(m, index, "is not as wide as the type");
    return true;
}

static bool fits_pred(struct match *m, uint32_t index, const struct ptx_operand *op, bool dest)
{
    if (dest && op->kind == PTX_OP_SINK)
        return true;
    if (op->negate && (dest || op->negate == PTX_MINUS))
        return no(m, index, "must not be negated");
    if ((op->kind == PTX_OP_REG || (!dest && op->kind == PTX_OP_SREG)) && reg_type(op) == PTX_PRED)
        return true;
    if (!dest && op->kind == PTX_OP_INT) /* mov.pred %p1, -1 */
        return true;
    return no(m, index, "must be a predicate");
}

/* a[1] where an address belongs is [a+4]. */
static bool fits_address(struct match *m, uint32_t index, struct ptx_operand *op)
{
    struct ptx_operand *base;

    if (op->kind == PTX_OP_ADDR) {
        struct aw_str name = m->in->opcode->mnemonic;
        return !op->by_register || aw_str_is(name, "ld") || aw_str_is(name, "st") || no(m, index, "must be an [address]");
    }
    if (op->kind != PTX_OP_SYMBOL)
        return no(m, index, "must be an [address]");
    base = AW_NEW(&m->module->arena, struct ptx_operand);
    if (!base)
        return no(m, index, "does not fit: out of memory");
    *base = *op;
    base->offset = 0;
    *op = (struct ptx_operand){ .kind = PTX_OP_ADDR, .loc = op->loc, .offset = op->offset, .items = base, .n_items = 1 };
    return true;
}

static bool fits(struct match *m, const struct ptx_shape *shape, uint32_t index)
{
    const struct ptx_operand *op = &m->in->ops[index];
    enum ptx_type type = (enum ptx_type)shape->type;

    m->select = shape->select;
    m->negatable = shape->negatable;
    if (shape->type_group >= 0 && (uint32_t)shape->type_group < m->in->opcode->n_types)
        type = m->in->opcode->types[shape->type_group];
    if (op->kind == PTX_OP_PAIR && shape->kind != PTX_SHAPE_ANY) {
        if (!shape->pair)
            return no(m, index, "must not be a pair");
        if (!fits_pred(m, index, &op->items[1], true))
            return false;
        op = &op->items[0];
    }
    if (shape->count)
        return fits_counted(m, index, op, type, shape);
    switch (shape->kind) {
    case PTX_SHAPE_DST: return fits_dest(m, index, op, type, shape->wider);
    case PTX_SHAPE_SRC: return fits_source(m, index, op, type, shape->wider);
    case PTX_SHAPE_DSTVEC: return fits_vector(m, index, op, type, shape->wider, true);
    case PTX_SHAPE_SRCVEC: return fits_vector(m, index, op, type, shape->wider, false);
    case PTX_SHAPE_MEM: return fits_address(m, index, &m->in->ops[index]);
    case PTX_SHAPE_PRED_DST: return fits_pred(m, index, op, true);
    case PTX_SHAPE_PRED_SRC: return fits_pred(m, index, op, false);
    case PTX_SHAPE_LABEL: return op->kind == PTX_OP_LABEL || no(m, index, "must be a label");
    case PTX_SHAPE_ANY: return true;
    }
    return false;
}

/* Optional operands may be left out anywhere; rows are short, so trying both ways is cheap. */
static bool match_from(struct match *m, uint32_t shape, uint32_t op)
{
    const struct ptx_form *form = m->form;

    if (shape == form->n_shapes)
        return op == m->in->n_ops || no(m, op, "is one too many");
    if (op < m->in->n_ops && fits(m, &form->shapes[shape], op) && match_from(m, shape + 1, op + 1))
        return true;
    if (form->shapes[shape].optional)
        return match_from(m, shape + 1, op);
    if (op >= m->in->n_ops)
        no(m, op, "is missing");
    return false;
}

static bool reject(struct ptx_module *module, struct ptx_instr *in, struct aw_str why)
{
    in->form = NULL;
    in->foreign = in->opcode->foreign;
    in->why = aw_arena_str(&module->arena, why);
    return false;
}

bool ptx_match_instr(struct ptx_module *module, struct ptx_instr *in)
{
    struct ptx_opcode *op = in->opcode;
    struct match m = { .module = module, .in = in };

    if (!op->decoded)
        decode(op, &module->arena);
    in->n_types = op->n_types < PTX_MAX_TYPES ? op->n_types : PTX_MAX_TYPES;
    in->vec = op->vec ? op->vec : 1;
    in->space = op->space;
    in->space2 = op->space2;
    if (!op->n_forms)
        return reject(module, in, op->bad.len ? op->bad : AW_STR("out of memory"));
    for (uint32_t i = 0; i < op->n_forms; i++) {
        m.form = op->forms[i];
        if (match_from(&m, 0, 0)) {
            in->form = m.form;
            return true;
        }
    }
    return reject(module, in, aw_str_from(m.why));
}
