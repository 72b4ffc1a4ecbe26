/* Floats of 32 and 64 bits, conversions, approximations. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include <inttypes.h>

#include "sass/lift.h"

static const char *rounding(struct sass_lift *l)
{
    switch (sass_mod(l, SASS_F_RND)) {
    case SASS_RND_RM: return ".rm";
    case SASS_RND_RP: return ".rp";
    case SASS_RND_RZ: return ".rz";
    default: return ".rn";
    }
}

static const char *rounding_to_int(struct sass_lift *l)
{
    switch (sass_mod(l, SASS_F_RNDI)) {
    case SASS_RNDI_FLOOR: return ".rmi";
    case SASS_RNDI_CEIL: return ".rpi";
    case SASS_RNDI_TRUNC: return ".rzi";
    default: return ".rni";
    }
}

static const char *ftz(struct sass_lift *l)
{
    return sass_mod(l, SASS_F_FTZ) ? ".ftz" : "";
}

static const char *sat(struct sass_lift *l)
{
    return sass_mod(l, SASS_F_SAT) ? ".sat" : "";
}

/* ---- Arithmetic */

void sass_emit_fadd(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    struct sass_text a = sass_f32(l, &o[SASS_A]), b = sass_f32(l, &o[SASS_B]);
    sass_do(l, "add%s%s%s.f32 %s, %s, %s", rounding(l), ftz(l), sat(l), sass_dest(l, &o[SASS_D], 0).s, a.s, b.s);
}

/* ---- Angles */

/* x / (2 pi), as it comes before a sine or cosine of x. */
static bool is_turns(const struct sass_insn *i)
{
    enum { TURN = 0x3e22f983 };
    const struct sass_operand *b = &i->opnd[SASS_B];
    return i->op == SASS_FMUL && !sass_guarded(i) && b->kind == SASS_IMM && (uint32_t)b->value == TURN && !b->neg &&
           i->mod[SASS_F_RND] == SASS_RND_RZ && i->opnd[SASS_D].kind == SASS_REG && !i->mod[SASS_F_SAT] &&
           (!i->mod[SASS_F_PSCALE] || i->mod[SASS_F_PSCALE] == SASS_PSCALE_M1);
}

void sass_turns_after(struct sass_lift *l, const struct sass_insn *i)
{
    unsigned n = 0;
    const struct sass_operand *d[] = { &i->opnd[SASS_D], &i->opnd[SASS_D2] };
    for (unsigned k = 0; k < l->n_turns; k++) {
        bool written = false;
        for (int s = 0; s < 2; s++)
            written = written || (d[s]->kind == SASS_REG && l->turns[k].reg >= d[s]->reg &&
                                  l->turns[k].reg < d[s]->reg + (d[s]->regs ? d[s]->regs : 1));
        if (!written)
            l->turns[n++] = l->turns[k];
    }
    l->n_turns = n;
    if (is_turns(i) && n < sizeof l->turns / sizeof *l->turns)
        l->turns[l->n_turns++] = (struct sass_turns){ .reg = d[0]->reg, .ftz = i->mod[SASS_F_FTZ], .angle = l->angle };
}

/* What is known of a register that has turns; NULL. */
static const struct sass_turns *angle_of(const struct sass_lift *l, const struct sass_operand *o)
{
    for (unsigned k = 0; k < l->n_turns && o->kind == SASS_REG && !o->neg && !o->abs; k++)
        if (l->turns[k].reg == o->reg)
            return &l->turns[k];
    return NULL;
}

/* The power of two by which the product is to be scaled. */
static int scale_of(struct sass_lift *l)
{
    static const int8_t powers[] = { [SASS_PSCALE_D8] = -3, [SASS_PSCALE_D4] = -2, [SASS_PSCALE_D2] = -1, [SASS_PSCALE_M1] = 0,
                                     [SASS_PSCALE_M2] = 1,  [SASS_PSCALE_M4] = 2,  [SASS_PSCALE_M8] = 3 };
    unsigned scale = sass_mod(l, SASS_F_PSCALE);
    return scale < sizeof powers ? powers[scale] : 0;
}

/* A number that is known times the power of two, as a number of the same digits; the other operand's text stays.  False where
 * there is none. */
