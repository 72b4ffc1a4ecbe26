/* Where lanes of a warp come together, in quick code: the places of a kernel are numbered, and loops around them counted, so that
 * the runtime (src/provider/host/lanes.c) can tell which of two lanes is behind the other.
 *
 * Lanes that went different ways are together again where their ways meet.  So of lanes that wait at different places the one
 * goes on whose place comes first: in the order of blocks in which each comes before those that it leads to and each loop is in
 * one piece, its head first.  In a loop that both are in, the one that is in an earlier round is first.
 *
 * A loop is a strongly connected part of the graph, and those that are left of it without its head; so loops with several entries
 * are loops like others. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/quick.h"
#include "finish/flow.h"
#include "lower/copy.h"
#include "lower/graph.h"
#include <anywarp/hostabi.h>
#include <stdlib.h>

typedef LLVMValueRef V;

struct quick_node {
    LLVMBasicBlockRef bb;
    struct ptx_edges out;
    bool meets, polls;       /* has a place; may wait for others where it is in a loop */
    struct quick_loop *loop;       /* the innermost around it */
    uint32_t place;          /* in the order */
};

struct quick_loop {
    struct quick_loop *outer;
    uint32_t number, depth;  /* among all that have places; how many of those are around it, where its rounds are counted */
};

struct graph {
    struct quick *q;
    struct quick_node *nodes;      /* in reverse postorder */
    int n;
    int *part;               /* number of the part that a node is in, while parts are found */
    int parts;
    uint32_t next;           /* place */
    struct ptx_components found;
    LLVMValueRef fn;
};

static struct ptx_edges edges_out(const void *graph, int node)
{
    return ((const struct graph *)graph)->nodes[node].out;
}

/* ---- What blocks do */

static bool used(V x)
{
    return LLVMGetFirstUse(x) != NULL;
}

/* Does it look at what others may change, or call what does? */
static bool polls(const struct quick *q, V x)
{
    enum ptx_simt id = ptx_simt_called(x);
    if (LLVMIsACallInst(x) && aw_ptrmap_find(&q->polling, LLVMGetCalledValue(x)))
        return true;
    if (LLVMIsALoadInst(x))
        return LLVMGetVolatile(x) || LLVMGetOrdering(x) != LLVMAtomicOrderingNotAtomic;
    return (LLVMIsAAtomicRMWInst(x) && used(x)) || LLVMIsAAtomicCmpXchgInst(x) || id == PTX_SIMT_CLOCK ||
           id == PTX_SIMT_GLOBALTIMER || LLVMIsAFenceInst(x);
}

static bool function_polls(const struct quick *q, V fn)
{
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (V x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x))
            if (polls(q, x))
                return true;
    return false;
}

static void polling_find(struct quick *q)
{
    for (bool more = true; more;) {
        more = false;
        for (V fn = LLVMGetFirstFunction(q->m); fn; fn = LLVMGetNextFunction(fn))
            if (!LLVMIsDeclaration(fn) && !aw_ptrmap_find(&q->polling, fn) && function_polls(q, fn)) {
                more = aw_ptrmap_put(&q->polling, fn, fn);
                if (!more)
                    q->status = AW_ERR_OUT_OF_MEMORY;
            }
    }
}

static void look(const struct quick *q, struct quick_node *node)
{
    for (V x = LLVMGetFirstInstruction(node->bb); x; x = LLVMGetNextInstruction(x)) {
        node->meets |= ptx_quick_op(x) >= 0;
        node->polls |= polls(q, x);
    }
}

