/* Where the lanes of a wave may have parted (flow.h): blocks, dominators and postdominators as sets, and the values on which
 * lanes of different warps may disagree.  It errs to the safe side: what is called parted may be together. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/flow.h"

#include "lower/async.h"
#include "finish/release.h"

typedef LLVMValueRef V;

bool ptx_flow_is_unaligned(V x)
{
    enum ptx_simt id = ptx_simt_called(x);
    return (id == PTX_SIMT_BARRIER || id == PTX_SIMT_BARRIER_REDUCE || id == PTX_SIMT_BARRIER_ARRIVE) &&
           LLVMGetCallSiteStringAttribute(x, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, PTX_UNALIGNED,
                                          sizeof PTX_UNALIGNED - 1);
}

bool ptx_flow_is_barrier(V instruction)
{
    enum ptx_simt id = ptx_simt_called(instruction);
    return id == PTX_SIMT_BARRIER || id == PTX_SIMT_BARRIER_REDUCE || ptx_flow_is_unaligned(instruction);
}

bool ptx_flow_is_ordered(V load)
{
    return LLVMIsALoadInst(load) && (LLVMGetVolatile(load) || LLVMGetOrdering(load) != LLVMAtomicOrderingNotAtomic);
}

bool ptx_flow_counts(V rmw)
{
    switch (LLVMGetAtomicRMWBinOp(rmw)) {
    case LLVMAtomicRMWBinOpAdd: case LLVMAtomicRMWBinOpSub: {
        V by = LLVMGetOperand(rmw, 1);
        return !LLVMIsAConstantInt(by) || LLVMConstIntGetZExtValue(by) != 0;
    }
    case LLVMAtomicRMWBinOpFAdd:
    case LLVMAtomicRMWBinOpFSub:
    case LLVMAtomicRMWBinOpUIncWrap:
    case LLVMAtomicRMWBinOpUDecWrap: return true;
    default: return false;
    }
}

V ptx_flow_callee(V x)
{
    V callee = LLVMIsACallInst(x) ? LLVMGetCalledValue(x) : NULL;
    return callee && LLVMIsAFunction(callee) && !LLVMIsDeclaration(callee) ? callee : NULL;
}

V ptx_flow_mask(V call)
{
    enum ptx_simt id = ptx_simt_called(call);
    bool shuffles = id >= PTX_SIMT_SHFL_UP && id <= PTX_SIMT_SHFL_IDX;
    bool votes = id >= PTX_SIMT_BALLOT && id <= PTX_SIMT_ELECT && id != PTX_SIMT_ACTIVEMASK;
    return id == PTX_SIMT_WARPSYNC || shuffles || votes ? LLVMGetOperand(call, shuffles ? 3 : 0) : NULL;
}

bool ptx_flow_is_members(V call)
{
    V fn = LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
    return !LLVMGetStringAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, PTX_LIFTED,
                                          sizeof PTX_LIFTED - 1) ||
           LLVMGetCallSiteStringAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, PTX_MEMBERS,
                                          sizeof PTX_MEMBERS - 1);
}

bool ptx_flow_is_whole(V call)
{
    V mask = ptx_flow_mask(call);
    return mask && LLVMIsAConstantInt(mask) && LLVMConstIntGetZExtValue(mask) == UINT32_MAX;
}

/* ---- Blocks and edges */
unsigned ptx_flow_block(const struct flow *f, LLVMBasicBlockRef bb)
{
    return (unsigned)(uintptr_t)aw_ptrmap_find(&f->index, bb) - 1;
}

static bool blocks_order(struct flow *f, LLVMBasicBlockRef entry)
{
    LLVMBasicBlockRef *order;
    int n;
    if (!ptx_blocks_order(entry, &f->arena, &f->index, &order, &n))
        return false;
    f->n = (unsigned)n;
    f->blocks = AW_NEW_ARRAY(&f->arena, struct flow_block, f->n);
    for (unsigned i = 0; f->blocks && i < f->n; i++)
        f->blocks[i].bb = order[i];
    return f->blocks != NULL;
}

