/* ptxas: checks PTX as our compiler does and makes an ELF file that holds it, where NVIDIA's makes machine code. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include <anywarp/fatbin.h>

#include "base/ptxas.h"
#include "module/module.h"
#include "standins.h"

#define TOOL "ptxas"

enum { HELP = 1, VERSION, LIST_VERSION, OUTPUT, ARCH, VERBOSE, DEBUG, OPT_LEVEL, COMPILE_ONLY, STRING, ENTRY, NO_WARNINGS,
       WARNINGS_ARE_ERRORS,
       OPTIONS_FILE };

static const struct standin_option options[] = {
    { "help", "h", STANDIN_FLAG, HELP },
    { "version", "V", STANDIN_FLAG, VERSION },
    { "list-version", "version-ls", STANDIN_FLAG, LIST_VERSION },
    { "output-file", "o", STANDIN_VALUE, OUTPUT },
    { "gpu-name", "arch", STANDIN_VALUE, ARCH },
    { "verbose", "v", STANDIN_FLAG, VERBOSE },
    { "device-debug", "g", STANDIN_FLAG, DEBUG },
    { "opt-level", "O", STANDIN_VALUE, OPT_LEVEL },
    { "compile-only", "c", STANDIN_FLAG, COMPILE_ONLY },
    { "input-as-string", "ias", STANDIN_VALUE, STRING },
    { "entry", "e", STANDIN_VALUE, ENTRY },
    { "disable-warnings", "w", STANDIN_FLAG, NO_WARNINGS },
    { "warning-as-error", "Werror", STANDIN_FLAG, WARNINGS_ARE_ERRORS },
    { "options-file", "optf", STANDIN_VALUE, OPTIONS_FILE },
    { "generate-line-info", "lineinfo", STANDIN_FLAG, 0 },
    { "Ofast-compile", "Ofc", STANDIN_VALUE, 0 },
    { "allow-expensive-optimizations", "allow-expensive-optimizations", STANDIN_BOOL, 0 },
    { "compile-as-tools-patch", "astoolspatch", STANDIN_FLAG, 0 },
    { "compiler-annotations", "annotate", STANDIN_FLAG, 0 },
    { "def-load-cache", "dlcm", STANDIN_VALUE, 0 },
    { "def-store-cache", "dscm", STANDIN_VALUE, 0 },
    { "device-function-maxrregcount", "func-maxrregcount", STANDIN_VALUE, 0 },
    { "device-stack-protector", "device-stack-protector", STANDIN_BOOL, 0 },
    { "disable-optimizer-constants", "disable-optimizer-consts", STANDIN_FLAG, 0 },
    { "dont-merge-basicblocks", "no-bb-merge", STANDIN_FLAG, 0 },
    { "extensible-whole-program", "ewp", STANDIN_FLAG, 0 },
    { "fmad", "fmad", STANDIN_BOOL, 0 },
    { "force-load-cache", "flcm", STANDIN_VALUE, 0 },
    { "force-store-cache", "fscm", STANDIN_VALUE, 0 },
    { "g-tensor-memory-access-check", "g-tmem-access-check", STANDIN_FLAG, 0 },
    { "gno-tensor-memory-access-check", "gno-tmem-access-check", STANDIN_FLAG, 0 },
    { "legacy-bar-warp-wide-behavior", "legacy-bar-warp-wide-behavior", STANDIN_FLAG, 0 },
    { "machine", "m", STANDIN_VALUE, 0 },
    { "make-errors-visible-at-exit", "make-errors-visible-at-exit", STANDIN_FLAG, 0 },
    { "maxntid", "maxntid", STANDIN_VALUE, 0 },
    { "maxrregcount", "maxrregcount", STANDIN_VALUE, 0 },
    { "minnctapersm", "minnctapersm", STANDIN_VALUE, 0 },
    { "optimize-float-atomics", "opt-fp-atomics", STANDIN_FLAG, 0 },
    { "override-directive-values", "override-directive-values", STANDIN_FLAG, 0 },
    { "position-independent-code", "pic", STANDIN_BOOL, 0 },
    { "preserve-relocs", "preserve-relocs", STANDIN_FLAG, 0 },
    { "register-usage-level", "regUsageLevel", STANDIN_VALUE, 0 },
    /* In no list of NVIDIA's, and passed by Triton. */
    { "regAllocOptLevel", "regAllocOptLevel", STANDIN_VALUE, 0 },
    { "return-at-end", "ret-end", STANDIN_FLAG, 0 },
    { "sp-bounds-check", "sp-bounds-check", STANDIN_FLAG, 0 },
    { "split-compile", "split-compile", STANDIN_VALUE, 0 },
    { "suppress-async-bulk-multicast-advisory-warning", "suppress-async-bulk-multicast-advisory-warning", STANDIN_FLAG, 0 },
    { "suppress-debug-info", "suppress-debug-info", STANDIN_FLAG, 0 },
    { "suppress-double-demote-warning", "suppress-double-demote-warning", STANDIN_FLAG, 0 },
    { "suppress-sparse-mma-advisory-info", "suppress-sparse-mma-advisory-info", STANDIN_FLAG, 0 },
    { "suppress-stack-size-warning", "suppress-stack-size-warning", STANDIN_FLAG, 0 },
    { "uumn", "uumn", STANDIN_FLAG, 0 },
    { "warn-on-double-precision-use", "warn-double-usage", STANDIN_FLAG, 0 },
    { "warn-on-local-memory-usage", "warn-lmem-usage", STANDIN_FLAG, 0 },
    { "warn-on-spills", "warn-spills", STANDIN_FLAG, 0 },
    { NULL, NULL, STANDIN_FLAG, 0 },
};

