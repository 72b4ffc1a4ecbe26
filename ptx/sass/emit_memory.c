/* Loads, stores, constants, atomics, fences.  Order and scope come from the modifiers; hints of caches are dropped. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include "sass/access.h"

/* ---- Addresses */

/* What the caches are told changes no value; how wide the base is, the decoder has said.  With .HINT the uniform register is a
 * policy of the caches, and no part of the address. */
static void address_modifiers(struct sass_lift *l, const struct sass_operand *m)
{
    if (sass_mod(l, SASS_F_HINT) && m->ureg != SASS_RZ)
        sass_fail(l, "a policy of the caches beside a uniform part of the address");
    (void)sass_mod(l, SASS_F_EVICT);
    (void)sass_mod(l, SASS_F_LTC);
    (void)sass_mod(l, SASS_F_E);
}

/* [base + register + immediate] of 64 bits; *ret_offset is what stays for the access to add. */
struct sass_text sass_address64(struct sass_lift *l, const struct sass_operand *m, int64_t *ret_offset)
{
    struct sass_operand base = { .kind = SASS_REG, .reg = m->reg, .regs = m->regs };
    struct sass_operand more = { .kind = SASS_UREG, .reg = m->ureg, .regs = m->uregs };
    struct sass_text a = { "0" };
    (void)sass_look(l, (enum sass_slot)m->slot);
    address_modifiers(l, m);
    *ret_offset = m->value;
    if (m->reg != SASS_RZ)
        a = m->regs == 2 ? sass_raw64(l, &base) : sass_widen(l, sass_raw(l, &base).s);
    if (m->ureg != SASS_RZ) {
        struct sass_text u = m->uregs == 2 ? sass_raw64(l, &more) : sass_widen(l, sass_raw(l, &more).s);
        if (m->reg == SASS_RZ)
            return u;
        struct sass_text sum = sass_temp(l, 'w');
        sass_step(l, "add.s64 %s, %s, %s", sum.s, a.s, u.s);
        return sum;
    }
    if (a.s[0] != '%') {
        struct sass_text w = sass_temp(l, 'w');
        sass_step(l, "mov.u64 %s, 0", w.s);
        return w;
    }
    return a;
}

/* Of shared and local memory: 32 bits. */
static struct sass_text address32(struct sass_lift *l, const struct sass_operand *m)
{
    static const unsigned shifts[] = { [SASS_SCALE_X4] = 2, [SASS_SCALE_X8] = 3, [SASS_SCALE_X16] = 4 };
    unsigned scale = sass_mod(l, SASS_F_SCALE), shift = scale < sizeof shifts / sizeof *shifts ? shifts[scale] : 0;
    struct sass_operand base = { .kind = SASS_REG, .reg = m->reg, .regs = 1 },
                        more = { .kind = SASS_UREG, .reg = m->ureg, .regs = 1 };
    struct sass_text a = { "0" };
    (void)sass_look(l, (enum sass_slot)m->slot);
    address_modifiers(l, m);
    if (m->reg != SASS_RZ)
        a = sass_raw(l, &base);
    if (shift && m->reg != SASS_RZ) {
        struct sass_text t = sass_temp(l, 't');
        sass_step(l, "shl.b32 %s, %s, %u", t.s, a.s, shift);
        a = t;
    }
    if (m->ureg != SASS_RZ) {
        struct sass_text u = sass_raw(l, &more), t = sass_temp(l, 't');
        sass_step(l, "add.s32 %s, %s, %s", t.s, a.s, u.s);
        a = t;
    }
    return a;
}

const char *sass_shared_base(struct sass_lift *l)
{
    l->shared = true;
    return "%shared";
}

struct sass_text sass_shared_address(struct sass_lift *l, const struct sass_operand *m)
{
    struct sass_text a = address32(l, m), base = sass_format("%s", sass_shared_base(l));
    return sass_sum(l, false, base, a);
}

/* Local memory is an array; its offsets are what machine code has as addresses. */
struct sass_text sass_local_address(struct sass_lift *l, const char *offset)
{
    struct sass_text base = sass_temp(l, 'w'), sum = sass_temp(l, 'w');
    l->local = true;
    sass_step(l, "mov.u64 %s, frame", base.s);
    sass_step(l, "add.s64 %s, %s, %s", sum.s, base.s, sass_widen(l, offset).s);
    return sum;
}

