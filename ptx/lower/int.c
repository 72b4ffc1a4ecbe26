/* Integer arithmetic and bit fields (PTX ISA 9.7.1, 9.7.2).  Logic and shifts are in logic.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/internal.h"

/* Wide enough for every operand of `type`, twice. */
static LLVMTypeRef double_type(struct ptx_lower *l, enum ptx_type type)
{
    return ptx_int_type(l, 2 * ptx_type_bits(type));
}

static LLVMValueRef extend(struct ptx_lower *l, LLVMValueRef v, LLVMTypeRef to, bool is_signed)
{
    return is_signed ? b_sext(l, v, to) : b_zext(l, v, to);
}

static enum ptx_type double_of(enum ptx_type type)
{
    switch (type) {
    case PTX_U16: return PTX_U32;
    case PTX_S16: return PTX_S32;
    case PTX_U32: return PTX_U64;
    case PTX_S32: return PTX_S64;
    default: return PTX_B128;
    }
}

/* ---- add, sub and the carry chain */
static LLVMValueRef carry_flag(struct ptx_lower *l)
{
    if (!l->carry) {
        LLVMBasicBlockRef here = LLVMGetInsertBlock(l->builder);
        l->carry = ptx_entry_alloca(l, l->i1, 0, "cc");
        LLVMPositionBuilderBefore(l->builder, LLVMGetNextInstruction(l->carry));
        LLVMBuildStore(l->builder, b_bool(l, false), l->carry);
        LLVMPositionBuilderAtEnd(l->builder, here);
    }
    return l->carry;
}

/* a + b + carry-in, or a + ~b + carry-in, which is 1 where none is asked for; the carry out goes to CC.CF where asked.  So CC.CF
 * is the opposite of what a subtraction borrows, and one kind of operation reads what the other left as the machine's adder
 * would. */
static LLVMValueRef add_carry(struct ptx_lower *l, LLVMValueRef a, LLVMValueRef b, bool subtract, bool in, bool out)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    const char *op = subtract ? "llvm.usub.with.overflow" : "llvm.uadd.with.overflow";
    LLVMValueRef first = b_intrinsic(l, op, &type, 1, (LLVMValueRef[]){ a, b }, 2);
    LLVMValueRef sum = b_field(l, first, 0), carry = b_field(l, first, 1);
    if (in) {
        LLVMValueRef flag = LLVMBuildLoad2(l->builder, l->i1, carry_flag(l), ""),
                     bit = b_zext(l, subtract ? b_not(l, flag) : flag, type);
        LLVMValueRef second = b_intrinsic(l, op, &type, 1, (LLVMValueRef[]){ sum, bit }, 2);
        sum = b_field(l, second, 0);
        carry = b_or(l, carry, b_field(l, second, 1));
    }
    if (out)
        LLVMBuildStore(l->builder, subtract ? b_not(l, carry) : carry, carry_flag(l));
    return sum;
}

static bool add_sub(struct ptx_lower *l, const struct ptx_instr *in, bool subtract, bool carry_in)
{
    enum ptx_type t = in->types[0];
    LLVMValueRef a = ptx_src(l, &in->ops[1], t), b = ptx_src(l, &in->ops[2], t), r;
    if (ptx_has(in, PTX_MOD_SAT))
        r = b_binary(l, subtract ? "llvm.ssub.sat" : "llvm.sadd.sat", a, b);
    else if (carry_in || ptx_has(in, PTX_MOD_CC))
        r = add_carry(l, a, b, subtract, carry_in, ptx_has(in, PTX_MOD_CC));
    else
        r = subtract ? b_sub(l, a, b) : b_add(l, a, b);
    ptx_dst(l, &in->ops[0], t, r);
    return true;
}

bool ptx_lower_add(struct ptx_lower *l, const struct ptx_instr *in) { return add_sub(l, in, false, false); }
bool ptx_lower_sub(struct ptx_lower *l, const struct ptx_instr *in) { return add_sub(l, in, true, false); }
bool ptx_lower_addc(struct ptx_lower *l, const struct ptx_instr *in) { return add_sub(l, in, false, true); }
bool ptx_lower_subc(struct ptx_lower *l, const struct ptx_instr *in) { return add_sub(l, in, true, true); }

