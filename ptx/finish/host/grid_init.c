/* What a grid's blocks set before a barrier of theirs and update behind it: a hazard between blocks, by what addresses begin
 * with.
 *
 *   if (i < n) sums[i] = 0;  __syncthreads();  atomicAdd(&sums[j], x);
 *
 * A barrier holds back no other block, so that is a race; but on cards, where blocks go side by side, all have set theirs long
 * before the first one comes to its atomics, and such programs are right there.  Here a block would be through before the next
 * one begins, which then sets again what was added.  So the kernel yields behind the barrier, and says that the blocks of a grid
 * meet where they first do (AW_HOST_MEET).
 *
 * It is a hazard where both addresses are counted from the same argument or variable, and have no part in common that depends on
 * the block's own index, as where each block has a part of its own.  Nothing that is missed or found too much makes code wrong
 * which has no race: a meeting costs time, and that is all. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/host.h"

#include "base/arena.h"
#include "lower/graph.h"
#include "simt/vectorise.h"
#include <string.h>

typedef LLVMValueRef V;
typedef LLVMBasicBlockRef BB;

enum {
    MAX_PARTS = 16, MAX_ROOTS = 4, MAX_STEPS = 300, /* of an address */
    MAX_VALUES = 200,       /* of which a part is made */
    MAX_BLOCKS = 2000, MAX_STORES = 64,
};

/* What an address is the sum of, multiples and widths aside. */
struct address_parts {
    V of[MAX_PARTS];
    uintptr_t root[MAX_ROOTS]; /* what it is counted from: a variable, or 1 + which eight bytes of the arguments */
    int n, roots, steps;
};

struct init_graph {
    struct aw_arena arena;
    struct aw_ptrmap index;
    BB *blocks;
    int n;
    struct ptx_edges *into;
};

/* ---- Addresses */

static int64_t type_bytes(V x, LLVMTypeRef type)
{
    LLVMModuleRef m = LLVMGetGlobalParent(LLVMGetBasicBlockParent(LLVMGetInstructionParent(x)));
    return (int64_t)LLVMABISizeOfType(LLVMGetModuleDataLayout(m), type);
}

/* How many bytes an address is behind where the arguments begin; -1: it is elsewhere, or nobody knows. */
static int64_t argument_offset(V at)
{
    enum { MAX_DEPTH = 8 };
    int64_t offset = 0, c = 0;
    for (int depth = 0; depth < MAX_DEPTH && LLVMIsAInstruction(at); depth++) {
        bool element = LLVMIsAGetElementPtrInst(at), sum = LLVMGetInstructionOpcode(at) == LLVMAdd;
        if (element || sum) {
            if (LLVMGetNumOperands(at) != 2 || !ptx_host_constant(LLVMGetOperand(at, 1), &c))
                return -1;
            offset += element ? c * type_bytes(at, LLVMGetGEPSourceElementType(at)) : c;
        } else if (!LLVMIsAIntToPtrInst(at) && !LLVMIsAPtrToIntInst(at)) {
            return -1;
        }
        at = LLVMGetOperand(at, 0);
    }
    return LLVMIsAArgument(at) ? offset : -1;
}

/* 0: none.  Of machine code that was lifted, halves of arguments are loaded by themselves, or as a vector's elements. */
static uintptr_t root_of(V v)
{
    int64_t element = 0;
    if (LLVMIsAGlobalVariable(v))
        return LLVMGetPointerAddressSpace(LLVMTypeOf(v)) == 1 ? (uintptr_t)v : 0;
    if (LLVMIsAExtractElementInst(v) && ptx_host_constant(LLVMGetOperand(v, 1), &element)) {
        element *= type_bytes(v, LLVMTypeOf(v));
        v = LLVMGetOperand(v, 0);
    }
    if (!LLVMIsALoadInst(v) || !ptx_metadata(v, PTX_INVARIANT))
        return 0;
    int64_t offset = argument_offset(LLVMGetOperand(v, 0));
    return offset >= 0 ? 1 + (uintptr_t)(offset + element) / 8 : 0;
}

static bool is_part(const struct address_parts *p, V v)
{
    for (int i = 0; i < p->n; i++)
        if (p->of[i] == v)
            return true;
    return false;
}

static void part_note(struct address_parts *p, V v, bool scaled)
{
    uintptr_t root = scaled ? 0 : root_of(v);
    for (int i = 0; i < p->roots; i++)
        if (p->root[i] == root)
            return;
    if (is_part(p, v))
        return;
    if (root && p->roots < MAX_ROOTS)
        p->root[p->roots++] = root;
    else if (p->n < MAX_PARTS)
        p->of[p->n++] = v;
    else
        p->steps = MAX_STEPS;
}

static void parts_add(struct address_parts *p, V v, bool scaled);

