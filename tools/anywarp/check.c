/* `anywarp check`: runs a program with its kernels' memory accesses watched: on the host device every one against what is
 * allocated, to the byte (src/provider/host/shadow.h), who comes to barriers, and races in shared memory; on the simulated card
 * for races alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "anywarp.h"
#include "base/env.h"
#include "base/log.h"
#include "run.h"
#include "usage.h"

static const char help[] =
    "usage: anywarp check [--fail] [--leaks] [--init] [--sync] [--race] [options of anywarp run] PROGRAM [argument...]\n"
    "       anywarp check --race --device=sim:CARD [options of anywarp run] PROGRAM [argument...]\n\n"
    "Runs the program on the host device and says on standard error where a kernel reads or writes what is not allocated "
    "(to the\n"
    "byte), was freed, or is not aligned, and what is freed that is not allocated: kernel, block, source line where nvcc "
    "-lineinfo\n"
    "has put it, address, and who allocated what is there.  A kernel ends at the first, and the program gets CUDA's "
    "error.\n\n"
    "  --fail   end with 1 where something was said and the program itself ends with 0; for tests\n"
    "  --leaks  also what is not freed at the end\n"
    "  --init   also reads of device memory that was never written\n"
    "  --sync   also barriers and operations of a warp that not all threads come to which they are for\n"
    "  --race   also races between threads of a block in shared memory; with --device=sim:CARD instead of all that, races "
    "in\n"
    "           shared and global memory on a simulated card; slow\n\n"
    "Not found: overruns within one allocation.\n\n"
    "Exit status: the program's, with --fail 1 where that is 0 and an error was said; 2 wrong usage; 126 it cannot be run; 127 "
    "it is not there.\n";

enum { SYNC = 1, INIT = 2, RACE = 4, LEAKS = 8, FAIL = 16 };

static int option_of(const char *word)
{
    static const char *const words[] = { "--sync", "--init", "--race", "--leaks", "--fail" };
    for (int i = 0; i < 5; i++)
        if (!strcmp(word, words[i]))
            return 1 << i;
    return 0;
}

static bool set_up(int asked)
{
    char checks[32];
    snprintf(checks, sizeof checks, "none%s%s%s", asked & SYNC ? ",sync" : "", asked & INIT ? ",init" : "",
             asked & RACE ? ",race" : "");
    return setenv("ANYWARP_HOST_GUARD", "byte", 1) == 0 && (!(asked & LEAKS) || setenv("ANYWARP_LEAKS", "1", 1) == 0) &&
           setenv("ANYWARP_HOST_CHECK", checks, 1) == 0;
}

/* Is the program to run on a simulated card? */
static bool on_card(int argc, char **argv)
{
    bool card = false;
    for (int i = 0; i < argc && !strncmp(argv[i], "--", 2) && argv[i][2]; i++)
        if (!strncmp(argv[i], "--device=", strlen("--device=")))
            card = !strncmp(argv[i], "--device=sim", strlen("--device=sim"));
    return card;
}

/* Runs the program, and makes a failure of what it or anything it has started has said at level err: its exit status. */
static int run_counted(int argc, char **argv)
{
    const char *folder = aw_env("TMPDIR");
    char path[4096];
    struct stat st;
    snprintf(path, sizeof path, "%s/anywarp-check-XXXXXX", folder && *folder ? folder : "/tmp");
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0 || setenv("ANYWARP_ERRORS_FILE", path, 1) != 0) {
        aw_tell("anywarp check", CHECK_FILE, path, strerror(errno));
        return 126;
    }
    int status = aw_run_child(argc, argv);
    if (status == 0 && fstat(fd, &st) == 0 && st.st_size) {
        aw_tell("anywarp check", CHECK_FAILED, (unsigned long long)st.st_size, st.st_size == 1 ? "" : "s");
        status = 1;
    }
    close(fd);
    unlink(path);
    return status;
}

int aw_cmd_check(int argc, char **argv)
{
    static char name[] = "check", race[] = "--check=race", host[] = "--device=host";
    int i = 1, asked = 0, option;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return aw_usage_help(help);
        option = option_of(argv[i]);
        if (!option)
            break;
        asked |= option;
    }
    bool card = asked & RACE && on_card(argc - i, argv + i);
    if (i >= argc)
        return aw_usage_wrong("check", help, "no program given");
    if (card && asked != RACE)
        return aw_usage_wrong("check", help, "on a simulated card --race is for itself");
    char **args = calloc((size_t)(argc - i) + 4, sizeof *args);
    int n = 0;
    if (!args)
        return 126;
    args[n++] = name;
    args[n++] = card ? race : host; /* an option of the user's comes later, and wins */
    memcpy(args + n, argv + i, (size_t)(argc - i) * sizeof *args);
    int status = 126;
    if (card || set_up(asked))
        status = asked & FAIL ? run_counted(n + argc - i, args) : aw_cmd_run(n + argc - i, args);
    free(args);
    return status;
}
