/* Streams, events and callbacks: what may start when.
 * Not how work is done (pool.c).  All is under the device's lock; see host.h for the order rules. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"
#include "unwritten.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"

static struct aw_host_stream *as_stream(struct aw_stream *s)
{
    return (struct aw_host_stream *)s;
}

struct aw_host_stream *aw_host_stream_of(int dev, struct aw_stream *stream)
{
    return stream ? as_stream(stream) : &aw_host.devices[aw_host_device_ok(dev) ? dev : 0].null_stream;
}

static struct aw_host_streams *siblings(const struct aw_host_stream *s)
{
    return &aw_host.devices[s->device];
}

static bool is_null(const struct aw_host_stream *s)
{
    return s == &siblings(s)->null_stream;
}

static uint64_t completed(struct aw_host_stream *s)
{
    return atomic_load_explicit(&s->completed, memory_order_acquire);
}

static uint64_t submitted(struct aw_host_stream *s)
{
    return atomic_load_explicit(&s->submitted, memory_order_acquire);
}

/* ---- lifetimes; locked ---- */

static void list_remove(struct aw_host_stream *s)
{
    if (s->prev)
        s->prev->next = s->next;
    else
        siblings(s)->first = s->next;
    if (s->next)
        s->next->prev = s->prev;
}

/* Those that were given something since the default stream last waited for all are in front, so that it need not look at the
 * others. */
static void list_push(struct aw_host_stream *s)
{
    s->fresh = true;
    s->prev = NULL;
    s->next = siblings(s)->first;
    if (s->next)
        s->next->prev = s;
    siblings(s)->first = s;
}

static void stream_unref(struct aw_host_stream *s)
{
    if (--s->refs || is_null(s))
        return;
    list_remove(s);
    free(s);
}

static void event_unref(struct aw_host_event *e)
{
    if (--e->refs)
        return;
    if (e->stream)
        stream_unref(e->stream);
    if (e->tickets)
        aw_host_tickets_free(e);
    free(e);
}

int aw_host_op_create(enum aw_host_op_kind kind, struct aw_host_op **ret_op)
{
    struct aw_host_op *op = aw_host.free_ops;
    if (!op) {
        enum { BATCH = 32 };
        size_t size = sizeof *op + aw_host_shares() * sizeof *op->shares;
        char *batch = aligned_alloc(_Alignof(struct aw_host_op), BATCH * size);
        if (!batch)
            return AW_ERR_OUT_OF_MEMORY;
        memset(batch, 0, BATCH * size);
        for (int i = 0; i < BATCH; i++) {
            op = (struct aw_host_op *)(void *)(batch + (size_t)i * size);
            op->next = aw_host.free_ops;
            aw_host.free_ops = op;
        }
    }
    aw_host.free_ops = op->next;
    op->next = NULL;
    op->kind = kind;
    op->pending = 0;
    op->owner = NULL;
    op->started = op->active = op->here = false;
    atomic_store_explicit(&op->users, 0, memory_order_relaxed);
    atomic_store_explicit(&op->limit, UINT32_MAX, memory_order_relaxed);
    op->watched = false;
    atomic_store_explicit(&op->killed, 0, memory_order_relaxed);
    atomic_store_explicit(&op->small, false, memory_order_relaxed);
    op->ordered = false;
    *ret_op = op;
    return AW_OK;
}

char *aw_host_op_buffer(struct aw_host_op *op, size_t size)
{
    if (size <= sizeof op->kernarg)
        return op->kernarg;
    if (size > op->large_size) {
        char *grown = aligned_alloc(64, (size + 63) & ~(size_t)63);
        if (!grown)
            return NULL;
        free(op->large);
        op->large = grown;
        op->large_size = size;
    }
    return op->large;
}

void aw_host_op_discard(struct aw_host_op *op)
{
    /* Arguments of kernels are kept for the next; thousands of copies' data are not. */
    enum { KEPT = 4096 };
    if (op->large_size > KEPT) {
        free(op->large);
        op->large = NULL;
        op->large_size = 0;
    }
    op->next = aw_host.free_ops;
    aw_host.free_ops = op;
}

static struct aw_host_dep *dep_get(void)
{
    struct aw_host_dep *d = aw_host.free_deps;
    if (!d)
        return malloc(sizeof *d);
    aw_host.free_deps = d->next;
    return d;
}

static void dep_put(struct aw_host_dep *d)
{
    d->next = aw_host.free_deps;
    aw_host.free_deps = d;
}

