/* Small cubins made by hand, for the reader's tests and its fuzz target. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TESTS_SASS_MAKE_CUBIN_H
#define AW_TESTS_SASS_MAKE_CUBIN_H

#include "base/str.h"

struct make_cubin {
    unsigned arch;
    bool old;               /* as CUDA 12 writes it: OSABI, place of the architecture */
    const uint64_t *code;   /* of kernel "k": two words an instruction */
    unsigned n;             /* instructions */
    bool lines;             /* a line table: instruction 0 comes from /src/k.cu:7, those from 1 on from line 9 */
};

/* Appends a cubin with one kernel "k" of two parameters (8 bytes at 0, 4 at 8), 64 bytes of shared memory, 24 registers, a frame
 * of 16 bytes, at most 256 threads, two barriers, constants in bank 2, and in bank 4 the address of variable "v" in
 * .nv.global. */
void make_cubin(struct aw_buf *out, const struct make_cubin *what);

#endif
