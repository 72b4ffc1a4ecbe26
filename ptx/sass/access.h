/* Addresses and order of accesses to memory, for those who emit such accesses (emit_memory.c, emit_atomic.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_SASS_ACCESS_H
#define AW_PTX_SASS_ACCESS_H

#include "sass/lift.h"

/* Where an operation's memory is. */
enum sass_space_in { SASS_IN_GENERIC, SASS_IN_GLOBAL, SASS_IN_SHARED, SASS_IN_LOCAL };
enum sass_space_in sass_space_of(unsigned op);

/* [base + register + immediate] of 64 bits; *ret_offset is what stays for the access to add. */
struct sass_text sass_address64(struct sass_lift *l, const struct sass_operand *m, int64_t *ret_offset);
/* What stands in an access's brackets, and the name of its state space with the dot, or "". */
struct sass_text sass_access_address(struct sass_lift *l, const struct sass_insn *i, enum sass_space_in space,
                                     const char **ret_space);
struct sass_text sass_plus(const char *base, int64_t offset); /* "base+offset" */
/* ".relaxed.gpu" and so on, of enum sass_order; "" where the access is weak. */
const char *sass_scope_name(unsigned order);
/* A predicate: whether a generic address, in the machine code's sense, is in global memory, that is, in no window. */
struct sass_text sass_is_global(struct sass_lift *l, const char *address);
/* An arrival at an mbarrier object, before sm_90 (emit_mbarrier.c). */
void sass_mbarrier_arrive(struct sass_lift *l, const struct sass_insn *i);

#endif
