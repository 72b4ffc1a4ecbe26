/* Events: what host threads sleep on until a queue, or another thread, raises them.
 *
 * One lock for all; a thread that waits has its own condition and is in a list, so that a raise wakes only who waits for that
 * event.  As with the kernel's driver a raise reaches every thread that waits at that moment, and stays for a later one only
 * where none does:  ROCr's own thread and one of the program's may wait for the same signal. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "thunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define MAX_EVENTS 65536u

struct event {
    HsaEvent public;         /* first: what ROCr holds is a pointer to it */
    bool raised, manual;
    bool destroyed;          /* while a thread waits for it: the last one frees */
    unsigned waiting;        /* threads */
    HsaMemoryAccessFault fault;
};

struct waiter {
    struct waiter *next;
    HsaEvent **events;
    bool *came;              /* by event: it was raised */
    HSAuint32 count, n_came;
    pthread_cond_t wake;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct event *events[MAX_EVENTS]; /* by id; 0 is none */
static uint32_t next_id = 1;
static struct waiter *waiters;
static uint64_t *mailboxes;              /* a slot for each id, where queues write the id before they raise it */

static struct event *event_of(HsaEvent *e)
{
    return (struct event *)(void *)e;
}

static bool make_mailboxes(void)
{
    size_t size = MAX_EVENTS * sizeof *mailboxes;
    if (mailboxes)
        return true;
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return false;
    if (!sim_map_add((uint64_t)(uintptr_t)p, p, size, thunk_cards_mask())) {
        munmap(p, size);
        return false;
    }
    mailboxes = p;
    return true;
}

/* A free id, 0 when there is none.  They are taken in turn, so that an old one does not come back at once. */
static uint32_t free_id(void)
{
    for (uint32_t tried = 1; tried < MAX_EVENTS; tried++) {
        uint32_t id = next_id++;
        if (next_id == MAX_EVENTS)
            next_id = 1;
        if (!events[id])
            return id;
    }
    return 0;
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtCreateEvent(HsaEventDescriptor *d, bool manual, bool raised, HsaEvent **ret_event)
{
    struct event *e = calloc(1, sizeof *e);
    if (!e)
        return HSAKMT_STATUS_NO_MEMORY;
    e->manual = manual;
    e->raised = raised;
    e->public.EventData.EventType = d->EventType;
    e->public.EventData.EventData.SyncVar = d->SyncVar;
    pthread_mutex_lock(&lock);
    uint32_t id = make_mailboxes() ? free_id() : 0;
    if (id) {
        e->public.EventId = id;
        e->public.EventData.HWData1 = id;
        e->public.EventData.HWData2 = (uint64_t)(uintptr_t)&mailboxes[id];
        events[id] = e;
    }
    pthread_mutex_unlock(&lock);
    if (!id) {
        free(e);
        return HSAKMT_STATUS_OUT_OF_RESOURCES;
    }
    *ret_event = &e->public;
    THUNK_TRACE("CreateEvent kind %d -> %u", (int)d->EventType, id);
    return HSAKMT_STATUS_SUCCESS;
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtDestroyEvent(HsaEvent *event)
{
    if (!event)
        return HSAKMT_STATUS_INVALID_HANDLE;
    pthread_mutex_lock(&lock);
    struct event *e = event_of(event);
    events[event->EventId] = NULL;
    e->destroyed = true;
    bool unused = !e->waiting;
    pthread_mutex_unlock(&lock);
    if (unused)
        free(e);
    return HSAKMT_STATUS_SUCCESS;
}

/* With the lock. */
static void arrive(struct waiter *w, HSAuint32 i)
{
    struct event *e = event_of(w->events[i]);
    w->n_came += !w->came[i];
    w->came[i] = true;
    if (e->public.EventData.EventType == HSA_EVENTTYPE_MEMORY)
        e->public.EventData.EventData.MemoryAccessFault = e->fault;
}

/* With the lock. */
static void raise_event(struct event *e)
{
    e->raised = e->manual || !e->waiting;
    for (struct waiter *w = e->waiting ? waiters : NULL; w; w = w->next) {
        for (HSAuint32 i = 0; i < w->count; i++) {
            if (w->events[i] == &e->public) {
                arrive(w, i);
                pthread_cond_signal(&w->wake);
            }
        }
    }
}

void thunk_event_raise(uint32_t id)
{
    pthread_mutex_lock(&lock);
    if (id < MAX_EVENTS && events[id])
        raise_event(events[id]);
    pthread_mutex_unlock(&lock);
}

void thunk_memory_fault(uint32_t node, uint64_t address)
{
    pthread_mutex_lock(&lock);
    for (uint32_t id = 1; id < MAX_EVENTS; id++) {
        struct event *e = events[id];
        if (!e || e->public.EventData.EventType != HSA_EVENTTYPE_MEMORY)
            continue;
        e->fault = (HsaMemoryAccessFault){ .NodeId = node, .VirtualAddress = address & ~0xfffull, .Failure.NotPresent = 1,
                                           .Flags = HSA_EVENTID_MEMORY_FATAL_PROCESS };
        /* At once, not only when a wait returns: ROCr spins before it waits, for as long as its clock says, which it sets by a
         * measurement that a busy machine spoils; but it looks here while it spins. */
        e->public.EventData.EventData.MemoryAccessFault = e->fault;
        raise_event(e);
    }
    pthread_mutex_unlock(&lock);
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtSetEvent(HsaEvent *event)
{
    if (!event)
        return HSAKMT_STATUS_INVALID_HANDLE;
    pthread_mutex_lock(&lock);
    raise_event(event_of(event));
    pthread_mutex_unlock(&lock);
    return HSAKMT_STATUS_SUCCESS;
}

/* ---- Waiting ---- */

/* Takes what was raised before the wait. */
static void enlist(struct waiter *w)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->wake, &attr);
    pthread_condattr_destroy(&attr);
    w->next = waiters;
    waiters = w;
    for (HSAuint32 i = 0; i < w->count; i++) {
        struct event *e = event_of(w->events[i]);
        e->waiting++;
        if (e->raised)
            arrive(w, i);
        e->raised &= e->manual;
    }
}

static void delist(struct waiter *w)
{
    struct waiter **at = &waiters;
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    for (HSAuint32 i = 0; i < w->count; i++) {
        struct event *e = event_of(w->events[i]);
        if (--e->waiting == 0 && e->destroyed)
            free(e);
    }
    pthread_cond_destroy(&w->wake);
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtWaitOnMultipleEvents(HsaEvent *list[], HSAuint32 count, bool all, HSAuint32 milliseconds)
{
    if (!list || !count)
        return HSAKMT_STATUS_INVALID_HANDLE;
    uint64_t until = thunk_now() + milliseconds * 1000000ull;
    struct timespec deadline = { .tv_sec = (time_t)(until / 1000000000u), .tv_nsec = (long)(until % 1000000000u) };
    struct waiter w = { .events = list, .count = count, .came = calloc(count, sizeof *w.came) };
    HSAuint32 enough = all ? count : 1;
    int error = 0;
    if (!w.came)
        return HSAKMT_STATUS_NO_MEMORY;
    pthread_mutex_lock(&lock);
    enlist(&w);
    while (w.n_came < enough && milliseconds && error != ETIMEDOUT)
        error = milliseconds == HSA_EVENTTIMEOUT_INFINITE ? pthread_cond_wait(&w.wake, &lock)
                                                          : pthread_cond_timedwait(&w.wake, &lock, &deadline);
    delist(&w);
    pthread_mutex_unlock(&lock);
    free(w.came);
    return w.n_came >= enough ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_WAIT_TIMEOUT;
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtWaitOnEvent(HsaEvent *event, HSAuint32 milliseconds)
{
    return event ? hsaKmtWaitOnMultipleEvents(&event, 1, true, milliseconds) : HSAKMT_STATUS_INVALID_HANDLE;
}
