/* Divergent code from which vectors gain nothing: loops that lanes leave at different times and whose memory is scattered, such
 * as the rows of a sparse matrix, the edges of a vertex, the chain of a hash table.  A vector of them is mostly loads of one
 * element after another, for lanes some of which are done; a scalar loop is what processors like.
 *
 *   region        becomes       %out = call @aw.host.single.N(%in...)       for each active lane, in order
 *
 * Before control flow is nested, the region is moved to a function of one lane, which is emitted as it stands.  The lanes of a
 * warp may go one after another, as nothing in a region makes them meet or wait.  Not for code whose lanes read side by side: as
 * a vector that is one access, and lane by lane it would go through memory in strides.  Regions are chosen by estimate, from
 * shapes that are not exact on control flow that is not nested; what is moved is right whatever the estimate was. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/rewrite/rewrite.h"
#include <limits.h>
#include <string.h>

enum {
    MAX_REGIONS = 4,      /* of one kernel */
    MAX_SIZE = 600,       /* instructions of a region */
    MAX_FUNCTION = 20000, /* instructions; in larger kernels nothing is looked for */
    MAX_INS = SIMT_SINGLE_INS, MAX_OUTS = SIMT_SINGLE_OUTS,
    TRIPS = 8,            /* rounds of a loop, where nothing is known */
};

bool simt_serialise_always;

struct single {
    struct simt *u;
    LLVMValueRef fn;           /* the kernel */
    struct simt_fn f;          /* analysed anew for each region */
    int n_regions;
    /* The region at hand. */
    bool *in;                  /* by block */
    int head, join;            /* its first block; where all its edges out go */
    LLVMBasicBlockRef call, enter, leave; /* the block that calls; the function's first and last */
    LLVMValueRef single;       /* the function */
    int n_ins, n_outs, n_values; /* the last: that pass through memory */
    LLVMValueRef ins[MAX_INS], outs[MAX_OUTS];
};

static bool always(const struct single *s)
{
    return simt_serialise_always || simt_forced(s->u, PTX_PASS_SERIALISE);
}

/* ---- What may be moved */

static bool plain_type(LLVMTypeRef t)
{
    switch (LLVMGetTypeKind(t)) {
    case LLVMIntegerTypeKind: case LLVMHalfTypeKind: case LLVMBFloatTypeKind: case LLVMFloatTypeKind: case LLVMDoubleTypeKind:
    case LLVMPointerTypeKind:
        return true;
    default:
        return false;
    }
}

static bool movable_call(struct simt *u, LLVMValueRef x)
{
    LLVMValueRef callee = LLVMGetCalledValue(x);
    enum ptx_simt id = simt_call_id(u, x);
    if (id != PTX_SIMT_NONE)
        return ptx_simt_info(id)->traits == PTX_SIMT_PURE && !*ptx_simt_info(id)->args; /* goes before the region */
    return LLVMIsAFunction(callee) && LLVMGetIntrinsicID(callee) && ptx_intrinsic_called(x) != PTX_INTRINSIC_TRAP;
}

static bool movable(struct simt *u, LLVMValueRef x)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMAlloca: case LLVMFence: case LLVMRet: case LLVMUnreachable: case LLVMSwitch:
        return false;
    case LLVMLoad: case LLVMStore:
        return !LLVMGetVolatile(x);
    case LLVMAtomicRMW: case LLVMAtomicCmpXchg:
        return !LLVMGetVolatile(x) && plain_type(LLVMTypeOf(LLVMGetOperand(x, 1)));
    case LLVMCall:
        return movable_call(u, x);
    default:
        return true;
    }
}

/* ---- What a region costs, in instructions of a machine with 32-byte vectors, twice */

struct cost {
    int vector, lane;  /* of 32 lanes at once; of one */
    int scattered;     /* accesses */
    bool side_by_side; /* there are accesses of neighbours that move with the loop */
    int size;          /* instructions; 0: too many, or something cannot be moved */
};

static int wide(LLVMTypeRef t)
{
    unsigned w = LLVMGetTypeKind(t) == LLVMDoubleTypeKind ? 64 : simt_width(t);
    return w > 32 ? 8 : 4;
}

