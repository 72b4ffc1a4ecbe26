/* Scalars, vectors and masks: how a source value is had in either form, and the small builders that everything else uses.
 *
 * Vectors of uniform and affine values are built where they are used; LLVM merges and hoists them later. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"
#include <string.h>

/* ---- Types and constants */

LLVMValueRef simt_const_i32v(struct simt *u, const int *at, int n)
{
    LLVMValueRef c[4 * SIMT_LANES];
    for (int i = 0; i < n; i++)
        c[i] = simt_c32(u, at[i]);
    return LLVMConstVector(c, (unsigned)n);
}

LLVMValueRef simt_offset_vec(struct simt *u, const int64_t *off, LLVMTypeRef int_type)
{
    LLVMValueRef c[SIMT_LANES];
    unsigned width = LLVMGetIntTypeWidth(int_type);
    for (int i = 0; i < u->lanes; i++) {
        uint64_t x = off ? (uint64_t)off[i] : 0;
        c[i] = LLVMConstInt(int_type, width < 64 ? x & ((UINT64_C(1) << width) - 1) : x, 0);
    }
    return LLVMConstVector(c, (unsigned)u->lanes);
}

LLVMValueRef simt_splat(struct simt *u, LLVMValueRef s)
{
    LLVMTypeRef t = LLVMTypeOf(s), vt = simt_vec_type(u, t);
    if (LLVMIsPoison(s))
        return LLVMGetPoison(vt);
    if (LLVMIsUndef(s))
        return LLVMGetUndef(vt);
    if (LLVMIsConstant(s) && !LLVMIsAGlobalValue(s)) {
        LLVMValueRef c[SIMT_LANES];
        for (int i = 0; i < u->lanes; i++)
            c[i] = s;
        return LLVMConstVector(c, (unsigned)u->lanes);
    }
    LLVMValueRef x = LLVMBuildInsertElement(u->b, LLVMGetPoison(vt), s, simt_c32(u, 0), "");
    return LLVMBuildShuffleVector(u->b, x, LLVMGetPoison(vt), LLVMConstNull(u->i32v), "");
}

/* ---- Source values */

static LLVMValueRef global_of(struct simt *u, LLVMValueRef g)
{
    int64_t place;
    size_t len;
    const char *name = LLVMGetValueName2(g, &len);
    if (simt_is_shared_ptr(LLVMTypeOf(g))) {
        if (simt_shared_place(u, g, &place))
            return simt_c32(u, place);
        simt_fail(u, "unknown shared variable %s", name);
        return LLVMGetUndef(u->i32);
    }
    LLVMValueRef copy = aw_ptrmap_find(&u->globals, g);
    if (copy)
        return copy;
    LLVMValueRef init = LLVMIsAGlobalVariable(g) ? LLVMGetInitializer(g) : NULL;
    if (!init || !LLVMIsGlobalConstant(g)) {
        simt_fail(u, "unexpected global %s", name);
        return LLVMGetUndef(u->ptr);
    }
    copy = LLVMAddGlobal(u->out, LLVMTypeOf(init), name);
    LLVMSetInitializer(copy, init);
    LLVMSetGlobalConstant(copy, 1);
    LLVMSetLinkage(copy, LLVMInternalLinkage);
    LLVMSetAlignment(copy, LLVMGetAlignment(g));
    aw_ptrmap_put(&u->globals, g, copy);
    return copy;
}

static LLVMValueRef constant_of(struct simt_fn *f, LLVMValueRef c)
{
    struct simt *u = f->u;
    LLVMTypeRef type = LLVMTypeOf(c);
    if (LLVMIsAGlobalValue(c))
        return global_of(u, c);
    if (LLVMGetTypeKind(type) == LLVMPointerTypeKind) {
        LLVMTypeRef t = simt_type(u, type);
        if (LLVMIsPoison(c))
            return LLVMGetPoison(t);
        if (LLVMIsUndef(c))
            return LLVMGetUndef(t);
        if (LLVMIsNull(c))
            return LLVMConstNull(t);
    }
    if (LLVMIsAConstantExpr(c))
        return simt_op_build(f, c, false);
    return c;
}

