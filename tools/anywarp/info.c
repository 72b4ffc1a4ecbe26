/* `anywarp info`: what is there, which device would serve and why, and where things lie.  Works with parts missing: it then says
 * which.  The result is 1 when CUDA programs could not run. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "anywarp.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "locate.h"
#include "usage.h"
#include "base/env.h"
#include "base/json.h"
#include "base/str.h"
#include "cache/cache.h"
#include "core/device.h"
#include "core/jit_process.h"
#include "provider/hip/diagnose.h"

#ifndef AW_VERSION
#define AW_VERSION "unknown"
#endif

enum { COMPILER_LINE = 128 };

static bool json;
static struct aw_buf out; /* of --json: {"NAME": ["line", ...], ...} */

/* A line with an empty name belongs to the one above. */
static void aw_info_line(const char *name, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void aw_info_line(const char *name, const char *fmt, ...)
{
    char line[PATH_MAX + 256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (!json) {
        printf("%-10s %s\n", name, line);
        return;
    }
    if (*name) {
        aw_buf_printf(&out, out.len ? "],\n  " : "{ ");
        aw_json_cstr(&out, name);
        aw_buf_printf(&out, ": [");
    } else {
        aw_buf_printf(&out, ", ");
    }
    aw_json_cstr(&out, line);
}

static bool aw_info_parts(void)
{
    struct aw_parts parts;
    bool complete = aw_parts_locate(&parts);
    char there[128];
    int version = aw_driver_version();
    aw_parts_list(&parts, true, there, sizeof there);
    aw_info_line("cuda", "driver %d.%d; %s", version / 1000, version % 1000 / 10, there);
    aw_info_line("libraries", "%s", parts.lib_dir[0] ? parts.lib_dir : "not found: libcudart.so.13");
    aw_info_line("preload", "%s", parts.preload[0] ? parts.preload : "not found: libanywarp-preload.so");
    if (!aw_parts_loadable(&parts))
        aw_info_line("", "its path holds a colon, so that no program can be run: move anywarp to a folder without");
    if (!parts.audit[0])
        aw_info_line("audit", "not found: libanywarp-audit.so");
    return complete && aw_parts_loadable(&parts);
}

/* In a child: what the compiler program says of itself, a line; empty where it does not start. */
static void aw_info_ask_compiler(void *ret, const void *path)
{
    int ends[2];
    if (pipe(ends) != 0)
        return;
    if (fork() == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execl(path, path, "--version", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *said = fdopen(ends[0], "r");
    if (said && fgets(ret, COMPILER_LINE, said))
        ((char *)ret)[strcspn(ret, "\n")] = '\0';
}

static bool aw_info_compiler(void)
{
    static char version[COMPILER_LINE];
    char path[PATH_MAX], *why = NULL;
    bool found = aw_jit_find_compiler(path, sizeof path, &why) == AW_OK;
    const char *problem = found ? aw_ask(aw_info_ask_compiler, path, version, sizeof version) : NULL;
    aw_info_line("compiler", "%s", found ? path : why ? why : "not found");
    if (found && !problem && *version)
        aw_info_line("", "%s", version);
    else if (found)
        aw_info_line("", "it does not start%s%s", problem ? ": it " : "", problem ? problem : "");
    free(why);
    return found && *version;
}

static void aw_info_cache(void)
{
    struct aw_cache *cache = aw_cache_default();
    const char *why = aw_cache_prepare(cache), *dir = aw_cache_dir(cache);
    if (why)
        aw_info_line("cache", "none: %s", why);
    else if (aw_cache_max_size(cache))
        aw_info_line("cache", "%s, at most %llu MiB", dir, (unsigned long long)(aw_cache_max_size(cache) >> 20));
    else
        aw_info_line("cache", "%s, no limit", dir);
}

static void aw_info_hip(void)
{
    static struct aw_hip_diagnosis d;
    const char *wish = aw_env_harmless("ANYWARP_DEVICE"), *problem = aw_ask(aw_ask_hip, NULL, &d, sizeof d);
    if (problem)
        aw_info_line("hip", "not available: the HIP runtime %s", problem);
    else
        aw_info_line("hip", "%s%s", d.verdict == AW_HIP_USABLE ? "" : "not available: ", d.text);
    if (d.library[0] && d.version)
        aw_info_line("", "%s, HIP %d.%d", d.library, d.version / 10000000, d.version / 100000 % 100);
    for (int i = 0; i < d.n_devices && i < AW_HIP_DIAGNOSE_DEVICES; i++)
        aw_info_line("", "%d: %s, %s%s%s", i, d.devices[i].name, d.devices[i].arch, d.devices[i].why[0] ? ": " : "",
                     d.devices[i].why);
    if (d.kfd_present || d.render_present)
        aw_info_line("", "/dev/kfd %s, %d of %d render nodes can be opened",
                     !d.kfd_present  ? "is missing"
                     : d.kfd_allowed ? "can be opened"
                                     : "cannot be opened",
                     d.render_allowed, d.render_present);
    if (wish && *wish)
        aw_info_line("", "ANYWARP_DEVICE=%s is set", wish);
}

static bool aw_info_devices(void)
{
    if (aw_core_init() != AW_OK) {
        aw_info_line("device", "none");
        return false;
    }
    aw_info_line("provider", "%s", aw_provider->name);
    for (int i = 0; i < aw_device_count(); i++) {
        const struct aw_device *d = aw_device_find(i);
        aw_info_line("device", "%d: %s", d->ordinal, d->name);
        aw_info_line("", "target %s, compute capability %d.%d, %llu MiB", d->target, d->cc_major, d->cc_minor,
                     (unsigned long long)(d->total_memory >> 20));
    }
    return aw_device_count() > 0;
}

static const char help[] =
    "usage: anywarp info [--json]\n\n"
    "Shows the devices, why they were chosen, where anywarp's parts lie, and versions.\n\n"
    "  --json  an object: a list of lines for each name\n\n"
    "Exit status: 0 CUDA programs can run here, 1 they cannot (`anywarp doctor` says why), 2 wrong usage.\n";

int aw_cmd_info(int argc, char **argv)
{
    json = argc == 2 && !strcmp(argv[1], "--json");
    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
        return aw_usage_help(help);
    if (argc > 1 && !json)
        return aw_usage_wrong("info", help, *argv[1] == '-' ? "unknown option %s" : "'%s' is one word too many",
                              argv[argc > 2 && !strcmp(argv[1], "--json") ? 2 : 1]);
    aw_info_line("anywarp", AW_VERSION);
    bool parts = aw_info_parts();
    bool compiler = aw_info_compiler();
    aw_info_cache();
    aw_info_hip();
    bool devices = aw_info_devices();
    if (json)
        printf("%.*s] }\n", (int)out.len, out.ptr);
    aw_buf_fini(&out);
    return parts && compiler && devices ? 0 : 1;
}
