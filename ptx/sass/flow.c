/* Control flow: blocks of text, made as they are reached.
 *
 * A call is a jump, and what is called is lifted once for each place that it is called from, so that loops stay loops: a block is a run of
 * instructions in a context, which says where the calls around it return to.  Returns are checked against that.  Convergence barriers
 * (BSSY, BSYNC, BREAK) need no text: who takes PTX brings lanes together where their ways meet, which is where the machine code waits. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "sass/lift.h"

#define MAX_DEPTH 16u         /* of calls in each other */
#define MAX_BLOCKS 400000u

/* ---- Growing arrays in the arena */

static bool grow(struct sass_lift *l, void **at, uint32_t *cap, uint32_t n, size_t size, size_t align)
{
    if (n < *cap)
        return true;
    uint32_t more = *cap ? 2 * *cap : 64;
    void *p = aw_arena_array(&l->arena, size, align, more);
    if (!p) {
        l->status = AW_ERR_OUT_OF_MEMORY;
        return false;
    }
    if (n)
        memcpy(p, *at, n * size);
    *at = p;
    *cap = more;
    return true;
}

#define GROW(l, array) grow((l), (void **)&(l)->array, &(l)->cap_##array, (l)->n_##array, sizeof *(l)->array, _Alignof(uint64_t))

/* ---- Blocks */

static uint32_t block_at(struct sass_lift *l, uint32_t index, uint32_t context)
{
    const void *key = (const void *)(uintptr_t)((uint64_t)context * (l->n + 1) + index + 1);
    void *found = aw_ptrmap_find(&l->block_of, key);
    if (found)
        return (uint32_t)(uintptr_t)found - 1;
    if (l->n_blocks >= MAX_BLOCKS) {
        sass_fail(l, "too many calls of too much code");
        return 0;
    }
    if (!GROW(l, blocks) || !GROW(l, pending))
        return 0;
    uint32_t b = l->n_blocks++;
    l->blocks[b] = (struct sass_block){ .first = index, .context = context };
    l->pending[l->n_pending++] = b;
    if (!aw_ptrmap_put(&l->block_of, key, (void *)(uintptr_t)(b + 1)))
        l->status = AW_ERR_OUT_OF_MEMORY;
    return b;
}

static uint32_t new_context(struct sass_lift *l, uint32_t parent, uint32_t return_to)
{
    if (l->contexts[parent].depth >= MAX_DEPTH) {
        sass_fail(l, "calls nested too deep: recursion");
        return 0;
    }
    if (!GROW(l, contexts))
        return 0;
    l->contexts[l->n_contexts] = (struct sass_context){ parent, return_to, l->contexts[parent].depth + 1 };
    return l->n_contexts++;
}

/* ---- Leaders */

bool sass_target_index(const struct sass_lift *l, int64_t offset, uint32_t *ret_index)
{
    if (offset < 0 || offset % SASS_INSN_SIZE || offset / SASS_INSN_SIZE >= l->n)
        return false;
    *ret_index = (uint32_t)(offset / SASS_INSN_SIZE);
    return true;
}

static void lead(struct sass_lift *l, int64_t offset)
{
    uint32_t index;
    if (sass_target_index(l, offset, &index))
        l->leader[index] = 1;
}

/* Words of offset, flags, count, targets. */
const uint32_t *sass_indirect_targets(const struct sass_lift *l, uint32_t offset, uint32_t *ret_n)
{
    const uint32_t *words = l->code->indirect;
    uint32_t n = l->code->n_indirect;
    for (uint32_t k = 0; k + 3 <= n;) {
        uint32_t count = words[k + 2];
        if (count > n - k - 3)
            break;
        if (words[k] == offset) {
            *ret_n = count;
            return words + k + 3;
        }
        k += 3 + count;
    }
    *ret_n = 0;
    return NULL;
}

static void find_leaders(struct sass_lift *l)
{
    l->leader[0] = 1;
    for (uint32_t k = 0; k < l->n; k++) {
        const struct sass_insn *i = &l->insns[k];
        switch (i->op) {
        case SASS_BRA:
            lead(l, i->opnd[SASS_J].value);
            break;
        case SASS_CALL:
            if (i->opnd[SASS_J].kind == SASS_TARGET && i->opnd[SASS_A].kind == SASS_NONE) {
                lead(l, i->opnd[SASS_J].value);
                lead(l, (int64_t)i->offset + SASS_INSN_SIZE);
            }
            break;
        case SASS_BRX: case SASS_BRXU: {
            uint32_t n;
            const uint32_t *targets = sass_indirect_targets(l, i->offset, &n);
            for (uint32_t t = 0; t < n; t++)
                lead(l, targets[t]);
            break;
        }
        default: break;
        }
    }
}

