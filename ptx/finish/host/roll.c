/* Loops that NVIDIA's assembler unrolled, with rests behind them, are one loop again, where machine code was lifted.
 *
 *   if (n - i > 3)                                     do {
 *       do { B; B; B; B; i += 4 } while (i < n - 3);       B; i += 1;
 *   if (n - i > 1) { B; B; i += 2 }         becomes    } while (i < n);
 *   if (i < n || neither did) B;
 *
 * Lanes that come to the rests from different rounds of the loop are at different places there, and what they read lies side by
 * side no more; in one loop each round is a row of memory, and lanes that have fewer rounds are off in the last ones.  B may be
 * a loop's body that the compiler unrolled before: simt/rewrite/reroll.c joins that one with its own remainder.
 *
 * Proved here, of the code and not of its form: that the loop and each rest make of the values that go through them what so many
 * times the last rest makes of them, operation by operation and bit by bit, and that the conditions are those above.  Nothing on
 * the way writes memory or waits, so the order of the loads among each other does not matter.  Where an index might wrap, which
 * the assembler takes for impossible, the code that was there runs: seldom, so it is marked as such and made small
 * (simt/rewrite/serialise.c).
 *
 * Early, while the copies are alike: LLVM's passes simplify across their borders. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/host.h"
#include "lower/copy.h"
#include "lower/match.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_STATES = 16,      /* values that go from round to round */
    MAX_RESTS = 4,
    MAX_TIMES = 32,       /* rounds of the last rest in one of the loop */
    MAX_LOOP = 4000,      /* instructions of the last rest, times its rounds in the loop */
    MAX_DEPTH = 8,        /* of a sum */
    MAX_STRIDE = 1 << 20, /* of the index */
    MIN_LOOP = 16,        /* instructions: below that nothing is unrolled */
};

typedef LLVMValueRef V;
typedef LLVMBasicBlockRef B;

/* A value that goes through the loop and the rests. */
struct roll_state {
    V begin;       /* before them */
    V next;        /* what the last rest makes of it; NULL: nobody asks */
    bool linear;   /* it advances by a constant: ... */
    uint64_t step; /* ... this, in one round of the last rest */
};

/* The loop, or a rest. */
struct roll_part {
    B head, body;        /* where its values join, and what it does: one block, in the loop */
    int times;           /* rounds of the last rest that it is worth */
    V state[MAX_STATES]; /* each one's phi in `head`; NULL: it has none */
    V started;           /* whether no part before it ran; NULL in the loop */
};

struct roll {
    LLVMBuilderRef b;
    B before, enter, after; /* if (..) { enter; loop } rests; after */
    struct roll_part parts[1 + MAX_RESTS];
    int n_parts, n_states, index; /* the index is one of the states */
    struct roll_state states[MAX_STATES];
    V bound;               /* what the index goes up to */
    int64_t stride, step;  /* of the index, in the loop and in the last rest */
    struct aw_ptrmap number; /* instruction of the last rest -> 1 + its place */
    int n_body;
    V *met; /* of the part at hand: what an instruction of the last rest is there in each round, by round and place */
};

static struct roll_part *last(struct roll *r) { return &r->parts[r->n_parts - 1]; }

/* ---- Blocks */

/* How many edges lead to a block; ret[]: where the first two come from. */
static int edges_to(B bb, B ret[2])
{
    int n = 0;
    for (LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(bb)); u; u = LLVMGetNextUse(u)) {
        V user = LLVMGetUser(u);
        if (!LLVMIsATerminatorInst(user))
            continue;
        if (n < 2)
            ret[n] = LLVMGetInstructionParent(user);
        n++;
    }
    return n;
}

static bool has_edges(B bb, B from, B other)
{
    B in[2];
    return edges_to(bb, in) == 2 && ((in[0] == from && in[1] == other) || (in[0] == other && in[1] == from));
}

static bool has_edge(B bb, B from)
{
    B in[2];
    return edges_to(bb, in) == 1 && in[0] == from;
}

static bool branches(B bb)
{
    V t = LLVMGetBasicBlockTerminator(bb);
    return LLVMIsABranchInst(t) && LLVMIsConditional(t) && LLVMGetSuccessor(t, 0) != LLVMGetSuccessor(t, 1);
}

static bool goes_to(B bb, B to)
{
    V t = LLVMGetBasicBlockTerminator(bb);
    return LLVMIsABranchInst(t) && !LLVMIsConditional(t) && LLVMGetSuccessor(t, 0) == to;
}

static B successor(B bb, unsigned way) { return LLVMGetSuccessor(LLVMGetBasicBlockTerminator(bb), way); }

static bool in_parts(const struct roll *r, V v)
{
    if (!LLVMIsAInstruction(v))
        return false;
    B bb = LLVMGetInstructionParent(v);
    for (int k = 0; k < r->n_parts; k++)
        if (bb == r->parts[k].head || bb == r->parts[k].body)
            return true;
    return bb == r->enter;
}

