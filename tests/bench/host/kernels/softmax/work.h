/* Softmax of each row of a matrix. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { FROM, TO };
static int rows, cols;

static void setup(void)
{
    rows = SIZE(2048, 24);
    cols = SIZE(1024, 100);
    fill_floats(FROM, IN, (size_t)rows * cols, -4, 4);
    buffer(TO, OUT, (size_t)rows * cols * sizeof(float));
}

static void check(void)
{
    for (int row = 0; row < rows; row += 3) {
        const float *in = HOST(FROM, float) + (size_t)row * cols, *out = HOST(TO, float) + (size_t)row * cols;
        double sum = 0;
        for (int i = 0; i < cols; i++)
            sum += exp(in[i]);
        for (int i = 0; i < cols; i++)
            check_near((long)row * cols + i, out[i], exp(in[i]) / sum, 1e-5 * exp(in[i]) / sum);
    }
}
