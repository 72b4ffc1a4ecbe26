/* Comparison and selection: setp, set, selp, slct (PTX ISA 9.7.6, 9.7.7). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/internal.h"

static const struct {
    enum ptx_mod mod;
    LLVMIntPredicate s, u;
    LLVMRealPredicate f;
} comparisons[] = {
    { PTX_MOD_EQ, LLVMIntEQ, LLVMIntEQ, LLVMRealOEQ },    { PTX_MOD_NE, LLVMIntNE, LLVMIntNE, LLVMRealONE },
    { PTX_MOD_LT, LLVMIntSLT, LLVMIntULT, LLVMRealOLT },  { PTX_MOD_LE, LLVMIntSLE, LLVMIntULE, LLVMRealOLE },
    { PTX_MOD_GT, LLVMIntSGT, LLVMIntUGT, LLVMRealOGT },  { PTX_MOD_GE, LLVMIntSGE, LLVMIntUGE, LLVMRealOGE },
    { PTX_MOD_LO, LLVMIntULT, LLVMIntULT, LLVMRealOLT },  { PTX_MOD_LS, LLVMIntULE, LLVMIntULE, LLVMRealOLE },
    { PTX_MOD_HI, LLVMIntUGT, LLVMIntUGT, LLVMRealOGT },  { PTX_MOD_HS, LLVMIntUGE, LLVMIntUGE, LLVMRealOGE },
    { PTX_MOD_EQU, LLVMIntEQ, LLVMIntEQ, LLVMRealUEQ },   { PTX_MOD_NEU, LLVMIntNE, LLVMIntNE, LLVMRealUNE },
    { PTX_MOD_LTU, LLVMIntSLT, LLVMIntULT, LLVMRealULT }, { PTX_MOD_LEU, LLVMIntSLE, LLVMIntULE, LLVMRealULE },
    { PTX_MOD_GTU, LLVMIntSGT, LLVMIntUGT, LLVMRealUGT }, { PTX_MOD_GEU, LLVMIntSGE, LLVMIntUGE, LLVMRealUGE },
    { PTX_MOD_NUM, LLVMIntEQ, LLVMIntEQ, LLVMRealORD },   { PTX_MOD_NAN, LLVMIntEQ, LLVMIntEQ, LLVMRealUNO },
};

static LLVMValueRef compare(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type type, LLVMValueRef a,
                            LLVMValueRef b)
{
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++) {
        if (!ptx_has(in, comparisons[i].mod))
            continue;
        if (LLVMGetTypeKind(LLVMTypeOf(a)) != LLVMIntegerTypeKind)
            return b_fcmp(l, comparisons[i].f, a, b);
        return b_icmp(l, ptx_is_signed(type) ? comparisons[i].s : comparisons[i].u, a, b);
    }
    ptx_lower_unsupported(l, in, "comparison");
    return b_bool(l, false);
}

/* Operand of `type` (an element type) as something comparable: floats flushed where .ftz says, bf16 as f32. */
static LLVMValueRef comparable(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type type, LLVMValueRef v)
{
    if (type == PTX_BF16)
        return ptx_bf16_to_f32(l, v);
    if (!ptx_has(in, PTX_MOD_FTZ) || (type == PTX_F32 && l->flushing)) /* the machine's comparison does it */
        return v;
    return type == PTX_F32 || type == PTX_F16 ? ptx_flush(l, v) : v;
}

static LLVMValueRef combine(struct ptx_lower *l, const struct ptx_instr *in, LLVMValueRef r, LLVMValueRef c)
{
    if (!c)
        return r;
    return ptx_has(in, PTX_MOD_AND) ? b_and(l, r, c) : ptx_has(in, PTX_MOD_OR) ? b_or(l, r, c) : b_xor(l, r, c);
}

/* p gets (a cmp b) op c, q gets !(a cmp b) op c. */
static void write_pair(struct ptx_lower *l, const struct ptx_instr *in, LLVMValueRef r, LLVMValueRef c)
{
    const struct ptx_operand *d = &in->ops[0];
    if (d->kind != PTX_OP_PAIR) {
        ptx_dst(l, d, PTX_PRED, combine(l, in, r, c));
        return;
    }
    LLVMValueRef p = combine(l, in, r, c), q = combine(l, in, b_not(l, r), c);
    ptx_dst(l, &d->items[0], PTX_PRED, p);
    ptx_dst(l, &d->items[1], PTX_PRED, q);
}

bool ptx_lower_setp(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type type = in->types[0];
    LLVMValueRef a = ptx_src(l, &in->ops[1], type), b = ptx_src(l, &in->ops[2], type);
    LLVMValueRef c = in->n_ops > 3 ? ptx_src(l, &in->ops[3], PTX_PRED) : NULL;
    write_pair(l, in, compare(l, in, type, comparable(l, in, type, a), comparable(l, in, type, b)), c);
    return true;
}

