/* What the commands share that run a program and have it watched: trace, profile. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TOOLS_TRACE_H
#define AW_TOOLS_TRACE_H

#include <stdbool.h>

/* Makes the file empty and tells its whole path to the program by the variable.  False with a message. */
bool aw_trace_file(const char *path, const char *variable);
/* The value of the option at argv[*i], "--name=value" or "--name value", and then *i is the value; NULL when it is another;
 * "" when there is no value. */
const char *aw_option_value(const char *name, int argc, char **argv, int *i);

#endif
