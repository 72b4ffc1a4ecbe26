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

unsigned ptx_scope(struct ptx_lower *l, const char *name)
{
    return LLVMGetSyncScopeID(l->context, name, strlen(name));
}

/* Without a word the scope is .gpu. */
static struct ptx_atomic atomic_of(struct ptx_lower *l, const struct ptx_instr *in)
{
    const char *scope = ptx_has(in, PTX_MOD_CTA) ? "workgroup" : ptx_has(in, PTX_MOD_SYS) ? "" : "agent";
    return (struct ptx_atomic){ in, in->types[0], order_of(in), ptx_scope(l, scope) };
}

static LLVMAtomicOrdering failure_order(LLVMAtomicOrdering order)
{
    return order == LLVMAtomicOrderingAcquireRelease ? LLVMAtomicOrderingAcquire
           : order == LLVMAtomicOrderingRelease ? LLVMAtomicOrderingMonotonic : order;
}

/* The old value. */
static LLVMValueRef exchange_if(struct ptx_lower *l, const struct ptx_atomic *a, LLVMValueRef p, LLVMValueRef expected,
                                LLVMValueRef desired, LLVMValueRef *ret_swapped)
{
    LLVMValueRef x = LLVMBuildAtomicCmpXchgSyncScope(l->builder, p, expected, desired, a->order, failure_order(a->order),
                                                     a->scope);
    LLVMSetAlignment(x, b_bits(expected) / 8);
    if (ret_swapped)
        *ret_swapped = b_field(l, x, 1);
    return b_field(l, x, 0);
}

/* ---- f16 and bf16: sums, minima and maxima, per half */
static LLVMValueRef combine(struct ptx_lower *l, const struct ptx_atomic *a, LLVMValueRef x, LLVMValueRef y)
{
    if (ptx_has(a->in, PTX_MOD_ADD))
        return b_fadd(l, x, y);
    return ptx_minmax(l, ptx_has(a->in, PTX_MOD_MAX), false, x, y);
}

static LLVMValueRef update_half(struct ptx_lower *l, const struct ptx_atomic *a, bool bf16, LLVMValueRef old, LLVMValueRef by)
{
    if (!bf16)
        return ptx_to_bits(l, combine(l, a, b_bitcast(l, old, l->f16), b_bitcast(l, by, l->f16)));
    return ptx_f32_to_bf16(l, PTX_RN, combine(l, a, ptx_bf16_to_f32(l, old), ptx_bf16_to_f32(l, by)));
}

static LLVMValueRef update_small(struct ptx_lower *l, const struct ptx_atomic *a, LLVMValueRef old, LLVMValueRef by)
{
    bool bf16 = a->type == PTX_BF16 || a->type == PTX_BF16X2;
    if (ptx_type_bits(a->type) == 16)
        return update_half(l, a, bf16, old, by);
    LLVMValueRef r = b_i32(l, 0);
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef x = b_trunc(l, b_lshr(l, old, b_i32(l, 16 * i)), l->i16);
        LLVMValueRef y = b_trunc(l, b_lshr(l, by, b_i32(l, 16 * i)), l->i16);
        r = b_or(l, r, b_shl(l, b_zext(l, update_half(l, a, bf16, x, y), l->i32), b_i32(l, 16 * i)));
    }
    return r;
}

