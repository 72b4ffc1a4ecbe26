/* `anywarp profile --timeline`: records in the Trace Event Format ("Trace Event Format", Google, "JSON Object Format"): a row
 * for each thread's calls and each stream's work, and an arrow from the call that gave work to the work. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/json.h"
#include "profile.h"

enum { DEVICE_PROCESSES = 1 << 24 }; /* devices are shown as processes, numbered from here on: beyond those of Linux */

static bool is_work(const struct aw_profile_record *r)
{
    return r->kind <= AW_PROFILE_FILL;
}

static uint64_t row_process(const struct aw_profile_record *r)
{
    return is_work(r) ? DEVICE_PROCESSES + r->device : r->process;
}

static void event_begin(struct aw_buf *out, char phase, const struct aw_profile_record *r, uint64_t at,
                        const struct aw_profile *profile)
{
    uint64_t since = at > profile->begin ? at - profile->begin : 0;
    aw_buf_printf(out, ",\n{\"ph\":\"%c\",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64 ",\"ts\":%" PRIu64 ".%03" PRIu64, phase,
                  row_process(r), r->thread, since / 1000, since % 1000);
}

static void slice(struct aw_buf *out, const struct aw_profile_record *r, const struct aw_profile *profile)
{
    static const char *const categories[] = { "kernel", "copy", "fill", "call", "compile" };
    char *plain = r->kind == AW_PROFILE_KERNEL || r->kind == AW_PROFILE_COMPILE ? aw_demangle_text(r->name) : NULL;
    uint64_t time = r->end - r->begin;
    event_begin(out, 'X', r, r->begin, profile);
    aw_buf_printf(out, ",\"dur\":%" PRIu64 ".%03" PRIu64 ",\"cat\":\"%s\",\"name\":", time / 1000, time % 1000,
                  categories[r->kind]);
    aw_json_cstr(out, plain ? plain : r->name);
    aw_buf_printf(out, ",\"args\":{");
    if (r->kind == AW_PROFILE_KERNEL)
        aw_buf_printf(out, "\"grid\":[%s],\"block\":[%s],\"shared\":%s", r->grid, r->block, r->shared);
    else if (is_work(r))
        aw_buf_printf(out, "\"bytes\":%" PRIu64 ",\"GB/s\":%.3f", r->bytes, time ? (double)r->bytes / (double)time : 0);
    else if (r->kind == AW_PROFILE_CALL)
        aw_buf_printf(out, "\"library\":\"%s\",\"failed\":%s", r->library, r->failed ? "true" : "false");
    aw_buf_printf(out, "}}");
    free(plain);
}

static int by_call(const void *a, const void *b)
{
    const struct aw_profile_record *x = *(const struct aw_profile_record *const *)a,
                                   *y = *(const struct aw_profile_record *const *)b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return x->call < y->call ? -1 : x->call > y->call;
}

/* From calls to their work. */
static bool arrows(struct aw_buf *out, const struct aw_profile *profile)
{
    AW_VEC(const struct aw_profile_record *) calls = { 0 };
    for (size_t i = 0; i < profile->records.n; i++) {
        const struct aw_profile_record *r = &profile->records.at[i];
        if (r->kind == AW_PROFILE_CALL && r->call && !aw_vec_push(&calls, r))
            return false;
    }
    if (calls.n)
        qsort(calls.at, calls.n, sizeof *calls.at, by_call);
    for (size_t i = 0; calls.n && i < profile->records.n; i++) {
        const struct aw_profile_record *r = &profile->records.at[i];
        const struct aw_profile_record *const *from = is_work(r) && r->call
                                                          ? bsearch(&r, calls.at, calls.n, sizeof *calls.at, by_call)
                                                          : NULL;
        if (!from)
            continue;
        event_begin(out, 's', *from, (*from)->begin, profile);
        aw_buf_printf(out, ",\"cat\":\"gives\",\"name\":\"gives\",\"id\":%zu}", i);
        event_begin(out, 'f', r, r->begin, profile);
        aw_buf_printf(out, ",\"bp\":\"e\",\"cat\":\"gives\",\"name\":\"gives\",\"id\":%zu}", i);
    }
    aw_vec_fini(&calls);
    return true;
}

/* Names of the rows, each once. */
static bool rows_name(struct aw_buf *out, const struct aw_profile *profile)
{
    AW_VEC(const struct aw_profile_record *) seen = { 0 };
    for (size_t i = 0; i < profile->records.n; i++) {
        const struct aw_profile_record *r = &profile->records.at[i];
        bool process = true, row = is_work(r);
        for (size_t k = 0; k < seen.n && (process || row); k++) {
            process &= row_process(seen.at[k]) != row_process(r);
            row &= row_process(seen.at[k]) != row_process(r) || seen.at[k]->thread != r->thread;
        }
        if (process)
            aw_buf_printf(
                out, ",\n{\"ph\":\"M\",\"pid\":%" PRIu64 ",\"name\":\"process_name\",\"args\":{\"name\":\"%s %" PRIu64 "\"}}",
                row_process(r), is_work(r) ? "device" : "process", is_work(r) ? r->device : r->process);
        if (row)
            aw_buf_printf(out,
                          ",\n{\"ph\":\"M\",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64
                          ",\"name\":\"thread_name\",\"args\":{\"name\":\"stream %" PRIu64 "\"}}",
                          row_process(r), r->thread, r->thread);
        if ((process || row) && !aw_vec_push(&seen, r))
            return false;
    }
    aw_vec_fini(&seen);
    return true;
}

bool aw_profile_timeline(const struct aw_profile *profile, const char *path)
{
    struct aw_buf out = { 0 };
    aw_buf_printf(&out, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":0,\"name\":\"trace\",\"args\":{}}");
    bool fine = rows_name(&out, profile);
    for (size_t i = 0; i < profile->records.n; i++)
        if (profile->records.at[i].kind < AW_PROFILE_SAMPLE) /* which have no time when */
            slice(&out, &profile->records.at[i], profile);
    fine = arrows(&out, profile) && fine;
    aw_buf_printf(&out, "\n]}\n");
    fine = fine && !out.failed;
    FILE *f = fine ? fopen(path, "w") : NULL;
    fine = f && fwrite(out.ptr, 1, out.len, f) == out.len;
    if (f && fclose(f) != 0)
        fine = false;
    aw_buf_fini(&out);
    return fine;
}
