/* Watching the work of devices: when each kernel, copy and fill began and ended, by events around it.  Off until somebody asks;
 * then a flag is all that a launch looks at. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_ACTIVITY_H
#define AW_CORE_ACTIVITY_H

#include "base/activity.h"
#include "core/stream.h"

struct aw_activity; /* one that is being given to its stream */

extern bool aw_activity_on;
/* The API call that this thread is in, numbered from 1 on, for the records; 0: not seen. */
extern __thread uint64_t aw_activity_call;

/* Before and behind what is given to the stream, which does not capture; NULL while nobody watches, or an event is not to be
 * had. */
struct aw_activity *aw_activity_start(struct aw_cstream *stream);
/* `record` NULL: it was not given after all. */
void aw_activity_end(struct aw_activity *activity, const struct aw_activity_record *record);

/* A record of work that has ended and was timed by who did it; copied. */
void aw_activity_add(const struct aw_activity_record *record);

/* This thread's work from the one to the other is the runtime's own, of which there are no records: what fills a module's
 * variables at its first use. */
void aw_activity_pause(void);
void aw_activity_resume(void);

static inline struct aw_activity *aw_activity_begin(struct aw_cstream *stream)
{
    return __builtin_expect(__atomic_load_n(&aw_activity_on, __ATOMIC_RELAXED), 0) ? aw_activity_start(stream) : NULL;
}

void aw_activity_watch(bool on);
/* Hands out, in the order of giving, what has ended; stops at the first that has not. */
void aw_activity_drain(void (*fn)(void *user, const struct aw_activity_record *record), void *user);
/* The numbers of a context and of a stream in records. */
uint32_t aw_activity_context(const struct aw_ctx *ctx);
uint32_t aw_activity_stream(const struct aw_cstream *stream);

#endif