static bool blocks_link(struct flow *f)
{
    for (unsigned i = 0; i < f->n; i++) {
        struct flow_block *b = &f->blocks[i];
        V end = LLVMGetBasicBlockTerminator(b->bb);
        b->n_succ = LLVMGetNumSuccessors(end);
        b->succ = AW_NEW_ARRAY(&f->arena, unsigned, b->n_succ + 1);
        if (!b->succ)
            return false;
        for (unsigned j = 0; j < b->n_succ; j++) {
            b->succ[j] = ptx_flow_block(f, LLVMGetSuccessor(end, j));
            f->blocks[b->succ[j]].n_preds++;
        }
        for (V x = LLVMGetFirstInstruction(b->bb); x; x = LLVMGetNextInstruction(x))
            b->waits |= ptx_flow_is_barrier(x);
    }
    for (unsigned i = 0; i < f->n; i++) {
        f->blocks[i].preds = AW_NEW_ARRAY(&f->arena, unsigned, f->blocks[i].n_preds + 1);
        if (!f->blocks[i].preds)
            return false;
        f->blocks[i].n_preds = 0;
    }
    for (unsigned i = 0; i < f->n; i++)
        for (unsigned j = 0; j < f->blocks[i].n_succ; j++) {
            struct flow_block *s = &f->blocks[f->blocks[i].succ[j]];
            s->preds[s->n_preds++] = i;
        }
    return true;
}

static struct ptx_edges edges_into(const void *graph, int block)
{
    const struct flow_block *b = &((const struct flow *)graph)->blocks[block];
    return (struct ptx_edges){ (const int *)b->preds, (int)b->n_preds };
}

static struct ptx_edges edges_out(const void *graph, int block)
{
    const struct flow_block *b = &((const struct flow *)graph)->blocks[block];
    return (struct ptx_edges){ (const int *)b->succ, (int)b->n_succ };
}

static bool walk(const struct flow *f, ptx_edges_of *edges, bool *seen, ptx_graph_enter *enter, void *data)
{
    return ptx_graph_walk(f, (int)f->n, edges, seen, enter, data);
}

bool ptx_flow_walk(const struct flow *f, bool *seen, ptx_graph_enter *enter, void *data)
{
    return walk(f, edges_out, seen, enter, data);
}

bool ptx_flow_reach(struct flow *f, unsigned from, bool *ret)
{
    for (unsigned j = 0; j < f->blocks[from].n_succ; j++)
        ret[f->blocks[from].succ[j]] = true;
    return walk(f, edges_out, ret, NULL, NULL);
}

static bool is_shared(V address)
{
    unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(address));
    return space == AS_SHARED || space == AS_GENERIC;
}

/* May the block use shared memory?  Functions that are called may. */
static bool uses_shared(LLVMBasicBlockRef bb)
{
    for (V x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x))
        switch (LLVMGetInstructionOpcode(x)) {
        case LLVMLoad: case LLVMAtomicRMW: case LLVMAtomicCmpXchg:
            if (is_shared(LLVMGetOperand(x, 0)))
                return true;
            break;
        case LLVMStore:
            if (is_shared(LLVMGetOperand(x, 1)))
                return true;
            break;
        case LLVMCall: {
            V callee = LLVMGetCalledValue(x);
            if (!LLVMIsAFunction(callee) || !LLVMIsDeclaration(callee) || LLVMIsAMemIntrinsic(x))
                return true;
            break;
        }
        default: break;
        }
    return false;
}

/* Lanes from whose place no barrier can be reached go their way, and nobody waits for them: only blocks with a barrier ahead
 * count. */
static void coming_spread(struct flow *f)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (unsigned i = f->n; i--;) {
            struct flow_block *b = &f->blocks[i];
            bool coming = b->coming || b->waits || f->of & PTX_FLOW_WAITS;
            for (unsigned j = 0; j < b->n_succ; j++)
                coming |= f->blocks[b->succ[j]].coming;
            changed |= coming != b->coming;
            b->coming = coming;
        }
    }
}

static bool coming_find(struct flow *f)
{
    coming_spread(f);
    if (!(f->of & PTX_FLOW_ENDS))
        return true;
    bool *disputed = AW_NEW_ARRAY(&f->arena, bool, f->n);
    if (!disputed || !ptx_ends_disputed(f, disputed))
        return false;
    for (unsigned i = 0; i < f->n; i++)
        f->blocks[i].coming |= disputed[i] || uses_shared(f->blocks[i].bb);
    coming_spread(f);
    return true;
}

/* ---- Natural loops */

enum { ALL_EDGES = UINT32_MAX };

static bool from_other(void *data, int from, int to)
{
    (void)to;
    return from != *(const int *)data;
}

/* Marks the body of the loop with header `h`, backwards from the edges that return there, or where `only` is below their number
 * from that one alone; *ret_edges: how many there are. */
static bool body_find(const struct flow *f, const struct ptx_dominators *dom, unsigned h, unsigned only, bool *in,
                      unsigned *ret_edges)
{
    int header = (int)h;
    *ret_edges = 0;
    for (unsigned j = 0; j < f->blocks[h].n_preds; j++) {
        unsigned latch = f->blocks[h].preds[j];
        if (!ptx_dominates(dom, header, (int)latch))
            continue;
        if (!*ret_edges)
            memset(in, 0, f->n * sizeof *in);
        in[latch] |= (*ret_edges)++ == only || only == ALL_EDGES;
    }
    if (!*ret_edges)
        return true;
    in[h] = true;
    return walk(f, edges_into, in, from_other, &header);
}