/* An address that comes by several ways, or is carried round a loop: itself, and what it is on each of them. */
static void parts_add_ways(struct address_parts *p, V phi)
{
    if (is_part(p, phi))
        return;
    part_note(p, phi, false);
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
        parts_add(p, LLVMGetIncomingValue(phi, i), false);
}

static void parts_add(struct address_parts *p, V v, bool scaled)
{
    int64_t c;
    if (ptx_host_constant(v, &c) || p->steps++ >= MAX_STEPS)
        return;
    bool expression = LLVMIsAConstantExpr(v);
    V a = (LLVMIsAInstruction(v) || expression) && LLVMGetNumOperands(v) ? LLVMGetOperand(v, 0) : NULL;
    V b = a && LLVMGetNumOperands(v) > 1 ? LLVMGetOperand(v, 1) : NULL;
    switch (!a ? LLVMRet : expression ? LLVMGetConstOpcode(v) : LLVMGetInstructionOpcode(v)) {
    case LLVMAdd: case LLVMOr: case LLVMGetElementPtr:
        parts_add(p, a, scaled);
        parts_add(p, b, scaled);
        return;
    case LLVMIntToPtr: case LLVMPtrToInt: case LLVMBitCast: case LLVMAddrSpaceCast: case LLVMFreeze:
    case LLVMZExt: case LLVMSExt: case LLVMTrunc:
        parts_add(p, a, scaled);
        return;
    case LLVMShl: case LLVMMul: case LLVMLShr: /* by 32: halves */
        if (ptx_host_constant(b, &c)) {
            parts_add(p, a, scaled || c != 32);
            return;
        }
        break;
    case LLVMPHI:
        if (scaled)
            break;
        parts_add_ways(p, v);
        return;
    default:
        break;
    }
    part_note(p, v, scaled);
}

/* False: nobody knows what it is counted from, or it is no global memory. */
static bool parts_of(V address, struct address_parts *ret)
{
    *ret = (struct address_parts){ 0 };
    if (LLVMGetPointerAddressSpace(LLVMTypeOf(address)) > 1)
        return false;
    parts_add(ret, address, false);
    return ret->roots && ret->steps < MAX_STEPS;
}

static bool have_root(const struct address_parts *a, const struct address_parts *b)
{
    for (int i = 0; i < a->roots; i++)
        for (int j = 0; j < b->roots; j++)
            if (a->root[i] == b->root[j])
                return true;
    return false;
}

static bool depends_on_block(V v, int *values)
{
    if (!LLVMIsAInstruction(v))
        return false;
    enum ptx_simt id = LLVMIsACallInst(v) ? ptx_simt_called(v) : PTX_SIMT_NONE;
    if (--*values < 0 || (id >= PTX_SIMT_CTAID_X && id <= PTX_SIMT_CTAID_Z))
        return true;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(v); i++)
        if (depends_on_block(LLVMGetOperand(v, i), values))
            return true;
    return false;
}

/* Is it the block's own part of what they are counted from? */
static bool have_own_part(const struct address_parts *a, const struct address_parts *b)
{
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < b->n; j++) {
            int values = MAX_VALUES;
            if (a->of[i] == b->of[j] && depends_on_block(a->of[i], &values))
                return true;
        }
    return false;
}

/* Perhaps: a function that calls others is not looked through. */
static bool function_updates(V fn)
{
    for (BB bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (V x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x)) {
            V callee = LLVMIsACallInst(x) ? LLVMGetCalledValue(x) : NULL;
            bool calls = callee && LLVMIsAFunction(callee) && !LLVMIsDeclaration(callee);
            if (calls || LLVMIsAAtomicRMWInst(x) || LLVMIsAAtomicCmpXchgInst(x))
                return true;
        }
    return false;
}

static bool meets_set(const struct address_parts *set, int n, const struct address_parts *at)
{
    for (int i = 0; i < n && at->roots && at->steps < MAX_STEPS; i++)
        if (have_root(&set[i], at) && !have_own_part(&set[i], at))
            return true;
    return false;
}

/* Unoptimised code makes its updates in functions, which get the address. */
static bool is_hazard_in_call(const struct address_parts *set, int n, V call)
{
    V callee = LLVMGetCalledValue(call);
    if (!LLVMIsAFunction(callee) || LLVMIsDeclaration(callee) || !function_updates(callee))
        return false;
    for (unsigned i = 1; i < LLVMGetNumArgOperands(call); i++) {
        struct address_parts at = { 0 };
        parts_add(&at, LLVMGetOperand(call, i), false);
        if (meets_set(set, n, &at))
            return true;
    }
    return false;
}

/* With any of the `n` that are set. */
static bool is_hazard(const struct address_parts *set, int n, V update)
{
    struct address_parts at;
    if (LLVMIsACallInst(update))
        return is_hazard_in_call(set, n, update);
    return (LLVMIsAAtomicRMWInst(update) || LLVMIsAAtomicCmpXchgInst(update)) && parts_of(LLVMGetOperand(update, 0), &at) &&
           meets_set(set, n, &at);
}

