/* Instructions for the fuzz target of machine code. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TESTS_FUZZ_SASS_MUTATE_H
#define AW_TESTS_FUZZ_SASS_MUTATE_H

#include "sass/insn.h"

/* Writes a random instruction of architecture `arch` that the table knows, number `index` of a code of `n`, in which its target
 * lies where it has one.  *state: of random numbers. */
void sass_insn_make(uint8_t to[SASS_INSN_SIZE], unsigned arch, uint32_t index, uint32_t n, uint64_t *state);

#endif
