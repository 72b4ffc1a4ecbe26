/* Barriers as loops over warps: where all warps of a block come to every barrier of a kernel together, the body of one warp
 * becomes that of a block.
 *
 *   A; barrier; B    becomes   for each warp: A;  for each warp: B
 *
 * What lies between barriers is a region.  It begins at a head: a barrier, a block that is reached from several regions (so that
 * none is copied: heads of loops with barriers inside), or either side of a branch on which it depends what barrier comes next.
 * All warps take such branches alike, which is proved here: the condition depends on nothing but arguments, the block's index,
 * constants and counters of loops left alike.  Bodies for which that cannot be proved keep their calls of the runtime, and their
 * warps' stacks.
 *
 * Here is the question whether and where; fission_cut.c does it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"
#include "simt/schedule/schedule.h"
#include "simt/schedule/fission.h"
#include <anywarp/hostabi.h>
#include <string.h>

enum {
    MAX_INSTRUCTIONS = 60000,
    MAX_BYTES = 512 << 10, /* of a block's values that live across regions */
    CHEAP_SCALAR = 1, CHEAP_VECTOR = 3, /* of computing a value again */
    MANY_USES = 8,
};

/* ---- Barriers before it is known what becomes of them */

LLVMValueRef simt_service_before(struct simt *u, LLVMValueRef x, size_t service, LLVMTypeRef type, LLVMValueRef *args, unsigned n)
{
    LLVMPositionBuilderBefore(u->b, x);
    LLVMSetCurrentDebugLocation2(u->b, LLVMInstructionGetDebugLoc(x));
    LLVMValueRef launch = simt_field(u, args[0], offsetof(struct aw_host_block, launch), u->ptr, true);
    LLVMValueRef table = simt_field(u, launch, offsetof(struct aw_host_launch, services), u->ptr, true);
    return LLVMBuildCall2(u->b, type, simt_field(u, table, service, u->ptr, true), args, n, "");
}

/* As a call of the runtime. */
static void meet_lower(struct simt *u, LLVMValueRef x)
{
    LLVMValueRef fn = LLVMGetBasicBlockParent(LLVMGetInstructionParent(x)), args[6] = { LLVMGetParam(fn, BODY_BLOCK) };
    LLVMTypeRef types[6] = { u->ptr, u->i32, u->i32, u->i32, u->i32, u->i32 };
    unsigned n = LLVMGetNumArgOperands(x);
    for (unsigned i = 0; i < n; i++)
        args[1 + i] = LLVMGetOperand(x, i);
    bool reduces = simt_meet_kind(x) == SIMT_PRIVATE_MEET_REDUCE;
    size_t at = reduces ? offsetof(struct aw_host_services, barrier_reduce) : offsetof(struct aw_host_services, barrier);
    LLVMTypeRef type = LLVMFunctionType(reduces ? u->i32 : u->v_void, types, n + 1, 0);
    LLVMValueRef r = simt_service_before(u, x, at, type, args, n + 1);
    if (reduces)
        LLVMReplaceAllUsesWith(x, r);
    LLVMInstructionEraseFromParent(x);
    u->stats.barrier = true;
}

static void together_erase(struct simt *u, LLVMValueRef x)
{
    (void)u;
    LLVMReplaceAllUsesWith(x, LLVMGetOperand(x, 0));
    LLVMInstructionEraseFromParent(x);
}

static void each_call(struct simt *u, enum simt_private id, void (*act)(struct simt *, LLVMValueRef))
{
    LLVMValueRef fn = simt_private_find(u->out, id);
    for (LLVMUseRef use; fn && (use = LLVMGetFirstUse(fn)) != NULL;)
        act(u, LLVMGetUser(use));
    if (fn)
        LLVMDeleteFunction(fn);
}

void simt_together_dissolve(struct simt *u)
{
    each_call(u, SIMT_PRIVATE_MEET_TOGETHER, together_erase);
}

static void each_meet(struct simt *u, void (*act)(struct simt *, LLVMValueRef))
{
    each_call(u, SIMT_PRIVATE_MEET, act);
    each_call(u, SIMT_PRIVATE_MEET_REDUCE, act);
}

/* ---- Values that are the same for all warps */

bool simt_region_differs(const struct regions *r, LLVMValueRef v)
{
    return (LLVMIsAInstruction(v) || LLVMIsAArgument(v)) && aw_ptrmap_find(&r->differs, v);
}