static bool scaled(int power, struct sass_text *b)
{
    unsigned bits;
    if (!power)
        return true;
    if (sscanf(b->s, "0f%8x", &bits) != 1)
        return false;
    int exponent = (int)(bits >> 23 & 255) + power;
    if (!(bits >> 23 & 255) || (bits >> 23 & 255) == 255 || exponent < 1 || exponent > 254)
        return false;
    *b = sass_float_bits((bits & 0x807fffffu) | (unsigned)exponent << 23, false);
    return true;
}

/* ptxas makes it of two products that the program lets it contract; so it is rounded once, which double precision does: the
 * product of two floats is exact there, scaled or not. */
static void scaled_product(struct sass_lift *l, const struct sass_insn *i, int power, struct sass_text a, struct sass_text b)
{
    struct sass_text x = sass_temp(l, 'w'), y = sass_temp(l, 'w'), product = sass_temp(l, 'w'), whole = sass_temp(l, 'w');
    sass_step(l, "cvt%s.f64.f32 %s, %s", ftz(l), x.s, a.s);
    sass_step(l, "cvt%s.f64.f32 %s, %s", ftz(l), y.s, b.s);
    sass_step(l, "mul.rn.f64 %s, %s, %s", product.s, x.s, y.s);
    sass_step(l, "mul.rn.f64 %s, %s, 0d%016" PRIX64, whole.s, product.s, (uint64_t)(1023 + power) << 52);
    sass_do(l, "cvt%s%s%s.f32.f64 %s, %s", rounding(l), ftz(l), sat(l), sass_dest(l, &i->opnd[SASS_D], 0).s, whole.s);
}

void sass_emit_fmul(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    struct sass_text a = sass_f32(l, &o[SASS_A]), b = sass_f32(l, &o[SASS_B]);
    if (sass_mod(l, SASS_F_FMZ))
        sass_fail(l, "a product in which 0 wins");
    int power = scale_of(l);
    if (!scaled(power, &b)) {
        scaled_product(l, i, power, a, b);
        return;
    }
    if (is_turns(i)) {
        struct sass_text angle = sass_temp(l, 't');
        sass_step(l, "mov.b32 %s, %s", angle.s, a.s);
        l->angle = angle;
    }
    sass_do(l, "mul%s%s%s.f32 %s, %s, %s", rounding(l), ftz(l), sat(l), sass_dest(l, &o[SASS_D], 0).s, a.s, b.s);
}

void sass_emit_ffma(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    if (sass_mod(l, SASS_F_FMZ))
        sass_fail(l, "a product in which 0 wins");
    struct sass_text a = sass_f32(l, &o[SASS_A]), b = sass_f32(l, &o[SASS_B]), c = sass_f32(l, &o[SASS_C]);
    sass_do(l, "fma%s%s%s.f32 %s, %s, %s, %s", rounding(l), ftz(l), sat(l), sass_dest(l, &o[SASS_D], 0).s, a.s, b.s, c.s);
}

/* An operand of a least or greatest number.  With .XORSIGN the result's sign is that of the operands' product, as they are in
 * their registers: |a| and |b| are what PTX's .xorsign.abs takes by itself. */
struct sass_operand sass_sign_apart(struct sass_lift *l, unsigned slot)
{
    struct sass_operand o = *sass_look(l, slot);
    if (sass_mod(l, SASS_F_XORSIGN)) {
        if (o.abs == (o.kind == SASS_IMM) || o.neg) /* a number has its own */
            sass_fail(l, "a sign beside .XORSIGN");
        o.abs = false;
    }
    return o;
}

void sass_emit_fmnmx(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    struct sass_operand first = sass_sign_apart(l, SASS_A), second = sass_sign_apart(l, SASS_B);
    struct sass_text a = sass_f32(l, &first), b = sass_f32(l, &second), d = sass_dest(l, &o[SASS_D], 0);
    struct sass_text how =
        sass_format("%s%s%s", ftz(l), sass_mod(l, SASS_F_NAN) ? ".NaN" : "", sass_mod(l, SASS_F_XORSIGN) ? ".xorsign.abs" : "");
    (void)sass_look(l, SASS_S);
    if (sass_is_true(&o[SASS_S]) || sass_is_false(&o[SASS_S])) {
        sass_do(l, "%s%s.f32 %s, %s, %s", sass_is_true(&o[SASS_S]) ? "min" : "max", how.s, d.s, a.s, b.s);
        return;
    }
    struct sass_text low = sass_temp(l, 't'), high = sass_temp(l, 't'), p = sass_pred(l, &o[SASS_S]);
    sass_step(l, "min%s.f32 %s, %s, %s", how.s, low.s, a.s, b.s);
    sass_step(l, "max%s.f32 %s, %s, %s", how.s, high.s, a.s, b.s);
    sass_do(l, "selp.b32 %s, %s, %s, %s", d.s, low.s, high.s, p.s);
}

