/* Number-theoretic transforms of many runs of 512 numbers modulo a prime, radix 2, decimation in time; numbers and factors are in
 * Montgomery's form, where a product takes both halves of three products of 32 bits and no division. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { DATA, FACTORS };
enum { POINTS = 512, BITS = 9 };
#define PRIME 998244353u   /* 119 * 2^23 + 1 */
#define INVERSE 3296722945u /* of PRIME, modulo 2^32 */
static int count;

static uint32_t modular_power(uint64_t base, uint32_t exponent)
{
    uint64_t result = 1;

    for (; exponent; exponent >>= 1, base = base * base % PRIME)
        if (exponent & 1)
            result = result * base % PRIME;
    return (uint32_t)result;
}

static uint32_t to_montgomery(uint64_t x)
{
    return (uint32_t)((x << 32) % PRIME);
}

static void setup(void)
{
    count = SIZE(2048, 16);
    fill_ints(DATA, INOUT, (size_t)count * POINTS, PRIME);
    uint32_t *factors = (uint32_t *)buffer(FACTORS, IN, POINTS / 2 * sizeof *factors);
    uint64_t root = modular_power(3, (PRIME - 1) / POINTS), at = 1;
    for (int k = 0; k < POINTS / 2; k++, at = at * root % PRIME)
        factors[k] = to_montgomery(at);
}

/* The sum as it is written; the data's form is the same before and after, so it needs no conversion. */
static void check(void)
{
    static uint32_t turn[POINTS];
    uint64_t root = modular_power(3, (PRIME - 1) / POINTS), at = 1;

    for (int k = 0; k < POINTS; k++, at = at * root % PRIME)
        turn[k] = (uint32_t)at;
    for (long run = 0; run < count; run += 5) {
        const uint32_t *in = FIRST(DATA, uint32_t) + run * POINTS, *out = HOST(DATA, uint32_t) + run * POINTS;
        for (int k = (int)(run % 7); k < POINTS; k += 7) {
            uint64_t sum = 0;
            for (int i = 0; i < POINTS; i++)
                sum = (sum + (uint64_t)in[i] * turn[i * k % POINTS]) % PRIME;
            check_same(run * POINTS + k, out[k], (int64_t)sum);
        }
    }
}
