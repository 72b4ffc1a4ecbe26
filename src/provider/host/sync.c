/* Who comes to barriers and to operations of a warp: the rules of CUDA that `anywarp check --sync` holds kernels to.
 *
 * Generated code says which lanes of a warp come to what (check_sync of anywarp/hostabi.h).  Lanes *stand* at an operation until
 * all that it is for have come, in one call or in several.  Lanes that go on without the others leave a *gap*: of those
 * others each has to end before it comes to anything else, and at another place than those that it left alone; else CUDA leaves
 * undefined what the operation does.  To return early is allowed, so what a lane does next has to be seen before it is told.
 *
 * One worker runs a block, so nothing here is locked but the list of what was told. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

enum { LANES = 32, WARPS = AW_HOST_MAX_THREADS / LANES, GAPS = 16, ENDS = 256 };

/* What a lane stands at: lanes wait for each other where all of it is the same. */
struct stand {
    uint32_t what, mask;
    bool again;     /* it is in a loop */
    const void *pc; /* of aligned barriers: all lanes come to the same one */
};

struct gap {
    struct stand at;
    const void *pc;
    uint32_t came, missing; /* lanes; missing 0: none of it is left */
};

struct warp {
    uint32_t ended, standing; /* lanes */
    struct stand at[LANES];
    const void *pc[LANES];
    uint16_t barriers[LANES], operations[LANES]; /* of the whole block, and of the whole warp, that a lane has come to */
    const void *operation;     /* the last one */
    const void *barrier;       /* the last one that the warp came to */
    struct gap gaps[GAPS];
};

/* Where threads of the block, or lanes of a warp, have ended, how many barriers or operations after, and which was the last. */
struct end {
    const void *pc;
    uint32_t warp; /* WARPS: of the block */
    uint32_t n, lane;
    const void *last;
};

struct aw_host_comings {
    struct aw_host_run *run;
    uint64_t grid;
    uint32_t block[3];
    bool loops;     /* threads have come to barriers or operations in loops, which they may leave one by one */
    uint32_t n_ends;
    struct end ends[ENDS];
    struct warp warps[WARPS];
};

/* ---- What is told */

static const char *name_of(uint32_t what)
{
    static const char *const names[AW_HOST_SYNC_COUNT] = {
        "", "__syncthreads", "barrier.sync", "bar.arrive", "__syncwarp", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync",
        "__shfl_sync", "__ballot_sync", "__any_sync", "__all_sync", "vote.sync.uni", "__match_all_sync", "__match_any_sync",
        "redux.sync", "elect.sync",
    };
    return names[what];
}

/* `rule` is static: it says which finding this is. */
static void tell(struct aw_host_comings *s, uint32_t warp, uint32_t lane, const void *pc, const char *rule, const char *text)
{
    const struct aw_host_run *run = s->run;
    const uint32_t *shape = run->block.launch->block, *at = run->block.ctaid;
    uint32_t thread = warp * LANES + lane;
    char place[800];
    aw_host_thread.service++;
    if (aw_host_finding_new(pc, rule))
        aw_say(SYNC_FINDING, run->op->kernel.name, text, at[0], at[1], at[2], warp, thread % shape[0],
               thread / shape[0] % shape[1], thread / shape[0] / shape[1],
               aw_host_locate(&run->op->kernel, (const char *)pc - 1, place, sizeof place));
    aw_host_thread.service--;
}

static bool is_barrier(uint32_t what)
{
    return what == AW_HOST_SYNC_BARRIER || what == AW_HOST_SYNC_BARRIER_APART || what == AW_HOST_SYNC_ARRIVE;
}

static const char gap_rule[] = "missing";

static void gap_tell(struct aw_host_comings *s, uint32_t warp, struct gap *g, uint32_t missing)
{
    char text[256];
    if (is_barrier(g->at.what))
        snprintf(text, sizeof text, "barrier %u (%s) in divergent code: lanes 0x%08x of the warp come to it, lanes 0x%08x do not",
                 g->at.mask, name_of(g->at.what), g->came, missing);
    else
        snprintf(text, sizeof text, "%s with mask 0x%08x: lanes 0x%08x come to it, lanes 0x%08x of the mask do not",
                 name_of(g->at.what), g->at.mask, g->came, missing);
    tell(s, warp, (uint32_t)__builtin_ctz(missing), g->pc, gap_rule, text);
    g->missing = 0;
}

/* ---- Lanes of a warp */

static uint32_t lanes_of(const struct aw_host_launch *launch, uint32_t warp)
{
    uint32_t left = launch->threads - warp * LANES;
    return left >= LANES ? UINT32_MAX : (1u << left) - 1;
}

static uint32_t living(const struct aw_host_comings *s, uint32_t warp)
{
    return lanes_of(s->run->block.launch, warp) & ~s->warps[warp].ended;
}

