/* `anywarp compile`: PTX files to PTX, IR, assembly or a code object, for looking at what the compiler does. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "anywarp.h"

#include <anywarp/compiler.h>

#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "usage.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char help[] =
    "usage: anywarp compile FILE.ptx|-... [--target gfx1100|host|...] [--emit=ptx|ir|ir-opt|asm|obj|hsaco|so|kernels]\n"
    "                         [-o OUT] [--kernel NAME] [-O0..-O3] [--code-object 4|5|6] [--block X[,Y,Z]] [--parts] [--full] "
    "[-g] [--time]\n\n"
    "Compiles PTX by hand, for looking at what the compiler makes.\n"
    "Several files are linked as one module.  Without --kernel every kernel is compiled, in turn; with -o there must be one.\n"
    "Code objects and objects go to OUT; without -o nothing is written and errors are all there is to see.\n"
    "--block makes code for blocks of that shape alone; X by itself, for all whose rows are a multiple of X (32 or 1 is of "
    "use).\n"
    "--parts, on AMD cards: for launches of some blocks of a grid at a time, as grids of 2^32 threads and more are.\n"
    "--full, likewise: for blocks that take all shared memory, beside which barriers have no room there.\n"
    "-g gives the lines of the PTX to functions without .loc.  --time shows the processor time of each step.\n"
    "Passes (docs/passes.md): --passes lists them; --print-after NAME|all, --stop-after NAME, --disable NAME[,NAME], --force "
    "NAME, --verify-each,\n"
    "--set THRESHOLD=VALUE (--thresholds lists them), "
    "--times (of each).\n\n"
    "Exit status: 0; 1 it does not compile, or a file cannot be read or written; 2 wrong usage.\n";

enum what { EMIT_PTX = 100, EMIT_KERNELS };
struct command {
    struct aw_compile_options options;
    const char *files[64], *kernel, *output;
    size_t n_files;
    int emit; /* enum aw_emit or enum what */
    bool time;
    struct aw_buf passes; /* words for aw_compiler_passes */
};

static bool emit_from(const char *name, int *ret)
{
    static const struct {
        const char *name;
        int emit;
    } names[] = { { "ptx", EMIT_PTX },        { "kernels", EMIT_KERNELS }, { "ir", AW_EMIT_IR },
                  { "ir-opt", AW_EMIT_IR_OPT }, { "asm", AW_EMIT_ASM },      { "obj", AW_EMIT_OBJ },
                  { "hsaco", AW_EMIT_CODE_OBJECT }, { "so", AW_EMIT_CODE_OBJECT } };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i].name, name) == 0) {
            *ret = names[i].emit;
            return true;
        }
    }
    return false;
}

/* "X,Y,Z" or "X". */
static bool block_from(const char *text, uint32_t ret[3])
{
    char rest;
    uint32_t z = 0;
    int n = sscanf(text, "%4u,%4u,%4u%c", &ret[0], &ret[1], &z, &rest);
    ret[2] |= z;
    return n == 3 || (n == 1 && !strchr(text, ','));
}

/* Value of "--name=value" or "--name value"; NULL when `argv[*i]` is another option. */
static const char *option(const char *name, int argc, char **argv, int *i)
{
    size_t n = strlen(name);
    if (strncmp(argv[*i], name, n) != 0)
        return NULL;
    if (argv[*i][n] == '=')
        return argv[*i] + n + 1;
    return argv[*i][n] == 0 && *i + 1 < argc ? argv[++*i] : NULL;
}

/* What goes to the passes as it is. */
static bool pass_word(struct command *c, int argc, char **argv, int *i)
{
    static const char *const names[] = { "--print-after", "--stop-after", "--disable", "--force", "--set" };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const char *v = option(names[k], argc, argv, i);
        if (v) {
            aw_buf_printf(&c->passes, "%s=%s ", names[k] + 2, v);
            return true;
        }
    }
    bool flag = strcmp(argv[*i], "--verify-each") == 0 || strcmp(argv[*i], "--times") == 0;
    if (flag)
        aw_buf_printf(&c->passes, "%s ", argv[*i] + 2);
    return flag;
}

