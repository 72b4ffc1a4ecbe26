/* Graphs of tangled functions (tangle.h): their blocks, an order of these in which lanes that parted meet again where nested code
 * would have them meet, and how tangled they are. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/tangle.h"

#include "base/map.h"
#include "base/vec.h"
#include "lower/graph.h"
#include <stdlib.h>
#include <string.h>

/* ---- Blocks and edges */

static bool edges_make(struct tangle_graph *g, const struct aw_ptrmap *numbers)
{
    int *stamp = AW_NEW_ARRAY(&g->arena, int, (size_t)g->n + 1);
    AW_VEC(int) succ = { 0 };
    g->first = AW_NEW_ARRAY(&g->arena, int, (size_t)g->n + 1);
    bool ok = stamp && g->first;
    for (int i = 0; ok && i < g->n; i++) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(g->bb[i]);
        g->first[i] = (int)succ.n;
        for (unsigned j = 0; ok && j < LLVMGetNumSuccessors(end); j++) {
            int to = (int)(intptr_t)aw_ptrmap_find(numbers, LLVMGetSuccessor(end, j)) - 1;
            if (stamp[to] != i + 1)
                ok = aw_vec_push(&succ, to);
            stamp[to] = i + 1;
        }
    }
    g->succ = ok ? AW_NEW_ARRAY(&g->arena, int, succ.n + 1) : NULL;
    if (g->succ) {
        g->first[g->n] = (int)succ.n;
        if (succ.n)
            memcpy(g->succ, succ.at, succ.n * sizeof *succ.at);
    }
    aw_vec_fini(&succ);
    return g->succ != NULL;
}

bool tangle_graph_make(struct tangle_graph *g, LLVMValueRef fn)
{
    struct aw_ptrmap seen = { 0 };
    *g = (struct tangle_graph){ .n = 0 };
    bool ok = ptx_blocks_order(LLVMGetEntryBasicBlock(fn), &g->arena, &seen, &g->bb, &g->n) && edges_make(g, &seen);
    aw_ptrmap_fini(&seen);
    return ok;
}

void tangle_graph_fini(struct tangle_graph *g)
{
    aw_arena_fini(&g->arena);
}

/* ---- The order: strongly connected components, and again within each without its head (Bourdoncle's weak topological order) */

/* What is still to be given places, last first: blocks list[from] .. list[to - 1], or the latch of `head`. */
struct piece {
    int from, to, head, depth;
};

struct sorting {
    const struct tangle_graph *g;
    struct tangle_order *o;
    int *list;                  /* blocks */
    struct ptx_components components;
    AW_VEC(struct piece) left;
};

/* Beyond this many steps the rest keeps its order, and lanes that go backwards in it do not wait for others: what runs is the
 * same. */
enum { STEPS_MAX = 200000000 };

static struct ptx_edges edges_of(const void *graph, int block)
{
    const struct tangle_graph *g = graph;
    return (struct ptx_edges){ g->succ + g->first[block], g->first[block + 1] - g->first[block] };
}

static bool is_cycle(const struct sorting *s, int from, int to)
{
    const struct tangle_graph *g = s->g;
    int x = s->list[from];
    for (int j = g->first[x]; to - from == 1 && j < g->first[x + 1]; j++)
        if (g->succ[j] == x)
            return true;
    return to - from > 1;
}

static bool push(struct sorting *s, int from, int to, int head, int depth)
{
    return aw_vec_push(&s->left, (struct piece){ from, to, head, depth });
}

/* The blocks of a component: the head, those that are left to be ordered, the latch; last first. */
static bool component_push(struct sorting *s, int from, int to, int depth)
{
    if (!is_cycle(s, from, to))
        return push(s, from, to, -2, depth);
    int head = from; /* where it is entered first */
    for (int i = from + 1; i < to; i++)
        if (s->list[i] < s->list[head])
            head = i;
    int x = s->list[head];
    s->list[head] = s->list[from];
    s->list[from] = x;
    s->o->latch[x] = 0;
    return push(s, 0, 0, x, depth + 1) && (to - from == 1 || push(s, from + 1, to, -1, depth + 1)) &&
           push(s, from, from + 1, -2, depth + 1);
}

