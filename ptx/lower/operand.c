/* Operands: registers, immediates, addresses of variables, memory operands.  What an instruction does with them is elsewhere. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/internal.h"
#include "lower/texture.h"

LLVMValueRef ptx_to_bits(struct ptx_lower *l, LLVMValueRef value)
{
    switch (LLVMGetTypeKind(LLVMTypeOf(value))) {
    case LLVMHalfTypeKind: return b_bitcast(l, value, l->i16);
    case LLVMFloatTypeKind: return b_bitcast(l, value, l->i32);
    case LLVMDoubleTypeKind: return b_bitcast(l, value, l->i64);
    default: return value;
    }
}

LLVMValueRef ptx_from_bits(struct ptx_lower *l, LLVMValueRef bits, LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? bits : b_bitcast(l, bits, type);
}

/* The register's value as bits cut or zero-extended to the width of `type`. */
static LLVMValueRef register_read(struct ptx_lower *l, const struct ptx_operand *op, enum ptx_type type)
{
    LLVMTypeRef have = l->reg_types[op->reg], want = ptx_llvm_type(l, type);
    LLVMValueRef v = LLVMBuildLoad2(l->builder, have, l->regs[op->reg], "");
    if (have == want)
        return v;
    LLVMValueRef bits = ptx_to_bits(l, v);
    if (type == PTX_PRED)
        return b_ne(l, bits, b_like(bits, 0));
    unsigned width = ptx_type_bits(type);
    LLVMTypeRef int_type = ptx_int_type(l, width);
    if (b_bits(bits) != width)
        bits = ptx_is_signed(type) ? b_sresize(l, bits, int_type) : b_resize(l, bits, int_type);
    return ptx_from_bits(l, bits, want);
}

/* A double rounded to the nearest half or bfloat, as bits, for immediates; they are normally exact. */
static LLVMValueRef small_float_constant(struct ptx_lower *l, enum ptx_type type, double v)
{
    if (type == PTX_F16)
        return LLVMConstReal(l->f16, v);
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    bits = (bits & 0x7fffffff) > 0x7f800000 ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return b_int(l->i16, bits);
}

static LLVMValueRef float_literal(struct ptx_lower *l, const struct ptx_operand *op, enum ptx_type type)
{
    double d;
    float f;
    if (op->is_f32) {
        uint32_t bits = (uint32_t)op->bits;
        memcpy(&f, &bits, sizeof f);
        d = f;
    } else {
        memcpy(&d, &op->bits, sizeof d);
        f = (float)d;
    }
    if (type == PTX_F32) { /* through bits: a constant made from a double would lose NaN payloads */
        uint32_t bits = (uint32_t)op->bits;
        if (!op->is_f32)
            memcpy(&bits, &f, sizeof bits);
        return LLVMConstBitCast(b_i32(l, bits), l->f32);
    }
    if (type == PTX_F64) {
        uint64_t bits;
        memcpy(&bits, &d, sizeof bits);
        return LLVMConstBitCast(b_i64(l, bits), l->f64);
    }
    if (type == PTX_F16 || type == PTX_BF16)
        return small_float_constant(l, type, d);
    /* Untyped: the literal's own bits. */
    return b_int(ptx_llvm_type(l, type), op->bits);
}

static LLVMValueRef int_literal(struct ptx_lower *l, const struct ptx_operand *op, enum ptx_type type)
{
    uint64_t bits = op->negate ? -op->bits : op->bits;
    if (type == PTX_PRED)
        return b_bool(l, bits != 0);
    if (type == PTX_F32 || type == PTX_F64)
        return b_real(ptx_llvm_type(l, type), (double)(int64_t)bits);
    if (type == PTX_F16 || type == PTX_BF16)
        return small_float_constant(l, type, (double)(int64_t)bits);
    return LLVMConstInt(ptx_llvm_type(l, type), bits, 1);
}

/* An integer of some width as a value of `type`. */
static LLVMValueRef integer_as(struct ptx_lower *l, LLVMValueRef v, enum ptx_type type)
{
    LLVMTypeRef want = ptx_llvm_type(l, type);
    if (type == PTX_PRED)
        return b_bits(v) == 1 ? v : b_ne(l, v, b_like(v, 0));
    return ptx_from_bits(l, b_resize(l, v, ptx_int_type(l, ptx_type_bits(type))), want);
}

