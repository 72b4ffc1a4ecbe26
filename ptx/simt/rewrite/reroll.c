/* Loops that were unrolled, with a loop for the remainder first, where lanes run differently often: rows of a sparse matrix.
 *
 *   for (left = n & 3; left; left--) B;                   for (left = (n & 3) + (ok ? n & ~3 : 0); left; left--) B;
 *   if (n >= 4)                               becomes     if (n >= 4 && !ok)
 *       do { B; B; B; B; } while (i < end);                   do { B; B; B; B; } while (i < end);
 *
 * Lanes that have another remainder than their neighbours are at another place in the loop after it, and read side by side no
 * more; in one loop each round is a row of memory, and lanes that have fewer rounds are off in the last ones.  Every lane does
 * what it did, in its order.  `ok` says that no 32-bit index wraps on the way, which would part the addresses of the two loops.
 *
 * Where `n` is the way from the index to a bound, nothing need be counted; if the bound is the same for all lanes, the last
 * lane's index says whether all are on:
 *
 *                                                         if (ok)
 *                                             becomes         do B; while (i < end);
 *                                                         else the two loops
 *
 * Before the second loop it may be asked, as finish/host/roll.c does, whether no index wraps; where one might, other code runs in
 * its place.  What is made here then asks for more than that.
 *
 * Proved here: that the second loop's body is so often the first one's, its values and addresses going on where those end.  How
 * often it runs is computed from its own condition.  Before control flow is nested.  Loops that run equally often in all lanes
 * are trip_count.c's: unrolled is better for those, so only bounds that are read from memory count. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/rewrite/rewrite.h"
#include "lower/copy.h"

enum {
    MAX_LOOPS = 8,     /* of a function; the analyses run once for each */
    MAX_PAIRS = 16,    /* values that go from round to round */
    MAX_TERMS = 8,     /* of a sum */
    MAX_STEPS = 2000,  /* of comparing two bodies */
    MAX_SLICE = 32,    /* instructions that lead to a count */
    MAX_STRIDE = 1 << 20, /* of an index: two leave room below 2^31 */
    MAX_LANE = 1 << 10,   /* what is added to an index that is the same for all lanes, at most */
};

/* A value of the first loop's header and the one of the second's that goes on from it. */
struct loop_pair {
    LLVMValueRef rest, main;
    LLVMValueRef rest_next, main_next;
    bool linear;           /* they advance by constants: `step` a round of the first loop, ... */
    int64_t step, ahead;   /* ... and the second's begins `ahead` of where the first's ends */
};

struct reroll {
    struct simt *u;
    struct simt_fn f;
    int before, enter, rest, join, main_enter, main, after; /* blocks: if (..) { enter; rest } join; if (..) { main_enter; main }
                                                             * after */
    int instead;                /* -1, or a block to which `main_enter` all but never goes in place of the second loop: ... */
    int64_t fits;               /* ... unless the index and the bound are from 0 to below this */
    LLVMValueRef left, count;   /* the first loop's counter; with what it begins */
    uint64_t most;              /* the count at most */
    struct loop_pair *index;         /* the second loop goes on while it is below `bound` */
    LLVMValueRef bound;
    int64_t stride;             /* of the index in a round of the second loop */
    int times;                  /* rounds of the first loop in one of the second */
    int n_pairs, steps;
    struct loop_pair pairs[MAX_PAIRS];
    struct ptx_copy copy;       /* of a body */
    bool lane_after_lane;       /* that is how it is likely to be done */
};

/* ---- The two loops */

static LLVMValueRef terminator(const struct reroll *r, int b)
{
    return LLVMGetBasicBlockTerminator(r->f.blocks[b].bb);
}

static bool in_block(const struct reroll *r, int b, LLVMValueRef v)
{
    return LLVMIsAInstruction(v) && LLVMGetInstructionParent(v) == r->f.blocks[b].bb;
}

/* What comes to a phi from a block, or NULL. */
static LLVMValueRef from_block(const struct reroll *r, LLVMValueRef phi, int b)
{
    return ptx_phi_value(phi, r->f.blocks[b].bb);
}

static bool one_block_loop(const struct simt_fn *f, int l)
{
    return f->loops[l].header == f->loops[l].latch && f->loops[l].preheader >= 0 && f->loops[l].exit >= 0;
}

/* The block's other successor; -1: it has not two, or `to` is none. */
static int other_way(const struct simt_fn *f, int b, int to)
{
    const struct simt_block *x = &f->blocks[b];
    if (x->n_succ != 2 || (x->succ[0] != to && x->succ[1] != to))
        return -1;
    return x->succ[0] == to ? x->succ[1] : x->succ[0];
}

/* The loop to which `main_enter` goes, always or all but never not; -1. */
static int loop_entered(struct reroll *r)
{
    const struct simt_block *e = &r->f.blocks[r->main_enter];
    r->instead = -1;
    if (e->n_succ == 1)
        return simt_loop_headed(&r->f, e->succ[0]);
    LLVMBasicBlockRef rare = e->n_succ == 2 ? ptx_way_all_but_never(LLVMGetBasicBlockTerminator(e->bb)) : NULL;
    r->instead = rare ? simt_block_of(&r->f, rare) : -1;
    int main = r->instead >= 0 ? other_way(&r->f, r->main_enter, r->instead) : -1;
    return main >= 0 ? simt_loop_headed(&r->f, main) : -1;
}

/* Is it in the code that all but never runs in place of the second loop? */
static bool is_instead(const struct reroll *r, LLVMValueRef v)
{
    int b = r->instead >= 0 ? simt_block_of(&r->f, LLVMGetInstructionParent(v)) : -1;
    return b >= 0 && simt_dominates(&r->f, r->instead, b);
}

