/* Operands: what an instruction reads, as PTX operands, and where it writes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "sass/lift.h"

/* ---- What was looked at */

static void looked(struct sass_lift *l, const struct sass_operand *o)
{
    l->looked.slots |= 1u << o->slot;
}

void sass_look_begin(struct sass_lift *l)
{
    l->looked = (struct sass_looked){ .slots = 0 };
    l->relocated = false;
}

void sass_look_all(struct sass_lift *l)
{
    memset(&l->looked, 255, sizeof l->looked);
}

void sass_look_end(struct sass_lift *l)
{
    const char *what = sass_reloc_of(l, l->at) && !l->relocated ? "a relocation" : sass_overlooked(l->at, &l->looked);
    if (what)
        sass_fail(l, "%s, which changes nothing that is known", what);
}

/* What reads an operand as it stands must not drop a sign or half that it has. */
static void as_it_stands(struct sass_lift *l, const struct sass_operand *o)
{
    if (o->neg || o->abs || o->inv || o->half)
        sass_fail(l, "operand %u with a sign or half", o->slot);
}

static struct sass_text reg_name(struct sass_lift *l, const struct sass_operand *o, unsigned word)
{
    unsigned r = o->reg + word;
    bool uniform = o->kind == SASS_UREG;
    struct sass_text *name = &l->names[uniform][r & 255];
    if (r > 255)
        sass_fail(l, "register %u", r);
    if (!name->s[0])
        *name = sass_numbered(uniform ? "%u" : "%r", r & 255);
    (uniform ? l->uregs : l->regs)[r & 255] = 1;
    return *name;
}

/* ---- Constants */

uint64_t sass_function_address(uint32_t symbol)
{
    return ((uint64_t)SASS_FUNCTION_ADDRESS << 32) + symbol + 1;
}

struct sass_text sass_started_address(struct sass_lift *l, const struct sass_reloc *r)
{
    uint64_t address = 0;
    if (r->addend || !sass_kernel_address(l->cubin, r->symbol, &address))
        sass_fail(l, "address of %.*s, which is no kernel", AW_STR_ARG(l->cubin->symbols[r->symbol].name));
    return sass_format("%" PRIu64, address);
}

struct sass_text sass_symbol_address(struct sass_lift *l, uint32_t symbol, int64_t addend)
{
    const struct sass_symbol *s = &l->cubin->symbols[symbol];
    if (s->kind == SASS_SYMBOL_FUNCTION || s->kind == SASS_SYMBOL_NONE || s->kind == SASS_SYMBOL_KERNEL)
        return sass_format("%" PRIu64, sass_function_address(symbol));
    bool opaque = s->kind == SASS_SYMBOL_TEXTURE || s->kind == SASS_SYMBOL_SURFACE;
    if (s->kind != SASS_SYMBOL_GLOBAL && s->kind != SASS_SYMBOL_CONSTANT && !opaque) {
        sass_fail(l, "address of %.*s, which is no variable", AW_STR_ARG(s->name));
        return (struct sass_text){ "0" };
    }
    l->symbols[symbol] = 1;
    struct sass_text w = sass_temp(l, 'w');
    sass_step(l, "mov.u64 %s, %.*s", w.s, AW_STR_ARG(s->name));
    if (s->kind == SASS_SYMBOL_CONSTANT) {
        struct sass_text g = sass_temp(l, 'w');
        sass_step(l, "cvta.const.u64 %s, %s", g.s, w.s);
        w = g;
    }
    if (addend) {
        struct sass_text sum = sass_temp(l, 'w');
        sass_step(l, "add.s64 %s, %s, %" PRId64, sum.s, w.s, addend);
        return sum;
    }
    return w;
}

/* The section of the instruction, whose constants it reads. */
static const struct sass_code *here(const struct sass_lift *l)
{
    return sass_part_of(l, l->at->offset / SASS_INSN_SIZE)->code;
}