static struct sass_text compare_f32(struct sass_lift *l, const struct sass_insn *i)
{
    bool constant;
    if (sass_cmp_constant(sass_mod(l, SASS_F_CMP), &constant)) {
        l->true_pred = true;
        return sass_format("%s", constant ? "%always" : "%never");
    }
    struct sass_text a = sass_f32(l, &i->opnd[SASS_A]), b = sass_f32(l, &i->opnd[SASS_B]), q = sass_temp(l, 'q');
    sass_step(l, "setp.%s%s.f32 %s, %s, %s", sass_cmp_name(sass_mod(l, SASS_F_CMP)), ftz(l), q.s, a.s, b.s);
    return q;
}

void sass_emit_fsetp(struct sass_lift *l, const struct sass_insn *i)
{
    sass_put_compared(l, i, compare_f32(l, i).s);
}

void sass_emit_fset(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *s = sass_look(l, SASS_S);
    struct sass_text q = compare_f32(l, i);
    unsigned op = sass_mod(l, SASS_F_BOOL);
    if (!(op == SASS_BOOL_OR || op == SASS_BOOL_XOR ? sass_is_false(s) : sass_is_true(s))) {
        struct sass_text both = sass_temp(l, 'q'), p = sass_pred(l, s);
        sass_step(l, "%s.pred %s, %s, %s", op == SASS_BOOL_OR ? "or" : op == SASS_BOOL_XOR ? "xor" : "and", both.s, q.s, p.s);
        q = both;
    }
    sass_do(l, "selp.b32 %s, %s, 0, %s", sass_dest(l, &i->opnd[SASS_D], 0).s, "1065353216", q.s);
}

/* A float operand as bits: immediates of floats are not taken by operations on bits. */
static struct sass_text f32_bits(struct sass_lift *l, const struct sass_operand *o)
{
    struct sass_text v = sass_f32(l, o);
    if (v.s[0] != '0' || v.s[1] != 'f')
        return v;
    struct sass_text t = sass_temp(l, 't');
    sass_step(l, "mov.b32 %s, %s", t.s, v.s);
    return t;
}

void sass_emit_fsel(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    struct sass_operand s = o[SASS_S];
    bool swap = s.inv && s.reg != SASS_PT;
    s.inv = swap ? false : s.inv;
    if (sass_mod(l, SASS_F_FTZ))
        sass_fail(l, ".FTZ");
    struct sass_text a = f32_bits(l, &o[SASS_A]), b = f32_bits(l, &o[SASS_B]), p = sass_pred(l, &s);
    sass_do(l, "selp.b32 %s, %s, %s, %s", sass_dest(l, &o[SASS_D], 0).s, swap ? b.s : a.s, swap ? a.s : b.s, p.s);
}

/* Half a register: the low 16 bits, or the high ones. */
static struct sass_text half_of(struct sass_lift *l, const struct sass_operand *o)
{
    struct sass_operand plain = *o;
    plain.neg = plain.abs = false;
    plain.half = SASS_HALF_BOTH;
    struct sass_text lo = sass_temp(l, 'h'), hi = sass_temp(l, 'h'), v = sass_raw(l, &plain);
    v = sass_in_register(l, v, 't');
    sass_step(l, "mov.b32 {%s, %s}, %s", lo.s, hi.s, v.s);
    if (o->half > SASS_ONE_HIGH)
        sass_fail(l, "half %u", o->half);
    struct sass_text h = o->half == SASS_ONE_HIGH ? hi : lo;
    for (int k = 0; k < 2; k++)
        if (k ? o->neg : o->abs) {
            struct sass_text t = sass_temp(l, 'h');
            sass_step(l, "%s.b16 %s, %s, %s", k ? "xor" : "and", t.s, h.s, k ? "-32768" : "32767");
            h = t;
        }
    return h;
}

/* ---- Approximations */

