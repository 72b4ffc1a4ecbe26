/* Numbers of 64 bits that a program holds in two registers of 32: machine code that was lifted does so with all of them.
 *
 * Where two phis (or selects) are only halves of one number, it gets a phi of its own: loops over addresses and sums of doubles
 * then look as they do where a program has registers of 64 bits.  And where two words are one number only as they are written,
 * because the same registers hold one elsewhere, they are written as words.  What no longer has a use is left for others to
 * remove. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/target.h"
#include "lower/intrinsic.h"
#include "lower/match.h"

#include "base/vec.h"

struct half_pair {
    LLVMValueRef lo, hi, wide;
};

struct halves {
    LLVMBuilderRef builder;
    LLVMTypeRef i32, i64;
    AW_VEC(struct half_pair) known; /* phis that were made */
    unsigned sums; /* of which each is looked into for a part of the last */
    bool failed;
};

enum { MAX_PHIS = 4096, MAX_DEPTH = 12, MAX_SUMS = 3, MAX_CHOICES = 4 };

/* The halves of (zext hi << 32) | zext lo. */
static bool is_join(struct halves *p, LLVMValueRef v, LLVMValueRef *ret_lo, LLVMValueRef *ret_hi)
{
    if (!is_op(v, LLVMOr) || LLVMTypeOf(v) != p->i64)
        return false;
    for (unsigned k = 0; k < 2; k++) {
        LLVMValueRef low = operand(v, k), high = operand(v, 1 - k);
        if (!is_op(low, LLVMZExt) || !is_op(high, LLVMShl) || !is_number(operand(high, 1), 32) ||
            !is_op(operand(high, 0), LLVMZExt))
            continue;
        *ret_lo = operand(low, 0);
        *ret_hi = operand(operand(high, 0), 0);
        if (LLVMTypeOf(*ret_lo) == p->i32 && LLVMTypeOf(*ret_hi) == p->i32)
            return true;
    }
    return false;
}

static bool is_high_half(LLVMValueRef hi, LLVMValueRef w)
{
    LLVMValueRef high = is_op(hi, LLVMTrunc) ? operand(hi, 0) : NULL;
    return high && (is_op(high, LLVMLShr) || is_op(high, LLVMAShr)) && operand(high, 0) == w && is_number(operand(high, 1), 32);
}

/* A value, or a longer or shorter one with the same low word. */
static LLVMValueRef low_word_of(LLVMValueRef v)
{
    for (;;) {
        bool cast = is_op(v, LLVMZExt) || is_op(v, LLVMSExt) || is_op(v, LLVMTrunc);
        LLVMValueRef of = cast ? operand(v, 0) : NULL;
        for (unsigned k = 0; k < 2 && (is_op(v, LLVMAdd) || is_op(v, LLVMOr)); k++)
            if (is_op(operand(v, k), LLVMShl) && LLVMIsAConstantInt(operand(operand(v, k), 1)) &&
                LLVMConstIntGetZExtValue(operand(operand(v, k), 1)) >= 32)
                of = operand(v, 1 - k);
        if (!of || (cast && (LLVMGetIntTypeWidth(LLVMTypeOf(of)) < 32 || LLVMGetIntTypeWidth(LLVMTypeOf(v)) < 32)))
            return v;
        v = of;
    }
}

/* Are the low words of two values, of 32 bits or more, the same, as far as `depth` operations tell? */
static bool same_low_word(LLVMValueRef a, LLVMValueRef b, unsigned depth)
{
    a = low_word_of(a);
    b = low_word_of(b);
    if (a == b)
        return true;
    if (LLVMIsAConstantInt(a) && LLVMIsAConstantInt(b))
        return (uint32_t)LLVMConstIntGetZExtValue(a) == (uint32_t)LLVMConstIntGetZExtValue(b);
    if (!depth || !LLVMIsAInstruction(a) || !is_op(b, LLVMGetInstructionOpcode(a)))
        return false;
    switch (LLVMGetInstructionOpcode(a)) {
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
        return same_low_word(operand(a, 0), operand(b, 0), depth - 1) && same_low_word(operand(a, 1), operand(b, 1), depth - 1);
    case LLVMShl: /* by less than the width of either */
        return LLVMIsAConstantInt(operand(a, 1)) && LLVMConstIntGetZExtValue(operand(a, 1)) < 32 &&
               is_number(operand(b, 1), LLVMConstIntGetZExtValue(operand(a, 1))) &&
               same_low_word(operand(a, 0), operand(b, 0), depth - 1);
    default: return false;
    }
}

