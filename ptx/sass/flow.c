/* Control flow: blocks of text, made as they are reached.
 *
 * A call is a jump, and what is called is lifted once for each place that it is called from, so that loops stay loops: a block is
 * a run of instructions in a context, which says where the calls around it return to.  Returns are checked against that.  What
 * would be too much that way is lifted once (functions.c), and its returns look up where their register leads.  Functions that
 * may call themselves are lifted once for each place that calls them from outside, and all ways back but one lead to calls among
 * them.  Where that is too much there is one context only, but for code that serves lanes (masks.c), and all returns look.
 * Convergence barriers (BSSY, BSYNC, BREAK) need no text: who takes PTX brings lanes together where their ways meet, which is
 * where the machine code waits. */
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
        l->again = !l->flat;
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

/* A call of what is lifted once, in context `from`, leads back to one place more. */
static void add_return(struct sass_lift *l, uint32_t from, uint32_t parent, uint32_t to)
{
    for (uint32_t k = 0; k < l->n_returns; k++)
        if (l->returns[k].from == from && l->returns[k].to == to) {
            l->again = l->again || l->returns[k].parent != parent;
            if (l->returns[k].parent != parent)
                sass_fail(l, "a call in code of two functions");
            return;
        }
    if (GROW(l, returns))
        l->returns[l->n_returns++] = (struct sass_return){ from, parent, to };
    (void)block_at(l, to, parent);
}

/* Of a call of the function at `index`.  What serves lanes calls nothing, and has a context always.  Functions that call each
 * other in a ring have one for all of it: who comes from outside finds one way back out, and lanes meet there. */
static uint32_t new_context(struct sass_lift *l, uint32_t parent, uint32_t return_to, uint32_t index)
{
    if (l->flat && !l->serves[index]) {
        add_return(l, 0, 0, return_to);
        return 0;
    }
    uint32_t ring = l->flat ? 0 : l->ring[index];
    if (ring && l->contexts[parent].ring == ring) {
        add_return(l, parent, parent, return_to);
        return parent;
    }
    bool once = !l->flat && l->once[index];
    if (once && l->once_context[index]) {
        add_return(l, l->once_context[index] - 1, parent, return_to);
        return l->once_context[index] - 1;
    }
    if (l->contexts[parent].depth >= MAX_DEPTH) {
        l->again = true;
        sass_fail(l, "calls nested too deep");
        return 0;
    }
    if (!GROW(l, contexts))
        return 0;
    uint32_t made = l->n_contexts++;
    l->contexts[made] = (struct sass_context){ parent, return_to, l->contexts[parent].depth + 1, once || ring, ring };
    if (once)
        l->once_context[index] = made + 1;
    if (once || ring)
        add_return(l, made, parent, return_to);
    return made;
}

/* ---- Leaders */

bool sass_target_index(const struct sass_lift *l, int64_t offset, uint32_t *ret_index)
{
    if (offset < 0 || offset % SASS_INSN_SIZE || offset / SASS_INSN_SIZE >= l->n)
        return false;
    *ret_index = (uint32_t)(offset / SASS_INSN_SIZE);
    return true;
}

static void enter(struct sass_lift *l, uint32_t index, uint32_t from)
{
    l->leader[index] = 1;
    sass_set_bit(l->marks, index);
    l->last_entry[index] = from > l->last_entry[index] ? from : l->last_entry[index];
    l->first_entry[index] = from < l->first_entry[index] ? from : l->first_entry[index];
}

/* Of instruction `from`. */
static void lead(struct sass_lift *l, int64_t offset, uint32_t from)
{
    uint32_t index;
    if (sass_target_index(l, offset, &index))
        enter(l, index, from);
}

/* From anywhere. */
static void enter_outside(struct sass_lift *l, uint32_t index)
{
    enter(l, index, 0);
    enter(l, index, l->n);
}

const uint32_t *sass_indirect_targets(const struct sass_lift *l, uint32_t offset, uint32_t *ret_n)
{
    struct sass_indirect i = { 0 };
    while (sass_indirect_next(l->code, &i))
        if (i.offset == offset) {
            *ret_n = i.n;
            return i.targets;
        }
    *ret_n = 0;
    return NULL;
}

