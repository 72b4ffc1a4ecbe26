/* Values of keys in a hash table with open addressing, half full; half of the keys are not in it. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { TABLE, KEYS, VALUES };
static int n, bits;

/* The finaliser of MurmurHash3. */
static inline uint64_t hash_of(uint64_t h)
{
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdu;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 33;
}

/* Slots are pairs of key and value; no key is 0. */
static void setup(void)
{
    bits = SIZE(16, 9);
    n = SIZE(1 << 20, 3001);
    uint64_t slots = (uint64_t)1 << bits, *table = (uint64_t *)fill_zero(TABLE, IN, slots * 16);
    for (uint64_t i = 0; i < slots / 2; i++) {
        uint64_t key = i + 1, at = hash_of(key) & (slots - 1);
        while (table[2 * at])
            at = (at + 1) & (slots - 1);
        table[2 * at] = key;
        table[2 * at + 1] = key * 3;
    }
    uint64_t *keys = (uint64_t *)buffer(KEYS, IN, n * sizeof *keys);
    for (int i = 0; i < n; i++)
        keys[i] = random_bits(KEYS, i) % slots + 1;
    buffer(VALUES, OUT, n * sizeof(uint64_t));
}

static void check(void)
{
    uint64_t slots = (uint64_t)1 << bits;

    for (int i = 0; i < n; i++) {
        uint64_t key = HOST(KEYS, uint64_t)[i];
        check_same(i, (int64_t)HOST(VALUES, uint64_t)[i], key <= slots / 2 ? (int64_t)(key * 3) : 0);
    }
}