struct job {
    const char *output, *arch, *string, *input;
    unsigned inputs;
    bool verbose, debug, compile_only, quiet, strict;
};

static int usage(void)
{
    standin_help(TOOL, "[options] <ptx file>,...", options);
    return 0;
}

/* 0: go on; 1: done; else the program's status. */
static int job_read(struct job *job, int argc, char **argv)
{
    struct standin_parser p = { .tool = TOOL, .options = options, .argc = argc, .argv = argv, .next = 1 };
    for (int id; (id = standin_next(&p)) != STANDIN_END;)
        switch (id) {
        case STANDIN_BAD: return STANDIN_FAILED;
        case STANDIN_INPUT: job->input = p.value; job->inputs++; break;
        case HELP: usage(); return 1;
        case VERSION: standin_version(TOOL, "assembler"); return 1;
        case LIST_VERSION: puts("9.1"); return 1;
        case OUTPUT: job->output = p.value; break;
        case ARCH:
            if (!standin_sm(p.value))
                return standin_fatal(TOOL, "Value '%s' is not defined for option 'gpu-name'", p.value);
            job->arch = p.value;
            break;
        case VERBOSE: job->verbose = true; break;
        case DEBUG: job->debug = true; break;
        case OPT_LEVEL: job->debug |= !strcmp(p.value, "0"); break;
        case COMPILE_ONLY: job->compile_only = true; break;
        case STRING: job->string = p.value; job->input = "<string>"; job->inputs++; break;
        case NO_WARNINGS: job->quiet = true; break;
        case WARNINGS_ARE_ERRORS: job->strict = true; break;
        case OPTIONS_FILE: return standin_fatal(TOOL, "Option 'options-file' is not supported by this stand-in");
        }
    return 0;
}

/* The messages of bodies, which fail no module but their kernels. */
static void body_errors(const struct ptx_module *module, struct aw_buf *diags)
{
    for (const struct ptx_func *f = module->funcs; f; f = f->next)
        aw_buf_str(diags, f->errors);
}

static void print_kernels(const struct ptx_module *module, const char *arch)
{
    fprintf(stderr, "ptxas info    : %llu bytes gmem\n", (unsigned long long)ptx_arena_size(module));
    for (const struct ptx_func *f = module->funcs; f; f = f->next)
        if (f->is_entry)
            fprintf(stderr, "ptxas info    : Compiling entry function '%.*s' for '%s'\n", AW_STR_ARG(f->name), arch);
}

/* Errors as ptxas tells them; true when there are none. */
static bool check(const struct job *job, const char *text, size_t len)
{
    struct ptx_diags diags = { 0 };
    struct ptx_module *module = NULL;
    struct aw_text input = { text, len, job->input };
    struct aw_buf words = { 0 };
    enum aw_status status = ptx_open(&input, 1, &diags, &module);
    /* What other files define is the linker's to find. */
    bool later = status == AW_ERR_NOT_FOUND && job->compile_only;
    if (module)
        body_errors(module, &diags.text);
    size_t errors = later || !diags.text.ptr ? 0 : aw_ptxas_words(diags.text.ptr, job->input, &words);
    bool warned = words.len && !errors;
    if (words.ptr && (errors || !job->quiet))
        fputs(words.ptr, stderr);
    bool good = (status == AW_OK || later) && !errors && !(warned && job->strict);
    if (good && job->verbose && module)
        print_kernels(module, job->arch);
    if (!good)
        standin_fatal(TOOL, "Ptx assembly aborted due to errors");
    aw_buf_fini(&words);
    ptx_module_destroy(module);
    ptx_diags_fini(&diags);
    return good;
}

static int assemble(const struct job *job, const char *text, size_t len)
{
    char suffix;
    unsigned sm = standin_target(text, &suffix), wanted = standin_sm(job->arch);
    if (!check(job, text, len))
        return STANDIN_FAILED;
    if (sm > wanted)
        return standin_fatal(TOOL, "SM version specified by .target is higher than default SM version assumed");
    if (!strncmp(job->arch, "compute_", 8))
        return 0; /* parsing only */
    size_t size;
    struct aw_fatbin_text entry = { text, len, job->input, sm, job->debug };
    char *image = aw_fatbin_write(&entry, 1, &size);
    if (!image)
        return standin_fatal(TOOL, "out of memory");
    bool done = standin_write(TOOL, job->output, image, size);
    free(image);
    return done ? 0 : STANDIN_FAILED;
}

int standin_ptxas(int argc, char **argv)
{
    struct job job = { .output = "elf.o", .arch = NULL };
    struct standin_texts texts = { 0 };
    if (argc < 2)
        return usage();
    int status = job_read(&job, argc, argv);
    if (status)
        return status == 1 ? 0 : status;
    if (job.inputs != 1)
        return job.inputs ? standin_fatal(TOOL, "More than one input file: not supported by this stand-in") : usage();
    if (job.string) {
        job.arch = job.arch ? job.arch : "sm_75";
        return assemble(&job, job.string, strlen(job.string));
    }
    if (!standin_read(TOOL, job.input, &texts))
        return standin_fatal(TOOL, "Ptx assembly aborted due to errors");
    /* NVIDIA's default is its oldest architecture; here any is as good, so the text's own. */
    char own[16];
    snprintf(own, sizeof own, "sm_%u", texts.list.n ? texts.list.at[0].sm : 0);
    job.arch = job.arch ? job.arch : own;
    status = texts.list.n == 1 ? assemble(&job, texts.list.at[0].text, texts.list.at[0].len) :
                                 standin_fatal(TOOL, "Input file '%s' is not PTX", job.input);
    standin_texts_fini(&texts);
    return status;
}