/* What any instruction but BSSY, which only says where lanes meet, has for its target. */
static void find_entered(struct sass_lift *l)
{
    for (uint32_t j = 0; j < l->n_jumps; j++) {
        uint32_t k = l->jumps[j], n = 0, to;
        const struct sass_insn *i = &l->insns[k];
        bool indirect = i->op == SASS_BRX || i->op == SASS_BRXU;
        const uint32_t *targets = indirect ? sass_indirect_targets(l, i->offset, &n) : NULL;
        if (i->opnd[SASS_J].kind == SASS_TARGET && i->op != SASS_BSSY && sass_target_index(l, i->opnd[SASS_J].value, &to))
            l->entered_from[to] = l->entered_from[to] && l->entered_from[to] != k + 1 ? UINT32_MAX : k + 1;
        for (uint32_t t = 0; t < n; t++)
            if (sass_target_index(l, targets[t], &to))
                l->entered_from[to] = UINT32_MAX;
    }
}

static void find_leaders(struct sass_lift *l)
{
    for (uint32_t k = 0; k < l->n; k++)
        l->first_entry[k] = l->n;
    for (uint32_t f = 0; f < l->n_functions; f++) {
        uint32_t place;
        if (sass_place_of(l, l->functions[f], 0, &place))
            enter_outside(l, place / SASS_INSN_SIZE);
    }
    for (uint32_t k = 0; k < l->n_parts; k++)
        enter_outside(l, l->parts[k].first);
    for (uint32_t j = 0; j < l->n_jumps; j++) {
        uint32_t k = l->jumps[j];
        const struct sass_insn *i = &l->insns[k];
        switch (i->op) {
        case SASS_BRA:
            lead(l, i->opnd[SASS_J].value, k);
            break;
        case SASS_CALL:
            if (i->opnd[SASS_J].kind == SASS_TARGET)
                lead(l, i->opnd[SASS_J].value, k);
            if (k + 1 < l->n)
                enter_outside(l, k + 1);
            break;
        case SASS_BRX: case SASS_BRXU: {
            uint32_t n;
            const uint32_t *targets = sass_indirect_targets(l, i->offset, &n);
            for (uint32_t t = 0; t < n; t++)
                lead(l, targets[t], k);
            break;
        }
        default: break;
        }
    }
}

bool sass_never_falls(const struct sass_lift *l, const struct sass_insn *i)
{
    bool always = !sass_guarded(i) && (i->opnd[SASS_S].kind == SASS_NONE || sass_is_true(&i->opnd[SASS_S]));
    return always && !sass_is_question(l, i) &&
           (i->op == SASS_BRA || i->op == SASS_BRX || i->op == SASS_BRXU || i->op == SASS_EXIT || i->op == SASS_RET ||
            i->op == SASS_JMP);
}

/* ---- Ends of blocks */

static void jump(struct sass_lift *l, uint32_t block, const char *condition)
{
    if (condition[0])
        sass_step(l, "@%s bra $B%" PRIu32, condition, block);
    else
        sass_step(l, "bra $B%" PRIu32, block);
}

static bool reads(const struct sass_insn *i, const struct sass_operand *d)
{
    for (int s = SASS_A; s < SASS_SLOTS; s++) {
        const struct sass_operand *o = &i->opnd[s];
        if (o->kind == d->kind && o->reg < d->reg + (d->regs ? d->regs : 1) && d->reg < o->reg + (o->regs ? o->regs : 1))
            return true;
    }
    return false;
}

/* Has an instruction from `begin` to before k, that all lanes run, written this one register? */
static bool was_written(const struct sass_lift *l, uint32_t begin, uint32_t k, const struct sass_operand *d)
{
    for (uint32_t at = begin; at < k && d->regs <= 1; at++) {
        const struct sass_operand *o = &l->insns[at].opnd[SASS_D];
        if (!sass_guarded(&l->insns[at]) && o->kind == d->kind && o->reg == d->reg)
            return true;
    }
    return false;
}

/* Whether instruction k of a loop from `begin` on makes the same in each round: of nothing that it or one after it changes,
 * but what was made anew in this round. */