/* ---- progress; locked ---- */

static void kick(struct aw_host_stream *s)
{
    if (s->kicked)
        return;
    s->kicked = true;
    s->refs++;
    s->kick_next = aw_host.kick;
    aw_host.kick = s;
}

static void pending_add(uint64_t n)
{
    atomic_store_explicit(&aw_host.n_pending, atomic_load_explicit(&aw_host.n_pending, memory_order_relaxed) + n,
                          memory_order_release);
}

bool aw_host_any_pending(void)
{
    return atomic_load_explicit(&aw_host.n_pending, memory_order_acquire) != 0;
}

/* The head of its stream is complete. */
static void op_finish(struct aw_host_op *op)
{
    struct aw_host_stream *s = op->stream;
    s->head = op->next;
    if (!s->head)
        s->tail = NULL;
    atomic_store_explicit(&s->completed, op->seq, memory_order_release);
    pending_add((uint64_t)-1);
    for (struct aw_host_dep *d = op->dependents, *next; d; d = next) {
        next = d->next;
        if (--d->op->pending == 0)
            kick(d->op->stream);
        dep_put(d);
    }
    op->dependents = NULL;
    for (struct aw_host_waiter *w = s->waiters; w; w = w->next) {
        if (w->seq <= op->seq)
            pthread_cond_signal(&w->cond);
    }
    if (op->kind == AW_HOST_OP_VALUE && op->value.of)
        event_unref(op->value.of);
    aw_host_op_discard(op);
    if (s->head)
        kick(s);
    stream_unref(s); /* the operation's */
}

static void callback_enqueue(struct aw_host_op *op);

static void event_reached(struct aw_host_op *op)
{
    struct aw_host_event *e = op->record.event;
    if (e->stream == op->stream && e->seq == op->seq)
        e->time_ns = aw_clock_ns();
    if (e->tickets)
        aw_host_ticket_done(e, op->record.ticket);
    event_unref(e);
}

static void op_start(struct aw_host_op *op)
{
    op->started = true;
    switch (op->kind) {
    case AW_HOST_OP_KERNEL:
    case AW_HOST_OP_MEMORY:
        if (op->here)
            return;
        /* after a fault nothing runs any more; every call says so */
        if (aw_host_fault() || atomic_load_explicit(&op->killed, memory_order_relaxed))
            op_finish(op);
        else
            aw_host_pool_activate(op);
        return;
    case AW_HOST_OP_EVENT:
        event_reached(op);
        op_finish(op);
        return;
    case AW_HOST_OP_WAIT:
        op_finish(op);
        return;
    case AW_HOST_OP_CALLBACK:
        callback_enqueue(op);
        return;
    case AW_HOST_OP_VALUE:
        aw_host_value_start(op);
        return;
    case AW_HOST_OP_INLINE: /* the submitting thread does it */
    case AW_HOST_OP_PARTS:  /* never in a stream */
        return;
    }
}

static void pump(void)
{
    while (aw_host.kick) {
        struct aw_host_stream *s = aw_host.kick;
        aw_host.kick = s->kick_next;
        s->kicked = false;
        while (s->head && !s->head->started && !s->head->pending)
            op_start(s->head);
        stream_unref(s); /* kick's */
    }
}

void aw_host_op_complete(struct aw_host_op *op)
{
    op_finish(op);
    pump();
}

/* ---- submission; locked ---- */

static bool is_blocking(const struct aw_host_stream *s)
{
    return !(s->flags & AW_STREAM_NON_BLOCKING);
}

static bool is_pending(struct aw_host_stream *s)
{
    return completed(s) < submitted(s);
}

bool aw_host_stream_idle(struct aw_host_stream *stream)
{
    if (is_pending(stream))
        return false;
    if (!is_null(stream))
        return !is_blocking(stream) || !is_pending(&siblings(stream)->null_stream);
    /* What others have pending, the default stream's latest waits for. */
    for (struct aw_host_stream *s = siblings(stream)->first; s && s->fresh; s = s->next) {
        if (is_blocking(s) && is_pending(s))
            return false;
    }
    return true;
}

/* Makes `op` wait for `on`, an operation that is not complete, and so for all that was given to its stream before. */
static bool dep_add(struct aw_host_op *op, struct aw_host_op *on)
{
    struct aw_host_dep *d = dep_get();
    if (!d)
        return false;
    d->op = op;
    d->next = on->dependents;
    on->dependents = d;
    op->pending++;
    return true;
}

