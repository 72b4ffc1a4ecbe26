/* Calls of the vectoriser's private intrinsics (private.def), which its rewrites leave: what holds for all lanes,
 * addresses that are settled, lane 0's value. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"

static LLVMValueRef compare_build(struct simt_fn *f, LLVMIntPredicate p, bool negated, const struct simt_compare *c)
{
    LLVMBuilderRef b = f->u->b;
    LLVMTypeRef i64 = f->u->i64;
    if (p == LLVMIntEQ || p == LLVMIntNE) { /* no lane has it, if it is not between the first and the last */
        LLVMValueRef from = LLVMBuildSub(b, simt_scalar(f, c->other), c->x->s, "");
        return LLVMBuildICmp(b, LLVMIntUGT, from, LLVMConstInt(c->type, (uint64_t)c->hi, 0), "");
    }
    bool sign = p >= LLVMIntSGT, less = p == LLVMIntSLT || p == LLVMIntSLE || p == LLVMIntULT || p == LLVMIntULE;
    bool upper = (less != c->swapped) != negated;
    /* In 64 bits the last lane's value is what it would be without wrapping.  Bounded from above, no lane has wrapped where it is
     * in bounds; from below, that is asked besides. */
    LLVMValueRef first = LLVMBuildIntCast2(b, c->x->s, i64, sign, "");
    LLVMValueRef last = LLVMBuildAdd(b, first, simt_c64(f->u, c->hi), "last");
    LLVMValueRef other = LLVMBuildIntCast2(b, simt_scalar(f, c->other), i64, sign, ""), decides = upper ? last : first;
    LLVMValueRef r = LLVMBuildICmp(b, p, c->swapped ? other : decides, c->swapped ? decides : other, "");
    if (negated)
        r = LLVMBuildNot(b, r, "");
    int64_t max = (INT64_C(1) << (LLVMGetIntTypeWidth(c->type) - sign)) - 1;
    return upper ? r : LLVMBuildAnd(b, r, LLVMBuildICmp(b, LLVMIntSLE, last, simt_c64(f->u, max), ""), "");
}

/* True only if the condition (or its opposite) holds for every active lane. */
static LLVMValueRef all_of(struct simt_fn *f, LLVMValueRef c, bool negated)
{
    struct simt *u = f->u;
    struct simt_compare how;
    LLVMValueRef part[2];
    bool opposite[2];
    if (simt_uniform(f, c))
        return negated ? LLVMBuildNot(u->b, simt_scalar(f, c), "") : simt_scalar(f, c);
    int n = simt_split_condition(c, negated, part, opposite);
    if (n) {
        LLVMValueRef first = all_of(f, part[0], opposite[0]);
        return n == 1 ? first : LLVMBuildAnd(u->b, first, all_of(f, part[1], opposite[1]), "");
    }
    if (simt_one_decides(f, c, negated, &how))
        return compare_build(f, LLVMGetICmpPredicate(c), negated, &how);
    LLVMValueRef vec = simt_vector(f, c);
    if (negated)
        vec = LLVMBuildNot(u->b, vec, "");
    if (f->mask)
        vec = LLVMBuildSelect(u->b, f->mask, vec, u->all_lanes, "");
    return simt_all_on(u, vec);
}

void simt_all_emit(struct simt_fn *f, LLVMValueRef inst)
{
    simt_set_scalar(f, inst, all_of(f, LLVMGetOperand(inst, 0), false));
}

void simt_nowrap_emit(struct simt_fn *f, LLVMValueRef inst)
{
    LLVMValueRef ok = simt_ok(f, LLVMGetOperand(inst, 0));
    simt_set_scalar(f, inst, ok ? ok : LLVMConstInt(f->u->i1, 1, 0));
}

void simt_same_emit(struct simt_fn *f, LLVMValueRef inst)
{
    LLVMValueRef p = LLVMGetOperand(inst, 0);
    if (simt_varying(f, inst))
        simt_set_vector(f, inst, simt_vector(f, p));
    else
        simt_set_scalar(f, inst, simt_scalar(f, p));
}

void simt_first_emit(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt *u = f->u;
    LLVMValueRef x = LLVMGetOperand(inst, 0);
    if (simt_uniform(f, x))
        simt_set_scalar(f, inst, simt_scalar(f, x));
    else /* lane 0 may be off and hold poison */
        simt_set_scalar(f, inst, LLVMBuildFreeze(u->b, LLVMBuildExtractElement(u->b, simt_vector(f, x), simt_c32(u, 0), ""), ""));
}
