/* Accelerations of n bodies on each other, softened. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { BODIES, ACCELERATIONS };
enum { BLOCK = 128 };
static const float soft = 1e-2f;
static int n;

static void setup(void)
{
    n = SIZE(6144, 512);
    fill_floats(BODIES, IN, (size_t)n * 4, 0.1f, 1);
    buffer(ACCELERATIONS, OUT, (size_t)n * 4 * sizeof(float));
}

static void check(void)
{
    const float *p = HOST(BODIES, float), *got = HOST(ACCELERATIONS, float);

    for (int i = 0; i < n; i += 61) {
        double sum[3] = {0, 0, 0}, size = 0;
        for (int j = 0; j < n; j++) {
            double d[3], square = soft;
            for (int c = 0; c < 3; c++) {
                d[c] = (double)p[j * 4 + c] - p[i * 4 + c];
                square += d[c] * d[c];
            }
            double f = p[j * 4 + 3] / (square * sqrt(square));
            size += f;
            for (int c = 0; c < 3; c++)
                sum[c] += f * d[c];
        }
        for (int c = 0; c < 3; c++)
            check_near(i * 4 + c, got[i * 4 + c], sum[c], 1e-5 * size);
    }
}
