/* Functions of a kernel's code: calls that never come back, functions that may call themselves, and those that are lifted once.
 *
 * What is called is lifted once for each place that it is called from (flow.c).  Where functions call functions that would be
 * many times the code, and those of which it would be are lifted once for all places.  Not text. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sass/lift.h"

/* ---- Calls that are jumps
 *
 * A CALL may lead out of a loop, to code that never comes back: no return can be reached from there.  Or to the rest of the
 * function, which returns to where that was called from: then nothing in the code has the place behind this call as a number. */

/* A walk from branch to branch. */
struct search {
    uint32_t *stack, n, *seen, round;
    uint32_t *first; /* of a branch: from where on the instructions before it have been gone through */
    uint64_t length; /* instructions gone through */
};

static void search_make(struct sass_lift *l, struct search *s)
{
    *s = (struct search){ .stack = AW_NEW_ARRAY(&l->arena, uint32_t, (size_t)l->n + 1),
                          .seen = AW_NEW_ARRAY(&l->arena, uint32_t, (size_t)l->n + 1),
                          .first = AW_NEW_ARRAY(&l->arena, uint32_t, (size_t)l->n + 1) };
}

static void search_begin(struct search *s)
{
    s->round++;
    s->n = 0;
    s->length = 0;
}

/* Where control goes on from there: at the next instruction from which it may go elsewhere. */
static void visit(struct sass_lift *l, struct search *s, int64_t offset)
{
    uint32_t k;
    if (!sass_target_index(l, offset, &k))
        return;
    uint32_t branch = sass_next_bit(l, l->branches, k);
    if (s->seen[branch] != s->round) {
        s->seen[branch] = s->round;
        s->first[branch] = branch < l->n ? branch + 1 : l->n;
        if (branch < l->n)
            s->stack[s->n++] = branch;
    }
    if (k < s->first[branch]) {
        s->length += s->first[branch] - k;
        s->first[branch] = k;
    }
}

bool sass_called(const struct sass_lift *l, const struct sass_insn *i, uint32_t *ret_index)
{
    const struct sass_operand *a = &i->opnd[SASS_A];
    uint32_t place;
    if (i->op != SASS_CALL || !(a->kind == SASS_NONE || sass_is_zero(a)))
        return false;
    if (i->opnd[SASS_J].kind == SASS_TARGET)
        return sass_target_index(l, i->opnd[SASS_J].value, ret_index);
    const struct sass_reloc *r = sass_reloc_of(l, i);
    if (!r || r->kind != SASS_RELOC_CODE || !sass_place_of(l, r->symbol, r->addend, &place))
        return false;
    *ret_index = place / SASS_INSN_SIZE;
    return true;
}

bool sass_calls_register(const struct sass_insn *i)
{
    return i->op == SASS_CALL && i->opnd[SASS_A].kind != SASS_NONE && !sass_is_zero(&i->opnd[SASS_A]);
}

bool sass_call_jumps(const struct sass_lift *l, const struct sass_insn *i, uint32_t *ret_index)
{
    uint32_t behind = i->offset / SASS_INSN_SIZE + 1;
    return sass_called(l, i, ret_index) && (l->no_return[*ret_index] || behind >= l->n || !l->noted[behind]);
}

/* A number in the code of a part: it may be a place there. */
static void note(struct sass_lift *l, const struct sass_code_part *part, int64_t number)
{
    uint32_t k = part->first + (uint32_t)number / SASS_INSN_SIZE;
    if ((uint32_t)number % SASS_INSN_SIZE == 0 && (uint32_t)number < part->code->text.size && k < l->n)
        l->noted[k] = 1;
}

void sass_note_places(struct sass_lift *l, const struct sass_insn *i)
{
    uint32_t k = i->offset / SASS_INSN_SIZE, place;
    const struct sass_code_part *part = sass_part_of(l, k);
    const struct sass_reloc *r = sass_reloc_of(l, i);
    for (int s = SASS_A; s <= SASS_C; s++)
        if (i->opnd[s].kind == SASS_IMM)
            note(l, part, i->opnd[s].value + (r ? r->addend : 0));
    if (i->op == SASS_LEPC && i->opnd[SASS_L].kind == SASS_IMM)
        note(l, part, (k - part->first + 1) * SASS_INSN_SIZE + i->opnd[SASS_L].value);
    if (r && i->op != SASS_CALL && sass_place_of(l, r->symbol, r->addend, &place))
        l->noted[place / SASS_INSN_SIZE] = 1;
}

/* Where control may go from instruction k but to a return. */
static void visit_next(struct sass_lift *l, struct search *s, const struct sass_insn *i)
{
    uint32_t to, n;
    bool always = !sass_guarded(i) && (i->opnd[SASS_S].kind == SASS_NONE || sass_is_true(&i->opnd[SASS_S]));
    enum sass_way way = sass_way_of(l, i);
    bool jumps = i->op == SASS_BRA && way != SASS_WAY_ON;
    if (jumps)
        visit(l, s, i->opnd[SASS_J].value);
    if (sass_call_jumps(l, i, &to)) {
        visit(l, s, (int64_t)to * SASS_INSN_SIZE);
        jumps = true;
    }
    if (i->op == SASS_BRX || i->op == SASS_BRXU) {
        const uint32_t *targets = sass_indirect_targets(l, i->offset, &n);
        for (uint32_t t = 0; t < n; t++)
            visit(l, s, targets[t]);
        jumps = true;
    }
    if (way != SASS_WAY_TAKEN && !(always && (jumps || i->op == SASS_EXIT)))
        visit(l, s, (int64_t)i->offset + SASS_INSN_SIZE);
}