/* Takes back what deps_legacy did for `op`, the last that anything waits for, on this stream. */
static void dep_drop(struct aw_host_op *op, struct aw_host_stream *s)
{
    struct aw_host_dep *d = s->tail ? s->tail->dependents : NULL;
    if (!d || d->op != op)
        return;
    s->tail->dependents = d->next;
    dep_put(d);
}

/* The legacy default stream and the blocking ones wait for each other. */
static bool deps_legacy(struct aw_host_stream *stream, struct aw_host_op *op)
{
    struct aw_host_stream *null = &siblings(stream)->null_stream;
    if (stream != null) {
        if (!is_blocking(stream) || stream->seen_null >= submitted(null))
            return true;
        if (null->tail && !dep_add(op, null->tail))
            return false;
        stream->seen_null = submitted(null);
        return true;
    }
    for (struct aw_host_stream *s = siblings(stream)->first; s && s->fresh; s = s->next) {
        s->fresh = false;
        if (!is_blocking(s) || s->null_seen >= submitted(s))
            continue;
        if (s->tail && !dep_add(op, s->tail))
            return false;
        s->null_seen = submitted(s);
    }
    return true;
}

/* After what its own stream was given, and `after`, an operation that is not complete; NULL: none. */
static int submit_after(struct aw_host_stream *stream, struct aw_host_op *op, struct aw_host_op *after)
{
    op->stream = stream;
    if ((op->kind == AW_HOST_OP_KERNEL || op->kind == AW_HOST_OP_MEMORY) && !aw_host_pool_ready()) {
        aw_say(WORKER_THREAD);
        return AW_ERR_OS;
    }
    if (!deps_legacy(stream, op) || (after && !dep_add(op, after))) {
        dep_drop(op, &siblings(stream)->null_stream);
        for (struct aw_host_stream *s = siblings(stream)->first; s; s = s->next) {
            dep_drop(op, s);
            s->fresh = true;
            s->null_seen = s->seen_null = 0; /* forget: waiting once more is harmless */
        }
        return AW_ERR_OUT_OF_MEMORY;
    }
    if (!is_null(stream) && !stream->fresh) {
        list_remove(stream);
        list_push(stream);
    }
    op->seq = submitted(stream) + 1;
    atomic_store_explicit(&stream->submitted, op->seq, memory_order_release);
    pending_add(1);
    stream->refs++;
    op->next = NULL;
    if (stream->tail)
        stream->tail->next = op;
    else
        stream->head = op;
    stream->tail = op;
    if (stream->head == op && !op->pending)
        kick(stream);
    return AW_OK;
}

int aw_host_op_submit(struct aw_host_stream *stream, struct aw_host_op *op)
{
    int status = submit_after(stream, op, NULL);
    if (status == AW_OK)
        pump();
    else
        aw_host_op_discard(op);
    return status;
}

/* ---- waiting ---- */

/* A thread of ours would wait for itself. */
static bool may_wait(void)
{
    return !aw_host_thread.is_callback && !aw_host_thread.is_worker;
}

/* Looks for a while whether `seq` completes or help is wanted; locked, unlocks meanwhile.  False: neither. */
static bool look(struct aw_host_stream *s, uint64_t seq)
{
    uint64_t until = aw_clock_ns() + aw_host_pool_patience();
    bool done;
    s->lookers++;
    aw_host_unlock();
    while (!(done = completed(s) >= seq || atomic_load_explicit(&s->wanted, memory_order_relaxed)) && aw_clock_ns() < until)
        __builtin_ia32_pause();
    aw_host_lock();
    s->lookers--;
    atomic_store_explicit(&s->wanted, false, memory_order_relaxed);
    return done;
}

/* Until `s` has completed `seq`; locked, unlocks meanwhile. */
static void wait_for(struct aw_host_stream *s, uint64_t seq)
{
    struct aw_host_waiter w = { .seq = seq };
    bool waiting = false, looked = false;
    s->refs++;
    while (completed(s) < seq) {
        if (s->head && aw_host_pool_help(s->head)) {
            looked = false;
            continue;
        }
        aw_host_pool_nudge();
        if (!looked) {
            looked = !look(s, seq);
            continue;
        }
        if (!waiting) {
            pthread_cond_init(&w.cond, NULL);
            w.next = s->waiters;
            s->waiters = &w;
            waiting = true;
        }
        pthread_cond_wait(&w.cond, &aw_host.lock);
    }
    if (waiting) {
        struct aw_host_waiter **at = &s->waiters;
        while (*at != &w)
            at = &(*at)->next;
        *at = w.next;
        pthread_cond_destroy(&w.cond);
    }
    aw_host_pool_nudge();
    stream_unref(s);
}

