/* What holds for all lanes at once, where versions.c, merge_guards.c and others ask: a few scalar operations where conditions are
 * comparisons of indices with limits, else a vector of which every element is looked at.  The answer may be no though every lane
 * agrees.  And which lanes a comparison holds for, where they are always the same. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include <string.h>

int64_t simt_span(struct simt_fn *f, LLVMValueRef x)
{
    const struct simt_val *val = simt_get(f, x);
    int64_t span = 0;
    if (!val || val->kind != SIMT_AFFINE || !val->off || val->check || LLVMGetTypeKind(LLVMTypeOf(x)) != LLVMIntegerTypeKind)
        return -1;
    for (int i = 0; i < f->u->lanes; i++) {
        if (val->off[i] < 0)
            return -1;
        span = val->off[i] > span ? val->off[i] : span;
    }
    return span;
}

static bool find_compare(struct simt_fn *f, LLVMValueRef c, struct simt_compare *ret)
{
    LLVMValueRef a = LLVMGetOperand(c, 0), b = LLVMGetOperand(c, 1);
    bool swapped = simt_uniform(f, a);
    LLVMValueRef x = swapped ? b : a;
    *ret = (struct simt_compare){ simt_get(f, x), swapped ? a : b, LLVMTypeOf(a), swapped, simt_span(f, x) };
    return ret->hi >= 0 && LLVMGetIntTypeWidth(ret->type) <= 32 && simt_uniform(f, ret->other);
}

bool simt_one_decides(struct simt_fn *f, LLVMValueRef c, bool negated, struct simt_compare *ret)
{
    return LLVMIsAICmpInst(c) && find_compare(f, c, ret) && LLVMGetICmpPredicate(c) != (negated ? LLVMIntNE : LLVMIntEQ);
}

/* Of lanes that hold a multiple of 2^n plus less than 2^n each, a comparison with a constant of the first 2^n numbers takes the
 * same whenever it takes any: those of one multiple.  So with one number. */
bool simt_same_lanes(struct simt_fn *f, LLVMValueRef cond, bool negated, struct simt_same *ret)
{
    struct simt_compare how;
    int64_t k;
    if (simt_opposite(cond))
        return simt_same_lanes(f, simt_opposite(cond), !negated, ret);
    if (!LLVMIsAICmpInst(cond) || !find_compare(f, cond, &how) || how.swapped || !simt_int_const(how.other, &k))
        return false;
    LLVMIntPredicate p = LLVMGetICmpPredicate(cond);
    bool equal = p == (negated ? LLVMIntNE : LLVMIntEQ), below = p == (negated ? LLVMIntUGE : LLVMIntULT),
         until = p == (negated ? LLVMIntUGT : LLVMIntULE);
    unsigned width = LLVMGetIntTypeWidth(how.type), tz = how.x->tz < width ? how.x->tz : width;
    uint64_t step = UINT64_C(1) << tz, limit = ((uint64_t)k & ((UINT64_C(1) << width) - 1)) + until;
    if ((uint64_t)how.hi >= step || !(equal || ((below || until) && limit <= step)))
        return false;
    *ret = (struct simt_same){ .x = LLVMGetOperand(cond, 0), .base = equal ? limit & ~(step - 1) : 0 };
    for (int i = 0; i < f->u->lanes; i++)
        ret->lanes |= (uint32_t)(equal ? (uint64_t)how.x->off[i] == (limit & (step - 1)) : (uint64_t)how.x->off[i] < limit) << i;
    return ret->lanes != 0;
}

int simt_split_condition(LLVMValueRef c, bool negated, LLVMValueRef ret[2], bool ret_negated[2])
{
    int64_t k;
    LLVMOpcode op = LLVMIsAInstruction(c) ? LLVMGetInstructionOpcode(c) : LLVMRet;
    bool both = op == (negated ? LLVMOr : LLVMAnd);
    ret[0] = op == LLVMSelect || both ? LLVMGetOperand(c, 0) : simt_opposite(c);
    ret_negated[0] = ret_negated[1] = negated;
    if (simt_opposite(c)) {
        ret_negated[0] = !negated;
        return 1;
    }
    if (both)
        ret[1] = LLVMGetOperand(c, 1);
    else if (op == LLVMSelect && simt_int_const(LLVMGetOperand(c, negated ? 1 : 2), &k) && (k != 0) == negated)
        ret[1] = LLVMGetOperand(c, negated ? 2 : 1);
    else
        return 0;
    return 2;
}

bool simt_all_scalar(struct simt_fn *f, LLVMValueRef c, bool negated)
{
    struct simt_compare how;
    LLVMValueRef part[2];
    bool opposite[2];
    if (simt_uniform(f, c))
        return true;
    int n = simt_split_condition(c, negated, part, opposite);
    for (int i = 0; i < n; i++)
        if (!simt_all_scalar(f, part[i], opposite[i]))
            return false;
    return n || simt_one_decides(f, c, negated, &how);
}