/* A word of bank 2: of the section's own, or of the kernel's, in which those of its functions are. */
static uint32_t bank2_word(struct sass_lift *l, uint64_t at)
{
    const struct sass_code *code = here(l)->bank2.size ? here(l) : l->code;
    uint32_t v = 0;
    if (sass_reloc_at(&code->bank2_relocs, (uint32_t)at))
        sass_fail(l, "constant c[0x2][0x%" PRIx64 "], which is relocated", at);
    else if (at > code->bank2.size || code->bank2.size - at < 4)
        sass_fail(l, "constant c[0x2][0x%" PRIx64 "], which is not in the file", at);
    else
        memcpy(&v, code->bank2.ptr + at, 4);
    return v;
}

static struct sass_text special(struct sass_lift *l, const char *name)
{
    struct sass_text t = sass_temp(l, 't');
    sass_step(l, "mov.u32 %s, %s", t.s, name);
    return t;
}

/* One word of a number of 64 bits. */
static struct sass_text word_of_pair(struct sass_lift *l, struct sass_text w, bool high)
{
    struct sass_text lo, hi;
    sass_split(l, w.s, &lo, &hi);
    return high ? hi : lo;
}

/* The generic address of bank 0 itself, of which code reaches parameters. */
static struct sass_text bank0_address(struct sass_lift *l)
{
    struct sass_text at = sass_temp(l, 'w'), generic = sass_temp(l, 'w'), base = sass_temp(l, 'w');
    const struct sass_code *code = l->code;
    if (!code->n_params) {
        sass_fail(l, "address of parameters, of which there are none");
        return (struct sass_text){ "0" };
    }
    sass_step(l, "mov.u64 %s, p0", at.s);
    sass_step(l, "cvta.param.u64 %s, %s", generic.s, at.s);
    sass_step(l, "sub.s64 %s, %s, %" PRIu32, base.s, generic.s, code->param_base + code->params[0].offset);
    return base;
}

/* Where the last byte of the parameters is in bank 0: code asks whether an address is beyond it. */
static uint32_t last_parameter(const struct sass_lift *l)
{
    return l->code->param_base + l->code->param_size - 1;
}

/* Words that lie elsewhere from sm_90 on.  Of the end of the constants' window nothing depends: code asks twice whether an
 * address is beyond it. */
/* A word of the generic address of bank 3, to which code adds where a variable lies in it; where a relocation says that it is a
 * whole address already. */
static struct sass_text bank3_address(struct sass_lift *l, bool high)
{
    uint32_t symbol = UINT32_MAX;
    const struct sass_relocs *relocs = &here(l)->relocs;
    for (uint32_t k = 0; k < relocs->n; k++)
        if (l->cubin->symbols[relocs->at[k].symbol].kind == SASS_SYMBOL_CONSTANT && relocs->at[k].kind != SASS_RELOC_PLACE)
            return (struct sass_text){ "0" };
    if (l->constant_window)
        return high ? sass_numbered("", SASS_CONSTANT_WINDOW) : (struct sass_text){ "0" };
    for (uint32_t k = 0; k < l->cubin->n_symbols; k++)
        if (l->cubin->symbols[k].kind == SASS_SYMBOL_CONSTANT)
            symbol = k;
    if (symbol == UINT32_MAX)
        return (struct sass_text){ "0" };
    return word_of_pair(l, sass_symbol_address(l, symbol, -(int64_t)l->cubin->symbols[symbol].value), high);
}

static struct sass_text bank0_before_90(struct sass_lift *l, uint32_t at, bool *ret_known)
{
    *ret_known = true;
    if (at == (l->cubin->arch < 80 ? SASS_BANK0_LAST_75 : SASS_BANK0_LAST_80))
        return sass_numbered("", last_parameter(l));
    switch (at) {
    case SASS_BANK0_SELF: case SASS_BANK0_SELF + 4: return word_of_pair(l, bank0_address(l), at != SASS_BANK0_SELF);
    case SASS_BANK0_CONSTANTS: case SASS_BANK0_CONSTANTS + 4: return bank3_address(l, at != SASS_BANK0_CONSTANTS);
    case SASS_BANK0_DESCRIPTOR: case SASS_BANK0_DESCRIPTOR + 4: return (struct sass_text){ "0" };
    default: *ret_known = false; return (struct sass_text){ "0" };
    }
}

