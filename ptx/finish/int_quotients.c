/* Quotients and remainders of integers of 32 bits: one operation again, where machine code was lifted.
 *
 * There is no instruction for them.  NVIDIA's assembler takes an approximation of 1 / d, makes it a number of 32 bits that is not
 * too large, improves it once, and corrects the quotient that comes of it twice:
 *
 *     q0 = (uint)bits(bits(rcp(float(d), rounded up)) + 0xffffffe)
 *     m  = high half of (q0 << 32) + q0 * (-q0 * d)
 *     e  = high half of m * n
 *     r  = n - e * d
 *     if (r >= d) r -= d, e++
 *     if (r >= d) r -= d, e++          e is n / d, and r is n % d; for d = 0 they are 2 and n
 *
 * What is found is the last e or r, with all that it is made of; so it is replaced by a value that is always the same, and
 * whoever uses something in between still has it.  Signed ones are quotients of absolute values, with a sign behind. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/target.h"
#include "lower/intrinsic.h"
#include "lower/match.h"
#include "lower/simt.h"

typedef LLVMValueRef V;

enum { BIAS = 0xffffffe, MIN = 0x80000000u };

struct division {
    V n, d;
    bool remainder;
};

/* ---- What values are. */

static bool is_call(V v, enum ptx_intrinsic id) { return ptx_intrinsic_called(v) == id; }

static bool is_negative_of(V v, V x) { return is_op(v, LLVMSub) && is_number(operand(v, 0), 0) && operand(v, 1) == x; }

/* Both operands of an operation for which their order is the same: `one` is among them, *ret_other the other. */
static bool is_with(V v, LLVMOpcode op, V one, V *ret_other)
{
    if (!is_op(v, op) || (operand(v, 0) != one && operand(v, 1) != one))
        return false;
    *ret_other = operand(v, operand(v, 0) == one);
    return true;
}

/* -(x * y), the sign at either one. */
static bool is_negative_product(V v, V x, V y)
{
    V minus;
    return (is_with(v, LLVMMul, x, &minus) && is_negative_of(minus, y)) ||
           (is_with(v, LLVMMul, y, &minus) && is_negative_of(minus, x));
}

/* x - y. */
static bool is_difference(V v, V x, V y)
{
    V other;
    return (is_op(v, LLVMSub) && operand(v, 0) == x && operand(v, 1) == y) ||
           (is_with(v, LLVMAdd, x, &other) && is_negative_of(other, y));
}

/* A comparison without "not" around it, or NULL; *inverted changes where there was one. */
static V comparison(V c, bool *inverted)
{
    while (is_op(c, LLVMXor) && (is_number(operand(c, 1), 1) || is_number(operand(c, 0), 1))) {
        c = operand(c, is_number(operand(c, 0), 1));
        *inverted = !*inverted;
    }
    return is_op(c, LLVMICmp) ? c : NULL;
}

/* A value that is another one where r >= d (unsigned). */
struct correction {
    V r, d, then, otherwise;
};

static bool is_correction(V v, struct correction *ret)
{
    bool inverted = false;
    V c = is_op(v, LLVMSelect) ? comparison(operand(v, 0), &inverted) : NULL;
    if (!c)
        return false;
    LLVMIntPredicate p = LLVMGetICmpPredicate(c);
    bool swapped = p == LLVMIntUGT || p == LLVMIntULE; /* d > r, d <= r */
    if (!swapped && p != LLVMIntUGE && p != LLVMIntULT)
        return false;
    inverted ^= p == LLVMIntUGT || p == LLVMIntULT;
    *ret = (struct correction){ operand(c, swapped), operand(c, !swapped), operand(v, inverted ? 2 : 1),
                                operand(v, inverted ? 1 : 2) };
    return true;
}

/* The high half of a product of 64 bits, and what may be added to it. */
static V high_half_of(V v)
{
    V shifted = is_op(v, LLVMTrunc) ? operand(v, 0) : NULL;
    return shifted && is_op(shifted, LLVMLShr) && is_number(operand(shifted, 1), 32) ? operand(shifted, 0) : NULL;
}

