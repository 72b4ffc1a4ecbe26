/* Minima and maxima, after optimisation: no look for a NaN where there can be none, AVX-512's instruction for vectors of them,
 * and no branch for a single one.
 *
 * PTX's max is the other operand where one is a NaN, its own NaN where both are (lower/round.c asks for that with a comparison
 * and a selection), and +0 of two zeros; without an instruction each takes ten.  What runs around a loop is taken for no NaN
 * until something says otherwise, which LLVM does not do. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"
#include "finish/host/host.h"
#include <llvm-c/DebugInfo.h>
#include <math.h>

typedef LLVMValueRef V;

enum { MAX_STEPS = 400, MAX_PHIS = 16, MAX_FOUND = 64 };

/* A search through what a value is made of. */
struct minmax_search {
    bool signalling; /* is it no signalling NaN? else: is it no NaN? */
    int steps;
    V phis[MAX_PHIS]; /* taken for granted while what comes into them is looked at */
    int n_phis;
    V found[MAX_FOUND]; /* selections that hold, as far as the phis do: chains ask for each of them twice */
    int n_found;
};

static bool holds(struct minmax_search *s, V v);

static bool is_minmax(V v)
{
    enum ptx_intrinsic id = ptx_intrinsic_called(v);
    return id == PTX_INTRINSIC_MAXIMUMNUM || id == PTX_INTRINSIC_MINIMUMNUM;
}

/* `x is a NaN`, as fcmp uno x, 0 or x, x; else NULL. */
static V asked(V v)
{
    if (!LLVMIsAFCmpInst(v) || LLVMGetFCmpPredicate(v) != LLVMRealUNO)
        return NULL;
    V x = LLVMGetOperand(v, 0), y = LLVMGetOperand(v, 1);
    return x == y || (LLVMIsConstant(y) && LLVMIsNull(y)) ? x : NULL;
}

static bool scalar_holds(V v, bool signalling)
{
    bool wide = LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMDoubleTypeKind;
    LLVMContextRef c = LLVMGetTypeContext(LLVMTypeOf(v));
    LLVMBool lossy;
    if (!isnan(LLVMConstRealGetDouble(v, &lossy)))
        return true;
    V bits = LLVMConstBitCast(v, wide ? LLVMInt64TypeInContext(c) : LLVMInt32TypeInContext(c));
    return signalling && LLVMIsAConstantInt(bits) && (LLVMConstIntGetZExtValue(bits) >> (wide ? 51 : 22) & 1);
}

/* Of an integer that holds a number's bits. */
static bool bits_hold(V v, bool signalling)
{
    unsigned width = LLVMGetIntTypeWidth(LLVMTypeOf(v));
    if (!LLVMIsAConstantInt(v) || (width != 32 && width != 64))
        return false;
    unsigned long long bits = LLVMConstIntGetZExtValue(v), quiet = 1ull << (width == 64 ? 51 : 22),
                       most = width == 64 ? 0x7ffull << 52 : 0xffull << 23;
    bool nan = (bits & most) == most && (bits & (2 * quiet - 1));
    return !nan || (signalling && bits & quiet);
}

static bool constant_holds(V v, bool signalling)
{
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(v));
    if (LLVMIsPoison(v) || LLVMIsNull(v))
        return true;
    if (kind == LLVMIntegerTypeKind)
        return bits_hold(v, signalling);
    if (kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind)
        return LLVMIsAConstantFP(v) && scalar_holds(v, signalling);
    if (kind != LLVMVectorTypeKind || LLVMIsAConstantExpr(v))
        return false;
    for (unsigned i = 0; i < LLVMGetVectorSize(LLVMTypeOf(v)); i++) {
        V e = LLVMGetAggregateElement(v, i);
        if (!e || !constant_holds(e, signalling))
            return false;
    }
    return true;
}