/* Clusters have one block; *ret_known as for all of bank 0. */
static struct sass_text cluster_word(struct sass_lift *l, uint32_t at, bool *ret_known)
{
    static const char *const clusters[] = { "%nclusterid.x", "%nclusterid.y", "%nclusterid.z" };
    *ret_known = at % 4 == 0;
    if (at == SASS_BANK0_CLUSTER)
        return (struct sass_text){ "0" };
    if ((at >= SASS_BANK0_CLUSTER_SIZE && at < SASS_BANK0_CLUSTER_INVERSE) || at == SASS_BANK0_CLUSTER_BLOCKS)
        return (struct sass_text){ "1" };
    if (at >= SASS_BANK0_CLUSTER_INVERSE && at < SASS_BANK0_CLUSTERS)
        return (struct sass_text){ "1065353216" };
    if (at >= SASS_BANK0_CLUSTERS && at < SASS_BANK0_CLUSTERS + 12 && *ret_known)
        return special(l, clusters[(at - SASS_BANK0_CLUSTERS) / 4]);
    *ret_known = false;
    return (struct sass_text){ "0" };
}

static struct sass_text bank0_from_90(struct sass_lift *l, uint32_t at, bool *ret_known)
{
    *ret_known = true;
    switch (at) {
    case SASS_BANK0_SELF_90: case SASS_BANK0_SELF_90 + 4: return word_of_pair(l, bank0_address(l), at != SASS_BANK0_SELF_90);
    case SASS_BANK0_CONSTANTS_90: case SASS_BANK0_CONSTANTS_90 + 4: return bank3_address(l, at != SASS_BANK0_CONSTANTS_90);
    case SASS_BANK0_LAST_90: case SASS_BANK0_LAST_90 + 4:
        return word_of_pair(l, sass_sum(l, true, bank0_address(l), sass_numbered("", last_parameter(l))),
                            at != SASS_BANK0_LAST_90);
    case SASS_BANK0_DESCRIPTOR_90: case SASS_BANK0_DESCRIPTOR_90 + 4: return (struct sass_text){ "0" };
    default: return cluster_word(l, at, ret_known);
    }
}

static struct sass_text bank0_always(struct sass_lift *l, uint32_t at, bool *ret_known)
{
    struct sass_text w;
    *ret_known = true;
    switch (at) {
    case SASS_BANK0_SHARED_WINDOW: case SASS_BANK0_LOCAL_WINDOW: case SASS_BANK0_RESERVED: return (struct sass_text){ "0" };
    case SASS_BANK0_SHARED_WINDOW + 4: l->shared_window = true; return sass_numbered("", SASS_SHARED_WINDOW);
    case SASS_BANK0_LOCAL_WINDOW + 4: l->local = l->local_window = true; return sass_numbered("", SASS_LOCAL_WINDOW);
    case SASS_BANK0_STACK: return sass_numbered("", l->frame);
    case SASS_BANK0_DYNAMIC: return special(l, "%dynamic_smem_size");
    case SASS_BANK0_UNITS: return special(l, "%nsmid");
    case SASS_BANK0_GRID: case SASS_BANK0_GRID + 4:
        w = sass_temp(l, 'w');
        sass_step(l, "mov.u64 %s, %%gridid", w.s);
        return word_of_pair(l, w, at != SASS_BANK0_GRID);
    default: *ret_known = false; return (struct sass_text){ "0" };
    }
}

