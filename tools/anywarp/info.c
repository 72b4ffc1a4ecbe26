/* `anywarp info`: what is there, which device would serve and why, and where things lie.  Works with parts missing: it then says
 * which.  The result is 1 when CUDA programs could not run. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "anywarp.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "locate.h"
#include "base/env.h"
#include "cache/cache.h"
#include "core/device.h"
#include "core/jit_process.h"
#include "provider/hip/diagnose.h"

#ifndef AW_VERSION
#define AW_VERSION "unknown"
#endif

static void aw_info_line(const char *name, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void aw_info_line(const char *name, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    printf("%-10s ", name);
    vprintf(fmt, ap);
    putchar('\n');
    va_end(ap);
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
    if (!parts.audit[0])
        aw_info_line("audit", "not found: libanywarp-audit.so");
    return complete;
}

static bool aw_info_compiler(void)
{
    char path[PATH_MAX], *why = NULL;
    bool found = aw_jit_find_compiler(path, sizeof path, &why) == AW_OK;
    aw_info_line("compiler", "%s", found ? path : why ? why : "not found");
    free(why);
    return found;
}

static void aw_info_cache(void)
{
    const struct aw_cache *cache = aw_cache_default();
    const char *dir = aw_cache_dir(cache);
    if (!dir)
        aw_info_line("cache", "off");
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

int aw_cmd_info(int argc, char **argv)
{
    if (argc > 1) {
        bool help = !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h");
        fputs("usage: anywarp info\n", help ? stdout : stderr);
        return help ? 0 : 2;
    }
    aw_info_line("anywarp", AW_VERSION);
    bool parts = aw_info_parts();
    bool compiler = aw_info_compiler();
    aw_info_cache();
    aw_info_hip();
    bool devices = aw_info_devices();
    return parts && compiler && devices ? 0 : 1;
}