static bool find_blocks(struct reroll *r, int loop)
{
    const struct simt_fn *f = &r->f;
    if (!one_block_loop(f, loop))
        return false;
    r->rest = f->loops[loop].header;
    r->enter = f->loops[loop].preheader;
    r->join = f->loops[loop].exit;
    if (f->blocks[r->enter].n_preds != 1 || f->blocks[r->enter].n_succ != 1 || f->blocks[r->join].n_preds != 2)
        return false;
    r->before = f->blocks[r->enter].preds[0];
    if (other_way(f, r->before, r->enter) != r->join)
        return false;
    for (int i = 0; i < 2; i++) {
        r->main_enter = f->blocks[r->join].n_succ == 2 ? f->blocks[r->join].succ[i] : -1;
        int l = r->main_enter >= 0 && f->blocks[r->main_enter].n_preds == 1 ? loop_entered(r) : -1;
        if (l < 0 || !one_block_loop(f, l))
            continue;
        r->main = f->loops[l].header;
        r->after = f->loops[l].exit;
        return other_way(f, r->join, r->main_enter) == r->after && r->after != r->join;
    }
    return false;
}

/* Is the branch's way to `to` the one where its condition is true? */
static bool taken_if_true(const struct reroll *r, int b, int to)
{
    return LLVMGetSuccessor(terminator(r, b), 0) == r->f.blocks[to].bb;
}

/* Does the phi of a loop's header come back as itself and a constant? */
static bool steps_by(LLVMValueRef phi, LLVMValueRef next, int64_t *ret)
{
    return LLVMIsAInstruction(next) && LLVMGetInstructionOpcode(next) == LLVMAdd && LLVMGetOperand(next, 0) == phi &&
           simt_int_const(LLVMGetOperand(next, 1), ret);
}

/* The first loop counts down from a small number. */
static bool find_count(struct reroll *r)
{
    int64_t c, by, most;
    LLVMValueRef cond = LLVMGetCondition(terminator(r, r->rest));
    if (!LLVMIsAICmpInst(cond) || !simt_int_const(LLVMGetOperand(cond, 1), &c) || c != 0 ||
        LLVMGetICmpPredicate(cond) != (taken_if_true(r, r->rest, r->join) ? LLVMIntEQ : LLVMIntNE))
        return false;
    LLVMValueRef next = LLVMGetOperand(cond, 0);
    if (!in_block(r, r->rest, next) || LLVMGetInstructionOpcode(next) != LLVMAdd)
        return false;
    r->left = LLVMGetOperand(next, 0);
    if (!LLVMIsAPHINode(r->left) || !in_block(r, r->rest, r->left) || from_block(r, r->left, r->rest) != next ||
        !steps_by(r->left, next, &by) || by != -1)
        return false;
    r->count = from_block(r, r->left, r->enter);
    if (!LLVMIsAInstruction(r->count) || LLVMGetInstructionOpcode(r->count) != LLVMAnd ||
        simt_width(LLVMTypeOf(r->count)) != 32 || !simt_int_const(LLVMGetOperand(r->count, 1), &most))
        return false;
    r->most = (uint64_t)most;
    return true;
}

/* ---- Values that go from the first loop to the second */

/* A sum: multiples of values and of an index, which may have been widened, and a constant. */
struct reroll_sum {
    int n;
    LLVMValueRef term[MAX_TERMS];
    uint64_t by[MAX_TERMS], index, at;
};

static bool add_term(struct reroll_sum *s, LLVMValueRef v, uint64_t by)
{
    int i = 0;
    while (i < s->n && s->term[i] != v)
        i++;
    if (i == MAX_TERMS)
        return false;
    if (i == s->n) {
        s->term[s->n++] = v;
        s->by[i] = 0;
    }
    s->by[i] += by;
    return true;
}

static bool add_sum(struct reroll_sum *s, LLVMValueRef v, uint64_t by, LLVMValueRef index)
{
    int64_t c;
    LLVMOpcode op = LLVMIsAInstruction(v) && v != index ? LLVMGetInstructionOpcode(v) : LLVMUnreachable;
    if (op == LLVMXor && simt_int_const(LLVMGetOperand(v, 1), &c) && c == -1) { /* -v - 1 */
        s->at -= by;
        return add_sum(s, LLVMGetOperand(v, 0), -by, index);
    }
    if (v == index || (op == LLVMSExt && LLVMGetOperand(v, 0) == index)) {
        s->index += by;
        return true;
    }
    if (simt_int_const(v, &c)) {
        s->at += by * (uint64_t)c;
        return true;
    }
    if (op == LLVMAdd)
        return add_sum(s, LLVMGetOperand(v, 0), by, index) && add_sum(s, LLVMGetOperand(v, 1), by, index);
    if (op == LLVMSub)
        return add_sum(s, LLVMGetOperand(v, 0), by, index) && add_sum(s, LLVMGetOperand(v, 1), -by, index);
    if ((op == LLVMShl || op == LLVMMul) && simt_int_const(LLVMGetOperand(v, 1), &c) && (op == LLVMMul || (c >= 0 && c < 64)))
        return add_sum(s, LLVMGetOperand(v, 0), op == LLVMMul ? by * (uint64_t)c : by << c, index);
    return add_term(s, v, by);
}

static uint64_t low_bits(uint64_t x, LLVMTypeRef type)
{
    unsigned w = simt_width(type);
    return w < 64 ? x & ((UINT64_C(1) << w) - 1) : x;
}

/* Is the sum, without an index, this constant? */
static bool amounts_to(const struct reroll_sum *s, uint64_t at, LLVMTypeRef type)
{
    for (int i = 0; i < s->n; i++)
        if (low_bits(s->by[i], type))
            return false;
    return !low_bits(s->at - at, type);
}

