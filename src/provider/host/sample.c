/* Where kernels spend their time, for `anywarp profile`: about every millisecond each worker is interrupted, and its place in
 * generated code counted; places become lines by the line table that the code came with.  Off unless the trace asks for samples:
 * then nothing of this runs.
 *
 * Counts are of looks, not of time: on a busy machine there are fewer.  A worker counts while it is at a kernel, also when the
 * system lets others run.  Not told: anything, where a program ends by _exit or a signal. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/calltrace.h"
#include "base/demangle.h"
#include "base/linetable.h"
#include "base/str.h"
#include "base/thread.h"

#define INTERVAL_NS 1000000
enum { PLACES = 1 << 15, PROBES = 64, GONE = 1 };

/* By address of code, or of what is loaded: at a kernel of that, but in the host device's own code.  Written by the signal
 * handler. */
static struct {
    _Atomic uintptr_t at; /* 0: free; GONE: of code that is no longer there */
    _Atomic uint32_t n;
} places[PLACES];
static _Atomic uint32_t lost; /* no place was free near where it belongs */
static _Atomic bool stopped;
static pid_t process; /* a child of it has nothing to say */

static void count(uintptr_t at)
{
    size_t i = (size_t)((at >> 2) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    for (int k = 0; k < PROBES; k++) {
        size_t place = (i + (size_t)k) % PLACES;
        uintptr_t there = 0;
        if (atomic_compare_exchange_strong(&places[place].at, &there, at) || there == at) {
            atomic_fetch_add_explicit(&places[place].n, 1, memory_order_relaxed);
            return;
        }
    }
    atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
}

bool aw_host_sample_asked(const siginfo_t *info)
{
    return info->si_signo == AW_HOST_STOP_SIGNAL && info->si_code == SI_QUEUE && info->si_value.sival_ptr == places;
}

void aw_host_sample_take(void *context)
{
    const struct aw_host_thread *t = &aw_host_thread;
    const struct aw_host_worker *w = t->worker;
    const struct aw_host_op *op = w && w->running ? w->running->op : NULL;
    if (!op || op->kind != AW_HOST_OP_KERNEL || !op->kernel.object)
        return;
    const void *pc = aw_host_context_pc(context);
    bool inside = !t->guard && !t->service && aw_host_object_has(&op->kernel, pc);
    count(inside ? (uintptr_t)pc : (uintptr_t)op->kernel.object);
}

static void record(const char *kernel, const char *place, uint32_t n)
{
    struct aw_buf line = { 0 };
    char *plain = aw_demangle_text(kernel);
    const char *name = plain ? plain : kernel;
    aw_buf_printf(&line, "sample\t%s%s%s\t%ld\t%s\t%u\n", place, *name ? "  " : "", name, (long)getpid(), name, n);
    if (!line.failed)
        aw_trace_write(line.ptr, line.len);
    free(plain);
    aw_buf_fini(&line);
}

void aw_host_sample_tell(const struct aw_host_sampled *s)
{
    struct aw_place place;
    char text[sizeof place.file + 16];
    for (size_t i = 0; getpid() == process && i < PLACES; i++) {
        uintptr_t at = atomic_load(&places[i].at);
        bool inside = at - s->code < s->code_size;
        if (!inside && at != (uintptr_t)s->object)
            continue;
        uint32_t n = atomic_exchange(&places[i].n, 0);
        atomic_store(&places[i].at, GONE);
        if (!inside)
            snprintf(text, sizeof text, "(barriers and other services)");
        else if (aw_linetable_find(s->elf, s->elf_size, at - s->base, &place))
            snprintf(text, sizeof text, "%s:%u", place.file, place.line);
        else
            snprintf(text, sizeof text, "(no line)");
        if (n)
            record(s->kernel, text, n);
    }
}

void aw_host_sample_end(void)
{
    atomic_store(&stopped, true);
    if (getpid() == process && atomic_load(&lost))
        record("", "(not counted)", atomic_load(&lost));
}

static void *sampler_main(void *none)
{
    const struct timespec pause = { .tv_nsec = INTERVAL_NS };
    while (!atomic_load(&stopped)) {
        nanosleep(&pause, NULL);
        for (uint32_t i = 0; aw_host_any_pending() && aw_host_fault_ours() && i < aw_host.n_workers + AW_HOST_GUESTS; i++)
            aw_host_interrupt(&aw_host.workers[i], places);
    }
    return NULL;
}

static void start(void)
{
    process = getpid();
    aw_thread_detached(NULL, sampler_main, NULL);
}

void aw_host_sample_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start);
}
