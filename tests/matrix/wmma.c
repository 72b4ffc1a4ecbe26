/* wmma: matrices loaded, multiplied and stored, in every shape, type and layout, through every kind of address, with and without
 * a stride.  How fragments are laid out is the implementation's affair, so it takes all three instructions to see what one
 * does. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PLACE = 4096 }; /* bytes for each of A, B, C and D of a block */
enum address { GENERIC, GLOBAL, SHARED };
struct form {
    unsigned m, n, k;
    enum ptx_type type, c, d;
    unsigned regs_a, regs_b;
    bool a_row, b_row, c_row, d_row;
    enum address address;
    bool stride;       /* stated, and more than the least */
    const char *mods;  /* ".satfinite", a rounding, "xor" or "and" of b1 */
};

static unsigned wrong;

/* ---- Where elements lie in memory */
static unsigned least(const struct form *f, char which)
{
    return which == 'a' ? (f->a_row ? f->k : f->m) : which == 'b' ? (f->b_row ? f->n : f->k)
           : (which == 'c' ? f->c_row : f->d_row) ? f->n : f->m;
}

static enum ptx_type type_of(const struct form *f, char which)
{
    return which == 'c' ? f->c : which == 'd' ? f->d : f->type;
}

/* 16 bytes more than the least, in elements. */
static unsigned stride_of(const struct form *f, char which)
{
    return least(f, which) + (f->stride ? 128 / ptx_type_bits(type_of(f, which)) : 0);
}

static size_t index_of(const struct form *f, char which, unsigned row, unsigned col)
{
    bool by_row = which == 'a' ? f->a_row : which == 'b' ? f->b_row : which == 'c' ? f->c_row : f->d_row;
    return (size_t)(by_row ? row : col) * stride_of(f, which) + (by_row ? col : row);
}

static uint64_t element(const struct form *f, const uint8_t *matrix, char which, unsigned row, unsigned col)
{
    return matrix_bits_get(matrix, index_of(f, which, row, col), ptx_type_bits(type_of(f, which)));
}

/* ---- Text */
static unsigned registers(const struct form *f, enum ptx_type type)
{
    return f->m * f->n / 32 / (type == PTX_F16 ? 2 : 1);
}

static void list_put(struct aw_buf *out, char name, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        aw_buf_printf(out, "%s%%%c%u%s", i ? ", " : "{", name, i, i + 1 == n ? "}" : "");
}

static const char *class_of(enum ptx_type type)
{
    return type == PTX_F64 ? "f64" : type == PTX_F32 ? "f32" : "b32";
}

static void transfer_put(struct aw_buf *out, const struct form *f, char which, unsigned regs)
{
    static const char *const spaces[] = { "", ".global", ".shared" };
    bool row = which == 'a' ? f->a_row : which == 'b' ? f->b_row : which == 'c' ? f->c_row : f->d_row, store = which == 'd';
    unsigned offset = (unsigned)(which - 'a') * PLACE;
    aw_buf_printf(out, "wmma.%s.%c.sync.aligned.%s.m%un%uk%u%s.%s ", store ? "store" : "load", which, row ? "row" : "col", f->m,
                  f->n, f->k, spaces[f->address], ptx_type_name(type_of(f, which)));
    if (!store) {
        list_put(out, which, regs);
        aw_buf_printf(out, ", ");
    }
    if (f->address == SHARED)
        aw_buf_printf(out, "[%%sm+%u]", offset);
    else
        aw_buf_printf(out, store ? "[%%out]" : "[%%in+%u]", offset);
    if (store) {
        aw_buf_printf(out, ", ");
        list_put(out, which, regs);
    }
    if (f->stride && f->address == GLOBAL)
        aw_buf_printf(out, ", %u", stride_of(f, which));
    else if (f->stride)
        aw_buf_printf(out, ", %%s%c", which);
    aw_buf_printf(out, ";\n");
}

static void product_put(struct aw_buf *out, const struct form *f)
{
    const char *type = ptx_type_name(f->type), *al = f->a_row ? "row" : "col", *bl = f->b_row ? "row" : "col";
    bool b1 = f->type == PTX_B1, f64 = f->type == PTX_F64;
    aw_buf_printf(out, "wmma.mma%s%s.sync.aligned.%s.%s.m%un%uk%u%s", b1 ? f->mods : "", b1 ? ".popc" : "", al, bl, f->m, f->n,
                  f->k, f64 ? f->mods : "");
    if (f->type == PTX_F16)
        aw_buf_printf(out, ".%s.%s", ptx_type_name(f->d), ptx_type_name(f->c));
    else
        aw_buf_printf(out, ".%s.%s.%s.%s", ptx_type_name(f->d), type, type, ptx_type_name(f->c));
    aw_buf_printf(out, "%s ", b1 || f64 ? "" : f->mods);
}

