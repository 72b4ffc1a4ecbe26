/* Video instructions (PTX ISA 9.7.18): arithmetic on bytes and halves picked out of registers, scalar and on all parts at
 * once. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/internal.h"

#include <string.h>

/* A run of bits of a register; a whole one where no selector stands. */
struct video_part {
    unsigned shift, bits;
};

static bool part_of(struct ptx_lower *l, const struct ptx_operand *op, struct video_part *ret)
{
    struct aw_str s = op->suffix;
    *ret = (struct video_part){ 0, 32 };
    if (!s.len || op->kind != PTX_OP_REG)
        return true;
    unsigned each = s.ptr[0] == 'b' ? 8 : 16, index = s.len == 2 ? (unsigned)(s.ptr[1] - '0') : 32;
    if ((s.ptr[0] != 'b' && s.ptr[0] != 'h') || index >= 32 / each)
        return ptx_lower_error(l, op->loc, "'.%.*s' selects no byte (.b0 to .b3) nor half (.h0, .h1)", AW_STR_ARG(s));
    *ret = (struct video_part){ index * each, each };
    return true;
}

/* The register's bits without the sign that may stand before it. */
static LLVMValueRef plain(struct ptx_lower *l, const struct ptx_operand *op)
{
    struct ptx_operand positive = *op;
    positive.negate = op->negate && op->kind != PTX_OP_REG;
    return ptx_src(l, &positive, PTX_B32);
}

/* Widened to 64 bits: PTX counts with 33 and 34, none of whose values is lost. */
static LLVMValueRef widened(struct ptx_lower *l, LLVMValueRef v, struct video_part part, bool is_signed)
{
    v = b_trunc(l, b_lshr(l, v, b_i32(l, part.shift)), ptx_int_type(l, part.bits));
    return is_signed ? b_sext(l, v, l->i64) : b_zext(l, v, l->i64);
}

static LLVMValueRef signed_min_max(struct ptx_lower *l, bool max, LLVMValueRef a, LLVMValueRef b)
{
    return b_binary(l, max ? "llvm.smax" : "llvm.smin", a, b);
}

static LLVMValueRef absolute(struct ptx_lower *l, LLVMValueRef v)
{
    return b_select(l, b_slt(l, v, b_like(v, 0)), b_neg(l, v), v);
}

/* Into the range of an integer of `bits`. */
static LLVMValueRef clamp(struct ptx_lower *l, LLVMValueRef v, unsigned bits, bool is_signed)
{
    int64_t low = is_signed ? -((int64_t)1 << (bits - 1)) : 0;
    int64_t high = is_signed ? ((int64_t)1 << (bits - 1)) - 1 : ((int64_t)1 << bits) - 1;
    return signed_min_max(l, true, signed_min_max(l, false, v, b_like(v, (uint64_t)high)), b_like(v, (uint64_t)low));
}