/* if (..) { body } to; what comes after `head`. */
static bool find_rest(struct roll *r, B head)
{
    for (unsigned way = 0; way < 2 && branches(head); way++) {
        B body = successor(head, way), to = successor(head, 1 - way);
        if (!has_edge(body, head) || !goes_to(body, to) || r->n_parts > MAX_RESTS)
            continue;
        r->parts[r->n_parts++] = (struct roll_part){ .head = head, .body = body };
        r->after = to;
        return true;
    }
    return false;
}

static bool find_parts(struct roll *r, B loop)
{
    B in[2];
    unsigned back = branches(loop) && successor(loop, 1) == loop;
    if (!branches(loop) || successor(loop, back) != loop || edges_to(loop, in) != 2)
        return false;
    B join = successor(loop, 1 - back);
    r->enter = in[in[0] == loop];
    if (!goes_to(r->enter, loop) || edges_to(r->enter, in) != 1)
        return false;
    r->before = in[0];
    if (!branches(r->before) || !has_edges(join, loop, r->before))
        return false;
    r->parts[0] = (struct roll_part){ .head = loop, .body = loop };
    r->n_parts = 1;
    while (find_rest(r, join) && has_edges(r->after, join, last(r)->body))
        join = r->after;
    return r->n_parts > 1;
}

/* ---- Sums */

/* A value of at most 64 bits: another one and a constant; of both the low bits that are asked for. */
struct roll_sum {
    V base; /* NULL: the constant alone */
    uint64_t at;
};

static uint64_t low_bits(uint64_t x, unsigned bits) { return bits < 64 ? x & ((UINT64_C(1) << bits) - 1) : x; }

static bool same_sum(struct roll_sum a, struct roll_sum b, unsigned bits)
{
    return a.base == b.base && !low_bits(a.at - b.at, bits);
}

/* In bits, of an integer that a sum may be; else 0. */
static unsigned width_of(V v)
{
    LLVMTypeRef type = LLVMTypeOf(v);
    unsigned width = LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type) : 0;
    return width <= 64 ? width : 0;
}

/* The halves of (hi << 32) | zext lo, each of 32 bits. */
static bool is_join(V v, V *ret_lo, V *ret_hi)
{
    for (unsigned k = 0; k < 2 && is_op(v, LLVMOr) && width_of(v) == 64; k++) {
        V low = operand(v, k), high = operand(v, 1 - k);
        if (!is_op(low, LLVMZExt) || !is_op(high, LLVMShl) || !is_number(operand(high, 1), 32) ||
            !is_op(operand(high, 0), LLVMZExt))
            continue;
        *ret_lo = operand(low, 0);
        *ret_hi = operand(operand(high, 0), 0);
        return width_of(*ret_lo) == 32 && width_of(*ret_hi) == 32;
    }
    return false;
}

static struct roll_sum sum_of(V v, unsigned bits, int depth)
{
    struct roll_sum s = { .base = v };
    int64_t c;
    V lo, hi;
    if (ptx_host_constant(v, &c))
        return (struct roll_sum){ .at = (uint64_t)c };
    if (!depth || !LLVMIsAInstruction(v))
        return s;
    if ((is_op(v, LLVMAdd) || is_op(v, LLVMSub)) && ptx_host_constant(operand(v, 1), &c)) {
        s = sum_of(operand(v, 0), bits, depth - 1);
        s.at += is_op(v, LLVMAdd) ? (uint64_t)c : -(uint64_t)c;
    } else if (is_op(v, LLVMTrunc) || ((is_op(v, LLVMZExt) || is_op(v, LLVMSExt)) && bits <= width_of(operand(v, 0)))) {
        s = sum_of(operand(v, 0), bits, depth - 1);
    } else if (is_join(v, &lo, &hi)) { /* a carry went from the low half to the high one, or the low half is all that is asked */
        struct roll_sum low = sum_of(lo, 32, depth - 1);
        V high = is_op(hi, LLVMTrunc) ? operand(hi, 0) : hi;
        if (bits <= 32)
            return low;
        if (is_op(high, LLVMLShr) && is_number(operand(high, 1), 32) && width_of(high) == 64) {
            struct roll_sum all = sum_of(operand(high, 0), 64, depth - 1);
            s = same_sum(all, low, 32) ? all : s;
        }
    }
    return s;
}

static struct roll_sum sum(V v) { return sum_of(v, width_of(v), MAX_DEPTH); }

/* Is `v` that, and a constant? */
static bool is_beyond(V v, V base, int64_t at)
{
    struct roll_sum a = sum(v), b = sum(base);
    b.at += (uint64_t)at;
    return same_sum(a, b, width_of(v));
}

/* ---- Conditions */

static V opposite_of(V cond) { return is_op(cond, LLVMXor) && is_number(operand(cond, 1), 1) ? operand(cond, 0) : NULL; }

/* The condition under which a block goes to `to`: *ret_holds says whether it holds then. */
static V way_to(B from, B to, bool *ret_holds)
{
    V t = LLVMGetBasicBlockTerminator(from), cond = LLVMGetCondition(t);
    *ret_holds = LLVMGetSuccessor(t, 0) == to;
    for (V not; (not = opposite_of(cond)); cond = not)
        *ret_holds = !*ret_holds;
    return cond;
}

