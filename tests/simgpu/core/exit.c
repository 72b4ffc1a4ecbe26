/* What is said at a program's end: statistics, races, and the program's status when there were any. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../sim.h"

#define RACES_STATUS 66 /* of a program in which races were found */

static void print_stats(void)
{
    const char *where = sim_settings()->stats;
    if (!where)
        return;
    if (strcmp(where, "1") == 0) {
        int fd = dup(STDERR_FILENO);
        if (fd >= 0)
            sim_stats_print(fd, false);
        return;
    }
    size_t n = strlen(where);
    int fd = open(where, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        sim_say("%s cannot be opened: no statistics", where);
    else
        sim_stats_print(fd, n > 5 && strcmp(where + n - 5, ".json") == 0);
}

static int exit_status;

static void note_status(int status, void *unused)
{
    exit_status = status;
}

void sim_exit_report(void)
{
    print_stats();
    sim_race_summary();
    /* As of sanitizers: a program that would have succeeded fails.  All else that runs at its end has run, but for output. */
    if (sim_race_count() && !exit_status) {
        fflush(NULL);
        _exit(RACES_STATUS);
    }
}

void sim_exit_watch(void)
{
    on_exit(note_status, NULL);
}