/* Copies `bytes` between [%g] and shared memory from offset `at` on. */
static void copy_put(struct aw_buf *out, const char *label, unsigned at, unsigned bytes, bool back)
{
    aw_buf_printf(out, "mov.u32 %%x, %%sm;\nmad.lo.u32 %%x, %%t, 16, %%x;\nadd.u32 %%x, %%x, %u;\nmul.wide.u32 %%u, %%t, 16;\n"
                       "add.u64 %%g, %%g, %%u;\nmov.u32 %%y, 0;\n%s:\n", at, label);
    aw_buf_printf(out, back ? "ld.shared.v4.b32 {%%v0, %%v1, %%v2, %%v3}, [%%x];\n"
                              "st.global.v4.b32 [%%g], {%%v0, %%v1, %%v2, %%v3};\n"
                            : "ld.global.v4.b32 {%%v0, %%v1, %%v2, %%v3}, [%%g];\n"
                              "st.shared.v4.b32 [%%x], {%%v0, %%v1, %%v2, %%v3};\n");
    aw_buf_printf(out, "add.u64 %%g, %%g, 512;\nadd.u32 %%x, %%x, 512;\nadd.u32 %%y, %%y, 512;\nsetp.lt.u32 %%p, %%y, %u;\n"
                       "@%%p bra %s;\nbar.sync 0;\n", bytes, label);
}

static void text_make(const struct form *f, struct aw_buf *out)
{
    bool old = f->type == PTX_F16 && *f->mods;
    unsigned regs_c = registers(f, f->c), regs_d = registers(f, f->d);
    aw_buf_printf(out, ".version %s\n.target sm_%u\n.address_size 64\n.visible .entry k(.param .u64 pi, .param .u64 po)\n{\n",
                  old ? "6.4" : "8.5", old ? 70 : 90);
    aw_buf_printf(out, ".shared .align 128 .b8 sm[%d];\n.reg .b64 %%in, %%out, %%u, %%g;\n"
                       ".reg .b32 %%t, %%n, %%w, %%x, %%y, %%v<4>, %%sa, %%sb,"
                       " %%sc, %%sd, %%sm;\n.reg .pred %%p;\n", MATRIX_WARPS * 4 * PLACE);
    aw_buf_printf(out, ".reg .%s %%a<8>, %%b<8>;\n.reg .%s %%c<8>;\n.reg .%s %%d<8>;\n", class_of(f->type), class_of(f->c),
                  class_of(f->d));
    aw_buf_printf(out, "ld.param.u64 %%in, [pi];\nld.param.u64 %%out, [po];\n" MATRIX_INDICES
                       "mul.wide.u32 %%u, %%n, %d;\nadd.u64 %%in, %%in, %%u;\nmul.wide.u32 %%u, %%n, %d;\n"
                       "add.u64 %%out, %%out, %%u;\n",
                  3 * PLACE, PLACE);
    aw_buf_printf(out, "mov.u32 %%sm, sm;\nmad.lo.u32 %%sm, %%w, %d, %%sm;\n", 4 * PLACE);
    for (char which = 'a'; which <= 'd'; which++)
        aw_buf_printf(out, "mov.u32 %%s%c, %u;\n", which, stride_of(f, which));
    if (f->address == SHARED) {
        aw_buf_printf(out, "mov.u64 %%g, %%in;\n");
        copy_put(out, "INTO", 0, 3 * PLACE, false);
        aw_buf_printf(out, "mov.u64 %%g, %%out;\n");
        copy_put(out, "D", 3 * PLACE, PLACE, false);
    }
    transfer_put(out, f, 'a', f->regs_a);
    transfer_put(out, f, 'b', f->regs_b);
    transfer_put(out, f, 'c', regs_c);
    product_put(out, f);
    list_put(out, 'd', regs_d);
    aw_buf_printf(out, ", ");
    list_put(out, 'a', f->regs_a);
    aw_buf_printf(out, ", ");
    list_put(out, 'b', f->regs_b);
    aw_buf_printf(out, ", ");
    list_put(out, 'c', regs_c);
    aw_buf_printf(out, ";\n");
    transfer_put(out, f, 'd', regs_d);
    if (f->address == SHARED) {
        aw_buf_printf(out, "bar.sync 0;\nmov.u64 %%g, %%out;\n");
        copy_put(out, "BACK", 3 * PLACE, PLACE, true);
    }
    aw_buf_printf(out, "ret;\n}\n");
}