/* When one turns out wrong, what was found by its help is forgotten with it. */
static bool phi_holds(struct minmax_search *s, V phi)
{
    int at = s->n_phis, found = s->n_found;
    for (int i = 0; i < at; i++)
        if (s->phis[i] == phi)
            return true;
    if (at == MAX_PHIS)
        return false;
    s->phis[s->n_phis++] = phi;
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
        if (!holds(s, LLVMGetIncomingValue(phi, i))) {
            s->n_phis = at;
            s->n_found = found;
            return false;
        }
    return true;
}

static bool call_holds(struct minmax_search *s, V call)
{
    switch (ptx_intrinsic_called(call)) {
    case PTX_INTRINSIC_MAXIMUMNUM: case PTX_INTRINSIC_MINIMUMNUM:
        return s->signalling || holds(s, LLVMGetOperand(call, 0)) || holds(s, LLVMGetOperand(call, 1));
    case PTX_INTRINSIC_FMA: case PTX_INTRINSIC_SQRT: case PTX_INTRINSIC_RANGE_PS: case PTX_INTRINSIC_RANGE_PD:
        return s->signalling;
    case PTX_INTRINSIC_FABS:
        return holds(s, LLVMGetOperand(call, 0));
    default:
        return false;
    }
}

/* Of a selection by a question whose answer is no, or was replaced by that, only the second counts. */
static bool select_holds(struct minmax_search *s, V select)
{
    V cond = LLVMGetOperand(select, 0), x = s->signalling ? NULL : asked(cond);
    for (int i = 0; i < s->n_found; i++)
        if (s->found[i] == select)
            return true;
    if (!holds(s, LLVMGetOperand(select, 2)))
        return false;
    bool good = (LLVMIsConstant(cond) && LLVMIsNull(cond)) || (x && holds(s, x)) || holds(s, LLVMGetOperand(select, 1));
    if (good && s->n_found < MAX_FOUND)
        s->found[s->n_found++] = select;
    return good;
}

/* Of as many parts, of the same width: machine code that was lifted has floats in registers of integers. */
static bool keeps_parts(V cast)
{
    LLVMTypeRef type[2] = { LLVMTypeOf(cast), LLVMTypeOf(LLVMGetOperand(cast, 0)) };
    unsigned n[2] = { 1, 1 };
    for (int k = 0; k < 2; k++)
        if (LLVMGetTypeKind(type[k]) == LLVMVectorTypeKind) {
            n[k] = LLVMGetVectorSize(type[k]);
            type[k] = LLVMGetElementType(type[k]);
        }
    bool narrow = LLVMGetTypeKind(type[0]) == LLVMFloatTypeKind || LLVMGetTypeKind(type[1]) == LLVMFloatTypeKind,
         wide = LLVMGetTypeKind(type[0]) == LLVMDoubleTypeKind || LLVMGetTypeKind(type[1]) == LLVMDoubleTypeKind;
    return n[0] == n[1] && narrow != wide;
}

static bool holds(struct minmax_search *s, V v)
{
    if (s->steps++ == MAX_STEPS)
        return false;
    if (LLVMIsConstant(v))
        return constant_holds(v, s->signalling);
    if (LLVMIsAPHINode(v))
        return phi_holds(s, v);
    if (LLVMIsACallInst(v))
        return call_holds(s, v);
    if (!LLVMIsAInstruction(v))
        return false;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMSelect:
        return select_holds(s, v);
    case LLVMShuffleVector: case LLVMInsertElement:
        return holds(s, LLVMGetOperand(v, 0)) && holds(s, LLVMGetOperand(v, 1));
    case LLVMFreeze: case LLVMFNeg: case LLVMExtractElement: /* a frozen lane that was poison may be anything, here as before */
        return holds(s, LLVMGetOperand(v, 0));
    case LLVMBitCast:
        return keeps_parts(v) && holds(s, LLVMGetOperand(v, 0));
    case LLVMSIToFP: case LLVMUIToFP:
        return true;
    case LLVMFAdd: case LLVMFSub: case LLVMFMul: case LLVMFDiv: case LLVMFPExt: case LLVMFPTrunc:
        return s->signalling;
    default:
        return false;
    }
}

