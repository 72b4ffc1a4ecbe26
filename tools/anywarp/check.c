/* `anywarp check`: runs a program with its kernels' memory accesses watched: on the host device every one against what is
 * allocated, to the byte (src/provider/host/shadow.h), who comes to barriers, and races in shared memory; on the simulated card
 * for races alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "anywarp.h"
#include "usage.h"

static const char help[] =
    "usage: anywarp check [--leaks] [--init] [--sync] [--race] [options of anywarp run] PROGRAM [argument...]\n"
          "       anywarp check --race --device=sim:CARD [options of anywarp run] PROGRAM [argument...]\n\n"
          "Runs the program on the host device and says on standard error where a kernel reads or writes what is not allocated "
          "(to the\n"
          "byte), was freed, or is not aligned, and what is freed that is not allocated: kernel, block, source line where nvcc "
          "-lineinfo\n"
          "has put it, address, and who allocated what is there.  A kernel ends at the first, and the program gets CUDA's "
          "error.\n\n"
          "  --leaks  also what is not freed at the end\n"
          "  --init   also reads of device memory that was never written\n"
          "  --sync   also barriers and operations of a warp that not all threads come to which they are for\n"
          "  --race   also races between threads of a block in shared memory; with --device=sim:CARD instead of all that, races "
          "in\n"
          "           shared and global memory on a simulated card; slow\n\n"
          "Not found: overruns within one allocation.\n\n"
          "Exit status: the program's; 2 wrong usage; 126 it cannot be run; 127 it is not there.\n";

enum { SYNC = 1, INIT = 2, RACE = 4, LEAKS = 8 };

static int option_of(const char *word)
{
    static const char *const words[] = { "--sync", "--init", "--race", "--leaks" };
    for (int i = 0; i < 4; i++)
        if (!strcmp(word, words[i]))
            return 1 << i;
    return 0;
}

static bool set_up(int asked)
{
    static const char *const checks[] = {
        "none", "sync", "init", "sync,init", "race", "sync,race", "init,race", "sync,init,race"
    };
    return setenv("ANYWARP_HOST_GUARD", "byte", 1) == 0 && (!(asked & LEAKS) || setenv("ANYWARP_LEAKS", "1", 1) == 0) &&
           setenv("ANYWARP_HOST_CHECK", checks[asked & (SYNC | INIT | RACE)], 1) == 0;
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
    int status = card || set_up(asked) ? aw_cmd_run(n + argc - i, args) : 126;
    free(args);
    return status;
}