static LLVMValueRef negated(struct ptx_lower *l, LLVMValueRef v, enum ptx_type type)
{
    if (type == PTX_PRED)
        return b_not(l, v);
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(v));
    return kind == LLVMIntegerTypeKind ? b_neg(l, v) : b_fneg(l, v);
}

/* {a, b, ...}: elements packed from the low bits up. */
static LLVMValueRef vector_pack(struct ptx_lower *l, const struct ptx_operand *op, enum ptx_type type)
{
    unsigned bits = ptx_type_bits(type), each = op->n_items ? bits / op->n_items : bits;
    LLVMTypeRef whole = ptx_int_type(l, bits), part = ptx_int_type(l, each ? each : 1);
    enum ptx_type part_type = each == 8 ? PTX_B8 : each == 16 ? PTX_B16 : each == 32 ? PTX_B32 : PTX_B64;
    LLVMValueRef v = b_int(whole, 0);
    for (uint32_t i = 0; i < op->n_items; i++) {
        LLVMValueRef item = b_resize(l, ptx_src(l, &op->items[i], part_type), part);
        v = b_or(l, v, b_shl(l, b_zext(l, item, whole), b_int(whole, i * each)));
    }
    return ptx_from_bits(l, v, ptx_llvm_type(l, type));
}

LLVMValueRef ptx_src(struct ptx_lower *l, const struct ptx_operand *op, enum ptx_type type)
{
    switch (op->kind) {
    case PTX_OP_REG: {
        LLVMValueRef v = register_read(l, op, type);
        if (op->offset) {
            LLVMValueRef bits = ptx_to_bits(l, v);
            return ptx_from_bits(l, b_add(l, bits, b_like(bits, (uint64_t)op->offset)), LLVMTypeOf(v));
        }
        return op->negate ? negated(l, v, type) : v;
    }
    case PTX_OP_SREG: {
        LLVMValueRef v = integer_as(l, ptx_sreg_value(l, op->sreg), type);
        return op->negate ? negated(l, v, type) : v;
    }
    case PTX_OP_INT: return int_literal(l, op, type);
    case PTX_OP_FLOAT: return op->negate ? negated(l, float_literal(l, op, type), type) : float_literal(l, op, type);
    case PTX_OP_SYMBOL: return integer_as(l, ptx_var_integer(l, op->var, op->offset), type);
    case PTX_OP_FUNC: return integer_as(l, b_i64(l, ptx_func_address(op->func)), type);
    case PTX_OP_VECTOR: return vector_pack(l, op, type);
    default:
        ptx_lower_error(l, op->loc, "operand cannot be read here");
        return LLVMGetPoison(ptx_llvm_type(l, type)); /* the error stops the compilation */
    }
}

static void vector_unpack(struct ptx_lower *l, const struct ptx_operand *op, enum ptx_type type, LLVMValueRef value)
{
    unsigned bits = ptx_type_bits(type), each = op->n_items ? bits / op->n_items : bits;
    LLVMValueRef v = ptx_to_bits(l, value);
    enum ptx_type part_type = each == 8 ? PTX_B8 : each == 16 ? PTX_B16 : each == 32 ? PTX_B32 : PTX_B64;
    for (uint32_t i = 0; i < op->n_items; i++)
        ptx_dst(l, &op->items[i], part_type,
                b_trunc(l, b_lshr(l, v, b_like(v, i * each)), ptx_int_type(l, each ? each : 1)));
}

void ptx_dst(struct ptx_lower *l, const struct ptx_operand *op, enum ptx_type type, LLVMValueRef value)
{
    if (op->kind == PTX_OP_SINK)
        return;
    if (op->kind == PTX_OP_VECTOR) {
        vector_unpack(l, op, type, value);
        return;
    }
    if (op->kind != PTX_OP_REG || op->offset) {
        ptx_lower_error(l, op->loc, "operand cannot be written");
        return;
    }
    LLVMTypeRef have = l->reg_types[op->reg];
    if (LLVMTypeOf(value) != have) {
        LLVMValueRef bits = ptx_to_bits(l, value);
        unsigned width = LLVMGetTypeKind(have) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(have)
                         : have == l->f64 ? 64 : have == l->f32 ? 32 : 16;
        LLVMTypeRef int_type = ptx_int_type(l, width);
        bits = ptx_is_signed(type) ? b_sresize(l, bits, int_type) : b_resize(l, bits, int_type);
        value = ptx_from_bits(l, bits, have);
    }
    if (l->select_guard)
        value = b_select(l, l->select_guard, value, LLVMBuildLoad2(l->builder, have, l->regs[op->reg], ""));
    LLVMBuildStore(l->builder, value, l->regs[op->reg]);
}

