/* Targets: what turns SIMT IR (docs/architecture.md, "SIMT IR") into bytes for one kind of machine.
 *
 * A target is one static table; the driver (compiler.c) picks it by name, lowers for what it says of itself (lower/features.h),
 * and calls its finisher.  Not the lowering, which is the same for every target.  Thread-safe: all state is in the arguments. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_FINISH_TARGET_H
#define AW_PTX_FINISH_TARGET_H

#include "base/status.h"
#include "lower/features.h"
#include "pass/pass.h"
#include <anywarp/compiler.h>
#include "llvm_version.h"
#include <llvm-c/TargetMachine.h>

/* One compilation as the finisher sees it. */
struct ptx_finish {
    const struct aw_compile_options *options; /* target names this table's machine */
    enum aw_emit emit;                        /* IR_OPT, ASM, OBJ or CODE_OBJECT; IR never reaches a finisher */
    const char *kernel;                       /* its one kernel */
    uint32_t static_shared;                   /* bytes */
    uint32_t param_size, kernarg_size;        /* bytes; kernarg with the two hidden ones */
    const struct ptx_pass_wishes *wishes;     /* NULL = none */
    bool lifted;                              /* some of the module was machine code */
    uint32_t manifest_flags;                  /* AW_KERNEL_DYNAMIC_SHARED, AW_KERNEL_BARRIER */
};

/* What a finisher makes.  bytes: heap, NUL-terminated one past size, taken by the caller. */
struct ptx_result {
    char *bytes;
    size_t size;
    struct aw_kernel_info info;
};

struct ptx_target {
    struct ptx_lower_target lower;          /* what lowering asks of it, but for features, which `match` tells */
    /* Is the string (never NULL) one of this target's, CPU and features known?  *ret_features: enum ptx_target_feature. */
    bool (*match)(const char *target, uint32_t *ret_features);
    /* Consumes nothing: `module` stays the caller's, changed beyond use.  Its context has a diagnostic handler that writes to
     * `diags` (lines as aw_compiler_compile's).  AW_OK, AW_ERR_NOT_SUPPORTED, AW_ERR_INVALID_VALUE (options) or
     * AW_ERR_OUT_OF_MEMORY, each but the first with a line in `diags`; *ret then untouched. */
    int (*finish)(LLVMModuleRef module, const struct ptx_finish *finish, struct ptx_result *ret, struct aw_buf *diags);
};

/* ---- Shared by the finishers (target.c) */

/* Registers the LLVM targets we build for, once per process, and the fatal error handler. */
void ptx_llvm_init(void);

/* Whether the LLVM that is linked has this processor; false, with a line that names both, when not: older ones lack newer cards,
 * and would make code for another. */
bool ptx_target_has_cpu(const char *triple, const char *cpu, struct aw_buf *diags);

/* Runs first on every module, whatever the target: registers become values, calls of aw.exit disappear (functions that
 * may end the lane are inlined into the kernel, whose call of it becomes a return), addresses of known objects become
 * getelementptr, unreachable functions go.  AW_ERR_NOT_SUPPORTED when exit is reached through recursion. */
int ptx_target_prepare(LLVMModuleRef module, struct aw_buf *diags);
/* Values that one block makes and another uses go through memory, so that edges can be moved without touching a phi. */
int ptx_registers_to_memory(LLVMModuleRef module, struct aw_buf *diags);
/* A part of it: accesses to sums of known objects' addresses become accesses to these objects. */
void ptx_target_addresses(LLVMModuleRef module);
/* Phis of 64 bits for those of two halves (halves.c); nothing where no number is joined of two.  AW_OK or
 * AW_ERR_OUT_OF_MEMORY. */
int ptx_target_pairs(LLVMModuleRef module, struct aw_buf *diags);
/* Quotients and remainders of integers that machine code makes in steps (int_quotients.c); likewise. */
int ptx_target_int_quotients(LLVMModuleRef module, struct aw_buf *diags);
/* Approximations that machine code scales as they would flush subnormals (scaled.c); likewise. */
int ptx_target_scaled(LLVMModuleRef module, struct aw_buf *diags);
/* Only what it does about aw.exit; nothing where no function calls it. */
int ptx_target_exits(LLVMModuleRef module, struct aw_buf *diags);
/* Makes plain loads volatile that loops poll which wait for other threads, before anything moves them; see polls.c.  Registers
 * become values where there may be some.  AW_ERR_OUT_OF_MEMORY. */
int ptx_target_polls(LLVMModuleRef module, struct aw_buf *diags);

/* Inlines every function that calls one of `callees` (NULL: none), and their callers, up to the kernel; recursive ones stay.
 * AW_OK, AW_ERR_OUT_OF_MEMORY or ptx_passes_run's. */
int ptx_target_inline_callers(LLVMModuleRef module, LLVMValueRef *callees, size_t n, struct aw_buf *diags);

/* Textual IR, assembly or object bytes of `module` through `machine`. */
int ptx_emit_ir(LLVMModuleRef module, struct ptx_result *ret, struct aw_buf *diags);
int ptx_emit_machine(LLVMModuleRef module, LLVMTargetMachineRef machine, LLVMCodeGenFileType type, struct ptx_result *ret,
                     struct aw_buf *diags);

/* From the first call on, machine code for x86 keeps the upper lanes of widened masks off (mask_moves.cpp).  Thread-safe. */
void ptx_mask_moves(void);
/* Likewise, machine code for AMD's cards goes around errors of LLVM's backend (amdgpu_backend.cpp).  Thread-safe. */
void ptx_amdgpu_backend(void);

struct ptx_bytes {
    const char *bytes;
    size_t size;
};

/* Links 1 or 2 relocatable ELF objects to a shared object with lld in this process (link.cpp).  `machine` is lld's -m name:
 * "elf64_amdgpu" or "elf_x86_64".  Thread-safe (serialised).  AW_OK, AW_ERR_NOT_SUPPORTED with lld's messages, or AW_ERR_OS. */
int ptx_link_shared(const char *machine, const struct ptx_bytes *objects, unsigned n, struct ptx_result *ret,
                    struct aw_buf *diags);
/* Options of LLVM (each as on a command line, NULL at the end; kept) that hold again after each link from now on: lld resets all
 * there are.  Thread-safe. */
void ptx_link_keep_options(const char *const *options);

/* `module` as text that read again gives the same code: with the order of each value's uses, which LLVM's own printing to C
 * leaves out.  Heap. */
char *ptx_module_text(LLVMModuleRef module);

#endif