/* x < y, of numbers with a sign. */
static bool is_less(V cond, bool holds, V *ret_x, V *ret_y)
{
    if (!LLVMIsAICmpInst(cond) || width_of(operand(cond, 0)) != 32)
        return false;
    LLVMIntPredicate p = LLVMGetICmpPredicate(cond);
    bool turned = p == LLVMIntSGT || p == LLVMIntSLE;
    *ret_x = operand(cond, turned);
    *ret_y = operand(cond, !turned);
    return holds ? p == LLVMIntSLT || p == LLVMIntSGT : p == LLVMIntSGE || p == LLVMIntSLE;
}

static bool is_negated(V v) { return is_op(v, LLVMSub) && is_number(operand(v, 0), 0); }

/* x - y, also as -y + x. */
static bool is_difference(V v, V *ret_x, V *ret_y)
{
    if (is_op(v, LLVMSub)) {
        *ret_x = operand(v, 0);
        *ret_y = operand(v, 1);
        return true;
    }
    for (unsigned k = 0; k < 2 && is_op(v, LLVMAdd); k++) {
        if (!is_negated(operand(v, k)))
            continue;
        *ret_x = operand(v, 1 - k);
        *ret_y = operand(operand(v, k), 1);
        return true;
    }
    return false;
}

/* bound - index > *ret_most, to get from `from` to `to`. */
static bool asks_way(B from, B to, V *ret_bound, V *ret_index, int64_t *ret_most)
{
    bool holds;
    V most, way, cond = way_to(from, to, &holds);
    return is_less(cond, holds, &most, &way) && ptx_host_constant(most, ret_most) && is_difference(way, ret_bound, ret_index);
}

/* The loop's index, its bound, and how often the last rest is in it. */
static bool find_index(struct roll *r)
{
    B loop = r->parts[0].body;
    bool holds;
    V x, y, begin, cond = way_to(loop, loop, &holds);
    int64_t most;
    if (!asks_way(r->before, r->enter, &r->bound, &begin, &most) || !is_less(cond, holds, &x, &y) ||
        !is_beyond(y, r->bound, -most) || in_parts(r, r->bound))
        return false;
    for (r->index = 0; r->index < r->n_states; r->index++) {
        V phi = r->parts[0].state[r->index];
        struct roll_sum s = width_of(phi) == 32 ? sum(x) : (struct roll_sum){ 0 };
        if (s.base != phi || r->states[r->index].begin != begin || ptx_phi_value(phi, loop) != x)
            continue;
        r->stride = (int64_t)s.at;
        r->step = r->stride - most;
        if (r->stride < 2 || r->stride > MAX_STRIDE || r->step < 1 || r->stride % r->step || r->stride / r->step > MAX_TIMES)
            return false;
        r->parts[0].times = (int)(r->stride / r->step);
        return true;
    }
    return false;
}

/* index < bound, or no part before has run. */
static bool asks_last(struct roll *r, const struct roll_part *p)
{
    bool holds;
    V x, y, cond = way_to(p->head, p->body, &holds);
    if (!holds || !is_op(cond, LLVMOr))
        return false;
    for (unsigned k = 0; k < 2; k++)
        if (operand(cond, k) == p->started && is_less(operand(cond, 1 - k), true, &x, &y))
            return x == p->state[r->index] && y == r->bound;
    return false;
}

/* Are the rests asked for so that no more than one round is left for each to see to, and at most one for the last? */
static bool find_times(struct roll *r)
{
    int left = r->parts[0].times - 1; /* at most */
    for (int k = 1; k < r->n_parts - 1; k++) {
        struct roll_part *p = &r->parts[k];
        V bound, index;
        int64_t most;
        if (!asks_way(p->head, p->body, &bound, &index, &most) || bound != r->bound || index != p->state[r->index] || most < 0 ||
            most % r->step || most / r->step >= left)
            return false;
        p->times = (int)(most / r->step) + 1;
        left = left - p->times > p->times - 1 ? left - p->times : p->times - 1;
    }
    last(r)->times = 1;
    return left == 1 && asks_last(r, last(r));
}

/* ---- Values that go through */

static bool is_bool(V v, bool value) { return width_of(v) == 1 && LLVMIsAConstantInt(v) && is_number(v, value); }

/* What the loop's head begins with. */
static bool list_states(struct roll *r)
{
    struct roll_part *loop = &r->parts[0];
    for (V phi = LLVMGetFirstInstruction(loop->head); LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi)) {
        if (r->n_states == MAX_STATES)
            return false;
        loop->state[r->n_states] = phi;
        r->states[r->n_states++] = (struct roll_state){ .begin = ptx_phi_value(phi, r->enter) };
    }
    return true;
}