/* Does the address lead, by constant steps, to what no kernel writes: its arguments, or the runtime's tables? */
static bool reads_known(LLVMValueRef p)
{
    for (int depth = 0; depth < 8; depth++) {
        if (LLVMIsAGetElementPtrInst(p))
            p = LLVMGetOperand(p, 0);
        else if (LLVMIsALoadInst(p))
            p = LLVMGetOperand(p, 0);
        else
            break;
    }
    if (!LLVMIsAArgument(p))
        return false;
    LLVMValueRef fn = LLVMGetParamParent(p);
    return p == LLVMGetParam(fn, BODY_KERNARG) || p == LLVMGetParam(fn, BODY_BLOCK);
}

static bool invariant_load(LLVMValueRef x)
{
    return !LLVMGetVolatile(x) && ptx_metadata(x, PTX_INVARIANT);
}

static bool has_attribute(LLVMValueRef fn, const char *name, uint64_t value)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAttributeRef a = LLVMGetEnumAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind);
    return a && LLVMGetEnumAttributeValue(a) == value;
}

/* Of an intrinsic: its result depends on its operands alone. */
static bool pure_call(LLVMValueRef x)
{
    LLVMValueRef callee = LLVMGetCalledValue(x);
    return LLVMIsAFunction(callee) && LLVMGetIntrinsicID(callee) && has_attribute(callee, "memory", 0) &&
           has_attribute(callee, "speculatable", 0);
}

static bool operands_differ(const struct regions *r, LLVMValueRef x)
{
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++)
        if (simt_region_differs(r, LLVMGetOperand(x, i)))
            return true;
    return false;
}

bool simt_region_scratch(LLVMValueRef alloca)
{
    size_t len;
    return !strncmp(LLVMGetValueName2(alloca, &len), SIMT_SCRATCH, strlen(SIMT_SCRATCH));
}

static bool begins_to_differ(const struct regions *r, int b, LLVMValueRef x)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMPHI:
        return r->parted[b] || r->joins[b] || operands_differ(r, x);
    case LLVMAlloca:
        return !simt_region_scratch(x);
    case LLVMLoad:
        return !invariant_load(x) || operands_differ(r, x);
    case LLVMCall:
        if (simt_meet_kind(x))
            return simt_meet_kind(x) == SIMT_PRIVATE_MEET_TOGETHER && r->parted[b];
        return !pure_call(x) || operands_differ(r, x);
    case LLVMAtomicRMW: case LLVMAtomicCmpXchg: case LLVMVAArg:
        return true;
    default:
        return operands_differ(r, x);
    }
}

static bool before_meeting(void *data, int from, int to)
{
    (void)from;
    return to != *(const int *)data;
}

/* All blocks on the way from the branch of `b` to where its sides meet again. */
static bool part(struct regions *r, int b)
{
    int meet = r->pdom[b];
    const struct simt_block *x = &r->f.blocks[b];
    int n = r->f.n_blocks;
    bool *seen = AW_NEW_ARRAY(&r->u->arena, bool, (size_t)n), ok = seen != NULL;
    for (int j = 0; ok && j < x->n_succ; j++)
        seen[x->succ[j]] = x->succ[j] != meet;
    ok = ok && ptx_graph_walk(r->f.blocks, n, simt_edges_out, seen, before_meeting, &meet);
    for (int i = 0; ok && i < n; i++)
        r->parted[i] |= seen[i];
    if (meet >= 0)
        r->joins[meet] = true;
    return ok;
}

static bool branch_differs(const struct regions *r, int b)
{
    return r->f.blocks[b].n_succ == 2 && simt_region_differs(r, LLVMGetCondition(LLVMGetBasicBlockTerminator(r->f.blocks[b].bb)));
}

static bool find_differing(struct regions *r)
{
    bool *seen = AW_NEW_ARRAY(&r->u->arena, bool, (size_t)r->f.n_blocks), changed = true, ok = seen != NULL;
    static const int params[] = { BODY_WARP, BODY_LANES, BODY_TID, BODY_TID + 1, BODY_TID + 2 };
    for (size_t i = 0; i < sizeof params / sizeof *params; i++)
        ok = ok && aw_ptrmap_put(&r->differs, LLVMGetParam(r->fn, (unsigned)params[i]), r);
    while (ok && changed) {
        changed = false;
        for (int b = 0; ok && b < r->f.n_blocks; b++) {
            for (LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[b].bb); ok && x; x = LLVMGetNextInstruction(x)) {
                if (LLVMIsATerminatorInst(x) || aw_ptrmap_find(&r->differs, x) || !begins_to_differ(r, b, x))
                    continue;
                ok = aw_ptrmap_put(&r->differs, x, r);
                changed = true;
            }
            if (!seen[b] && branch_differs(r, b)) {
                seen[b] = changed = true;
                ok = ok && part(r, b);
            }
        }
    }
    return ok ? true : (simt_memory(r->u), false);
}

/* ---- The graph */