/* `loop`: the innermost one around, if it is in the region. */
static void access_cost(struct single *s, LLVMValueRef x, LLVMValueRef p, int loop, struct cost *c)
{
    bool atomic = LLVMIsAAtomicRMWInst(x) || LLVMIsAAtomicCmpXchgInst(x);
    bool fast = LLVMIsALoadInst(x) ? s->u->options->gathers : s->u->options->fast_gather;
    c->lane += 2;
    if (simt_uniform(&s->f, p) && !atomic) {
        c->vector += 2;
    } else if (simt_varying(&s->f, p) || atomic) {
        c->vector += atomic ? 32 * 12 : fast ? 32 * 3 : 32 * 9;
        c->scattered++;
    } else {
        c->vector += 8;
        c->side_by_side |= loop >= 0 && simt_defined_in(&s->f, loop, p);
    }
}

static void instruction_cost(struct single *s, LLVMValueRef x, int loop, struct cost *c)
{
    bool varying = simt_varying(&s->f, x);
    int n = wide(LLVMTypeOf(x));
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMPHI: case LLVMGetElementPtr: case LLVMIntToPtr: case LLVMPtrToInt: case LLVMBitCast: case LLVMAddrSpaceCast:
    case LLVMExtractValue: case LLVMInsertValue:
        return;
    case LLVMLoad: case LLVMAtomicRMW: case LLVMAtomicCmpXchg:
        access_cost(s, x, LLVMGetOperand(x, 0), loop, c);
        return;
    case LLVMStore:
        access_cost(s, x, LLVMGetOperand(x, 1), loop, c);
        return;
    case LLVMICmp: case LLVMFCmp: /* of vectors, masks are made */
        n = wide(LLVMTypeOf(LLVMGetOperand(x, 0)));
        c->lane += 1;
        c->vector += varying ? 4 * n : 1;
        return;
    case LLVMSExt: case LLVMZExt: case LLVMTrunc:
        c->lane += 1;
        c->vector += varying ? 2 * n : 1;
        return;
    case LLVMMul:
        c->lane += 2;
        c->vector += varying ? n > 4 ? 10 * n : 2 * n : 2;
        return;
    case LLVMSDiv: case LLVMUDiv: case LLVMSRem: case LLVMURem:
        c->lane += 24;
        c->vector += varying ? 32 * 30 : 24;
        return;
    case LLVMFDiv: case LLVMFRem:
        c->lane += 10;
        c->vector += varying ? 10 * n : 10;
        return;
    case LLVMBr:
        c->lane += LLVMIsConditional(x) ? 3 : 1;
        c->vector += LLVMIsConditional(x) ? 12 : 1;
        return;
    default:
        c->lane += 2;
        c->vector += varying ? 2 * n : 2;
    }
}

static int depth_of(const struct simt_fn *f, int b)
{
    return f->blocks[b].loop < 0 ? 0 : f->loops[f->blocks[b].loop].depth;
}

/* How often what is `depth` loops deep runs for once through what is `least` deep. */
static int times_of(int depth, int least)
{
    int times = 1;
    for (int d = depth; d > least && times < 1000; d--)
        times *= TRIPS;
    return times;
}

/* A lane by itself leaves each loop when no one expects it; a warp does so once for all lanes.  Of a loop whose rounds are what
 * is counted, each has its share. */
static int ends_cost(const struct simt_fn *f, const bool *in, int least)
{
    int cost = 0;
    for (int l = 0; l < f->n_loops; l++)
        if (in[f->loops[l].header] && f->loops[l].divergent)
            cost += (int)simt_threshold(f->u, PTX_THRESHOLD_MISPREDICTED) * times_of(f->loops[l].depth, least) / TRIPS;
    return cost;
}

/* Of the blocks that `in` says, once through those in the fewest loops. */
static struct cost cost_of(struct single *s, const bool *in)
{
    struct simt_fn *f = &s->f;
    struct cost c = { 0 };
    int least = INT_MAX;
    for (int b = 0; b < f->n_blocks; b++)
        least = in[b] && depth_of(f, b) < least ? depth_of(f, b) : least;
    for (int b = 0; b < f->n_blocks; b++) {
        if (!in[b])
            continue;
        int l = f->blocks[b].loop, times = times_of(depth_of(f, b), least);
        struct cost one = { 0 };
        for (LLVMValueRef x = LLVMGetFirstInstruction(f->blocks[b].bb); x; x = LLVMGetNextInstruction(x)) {
            if (!movable(s->u, x) || ++c.size > MAX_SIZE)
                return (struct cost){ 0 };
            instruction_cost(s, x, l >= 0 && in[f->loops[l].header] ? l : -1, &one);
        }
        c.vector += one.vector * times;
        c.lane += one.lane * times;
        c.scattered += one.scattered;
        c.side_by_side |= one.side_by_side;
    }
    c.lane += ends_cost(f, in, least);
    return c;
}