static int by_value(const void *a, const void *b)
{
    const struct sass_symbol *x = *(const struct sass_symbol *const *)a, *y = *(const struct sass_symbol *const *)b;
    return x->value < y->value ? -1 : x->value > y->value;
}

/* Where bank 3 would begin for the place of a variable in it to be the variable's. */
static struct sass_text bank_of_constant(struct sass_lift *l, const struct sass_symbol *s, bool generic)
{
    uint32_t symbol = (uint32_t)(s - l->cubin->symbols);
    if (generic)
        return sass_symbol_address(l, symbol, -(int64_t)s->value);
    struct sass_text w = sass_temp(l, 'w');
    l->symbols[symbol] = 1;
    sass_step(l, "mov.u64 %s, %.*s", w.s, AW_STR_ARG(s->name));
    return s->value ? sass_sum(l, true, w, sass_format("%" PRId64, -(int64_t)s->value)) : w;
}

/* The address of a place in bank 3, in .const or generic: in the last variable that begins before it, wherever that lies in
 * the text.  The place alone tells which is meant: code adds indices to where a variable begins, or to any place before. */
static struct sass_text constant_address(struct sass_lift *l, const char *offset, bool generic)
{
    const struct sass_cubin *cubin = l->cubin;
    const struct sass_symbol **sorted = AW_NEW_ARRAY(&l->arena, const struct sass_symbol *, cubin->n_symbols + 1);
    struct sass_text result = { "0" }, wide = sass_temp(l, 'w');
    uint32_t n = 0;
    sass_step(l, "cvt.s64.s32 %s, %s", wide.s, offset);
    for (uint32_t k = 0; sorted && k < cubin->n_symbols; k++)
        if (cubin->symbols[k].kind == SASS_SYMBOL_CONSTANT)
            sorted[n++] = &cubin->symbols[k];
    if (n)
        qsort(sorted, n, sizeof *sorted, by_value);
    for (uint32_t k = 0; k < n; k++) {
        struct sass_text base = bank_of_constant(l, sorted[k], generic), q, picked;
        if (k == 0) {
            result = base;
            continue;
        }
        q = sass_temp(l, 'q');
        picked = sass_temp(l, 'w');
        sass_step(l, "setp.ge.s32 %s, %s, %" PRIu64, q.s, offset, sorted[k]->value);
        sass_step(l, "selp.b64 %s, %s, %s, %s", picked.s, base.s, result.s, q.s);
        result = picked;
    }
    return sass_sum(l, true, result, wide);
}

struct sass_text sass_generic(struct sass_lift *l, const char *address, struct sass_text *ret_shared)
{
    struct sass_text lo, hi, result = sass_format("%s", address);
    if (ret_shared)
        *ret_shared = (struct sass_text){ "" };
    if (!l->shared_window && !l->local_window && !l->constant_window)
        return result;
    sass_split(l, address, &lo, &hi);
    if (l->shared_window) {
        struct sass_text q = sass_temp(l, 'q'), there = sass_temp(l, 'w'), picked = sass_temp(l, 'w');
        sass_step(l, "setp.eq.u32 %s, %s, %u", q.s, hi.s, SASS_SHARED_WINDOW);
        struct sass_text at = sass_sum(l, false, sass_format("%s", sass_shared_base(l)), lo);
        sass_step(l, "cvta.shared.u64 %s, %s", there.s, sass_widen(l, at.s).s);
        sass_step(l, "selp.b64 %s, %s, %s, %s", picked.s, there.s, result.s, q.s);
        result = picked;
        if (ret_shared)
            *ret_shared = q;
    }
    if (l->local_window) {
        struct sass_text q = sass_temp(l, 'q'), there = sass_temp(l, 'w'), picked = sass_temp(l, 'w'),
                         at = sass_local_address(l, lo.s);
        sass_step(l, "setp.eq.u32 %s, %s, %u", q.s, hi.s, SASS_LOCAL_WINDOW);
        sass_step(l, "cvta.local.u64 %s, %s", there.s, at.s);
        sass_step(l, "selp.b64 %s, %s, %s, %s", picked.s, there.s, result.s, q.s);
        result = picked;
    }
    if (l->constant_window) {
        struct sass_text q = sass_temp(l, 'q'), there = constant_address(l, lo.s, true), picked = sass_temp(l, 'w');
        sass_step(l, "setp.eq.u32 %s, %s, %u", q.s, hi.s, SASS_CONSTANT_WINDOW);
        sass_step(l, "selp.b64 %s, %s, %s, %s", picked.s, there.s, result.s, q.s);
        result = picked;
    }
    return result;
}

