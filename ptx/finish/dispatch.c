/* The form of tangled functions (tangle.h): a loop that runs one block at a time. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/tangle.h"

#include "base/map.h"
#include "base/status.h"
#include "lower/simt.h"

struct dispatch {
    LLVMModuleRef module;
    LLVMContextRef context;
    LLVMValueRef fn;
    LLVMBuilderRef b;
    LLVMTypeRef i32;
    struct tangle_graph g;
    struct tangle_order o;
    LLVMValueRef next, result; /* slots: where the lane goes on; what the function returns, or NULL */
    LLVMValueRef now;          /* the lowest of all lanes' */
    int *watching;             /* blocks that watch memory, at places before this one */
};

static LLVMValueRef number(const struct dispatch *d, int place)
{
    return LLVMConstInt(d->i32, (unsigned)place, 0);
}

static LLVMBasicBlockRef block_new(struct dispatch *d, const char *name)
{
    return LLVMAppendBasicBlockInContext(d->context, d->fn, name);
}

/* Reads what others may write for a lane that waits? */
static bool watches(LLVMBasicBlockRef bb)
{
    for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x))
        if (LLVMIsAAtomicRMWInst(x) || LLVMIsAAtomicCmpXchgInst(x) ||
            (LLVMIsALoadInst(x) && (LLVMGetVolatile(x) || LLVMGetOrdering(x) != LLVMAtomicOrderingNotAtomic)))
            return true;
    return false;
}

static int target(const struct dispatch *d, int from, LLVMBasicBlockRef to)
{
    for (int j = d->g.first[from]; j < d->g.first[from + 1]; j++)
        if (d->g.bb[d->g.succ[j]] == to)
            return tangle_order_next(&d->o, from, d->g.succ[j]);
    return d->o.n;
}

/* In place of a block's end: where its lanes go on. */
static void leave(struct dispatch *d, int i)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(d->g.bb[i]), to = number(d, d->o.n);
    LLVMPositionBuilderBefore(d->b, end);
    LLVMSetCurrentDebugLocation2(d->b, NULL);
    if (LLVMIsAReturnInst(end)) {
        if (d->result)
            LLVMBuildStore(d->b, LLVMGetOperand(end, 0), d->result);
    } else if (LLVMGetNumSuccessors(end) == 2) {
        LLVMValueRef yes = number(d, target(d, i, LLVMGetSuccessor(end, 0))), no = number(d, target(d, i, LLVMGetSuccessor(end, 1)));
        to = yes == no ? yes : LLVMBuildSelect(d->b, LLVMGetCondition(end), yes, no, "");
    } else if (LLVMGetNumSuccessors(end) == 1) {
        to = number(d, target(d, i, LLVMGetSuccessor(end, 0)));
    }
    LLVMBuildStore(d->b, to, d->next);
    LLVMInstructionEraseFromParent(end);
}

/* At a loop's latch its lanes have met.  Where they may be waiting for someone else, that one has its turn. */
static LLVMBasicBlockRef latch_build(struct dispatch *d, int place)
{
    int head = d->o.place[d->o.head[place]];
    LLVMBasicBlockRef bb = block_new(d, "again");
    LLVMPositionBuilderAtEnd(d->b, bb);
    if (d->watching[place] > d->watching[head])
        ptx_simt_call(d->b, d->module, PTX_SIMT_NANOSLEEP, (LLVMValueRef[]){ number(d, 0) });
    LLVMBuildStore(d->b, number(d, head), d->next);
    return bb;
}

/* From here to there. */
struct part {
    LLVMBasicBlockRef first, last;
};

/* A tree of branches to the blocks at places from..to - 1, each branch with a join of its own. */
static struct part tree_build(struct dispatch *d, int from, int to)
{
    if (to - from == 1) {
        LLVMBasicBlockRef bb = d->o.block[from] >= 0 ? d->g.bb[d->o.block[from]] : latch_build(d, from);
        return (struct part){ bb, bb };
    }
    int middle = from + (to - from) / 2;
    struct part ret = { block_new(d, ""), NULL }, low = tree_build(d, from, middle), high = tree_build(d, middle, to);
    ret.last = block_new(d, "");
    LLVMPositionBuilderAtEnd(d->b, ret.first);
    LLVMBuildCondBr(d->b, LLVMBuildICmp(d->b, LLVMIntULT, d->now, number(d, middle), ""), low.first, high.first);
    LLVMPositionBuilderAtEnd(d->b, low.last);
    LLVMBuildBr(d->b, ret.last);
    LLVMPositionBuilderAtEnd(d->b, high.last);
    LLVMBuildBr(d->b, ret.last);
    return ret;
}