/* ---- Choosing */

static void loop_blocks(const struct simt_fn *f, int loop, bool *in)
{
    for (int b = 0; b < f->n_blocks; b++)
        in[b] = simt_loop_has(f, loop, b);
}

static bool only_returns(LLVMBasicBlockRef bb)
{
    LLVMValueRef x = LLVMGetFirstInstruction(bb);
    return x && LLVMGetInstructionOpcode(x) == LLVMRet;
}

/* The blocks that `head` dominates, without a last one that only returns. */
static void dominated_blocks(const struct simt_fn *f, int head, bool *in)
{
    for (int b = 0; b < f->n_blocks; b++)
        in[b] = simt_dominates(f, head, b) && !only_returns(f->blocks[b].bb);
}

/* The only block that edges out of a region lead to, or -1. */
static int only_exit(const struct simt_fn *f, const bool *in)
{
    int to = -1;
    for (int b = 0; b < f->n_blocks; b++)
        for (int j = 0; in[b] && j < f->blocks[b].n_succ; j++) {
            int t = f->blocks[b].succ[j];
            if (in[t])
                continue;
            if (to >= 0 && to != t)
                return -1;
            to = t;
        }
    return to;
}

static bool entered_at(const struct simt_fn *f, const bool *in, int head)
{
    for (int b = 0; b < f->n_blocks; b++)
        for (int j = 0; in[b] && b != head && j < f->blocks[b].n_preds; j++)
            if (!in[f->blocks[b].preds[j]])
                return false;
    return true;
}

/* Do all lanes leave the loop at about the same time?  So it is where they count alike, or what they count and its limit differ
 * by the same: a window around each lane's place has one width, but where it is cut off at an edge. */
static bool in_step(struct simt_fn *f, int loop)
{
    bool apart = false;
    for (int b = 0; b < f->n_blocks; b++) {
        const struct simt_block *x = &f->blocks[b];
        if (x->n_succ != 2 || !simt_loop_has(f, loop, b) ||
            (simt_loop_has(f, loop, x->succ[0]) && simt_loop_has(f, loop, x->succ[1])))
            continue;
        LLVMValueRef c = LLVMGetCondition(LLVMGetBasicBlockTerminator(x->bb));
        if (!LLVMIsAICmpInst(c)) {
            apart |= simt_varying(f, c);
            continue;
        }
        LLVMValueRef count = LLVMGetOperand(c, 0), limit = LLVMGetOperand(c, 1);
        apart |= (simt_varying(f, count) || simt_varying(f, limit)) && !simt_likely_apart_alike(f, count, limit);
    }
    return !apart;
}

static bool any_spins(struct simt_fn *f, const bool *in)
{
    for (int l = 0; l < f->n_loops; l++)
        if (in[f->loops[l].header] && simt_loop_spins(f, l))
            return true;
    return false;
}

/* Does the way from block `a` to `b`, which it dominates, hang on two values being the same that differ by lane?  Few lanes go
 * there. */
static bool on_equality(struct simt_fn *f, int a, int b)
{
    const struct simt_block *x = &f->blocks[a];
    LLVMValueRef c = x->divergent ? LLVMGetCondition(LLVMGetBasicBlockTerminator(x->bb)) : NULL;
    if (!c || !LLVMIsAICmpInst(c) || !(simt_varying(f, LLVMGetOperand(c, 0)) || simt_varying(f, LLVMGetOperand(c, 1))))
        return false;
    LLVMIntPredicate is = LLVMGetICmpPredicate(c);
    int then = simt_block_of(f, LLVMGetSuccessor(LLVMGetBasicBlockTerminator(x->bb), is == LLVMIntEQ ? 0 : 1));
    return (is == LLVMIntEQ || is == LLVMIntNE) && f->blocks[then].n_preds == 1 && simt_dominates(f, then, b);
}

/* How many lanes of a warp are likely to reach the region. */
static int lanes_at(struct simt_fn *f, int head)
{
    for (int b = head; b > 0; b = f->blocks[b].idom)
        if (on_equality(f, f->blocks[b].idom, b))
            return SIMT_LANES / 2;
    return SIMT_LANES;
}

