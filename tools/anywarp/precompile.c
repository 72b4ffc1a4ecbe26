/* `anywarp precompile`: compiles the kernels of programs, libraries and whole trees into the cache, before they are launched.
 *
 * Code is made for a shape of block (src/core/code.c), which only a launch knows.  So shapes come from a run that wrote them
 * down (--list), from the kernel itself (.reqntid, __launch_bounds__), or from --block.  A launch with another compiles as
 * ever. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <ftw.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "anywarp.h"
#include "base/clock.h"
#include "base/demangle.h"
#include "base/env.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "cache/cache.h"
#include "core/device.h"
#include "kernels.h"
#include "needs.h"
#include "usage.h"

enum { USUAL_THREADS = 256, SHAPES_MOST = 16 };

struct shape {
    const char *kernel; /* of the list; NULL: any */
    uint32_t block[3];
};

struct wish {
    AW_VEC(struct shape) blocks; /* --block */
    AW_VEC(struct shape) list;   /* --list; sorted by kernel */
    char *list_text;
    bool listed, libraries, json;
};

static const char help[] =
        "usage: anywarp precompile [options] PATH...\n\n"
        "Compiles the kernels of programs, libraries, fat binaries, PTX files and whole folders of them into the cache, on all\n"
        "processors, for each of the machine's devices.  What is there already is not made again: one that was interrupted goes "
        "on.\n\n"
        "  --list FILE        the kernels and shapes of blocks that `anywarp run --record=FILE` has written down, and no others\n"
        "  --block X[,Y[,Z]]  for kernels that state no shape of their own, blocks of this shape; may be given more than once.\n"
        "                     Without it, 256 threads\n"
        "  --no-libraries     not the libraries that programs name, only themselves\n"
        "  --json             the result as one JSON object: kernels, made, failed, seconds, failures\n\n"
        "A launch with blocks of another shape compiles its kernel then.\n"
          "Exit status: 0 all compiled, 1 some did not, or it was interrupted, 2 wrong usage.\n";

/* "256", "16,16", "8,8,4": threads; with `coded`, three numbers as in struct aw_compile_options. */
static bool shape_read(const char *text, bool coded, uint32_t ret[3])
{
    int n = 0;
    ret[1] = ret[2] = 1;
    for (; n < 3; n++) {
        char *end;
        unsigned long long value = strtoull(text, &end, 10);
        if (*text < '0' || *text > '9' || value > UINT32_MAX || (value == 0 && !coded))
            return false;
        ret[n] = (uint32_t)value;
        if (!*end)
            return coded ? n == 2 : (uint64_t)ret[0] * ret[1] * ret[2] <= 1024;
        if (*end != ',')
            return false;
        text = end + 1;
    }
    return false;
}

static int shape_compare(const void *a, const void *b)
{
    const struct shape *x = a, *y = b;
    int order = strcmp(x->kernel, y->kernel);
    return order ? order : memcmp(x->block, y->block, sizeof x->block);
}

/* Lines of kernel, tab, shape. */
static bool list_read(const char *path, struct wish *wish)
{
    size_t size;
    enum aw_status status = aw_file_read(path, &wish->list_text, &size);
    if (status != AW_OK) {
        aw_tell("anywarp precompile", PRECOMPILE_FILE, path, aw_status_text(status));
        return false;
    }
    unsigned number = 0;
    for (char *line = wish->list_text, *next; *line; line = next) {
        struct shape shape = { .kernel = line };
        size_t n = strcspn(line, "\n");
        char *tab = memchr(line, '\t', n);
        next = line + n + (line[n] == '\n');
        line[n] = '\0';
        number++;
        if (!n)
            continue;
        if (!tab || (*tab = '\0', !shape_read(tab + 1, true, shape.block))) {
            aw_tell("anywarp precompile", PRECOMPILE_LIST, path, number);
            return false;
        }
        if (!aw_vec_push(&wish->list, shape))
            return false;
    }
    if (wish->list.n)
        qsort(wish->list.at, wish->list.n, sizeof *wish->list.at, shape_compare);
    wish->listed = true;
    return true;
}