static bool argument(struct command *c, int argc, char **argv, int *i)
{
    const char *v;
    if ((v = option("--target", argc, argv, i)))
        c->options.target = v;
    else if ((v = option("--emit", argc, argv, i)))
        return emit_from(v, &c->emit);
    else if ((v = option("--kernel", argc, argv, i)))
        c->kernel = v;
    else if ((v = option("-o", argc, argv, i)))
        c->output = v;
    else if (pass_word(c, argc, argv, i))
        return true;
    else if ((v = option("--code-object", argc, argv, i)))
        c->options.code_object_version = (uint32_t)atoi(v);
    else if ((v = option("--block", argc, argv, i)))
        return block_from(v, c->options.block);
    else if (argv[*i][0] == '-' && argv[*i][1] == 'O' && argv[*i][2] >= '0' && argv[*i][2] <= '3' && !argv[*i][3])
        c->options.opt_level = (uint32_t)(argv[*i][2] - '0');
    else if (strcmp(argv[*i], "--parts") == 0)
        c->options.block[2] |= AW_BLOCK_PARTS;
    else if (strcmp(argv[*i], "--full") == 0)
        c->options.block[2] |= AW_BLOCK_FULL;
    else if (strcmp(argv[*i], "-g") == 0)
        c->options.lines = AW_LINES_ALL;
    else if (strcmp(argv[*i], "--time") == 0)
        c->time = true;
    else if ((argv[*i][0] == '-' && argv[*i][1]) || c->n_files == sizeof c->files / sizeof *c->files)
        return false;
    else
        c->files[c->n_files++] = argv[*i];
    return true;
}

static int output_write(const char *path, const char *bytes, size_t size)
{
    FILE *f = path && strcmp(path, "-") != 0 ? fopen(path, "wb") : stdout;
    bool ok = f && fwrite(bytes, 1, size, f) == size;
    if (f && f != stdout)
        ok = fclose(f) == 0 && ok;
    else if (f)
        ok = fflush(f) == 0 && ok;
    if (!ok)
        aw_tell("anywarp", COMPILE_WRITE, path ? path : "standard output");
    return ok ? 0 : 1;
}

/* Processor time: what a kernel costs, however busy the machine is. */
static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Call right after compiling: the phases are those of the last compilation. */
static void show_time(const char *kernel, double ms, size_t size, bool ok)
{
    double phases[AW_PHASE_COUNT];
    aw_compiler_times(phases);
    fprintf(stderr, "%8.1f ms %8zu bytes %s %s\n            ", ms, size, ok ? "ok  " : "FAIL", kernel);
    for (int i = 0; i < AW_PHASE_COUNT; i++)
        fprintf(stderr, " %s %.1f", aw_phase_name((enum aw_phase)i), phases[i]);
    fputs("\n", stderr);
}

static int compile_one(const struct command *c, struct aw_compiler_module *module, const char *kernel)
{
    char *bytes = NULL, *diags = NULL;
    size_t size = 0;
    struct aw_kernel_info info;
    double begin = now_ms();
    int status = aw_compiler_compile(module, kernel, &c->options, (enum aw_emit)c->emit, &bytes, &size, &info, &diags);
    double ms = now_ms() - begin;
    fputs(diags ? diags : "", stderr);
    free(diags);
    if (c->time)
        show_time(kernel, ms, size, status == AW_OK);
    if (status != AW_OK) {
        aw_tell("anywarp", COMPILE_KERNEL, kernel, aw_status_text((enum aw_status)status));
        return 1;
    }
    bool text = c->emit == AW_EMIT_IR || c->emit == AW_EMIT_IR_OPT || c->emit == AW_EMIT_ASM;
    int rc = c->output || text ? output_write(c->output, bytes, size) : 0;
    free(bytes);
    return rc;
}