/* A word of bank 0, which the driver fills. */
static struct sass_text bank0(struct sass_lift *l, uint32_t at)
{
    static const char *const dims[] = { "%ntid.x", "%ntid.y", "%ntid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z" };
    const struct sass_code *code = l->code;
    if (at >= code->param_base && at < code->param_base + code->param_size) {
        uint32_t word = (at - code->param_base) / 4;
        if (at % 4)
            sass_fail(l, "unaligned constant 0x%x", at);
        l->words[word] = 1;
        return sass_numbered("%c", word * 4);
    }
    uint32_t environment = l->cubin->arch < 90 ? SASS_BANK0_ENVIRONMENT : SASS_BANK0_ENVIRONMENT_90;
    bool known = false;
    struct sass_text t = l->cubin->arch < 90 ? bank0_before_90(l, at, &known) : bank0_from_90(l, at, &known);
    if (!known)
        t = bank0_always(l, at, &known);
    if (known)
        return t;
    if (at < SASS_BANK0_SHARED_WINDOW && at % 4 == 0)
        return special(l, dims[at / 4]);
    if (at >= environment && at < environment + 32 * 4 && at % 4 == 0)
        return special(l, sass_format("%%envreg%u", (at - environment) / 4).s);
    sass_fail(l, "constant c[0x0][0x%x], whose meaning is not known", at);
    return (struct sass_text){ "0" };
}

uint32_t sass_constant_symbol(const struct sass_lift *l, uint64_t at)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < l->cubin->n_symbols; i++) {
        const struct sass_symbol *s = &l->cubin->symbols[i];
        if (s->kind == SASS_SYMBOL_CONSTANT && s->value <= at &&
            (best == UINT32_MAX || s->value >= l->cubin->symbols[best].value))
            best = i;
    }
    return best;
}

static struct sass_text bank3(struct sass_lift *l, uint32_t at)
{
    uint32_t symbol = sass_constant_symbol(l, at);
    if (symbol == UINT32_MAX) {
        sass_fail(l, "constant c[0x3][0x%x], which no symbol names", at);
        return (struct sass_text){ "0" };
    }
    const struct sass_symbol *s = &l->cubin->symbols[symbol];
    l->symbols[symbol] = 1;
    struct sass_text t = sass_temp(l, 't');
    sass_step(l, "ld.const.b32 %s, [%.*s+%" PRIu64 "]", t.s, AW_STR_ARG(s->name), at - s->value);
    return t;
}

static struct sass_text address_in_bank4(struct sass_lift *l, const struct sass_reloc *r)
{
    return r->kind == SASS_RELOC_KERNEL64 ? sass_started_address(l, r) : sass_symbol_address(l, r->symbol, r->addend);
}

static struct sass_text bank4(struct sass_lift *l, uint32_t at)
{
    const struct sass_reloc *r = sass_reloc_at(&here(l)->bank4_relocs, at & ~7u);
    if (!r || (r->kind != SASS_RELOC_ABS64 && r->kind != SASS_RELOC_KERNEL64)) {
        sass_fail(l, "constant c[0x4][0x%x], which no symbol is for", at);
        return (struct sass_text){ "0" };
    }
    struct sass_text w = address_in_bank4(l, r), lo, hi;
    sass_split(l, w.s, &lo, &hi);
    return at & 4 ? hi : lo;
}

static struct sass_text constant(struct sass_lift *l, const struct sass_operand *o, unsigned word)
{
    uint32_t at = (uint32_t)o->value + 4 * word;
    if (o->handle) {
        sass_fail(l, "a constant found through a handle");
        return (struct sass_text){ "0" };
    }
    struct sass_operand one = { .kind = SASS_CONST, .bank = o->bank, .value = at };
    const struct sass_reloc *r = sass_bound(l, &one);
    if (r) /* the low word of the handle */
        return word_of_pair(l, sass_symbol_address(l, r->symbol, 0), false);
    switch (o->bank) {
    case 0: return bank0(l, at);
    case 2: return sass_numbered("", bank2_word(l, at));
    case 3: return bank3(l, at);
    case 4: return bank4(l, at);
    default: sass_fail(l, "constant bank %u", o->bank); return (struct sass_text){ "0" };
    }
}

