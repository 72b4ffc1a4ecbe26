/* Quick code: what one lane does, run lane by lane (docs/host.md, "Quick code").
 *
 * Lanes that neither meet nor wait run to their ends one after another.  Those of other kernels have a stack each, within their
 * warp's context: a lane that comes to an operation of its warp is switched away, until all are there whom it waits for.  The
 * warp then carries it out for all of them, in plain C: beside the vectoriser's this is a second, independent account of what
 * these operations are.
 *
 * Who waits for whom:
 *   - an operation with a member mask, for the lanes of the mask, wherever those come to one of the kind with that mask
 *   - a barrier, for all lanes that are left, as it counts threads
 *   - all else, for lanes that are behind and go the same way: of the places where lanes wait the first is next (site numbers and
 *     rounds of loops, ptx/finish/host/quick_sites.c), for the lanes that have come to it.  So is the former where nobody else
 *     can
 *     go on: lanes of the mask are left out that do not come.
 *   - lanes in a loop that may wait let the others go on first, and now and then other warps.
 *
 * Not barriers between warps, nor contexts (block.c, context.c).  A worker's own, so nothing here is atomic. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LANES = 32 };
enum leave { LANE_CAME, LANE_YIELDED, LANE_ENDED };

/* How often lanes are let look that poll before something is done without them: what has no mask, and what has one, for which its
 * lanes come in a right program.  Barriers wait for them. */
enum { PATIENCE = 256, PATIENCE_MASK = 100000 };
enum { ROUNDS_TO_YIELD = 8 };

struct lane {
    struct aw_host_lane state;
    struct aw_host_context context;
    struct aw_host_lanes *warp;
    const uint32_t *site;         /* what it waits at */
    uint32_t mask;
    uint64_t args[3], result;
};

struct aw_host_lanes {
    struct lane lane[LANES];
    struct aw_host_context *home; /* the warp's */
    aw_host_lane_fn *function;
    bool turns;                   /* other warps' come after each operation */
    uint32_t live, ready, blocked, polling; /* as bits: all, and in which state each is */
    uint32_t fruitless, rounds;   /* of polling: since something else happened, and in all */
    char *map;                    /* stacks, a guard below them */
    size_t map_size, stack_size;
};

#define STACK_GUARD ((size_t)1 << 20)
#define STACK_LEAST ((size_t)96 << 10)
#define STACK_DEEP ((size_t)1 << 20)
#define STACK_DEEP_GUARD ((size_t)64 << 10)

/* ---- Lanes that need no stacks */

static void lane_init(struct aw_host_lane *lane, struct aw_host_block *block, char *local_end, size_t local_size)
{
    lane->own = *block;
    lane->block = block;
    lane->kernarg = block->launch->kernarg;
    lane->own.local = local_end;
    lane->own.local_size = local_size;
    lane->local_base = local_end - local_size;
}

static void lane_index(struct aw_host_lane *lane, uint32_t thread)
{
    const uint32_t *shape = lane->own.launch->block;
    lane->tid[0] = thread % shape[0];
    lane->tid[1] = thread / shape[0] % shape[1];
    lane->tid[2] = thread / shape[0] / shape[1];
    lane->lane = thread % LANES;
    lane->own.warp = thread / LANES;
}

void aw_host_lanes_blocks(struct aw_host_block *block, uint64_t first, uint64_t count, aw_host_lane_fn *function)
{
    const struct aw_host_launch *launch = block->launch;
    char *local = block->local;
    struct aw_host_lane lane;
    for (uint64_t i = first; i < first + count; i++) {
        block->ctaid[0] = (uint32_t)(i % launch->grid[0]);
        block->ctaid[1] = (uint32_t)(i / launch->grid[0] % launch->grid[1]);
        block->ctaid[2] = (uint32_t)(i / launch->grid[0] / launch->grid[1]);
        lane_init(&lane, block, local, block->local_size);
        for (uint32_t t = 0; t < launch->threads; t++) {
            lane_index(&lane, t);
            lane.own.local = local;
            block->warp = lane.own.warp;
            function(&lane);
        }
    }
}

/* ---- Operations of a warp: PTX ISA 9.0 §9.7.9 (shfl), §9.7.13 */

