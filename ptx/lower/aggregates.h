/* Aggregates in SIMT IR: results of calls and of compare-and-swap, whose fields are asked for one by one. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_LOWER_AGGREGATES_H
#define AW_PTX_LOWER_AGGREGATES_H

#include "llvm_version.h"
#include <stdbool.h>

/* Takes every aggregate of `fn` apart right behind where it is made, and phis of them, which LLVM makes where two ways
 * extract the same field, into phis of the fields: no aggregate is used in another block.  Moves the builder.  False when
 * memory is out. */
bool ptx_aggregates_split(LLVMBuilderRef b, LLVMValueRef fn);

#endif
