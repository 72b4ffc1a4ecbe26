/* Call tracing, for code that tools/gen/api.py and lib.py make: one line in the log for each call of an exported function. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_CALLTRACE_H
#define AW_BASE_CALLTRACE_H

#include <stdint.h>

/* The name of a result code of kind 'e' or 'E', static; NULL: unknown, and its number is printed. */
typedef const char *(*aw_call_error_name)(char kind, int code);

/* Prints one finished call at level trace.  `text` is result kind and name, then for each argument '|', direction (- by value, i in,
 * o out), kind and name; kinds are those of tools/gen/api.py.  `values` has one word per argument: its bits, or the address of what it
 * points to.  Outputs are read only when the call succeeded.  `error_name` may be NULL.  Thread-safe. */
void aw_call_trace(const char *room, const char *text, uint64_t result, const uint64_t values[], aw_call_error_name error_name);

#endif
