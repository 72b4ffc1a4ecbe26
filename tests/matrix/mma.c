/* mma and mma.sp: all lanes' fragments at random, D against the reference.  Shapes and register counts are written out as ptxas
 * takes them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct form {
    char name[120];
    enum ptx_type a, b, d, c;
    unsigned regs_d, regs_a, regs_b, regs_c;
    unsigned sm;
    int selector; /* -1: not sparse */
};

static const char *class_of(enum ptx_type type)
{
    return type == PTX_F64 ? "f64" : type == PTX_F32 ? "f32" : "b32";
}

static void list_put(struct aw_buf *out, const char *name, unsigned n)
{
    aw_buf_printf(out, "{");
    for (unsigned i = 0; i < n; i++)
        aw_buf_printf(out, "%s%%%s%u", i ? ", " : "", name, i);
    aw_buf_printf(out, "}");
}

static void moves_put(struct aw_buf *out, const char *name, enum ptx_type type, unsigned n, unsigned offset, bool load)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned at = offset + i * (type == PTX_F64 ? 8 : 4);
        if (load)
            aw_buf_printf(out, "ld.global.%s %%%s%u, [%%in+%u];\n", class_of(type), name, i, at);
        else
            aw_buf_printf(out, "st.global.%s [%%out+%u], %%%s%u;\n", class_of(type), at, name, i);
    }
}

/* A thread's 4 slots of 64 bytes are a, b, c and metadata; d is one. */
static void text_make(const struct form *f, struct aw_buf *out)
{
    aw_buf_printf(out, ".version 8.5\n.target sm_%u\n.address_size 64\n.visible .entry k(.param .u64 pi, .param .u64 po)\n{\n",
                  f->sm);
    aw_buf_printf(out, ".reg .b64 %%in, %%out, %%u;\n.reg .b32 %%t, %%n, %%w, %%e0;\n.reg .%s %%a<8>, %%b<8>;\n.reg .%s %%c<8>;\n"
                       ".reg .%s %%d<8>;\n", class_of(f->a), class_of(f->c), class_of(f->d));
    aw_buf_printf(out, "ld.param.u64 %%in, [pi];\nld.param.u64 %%out, [po];\n" MATRIX_INDICES
                       "mad.lo.u32 %%t, %%n, 32, %%t;\nmul.wide.u32 %%u, %%t, 256;\nadd.u64 %%in, %%in, %%u;\n"
                       "mul.wide.u32 %%u, %%t, 64;\nadd.u64 %%out, %%out, %%u;\n");
    moves_put(out, "a", f->a, f->regs_a, 0, true);
    moves_put(out, "b", f->a, f->regs_b, 64, true);
    moves_put(out, "c", f->c, f->regs_c, 128, true);
    aw_buf_printf(out, "ld.global.b32 %%e0, [%%in+192];\n%s ", f->name);
    list_put(out, "d", f->regs_d);
    aw_buf_printf(out, ", ");
    list_put(out, "a", f->regs_a);
    aw_buf_printf(out, ", ");
    list_put(out, "b", f->regs_b);
    aw_buf_printf(out, ", ");
    list_put(out, "c", f->regs_c);
    if (f->selector >= 0)
        aw_buf_printf(out, ", %%e0, %d", f->selector);
    aw_buf_printf(out, ";\n");
    moves_put(out, "d", f->d, f->regs_d, 0, false);
    aw_buf_printf(out, "ret;\n}\n");
}

static unsigned elements(enum ptx_type type, unsigned regs)
{
    return regs * (type == PTX_F64 ? 64 : 32) / ptx_type_bits(type);
}

static uint32_t metadata_word(enum ptx_type a)
{
    static const uint8_t two_of_four[] = { 0x4, 0x8, 0x9, 0xc, 0xd, 0xe }, one_of_two[] = { 0x4, 0xe };
    uint32_t word = 0;
    for (unsigned i = 0; i < 8; i++)
        word |= (uint32_t)(a == PTX_TF32 ? one_of_two[matrix_below(2)] : two_of_four[matrix_below(6)]) << 4 * i;
    return word;
}

static void lane_fill(const struct form *f, struct oracle_lane *lane, bool odd)
{
    const enum ptx_type types[3] = { f->a, f->b, f->c };
    const unsigned regs[3] = { f->regs_a, f->regs_b, f->regs_c };
    *lane = (struct oracle_lane){ 0 };
    for (unsigned o = 0; o < 3; o++)
        for (unsigned i = 0; i < elements(types[o], regs[o]); i++)
            matrix_bits_put(&lane->src[o], i, ptx_type_bits(types[o]), matrix_value(types[o], odd));
    if (f->selector >= 0)
        lane->src[3].u32[0] = metadata_word(f->a);
}

