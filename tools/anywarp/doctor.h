/* `anywarp doctor PROGRAM`: what one program needs, and whether it has it here. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TOOLS_DOCTOR_H
#define AW_TOOLS_DOCTOR_H

#include <stdbool.h>

#include "locate.h"

/* Finds (findings.h) what is to be said of the file at `path` and gives the verdict.  `all`: every kernel is compiled,
 * however many there are.  True when it can run, and none of its kernels is known to fail.  One thread. */
bool aw_doctor_program(const struct aw_parts *parts, const char *path, bool all);

#endif
