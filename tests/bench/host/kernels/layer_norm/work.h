/* Each row brought to mean 0 and variance 1, then scaled and shifted by column. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { FROM, SCALE, SHIFT, TO };
static const float tiny = 1e-5f;
static int rows, cols;

static void setup(void)
{
    rows = SIZE(4096, 20);
    cols = SIZE(768, 100);
    fill_floats(FROM, IN, (size_t)rows * cols, -1, 3);
    fill_floats(SCALE, IN, cols, 0.5f, 2);
    fill_floats(SHIFT, IN, cols, -1, 1);
    buffer(TO, OUT, (size_t)rows * cols * sizeof(float));
}

static void check(void)
{
    for (int row = 0; row < rows; row++) {
        const float *in = HOST(FROM, float) + (size_t)row * cols, *out = HOST(TO, float) + (size_t)row * cols;
        double mean = 0, square = 0;
        for (int i = 0; i < cols; i++)
            mean += in[i];
        mean /= cols;
        for (int i = 0; i < cols; i++)
            square += (in[i] - mean) * (in[i] - mean);
        for (int i = 0; i < cols; i++)
            check_near((long)row * cols + i, out[i],
                       (in[i] - mean) / sqrt(square / cols + tiny) * HOST(SCALE, float)[i] + HOST(SHIFT, float)[i], 2e-5);
    }
}
