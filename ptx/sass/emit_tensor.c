/* Products of small matrices, held in fragments as PTX's mma has them, and the loads of such. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "sass/lift.h"

struct list {
    char s[160];
};

/* Registers of an operand as "{%r4, %r5}"; RZ is zeros. */
static struct list registers(struct sass_lift *l, const struct sass_operand *o, unsigned n, bool written)
{
    struct list t = { "{" };
    size_t at = 1;
    for (unsigned k = 0; k < n; k++) {
        struct sass_operand word = sass_words_of(o, k, 1);
        struct sass_text v = written ? sass_dest(l, o, k) : sass_in_register(l, sass_raw(l, &word), 't');
        at += (size_t)aw_snprintf(t.s + at, sizeof t.s - at, "%s%s", k ? ", " : "", v.s);
    }
    aw_snprintf(t.s + at, sizeof t.s - at, "}");
    return t;
}

/* With `places`, A is sparse, and that, which begins with a comma, says where its elements are. */
static void product_of(struct sass_lift *l, const struct sass_insn *i, const char *what, unsigned a, unsigned b, unsigned c,
                       const char *places)
{
    const struct sass_operand *o = i->opnd;
    for (int k = SASS_A; k <= SASS_C; k++)
        if (o[k].neg || o[k].abs || o[k].inv)
            sass_fail(l, "a changed operand");
    struct list x = registers(l, &o[SASS_A], a, false), y = registers(l, &o[SASS_B], b, false),
                z = registers(l, &o[SASS_C], c, false);
    struct list d = registers(l, &o[SASS_D], c, true);
    sass_do(l, "mma%s.sync.aligned.%s %s, %s, %s, %s%s", *places ? ".sp" : "", what, d.s, x.s, y.s, z.s, places);
}

static void product(struct sass_lift *l, const struct sass_insn *i, const char *what, unsigned a, unsigned b, unsigned c)
{
    product_of(l, i, what, a, b, c, "");
}

static void sparse(struct sass_lift *l, const struct sass_insn *i, const char *what, unsigned ab, unsigned c)
{
    struct sass_text places = sass_in_register(l, sass_raw(l, sass_look(l, SASS_UN)), 't');
    product_of(l, i, what, ab, ab, c, sass_format(", %s, %u", places.s, (unsigned)sass_look(l, SASS_L)->value).s);
}

void sass_emit_hmma(struct sass_lift *l, const struct sass_insn *i)
{
    unsigned shape = sass_mod(l, SASS_F_SHAPE), type = sass_mod(l, SASS_F_TYPE);
    bool f32 = sass_mod(l, SASS_F_ACC) == SASS_ACC_F32;
    unsigned acc = f32 ? 4 : 2;
    if (type == SASS_TYPE_TF32 && f32 && shape != SASS_SHAPE_16816) {
        bool deep = shape == SASS_SHAPE_1688;
        product(l, i, deep ? "m16n8k8.row.col.f32.tf32.tf32.f32" : "m16n8k4.row.col.f32.tf32.tf32.f32", deep ? 4 : 2,
                deep ? 2 : 1, 4);
    } else if ((shape == SASS_SHAPE_1688 || shape == SASS_SHAPE_16816) && (f32 || type != SASS_TYPE_BF16) &&
               type != SASS_TYPE_TF32) {
        bool deep = shape == SASS_SHAPE_16816;
        const char *in = type == SASS_TYPE_BF16 ? "bf16.bf16" : "f16.f16", *out = f32 ? "f32" : "f16";
        char what[64];
        aw_snprintf(what, sizeof what, "m16n8k%u.row.col.%s.%s.%s", deep ? 16u : 8u, out, in, out);
        product(l, i, what, deep ? 4 : 2, deep ? 2 : 1, acc);
    } else {
        sass_fail(l, "shape %u of type %u", shape, type);
    }
}