static bool may_return(struct sass_lift *l, struct search *s, uint32_t from)
{
    search_begin(s);
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
void sass_find_jumps(struct sass_lift *l)
{
    struct search s;
    if (!l->occurs[SASS_CALL])
        return;
    search_make(l, &s);
    uint8_t *known = AW_NEW_ARRAY(&l->arena, uint8_t, l->n + 1);
    bool changed = !l->arena.failed;
    while (changed) {
        changed = false;
        memset(known, 0, l->n);
        for (uint32_t j = 0; j < l->n_jumps; j++) {
            uint32_t to;
            if (!sass_called(l, &l->insns[l->jumps[j]], &to) || known[to])
                continue;
            known[to] = 1;
            bool never = !may_return(l, &s, to);
            changed = changed || (never && !l->no_return[to]);
            l->no_return[to] |= never;
        }
    }
}

/* ---- Which functions call which */

/* Functions by their first instructions; the kernel is the first. */
struct functions {
    uint32_t *first, n, *number; /* of an instruction: 1 + its function's */
    uint16_t *calls;             /* n * n: at how many places one calls another */
    uint64_t *own, *all, *sites; /* instructions without and with what is lifted for calls in it; places that call it */
    uint8_t *once, *holds;       /* it is lifted once; it calls what is, if by way of others */
};

enum { MAX_FUNCTIONS = 2000 };

static void add_function(struct functions *g, uint32_t index)
{
    if (g->number[index] || g->n >= MAX_FUNCTIONS)
        return;
    g->first[g->n++] = index;
    g->number[index] = g->n;
}

/* *ret_registers: some call's target is in a register. */
static void find_functions(struct sass_lift *l, struct functions *g, bool *ret_registers)
{
    *ret_registers = false;
    add_function(g, 0);
    for (uint32_t j = 0; j < l->n_jumps; j++) {
        uint32_t to;
        const struct sass_insn *i = &l->insns[l->jumps[j]];
        *ret_registers |= sass_calls_register(i);
        if (sass_called(l, i, &to) && !sass_call_jumps(l, i, &to))
            add_function(g, to);
    }
    for (uint32_t f = 0; f < l->n_functions && *ret_registers; f++) {
        uint32_t s = l->functions[f], place;
        if (l->cubin->symbols[s].kind == SASS_SYMBOL_FUNCTION && sass_place_of(l, s, 0, &place))
            add_function(g, place / SASS_INSN_SIZE);
    }
}

static void add_call(struct functions *g, uint32_t from, uint32_t to)
{
    uint16_t *calls = g->number[to] ? &g->calls[from * g->n + g->number[to] - 1] : NULL;
    if (calls && *calls < UINT16_MAX)
        ++*calls;
}

static void add_calls(struct sass_lift *l, struct functions *g, uint32_t from, const struct sass_insn *i)
{
    uint32_t to, value;
    if (sass_called(l, i, &to) && !sass_call_jumps(l, i, &to))
        add_call(g, from, to);
    for (uint32_t f = 0; f < l->n_functions && sass_calls_register(i); f++)
        if (sass_is_target(l, i, l->functions[f], &to, &value))
            add_call(g, from, to);
}

static bool functions_make(struct sass_lift *l, struct functions *g, bool *ret_registers)
{
    struct search s;
    g->first = AW_NEW_ARRAY(&l->arena, uint32_t, MAX_FUNCTIONS);
    g->number = AW_NEW_ARRAY(&l->arena, uint32_t, (size_t)l->n + 1);
    if (l->arena.failed)
        return false;
    find_functions(l, g, ret_registers);
    if (g->n == 1)
        return true;
    search_make(l, &s);
    g->calls = AW_NEW_ARRAY(&l->arena, uint16_t, (size_t)g->n * g->n);
    g->own = AW_NEW_ARRAY(&l->arena, uint64_t, g->n);
    g->all = AW_NEW_ARRAY(&l->arena, uint64_t, g->n);
    g->sites = AW_NEW_ARRAY(&l->arena, uint64_t, g->n);
    g->once = AW_NEW_ARRAY(&l->arena, uint8_t, g->n);
    g->holds = AW_NEW_ARRAY(&l->arena, uint8_t, g->n);
    for (uint32_t f = 0; f < g->n && !l->arena.failed && g->n < MAX_FUNCTIONS; f++) {
        search_begin(&s);
        visit(l, &s, (int64_t)g->first[f] * SASS_INSN_SIZE);
        while (s.n) {
            const struct sass_insn *i = &l->insns[s.stack[--s.n]];
            add_calls(l, g, f, i);
            if (i->op != SASS_RET || sass_guarded(i))
                visit_next(l, &s, i);
        }
        g->own[f] = s.length;
    }
    return !l->arena.failed;
}

/* ---- Functions that may call themselves */

/* Takes away functions that call none of those left, as long as there are such: in what stays each calls another.  Else
 * ret_order[] has them, those that are called before those that call them. */
static bool has_cycle(const struct functions *g, uint8_t *gone, uint32_t *ret_order)
{
    uint32_t n = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t f = 0; f < g->n; f++) {
            bool calls = gone[f];
            for (uint32_t t = 0; t < g->n && !calls; t++)
                calls = !gone[t] && g->calls[f * g->n + t];
            if (!calls) {
                gone[f] = 1;
                ret_order[n++] = f;
                changed = true;
            }
        }
    }
    return n != g->n;
}