static uint32_t op_of(const struct lane *l)
{
    return l->site[AW_HOST_SITE_OP];
}

static uint64_t with_predicate(uint32_t value, bool predicate)
{
    return value | (uint64_t)predicate << 32;
}

/* A lane's own result, of those that are `here`; what it is given by a lane that is not, is 0. */
static uint64_t shuffle(const struct aw_host_lanes *w, uint32_t here, const struct lane *l)
{
    int lane = (int)(l - w->lane), b = (int)(l->args[1] & 31), c = (int)l->args[2];
    int segment = c >> 8 & 31, clamp = c & 31, first = lane & segment, last = first | (clamp & ~segment), from;
    bool ok;
    switch (op_of(l)) {
    case AW_HOST_LANE_SHFL_UP: from = lane - b; ok = from >= last; break;
    case AW_HOST_LANE_SHFL_DOWN: from = lane + b; ok = from <= last; break;
    case AW_HOST_LANE_SHFL_BFLY: from = lane ^ b; ok = from <= last; break;
    default: from = first | (b & ~segment); ok = from <= last; break;
    }
    from = ok ? from & 31 : lane;
    return with_predicate(here >> from & 1 ? (uint32_t)w->lane[from].args[0] : 0, ok);
}

static uint32_t holds(const struct aw_host_lanes *w, uint32_t lanes)
{
    uint32_t bits = 0;
    for (uint32_t set = lanes; set; set &= set - 1) {
        int i = __builtin_ctz(set);
        bits |= (uint32_t)(w->lane[i].args[0] & 1) << i;
    }
    return bits;
}

static uint32_t same(const struct aw_host_lanes *w, uint32_t lanes, uint64_t value)
{
    uint32_t bits = 0;
    for (uint32_t set = lanes; set; set &= set - 1)
        bits |= (uint32_t)(w->lane[__builtin_ctz(set)].args[0] == value) << __builtin_ctz(set);
    return bits;
}

static uint32_t joined(uint32_t op, uint32_t x, uint32_t y)
{
    switch (op) {
    case AW_HOST_LANE_ADD: return x + y;
    case AW_HOST_LANE_MIN: return (int32_t)x < (int32_t)y ? x : y;
    case AW_HOST_LANE_MAX: return (int32_t)x > (int32_t)y ? x : y;
    case AW_HOST_LANE_UMIN: case AW_HOST_LANE_LOWEST: return x < y ? x : y;
    case AW_HOST_LANE_UMAX: return x > y ? x : y;
    case AW_HOST_LANE_AND: return x & y;
    case AW_HOST_LANE_OR: return x | y;
    default: return x ^ y;
    }
}

/* Of all lanes; of none what changes no other: the first of them is where it begins. */
static uint32_t reduced(const struct aw_host_lanes *w, uint32_t op, uint32_t lanes)
{
    static const uint32_t none[] = { [AW_HOST_LANE_MIN] = INT32_MAX, [AW_HOST_LANE_MAX] = (uint32_t)INT32_MIN,
                                     [AW_HOST_LANE_UMIN] = UINT32_MAX, [AW_HOST_LANE_AND] = UINT32_MAX,
                                     [AW_HOST_LANE_LOWEST] = UINT32_MAX };
    uint32_t r = lanes ? (uint32_t)w->lane[__builtin_ctz(lanes)].args[0] : none[op];
    for (uint32_t set = lanes & (lanes - 1); lanes && set; set &= set - 1)
        r = joined(op, r, (uint32_t)w->lane[__builtin_ctz(set)].args[0]);
    return r;
}

