/* Call tracing: who wants which calls, and where they go. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/calltrace.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/callprint.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/log.h"
#include "base/progress.h"

#define AW_ROOM "base"

enum { WORDS_MOST = 64 };

static struct {
    pthread_once_t once;
    bool on, json, records, samples, counters, failed;
    int fd;
    char *words; /* heap, for the process's life: what `names` and `libraries` point into */
    const char *names[WORDS_MOST], *libraries[WORDS_MOST];
    unsigned n_names, n_libraries;
    uint64_t start; /* in text, times are from here on */
} trace = { .once = PTHREAD_ONCE_INIT, .fd = STDERR_FILENO };

/* ---- What is wanted. */

static void word_take(const char *word)
{
    if (!strcmp(word, "json"))
        trace.json = true;
    else if (!strcmp(word, "records"))
        trace.records = true;
    else if (!strcmp(word, "samples"))
        trace.samples = true;
    else if (!strcmp(word, "counters"))
        trace.counters = true;
    else if (!strcmp(word, "failed"))
        trace.failed = true;
    else if (!strncmp(word, "name=", 5) && trace.n_names < WORDS_MOST)
        trace.names[trace.n_names++] = word + 5;
    else if (!strncmp(word, "library=", 8) && trace.n_libraries < WORDS_MOST)
        trace.libraries[trace.n_libraries++] = word + 8;
    else if (strcmp(word, "text") != 0)
        aw_say(TRACE_WORD, word);
}

static void environment_read(void)
{
    const char *words = aw_env("ANYWARP_TRACE"), *file = aw_env("ANYWARP_TRACE_FILE");
    char *rest = words && *words ? strdup(words) : NULL, *save = NULL;
    if (!rest)
        return;
    trace.words = rest;
    for (char *word = strtok_r(rest, ",", &save); word; word = strtok_r(NULL, ",", &save))
        word_take(word);
    if (file && *file) {
        int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (fd < 0)
            aw_say(TRACE_FILE, file, strerror(errno));
        else
            trace.fd = fd;
    }
    trace.start = aw_clock_wall_ns();
    trace.on = true;
}

static bool fits_one(const char *const *patterns, unsigned n, const char *what)
{
    bool fits = n == 0;
    for (unsigned i = 0; i < n && !fits; i++)
        fits = fnmatch(patterns[i], what, 0) == 0;
    return fits;
}

static bool wanted(const struct aw_call *call)
{
    char name[128];
    if (!trace.on || (trace.failed && !aw_call_failed(call->text, call->result)) ||
        !fits_one(trace.libraries, trace.n_libraries, call->library))
        return false;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(call->text + 1, "|"), call->text + 1);
    return fits_one(trace.names, trace.n_names, name);
}

bool aw_call_traced(const char *room, const char *library)
{
    pthread_once(&trace.once, environment_read);
    return aw_log_on(AW_LOG_TRACE, room) || (trace.on && fits_one(trace.libraries, trace.n_libraries, library));
}

bool aw_trace_records(void)
{
    pthread_once(&trace.once, environment_read);
    return trace.records;
}

bool aw_trace_samples(void)
{
    return aw_trace_records() && trace.samples;
}

bool aw_trace_counters(void)
{
    return aw_trace_records() && trace.counters;
}

/* ---- Where it goes. */

void aw_trace_write(const char *line, size_t len)
{
    if (trace.fd == STDERR_FILENO)
        aw_progress_hide();
    for (size_t done = 0; done < len;) {
        ssize_t n = write(trace.fd, line + done, len - done);
        if (n < 0 && errno != EINTR)
            return; /* nowhere to report it */
        done += n > 0 ? (size_t)n : 0;
    }
}

static void line_text(struct aw_buf *line, const struct aw_call *call, long thread)
{
    uint64_t since = call->begin_ns > trace.start ? call->begin_ns - trace.start : 0;
    aw_buf_printf(line, "%4llu.%06llu %ld ", (unsigned long long)(since / 1000000000),
                  (unsigned long long)(since / 1000 % 1000000), thread);
    aw_call_print_text(line, call);
    aw_buf_printf(line, " <%llu.%03llu us>\n", (unsigned long long)((call->end_ns - call->begin_ns) / 1000),
                  (unsigned long long)((call->end_ns - call->begin_ns) % 1000));
}

static void line_json(struct aw_buf *line, const struct aw_call *call, long thread)
{
    aw_buf_printf(line, "{\"pid\":%ld,\"tid\":%ld,", (long)getpid(), thread);
    aw_call_print_json(line, call);
    aw_buf_printf(line, "}\n");
}

static void line_record(struct aw_buf *line, const struct aw_call *call, long thread)
{
    aw_buf_printf(line, "call\t%.*s\t%ld\t%ld\t%s\t%llu\t%llu\t%llu\t%d\n", (int)strcspn(call->text + 1, "|"), call->text + 1,
                  (long)getpid(), thread, call->library, (unsigned long long)call->begin_ns, (unsigned long long)call->end_ns,
                  (unsigned long long)call->number, aw_call_failed(call->text, call->result));
}

void aw_trace_compile(const char *name, uint64_t begin_ns)
{
    struct aw_buf line = { 0 };
    if (!aw_trace_records())
        return;
    aw_buf_printf(&line, "compile\t%s\t%ld\t%ld\t%llu\t%llu\n", name, (long)getpid(), syscall(SYS_gettid),
                  (unsigned long long)begin_ns, (unsigned long long)aw_clock_wall_ns());
    if (!line.failed)
        aw_trace_write(line.ptr, line.len);
    aw_buf_fini(&line);
}

void aw_call_trace(const struct aw_call *call)
{
    struct aw_buf line = { 0 };
    pthread_once(&trace.once, environment_read);
    if (aw_log_on(AW_LOG_TRACE, call->room)) {
        aw_call_print_text(&line, call);
        aw_log(call->room, AW_LOG_TRACE, 0, "%s", line.failed ? "(out of memory)" : line.ptr);
        aw_buf_fini(&line);
        line = (struct aw_buf){ 0 };
    }
    if (wanted(call)) {
        (trace.records ? line_record : trace.json ? line_json : line_text)(&line, call, syscall(SYS_gettid));
        if (!line.failed)
            aw_trace_write(line.ptr, line.len);
    }
    aw_buf_fini(&line);
}
