/* Loops with several entries get one: a dispatch block that all entering and continuing edges go through.
 *
 * LLVM 22's fix-irreducible does the same but loses values where such loops nest (a phi moved to the outer dispatch is
 * still read in the inner loop), so this is our own.  It works on code whose values live in stack slots between blocks
 * (LLVM's reg2mem before, sroa after), where edges can be moved without touching a phi. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/rewrite/rewrite.h"

struct entry_graph {
    struct simt *u;
    struct simt_fn f;      /* blocks and edges; rebuilt for every round */
    LLVMBuilderRef b;
    struct ptx_components components; /* -1: the block is removed */
    bool *removed;         /* header of a loop that is dealt with */
};

/* Those of the blocks that are not removed. */
static bool find_components(struct entry_graph *g)
{
    int *nodes = AW_NEW_ARRAY(&g->u->arena, int, (size_t)g->f.n_blocks + 1), n = 0;
    if (!nodes)
        return simt_memory(g->u);
    for (int i = 0; i < g->f.n_blocks; i++) {
        g->components.component[i] = -1;
        if (!g->removed[i])
            nodes[n++] = i;
    }
    ptx_components_find(&g->components, g->f.blocks, simt_edges_out, nodes, n);
    return true;
}

/* ---- One round: every component's entries */

static bool enters(const struct entry_graph *g, int block)
{
    const struct simt_block *x = &g->f.blocks[block];
    const int *part = g->components.component;
    for (int j = 0; j < x->n_preds; j++)
        if (g->removed[x->preds[j]] || part[x->preds[j]] != part[block])
            return true;
    return block == 0;
}

static bool stays(const struct entry_graph *g, int from, int to)
{
    const int *part = g->components.component;
    return !g->removed[from] && part[from] == part[to];
}

/* Sends all edges to `entries` through one new block that branches on a stored number.  Those from within come to it by one way:
 * of several, LLVM would make loops in each other, whose branches are not nested. */
static void build_dispatch(struct entry_graph *g, const int *entries, int n)
{
    struct simt *u = g->u;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(u->ctx);
    LLVMValueRef fn = g->f.src;
    LLVMPositionBuilderBefore(g->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(fn)));
    LLVMValueRef slot = LLVMBuildAlloca(g->b, i32, "which");
    LLVMBasicBlockRef dispatch = LLVMAppendBasicBlockInContext(u->ctx, fn, "dispatch"), at = dispatch;
    LLVMBasicBlockRef again = LLVMAppendBasicBlockInContext(u->ctx, fn, "again");
    LLVMPositionBuilderAtEnd(g->b, again);
    LLVMBuildBr(g->b, dispatch);
    for (int i = 0; i < n; i++) {
        LLVMBasicBlockRef entry = g->f.blocks[entries[i]].bb;
        const struct simt_block *x = &g->f.blocks[entries[i]];
        for (int j = 0; j < x->n_preds; j++) {
            LLVMValueRef t = LLVMGetBasicBlockTerminator(g->f.blocks[x->preds[j]].bb);
            LLVMBasicBlockRef mid = LLVMAppendBasicBlockInContext(u->ctx, fn, "enter");
            LLVMPositionBuilderAtEnd(g->b, mid);
            LLVMBuildStore(g->b, LLVMConstInt(i32, (unsigned)i, 0), slot);
            LLVMBuildBr(g->b, stays(g, x->preds[j], entries[i]) ? again : dispatch);
            for (unsigned s = 0; s < LLVMGetNumSuccessors(t); s++)
                if (LLVMGetSuccessor(t, s) == entry)
                    LLVMSetSuccessor(t, s, mid);
        }
    }
    LLVMPositionBuilderAtEnd(g->b, dispatch);
    LLVMValueRef which = LLVMBuildLoad2(g->b, i32, slot, "");
    for (int i = 0; i < n - 1; i++) {
        LLVMBasicBlockRef next = i == n - 2 ? g->f.blocks[entries[n - 1]].bb
                                            : LLVMAppendBasicBlockInContext(u->ctx, fn, "dispatch");
        LLVMPositionBuilderAtEnd(g->b, at);
        LLVMValueRef is = LLVMBuildICmp(g->b, LLVMIntEQ, which, LLVMConstInt(i32, (unsigned)i, 0), "");
        LLVMBuildCondBr(g->b, is, g->f.blocks[entries[i]].bb, next);
        at = next;
    }
}