/* Lanes that are done wait for others when they go together. */
static bool cheaper(struct single *s, const struct cost *c)
{
    return always(s) || lanes_at(&s->f, s->head) * c->lane / 2 < c->vector;
}

/* Does what comes to a phi by its i-th way come round a loop, from the phi itself as a rule? */
static bool comes_round(const struct simt_fn *f, LLVMValueRef phi, unsigned i)
{
    int from = LLVMIsAPHINode(phi) ? simt_block_of(f, LLVMGetIncomingBlock(phi, i)) : -1;
    return from >= 0 && simt_dominates(f, simt_block_of(f, LLVMGetInstructionParent(phi)), from);
}

/* Is the value computed from one of a loop outside of the region that runs equally often in all lanes, if they agree
 * (trip_count.c)?  Tells as far as `left` steps lead. */
static bool follows_count(struct single *s, LLVMValueRef v, int *left)
{
    int b = LLVMIsAInstruction(v) && !LLVMIsALoadInst(v) && --*left > 0 ? simt_block_of(&s->f, LLVMGetInstructionParent(v)) : -1;
    for (int l = b < 0 ? -1 : s->f.blocks[b].loop; l >= 0; l = s->f.loops[l].parent)
        if (!s->in[s->f.loops[l].header] && s->f.loops[l].divergent && simt_trip_count(&s->f, l))
            return true;
    for (unsigned i = 0; b >= 0 && i < (unsigned)LLVMGetNumOperands(v); i++)
        if (!comes_round(&s->f, v, i) && follows_count(s, LLVMGetOperand(v, i), left))
            return true;
    return false;
}

/* Do lanes read and write anywhere only because that hangs on how often a loop before ran?  As a rule they agree on that, and are
 * neighbours. */
static bool neighbours_if_even(struct single *s)
{
    enum { STEPS = 100 };
    for (int b = 0; b < s->f.n_blocks; b++)
        for (LLVMValueRef x = s->in[b] ? LLVMGetFirstInstruction(s->f.blocks[b].bb) : NULL; x; x = LLVMGetNextInstruction(x)) {
            int left = STEPS;
            LLVMValueRef p = LLVMIsALoadInst(x) || LLVMIsAStoreInst(x) ? simt_access_address(x) : NULL;
            if (LLVMIsAAtomicRMWInst(x) || LLVMIsAAtomicCmpXchgInst(x) ||
                (p && simt_varying(&s->f, p) && !follows_count(s, p, &left)))
                return false; /* atomics go lane by lane in any case */
        }
    return true;
}

/* Would the loop, with all inside, go faster lane by lane? */
static bool gains(struct single *s, int loop, struct cost *ret)
{
    *ret = cost_of(s, s->in);
    if (!ret->size || any_spins(&s->f, s->in))
        return false;
    return always(s) ||
           (ret->scattered && !ret->side_by_side && !in_step(&s->f, loop) && cheaper(s, ret) && !neighbours_if_even(s));
}

/* ---- Moving */

static bool inside(struct single *s, LLVMBasicBlockRef bb)
{
    int b = simt_block_of(&s->f, bb);
    return b >= 0 && s->in[b];
}

static bool inside_value(struct single *s, LLVMValueRef v)
{
    return LLVMIsAInstruction(v) && inside(s, LLVMGetInstructionParent(v));
}

static int listed(const LLVMValueRef *list, int n, LLVMValueRef v)
{
    for (int i = 0; i < n; i++)
        if (list[i] == v)
            return i;
    return -1;
}

static bool note_in(struct single *s, LLVMValueRef v)
{
    if ((!LLVMIsAInstruction(v) && !LLVMIsAArgument(v)) || inside_value(s, v) || listed(s->ins, s->n_ins, v) >= 0)
        return true;
    if (s->n_ins == MAX_INS || !plain_type(LLVMTypeOf(v)))
        return false;
    s->ins[s->n_ins++] = v;
    return true;
}

static bool note_out(struct single *s, LLVMValueRef v)
{
    if (listed(s->outs, s->n_outs, v) >= 0)
        return true;
    if (s->n_outs == MAX_OUTS || !plain_type(LLVMTypeOf(v)))
        return false;
    s->outs[s->n_outs++] = v;
    return true;
}

/* Indices of the thread are the same wherever they are read: before the region, once for the warp.  A variable's lifetime may be
 * said in its own function only. */
