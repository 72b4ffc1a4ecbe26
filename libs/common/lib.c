/* Stubs and call tracing: see lib.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/lib.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/calltrace.h"
#include "base/clock.h"
#include "base/log.h"
#include "common/driver.h"

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

/* ---- Calls that are told of. */

static __thread const char *current; /* the text of the outermost */

void aw_lib_start(const char *library, void (*tell)(bool on))
{
    if (aw_call_traced(library, library))
        tell(true);
    else
        aw_abi_activity_subscribe(tell);
}

void aw_lib_table_set(void *table[], void *const functions[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        __atomic_store_n(&table[i], functions[i], __ATOMIC_RELAXED);
}

struct aw_lib_call aw_lib_call_begin(const char *text)
{
    struct aw_lib_call call = { aw_clock_wall_ns(), current };
    if (!current)
        current = text;
    return call;
}

void aw_lib_call_end(const char *library, const char *text, uint64_t result, const uint64_t values[], struct aw_lib_call call)
{
    current = call.outer;
    if (!aw_call_traced(library, library))
        return;
    struct aw_call told = { .room = library, .library = library, .text = text, .result = result, .values = values,
                            .begin_ns = call.begin_ns, .end_ns = aw_clock_wall_ns() };
    aw_call_trace(&told);
}

void aw_lib_call_name(char *ret_name, size_t size)
{
    size_t length = current ? strcspn(current + 1, "|") : 0;
    length = length < size ? length : size - 1;
    memcpy(ret_name, current ? current + 1 : "", length);
    ret_name[length] = '\0';
}

/* ---- Names alone. */

__attribute__((visibility("default"))) int aw_lib_bare(const char *library, const void *function, unsigned char *once, int status)
{
    bool traced = aw_call_traced(library, library);
    if (!traced && __atomic_load_n(once, __ATOMIC_RELAXED))
        return status;
    Dl_info info;
    char text[256];
    snprintf(text, sizeof text, "e%s", dladdr(function, &info) && info.dli_sname ? info.dli_sname : "a function");
    struct aw_lib_call call = aw_lib_call_begin(text);
    aw_lib_stub(library, text + 1, once);
    aw_lib_call_end(library, text, (uint64_t)(int64_t)status, (const uint64_t[]){ 0 }, call);
    return status;
}