/* Of a double: its high word in, the result's high word out. */
static void mufu_f64(struct sass_lift *l, const struct sass_insn *i, const char *what)
{
    struct sass_text x = sass_temp(l, 'w'), y = sass_temp(l, 'w'), lo, hi;
    sass_step(l, "mov.b64 %s, {0, %s}", x.s, f32_bits(l, &i->opnd[SASS_B]).s);
    sass_step(l, "%s.approx.ftz.f64 %s, %s", what, y.s, x.s);
    sass_split(l, y.s, &lo, &hi);
    sass_put(l, SASS_D, hi.s);
}

/* The argument of sine and cosine is in turns: brought to half a turn either way, which is exact, then to radians. */
static struct sass_text radians(struct sass_lift *l, struct sass_text turns)
{
    struct sass_text whole = sass_temp(l, 't'), part = sass_temp(l, 't'), angle = sass_temp(l, 't');
    sass_step(l, "cvt.rni.ftz.f32.f32 %s, %s", whole.s, turns.s);
    sass_step(l, "sub.rn.ftz.f32 %s, %s, %s", part.s, turns.s, whole.s);
    sass_step(l, "mul.rn.ftz.f32 %s, %s, 0f40C90FDB", angle.s, part.s);
    return angle;
}

static void mufu_f16(struct sass_lift *l, const struct sass_insn *i, unsigned fn)
{
    if (fn != SASS_FN_EX2 && fn != SASS_FN_TANH) {
        sass_fail(l, "function %u of halves", fn);
        return;
    }
    const char *type = sass_mod(l, SASS_F_F16) ? "f16" : fn == SASS_FN_EX2 ? "ftz.bf16" : "bf16";
    struct sass_text x = half_of(l, &i->opnd[SASS_B]), y = sass_temp(l, 'h');
    sass_step(l, "%s.approx.%s %s, %s", fn == SASS_FN_EX2 ? "ex2" : "tanh", type, y.s, x.s);
    sass_do(l, "cvt.u32.u16 %s, %s", sass_dest(l, &i->opnd[SASS_D], 0).s, y.s);
}

void sass_emit_mufu(struct sass_lift *l, const struct sass_insn *i)
{
    static const char *const names[] = {
        [SASS_FN_COS] = "cos.approx.ftz",   [SASS_FN_SIN] = "sin.approx.ftz", [SASS_FN_EX2] = "ex2.approx.ftz",
        [SASS_FN_LG2] = "lg2.approx.ftz",   [SASS_FN_RCP] = "rcp.approx.ftz", [SASS_FN_RSQ] = "rsqrt.approx.ftz",
        [SASS_FN_SQRT] = "sqrt.approx.ftz", [SASS_FN_TANH] = "tanh.approx",
    };
    unsigned fn = sass_mod(l, SASS_F_FN);
    if (fn == SASS_FN_RCP64H || fn == SASS_FN_RSQ64H) {
        mufu_f64(l, i, fn == SASS_FN_RCP64H ? "rcp" : "rsqrt");
        return;
    }
    if (fn >= sizeof names / sizeof *names || !names[fn]) {
        sass_fail(l, "function %u", fn);
        return;
    }
    if (sass_mod(l, SASS_F_F16) || sass_mod(l, SASS_F_BF16)) {
        mufu_f16(l, i, fn);
        return;
    }
    struct sass_text x = sass_f32(l, &i->opnd[SASS_B]);
    if (fn == SASS_FN_COS || fn == SASS_FN_SIN) {
        const struct sass_turns *turns = angle_of(l, &i->opnd[SASS_B]);
        if (turns) {
            sass_do(l, "%s.approx%s.f32 %s, %s", fn == SASS_FN_COS ? "cos" : "sin", turns->ftz ? ".ftz" : "",
                    sass_dest(l, &i->opnd[SASS_D], 0).s, turns->angle.s);
            return;
        }
        x = radians(l, x);
    }
    sass_do(l, "%s.f32 %s, %s", names[fn], sass_dest(l, &i->opnd[SASS_D], 0).s, x.s);
}

/* The slow way is right for all operands; the quick one for those whose exponents are far from both ends, which is all that is
 * asked here. */