static LLVMValueRef first_index(const struct reroll *r)
{
    return from_block(r, r->index->rest, r->enter);
}

/* Does the second value begin where the first one ends, or at a constant distance, since its index does?  Both are sums that
 * contain the index times the same. */
static bool goes_on(struct reroll *r, struct loop_pair *p, LLVMValueRef main_begin)
{
    struct reroll_sum a = { 0 }, b = { 0 };
    LLVMTypeRef type = LLVMTypeOf(p->rest);
    if (!add_sum(&a, from_block(r, p->rest, r->enter), 1, first_index(r)) ||
        !add_sum(&b, main_begin, 1, from_block(r, r->index->main, r->main_enter)))
        return false;
    for (int i = 0; i < b.n; i++)
        if (!add_term(&a, b.term[i], -b.by[i]))
            return false;
    p->ahead = (int64_t)(b.at - a.at);
    return amounts_to(&a, a.at, type) && !low_bits(a.index - b.index, type) &&
           !low_bits(a.index * (uint64_t)r->index->step - (uint64_t)p->step, type);
}

/* Is `phi`, where the first loop and the way past it join, what a value of the first loop's header has become? */
static bool joins(const struct reroll *r, LLVMValueRef phi, LLVMValueRef rest)
{
    return LLVMIsAPHINode(phi) && in_block(r, r->join, phi) && from_block(r, phi, r->rest) == from_block(r, rest, r->rest) &&
           from_block(r, phi, r->before) == from_block(r, rest, r->enter);
}

static LLVMValueRef rest_of(const struct reroll *r, LLVMValueRef joined)
{
    for (LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[r->rest].bb); LLVMIsAPHINode(x); x = LLVMGetNextInstruction(x))
        if (joins(r, joined, x))
            return x;
    return NULL;
}

static struct loop_pair *pair_up(struct reroll *r, LLVMValueRef rest, LLVMValueRef main)
{
    if (r->n_pairs == MAX_PAIRS)
        return NULL;
    struct loop_pair *p = &r->pairs[r->n_pairs];
    int64_t by;
    *p = (struct loop_pair){ .rest = rest, .main = main };
    p->rest_next = from_block(r, rest, r->rest);
    p->main_next = from_block(r, main, r->main);
    p->linear = steps_by(rest, p->rest_next, &p->step);
    if (p->linear && (!steps_by(main, p->main_next, &by) || low_bits((uint64_t)(by - r->times * p->step), LLVMTypeOf(main))))
        return NULL;
    r->n_pairs++;
    return p;
}

/* The index, on which it hangs how long the second loop runs, in steps of a power of two. */
static bool find_index(struct reroll *r)
{
    LLVMValueRef cond = LLVMGetCondition(terminator(r, r->main));
    if (!LLVMIsAICmpInst(cond) || LLVMGetICmpPredicate(cond) != (taken_if_true(r, r->main, r->after) ? LLVMIntSGE : LLVMIntSLT))
        return false;
    LLVMValueRef next = LLVMGetOperand(cond, 0), main = in_block(r, r->main, next) ? LLVMGetOperand(next, 0) : NULL;
    r->bound = LLVMGetOperand(cond, 1);
    if (!main || !LLVMIsAPHINode(main) || !in_block(r, r->main, main) || from_block(r, main, r->main) != next ||
        in_block(r, r->main, r->bound) || !steps_by(main, next, &r->stride) || simt_width(LLVMTypeOf(main)) != 32)
        return false;
    int64_t step;
    LLVMValueRef rest = rest_of(r, from_block(r, main, r->main_enter));
    if (!rest || !steps_by(rest, from_block(r, rest, r->rest), &step) || step < 1 || r->stride > MAX_STRIDE ||
        (r->stride & (r->stride - 1)) || r->stride % step)
        return false;
    r->times = (int)(r->stride / step);
    r->index = pair_up(r, rest, main);
    return r->index && r->most < (uint64_t)r->times;
}

/* x < *ret_limit, without a sign; x. */
static LLVMValueRef below_limit(LLVMValueRef cond, int64_t *ret_limit)
{
    if (!LLVMIsAICmpInst(cond) || LLVMGetICmpPredicate(cond) != LLVMIntULT ||
        !simt_int_const(LLVMGetOperand(cond, 1), ret_limit))
        return NULL;
    return LLVMGetOperand(cond, 0);
}

/* Does the second loop run where its index and its bound are below a limit, if anything else may run in its place? */
static bool find_limit(struct reroll *r)
{
    int64_t a, b;
    if (r->instead < 0)
        return true;
    LLVMValueRef cond = LLVMGetCondition(terminator(r, r->main_enter)), begin = from_block(r, r->index->main, r->main_enter);
    if (!LLVMIsAInstruction(cond) || LLVMGetInstructionOpcode(cond) != LLVMAnd || !taken_if_true(r, r->main_enter, r->main))
        return false;
    LLVMValueRef x = below_limit(LLVMGetOperand(cond, 0), &a), y = below_limit(LLVMGetOperand(cond, 1), &b);
    bool both = (x == begin && y == r->bound) || (x == r->bound && y == begin);
    r->fits = a - r->stride - MAX_LANE;
    return both && a == b && a <= INT32_MAX && r->fits > 0;
}

/* What a header's value of the second loop goes on from. */
static bool find_pair(struct reroll *r, LLVMValueRef main)
{
    LLVMValueRef begin = from_block(r, main, r->main_enter), rest = rest_of(r, begin);
    if (main == r->index->main)
        return true;
    if (rest)
        return pair_up(r, rest, main) != NULL;
    for (LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[r->rest].bb); LLVMIsAPHINode(x); x = LLVMGetNextInstruction(x)) {
        struct loop_pair *p = LLVMTypeOf(x) == LLVMTypeOf(main) && simt_width(LLVMTypeOf(x)) ? pair_up(r, x, main) : NULL;
        if (p && p->linear && goes_on(r, p, begin))
            return true;
        r->n_pairs -= p != NULL;
    }
    return false;
}

