/* The client of the compiler process against the real compiler process around a stand-in compiler (fake_compiler.c),
 * and against programs that misbehave (bad_compiler.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "core/jit.h"
#include "core/jit_process.h"

static char cache_dir[] = "/tmp/aw-jit-test-XXXXXX";

static void setup(void)
{
    cr_assert(mkdtemp(cache_dir) != NULL);
    setenv("ANYWARP_CACHE_DIR", cache_dir, 1);
    setenv("ANYWARP_COMPILER", getenv("AW_FAKE_COMPILER"), 1);
    unsetenv("ANYWARP_COMPILE_TIMEOUT");
}

static void teardown(void)
{
    char command[128];
    aw_jit_shutdown();
    snprintf(command, sizeof command, "rm -rf '%s'", cache_dir);
    cr_assert(system(command) == 0);
}

TestSuite(jit, .init = setup, .fini = teardown, .timeout = 60);

static double now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static enum aw_status try_open(const char *text, struct aw_jit_module **ret_module, char **ret_diags)
{
    struct aw_text t = { text, strlen(text), "a.ptx" };
    return aw_jit_open(&t, 1, ret_module, ret_diags);
}

static struct aw_jit_module *open_text(const char *text)
{
    struct aw_jit_module *module = NULL;
    char *diags = NULL;
    enum aw_status status = try_open(text, &module, &diags);
    cr_assert(status == AW_OK, "%s: %s", aw_status_name(status), diags);
    return module;
}

static const char *kernel_name(const struct aw_jit_module *module, uint32_t i)
{
    const struct aw_manifest *m = aw_jit_manifest(module);
    const struct aw_manifest_kernel *k = (const void *)((const char *)m + m->kernels);
    return (const char *)m + m->strings + k[i].name;
}

static enum aw_status try_compile(struct aw_jit_module *module, const char *name, uint32_t block, char **ret_bytes,
                                  char **ret_diags)
{
    struct aw_compile_options options = { .target = "host:test", .opt_level = 3, .block = { block } };
    size_t size = 0;
    *ret_bytes = NULL;
    for (uint32_t i = 0; i < aw_jit_manifest(module)->n_kernels; i++)
        if (strcmp(kernel_name(module, i), name) == 0)
            return aw_jit_compile(module, i, &options, ret_bytes, &size, ret_diags);
    cr_assert_fail("no kernel %s", name);
    return AW_ERR_UNKNOWN;
}

/* The object of a kernel that must compile; the caller frees. */
static char *compile(struct aw_jit_module *module, const char *name, uint32_t block)
{
    char *bytes, *diags = NULL;
    enum aw_status status = try_compile(module, name, block, &bytes, &diags);
    cr_assert(status == AW_OK, "%s: %s: %s", name, aw_status_name(status), diags);
    return bytes;
}

/* The compile must fail so, with these words; and another kernel must compile afterwards. */
static void expect_failure(struct aw_jit_module *module, const char *name, enum aw_status expected, const char *words,
                           const char *more)
{
    char *bytes, *diags = NULL;
    enum aw_status status = try_compile(module, name, 0, &bytes, &diags);
    cr_assert(status == expected, "%s: %s: %s", name, aw_status_name(status), diags);
    cr_assert(diags && strstr(diags, words), "%s: no '%s' in: %s", name, words, diags);
    cr_assert(strstr(diags, more), "%s: no '%s' in: %s", name, more, diags);
    cr_assert(bytes == NULL);
    free(diags);
    free(compile(module, "good", 0));
}

/* The process's number that an object of the stand-in tells. */
static pid_t pid_in(const char *object)
{
    const char *at = strstr(object, "pid ");
    cr_assert(at != NULL, "%s", object);
    return (pid_t)atol(at + 4);
}

/* True when the process ends within some seconds. */
static bool ends(pid_t pid)
{
    for (int i = 0; i < 500; i++) {
        char path[64], state = 0;
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        FILE *f = fopen(path, "r");
        if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
            state = 0;
        if (f)
            fclose(f);
        if (!f || state == 'Z')
            return true;
        usleep(10000);
    }
    return false;
}

