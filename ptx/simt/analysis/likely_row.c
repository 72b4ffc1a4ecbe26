/* Addresses that follow no rule, but are those of neighbours in most warps: indices that are taken apart into a row and a place
 * in it (`i / n`, `i % n`), held within bounds (`min(i, n - 1)`) or reflected at them.  A guess, by what they are computed of;
 * whoever uses it asks at run time (emit/likely_row.c).
 *
 * Guessed is that lanes do not come to the end of a row or to a bound: a quotient is then the same for all, a remainder is as far
 * apart as what is divided, a minimum is the operand in which lanes differ, and the last dimension's stride is one element. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"

enum { DEPTH = 24, STEPS = 300 };

struct guess {
    struct simt_fn *f;
    int steps;
    bool parts; /* has something that need not be so been guessed? */
    bool scaled; /* is a part of it known but for a factor, such as a dimension's stride? */
};

static bool guess(struct guess *g, LLVMValueRef v, int depth, int64_t *ret);

/* Is it computed of nothing but indices and values of all lanes?  What was read from memory has no order to guess. */
static bool is_steady(struct guess *g, LLVMValueRef v, int depth)
{
    const struct simt_val *val = simt_get(g->f, v);
    if (!val || val->kind == SIMT_AFFINE)
        return true;
    if (!LLVMIsAInstruction(v) || LLVMIsALoadInst(v) || LLVMIsAPHINode(v) || LLVMIsACallInst(v) || !depth || --g->steps < 0)
        return false;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(v); i++)
        if (!is_steady(g, LLVMGetOperand(v, i), depth - 1))
            return false;
    return true;
}

/* Of values that a choice is made between: the step that goes on, rather than a bound or a reflection. */
static bool either(struct guess *g, LLVMValueRef x, LLVMValueRef y, int depth, int64_t *ret)
{
    int64_t a, b;
    bool scaled = g->scaled, has_a = guess(g, x, depth, &a);
    scaled = g->scaled = has_a ? g->scaled : scaled; /* what was found on the way to nothing is forgotten */
    bool has_b = guess(g, y, depth, &b);
    g->scaled = has_b ? g->scaled : scaled;
    if (!has_a && !has_b)
        return false;
    *ret = !has_b || (has_a && a > b) ? a : b;
    g->parts |= !has_a || !has_b || a != b;
    return true;
}

static bool divided(struct guess *g, LLVMValueRef v, int depth, bool remainder, int64_t *ret)
{
    int64_t a, b;
    if (!guess(g, LLVMGetOperand(v, 1), depth, &b) || b)
        return false;
    bool known = guess(g, LLVMGetOperand(v, 0), depth, &a);
    if (!known && (remainder || !is_steady(g, LLVMGetOperand(v, 0), depth)))
        return false;
    g->parts |= !known || a;
    *ret = remainder ? a : 0;
    return true;
}

static bool gep(struct guess *g, LLVMValueRef v, int depth, int64_t *ret)
{
    int64_t sum, x;
    LLVMTypeRef type = LLVMGetGEPSourceElementType(v);
    if (LLVMGetNumOperands(v) != 2 || !guess(g, LLVMGetOperand(v, 0), depth, &sum) || !guess(g, LLVMGetOperand(v, 1), depth, &x))
        return false;
    *ret = sum + x * (int64_t)LLVMABISizeOfType(g->f->u->in_layout, type);
    return true;
}