/* The number of 64 bits whose high word this is; NULL. */
static LLVMValueRef number_above(struct halves *p, LLVMValueRef hi)
{
    LLVMValueRef high = is_op(hi, LLVMTrunc) ? operand(hi, 0) : NULL;
    bool found = high && (is_op(high, LLVMLShr) || is_op(high, LLVMAShr)) && is_number(operand(high, 1), 32) &&
                 LLVMTypeOf(high) == p->i64;
    return found ? operand(high, 0) : NULL;
}

/* Are they halves of a number of 64 bits, whose low word may have been made once more, shifted to the left?  As it is made before
 * a sum; NULL. */
static LLVMValueRef shifted(struct halves *p, LLVMValueRef lo, LLVMValueRef hi)
{
    LLVMValueRef high = is_op(hi, LLVMTrunc) ? operand(hi, 0) : NULL;
    if (!high || !is_op(high, LLVMLShr) || LLVMTypeOf(high) != p->i64 || !LLVMIsAConstantInt(operand(high, 1)) ||
        !is_op(lo, LLVMShl) || !LLVMIsAConstantInt(operand(lo, 1)))
        return NULL;
    unsigned long long right = LLVMConstIntGetZExtValue(operand(high, 1)), left = LLVMConstIntGetZExtValue(operand(lo, 1));
    if (!left || left > 31 || right != 32 - left || !same_low_word(operand(lo, 0), operand(high, 0), MAX_DEPTH))
        return NULL;
    return LLVMBuildShl(p->builder, operand(high, 0), LLVMConstInt(p->i64, left, 0), "");
}

/* Are they halves of one number shifted to the left, by less than 32? */
static bool is_funnel(LLVMValueRef lo, LLVMValueRef hi)
{
    return is_op(lo, LLVMShl) && ptx_intrinsic_called(hi) == PTX_INTRINSIC_FSHL && operand(hi, 1) == operand(lo, 0) &&
           operand(hi, 2) == operand(lo, 1) && LLVMIsAConstantInt(operand(lo, 1)) &&
           LLVMConstIntGetZExtValue(operand(lo, 1)) < 32;
}

static LLVMValueRef whole(struct halves *p, LLVMValueRef lo, LLVMValueRef hi);

/* 1 where a sum does not fit into 32 bits, else 0. */
static bool is_carry_of(LLVMValueRef v, LLVMValueRef sum)
{
    if (!is_op(v, LLVMSelect) || !is_number(operand(v, 1), 1) || !is_number(operand(v, 2), 0))
        return false;
    LLVMValueRef c = operand(v, 0);
    return is_op(c, LLVMICmp) && LLVMGetICmpPredicate(c) == LLVMIntUGT && operand(c, 0) == sum &&
           is_number(operand(c, 1), UINT32_MAX);
}

/* What is added up, at most `most`; 0: more. */
static unsigned terms_of(LLVMValueRef v, LLVMValueRef *ret, unsigned most)
{
    if (!most)
        return 0;
    if (!is_op(v, LLVMAdd)) {
        *ret = v;
        return 1;
    }
    unsigned n = terms_of(operand(v, 0), ret, most), m = n ? terms_of(operand(v, 1), ret + n, most - n) : 0;
    return m ? n + m : 0;
}

static LLVMValueRef joined(struct halves *p, LLVMValueRef lo, LLVMValueRef hi)
{
    LLVMValueRef high = LLVMBuildShl(p->builder, LLVMBuildZExt(p->builder, hi, p->i64, ""), LLVMConstInt(p->i64, 32, 0), "");
    return LLVMBuildOr(p->builder, high, LLVMBuildZExt(p->builder, lo, p->i64, ""), "");
}

