/* y = a x + y. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { X, Y };
static const float a = 1.5f;
static int n;

static void setup(void)
{
    n = SIZE(1 << 23, 10007);
    fill_floats(X, IN, n, -1, 1);
    fill_floats(Y, INOUT, n, -1, 1);
}

static void check(void)
{
    for (int i = 0; i < n; i++)
        check_near(i, HOST(Y, float)[i], (double)a * HOST(X, float)[i] + FIRST(Y, float)[i], 1e-6);
}