/* ---- What is to be compiled. */

static struct aw_kernel_list kernels;
static const struct wish *the_wish; /* for nftw, which hands nothing on */
static struct aw_parts parts;

/* Each file once, however often it is named. */
static bool file_add(const char *path)
{
    char *whole = realpath(path, NULL);
    bool found = false, seen = false;
    for (size_t i = 0; whole && i < kernels.files.n; i++)
        seen |= !strcmp(kernels.files.at[i].path, whole);
    if (whole && !seen)
        found = aw_kernel_list_add(&kernels, whole);
    free(whole);
    return found || seen;
}

/* A program and the libraries that it names; neither ours nor NVIDIA's, which have no kernels for us. */
static bool program_add(const char *path)
{
    struct aw_needs needs = { 0 };
    struct aw_elf elf;
    bool found = file_add(path);
    char *whole = the_wish->libraries ? realpath(path, NULL) : NULL;
    if (whole && aw_elf_open(&elf, whole)) {
        aw_needs_list(&parts, &elf, whole, &needs);
        aw_elf_close(&elf);
    }
    for (size_t i = 0; i < needs.list.n; i++) {
        const struct aw_need *need = &needs.list.at[i];
        if (need->path && !aw_need_is_cudas(need->name) && !aw_need_is_ours(&parts, need->path))
            found |= file_add(need->path);
    }
    aw_needs_fini(&needs);
    free(whole);
    return found;
}

/* Of a tree, what could have code in it by its first bytes or its name. */
static int tree_visit(const char *path, const struct stat *st, int type, struct FTW *where)
{
    const char *name = path + where->base, *ext = strrchr(name, '.');
    char head[4] = { 0 };
    if (type != FTW_F || !S_ISREG(st->st_mode) || aw_need_is_cudas(name))
        return 0;
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(head, 1, sizeof head, f) : 0;
    if (f)
        fclose(f);
    if (n == 4 && (!memcmp(head, "\177ELF", 4) || !memcmp(head, "\x50\xed\x55\xba", 4) || (ext && !strcmp(ext, ".ptx"))))
        file_add(path);
    return 0;
}

static bool path_add(const char *path)
{
    struct stat st;
    bool found;
    if (stat(path, &st) != 0) {
        aw_tell("anywarp precompile", PRECOMPILE_FILE, path, strerror(errno));
        return false;
    }
    if (S_ISDIR(st.st_mode)) {
        size_t before = kernels.files.n;
        nftw(path, tree_visit, 16, FTW_PHYS);
        found = kernels.files.n > before;
    } else {
        found = program_add(path);
    }
    if (!found)
        aw_tell("anywarp precompile", PRECOMPILE_EMPTY, path);
    return found;
}

typedef AW_VEC(struct aw_kernel_job) job_list;

static bool job_add(job_list *jobs, const struct aw_kernel_image *image, uint32_t index, const uint32_t block[3])
{
    struct aw_kernel_job job = { .image = image, .index = index };
    memcpy(job.block, block, sizeof job.block);
    return aw_vec_push(jobs, job);
}

static bool listed_add(job_list *jobs, const struct wish *wish, const struct aw_kernel_image *image, uint32_t index)
{
    const char *name = aw_kernel_list_name(image, index);
    bool fine = true;
    for (size_t i = 0; fine && i < wish->list.n; i++) {
        const struct shape *s = &wish->list.at[i];
        if (strcmp(s->kernel, name) == 0 && (i == 0 || shape_compare(s, s - 1) != 0))
            fine = job_add(jobs, image, index, s->block);
    }
    return fine;
}

static bool kernel_add(job_list *jobs, const struct wish *wish, const struct aw_kernel_image *image, uint32_t index)
{
    const struct aw_manifest_kernel *kernel = aw_kernel_list_at(image, index);
    uint32_t shape[3];
    bool fine = true;
    if (wish->listed)
        return listed_add(jobs, wish, image, index);
    if (aw_kernel_list_toolkits(aw_kernel_list_name(image, index)))
        return true;
    if (kernel->req_ntid[0]) {
        aw_kernel_usual_shape(kernel, shape);
        return job_add(jobs, image, index, shape);
    }
    for (size_t i = 0; fine && i < wish->blocks.n; i++)
        fine = job_add(jobs, image, index, wish->blocks.at[i].block);
    if (wish->blocks.n)
        return fine;
    const uint32_t *most = kernel->max_ntid;
    uint32_t threads = most[0] ? most[0] * (most[1] ? most[1] : 1) * (most[2] ? most[2] : 1) : USUAL_THREADS;
    return job_add(jobs, image, index, (uint32_t[3]){ threads, 1, 1 });
}

