/* Atomic operations and reductions of memory: of one number, of 128 bits, and from sm_90 on of vectors. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "sass/access.h"

/* ---- Types */

/* What a type's values are, in 32-bit registers, and how they stand in the text: in one register, joined to one of 64 or of 128
 * bits, as a vector of registers, or as the two halves of one. */
struct value_type {
    unsigned words;
    enum { PLAIN, JOINED, LONG, VECTOR, HALVES } how;
};

/* The type of floats as PTX has it for addition. */
static const char *float_type(unsigned type)
{
    switch (type) {
    case SASS_ATYPE_F32_FTZ_RN: return "f32";
    case SASS_ATYPE_F64_RN: return "f64";
    case SASS_ATYPE_F16X2_RN: return "noftz.f16x2";
    case SASS_ATYPE_BF16X2_RN: return "noftz.bf16x2";
    case SASS_ATYPE_F16X4_RN: return "noftz.v2.f16x2";
    case SASS_ATYPE_BF16X4_RN: return "noftz.v2.bf16x2";
    case SASS_ATYPE_F16X8_RN: return "noftz.v4.f16x2";
    case SASS_ATYPE_BF16X8_RN: return "noftz.v4.bf16x2";
    case SASS_ATYPE_F32X2_FTZ_RN: return "v2.f32";
    case SASS_ATYPE_F32X4_FTZ_RN: return "v4.f32";
    default: return NULL;
    }
}

static bool is_pair_of_halves(unsigned type)
{
    return type == SASS_ATYPE_F16X2_RN || type == SASS_ATYPE_BF16X2_RN;
}

static struct value_type value_type(struct sass_lift *l)
{
    unsigned type = sass_mod(l, SASS_F_ATYPE), fn = sass_mod(l, SASS_F_FN);
    switch (type) {
    case SASS_ATYPE_64: case SASS_ATYPE_S64: case SASS_ATYPE_F64_RN: return (struct value_type){ 2, JOINED };
    case SASS_ATYPE_128: return (struct value_type){ 4, LONG };
    case SASS_ATYPE_F16X4_RN: case SASS_ATYPE_BF16X4_RN: case SASS_ATYPE_F32X2_FTZ_RN: return (struct value_type){ 2, VECTOR };
    case SASS_ATYPE_F16X8_RN: case SASS_ATYPE_BF16X8_RN: case SASS_ATYPE_F32X4_FTZ_RN: return (struct value_type){ 4, VECTOR };
    default: return (struct value_type){ 1, is_pair_of_halves(type) && fn != SASS_FN_ADD ? HALVES : PLAIN };
    }
}

/* ---- Operations */

/* PTX has the least and greatest of halves for vectors alone. */
static struct sass_text float_op(struct sass_lift *l, unsigned fn, unsigned type)
{
    const char *name = float_type(type);
    bool ordered = fn == SASS_FN_MIN || fn == SASS_FN_MAX;
    if (!name || (fn != SASS_FN_ADD && !(ordered && strstr(name, "noftz")))) {
        sass_fail(l, "operation %u of floats of type %u", fn, type);
        return sass_format("add.u32");
    }
    const char *op = fn == SASS_FN_ADD ? "add" : fn == SASS_FN_MIN ? "min" : "max";
    if (ordered && is_pair_of_halves(type))
        return sass_format("%s.noftz.v2.%s", op, type == SASS_ATYPE_F16X2_RN ? "f16" : "bf16");
    return sass_format("%s.%s", op, name);
}

