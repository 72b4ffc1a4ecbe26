/* One compiler process: descriptors, the exchange of one request, and telling how it died.
 *
 * Everything blocks only in poll(), which watches the socket and the process's standard error together: a process that
 * writes a long message while we send it a long text must not stop us both. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jit_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <anywarp/compiler.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/setting.h"

#define AW_ROOM "jit"

/* Of what a process says in one exchange, and of that in the message when it dies. */
#define SAID_KEPT ((size_t)64 << 10)
#define SAID_SHOWN ((size_t)8 << 10)
/* A process whose socket has ended tells within this time how it ended, ms. */
#define OBITUARY_WAIT 3000
#define DEFAULT_TIMEOUT 600 /* s */

enum outcome { DONE, DIED, TIMED_OUT, BAD_ANSWER, NO_MEMORY };

/* ---- Descriptors ---- */

static const struct aw_jit_fd no_fd = { .fd = -1 };

/* Moves a descriptor to where programs do not expect to find their own, and marks it ours.  Takes `fd` over. */
static struct aw_jit_fd own_fd(int fd)
{
    struct aw_jit_fd own = no_fd;
    struct stat st;
    if (fd < 0)
        return own;
    int error = EMFILE;
    for (int least = 512; least >= 8 && own.fd < 0; least /= 8) {
        own.fd = fcntl(fd, F_DUPFD_CLOEXEC, least);
        error = errno;
    }
    close(fd);
    if (own.fd >= 0 && fstat(own.fd, &st) == 0) {
        own.dev = st.st_dev;
        own.ino = st.st_ino;
    }
    errno = error;
    return own;
}

static bool fd_is_ours(const struct aw_jit_fd *own)
{
    struct stat st;
    return own->fd >= 0 && fstat(own->fd, &st) == 0 && st.st_dev == own->dev && st.st_ino == own->ino;
}

static void close_own(struct aw_jit_fd *own)
{
    if (fd_is_ours(own))
        close(own->fd);
    *own = no_fd;
}

/* ---- Starting ---- */

/* Both ends of the three channels. */
struct channels {
    struct aw_jit_fd socket[2], control[2], err[2], null; /* [0] ours */
};

static void close_channels(struct channels *ch, bool ours_too)
{
    close_own(&ch->socket[1]);
    close_own(&ch->control[1]);
    close_own(&ch->err[1]);
    close_own(&ch->null);
    if (!ours_too)
        return;
    close_own(&ch->socket[0]);
    close_own(&ch->control[0]);
    close_own(&ch->err[0]);
}

static bool open_channels(struct channels *ret)
{
    int socket[2] = { -1, -1 }, control[2] = { -1, -1 }, err[2] = { -1, -1 };
    /* tried in turn, so that errno is the first trouble's */
    bool made = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socket) == 0 && pipe2(control, O_CLOEXEC) == 0 &&
                pipe2(err, O_CLOEXEC) == 0;
    int error = errno;
    for (int i = 0; i < 2; i++) {
        ret->socket[i] = own_fd(socket[i]);
        ret->control[i] = own_fd(control[i]);
        ret->err[i] = own_fd(err[i]);
    }
    ret->null = own_fd(made ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1);
    made = made && ret->socket[0].fd >= 0 && ret->socket[1].fd >= 0 && ret->control[0].fd >= 0 && ret->control[1].fd >= 0 &&
           ret->err[0].fd >= 0 && ret->err[1].fd >= 0 && ret->null.fd >= 0;
    if (made) {
        fcntl(ret->err[0].fd, F_SETFL, O_NONBLOCK);
        fcntl(ret->control[0].fd, F_SETFL, O_NONBLOCK);
        return true;
    }
    close_channels(ret, true);
    errno = error ? error : EMFILE;
    return false;
}

