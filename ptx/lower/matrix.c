/* Matrix products of a warp: mma.sync and wmma.mma (PTX ISA 9.0 9.7.14.4.5, 9.7.14.5).
 *
 * Every lane computes the elements of D that it holds, from rows of A and columns of B that it fetches from other lanes: a row
 * lies in the four lanes of its own group, a column in the four of another.  Sums go up in k, one fused step each, from c; f16
 * accumulators are f32 on the way and rounded once.  PTX leaves order and rounding of sums open; integers and f64 are exact in
 * any case.
 *
 * Not here: layouts (matrix_layout.c), mma.m8n8k4 on f16 (matrix_quad.c), sparse A (matrix_sparse.c), memory
 * (matrix_memory.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/matrix.h"

/* ---- What a lane needs of others */

/* `reg` of another lane, cached in `cache[at]`: whole, where a shuffle is dear. */
static LLVMValueRef fetched(struct ptx_product *p, LLVMValueRef *cache, LLVMValueRef value, LLVMValueRef from, unsigned t)
{
    if (!*cache)
        *cache = from ? ptx_matrix_shuffle(p->l, value, from) : ptx_matrix_shuffle4(p->l, value, t);
    return *cache;
}

/* An element as the product's arithmetic has it. */
static LLVMValueRef value_of(struct ptx_product *p, const struct ptx_fragment *f, LLVMValueRef reg, unsigned e)
{
    LLVMValueRef v = ptx_matrix_element(p->l, reg, f->type, e);
    return p->in_floats ? b_sitofp(p->l, v, p->l->f32) : v;
}

/* Taking registers apart before the shuffle costs less where lanes known when compiling make a shuffle one operation: what a lane
 * takes apart once is used by many.  Elsewhere the registers travel whole. */
static LLVMValueRef element_of(struct ptx_product *p, const struct ptx_fragment *f, LLVMValueRef *regs, unsigned at,
                               LLVMValueRef from, unsigned t, LLVMValueRef *cache, LLVMValueRef *cache_reg)
{
    unsigned r = at / f->per, e = at % f->per;
    if (*cache)
        return *cache;
    if (p->l->target->features & PTX_TARGET_CHEAP_SHUFFLE)
        return fetched(p, cache, value_of(p, f, regs[r], e), from, t);
    return *cache = value_of(p, f, fetched(p, cache_reg, regs[r], from, t), e);
}

LLVMValueRef ptx_product_row(struct ptx_product *p, unsigned block, unsigned k)
{
    unsigned t, at = ptx_fragment_find(&p->a, block, k, &t), i = block * p->a.cols + k;
    return element_of(p, &p->a, p->a_regs, at, NULL, t, &p->row[i], &p->row_reg[i / p->a.per]);
}

/* Column 2*t + c of B's block lies in lanes 4 * (2*t + c) and the next three. */
LLVMValueRef ptx_product_col(struct ptx_product *p, unsigned block, unsigned c, unsigned k)
{
    unsigned t, at = ptx_fragment_find(&p->b, block, k, &t), i = (2 * block + c) * p->b.rows + k, from = 4 * c + t;
    struct ptx_lower *l = p->l;
    if (!p->from[from]) {
        LLVMValueRef group = b_shl(l, b_and(l, p->lane, b_i32(l, 3)), b_i32(l, 3));
        p->from[from] = b_or(l, group, b_i32(l, from));
    }
    return element_of(p, &p->b, p->b_regs, at, p->from[from], t, &p->col[i], &p->col_reg[i / p->b.per]);
}

/* ---- Arithmetic */
LLVMValueRef ptx_product_step(struct ptx_product *p, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef b)
{
    struct ptx_lower *l = p->l;
    if (p->a.type == PTX_F64)
        return ptx_round_fma(l, ptx_round_of(p->in), a, b, acc);
    if (ptx_is_float(p->a.type) || p->in_floats)
        return b_fma(l, a, b, acc);
    if (p->fours)
        return ptx_dot4(l, ptx_is_signed(p->in->types[1]), ptx_is_signed(p->in->types[2]), a, b, acc);
    if (p->a.type == PTX_B32) /* 32 bits at once */
        return b_add(l, acc, b_unary(l, "llvm.ctpop", ptx_has(p->in, PTX_MOD_AND) ? b_and(l, a, b) : b_xor(l, a, b)));
    return b_add(l, acc, b_mul(l, a, b));
}

/* wmma.mma on f16 names but d's and c's. */
void ptx_product_types(const struct ptx_instr *in, enum ptx_type types[4])
{
    bool four = in->n_types == 4;
    types[0] = in->types[0];
    types[1] = four ? in->types[1] : PTX_F16;
    types[2] = four ? in->types[2] : PTX_F16;
    types[3] = in->types[in->n_types - 1];
}

static bool types_fit(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type types[4])
{
    if (aw_str_is(in->mnemonic, "wmma"))
        return types[1] == types[2] || ptx_lower_error(l, in->loc, "the types of a and b must be the same");
    return types[0] == types[3] || ptx_lower_error(l, in->loc, "the types of d and c must be the same");
}

/* Sums of small integers' products are exact in f32, and processors do those faster; c is added when all is done, as it has to
 * be, too, where the whole saturates. */
