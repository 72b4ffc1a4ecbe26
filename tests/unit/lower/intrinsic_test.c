/* The table of LLVM's intrinsics: every name is one of LLVM's, and calls are told apart by their numbers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/intrinsic.h"

#include <criterion/criterion.h>

Test(intrinsic, names_are_llvms)
{
    for (int i = 0; i < PTX_INTRINSIC_COUNT; i++) {
        unsigned id = ptx_intrinsic_llvm_id((enum ptx_intrinsic)i);
        const char *name = ptx_intrinsic_info((enum ptx_intrinsic)i)->name;
        bool newer = i == PTX_INTRINSIC_MAXIMUMNUM || i == PTX_INTRINSIC_MINIMUMNUM; /* than LLVM 19; made of others there */
        cr_expect(id || (newer && LLVM_VERSION_MAJOR < 20), "LLVM has no %s", name);
        for (int k = 0; id && k < i; k++)
            cr_expect_neq(id, ptx_intrinsic_llvm_id((enum ptx_intrinsic)k), "%s stands twice", name);
    }
}

/* A function whose body is one call of `callee`, whose arguments are the function's. */
static LLVMValueRef call_of(LLVMModuleRef m, LLVMValueRef callee)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef type = LLVMGlobalGetValueType(callee), params[8];
    LLVMGetParamTypes(type, params);
    LLVMValueRef fn = LLVMAddFunction(m, "f", LLVMFunctionType(LLVMVoidTypeInContext(c), params, LLVMCountParamTypes(type), 0)),
                 args[8];
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(c, fn, ""));
    LLVMGetParams(fn, args);
    LLVMValueRef call = LLVMBuildCall2(b, type, callee, args, LLVMCountParamTypes(type), "");
    LLVMBuildRetVoid(b);
    LLVMDisposeBuilder(b);
    return call;
}

Test(intrinsic, calls_of_any_type)
{
    LLVMContextRef c = LLVMContextCreate();
    LLVMModuleRef m = LLVMModuleCreateWithNameInContext("m", c);
    LLVMTypeRef half = LLVMHalfTypeInContext(c), vector = LLVMVectorType(LLVMDoubleTypeInContext(c), 8),
                i32 = LLVMInt32TypeInContext(c);
    LLVMValueRef one = call_of(m, LLVMGetIntrinsicDeclaration(m, ptx_intrinsic_llvm_id(PTX_INTRINSIC_SQRT), &half, 1));
    LLVMValueRef many = call_of(m, LLVMGetIntrinsicDeclaration(m, ptx_intrinsic_llvm_id(PTX_INTRINSIC_SQRT), &vector, 1));
    LLVMValueRef less = call_of(m, LLVMGetIntrinsicDeclaration(m, ptx_intrinsic_llvm_id(PTX_INTRINSIC_SMIN), &i32, 1));
    LLVMValueRef other = call_of(m, LLVMAddFunction(m, "llvm_sqrt", LLVMFunctionType(half, &half, 1, 0)));
    cr_expect_eq(ptx_intrinsic_called(one), PTX_INTRINSIC_SQRT);
    cr_expect_eq(ptx_intrinsic_called(many), PTX_INTRINSIC_SQRT);
    cr_expect_eq(ptx_intrinsic_called(less), PTX_INTRINSIC_SMIN);
    cr_expect_eq(ptx_intrinsic_called(other), PTX_INTRINSIC_NONE);
    cr_expect_eq(ptx_intrinsic_called(LLVMGetNextInstruction(other)), PTX_INTRINSIC_NONE);
    cr_expect_eq(ptx_intrinsic_called(NULL), PTX_INTRINSIC_NONE);
    cr_expect(ptx_intrinsic_has(less, PTX_INTRINSIC_INT_MINMAX) && !ptx_intrinsic_has(less, ~(unsigned)PTX_INTRINSIC_INT_MINMAX));
    cr_expect(!ptx_intrinsic_has(other, ~0u));
    LLVMDisposeModule(m);
    LLVMContextDispose(c);
}
