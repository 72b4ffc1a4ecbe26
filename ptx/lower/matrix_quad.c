/* mma.m8n8k4 on f16: four products side by side, each of lanes 4*q .. 4*q+3 and the same plus 16 (PTX ISA 9.0 9.7.14.5.1).
 *
 * With r the lane's number modulo 4 and h = 4 for lanes from 16 on:
 *   A row by row, B column by column: the lane holds row (column) r + h of 4 elements
 *   A column by column, B row by row: the lane holds column (row) r, elements h .. h + 3
 *   C, D of f16: element i is C[r + h][i];  of f32: C[(r & 1) + (i & 2) + h][(i & 4) + (r & 2) + (i & 1)] */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/matrix.h"

struct quad {
    struct ptx_lower *l;
    LLVMValueRef r, h, base; /* as above; the first lane of the lane's four, below 16 */
    LLVMValueRef a[2], b[2]; /* registers */
    bool a_along, b_along;   /* a register runs along k */
};

/* The lane that holds vector number `v` (an i32, 0 to 7). */
static LLVMValueRef holder(struct quad *q, LLVMValueRef v)
{
    struct ptx_lower *l = q->l;
    LLVMValueRef half = b_shl(l, b_and(l, v, b_i32(l, 4)), b_i32(l, 2));
    return b_or(l, b_or(l, q->base, half), b_and(l, v, b_i32(l, 3)));
}

/* Element `e` (an i32) of four in two registers. */
static LLVMValueRef pick(struct ptx_lower *l, LLVMValueRef low, LLVMValueRef high, LLVMValueRef e)
{
    LLVMValueRef upper = b_ne(l, b_and(l, e, b_i32(l, 2)), b_i32(l, 0));
    LLVMValueRef shift = b_shl(l, b_and(l, e, b_i32(l, 1)), b_i32(l, 4));
    return ptx_matrix_element(l, b_lshr(l, b_select(l, upper, high, low), shift), PTX_F16, 0);
}

/* A[i][k] or B[k][i] as f32, for i an i32. */
static LLVMValueRef element(struct quad *q, LLVMValueRef regs[2], bool along, LLVMValueRef i, unsigned k)
{
    struct ptx_lower *l = q->l;
    if (along)
        return ptx_matrix_element(l, ptx_matrix_shuffle(l, regs[k / 2], holder(q, i)), PTX_F16, k % 2);
    LLVMValueRef from = holder(q, b_or(l, b_and(l, i, b_i32(l, 4)), b_i32(l, k)));
    return pick(l, ptx_matrix_shuffle(l, regs[0], from), ptx_matrix_shuffle(l, regs[1], from), i);
}

/* Row and column of the lane's element `i` of C. */
static void place(struct quad *q, enum ptx_type type, unsigned i, LLVMValueRef *ret_row, LLVMValueRef *ret_col)
{
    struct ptx_lower *l = q->l;
    if (type == PTX_F16) {
        *ret_row = b_or(l, q->r, q->h);
        *ret_col = b_i32(l, i);
        return;
    }
    *ret_row = b_or(l, b_or(l, b_and(l, q->r, b_i32(l, 1)), b_i32(l, i & 2)), q->h);
    *ret_col = b_or(l, b_and(l, q->r, b_i32(l, 2)), b_i32(l, i & 5));
}

/* Which of row and col comes first, and which second. */
static void layouts(const struct ptx_instr *in, bool *ret_a_along, bool *ret_b_along)
{
    bool *at[2] = { ret_a_along, ret_b_along };
    unsigned n = 0;
    for (uint32_t i = 0; i < in->n_mods && n < 2; i++) {
        bool row = aw_str_is(in->mods[i], ".row");
        if (row || aw_str_is(in->mods[i], ".col")) {
            *at[n] = row == (n == 0);
            n++;
        }
    }
}

/* C's elements in D's places. */
static bool read_c(struct quad *q, const struct ptx_instr *in, enum ptx_type d, enum ptx_type c, LLVMValueRef acc[8])
{
    struct ptx_lower *l = q->l;
    LLVMValueRef regs[8];
    if (!ptx_matrix_read(l, &in->ops[3], c == PTX_F32 ? PTX_F32 : PTX_B32, c == PTX_F32 ? 8 : 4, regs))
        return false;
    for (unsigned i = 0; i < 8; i++) {
        if (c == d) {
            acc[i] = c == PTX_F32 ? regs[i] : ptx_matrix_element(l, regs[i / 2], PTX_F16, i % 2);
            continue;
        }
        LLVMValueRef row, col; /* f16 C for f32 D */
        place(q, d, i, &row, &col);
        LLVMValueRef from = holder(q, row), *pair = regs + (i & 4) / 2;
        acc[i] = pick(l, ptx_matrix_shuffle(l, pair[0], from), ptx_matrix_shuffle(l, pair[1], from), col);
    }
    return true;
}

static bool write_d(struct quad *q, const struct ptx_instr *in, enum ptx_type d, LLVMValueRef acc[8])
{
    struct ptx_fragment f = { .type = d, .n = 8, .regs = d == PTX_F16 ? 4 : 8 };
    return ptx_matrix_write_d(q->l, in, &f, acc);
}

bool ptx_lower_mma_quad(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type d = in->types[0], c = in->types[3];
    struct quad q = { .l = l };
    LLVMValueRef acc[8];
    if (d == PTX_F16 && c == PTX_F32)
        return ptx_lower_error(l, in->loc, "d must be f32 when c is");
    layouts(in, &q.a_along, &q.b_along);
    LLVMValueRef lane = b_simt(l, PTX_SIMT_LANEID, NULL);
    q.r = b_and(l, lane, b_i32(l, 3));
    q.h = b_and(l, b_lshr(l, lane, b_i32(l, 2)), b_i32(l, 4));
    q.base = b_and(l, lane, b_i32(l, 12));
    if (!ptx_matrix_read(l, &in->ops[1], PTX_B32, 2, q.a) || !ptx_matrix_read(l, &in->ops[2], PTX_B32, 2, q.b) ||
        !read_c(&q, in, d, c, acc))
        return false;
    for (unsigned k = 0; k < 4; k++) {
        LLVMValueRef a[2] = { NULL }, b[8] = { NULL }; /* by the parts of i that they depend on */
        for (unsigned i = 0; i < 8; i++) {
            LLVMValueRef row, col, *ai = &a[d == PTX_F32 && (i & 2)], *bi = &b[d == PTX_F32 ? i & 5 : i];
            place(&q, d, i, &row, &col);
            if (!*ai)
                *ai = element(&q, q.a, q.a_along, row, k);
            if (!*bi)
                *bi = element(&q, q.b, q.b_along, col, k);
            acc[i] = b_fma(l, *ai, *bi, acc[i]);
        }
    }
    return write_d(&q, in, d, acc);
}
