/* Member masks: which lanes an operation of a warp waits for.
 *
 * In machine code such operations have no masks.  Each takes the lanes that run it together, and before it those of the mask wait
 * for each other.  Where the assembler knows that they are together nothing is left of that.  Where it does not, it asks
 * (BRA.DIV, BRA.CONV), and sends lanes that are not together to code that *serves* them: WARPSYNC brings the lanes of its mask
 * together at one place of the code, whichever questions they come from, a small function of all places of one kind or, from
 * sm_90 on, what WARPSYNC.COLLECTIVE does.
 *
 * Lanes that run together are together here.  Where one place alone asks, the operation behind it gets the mask that was asked
 * about, and the serving code is not taken.  Where several ask, lanes of one mask may be at different ones of them.  There the
 * serving code is taken, always: it names the mask of each operation, whatever the architecture, and does what it has to after it
 * with lanes that were not in the mask.  Its operations are marked ("anywarp members"): they wait for the lanes of their mask
 * wherever those are, as PTX's do, and ptx/finish brings these together.  All others in lifted code take the lanes that are
 * there. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sass/lift.h"

enum { LONGEST = 2000 }; /* instructions of code that serves lanes */

static bool is_warp_operation(unsigned op)
{
    return op == SASS_VOTE || op == SASS_VOTEU || op == SASS_SHFL || op == SASS_MATCH || op == SASS_REDUX || op == SASS_ELECT;
}

/* ---- Questions */

enum { BRANCH_DIV = 2, BRANCH_CONV = 3 };

static unsigned branch_kind(const struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_code_part *part = sass_part_of(l, i->offset / SASS_INSN_SIZE);
    return part->code->text.ptr[i->offset - part->first * SASS_INSN_SIZE + 4] & 3;
}

bool sass_is_question(const struct sass_lift *l, const struct sass_insn *i)
{
    return i->op == SASS_BRA && branch_kind(l, i) >= BRANCH_DIV;
}

bool sass_asks_together(const struct sass_lift *l, const struct sass_insn *i)
{
    return i->op == SASS_BRA && branch_kind(l, i) == BRANCH_DIV;
}

enum sass_way sass_way_of(const struct sass_lift *l, const struct sass_insn *i)
{
    bool served = l->served[i->offset / SASS_INSN_SIZE];
    if (l->quotient_of[i->offset / SASS_INSN_SIZE] & SASS_QUOTIENT_BRANCH)
        return SASS_WAY_TAKEN;
    if (!sass_is_question(l, i))
        return SASS_WAY_EITHER;
    if (branch_kind(l, i) == BRANCH_DIV) /* leads to the serving code; .CONV leads past it */
        return served ? SASS_WAY_TAKEN : SASS_WAY_ON;
    return served ? SASS_WAY_ON : SASS_WAY_EITHER;
}

/* ---- Code that serves lanes */

static bool ends_straight(const struct sass_lift *l, const struct sass_insn *i)
{
    return !sass_guarded(i) && (i->op == SASS_RET || (i->op == SASS_BRA && !sass_is_question(l, i)));
}

static bool waits_by_mask(const struct sass_insn *i)
{
    return i->op == SASS_WARPSYNC && (i->opnd[SASS_B].kind != SASS_NONE || i->opnd[SASS_J].kind != SASS_NONE);
}

/* Does the code from `from` to `end`, or to where it leads back, wait by masks, and not at a barrier?  `mark`: what does is
 * noted. */
static bool code_serves(struct sass_lift *l, uint32_t from, uint32_t end, bool inner, bool mark)
{
    bool found = false;
    for (uint32_t k = from; k < l->n && k < end && k - from < LONGEST; k++) {
        const struct sass_insn *i = &l->insns[k];
        uint32_t to;
        if (i->op == SASS_BAR || i->op == SASS_EXIT)
            return false;
        if (waits_by_mask(i)) {
            found = true;
            l->serves[k] |= mark;
        }
        if (!inner && sass_called(l, i, &to)) {
            bool serves = code_serves(l, to, l->n, true, mark);
            found = found || serves;
            l->serves[to] |= serves && mark;
        }
        if (ends_straight(l, i))
            return found;
    }
    return found && end != l->n;
}

static bool question_serves(struct sass_lift *l, uint32_t k, bool mark)
{
    uint32_t target;
    if (!sass_target_index(l, l->insns[k].opnd[SASS_J].value, &target))
        return false;
    return branch_kind(l, &l->insns[k]) == BRANCH_DIV ? code_serves(l, target, l->n, false, mark)
                                                      : target > k && code_serves(l, k + 1, target, false, mark);
}