bool ptx_flow_loops(struct flow *f, flow_test *test, void *data, bool *ret)
{
    struct ptx_dominators dom;
    bool *in = AW_NEW_ARRAY(&f->arena, bool, f->n), ok = in && ptx_dominators_find(&f->arena, f, (int)f->n, edges_into, &dom);
    for (unsigned h = 0; ok && h < f->n; h++) {
        unsigned edges, more;
        ok = body_find(f, &dom, h, ALL_EDGES, in, &edges);
        ret[h] = ok && edges && test(f, in, data);
        /* loops that have become one, as their heads were the same */
        for (unsigned j = 0; ok && edges > 1 && !ret[h] && j < edges; j++) {
            ok = body_find(f, &dom, h, j, in, &more);
            ret[h] = ok && test(f, in, data);
        }
    }
    return ok;
}

/* ---- Values.  A wave executes an instruction once for all lanes that are here, so what it reads at one address is one value. */

static bool is_source(const struct flow *f, V x, bool warp)
{
    enum ptx_simt id = ptx_simt_called(x);
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMLoad: {
        if (warp && ptx_mbarrier_is_look(x))
            return false;
        unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(x, 0)));
        return space == AS_LOCAL || space == AS_GENERIC || (!(f->of & PTX_FLOW_WAITS) && ptx_flow_is_ordered(x));
    }
    case LLVMAtomicRMW: case LLVMAtomicCmpXchg: return true;
    case LLVMCall: break;
    default: return false;
    }
    if (id == PTX_SIMT_NONE) {
        V callee = LLVMGetCalledValue(x);
        return !LLVMIsAFunction(callee) || !LLVMGetIntrinsicID(callee);
    }
    if (warp && (id == PTX_SIMT_GLOBALTIMER || id == PTX_SIMT_CLOCK || id == PTX_SIMT_WARPID))
        return false;
    if (id == PTX_SIMT_TILE_HERE)
        return false;
    if (warp && f->of & PTX_FLOW_ROWS && (id == PTX_SIMT_TID_Y || id == PTX_SIMT_TID_Z))
        return false;
    if (id == PTX_SIMT_TID_X || id == PTX_SIMT_TID_Y || id == PTX_SIMT_TID_Z || id == PTX_SIMT_LANEID || id == PTX_SIMT_WARPID)
        return true;
    return ptx_simt_info(id)->traits != PTX_SIMT_PURE;
}

static bool is_divergent(const struct flow *f, V v)
{
    return aw_ptrmap_find(&f->divergent, v) != NULL;
}

bool ptx_flow_differs(const struct flow *f, V v)
{
    return is_divergent(f, v);
}

/* A value made where lanes have parted may be of another time for each of them when it is used elsewhere. */
static bool operand_differs(const struct flow *f, V v, LLVMBasicBlockRef user)
{
    if (LLVMIsAArgument(v))
        return f->of & PTX_FLOW_FUNCTION && v != LLVMGetFirstParam(LLVMGetParamParent(v)); /* the first leads to the kernel's */
    if (!LLVMIsAInstruction(v))
        return false;
    LLVMBasicBlockRef bb = LLVMGetInstructionParent(v);
    unsigned at = ptx_flow_block(f, bb);
    return is_divergent(f, v) || (bb != user && at < f->n && f->blocks[at].mixed);
}

enum { DEPTH_MAX = 8 };

/* Computed from a look at one object with tokens: those of one warp's lanes, which arrived together, are of one phase. */
static bool is_answer(const struct flow *f, V v, unsigned depth)
{
    if (depth == DEPTH_MAX || !LLVMIsAInstruction(v))
        return false;
    if (LLVMIsALoadInst(v))
        return ptx_mbarrier_is_token_look(v) && !operand_differs(f, LLVMGetOperand(v, 0), LLVMGetInstructionParent(v));
    if (!LLVMIsACastInst(v) && !LLVMIsABinaryOperator(v) && !LLVMIsAICmpInst(v))
        return false;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(v); i++)
        if (is_answer(f, LLVMGetOperand(v, i), depth + 1))
            return true;
    return false;
}

static bool is_constant(V v, uint64_t *ret)
{
    if (!LLVMIsAConstantInt(v) || LLVMGetIntTypeWidth(LLVMTypeOf(v)) > 64)
        return false;
    *ret = LLVMConstIntGetZExtValue(v);
    return true;
}

