/* Orders, dominators, walks and components of graphs: against what they mean, on graphs made at random by seed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/graph.h"

#include <criterion/criterion.h>
#include <string.h>

enum { NODES = 24 };

struct graph {
    int out[NODES][NODES], n_out[NODES], in[NODES][NODES], n_in[NODES];
};

static struct ptx_edges out_of(const void *graph, int x)
{
    const struct graph *g = graph;
    return (struct ptx_edges){ g->out[x], g->n_out[x] };
}

static struct ptx_edges into(const void *graph, int x)
{
    const struct graph *g = graph;
    return (struct ptx_edges){ g->in[x], g->n_in[x] };
}

static void edge(struct graph *g, int from, int to)
{
    g->out[from][g->n_out[from]++] = to;
    g->in[to][g->n_in[to]++] = from;
}

/* Which nodes can be reached from `root` without going through `without` (-1: no such node). */
static void reach(const struct graph *g, int root, int without, bool seen[NODES])
{
    int stack[NODES], n = 0;
    memset(seen, 0, NODES * sizeof *seen);
    if (root == without)
        return;
    seen[root] = true;
    for (stack[n++] = root; n;) {
        int x = stack[--n];
        for (int j = 0; j < g->n_out[x]; j++)
            if (g->out[x][j] != without && !seen[g->out[x][j]]) {
                seen[g->out[x][j]] = true;
                stack[n++] = g->out[x][j];
            }
    }
}

static bool above(const int *idom, int root, int a, int b)
{
    while (b != a && b != root)
        b = idom[b];
    return a == b;
}

static void check(struct aw_arena *arena, const struct graph *g)
{
    int order[NODES], number[NODES], idom[NODES], n;
    bool reached[NODES], without[NODES];
    cr_assert(ptx_graph_order(arena, g, NODES, 0, out_of, order, number, &n));
    reach(g, 0, -1, reached);
    for (int x = 0; x < NODES; x++) {
        cr_expect_eq(number[x] >= 0, reached[x]);
        cr_expect(number[x] < 0 || order[number[x]] == x);
    }
    ptx_graph_dominators(g, n, order, number, into, idom);
    for (int a = 0; a < NODES; a++) {
        reach(g, 0, a, without);
        for (int b = 0; b < NODES && reached[a]; b++)
            if (reached[b]) {
                cr_expect_eq(above(idom, 0, a, b), a == b || !without[b], "does %d dominate %d?", a, b);
                cr_expect(a == b || !above(idom, 0, a, b) || number[a] < number[b]);
            }
    }
}

Test(graph, dominators)
{
    uint64_t state = 17;
    for (int round = 0; round < 400; round++) {
        struct aw_arena arena = { 0 };
        struct graph g = { 0 };
        for (int x = 0; x < NODES; x++)
            for (int k = 0; k < 2; k++) {
                state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
                edge(&g, x, (int)(state >> 33) % NODES);
            }
        check(&arena, &g);
        aw_arena_fini(&arena);
    }
}

/* Where numbers are places: the tree of a loop with a branch in it. */
Test(graph, tree)
{
    struct aw_arena arena = { 0 };
    struct graph g = { 0 };
    struct ptx_dominators d;
    static const int edges[][2] = { { 0, 1 }, { 1, 2 }, { 1, 3 }, { 2, 4 }, { 3, 4 }, { 4, 1 }, { 4, 5 } };
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        edge(&g, edges[i][0], edges[i][1]);
    cr_assert(ptx_dominators_find(&arena, &g, 6, into, &d));
    cr_expect(d.idom[0] == 0 && d.idom[4] == 1 && d.idom[5] == 4);
    cr_expect(ptx_dominates(&d, 1, 5) && ptx_dominates(&d, 4, 4) && ptx_dominates(&d, 0, 3));
    cr_expect(!ptx_dominates(&d, 2, 4) && !ptx_dominates(&d, 5, 4) && !ptx_dominates(&d, 3, 2));
    aw_arena_fini(&arena);
}

static bool not_odd_to_even(void *data, int from, int to)
{
    ++*(int *)data;
    return !(from % 2 && to % 2 == 0);
}

/* Which nodes a walk with a condition on its edges sees, against a walk that only knows "until nothing changes"; two nodes to
 * begin with. */
Test(graph, walk)
{
    uint64_t state = 18;
    for (int round = 0; round < 200; round++) {
        struct graph g = { 0 };
        bool seen[NODES] = { [1] = true }, all[NODES] = { 0 }, want[NODES];
        int asked = 0;
        seen[round % NODES] = true;
        for (int x = 0; x < NODES; x++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            edge(&g, x, (int)(state >> 33) % NODES);
            edge(&g, x, (int)(state >> 45) % NODES);
        }
        memcpy(want, seen, sizeof want);
        for (bool changed = true; changed;) {
            changed = false;
            for (int x = 0; x < NODES; x++)
                for (int j = 0; want[x] && j < g.n_out[x]; j++)
                    if (!want[g.out[x][j]] && !(x % 2 && g.out[x][j] % 2 == 0))
                        want[g.out[x][j]] = changed = true;
        }
        all[3] = true;
        cr_assert(ptx_graph_walk(&g, NODES, out_of, seen, not_odd_to_even, &asked) &&
                  ptx_graph_walk(&g, NODES, out_of, all, NULL, NULL));
        cr_expect_arr_eq(seen, want, sizeof want);
        cr_expect_gt(asked, 0);
        reach(&g, 3, -1, want);
        cr_expect_arr_eq(all, want, sizeof want);
    }
}

static bool both_ways(const struct graph *g, int a, int b)
{
    bool from_a[NODES], from_b[NODES];
    reach(g, a, -1, from_a);
    reach(g, b, -1, from_b);
    return from_a[b] && from_b[a];
}

/* Components of all nodes, then of those of the first half alone, against what they mean; and the order that nodes are left
 * in. */
Test(graph, components)
{
    uint64_t state = 19;
    for (int round = 0; round < 100; round++) {
        struct aw_arena arena = { 0 };
        struct graph g = { 0 }, half = { 0 };
        struct ptx_components c;
        cr_assert(ptx_components_init(&arena, NODES, &c));
        for (int x = 0; x < NODES; x++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            int to = (int)(state >> 33) % NODES;
            edge(&g, x, to);
            if (x < NODES / 2 && to < NODES / 2)
                edge(&half, x, to);
        }
        for (int n = NODES; n >= NODES / 2; n -= NODES / 2) {
            const struct graph *part = n == NODES ? &g : &half;
            int nodes[NODES], place[NODES];
            for (int i = 0; i < n; i++)
                nodes[i] = n - 1 - i;
            ptx_components_find(&c, &g, out_of, nodes, n);
            for (int i = 0; i < n; i++)
                place[nodes[i]] = i;
            for (int a = 0; a < n; a++)
                for (int b = 0; b < n; b++)
                    cr_expect_eq(c.component[a] == c.component[b], both_ways(part, a, b), "%d and %d", a, b);
            for (int a = 0; a < n; a++)
                for (int j = 0; j < part->n_out[a]; j++) {
                    int b = part->out[a][j];
                    cr_expect(c.component[a] == c.component[b] || (place[a] < place[b] && c.component[a] > c.component[b]));
                }
            cr_expect(c.n > 0 && c.steps > 0);
        }
        aw_arena_fini(&arena);
    }
}
