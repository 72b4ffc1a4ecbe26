/* Stubs and call tracing: see lib.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/lib.h"

#include <stdlib.h>

#include "base/log.h"

void aw_lib_stub(const char *library, const char *name, unsigned char *once)
{
    if (!__atomic_exchange_n(once, 1, __ATOMIC_RELAXED))
        aw_log(library, AW_ROW(LIBRARY_STUB), name);
}

void aw_lib_fatal(const char *library, const char *name)
{
    aw_log(library, AW_ROW(LIBRARY_FATAL), name);
    abort();
}

bool aw_lib_traced(const char *library)
{
    return aw_call_traced(library, library);
}

void aw_lib_trace(const char *library, const char *text, uint64_t result, const uint64_t values[], uint64_t begin_ns)
{
    struct aw_call call = { .room = library, .library = library, .text = text, .result = result, .values = values,
                            .begin_ns = begin_ns, .end_ns = aw_clock_wall_ns() };
    aw_call_trace(&call);
}
