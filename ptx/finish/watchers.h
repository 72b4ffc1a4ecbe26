/* Functions that a wait may be in: watchers.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_FINISH_WATCHERS_H
#define AW_PTX_FINISH_WATCHERS_H

#include "base/str.h"
#include "llvm_version.h"
#include <stdbool.h>

/* Is there an exchange, or an ordered load, to spin on?  Or a barrier that lanes may reach apart? */
bool ptx_wait_possible(LLVMValueRef fn);

/* Inlines small functions that have something to spin on, and small ones that call them.  Recursive ones stay.  AW_OK,
 * AW_ERR_OUT_OF_MEMORY or ptx_passes_run's. */
int ptx_watchers_inline(LLVMModuleRef module, LLVMValueRef kernel, struct aw_buf *diags);

#endif