static const char *generic_space(const struct sass_lift *l)
{
    return l->shared_window || l->local_window || l->constant_window ? "" : ".global";
}

enum sass_space_in sass_space_of(unsigned op)
{
    switch (op) {
    case SASS_LD: case SASS_ST: case SASS_ATOM: case SASS_RED: return SASS_IN_GENERIC;
    case SASS_LDS: case SASS_STS: case SASS_ATOMS: return SASS_IN_SHARED;
    case SASS_LDL: case SASS_STL: return SASS_IN_LOCAL;
    default: return SASS_IN_GLOBAL;
    }
}

struct sass_text sass_plus(const char *base, int64_t offset)
{
    return offset ? sass_format("%s+%" PRId64, base, offset) : sass_format("%s", base);
}

/* "[...]" without brackets, and the name of its state space with the dot. */
struct sass_text sass_access_address(struct sass_lift *l, const struct sass_insn *i, enum sass_space_in space,
                                     const char **ret_space)
{
    const struct sass_operand *m = &i->opnd[SASS_M];
    int64_t offset = m->value;
    struct sass_text a;
    switch (space) {
    case SASS_IN_SHARED:
        *ret_space = ".shared";
        return sass_plus(sass_shared_address(l, m).s, offset);
    case SASS_IN_LOCAL: {
        *ret_space = ".local";
        struct sass_text at = address32(l, m);
        return sass_local_address(l, offset ? sass_sum(l, false, at, sass_format("%" PRId64, offset)).s : at.s);
    }
    case SASS_IN_GENERIC:
        a = sass_address64(l, m, &offset);
        *ret_space = generic_space(l);
        if (**ret_space)
            return sass_plus(a.s, offset);
        if (offset) {
            struct sass_text sum = sass_temp(l, 'w');
            sass_step(l, "add.s64 %s, %s, %" PRId64, sum.s, a.s, offset);
            a = sum;
        }
        return sass_generic(l, a.s, NULL);
    default:
        *ret_space = ".global";
        a = sass_address64(l, m, &offset);
        return sass_plus(a.s, offset);
    }
}

/* ---- Order */

const char *sass_scope_name(unsigned order)
{
    switch (order) {
    case SASS_ORDER_STRONG_CTA:
    case SASS_ORDER_STRONG_SM:
    case SASS_ORDER_MMIO_CTA:
    case SASS_ORDER_MMIO_SM: return ".relaxed.cta";
    case SASS_ORDER_STRONG_GPU: case SASS_ORDER_MMIO_GPU: return ".relaxed.gpu";
    case SASS_ORDER_STRONG_SYS: case SASS_ORDER_MMIO_SYS: return ".relaxed.sys";
    default: return "";
    }
}

static bool is_constant(unsigned order)
{
    return order == SASS_ORDER_CONSTANT || (order >= SASS_ORDER_CONSTANT_CTA && order <= SASS_ORDER_CONSTANT_SYS);
}

/* ---- Loads and stores */

static unsigned words_of(unsigned size)
{
    return size == SASS_SIZE_64 ? 2 : size == SASS_SIZE_128 || size == SASS_SIZE_U_128 ? 4 : 1;
}

static const char *type_of(unsigned size)
{
    switch (size) {
    case SASS_SIZE_U8: return "u8";
    case SASS_SIZE_S8: return "s8";
    case SASS_SIZE_U16: return "u16";
    case SASS_SIZE_S16: return "s16";
    case SASS_SIZE_64: return "v2.b32";
    case SASS_SIZE_128: case SASS_SIZE_U_128: return "v4.b32";
    default: return "b32";
    }
}

/* "{%r4, %r5}", or one register. */
static void vector(char *text, size_t size, const struct sass_text *at, unsigned n)
{
    if (n == 1)
        aw_snprintf(text, size, "%s", at[0].s);
    else if (n == 2)
        aw_snprintf(text, size, "{%s, %s}", at[0].s, at[1].s);
    else
        aw_snprintf(text, size, "{%s, %s, %s, %s}", at[0].s, at[1].s, at[2].s, at[3].s);
}

