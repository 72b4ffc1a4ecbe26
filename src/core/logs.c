/* CUDA's log of errors: see logs.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/logs.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/env.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"

enum { MESSAGES_MOST = 512 };

struct aw_logs_callback {
    aw_logs_fn *fn; /* NULL: unregistered */
    void *user;
    struct aw_logs_callback *next;
};

/* Message n is at n % MESSAGES_MOST; those from `first` up to `next` are kept. */
static struct {
    pthread_mutex_t lock;
    char *lines[MESSAGES_MOST]; /* with their line feeds */
    uint32_t first, next;
    size_t bytes;
    struct aw_logs_callback *callbacks; /* never freed: another thread may be in one */
} logs = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool started;              /* atomic */
static _Thread_local bool inside; /* a callback */

/* The form that NVIDIA documents: [time][thread][source][severity] text. */
static char *line_of(const char *source, enum aw_logs_level level, const char *text)
{
    struct timespec now;
    struct tm tm;
    char *line;
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &tm);
    int n = asprintf(&line, "[%02d:%02d:%02d.%03ld][%d][%s][%c] %s\n", tm.tm_hour, tm.tm_min, tm.tm_sec, now.tv_nsec / 1000000,
                     (int)gettid(), source, level == AW_LOGS_ERROR ? 'E' : 'W', text);
    return n < 0 ? NULL : line;
}

static void drop_first(void)
{
    char **line = &logs.lines[logs.first++ % MESSAGES_MOST];
    logs.bytes -= strlen(*line);
    free(*line);
    *line = NULL;
}

/* Takes over `line`. */
static void keep(char *line)
{
    size_t len = strlen(line);
    if (len > AW_LOGS_MOST) {
        free(line);
        return;
    }
    while (logs.first != logs.next && (logs.next - logs.first == MESSAGES_MOST || logs.bytes + len > AW_LOGS_MOST))
        drop_first();
    logs.lines[logs.next++ % MESSAGES_MOST] = line;
    logs.bytes += len;
}

/* CUDA_LOG_FILE: a file that lines are appended to, or the name of a stream. */
static void write_out(const char *line)
{
    const char *where = aw_env("CUDA_LOG_FILE");
    if (!where || !*where)
        return;
    bool out = !strcmp(where, "stdout"), err = !strcmp(where, "stderr");
    int fd = out ? STDOUT_FILENO : err ? STDERR_FILENO : open(where, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0644);
    if (fd < 0)
        return; /* nowhere to report it */
    (void)aw_fd_write_all(fd, line, strlen(line));
    if (!out && !err)
        close(fd);
}

static void tell(enum aw_logs_level level, const char *text)
{
    size_t len = strlen(text);
    char *copy = NULL;
    pthread_mutex_lock(&logs.lock);
    struct aw_logs_callback *c = logs.callbacks;
    pthread_mutex_unlock(&logs.lock);
    inside = true;
    for (; c; c = c->next) { /* what is in the list stays as it is but for `fn` */
        aw_logs_fn *fn = __atomic_load_n(&c->fn, __ATOMIC_ACQUIRE);
        if (fn && (copy || (copy = malloc(len + 1)))) {
            memcpy(copy, text, len + 1); /* anew for each: they may write in it */
            fn(c->user, (int)level, copy, len);
        }
    }
    inside = false;
    free(copy);
}

void aw_logs_add(const char *source, enum aw_logs_level level, const char *text)
{
    if (inside || !__atomic_load_n(&started, __ATOMIC_ACQUIRE))
        return;
    char *line = line_of(source, level, text);
    if (line) {
        write_out(line);
        pthread_mutex_lock(&logs.lock);
        keep(line);
        pthread_mutex_unlock(&logs.lock);
    }
    tell(level, text);
}

static void tap(enum aw_log_level level, const char *text)
{
    aw_logs_add("CUDA", level == AW_LOG_ERR ? AW_LOGS_ERROR : AW_LOGS_WARNING, text);
}

/* The lock may have been held by a thread that the child does not have, amid a change. */
static void fork_child(void)
{
    pthread_mutex_init(&logs.lock, NULL);
    logs.first = logs.next;
    logs.bytes = 0;
}

static void start_once(void)
{
    if (pthread_atfork(NULL, NULL, fork_child) != 0)
        return;
    aw_log_tap(tap);
    __atomic_store_n(&started, true, __ATOMIC_RELEASE);
}

void aw_logs_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_once);
}

enum aw_status aw_logs_register(aw_logs_fn *fn, void *user, struct aw_logs_callback **ret_callback)
{
    if (!fn)
        return AW_ERR_INVALID_VALUE;
    struct aw_logs_callback *c = malloc(sizeof *c);
    if (!c)
        return AW_ERR_OUT_OF_MEMORY;
    pthread_mutex_lock(&logs.lock);
    *c = (struct aw_logs_callback){ fn, user, logs.callbacks };
    logs.callbacks = c;
    pthread_mutex_unlock(&logs.lock);
    if (ret_callback)
        *ret_callback = c;
    return AW_OK;
}

enum aw_status aw_logs_unregister(struct aw_logs_callback *callback)
{
    enum aw_status status = AW_ERR_INVALID_VALUE;
    pthread_mutex_lock(&logs.lock);
    for (struct aw_logs_callback *c = logs.callbacks; c; c = c->next)
        if (c == callback && c->fn) {
            __atomic_store_n(&c->fn, (aw_logs_fn *)NULL, __ATOMIC_RELEASE);
            status = AW_OK;
        }
    pthread_mutex_unlock(&logs.lock);
    return status;
}

uint32_t aw_logs_next(void)
{
    pthread_mutex_lock(&logs.lock);
    uint32_t next = logs.next;
    pthread_mutex_unlock(&logs.lock);
    return next;
}

/* Appends the text when there is room for it and a NUL. */
static bool append(char *buffer, size_t room, size_t *io_len, const char *text)
{
    size_t n = strlen(text);
    if (*io_len + n >= room)
        return false;
    memcpy(buffer + *io_len, text, n + 1);
    *io_len += n;
    return true;
}

enum aw_status aw_logs_dump(uint32_t *io_from, char *buffer, size_t *io_size)
{
    size_t room = *io_size, len = 0;
    pthread_mutex_lock(&logs.lock);
    uint32_t from = io_from ? *io_from : 0;
    bool lost = from - logs.first > logs.next - logs.first; /* the numbers wrap */
    if (lost)
        from = logs.first;
    bool fits = !lost || append(buffer, room, &len, "(older messages are no longer kept)\n"), any = from != logs.next || lost;
    while (fits && from != logs.next && (fits = append(buffer, room, &len, logs.lines[from % MESSAGES_MOST])))
        from++;
    pthread_mutex_unlock(&logs.lock);
    *io_size = len;
    if (any && !len)
        return AW_ERR_INVALID_VALUE;
    if (room)
        buffer[len] = '\0';
    if (io_from)
        *io_from = from;
    return AW_OK;
}
