/* What `doctor` finds: see findings.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "findings.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"

static const char *const marks[] = { "ok", "note", "FAIL" };
static bool json;
static struct aw_buf text;             /* JSON so far */
static unsigned n_findings, n_details; /* details of the last */

void aw_findings_json(void)
{
    json = true;
}

static void close_finding(void)
{
    if (n_findings)
        aw_buf_printf(&text, "%s}", n_details ? "]" : "");
    n_details = 0;
}

/* A long list goes on in the same column. */
static void words_print(const char *words)
{
    enum { COLUMN = 17, WIDTH = 110, LONG = 200 };
    size_t at = COLUMN, wrap = strlen(words) > LONG ? WIDTH : SIZE_MAX;
    for (const char *p = words; *p;) {
        size_t n = strcspn(p, " ");
        bool first = at == COLUMN, next = !first && at + 1 + n > wrap;
        if (next)
            printf("\n%*s", COLUMN, "");
        at = next ? COLUMN : at;
        printf("%s%.*s", first || next ? "" : " ", (int)n, p);
        at += n + !(first || next);
        p += n + (p[n] == ' ');
    }
    putchar('\n');
}

enum aw_grade aw_find(enum aw_grade grade, const char *what, const char *advice, const char *fmt, ...)
{
    struct aw_buf line = { 0 };
    va_list ap;
    va_start(ap, fmt);
    aw_buf_vprintf(&line, fmt, ap);
    va_end(ap);
    if (json) {
        close_finding();
        aw_buf_printf(&text, "%s\n  {\"grade\": \"%s\", \"what\": ", n_findings ? "," : "",
                      grade == AW_BAD ? "fail" : marks[grade]);
        aw_json_cstr(&text, what);
        aw_buf_printf(&text, ", \"text\": ");
        aw_json_str(&text, aw_buf_view(&line));
        if (advice) {
            aw_buf_printf(&text, ", \"advice\": ");
            aw_json_cstr(&text, advice);
        }
    } else {
        printf("%-4s  %-10s ", marks[grade], what);
        words_print(line.ptr ? line.ptr : "");
        if (advice)
            printf("      %-10s %s\n", "", advice);
    }
    n_findings++;
    aw_buf_fini(&line);
    return grade;
}

void aw_find_detail(const char *fmt, ...)
{
    struct aw_buf line = { 0 };
    va_list ap;
    va_start(ap, fmt);
    aw_buf_vprintf(&line, fmt, ap);
    va_end(ap);
    if (json) {
        aw_buf_printf(&text, "%s", n_details++ ? ", " : ", \"details\": [");
        aw_json_str(&text, aw_buf_view(&line));
    } else {
        printf("      %-10s %.*s\n", "", AW_STR_ARG(aw_buf_view(&line)));
    }
    aw_buf_fini(&line);
}

void aw_findings_end(bool ok, const char *verdict)
{
    if (!json) {
        puts(verdict);
        return;
    }
    close_finding();
    aw_buf_printf(&text, "\n ],\n \"ok\": %s, \"verdict\": ", ok ? "true" : "false");
    aw_json_cstr(&text, verdict);
    if (text.failed)
        aw_tell("anywarp", TOOL_MEMORY);
    else
        printf("{\"findings\": [%s}\n", text.ptr);
    aw_buf_fini(&text);
}
