/* LLVM's intrinsics by number: recognising those of intrinsic.def, whatever types they are named by.
 *
 * Not building calls of them, nor our own functions (lower/simt.h).  Thread-safe. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_LOWER_INTRINSIC_H
#define AW_PTX_LOWER_INTRINSIC_H

#include "llvm_version.h"
#include <stdbool.h>

enum ptx_intrinsic {
#define AW_INTRINSIC(id, name, types, traits) PTX_INTRINSIC_##id,
#include "lower/intrinsic.def"
#undef AW_INTRINSIC
    PTX_INTRINSIC_COUNT,
    PTX_INTRINSIC_NONE = PTX_INTRINSIC_COUNT
};

enum ptx_intrinsic_traits {
    PTX_INTRINSIC_HINT = 1, PTX_INTRINSIC_IMMEDIATE = 2, PTX_INTRINSIC_LIFETIME = 4, PTX_INTRINSIC_MASKED = 8,
    PTX_INTRINSIC_WRITES = 16,
    PTX_INTRINSIC_STAYS = 32, PTX_INTRINSIC_INT_MINMAX = 64, PTX_INTRINSIC_ANY_NAN = 128
};

struct ptx_intrinsic_info {
    const char *name;  /* "llvm.abs" */
    const char *types; /* see intrinsic.def; NULL = the vectoriser makes none of vectors */
    unsigned traits;   /* enum ptx_intrinsic_traits */
};

/* Static; `id` below PTX_INTRINSIC_COUNT. */
const struct ptx_intrinsic_info *ptx_intrinsic_info(enum ptx_intrinsic id);

/* LLVM's own number, of the LLVM that is linked; 0 = it has none of that name. */
unsigned ptx_intrinsic_llvm_id(enum ptx_intrinsic id);

/* Which one an instruction calls; PTX_INTRINSIC_NONE where it calls none of the table, and for NULL and what is no call. */
enum ptx_intrinsic ptx_intrinsic_called(LLVMValueRef instruction);

/* Does it call one that has any of these traits? */
bool ptx_intrinsic_has(LLVMValueRef instruction, unsigned traits);

#endif
