/* Stubs and call tracing: see lib.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/lib.h"

#include <stdlib.h>

#include "base/calltrace.h"
#include "base/log.h"

void aw_lib_stub(const char *library, const char *name, unsigned char *once)
{
    if (!__atomic_exchange_n(once, 1, __ATOMIC_RELAXED))
        aw_log(AW_LOG_FIXME, library, "%s is not implemented", name);
}

void aw_lib_fatal(const char *library, const char *name)
{
    aw_log(AW_LOG_ERR, library, "%s is not implemented, and has no status to say so: the program ends", name);
    abort();
}

bool aw_lib_traced(const char *library)
{
    return aw_log_on(AW_LOG_TRACE, library);
}

void aw_lib_trace(const char *library, const char *text, uint64_t result, const uint64_t values[])
{
    aw_call_trace(library, text, result, values, NULL);
}
