/* Where the elements of a warp's matrices lie (matrix.h has the rule), and reading and writing fragments.  No arithmetic. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/matrix.h"

/* ---- Shapes */
static const struct {
    enum ptx_mod mod;
    struct ptx_matrix_shape shape;
} shapes[] = {
#define SHAPE(m, n, k) { PTX_MOD_M##m##N##n##K##k, { m, n, k } }
    SHAPE(8, 8, 4), SHAPE(8, 8, 16), SHAPE(8, 8, 32), SHAPE(8, 8, 128), SHAPE(16, 8, 4), SHAPE(16, 8, 8), SHAPE(16, 8, 16),
    SHAPE(16, 8, 32), SHAPE(16, 8, 64), SHAPE(16, 8, 128), SHAPE(16, 8, 256), SHAPE(16, 16, 8), SHAPE(16, 16, 16),
    SHAPE(8, 32, 16), SHAPE(32, 8, 16),
#undef SHAPE
};

bool ptx_matrix_shape(const struct ptx_instr *in, struct ptx_matrix_shape *ret_shape)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (ptx_has(in, shapes[i].mod)) {
            *ret_shape = shapes[i].shape;
            return true;
        }
    }
    return false;
}

struct ptx_fragment ptx_fragment(enum ptx_matrix_role role, struct ptx_matrix_shape shape, enum ptx_type type)
{
    struct ptx_fragment f = { .role = role, .type = type, .bits = ptx_type_bits(type) };
    f.rows = role == PTX_MATRIX_B ? shape.k : shape.m;
    f.cols = role == PTX_MATRIX_A ? shape.k : shape.n;
    f.reg = type == PTX_F64 ? PTX_F64 : PTX_B32;
    f.per = type == PTX_F64 ? 1 : 32 / f.bits;
    f.n = f.rows * f.cols / 32;
    f.regs = f.n / f.per;
    return f;
}

void ptx_fragment_at(const struct ptx_fragment *f, unsigned i, unsigned *ret_row, unsigned *ret_col)
{
    unsigned r = i / f->per, e = i % f->per, wide = 4 * f->per;
    if (f->role == PTX_MATRIX_A) {
        unsigned down = f->rows == 8 ? 1 : 2, across = f->cols / wide, step = r / down;
        *ret_row = r % down * 8 + step / across * 16;
        *ret_col = step % across * wide + e;
    } else if (f->role == PTX_MATRIX_B) {
        unsigned down = f->rows / wide;
        *ret_row = r % down * wide + e;
        *ret_col = r / down * 8;
    } else {
        unsigned down = f->rows == 8 ? 1 : 2, across = f->cols / 8, pair = i / 2, step = pair / down;
        *ret_row = pair % down * 8 + step / across * 16;
        *ret_col = step % across * 8 + i % 2;
    }
}

unsigned ptx_fragment_find(const struct ptx_fragment *f, unsigned block, unsigned k, unsigned *ret_t)
{
    unsigned wide = 4 * f->per, step = k / wide, r;
    *ret_t = k % wide / f->per;
    if (f->role == PTX_MATRIX_A) {
        unsigned down = f->rows == 8 ? 1 : 2;
        r = (block / down * (f->cols / wide) + step) * down + block % down;
    } else {
        r = block * (f->rows / wide) + step;
    }
    return r * f->per + k % f->per;
}

void ptx_fragment_lane(struct ptx_lower *l, const struct ptx_fragment *f, LLVMValueRef lane, LLVMValueRef *ret_row,
                       LLVMValueRef *ret_col)
{
    LLVMValueRef g = b_lshr(l, lane, b_i32(l, 2)), t = b_and(l, lane, b_i32(l, 3));
    t = b_mul(l, t, b_i32(l, f->role == PTX_MATRIX_C ? 2 : f->per));
    *ret_row = f->role == PTX_MATRIX_B ? t : g;
    *ret_col = f->role == PTX_MATRIX_B ? g : t;
}

/* PTX gives wmma's f16 fragments of a and b eight registers in every shape; where fewer are enough they are there several
 * times. */
unsigned ptx_matrix_registers(const struct ptx_instr *in, const struct ptx_fragment *f)
{
    bool padded = aw_str_is(in->mnemonic, "wmma") && f->type == PTX_F16 && f->role != PTX_MATRIX_C;
    return padded ? 8 : f->regs;
}