/* A step makes two of a fragment's registers, of the same two of C: the product is made with zeros for the others. */
void sass_emit_hmma_884(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    bool f32 = sass_mod(l, SASS_F_ACC) == SASS_ACC_F32;
    unsigned n = f32 ? 8 : 4, first = 2 * (sass_mod(l, SASS_F_STEP) - SASS_STEP_STEP0);
    struct sass_text zero = sass_temp(l, 't'), d[8], c[2];
    struct list from = { "{" }, to = { "{" };
    size_t at[2] = { 1, 1 };
    if (f32 != (sass_mod(l, SASS_F_FROM) == SASS_FROM_F32) || first + 2 > n || o[SASS_A].neg || o[SASS_B].neg || o[SASS_C].neg)
        sass_fail(l, "a product of other types");
    sass_step(l, "mov.b32 %s, 0", zero.s);
    for (unsigned k = 0; k < 2; k++) {
        struct sass_operand word = sass_words_of(sass_look(l, SASS_C), k, 1);
        c[k] = word.reg == SASS_RZ ? zero : sass_raw(l, &word);
    }
    for (unsigned k = 0; k < n; k++) {
        d[k] = sass_temp(l, 't');
        at[0] += (size_t)aw_snprintf(from.s + at[0], sizeof from.s - at[0], "%s%s", k ? ", " : "",
                                  k >= first && k < first + 2 ? c[k - first].s : zero.s);
        at[1] += (size_t)aw_snprintf(to.s + at[1], sizeof to.s - at[1], "%s%s", k ? ", " : "", d[k].s);
    }
    struct list a = registers(l, &o[SASS_A], 2, false), b = registers(l, &o[SASS_B], 2, false);
    const char *type = f32 ? "f32" : "f16";
    sass_do(l, "mma.sync.aligned.m8n8k4.%s.%s.%s.f16.f16.%s %s}, %s, %s, %s}", sass_mod(l, SASS_F_A_COL) ? "col" : "row",
            sass_mod(l, SASS_F_B_COL) ? "col" : "row", type, type, to.s, a.s, b.s, from.s);
    for (unsigned k = 0; k < 2 && sass_writes(&o[SASS_D]); k++)
        sass_do(l, "mov.b32 %s, %s", sass_dest(l, &o[SASS_D], k).s, d[first + k].s);
}

/* "s8" and so on, of enum sass_typea; enum sass_typeb has the same order. */
static const char *integer_type(unsigned type, unsigned *ret_bits)
{
    static const char *const names[] = {
        [SASS_TYPEA_U8] = "u8", [SASS_TYPEA_S8] = "s8", [SASS_TYPEA_U4] = "u4", [SASS_TYPEA_S4] = "s4"
    };
    const char *name = type < sizeof names / sizeof *names ? names[type] : NULL;
    *ret_bits = name && name[1] == '4' ? 4 : 8;
    return name;
}

void sass_emit_imma(struct sass_lift *l, const struct sass_insn *i)
{
    static const struct { const char *name; unsigned bits, a, b, c; } shapes[] = {
        [SASS_SHAPE_8816] = { "m8n8k16", 8, 1, 1, 2 },   [SASS_SHAPE_8832] = { "m8n8k32", 4, 1, 1, 2 },
        [SASS_SHAPE_16816] = { "m16n8k16", 8, 2, 1, 4 }, [SASS_SHAPE_16832] = { "m16n8k32", 0, 0, 0, 4 },
        [SASS_SHAPE_16864] = { "m16n8k64", 4, 4, 2, 4 },
    };
    unsigned shape = sass_mod(l, SASS_F_SHAPE), bits_a, bits_b;
    const char *a = integer_type(sass_mod(l, SASS_F_TYPEA), &bits_a), *b = integer_type(sass_mod(l, SASS_F_TYPEB), &bits_b);
    if (shape >= sizeof shapes / sizeof *shapes || !shapes[shape].name || !a || !b || bits_a != bits_b ||
        (shapes[shape].bits && shapes[shape].bits != bits_a)) {
        sass_fail(l, "shape %u of these types", shape);
        return;
    }
    char what[64];
    bool deep = shape == SASS_SHAPE_16832; /* of 8 bits 4 and 2 registers, of 4 bits half as many */
    aw_snprintf(what, sizeof what, "%s.row.col%s.s32.%s.%s.s32", shapes[shape].name, sass_mod(l, SASS_F_SAT) ? ".satfinite" : "",
                a, b);
    product(l, i, what, deep ? bits_a / 2 : shapes[shape].a, deep ? bits_a / 4 : shapes[shape].b, shapes[shape].c);
}