/* Dominators of the graph with its edges turned round; false: some block does not lead to the last one. */
static bool find_postdominators(struct regions *r)
{
    const struct simt_fn *f = &r->f;
    int n = f->n_blocks, reached;
    int *order = AW_NEW_ARRAY(&r->u->arena, int, (size_t)n), *number = AW_NEW_ARRAY(&r->u->arena, int, (size_t)n);
    r->pdom = AW_NEW_ARRAY(&r->u->arena, int, (size_t)n);
    if (!order || !number || !r->pdom ||
        !ptx_graph_order(&r->u->arena, f->blocks, n, r->last, simt_edges_into, order, number, &reached))
        return simt_memory(r->u);
    if (reached < n)
        return false;
    ptx_graph_dominators(f->blocks, n, order, number, simt_edges_out, r->pdom);
    r->pdom[r->last] = -1;
    return true;
}

/* Has the body only ends of blocks that the graph knows?  What LLVM's passes put there in place of others is no error. */
static bool branches_only(LLVMValueRef fn)
{
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb)) {
        LLVMOpcode op = LLVMGetInstructionOpcode(LLVMGetBasicBlockTerminator(bb));
        if (op != LLVMBr && op != LLVMRet)
            return false;
    }
    return true;
}

/* One return, and no other end. */
static bool find_last(struct regions *r)
{
    r->last = -1;
    for (int b = 0; b < r->f.n_blocks; b++) {
        LLVMOpcode op = LLVMGetInstructionOpcode(LLVMGetBasicBlockTerminator(r->f.blocks[b].bb));
        if (op == LLVMRet && r->last < 0)
            r->last = b;
        else if (op != LLVMBr)
            return false;
    }
    return r->last >= 0;
}

/* ---- Heads */

/* The region of a block that is no head, by edges forwards; -2: there are several. */
static int owner_forwards(const struct regions *r, int b)
{
    int owner = -1;
    for (int j = 0; j < r->f.blocks[b].n_preds; j++) {
        int p = r->f.blocks[b].preds[j];
        if (p >= b)
            continue;
        if (owner >= 0 && r->owner[p] != owner)
            return -2;
        owner = r->owner[p];
    }
    return owner;
}

/* Blocks that are reached from several regions become heads; false when there are none. */
static bool join_heads(struct regions *r)
{
    bool changed = false;
    for (int b = 0; b < r->f.n_blocks; b++) {
        int owner = r->head[b] ? b : owner_forwards(r, b);
        if (owner == -2)
            r->head[b] = changed = true;
        r->owner[b] = owner == -2 ? b : owner;
    }
    for (int b = 0; b < r->f.n_blocks; b++)
        for (int j = 0; j < r->f.blocks[b].n_preds && !r->head[b]; j++)
            if (r->owner[r->f.blocks[b].preds[j]] != r->owner[b])
                r->head[b] = changed = true;
    return changed;
}

/* Does it depend on the branch of `b` which head comes next?  Not where its sides meet before. */
static bool chooses(struct regions *r, int b, int *work, int *seen)
{
    int n = 0, target = -1;
    bool many = false;
    const int stamp = ++r->stamp;
    for (int j = 0; j < 2; j++)
        work[n++] = r->f.blocks[b].succ[j];
    while (n && !many) {
        int at = work[--n], to = r->head[at] || at == r->last || at == r->pdom[b] ? at : -1;
        if (to >= 0) {
            many = target >= 0 && target != to;
            target = to;
        } else if (seen[at] != stamp) {
            seen[at] = stamp;
            for (int j = 0; j < r->f.blocks[at].n_succ; j++)
                work[n++] = r->f.blocks[at].succ[j];
        }
    }
    return many;
}

static bool branch_heads(struct regions *r, int *work, int *seen)
{
    bool changed = false;
    for (int b = 0; b < r->f.n_blocks; b++) {
        const struct simt_block *x = &r->f.blocks[b];
        if (x->n_succ != 2 || (r->head[x->succ[0]] && r->head[x->succ[1]]))
            continue;
        if (chooses(r, b, work, seen))
            r->head[x->succ[0]] = r->head[x->succ[1]] = changed = true;
    }
    return changed;
}

/* Warps that are not together do not stay so. */
static void dissolve_parted(struct regions *r)
{
    for (int b = 0; b < r->f.n_blocks; b++)
        for (LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[b].bb), next; x; x = next) {
            next = LLVMGetNextInstruction(x);
            if (simt_meet_kind(x) != SIMT_PRIVATE_MEET_TOGETHER || !r->parted[b])
                continue;
            aw_ptrmap_remove(&r->differs, x);
            together_erase(r->u, x);
        }
}

/* Ends the block in a branch that all warps take only if it is for all?  Of a kernel without barriers, where nothing else parts
 * what they do together from what they do alone. */