static bool makes_the_same(const struct sass_lift *l, uint32_t begin, uint32_t k)
{
    switch (l->insns[k].op) {
    case SASS_PLOP3: case SASS_NOP: return true;
    case SASS_SYNCS_EXCH: case SASS_FENCE_VIEW: return true; /* for each value: again for a lane that was served */
    case SASS_MOV: case SASS_UMOV: case SASS_IMAD: case SASS_IMAD_WIDE: case SASS_IADD3: case SASS_VIADD: case SASS_LOP3:
    case SASS_SHF:
    case SASS_LEA: case SASS_FADD: case SASS_FMUL: case SASS_FFMA: case SASS_HFMA2: case SASS_CS2R: case SASS_LDC: case SASS_ULDC:
    case SASS_I2F: break;
    case SASS_UIADD3: case SASS_ULOP3: case SASS_USHF:
        if (sass_writes(&l->insns[k].opnd[SASS_P]) || sass_writes(&l->insns[k].opnd[SASS_Q]))
            return false;
        break;
    default: return false;
    }
    for (uint32_t before = begin; before <= k; before++)
        if (reads(&l->insns[before], &l->insns[k].opnd[SASS_D]) &&
            !was_written(l, begin, before, &l->insns[k].opnd[SASS_D]))
            return false;
    return true;
}

/* A loop that serves lanes by the value that they have in a register, those of one value in each round (R2UR): to lanes that were
 * served another round means nothing, as all that it does is guarded.  Here a lane has its own uniform registers, and is served
 * in the first round. */
static bool goes_round_alone(const struct sass_lift *l, const struct sass_insn *i, uint32_t begin)
{
    bool asks = false;
    for (uint32_t k = begin; k < i->offset / SASS_INSN_SIZE; k++) {
        const struct sass_insn *one = &l->insns[k];
        asks |= one->op == SASS_R2UR && sass_writes(&one->opnd[SASS_P]);
        if (!sass_guarded(one) && !makes_the_same(l, begin, k))
            return false;
    }
    return asks;
}

/* True when the block ends here. */
static bool branch(struct sass_lift *l, const struct sass_insn *i, uint32_t context)
{
    uint32_t index;
    const struct sass_operand *j = sass_look(l, SASS_J);
    (void)sass_look(l, SASS_UN);
    enum sass_way way = sass_way_of(l, i);
    if (way != SASS_WAY_EITHER)
        sass_look_all(l);
    if (way == SASS_WAY_ON)
        return false;
    if (!sass_target_index(l, j->value, &index)) {
        sass_fail(l, "a target outside the code");
        return true;
    }
    if (i->mod[SASS_F_ANY] && way == SASS_WAY_EITHER && !goes_round_alone(l, i, index))
        sass_fail(l, "a jump of all lanes if of one");
    (void)sass_mod(l, SASS_F_ANY);
    struct sass_text condition = way == SASS_WAY_TAKEN ? sass_format("%s", "") : sass_condition(l, i);
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
        q = sass_where(l, q, &condition);
        jump(l, block_at(l, index, context), q.s);
    }
    if (condition.s[0])
        return false;
    sass_step(l, "trap");
    return true;
}

/* What a register says: one of the functions that it may be, else the kernel traps. */
static void call_register(struct sass_lift *l, const struct sass_insn *i, uint32_t context, struct sass_text condition)
{
    uint32_t label = l->n_calls++, at = i->offset / SASS_INSN_SIZE;
    struct sass_text a = sass_raw(l, &i->opnd[SASS_A]);
    if (condition.s[0] == '!')
        sass_step(l, "@%s bra $E%" PRIu32, condition.s + 1, label);
    else if (condition.s[0])
        sass_step(l, "@!%s bra $E%" PRIu32, condition.s, label);
    struct aw_str other = { 0 };
    bool known = i->opnd[SASS_J].kind != SASS_TARGET && sass_call_known(l, a.s, label, &other);
    for (uint32_t f = 0; f < l->n_functions && l->status == AW_OK; f++) {
        uint32_t index, value;
        if (!sass_is_target(l, i, l->functions[f], &index, &value))
            continue;
        known = true;
        struct sass_text q = sass_temp(l, 'q');
        sass_step(l, "setp.eq.u32 %s, %s, %" PRIu32, q.s, a.s, value);
        jump(l, block_at(l, index, new_context(l, context, at + 1, index)), q.s);
    }
    if (!known && other.len)
        sass_fail(l, "a call of '%.*s', which is not in the image", AW_STR_ARG(other));
    else if (!known)
        sass_fail(l, "a call by a register, of no function that is known");
    sass_step(l, "trap");
    aw_buf_printf(&l->body, "$E%" PRIu32 ":\n", label);
}