/* What is computed of two values. */
static bool of_two(struct guess *g, LLVMValueRef v, LLVMOpcode op, int depth, int64_t *ret)
{
    int64_t a, b, c = 1;
    LLVMValueRef x = LLVMGetOperand(v, 0), y = LLVMGetOperand(v, 1);
    if (!guess(g, x, depth, &a) || !guess(g, y, depth, &b))
        return false;
    bool constant = simt_int_const(y, &c) || (op == LLVMMul && simt_int_const(x, &c));
    switch (op) {
    case LLVMAdd: *ret = a + b; return true;
    case LLVMSub: *ret = a - b; return true;
    case LLVMOr: *ret = a + b; g->parts |= a || b; return !a || !b;
    case LLVMMul: *ret = constant ? (a + b) * c : 0; g->scaled |= !constant && !a != !b; return constant || !a || !b;
    case LLVMShl: *ret = constant ? (int64_t)((uint64_t)a << (c & 63)) : 0; return constant || (!a && !b);
    case LLVMAnd: *ret = a; g->parts |= a != 0; return !b && constant && c > 0 && !(c & (c + 1));
    default: return false;
    }
}

static bool call(struct guess *g, LLVMValueRef v, int depth, int64_t *ret)
{
    enum ptx_intrinsic id = ptx_intrinsic_called(v);
    bool minmax = id == PTX_INTRINSIC_SMAX || id == PTX_INTRINSIC_SMIN || id == PTX_INTRINSIC_UMAX || id == PTX_INTRINSIC_UMIN;
    return minmax && either(g, LLVMGetOperand(v, 0), LLVMGetOperand(v, 1), depth, ret);
}

static bool compute(struct guess *g, LLVMValueRef v, int depth, int64_t *ret)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(v);
    switch (op) {
    case LLVMSDiv: case LLVMUDiv: case LLVMLShr: case LLVMAShr:
        return divided(g, v, depth, false, ret);
    case LLVMSRem: case LLVMURem:
        return divided(g, v, depth, true, ret);
    case LLVMSelect:
        return either(g, LLVMGetOperand(v, 1), LLVMGetOperand(v, 2), depth, ret);
    case LLVMPHI: /* two ways that lanes went; around a loop, lanes are where they are after different rounds */
        return LLVMCountIncoming(v) == 2 && simt_loop_headed(g->f, simt_block_of(g->f, LLVMGetInstructionParent(v))) < 0 &&
               either(g, LLVMGetIncomingValue(v, 0), LLVMGetIncomingValue(v, 1), depth, ret);
    case LLVMTrunc: case LLVMSExt: case LLVMZExt: case LLVMFreeze: case LLVMIntToPtr: case LLVMPtrToInt: case LLVMAddrSpaceCast:
        return guess(g, LLVMGetOperand(v, 0), depth, ret);
    case LLVMGetElementPtr:
        return gep(g, v, depth, ret);
    case LLVMLoad: /* of a row's own number, as in a list of rows: where it is the same for all, so is what is read */
        return guess(g, LLVMGetOperand(v, 0), depth, ret) && !*ret && !LLVMGetVolatile(v);
    case LLVMCall:
        return call(g, v, depth, ret);
    default:
        return LLVMGetNumOperands(v) == 2 && of_two(g, v, op, depth, ret);
    }
}

/* How far a lane is from the one before it; false: no idea. */
static bool guess(struct guess *g, LLVMValueRef v, int depth, int64_t *ret)
{
    const struct simt_val *val = simt_get(g->f, v);
    *ret = 0;
    if (val && val->kind == SIMT_AFFINE && val->off) {
        *ret = val->off[1] - val->off[0];
        for (int i = 2; i < g->f->u->lanes; i++)
            if (val->off[i] - val->off[i - 1] != *ret)
                return false;
    }
    if (!val || val->kind == SIMT_AFFINE)
        return true;
    return depth && --g->steps >= 0 && LLVMIsAInstruction(v) && compute(g, v, depth - 1, ret);
}

bool simt_likely_row(struct simt_fn *f, LLVMValueRef ptr, uint64_t size)
{
    struct guess g = { .f = f, .steps = STEPS };
    int64_t step;
    bool known = simt_varying(f, ptr) && guess(&g, ptr, DEPTH, &step) && g.parts;
    return known && (step == (int64_t)size || (g.scaled && !step));
}
