/* From an instruction to its source line; for messages only: it is slow. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_LINES_H
#define SIM_LINES_H

#include "../sim.h"

/* "FILE:LINE" of the instruction at `pc` of the dispatch's kernel.  False: its object has no line table, or cannot be found. */
bool sim_lines_find(const struct sim_dispatch *dispatch, uint64_t pc, char *ret_text, size_t size);

/* Where the code object's image begins that `address` lies in (core/name.c). */
bool sim_image_base(uint32_t node, uint64_t address, uint64_t *ret_base);

#endif
