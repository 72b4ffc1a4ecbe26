/* Where a texture's or surface's handle in a register comes from.  The machine's have 32 bits; ours are addresses of 64, as the
 * program's memory has them, and machine code loads and moves the low words alone.  So beside each register that may have such a
 * word there is one of 64 bits, %xr4 of R4, which is loaded and moved as that is; where one is used, both must agree, else the
 * kernel traps: then the word was made in a way that is not known here. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include "sass/lift.h"

/* ---- Which registers */

static bool is_register(const struct sass_operand *o)
{
    return (o->kind == SASS_REG || o->kind == SASS_UREG) && o->reg != SASS_RZ;
}

static bool *has(struct sass_lift *l, const struct sass_operand *o, unsigned word)
{
    return &l->has_handle[o->kind == SASS_UREG][(o->reg + word) & 255];
}

/* Notes a register; true when that is new. */
static bool note(struct sass_lift *l, const struct sass_operand *o, unsigned word)
{
    if (!is_register(o) || *has(l, o, word))
        return false;
    l->handles = true;
    return *has(l, o, word) = true;
}

/* The operands that an instruction copies to its result: none, one, or two of which a predicate chooses. */
static unsigned copied(const struct sass_insn *i, const struct sass_operand *ret[2])
{
    switch (i->op) {
    case SASS_MOV: case SASS_UMOV: case SASS_R2UR:
        ret[0] = &i->opnd[i->opnd[SASS_A].kind == SASS_NONE ? SASS_B : SASS_A];
        return 1;
    case SASS_IMAD: case SASS_UIMAD:
        ret[0] = &i->opnd[SASS_C];
        return sass_is_zero(&i->opnd[SASS_A]) && sass_is_zero(&i->opnd[SASS_B]);
    case SASS_SEL: case SASS_USEL:
        ret[0] = &i->opnd[SASS_A];
        ret[1] = &i->opnd[SASS_B];
        return 2;
    default:
        return 0;
    }
}

/* The words of an instruction's operands that are handles by what it does with them. */
void sass_note_handles(struct sass_lift *l, const struct sass_insn *i)
{
    bool own = i->mod[SASS_F_B];
    switch (i->op) {
    case SASS_TEX: case SASS_TLD: case SASS_TLD4: /* where exactly depends on the coordinates: all that it may be */
        for (unsigned k = 0; own && k < 4; k++) {
            note(l, &i->opnd[SASS_A], k);
            note(l, &i->opnd[SASS_B], k);
        }
        break;
    case SASS_TXD: case SASS_TXQ:
        if (own)
            note(l, &i->opnd[SASS_A], 0);
        break;
    case SASS_SULD: case SASS_SUST: case SASS_SURED:
        note(l, &i->opnd[SASS_C], 0);
        break;
    default: return;
    }
    note(l, &i->opnd[SASS_H], 0);
}

void sass_find_handles(struct sass_lift *l)
{
    const struct sass_operand *from[2];
    for (bool more = l->handles; more;) {
        more = false;
        for (uint32_t k = 0; k < l->n; k++) {
            const struct sass_insn *i = &l->insns[k];
            unsigned n = copied(i, from);
            if (!n || !is_register(&i->opnd[SASS_D]) || !*has(l, &i->opnd[SASS_D], 0))
                continue;
            for (unsigned f = 0; f < n; f++)
                more |= note(l, from[f], 0);
        }
    }
}

/* ---- What they become */

static struct sass_text name_of(const struct sass_operand *o, unsigned word)
{
    return sass_format(o->kind == SASS_UREG ? "%%xu%u" : "%%xr%u", (unsigned)(o->reg + word) & 255);
}

const struct sass_reloc *sass_bound(const struct sass_lift *l, const struct sass_operand *o)
{
    const struct sass_reloc *r = o->bank || o->value < 0 ? NULL : sass_reloc_at(&l->code->bank0_relocs, (uint32_t)o->value);
    uint8_t kind = r ? l->cubin->symbols[r->symbol].kind : SASS_SYMBOL_NONE;
    return kind == SASS_SYMBOL_TEXTURE || kind == SASS_SYMBOL_SURFACE ? r : NULL;
}

/* Whether a parameter, or a variable, has all of the 8 bytes. */
static bool is_whole(const struct sass_lift *l, const struct sass_operand *o)
{
    const struct sass_code *code = l->code;
    if (o->bank == 3)
        for (uint32_t k = 0; k < l->cubin->n_symbols; k++) {
            const struct sass_symbol *s = &l->cubin->symbols[k];
            if (s->kind == SASS_SYMBOL_CONSTANT && o->value >= (int64_t)s->value &&
                o->value + 8 <= (int64_t)(s->value + s->size))
                return true;
        }
    for (uint32_t k = 0; !o->bank && k < code->n_params; k++) {
        int64_t begin = (int64_t)code->param_base + code->params[k].offset;
        if (o->value >= begin && o->value + 8 <= begin + code->params[k].size)
            return o->value % 4 == 0;
    }
    return false;
}

/* What an operand has in 64 bits; "0" where that is no handle. */
static struct sass_text wide_of(struct sass_lift *l, const struct sass_operand *o)
{
    struct sass_operand pair = *o;
    if (is_register(o))
        return *has(l, o, 0) ? name_of(o, 0) : sass_format("0");
    if (o->kind != SASS_CONST || o->handle || o->reg != SASS_RZ || o->ureg != SASS_RZ)
        return sass_format("0");
    const struct sass_reloc *r = sass_bound(l, o);
    if (r)
        return sass_symbol_address(l, r->symbol, 0);
    pair.regs = 2;
    return is_whole(l, o) ? sass_raw64(l, &pair) : sass_format("0");
}