static bool never_nan(V v)
{
    struct minmax_search s = { 0 };
    return holds(&s, v);
}

static bool never_signalling(V v)
{
    struct minmax_search s = { .signalling = true };
    return holds(&s, v);
}

/* ---- Rewriting */

static bool drop_questions(LLVMModuleRef m)
{
    bool changed = false;
    for (V fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (V x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x)) {
                V of = asked(x);
                if (!of || !LLVMGetFirstUse(x) || !never_nan(of))
                    continue;
                LLVMReplaceAllUsesWith(x, LLVMConstNull(LLVMTypeOf(x)));
                changed = true;
            }
    return changed;
}

/* VRANGE gives the other operand for a quiet NaN, but a NaN for a signalling one: VFIXUPIMM makes those quiet. */
static V quiet(LLVMBuilderRef b, V v, unsigned bits)
{
    LLVMContextRef c = LLVMGetBuilderContext(b);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(c);
    unsigned width = 512 / bits;
    V table[16], mask = LLVMConstInt(LLVMIntTypeInContext(c, width), (1u << width) - 1, 0);
    if (never_signalling(v))
        return v;
    for (unsigned i = 0; i < width; i++) /* of the tokens only the second, a signalling NaN: 2, the source made quiet */
        table[i] = LLVMConstInt(LLVMIntTypeInContext(c, bits), 0x20, 0);
    V args[] = { v, v, LLVMConstVector(table, width), LLVMConstInt(i32, 0, 0), mask, LLVMConstInt(i32, PTX_HOST_AS_SET, 0) };
    return ptx_host_in_pieces(b, bits == 64 ? "llvm.x86.avx512.mask.fixupimm.pd.512" : "llvm.x86.avx512.mask.fixupimm.ps.512",
                              args, 6);
}

static bool by_instruction(LLVMBuilderRef b, V call)
{
    enum { MIN = 4, MAX = 5 }; /* of two, with the sign of what was found */
    LLVMTypeRef t = LLVMTypeOf(call), scalar = LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetElementType(t) : t;
    unsigned bits = LLVMGetTypeKind(scalar) == LLVMDoubleTypeKind ? 64 : LLVMGetTypeKind(scalar) == LLVMFloatTypeKind ? 32 : 0;
    if (scalar == t || !bits || LLVMGetVectorSize(t) * bits < 512)
        return false;
    LLVMContextRef c = LLVMGetBuilderContext(b);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(c);
    unsigned width = 512 / bits;
    LLVMPositionBuilderBefore(b, call);
    LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(call));
    V x = quiet(b, LLVMGetOperand(call, 0), bits), y = quiet(b, LLVMGetOperand(call, 1), bits);
    V args[] = { x, y, LLVMConstInt(i32, ptx_intrinsic_called(call) == PTX_INTRINSIC_MAXIMUMNUM ? MAX : MIN, 0), x,
                 LLVMConstInt(LLVMIntTypeInContext(c, width), (1u << width) - 1, 0), LLVMConstInt(i32, PTX_HOST_AS_SET, 0) };
    V r = ptx_host_in_pieces(b, bits == 64 ? "llvm.x86.avx512.mask.range.pd.512" : "llvm.x86.avx512.mask.range.ps.512", args, 6);
    LLVMReplaceAllUsesWith(call, r);
    LLVMInstructionEraseFromParent(call);
    return true;
}

/* One number's, for which LLVM would make a branch. */
struct minmax_scalar {
    V call;
    bool number[2]; /* the operands that are no NaN: asked while all are calls, as chains of them are looked through */
};
struct minmax_scalars {
    struct minmax_scalar *at;
    size_t n, cap;
};

static V choose(LLVMBuilderRef b, LLVMRealPredicate when, V x, V y, V first, V second)
{
    return LLVMBuildSelect(b, LLVMBuildFCmp(b, when, x, y, ""), first, second, "");
}