Test(jit, manifest_and_object)
{
    struct aw_jit_module *m = open_text("zeta alpha");
    cr_assert_eq(aw_jit_manifest(m)->n_kernels, 2);
    cr_assert_str_eq(kernel_name(m, 0), "alpha");
    char *object = compile(m, "zeta", 0);
    cr_assert(strstr(object, "[zeta host:test O3 block 0"), "%s", object);
    free(object);
    aw_jit_close(m);
}

Test(jit, several_texts_make_one_module)
{
    struct aw_text texts[3] = { { "one two", 7, "1.ptx" }, { "threeX", 5, NULL }, { "four", 4, "4.ptx" } };
    struct aw_jit_module *m;
    cr_assert(aw_jit_open(texts, 3, &m, NULL) == AW_OK);
    cr_assert_eq(aw_jit_manifest(m)->n_kernels, 4);
    free(compile(m, "three", 0));
    aw_jit_close(m);
}

Test(jit, malformed_text_is_told)
{
    struct aw_jit_module *m = NULL;
    char *diags = NULL;
    cr_assert(try_open("!", &m, &diags) == AW_ERR_INVALID_PTX);
    cr_assert(m == NULL);
    cr_assert_str_eq(diags, "a.ptx:1:1: error: no kernel begins with '!'\n");
    free(diags);
    cr_assert(try_open("!", &m, NULL) == AW_ERR_INVALID_PTX);
    cr_assert(aw_jit_open(NULL, 0, &m, NULL) == AW_ERR_INVALID_VALUE);
}

Test(jit, warm_needs_no_compiler)
{
    struct aw_jit_module *m = open_text("warm");
    char *first = compile(m, "warm", 0);
    aw_jit_close(m);
    aw_jit_shutdown();
    setenv("ANYWARP_COMPILER", "/nonexistent", 1);
    m = open_text("warm");
    char *second = compile(m, "warm", 0);
    cr_assert_str_eq(first, second);
    /* another block shape is another object, and there the compiler is missed */
    char *diags, *bytes;
    cr_assert(try_compile(m, "warm", 64, &bytes, &diags) == AW_ERR_JIT_NOT_FOUND);
    cr_assert(strstr(diags, "/nonexistent"), "%s", diags);
    free(diags);
    free(first);
    free(second);
    aw_jit_close(m);
}

Test(jit, cached_manifest_with_a_fresh_process)
{
    struct aw_jit_module *m = open_text("late other");
    aw_jit_close(m);
    aw_jit_shutdown();
    m = open_text("late other"); /* from the cache; the process does not know the module */
    free(compile(m, "late", 0));
    aw_jit_close(m);
}

Test(jit, options_are_part_of_the_key)
{
    struct aw_jit_module *m = open_text("k");
    char *a = compile(m, "k", 0), *b = compile(m, "k", 32);
    cr_assert(strstr(a, "block 0") && strstr(b, "block 32"), "%s %s", a, b);
    struct aw_compile_options options = { .target = "gfx1030", .opt_level = 1 };
    char *c;
    size_t size;
    cr_assert(aw_jit_compile(m, 0, &options, &c, &size, NULL) == AW_OK);
    cr_assert(strstr(c, "gfx1030 O1"), "%s", c);
    cr_assert(aw_jit_compile(m, 1, &options, &c, &size, NULL) == AW_ERR_INVALID_VALUE);
    free(a);
    free(b);
    free(c);
    aw_jit_close(m);
}

Test(jit, unsupported_kernel_alone_fails)
{
    struct aw_jit_module *m = open_text("good unsupported1");
    expect_failure(m, "unsupported1", AW_ERR_NOT_SUPPORTED, "a.ptx:3:5: error", "frobnicate");
    aw_jit_close(m);
}

