/* `anywarp doctor --report[=FILE]`: one text for whoever has a card that no test has seen yet, to send: what is installed,
 * what the devices are, and what a few dozen kernels of ours make of them.  It names no user, no machine and no path outside
 * anywarp's and the driver's libraries.
 *
 * Each test has a process of its own with a time limit, so that what crashes or hangs is one line of the report. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/env.h"
#include "base/log.h"
#include "report.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "anywarp.h"
#include "ask.h"
#include "locate.h"
#include "provider/hip/diagnose.h"

enum { TEST_SECONDS = 120, DYING_SECONDS = 5, OUTPUT = 1 << 14 };

/* ---- In the test's process */

double report_now(void)
{
    return (double)aw_clock_ns() * 1e-6;
}

void report_say(struct report_test *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(t->result->text, sizeof t->result->text, fmt, ap);
    va_end(ap);
}

bool report_fail(struct report_test *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(t->result->text, sizeof t->result->text, fmt, ap);
    va_end(ap);
    return false;
}

bool report_load(struct report_test *t, const char *text)
{
    TRY(t, cuModuleLoadData, &t->module, text);
    return true;
}

bool report_launch_error(struct report_test *t, const char *kernel, unsigned blocks, unsigned threads, const uint64_t *args,
                         int *ret_error)
{
    void *function = NULL, *params[] = { (void *)(uintptr_t)args, (void *)(uintptr_t)(args ? args + 1 : NULL) };
    double begin = report_now();
    TRY(t, cuModuleGetFunction, &function, t->module, kernel);
    TRY(t, cuLaunchKernel, function, blocks, 1, 1, threads, 1, 1, 0, NULL, params, NULL);
    *ret_error = t->cu.cuCtxSynchronize();
    double ms = report_now() - begin;
    *(t->result->first_ms ? &t->result->ms : &t->result->first_ms) = ms;
    return true;
}

bool report_launch(struct report_test *t, const char *kernel, unsigned blocks, unsigned threads, const uint64_t *args)
{
    int error = 0;
    if (!report_launch_error(t, kernel, blocks, threads, args, &error))
        return false;
    return !error || report_fail(t, "kernel %s: CUDA error %d", kernel, error);
}

bool report_memory(struct report_test *t, size_t bytes, uint64_t *ret_address)
{
    TRY(t, cuMemAlloc_v2, ret_address, bytes);
    TRY(t, cuMemsetD32_v2, *ret_address, 0, bytes / 4);
    return true;
}

