/* Metadata of instructions, by the name of its kind: marks of ours, and what LLVM is told of accesses, ranges and branches.
 *
 * Line tables have their own way (line_table.h).  Thread-safe on distinct contexts. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_LOWER_METADATA_H
#define AW_PTX_LOWER_METADATA_H

#include "llvm_version.h"
#include <stdint.h>

/* Of a load: what it reads does not change while the kernel runs. */
#define PTX_INVARIANT "invariant.load"
/* ... it is no access of the program's, and may read more than that asks for.  The kind is one that LLVM keeps where it makes one
 * load of two which both have it; code does not depend on it on the host. */
#define PTX_OWN_READ "nontemporal"
void ptx_own_read(LLVMValueRef load);

/* A node of a kind, as a value; NULL: the instruction has none. */
LLVMValueRef ptx_metadata(LLVMValueRef x, const char *kind);
/* Gives the instruction a node of `n` parts, in place of what it had of the kind. */
void ptx_metadata_set(LLVMValueRef x, const char *kind, LLVMMetadataRef *parts, unsigned n);
void ptx_mark(LLVMValueRef x, const char *kind); /* likewise, an empty one */

/* The integer that it results in is from `lo` to below `hi`. */
void ptx_range_set(LLVMValueRef x, uint64_t lo, uint64_t hi);
/* A call is told from others by where it returns to: none like it may stand for it. */
void ptx_never_merge(LLVMValueRef call);
/* A branch takes its first way `often` times out of that and `seldom`. */
void ptx_weights_set(LLVMValueRef branch, uint32_t often, uint32_t seldom);
/* ... this often to once, where its other way is taken all but never, and need not be fast, but small. */
enum { PTX_ALL_BUT_NEVER = 1 << 30 };
/* The way of a conditional branch that is taken all but never, as its successor; NULL: neither. */
LLVMBasicBlockRef ptx_way_all_but_never(LLVMValueRef branch);

/* Says of access `to` what `from` says of which memory it is (alias.scope, noalias). */
void ptx_metadata_scopes_copy(LLVMValueRef from, LLVMValueRef to);
/* The same and whether that changes: for a part of what `from` accesses. */
void ptx_metadata_access_copy(LLVMValueRef from, LLVMValueRef to);

#endif
