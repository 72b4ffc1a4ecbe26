/* Loads that were put under a guard by themselves, and are needed only under the same guard further on, where machine code was
 * lifted: they go there, and what is computed of them with them.
 *
 *   if (p) x = load;                         ..
 *   ..                          becomes
 *   if (p) store(f(x));                      if (p) { x = load; store(f(x)); }
 *
 * NVIDIA's assembler guards each instruction and moves them apart; a branch that asks once whether any lane, or all, are on
 * pays for more than one access.  No load goes past what may write its memory or waits; an ordering point for lanes in step
 * (steps.c of ptx/sass) that stands directly before the second guard comes between them once more. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/host.h"

#include "lower/graph.h"
#include "lower/copy.h"

enum {
    MAX_BLOCKS = 24, /* from one guard to the other */
    MAX_DEAD = 16,
};

typedef LLVMValueRef V;
typedef LLVMBasicBlockRef B;

/* if (condition == value) guarded; join */
struct guard {
    V condition;
    B before, guarded, join;
    unsigned way; /* which successor of `before` is guarded */
};

static bool branches(B bb)
{
    V t = LLVMGetBasicBlockTerminator(bb);
    return t && LLVMIsABranchInst(t) && LLVMIsConditional(t) && LLVMGetSuccessor(t, 0) != LLVMGetSuccessor(t, 1);
}

/* The guard that a block is under. */
static bool find_guard(B guarded, struct guard *g)
{
    B before = ptx_only_way_to(guarded);
    if (!before || !branches(before))
        return false;
    V t = LLVMGetBasicBlockTerminator(before);
    *g = (struct guard){
        .condition = LLVMGetCondition(t), .before = before, .guarded = guarded, .way = LLVMGetSuccessor(t, 1) == guarded
    };
    g->join = LLVMGetSuccessor(t, 1 - g->way);
    return true;
}

static bool touches_nothing(V x)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMStore:
    case LLVMLoad:
    case LLVMFence:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
    case LLVMAlloca:
    case LLVMVAArg: return false;
    case LLVMCall: return !ptx_host_touches(x, PTX_HOST_READS | PTX_HOST_WRITES);
    default: return !LLVMIsATerminatorInst(x);
    }
}

/* Of two places that say where they are: they are apart. */
static bool apart(unsigned a, unsigned b)
{
    return a != b && (a == 1 || a == 3 || a == 5) && (b == 1 || b == 3 || b == 5);
}

/* A guarded block that only loads and computes, for phis behind it alone. */
static bool only_loads(const struct guard *g, bool spaces[8])
{
    V t = LLVMGetBasicBlockTerminator(g->guarded);
    bool loads = false;
    if (!LLVMIsABranchInst(t) || LLVMIsConditional(t) || LLVMGetSuccessor(t, 0) != g->join ||
        LLVMIsAPHINode(LLVMGetFirstInstruction(g->guarded)))
        return false;
    for (V x = LLVMGetFirstInstruction(g->guarded); x != t; x = LLVMGetNextInstruction(x)) {
        if (ptx_host_plain_load(x)) {
            spaces[LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(x, 0))) & 7] = loads = true;
        } else if (!touches_nothing(x)) {
            return false;
        }
        for (LLVMUseRef u = LLVMGetFirstUse(x); u; u = LLVMGetNextUse(u)) {
            B in = LLVMGetInstructionParent(LLVMGetUser(u));
            if (in != g->guarded && !(in == g->join && LLVMIsAPHINode(LLVMGetUser(u))))
                return false;
        }
    }
    return loads;
}

/* ---- Uses */

static V other_value(const struct guard *g, V phi)
{
    return ptx_phi_value(phi, g->before);
}

/* Is it needed only where the guard does not hold?  Then it is what it was before. */
static bool is_other(const struct guard *g, V user, unsigned k)
{
    if (LLVMIsASelectInst(user))
        return LLVMGetOperand(user, 0) == g->condition && k == 2 - g->way && k > 0;
    if (!LLVMIsAPHINode(user))
        return false;
    V t = LLVMGetBasicBlockTerminator(LLVMGetIncomingBlock(user, k));
    return LLVMIsABranchInst(t) && LLVMIsConditional(t) && LLVMGetCondition(t) == g->condition &&
           LLVMGetSuccessor(t, 0) != LLVMGetSuccessor(t, 1) &&
           LLVMGetSuccessor(t, 1 - g->way) == LLVMGetInstructionParent(user) && LLVMGetIncomingBlock(user, k) != g->before;
}

static void replace_others(const struct guard *g, V phi)
{
    V other = other_value(g, phi);
    if (other == phi) /* it goes round alone */
        return;
    for (LLVMUseRef u = LLVMGetFirstUse(phi), next; u; u = next) {
        V user = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(user); k++)
            if (LLVMGetOperand(user, k) == phi && is_other(g, user, k)) {
                LLVMSetOperand(user, k, other);
                next = LLVMGetFirstUse(phi); /* the list is another now */
            }
    }
}

