/* The vectoriser's private intrinsics by number (private.def): building and recognising calls of them.  Thread-safe on distinct
 * modules. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_SIMT_PRIVATE_H
#define AW_PTX_SIMT_PRIVATE_H

#include "llvm_version.h"
#include <stdbool.h>

enum simt_private {
    SIMT_PRIVATE_NONE, /* 0: so that it is false */
#define AW_PRIVATE(id, name, result, appended, traits) SIMT_PRIVATE_##id,
#include "simt/private.def"
#undef AW_PRIVATE
    SIMT_PRIVATE_COUNT
};

enum simt_private_traits {
    SIMT_PRIVATE_UNIFORM = 1, SIMT_PRIVATE_ADDRESS = 2, SIMT_PRIVATE_VOTE = 4, SIMT_PRIVATE_MEETING = 8,
        SIMT_PRIVATE_ONE_LANE = 16
};

/* Which one a function is, or an instruction calls; NONE for what is neither, and for NULL. */
enum simt_private simt_private_of(LLVMValueRef function);
enum simt_private simt_private_called(LLVMValueRef instruction);
bool simt_private_has(enum simt_private id, unsigned traits); /* any of them; NONE has none */

/* A call at the builder, of the function that fits the arguments, which is declared at first need.  Not of SINGLE. */
LLVMValueRef simt_private_call(LLVMBuilderRef b, LLVMModuleRef module, enum simt_private id, LLVMValueRef *args, unsigned n);
/* Declares number `n` of a row that has numbers. */
LLVMValueRef simt_private_declare(LLVMModuleRef module, enum simt_private id, int n, LLVMTypeRef type);
/* The function of a row that has one only; NULL: nobody has called it in `module`. */
LLVMValueRef simt_private_find(LLVMModuleRef module, enum simt_private id);

#endif
