/* Addresses that follow no rule, but are those of neighbours in most warps: indices that are taken apart into a row and a place
 * in it (`i / n`, `i % n`), held within bounds (`min(i, n - 1)`) or reflected at them.  A guess, by what they are computed of;
 * whoever uses it for code asks at run time (emit/likely_row.c).
 *
 * Guessed is that lanes do not come to the end of a row or to a bound: a quotient is then the same for all, a remainder is as far
 * apart as what is divided, a minimum is the operand in which lanes differ, and the last dimension's stride is one element. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include <math.h>

#include "base/map.h"

/* An index of 25 dimensions, PyTorch's most, that is taken apart: some ten operations for each, and sums as deep. */
enum { DEPTH = 200, STEPS = 1200, MAX_WAYS = 32 /* that meet in a phi */,
       ROUND_STEPS = 16 /* additions in a loop's round */, UNKNOWN_LENGTH = 24 /* of a row, in elements: a guess */,
       WALK_DEPTH = 12 /* of a sum */,
       RARE = 16 /* rows whose end so many vectors never meet, but for one: not worth code */ };

struct guessed {
    bool known;
    bool parts;   /* has something that need not be so been guessed? */
    bool scaled;  /* is a part of it known but for a factor, such as a dimension's stride? */
    bool counted; /* is a part of it what a loop counts, each lane its own? */
    bool weak;    /* does it hold for some lanes only: nothing is known of a choice's other way, or rows are short? */
    int64_t step; /* how far a lane is from the one before it */
    float change; /* the same before quotients were rounded down */
    float ends;   /* of rows, for each lane, at most */
};

static const struct guessed unknown;

struct guess {
    struct simt_fn *f;
    int steps;
    struct aw_ptrmap place; /* value -> 1 + where its guess is in done[]: ways that part and meet ask for the same */
    int n;
    struct guessed done[STEPS];
};

static struct guessed guess(struct guess *g, LLVMValueRef v, int depth);

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

/* Of a quotient that is computed with: where it changes, a row ends. */
static struct guessed used(struct guessed a)
{
    if (!a.step) {
        a.ends = fmaxf(a.ends, fabsf(a.change));
        a.change = 0;
    }
    return a;
}

static struct guessed both(struct guessed a, struct guessed b, int64_t step)
{
    return (struct guessed){ a.known && b.known, a.parts || b.parts, a.scaled || b.scaled, a.counted || b.counted,
                             a.weak || b.weak,
                             step, (float)step, fmaxf(a.ends, b.ends) };
}

/* Of values that a choice is made between: the step that goes on, rather than a bound or a reflection. */
static struct guessed either(struct guessed a, struct guessed b)
{
    if (!a.known && !b.known)
        return unknown;
    struct guessed r = a.known && b.known ? both(a, b, a.step > b.step ? a.step : b.step) : a.known ? a : b;
    if (a.known && b.known)
        r.change = a.step > b.step || (a.step == b.step && fabsf(a.change) > fabsf(b.change)) ? a.change : b.change;
    bool one_way = !a.known || !b.known;
    r.weak |= one_way;
    r.parts |= one_way || a.step != b.step;
    return r;
}

/* Is `v` the phi plus values that are the same for all lanes, as what an index becomes from round to round? */
static bool goes_on(struct guess *g, LLVMValueRef v, LLVMValueRef phi)
{
    for (int i = 0; i < ROUND_STEPS && v != phi; i++) {
        if (!LLVMIsAInstruction(v) || LLVMGetInstructionOpcode(v) != LLVMAdd)
            return false;
        LLVMValueRef x = LLVMGetOperand(v, 0), y = LLVMGetOperand(v, 1);
        if (!simt_uniform(g->f, x) && !simt_uniform(g->f, y))
            return false;
        v = simt_uniform(g->f, y) ? x : y;
    }
    return v == phi;
}

/* Around a loop, lanes are where they are after different rounds; but an index that goes on in common steps leaves those that are
 * still there as far apart as they were. */
static struct guessed around(struct guess *g, LLVMValueRef phi, int depth)
{
    for (unsigned i = 0; i < 2 && LLVMCountIncoming(phi) == 2; i++)
        if (goes_on(g, LLVMGetIncomingValue(phi, i), phi)) {
            struct guessed r = guess(g, LLVMGetIncomingValue(phi, !i), depth);
            r.counted = true;
            return r;
        }
    return unknown;
}

