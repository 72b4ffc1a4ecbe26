/* Random structured programs with warp operations, as SIMT IR and as an interpreter that runs a warp in step. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TEST_SIMT_LOCKSTEP_H
#define AW_TEST_SIMT_LOCKSTEP_H

#include "base/str.h"

enum { LOCKSTEP_VARS = 5 };

struct lockstep; /* a program */
struct lockstep *lockstep_create(uint64_t seed);
void lockstep_destroy(struct lockstep *p);
/* Kernel "k": argument 0 is int in[threads], argument 1 int out[LOCKSTEP_VARS * threads]; one-dimensional blocks.  It is as
 * lifted code is: an operation of all lanes of a warp has those that run it, and waits for no others. */
void lockstep_print(const struct lockstep *p, struct aw_buf *ret);
/* Runs one warp of `lanes` threads whose first has index `thread` in its block and `global` in the grid. */
void lockstep_run(const struct lockstep *p, uint32_t thread, uint32_t global, uint32_t lanes, const int32_t *in, int32_t *out);

#endif
