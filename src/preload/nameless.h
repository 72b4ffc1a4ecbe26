/* Functions of a CUDA runtime that is linked into an object without a symbol table.
 *
 * A runtime tells profilers the name of each function that is called, so the function's own code takes the address of its
 * name; and the unwind table, which is kept where symbols are stripped, says where functions begin and end.  What nvcc's host
 * code calls (__cudaRegisterFatBinary and its like) is told to no profiler: these functions follow each other in one object
 * file, in an order and of sizes that are known.  The runtimes of CUDA 11.8, 12.4,
 * 12.9, 13.0 and 13.5 were looked at; others are taken where they are alike, and left alone where not. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PRELOAD_NAMELESS_H
#define AW_PRELOAD_NAMELESS_H

#include "preload/object.h"

/* A function that was found.  `name` lives as long as the view of the file. */
typedef void aw_nameless_found(void *arg, const char *name, uint64_t address, uint64_t size);

/* Calls `found` for each function, and returns true; or false, without a call, when there is no such runtime, or when one of its
 * names or places could be several functions.  One thread at a time. */
bool aw_nameless_find(const struct aw_elf *elf, aw_nameless_found *found, void *arg);

#endif