/* The NOP that is left of a wait where lanes are together: those that were served have waited, and come to it as well. */
static void pass_nop(struct sass_lift *l, uint32_t k)
{
    enum { NEAR = 64 };
    uint32_t at;
    if (branch_kind(l, &l->insns[k]) != BRANCH_CONV || !sass_target_index(l, l->insns[k].opnd[SASS_J].value, &at) ||
        ends_straight(l, &l->insns[at - 1]))
        return;
    for (uint32_t n = 0; n < NEAR && at < l->n; n++, at++) {
        const struct sass_insn *i = &l->insns[at];
        if (sass_nop_waits(l, i)) {
            l->passed[at] = 1;
            return;
        }
        if ((l->leader[at] && n) || i->op == SASS_BRA || i->op == SASS_CALL || i->op == SASS_BAR)
            return;
    }
}

/* Is the instruction in a function that may be called from several places?  Functions are behind what calls them. */
static bool in_function(const struct sass_lift *l, uint32_t at)
{
    for (uint32_t j = 0; j < l->n_jumps && l->jumps[j] < at; j++) {
        uint32_t k = l->jumps[j], to;
        if (sass_called(l, &l->insns[k], &to) && to <= at && to > k && !l->serves[to] &&
            !sass_call_jumps(l, &l->insns[k], &to))
            return true;
    }
    return false;
}

static void find_serving(struct sass_lift *l)
{
    for (uint32_t j = 0; j < l->n_jumps; j++) {
        uint32_t k = l->jumps[j];
        if (sass_is_question(l, &l->insns[k]) && question_serves(l, k, false)) {
            (void)question_serves(l, k, true);
            l->served[k] = 1;
        }
    }
}

/* ---- Which places lanes of a warp can be at together
 *
 * At a barrier of the block that is for whole warps all lanes are together.  So lanes that come to one barrier next are not in a
 * warp with others that come to another one next.  Calls are passed over. */

/* A place that asks, or waits by a mask, and what comes next. */
struct asker {
    uint32_t at, n, *barriers; /* [n] */
    bool leaves;               /* it may not come to a barrier, or to more than are counted */
};

struct next_walk {
    uint32_t *stack, n, *seen, round;
};

enum { BARRIERS_MAX = 32 };

static bool is_for_warps(const struct sass_lift *l, uint32_t k)
{
    const struct sass_insn *i = &l->insns[k];
    return i->op == SASS_BAR && i->mod[SASS_F_DEFER_BLOCKING] && !l->apart[k] && !sass_guarded(i);
}

/* WARPSYNC of all lanes, but in code that serves. */
static bool is_of_warp(const struct sass_lift *l, uint32_t k)
{
    const struct sass_insn *i = &l->insns[k];
    const struct sass_operand *mask = &i->opnd[SASS_B];
    return i->op == SASS_WARPSYNC && !l->serves[k] && i->opnd[SASS_J].kind == SASS_NONE &&
           (mask->kind == SASS_NONE || (mask->kind == SASS_IMM && (uint32_t)mask->value == UINT32_MAX));
}

bool sass_waits_for_all(const struct sass_lift *l, uint32_t k)
{
    return is_for_warps(l, k) || (is_of_warp(l, k) && !sass_guarded(&l->insns[k]));
}

/* False: there is no memory, for it or what was asked for before; l->status says so. */
static bool walk_begin(struct sass_lift *l, struct next_walk *ret)
{
    *ret = (struct next_walk){ .stack = AW_NEW_ARRAY(&l->arena, uint32_t, l->n + 1),
                               .seen = AW_NEW_ARRAY(&l->arena, uint32_t, l->n + 1) };
    if (l->arena.failed)
        l->status = AW_ERR_OUT_OF_MEMORY;
    return !l->arena.failed;
}

static void walk_to(const struct sass_lift *l, struct next_walk *w, int64_t offset)
{
    uint32_t k;
    if (!sass_target_index(l, offset, &k) || w->seen[k] == w->round)
        return;
    w->seen[k] = w->round;
    w->stack[w->n++] = k;
}

static void walk_on(const struct sass_lift *l, struct next_walk *w, const struct sass_insn *i)
{
    uint32_t n = 0;
    const uint32_t *targets = i->op == SASS_BRX || i->op == SASS_BRXU ? sass_indirect_targets(l, i->offset, &n) : NULL;
    if (i->op == SASS_BRA)
        walk_to(l, w, i->opnd[SASS_J].value);
    for (uint32_t t = 0; t < n; t++)
        walk_to(l, w, targets[t]);
    if (!sass_never_falls(l, i))
        walk_to(l, w, (int64_t)i->offset + SASS_INSN_SIZE);
}

