/* The table of settings and the user's file of them: see config.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

static const struct aw_config rows[] = {
#define AW_CONFIG(key, variable, values, usual, what) { key, variable, values, usual, what },
#include "base/config.def"
#undef AW_CONFIG
};
enum { ROWS = sizeof rows / sizeof *rows, MOST = 1 << 16 /* bytes of a file */ };

static struct {
    pthread_once_t once;
    char path[4096];
    bool read;
    const char *why; /* it was not read */
    char *values[ROWS];
    struct aw_buf problems;
} config = { .once = PTHREAD_ONCE_INIT };

const struct aw_config *aw_config_rows(size_t *ret_count)
{
    *ret_count = ROWS;
    return rows;
}

/* ---- The text */

static struct aw_str trimmed(struct aw_str s)
{
    while (s.len && strchr(" \t\r", *s.ptr))
        s = (struct aw_str){ s.ptr + 1, s.len - 1 };
    while (s.len && strchr(" \t\r", s.ptr[s.len - 1]))
        s.len--;
    return s;
}

static int row_of(struct aw_str key)
{
    for (int i = 0; i < ROWS; i++)
        if (aw_str_is(key, rows[i].key))
            return i;
    return -1;
}

static bool parse_line(const char *path, int number, struct aw_str line, char **values, struct aw_buf *problems)
{
    line = trimmed(line);
    if (!line.len || *line.ptr == '#')
        return true;
    const char *equals = memchr(line.ptr, '=', line.len);
    if (!equals) {
        aw_buf_printf(problems, "%s:%d: not `key = value`: %.*s\n", path, number, AW_STR_ARG(line));
        return true;
    }
    struct aw_str key = trimmed((struct aw_str){ line.ptr, (size_t)(equals - line.ptr) });
    struct aw_str value = trimmed((struct aw_str){ equals + 1, line.len - (size_t)(equals + 1 - line.ptr) });
    int row = row_of(key);
    if (row < 0) {
        aw_buf_printf(problems, "%s:%d: there is no setting '%.*s'; `anywarp config` lists them\n", path, number,
                      AW_STR_ARG(key));
        return true;
    }
    free(values[row]); /* the last one counts */
    values[row] = strndup(value.ptr, value.len);
    return values[row] != NULL;
}

bool aw_config_parse(const char *path, const char *text, char **values, struct aw_buf *problems)
{
    bool ok = true;
    for (int number = 1; ok && *text; number++) {
        size_t len = strcspn(text, "\n");
        ok = parse_line(path, number, (struct aw_str){ text, len }, values, problems);
        text += len + (text[len] == '\n');
    }
    return ok;
}

/* ---- The file */

static void find_path(void)
{
    const char *xdg = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");
    int n = 0;
    if (xdg && *xdg == '/')
        n = snprintf(config.path, sizeof config.path, "%s/anywarp/config", xdg);
    else if (home && *home == '/')
        n = snprintf(config.path, sizeof config.path, "%s/.config/anywarp/config", home);
    if ((size_t)n >= sizeof config.path)
        config.path[0] = '\0';
}

/* Why the file is not taken; NULL: it is. */
static const char *refused(int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return "is no regular file";
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return "belongs to another user";
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return "can be written by others";
    return st.st_size > MOST ? "is longer than 64 KiB" : NULL;
}

/* The same of a file that does not open. */
static const char *not_opened(int error)
{
    switch (error) {
    case EACCES: return "may not be read by you";
    case ELOOP: return "is a loop of links";
    default: return "cannot be opened";
    }
}

static void load(void)
{
    find_path();
    int fd = *config.path ? open(config.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (fd < 0) {
        bool absent = !*config.path || errno == ENOENT || errno == ENOTDIR;
        config.why = absent ? "is not there" : not_opened(errno);
        if (!absent)
            aw_buf_printf(&config.problems, "%s %s: not read\n", config.path, config.why);
        return;
    }
    char *text = calloc(1, MOST + 1);
    config.why = refused(fd);
    ssize_t n = config.why || !text ? -1 : read(fd, text, MOST);
    if (!config.why && n < 0)
        config.why = "cannot be read";
    if (config.why)
        aw_buf_printf(&config.problems, "%s %s: not read\n", config.path, config.why);
    config.read = n >= 0 && aw_config_parse(config.path, text, config.values, &config.problems);
    free(text);
    close(fd);
}

const char *aw_config_value(const char *variable)
{
    pthread_once(&config.once, load);
    for (int i = 0; i < ROWS && config.read; i++)
        if (!strcmp(rows[i].variable, variable))
            return config.values[i];
    return NULL;
}

const char *aw_config_path(const char **ret_why)
{
    pthread_once(&config.once, load);
    if (ret_why)
        *ret_why = config.why;
    return config.path;
}

void aw_config_problems(struct aw_buf *out)
{
    pthread_once(&config.once, load);
    struct aw_str said = aw_buf_view(&config.problems);
    aw_buf_printf(out, "%.*s", AW_STR_ARG(said));
}
