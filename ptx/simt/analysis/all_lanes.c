/* What holds for all lanes at once, where versions.c, merge_guards.c and others ask: a few scalar operations where conditions are comparisons of
 * indices with limits, else a vector of which every element is looked at.  The answer may be no though every lane agrees.  And which lanes
 * a comparison holds for, where they are always the same. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/ir.h"
#include <string.h>

/* A comparison of an affine value with a uniform one, which one of the lanes decides. */
struct compare {
    const struct simt_val *x;
    LLVMValueRef other;
    LLVMTypeRef type;
    bool swapped; /* the affine value is the second */
    int64_t hi;   /* from the first lane to the highest */
};

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

static bool find_compare(struct simt_fn *f, LLVMValueRef c, struct compare *ret)
{
    LLVMValueRef a = LLVMGetOperand(c, 0), b = LLVMGetOperand(c, 1);
    bool swapped = simt_uniform(f, a);
    LLVMValueRef x = swapped ? b : a;
    *ret = (struct compare){ simt_get(f, x), swapped ? a : b, LLVMTypeOf(a), swapped, simt_span(f, x) };
    return ret->hi >= 0 && LLVMGetIntTypeWidth(ret->type) <= 32 && simt_uniform(f, ret->other);
}

/* Such a comparison that may hold for every lane. */
static bool one_decides(struct simt_fn *f, LLVMValueRef c, bool negated, struct compare *ret)
{
    return LLVMIsAICmpInst(c) && find_compare(f, c, ret) && LLVMGetICmpPredicate(c) != (negated ? LLVMIntNE : LLVMIntEQ);
}

/* Of lanes that hold a multiple of 2^n plus less than 2^n each, a comparison with a constant of the first 2^n numbers takes the same whenever
 * it takes any: those of one multiple.  So with one number. */
bool simt_same_lanes(struct simt_fn *f, LLVMValueRef cond, bool negated, struct simt_same *ret)
{
    struct compare how;
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

static LLVMValueRef compare_build(struct simt_fn *f, LLVMIntPredicate p, bool negated, const struct compare *c)
{
    LLVMBuilderRef b = f->u->b;
    LLVMTypeRef i64 = f->u->i64;
    if (p == LLVMIntEQ || p == LLVMIntNE) { /* no lane has it, if it is not between the first and the last */
        LLVMValueRef from = LLVMBuildSub(b, simt_scalar(f, c->other), c->x->s, "");
        return LLVMBuildICmp(b, LLVMIntUGT, from, LLVMConstInt(c->type, (uint64_t)c->hi, 0), "");
    }
    bool sign = p >= LLVMIntSGT, less = p == LLVMIntSLT || p == LLVMIntSLE || p == LLVMIntULT || p == LLVMIntULE;
    bool upper = (less != c->swapped) != negated;
    /* In 64 bits the last lane's value is what it would be without wrapping.  Bounded from above, no lane has wrapped where it is in
     * bounds; from below, that is asked besides. */
    LLVMValueRef first = LLVMBuildIntCast2(b, c->x->s, i64, sign, "");
    LLVMValueRef last = LLVMBuildAdd(b, first, simt_c64(f->u, c->hi), "last");
    LLVMValueRef other = LLVMBuildIntCast2(b, simt_scalar(f, c->other), i64, sign, ""), decides = upper ? last : first;
    LLVMValueRef r = LLVMBuildICmp(b, p, c->swapped ? other : decides, c->swapped ? decides : other, "");
    if (negated)
        r = LLVMBuildNot(b, r, "");
    int64_t max = (INT64_C(1) << (LLVMGetIntTypeWidth(c->type) - sign)) - 1;
    return upper ? r : LLVMBuildAnd(b, r, LLVMBuildICmp(b, LLVMIntSLE, last, simt_c64(f->u, max), ""), "");
}

/* Conditions that must all hold for `c` (or its opposite) to; each may be meant as its opposite.  0: it is none but itself. */
static int split(LLVMValueRef c, bool negated, LLVMValueRef ret[2], bool ret_negated[2])
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
    struct compare how;
    LLVMValueRef part[2];
    bool opposite[2];
    if (simt_uniform(f, c))
        return true;
    int n = split(c, negated, part, opposite);
    for (int i = 0; i < n; i++)
        if (!simt_all_scalar(f, part[i], opposite[i]))
            return false;
    return n || one_decides(f, c, negated, &how);
}

/* True only if the condition (or its opposite) holds for every active lane. */
static LLVMValueRef all_of(struct simt_fn *f, LLVMValueRef c, bool negated)
{
    struct simt *u = f->u;
    struct compare how;
    LLVMValueRef part[2];
    bool opposite[2];
    if (simt_uniform(f, c))
        return negated ? LLVMBuildNot(u->b, simt_scalar(f, c), "") : simt_scalar(f, c);
    int n = split(c, negated, part, opposite);
    if (n) {
        LLVMValueRef first = all_of(f, part[0], opposite[0]);
        return n == 1 ? first : LLVMBuildAnd(u->b, first, all_of(f, part[1], opposite[1]), "");
    }
    if (one_decides(f, c, negated, &how))
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

/* Calls on addresses; true if `name` is one's. */
bool simt_pointer_emit(struct simt_fn *f, LLVMValueRef inst, const char *name)
{
    LLVMValueRef p = LLVMGetOperand(inst, 0);
    if (!strncmp(name, SIMT_NOWRAP, strlen(SIMT_NOWRAP))) {
        LLVMValueRef ok = simt_ok(f, p);
        simt_set_scalar(f, inst, ok ? ok : LLVMConstInt(f->u->i1, 1, 0));
    } else if (!strncmp(name, SIMT_EXACT, strlen(SIMT_EXACT)) || !strncmp(name, SIMT_APART, strlen(SIMT_APART))) {
        if (simt_varying(f, inst))
            simt_set_vector(f, inst, simt_vector(f, p));
        else
            simt_set_scalar(f, inst, simt_scalar(f, p));
    } else {
        return false;
    }
    return true;
}