static uint64_t result_of(const struct aw_host_lanes *w, uint32_t here, const struct lane *l)
{
    uint32_t members = here & l->mask, op = op_of(l);
    int lane = (int)(l - w->lane);
    switch (op) {
    case AW_HOST_LANE_SHFL_UP: case AW_HOST_LANE_SHFL_DOWN: case AW_HOST_LANE_SHFL_BFLY: case AW_HOST_LANE_SHFL_IDX:
        return shuffle(w, here, l);
    case AW_HOST_LANE_BALLOT: return holds(w, members);
    case AW_HOST_LANE_ANY: return holds(w, members) != 0;
    case AW_HOST_LANE_ALL: return holds(w, members) == members;
    case AW_HOST_LANE_UNI: return holds(w, members) == members || holds(w, members) == 0;
    case AW_HOST_LANE_ACTIVEMASK: return here;
    case AW_HOST_LANE_MATCH_ANY: return same(w, members, l->args[0]);
    case AW_HOST_LANE_MATCH_ALL: {
        bool all = same(w, members, l->args[0]) == members;
        return with_predicate(all ? members : 0, all);
    }
    case AW_HOST_LANE_ELECT: {
        uint32_t leader = members ? (uint32_t)__builtin_ctz(members) : LANES;
        return with_predicate(leader, leader == (uint32_t)lane);
    }
    case AW_HOST_LANE_LOWEST: return reduced(w, op, here);
    default: return op >= AW_HOST_LANE_ADD && op <= AW_HOST_LANE_XOR ? reduced(w, op, members) : 0;
    }
}

/* ---- Carrying one out */

static struct aw_host_block *block_of(struct aw_host_lanes *w)
{
    return w->lane[0].state.block;
}

static void barrier(struct aw_host_lanes *w, uint32_t here)
{
    struct aw_host_block *block = block_of(w);
    struct lane *first = &w->lane[__builtin_ctz(here)];
    const struct aw_host_services *s = block->launch->services;
    uint32_t id = (uint32_t)first->args[0], threads = (uint32_t)first->args[1], predicates = 0, result = 0;
    for (uint32_t set = here; set; set &= set - 1)
        predicates |= (uint32_t)(w->lane[__builtin_ctz(set)].args[2] >> 32 & 1) << __builtin_ctz(set);
    if (op_of(first) == AW_HOST_LANE_BARRIER)
        s->barrier(block, id, threads);
    else if (op_of(first) == AW_HOST_LANE_BARRIER_ARRIVE)
        s->barrier_arrive(block, id, threads);
    else
        result = s->barrier_reduce(block, id, threads, (uint32_t)first->args[2], here, predicates);
    for (uint32_t set = here; set; set &= set - 1)
        w->lane[__builtin_ctz(set)].result = result;
}

/* What is told of each lane in turn; the last assertion's call does not return. */
static void tell(struct aw_host_lanes *w, uint32_t here)
{
    struct aw_host_block *block = block_of(w);
    const struct aw_host_services *s = block->launch->services;
    for (uint32_t set = here; set; set &= set - 1) {
        struct lane *l = &w->lane[__builtin_ctz(set)];
        const char *first = (const char *)(uintptr_t)l->args[0];
        const void *second = (const void *)(uintptr_t)l->args[1];
        if (op_of(l) == AW_HOST_LANE_PRINTF)
            l->result = (uint32_t)s->vprintf(block, first, second);
        else
            s->assert_fail(block, first, second, l->mask, (const char *)(uintptr_t)l->args[2],
                           l->state.own.warp * LANES + l->state.lane, set & (set - 1));
    }
}

/* Lanes of one mask have the same result, but where that hangs on what each gives or is. */
static void results(struct aw_host_lanes *w, uint32_t here, uint32_t op)
{
    bool own = (op >= AW_HOST_LANE_SHFL_UP && op <= AW_HOST_LANE_SHFL_IDX) || op == AW_HOST_LANE_MATCH_ANY ||
               op == AW_HOST_LANE_MATCH_ALL || op == AW_HOST_LANE_ELECT;
    const struct lane *last = NULL;
    for (uint32_t set = here; set; set &= set - 1) {
        struct lane *l = &w->lane[__builtin_ctz(set)];
        l->result = last && !own && last->mask == l->mask ? last->result : result_of(w, here, l);
        last = l;
    }
}

/* Carries out what the lanes `here`, all at operations of one kind, have come to.  Then it is another warp's turn, where there
 * are
 * barriers: on cards warps go side by side, and there are programs that lack a barrier and count on that. */
static void carry_out(struct aw_host_lanes *w, uint32_t here)
{
    uint32_t op = op_of(&w->lane[__builtin_ctz(here)]);
    bool waits = op <= AW_HOST_LANE_BARRIER_REDUCE;
    if (waits)
        barrier(w, here);
    else if (op == AW_HOST_LANE_PRINTF || op == AW_HOST_LANE_ASSERT)
        tell(w, here);
    else
        results(w, here, op);
    w->blocked &= ~here;
    w->ready |= here;
    if (op != AW_HOST_LANE_STEP) /* who polls comes to steps, too */
        w->fruitless = 0;
    if (w->turns && !waits)
        aw_host_turn(block_of(w));
}

