/* Help and wrong usage: see usage.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "usage.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"

int aw_usage_help(const char *help)
{
    fputs(help, stdout);
    return 0;
}

int aw_usage_wrong(const char *command, const char *help, const char *fmt, ...)
{
    struct aw_buf text = { 0 };
    char who[32];
    const char *rest = strstr(help, "\n\n");
    va_list ap;
    va_start(ap, fmt);
    aw_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    snprintf(who, sizeof who, "anywarp %s", command);
    aw_tell(who, USAGE, text.ptr ? text.ptr : "wrong usage");
    aw_buf_fini(&text);
    fprintf(stderr, "%.*s\n`anywarp %s --help` tells more.\n", (int)(rest ? (size_t)(rest - help) : strlen(help)), help, command);
    return 2;
}

int aw_usage_option(const char *command, const char *help, int answer, char **argv)
{
    const char *word = argv[optind - 1];
    if (answer == ':')
        return aw_usage_wrong(command, help, "%s needs a value", word);
    if (optopt && strncmp(word, "--", 2) != 0)
        return aw_usage_wrong(command, help, "unknown option -%c", optopt);
    return aw_usage_wrong(command, help, optopt ? "%s: this option takes no value" : "unknown option %s", word);
}