LLVMValueRef simt_scalar(struct simt_fn *f, LLVMValueRef v)
{
    struct simt_val *val = simt_get(f, v);
    if (!val)
        return constant_of(f, v);
    /* Where the base is known to be 0, what is made of it is a constant: the lanes that a shuffle reads, say. */
    if (val->kind == SIMT_AFFINE && val->tz >= 64 && !val->check && LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMIntegerTypeKind)
        return LLVMConstNull(simt_type(f->u, LLVMTypeOf(v)));
    if (val->kind == SIMT_AFFINE && val->s)
        return val->s;
    simt_fail(f->u, "internal: a varying value is used as a scalar");
    return LLVMGetUndef(simt_type(f->u, LLVMTypeOf(v)));
}

/* base + a vector of distances */
static LLVMValueRef add_vec(struct simt *u, LLVMValueRef s, LLVMValueRef d)
{
    if (LLVMGetTypeKind(LLVMTypeOf(s)) == LLVMPointerTypeKind)
        return LLVMBuildGEP2(u->b, u->i8, s, &d, 1, "");
    return LLVMBuildAdd(u->b, simt_splat(u, s), d, "");
}

static LLVMTypeRef distance_type(struct simt *u, LLVMValueRef v)
{
    LLVMTypeRef t = simt_type(u, LLVMTypeOf(v));
    return LLVMGetTypeKind(t) == LLVMPointerTypeKind ? u->i64 : t;
}

LLVMValueRef simt_vector(struct simt_fn *f, LLVMValueRef v)
{
    struct simt *u = f->u;
    struct simt_val *val = simt_get(f, v);
    if (!val)
        return simt_splat(u, constant_of(f, v));
    if (val->kind == SIMT_VARYING) {
        if (val->v)
            return val->v;
        char *text = LLVMPrintValueToString(v);
        simt_fail(u, "internal: no vector for a value:%s", text);
        LLVMDisposeMessage(text);
        return LLVMGetUndef(simt_vec_type(u, simt_type(u, LLVMTypeOf(v))));
    }
    LLVMValueRef s = simt_scalar(f, v);
    if (!val->off)
        return simt_splat(u, s);
    if (!val->check)
        return add_vec(u, s, simt_offset_vec(u, val->off, distance_type(u, v)));
    if (LLVMIsASExtInst(v) || LLVMIsAZExtInst(v) || LLVMGetInstructionOpcode(v) == LLVMAnd)
        return simt_op_build(f, v, true);
    return add_vec(u, s, simt_delta(f, v));
}

/* ---- Distances of a checked value: exact whatever wrapped.  Built in the cold block that needs them, so hot code does not pay;
 * a loop's phi keeps its distance unchanged when only uniform steps are added, so nothing is added to the loop either. */

static LLVMValueRef add_delta(struct simt *u, LLVMValueRef a, LLVMValueRef b, bool minus)
{
    if (!b)
        return a;
    if (!a)
        return minus ? LLVMBuildNeg(u->b, b, "") : b;
    return minus ? LLVMBuildSub(u->b, a, b, "") : LLVMBuildAdd(u->b, a, b, "");
}

static LLVMValueRef scale_delta(struct simt *u, LLVMValueRef d, int64_t by)
{
    if (!d || by == 1)
        return d;
    LLVMTypeRef elem = LLVMGetElementType(LLVMTypeOf(d));
    return LLVMBuildMul(u->b, d, simt_splat(u, LLVMConstInt(elem, (uint64_t)by, 1)), "");
}

static LLVMValueRef gep_delta(struct simt_fn *f, LLVMValueRef gep)
{
    struct simt *u = f->u;
    LLVMValueRef sum = simt_delta(f, LLVMGetOperand(gep, 0));
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep), want = simt_vec_type(u, distance_type(u, gep));
    for (unsigned j = 1; j < (unsigned)LLVMGetNumOperands(gep); j++) {
        LLVMValueRef index = LLVMGetOperand(gep, j);
        if (j > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            int64_t field = 0;
            simt_int_const(index, &field);
            type = LLVMStructGetTypeAtIndex(type, (unsigned)field);
            continue;
        }
        if (j > 1)
            type = LLVMGetElementType(type);
        LLVMValueRef d = simt_delta(f, index);
        if (d)
            sum = add_delta(u, sum, scale_delta(u, LLVMBuildIntCast2(u->b, d, want, 1, ""),
                                                (int64_t)LLVMABISizeOfType(u->in_layout, type)), false);
    }
    return sum;
}

