/* What core/decode.c and core/parse.c share, and the tests look at: the rows of all tables, and the parser of LLVM's text.  Rows
 * themselves need inst.h only. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_DECODE_H
#define SIM_DECODE_H

#include "../inst.h"

/* The row of that name for that card, NULL when there is none.  Thread-safe. */
const struct sim_op *sim_op_find(const char *name, size_t length, const struct sim_card *card);
/* The row's name of what gfx11 and later call otherwise (core/rename.c); false when there is no such. */
bool sim_rename(const char *name, size_t length, char *ret_name, size_t size);
/* The n-th row of all tables, NULL past the end. */
const struct sim_op *sim_op_at(size_t n);
/* What is wrong with the tables (two rows for one instruction, a signature that is none), NULL when nothing. */
const char *sim_op_problem(void);

/* Undoes what sim_parse took. */
void sim_parse_free(struct sim_inst *i);
/* Reads LLVM's text of one instruction into `i`, whose pc, size, bytes and wave are set and all else is zero.  False when a part
 * of it is unknown or does not fit the row: `ret_why` says what then. */
bool sim_parse(struct sim_inst *i, const char *text, const struct sim_card *card, char *ret_why, size_t size);

/* 64 times the low word of `bits`, then 64 times the high word; kept for good.  NULL when memory is short.  Thread-safe. */
const uint32_t *sim_splat(uint64_t bits);

/* The number of the present epoch (see sim_decode_epoch). */
uint32_t sim_decode_now(void);

#endif