/* One answer for the lanes of a warp that are here: a vote, or the value of one lane. */
static bool is_vote(const struct flow *f, V v, LLVMBasicBlockRef user)
{
    enum ptx_simt id = ptx_simt_called(v);
    bool one = (id >= PTX_SIMT_BALLOT && id <= PTX_SIMT_VOTE_UNI) || (id >= PTX_SIMT_MATCH_ALL_32 && id <= PTX_SIMT_REDUX_XOR);
    uint64_t part;
    if (id == PTX_SIMT_SHFL_IDX)
        one = is_constant(LLVMGetOperand(v, 2), &part) && !(part >> 8) && !operand_differs(f, LLVMGetOperand(v, 1), user);
    return id == PTX_SIMT_ACTIVEMASK || (one && !operand_differs(f, ptx_flow_mask(v), user));
}

/* ---- The number of a warp.  (Not so where rows are longer than a warp and of a broken number of them: who hands over
 * between the lanes of such a warp by their number is not seen.) */

/* Are its lowest five bits zero? */
static bool is_multiple(const struct flow *f, V v, unsigned depth)
{
    uint64_t n;
    if (is_constant(v, &n))
        return n % 32 == 0;
    if (depth == DEPTH_MAX || !LLVMIsAInstruction(v))
        return false;
    V a = LLVMGetOperand(v, 0);
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMCall: return f->of & PTX_FLOW_ROWS && ptx_simt_called(v) == PTX_SIMT_NTID_X;
    case LLVMShl: return (is_constant(LLVMGetOperand(v, 1), &n) && n >= 5) || is_multiple(f, a, depth + 1);
    case LLVMMul: case LLVMAnd: return is_multiple(f, a, depth + 1) || is_multiple(f, LLVMGetOperand(v, 1), depth + 1);
    case LLVMAdd: case LLVMOr: return is_multiple(f, a, depth + 1) && is_multiple(f, LLVMGetOperand(v, 1), depth + 1);
    case LLVMZExt: case LLVMSExt: case LLVMTrunc: return is_multiple(f, a, depth + 1);
    default: return false;
    }
}

/* Is it the number of a thread in its row plus what is the same for the warp and a multiple of its lanes?  All bits but
 * the lowest five are the same for the warp. */
static bool counts_lanes(const struct flow *f, V v, LLVMBasicBlockRef user, unsigned depth)
{
    if (depth == DEPTH_MAX || !LLVMIsAInstruction(v))
        return false;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMCall: return ptx_simt_called(v) == PTX_SIMT_TID_X;
    case LLVMZExt: case LLVMSExt: return counts_lanes(f, LLVMGetOperand(v, 0), user, depth + 1);
    case LLVMAdd: case LLVMOr:
        for (unsigned i = 0; i < 2; i++) {
            V by = LLVMGetOperand(v, 1 - i);
            if (is_multiple(f, by, 0) && !operand_differs(f, by, user) && counts_lanes(f, LLVMGetOperand(v, i), user, depth + 1))
                return true;
        }
        return false;
    default: return false;
    }
}

/* As a signed number's division by 32 begins: 31 more for negative ones. */
static V of_division(V v)
{
    if (!LLVMIsAInstruction(v) || LLVMGetInstructionOpcode(v) != LLVMAdd)
        return v;
    for (unsigned i = 0; i < 2; i++) {
        V x = LLVMGetOperand(v, i), by = LLVMGetOperand(v, 1 - i);
        uint64_t n;
        bool shifted = LLVMIsAInstruction(by) && LLVMGetInstructionOpcode(by) == LLVMLShr;
        if (!shifted || !is_constant(LLVMGetOperand(by, 1), &n) || n != 27)
            continue;
        V sign = LLVMGetOperand(by, 0);
        if (LLVMIsAInstruction(sign) && LLVMGetInstructionOpcode(sign) == LLVMAShr && LLVMGetOperand(sign, 0) == x)
            return x;
    }
    return v;
}

/* Made of such a number without its lowest five bits. */
static bool is_warp_number(const struct flow *f, V x, LLVMBasicBlockRef user)
{
    uint64_t n;
    LLVMOpcode op = LLVMGetInstructionOpcode(x);
    if ((op != LLVMLShr && op != LLVMAShr && op != LLVMAnd && op != LLVMUDiv) || !is_constant(LLVMGetOperand(x, 1), &n))
        return false;
    bool shift = op == LLVMLShr || op == LLVMAShr;
    V of = shift && n == 5 ? of_division(LLVMGetOperand(x, 0)) : LLVMGetOperand(x, 0);
    return (shift ? n >= 5 : n && n % 32 == 0) && counts_lanes(f, of, user, 0);
}

