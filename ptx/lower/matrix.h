/* Matrices that a warp holds: which element lies in which lane and register, and how a lane gets at the others' elements.
 *
 * One rule covers every shape but one.  With g = lane / 4, t = lane % 4 and `per` elements in a register:
 *
 *   A (m x k)   a register holds A[g + ..][t*per + ..], `per` elements of a row; the registers go down 8 rows, then right 4*per
 *               columns, and then, where m is 32, to the next 16 rows
 *   B (k x n) a register holds B[t*per + ..][g + ..], `per` elements of a column; the registers go down 4*per rows, then right 8
 *   C, D (m x n) a lane holds pairs C[g + ..][2*t + 0, 1 + ..]; the pairs go down 8 rows, then right 8 columns, then down 16 rows
 *
 * ptx_fragment_at says the ".." part: what an element's index adds to the lane's part.  The exception is mma.m8n8k4 on f16, which
 * is four products side by side (matrix_quad.c).  PTX leaves wmma's fragments open; they are laid out by the same rule, so that
 * wmma.mma is mma of a larger shape.
 *
 * Not here: the arithmetic (matrix.c), memory (matrix_memory.c).  PTX ISA 9.0 9.7.14. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_LOWER_MATRIX_H
#define AW_PTX_LOWER_MATRIX_H

#include "lower/internal.h"

struct ptx_matrix_shape {
    unsigned m, n, k;
};
/* The m*n*k* modifier of an instruction; false when it has none. */
bool ptx_matrix_shape(const struct ptx_instr *in, struct ptx_matrix_shape *ret_shape);

enum ptx_matrix_role { PTX_MATRIX_A, PTX_MATRIX_B, PTX_MATRIX_C };
enum { PTX_FRAGMENT_REGS = 8 }; /* no fragment has more registers */
struct ptx_fragment {
    enum ptx_matrix_role role;
    unsigned rows, cols;
    enum ptx_type type;
    unsigned bits;      /* of an element */
    unsigned per;       /* elements in one register */
    unsigned n;         /* elements in one lane */
    unsigned regs;      /* registers in one lane */
    enum ptx_type reg;  /* what a register is read as: B32 or F64 */
};
struct ptx_fragment ptx_fragment(enum ptx_matrix_role role, struct ptx_matrix_shape shape, enum ptx_type type);
/* Element `i` of lane 0, counted from the low bits of the first register. */
void ptx_fragment_at(const struct ptx_fragment *f, unsigned i, unsigned *ret_row, unsigned *ret_col);
/* What lane `lane` (an i32) adds to that. */
void ptx_fragment_lane(struct ptx_lower *l, const struct ptx_fragment *f, LLVMValueRef lane, LLVMValueRef *ret_row,
                       LLVMValueRef *ret_col);
/* The element of A in row 8 * block + g, column k, or of B in row k, column 8 * block + g: index and lane % 4 of its holder. */
unsigned ptx_fragment_find(const struct ptx_fragment *f, unsigned block, unsigned k, unsigned *ret_t);

/* How many registers the instruction's operand has: f.regs, or more where PTX has a fragment hold elements several times. */
unsigned ptx_matrix_registers(const struct ptx_instr *in, const struct ptx_fragment *f);

/* The registers of a {vector} operand, as values of `type`; false with an error where it is not `n` registers of that width. */
bool ptx_matrix_read(struct ptx_lower *l, const struct ptx_operand *op, enum ptx_type type, unsigned n, LLVMValueRef *ret);
/* Writes `n` values of `type`; the same error. */
bool ptx_matrix_write(struct ptx_lower *l, const struct ptx_operand *op, enum ptx_type type, unsigned n, LLVMValueRef *values);
/* The accumulators in `op` as f32, i32 or f64, f->n of them; and from those the operand d. */
bool ptx_matrix_read_c(struct ptx_lower *l, const struct ptx_operand *op, const struct ptx_fragment *f, LLVMValueRef *ret);
bool ptx_matrix_write_d(struct ptx_lower *l, const struct ptx_instr *in, const struct ptx_fragment *f, LLVMValueRef *values);

