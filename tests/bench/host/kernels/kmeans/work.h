/* A step of k-means: each point to its nearest centre, and for each centre the sum and number of its points. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { POINTS, CENTRES, LABELS, SUMS, NUMBERS };
enum { DIMS = 8, K = 16, GRID = 128, BLOCK = 256 };
static int n;

/* A dimension's coordinates are together. */
static void setup(void)
{
    n = SIZE(1 << 19, 5003);
    fill_floats(POINTS, IN, (size_t)n * DIMS, 0, 1);
    fill_floats(CENTRES, IN, K * DIMS, 0, 1);
    buffer(LABELS, OUT, n * sizeof(int));
    fill_zero(SUMS, INOUT, K * DIMS * sizeof(float));
    fill_zero(NUMBERS, INOUT, K * sizeof(int));
}

static double distance(int point, int centre)
{
    double sum = 0;

    for (int d = 0; d < DIMS; d++) {
        double away = (double)HOST(POINTS, float)[(size_t)d * n + point] - HOST(CENTRES, float)[centre * DIMS + d];
        sum += away * away;
    }
    return sum;
}

/* A label may be another where two centres are equally near; the sums must be those of the labels. */
static void check(void)
{
    double sums[K][DIMS] = {{0}};
    int numbers[K] = {0};

    for (int i = 0; i < n; i++) {
        int label = HOST(LABELS, int)[i];
        if (label < 0 || label >= K)
            bench_fail("a label is no centre");
        double least = distance(i, 0);
        for (int c = 1; c < K && i % 3 == 0; c++)
            least = fmin(least, distance(i, c));
        if (i % 3 == 0)
            check_near(i, distance(i, label), least, 1e-5);
        numbers[label]++;
        for (int d = 0; d < DIMS; d++)
            sums[label][d] += HOST(POINTS, float)[(size_t)d * n + i];
    }
    for (int c = 0; c < K; c++) {
        check_same(c, HOST(NUMBERS, int)[c], numbers[c]);
        for (int d = 0; d < DIMS; d++)
            check_near(c * DIMS + d, HOST(SUMS, float)[c * DIMS + d], sums[c][d], 1e-3 * sums[c][d] + 1e-3);
    }
}