/* The machine's instructions take the second operand where neither is greater: of zeros of different sign one way round gives
 * either, and the bits of both tell which to take.  LLVM asks for the sign of one instead, which is a branch without AVX-512, and
 * one that nobody can foresee. */
static void without_branch(LLVMBuilderRef b, const struct minmax_scalar *s)
{
    V x = LLVMGetOperand(s->call, 0), y = LLVMGetOperand(s->call, 1);
    LLVMContextRef c = LLVMGetBuilderContext(b);
    LLVMTypeRef t = LLVMTypeOf(s->call);
    LLVMTypeRef bits = LLVMGetTypeKind(t) == LLVMDoubleTypeKind ? LLVMInt64TypeInContext(c) : LLVMInt32TypeInContext(c);
    bool max = ptx_intrinsic_called(s->call) == PTX_INTRINSIC_MAXIMUMNUM;
    LLVMRealPredicate better = max ? LLVMRealOGT : LLVMRealOLT;
    LLVMPositionBuilderBefore(b, s->call);
    LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(s->call));
    V one = LLVMBuildBitCast(b, choose(b, better, x, y, x, y), bits, "");
    V other = LLVMBuildBitCast(b, choose(b, better, y, x, y, x), bits, "");
    V r = LLVMBuildBitCast(b, max ? LLVMBuildAnd(b, one, other, "") : LLVMBuildOr(b, one, other, ""), t, "");
    if (!s->number[1])
        r = choose(b, LLVMRealUNO, y, y, x, r);
    if (!s->number[0])
        r = choose(b, LLVMRealUNO, x, x, y, r);
    LLVMReplaceAllUsesWith(s->call, r);
    LLVMInstructionEraseFromParent(s->call);
}

/* Of a constant LLVM knows the sign. */
static bool needs_branch(V call)
{
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(call));
    return (kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind) && !LLVMIsConstant(LLVMGetOperand(call, 0)) &&
           !LLVMIsConstant(LLVMGetOperand(call, 1));
}

static bool find_scalars(LLVMModuleRef m, struct minmax_scalars *scalars)
{
    bool ok = true;
    for (V fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (V x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x))
                if (is_minmax(x) && needs_branch(x))
                    ok = ok && aw_vec_push(scalars, (struct minmax_scalar){ x, { never_nan(LLVMGetOperand(x, 0)),
                                                                           never_nan(LLVMGetOperand(x, 1)) } });
    return ok;
}

static bool by_instructions(LLVMModuleRef m, LLVMBuilderRef b)
{
    bool changed = false;
    for (V fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (V x = LLVMGetFirstInstruction(bb), next; x; x = next) {
                next = LLVMGetNextInstruction(x);
                changed |= is_minmax(x) && by_instruction(b, x);
            }
    return changed;
}

static int in_module(LLVMModuleRef m, bool avx512, struct aw_buf *diags)
{
    static const char fold[] = "function(early-cse,adce)";
    int status = drop_questions(m) ? ptx_passes_run(m, NULL, fold, diags) : AW_OK;
    if (status != AW_OK)
        return status;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    struct minmax_scalars scalars = { 0 };
    status = find_scalars(m, &scalars) ? AW_OK : AW_ERR_OUT_OF_MEMORY;
    bool changed = scalars.n > 0;
    changed |= avx512 && by_instructions(m, b);
    for (size_t i = 0; i < scalars.n; i++)
        without_branch(b, &scalars.at[i]);
    aw_vec_fini(&scalars);
    LLVMDisposeBuilder(b);
    if (status == AW_OK && changed)
        status = ptx_passes_run(m, NULL, fold, diags); /* a value made quiet for two operations is made so once */
    return status;
}

int ptx_run_minmax(struct ptx_pipeline *pipe)
{
    return in_module(*pipe->module, pipe->on & PTX_PASS_AVX512, pipe->diags);
}
