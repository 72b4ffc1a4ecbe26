/* `anywarp doctor`: checks, one line each, whether CUDA programs can run here and on what, and says what to do where not.
 *
 * Whatever may crash or hang in somebody else's library (AMD's runtime, a kernel's launch) happens in a child process with a
 * time limit. The result is 1 when CUDA programs could not run at all, or not with the cache that was asked for; a card that
 * cannot be used is a finding, not a failure, as long as the host device serves and nobody asked for the card. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "anywarp.h"

#include <dlfcn.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "doctor.h"
#include "findings.h"
#include "locate.h"
#include "usage.h"
#include "base/config.h"
#include "base/env.h"
#include "report.h"
#include "cache/cache.h"
#include "core/jit_process.h"
#include "provider/hip/diagnose.h"

/* ---- The checks ---- */

static enum aw_grade check_parts(struct aw_parts *ret_parts)
{
    static const char advice[] = "install anywarp again: bin/anywarp and lib/anywarp/ belong together";
    char missing[128];
    bool all = aw_parts_locate(ret_parts);
    if (all && !aw_parts_loadable(ret_parts))
        return aw_find(AW_BAD, "libraries", "move anywarp to a folder without one: the loader cannot be told of this one",
                       "the path %s holds a colon", ret_parts->preload);
    if (all) {
        enum aw_grade grade = aw_find(AW_GOOD, "libraries", NULL, "%s", ret_parts->lib_dir);
        aw_parts_list(ret_parts, false, missing, sizeof missing);
        return *missing ? aw_find(AW_NOTE, "runtimes", "programs made for these do not start: build and install all of anywarp",
                                  "%s not there", missing)
                        : grade;
    }
    return aw_find(AW_BAD, "libraries", advice, "seen from %s, %s is missing", ret_parts->program_dir,
                   !ret_parts->lib_dir[0]   ? "libcudart.so.13"
                   : !ret_parts->preload[0] ? "libanywarp-preload.so"
                                            : "libanywarp-audit.so");
}

static enum aw_grade check_compiler(void)
{
    char path[PATH_MAX], *why = NULL;
    bool found = aw_jit_find_compiler(path, sizeof path, &why) == AW_OK;
    enum aw_grade grade = found ? aw_find(AW_GOOD, "compiler", NULL, "%s", path)
                                : aw_find(AW_BAD, "compiler", "only kernels that are in the cache already can run", "%s",
                                          why ? why : "not found");
    free(why);
    return grade;
}

/* The user's file of settings, where there is one. */
static void check_config(void)
{
    struct aw_buf problems = { 0 };
    const char *why, *path = aw_config_path(&why);
    aw_config_problems(&problems);
    if (problems.len)
        aw_find(AW_NOTE, "settings",
                why ? "it must be a file of yours that only you can write: chown, chmod go-w"
                    : "`anywarp config` lists what there is",
                "%.*s", (int)strcspn(problems.ptr, "\n"), problems.ptr);
    else if (!why)
        aw_find(AW_GOOD, "settings", NULL, "%s", path);
    aw_buf_fini(&problems);
}

/* A directory that was asked for and cannot be used is an error, though programs run without. */
static enum aw_grade check_cache(void)
{
    const char *wish = aw_env("ANYWARP_CACHE_DIR"), *off = aw_env("ANYWARP_CACHE");
    struct aw_cache *cache = aw_cache_default();
    const char *why = off && !strcmp(off, "0") ? "off (ANYWARP_CACHE=0)" : aw_cache_prepare(cache);
    if (why)
        return aw_find(
            wish && *wish && !off ? AW_BAD : AW_NOTE, "cache",
            "every run compiles its kernels anew; set ANYWARP_CACHE_DIR to a directory that you, and nobody else, can write",
            "%s", why);
    return aw_find(AW_GOOD, "cache", NULL, "%s", aw_cache_dir(cache));
}

