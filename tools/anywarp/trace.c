/* `anywarp trace`: runs a program and writes down its calls of CUDA's interfaces and libraries.  The libraries do it, as
 * ANYWARP_TRACE tells them (base/calltrace.h); here it is made from the options. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "anywarp.h"
#include "base/log.h"
#include "base/str.h"
#include "trace.h"
#include "usage.h"

static const char help[] =
    "usage: anywarp trace [options] [options of anywarp run] PROGRAM [argument...]\n\n"
    "Runs the program and writes a line for each of its calls of CUDA: seconds since the start, thread, function, "
    "arguments,\n"
    "what it stored where that is a simple value, result, and how long it took.\n\n"
    "  --filter PATTERN   only functions whose name fits, as file names do: 'cudaMem*'; several with commas or options\n"
    "  --library NAME     only calls of cudart, cuda, cublas, cudnn and so on; several likewise\n"
    "  --failed           only calls that return an error\n"
    "  --json             an object a line: pid, tid, library, function, begin_ns, duration_ns, args, out, result, failed\n"
    "  -o, --output FILE  to a file, not to standard error\n\n"
    "Exit status: the program's; 2 wrong usage, or the file cannot be written; 126 it cannot be run; 127 it is not there.\n";

bool aw_trace_file(const char *path, const char *variable)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    char *whole = fd < 0 ? NULL : realpath(path, NULL); /* the program may go elsewhere */
    bool done = whole && setenv(variable, whole, 1) == 0;
    if (!done)
        aw_tell("anywarp", TRACE_OPEN, path, strerror(errno));
    free(whole);
    if (fd >= 0)
        close(fd);
    return done;
}

/* Adds a "word=" for each of the parts of `list` between commas. */
static void words_add(struct aw_buf *words, const char *word, const char *list)
{
    for (const char *p = list; *p;) {
        size_t n = strcspn(p, ",");
        if (n)
            aw_buf_printf(words, ",%s=%.*s", word, (int)n, p);
        p += n + (p[n] == ',');
    }
}

int aw_cmd_trace(int argc, char **argv)
{
    struct aw_buf words = { 0 };
    const char *form = "text", *file = NULL, *value;
    int i = 1;
    for (; i < argc; i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return aw_usage_help(help);
        if (!strcmp(argv[i], "--json"))
            form = "json";
        else if (!strcmp(argv[i], "--failed"))
            aw_buf_printf(&words, ",failed");
        else if ((value = aw_option_value("--filter", argc, argv, &i)))
            words_add(&words, "name", value);
        else if ((value = aw_option_value("--library", argc, argv, &i)))
            words_add(&words, "library", value);
        else if ((value = aw_option_value("-o", argc, argv, &i)) || (value = aw_option_value("--output", argc, argv, &i)))
            file = value;
        else
            break; /* `run`'s, or the program */
    }
    char *all = NULL;
    bool fine = !words.failed && asprintf(&all, "%s%s", form, words.ptr ? words.ptr : "") > 0;
    aw_buf_fini(&words);
    if (i >= argc || !fine || (file && !*file)) {
        free(all);
        return aw_usage_wrong("trace", help,
                              !fine ? "out of memory" : file && !*file ? "--output needs a file" : "no program given");
    }
    fine = setenv("ANYWARP_TRACE", all, 1) == 0;
    free(all);
    if (!file)
        unsetenv("ANYWARP_TRACE_FILE");
    if (!fine || (file && !aw_trace_file(file, "ANYWARP_TRACE_FILE")))
        return 2;
    argv[i - 1] = argv[0];
    return aw_cmd_run(argc - i + 1, argv + i - 1);
}