/* Words at a place that is known; what has an index is loaded. */
static void copy_constant(struct sass_lift *l, const struct sass_insn *i)
{
    struct sass_operand c = i->opnd[SASS_A];
    for (unsigned k = 0; k < (i->mod[SASS_F_SIZE] == SASS_SIZE_64 ? 2 : 1) && c.reg == SASS_RZ && c.ureg == SASS_RZ; k++) {
        if (*has(l, &i->opnd[SASS_D], k))
            sass_do(l, "mov.b64 %s, %s", name_of(&i->opnd[SASS_D], k).s, wide_of(l, &c).s);
        c.value += 4;
    }
}

void sass_handle_copy(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *from[2], *d = &i->opnd[SASS_D];
    struct sass_text v[2];
    if (!l->handles || !is_register(d))
        return;
    unsigned n = copied(i, from);
    if (i->op == SASS_LDC || i->op == SASS_ULDC)
        copy_constant(l, i);
    if (!n || !*has(l, d, 0))
        return;
    for (unsigned k = 0; k < n; k++)
        v[k] = wide_of(l, from[k]);
    if (n == 1)
        sass_do(l, "mov.b64 %s, %s", name_of(d, 0).s, v[0].s);
    else
        sass_do(l, "selp.b64 %s, %s, %s, %s", name_of(d, 0).s, v[0].s, v[1].s, sass_pred(l, &i->opnd[SASS_S]).s);
}

/* "%w3+16" taken apart. */
static struct sass_text base_of(const char *address, int64_t *ret_offset)
{
    struct sass_text base = sass_format("%s", address);
    char *plus = strchr(base.s, '+');
    *ret_offset = plus ? strtoll(plus + 1, NULL, 10) : 0;
    if (plus)
        *plus = 0;
    return base;
}

/* A word at an odd place is no handle's, and the one behind it may be outside of all memory. */
void sass_handle_load(struct sass_lift *l, const struct sass_insn *i, const char *op, const char *address)
{
    const struct sass_operand *d = &i->opnd[SASS_D];
    unsigned size = i->mod[SASS_F_SIZE], n = size == SASS_SIZE_32 ? 1 : size == SASS_SIZE_64 ? 2 : size == SASS_SIZE_128 ? 4 : 0;
    int64_t offset;
    struct sass_text base = base_of(address, &offset);
    bool shared = strstr(op, ".shared");
    for (unsigned k = 0; k < n && is_register(d); k++) {
        if (!*has(l, d, k))
            continue;
        struct sass_text at = sass_temp(l, shared ? 't' : 'w'), odd = sass_temp(l, shared ? 't' : 'w'), even = sass_temp(l, 'q'),
                         condition = sass_condition(l, i), to = name_of(d, k), got = sass_temp(l, 'w');
        sass_step(l, "add.s%d %s, %s, %" PRId64, shared ? 32 : 64, at.s, base.s, offset + 4 * k);
        sass_step(l, "and.b%d %s, %s, 7", shared ? 32 : 64, odd.s, at.s);
        sass_step(l, "setp.eq.u%d %s, %s, 0", shared ? 32 : 64, even.s, odd.s);
        even = sass_where(l, even, &condition);
        sass_step(l, "mov.b64 %s, 0", got.s);
        sass_step(l, "@%s %s.b64 %s, [%s]", even.s, op, got.s, at.s);
        sass_do(l, "mov.b64 %s, %s", to.s, got.s);
    }
}

/* ---- Where they are used */

/* Traps, as the instruction's guard says, where two words differ. */
static void agree(struct sass_lift *l, const char *a, const char *b)
{
    struct sass_text q = sass_temp(l, 'q'), condition = sass_condition(l, l->at);
    sass_step(l, "setp.ne.u32 %s, %s, %s", q.s, a, b);
    sass_step(l, "@%s trap", sass_where(l, q, &condition).s);
}

struct sass_text sass_handle_of(struct sass_lift *l, const struct sass_operand *o)
{
    struct sass_text lo, hi, wide = name_of(o, 0);
    if (!is_register(o) || !*has(l, o, 0)) {
        sass_fail(l, "no register with a handle");
        return sass_format("0");
    }
    sass_split(l, wide.s, &lo, &hi);
    agree(l, lo.s, sass_raw(l, o).s);
    return wide;
}

/* The second of two uniform registers has what the first says of the sampler, or nothing. */
static void second_agrees(struct sass_lift *l, const struct sass_operand *o)
{
    struct sass_operand first = *o, second = *o;
    struct sass_text sampler = sass_temp(l, 't');
    first.regs = second.regs = 1;
    second.reg++;
    if (l->cubin->arch >= 90)
        sass_step(l, "mov.b32 %s, 0", sampler.s);
    else
        sass_step(l, "shr.u32 %s, %s, 20", sampler.s, sass_raw(l, &first).s);
    agree(l, sampler.s, sass_raw(l, &second).s);
}

struct sass_text sass_handle(struct sass_lift *l, enum sass_slot slot)
{
    const struct sass_operand *o = sass_look(l, slot);
    if (o->kind == SASS_UREG) {
        struct sass_operand first = *o;
        first.regs = 1;
        if (o->regs == 2)
            second_agrees(l, o);
        return sass_handle_of(l, &first);
    }
    const struct sass_reloc *r = o->kind == SASS_CONST ? sass_bound(l, o) : NULL;
    if (r)
        return sass_symbol_address(l, r->symbol, 0);
    if (o->kind != SASS_CONST || !is_whole(l, o)) {
        sass_fail(l, "a handle that is no constant");
        return sass_format("0");
    }
    struct sass_operand pair = *o;
    pair.regs = 2;
    return sass_raw64(l, &pair);
}