/* What to do about each verdict.  docs/amd.md says it at length. */
static const char *advice_for(const struct aw_hip_diagnosis *d, char *buffer, size_t size)
{
    switch (d->verdict) {
    case AW_HIP_USABLE: return NULL;
    case AW_HIP_LIBRARY_MISSING:
        return "for an AMD card install ROCm's HIP runtime (Debian and Ubuntu: apt install libamdhip64-5), or set ROCM_PATH";
    case AW_HIP_LIBRARY_BROKEN: return "see `ldd` of that file; the packages of one ROCm release belong together";
    case AW_HIP_NO_KFD: return "with a card in the machine: modprobe amdgpu; in a container: --device=/dev/kfd --device=/dev/dri";
    case AW_HIP_KFD_DENIED:
        if (d->group_member)
            snprintf(buffer, size,
                     "this process is in group %s already: the file's mode or the container's device rule forbids it", d->group);
        else
            snprintf(buffer, size, "usermod -aG %s USER and log in again; in a container: --group-add %s (or its number)",
                     d->group, d->group);
        return buffer;
    case AW_HIP_NO_DEVICE:
        return "HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES may hide the card; else this ROCm does not know it: `rocminfo`, "
               "`dmesg`";
    case AW_HIP_UNSUPPORTED: return "`anywarp compile --target help X.ptx` names the targets; docs/amd.md lists the cards";
    case AW_HIP_FAILED: return "AMD_LOG_LEVEL=4 makes the HIP runtime tell more; see also `dmesg`";
    }
    return NULL;
}

/* Is code made for another target than the card's own name? */
static bool other_target(const struct aw_hip_device_facts *f)
{
    return f->target[0] && strcmp(f->target, f->arch) != 0;
}

static enum aw_grade check_hip(void)
{
    static struct aw_hip_diagnosis d;
    char buffer[256];
    const char *wish = aw_env_harmless("ANYWARP_DEVICE"), *problem = aw_ask(aw_ask_hip, NULL, &d, sizeof d);
    bool wanted = wish && !strcmp(wish, "hip");
    if (problem)
        return aw_find(wanted ? AW_BAD : AW_NOTE, "amd", "a driver that is half installed? `dmesg` may tell",
                       "the HIP runtime %s", problem);
    enum aw_grade grade = d.verdict == AW_HIP_USABLE ? AW_GOOD : wanted ? AW_BAD : AW_NOTE;
    aw_find(grade, "amd", advice_for(&d, buffer, sizeof buffer), "%s", d.text);
    if (d.library[0] && d.version)
        aw_find_detail("%s, HIP %d.%d", d.library, d.version / 10000000, d.version / 100000 % 100);
    for (int i = 0; i < d.n_devices && i < AW_HIP_DIAGNOSE_DEVICES; i++)
        aw_find_detail("%d: %s, %s%s%s%s%s", i, d.devices[i].name, d.devices[i].arch,
                       other_target(&d.devices[i]) ? ", compiled for " : "",
                       other_target(&d.devices[i]) ? d.devices[i].target : "", d.devices[i].why[0] ? ": " : "", d.devices[i].why);
    if (d.no_atomics > 0)
        aw_find(AW_NOTE, "atomics",
                "another slot, processor or board; programs whose kernels do atomics on pinned or managed memory need it",
                "%d card%s cannot do atomics on host memory: PCIe AtomicOps do not pass on the way", d.no_atomics,
                d.no_atomics == 1 ? "" : "s");
    return grade;
}

/* ---- CUDA's libraries (libs/), and what they compute with */

static void open_blas(void *ret, const void *arg)
{
    static const char *const names[] = { "libopenblas.so.0", "libopenblas.so", "libblas.so.3" };
    const char *wish = aw_env("ANYWARP_BLAS");
    *(char *)ret = '\0';
    if (wish && *wish) {
        snprintf(ret, PATH_MAX, "%s", dlopen(wish, RTLD_LAZY) ? wish : "");
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names && !*(char *)ret; i++)
        if (dlopen(names[i], RTLD_LAZY))
            snprintf(ret, PATH_MAX, "%s", names[i]);
}