/* Two 16-bit halves added apart: add.u16x2, add.s16x2. */
bool ptx_lower_add_x2(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMValueRef a = ptx_src(l, &in->ops[1], PTX_B32), b = ptx_src(l, &in->ops[2], PTX_B32);
    LLVMValueRef low = b_and(l, b_add(l, a, b), b_i32(l, 0xffff));
    LLVMValueRef high = b_add(l, b_and(l, a, b_i32(l, 0xffff0000)), b_and(l, b, b_i32(l, 0xffff0000)));
    ptx_dst(l, &in->ops[0], PTX_B32, b_or(l, low, high));
    return true;
}

/* ---- mul, mad */
static LLVMValueRef multiply_high(struct ptx_lower *l, LLVMValueRef a, LLVMValueRef b, enum ptx_type t)
{
    LLVMTypeRef wide = double_type(l, t), type = LLVMTypeOf(a);
    LLVMValueRef p = b_mul(l, extend(l, a, wide, ptx_is_signed(t)), extend(l, b, wide, ptx_is_signed(t)));
    return b_trunc(l, b_lshr(l, p, b_like(p, ptx_type_bits(t))), type);
}

static LLVMValueRef multiply(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type t)
{
    LLVMValueRef a = ptx_src(l, &in->ops[1], t), b = ptx_src(l, &in->ops[2], t);
    if (ptx_has(in, PTX_MOD_HI))
        return multiply_high(l, a, b, t);
    if (ptx_has(in, PTX_MOD_WIDE)) {
        LLVMTypeRef wide = double_type(l, t);
        return b_mul(l, extend(l, a, wide, ptx_is_signed(t)), extend(l, b, wide, ptx_is_signed(t)));
    }
    return b_mul(l, a, b);
}

bool ptx_lower_mul(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type t = in->types[0], d = ptx_has(in, PTX_MOD_WIDE) ? double_of(t) : t;
    ptx_dst(l, &in->ops[0], d, multiply(l, in, t));
    return true;
}

static bool mad_with(struct ptx_lower *l, const struct ptx_instr *in, bool carry_in)
{
    enum ptx_type t = in->types[0], d = ptx_has(in, PTX_MOD_WIDE) ? double_of(t) : t;
    LLVMValueRef p = multiply(l, in, t), c = ptx_src(l, &in->ops[3], d), r;
    if (ptx_has(in, PTX_MOD_SAT)) /* mad.hi.sat.s32 */
        r = b_binary(l, "llvm.sadd.sat", p, c);
    else if (carry_in || ptx_has(in, PTX_MOD_CC))
        r = add_carry(l, p, c, false, carry_in, ptx_has(in, PTX_MOD_CC));
    else
        r = b_add(l, p, c);
    ptx_dst(l, &in->ops[0], d, r);
    return true;
}

bool ptx_lower_mad(struct ptx_lower *l, const struct ptx_instr *in) { return mad_with(l, in, false); }
bool ptx_lower_madc(struct ptx_lower *l, const struct ptx_instr *in) { return mad_with(l, in, true); }

/* The 48-bit product of 24-bit operands: bits 0..31, or 16..47 with .hi. */
static LLVMValueRef multiply_24(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type t = in->types[0];
    bool is_signed = ptx_is_signed(t);
    LLVMValueRef v[2];
    for (int i = 0; i < 2; i++) {
        v[i] = b_shl(l, ptx_src(l, &in->ops[1 + i], t), b_i32(l, 8));
        v[i] = is_signed ? b_ashr(l, v[i], b_i32(l, 8)) : b_lshr(l, v[i], b_i32(l, 8));
    }
    if (!ptx_has(in, PTX_MOD_HI))
        return b_mul(l, v[0], v[1]);
    LLVMValueRef p = b_mul(l, extend(l, v[0], l->i64, is_signed), extend(l, v[1], l->i64, is_signed));
    return b_trunc(l, b_lshr(l, p, b_i64(l, 16)), l->i32);
}

