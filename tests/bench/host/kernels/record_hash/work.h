/* A hash of each of many records of 16 words: the words of a column lie together.  Two words are mixed by the two halves of a
 * product of 64 bits, as wyhash does. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { RECORDS, HASHES };
enum { WORDS = 16 };
static int n;

static void setup(void)
{
    n = SIZE(1 << 18, 3001);
    fill_ints(RECORDS, IN, (size_t)n * WORDS, 0);
    buffer(HASHES, OUT, (size_t)n * sizeof(unsigned));
}

static void check(void)
{
    for (int i = 0; i < n; i += 3) {
        uint32_t a = 0x9e3779b9u, b = WORDS * 4;
        for (int k = 0; k < WORDS; k += 2) {
            uint64_t both = (uint64_t)((a ^ HOST(RECORDS, uint32_t)[(long)k * n + i]) ^ 0x53c5ca59u) *
                            ((b ^ HOST(RECORDS, uint32_t)[(k + 1L) * n + i]) ^ 0x74743c1bu);
            a = (uint32_t)both;
            b = (uint32_t)(both >> 32);
        }
        check_same(i, HOST(HASHES, uint32_t)[i], a ^ b);
    }
}