/* ---- Who is together */

static bool has_mask(const struct lane *l)
{
    uint32_t op = op_of(l);
    return op >= AW_HOST_LANE_WARPSYNC && op <= AW_HOST_LANE_ELECT && op != AW_HOST_LANE_ACTIVEMASK;
}

static bool waits_for_members(const struct lane *l)
{
    return has_mask(l) && l->site[AW_HOST_SITE_FLAGS] & AW_HOST_SITE_MEMBERS;
}

/* Shuffles are of one kind, and so on: docs/waiting.md, "Operations of a warp". */
static bool same_kind(const struct lane *x, const struct lane *y)
{
    return op_of(x) == op_of(y) && x->mask == y->mask;
}

/* Lanes that wait at operations like the one that `l` is at. */
static uint32_t likes(const struct aw_host_lanes *w, const struct lane *l)
{
    uint32_t bits = 0;
    for (uint32_t set = w->blocked; set; set &= set - 1) {
        const struct lane *other = &w->lane[__builtin_ctz(set)];
        bits |= (uint32_t)(waits_for_members(other) && same_kind(l, other)) << __builtin_ctz(set);
    }
    return bits;
}

/* Lanes of which all have come that the mask names; 0: there are none. */
static uint32_t complete(const struct aw_host_lanes *w)
{
    for (uint32_t set = w->blocked; set; set &= set - 1) {
        const struct lane *l = &w->lane[__builtin_ctz(set)];
        if (!waits_for_members(l))
            continue;
        uint32_t here = likes(w, l);
        if ((w->live & l->mask & ~here) == 0)
            return here;
        set &= ~here | (1u << __builtin_ctz(set));
    }
    return 0;
}

/* Barriers of one number that the lanes of a warp come to at several places: all of them. */
static uint32_t unaligned(const struct aw_host_lanes *w)
{
    if (w->blocked != w->live)
        return 0;
    const struct lane *first = &w->lane[__builtin_ctz(w->blocked)];
    for (uint32_t set = w->blocked; set; set &= set - 1) {
        const struct lane *l = &w->lane[__builtin_ctz(set)];
        if (op_of(l) > AW_HOST_LANE_BARRIER_REDUCE || op_of(l) != op_of(first) || l->args[0] != first->args[0] ||
            !(l->site[AW_HOST_SITE_FLAGS] & AW_HOST_SITE_UNALIGNED))
            return 0;
    }
    return w->blocked;
}

/* Below 0: `x` is where `y` comes later, 0: they are together. */
static int behind(const struct lane *x, const struct lane *y)
{
    const uint32_t *at = x->site, *other = y->site;
    uint32_t n = at[AW_HOST_SITE_LOOPS] < other[AW_HOST_SITE_LOOPS] ? at[AW_HOST_SITE_LOOPS] : other[AW_HOST_SITE_LOOPS];
    for (uint32_t i = 0; i < n && at[AW_HOST_SITE_WORDS + i] == other[AW_HOST_SITE_WORDS + i]; i++) {
        uint32_t round = x->state.rounds[i], others = y->state.rounds[i];
        if (round != others)
            return round < others ? -1 : 1;
    }
    return at[AW_HOST_SITE_NUMBER] < other[AW_HOST_SITE_NUMBER] ? -1 : at[AW_HOST_SITE_NUMBER] > other[AW_HOST_SITE_NUMBER];
}

/* The lanes, of those, at the first place. */
static uint32_t first_place(const struct aw_host_lanes *w, uint32_t lanes)
{
    uint32_t here = lanes & -lanes;
    for (uint32_t set = lanes & (lanes - 1); set; set &= set - 1) {
        uint32_t bit = set & -set;
        int order = behind(&w->lane[__builtin_ctz(bit)], &w->lane[__builtin_ctz(here)]);
        here = order < 0 ? bit : order ? here : here | bit;
    }
    return here;
}

static bool at_barrier(const struct lane *l)
{
    return op_of(l) <= AW_HOST_LANE_BARRIER_REDUCE;
}