/* ---- Comparison */
static int64_t signed_of(enum ptx_type type, uint64_t bits)
{
    unsigned width = ptx_type_bits(type);
    return ptx_type_class(type) != 'S' ? (int64_t)bits : (int64_t)(bits << (64 - width)) >> (64 - width);
}

static bool int_right(const struct form *f, const uint8_t *in, uint32_t got, unsigned row, unsigned col)
{
    int64_t sum = signed_of(PTX_S32, element(f, in + 2 * PLACE, 'c', row, col));
    for (unsigned k = 0; k < f->k; k++) {
        int64_t a = signed_of(f->type, element(f, in, 'a', row, k)), b = signed_of(f->type, element(f, in + PLACE, 'b', k, col));
        sum += f->type != PTX_B1 ? a * b : strcmp(f->mods, ".and") == 0 ? (a & b) : (a ^ b);
    }
    if (strcmp(f->mods, ".satfinite") == 0)
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return (uint32_t)sum == got;
}

static bool float_right(const struct form *f, const uint8_t *in, uint64_t got, unsigned row, unsigned col)
{
    double sum = matrix_float(f->c, element(f, in + 2 * PLACE, 'c', row, col)), size = fabs(sum), steps = 0;
    /* What sums halves to halves may round on the way: PTX asks for half precision at least.  So sm_75 does, whose products are
     * 8 elements deep. */
    bool rounds = f->c == PTX_F16 && f->d == PTX_F16 && matrix_arch() == 75;
    for (unsigned k = 0; k < f->k; k++) {
        if (rounds && k && k % 8 == 0)
            steps += fabs(sum) * 0x1p-11 + 0x1p-25;
        double a = matrix_float(f->type, element(f, in, 'a', row, k)),
               b = matrix_float(f->type, element(f, in + PLACE, 'b', k, col));
        sum = fma(a, b, sum);
        size += fabs(a * b);
    }
    double error = size * ldexp(f->k + 1, f->type == PTX_F64 ? -52 : -23) + steps;
    if (f->d == PTX_F16)
        error += fabs(sum) * 0x1p-10 + 0x1p-24;
    if (f->type == PTX_F16 && *f->mods) { /* .satfinite of old */
        double most = f->d == PTX_F16 ? 65504 : FLT_MAX;
        sum = isnan(sum) ? 0 : isinf(sum) ? copysign(most, sum) : sum;
        error = isfinite(error) ? error : 0;
    }
    return matrix_close(f->d, sum, got, error);
}

static bool block_right(const char *name, const struct form *f, const uint8_t *in, const uint8_t *out)
{
    bool written[PLACE] = { false };
    unsigned bytes = ptx_type_bits(f->d) / 8;
    for (unsigned row = 0; row < f->m; row++) {
        for (unsigned col = 0; col < f->n; col++) {
            uint64_t got = element(f, out, 'd', row, col);
            if (!(f->d == PTX_S32 ? int_right(f, in, (uint32_t)got, row, col) : float_right(f, in, got, row, col)))
                return matrix_fail(name, "row %u, column %u: got %llx", row, col, (unsigned long long)got);
            memset(written + index_of(f, 'd', row, col) * bytes, true, bytes);
        }
    }
    for (unsigned i = 0; i < PLACE; i++)
        if (!written[i] && out[i] != 0x5a)
            return matrix_fail(name, "byte %u beside the matrix was written", i);
    return true;
}

