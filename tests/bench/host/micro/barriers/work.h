/* Blocks of 128 threads that pass values around a ring in shared memory, 16 times with two barriers each.  A unit is a barrier of
 * a block. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { RESULT };
enum { BLOCK = 128, TURNS = 16 };
static int block_count;

static void setup(void)
{
    block_count = SIZE(2000, 10);
    bench.units = (long)block_count * TURNS * 2;
    buffer(RESULT, OUT, (size_t)block_count * BLOCK * sizeof(int));
}

static void check(void)
{
    for (int i = 0; i < block_count * BLOCK; i++)
        check_same(i, HOST(RESULT, int)[i], i / BLOCK + (i + TURNS) % BLOCK);
}