static LLVMValueRef build_delta(struct simt_fn *f, LLVMValueRef v, struct simt_val *val)
{
    struct simt *u = f->u;
    LLVMValueRef a = LLVMGetNumOperands(v) ? LLVMGetOperand(v, 0) : NULL;
    LLVMValueRef b = LLVMGetNumOperands(v) > 1 ? LLVMGetOperand(v, 1) : NULL;
    LLVMTypeRef want = simt_vec_type(u, distance_type(u, v));
    int64_t c;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMPHI:
        return val->d;
    case LLVMAdd:
    case LLVMOr:
        return add_delta(u, simt_delta(f, a), simt_delta(f, b), false);
    case LLVMSub:
        return add_delta(u, simt_delta(f, a), simt_delta(f, b), true);
    case LLVMMul:
        if (simt_int_const(b, &c))
            return scale_delta(u, simt_delta(f, a), c);
        return simt_int_const(a, &c) ? scale_delta(u, simt_delta(f, b), c) : NULL;
    case LLVMShl:
        return simt_int_const(b, &c) ? scale_delta(u, simt_delta(f, a), (int64_t)(UINT64_C(1) << (c & 63))) : NULL;
    case LLVMAnd:
    case LLVMSExt:
    case LLVMZExt: /* what the lanes hold, less the base */
        return LLVMBuildSub(u->b, simt_op_build(f, v, true), simt_splat(u, val->s), "");
    case LLVMSelect: {
        LLVMValueRef x = simt_delta(f, b), y = simt_delta(f, LLVMGetOperand(v, 2));
        return LLVMBuildSelect(u->b, simt_scalar(f, a), x ? x : LLVMConstNull(want), y ? y : LLVMConstNull(want), "");
    }
    case LLVMGetElementPtr:
        return gep_delta(f, v);
    case LLVMIntToPtr:
    case LLVMPtrToInt:
        if (simt_width(LLVMTypeOf(v)) > simt_width(LLVMTypeOf(a))) {
            LLVMValueRef exact = LLVMBuildZExt(u->b, add_vec(u, simt_scalar(f, a), simt_delta(f, a)), want, "");
            LLVMValueRef base = LLVMBuildZExt(u->b, simt_scalar(f, a), distance_type(u, v), "");
            return LLVMBuildSub(u->b, exact, simt_splat(u, base), "");
        }
        return LLVMBuildIntCast2(u->b, simt_delta(f, a), want, 1, "");
    case LLVMTrunc:
    case LLVMAddrSpaceCast:
    case LLVMBitCast:
        return LLVMBuildIntCast2(u->b, simt_delta(f, a), want, 1, "");
    default:
        return simt_fail(u, "internal: no distances for an operation");
    }
}

LLVMValueRef simt_delta(struct simt_fn *f, LLVMValueRef v)
{
    struct simt_val *val = simt_get(f, v);
    if (!val || !val->off)
        return NULL;
    if (!val->check)
        return simt_offset_vec(f->u, val->off, distance_type(f->u, v));
    if (val->memo && val->epoch == f->epoch)
        return val->memo;
    LLVMValueRef d = build_delta(f, v, val);
    if (!d)
        d = LLVMConstNull(simt_vec_type(f->u, distance_type(f->u, v)));
    val->memo = d;
    val->epoch = f->epoch;
    return d;
}

LLVMValueRef simt_ok(struct simt_fn *f, LLVMValueRef v)
{
    struct simt_val *val = simt_get(f, v);
    return val && val->check ? val->ok : NULL;
}

/* ---- Masks */

