/* What mbarrier.c and async.c share: objects that copies complete on. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_LOWER_ASYNC_H
#define AW_PTX_LOWER_ASYNC_H

#include "lower/internal.h"

/* The object that an [address] operand names, as ptr addrspace(3).  `space` NONE: the address is generic. */
LLVMValueRef ptx_mbarrier_address(struct ptx_lower *l, const struct ptx_operand *op, enum ptx_space space);
/* Takes `bytes` (i32) from the tx-count, after everything this lane has written. */
void ptx_mbarrier_complete_tx(struct ptx_lower *l, LLVMValueRef object, LLVMValueRef bytes);
/* Is it a load of an object by which a program waits for a phase to pass? */
bool ptx_mbarrier_is_look(LLVMValueRef load);
/* And is that phase the one of a token? */
bool ptx_mbarrier_is_token_look(LLVMValueRef load);

#endif