/* zext x * zext y, of 32 bits each. */
static bool is_wide_product(V v, V *ret_x, V *ret_y)
{
    if (!v || !is_op(v, LLVMMul) || !is_op(operand(v, 0), LLVMZExt) || !is_op(operand(v, 1), LLVMZExt))
        return false;
    *ret_x = operand(operand(v, 0), 0);
    *ret_y = operand(operand(v, 1), 0);
    unsigned bits = 0;
    for (unsigned k = 0; k < 2; k++)
        bits |= LLVMGetIntTypeWidth(LLVMTypeOf(k ? *ret_y : *ret_x));
    return bits == 32;
}

/* ---- The approximation. */

/* x where subnormal floats of it are zeros; as it is, if it is not flushed. */
static V without_flush(V v)
{
    V other = NULL;
    if (is_call(v, PTX_INTRINSIC_CANONICALIZE))
        return operand(v, 0);
    if (is_op(v, LLVMSelect) && is_call(operand(v, 1), PTX_INTRINSIC_COPYSIGN))
        other = operand(v, 2);
    return other && operand(operand(v, 1), 1) == other ? other : v;
}

/* Bits of v, whose significant ones are dropped behind the first 24: (v >> k) << k. */
static bool is_cut(V cut, V v)
{
    return is_op(cut, LLVMShl) && is_op(operand(cut, 0), LLVMLShr) && operand(operand(cut, 0), 0) == v &&
           operand(operand(cut, 0), 1) == operand(cut, 1) && is_call(operand(cut, 1), PTX_INTRINSIC_USUB_SAT);
}

/* v = |x|: x; else NULL. */
static V absolute(V v)
{
    V x = is_call(v, PTX_INTRINSIC_ABS) ? operand(v, 0) : NULL;
    if (x || !is_op(v, LLVMSelect) || !is_op(operand(v, 0), LLVMICmp))
        return x;
    V c = operand(v, 0);
    bool negative = LLVMGetICmpPredicate(c) == LLVMIntSLT && is_number(operand(c, 1), 0);
    x = operand(c, 0);
    return negative && operand(v, 2) == x && is_negative_of(operand(v, 1), x) ? x : NULL;
}

/* The condition that a number is negative, of its absolute value; NULL. */
static V sign_of(V magnitude) { return is_op(magnitude, LLVMSelect) ? operand(magnitude, 0) : NULL; }

/* float(d), rounded up, as cvt.rp.f32.u32 and .s32 are lowered (ptx/lower/cvt.c): one is added to the float's bits where some
 * were cut off, and where d is not negative.  Signed it will do as well, for any d: from 2^31 on q0 is 0 then, and n / d is 1 at
 * most. */
static bool is_float_of(V f, V d)
{
    V bits = is_op(f, LLVMBitCast) ? operand(f, 0) : NULL, sign = NULL, up;
    if (bits && is_op(bits, LLVMOr)) {
        sign = is_op(operand(bits, 1), LLVMSelect) ? operand(operand(bits, 1), 0) : NULL;
        if (!sign || !is_number(operand(operand(bits, 1), 1), MIN) || !is_number(operand(operand(bits, 1), 2), 0))
            return false;
        bits = operand(bits, 0);
    }
    if (!bits || !is_op(bits, LLVMAdd) || !is_op(operand(bits, 0), LLVMBitCast) || !is_op(operand(bits, 1), LLVMZExt))
        return false;
    up = operand(operand(bits, 1), 0);
    if (sign) {
        bool inverted = false;
        if (!is_op(up, LLVMAnd) || comparison(operand(up, 1), &inverted) != sign || !inverted)
            return false;
        up = operand(up, 0);
    }
    V whole = operand(operand(bits, 0), 0), cut = is_op(whole, LLVMUIToFP) ? operand(whole, 0) : NULL;
    if (!cut || !is_op(up, LLVMICmp) || LLVMGetICmpPredicate(up) != LLVMIntNE || operand(up, 0) != cut)
        return false;
    V of = operand(up, 1);
    return is_cut(cut, of) && (sign ? absolute(of) == d && sign_of(of) == sign : of == d);
}

/* q0 of d. */
static bool is_first(V q0, V d)
{
    V f = is_call(q0, PTX_INTRINSIC_FPTOUI_SAT) ? without_flush(operand(q0, 0)) : NULL;
    V bits = f && is_op(f, LLVMBitCast) ? operand(f, 0) : NULL;
    if (!bits || !is_op(bits, LLVMAdd) || !is_number(operand(bits, 1), BIAS) || !is_op(operand(bits, 0), LLVMBitCast))
        return false;
    V rcp = operand(operand(bits, 0), 0);
    enum ptx_simt id = LLVMIsACallInst(rcp) ? ptx_simt_called(rcp) : PTX_SIMT_NONE;
    return (id == PTX_SIMT_RCP_F32 || id == PTX_SIMT_RCP_FTZ_F32) && is_float_of(operand(rcp, 0), d);
}