static void say(char **ret_why, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(char **ret_why, const char *fmt, ...)
{
    struct aw_buf buf = { 0 };
    va_list ap;
    va_start(ap, fmt);
    aw_buf_vprintf(&buf, fmt, ap);
    va_end(ap);
    if (buf.failed)
        aw_buf_fini(&buf);
    *ret_why = buf.ptr;
}

/* Waits up to `ms` for the next event on the control pipe. */
static bool next_event(const struct aw_jit_process *process, int ms, struct aw_jit_event *ret_event)
{
    struct pollfd fd = { process->control.fd, POLLIN, 0 };
    int n;
    do
        n = poll(&fd, 1, ms);
    while (n < 0 && errno == EINTR);
    return n > 0 && read(process->control.fd, ret_event, sizeof *ret_event) == (ssize_t)sizeof *ret_event &&
           ret_event->magic == AW_JIT_MAGIC;
}

/* The clone has returned, so what it had to report lies in the pipe already; only emulators that copy the process take
 * time. */
static int started(struct aw_jit_process *process)
{
    struct aw_jit_event event;
    if (!next_event(process, OBITUARY_WAIT, &event))
        return EPIPE;
    if (event.kind == AW_JIT_STARTED && event.value > 0) {
        process->pid = (pid_t)event.value;
        /* It may be dead already, but its number cannot have gone round by now. */
#ifdef SYS_pidfd_open
        int fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
        process->pidfd = own_fd(fd);
#endif
        if (!next_event(process, 0, &event))
            return 0;
    }
    return event.kind == AW_JIT_EXEC_FAILED ? (int)event.value : 0;
}

/* What a failed start means.  Only a program that is not there, or is none, was not found. */
static enum aw_status start_status(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
    case EACCES:
    case ENOEXEC:
        return AW_ERR_JIT_NOT_FOUND;
    case ENOMEM:
        return AW_ERR_OUT_OF_MEMORY;
    default:
        return AW_ERR_OS;
    }
}

static enum aw_status start_once(const char *path, struct aw_jit_process **ret_process, int *ret_error, char **ret_why)
{
    struct channels ch;
    struct aw_jit_process *process = calloc(1, sizeof *process);
    *ret_why = NULL;
    if (!process)
        return AW_ERR_OUT_OF_MEMORY;
    if (!open_channels(&ch)) {
        *ret_error = EMFILE;
        say(ret_why, "cannot start the compiler: no descriptors: %s", strerror(errno));
        free(process);
        return AW_ERR_OS;
    }
    *process = (struct aw_jit_process){ .socket = ch.socket[0], .control = ch.control[0], .err = ch.err[0], .pidfd = no_fd };
    bool spawned = aw_jit_spawn(path, ch.null.fd, ch.err[1].fd, ch.socket[1].fd, ch.control[1].fd);
    int error = spawned ? 0 : errno;
    close_channels(&ch, false);
    if (spawned)
        error = started(process);
    if (error == 0) {
        *ret_process = process;
        return AW_OK;
    }
    *ret_error = error;
    say(ret_why, "cannot start the compiler %s: %s%s", path, strerror(error),
        error == EAGAIN ? " (too many processes: ulimit -u)" : "");
    aw_jit_process_stop(process);
    return start_status(error);
}

/* No room for a process is often over in a moment. */
enum aw_status aw_jit_process_start(const char *path, struct aw_jit_process **ret_process, char **ret_why)
{
    for (int pause = 10;; pause *= 3) { /* ms: 400 in all */
        int error = 0;
        enum aw_status status = start_once(path, ret_process, &error, ret_why);
        if (status == AW_OK || error != EAGAIN || pause > 300)
            return status;
        free(*ret_why);
        nanosleep(&(struct timespec){ .tv_nsec = pause * 1000000L }, NULL);
    }
}

/* ---- Ending ---- */

void aw_jit_process_abandon(struct aw_jit_process *process)
{
    if (!process)
        return;
    close_own(&process->socket);
    close_own(&process->control);
    close_own(&process->err);
    close_own(&process->pidfd);
    free(process->said);
    free(process);
}

/* The worker follows its supervisor, which is what the descriptor names.  Where there is none, the closed socket ends
 * it. */
void aw_jit_process_kill(const struct aw_jit_process *process)
{
#ifdef SYS_pidfd_send_signal
    if (fd_is_ours(&process->pidfd))
        syscall(SYS_pidfd_send_signal, process->pidfd.fd, SIGKILL, NULL, 0);
#endif
}