/* Likewise whether it is below a number of whole warps; LLVM puts a constant last. */
static bool is_warp_range(const struct flow *f, V x, LLVMBasicBlockRef user)
{
    uint64_t limit;
    if (!LLVMIsAICmpInst(x) || !counts_lanes(f, LLVMGetOperand(x, 0), user, 0))
        return false;
    V by = LLVMGetOperand(x, 1);
    switch (LLVMGetICmpPredicate(x)) {
    case LLVMIntULT: case LLVMIntUGE: case LLVMIntSLT: case LLVMIntSGE:
        return is_multiple(f, by, 0) && !operand_differs(f, by, user);
    case LLVMIntUGT: case LLVMIntULE: case LLVMIntSGT: case LLVMIntSLE: return is_constant(by, &limit) && limit % 32 == 31;
    default: return false;
    }
}

/* The number of a warp in a block that is one row. */
static bool is_warp(V x)
{
    uint64_t n;
    if (LLVMGetInstructionOpcode(x) != LLVMLShr || ptx_simt_called(LLVMGetOperand(x, 0)) != PTX_SIMT_TID_X)
        return ptx_simt_called(x) == PTX_SIMT_WARPID;
    return is_constant(LLVMGetOperand(x, 1), &n) && n >= 5;
}

/* With which outcome of `c` does only one warp of a block that is one row go on?  0: false, 1: true, -1: unknown. */
static int selects_warp(V c)
{
    if (LLVMIsABinaryOperator(c) && LLVMGetInstructionOpcode(c) == LLVMXor && LLVMIsAConstantInt(LLVMGetOperand(c, 1))) {
        int of = selects_warp(LLVMGetOperand(c, 0));
        return of < 0 ? of : !of;
    }
    V x = LLVMIsAICmpInst(c) ? LLVMGetOperand(c, 0) : NULL, limit = x ? LLVMGetOperand(c, 1) : NULL;
    if (!x || !LLVMIsAInstruction(x) || !LLVMIsAConstantInt(limit))
        return -1;
    bool thread = ptx_simt_called(x) == PTX_SIMT_TID_X, warp = is_warp(x);
    uint64_t most = thread ? 32 : warp ? 1 : 0, n = LLVMConstIntGetZExtValue(limit); /* what is below `most` is one warp's */
    switch (LLVMGetICmpPredicate(c)) {
    case LLVMIntEQ: return most ? 1 : -1;
    case LLVMIntNE: return most ? 0 : -1;
    case LLVMIntULT: case LLVMIntSLT: return n <= most ? 1 : -1;
    case LLVMIntULE: case LLVMIntSLE: return n < most ? 1 : -1;
    case LLVMIntUGT: case LLVMIntSGT: return n < most ? 0 : -1;
    case LLVMIntUGE: case LLVMIntSGE: return n <= most ? 0 : -1;
    default: return -1;
    }
}

/* Is it the number of a thread that is asked for? */
static bool selects_lane(V c)
{
    while (LLVMIsABinaryOperator(c))
        c = LLVMGetOperand(c, 0);
    return LLVMIsAICmpInst(c) && ptx_simt_called(LLVMGetOperand(c, 0)) == PTX_SIMT_TID_X &&
           (LLVMGetICmpPredicate(c) == LLVMIntEQ || LLVMGetICmpPredicate(c) == LLVMIntNE);
}

struct without {
    int from, to; /* an edge that no one takes */
};

static bool other_edge(void *data, int from, int to)
{
    const struct without *w = data;
    return from != w->from || to != w->to;
}

/* Notes in `seen` what is reached from the entry without the way `side` (1: where the condition holds) of block p's branch. */
static bool reached_without(struct flow *f, unsigned p, int side, bool *seen)
{
    struct without edge = { (int)p, (int)f->blocks[p].succ[side ? 0 : 1] };
    memset(seen, 0, f->n * sizeof *seen);
    seen[0] = true;
    return walk(f, edges_out, seen, other_edge, &edge);
}

/* Marks what is only reached through one such branch. */
static bool ones_find(struct flow *f)
{
    bool *seen = AW_NEW_ARRAY(&f->arena, bool, f->n), ok = seen != NULL;
    for (unsigned p = 0; ok && p < f->n; p++) {
        V end = LLVMGetBasicBlockTerminator(f->blocks[p].bb);
        int side = LLVMIsABranchInst(end) && LLVMIsConditional(end) ? selects_warp(LLVMGetCondition(end)) : -1;
        if (side < 0 || f->blocks[p].one || f->blocks[p].succ[0] == f->blocks[p].succ[1])
            continue;
        ok = reached_without(f, p, side, seen);
        f->blocks[p].selects = true;
        for (unsigned i = 0; i < f->n; i++) {
            f->blocks[i].one |= !seen[i];
            f->blocks[i].alone |= !seen[i] && selects_lane(LLVMGetCondition(end));
        }
    }
    return ok;
}