/* Element `e` of a register of such elements, as what products are made of: f32, i32 or f64. */
LLVMValueRef ptx_matrix_element(struct ptx_lower *l, LLVMValueRef reg, enum ptx_type type, unsigned e);
/* The value `v` (i32, f32 or f64) of lane `from`, taken modulo 32, or of lane `from` of the same four.  All lanes take part. */
LLVMValueRef ptx_matrix_shuffle(struct ptx_lower *l, LLVMValueRef v, LLVMValueRef from);
LLVMValueRef ptx_matrix_shuffle4(struct ptx_lower *l, LLVMValueRef v, unsigned from);

/* A product while it is built.  `row` and `col`: what was fetched from other lanes already. */
enum { PTX_PRODUCT_ROW = 128, PTX_PRODUCT_COL = 256 };
struct ptx_product {
    struct ptx_lower *l;
    const struct ptx_instr *in;
    struct ptx_fragment a, b, c, d;
    LLVMValueRef lane, from[8];
    bool fours; /* four bytes at once */
    bool in_floats, c_last; /* integers computed in f32; acc begins at 0 and c is added at the end */
    LLVMValueRef a_regs[PTX_FRAGMENT_REGS], b_regs[PTX_FRAGMENT_REGS];
    LLVMValueRef acc[8], start[8]; /* sums; c, where it is added last */
    LLVMValueRef row[PTX_PRODUCT_ROW], col[PTX_PRODUCT_COL];
    LLVMValueRef row_reg[PTX_PRODUCT_ROW], col_reg[PTX_PRODUCT_COL];
};
/* Types of d, a, b and c. */
void ptx_product_types(const struct ptx_instr *in, enum ptx_type types[4]);
/* Types and shape of the instruction, and its operands d, a, b, c.  Of a sparse A only half of the columns are there.  False with
 * an error where an operand does not fit. */
bool ptx_product_begin(struct ptx_product *p, struct ptx_lower *l, const struct ptx_instr *in, bool sparse);
/* A[8 * block + g][k], and B[k][8 * block + 2*t + c], on every lane. */
LLVMValueRef ptx_product_row(struct ptx_product *p, unsigned block, unsigned k);
LLVMValueRef ptx_product_col(struct ptx_product *p, unsigned block, unsigned c, unsigned k);
/* acc + a * b in the product's arithmetic. */
LLVMValueRef ptx_product_step(struct ptx_product *p, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef b);
/* Writes d, with c added where acc began at 0. */
bool ptx_product_end(struct ptx_product *p);

/* ---- Tiles: the machine's own products of 16 x 8 elements (matrix_tile.c; aw.tile.*) */
/* What aw.tile.*'s first argument says: types of a and b. */
#define PTX_TILE_TYPES(a, b) ((unsigned)(a) | (unsigned)(b) << 8)
#define PTX_TILE_A(types) ((enum ptx_type)((types) & 255))
#define PTX_TILE_B(types) ((enum ptx_type)((types) >> 8))
/* Can tiles make the product that the instruction asks for, on some machine?  Then their types. */
bool ptx_tile_possible(struct ptx_lower *l, const struct ptx_instr *in, unsigned *ret_types);
/* Ends the block: to `tiles` where aw.tile.here says so, to `lanes` else. */
void ptx_tile_branch(struct ptx_lower *l, unsigned types, LLVMBasicBlockRef tiles, LLVMBasicBlockRef lanes);
/* Where several products stand in a row, with nothing between them at which lanes could part: the last of them, for `first`.
 * Else NULL. */
const struct ptx_stmt *ptx_tile_run(struct ptx_lower *l, const struct ptx_stmt *first, unsigned *ret_types);
/* Adds the products to acc by tiles. */
void ptx_tile_sums(struct ptx_product *p, unsigned types);

#endif