/* Two ways that lanes went, or more. */
static struct guessed joined(struct guess *g, LLVMValueRef phi, int depth)
{
    unsigned n = LLVMCountIncoming(phi);
    if (n > MAX_WAYS)
        return unknown;
    if (simt_loop_headed(g->f, simt_block_of(g->f, LLVMGetInstructionParent(phi))) >= 0)
        return around(g, phi, depth);
    struct guessed r = guess(g, LLVMGetIncomingValue(phi, 0), depth);
    for (unsigned i = 1; i < n; i++)
        r = either(r, guess(g, LLVMGetIncomingValue(phi, i), depth));
    return r;
}

/* Do most warps come to the end of a row of `length`? */
static bool ends_within(const struct guess *g, uint64_t length, int64_t step)
{
    return length < (uint64_t)g->f->u->lanes * (step < 0 ? 0 - (uint64_t)step : (uint64_t)step);
}

/* Of a constant divisor, also as a shift has it; else as if there were no end of it. */
static uint64_t row_length(LLVMValueRef v)
{
    int64_t c;
    LLVMOpcode op = LLVMGetInstructionOpcode(v);
    if (!simt_int_const(LLVMGetOperand(v, 1), &c) || c < 0)
        return UINT64_MAX;
    return op != LLVMLShr && op != LLVMAShr ? (uint64_t)c : 1ull << (c & 63);
}

/* How much of a row a lane is that far from the one before it. */
static float of_row(float change, uint64_t length)
{
    return length ? change / (length == UINT64_MAX ? (float)UNKNOWN_LENGTH : (float)length) : 0;
}

static struct guessed divided(struct guess *g, LLVMValueRef v, int depth, bool remainder)
{
    struct guessed b = guess(g, LLVMGetOperand(v, 1), depth);
    if (!b.known || b.step)
        return unknown;
    struct guessed a = guess(g, LLVMGetOperand(v, 0), depth);
    if (!a.known && (remainder || !is_steady(g, LLVMGetOperand(v, 0), depth)))
        return unknown;
    b.scaled |= a.known && a.scaled;
    b.weak |= !a.known || a.weak || ends_within(g, row_length(v), a.step);
    b.parts |= !a.known || a.parts || a.scaled || a.step;
    b.step = remainder ? a.step : 0;
    float rows = a.known ? of_row(a.change, row_length(v)) : 0;
    b.change = remainder ? (float)a.step : rows;
    b.ends = fmaxf(b.ends, a.known ? a.ends : 0);
    b.ends = remainder ? fmaxf(b.ends, fabsf(rows)) : b.ends;
    return b;
}

static struct guessed gep(struct guess *g, LLVMValueRef v, int depth)
{
    if (LLVMGetNumOperands(v) != 2)
        return unknown;
    struct guessed base = used(guess(g, LLVMGetOperand(v, 0), depth)), x = used(guess(g, LLVMGetOperand(v, 1), depth));
    int64_t size = (int64_t)LLVMABISizeOfType(g->f->u->in_layout, LLVMGetGEPSourceElementType(v));
    return both(base, x, base.step + x.step * size);
}

/* Is that a mask of low bits?  Or of all but low bits, of which steps of `step` change none? */
static bool is_mask(int64_t c, int64_t step)
{
    uint64_t below = c < 0 ? -(uint64_t)c - 1 : (uint64_t)c;
    return c && !(below & (below + 1)) && (c > 0 || !((uint64_t)step & below));
}

