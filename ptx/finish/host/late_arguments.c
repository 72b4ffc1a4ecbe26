/* Arguments are read where they are needed, once in each block of code that needs them, in functions that read many.
 *
 * Machine code has its constants at hand, and nvcc's PTX reads a structure's parts where the kernel begins, so that those of all
 * ways through a kernel are read before the first one is chosen: PyTorch's reductions have 250.  There are 16 registers, so each
 * becomes a load and a store of the stack, which cost such a kernel's warps more than the few sums that they have come for; and
 * each use is another load.
 *
 *   a = load args + 8;  x = splat a;  if (c) { .. x .. }      becomes      if (c) { a = load args + 8;  x = splat a;  .. x .. }
 *
 * With them goes what is made of one alone.  No memory that they are read of changes while a kernel runs (PTX_INVARIANT), and the
 * function's first block comes before all others, so nothing is read that was not.  LLVM's backend takes loads out of loops again
 * as far as there are registers.  Late: its optimisers would read twice what is read in two blocks. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/host.h"
#include "lower/copy.h"
#include "lower/metadata.h"

enum { MANY = 24 }; /* arguments of a function; fewer may well stay in registers */

struct late {
    LLVMBuilderRef b;
    struct aw_ptrmap found; /* a set: what can be made anew of arguments */
    bool ok;                /* memory */
};

static bool is_found(const struct late *l, LLVMValueRef x)
{
    return aw_ptrmap_find(&l->found, x) != NULL;
}

static bool is_there(const void *data, LLVMValueRef x)
{
    return !is_found(data, x);
}

/* At a constant distance from an address. */
static bool is_read(LLVMValueRef x)
{
    if (!LLVMIsALoadInst(x) || LLVMGetVolatile(x) || !ptx_metadata(x, PTX_INVARIANT))
        return false;
    LLVMValueRef p = LLVMGetOperand(x, 0);
    return LLVMIsAGetElementPtrInst(p) && LLVMGetNumOperands(p) == 2 && LLVMIsConstant(LLVMGetOperand(p, 1));
}

/* Are others read from there, as all arguments are from one address?  That is better kept. */
static bool is_base(LLVMValueRef x)
{
    for (LLVMUseRef use = LLVMGetFirstUse(x); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef address = LLVMGetUser(use);
        LLVMUseRef read = LLVMIsAGetElementPtrInst(address) ? LLVMGetFirstUse(address) : NULL;
        if (read && is_read(LLVMGetUser(read)))
            return true;
    }
    return false;
}

static bool is_argument(LLVMValueRef x)
{
    return is_read(x) && LLVMGetTypeKind(LLVMTypeOf(x)) != LLVMVectorTypeKind && !is_base(x);
}

/* A cheap operation of something found, and of constants. */
static bool is_made_of(const struct late *l, LLVMValueRef x)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMZExt: case LLVMSExt: case LLVMTrunc: case LLVMBitCast: case LLVMIntToPtr: case LLVMPtrToInt:
    case LLVMAdd: case LLVMSub: case LLVMAnd: case LLVMOr: case LLVMXor: case LLVMShl: case LLVMLShr: case LLVMAShr:
    case LLVMInsertElement: case LLVMShuffleVector:
        break;
    default: return false;
    }
    bool any = false;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++) {
        LLVMValueRef o = LLVMGetOperand(x, i);
        bool found = is_found(l, o);
        if (!found && !LLVMIsConstant(o))
            return false;
        any |= found;
    }
    return any;
}

/* Of the first block; how many arguments. */
static int find(struct late *l, LLVMBasicBlockRef entry)
{
    int n = 0;
    for (LLVMValueRef x = LLVMGetFirstInstruction(entry); x && l->ok; x = LLVMGetNextInstruction(x)) {
        bool argument = is_argument(x);
        n += argument;
        if (argument)
            l->ok = aw_ptrmap_put(&l->found, LLVMGetOperand(x, 0), x);
        if (argument || is_made_of(l, x))
            l->ok = l->ok && aw_ptrmap_put(&l->found, x, x);
    }
    return n;
}

/* Gives operand `k` of `x` what stands for it in the copy's block; made where the builder stands. */
static void remake(struct late *l, struct ptx_copy *c, LLVMValueRef x, unsigned k)
{
    LLVMValueRef o = LLVMGetOperand(x, k);
    if (is_found(l, o))
        LLVMSetOperand(x, k, ptx_copy_computation(c, o, is_there, l));
}

static void in_block(struct late *l, LLVMBasicBlockRef bb)
{
    struct ptx_copy c = { .b = l->b };
    LLVMValueRef end = LLVMGetBasicBlockTerminator(bb);
    for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x)) {
        if (LLVMIsAPHINode(x))
            continue;
        LLVMPositionBuilderBefore(l->b, x);
        for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(x); k++)
            remake(l, &c, x, k);
    }
    LLVMPositionBuilderBefore(l->b, end);
    for (unsigned i = 0; i < LLVMGetNumSuccessors(end); i++)
        for (LLVMValueRef phi = LLVMGetFirstInstruction(LLVMGetSuccessor(end, i)); LLVMIsAPHINode(phi);
             phi = LLVMGetNextInstruction(phi))
            for (unsigned k = 0; k < LLVMCountIncoming(phi); k++)
                if (LLVMGetIncomingBlock(phi, k) == bb)
                    remake(l, &c, phi, k);
    l->ok = l->ok && !c.failed;
    ptx_copy_fini(&c);
}

static void erase_unused(struct late *l, LLVMBasicBlockRef entry)
{
    for (LLVMValueRef x = LLVMGetLastInstruction(entry), before; x; x = before) {
        before = LLVMGetPreviousInstruction(x);
        if (is_found(l, x) && !LLVMGetFirstUse(x))
            LLVMInstructionEraseFromParent(x);
    }
}

static bool in_function(LLVMBuilderRef b, LLVMValueRef fn)
{
    struct late l = { .b = b, .ok = true };
    LLVMBasicBlockRef entry = LLVMIsDeclaration(fn) ? NULL : LLVMGetEntryBasicBlock(fn);
    if (entry && find(&l, entry) >= MANY && l.ok) {
        for (LLVMBasicBlockRef bb = LLVMGetNextBasicBlock(entry); bb; bb = LLVMGetNextBasicBlock(bb))
            in_block(&l, bb);
        erase_unused(&l, entry);
    }
    aw_ptrmap_fini(&l.found);
    return l.ok;
}

int ptx_run_late_arguments(struct ptx_pipeline *pipe)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(*pipe->module));
    bool ok = true;
    for (LLVMValueRef fn = LLVMGetFirstFunction(*pipe->module); fn && ok; fn = LLVMGetNextFunction(fn))
        ok = in_function(b, fn);
    LLVMDisposeBuilder(b);
    return ok ? AW_OK : AW_ERR_OUT_OF_MEMORY;
}
