/* Logic, shifts, permutes (PTX ISA 9.7.8 and 9.7.9.7). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/internal.h"

bool ptx_lower_logic(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type t = in->types[0];
    LLVMValueRef a = ptx_src(l, &in->ops[1], t), b = ptx_src(l, &in->ops[2], t), r;
    if (aw_str_is(in->mnemonic, "and"))
        r = b_and(l, a, b);
    else if (aw_str_is(in->mnemonic, "or"))
        r = b_or(l, a, b);
    else
        r = b_xor(l, a, b);
    ptx_dst(l, &in->ops[0], t, r);
    return true;
}

bool ptx_lower_not(struct ptx_lower *l, const struct ptx_instr *in)
{
    ptx_dst(l, &in->ops[0], in->types[0], b_not(l, ptx_src(l, &in->ops[1], in->types[0])));
    return true;
}

bool ptx_lower_cnot(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMValueRef a = ptx_src(l, &in->ops[1], in->types[0]);
    ptx_dst(l, &in->ops[0], in->types[0], b_zext(l, b_eq(l, a, b_like(a, 0)), LLVMTypeOf(a)));
    return true;
}

/* ---- Shifts: amounts are 32 bits wide whatever the type, and beyond the width shift everything out */
bool ptx_lower_shl(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type t = in->types[0];
    unsigned width = ptx_type_bits(t);
    LLVMValueRef a = ptx_src(l, &in->ops[1], t), n = ptx_src(l, &in->ops[2], PTX_U32);
    LLVMValueRef inside = b_ult(l, n, b_i32(l, width));
    LLVMValueRef amount = b_resize(l, b_and(l, n, b_i32(l, width - 1)), LLVMTypeOf(a));
    ptx_dst(l, &in->ops[0], t, b_select(l, inside, b_shl(l, a, amount), b_like(a, 0)));
    return true;
}

bool ptx_lower_shr(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type t = in->types[0];
    unsigned width = ptx_type_bits(t);
    LLVMValueRef a = ptx_src(l, &in->ops[1], t), n = ptx_src(l, &in->ops[2], PTX_U32), r;
    if (ptx_is_signed(t)) {
        LLVMValueRef amount = b_umin(l, n, b_i32(l, width - 1));
        r = b_ashr(l, a, b_resize(l, amount, LLVMTypeOf(a)));
    } else {
        LLVMValueRef inside = b_ult(l, n, b_i32(l, width));
        LLVMValueRef amount = b_resize(l, b_and(l, n, b_i32(l, width - 1)), LLVMTypeOf(a));
        r = b_select(l, inside, b_lshr(l, a, amount), b_like(a, 0));
    }
    ptx_dst(l, &in->ops[0], t, r);
    return true;
}

/* shf.l: the high word of (b:a) << n; shf.r: the low word of (b:a) >> n; n modulo 32, or at most 32 with .clamp. */
bool ptx_lower_shf(struct ptx_lower *l, const struct ptx_instr *in)
{
    bool left = ptx_has(in, PTX_MOD_L);
    LLVMValueRef a = ptx_src(l, &in->ops[1], PTX_B32), b = ptx_src(l, &in->ops[2], PTX_B32);
    LLVMValueRef n = ptx_src(l, &in->ops[3], PTX_U32);
    LLVMValueRef args[3] = { b, a, b_and(l, n, b_i32(l, 31)) };
    LLVMValueRef r = b_intrinsic(l, left ? "llvm.fshl" : "llvm.fshr", &l->i32, 1, args, 3);
    if (ptx_has(in, PTX_MOD_CLAMP))
        r = b_select(l, b_ult(l, n, b_i32(l, 32)), r, left ? a : b);
    ptx_dst(l, &in->ops[0], PTX_B32, r);
    return true;
}

/* ---- lop3: any function of three bits, as the 8 bits of its table at a = 0xF0, b = 0xCC, c = 0xAA */

/* The function of b and c whose table is the 4 bits `lut`. */
static LLVMValueRef two_inputs(struct ptx_lower *l, unsigned lut, LLVMValueRef b, LLVMValueRef c)
{
    switch (lut & 15) {
    case 0x0: return b_i32(l, 0);
    case 0x1: return b_not(l, b_or(l, b, c));
    case 0x2: return b_and(l, b_not(l, b), c);
    case 0x3: return b_not(l, b);
    case 0x4: return b_and(l, b, b_not(l, c));
    case 0x5: return b_not(l, c);
    case 0x6: return b_xor(l, b, c);
    case 0x7: return b_not(l, b_and(l, b, c));
    case 0x8: return b_and(l, b, c);
    case 0x9: return b_not(l, b_xor(l, b, c));
    case 0xa: return c;
    case 0xb: return b_or(l, b_not(l, b), c);
    case 0xc: return b;
    case 0xd: return b_or(l, b, b_not(l, c));
    case 0xe: return b_or(l, b, c);
    default: return b_i32(l, UINT32_MAX);
    }
}

