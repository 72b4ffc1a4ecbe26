/* What generated code of every library here calls: stubs and call tracing.  Not the way to the device: that is queue.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_COMMON_LIB_H
#define AW_LIBS_COMMON_LIB_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>


/* Logs once (`once` is the site's flag) that `name` of `library` is not implemented.  Thread-safe. */
void aw_lib_stub(const char *library, const char *name, unsigned char *once);

/* The same for a stub of whom the name alone is known: that of the symbol at `function`.  Gives `status` back. */
int aw_lib_bare(const char *library, const void *function, unsigned char *once, int status);

/* The same where the caller could not be told: ends the program. */
_Noreturn void aw_lib_fatal(const char *library, const char *name);

/* At the start: `tell` is called with true when the calls of `library` are to be told of, now or later, as they are traced or a
 * profiler wants to know what work is of which call; and with false when that has ended. */
void aw_lib_start(const char *library, void (*tell)(bool on));
/* Puts `n` functions into a table that calls jump through. */
void aw_lib_table_set(void *table[], void *const functions[], size_t n);

/* Around a call that is told of; the form of `text` and `values` is that of base/calltrace.h. */
struct aw_lib_call {
    uint64_t begin_ns;
    const char *outer; /* the call that this one is part of, or NULL */
};
struct aw_lib_call aw_lib_call_begin(const char *text);
void aw_lib_call_end(const char *library, const char *text, uint64_t result, const uint64_t values[], struct aw_lib_call call);
/* Writes the name of the thread's outermost call, cut to `size` bytes; empty: none is told of. */
void aw_lib_call_name(char *ret_name, size_t size);

static inline uint64_t aw_lib_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

#endif