/* ---- Before and behind a barrier */

/* The blocks that can be reached from `from`, or from which it can be; itself only round a loop. */
static void reach(const struct init_graph *g, int from, bool forwards, bool *ret)
{
    memset(ret, 0, (size_t)g->n);
    for (bool more = true; more;) {
        more = false;
        for (int k = 0; k < g->n; k++) {
            int to = forwards ? k : g->n - 1 - k; /* along edges that go on, one round finds all */
            for (int i = 0; i < g->into[to].n; i++) {
                int start = forwards ? g->into[to].at[i] : to, end = forwards ? to : g->into[to].at[i];
                if (!ret[end] && (start == from || ret[start]))
                    ret[end] = more = true;
            }
        }
    }
}

static int stores_before(const struct init_graph *g, int b, V barrier, const bool *before, const bool *behind,
                         struct address_parts *ret)
{
    int n = 0;
    for (int i = 0; i < g->n; i++) {
        if (i != b && (!before[i] || behind[i]))
            continue;
        for (V x = LLVMGetFirstInstruction(g->blocks[i]); x && x != barrier && n < MAX_STORES; x = LLVMGetNextInstruction(x))
            if (LLVMIsAStoreInst(x) && !LLVMGetVolatile(x) && LLVMGetOrdering(x) == LLVMAtomicOrderingNotAtomic)
                n += parts_of(LLVMGetOperand(x, 1), &ret[n]);
    }
    return n;
}

static bool updates_behind(const struct init_graph *g, int b, V barrier, const bool *behind, const struct address_parts *set,
                           int n)
{
    for (int i = 0; i < g->n; i++) {
        if (i != b && !behind[i])
            continue;
        for (V x = i == b ? barrier : LLVMGetFirstInstruction(g->blocks[i]); x; x = LLVMGetNextInstruction(x))
            if (is_hazard(set, n, x))
                return true;
    }
    return false;
}

/* The first barrier that is in no loop and has a hazard; NULL: none, or memory is out (*ret_ok). */
static V barrier_find(struct init_graph *g, bool *ret_ok)
{
    bool *before = AW_NEW_ARRAY(&g->arena, bool, (size_t)g->n), *behind = AW_NEW_ARRAY(&g->arena, bool, (size_t)g->n);
    struct address_parts *set = AW_NEW_ARRAY(&g->arena, struct address_parts, MAX_STORES);
    *ret_ok = before && behind && set;
    for (int b = 0; b < g->n && *ret_ok; b++)
        for (V x = LLVMGetFirstInstruction(g->blocks[b]); x; x = LLVMGetNextInstruction(x)) {
            if (!LLVMIsACallInst(x) || ptx_simt_called(x) != PTX_SIMT_BARRIER)
                continue;
            reach(g, b, true, behind);
            if (behind[b])
                break;
            reach(g, b, false, before);
            int n = stores_before(g, b, x, before, behind, set);
            if (n && updates_behind(g, b, x, behind, set, n))
                return x;
        }
    return NULL;
}

static void meeting_put(V kernel, V barrier)
{
    LLVMModuleRef m = LLVMGetGlobalParent(kernel);
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMPositionBuilderBefore(b, LLVMGetNextInstruction(barrier));
    ptx_simt_call(b, m, PTX_SIMT_NANOSLEEP, (V[]){ LLVMConstInt(LLVMInt32TypeInContext(c), 0, 0) });
    LLVMDisposeBuilder(b);
    LLVMAddAttributeAtIndex(kernel, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(c, SIMT_GRID_MEETS, sizeof SIMT_GRID_MEETS - 1, "", 0));
}

static int kernel_search(V kernel, bool put, bool *ret_found)
{
    struct init_graph g = { 0 };
    bool ok = ptx_blocks_order(LLVMGetEntryBasicBlock(kernel), &g.arena, &g.index, &g.blocks, &g.n) &&
              ptx_blocks_into(&g.arena, g.blocks, g.n, &g.index, &g.into);
    V barrier = ok && g.n <= MAX_BLOCKS ? barrier_find(&g, &ok) : NULL;
    *ret_found = barrier != NULL;
    if (barrier && put)
        meeting_put(kernel, barrier);
    aw_ptrmap_fini(&g.index);
    aw_arena_fini(&g.arena);
    return ok ? AW_OK : AW_ERR_OUT_OF_MEMORY;
}

int ptx_host_grid_init(LLVMValueRef kernel)
{
    bool found;
    return kernel_search(kernel, true, &found);
}

bool ptx_host_sets_together(LLVMValueRef kernel)
{
    bool found;
    return kernel_search(kernel, false, &found) == AW_OK && found;
}
