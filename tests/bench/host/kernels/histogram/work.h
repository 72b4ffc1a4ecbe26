/* How often each of 256 bytes occurs in words. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { WORDS, BINS };
enum { BIN_COUNT = 256, GRID = 64, BLOCK = 256 };
static int n;

static void setup(void)
{
    n = SIZE(1 << 21, 5003);
    fill_ints(WORDS, IN, n, 0);
    fill_zero(BINS, INOUT, BIN_COUNT * sizeof(unsigned));
}

static void check(void)
{
    unsigned want[BIN_COUNT] = {0};

    for (int i = 0; i < n; i++)
        for (int byte = 0; byte < 32; byte += 8)
            want[HOST(WORDS, unsigned)[i] >> byte & 255]++;
    for (int i = 0; i < BIN_COUNT; i++)
        check_same(i, HOST(BINS, unsigned)[i], want[i]);
}
