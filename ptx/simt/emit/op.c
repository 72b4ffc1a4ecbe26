/* Arithmetic, comparisons, casts and addresses: one builder serves bases and vectors, as LLVM's do.
 *
 * The source's flags (nsw, inbounds, fast) are dropped: they hold for lanes that run only.  Integer division is guarded
 * here, since a lane that is off must not trap. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"

static LLVMOpcode opcode_of(LLVMValueRef v)
{
    return LLVMIsAConstantExpr(v) ? LLVMGetConstOpcode(v) : LLVMGetInstructionOpcode(v);
}

static LLVMValueRef operand(struct simt_fn *f, LLVMValueRef inst, unsigned i, bool vec)
{
    LLVMValueRef v = LLVMGetOperand(inst, i);
    return vec ? simt_vector(f, v) : simt_scalar(f, v);
}

static LLVMTypeRef form(struct simt *u, LLVMTypeRef type, bool vec)
{
    return vec ? simt_vec_type(u, type) : type;
}

/* ---- Casts */

static LLVMValueRef space_cast(struct simt_fn *f, LLVMValueRef x, bool from_shared, bool to_shared, bool vec)
{
    struct simt *u = f->u;
    if (from_shared == to_shared)
        return x;
    if (from_shared) {
        LLVMValueRef at = LLVMBuildSExt(u->b, x, form(u, u->i64, vec), "");
        return LLVMBuildGEP2(u->b, u->i8, f->shared, &at, 1, "");
    }
    LLVMValueRef base = LLVMBuildPtrToInt(u->b, f->shared, u->i64, "");
    LLVMValueRef at = LLVMBuildPtrToInt(u->b, x, form(u, u->i64, vec), "");
    at = LLVMBuildSub(u->b, at, vec ? simt_splat(u, base) : base, "");
    return LLVMBuildTrunc(u->b, at, form(u, u->i32, vec), "");
}

static LLVMValueRef cast(struct simt_fn *f, LLVMValueRef inst, LLVMOpcode op, bool vec)
{
    struct simt *u = f->u;
    LLVMTypeRef from = LLVMTypeOf(LLVMGetOperand(inst, 0)), to = LLVMTypeOf(inst);
    LLVMTypeRef want = form(u, simt_type(u, to), vec);
    LLVMValueRef x = operand(f, inst, 0, vec);
    switch (op) {
    case LLVMAddrSpaceCast:
        return space_cast(f, x, simt_is_shared_ptr(from), simt_is_shared_ptr(to), vec);
    case LLVMPtrToInt:
        return simt_is_shared_ptr(from) ? LLVMBuildIntCast2(u->b, x, want, 0, "") : LLVMBuildPtrToInt(u->b, x, want, "");
    case LLVMIntToPtr:
        return simt_is_shared_ptr(to) ? LLVMBuildIntCast2(u->b, x, want, 0, "") : LLVMBuildIntToPtr(u->b, x, want, "");
    case LLVMBitCast:
        if (LLVMGetTypeKind(to) == LLVMPointerTypeKind)
            return x;
        if (LLVMGetTypeKind(from) == LLVMVectorTypeKind || LLVMGetTypeKind(to) == LLVMVectorTypeKind) {
            if (!vec)
                return LLVMBuildBitCast(u->b, x, to, "");
            simt_fail(u, "vector bit cast left in the code");
            return LLVMGetUndef(want);
        }
        return LLVMBuildBitCast(u->b, x, want, "");
    default:
        return LLVMBuildCast(u->b, op, x, want, "");
    }
}

/* ---- Addresses */