static bool goes_together(const struct regions *r, int b)
{
    const struct simt_block *x = &r->f.blocks[b];
    return (r->u->schedule == SIMT_INTERLEAVED || r->u->schedule == SIMT_ABREAST) && x->n_succ == 2 &&
           simt_meet_kind(LLVMGetCondition(LLVMGetBasicBlockTerminator(x->bb))) == SIMT_PRIVATE_MEET_TOGETHER;
}

static bool find_heads(struct regions *r)
{
    size_t n = (size_t)r->f.n_blocks;
    int *work = AW_NEW_ARRAY(&r->u->arena, int, 2 * n + 4);
    int *seen = AW_NEW_ARRAY(&r->u->arena, int, n);
    if (!work || !seen)
        return simt_memory(r->u);
    for (size_t b = 0; b < n; b++) {
        r->head[b] = b == 0 || simt_meet_kind(LLVMGetFirstInstruction(r->f.blocks[b].bb));
        r->owner[b] = -1;
    }
    for (size_t b = 0; b < n; b++)
        for (int j = 0; j < 2 && goes_together(r, (int)b); j++)
            r->head[r->f.blocks[b].succ[j]] = true;
    do {
        while (join_heads(r))
            ;
    } while (branch_heads(r, work, seen));
    for (size_t b = 0; b < n; b++)
        if (r->head[b] && r->parted[b])
            return false;
    return true;
}

static bool is_common(const struct regions *r, const struct region *g);

static bool add_target(struct region *g, int head)
{
    for (int i = 0; i < g->n_to; i++)
        if (g->to[i] == head)
            return true;
    if (g->n_to == 2)
        return false;
    g->to[g->n_to++] = head;
    return true;
}

/* What follows each region; false: something that fission_cut.c does not do. */
static bool describe(struct regions *r)
{
    for (int b = 0; b < r->f.n_blocks; b++) {
        if (r->head[b] && !r->region[b])
            r->region[b] = AW_NEW(&r->u->arena, struct region);
        if (r->head[b] && !r->region[b])
            return simt_memory(r->u);
        if (r->head[b])
            *r->region[b] = (struct region){ .head = b, .chooser = -1 };
    }
    for (int b = 0; b < r->f.n_blocks; b++) {
        const struct simt_block *x = &r->f.blocks[b];
        struct region *g = r->region[r->owner[b]];
        int out = 0;
        for (int j = 0; j < x->n_succ; j++)
            if (r->head[x->succ[j]]) {
                out++;
                if (!add_target(g, x->succ[j]))
                    return false;
            }
        if (out == 2)
            g->chooser = b;
        g->ends |= b == r->last;
    }
    for (int b = 0; b < r->f.n_blocks; b++) {
        struct region *g = r->region[b];
        if (!g)
            continue;
        if (g->n_to == 2 && (g->chooser < 0 || g->ends))
            return false;
        if (g->n_to == 2)
            for (int j = 0; j < 2; j++)
                g->to[j] = r->f.blocks[g->chooser].succ[j];
        if (g->ends && g->n_to)
            return false;
        g->common = is_common(r, g);
    }
    return true;
}

/* Is a use of the head's phi in block `b` done with before `x` is there, or in the head's own region, which holds the phi in a
 * register?  Only blocks of the very loop that the head begins run once in a round. */
static bool used_before(const struct regions *r, int head, int b, bool leaves, LLVMValueRef x)
{
    int at = simt_block_of(&r->f, LLVMGetInstructionParent(x)), loop = r->f.blocks[head].loop;
    if (b < 0 || r->owner[b] == head)
        return b >= 0;
    return loop >= 0 && r->f.loops[loop].header == head && r->f.blocks[b].loop == loop && simt_dominates(&r->f, b, at) &&
           !(leaves && b == at);
}

/* Does nothing need the phi from where `x` is defined on? */
static bool done_with(const struct regions *r, LLVMValueRef phi, int head, LLVMValueRef x)
{
    for (LLVMUseRef use = LLVMGetFirstUse(phi); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (!LLVMIsAPHINode(user)) {
            if (!used_before(r, head, simt_block_of(&r->f, LLVMGetInstructionParent(user)), false, x))
                return false;
            continue;
        }
        for (unsigned i = 0; i < LLVMCountIncoming(user); i++)
            if (LLVMGetIncomingValue(user, i) == phi &&
                !used_before(r, head, simt_block_of(&r->f, LLVMGetIncomingBlock(user, i)), true, x))
                return false;
    }
    return true;
}

static bool is_head_phi(const struct regions *r, LLVMValueRef x)
{
    int b = simt_block_of(&r->f, LLVMGetInstructionParent(x));
    return LLVMIsAPHINode(x) && b >= 0 && r->head[b];
}

