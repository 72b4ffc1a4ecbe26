/* Waiting for a card.  HIP's own waiting calls never return once a queue is stuck, so nothing here waits inside HIP: it asks, at
 * first without pause, then with growing ones.  Whoever waits also reads what kernels have printed, and learns of their faults.
 *
 * Measured under HIP 5.2: one question costs 0.1 to 0.6 us, no more than a returning hipStreamSynchronize. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "provider/hip/internal.h"

#define US ((uint64_t)1000)
#define SPIN (50 * US)             /* ask without pause: most kernels are short */
#define YIELD (200 * US)           /* then give the processor to who wants it */
#define PAUSE_MIN (20 * US)
#define PAUSE_MAX (1000 * US)
#define LONG (100000 * US)         /* from then on look whether a wave has trapped, every so often */
#define GRACE (2000000 * US)       /* what the other waves of such a kernel have to end in */

struct wait {
    uint64_t start, pause, next_look, trapped; /* nanoseconds; trapped 0: not seen */
};

static void pause_for(struct wait *w, uint64_t waited)
{
    if (waited < SPIN)
        return;
    if (waited < YIELD) {
        sched_yield();
        return;
    }
    /* An eighth of what was waited already: the result comes at most so much late. */
    w->pause = waited / 8 < PAUSE_MIN ? PAUSE_MIN : waited / 8 > PAUSE_MAX ? PAUSE_MAX : waited / 8;
    nanosleep(&(struct timespec){ .tv_nsec = (long)w->pause }, NULL);
}

/* A kernel one of whose waves has trapped may wait for it for ever: then it is given up. */
static bool given_up(struct wait *w, uint64_t at, int dev)
{
    if (at < w->next_look)
        return false;
    w->next_look = at + LONG;
    if (!w->trapped && aw_hip_env_trapped(dev))
        w->trapped = at;
    if (!w->trapped || at - w->trapped < GRACE)
        return false;
    int fault = aw_hip_fault_of(dev);
    aw_hip_stuck(dev, fault ? fault : AW_ERR_LAUNCH_FAILED, "a kernel goes on waiting for threads that have trapped");
    return true;
}

/* Asks `poll(what)` until it gives something else than hipErrorNotReady or the device is stuck. */
static int wait_for(int dev, int (*poll)(void *what), void *what)
{
    int error = poll(what);
    if (error != HIP_NOT_READY)
        return error ? aw_hip_result(dev, error) : AW_OK;
    struct wait w = { .start = aw_clock_ns() };
    w.next_look = w.start + LONG;
    for (;;) {
        if (aw_hip_dead(dev))
            return aw_hip_fault_of(dev);
        error = poll(what);
        if (error != HIP_NOT_READY)
            return error ? aw_hip_result(dev, error) : AW_OK;
        uint64_t at = aw_clock_ns();
        if (given_up(&w, at, dev))
            return aw_hip_fault_of(dev);
        pause_for(&w, at - w.start);
    }
}

int aw_hip_stream_poll(struct aw_hip_stream *stream)
{
    uint32_t n = atomic_load_explicit(&stream->n_names, memory_order_relaxed);
    int error = aw_hip.api.hipStreamQuery(stream->handle);
    if (error == HIP_SUCCESS && n) /* idle: nothing of it is in flight, unless started meanwhile */
        atomic_compare_exchange_strong(&stream->n_names, &n, 0);
    return error;
}

static int stream_poll(void *stream)
{
    return aw_hip_stream_poll(stream);
}

static int event_poll(void *event)
{
    return aw_hip.api.hipEventQuery(((struct aw_hip_event *)event)->handle);
}

/* What the waiting found, or what the kernels' own records tell. */
static int settled(int dev, int status)
{
    if (status == AW_OK) {
        aw_hip_env_drain(dev);
        status = aw_hip_fault_of(dev);
    }
    return status;
}

int aw_hip_stream_settle(int dev, struct aw_hip_stream *stream)
{
    return settled(dev, wait_for(dev, stream_poll, stream));
}

int aw_hip_event_settle(struct aw_hip_event *event)
{
    return settled(event->dev, wait_for(event->dev, event_poll, event));
}

static int device_poll(void *what)
{
    int dev = *(int *)what;
    struct aw_hip_device *d = &aw_hip.dev[dev];
    int error = aw_hip_stream_poll(&d->null_stream);
    pthread_mutex_lock(&d->lock);
    for (struct aw_hip_stream *s = d->streams; s && error == HIP_SUCCESS; s = s->next)
        error = aw_hip_stream_poll(s);
    pthread_mutex_unlock(&d->lock);
    return error;
}

int aw_hip_device_settle(int dev)
{
    return settled(dev, wait_for(dev, device_poll, &dev));
}