static bool graph_make(struct graph *g)
{
    struct aw_ptrmap index = { 0 };
    LLVMBasicBlockRef *order;
    struct aw_arena *arena = &g->q->arena;
    bool ok = ptx_blocks_order(LLVMGetEntryBasicBlock(g->fn), arena, &index, &order, &g->n);
    g->nodes = ok ? AW_NEW_ARRAY(arena, struct quick_node, (size_t)g->n) : NULL;
    g->part = ok ? AW_NEW_ARRAY(arena, int, (size_t)g->n) : NULL;
    ok = g->nodes && g->part;
    for (int i = 0; ok && i < g->n; i++) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(order[i]);
        unsigned n = LLVMGetNumSuccessors(end);
        int *to = AW_NEW_ARRAY(arena, int, n + 1);
        ok = to != NULL;
        for (unsigned j = 0; ok && j < n; j++)
            to[j] = (int)(intptr_t)aw_ptrmap_find(&index, LLVMGetSuccessor(end, j)) - 1;
        g->nodes[i].bb = order[i];
        g->nodes[i].out = (struct ptx_edges){ to, (int)n };
        look(g->q, &g->nodes[i]);
    }
    aw_ptrmap_fini(&index);
    return ok;
}

/* ---- Loops */

static V counter(struct graph *g, const struct quick_loop *loop)
{
    V at = LLVMConstInt(g->q->i64, offsetof(struct aw_host_lane, rounds) + 4 * (size_t)loop->depth, 0);
    return LLVMBuildGEP2(g->q->b, g->q->i8, ptx_quick_lane(g->fn), &at, 1, "rounds");
}

/* Where a loop's head begins: counts.  The counter is cleared where lanes come from outside to any of its blocks, by blocks that
 * lead there alone (see ptx_quick_sites): other loops of this depth count there, too. */
static void loop_count(struct graph *g, const struct quick_loop *loop, int head, int part)
{
    struct quick *q = g->q;
    V zero = LLVMConstInt(q->i32, 0, 0);
    LLVMPositionBuilderBefore(q->b, ptx_behind_phis(LLVMGetFirstInstruction(g->nodes[head].bb)));
    V at = counter(g, loop), round = LLVMBuildLoad2(q->b, q->i32, at, "round");
    LLVMBuildStore(q->b, LLVMBuildAdd(q->b, round, LLVMConstInt(q->i32, 1, 0), ""), at);
    for (int i = 0; i < g->n; i++) {
        bool leads = false;
        for (int j = 0; g->part[i] != part && j < g->nodes[i].out.n; j++)
            leads |= g->part[g->nodes[i].out.at[j]] == part;
        if (leads) {
            LLVMPositionBuilderBefore(q->b, LLVMGetBasicBlockTerminator(g->nodes[i].bb));
            LLVMBuildStore(q->b, zero, counter(g, loop));
        }
    }
}

static void loop_yield(struct graph *g, int head)
{
    struct quick *q = g->q;
    LLVMPositionBuilderBefore(q->b, ptx_behind_phis(LLVMGetFirstInstruction(g->nodes[head].bb)));
    V lane = ptx_quick_lane(g->fn);
    ptx_quick_service(q, g->fn, offsetof(struct aw_host_services, lane_yield), q->nothing, &lane, 1);
    q->lanes = true;
}

static bool leads_to_itself(const struct graph *g, int node)
{
    for (int j = 0; j < g->nodes[node].out.n; j++)
        if (g->nodes[node].out.at[j] == node)
            return true;
    return false;
}

static void order_part(struct graph *g, int *nodes, int n, struct quick_loop *around);

/* `nodes` are a loop. */
static void order_loop(struct graph *g, int *nodes, int n, struct quick_loop *around)
{
    struct quick *q = g->q;
    struct quick_loop *loop = around;
    bool meets = false, waits = false;
    int head = 0, part = ++g->parts;
    for (int i = 0; i < n; i++) {
        meets |= g->nodes[nodes[i]].meets;
        waits |= g->nodes[nodes[i]].polls;
        head = nodes[i] < nodes[head] ? i : head;
    }
    int first = nodes[head];
    nodes[head] = nodes[0];
    nodes[0] = first;
    if (meets && (loop = AW_NEW(&q->arena, struct quick_loop))) {
        *loop = (struct quick_loop){ around, q->n_loops++, around ? around->depth + 1 : 0 };
        for (int i = 0; i < n; i++)
            g->part[nodes[i]] = part;
        if (loop->depth < AW_HOST_LANE_LOOPS)
            loop_count(g, loop, first, part);
        else
            ptx_quick_refuse(q, "lanes meet in loops too deep in each other");
    }
    g->nodes[first].loop = loop;
    g->nodes[first].place = g->next++;
    order_part(g, nodes + 1, n - 1, loop);
    if (waits)
        loop_yield(g, first);
}

