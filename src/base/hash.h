/* Hashing: fast 64-bit for tables, 128-bit for content (XXH3).  Not cryptographic. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_HASH_H
#define AW_BASE_HASH_H

#include "base/str.h"

struct aw_hash128 {
    uint64_t lo, hi;
};

uint64_t aw_hash64(const void *bytes, size_t len);
struct aw_hash128 aw_hash128(const void *bytes, size_t len);

/* Streaming form: init, any number of adds, end.  Pieces are framed by their length, so ("a","bc") != ("ab","c"). */
struct aw_hasher {
    struct aw_hash128 state;
};
void aw_hasher_init(struct aw_hasher *h);
void aw_hasher_add(struct aw_hasher *h, const void *bytes, size_t len);
struct aw_hash128 aw_hasher_end(const struct aw_hasher *h);

static inline bool aw_hash128_eq(struct aw_hash128 a, struct aw_hash128 b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

/* Writes 32 hexadecimal digits and a NUL. */
void aw_hash128_hex(struct aw_hash128 hash, char ret_hex[33]);

#endif
