/* Encodings written by hand from the fields that the table names. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TESTS_SASS_BITS_H
#define AW_TESTS_SASS_BITS_H

#include <stdint.h>

struct bits {
    uint64_t low, high;
};

/* `n` bits of `value` from bit `at` on; bits that are set stay so. */
static inline struct bits put(struct bits b, unsigned at, unsigned n, uint64_t value)
{
    value &= n < 64 ? (1ull << n) - 1 : UINT64_MAX;
    if (at < 64)
        b.low |= value << at;
    if (at + n > 64)
        b.high |= at < 64 ? value >> (64 - at) : value << (at - 64);
    return b;
}

/* Opcode, no guard, destination, a. */
static inline struct bits start(unsigned opcode, unsigned d, unsigned a)
{
    struct bits b = put((struct bits){ 0, 0 }, 0, 12, opcode);
    return put(put(put(b, 12, 3, 7), 16, 8, d), 24, 8, a);
}

/* No predicates written or read. */
static inline struct bits quiet(struct bits b)
{
    return put(put(put(put(put(put(b, 81, 3, 7), 84, 3, 7), 87, 3, 7), 90, 1, 1), 77, 3, 7), 80, 1, 1);
}

#endif
