/* What a backend of LLVM's gets wrong where several ways join: joins.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_FINISH_JOINS_H
#define AW_PTX_FINISH_JOINS_H

#include "llvm_version.h"

/* Moves instructions that cost nothing from blocks that go to a join of more than two ways to where their operand is made.
 * Before StructurizeCFG runs. */
void ptx_joins_settle(LLVMModuleRef module);

#endif