/* The state that comes to a part's phi from the one before it and from the way past that; -1: none. */
static int state_of(const struct roll *r, int part, V phi)
{
    const struct roll_part *before = &r->parts[part - 1], *p = &r->parts[part];
    V past = ptx_phi_value(phi, part == 1 ? r->before : before->head), through = ptx_phi_value(phi, before->body);
    for (int k = 0; k < r->n_states; k++) {
        if (p->state[k] || past != (part == 1 ? r->states[k].begin : before->state[k]))
            continue;
        if (part > 1 || through == ptx_phi_value(r->parts[0].state[k], r->parts[0].body))
            return k;
    }
    return -1;
}

static void join_states(struct roll *r, int part)
{
    const struct roll_part *before = &r->parts[part - 1];
    struct roll_part *p = &r->parts[part];
    for (V phi = LLVMGetFirstInstruction(p->head); LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi)) {
        V past = ptx_phi_value(phi, part == 1 ? r->before : before->head);
        if (is_bool(ptx_phi_value(phi, before->body), false) && (part == 1 ? is_bool(past, true) : past == before->started)) {
            p->started = phi;
            continue;
        }
        int k = state_of(r, part, phi);
        if (k >= 0)
            p->state[k] = phi;
    }
}

/* Low halves of numbers that have phis of their own are taken of those: the assembler adds to halves one after the other. */
static void join_halves(struct roll *r, B head)
{
    for (V phi = LLVMGetFirstInstruction(head), next; LLVMIsAPHINode(phi); phi = next) {
        next = LLVMGetNextInstruction(phi);
        for (V wide = LLVMGetFirstInstruction(head); LLVMIsAPHINode(wide) && width_of(phi) == 32;
             wide = LLVMGetNextInstruction(wide)) {
            bool half = width_of(wide) == 64;
            for (unsigned i = 0; half && i < LLVMCountIncoming(phi); i++)
                half = same_sum(sum(LLVMGetIncomingValue(phi, i)),
                                sum_of(ptx_phi_value(wide, LLVMGetIncomingBlock(phi, i)), 32, MAX_DEPTH), 32);
            if (!half)
                continue;
            LLVMPositionBuilderBefore(r->b, ptx_behind_phis(phi));
            LLVMReplaceAllUsesWith(phi, LLVMBuildTrunc(r->b, wide, LLVMTypeOf(phi), ""));
            LLVMInstructionEraseFromParent(phi);
            break;
        }
    }
}

/* ---- The same work */

static bool has_attribute(V callee, const char *name, size_t len, uint64_t value)
{
    LLVMAttributeRef a = LLVMGetEnumAttributeAtIndex(callee, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                                     LLVMGetEnumAttributeKindForName(name, len));
    return a && LLVMGetEnumAttributeValue(a) == value;
}

/* A call that only computes, of one lane. */
static bool computes(V call)
{
    V callee = LLVMGetCalledValue(call);
    unsigned convergent = LLVMGetEnumAttributeKindForName("convergent", 10);
    return LLVMIsAFunction(callee) && has_attribute(callee, "memory", 6, 0) && has_attribute(callee, "willreturn", 10, 0) &&
           !has_attribute(callee, "convergent", 10, 0) && !LLVMGetNumOperandBundles(call) &&
           !LLVMGetCallSiteEnumAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, convergent);
}

static bool may_be_copied(V x)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMAdd: case LLVMSub: case LLVMMul: case LLVMShl: case LLVMLShr: case LLVMAShr: case LLVMAnd: case LLVMOr: case LLVMXor:
    case LLVMUDiv: case LLVMSDiv: case LLVMURem: case LLVMSRem:
    case LLVMFAdd: case LLVMFSub: case LLVMFMul: case LLVMFDiv: case LLVMFNeg:
    case LLVMZExt: case LLVMSExt: case LLVMTrunc: case LLVMFPExt: case LLVMFPTrunc: case LLVMSIToFP: case LLVMUIToFP:
    case LLVMFPToSI: case LLVMFPToUI: case LLVMBitCast: case LLVMIntToPtr: case LLVMPtrToInt:
    case LLVMICmp: case LLVMFCmp: case LLVMSelect: case LLVMExtractElement: case LLVMInsertElement: return true;
    case LLVMLoad: return ptx_host_plain_load(x);
    case LLVMCall: return computes(x);
    default: return false;
    }
}

static bool same_metadata(V x, V y)
{
    size_t n, m;
    LLVMValueMetadataEntry *a = LLVMInstructionGetAllMetadataOtherThanDebugLoc(x, &n),
                           *b = LLVMInstructionGetAllMetadataOtherThanDebugLoc(y, &m);
    bool same = n == m;
    for (unsigned i = 0; same && i < n; i++)
        same = LLVMValueMetadataEntriesGetKind(a, i) == LLVMValueMetadataEntriesGetKind(b, i) &&
               LLVMValueMetadataEntriesGetMetadata(a, i) == LLVMValueMetadataEntriesGetMetadata(b, i);
    LLVMDisposeValueMetadataEntries(a);
    LLVMDisposeValueMetadataEntries(b);
    return same;
}

