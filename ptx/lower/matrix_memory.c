/* Matrices between memory and a warp's registers, and transposed in place: wmma.load, wmma.store, ldmatrix, stmatrix, movmatrix
 * (PTX ISA 9.0 9.7.14.4.3, .4, 9.7.14.5.15 to .17).  Layouts are matrix_layout.c's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/matrix.h"

/* ---- wmma.load and wmma.store */
struct transfer {
    struct ptx_lower *l;
    struct ptx_fragment f;
    bool by_row;           /* rows lie one after the other, `stride` elements apart; else columns */
    bool whole;            /* a register's elements are neighbours in memory */
    LLVMValueRef stride;   /* bytes between rows, or columns: i64 */
    LLVMValueRef base;     /* where the lane's part of the matrix begins */
};

static enum ptx_matrix_role role_of(const struct ptx_instr *in)
{
    return ptx_has(in, PTX_MOD_A) ? PTX_MATRIX_A : ptx_has(in, PTX_MOD_B) ? PTX_MATRIX_B : PTX_MATRIX_C;
}

/* Multiples of an element in bytes; those of less than a byte come by whole bytes. */
static LLVMValueRef in_bytes(struct ptx_lower *l, LLVMValueRef elements, unsigned bits)
{
    if (bits >= 8)
        return b_mul(l, elements, b_i64(l, bits / 8));
    return b_udiv(l, b_mul(l, elements, b_i64(l, bits)), b_i64(l, 8));
}

static bool transfer_begin(struct transfer *t, struct ptx_lower *l, const struct ptx_instr *in, const struct ptx_operand *address,
                           const struct ptx_operand *stride)
{
    struct ptx_matrix_shape shape;
    if (!ptx_matrix_shape(in, &shape))
        return ptx_lower_unsupported(l, in, "this shape");
    t->l = l;
    t->f = ptx_fragment(role_of(in), shape, in->types[0]);
    t->by_row = ptx_has(in, PTX_MOD_ROW);
    bool along = t->f.role == PTX_MATRIX_B ? !t->by_row : t->by_row;
    t->whole = t->f.per == 1 || along;
    if (!t->whole && t->f.bits < 8)
        return ptx_lower_error(l, in->loc, "a must be .row and b .col of a type of less than a byte");
    unsigned least = t->by_row ? t->f.cols : t->f.rows;
    LLVMValueRef apart = stride ? b_zext(l, ptx_src(l, stride, PTX_B32), l->i64) : b_i64(l, least), row, col;
    t->stride = in_bytes(l, apart, t->f.bits);
    ptx_fragment_lane(l, &t->f, b_simt(l, PTX_SIMT_LANEID, NULL), &row, &col);
    LLVMValueRef line = b_zext(l, t->by_row ? row : col, l->i64), place = b_zext(l, t->by_row ? col : row, l->i64);
    t->base = b_gep(l, ptx_address(l, address, in->space), b_add(l, b_mul(l, line, t->stride), in_bytes(l, place, t->f.bits)));
    return true;
}

/* The address of element `i` of the lane. */
static LLVMValueRef element_address(struct transfer *t, unsigned i)
{
    struct ptx_lower *l = t->l;
    unsigned row, col;
    ptx_fragment_at(&t->f, i, &row, &col);
    unsigned line = t->by_row ? row : col, place = t->by_row ? col : row;
    LLVMValueRef p = line ? b_gep(l, t->base, b_mul(l, t->stride, b_i64(l, line))) : t->base;
    return b_gep(l, p, b_i64(l, place * t->f.bits / 8));
}

/* Elements of a register that are neighbours are one access. */
static LLVMTypeRef piece_type(struct transfer *t)
{
    struct ptx_lower *l = t->l;
    if (t->f.type == PTX_F64 || t->f.type == PTX_F32)
        return ptx_llvm_type(l, t->f.type);
    return t->whole ? l->i32 : ptx_int_type(l, t->f.bits);
}

static enum ptx_type register_type(const struct transfer *t)
{
    return t->f.type == PTX_F32 ? PTX_F32 : t->f.reg;
}