bool ptx_lower_mul24(struct ptx_lower *l, const struct ptx_instr *in)
{
    ptx_dst(l, &in->ops[0], in->types[0], multiply_24(l, in));
    return true;
}

bool ptx_lower_mad24(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMValueRef p = multiply_24(l, in), c = ptx_src(l, &in->ops[3], in->types[0]);
    ptx_dst(l, &in->ops[0], in->types[0],
            ptx_has(in, PTX_MOD_SAT) ? b_binary(l, "llvm.sadd.sat", p, c) : b_add(l, p, c));
    return true;
}

/* ---- div, rem: no trap and no poison for a zero divisor nor for MIN / -1.  The manual leaves division by zero open; on NVIDIA's
 * cards quotient and remainder are all ones, in every type (tests/recorded/isa.txt). */
static bool divide(struct ptx_lower *l, const struct ptx_instr *in, bool remainder)
{
    enum ptx_type t = in->types[0];
    LLVMValueRef a = ptx_src(l, &in->ops[1], t), b = ptx_src(l, &in->ops[2], t), r;
    LLVMValueRef zero = b_eq(l, b, b_like(b, 0)), one = b_like(b, 1);
    if (ptx_is_signed(t)) {
        LLVMValueRef min = b_shl(l, one, b_like(b, ptx_type_bits(t) - 1));
        LLVMValueRef over = b_and(l, b_eq(l, a, min), b_eq(l, b, b_like(b, UINT64_MAX)));
        LLVMValueRef safe = b_select(l, b_or(l, zero, over), one, b); /* MIN / 1 is what MIN / -1 wraps to */
        r = remainder ? b_srem(l, a, safe) : b_sdiv(l, a, safe);
    } else {
        LLVMValueRef safe = b_select(l, zero, one, b);
        r = remainder ? b_urem(l, a, safe) : b_udiv(l, a, safe);
    }
    ptx_dst(l, &in->ops[0], t, b_select(l, zero, b_like(b, UINT64_MAX), r));
    return true;
}

bool ptx_lower_div(struct ptx_lower *l, const struct ptx_instr *in) { return divide(l, in, false); }
bool ptx_lower_rem(struct ptx_lower *l, const struct ptx_instr *in) { return divide(l, in, true); }

/* ---- abs, neg, min, max, sad */
bool ptx_lower_abs(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMValueRef a = ptx_src(l, &in->ops[1], in->types[0]);
    LLVMValueRef r = b_select(l, b_slt(l, a, b_like(a, 0)), b_neg(l, a), a);
    ptx_dst(l, &in->ops[0], in->types[0], r);
    return true;
}

bool ptx_lower_neg(struct ptx_lower *l, const struct ptx_instr *in)
{
    ptx_dst(l, &in->ops[0], in->types[0], b_neg(l, ptx_src(l, &in->ops[1], in->types[0])));
    return true;
}

static LLVMValueRef min_max(struct ptx_lower *l, bool max, bool is_signed, LLVMValueRef a, LLVMValueRef b)
{
    return b_binary(l, is_signed ? max ? "llvm.smax" : "llvm.smin" : max ? "llvm.umax" : "llvm.umin", a, b);
}

bool ptx_lower_minmax(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type t = in->types[0];
    bool max = aw_str_is(in->mnemonic, "max");
    LLVMValueRef a = ptx_src(l, &in->ops[1], t), b = ptx_src(l, &in->ops[2], t);
    ptx_dst(l, &in->ops[0], t, min_max(l, max, ptx_is_signed(t), a, b));
    return true;
}

bool ptx_lower_sad(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type t = in->types[0];
    LLVMValueRef a = ptx_src(l, &in->ops[1], t), b = ptx_src(l, &in->ops[2], t), c = ptx_src(l, &in->ops[3], t);
    LLVMValueRef less = ptx_is_signed(t) ? b_slt(l, a, b) : b_ult(l, a, b);
    ptx_dst(l, &in->ops[0], t, b_add(l, c, b_select(l, less, b_sub(l, b, a), b_sub(l, a, b))));
    return true;
}