static bool call_runtime(struct sass_lift *l, const struct sass_reloc *r, struct sass_text condition)
{
    uint32_t label = l->n_calls++;
    if (condition.s[0] == '!')
        sass_step(l, "@%s bra $E%" PRIu32, condition.s + 1, label);
    else if (condition.s[0])
        sass_step(l, "@!%s bra $E%" PRIu32, condition.s, label);
    bool known = sass_call_symbol(l, r->symbol);
    aw_buf_printf(&l->body, "$E%" PRIu32 ":\n", label);
    return known;
}

static bool call(struct sass_lift *l, const struct sass_insn *i, uint32_t context)
{
    uint32_t index, at = i->offset / SASS_INSN_SIZE;
    const struct sass_reloc *r = sass_reloc_of(l, i);
    struct sass_text condition = sass_condition(l, i);
    (void)sass_mod(l, SASS_F_NOINC); /* of a counter that no one reads */
    (void)sass_look(l, SASS_J);
    (void)sass_look(l, SASS_A);
    l->relocated = r && r->kind == SASS_RELOC_CODE;
    if (sass_calls_register(i)) {
        call_register(l, i, context, condition);
        return false;
    }
    (void)sass_look(l, SASS_L);
    if (sass_called(l, i, &index)) {
        bool jumps = sass_call_jumps(l, i, &index);
        jump(l, block_at(l, index, jumps ? context : new_context(l, context, at + 1, index)), condition.s);
        return !condition.s[0];
    }
    if (!l->relocated || !call_runtime(l, r, condition))
        sass_fail(l, "a call of what is not known");
    return false;
}

/* A return goes to where the context says; that its register agrees is asked, and costs nothing where the compiler sees it. */
static bool ret(struct sass_lift *l, const struct sass_insn *i, uint32_t context)
{
    const struct sass_context *c = &l->contexts[context];
    struct sass_text condition = sass_condition(l, i), a = sass_raw(l, &i->opnd[SASS_A]), to = sass_temp(l, 't');
    (void)sass_mod(l, SASS_F_NODEC);
    uint32_t base = sass_look(l, SASS_J)->kind == SASS_TARGET ? (uint32_t)i->opnd[SASS_J].value
                                                              : (uint32_t)sass_look(l, SASS_L)->value;
    sass_step(l, "add.s32 %s, %s, %" PRId32, to.s, a.s, (int32_t)base);
    if ((l->flat && !context) || c->once) {
        sass_step(l, "mov.b32 %%return, %s", to.s);
        if (condition.s[0])
            sass_step(l, "@%s bra $RETURN%" PRIu32, condition.s, context);
        else
            sass_step(l, "bra $RETURN%" PRIu32, context);
        return !condition.s[0];
    }
    if (context == 0 || c->return_to >= l->n) {
        sass_fail(l, "a return without a call");
        return true;
    }
    uint32_t label = l->n_calls++;
    if (condition.s[0] == '!')
        sass_step(l, "@%s bra $E%" PRIu32, condition.s + 1, label);
    else if (condition.s[0])
        sass_step(l, "@!%s bra $E%" PRIu32, condition.s, label);
    struct sass_text q = sass_temp(l, 'q');
    sass_step(l, "setp.ne.u32 %s, %s, %" PRIu32, q.s, to.s, c->return_to * SASS_INSN_SIZE);
    sass_step(l, "@%s trap", q.s);
    jump(l, block_at(l, c->return_to, c->parent), "");
    aw_buf_printf(&l->body, "$E%" PRIu32 ":\n", label);
    return !condition.s[0];
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

static void undecoded(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_code_part *part = sass_part_of(l, i->offset / SASS_INSN_SIZE);
    struct sass_insn insn = { 0 };
    const uint8_t *bytes = part->code->text.ptr + (i->offset - part->first * SASS_INSN_SIZE);
    (void)sass_decode(bytes, i->offset, l->cubin->arch, &insn);
    if (i->undecoded == SASS_UNKNOWN_OPCODE)
        insn.op = SASS_NO_OP;
    l->at = &insn;
    if (i->undecoded == SASS_UNKNOWN_OPCODE)
        sass_fail(l, "opcode 0x%03x that is not known", (unsigned)(bytes[0] | bytes[1] << 8) & 0xfff);
    else
        sass_fail(l, "%s", i->undecoded == SASS_UNKNOWN_BITS ? "bits that mean what is not known" : "modifier that is not known");
    l->at = i;
}

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
    if (i->undecoded) {
        undecoded(l, i);
        return true;
    }
    if (!emit) {
        sass_fail(l, "no meaning yet");
        return true;
    }
    /* An instruction with two results may change its own guard on the way. */
    bool own = sass_guarded(i) &&
               ((i->opnd[SASS_P].kind != SASS_NONE && i->opnd[SASS_P].reg == i->guard) || sass_writes_predicates(i));
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
        sass_step(l, "mov.b32 %%mask%" PRIu32 ", %s", i->offset / SASS_INSN_SIZE,
                  sass_raw(l, &i->opnd[i->op == SASS_WARPSYNC ? SASS_B : SASS_A]).s);
    sass_handle_copy(l, i);
    sass_defer_begin(l, i);
    sass_quotient_before(l, i);
    if (!sass_quotient_end(l, i))
        emit(l, i);
    if (l->deferring)
        sass_defer_end(l, i);
    else
        sass_known_after(l, i);
    sass_carry_after(l, i);
    sass_turns_after(l, i);
    sass_quad_after(l, i);
    l->guard_copy = false;
    return false;
}