/* ---- Progress. */

static struct {
    size_t done, total, failed;
    double begin;
    bool shown;
} progress;
static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

static double now(void)
{
    return (double)aw_clock_ns() * 1e-9;
}

static void progress_draw(const struct aw_kernel_job *job)
{
    struct winsize size;
    char head[128];
    double spent = now() - progress.begin, left = spent / (double)progress.done * (double)(progress.total - progress.done);
    const char *name = aw_kernel_list_name(job->image, job->index);
    char *plain = aw_demangle_text(name);
    int width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
    int n = snprintf(head, sizeof head, "[%zu/%zu] %zu%%, %.0f s to go  ", progress.done, progress.total,
                     100 * progress.done / progress.total, left);
    fprintf(stderr, "\r%s%.*s\033[K", head, width > n + 1 ? width - n - 1 : 0, plain ? plain : name);
    free(plain);
}

static bool job_done(void *user, const struct aw_kernel_job *job)
{
    (void)user;
    progress.done++;
    progress.failed += job->status != AW_OK;
    if (progress.shown)
        progress_draw(job);
    return !interrupted;
}

/* ---- The result. */

static void failure_text(const char *file, const char *kernel, enum aw_status status, const char *text)
{
    aw_tell("anywarp precompile", PRECOMPILE_FAILED, file, kernel ? "kernel " : "", kernel ? kernel : "", kernel ? ": " : "",
            aw_status_text(status), text && *text ? "\n" : "", text ? text : "");
}

static void failure_json(struct aw_buf *out, const char *file, const char *kernel, enum aw_status status, const char *text)
{
    aw_buf_printf(out, "%s\n  {\"file\": ", out->len && out->ptr[out->len - 1] == '}' ? "," : "");
    aw_json_cstr(out, file);
    aw_buf_printf(out, ", \"kernel\": ");
    if (kernel)
        aw_json_cstr(out, kernel);
    else
        aw_buf_printf(out, "null");
    aw_buf_printf(out, ", \"status\": ");
    aw_json_cstr(out, aw_status_text(status));
    aw_buf_printf(out, ", \"text\": ");
    aw_json_cstr(out, text ? text : "");
    aw_buf_printf(out, "}");
}

static void result_show(const job_list *jobs, bool json)
{
    struct aw_buf out = { 0 };
    if (json)
        aw_buf_printf(&out, "{\"kernels\": %zu, \"made\": %zu, \"failed\": %zu, \"seconds\": %.3f, \"failures\": [",
                      progress.total, progress.done - progress.failed, progress.failed, now() - progress.begin);
    for (size_t i = 0; i < jobs->n; i++) {
        const struct aw_kernel_job *job = &jobs->at[i];
        const char *kernel = aw_kernel_list_name(job->image, job->index);
        if (job->status == AW_OK || job->status == AW_ERR_NOT_READY)
            continue;
        if (json)
            failure_json(&out, job->image->file, kernel, job->status, job->text);
        else
            failure_text(job->image->file, kernel, job->status, job->text);
    }
    for (size_t i = 0; i < kernels.problems.n; i++) {
        const struct aw_kernel_problem *p = &kernels.problems.at[i];
        if (json)
            failure_json(&out, p->file, NULL, p->status, p->text);
        else
            failure_text(p->file, NULL, p->status, p->text);
    }
    if (json)
        printf("%s]}\n", out.ptr);
    else
        printf("%zu of %zu made ready in %.1f s, for %zu image%s in %zu file%s%s\n", progress.done - progress.failed,
               progress.total, now() - progress.begin, kernels.images.n, kernels.images.n == 1 ? "" : "s", kernels.files.n,
               kernels.files.n == 1 ? "" : "s", interrupted ? "; interrupted: the next run goes on from here" : "");
    aw_buf_fini(&out);
}

