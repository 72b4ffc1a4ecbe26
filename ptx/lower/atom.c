/* Atomics: atom and red (PTX ISA 9.7.13.5, .6).  Formats that LLVM has no atomic for go through compare-and-swap. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/internal.h"

static LLVMAtomicOrdering order_of(const struct ptx_instr *in)
{
    return ptx_has(in, PTX_MOD_ACQ_REL) ? LLVMAtomicOrderingAcquireRelease
           : ptx_has(in, PTX_MOD_ACQUIRE) ? LLVMAtomicOrderingAcquire
           : ptx_has(in, PTX_MOD_RELEASE) ? LLVMAtomicOrderingRelease
                                          : LLVMAtomicOrderingMonotonic;
}

/* Without a word the scope is .gpu. */
static unsigned scope_of(struct ptx_lower *l, const struct ptx_instr *in)
{
    const char *name = ptx_has(in, PTX_MOD_CTA) ? "workgroup" : ptx_has(in, PTX_MOD_SYS) ? "" : "agent";
    return LLVMGetSyncScopeID(l->context, name, strlen(name));
}

static LLVMAtomicOrdering failure_order(LLVMAtomicOrdering order)
{
    return order == LLVMAtomicOrderingAcquireRelease ? LLVMAtomicOrderingAcquire
           : order == LLVMAtomicOrderingRelease ? LLVMAtomicOrderingMonotonic : order;
}

/* The old value. */
static LLVMValueRef exchange_if(struct ptx_lower *l, const struct ptx_instr *in, LLVMValueRef p, LLVMValueRef expected,
                                LLVMValueRef desired, LLVMValueRef *ret_swapped)
{
    LLVMAtomicOrdering order = order_of(in);
    LLVMValueRef x = LLVMBuildAtomicCmpXchgSyncScope(l->builder, p, expected, desired, order, failure_order(order),
                                                     scope_of(l, in));
    LLVMSetAlignment(x, b_bits(expected) / 8);
    if (ret_swapped)
        *ret_swapped = b_field(l, x, 1);
    return b_field(l, x, 0);
}

/* Swaps in what `update` makes of the old bits until no one came between.  Returns the old bits. */
typedef LLVMValueRef update_fn(struct ptx_lower *l, enum ptx_type type, LLVMValueRef old, LLVMValueRef b);
static LLVMValueRef swap_loop(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type type, LLVMValueRef p,
                              LLVMValueRef b, update_fn *update)
{
    LLVMTypeRef bits = ptx_int_type(l, ptx_type_bits(type));
    LLVMValueRef first = LLVMBuildLoad2(l->builder, bits, p, ""), swapped;
    LLVMSetAlignment(first, ptx_type_bits(type) / 8);
    LLVMSetOrdering(first, LLVMAtomicOrderingMonotonic);
    LLVMSetAtomicSyncScopeID(first, scope_of(l, in));
    LLVMBasicBlockRef before = LLVMGetInsertBlock(l->builder), loop = ptx_block_new(l, "swap");
    ptx_block_enter(l, loop);
    LLVMValueRef old = LLVMBuildPhi(l->builder, bits, "");
    LLVMValueRef seen = exchange_if(l, in, p, old, ptx_to_bits(l, update(l, type, old, b)), &swapped);
    LLVMBasicBlockRef done = ptx_block_new(l, ""), end = LLVMGetInsertBlock(l->builder);
    LLVMBuildCondBr(l->builder, swapped, done, loop);
    LLVMAddIncoming(old, (LLVMValueRef[]){ first, seen }, (LLVMBasicBlockRef[]){ before, end }, 2);
    LLVMPositionBuilderAtEnd(l->builder, done);
    return old; /* equals what was seen, as the swap succeeded */
}

/* ---- f16 and bf16 sums: per half */
static LLVMValueRef add_small(struct ptx_lower *l, enum ptx_type element, LLVMValueRef old, LLVMValueRef b)
{
    if (element == PTX_F16)
        return ptx_to_bits(l, b_fadd(l, b_bitcast(l, old, l->f16), b_bitcast(l, b, l->f16)));
    return ptx_f32_to_bf16(l, PTX_RN, b_fadd(l, ptx_bf16_to_f32(l, old), ptx_bf16_to_f32(l, b)));
}