/* Where one at least is whole; NULL. */
static LLVMValueRef sum_of_two(struct halves *p, LLVMValueRef lo, LLVMValueRef hi, LLVMValueRef lo2, LLVMValueRef hi2)
{
    LLVMValueRef a = whole(p, lo, hi), b = whole(p, lo2, hi2);
    if (!a && !b)
        return NULL;
    return LLVMBuildAdd(p->builder, a ? a : joined(p, lo, hi), b ? b : joined(p, lo2, hi2), "");
}

/* lo = a + b, hi = x + y + the carry: the sum of two numbers of 64 bits, of which one at least is whole somewhere; NULL. */
static LLVMValueRef with_carry(struct halves *p, LLVMValueRef lo, LLVMValueRef hi)
{
    LLVMValueRef sum = is_op(lo, LLVMTrunc) ? operand(lo, 0) : NULL, terms[3];
    if (!sum || !is_op(sum, LLVMAdd) || LLVMTypeOf(sum) != p->i64 || !is_op(operand(sum, 0), LLVMZExt) ||
        !is_op(operand(sum, 1), LLVMZExt) || p->sums == MAX_SUMS || terms_of(hi, terms, 3) != 3)
        return NULL;
    LLVMValueRef a = operand(operand(sum, 0), 0), b = operand(operand(sum, 1), 0);
    if (LLVMTypeOf(a) != p->i32 || LLVMTypeOf(b) != p->i32)
        return NULL;
    p->sums++;
    LLVMValueRef found = NULL;
    for (unsigned k = 0; k < 3 && !found; k++) {
        LLVMValueRef x = terms[(k + 1) % 3], y = terms[(k + 2) % 3];
        if (is_carry_of(terms[k], sum) && !(found = sum_of_two(p, a, x, b, y)))
            found = sum_of_two(p, a, y, b, x);
    }
    p->sums--;
    return found;
}

/* The number whose halves these are, where there is one or it is made of one by a sum or a shift; NULL. */
static LLVMValueRef whole(struct halves *p, LLVMValueRef lo, LLVMValueRef hi)
{
    if (LLVMIsAConstantInt(lo) && LLVMIsAConstantInt(hi))
        return LLVMConstInt(p->i64, LLVMConstIntGetZExtValue(hi) << 32 | LLVMConstIntGetZExtValue(lo), 0);
    if (is_op(hi, LLVMAShr) && operand(hi, 0) == lo && is_number(operand(hi, 1), 31)) /* before LLVM takes a part's sign */
        return LLVMBuildSExt(p->builder, lo, p->i64, "");
    LLVMValueRef moved = shifted(p, lo, hi);
    if (moved)
        return moved;
    if (is_funnel(lo, hi)) {
        LLVMValueRef w = whole(p, operand(lo, 0), operand(hi, 0));
        return w ? LLVMBuildShl(p->builder, w, LLVMBuildZExt(p->builder, operand(lo, 1), p->i64, ""), "") : NULL;
    }
    LLVMValueRef above = number_above(p, hi), sum = with_carry(p, lo, hi);
    if (sum)
        return sum;
    if (above && same_low_word(lo, above, MAX_DEPTH)) /* the low word was made a second time, by itself */
        return above;
    if (!is_op(lo, LLVMTrunc) || LLVMTypeOf(operand(lo, 0)) != p->i64)
        return NULL;
    LLVMValueRef w = operand(lo, 0);
    if (is_high_half(hi, w))
        return w;
    /* A product of 64 bits takes three of 32, the last of which is added to the high word alone. */
    for (unsigned k = 0; k < 2 && is_op(hi, LLVMAdd); k++)
        if (is_high_half(operand(hi, k), w)) {
            LLVMValueRef more = LLVMBuildZExt(p->builder, operand(hi, 1 - k), p->i64, "");
            return LLVMBuildAdd(p->builder, w, LLVMBuildShl(p->builder, more, LLVMConstInt(p->i64, 32, 0), ""), "");
        }
    return NULL;
}

