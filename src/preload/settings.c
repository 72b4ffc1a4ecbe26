/* The settings both objects start from: see preload.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/preload.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"

void aw_preload_settings(const void *inside, char *ret_lib_dir, size_t size, bool *ret_verbose)
{
    const char *env = aw_env(AW_PRELOAD_DIR_VARIABLE), *log = aw_env("ANYWARP_LOG");
    Dl_info info;
    *ret_verbose = log && (strstr(log, "info") || strstr(log, "trace"));
    ret_lib_dir[0] = '\0';
    if (env && env[0] == '/' && strlen(env) < size) {
        strcpy(ret_lib_dir, env);
    } else if (dladdr(inside, &info) && info.dli_fname && strlen(info.dli_fname) < size) {
        strcpy(ret_lib_dir, info.dli_fname);
        char *slash = strrchr(ret_lib_dir, '/');
        strcpy(slash ? slash : ret_lib_dir, slash ? "" : ".");
    }
}
