/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/branch_halves.h"

#include "lower/copy.h"
#include "lower/graph.h"

typedef LLVMValueRef V;
typedef LLVMBasicBlockRef BB;

struct branch_halves {
    LLVMBuilderRef b;
    BB first, second, meeting, join;
    enum ptx_simt how;                  /* threads meet */
    const struct ptx_way_guard *guards; /* whose blocks lead past them */
    int n;
};

/* ---- Guards */

int ptx_way_guards(BB bb, struct ptx_way_guard *ret)
{
    int n = 0;
    for (BB entry = LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(bb)), before; bb != entry; bb = before) {
        before = ptx_only_way_to(bb);
        V last = before ? LLVMGetBasicBlockTerminator(before) : NULL;
        if (!last || !LLVMIsABranchInst(last))
            return -1;
        if (!LLVMIsConditional(last))
            continue;
        if (n == PTX_MAX_GUARDS)
            return -1;
        ret[n++] = (struct ptx_way_guard){ LLVMGetCondition(last), LLVMGetSuccessor(last, 0) == bb, before };
    }
    return n;
}

/* Where the innermost guard leads past what is behind it. */
static BB way_past(const struct ptx_way_guard *g)
{
    return LLVMGetSuccessor(LLVMGetBasicBlockTerminator(g->at), g->holds);
}

/* Are guards nested without anything between, and lead past it all to `join`? */
static bool leads_past(const struct ptx_way_guard *g, int n, BB inner, BB join)
{
    for (int i = 0; i < n; i++) {
        if (way_past(&g[i]) != join || LLVMGetSuccessor(LLVMGetBasicBlockTerminator(g[i].at), !g[i].holds) != inner)
            return false;
        inner = g[i].at;
    }
    return true;
}

/* ---- Values that cross the meeting */

enum { MAX_COMPUTATION = 24 /* operations from a value to what is there before the branch */ };

/* Is it made in the branch, or behind guards but the outermost, which all threads come through? */
static bool made_within(const struct branch_halves *h, V x)
{
    BB at = LLVMIsAInstruction(x) ? LLVMGetInstructionParent(x) : NULL;
    bool within = at == h->first;
    for (int i = 0; i < h->n - 1; i++)
        within |= at == h->guards[i].at;
    return at && within;
}

/* An argument of the kernel may be read by threads that do not need it. */
static bool is_argument(V x)
{
    V p = LLVMIsALoadInst(x) && !LLVMGetVolatile(x) ? LLVMGetOperand(x, 0) : NULL;
    if (p && LLVMIsAGetElementPtrInst(p) && LLVMGetNumOperands(p) == 2 && LLVMIsAConstantInt(LLVMGetOperand(p, 1)))
        p = LLVMGetOperand(p, 0);
    return p && LLVMIsAArgument(p);
}

static bool is_pure_call(V x)
{
    enum ptx_simt id = LLVMIsACallInst(x) ? ptx_simt_called(x) : PTX_SIMT_NONE;
    return id != PTX_SIMT_NONE && ptx_simt_info(id)->traits == PTX_SIMT_PURE;
}

/* Indices and arithmetic of indices and addresses, which may be done where nobody needs it. */
static bool is_index_arithmetic(V x)
{
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(x));
    if (kind != LLVMIntegerTypeKind && kind != LLVMPointerTypeKind)
        return false;
    return ptx_arithmetic(x) || LLVMIsAFreezeInst(x) || is_argument(x) || is_pure_call(x);
}

static bool can_precede(const struct branch_halves *h, V x, int depth)
{
    if (!made_within(h, x))
        return true;
    bool can = depth && is_index_arithmetic(x);
    for (unsigned i = 0; can && i < (unsigned)LLVMGetNumOperands(x); i++)
        can = can_precede(h, LLVMGetOperand(x, i), depth - 1);
    return can;
}

/* Goes before the outermost guard, with what it is made of. */
static void precede(const struct branch_halves *h, V x)
{
    if (!made_within(h, x))
        return;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++)
        precede(h, LLVMGetOperand(x, i));
    ptx_move_before(h->b, x, LLVMGetBasicBlockTerminator(h->guards[h->n - 1].at));
}

/* What came from blocks of guards to where the branch ends now comes to `meeting`, and from there. */
static void edges_halve(V old, V now, void *data)
{
    const struct branch_halves *h = data;
    LLVMPositionBuilderAtEnd(h->b, h->meeting);
    V here = LLVMBuildPhi(h->b, LLVMTypeOf(old), "");
    ptx_phi_add(here, LLVMGetPoison(LLVMTypeOf(old)), h->first);
    for (unsigned i = 0; i < LLVMCountIncoming(old); i++) {
        BB from = LLVMGetIncomingBlock(old, i);
        bool guard = false;
        for (int j = 0; j < h->n; j++)
            guard |= h->guards[j].at == from;
        ptx_phi_add(guard ? here : now, LLVMGetIncomingValue(old, i), from == h->first ? h->second : from);
    }
    ptx_phi_add(now, here, h->meeting);
}

/* Is the user before the meeting, where `x` is made behind the guards from `guard` inwards? */
static bool uses_before(const struct branch_halves *h, V user, int guard)
{
    BB at = LLVMGetInstructionParent(user);
    bool before = at == h->first || at == h->meeting;
    for (int i = 0; i <= guard; i++)
        before |= at == h->guards[i].at;
    return before;
}