static struct sass_text atomic_op(struct sass_lift *l)
{
    unsigned fn = sass_mod(l, SASS_F_FN), type = sass_mod(l, SASS_F_ATYPE);
    bool wide = type == SASS_ATYPE_64 || type == SASS_ATYPE_S64, sign = type == SASS_ATYPE_S32 || type == SASS_ATYPE_S64;
    if (type == SASS_ATYPE_128) {
        if (fn != SASS_FN_EXCH)
            sass_fail(l, "operation %u of 128 bits", fn);
        return sass_format("exch.b128");
    }
    if (type != SASS_ATYPE_U32 && !wide && !sign)
        return float_op(l, fn, type);
    unsigned bits = wide ? 64 : 32;
    switch (fn) {
    case SASS_FN_ADD: return sass_format("add.u%u", bits);
    case SASS_FN_MIN: return sass_format("min.%c%u", sign ? 's' : 'u', bits);
    case SASS_FN_MAX: return sass_format("max.%c%u", sign ? 's' : 'u', bits);
    case SASS_FN_INC: return sass_format("inc.u32");
    case SASS_FN_DEC: return sass_format("dec.u32");
    case SASS_FN_AND: return sass_format("and.b%u", bits);
    case SASS_FN_OR: return sass_format("or.b%u", bits);
    case SASS_FN_XOR: return sass_format("xor.b%u", bits);
    case SASS_FN_EXCH: return sass_format("exch.b%u", bits);
    default: sass_fail(l, "operation %u", fn); return sass_format("add.u32");
    }
}

static const char *atomic_scope(struct sass_lift *l, const struct sass_insn *i)
{
    const char *scope = sass_scope_name(sass_mod(l, SASS_F_ORDER));
    return *scope ? scope : sass_space_of(i->op) == SASS_IN_SHARED ? ".relaxed.cta" : ".relaxed.gpu";
}

/* ---- Values */

/* An operand, in braces where it is a vector. */
struct values {
    char s[200];
};

static struct values listed(const struct sass_text *v, unsigned n)
{
    struct values all;
    if (n == 1)
        aw_snprintf(all.s, sizeof all.s, "%s", v[0].s);
    else if (n == 2)
        aw_snprintf(all.s, sizeof all.s, "{%s, %s}", v[0].s, v[1].s);
    else
        aw_snprintf(all.s, sizeof all.s, "{%s, %s, %s, %s}", v[0].s, v[1].s, v[2].s, v[3].s);
    return all;
}

static struct sass_text joined_words(struct sass_lift *l, enum sass_slot slot, unsigned k)
{
    struct sass_operand pair = sass_words_of(sass_look(l, slot), k, 2);
    return sass_in_register(l, sass_raw64(l, &pair), 'w');
}

static struct sass_text one_word(struct sass_lift *l, enum sass_slot slot, unsigned k)
{
    struct sass_operand word = sass_words_of(sass_look(l, slot), k, 1);
    return sass_in_register(l, sass_raw(l, &word), 't');
}

static struct values atomic_value(struct sass_lift *l, enum sass_slot slot)
{
    struct value_type t = value_type(l);
    struct sass_text v[4];
    if (t.how == JOINED) {
        v[0] = joined_words(l, slot, 0);
        return listed(v, 1);
    }
    if (t.how == LONG) {
        v[0] = joined_words(l, slot, 0);
        v[1] = joined_words(l, slot, 2);
        v[2] = sass_temp(l, 'x');
        sass_step(l, "mov.b128 %s, {%s, %s}", v[2].s, v[0].s, v[1].s);
        return listed(v + 2, 1);
    }
    for (unsigned k = 0; k < t.words; k++)
        v[k] = one_word(l, slot, k);
    if (t.how == HALVES) {
        v[1] = sass_temp(l, 'h');
        v[2] = sass_temp(l, 'h');
        sass_step(l, "mov.b32 {%s, %s}, %s", v[1].s, v[2].s, v[0].s);
        return listed(v + 1, 2);
    }
    return listed(v, t.words);
}

/* ---- Results */

/* What an operation writes, as many as `listed` takes, and where that goes then (put_old). */
struct old {
    struct sass_text v[4];
    unsigned n;
};

/* `apart`: into temporaries, as something else is asked of it. */
static struct old old_value(struct sass_lift *l, const struct sass_insn *i, bool apart)
{
    struct value_type t = value_type(l);
    struct old d = { .n = t.how == VECTOR ? t.words : t.how == HALVES ? 2 : 1 };
    for (unsigned k = 0; k < d.n; k++)
        if (t.how == JOINED || t.how == LONG || t.how == HALVES || apart)
            d.v[k] = sass_temp(l, t.how == JOINED ? 'w' : t.how == LONG ? 'x' : t.how == HALVES ? 'h' : 't');
        else
            d.v[k] = sass_dest(l, &i->opnd[SASS_D], k);
    return d;
}

