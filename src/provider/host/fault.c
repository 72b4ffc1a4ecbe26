/* Faults of generated code and of copies: signals caught, the kernel ended, the process kept alive.
 * Not what is told about a fault (block.c).  A fault elsewhere goes to whoever handled the signal before us.
 *
 * The handler never jumps: it edits the interrupted thread's registers so that returning from the signal lands on the
 * worker's own stack, or at the end of the guarded call.  So the kernel restores mask and signal stack by itself. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "base/log.h"

__thread struct aw_host_thread aw_host_thread __attribute__((tls_model("initial-exec")));

static const int fault_signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };
enum { N_FAULT_SIGNALS = sizeof fault_signals / sizeof *fault_signals };
static struct sigaction previous[N_FAULT_SIGNALS];

/* What would have happened without us. */
static void chain(int sig, siginfo_t *info, void *context)
{
    for (int i = 0; i < N_FAULT_SIGNALS; i++) {
        if (fault_signals[i] != sig)
            continue;
        const struct sigaction *old = &previous[i];
        if (old->sa_flags & SA_SIGINFO) {
            old->sa_sigaction(sig, info, context);
            return;
        }
        if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN) {
            old->sa_handler(sig);
            return;
        }
        if (old->sa_handler == SIG_IGN && info->si_code <= 0)
            return;
        break;
    }
    /* Default: returning repeats the fault, now without a handler; a sent signal has to be sent again. */
    signal(sig, SIG_DFL);
    if (info->si_code <= 0)
        raise(sig);
}

static bool asked_to_stop(const siginfo_t *info)
{
    return info->si_signo == AW_HOST_STOP_SIGNAL && info->si_code == SI_QUEUE && info->si_value.sival_ptr == &aw_host;
}

/* May the thread leave what it runs, right here? */
static bool may_stop(const struct aw_host_thread *t, void *context)
{
    const struct aw_host_worker *w = t->worker;
    const struct aw_host_op *op = w && !t->guard && !t->service && w->running ? w->running->op : NULL;
    return op && atomic_load_explicit(&op->killed, memory_order_relaxed) &&
           aw_host_object_has(&op->kernel, aw_host_context_pc(context));
}

/* Off to the worker's own stack, for good. */
static void leave(struct aw_host_thread *t, int sig, const siginfo_t *info, void *context)
{
    struct aw_host_worker *w = t->worker;
    w->fault_signal = sig;
    w->fault_code = info->si_code;
    w->fault_address = info->si_addr;
    w->fault_unaligned = (sig == SIGBUS && info->si_code == BUS_ADRALN) ||
                         (sig == SIGSEGV && info->si_code == SI_KERNEL && aw_host_operand_exists(context));
    w->fault_pc = aw_host_context_pc(context);
    t->worker = NULL;
    aw_host_context_landing(&w->thread);
    aw_host_context_redirect(context, w->thread.sp, AW_HOST_RUN_FAULT);
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
    int saved_errno = errno;
    struct aw_host_thread *t = &aw_host_thread;
    bool real = info->si_code > 0; /* not sent by kill() */
    if (sig == SIGSEGV && info->si_code == SEGV_ACCERR && aw_host_memory_moved(&t->moves_seen)) {
        /* returning does the access once more */
    } else if (real && t->guard) {
        void *sp = t->guard;
        t->guard = NULL;
        aw_host_context_redirect(context, sp, 1);
    } else if (real && t->worker && !t->service) {
        leave(t, sig, info, context);
    } else if (aw_host_sample_asked(info)) {
        aw_host_sample_take(context);
    } else if (asked_to_stop(info)) {
        if (may_stop(t, context))
            leave(t, sig, info, context);
    } else {
        chain(sig, info, context);
    }
    errno = saved_errno;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool installed;

static void install(void)
{
    struct sigaction act = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART };
    sigemptyset(&act.sa_mask);
    for (int i = 0; i < N_FAULT_SIGNALS; i++) {
        if (sigaction(fault_signals[i], &act, &previous[i]) != 0) {
            while (i-- > 0)
                sigaction(fault_signals[i], &previous[i], NULL);
            return;
        }
    }
    installed = true;
}

bool aw_host_fault_ours(void)
{
    struct sigaction now;
    return sigaction(AW_HOST_STOP_SIGNAL, NULL, &now) == 0 && now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_fault;
}

int aw_host_fault_init(void)
{
    pthread_once(&once, install);
    return installed ? AW_OK : AW_ERR_OS;
}

/* ---- signal stacks and masks of threads that run kernels ---- */

/* At the low end of its mapping. */
struct aw_host_signal_stack {
    size_t size;                       /* of the mapping */
};

static pthread_key_t stack_key;
static pthread_once_t stack_once = PTHREAD_ONCE_INIT;
static bool stack_key_made;

/* The thread ends. */
static void stack_free(void *stack)
{
    stack_t off = { .ss_flags = SS_DISABLE }, now;
    if (sigaltstack(NULL, &now) == 0 && now.ss_sp == stack)
        sigaltstack(&off, NULL);
    aw_host_thread.signal_stack = NULL;
    aw_host_thread.keeps_stack = false;
    munmap(stack, ((struct aw_host_signal_stack *)stack)->size);
}

