/* Loads of straight-line code come just before the first instruction that needs them, and what leads to their addresses before
 * them: machine code that was lifted.  NVIDIA's assembler loads long before, as a card's memory is far away and its registers are
 * many.  Here registers are few; and neighbouring warps go together only where their values fit into them (unroll_jam.c).
 *
 *   x0 = load; x1 = load; .. a = fma(x0, y, a); a = fma(x1, ..)   becomes   x0 = load; a = fma(x0, y, a); x1 = load; ..
 *
 * Those of a vector's elements stay together.  No load goes past what may write memory, or waits for others.  Within a block
 * only. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/host.h"
#include "lower/copy.h"

enum { MAX_WAY = 1000 }; /* instructions that one goes past */

/* Of one value, which takes no register beside it. */
static bool is_step(LLVMValueRef x)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMAdd:
    case LLVMShl:
    case LLVMMul: return LLVMIsConstant(LLVMGetOperand(x, 1));
    case LLVMGetElementPtr: return LLVMGetNumOperands(x) == 2 && LLVMIsConstant(LLVMGetOperand(x, 1));
    case LLVMIntToPtr:
    case LLVMBitCast:
    case LLVMZExt:
    case LLVMSExt:
    case LLVMTrunc:
    case LLVMAddrSpaceCast: return true;
    default: return false;
    }
}

static bool uses(LLVMValueRef user, LLVMValueRef x)
{
    for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(user); k++)
        if (LLVMGetOperand(user, k) == x)
            return true;
    return false;
}

static bool may_write(LLVMValueRef x)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMStore:
    case LLVMFence:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg: return true;
    case LLVMLoad: return !ptx_host_plain_load(x);
    case LLVMCall: return ptx_host_touches(x, PTX_HOST_READS | PTX_HOST_WRITES);
    default: return false;
    }
}

/* What an address is so many bytes behind. */
static LLVMValueRef base_of(LLVMValueRef address)
{
    return LLVMIsAGetElementPtrInst(address) && is_step(address) ? LLVMGetOperand(address, 0) : address;
}

/* Is it a scalar that was the first one of a vector: more is known of its address than it needs? */
static bool begins_vector(LLVMValueRef load)
{
    LLVMTypeRef type = LLVMTypeOf(load);
    unsigned bits = LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type)
                    : LLVMGetTypeKind(type) == LLVMFloatTypeKind ? 32 : 64;
    return LLVMGetAlignment(load) * 8 > bits;
}

/* Of a load that was part of a vector, where that begins; NULL. */
static LLVMValueRef vector_of(LLVMValueRef load)
{
    LLVMValueRef base = base_of(LLVMGetOperand(load, 0));
    for (LLVMUseRef use = LLVMGetFirstUse(base); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMIsALoadInst(user) && LLVMGetInstructionParent(user) == LLVMGetInstructionParent(load) && begins_vector(user))
            return base;
    }
    return NULL;
}

/* Is it one of the loads that the parts of a vector are read by, which make one row of memory where they are beside each other;
 * or what needs one of them? */
static bool is_beside(LLVMValueRef x, LLVMValueRef base)
{
    if (LLVMIsALoadInst(x))
        return base_of(LLVMGetOperand(x, 0)) == base;
    for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(x); k++) {
        LLVMValueRef from = LLVMGetOperand(x, k);
        if (LLVMIsALoadInst(from) && base_of(LLVMGetOperand(from, 0)) == base)
            return true;
    }
    return false;
}

/* Where it may come to stand: before what needs it. */
static LLVMValueRef place_of(LLVMValueRef x)
{
    bool load = LLVMIsALoadInst(x);
    LLVMValueRef at = LLVMGetNextInstruction(x), base = load ? vector_of(x) : NULL;
    for (int n = 0;
         n < MAX_WAY && !LLVMIsATerminatorInst(at) && !uses(at, x) && !(load && (may_write(at) || (base && is_beside(at, base))));
         n++)
        at = LLVMGetNextInstruction(at);
    return at;
}

/* From the end on: what needs an instruction is where it will be. */
static void in_block(LLVMBuilderRef b, LLVMBasicBlockRef bb)
{
    LLVMValueRef x = LLVMGetBasicBlockTerminator(bb);
    for (LLVMValueRef before; x; x = before) {
        before = LLVMGetPreviousInstruction(x);
        if (!LLVMIsAPHINode(x) && !LLVMIsATerminatorInst(x) && (ptx_host_plain_load(x) || is_step(x))) {
            LLVMValueRef at = place_of(x);
            if (at != LLVMGetNextInstruction(x))
                ptx_move_before(b, x, at);
        }
    }
}

int ptx_run_late_loads(struct ptx_pipeline *pipe)
{
    LLVMModuleRef m = *pipe->module;
    if (!pipe->lifted && !ptx_pass_forced(pipe, PTX_PASS_LATE_LOADS))
        return AW_OK;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            in_block(b, bb);
    LLVMDisposeBuilder(b);
    return AW_OK;
}