static bool form_run(const char *name, const struct form *f)
{
    static uint8_t in[MATRIX_BLOCKS][3 * PLACE], out[MATRIX_BLOCKS][PLACE];
    struct aw_buf text = { 0 };
    memset(out, 0x5a, sizeof out);
    memset(in, 0xff, sizeof in);
    for (unsigned b = 0; b < MATRIX_BLOCKS; b++) {
        for (char which = 'a'; which <= 'c'; which++) {
            unsigned rows = which == 'b' ? f->k : f->m, cols = which == 'a' ? f->k : f->n,
                     bits = ptx_type_bits(type_of(f, which));
            for (unsigned i = 0; i < rows * cols; i++)
                matrix_bits_put(in[b] + (which - 'a') * PLACE, index_of(f, which, i / cols, i % cols), bits,
                                matrix_value(type_of(f, which), b >= MATRIX_BLOCKS - 2));
        }
    }
    text_make(f, &text);
    bool ok = matrix_run(name, text.ptr, matrix_warps(), in, sizeof in, out, sizeof out);
    for (unsigned b = 0; ok && b < MATRIX_BLOCKS; b++)
        ok = block_right(name, f, in[b], out[b]);
    aw_buf_fini(&text);
    return ok;
}

/* ---- The forms */
static void try(struct form f)
{
    static const char *const layouts[] = { "col", "row" }, *const addresses[] = { "generic", "global", "shared" };
    char name[160];
    snprintf(name, sizeof name, "wmma.%s.%s.%s.%s.m%un%uk%u.%s.%s.%s%s %s %s", layouts[f.a_row], layouts[f.b_row],
             layouts[f.c_row], layouts[f.d_row], f.m, f.n, f.k, ptx_type_name(f.d), ptx_type_name(f.type), ptx_type_name(f.c),
             f.mods, addresses[f.address], f.stride ? "stride" : "");
    if (matrix_wanted(name) && !form_run(name, &f))
        wrong++;
}

/* Layouts of a and b in all pairs, those of c and d, addresses and strides going along. */
static void layouts(struct form f)
{
    static unsigned turn;
    for (unsigned i = 0; i < 4; i++, turn++) {
        f.a_row = i & 1;
        f.b_row = i & 2;
        f.c_row = turn / 3 & 1;
        f.d_row = turn / 5 & 1;
        f.address = (enum address)(turn % 3);
        f.stride = turn / 2 & 1;
        if (ptx_type_bits(f.type) >= 8 || (f.a_row && !f.b_row))
            try(f);
    }
}

static void shapes(enum ptx_type type, enum ptx_type d, enum ptx_type c, const unsigned regs[3][2], const char *mods)
{
    static const unsigned sizes[3][2] = { { 16, 16 }, { 8, 32 }, { 32, 8 } };
    for (unsigned i = 0; i < 3; i++)
        layouts((struct form){ sizes[i][0], sizes[i][1], 16, type, c, d, regs[i][0], regs[i][1], .mods = mods });
}

unsigned matrix_wmma(void)
{
    static const unsigned f16[3][2] = { { 8, 8 }, { 8, 8 }, { 8, 8 } }, bf16[3][2] = { { 4, 4 }, { 2, 8 }, { 8, 2 } };
    static const unsigned int8[3][2] = { { 2, 2 }, { 1, 4 }, { 4, 1 } };
    static const char *const roundings[] = { "", ".rn", ".rz", ".rm", ".rp" };
    for (unsigned i = 0; i < 4; i++) {
        enum ptx_type d = i & 1 ? PTX_F16 : PTX_F32, c = i & 2 ? PTX_F16 : PTX_F32;
        shapes(PTX_F16, d, c, f16, "");
        layouts((struct form){ 16, 16, 16, PTX_F16, c, d, 8, 8, .mods = ".satfinite" });
    }
    shapes(PTX_BF16, PTX_F32, PTX_F32, bf16, "");
    layouts((struct form){ 16, 16, 8, PTX_TF32, PTX_F32, PTX_F32, 4, 4, .mods = "" });
    for (unsigned i = 0; i < 5; i++)
        layouts((struct form){ 8, 8, 4, PTX_F64, PTX_F64, PTX_F64, 1, 1, .mods = roundings[i] });
    for (unsigned i = 0; i < 4; i++) {
        const char *mods = i & 2 ? ".satfinite" : "";
        shapes(i & 1 ? PTX_S8 : PTX_U8, PTX_S32, PTX_S32, int8, mods);
        for (unsigned j = 0; j < 3; j++)
            layouts((struct form){ 8, 8, 32, i & 1 ? PTX_S4 : PTX_U4, PTX_S32, PTX_S32, 1, 1, .mods = mods });
    }
    for (unsigned j = 0; j < 6; j++)
        layouts((struct form){ 8, 8, 128, PTX_B1, PTX_S32, PTX_S32, 1, 1, .mods = j & 1 ? ".xor" : ".and" });
    return wrong;
}
