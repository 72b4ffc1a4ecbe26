/* `anywarp config`: the settings that there are, what each is now, and where that is said. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "anywarp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/env.h"
#include "base/json.h"
#include "base/log.h"
#include "base/quirk.h"
#include "base/str.h"
#include "usage.h"

static const char help[] =
    "usage: anywarp config [--json] [SETTING]\n\n"
        "Shows the settings: what each means and may be, what it is now, and where that is said.  SETTING is the name of one.\n"
        "A setting is a variable of the environment, or a line `name = value` of the file $XDG_CONFIG_HOME/anywarp/config (else\n"
        "~/.config/anywarp/config), where # begins a comment.  The environment comes first.  Privileged programs read no file.\n"
    "\n  --json      the same for programs\n\n"
    "Exit status: 0; 1 something is wrong with the file; 2 wrong usage.\n";

/* What a setting is now, and where that is said: static or the environment's. */
static const char *value_of(const struct aw_config *row, const char **ret_from)
{
    const char *file = aw_config_value(row->variable), *now = aw_env(row->variable);
    *ret_from = !now ? "usual" : now == file ? "file" : "environment";
    return now ? now : row->usual;
}

/* `text` in lines of at most 100 characters, each indented. */
static void print_filled(const char *text)
{
    enum { WIDTH = 100, INDENT = 4 };
    int at = 0;
    for (const char *word = text; *word;) {
        int len = (int)strcspn(word, " ");
        if (at && at + 1 + len > WIDTH) {
            putchar('\n');
            at = 0;
        }
        at += at ? printf(" %.*s", len, word) : printf("%*s%.*s", INDENT, "", len, word);
        word += len;
        word += strspn(word, " ");
    }
    putchar('\n');
}

static void print_row(const struct aw_config *row)
{
    const char *from, *now = value_of(row, &from), *usual = *row->usual ? row->usual : "nothing";
    if (!strcmp(from, "usual"))
        printf("%s: %s\n", row->key, usual);
    else
        printf("%s: %s   (%s; usual: %s)\n", row->key, now, !strcmp(from, "file") ? "the file" : row->variable, usual);
    print_filled(row->what);
    printf("    May be: %s.\n", row->values);
}

static void add_member(struct aw_buf *out, const char *name, const char *value, const char *before)
{
    aw_buf_printf(out, "%s\"%s\": ", before, name);
    aw_json_cstr(out, value);
}

static void add_row(struct aw_buf *out, const struct aw_config *row, bool first)
{
    const char *from, *now = value_of(row, &from);
    add_member(out, "name", row->key, first ? "{" : ",\n{");
    add_member(out, "variable", row->variable, ", ");
    add_member(out, "value", now, ", ");
    add_member(out, "from", from, ", ");
    add_member(out, "usual", row->usual, ", ");
    add_member(out, "values", row->values, ", ");
    add_member(out, "what", row->what, ", ");
    aw_buf_printf(out, "}");
}

static int print_json(const char *wanted)
{
    struct aw_buf out = { 0 };
    size_t count, n = 0;
    const struct aw_config *rows = aw_config_rows(&count);
    const char *why;
    add_member(&out, "file", aw_config_path(&why), "{");
    if (why)
        add_member(&out, "not_read", why, ", ");
    aw_buf_printf(&out, ", \"settings\": [\n");
    for (size_t i = 0; i < count; i++)
        if (!wanted || !strcmp(wanted, rows[i].key))
            add_row(&out, &rows[i], n++ == 0);
    aw_buf_printf(&out, "]}\n");
    bool ok = !out.failed && fwrite(out.ptr, 1, out.len, stdout) == out.len;
    aw_buf_fini(&out);
    return ok ? 0 : 1;
}

static int print_text(const char *wanted)
{
    size_t count;
    const struct aw_config *rows = aw_config_rows(&count);
    const char *why, *path = aw_config_path(&why);
    if (!wanted && !*path)
        printf("file: none: HOME names no absolute path\n\n");
    else if (!wanted)
        printf("file: %s%s%s%s\n\n", path, why ? " (not read: it " : "", why ? why : "", why ? ")" : "");
    for (size_t i = 0; i < count; i++)
        if (!wanted || !strcmp(wanted, rows[i].key))
            print_row(&rows[i]);
    return 0;
}

/* After the setting `quirks`, what there is to switch. */
static void print_quirks(void)
{
    for (int i = 0; i < AW_QUIRK_COUNT; i++) {
        const struct aw_quirk_row *row = aw_quirk_row((enum aw_quirk)i);
        printf("\n%s: %s\n", row->name, aw_quirk_on((enum aw_quirk)i) ? "on" : "off");
        printf("    For %s.\n", row->who);
        print_filled(row->what);
    }
}

static bool is_setting(const char *name)
{
    size_t count;
    const struct aw_config *rows = aw_config_rows(&count);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(rows[i].key, name))
            return true;
    aw_tell("anywarp", CONFIG_NAME, name);
    return false;
}

/* Says what is wrong with the file.  False: something is. */
static bool file_is_well(void)
{
    struct aw_buf problems = { 0 };
    aw_config_problems(&problems);
    for (const char *line = problems.len ? problems.ptr : ""; *line;) {
        size_t len = strcspn(line, "\n");
        aw_tell("anywarp", CONFIG_FILE, (int)len, line);
        line += len + (line[len] == '\n');
    }
    bool ok = !problems.len;
    aw_buf_fini(&problems);
    return ok;
}

int aw_cmd_config(int argc, char **argv)
{
    bool json = argc > 1 && !strcmp(argv[1], "--json");
    const char *wanted = argc > 1 + json ? argv[1 + json] : NULL;
    if (wanted && (!strcmp(wanted, "--help") || !strcmp(wanted, "-h")))
        return aw_usage_help(help);
    if (wanted && *wanted == '-')
        return aw_usage_wrong("config", help, "unknown option %s", wanted);
    if (argc > 2 + json)
        return aw_usage_wrong("config", help, "'%s' is one word too many", argv[2 + json]);
    if (wanted && !is_setting(wanted))
        return 2;
    int status = json ? print_json(wanted) : print_text(wanted);
    if (!json && wanted && !strcmp(wanted, "quirks"))
        print_quirks();
    return file_is_well() ? status : 1;
}