/* ---- Integers */

/* An immediate that is half an address. */
static struct sass_text relocated(struct sass_lift *l, const struct sass_reloc *r, int64_t more)
{
    const struct sass_symbol *s = &l->cubin->symbols[r->symbol];
    bool low = r->kind == SASS_RELOC_ABS32_LO;
    int64_t addend = r->addend + more;
    uint32_t place;
    l->relocated = true;
    if (r->kind == SASS_RELOC_KERNEL32_LO || r->kind == SASS_RELOC_KERNEL32_HI) {
        struct sass_text w = sass_started_address(l, r), lo, hi;
        if (more)
            sass_fail(l, "a place in a kernel that would be started");
        sass_split(l, w.s, &lo, &hi);
        return r->kind == SASS_RELOC_KERNEL32_LO ? lo : hi;
    }
    if (r->kind == SASS_RELOC_PLACE && s->kind == SASS_SYMBOL_CONSTANT)
        return sass_numbered("", (uint32_t)(s->value + (uint64_t)addend));
    if (!low && r->kind != SASS_RELOC_ABS32_HI) {
        sass_fail(l, "relocation %" PRIu32, r->type);
        return (struct sass_text){ "0" };
    }
    if (s->kind == SASS_SYMBOL_GLOBAL || s->kind == SASS_SYMBOL_CONSTANT) {
        struct sass_text w = sass_symbol_address(l, r->symbol, addend), lo, hi;
        sass_split(l, w.s, &lo, &hi);
        return low ? lo : hi;
    }
    if ((s->kind == SASS_SYMBOL_FUNCTION || s->kind == SASS_SYMBOL_NONE) && !addend)
        return low ? sass_numbered("", r->symbol + 1) : sass_numbered("", SASS_FUNCTION_ADDRESS);
    if (!sass_place_of(l, r->symbol, addend, &place)) {
        sass_fail(l, "address of %.*s, which is nothing that is known", AW_STR_ARG(s->name));
        place = 0;
    }
    return low ? sass_numbered("", place) : (struct sass_text){ "0" };
}

static struct sass_text raw_word(struct sass_lift *l, const struct sass_operand *o, unsigned word)
{
    looked(l, o);
    switch (o->kind) {
    case SASS_REG: case SASS_UREG:
        if (o->reg == SASS_RZ)
            return (struct sass_text){ "0" };
        return sass_known(l, o, word) ? sass_format("%s", sass_known(l, o, word)) : reg_name(l, o, word);
    case SASS_IMM: {
        const struct sass_reloc *r = sass_reloc_of(l, l->at);
        return r ? relocated(l, r, o->value) : sass_numbered("", (uint32_t)((uint64_t)o->value >> (32 * word)));
    }
    case SASS_CONST: return constant(l, o, word);
    case SASS_NONE: return (struct sass_text){ "0" };
    default: sass_fail(l, "operand of kind %u", o->kind); return (struct sass_text){ "0" };
    }
}

struct sass_operand sass_words_of(const struct sass_operand *o, unsigned k, unsigned n)
{
    struct sass_operand words = *o;
    words.reg = (uint8_t)(o->reg == SASS_RZ ? SASS_RZ : o->reg + k);
    words.regs = (uint8_t)n;
    return words;
}

struct sass_text sass_in_register(struct sass_lift *l, struct sass_text value, char kind)
{
    if (value.s[0] == '%')
        return value;
    struct sass_text t = sass_temp(l, kind);
    sass_step(l, "mov.b%u %s, %s", kind == 'w' ? 64u : 32u, t.s, value.s);
    return t;
}

struct sass_text sass_raw(struct sass_lift *l, const struct sass_operand *o)
{
    as_it_stands(l, o);
    return raw_word(l, o, 0);
}