/* Swaps in what the old bits become until no one came between.  Returns the old bits. */
static LLVMValueRef swap_loop(struct ptx_lower *l, const struct ptx_atomic *a, LLVMValueRef p, LLVMValueRef by)
{
    LLVMTypeRef bits = ptx_int_type(l, ptx_type_bits(a->type));
    LLVMValueRef first = LLVMBuildLoad2(l->builder, bits, p, ""), swapped;
    LLVMSetAlignment(first, ptx_type_bits(a->type) / 8);
    LLVMSetOrdering(first, LLVMAtomicOrderingMonotonic);
    LLVMSetAtomicSyncScopeID(first, a->scope);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(l->builder), loop = ptx_block_new(l, "swap");
    ptx_block_enter(l, loop);
    LLVMValueRef old = LLVMBuildPhi(l->builder, bits, "");
    LLVMValueRef seen = exchange_if(l, a, p, old, update_small(l, a, old, by), &swapped);
    LLVMBasicBlockRef done = ptx_block_new(l, ""), end = LLVMGetInsertBlock(l->builder);
    LLVMBuildCondBr(l->builder, swapped, done, loop);
    LLVMAddIncoming(old, (LLVMValueRef[]){ first, seen }, (LLVMBasicBlockRef[]){ before, end }, 2);
    LLVMPositionBuilderAtEnd(l->builder, done);
    return old; /* equals what was seen, as the swap succeeded */
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

LLVMValueRef ptx_atomic_update(struct ptx_lower *l, const struct ptx_atomic *a, LLVMValueRef p, LLVMValueRef by)
{
    LLVMAtomicRMWBinOp op;
    if (a->type == PTX_F16 || a->type == PTX_BF16 || a->type == PTX_F16X2 || a->type == PTX_BF16X2)
        return swap_loop(l, a, p, ptx_to_bits(l, by));
    if (!operation_of(a->in, a->type, &op)) {
        ptx_lower_unsupported(l, a->in, "atomic operation");
        return by;
    }
    LLVMValueRef x = LLVMBuildAtomicRMWSyncScope(l->builder, op, p, by, a->order, a->scope);
    LLVMSetAlignment(x, ptx_type_bits(a->type) / 8);
    return x;
}

LLVMValueRef ptx_swap_128(struct ptx_lower *l, LLVMValueRef pointer, LLVMValueRef expected, LLVMValueRef value)
{
    if (LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)) != AS_GENERIC)
        pointer = b_spacecast(l, pointer, l->ptr[AS_GENERIC]);
    LLVMValueRef args[4] = { pointer, expected ? expected : b_int(l->i128, 0), value, b_i32(l, expected != NULL) };
    return b_simt(l, PTX_SIMT_SWAP_128, args);
}

/* Behind a lock of the device, which says nothing to the processor and other devices. */
static bool swap_locked(struct ptx_lower *l, const struct ptx_instr *in, unsigned first)
{
    if (ptx_has(in, PTX_MOD_SYS))
        return ptx_lower_error(l, in->loc, "%s has no atomic operations on 16 bytes for the whole system", l->target->name);
    LLVMValueRef p = ptx_address(l, &in->ops[first], in->space), b = ptx_src(l, &in->ops[first + 1], PTX_B128);
    LLVMValueRef c = ptx_has(in, PTX_MOD_CAS) ? ptx_src(l, &in->ops[first + 2], PTX_B128) : NULL;
    ptx_dst(l, &in->ops[0], PTX_B128, c ? ptx_swap_128(l, p, b, c) : ptx_swap_128(l, p, NULL, b));
    return true;
}

/* `first` is the index of the address operand, before it stands the result, if any.  A vector's elements are atomic each by
 * itself; all are read before the first result is written, for that may be an operand. */
static bool atomic(struct ptx_lower *l, const struct ptx_instr *in, unsigned first)
{
    enum ptx_type type = in->types[0];
    if (ptx_type_bits(type) == 128 && !(l->target->features & PTX_TARGET_ATOMIC_128))
        return swap_locked(l, in, first);
    struct ptx_atomic a = atomic_of(l, in);
    LLVMValueRef p = ptx_address(l, &in->ops[first], in->space), v[8], r[8];
    if (ptx_has(in, PTX_MOD_CAS)) {
        LLVMValueRef b = ptx_src(l, &in->ops[first + 1], type), c = ptx_src(l, &in->ops[first + 2], type);
        ptx_dst(l, &in->ops[0], type, exchange_if(l, &a, p, b, c, NULL));
        return true;
    }
    const struct ptx_operand *from = &in->ops[first + 1], *to = &in->ops[0];
    unsigned n = in->vec > 1 ? ptx_elements(&in->ops[first + 1], &from) : 1;
    if (in->vec > 1 && first)
        ptx_elements(&in->ops[0], &to);
    for (unsigned i = 0; i < n; i++)
        v[i] = ptx_src(l, &from[i], type);
    for (unsigned i = 0; i < n; i++)
        r[i] = ptx_atomic_update(l, &a, b_gep(l, p, b_i64(l, i * ptx_type_bits(type) / 8)), v[i]);
    for (unsigned i = 0; first && i < n; i++)
        ptx_dst(l, &to[i], type, r[i]);
    return true;
}

bool ptx_lower_atom(struct ptx_lower *l, const struct ptx_instr *in) { return atomic(l, in, 1); }
bool ptx_lower_red(struct ptx_lower *l, const struct ptx_instr *in) { return atomic(l, in, 0); }