/* ---- The two bodies */

static const struct loop_pair *pair_of(const struct reroll *r, LLVMValueRef rest)
{
    for (int i = 0; i < r->n_pairs; i++)
        if (r->pairs[i].rest == rest)
            return &r->pairs[i];
    return NULL;
}

static bool same_but_operands(LLVMValueRef x, LLVMValueRef y)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(x);
    if (LLVMGetInstructionOpcode(y) != op || LLVMTypeOf(x) != LLVMTypeOf(y) || LLVMGetNumOperands(x) != LLVMGetNumOperands(y))
        return false;
    switch (op) {
    case LLVMLoad:
        return simt_access_plain(x, false) && simt_access_plain(y, false) && LLVMGetAlignment(x) == LLVMGetAlignment(y);
    case LLVMCall:
        return !simt_touches_memory(x) && LLVMIsAFunction(LLVMGetCalledValue(x)) && LLVMGetIntrinsicID(LLVMGetCalledValue(x));
    case LLVMGetElementPtr:
        return LLVMGetGEPSourceElementType(x) == LLVMGetGEPSourceElementType(y);
    case LLVMICmp:
        return LLVMGetICmpPredicate(x) == LLVMGetICmpPredicate(y);
    case LLVMFCmp:
        return LLVMGetFCmpPredicate(x) == LLVMGetFCmpPredicate(y);
    case LLVMFAdd: case LLVMFSub: case LLVMFMul: case LLVMFDiv: case LLVMFNeg: case LLVMFPExt: case LLVMFPTrunc: case LLVMSIToFP:
    case LLVMUIToFP: case LLVMFPToSI: case LLVMFPToUI: case LLVMBitCast:
        return true;
    default:
        return ptx_arithmetic(x);
    }
}

/* Is y, of the second loop, what x of the first one is in its round number `copy` from there on? */
static bool matches(struct reroll *r, int copy, LLVMValueRef x, LLVMValueRef y)
{
    int64_t a, b;
    LLVMValueRef from = simt_access_root(&r->f, x, &a), to = simt_access_root(&r->f, y, &b);
    const struct loop_pair *p = pair_of(r, from);
    if (++r->steps > MAX_STEPS || LLVMTypeOf(x) != LLVMTypeOf(y))
        return false;
    if (p && p->linear)
        return to == p->main && !low_bits((uint64_t)(b - a - copy * p->step + p->ahead), LLVMTypeOf(x));
    if (x == from && p)
        return copy ? matches(r, copy - 1, p->rest_next, y) : y == p->main;
    if (!in_block(r, r->rest, x))
        return x == y;
    if (LLVMIsAPHINode(x) || !in_block(r, r->main, y) || !same_but_operands(x, y))
        return false;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++)
        if (!matches(r, copy, LLVMGetOperand(x, i), LLVMGetOperand(y, i)))
            return false;
    return true;
}

/* Nothing but loads and arithmetic. */
static bool only_reads(const struct reroll *r, int b)
{
    for (LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[b].bb); x; x = LLVMGetNextInstruction(x)) {
        bool nothing = LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVoidTypeKind && !LLVMIsATerminatorInst(x);
        if (nothing || (LLVMIsALoadInst(x) ? !simt_access_plain(x, false) : simt_touches_memory(x)))
            return false;
    }
    return true;
}

/* What leads into the first loop is done by more lanes than before, what leads into the second by fewer. */
static bool enters_plainly(const struct reroll *r)
{
    for (LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[r->enter].bb); x; x = LLVMGetNextInstruction(x))
        if (!ptx_arithmetic(x) && !LLVMIsATerminatorInst(x))
            return false;
    return only_reads(r, r->main_enter);
}

static bool bodies_match(struct reroll *r)
{
    if (!only_reads(r, r->rest) || !only_reads(r, r->main))
        return false;
    for (LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[r->main].bb); LLVMIsAPHINode(x); x = LLVMGetNextInstruction(x))
        if (!find_pair(r, x))
            return false;
    r->steps = 0;
    for (int i = 0; i < r->n_pairs; i++)
        if (!r->pairs[i].linear && !matches(r, r->times - 1, r->pairs[i].rest_next, r->pairs[i].main_next))
            return false;
    return true;
}

/* ---- Who else looks at the loops */

/* Are a block's values used elsewhere only by phis of `to`? */
static bool leaves_to(const struct reroll *r, int b, int to)
{
    for (LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[b].bb); x; x = LLVMGetNextInstruction(x))
        for (LLVMUseRef use = LLVMGetFirstUse(x); use; use = LLVMGetNextUse(use)) {
            LLVMValueRef user = LLVMGetUser(use);
            if (!in_block(r, b, user) && !(LLVMIsAPHINode(user) && in_block(r, to, user)) && !is_instead(r, user))
                return false;
        }
    return true;
}

/* What joins after the first loop is where the second begins, or comes out where that does not run, and nothing else. */
static bool joined_is_kept_apart(const struct reroll *r)
{
    for (LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[r->join].bb); x && LLVMIsAPHINode(x);
         x = LLVMGetNextInstruction(x)) {
        if (!rest_of(r, x))
            return false;
        for (LLVMUseRef use = LLVMGetFirstUse(x); use; use = LLVMGetNextUse(use)) {
            LLVMValueRef user = LLVMGetUser(use);
            bool comes_out = in_block(r, r->after, user) && LLVMIsAPHINode(user) && from_block(r, user, r->join) == x;
            if (!in_block(r, r->main_enter, user) && !(in_block(r, r->main, user) && LLVMIsAPHINode(user)) && !comes_out &&
                !is_instead(r, user))
                return false;
        }
    }
    return true;
}