static void loop_build(struct dispatch *d)
{
    LLVMBasicBlockRef head = block_new(d, "dispatch"), mine = block_new(d, "mine"), latch = block_new(d, "next"), exit = block_new(d, "done");
    LLVMPositionBuilderAtEnd(d->b, LLVMGetEntryBasicBlock(d->fn));
    LLVMBuildBr(d->b, head);

    LLVMPositionBuilderAtEnd(d->b, head);
    LLVMValueRef at = LLVMBuildLoad2(d->b, d->i32, d->next, "");
    d->now = ptx_simt_call(d->b, d->module, PTX_SIMT_LOWEST, &at);
    LLVMBuildCondBr(d->b, LLVMBuildICmp(d->b, LLVMIntEQ, d->now, number(d, d->o.n), ""), exit, mine);

    struct part all = tree_build(d, 1, d->o.n);
    LLVMPositionBuilderAtEnd(d->b, mine);
    LLVMBuildCondBr(d->b, LLVMBuildICmp(d->b, LLVMIntEQ, at, d->now, ""), all.first, latch);
    LLVMPositionBuilderAtEnd(d->b, all.last);
    LLVMBuildBr(d->b, latch);
    LLVMPositionBuilderAtEnd(d->b, latch);
    LLVMBuildBr(d->b, head);

    LLVMPositionBuilderAtEnd(d->b, exit);
    if (d->result)
        LLVMBuildRet(d->b, LLVMBuildLoad2(d->b, LLVMGetAllocatedType(d->result), d->result, ""));
    else
        LLVMBuildRetVoid(d->b);
}

/* Blocks that nothing leads to must not lead to others. */
static void stray_end(struct dispatch *d, const bool *known, LLVMBasicBlockRef last)
{
    int i = 0;
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(d->fn); bb; bb = LLVMGetNextBasicBlock(bb), i++) {
        if (!known[i]) {
            LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(bb));
            LLVMPositionBuilderAtEnd(d->b, bb);
            LLVMBuildUnreachable(d->b);
        }
        if (bb == last)
            return;
    }
}

static bool stray_find(struct dispatch *d)
{
    struct aw_ptrmap reached = { 0 };
    unsigned n = LLVMCountBasicBlocks(d->fn), at = 0;
    bool *known = AW_NEW_ARRAY(&d->g.arena, bool, n + 1), ok = known != NULL;
    for (int i = 0; ok && i < d->g.n; i++)
        ok = aw_ptrmap_put(&reached, d->g.bb[i], d->g.bb[i]);
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(d->fn); ok && bb; bb = LLVMGetNextBasicBlock(bb))
        known[at++] = aw_ptrmap_find(&reached, bb) != NULL;
    if (ok)
        stray_end(d, known, LLVMGetLastBasicBlock(d->fn));
    aw_ptrmap_fini(&reached);
    return ok;
}

static bool function_dispatch(struct dispatch *d)
{
    bool ok = tangle_graph_make(&d->g, d->fn) && tangle_order_make(&d->g, &d->o) && stray_find(d);
    d->watching = ok ? AW_NEW_ARRAY(&d->g.arena, int, (size_t)d->o.n + 1) : NULL;
    if (!d->watching || d->g.n == 1)
        return d->watching != NULL;
    for (int i = 0; i < d->o.n; i++)
        d->watching[i + 1] = d->watching[i] + (d->o.block[i] >= 0 && watches(d->g.bb[d->o.block[i]]));
    LLVMTypeRef type = LLVMGetReturnType(LLVMGlobalGetValueType(d->fn));
    LLVMPositionBuilderBefore(d->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(d->fn)));
    LLVMSetCurrentDebugLocation2(d->b, NULL);
    d->next = LLVMBuildAlloca(d->b, d->i32, "next");
    d->result = LLVMGetTypeKind(type) == LLVMVoidTypeKind ? NULL : LLVMBuildAlloca(d->b, type, "result");
    for (int i = 0; i < d->g.n; i++)
        leave(d, i);
    loop_build(d);
    return true;
}

int ptx_tangle_dispatch(LLVMModuleRef module)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    bool ok = true;
    for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn && ok; fn = LLVMGetNextFunction(fn)) {
        if (LLVMIsDeclaration(fn) || !ptx_tangle_is(fn))
            continue;
        struct dispatch d = { .module = module, .context = context, .fn = fn, .i32 = LLVMInt32TypeInContext(context) };
        d.b = LLVMCreateBuilderInContext(context);
        ok = function_dispatch(&d);
        LLVMDisposeBuilder(d.b);
        tangle_graph_fini(&d.g);
    }
    return ok ? AW_OK : AW_ERR_OUT_OF_MEMORY;
}
