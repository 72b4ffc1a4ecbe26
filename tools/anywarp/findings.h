/* What `doctor` finds: a line each for people, or one JSON object for programs. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TOOLS_FINDINGS_H
#define AW_TOOLS_FINDINGS_H

#include <stdbool.h>

enum aw_grade { AW_GOOD, AW_NOTE, AW_BAD };

/* Before the first finding: JSON instead of lines. */
void aw_findings_json(void);
/* A finding, and what to do about it (NULL: nothing).  Returns `grade`. */
enum aw_grade aw_find(enum aw_grade grade, const char *what, const char *advice, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* One more line to the last finding. */
void aw_find_detail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Behind the last: the verdict, and in JSON "ok".  Once. */
void aw_findings_end(bool ok, const char *verdict);

#endif