/* Who goes on first, of those lanes: who waits for nobody that may be elsewhere; then members that others do not come to; then
 * who is at a barrier, which counts each thread of the block. */
static uint32_t most_free(const struct aw_host_lanes *w, uint32_t lanes)
{
    uint32_t members = 0, barriers = 0;
    for (uint32_t set = lanes; set; set &= set - 1) {
        const struct lane *l = &w->lane[__builtin_ctz(set)];
        barriers |= (uint32_t)at_barrier(l) << __builtin_ctz(set);
        members |= (uint32_t)waits_for_members(l) << __builtin_ctz(set);
    }
    return lanes & ~members & ~barriers ? lanes & ~members & ~barriers : lanes & ~barriers ? lanes & ~barriers : lanes;
}

/* Waiting lanes that may go on though others poll. */
static uint32_t impatient(const struct aw_host_lanes *w)
{
    uint32_t lanes = 0;
    for (uint32_t set = w->blocked; set; set &= set - 1) {
        const struct lane *l = &w->lane[__builtin_ctz(set)];
        uint32_t patience = waits_for_members(l) ? PATIENCE_MASK : PATIENCE;
        lanes |= (uint32_t)(!at_barrier(l) && w->fruitless > patience) << __builtin_ctz(set);
    }
    return lanes;
}

/* Are all that live at one place, whose operation is for all of them?  Nearly always. */
static bool all_together(const struct aw_host_lanes *w)
{
    if (w->blocked != w->live)
        return false;
    const struct lane *first = &w->lane[__builtin_ctz(w->live)];
    bool whole = waits_for_members(first) && (w->live & ~first->mask) == 0;
    if (!whole && first->site[AW_HOST_SITE_LOOPS])
        return false;
    for (uint32_t set = w->live & (w->live - 1); set; set &= set - 1) {
        const struct lane *l = &w->lane[__builtin_ctz(set)];
        if (l->site != first->site || (whole && l->mask != first->mask))
            return false;
    }
    return true;
}

/* Nothing is ready.  Makes something so. */
static void meet(struct aw_host_lanes *w)
{
    uint32_t here = all_together(w) ? w->live : complete(w), lanes = w->blocked;
    if (!here)
        here = unaligned(w);
    if (!here && w->polling)
        lanes = impatient(w);
    if (!here && lanes)
        here = first_place(w, most_free(w, lanes));
    if (here) {
        carry_out(w, here);
        return;
    }
    w->fruitless++;
    if (++w->rounds % ROUNDS_TO_YIELD == 0)
        block_of(w)->launch->services->yield(block_of(w));
    w->ready = w->polling;
    w->polling = 0;
}

/* ---- Lanes on stacks */

static struct lane *lane_of(struct aw_host_lane *state)
{
    return (struct lane *)(void *)state;
}

uint64_t aw_host_lane_op(struct aw_host_lane *state, const uint32_t *site, uint32_t mask, uint64_t a, uint64_t b, uint64_t c)
{
    struct lane *l = lane_of(state);
    l->site = site;
    l->mask = mask;
    l->args[0] = a;
    l->args[1] = b;
    l->args[2] = c;
    aw_host_context_switch(&l->context, l->warp->home, LANE_CAME, false);
    return l->result;
}

void aw_host_lane_yield(struct aw_host_lane *state)
{
    struct lane *l = lane_of(state);
    aw_host_context_switch(&l->context, l->warp->home, LANE_YIELDED, false);
}

static void lane_main(struct aw_host_context *context)
{
    struct lane *l = (struct lane *)(void *)((char *)context - offsetof(struct lane, context));
    aw_host_context_entered(context);
    l->warp->function(&l->state);
    aw_host_context_switch(context, l->warp->home, LANE_ENDED, true);
    abort();
}

static void lane_run(struct aw_host_lanes *w, uint32_t bit)
{
    struct lane *l = &w->lane[__builtin_ctz(bit)];
    w->ready &= ~bit;
    uint32_t how = aw_host_context_switch(w->home, &l->context, 0, false);
    if (how == LANE_CAME)
        w->blocked |= bit;
    else if (how == LANE_YIELDED)
        w->polling |= bit;
    else
        w->live &= ~bit;
}

