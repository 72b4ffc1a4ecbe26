/* Under a guard an index that the guards before have advanced is the sum that it is then.
 *
 *     if (i < n) { x = p[i]; i += 128; }             if (i < n)       x = p[i];
 *     if (i < n) { y = p[i]; i += 128; }    becomes  if (i' < n)      y = p[i + 128];      i' as it was
 *     if (i < n)   z = p[i];                         if (i'' < n)     z = p[i + 256];
 *
 * The advanced index is another one in each lane as far as its value tells, so that each lane would have to be accessed by
 * itself; the sum is a row.  Of a value v that is made so, by choices and where ways meet,
 *
 *     v < n  implies  v = i + k, for one constant k
 *
 * as who was stopped by a guard has v >= n, and stays there.  So places that are only computed for what is under v < n take i +
 * k.  That no sum wraps is known where i is a thread's index within its block. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/host.h"

#include "lower/graph.h"
#include "lower/match.h"

#include "base/vec.h"

typedef LLVMValueRef V;
typedef LLVMBasicBlockRef B;

enum {
    MAX_STEPS = 1000,   /* for one value */
    MAX_SUM = 1 << 20,
    MAX_USERS = 200,    /* that are looked at for one value */
};

/* v < n implies v = index + sum. */
struct guarded_sum {
    V n, index;
    int64_t sum;
    unsigned *left;     /* of MAX_STEPS */
};

/* Is it one number as long as the function runs: not made anew each time round a loop, so that guards of several rounds have
 * different ones? */
static bool is_fixed(V n)
{
    B bb = LLVMIsAInstruction(n) ? LLVMGetInstructionParent(n) : NULL;
    return !bb || bb == LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(bb));
}

/* Is c, where it is `way`, v < n? */
static bool is_less(V c, bool way, V v, V *n)
{
    while (is_op(c, LLVMXor) && is_number(operand(c, 1), 1)) {
        c = operand(c, 0);
        way = !way;
    }
    if (!is_op(c, LLVMICmp))
        return false;
    LLVMIntPredicate p = LLVMGetICmpPredicate(c);
    bool first = p == (way ? LLVMIntSLT : LLVMIntSGE), second = p == (way ? LLVMIntSGT : LLVMIntSLE);
    if (!(first && operand(c, 0) == v) && !(second && operand(c, 1) == v))
        return false;
    V other = operand(c, first ? 1 : 0);
    if ((*n && *n != other) || !is_fixed(other))
        return false;
    *n = other;
    return true;
}

/* The branch that decides whether control goes from one block to another, and how it does then; NULL. */
static V condition_of(B from, B to, bool *ret_way)
{
    V t = LLVMGetBasicBlockTerminator(from);
    if (!t || !LLVMIsABranchInst(t) || !LLVMIsConditional(t) || LLVMGetSuccessor(t, 0) == LLVMGetSuccessor(t, 1))
        return NULL;
    *ret_way = LLVMGetSuccessor(t, 0) == to;
    return LLVMGetCondition(t);
}

/* A thread's index and small numbers, added up and chosen from: no sum of those wraps. */
static bool is_small(V v, unsigned *left)
{
    int64_t k;
    if (!*left)
        return false;
    --*left;
    if (LLVMIsACallInst(v))
        return ptx_simt_called(v) == PTX_SIMT_TID_X;
    if (is_addition(v))
        return ptx_host_constant(operand(v, 1), &k) && k >= 0 && k <= MAX_SUM && is_small(operand(v, 0), left);
    if (is_op(v, LLVMSelect))
        return is_small(operand(v, 1), left) && is_small(operand(v, 2), left);
    bool yes = is_op(v, LLVMPHI);
    for (unsigned i = 0; yes && i < LLVMCountIncoming(v); i++)
        yes = is_small(LLVMGetIncomingValue(v, i), left);
    return yes;
}

static bool find(V v, struct guarded_sum *s);

/* Two accounts of one value, by two ways. */
static bool both(struct guarded_sum *s, V v, bool *first)
{
    struct guarded_sum other = { .n = s->n, .left = s->left };
    if (!find(v, &other) || (!*first && (other.index != s->index || other.sum != s->sum)))
        return false;
    *s = other;
    *first = false;
    return true;
}

