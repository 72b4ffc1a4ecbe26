/* What a fuzz target offers to driver.c; the first is libFuzzer's own interface. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TESTS_FUZZ_H
#define AW_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Targets that know their input's grammar change it themselves (ptx_mutate.c); `max`: size of the block at `data`. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len, uint8_t *out, size_t max,
                                 unsigned seed);
/* For ptx_mutate.c: whether an input gets as far as the target would like.  A target without it is given everything. */
bool aw_fuzz_accepts(const uint8_t *data, size_t size);
/* libFuzzer's own changes, or driver.c's. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

/* Follows from the input's bytes alone, so that what depends on it can be reproduced from the input. */
static inline uint64_t aw_fuzz_digest(const uint8_t *data, size_t size)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ data[i]) * 1099511628211u;
    return hash ^ hash >> 29;
}

/* True when an input of this digest is to have the costly steps as well: always, or for one input in $AW_FUZZ_RATE. */
bool aw_fuzz_deep(uint64_t digest);

/* Sound inputs to start from; `bytes` is heap, the caller frees.  Returns how many, at most `max`. */
struct aw_fuzz_seed {
    char *bytes;
    size_t len;
};
unsigned aw_fuzz_seeds(struct aw_fuzz_seed *ret_seeds, unsigned max);

#endif
