/* PTX to SIMT IR (docs/architecture.md, "SIMT IR"): one kernel with all it reaches becomes one LLVM module that says what
 * one lane does.  Not the choice of instructions (tab/instr.def) nor anything about machines (finish/). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_LOWER_LOWER_H
#define AW_PTX_LOWER_LOWER_H

#include "lower/features.h"
#include "module/module.h"
#include "llvm_version.h"

/* What the lowering knows about the kernel, beside the module. */
struct ptx_lowered {
    LLVMModuleRef module;        /* in the caller's context; owned by the caller */
    uint32_t static_shared;      /* bytes */
    uint32_t param_size, kernarg_size; /* bytes */
    uint32_t flags;              /* AW_KERNEL_* */
};

/* Lowers `kernel` (a definition with is_entry) for `target`'s triple and data layout.  AW_OK; AW_ERR_INVALID_PTX (errors in a
 * body), AW_ERR_NOT_SUPPORTED (valid PTX that anywarp cannot do, on a line of `diags`), AW_ERR_OUT_OF_MEMORY.  Uses the
 * `user` fields of the tree: one lowering of a module at a time.  What has .loc directives gets a line table; with others than
 * AW_LINES_LOC, functions without them get one of the PTX text's lines.  It changes no code. */
int ptx_lower_kernel(struct ptx_module *module, struct ptx_func *kernel, const struct ptx_lower_target *target,
                     LLVMContextRef context, enum aw_lines which_lines, struct ptx_lowered *ret_lowered, struct aw_buf *diags);

#endif