static void place(struct sorting *s, int block, int head, int depth)
{
    struct tangle_order *o = s->o;
    o->block[o->n] = block;
    o->head[o->n] = head;
    o->depth[o->n] = depth;
    if (block >= 0)
        o->place[block] = o->n;
    else
        o->latch[head] = o->n;
    o->n++;
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static bool sort(struct sorting *s)
{
    bool ok = push(s, 0, s->g->n, -1, 0);
    while (ok && s->left.n) {
        struct piece p = s->left.at[--s->left.n];
        if (p.head >= 0) {
            place(s, -1, p.head, p.depth);
        } else if (p.head == -2 || s->components.steps > STEPS_MAX) { /* in order */
            if (p.head != -2)
                qsort(s->list + p.from, (size_t)(p.to - p.from), sizeof *s->list, by_number);
            for (int i = p.from; i < p.to; i++)
                place(s, s->list[i], -1, p.depth);
        } else {
            const int *component = s->components.component;
            ptx_components_find(&s->components, s->g, edges_of, s->list + p.from, p.to - p.from);
            for (int to = p.to, from; ok && to > p.from; to = from) {
                for (from = to - 1; from > p.from && component[s->list[from - 1]] == component[s->list[to - 1]]; from--)
                    ;
                ok = component_push(s, from, to, p.depth);
            }
        }
    }
    return ok;
}

bool tangle_order_make(struct tangle_graph *g, struct tangle_order *ret)
{
    size_t n = (size_t)g->n + 1;
    struct sorting s = { .g = g, .o = ret };
    int **const arrays[] = { &s.list, &ret->place, &ret->latch };
    int **const places[] = { &ret->block, &ret->head, &ret->depth };
    bool ok = true;
    ret->n = 0;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        ok = ok && (*arrays[i] = AW_NEW_ARRAY(&g->arena, int, n));
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        ok = ok && (*places[i] = AW_NEW_ARRAY(&g->arena, int, 2 * n));
    ok = ok && ptx_components_init(&g->arena, g->n, &s.components);
    for (int i = 0; ok && i < g->n; i++) {
        s.list[i] = i;
        ret->latch[i] = -1;
    }
    ok = ok && sort(&s);
    aw_vec_fini(&s.left);
    return ok;
}

int tangle_order_next(const struct tangle_order *o, int from, int to)
{
    bool back = o->latch[to] >= 0 && o->place[to] <= o->place[from] && o->place[from] <= o->latch[to];
    return back ? o->latch[to] : o->place[to];
}

/* ---- How tangled.  What is nested falls together to nothing, and what is left is put in order: at each place there are joins
 * that ways from before it lead to beyond it, and loops that it is in.  Taking that apart copies the values of each way to each
 * place. */

struct node {
    AW_VEC(int) succ, preds; /* each once */
    bool gone;
};

struct core {
    struct node *nodes;
    int n;
    AW_VEC(int) work;
    bool ok;
};

static bool has(const int *at, size_t n, int x)
{
    for (size_t i = 0; i < n; i++)
        if (at[i] == x)
            return true;
    return false;
}

static void drop(int *at, size_t *n, int x)
{
    for (size_t i = 0; i < *n; i++)
        if (at[i] == x) {
            at[i] = at[--*n];
            return;
        }
}

static void edge_add(struct core *c, int from, int to)
{
    struct node *f = &c->nodes[from], *t = &c->nodes[to];
    if (from == to || (f->succ.n < t->preds.n ? has(f->succ.at, f->succ.n, to) : has(t->preds.at, t->preds.n, from)))
        return;
    c->ok = c->ok && aw_vec_push(&f->succ, to) && aw_vec_push(&t->preds, from);
}

static void edge_drop(struct core *c, int from, int to)
{
    drop(c->nodes[from].succ.at, &c->nodes[from].succ.n, to);
    drop(c->nodes[to].preds.at, &c->nodes[to].preds.n, from);
}

/* A block with one way in and at most one out is part of that way; one whose only way out leads to where nothing else leads, is
 * one with it. */
static void fold(struct core *c, int x)
{
    struct node *b = &c->nodes[x];
    if (b->gone || x == 0)
        return;
    if (b->preds.n == 1 && b->succ.n <= 1) {
        int from = b->preds.at[0], to = b->succ.n ? b->succ.at[0] : -1;
        edge_drop(c, from, x);
        if (to >= 0) {
            edge_drop(c, x, to);
            edge_add(c, from, to);
            c->ok = c->ok && aw_vec_push(&c->work, to);
        }
        b->gone = true;
        c->ok = c->ok && aw_vec_push(&c->work, from);
    } else if (b->preds.n == 1 && c->nodes[b->preds.at[0]].succ.n == 1) {
        int from = b->preds.at[0];
        edge_drop(c, from, x);
        while (b->succ.n && c->ok) {
            int to = b->succ.at[b->succ.n - 1];
            edge_drop(c, x, to);
            edge_add(c, from, to);
            c->ok = c->ok && aw_vec_push(&c->work, to);
        }
        b->gone = true;
        c->ok = c->ok && aw_vec_push(&c->work, from);
    }
}

/* What is left as a graph of its own, in the order of the whole. */
static bool core_graph(struct core *c, struct tangle_graph *ret)
{
    size_t n = 0, edges = 0;
    int *number = AW_NEW_ARRAY(&ret->arena, int, (size_t)c->n + 1);
    for (int i = 0; number && i < c->n; i++) {
        number[i] = (int)n;
        n += !c->nodes[i].gone;
        edges += c->nodes[i].succ.n;
    }
    ret->first = AW_NEW_ARRAY(&ret->arena, int, n + 1);
    ret->succ = AW_NEW_ARRAY(&ret->arena, int, edges + 1);
    if (!number || !ret->first || !ret->succ)
        return false;
    for (int i = 0; i < c->n; i++) {
        if (c->nodes[i].gone)
            continue;
        ret->first[ret->n + 1] = ret->first[ret->n];
        for (size_t j = 0; j < c->nodes[i].succ.n; j++)
            ret->succ[ret->first[ret->n + 1]++] = number[c->nodes[i].succ.at[j]];
        ret->n++;
    }
    return true;
}

static bool core_make(struct core *c, const struct tangle_graph *g, struct tangle_graph *ret)
{
    c->n = g->n;
    c->nodes = AW_NEW_ARRAY(&ret->arena, struct node, (size_t)g->n + 1);
    c->ok = c->nodes != NULL;
    for (int i = 0; c->ok && i < g->n; i++)
        for (int j = g->first[i]; j < g->first[i + 1]; j++)
            edge_add(c, i, g->succ[j]);
    for (int i = g->n - 1; c->ok && i >= 0; i--) {
        c->ok = aw_vec_push(&c->work, i);
        while (c->ok && c->work.n)
            fold(c, c->work.at[--c->work.n]);
    }
    bool ok = c->ok && core_graph(c, ret);
    for (int i = 0; c->nodes && i < g->n; i++) {
        aw_vec_fini(&c->nodes[i].succ);
        aw_vec_fini(&c->nodes[i].preds);
    }
    aw_vec_fini(&c->work);
    return ok;
}

/* Marks the heads of loops that are entered elsewhere, too.  `around`: of a block, the head of the loop that it is in, or -1. */
static void entries_find(const struct tangle_graph *g, const struct tangle_order *o, const int *around, bool *several)
{
    for (int x = 0; x < g->n; x++)
        for (int j = g->first[x]; j < g->first[x + 1]; j++) {
            int to = g->succ[j], at = o->place[x];
            for (int head = around[to]; head >= 0 && (at < o->place[head] || at > o->latch[head]); head = around[head])
                several[head] = true;
        }
}

/* At each place, the loops with several entries that it is in. */
static void loops_count(const struct tangle_graph *g, const struct tangle_order *o, int *stack, int *around, bool *several,
                        int *ret_loops)
{
    int n = 0;
    for (int i = 0; i < o->n; i++) {
        n -= o->head[i] >= 0;
        int x = o->block[i];
        if (x < 0)
            continue;
        around[x] = n ? stack[n - 1] : -1;
        if (o->latch[x] >= 0)
            stack[n++] = x;
    }
    entries_find(g, o, around, several);
    for (int i = 0, open = 0; i < o->n; i++) {
        int head = o->block[i] >= 0 && o->latch[o->block[i]] >= 0 ? o->block[i] : o->head[i];
        open += head < 0 || !several[head] ? 0 : o->block[i] >= 0 ? 1 : -1;
        ret_loops[i] = open;
    }
}

/* At each place the joins ahead that are on the way already: from its first way in a join is one until its own place. */
static uint64_t order_cost(const struct tangle_graph *g, const struct tangle_order *o, int *joins, int *since, int *preds,
                           const int *loops)
{
    uint64_t cost = 0;
    int open = 0;
    for (int i = 0; i < o->n; i++)
        since[i] = o->n;
    for (int x = 0; x < g->n; x++)
        for (int j = g->first[x]; j < g->first[x + 1]; j++) {
            int to = tangle_order_next(o, x, g->succ[j]), at = o->place[x];
            preds[to]++;
            since[to] = at < since[to] ? at : since[to];
        }
    for (int i = 0; i < o->n; i++)
        if (preds[i] > 1 && since[i] < i && o->block[i] >= 0) {
            joins[since[i] + 1]++;
            joins[i]--;
        }
    for (int i = 0; i < o->n; i++) {
        open += joins[i];
        uint64_t ways = (uint64_t)open + (uint64_t)loops[i], depth = (uint64_t)o->depth[i];
        cost += ways * ways * ways + depth * depth;
    }
    return cost;
}

uint64_t tangle_cost(struct tangle_graph *g, bool *ret_entries, bool *ret_ok)
{
    struct core c = { .n = 0 };
    struct tangle_graph left = { .n = 0 };
    struct tangle_order o;
    uint64_t cost = 0;
    *ret_entries = false;
    bool ok = core_make(&c, g, &left) && tangle_order_make(&left, &o);
    if (ok) {
        size_t n = (size_t)o.n + 2;
        int *joins = AW_NEW_ARRAY(&left.arena, int, n), *since = AW_NEW_ARRAY(&left.arena, int, n),
            *preds = AW_NEW_ARRAY(&left.arena, int, n);
        int *loops = AW_NEW_ARRAY(&left.arena, int, n), *stack = AW_NEW_ARRAY(&left.arena, int, n),
            *around = AW_NEW_ARRAY(&left.arena, int, n);
        bool *several = AW_NEW_ARRAY(&left.arena, bool, n);
        ok = joins && since && preds && loops && stack && around && several;
        if (ok)
            loops_count(&left, &o, stack, around, several, loops);
        cost = ok ? order_cost(&left, &o, joins, since, preds, loops) : 0;
        for (int i = 0; ok && i < left.n; i++)
            *ret_entries |= several[i];
    }
    aw_arena_fini(&left.arena);
    *ret_ok = ok;
    return cost;
}
