/* The form of tangled functions (tangle.h): a loop that runs one block at a time.
 *
 * Backends take time for a loop that grows with the square of its blocks.  Where that counts, runs of neighbouring places get
 * functions of their own (outline.c), each such a loop until no lane is left at its places, and the function itself is a loop
 * that calls them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/tangle.h"

#include "base/map.h"
#include "base/status.h"
#include "lower/simt.h"

/* From here to there. */
struct part {
    LLVMBasicBlockRef first, last;
};

struct dispatch {
    LLVMModuleRef module;
    LLVMContextRef context;
    LLVMValueRef fn, into;     /* the function; where blocks are being made, it or one of its parts */
    LLVMBuilderRef b;
    LLVMTypeRef i32;
    struct tangle_graph g;
    struct tangle_order o;
    LLVMValueRef next, result; /* slots: where the lane goes on; what the function returns, or NULL */
    LLVMValueRef now;          /* the lowest of all lanes' */
    int *watching;             /* blocks that watch memory, at places before this one */
    int size;                  /* places of a part; 0: there are no parts */
    struct tangle_outline out;
};

/* What a tree of branches leads to: `n` places or parts, the first of which begins at place `first` and each of which has `size`
 * places. */
struct dispatch_choice {
    int first, size;
    struct part (*leaf)(struct dispatch *d, int i);
};

static LLVMValueRef number(const struct dispatch *d, int place)
{
    return LLVMConstInt(d->i32, (unsigned)place, 0);
}

