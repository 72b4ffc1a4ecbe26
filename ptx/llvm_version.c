/* What differs between the versions of LLVM, 19 to 22: see llvm_version.h.  What takes C++ is in llvm_older.cpp. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "llvm_version.h"

#include <llvm-c/Transforms/PassBuilder.h>
#include <string.h>

/* ---- Masked accesses */

enum { ALIGN_IS_OPERAND = LLVM_VERSION_MAJOR < 22 };

static unsigned align_kind(void)
{
    return LLVMGetEnumAttributeKindForName("align", strlen("align"));
}

unsigned ptx_llvm_masked_at(unsigned i, bool store)
{
    return ALIGN_IS_OPERAND && i > store ? i + 1 : i;
}

LLVMValueRef ptx_llvm_masked_operand(LLVMValueRef access, unsigned i, bool store)
{
    return LLVMGetOperand(access, ptx_llvm_masked_at(i, store));
}

LLVMValueRef ptx_llvm_masked_build(LLVMBuilderRef b, LLVMModuleRef module, unsigned id, LLVMTypeRef types[2],
                                   LLVMValueRef args[PTX_MASKED_OPERANDS], unsigned align)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(module, id, types, 2), operands[PTX_MASKED_OPERANDS + 1];
    LLVMTypeRef type = LLVMGlobalGetValueType(fn);
    bool store = LLVMGetTypeKind(LLVMGetReturnType(type)) == LLVMVoidTypeKind;
    for (unsigned i = 0; i < PTX_MASKED_OPERANDS; i++)
        operands[ptx_llvm_masked_at(i, store)] = args[i];
    if (ALIGN_IS_OPERAND)
        operands[store + 1] = LLVMConstInt(LLVMInt32TypeInContext(context), align, 0);
    LLVMValueRef call = LLVMBuildCall2(b, type, fn, operands, LLVMCountParamTypes(type), "");
    if (!ALIGN_IS_OPERAND)
        LLVMAddCallSiteAttribute(call, store + 1, LLVMCreateEnumAttribute(context, align_kind(), align));
    return call;
}

unsigned ptx_llvm_masked_align(LLVMValueRef call, bool store)
{
    if (ALIGN_IS_OPERAND)
        return (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(call, store + 1));
    LLVMAttributeRef align = LLVMGetCallSiteEnumAttribute(call, store + 1, align_kind());
    return align ? (unsigned)LLVMGetEnumAttributeValue(align) : 1;
}

/* ---- Minima and maxima */

static LLVMValueRef of_two(LLVMBuilderRef b, LLVMModuleRef module, const char *name, LLVMValueRef x, LLVMValueRef y)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(module, LLVMLookupIntrinsicID(name, strlen(name)), &type, 1), args[] = { x, y };
    return LLVMBuildCall2(b, LLVMGlobalGetValueType(fn), fn, args, 2, "");
}

/* LLVM 20 and 21 have the newer pair, too; that their backends make of it what it says was not looked at, so they go 19's way. */
LLVMValueRef ptx_llvm_extreme(LLVMBuilderRef b, LLVMModuleRef module, bool max, LLVMValueRef x, LLVMValueRef y)
{
    if (LLVM_VERSION_MAJOR >= 22)
        return of_two(b, module, max ? "llvm.maximumnum" : "llvm.minimumnum", x, y);
    LLVMValueRef of_numbers = of_two(b, module, max ? "llvm.maximum" : "llvm.minimum", x, y);
    LLVMValueRef second = LLVMBuildFCmp(b, LLVMRealUNO, x, x, ""), first = LLVMBuildFCmp(b, LLVMRealUNO, y, y, "");
    return LLVMBuildSelect(b, second, y, LLVMBuildSelect(b, first, x, of_numbers, ""), "");
}

/* ---- Divisors */

LLVMValueRef ptx_llvm_divisor(LLVMBuilderRef b, LLVMValueRef by)
{
    if (LLVM_VERSION_MAJOR >= 20)
        return by;
    LLVMTypeRef type = LLVMTypeOf(by), scalar = LLVMGetElementType(type);
    LLVMValueRef ones[64], zero = LLVMBuildICmp(b, LLVMIntEQ, by, LLVMConstNull(type), "");
    unsigned lanes = LLVMGetVectorSize(type);
    for (unsigned i = 0; i < lanes; i++)
        ones[i] = LLVMConstInt(scalar, 1, 0);
    return LLVMBuildSelect(b, zero, LLVMConstVector(ones, lanes), by, "");
}

/* ---- Passes */

#if LLVM_VERSION_MAJOR >= 20

LLVMErrorRef ptx_llvm_passes(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *passes)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(module, passes, machine, options);
    LLVMDisposePassBuilderOptions(options);
    return error;
}

#endif

/* ---- Processors */

#if LLVM_VERSION_MAJOR >= 22

/* Whose names the tables of processors here are. */
bool ptx_llvm_has_cpu(const char *triple, const char *cpu)
{
    (void)triple, (void)cpu;
    return true;
}

#endif