/* ---- Operands */
static bool fits(struct ptx_lower *l, const struct ptx_operand *op, enum ptx_type type, unsigned n, bool written)
{
    const struct ptx_operand *items;
    if (ptx_elements(op, &items) != n || (op->kind == PTX_OP_VECTOR && op->n_items == 0))
        return ptx_lower_error(l, op->loc, "operand must have %u register%s of %u bits", n, n == 1 ? "" : "s",
                               ptx_type_bits(type));
    for (unsigned i = 0; i < n; i++) {
        bool constant = items[i].kind == PTX_OP_INT || items[i].kind == PTX_OP_FLOAT;
        if (items[i].negate || (items[i].kind != PTX_OP_REG && (written ? items[i].kind != PTX_OP_SINK : !constant)))
            return ptx_lower_error(l, items[i].loc, "element %u of the operand must be a register", i + 1);
        if (items[i].kind == PTX_OP_REG &&
            (items[i].var->type == PTX_PRED || ptx_type_bits(items[i].var->type) != ptx_type_bits(type)))
            return ptx_lower_error(l, items[i].loc, "element %u of the operand must be a register of %u bits", i + 1,
                                   ptx_type_bits(type));
        if (items[i].kind == PTX_OP_REG && items[i].var->vec > 1 && !items[i].suffix.len)
            return ptx_lower_error(l, items[i].loc, "element %u of the operand is a whole vector register", i + 1);
    }
    return true;
}

bool ptx_matrix_read(struct ptx_lower *l, const struct ptx_operand *op, enum ptx_type type, unsigned n, LLVMValueRef *ret)
{
    const struct ptx_operand *items;
    if (!fits(l, op, type, n, false))
        return false;
    ptx_elements(op, &items);
    for (unsigned i = 0; i < n; i++)
        ret[i] = ptx_src(l, &items[i], type);
    return true;
}

bool ptx_matrix_write(struct ptx_lower *l, const struct ptx_operand *op, enum ptx_type type, unsigned n, LLVMValueRef *values)
{
    const struct ptx_operand *items;
    if (!fits(l, op, type, n, true))
        return false;
    ptx_elements(op, &items);
    for (unsigned i = 0; i < n; i++)
        ptx_dst(l, &items[i], type, values[i]);
    return true;
}

/* The type a register of accumulators is read as. */
static enum ptx_type accumulator(const struct ptx_fragment *f)
{
    return f->type == PTX_F16 ? PTX_B32 : f->type;
}

bool ptx_matrix_read_c(struct ptx_lower *l, const struct ptx_operand *op, const struct ptx_fragment *f, LLVMValueRef *ret)
{
    LLVMValueRef regs[PTX_FRAGMENT_REGS];
    if (!ptx_matrix_read(l, op, accumulator(f), f->regs, regs))
        return false;
    for (unsigned i = 0; i < f->n; i++)
        ret[i] = f->type == PTX_F16 ? ptx_matrix_element(l, regs[i / 2], PTX_F16, i % 2) : regs[i];
    return true;
}

/* Of wmma before PTX 6.5: infinities become the largest value, NaN zero. */
static LLVMValueRef satfinite(struct ptx_lower *l, LLVMValueRef v)
{
    bool half = LLVMTypeOf(v) == l->f16;
    LLVMValueRef bits = ptx_to_bits(l, v), sign = b_like(bits, half ? 0x8000 : 0x80000000);
    LLVMValueRef magnitude = b_and(l, bits, b_not(l, sign)), infinity = b_like(bits, half ? 0x7c00 : 0x7f800000);
    LLVMValueRef most = b_sub(l, bits, b_like(bits, 1));
    bits = b_select(l, b_eq(l, magnitude, infinity), most, bits);
    bits = b_select(l, b_ult(l, infinity, magnitude), b_like(bits, 0), bits);
    return ptx_from_bits(l, bits, LLVMTypeOf(v));
}

bool ptx_matrix_write_d(struct ptx_lower *l, const struct ptx_instr *in, const struct ptx_fragment *f, LLVMValueRef *values)
{
    bool clamp = ptx_is_float(f->type) && ptx_has(in, PTX_MOD_SATFINITE);
    LLVMValueRef regs[PTX_FRAGMENT_REGS];
    for (unsigned i = 0; i < f->n; i++) {
        LLVMValueRef v = f->type == PTX_F16 ? ptx_f32_to_f16(l, PTX_RN, values[i]) : values[i];
        if (clamp)
            v = satfinite(l, v);
        if (f->type != PTX_F16) {
            regs[i] = v;
            continue;
        }
        LLVMValueRef bits = b_zext(l, ptx_to_bits(l, v), l->i32);
        regs[i / 2] = i % 2 ? b_or(l, regs[i / 2], b_shl(l, bits, b_i32(l, 16))) : bits;
    }
    return ptx_matrix_write(l, &in->ops[0], accumulator(f), f->regs, regs);
}

