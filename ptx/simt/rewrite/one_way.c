/* Scalar rewrites before structurising: every path of a function gets to its end.
 *
 * A path that ends in `unreachable` (after a trap or an assertion, which end the kernel) goes to a return instead, and a
 * loop without an exit gets one that is never taken: structurising and reconvergence need a post-dominator.  The
 * condition is a call that only the vectoriser knows to be true.  Loops that only watch memory let other blocks run.
 *
 * Besides, what the vectoriser does not know is put otherwise: aggregates are taken apart, and sums that LLVM has written as `or`
 * become sums. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/aggregates.h"
#include "simt/analysis/analysis.h"
#include "simt/rewrite/rewrite.h"

#include "base/vec.h"

struct prepare {
    LLVMModuleRef module;
    LLVMContextRef ctx;
    LLVMBuilderRef b;
    LLVMValueRef fn;
    LLVMBasicBlockRef ret; /* a block that returns; NULL until needed */
    bool failed;
};

static LLVMBasicBlockRef return_block(struct prepare *p)
{
    if (p->ret)
        return p->ret;
    p->ret = LLVMAppendBasicBlockInContext(p->ctx, p->fn, "never");
    LLVMPositionBuilderAtEnd(p->b, p->ret);
    LLVMTypeRef t = LLVMGetReturnType(LLVMGlobalGetValueType(p->fn));
    if (LLVMGetTypeKind(t) == LLVMVoidTypeKind)
        LLVMBuildRetVoid(p->b);
    else
        LLVMBuildRet(p->b, LLVMConstNull(t));
    return p->ret;
}

static void end_unreachable(struct prepare *p)
{
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(p->fn); bb; bb = LLVMGetNextBasicBlock(bb)) {
        LLVMValueRef t = LLVMGetBasicBlockTerminator(bb);
        if (!t || LLVMGetInstructionOpcode(t) != LLVMUnreachable)
            continue;
        LLVMBasicBlockRef to = return_block(p);
        LLVMInstructionEraseFromParent(t);
        LLVMPositionBuilderAtEnd(p->b, bb);
        LLVMBuildBr(p->b, to);
    }
}

static LLVMValueRef always(struct prepare *p)
{
    return simt_private_call(p->b, p->module, SIMT_PRIVATE_ALWAYS, NULL, 0);
}

/* Puts a block on the edge from `bb` to its successor number `i`, with a way out to the return. */
static void split_edge(struct prepare *p, LLVMBasicBlockRef bb, unsigned i)
{
    LLVMValueRef t = LLVMGetBasicBlockTerminator(bb);
    LLVMBasicBlockRef to = LLVMGetSuccessor(t, i), out = return_block(p);
    LLVMBasicBlockRef mid = LLVMAppendBasicBlockInContext(p->ctx, p->fn, "endless");
    LLVMPositionBuilderAtEnd(p->b, mid);
    LLVMBuildCondBr(p->b, always(p), to, out);
    LLVMSetSuccessor(t, i, mid);
    /* LLVM-C cannot rename a phi's incoming block, so phis are rebuilt; one edge moves, others from `bb` stay. */
    for (LLVMValueRef phi = LLVMGetFirstInstruction(to), next; phi && LLVMIsAPHINode(phi); phi = next) {
        next = LLVMGetNextInstruction(phi);
        LLVMPositionBuilderBefore(p->b, phi);
        LLVMValueRef copy = LLVMBuildPhi(p->b, LLVMTypeOf(phi), "");
        bool moved = false;
        for (unsigned j = 0; j < LLVMCountIncoming(phi); j++) {
            LLVMValueRef v = LLVMGetIncomingValue(phi, j);
            LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, j);
            if (from == bb && !moved) {
                from = mid;
                moved = true;
            }
            LLVMAddIncoming(copy, &v, &from, 1);
        }
        LLVMReplaceAllUsesWith(phi, copy);
        LLVMInstructionEraseFromParent(phi);
    }
}

struct reach {
    struct simt_fn f; /* only its graph is used */
    bool *ends;       /* a return can be reached from the block */
};

/* Marks all blocks from which a marked one can be reached. */
static bool mark_reaching(struct reach *r)
{
    return ptx_graph_walk(r->f.blocks, r->f.n_blocks, simt_edges_into, r->ends, NULL, NULL);
}

/* The last block in reverse postorder that never gets out has only edges backwards: cut one of them. */
static bool cut_endless_loops(struct prepare *p, struct simt *u)
{
    struct reach r = { .f = { .u = u, .src = p->fn } };
    bool ok = simt_cfg_order(&r.f);
    r.ends = AW_NEW_ARRAY(&u->arena, bool, (size_t)r.f.n_blocks + 1);
    ok = ok && r.ends;
    for (int i = 0; ok && i < r.f.n_blocks; i++)
        r.ends[i] = r.f.blocks[i].n_succ == 0;
    ok = ok && mark_reaching(&r);
    for (int i = r.f.n_blocks - 1; ok && i >= 0; i--)
        if (!r.ends[i]) {
            split_edge(p, r.f.blocks[i].bb, 0);
            r.ends[i] = true;
            ok = mark_reaching(&r);
        }
    simt_cfg_fini(&r.f);
    return ok;
}

/* LLVM writes a sum as `or disjoint` where no bit is in both.  Of lanes where that does not hold nothing is asked, so it is the
 * sum in all lanes; the analysis of shapes, which believes no flags, would have to prove it of lanes that are off as well. */
static void restore_sums(struct prepare *p)
{
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(p->fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef x = LLVMGetFirstInstruction(bb), next; x; x = next) {
            next = LLVMGetNextInstruction(x);
            if (LLVMGetInstructionOpcode(x) != LLVMOr || !LLVMGetIsDisjoint(x))
                continue;
            LLVMPositionBuilderBefore(p->b, x);
            LLVMReplaceAllUsesWith(x, LLVMBuildAdd(p->b, LLVMGetOperand(x, 0), LLVMGetOperand(x, 1), ""));
            LLVMInstructionEraseFromParent(x);
        }
}

int simt_one_way(LLVMModuleRef module, struct aw_buf *diags)
{
    struct simt_options options = { .kernel = "kernel" };
    struct simt u = { .options = &options, .diags = diags, .in = module, .ctx = LLVMGetModuleContext(module) };
    struct prepare p = { .module = module, .ctx = u.ctx, .b = LLVMCreateBuilderInContext(u.ctx) };
    for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn && !u.status; fn = LLVMGetNextFunction(fn)) {
        if (LLVMIsDeclaration(fn))
            continue;
        p.fn = fn;
        p.ret = NULL;
        LLVMSetCurrentDebugLocation2(p.b, NULL); /* the builder's last one is another function's */
        if (!ptx_aggregates_split(p.b, fn))
            simt_memory(&u);
        restore_sums(&p);
        end_unreachable(&p);
        if (!cut_endless_loops(&p, &u) && !u.status)
            simt_memory(&u);
    }
    LLVMDisposeBuilder(p.b);
    aw_arena_fini(&u.arena);
    return u.status;
}