struct sass_text sass_int(struct sass_lift *l, const struct sass_operand *o)
{
    struct sass_text v = raw_word(l, o, 0);
    if (o->abs || o->half)
        sass_fail(l, "absolute value or half of an integer operand");
    if (!o->neg && !o->inv)
        return v;
    struct sass_text t = sass_temp(l, 't');
    sass_step(l, "%s %s, %s", o->neg ? "neg.s32" : "not.b32", t.s, v.s);
    return t;
}

/* Whether both words of a parameter are loaded as one. */
static bool is_param_pair(struct sass_lift *l, const char *lo, const char *hi, struct sass_text *ret)
{
    unsigned at, next;
    if (strncmp(lo, "%c", 2) || sscanf(lo, "%%c%u", &at) != 1 || sscanf(hi, "%%c%u", &next) != 1 || next != at + 4 || at % 8)
        return false;
    struct sass_operand pair = { .kind = SASS_CONST, .regs = 2, .value = l->code->param_base + at };
    struct sass_text t = sass_raw64(l, &pair);
    bool yes = t.s[1] == 'c' && t.s[2] == 'd';
    if (yes)
        *ret = t;
    return yes;
}

struct sass_text sass_join(struct sass_lift *l, const char *lo, const char *hi)
{
    struct sass_text pair;
    if (is_param_pair(l, lo, hi, &pair))
        return pair;
    struct sass_text w = sass_temp(l, 'w');
    sass_step(l, "mov.b64 %s, {%s, %s}", w.s, lo, hi);
    return w;
}

void sass_split(struct sass_lift *l, const char *value, struct sass_text *ret_lo, struct sass_text *ret_hi)
{
    *ret_lo = sass_temp(l, 't');
    *ret_hi = sass_temp(l, 't');
    if (value[0] != '%') {
        struct sass_text w = sass_temp(l, 'w');
        sass_step(l, "mov.b64 %s, %s", w.s, value);
        sass_step(l, "mov.b64 {%s, %s}, %s", ret_lo->s, ret_hi->s, w.s);
        return;
    }
    sass_step(l, "mov.b64 {%s, %s}, %s", ret_lo->s, ret_hi->s, value);
}

struct sass_text sass_sum(struct sass_lift *l, bool wide, struct sass_text a, struct sass_text b)
{
    if (!strcmp(a.s, "0"))
        return b;
    if (!strcmp(b.s, "0"))
        return a;
    struct sass_text t = sass_temp(l, wide ? 'w' : 't');
    sass_step(l, wide ? "add.s64 %s, %s, %s" : "add.s32 %s, %s, %s", t.s, a.s, b.s);
    return t;
}

struct sass_text sass_widen(struct sass_lift *l, const char *value)
{
    struct sass_text w = sass_temp(l, 'w');
    sass_step(l, "cvt.u64.u32 %s, %s", w.s, value);
    return w;
}

/* Both words, signs aside. */
static struct sass_text words(struct sass_lift *l, const struct sass_operand *o)
{
    const struct sass_code *code = l->code;
    looked(l, o);
    if (o->kind == SASS_CONST && o->bank == 0 && o->value % 8 == 0 && (uint32_t)o->value >= code->param_base &&
        (uint32_t)o->value + 8 <= code->param_base + code->param_size) {
        uint32_t at = (uint32_t)o->value - code->param_base;
        for (uint32_t i = 0; i < code->n_params; i++)
            if (code->params[i].offset <= at && at + 8 <= code->params[i].offset + code->params[i].size && at % 8 == 0) {
                l->pairs[at / 4] = 1;
                return sass_numbered("%cd", at);
            }
    }
    if (o->kind == SASS_CONST && o->bank == 4) {
        const struct sass_reloc *r = sass_reloc_at(&here(l)->bank4_relocs, (uint32_t)o->value);
        if (r && (r->kind == SASS_RELOC_ABS64 || r->kind == SASS_RELOC_KERNEL64))
            return address_in_bank4(l, r);
    }
    if (o->kind == SASS_IMM)
        return sass_format("%" PRIu64, (uint64_t)o->value);
    if (sass_is_zero(o))
        return (struct sass_text){ "0" };
    struct sass_text lo = raw_word(l, o, 0), hi = raw_word(l, o, 1), w = sass_temp(l, 'w');
    sass_step(l, "mov.b64 %s, {%s, %s}", w.s, lo.s, hi.s);
    return w;
}