/* ---- Counting and searching bits: results are 32 bits wide */
bool ptx_lower_popc(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMValueRef n = b_unary(l, "llvm.ctpop", ptx_src(l, &in->ops[1], in->types[0]));
    ptx_dst(l, &in->ops[0], PTX_U32, b_resize(l, n, l->i32));
    return true;
}

static LLVMValueRef leading_zeros(struct ptx_lower *l, LLVMValueRef v)
{
    LLVMTypeRef type = LLVMTypeOf(v);
    return b_intrinsic(l, "llvm.ctlz", &type, 1, (LLVMValueRef[]){ v, b_bool(l, false) }, 2);
}

bool ptx_lower_clz(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMValueRef n = leading_zeros(l, ptx_src(l, &in->ops[1], in->types[0]));
    ptx_dst(l, &in->ops[0], PTX_U32, b_resize(l, n, l->i32));
    return true;
}

/* Position of the leading bit that is not a copy of the sign; all ones when there is none. */
bool ptx_lower_bfind(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type t = in->types[0];
    LLVMValueRef v = ptx_src(l, &in->ops[1], t);
    if (ptx_is_signed(t))
        v = b_xor(l, v, b_ashr(l, v, b_like(v, ptx_type_bits(t) - 1)));
    LLVMValueRef n = b_resize(l, leading_zeros(l, v), l->i32), top = b_i32(l, ptx_type_bits(t) - 1);
    LLVMValueRef found = ptx_has(in, PTX_MOD_SHIFTAMT) ? n : b_sub(l, top, n);
    ptx_dst(l, &in->ops[0], PTX_U32, b_select(l, b_eq(l, v, b_like(v, 0)), b_i32(l, UINT32_MAX), found));
    return true;
}

bool ptx_lower_brev(struct ptx_lower *l, const struct ptx_instr *in)
{
    ptx_dst(l, &in->ops[0], in->types[0], b_unary(l, "llvm.bitreverse", ptx_src(l, &in->ops[1], in->types[0])));
    return true;
}

/* ---- Bit fields.  Positions and lengths are the low 8 bits of 32-bit operands. */
static LLVMValueRef low_byte(struct ptx_lower *l, const struct ptx_operand *op, LLVMTypeRef type)
{
    return b_resize(l, b_and(l, ptx_src(l, op, PTX_U32), b_i32(l, 255)), type);
}

/* n ones from bit 0 up; all for n >= width. */
static LLVMValueRef ones(struct ptx_lower *l, LLVMValueRef n)
{
    unsigned width = b_bits(n);
    LLVMValueRef fits = b_ult(l, n, b_like(n, width)), bounded = b_select(l, fits, n, b_like(n, 0));
    LLVMValueRef some = b_sub(l, b_shl(l, b_like(n, 1), bounded), b_like(n, 1));
    return b_select(l, fits, some, b_like(n, UINT64_MAX));
}

bool ptx_lower_bfe(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type t = in->types[0];
    unsigned width = ptx_type_bits(t);
    LLVMValueRef a = ptx_src(l, &in->ops[1], t), r;
    LLVMValueRef pos = low_byte(l, &in->ops[2], LLVMTypeOf(a)), len = low_byte(l, &in->ops[3], LLVMTypeOf(a));
    if (ptx_is_signed(t)) {
        LLVMValueRef v = b_ashr(l, a, b_umin(l, pos, b_like(a, width - 1)));
        /* Beyond the top, v already has copies of the sign. */
        LLVMValueRef drop = b_sub(l, b_like(a, width), b_umin(l, len, b_like(a, width)));
        LLVMValueRef empty = b_eq(l, len, b_like(a, 0)), shift = b_select(l, empty, b_like(a, 0), drop);
        r = b_select(l, empty, b_like(a, 0), b_ashr(l, b_shl(l, v, shift), shift));
    } else {
        LLVMValueRef inside = b_ult(l, pos, b_like(a, width));
        LLVMValueRef v = b_lshr(l, a, b_select(l, inside, pos, b_like(a, 0)));
        r = b_and(l, b_select(l, inside, v, b_like(a, 0)), ones(l, len));
    }
    ptx_dst(l, &in->ops[0], t, r);
    return true;
}