/* ---- Elements */

/* e4m3 has the exponent's bias 8 below f16's and no infinity; e5m2 is the upper half of an f16. */
static LLVMValueRef float8(struct ptx_lower *l, LLVMValueRef byte, enum ptx_type type)
{
    LLVMValueRef v = b_trunc(l, byte, l->i16);
    if (type == PTX_E5M2)
        return b_fpext(l, b_bitcast(l, b_shl(l, v, b_int(l->i16, 8)), l->f16), l->f32);
    LLVMValueRef magnitude = b_and(l, v, b_int(l->i16, 0x7f)), sign = b_and(l, v, b_int(l->i16, 0x80));
    LLVMValueRef bits = b_or(l, b_shl(l, sign, b_int(l->i16, 8)), b_shl(l, magnitude, b_int(l->i16, 7)));
    LLVMValueRef f = b_fmul(l, b_fpext(l, b_bitcast(l, bits, l->f16), l->f32), b_real(l->f32, 256.0));
    LLVMValueRef nan = LLVMConstBitCast(b_i32(l, 0x7fffffff), l->f32);
    return b_select(l, b_eq(l, magnitude, b_int(l->i16, 0x7f)), nan, f);
}

LLVMValueRef ptx_matrix_element(struct ptx_lower *l, LLVMValueRef reg, enum ptx_type type, unsigned e)
{
    unsigned bits = ptx_type_bits(type);
    if (type == PTX_F64 || bits == 32)
        return type == PTX_TF32 ? b_bitcast(l, b_and(l, reg, b_i32(l, 0xffffe000)), l->f32) : reg;
    if (type == PTX_BF16)
        return b_bitcast(l, e ? b_and(l, reg, b_i32(l, 0xffff0000)) : b_shl(l, reg, b_i32(l, 16)), l->f32);
    if (ptx_is_signed(type))
        return b_ashr(l, b_shl(l, reg, b_i32(l, 32 - bits * (e + 1))), b_i32(l, 32 - bits));
    LLVMValueRef v = b_lshr(l, reg, b_i32(l, bits * e));
    if (type == PTX_F16)
        return b_fpext(l, b_bitcast(l, b_trunc(l, v, l->i16), l->f16), l->f32);
    v = b_and(l, v, b_i32(l, (1u << bits) - 1));
    return ptx_is_float(type) ? float8(l, v, type) : v;
}

/* ---- Shuffles of the whole warp */
static LLVMValueRef shuffle(struct ptx_lower *l, LLVMValueRef v, LLVMValueRef from, uint32_t clamp)
{
    LLVMTypeRef type = LLVMTypeOf(v);
    if (type == l->f64) {
        LLVMValueRef bits = b_bitcast(l, v, l->i64);
        LLVMValueRef low = shuffle(l, b_trunc(l, bits, l->i32), from, clamp);
        LLVMValueRef high = shuffle(l, b_trunc(l, b_lshr(l, bits, b_i64(l, 32)), l->i32), from, clamp);
        bits = b_or(l, b_zext(l, low, l->i64), b_shl(l, b_zext(l, high, l->i64), b_i64(l, 32)));
        return b_bitcast(l, bits, l->f64);
    }
    LLVMValueRef args[4] = { ptx_to_bits(l, v), from, b_i32(l, clamp), b_i32(l, UINT32_MAX) };
    LLVMValueRef call = b_simt(l, PTX_SIMT_SHFL_IDX, args);
    LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                             LLVMCreateStringAttribute(l->context, PTX_TOGETHER, sizeof PTX_TOGETHER - 1, "", 0));
    return ptx_from_bits(l, b_field(l, call, 0), type);
}

LLVMValueRef ptx_matrix_shuffle(struct ptx_lower *l, LLVMValueRef v, LLVMValueRef from)
{
    return shuffle(l, v, from, 0x1f);
}

LLVMValueRef ptx_matrix_shuffle4(struct ptx_lower *l, LLVMValueRef v, unsigned from)
{
    return shuffle(l, v, b_i32(l, from), 0x1c1f);
}