struct sass_text sass_raw64(struct sass_lift *l, const struct sass_operand *o)
{
    as_it_stands(l, o);
    return words(l, o);
}

const char *sass_least_or_greatest(struct sass_lift *l)
{
    const struct sass_operand *least = sass_look(l, SASS_S);
    if (!sass_is_true(least) && !sass_is_false(least))
        sass_fail(l, "a predicate that chooses");
    return sass_is_true(least) ? "min" : "max";
}

struct sass_text sass_int64(struct sass_lift *l, const struct sass_operand *o)
{
    struct sass_text v = words(l, o);
    if (o->abs || o->half)
        sass_fail(l, "absolute value or half of an integer operand");
    if (!o->neg && !o->inv)
        return v;
    struct sass_text t = sass_temp(l, 'w');
    sass_step(l, "%s %s, %s", o->neg ? "neg.s64" : "not.b64", t.s, v.s);
    return t;
}

/* ---- Floats */

/* The operand's |x| and -x, by bits: PTX's own would change a NaN. */
static struct sass_text signs_put(struct sass_lift *l, const struct sass_operand *o, struct sass_text v, bool wide)
{
    if (o->abs) {
        struct sass_text t = sass_temp(l, wide ? 'w' : 't');
        sass_step(l, wide ? "and.b64 %s, %s, 9223372036854775807" : "and.b32 %s, %s, 2147483647", t.s, v.s);
        v = t;
    }
    if (o->neg) {
        struct sass_text t = sass_temp(l, wide ? 'w' : 't');
        sass_step(l, wide ? "xor.b64 %s, %s, -9223372036854775808" : "xor.b32 %s, %s, -2147483648", t.s, v.s);
        v = t;
    }
    return v;
}

struct sass_text sass_f32(struct sass_lift *l, const struct sass_operand *o)
{
    looked(l, o);
    if (o->half || o->inv)
        sass_fail(l, "half of a float operand");
    if (o->kind == SASS_IMM || sass_is_zero(o) || (o->kind == SASS_CONST && o->bank == 2)) {
        uint32_t bits = o->kind == SASS_IMM     ? (uint32_t)o->value
                        : o->kind == SASS_CONST ? bank2_word(l, (uint64_t)o->value)
                                                : 0;
        bits = o->abs ? bits & 0x7fffffffu : bits;
        return sass_float_bits(o->neg ? bits ^ 0x80000000u : bits, false);
    }
    return signs_put(l, o, raw_word(l, o, 0), false);
}

struct sass_text sass_f64(struct sass_lift *l, const struct sass_operand *o)
{
    looked(l, o);
    if (o->half || o->inv)
        sass_fail(l, "half of a float operand");
    bool literal = o->kind == SASS_CONST && o->bank == 2;
    if (o->kind == SASS_IMM || sass_is_zero(o) || literal) {
        uint64_t bits = o->kind == SASS_IMM ? (uint64_t)o->value : 0;
        if (literal)
            bits = bank2_word(l, (uint64_t)o->value) | (uint64_t)bank2_word(l, (uint64_t)o->value + 4)
                                                                      << 32;
        bits = o->abs ? bits & INT64_MAX : bits;
        return sass_float_bits(o->neg ? bits ^ (uint64_t)INT64_MIN : bits, true);
    }
    return signs_put(l, o, words(l, o), true);
}

/* ---- Predicates */

