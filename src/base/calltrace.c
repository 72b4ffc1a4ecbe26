/* Prints a call from the description that the generators make of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/calltrace.h"

#include <string.h>

#include "base/log.h"
#include "base/str.h"

/* A short string argument of the program, quoted; read only up to a limit, as a careless program may not end it. */
static void trace_string(struct aw_buf *line, const char *s)
{
    if (!s) {
        aw_buf_printf(line, "NULL");
        return;
    }
    size_t len = strnlen(s, 200);
    aw_buf_printf(line, "\"");
    for (size_t i = 0; i < len; i++)
        aw_buf_printf(line, (unsigned char)s[i] < 32 || s[i] == '"' || s[i] == '\\' ? "\\x%02x" : "%c", (unsigned char)s[i]);
    aw_buf_printf(line, len == 200 ? "\"..." : "\"");
}

static void trace_value(struct aw_buf *line, char kind, uint64_t value, aw_call_error_name error_name)
{
    double real;
    const char *name;
    switch (kind) {
    case 'i': aw_buf_printf(line, "%d", (int)value); break;
    case 'c': aw_buf_printf(line, "%d", (signed char)value); break;
    case 'u': aw_buf_printf(line, "%u", (unsigned)value); break;
    case 'U': aw_buf_printf(line, "%llu", (unsigned long long)value); break;
    case 'p': aw_buf_printf(line, "0x%llx", (unsigned long long)value); break;
    case 'x': aw_buf_printf(line, "0x%x", (unsigned)value); break;
    case 's': trace_string(line, (const char *)(uintptr_t)value); break;
    case 'f':
    case 'd':
        memcpy(&real, &value, sizeof(real));
        aw_buf_printf(line, "%g", real);
        break;
    case 'D': {
        const unsigned *dim = (const unsigned *)(uintptr_t)value;
        aw_buf_printf(line, "(%u,%u,%u)", dim[0], dim[1], dim[2]);
        break;
    }
    case 'e':
    case 'E':
        name = error_name ? error_name(kind, (int)value) : NULL;
        if (name)
            aw_buf_printf(line, "%s", name);
        else
            aw_buf_printf(line, "%d", (int)value);
        break;
    default: aw_buf_printf(line, "{...}"); break;
    }
}

/* What an output argument points to, once the call has stored it. */
static void trace_output(struct aw_buf *line, char kind, const void *at, aw_call_error_name error_name)
{
    uint64_t value = 0;
    float single;
    double real;
    switch (kind) {
    case 'c': value = (uint64_t)(int64_t)*(const signed char *)at; break;
    case 'i':
    case 'u':
    case 'x':
    case 'e':
    case 'E': value = *(const uint32_t *)at; break;
    case 'f':
        memcpy(&single, at, sizeof(single));
        real = single;
        memcpy(&value, &real, sizeof(value));
        break;
    case 'd':
    case 'U':
    case 'p':
    case 's': memcpy(&value, at, sizeof(value)); break;
    case 't':
        trace_string(line, at);
        return;
    case 'D': value = (uint64_t)(uintptr_t)at; break;
    default: break;
    }
    trace_value(line, kind, value, error_name);
}

void aw_call_trace(const char *room, const char *text, uint64_t result, const uint64_t values[], aw_call_error_name error_name)
{
    struct aw_buf line = { 0 };
    char kind = text[0];
    bool success = (kind != 'e' && kind != 'E') || result == 0;
    size_t len = strcspn(text + 1, "|");
    aw_buf_printf(&line, "%.*s(", (int)len, text + 1);
    const char *arg = text + 1 + len;
    for (size_t i = 0; *arg; i++) {
        char dir = arg[1], arg_kind = arg[2];
        const char *name = arg + 3;
        len = strcspn(name, "|");
        bool follow = dir == 'o' && success && values[i] && arg_kind != 'S';
        aw_buf_printf(&line, "%s%s%.*s=", i ? ", " : "", follow && arg_kind != 't' ? "*" : "", (int)len, name);
        if (follow)
            trace_output(&line, arg_kind, (const void *)(uintptr_t)values[i], error_name);
        else
            trace_value(&line, dir == '-' ? arg_kind : 'p', values[i], error_name);
        arg = name + len;
    }
    aw_buf_printf(&line, ")");
    if (kind != 'v') {
        aw_buf_printf(&line, " = ");
        trace_value(&line, kind, result, error_name);
    }
    aw_log(AW_LOG_TRACE, room, "%s", line.failed ? "(out of memory)" : line.ptr);
    aw_buf_fini(&line);
}
