/* Help and wrong usage, alike in every command.
 *
 * A command's help is one text: lines of usage up to the first empty line, then what it does, its options, and a line that begins
 * with "Exit status: ". */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TOOLS_USAGE_H
#define AW_TOOLS_USAGE_H

/* Prints the help; 0, the exit status. */
int aw_usage_help(const char *help);
/* Says what is wrong, shows the lines of usage and where the rest is; 2, the exit status.  `command` is its name, such as
 * "cache". */
int aw_usage_wrong(const char *command, const char *help, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The same for what getopt_long answered: '?', or ':' where the value is missing (the list of short options begins with ':'). */
int aw_usage_option(const char *command, const char *help, int answer, char **argv);

#endif