/* Uses by what no one needs. */
struct dead {
    struct {
        V user;
        unsigned operand;
    } use[MAX_DEAD];
    int n;
};

/* Is it needed by phis and selections alone that go round, up to the phi that is looked at, of which only what comes from under
 * the guard is needed?  A register keeps what it was where a guard does not hold. */
static bool dies(const struct guard *g, V v, V phi)
{
    V seen[MAX_DEAD] = { v };
    int n = 1;
    for (int k = 0; k < n; k++)
        for (LLVMUseRef u = LLVMGetFirstUse(seen[k]); u; u = LLVMGetNextUse(u)) {
            V user = LLVMGetUser(u);
            bool known = user == phi && seen[k] != ptx_phi_value(phi, g->guarded);
            for (int i = 0; i < n; i++)
                known = known || seen[i] == user;
            if (known)
                continue;
            if (n == MAX_DEAD || !(LLVMIsAPHINode(user) || LLVMIsASelectInst(user) || LLVMIsABitCastInst(user)))
                return false;
            seen[n++] = user;
        }
    return true;
}

static bool note_dead(struct dead *dead, V user, V v)
{
    for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(user); k++)
        if (LLVMGetOperand(user, k) == v) {
            if (dead->n == MAX_DEAD)
                return false;
            dead->use[dead->n].user = user;
            dead->use[dead->n++].operand = k;
        }
    return true;
}

/* The one block under the same guard that has all uses of a value, or of what is computed of it alone; NULL. */
static B where_needed(const struct guard *g, V v, V phi, struct dead *dead, unsigned depth)
{
    B found = NULL;
    struct guard second;
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        V user = LLVMGetUser(u);
        B in = LLVMGetInstructionParent(user);
        bool there = in != g->guarded && !LLVMIsAPHINode(user) && find_guard(in, &second) && second.condition == g->condition &&
                     second.way == g->way;
        if (!there && (LLVMIsAPHINode(user) || LLVMIsASelectInst(user) || LLVMIsABitCastInst(user)) && dies(g, user, phi) &&
            note_dead(dead, user, v))
            continue;
        if (!there)
            in = depth && !LLVMIsAPHINode(user) && touches_nothing(user) ? where_needed(g, user, phi, dead, depth - 1) : NULL;
        if (!in || (found && in != found))
            return NULL;
        found = in;
    }
    return found;
}

/* ---- The way */

struct way {
    B blocks[MAX_BLOCKS];
    int n;
};

/* All blocks between the join and the second guard, both included. */
static bool find_way(const struct guard *g, const struct guard *to, struct way *w)
{
    w->blocks[w->n++] = to->before;
    for (int k = 0; k < w->n; k++) {
        bool entered = false;
        if (w->blocks[k] == g->join)
            continue;
        for (LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(w->blocks[k])); u; u = LLVMGetNextUse(u)) {
            V user = LLVMGetUser(u);
            B from = LLVMIsATerminatorInst(user) ? LLVMGetInstructionParent(user) : NULL;
            bool known = !from;
            for (int i = 0; i < w->n; i++)
                known = known || w->blocks[i] == from;
            entered = entered || from;
            if (known)
                continue;
            if (w->n == MAX_BLOCKS || from == g->before || from == g->guarded || from == to->guarded)
                return false;
            w->blocks[w->n++] = from;
        }
        if (!entered)
            return false;
    }
    return true;
}

/* The ordering point that is the last access before the second guard; NULL. */
static V last_point(const struct guard *to)
{
    V x = LLVMGetBasicBlockTerminator(to->before);
    while ((x = LLVMGetPreviousInstruction(x)))
        if (!LLVMIsAPHINode(x) && !touches_nothing(x))
            return LLVMIsAFenceInst(x) && LLVMIsAtomicSingleThread(x) ? x : NULL;
    return NULL;
}

static bool is_free(const struct way *w, const bool spaces[8], V point)
{
    for (int k = 0; k < w->n; k++)
        for (V x = LLVMGetFirstInstruction(w->blocks[k]); x; x = LLVMGetNextInstruction(x)) {
            if (LLVMIsAPHINode(x) || LLVMIsATerminatorInst(x) || touches_nothing(x) || ptx_host_plain_load(x) || x == point)
                continue;
            if (!LLVMIsAStoreInst(x) || LLVMGetVolatile(x) || LLVMGetOrdering(x) != LLVMAtomicOrderingNotAtomic)
                return false;
            for (unsigned s = 0; s < 8; s++)
                if (spaces[s] && !apart(s, LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(x, 1)))))
                    return false;
        }
    return true;
}