static bool lanes_compare(const struct form *f, const struct oracle_lane *lanes, const union oracle_value *out)
{
    unsigned bits = ptx_type_bits(f->d), n = elements(f->d, f->regs_d);
    for (unsigned lane = 0; lane < MATRIX_BLOCKS * ORACLE_LANES; lane++) {
        for (unsigned i = 0; i < n; i++) {
            uint64_t want = matrix_bits_get(&lanes[lane].dst[0], i, bits), got = matrix_bits_get(&out[lane], i, bits);
            if (f->d == PTX_S32 ? want != got : !matrix_close(f->d, matrix_float(f->d, want), got, lanes[lane].abs_error))
                return matrix_fail(f->name, "selector %d, block %u, lane %u, d[%u]: got %llx, want %llx, error %g", f->selector,
                                   lane / 32, lane % 32, i, (unsigned long long)got, (unsigned long long)want,
                                   lanes[lane].abs_error);
        }
        if (out[lane].u32[15] != 0x5a5a5a5a)
            return matrix_fail(f->name, "lane %u wrote beyond its result", lane % 32);
    }
    return true;
}

struct ptx_module *matrix_instr(const char *text, size_t len, const struct ptx_instr **ret_in)
{
    struct ptx_diags diags = { 0 };
    struct ptx_module *module = NULL;
    struct aw_text source = { text, len, "form" };
    *ret_in = NULL;
    if (ptx_open(&source, 1, &diags, &module) == AW_OK) {
        for (struct ptx_stmt *s = ptx_find_kernel(module, AW_STR("k"))->body; s; s = s->next)
            if (s->kind == PTX_STMT_INSTR && (aw_str_is(s->instr->mnemonic, "mma") || aw_str_is(s->instr->mnemonic, "movmatrix")))
                *ret_in = s->instr;
    } else {
        printf("%.*s\n", AW_STR_ARG(aw_buf_view(&diags.text)));
    }
    ptx_diags_fini(&diags);
    return module;
}

static bool form_run(const struct form *f)
{
    enum { LANES = MATRIX_BLOCKS * ORACLE_LANES };
    static struct oracle_lane lanes[LANES];
    static union oracle_value in[LANES][4], out[LANES];
    struct aw_buf text = { 0 };
    const struct ptx_instr *instr;
    text_make(f, &text);
    struct ptx_module *module = matrix_instr(text.ptr, text.len, &instr);
    for (unsigned i = 0; i < LANES; i++) {
        lane_fill(f, &lanes[i], i / 32 >= MATRIX_BLOCKS - 2);
        memcpy(in[i], lanes[i].src, sizeof in[i]);
        if (f->selector >= 0)
            lanes[i].src[4].u32[0] = (uint32_t)f->selector;
    }
    memset(out, 0x5a, sizeof out);
    bool ok = instr && instr->form ? true : matrix_fail(f->name, "is not in the table");
    for (unsigned i = 0; ok && i < LANES; i += 32)
        (f->selector >= 0 ? oracle_ref_mma_sp : oracle_ref_mma)(instr, UINT32_MAX, lanes + i);
    ok = ok && matrix_run(f->name, text.ptr, matrix_warps(), in, sizeof in, out, sizeof out) && lanes_compare(f, lanes, out);
    ptx_module_destroy(module);
    aw_buf_fini(&text);
    return ok;
}

/* ---- The forms */
enum { MAX_FORMS = 1000 /* rows of the table */ };

static unsigned wrong;
static bool seen[MAX_FORMS];

/* Which row of the table the form is of, whether it is wanted or not. */
static void note_row(const struct form *f)
{
    size_t n;
    const struct ptx_form *rows = ptx_forms(&n);
    struct aw_buf text = { 0 };
    const struct ptx_instr *instr;
    text_make(f, &text);
    struct ptx_module *module = matrix_instr(text.ptr, text.len, &instr);
    if (instr && instr->form && instr->form - rows < MAX_FORMS)
        seen[instr->form - rows] = true;
    ptx_module_destroy(module);
    aw_buf_fini(&text);
}