void aw_jit_process_stop(struct aw_jit_process *process)
{
    if (!process)
        return;
    aw_jit_process_kill(process);
    aw_jit_process_abandon(process);
}

bool aw_jit_process_leave(const struct aw_jit_process *process, int file)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr head;
    } control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
    struct aw_jit_request request = { .magic = AW_JIT_MAGIC, .op = AW_JIT_LEAVE };
    struct iovec part = { &request, sizeof request };
    struct msghdr msg = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
    memcpy(CMSG_DATA(&control.head), &file, sizeof file);
    return fd_is_ours(&process->socket) &&
           sendmsg(process->socket.fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof request;
}

bool aw_jit_process_usable(const struct aw_jit_process *process)
{
    if (!fd_is_ours(&process->socket) || !fd_is_ours(&process->control) || !fd_is_ours(&process->err))
        return false;
    /* Between exchanges a greeted process says nothing: anything to read is an end or nonsense. */
    struct pollfd fds[2] = { { process->socket.fd, POLLRDHUP | (process->greeted ? POLLIN : 0), 0 },
                             { process->control.fd, POLLIN, 0 } };
    return poll(fds, 2, 0) == 0;
}

/* ---- The exchange ---- */

/* Seconds a compile may take; 0 = for ever. */
static unsigned timeout_seconds(void)
{
    return (unsigned)aw_setting_number("ANYWARP_COMPILE_TIMEOUT", 0, 1000000, DEFAULT_TIMEOUT);
}

/* What is under way: bytes to send, bytes to receive. */
struct transfer {
    struct iovec *out;
    int n_out;
    char *in;
    size_t in_left;
    int64_t deadline; /* ms; 0 = none */
};

/* Takes what the process has written to standard error; keeps the last bytes. */
static void listen_to(struct aw_jit_process *process)
{
    char bytes[4096];
    ssize_t n;
    while ((n = read(process->err.fd, bytes, sizeof bytes)) > 0) {
        if (!process->said && !(process->said = malloc(SAID_KEPT)))
            continue;
        if (process->said_len + (size_t)n > SAID_KEPT) {
            size_t drop = process->said_len + (size_t)n - SAID_KEPT;
            memmove(process->said, process->said + drop, process->said_len - drop);
            process->said_len -= drop;
            process->said_cut = true;
        }
        memcpy(process->said + process->said_len, bytes, (size_t)n);
        process->said_len += (size_t)n;
    }
    if (n == 0) /* its end: poll() would report that for ever */
        close_own(&process->err);
}

static void skip_sent(struct transfer *t, size_t n)
{
    while (t->n_out > 0 && n >= t->out->iov_len) {
        n -= t->out->iov_len;
        t->out++;
        t->n_out--;
    }
    if (t->n_out > 0) {
        t->out->iov_base = (char *)t->out->iov_base + n;
        t->out->iov_len -= n;
    }
}

/* One send; false when the process is gone. */
static bool send_some(int fd, struct transfer *t)
{
    skip_sent(t, 0);
    struct msghdr msg = { .msg_iov = t->out, .msg_iovlen = (size_t)(t->n_out < 64 ? t->n_out : 64) };
    ssize_t n = t->n_out > 0 ? sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
    if (n >= 0)
        skip_sent(t, (size_t)n);
    return n >= 0 || errno == EAGAIN || errno == EINTR;
}

