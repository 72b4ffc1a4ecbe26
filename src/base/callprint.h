/* A finished call as text and as JSON, from the description that the generators make of it (calltrace.h). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_CALLPRINT_H
#define AW_BASE_CALLPRINT_H

#include "base/calltrace.h"
#include "base/str.h"

/* "cudaMalloc(*devPtr=0x7f00, size=4) = cudaSuccess".  Outputs are read only when the call succeeded. */
void aw_call_print_text(struct aw_buf *line, const struct aw_call *call);
/* Members of a JSON object, without its braces: library, function, begin_ns, duration_ns; args by value or address; out, what
 * was stored; result; failed. */
void aw_call_print_json(struct aw_buf *line, const struct aw_call *call);
/* Did it return an error code other than success? */
bool aw_call_failed(const char *text, uint64_t result);

#endif
