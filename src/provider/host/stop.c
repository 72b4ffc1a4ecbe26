/* Ending work that does not end by itself: a context or the program ends, and kernels of it may run forever.
 * Not faults of generated code (fault.c), though what is stopped is left in the same way: a signal makes the thread land on its own stack.
 *
 * A worker may be left in the middle of generated code only, which holds nothing of ours: in a service it might be in the middle of the pools, or
 * hold a lock.  So who asks does so again and again until the signal finds it there. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

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

/* Waits that long for all work; false when there is some still.  Does not help, as it would not come back from a kernel that never ends. */
static bool wait_for_all(uint64_t ns)
{
    uint64_t until = aw_host_now_ns() + ns, pause = POLL_NS;
    if (!aw_host_any_pending())
        return true;
    aw_host_lock();
    aw_host_pool_nudge();
    aw_host_unlock();
    while (aw_host_any_pending() && aw_host_now_ns() < until)
        doze(&pause);
    return !aw_host_any_pending();
}

/* Locked. */
static void kill_head(struct aw_host_stream *s)
{
    struct aw_host_op *op = s->head;
    if (op && op->started && (op->kind == AW_HOST_OP_KERNEL || op->kind == AW_HOST_OP_MEMORY) && aw_host_op_kill(op, AW_ERR_LAUNCH_FAILED))
        aw_host_pool_killed(op);
}

/* Locked: whatever is to start from now on does not, as after a fault. */
static void kill_all(void)
{
    int none = AW_OK;
    atomic_compare_exchange_strong(&aw_host.fault, &none, AW_ERR_LAUNCH_FAILED);
    kill_head(&aw_host.null_stream);
    for (struct aw_host_stream *s = aw_host.streams, *next; s; s = next) {
        next = s->next;
        kill_head(s);
    }
}

static void interrupt(const struct aw_host_worker *w)
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
    info.si_value.sival_ptr = &aw_host;
    syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, AW_HOST_STOP_SIGNAL, &info);
}

int aw_host_device_stop(int dev, uint64_t grace_ns)
{
    uint64_t pause = POLL_NS;
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    if (aw_host_thread.is_callback || aw_host_thread.is_worker)
        return AW_ERR_NOT_PERMITTED;
    if (wait_for_all(grace_ns))
        return AW_OK;
    aw_warn("work that had not ended %.1f s after its context or program was stopped; what it was to write is not complete", (double)grace_ns / 1e9);
    uint64_t until = aw_host_now_ns() + STOP_NS;
    while (aw_host_any_pending() && aw_host_now_ns() < until) {
        aw_host_lock();
        kill_all();
        aw_host_unlock();
        for (uint32_t i = 0; aw_host_fault_ours() && i < aw_host.n_workers + AW_HOST_GUESTS; i++)
            interrupt(&aw_host.workers[i]);
        doze(&pause);
    }
    return aw_host_any_pending() ? AW_ERR_NOT_READY : AW_OK;
}
