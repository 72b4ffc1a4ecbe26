/* `anywarp check`: runs a program with its kernels' memory accesses watched: on the host device every one against what is
 * allocated, to the byte (src/provider/host/shadow.h), and who comes to barriers; with --race, on the simulated card, for
 * races. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "anywarp.h"

static int usage(FILE *out)
{
    fputs("usage: anywarp check [--leaks] [--init] [--sync] [options of anywarp run] PROGRAM [argument...]\n"
          "       anywarp check --race [options of anywarp run] PROGRAM [argument...]\n\n"
          "Runs the program on the host device and says on standard error where a kernel reads or writes what is not allocated "
          "(to the\n"
          "byte), was freed, or is not aligned, and what is freed that is not allocated: kernel, block, source line where nvcc "
          "-lineinfo\n"
          "has put it, address, and who allocated what is there.  A kernel ends at the first, and the program gets CUDA's "
          "error.\n\n"
          "  --leaks  also what is not freed at the end\n"
          "  --init   also reads of device memory that was never written\n"
          "  --sync   also barriers and operations of a warp that not all threads come to which they are for\n"
          "  --race   races instead, in shared and global memory, on a simulated card; slow\n\n"
          "Not found: overruns within one allocation.\n"
          "Exit status: the program's; 2 wrong usage; 126 it cannot be run; 127 it is not there.\n",
          out);
    return out == stderr ? 2 : 0;
}

enum { SYNC = 1, INIT = 2, LEAKS = 4, RACE = 8 };

static int option_of(const char *word)
{
    static const char *const words[] = { "--sync", "--init", "--leaks", "--race" };
    for (int i = 0; i < 4; i++)
        if (!strcmp(word, words[i]))
            return 1 << i;
    return 0;
}

static bool set_up(int asked)
{
    static const char *const checks[] = { "none", "sync", "init", "sync,init" };
    return asked & RACE ||
           (setenv("ANYWARP_HOST_GUARD", "byte", 1) == 0 && (!(asked & LEAKS) || setenv("ANYWARP_LEAKS", "1", 1) == 0) &&
            setenv("ANYWARP_HOST_CHECK", checks[asked & (SYNC | INIT)], 1) == 0);
}

int aw_cmd_check(int argc, char **argv)
{
    static char name[] = "check", simulated[] = "--device=sim:gfx1030", race[] = "--check=race", host[] = "--device=host";
    int i = 1, asked = 0, option;
    for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
        if (!strcmp(argv[i], "--help"))
            return usage(stdout);
        option = option_of(argv[i]);
        if (!option)
            break;
        asked |= option;
    }
    bool races = asked & RACE;
    char **args = i < argc && (!races || asked == RACE) ? calloc((size_t)(argc - i) + 4, sizeof *args) : NULL;
    int n = 0;
    if (!args)
        return usage(stderr);
    args[n++] = name;
    args[n++] = races ? simulated : host; /* an option of the user's comes later, and wins */
    if (races)
        args[n++] = race;
    memcpy(args + n, argv + i, (size_t)(argc - i) * sizeof *args);
    int status = set_up(asked) ? aw_cmd_run(n + argc - i, args) : 126;
    free(args);
    return status;
}