/* The present work of every stream of a device, or of every blocking one; locked, unlocks meanwhile.  The list may change while
 * it is unlocked, so the work to wait for is marked first: what others submit later must not hold this thread up. */
static void wait_device_locked(struct aw_host_streams *of, bool blocking_only)
{
    wait_for(&of->null_stream, submitted(&of->null_stream));
    for (struct aw_host_stream *s = of->first; s; s = s->next) {
        if (is_blocking(s) || !blocking_only)
            s->sync_mark = submitted(s);
    }
    for (struct aw_host_stream *s = of->first; s;) {
        if (completed(s) < s->sync_mark) {
            wait_for(s, s->sync_mark);
            s = of->first;
        } else {
            s = s->next;
        }
    }
}

static int wait_devices(uint32_t first, uint32_t end)
{
    if (!may_wait())
        return AW_ERR_NOT_PERMITTED;
    aw_host_thread.waited = true;
    if (!aw_host_any_pending())
        return AW_OK;
    aw_host_lock();
    for (uint32_t d = first; d < end; d++)
        wait_device_locked(&aw_host.devices[d], false);
    aw_host_unlock();
    return AW_OK;
}

int aw_host_wait_all(void)
{
    return wait_devices(0, aw_host.n_devices);
}

int aw_host_device_sync(int dev)
{
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    int status = wait_devices((uint32_t)dev, (uint32_t)dev + 1);
    if (status != AW_OK)
        return status;
    aw_host_print_flush();
    return aw_host_fault();
}

/* ---- streams ---- */

int aw_host_stream_create(int dev, unsigned flags, int priority, struct aw_stream **ret_stream)
{
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    struct aw_host_stream *s = calloc(1, sizeof *s);
    if (!s)
        return AW_ERR_OUT_OF_MEMORY;
    (void)priority; /* one class of workers */
    s->flags = flags;
    s->device = (uint32_t)dev;
    s->refs = 1;
    aw_host_lock();
    list_push(s);
    aw_host_unlock();
    *ret_stream = (struct aw_stream *)s;
    return AW_OK;
}

int aw_host_stream_destroy(struct aw_stream *stream)
{
    if (!stream)
        return AW_ERR_INVALID_HANDLE;
    aw_host_lock();
    stream_unref(as_stream(stream));
    aw_host_unlock();
    return AW_OK;
}

int aw_host_stream_query(int dev, struct aw_stream *stream)
{
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    if (aw_host_fault())
        return aw_host_fault();
    aw_host_lock();
    bool idle = aw_host_stream_idle(aw_host_stream_of(dev, stream));
    bool own = !is_pending(aw_host_stream_of(dev, stream));
    aw_host_unlock();
    /* The legacy stream counts the blocking ones' work as its own; they do not count its. */
    if (stream ? own : idle)
        return aw_host_fault();
    return AW_ERR_NOT_READY;
}

int aw_host_stream_sync(int dev, struct aw_stream *stream)
{
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    if (!may_wait())
        return AW_ERR_NOT_PERMITTED;
    struct aw_host_stream *s = aw_host_stream_of(dev, stream);
    aw_host_thread.waited = true;
    if (stream ? is_pending(s) : aw_host_any_pending()) {
        aw_host_lock();
        if (stream)
            wait_for(s, submitted(s));
        else
            wait_device_locked(siblings(s), true);
        aw_host_unlock();
    }
    aw_host_print_flush();
    return aw_host_fault();
}

/* The event's latest ticket, when another process took it and has not brought it back; else 0. */
static uint64_t ticket_of_others(struct aw_host_event *e)
{
    if (!e->tickets)
        return 0;
    aw_host_lock(); /* which a record of this process is made in */
    uint64_t given = atomic_load(&e->tickets->given);
    bool others = given != e->ticket && atomic_load(&e->tickets->done) < given;
    aw_host_unlock();
    return others ? given : 0;
}

