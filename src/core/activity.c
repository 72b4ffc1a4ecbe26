/* Events around work: see activity.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/activity.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/device.h"

struct aw_activity {
    struct aw_activity *next;
    struct aw_device *device;
    struct aw_cstream *stream; /* until the end of the giving call */
    struct aw_event *begin, *end;
    char *name;
    struct aw_activity_record record;
};

bool aw_activity_on;
__thread uint64_t aw_activity_call;
static __thread bool paused;

/* An event of each device whose time is known: floats in milliseconds are good enough from one piece of work to the next, not for
 * hours. */
static struct anchor {
    struct aw_event *event;
    uint64_t ns;
} anchors[AW_MAX_DEVICES];
static struct {
    pthread_mutex_t lock;
    struct aw_activity *head, **tail;
    const void **ids; /* streams and contexts, numbered by their places */
    size_t n_ids, room;
} watch = { .lock = PTHREAD_MUTEX_INITIALIZER, .tail = &watch.head };

/* What was timed by others, the last one first.  Its lock is held for nothing that waits: who adds is a stream's work, for which
 * the other's holder may be waiting. */
static struct {
    pthread_mutex_t lock;
    struct aw_activity *last;
} added = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- Numbers. */

static uint32_t number_of(const void *what)
{
    size_t i = 0;
    pthread_mutex_lock(&watch.lock);
    while (i < watch.n_ids && watch.ids[i] != what)
        i++;
    if (i == watch.n_ids && watch.n_ids == watch.room) {
        size_t more = watch.room ? 2 * watch.room : 64;
        const void **bigger = realloc(watch.ids, more * sizeof *bigger);
        if (bigger) {
            watch.ids = bigger;
            watch.room = more;
        }
    }
    if (i == watch.n_ids && watch.n_ids < watch.room)
        watch.ids[watch.n_ids++] = what;
    pthread_mutex_unlock(&watch.lock);
    return (uint32_t)i + 1;
}

uint32_t aw_activity_context(const struct aw_ctx *ctx)
{
    return number_of(ctx);
}

uint32_t aw_activity_stream(const struct aw_cstream *stream)
{
    return stream->native ? AW_ACTIVITY_DEFAULT_STREAM + number_of(stream) : AW_ACTIVITY_DEFAULT_STREAM;
}

/* ---- Giving. */

/* An event, recorded and waited for: its time lies between two readings of the clock.  NULL when something fails. */
static struct aw_event *anchor_event(struct aw_cstream *stream, uint64_t *ret_before, uint64_t *ret_after)
{
    int native = stream->ctx->device->native;
    struct aw_event *event;
    if (aw_provider->event_create(native, 0, &event) != AW_OK)
        return NULL;
    *ret_before = aw_clock_wall_ns();
    if (aw_provider->event_record(native, event, stream->native) != AW_OK || aw_provider->event_sync(event) != AW_OK) {
        aw_provider->event_destroy(event);
        return NULL;
    }
    *ret_after = aw_clock_wall_ns();
    return event;
}

/* The device's first event: of a few, the one whose time is known best, as work before it and a busy machine come between. */
static bool anchor_set(struct aw_cstream *stream)
{
    enum { TRIES = 8, CLOSE_NS = 50000 };
    struct anchor *anchor = &anchors[stream->ctx->device->native];
    uint64_t width = UINT64_MAX, before, after;
    pthread_mutex_lock(&watch.lock);
    int tries = anchor->event ? 0 : TRIES;
    for (int i = 0; i < tries && width > CLOSE_NS; i++) {
        struct aw_event *event = anchor_event(stream, &before, &after);
        if (event && after - before < width) {
            if (anchor->event)
                aw_provider->event_destroy(anchor->event);
            width = after - before;
            *anchor = (struct anchor){ event, before + width / 2 };
        } else if (event) {
            aw_provider->event_destroy(event);
        }
    }
    bool fine = anchor->event != NULL;
    pthread_mutex_unlock(&watch.lock);
    return fine;
}

static void activity_free(struct aw_activity *activity)
{
    if (activity->begin)
        aw_provider->event_destroy(activity->begin);
    if (activity->end)
        aw_provider->event_destroy(activity->end);
    free(activity->name);
    free(activity);
}