/* Where both loops have ended, the one's values stand for the other's. */
static bool ends_alike(const struct reroll *r)
{
    for (LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[r->after].bb); x && LLVMIsAPHINode(x);
         x = LLVMGetNextInstruction(x)) {
        LLVMValueRef without = from_block(r, x, r->join), with = from_block(r, x, r->main), rest = rest_of(r, without);
        const struct loop_pair *p = rest ? pair_of(r, rest) : NULL;
        if (rest ? !p || p->ahead || p->main_next != with : without != with)
            return false;
    }
    return leaves_to(r, r->rest, r->join) && leaves_to(r, r->main, r->after) && leaves_to(r, r->main_enter, r->main) &&
           joined_is_kept_apart(r);
}

/* ---- Rounds that need not be counted
 *
 * nvcc counts those of do .. while ((i += step) < end) before the first as way / step + 1, where way = max(end, i + step) - 1 -
 * i, or with a step of 1 as max(end, i + 1) - i. */

static bool is_smax(LLVMValueRef v)
{
    static const char name[] = "llvm.smax";
    LLVMValueRef fn = LLVMIsACallInst(v) ? LLVMGetCalledValue(v) : NULL;
    return fn && LLVMIsAFunction(fn) && LLVMGetIntrinsicID(fn) == LLVMLookupIntrinsicID(name, sizeof name - 1);
}

/* Is it the greater of the bound and the index after a round? */
static bool is_end(const struct reroll *r, LLVMValueRef v)
{
    if (!is_smax(v) || (LLVMGetOperand(v, 0) != r->bound && LLVMGetOperand(v, 1) != r->bound))
        return false;
    struct reroll_sum s = { 0 };
    LLVMValueRef next = LLVMGetOperand(v, LLVMGetOperand(v, 0) == r->bound);
    return add_sum(&s, next, 1, NULL) && add_sum(&s, first_index(r), (uint64_t)-1, NULL) &&
           amounts_to(&s, (uint64_t)r->index->step, LLVMTypeOf(next));
}

/* Is it `by` (1 or -1) times what the end is beyond the index, plus `at`? */
static bool is_way(const struct reroll *r, LLVMValueRef v, int by, int64_t at)
{
    struct reroll_sum s = { 0 };
    LLVMTypeRef type = LLVMTypeOf(v);
    if (!add_sum(&s, v, 1, NULL) || !add_sum(&s, first_index(r), (uint64_t)by, NULL))
        return false;
    for (int i = 0; i < s.n; i++)
        if (!low_bits(s.by[i] - (uint64_t)by, type) && is_end(r, s.term[i])) {
            s.by[i] = 0;
            return amounts_to(&s, (uint64_t)at, type);
        }
    return false;
}

/* With a step of 1, the way is the number of rounds less one, and mostly written as that. */
static bool is_rounds(const struct reroll *r, LLVMValueRef v)
{
    return r->index->step == 1 && is_way(r, v, 1, 0);
}

/* What the count is the rest of: way, where it is (way / step + 1) % times; or the rounds themselves; or NULL. */
static LLVMValueRef way_of(const struct reroll *r, LLVMValueRef count)
{
    int64_t c;
    LLVMValueRef v = LLVMGetOperand(count, 0);
    if (is_rounds(r, v))
        return v;
    if (!LLVMIsAInstruction(v) || LLVMGetInstructionOpcode(v) != LLVMAdd || !simt_int_const(LLVMGetOperand(v, 1), &c) || c != 1)
        return NULL;
    v = LLVMGetOperand(v, 0);
    if (r->index->step > 1) {
        if (!LLVMIsAInstruction(v) || LLVMGetInstructionOpcode(v) != LLVMLShr || !simt_int_const(LLVMGetOperand(v, 1), &c) ||
            c != __builtin_ctzll((uint64_t)r->index->step))
            return NULL;
        v = LLVMGetOperand(v, 0);
    }
    return is_way(r, v, 1, -1) ? v : NULL;
}

/* Does the first loop run unless its count is 0?  That is where all bits of the way that it is made of are set. */
static bool enters_if_counted(const struct reroll *r, LLVMValueRef way)
{
    int64_t c, mask, bits = (int64_t)r->most * r->index->step;
    LLVMValueRef cond = LLVMGetCondition(terminator(r, r->before));
    if (!LLVMIsAICmpInst(cond) || !simt_int_const(LLVMGetOperand(cond, 1), &c) ||
        LLVMGetICmpPredicate(cond) != (taken_if_true(r, r->before, r->enter) ? LLVMIntNE : LLVMIntEQ))
        return false;
    LLVMValueRef v = LLVMGetOperand(cond, 0);
    if (v == r->count)
        return c == 0;
    return LLVMIsAInstruction(v) && LLVMGetInstructionOpcode(v) == LLVMAnd && LLVMGetOperand(v, 0) == way &&
           simt_int_const(LLVMGetOperand(v, 1), &mask) && mask == bits && c == bits;
}

/* Does the second loop run if there are as many rounds as it has? */
static bool goes_on_if_enough(const struct reroll *r, LLVMValueRef way)
{
    int64_t c, limit = is_rounds(r, way) ? r->times : (int64_t)r->most * r->index->step;
    LLVMValueRef cond = LLVMGetCondition(terminator(r, r->join));
    bool leaves = taken_if_true(r, r->join, r->after);
    if (!LLVMIsAICmpInst(cond) || !simt_int_const(LLVMGetOperand(cond, 1), &c))
        return false;
    if (is_rounds(r, way) && is_way(r, LLVMGetOperand(cond, 0), -1, 0))
        return LLVMGetICmpPredicate(cond) == (leaves ? LLVMIntUGT : LLVMIntULT) && c == !leaves - limit;
    return LLVMGetOperand(cond, 0) == way && LLVMGetICmpPredicate(cond) == (leaves ? LLVMIntULT : LLVMIntUGT) &&
           c == limit - !leaves;
}