int aw_host_stream_wait(int dev, struct aw_stream *stream, struct aw_event *event)
{
    struct aw_host_event *e = (struct aw_host_event *)event;
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    if (!e)
        return AW_ERR_INVALID_HANDLE;
    if (aw_host_fault())
        return aw_host_fault();
    uint64_t ticket = ticket_of_others(e);
    if (ticket)
        return aw_host_stream_wait_ticket(dev, stream, e, ticket);
    int status = AW_OK;
    aw_host_lock();
    if (e->stream && completed(e->stream) < e->seq) {
        struct aw_host_op *op;
        status = aw_host_op_create(AW_HOST_OP_WAIT, &op);
        if (status == AW_OK) {
            status = submit_after(aw_host_stream_of(dev, stream), op, e->op);
            if (status != AW_OK)
                aw_host_op_discard(op);
            pump();
        }
    }
    aw_host_unlock();
    return status;
}

bool aw_host_helper_start(void *(*fn)(void *))
{
    return aw_thread_detached(NULL, fn, NULL) == 0;
}

/* ---- callbacks: on one thread of their own, so that user code never holds a worker ---- */

static void *callback_main(void *arg)
{
    (void)arg;
    aw_host_thread.is_callback = true;
    pthread_setname_np(pthread_self(), "anywarp-cb");
    aw_host_lock();
    for (;;) {
        struct aw_host_op *op = aw_host.callback_head;
        if (!op) {
            pthread_cond_wait(&aw_host.callback_work, &aw_host.lock);
            continue;
        }
        aw_host.callback_head = op->active_next;
        if (!aw_host.callback_head)
            aw_host.callback_tail = NULL;
        aw_host_unlock();
        aw_host_print_flush();
        op->callback.fn(op->callback.user);
        aw_host_unwritten_forget();
        aw_host_lock();
        aw_host_op_complete(op);
    }
    return NULL;
}

static bool callback_thread(void)
{
    if (!aw_host.callback_started)
        aw_host.callback_started = aw_host_helper_start(callback_main);
    return aw_host.callback_started;
}

static void callback_enqueue(struct aw_host_op *op)
{
    op->active_next = NULL;
    if (aw_host.callback_tail)
        aw_host.callback_tail->active_next = op;
    else
        aw_host.callback_head = op;
    aw_host.callback_tail = op;
    pthread_cond_signal(&aw_host.callback_work);
}

int aw_host_stream_callback(int dev, struct aw_stream *stream, void (*fn)(void *user), void *user)
{
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    if (!fn)
        return AW_ERR_INVALID_VALUE;
    struct aw_host_op *op;
    aw_host_lock();
    int status = callback_thread() ? aw_host_op_create(AW_HOST_OP_CALLBACK, &op) : AW_ERR_OS;
    if (status == AW_OK) {
        op->callback.fn = fn;
        op->callback.user = user;
        status = aw_host_op_submit(aw_host_stream_of(dev, stream), op);
    }
    aw_host_unlock();
    return status;
}

/* The operation holds its place in the stream while the caller does it, so what others give the stream meanwhile waits. */
int aw_host_stream_inline(int dev, struct aw_stream *stream, void (*fn)(void *user), void *user)
{
    struct aw_host_stream *s = aw_host_stream_of(dev, stream);
    struct aw_host_op *op;
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    if (aw_host_fault())
        return aw_host_fault();
    aw_host_lock();
    int status = aw_host_stream_idle(s) ? aw_host_op_create(AW_HOST_OP_INLINE, &op) : AW_ERR_NOT_READY;
    if (status == AW_OK)
        status = aw_host_op_submit(s, op);
    aw_host_unlock();
    if (status != AW_OK)
        return status;
    fn(user);
    aw_host_unwritten_forget();
    aw_host_lock();
    aw_host_op_complete(op);
    aw_host_unlock();
    return AW_OK;
}

/* ---- events ---- */

int aw_host_event_create(int dev, unsigned flags, struct aw_event **ret_event)
{
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    struct aw_host_event *e = calloc(1, sizeof *e);
    if (!e)
        return AW_ERR_OUT_OF_MEMORY;
    e->refs = 1;
    e->flags = flags;
    e->fd = -1;
    if ((flags & AW_EVENT_INTERPROCESS) && aw_host_tickets_make(e) != AW_OK) {
        free(e);
        return AW_ERR_OUT_OF_MEMORY;
    }
    *ret_event = (struct aw_event *)e;
    return AW_OK;
}

int aw_host_event_destroy(struct aw_event *event)
{
    if (!event)
        return AW_ERR_INVALID_HANDLE;
    aw_host_lock();
    event_unref((struct aw_host_event *)event);
    aw_host_unlock();
    return AW_OK;
}

