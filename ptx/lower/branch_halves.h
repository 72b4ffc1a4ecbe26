/* A branch that some threads take, in two halves between which all threads of the block meet.
 *
 *   if (c) { A; x; B }      becomes      if (c) A;  they meet;  if (it was c) { x; B }
 *
 * What A read is then read by all before any of them comes to x.  Thread-safe on distinct modules. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_LOWER_BRANCH_HALVES_H
#define AW_PTX_LOWER_BRANCH_HALVES_H

#include "llvm_version.h"
#include "lower/simt.h"
#include <stdbool.h>

enum { PTX_MAX_GUARDS = 12 }; /* of one branch */

/* A condition on the way to a block, and whether it holds there. */
struct ptx_way_guard {
    LLVMValueRef condition;
    bool holds;
    LLVMBasicBlockRef at; /* the block that ends with it */
};

/* Guards of a block that is entered by one way alone, from the innermost outwards, up to the function's entry; how many, or -1
 * where there is another way, or more than PTX_MAX_GUARDS. */
int ptx_way_guards(LLVMBasicBlockRef bb, struct ptx_way_guard *ret);

/* Can the branch behind the `n` innermost guards be halved before `x`?  All of them must lead past it to one place.  `n` may be
 * 0: threads meet before `x` then. */
bool ptx_branch_halves(const struct ptx_way_guard *guards, int n, LLVMValueRef x);

/* Halves it; false, and nothing is changed, where it cannot be.  `how` is PTX_SIMT_BARRIER, or PTX_SIMT_MEET, which later steps
 * leave out where warps cannot meet for little. */
bool ptx_branch_halve(const struct ptx_way_guard *guards, int n, LLVMValueRef x, enum ptx_simt how);

#endif
