/* ANYWARP_LOG is read once; a line is one write, so lines of several threads do not mix. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/demangle.h"
#include "base/env.h"
#include "base/progress.h"
#include "base/str.h"

static const char *const level_names[] = { "err", "fixme", "warn", "info", "trace" };

static struct {
    pthread_once_t once;
    enum aw_log_level level; /* for rooms not named */
    char spec[256];
} log_state = { .once = PTHREAD_ONCE_INIT, .level = AW_LOG_WARN };

static void (*log_tap)(enum aw_log_level, const char *); /* atomic */

void aw_log_tap(void (*tap)(enum aw_log_level level, const char *text))
{
    __atomic_store_n(&log_tap, tap, __ATOMIC_RELEASE);
}

/* Writes the line, with `code` at the end of its first one, and frees it. */
static void line_end(struct aw_buf *line, int code, bool demangle)
{
    char *plain = !line->failed && line->ptr && demangle ? aw_demangle_text(line->ptr) : NULL;
    const char *text = plain ? plain : line->ptr;
    struct aw_buf out = { 0 };
    if (!line->failed && text) {
        size_t first = strcspn(text, "\n"), len = strlen(text);
        aw_buf_add(&out, text, first);
        if (code)
            aw_buf_printf(&out, " [AW%04d]", code);
        aw_buf_add(&out, text + first, len - first);
        if (first == len || text[len - 1] != '\n')
            aw_buf_add(&out, "\n", 1);
    }
    if (!out.failed && out.len) {
        aw_progress_hide();
        ssize_t ignored = write(STDERR_FILENO, out.ptr, out.len);
        (void)ignored; /* nowhere to report it */
    }
    aw_buf_fini(&out);
    aw_buf_fini(line);
    free(plain);
}

static bool level_from(struct aw_str s, enum aw_log_level *ret_level)
{
    for (int i = 0; i <= AW_LOG_TRACE; i++) {
        if (aw_str_is(s, level_names[i])) {
            *ret_level = (enum aw_log_level)i;
            return true;
        }
    }
    return false;
}

/* Takes the next "level[:room]" off *rest. */
static bool next_rule(const char **rest, struct aw_str *ret_level, struct aw_str *ret_room)
{
    const char *p = *rest;

    if (!*p)
        return false;
    size_t len = strcspn(p, ",");
    size_t level_len = strcspn(p, ":,");
    *ret_level = (struct aw_str){ p, level_len };
    *ret_room = level_len < len ? (struct aw_str){ p + level_len + 1, len - level_len - 1 } : (struct aw_str){ 0 };
    *rest = p + len + (p[len] == ',');
    return true;
}

static void log_read_environment(void)
{
    const char *env = aw_env("ANYWARP_LOG");

    if (!env)
        return;
    snprintf(log_state.spec, sizeof log_state.spec, "%s", env);
    struct aw_str level, room;
    for (const char *rest = log_state.spec; next_rule(&rest, &level, &room);) {
        enum aw_log_level parsed;
        if (!level_from(level, &parsed))
            aw_tell("anywarp: warn: base", LOG_LEVEL, AW_STR_ARG(level));
        else if (!room.len)
            log_state.level = parsed;
    }
}

bool aw_log_on(enum aw_log_level level, const char *room_name)
{
    pthread_once(&log_state.once, log_read_environment);
    enum aw_log_level limit = log_state.level;
    if (log_state.spec[0]) {
        struct aw_str name, room;
        for (const char *rest = log_state.spec; next_rule(&rest, &name, &room);) {
            enum aw_log_level parsed;
            if (room.len && aw_str_is(room, room_name) && level_from(name, &parsed))
                limit = parsed;
        }
    }
    return level <= limit;
}

/* For `anywarp check --fail`, which counts what was said by a program and whatever it has started: a byte each. */
static void error_count(void)
{
    const char *path = aw_env("ANYWARP_ERRORS_FILE");
    int fd = path && *path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    ssize_t ignored = write(fd, "!", 1);
    (void)ignored; /* the line itself is said */
    close(fd);
}

void aw_log(const char *room, enum aw_log_level level, int code, const char *fmt, ...)
{
    if (!aw_log_on(level, room))
        return;
    struct aw_buf line = { 0 };
    va_list ap;
    aw_buf_printf(&line, "anywarp: %s: %s: ", level_names[level], room);
    size_t head = line.len;
    va_start(ap, fmt);
    aw_buf_vprintf(&line, fmt, ap);
    va_end(ap);
    void (*tap)(enum aw_log_level, const char *) = level <= AW_LOG_WARN ? __atomic_load_n(&log_tap, __ATOMIC_ACQUIRE) : NULL;
    if (tap && !line.failed)
        tap(level, line.ptr + head);
    if (level == AW_LOG_ERR)
        error_count();
    line_end(&line, code, level < AW_LOG_TRACE); /* a call's arguments are traced as they are */
}

void aw_log_tool(const char *who, enum aw_log_level level, int code, const char *fmt, ...)
{
    (void)level;
    struct aw_buf line = { 0 };
    va_list ap;
    aw_buf_printf(&line, "%s: ", who);
    va_start(ap, fmt);
    aw_buf_vprintf(&line, fmt, ap);
    va_end(ap);
    line_end(&line, code, true);
}
