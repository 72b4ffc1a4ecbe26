/* Long blocks in pieces.  LLVM orders each block's operations by a list of those that are ready, of which it looks at up to a
 * thousand for each one that it takes: a sort's block of 5,000 instructions on vectors of 32 elements took ten seconds of eleven.
 * What lives from piece to piece does so in registers of its own, as between any two blocks, so pieces end where little does.
 *
 * Last: no pass may join them again.  LLVM's does not while a block's address is taken, which is all that it is taken for. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"
#include "finish/host/host.h"
#include "lower/copy.h"
#include <stdlib.h>

enum {
    LEAST = 150, MOST = 300, /* of a piece, as a rule */
    MASK_COST = 8,           /* of a mask that lives from piece to piece: it is made anew on each side */
    REGISTER = 32,           /* bytes */
};

/* What it costs that a value lives from one piece to the next. */
static unsigned cost_of(LLVMTargetDataRef layout, LLVMValueRef x)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind)
        return 1;
    LLVMTypeRef elem = LLVMGetElementType(type);
    if (LLVMGetTypeKind(elem) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(elem) == 1)
        return MASK_COST;
    return (unsigned)((LLVMABISizeOfType(layout, type) + REGISTER - 1) / REGISTER);
}

/* The last instruction of the block that uses `x`; `n` where other blocks do, 0 where nothing does.  A number: its place in the
 * block. */
static size_t last_use(const struct aw_ptrmap *places, LLVMValueRef x, size_t n)
{
    size_t last = 0;
    for (LLVMUseRef use = LLVMGetFirstUse(x); use; use = LLVMGetNextUse(use)) {
        size_t at = (size_t)(uintptr_t)aw_ptrmap_find(places, LLVMGetUser(use));
        if (!at || LLVMIsAPHINode(LLVMGetUser(use)))
            return n;
        last = at - 1 > last ? at - 1 : last;
    }
    return last;
}

/* ret[i]: what it costs to end a piece before instruction `i`.  False: out of memory. */
static bool find_costs(LLVMTargetDataRef layout, const LLVMValueRef *x, size_t n, long *ret)
{
    struct aw_ptrmap places = { 0 };
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++) {
        ret[i] = 0;
        ok = aw_ptrmap_put(&places, x[i], (void *)(uintptr_t)(i + 1));
    }
    for (size_t i = 0; i < n && ok; i++) {
        size_t last = last_use(&places, x[i], n);
        long cost = (long)cost_of(layout, x[i]);
        if (last <= i) /* as of the last one, which is a branch */
            continue;
        ret[i + 1] += cost;
        if (last + 1 < n)
            ret[last + 1] -= cost;
    }
    for (size_t i = 1; i < n && ok; i++)
        ret[i] += ret[i - 1];
    aw_ptrmap_fini(&places);
    return ok;
}

/* Whatever went to `from` goes to `to`; phis are left as they are. */
static void redirect(LLVMBasicBlockRef from, LLVMBasicBlockRef to)
{
    for (LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(from)), next; use; use = next) {
        LLVMValueRef term = LLVMGetUser(use);
        next = LLVMGetNextUse(use);
        for (unsigned i = 0; LLVMIsATerminatorInst(term) && i < LLVMGetNumSuccessors(term); i++)
            if (LLVMGetSuccessor(term, i) == from) {
                LLVMSetSuccessor(term, i, to);
                next = LLVMGetFirstUse(LLVMBasicBlockAsValue(from)); /* the list has changed */
            }
    }
}

void ptx_host_move_out(LLVMBuilderRef b, LLVMBasicBlockRef bb, size_t n)
{
    LLVMValueRef fn = LLVMGetBasicBlockParent(bb);
    LLVMContextRef c = LLVMGetTypeContext(LLVMTypeOf(LLVMBasicBlockAsValue(bb)));
    LLVMBasicBlockRef piece = LLVMInsertBasicBlockInContext(c, bb, "piece");
    redirect(bb, piece);
    LLVMPositionBuilderAtEnd(b, piece);
    for (LLVMValueRef x = LLVMGetFirstInstruction(bb), next; n; n--, x = next) {
        next = LLVMGetNextInstruction(x);
        LLVMInstructionRemoveFromParent(x);
        ptx_insert(b, x);
    }
    LLVMBuildBr(b, bb);
    LLVMBlockAddress(fn, bb);
    if (piece != LLVMGetEntryBasicBlock(fn)) /* of which there is no address, and before which no block to join it with */
        LLVMBlockAddress(fn, piece);
}

/* What has to stay in a block's first piece: phis, and variables of the frame. */
static size_t first_free(const LLVMValueRef *x, size_t n)
{
    size_t first = 0;
    for (size_t i = 0; i < n; i++)
        if (LLVMIsAPHINode(x[i]) || LLVMIsAAllocaInst(x[i]))
            first = i + 1;
    return first;
}

static bool cut(LLVMTargetDataRef layout, LLVMBuilderRef b, LLVMBasicBlockRef bb, size_t n)
{
    LLVMValueRef *x = malloc(n * sizeof *x);
    long *cost = malloc(n * sizeof *cost);
    bool ok = x && cost;
    size_t i = 0, from = 0;
    for (LLVMValueRef v = ok ? LLVMGetFirstInstruction(bb) : NULL; v; v = LLVMGetNextInstruction(v))
        x[i++] = v;
    ok = ok && find_costs(layout, x, n, cost);
    for (size_t first = ok ? first_free(x, n) : 0; ok && n - from > MOST;) {
        size_t at = from + LEAST;
        if (at < first)
            at = first;
        for (size_t k = at; k < n && k <= from + MOST; k++)
            at = cost[k] < cost[at] ? k : at;
        if (at >= n)
            break;
        ptx_host_move_out(b, bb, at - from);
        from = at;
    }
    free(x);
    free(cost);
    return ok;
}

static bool in_module(LLVMModuleRef module, size_t longest)
{
    bool ok = true;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(f); bb && ok; bb = LLVMGetNextBasicBlock(bb)) {
            size_t n = 0;
            for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x))
                n++;
            ok = n < longest || cut(LLVMGetModuleDataLayout(module), b, bb, n);
        }
    LLVMDisposeBuilder(b);
    return ok;
}

int ptx_run_cut_blocks(struct ptx_pipeline *pipe)
{
    size_t longest = (size_t)ptx_threshold(pipe, PTX_THRESHOLD_LONG_BLOCK);
    return in_module(*pipe->module, longest) ? AW_OK : AW_ERR_OUT_OF_MEMORY;
}
