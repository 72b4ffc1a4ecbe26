/* Lanes' indices two at a time: elements of 32 bits that leave a vector to be widened for an address leave it as halves of 64-bit
 * elements.  Taking an element out is two operations of the processor, one of them where all permutations go; taking a half is
 * one.  After optimisation, which would put it back.
 *
 * The low half is taken by an instruction that LLVM knows nothing of: with an `and`, LLVM 22 forgets that the high half is there
 * once it has found out that only the low one is asked for (of `or (and x, 15), 16` as two elements of 64 bits, used as an
 * address); and with shifts. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/host.h"
#include <llvm-c/DebugInfo.h>

enum { MAX_LANES = 32 };

struct lane_pairs {
    LLVMBuilderRef b;
    LLVMTypeRef i32, i64;
    LLVMValueRef low_bits;       /* i64(i64 x, i64 n): the low n bits of x */
    LLVMValueRef out[MAX_LANES]; /* the extractions of a vector in one block, by element */
};

/* What a value is widened to, where nothing else uses it; else NULL. */
static LLVMValueRef widened(struct lane_pairs *p, LLVMValueRef x)
{
    LLVMUseRef use = LLVMGetFirstUse(x);
    LLVMValueRef user = use && !LLVMGetNextUse(use) ? LLVMGetUser(use) : NULL;
    return user && (LLVMIsAZExtInst(user) || LLVMIsASExtInst(user)) && LLVMTypeOf(user) == p->i64 ? user : NULL;
}

static void find(struct lane_pairs *p, LLVMValueRef vector, LLVMBasicBlockRef bb)
{
    int64_t at;
    for (int i = 0; i < MAX_LANES; i++)
        p->out[i] = NULL;
    for (LLVMUseRef use = LLVMGetFirstUse(vector); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef x = LLVMGetUser(use);
        if (LLVMIsAExtractElementInst(x) && LLVMGetInstructionParent(x) == bb && ptx_host_constant(LLVMGetOperand(x, 1), &at) &&
            at >= 0 && at < MAX_LANES && widened(p, x))
            p->out[at] = x;
    }
}

static LLVMValueRef low_half(struct lane_pairs *p, LLVMValueRef both, bool is_signed)
{
    LLVMValueRef args[2] = { both, LLVMConstInt(p->i64, 32, 0) };
    LLVMValueRef low = LLVMBuildCall2(p->b, LLVMGlobalGetValueType(p->low_bits), p->low_bits, args, 2, "");
    return is_signed ? LLVMBuildSExt(p->b, LLVMBuildTrunc(p->b, low, p->i32, ""), p->i64, "") : low;
}

static LLVMValueRef high_half(struct lane_pairs *p, LLVMValueRef both, bool is_signed)
{
    LLVMValueRef by = LLVMConstInt(p->i64, 32, 0);
    return is_signed ? LLVMBuildAShr(p->b, both, by, "") : LLVMBuildLShr(p->b, both, by, "");
}

static void replace(struct lane_pairs *p, LLVMValueRef x, LLVMValueRef both, bool high)
{
    LLVMValueRef wide = widened(p, x);
    bool is_signed = LLVMIsASExtInst(wide);
    LLVMSetCurrentDebugLocation2(p->b, LLVMInstructionGetDebugLoc(wide));
    LLVMPositionBuilderBefore(p->b, wide);
    LLVMReplaceAllUsesWith(wide, high ? high_half(p, both, is_signed) : low_half(p, both, is_signed));
    LLVMInstructionEraseFromParent(wide);
    LLVMInstructionEraseFromParent(x);
}

/* Takes the element `x` out together with its neighbour.  Returns the instruction to go on after. */
static LLVMValueRef pair(struct lane_pairs *p, LLVMValueRef x)
{
    int64_t at;
    LLVMValueRef vector = LLVMGetOperand(x, 0);
    unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(vector));
    if (!ptx_host_constant(LLVMGetOperand(x, 1), &at) || at & 1 || at < 0 || at >= lanes)
        return x;
    find(p, vector, LLVMGetInstructionParent(x));
    LLVMValueRef low = p->out[at], high = p->out[at + 1];
    if (low != x || !high || !ptx_host_soon_after(low, high))
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
    if (!LLVMIsAExtractElementInst(x) || LLVMGetTypeKind(LLVMTypeOf(x)) != LLVMIntegerTypeKind ||
        LLVMGetIntTypeWidth(LLVMTypeOf(x)) != 32)
        return false;
    unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(LLVMGetOperand(x, 0)));
    return lanes <= MAX_LANES && !(lanes & 1);
}

static void in_module(LLVMModuleRef m)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    struct lane_pairs p = { .b = LLVMCreateBuilderInContext(c),
                            .i32 = LLVMInt32TypeInContext(c),
                            .i64 = LLVMInt64TypeInContext(c) };
    static const char name[] = "llvm.x86.bmi.bzhi.64";
    p.low_bits = LLVMGetIntrinsicDeclaration(m, LLVMLookupIntrinsicID(name, sizeof name - 1), NULL, 0);
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x))
                if (is_lane(x))
                    x = pair(&p, x);
    LLVMDisposeBuilder(p.b);
}

int ptx_run_extract(struct ptx_pipeline *pipe)
{
    in_module(*pipe->module);
    return AW_OK;
}