static LLVMBasicBlockRef block_new(struct dispatch *d, const char *name)
{
    return LLVMAppendBasicBlockInContext(d->context, d->into, name);
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
        LLVMValueRef yes = number(d, target(d, i, LLVMGetSuccessor(end, 0))),
                     no = number(d, target(d, i, LLVMGetSuccessor(end, 1)));
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

/* The block at a place. */
static struct part place_build(struct dispatch *d, int place)
{
    int block = d->o.block[place];
    LLVMBasicBlockRef bb = block >= 0 ? d->g.bb[block] : latch_build(d, place);
    if (block >= 0 && d->into != d->fn) {
        LLVMRemoveBasicBlockFromParent(bb);
        LLVMAppendExistingBasicBlock(d->into, bb);
    }
    return (struct part){ bb, bb };
}

/* A tree of branches to the `to - from` from the one numbered `from`, each branch with a join of its own. */
static struct part tree_build(struct dispatch *d, const struct dispatch_choice *c, int from, int to)
{
    if (to - from == 1)
        return c->leaf(d, from);
    int middle = from + (to - from) / 2;
    struct part ret = { block_new(d, ""), NULL }, low = tree_build(d, c, from, middle), high = tree_build(d, c, middle, to);
    ret.last = block_new(d, "");
    LLVMPositionBuilderAtEnd(d->b, ret.first);
    LLVMBuildCondBr(d->b, LLVMBuildICmp(d->b, LLVMIntULT, d->now, number(d, c->first + middle * c->size), ""), low.first,
                    high.first);
    LLVMPositionBuilderAtEnd(d->b, low.last);
    LLVMBuildBr(d->b, ret.last);
    LLVMPositionBuilderAtEnd(d->b, high.last);
    LLVMBuildBr(d->b, ret.last);
    return ret;
}

/* Where each lane is, and whether the first of them is at a place from `from` to `to` - 1: then on to `in`, else to `out`. */
static LLVMValueRef head_build(struct dispatch *d, LLVMBasicBlockRef head, int from, int to, LLVMBasicBlockRef in,
                               LLVMBasicBlockRef out)
{
    LLVMPositionBuilderAtEnd(d->b, head);
    LLVMValueRef at = LLVMBuildLoad2(d->b, d->i32, d->next, "");
    d->now = ptx_simt_call(d->b, d->module, PTX_SIMT_LOWEST, &at);
    LLVMValueRef inside = LLVMBuildICmp(d->b, LLVMIntULT, LLVMBuildSub(d->b, d->now, number(d, from), ""), number(d, to - from),
                                        "");
    LLVMBuildCondBr(d->b, inside, in, out);
    return at;
}

/* From the builder's place on: a loop over the blocks at places from..to - 1, which ends where no lane is at one of them.
 * Returns the block behind it. */
static LLVMBasicBlockRef loop_build(struct dispatch *d, int from, int to)
{
    LLVMBasicBlockRef head = block_new(d, "dispatch"), mine = block_new(d, "mine"), latch = block_new(d, "next"),
                      exit = block_new(d, "done");
    LLVMBuildBr(d->b, head);
    LLVMValueRef at = head_build(d, head, from, to, mine, exit);
    struct part all = tree_build(d, &(struct dispatch_choice){ 0, 1, place_build }, from, to);
    LLVMPositionBuilderAtEnd(d->b, mine);
    LLVMBuildCondBr(d->b, LLVMBuildICmp(d->b, LLVMIntEQ, at, d->now, ""), all.first, latch);
    LLVMPositionBuilderAtEnd(d->b, all.last);
    LLVMBuildBr(d->b, latch);
    LLVMPositionBuilderAtEnd(d->b, latch);
    LLVMBuildBr(d->b, head);
    LLVMPositionBuilderAtEnd(d->b, exit);
    return exit;
}

/* Part `i`, and the call of it for all lanes, wherever they are. */
static struct part outline_build(struct dispatch *d, int i)
{
    int from = 1 + i * d->size, to = from + d->size < d->o.n ? from + d->size : d->o.n;
    LLVMBasicBlockRef bb = block_new(d, "part");
    LLVMValueRef now = d->now;
    d->into = tangle_outline_part(&d->out);
    LLVMPositionBuilderAtEnd(d->b, block_new(d, ""));
    loop_build(d, from, to);
    LLVMBuildRetVoid(d->b);
    LLVMPositionBuilderAtEnd(d->b, bb);
    tangle_outline_call(&d->out, d->b, d->into);
    d->into = d->fn;
    d->now = now;
    return (struct part){ bb, bb };
}

/* From the builder's place on: a loop over parts. */
static LLVMBasicBlockRef parts_build(struct dispatch *d)
{
    LLVMBasicBlockRef head = block_new(d, "dispatch"), latch = block_new(d, "next"), exit = block_new(d, "done");
    LLVMBuildBr(d->b, head);
    struct part all = { 0 };
    LLVMBasicBlockRef mine = block_new(d, "mine");
    head_build(d, head, 1, d->o.n, mine, exit);
    all = tree_build(d, &(struct dispatch_choice){ 1, d->size, outline_build }, 0, (d->o.n - 2) / d->size + 1);
    LLVMPositionBuilderAtEnd(d->b, mine);
    LLVMBuildBr(d->b, all.first);
    LLVMPositionBuilderAtEnd(d->b, all.last);
    LLVMBuildBr(d->b, latch);
    LLVMPositionBuilderAtEnd(d->b, latch);
    LLVMBuildBr(d->b, head);
    return exit;
}

static bool body_build(struct dispatch *d)
{
    bool parts = d->size && d->o.n > d->size + 1 && tangle_outline_can(d->fn);
    d->into = d->fn;
    LLVMPositionBuilderAtEnd(d->b, LLVMGetEntryBasicBlock(d->fn));
    bool ok = !parts || tangle_outline_begin(&d->out, d->fn);
    LLVMBasicBlockRef exit = parts && ok ? parts_build(d) : loop_build(d, 1, d->o.n);
    LLVMPositionBuilderAtEnd(d->b, exit);
    if (d->result)
        LLVMBuildRet(d->b, LLVMBuildLoad2(d->b, LLVMGetAllocatedType(d->result), d->result, ""));
    else
        LLVMBuildRetVoid(d->b);
    return ok && (!parts || tangle_outline_end(&d->out));
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
    return body_build(d);
}

int ptx_tangle_dispatch(LLVMModuleRef module, int size)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    bool ok = true;
    for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn && ok; fn = LLVMGetNextFunction(fn)) {
        if (LLVMIsDeclaration(fn) || !ptx_tangle_is(fn) || tangle_outline_is(fn))
            continue;
        struct dispatch d = {
            .module = module, .context = context, .fn = fn, .i32 = LLVMInt32TypeInContext(context), .size = size
        };
        d.b = LLVMCreateBuilderInContext(context);
        ok = function_dispatch(&d);
        tangle_outline_fini(&d.out);
        LLVMDisposeBuilder(d.b);
        tangle_graph_fini(&d.g);
    }
    return ok ? AW_OK : AW_ERR_OUT_OF_MEMORY;
}