/* "v4.b32 {%r4, %r5, %r6, %r7}" as "v2.b64 {%w0, %w1}": whether the registers are pairs that are numbers of 64 bits. */
static bool as_pairs(const struct sass_lift *l, const struct sass_operand *o, unsigned n)
{
    bool yes = n > 1 && o->kind == SASS_REG && o->reg != SASS_RZ;
    for (unsigned k = 0; k < n && yes; k += 2)
        yes = l->wide[(o->reg + k) & 255];
    return yes;
}

static void load_pairs(struct sass_lift *l, const struct sass_operand *d, const char *op, const char *address, unsigned n)
{
    struct sass_text w[2] = { sass_temp(l, 'w'), n == 4 ? sass_temp(l, 'w') : (struct sass_text){ "" } };
    if (n == 4)
        sass_do(l, "%s.v2.b64 {%s, %s}, [%s]", op, w[0].s, w[1].s, address);
    else
        sass_do(l, "%s.b64 %s, [%s]", op, w[0].s, address);
    for (unsigned k = 0; k < n; k += 2)
        sass_do(l, "mov.b64 {%s, %s}, %s", sass_dest(l, d, k).s, sass_dest(l, d, k + 1).s, w[k / 2].s);
}

static void load_from(struct sass_lift *l, const struct sass_insn *i, const char *op, const char *address)
{
    unsigned size = sass_mod(l, SASS_F_SIZE), n = words_of(size);
    struct sass_text d[4];
    char text[4 * sizeof d[0].s + 8];
    if (l->handles)
        sass_handle_load(l, i, op, address);
    if (as_pairs(l, &i->opnd[SASS_D], n)) {
        load_pairs(l, &i->opnd[SASS_D], op, address, n);
        return;
    }
    for (unsigned k = 0; k < n; k++)
        d[k] = sass_dest(l, &i->opnd[SASS_D], k);
    vector(text, sizeof text, d, n);
    sass_do(l, "%s.%s %s, [%s]", op, type_of(size), text, address);
}

/* Accesses to shared memory do not say whether they were volatile: where some loop waits they may have been. */
static const char *how(struct sass_lift *l, const struct sass_insn *i, unsigned order)
{
    enum sass_space_in space = sass_space_of(i->op);
    const char *scope = sass_scope_name(order);
    return !*scope && l->spins && (space == SASS_IN_SHARED || (space == SASS_IN_GENERIC && l->shared_window)) ? ".volatile"
                                                                                                              : scope;
}

void sass_emit_load(struct sass_lift *l, const struct sass_insn *i)
{
    (void)sass_mod(l, SASS_F_U); /* sm_75 has it on loads of shared memory where some are volatile; the value is the same */
    const char *space;
    struct sass_text a = sass_access_address(l, i, sass_space_of(i->op), &space);
    unsigned order = sass_mod(l, SASS_F_ORDER);
    bool constant = is_constant(order) && !strcmp(space, ".global");
    load_from(l, i, sass_format("ld%s%s%s", how(l, i, order), space, constant ? ".nc" : "").s, a.s);
}

static void store_pairs(struct sass_lift *l, const struct sass_operand *b, const char *op, const char *address, unsigned n)
{
    struct sass_text w[2] = { { "" }, { "" } };
    for (unsigned k = 0; k < n; k += 2) {
        struct sass_operand pair = *b;
        pair.reg = (uint8_t)(b->reg + k);
        pair.regs = 2;
        w[k / 2] = sass_raw64(l, &pair);
    }
    if (n == 4)
        sass_do(l, "%s.v2.b64 [%s], {%s, %s}", op, address, w[0].s, w[1].s);
    else
        sass_do(l, "%s.b64 [%s], %s", op, address, w[0].s);
}