static bool open_graph(struct entry_graph *g, LLVMValueRef fn)
{
    g->f = (struct simt_fn){ .u = g->u, .src = fn };
    if (!simt_cfg_order(&g->f))
        return false;
    size_t n = (size_t)g->f.n_blocks + 1;
    g->removed = AW_NEW_ARRAY(&g->u->arena, bool, n);
    if (!g->removed || !ptx_components_init(&g->u->arena, g->f.n_blocks, &g->components))
        return simt_memory(g->u);
    return true;
}

/* The entries of each cyclic component, grouped: those of component c are entries[first[c]] .. entries[first[c + 1] - 1]. */
struct entries {
    int *first, *entries;
};

static bool find_entries(struct entry_graph *g, struct entries *ret)
{
    int n = g->f.n_blocks;
    const int *part = g->components.component;
    size_t parts = (size_t)g->components.n;
    bool *cyclic = AW_NEW_ARRAY(&g->u->arena, bool, parts + 1);
    int *used = AW_NEW_ARRAY(&g->u->arena, int, parts + 1);
    ret->first = AW_NEW_ARRAY(&g->u->arena, int, parts + 2);
    ret->entries = AW_NEW_ARRAY(&g->u->arena, int, (size_t)n + 1);
    if (!cyclic || !used || !ret->first || !ret->entries)
        return simt_memory(g->u);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < g->f.blocks[i].n_succ; j++)
            if (part[i] >= 0 && part[i] == part[g->f.blocks[i].succ[j]])
                cyclic[part[i]] = true;
    for (int i = 0; i < n; i++)
        if (part[i] >= 0 && cyclic[part[i]] && enters(g, i))
            ret->first[part[i] + 1]++;
    for (size_t c = 0; c < parts; c++)
        ret->first[c + 1] += ret->first[c];
    for (int i = 0; i < n; i++)
        if (part[i] >= 0 && cyclic[part[i]] && enters(g, i))
            ret->entries[ret->first[part[i]] + used[part[i]]++] = i;
    return true;
}

/* Peels loops from the outside in.  A component with one entry loses that header and is looked into again; one with more
 * is dispatched, which changes the graph.  Returns the number of dispatches, or -1. */
static int peel(struct entry_graph *g)
{
    int dispatches = 0;
    for (bool found = true; found && !dispatches;) {
        struct entries e;
        found = false;
        if (!find_components(g) || !find_entries(g, &e))
            return -1;
        for (int c = 0; c < g->components.n; c++) {
            int n = e.first[c + 1] - e.first[c];
            if (n == 1) {
                g->removed[e.entries[e.first[c]]] = true;
                found = true;
            } else if (n > 1) {
                build_dispatch(g, &e.entries[e.first[c]], n);
                dispatches++;
            }
        }
    }
    return dispatches;
}

bool simt_irreducible(LLVMModuleRef module)
{
    struct aw_buf ignored = { 0 };
    struct simt_options options = { .kernel = "" };
    struct simt u = { .options = &options, .diags = &ignored, .in = module, .ctx = LLVMGetModuleContext(module) };
    bool any = false;
    for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn && !any; fn = LLVMGetNextFunction(fn)) {
        if (LLVMIsDeclaration(fn))
            continue;
        struct simt_fn f = { .u = &u, .src = fn };
        any = !simt_cfg_build(&f);
        simt_cfg_fini(&f);
    }
    aw_arena_fini(&u.arena);
    aw_buf_fini(&ignored);
    return any;
}

int simt_make_reducible(LLVMModuleRef module, struct aw_buf *diags)
{
    struct simt_options options = { .kernel = "kernel" };
    struct simt u = { .options = &options, .diags = diags, .in = module, .ctx = LLVMGetModuleContext(module) };
    struct entry_graph g = { .u = &u, .b = LLVMCreateBuilderInContext(u.ctx) };
    for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn && !u.status; fn = LLVMGetNextFunction(fn)) {
        int n = 1;
        LLVMSetCurrentDebugLocation2(g.b, NULL); /* the builder's last one is another function's */
        while (!LLVMIsDeclaration(fn) && n > 0 && !u.status) {
            n = open_graph(&g, fn) ? peel(&g) : -1;
            simt_cfg_fini(&g.f);
        }
    }
    LLVMDisposeBuilder(g.b);
    aw_arena_fini(&u.arena);
    return u.status;
}
