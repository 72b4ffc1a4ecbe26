/* A step of a breadth-first search: vertices not yet reached that are neighbours of the last level's get the next level.  The
 * step is the one with the most vertices to start from, of a graph with 8 edges a vertex. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { START, EDGE, LEVEL };
enum { DEGREE = 8 };
static int vertices, level;

/* Marks the next level in levels; returns how many it has. */
static int search_step(int *levels, int last)
{
    int found = 0;

    for (int v = 0; v < vertices; v++) {
        if (levels[v] != last)
            continue;
        for (int e = HOST(START, int)[v]; e < HOST(START, int)[v + 1]; e++) {
            int other = HOST(EDGE, int)[e];
            if (levels[other] < 0) {
                levels[other] = last + 1;
                found++;
            }
        }
    }
    return found;
}

static void setup(void)
{
    vertices = SIZE(1 << 20, 5000);
    int *start = (int *)buffer(START, IN, (vertices + 1) * sizeof(int));
    start[0] = 0;
    for (int v = 0; v < vertices; v++)
        start[v + 1] = start[v] + (int)(random_bits(START, v) % (2 * DEGREE + 1));
    fill_ints(EDGE, IN, start[vertices], vertices);
    int *levels = (int *)buffer(LEVEL, INOUT, vertices * sizeof(int));
    int most = 0, now;
    for (int v = 0; v < DEGREE; v++)
        levels[v] = 0;
    for (int last = 0; (now = search_step(levels, last)) > most; last++) {
        most = now;
        level = last + 1;
    }
    for (int v = 0; v < vertices; v++)
        if (levels[v] > level)
            levels[v] = -1;
}

static void check(void)
{
    int *want = (int *)bench_memory(vertices * sizeof *want);

    memcpy(want, FIRST(LEVEL, int), vertices * sizeof *want);
    check_same(-1, search_step(want, level) > 0, 1);
    for (int v = 0; v < vertices; v++)
        check_same(v, HOST(LEVEL, int)[v], want[v]);
    free(want);
}