struct sass_text sass_pred(struct sass_lift *l, const struct sass_operand *o)
{
    looked(l, o);
    if (o->kind == SASS_NONE || o->reg == SASS_PT) {
        l->true_pred = true;
        return sass_format("%s", o->inv ? "%never" : "%always");
    }
    if (o->kind != SASS_PRED && o->kind != SASS_UPRED)
        sass_fail(l, "predicate of kind %u", o->kind);
    (o->kind == SASS_UPRED ? l->upreds : l->preds)[o->reg & 7] = 1;
    struct sass_text p = sass_numbered(o->kind == SASS_UPRED ? "%up" : "%p", o->reg & 7u);
    if (!o->inv)
        return p;
    struct sass_text q = sass_temp(l, 'q');
    sass_step(l, "not.pred %s, %s", q.s, p.s);
    return q;
}

struct sass_text sass_bit(struct sass_lift *l, const struct sass_operand *o)
{
    looked(l, o);
    if (o->kind == SASS_NONE || o->reg == SASS_PT)
        return sass_format("%d", !(o->kind == SASS_NONE || o->inv));
    struct sass_operand plain = *o;
    plain.inv = false;
    struct sass_text p = sass_pred(l, &plain), t = sass_temp(l, 't');
    sass_step(l, "selp.b32 %s, %d, %d, %s", t.s, !o->inv, o->inv, p.s);
    return t;
}

/* ---- Results */

/* A temporary in the place of a register that is written at the instruction's end. */
static struct sass_text late(struct sass_lift *l, const struct sass_operand *o, unsigned word)
{
    for (unsigned k = 0; k < l->n_late; k++)
        if (l->late[k].to.kind == o->kind && l->late[k].to.reg == o->reg + word)
            return l->late[k].value;
    bool pred = o->kind == SASS_PRED || o->kind == SASS_UPRED;
    struct sass_text t = sass_temp(l, pred ? 'q' : 't');
    if (l->n_late >= sizeof l->late / sizeof *l->late) {
        sass_fail(l, "too many results");
        return t;
    }
    struct sass_operand to = *o;
    to.reg = (uint8_t)(to.reg + word);
    to.regs = 1;
    l->late[l->n_late++] = (struct sass_late){ .to = to, .value = t };
    return t;
}

struct sass_text sass_dest(struct sass_lift *l, const struct sass_operand *o, unsigned word)
{
    looked(l, o);
    if (l->deferring && sass_writes(o))
        return late(l, o, word);
    if (o->kind == SASS_PRED || o->kind == SASS_UPRED) {
        if (o->reg == SASS_PT)
            return sass_temp(l, 'q');
        (o->kind == SASS_UPRED ? l->upreds : l->preds)[o->reg & 7] = 1;
        return sass_numbered(o->kind == SASS_UPRED ? "%up" : "%p", o->reg & 7u);
    }
    if (!sass_writes(o))
        return sass_temp(l, 't');
    return reg_name(l, o, word);
}

void sass_put(struct sass_lift *l, enum sass_slot slot, const char *value)
{
    const struct sass_operand *o = &l->at->opnd[slot];
    if (sass_writes(o))
        sass_do(l, "mov.b32 %s, %s", sass_dest(l, o, 0).s, value);
}

void sass_put64(struct sass_lift *l, enum sass_slot slot, const char *value)
{
    const struct sass_operand *o = &l->at->opnd[slot];
    if (!sass_writes(o))
        return;
    struct sass_text lo = sass_dest(l, o, 0), hi = sass_dest(l, o, 1);
    if (value[0] != '%') {
        struct sass_text w = sass_temp(l, 'w');
        sass_step(l, "mov.b64 %s, %s", w.s, value);
        sass_do(l, "mov.b64 {%s, %s}, %s", lo.s, hi.s, w.s);
        return;
    }
    sass_do(l, "mov.b64 {%s, %s}, %s", lo.s, hi.s, value);
}

void sass_put_pred(struct sass_lift *l, enum sass_slot slot, const char *value)
{
    const struct sass_operand *o = &l->at->opnd[slot];
    if (sass_writes(o))
        sass_do(l, "mov.pred %s, %s", sass_dest(l, o, 0).s, value);
}