static void take_calls_out(struct single *s)
{
    LLVMValueRef place = LLVMGetBasicBlockTerminator(s->f.blocks[0].bb);
    for (int b = 0; b < s->f.n_blocks; b++)
        for (LLVMValueRef x = s->in[b] ? LLVMGetFirstInstruction(s->f.blocks[b].bb) : NULL, next; x; x = next) {
            next = LLVMGetNextInstruction(x);
            if (!LLVMIsACallInst(x))
                continue;
            if (ptx_intrinsic_has(x, PTX_INTRINSIC_LIFETIME)) {
                LLVMInstructionEraseFromParent(x);
            } else if (simt_call_id(s->u, x) != PTX_SIMT_NONE) {
                ptx_move_before(s->u->b, x, place);
            }
        }
}

/* What all edges from the region bring to a phi where they join, if it is one value not made in the region; else NULL. */
static LLVMValueRef same_from_region(struct single *s, LLVMValueRef phi)
{
    LLVMValueRef same = NULL;
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        LLVMValueRef x = LLVMGetIncomingValue(phi, i);
        if (!inside(s, LLVMGetIncomingBlock(phi, i)))
            continue;
        if (inside_value(s, x) || (same && same != x))
            return NULL;
        same = x;
    }
    return same;
}

/* Not by the join's phis on the region's own edges. */
static bool used_outside(struct single *s, LLVMValueRef x)
{
    LLVMBasicBlockRef join = s->f.blocks[s->join].bb;
    for (LLVMUseRef use = LLVMGetFirstUse(x); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (inside_value(s, user))
            continue;
        if (!LLVMIsAPHINode(user) || LLVMGetInstructionParent(user) != join)
            return true;
        for (unsigned i = 0; i < LLVMCountIncoming(user); i++)
            if (LLVMGetIncomingValue(user, i) == x && !inside(s, LLVMGetIncomingBlock(user, i)))
                return true;
    }
    return false;
}

/* Everything that goes in and comes out; false when it is too much. */
static bool list_values(struct single *s)
{
    int phis = 0, joined = 0;
    s->n_ins = s->n_outs = 0;
    for (int b = 0; b < s->f.n_blocks; b++)
        for (LLVMValueRef x = s->in[b] ? LLVMGetFirstInstruction(s->f.blocks[b].bb) : NULL; x; x = LLVMGetNextInstruction(x)) {
            bool entering = b == s->head && LLVMIsAPHINode(x);
            phis += entering;
            if (entering && !plain_type(LLVMTypeOf(x)))
                return false;
            for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++)
                if (!(entering && !inside(s, LLVMGetIncomingBlock(x, i))) && !note_in(s, LLVMGetOperand(x, i)))
                    return false;
            if (used_outside(s, x) && !note_out(s, x))
                return false;
        }
    for (LLVMValueRef x = LLVMGetFirstInstruction(s->f.blocks[s->join].bb); x && LLVMIsAPHINode(x);
         x = LLVMGetNextInstruction(x)) {
        if (same_from_region(s, x))
            continue;
        if (!plain_type(LLVMTypeOf(x)) || ++joined + s->n_outs > MAX_OUTS)
            return false;
        for (unsigned i = 0; i < LLVMCountIncoming(x); i++)
            if (inside(s, LLVMGetIncomingBlock(x, i)) && !note_in(s, LLVMGetIncomingValue(x, i)))
                return false;
    }
    s->n_values = s->n_outs + joined + phis;
    for (int i = 0; i < s->n_ins; i++)
        s->n_values += !simt_uniform(&s->f, s->ins[i]);
    return s->n_ins + phis <= MAX_INS;
}

/* Does the first block lead straight to the end as well?  Lanes that go there are better told apart as a vector. */
static bool bypasses(const struct single *s, int head, int join)
{
    const struct simt_block *x = &s->f.blocks[head];
    return x->divergent && (x->succ[0] == join || x->succ[1] == join);
}