/* Those that stand at the same as `lane`. */
static uint32_t company(const struct warp *w, uint32_t lane)
{
    uint32_t same = 0;
    for (uint32_t left = w->standing; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        if (w->at[l].what == w->at[lane].what && w->at[l].mask == w->at[lane].mask && w->at[l].pc == w->at[lane].pc)
            same |= 1u << l;
    }
    return same;
}

/* Lanes that an operation is for. */
static uint32_t meant(const struct stand *at)
{
    return is_barrier(at->what) ? UINT32_MAX : at->mask;
}

/* Those of `lanes` that stand somewhere go on where all have come. */
static void complete(struct aw_host_comings *s, uint32_t warp, uint32_t lanes)
{
    struct warp *w = &s->warps[warp];
    for (uint32_t left = lanes & w->standing; left;) {
        uint32_t lane = (uint32_t)__builtin_ctz(left), same = company(w, lane);
        left &= ~same;
        if (!(meant(&w->at[lane]) & living(s, warp) & ~same))
            w->standing &= ~same;
    }
}

/* Those of `lanes` that stand somewhere leave it, although others have not come. */
static void go_on(struct aw_host_comings *s, uint32_t warp, uint32_t lanes)
{
    struct warp *w = &s->warps[warp];
    for (uint32_t left = lanes & w->standing; left; left &= w->standing) {
        uint32_t lane = (uint32_t)__builtin_ctz(left), same = company(w, lane);
        w->standing &= ~same;
        for (int i = 0; i < GAPS; i++) {
            if (w->gaps[i].missing)
                continue;
            w->gaps[i] = (struct gap){ w->at[lane], w->pc[lane], same, meant(&w->at[lane]) & living(s, warp) & ~same };
            break;
        }
    }
}

/* Lanes came to something: those that others have missed did not end before. */
static void gaps_close(struct aw_host_comings *s, uint32_t warp, uint32_t lanes)
{
    struct warp *w = &s->warps[warp];
    for (int i = 0; i < GAPS; i++)
        if (w->gaps[i].missing & lanes)
            gap_tell(s, warp, &w->gaps[i], w->gaps[i].missing & lanes);
}

/* ---- Barriers of the block */

static bool is_whole(const struct aw_host_launch *launch, uint32_t threads)
{
    return threads == 0 || threads >= launch->warps * LANES;
}

static void barrier_note(struct aw_host_comings *s, uint32_t what, uint32_t warp, uint32_t lanes, uint32_t id, uint32_t threads,
                         const void *pc)
{
    static const char rule[] = "count";
    const struct aw_host_launch *launch = s->run->block.launch;
    struct warp *w = &s->warps[warp];
    uint32_t first = (uint32_t)__builtin_ctz(lanes);
    char text[160] = "";
    if (threads % LANES)
        snprintf(text, sizeof text, "barrier %u for %u threads, which is not a multiple of 32", id, threads);
    else if (threads > launch->warps * LANES)
        snprintf(text, sizeof text, "barrier %u for %u threads in a block of %u, who never are so many", id, threads,
                 launch->threads);
    else if (what == AW_HOST_SYNC_ARRIVE && !threads)
        snprintf(text, sizeof text, "bar.arrive at barrier %u for no threads", id);
    if (*text)
        tell(s, warp, first, pc, rule, text);
    w->barrier = pc;
    for (uint32_t left = is_whole(launch, threads) ? lanes : 0; left; left &= left - 1)
        w->barriers[__builtin_ctz(left)]++;
}

/* One of those that ended at a place is `lane` of `warp`, after `n` of what all of them come to: NULL, or one that ended there
 * after another number. */
static const struct end *end_differs(struct aw_host_comings *s, struct end mine)
{
    struct end *e = s->ends;
    while (e < s->ends + s->n_ends && (e->pc != mine.pc || e->warp != mine.warp))
        e++;
    if (e < s->ends + s->n_ends)
        return e->n != mine.n ? e : NULL;
    if (s->n_ends < ENDS)
        s->ends[s->n_ends++] = mine;
    return NULL;
}

static void difference_tell(struct aw_host_comings *s, uint32_t warp, const struct end *a, const struct end *b)
{
    const struct end *more = a->n > b->n ? a : b, *less = more == a ? b : a;
    char text[200];
    snprintf(text, sizeof text, "%s in divergent code: of threads that end at one place some have come to %u, some to %u",
             a->warp == WARPS ? "barrier of the block" : "operation of the whole warp", more->n, less->n);
    tell(s, less->warp == WARPS ? less->lane / LANES : warp, less->lane % LANES, more->last, gap_rule, text);
}

/* Lanes end at the place where all do that have not returned before: they have passed the same barriers of the whole block, and
 * the same operations of the whole warp. */