/* Does it say that the index begins below the bound? */
static bool says_below(const struct reroll *r, LLVMValueRef cond, bool holds)
{
    LLVMIntPredicate p = LLVMIsAICmpInst(cond) ? LLVMGetICmpPredicate(cond) : LLVMIntEQ;
    LLVMValueRef first = first_index(r);
    if (p == (holds ? LLVMIntSLT : LLVMIntSGE))
        return LLVMGetOperand(cond, 0) == first && LLVMGetOperand(cond, 1) == r->bound;
    return p == (holds ? LLVMIntSGT : LLVMIntSLE) && LLVMGetOperand(cond, 1) == first && LLVMGetOperand(cond, 0) == r->bound;
}

/* Has it been asked on the way here? */
static bool begins_below(const struct reroll *r)
{
    int b = r->before;
    for (; r->f.blocks[b].n_preds == 1; b = r->f.blocks[b].preds[0]) {
        int from = r->f.blocks[b].preds[0], other = other_way(&r->f, from, b);
        if (other >= 0 && other != b && says_below(r, LLVMGetCondition(terminator(r, from)), taken_if_true(r, from, b)))
            return true;
    }
    return false;
}

/* Is nothing but what goes from loop to loop looked at that is computed between them? */
static bool between_is_kept_apart(const struct reroll *r)
{
    for (LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[r->join].bb); x; x = LLVMGetNextInstruction(x))
        for (LLVMUseRef use = LLVMIsAPHINode(x) ? NULL : LLVMGetFirstUse(x); use; use = LLVMGetNextUse(use)) {
            LLVMValueRef user = LLVMGetUser(use);
            if (!in_block(r, r->join, user) && !in_block(r, r->main_enter, user) && !in_block(r, r->main, user) &&
                !is_instead(r, user))
                return false;
        }
    for (LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[r->after].bb); x && LLVMIsAPHINode(x);
         x = LLVMGetNextInstruction(x)) {
        LLVMValueRef without = from_block(r, x, r->join);
        if (!rest_of(r, without) && !simt_there_before(&r->f, r->before, without))
            return false;
    }
    return true;
}

/* Do all rounds of both loops together go on while the index is below the bound? */
static bool index_decides(struct reroll *r)
{
    LLVMValueRef way = r->most + 1 == (uint64_t)r->times ? way_of(r, r->count) : NULL;
    return way && enters_if_counted(r, way) && goes_on_if_enough(r, way) && begins_below(r) && between_is_kept_apart(r);
}

/* ---- What it is worth */

static bool reads_memory(LLVMValueRef v, int *left)
{
    if (!LLVMIsAInstruction(v) || LLVMIsAPHINode(v) || --*left < 0)
        return false;
    if (LLVMIsALoadInst(v))
        return simt_space(LLVMTypeOf(LLVMGetOperand(v, 0))) != SIMT_SPACE_CONST;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(v); i++)
        if (reads_memory(LLVMGetOperand(v, i), left))
            return true;
    return false;
}

/* Do lanes read side by side in the first loop, and would not in the second?  Or anywhere, so that it is likely to be done lane
 * after lane?  Then the end of one loop is mispredicted, not of two. */
static bool pays(struct reroll *r)
{
    int left = MAX_SLICE;
    bool rows = false, anywhere = false;
    if (!simt_varying(&r->f, r->count) || !reads_memory(r->bound, &left))
        return false;
    for (LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[r->rest].bb); x; x = LLVMGetNextInstruction(x)) {
        LLVMValueRef p = LLVMIsALoadInst(x) ? LLVMGetOperand(x, 0) : NULL;
        rows |= p && !simt_varying(&r->f, p) && simt_offsets(&r->f, p);
        anywhere |= p && simt_varying(&r->f, p);
    }
    r->lane_after_lane = !rows && anywhere && !r->u->options->fast_gather;
    return rows || (r->lane_after_lane && index_decides(r));
}

/* ---- Doing it */

static bool there_before(const void *data, LLVMValueRef x)
{
    const struct reroll *r = data;
    return simt_there_before(&r->f, r->before, x);
}

static LLVMValueRef compute_before(struct reroll *r, LLVMValueRef x)
{
    struct ptx_copy c = { .b = r->u->b };
    LLVMValueRef copy = ptx_copy_computation(&c, x, there_before, r);
    if (c.failed)
        simt_memory(r->u);
    ptx_copy_fini(&c);
    return copy;
}

static LLVMValueRef negated_unless(LLVMBuilderRef b, LLVMValueRef cond, bool plain)
{
    return plain ? cond : LLVMBuildNot(b, cond, "");
}

/* Is an index or bound so that none wraps, and the second loop itself runs? */
static LLVMValueRef build_fits(struct reroll *r, LLVMValueRef v)
{
    int64_t limit = INT32_MAX - 2 * r->stride;
    if (r->instead < 0)
        return LLVMBuildICmp(r->u->b, LLVMIntSLE, v, simt_c32(r->u, limit), "");
    return LLVMBuildICmp(r->u->b, LLVMIntULE, v, simt_c32(r->u, r->fits < limit ? r->fits : limit), "");
}