/* What an instruction is beside its opcode, types and operands. */
static bool same_kind(V x, V y)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMAdd: case LLVMSub: case LLVMMul: case LLVMShl:
        return LLVMGetNSW(x) == LLVMGetNSW(y) && LLVMGetNUW(x) == LLVMGetNUW(y);
    case LLVMLShr: case LLVMAShr: case LLVMUDiv: case LLVMSDiv: return LLVMGetExact(x) == LLVMGetExact(y);
    case LLVMZExt: return LLVMGetNNeg(x) == LLVMGetNNeg(y);
    case LLVMOr: return LLVMGetIsDisjoint(x) == LLVMGetIsDisjoint(y);
    case LLVMICmp: return LLVMGetICmpPredicate(x) == LLVMGetICmpPredicate(y);
    case LLVMFCmp: return LLVMGetFCmpPredicate(x) == LLVMGetFCmpPredicate(y);
    case LLVMLoad: return LLVMGetAlignment(x) == LLVMGetAlignment(y);
    default: return true;
    }
}

static bool same_but_operands(V x, V y)
{
    if (LLVMGetInstructionOpcode(x) != LLVMGetInstructionOpcode(y) || LLVMTypeOf(x) != LLVMTypeOf(y) ||
        LLVMGetNumOperands(x) != LLVMGetNumOperands(y) || !may_be_copied(y) || !same_kind(x, y) || !same_metadata(x, y))
        return false;
    if (LLVMCanValueUseFastMathFlags(x) && LLVMGetFastMathFlags(x) != LLVMGetFastMathFlags(y))
        return false;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++)
        if (LLVMTypeOf(operand(x, i)) != LLVMTypeOf(operand(y, i)))
            return false;
    return true;
}

/* Registers are bits, which are read as now this and now that. */
static V bits_of(V v)
{
    while (is_op(v, LLVMBitCast))
        v = operand(v, 0);
    return v;
}

/* The state whose phi in front of the last rest this is; -1. */
static int state_at_last(struct roll *r, V v)
{
    for (int k = 0; k < r->n_states; k++)
        if (last(r)->state[k] == v)
            return k;
    return -1;
}

/* Are both the same number of steps from where they begin?  -1: x is no sum of an index or address. */
static int is_in_step(struct roll *r, const struct roll_part *p, int round, V x, V y)
{
    unsigned bits = width_of(x);
    struct roll_sum a = bits ? sum(x) : (struct roll_sum){ 0 };
    int k = a.base ? state_at_last(r, a.base) : -1;
    if (k < 0 || !r->states[k].linear)
        return -1;
    a.at += (uint64_t)round * r->states[k].step;
    a.base = p->state[k];
    return width_of(y) == bits && same_sum(a, sum(y), bits);
}

/* May the first two operands change places?  Which NaN comes out of two is nobody's promise, here as in LLVM. */
static bool commutes(V x)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMAdd: case LLVMMul: case LLVMAnd: case LLVMOr: case LLVMXor: case LLVMFAdd: case LLVMFMul: return true;
    case LLVMCall: return ptx_intrinsic_called(x) == PTX_INTRINSIC_FMA || ptx_intrinsic_called(x) == PTX_INTRINSIC_MAXIMUMNUM ||
                          ptx_intrinsic_called(x) == PTX_INTRINSIC_MINIMUMNUM || ptx_intrinsic_has(x, PTX_INTRINSIC_INT_MINMAX);
    default: return false;
    }
}

/* As matches(), without looking into operations: goes back to where a state was made, *x in *round.  -1: both are operations of
 * the parts, if anything. */
static int is_known(struct roll *r, const struct roll_part *p, int *round, V *x, V *y)
{
    for (;; --*round) {
        *x = bits_of(*x);
        *y = bits_of(*y);
        int step = is_in_step(r, p, *round, *x, *y), k = state_at_last(r, *x);
        if (step >= 0)
            return step;
        if (k < 0)
            return in_parts(r, *x) ? -1 : *x == *y;
        if (!*round)
            return p->state[k] == *y;
        if (!r->states[k].next)
            return false;
        *x = r->states[k].next;
    }
}

/* As matches(), but of the last operation alone. */
static bool is_like(struct roll *r, const struct roll_part *p, int round, V x, V y)
{
    int known = is_known(r, p, &round, &x, &y);
    return known >= 0 ? known : LLVMIsAInstruction(y) && LLVMGetInstructionOpcode(x) == LLVMGetInstructionOpcode(y);
}

static bool is_turned(struct roll *r, const struct roll_part *p, int round, V x, V y)
{
    V a = operand(x, 0), b = operand(x, 1), c = operand(y, 0), d = operand(y, 1);
    return commutes(x) && !(is_like(r, p, round, a, c) && is_like(r, p, round, b, d)) && is_like(r, p, round, a, d) &&
           is_like(r, p, round, b, c);
}

