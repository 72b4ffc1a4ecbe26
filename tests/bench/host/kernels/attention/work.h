/* Attention as its formula says: scores = Q K' / sqrt(d), softmax of their rows, times V, for several heads. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { QUERY, KEY, VALUE, SCORES, RESULT };
enum { DEPTH = 64 };
static int heads, length;

static void setup(void)
{
    heads = SIZE(4, 2);
    length = SIZE(384, 64);
    size_t all = (size_t)heads * length * DEPTH;
    fill_floats(QUERY, IN, all, -1, 1);
    fill_floats(KEY, IN, all, -1, 1);
    fill_floats(VALUE, IN, all, -1, 1);
    buffer(SCORES, OUT, (size_t)heads * length * length * sizeof(float));
    buffer(RESULT, OUT, all * sizeof(float));
}

static void check(void)
{
    double *weight = (double *)malloc(length * sizeof *weight);

    if (!weight)
        bench_fail("out of memory");
    for (long row = 0; row < (long)heads * length; row += 5) {
        const float *key = HOST(KEY, float) + row / length * length * DEPTH,
                    *value = HOST(VALUE, float) + row / length * length * DEPTH;
        double sum = 0;
        for (int i = 0; i < length; i++) {
            double dot = 0;
            for (int k = 0; k < DEPTH; k++)
                dot += (double)HOST(QUERY, float)[row * DEPTH + k] * key[i * DEPTH + k];
            sum += weight[i] = exp(dot / 8);
        }
        for (int k = 0; k < DEPTH; k++) {
            double want = 0;
            for (int i = 0; i < length; i++)
                want += weight[i] / sum * value[i * DEPTH + k];
            check_near(row * DEPTH + k, HOST(RESULT, float)[row * DEPTH + k], want, 1e-5);
        }
    }
    free(weight);
}
