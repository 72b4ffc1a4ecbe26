/* ldmatrix, stmatrix and movmatrix, in every count, transposed and not, through shared and generic addresses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix.h"

#include <stdio.h>
#include <string.h>

enum { DATA = 4096, ROWS = DATA / 16 };
/* What a block has in each buffer: an image of shared memory, and each lane's row offset and registers (in), or results (out). */
struct block {
    union {
        uint8_t bytes[DATA];
        uint16_t half[DATA / 2];
    };
    struct {
        uint32_t offset, regs[4], rest[3];
    } lanes[32];
};

static void text_make(const char *name, unsigned n, bool store, bool generic, struct aw_buf *out)
{
    aw_buf_printf(out, ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 pi, .param .u64 po)\n{\n"
                       ".shared .align 128 .b8 sm[%d];\n.reg .b64 %%in, %%out, %%u, %%g;\n"
                       ".reg .b32 %%t, %%n, %%at, %%r<4>, %%v<4>;\n"
                       ".reg .pred %%p;\n", DATA);
    aw_buf_printf(out, "ld.param.u64 %%in, [pi];\nld.param.u64 %%out, [po];\nmov.u32 %%t, %%tid.x;\nmov.u32 %%n, %%ctaid.x;\n"
                  "mul.wide.u32 %%u, %%n, %zu;\nadd.u64 %%in, %%in, %%u;\nadd.u64 %%out, %%out, %%u;\n",
                  sizeof(struct block));
    aw_buf_printf(out, "mul.wide.u32 %%u, %%t, 16;\nmov.u32 %%at, sm;\nmad.lo.u32 %%at, %%t, 16, %%at;\nmov.u32 %%n, 0;\n"
                       "add.u64 %%g, %%in, %%u;\n"
                       "COPY:\nld.global.v4.b32 {%%v0, %%v1, %%v2, %%v3}, [%%g];\n"
                       "st.shared.v4.b32 [%%at], {%%v0, %%v1, %%v2, %%v3};\n"
                       "add.u64 %%g, %%g, 512;\nadd.u32 %%at, %%at, 512;\nadd.u32 %%n, %%n, 512;\nsetp.lt.u32 %%p, %%n, %d;\n"
                       "@%%p bra COPY;\nbar.sync 0;\n", DATA);
    aw_buf_printf(out, "mul.wide.u32 %%u, %%t, 32;\nadd.u64 %%in, %%in, %%u;\nld.global.u32 %%n, [%%in+%d];\nmov.u32 %%at, sm;\n"
                       "add.u32 %%at, %%at, %%n;\ncvt.u64.u32 %%g, %%at;\ncvta.shared.u64 %%g, %%g;\n", DATA);
    for (unsigned i = 0; i < 4; i++)
        aw_buf_printf(out, "ld.global.b32 %%r%u, [%%in+%u];\n", i, DATA + 4 + 4 * i);
    const char *list = n == 4 ? "{%r0, %r1, %r2, %r3}" : n == 2 ? "{%r0, %r1}" : "{%r0}",
        *address = generic ? "[%g+16]" : "[%at+16]";
    aw_buf_printf(out, "%s %s, %s;\nbar.sync 0;\n", name, store ? address : list, store ? list : address);
    aw_buf_printf(out, "add.u64 %%u, %%out, %%u;\n");
    for (unsigned i = 0; i < 4; i++)
        aw_buf_printf(out, "st.global.b32 [%%u+%u], %%r%u;\n", DATA + 4 + 4 * i, i);
    aw_buf_printf(out, "mov.u32 %%at, sm;\nmad.lo.u32 %%at, %%t, 16, %%at;\nmov.u32 %%n, 0;\nmul.wide.u32 %%u, %%t, 16;\n"
                       "add.u64 %%g, %%out, %%u;\n"
                       "BACK:\nld.shared.v4.b32 {%%v0, %%v1, %%v2, %%v3}, [%%at];\n"
                       "st.global.v4.b32 [%%g], {%%v0, %%v1, %%v2, %%v3};\n"
                       "add.u64 %%g, %%g, 512;\nadd.u32 %%at, %%at, 512;\nadd.u32 %%n, %%n, 512;\nsetp.lt.u32 %%p, %%n, %d;\n"
                       "@%%p bra BACK;\nret;\n}\n", DATA);
}

static void block_fill(struct block *b)
{
    bool used[ROWS] = { false };
    for (unsigned i = 0; i < DATA; i++)
        b->bytes[i] = (uint8_t)(matrix_random() >> 20);
    for (unsigned lane = 0; lane < 32; lane++) {
        unsigned row = matrix_below(ROWS - 1);
        while (used[row])
            row = (row + 1) % (ROWS - 1);
        used[row] = true;
        b->lanes[lane].offset = 16 * row;
        for (unsigned i = 0; i < 4; i++)
            b->lanes[lane].regs[i] = (uint32_t)matrix_random();
    }
}

