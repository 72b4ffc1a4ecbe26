/* Gathers and scatters by a scalar base and 32-bit indices, for machines that have them: instructions on twice the lanes that
 * 64-bit addresses would allow, and no vectors of addresses to make, to hold in registers and to advance from round to round of a
 * loop.  After optimisation, for instcombine would widen the indices again.  Not gathers taken apart; those are host/gather.c's.
 *
 *   base + (sext(i) << k) + c                    becomes   gep (base + c), i        of elements of 2^k bytes
 *   zext(i)                                      becomes   sext(i ^ 2^31) + 2^31
 *   phi [start], [itself + step], in such a sum  becomes   start + a scalar's phi */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"
#include "finish/host/host.h"
#include "lower/copy.h"
#include <llvm-c/DebugInfo.h>

enum { MAX_TERMS = 6, MAX_DEPTH = 12 };

struct rewriter {
    LLVMContextRef c;
    LLVMBuilderRef b;
    LLVMTypeRef i32, i64, ptr;
    struct aw_ptrmap scalars; /* vector phi that advances by a step -> the scalar one, from 0 */
};

/* An address as a sum: all terms but one are the same for the lanes. */
struct address_sum {
    struct term {
        LLVMValueRef x; /* i64 or pointer */
        int shift;
    } terms[MAX_TERMS];
    int n;
    int64_t offset;      /* bytes */
    LLVMValueRef index;  /* vector of i32, << shift; NULL: not seen yet */
    bool is_signed;
    int shift;
};

static bool is_vector(LLVMValueRef v)
{
    return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind;
}

/* Of a phi with two ways in, one from its own block's loop, that adds the same to all lanes each round: the way from outside, the
 * scalar that is added; -1 if it is none. */
static int advances(LLVMValueRef phi, LLVMValueRef *ret_step)
{
    if (!LLVMIsAPHINode(phi) || LLVMCountIncoming(phi) != 2)
        return -1;
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef next = LLVMGetIncomingValue(phi, i);
        if (!ptx_host_is_op(next, LLVMAdd))
            continue;
        LLVMValueRef x = LLVMGetOperand(next, 0), y = LLVMGetOperand(next, 1);
        LLVMValueRef step = x == phi ? ptx_host_splatted(y) : y == phi ? ptx_host_splatted(x) : NULL;
        /* A constant, since nothing else is known to be there before the loop. */
        if (step && LLVMIsAConstantInt(step)) {
            *ret_step = step;
            return 1 - (int)i;
        }
    }
    return -1;
}

/* The scalar that goes along with a vector phi, from 0. */
static LLVMValueRef scalar_phi(struct rewriter *r, LLVMValueRef phi, int outside, LLVMValueRef step)
{
    LLVMValueRef s = aw_ptrmap_find(&r->scalars, phi);
    if (s)
        return s;
    unsigned from = (unsigned)outside, around = 1 - from;
    LLVMPositionBuilderBefore(r->b, phi);
    LLVMSetCurrentDebugLocation2(r->b, NULL);
    s = LLVMBuildPhi(r->b, r->i64, "");
    LLVMPositionBuilderBefore(r->b, LLVMGetBasicBlockTerminator(LLVMGetIncomingBlock(phi, around)));
    LLVMValueRef in[2] = { LLVMConstInt(r->i64, 0, 0), LLVMBuildAdd(r->b, s, step, "") };
    LLVMBasicBlockRef blocks[2] = { LLVMGetIncomingBlock(phi, from), LLVMGetIncomingBlock(phi, around) };
    LLVMAddIncoming(s, in, blocks, 2);
    aw_ptrmap_put(&r->scalars, phi, s);
    return s;
}

static bool add_term(struct address_sum *s, LLVMValueRef x, int shift)
{
    int64_t c;
    if (ptx_host_constant(x, &c)) {
        s->offset = (int64_t)((uint64_t)s->offset + ((uint64_t)c << shift));
        return true;
    }
    if (s->n == MAX_TERMS || (shift && LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMPointerTypeKind))
        return false;
    s->terms[s->n++] = (struct term){ x, shift };
    return true;
}