/* Do its lowest five bits tell the lanes of a warp apart?  Where rows are whole warps, or the only one. */
static bool numbers_lanes(const struct flow *f, V v, unsigned depth)
{
    if (depth == DEPTH_MAX || !LLVMIsAInstruction(v))
        return false;
    V a = LLVMGetNumOperands(v) ? LLVMGetOperand(v, 0) : NULL, b = LLVMGetNumOperands(v) > 1 ? LLVMGetOperand(v, 1) : NULL;
    uint64_t n;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMAnd: return is_constant(b, &n) && n % 32 == 31 && numbers_lanes(f, a, depth + 1);
    case LLVMCall: return ptx_simt_called(v) == PTX_SIMT_TID_X || ptx_simt_called(v) == PTX_SIMT_LANEID;
    case LLVMZExt: case LLVMSExt: return numbers_lanes(f, a, depth + 1);
    case LLVMAdd: case LLVMOr:
        return (is_multiple(f, a, 0) && numbers_lanes(f, b, depth + 1)) ||
               (is_multiple(f, b, 0) && numbers_lanes(f, a, depth + 1));
    default: return false;
    }
}

/* With which outcome of `c` does at most one lane of a warp go on?  0: false, 1: true, -1: unknown. */
static int leaves_lane(const struct flow *f, V c)
{
    if (LLVMIsABinaryOperator(c) && LLVMGetInstructionOpcode(c) == LLVMXor && LLVMIsAConstantInt(LLVMGetOperand(c, 1))) {
        int of = leaves_lane(f, LLVMGetOperand(c, 0));
        return of < 0 ? of : !of;
    }
    if (!LLVMIsAICmpInst(c) || !LLVMIsAConstantInt(LLVMGetOperand(c, 1)) || !numbers_lanes(f, LLVMGetOperand(c, 0), 0))
        return -1;
    switch (LLVMGetICmpPredicate(c)) {
    case LLVMIntEQ: return 1;
    case LLVMIntNE: return 0;
    default: return -1;
    }
}

/* Marks what is only reached through such a branch. */
static bool alone_find(struct flow *f)
{
    bool *seen = AW_NEW_ARRAY(&f->arena, bool, f->n), ok = seen != NULL;
    for (unsigned p = 0; ok && p < f->n; p++) {
        V end = LLVMGetBasicBlockTerminator(f->blocks[p].bb);
        int side = LLVMIsABranchInst(end) && LLVMIsConditional(end) ? leaves_lane(f, LLVMGetCondition(end)) : -1;
        if (side < 0 || f->blocks[p].alone || f->blocks[p].succ[0] == f->blocks[p].succ[1])
            continue;
        ok = reached_without(f, p, side, seen);
        for (unsigned i = 0; i < f->n; i++)
            f->blocks[i].alone |= !seen[i];
    }
    return ok;
}

static bool differs(const struct flow *f, V x, const struct flow_block *b)
{
    bool phi = LLVMIsAPHINode(x) != NULL;
    if (b->alone || ptx_simt_called(x) == PTX_SIMT_BARRIER_REDUCE) /* one answer for the block */
        return false;
    bool warp = f->of & PTX_FLOW_WARP || b->one;
    if (warp && (is_answer(f, x, 0) || is_warp_number(f, x, b->bb) || is_warp_range(f, x, b->bb) || is_vote(f, x, b->bb)))
        return false;
    if ((phi && (b->joins || (b->mixed && !(f->of & PTX_FLOW_STEP)))) || is_source(f, x, warp))
        return true;
    unsigned n = phi ? LLVMCountIncoming(x) : (unsigned)LLVMGetNumOperands(x);
    for (unsigned i = 0; i < n; i++)
        if (operand_differs(f, phi ? LLVMGetIncomingValue(x, i) : LLVMGetOperand(x, i), b->bb))
            return true;
    return false;
}

/* ---- Places.  Lanes that part at a branch meet again at the first block that all of them come to. */

/* ---- Sets of blocks, one row of bits each */
struct sets {
    size_t words;
    uint64_t *bits;
};

static bool sets_make(struct flow *f, struct sets *s)
{
    s->words = (f->n + 63) / 64;
    s->bits = AW_NEW_ARRAY(&f->arena, uint64_t, s->words * f->n);
    return s->bits != NULL;
}

static bool set_has(const struct sets *s, unsigned row, unsigned i)
{
    return s->bits[row * s->words + i / 64] >> i % 64 & 1;
}

