/* Two forms of code.  A few threads make good forms, each by a compiler process of its own, so that one process is left for who
 * waits: what takes long does not keep a launch from its quick form.
 *
 * A job holds the image that its kernel is in, and of the function only what it is told: modules may go before it is done. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/tiers.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/progress.h"
#include "base/thread.h"
#include "core/jit.h"
#include "core/jit_pool.h"

#define AW_ROOM "core"

/* How long a launch waits for the good form: nearly all kernels' takes less, and the quick one's some 0.1 s of its own. */
enum { PATIENCE_MS = 150 };

struct aw_job {
    struct aw_job *next;          /* in the queue */
    struct aw_job *other;         /* of the function */
    unsigned refs;
    struct aw_image *image;       /* held */
    uint32_t index, block[3];
    struct aw_compile_options options;
    char target[256];
    struct aw_func *func;         /* NULL: forgotten */
    aw_job_arrived *arrived;      /* NULL: nobody is to be told */
    bool done, telling;
    enum aw_status status;
    char *bytes, *diags;
    size_t size;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct aw_job *first, **end;
    unsigned runners, busy;
} jobs = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

/* ---- One job */

static void job_unref(struct aw_job *job)
{
    pthread_mutex_lock(&jobs.lock);
    bool last = --job->refs == 0;
    pthread_mutex_unlock(&jobs.lock);
    if (!last)
        return;
    aw_image_unref(job->image);
    free(job->bytes);
    free(job->diags);
    free(job);
}

static struct aw_job *job_new(struct aw_func *func, const uint32_t block[3])
{
    struct aw_job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    aw_image_ref(func->module->image);
    job->image = func->module->image;
    job->refs = 1;
    job->index = func->index;
    job->func = func;
    memcpy(job->block, block, sizeof job->block);
    job->options = aw_module_options(func->module, block, AW_LINES_LOC);
    snprintf(job->target, sizeof job->target, "%s", job->options.target);
    job->options.target = job->target;
    return job;
}

static void job_run(struct aw_job *job)
{
    char *bytes = NULL, *diags = NULL;
    size_t size = 0;
    enum aw_status status = aw_jit_compile(aw_image_jit(job->image), job->index, &job->options, &bytes, &size, &diags);
    pthread_mutex_lock(&jobs.lock);
    job->status = status;
    job->bytes = bytes;
    job->size = size;
    job->diags = diags;
    job->done = true;
    pthread_cond_broadcast(&jobs.changed);
    pthread_mutex_unlock(&jobs.lock);
}

/* Locked, and left so.  It is done. */
static void job_tell(struct aw_job *job)
{
    struct aw_func *func = job->func;
    if (!func || !job->arrived || aw_core_exiting())
        return;
    job->telling = true;
    pthread_mutex_unlock(&jobs.lock);
    job->arrived(func, job->block, job->status, job->bytes, job->size, job->diags);
    pthread_mutex_lock(&jobs.lock);
    job->telling = false;
    pthread_cond_broadcast(&jobs.changed);
}

static struct aw_job *queue_take(void)
{
    struct aw_job *job = jobs.first;
    if (job && !(jobs.first = job->next))
        jobs.end = NULL;
    return job;
}

static void *runner_main(void *user)
{
    (void)user;
    aw_jit_in_background();
    pthread_mutex_lock(&jobs.lock);
    for (struct aw_job *job; (job = queue_take());) {
        jobs.busy++;
        pthread_mutex_unlock(&jobs.lock);
        job_run(job);
        pthread_mutex_lock(&jobs.lock);
        jobs.busy--;
        job_tell(job);
        pthread_mutex_unlock(&jobs.lock);
        job_unref(job);
        pthread_mutex_lock(&jobs.lock);
    }
    jobs.runners--;
    pthread_mutex_unlock(&jobs.lock);
    return NULL;
}

/* ---- Asking */

static bool runner_start(void)
{
    return aw_thread_detached(NULL, runner_main, NULL) == 0;
}

/* Locked.  Puts the job into the queue; false when there is nobody to do it.  *ret_at_once: it need not wait for others. */
static bool queue_put(struct aw_job *job, bool *ret_at_once)
{
    unsigned most = aw_jit_pool_most() - 1;
    unsigned waiting = 0;
    for (const struct aw_job *j = jobs.first; j; j = j->next)
        waiting++;
    if (jobs.runners < (most ? most : 1) && jobs.busy + waiting >= jobs.runners && runner_start())
        jobs.runners++;
    *ret_at_once = jobs.busy + waiting < jobs.runners;
    if (!jobs.runners)
        return false;
    *(jobs.end ? jobs.end : &jobs.first) = job;
    jobs.end = &job->next;
    job->refs++;
    return true;
}

/* Locked.  Waits so many milliseconds at most. */
static void wait_for(struct aw_job *job, unsigned ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    until.tv_sec += (time_t)(ms / 1000) + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (!job->done && pthread_cond_timedwait(&jobs.changed, &jobs.lock, &until) == 0)
        ;
}

/* Locked.  Waits until it is done, with a line at the terminal. */
static void wait_until_done(struct aw_job *job, const char *kernel)
{
    char what[300];
    snprintf(what, sizeof what, "compiling kernel %s", kernel);
    aw_progress_begin(what);
    while (!job->done) {
        int tick = aw_progress_tick();
        wait_for(job, tick < 0 || tick > 1000 ? 1000 : (unsigned)tick);
    }
    aw_progress_end();
}