static V first_user_behind(const struct branch_halves *h, V x, int guard)
{
    for (LLVMUseRef use = LLVMGetFirstUse(x); use; use = LLVMGetNextUse(use))
        if (!uses_before(h, LLVMGetUser(use), guard))
            return LLVMGetUser(use);
    return NULL;
}

/* `x` is used behind the meeting: it comes by `meeting`; those who did not make it have none. */
static void value_through(const struct branch_halves *h, V x, int guard)
{
    LLVMPositionBuilderBefore(h->b, LLVMGetFirstInstruction(h->meeting));
    V phi = LLVMBuildPhi(h->b, LLVMTypeOf(x), "");
    ptx_phi_add(phi, x, h->first);
    for (int i = 0; i < h->n; i++)
        ptx_phi_add(phi, LLVMGetPoison(LLVMTypeOf(x)), h->guards[i].at);
    for (V user; (user = first_user_behind(h, x, guard));)
        for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(user); i++)
            if (LLVMGetOperand(user, i) == x)
                LLVMSetOperand(user, i, phi);
}

/* Values of the first half that are used behind it, and of blocks of guards but the outermost.  Indices and addresses are
 * computed before all guards, by all threads: each half knows then what they are. */
static void values_through(const struct branch_halves *h)
{
    for (int i = -1; i < h->n - 1; i++) {
        V next = LLVMGetFirstInstruction(i < 0 ? h->first : h->guards[i].at);
        for (V x = next; x; x = next) {
            next = LLVMGetNextInstruction(x);
            if (!first_user_behind(h, x, i))
                continue;
            if (can_precede(h, x, MAX_COMPUTATION))
                precede(h, x);
            else
                value_through(h, x, i);
        }
    }
}

/* ---- All of it */

bool ptx_branch_halves(const struct ptx_way_guard *guards, int n, V x)
{
    BB first = LLVMGetInstructionParent(x);
    V last = LLVMGetBasicBlockTerminator(first);
    return !n || (LLVMIsABranchInst(last) && !LLVMIsAPHINode(LLVMGetFirstInstruction(first)) &&
                  leads_past(guards, n, first, way_past(guards)));
}

static void meet_at(LLVMBuilderRef b, BB at, enum ptx_simt how)
{
    V zero = LLVMConstInt(LLVMInt32TypeInContext(LLVMGetBuilderContext(b)), 0, 0), args[2] = { zero, zero };
    ptx_simt_call(b, LLVMGetGlobalParent(LLVMGetBasicBlockParent(at)), how, how == PTX_SIMT_BARRIER ? args : NULL);
}

/* The meeting, and whether a thread goes on behind it. */
static void meeting_build(struct branch_halves *h, LLVMBuilderRef b)
{
    LLVMTypeRef i1 = LLVMInt1TypeInContext(LLVMGetTypeContext(LLVMTypeOf(h->guards->condition)));
    LLVMPositionBuilderAtEnd(b, h->meeting);
    V went = LLVMBuildPhi(b, i1, "");
    ptx_phi_add(went, LLVMConstInt(i1, 1, 0), h->first);
    for (int i = 0; i < h->n; i++)
        ptx_phi_add(went, LLVMConstInt(i1, 0, 0), h->guards[i].at);
    ptx_phis_rebuild(b, h->join, edges_halve, h);
    LLVMPositionBuilderAtEnd(b, h->meeting);
    meet_at(b, h->meeting, h->how);
    LLVMBuildCondBr(b, went, h->second, h->join);
}

/* `x` and what follows it go to the second half. */
static void rest_moves(struct branch_halves *h, LLVMBuilderRef b, V x)
{
    ptx_move_rest(b, x, h->second);
    V last = LLVMGetBasicBlockTerminator(h->second);
    for (unsigned i = 0; i < LLVMGetNumSuccessors(last); i++)
        if (LLVMGetSuccessor(last, i) != h->join)
            ptx_phis_rename(b, LLVMGetSuccessor(last, i), h->first, h->second);
    LLVMPositionBuilderAtEnd(b, h->first);
    LLVMBuildBr(b, h->meeting);
}

static void halve(LLVMBuilderRef b, const struct ptx_way_guard *guards, int n, V x, enum ptx_simt how)
{
    BB first = LLVMGetInstructionParent(x);
    V kernel = LLVMGetBasicBlockParent(first);
    LLVMContextRef c = LLVMGetTypeContext(LLVMTypeOf(kernel));
    struct branch_halves h = { .b = LLVMCreateBuilderInContext(c), .first = first, .join = way_past(guards),
                               .guards = guards, .n = n, .how = how };
    h.second = LLVMAppendBasicBlockInContext(c, kernel, "");
    h.meeting = LLVMAppendBasicBlockInContext(c, kernel, "");
    LLVMMoveBasicBlockAfter(h.meeting, first);
    LLVMMoveBasicBlockAfter(h.second, h.meeting);
    rest_moves(&h, b, x);
    meeting_build(&h, b);
    for (int i = 0; i < n; i++)
        LLVMSetSuccessor(LLVMGetBasicBlockTerminator(guards[i].at), guards[i].holds, h.meeting);
    values_through(&h);
    LLVMDisposeBuilder(h.b);
}

bool ptx_branch_halve(const struct ptx_way_guard *guards, int n, V x, enum ptx_simt how)
{
    if (!ptx_branch_halves(guards, n, x))
        return false;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetTypeContext(LLVMTypeOf(x)));
    LLVMPositionBuilderBefore(b, x);
    if (n)
        halve(b, guards, n, x, how);
    else
        meet_at(b, LLVMGetInstructionParent(x), how);
    LLVMDisposeBuilder(b);
    return true;
}
