/* a = b + s c in double precision; the kernels stride over the grid. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { A, B, C };
static const double s = 3;
static int n;

static void setup(void)
{
    n = SIZE(1 << 22, 10007);
    buffer(A, OUT, n * sizeof(double));
    fill_doubles(B, IN, n, -1, 1);
    fill_doubles(C, IN, n, -1, 1);
}

static void check(void)
{
    for (int i = 0; i < n; i++)
        check_near(i, HOST(A, double)[i], HOST(B, double)[i] + s * HOST(C, double)[i], 1e-15 * 4);
}