static enum aw_grade check_libraries(const struct aw_parts *parts)
{
    static const char *const sonames[] = {
#define AW_LIBRARY(soname) soname,
#include "library_names.inc"
#undef AW_LIBRARY
    };
    char path[2 * PATH_MAX], blas[PATH_MAX] = "", list[1024] = "";
    const char *last = NULL;
    size_t n = 0;
    for (size_t i = 0; i < sizeof sonames / sizeof *sonames; i++) {
        snprintf(path, sizeof path, "%s/%s", parts->lib_dir, sonames[i]);
        if (access(path, R_OK) != 0)
            snprintf(path, sizeof path, "%s/../../libs/%s", parts->lib_dir, sonames[i]); /* a build tree */
        if (access(path, R_OK) != 0 || n >= sizeof list)
            continue;
        /* libcublas.so.11/12/13 */
        const char *version = strrchr(sonames[i], '.');
        size_t stem = (size_t)(version - sonames[i]);
        bool again = last && !strncmp(last, sonames[i], stem + 1) && !strchr(last + stem + 1, '.');
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", again ? "/" : n ? " " : "", again ? version + 1 : sonames[i]);
        last = sonames[i];
    }
    if (!n)
        return aw_find(AW_NOTE, "cuda libs", NULL, "none of CUDA's libraries is installed with anywarp");
    const char *problem = aw_ask(open_blas, NULL, blas, sizeof blas);
    aw_find(AW_GOOD, "cuda libs", NULL, "%s", list);
    if (problem || !blas[0])
        return aw_find(AW_NOTE, "blas", "for cuBLAS install OpenBLAS (Debian and Ubuntu: apt install libopenblas0-pthread)",
                       "the processor's BLAS %s", problem ? problem : "is not installed");
    return aw_find(AW_GOOD, "blas", NULL, "%s", blas);
}

/* ---- A kernel, through the driver library as a program would call it ---- */