static void end_note(struct aw_host_comings *s, uint32_t warp, uint32_t lanes, const void *pc)
{
    const struct warp *w = &s->warps[warp];
    for (uint32_t left = lanes; left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        struct end of_block = { pc, WARPS, w->barriers[lane], warp * LANES + lane, w->barrier };
        struct end of_warp = { pc, warp, w->operations[lane], lane, w->operation };
        const struct end *other = end_differs(s, of_block);
        if (other)
            difference_tell(s, warp, &of_block, other);
        other = end_differs(s, of_warp);
        if (other)
            difference_tell(s, warp, &of_warp, other);
    }
}

/* ---- What code says */

/* Of the block that runs; NULL: there is no memory. */
static struct aw_host_comings *sync_of(struct aw_host_run *run)
{
    struct aw_host_comings *s = run->sync;
    if (!s) {
        aw_host_thread.service++;
        s = run->sync = calloc(1, sizeof *s);
        aw_host_thread.service--;
        if (!s)
            return NULL;
    } else if (s->grid == run->block.launch->grid_id && !memcmp(s->block, run->block.ctaid, sizeof s->block)) {
        return s;
    }
    memset(s, 0, sizeof *s);
    s->run = run;
    s->grid = run->block.launch->grid_id;
    memcpy(s->block, run->block.ctaid, sizeof s->block);
    return s;
}

static void lanes_end(struct aw_host_comings *s, uint32_t warp, uint32_t lanes, const void *pc, bool common)
{
    struct warp *w = &s->warps[warp];
    go_on(s, warp, lanes);
    for (int i = 0; i < GAPS; i++) {
        struct gap *g = &w->gaps[i];
        if (g->missing & lanes && g->came & lanes && !(is_barrier(g->at.what) && g->at.again))
            gap_tell(s, warp, g, g->missing & lanes);
        else
            g->missing &= ~lanes;
    }
    if (common && !s->loops)
        end_note(s, warp, lanes, pc);
    w->ended |= lanes;
    complete(s, warp, living(s, warp));
}

/* Lanes that use an operation whose mask does not name them. */
static void members_check(struct aw_host_comings *s, uint32_t what, uint32_t warp, uint32_t lanes, const uint32_t *masks,
                          const void *pc)
{
    static const char rule[] = "member";
    uint32_t outside = 0;
    for (uint32_t left = lanes; left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        if (!(masks[lane] >> lane & 1))
            outside |= 1u << lane;
    }
    if (!outside)
        return;
    uint32_t first = (uint32_t)__builtin_ctz(outside);
    char text[200];
    snprintf(text, sizeof text, "%s with mask 0x%08x, which does not name its callers: lanes 0x%08x", name_of(what), masks[first],
             outside);
    tell(s, warp, first, pc, rule, text);
}

static void lanes_come(struct aw_host_comings *s, uint32_t what, bool again, uint32_t warp, uint32_t lanes, const uint32_t *masks,
                       const void *pc)
{
    struct warp *w = &s->warps[warp];
    go_on(s, warp, lanes);
    gaps_close(s, warp, lanes);
    for (uint32_t left = lanes; left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        w->at[lane] = (struct stand){ what, masks[lane], again, what == AW_HOST_SYNC_BARRIER ? pc : NULL };
        w->pc[lane] = pc;
        w->operations[lane] += !is_barrier(what) && masks[lane] == UINT32_MAX;
    }
    if (!is_barrier(what))
        w->operation = pc;
    w->standing |= lanes;
    complete(s, warp, lanes);
}

void aw_host_check_sync(struct aw_host_block *block, uint32_t what, uint32_t warp, uint32_t lanes, const uint32_t *masks,
                        uint32_t threads)
{
    struct aw_host_comings *s = sync_of((struct aw_host_run *)(void *)block);
    const void *pc = __builtin_return_address(0);
    if (!s || warp >= WARPS || !(lanes &= living(s, warp)))
        return;
    if (what == AW_HOST_SYNC_END) {
        lanes_end(s, warp, lanes, pc, threads != 0);
        return;
    }
    bool again = what & AW_HOST_SYNC_AGAIN;
    s->loops |= again;
    what &= ~(uint32_t)AW_HOST_SYNC_AGAIN;
    if (is_barrier(what))
        barrier_note(s, what, warp, lanes, masks[__builtin_ctz(lanes)], threads, pc);
    else
        members_check(s, what, warp, lanes, masks, pc);
    if (what == AW_HOST_SYNC_BARRIER || !is_barrier(what))
        lanes_come(s, what, again, warp, lanes, masks, pc);
    else
        gaps_close(s, warp, lanes);
}

const char *aw_host_sync_place(const struct aw_host_run *run, uint32_t warp, char *ret_text, size_t size)
{
    const struct aw_host_comings *s = run->sync;
    if (!s || s->grid != run->block.launch->grid_id || !s->warps[warp].barrier)
        return "";
    return aw_host_locate(&run->op->kernel, (const char *)s->warps[warp].barrier - 1, ret_text, size);
}
