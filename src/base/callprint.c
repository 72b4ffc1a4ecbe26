/* Calls as text and as JSON: see callprint.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/callprint.h"

#include <math.h>
#include <string.h>

#include "base/json.h"

enum { STRING_MOST = 200 }; /* a careless program may not end its string */

static bool result_is_code(char kind)
{
    return kind == 'e' || kind == 'E';
}

bool aw_call_failed(const char *text, uint64_t result)
{
    return result_is_code(text[0]) && result != 0;
}

/* One argument: its part of the description, and whether what it points to has been stored by the call. */
struct argument {
    char direction, kind;
    struct aw_str name;
    bool follow;
};

/* Takes the next "|", direction, kind and name off *at. */
static bool argument_next(const char **at, const struct aw_call *call, size_t index, struct argument *ret)
{
    const char *p = *at;
    if (!*p)
        return false;
    size_t len = strcspn(p + 3, "|");
    *ret = (struct argument){ p[1], p[2], { p + 3, len }, false };
    ret->follow = ret->direction == 'o' && !aw_call_failed(call->text, call->result) && call->values[index] && ret->kind != 'S';
    *at = p + 3 + len;
    return true;
}

/* The bits of what an output argument points to. */
static uint64_t output_bits(char kind, const void *at)
{
    uint64_t value = 0;
    float single;
    double real;
    switch (kind) {
    case 'c': return (uint64_t)(int64_t) * (const signed char *)at;
    case 'i':
    case 'u':
    case 'x':
    case 'e':
    case 'E': return *(const uint32_t *)at;
    case 'f':
        memcpy(&single, at, sizeof(single));
        real = single;
        memcpy(&value, &real, sizeof(value));
        return value;
    case 'd':
    case 'U':
    case 'p':
    case 's': memcpy(&value, at, sizeof(value)); return value;
    case 't':
    case 'D': return (uint64_t)(uintptr_t)at;
    default: return 0;
    }
}

/* ---- Text. */

static void text_string(struct aw_buf *line, const char *s)
{
    if (!s) {
        aw_buf_printf(line, "NULL");
        return;
    }
    size_t len = strnlen(s, STRING_MOST);
    aw_buf_printf(line, "\"");
    for (size_t i = 0; i < len; i++)
        aw_buf_printf(line, (unsigned char)s[i] < 32 || s[i] == '"' || s[i] == '\\' ? "\\x%02x" : "%c", (unsigned char)s[i]);
    aw_buf_printf(line, len == STRING_MOST ? "\"..." : "\"");
}

static void text_value(struct aw_buf *line, char kind, uint64_t value, aw_call_error_name error_name)
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
    case 's':
    case 't': text_string(line, (const char *)(uintptr_t)value); break;
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

void aw_call_print_text(struct aw_buf *line, const struct aw_call *call)
{
    struct argument a;
    size_t len = strcspn(call->text + 1, "|"), i = 0;
    aw_buf_printf(line, "%.*s(", (int)len, call->text + 1);
    for (const char *at = call->text + 1 + len; argument_next(&at, call, i, &a); i++) {
        aw_buf_printf(line, "%s%s%.*s=", i ? ", " : "", a.follow && a.kind != 't' ? "*" : "", AW_STR_ARG(a.name));
        if (a.follow)
            text_value(line, a.kind, output_bits(a.kind, (const void *)(uintptr_t)call->values[i]), call->error_name);
        else
            text_value(line, a.direction == '-' ? a.kind : 'p', call->values[i], call->error_name);
    }
    aw_buf_printf(line, ")");
    if (call->text[0] != 'v') {
        aw_buf_printf(line, " = ");
        text_value(line, call->text[0], call->result, call->error_name);
    }
}

/* ---- JSON. */

static void json_real(struct aw_buf *line, double real)
{
    if (isfinite(real))
        aw_buf_printf(line, "%.17g", real);
    else
        aw_json_cstr(line, isnan(real) ? "nan" : real < 0 ? "-inf" : "inf");
}

static void json_value(struct aw_buf *line, char kind, uint64_t value, aw_call_error_name error_name)
{
    struct aw_buf text = { 0 };
    const char *s = (const char *)(uintptr_t)value;
    double real;
    switch (kind) {
    case 'i':
    case 'c':
    case 'u':
    case 'U': text_value(line, kind, value, NULL); break;
    case 's':
    case 't':
        if (s)
            aw_json_str(line, (struct aw_str){ s, strnlen(s, STRING_MOST) });
        else
            aw_buf_printf(line, "null");
        break;
    case 'f':
    case 'd':
        memcpy(&real, &value, sizeof(real));
        json_real(line, real);
        break;
    case 'D': {
        const unsigned *dim = (const unsigned *)(uintptr_t)value;
        aw_buf_printf(line, "[%u,%u,%u]", dim[0], dim[1], dim[2]);
        break;
    }
    case 'p':
    case 'x':
    case 'e':
    case 'E':
        text_value(&text, kind, value, error_name);
        aw_json_str(line, aw_buf_view(&text));
        break;
    default: aw_buf_printf(line, "null"); break; /* a structure */
    }
    aw_buf_fini(&text);
}

/* What the call was given, or what it has stored. */
static void json_arguments(struct aw_buf *line, const struct aw_call *call, bool stored)
{
    struct argument a;
    size_t i = 0, n = 0;
    for (const char *at = call->text + 1 + strcspn(call->text + 1, "|"); argument_next(&at, call, i, &a); i++) {
        if (stored && !a.follow)
            continue;
        aw_buf_printf(line, "%s\"%.*s\":", n++ ? "," : "", AW_STR_ARG(a.name));
        if (stored)
            json_value(line, a.kind, output_bits(a.kind, (const void *)(uintptr_t)call->values[i]), call->error_name);
        else
            json_value(line, a.direction == '-' ? a.kind : 'p', call->values[i], call->error_name);
    }
}

void aw_call_print_json(struct aw_buf *line, const struct aw_call *call)
{
    aw_buf_printf(line, "\"library\":\"%s\",\"function\":\"%.*s\",\"begin_ns\":%llu,\"duration_ns\":%llu,\"args\":{",
                  call->library, (int)strcspn(call->text + 1, "|"), call->text + 1, (unsigned long long)call->begin_ns,
                  (unsigned long long)(call->end_ns - call->begin_ns));
    json_arguments(line, call, false);
    aw_buf_printf(line, "},\"out\":{");
    json_arguments(line, call, true);
    aw_buf_printf(line, "},\"result\":");
    if (call->text[0] == 'v')
        aw_buf_printf(line, "null");
    else
        json_value(line, call->text[0], call->result, call->error_name);
    aw_buf_printf(line, ",\"failed\":%s", aw_call_failed(call->text, call->result) ? "true" : "false");
}