LLVMValueRef simt_full(struct simt *u, LLVMValueRef mask)
{
    return mask ? mask : u->all_lanes;
}

LLVMValueRef simt_bits(struct simt *u, LLVMValueRef mask)
{
    LLVMValueRef bits = LLVMBuildBitCast(u->b, simt_full(u, mask), LLVMIntTypeInContext(u->ctx, (unsigned)u->lanes), "");
    return LLVMBuildZExt(u->b, bits, u->i32, "");
}

LLVMValueRef simt_all_on(struct simt *u, LLVMValueRef mask)
{
    return LLVMBuildICmp(u->b, LLVMIntEQ, simt_bits(u, mask), simt_c32(u, (INT64_C(1) << u->lanes) - 1), "");
}

LLVMValueRef simt_mask_and(struct simt *u, LLVMValueRef mask, LLVMValueRef cond)
{
    return mask ? LLVMBuildSelect(u->b, mask, cond, u->no_lanes, "mask") : cond;
}

LLVMValueRef simt_any(struct simt *u, LLVMValueRef mask)
{
    if (!mask)
        return LLVMConstInt(u->i1, 1, 0);
    return LLVMBuildICmp(u->b, LLVMIntNE, simt_bits(u, mask), simt_c32(u, 0), "any");
}

LLVMValueRef simt_first_lane(struct simt *u, LLVMValueRef mask, bool last)
{
    if (!mask)
        return simt_c64(u, last ? u->lanes - 1 : 0);
    LLVMValueRef a[2] = { simt_bits(u, mask), LLVMConstInt(u->i1, 1, 0) };
    LLVMValueRef n = simt_intrinsic(u, last ? "llvm.ctlz" : "llvm.cttz", &u->i32, 1, a, 2);
    if (last)
        n = LLVMBuildSub(u->b, simt_c32(u, 31), n, "");
    return LLVMBuildZExt(u->b, n, u->i64, "lane");
}

/* ---- Builders */

LLVMBasicBlockRef simt_new_block(struct simt_fn *f, const char *name)
{
    return LLVMAppendBasicBlockInContext(f->u->ctx, f->out, name);
}

void simt_mark_likely(LLVMValueRef branch)
{
    ptx_weights_set(branch, 2000, 1);
}

LLVMValueRef simt_field(struct simt *u, LLVMValueRef base, size_t offset, LLVMTypeRef type, bool constant)
{
    LLVMValueRef x = LLVMBuildLoad2(u->b, type, simt_advance(u, base, (int64_t)offset), "");
    if (constant)
        ptx_mark(x, PTX_INVARIANT);
    return x;
}

LLVMValueRef simt_phi2(struct simt *u, LLVMValueRef x[2], LLVMBasicBlockRef from[2])
{
    LLVMValueRef phi = LLVMBuildPhi(u->b, LLVMTypeOf(x[0]), "");
    LLVMAddIncoming(phi, x, from, 2);
    return phi;
}

LLVMValueRef simt_variable(struct simt_fn *f, LLVMTypeRef type)
{
    struct simt *u = f->u;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(u->b);
    LLVMMetadataRef place = LLVMGetCurrentDebugLocation2(u->b);
    LLVMPositionBuilderBefore(u->b, LLVMGetFirstInstruction(f->entry));
    LLVMValueRef variable = LLVMBuildAlloca(u->b, type, "");
    LLVMPositionBuilderAtEnd(u->b, here);
    LLVMSetCurrentDebugLocation2(u->b, place);
    return variable;
}

LLVMValueRef simt_scratch(struct simt_fn *f, int slot)
{
    if (f->scratch[slot])
        return f->scratch[slot];
    f->scratch[slot] = simt_variable(f, LLVMArrayType2(LLVMInt128TypeInContext(f->u->ctx), SIMT_LANES));
    LLVMSetAlignment(f->scratch[slot], 64);
    LLVMSetValueName2(f->scratch[slot], SIMT_SCRATCH, strlen(SIMT_SCRATCH));
    return f->scratch[slot];
}