static LLVMValueRef load_register(struct transfer *t, unsigned r)
{
    struct ptx_lower *l = t->l;
    LLVMTypeRef type = piece_type(t);
    unsigned pieces = t->whole ? 1 : t->f.per, bytes = t->f.type == PTX_F64 ? 8 : t->whole ? 4 : t->f.bits / 8;
    LLVMValueRef v = NULL;
    for (unsigned e = 0; e < pieces; e++) {
        LLVMValueRef part = LLVMBuildLoad2(l->builder, type, element_address(t, r * t->f.per + e), "");
        LLVMSetAlignment(part, bytes);
        if (pieces > 1)
            part = b_shl(l, b_zext(l, part, l->i32), b_i32(l, e * t->f.bits));
        v = v ? b_or(l, v, part) : part;
    }
    return v;
}

static void store_register(struct transfer *t, unsigned r, LLVMValueRef v)
{
    struct ptx_lower *l = t->l;
    LLVMTypeRef type = piece_type(t);
    unsigned pieces = t->whole ? 1 : t->f.per, bytes = t->f.type == PTX_F64 ? 8 : t->whole ? 4 : t->f.bits / 8;
    for (unsigned e = 0; e < pieces; e++) {
        LLVMValueRef part = pieces > 1 ? b_trunc(l, b_lshr(l, v, b_i32(l, e * t->f.bits)), type) : v;
        LLVMSetAlignment(LLVMBuildStore(l->builder, part, element_address(t, r * t->f.per + e)), bytes);
    }
}

bool ptx_lower_wmma_load(struct ptx_lower *l, const struct ptx_instr *in)
{
    struct transfer t;
    LLVMValueRef regs[PTX_FRAGMENT_REGS];
    if (!transfer_begin(&t, l, in, &in->ops[1], in->n_ops > 2 ? &in->ops[2] : NULL))
        return false;
    unsigned n = ptx_matrix_registers(in, &t.f);
    for (unsigned r = 0; r < n; r++)
        regs[r] = r < t.f.regs ? load_register(&t, r) : regs[r - t.f.regs];
    return ptx_matrix_write(l, &in->ops[0], register_type(&t), n, regs);
}

bool ptx_lower_wmma_store(struct ptx_lower *l, const struct ptx_instr *in)
{
    struct transfer t;
    LLVMValueRef regs[PTX_FRAGMENT_REGS];
    if (!transfer_begin(&t, l, in, &in->ops[0], in->n_ops > 2 ? &in->ops[2] : NULL) ||
        !ptx_matrix_read(l, &in->ops[1], register_type(&t), t.f.regs, regs))
        return false;
    for (unsigned r = 0; r < t.f.regs; r++)
        store_register(&t, r, regs[r]);
    return true;
}

/* ---- ldmatrix, stmatrix: 8x8 matrices of 16 bits; lane 8*i + j has the address of row j of matrix i */

/* The addresses travel as offsets in the block's shared memory, which is where they must lead.  NULL after an error. */
static LLVMValueRef row_offset(struct ptx_lower *l, const struct ptx_instr *in, const struct ptx_operand *address)
{
    LLVMValueRef p = ptx_address(l, address, in->space);
    unsigned as = LLVMGetPointerAddressSpace(LLVMTypeOf(p));
    if (as != AS_SHARED && as != AS_GENERIC) {
        ptx_lower_error(l, address->loc, "the address must be in shared memory");
        return NULL;
    }
    return b_ptrtoint(l, as == AS_SHARED ? p : b_spacecast(l, p, l->ptr[AS_SHARED]), l->i32);
}

static unsigned matrices(const struct ptx_instr *in)
{
    return ptx_has(in, PTX_MOD_X4) ? 4 : ptx_has(in, PTX_MOD_X2) ? 2 : 1;
}

