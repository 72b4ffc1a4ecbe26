/* `anywarp profile`: runs a program, has its libraries write records of calls and of devices' work, and shows them when it has
 * ended.  What is written, base/calltrace.h and src/abi/profile.c say; times of work are events' around it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "anywarp.h"
#include "base/calltrace.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/file.h"
#include "base/log.h"
#include "run.h"
#include "trace.h"
#include "usage.h"

static const char help[] =
    "usage: anywarp profile [options] [options of anywarp run] PROGRAM [argument...]\n\n"
    "Runs the program, and says when it has ended how long its kernels, copies and calls took, and what was compiled.\n\n"
    "  --counters         count, on the host device, what kernels' lanes load and store, how many lanes are in use, and "
    "what\n"
    "                     warps wait for at barriers; kernels take longer, and so say their times\n"
    "  --timeline FILE    write a timeline, for https://ui.perfetto.dev or chrome://tracing\n"
    "  --top N            N rows in each table, not 20; 0: all\n"
    "  --json             the tables as one JSON object\n"
    "  -o, --output FILE  to a file, not to standard error\n\n"
    "Exit status: the program's, or 128 and the signal that ended it; 1 no profile could be made; 2 wrong usage, or a file "
    "cannot "
    "be\n"
    "written; 126 it cannot be run; 127 it is not there.\n";

/* ---- Records. */

static const char *const kind_names[AW_PROFILE_KINDS] = { "kernel", "copy", "fill", "call", "compile", "sample",
                                                         "count", "wait" };

static uint64_t number(const char *field)
{
    return strtoull(field, NULL, 10);
}

/* One line, cut into its fields.  False for a line that is none: what a program that was killed wrote half. */
static bool record_read(char *line, struct aw_profile_record *ret)
{
    enum { FIELDS = 11 };
    static const int wanted[AW_PROFILE_KINDS] = { 11, 9, 9, 9, 6, 5, 10, 6 };
    char *field[FIELDS] = { 0 };
    int n = 0, kind = 0;
    for (char *p = line; p && n < FIELDS; n++) {
        field[n] = p;
        p = strchr(p, '\t');
        if (p)
            *p++ = '\0';
    }
    while (kind < AW_PROFILE_KINDS && strcmp(field[0], kind_names[kind]) != 0)
        kind++;
    if (kind == AW_PROFILE_KINDS || n != wanted[kind])
        return false;
    *ret = (struct aw_profile_record){ .kind = (enum aw_profile_kind)kind, .name = field[1], .process = number(field[2]) };
    if (kind == AW_PROFILE_SAMPLE) {
        ret->kernel = field[3];
        ret->end = number(field[4]);
        return true;
    }
    if (kind == AW_PROFILE_COUNT || kind == AW_PROFILE_WAIT) {
        int from = kind == AW_PROFILE_COUNT ? 4 : 3;
        ret->kernel = field[kind == AW_PROFILE_COUNT ? 3 : 1];
        for (int i = from; i < n; i++)
            ret->counts[i - from] = number(field[i]);
        return true;
    }
    if (kind == AW_PROFILE_COMPILE) {
        ret->thread = number(field[3]);
        ret->begin = number(field[4]);
        ret->end = number(field[5]);
        return ret->end >= ret->begin;
    }
    ret->begin = number(field[5]);
    ret->end = number(field[6]);
    ret->call = number(field[7]);
    if (kind == AW_PROFILE_CALL) {
        ret->thread = number(field[3]);
        ret->library = field[4];
        ret->failed = *field[8] != '0';
    } else {
        ret->device = (uint32_t)number(field[3]);
        ret->thread = number(field[4]);
        ret->bytes = kind == AW_PROFILE_KERNEL ? 0 : number(field[8]);
        ret->grid = field[8];
        ret->block = field[9];
        ret->shared = field[10];
    }
    return ret->end >= ret->begin;
}

static bool records_read(struct aw_profile *profile, const char *path)
{
    size_t size;
    if (aw_file_read(path, &profile->text, &size) != AW_OK)
        return false;
    for (char *line = profile->text, *next; line < profile->text + size; line = next) {
        struct aw_profile_record record;
        char *end = memchr(line, '\n', (size_t)(profile->text + size - line));
        if (!end)
            break;
        *end = '\0';
        next = end + 1;
        if (record_read(line, &record) && !aw_vec_push(&profile->records, record))
            return false;
    }
    return true;
}

