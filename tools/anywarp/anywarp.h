/* The `anywarp` program: one file per subcommand, one row per subcommand in main.c's table.
 *
 * Each subcommand is `int aw_cmd_<name>(int argc, char **argv)`: argv[0] is the subcommand's name; the result is the exit status
 * (0 done, 1 failed with a message on standard error, 2 wrong usage). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TOOLS_ANYWARP_H
#define AW_TOOLS_ANYWARP_H

#include <stdbool.h>

int aw_cmd_run(int argc, char **argv);
int aw_cmd_trace(int argc, char **argv);
int aw_cmd_profile(int argc, char **argv);
int aw_cmd_precompile(int argc, char **argv);
int aw_cmd_check(int argc, char **argv);
int aw_cmd_info(int argc, char **argv);
int aw_cmd_doctor(int argc, char **argv);
int aw_cmd_dump(int argc, char **argv);
int aw_cmd_explain(int argc, char **argv);
int aw_cmd_config(int argc, char **argv);
int aw_cmd_cache(int argc, char **argv);
int aw_cmd_compile(int argc, char **argv);

/* Is it a message's code, such as AW1104? */
bool aw_explain_is_code(const char *word);

#endif