Test(jit, death_is_told)
{
    struct aw_jit_module *m = open_text("good crash kill9 exit");
    expect_failure(m, "crash", AW_ERR_OS, "killed by signal 11", "compiling kernel crash (a.ptx)");
    expect_failure(m, "kill9", AW_ERR_OS, "killed by signal 9", "compiling kernel kill9 (a.ptx)");
    expect_failure(m, "exit", AW_ERR_OS, "exited with status 3", "compiling kernel exit (a.ptx)");
    aw_jit_close(m);
    char *diags = NULL;
    cr_assert(try_open("crash-open", &m, &diags) == AW_ERR_OS);
    cr_assert(strstr(diags, "killed by signal 11") && strstr(diags, "reading a.ptx"), "%s", diags);
    free(diags);
}

Test(jit, abort_tells_what_was_said)
{
    struct aw_jit_module *m = open_text("good abort");
    expect_failure(m, "abort", AW_ERR_OS, "killed by signal 6", "LLVM ERROR: cannot select: something");
    char *bytes, *diags;
    cr_assert(try_compile(m, "abort", 0, &bytes, &diags) == AW_ERR_OS);
    cr_assert(strlen(diags) < 9000, "%zu bytes", strlen(diags));
    free(diags);
    aw_jit_close(m);
}

Test(jit, supervisor_killed)
{
    struct aw_jit_module *m = open_text("good kill-parent");
    expect_failure(m, "kill-parent", AW_ERR_OS, "ended without a word", "compiling kernel kill-parent");
    aw_jit_close(m);
}

static void *kill_soon(void *user)
{
    usleep(150000);
    kill(*(pid_t *)user, SIGKILL);
    return NULL;
}

Test(jit, killed_from_outside_in_the_middle)
{
    struct aw_jit_module *m = open_text("good hang");
    char *object = compile(m, "good", 0);
    pid_t pid = pid_in(object);
    pthread_t thread;
    pthread_create(&thread, NULL, kill_soon, &pid);
    expect_failure(m, "hang", AW_ERR_OS, "killed by signal 9", "compiling kernel hang");
    pthread_join(thread, NULL);
    free(object);
    aw_jit_close(m);
}

Test(jit, killed_while_idle_is_no_error)
{
    struct aw_jit_module *m = open_text("good next");
    char *object = compile(m, "good", 0), *next;
    kill(pid_in(object), SIGKILL);
    cr_assert(ends(pid_in(object)));
    usleep(50000);
    next = compile(m, "next", 0);
    cr_assert(pid_in(next) != pid_in(object));
    free(object);
    free(next);
    aw_jit_close(m);
}

Test(jit, hanging_is_ended_by_the_clock)
{
    setenv("ANYWARP_COMPILE_TIMEOUT", "1", 1);
    struct aw_jit_module *m = open_text("good hang");
    char *object = compile(m, "good", 0);
    double begin = now();
    expect_failure(m, "hang", AW_ERR_OS, "did not finish within 1 s", "compiling kernel hang");
    cr_assert(now() - begin < 5);
    cr_assert(ends(pid_in(object)), "the hanging process must be dead");
    free(object);
    aw_jit_close(m);
}

static const struct {
    const char *how, *words;
    enum aw_status status;
} bad[] = {
    { "dies", "ended without a word", AW_ERR_OS },
    { "garbage", "it is no anywarp-compiler", AW_ERR_OS },
    { "version", "another version", AW_ERR_OS },
    { "magic", "(magic)", AW_ERR_OS },
    { "operation", "(operation)", AW_ERR_OS },
    { "status", "(status)", AW_ERR_OS },
    { "huge", "(size)", AW_ERR_OS },
    { "empty", "success without a result", AW_ERR_OS },
    { "manifest", "broken manifest", AW_ERR_OS },
    { "half", "ended without a word", AW_ERR_OS },
    { "halfhang", "did not finish within 1 s", AW_ERR_OS },
    { "hangs", "did not finish within 1 s", AW_ERR_OS },
    { "mute", "did not finish within 1 s", AW_ERR_OS },
};