/* ---- Running. */

struct wish {
    const char *timeline, *output;
    unsigned top;
    bool json, counters;
};

static int profile_show(struct aw_profile *profile, const char *records, const struct wish *wish)
{
    bool read = records_read(profile, records);
    FILE *out = !wish->output ? stderr : fopen(wish->output, "w");
    bool done = read && out && aw_profile_report(profile, wish->top, wish->json, out);
    if (out && out != stderr && fclose(out) != 0)
        done = false;
    if (!done)
        aw_tell("anywarp profile", PROFILE_FILE,
                !read          ? records
                : wish->output ? wish->output
                               : "standard error",
                errno ? strerror(errno) : "out of memory");
    if (read && wish->timeline && !aw_profile_timeline(profile, wish->timeline)) {
        aw_tell("anywarp profile", PROFILE_FILE, wish->timeline, errno ? strerror(errno) : "out of memory");
        done = false;
    }
    return done ? 0 : 1;
}

/* The index of what is `run`'s, -1 for wrong usage after a message, -2 for help. */
static int options_read(int argc, char **argv, struct wish *ret)
{
    const char *value;
    char *end;
    int i = 1;
    for (; i < argc; i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return -2;
        if (!strcmp(argv[i], "--json")) {
            ret->json = true;
        } else if (!strcmp(argv[i], "--counters")) {
            ret->counters = true;
        } else if ((value = aw_option_value("--timeline", argc, argv, &i))) {
            ret->timeline = value;
        } else if ((value = aw_option_value("-o", argc, argv, &i)) || (value = aw_option_value("--output", argc, argv, &i))) {
            ret->output = value;
        } else if ((value = aw_option_value("--top", argc, argv, &i))) {
            ret->top = (unsigned)strtoul(value, &end, 10);
            if (*value < '0' || *value > '9' || *end) {
                aw_usage_wrong("profile", help, "--top is a number, not '%s'", value);
                return -1;
            }
        } else {
            break;
        }
    }
    bool named = !(ret->timeline && !*ret->timeline) && !(ret->output && !*ret->output);
    if (i < argc && named)
        return i;
    aw_usage_wrong("profile", help, named ? "no program given" : "--timeline and --output need a file");
    return -1;
}

/* Can the file be written?  Known before the program has run. */
static bool writable(const char *path)
{
    FILE *f = path ? fopen(path, "a") : NULL;
    if (path && !f)
        aw_tell("anywarp profile", PROFILE_FILE, path, strerror(errno));
    if (f)
        fclose(f);
    return !path || f;
}

int aw_cmd_profile(int argc, char **argv)
{
    struct wish wish = { .top = 20 };
    struct aw_profile profile = { 0 };
    const char *folder = aw_env("TMPDIR");
    char records[4096];
    int first = options_read(argc, argv, &wish);
    if (first < 0)
        return first == -2 ? aw_usage_help(help) : 2;
    if (!writable(wish.output) || !writable(wish.timeline))
        return 2;
    snprintf(records, sizeof records, "%s/anywarp-profile-XXXXXX", folder && *folder ? folder : "/tmp");
    int fd = mkstemp(records);
    if (fd < 0 || setenv("ANYWARP_TRACE", wish.counters ? "records,counters" : "records,samples", 1) != 0 ||
        !aw_trace_file(records, "ANYWARP_TRACE_FILE")) {
        aw_tell("anywarp profile", PROFILE_FILE, records, strerror(errno));
        return 1;
    }
    close(fd);
    profile.begin = aw_clock_wall_ns();
    profile.counted = wish.counters;
    argv[first - 1] = argv[0];
    int status = aw_run_child(argc - first + 1, argv + first - 1);
    profile.end = aw_clock_wall_ns();
    errno = 0;
    bool ran = status != 2 && status != 126 && status != 127;
    int shown = ran ? profile_show(&profile, records, &wish) : 0;
    unlink(records);
    aw_vec_fini(&profile.records);
    free(profile.text);
    return status ? status : shown;
}