/* ones(len) << pos, nothing beyond the top. */
static LLVMValueRef field_mask(struct ptx_lower *l, LLVMValueRef pos, LLVMValueRef len)
{
    LLVMValueRef inside = b_ult(l, pos, b_like(pos, b_bits(pos)));
    LLVMValueRef shifted = b_shl(l, ones(l, len), b_select(l, inside, pos, b_like(pos, 0)));
    return b_select(l, inside, shifted, b_like(pos, 0));
}

bool ptx_lower_bfi(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type t = in->types[0];
    LLVMValueRef a = ptx_src(l, &in->ops[1], t), b = ptx_src(l, &in->ops[2], t);
    LLVMValueRef pos = low_byte(l, &in->ops[3], LLVMTypeOf(a)), len = low_byte(l, &in->ops[4], LLVMTypeOf(a));
    LLVMValueRef mask = field_mask(l, pos, len);
    LLVMValueRef moved = b_shl(l, a, b_umin(l, pos, b_like(a, ptx_type_bits(t) - 1)));
    ptx_dst(l, &in->ops[0], t, b_or(l, b_and(l, b, b_not(l, mask)), b_and(l, moved, mask)));
    return true;
}

/* bmsk: a mask of `b` ones at position `a`; .clamp bounds both at 32, .wrap takes them modulo 32. */
bool ptx_lower_bmsk(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMValueRef a = ptx_src(l, &in->ops[1], PTX_U32), b = ptx_src(l, &in->ops[2], PTX_U32);
    if (ptx_has(in, PTX_MOD_WRAP)) {
        a = b_and(l, a, b_i32(l, 31));
        b = b_and(l, b, b_i32(l, 31));
    }
    ptx_dst(l, &in->ops[0], PTX_B32, field_mask(l, a, b));
    return true;
}

/* szext: sign- or zero-extends the low `b` bits. */
bool ptx_lower_szext(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type t = in->types[0];
    LLVMValueRef a = ptx_src(l, &in->ops[1], t), n = ptx_src(l, &in->ops[2], PTX_U32);
    n = ptx_has(in, PTX_MOD_WRAP) ? b_and(l, n, b_i32(l, 31)) : b_umin(l, n, b_i32(l, 32));
    LLVMValueRef empty = b_eq(l, n, b_i32(l, 0));
    LLVMValueRef shift = b_select(l, empty, b_i32(l, 0), b_sub(l, b_i32(l, 32), n)), up = b_shl(l, a, shift);
    LLVMValueRef r = ptx_is_signed(t) ? b_ashr(l, up, shift) : b_lshr(l, up, shift);
    ptx_dst(l, &in->ops[0], t, b_select(l, empty, b_i32(l, 0), r));
    return true;
}