enum { BRANCH_DIV = 2, BRANCH_CONV = 3 };

static unsigned branch_kind(const struct sass_lift *l, const struct sass_insn *i)
{
    return l->code->text.ptr[i->offset + 4] & 3;
}

/* ---- Calls that are jumps
 *
 * A CALL may lead out of a loop to code that never comes back.  What is called so has no return that can be reached. */

struct search {
    uint32_t *stack, n, *seen, round;
};

static void visit(struct sass_lift *l, struct search *s, int64_t offset)
{
    uint32_t k;
    if (!sass_target_index(l, offset, &k) || s->seen[k] == s->round)
        return;
    s->seen[k] = s->round;
    s->stack[s->n++] = k;
}

/* The target of a call by distance; false where it is another. */
static bool called(const struct sass_lift *l, const struct sass_insn *i, uint32_t *ret_index)
{
    const struct sass_operand *a = &i->opnd[SASS_A];
    return i->op == SASS_CALL && i->opnd[SASS_J].kind == SASS_TARGET && (a->kind == SASS_NONE || sass_is_zero(a)) &&
           sass_target_index(l, i->opnd[SASS_J].value, ret_index);
}

/* Where control may go from instruction k but to a return. */
static void visit_next(struct sass_lift *l, struct search *s, const struct sass_insn *i)
{
    uint32_t to, n;
    bool always = !sass_guarded(i) && (i->opnd[SASS_S].kind == SASS_NONE || sass_is_true(&i->opnd[SASS_S]));
    bool jumps = i->op == SASS_BRA && branch_kind(l, i) != BRANCH_DIV;
    if (called(l, i, &to) && l->no_return[to])
        jumps = true;
    if (jumps)
        visit(l, s, i->opnd[SASS_J].value);
    if (i->op == SASS_BRX || i->op == SASS_BRXU) {
        const uint32_t *targets = sass_indirect_targets(l, i->offset, &n);
        for (uint32_t t = 0; t < n; t++)
            visit(l, s, targets[t]);
        jumps = true;
    }
    if (!(always && (jumps || i->op == SASS_EXIT)))
        visit(l, s, (int64_t)i->offset + SASS_INSN_SIZE);
}

static bool may_return(struct sass_lift *l, struct search *s, uint32_t from)
{
    s->round++;
    s->n = 0;
    visit(l, s, (int64_t)from * SASS_INSN_SIZE);
    while (s->n) {
        const struct sass_insn *i = &l->insns[s->stack[--s->n]];
        if (i->op == SASS_RET)
            return true;
        visit_next(l, s, i);
    }
    return false;
}

/* What is found to be a jump may lead to returns: until nothing is new. */
static void find_jumps(struct sass_lift *l)
{
    struct search s = { .stack = AW_NEW_ARRAY(&l->arena, uint32_t, l->n + 1), .seen = AW_NEW_ARRAY(&l->arena, uint32_t, l->n + 1) };
    uint8_t *known = AW_NEW_ARRAY(&l->arena, uint8_t, l->n + 1);
    bool changed = !l->arena.failed;
    while (changed) {
        changed = false;
        memset(known, 0, l->n);
        for (uint32_t k = 0; k < l->n; k++) {
            uint32_t to;
            if (!called(l, &l->insns[k], &to) || known[to])
                continue;
            known[to] = 1;
            bool never = !may_return(l, &s, to);
            changed = changed || (never && !l->no_return[to]);
            l->no_return[to] |= never;
        }
    }
}

/* ---- Member masks
 *
 * Operations of a warp have no masks: lanes wait for each other before, and a branch (BRA.DIV, BRA.CONV) goes to code that serves the lanes of
 * each mask apart where their masks differ.  Here all lanes stay together, and the operation gets the mask that the branch asked about. */

static bool is_warp_operation(unsigned op)
{
    return op == SASS_VOTE || op == SASS_VOTEU || op == SASS_SHFL || op == SASS_MATCH || op == SASS_REDUX;
}

/* What wrote the branch's guard, if that asks whether lanes have one mask. */
static bool asks_for_mask(const struct sass_insn *i, unsigned guard)
{
    if (i->opnd[SASS_P].kind != SASS_PRED || i->opnd[SASS_P].reg != guard)
        return false;
    return i->op == SASS_R2UR || (i->op == SASS_LOP3 && i->opnd[SASS_L].value == 0x40 && !sass_writes(&i->opnd[SASS_D]));
}

