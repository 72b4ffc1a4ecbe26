/* Shortest ways between all pairs: n launches, one for each vertex in between. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { WAY };
static int n;

static void setup(void)
{
    n = SIZE(320, 64);
    int *way = (int *)fill_ints(WAY, INOUT, (size_t)n * n, 1 << 20);
    for (int i = 0; i < n; i++)
        way[(long)i * n + i] = 0;
}

static void check(void)
{
    size_t bytes = (size_t)n * n * sizeof(int);
    int *want = (int *)bench_memory(bytes);

    memcpy(want, FIRST(WAY, int), bytes);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                if (want[i * n + j] > want[i * n + k] + want[k * n + j])
                    want[i * n + j] = want[i * n + k] + want[k * n + j];
    for (int i = 0; i < n * n; i++)
        check_same(i, HOST(WAY, int)[i], want[i]);
    free(want);
}
