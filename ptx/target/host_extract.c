/* Lanes' indices two at a time: elements of 32 bits that leave a vector to be widened for an address leave it as halves of 64-bit
 * elements.  Taking an element out is two operations of the processor, one of them where all permutations go; taking a half is one.
 * After optimisation, which would put it back. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "target/host.h"
#include <llvm-c/DebugInfo.h>

enum { MAX_LANES = 32, NEAR = 64 };

struct pairs {
    LLVMBuilderRef b;
    LLVMTypeRef i64;
    LLVMValueRef out[MAX_LANES]; /* the extractions of a vector in one block, by element */
};

/* What a value is widened to, where nothing else uses it; else NULL. */
static LLVMValueRef widened(struct pairs *p, LLVMValueRef x)
{
    LLVMUseRef use = LLVMGetFirstUse(x);
    LLVMValueRef user = use && !LLVMGetNextUse(use) ? LLVMGetUser(use) : NULL;
    return user && (LLVMIsAZExtInst(user) || LLVMIsASExtInst(user)) && LLVMTypeOf(user) == p->i64 ? user : NULL;
}

static void find(struct pairs *p, LLVMValueRef vector, LLVMBasicBlockRef bb)
{
    int64_t at;
    for (int i = 0; i < MAX_LANES; i++)
        p->out[i] = NULL;
    for (LLVMUseRef use = LLVMGetFirstUse(vector); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef x = LLVMGetUser(use);
        if (LLVMIsAExtractElementInst(x) && LLVMGetInstructionParent(x) == bb && ptx_host_constant(LLVMGetOperand(x, 1), &at) && at >= 0 &&
            at < MAX_LANES && widened(p, x))
            p->out[at] = x;
    }
}

static void replace(struct pairs *p, LLVMValueRef x, LLVMValueRef both, bool high)
{
    LLVMValueRef wide = widened(p, x), by = LLVMConstInt(p->i64, 32, 0);
    bool is_signed = LLVMIsASExtInst(wide);
    LLVMSetCurrentDebugLocation2(p->b, LLVMInstructionGetDebugLoc(wide));
    LLVMPositionBuilderBefore(p->b, wide);
    if (is_signed)
        both = LLVMBuildAShr(p->b, high ? both : LLVMBuildShl(p->b, both, by, ""), by, "");
    else
        both = high ? LLVMBuildLShr(p->b, both, by, "") : LLVMBuildAnd(p->b, both, LLVMConstInt(p->i64, UINT32_MAX, 0), "");
    LLVMReplaceAllUsesWith(wide, both);
    LLVMInstructionEraseFromParent(wide);
    LLVMInstructionEraseFromParent(x);
}

static bool soon_after(LLVMValueRef x, LLVMValueRef y)
{
    int left = NEAR;
    while (x && x != y && left--)
        x = LLVMGetNextInstruction(x);
    return x == y;
}

/* Takes the element `x` out together with its neighbour.  Returns the instruction to go on after. */
static LLVMValueRef pair(struct pairs *p, LLVMValueRef x)
{
    int64_t at;
    LLVMValueRef vector = LLVMGetOperand(x, 0);
    unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(vector));
    if (!ptx_host_constant(LLVMGetOperand(x, 1), &at) || at & 1 || at < 0 || at >= lanes)
        return x;
    find(p, vector, LLVMGetInstructionParent(x));
    LLVMValueRef low = p->out[at], high = p->out[at + 1];
    if (low != x || !high || !soon_after(low, high))
        return x;
    LLVMPositionBuilderBefore(p->b, low);
    LLVMSetCurrentDebugLocation2(p->b, LLVMInstructionGetDebugLoc(low));
    LLVMValueRef both = LLVMBuildBitCast(p->b, vector, LLVMVectorType(p->i64, lanes / 2), "");
    both = LLVMBuildExtractElement(p->b, both, LLVMConstInt(p->i64, (uint64_t)at / 2, 0), "");
    replace(p, high, both, true);
    replace(p, low, both, false);
    return both;
}

/* Of a vector of 32-bit whole numbers, the lanes of a warp or a part of it? */
static bool is_lane(LLVMValueRef x)
{
    if (!LLVMIsAExtractElementInst(x) || LLVMGetTypeKind(LLVMTypeOf(x)) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(LLVMTypeOf(x)) != 32)
        return false;
    unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(LLVMGetOperand(x, 0)));
    return lanes <= MAX_LANES && !(lanes & 1);
}

void ptx_host_extract(LLVMModuleRef m)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    struct pairs p = { .b = LLVMCreateBuilderInContext(c), .i64 = LLVMInt64TypeInContext(c) };
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x))
                if (is_lane(x))
                    x = pair(&p, x);
    LLVMDisposeBuilder(p.b);
}
