/* Call tracing, for code that tools/gen/api.py and lib.py make: each call of an exported function, in the log
 * (ANYWARP_LOG=trace:ROOM) or where ANYWARP_TRACE says.
 *
 * ANYWARP_TRACE is a list of words with commas between them: the form, "text", "json" (an object a line) or "records" (for
 * `anywarp profile`: with tabs between them "call", function, process, thread, library, begin, end, call, failed); "failed",
 * only calls that fail; "name=PATTERN" and "library=NAME", only those: patterns as in file names, of several words of a kind
 * one must fit.  Lines are appended to ANYWARP_TRACE_FILE, each by one write, or go to standard error. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_CALLTRACE_H
#define AW_BASE_CALLTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The name of a result code of kind 'e' or 'E', static; NULL: unknown, and its number is printed. */
typedef const char *(*aw_call_error_name)(char kind, int code);

/* A finished call. */
struct aw_call {
    const char *room;    /* for the log */
    const char *library; /* "cuda", "cudart", "cublas" */
    /* Result kind and name, then for each argument '|', direction (- by value, i in, o out), kind and name; kinds are those of
     * tools/gen/api.py. */
    const char *text;
    uint64_t result;
    const uint64_t *values;        /* a word for each argument: its bits, or the address of what it points to */
    uint64_t begin_ns, end_ns;     /* as aw_clock_wall_ns has them, and activity records */
    uint64_t number;               /* of activity records (base/activity.h); 0: none */
    aw_call_error_name error_name; /* NULL: none */
};

/* Are calls of the library to be told of at all?  Constant for the process. */
bool aw_call_traced(const char *room, const char *library);
/* Tells of one.  Outputs are read only when the call succeeded.  Thread-safe. */
void aw_call_trace(const struct aw_call *call);

/* Where ANYWARP_TRACE's lines go, for other records among them. */
bool aw_trace_records(void); /* is the form "records"? */
bool aw_trace_samples(void); /* and are samples of kernels' places wanted among them? */
bool aw_trace_counters(void); /* and what kernels count? */
void aw_trace_write(const char *line, size_t len);
/* Where there are records: "compile", name, process, thread, begin, and now as the end. */
void aw_trace_compile(const char *name, uint64_t begin_ns);

#endif
