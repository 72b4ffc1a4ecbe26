/* One pass of a radix sort: keys brought into the order of one 4-bit digit, those with equal digits left in their order. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { FROM, TO, COUNTS };
enum { SHIFT = 8, DIGITS = 16, TILE = 256, CHUNK = 128 };
static int n, tiles;

static void setup(void)
{
    n = SIZE(1 << 21, 8192);
    tiles = n / TILE;
    fill_ints(FROM, IN, n, 0);
    buffer(TO, OUT, n * sizeof(unsigned));
    buffer(COUNTS, OUT, (size_t)n / CHUNK * DIGITS * sizeof(unsigned));  /* of OpenCL's chunks; tiles need half of it */
}

static void check(void)
{
    const unsigned *from = HOST(FROM, unsigned);
    int place[DIGITS + 1] = {0};

    for (int i = 0; i < n; i++)
        place[(from[i] >> SHIFT & (DIGITS - 1)) + 1]++;
    for (int d = 1; d < DIGITS; d++)
        place[d] += place[d - 1];
    for (int i = 0; i < n; i++)
        check_same(i, HOST(TO, unsigned)[place[from[i] >> SHIFT & (DIGITS - 1)]++], from[i]);
}