/* A sum that goes round a loop with barriers stays in one place: no copies where the loop is closed. */
static bool find_stays(struct regions *r)
{
    bool ok = true;
    for (int b = 0; b < r->f.n_blocks && ok; b++)
        for (LLVMValueRef phi = LLVMGetFirstInstruction(r->f.blocks[b].bb); r->head[b] && phi && LLVMIsAPHINode(phi) && ok;
             phi = LLVMGetNextInstruction(phi)) {
            if (!simt_region_differs(r, phi))
                continue;
            for (unsigned i = 0; i < LLVMCountIncoming(phi) && ok; i++) {
                LLVMValueRef x = LLVMGetIncomingValue(phi, i);
                if (!LLVMIsAInstruction(x) || LLVMIsAAllocaInst(x) || !simt_region_differs(r, x) || is_head_phi(r, x) ||
                    aw_ptrmap_find(&r->stayed, x) || aw_ptrmap_find(&r->stays, phi) ||
                    !simt_dominates(&r->f, b, simt_block_of(&r->f, LLVMGetInstructionParent(x))) || !done_with(r, phi, b, x))
                    continue;
                ok = aw_ptrmap_put(&r->stays, phi, x) && aw_ptrmap_put(&r->stayed, x, phi);
            }
        }
    return ok ? true : (simt_memory(r->u), false);
}

/* Must each warp by itself note something for the phis of `head` when it goes there from `from`? */
static bool phis_differ(const struct regions *r, int head, int from)
{
    for (LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[head].bb); LLVMIsAPHINode(x); x = LLVMGetNextInstruction(x))
        for (unsigned i = 0; i < LLVMCountIncoming(x) && simt_region_differs(r, x); i++) {
            LLVMValueRef v = LLVMGetIncomingValue(x, i);
            if (LLVMGetIncomingBlock(x, i) == r->f.blocks[from].bb && !simt_undef(v) && aw_ptrmap_find(&r->stays, x) != v)
                return true;
        }
    return false;
}

/* Has it phis that each warp has by itself? */
static bool begins_apart(const struct regions *r, int head)
{
    for (LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[head].bb); LLVMIsAPHINode(x); x = LLVMGetNextInstruction(x))
        if (simt_region_differs(r, x))
            return true;
    return false;
}

static bool sums_up(const struct regions *r, int head)
{
    LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[head].bb);
    return simt_meet_kind(x) == SIMT_PRIVATE_MEET_REDUCE || simt_meet_kind(x) == SIMT_PRIVATE_MEET_TOGETHER;
}

/* Is there nothing in the region that each warp must do by itself? */
static bool is_common(const struct regions *r, const struct region *g)
{
    const struct simt_block *x = &r->f.blocks[g->head];
    if (g->head == 0 || begins_apart(r, g->head) || (x->n_succ == 0 && !g->ends))
        return false;
    for (int j = 0; j < x->n_succ; j++)
        if (!r->head[x->succ[j]] || phis_differ(r, x->succ[j], g->head) || sums_up(r, x->succ[j]))
            return false;
    LLVMValueRef i = LLVMGetFirstInstruction(x->bb), term = LLVMGetBasicBlockTerminator(x->bb);
    for (; i != term; i = LLVMGetNextInstruction(i))
        if (!LLVMIsAPHINode(i) && !simt_meet_kind(i) && (simt_region_differs(r, i) || !simt_region_hoists(i)))
            return false;
    return true;
}

/* ---- What lives across regions */

bool simt_region_hoists(LLVMValueRef x)
{
    int64_t c;
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMUDiv: case LLVMURem: case LLVMSDiv: case LLVMSRem:
        return simt_int_const(LLVMGetOperand(x, 1), &c) && c != 0 && c != -1;
    case LLVMLoad:
        return invariant_load(x) && reads_known(LLVMGetOperand(x, 0));
    case LLVMCall:
        return !simt_meet_kind(x) && pure_call(x);
    case LLVMPHI:
    case LLVMAlloca:
    case LLVMStore:
    case LLVMFence:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
    case LLVMBr:
    case LLVMRet:
    case LLVMVAArg: case LLVMUnreachable: case LLVMSwitch:
        return false;
    default:
        return true;
    }
}

/* The cost of computing `x` again from arguments, values that are the same for all warps and one other value, the leaf: where the
 * budget ends, or something that cannot be done twice. */