/* Is y, of another part, what x of the last rest is in its round number `round` from where that part begins? */
static bool matches(struct roll *r, const struct roll_part *p, int round, V x, V y)
{
    int known = is_known(r, p, &round, &x, &y);
    if (known >= 0)
        return known;
    size_t place = (size_t)(uintptr_t)aw_ptrmap_find(&r->number, x);
    if (!place || !LLVMIsAInstruction(y) || LLVMGetInstructionParent(y) != p->body)
        return false;
    V *met = &r->met[(size_t)round * (size_t)r->n_body + place - 1];
    if (*met)
        return *met == y;
    *met = y;
    if (!same_but_operands(x, y))
        return false;
    bool turned = is_turned(r, p, round, x, y);
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++)
        if (!matches(r, p, round, operand(x, i), operand(y, turned && i < 2 ? 1 - i : i)))
            return false;
    return true;
}

/* What a part makes of a state. */
static V next_of(const struct roll *r, int part, int k)
{
    const struct roll_part *p = &r->parts[part];
    V phi = part ? r->parts[part + 1].state[k] : p->state[k];
    return phi ? ptx_phi_value(phi, p->body) : NULL;
}

/* Which states advance by constants, and by how much in a round. */
static bool find_steps(struct roll *r)
{
    for (int k = 0; k < r->n_states; k++) {
        V phi = r->parts[0].state[k], next = next_of(r, 0, k);
        struct roll_sum s = width_of(phi) ? sum(next) : (struct roll_sum){ 0 };
        r->states[k].linear = s.base == phi;
        if (s.base != phi)
            continue;
        int64_t by = width_of(phi) == 32 ? (int32_t)s.at : (int64_t)s.at;
        r->states[k].step = (uint64_t)(by / r->parts[0].times);
        if (by % r->parts[0].times)
            return false;
    }
    return true;
}

/* What comes out behind the last rest is what it makes of a state, or nothing that changes. */
static bool find_nexts(struct roll *r)
{
    for (V phi = LLVMGetFirstInstruction(r->after); LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi)) {
        V past = ptx_phi_value(phi, last(r)->head), through = ptx_phi_value(phi, last(r)->body);
        int k = state_at_last(r, past);
        if (k < 0) {
            if (past != through || in_parts(r, past))
                return false;
            continue;
        }
        struct roll_state *s = &r->states[k];
        if ((s->next && s->next != through) || (s->linear && !is_beyond(through, past, (int64_t)s->step)))
            return false;
        s->next = through;
    }
    return true;
}

static bool number_body(struct roll *r)
{
    V end = LLVMGetBasicBlockTerminator(last(r)->body);
    for (V x = LLVMGetFirstInstruction(last(r)->body); x != end; x = LLVMGetNextInstruction(x))
        if (++r->n_body * r->parts[0].times > MAX_LOOP || !aw_ptrmap_put(&r->number, x, (void *)(uintptr_t)r->n_body))
            return false;
    r->met = malloc((size_t)r->n_body * (size_t)r->parts[0].times * sizeof *r->met);
    return r->met;
}

/* Is a part so many times the last rest? */
static bool is_so_often(struct roll *r, int part)
{
    const struct roll_part *p = &r->parts[part];
    memset(r->met, 0, (size_t)r->n_body * (size_t)p->times * sizeof *r->met);
    for (int k = 0; k < r->n_states; k++) {
        struct roll_state *s = &r->states[k];
        V next = next_of(r, part, k);
        if (!last(r)->state[k])
            continue;
        if (!p->state[k] || !next)
            return false;
        if (s->linear ? !is_beyond(next, p->state[k], (int64_t)s->step * p->times)
                      : !s->next || !matches(r, p, p->times - 1, s->next, next))
            return false;
    }
    return true;
}

/* ---- Who else looks */

/* Does a phi behind the parts have the value from the last of them alone? */
static bool joins_behind(struct roll *r, V phi, V x)
{
    if (!LLVMIsAPHINode(phi) || LLVMGetInstructionParent(phi) != r->after)
        return false;
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        B from = LLVMGetIncomingBlock(phi, i);
        if (LLVMGetIncomingValue(phi, i) == x && from != last(r)->head && from != last(r)->body)
            return false;
    }
    return true;
}

/* Nothing but loads and arithmetic, for the parts alone and what joins behind them. */
static bool is_kept_apart(struct roll *r, B bb)
{
    V end = LLVMGetBasicBlockTerminator(bb);
    for (V x = LLVMGetFirstInstruction(bb); x != end; x = LLVMGetNextInstruction(x)) {
        if (!LLVMIsAPHINode(x) && !may_be_copied(x))
            return false;
        for (LLVMUseRef u = LLVMGetFirstUse(x); u; u = LLVMGetNextUse(u)) {
            V user = LLVMGetUser(u);
            if (!in_parts(r, user) && !joins_behind(r, user, x))
                return false;
        }
    }
    return true;
}

