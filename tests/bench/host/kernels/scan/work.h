/* Inclusive prefix sums of n whole numbers, modulo 2^32. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { FROM, TO, SUMS };
enum { BLOCK = 256, EACH = 4, TILE = BLOCK * EACH };
static int n, tiles;

static void setup(void)
{
    n = SIZE(1 << 22, 20011);
    tiles = (n + TILE - 1) / TILE;
    fill_ints(FROM, IN, n, 1000);
    buffer(TO, OUT, n * sizeof(unsigned));
    buffer(SUMS, OUT, tiles * sizeof(unsigned));
}

static void check(void)
{
    unsigned sum = 0;

    for (int i = 0; i < n; i++) {
        sum += HOST(FROM, unsigned)[i];
        check_same(i, HOST(TO, unsigned)[i], sum);
    }
}