static void asker_look(const struct sass_lift *l, struct next_walk *w, struct asker *a)
{
    w->round++;
    walk_to(l, w, (int64_t)a->at * SASS_INSN_SIZE);
    while (w->n) {
        uint32_t k = w->stack[--w->n];
        const struct sass_insn *i = &l->insns[k];
        bool counted = is_for_warps(l, k) && a->n < BARRIERS_MAX;
        if (counted)
            a->barriers[a->n++] = k;
        a->leaves |= i->op == SASS_EXIT || i->op == SASS_RET || i->op == SASS_KILL || (is_for_warps(l, k) && !counted);
        if (!is_for_warps(l, k))
            walk_on(l, w, i);
    }
}

static bool may_be_together(const struct asker *a, const struct asker *b)
{
    bool both = a->leaves || b->leaves;
    for (uint32_t i = 0; i < a->n && !both; i++)
        for (uint32_t j = 0; j < b->n && !both; j++)
            both = a->barriers[i] == b->barriers[j];
    return both;
}

static bool is_asker(const struct sass_lift *l, uint32_t k)
{
    return l->served[k] || (l->insns[k].op == SASS_WARPSYNC && l->members[k] && !l->serves[k]);
}

static uint32_t askers_find(struct sass_lift *l, struct asker **ret)
{
    uint32_t n = 0;
    struct next_walk w;
    for (uint32_t k = 0; k < l->n; k++)
        n += is_asker(l, k);
    *ret = AW_NEW_ARRAY(&l->arena, struct asker, n + 1);
    uint32_t *barriers = AW_NEW_ARRAY(&l->arena, uint32_t, (size_t)n * BARRIERS_MAX + 1), at = 0;
    if (!walk_begin(l, &w))
        return 0;
    for (uint32_t k = 0; k < l->n; k++)
        if (is_asker(l, k)) {
            (*ret)[at] = (struct asker){ .at = k, .barriers = barriers + (size_t)at * BARRIERS_MAX };
            asker_look(l, &w, &(*ret)[at++]);
        }
    return n;
}

/* Whose serving code is taken: those that are not alone. */
static void find_served(struct sass_lift *l)
{
    struct asker *askers;
    uint32_t n = askers_find(l, &askers);
    for (uint32_t a = 0; a < n; a++) {
        uint32_t k = askers[a].at;
        bool several = l->served[k] && (in_function(l, k) || sass_comes_in_turn(l, k));
        for (uint32_t b = 0; b < n && !several; b++)
            several = a != b && may_be_together(&askers[a], &askers[b]);
        if (!l->served[k])
            continue;
        l->served[k] = several;
        if (several)
            pass_nop(l, k);
    }
}

/* ---- Waits by a mask */

uint32_t sass_collective_end(const struct sass_lift *l, uint32_t k)
{
    uint32_t at = k + 1, to;
    for (; at < l->n && (is_warp_operation(l->insns[at].op) || l->insns[at].op == SASS_NOP || l->insns[at].op == SASS_MOV); at++)
        ; /* a reduction's result is moved to where each lane has it */
    bool ends = at < l->n && l->insns[at].op == SASS_ENDCOLLECTIVE;
    return ends && sass_target_index(l, l->insns[k].opnd[SASS_J].value, &to) && to == at + 1 ? at : 0;
}

/* The first instruction behind k on the same straight way that is a warp operation, or `op`; 0: none. */
static uint32_t next_on_way(const struct sass_lift *l, uint32_t k, unsigned op)
{
    while (++k < l->n && !l->leader[k]) {
        const struct sass_insn *i = &l->insns[k];
        if (i->op == op || is_warp_operation(i->op))
            return k;
        if (i->op == SASS_CALL || i->op == SASS_BRA || i->op == SASS_RET || i->op == SASS_EXIT || i->op == SASS_WARPSYNC)
            return 0;
    }
    return 0;
}

bool sass_waits_for_operation(const struct sass_lift *l, uint32_t k)
{
    uint32_t next = next_on_way(l, k, SASS_BAR);
    return next && l->insns[next].op != SASS_BAR;
}

/* Lanes that wait for each other by a mask may be at several places, unless that is what they do before a barrier of the block.
 * By all of the warp's the assembler waits where lanes that have parted are together again, too: that is one place but in
 * functions. */
