/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static void run(void)
{
    const uint64_t *restrict table = HOST(TABLE, uint64_t), *restrict keys = HOST(KEYS, uint64_t);
    uint64_t *restrict values = HOST(VALUES, uint64_t);
    unsigned mask = (1u << bits) - 1;

#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        unsigned at = (unsigned)hash_of(keys[i]) & mask;
        while (table[2 * at] != 0 && table[2 * at] != keys[i])
            at = (at + 1) & mask;
        values[i] = table[2 * at] ? table[2 * at + 1] : 0;
    }
}
