/* An instance's operands: which are registers, constants, pairs, vectors; how wide; which columns of the buffers they have. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/harness.h"

/* Operands that the instruction wants constant, and how many values of it are worth a variant each. */
static const struct {
    const char *row;
    unsigned operand, variants;
    uint64_t first, step, n;
} constants[] = {
    { "lop3", 4, 64, 0, 37, 256 },      /* coprime to 256 */
    { "lop3_bool", 4, 16, 0, 37, 256 },
};

static uint64_t random_immediate(const struct oracle_combo *combo, unsigned variant, const struct oracle_operand *o)
{
    struct oracle_rng rng = { oracle_hash(variant, combo->name) };
    struct oracle_value_spec spec = { .type = o->type, .small = o->small };
    uint64_t bits[1][2];
    for (unsigned i = 0; i < 4; i++)
        oracle_values(&rng, &spec, 1, UINT32_MAX, bits);
    return bits[0][0];
}

static bool may_be_immediate(const struct oracle_operand *o)
{
    enum ptx_type element;
    char class = ptx_type_class(o->type);
    return o->read && !o->imm && !o->mem && !o->pred && !o->mask && o->n_items == 1 && oracle_elements(o->type, &element) == 1 &&
           (class != 'F' || o->type == PTX_F32 || o->type == PTX_F64) && ptx_type_bits(o->type) >= 16;
}

static unsigned reg_bits(unsigned bits, bool wide)
{
    unsigned r = bits <= 16 ? 16 : bits <= 32 ? 32 : bits <= 64 ? 64 : 128;
    return wide && r < 64 ? bits <= 8 ? 32 : 64 : r;
}

static void describe(const struct oracle_combo *c, const struct ptx_shape *shape, struct oracle_operand *o)
{
    enum ptx_shape_kind k = shape->kind;

    *o = (struct oracle_operand){ .shape = shape, .n_items = 1, .reg_columns = 1 };
    o->type = shape->type_group >= 0 ? (unsigned)shape->type_group < c->n_types ? c->types[shape->type_group] : PTX_NONE
                                     : (enum ptx_type)shape->type;
    o->mem = k == PTX_SHAPE_MEM;
    o->pred = k == PTX_SHAPE_PRED_DST || k == PTX_SHAPE_PRED_SRC || o->type == PTX_PRED;
    o->read = k == PTX_SHAPE_SRC || k == PTX_SHAPE_SRCVEC || k == PTX_SHAPE_PRED_SRC || o->mem;
    o->written = k == PTX_SHAPE_DST || k == PTX_SHAPE_DSTVEC || k == PTX_SHAPE_PRED_DST || o->mem;
    o->small = k == PTX_SHAPE_SRC && shape->type_group < 0;
    if (o->pred)
        o->type = PTX_PRED;
    if ((k == PTX_SHAPE_DSTVEC || k == PTX_SHAPE_SRCVEC) && c->vec > 1)
        o->n_items = c->vec;
    if (shape->count)
        o->n_items = shape->count;
    o->item_bits = ptx_type_bits(o->type);
    o->reg_bits = reg_bits(o->item_bits, false);
    if (!o->pred && !shape->wider && o->item_bits == 8)
        o->reg_bits = 8; /* exactly: e2m1x2 */
}

/* Which operands a variant has, apart from optional ones that modifiers ask for. */
enum variant { PLAIN, PAIR, PAIR_SINK, OPTIONAL, WIDE, IMM_LAST, IMM_FIRST, VECTOR_2, VECTOR_4, SELECT, SELECT_END = SELECT + 6,
               NEGATE = SELECT_END, VARIANTS };

static bool has_shape(const struct ptx_form *f, enum ptx_shape_kind kind)
{
    for (unsigned i = 0; i < f->n_shapes; i++)
        if (f->shapes[i].kind == kind)
            return true;
    return false;
}

static bool pack_vector(struct oracle_operand *o, unsigned n)
{
    if (o->shape->count || ptx_type_class(o->type) != 'B' || ptx_type_bits(o->type) / n < 16 || ptx_type_bits(o->type) / n > 64)
        return false;
    o->n_items = n;
    o->item_bits = o->reg_bits = ptx_type_bits(o->type) / n;
    return true;
}

