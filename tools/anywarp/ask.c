/* Asking in a child process: see ask.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "ask.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "provider/hip/diagnose.h"

enum { CHILD_SECONDS = 120 };

static void answer(int fd, void (*fn)(void *ret, const void *arg), const void *arg, void *ret, size_t size)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    fn(ret, arg);
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, (char *)ret + done, size - done);
        if (n <= 0)
            _exit(1);
        done += (size_t)n;
    }
    _exit(0);
}

/* What came of it in words, when it was not an answer. */
static const char *words_for(bool late, int status)
{
    static char words[80];
    if (late)
        snprintf(words, sizeof words, "gave no answer in %d s", CHILD_SECONDS);
    else if (WIFSIGNALED(status))
        snprintf(words, sizeof words, "ended with signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(words, sizeof words, "ended with exit status %d", WEXITSTATUS(status));
    return words;
}

const char *aw_ask(void (*fn)(void *ret, const void *arg), const void *arg, void *ret, size_t size)
{
    int fds[2], status = 0;
    fflush(stdout);
    if (pipe(fds) != 0)
        return strerror(errno);
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[0]);
        answer(fds[1], fn, arg, ret, size);
    }
    int err = errno;
    size_t got = 0;
    time_t limit = time(NULL) + CHILD_SECONDS;
    close(fds[1]);
    while (pid > 0 && got < size && time(NULL) < limit) {
        struct pollfd p = { .fd = fds[0], .events = POLLIN };
        ssize_t n = poll(&p, 1, 1000) > 0 ? read(fds[0], (char *)ret + got, size - got) : -1;
        if (n == 0)
            break;
        got += n > 0 ? (size_t)n : 0;
    }
    close(fds[0]);
    if (pid < 0)
        return strerror(err);
    bool late = got < size && time(NULL) >= limit;
    if (late)
        kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return got == size ? NULL : words_for(late, status);
}

void aw_ask_hip(void *ret, const void *arg)
{
    (void)arg;
    aw_hip_diagnose(ret);
}