static bool moves_stack(const struct sass_insn *i)
{
    return i->opnd[SASS_D].kind == SASS_REG && i->opnd[SASS_D].reg == 1;
}

static bool reads_stack(const struct sass_operand *o)
{
    return o->kind == SASS_REG && o->reg == 1;
}

/* Where the stack begins, or a number of bytes from where it was. */
static bool moves_by_number(const struct sass_insn *i)
{
    bool number = false, other = false;
    for (int s = SASS_A; s <= SASS_C; s++) {
        const struct sass_operand *o = &i->opnd[s];
        bool begin = o->kind == SASS_CONST && !o->bank && o->value == SASS_BANK0_STACK && o->reg == SASS_RZ;
        number |= o->kind == SASS_IMM || begin;
        other |= o->kind != SASS_NONE && o->kind != SASS_IMM && !begin && !reads_stack(o) && !sass_is_zero(o);
    }
    return number && !other && i->op != SASS_LOP3;
}

static int64_t lowers_stack(const struct sass_insn *i)
{
    for (int s = SASS_A; s <= SASS_C; s++)
        if (i->opnd[s].kind == SASS_IMM && (int32_t)i->opnd[s].value < 0)
            return -(int64_t)(int32_t)i->opnd[s].value;
    return 0;
}

/* Code that takes memory of the stack itself (alloca) moves it by what is in a register, rounds it, or puts it back; or it moves
 * it by more than the tables count, which they do once for each function. */
void sass_note_stack(struct sass_lift *l, const struct sass_insn *i)
{
    if (!moves_stack(i))
        return;
    l->lowered += lowers_stack(i) > 0;
    l->takes_stack |= !moves_by_number(i) || lowers_stack(i) > l->frame;
}

static void find_stack(struct sass_lift *l)
{
    l->takes_stack |= l->lowered > 1 && !l->occurs[SASS_CALL];
    l->checks_stack = l->takes_stack || l->lowered > 1;
}

/* Of a stack whose depth no one knows: it has ended where the offset is outside of it. */
static void stack_check(struct sass_lift *l)
{
    struct sass_text q = sass_temp(l, 'q');
    l->regs[1] = 1;
    sass_step(l, "setp.gt.u32 %s, %%r1, %" PRIu32, q.s, l->frame);
    sass_step(l, "@%s trap", q.s);
}

/* May other lanes be there behind it than before, on the straight way? */
static bool changes_lanes(const struct sass_insn *i)
{
    return i->op == SASS_BRA || i->op == SASS_BRX || i->op == SASS_BRXU || i->op == SASS_CALL || i->op == SASS_RET ||
           i->op == SASS_EXIT || i->op == SASS_KILL || i->op == SASS_BSYNC || i->op == SASS_BAR || i->op == SASS_WARPSYNC;
}