void aw_host_lanes_destroy(struct aw_host_lanes *w)
{
    if (!w)
        return;
    munmap(w->map, w->map_size);
    free(w);
}

/* A stack so large is one of a kernel in which a function calls itself: a guard lies below each. */
static size_t guard_of(size_t stack)
{
    return stack >= STACK_DEEP ? STACK_DEEP_GUARD : 0;
}

static bool stacks_open(const struct aw_host_lanes *w)
{
    size_t guard = guard_of(w->stack_size);
    char *at = w->map + STACK_GUARD;
    if (!guard)
        return mprotect(at, LANES * w->stack_size, PROT_READ | PROT_WRITE) == 0;
    for (uint32_t i = 0; i < LANES; i++, at += guard + w->stack_size)
        if (mprotect(at, w->stack_size, PROT_READ | PROT_WRITE) != 0)
            return false;
    return true;
}

static struct aw_host_lanes *lanes_create(size_t stack)
{
    struct aw_host_lanes *w = aligned_alloc(64, sizeof *w);
    if (!w)
        return NULL;
    memset(w, 0, sizeof *w);
    w->stack_size = stack;
    size_t step = stack + guard_of(stack);
    w->map_size = STACK_GUARD + LANES * step;
    w->map = mmap(NULL, w->map_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (w->map == MAP_FAILED || !stacks_open(w)) {
        if (w->map != MAP_FAILED)
            munmap(w->map, w->map_size);
        free(w);
        return NULL;
    }
    for (uint32_t i = 0; i < LANES; i++) {
        w->lane[i].warp = w;
        w->lane[i].context.stack = w->map + STACK_GUARD + i * step;
        w->lane[i].context.stack_size = stack;
        w->lane[i].context.colour = i % 16 * 320;
    }
    return w;
}

bool aw_host_lanes_guard(const struct aw_host_lanes *w, const void *address)
{
    uintptr_t a = (uintptr_t)address, from = w ? (uintptr_t)w->map : 0;
    if (!w || a < from || a - from >= w->map_size)
        return false;
    return a - from < STACK_GUARD || (a - from - STACK_GUARD) % (w->stack_size + guard_of(w->stack_size)) >= w->stack_size;
}

/* Those of the warp's context, with stacks as large as the kernel asks for.  Frames have a known size where no function calls
 * itself, and so no guard between them. */
static struct aw_host_lanes *lanes_get(struct aw_host_context *home, size_t stack)
{
    stack = (stack + STACK_LEAST + 4095) & ~(size_t)4095;
    if (home->lanes && home->lanes->stack_size >= stack)
        return home->lanes;
    aw_host_lanes_destroy(home->lanes);
    home->lanes = lanes_create(stack);
    return home->lanes;
}

void aw_host_lanes_warp(struct aw_host_block *block, uint32_t warp, aw_host_lane_fn *function)
{
    struct aw_host_run *run = (struct aw_host_run *)(void *)block;
    struct aw_host_context *home = run->current;
    size_t local = block->local_size / LANES / AW_HOST_LOCAL_ALIGN * AW_HOST_LOCAL_ALIGN;
    aw_host_thread.service++;
    struct aw_host_lanes *w = lanes_get(home, run->code.object->stack_bytes);
    aw_host_thread.service--;
    if (!w) {
        aw_host_trap(block, AW_ERR_OUT_OF_MEMORY, "no memory for the stacks of a warp's lanes");
        return;
    }
    uint32_t threads = block->launch->threads - warp * LANES, n = threads < LANES ? threads : LANES;
    w->home = home;
    w->function = function;
    w->turns = run->code.object->flags & AW_HOST_BARRIER && block->launch->warps > 1;
    for (uint32_t i = 0; i < n; i++) {
        struct lane *l = &w->lane[i];
        lane_init(&l->state, block, block->local - i * local, local);
        lane_index(&l->state, warp * LANES + i);
        aw_host_context_prepare(&l->context, lane_main);
    }
    w->live = w->ready = n == LANES ? UINT32_MAX : (1u << n) - 1;
    w->blocked = w->polling = w->fruitless = w->rounds = 0;
    while (w->live) {
        while (w->ready)
            lane_run(w, w->ready & -w->ready);
        if (w->live)
            meet(w);
    }
}