/* A row of mma without a form here would be tested by nothing. */
static void rows_check(void)
{
    size_t n;
    const struct ptx_form *rows = ptx_forms(&n);
    for (size_t i = 0; i < n; i++)
        if (!strncmp(rows[i].id, "mma_", 4) && (i >= MAX_FORMS || !seen[i])) {
            matrix_fail(rows[i].id, "no form of this row is in tests/matrix/mma.c");
            wrong++;
        }
}

static void try(struct form f, const char *op, const char *shape, const char *mods, const char *tail)
{
    char name[sizeof f.name + 16];
    if (ptx_type_bits(f.d) == 16)
        f.regs_d /= 2;
    if (ptx_type_bits(f.c) == 16)
        f.regs_c /= 2;
    snprintf(f.name, sizeof f.name, "%s.sync.aligned.%s%s.%s.%s.%s.%s%s", op, shape, mods, ptx_type_name(f.d), ptx_type_name(f.a),
             ptx_type_name(f.b), ptx_type_name(f.c), tail);
    f.sm = 90;
    note_row(&f);
    snprintf(name, sizeof name, "%s %d", f.name, f.selector);
    if (matrix_wanted(name) && !form_run(&f))
        wrong++;
}

static struct form form_of(enum ptx_type d, enum ptx_type a, enum ptx_type b, enum ptx_type c, unsigned regs_a, unsigned regs_b,
                           unsigned accumulators)
{
    return (struct form){ .d = d, .a = a, .b = b, .c = c, .regs_d = accumulators, .regs_a = regs_a, .regs_b = regs_b,
                          .regs_c = accumulators, .selector = -1 };
}

static void floats(void)
{
    static const enum ptx_type f8[] = { PTX_E4M3, PTX_E5M2 }, accumulators[] = { PTX_F32, PTX_F16 };
    for (unsigned i = 0; i < 2; i++) {
        enum ptx_type d = accumulators[i];
        try(form_of(d, PTX_F16, PTX_F16, d, 2, 1, 4), "mma", "m16n8k8", ".row.col", "");
        try(form_of(d, PTX_F16, PTX_F16, d, 4, 2, 4), "mma", "m16n8k16", ".row.col", "");
        for (unsigned j = 0; j < 4; j++) {
            try(form_of(d, f8[j & 1], f8[j / 2], d, 2, 1, 4), "mma", "m16n8k16", ".row.col", "");
            try(form_of(d, f8[j & 1], f8[j / 2], d, 4, 2, 4), "mma", "m16n8k32", ".row.col", "");
            try(form_of(d, f8[j & 1], f8[j / 2], d, 4, 2, 4), "mma", "m16n8k32", ".row.col.kind::f8f6f4", "");
        }
    }
    try(form_of(PTX_F32, PTX_BF16, PTX_BF16, PTX_F32, 2, 1, 4), "mma", "m16n8k8", ".row.col", "");
    try(form_of(PTX_F32, PTX_BF16, PTX_BF16, PTX_F32, 4, 2, 4), "mma", "m16n8k16", ".row.col", "");
    try(form_of(PTX_F32, PTX_TF32, PTX_TF32, PTX_F32, 2, 1, 4), "mma", "m16n8k4", ".row.col", "");
    try(form_of(PTX_F32, PTX_TF32, PTX_TF32, PTX_F32, 4, 2, 4), "mma", "m16n8k8", ".row.col", "");
    try(form_of(PTX_F64, PTX_F64, PTX_F64, PTX_F64, 1, 1, 2), "mma", "m8n8k4", ".row.col", "");
    try(form_of(PTX_F64, PTX_F64, PTX_F64, PTX_F64, 2, 1, 4), "mma", "m16n8k4", ".row.col", "");
    try(form_of(PTX_F64, PTX_F64, PTX_F64, PTX_F64, 4, 2, 4), "mma", "m16n8k8", ".row.col.rz", "");
    try(form_of(PTX_F64, PTX_F64, PTX_F64, PTX_F64, 8, 4, 4), "mma", "m16n8k16", ".row.col.rn", "");
}

static void quads(void)
{
    static const char *const layouts[] = { ".row.row", ".row.col", ".col.row", ".col.col" };
    for (unsigned i = 0; i < 4; i++) {
        try(form_of(PTX_F32, PTX_F16, PTX_F16, PTX_F32, 2, 2, 8), "mma", "m8n8k4", layouts[i], "");
        try(form_of(PTX_F16, PTX_F16, PTX_F16, PTX_F16, 2, 2, 8), "mma", "m8n8k4", layouts[i], "");
        try(form_of(PTX_F32, PTX_F16, PTX_F16, PTX_F16, 2, 2, 8), "mma", "m8n8k4", layouts[i], "");
    }
}