/* The library, and device number 0 of it. */
static bool test_open(struct report_test *t, const char *library)
{
    char name[128] = "";
    void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        return report_fail(t, "%s cannot be loaded", library);
#define X(fn, params)                                                 \
    if (!(t->cu.fn = (int(*) params)dlsym(lib, #fn)))                 \
        return report_fail(t, "%s is not in the library", #fn);
    REPORT_CUDA(X)
#undef X
    TRY(t, cuInit, 0);
    TRY(t, cuDeviceGet, &t->device, 0);
    TRY(t, cuDeviceGetName, name, (int)sizeof name, t->device);
    TRY(t, cuDevicePrimaryCtxRetain, &t->context, t->device);
    TRY(t, cuCtxSetCurrent, t->context);
    t->simulated = strstr(name, "Simulated") != NULL;
    return true;
}

/* What devices there are, as lines on standard output. */
static bool devices_print(struct report_test *t)
{
    static const struct {
        const char *name;
        int attr;
    } attrs[] = {
        { "multiprocessors", 16 }, { "kHz", 13 },         { "memory kHz", 36 },         { "bus bits", 37 },
        { "L2 bytes", 38 },        { "warp", 10 },        { "shared bytes", 97 },       { "threads per multiprocessor", 39 },
        { "integrated", 18 },      { "managed", 83 },     { "concurrent managed", 89 }, { "pageable", 88 },
        { "cooperative", 95 },     { "host atomics", 86 }
    };
    int count = 0, version = 0;
    TRY(t, cuDriverGetVersion, &version);
    TRY(t, cuDeviceGetCount, &count);
    printf("cuda       driver interface %d.%d, %d device%s\n", version / 1000, version / 10 % 100, count, count == 1 ? "" : "s");
    for (int i = 0; i < count; i++) {
        char name[128] = "";
        size_t bytes = 0;
        int device = 0;
        TRY(t, cuDeviceGet, &device, i);
        TRY(t, cuDeviceGetName, name, (int)sizeof name, device);
        TRY(t, cuDeviceTotalMem_v2, &bytes, device);
        printf("device %d   %s, %zu MiB", i, name, bytes >> 20);
        for (size_t k = 0; k < sizeof attrs / sizeof *attrs; k++) {
            int value = 0;
            if (!t->cu.cuDeviceGetAttribute(&value, attrs[k].attr, device))
                printf(", %s %d", attrs[k].name, value);
        }
        putchar('\n');
    }
    return true;
}

static void test_run(struct report_result *result, const struct report_row *row, const char *library)
{
    struct report_test t = { .result = result };
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    bool right = test_open(&t, library) && (row->fn == devices_print || report_load(&t, report_kernels)) && row->fn(&t);
    fflush(stdout);
    if (result->verdict == REPORT_NONE || !right)
        result->verdict = right ? REPORT_OK : REPORT_WRONG;
    /* The library's own end of the process belongs to what is tested. */
    exit(0);
}

/* ---- In the tool's */

struct ended {
    bool late;
    int status;
    char output[OUTPUT];     /* both of the process's streams */
};

static void output_read(FILE *file, struct ended *e)
{
    rewind(file);
    e->output[fread(e->output, 1, sizeof e->output - 1, file)] = '\0';
    fclose(file);
}

/* A process that does not even die when it is killed (a card's driver may hold it) is left behind. */
static bool wait_until(pid_t pid, int *ret_status, int seconds)
{
    for (double end = report_now() + seconds * 1e3; report_now() < end;
         nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL)) {
        pid_t got = waitpid(pid, ret_status, WNOHANG);
        if (got == pid || (got < 0 && errno != EINTR))
            return true;
    }
    return false;
}

static bool test_fork(const struct report_row *row, const char *library, struct report_result *result, struct ended *e)
{
    FILE *output = tmpfile();
    memset(result, 0, sizeof *result);
    *e = (struct ended){ 0 };
    fflush(NULL);
    pid_t pid = output ? fork() : -1;
    if (pid == 0) {
        dup2(fileno(output), 1);
        dup2(fileno(output), 2);
        test_run(result, row, library);
    }
    if (pid < 0) {
        if (output)
            fclose(output);
        return false;
    }
    e->late = !wait_until(pid, &e->status, TEST_SECONDS);
    if (e->late) {
        kill(pid, SIGKILL);
        (void)wait_until(pid, &e->status, DYING_SECONDS);
    }
    output_read(output, e);
    return true;
}

/* Lines of what the process printed, each behind two spaces and a bar. */
static void output_print(FILE *out, const char *text)
{
    for (const char *end; *text; text = *end ? end + 1 : end) {
        end = strchrnul(text, '\n');
        fprintf(out, "             | %.*s\n", (int)(end - text), text);
    }
}

static const char *const words[] = { "NO END", "ok", "WRONG", "left out" };

/* Did it go well? */
static bool test_report(FILE *out, const struct report_row *row, const struct report_result *r, const struct ended *e)
{
    enum report_verdict verdict = e->late || e->status ? REPORT_NONE : r->verdict;
    bool lacks = verdict == REPORT_OK && row->needs && !strstr(e->output, row->needs);
    if (lacks)
        verdict = REPORT_WRONG;
    fprintf(out, "%-8s %-22s", words[verdict], row->name);
    if (r->first_ms)
        fprintf(out, " %8.2f ms", r->first_ms);
    if (r->ms)
        fprintf(out, ", again %.3f ms", r->ms);
    fprintf(out, "%s%s", *r->text ? "; " : "", r->text);
    if (lacks)
        fputs("; it did not print what it should", out);
    if (e->late)
        fprintf(out, "; killed after %d s", TEST_SECONDS);
    else if (WIFSIGNALED(e->status))
        fprintf(out, "; ended with signal %d (%s)", WTERMSIG(e->status), strsignal(WTERMSIG(e->status)));
    else if (WEXITSTATUS(e->status))
        fprintf(out, "; ended with status %d", WEXITSTATUS(e->status));
    fputc('\n', out);
    if (*e->output && (verdict != REPORT_OK || !row->needs))
        output_print(out, e->output);
    return verdict == REPORT_OK || verdict == REPORT_LEFT_OUT;
}

/* The first line of the file that begins with `key`, from behind its colon. */
static void line_print(FILE *out, const char *what, const char *path, const char *key)
{
    char line[256];
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        char *value = *key ? strchr(line, ':') : NULL;
        fprintf(out, "%-10s %s", what, value ? value + 1 + strspn(value + 1, " \t") : line);
        break;
    }
    if (f)
        fclose(f);
}

static void head_print(FILE *out)
{
    static struct aw_hip_diagnosis d;
    struct utsname u;
    time_t now = time(NULL);
    char date[32] = "";
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    fprintf(out, "anywarp    %s, report of %s\n", AW_VERSION, date);
    if (uname(&u) == 0)
        fprintf(out, "system     %s %s %s\n", u.sysname, u.release, u.machine);
    line_print(out, "processor", "/proc/cpuinfo", "model name");
    line_print(out, "amdgpu", "/sys/module/amdgpu/version", "");
    const char *problem = aw_ask(aw_ask_hip, NULL, &d, sizeof d), *device = aw_env("ANYWARP_DEVICE");
    fprintf(out, "asked for  %s\n", device ? device : "nothing (ANYWARP_DEVICE is not set)");
    if (problem) {
        fprintf(out, "hip        the HIP runtime %s\n", problem);
        return;
    }
    fprintf(out, "hip        %s: %s\n", aw_hip_verdict_text(d.verdict), d.text);
    if (d.version)
        fprintf(out, "hip        %s, version %d\n", d.library, d.version);
    if (d.no_atomics >= 0)
        fprintf(out, "hip        %d without atomics to the host\n", d.no_atomics);
    for (int i = 0; i < d.n_devices && i < AW_HIP_DIAGNOSE_DEVICES; i++)
        fprintf(out, "card %d     %s, %s, compiled for %s%s\n", i, d.devices[i].name, d.devices[i].arch, d.devices[i].target,
                d.devices[i].why);
}

static int tests_run(FILE *out, const char *library)
{
    static struct ended e;
    struct report_result *result = mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    static const struct report_row devices = { "devices", devices_print, NULL };
    unsigned wrong = 0;
    if (result == MAP_FAILED)
        return -1;
    if (test_fork(&devices, library, result, &e)) {
        bool right = result->verdict == REPORT_OK;
        fputs(right ? e.output : "", out);
        if (!right)
            wrong += !test_report(out, &devices, result, &e);
    }
    fputc('\n', out);
    for (size_t i = 0; i < report_n_rows; i++) {
        if (!test_fork(&report_rows[i], library, result, &e))
            return -1;
        bool right = test_report(out, &report_rows[i], result, &e);
        wrong += !right;
        fflush(out);
        if (out != stdout)
            printf("%-8s %s\n", right ? "ok" : "WRONG", report_rows[i].name);
    }
    munmap(result, sizeof *result);
    return (int)wrong;
}

int aw_report(const struct aw_parts *parts, const char *path)
{
    char library[PATH_MAX + 16];
    FILE *out = path ? fopen(path, "we") : stdout;
    if (!out) {
        aw_tell("anywarp doctor", REPORT_OPEN, path, strerror(errno));
        return 2;
    }
    snprintf(library, sizeof library, "%s/libcuda.so.1", parts->lib_dir);
    head_print(out);
    int wrong = tests_run(out, library);
    if (wrong < 0)
        fprintf(out, "\nno process can be started: %s\n", strerror(errno));
    else
        fprintf(out, "\n%zu tests, %d wrong\n", report_n_rows, wrong);
    bool written = !ferror(out) && (out == stdout || fclose(out) == 0);
    if (!written)
        aw_tell("anywarp doctor", REPORT_WRITE);
    else if (path)
        printf("%s is the report; docs/amd.md says where to send it.\n", path);
    return wrong || !written;
}
