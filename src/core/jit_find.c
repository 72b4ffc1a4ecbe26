/* Where the compiler program is: relative to the object this code is part of, so that an installed tree can be moved. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/env.h"
#include "base/file.h"
#include "core/jit_process.h"

/* From the directory of libanywarp.so, or of the program it is linked into. */
static const char *const places[] = {
    "../libexec/anywarp/anywarp-compiler",    /* prefix/lib, prefix/bin */
    "../../libexec/anywarp/anywarp-compiler", /* prefix/lib/x86_64-linux-gnu, prefix/lib/anywarp */
    "anywarp-compiler",                       /* all in one directory */
    "../../tools/compiler/anywarp-compiler",  /* build tree: src/core, src/abi, tools/anywarp */
    "../tools/compiler/anywarp-compiler",     /* build tree: libs */
    "../../../tools/compiler/anywarp-compiler", /* build tree: src/provider/host, tests/unit/core */
};

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Of a program found by PATH the loader only knows its bare name. */
static bool own_dir(char *ret_path, size_t size)
{
    if (aw_self_dir((const void *)(uintptr_t)aw_jit_find_compiler, ret_path, size))
        return true;
    ssize_t n = readlink("/proc/self/exe", ret_path, size);
    if (n <= 0 || (size_t)n >= size)
        return false;
    ret_path[n] = '\0';
    char *slash = strrchr(ret_path, '/');
    if (slash)
        *slash = '\0';
    return slash != NULL;
}

enum aw_status aw_jit_find_compiler(char *ret_path, size_t size, char **ret_why)
{
    struct aw_buf why = { 0 };
    char dir[3500], path[4096];
    const char *named = aw_env("ANYWARP_COMPILER");
    if (named && *named) {
        if (is_program(named) && strlen(named) < size) {
            strcpy(ret_path, named);
            return AW_OK;
        }
        aw_buf_printf(&why, "ANYWARP_COMPILER=%s is no program", named);
    } else if (!own_dir(dir, sizeof dir)) {
        aw_buf_printf(&why, "the PTX compiler was not found: the place of libanywarp.so is not known; set ANYWARP_COMPILER");
    } else {
        aw_buf_printf(&why, "the PTX compiler was not found; set ANYWARP_COMPILER; tried");
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            int n = snprintf(path, sizeof path, "%s/%s", dir, places[i]);
            if (n > 0 && (size_t)n < sizeof path && (size_t)n < size && is_program(path)) {
                char *plain = realpath(path, NULL);
                strcpy(ret_path, plain && strlen(plain) < size ? plain : path);
                free(plain);
                aw_buf_fini(&why);
                return AW_OK;
            }
            aw_buf_printf(&why, "%s %s", i ? "," : "", path);
        }
    }
    *ret_why = why.failed ? NULL : why.ptr;
    return AW_ERR_JIT_NOT_FOUND;
}
