/* Both halves of products of 32-bit whole numbers, as random number generators multiply: machines multiply the even elements of
 * two vectors to 64 bits, and the odd ones, of which the high halves are taken; the low halves are there as well, and need no
 * product of their own, which costs as much as those two.  After optimisation, which would take them apart again.  For AVX-512:
 * with AVX2 there are two shuffles and blends for one of its permutations, and too few registers (Philox was slower by 6%).
 *
 *   trunc((zext(a) * zext(b)) >> 32), a * b    becomes    even = even(a) * even(b), odd likewise, and two shuffles
 *
 * Where nobody asks for more of a wide product than its halves, the low ones are a product of 32 bits.  LLVM's backend sees that
 * by itself only where they stand before the high ones, and else spreads the whole product over twice the registers:
 *
 *   trunc(zext(a) * zext(b))                   becomes    a * b
 *
 * A factor of 33 bits, as divisors known when the code runs have for an inverse, takes a product of 64 bits, for which processors
 * have no instruction, or a slow one; its highest bit is a sum:
 *
 *   trunc((zext(a) * (2^32 + zext(b))) >> 32)  becomes    trunc((zext(a) * zext(b)) >> 32) + a */
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
    LLVMValueRef same = ptx_host_splatted(v), from = LLVMIsAZExtInst(v) ? LLVMGetOperand(v, 0) : NULL;
    if (from)
        return LLVMGetElementType(LLVMTypeOf(from)) == p->i32 ? from : NULL;
    if (!LLVMIsAConstant(v) || !same || !ptx_host_constant(same, &c) || c < 0 || c > UINT32_MAX)
        return NULL;
    return ptx_host_splat(LLVMConstInt(p->i32, (uint64_t)c, 0), p->lanes);
}

static bool is_halves(struct product *p, LLVMValueRef x)
{
    return LLVMIsATruncInst(x) && LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVectorTypeKind &&
           LLVMGetElementType(LLVMTypeOf(x)) == p->i32;
}

/* What it is the high halves of; or NULL. */
static LLVMValueRef shifted(LLVMValueRef x)
{
    int64_t by;
    LLVMValueRef amount = ptx_host_is_op(x, LLVMLShr) ? ptx_host_splatted(LLVMGetOperand(x, 1)) : NULL;
    return amount && ptx_host_constant(amount, &by) && by == 32 ? LLVMGetOperand(x, 0) : NULL;
}

/* Is it a product of two words in each lane?  Notes its factors, the first of which is no constant. */
static bool match_wide(struct product *p, LLVMValueRef wide)
{
    if (!ptx_host_is_op(wide, LLVMMul) || LLVMGetTypeKind(LLVMTypeOf(wide)) != LLVMVectorTypeKind ||
        LLVMGetElementType(LLVMTypeOf(wide)) != p->i64)
        return false;
    p->lanes = LLVMGetVectorSize(LLVMTypeOf(wide));
    if (p->lanes > MAX_LANES || p->lanes % 2)
        return false;
    p->a = narrow(p, LLVMGetOperand(wide, 0));
    p->c = narrow(p, LLVMGetOperand(wide, 1));
    return p->a && p->c && !LLVMIsAConstant(p->a);
}

/* Is it the high halves of a product? */
static bool match_high(struct product *p, LLVMValueRef x)
{
    LLVMValueRef wide = is_halves(p, x) ? shifted(LLVMGetOperand(x, 0)) : NULL;
    return wide && match_wide(p, wide);
}

static bool all_halves(struct product *p, LLVMValueRef wide)
{
    for (LLVMUseRef use = LLVMGetFirstUse(wide); use; use = LLVMGetNextUse(use))
        if (!is_halves(p, LLVMGetUser(use)))
            return false;
    return true;
}

/* Is nothing of the product used but its halves, the high ones among them? */
static bool only_halves(struct product *p, LLVMValueRef wide)
{
    bool high = false;
    for (LLVMUseRef use = LLVMGetFirstUse(wide); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        bool upper = shifted(user) == wide;
        if (upper ? !all_halves(p, user) : !is_halves(p, user))
            return false;
        high |= upper;
    }
    return high;
}