static void find_masks(struct sass_lift *l)
{
    enum { NEAR = 64 };
    for (uint32_t k = 0; k < l->n; k++) {
        const struct sass_insn *i = &l->insns[k];
        if (i->op != SASS_BRA || branch_kind(l, i) < BRANCH_DIV || !sass_guarded(i))
            continue;
        uint32_t to = k + 1, from = k;
        if (branch_kind(l, i) == BRANCH_CONV && !sass_target_index(l, i->opnd[SASS_J].value, &to))
            continue;
        for (uint32_t n = 0; n < NEAR && to < l->n && !is_warp_operation(l->insns[to].op); n++)
            to++;
        while (from > 0 && k - from < NEAR && !asks_for_mask(&l->insns[from], i->guard))
            from--;
        if (to >= l->n || !is_warp_operation(l->insns[to].op))
            continue;
        l->at = i;
        if (!asks_for_mask(&l->insns[from], i->guard)) {
            if (l->insns[to].op != SASS_SHFL)
                sass_fail(l, "lanes of which masks");
            continue;
        }
        l->is_mask[from] = 1;
        l->mask_of[to] = from + 1;
    }
}

/* ---- Ends of blocks */

static void jump(struct sass_lift *l, uint32_t block, const char *condition)
{
    if (condition[0])
        sass_step(l, "@%s bra $B%" PRIu32, condition, block);
    else
        sass_step(l, "bra $B%" PRIu32, block);
}

/* True when the block ends here. */
static bool branch(struct sass_lift *l, const struct sass_insn *i, uint32_t context)
{
    uint32_t index;
    /* .DIV leads to code for lanes that have not come together: here they have. */
    const struct sass_operand *j = sass_look(l, SASS_J);
    (void)sass_look(l, SASS_UN);
    if (branch_kind(l, i) == BRANCH_DIV) {
        sass_look_all(l);
        return false;
    }
    if (!sass_target_index(l, j->value, &index)) {
        sass_fail(l, "a target outside the code");
        return true;
    }
    struct sass_text condition = sass_condition(l, i);
    jump(l, block_at(l, index, context), condition.s);
    return !condition.s[0];
}

static bool indirect(struct sass_lift *l, const struct sass_insn *i, uint32_t context)
{
    uint32_t n;
    const uint32_t *targets = sass_indirect_targets(l, i->offset, &n);
    struct sass_text a = sass_raw(l, &i->opnd[SASS_A]), condition = sass_condition(l, i);
    (void)sass_look(l, SASS_J);
    if (!targets) {
        sass_fail(l, "targets that the file does not name");
        return true;
    }
    for (uint32_t t = 0; t < n && l->status == AW_OK; t++) {
        uint32_t index;
        bool seen = false;
        for (uint32_t s = 0; s < t; s++)
            seen = seen || targets[s] == targets[t];
        if (seen)
            continue;
        if (!sass_target_index(l, targets[t], &index)) {
            sass_fail(l, "a target outside the code");
            return true;
        }
        struct sass_text q = sass_temp(l, 'q');
        sass_step(l, "setp.eq.u32 %s, %s, %" PRIu32, q.s, a.s, (uint32_t)(targets[t] - (uint32_t)i->opnd[SASS_J].value));
        if (condition.s[0]) {
            struct sass_text both = sass_temp(l, 'q'), g = sass_temp(l, 'q');
            sass_step(l, condition.s[0] == '!' ? "not.pred %s, %s" : "mov.pred %s, %s", g.s, condition.s + (condition.s[0] == '!'));
            sass_step(l, "and.pred %s, %s, %s", both.s, q.s, g.s);
            q = both;
        }
        jump(l, block_at(l, index, context), q.s);
    }
    if (condition.s[0])
        return false;
    sass_step(l, "trap");
    return true;
}

static bool call(struct sass_lift *l, const struct sass_insn *i, uint32_t context)
{
    uint32_t index, at = i->offset / SASS_INSN_SIZE;
    (void)sass_mod(l, SASS_F_NOINC); /* of a counter that no one reads */
    (void)sass_look(l, SASS_J);
    if (i->opnd[SASS_J].kind != SASS_TARGET) {
        sass_call(l, i);
        return false;
    }
    if (!(i->opnd[SASS_A].kind == SASS_NONE || sass_is_zero(sass_look(l, SASS_A))) || !sass_target_index(l, i->opnd[SASS_J].value, &index)) {
        sass_fail(l, "a call of what is not known");
        return true;
    }
    struct sass_text condition = sass_condition(l, i);
    jump(l, block_at(l, index, l->no_return[index] ? context : new_context(l, context, at + 1)), condition.s);
    return !condition.s[0];
}

