/* The settings that a user has: the table of them, and the file $XDG_CONFIG_HOME/anywarp/config (else ~/.config/anywarp/config)
 * that may hold some.  The environment comes first; base/env.h asks here for what it does not have.
 *
 * The file: lines `key = value`; a line that begins with # is a comment; spaces around either are dropped.  It is read once a
 * process, by none that is privileged, and counts for nothing where somebody else may write it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_CONFIG_H
#define AW_BASE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

struct aw_buf;

struct aw_config {
    const char *key, *variable, *values, *usual, *what; /* as in config.def; static */
};

/* The table; static. */
const struct aw_config *aw_config_rows(size_t *ret_count);

/* What the file says for a variable of the table; NULL: nothing.  Static.  Any thread. */
const char *aw_config_value(const char *variable);

/* The file's path, or "" where there is no home; static.  *ret_why (may be NULL): why it was not taken, such as "is not there" or
 * "can be written by others", static; NULL: it was. */
const char *aw_config_path(const char **ret_why);

/* Appends what was wrong with the file, a line each: who may not write it, unknown keys, lines that are none.  Any thread. */
void aw_config_problems(struct aw_buf *out);

/* ---- For tests */

/* Reads settings from text; values[i] is that of row i of the table, owned by the caller.  Problems as above, with `path` and the
 * line's number.  False: out of memory. */
bool aw_config_parse(const char *path, const char *text, char **values, struct aw_buf *problems);

#endif