void sass_emit_fchk(struct sass_lift *l, const struct sass_insn *i)
{
    struct sass_text in[2] = { f32_bits(l, &i->opnd[SASS_A]), f32_bits(l, &i->opnd[SASS_B]) }, far[2], q = sass_temp(l, 'q');
    for (int k = 0; k < 2; k++) {
        struct sass_text e = sass_temp(l, 't'), off = sass_temp(l, 't');
        far[k] = sass_temp(l, 'q');
        sass_step(l, "bfe.u32 %s, %s, 23, 8", e.s, in[k].s);
        sass_step(l, "sub.s32 %s, %s, 77", off.s, e.s);
        sass_step(l, "setp.gt.u32 %s, %s, 100", far[k].s, off.s);
    }
    sass_step(l, "or.pred %s, %s, %s", q.s, far[0].s, far[1].s);
    sass_put_pred(l, SASS_P, q.s);
}

/* ---- Conversions */

struct type {
    const char *name;
    unsigned bits;
};

static struct type type_of(unsigned field)
{
    switch (field) {
    case SASS_TYPE_U8: return (struct type){ "u8", 8 };
    case SASS_TYPE_S8: return (struct type){ "s8", 8 };
    case SASS_TYPE_U16: return (struct type){ "u16", 16 };
    case SASS_TYPE_S16: return (struct type){ "s16", 16 };
    case SASS_TYPE_U32: return (struct type){ "u32", 32 };
    case SASS_TYPE_S32: return (struct type){ "s32", 32 };
    case SASS_TYPE_U64: return (struct type){ "u64", 64 };
    case SASS_TYPE_S64: return (struct type){ "s64", 64 };
    case SASS_TYPE_F16: return (struct type){ "f16", 16 };
    case SASS_TYPE_BF16: return (struct type){ "bf16", 16 };
    case SASS_TYPE_F64: return (struct type){ "f64", 64 };
    default: return (struct type){ "f32", 32 };
    }
}

/* enum sass_from has the same types in an order of its own. */
static struct type from_of(unsigned field)
{
    static const uint8_t types[] = {
        [SASS_FROM_F16] = SASS_TYPE_F16,   [SASS_FROM_F32] = SASS_TYPE_F32, [SASS_FROM_F64] = SASS_TYPE_F64,
        [SASS_FROM_BF16] = SASS_TYPE_BF16, [SASS_FROM_U8] = SASS_TYPE_U8,   [SASS_FROM_S8] = SASS_TYPE_S8,
        [SASS_FROM_U16] = SASS_TYPE_U16,   [SASS_FROM_S16] = SASS_TYPE_S16, [SASS_FROM_U32] = SASS_TYPE_U32,
        [SASS_FROM_S32] = SASS_TYPE_S32,   [SASS_FROM_U64] = SASS_TYPE_U64, [SASS_FROM_S64] = SASS_TYPE_S64,
    };
    return type_of(field < sizeof types ? types[field] : 0);
}

static struct sass_text float_in(struct sass_lift *l, const struct sass_operand *o, struct type t)
{
    if (t.bits == 64)
        return sass_f64(l, o);
    return t.bits == 16 ? half_of(l, o) : sass_f32(l, o);
}

/* A float of a type to its register: a half fills its word with zeros. */
static void put_float(struct sass_lift *l, const struct sass_insn *i, struct type t, const char *op, const char *in)
{
    struct sass_text d;
    if (t.bits == 32) {
        sass_do(l, "%s %s, %s", op, sass_dest(l, &i->opnd[SASS_D], 0).s, in);
        return;
    }
    d = sass_temp(l, t.bits == 64 ? 'w' : 'h');
    sass_step(l, "%s %s, %s", op, d.s, in);
    if (t.bits == 64)
        sass_put64(l, SASS_D, d.s);
    else
        sass_do(l, "cvt.u32.u16 %s, %s", sass_dest(l, &i->opnd[SASS_D], 0).s, d.s);
}

void sass_emit_f2f(struct sass_lift *l, const struct sass_insn *i)
{
    struct type to = type_of(sass_mod(l, SASS_F_TYPE)), from = from_of(sass_mod(l, SASS_F_FROM));
    struct sass_text x = float_in(l, &i->opnd[SASS_B], from);
    bool f32 = to.bits == 32 || from.bits == 32;
    const char *round = to.bits <= from.bits ? rounding(l) : "";
    if (to.bits > from.bits && !strcmp(from.name, "bf16")) /* the assembler leaves it there; it is exact whatever way */
        (void)sass_mod(l, SASS_F_RND);
    if (!strcmp(to.name, from.name)) {
        sass_fail(l, "conversion of a type to itself");
        return;
    }
    struct sass_text op = sass_format("cvt%s%s.%s.%s", round, f32 ? ftz(l) : "", to.name, from.name);
    put_float(l, i, to, op.s, x.s);
}

