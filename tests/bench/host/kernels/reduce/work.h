/* Sum of n floats, to one partial sum for each block of the grid (OpenMP: one sum). */
/* SPDX-License-Identifier: Apache-2.0 */
enum { X, SUMS };
enum { BLOCK = 256, GRID = 512 };
static int n;

static void setup(void)
{
    n = SIZE(1 << 24, 300007);
    fill_floats(X, IN, n, -1, 2);
    fill_zero(SUMS, INOUT, GRID * sizeof(float));
}

static void check(void)
{
    double want = 0, got = 0;

    for (int i = 0; i < n; i++)
        want += HOST(X, float)[i];
    for (int i = 0; i < GRID; i++)
        got += HOST(SUMS, float)[i];
    check_near(0, got, want, 1e-5 * want);
}
