/* What every target needs of LLVM: initialisation, running passes, emitting.  Preparation is prepare.c's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "finish/tangle.h"
#include "finish/target.h"

#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* LLVM ends the process after a fatal error; the compiler process exists so that this costs one kernel only. */
static void fatal_error(const char *reason)
{
    aw_tell("anywarp: compiler", LLVM_FATAL, reason);
}

static void init_once(void)
{
    LLVMInstallFatalErrorHandler(fatal_error);
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser(); /* for inline assembly */
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
}

void ptx_llvm_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_once);
}

bool ptx_target_has_cpu(const char *triple, const char *cpu, struct aw_buf *diags)
{
    bool has = ptx_llvm_has_cpu(triple, cpu);
    if (!has)
        aw_buf_printf(diags,
                      "<options>:0:0: error: LLVM %s, which anywarp was built with, has no processor '%s'; newer ones may\n",
                      LLVM_VERSION_STRING, cpu);
    return has;
}

/* Copies so that the bytes can be given away with free(). */
static int result_copy(const char *bytes, size_t size, struct ptx_result *ret, struct aw_buf *diags)
{
    char *copy = malloc(size + 1);
    if (!copy) {
        aw_buf_printf(diags, "<ir>:0:0: error: out of memory\n");
        return AW_ERR_OUT_OF_MEMORY;
    }
    memcpy(copy, bytes, size);
    copy[size] = 0;
    ret->bytes = copy;
    ret->size = size;
    return AW_OK;
}

int ptx_emit_ir(LLVMModuleRef module, struct ptx_result *ret, struct aw_buf *diags)
{
    char *text = ptx_module_text(module);
    if (!text) {
        aw_buf_printf(diags, "<ir>:0:0: error: out of memory\n");
        return AW_ERR_OUT_OF_MEMORY;
    }
    ret->bytes = text;
    ret->size = strlen(text);
    return AW_OK;
}

int ptx_emit_machine(LLVMModuleRef module, LLVMTargetMachineRef machine, LLVMCodeGenFileType type, struct ptx_result *ret,
                     struct aw_buf *diags)
{
    char *message = NULL;
    LLVMMemoryBufferRef buffer = NULL;
    size_t before = diags->len;
    ptx_phase(AW_PHASE_CODE);
    ptx_mask_moves();
    ptx_amdgpu_backend();
    if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, type, &message, &buffer)) {
        aw_buf_printf(diags, "<ir>:0:0: error: code generation: %s\n", message ? message : "unknown");
        LLVMDisposeMessage(message);
        return AW_ERR_NOT_SUPPORTED;
    }
    int status = diags->len != before && strstr(diags->ptr + before, " error: ")
                     ? AW_ERR_NOT_SUPPORTED /* LLVM told its diagnostic handler and went on */
                     : result_copy(LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer), ret, diags);
    LLVMDisposeMemoryBuffer(buffer);
    return status;
}

/* ---- Passes of both finishers */

int ptx_run_tangles(struct ptx_pipeline *pipe)
{
    /* On cards those with a loop of several entries, too: LLVM 22's fix-irreducible loses values where such loops nest
     * (ptx/simt/rewrite/irreducible.c), and kernels then never end. */
    return ptx_tangle_find(*pipe->module, pipe->on & PTX_PASS_AMD, &pipe->tangled, pipe->diags);
}

int ptx_run_polls(struct ptx_pipeline *pipe)
{
    return ptx_target_polls(*pipe->module, pipe->diags);
}

int ptx_run_pairs(struct ptx_pipeline *pipe)
{
    return pipe->lifted || ptx_pass_forced(pipe, PTX_PASS_PAIRS) ? ptx_target_pairs(*pipe->module, pipe->diags) : AW_OK;
}

int ptx_run_int_quotients(struct ptx_pipeline *pipe)
{
    return pipe->lifted || ptx_pass_forced(pipe, PTX_PASS_INT_QUOTIENTS) ? ptx_target_int_quotients(*pipe->module, pipe->diags)
                                                                          : AW_OK;
}

int ptx_run_scaled(struct ptx_pipeline *pipe)
{
    return pipe->lifted || ptx_pass_forced(pipe, PTX_PASS_SCALED) ? ptx_target_scaled(*pipe->module, pipe->diags) : AW_OK;
}

/* Blocks of a tangled function's part on cards: the AMDGPU backend's passes over a loop take time with the square of its
 * blocks. */
enum { CARD_PART_BLOCKS = 100 };

int ptx_run_dispatch(struct ptx_pipeline *pipe)
{
    int size = pipe->on & PTX_PASS_AMD ? CARD_PART_BLOCKS : 0;
    return pipe->tangled ? ptx_tangle_take_apart(*pipe->module, size, pipe->diags) : AW_OK;
}
