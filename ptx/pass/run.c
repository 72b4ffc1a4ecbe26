/* Running LLVM's passes, and where the time goes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "pass/pass.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <string.h>
#include <time.h>

/* ---- Where the time goes */
static _Thread_local struct {
    double ms[AW_PHASE_COUNT], since;
    enum aw_phase now;
} phases;

double ptx_thread_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

enum aw_phase ptx_phase(enum aw_phase phase)
{
    enum aw_phase before = phases.now;
    double now = ptx_thread_ms();
    phases.ms[before] += now - phases.since;
    phases.since = now;
    phases.now = phase;
    return before;
}

void ptx_phases_begin(void)
{
    memset(&phases, 0, sizeof phases);
    phases.since = ptx_thread_ms();
    phases.now = AW_PHASE_OTHER;
}

void aw_compiler_times(double ret_ms[AW_PHASE_COUNT])
{
    memcpy(ret_ms, phases.ms, sizeof phases.ms);
}

const char *aw_phase_name(enum aw_phase phase)
{
    static const char *const names[] = {
        [AW_PHASE_LIFT] = "lift",           [AW_PHASE_LOWER] = "lower",         [AW_PHASE_OPTIMISE] = "optimise",
        [AW_PHASE_STRUCTURE] = "structure", [AW_PHASE_VECTORISE] = "vectorise", [AW_PHASE_CLEAN_UP] = "clean-up",
        [AW_PHASE_CODE] = "code",           [AW_PHASE_LINK] = "link",           [AW_PHASE_OTHER] = "other",
    };
    return (unsigned)phase < AW_PHASE_COUNT ? names[phase] : "?";
}

int ptx_passes_run(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *passes, struct aw_buf *diags)
{
    LLVMErrorRef error = ptx_llvm_passes(module, machine, passes);
    if (!error)
        return AW_OK;
    char *message = LLVMGetErrorMessage(error);
    aw_buf_printf(diags, "<ir>:0:0: error: passes '%s': %s\n", passes, message);
    LLVMDisposeErrorMessage(message);
    return AW_ERR_NOT_SUPPORTED;
}

int ptx_verify(LLVMModuleRef m, const char *phase, const char *kernel, struct aw_buf *diags)
{
    char *message = NULL;
    bool bad = LLVMVerifyModule(m, LLVMReturnStatusAction, &message);
    if (bad)
        aw_buf_printf(diags, "%s: error: internal: malformed IR after %s: %s\n", kernel, phase, message);
    LLVMDisposeMessage(message);
    return bad ? AW_ERR_NOT_SUPPORTED : AW_OK;
}