/* Does the block begin with loads, and such a point behind them, already? */
static bool has_point(B bb)
{
    for (V x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x)) {
        if (LLVMIsAFenceInst(x) && LLVMIsAtomicSingleThread(x))
            return true;
        if (!touches_nothing(x) && !ptx_host_plain_load(x))
            return false;
    }
    return false;
}

/* ---- Doing it */

/* What is computed of a value comes to that block's begin, in its order. */
static void take_along(LLVMBuilderRef b, V v, B to)
{
    for (bool again = true; again;) {
        again = false;
        for (LLVMUseRef u = LLVMGetFirstUse(v); u && !again; u = LLVMGetNextUse(u)) {
            V user = LLVMGetUser(u);
            if (LLVMGetInstructionParent(user) == to)
                continue;
            take_along(b, user, to);
            ptx_move_before(b, user, LLVMGetFirstInstruction(to));
            again = true;
        }
    }
}

static void move(LLVMBuilderRef b, const struct guard *g, const struct guard *to, V point)
{
    V end = LLVMGetBasicBlockTerminator(g->guarded), at;
    for (V phi = LLVMGetFirstInstruction(g->join), next; LLVMIsAPHINode(phi); phi = next) {
        V in = ptx_phi_value(phi, g->guarded);
        next = LLVMGetNextInstruction(phi);
        if (LLVMIsAInstruction(in) && LLVMGetInstructionParent(in) == g->guarded) {
            take_along(b, phi, to->guarded);
            LLVMReplaceAllUsesWith(phi, in);
        } else {
            LLVMPositionBuilderBefore(b, LLVMGetBasicBlockTerminator(g->before));
            V other = other_value(g, phi);
            LLVMReplaceAllUsesWith(phi, LLVMBuildSelect(b, g->condition, g->way ? other : in, g->way ? in : other, ""));
        }
        LLVMInstructionEraseFromParent(phi);
    }
    at = LLVMGetFirstInstruction(to->guarded);
    for (V x = LLVMGetFirstInstruction(g->guarded), next; x != end; x = next) {
        next = LLVMGetNextInstruction(x);
        ptx_move_before(b, x, at);
    }
    if (point && !has_point(to->guarded)) {
        LLVMPositionBuilderBefore(b, at);
        ptx_insert(b, LLVMInstructionClone(point));
    }
    V branch = LLVMGetBasicBlockTerminator(g->before);
    LLVMPositionBuilderBefore(b, branch);
    LLVMBuildBr(b, g->join);
    LLVMInstructionEraseFromParent(branch);
    LLVMDeleteBasicBlock(g->guarded);
}

static bool joins_two(const struct guard *g)
{
    unsigned n = 0;
    for (LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(g->join)); u; u = LLVMGetNextUse(u))
        n += LLVMIsATerminatorInst(LLVMGetUser(u)) != NULL;
    return n == 2;
}

static bool try(LLVMBuilderRef b, B guarded)
{
    struct guard g, to;
    struct way way = { .n = 0 };
    bool spaces[8] = { false };
    B where = NULL;
    struct dead dead = { .n = 0 };
    if (!find_guard(guarded, &g) || !joins_two(&g) || !only_loads(&g, spaces))
        return false;
    for (V phi = LLVMGetFirstInstruction(g.join); LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi)) {
        V in = ptx_phi_value(phi, g.guarded);
        if (!LLVMIsAInstruction(in) || LLVMGetInstructionParent(in) != g.guarded)
            continue;
        replace_others(&g, phi);
        B one = where_needed(&g, phi, phi, &dead, 4);
        if (!one || (where && one != where))
            return false;
        where = one;
    }
    if (!where || !find_guard(where, &to) || LLVMIsAPHINode(LLVMGetFirstInstruction(where)) || !find_way(&g, &to, &way))
        return false;
    V point = last_point(&to);
    if (!is_free(&way, spaces, point))
        return false;
    for (int k = 0; k < dead.n; k++)
        LLVMSetOperand(dead.use[k].user, dead.use[k].operand,
                       LLVMGetPoison(LLVMTypeOf(LLVMGetOperand(dead.use[k].user, dead.use[k].operand))));
    move(b, &g, &to, point);
    return true;
}

int ptx_run_same_guards(struct ptx_pipeline *pipe)
{
    LLVMModuleRef m = *pipe->module;
    if (!pipe->lifted && !ptx_pass_forced(pipe, PTX_PASS_SAME_GUARDS))
        return AW_OK;
    bool changed = false;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    for (V fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (B bb = LLVMGetFirstBasicBlock(fn), next; bb; bb = next) {
            next = LLVMGetNextBasicBlock(bb);
            changed |= try(b, bb);
        }
    LLVMDisposeBuilder(b);
    return changed ? ptx_passes_run(m, NULL, "function(adce)", pipe->diags) : AW_OK;
}