static LLVMValueRef three_inputs(struct ptx_lower *l, unsigned lut, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    unsigned off = lut & 15, on = lut >> 4 & 15;
    if (on == off)
        return two_inputs(l, off, b, c);
    if (on == (off ^ 15))
        return b_xor(l, a, two_inputs(l, off, b, c));
    if (off == 0)
        return on == 15 ? a : b_and(l, a, two_inputs(l, on, b, c));
    if (on == 0)
        return b_and(l, b_not(l, a), two_inputs(l, off, b, c));
    if (on == 15)
        return b_or(l, a, two_inputs(l, off, b, c));
    if (off == 15)
        return b_or(l, b_not(l, a), two_inputs(l, on, b, c));
    return b_xor(l, two_inputs(l, off, b, c), b_and(l, a, two_inputs(l, on ^ off, b, c)));
}

bool ptx_lower_lop3(struct ptx_lower *l, const struct ptx_instr *in)
{
    if (in->ops[4].kind != PTX_OP_INT || in->ops[4].bits > 255)
        return ptx_lower_error(l, in->ops[4].loc, "the table must be a constant below 256");
    LLVMValueRef a = ptx_src(l, &in->ops[1], PTX_B32), b = ptx_src(l, &in->ops[2], PTX_B32);
    LLVMValueRef c = ptx_src(l, &in->ops[3], PTX_B32), r = three_inputs(l, (unsigned)in->ops[4].bits, a, b, c);
    if (in->n_ops == 5) {
        ptx_dst(l, &in->ops[0], PTX_B32, r);
        return true;
    }
    /* lop3.and, lop3.or: the predicate says whether any bit is set, joined with q */
    LLVMValueRef any = b_ne(l, r, b_i32(l, 0)), q = ptx_src(l, &in->ops[5], PTX_PRED);
    ptx_dst_pair(l, &in->ops[0], PTX_B32, r, ptx_has(in, PTX_MOD_AND) ? b_and(l, any, q) : b_or(l, any, q));
    return true;
}

/* ---- prmt */

/* Byte `index` (0..7, an i32) of the 64-bit `pair`, with the sign replicated where `sign` (i1) holds, at place 8 * to. */
static LLVMValueRef pick_byte(struct ptx_lower *l, LLVMValueRef pair, LLVMValueRef index, LLVMValueRef sign, unsigned to)
{
    LLVMValueRef shift = b_zext(l, b_shl(l, index, b_i32(l, 3)), l->i64);
    LLVMValueRef byte = b_trunc(l, b_lshr(l, pair, shift), l->i8);
    LLVMValueRef signs = b_ashr(l, byte, b_int(l->i8, 7));
    byte = b_select(l, sign, signs, byte);
    return b_shl(l, b_zext(l, byte, l->i32), b_i32(l, 8 * to));
}

/* The byte that goes to place `to` in one of the named modes, for selector `c` in 0..3. */
static LLVMValueRef prmt_index(struct ptx_lower *l, const struct ptx_instr *in, LLVMValueRef c, unsigned to)
{
    LLVMValueRef place = b_i32(l, to);
    if (ptx_has(in, PTX_MOD_F4E)) /* bytes c .. c+3 */
        return b_add(l, c, place);
    if (ptx_has(in, PTX_MOD_B4E)) /* c, c-1 .. modulo 8 */
        return b_and(l, b_sub(l, c, place), b_i32(l, 7));
    if (ptx_has(in, PTX_MOD_RC8)) /* byte c everywhere */
        return c;
    if (ptx_has(in, PTX_MOD_ECL)) /* bytes below c take byte c */
        return b_binary(l, "llvm.umax", place, c);
    if (ptx_has(in, PTX_MOD_ECR)) /* bytes above c take byte c */
        return b_umin(l, place, c);
    /* rc16: the half-word that c's low bit names, twice */
    return b_or(l, b_shl(l, b_and(l, c, b_i32(l, 1)), b_i32(l, 1)), b_i32(l, to & 1));
}

bool ptx_lower_prmt(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMValueRef a = ptx_src(l, &in->ops[1], PTX_B32), b = ptx_src(l, &in->ops[2], PTX_B32);
    LLVMValueRef c = ptx_src(l, &in->ops[3], PTX_B32), r = b_i32(l, 0);
    LLVMValueRef pair = b_or(l, b_zext(l, a, l->i64), b_shl(l, b_zext(l, b, l->i64), b_i64(l, 32)));
    bool general = !ptx_has(in, PTX_MOD_F4E) && !ptx_has(in, PTX_MOD_B4E) && !ptx_has(in, PTX_MOD_RC8) &&
                   !ptx_has(in, PTX_MOD_ECL) && !ptx_has(in, PTX_MOD_ECR) && !ptx_has(in, PTX_MOD_RC16);
    for (unsigned i = 0; i < 4; i++) {
        LLVMValueRef index, sign = b_bool(l, false);
        if (general) {
            LLVMValueRef nibble = b_lshr(l, c, b_i32(l, 4 * i));
            index = b_and(l, nibble, b_i32(l, 7));
            sign = b_ne(l, b_and(l, nibble, b_i32(l, 8)), b_i32(l, 0));
        } else {
            index = prmt_index(l, in, b_and(l, c, b_i32(l, 3)), i);
        }
        r = b_or(l, r, pick_byte(l, pair, index, sign, i));
    }
    ptx_dst(l, &in->ops[0], PTX_B32, r);
    return true;
}