/* The blocks around the loop, as long as they cost little as scalar code: what goes in and comes out passes through memory. */
static void widen(struct single *s, const struct cost *loop, bool *try)
{
    struct simt_fn *f = &s->f;
    bool *best = s->in, found = false;
    int head = s->head, join = s->join, fewest = join >= 0 && list_values(s) ? s->n_values : INT_MAX;
    s->in = try;
    for (int d = head; d > 0; d = f->blocks[d].idom) {
        dominated_blocks(f, d, try);
        s->head = d;
        s->join = only_exit(f, try);
        struct cost c = s->join >= 0 && entered_at(f, try, d) ? cost_of(s, try) : (struct cost){ 0 };
        bool fits = c.size && !any_spins(f, try) &&
                    (always(s) || (!c.side_by_side && 32 * (c.lane - loop->lane * TRIPS) - (c.vector - loop->vector * TRIPS) <=
                                                                   16 * loop->lane * TRIPS));
        if (found && !fits)
            break;
        int values = fits && list_values(s) ? s->n_values : INT_MAX;
        if (!fits || (bypasses(s, d, s->join) && values >= fewest))
            continue;
        memcpy(best, try, sizeof *try * (size_t)f->n_blocks);
        head = d;
        join = s->join;
        fewest = values;
        found = true;
    }
    s->in = best;
    s->head = head;
    s->join = join;
}

/* What hardly any lane comes to need not be fast, but small: the next of the regions that were noted as such. */
static bool choose_rare(struct single *s)
{
    while (s->u->n_rare) {
        s->head = simt_block_of(&s->f, s->u->rare[--s->u->n_rare]);
        if (s->head <= 0)
            continue;
        dominated_blocks(&s->f, s->head, s->in);
        s->join = only_exit(&s->f, s->in);
        if (s->join >= 0 && entered_at(&s->f, s->in, s->head) && cost_of(s, s->in).size && !any_spins(&s->f, s->in) &&
            list_values(s))
            return true;
    }
    return false;
}

static bool choose(struct single *s)
{
    struct simt_fn *f = &s->f;
    bool *try = AW_NEW_ARRAY(&s->u->arena, bool, (size_t)f->n_blocks);
    s->in = AW_NEW_ARRAY(&s->u->arena, bool, (size_t)f->n_blocks);
    if (!try || !s->in)
        return simt_memory(s->u);
    if (choose_rare(s))
        return true;
    for (int l = f->n_loops - 1; l >= 0; l--) { /* outer ones first */
        struct cost c;
        if (!f->loops[l].divergent && !always(s))
            continue;
        loop_blocks(f, l, s->in);
        s->head = f->loops[l].header;
        s->join = only_exit(f, s->in);
        if (!gains(s, l, &c))
            continue;
        widen(s, &c, try);
        c = cost_of(s, s->in);
        if (s->join < 0 || s->head == 0 || !cheaper(s, &c))
            continue;
        take_calls_out(s);
        if (list_values(s))
            return true;
    }
    return false;
}

/* The first block's phis are divided: one part where the call is made, of what comes from outside; the other in the region. */
static void split_entry(struct single *s)
{
    LLVMBuilderRef b = s->u->b;
    for (LLVMValueRef phi = LLVMGetFirstInstruction(s->f.blocks[s->head].bb), next; phi && LLVMIsAPHINode(phi); phi = next) {
        next = LLVMGetNextInstruction(phi);
        LLVMPositionBuilderAtEnd(b, s->call);
        LLVMValueRef before = LLVMBuildPhi(b, LLVMTypeOf(phi), "");
        LLVMPositionBuilderBefore(b, phi);
        LLVMValueRef now = LLVMBuildPhi(b, LLVMTypeOf(phi), "");
        for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
            LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, i);
            ptx_phi_add(inside(s, from) ? now : before, LLVMGetIncomingValue(phi, i), from);
        }
        s->ins[s->n_ins++] = before;
        ptx_phi_add(now, before, s->enter);
        int out = listed(s->outs, s->n_outs, phi);
        if (out >= 0)
            s->outs[out] = now;
        LLVMReplaceAllUsesWith(phi, now);
        LLVMInstructionEraseFromParent(phi);
    }
}

/* The join's phis get one edge, from the block that calls, in place of the region's.  What differs between those is joined in
 * `leave`; the phis that wait for the call's result are noted in `placed`.  Returns how many. */