Test(jit, bad_programs)
{
    setenv("ANYWARP_COMPILE_TIMEOUT", "1", 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct aw_jit_module *m = NULL;
        char *diags = NULL;
        setenv("ANYWARP_COMPILER", getenv("AW_BAD_COMPILER"), 1);
        setenv("AW_TEST_BAD", bad[i].how, 1);
        enum aw_status status = try_open("anything", &m, &diags);
        cr_assert(status == bad[i].status, "%s: %s: %s", bad[i].how, aw_status_name(status), diags);
        cr_assert(strstr(diags, bad[i].words), "%s: %s", bad[i].how, diags);
        free(diags);
        aw_jit_shutdown();
    }
    setenv("ANYWARP_COMPILER", getenv("AW_FAKE_COMPILER"), 1);
    aw_jit_close(open_text("anything"));
}

Test(jit, not_a_program)
{
    struct aw_jit_module *m;
    char *diags, path[64];
    snprintf(path, sizeof path, "%s/text", cache_dir);
    int fd = open(path, O_CREAT | O_WRONLY, 0700);
    cr_assert(write(fd, "\1\2\3", 3) == 3);
    close(fd);
    setenv("ANYWARP_COMPILER", path, 1);
    cr_assert(try_open("x", &m, &diags) == AW_ERR_JIT_NOT_FOUND);
    cr_assert(strstr(diags, path) && strstr(diags, strerror(ENOEXEC)), "%s", diags);
    free(diags);
    setenv("ANYWARP_COMPILER", "", 1);
    char found[4096], *why = NULL;
    if (aw_jit_find_compiler(found, sizeof found, &why) == AW_ERR_JIT_NOT_FOUND)
        cr_assert(strstr(why, "libexec/anywarp/anywarp-compiler"), "%s", why);
    else
        cr_assert(access(found, X_OK) == 0);
    free(why);
}

/* ---- What the program must not notice ---- */

static volatile sig_atomic_t signals;

static void count_signal(int sig)
{
    signals++;
}

/* Where there is room for no further process the compiler has been found, and what is wrong is said; after a moment there may be
 * room. */
static int start_without_room(enum aw_status *ret_status, char *ret_why, size_t size)
{
    struct aw_jit_process *process;
    char *why = NULL;
    if (setrlimit(RLIMIT_NPROC, &(struct rlimit){ 0, 0 }) != 0)
        return 2;
    *ret_status = aw_jit_process_start(getenv("AW_FAKE_COMPILER"), &process, &why);
    snprintf(ret_why, size, "%s", why ? why : "");
    free(why);
    return 0;
}

Test(jit, too_many_processes)
{
    int ends[2];
    struct {
        enum aw_status status;
        double took;
        char why[500];
    } said = { 0 };
    cr_assert_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) { /* root has no limit: become nobody */
        double begin = now();
        int failed = geteuid() == 0 && setuid(65534) != 0 ? 3 : start_without_room(&said.status, said.why, sizeof said.why);
        said.took = now() - begin;
        _exit(failed ? failed : write(ends[1], &said, sizeof said) == (ssize_t)sizeof said ? 0 : 4);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0, "status %x", status);
    cr_assert_eq(read(ends[0], &said, sizeof said), (ssize_t)sizeof said);
    cr_assert_eq(said.status, AW_ERR_OS, "%s: %s", aw_status_name(said.status), said.why);
    cr_assert(strstr(said.why, strerror(EAGAIN)), "%s", said.why);
    cr_assert(said.took >= 0.3, "%g s: it was not tried again", said.took);
}

