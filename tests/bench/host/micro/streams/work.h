/* variants: 1=-DSTREAMS=1 2=-DSTREAMS=2 4=-DSTREAMS=4 */
/* 64 launches of one block with work for about 100 us, shared out over STREAMS streams (OpenMP: threads).  A unit is a launch:
 * with two processors two streams take half as long as one. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { RESULT };
enum { LAUNCHES = 64, BLOCK = 32 };
static int steps;

static void setup(void)
{
    steps = SIZE(20000, 100);
    bench.units = LAUNCHES;
    buffer(RESULT, OUT, LAUNCHES * BLOCK * sizeof(unsigned));
}

static void check(void)
{
    for (unsigned i = 0; i < LAUNCHES * BLOCK; i++) {
        unsigned v = i;
        for (int step = 0; step < steps; step++)
            v = v * 1664525u + 1013904223u;
        check_same(i, HOST(RESULT, unsigned)[i], v);
    }
}