static const char smoke_ptx[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry smoke(.param .u64 out)\n{\n"
    ".reg .b64 %rd<3>;\n.reg .b32 %r<3>;\n"
    "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd1, %rd1, %rd2;\n"
    "mul.lo.s32 %r2, %r1, 3;\nst.global.u32 [%rd1], %r2;\nret;\n}\n";

struct smoke {
    int error;     /* CUresult */
    char step[32]; /* that failed, "" when none */
    char device[128];
};

enum { SMOKE_THREADS = 64 };

/* Calls `name` of the library; from then on nothing once a call has failed. */
#define STEP(name, params, ...)                                                  \
    do {                                                                         \
        int(*fn_) params = s->step[0] ? NULL : (int(*) params)dlsym(lib, #name); \
        if (fn_ && (s->error = fn_(__VA_ARGS__)) != 0)                           \
            snprintf(s->step, sizeof s->step, "%s", #name);                      \
        else if (!fn_ && !s->step[0])                                            \
            snprintf(s->step, sizeof s->step, "dlsym %s", #name);                \
    } while (0)

static void smoke(void *ret, const void *lib_path)
{
    struct smoke *s = ret;
    void *lib = dlopen(lib_path, RTLD_NOW | RTLD_LOCAL), *context = NULL, *module = NULL, *function = NULL;
    unsigned long long memory = 0;
    int device = 0, out[SMOKE_THREADS] = { 0 };
    memset(s, 0, sizeof *s);
    if (!lib) {
        snprintf(s->step, sizeof s->step, "dlopen");
        return;
    }
    void *params[] = { &memory };
    STEP(cuInit, (unsigned), 0);
    STEP(cuDeviceGet, (int *, int), &device, 0);
    STEP(cuDeviceGetName, (char *, int, int), s->device, (int)sizeof s->device, device);
    STEP(cuDevicePrimaryCtxRetain, (void **, int), &context, device);
    STEP(cuCtxSetCurrent, (void *), context);
    STEP(cuModuleLoadData, (void **, const void *), &module, smoke_ptx);
    STEP(cuModuleGetFunction, (void **, void *, const char *), &function, module, "smoke");
    STEP(cuMemAlloc_v2, (unsigned long long *, size_t), &memory, sizeof out);
    STEP(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **),
         function, 1, 1, 1, SMOKE_THREADS, 1, 1, 0, NULL, params, NULL);
    STEP(cuMemcpyDtoH_v2, (void *, unsigned long long, size_t), out, memory, sizeof out);
    for (int i = 0; i < SMOKE_THREADS && !s->step[0]; i++)
        if (out[i] != 3 * i)
            snprintf(s->step, sizeof s->step, "wrong result %d", i);
}

static enum aw_grade check_kernel(const struct aw_parts *parts)
{
    char path[PATH_MAX + 16];
    struct smoke s;
    snprintf(path, sizeof path, "%s/libcuda.so.1", parts->lib_dir);
    const char *problem = aw_ask(smoke, path, &s, sizeof s);
    if (problem)
        return aw_find(AW_BAD, "kernel", NULL, "a process that runs a small kernel %s", problem);
    if (s.step[0])
        return aw_find(AW_BAD, "kernel", "ANYWARP_LOG=info tells more", "%s%s%s: CUDA error %d", s.device,
                       s.device[0] ? ": " : "", s.step, s.error);
    return aw_find(AW_GOOD, "kernel", NULL, "compiled and ran on %s", s.device);
}

static const char help[] =
    "usage: anywarp doctor [--json] [--all] [PROGRAM]\n"
          "       anywarp doctor --report[=FILE]\n\n"
          "Says whether CUDA programs can run here, and with PROGRAM (or a library) whether that one can: which CUDA runtime it "
          "has, which\n"
          "libraries it needs, what code is in it, which of its kernels will not compile and why.  PROGRAM is not started.\n\n"
          "  --json           one JSON object: findings (grade ok, note or fail; what; text; advice; details), ok, verdict\n"
          "  --all            compile every kernel of PROGRAM, however many there are\n"
          "  --report[=FILE]  run some thirty kernels and write down what came of each, for those who care for anywarp "
          "(docs/amd.md)\n\n"
          "Exit status: 0 it can run, 1 it cannot, or not all of it, 2 wrong usage.\n";

/* False when CUDA programs cannot run at all; then *ret_parts may be incomplete.  *ret_cache: is the cache as it was asked
 * for? */
static bool check_machine(struct aw_parts *ret_parts, bool *ret_cache)
{
    enum aw_grade worst = check_parts(ret_parts), one;
    bool libraries = worst != AW_BAD;
#define CHECK(call) worst = (one = (call)) > worst ? one : worst
    CHECK(check_compiler());
    CHECK(check_hip());
    if (libraries)
        CHECK(check_kernel(ret_parts));
    if (libraries)
        CHECK(check_libraries(ret_parts));
#undef CHECK
    check_config();
    *ret_cache = check_cache() != AW_BAD;
    if (ret_parts->sim_dir[0])
        aw_find(AW_GOOD, "simulated", NULL, "`anywarp run --device=sim:gfx1030 PROGRAM` runs on a simulated Radeon");
    return worst != AW_BAD;
}

int aw_cmd_doctor(int argc, char **argv)
{
    static const struct option options[] = { { "json", no_argument, NULL, 'j' },
                                             { "all", no_argument, NULL, 'a' },
                                             { "report", optional_argument, NULL, 'r' },
                                             { "help", no_argument, NULL, 'h' },
                                             { 0 } };
    struct aw_parts parts;
    const char *report = NULL;
    bool json = false, all = false, cache;
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
        if (c == 'h')
            return aw_usage_help(help);
        if (c == '?' || c == ':' || (c == 'r' && optarg && !*optarg))
            return aw_usage_option("doctor", help, c == 'r' ? ':' : c, argv);
        json |= c == 'j';
        all |= c == 'a';
        if (c == 'r')
            report = optarg ? optarg : "";
    }
    const char *program = argv[optind];
    if (argc - optind > 1)
        return aw_usage_wrong("doctor", help, "one program at a time");
    if (report && (program || json))
        return aw_usage_wrong("doctor", help, "--report is for itself");
    if (all && !program)
        return aw_usage_wrong("doctor", help, "--all needs a program");
    if (report && aw_parts_locate(&parts))
        return aw_report(&parts, *report ? report : NULL);
    if (json)
        aw_findings_json();
    bool able = check_machine(&parts, &cache);
    if (able && program)
        return !aw_doctor_program(&parts, program, all) || !cache;
    aw_findings_end(able && cache, !able   ? "CUDA programs cannot run here as things are."
                                   : cache ? "CUDA programs can run here."
                                           : "CUDA programs can run here, without the cache that was asked for.");
    return !able || !cache;
}
