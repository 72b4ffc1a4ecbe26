/* Values in memory that streams write and wait for.
 *
 * One thread serves them all: it writes what is to be written, looks at what is waited for, and pauses in between, the longer the
 * longer nothing came.  A wait that never ends so holds up its own stream, and no worker.  Not ordering (stream.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"
#include "unwritten.h"

#include <signal.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"

/* Between two looks: none at first, then an eighth of what was waited already, within these. */
#define SPIN_NS 3000u
#define PAUSE_MIN_NS 20000u
#define PAUSE_MAX_NS 1000000u

/* ---- one value ---- */

static bool holds(const struct aw_host_value *v, uint64_t now)
{
    uint64_t mask = v->bytes == 4 ? UINT32_MAX : UINT64_MAX;
    switch (v->how) {
    case AW_WAIT_GEQ: /* in a circle */
        return v->bytes == 4 ? (int32_t)((uint32_t)now - (uint32_t)v->value) >= 0 : (int64_t)(now - v->value) >= 0;
    case AW_WAIT_EQ:
        return now == v->value;
    case AW_WAIT_AND:
        return (now & v->value) != 0;
    case AW_WAIT_NOR:
        break;
    }
    return (~(now | v->value) & mask) != 0;
}

struct look {
    const struct aw_host_value *v;
    bool done;
};

__attribute__((no_sanitize("address", "thread")))
static void do_look(void *arg)
{
    struct look *l = arg;
    const struct aw_host_value *v = l->v;
    if (v->write && v->bytes == 4)
        __atomic_store_n((uint32_t *)v->ptr, (uint32_t)v->value, __ATOMIC_RELEASE);
    else if (v->write)
        __atomic_store_n((uint64_t *)v->ptr, v->value, __ATOMIC_RELEASE);
    if (v->write)
        aw_host_unwritten_store((void *)v->ptr, v->bytes);
    l->done = v->write || holds(v, v->bytes == 4 ? __atomic_load_n((uint32_t *)v->ptr, __ATOMIC_ACQUIRE)
                                                 : __atomic_load_n((uint64_t *)v->ptr, __ATOMIC_ACQUIRE));
}

/* Writes, or tells whether what is waited for is there.  AW_ERR_ILLEGAL_ADDRESS: the memory has gone. */
static int look(const struct aw_host_value *v, bool *ret_done)
{
    struct look l = { .v = v };
    int status = aw_host_guarded(do_look, &l);
    *ret_done = l.done;
    return status;
}

/* ---- the thread; locked ---- */

/* Ends every operation that can end; the time when the youngest of the others began, 0 when none is left. */
static uint64_t values_serve(void)
{
    uint64_t youngest = 0;
    for (struct aw_host_op **at = &aw_host.value_head; *at;) {
        struct aw_host_op *op = *at;
        bool done = false;
        /* After a fault nothing runs any more, and who would set the value may be among what does not. */
        bool dropped = aw_host_fault() || atomic_load_explicit(&op->killed, memory_order_relaxed);
        int status = dropped ? AW_OK : look(&op->value, &done);
        if (status != AW_OK && aw_host_op_kill(op, status)) {
            aw_say(VALUE_ADDRESS, op->value.write ? "writes" : "waits for", op->value.ptr);
            aw_host_op_fault(op);
        }
        if (!done && !dropped && status == AW_OK) {
            youngest = op->value.since > youngest ? op->value.since : youngest;
            at = &op->active_next;
            continue;
        }
        *at = op->active_next;
        aw_host_op_complete(op); /* may put more at the list's head */
        at = &aw_host.value_head;
    }
    return youngest;
}

static void rest(uint64_t since)
{
    uint64_t now = aw_clock_ns(), waited = now - since;
    if (waited < SPIN_NS) {
        aw_host_unlock();
        __builtin_ia32_pause();
        aw_host_lock();
        return;
    }
    uint64_t pause = waited / 8;
    pause = pause < PAUSE_MIN_NS ? PAUSE_MIN_NS : pause > PAUSE_MAX_NS ? PAUSE_MAX_NS : pause;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until); /* the condition's clock; when it is set, one look comes early or late */
    until.tv_nsec += (long)pause;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&aw_host.value_work, &aw_host.lock, &until);
}

