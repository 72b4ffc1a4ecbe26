/* Products of many pairs of 16 by 16 matrices. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { A, B, C };
enum { SIDE = 16 };
static int count;

static void setup(void)
{
    count = SIZE(8192, 50);
    fill_floats(A, IN, (size_t)count * SIDE * SIDE, -1, 1);
    fill_floats(B, IN, (size_t)count * SIDE * SIDE, -1, 1);
    buffer(C, OUT, (size_t)count * SIDE * SIDE * sizeof(float));
}

static void check(void)
{
    for (long i = 0; i < (long)count * SIDE * SIDE; i += 3) {
        const float *a = HOST(A, float) + i / SIDE * SIDE, *b = HOST(B, float) + i / (SIDE * SIDE) * (SIDE * SIDE) + i % SIDE;
        double want = 0;
        for (int k = 0; k < SIDE; k++)
            want += (double)a[k] * b[k * SIDE];
        check_near(i, HOST(C, float)[i], want, 1e-5);
    }
}
