/* What is computed alike on all ways to a join is computed there.
 *
 * LLVM's GVN, where an index is known on one way to a join, computes it on the other ones, too, and lets it come by a phi: one
 * operation less for one lane.  Of a warp it is one more, a choice by lane, and no address behind it is known to be a row:
 *
 *   if (tx == 0) first[ty] = a[(by * 16 + ty) * n];   __syncthreads();   tile[ty][tx] = b[(by * 16 + ty) * n + tx];
 *
 * So index arithmetic that is the same on all ways, of values that are there already, takes the phi's place. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/host.h"

#include "lower/copy.h"
#include "pass/pass.h"

typedef LLVMValueRef V;

enum { MOST_WAYS = 8, MOST_OPERATIONS = 8, MOST_OPERANDS = 2 };

/* One value of each way. */
struct join_ways {
    V x[MOST_WAYS];
    unsigned n;
};

/* Of one operand or two. */
static bool is_index_arithmetic(V x)
{
    return LLVMIsAInstruction(x) && LLVMGetTypeKind(LLVMTypeOf(x)) != LLVMVectorTypeKind && ptx_arithmetic(x) &&
           !LLVMIsAICmpInst(x) && LLVMGetNumOperands(x) <= MOST_OPERANDS;
}

static bool is_same(const struct join_ways *w)
{
    for (unsigned i = 1; i < w->n; i++)
        if (w->x[i] != w->x[0])
            return false;
    return true;
}

static struct join_ways operands(const struct join_ways *w, unsigned at)
{
    struct join_ways r = { .n = w->n };
    for (unsigned i = 0; i < w->n; i++)
        r.x[i] = LLVMGetOperand(w->x[i], at);
    return r;
}

/* Is it the same operation on all ways, of the same values? */
static bool are_alike(const struct join_ways *w, int *operations)
{
    if (is_same(w))
        return true;
    V x = w->x[0];
    if (!is_index_arithmetic(x) || --*operations < 0)
        return false;
    for (unsigned i = 1; i < w->n; i++)
        if (!LLVMIsAInstruction(w->x[i]) || LLVMGetInstructionOpcode(w->x[i]) != LLVMGetInstructionOpcode(x) ||
            LLVMTypeOf(w->x[i]) != LLVMTypeOf(x) || LLVMGetNumOperands(w->x[i]) != LLVMGetNumOperands(x) ||
            (LLVMIsAGetElementPtrInst(x) && LLVMGetGEPSourceElementType(w->x[i]) != LLVMGetGEPSourceElementType(x)))
            return false;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++) {
        struct join_ways of = operands(w, i);
        if (!are_alike(&of, operations))
            return false;
    }
    return true;
}

/* Only what holds on all ways is promised of the result. */
static void promise_less(V r, V x)
{
    switch (LLVMGetInstructionOpcode(r)) {
    case LLVMAdd: case LLVMSub: case LLVMMul: case LLVMShl:
        LLVMSetNUW(r, LLVMGetNUW(r) && LLVMGetNUW(x));
        LLVMSetNSW(r, LLVMGetNSW(r) && LLVMGetNSW(x));
        break;
    case LLVMLShr: case LLVMAShr:
        LLVMSetExact(r, LLVMGetExact(r) && LLVMGetExact(x));
        break;
    case LLVMOr:
        LLVMSetIsDisjoint(r, LLVMGetIsDisjoint(r) && LLVMGetIsDisjoint(x));
        break;
    case LLVMZExt:
        LLVMSetNNeg(r, LLVMGetNNeg(r) && LLVMGetNNeg(x));
        break;
    case LLVMGetElementPtr:
        LLVMGEPSetNoWrapFlags(r, LLVMGEPGetNoWrapFlags(r) & LLVMGEPGetNoWrapFlags(x));
        break;
    default:
        break;
    }
}

static V build(struct ptx_copy *c, const struct join_ways *w)
{
    if (is_same(w))
        return w->x[0];
    V to[MOST_OPERANDS] = { 0 }, r;
    unsigned n = (unsigned)LLVMGetNumOperands(w->x[0]);
    for (unsigned i = 0; i < n; i++) {
        struct join_ways of = operands(w, i);
        to[i] = build(c, &of);
    }
    r = ptx_copy_as_is(c, w->x[0]);
    for (unsigned i = 0; i < n; i++)
        LLVMSetOperand(r, i, to[i]);
    for (unsigned i = 1; i < w->n; i++)
        promise_less(r, w->x[i]);
    return r;
}

static bool join(struct ptx_copy *c, V phi)
{
    struct join_ways w = { .n = LLVMCountIncoming(phi) };
    int operations = MOST_OPERATIONS;
    for (unsigned i = 0; i < w.n && w.n <= MOST_WAYS; i++)
        w.x[i] = LLVMGetIncomingValue(phi, i);
    if (w.n < 2 || w.n > MOST_WAYS || is_same(&w) || !are_alike(&w, &operations))
        return false;
    LLVMPositionBuilderBefore(c->b, ptx_behind_phis(phi));
    LLVMReplaceAllUsesWith(phi, build(c, &w));
    LLVMInstructionEraseFromParent(phi);
    return true;
}

/* False: nothing is changed. */
static bool in_function(struct ptx_copy *c, V fn)
{
    bool changed = false;
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (V x = LLVMGetFirstInstruction(bb), next; x && LLVMIsAPHINode(x); x = next) {
            next = LLVMGetNextInstruction(x);
            changed |= join(c, x);
        }
    return changed;
}

int ptx_run_ways_alike(struct ptx_pipeline *pipe)
{
    LLVMModuleRef m = *pipe->module;
    struct ptx_copy c = { .b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m)) };
    bool changed = false;
    for (V fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        changed |= in_function(&c, fn);
    bool failed = c.failed;
    LLVMDisposeBuilder(c.b);
    ptx_copy_fini(&c);
    if (failed)
        return AW_ERR_OUT_OF_MEMORY;
    return changed ? ptx_passes_run(m, NULL, "function(adce,simplifycfg)", pipe->diags) : AW_OK;
}
