/* Elements of registers in any order, which LLVM's IR has no word for unless the order is a constant.  The vectoriser asks for it
 * (struct simt_options, `permute`). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "target/host.h"
#include <string.h>

static LLVMValueRef call(LLVMBuilderRef b, const char *intrinsic, LLVMValueRef *args, unsigned n)
{
    LLVMModuleRef m = LLVMGetGlobalParent(LLVMGetBasicBlockParent(LLVMGetInsertBlock(b)));
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(m, LLVMLookupIntrinsicID(intrinsic, strlen(intrinsic)), NULL, 0);
    return LLVMBuildCall2(b, LLVMGlobalGetValueType(fn), fn, args, n, "");
}

static LLVMValueRef one(LLVMBuilderRef b, LLVMValueRef from, LLVMValueRef at)
{
    bool wide = LLVMGetVectorSize(LLVMTypeOf(at)) == 16;
    return call(b, wide ? "llvm.x86.avx512.permvar.si.512" : "llvm.x86.avx2.permd", (LLVMValueRef[]){ from, at }, 2);
}

LLVMValueRef ptx_host_permute(LLVMBuilderRef b, LLVMValueRef *registers, int n, LLVMValueRef at)
{
    LLVMTypeRef type = LLVMTypeOf(at);
    unsigned width = LLVMGetVectorSize(type);
    if (n == 1)
        return one(b, registers[0], at);
    if (width == 16)
        return call(b, "llvm.x86.avx512.vpermi2var.d.512", (LLVMValueRef[]){ registers[0], at, registers[1] }, 3);
    LLVMValueRef bit[8];
    for (unsigned i = 0; i < width; i++)
        bit[i] = LLVMConstInt(LLVMGetElementType(type), width, 0);
    LLVMValueRef high = LLVMBuildAnd(b, at, LLVMConstVector(bit, width), "");
    high = LLVMBuildICmp(b, LLVMIntNE, high, LLVMConstNull(type), "");
    return LLVMBuildSelect(b, high, one(b, registers[1], at), one(b, registers[0], at), "");
}