static int split_exit(struct single *s, LLVMValueRef *joined, LLVMValueRef *placed)
{
    LLVMBuilderRef b = s->u->b;
    int n = 0;
    for (LLVMValueRef phi = LLVMGetFirstInstruction(s->f.blocks[s->join].bb), next; phi && LLVMIsAPHINode(phi); phi = next) {
        next = LLVMGetNextInstruction(phi);
        LLVMValueRef same = same_from_region(s, phi), left = NULL;
        if (!same) {
            LLVMPositionBuilderAtEnd(b, s->leave);
            left = LLVMBuildPhi(b, LLVMTypeOf(phi), "");
        }
        LLVMPositionBuilderBefore(b, phi);
        LLVMValueRef now = LLVMBuildPhi(b, LLVMTypeOf(phi), "");
        for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
            LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, i);
            if (!inside(s, from))
                ptx_phi_add(now, LLVMGetIncomingValue(phi, i), from);
            else if (left)
                ptx_phi_add(left, LLVMGetIncomingValue(phi, i), from);
        }
        if (same) {
            ptx_phi_add(now, same, s->call);
        } else {
            joined[n] = left;
            placed[n++] = now;
        }
        LLVMReplaceAllUsesWith(phi, now);
        LLVMInstructionEraseFromParent(phi);
    }
    return n;
}

static void redirect(LLVMBasicBlockRef bb, LLVMBasicBlockRef from, LLVMBasicBlockRef to)
{
    LLVMValueRef t = LLVMGetBasicBlockTerminator(bb);
    for (unsigned i = 0; i < LLVMGetNumSuccessors(t); i++)
        if (LLVMGetSuccessor(t, i) == from)
            LLVMSetSuccessor(t, i, to);
}

static void set_attribute(struct simt *u, LLVMValueRef fn, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(u->ctx, kind, 0));
}

/* LLVM's passes leave the function alone: it is not to be nested. */
static void declare(struct single *s, LLVMTypeRef result)
{
    LLVMTypeRef types[MAX_INS];
    for (int i = 0; i < s->n_ins; i++)
        types[i] = LLVMTypeOf(s->ins[i]);
    LLVMTypeRef type = LLVMFunctionType(result, types, (unsigned)s->n_ins, 0);
    s->single = simt_private_declare(s->u->in, SIMT_PRIVATE_SINGLE, s->n_regions, type);
    LLVMSetLinkage(s->single, LLVMInternalLinkage);
    set_attribute(s->u, s->single, "noinline");
    set_attribute(s->u, s->single, "optnone");
}

static void replace_operands(LLVMBasicBlockRef bb, const struct single *s)
{
    for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x))
        for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++) {
            int at = listed(s->ins, s->n_ins, LLVMGetOperand(x, i));
            if (at >= 0)
                LLVMSetOperand(x, i, LLVMGetParam(s->single, (unsigned)at));
        }
}

/* Moves the blocks, which are complete, and gives them their parameters. */
static void move_blocks(struct single *s)
{
    LLVMBasicBlockRef first = LLVMAppendBasicBlockInContext(s->u->ctx, s->single, "first"), last = first;
    LLVMBasicBlockRef own[2] = { s->enter, s->leave };
    for (int i = 0; i < 2; i++) {
        LLVMMoveBasicBlockAfter(own[i], last);
        last = own[i];
    }
    for (int b = 0; b < s->f.n_blocks; b++)
        if (s->in[b]) {
            LLVMMoveBasicBlockAfter(s->f.blocks[b].bb, last);
            last = s->f.blocks[b].bb;
        }
    LLVMPositionBuilderAtEnd(s->u->b, first);
    LLVMBuildBr(s->u->b, s->enter);
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(s->single); bb; bb = LLVMGetNextBasicBlock(bb))
        replace_operands(bb, s);
}

/* Uses of a moved value that stayed behind. */
static void use_result(struct single *s, LLVMValueRef moved, LLVMValueRef result)
{
    for (LLVMUseRef use = LLVMGetFirstUse(moved), next; use; use = next) {
        LLVMValueRef user = LLVMGetUser(use);
        next = LLVMGetNextUse(use);
        if (LLVMGetBasicBlockParent(LLVMGetInstructionParent(user)) == s->single)
            continue;
        for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(user); i++)
            if (LLVMGetOperand(user, i) == moved)
                LLVMSetOperand(user, i, result);
        next = LLVMGetFirstUse(moved); /* the list has changed */
    }
}