/* Integers of odd widths are held in whole bytes: a vector of them would be packed bit by bit. */
LLVMTypeRef simt_held_type(struct simt *u, LLVMTypeRef elem)
{
    if (LLVMGetTypeKind(elem) != LLVMIntegerTypeKind)
        return elem;
    unsigned bits = 8;
    while (bits < LLVMGetIntTypeWidth(elem))
        bits *= 2;
    return LLVMIntTypeInContext(u->ctx, bits);
}

void simt_spill(struct simt_fn *f, int slot, LLVMValueRef vec)
{
    struct simt *u = f->u;
    LLVMTypeRef elem = LLVMGetElementType(LLVMTypeOf(vec)), held = simt_held_type(u, elem);
    if (held != elem)
        vec = LLVMBuildZExt(u->b, vec, simt_vec_type(u, held), "");
    LLVMSetAlignment(LLVMBuildStore(u->b, vec, simt_scratch(f, slot)), 64);
}

LLVMValueRef simt_lane_get(struct simt_fn *f, int slot, LLVMTypeRef elem, LLVMValueRef lane)
{
    struct simt *u = f->u;
    LLVMTypeRef held = simt_held_type(u, elem);
    LLVMValueRef p = LLVMBuildGEP2(u->b, held, simt_scratch(f, slot), &lane, 1, "");
    LLVMValueRef x = LLVMBuildLoad2(u->b, held, p, "");
    return held != elem ? LLVMBuildTrunc(u->b, x, elem, "") : x;
}

void simt_lane_put(struct simt_fn *f, int slot, LLVMValueRef value, LLVMValueRef lane)
{
    struct simt *u = f->u;
    LLVMTypeRef elem = LLVMTypeOf(value), held = simt_held_type(u, elem);
    if (held != elem)
        value = LLVMBuildZExt(u->b, value, held, "");
    LLVMBuildStore(u->b, value, LLVMBuildGEP2(u->b, held, simt_scratch(f, slot), &lane, 1, ""));
}

LLVMValueRef simt_reload(struct simt_fn *f, int slot, LLVMTypeRef vec_type)
{
    struct simt *u = f->u;
    LLVMTypeRef elem = LLVMGetElementType(vec_type), held = simt_held_type(u, elem);
    LLVMValueRef x = LLVMBuildLoad2(u->b, simt_vec_type(u, held), simt_scratch(f, slot), "");
    LLVMSetAlignment(x, 64);
    return held != elem ? LLVMBuildTrunc(u->b, x, vec_type, "") : x;
}

void simt_lanes_begin(struct simt_fn *f, LLVMValueRef mask, struct simt_lanes *it)
{
    struct simt *u = f->u;
    it->bits = simt_bits(u, mask);
    it->from = LLVMGetInsertBlock(u->b);
    it->head = simt_new_block(f, "lanes");
    LLVMBuildBr(u->b, it->head);
    LLVMPositionBuilderAtEnd(u->b, it->head);
    it->left = LLVMBuildPhi(u->b, u->i32, "left");
    LLVMValueRef a[2] = { it->left, LLVMConstInt(u->i1, 1, 0) };
    it->lane = LLVMBuildZExt(u->b, simt_intrinsic(u, "llvm.cttz", &u->i32, 1, a, 2), u->i64, "lane");
}

void simt_lanes_end(struct simt_fn *f, struct simt_lanes *it)
{
    struct simt *u = f->u;
    LLVMValueRef less = LLVMBuildSub(u->b, it->left, simt_c32(u, 1), "");
    LLVMValueRef rest = LLVMBuildAnd(u->b, it->left, less, "rest");
    LLVMValueRef in[2] = { it->bits, rest };
    LLVMBasicBlockRef from[2] = { it->from, LLVMGetInsertBlock(u->b) };
    LLVMAddIncoming(it->left, in, from, 2);
    LLVMBasicBlockRef done = simt_new_block(f, "lanes.done");
    LLVMBuildCondBr(u->b, LLVMBuildICmp(u->b, LLVMIntNE, rest, simt_c32(u, 0), ""), it->head, done);
    LLVMPositionBuilderAtEnd(u->b, done);
}