/* Two elements of a vector that lie beside each other: they are loaded so. */
static LLVMValueRef of_vector(struct halves *p, LLVMValueRef lo, LLVMValueRef hi)
{
    if (!is_op(lo, LLVMExtractElement) || !is_op(hi, LLVMExtractElement) || operand(lo, 0) != operand(hi, 0))
        return NULL;
    LLVMValueRef v = operand(lo, 0), at = operand(lo, 1);
    unsigned n = LLVMGetVectorSize(LLVMTypeOf(v));
    if (!LLVMIsAConstantInt(at) || n % 2)
        return NULL;
    unsigned long long k = LLVMConstIntGetZExtValue(at);
    if (k % 2 || !is_number(operand(hi, 1), k + 1))
        return NULL;
    LLVMValueRef wide = LLVMBuildBitCast(p->builder, v, LLVMVectorType(p->i64, n / 2), "");
    return LLVMBuildExtractElement(p->builder, wide, LLVMConstInt(p->i32, k / 2, 0), "");
}

static LLVMValueRef join(struct halves *p, LLVMValueRef lo, LLVMValueRef hi, unsigned depth);

static LLVMValueRef phi_of(struct halves *p, LLVMValueRef lo, LLVMValueRef hi, unsigned depth)
{
    for (size_t k = 0; k < p->known.n; k++)
        if (p->known.at[k].lo == lo && p->known.at[k].hi == hi)
            return p->known.at[k].wide;
    if (p->known.n >= MAX_PHIS || depth > MAX_DEPTH)
        return NULL;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(p->builder);
    LLVMPositionBuilderBefore(p->builder, LLVMGetFirstInstruction(LLVMGetInstructionParent(lo)));
    LLVMValueRef phi = LLVMBuildPhi(p->builder, p->i64, "");
    if (!aw_vec_push(&p->known, (struct half_pair){ lo, hi, phi }))
        p->failed = true;
    unsigned n = LLVMCountIncoming(lo);
    for (unsigned k = 0; k < n; k++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(lo, k);
        LLVMValueRef in = NULL, high = NULL;
        for (unsigned j = 0; j < k; j++) /* an edge that is there twice has one value */
            if (LLVMGetIncomingBlock(phi, j) == from)
                in = LLVMGetIncomingValue(phi, j);
        for (unsigned j = 0; j < n; j++)
            if (LLVMGetIncomingBlock(hi, j) == from)
                high = LLVMGetIncomingValue(hi, j);
        LLVMPositionBuilderBefore(p->builder, LLVMGetBasicBlockTerminator(from));
        if (!in)
            in = join(p, LLVMGetIncomingValue(lo, k), high, depth + 1);
        LLVMAddIncoming(phi, &in, &from, 1);
    }
    LLVMPositionBuilderAtEnd(p->builder, here);
    return phi;
}

/* The number, made at the builder's place where there is none. */
static LLVMValueRef join(struct halves *p, LLVMValueRef lo, LLVMValueRef hi, unsigned depth)
{
    LLVMValueRef w = whole(p, lo, hi);
    if (w)
        return w;
    if (is_op(lo, LLVMPHI) && is_op(hi, LLVMPHI) && LLVMGetInstructionParent(lo) == LLVMGetInstructionParent(hi)) {
        LLVMBasicBlockRef here = LLVMGetInsertBlock(p->builder);
        LLVMValueRef end = LLVMGetBasicBlockTerminator(here);
        w = phi_of(p, lo, hi, depth);
        LLVMPositionBuilderBefore(p->builder, end);
        if (w)
            return w;
    }
    w = of_vector(p, lo, hi);
    if (w)
        return w;
    return joined(p, lo, hi);
}

/* ---- What is written */

/* Is it computed as a number of 32 bits, by one way at least, as far as `depth` choices tell?  No constant, and no half. */
static bool is_word(LLVMValueRef v, unsigned depth)
{
    bool phi = is_op(v, LLVMPHI);
    if (!phi && !is_op(v, LLVMSelect))
        return LLVMIsAInstruction(v) && !is_op(v, LLVMTrunc) && !is_op(v, LLVMExtractElement) && !is_op(v, LLVMExtractValue);
    unsigned n = phi ? LLVMCountIncoming(v) : 3;
    for (unsigned k = !phi; k < n && depth; k++)
        if (is_word(phi ? LLVMGetIncomingValue(v, k) : operand(v, k), depth - 1))
            return true;
    return false;
}