/* m of d. */
static bool is_inverse(V m, V d)
{
    V sum = high_half_of(m), x, y;
    for (unsigned k = 0; sum && is_op(sum, LLVMAdd) && k < 2; k++) {
        V shifted = operand(sum, 1 - k);
        if (!is_wide_product(operand(sum, k), &x, &y) || !is_op(shifted, LLVMShl) || !is_number(operand(shifted, 1), 32) ||
            !is_op(operand(shifted, 0), LLVMZExt))
            continue;
        V q0 = operand(operand(shifted, 0), 0), step = x == q0 ? y : y == q0 ? x : NULL;
        if (step && is_negative_product(step, q0, d) && is_first(q0, d))
            return true;
    }
    return false;
}

/* e, of which *ret_n is divided by d. */
static bool is_estimate(V e, V d, V *ret_n)
{
    V x, y;
    if (!is_wide_product(high_half_of(e), &x, &y))
        return false;
    *ret_n = is_inverse(x, d) ? y : x;
    return is_inverse(x, d) || is_inverse(y, d);
}

/* ---- Quotients and remainders. */

/* r before corrections: n - e * d. */
static bool is_rest(V r, V e, V n, V d)
{
    V product;
    if (is_op(r, LLVMSub) && operand(r, 0) == n)
        return is_with(operand(r, 1), LLVMMul, d, &product) && product == e;
    return is_with(r, LLVMAdd, n, &product) && is_negative_product(product, e, d);
}

/* e of r = n - e * d; NULL. */
static V estimate_in(V r, V d)
{
    V e;
    if (is_op(r, LLVMSub) && is_with(operand(r, 1), LLVMMul, d, &e))
        return e;
    for (unsigned k = 0; k < 4 && is_op(r, LLVMAdd); k++) {
        V product = operand(r, k / 2);
        if (!is_op(product, LLVMMul))
            continue;
        V minus = operand(product, k % 2), other = operand(product, 1 - k % 2);
        if (is_negative_of(minus, d))
            return other;
        if (other == d && is_op(minus, LLVMSub) && is_number(operand(minus, 0), 0))
            return operand(minus, 1);
    }
    return NULL;
}

/* The remainder with one correction behind it: *ret_e is its estimate. */
static bool is_corrected_rest(V r1, V d, V *ret_e, V *ret_n)
{
    struct correction c;
    if (!is_correction(r1, &c) || c.d != d || c.otherwise != c.r || !is_difference(c.then, c.r, d))
        return false;
    *ret_e = estimate_in(c.r, d);
    return *ret_e && is_estimate(*ret_e, d, ret_n) && is_rest(c.r, *ret_e, *ret_n, d);
}

static bool is_one_more(V v, V x) { return is_op(v, LLVMAdd) && operand(v, 0) == x && is_number(operand(v, 1), 1); }

static bool is_division(V v, struct division *ret)
{
    struct correction last, first;
    V e;
    if (LLVMTypeOf(v) != LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(v))) || !is_correction(v, &last) ||
        !is_corrected_rest(last.r, last.d, &e, &ret->n))
        return false;
    ret->d = last.d;
    ret->remainder = last.otherwise == last.r && is_difference(last.then, last.r, last.d);
    if (ret->remainder)
        return true;
    return is_one_more(last.then, last.otherwise) && is_correction(last.otherwise, &first) && first.d == last.d &&
           is_rest(first.r, e, ret->n, ret->d) && first.otherwise == e && is_one_more(first.then, e);
}

/* ---- In their place. */

struct int_place {
    LLVMBuilderRef b;
    LLVMTypeRef i32;
};

static V number(const struct int_place *p, uint32_t n) { return LLVMConstInt(p->i32, n, 0); }

static V equal(const struct int_place *p, V x, uint32_t n) { return LLVMBuildICmp(p->b, LLVMIntEQ, x, number(p, n), ""); }