void sass_emit_frnd(struct sass_lift *l, const struct sass_insn *i)
{
    struct type t = type_of(sass_mod(l, SASS_F_TYPE));
    struct sass_text x = float_in(l, &i->opnd[SASS_B], t);
    put_float(l, i, t, sass_format("cvt%s%s.%s.%s", rounding_to_int(l), t.bits == 32 ? ftz(l) : "", t.name, t.name).s, x.s);
}

void sass_emit_f2i(struct sass_lift *l, const struct sass_insn *i)
{
    struct type to = type_of(sass_mod(l, SASS_F_TYPE) ? sass_mod(l, SASS_F_TYPE) : SASS_TYPE_S32),
                from = from_of(sass_mod(l, SASS_F_FROM));
    struct sass_text x = float_in(l, &i->opnd[SASS_B], from), v = sass_temp(l, to.bits == 64 ? 'w' : 't');
    if (to.bits < 32 && !strcmp(from.name, "bf16")) { /* PTX wants a register as narrow; every bf16 is an f32 */
        struct sass_text wide = sass_temp(l, 't');
        sass_step(l, "cvt.f32.bf16 %s, %s", wide.s, x.s);
        x = wide;
        from = type_of(SASS_TYPE_F32);
    }
    sass_step(l, "cvt%s%s.%s.%s %s, %s", rounding_to_int(l), from.bits == 32 ? ftz(l) : "", to.name, from.name, v.s, x.s);
    /* Of NaN PTX makes 0 where neither type has 64 bits, else the type's highest bit; .NTZ says that it is 0. */
    bool zero = to.bits < 64 && from.bits < 64, wanted = sass_mod(l, SASS_F_NTZ);
    if (zero != wanted) {
        struct sass_text q = sass_temp(l, 'q'), fixed = sass_temp(l, to.bits == 64 ? 'w' : 't');
        if (to.bits < 32) {
            sass_fail(l, "NaN to an integer of %u bits", to.bits);
            return;
        }
        const char *other = wanted ? "0" : to.bits == 64 ? "-9223372036854775808" : "-2147483648";
        sass_step(l, "setp.nan.%s %s, %s, %s", from.name, q.s, x.s, x.s);
        sass_step(l, "selp.b%u %s, %s, %s, %s", to.bits, fixed.s, other, v.s, q.s);
        v = fixed;
    }
    if (to.bits == 64)
        sass_put64(l, SASS_D, v.s);
    else
        sass_put(l, SASS_D, v.s);
}

/* Of one number: what it makes of two is not known. */
void sass_emit_f2ip(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    if (!sass_is_zero(sass_look(l, SASS_A)) || !sass_is_zero(sass_look(l, SASS_C)) || !sass_mod(l, SASS_F_NTZ) ||
        sass_mod(l, SASS_F_TYPE) != SASS_TYPE_U8) {
        sass_fail(l, "other than one number without a sign");
        return;
    }
    struct sass_text v = sass_temp(l, 't');
    sass_step(l, "cvt%s.u8.f32 %s, %s", rounding_to_int(l), v.s, sass_f32(l, &o[SASS_B]).s);
    sass_put(l, SASS_D, v.s);
}

void sass_emit_i2f(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *b = &i->opnd[SASS_B];
    struct type to = type_of(sass_mod(l, SASS_F_TYPE)),
                from = from_of(sass_mod(l, SASS_F_FROM) ? sass_mod(l, SASS_F_FROM) : SASS_FROM_S32);
    struct sass_operand high = *b; /* an immediate of 64 bits is the high half */
    high.value = (int64_t)((uint64_t)b->value << 32);
    struct sass_text x = from.bits == 64 ? sass_int64(l, b->kind == SASS_IMM ? &high : b) : sass_int(l, b);
    unsigned which = sass_mod(l, SASS_F_BYTE) ? sass_mod(l, SASS_F_BYTE) - SASS_BYTE_B0 : 0; /* of 16 bits a half */
    unsigned shift = from.bits * which;
    if (from.bits < 32 ? shift + from.bits > 32 : which) {
        sass_fail(l, "a part of a number that is none");
        return;
    }
    if (from.bits < 32) {
        struct sass_text part = sass_temp(l, 't');
        sass_step(l, "bfe.%s %s, %s, %u, %u", from.name[0] == 's' ? "s32" : "u32", part.s, x.s, shift, from.bits);
        x = part;
        from.name = from.name[0] == 's' ? "s32" : "u32";
    }
    put_float(l, i, to, sass_format("cvt%s.%s.%s", rounding(l), to.name, from.name).s, x.s);
}