int aw_host_event_record(int dev, struct aw_event *event, struct aw_stream *stream)
{
    struct aw_host_event *e = (struct aw_host_event *)event;
    struct aw_host_stream *s = aw_host_stream_of(dev, stream);
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    if (!e)
        return AW_ERR_INVALID_HANDLE;
    if (aw_host_fault())
        return aw_host_fault();
    struct aw_host_op *op;
    aw_host_lock();
    int status = aw_host_op_create(AW_HOST_OP_EVENT, &op);
    if (status != AW_OK)
        goto out;
    op->record.event = e;
    e->refs++;
    status = submit_after(s, op, NULL);
    if (status != AW_OK) {
        e->refs--;
        aw_host_op_discard(op);
        goto out;
    }
    s->refs++;
    if (e->stream)
        stream_unref(e->stream);
    e->stream = s;
    e->seq = op->seq;
    e->op = op;
    if (e->tickets)
        e->ticket = op->record.ticket = atomic_fetch_add(&e->tickets->given, 1) + 1;
    pump();
out:
    aw_host_unlock();
    return status;
}

int aw_host_event_query(struct aw_event *event)
{
    struct aw_host_event *e = (struct aw_host_event *)event;
    if (!e)
        return AW_ERR_INVALID_HANDLE;
    aw_host_lock();
    bool done = e->tickets ? atomic_load(&e->tickets->done) >= atomic_load(&e->tickets->given)
                           : !e->stream || completed(e->stream) >= e->seq;
    aw_host_unlock();
    return aw_host_fault() ? aw_host_fault() : done ? AW_OK : AW_ERR_NOT_READY;
}

int aw_host_event_sync(struct aw_event *event)
{
    struct aw_host_event *e = (struct aw_host_event *)event;
    if (!e)
        return AW_ERR_INVALID_HANDLE;
    if (!may_wait())
        return AW_ERR_NOT_PERMITTED;
    aw_host_thread.waited = true;
    uint64_t ticket = ticket_of_others(e);
    if (ticket)
        aw_host_ticket_wait(e, ticket);
    aw_host_lock();
    if (e->stream && !ticket)
        wait_for(e->stream, e->seq);
    aw_host_unlock();
    aw_host_print_flush();
    return aw_host_fault();
}

int aw_host_event_elapsed(struct aw_event *begin, struct aw_event *end, float *ret_ms)
{
    struct aw_host_event *a = (struct aw_host_event *)begin, *b = (struct aw_host_event *)end;
    if (!a || !b)
        return AW_ERR_INVALID_HANDLE;
    int status = AW_OK;
    aw_host_lock();
    if (!a->stream || !b->stream || ((a->flags | b->flags) & AW_EVENT_NO_TIMING))
        status = AW_ERR_INVALID_HANDLE;
    else if (completed(a->stream) < a->seq || completed(b->stream) < b->seq)
        status = AW_ERR_NOT_READY;
    else
        *ret_ms = (float)((double)((int64_t)b->time_ns - (int64_t)a->time_ns) / 1e6);
    aw_host_unlock();
    return status;
}

/* ---- fork ---- */

static void stream_forget(struct aw_host_stream *s)
{
    while (s->head) {
        struct aw_host_op *op = s->head;
        s->head = op->next;
        if (op->kind == AW_HOST_OP_EVENT)
            event_unref(op->record.event);
        if (op->kind == AW_HOST_OP_VALUE && op->value.of)
            event_unref(op->value.of);
        while (op->dependents) {
            struct aw_host_dep *d = op->dependents;
            op->dependents = d->next;
            dep_put(d);
        }
        aw_host_op_discard(op);
        s->refs--;
    }
    s->tail = NULL;
    s->waiters = NULL;
    atomic_store(&s->completed, submitted(s));
}

void aw_host_streams_forked(void)
{
    bool lost = aw_host_any_pending();
    for (uint32_t d = 0; d < AW_HOST_DEVICES_MAX; d++) {
        stream_forget(&aw_host.devices[d].null_stream);
        for (struct aw_host_stream *s = aw_host.devices[d].first, *next; s; s = next) {
            next = s->next;
            s->refs++;
            stream_forget(s);
            stream_unref(s);
        }
    }
    aw_host.kick = NULL;
    atomic_store(&aw_host.n_pending, 0);
    aw_host.callback_head = aw_host.callback_tail = NULL;
    aw_host.callback_started = false;
    pthread_cond_init(&aw_host.callback_work, NULL);
    aw_host_values_forked();
    int none = 0;
    if (lost) /* work was under way that only the parent's threads could end */
        atomic_compare_exchange_strong(&aw_host.fault, &none, AW_ERR_NOT_INITIALIZED);
}