Test(jit, no_child_and_no_signal)
{
    struct sigaction action = { .sa_handler = count_signal };
    sigaction(SIGCHLD, &action, NULL);
    sigaction(SIGPIPE, &action, NULL);
    struct aw_jit_module *m = open_text("good crash");
    expect_failure(m, "crash", AW_ERR_OS, "signal 11", "");
    errno = 0;
    cr_assert(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "wait() must find no child of ours");
    char *object = compile(m, "good", 0);
    aw_jit_close(m);
    aw_jit_shutdown();
    cr_assert(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    cr_assert(signals == 0, "%d signals", (int)signals);
    free(object);
}

Test(jit, the_process_is_clean)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    signal(SIGUSR1, SIG_IGN);
    setenv("AW_TEST_MARKER", "kept", 1);
    setenv("LD_PRELOAD", "/nonexistent/preload.so", 1);
    setenv("LD_AUDIT", "/nonexistent/audit.so", 1);
    int leaked = open("/dev/null", O_RDONLY); /* without close-on-exec, and one far above */
    cr_assert(leaked >= 0 && dup2(leaked, 300) == 300);
    struct aw_jit_module *m = open_text("self");
    char *object = compile(m, "self", 0);
    sigset_t after;
    pthread_sigmask(SIG_SETMASK, &before, &after);
    cr_assert(sigismember(&after, SIGUSR2), "our mask is as it was");
    /* 0, 1, 2, the socket, and the descriptor of the client's process where the kernel has such */
    cr_assert(strstr(object, "preload=(null) audit=(null) marker=kept blocked=0 ignored=0 group=1 fds=5") ||
                  strstr(object, "group=1 fds=4"),
              "%s", object);
    unsetenv("LD_PRELOAD");
    unsetenv("LD_AUDIT");
    free(object);
    aw_jit_close(m);
}

Test(jit, a_program_may_close_everything)
{
    struct aw_jit_module *m = open_text("good again");
    free(compile(m, "good", 0));
    /* criterion's own pipes lie low; ours high */
    for (int fd = 256; fd < 2048; fd++)
        close(fd);
    char path[64];
    snprintf(path, sizeof path, "%s/mine", cache_dir);
    int mine = open(path, O_CREAT | O_RDWR, 0600);
    for (int fd = 512; fd < 530; fd++)
        cr_assert(dup2(mine, fd) == fd);
    free(compile(m, "again", 0));
    aw_jit_close(m);
    aw_jit_shutdown();
    struct stat st;
    cr_assert(fstat(mine, &st) == 0 && st.st_size == 0, "nothing may be written into the program's file");
    for (int fd = 512; fd < 530; fd++)
        cr_assert(fcntl(fd, F_GETFD) >= 0, "descriptor %d was closed", fd);
}

Test(jit, few_descriptors)
{
    struct rlimit limit = { 64, 64 };
    cr_assert(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    struct aw_jit_module *m = open_text("good");
    free(compile(m, "good", 0));
    aw_jit_close(m);
    aw_jit_shutdown();
    int fds[64], n = 0;
    while (n < 64 && (fds[n] = open("/dev/null", O_RDONLY)) >= 0)
        n++;
    char *diags = NULL;
    enum aw_status status = try_open("fresh", &m, &diags);
    while (n > 0)
        close(fds[--n]);
    cr_assert(status == AW_ERR_OS && strstr(diags, "descriptors"), "%s: %s", aw_status_name(status), diags);
    free(diags);
    aw_jit_close(open_text("fresh"));
}

Test(jit, it_dies_with_the_program)
{
    int fds[2];
    cr_assert(pipe(fds) == 0);
    pid_t child = fork();
    if (child == 0) {
        struct aw_jit_module *m = open_text("good hang");
        char *object = compile(m, "good", 0), *bytes, *diags;
        pid_t pid = pid_in(object);
        (void)!write(fds[1], &pid, sizeof pid);
        try_compile(m, "hang", 0, &bytes, &diags);
        _exit(1);
    }
    pid_t pid;
    cr_assert(read(fds[0], &pid, sizeof pid) == sizeof pid);
    usleep(100000);
    kill(child, SIGKILL);
    cr_assert(ends(pid), "the compiler must not outlive the program, even while it compiles");
    cr_assert(waitpid(child, NULL, 0) == child);
}

static void *open_and_return(void *user)
{
    *(struct aw_jit_module **)user = open_text("good other");
    return NULL;
}

static void *compile_slow(void *user)
{
    char *bytes, *diags = NULL;
    aw_jit_in_background();
    (void)try_compile(user, "slow", 0, &bytes, &diags);
    return NULL;
}

/* What is made in the background comes into the cache though the program ends in the middle of it. */
Test(jit, in_the_background_it_is_made_to_its_end)
{
    struct aw_compile_options options = { .target = "host:test", .opt_level = 3 };
    struct aw_jit_module *module = open_text("slow");
    char *bytes = NULL;
    size_t size = 0;
    pid_t child = fork();
    cr_assert(child >= 0);
    if (child == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, compile_slow, module) != 0)
            _exit(1);
        usleep(150000);
        aw_jit_shutdown();
        _exit(0);
    }
    int status;
    cr_assert(waitpid(child, &status, 0) == child && status == 0);
    cr_assert(!aw_jit_find(module, 0, &options, &bytes, &size), "it was made too soon to tell");
    for (int i = 0; i < 500 && !aw_jit_find(module, 0, &options, &bytes, &size); i++)
        usleep(10000);
    cr_assert(bytes && size);
    free(bytes);
    aw_jit_close(module);
}