static bool set_index(struct address_sum *s, LLVMValueRef x, bool is_signed, int shift)
{
    if (s->index || LLVMGetIntTypeWidth(LLVMGetElementType(LLVMTypeOf(x))) != 32)
        return false;
    s->index = x;
    s->is_signed = is_signed;
    s->shift = shift;
    return shift <= 3;
}

static int element_shift(LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMFloatTypeKind: return 2;
    case LLVMDoubleTypeKind: return 3;
    case LLVMIntegerTypeKind: {
        unsigned w = LLVMGetIntTypeWidth(type);
        return w == 8 ? 0 : w == 16 ? 1 : w == 32 ? 2 : w == 64 ? 3 : -1;
    }
    default: return -1;
    }
}

/* Adds v << shift to the sum.  False: it has no such form. */
static bool collect(struct rewriter *r, struct address_sum *s, LLVMValueRef v, int shift, int depth)
{
    int64_t by;
    LLVMValueRef same = is_vector(v) ? ptx_host_splatted(v) : v, step;
    if (same)
        return add_term(s, same, shift);
    if (depth == MAX_DEPTH || !LLVMIsAInstruction(v))
        return false;
    int outside = advances(v, &step);
    if (outside >= 0) /* the scalar is made once all else is known to fit */
        return collect(r, s, LLVMGetIncomingValue(v, (unsigned)outside), shift, depth + 1) && add_term(s, v, shift);
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMIntToPtr: case LLVMPtrToInt:
        return collect(r, s, LLVMGetOperand(v, 0), shift, depth + 1);
    case LLVMAdd:
        return collect(r, s, LLVMGetOperand(v, 0), shift, depth + 1) && collect(r, s, LLVMGetOperand(v, 1), shift, depth + 1);
    case LLVMShl: {
        LLVMValueRef amount = ptx_host_splatted(LLVMGetOperand(v, 1));
        return amount && ptx_host_constant(amount, &by) && by >= 0 && by <= 3 &&
               collect(r, s, LLVMGetOperand(v, 0), shift + (int)by, depth + 1);
    }
    case LLVMSExt: case LLVMZExt:
        return set_index(s, LLVMGetOperand(v, 0), ptx_host_is_op(v, LLVMSExt), shift);
    case LLVMGetElementPtr: {
        int size = LLVMGetNumOperands(v) == 2 ? element_shift(LLVMGetGEPSourceElementType(v)) : -1;
        LLVMValueRef index = size >= 0 ? LLVMGetOperand(v, 1) : NULL;
        LLVMTypeRef type = index ? LLVMTypeOf(index) : NULL;
        if (!index || LLVMGetIntTypeWidth(is_vector(index) ? LLVMGetElementType(type) : type) != 64)
            return false;
        return collect(r, s, LLVMGetOperand(v, 0), shift, depth + 1) && collect(r, s, index, shift + size, depth + 1);
    }
    default:
        return false;
    }
}

static LLVMValueRef scalar_of(struct rewriter *r, LLVMValueRef at, struct term t)
{
    LLVMValueRef x = t.x, step = NULL;
    int outside = is_vector(x) ? advances(x, &step) : -1;
    if (outside >= 0)
        x = scalar_phi(r, x, outside, step);
    LLVMPositionBuilderBefore(r->b, at);
    return t.shift ? LLVMBuildShl(r->b, x, LLVMConstInt(r->i64, (unsigned)t.shift, 0), "") : x;
}

/* The sum of all that is the same for the lanes: a pointer. */
static LLVMValueRef build_base(struct rewriter *r, LLVMValueRef at, const struct address_sum *s)
{
    LLVMValueRef base = NULL, sum = NULL;
    LLVMTypeRef i8 = LLVMInt8TypeInContext(r->c);
    for (int i = 0; i < s->n; i++) {
        LLVMValueRef x = scalar_of(r, at, s->terms[i]);
        if (LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMPointerTypeKind && !base) {
            base = x;
            continue;
        }
        if (LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMPointerTypeKind)
            x = LLVMBuildPtrToInt(r->b, x, r->i64, "");
        sum = sum ? LLVMBuildAdd(r->b, sum, x, "") : x;
    }
    LLVMValueRef offset = LLVMConstInt(r->i64, (uint64_t)s->offset, 0);
    sum = !sum ? offset : s->offset ? LLVMBuildAdd(r->b, sum, offset, "") : sum;
    return base ? LLVMBuildGEP2(r->b, i8, base, &sum, 1, "") : LLVMBuildIntToPtr(r->b, sum, r->ptr, "");
}