/* Which of those that stayed can come to each other: each of a ring has its first one's number, from 1 on. */
static void find_rings(struct sass_lift *l, const struct functions *g, const uint8_t *gone)
{
    uint8_t *to = AW_NEW_ARRAY(&l->arena, uint8_t, (size_t)g->n * g->n); /* [f * n + t]: f comes to t */
    for (uint32_t f = 0; to && f < g->n; f++)
        for (uint32_t t = 0; t < g->n; t++)
            to[f * g->n + t] = !gone[f] && !gone[t] && g->calls[f * g->n + t];
    for (uint32_t by = 0; to && by < g->n; by++)
        for (uint32_t f = 0; f < g->n; f++)
            for (uint32_t t = 0; to[f * g->n + by] && t < g->n; t++)
                to[f * g->n + t] |= to[by * g->n + t];
    for (uint32_t f = g->n; to && f-- > 0;)
        for (uint32_t t = 0; t < g->n; t++)
            if (to[f * g->n + t] && to[t * g->n + f])
                l->ring[g->first[t]] = f + 1;
}

/* ---- Functions that are lifted once */

enum { ALWAYS_FINE = 30000, TIMES_FINE = 3, LARGEST = 1 << 24 };

uint64_t sass_most_lifted(const struct sass_lift *l)
{
    uint64_t fine = (uint64_t)l->n * TIMES_FINE;
    return fine > ALWAYS_FINE ? fine : ALWAYS_FINE;
}

/* Instructions that are lifted when functions that come to `least` of them, with what is lifted for their calls, are lifted once;
 * which are is left in `once`.  What calls such a function is lifted once, too, or called at one place alone: so the place behind
 * a call tells the call. */
static uint64_t lifted(struct functions *g, const uint32_t *order, uint64_t least)
{
    uint64_t total = 0;
    for (uint32_t k = 0; k < g->n; k++) {
        uint32_t f = order[k];
        uint64_t sum = g->own[f];
        g->holds[f] = 0;
        for (uint32_t t = 0; t < g->n; t++) {
            uint64_t calls = g->calls[f * g->n + t];
            sum += g->once[t] ? 0 : calls * g->all[t];
            g->holds[f] |= calls && (g->holds[t] || g->once[t]);
        }
        g->all[f] = sum < LARGEST ? sum : LARGEST;
        g->once[f] = f && g->sites[f] > 1 && (sum >= least || g->holds[f]);
        total += !f || g->once[f] ? g->all[f] : 0;
    }
    return total;
}

static void choose_once(struct sass_lift *l, struct functions *g, const uint32_t *order)
{
    uint64_t fine = sass_most_lifted(l), least = LARGEST + 1;
    for (uint32_t f = 0; f < g->n; f++)
        for (uint32_t t = 0; t < g->n; t++)
            g->sites[t] += g->calls[f * g->n + t];
    while (lifted(g, order, least) > fine && least > 1)
        least /= 2;
    for (uint32_t f = 0; f < g->n; f++)
        l->once[g->first[f]] = g->once[f];
}

bool sass_find_once(struct sass_lift *l)
{
    struct functions g = { 0 };
    bool registers = false, known = true;
    if (!l->occurs[SASS_CALL])
        return true;
    l->once = AW_NEW_ARRAY(&l->arena, uint8_t, (size_t)l->n + 1);
    l->once_context = AW_NEW_ARRAY(&l->arena, uint32_t, (size_t)l->n + 1);
    l->ring = AW_NEW_ARRAY(&l->arena, uint32_t, (size_t)l->n + 1);
    bool made = functions_make(l, &g, &registers);
    uint32_t *order = made ? AW_NEW_ARRAY(&l->arena, uint32_t, g.n) : NULL;
    uint8_t *gone = made ? AW_NEW_ARRAY(&l->arena, uint8_t, (size_t)g.n + 1) : NULL;
    if (order && gone && g.n > 1) {
        known = g.n < MAX_FUNCTIONS;
        l->recursive = !known || has_cycle(&g, gone, order);
        if (known && l->recursive)
            find_rings(l, &g, gone);
        else if (known && !registers)
            choose_once(l, &g, order);
    }
    if (l->arena.failed)
        l->status = AW_ERR_OUT_OF_MEMORY;
    return known || l->arena.failed;
}