void ptx_dst_pair(struct ptx_lower *l, const struct ptx_operand *op, enum ptx_type type, LLVMValueRef value, LLVMValueRef pred)
{
    bool pair = op->kind == PTX_OP_PAIR;
    ptx_dst(l, pair ? &op->items[0] : op, type, value);
    if (pair)
        ptx_dst(l, &op->items[1], PTX_PRED, pred);
}

unsigned ptx_elements(const struct ptx_operand *op, const struct ptx_operand **ret_items)
{
    if (op->kind == PTX_OP_VECTOR) {
        *ret_items = op->items;
        return op->n_items;
    }
    *ret_items = op;
    return 1;
}

/* ---- Variables */
static bool is_kernel_param(struct ptx_lower *l, const struct ptx_var *var)
{
    return var->space == PTX_SPACE_PARAM && l->func->is_entry && !var->user;
}

LLVMValueRef ptx_shared_base(struct ptx_lower *l)
{
    if (!l->shared) {
        LLVMTypeRef type = LLVMArrayType2(l->i8, l->static_shared);
        l->shared = LLVMAddGlobalInAddressSpace(l->module, type, PTX_SHARED, AS_SHARED);
        LLVMSetLinkage(l->shared, LLVMInternalLinkage);
        LLVMSetInitializer(l->shared, LLVMGetPoison(type));
        LLVMSetAlignment(l->shared, 128); /* no PTX variable asks for more */
    }
    return l->shared;
}

static LLVMValueRef shared_pointer(struct ptx_lower *l, const struct ptx_var *var, int64_t offset)
{
    bool dynamic = var->size == 0 && var->linkage == PTX_EXTERN;
    if (dynamic) {
        if (!l->dynamic) {
            l->dynamic = LLVMAddGlobalInAddressSpace(l->module, LLVMArrayType2(l->i8, 0), PTX_SHARED_DYNAMIC, AS_SHARED);
            LLVMSetAlignment(l->dynamic, 16);
        }
        return b_gep(l, l->dynamic, b_i32(l, (uint32_t)offset));
    }
    return b_gep(l, ptx_shared_base(l), b_i32(l, (uint32_t)(var->offset + (uint64_t)offset)));
}

/* The storage of a managed variable is wherever its cell in the arena says. */
static LLVMValueRef managed_address(struct ptx_lower *l, const struct ptx_var *var)
{
    LLVMValueRef cell = b_gep(l, l->arena_const, b_i64(l, var->offset));
    LLVMValueRef load = LLVMBuildLoad2(l->builder, l->i64, cell, "");
    LLVMSetAlignment(load, 8);
    ptx_mark(load, PTX_INVARIANT);
    return load;
}

LLVMValueRef ptx_var_pointer(struct ptx_lower *l, const struct ptx_var *var, int64_t offset)
{
    switch (var->space) {
    case PTX_SPACE_SHARED: return shared_pointer(l, var, offset);
    case PTX_SPACE_GLOBAL:
        if (var->managed)
            return b_inttoptr(l, b_add(l, managed_address(l, var), b_i64(l, (uint64_t)offset)), l->ptr[AS_GLOBAL]);
        return b_gep(l, l->arena_global, b_i64(l, var->offset + (uint64_t)offset));
    case PTX_SPACE_CONST: return b_gep(l, l->arena_const, b_i64(l, var->offset + (uint64_t)offset));
    case PTX_SPACE_PARAM:
        if (is_kernel_param(l, var))
            return b_gep(l, l->kernarg, b_i64(l, var->offset + (uint64_t)offset));
        break;
    default: break;
    }
    if (!var->user) {
        ptx_lower_error(l, var->loc, "variable '%.*s' has no address here", AW_STR_ARG(var->name));
        return LLVMGetPoison(l->ptr[ptx_address_space(var->space)]);
    }
    return b_gep(l, (LLVMValueRef)var->user, b_i64(l, (uint64_t)offset)); /* an alloca, or the caller's copy */
}

