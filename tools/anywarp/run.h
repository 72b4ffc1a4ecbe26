/* How programs are started with our libraries in place of NVIDIA's. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TOOLS_RUN_H
#define AW_TOOLS_RUN_H

#include <elf.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "locate.h"

/* Sets what programs started from now on find in their environment.  False with errno. */
bool aw_run_environment(const struct aw_parts *parts);
/* The file that execvp would run, "" when there is none. */
void aw_run_find(const char *program, char ret_path[PATH_MAX]);
/* How long a file must be for all that its `n` segments take from it, in bytes: the loader maps them without a look at its
 * length. */
uint64_t aw_run_segments_end(const Elf64_Phdr *segments, size_t n);

/* aw_cmd_run in a process of its own, whose end is waited for: its exit status as a shell has it. */
int aw_run_child(int argc, char **argv);
/* Is there a program of this name, without a slash, in the current folder? */
bool aw_run_is_here(const char *name);

#endif