/* Rounds of the first loop that the second one is worth; 0 where an index might wrap.  `skip`: the first loop would not run. */
static LLVMValueRef build_more(struct reroll *r, LLVMValueRef skip, LLVMValueRef count, LLVMValueRef begin)
{
    LLVMBuilderRef b = r->u->b;
    LLVMValueRef n = compute_before(r, r->bound), zero = simt_c32(r->u, 0), one = simt_c32(r->u, 1);
    LLVMValueRef few = LLVMBuildSelect(b, skip, zero, count, "");
    LLVMValueRef at = LLVMBuildAdd(b, begin, LLVMBuildMul(b, few, simt_c32(r->u, r->index->step), ""), "");
    LLVMValueRef below = LLVMBuildICmp(b, LLVMIntSLT, at, n, "");
    /* n may be less */
    LLVMValueRef most = LLVMBuildSelect(b, below, LLVMBuildSub(b, LLVMBuildSub(b, n, at, ""), one, ""), zero, "");
    LLVMValueRef times = LLVMBuildAdd(b, LLVMBuildLShr(b, most, simt_c32(r->u, __builtin_ctzll((uint64_t)r->stride)), ""), one,
                                      "");
    LLVMValueRef more = LLVMBuildMul(b, times, simt_c32(r->u, r->times), "");
    /* The index goes less than two strides beyond where it begins or is to end. */
    LLVMValueRef ok = LLVMBuildAnd(b, build_fits(r, begin), build_fits(r, n), "");
    LLVMValueRef none = LLVMBuildICmp(b, LLVMIntEQ, count, zero, ""); /* would be 2^32 */
    ok = LLVMBuildAnd(b, ok, LLVMBuildSelect(b, skip, LLVMConstAllOnes(r->u->i1), LLVMBuildNot(b, none, ""), ""), "");
    LLVMValueRef stay = negated_unless(b, compute_before(r, LLVMGetCondition(terminator(r, r->join))),
                                       taken_if_true(r, r->join, r->after));
    ok = LLVMBuildAnd(b, ok, LLVMBuildNot(b, stay, ""), "");
    return LLVMBuildSelect(b, ok, more, zero, "");
}

static void set_branch(struct reroll *r, int b, LLVMValueRef cond, int then, int otherwise)
{
    LLVMValueRef term = terminator(r, b);
    LLVMSetCondition(term, cond);
    LLVMSetSuccessor(term, 0, r->f.blocks[then].bb);
    LLVMSetSuccessor(term, 1, r->f.blocks[otherwise].bb);
}

static void set_from(struct reroll *r, LLVMValueRef phi, int b, LLVMValueRef x)
{
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
        if (LLVMGetIncomingBlock(phi, i) == r->f.blocks[b].bb)
            LLVMSetOperand(phi, i, x);
}

static void reroll(struct reroll *r)
{
    LLVMBuilderRef b = r->u->b;
    LLVMPositionBuilderBefore(b, terminator(r, r->before));
    LLVMValueRef skip = negated_unless(b, LLVMGetCondition(terminator(r, r->before)), taken_if_true(r, r->before, r->join));
    LLVMValueRef count = compute_before(r, r->count), begin = compute_before(r, first_index(r));
    LLVMValueRef more = build_more(r, skip, count, begin), zero = simt_c32(r->u, 0),
                 none = LLVMBuildICmp(b, LLVMIntEQ, more, zero, "");
    set_from(r, r->left, r->enter, LLVMBuildAdd(b, LLVMBuildSelect(b, skip, zero, count, ""), more, ""));
    set_branch(r, r->before, LLVMBuildAnd(b, skip, none, ""), r->join, r->enter);
    LLVMPositionBuilderBefore(b, terminator(r, r->join));
    LLVMValueRef stay = negated_unless(b, LLVMGetCondition(terminator(r, r->join)), taken_if_true(r, r->join, r->after));
    set_branch(r, r->join, LLVMBuildOr(b, stay, LLVMBuildNot(b, none, ""), ""), r->after, r->main_enter);
}

/* ---- Doing that without counts */

/* What the first index is but for a small number, where that is the same for all lanes; NULL. */
static LLVMValueRef same_in_all(struct reroll *r)
{
    int64_t most;
    LLVMValueRef first = first_index(r);
    for (unsigned k = 0; k < 2 && LLVMIsAInstruction(first) && LLVMGetInstructionOpcode(first) == LLVMAdd; k++) {
        LLVMValueRef part = LLVMGetOperand(first, k);
        if (LLVMIsAInstruction(part) && LLVMGetInstructionOpcode(part) == LLVMAnd &&
            simt_int_const(LLVMGetOperand(part, 1), &most) && most >= 0 && most < MAX_LANE &&
            simt_uniform(&r->f, LLVMGetOperand(first, 1 - k)))
            return LLVMGetOperand(first, 1 - k);
    }
    return simt_uniform(&r->f, first) ? first : NULL;
}

static LLVMValueRef copied(const struct reroll *r, LLVMValueRef x)
{
    return ptx_copied(&r->copy, x);
}

/* What comes to the copy's phis, and from it to those behind the loops. */
static void join_copy(struct reroll *r, LLVMBasicBlockRef enter, LLVMBasicBlockRef loop)
{
    for (LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[r->rest].bb); LLVMIsAPHINode(x); x = LLVMGetNextInstruction(x)) {
        ptx_phi_add(copied(r, x), copied(r, from_block(r, x, r->enter)), enter);
        ptx_phi_add(copied(r, x), copied(r, from_block(r, x, r->rest)), loop);
    }
    for (LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[r->after].bb); LLVMIsAPHINode(x); x = LLVMGetNextInstruction(x)) {
        LLVMValueRef without = from_block(r, x, r->join), rest = rest_of(r, without);
        ptx_phi_add(x, rest ? copied(r, from_block(r, rest, r->rest)) : without, loop);
    }
}

