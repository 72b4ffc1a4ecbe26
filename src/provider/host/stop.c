/* Ending work that does not end by itself: a context or the program ends, and kernels of it may run forever.
 * Not faults of generated code (fault.c), though what is stopped is left in the same way: a signal makes the thread land on
 * its own stack.
 *
 * A worker may be left in the middle of generated code only, which holds nothing of ours: in a service it might be in the
 * middle of the pools, or hold a lock.  So who asks does so again and again until the signal finds it there. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include "base/clock.h"
#include "base/log.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define POLL_NS 50000
#define POLL_MOST_NS 1000000
/* Who is in a service that takes longer is not waited for. */
#define STOP_NS UINT64_C(2000000000)

static void doze(uint64_t *ns)
{
    struct timespec t = { .tv_nsec = (long)*ns };
    nanosleep(&t, NULL);
    *ns = *ns * 2 < POLL_MOST_NS ? *ns * 2 : POLL_MOST_NS;
}

/* Locked. */
static bool owned_in(const struct aw_host_stream *s, const void *owner)
{
    for (const struct aw_host_op *op = s->head; op; op = op->next)
        if (op->owner == owner)
            return true;
    return false;
}

/* Is any work of the owner's left, NULL: of anyone's? */
static bool any_pending(const void *owner)
{
    if (!owner || !aw_host_any_pending())
        return aw_host_any_pending();
    aw_host_lock();
    bool any = false;
    for (uint32_t d = 0; d < aw_host.n_devices && !any; d++) {
        any = owned_in(&aw_host.devices[d].null_stream, owner);
        for (struct aw_host_stream *s = aw_host.devices[d].first; s && !any; s = s->next)
            any = owned_in(s, owner);
    }
    aw_host_unlock();
    return any;
}

/* Waits that long for the work; false when there is some still.  Does not help, as it would not come back from a kernel that
 * never ends. */
static bool wait_for_work(const void *owner, uint64_t ns)
{
    uint64_t until = aw_clock_ns() + ns, pause = POLL_NS;
    if (!any_pending(owner))
        return true;
    aw_host_lock();
    aw_host_pool_nudge();
    aw_host_unlock();
    while (any_pending(owner) && aw_clock_ns() < until)
        doze(&pause);
    return !any_pending(owner);
}

static bool is_work(const struct aw_host_op *op)
{
    return op->kind == AW_HOST_OP_KERNEL || op->kind == AW_HOST_OP_MEMORY;
}

/* Locked: what the stream has of the owner's, or of anyone's what has begun. */
static void mark(struct aw_host_stream *s, const void *owner)
{
    for (struct aw_host_op *op = s->head; op; op = op->next) {
        int none = AW_OK;
        if (owner ? op->owner == owner : op->started && is_work(op))
            atomic_compare_exchange_strong(&op->killed, &none, AW_ERR_LAUNCH_FAILED);
    }
}

/* Killed, and nobody is there to complete it? */
static bool is_left(const struct aw_host_op *op)
{
    return op && op->started && is_work(op) && atomic_load(&op->killed) && !atomic_load(&op->users);
}

/* Locked. */
static struct aw_host_op *find_left(void)
{
    for (uint32_t d = 0; d < aw_host.n_devices; d++) {
        if (is_left(aw_host.devices[d].null_stream.head))
            return aw_host.devices[d].null_stream.head;
        for (struct aw_host_stream *s = aw_host.devices[d].first; s; s = s->next)
            if (is_left(s->head))
                return s->head;
    }
    return NULL;
}

/* Locked: of an owner's work nothing starts any more, and the device has no fault; of everyone's, as after a fault. */
static void kill_all(const void *owner)
{
    int none = AW_OK;
    if (!owner)
        atomic_compare_exchange_strong(&aw_host.fault, &none, AW_ERR_LAUNCH_FAILED);
    for (uint32_t d = 0; d < aw_host.n_devices; d++) {
        mark(&aw_host.devices[d].null_stream, owner);
        for (struct aw_host_stream *s = aw_host.devices[d].first; s; s = s->next)
            mark(s, owner);
    }
    for (struct aw_host_op *op; (op = find_left());)
        aw_host_pool_killed(op);
}

void aw_host_interrupt(const struct aw_host_worker *w, void *value)
{
    siginfo_t info;
    int thread = atomic_load_explicit(&w->thread_id, memory_order_relaxed);
    if (!thread)
        return;
    memset(&info, 0, sizeof info);
    info.si_signo = AW_HOST_STOP_SIGNAL;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = value;
    syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, AW_HOST_STOP_SIGNAL, &info);
}

int aw_host_device_stop(int dev, const void *owner, uint64_t grace_ns)
{
    uint64_t pause = POLL_NS;
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    if (aw_host_thread.is_callback || aw_host_thread.is_worker)
        return AW_ERR_NOT_PERMITTED;
    if (wait_for_work(owner, grace_ns))
        return AW_OK;
    aw_say(WORK_STOPPED, (double)grace_ns / 1e9);
    uint64_t until = aw_clock_ns() + STOP_NS;
    while (any_pending(owner) && aw_clock_ns() < until) {
        aw_host_lock();
        kill_all(owner);
        aw_host_unlock();
        for (uint32_t i = 0; aw_host_fault_ours() && i < aw_host.n_workers + AW_HOST_GUESTS; i++)
            aw_host_interrupt(&aw_host.workers[i], &aw_host);
        doze(&pause);
    }
    return any_pending(owner) ? AW_ERR_NOT_READY : AW_OK;
}
