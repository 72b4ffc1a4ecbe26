/* `anywarp explain`: what a message means and what to do, by the code at its end.  docs/troubleshooting.md is the
 * same to read. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "anywarp.h"
#include "base/log.h"
#include "usage.h"

static const struct row {
    int number; /* 0: a title */
    const char *level, *text, *meaning, *remedy;
} rows[] = {
#define AW_MESSAGES(title) { 0, NULL, title, NULL, NULL },
#define AW_MESSAGE(name, number, level, text, meaning, remedy) { number, #level, text, meaning, remedy },
#include "base/message.def"
#undef AW_MESSAGE
#undef AW_MESSAGES
};
enum { N_ROWS = sizeof rows / sizeof *rows, WIDTH = 100 };

static const char help[] =
    "usage: anywarp explain CODE...        what messages mean, and what to do\n"
          "       anywarp explain                all of them, a line each\n\n"
          "A message's code stands at its end, such as [AW1104]; `anywarp help AW1104` does the same.\n\n"
    "Exit status: 0; 1 there is no such message; 2 wrong usage.\n";

/* The format with "..." for what it prints. */
static void text_print(const char *text)
{
    bool gap = false;
    for (const char *p = text; *p; p++) {
        if (*p == '%' && p[1] != '%') {
            p += 1 + strspn(p + 1, "-+ #0123456789.*lhzjt");
            if (!gap)
                fputs("...", stdout);
            gap = true;
            continue;
        }
        p += *p == '%';
        putchar(*p);
        gap = false;
    }
    putchar('\n');
}

/* A paragraph, four columns in. */
static void paragraph(const char *text)
{
    size_t column = 0;
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, " ");
        if (column && column + 1 + n > WIDTH) {
            putchar('\n');
            column = 0;
        }
        printf("%s%.*s", column ? " " : "    ", (int)n, p);
        column += n + (column ? 1 : 4);
        p += n + (p[n] == ' ');
    }
    putchar('\n');
}

static void row_print(const struct row *row)
{
    char level[8];
    size_t n = 0;
    for (; row->level[n] && n + 1 < sizeof level; n++)
        level[n] = (char)tolower((unsigned char)row->level[n]);
    level[n] = '\0';
    printf("AW%04d (%s): ", row->number, level);
    text_print(row->text);
    paragraph(row->meaning);
    printf("  What to do:\n");
    paragraph(row->remedy);
}

/* AW1104, aw1104 and [AW1104]; 0: no code. */
static int number_of(const char *word)
{
    char *end;
    word += *word == '[';
    if (strncasecmp(word, "AW", 2) != 0 || !isdigit((unsigned char)word[2]))
        return 0;
    long number = strtol(word + 2, &end, 10);
    end += *end == ']';
    return !*end && number > 0 && number <= 9999 ? (int)number : 0;
}

bool aw_explain_is_code(const char *word)
{
    return number_of(word) != 0;
}

static bool explain(const char *word)
{
    int number = number_of(word);
    for (size_t i = 0; number && i < N_ROWS; i++) {
        if (rows[i].number == number) {
            row_print(&rows[i]);
            return true;
        }
    }
    aw_tell("anywarp explain", CODE_UNKNOWN, word);
    return false;
}

int aw_cmd_explain(int argc, char **argv)
{
    bool all = true;
    if (argc > 1 && argv[1][0] == '-')
        return !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")
                   ? aw_usage_help(help)
                   : aw_usage_wrong("explain", help, "unknown option %s", argv[1]);
    for (size_t i = 0; i < N_ROWS && argc < 2; i++) {
        if (rows[i].number)
            printf("AW%04d  ", rows[i].number);
        else
            printf("%s", i ? "\n" : "");
        text_print(rows[i].text);
    }
    for (int i = 1; i < argc; i++) {
        if (i > 1)
            putchar('\n');
        all = explain(argv[i]) && all;
    }
    return all ? 0 : 1;
}