/* A random selector: of one part, of the parts of a pair or a quadruple, or (written) of those that are to change. */
static void choose_suffix(struct oracle_rng *rng, const struct oracle_combo *c, struct oracle_operand *o)
{
    const char *mnemonic = c->form->mnemonic;
    unsigned parts = mnemonic[strlen(mnemonic) - 1] - '0', n = 0;

    o->suffix[n++] = '.';
    if (parts != 2 && parts != 4) {
        unsigned at = oracle_below(rng, 6);
        o->suffix[n++] = at < 4 ? 'b' : 'h';
        o->suffix[n++] = (char)('0' + at % 4);
    } else {
        unsigned mask = 1 + oracle_below(rng, (1u << parts) - 1);
        o->suffix[n++] = parts == 2 ? 'h' : 'b';
        for (unsigned i = parts; i-- > 0;)
            if (!o->written || (mask >> i & 1))
                o->suffix[n++] = (char)('0' + (o->written ? i : oracle_below(rng, 2 * parts)));
    }
    o->suffix[n] = 0;
}

/* Some of the operands that may have a selector get one; a written one only if c, to merge with, is there. */
static bool select_parts(const struct oracle_combo *c, struct oracle_plan *p, unsigned variant)
{
    struct oracle_rng rng = { oracle_hash(variant, c->name) };
    bool any = false;

    for (unsigned i = 0; i < p->n_ops; i++) {
        struct oracle_operand *o = &p->ops[i];
        if (!o->shape->select || o->imm || (o->written && p->n_ops < 4) || !oracle_below(&rng, 3))
            continue;
        choose_suffix(&rng, c, o);
        any = true;
    }
    return any;
}

static bool negate_one(const struct oracle_combo *c, struct oracle_plan *p)
{
    struct oracle_rng rng = { oracle_hash(NEGATE, c->name) };
    unsigned can = 0;

    for (unsigned i = 0; i < p->n_ops; i++)
        can += p->ops[i].shape->negatable;
    for (unsigned i = 0, k = can ? oracle_below(&rng, can) : 0; i < p->n_ops; i++)
        if (p->ops[i].shape->negatable && k-- == 0)
            p->ops[i].minus = true;
    return can != 0;
}

static bool apply_variant(const struct oracle_combo *c, struct oracle_plan *p, unsigned variant)
{
    int last = -1, first = -1;
    bool any = false, pair = false;

    for (unsigned i = 0; i < p->n_ops; i++) {
        struct oracle_operand *o = &p->ops[i];
        pair |= o->shape->pair;
        if (may_be_immediate(o)) {
            first = first < 0 ? (int)i : first;
            last = (int)i;
        }
    }
    switch ((enum variant)variant) {
    case PLAIN: return true;
    case PAIR:
    case PAIR_SINK:
        for (unsigned i = 0; i < p->n_ops; i++) {
            struct oracle_operand *o = &p->ops[i];
            o->pair = o->shape->pair;
            o->sink = o->pair && variant == PAIR_SINK;
            o->negate = o->shape->kind == PTX_SHAPE_PRED_SRC;
            any |= (o->negate && variant == PAIR) || o->pair;
        }
        return any && (variant == PAIR || pair);
    case OPTIONAL: return false; /* the planner's */
    case WIDE:
        for (unsigned i = 0; i < p->n_ops; i++) {
            struct oracle_operand *o = &p->ops[i];
            if (o->shape->wider && o->item_bits < 64) {
                o->reg_bits = reg_bits(o->item_bits, true);
                any = true;
            }
        }
        return any;
    case IMM_LAST:
    case IMM_FIRST:
        if (first < 0 || (variant == IMM_FIRST && first == last))
            return false;
        p->ops[variant == IMM_LAST ? last : first].imm = true;
        p->ops[variant == IMM_LAST ? last : first].imm_bits = random_immediate(c, variant,
                                                                               &p->ops[variant == IMM_LAST ? last : first]);
        return true;
    case VECTOR_2:
    case VECTOR_4:
        for (unsigned i = 0; i < p->n_ops && c->vec == 1; i++) {
            struct oracle_operand *o = &p->ops[i];
            enum ptx_shape_kind kind = p->instance->part ? PTX_SHAPE_SRCVEC : PTX_SHAPE_DSTVEC; /* one at a time */
            if (!has_shape(c->form, PTX_SHAPE_MEM) && o->shape->kind == kind)
                any |= pack_vector(o, variant == VECTOR_2 ? 2 : 4);
        }
        return any;
    case NEGATE: return negate_one(c, p);
    default: return variant >= SELECT && variant < SELECT_END && select_parts(c, p, variant);
    }
}