static bool derives(const struct regions *r, LLVMValueRef x, bool top, int *budget, LLVMValueRef *leaf)
{
    LLVMValueRef origin = LLVMIsAInstruction(x) ? aw_ptrmap_find(&r->origin, x) : NULL;
    if (origin && aw_ptrmap_find(&r->stays, origin))
        return false; /* elsewhere it may be another by then */
    if (!LLVMIsAInstruction(x) || !simt_region_differs(r, x) || LLVMIsAAllocaInst(x))
        return true;
    bool vector = LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVectorTypeKind && !LLVMIsAInsertElementInst(x);
    int cost = vector ? CHEAP_VECTOR : CHEAP_SCALAR;
    if (*budget < cost || LLVMIsALoadInst(x) || LLVMIsACallInst(x) || !simt_region_hoists(x)) {
        if (top || (*leaf && *leaf != x) || aw_ptrmap_find(&r->stays, x))
            return false;
        *leaf = x;
        return true;
    }
    *budget -= cost;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++)
        if (!derives(r, LLVMGetOperand(x, i), false, budget, leaf))
            return false;
    return true;
}

static bool many_uses(LLVMValueRef x)
{
    int n = 0;
    for (LLVMUseRef use = LLVMGetFirstUse(x); use && n < MANY_USES; use = LLVMGetNextUse(use))
        n++;
    return n == MANY_USES;
}

bool simt_region_cheap(const struct regions *r, LLVMValueRef x)
{
    int budget = (int)simt_threshold(r->u, PTX_THRESHOLD_RECOMPUTE);
    LLVMValueRef leaf = NULL;
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(r->u->out);
    if (aw_ptrmap_find(&r->stayed, x) || !derives(r, x, true, &budget, &leaf))
        return false;
    /* Many scalars are taken out of one vector: it is kept in their place. */
    return !leaf || LLVMABISizeOfType(layout, LLVMTypeOf(leaf)) <= LLVMABISizeOfType(layout, LLVMTypeOf(x)) || many_uses(leaf);
}

/* Bytes of stack that values which differ will take for one warp, about. */
static uint64_t bytes_across(struct regions *r)
{
    uint64_t sum = 0;
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(r->u->out);
    for (int b = 0; b < r->f.n_blocks; b++)
        for (LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[b].bb); x; x = LLVMGetNextInstruction(x)) {
            bool across = LLVMIsAPHINode(x) && r->head[b];
            if (LLVMIsAAllocaInst(x) && !simt_region_scratch(x))
                sum += LLVMABISizeOfType(layout, LLVMGetAllocatedType(x));
            for (LLVMUseRef use = LLVMGetFirstUse(x); use && !across; use = LLVMGetNextUse(use)) {
                int at = simt_block_of(&r->f, LLVMGetInstructionParent(LLVMGetUser(use)));
                across = at >= 0 && r->owner[at] != r->owner[b];
            }
            if (across && simt_region_differs(r, x) && !LLVMIsAAllocaInst(x) && (LLVMIsAPHINode(x) || !simt_region_cheap(r, x)))
                sum += LLVMABISizeOfType(layout, LLVMTypeOf(x));
        }
    return sum;
}

static bool allocas_fit(const struct regions *r)
{
    for (int b = 0; b < r->f.n_blocks; b++)
        for (LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[b].bb); x; x = LLVMGetNextInstruction(x))
            if (LLVMIsAAllocaInst(x) && (b > 0 || !LLVMIsAConstantInt(LLVMGetOperand(x, 0))))
                return false;
    return true;
}

/* ---- Cutting blocks at barriers */

/* What a meeting that reduces makes of `old` and a warp's part. */
LLVMValueRef simt_meet_add(struct simt *u, LLVMValueRef x, LLVMValueRef old)
{
    LLVMBuilderRef b = u->b;
    if (simt_meet_kind(x) == SIMT_PRIVATE_MEET_TOGETHER)
        return LLVMBuildAnd(b, old, LLVMBuildZExt(b, LLVMGetOperand(x, 0), u->i32, ""), "");
    LLVMValueRef active = LLVMGetOperand(x, 3), yes = LLVMBuildAnd(b, active, LLVMGetOperand(x, 4), "");
    switch (LLVMConstIntGetZExtValue(LLVMGetOperand(x, 2))) {
    case 0:
        return LLVMBuildAdd(b, old, simt_intrinsic(u, "llvm.ctpop", &u->i32, 1, &yes, 1), "");
    case 1:
        return LLVMBuildAnd(b, old, LLVMBuildZExt(b, LLVMBuildICmp(b, LLVMIntEQ, yes, active, ""), u->i32, ""), "");
    default:
        return LLVMBuildOr(b, old, LLVMBuildZExt(b, LLVMBuildICmp(b, LLVMIntNE, yes, simt_c32(u, 0), ""), u->i32, ""), "");
    }
}

LLVMValueRef simt_meet_begin(struct simt *u, LLVMValueRef x)
{
    return simt_c32(u, simt_meet_kind(x) == SIMT_PRIVATE_MEET_TOGETHER || LLVMConstIntGetZExtValue(LLVMGetOperand(x, 2)) == 1);
}