static void move(struct single *s)
{
    struct simt *u = s->u;
    LLVMBuilderRef b = u->b;
    LLVMValueRef left[MAX_OUTS], placed[MAX_OUTS];
    LLVMBasicBlockRef head = s->f.blocks[s->head].bb, join = s->f.blocks[s->join].bb;
    s->call = LLVMAppendBasicBlockInContext(u->ctx, s->fn, "single");
    s->enter = LLVMAppendBasicBlockInContext(u->ctx, s->fn, "enter");
    s->leave = LLVMAppendBasicBlockInContext(u->ctx, s->fn, "leave");
    split_entry(s);
    memcpy(left, s->outs, sizeof *left * (size_t)s->n_outs);
    int n = s->n_outs + split_exit(s, left + s->n_outs, placed);
    for (int i = 0; i < s->f.n_blocks; i++)
        redirect(s->f.blocks[i].bb, s->in[i] ? join : head, s->in[i] ? s->leave : s->call);
    LLVMPositionBuilderAtEnd(b, s->enter);
    LLVMBuildBr(b, head);
    LLVMTypeRef types[MAX_OUTS];
    for (int i = 0; i < n; i++)
        types[i] = LLVMTypeOf(left[i]);
    LLVMTypeRef result = n ? LLVMStructTypeInContext(u->ctx, types, (unsigned)n, 0) : LLVMVoidTypeInContext(u->ctx);
    LLVMPositionBuilderAtEnd(b, s->leave);
    LLVMValueRef whole = n ? LLVMGetPoison(result) : NULL;
    for (int i = 0; i < n; i++)
        whole = LLVMBuildInsertValue(b, whole, left[i], (unsigned)i, "");
    if (n)
        LLVMBuildRet(b, whole);
    else
        LLVMBuildRetVoid(b);
    declare(s, result);
    move_blocks(s);
    LLVMPositionBuilderAtEnd(b, s->call);
    LLVMValueRef call = LLVMBuildCall2(b, LLVMGlobalGetValueType(s->single), s->single, s->ins, (unsigned)s->n_ins, "");
    for (int i = 0; i < n; i++) {
        LLVMValueRef part = LLVMBuildExtractValue(b, call, (unsigned)i, "");
        if (i < s->n_outs)
            use_result(s, left[i], part);
        else
            ptx_phi_add(placed[i - s->n_outs], part, s->call);
    }
    LLVMBuildBr(b, join);
}

/* ---- */

static void move_regions(struct simt *u, LLVMValueRef fn, enum simt_form form)
{
    struct single s = { .u = u, .fn = fn };
    bool more = simt_instructions(fn) <= MAX_FUNCTION;
    for (int i = -u->n_rare; i < MAX_REGIONS && more && !u->status; i++) {
        s.f = (struct simt_fn){ .u = u, .form = form, .src = fn };
        /* Blocks that nothing leads to, as taking tangles apart leaves them, may still lead to a region. */
        more = simt_cfg_build(&s.f) && s.f.n_loops && (int)LLVMCountBasicBlocks(fn) == s.f.n_blocks &&
               simt_shape_estimate(&s.f) && choose(&s);
        if (more) {
            move(&s);
            s.n_regions++;
        }
        aw_ptrmap_fini(&s.f.vals);
        simt_cfg_fini(&s.f);
    }
}

/* What a pass before has asked for in the same way as reroll.c. */
static void note_rare(struct simt *u, LLVMValueRef fn)
{
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb)) {
        LLVMValueRef term = LLVMGetBasicBlockTerminator(bb);
        LLVMBasicBlockRef rare = LLVMIsABranchInst(term) && LLVMIsConditional(term) ? ptx_way_all_but_never(term) : NULL;
        if (rare && u->n_rare < SIMT_RARE)
            u->rare[u->n_rare++] = rare;
    }
}

int simt_serialise(LLVMModuleRef module, const struct simt_options *options, struct aw_buf *diags)
{
    struct simt u = { .options = options, .diags = diags, .in = module };
    LLVMValueRef fn = LLVMGetNamedFunction(module, options->kernel);
    if (!fn || LLVMIsDeclaration(fn))
        return AW_OK;
    /* Where the shape is not known, rows of whole warps are what most blocks are. */
    bool fixed = options->block[0] && options->block[1];
    enum simt_form form = fixed ? SIMT_FORM_FIXED : SIMT_FORM_ROWS;
    bool begun = simt_begin(&u);
    if (begun)
        note_rare(&u, fn);
    begun = begun && (!simt_step(&u, PTX_PASS_REROLL) || simt_reroll(&u, fn, form));
    if (begun && simt_instructions(fn) <= MAX_FUNCTION && simt_step(&u, PTX_PASS_SCALED_LOOPS))
        begun = simt_scaled_loops(&u, fn, form);
    if (begun)
        move_regions(&u, fn, form);
    simt_end(&u);
    return u.status;
}