static LLVMValueRef half_of(struct ptx_lower *l, LLVMValueRef pair, unsigned i, enum ptx_type element)
{
    LLVMValueRef part = b_trunc(l, b_lshr(l, pair, b_i32(l, 16 * i)), l->i16);
    return ptx_from_bits(l, part, ptx_llvm_type(l, element));
}

/* setp on pairs: p for the low halves, q for the high ones. */
bool ptx_lower_setp_x2(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type element = in->types[0] == PTX_F16X2 ? PTX_F16 : PTX_BF16;
    LLVMValueRef a = ptx_src(l, &in->ops[1], in->types[0]), b = ptx_src(l, &in->ops[2], in->types[0]), r[2];
    LLVMValueRef c = in->n_ops > 3 ? ptx_src(l, &in->ops[3], PTX_PRED) : NULL;
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef x = comparable(l, in, element, half_of(l, a, i, element));
        LLVMValueRef y = comparable(l, in, element, half_of(l, b, i, element));
        r[i] = combine(l, in, compare(l, in, element, x, y), c);
    }
    const struct ptx_operand *d = &in->ops[0];
    ptx_dst(l, d->kind == PTX_OP_PAIR ? &d->items[0] : d, PTX_PRED, r[0]);
    if (d->kind == PTX_OP_PAIR)
        ptx_dst(l, &d->items[1], PTX_PRED, r[1]);
    return true;
}

/* set: all ones (integers) or 1.0 (floats) where true.  types: result, operands. */
bool ptx_lower_set(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type to = in->types[0], type = in->types[1];
    LLVMValueRef a = ptx_src(l, &in->ops[1], type), b = ptx_src(l, &in->ops[2], type);
    LLVMValueRef c = in->n_ops > 3 ? ptx_src(l, &in->ops[3], PTX_PRED) : NULL;
    LLVMValueRef r = combine(l, in, compare(l, in, type, comparable(l, in, type, a), comparable(l, in, type, b)), c);
    LLVMTypeRef t = ptx_llvm_type(l, to);
    LLVMValueRef yes = to == PTX_BF16 ? b_int(l->i16, 0x3f80) : ptx_is_float(to) ? b_real(t, 1.0) : LLVMConstAllOnes(t);
    ptx_dst(l, &in->ops[0], to, b_select(l, r, yes, LLVMConstNull(t)));
    return true;
}

/* set on pairs: 1.0 or all ones per half. */
bool ptx_lower_set_x2(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type to = in->types[0], type = in->types[1], element = type == PTX_F16X2 ? PTX_F16 : PTX_BF16;
    uint32_t yes = to == PTX_F16X2 ? 0x3c00 : to == PTX_BF16X2 ? 0x3f80 : 0xffff;
    LLVMValueRef a = ptx_src(l, &in->ops[1], type), b = ptx_src(l, &in->ops[2], type), r = b_i32(l, 0);
    LLVMValueRef c = in->n_ops > 3 ? ptx_src(l, &in->ops[3], PTX_PRED) : NULL;
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef x = comparable(l, in, element, half_of(l, a, i, element));
        LLVMValueRef y = comparable(l, in, element, half_of(l, b, i, element));
        LLVMValueRef p = combine(l, in, compare(l, in, element, x, y), c);
        r = b_or(l, r, b_select(l, p, b_i32(l, yes << 16 * i), b_i32(l, 0)));
    }
    ptx_dst(l, &in->ops[0], PTX_B32, r);
    return true;
}

bool ptx_lower_selp(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type t = in->types[0];
    LLVMValueRef a = ptx_src(l, &in->ops[1], t), b = ptx_src(l, &in->ops[2], t);
    ptx_dst(l, &in->ops[0], t, b_select(l, ptx_src(l, &in->ops[3], PTX_PRED), a, b));
    return true;
}

/* slct: a where c >= 0, else b; a NaN takes b. */
bool ptx_lower_slct(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type t = in->types[0], by = in->types[1];
    LLVMValueRef a = ptx_src(l, &in->ops[1], t), b = ptx_src(l, &in->ops[2], t), c = ptx_src(l, &in->ops[3], by), take;
    if (by == PTX_F32)
        take = b_fcmp(l, LLVMRealOGE, c, b_real(l->f32, 0.0)); /* a subnormal flushed to zero compares alike but for -0 */
    else
        take = b_icmp(l, LLVMIntSGE, c, b_like(c, 0));
    if (by == PTX_F32 && ptx_has(in, PTX_MOD_FTZ))
        take = b_fcmp(l, LLVMRealOGE, ptx_flush(l, c), b_real(l->f32, 0.0));
    ptx_dst(l, &in->ops[0], t, b_select(l, take, a, b));
    return true;
}