static void put_old(struct sass_lift *l, const struct sass_insn *i, const struct old *d)
{
    const struct sass_operand *to = &i->opnd[SASS_D];
    struct value_type t = value_type(l);
    if (t.how == JOINED) {
        sass_put64(l, SASS_D, d->v[0].s);
    } else if (t.how == HALVES && sass_writes(to)) {
        sass_do(l, "mov.b32 %s, {%s, %s}", sass_dest(l, to, 0).s, d->v[0].s, d->v[1].s);
    } else if (t.how == LONG && sass_writes(to)) {
        struct sass_text low = sass_temp(l, 'w'), high = sass_temp(l, 'w');
        sass_do(l, "mov.b128 {%s, %s}, %s", low.s, high.s, d->v[0].s);
        sass_do(l, "mov.b64 {%s, %s}, %s", sass_dest(l, to, 0).s, sass_dest(l, to, 1).s, low.s);
        sass_do(l, "mov.b64 {%s, %s}, %s", sass_dest(l, to, 2).s, sass_dest(l, to, 3).s, high.s);
    }
}

/* .CAST.SPIN answers 1 where it has written, else 0. */
static void put_success(struct sass_lift *l, const char *old)
{
    bool wide = value_type(l).how == JOINED;
    struct sass_text q = sass_temp(l, 'q'), one = sass_temp(l, 't');
    struct values b = atomic_value(l, SASS_B);
    if (value_type(l).how == LONG)
        sass_fail(l, "whether 128 bits were exchanged");
    sass_step(l, "setp.eq.b%u %s, %s, %s", wide ? 64u : 32u, q.s, old, b.s);
    sass_step(l, "selp.b32 %s, 1, 0, %s", one.s, q.s);
    if (wide)
        sass_put64(l, SASS_D, sass_widen(l, one.s).s);
    else
        sass_put(l, SASS_D, one.s);
}

/* ---- Where it is done */

static bool is_cas(const struct sass_insn *i)
{
    return i->opnd[SASS_C].kind != SASS_NONE;
}

/* Whether a generic address is not in local memory. */
static struct sass_text is_not_local(struct sass_lift *l, const char *address)
{
    struct sass_text lo, hi, q = sass_temp(l, 'q');
    if (!l->local_window) {
        l->true_pred = true;
        return sass_format("%%always");
    }
    sass_split(l, address, &lo, &hi);
    sass_step(l, "setp.ne.u32 %s, %s, %u", q.s, hi.s, SASS_LOCAL_WINDOW);
    return q;
}

struct sass_text sass_is_global(struct sass_lift *l, const char *address)
{
    struct sass_text lo, hi, shared = sass_temp(l, 'q'), local = sass_temp(l, 'q'), both = sass_temp(l, 'q');
    if (!l->shared_window && !l->local_window) {
        l->true_pred = true;
        return sass_format("%%always");
    }
    sass_split(l, address, &lo, &hi);
    sass_step(l, "setp.ne.u32 %s, %s, %u", shared.s, hi.s, SASS_SHARED_WINDOW);
    sass_step(l, "setp.ne.u32 %s, %s, %u", local.s, hi.s, SASS_LOCAL_WINDOW);
    sass_step(l, "and.pred %s, %s, %s", both.s, shared.s, local.s);
    return both;
}

/* The guard and `done`. */
static struct sass_text guarded_by(struct sass_lift *l, const struct sass_insn *i, struct sass_text done)
{
    if (!sass_guarded(i))
        return done;
    struct sass_operand g = { .kind = i->guard_uniform ? SASS_UPRED : SASS_PRED, .reg = i->guard, .inv = i->guard_inv };
    struct sass_text p = sass_pred(l, &g), q = sass_temp(l, 'q');
    sass_step(l, "and.pred %s, %s, %s", q.s, done.s, p.s);
    return q;
}

/* With a predicate that is written the operation is done where the address is in global memory, and compare-and-swap in shared
 * memory, too: then P says so, else code that can do it elsewhere follows.  *ret_done: where; "" everywhere. */
