/* The passes: which there are (pass.def), and the runner of both finishers.
 *
 * A finisher fills a struct ptx_pipeline and calls ptx_pipeline_run.  An OWN pass is a function ptx_run_NAME, declared here of
 * the table, in a file of the finishers' or of the vectoriser's.  What a person asks of passes (print, stop, leave out, force) is
 * one struct ptx_pass_wishes.  Knows nothing of machines and of what passes do.  Thread-safe: all state is in the arguments. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_PASS_PASS_H
#define AW_PTX_PASS_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"
#include <anywarp/compiler.h>
#include "llvm_version.h"
#include <llvm-c/TargetMachine.h>

#define AW_PASS(ID, ...) PTX_PASS_##ID,
enum ptx_pass {
#include "pass/pass.def"
    PTX_PASS_COUNT
};
#undef AW_PASS

enum ptx_pass_stage { PTX_PASS_LANE, PTX_PASS_STRUCTURE, PTX_PASS_VECTOR, PTX_PASS_MACHINE };

/* Where a pass runs: its finisher, or a form of it, and what the machine must have or not have. */
enum ptx_pass_on {
    PTX_PASS_HOST = 1, PTX_PASS_AMD = 2,
    PTX_PASS_AVX2 = 4, PTX_PASS_AVX512 = 8, PTX_PASS_BMI2 = 16, PTX_PASS_GATHERS = 32,
    PTX_PASS_NO_AVX2 = 64, PTX_PASS_NO_AVX512 = 128,
    PTX_PASS_QUICK = 256, /* the host's, for code that is to be made quickly, in place of HOST */
};

enum ptx_pass_how { PTX_PASS_LLVM, PTX_PASS_OWN, PTX_PASS_INNER };
enum ptx_pass_may { PTX_PASS_NEEDED, PTX_PASS_DISABLE, PTX_PASS_FORCE };

struct ptx_pass_info {
    const char *name;
    enum ptx_pass_stage stage;
    uint32_t on;          /* enum ptx_pass_on */
    enum ptx_pass_how how;
    const char *pipeline; /* LLVM's, or NULL */
    enum ptx_pass_may may;
    const char *needs, *changes, *what, *test; /* "" = nothing */
};

/* Static; `pass` below PTX_PASS_COUNT. */
const struct ptx_pass_info *ptx_pass_info(enum ptx_pass pass);

/* Numbers that were measured (threshold.def). */
enum ptx_threshold {
#define AW_THRESHOLD(ID, ...) PTX_THRESHOLD_##ID,
#include "pass/threshold.def"
#undef AW_THRESHOLD
    PTX_THRESHOLD_COUNT
};

struct ptx_threshold_info {
    const char *name;
    int value;
    enum ptx_pass pass;
    const char *candidates, *rows, *what;
};

/* Static; `id` below PTX_THRESHOLD_COUNT. */
const struct ptx_threshold_info *ptx_threshold_info(enum ptx_threshold id);

/* What is asked of passes.  All zero: nothing. */
struct ptx_pass_wishes {
    int set[PTX_THRESHOLD_COUNT];     /* thresholds; 0 = as the table says */
    bool print[PTX_PASS_COUNT], disabled[PTX_PASS_COUNT], forced[PTX_PASS_COUNT];
    int stop;             /* 1 + enum ptx_pass; 0 = none */
    bool verify, times;   /* check the IR after each; tell each one's processor time */
};

/* Reads words separated by blanks: "print-after=NAME|all", "stop-after=NAME", "disable=NAME[,NAME]", "force=NAME",
 * "set=THRESHOLD=VALUE", "verify-each", "times".  AW_OK; AW_ERR_INVALID_VALUE with a line in `diags`: a name that is not known,
 * or of a pass that cannot be left out, forced or stopped after; a value that is no number from 1 on. */
int ptx_pass_wishes_parse(const char *text, struct ptx_pass_wishes *ret, struct aw_buf *diags);

struct ptx_pipeline {
    uint32_t on;                           /* enum ptx_pass_on of this machine */
    const struct ptx_pass_wishes *wishes;  /* NULL = none */
    void *finisher;                        /* the compilation, for passes that are written in the finisher's own file */
    LLVMModuleRef *module;                 /* what passes change; may become another one */
    LLVMTargetMachineRef *machine;         /* for LLVM's of stage MACHINE */
    const char *kernel;
    struct aw_buf *diags;
    bool lifted;                           /* some of the module was machine code */
    bool tangled;                          /* set by `tangles`: there are functions that are loops over their blocks
                                            * (finish/tangle.h) */
    bool stopped;                          /* after the pass that was asked for */
};

/* The OWN passes, wherever they are written: AW_OK, or an error with a line in `diags`. */
#define AW_PASS(ID, name, stage, on, how, ...) AW_DECLARE_##how(name)
#define AW_DECLARE_OWN(name) int ptx_run_##name(struct ptx_pipeline *pipe);
#define AW_DECLARE_INNER(name)
#define AW_DECLARE_NOTHING(name)
#define AW_DECLARE_LLVM(pipeline) AW_DECLARE_NOTHING
#include "pass/pass.def"
#undef AW_PASS

/* Runs all passes of this machine, in order.  AW_OK; a body's error; AW_ERR_NOT_SUPPORTED with a line (LLVM's message, or
 * malformed IR and after which pass that was found).  What is printed goes to `diags`, each module after a line "; NAME". */
int ptx_pipeline_run(struct ptx_pipeline *p);

/* Is the pass to be done?  For INNER ones and what the bodies leave open; `p` may be NULL: yes. */
bool ptx_pass_enabled(const struct ptx_pipeline *p, enum ptx_pass pass);
bool ptx_pass_forced(const struct ptx_pipeline *p, enum ptx_pass pass);
/* A threshold, as the table or a wish says.  `p` may be NULL: as the table says. */
int ptx_threshold(const struct ptx_pipeline *p, enum ptx_threshold id);
/* An INNER pass has changed `module`: prints it, if that is asked for.  `p` may be NULL. */
void ptx_pass_done(const struct ptx_pipeline *p, enum ptx_pass pass, LLVMModuleRef module);

/* ---- run.c */

/* From here on this thread's processor time counts for `phase`; returns the phase that it counted for. */
enum aw_phase ptx_phase(enum aw_phase phase);
/* Forgets all times, as a compilation begins. */
void ptx_phases_begin(void);

/* Processor time of this thread, in ms. */
double ptx_thread_ms(void);
/* Is the IR well formed, after what `phase` names?  AW_OK, or AW_ERR_NOT_SUPPORTED with a line. */
int ptx_verify(LLVMModuleRef m, const char *phase, const char *kernel, struct aw_buf *diags);

/* Runs an LLVM pass pipeline, e.g. "sroa,instcombine<no-verify-fixpoint>".  `machine` may be NULL.  AW_OK, or
 * AW_ERR_NOT_SUPPORTED with LLVM's message in `diags`. */
int ptx_passes_run(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *passes, struct aw_buf *diags);

/* The list of passes, a line each: name, stage, where, what; and of thresholds: name, value, candidates, rows, what, tabs in
 * between. */
void ptx_pass_list(struct aw_buf *out);
void ptx_threshold_list(struct aw_buf *out);

#endif
