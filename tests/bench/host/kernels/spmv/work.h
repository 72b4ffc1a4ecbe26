/* y = A x of a sparse matrix of floats in compressed rows.  AVERAGE elements a row: 8, or 96 where a warp takes a row. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { START, COLUMN, VALUE, VECTOR, RESULT };
#ifndef AVERAGE
#define AVERAGE 8
#endif
static int rows;

static void setup(void)
{
    rows = SIZE((1 << 22) / AVERAGE, 3001);
    int *start = (int *)buffer(START, IN, (rows + 1) * sizeof(int));
    start[0] = 0;
    for (int i = 0; i < rows; i++)
        start[i + 1] = start[i] + AVERAGE / 2 + (int)(random_bits(START, i) % (AVERAGE + 1));
    fill_ints(COLUMN, IN, start[rows], rows);
    fill_floats(VALUE, IN, start[rows], -1, 1);
    fill_floats(VECTOR, IN, rows, -1, 1);
    buffer(RESULT, OUT, rows * sizeof(float));
}

static void check(void)
{
    const int *start = HOST(START, int), *column = HOST(COLUMN, int);

    for (int row = 0; row < rows; row++) {
        double want = 0;
        for (int i = start[row]; i < start[row + 1]; i++)
            want += (double)HOST(VALUE, float)[i] * HOST(VECTOR, float)[column[i]];
        check_near(row, HOST(RESULT, float)[row], want, 1e-5 * sqrt(AVERAGE));
    }
}