static struct sass_text atomic_address(struct sass_lift *l, const struct sass_insn *i, const char **ret_space,
                                       struct sass_text *ret_done)
{
    enum sass_space_in where = sass_space_of(i->op);
    *ret_done = (struct sass_text){ "" };
    if (where != SASS_IN_GENERIC || !sass_writes(&i->opnd[SASS_P]))
        return sass_access_address(l, i, where, ret_space);
    int64_t offset;
    struct sass_text base = sass_address64(l, &i->opnd[SASS_M], &offset), a = sass_temp(l, 'w');
    sass_step(l, "add.s64 %s, %s, %" PRId64, a.s, base.s, offset);
    *ret_done = is_cas(i) ? is_not_local(l, a.s) : sass_is_global(l, a.s);
    *ret_space = ".global";
    return is_cas(i) ? sass_access_address(l, i, where, ret_space) : a;
}

static void atomic(struct sass_lift *l, const struct sass_insn *i, const char *op, const char *values)
{
    const char *space;
    struct sass_text done, a = atomic_address(l, i, &space, &done);
    /* The old value, compared below with what B held before: D may be B. */
    bool success = sass_mod(l, SASS_F_CAS) == SASS_CAS_CAST_SPIN;
    struct old d = old_value(l, i, success);
    struct values to = listed(d.v, d.n);
    if (done.s[0] && strcmp(done.s, "%always") != 0)
        sass_step(l, "@%s atom%s%s.%s %s, [%s], %s", guarded_by(l, i, done).s, atomic_scope(l, i), space, op, to.s, a.s, values);
    else
        sass_do(l, "atom%s%s.%s %s, [%s], %s", atomic_scope(l, i), space, op, to.s, a.s, values);
    if (success) {
        put_success(l, d.v[0].s);
        return;
    }
    put_old(l, i, &d);
    if (done.s[0])
        sass_put_pred(l, SASS_P, done.s);
}

/* ---- Instructions */

void sass_emit_atom_cas(struct sass_lift *l, const struct sass_insn *i)
{
    struct values b = atomic_value(l, SASS_B), c = atomic_value(l, SASS_C);
    char values[sizeof b.s + sizeof c.s + 4];
    unsigned type = sass_mod(l, SASS_F_ATYPE);
    struct value_type t = value_type(l);
    aw_snprintf(values, sizeof values, "%s, %s", b.s, c.s);
    if (type > SASS_ATYPE_64 && type != SASS_ATYPE_S64 && type != SASS_ATYPE_128)
        sass_fail(l, "type %u", type);
    atomic(l, i, t.how == LONG ? "cas.b128" : t.how == JOINED ? "cas.b64" : "cas.b32", values);
}

static void count_lanes(struct sass_lift *l, const struct sass_insn *i)
{
    const char *space;
    if (sass_mod(l, SASS_F_WIDTH) != SASS_WIDTH_32)
        sass_fail(l, "a count of 64 bits");
    struct sass_text a = sass_access_address(l, i, SASS_IN_SHARED, &space), d = sass_dest(l, &i->opnd[SASS_D], 0);
    sass_do(l, "atom.relaxed.cta.shared.add.u32 %s, [%s], 1", d.s, a.s);
}

void sass_emit_atom(struct sass_lift *l, const struct sass_insn *i)
{
    unsigned fn = sass_mod(l, SASS_F_FN);
    if (is_cas(i))
        sass_emit_atom_cas(l, i);
    else if (fn == SASS_FN_POPC_INC)
        count_lanes(l, i);
    else if (fn == SASS_FN_ARRIVE && sass_mod(l, SASS_F_WIDTH) == SASS_WIDTH_64)
        sass_mbarrier_arrive(l, i);
    else
        atomic(l, i, atomic_op(l).s, atomic_value(l, SASS_B).s);
}

void sass_emit_red(struct sass_lift *l, const struct sass_insn *i)
{
    const char *space;
    struct sass_text op = atomic_op(l), a = sass_access_address(l, i, SASS_IN_GENERIC, &space);
    struct values b = atomic_value(l, SASS_B);
    sass_do(l, "red%s%s.%s [%s], %s", atomic_scope(l, i), space, op.s, a.s, b.s);
}