static bool instruction(struct sass_lift *l, const struct sass_insn *i, uint32_t context)
{
    l->at = i;
    sass_line_begin(l, i->offset / SASS_INSN_SIZE);
    sass_look_begin(l);
    bool ends = one(l, i, context);
    l->at = i;
    if (changes_lanes(i))
        l->here_mask.s[0] = 0;
    if (!(i->guard == SASS_PT && i->guard_inv))
        sass_look_end(l);
    if ((l->recursive || l->checks_stack) && moves_stack(i) && !ends)
        stack_check(l);
    return ends;
}

static void block(struct sass_lift *l, uint32_t b)
{
    uint32_t context = l->blocks[b].context;
    sass_carry_forget(l);
    for (;;) {
        l->blocks[b].emitted = true;
        aw_buf_printf(&l->body, "$B%" PRIu32 ":\n", b);
        sass_known_forget(l);
        l->here_mask.s[0] = 0;
        l->quad.on = false;
        uint32_t k = l->blocks[b].first;
        bool ended = false;
        do {
            uint32_t n = sass_swap_loop(l, k);
            if (n)
                sass_emit_swap_loop(l, k);
            else
                ended = instruction(l, &l->insns[k], context);
            n = n ? n : 1;
            k += n;
            l->lifted += n;
        } while (!ended && l->status == AW_OK && k < l->n && !l->leader[k]);
        if (ended || l->status != AW_OK)
            return;
        if (k == l->n || sass_part_of(l, k)->first == k) {
            sass_fail(l, "code that runs past its end");
            return;
        }
        sass_carry_enter(l, k);
        b = block_at(l, k, context);
        if (l->blocks[b].emitted) {
            jump(l, b, "");
            return;
        }
    }
}

/* Where returns lead that no context answers: the instruction behind any call of what is there. */
static void returns(struct sass_lift *l)
{
    for (uint32_t c = 0; c < l->n_contexts && l->status == AW_OK; c++) {
        if (!l->flat && !l->contexts[c].once)
            continue;
        aw_buf_printf(&l->body, "$RETURN%" PRIu32 ":\n", c);
        for (uint32_t k = 0; k < l->n_returns && l->status == AW_OK; k++) {
            const struct sass_return *r = &l->returns[k];
            if (r->from != c)
                continue;
            struct sass_text q = sass_temp(l, 'q');
            sass_step(l, "setp.eq.u32 %s, %%return, %" PRIu32, q.s, r->to * SASS_INSN_SIZE);
            jump(l, block_at(l, r->to, r->parent), q.s);
        }
        sass_step(l, "trap");
    }
}

static bool blocks(struct sass_lift *l)
{
    uint64_t most = sass_most_lifted(l);
    if (!GROW(l, contexts))
        return false;
    l->n_contexts = 1;
    l->contexts[0] = (struct sass_context){ 0 };
    block_at(l, 0, 0);
    while (l->n_pending && l->status == AW_OK) {
        if (l->recursive && !l->flat && l->lifted > most) {
            l->again = true;
            return false;
        }
        uint32_t b = l->pending[--l->n_pending];
        if (!l->blocks[b].emitted)
            block(l, b);
    }
    if (l->status == AW_OK)
        returns(l);
    return l->status == AW_OK;
}

enum { STACK = 8192 }; /* bytes, where how deep calls go no one says */

bool sass_flow(struct sass_lift *l)
{
    find_leaders(l);
    find_entered(l);
    sass_find_quotients(l);
    sass_find_jumps(l);
    sass_find_masks(l);
    sass_find_apart(l);
    sass_find_steps(l);
    if (l->status == AW_OK && !sass_find_once(l)) {
        l->again = true;
        return false;
    }
    find_stack(l);
    if (l->recursive || l->takes_stack)
        l->frame = l->frame > STACK ? l->frame : STACK;
    return l->status == AW_OK && blocks(l);
}

bool sass_flow_again(struct sass_lift *l)
{
    l->flat = l->recursive = true;
    l->again = false;
    l->status = AW_OK;
    l->error.len = 0;
    l->body.len = 0;
    l->n_blocks = l->n_pending = l->n_contexts = l->n_calls = l->n_returns = 0;
    aw_ptrmap_fini(&l->block_of);
    l->frame = l->frame > STACK ? l->frame : STACK;
    return blocks(l);
}