void sass_emit_store(struct sass_lift *l, const struct sass_insn *i)
{
    unsigned size = sass_mod(l, SASS_F_SIZE), n = words_of(size);
    const struct sass_operand *b = &i->opnd[SASS_B];
    const char *space;
    struct sass_text v[4], a = sass_access_address(l, i, sass_space_of(i->op), &space);
    char text[4 * sizeof v[0].s + 8];
    if (as_pairs(l, b, n)) {
        struct sass_text op = sass_format("st%s%s", how(l, i, sass_mod(l, SASS_F_ORDER)), space);
        store_pairs(l, b, op.s, a.s, n);
        return;
    }
    for (unsigned k = 0; k < n; k++) {
        struct sass_operand word = sass_words_of(b, k, 1);
        v[k] = sass_in_register(l, sass_raw(l, &word), 't');
    }
    vector(text, sizeof text, v, n);
    const char *type = size == SASS_SIZE_S8 ? "u8" : size == SASS_SIZE_S16 ? "u16" : type_of(size);
    sass_do(l, "st%s%s.%s [%s], %s", how(l, i, sass_mod(l, SASS_F_ORDER)), space, type, a.s, text);
}

/* ---- Constants with an index */

/* What the last instructions before this one, of its block, put into a register: true when it is a number. */
static bool is_number(const struct sass_lift *l, const struct sass_insn *i, const struct sass_operand *reg, uint32_t *ret_value)
{
    for (uint32_t k = i->offset / SASS_INSN_SIZE; k && !l->leader[k]; k--) {
        const struct sass_insn *before = &l->insns[k - 1];
        const struct sass_operand *d = &before->opnd[SASS_D];
        if (d->kind != reg->kind || reg->reg < d->reg || reg->reg >= d->reg + (d->regs ? d->regs : 1))
            continue;
        if ((before->op != SASS_MOV && before->op != SASS_UMOV) || sass_guarded(before) || before->opnd[SASS_A].kind != SASS_IMM)
            return false;
        *ret_value = (uint32_t)before->opnd[SASS_A].value;
        return true;
    }
    return false;
}

/* Addresses of symbols, by an index: as a rule a number that was put into a register just before. */
static void load_symbol(struct sass_lift *l, const struct sass_insn *i, const struct sass_operand *reg, struct sass_text index)
{
    const struct sass_code *code = sass_part_of(l, i->offset / SASS_INSN_SIZE)->code;
    uint32_t at;
    if (sass_mod(l, SASS_F_SIZE) != SASS_SIZE_64) {
        sass_fail(l, "a part of an address by an index");
    } else if (is_number(l, i, reg, &at)) {
        const struct sass_reloc *r = sass_reloc_at(&code->bank4_relocs, at + (uint32_t)i->opnd[SASS_A].value);
        if (r && r->kind == SASS_RELOC_ABS64)
            sass_put64(l, SASS_D, sass_symbol_address(l, r->symbol, r->addend).s);
        else if (r && r->kind == SASS_RELOC_KERNEL64)
            sass_put64(l, SASS_D, sass_started_address(l, r).s);
        else
            sass_fail(l, "an address that has no symbol");
    } else if (code != l->code || !sass_has_bank4(l->cubin, code)) {
        sass_fail(l, "an index into addresses of another kind");
    } else {
        struct sass_text wide = sass_temp(l, 'w'), sum = sass_temp(l, 'w'), base = sass_temp(l, 'w'), value = sass_temp(l, 'w');
        l->bank4 = true;
        sass_step(l, "mov.u64 %s, %s", base.s, sass_bank4_name(l->cubin, code).s);
        sass_step(l, "cvt.u64.u32 %s, %s", wide.s, index.s);
        sass_step(l, "add.s64 %s, %s, %s", sum.s, base.s, wide.s);
        sass_step(l, "ld.global.nc.b64 %s, [%s]", value.s, sass_plus(sum.s, i->opnd[SASS_A].value).s);
        sass_put64(l, SASS_D, value.s);
    }
}

/* A byte or two of a word that is no memory. */
static void load_part(struct sass_lift *l, const struct sass_operand *c, unsigned size)
{
    bool sign = size == SASS_SIZE_S8 || size == SASS_SIZE_S16;
    unsigned bits = size == SASS_SIZE_U8 || size == SASS_SIZE_S8 ? 8 : 16, shift = 8 * ((unsigned)c->value & 3);
    struct sass_operand word = *c;
    struct sass_text t = sass_temp(l, 't');
    word.value &= ~3;
    word.regs = 1;
    sass_step(l, "bfe.%s %s, %s, %u, %u", sign ? "s32" : "u32", t.s, sass_raw(l, &word).s, shift, bits);
    sass_put(l, SASS_D, t.s);
}