static bool receive_some(int fd, struct transfer *t)
{
    ssize_t n = recv(fd, t->in, t->in_left, MSG_DONTWAIT);
    if (n > 0) {
        t->in += n;
        t->in_left -= (size_t)n;
    }
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* Sends and receives until both are through. */
static enum outcome transfer(struct aw_jit_process *process, struct transfer *t)
{
    skip_sent(t, 0);
    while (t->n_out > 0 || t->in_left > 0) {
        int64_t left = t->deadline ? t->deadline - aw_clock_ms() : -1;
        if (t->deadline && left <= 0)
            return TIMED_OUT;
        short want = (short)((t->in_left > 0 ? POLLIN : 0) | (t->n_out > 0 ? POLLOUT : 0));
        struct pollfd fds[2] = { { process->socket.fd, want, 0 }, { process->err.fd, POLLIN, 0 } };
        int pause = left > 1000000 ? 1000000 : (int)left, tick = process->keep ? -1 : aw_progress_tick();
        int n = poll(fds, 2, tick >= 0 && (pause < 0 || tick < pause) ? tick : pause);
        if (n < 0 && errno != EINTR)
            return DIED;
        if (n <= 0)
            continue;
        if (fds[1].revents)
            listen_to(process);
        if (t->n_out > 0 && (fds[0].revents & (POLLOUT | POLLERR | POLLHUP)) && !send_some(process->socket.fd, t))
            return DIED;
        if (t->in_left > 0 && (fds[0].revents & (POLLIN | POLLERR | POLLHUP)) && !receive_some(process->socket.fd, t))
            return DIED;
        if (t->in_left == 0 && t->n_out > 0 && (fds[0].revents & (POLLERR | POLLHUP)))
            return DIED;
    }
    return DONE;
}

static enum outcome receive(struct aw_jit_process *process, void *bytes, size_t size, int64_t deadline)
{
    struct transfer t = { .in = bytes, .in_left = size, .deadline = deadline };
    return transfer(process, &t);
}

/* Reads the hello of a fresh process; *ret_bad says what is wrong with it. */
static enum outcome greet(struct aw_jit_process *process, int64_t deadline, const char **ret_bad)
{
    if (process->greeted)
        return DONE;
    struct aw_jit_hello hello;
    enum outcome outcome = receive(process, &hello, sizeof hello, deadline);
    if (outcome != DONE)
        return outcome;
    *ret_bad = hello.magic != AW_JIT_MAGIC             ? "it is no anywarp-compiler"
               : hello.protocol != AW_JIT_PROTOCOL     ? "it is of another version"
               : hello.abi != AW_COMPILER_ABI          ? "it is of another version"
                                                       : NULL;
    process->greeted = *ret_bad == NULL;
    return *ret_bad ? BAD_ANSWER : DONE;
}

static const char *reply_problem(const struct aw_jit_request *request, const struct aw_jit_reply *reply)
{
    if (reply->magic != AW_JIT_MAGIC)
        return "magic";
    if (reply->op != request->op)
        return "operation";
    if (reply->status >= AW_STATUS_COUNT)
        return "status";
    if (reply->size > AW_JIT_MAX_RESULT || reply->diags_size > AW_JIT_MAX_DIAGS)
        return "size";
    if (reply->status == AW_OK && reply->size == 0)
        return "success without a result";
    return NULL;
}

static enum outcome receive_text(struct aw_jit_process *process, uint64_t size, int64_t deadline, char **ret_bytes)
{
    char *bytes = malloc(size + 1);
    if (!bytes)
        return NO_MEMORY;
    enum outcome outcome = receive(process, bytes, size, deadline);
    if (outcome != DONE) {
        free(bytes);
        return outcome;
    }
    bytes[size] = '\0';
    *ret_bytes = bytes;
    return DONE;
}

static enum outcome exchange(struct aw_jit_process *process, const struct aw_jit_request *request, struct iovec *parts,
                             int n_parts, int64_t deadline, struct aw_jit_reply *ret_reply, char **ret_bytes,
                             char **ret_diags, const char **ret_bad)
{
    enum outcome outcome = greet(process, deadline, ret_bad);
    if (outcome != DONE)
        return outcome;
    struct aw_jit_request copy = *request;
    struct iovec head = { &copy, sizeof copy };
    struct transfer t = { .out = &head, .n_out = 1, .deadline = deadline };
    outcome = transfer(process, &t);
    if (outcome == DONE) {
        t = (struct transfer){ parts, n_parts, (char *)ret_reply, sizeof *ret_reply, deadline };
        outcome = transfer(process, &t);
    }
    if (outcome != DONE)
        return outcome;
    *ret_bad = reply_problem(request, ret_reply);
    if (*ret_bad)
        return BAD_ANSWER;
    outcome = receive_text(process, ret_reply->size, deadline, ret_bytes);
    if (outcome != DONE)
        return outcome;
    outcome = receive_text(process, ret_reply->diags_size, deadline, ret_diags);
    if (outcome != DONE)
        free(*ret_bytes);
    return outcome;
}

/* ---- What went wrong ---- */

/* How the process ended, as the second half of "the compiler process ...". */
static void describe_end(const struct aw_jit_process *process, struct aw_buf *text)
{
    struct aw_jit_event event;
    if (!next_event(process, OBITUARY_WAIT, &event)) {
        aw_buf_printf(text, "ended without a word (was it killed?)");
        return;
    }
    int status = (int)event.value;
    if (event.kind == AW_JIT_EXEC_FAILED)
        aw_buf_printf(text, "could not be executed: %s", strerror(status));
    else if (event.kind == AW_JIT_ENDED && WIFSIGNALED(status))
        aw_buf_printf(text, "was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (event.kind == AW_JIT_ENDED && WIFEXITED(status))
        aw_buf_printf(text, "exited with status %d", WEXITSTATUS(status));
    else
        aw_buf_printf(text, "ended");
}

static void add_said(const struct aw_jit_process *process, struct aw_buf *text)
{
    size_t len = process->said_len;
    while (len > 0 && (process->said[len - 1] == '\n' || process->said[len - 1] == '\0'))
        len--;
    if (len == 0)
        return;
    size_t from = len > SAID_SHOWN ? len - SAID_SHOWN : 0;
    aw_buf_printf(text, "; it said:%s\n", from > 0 || process->said_cut ? " [...]" : "");
    for (size_t i = from; i < len; i++) {
        char c = process->said[i];
        if (c < ' ' && c != '\n' && c != '\t') /* a message, not commands for a terminal */
            c = '?';
        aw_buf_add(text, &c, 1);
    }
}

static enum aw_status explain(struct aw_jit_process *process, enum outcome outcome, const char *what, unsigned timeout,
                              const char *bad, char **ret_why)
{
    struct aw_buf text = { 0 };
    switch (outcome) {
    case NO_MEMORY:
        aw_buf_printf(&text, "out of memory while %s", what);
        break;
    case TIMED_OUT:
        aw_buf_printf(&text, "the compiler process did not finish within %u s (ANYWARP_COMPILE_TIMEOUT) and was killed, while %s",
                      timeout, what);
        break;
    case BAD_ANSWER:
        aw_buf_printf(&text, "the compiler process broke the protocol (%s) while %s", bad, what);
        break;
    default:
        aw_buf_printf(&text, "the compiler process ");
        describe_end(process, &text);
        aw_buf_printf(&text, " while %s", what);
    }
    if (process->err.fd >= 0)
        listen_to(process);
    add_said(process, &text);
    if (text.failed)
        aw_buf_fini(&text);
    *ret_why = text.ptr;
    return outcome == NO_MEMORY ? AW_ERR_OUT_OF_MEMORY : AW_ERR_OS;
}

/* What a process says while all goes well is its log, formatted already. */
static void pass_on(struct aw_jit_process *process)
{
    if (process->err.fd >= 0)
        listen_to(process);
    if (process->said_len > 0)
        aw_fd_write_all(STDERR_FILENO, process->said, process->said_len);
    process->said_len = 0;
    process->said_cut = false;
}

enum aw_status aw_jit_process_call(struct aw_jit_process *process, const struct aw_jit_request *request,
                                   struct iovec *parts, int n_parts, const char *what, struct aw_jit_reply *ret_reply,
                                   char **ret_bytes, char **ret_diags, char **ret_why)
{
    unsigned timeout = timeout_seconds();
    int64_t deadline = timeout ? aw_clock_ms() + (int64_t)timeout * 1000 : 0;
    const char *bad = NULL;
    bool waits = !process->keep; /* else nobody does, or says so itself */
    if (waits)
        aw_progress_begin(what);
    enum outcome outcome =
        exchange(process, request, parts, n_parts, deadline, ret_reply, ret_bytes, ret_diags, &bad);
    if (waits)
        aw_progress_end();
    if (outcome == DONE) {
        pass_on(process);
        return AW_OK;
    }
    if (outcome != DIED)
        aw_jit_process_kill(process);
    return explain(process, outcome, what, timeout, bad, ret_why);
}