static LLVMValueRef update_add(struct ptx_lower *l, enum ptx_type type, LLVMValueRef old, LLVMValueRef b)
{
    if (type == PTX_F16 || type == PTX_BF16)
        return add_small(l, type, old, b);
    enum ptx_type element = type == PTX_F16X2 ? PTX_F16 : PTX_BF16;
    LLVMValueRef r = b_i32(l, 0);
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef x = b_trunc(l, b_lshr(l, old, b_i32(l, 16 * i)), l->i16);
        LLVMValueRef y = b_trunc(l, b_lshr(l, b, b_i32(l, 16 * i)), l->i16);
        r = b_or(l, r, b_shl(l, b_zext(l, add_small(l, element, x, y), l->i32), b_i32(l, 16 * i)));
    }
    return r;
}

/* ---- The operations LLVM knows */
static bool operation_of(const struct ptx_instr *in, enum ptx_type type, LLVMAtomicRMWBinOp *ret_op)
{
    bool is_signed = ptx_is_signed(type);
    static const struct {
        enum ptx_mod mod;
        LLVMAtomicRMWBinOp op;
    } simple[] = {
        { PTX_MOD_AND, LLVMAtomicRMWBinOpAnd }, { PTX_MOD_OR, LLVMAtomicRMWBinOpOr },
        { PTX_MOD_XOR, LLVMAtomicRMWBinOpXor }, { PTX_MOD_EXCH, LLVMAtomicRMWBinOpXchg },
        { PTX_MOD_INC, LLVMAtomicRMWBinOpUIncWrap }, { PTX_MOD_DEC, LLVMAtomicRMWBinOpUDecWrap },
    };
    for (size_t i = 0; i < sizeof simple / sizeof *simple; i++) {
        if (ptx_has(in, simple[i].mod)) {
            *ret_op = simple[i].op;
            return true;
        }
    }
    if (ptx_has(in, PTX_MOD_ADD))
        *ret_op = ptx_is_float(type) ? LLVMAtomicRMWBinOpFAdd : LLVMAtomicRMWBinOpAdd;
    else if (ptx_has(in, PTX_MOD_MIN))
        *ret_op = is_signed ? LLVMAtomicRMWBinOpMin : LLVMAtomicRMWBinOpUMin;
    else if (ptx_has(in, PTX_MOD_MAX))
        *ret_op = is_signed ? LLVMAtomicRMWBinOpMax : LLVMAtomicRMWBinOpUMax;
    else
        return false;
    return true;
}

static LLVMValueRef read_modify_write(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type type, LLVMValueRef p,
                                      LLVMValueRef b)
{
    LLVMAtomicRMWBinOp op;
    if (!operation_of(in, type, &op)) {
        ptx_lower_unsupported(l, in, "atomic operation");
        return b;
    }
    LLVMValueRef x = LLVMBuildAtomicRMWSyncScope(l->builder, op, p, b, order_of(in), scope_of(l, in));
    LLVMSetAlignment(x, ptx_type_bits(type) / 8);
    return x;
}

/* `first` is the index of the address operand. */
static LLVMValueRef atomic(struct ptx_lower *l, const struct ptx_instr *in, unsigned first)
{
    enum ptx_type type = in->types[0];
    LLVMValueRef p = ptx_address(l, &in->ops[first], in->space), b = ptx_src(l, &in->ops[first + 1], type);
    if (ptx_has(in, PTX_MOD_CAS))
        return exchange_if(l, in, p, b, ptx_src(l, &in->ops[first + 2], type), NULL);
    if (type == PTX_F16 || type == PTX_BF16 || type == PTX_F16X2 || type == PTX_BF16X2)
        return swap_loop(l, in, type, p, ptx_to_bits(l, b), update_add);
    return read_modify_write(l, in, type, p, b);
}

bool ptx_lower_atom(struct ptx_lower *l, const struct ptx_instr *in)
{
    ptx_dst(l, &in->ops[0], in->types[0], atomic(l, in, 1));
    return true;
}

bool ptx_lower_red(struct ptx_lower *l, const struct ptx_instr *in)
{
    atomic(l, in, 0);
    return true;
}