static void order_part(struct graph *g, int *nodes, int n, struct quick_loop *around)
{
    int *component = n ? AW_NEW_ARRAY(&g->q->arena, int, (size_t)n) : NULL;
    if (!component)
        return;
    ptx_components_find(&g->found, g, edges_out, nodes, n);
    for (int i = 0; i < n; i++)
        component[i] = g->found.component[nodes[i]];
    for (int from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && component[to] == component[from];)
            to++;
        if (to - from > 1 || leads_to_itself(g, nodes[from])) {
            order_loop(g, nodes + from, to - from, around);
            continue;
        }
        g->nodes[nodes[from]].loop = around;
        g->nodes[nodes[from]].place = g->next++;
    }
}

/* ---- Places */

/* Words of enum aw_host_site, as a constant. */
static V site_constant(struct graph *g, V x, uint32_t number, const struct quick_loop *loop)
{
    struct quick *q = g->q;
    uint32_t depth = 0, flags = 0;
    for (const struct quick_loop *l = loop; l; l = l->outer)
        depth++;
    V *words = AW_NEW_ARRAY(&q->arena, V, AW_HOST_SITE_WORDS + depth);
    if (!words)
        return LLVMConstNull(q->ptr);
    if (ptx_flow_mask(x) && ptx_flow_is_members(x) && !ptx_quick_has(x, PTX_TOGETHER))
        flags |= AW_HOST_SITE_MEMBERS;
    if (ptx_quick_has(x, PTX_UNALIGNED))
        flags |= AW_HOST_SITE_UNALIGNED;
    words[AW_HOST_SITE_NUMBER] = LLVMConstInt(q->i32, number, 0);
    words[AW_HOST_SITE_OP] = LLVMConstInt(q->i32, (unsigned)ptx_quick_op(x), 0);
    words[AW_HOST_SITE_FLAGS] = LLVMConstInt(q->i32, flags, 0);
    words[AW_HOST_SITE_LOOPS] = LLVMConstInt(q->i32, depth, 0);
    for (uint32_t i = AW_HOST_SITE_WORDS + depth; loop; loop = loop->outer)
        words[--i] = LLVMConstInt(q->i32, loop->number, 0);
    V all = LLVMConstArray2(q->i32, words, AW_HOST_SITE_WORDS + depth), site = LLVMAddGlobal(q->m, LLVMTypeOf(all), "site");
    LLVMSetInitializer(site, all);
    LLVMSetGlobalConstant(site, 1);
    LLVMSetLinkage(site, LLVMInternalLinkage);
    return site;
}

static V as_word(struct quick *q, V x)
{
    return LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMPointerTypeKind ? LLVMBuildPtrToInt(q->b, x, q->i64, "")
                                                                 : LLVMBuildZExt(q->b, x, q->i64, "");
}

/* Member mask, or an assertion's line; then up to three operands as words. */
static void operands(struct quick *q, V x, V mask_and[4])
{
    enum ptx_simt id = ptx_simt_called(x);
    V mask = ptx_flow_mask(x), zero = LLVMConstInt(q->i64, 0, 0);
    unsigned n = 1, line = id == PTX_SIMT_ASSERTFAIL ? 2 : UINT32_MAX;
    mask_and[0] = mask ? mask : LLVMConstInt(q->i32, 0, 0);
    mask_and[1] = mask_and[2] = mask_and[3] = zero;
    for (unsigned i = 0; i < LLVMGetNumArgOperands(x); i++) {
        V arg = LLVMGetOperand(x, i);
        if (i == line)
            mask_and[0] = arg;
        else if (id == PTX_SIMT_BARRIER_REDUCE && i == 3)
            mask_and[3] = LLVMBuildOr(q->b, mask_and[3], LLVMBuildShl(q->b, as_word(q, arg), LLVMConstInt(q->i64, 32, 0), ""),
                                      "");
        else if (!mask || i != (id >= PTX_SIMT_SHFL_UP && id <= PTX_SIMT_SHFL_IDX ? 3 : 0))
            mask_and[n++] = as_word(q, arg);
    }
}

