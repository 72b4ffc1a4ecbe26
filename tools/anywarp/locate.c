/* Where the parts of anywarp lie: see locate.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "locate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload/preload.h"

/* From the directory of the program: one directory for all libraries, or the rooms of a build tree. */
static const char *const lib_places[] = {
    "../lib/anywarp", "../lib/x86_64-linux-gnu/anywarp", "../lib64/anywarp",
    "../lib",         "../lib/x86_64-linux-gnu",         "../lib64",
    "../../src/abi",
};
static const char *const preload_places[] = {
    "../lib/anywarp", "../lib/x86_64-linux-gnu/anywarp", "../lib64/anywarp", "../../src/preload",
};
static const char *const sim_places[] = {
    "../lib/anywarp/simgpu", "../lib/x86_64-linux-gnu/anywarp/simgpu", "../lib64/anywarp/simgpu", "../../tests/simgpu",
};

static const char *const toolkit_places[] = {
    "../libexec/anywarp/toolkit", "../standins",
};

static const char *const gdb_places[] = {
    "../share/anywarp/gdb", "../gdb",
};

/* Absolute path of the directory, among `places`, that holds `file`. */
static bool aw_parts_find(const char *from, const char *const places[], size_t n, const char *file, char ret_dir[PATH_MAX])
{
    char path[2 * PATH_MAX];
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s/%s", from, places[i], file);
        if (access(path, R_OK) != 0 || !realpath(path, ret_dir))
            continue;
        /* The file may be a link into a directory of versions: keep the directory that was looked in. */
        snprintf(path, sizeof path, "%s/%s", from, places[i]);
        if (realpath(path, ret_dir))
            return true;
    }
    ret_dir[0] = '\0';
    return false;
}

static bool aw_parts_join(char ret_path[PATH_MAX], const char *dir, const char *file)
{
    int n = snprintf(ret_path, PATH_MAX, "%s/%s", dir, file);
    bool there = n > 0 && n < PATH_MAX && access(ret_path, R_OK) == 0;
    if (!there)
        ret_path[0] = '\0';
    return there;
}

bool aw_parts_locate(struct aw_parts *ret_parts)
{
    char dir[PATH_MAX];
    memset(ret_parts, 0, sizeof *ret_parts);
    ssize_t n = readlink("/proc/self/exe", ret_parts->program_dir, sizeof ret_parts->program_dir - 1);
    char *slash = n > 0 ? strrchr(ret_parts->program_dir, '/') : NULL;
    if (!slash)
        return false;
    *slash = '\0';
    bool libs = aw_parts_find(ret_parts->program_dir, lib_places, sizeof lib_places / sizeof *lib_places, "libcudart.so.13",
                              ret_parts->lib_dir);
    aw_parts_find(ret_parts->program_dir, sim_places, sizeof sim_places / sizeof *sim_places, "libhsakmt.so.1",
                  ret_parts->sim_dir);
    aw_parts_find(ret_parts->program_dir, toolkit_places, sizeof toolkit_places / sizeof *toolkit_places, "ptxas",
                  ret_parts->toolkit);
    if (aw_parts_find(ret_parts->program_dir, gdb_places, sizeof gdb_places / sizeof *gdb_places, "anywarp.py", dir))
        aw_parts_join(ret_parts->gdb, dir, "anywarp.py");
    if (!aw_parts_find(ret_parts->program_dir, preload_places, sizeof preload_places / sizeof *preload_places,
                       AW_PRELOAD_SONAME, dir))
        return false;
    return aw_parts_join(ret_parts->preload, dir, AW_PRELOAD_SONAME) &&
           aw_parts_join(ret_parts->audit, dir, "libanywarp-audit.so") && libs;
}

void aw_parts_list(const struct aw_parts *parts, bool there, char *ret_names, size_t size)
{
    static const char *const names[] = { "libcuda.so.1", "libcudart.so.11.0", "libcudart.so.12", "libcudart.so.13" };
    size_t used = 0;
    ret_names[0] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names && used < size; i++) {
        char path[PATH_MAX];
        if (aw_parts_join(path, parts->lib_dir, names[i]) == there)
            used += (size_t)snprintf(ret_names + used, size - used, "%s%s", used ? " " : "", names[i]);
    }
}

bool aw_parts_loadable(const struct aw_parts *parts)
{
    return !strchr(parts->preload, ':') && !strchr(parts->lib_dir, ':');
}

const char *aw_parts_preload(const struct aw_parts *parts)
{
    return strchr(parts->preload, ' ') ? AW_PRELOAD_SONAME : parts->preload;
}