static bool compile_all(job_list *jobs, bool json)
{
    const char *term = aw_env("TERM");
    progress.total = 0;
    progress.begin = now();
    progress.shown = !json && isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
    signal(SIGINT, on_interrupt);
    for (int d = 0; d < aw_device_count(); d++) { /* devices of a kind need one round */
        bool again = false;
        for (int e = 0; e < d; e++)
            again |= !strcmp(aw_device_find(e)->target, aw_device_find(d)->target);
        if (again || interrupted)
            continue;
        progress.total += jobs->n;
        aw_kernel_jobs_run(jobs->at, jobs->n, aw_device_find(d), job_done, NULL);
    }
    if (progress.shown)
        fputs("\r\033[K", stderr);
    result_show(jobs, json);
    return !interrupted && !progress.failed && !kernels.problems.n;
}

static int precompile(const struct wish *wish, char **paths)
{
    job_list jobs = { 0 };
    bool fine = true;
    const char *why = aw_cache_prepare(aw_cache_default());
    if (why || !aw_cache_dir(aw_cache_default())) {
        aw_tell("anywarp precompile", PRECOMPILE_CACHE, why ? why : "it is off (ANYWARP_CACHE=0)");
        return 1;
    }
    if (!aw_parts_locate(&parts) || aw_core_init() != AW_OK || !aw_device_find(0)) {
        aw_tell("anywarp precompile", PRECOMPILE_DEVICE);
        return 1;
    }
    setenv("ANYWARP_QUIET", "1", 1); /* one line is enough */
    the_wish = wish;
    for (; *paths; paths++)
        fine &= path_add(*paths);
    bool memory = true;
    for (size_t i = 0; i < kernels.images.n; i++)
        for (uint32_t k = 0; memory && k < kernels.images.at[i].manifest->n_kernels; k++)
            memory = kernel_add(&jobs, wish, &kernels.images.at[i], k);
    if (!memory)
        aw_tell("anywarp precompile", TOOL_MEMORY);
    fine = memory && compile_all(&jobs, wish->json) && fine;
    for (size_t i = 0; i < jobs.n; i++)
        free(jobs.at[i].text);
    aw_vec_fini(&jobs);
    aw_kernel_list_fini(&kernels);
    return fine ? 0 : 1;
}

int aw_cmd_precompile(int argc, char **argv)
{
    static const struct option options[] = {
        { "list", required_argument, NULL, 'l' },   { "block", required_argument, NULL, 'b' },
        { "no-libraries", no_argument, NULL, 'n' }, { "json", no_argument, NULL, 'j' },
        { "help", no_argument, NULL, 'h' },         { 0 }
    };
    struct wish wish = { .libraries = true };
    struct shape shape = { 0 };
    int status = -1;
    opterr = 0;
    for (int c; status < 0 && (c = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
        if (c == 'h')
            status = aw_usage_help(help);
        else if (c == 'l')
            status = wish.listed || !list_read(optarg, &wish) ? 2 : -1;
        else if (c == 'b' &&
                 (!shape_read(optarg, false, shape.block) || wish.blocks.n == SHAPES_MOST || !aw_vec_push(&wish.blocks, shape)))
            status = aw_usage_wrong("precompile", help, "--block %s is no shape of a block, such as 256 or 16,16", optarg);
        else if (c == '?' || c == ':')
            status = aw_usage_option("precompile", help, c, argv);
        wish.libraries &= c != 'n';
        wish.json |= c == 'j';
    }
    if (status < 0)
        status = optind >= argc                   ? aw_usage_wrong("precompile", help, "no program, library or folder given")
                 : wish.listed && wish.blocks.n ? aw_usage_wrong("precompile", help, "--list or --block, not both")
                                                : precompile(&wish, argv + optind);
    aw_vec_fini(&wish.blocks);
    aw_vec_fini(&wish.list);
    free(wish.list_text);
    return status;
}
