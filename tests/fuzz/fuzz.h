/* What a fuzz target offers to driver.c; the first is libFuzzer's own interface. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TESTS_FUZZ_H
#define AW_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Sound inputs to start from; `bytes` is heap, the caller frees.  Returns how many, at most `max`. */
struct aw_fuzz_seed {
    char *bytes;
    size_t len;
};
unsigned aw_fuzz_seeds(struct aw_fuzz_seed *ret_seeds, unsigned max);

#endif
