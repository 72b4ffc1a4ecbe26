/* Elements of registers in any order, which LLVM's IR has no word for unless the order is a constant.  The vectoriser asks for it
 * (struct simt_options, `permute`).  One element, of a number that is no constant, has a word, but LLVM stores the vector and
 * loads the element. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"
#include "base/vec.h"
#include "finish/host/host.h"
#include <llvm-c/DebugInfo.h>
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

/* ---- With AVX-512: a load of four bytes of what was stored as 64 may wait for all stores before it (in the scan of the
 * benchmarks half of its first kernel's time), and two registers are permuted by one instruction.  After optimisation, which
 * knows more of extractions. */

enum { WIDTH = 16, MOST = 2 };

static bool element_of_registers(LLVMValueRef x)
{
    if (!LLVMIsAExtractElementInst(x) || LLVMIsAConstant(LLVMGetOperand(x, 1)))
        return false;
    unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(LLVMGetOperand(x, 0)));
    LLVMTypeRef t = LLVMTypeOf(x);
    bool four_bytes = LLVMGetTypeKind(t) == LLVMFloatTypeKind ||
                      (LLVMGetTypeKind(t) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(t) == 32);
    return four_bytes && (lanes == WIDTH || lanes == MOST * WIDTH);
}

/* Can block `from` be reached again without block `by`?  Without memory: yes. */
static bool comes_back(LLVMBasicBlockRef from, LLVMBasicBlockRef by)
{
    AW_VEC(LLVMBasicBlockRef) work = { 0 };
    struct aw_ptrmap seen = { 0 };
    bool ok = from != by && aw_vec_push(&work, from), back = from != by && !ok;
    while (work.n && !back) {
        LLVMValueRef term = LLVMGetBasicBlockTerminator(work.at[--work.n]);
        for (unsigned i = 0; i < LLVMGetNumSuccessors(term) && !back; i++) {
            LLVMBasicBlockRef to = LLVMGetSuccessor(term, i);
            if (to != by && to != from && !aw_ptrmap_find(&seen, to))
                ok = aw_ptrmap_put(&seen, to, to) && aw_vec_push(&work, to);
            back = to == from || !ok;
        }
    }
    aw_ptrmap_fini(&seen);
    aw_vec_fini(&work);
    return back;
}

/* Is an element taken once of what the vector was?  Loops over lanes read one after another from memory. */
static bool taken_once(LLVMValueRef x)
{
    LLVMValueRef vector = LLVMGetOperand(x, 0);
    return LLVMIsAInstruction(vector) && !comes_back(LLVMGetInstructionParent(x), LLVMGetInstructionParent(vector));
}

static LLVMValueRef element(LLVMBuilderRef b, LLVMValueRef vector, LLVMValueRef number)
{
    LLVMTypeRef elem = LLVMGetElementType(LLVMTypeOf(vector)), i32 = LLVMInt32TypeInContext(LLVMGetTypeContext(elem));
    unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(vector)), n = lanes / WIDTH;
    LLVMValueRef registers[MOST], zero = LLVMConstInt(i32, 0, 0);
    vector = LLVMBuildBitCast(b, vector, LLVMVectorType(i32, lanes), "");
    for (unsigned i = 0; i < n; i++)
        registers[i] = ptx_host_piece(b, vector, i * WIDTH, WIDTH);
    LLVMTypeRef indices = LLVMVectorType(i32, WIDTH);
    LLVMValueRef at = LLVMBuildInsertElement(b, LLVMGetPoison(indices), LLVMBuildIntCast2(b, number, i32, 0, ""), zero, "");
    at = LLVMBuildShuffleVector(b, at, LLVMGetPoison(indices), LLVMConstNull(indices), "");
    LLVMValueRef x = LLVMBuildExtractElement(b, ptx_host_permute(b, registers, (int)n, at), zero, "");
    return LLVMBuildBitCast(b, x, elem, "");
}

static void in_module(LLVMModuleRef m)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (LLVMValueRef x = LLVMGetFirstInstruction(bb), next; x; x = next) {
                next = LLVMGetNextInstruction(x);
                if (!element_of_registers(x) || !taken_once(x))
                    continue;
                LLVMPositionBuilderBefore(b, x);
                LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(x));
                LLVMReplaceAllUsesWith(x, element(b, LLVMGetOperand(x, 0), LLVMGetOperand(x, 1)));
                LLVMInstructionEraseFromParent(x);
            }
    LLVMDisposeBuilder(b);
}

int ptx_run_elements(struct ptx_pipeline *pipe)
{
    in_module(*pipe->module);
    return AW_OK;
}
