/* What stands behind generated code: lookup by name, stubs, call tracing, error names.  Not the entry bodies. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "abi"
#include "abi/abi.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "abi/profile.h"
#include "base/activity.h"
#include "base/calltrace.h"
#include "base/clock.h"
#include "base/log.h"
#include "core/activity.h"

/* ---- Lookup */

static void *table_find(const struct aw_abi_table *table, const char *name)
{
    uint32_t low = 0, high = table->n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        int order = strcmp(name, table->names + table->offsets[mid]);
        if (order == 0)
            return table->functions[mid];
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

void *aw_abi_cuda_find(const char *name)
{
    return name ? table_find(&aw_abi_cuda_tables[0], name) : NULL;
}

void *aw_abi_cudart_find(int major, const char *name)
{
    for (size_t i = 0; name && i < sizeof(aw_abi_cudart_tables) / sizeof(aw_abi_cudart_tables[0]); i++)
        if (aw_abi_cudart_tables[i].major == major)
            return table_find(&aw_abi_cudart_tables[i], name);
    return NULL;
}

/* First step of `name`'s history, or procs' end. */
static uint32_t proc_first(const char *name)
{
    uint32_t low = 0, high = aw_abi_procs.n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (strcmp(aw_abi_procs.names + aw_abi_procs.at[mid].name, name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const void *aw_abi_proc_find(const char *name, int cuda_version, uint64_t flags, int *ret_symbol_status)
{
    bool known = false, per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
    int found = -1;
    for (uint32_t i = name ? proc_first(name) : aw_abi_procs.n; i < aw_abi_procs.n; i++) {
        const struct aw_abi_proc *proc = &aw_abi_procs.at[i];
        if (strcmp(aw_abi_procs.names + proc->name, name) != 0)
            break;
        int slot = per_thread ? proc->slot_per_thread : proc->slot;
        if (slot < 0)
            continue;
        known = true;
        if (proc->version <= cuda_version)
            found = slot;
    }
    if (ret_symbol_status)
        *ret_symbol_status = found >= 0 ? CU_GET_PROC_ADDRESS_SUCCESS
                             : known    ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                        : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return found >= 0 ? aw_abi_cuda_tables[0].functions[found] : NULL;
}

/* ---- Stubs */

int aw_abi_stub(const char *name, unsigned char *once, bool runtime)
{
    if (!__atomic_exchange_n(once, 1, __ATOMIC_RELAXED))
        aw_log(AW_ROOM, AW_ROW(CALL_STUB), name);
    if (runtime)
        aw_rt_error_set(cudaErrorNotSupported);
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* ---- Errors */

static const struct abi_error {
    int code;
    const char *driver, *runtime, *text;
} errors[] = {
#define ABI_ERROR(code, cu, rt, text) { code, #cu, #rt, text },
#include "abi/error.def"
#undef ABI_ERROR
};

static const struct abi_error *error_find(int code, bool driver)
{
    size_t low = 0, high = sizeof(errors) / sizeof(errors[0]);
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (errors[mid].code < code)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == sizeof(errors) / sizeof(errors[0]) || errors[low].code != code)
        return NULL;
    return strcmp(driver ? errors[low].driver : errors[low].runtime, "NONE") == 0 ? NULL : &errors[low];
}

const char *aw_abi_error_name(int code, bool driver)
{
    const struct abi_error *error = error_find(code, driver);
    return !error ? NULL : driver ? error->driver : error->runtime;
}

const char *aw_abi_error_text(int code, bool driver)
{
    const struct abi_error *error = error_find(code, driver);
    return error ? error->text : NULL;
}

/* ---- Tracing */

static const char *trace_error(char kind, int code)
{
    return aw_abi_error_name(code, kind == 'e');
}

static const struct aw_call_hook *hook;
static bool traced, recorded; /* set before any call */
static bool watched;          /* by libs/cupti, which takes records out by itself */

static __thread uint64_t last_call;
static __thread bool gives_job; /* from aw_abi_activity_job to aw_abi_activity_last, which are around the call that does */

struct aw_abi_call aw_abi_call_begin(const char *text, const void *args)
{
    static uint64_t last;
    struct aw_abi_call call = { 0, traced ? aw_clock_wall_ns() : 0 };
    const struct aw_call_hook *h = __atomic_load_n(&hook, __ATOMIC_ACQUIRE);
    if ((!h && !traced) || aw_activity_call)
        return call;
    last_call = aw_activity_call = call.number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    if (h)
        h->call(text, args, NULL, call.number);
    return call;
}

void aw_abi_call_end(const char *text, const void *args, uint64_t result, const uint64_t values[], struct aw_abi_call begun)
{
    const struct aw_call_hook *h = __atomic_load_n(&hook, __ATOMIC_ACQUIRE);
    if (begun.number && h)
        h->call(text, args, &result, begun.number);
    if (begun.number)
        aw_activity_call = 0;
    if (!traced)
        return;
    bool runtime = !strncmp(text + 1, "cuda", 4) || !strncmp(text + 1, "__cuda", 6);
    struct aw_call call = { .room = AW_ROOM, .library = runtime ? "cudart" : "cuda", .text = text, .result = result,
                            .values = values,
                            .begin_ns = begun.begin_ns, .end_ns = aw_clock_wall_ns(), .number = begun.number,
                            .error_name = trace_error };
    aw_call_trace(&call);
    if (recorded && !__atomic_load_n(&watched, __ATOMIC_RELAXED))
        aw_profile_drain(NULL, NULL);
}

void aw_abi_hook_set(const struct aw_call_hook *now)
{
    __atomic_store_n(&hook, now, __ATOMIC_RELEASE);
    aw_abi_cuda_watch(now || traced);
    aw_abi_cudart_watch(now || traced);
}

/* Who wants to know of watching: one for each of CUDA's libraries that is loaded. */
enum { SUBSCRIBERS = 64 };
static struct {
    pthread_mutex_t lock;
    void (*fn[SUBSCRIBERS])(bool on);
    unsigned n;
} subscribers = { .lock = PTHREAD_MUTEX_INITIALIZER };

void aw_abi_activity_subscribe(void (*fn)(bool on))
{
    pthread_mutex_lock(&subscribers.lock);
    if (subscribers.n < SUBSCRIBERS)
        subscribers.fn[subscribers.n++] = fn;
    if (aw_abi_activity_on())
        fn(true);
    pthread_mutex_unlock(&subscribers.lock);
}

void aw_abi_activity_watch(bool on)
{
    pthread_mutex_lock(&subscribers.lock);
    bool before = aw_abi_activity_on();
    __atomic_store_n(&watched, on, __ATOMIC_RELAXED);
    aw_activity_watch(on || recorded);
    for (unsigned i = 0; i < subscribers.n && before != (on || recorded); i++)
        subscribers.fn[i](on || recorded);
    pthread_mutex_unlock(&subscribers.lock);
}

bool aw_abi_activity_on(void)
{
    return __atomic_load_n(&aw_activity_on, __ATOMIC_RELAXED);
}

uint64_t aw_abi_activity_last(void)
{
    gives_job = false;
    return last_call;
}

bool aw_abi_activity_gives_job(void)
{
    return gives_job;
}

bool aw_abi_activity_job(CUstream stream, struct aw_activity_record *ret_record)
{
    last_call = 0;
    return gives_job = aw_abi_activity_stream_fill(stream, ret_record);
}

void aw_abi_activity_add(const struct aw_activity_record *record)
{
    aw_activity_add(record);
}

void aw_abi_activity_drain(void (*fn)(void *user, const struct aw_activity_record *), void *user)
{
    if (recorded)
        aw_profile_drain(fn, user);
    else
        aw_activity_drain(fn, user);
}

/* Before any thin library's function can be called: they depend on this one. */
__attribute__((constructor)) static void trace_start(void)
{
    traced = aw_call_traced(AW_ROOM, "cuda") || aw_call_traced(AW_ROOM, "cudart");
    recorded = aw_trace_records();
    if (traced)
        aw_abi_hook_set(NULL);
    if (recorded)
        aw_activity_watch(true);
}