static int compile_all(const struct command *c, struct aw_compiler_module *module)
{
    const struct aw_manifest *m = aw_compiler_manifest(module);
    const char *base = (const char *)m;
    const struct aw_manifest_kernel *kernels = (const void *)(base + m->kernels);
    if (c->output && !c->kernel && m->n_kernels != 1) {
        aw_tell("anywarp", COMPILE_ONE, m->n_kernels);
        return 1;
    }
    bool known = aw_compiler_target_ok(c->options.target); /* else one complaint is enough */
    int rc = 0;
    for (uint32_t i = 0; i < m->n_kernels; i++) {
        const char *name = base + m->strings + kernels[i].name;
        if (c->emit == EMIT_KERNELS)
            printf("%s\n", name);
        else if (!c->kernel && (rc == 0 || known))
            rc |= compile_one(c, module, name);
    }
    return c->kernel && c->emit != EMIT_KERNELS ? compile_one(c, module, c->kernel) : rc;
}

static int run(const struct command *c, const struct aw_text *texts)
{
    struct aw_compiler_module *module = NULL;
    char *diags = NULL;
    double begin = now_ms();
    int status = aw_compiler_open(texts, c->n_files, &module, &diags), rc;
    if (c->time)
        fprintf(stderr, "%8.1f ms open\n", now_ms() - begin);
    fputs(diags ? diags : "", stderr);
    free(diags);
    if (status != AW_OK) {
        aw_tell("anywarp", COMPILE_MODULE, aw_status_text((enum aw_status)status));
        return 1;
    }
    if (c->passes.len && aw_compiler_passes(module, c->passes.ptr, &diags) != AW_OK) {
        fputs(diags ? diags : "", stderr);
        free(diags);
        aw_compiler_close(module);
        return 1;
    }
    if (c->emit == EMIT_PTX) {
        char *text = aw_compiler_print(module);
        rc = text ? output_write(c->output, text, strlen(text)) : 1;
        free(text);
    } else {
        rc = compile_all(c, module);
    }
    aw_compiler_close(module);
    return rc;
}

/* "-" is standard input.  Prints why when there is no text: what is no text at all is not worth the parser's view of it. */
static bool input_read(const char *path, struct aw_text *ret)
{
    bool standard = strcmp(path, "-") == 0;
    char *bytes;
    size_t len;
    errno = 0;
    if (aw_file_read(standard ? "/dev/stdin" : path, &bytes, &len) != AW_OK) {
        aw_tell("anywarp", COMPILE_READ, path, errno ? ": " : "", errno ? strerror(errno) : "");
        return false;
    }
    size_t text = len > 1 && bytes[len - 1] == 0 ? len - 1 : len; /* one NUL ends what a fatbin held */
    bool cubin = len > 20 && memcmp(bytes, "\177ELF", 4) == 0 && bytes[18] == (char)EM_CUDA && bytes[19] == 0;
    text = cubin ? len : text;
    if (!cubin && memchr(bytes, 0, text)) {
        aw_tell("anywarp", COMPILE_NOT_PTX, path);
        free(bytes);
        return false;
    }
    *ret = (struct aw_text){ bytes, len, standard ? "<stdin>" : path };
    return true;
}

int aw_cmd_compile(int argc, char **argv)
{
    struct command c = { .options = { .target = "host", .opt_level = 3 }, .emit = AW_EMIT_CODE_OBJECT };
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return aw_usage_help(help);
        if (!strcmp(argv[i], "--passes") || !strcmp(argv[i], "--thresholds")) {
            char *list = argv[i][2] == 'p' ? aw_compiler_pass_list() : aw_compiler_threshold_list();
            fputs(list ? list : "", stdout);
            free(list);
            return list ? 0 : 1;
        }
        const char *word = argv[i];
        if (!argument(&c, argc, argv, &i))
            return aw_usage_wrong("compile", help, "%s: unknown option, or its value is missing or wrong", word);
    }
    if (!c.n_files)
        return aw_usage_wrong("compile", help, "no file given");
    struct aw_text texts[64];
    int rc;
    size_t n = 0;
    while (n < c.n_files && input_read(c.files[n], &texts[n]))
        n++;
    rc = n == c.n_files ? run(&c, texts) : 1;
    while (n > 0)
        free((char *)texts[--n].ptr);
    aw_buf_fini(&c.passes);
    return rc;
}
