/* Starting the compiler program from inside a program that is not ours.
 *
 * Constraints: the program may be large (no copy of page tables), have many threads, handlers for every signal, and
 * call wait() for whatever child ends.  So two processes are made with CLONE_VFORK: the first has no exit signal, which
 * keeps it from wait() and SIGCHLD, and it alone is waited for, by its id; the second is its child, becomes the
 * compiler, and passes to init when the first ends.  (An exit signal of 0 for the compiler itself would not last:
 * execve() resets it to SIGCHLD.) posix_spawn() gives neither.
 *
 * Between clone and exec both share this program's memory while the calling thread is stopped.  They only make system
 * calls, by syscall(), as libc's wrappers may be cancellation points or take locks. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/jit_process.h"

#define STACK_SIZE ((size_t)64 << 10)

/* The child's steps must not enter the books that sanitizers keep for the thread whose storage they share. */
#define UNCHECKED __attribute__((no_sanitize("address", "thread")))
#if defined(__SANITIZE_THREAD__)
/* The thread sanitizer's own clone() takes every child for one with memory of its own, and stops watching the calling thread. */
int __clone(int (*entry)(void *), void *stack, int flags, void *user, ...);
#define clone __clone
#endif

struct spawn {
    const char *path;
    char *const *argv;
    char *const *envp;
    int null, err, socket, control;
    char *inner_stack; /* its upper end */
};

/* What rt_sigprocmask and rt_sigaction take: the kernel's set of 64 signals, and its own action with everything zero. */
typedef uint64_t kernel_sigset;
struct kernel_sigaction {
    uint64_t handler, flags, restorer, mask; /* the largest of all architectures' forms */
};

UNCHECKED static void report(int control, uint32_t kind, int64_t value)
{
    struct aw_jit_event event = { AW_JIT_MAGIC, kind, value };
    (void)!syscall(SYS_write, control, &event, sizeof event);
}

/* Becomes the compiler.  Descriptors come from above 4, so that no dup2() hits another of them. */
UNCHECKED static int inner(void *user)
{
    const struct spawn *spawn = user;
    report(spawn->control, AW_JIT_STARTED, syscall(SYS_getpid));
    syscall(SYS_setpgid, 0, 0); /* ^C at the terminal is for the program */
    const struct kernel_sigaction dfl = { 0 };
    for (int sig = 1; sig <= 64; sig++)
        syscall(SYS_rt_sigaction, sig, &dfl, NULL, sizeof(kernel_sigset));
    syscall(SYS_dup3, spawn->null, 0, 0);
    syscall(SYS_dup3, spawn->err, 1, 0);
    syscall(SYS_dup3, spawn->err, 2, 0);
    syscall(SYS_dup3, spawn->socket, AW_JIT_FD_SOCKET, 0);
    syscall(SYS_dup3, spawn->control, AW_JIT_FD_CONTROL, 0);
#ifdef SYS_close_range
    syscall(SYS_close_range, AW_JIT_FD_CONTROL + 1, ~0u, 0);
#endif
    const kernel_sigset none = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none);
    syscall(SYS_execve, spawn->path, spawn->argv, spawn->envp);
    report(AW_JIT_FD_CONTROL, AW_JIT_EXEC_FAILED, errno);
    syscall(SYS_exit, 127);
    return 127;
}

UNCHECKED static int outer(void *user)
{
    const struct spawn *spawn = user;
    if (clone(inner, spawn->inner_stack, CLONE_VM | CLONE_VFORK | SIGCHLD, user) < 0)
        report(spawn->control, AW_JIT_EXEC_FAILED, errno);
    syscall(SYS_exit, 0);
    return 0;
}

/* The environment without what loads objects into our process that are meant for the program: us, among others.  The
 * strings are borrowed. */
static char **clean_environment(void)
{
    size_t n = 0;
    while (environ && environ[n])
        n++;
    char **envp = calloc(n + 1, sizeof *envp);
    for (size_t i = 0, k = 0; envp && i < n; i++) {
        struct aw_str var = aw_str_from(environ[i]);
        if (!aw_str_starts(var, "LD_PRELOAD=") && !aw_str_starts(var, "LD_AUDIT="))
            envp[k++] = environ[i];
    }
    return envp;
}

/* The clone itself, with every signal blocked: a handler run in there would act on the program's memory.  Returns 0 or
 * errno. */
static int clone_outer(struct spawn *spawn, char *outer_stack)
{
    kernel_sigset all = ~(kernel_sigset)0, before;
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
    pid_t pid = clone(outer, outer_stack, CLONE_VM | CLONE_VFORK, spawn);
    int error = pid < 0 ? errno : 0;
    if (pid > 0)
        while (waitpid(pid, NULL, __WCLONE) < 0 && errno == EINTR)
            ;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
    pthread_setcancelstate(cancel, NULL);
    return error;
}

bool aw_jit_spawn(const char *path, int null, int err, int socket, int control)
{
    char pid[24];
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    char *argv[] = { (char *)(uintptr_t)path, "--serve", pid, NULL };
    char **envp = clean_environment();
    char *stacks = mmap(NULL, 2 * STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    int error = ENOMEM;
    if (envp && stacks != MAP_FAILED) {
        struct spawn spawn = { path, argv, envp, null, err, socket, control, stacks + 2 * STACK_SIZE };
        error = clone_outer(&spawn, stacks + STACK_SIZE);
    }
    if (stacks != MAP_FAILED)
        munmap(stacks, 2 * STACK_SIZE);
    free(envp);
    errno = error;
    return error == 0;
}