/* Low halves as a product of their own; true where x is no longer used. */
static bool narrow_low(struct product *p, LLVMValueRef x)
{
    LLVMValueRef wide = is_halves(p, x) ? LLVMGetOperand(x, 0) : NULL;
    if (!wide || !match_wide(p, wide) || !only_halves(p, wide))
        return false;
    LLVMPositionBuilderBefore(p->b, x);
    LLVMSetCurrentDebugLocation2(p->b, LLVMInstructionGetDebugLoc(x));
    LLVMReplaceAllUsesWith(x, LLVMBuildMul(p->b, p->a, p->c, ""));
    return true;
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
    return ptx_host_splat(LLVMConstInt(p->i64, c, 0), p->lanes / 2);
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

/* Does to each instruction what `step` does, which says whether that one is no longer used. */
static void each(struct product *p, LLVMModuleRef m, bool (*step)(struct product *p, LLVMValueRef x))
{
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (LLVMValueRef x = LLVMGetFirstInstruction(bb), next; x; x = next) {
                bool unused = step(p, x);
                next = LLVMGetNextInstruction(x);
                if (unused) /* what it was made of is left to be found unused */
                    LLVMInstructionEraseFromParent(x);
            }
}

static bool join_halves(struct product *p, LLVMValueRef x)
{
    LLVMValueRef low = match_high(p, x) ? find_low(p, x) : NULL;
    if (low)
        replace(p, x, low);
    return low != NULL;
}

/* The word that 2^32 is added to in a factor that is the same for all lanes; or NULL. */
static LLVMValueRef above_word(struct product *p, LLVMValueRef factor)
{
    int64_t c;
    LLVMValueRef sum = ptx_host_splatted(factor);
    if (!sum || !(ptx_host_is_op(sum, LLVMOr) || ptx_host_is_op(sum, LLVMAdd)) ||
        !ptx_host_constant(LLVMGetOperand(sum, 1), &c) || c != INT64_C(1) << 32)
        return NULL;
    LLVMValueRef wide = LLVMGetOperand(sum, 0);
    return LLVMIsAZExtInst(wide) && LLVMTypeOf(LLVMGetOperand(wide, 0)) == p->i32 ? LLVMGetOperand(wide, 0) : NULL;
}

static unsigned width_of(LLVMTypeRef type)
{
    return LLVMGetIntTypeWidth(LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type);
}

/* Is the upper half of each lane known to be 0, as of indices of 64 bits that are sums of a scalar and the lanes' numbers? */
static bool is_word(struct product *p, LLVMValueRef v)
{
    int64_t c;
    LLVMValueRef same = ptx_host_splatted(v);
    if (LLVMIsAConstant(v)) {
        for (unsigned i = 0; i < p->lanes; i++) {
            LLVMValueRef element = LLVMGetAggregateElement(v, i);
            if (!element || !ptx_host_constant(element, &c) || c < 0 || c > UINT32_MAX)
                return false;
        }
        return true;
    }
    if (ptx_host_is_op(v, LLVMOr))
        return is_word(p, LLVMGetOperand(v, 0)) && LLVMIsAConstant(LLVMGetOperand(v, 1)) && is_word(p, LLVMGetOperand(v, 1));
    LLVMValueRef wide = same ? same : v;
    return LLVMIsAZExtInst(wide) && width_of(LLVMTypeOf(LLVMGetOperand(wide, 0))) <= 32;
}

static bool used_once(LLVMValueRef x)
{
    LLVMUseRef use = LLVMGetFirstUse(x);
    return use && !LLVMGetNextUse(use);
}

static LLVMValueRef splat_wide(struct product *p, LLVMValueRef word)
{
    LLVMTypeRef words = LLVMVectorType(p->i32, p->lanes);
    LLVMValueRef v = LLVMBuildInsertElement(p->b, LLVMGetPoison(words), word, LLVMConstInt(p->i32, 0, 0), "");
    v = LLVMBuildShuffleVector(p->b, v, LLVMGetPoison(words), LLVMConstNull(words), "");
    return LLVMBuildZExt(p->b, v, LLVMVectorType(p->i64, p->lanes), "");
}

/* High halves of a product with a factor of 33 bits; true where x is no longer used. */
static bool narrow_factor(struct product *p, LLVMValueRef x)
{
    LLVMValueRef high = is_halves(p, x) ? LLVMGetOperand(x, 0) : NULL, wide = high ? shifted(high) : NULL;
    if (!wide || !used_once(wide) || !used_once(high) || !ptx_host_is_op(wide, LLVMMul) ||
        LLVMGetElementType(LLVMTypeOf(wide)) != p->i64)
        return false;
    p->lanes = LLVMGetVectorSize(LLVMTypeOf(wide));
    for (unsigned k = 0; k < 2 && p->lanes <= MAX_LANES; k++) {
        LLVMValueRef word = above_word(p, LLVMGetOperand(wide, k)), factor = LLVMGetOperand(wide, !k);
        if (!word || !is_word(p, factor))
            continue;
        LLVMPositionBuilderBefore(p->b, x);
        LLVMSetCurrentDebugLocation2(p->b, LLVMInstructionGetDebugLoc(x));
        LLVMValueRef part = LLVMBuildMul(p->b, factor, splat_wide(p, word), "");
        part = LLVMBuildLShr(p->b, part, LLVMGetOperand(high, 1), "");
        part = LLVMBuildTrunc(p->b, part, LLVMTypeOf(x), "");
        LLVMReplaceAllUsesWith(x, LLVMBuildAdd(p->b, part, LLVMBuildTrunc(p->b, factor, LLVMTypeOf(x), ""), ""));
        return true;
    }
    return false;
}

int ptx_run_products(struct ptx_pipeline *pipe)
{
    LLVMContextRef c = LLVMGetModuleContext(*pipe->module);
    struct product p = { .b = LLVMCreateBuilderInContext(c), .i32 = LLVMInt32TypeInContext(c), .i64 = LLVMInt64TypeInContext(c) };
    each(&p, *pipe->module, narrow_factor);
    if (pipe->on & PTX_PASS_AVX512)
        each(&p, *pipe->module, join_halves);
    each(&p, *pipe->module, narrow_low);
    LLVMDisposeBuilder(p.b);
    return AW_OK;
}