Test(jit, it_outlives_the_thread_that_started_it)
{
    pthread_t thread;
    struct aw_jit_module *m;
    pthread_create(&thread, NULL, open_and_return, &m);
    pthread_join(thread, NULL);
    char *a = compile(m, "good", 0);
    usleep(100000);
    char *b = compile(m, "other", 0);
    cr_assert(pid_in(a) == pid_in(b));
    free(a);
    free(b);
    aw_jit_close(m);
}

Test(jit, a_forked_child_has_its_own)
{
    struct aw_jit_module *m = open_text("good child parent");
    char *object = compile(m, "good", 0);
    pid_t child = fork();
    if (child == 0) {
        char *mine = compile(m, "child", 0);
        bool own = pid_in(mine) != pid_in(object);
        aw_jit_shutdown();
        _exit(own ? 0 : 1);
    }
    int status;
    cr_assert(waitpid(child, &status, 0) == child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", status);
    char *mine = compile(m, "parent", 0);
    cr_assert(pid_in(mine) == pid_in(object), "the parent's process still serves the parent");
    free(mine);
    free(object);
    aw_jit_close(m);
}

/* ---- Side by side ---- */

struct job {
    pthread_t thread;
    struct aw_jit_module *module;
    char name[16], *object;
};

static void *run_job(void *user)
{
    struct job *job = user;
    job->object = compile(job->module, job->name, 0);
    return NULL;
}

Test(jit, equal_work_is_done_once)
{
    struct job jobs[8];
    struct aw_jit_module *m = open_text("slow");
    for (int i = 0; i < 8; i++) {
        jobs[i] = (struct job){ .module = m, .name = "slow" };
        pthread_create(&jobs[i].thread, NULL, run_job, &jobs[i]);
    }
    double begin = now();
    for (int i = 0; i < 8; i++) {
        pthread_join(jobs[i].thread, NULL);
        cr_assert_str_eq(jobs[i].object, jobs[0].object, "all from one process");
    }
    cr_assert(now() - begin < 0.8, "%f s", now() - begin);
    for (int i = 0; i < 8; i++)
        free(jobs[i].object);
    aw_jit_close(m);
}

Test(jit, distinct_work_is_done_side_by_side)
{
    struct job jobs[6];
    struct aw_jit_module *m = open_text("slow0 slow1 slow2 slow3 slow4 slow5");
    for (int i = 0; i < 6; i++) {
        jobs[i] = (struct job){ .module = m };
        snprintf(jobs[i].name, sizeof jobs[i].name, "slow%d", i);
        pthread_create(&jobs[i].thread, NULL, run_job, &jobs[i]);
    }
    pid_t pids[6];
    int distinct = 0;
    for (int i = 0; i < 6; i++) {
        pthread_join(jobs[i].thread, NULL);
        pids[i] = pid_in(jobs[i].object);
        bool seen = false;
        for (int k = 0; k < i; k++)
            seen |= pids[k] == pids[i];
        distinct += !seen;
        free(jobs[i].object);
    }
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    cr_assert(distinct == (cores < 6 ? cores : 6), "%d processes on %ld cores", distinct, cores);
    aw_jit_close(m);
}

Test(jit, much_text_much_noise_much_result)
{
    size_t len = 20 << 20;
    char *text = malloc(len + 1);
    memset(text, ' ', len);
    memcpy(text, "big noisy", 9);
    text[len] = '\0';
    /* what it says while all goes well goes to our standard error */
    char path[64];
    snprintf(path, sizeof path, "%s/said", cache_dir);
    int said = open(path, O_CREAT | O_RDWR, 0600), saved = dup(2);
    dup2(said, 2);
    struct aw_jit_module *m = open_text(text);
    free(compile(m, "noisy", 0));
    dup2(saved, 2);
    struct stat st;
    cr_assert(fstat(said, &st) == 0 && st.st_size >= 1000, "%ld bytes", (long)st.st_size);
    char *big = compile(m, "big", 0);
    cr_assert(strlen(big) > 40000000 && strncmp(big, "big big ", 8) == 0);
    free(big);
    free(text);
    aw_jit_close(m);
}

Test(jit, more_modules_than_a_process_keeps)
{
    struct aw_jit_module *modules[40];
    char text[32], name[16];
    for (int i = 0; i < 40; i++) {
        snprintf(text, sizeof text, "m%d", i);
        modules[i] = open_text(text);
    }
    for (int i = 39; i >= 0; i--) {
        snprintf(name, sizeof name, "m%d", i);
        free(compile(modules[i], name, 0));
        aw_jit_close(modules[i]);
    }
}

static bool cached_within(struct aw_jit_module *module, uint32_t kernel, double seconds)
{
    struct aw_compile_options options = { .target = "host:test", .opt_level = 3, .block = { 7 } };
    char *bytes;
    size_t size;
    for (double end = now() + seconds; now() < end; usleep(10000))
        if (aw_jit_find(module, kernel, &options, &bytes, &size)) {
            free(bytes);
            return true;
        }
    return false;
}

/* A crash among what was left ends the rest; "crash" comes first in a module's order of names, so it is left last here. */
Test(jit, what_is_left_is_made_after_the_end)
{
    struct aw_compile_options options = { .target = "host:test", .opt_level = 3, .block = { 7 } };
    struct aw_jit_module *m = open_text("crash slow-a slow-b"), *other = open_text("x y");
    aw_jit_leave(m, 1, &options);
    aw_jit_leave(m, 2, &options);
    aw_jit_leave(other, 1, &options);
    aw_jit_leave(m, 0, &options);
    cr_assert(!cached_within(m, 1, 0.5), "nothing is made before the end");
    aw_jit_shutdown();
    cr_assert(cached_within(other, 1, 20) && cached_within(m, 1, 1) && cached_within(m, 2, 1));
    cr_assert(!cached_within(other, 0, 0.1) && !cached_within(m, 0, 0.5));
    aw_jit_close(m);
    aw_jit_close(other);
}

static void *compile_slowly(void *module)
{
    aw_jit_in_background();
    char *bytes, *diags = NULL;
    (void)try_compile(module, "slow", 7, &bytes, &diags);
    free(bytes);
    free(diags);
    return NULL;
}

/* The only process that the program has is at work on something that lives on. */
Test(jit, what_is_left_follows_what_was_begun)
{
    struct aw_compile_options options = { .target = "host:test", .opt_level = 3, .block = { 7 } };
    struct aw_jit_module *m = open_text("slow z");
    pid_t program = fork();
    if (program == 0) {
        pthread_t thread;
        m = open_text("slow z ");
        if (pthread_create(&thread, NULL, compile_slowly, m) == 0)
            usleep(200000);
        aw_jit_leave(m, 1, &options);
        aw_jit_shutdown();
        _exit(0);
    }
    cr_assert(waitpid(program, NULL, 0) == program);
    cr_assert(cached_within(m, 0, 20) && cached_within(m, 1, 20));
    aw_jit_close(m);
}

Test(jit, without_a_cache)
{
    setenv("ANYWARP_CACHE", "0", 1);
    struct aw_jit_module *m = open_text("k");
    char *a = compile(m, "k", 0), *b = compile(m, "k", 0);
    cr_assert_str_eq(a, b); /* one process made both */
    free(a);
    free(b);
    aw_jit_close(m);
    DIR *dir = opendir(cache_dir);
    int n = 0;
    while (readdir(dir))
        n++;
    closedir(dir);
    cr_assert(n == 2, "only . and ..");
}

/* ---- The compiler itself ---- */

Test(jit, real_compiler)
{
    const char *real = getenv("AW_REAL_COMPILER");
    if (!real || access(real, X_OK) != 0)
        cr_skip_test("the compiler is not built");
    setenv("ANYWARP_COMPILER", real, 1);
    struct aw_jit_module *m = open_text(".version 7.0\n.target sm_80\n.address_size 64\n"
                                        ".visible .entry store(.param .u64 p)\n{\n\t.reg .u64 %rd<2>;\n"
                                        "\tld.param.u64 %rd1, [p];\n\tst.global.u64 [%rd1], %rd1;\n\tret;\n}\n");
    cr_assert_eq(aw_jit_manifest(m)->n_kernels, 1);
    cr_assert_str_eq(kernel_name(m, 0), "store");
    static const char *const targets[] = { "gfx1030", "host:x86-64-v3" };
    for (int i = 0; i < 2; i++) {
        struct aw_compile_options options = { .target = targets[i], .opt_level = 3 };
        char *object, *diags = NULL;
        size_t size;
        enum aw_status status = aw_jit_compile(m, 0, &options, &object, &size, &diags);
        cr_assert(status == AW_OK, "%s: %s: %s", targets[i], aw_status_name(status), diags);
        cr_assert(size > 64 && memcmp(object, "\177ELF", 4) == 0);
        free(object);
    }
    aw_jit_close(m);
    char *diags = NULL;
    cr_assert(try_open(".version 7.0\n.target sm_80\n.entry {", &m, &diags) == AW_ERR_INVALID_PTX);
    cr_assert(strstr(diags, "a.ptx:3:"), "%s", diags);
    free(diags);
}

/* ---- Manifests ---- */

Test(jit, broken_manifest_from_the_compiler)
{
    struct aw_jit_module *m;
    char *diags;
    cr_assert(try_open("broken-manifest", &m, &diags) == AW_ERR_OS);
    cr_assert(strstr(diags, "broken manifest"), "%s", diags);
    free(diags);
}

/* Any byte changed: the check may accept it, but then everything it vouches for can be walked (sanitizers watch). */
Test(jit, manifest_check_bounds)
{
    struct aw_jit_module *m = open_text("alpha beta gamma");
    const struct aw_manifest *good = aw_jit_manifest(m);
    cr_assert(aw_manifest_check(good, good->size));
    size_t refused = 0;
    for (size_t size = 0; size < good->size; size++) {
        void *cut = malloc(size ? size : 1);
        memcpy(cut, good, size);
        cr_assert(!aw_manifest_check(cut, size), "cut to %zu", size);
        free(cut);
    }
    for (size_t at = 0; at < good->size; at++)
        for (int value = 0; value < 256; value += 51) {
            char *copy = malloc(good->size);
            memcpy(copy, good, good->size);
            copy[at] ^= (char)(value + 1);
            if (!aw_manifest_check(copy, good->size))
                refused++;
            free(copy);
        }
    cr_assert(refused > 300, "%zu", refused);
    aw_jit_close(m);
}
