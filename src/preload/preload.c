/* The LD_PRELOAD object: redirects a statically linked runtime and says what it cannot help with.
 *
 * It has no constructor of consequence when the audit object is there: that one calls `scan` for the program and everything
 * loaded with it before the first constructor, and for what dlopen brings later.  Alone, it looks at what is loaded at start. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "preload/redirect.h"

static char lib_dir[PATH_MAX]; /* of our libraries, without a final slash */
static bool configured, verbose;

/* As aw_log, which is not here: to standard error in one write; no stdio stream, as none may be ready this early. */
__attribute__((format(printf, 3, 4))) static void aw_preload_log(enum aw_log_level level, int code, const char *fmt, ...)
{
    enum { END = 16 }; /* bytes that the code takes */
    static const char *const names[] = { "err", "fixme", "warn", "info", "trace" };
    char text[PATH_MAX + 512];
    va_list ap;
    va_start(ap, fmt);
    int n = snprintf(text, sizeof text, "anywarp: %s: preload: ", names[level]);
    int m = vsnprintf(text + n, sizeof text - (size_t)n - END, fmt, ap);
    va_end(ap);
    n += m < 0 ? 0 : m < (int)sizeof text - n - END ? m : (int)sizeof text - n - END - 1;
    n += snprintf(text + n, END, " [AW%04d]\n", code);
    if (write(STDERR_FILENO, text, (size_t)n) < 0)
        return; /* nowhere to say it */
}

#define aw_preload_say(name, ...) aw_preload_log(AW_ROW(name), ##__VA_ARGS__)

static bool aw_preload_our_file(char path[PATH_MAX], const char *soname)
{
    int n = snprintf(path, PATH_MAX, "%s/%s", lib_dir, soname);
    return n > 0 && n < PATH_MAX && access(path, R_OK) == 0;
}

extern void *aw_redirect_slots[];

void *aw_redirect_resolve(uint32_t slot)
{
    extern const uint32_t aw_redirect_stub_count;
    static void *libs[3];
    uint32_t rows = aw_redirect_stub_count / 3, runtime = slot / rows;
    int saved = errno;
    void *lib = __atomic_load_n(&libs[runtime], __ATOMIC_ACQUIRE);
    char path[PATH_MAX];
    if (!lib) {
        if (!aw_preload_our_file(path, aw_redirect_soname((int)runtime)))
            snprintf(path, sizeof path, "%s", aw_redirect_soname((int)runtime));
        lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!lib) {
            aw_preload_say(PRELOAD_RUNTIME, dlerror());
            abort();
        }
        __atomic_store_n(&libs[runtime], lib, __ATOMIC_RELEASE);
    }
    void *address = dlsym(lib, aw_redirect_name(slot % rows));
    if (!address) {
        aw_preload_say(PRELOAD_FUNCTION, aw_redirect_soname((int)runtime), aw_redirect_name(slot % rows));
        abort();
    }
    __atomic_store_n(&aw_redirect_slots[slot], address, __ATOMIC_RELEASE);
    errno = saved;
    return address;
}

/* Is `path` one of our own libraries, or NVIDIA's shared runtime?  The latter is reported: ours should have taken its place. */
static bool aw_preload_is_runtime(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (!strncmp(name, "libanywarp", 10) || !strncmp(name, "libcuda.so", 10))
        return true;
    if (strncmp(name, "libcudart.so", 12) != 0)
        return false;
    char ours[PATH_MAX], real_ours[PATH_MAX], real[PATH_MAX];
    bool same = aw_preload_our_file(ours, name) && realpath(ours, real_ours) && realpath(path, real) && !strcmp(real, real_ours);
    if (!same)
        aw_preload_say(PRELOAD_OTHER_RUNTIME, path);
    return true;
}

static void aw_preload_redirect(const char *shown, const struct aw_elf *elf, const struct aw_redirect_plan *plan, uintptr_t base)
{
    char path[PATH_MAX];
    if (!aw_preload_our_file(path, aw_redirect_soname(plan->runtime))) {
        aw_preload_say(PRELOAD_LEFT, shown, path);
        return;
    }
    int done = aw_redirect_apply(elf, plan, base);
    if (done < 0)
        aw_preload_say(PRELOAD_REDIRECT, shown, strerror(errno));
    if (done >= 0 && verbose)
        aw_preload_say(PRELOAD_DONE, shown, done, path);
}