static bool split_at_meets(struct simt *u, LLVMValueRef fn)
{
    AW_VEC(LLVMValueRef) meets = { 0 };
    bool ok = true;
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x && ok; x = LLVMGetNextInstruction(x))
            if (simt_meet_kind(x))
                ok = aw_vec_push(&meets, x);
    for (size_t i = 0; ok && i < meets.n; i++)
        simt_split_before(u, meets.at[i]);
    aw_vec_fini(&meets);
    return ok ? true : (simt_memory(u), false);
}

/* ---- All of it */

/* What differs, and the heads.  Scratch areas that turn out to outlive a region are each warp's own from then on. */
static bool divide(struct regions *r)
{
    do {
        if (!find_differing(r))
            return false;
        r->divided = true;
        dissolve_parted(r);
        if (!find_heads(r))
            return false;
    } while (simt_scratch_hold(r));
    return !r->u->status;
}

static bool plan(struct regions *r)
{
    struct simt *u = r->u;
    if (simt_instructions(r->fn) > MAX_INSTRUCTIONS || !branches_only(r->fn) || !split_at_meets(u, r->fn) ||
        !simt_cfg_build(&r->f))
        return false;
    size_t n = (size_t)r->f.n_blocks;
    r->head = AW_NEW_ARRAY(&u->arena, bool, n);
    r->parted = AW_NEW_ARRAY(&u->arena, bool, n);
    r->joins = AW_NEW_ARRAY(&u->arena, bool, n);
    r->owner = AW_NEW_ARRAY(&u->arena, int, n);
    r->region = AW_NEW_ARRAY(&u->arena, struct region *, n);
    if (!r->head || !r->parted || !r->joins || !r->owner || !r->region)
        return simt_memory(u);
    return find_last(r) && allocas_fit(r) && find_postdominators(r) && divide(r) && find_stays(r) && describe(r) &&
           bytes_across(r) * (r->warps ? r->warps : 32) <= MAX_BYTES;
}

/* In a block of one warp nobody waits. */
static void meet_alone(struct simt *u, LLVMValueRef x)
{
    LLVMPositionBuilderBefore(u->b, x);
    if (simt_meet_kind(x) == SIMT_PRIVATE_MEET_REDUCE)
        LLVMReplaceAllUsesWith(x, simt_meet_add(u, x, simt_meet_begin(u, x)));
    LLVMInstructionEraseFromParent(x);
}

static void fini(struct regions *r)
{
    simt_cfg_fini(&r->f);
    aw_ptrmap_fini(&r->differs);
    aw_ptrmap_fini(&r->places);
    aw_ptrmap_fini(&r->anchors);
    aw_ptrmap_fini(&r->slots);
    aw_ptrmap_fini(&r->origin);
    aw_ptrmap_fini(&r->stays);
    aw_ptrmap_fini(&r->stayed);
    aw_map_fini(&r->here);
}

static bool plan_again(struct regions *r)
{
    struct regions fresh = { .u = r->u, .fn = r->fn, .warps = r->warps, .f = { .u = r->u, .src = r->fn } };
    fini(r);
    *r = fresh;
    return plan(r);
}

static bool plan_apart(struct regions *r)
{
    simt_together_dissolve(r->u);
    return plan_again(r);
}

/* The plan with calls that were added; false: there is none, and they are gone. */
static bool plan_with(struct regions *r, const LLVMValueRef *added, size_t n)
{
    bool planned = plan_again(r);
    for (size_t i = 0; i < n && !planned; i++)
        LLVMInstructionEraseFromParent(added[i]);
    return planned;
}

typedef AW_VEC(LLVMValueRef) calls;

/* aw.meet where all warps come together is a barrier, and nothing elsewhere. */
static bool meet_where_can(struct regions *r, calls *ret)
{
    LLVMValueRef args[2] = { simt_c32(r->u, 0), simt_c32(r->u, 0) };
    bool ok = true;
    for (int b = 0; b < r->f.n_blocks; b++)
        for (LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[b].bb), next; x && ok; x = next) {
            next = LLVMGetNextInstruction(x);
            if (simt_private_called(x) != SIMT_PRIVATE_MEET_IF_CAN)
                continue;
            LLVMPositionBuilderBefore(r->u->b, x);
            if (!r->parted[b])
                ok = aw_vec_push(ret, simt_private_call(r->u->b, r->u->out, SIMT_PRIVATE_MEET, args, 2));
            LLVMInstructionEraseFromParent(x);
        }
    return ok ? true : (simt_memory(r->u), false);
}

