/* Sorts each run of 512 keys. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { KEYS };
enum { RUN = 512 };
static int runs;

static void setup(void)
{
    runs = SIZE(2048, 20);
    fill_ints(KEYS, INOUT, (size_t)runs * RUN, 0);
}

static int compare_keys(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

    return x < y ? -1 : x > y;
}

static void check(void)
{
    unsigned want[RUN];

    for (int run_at = 0; run_at < runs; run_at += 3) {
        memcpy(want, FIRST(KEYS, unsigned) + (long)run_at * RUN, sizeof want);
        qsort(want, RUN, sizeof *want, compare_keys);
        for (int i = 0; i < RUN; i++)
            check_same((long)run_at * RUN + i, HOST(KEYS, unsigned)[(long)run_at * RUN + i], want[i]);
    }
}
