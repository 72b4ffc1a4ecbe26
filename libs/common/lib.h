/* What generated code of every library here calls: stubs and call tracing.  Not the way to the device: that is stream.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_COMMON_LIB_H
#define AW_LIBS_COMMON_LIB_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/calltrace.h"
#include "base/clock.h"

/* Logs once (`once` is the site's flag) that `name` of `library` is not implemented.  Thread-safe. */
void aw_lib_stub(const char *library, const char *name, unsigned char *once);

/* The same where the caller could not be told: ends the program. */
_Noreturn void aw_lib_fatal(const char *library, const char *name);

/* Are the calls of `library` to be told of? */
bool aw_lib_traced(const char *library);
/* Tells of one finished call, which began at `begin_ns`; the form of `text` and `values` is that of base/calltrace.h. */
void aw_lib_trace(const char *library, const char *text, uint64_t result, const uint64_t values[], uint64_t begin_ns);

static inline uint64_t aw_lib_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

#endif