/* What is computed of two values. */
static struct guessed of_two(struct guess *g, LLVMValueRef v, LLVMOpcode op, int depth)
{
    int64_t c = 1;
    LLVMValueRef x = LLVMGetOperand(v, 0), y = LLVMGetOperand(v, 1);
    struct guessed a = used(guess(g, x, depth)), b = used(guess(g, y, depth)), r = both(a, b, 0);
    if (!r.known)
        return unknown;
    bool constant = simt_int_const(y, &c) || (op == LLVMMul && simt_int_const(x, &c));
    switch (op) {
    case LLVMAdd: r.step = a.step + b.step; break;
    case LLVMSub: r.step = a.step - b.step; break;
    case LLVMOr:
        r.step = a.step + b.step;
        r.parts |= r.step != 0;
        r.known = !a.step || !b.step;
        break;
    case LLVMMul:
        r.step = constant ? (a.step + b.step) * c : 0;
        r.scaled |= !constant && !a.step != !b.step;
        r.known = constant || !a.step || !b.step;
        break;
    case LLVMShl:
        r.step = constant ? (int64_t)((uint64_t)a.step << (c & 63)) : 0;
        r.known = constant || (!a.step && !b.step);
        break;
    case LLVMAnd:
        r.step = a.step;
        r.parts |= a.step != 0;
        r.weak |= c > 0 && ends_within(g, (uint64_t)c + 1, a.step);
        r.ends = c > 0 ? fmaxf(r.ends, fabsf(of_row(a.change, (uint64_t)c + 1))) : r.ends;
        r.known = !b.step && constant && is_mask(c, a.step);
        break;
    default: return unknown;
    }
    r.change = (float)r.step;
    return r;
}

static struct guessed call(struct guess *g, LLVMValueRef v, int depth)
{
    enum ptx_intrinsic id = ptx_intrinsic_called(v);
    bool minmax = id == PTX_INTRINSIC_SMAX || id == PTX_INTRINSIC_SMIN || id == PTX_INTRINSIC_UMAX || id == PTX_INTRINSIC_UMIN;
    return minmax ? either(guess(g, LLVMGetOperand(v, 0), depth), guess(g, LLVMGetOperand(v, 1), depth)) : unknown;
}

static struct guessed compute(struct guess *g, LLVMValueRef v, int depth)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(v);
    struct guessed a;
    switch (op) {
    case LLVMSDiv: case LLVMUDiv: case LLVMLShr: case LLVMAShr:
        return divided(g, v, depth, false);
    case LLVMSRem: case LLVMURem:
        return divided(g, v, depth, true);
    case LLVMSelect:
        return either(guess(g, LLVMGetOperand(v, 1), depth), guess(g, LLVMGetOperand(v, 2), depth));
    case LLVMPHI:
        return joined(g, v, depth);
    case LLVMTrunc: case LLVMSExt: case LLVMZExt: case LLVMFreeze: case LLVMIntToPtr: case LLVMPtrToInt: case LLVMAddrSpaceCast:
        return guess(g, LLVMGetOperand(v, 0), depth);
    case LLVMGetElementPtr:
        return gep(g, v, depth);
    case LLVMLoad: /* of a row's own number, as in a list of rows: where it is the same for all, so is what is read */
        a = used(guess(g, LLVMGetOperand(v, 0), depth));
        return a.step || LLVMGetVolatile(v) ? unknown : a;
    case LLVMCall:
        return call(g, v, depth);
    default:
        return LLVMGetNumOperands(v) == 2 ? of_two(g, v, op, depth) : unknown;
    }
}

/* Of lanes at known distances: is it, but for a constant, what a loop counts? */
static bool is_counter(struct simt_fn *f, LLVMValueRef v)
{
    int64_t c;
    while (LLVMIsACastInst(v) || (LLVMIsAInstruction(v) && LLVMGetInstructionOpcode(v) == LLVMAdd &&
                                  simt_int_const(LLVMGetOperand(v, 1), &c)))
        v = LLVMGetOperand(v, 0);
    return LLVMIsAPHINode(v) && simt_loop_headed(f, simt_block_of(f, LLVMGetInstructionParent(v))) >= 0;
}

/* Not known: no idea. */
static struct guessed guess(struct guess *g, LLVMValueRef v, int depth)
{
    const struct simt_val *val = simt_get(g->f, v);
    struct guessed r = { .known = true };
    if (val && val->kind == SIMT_AFFINE && val->off) {
        r.step = val->off[1] - val->off[0];
        for (int i = 2; i < g->f->u->lanes; i++)
            if (val->off[i] - val->off[i - 1] != r.step)
                return unknown;
        r.change = (float)r.step;
        r.counted = is_counter(g->f, v);
    }
    if (!val || val->kind == SIMT_AFFINE)
        return r;
    size_t place = (size_t)(uintptr_t)aw_ptrmap_find(&g->place, v);
    if (place)
        return g->done[place - 1];
    if (!depth || --g->steps < 0 || !LLVMIsAInstruction(v))
        return unknown;
    r = compute(g, v, depth - 1);
    if (g->n < STEPS && aw_ptrmap_put(&g->place, v, (void *)(uintptr_t)(g->n + 1)))
        g->done[g->n++] = r;
    return r;
}

