/* What a backend of LLVM's gets wrong where several ways join: joins.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_FINISH_JOINS_H
#define AW_PTX_FINISH_JOINS_H

#include "llvm_version.h"

#include <stdbool.h>

/* Instructions that cost nothing leave blocks that go to a join, for where their operand is made, or are frozen there; before
 * StructurizeCFG runs.  In a function: was there any? */
void ptx_joins_settle(LLVMModuleRef module);
bool ptx_joins_settle_in(LLVMValueRef fn);

#endif