static bool is_of_members(struct sass_lift *l, uint32_t k)
{
    uint32_t next = next_on_way(l, k, SASS_BAR);
    if (l->insns[k].opnd[SASS_J].kind != SASS_NONE || l->serves[k])
        return true;
    if (next && l->insns[next].op == SASS_BAR)
        return false;
    return !is_of_warp(l, k) || in_function(l, k) || sass_comes_in_turn(l, k);
}

/* Lanes that have waited for each other by a mask do what follows without those that it does not name. */
static void masks_of_waits(struct sass_lift *l)
{
    uint32_t wait = 0; /* 1 + the last one on this straight way */
    bool collective = false;
    for (uint32_t k = 0; k < l->n; k++) {
        const struct sass_insn *i = &l->insns[k];
        bool operation = is_warp_operation(i->op) || (collective && i->op == SASS_NOP);
        if (l->leader[k] || i->op == SASS_BAR || i->op == SASS_CALL || i->op == SASS_BRA || i->op == SASS_ENDCOLLECTIVE)
            wait = 0;
        collective = collective && wait;
        if (i->op == SASS_WARPSYNC) {
            collective = i->opnd[SASS_J].kind != SASS_NONE;
            l->members[k] = is_of_members(l, k);
            wait = sass_guarded(i) ? 0 : k + 1;
        } else if (wait && operation) {
            bool named = l->insns[wait - 1].opnd[SASS_B].kind != SASS_NONE; /* not of .ALL */
            l->members[k] = l->members[wait - 1];
            l->mask_of[k] = named ? wait : 0;
            l->is_mask[wait - 1] = named;
        }
    }
}

/* ---- Where one place asks: the operation gets the mask that was asked about */

/* What wrote the branch's guard, if that asks whether lanes have one mask. */
static bool asks_for_mask(const struct sass_insn *i, unsigned guard)
{
    if (i->opnd[SASS_P].kind != SASS_PRED || i->opnd[SASS_P].reg != guard)
        return false;
    return i->op == SASS_R2UR || (i->op == SASS_LOP3 && i->opnd[SASS_L].value == 0x40 && !sass_writes(&i->opnd[SASS_D]));
}

/* The instruction that wrote a register, on the same straight way before k; l->n: none. */
static uint32_t wrote(const struct sass_lift *l, uint32_t k, const struct sass_operand *o)
{
    enum { NEAR = 64 };
    for (uint32_t at = k; at > 0 && k - at < NEAR && !l->leader[at]; at--) {
        const struct sass_operand *d = &l->insns[at - 1].opnd[SASS_D];
        if (d->kind == o->kind && d->reg == o->reg)
            return at - 1;
    }
    return l->n;
}

static void asks_with(struct sass_lift *l, uint32_t k, const struct sass_operand *o)
{
    uint32_t at = wrote(l, k, o);
    if (at < l->n && is_warp_operation(l->insns[at].op) && !l->members[at])
        l->asks[at] = l->asked = true;
}

/* Before a question the code finds out which lanes are here, and whether they all have one mask.  That takes the lanes that come
 * there, whatever an earlier question was about. */
static void find_asks(struct sass_lift *l)
{
    enum { NEAR = 64 };
    for (uint32_t j = 0; j < l->n_jumps; j++) {
        uint32_t k = l->jumps[j], from = k;
        const struct sass_insn *i = &l->insns[k];
        if (i->op != SASS_BRA || branch_kind(l, i) < BRANCH_DIV || !sass_guarded(i))
            continue;
        asks_with(l, k, &i->opnd[SASS_UN]);
        while (from > 0 && k - from < NEAR && !l->leader[from] && !asks_for_mask(&l->insns[from], i->guard))
            from--;
        const struct sass_insn *asked = &l->insns[from];
        if (asked->op != SASS_LOP3 || !asks_for_mask(asked, i->guard))
            continue;
        asks_with(l, from, &asked->opnd[SASS_B]);
        asks_with(l, from, &asked->opnd[SASS_C]);
    }
}

/* Where the code that serves lanes apart, from `from` on, comes back to that for lanes together; 0: not found. */
static uint32_t comes_back(const struct sass_lift *l, uint32_t from)
{
    for (uint32_t k = from; k < l->n && k - from < LONGEST; k++) {
        const struct sass_insn *i = &l->insns[k];
        uint32_t to;
        if (i->op == SASS_BRA && branch_kind(l, i) < BRANCH_DIV && !sass_guarded(i))
            return sass_target_index(l, i->opnd[SASS_J].value, &to) ? to : 0;
    }
    return 0;
}

