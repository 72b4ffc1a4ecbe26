/* nvlink: links the PTX in its inputs, which the compiler does again when the result is loaded; here to tell what is wrong. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <anywarp/fatbin.h>

#include "base/ptxas.h"
#include "module/module.h"
#include "standins.h"

#define TOOL "nvlink"

enum { HELP = 1, VERSION, OUTPUT, ARCH, DEBUG, LIBRARY, LIBRARY_PATH, REGISTER, OPTIONS_FILE };

static const struct standin_option options[] = {
    { "help", "h", STANDIN_FLAG, HELP },
    { "version", "V", STANDIN_FLAG, VERSION },
    { "output-file", "o", STANDIN_VALUE, OUTPUT },
    { "arch", "arch", STANDIN_VALUE, ARCH },
    { "debug", "g", STANDIN_FLAG, DEBUG },
    { "library", "l", STANDIN_VALUE, LIBRARY },
    { "library-path", "L", STANDIN_VALUE, LIBRARY_PATH },
    { "register-link-binaries", "register-link-binaries", STANDIN_VALUE, REGISTER },
    { "options-file", "optf", STANDIN_VALUE, OPTIONS_FILE },
    { "machine", "m", STANDIN_VALUE, 0 },
    { "m64", "m64", STANDIN_FLAG, 0 },
    { "verbose", "v", STANDIN_FLAG, 0 },
    { "disable-warnings", "w", STANDIN_FLAG, 0 },
    { "warning-as-error", "Werror", STANDIN_FLAG, 0 },
    { "link-time-opt", "lto", STANDIN_FLAG, 0 },
    { "kernels-used", "kernels-used", STANDIN_VALUE, 0 },
    { "variables-used", "variables-used", STANDIN_VALUE, 0 },
    { "optimize-unused-variables", "optimize-unused-variables", STANDIN_FLAG, 0 },
    { "maxrregcount", "maxrregcount", STANDIN_VALUE, 0 },
    { "cpu-arch", "cpu-arch", STANDIN_VALUE, 0 },
    { "Xptxas", "Xptxas", STANDIN_VALUE, 0 },
    { "Xnvvm", "Xnvvm", STANDIN_VALUE, 0 },
    { "suppress-stack-size-warning", "suppress-stack-size-warning", STANDIN_FLAG, 0 },
    { "preserve-relocs", "preserve-relocs", STANDIN_FLAG, 0 },
    { NULL, NULL, STANDIN_FLAG, 0 },
};

struct job {
    const char *output;
    unsigned sm;
    bool debug;
    struct standin_texts texts;
    AW_VEC(const char *) paths, libraries;
};

/* A library along the paths given; a system library such as libdl has no device code to link. */
static bool library_add(struct job *job, const char *name)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < job->paths.n; i++) {
        int n = snprintf(path, sizeof path, "%s/lib%s.a", job->paths.at[i], name);
        if (n > 0 && n < (int)sizeof path && access(path, R_OK) == 0)
            return standin_read(TOOL, path, &job->texts);
    }
    return true;
}

/* 0: go on; 1: done; else the program's status. */
static int job_read(struct job *job, int argc, char **argv)
{
    struct standin_parser p = { .tool = TOOL, .options = options, .argc = argc, .argv = argv, .next = 1 };
    for (int id; (id = standin_next(&p)) != STANDIN_END;)
        switch (id) {
        case STANDIN_BAD: return STANDIN_FAILED;
        case STANDIN_INPUT:
            if (!standin_read(TOOL, p.value, &job->texts))
                return STANDIN_FAILED;
            break;
        case HELP: standin_help(TOOL, "[options] <files>", options); return 1;
        case VERSION: standin_version(TOOL, "linker"); return 1;
        case OUTPUT: job->output = p.value; break;
        case ARCH:
            if (!(job->sm = standin_sm(p.value)))
                return standin_fatal(TOOL, "Value '%s' is not defined for option 'arch'", p.value);
            break;
        case DEBUG: job->debug = true; break;
        case LIBRARY:
            if (!aw_vec_push(&job->libraries, p.value))
                return standin_fatal(TOOL, "out of memory");
            break;
        case LIBRARY_PATH:
            if (!aw_vec_push(&job->paths, p.value))
                return standin_fatal(TOOL, "out of memory");
            break;
        case REGISTER:
        case OPTIONS_FILE:
            return standin_fatal(TOOL, "Option '%s' is not supported by this stand-in",
                                 id == REGISTER ? "register-link-binaries" : "options-file");
        }
    for (size_t i = 0; i < job->libraries.n; i++)
        if (!library_add(job, job->libraries.at[i]))
            return STANDIN_FAILED;
    return 0;
}

static bool check(const struct aw_text *texts, size_t n)
{
    struct ptx_diags diags = { 0 };
    struct ptx_module *module = NULL;
    enum aw_status status = ptx_open(texts, n, &diags, &module);
    for (const char *line = status && diags.text.ptr ? diags.text.ptr : ""; *line;
         line += strcspn(line, "\n"), line += *line == '\n') {
        const char *mark = strstr(line, ": error: ");
        fprintf(stderr, "nvlink error   : %.*s in '%.*s'\n", mark ? (int)strcspn(mark + 9, "\n") : 0, mark ? mark + 9 : "",
                (int)strcspn(line, ":\n"), line);
    }
    ptx_module_destroy(module);
    ptx_diags_fini(&diags);
    return status == AW_OK || standin_fatal(TOOL, "Link failed: the inputs' PTX does not go together") == 0;
}

static int link_all(struct job *job)
{
    AW_VEC(struct aw_text) inputs = { 0 };
    AW_VEC(struct aw_fatbin_text) entries = { 0 };
    size_t size = 0;
    bool good = true;
    for (size_t i = 0; i < job->texts.list.n && good; i++) {
        const struct standin_text *t = &job->texts.list.at[i];
        good = aw_vec_push(&inputs, (struct aw_text){ t->text, t->len, t->name }) &&
               aw_vec_push(&entries, (struct aw_fatbin_text){ t->text, t->len, t->name, t->sm, t->debug || job->debug });
    }
    good = good && check(inputs.at, inputs.n);
    char *image = good ? aw_fatbin_write(entries.at, entries.n, &size) : NULL;
    good = image && standin_write(TOOL, job->output, image, size);
    free(image);
    aw_vec_fini(&inputs);
    aw_vec_fini(&entries);
    return good ? 0 : STANDIN_FAILED;
}

int standin_nvlink(int argc, char **argv)
{
    struct job job = { .output = "a.out" };
    int status = job_read(&job, argc, argv);
    if (!status && !job.texts.list.n)
        status = standin_fatal(TOOL,
                               job.texts.machine_code ? "The inputs hold machine code and no PTX" : "No input with device code");
    if (!status)
        status = link_all(&job);
    standin_texts_fini(&job.texts);
    aw_vec_fini(&job.paths);
    aw_vec_fini(&job.libraries);
    return status == 1 ? 0 : status;
}