/* Is what the last rest is made of there in the one loop, too: its own, states, and what was before all parts? */
static bool is_whole(struct roll *r)
{
    V end = LLVMGetBasicBlockTerminator(last(r)->body);
    for (V x = LLVMGetFirstInstruction(last(r)->body); x != end; x = LLVMGetNextInstruction(x))
        for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++) {
            V v = operand(x, i);
            if (in_parts(r, v) && LLVMGetInstructionParent(v) != last(r)->body && state_at_last(r, v) < 0)
                return false;
        }
    for (V phi = LLVMGetFirstInstruction(r->after); LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi)) {
        V v = ptx_phi_value(phi, last(r)->body);
        if (in_parts(r, v) && LLVMGetInstructionParent(v) != last(r)->body && state_at_last(r, v) < 0)
            return false;
    }
    return true;
}

static bool all_kept_apart(struct roll *r)
{
    for (int k = 0; k < r->n_parts; k++)
        if (!is_kept_apart(r, r->parts[k].head) || !is_kept_apart(r, r->parts[k].body))
            return false;
    return is_kept_apart(r, r->enter) && is_whole(r);
}

/* ---- Doing it */

/* No index wraps where both the index and its bound are from 0 to so far below 2^31. */
static V build_fits(struct roll *r, V v)
{
    LLVMTypeRef i32 = LLVMTypeOf(v);
    return LLVMBuildICmp(r->b, LLVMIntULE, v, LLVMConstInt(i32, (unsigned long long)(INT32_MAX - r->stride), 0), "");
}

/* The one loop: the last rest, as long as the index is below its bound. */
static bool build_loop(struct roll *r, B enter, B loop)
{
    struct ptx_copy c = { .b = r->b };
    V phis[MAX_STATES] = { NULL };
    LLVMPositionBuilderAtEnd(r->b, loop);
    for (int k = 0; k < r->n_states; k++) {
        V phi = last(r)->state[k];
        if (!phi)
            continue;
        phis[k] = LLVMBuildPhi(r->b, LLVMTypeOf(phi), "");
        ptx_phi_add(phis[k], r->states[k].begin, enter);
        ptx_copy_note(&c, phi, phis[k]);
    }
    ptx_copy_body(&c, last(r)->body, NULL);
    for (int k = 0; k < r->n_states; k++) {
        const struct roll_state *s = &r->states[k];
        if (phis[k])
            ptx_phi_add(phis[k], s->linear ? LLVMBuildAdd(r->b, phis[k], LLVMConstInt(LLVMTypeOf(phis[k]), s->step, 1), "")
                                           : ptx_copied(&c, s->next), loop);
    }
    V below = LLVMBuildICmp(r->b, LLVMIntSLT, ptx_phi_value(phis[r->index], loop), r->bound, "");
    LLVMBuildCondBr(r->b, below, loop, r->after);
    for (V phi = LLVMGetFirstInstruction(r->after); LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi))
        ptx_phi_add(phi, ptx_copied(&c, ptx_phi_value(phi, last(r)->body)), loop);
    bool failed = c.failed;
    ptx_copy_fini(&c);
    return !failed;
}

/* Before the parts: goes to the one loop where no index wraps, and else to them. */
static bool roll(struct roll *r)
{
    LLVMContextRef context = LLVMGetBuilderContext(r->b);
    B enter = LLVMInsertBasicBlockInContext(context, r->enter, "rolled.enter"),
      loop = LLVMInsertBasicBlockInContext(context, r->enter, "rolled"),
      unrolled = LLVMInsertBasicBlockInContext(context, r->enter, "unrolled");
    V begin = r->states[r->index].begin;
    LLVMPositionBuilderAtEnd(r->b, enter);
    LLVMBuildBr(r->b, loop);
    bool done = build_loop(r, enter, loop);
    ptx_move_to_end(r->b, LLVMGetBasicBlockTerminator(r->before), unrolled);
    LLVMPositionBuilderAtEnd(r->b, r->before);
    V fits = LLVMBuildAnd(r->b, build_fits(r, begin), build_fits(r, r->bound), "");
    ptx_weights_set(LLVMBuildCondBr(r->b, fits, enter, unrolled), PTX_ALL_BUT_NEVER, 1);
    ptx_phis_rename(r->b, r->parts[1].head, r->before, unrolled);
    ptx_phis_rename(r->b, r->enter, r->before, unrolled);
    return done;
}

static bool can(struct roll *r, B loop)
{
    if (!find_parts(r, loop) || !list_states(r))
        return false;
    for (int k = 1; k < r->n_parts; k++) {
        join_halves(r, r->parts[k].head);
        join_states(r, k);
    }
    if (!find_index(r) || !find_times(r) || !find_steps(r) || !find_nexts(r) || !all_kept_apart(r) || !number_body(r))
        return false;
    for (int k = 0; k < r->n_parts - 1; k++)
        if (!is_so_often(r, k))
            return false;
    return true;
}

static int try(LLVMBuilderRef b, B loop)
{
    struct roll r = { .b = b };
    int status = AW_OK;
    if (can(&r, loop) && !roll(&r))
        status = AW_ERR_OUT_OF_MEMORY;
    aw_ptrmap_fini(&r.number);
    free(r.met);
    return status;
}

/* ---- Registers that hold what nobody needs */