/* .MERGE_C: one half in the low half, and one of c in the high one. */
static void put_merged(struct sass_lift *l, const struct sass_insn *i, struct sass_text half)
{
    struct sass_text wide = sass_temp(l, 't');
    const struct sass_operand *o = i->opnd;
    sass_step(l, "cvt.u32.u16 %s, %s", wide.s, half.s);
    sass_do(l, "prmt.b32 %s, %s, %s, %u", sass_dest(l, &o[SASS_D], 0).s, wide.s, sass_raw(l, &o[SASS_C]).s,
            sass_mod(l, SASS_F_H1) ? 0x7610u : 0x5410u);
}

/* To and from floats of eight bits, two together, and tf32; false: it is neither. */
static bool f2fp_narrow(struct sass_lift *l, const struct sass_insn *i)
{
    unsigned type = sass_mod(l, SASS_F_TYPE);
    const struct sass_operand *o = i->opnd;
    const char *name = type == SASS_TYPE_E4M3 ? "e4m3x2" : "e5m2x2", *relu = sass_mod(l, SASS_F_RELU) ? ".relu" : "";
    struct sass_text two = sass_temp(l, 'h');
    if (type == SASS_TYPE_TF32) {
        sass_do(l, "cvt%s%s.tf32.f32 %s, %s", rounding(l), relu, sass_dest(l, &o[SASS_D], 0).s, f32_bits(l, &o[SASS_B]).s);
        return true;
    }
    if (type != SASS_TYPE_E4M3 && type != SASS_TYPE_E5M2)
        return false;
    bool unpacks = o[SASS_C].kind == SASS_NONE, halves = o[SASS_A].kind == SASS_NONE;
    struct sass_text b = halves ? f32_bits(l, &o[SASS_B]) : sass_f32(l, &o[SASS_B]);
    if (unpacks) {
        if (sass_mod(l, SASS_F_H1)) {
            struct sass_text down = sass_temp(l, 't');
            sass_step(l, "shr.u32 %s, %s, 16", down.s, b.s);
            b = down;
        }
        sass_step(l, "cvt.u16.u32 %s, %s", two.s, b.s);
        sass_do(l, "cvt.rn%s.f16x2.%s %s, %s", relu, name, sass_dest(l, &o[SASS_D], 0).s, two.s);
        return true;
    }
    if (!sass_mod(l, SASS_F_SATFINITE))
        sass_fail(l, "floats of eight bits that become infinite");
    if (halves)
        sass_step(l, "cvt.rn.satfinite%s.%s.f16x2 %s, %s", relu, name, two.s, b.s);
    else
        sass_step(l, "cvt.rn.satfinite%s.%s.f32 %s, %s, %s", relu, name, two.s, sass_f32(l, &o[SASS_A]).s, b.s);
    put_merged(l, i, two);
    return true;
}

void sass_emit_f2fp(struct sass_lift *l, const struct sass_insn *i)
{
    if (f2fp_narrow(l, i))
        return;
    const struct sass_operand *o = i->opnd;
    bool clamped = sass_mod(l, SASS_F_RELU), finite = sass_mod(l, SASS_F_SATFINITE);
    const char *relu = clamped ? finite ? ".relu.satfinite" : ".relu" : finite ? ".satfinite" : "",
        *type = sass_mod(l, SASS_F_TYPE) == SASS_TYPE_BF16 ? "bf16" : "f16";
    struct sass_text b = sass_f32(l, &o[SASS_B]);
    if (o[SASS_A].kind != SASS_NONE) {
        sass_do(l, "cvt%s%s.%sx2.f32 %s, %s, %s", rounding(l), relu, type, sass_dest(l, &o[SASS_D], 0).s,
                sass_f32(l, &o[SASS_A]).s, b.s);
        return;
    }
    struct sass_text low = sass_temp(l, 'h');
    sass_step(l, "cvt%s%s.%s.f32 %s, %s", rounding(l), relu, type, low.s, b.s);
    put_merged(l, i, low);
}

