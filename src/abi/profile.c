/* Records of devices' work: see profile.h.  Fields have tabs between them; times are of CLOCK_REALTIME, in nanoseconds:
 *
 *     kernel  name process device stream begin end call grid block shared    (x,y,z; bytes of a block)
 *     copy    name process device stream begin end call bytes                (HtoD, DtoH ...)
 *     fill    name process device stream begin end call bytes */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/profile.h"

#include <unistd.h>

#include "base/calltrace.h"
#include "base/str.h"
#include "core/activity.h"

static const char *kind_name(const struct aw_activity_record *r)
{
    static const char *const copies[] = { "copy\tHtoH", "copy\tHtoD", "copy\tDtoH", "copy\tDtoD" };
    if (r->kind == AW_ACTIVITY_FILL)
        return "fill\tfill";
    return r->kind == AW_ACTIVITY_KERNEL ? "kernel\t" : (unsigned)r->copy_kind < 4 ? copies[r->copy_kind] : "copy\tcopy";
}

static void record_write(const struct aw_activity_record *r)
{
    struct aw_buf line = { 0 };
    aw_buf_printf(&line, "%s%s\t%ld\t%u\t%u\t%llu\t%llu\t%llu", kind_name(r),
                  r->kind == AW_ACTIVITY_KERNEL && r->name ? r->name : "", (long)getpid(), r->device, r->stream,
                  (unsigned long long)r->begin_ns, (unsigned long long)r->end_ns, (unsigned long long)r->call);
    if (r->kind == AW_ACTIVITY_KERNEL)
        aw_buf_printf(&line, "\t%u,%u,%u\t%u,%u,%u\t%u\n", r->grid[0], r->grid[1], r->grid[2], r->block[0], r->block[1],
                      r->block[2], r->static_shared + r->dynamic_shared);
    else
        aw_buf_printf(&line, "\t%llu\n", (unsigned long long)r->bytes);
    if (!line.failed)
        aw_trace_write(line.ptr, line.len);
    aw_buf_fini(&line);
}

struct both {
    void (*fn)(void *user, const struct aw_activity_record *record);
    void *user;
};

static void record_take(void *user, const struct aw_activity_record *record)
{
    const struct both *both = user;
    record_write(record);
    if (both->fn)
        both->fn(both->user, record);
}

void aw_profile_drain(void (*fn)(void *user, const struct aw_activity_record *record), void *user)
{
    struct both both = { fn, user };
    aw_activity_drain(record_take, &both);
}

/* What ended since the last call; what still runs is not waited for, as by no program that ends so. */
__attribute__((destructor)) static void profile_end(void)
{
    if (aw_trace_records())
        aw_profile_drain(NULL, NULL);
}