/* Is a value used by nothing but the loops that are to stay? */
static bool for_loops_only(const struct reroll *r, LLVMBasicBlockRef head, LLVMValueRef x)
{
    for (LLVMUseRef use = LLVMGetFirstUse(x); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMGetInstructionParent(user) != head && !in_block(r, r->enter, user) && !in_block(r, r->rest, user) &&
            !in_block(r, r->join, user) && !in_block(r, r->main_enter, user) && !in_block(r, r->main, user) &&
            !is_instead(r, user))
            return false;
    }
    return true;
}

/* Computes where the loops that are to stay begin what only they need. */
static void sink(struct reroll *r, LLVMBasicBlockRef head)
{
    LLVMValueRef jump = LLVMGetBasicBlockTerminator(r->f.blocks[r->before].bb);
    for (LLVMValueRef x = LLVMGetPreviousInstruction(jump), next; x; x = next) {
        next = LLVMGetPreviousInstruction(x);
        if ((!ptx_arithmetic(x) && !is_smax(x)) || !for_loops_only(r, head, x))
            continue;
        ptx_move_before(r->u->b, x, LLVMGetFirstInstruction(head));
    }
}

static bool is_rare(const struct reroll *r, int b)
{
    for (int i = 0; i < r->u->n_rare; i++)
        if (r->u->rare[i] == r->f.blocks[b].bb)
            return true;
    return false;
}

/* Goes to `enter` where no index can wrap, and else to the two loops. */
static void choose_way(struct reroll *r, LLVMValueRef bound, LLVMValueRef begin, LLVMBasicBlockRef enter)
{
    LLVMBuilderRef b = r->u->b;
    simt_split_before(r->u, terminator(r, r->before));
    LLVMValueRef jump = LLVMGetBasicBlockTerminator(r->f.blocks[r->before].bb);
    LLVMBasicBlockRef head = LLVMGetSuccessor(jump, 0);
    sink(r, head);
    LLVMPositionBuilderBefore(b, jump);
    LLVMValueRef ok = build_fits(r, bound);
    if (begin)
        ok = LLVMBuildAnd(b, ok, build_fits(r, begin), "");
    LLVMBuildCondBr(b, ok, enter, head);
    LLVMInstructionEraseFromParent(jump);
    r->u->rare[r->u->n_rare++] = head;
}

/* A copy of the first loop that goes on while its index is below the bound, and stands for both where no index wraps. */
static void unite(struct reroll *r)
{
    LLVMBuilderRef b = r->u->b;
    LLVMBasicBlockRef enter = LLVMAppendBasicBlockInContext(r->u->ctx, r->f.src, "united.enter"),
                      loop = LLVMAppendBasicBlockInContext(r->u->ctx, r->f.src, "united");
    LLVMPositionBuilderBefore(b, terminator(r, r->before));
    LLVMValueRef bound = compute_before(r, r->bound), begin = r->instead >= 0 ? compute_before(r, same_in_all(r)) : NULL;
    r->copy = (struct ptx_copy){ .b = b };
    LLVMPositionBuilderAtEnd(b, enter);
    ptx_copy_body(&r->copy, r->f.blocks[r->enter].bb, NULL);
    LLVMBuildBr(b, loop);
    LLVMPositionBuilderAtEnd(b, loop);
    ptx_copy_body(&r->copy, r->f.blocks[r->rest].bb, NULL);
    if (r->copy.failed) {
        simt_memory(r->u);
    } else {
        LLVMValueRef term = LLVMInstructionClone(terminator(r, r->rest)); /* with what it says of unrolling */
        LLVMSetCondition(term, LLVMBuildICmp(b, LLVMIntSLT, copied(r, r->index->rest_next), bound, ""));
        LLVMSetSuccessor(term, 0, loop);
        LLVMSetSuccessor(term, 1, r->f.blocks[r->after].bb);
        ptx_insert(b, term);
        join_copy(r, enter, loop);
    }
    choose_way(r, bound, begin, enter);
    ptx_copy_fini(&r->copy);
}

/* Is what both loops begin with known where the first block ends, or can it be computed there? */
static bool begins_before(const struct reroll *r)
{
    LLVMValueRef values[] = { r->count, LLVMGetCondition(terminator(r, r->join)), r->bound, first_index(r) };
    int left = MAX_SLICE;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (!simt_known_before(&r->f, r->before, values[i], &left))
            return false;
    return true;
}

static bool can(struct reroll *r, int loop)
{
    r->n_pairs = 0;
    return find_blocks(r, loop) && !is_rare(r, r->before) && find_count(r) && find_index(r) && find_limit(r) &&
           enters_plainly(r) && bodies_match(r) && ends_alike(r) && pays(r) && begins_before(r);
}

bool simt_reroll(struct simt *u, LLVMValueRef fn, enum simt_form form)
{
    struct reroll r = { .u = u };
    bool more = true;
    LLVMSetCurrentDebugLocation2(u->b, NULL);
    for (int i = 0; i < MAX_LOOPS && more && !u->status; i++) {
        r.f = (struct simt_fn){ .u = u, .form = form, .src = fn };
        more = simt_cfg_build(&r.f) && r.f.n_loops > 1 && simt_shape_estimate(&r.f);
        int l = 0;
        while (more && l < r.f.n_loops && !can(&r, l))
            l++;
        more = more && l < r.f.n_loops;
        if (more && r.u->n_rare < SIMT_RARE && (r.instead < 0 || same_in_all(&r)) &&
            (r.lane_after_lane || (simt_uniform(&r.f, r.bound) && index_decides(&r))))
            unite(&r);
        else if (more)
            reroll(&r);
        aw_ptrmap_fini(&r.f.vals);
        simt_cfg_fini(&r.f);
    }
    return !u->status;
}