/* Does what was asked about end here?  Lanes wait for others, or the next question is asked. */
static bool ends_question(const struct sass_lift *l, const struct sass_insn *i)
{
    return i->op == SASS_WARPSYNC || i->op == SASS_BAR || i->op == SASS_EXIT || i->op == SASS_RET || sass_is_question(l, i);
}

/* What is run after `k`, where no lane goes another way. */
static uint32_t straight_on(const struct sass_lift *l, uint32_t k)
{
    const struct sass_insn *i = &l->insns[k];
    uint32_t to;
    if (i->op != SASS_BRA || sass_guarded(i))
        return k + 1;
    return sass_target_index(l, i->opnd[SASS_J].value, &to) ? to : l->n;
}

/* The operation for which a question is: the next one from `k` on.  l->n: there is none, as what it gave was not needed. */
static uint32_t asked_for(const struct sass_lift *l, uint32_t k)
{
    enum { NEAR = 64 };
    for (uint32_t n = 0; n < NEAR && k < l->n && !ends_question(l, &l->insns[k]); n++, k = straight_on(l, k))
        if (is_warp_operation(l->insns[k].op) && !l->asks[k])
            return k;
    return l->n;
}

/* One question may be for several operations: all on the ways from `to` up to where lanes that were served come back. */
static void mask_more(struct sass_lift *l, struct next_walk *w, const struct sass_insn *i, uint32_t branch, uint32_t to,
                      uint32_t mask)
{
    enum { FAR = 400 };
    uint32_t apart = branch + 1, end;
    if (branch_kind(l, i) == BRANCH_DIV && !sass_target_index(l, i->opnd[SASS_J].value, &apart))
        return;
    end = comes_back(l, apart);
    w->round++;
    walk_to(l, w, (int64_t)to * SASS_INSN_SIZE);
    while (w->n) {
        uint32_t k = w->stack[--w->n];
        if (k < to || k >= end || k - to >= FAR)
            continue;
        if (is_warp_operation(l->insns[k].op) && !l->members[k] && !l->asks[k])
            l->mask_of[k] = mask;
        walk_on(l, w, &l->insns[k]);
    }
}

/* From sm_90 on all barriers look alike; what is for lanes that may be apart has another way that BRA.DIV leads to. */
static void barriers_apart(struct sass_lift *l)
{
    enum { FAR = 400 };
    for (uint32_t j = 0; j < l->n_jumps; j++) {
        uint32_t k = l->jumps[j], cold;
        const struct sass_insn *i = &l->insns[k];
        if (i->op != SASS_BRA || branch_kind(l, i) != BRANCH_DIV || !sass_target_index(l, i->opnd[SASS_J].value, &cold))
            continue;
        uint32_t end = comes_back(l, cold);
        end = end > k ? end : k + FAR;
        for (uint32_t at = k + 1; at < end && at < l->n; at++)
            l->apart[at] = l->insns[at].op == SASS_BAR;
    }
}

static bool has_questions(const struct sass_lift *l)
{
    for (uint32_t j = 0; j < l->n_jumps; j++)
        if (sass_is_question(l, &l->insns[l->jumps[j]]))
            return true;
    return false;
}

void sass_find_masks(struct sass_lift *l)
{
    enum { NEAR = 64 };
    if (!l->occurs[SASS_WARPSYNC] && !has_questions(l))
        return;
    find_serving(l);
    if (l->cubin->arch >= 90)
        barriers_apart(l);
    masks_of_waits(l);
    find_served(l);
    find_asks(l);
    struct next_walk w;
    if (!walk_begin(l, &w))
        return;
    for (uint32_t j = 0; j < l->n_jumps; j++) {
        uint32_t k = l->jumps[j];
        const struct sass_insn *i = &l->insns[k];
        if (i->op != SASS_BRA || branch_kind(l, i) < BRANCH_DIV || !sass_guarded(i))
            continue;
        uint32_t to = k + 1, from = k;
        if (branch_kind(l, i) == BRANCH_CONV && !sass_target_index(l, i->opnd[SASS_J].value, &to))
            continue;
        to = asked_for(l, to);
        while (from > 0 && k - from < NEAR && !asks_for_mask(&l->insns[from], i->guard))
            from--;
        bool asks = asks_for_mask(&l->insns[from], i->guard);
        l->is_mask[from] |= asks;
        if (to == l->n || l->members[to]) /* those have theirs */
            continue;
        l->at = i;
        if (!asks) {
            if (l->insns[to].op != SASS_SHFL && !l->served[k])
                sass_fail(l, "lanes of which masks");
            continue;
        }
        l->mask_of[to] = from + 1;
        mask_more(l, &w, i, k, to, from + 1);
    }
}