/* The 16-bit element `e` of matrix `i` that the lane holds: where it lies in the image. */
static unsigned element_at(const struct block *b, unsigned lane, unsigned i, unsigned e, bool trans)
{
    unsigned row = trans ? lane % 4 * 2 + e : lane / 4, col = trans ? lane / 4 : lane % 4 * 2 + e;
    return (b->lanes[8 * i + row].offset + 16) / 2 + col;
}

static void expect(const struct block *in, struct block *want, unsigned n, bool store, bool trans)
{
    *want = *in;
    for (unsigned lane = 0; lane < 32; lane++) {
        for (unsigned i = 0; i < n; i++) {
            for (unsigned e = 0; e < 2; e++) {
                unsigned at = element_at(in, lane, i, e, trans);
                if (store)
                    want->half[at] = (uint16_t)(in->lanes[lane].regs[i] >> 16 * e);
                else
                    matrix_bits_put(&want->lanes[lane].regs[i], e, 16, in->half[at]);
            }
        }
    }
}

static bool rows_run(const char *name, unsigned n, bool store, bool trans, bool generic)
{
    static struct block in[MATRIX_BLOCKS], out[MATRIX_BLOCKS], want;
    struct aw_buf text = { 0 };
    text_make(name, n, store, generic, &text);
    for (unsigned b = 0; b < MATRIX_BLOCKS; b++)
        block_fill(&in[b]);
    memset(out, 0, sizeof out);
    bool ok = matrix_run(name, text.ptr, 1, in, sizeof in, out, sizeof out);
    for (unsigned b = 0; ok && b < MATRIX_BLOCKS; b++) {
        expect(&in[b], &want, n, store, trans);
        if (memcmp(want.bytes, out[b].bytes, DATA) != 0)
            ok = matrix_fail(name, "block %u: memory differs", b);
        for (unsigned lane = 0; ok && lane < 32; lane++)
            if (memcmp(want.lanes[lane].regs, out[b].lanes[lane].regs, sizeof want.lanes[lane].regs) != 0)
                ok = matrix_fail(name, "block %u, lane %u: registers differ", b, lane);
    }
    aw_buf_fini(&text);
    return ok;
}

static bool movmatrix_run(const char *name)
{
    static uint32_t in[MATRIX_BLOCKS][32], out[MATRIX_BLOCKS][32];
    const struct ptx_instr *instr;
    struct oracle_lane lanes[ORACLE_LANES];
    struct aw_buf text = { 0 };
    aw_buf_printf(&text, ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 pi, .param .u64 po)\n{\n"
                         ".reg .b64 %%in, %%out, %%u;\n.reg .b32 %%t, %%n, %%a, %%d;\nld.param.u64 %%in, [pi];\n"
                         "ld.param.u64 %%out, [po];\n"
                         "mov.u32 %%t, %%tid.x;\nmov.u32 %%n, %%ctaid.x;\nmad.lo.u32 %%t, %%n, 32, %%t;\n"
                         "mul.wide.u32 %%u, %%t, 4;\n"
                         "add.u64 %%in, %%in, %%u;\nadd.u64 %%out, %%out, %%u;\nld.global.b32 %%a, [%%in];\n%s %%d, %%a;\n"
                         "st.global.b32 [%%out], %%d;\nret;\n}\n", name);
    for (unsigned i = 0; i < MATRIX_BLOCKS * 32; i++)
        in[i / 32][i % 32] = (uint32_t)matrix_random();
    memset(out, 0, sizeof out);
    struct ptx_module *module = matrix_instr(text.ptr, text.len, &instr);
    bool ok = instr && matrix_run(name, text.ptr, 1, in, sizeof in, out, sizeof out);
    for (unsigned b = 0; ok && b < MATRIX_BLOCKS; b++) {
        memset(lanes, 0, sizeof lanes);
        for (unsigned i = 0; i < 32; i++)
            lanes[i].src[0].u32[0] = in[b][i];
        oracle_ref_movmatrix(instr, UINT32_MAX, lanes);
        for (unsigned i = 0; ok && i < 32; i++)
            if (lanes[i].dst[0].u32[0] != out[b][i])
                ok = matrix_fail(name, "block %u, lane %u: got %x, want %x", b, i, out[b][i], lanes[i].dst[0].u32[0]);
    }
    ptx_module_destroy(module);
    aw_buf_fini(&text);
    return ok;
}

unsigned matrix_moves(void)
{
    static const char *const counts[] = { ".x1", ".x2", ".x4" }, *const spaces[] = { "", ".shared", ".shared::cta" };
    static const char *const names[] = { "ldmatrix", "stmatrix" }, movmatrix[] = "movmatrix.sync.aligned.m8n8.trans.b16";
    unsigned wrong = 0;
    char name[100];
    for (unsigned i = 0; i < 36; i++) {
        unsigned count = i % 3, space = i / 3 % 3, trans = i / 9 & 1, store = i / 18;
        snprintf(name, sizeof name, "%s.sync.aligned.m8n8%s%s%s.b16", names[store], counts[count], trans ? ".trans" : "",
                 spaces[space]);
        if (matrix_wanted(name))
            wrong += !rows_run(name, 1u << count, store, trans, space == 0);
    }
    if (matrix_wanted(movmatrix))
        wrong += !movmatrix_run(movmatrix);
    return wrong;
}