/* The program keeps NVIDIA's runtime, and has been told so. */
static bool hindered;

static void aw_preload_scan(const char *path, uintptr_t base)
{
    /* One at a time, under the loader's lock; too large for the stack of a small thread. */
    static struct aw_redirect_plan plan;
    struct aw_elf elf;
    bool program = path[0] == '\0';
    char shown[PATH_MAX];
    ssize_t n = program ? readlink("/proc/self/exe", shown, sizeof shown - 1) : -1;
    if (n >= 0)
        shown[n] = '\0';
    else
        snprintf(shown, sizeof shown, "%s", program ? "the program" : path);
    if ((!program && aw_preload_is_runtime(path)) || !aw_elf_open(&elf, program ? "/proc/self/exe" : path))
        return;
    /* Started by way of the loader's own file, /proc/self/exe is not the program. */
    if (!program || base + elf.header->e_entry == getauxval(AT_ENTRY)) {
        aw_redirect_plan(&elf, &plan);
        if (plan.kind == AW_REDIRECT_STATIC)
            aw_preload_redirect(shown, &elf, &plan, base);
        else if (plan.kind == AW_REDIRECT_STRIPPED)
            aw_preload_say(PRELOAD_STRIPPED, shown, aw_redirect_hindrance(plan.kind));
        else if (plan.kind == AW_REDIRECT_CUT)
            aw_preload_say(PRELOAD_CUT, shown, aw_redirect_hindrance(plan.kind));
        hindered |= program && (plan.kind == AW_REDIRECT_STRIPPED || plan.kind == AW_REDIRECT_CUT);
    }
    aw_elf_close(&elf);
}

static void aw_preload_configure(const char *dir, bool report)
{
    snprintf(lib_dir, sizeof lib_dir, "%s", dir);
    verbose = report;
    configured = true;
}

/* What our libraries took the place of: for those that stand in front of NVIDIA's own and go on to it. */
static struct aw_preload_replaced {
    const char *soname, *path;
} replaced[64];

static void aw_preload_replace(const char *soname, const char *path)
{
    for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++) {
        const char *known = __atomic_load_n(&replaced[i].soname, __ATOMIC_ACQUIRE);
        if (known && !strcmp(known, soname))
            return;
        if (!known) {
            replaced[i].path = path;
            __atomic_store_n(&replaced[i].soname, soname, __ATOMIC_RELEASE);
            return;
        }
    }
}

/* Called by libs/front/original.c, which looks it up by name.  The path, or NULL where it was not asked for by path. */
__attribute__((visibility("default"))) const char *aw_preload_asked(const char *soname);
const char *aw_preload_asked(const char *soname)
{
    for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++) {
        const char *known = __atomic_load_n(&replaced[i].soname, __ATOMIC_ACQUIRE);
        if (!known)
            return NULL;
        if (!strcmp(known, soname))
            return replaced[i].path;
    }
    return NULL;
}

/* Called by src/abi/cuda_device.c, which looks it up by name: that runtime's questions are no news then. */
__attribute__((visibility("default"))) bool aw_preload_hindered(void);
bool aw_preload_hindered(void)
{
    return hindered;
}

__attribute__((visibility("default"))) extern const struct aw_preload_hook aw_preload_hook;
const struct aw_preload_hook aw_preload_hook = { &aw_preload_hook, aw_preload_configure, aw_preload_scan, aw_preload_replace };

static int aw_preload_each(struct dl_phdr_info *info, size_t size, void *arg)
{
    bool *first = arg;
    /* The first entry is the program; the vDSO has no file. */
    if (*first || (info->dlpi_name && info->dlpi_name[0] == '/'))
        aw_preload_scan(*first ? "" : info->dlpi_name, info->dlpi_addr);
    *first = false;
    return 0;
}

__attribute__((constructor)) static void aw_preload_init(void)
{
    char dir[PATH_MAX];
    bool first = true, report;
    if (configured)
        return;
    aw_preload_settings((void *)aw_preload_init, dir, sizeof dir, &report);
    aw_preload_configure(dir, report);
    dl_iterate_phdr(aw_preload_each, &first);
}
