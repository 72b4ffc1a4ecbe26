/* XXH3 behind the room's own names. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <stdio.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t aw_hash64(const void *bytes, size_t len)
{
    return XXH3_64bits(bytes, len);
}

struct aw_hash128 aw_hash128(const void *bytes, size_t len)
{
    XXH128_hash_t h = XXH3_128bits(bytes, len);

    return (struct aw_hash128){ h.low64, h.high64 };
}

void aw_hasher_init(struct aw_hasher *h)
{
    h->state = (struct aw_hash128){ 0 };
}

/* Chains digests: state' = H(state, length, digest of the piece).  Framing comes from the fixed record. */
void aw_hasher_add(struct aw_hasher *h, const void *bytes, size_t len)
{
    struct aw_hash128 piece = aw_hash128(bytes, len);
    uint64_t record[5] = { h->state.lo, h->state.hi, len, piece.lo, piece.hi };

    h->state = aw_hash128(record, sizeof record);
}

struct aw_hash128 aw_hasher_end(const struct aw_hasher *h)
{
    return h->state;
}

void aw_hash128_hex(struct aw_hash128 hash, char ret_hex[33])
{
    snprintf(ret_hex, 33, "%016llx%016llx", (unsigned long long)hash.hi, (unsigned long long)hash.lo);
}
