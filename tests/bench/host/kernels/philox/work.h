/* Random numbers by Philox 4x32-10: four words for each counter. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { WORDS };
static const unsigned seed = 20240229;
static int n;

static void setup(void)
{
    n = SIZE(1 << 20, 5003);
    buffer(WORDS, OUT, (size_t)n * 4 * sizeof(unsigned));
}

static void check(void)
{
    for (int i = 0; i < n; i += 5) {
        unsigned c[4] = {(unsigned)i, 0, 7, 0}, k[2] = {seed, seed ^ 0x5bd1e995u};
        for (int r = 0; r < 10; r++) {
            uint64_t p0 = (uint64_t)0xd2511f53u * c[0], p1 = (uint64_t)0xcd9e8d57u * c[2];
            c[0] = (unsigned)(p1 >> 32) ^ c[1] ^ k[0];
            c[1] = (unsigned)p1;
            c[2] = (unsigned)(p0 >> 32) ^ c[3] ^ k[1];
            c[3] = (unsigned)p0;
            k[0] += 0x9e3779b9u;
            k[1] += 0xbb67ae85u;
        }
        for (int j = 0; j < 4; j++)
            check_same(i * 4L + j, HOST(WORDS, unsigned)[i * 4L + j], c[j]);
    }
}