static struct guessed guess_of(struct simt_fn *f, LLVMValueRef v)
{
    struct guess g; /* done[] is long, and filled as it is needed */
    g.f = f;
    g.steps = STEPS;
    g.place = (struct aw_ptrmap){ 0 };
    g.n = 0;
    struct guessed r = guess(&g, v, DEPTH);
    aw_ptrmap_fini(&g.place);
    return r;
}

/* Rows beyond the first one that a vector may come to. */
static int more_rows(const struct simt_fn *f, const struct guessed *r)
{
    float most = (float)(f->u->lanes - 1) * r->ends;
    return most * RARE <= 1 || most > SIMT_MORE_ROWS ? 0 : (int)ceilf(most);
}

/* Does a loop add a constant to it? */
static bool counts_on(struct simt_fn *f, LLVMValueRef phi)
{
    bool ret = false;
    for (unsigned i = 0; i < LLVMCountIncoming(phi) && simt_loop_headed(f, simt_block_of(f, LLVMGetInstructionParent(phi))) >= 0;
         i++) {
        LLVMValueRef x = LLVMGetIncomingValue(phi, i);
        int64_t c;
        bool sum = LLVMIsAInstruction(x) && LLVMGetNumOperands(x) == 2 && LLVMGetOperand(x, 0) == phi &&
                   (LLVMIsABinaryOperator(x) || LLVMIsAGetElementPtrInst(x));
        ret |= sum && simt_int_const(LLVMGetOperand(x, 1), &c);
    }
    return ret;
}

/* Does a term of the sum go on by a constant from one round of a loop to the next?  Each lane walks along a row of its own then,
 * if lanes are apart by a stride; else a loop that lanes share goes along a dimension, whose stride is likely one element. */
static bool walks(struct simt_fn *f, LLVMValueRef v, int depth)
{
    int64_t c;
    if (!LLVMIsAInstruction(v) || !depth)
        return false;
    LLVMValueRef x = LLVMGetNumOperands(v) ? LLVMGetOperand(v, 0) : NULL;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMPHI:
        return counts_on(f, v);
    case LLVMMul: case LLVMShl:
        return simt_int_const(LLVMGetOperand(v, 1), &c) && walks(f, x, depth - 1);
    case LLVMAdd: case LLVMSub: case LLVMOr: case LLVMGetElementPtr:
        return walks(f, x, depth - 1) || (LLVMGetNumOperands(v) == 2 && walks(f, LLVMGetOperand(v, 1), depth - 1));
    case LLVMTrunc: case LLVMSExt: case LLVMZExt: case LLVMFreeze: case LLVMIntToPtr: case LLVMPtrToInt: case LLVMAddrSpaceCast:
        return walks(f, x, depth - 1);
    default:
        return false;
    }
}

bool simt_likely_row(struct simt_fn *f, LLVMValueRef ptr, uint64_t size, struct simt_likely *ret)
{
    struct guessed r = simt_varying(f, ptr) ? guess_of(f, ptr) : unknown;
    ret->scaled = r.scaled && !r.step;
    ret->more = r.step ? more_rows(f, &r) : 0;
    bool along = ret->scaled && r.counted && !walks(f, ptr, WALK_DEPTH);
    return r.known && (along || (r.parts && (r.step == (int64_t)size || ret->scaled)));
}

bool simt_likely_scaled(struct simt_fn *f, LLVMValueRef v)
{
    struct guessed r = simt_varying(f, v) ? guess_of(f, v) : unknown;
    return r.known && r.scaled;
}

bool simt_likely_apart_alike(struct simt_fn *f, LLVMValueRef x, LLVMValueRef y)
{
    struct guessed a = guess_of(f, x), b = guess_of(f, y);
    return a.known && b.known && !a.scaled && !b.scaled && !a.weak && !b.weak && a.step == b.step;
}