static void stack_key_make(void)
{
    stack_key_made = pthread_key_create(&stack_key, stack_free) == 0;
}

static struct aw_host_signal_stack *stack_make(void)
{
    size_t need = getauxval(51 /* AT_MINSIGSTKSZ */) + ((size_t)64 << 10);
    need = (need + 4095) & ~(size_t)4095;
    pthread_once(&stack_once, stack_key_make);
    struct aw_host_signal_stack *stack = mmap(NULL, need, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
        return NULL;
    stack->size = need;
    if (stack_key_made && pthread_setspecific(stack_key, stack) == 0)
        return stack;
    munmap(stack, need);
    return NULL;
}

/* Where the program has no signal stack for the thread, ours stays in place: launches that the caller runs itself are short, and
 * would take longer to change signal stacks than to run. */
static int stack_enter(struct aw_host_signals *before)
{
    struct aw_host_thread *t = &aw_host_thread;
    before->swapped = false;
    if (t->keeps_stack)
        return AW_OK;
    if (!t->signal_stack && !(t->signal_stack = stack_make()))
        return AW_ERR_OUT_OF_MEMORY;
    stack_t ours = { .ss_sp = t->signal_stack, .ss_size = t->signal_stack->size };
    if (sigaltstack(&ours, &before->stack) != 0)
        return AW_ERR_OS;
    t->keeps_stack = before->stack.ss_flags & SS_DISABLE;
    before->swapped = !t->keeps_stack;
    return AW_OK;
}

static void stack_leave(const struct aw_host_signals *before)
{
    if (before->swapped)
        sigaltstack(&before->stack, NULL);
}

/* Launches that the caller runs itself take less time than asking the system what the thread has blocked: an answer holds for
 * a millisecond, about.  Threads that block faults do so when they begin, or around what they do themselves. */
#define UNBLOCKED_CYCLES 2500000

static bool known_unblocked(const struct aw_host_thread *t)
{
    return t->unblocked && __builtin_ia32_rdtsc() - t->unblocked < UNBLOCKED_CYCLES;
}

static int mask_enter(struct aw_host_signals *before)
{
    struct aw_host_thread *t = &aw_host_thread;
    sigset_t set;
    before->blocked = false;
    if (known_unblocked(t))
        return AW_OK;
    sigemptyset(&set);
    for (int i = 0; i < N_FAULT_SIGNALS; i++)
        sigaddset(&set, fault_signals[i]);
    if (pthread_sigmask(SIG_UNBLOCK, &set, &before->mask) != 0)
        return AW_ERR_OS;
    for (int i = 0; i < N_FAULT_SIGNALS; i++)
        before->blocked |= sigismember(&before->mask, fault_signals[i]) == 1;
    t->unblocked = before->blocked ? 0 : __builtin_ia32_rdtsc();
    return AW_OK;
}

int aw_host_fault_enter(struct aw_host_signals *ret_before)
{
    int status = stack_enter(ret_before);
    if (status != AW_OK)
        return status;
    status = mask_enter(ret_before);
    if (status != AW_OK)
        stack_leave(ret_before);
    return status;
}

void aw_host_fault_leave(const struct aw_host_signals *before)
{
    stack_leave(before);
    if (before->blocked)
        pthread_sigmask(SIG_SETMASK, &before->mask, NULL);
}

/* ---- guarded calls ---- */

/* The guarded call's depth is one per thread at a time, or nested: the outer one is restored afterwards. */
static uint32_t guarded(void (*fn)(void *), void *arg)
{
    struct aw_host_thread *t = &aw_host_thread;
    void *outer = t->guard;
    uint32_t cut = aw_host_guard_call(&t->guard, fn, arg);
    t->guard = outer;
    return cut;
}

int aw_host_guarded(void (*fn)(void *), void *arg)
{
    return guarded(fn, arg) ? AW_ERR_ILLEGAL_ADDRESS : AW_OK;
}

struct peek {
    char *dst;
    const char *src;
    size_t size, len;
};

/* Without library calls: sanitizers' versions of those look at the address first. */
__attribute__((no_sanitize("address", "thread"), optimize("no-tree-loop-distribute-patterns")))
static void peek_bytes(void *arg)
{
    struct peek *p = arg;
    for (size_t i = 0; i < p->size; i++)
        p->dst[i] = ((const volatile char *)p->src)[i];
}

__attribute__((no_sanitize("address", "thread")))
static void peek_string(void *arg)
{
    struct peek *p = arg;
    for (; p->len < p->size; p->len++) {
        char ch = ((const volatile char *)p->src)[p->len];
        if (!ch)
            return;
        p->dst[p->len] = ch;
    }
}

bool aw_host_peek(void *dst, const void *src, size_t size)
{
    struct peek p = { dst, src, size, 0 };
    return guarded(peek_bytes, &p) == 0;
}

long aw_host_peek_string(char *dst, const char *src, size_t size)
{
    struct peek p = { dst, src, size, 0 };
    return guarded(peek_string, &p) == 0 ? (long)p.len : -1;
}
