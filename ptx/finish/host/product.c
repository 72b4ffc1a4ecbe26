/* Both halves of products of 32-bit whole numbers, as random number generators multiply: machines multiply the even elements of
 * two vectors to 64 bits, and the odd ones, of which the high halves are taken; the low halves are there as well, and need no
 * product of their own, which costs as much as those two.  After optimisation, which would take them apart again.  For AVX-512:
 * with AVX2 there are two shuffles and blends for one of its permutations, and too few registers (Philox was slower by 6%).
 *
 *   trunc((zext(a) * zext(b)) >> 32), a * b    becomes    even = even(a) * even(b), odd likewise, and two shuffles */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/host.h"
#include <llvm-c/DebugInfo.h>

enum { MAX_LANES = 32 };

struct product {
    LLVMBuilderRef b;
    LLVMTypeRef i32, i64;
    LLVMValueRef a, c;   /* its factors, vectors of i32 */
    unsigned lanes;
};

/* The vector of i32 that a factor of 64 bits is widened from, or the constant that fits; else NULL. */
static LLVMValueRef narrow(struct product *p, LLVMValueRef v)
{
    int64_t c;
    LLVMValueRef same = ptx_host_splatted(v), from = LLVMIsAZExtInst(v) ? LLVMGetOperand(v, 0) : NULL, elements[MAX_LANES];
    if (from)
        return LLVMGetElementType(LLVMTypeOf(from)) == p->i32 ? from : NULL;
    if (!LLVMIsAConstant(v) || !same || !ptx_host_constant(same, &c) || c < 0 || c > UINT32_MAX)
        return NULL;
    for (unsigned i = 0; i < p->lanes; i++)
        elements[i] = LLVMConstInt(p->i32, (uint64_t)c, 0);
    return LLVMConstVector(elements, p->lanes);
}

/* Is it the high halves of a product?  Notes its factors, the first of which is no constant. */
static bool match_high(struct product *p, LLVMValueRef x)
{
    int64_t by;
    if (!LLVMIsATruncInst(x) || LLVMGetTypeKind(LLVMTypeOf(x)) != LLVMVectorTypeKind ||
        LLVMGetElementType(LLVMTypeOf(x)) != p->i32)
        return false;
    LLVMValueRef shift = LLVMGetOperand(x, 0);
    LLVMValueRef amount = ptx_host_is_op(shift, LLVMLShr) ? ptx_host_splatted(LLVMGetOperand(shift, 1)) : NULL;
    LLVMValueRef wide = amount && ptx_host_constant(amount, &by) && by == 32 ? LLVMGetOperand(shift, 0) : NULL;
    p->lanes = LLVMGetVectorSize(LLVMTypeOf(x));
    if (!wide || !ptx_host_is_op(wide, LLVMMul) || LLVMGetElementType(LLVMTypeOf(wide)) != p->i64 || p->lanes > MAX_LANES ||
        p->lanes % 2)
        return false;
    p->a = narrow(p, LLVMGetOperand(wide, 0));
    p->c = narrow(p, LLVMGetOperand(wide, 1));
    return p->a && p->c && !LLVMIsAConstant(p->a);
}

/* The low halves of the same product, near the high ones; or NULL. */
static LLVMValueRef find_low(struct product *p, LLVMValueRef high)
{
    for (LLVMUseRef use = LLVMGetFirstUse(p->a); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef x = LLVMGetUser(use);
        if (!ptx_host_is_op(x, LLVMMul) || LLVMGetInstructionParent(x) != LLVMGetInstructionParent(high))
            continue;
        LLVMValueRef other = LLVMGetOperand(x, LLVMGetOperand(x, 0) == p->a);
        if (other == p->c && (ptx_host_soon_after(x, high) || ptx_host_soon_after(high, x)))
            return x;
    }
    return NULL;
}

static LLVMValueRef splat(struct product *p, uint64_t c)
{
    LLVMValueRef elements[MAX_LANES];
    for (unsigned i = 0; i < p->lanes / 2; i++)
        elements[i] = LLVMConstInt(p->i64, c, 0);
    return LLVMConstVector(elements, p->lanes / 2);
}

static LLVMValueRef half_of(struct product *p, LLVMValueRef v, bool odd)
{
    LLVMValueRef wide = LLVMBuildBitCast(p->b, v, LLVMVectorType(p->i64, p->lanes / 2), "");
    return odd ? LLVMBuildLShr(p->b, wide, splat(p, 32), "") : LLVMBuildAnd(p->b, wide, splat(p, UINT32_MAX), "");
}

/* Elements 0 or 1 of each pair of both. */
static LLVMValueRef interleave(struct product *p, LLVMValueRef even, LLVMValueRef odd, unsigned half)
{
    LLVMValueRef at[MAX_LANES];
    for (unsigned i = 0; i < p->lanes; i++)
        at[i] = LLVMConstInt(p->i32, (i & 1 ? p->lanes + i - 1 : i) + half, 0);
    return LLVMBuildShuffleVector(p->b, even, odd, LLVMConstVector(at, p->lanes), "");
}

static void replace(struct product *p, LLVMValueRef high, LLVMValueRef low)
{
    LLVMValueRef first = ptx_host_soon_after(low, high) ? low : high;
    LLVMTypeRef type = LLVMTypeOf(high);
    LLVMPositionBuilderBefore(p->b, first);
    LLVMSetCurrentDebugLocation2(p->b, LLVMInstructionGetDebugLoc(first));
    LLVMValueRef product[2], part[2];
    for (int odd = 0; odd < 2; odd++) {
        product[odd] = LLVMBuildMul(p->b, half_of(p, p->a, odd), half_of(p, p->c, odd), "");
        product[odd] = LLVMBuildBitCast(p->b, product[odd], type, "");
    }
    for (unsigned half = 0; half < 2; half++)
        part[half] = interleave(p, product[0], product[1], half);
    LLVMReplaceAllUsesWith(low, part[0]);
    LLVMReplaceAllUsesWith(high, part[1]);
    LLVMInstructionEraseFromParent(low);
}

static void in_module(LLVMModuleRef m)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    struct product p = { .b = LLVMCreateBuilderInContext(c), .i32 = LLVMInt32TypeInContext(c), .i64 = LLVMInt64TypeInContext(c) };
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (LLVMValueRef x = LLVMGetFirstInstruction(bb), next; x; x = next) {
                LLVMValueRef low = match_high(&p, x) ? find_low(&p, x) : NULL;
                if (low)
                    replace(&p, x, low);
                next = LLVMGetNextInstruction(x);
                if (low) /* what it was made of is left to be found unused */
                    LLVMInstructionEraseFromParent(x);
            }
    LLVMDisposeBuilder(p.b);
}

int ptx_run_products(struct ptx_pipeline *pipe)
{
    in_module(*pipe->module);
    return AW_OK;
}