/* Where a place behind the first parameter is none. */
static void trap_below(struct sass_lift *l, const char *place)
{
    struct sass_text q = sass_temp(l, 'q'), condition = sass_condition(l, l->at);
    sass_step(l, "setp.lt.s64 %s, %s, 0", q.s, place);
    sass_step(l, "@%s trap", sass_where(l, q, &condition).s);
}

/* Bank 0 by an index: parameters, or the sizes of block and grid that lie before them.  Which parameter is meant is not said: an
 * index may begin at any number, and the place before it is then that of another one, or of none.  So the address is reckoned
 * from the first.  A size is a word: where code that may reach them loads anything else, it means parameters, and else traps. */
static void load_bank0(struct sass_lift *l, const struct sass_insn *i, int64_t at, struct sass_text index)
{
    static const char *const sizes[] = { "%ntid.x", "%ntid.y", "%ntid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z" };
    enum { N_SIZES = sizeof sizes / sizeof *sizes };
    int64_t first = l->code->n_params ? l->code->param_base + (int64_t)l->code->params[0].offset : 0;
    bool low = at < 4 * N_SIZES, sized = low && sass_mod(l, SASS_F_SIZE) == SASS_SIZE_32;
    if (!first) {
        sass_fail(l, "an index into bank 0 at 0x%" PRIx64, (uint64_t)at);
        return;
    }
    struct sass_text base = sass_temp(l, 'w'), wide, sum, from;
    sass_step(l, "mov.u64 %s, p0", base.s);
    if (index.s[0] != '%') {
        load_from(l, i, "ld.param", sass_plus(base.s, at - first).s);
        return;
    }
    wide = sass_temp(l, 'w');
    sum = sass_temp(l, 'w');
    from = sass_temp(l, 'w');
    sass_step(l, "cvt.s64.s32 %s, %s", wide.s, index.s);
    sass_step(l, "add.s64 %s, %s, %" PRId64, from.s, wide.s, at - first);
    if (!sized) {
        if (low)
            trap_below(l, from.s);
        sass_step(l, "add.s64 %s, %s, %s", sum.s, base.s, from.s);
        load_from(l, i, "ld.param", sum.s);
        return;
    }
    struct sass_text before = sass_temp(l, 'q'), within = sass_temp(l, 'w'), value = sass_temp(l, 't');
    sass_step(l, "setp.lt.s64 %s, %s, 0", before.s, from.s);
    sass_step(l, "selp.b64 %s, 0, %s, %s", within.s, from.s, before.s);
    sass_step(l, "add.s64 %s, %s, %s", sum.s, base.s, within.s);
    sass_step(l, "ld.param.b32 %s, [%s]", value.s, sum.s);
    for (int k = 0; k < N_SIZES; k++) {
        struct sass_text q = sass_temp(l, 'q'), word = sass_temp(l, 't'), next = sass_temp(l, 't');
        sass_step(l, "setp.eq.s64 %s, %s, %" PRId64, q.s, from.s, 4 * k - first);
        sass_step(l, "mov.u32 %s, %s", word.s, sizes[k]);
        sass_step(l, "selp.b32 %s, %s, %s, %s", next.s, word.s, value.s, q.s);
        value = next;
    }
    sass_put(l, SASS_D, value.s);
}

/* A word, two or part of one at a place that is known: true, it is done. */
static bool load_known(struct sass_lift *l, const struct sass_operand *c, unsigned size)
{
    if (size == SASS_SIZE_32) {
        sass_put(l, SASS_D, sass_raw(l, c).s);
        return true;
    }
    if (size == SASS_SIZE_64) {
        struct sass_operand pair = *c;
        pair.regs = 2;
        sass_put64(l, SASS_D, sass_raw64(l, &pair).s);
        return true;
    }
    if (c->bank == 0 && c->value < (int64_t)l->code->param_base && size != SASS_SIZE_128) {
        load_part(l, c, size);
        return true;
    }
    return false;
}