/* One that comes by a way which is not taken where it is less than n says nothing. */
static bool find_phi(V phi, struct guarded_sum *s)
{
    bool first = true, way;
    for (unsigned k = 0; k < LLVMCountIncoming(phi); k++) {
        V v = LLVMGetIncomingValue(phi, k), c = condition_of(LLVMGetIncomingBlock(phi, k), LLVMGetInstructionParent(phi), &way);
        if (!(c && is_less(c, !way, v, &s->n)) && !both(s, v, &first))
            return false;
    }
    return !first;
}

static bool find_select(V v, struct guarded_sum *s)
{
    bool first = true;
    for (unsigned k = 1; k < 3; k++)
        if (!is_less(operand(v, 0), k == 2, operand(v, k), &s->n) && !both(s, operand(v, k), &first))
            return false;
    return !first;
}

/* What v is where it is less than n, which is found where it is NULL. */
static bool find(V v, struct guarded_sum *s)
{
    int64_t k;
    if (LLVMIsACallInst(v) && ptx_simt_called(v) == PTX_SIMT_TID_X) {
        s->index = v;
        s->sum = 0;
        return true;
    }
    if (!*s->left)
        return false;
    --*s->left;
    if (is_addition(v) && ptx_host_constant(operand(v, 1), &k) && k >= 0 && k <= MAX_SUM) {
        bool found = find(operand(v, 0), s);
        s->sum += k;
        return found && s->sum <= MAX_SUM;
    }
    return is_op(v, LLVMPHI) ? find_phi(v, s) : is_op(v, LLVMSelect) ? find_select(v, s) : false;
}

/* Does control come to a block only where v < n? */
static bool is_under(B bb, V v, V n)
{
    bool way;
    for (B from; (from = ptx_only_way_to(bb)); bb = from) {
        V c = condition_of(from, bb, &way);
        if (c && is_less(c, way, v, &n))
            return true;
    }
    return false;
}

/* Computes it a place, as an access or something else that does nothing by itself? */
static bool is_place(V x)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMAdd: case LLVMOr: case LLVMShl: case LLVMMul: case LLVMZExt: case LLVMSExt: case LLVMIntToPtr:
    case LLVMGetElementPtr: return true;
    default: return false;
    }
}

/* Is what uses v needed only where v < n? */
static bool only_under(V user, V v, V n, unsigned *left)
{
    if (!*left)
        return false;
    --*left;
    if (is_under(LLVMGetInstructionParent(user), v, n) && !LLVMIsAPHINode(user))
        return true;
    bool any = false;
    for (LLVMUseRef use = is_place(user) ? LLVMGetFirstUse(user) : NULL; use; use = LLVMGetNextUse(use)) {
        if (!only_under(LLVMGetUser(use), v, n, left))
            return false;
        any = true;
    }
    return any;
}

/* Of v's uses those that are places take the sum. */
static void replace(LLVMBuilderRef b, V v, const struct guarded_sum *s)
{
    AW_VEC(V) users = { 0 };
    for (LLVMUseRef use = LLVMGetFirstUse(v); use; use = LLVMGetNextUse(use)) {
        V user = LLVMGetUser(use);
        unsigned left = MAX_USERS;
        if (is_place(user) && only_under(user, v, s->n, &left) && !aw_vec_push(&users, user))
            break; /* the others stay */
    }
    if (users.n) {
        LLVMPositionBuilderBefore(b, LLVMGetNextInstruction(s->index));
        V sum = LLVMBuildNSWAdd(b, s->index, LLVMConstInt(LLVMTypeOf(v), (uint64_t)s->sum, 0), "");
        for (size_t i = 0; i < users.n; i++)
            for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(users.at[i]); k++)
                if (LLVMGetOperand(users.at[i], k) == v)
                    LLVMSetOperand(users.at[i], k, sum);
    }
    aw_vec_fini(&users);
}

int ptx_run_guarded_sums(struct ptx_pipeline *pipe)
{
    LLVMModuleRef m = *pipe->module;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    for (V fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (B bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (V v = LLVMGetFirstInstruction(bb); v; v = LLVMGetNextInstruction(v)) {
                unsigned left = MAX_STEPS;
                struct guarded_sum s = { .left = &left };
                if ((is_op(v, LLVMSelect) || is_op(v, LLVMPHI)) && find(v, &s) && s.n && is_small(v, &left))
                    replace(b, v, &s);
            }
    LLVMDisposeBuilder(b);
    return AW_OK;
}