/* The two words that make a number only where it is written; false where it is one elsewhere, too. */
static bool is_two_words(struct halves *p, LLVMValueRef v, LLVMValueRef *ret_words)
{
    return is_join(p, v, &ret_words[0], &ret_words[1]) && is_word(ret_words[0], MAX_CHOICES) &&
           is_word(ret_words[1], MAX_CHOICES) && !whole(p, ret_words[0], ret_words[1]);
}

/* The words of a number of 64 bits or a vector of two, as it is put together; how many, 0: they are no such words. */
static unsigned words_of(struct halves *p, LLVMValueRef v, LLVMValueRef ret_words[4])
{
    if (LLVMTypeOf(v) == p->i64)
        return is_two_words(p, v, ret_words) ? 2 : 0;
    unsigned found = 0;
    for (; is_op(v, LLVMInsertElement); v = operand(v, 0)) {
        LLVMValueRef at = operand(v, 2);
        unsigned long long k = LLVMIsAConstantInt(at) ? LLVMConstIntGetZExtValue(at) : 2;
        if (k > 1 || found & 1u << k || LLVMTypeOf(operand(v, 1)) != p->i64 || !is_two_words(p, operand(v, 1), &ret_words[2 * k]))
            return 0;
        found |= 1u << k;
    }
    return found == 3 && LLVMGetVectorSize(LLVMTypeOf(v)) == 2 ? 4 : 0;
}

/* Words that are beside each other only as they are written together are written as words. */
static void split_store(struct halves *p, LLVMValueRef store)
{
    LLVMValueRef words[4];
    LLVMPositionBuilderBefore(p->builder, store);
    unsigned n = LLVMGetVolatile(store) || LLVMGetOrdering(store) != LLVMAtomicOrderingNotAtomic
                     ? 0 : words_of(p, operand(store, 0), words);
    if (!n)
        return;
    LLVMValueRef v = LLVMGetPoison(LLVMVectorType(p->i32, n));
    for (unsigned k = 0; k < n; k++)
        v = LLVMBuildInsertElement(p->builder, v, words[k], LLVMConstInt(p->i32, k, 0), "");
    LLVMSetOperand(store, 0, v);
}

static void function(struct halves *p, LLVMValueRef fn)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            if (is_op(i, LLVMStore))
                split_store(p, i);
    p->known.n = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
            LLVMValueRef lo, hi, w = NULL;
            if (!is_join(p, i, &lo, &hi))
                continue;
            LLVMPositionBuilderBefore(p->builder, i);
            w = whole(p, lo, hi);
            w = w ? w : of_vector(p, lo, hi);
            if (!w && is_op(lo, LLVMPHI) && is_op(hi, LLVMPHI) && LLVMGetInstructionParent(lo) == LLVMGetInstructionParent(hi))
                w = phi_of(p, lo, hi, 0);
            if (w && w != i)
                LLVMReplaceAllUsesWith(i, w);
        }
}

/* Whether some number's high word comes from elsewhere than its low one; before anything is simplified joins have other forms. */
static bool has_any(struct halves *p, LLVMModuleRef module)
{
    for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
                if (is_op(i, LLVMShl) && LLVMTypeOf(i) == p->i64 && is_number(operand(i, 1), 32))
                    return true;
    return false;
}

int ptx_target_pairs(LLVMModuleRef module, struct aw_buf *diags)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    struct halves p = { .builder = LLVMCreateBuilderInContext(context),
                        .i32 = LLVMInt32TypeInContext(context),
                        .i64 = LLVMInt64TypeInContext(context) };
    int status = AW_OK;
    if (has_any(&p, module)) {
        status = ptx_passes_run(module, NULL, "function(sroa,early-cse)", diags);
        for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn && status == AW_OK; fn = LLVMGetNextFunction(fn))
            function(&p, fn);
    }
    aw_vec_fini(&p.known);
    LLVMDisposeBuilder(p.builder);
    return p.failed ? AW_ERR_OUT_OF_MEMORY : status;
}