/* From bank 2, which is an array of its own. */
static void load_bank2(struct sass_lift *l, const struct sass_insn *i, int64_t at, bool indexed, struct sass_text index)
{
    struct sass_text sum;
    if (sass_part_of(l, i->offset / SASS_INSN_SIZE)->first)
        sass_fail(l, "an index into a function's own constants");
    l->bank2 = true;
    sum = sass_in_register(l, sass_bank2_name(l->cubin, l->code), 'w');
    if (indexed) {
        struct sass_text wide = sass_temp(l, 'w');
        sass_step(l, "cvt.s64.s32 %s, %s", wide.s, index.s);
        sum = sass_sum(l, true, sum, wide);
    }
    load_from(l, i, "ld.global.nc", sass_plus(sum.s, at).s);
}

static void load_bank3(struct sass_lift *l, const struct sass_insn *i, int64_t at, bool indexed, struct sass_text index)
{
    uint32_t symbol = sass_constant_symbol(l, indexed ? UINT64_MAX : (uint64_t)at); /* by an index it may be any */
    if (symbol == UINT32_MAX) {
        sass_fail(l, "an index into bank 3 at 0x%" PRIx64 ", which no symbol names", (uint64_t)at);
        return;
    }
    if (indexed) {
        struct sass_text offset = sass_sum(l, false, index, sass_format("%" PRId64, at));
        load_from(l, i, "ld.const", constant_address(l, offset.s, false).s);
        return;
    }
    const struct sass_symbol *s = &l->cubin->symbols[symbol];
    int64_t offset = at - (int64_t)s->value;
    l->symbols[symbol] = 1;
    if (s->name.len + AW_DIGITS + 1 < sizeof(struct sass_text)) {
        load_from(l, i, "ld.const", sass_format("%.*s+%" PRId64, AW_STR_ARG(s->name), offset).s);
        return;
    }
    struct sass_text w = sass_temp(l, 'w'); /* names may be of any length */
    sass_step(l, "mov.u64 %s, %.*s", w.s, AW_STR_ARG(s->name));
    load_from(l, i, "ld.const", sass_plus(w.s, offset).s);
}

void sass_emit_ldc(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *c = &i->opnd[SASS_A];
    struct sass_operand reg = { .kind = c->ureg != SASS_RZ ? SASS_UREG : SASS_REG,
                                .reg = c->ureg != SASS_RZ ? c->ureg : c->reg,
                                .regs = 1 };
    bool indexed = reg.reg != SASS_RZ;
    int64_t at = indexed && c->value >= 0x8000 ? c->value - 0x10000 : c->value;
    unsigned mode = sass_mod(l, SASS_F_MODE), size = sass_mod(l, SASS_F_SIZE);
    (void)sass_look(l, SASS_A);
    if (c->handle || (mode && mode != SASS_MODE_IDX)) {
        sass_fail(l, "a constant bank that a register names");
        return;
    }
    if (!indexed && load_known(l, c, size))
        return;
    struct sass_text index = sass_raw(l, &reg);
    if (c->bank == 4)
        load_symbol(l, i, &reg, index);
    else if (c->bank == 0)
        load_bank0(l, i, at, index);
    else if (c->bank == 2)
        load_bank2(l, i, at, indexed, index);
    else if (c->bank == 3)
        load_bank3(l, i, at, indexed, index);
    else
        sass_fail(l, "an index into bank %u", c->bank);
}

/* ---- Fences, queries */

/* One that says nothing, as those of CUDA 11 for a block on sm_90, orders no more than that of most order. */
void sass_emit_membar(struct sass_lift *l, const struct sass_insn *i)
{
    unsigned scope = sass_mod(l, SASS_F_SCOPE);
    sass_do(l, "fence.%s.%s", sass_mod(l, SASS_F_SC) == SASS_SC_ALL ? "acq_rel" : "sc",
            scope == SASS_SCOPE_SYS || scope == SASS_SCOPE_VC ? "sys" : scope == SASS_SCOPE_GPU ? "gpu" : "cta");
}

void sass_emit_fence_view(struct sass_lift *l, const struct sass_insn *i)
{
    (void)i;
    sass_do(l, "fence.proxy.async%s", sass_mod(l, SASS_F_GLOBAL) ? ".global" : "");
}

/* Who throws the first-level cache away means to see what others have written: the acquiring half of a fence. */
void sass_emit_cctl(struct sass_lift *l, const struct sass_insn *i)
{
    sass_look_all(l);
    if (i->mod[SASS_F_CCTL] == SASS_CCTL_IVALL || i->mod[SASS_F_CCTL] == SASS_CCTL_IVALLP)
        sass_do(l, "fence.acq_rel.sys");
}