/* ---- Doubles */

static void put_f64(struct sass_lift *l, const struct sass_insn *i, const char *op, const struct sass_operand *const in[],
                    unsigned n)
{
    struct sass_text x[3] = { 0 }, w = sass_temp(l, 'w');
    for (unsigned k = 0; k < n; k++)
        x[k] = sass_f64(l, in[k]);
    sass_step(l, "%s%s.f64 %s, %s, %s%s%s", op, rounding(l), w.s, x[0].s, x[1].s, n > 2 ? ", " : "", x[2].s);
    sass_put64(l, SASS_D, w.s);
}

void sass_emit_dadd(struct sass_lift *l, const struct sass_insn *i)
{
    put_f64(l, i, "add", (const struct sass_operand *const[]){ &i->opnd[SASS_A], &i->opnd[SASS_C] }, 2);
}

void sass_emit_dmul(struct sass_lift *l, const struct sass_insn *i)
{
    put_f64(l, i, "mul", (const struct sass_operand *const[]){ &i->opnd[SASS_A], &i->opnd[SASS_B] }, 2);
}

void sass_emit_dfma(struct sass_lift *l, const struct sass_insn *i)
{
    put_f64(l, i, "fma", (const struct sass_operand *const[]){ &i->opnd[SASS_A], &i->opnd[SASS_B], &i->opnd[SASS_C] }, 3);
}

/* .MIN and .MAX say which operand it is (a zero's sign counts, a NaN loses) and whether both are NaN. */
static void dsetp_minmax(struct sass_lift *l, const struct sass_insn *i, bool min)
{
    struct sass_text a = sass_f64(l, &i->opnd[SASS_A]), b = sass_f64(l, &i->opnd[SASS_B]), q[6];
    struct sass_text sign = sass_temp(l, 'w'), other = sass_temp(l, 'w');
    if (!sass_is_true(sass_look(l, SASS_S)) || (sass_mod(l, SASS_F_BOOL) && sass_mod(l, SASS_F_BOOL) != SASS_BOOL_AND))
        sass_fail(l, "least or greatest with a predicate");
    for (int k = 0; k < 6; k++)
        q[k] = sass_temp(l, 'q');
    sass_step(l, "setp.%s.f64 %s, %s, %s", min ? "lt" : "gt", q[0].s, a.s, b.s);
    sass_step(l, "setp.eq.f64 %s, %s, %s", q[1].s, a.s, b.s);
    sass_step(l, "mov.b64 %s, %s", sign.s, min ? a.s : b.s);
    sass_step(l, "mov.b64 %s, %s", other.s, min ? b.s : a.s);
    struct sass_text below = sass_temp(l, 'q'), tie = sass_temp(l, 'q'), picked = sass_temp(l, 'q'), both = sass_temp(l, 'q');
    sass_step(l, "setp.lt.s64 %s, %s, %s", below.s, sign.s, other.s);
    sass_step(l, "and.pred %s, %s, %s", tie.s, q[1].s, below.s);
    sass_step(l, "or.pred %s, %s, %s", picked.s, q[0].s, tie.s);
    sass_step(l, "setp.nan.f64 %s, %s, %s", q[2].s, a.s, a.s);
    sass_step(l, "setp.nan.f64 %s, %s, %s", q[3].s, b.s, b.s);
    sass_step(l, "or.pred %s, %s, %s", q[4].s, picked.s, q[3].s);
    sass_step(l, "and.pred %s, %s, %s", both.s, q[2].s, q[3].s);
    sass_put_pred(l, SASS_P, q[4].s);
    sass_put_pred(l, SASS_Q, both.s);
}

void sass_emit_dsetp(struct sass_lift *l, const struct sass_insn *i)
{
    unsigned cmp = sass_mod(l, SASS_F_CMP);
    if (cmp == SASS_CMP_MIN || cmp == SASS_CMP_MAX) {
        dsetp_minmax(l, i, cmp == SASS_CMP_MIN);
        return;
    }
    struct sass_text a = sass_f64(l, &i->opnd[SASS_A]), b = sass_f64(l, &i->opnd[SASS_B]), q = sass_temp(l, 'q');
    sass_step(l, "setp.%s.f64 %s, %s, %s", sass_cmp_name(cmp), q.s, a.s, b.s);
    sass_put_compared(l, i, q.s);
}