/* Sums the indices by hand: element types of the source may hold pointers of sizes that the machine's layout lacks. */
static LLVMValueRef gep(struct simt_fn *f, LLVMValueRef inst, bool vec)
{
    struct simt *u = f->u;
    bool shared = simt_is_shared_ptr(LLVMTypeOf(inst));
    LLVMTypeRef itype = shared ? u->i32 : u->i64;
    LLVMTypeRef type = LLVMGetGEPSourceElementType(inst);
    LLVMValueRef base_src = LLVMGetOperand(inst, 0);
    LLVMValueRef uniform = NULL, lanes = NULL;
    int64_t fixed = 0, c;
    for (unsigned j = 1; j < (unsigned)LLVMGetNumOperands(inst); j++) {
        LLVMValueRef index = LLVMGetOperand(inst, j);
        if (j > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            simt_int_const(index, &c);
            fixed += (int64_t)LLVMOffsetOfElement(u->in_layout, type, (unsigned)c);
            type = LLVMStructGetTypeAtIndex(type, (unsigned)c);
            continue;
        }
        if (j > 1)
            type = LLVMGetElementType(type);
        int64_t size = (int64_t)LLVMABISizeOfType(u->in_layout, type);
        if (simt_int_const(index, &c)) {
            fixed = (int64_t)((uint64_t)fixed + (uint64_t)c * (uint64_t)size);
            continue;
        }
        bool v = vec && !simt_uniform(f, index);
        LLVMValueRef x = LLVMBuildIntCast2(u->b, v ? simt_vector(f, index) : simt_scalar(f, index), form(u, itype, v), 1, "");
        LLVMValueRef by = LLVMConstInt(itype, (uint64_t)size, 1);
        x = size == 1 ? x : LLVMBuildMul(u->b, x, v ? simt_splat(u, by) : by, "");
        LLVMValueRef *sum = v ? &lanes : &uniform;
        *sum = *sum ? LLVMBuildAdd(u->b, *sum, x, "") : x;
    }
    if (fixed || (!uniform && !lanes)) {
        LLVMValueRef k = LLVMConstInt(itype, (uint64_t)fixed, 1);
        uniform = uniform ? LLVMBuildAdd(u->b, uniform, k, "") : k;
    }
    bool base_vec = vec && !simt_uniform(f, base_src);
    LLVMValueRef base = base_vec ? simt_vector(f, base_src) : simt_scalar(f, base_src);
    if (shared) {
        if (uniform)
            base = LLVMBuildAdd(u->b, base, base_vec ? simt_splat(u, uniform) : uniform, "");
        if (!vec)
            return base;
        base = base_vec ? base : simt_splat(u, base);
        return lanes ? LLVMBuildAdd(u->b, base, lanes, "") : base;
    }
    if (uniform)
        base = LLVMBuildGEP2(u->b, u->i8, base, &uniform, 1, "");
    if (lanes)
        base = LLVMBuildGEP2(u->b, u->i8, base, &lanes, 1, "");
    return vec && !lanes && !base_vec ? simt_splat(u, base) : base;
}

/* ---- Arithmetic */

static LLVMValueRef divide(struct simt_fn *f, LLVMValueRef inst, LLVMOpcode op, bool vec)
{
    struct simt *u = f->u;
    LLVMValueRef real = vec ? simt_quotient_build(f, inst, op) : NULL;
    if (real)
        return real;
    LLVMValueRef by = operand(f, inst, 1, vec);
    int64_t c;
    bool safe = simt_int_const(LLVMGetOperand(inst, 1), &c) && c != 0 && c != -1;
    if (vec && f->mask && !safe)
        by = LLVMBuildSelect(u->b, f->mask, ptx_llvm_divisor(u->b, by), simt_splat(u, LLVMConstInt(LLVMTypeOf(inst), 1, 0)), "");
    return LLVMBuildBinOp(u->b, op, operand(f, inst, 0, vec), by, "");
}

static LLVMValueRef choose(struct simt_fn *f, LLVMValueRef inst, bool vec)
{
    LLVMValueRef cond = LLVMGetOperand(inst, 0);
    bool v = vec && !simt_uniform(f, cond);
    return LLVMBuildSelect(f->u->b, v ? simt_vector(f, cond) : simt_scalar(f, cond), operand(f, inst, 1, vec),
                           operand(f, inst, 2, vec), "");
}

LLVMValueRef simt_op_build(struct simt_fn *f, LLVMValueRef inst, bool vec)
{
    struct simt *u = f->u;
    LLVMOpcode op = opcode_of(inst);
    switch (op) {
    case LLVMICmp:
        return LLVMBuildICmp(u->b, LLVMGetICmpPredicate(inst), operand(f, inst, 0, vec), operand(f, inst, 1, vec), "");
    case LLVMFCmp:
        return LLVMBuildFCmp(u->b, LLVMGetFCmpPredicate(inst), operand(f, inst, 0, vec), operand(f, inst, 1, vec), "");
    case LLVMFNeg:
        return LLVMBuildFNeg(u->b, operand(f, inst, 0, vec), "");
    case LLVMFreeze:
        return LLVMBuildFreeze(u->b, operand(f, inst, 0, vec), "");
    case LLVMSelect:
        return choose(f, inst, vec);
    case LLVMGetElementPtr:
        return gep(f, inst, vec);
    case LLVMSDiv: case LLVMUDiv: case LLVMSRem: case LLVMURem:
        return divide(f, inst, op, vec);
    case LLVMTrunc: case LLVMZExt: case LLVMSExt: case LLVMFPToUI: case LLVMFPToSI: case LLVMUIToFP: case LLVMSIToFP:
    case LLVMFPTrunc: case LLVMFPExt: case LLVMPtrToInt: case LLVMIntToPtr: case LLVMBitCast: case LLVMAddrSpaceCast:
        return cast(f, inst, op, vec);
    case LLVMAdd: case LLVMFAdd: case LLVMSub: case LLVMFSub: case LLVMMul: case LLVMFMul: case LLVMFDiv: case LLVMFRem:
    case LLVMShl: case LLVMLShr: case LLVMAShr: case LLVMAnd: case LLVMOr: case LLVMXor:
        return LLVMBuildBinOp(u->b, op, operand(f, inst, 0, vec), operand(f, inst, 1, vec), "");
    default: {
        char *text = LLVMPrintValueToString(inst);
        simt_fail(u, "the host target does not know this operation:%s", text);
        LLVMDisposeMessage(text);
        return LLVMGetUndef(form(u, simt_type(u, LLVMTypeOf(inst)), vec));
    }
    }
}

