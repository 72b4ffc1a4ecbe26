/* The compiler process: the only program of ours that maps LLVM.
 *
 * `--serve` is started by the runtime (src/core/jit_spawn.c) with a socket: this file makes the process harmless and
 * lets a forked worker serve (serve.c), so that a crash, an abort or a kill of the worker is told to the client with
 * its signal. The client cannot wait for us itself: a child of the user's program would show up in that program's own
 * wait(). `compile ...` is the body of `anywarp compile`, kept here so that `anywarp` starts without LLVM. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <anywarp/compiler.h>

#include "base/log.h"
#include "anywarp/anywarp.h"
#include "core/jit_protocol.h"
#include "serve.h"

/* LLVM and our parser recurse over what the user wrote.  Only touched pages count. */
#define WORKER_STACK ((size_t)256 << 20)

/* How long what the next run of the program will want is worked at when the program has ended, in seconds of processor time,
 * which a busy machine gives slowly. */
#define REST_S 120

/* ---- Becoming harmless ---- */

/* The program may have ignored or blocked anything, and both survive exec. */
static void reset_signals(void)
{
    for (int sig = 1; sig < NSIG; sig++)
        signal(sig, SIG_DFL); /* refused for KILL, STOP and libc's own: as it should be */
    signal(SIGPIPE, SIG_IGN); /* a client that went away is an error of a write */
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The program's other descriptors: pipes and sockets whose peers wait for their end. */
static void close_inherited(void)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, AW_JIT_FD_CONTROL + 1, ~0u, 0) == 0)
        return;
#endif
    DIR *dir = opendir("/proc/self/fd");
    for (struct dirent *ent; dir && (ent = readdir(dir));) {
        int fd = atoi(ent->d_name);
        if (fd > AW_JIT_FD_CONTROL && fd != dirfd(dir))
            close(fd);
    }
    if (dir)
        closedir(dir);
}

static void lower_limit(int resource, rlim_t to)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > to)) {
        limit.rlim_cur = to;
        setrlimit(resource, &limit);
    }
}

/* A runaway compile shall fail by itself before the machine swaps, and if the kernel must choose, choose us.
 * AddressSanitizer reserves terabytes of addresses that it never uses. */
static void limit_memory(void)
{
#ifndef __SANITIZE_ADDRESS__
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0) {
        rlim_t most = (rlim_t)pages * (rlim_t)page / 4 * 3, least = (rlim_t)4 << 30;
        lower_limit(RLIMIT_AS, most > least ? most : least);
    }
#endif
    lower_limit(RLIMIT_CORE, 0);
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!write(fd, "500", 3);
        close(fd);
    }
}

/* ---- Living no longer than the client, or a little ---- */

/* PR_SET_PDEATHSIG would follow the *thread* that started us, and threads of the program come and go.  The socket's other
 * end says the same of the program; a descriptor of the process also where a forked child still holds that end. */
static void wait_for_client_end(int client)
{
    struct pollfd fds[2] = { { AW_JIT_FD_SOCKET, POLLRDHUP, 0 }, { client, POLLIN, 0 } };
    for (;;) {
        int n = poll(fds, 2, -1);
        if (n < 0 && errno != EINTR)
            return;
        if (n > 0 && (fds[0].revents || fds[1].revents))
            return;
    }
}

static int open_client(pid_t pid)
{
#ifdef SYS_pidfd_open
    return pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
#else
    return -1; /* poll() skips it */
#endif
}

static void *serve_thread(void *user)
{
    exit(aw_compiler_serve(AW_JIT_FD_SOCKET));
}

static int run_worker(pid_t client_pid)
{
    int client = open_client(client_pid);
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    if (pthread_attr_setstacksize(&attr, WORKER_STACK) != 0 || pthread_create(&thread, &attr, serve_thread, NULL) != 0) {
        aw_tell("anywarp-compiler", COMPILER_THREAD, strerror(errno));
        return 1;
    }
    pthread_attr_destroy(&attr);
    wait_for_client_end(client);
    aw_compiler_serve_rest(REST_S);
    _exit(0); /* in the middle of whatever it compiles: nobody is left to want it */
}

/* ---- The supervisor ---- */

/* Reports how the worker ended.  A clean end is reported, too: the client may have been about to ask. */
static int supervise(pid_t worker)
{
    int status = 0;
    while (waitpid(worker, &status, 0) < 0 && errno == EINTR)
        ;
    struct aw_jit_event event = { AW_JIT_MAGIC, AW_JIT_ENDED, status };
    (void)!write(AW_JIT_FD_CONTROL, &event, sizeof event);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int serve(pid_t client)
{
    reset_signals();
    close_inherited();
    limit_memory();
    pid_t supervisor = getpid(), worker = fork();
    if (worker < 0) {
        aw_tell("anywarp-compiler", COMPILER_FORK, strerror(errno));
        return 1;
    }
    if (worker == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* right here: the supervisor has one thread and never ends it */
        if (getppid() != supervisor)
            return 1;
        close(AW_JIT_FD_CONTROL);
        return run_worker(client);
    }
    close(AW_JIT_FD_SOCKET); /* the worker's end shall be the socket's end */
    return supervise(worker);
}

/* ---- */

static int usage(FILE *out)
{
    fputs("usage: anywarp-compiler compile FILE.ptx [options]   (see `anywarp compile --help`)\n"
          "       anywarp-compiler --version\n"
          "The runtime starts it with --serve and a socket.\n",
          out);
    return out == stderr ? 2 : 0;
}

int main(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "--serve") == 0) {
        if (fcntl(AW_JIT_FD_SOCKET, F_GETFD) < 0 || fcntl(AW_JIT_FD_CONTROL, F_GETFD) < 0)
            return usage(stderr);
        return serve(argc >= 3 ? (pid_t)atol(argv[2]) : 0);
    }
    if (argc >= 2 && strcmp(argv[1], "compile") == 0)
        return aw_cmd_compile(argc - 1, argv + 1);
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("anywarp-compiler %s (interface %u, LLVM %s)\n", AW_VERSION, AW_COMPILER_ABI, AW_LLVM_VERSION);
        return 0;
    }
    return usage(argc == 2 && strcmp(argv[1], "--help") == 0 ? stdout : stderr);
}
