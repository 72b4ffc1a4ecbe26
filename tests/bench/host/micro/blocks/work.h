/* variants: 1=-DBLOCKS=1 100=-DBLOCKS=100 10000=-DBLOCKS=10000 1000000=-DBLOCKS=1000000 10000000=-DBLOCKS=10000000 */
/* Launches of BLOCKS blocks of 32 threads, each of which writes one word.  A unit is a block. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { WORDS };
enum { WORD_COUNT = 4096 };
static int launches, block_count;

static void setup(void)
{
    block_count = SIZE(BLOCKS, BLOCKS < 1000 ? BLOCKS : 1000);
    launches = SIZE(BLOCKS < 1000000 ? 1000000 / (BLOCKS + 100) : 1, 3);
    bench.units = (long)launches * block_count;
    fill_zero(WORDS, INOUT, WORD_COUNT * sizeof(int));
}

static void check(void)
{
    for (int i = 0; i < WORD_COUNT && i < block_count * 32; i++)
        check_same(i, HOST(WORDS, int)[i], i);
}
