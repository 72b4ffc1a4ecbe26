/* Control flow is nested by LLVM's structurizer; in large functions while the values that blocks share are in memory.
 *
 * For each value that the structurizer leads through a block it looks at all of the block's phis for one that fits, so its time
 * is quadratic in what blocks share: a kernel of 2,000 blocks took 18 s of 39.  LLVM's reg2mem before and sroa behind place all
 * phis at once.  Then stale values must not be taken for live ones.  The structurizer makes ways through the code that nobody
 * goes; on these a slot still has what was stored long before, in the round before or in a sibling state of a dispatch, and each
 * join on such a way would get a phi, and in vector form a select.  So a slot holds poison wherever its value cannot be meant. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/host.h"
#include "finish/target.h"
#include "lower/graph.h"
#include "pass/pass.h"

#include <stdint.h>

typedef LLVMValueRef V;
typedef LLVMBasicBlockRef BB;

/* Values that come to phis, times the most phis of a block, beyond which memory is the quicker way, and leaves fewer phis: a
 * dispatch of hundreds of states has ten millions, large kernels without one less than half of one. */
#define MANY_PHIS 1000000

static const char nested[] = "function(unify-loop-exits,structurizecfg,loop-simplify,lcssa)";
static const char nested_in_memory[] = "function(unify-loop-exits,structurizecfg,sroa,loop-simplify,lcssa)";

static bool is_large(V fn)
{
    uint64_t values = 0, most = 0;
    for (BB bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb)) {
        uint64_t n = 0;
        for (V x = LLVMGetFirstInstruction(bb); LLVMIsAPHINode(x); x = LLVMGetNextInstruction(x), n++)
            values += LLVMCountIncoming(x);
        most = n > most ? n : most;
    }
    return values * most > MANY_PHIS;
}

static bool any_large(LLVMModuleRef m)
{
    for (V fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        if (!LLVMIsDeclaration(fn) && is_large(fn))
            return true;
    return false;
}

/* ---- Loops */

struct loops {
    struct aw_arena arena;
    struct aw_ptrmap index; /* block -> 1 + number */
    BB *blocks;             /* in reverse postorder */
    int n;
    struct ptx_edges *into; /* a block */
    int *idom;              /* its nearest dominator */
    int *head;              /* of the innermost loop that it is in; -1: none */
    int *outer;             /* a loop's head's: of the loop around it */
    int *stack;
    int *seen, way;         /* poison_ways: by which slot a block was seen last */
};

static int number_of(const struct loops *l, V x)
{
    return (int)(intptr_t)aw_ptrmap_find(&l->index, LLVMGetInstructionParent(x)) - 1;
}

static struct ptx_edges edges_into(const void *graph, int node)
{
    return ((const struct loops *)graph)->into[node];
}

/* Blocks from which `to` is reached go onto the stack, but for those before `head`. */
static int push_edges(struct loops *l, int top, int to, int head)
{
    for (int i = 0; i < l->into[to].n; i++) {
        int from = l->into[to].at[i];
        if (from >= head && l->head[from] != head) {
            l->head[from] = head;
            l->stack[top++] = from;
        }
    }
    return top;
}

/* Every loop has one entry, so an edge to a block that is no later leads to a loop's head.  Outer loops are first. */
static void mark_loop(struct loops *l, int head)
{
    l->outer[head] = l->head[head];
    for (int top = push_edges(l, 0, head, head); top;) {
        int x = l->stack[--top];
        if (x != head)
            top = push_edges(l, top, x, head);
    }
}

static bool find_loops(struct loops *l, V fn)
{
    if (!ptx_blocks_order(LLVMGetEntryBasicBlock(fn), &l->arena, &l->index, &l->blocks, &l->n))
        return false;
    int **const arrays[] = { &l->idom, &l->head, &l->outer, &l->stack, &l->seen };
    bool ok = ptx_blocks_into(&l->arena, l->blocks, l->n, &l->index, &l->into);
    for (size_t i = 0; ok && i < sizeof arrays / sizeof *arrays; i++)
        ok = (*arrays[i] = AW_NEW_ARRAY(&l->arena, int, (size_t)l->n)) != NULL;
    for (int i = 0; ok && i < l->n; i++)
        l->head[i] = -1;
    for (int i = 0; ok && i < l->n; i++)
        mark_loop(l, i);
    if (ok)
        ptx_graph_dominators(l, l->n, NULL, NULL, edges_into, l->idom);
    return ok;
}

/* ---- Slots */

struct slot {
    V store, load; /* one of each */
    unsigned stores, loads;
};

static struct slot slot_of(V variable)
{
    struct slot slot = { 0 };
    for (LLVMUseRef use = LLVMGetFirstUse(variable); use; use = LLVMGetNextUse(use)) {
        V user = LLVMGetUser(use);
        if (LLVMIsALoadInst(user))
            slot.load = user, slot.loads++;
        else
            slot.store = user, slot.stores++;
    }
    return slot;
}

static void poison(LLVMBuilderRef b, V variable, V before)
{
    LLVMPositionBuilderBefore(b, before);
    LLVMBuildStore(b, LLVMGetPoison(LLVMGetAllocatedType(variable)), variable);
}

/* At the heads of the loops that `x` is in, a value's store or a phi's load: no round has another's.  The phi of a head has. */
static void poison_in_loops(struct loops *l, LLVMBuilderRef b, V variable, V x)
{
    int at = number_of(l, x);
    for (int head = at >= 0 ? l->head[at] : -1; head >= 0; head = l->outer[head])
        if (head != at || !LLVMIsALoadInst(x))
            poison(b, variable, LLVMGetFirstInstruction(l->blocks[head]));
}

/* The slot of a phi in block `phi`, on the ways to where it is stored: in each block to which a branch leads, as far as all ways
 * to the phi go together.  A way from there to the phi goes past a store. */
static void poison_ways(struct loops *l, LLVMBuilderRef b, V variable, int phi)
{
    l->way++;
    for (LLVMUseRef use = LLVMGetFirstUse(variable); use; use = LLVMGetNextUse(use)) {
        V store = LLVMGetUser(use);
        int at = LLVMIsAStoreInst(store) ? number_of(l, store) : -1;
        for (; at > 0 && at != phi && at != l->idom[phi] && l->seen[at] != l->way; at = l->idom[at]) {
            l->seen[at] = l->way;
            if (LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(l->blocks[l->idom[at]])) > 1)
                poison(b, variable, LLVMGetFirstInstruction(l->blocks[at]));
        }
    }
}

