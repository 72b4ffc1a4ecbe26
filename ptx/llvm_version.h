/* What differs between the versions of LLVM that the compiler can be built with, 19 to 22: the one place that asks which it is.
 *
 * The rest of ptx/ is written for LLVM 22.  Functions of its C interface that an older one lacks are declared here under their
 * own names and defined in llvm_older.cpp; where the IR itself is another, calls of ours stand for both forms.  Not
 * workarounds for faults of LLVM: these are where the fault is met, and hold for all versions. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_LLVM_VERSION_H
#define AW_PTX_LLVM_VERSION_H

#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/TargetMachine.h>
#include <llvm/Config/llvm-config.h>
#include <stdbool.h>

#if LLVM_VERSION_MAJOR < 19 || LLVM_VERSION_MAJOR > 22
#error "anywarp is for LLVM 19 to 22"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if LLVM_VERSION_MAJOR < 20
unsigned LLVMGetSyncScopeID(LLVMContextRef context, const char *name, size_t len);
unsigned LLVMGetAtomicSyncScopeID(LLVMValueRef instruction);
void LLVMSetAtomicSyncScopeID(LLVMValueRef instruction, unsigned scope);
LLVMValueRef LLVMBuildFenceSyncScope(LLVMBuilderRef b, LLVMAtomicOrdering ordering, unsigned scope, const char *name);
LLVMValueRef LLVMBuildAtomicRMWSyncScope(LLVMBuilderRef b, LLVMAtomicRMWBinOp op, LLVMValueRef ptr, LLVMValueRef value,
                                         LLVMAtomicOrdering ordering, unsigned scope);
LLVMValueRef LLVMBuildAtomicCmpXchgSyncScope(LLVMBuilderRef b, LLVMValueRef ptr, LLVMValueRef expected, LLVMValueRef value,
                                             LLVMAtomicOrdering success, LLVMAtomicOrdering failure, unsigned scope);
LLVMContextRef LLVMGetBuilderContext(LLVMBuilderRef b);
#endif

/* ---- llvm.masked.load, .store, .gather and .scatter.  Operands are numbered as LLVM 22 has them: (pointers, mask, what lanes
 * that are off hold) of loads, (value, pointers, mask) of stores.  Before, the alignment was an operand behind the pointers. */

enum { PTX_MASKED_OPERANDS = 3 };

/* Builds a call of intrinsic `id` (LLVM's number) for these two overloaded types; `align` in bytes, of each element for gathers
 * and scatters.  `module` is where the builder stands. */
LLVMValueRef ptx_llvm_masked_build(LLVMBuilderRef b, LLVMModuleRef module, unsigned id, LLVMTypeRef types[2],
                                   LLVMValueRef args[PTX_MASKED_OPERANDS], unsigned align);
/* Which operand of such a call LLVM has operand `i` at; `store`: it is one of the two that write. */
unsigned ptx_llvm_masked_at(unsigned i, bool store);
LLVMValueRef ptx_llvm_masked_operand(LLVMValueRef access, unsigned i, bool store); /* of one, the same way */
/* In bytes; 1 where nothing is said. */
unsigned ptx_llvm_masked_align(LLVMValueRef call, bool store);

/* ---- The larger (`max`) or smaller of two, the number where one is a NaN, -0 below +0; `module` is where the builder stands.
 * With LLVM 22 llvm.maximumnum or llvm.minimumnum, which 19 does not have. */
LLVMValueRef ptx_llvm_extreme(LLVMBuilderRef b, LLVMModuleRef module, bool max, LLVMValueRef x, LLVMValueRef y);

/* ---- What lanes divide by, before a mask chooses between that and ones.  LLVM 19 folds a division by a choice of two constant
 * vectors, one of which has a zero, as if every lane had the other (mended in 20, llvm-project's pull request 114280), so that
 * zeros become ones there. */
LLVMValueRef ptx_llvm_divisor(LLVMBuilderRef b, LLVMValueRef by);

/* ---- LLVM's passes by the text that `opt -passes` takes, `machine` NULL for none; LLVM 19's scalarizer has no <load-store>
 * there.  The error is the caller's; NULL: all went well. */
LLVMErrorRef ptx_llvm_passes(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *passes);

/* ---- Does LLVM know this processor?  It would take another, with a line on standard error.  The target is registered
 * (ptx_llvm_init). */
bool ptx_llvm_has_cpu(const char *triple, const char *cpu);

#ifdef __cplusplus
}
#endif

#endif