/* ---- Operations, on values of 64 bits that hold any 33 */
static LLVMValueRef compare(struct ptx_lower *l, const struct ptx_instr *in, LLVMValueRef a, LLVMValueRef b)
{
    static const struct {
        enum ptx_mod mod;
        LLVMIntPredicate predicate;
    } table[] = {
        { PTX_MOD_EQ, LLVMIntEQ }, { PTX_MOD_NE, LLVMIntNE },  { PTX_MOD_LT, LLVMIntSLT },
        { PTX_MOD_LE, LLVMIntSLE }, { PTX_MOD_GT, LLVMIntSGT }, { PTX_MOD_GE, LLVMIntSGE },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (ptx_has(in, table[i].mod))
            return b_zext(l, b_icmp(l, table[i].predicate, a, b), l->i64);
    ptx_lower_unsupported(l, in, "comparison");
    return a;
}

static LLVMValueRef shift(struct ptx_lower *l, const struct ptx_instr *in, bool left, LLVMValueRef a, LLVMValueRef b)
{
    b = ptx_has(in, PTX_MOD_WRAP) ? b_and(l, b, b_i64(l, 31)) : b_umin(l, b, b_i64(l, 32));
    if (!left)
        return b_ashr(l, a, b);
    if (!ptx_has(in, PTX_MOD_SAT))
        return b_shl(l, a, b);
    /* By 32, 65 bits would be needed: the last place is made by a doubling that stays in range. */
    LLVMValueRef most = b_shl(l, a, b_umin(l, b, b_i64(l, 31)));
    return b_select(l, b_eq(l, b, b_i64(l, 32)), b_binary(l, "llvm.sadd.sat", most, most), most);
}

/* `name`: the mnemonic after its v, without the 2 or 4 of the SIMD forms. */
static LLVMValueRef operate(struct ptx_lower *l, const struct ptx_instr *in, struct aw_str name, LLVMValueRef a, LLVMValueRef b)
{
    if (aw_str_is(name, "add"))
        return b_add(l, a, b);
    if (aw_str_is(name, "sub"))
        return b_sub(l, a, b);
    if (aw_str_is(name, "absdiff"))
        return absolute(l, b_sub(l, a, b));
    if (aw_str_is(name, "min") || aw_str_is(name, "max"))
        return signed_min_max(l, aw_str_is(name, "max"), a, b);
    if (aw_str_is(name, "shl") || aw_str_is(name, "shr"))
        return shift(l, in, aw_str_is(name, "shl"), a, b);
    if (aw_str_is(name, "set"))
        return compare(l, in, a, b);
    if (aw_str_is(name, "avrg")) { /* rounds halves away from zero */
        LLVMValueRef sum = b_add(l, a, b), up = b_icmp(l, LLVMIntSGE, sum, b_i64(l, 0));
        return b_ashr(l, b_add(l, sum, b_zext(l, up, l->i64)), b_i64(l, 1));
    }
    ptx_lower_unsupported(l, in, "video operation");
    return a;
}

/* ---- Scalar */

/* vset has no destination type; its results are unsigned. */
static bool result_is_signed(const struct ptx_instr *in)
{
    return in->n_types == 3 && ptx_is_signed(in->types[0]);
}

static LLVMValueRef second_operation(struct ptx_lower *l, const struct ptx_instr *in, LLVMValueRef t, LLVMValueRef c)
{
    bool is_signed = result_is_signed(in);
    if (ptx_has(in, PTX_MOD_ADD))
        return b_add(l, t, c);
    if (ptx_has(in, PTX_MOD_MIN))
        return b_binary(l, is_signed ? "llvm.smin" : "llvm.umin", t, c);
    return b_binary(l, is_signed ? "llvm.smax" : "llvm.umax", t, c);
}

/* `t` in the place of one part of `c`. */
static LLVMValueRef merge(struct ptx_lower *l, struct video_part part, LLVMValueRef t, LLVMValueRef c)
{
    uint32_t mask = part.bits == 32 ? UINT32_MAX : ((1u << part.bits) - 1) << part.shift;
    return b_or(l, b_and(l, b_shl(l, t, b_i32(l, part.shift)), b_i32(l, mask)), b_and(l, c, b_i32(l, ~mask)));
}

bool ptx_lower_video(struct ptx_lower *l, const struct ptx_instr *in)
{
    struct video_part d, a, b;
    if (!part_of(l, &in->ops[0], &d) || !part_of(l, &in->ops[1], &a) || !part_of(l, &in->ops[2], &b))
        return false;
    if (d.bits < 32 && in->n_ops < 4)
        return ptx_lower_error(l, in->loc, "a part of a register is written only with the operand that gives its other parts");
    unsigned first = in->n_types - 2;
    LLVMValueRef x = widened(l, plain(l, &in->ops[1]), a, ptx_is_signed(in->types[first]));
    LLVMValueRef y = widened(l, plain(l, &in->ops[2]), b, ptx_is_signed(in->types[first + 1]));
    LLVMValueRef t = operate(l, in, (struct aw_str){ in->mnemonic.ptr + 1, in->mnemonic.len - 1 }, x, y);
    if (ptx_has(in, PTX_MOD_SAT))
        t = clamp(l, t, d.bits, result_is_signed(in));
    t = b_trunc(l, t, l->i32);
    if (in->n_ops == 4) {
        LLVMValueRef c = ptx_src(l, &in->ops[3], PTX_B32);
        bool second = ptx_has(in, PTX_MOD_ADD) || ptx_has(in, PTX_MOD_MIN) || ptx_has(in, PTX_MOD_MAX);
        t = second ? second_operation(l, in, t, c) : merge(l, d, t, c);
    }
    ptx_dst(l, &in->ops[0], PTX_B32, t);
    return true;
}

/* vmad: a * b + c, where minus signs are complements and a one at the bottom, as PTX has them.  Products of two unsigned values
 * with a signed result need 65 bits. */
bool ptx_lower_vmad(struct ptx_lower *l, const struct ptx_instr *in)
{
    const struct ptx_operand *ops = in->ops;
    struct video_part a, b;
    if (!part_of(l, &ops[1], &a) || !part_of(l, &ops[2], &b))
        return false;
    bool sa = ptx_is_signed(in->types[1]), sb = ptx_is_signed(in->types[2]), minus = ops[1].negate != ops[2].negate;
    if (minus && ops[3].negate)
        return ptx_lower_error(l, in->loc, "either the product or the last operand can be negated, not both");
    bool is_signed = sa || sb || minus || ops[3].negate;
    LLVMTypeRef type = is_signed ? l->i128 : l->i64;
    LLVMValueRef x = b_sresize(l, widened(l, plain(l, &ops[1]), a, sa), type);
    LLVMValueRef y = b_sresize(l, widened(l, plain(l, &ops[2]), b, sb), type);
    LLVMValueRef t = b_mul(l, x, y), c = plain(l, &ops[3]);
    c = ops[3].negate ? b_not(l, c) : c;
    c = is_signed ? b_sext(l, c, type) : b_zext(l, c, type);
    t = b_add(l, minus ? b_not(l, t) : t, c);
    t = b_add(l, t, b_int(type, minus || ops[3].negate || ptx_has(in, PTX_MOD_PO)));
    unsigned scale = ptx_has(in, PTX_MOD_SHR7) ? 7 : ptx_has(in, PTX_MOD_SHR15) ? 15 : 0;
    t = is_signed ? b_ashr(l, t, b_int(type, scale)) : b_lshr(l, t, b_int(type, scale));
    if (ptx_has(in, PTX_MOD_SAT) && is_signed)
        t = clamp(l, t, 32, true);
    else if (ptx_has(in, PTX_MOD_SAT)) /* may have all 64 bits */
        t = b_umin(l, t, b_int(type, UINT32_MAX));
    ptx_dst(l, &ops[0], PTX_B32, b_trunc(l, t, l->i32));
    return true;
}

/* ---- SIMD */

/* Which parts of the pair b:a each lane takes, from ".h32" or ".b7654"; the highest lane is written first. */
static bool lanes_of(struct ptx_lower *l, const struct ptx_operand *op, unsigned n, unsigned first, unsigned ret[4])
{
    struct aw_str s = op->kind == PTX_OP_REG ? op->suffix : (struct aw_str){ 0 };
    for (unsigned i = 0; i < n; i++)
        ret[i] = first + i;
    if (!s.len)
        return true;
    bool ok = s.len == n + 1 && s.ptr[0] == (n == 2 ? 'h' : 'b');
    for (unsigned i = 0; ok && i < n; i++) {
        ret[n - 1 - i] = (unsigned)(s.ptr[1 + i] - '0');
        ok = ret[n - 1 - i] < 2 * n;
    }
    return ok || ptx_lower_error(l, op->loc, "'.%.*s' selects no %u parts of the operands", AW_STR_ARG(s), n);
}

/* Which lanes are written, from ".h1" or ".b310": digits fall. */
static bool mask_of(struct ptx_lower *l, const struct ptx_operand *op, unsigned n, unsigned *ret_mask)
{
    struct aw_str s = op->kind == PTX_OP_REG ? op->suffix : (struct aw_str){ 0 };
    *ret_mask = (1u << n) - 1;
    if (!s.len)
        return true;
    bool ok = s.len >= 2 && s.len <= n + 1 && s.ptr[0] == (n == 2 ? 'h' : 'b');
    unsigned mask = 0, above = n;
    for (size_t i = 1; ok && i < s.len; i++) {
        unsigned lane = (unsigned)(s.ptr[i] - '0');
        ok = lane < above;
        mask |= ok ? 1u << lane : 0;
        above = lane;
    }
    *ret_mask = mask;
    return ok || ptx_lower_error(l, op->loc, "'.%.*s' is no mask of lanes", AW_STR_ARG(s));
}

bool ptx_lower_video_simd(struct ptx_lower *l, const struct ptx_instr *in)
{
    struct aw_str name = { in->mnemonic.ptr + 1, in->mnemonic.len - 2 };
    unsigned n = in->mnemonic.ptr[in->mnemonic.len - 1] == '2' ? 2 : 4, bits = 32 / n, mask, from[2][4];
    if (!mask_of(l, &in->ops[0], n, &mask) || !lanes_of(l, &in->ops[1], n, 0, from[0]) ||
        !lanes_of(l, &in->ops[2], n, n, from[1]))
        return false;
    unsigned first = in->n_types - 2;
    LLVMValueRef pair[2] = { ptx_src(l, &in->ops[1], PTX_B32), ptx_src(l, &in->ops[2], PTX_B32) };
    LLVMValueRef c = ptx_src(l, &in->ops[3], PTX_B32), r = c;
    for (unsigned i = 0; i < n; i++) {
        if (!(mask >> i & 1))
            continue;
        LLVMValueRef v[2];
        for (unsigned k = 0; k < 2; k++) {
            struct video_part part = { from[k][i] % n * bits, bits };
            v[k] = widened(l, pair[from[k][i] / n], part, ptx_is_signed(in->types[first + k]));
        }
        LLVMValueRef t = operate(l, in, name, v[0], v[1]);
        if (ptx_has(in, PTX_MOD_SAT))
            t = clamp(l, t, bits, result_is_signed(in));
        t = b_trunc(l, t, l->i32);
        r = ptx_has(in, PTX_MOD_ADD) ? b_add(l, r, t) : merge(l, (struct video_part){ i * bits, bits }, t, r);
    }
    ptx_dst(l, &in->ops[0], PTX_B32, r);
    return true;
}