/* `variable` is one that reg2mem made: of a value, which is one store, or of a phi, which is one load. */
static void end_meaning(struct loops *l, LLVMBuilderRef b, V variable)
{
    struct slot slot = slot_of(variable);
    int phi = slot.loads == 1 && slot.stores > 1 ? number_of(l, slot.load) : -1;
    if (slot.stores == 1)
        poison_in_loops(l, b, variable, slot.store);
    if (phi > 0) {
        poison_ways(l, b, variable, phi);
        poison_in_loops(l, b, variable, slot.load);
        poison(b, variable, LLVMGetNextInstruction(slot.load));
    }
    poison(b, variable, LLVMGetNextInstruction(variable));
}

static bool end_meanings(V fn, const struct aw_ptrmap *before)
{
    struct loops l = { 0 };
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetTypeContext(LLVMTypeOf(fn)));
    bool ok = find_loops(&l, fn);
    for (V x = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(fn)); ok && x; x = LLVMGetNextInstruction(x))
        if (LLVMIsAAllocaInst(x) && !aw_ptrmap_find(before, x))
            end_meaning(&l, b, x);
    LLVMDisposeBuilder(b);
    aw_ptrmap_fini(&l.index);
    aw_arena_fini(&l.arena);
    return ok;
}

static bool note_variables(LLVMModuleRef m, struct aw_ptrmap *ret)
{
    for (V fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (V x = LLVMIsDeclaration(fn) ? NULL : LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(fn)); x;
             x = LLVMGetNextInstruction(x))
            if (LLVMIsAAllocaInst(x) && !aw_ptrmap_put(ret, x, x))
                return false;
    return true;
}

static int values_to_memory(LLVMModuleRef m, struct aw_buf *diags)
{
    struct aw_ptrmap before = { 0 };
    int status = note_variables(m, &before) ? ptx_registers_to_memory(m, diags) : AW_ERR_OUT_OF_MEMORY;
    for (V fn = LLVMGetFirstFunction(m); fn && status == AW_OK; fn = LLVMGetNextFunction(fn))
        if (!LLVMIsDeclaration(fn) && !end_meanings(fn, &before))
            status = AW_ERR_OUT_OF_MEMORY;
    aw_ptrmap_fini(&before);
    return status;
}

int ptx_run_structured(struct ptx_pipeline *pipe)
{
    bool large = ptx_pass_forced(pipe, PTX_PASS_STRUCTURED) || any_large(*pipe->module);
    int status = large ? values_to_memory(*pipe->module, pipe->diags) : AW_OK;
    return status == AW_OK ? ptx_passes_run(*pipe->module, NULL, large ? nested_in_memory : nested, pipe->diags) : status;
}