static void *values_main(void *arg)
{
    (void)arg;
    sigset_t faults;
    sigemptyset(&faults); /* what a guarded access may raise */
    sigaddset(&faults, SIGSEGV);
    sigaddset(&faults, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &faults, NULL);
    aw_host_thread.is_worker = true;
    pthread_setname_np(pthread_self(), "anywarp-val");
    aw_host_lock();
    for (;;) {
        uint64_t since = values_serve();
        if (since)
            rest(since);
        else
            pthread_cond_wait(&aw_host.value_work, &aw_host.lock);
    }
    return NULL;
}

void aw_host_value_start(struct aw_host_op *op)
{
    op->value.since = aw_clock_ns();
    op->active_next = aw_host.value_head;
    aw_host.value_head = op;
    pthread_cond_signal(&aw_host.value_work);
}

void aw_host_values_forked(void)
{
    aw_host.value_head = NULL;
    aw_host.value_started = false;
    pthread_cond_init(&aw_host.value_work, NULL);
}

/* ---- the provider's calls ---- */

/* When nothing is before it, the value is written or found here and now; true when it was. */
static bool try_now(struct aw_host_stream *stream, const struct aw_host_value *v, int *ret_status)
{
    bool done = false;
    if (!aw_host_stream_idle(stream))
        return false;
    int status = look(v, &done);
    /* The caller is here to be told: no sticky fault. */
    *ret_status = status == AW_OK ? AW_OK : AW_ERR_INVALID_VALUE;
    return done || status != AW_OK;
}

static int submit(int dev, struct aw_stream *stream, const struct aw_host_value *v, const void *owner)
{
    struct aw_host_stream *s = aw_host_stream_of(dev, stream);
    struct aw_host_op *op;
    int status = AW_OK;
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    if ((v->bytes != 4 && v->bytes != 8) || !v->ptr || (uintptr_t)v->ptr % v->bytes)
        return AW_ERR_INVALID_VALUE;
    if (aw_host_fault())
        return aw_host_fault();
    aw_host_lock();
    if (try_now(s, v, &status))
        goto out;
    if (!aw_host.value_started && !aw_host_helper_start(values_main)) {
        status = AW_ERR_OS;
        goto out;
    }
    aw_host.value_started = true;
    status = aw_host_op_create(AW_HOST_OP_VALUE, &op);
    if (status != AW_OK)
        goto out;
    op->value = *v;
    op->owner = owner;
    if (v->of)
        v->of->refs++;
    status = aw_host_op_submit(s, op);
    if (status != AW_OK && v->of)
        v->of->refs--; /* the caller has it, too */
out:
    aw_host_unlock();
    return status;
}

int aw_host_stream_write_value(int dev, struct aw_stream *stream, void *ptr, uint64_t value, unsigned bytes)
{
    return submit(dev, stream, &(struct aw_host_value){ .ptr = ptr, .value = value, .bytes = bytes, .write = true }, NULL);
}

int aw_host_stream_wait_value(int dev, struct aw_stream *stream, void *ptr, uint64_t value, unsigned bytes, enum aw_wait how,
                              const void *owner)
{
    if ((unsigned)how > AW_WAIT_NOR)
        return AW_ERR_INVALID_VALUE;
    if (bytes == 4)
        value = (uint32_t)value;
    return submit(dev, stream, &(struct aw_host_value){ .ptr = ptr, .value = value, .bytes = bytes, .how = how }, owner);
}

int aw_host_stream_wait_ticket(int dev, struct aw_stream *stream, struct aw_host_event *e, uint64_t ticket)
{
    return submit(dev, stream, &(struct aw_host_value){ .ptr = &e->tickets->done, .value = ticket, .bytes = 8, .of = e }, NULL);
}