/* row := all blocks, or those that are in each of rows others[]; and row itself.  True when that changed it. */
static bool set_meet(struct sets *s, unsigned row, const unsigned *others, unsigned n)
{
    bool changed = false;
    for (size_t w = 0; w < s->words; w++) {
        uint64_t all = n ? UINT64_MAX : 0;
        for (unsigned j = 0; j < n; j++)
            all &= s->bits[others[j] * s->words + w];
        all |= row / 64 == w ? UINT64_C(1) << row % 64 : 0;
        changed |= all != s->bits[row * s->words + w];
        s->bits[row * s->words + w] = all;
    }
    return changed;
}

/* Only among blocks that have a barrier ahead.  Where such a path has no end, it ends where it may leave for good. */
static bool postdominators_find(struct flow *f, struct sets *post)
{
    bool *ends = AW_NEW_ARRAY(&f->arena, bool, f->n), *leaves = AW_NEW_ARRAY(&f->arena, bool, f->n);
    if (!ends || !leaves || !sets_make(f, post))
        return false;
    for (unsigned i = f->n; i--;) {
        const struct flow_block *b = &f->blocks[i];
        unsigned on = 0;
        for (unsigned j = 0; j < b->n_succ; j++)
            on += f->blocks[b->succ[j]].coming;
        leaves[i] = on < b->n_succ || !b->n_succ;
        ends[i] = !on;
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (unsigned i = f->n; i--;)
            for (unsigned j = 0; j < f->blocks[i].n_succ && !ends[i]; j++)
                if (f->blocks[i].coming && ends[f->blocks[i].succ[j]] && f->blocks[f->blocks[i].succ[j]].coming)
                    changed = ends[i] = true;
    }
    memset(post->bits, 0xff, f->n * post->words * sizeof *post->bits);
    unsigned *next = AW_NEW_ARRAY(&f->arena, unsigned, f->n + 1);
    if (!next)
        return false;
    for (bool changed = true; changed;) {
        changed = false;
        for (unsigned i = f->n; i--;) {
            const struct flow_block *b = &f->blocks[i];
            unsigned n = 0;
            for (unsigned j = 0; j < b->n_succ && !(leaves[i] && !ends[i]) && n < f->n; j++)
                if (f->blocks[b->succ[j]].coming)
                    next[n++] = b->succ[j];
            if (b->coming)
                changed |= set_meet(post, i, next, n);
        }
    }
    return true;
}

struct parting {
    struct flow *f;
    const struct sets *post;
    unsigned at;      /* the block whose branch parts lanes */
    bool *seen;
};

/* Goes from block to block as far as a barrier comes and lanes have not met again. */
static bool still_parted(const struct parting *p, unsigned to)
{
    return p->f->blocks[to].coming && (to == p->at || !set_has(p->post, p->at, to));
}

static bool mark_parted(void *data, int from, int to)
{
    const struct parting *p = data;
    struct flow_block *b = &p->f->blocks[to];
    bool parted = still_parted(p, (unsigned)to);
    (void)from;
    if (parted) {
        b->parted = true;
        b->mixed |= !(p->f->of & PTX_FLOW_STEP) && !(p->f->blocks[p->at].selects && b->one);
    } else if (b->coming) {
        b->joins = true;
    }
    return parted;
}

/* Marks what lies between the branch that ends block `at` and where its lanes meet again. */
static bool part(struct flow *f, const struct sets *post, unsigned at, bool *seen)
{
    struct parting p = { f, post, at, seen };
    memset(seen, 0, f->n * sizeof *seen);
    for (unsigned j = 0; j < f->blocks[at].n_succ; j++)
        seen[f->blocks[at].succ[j]] |= mark_parted(&p, (int)at, (int)f->blocks[at].succ[j]);
    return walk(f, edges_out, seen, mark_parted, &p);
}

/* Of ptx_flow_side(). */
struct side {
    const struct flow *f;
    unsigned at, around, until;
};

static bool enter_side(void *data, int from, int to)
{
    const struct side *s = data;
    unsigned b = (unsigned)to;
    (void)from;
    return b != s->around && b != s->until && s->f->blocks[b].coming && (b == s->at || !set_has(s->f->post, s->at, b));
}

bool ptx_flow_side(const struct flow *f, unsigned at, unsigned from, unsigned around, unsigned until, bool *ret)
{
    struct side s = { f, at, around, until };
    ret[from] = (from == at || !set_has(f->post, at, from)) && from != around && from != until;
    return walk(f, edges_out, ret, enter_side, &s);
}

/* What part_in_step() works in, a row of blocks each. */
struct step {
    unsigned *ways;
    bool *side, *around;
};

/* Likewise where lanes in a loop are in the same round: they come together also where several sides lead, and only what
 * is made in loops that some leave sooner is of different times. */
