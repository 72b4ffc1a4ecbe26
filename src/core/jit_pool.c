/* The pool of compiler processes.  A process serves one request at a time, so there are as many as requests run side by
 * side, up to one per core and eight.  They stay until the program ends: the next kernel is seldom far. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jit_pool.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"

#define AW_ROOM "jit"
#define MOST_PROCESSES 8

static struct {
    pthread_mutex_t lock;
    pthread_cond_t given; /* a process came back, or its place is free */
    struct aw_jit_process *idle, *busy;
    unsigned n; /* idle, busy and being started */
    struct aw_jit_fork_hooks user;
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER, .given = PTHREAD_COND_INITIALIZER };

/* ---- fork() ---- */

static void before_fork(void)
{
    if (pool.user.prepare)
        pool.user.prepare();
    pthread_mutex_lock(&pool.lock);
}

static void after_fork_parent(void)
{
    pthread_mutex_unlock(&pool.lock);
    if (pool.user.parent)
        pool.user.parent();
}

static void abandon_list(struct aw_jit_process **list)
{
    while (*list) {
        struct aw_jit_process *next = (*list)->next;
        aw_jit_process_abandon(*list);
        *list = next;
    }
}

/* The processes are the parent's.  Were the sockets kept open here, they would not learn of the parent's end from them.
 */
static void after_fork_child(void)
{
    abandon_list(&pool.idle);
    abandon_list(&pool.busy);
    pool.n = 0;
    pthread_cond_init(&pool.given, NULL); /* its waiters are gone */
    pthread_mutex_init(&pool.lock, NULL);
    if (pool.user.child)
        pool.user.child();
}

static void register_handlers(void)
{
    if (pthread_atfork(before_fork, after_fork_parent, after_fork_child) != 0)
        aw_say(FORK_HANDLER);
}

void aw_jit_pool_at_fork(const struct aw_jit_fork_hooks *hooks)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pool.user = *hooks;
    pthread_once(&once, register_handlers);
}

/* ---- Taking and giving ---- */

unsigned aw_jit_pool_most(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > MOST_PROCESSES ? MOST_PROCESSES : (unsigned)n;
}

static bool knows(const struct aw_jit_process *process, struct aw_hash128 module)
{
    for (unsigned i = 0; i < AW_JIT_KNOWN && i < process->n_known; i++)
        if (aw_hash128_eq(process->known[i], module))
            return true;
    return false;
}

void aw_jit_pool_note(struct aw_jit_process *process, struct aw_hash128 module)
{
    if (!knows(process, module))
        process->known[process->n_known++ % AW_JIT_KNOWN] = module;
    if (process->n_known == UINT_MAX)
        process->n_known = AW_JIT_KNOWN;
}

void aw_jit_pool_keep(struct aw_jit_process *process, bool keep)
{
    pthread_mutex_lock(&pool.lock);
    process->keep = keep;
    pthread_mutex_unlock(&pool.lock);
}

static void unlink_from(struct aw_jit_process **list, struct aw_jit_process *process)
{
    while (*list && *list != process)
        list = &(*list)->next;
    if (*list)
        *list = process->next;
}

/* Takes the best idle process out; those that died meanwhile go. */
static struct aw_jit_process *take_idle(struct aw_hash128 module)
{
    for (struct aw_jit_process **link = &pool.idle, *p; (p = *link);) {
        if (aw_jit_process_usable(p)) {
            link = &p->next;
            continue;
        }
        *link = p->next;
        pool.n--;
        aw_say(COMPILER_ENDED, (long)p->pid);
        aw_jit_process_stop(p);
    }
    struct aw_jit_process *best = pool.idle;
    for (struct aw_jit_process *p = pool.idle; p; p = p->next)
        if (knows(p, module)) {
            best = p;
            break;
        }
    if (best)
        unlink_from(&pool.idle, best);
    return best;
}

static void set_busy(struct aw_jit_process *process)
{
    process->next = pool.busy;
    pool.busy = process;
}

static enum aw_status start(struct aw_jit_process **ret_process, char **ret_why)
{
    char path[4096];
    enum aw_status status = aw_jit_find_compiler(path, sizeof path, ret_why);
    if (status == AW_OK)
        status = aw_jit_process_start(path, ret_process, ret_why);
    if (status == AW_OK)
        aw_say(COMPILER_STARTED, (long)(*ret_process)->pid);
    return status;
}

enum aw_status aw_jit_pool_take(struct aw_hash128 module, struct aw_jit_process **ret_process, char **ret_why)
{
    struct aw_jit_process *process;
    unsigned most = aw_jit_pool_most();
    pthread_mutex_lock(&pool.lock);
    while (!(process = take_idle(module)) && pool.n >= most)
        pthread_cond_wait(&pool.given, &pool.lock);
    if (process) {
        set_busy(process);
        pthread_mutex_unlock(&pool.lock);
        *ret_process = process;
        return AW_OK;
    }
    pool.n++;
    pthread_mutex_unlock(&pool.lock);

    enum aw_status status = start(&process, ret_why);
    pthread_mutex_lock(&pool.lock);
    if (status == AW_OK)
        set_busy(process);
    else
        pool.n--;
    pthread_cond_signal(&pool.given);
    pthread_mutex_unlock(&pool.lock);
    if (status == AW_OK)
        *ret_process = process;
    return status;
}

void aw_jit_pool_give(struct aw_jit_process *process, bool sound)
{
    pthread_mutex_lock(&pool.lock);
    unlink_from(&pool.busy, process);
    process->keep = false;
    if (sound) {
        process->next = pool.idle;
        pool.idle = process;
    } else {
        pool.n--;
        aw_jit_process_stop(process);
    }
    pthread_cond_signal(&pool.given);
    pthread_mutex_unlock(&pool.lock);
}

/* The lock is held.  Leaves the file to a process that has nothing to do, or lives on anyway; that one stays. */
static void leave(int left)
{
    for (struct aw_jit_process **link = &pool.idle, *p; (p = *link); link = &p->next)
        if (aw_jit_process_usable(p) && aw_jit_process_leave(p, left)) {
            *link = p->next;
            pool.n--;
            aw_jit_process_abandon(p);
            return;
        }
    for (struct aw_jit_process *p = pool.busy; p; p = p->next)
        if (p->keep && aw_jit_process_leave(p, left))
            return;
}

void aw_jit_pool_shutdown(int left)
{
    pthread_mutex_lock(&pool.lock);
    if (left >= 0)
        leave(left);
    while (pool.idle) {
        struct aw_jit_process *next = pool.idle->next;
        aw_jit_process_stop(pool.idle);
        pool.idle = next;
        pool.n--;
    }
    for (struct aw_jit_process *p = pool.busy; p; p = p->next)
        if (!p->keep)
            aw_jit_process_kill(p); /* whoever waits for it sees it die, and gives it back */
    pthread_mutex_unlock(&pool.lock);
}
