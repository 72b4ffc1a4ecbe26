/* A stand-in for the PTX compiler, linked with the real compiler process: it obeys instead of compiling.
 *
 * A module's text is a list of kernel names; a text that begins with '!' is malformed.  Some names make the compiler
 * behave as compilers should not (see obey); for others the object is a text that names what was asked for. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <anywarp/compiler.h>

#include "anywarp/anywarp.h"
#include "base/hash.h"
#include "base/status.h"

struct aw_compiler_module {
    struct aw_manifest *manifest;
};

int aw_cmd_compile(int argc, char **argv)
{
    return 2;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static struct aw_manifest *build(char *names[], uint32_t n)
{
    uint32_t strings = 0;
    for (uint32_t i = 0; i < n; i++)
        strings += (uint32_t)strlen(names[i]) + 1;
    uint32_t head = (sizeof(struct aw_manifest) + 7) & ~7u, table = n * (uint32_t)sizeof(struct aw_manifest_kernel);
    uint32_t end = head + table;
    struct aw_manifest *m = calloc(1, end + strings);
    *m = (struct aw_manifest){ .magic = AW_MANIFEST_MAGIC, .abi = AW_COMPILER_ABI, .size = end + strings, .ptx_major = 8,
                               .sm = 80, .kernels = head, .n_kernels = n, .params = end, .vars = end, .relocs = end,
                               .image = end, .strings = end, .strings_size = strings };
    struct aw_manifest_kernel *k = (void *)((char *)m + head);
    for (uint32_t i = 0, at = 0; i < n; i++) {
        struct aw_hash128 hash = aw_hash128(names[i], strlen(names[i]));
        k[i].name = at;
        k[i].closure[0] = hash.lo;
        k[i].closure[1] = hash.hi;
        strcpy((char *)m + head + table + at, names[i]);
        at += (uint32_t)strlen(names[i]) + 1;
    }
    return m;
}

int aw_compiler_open(const struct aw_text texts[], size_t n, struct aw_compiler_module **ret_module, char **ret_diags)
{
    char *names[64], *copies[64];
    uint32_t n_names = 0;
    for (size_t i = 0; i < n && i < 64; i++) {
        copies[i] = strndup(texts[i].ptr, texts[i].len);
        if (copies[i][0] == '!') {
            if (asprintf(ret_diags, "%s:1:1: error: no kernel begins with '!'\n", texts[i].name) < 0)
                *ret_diags = NULL;
            return AW_ERR_INVALID_PTX;
        }
        for (char *name = strtok(copies[i], " "); name && n_names < 64; name = strtok(NULL, " "))
            names[n_names++] = name;
    }
    if (n_names > 0 && strcmp(names[0], "crash-open") == 0)
        raise(SIGSEGV);
    qsort(names, n_names, sizeof *names, by_name);
    *ret_module = malloc(sizeof **ret_module);
    (*ret_module)->manifest = build(names, n_names);
    if (strcmp(names[0], "broken-manifest") == 0)
        (*ret_module)->manifest->n_kernels = 1 << 30;
    *ret_diags = strdup("");
    for (size_t i = 0; i < n && i < 64; i++)
        free(copies[i]);
    return AW_OK;
}

void aw_compiler_close(struct aw_compiler_module *module)
{
    if (module)
        free(module->manifest);
    free(module);
}

const struct aw_manifest *aw_compiler_manifest(const struct aw_compiler_module *module)
{
    return module->manifest;
}

/* The process's own view of itself, for the tests of how it was started. */
static void describe_self(struct aw_buf *out)
{
    sigset_t mask;
    struct sigaction action;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    sigaction(SIGUSR1, NULL, &action);
    aw_buf_printf(out, "preload=%s audit=%s marker=%s blocked=%d ignored=%d group=%d fds=", getenv("LD_PRELOAD"),
                  getenv("LD_AUDIT"), getenv("AW_TEST_MARKER"), sigismember(&mask, SIGUSR1),
                  action.sa_handler == SIG_IGN, getpgrp() == getppid());
    DIR *dir = opendir("/proc/self/fd");
    unsigned n = 0;
    for (struct dirent *ent; dir && (ent = readdir(dir));)
        n += ent->d_name[0] != '.';
    aw_buf_printf(out, "%u", n - 1);
    if (dir)
        closedir(dir);
}

static int obey(const char *kernel, struct aw_buf *out, struct aw_buf *diags)
{
    if (strncmp(kernel, "crash", 5) == 0)
        raise(SIGSEGV);
    if (strcmp(kernel, "kill9") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(kernel, "exit") == 0)
        exit(3);
    if (strcmp(kernel, "abort") == 0) {
        for (int i = 0; i < 100000; i++)
            fputs("noise ", stderr);
        fputs("\nLLVM ERROR: cannot select: something\n", stderr);
        abort();
    }
    if (strcmp(kernel, "kill-parent") == 0) {
        kill(getppid(), SIGKILL);
        pause();
    }
    while (strcmp(kernel, "hang") == 0)
        pause();
    if (strncmp(kernel, "slow", 4) == 0)
        usleep(300000);
    if (strcmp(kernel, "noisy") == 0)
        for (int i = 0; i < 200000; i++)
            fputs("noise ", stderr);
    if (strcmp(kernel, "self") == 0)
        describe_self(out);
    if (strncmp(kernel, "unsupported", 11) == 0) {
        aw_buf_printf(diags, "a.ptx:3:5: error: kernel %s: frobnicate.u32 is not supported\n", kernel);
        return AW_ERR_NOT_SUPPORTED;
    }
    if (strcmp(kernel, "big") == 0)
        for (int i = 0; i < 5000000; i++)
            aw_buf_add(out, "big big ", 8);
    return AW_OK;
}

int aw_compiler_compile(struct aw_compiler_module *module, const char *kernel, const struct aw_compile_options *options,
                        enum aw_emit emit, char **ret_bytes, size_t *ret_size, struct aw_kernel_info *ret_info,
                        char **ret_diags)
{
    struct aw_buf out = { 0 }, diags = { 0 };
    aw_buf_printf(&diags, "%s", "");
    int status = obey(kernel, &out, &diags);
    aw_buf_printf(&out, "[%s %s O%u block %u pid %d]", kernel, options->target, options->opt_level, options->block[0],
                  getpid());
    *ret_diags = diags.ptr;
    if (status != AW_OK) {
        aw_buf_fini(&out);
        return status;
    }
    *ret_bytes = out.ptr;
    *ret_size = out.len;
    return AW_OK;
}

/* It has none. */
int aw_compiler_passes(struct aw_compiler_module *module, const char *words, char **ret_diags)
{
    (void)module;
    (void)words;
    *ret_diags = strdup("");
    return *ret_diags ? AW_OK : AW_ERR_OUT_OF_MEMORY;
}