static void integers(void)
{
    static const enum ptx_type eight[] = { PTX_S8, PTX_U8 }, four[] = { PTX_S4, PTX_U4 };
    static const char *const mods[] = { ".row.col", ".row.col.satfinite" };
    for (unsigned i = 0; i < 8; i++) {
        enum ptx_type a = eight[i & 1], b = eight[i / 2 & 1], x = four[i & 1], y = four[i / 2 & 1];
        try(form_of(PTX_S32, a, b, PTX_S32, 1, 1, 2), "mma", "m8n8k16", mods[i / 4], "");
        try(form_of(PTX_S32, a, b, PTX_S32, 2, 1, 4), "mma", "m16n8k16", mods[i / 4], "");
        try(form_of(PTX_S32, a, b, PTX_S32, 4, 2, 4), "mma", "m16n8k32", mods[i / 4], "");
        try(form_of(PTX_S32, x, y, PTX_S32, 1, 1, 2), "mma", "m8n8k32", mods[i / 4], "");
        try(form_of(PTX_S32, x, y, PTX_S32, 2, 1, 4), "mma", "m16n8k32", mods[i / 4], "");
        try(form_of(PTX_S32, x, y, PTX_S32, 4, 2, 4), "mma", "m16n8k64", mods[i / 4], "");
    }
    for (unsigned i = 0; i < 2; i++) {
        const char *op = i ? ".xor.popc" : ".and.popc";
        try(form_of(PTX_S32, PTX_B1, PTX_B1, PTX_S32, 1, 1, 2), "mma", "m8n8k128", ".row.col", op);
        try(form_of(PTX_S32, PTX_B1, PTX_B1, PTX_S32, 2, 1, 4), "mma", "m16n8k128", ".row.col", op);
        try(form_of(PTX_S32, PTX_B1, PTX_B1, PTX_S32, 4, 2, 4), "mma", "m16n8k256", ".row.col", op);
    }
}

/* Small and large shape of a type; the large one has half as many selectors, but never none. */
static void sparse_pair(const char *op, struct form f, const char *small, const char *large, const char *mods, unsigned selectors)
{
    for (unsigned s = 0; s < selectors && small; s++) {
        struct form half = f;
        half.selector = (int)s;
        half.regs_a = half.regs_b = 2;
        try(half, op, small, mods, "");
    }
    for (unsigned s = 0; s < (selectors > 1 ? selectors / 2 : 1); s++) {
        f.selector = (int)s;
        try(f, op, large, mods, "");
    }
}

static void sparse(const char *op)
{
    static const char *const mods[] = { ".row.col", ".row.col.satfinite" };
    sparse_pair(op, form_of(PTX_F32, PTX_F16, PTX_F16, PTX_F32, 4, 4, 4), "m16n8k16", "m16n8k32", mods[0], 4);
    sparse_pair(op, form_of(PTX_F16, PTX_F16, PTX_F16, PTX_F16, 4, 4, 4), "m16n8k16", "m16n8k32", mods[0], 4);
    sparse_pair(op, form_of(PTX_F32, PTX_BF16, PTX_BF16, PTX_F32, 4, 4, 4), "m16n8k16", "m16n8k32", mods[0], 4);
    sparse_pair(op, form_of(PTX_F32, PTX_TF32, PTX_TF32, PTX_F32, 4, 4, 4), "m16n8k8", "m16n8k16", mods[0], 4);
    sparse_pair(op, form_of(PTX_F32, PTX_E4M3, PTX_E5M2, PTX_F32, 4, 4, 4), NULL, "m16n8k64", mods[0], 1);
    for (unsigned i = 0; i < 8; i++) {
        enum ptx_type a = i & 1 ? PTX_U8 : PTX_S8, b = i & 2 ? PTX_U8 : PTX_S8, x = i & 1 ? PTX_U4 : PTX_S4,
                      y = i & 2 ? PTX_U4 : PTX_S4;
        sparse_pair(op, form_of(PTX_S32, a, b, PTX_S32, 4, 4, 4), "m16n8k32", "m16n8k64", mods[i / 4], 2);
        sparse_pair(op, form_of(PTX_S32, x, y, PTX_S32, 4, 4, 4), "m16n8k64", "m16n8k128", mods[i / 4], 2);
    }
}

unsigned matrix_mma(void)
{
    floats();
    quads();
    integers();
    sparse("mma.sp");
    sparse("mma.sp::ordered_metadata");
    rows_check();
    return wrong;
}