/* ---- Affine results with lanes that differ */

/* True when base + off[i] is one of `least` and the `most` numbers that follow it for every lane. */
static LLVMValueRef stays(struct simt_fn *f, const struct simt_val *val, uint64_t least, uint64_t most)
{
    struct simt *u = f->u;
    LLVMTypeRef type = LLVMTypeOf(val->s);
    int64_t lo = 0, hi = 0;
    for (int i = 0; i < u->lanes; i++) {
        lo = val->off[i] < lo ? val->off[i] : lo;
        hi = val->off[i] > hi ? val->off[i] : hi;
    }
    /* smallest base that is right */
    uint64_t mask = LLVMConstIntGetZExtValue(LLVMConstAllOnes(type)), first = least - (uint64_t)lo;
    LLVMValueRef above = LLVMBuildSub(u->b, val->s, LLVMConstInt(type, first & mask, 0), "");
    return LLVMBuildICmp(u->b, LLVMIntULE, above, LLVMConstInt(type, (most - (uint64_t)(hi - lo)) & mask, 0), "nowrap");
}

/* The same of the range of the narrow type that an extension begins with. */
static LLVMValueRef no_wrap(struct simt_fn *f, LLVMValueRef inst, const struct simt_val *narrow)
{
    unsigned width = LLVMGetIntTypeWidth(LLVMTypeOf(narrow->s));
    return stays(f, narrow, LLVMIsASExtInst(inst) ? UINT64_C(1) << (width - 1) : 0,
                 width < 64 ? (UINT64_C(1) << width) - 1 : ~UINT64_C(0));
}

/* `or` and `xor` on bits the lanes differ in act on the offsets alone (shape.c, shape_bits). */
static LLVMValueRef affine_bits(struct simt_fn *f, LLVMValueRef inst, LLVMOpcode op)
{
    struct simt *u = f->u;
    LLVMValueRef a = LLVMGetOperand(inst, 0), b = LLVMGetOperand(inst, 1);
    int64_t c;
    if (op == LLVMXor && simt_int_const(b, &c)) {
        const struct simt_val *val = simt_get(f, a);
        uint64_t low = val->tz >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << val->tz) - 1;
        return LLVMBuildXor(u->b, simt_scalar(f, a), LLVMConstInt(LLVMTypeOf(inst), (uint64_t)c & ~low, 1), "");
    }
    return LLVMBuildBinOp(u->b, op, simt_scalar(f, a), simt_scalar(f, b), "");
}

static void affine_emit(struct simt_fn *f, LLVMValueRef inst, struct simt_val *r)
{
    struct simt *u = f->u;
    LLVMOpcode op = LLVMGetInstructionOpcode(inst);
    r->s = op == LLVMOr || op == LLVMXor ? affine_bits(f, inst, op) : simt_op_build(f, inst, false);
    if (!r->check)
        return;
    LLVMValueRef ok = NULL;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(inst); i++)
        ok = simt_and(u, ok, simt_ok(f, LLVMGetOperand(inst, i)));
    const struct simt_val *a = simt_get(f, LLVMGetOperand(inst, 0));
    bool widens = op == LLVMSExt || op == LLVMZExt ||
                  ((op == LLVMIntToPtr || op == LLVMPtrToInt) &&
                   simt_width(LLVMTypeOf(inst)) > simt_width(LLVMTypeOf(LLVMGetOperand(inst, 0))));
    if (widens && a && a->off && !simt_ext_exact(a))
        ok = simt_and(u, ok, no_wrap(f, inst, a));
    int64_t field;
    if (op == LLVMAnd && simt_int_const(LLVMGetOperand(inst, 1), &field)) /* shape_ring */
        ok = simt_and(u, ok, stays(f, r, 0, (uint64_t)field));
    r->ok = ok;
}

void simt_op_emit(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt_val *r = simt_get(f, inst);
    if (r->kind == SIMT_TOP)
        r->kind = SIMT_AFFINE; /* reached only through itself: any value will do */
    if (r->kind == SIMT_VARYING)
        r->v = simt_op_build(f, inst, true);
    else if (r->off)
        affine_emit(f, inst, r);
    else
        r->s = simt_op_build(f, inst, false);
}