/* A return goes to where the context says; that its register agrees is asked, and costs nothing where the compiler sees it. */
static bool ret(struct sass_lift *l, const struct sass_insn *i, uint32_t context)
{
    const struct sass_context *c = &l->contexts[context];
    struct sass_text condition = sass_condition(l, i), q = sass_temp(l, 'q');
    if (context == 0 || c->return_to >= l->n) {
        sass_fail(l, "a return without a call");
        return true;
    }
    if (condition.s[0]) {
        sass_fail(l, "a return with a condition");
        return true;
    }
    (void)sass_mod(l, SASS_F_NODEC);
    uint32_t base = sass_look(l, SASS_J)->kind == SASS_TARGET ? (uint32_t)i->opnd[SASS_J].value : 0;
    sass_step(l, "setp.ne.u32 %s, %s, %" PRIu32, q.s, sass_raw(l, &i->opnd[SASS_A]).s, c->return_to * SASS_INSN_SIZE - base);
    sass_step(l, "@%s trap", q.s);
    jump(l, block_at(l, c->return_to, c->parent), "");
    return true;
}

static bool end(struct sass_lift *l, const struct sass_insn *i)
{
    struct sass_text condition = sass_condition(l, i);
    if (condition.s[0])
        sass_step(l, "@%s exit", condition.s);
    else
        sass_step(l, "exit");
    return !condition.s[0];
}

/* ---- Instructions */

/* True when the block ends with it. */
static bool one(struct sass_lift *l, const struct sass_insn *i, uint32_t context)
{
    if (i->guard == SASS_PT && i->guard_inv)
        return false;
    switch (i->op) {
    case SASS_BRA: return branch(l, i, context);
    case SASS_BRX: case SASS_BRXU: return indirect(l, i, context);
    case SASS_CALL: sass_carry_forget(l); sass_known_forget(l); return call(l, i, context);
    case SASS_RET: return ret(l, i, context);
    case SASS_EXIT: case SASS_KILL: return end(l, i);
    default: break;
    }
    sass_emit *emit = sass_emitter(i->op);
    if (!emit) {
        sass_fail(l, "no meaning yet");
        return true;
    }
    /* An instruction with two results may change its own guard on the way. */
    bool own = sass_guarded(i) && ((i->opnd[SASS_P].kind != SASS_NONE && i->opnd[SASS_P].reg == i->guard) || i->op == SASS_R2P);
    struct sass_insn copy;
    if (own) {
        copy = *i;
        struct sass_operand guard = { .kind = i->guard_uniform ? SASS_UPRED : SASS_PRED, .reg = i->guard };
        sass_step(l, "mov.pred %%guard, %s", sass_pred(l, &guard).s);
        l->copied_guard = true;
        l->guard_copy = true;
        l->at = &copy;
        i = &copy;
    }
    if (l->in_step[i->offset / SASS_INSN_SIZE])
        sass_step(l, ".pragma \"anywarp in step\"");
    if (l->is_mask[i->offset / SASS_INSN_SIZE])
        sass_step(l, "mov.b32 %%mask%" PRIu32 ", %s", i->offset / SASS_INSN_SIZE, sass_raw(l, &i->opnd[SASS_A]).s);
    sass_defer_begin(l, i);
    emit(l, i);
    if (l->deferring)
        sass_defer_end(l, i);
    else
        sass_known_after(l, i);
    sass_carry_after(l, i);
    l->guard_copy = false;
    return false;
}

static bool instruction(struct sass_lift *l, const struct sass_insn *i, uint32_t context)
{
    l->at = i;
    sass_look_begin(l);
    bool ends = one(l, i, context);
    l->at = i;
    if (!(i->guard == SASS_PT && i->guard_inv))
        sass_look_end(l);
    return ends;
}

static void block(struct sass_lift *l, uint32_t b)
{
    uint32_t context = l->blocks[b].context;
    for (;;) {
        l->blocks[b].emitted = true;
        aw_buf_printf(&l->body, "$B%" PRIu32 ":\n", b);
        sass_carry_forget(l);
        sass_known_forget(l);
        uint32_t k = l->blocks[b].first;
        bool ended = false;
        do {
            ended = instruction(l, &l->insns[k++], context);
        } while (!ended && l->status == AW_OK && k < l->n && !l->leader[k]);
        if (ended || l->status != AW_OK)
            return;
        if (k == l->n) {
            sass_fail(l, "code that runs past its end");
            return;
        }
        b = block_at(l, k, context);
        if (l->blocks[b].emitted) {
            jump(l, b, "");
            return;
        }
    }
}

bool sass_flow(struct sass_lift *l)
{
    if (!GROW(l, contexts))
        return false;
    l->n_contexts = 1;
    l->contexts[0] = (struct sass_context){ 0 };
    find_leaders(l);
    find_jumps(l);
    find_masks(l);
    sass_find_steps(l);
    block_at(l, 0, 0);
    while (l->n_pending && l->status == AW_OK) {
        uint32_t b = l->pending[--l->n_pending];
        if (!l->blocks[b].emitted)
            block(l, b);
    }
    return l->status == AW_OK;
}