void sass_emit_hmma_sp(struct sass_lift *l, const struct sass_insn *i)
{
    unsigned shape = sass_mod(l, SASS_F_SHAPE), type = sass_mod(l, SASS_F_TYPE);
    bool f32 = sass_mod(l, SASS_F_ACC) == SASS_ACC_F32, tf32 = type == SASS_TYPE_TF32;
    const char *in = type == SASS_TYPE_BF16 ? "bf16.bf16" : tf32 ? "tf32.tf32" : "f16.f16", *out = f32 ? "f32" : "f16";
    unsigned k = shape == SASS_SHAPE_1688 ? 8 : shape == SASS_SHAPE_16816 ? 16 : 32, least = tf32 ? 8 : 16;
    char what[64];
    if ((k != least && k != 2 * least) || (!f32 && type && type != SASS_TYPE_F16)) {
        sass_fail(l, "shape %u of type %u", shape, type);
        return;
    }
    aw_snprintf(what, sizeof what, "m16n8k%u.row.col.%s.%s.%s", k, out, in, out);
    sparse(l, i, what, k == least ? 2 : 4, f32 ? 4 : 2);
}

void sass_emit_imma_sp(struct sass_lift *l, const struct sass_insn *i)
{
    unsigned shape = sass_mod(l, SASS_F_SHAPE), bits_a, bits_b;
    const char *a = integer_type(sass_mod(l, SASS_F_TYPEA), &bits_a), *b = integer_type(sass_mod(l, SASS_F_TYPEB), &bits_b);
    unsigned k = shape == SASS_SHAPE_16832 ? 32 : shape == SASS_SHAPE_16864 ? 64 : 128, least = bits_a == 8 ? 32 : 64;
    char what[64];
    if (!a || !b || bits_a != bits_b || (k != least && k != 2 * least)) {
        sass_fail(l, "shape %u of these types", shape);
        return;
    }
    aw_snprintf(what, sizeof what, "m16n8k%u.row.col%s.s32.%s.%s.s32", k, sass_mod(l, SASS_F_SAT) ? ".satfinite" : "", a, b);
    sparse(l, i, what, k == least ? 2 : 4, 4);
}

/* What is said behind the shape of a product of floats of eight bits. */
static struct sass_text narrow_types(struct sass_lift *l)
{
    const char *out = sass_mod(l, SASS_F_ACC) == SASS_ACC_F32 ? "f32" : "f16";
    return sass_format("row.col.%s.%s.%s.%s", out, sass_mod(l, SASS_F_TYPEA) == SASS_TYPEA_E5M2 ? "e5m2" : "e4m3",
                       sass_mod(l, SASS_F_TYPEB) == SASS_TYPEB_E5M2 ? "e5m2" : "e4m3", out);
}

void sass_emit_qmma(struct sass_lift *l, const struct sass_insn *i)
{
    bool deep = sass_mod(l, SASS_F_SHAPE) == SASS_SHAPE_16832;
    struct sass_text what = sass_format("m16n8k%u.%s", deep ? 32u : 16u, narrow_types(l).s);
    product(l, i, what.s, deep ? 4 : 2, deep ? 2 : 1, sass_mod(l, SASS_F_ACC) == SASS_ACC_F32 ? 4 : 2);
}

void sass_emit_qmma_sp(struct sass_lift *l, const struct sass_insn *i)
{
    if (sass_mod(l, SASS_F_SHAPE) != SASS_SHAPE_16864)
        sass_fail(l, "shape %u", sass_mod(l, SASS_F_SHAPE));
    sparse(l, i, sass_format("m16n8k64.%s", narrow_types(l).s).s, 4, 4);
}

void sass_emit_bmma(struct sass_lift *l, const struct sass_insn *i)
{
    static const struct { const char *name; unsigned a, b, c; } shapes[] = {
        [SASS_SHAPE_88128] = { "m8n8k128", 1, 1, 2 },
        [SASS_SHAPE_168128] = { "m16n8k128", 2, 1, 4 },
        [SASS_SHAPE_168256] = { "m16n8k256", 4, 2, 4 },
    };
    unsigned shape = sass_mod(l, SASS_F_SHAPE);
    if (shape >= sizeof shapes / sizeof *shapes || !shapes[shape].name) {
        sass_fail(l, "shape %u", shape);
        return;
    }
    char what[64];
    aw_snprintf(what, sizeof what, "%s.row.col.s32.b1.b1.s32.%s.popc", shapes[shape].name,
             sass_mod(l, SASS_F_FN) == SASS_FN_AND ? "and" : "xor");
    product(l, i, what, shapes[shape].a, shapes[shape].b, shapes[shape].c);
}