void aw_activity_pause(void)
{
    paused = true;
}

void aw_activity_resume(void)
{
    paused = false;
}

struct aw_activity *aw_activity_start(struct aw_cstream *stream)
{
    struct aw_device *device = stream->ctx->device;
    if (paused || device->native >= AW_MAX_DEVICES || !anchor_set(stream))
        return NULL;
    struct aw_activity *activity = calloc(1, sizeof *activity);
    if (!activity)
        return NULL;
    activity->device = device;
    activity->stream = stream;
    if (aw_provider->event_create(device->native, 0, &activity->begin) != AW_OK ||
        aw_provider->event_create(device->native, 0, &activity->end) != AW_OK ||
        aw_provider->event_record(device->native, activity->begin, stream->native) != AW_OK) {
        activity_free(activity);
        return NULL;
    }
    return activity;
}

void aw_activity_add(const struct aw_activity_record *record)
{
    struct aw_activity *activity = calloc(1, sizeof *activity);
    if (!activity)
        return;
    activity->record = *record;
    activity->name = record->name ? strdup(record->name) : NULL;
    pthread_mutex_lock(&added.lock);
    activity->next = added.last;
    added.last = activity;
    pthread_mutex_unlock(&added.lock);
}

void aw_activity_end(struct aw_activity *activity, const struct aw_activity_record *record)
{
    struct aw_cstream *stream = activity->stream;
    if (!record || aw_provider->event_record(activity->device->native, activity->end, stream->native) != AW_OK) {
        activity_free(activity);
        return;
    }
    activity->record = *record;
    activity->record.call = aw_activity_call;
    activity->record.device = (uint32_t)activity->device->ordinal;
    activity->record.context = aw_activity_context(stream->ctx);
    activity->record.stream = aw_activity_stream(stream);
    activity->name = record->name ? strdup(record->name) : NULL; /* its module may go */
    activity->next = NULL;
    pthread_mutex_lock(&watch.lock);
    *watch.tail = activity;
    watch.tail = &activity->next;
    pthread_mutex_unlock(&watch.lock);
}

void aw_activity_watch(bool on)
{
    __atomic_store_n(&aw_activity_on, on, __ATOMIC_RELAXED);
}

/* ---- Handing out. */

static bool times_read(struct aw_activity *activity)
{
    struct anchor *anchor = &anchors[activity->device->native];
    float before = 0, during = 0;
    bool known = aw_provider->event_elapsed(anchor->event, activity->begin, &before) == AW_OK &&
                 aw_provider->event_elapsed(activity->begin, activity->end, &during) == AW_OK;
    if (!known)
        return false; /* what ended in a fault has no times */
    activity->record.begin_ns = anchor->ns + (uint64_t)(int64_t)((double)before * 1e6);
    activity->record.end_ns = activity->record.begin_ns + (uint64_t)((double)during * 1e6);
    struct aw_event *old = anchor->event;
    *anchor = (struct anchor){ activity->end, activity->record.end_ns };
    activity->end = old;
    return true;
}

static void added_drain(void (*fn)(void *user, const struct aw_activity_record *record), void *user)
{
    struct aw_activity *first = NULL, *next;
    pthread_mutex_lock(&added.lock);
    for (struct aw_activity *a = added.last; a; a = next) {
        next = a->next;
        a->next = first;
        first = a;
    }
    added.last = NULL;
    pthread_mutex_unlock(&added.lock);
    for (; first; first = next) {
        next = first->next;
        first->record.name = first->name;
        fn(user, &first->record);
        activity_free(first);
    }
}

void aw_activity_drain(void (*fn)(void *user, const struct aw_activity_record *record), void *user)
{
    added_drain(fn, user);
    for (;;) {
        pthread_mutex_lock(&watch.lock);
        struct aw_activity *activity = watch.head;
        if (!activity || aw_provider->event_query(activity->end) == AW_ERR_NOT_READY) {
            pthread_mutex_unlock(&watch.lock);
            return;
        }
        watch.head = activity->next;
        if (!watch.head)
            watch.tail = &watch.head;
        bool known = times_read(activity);
        pthread_mutex_unlock(&watch.lock);
        activity->record.name = activity->name;
        if (known)
            fn(user, &activity->record);
        activity_free(activity);
    }
}