/* The result, of the type that the call has, of the runtime's word. */
static V result_of(struct quick *q, LLVMTypeRef type, V word)
{
    if (LLVMGetTypeKind(type) != LLVMStructTypeKind)
        return LLVMBuildTrunc(q->b, word, type, "");
    V high = LLVMBuildLShr(q->b, word, LLVMConstInt(q->i64, 32, 0), "");
    V r = LLVMBuildInsertValue(q->b, LLVMGetPoison(type), LLVMBuildTrunc(q->b, word, q->i32, ""), 0, "");
    return LLVMBuildInsertValue(q->b, r, LLVMBuildTrunc(q->b, high, q->i1, ""), 1, "");
}

static void place_emit(struct graph *g, V x, uint32_t number, const struct quick_loop *loop)
{
    struct quick *q = g->q;
    int op = ptx_quick_op(x);
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMPositionBuilderBefore(q->b, x);
    V args[6] = { ptx_quick_lane(g->fn), site_constant(g, x, number, loop) };
    operands(q, x, args + 2);
    V word = ptx_quick_service(q, g->fn, offsetof(struct aw_host_services, lane_op), q->i64, args, 6);
    if (LLVMGetTypeKind(type) != LLVMVoidTypeKind)
        LLVMReplaceAllUsesWith(x, result_of(q, type, word));
    LLVMInstructionEraseFromParent(x);
    q->lanes = true;
    q->barrier |= op == AW_HOST_LANE_BARRIER || op == AW_HOST_LANE_BARRIER_ARRIVE || op == AW_HOST_LANE_BARRIER_REDUCE;
}

static int by_place(const void *a, const void *b)
{
    uint32_t x = (*(struct quick_node *const *)a)->place, y = (*(struct quick_node *const *)b)->place;
    return x < y ? -1 : x > y;
}

static void places_emit(struct graph *g)
{
    uint32_t number = 0;
    struct quick_node **order = AW_NEW_ARRAY(&g->q->arena, struct quick_node *, (size_t)g->n);
    for (int i = 0; order && i < g->n; i++)
        order[i] = &g->nodes[i];
    if (!order)
        return;
    qsort(order, (size_t)g->n, sizeof *order, by_place);
    for (int i = 0; i < g->n; i++)
        for (V x = LLVMGetFirstInstruction(order[i]->bb), next; x; x = next) {
            next = LLVMGetNextInstruction(x);
            if (ptx_quick_op(x) >= 0)
                place_emit(g, x, number++, order[i]->loop);
        }
}

static void function_order(struct quick *q, LLVMValueRef fn)
{
    struct graph g = { .q = q, .fn = fn };
    int *nodes = graph_make(&g) && ptx_components_init(&q->arena, g.n, &g.found) ? AW_NEW_ARRAY(&q->arena, int, (size_t)g.n)
                                                                                 : NULL;
    for (int i = 0; nodes && i < g.n; i++)
        nodes[i] = i;
    if (nodes)
        order_part(&g, nodes, g.n, NULL);
    places_emit(&g);
    if (q->arena.failed)
        q->status = AW_ERR_OUT_OF_MEMORY;
}

static bool has_places(LLVMValueRef fn)
{
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (V x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x))
            if (ptx_quick_op(x) >= 0)
                return true;
    return false;
}

void ptx_quick_sites(struct quick *q)
{
    polling_find(q);
    if (q->status == AW_OK && has_places(q->kernel))
        q->status = ptx_passes_run(q->m, NULL, "function(break-crit-edges)", q->diags);
    for (LLVMValueRef fn = LLVMGetFirstFunction(q->m); fn && q->status == AW_OK; fn = LLVMGetNextFunction(fn)) {
        if (LLVMIsDeclaration(fn))
            continue;
        if (fn != q->kernel && has_places(fn))
            ptx_quick_refuse(q, "a function that calls itself has operations of a warp");
        else
            function_order(q, fn);
    }
}