/* Locked, the job done: takes what came of it. */
static enum aw_status job_take(struct aw_job *job, char **ret_bytes, size_t *ret_size, char **ret_diags)
{
    enum aw_status status = job->status;
    *ret_bytes = job->bytes;
    *ret_size = job->size;
    *ret_diags = job->diags;
    job->bytes = job->diags = NULL;
    return status;
}

/* The quick form, where a process is left for it; else why there is none. */
static enum aw_status quick_make(struct aw_func *func, const struct aw_job *job, bool alone, char **ret_bytes, size_t *ret_size)
{
    char *diags = NULL;
    enum aw_status status = AW_ERR_NOT_SUPPORTED;
    if (alone || aw_jit_pool_most() > 1) {
        status = aw_module_compile(func->module, func->index, job->block, AW_LINES_LOC, AW_TIER_QUICK, ret_bytes, ret_size,
                                   &diags);
        if (status)
            aw_trace("%s: %s", func->name, diags ? diags : "no quick form");
    }
    free(diags);
    return status;
}

/* Makes the quick form while the other is made, or where that has failed.  *ret_quick: it is the one. */
static enum aw_status quick_or_good(struct aw_func *func, struct aw_job *job, aw_job_arrived *arrived, bool failed,
                                    bool *ret_quick, char **ret_bytes, size_t *ret_size, char **ret_diags)
{
    char *bytes = NULL;
    size_t size = 0;
    bool quick = quick_make(func, job, failed, &bytes, &size) == AW_OK;
    pthread_mutex_lock(&jobs.lock);
    if (!quick)
        wait_until_done(job, func->name);
    bool coming = !job->done;
    if (coming) {
        job->arrived = arrived;
        job->other = func->jobs;
        func->jobs = job;
        job->refs++;
    }
    *ret_diags = NULL;
    enum aw_status status = coming ? AW_OK : job_take(job, ret_bytes, ret_size, ret_diags);
    pthread_mutex_unlock(&jobs.lock);
    *ret_quick = coming || (quick && status);
    if (!*ret_quick) {
        free(bytes);
        return status;
    }
    if (status)
        arrived(func, job->block, status, NULL, 0, *ret_diags);
    free(*ret_diags);
    *ret_bytes = bytes;
    *ret_size = size;
    *ret_diags = NULL;
    return AW_OK;
}

/* A good form that has failed is no answer yet: the quick one may do without what ended it. */
static enum aw_status job_wait(struct aw_func *func, struct aw_job *job, aw_job_arrived *arrived, bool at_once, bool *ret_quick,
                               char **ret_bytes, size_t *ret_size, char **ret_diags)
{
    pthread_mutex_lock(&jobs.lock);
    if (at_once)
        wait_for(job, PATIENCE_MS);
    bool failed = job->done && job->status, good = job->done && !failed;
    if (good)
        (void)job_take(job, ret_bytes, ret_size, ret_diags);
    pthread_mutex_unlock(&jobs.lock);
    return good ? AW_OK : quick_or_good(func, job, arrived, failed, ret_quick, ret_bytes, ret_size, ret_diags);
}

enum aw_status aw_tiers_compile(struct aw_func *func, const uint32_t block[3], aw_job_arrived *arrived, enum aw_tier *ret_tier,
                                char **ret_bytes, size_t *ret_size, char **ret_diags)
{
    struct aw_job *job = job_new(func, block);
    bool at_once = false, quick = false, queued = false;
    enum aw_status status = AW_OK;
    *ret_diags = NULL;
    bool found = job && aw_jit_find(aw_image_jit(job->image), job->index, &job->options, ret_bytes, ret_size);
    if (job && !found) {
        pthread_mutex_lock(&jobs.lock);
        queued = queue_put(job, &at_once);
        pthread_mutex_unlock(&jobs.lock);
    }
    if (queued)
        status = job_wait(func, job, arrived, at_once, &quick, ret_bytes, ret_size, ret_diags);
    else if (!found)
        status = aw_module_compile(func->module, func->index, block, AW_LINES_LOC, AW_TIER_GOOD, ret_bytes, ret_size, ret_diags);
    if (job)
        job_unref(job);
    *ret_tier = quick ? AW_TIER_QUICK : AW_TIER_GOOD;
    return status;
}

void aw_tiers_leave(void)
{
    pthread_mutex_lock(&jobs.lock);
    for (struct aw_job *job; (job = queue_take());) /* which nobody frees: the program ends */
        aw_jit_leave(aw_image_jit(job->image), job->index, &job->options);
    pthread_mutex_unlock(&jobs.lock);
}

void aw_tiers_forget(struct aw_func *func)
{
    pthread_mutex_lock(&jobs.lock);
    struct aw_job *job = func->jobs, *other;
    func->jobs = NULL;
    for (struct aw_job *j = job; j; j = j->other)
        j->func = NULL;
    for (struct aw_job *j = job; j; j = j->other)
        while (j->telling)
            pthread_cond_wait(&jobs.changed, &jobs.lock);
    pthread_mutex_unlock(&jobs.lock);
    for (; job; job = other) {
        other = job->other;
        job_unref(job);
    }
}