/* With those, or without them where there is no plan then; false: u->status is set, or there is none at all. */
static bool plan_meetings(struct regions *r)
{
    calls added = { 0 };
    if (!simt_private_find(r->u->out, SIMT_PRIVATE_MEET_IF_CAN))
        return true;
    bool planned = meet_where_can(r, &added) && (plan_with(r, added.at, added.n) || (!r->u->status && plan_again(r)));
    aw_vec_fini(&added);
    return planned && !r->u->status;
}

static void call_erase(struct simt *u, LLVMValueRef x)
{
    (void)u;
    LLVMInstructionEraseFromParent(x);
}

static void forget_meetings(struct simt *u)
{
    each_call(u, SIMT_PRIVATE_MEET_IF_CAN, call_erase);
}

static bool minds_hazards(struct simt *u)
{
    return u->meets && !u->plain_updates && simt_step(u, PTX_PASS_HAZARDS);
}

/* With the meetings that the program lacks; false: it cannot be cut then. */
static bool plan_hazards(struct regions *r)
{
    LLVMValueRef added[SIMT_MAX_HAZARDS];
    unsigned n = minds_hazards(r->u) ? simt_hazards(r, added) : 0;
    return (!n || plan_with(r, added, n)) && !r->u->status;
}

/* Do all warps come together to each place where they are to meet if they can? */
static bool meetings_together(const struct regions *r)
{
    for (int b = 0; r->divided && b < r->f.n_blocks; b++)
        for (LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[b].bb); x; x = LLVMGetNextInstruction(x))
            if (r->parted[b] && simt_private_called(x) == SIMT_PRIVATE_MEET_IF_CAN)
                return false;
    return r->divided;
}

/* In place of the meetings that bodies lack which keep their calls of the runtime: warps of a block may have different bodies, so
 * they meet by all of these or none; and not where one of them may wait for what another one does behind that. */
static void take_turns(struct regions *r, int n)
{
    struct simt *u = r->u;
    bool together = !u->stats.barrier && !u->polls;
    for (int i = 0; i < n; i++) {
        plan_again(&r[i]);
        together = together && meetings_together(&r[i]);
    }
    for (int i = 0; i < n && together && !u->status; i++) {
        calls added = { 0 };
        meet_where_can(&r[i], &added);
        aw_vec_fini(&added);
    }
    forget_meetings(u);
    for (int i = 0; i < n; i++)
        if (r[i].pdom && !u->status)
            simt_hazard_turns(&r[i]);
}

/* Where every part begins at the same place of a row (or column), that index of its first thread is no longer each one's own. */
static void know_indices(struct simt *u, LLVMValueRef fn, uint32_t parts)
{
    const uint32_t *block = u->options->block;
    for (uint32_t d = 0, before = 1; d < 3; before *= block[d++]) {
        bool first = true;
        for (uint32_t i = 0; i < parts && first; i++)
            first = i * (uint32_t)u->lanes / before % block[d] == 0;
        if (first)
            LLVMReplaceAllUsesWith(LLVMGetParam(fn, BODY_TID + d), simt_c32(u, 0));
    }
}

bool simt_fission(struct simt *u, LLVMValueRef *bodies, int n)
{
    const uint32_t *block = u->options->block;
    struct regions r[2] = { 0 };
    uint32_t lanes = (uint32_t)u->lanes, warps = block[1] ? (block[0] * block[1] * block[2] + lanes - 1) / lanes : 0;
    bool cut = simt_step(u, PTX_PASS_FISSION) && !u->stats.barrier && !u->stats.yield;
    LLVMSetCurrentDebugLocation2(u->b, NULL);
    if (cut && warps == 1) {
        forget_meetings(u);
        each_meet(u, meet_alone);
        simt_together_dissolve(u);
        return false;
    }
    for (int i = 0; i < n; i++)
        r[i] = (struct regions){ .u = u, .fn = bodies[i], .warps = warps, .f = { .u = u, .src = bodies[i] } };
    for (int i = 0; i < n && cut; i++) {
        if (warps)
            know_indices(u, bodies[i], warps);
        cut = plan(&r[i]) || (!u->status && simt_private_find(u->out, SIMT_PRIVATE_MEET_TOGETHER) && plan_apart(&r[i]));
        cut = cut && plan_meetings(&r[i]) && plan_hazards(&r[i]);
    }
    if (!cut && warps != 1 && !u->status && minds_hazards(u))
        take_turns(r, n);
    forget_meetings(u);
    for (int i = 0; i < n && cut && !u->status; i++)
        cut = simt_fission_cut(&r[i]);
    for (int i = 0; i < n; i++)
        fini(&r[i]);
    if (!u->status) {
        each_meet(u, meet_lower);
        simt_together_dissolve(u);
    }
    LLVMSetCurrentDebugLocation2(u->b, NULL);
    return cut && !u->status;
}