/* A reference's cell in the arena holds the descriptor's address, or 0; that and its kind stand for the variable. */
static LLVMValueRef reference_value(struct ptx_lower *l, const struct ptx_var *var, int64_t offset)
{
    LLVMValueRef cell = b_gep(l, l->arena_const, b_i64(l, var->offset + (uint64_t)offset));
    LLVMValueRef load = LLVMBuildLoad2(l->builder, l->i64, cell, "");
    LLVMSetAlignment(load, 8);
    ptx_mark(load, PTX_INVARIANT);
    return b_or(l, load, b_i64(l, var->type == PTX_SURFREF ? AW_HANDLE_SURFACE : AW_HANDLE_TEXTURE));
}

LLVMValueRef ptx_var_integer(struct ptx_lower *l, const struct ptx_var *var, int64_t offset)
{
    if (var->space == PTX_SPACE_GLOBAL && var->type == PTX_SAMPLERREF)
        return ptx_sampler_handle(l, var);
    if (var->space == PTX_SPACE_TEX || (var->space == PTX_SPACE_GLOBAL && ptx_type_class(var->type) == 'O'))
        return reference_value(l, var, offset);
    if (var->space == PTX_SPACE_GLOBAL && var->managed)
        return b_add(l, managed_address(l, var), b_i64(l, (uint64_t)offset));
    if (var->space == PTX_SPACE_GLOBAL || var->space == PTX_SPACE_CONST)
        return b_add(l, l->arena_int, b_i64(l, var->offset + (uint64_t)offset));
    return b_ptrtoint(l, ptx_var_pointer(l, var, offset), l->i64);
}

/* a[r + offset], as ptxas reckons it: in 32 bits, without a sign. */
static LLVMValueRef element_pointer(struct ptx_lower *l, const struct ptx_operand *op)
{
    const struct ptx_var *array = op->items[0].var, *reg = op->items[1].var;
    LLVMValueRef index = ptx_src(l, &op->items[1], ptx_type_bits(reg->type) == 64 ? PTX_B64 : PTX_B32);
    LLVMValueRef number = b_add(l, b_resize(l, index, l->i32), b_i32(l, (uint32_t)op->offset));
    LLVMValueRef bytes = LLVMBuildMul(l->builder, number, b_i32(l, ptx_type_bits(array->type) / 8 * array->vec), "");
    return b_gep(l, ptx_var_pointer(l, array, 0), b_resize(l, bytes, l->i64));
}

LLVMValueRef ptx_address(struct ptx_lower *l, const struct ptx_operand *op, enum ptx_space space)
{
    const struct ptx_operand *base = op->kind == PTX_OP_ADDR && op->n_items ? &op->items[0] : op;
    int64_t offset = base == op ? 0 : op->offset;
    unsigned as = ptx_address_space(space);
    if (base->kind == PTX_OP_SYMBOL) {
        LLVMValueRef p = op->by_register ? element_pointer(l, op) : ptx_var_pointer(l, base->var, offset + base->offset);
        unsigned have = LLVMGetPointerAddressSpace(LLVMTypeOf(p));
        /* .param of a device function is a local copy; ld.const of a .global symbol and so on name the same address. */
        return have == as || have == AS_LOCAL || have == AS_SHARED ? p
               : as == AS_GENERIC || have == AS_GENERIC ? b_spacecast(l, p, l->ptr[as])
               : b_inttoptr(l, b_ptrtoint(l, p, l->i64), l->ptr[as]);
    }
    if (base->kind != PTX_OP_REG && base->kind != PTX_OP_INT) {
        ptx_lower_error(l, op->loc, "address of a form that is not supported");
        return LLVMGetPoison(l->ptr[as]);
    }
    unsigned width = base->kind == PTX_OP_INT ? 64 : ptx_type_bits(base->var->type);
    LLVMValueRef v = ptx_src(l, base, width == 32 ? PTX_B32 : PTX_B64);
    v = b_add(l, v, b_like(v, (uint64_t)offset));
    LLVMTypeRef as_int = as == AS_SHARED ? l->i32 : l->i64;
    return b_inttoptr(l, b_resize(l, v, as_int), l->ptr[as]);
}