static bool part_in_step(struct flow *f, unsigned at, struct step *step)
{
    const struct flow_block *b = &f->blocks[at];
    unsigned *ways = step->ways, returning = 0, sides = 0;
    bool *side = step->side, *around = step->around;
    memset(ways, 0, f->n * sizeof *ways);
    memset(around, 0, f->n * sizeof *around);
    for (unsigned j = 0; j < b->n_succ; j++) {
        bool again = !f->blocks[b->succ[j]].coming;
        for (unsigned i = 0; i < j; i++)
            again |= b->succ[i] == b->succ[j];
        if (again)
            continue;
        memset(side, 0, f->n * sizeof *side);
        if (!ptx_flow_side(f, at, b->succ[j], f->n, f->n, side))
            return false;
        sides++;
        returning += side[at];
        for (unsigned i = 0; i < f->n; i++) {
            ways[i] += side[i];
            around[i] |= side[i] && side[at];
        }
    }
    for (unsigned i = 0; i < f->n; i++) {
        f->blocks[i].joins |= ways[i] > 1;
        f->blocks[i].mixed |= around[i] && returning < sides;
    }
    return true;
}

/* Does the branch at the end of `b` send lanes to different places that all have a barrier ahead? */
static bool parts(const struct flow *f, const struct flow_block *b)
{
    unsigned first = f->n;
    bool several = false;
    for (unsigned j = 0; j < b->n_succ; j++) {
        if (!f->blocks[b->succ[j]].coming)
            continue;
        several |= first != f->n && first != b->succ[j];
        first = b->succ[j];
    }
    V end = LLVMGetBasicBlockTerminator(b->bb);
    return several && !b->alone && LLVMGetNumOperands(end) && operand_differs(f, LLVMGetOperand(end, 0), b->bb);
}

bool ptx_flow_others(struct flow *f, unsigned at, const bool *within, bool *ret)
{
    bool *seen = AW_NEW_ARRAY(&f->arena, bool, f->n), ok = seen != NULL;
    for (unsigned p = 0; ok && f->blocks[at].parted && p < f->n; p++) {
        const struct flow_block *b = &f->blocks[p];
        for (unsigned j = 0; ok && b->parts && (!within || within[p]) && j < b->n_succ; j++) {
            memset(seen, 0, f->n * sizeof *seen);
            ok = ptx_flow_side(f, p, b->succ[j], f->n, f->n, seen);
            for (unsigned k = 0; ok && seen[at] && k < b->n_succ; k++)
                ret[b->succ[k]] |= b->succ[k] != b->succ[j];
        }
    }
    return ok;
}

static bool divergence_find(struct flow *f)
{
    struct sets *post = AW_NEW_ARRAY(&f->arena, struct sets, 1);
    bool *done = AW_NEW_ARRAY(&f->arena, bool, f->n), *seen = AW_NEW_ARRAY(&f->arena, bool, f->n);
    struct step step = { AW_NEW_ARRAY(&f->arena, unsigned, f->n), AW_NEW_ARRAY(&f->arena, bool, f->n),
                         AW_NEW_ARRAY(&f->arena, bool, f->n) };
    if (!done || !seen || !post || !step.ways || !step.side || !step.around || !postdominators_find(f, post))
        return false;
    f->post = post;
    for (bool changed = true; changed;) {
        changed = false;
        for (unsigned i = 0; i < f->n; i++) {
            struct flow_block *b = &f->blocks[i];
            for (V x = LLVMGetFirstInstruction(b->bb); x; x = LLVMGetNextInstruction(x)) {
                if (is_divergent(f, x) || !differs(f, x, b))
                    continue;
                if (!aw_ptrmap_put(&f->divergent, x, x))
                    return false;
                changed = true;
            }
            if (!done[i] && parts(f, b)) {
                if (!part(f, post, i, seen) || (f->of & PTX_FLOW_STEP && !part_in_step(f, i, &step)))
                    return false;
                b->parts = done[i] = changed = true;
            }
        }
    }
    return true;
}

bool ptx_flow_init(struct flow *f, V fn, unsigned of)
{
    *f = (struct flow){ .of = of };
    if (!blocks_order(f, LLVMGetEntryBasicBlock(fn)) || !blocks_link(f) || !coming_find(f))
        return false;
    bool whole = f->of & PTX_FLOW_WARP && f->of & (PTX_FLOW_ROW | PTX_FLOW_ROWS);
    return (!(f->of & PTX_FLOW_ROW && f->of & PTX_FLOW_WAITS) || ones_find(f)) &&
           (!(whole && f->of & PTX_FLOW_WAITS) || alone_find(f)) && divergence_find(f);
}

void ptx_flow_fini(struct flow *f)
{
    aw_ptrmap_fini(&f->index);
    aw_ptrmap_fini(&f->divergent);
    aw_arena_fini(&f->arena);
}