/* fns: position of the n-th set bit from `base` up (n > 0) or down (n < 0), of `base` itself (n = 0), or all ones. */
bool ptx_lower_fns(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMValueRef mask = ptx_src(l, &in->ops[1], PTX_B32), base = ptx_src(l, &in->ops[2], PTX_B32), zero = b_i32(l, 0);
    LLVMValueRef n = ptx_src(l, &in->ops[3], PTX_S32), down = b_slt(l, n, zero), one = b_i32(l, 1);
    LLVMValueRef inside = b_ult(l, base, b_i32(l, 32)), from = b_and(l, base, b_i32(l, 31));
    /* Downwards is upwards in the mirror. */
    from = b_select(l, down, b_sub(l, b_i32(l, 31), from), from);
    LLVMValueRef m = b_select(l, down, b_unary(l, "llvm.bitreverse", mask), mask);
    LLVMValueRef keep = b_select(l, b_eq(l, n, zero), b_shl(l, one, from), b_shl(l, b_i32(l, UINT32_MAX), from));
    m = b_and(l, m, b_select(l, inside, keep, zero));
    LLVMValueRef count = b_select(l, down, b_neg(l, n), b_select(l, b_eq(l, n, zero), one, n));
    LLVMBasicBlockRef before = LLVMGetInsertBlock(l->builder), loop = ptx_block_new(l, "fns"), done = ptx_block_new(l, "");
    ptx_block_enter(l, loop);
    LLVMValueRef left = LLVMBuildPhi(l->builder, l->i32, ""), bits = LLVMBuildPhi(l->builder, l->i32, "");
    LLVMValueRef more = b_and(l, b_icmp(l, LLVMIntUGT, left, one), b_ne(l, bits, zero));
    LLVMValueRef next_bits = b_and(l, bits, b_sub(l, bits, one)), next_left = b_sub(l, left, one);
    LLVMBuildCondBr(l->builder, more, loop, done);
    LLVMAddIncoming(left, (LLVMValueRef[]){ count, next_left }, (LLVMBasicBlockRef[]){ before, loop }, 2);
    LLVMAddIncoming(bits, (LLVMValueRef[]){ m, next_bits }, (LLVMBasicBlockRef[]){ before, loop }, 2);
    LLVMPositionBuilderAtEnd(l->builder, done);
    LLVMValueRef at = b_intrinsic(l, "llvm.cttz", &l->i32, 1, (LLVMValueRef[]){ bits, b_bool(l, false) }, 2);
    at = b_select(l, down, b_sub(l, b_i32(l, 31), at), at);
    ptx_dst(l, &in->ops[0], PTX_B32, b_select(l, b_eq(l, bits, zero), b_i32(l, UINT32_MAX), at));
    return true;
}

/* ---- dp4a, dp2a: dot products of bytes */
static LLVMValueRef part(struct ptx_lower *l, LLVMValueRef v, unsigned index, unsigned bits, bool is_signed)
{
    LLVMValueRef p = b_trunc(l, b_lshr(l, v, b_i32(l, index * bits)), ptx_int_type(l, bits));
    return is_signed ? b_sext(l, p, l->i32) : b_zext(l, p, l->i32);
}

bool ptx_lower_dp4a(struct ptx_lower *l, const struct ptx_instr *in)
{
    bool sa = ptx_is_signed(in->types[0]), sb = ptx_is_signed(in->types[1]);
    LLVMValueRef a = ptx_src(l, &in->ops[1], PTX_B32), b = ptx_src(l, &in->ops[2], PTX_B32);
    LLVMValueRef r = ptx_src(l, &in->ops[3], PTX_B32);
    bool whole = l->target->features & PTX_TARGET_DOT4;
    if (whole)
        r = ptx_dot4(l, sa, sb, a, b, r);
    for (unsigned i = 0; i < 4 && !whole; i++)
        r = b_add(l, r, b_mul(l, part(l, a, i, 8, sa), part(l, b, i, 8, sb)));
    ptx_dst(l, &in->ops[0], PTX_B32, r);
    return true;
}

bool ptx_lower_dp2a(struct ptx_lower *l, const struct ptx_instr *in)
{
    bool sa = ptx_is_signed(in->types[0]), sb = ptx_is_signed(in->types[1]);
    unsigned first = ptx_has(in, PTX_MOD_HI) ? 2 : 0;
    LLVMValueRef a = ptx_src(l, &in->ops[1], PTX_B32), b = ptx_src(l, &in->ops[2], PTX_B32);
    LLVMValueRef r = ptx_src(l, &in->ops[3], PTX_B32);
    for (unsigned i = 0; i < 2; i++)
        r = b_add(l, r, b_mul(l, part(l, a, i, 16, sa), part(l, b, first + i, 8, sb)));
    ptx_dst(l, &in->ops[0], PTX_B32, r);
    return true;
}
