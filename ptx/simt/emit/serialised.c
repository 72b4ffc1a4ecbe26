/* Calls of functions for one lane (rewrite/serialise.c): each active lane's values go through memory, one lane after the
 * other. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"

enum { MAX_INS = SIMT_SINGLE_INS, MAX_OUTS = SIMT_SINGLE_OUTS };

static LLVMValueRef lane_value(struct simt_fn *f, LLVMValueRef v, LLVMValueRef held, LLVMValueRef lane)
{
    struct simt *u = f->u;
    LLVMTypeRef elem = simt_type(u, LLVMTypeOf(v));
    if (simt_uniform(f, v))
        return simt_scalar(f, v);
    LLVMTypeRef type = simt_held_type(u, elem);
    LLVMValueRef x = LLVMBuildLoad2(u->b, type, LLVMBuildGEP2(u->b, type, held, &lane, 1, ""), "");
    return type != elem ? LLVMBuildTrunc(u->b, x, elem, "") : x;
}

static LLVMValueRef area_of(struct simt_fn *f, LLVMTypeRef elem)
{
    LLVMValueRef area = simt_variable(f, simt_vec_type(f->u, simt_held_type(f->u, elem)));
    LLVMSetAlignment(area, 64);
    return area;
}

static LLVMValueRef hold(struct simt_fn *f, LLVMValueRef v)
{
    struct simt *u = f->u;
    LLVMTypeRef elem = simt_type(u, LLVMTypeOf(v)), held = simt_held_type(u, elem);
    LLVMValueRef area = area_of(f, elem), x = simt_vector(f, v);
    if (held != elem)
        x = LLVMBuildZExt(u->b, x, simt_vec_type(u, held), "");
    LLVMSetAlignment(LLVMBuildStore(u->b, x, area), 64);
    return area;
}

static void put_result(struct simt_fn *f, LLVMValueRef area, LLVMValueRef x, LLVMValueRef lane)
{
    struct simt *u = f->u;
    LLVMTypeRef elem = LLVMTypeOf(x), held = simt_held_type(u, elem);
    if (held != elem)
        x = LLVMBuildZExt(u->b, x, held, "");
    LLVMBuildStore(u->b, x, LLVMBuildGEP2(u->b, held, area, &lane, 1, ""));
}

static LLVMValueRef results(struct simt_fn *f, LLVMValueRef area, LLVMTypeRef elem)
{
    struct simt *u = f->u;
    LLVMTypeRef held = simt_held_type(u, elem);
    LLVMValueRef x = LLVMBuildLoad2(u->b, simt_vec_type(u, held), area, "");
    LLVMSetAlignment(x, 64);
    return held != elem ? LLVMBuildTrunc(u->b, x, simt_vec_type(u, elem), "") : x;
}

/* result(block, state, part, lanes, scalars ...) */
LLVMTypeRef simt_serialised_type(struct simt *u, LLVMValueRef src)
{
    LLVMTypeRef t[MAX_INS + 4] = { u->ptr, u->ptr, u->i32, u->i32 }, parts[MAX_OUTS];
    LLVMTypeRef result = LLVMGetReturnType(LLVMGlobalGetValueType(src));
    unsigned n = LLVMCountParams(src);
    for (unsigned i = 0; i < n; i++)
        t[4 + i] = simt_type(u, LLVMTypeOf(LLVMGetParam(src, i)));
    if (LLVMGetTypeKind(result) == LLVMStructTypeKind) {
        unsigned m = LLVMCountStructElementTypes(result);
        for (unsigned i = 0; i < m; i++)
            parts[i] = simt_type(u, LLVMStructGetTypeAtIndex(result, i));
        result = LLVMStructTypeInContext(u->ctx, parts, m, 0);
    }
    return LLVMFunctionType(result, t, n + 4, 0);
}

void simt_serialised_emit(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef out)
{
    struct simt *u = f->u;
    LLVMTypeRef type = LLVMGlobalGetValueType(out), result = LLVMGetReturnType(type);
    unsigned n = LLVMGetNumArgOperands(inst),
             m = LLVMGetTypeKind(result) == LLVMStructTypeKind ? LLVMCountStructElementTypes(result) : 0;
    LLVMValueRef held[MAX_INS], area[MAX_OUTS], args[MAX_INS + 4] = { f->block, f->state, f->part };
    f->epoch++;
    for (unsigned i = 0; i < n; i++)
        held[i] = simt_uniform(f, LLVMGetOperand(inst, i)) ? NULL : hold(f, LLVMGetOperand(inst, i));
    f->epoch++; /* distances that were built for these are of no use elsewhere */
    for (unsigned i = 0; i < m; i++)
        area[i] = area_of(f, LLVMStructGetTypeAtIndex(result, i));
    struct simt_lanes it;
    simt_lanes_begin(f, f->mask, &it);
    args[3] = it.left;
    for (unsigned i = 0; i < n; i++)
        args[4 + i] = lane_value(f, LLVMGetOperand(inst, i), held[i], it.lane);
    LLVMValueRef r = LLVMBuildCall2(u->b, type, out, args, n + 4, "");
    for (unsigned i = 0; i < m; i++)
        put_result(f, area[i], LLVMBuildExtractValue(u->b, r, i, ""), it.lane);
    simt_lanes_end(f, &it);
    for (unsigned i = 0; i < m; i++)
        simt_set_field(f, inst, i, NULL, results(f, area[i], LLVMStructGetTypeAtIndex(result, i)));
}