static void sums_begin(struct ptx_product *p)
{
    struct ptx_lower *l = p->l;
    p->in_floats = (l->target->features & PTX_TARGET_CHEAP_SHUFFLE) && !ptx_is_float(p->a.type) && p->a.type != PTX_B32;
    p->c_last = p->in_floats || (p->c.type == PTX_S32 && ptx_has(p->in, PTX_MOD_SATFINITE));
    for (unsigned i = 0; p->c_last && i < p->c.n; i++) {
        p->start[i] = p->acc[i];
        p->acc[i] = LLVMConstNull(p->in_floats ? l->f32 : l->i32);
    }
}

static void sums_end(struct ptx_product *p)
{
    struct ptx_lower *l = p->l;
    for (unsigned i = 0; p->c_last && i < p->c.n; i++) {
        LLVMValueRef sum = p->in_floats ? LLVMBuildFPToSI(l->builder, p->acc[i], l->i32, "") : p->acc[i];
        bool saturates = ptx_has(p->in, PTX_MOD_SATFINITE);
        p->acc[i] = saturates ? b_binary(l, "llvm.sadd.sat", p->start[i], sum) : b_add(l, p->start[i], sum);
    }
}

bool ptx_product_begin(struct ptx_product *p, struct ptx_lower *l, const struct ptx_instr *in, bool sparse)
{
    struct ptx_matrix_shape shape;
    enum ptx_type types[4];
    *p = (struct ptx_product){ .l = l, .in = in };
    if (!ptx_matrix_shape(in, &shape))
        return ptx_lower_unsupported(l, in, "this shape");
    ptx_product_types(in, types);
    if (!types_fit(l, in, types))
        return false;
    p->fours = !ptx_is_float(types[1]) && ptx_type_bits(types[1]) == 8 && (l->target->features & PTX_TARGET_DOT4);
    if (p->fours || types[1] == PTX_B1) { /* a register is one element, and so a column of it */
        shape.k /= 32 / ptx_type_bits(types[1]);
        types[1] = types[2] = PTX_B32;
    }
    struct ptx_matrix_shape stored = { shape.m, shape.n, sparse ? shape.k / 2 : shape.k };
    p->a = ptx_fragment(PTX_MATRIX_A, stored, types[1]);
    p->b = ptx_fragment(PTX_MATRIX_B, shape, types[2]);
    p->c = ptx_fragment(PTX_MATRIX_C, shape, types[3]);
    p->d = ptx_fragment(PTX_MATRIX_C, shape, types[0]);
    unsigned a_n = ptx_matrix_registers(in, &p->a), b_n = ptx_matrix_registers(in, &p->b);
    if (!ptx_matrix_read(l, &in->ops[1], p->a.reg, a_n, p->a_regs) ||
        !ptx_matrix_read(l, &in->ops[2], p->b.reg, b_n, p->b_regs) || !ptx_matrix_read_c(l, &in->ops[3], &p->c, p->acc))
        return false;
    p->lane = b_simt(l, PTX_SIMT_LANEID, NULL);
    sums_begin(p);
    return true;
}

bool ptx_product_end(struct ptx_product *p)
{
    sums_end(p);
    return ptx_matrix_write_d(p->l, p->in, &p->d, p->acc);
}

/* k is the outer loop so that few fetched elements are alive at a time. */
static bool lane_by_lane(struct ptx_product *p)
{
    for (unsigned k = 0; k < p->a.cols; k++) {
        for (unsigned i = 0; i < p->d.n; i++) {
            unsigned row, col;
            ptx_fragment_at(&p->c, i, &row, &col);
            LLVMValueRef a = ptx_product_row(p, row / 8, k), b = ptx_product_col(p, col / 8, col % 8, k);
            p->acc[i] = ptx_product_step(p, p->acc[i], a, b);
        }
    }
    return ptx_product_end(p);
}

static bool by_tiles(struct ptx_product *p, unsigned types)
{
    ptx_tile_sums(p, types);
    return ptx_product_end(p);
}

/* d, a, b, c */
bool ptx_lower_mma(struct ptx_lower *l, const struct ptx_instr *in)
{
    struct ptx_product p, other;
    unsigned types;
    if (!ptx_product_begin(&p, l, in, false))
        return false;
    if (l->tiles == PTX_TILES_NO || !ptx_tile_possible(l, in, &types))
        return lane_by_lane(&p);
    if (l->tiles == PTX_TILES_YES)
        return by_tiles(&p, types);
    LLVMBasicBlockRef tiles = ptx_block_new(l, "tiles"), lanes = ptx_block_new(l, "lanes"), done = ptx_block_new(l, "");
    ptx_tile_branch(l, types, tiles, lanes);
    other = p;
    LLVMPositionBuilderAtEnd(l->builder, tiles);
    bool ok = by_tiles(&other, types);
    LLVMBuildBr(l->builder, done);
    LLVMPositionBuilderAtEnd(l->builder, lanes);
    ok = lane_by_lane(&p) && ok;
    LLVMBuildBr(l->builder, done);
    LLVMPositionBuilderAtEnd(l->builder, done);
    return ok;
}
