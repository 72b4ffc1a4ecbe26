/* C = A B of square float matrices. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { A, B, C };
static int n;

static void setup(void)
{
    n = SIZE(512, 128);
    fill_floats(A, IN, (size_t)n * n, -1, 1);
    fill_floats(B, IN, (size_t)n * n, -1, 1);
    buffer(C, OUT, (size_t)n * n * sizeof(float));
}

static void check(void)
{
    const float *a = HOST(A, float), *b = HOST(B, float);

    for (long i = 0; i < (long)n * n; i += 13) {
        double want = 0;
        for (int k = 0; k < n; k++)
            want += (double)a[i / n * n + k] * b[(long)k * n + i % n];
        check_near(i, HOST(C, float)[i], want, 1e-4);
    }
}
