/* The aw.* functions of SIMT IR by number: declaring them in a module, and recognising them in one.
 *
 * Not their meaning (docs/architecture.md) nor their replacement (the finishers).  Thread-safe on distinct modules. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_LOWER_SIMT_H
#define AW_PTX_LOWER_SIMT_H

#include "llvm_version.h"
#include <stdbool.h>

enum ptx_simt {
#define AW_SIMT(id, name, ret, args, traits) PTX_SIMT_##id,
#include "lower/simt.def"
#undef AW_SIMT
    PTX_SIMT_COUNT,
    PTX_SIMT_NONE = PTX_SIMT_COUNT
};

enum ptx_simt_traits {
    PTX_SIMT_PURE, PTX_SIMT_CONVERGENT, PTX_SIMT_SYNC, PTX_SIMT_TIME, PTX_SIMT_MARK, PTX_SIMT_EFFECT, PTX_SIMT_NORETURN
};

enum { PTX_SIMT_ARGS = 12 }; /* no function has as many arguments or results */
struct ptx_simt_info {
    const char *name;             /* "aw.tid.x" */
    const char *ret, *args;       /* type letters, see simt.def */
    enum ptx_simt_traits traits;
};

/* Static; `id` below PTX_SIMT_COUNT. */
const struct ptx_simt_info *ptx_simt_info(enum ptx_simt id);

/* The function in `module`, declared with its attributes at first need. */
LLVMValueRef ptx_simt_declare(LLVMModuleRef module, enum ptx_simt id);

/* Whether calls of operations with a member mask stay where nobody reads what they return: lanes elsewhere may (LLVM removes what
 * surely returns and has no effect).  For all such functions that the module has. */
void ptx_simt_keep(LLVMModuleRef module, bool keep);
/* Has the module two calls of such operations, so that lanes of one may read from, or wait for, lanes at the other?  Whether
 * anybody reads what a call returns is not asked: only LLVM's later passes could tell. */
bool ptx_simt_may_pair(LLVMModuleRef module);

/* Which one a function is (by name), or PTX_SIMT_NONE; also for NULL and for values that are no function. */
enum ptx_simt ptx_simt_of(LLVMValueRef function);

/* Attribute of calls of aw.barrier and aw.barrier.reduce at which the lanes of a warp need not be together: each waits for the
 * others of its warp, which may come to another barrier of the same number. */
#define PTX_UNALIGNED "aw-unaligned"

/* Attribute of calls that are a part of one operation of the whole warp: lanes do not come to another one instead. */
#define PTX_TOGETHER "aw-together"

/* Attribute of kernels that are lifted machine code: there an operation with a member mask takes the lanes that run it, and of
 * calls in them that wait for the lanes of the mask wherever those are, as in other kernels all do. */
#define PTX_LIFTED "aw-lifted"
#define PTX_MEMBERS "aw-members"

/* Which one an instruction calls, or PTX_SIMT_NONE when it is no such call. */
enum ptx_simt ptx_simt_called(LLVMValueRef instruction);

/* The variables of shared memory that SIMT IR has: what a kernel declares, and what a launch adds behind it. */
#define PTX_SHARED "aw.shared"
#define PTX_SHARED_DYNAMIC "aw.shared.dynamic"
#define PTX_SHARED_NAMES "aw.shared.names" /* the module's metadata: of each "OFFSET BYTES NAME"; 0 bytes: dynamic */

/* Builds a call; `args` must match.  The call carries the callee's attributes. */
LLVMValueRef ptx_simt_call(LLVMBuilderRef builder, LLVMModuleRef module, enum ptx_simt id, LLVMValueRef *args);

#endif