/* Doubles of an operand as "{%w4, %w5}"; RZ is zeros. */
static struct list doubles(struct sass_lift *l, enum sass_slot slot, unsigned n)
{
    struct list t = { "{" };
    size_t at = 1;
    for (unsigned k = 0; k < n; k++) {
        struct sass_operand pair = sass_words_of(sass_look(l, slot), 2 * k, 2);
        struct sass_text v = sass_in_register(l, sass_f64(l, &pair), 'w');
        at += (size_t)aw_snprintf(t.s + at, sizeof t.s - at, "%s%s", k ? ", " : "", v.s);
    }
    aw_snprintf(t.s + at, sizeof t.s - at, "}");
    return t;
}

void sass_emit_dmma(struct sass_lift *l, const struct sass_insn *i)
{
    static const struct { const char *name; unsigned a, b, c; } shapes[] = {
        [0] = { "m8n8k4", 1, 1, 2 },                   [SASS_SHAPE_8X8X4] = { "m8n8k4", 1, 1, 2 },
        [SASS_SHAPE_16X8X4] = { "m16n8k4", 2, 1, 4 },  [SASS_SHAPE_16X8X8] = { "m16n8k8", 4, 2, 4 },
        [SASS_SHAPE_16X8X16] = { "m16n8k16", 8, 4, 4 },
    };
    static const char *const roundings[] = { [SASS_RND_RM] = ".rm", [SASS_RND_RP] = ".rp", [SASS_RND_RZ] = ".rz" };
    unsigned shape = sass_mod(l, SASS_F_SHAPE), rnd = sass_mod(l, SASS_F_RND);
    const char *round = rnd < sizeof roundings / sizeof *roundings && roundings[rnd] ? roundings[rnd] : "";
    struct list a = doubles(l, SASS_A, shapes[shape].a), b = doubles(l, SASS_B, shapes[shape].b);
    struct list c = doubles(l, SASS_C, shapes[shape].c), to = { "{" };
    struct sass_text d[4];
    size_t at = 1;
    for (unsigned k = 0; k < shapes[shape].c; k++) {
        d[k] = sass_temp(l, 'w');
        at += (size_t)aw_snprintf(to.s + at, sizeof to.s - at, "%s%s", k ? ", " : "", d[k].s);
    }
    sass_do(l, "mma.sync.aligned.%s.row.col%s.f64.f64.f64.f64 %s}, %s, %s, %s", shapes[shape].name, round, to.s, a.s, b.s, c.s);
    for (unsigned k = 0; k < shapes[shape].c && sass_writes(&i->opnd[SASS_D]); k++)
        sass_do(l, "mov.b64 {%s, %s}, %s", sass_dest(l, &i->opnd[SASS_D], 2 * k).s, sass_dest(l, &i->opnd[SASS_D], 2 * k + 1).s,
                d[k].s);
}

void sass_emit_ldsm(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *m = &i->opnd[SASS_M];
    unsigned n = sass_mod(l, SASS_F_NUM) == SASS_NUM_4 ? 4 : sass_mod(l, SASS_F_NUM) == SASS_NUM_2 ? 2 : 1;
    struct sass_text a = sass_shared_address(l, m);
    struct list d = registers(l, &i->opnd[SASS_D], n, true);
    sass_do(l, "ldmatrix.sync.aligned.m8n8.x%u%s.shared.b16 %s, [%s+%" PRId64 "]", n,
            sass_mod(l, SASS_F_LAYOUT) == SASS_LAYOUT_MT88 ? ".trans" : "", d.s, a.s, m->value);
}

void sass_emit_stsm(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *m = &i->opnd[SASS_M];
    unsigned n = sass_mod(l, SASS_F_NUM) == SASS_NUM_4 ? 4 : sass_mod(l, SASS_F_NUM) == SASS_NUM_2 ? 2 : 1;
    struct sass_text a = sass_shared_address(l, m);
    struct list b = registers(l, sass_look(l, SASS_B), n, false);
    sass_do(l, "stmatrix.sync.aligned.m8n8.x%u%s.shared.b16 [%s+%" PRId64 "], %s", n,
            sass_mod(l, SASS_F_LAYOUT) == SASS_LAYOUT_MT88 ? ".trans" : "", a.s, m->value, b.s);
}

void sass_emit_movm(struct sass_lift *l, const struct sass_insn *i)
{
    sass_do(l, "movmatrix.sync.aligned.m8n8.trans.b16 %s, %s", sass_dest(l, &i->opnd[SASS_D], 0).s,
            sass_raw(l, &i->opnd[SASS_A]).s);
}