/* Variants beyond the ordinary ones step through the values of a constant operand. */
static bool apply_constants(const struct oracle_combo *c, struct oracle_plan *p, unsigned variant, unsigned *ret_variant)
{
    for (size_t k = 0; k < sizeof constants / sizeof *constants; k++) {
        if (strcmp(constants[k].row, c->form->id) != 0)
            continue;
        unsigned step = variant;
        if (variant >= VARIANTS) {
            step = variant - VARIANTS + 1;
            *ret_variant = step % 3 == 1 ? PAIR : step % 3 == 2 ? PAIR_SINK : PLAIN;
            if (!has_shape(c->form, PTX_SHAPE_PRED_SRC))
                *ret_variant = PLAIN;
        }
        struct oracle_operand *o = &p->ops[constants[k].operand];
        o->imm = true;
        o->imm_bits = (constants[k].first + step * constants[k].step) % constants[k].n;
        return step < constants[k].variants;
    }
    return variant < VARIANTS;
}

static void member_mask(struct oracle_plan *p)
{
    p->convergent = (p->combo->form->traits & PTX_CONVERGENT) != 0;
    if (!p->convergent || !oracle_combo_has(p->combo, "sync") || !p->n_ops)
        return;
    struct oracle_operand *o = &p->ops[p->n_ops - 1];
    if (o->read && !o->pred && o->type == PTX_B32 && o->shape->kind == PTX_SHAPE_SRC) {
        o->mask = true;
        p->member_mask = true;
    }
}

static bool carry_chain(const char *mnemonic)
{
    return !strcmp(mnemonic, "addc") || !strcmp(mnemonic, "subc") || !strcmp(mnemonic, "madc");
}

/* Optional operands: a cache policy is there when the modifier asks for it; others are absent but in one variant. */
static bool choose_operands(const struct oracle_combo *c, struct oracle_plan *p, unsigned variant)
{
    const struct ptx_form *f = c->form;
    bool any = false;

    for (unsigned i = 0; i < f->n_shapes; i++) {
        const struct ptx_shape *shape = &f->shapes[i];
        if (p->n_ops == sizeof p->ops / sizeof *p->ops)
            return false;
        bool policy = shape->optional && shape->type == PTX_B64 && i + 1 == f->n_shapes && strstr(f->syntax, "cache_hint");
        bool with = variant == OPTIONAL || (variant >= SELECT && variant < SELECT_END && variant % 3);
        if (shape->optional && !(policy ? c->cache_hint : with))
            continue;
        any |= shape->optional && !policy;
        if (shape->kind == PTX_SHAPE_LABEL || shape->kind == PTX_SHAPE_ANY || p->n_ops >= ORACLE_OPERANDS)
            return false;
        describe(c, shape, &p->ops[p->n_ops]);
        if (policy)
            p->ops[p->n_ops].read = false; /* no value of its own: a policy is made for it */
        if (shape->kind == PTX_SHAPE_MEM) {
            if (p->mem >= 0)
                return false;
            p->mem = (int)p->n_ops;
        }
        p->n_ops++;
    }
    return variant != OPTIONAL || any;
}

bool oracle_plan(const struct oracle_combo *c, const struct oracle_instance *instance, struct oracle_plan *p)
{
    unsigned variant = instance->variant;
    uint64_t h = oracle_hash(instance->variant, c->name);

    *p = (struct oracle_plan){ .combo = c, .instance = instance, .mem = -1 };
    if (c->form->n_shapes && has_shape(c->form, PTX_SHAPE_MEM) && c->n_types &&
        c->vec * ptx_type_bits(c->types[0]) > 8 * ORACLE_CELL)
        return false; /* nothing is that wide; the lowering says so */
    /* Parameters of calls are of the tests of calls; a kernel's own are only read. */
    if (c->space == PTX_SPACE_PARAM && (oracle_combo_has(c, "param::func") || !strcmp(c->form->mnemonic, "st")))
        return false;
    /* Which lanes execute does not depend on the kind of a lane's operand. */
    if (instance->part && variant != PLAIN && variant != PAIR && variant != VECTOR_2 && variant != VECTOR_4 &&
        !(c->form->traits & PTX_CONVERGENT))
        return false;
    if (!choose_operands(c, p, variant) || !apply_constants(c, p, variant, &variant))
        return false;
    member_mask(p);
    if (variant != OPTIONAL && !apply_variant(c, p, variant))
        return false;
    for (unsigned i = 0; i < p->n_ops; i++)
        p->ops[i].reg_columns = p->ops[i].reg_bits > 64 ? 2 : 1;
    p->carry_out = oracle_combo_has(c, "cc");
    p->carry_in = p->carry_out || carry_chain(c->form->mnemonic);
    p->branch = instance->part && (h >> 20 & 1);
    p->offset = (h >> 21 & 3) * 32; /* 0: none is written */
    return true;
}