/* Where the lane's elements of matrix `i` lie: one address of two neighbours, or, transposed, two addresses of one each. */
static void row_places(struct ptx_lower *l, const struct ptx_instr *in, LLVMValueRef offset, unsigned i,
                       LLVMValueRef ret_places[2])
{
    LLVMValueRef lane = b_simt(l, PTX_SIMT_LANEID, NULL), g = b_lshr(l, lane, b_i32(l, 2)), t = b_and(l, lane, b_i32(l, 3));
    bool trans = ptx_has(in, PTX_MOD_TRANS);
    for (unsigned e = 0; e < (trans ? 2u : 1u); e++) {
        LLVMValueRef row = trans ? b_or(l, b_shl(l, t, b_i32(l, 1)), b_i32(l, e)) : g;
        LLVMValueRef start = ptx_matrix_shuffle(l, offset, b_or(l, row, b_i32(l, 8 * i)));
        LLVMValueRef within = trans ? b_shl(l, g, b_i32(l, 1)) : b_shl(l, t, b_i32(l, 2));
        ret_places[e] = b_inttoptr(l, b_add(l, start, within), l->ptr[AS_SHARED]);
    }
}

bool ptx_lower_ldmatrix(struct ptx_lower *l, const struct ptx_instr *in)
{
    unsigned n = matrices(in);
    LLVMValueRef offset = row_offset(l, in, &in->ops[1]), regs[4];
    if (!offset)
        return false;
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef at[2];
        row_places(l, in, offset, i, at);
        if (!ptx_has(in, PTX_MOD_TRANS)) {
            regs[i] = LLVMBuildLoad2(l->builder, l->i32, at[0], "");
            continue;
        }
        LLVMValueRef low = LLVMBuildLoad2(l->builder, l->i16, at[0], ""), high = LLVMBuildLoad2(l->builder, l->i16, at[1], "");
        regs[i] = b_or(l, b_zext(l, low, l->i32), b_shl(l, b_zext(l, high, l->i32), b_i32(l, 16)));
    }
    return ptx_matrix_write(l, &in->ops[0], PTX_B32, n, regs);
}

bool ptx_lower_stmatrix(struct ptx_lower *l, const struct ptx_instr *in)
{
    unsigned n = matrices(in);
    LLVMValueRef offset = row_offset(l, in, &in->ops[0]), regs[4];
    if (!offset || !ptx_matrix_read(l, &in->ops[1], PTX_B32, n, regs))
        return false;
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef at[2];
        row_places(l, in, offset, i, at);
        if (!ptx_has(in, PTX_MOD_TRANS)) {
            LLVMBuildStore(l->builder, regs[i], at[0]);
            continue;
        }
        LLVMBuildStore(l->builder, b_trunc(l, regs[i], l->i16), at[0]);
        LLVMBuildStore(l->builder, b_trunc(l, b_lshr(l, regs[i], b_i32(l, 16)), l->i16), at[1]);
    }
    return true;
}

/* movmatrix: the lane's row g, columns 2*t and 2*t + 1 of the transposed are rows 2*t and 2*t + 1, column g. */
bool ptx_lower_movmatrix(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMValueRef v = ptx_src(l, &in->ops[1], PTX_B32), lane = b_simt(l, PTX_SIMT_LANEID, NULL), r = NULL;
    LLVMValueRef g = b_lshr(l, lane, b_i32(l, 2)), t = b_and(l, lane, b_i32(l, 3));
    LLVMValueRef shift = b_shl(l, b_and(l, g, b_i32(l, 1)), b_i32(l, 4));
    for (unsigned e = 0; e < 2; e++) {
        LLVMValueRef from = b_or(l, b_or(l, b_shl(l, t, b_i32(l, 3)), b_i32(l, 4 * e)), b_lshr(l, g, b_i32(l, 1)));
        LLVMValueRef part = b_and(l, b_lshr(l, ptx_matrix_shuffle(l, v, from), shift), b_i32(l, 0xffff));
        r = r ? b_or(l, r, b_shl(l, part, b_i32(l, 16))) : part;
    }
    ptx_dst(l, &in->ops[0], PTX_B32, r);
    return true;
}
