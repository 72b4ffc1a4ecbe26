/* Random SIMT IR: kernels with nested and irreducible control flow, for comparison with a scalar run. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TEST_SIMT_GEN_H
#define AW_TEST_SIMT_GEN_H

#include "base/str.h"

/* The argument buffer of generated kernels. */
struct gen_args {
    const int32_t *in;  /* 1024 values */
    int32_t *out;       /* 8 per thread */
    int32_t n;          /* threads that take part */
    int32_t knob;       /* any value, the same for all */
    char pad[56];
};

/* A kernel "k" from `seed`; the same seed gives the same text.  `irreducible`: any block may go to any other. */
void gen_kernel(uint64_t seed, bool irreducible, struct aw_buf *ret);

#endif
