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
    int *component;        /* of a block among those of the current set; -1: not in it */
    int *index, *low, *stack;
    bool *removed;         /* header of a loop that is dealt with */
    int n_stack, next, n_components;
};

/* ---- Strongly connected components of the blocks that are not removed (Tarjan, without recursion) */

struct visit {
    int block, edge;
};

static bool visit_from(struct entry_graph *g, int root, struct visit *calls)
{
    int depth = 0;
    calls[depth++] = (struct visit){ root, 0 };
    g->index[root] = g->low[root] = ++g->next;
    g->stack[g->n_stack++] = root;
    while (depth) {
        struct visit *v = &calls[depth - 1];
        const struct simt_block *x = &g->f.blocks[v->block];
        if (v->edge < x->n_succ) {
            int s = x->succ[v->edge++];
            if (g->removed[s] || g->component[s] >= 0)
                continue;
            if (!g->index[s]) {
                g->index[s] = g->low[s] = ++g->next;
                g->stack[g->n_stack++] = s;
                calls[depth++] = (struct visit){ s, 0 };
            } else if (g->index[s] < g->low[v->block]) {
                g->low[v->block] = g->index[s];
            }
            continue;
        }
        if (g->low[v->block] == g->index[v->block]) {
            int y;
            do {
                y = g->stack[--g->n_stack];
                g->component[y] = g->n_components;
            } while (y != v->block);
            g->n_components++;
        }
        int done = v->block;
        if (--depth && g->low[done] < g->low[calls[depth - 1].block])
            g->low[calls[depth - 1].block] = g->low[done];
    }
    return true;
}

static bool find_components(struct entry_graph *g)
{
    int n = g->f.n_blocks;
    struct visit *calls = AW_NEW_ARRAY(&g->u->arena, struct visit, (size_t)n + 1);
    if (!calls)
        return simt_memory(g->u);
    g->next = g->n_stack = g->n_components = 0;
    for (int i = 0; i < n; i++) {
        g->index[i] = 0;
        g->component[i] = -1;
    }
    for (int i = 0; i < n; i++)
        if (!g->removed[i] && !g->index[i])
            visit_from(g, i, calls);
    return true;
}

/* ---- One round: every component's entries */

static bool enters(const struct entry_graph *g, int block)
{
    const struct simt_block *x = &g->f.blocks[block];
    for (int j = 0; j < x->n_preds; j++)
        if (g->removed[x->preds[j]] || g->component[x->preds[j]] != g->component[block])
            return true;
    return block == 0;
}

/* Sends all edges to `entries` through one new block that branches on a stored number. */
static void build_dispatch(struct entry_graph *g, const int *entries, int n)
{
    struct simt *u = g->u;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(u->ctx);
    LLVMValueRef fn = g->f.src;
    LLVMPositionBuilderBefore(g->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(fn)));
    LLVMValueRef slot = LLVMBuildAlloca(g->b, i32, "which");
    LLVMBasicBlockRef dispatch = LLVMAppendBasicBlockInContext(u->ctx, fn, "dispatch"), at = dispatch;
    for (int i = 0; i < n; i++) {
        LLVMBasicBlockRef entry = g->f.blocks[entries[i]].bb;
        const struct simt_block *x = &g->f.blocks[entries[i]];
        for (int j = 0; j < x->n_preds; j++) {
            LLVMValueRef t = LLVMGetBasicBlockTerminator(g->f.blocks[x->preds[j]].bb);
            LLVMBasicBlockRef mid = LLVMAppendBasicBlockInContext(u->ctx, fn, "enter");
            LLVMPositionBuilderAtEnd(g->b, mid);
            LLVMBuildStore(g->b, LLVMConstInt(i32, (unsigned)i, 0), slot);
            LLVMBuildBr(g->b, dispatch);
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
    g->component = AW_NEW_ARRAY(&g->u->arena, int, n);
    g->index = AW_NEW_ARRAY(&g->u->arena, int, n);
    g->low = AW_NEW_ARRAY(&g->u->arena, int, n);
    g->stack = AW_NEW_ARRAY(&g->u->arena, int, n);
    g->removed = AW_NEW_ARRAY(&g->u->arena, bool, n);
    if (!g->component || !g->index || !g->low || !g->stack || !g->removed)
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
    size_t parts = (size_t)g->n_components;
    bool *cyclic = AW_NEW_ARRAY(&g->u->arena, bool, parts + 1);
    int *used = AW_NEW_ARRAY(&g->u->arena, int, parts + 1);
    ret->first = AW_NEW_ARRAY(&g->u->arena, int, parts + 2);
    ret->entries = AW_NEW_ARRAY(&g->u->arena, int, (size_t)n + 1);
    if (!cyclic || !used || !ret->first || !ret->entries)
        return simt_memory(g->u);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < g->f.blocks[i].n_succ; j++)
            if (g->component[i] >= 0 && g->component[i] == g->component[g->f.blocks[i].succ[j]])
                cyclic[g->component[i]] = true;
    for (int i = 0; i < n; i++)
        if (g->component[i] >= 0 && cyclic[g->component[i]] && enters(g, i))
            ret->first[g->component[i] + 1]++;
    for (size_t c = 0; c < parts; c++)
        ret->first[c + 1] += ret->first[c];
    for (int i = 0; i < n; i++)
        if (g->component[i] >= 0 && cyclic[g->component[i]] && enters(g, i))
            ret->entries[ret->first[g->component[i]] + used[g->component[i]]++] = i;
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
        for (int c = 0; c < g->n_components; c++) {
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