static V unsigned_division(const struct int_place *p, const struct division *q)
{
    V zero = equal(p, q->d, 0), safe = LLVMBuildSelect(p->b, zero, number(p, 1), q->d, "");
    if (q->remainder)
        return LLVMBuildSelect(p->b, zero, q->n, LLVMBuildURem(p->b, q->n, safe, ""), "");
    return LLVMBuildSelect(p->b, zero, number(p, 2), LLVMBuildUDiv(p->b, q->n, safe, ""), "");
}

/* Is v -u where x < 0, and else u? */
static bool has_sign_of(V v, V u, V *ret_x)
{
    bool inverted = false;
    V c = is_op(v, LLVMSelect) ? comparison(operand(v, 0), &inverted) : NULL;
    if (!c || !is_number(operand(c, 1), 0))
        return false;
    LLVMIntPredicate p = LLVMGetICmpPredicate(c);
    if (p != LLVMIntSLT && p != LLVMIntSGE)
        return false;
    inverted ^= p == LLVMIntSGE;
    *ret_x = operand(c, 0);
    return operand(v, inverted ? 1 : 2) == u && is_negative_of(operand(v, inverted ? 2 : 1), u);
}

/* The signed one of which `u` has the absolute value: the operands, where v is that. */
static bool is_signed(V v, V u, const struct division *q, V *ret_n, V *ret_d)
{
    V x, d, n = absolute(q->n);
    *ret_n = n;
    *ret_d = absolute(q->d);
    if (!n || !*ret_d || !has_sign_of(v, u, &x))
        return false;
    return q->remainder ? x == n : is_with(x, LLVMXor, n, &d) && d == *ret_d;
}

/* Wraps like the machine's: MIN / -1 is MIN, and of a divisor 0 what the corrections make. */
static V signed_division(const struct int_place *p, bool remainder, V n, V d)
{
    V zero = equal(p, d, 0), over = LLVMBuildAnd(p->b, equal(p, n, MIN), equal(p, d, UINT32_MAX), "");
    V safe = LLVMBuildSelect(p->b, LLVMBuildOr(p->b, zero, over, ""), number(p, 1), d, "");
    if (remainder)
        return LLVMBuildSelect(p->b, zero, n, LLVMBuildSRem(p->b, n, safe, ""), "");
    V below = LLVMBuildICmp(p->b, LLVMIntSLT, n, number(p, 0), "");
    V two = LLVMBuildSelect(p->b, below, number(p, (uint32_t)-2), number(p, 2), "");
    return LLVMBuildSelect(p->b, zero, two, LLVMBuildSDiv(p->b, n, safe, ""), "");
}

/* Signed users of the division first: they look at what it was. */
static void replace_signed(const struct int_place *p, V u, const struct division *q)
{
    V n, d, next;
    for (LLVMUseRef use = LLVMGetFirstUse(u); use; use = LLVMGetNextUse(use)) {
        next = LLVMGetUser(use);
        if (!is_op(next, LLVMSelect) || !is_signed(next, u, q, &n, &d))
            continue;
        LLVMPositionBuilderBefore(p->b, next);
        V s = signed_division(p, q->remainder, n, d);
        if (s != next)
            LLVMReplaceAllUsesWith(next, s);
    }
}

static void function(const struct int_place *p, LLVMValueRef fn)
{
    struct division q;
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn); block; block = LLVMGetNextBasicBlock(block))
        for (V i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
            if (!is_op(i, LLVMSelect) || !is_division(i, &q))
                continue;
            replace_signed(p, i, &q);
            LLVMPositionBuilderBefore(p->b, i);
            V made = unsigned_division(p, &q);
            LLVMReplaceAllUsesWith(i, made);
        }
}

/* Is there a q0? */
static bool has_any(LLVMModuleRef module)
{
    for (V fn = LLVMGetFirstFunction(module); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
            for (V i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
                if (is_op(i, LLVMAdd) && is_number(operand(i, 1), BIAS))
                    return true;
    return false;
}

int ptx_target_int_quotients(LLVMModuleRef module, struct aw_buf *diags)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    if (!has_any(module))
        return AW_OK;
    int status = ptx_passes_run(module, NULL, "function(sroa,early-cse)", diags);
    struct int_place p = { LLVMCreateBuilderInContext(context), LLVMInt32TypeInContext(context) };
    for (V fn = LLVMGetFirstFunction(module); fn && status == AW_OK; fn = LLVMGetNextFunction(fn))
        function(&p, fn);
    LLVMDisposeBuilder(p.b);
    return status;
}