void sass_emit_qspc(struct sass_lift *l, const struct sass_insn *i)
{
    int64_t offset;
    struct sass_text a = sass_address64(l, &i->opnd[SASS_M], &offset), sum = sass_temp(l, 'w'), lo, hi, q = sass_temp(l, 'q');
    unsigned space = sass_mod(l, SASS_F_SPACE);
    if (sass_writes(&i->opnd[SASS_D]))
        sass_fail(l, "a question with an answer of more than yes or no");
    sass_step(l, "add.s64 %s, %s, %" PRId64, sum.s, a.s, offset);
    sass_split(l, sum.s, &lo, &hi);
    if (space == SASS_SPACE_G) {
        q = sass_is_global(l, sum.s);
    } else { /* clusters have one block: all that is shared in one is its own */
        sass_step(l, "setp.eq.u32 %s, %s, %u", q.s, hi.s, space == SASS_SPACE_L ? SASS_LOCAL_WINDOW : SASS_SHARED_WINDOW);
    }
    sass_put_pred(l, SASS_P, q.s);
}

/* ---- Asynchronous copies */

/* With .ZFILL the low bits of the address in global memory, which is a multiple of the size, are how many bytes at the end are
 * zeros. */
static struct sass_text zeros_at_end(struct sass_lift *l, unsigned bytes, struct sass_text *from, int64_t offset)
{
    struct sass_text sum = sass_temp(l, 'w'), word = sass_temp(l, 't'), low = sass_temp(l, 't'), count = sass_temp(l, 't'),
                     at = sass_temp(l, 'w');
    sass_step(l, "add.s64 %s, %s, %lld", sum.s, from->s, (long long)offset);
    sass_step(l, "cvt.u32.u64 %s, %s", word.s, sum.s);
    sass_step(l, "and.b32 %s, %s, %u", low.s, word.s, bytes - 1);
    sass_step(l, "sub.u32 %s, %u, %s", count.s, bytes, low.s);
    sass_step(l, "and.b64 %s, %s, -%u", at.s, sum.s, bytes);
    *from = at;
    return count;
}

/* Where the predicate is false zeros are stored. */
void sass_emit_ldgsts(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    int64_t offset;
    unsigned bytes = 4 * words_of(sass_mod(l, SASS_F_SIZE));
    (void)sass_mod(l, SASS_F_LEVEL);
    struct sass_text from = sass_address64(l, &o[SASS_M], &offset), to = sass_shared_address(l, &o[SASS_M2]), count = { "" };
    const char *how = bytes == 16 ? "cg" : "ca";
    struct sass_text dst = sass_plus(to.s, o[SASS_M2].value);
    bool asked = o[SASS_S].kind != SASS_NONE && !sass_is_true(&o[SASS_S]), part = sass_mod(l, SASS_F_ZFILL);
    (void)sass_look(l, SASS_S);
    if (part) {
        count = zeros_at_end(l, bytes, &from, offset);
        offset = 0;
    }
    struct sass_text src = sass_plus(from.s, offset);
    if (asked) {
        struct sass_text whole = count;
        if (!part)
            aw_snprintf(whole.s, sizeof whole.s, "%u", bytes);
        count = sass_temp(l, 't');
        sass_step(l, "selp.b32 %s, %s, 0, %s", count.s, whole.s, sass_pred(l, &o[SASS_S]).s);
    }
    if (asked || part)
        sass_do(l, "cp.async.%s.shared.global [%s], [%s], %u, %s", how, dst.s, src.s, bytes, count.s);
    else
        sass_do(l, "cp.async.%s.shared.global [%s], [%s], %u", how, dst.s, src.s, bytes);
}

void sass_emit_ldgdepbar(struct sass_lift *l, const struct sass_insn *i)
{
    (void)i;
    sass_do(l, "cp.async.commit_group");
}

void sass_emit_depbar(struct sass_lift *l, const struct sass_insn *i)
{
    sass_look_all(l); /* other scoreboards wait for what we do at once */
    if (i->opnd[SASS_K].reg == 0 && l->cubin->arch >= 80)
        sass_do(l, "cp.async.wait_group %u", (unsigned)sass_look(l, SASS_L)->value);
}
