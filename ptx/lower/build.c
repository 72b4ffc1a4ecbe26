/* Building IR: types, constants and calls that several files of the lowering need.  No PTX meaning here. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/internal.h"

LLVMTypeRef ptx_int_type(struct ptx_lower *l, unsigned bits)
{
    return LLVMIntTypeInContext(l->context, bits);
}

LLVMTypeRef ptx_llvm_type(struct ptx_lower *l, enum ptx_type type)
{
    switch (type) {
    case PTX_PRED: return l->i1;
    case PTX_F16: return l->f16;
    case PTX_F32: return l->f32;
    case PTX_F64: return l->f64;
    default: return ptx_int_type(l, ptx_type_bits(type) ? ptx_type_bits(type) : 32);
    }
}

unsigned ptx_address_space(enum ptx_space space)
{
    switch (space) {
    case PTX_SPACE_GLOBAL: return AS_GLOBAL;
    case PTX_SPACE_SHARED: return AS_SHARED;
    case PTX_SPACE_CONST: return AS_CONST;
    case PTX_SPACE_LOCAL: return AS_LOCAL;
    case PTX_SPACE_PARAM: return AS_CONST;
    default: return AS_GENERIC;
    }
}

LLVMValueRef b_gep(struct ptx_lower *l, LLVMValueRef ptr, LLVMValueRef bytes)
{
    if (LLVMIsAConstantInt(bytes) && LLVMConstIntGetZExtValue(bytes) == 0)
        return ptr;
    return LLVMBuildGEP2(l->builder, l->i8, ptr, &bytes, 1, "");
}

LLVMValueRef b_intrinsic(struct ptx_lower *l, const char *name, LLVMTypeRef *types, size_t n_types, LLVMValueRef *args,
                         size_t n_args)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(l->module, id, types, n_types);
    return LLVMBuildCall2(l->builder, LLVMGlobalGetValueType(fn), fn, args, (unsigned)n_args, "");
}

LLVMValueRef b_unary(struct ptx_lower *l, const char *intrinsic, LLVMValueRef v)
{
    LLVMTypeRef type = LLVMTypeOf(v);
    return b_intrinsic(l, intrinsic, &type, 1, &v, 1);
}

LLVMValueRef b_binary(struct ptx_lower *l, const char *intrinsic, LLVMValueRef a, LLVMValueRef b)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    return b_intrinsic(l, intrinsic, &type, 1, (LLVMValueRef[]){ a, b }, 2);
}

LLVMValueRef b_simt(struct ptx_lower *l, enum ptx_simt id, LLVMValueRef *args)
{
    LLVMValueRef call = ptx_simt_call(l->builder, l->module, id, args);
    if (l->members && (id == PTX_SIMT_WARPSYNC || ptx_simt_info(id)->traits == PTX_SIMT_CONVERGENT))
        LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                 LLVMCreateStringAttribute(l->context, PTX_MEMBERS, sizeof PTX_MEMBERS - 1, "", 0));
    return call;
}

LLVMValueRef ptx_dot4(struct ptx_lower *l, bool a_signed, bool b_signed, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    if (a_signed == b_signed)
        return b_simt(l, a_signed ? PTX_SIMT_DOT4_SS : PTX_SIMT_DOT4_UU, (LLVMValueRef[]){ a, b, c });
    return b_simt(l, PTX_SIMT_DOT4_US, a_signed ? (LLVMValueRef[]){ b, a, c } : (LLVMValueRef[]){ a, b, c });
}

LLVMValueRef b_real(LLVMTypeRef t, double v)
{
    return LLVMConstReal(t, v);
}

LLVMValueRef b_fma(struct ptx_lower *l, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    return b_intrinsic(l, "llvm.fma", &type, 1, (LLVMValueRef[]){ a, b, c }, 3);
}

LLVMValueRef b_umin(struct ptx_lower *l, LLVMValueRef a, LLVMValueRef b)
{
    return b_binary(l, "llvm.umin", a, b);
}

bool ptx_block_open(struct ptx_lower *l)
{
    return !LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(l->builder));
}

LLVMBasicBlockRef ptx_block_new(struct ptx_lower *l, const char *name)
{
    return LLVMAppendBasicBlockInContext(l->context, l->fn, name);
}

void ptx_block_enter(struct ptx_lower *l, LLVMBasicBlockRef block)
{
    if (ptx_block_open(l))
        LLVMBuildBr(l->builder, block);
    LLVMPositionBuilderAtEnd(l->builder, block);
}

LLVMValueRef ptx_entry_alloca(struct ptx_lower *l, LLVMTypeRef type, unsigned align, const char *name)
{
    LLVMBasicBlockRef here = LLVMGetInsertBlock(l->builder);
    LLVMValueRef first = LLVMGetFirstInstruction(l->entry);
    if (first)
        LLVMPositionBuilderBefore(l->builder, first);
    else
        LLVMPositionBuilderAtEnd(l->builder, l->entry);
    LLVMValueRef alloca = LLVMBuildAlloca(l->builder, type, name);
    if (align)
        LLVMSetAlignment(alloca, align);
    LLVMPositionBuilderAtEnd(l->builder, here);
    return alloca;
}
