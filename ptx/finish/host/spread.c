/* Interleaved lanes are one permutation of two vectors.  After optimisation, which makes several of it: one that spreads lanes of
 * a vector's upper part, with undefined ones between, and another that fills those.  LLVM 22 takes the first for a widening of
 * the lower part, and then has no instruction for it ("Cannot select: v4i64 = zero_extend_vector_inreg" of 8 x i32). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/host.h"
#include <llvm-c/DebugInfo.h>

enum { MAX_LANES = 64 };

static bool is_shuffle(LLVMValueRef x)
{
    return LLVMIsAShuffleVectorInst(x) && LLVMGetNumMaskElements(x) <= MAX_LANES;
}

static unsigned width(LLVMValueRef vector)
{
    return LLVMGetVectorSize(LLVMTypeOf(vector));
}

/* Neighbours from above the first lane, each with an undefined one behind it? */
static bool spreads(LLVMValueRef x)
{
    if (!is_shuffle(x))
        return false;
    int first = LLVMGetMaskValue(x, 0);
    unsigned n = LLVMGetNumMaskElements(x);
    if (first <= 0 || n < 4 || LLVMGetMaskValue(x, 2) != first + 1)
        return false;
    for (unsigned i = 0; i < n; i++) {
        int at = LLVMGetMaskValue(x, i);
        if (at != LLVMGetUndefMaskElem() && (i & 1 || at != first + (int)i / 2))
            return false;
    }
    return true;
}

struct from {
    LLVMValueRef vector; /* NULL: the lane is undefined */
    int lane;
};

/* Where a lane of `x` comes from, through shuffles. */
static struct from origin(LLVMValueRef x, int lane)
{
    while (lane >= 0 && is_shuffle(x)) {
        int at = LLVMGetMaskValue(x, (unsigned)lane), n = (int)width(LLVMGetOperand(x, 0));
        if (at == LLVMGetUndefMaskElem())
            return (struct from){ 0 };
        x = LLVMGetOperand(x, at >= n);
        lane = at >= n ? at - n : at;
    }
    return (struct from){ x, lane };
}

/* The two vectors that lanes of `x` come from, and its mask of them; false where there are more, or of unlike types. */
static bool sources(LLVMValueRef x, LLVMValueRef ret_vectors[2], int ret_mask[])
{
    ret_vectors[0] = ret_vectors[1] = NULL;
    for (unsigned i = 0; i < LLVMGetNumMaskElements(x); i++) {
        struct from from = origin(x, (int)i);
        ret_mask[i] = -1;
        if (!from.vector)
            continue;
        int which = !ret_vectors[0] || ret_vectors[0] == from.vector ? 0 : 1;
        if (ret_vectors[which] && ret_vectors[which] != from.vector)
            return false;
        ret_vectors[which] = from.vector;
        ret_mask[i] = from.lane + which * (int)width(from.vector);
    }
    return ret_vectors[0] && ret_vectors[1] && LLVMTypeOf(ret_vectors[0]) == LLVMTypeOf(ret_vectors[1]);
}

static void join(LLVMBuilderRef b, LLVMValueRef x)
{
    LLVMValueRef vectors[2], mask[MAX_LANES];
    int lanes[MAX_LANES];
    if (!(spreads(LLVMGetOperand(x, 0)) || spreads(LLVMGetOperand(x, 1))) || !sources(x, vectors, lanes))
        return;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(x)));
    unsigned n = LLVMGetNumMaskElements(x);
    for (unsigned i = 0; i < n; i++)
        mask[i] = lanes[i] < 0 ? LLVMGetPoison(i32) : LLVMConstInt(i32, (uint64_t)lanes[i], 0);
    LLVMPositionBuilderBefore(b, x);
    LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(x));
    LLVMReplaceAllUsesWith(x, LLVMBuildShuffleVector(b, vectors[0], vectors[1], LLVMConstVector(mask, n), ""));
}

int ptx_run_spread(struct ptx_pipeline *pipe)
{
    LLVMModuleRef m = *pipe->module;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x))
                if (is_shuffle(x))
                    join(b, x);
    LLVMDisposeBuilder(b);
    return AW_OK;
}
