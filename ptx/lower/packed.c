/* Integers packed in a register: two halves or four bytes, each for itself (PTX ISA 9.7.1).  Unsigned saturation and .relu of a
 * whole register are one part of 32 bits.  The video instructions, which pick parts out of several registers, are in video.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/internal.h"

static unsigned part_bits(enum ptx_type type)
{
    switch (type) {
    case PTX_U8X4: case PTX_S8X4: return 8;
    case PTX_U16X2: case PTX_S16X2: return 16;
    default: return 32;
    }
}

static LLVMValueRef operate(struct ptx_lower *l, const struct ptx_instr *in, LLVMValueRef a, LLVMValueRef b)
{
    bool is_signed = ptx_is_signed(in->types[0]), sat = ptx_has(in, PTX_MOD_SAT);
    if (aw_str_is(in->mnemonic, "add"))
        return sat ? b_binary(l, is_signed ? "llvm.sadd.sat" : "llvm.uadd.sat", a, b) : b_add(l, a, b);
    if (aw_str_is(in->mnemonic, "sub"))
        return sat ? b_binary(l, is_signed ? "llvm.ssub.sat" : "llvm.usub.sat", a, b) : b_sub(l, a, b);
    if (aw_str_is(in->mnemonic, "neg"))
        return b_neg(l, a);
    bool max = aw_str_is(in->mnemonic, "max");
    LLVMValueRef r = b_binary(l, is_signed ? max ? "llvm.smax" : "llvm.smin" : max ? "llvm.umax" : "llvm.umin", a, b);
    return ptx_has(in, PTX_MOD_RELU) ? b_binary(l, "llvm.smax", r, b_like(r, 0)) : r;
}

bool ptx_lower_packed(struct ptx_lower *l, const struct ptx_instr *in)
{
    unsigned bits = part_bits(in->types[0]);
    LLVMTypeRef type = ptx_int_type(l, bits);
    LLVMValueRef a = ptx_src(l, &in->ops[1], PTX_B32), b = in->n_ops > 2 ? ptx_src(l, &in->ops[2], PTX_B32) : a, r = b_i32(l, 0);
    for (unsigned at = 0; at < 32; at += bits) {
        LLVMValueRef x = b_trunc(l, b_lshr(l, a, b_i32(l, at)), type), y = b_trunc(l, b_lshr(l, b, b_i32(l, at)), type);
        r = b_or(l, r, b_shl(l, b_zext(l, operate(l, in, x, y), l->i32), b_i32(l, at)));
    }
    ptx_dst(l, &in->ops[0], PTX_B32, r);
    return true;
}

/* ---- Products without carries.  Where only every fourth bit is taken of each factor, the sums of an ordinary product have room
 * up to the next bit that counts: 15 terms; the 16 that bit 60 may get carry beyond the top. */
static LLVMValueRef product_low(struct ptx_lower *l, LLVMValueRef a, LLVMValueRef b)
{
    const uint64_t every_fourth = 0x1111111111111111;
    LLVMValueRef x[4], y[4], r = b_i64(l, 0);
    for (unsigned i = 0; i < 4; i++) {
        x[i] = b_and(l, a, b_i64(l, every_fourth << i));
        y[i] = b_and(l, b, b_i64(l, every_fourth << i));
    }
    for (unsigned i = 0; i < 4; i++) {
        LLVMValueRef sum = b_i64(l, 0);
        for (unsigned k = 0; k < 4; k++)
            sum = b_xor(l, sum, b_mul(l, x[k], y[(i - k) & 3]));
        r = b_or(l, r, b_and(l, sum, b_i64(l, every_fourth << i)));
    }
    return r;
}

/* The high half is the low one of the mirrored factors, mirrored: bits 126 to 63. */
bool ptx_lower_clmad(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMValueRef a = ptx_src(l, &in->ops[1], PTX_U64), b = ptx_src(l, &in->ops[2], PTX_U64), r;
    if (ptx_has(in, PTX_MOD_HI)) {
        r = product_low(l, b_unary(l, "llvm.bitreverse", a), b_unary(l, "llvm.bitreverse", b));
        r = b_lshr(l, b_unary(l, "llvm.bitreverse", r), b_i64(l, 1));
    } else {
        r = product_low(l, a, b);
    }
    ptx_dst(l, &in->ops[0], PTX_U64, b_xor(l, r, ptx_src(l, &in->ops[3], PTX_U64)));
    return true;
}