enum { MAX_USES = 32 };

static bool may_trap(V x)
{
    return is_op(x, LLVMUDiv) || is_op(x, LLVMSDiv) || is_op(x, LLVMURem) || is_op(x, LLVMSRem);
}

/* if (condition == holds) guarded; phi */
struct roll_guard {
    V condition, phi;
    B guarded;
    bool holds;
};

/* Does a phi only go round, through others, to where the guard does not hold? */
static bool is_idle(const struct roll_guard *g, V phi)
{
    V seen[MAX_USES] = { phi };
    int n = 1;
    for (int k = 0; k < n; k++)
        for (LLVMUseRef u = LLVMGetFirstUse(seen[k]); u; u = LLVMGetNextUse(u)) {
            V user = LLVMGetUser(u);
            bool known = user == g->phi && ptx_phi_value(user, g->guarded) != seen[k];
            for (int i = 0; i < n; i++)
                known = known || seen[i] == user;
            if (known)
                continue;
            if (n == MAX_USES || user == g->phi || !LLVMIsAPHINode(user))
                return false;
            seen[n++] = user;
        }
    return true;
}

/* Is a value needed only where the guard holds, or never?  *left: uses that may still be looked at. */
static bool only_needed_there(const struct roll_guard *g, V v, int *left)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        V user = LLVMGetUser(u);
        if (--*left < 0)
            return false;
        bool chosen = LLVMIsASelectInst(user) && operand(user, 0) == g->condition && operand(user, g->holds ? 2 : 1) != v;
        if (chosen || (user != g->phi && LLVMIsAPHINode(user) && is_idle(g, user)))
            continue;
        if (LLVMIsALoadInst(user) || may_trap(user) || !may_be_copied(user) || !only_needed_there(g, user, left))
            return false;
    }
    return true;
}

/* if (c) x = load; needed only in c ? f(x) : ..: where c does not hold the register keeps what was there, which would be carried
 * through all loops around. */
static bool forget(B guarded)
{
    B in[2], join;
    struct roll_guard g = { .guarded = guarded };
    bool changed = false;
    if (edges_to(guarded, in) != 1 || !branches(in[0]))
        return false;
    join = successor(in[0], successor(in[0], 0) == guarded);
    g.condition = way_to(in[0], guarded, &g.holds);
    for (V phi = LLVMGetFirstInstruction(join); goes_to(guarded, join) && LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi))
        for (unsigned i = 0; i < LLVMCountIncoming(phi) && LLVMCountIncoming(phi) == 2; i++) {
            int left = MAX_USES;
            g.phi = phi;
            if (LLVMGetIncomingBlock(phi, i) != in[0] || LLVMIsConstant(LLVMGetIncomingValue(phi, i)) ||
                LLVMGetIncomingValue(phi, i) == phi || !only_needed_there(&g, phi, &left))
                continue;
            LLVMSetOperand(phi, i, LLVMGetPoison(LLVMTypeOf(phi)));
            changed = true;
        }
    return changed;
}

/* ---- */

/* A loop of one block, but for one that only goes back, that is long enough to have been unrolled. */
static bool is_long_loop(B bb)
{
    int n = 0;
    V t = LLVMGetBasicBlockTerminator(bb);
    for (V x = LLVMGetFirstInstruction(bb); x && n < MIN_LOOP; x = LLVMGetNextInstruction(x))
        n++;
    if (n < MIN_LOOP || !branches(bb))
        return false;
    for (unsigned i = 0; i < 2; i++) {
        B to = LLVMGetSuccessor(t, i);
        if (to == bb || (LLVMIsATerminatorInst(LLVMGetFirstInstruction(to)) && goes_to(to, bb)))
            return true;
    }
    return false;
}

static bool has_long_loop(LLVMModuleRef m)
{
    for (V fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (B bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            if (is_long_loop(bb))
                return true;
    return false;
}

static int roll_all(LLVMModuleRef m)
{
    int status = AW_OK;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    for (V fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (B bb = LLVMGetFirstBasicBlock(fn), next; bb && status == AW_OK; bb = next) {
            next = LLVMGetNextBasicBlock(bb);
            status = try(b, bb);
        }
    LLVMDisposeBuilder(b);
    return status;
}

int ptx_run_roll(struct ptx_pipeline *pipe)
{
    LLVMModuleRef m = *pipe->module;
    if ((!pipe->lifted && !ptx_pass_forced(pipe, PTX_PASS_ROLL)) || !has_long_loop(m))
        return AW_OK;
    int status = ptx_passes_run(m, NULL, "function(sroa,simplifycfg,early-cse<memssa>,adce)", pipe->diags);
    bool forgotten = false;
    for (V fn = LLVMGetFirstFunction(m); fn && status == AW_OK; fn = LLVMGetNextFunction(fn))
        for (B bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            forgotten |= forget(bb);
    if (status == AW_OK && forgotten)
        status = ptx_passes_run(m, NULL, "function(adce)", pipe->diags);
    return status == AW_OK ? roll_all(m) : status;
}