static bool rewrite(struct rewriter *r, LLVMValueRef x, unsigned operand)
{
    struct address_sum s = { 0 };
    if (!collect(r, &s, LLVMGetOperand(x, operand), 0, 0) || !s.index)
        return false;
    LLVMTypeRef elem = LLVMIntTypeInContext(r->c, 8u << s.shift);
    LLVMPositionBuilderBefore(r->b, x);
    LLVMSetCurrentDebugLocation2(r->b, LLVMInstructionGetDebugLoc(x));
    if (!s.is_signed) {
        unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(s.index));
        LLVMValueRef top[32];
        for (unsigned i = 0; i < lanes; i++)
            top[i] = LLVMConstInt(r->i32, UINT64_C(1) << 31, 0);
        s.index = LLVMBuildXor(r->b, s.index, LLVMConstVector(top, lanes), "");
        s.offset = (int64_t)((uint64_t)s.offset + (UINT64_C(1) << (31 + s.shift)));
    }
    LLVMValueRef base = build_base(r, x, &s);
    LLVMPositionBuilderBefore(r->b, x);
    LLVMSetOperand(x, operand, LLVMBuildGEP2(r->b, elem, base, &s.index, 1, ""));
    return true;
}

/* Which operand is a vector of addresses, or -1. */
static int addresses(LLVMValueRef x)
{
    enum ptx_intrinsic id = ptx_intrinsic_called(x);
    int at = id == PTX_INTRINSIC_MASKED_GATHER ? 0 : id == PTX_INTRINSIC_MASKED_SCATTER ? 1 : -1;
    return at >= 0 && LLVMGetVectorSize(LLVMTypeOf(LLVMGetOperand(x, (unsigned)at))) <= 32 ? at : -1;
}

/* True: some were changed. */
static bool indices(LLVMModuleRef m)
{
    bool any = false;
    LLVMContextRef c = LLVMGetModuleContext(m);
    struct rewriter r = { .c = c, .b = LLVMCreateBuilderInContext(c), .i32 = LLVMInt32TypeInContext(c),
                          .i64 = LLVMInt64TypeInContext(c),
                          .ptr = LLVMPointerTypeInContext(c, 0) };
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x)) {
                int at = addresses(x);
                if (at >= 0)
                    any |= rewrite(&r, x, (unsigned)at);
            }
    aw_ptrmap_fini(&r.scalars);
    LLVMDisposeBuilder(r.b);
    return any;
}

int ptx_run_gather_bases(struct ptx_pipeline *pipe)
{
    bool changed = indices(*pipe->module);
    return changed || pipe->on & PTX_PASS_AVX512 ? ptx_passes_run(*pipe->module, NULL, "function(early-cse,adce)", pipe->diags)
                                                 : AW_OK;
}

/* LLVM chooses instructions block by block: a sum that was moved out of a loop would be vectors of 64-bit addresses. */
static void sums_near(LLVMModuleRef m)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x)) {
                int at = addresses(x);
                LLVMValueRef sum = at >= 0 ? LLVMGetOperand(x, (unsigned)at) : NULL;
                if (!sum || !LLVMIsAGetElementPtrInst(sum) || LLVMGetInstructionParent(sum) == bb ||
                    is_vector(LLVMGetOperand(sum, 0)))
                    continue;
                LLVMPositionBuilderBefore(b, x);
                LLVMValueRef near = LLVMInstructionClone(sum);
                ptx_insert(b, near);
                LLVMSetOperand(x, (unsigned)at, near);
            }
    LLVMDisposeBuilder(b);
}

int ptx_run_gather_sums(struct ptx_pipeline *pipe)
{
    sums_near(*pipe->module);
    return AW_OK;
}
