/* Matrix products as tiles of 16 x 8, for machines that have instructions for them (aw.tile.* in simt.def).
 *
 * A tile takes the registers of A and B as mma has them and gives the lane's four elements of the product, so that every dense
 * shape is a number of tiles.  They may be asked for only where aw.tile.here says so.
 *
 * Not here: what the machine makes of a tile (finish/amdgpu/matrix.c).  Sparse A and mma.m8n8k4 on f16 have no tiles. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/matrix.h"

/* Where a register holds all of a row's k that there is, moving the operands costs what fused steps do, if those are single
 * instructions: of f64, and of four bytes alike. */
static bool is_too_small(const struct ptx_instr *in, enum ptx_type a, enum ptx_type b)
{
    struct ptx_matrix_shape shape;
    unsigned bits = ptx_type_bits(a), step = a == PTX_F64 ? 4 : 128 / bits;
    return ptx_matrix_shape(in, &shape) && shape.k <= step && (a == PTX_F64 || (a == b && bits == 8 && !ptx_is_float(a)));
}

bool ptx_tile_possible(struct ptx_lower *l, const struct ptx_instr *in, unsigned *ret_types)
{
    enum ptx_type types[4];
    if (!(l->target->features & PTX_TARGET_TILES) || !in->form || in->form->lowering != PTX_LOWER_MMA)
        return false;
    ptx_product_types(in, types);
    if (types[1] == PTX_B1 || is_too_small(in, types[1], types[2]) || (types[1] == PTX_F64 && ptx_round_of(in) != PTX_RN))
        return false;
    *ret_types = PTX_TILE_TYPES(types[1], types[2]);
    return true;
}

void ptx_tile_branch(struct ptx_lower *l, unsigned types, LLVMBasicBlockRef tiles, LLVMBasicBlockRef lanes)
{
    LLVMValueRef here = b_simt(l, PTX_SIMT_TILE_HERE, (LLVMValueRef[]){ b_i32(l, types) });
    LLVMValueRef branch = LLVMBuildCondBr(l->builder, here, tiles, lanes);
    /* Lane by lane takes more registers; what is kept in memory for that is not to be paid for by tiles. */
    ptx_weights_set(branch, 4000, 1);
}

/* ---- Runs: lowered twice as a whole, by tiles and lane by lane, so that products follow each other without a branch between
 * them */
enum { RUN_GAP = 100 }; /* instructions between two products */

/* May it stand between two products?  All lanes that come to it leave it together. */
static bool is_plain(const struct ptx_instr *in)
{
    static const char *const names[] = { "abs", "add", "and", "bfe", "bfi", "cvt", "cvta", "ex2", "fma", "ld", "ldmatrix",
                                         "lop3", "mad",
                                         "max", "min", "mov", "mul", "neg", "not", "or", "prmt", "selp", "set", "setp", "shf",
                                         "shl", "shr",
                                         "sub", "wmma", "xor" };
    if (!in->form || (in->form->traits & (PTX_BRANCH | PTX_BARRIER)))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (aw_str_is(in->mnemonic, names[i]))
            return true;
    return false;
}

const struct ptx_stmt *ptx_tile_run(struct ptx_lower *l, const struct ptx_stmt *first, unsigned *ret_types)
{
    const struct ptx_stmt *last = NULL;
    unsigned types, gap = 0;
    if (first->kind != PTX_STMT_INSTR || first->instr->guard || !ptx_tile_possible(l, first->instr, ret_types))
        return NULL;
    for (const struct ptx_stmt *s = first->next; s && gap < RUN_GAP; s = s->next) {
        if (s->kind == PTX_STMT_LOC)
            continue;
        if (s->kind != PTX_STMT_INSTR)
            break;
        bool product = ptx_tile_possible(l, s->instr, &types);
        if (product ? s->instr->guard || types != *ret_types : !is_plain(s->instr))
            break;
        gap = product ? 0 : gap + 1;
        last = product ? s : last;
    }
    return last;
}

/* ---- Products */

static unsigned steps_of(const struct ptx_fragment *f)
{
    return (f->role == PTX_MATRIX_A ? f->cols : f->rows) / (4 * f->per);
}

/* The register of A's rows or B's columns 8 * block and on, and columns or rows of that step; poison where there is none. */
static LLVMValueRef register_of(struct ptx_product *p, const struct ptx_fragment *f, LLVMValueRef *regs, unsigned block,
                                unsigned step)
{
    unsigned t, blocks = (f->role == PTX_MATRIX_A ? f->rows : f->cols) / 8;
    if (block >= blocks || step >= steps_of(f))
        return LLVMGetPoison(f->type == PTX_F64 ? p->l->f64 : p->l->i32);
    return regs[ptx_fragment_find(f, block, step * 4 * f->per, &t) / f->per];
}

/* Where element `i` of C and D is: the tile's rows (by 16) and columns (by 8), and the place among the lane's four. */
static unsigned place_of(const struct ptx_product *p, unsigned i, unsigned *ret_row, unsigned *ret_col)
{
    unsigned row, col;
    ptx_fragment_at(&p->c, i, &row, &col);
    *ret_row = row / 16;
    *ret_col = col / 8;
    return row / 8 % 2 * 2 + col % 2;
}

/* Of steps two from `step` on; `c` has the operands for C. */
static LLVMValueRef tile(struct ptx_product *p, unsigned types, unsigned row, unsigned col, unsigned step, LLVMValueRef c[4])
{
    LLVMValueRef args[11] = { b_i32(p->l, types) };
    for (unsigned i = 0; i < 4; i++) {
        args[1 + i] = register_of(p, &p->a, p->a_regs, 2 * row + i % 2, step + i / 2);
        args[7 + i] = c[i] ? ptx_from_bits(p->l, ptx_to_bits(p->l, c[i]), LLVMTypeOf(args[1]))
                           : LLVMGetPoison(LLVMTypeOf(args[1]));
    }
    for (unsigned i = 0; i < 2; i++)
        args[5 + i] = register_of(p, &p->b, p->b_regs, col, step + i);
    return b_simt(p->l, p->a.type == PTX_F64 ? PTX_SIMT_TILE_F64 : PTX_SIMT_TILE, args);
}

void ptx_tile_sums(struct ptx_product *p, unsigned types)
{
    enum { TALL = 2, WIDE = 4 };
    unsigned row, col;
    for (unsigned step = 0; step < steps_of(&p->a); step += 2) {
        LLVMValueRef c[TALL][WIDE][4] = { { { NULL } } }, tiles[TALL][WIDE] = { { NULL } };
        for (unsigned i = 0; i < p->c.n && !(p->c_last && step == 0); i++) {
            unsigned at = place_of(p, i, &row, &col);
            c[row][col][at] = p->acc[i];
        }
        for (unsigned i = 0; i < p->c.n; i++) {
            LLVMTypeRef type = LLVMTypeOf(p->acc[i]);
            unsigned at = place_of(p, i, &row, &col);
            if (!tiles[row][col])
                tiles[row][col] = tile(p, types, row, col, step, c[row][col]);
            p->acc[i] = ptx_from_bits(p->l, b_field(p->l, tiles[row][col], at), type);
        }
    }
}
