/* Jobs as work of streams: see queue.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/activity.h"
#include "base/clock.h"
#include "common/lib.h"
#include "common/stage.h"

CUresult aw_lib_queue_init(struct aw_lib_queue *queue)
{
    char name[64] = "";
    CUdevice device;
    CUresult result = cuInit(0);
    if (result == CUDA_SUCCESS)
        result = cuCtxGetCurrent(&queue->ctx);
    if (result == CUDA_SUCCESS && !queue->ctx) {
        result = cuDevicePrimaryCtxRetain(&queue->ctx, 0);
        if (result == CUDA_SUCCESS)
            result = cuCtxSetCurrent(queue->ctx);
    }
    if (result == CUDA_SUCCESS)
        result = cuCtxGetDevice(&device);
    if (result == CUDA_SUCCESS)
        result = cuDeviceGetName(name, sizeof name, device);
    /* Its name is the one thing about a device that tells the host device from a card that shares the host's memory. */
    queue->place = !strncmp(name, "anywarp host device", 19) ? AW_LIB_HOST : AW_LIB_CARD;
    return result;
}

CUresult aw_lib_queue_enter(const struct aw_lib_queue *queue)
{
    CUcontext ctx;
    CUresult result = cuCtxGetCurrent(&ctx);
    return result != CUDA_SUCCESS || ctx ? result : cuCtxSetCurrent(queue->ctx);
}

void aw_lib_queue_settle(const struct aw_lib_queue *queue)
{
    CUcontext popped;
    if (cuCtxPushCurrent_v2(queue->ctx) != CUDA_SUCCESS)
        return;
    (void)cuCtxSynchronize(); /* what work that has failed says is for the program's own calls to tell */
    (void)cuCtxPopCurrent_v2(&popped);
}

/* ---- Records: a job is a kernel to who watches, with the name of the library's function. */

/* Of one job, until both its call and its run are known. */
struct seen {
    int refs;
    char name[64];
    struct aw_activity_record record;
};

static struct seen *seen_create(CUstream stream, bool watched)
{
    struct seen *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->refs = 1;
    s->record = (struct aw_activity_record){ .kind = AW_ACTIVITY_KERNEL, .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } };
    aw_lib_call_name(s->name, sizeof s->name);
    if (!s->name[0])
        strcpy(s->name, watched ? "library job" : "captured library job");
    if (aw_abi_activity_job(stream, &s->record))
        return s;
    free(s);
    return NULL;
}

/* The last one to go writes the record, but of a job that never ran. */
static void seen_unref(struct seen *s)
{
    if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL))
        return;
    s->record.name = s->name;
    if (s->record.end_ns)
        aw_abi_activity_add(&s->record);
    free(s);
}

/* ---- Jobs that outlive the call. */

struct kept {
    struct seen *seen; /* NULL: nobody watches */
    bool repeats; /* part of a graph, which owns it */
    void *buffer; /* staging, or NULL */
    size_t buffer_size;
    bool pooled;
    int *told;    /* who waits wants the status, or NULL */
    struct aw_lib_job job; /* and what follows in the library's own */
};

static void kept_free(void *arg)
{
    struct kept *k = arg;
    if (k->repeats && k->seen)
        k->seen->record.end_ns = 0; /* each run has had its record */
    seen_unref(k->seen);
    if (k->job.forget)
        k->job.forget(&k->job);
    if (k->pooled)
        aw_lib_stage_give(k->buffer, k->buffer_size);
    else
        free(k->buffer);
    free(k);
}

static struct kept *kept_create(struct aw_lib_job *job)
{
    struct kept *k = malloc(offsetof(struct kept, job) + job->size);
    if (!k) {
        if (job->forget)
            job->forget(job);
        return NULL;
    }
    *k = (struct kept){ 0 };
    memcpy(&k->job, job, job->size);
    return k;
}

/* A graph's runs are of no call that is known here. */
static void run_seen(struct kept *k)
{
    struct aw_activity_record *r = &k->seen->record;
    r->begin_ns = aw_clock_wall_ns();
    k->job.run(&k->job);
    r->end_ns = aw_clock_wall_ns();
    if (k->repeats && aw_abi_activity_on()) {
        struct aw_activity_record of_graph = *r;
        of_graph.name = k->seen->name;
        of_graph.call = 0;
        aw_abi_activity_add(&of_graph);
    }
}

static void kept_run(void *arg)
{
    struct kept *k = arg;
    if (k->seen)
        run_seen(k);
    else
        k->job.run(&k->job);
    if (k->told)
        *k->told = k->job.status;
    if (!k->repeats && !k->buffer)
        kept_free(k);
}

/* The stream is through with the staging buffer. */
static void kept_end(void *arg)
{
    kept_free(arg);
}

/* Is the stream capturing?  Then the graph takes the job over. */
static CUresult kept_capture(struct kept *k, CUstream stream)
{
    int status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUgraph graph = NULL;
    CUuserObject object;
    CUresult result = cuStreamGetCaptureInfo_v2(stream, &status, NULL, &graph, NULL, NULL);
    if (result != CUDA_SUCCESS || status == CU_STREAM_CAPTURE_STATUS_NONE)
        return result;
    if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    result = cuUserObjectCreate(&object, k, kept_free, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    if (result != CUDA_SUCCESS)
        return result;
    k->repeats = true;
    result = cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
    if (result != CUDA_SUCCESS)
        k->repeats = false;
    return result;
}

/* Gives the job to the stream, and its record the number of the call that did so. */
static CUresult kept_launch(struct kept *k, CUstream stream)
{
    bool watched = aw_abi_activity_on();
    struct seen *s = k->seen = watched || k->repeats ? seen_create(stream, watched) : NULL;
    if (s)
        s->refs++; /* the job may run, and go, before the call returns */
    CUresult result = cuLaunchHostFunc(stream, kept_run, k);
    if (s)
        s->record.call = aw_abi_activity_last();
    seen_unref(s);
    return result;
}

/* ---- On the host device. */

static void job_run(void *arg)
{
    struct aw_lib_job *job = arg;
    job->run(job);
}

static CUresult host_queue(const struct aw_lib_queue *queue, struct aw_lib_job *job, int *told)
{
    struct kept *k = kept_create(job);
    if (!k)
        return AW_LIB_NO_MEMORY;
    k->told = told;
    CUresult result = aw_lib_queue_enter(queue);
    if (result == CUDA_SUCCESS)
        result = kept_capture(k, queue->stream);
    bool repeats = k->repeats;
    if (result == CUDA_SUCCESS)
        result = kept_launch(k, queue->stream);
    if (result != CUDA_SUCCESS && !repeats)
        kept_free(k);
    return result == CUDA_SUCCESS && told ? cuStreamSynchronize(queue->stream) : result;
}

static CUresult host_submit(const struct aw_lib_queue *queue, struct aw_lib_job *job, enum aw_lib_when when, int *ret_status)
{
    /* Who watches wants to see the call that gives the work. */
    bool queued = when == AW_LIB_QUEUED || aw_abi_activity_on();
    CUresult result = queued ? CUDA_ERROR_NOT_READY : aw_abi_stream_inline(queue->stream, job_run, job);
    if (result == CUDA_ERROR_INVALID_CONTEXT && aw_lib_queue_enter(queue) == CUDA_SUCCESS)
        result = aw_abi_stream_inline(queue->stream, job_run, job);
    if (result == CUDA_ERROR_NOT_READY)
        return host_queue(queue, job, when == AW_LIB_DONE ? ret_status : NULL);
    *ret_status = job->status;
    if (job->forget)
        job->forget(job);
    return result;
}

/* ---- On a card. */

static CUresult copy_rows(void *dst, const void *src, const struct aw_lib_span *s, CUstream stream)
{
    /* HSA's copies of rectangles want words, and say so on standard error where HIP asks for others. */
    if (((uintptr_t)src | (uintptr_t)dst | s->pitch | s->width) % 4) {
        CUresult result = CUDA_SUCCESS;
        for (size_t r = 0; r < s->rows && result == CUDA_SUCCESS; r++)
            result = cuMemcpyAsync((CUdeviceptr)(uintptr_t)dst + r * s->pitch, (CUdeviceptr)(uintptr_t)src + r * s->pitch,
                                   s->width, stream);
        return result;
    }
    CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_UNIFIED, .srcDevice = (CUdeviceptr)(uintptr_t)src, .srcPitch = s->pitch,
                           .dstMemoryType = CU_MEMORYTYPE_UNIFIED, .dstDevice = (CUdeviceptr)(uintptr_t)dst, .dstPitch = s->pitch,
                           .WidthInBytes = s->width, .Height = s->rows };
    return cuMemcpy2DAsync_v2(&copy, stream);
}

static size_t item_size(const struct aw_lib_span *s)
{
    return s->width && s->rows ? (s->rows - 1) * s->pitch + s->width : 0;
}

static size_t span_size(const struct aw_lib_span *s)
{
    return item_size(s) && s->count ? (s->count - 1) * s->stride + item_size(s) : 0;
}

/* Whole items in, gaps between the rows included; rows alone out, as what lies between them may be somebody else's. */
static CUresult copy_span(char *host, char *device, const struct aw_lib_span *s, bool out, CUstream stream)
{
    bool dense = s->rows <= 1 || s->pitch == s->width;
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < s->count && result == CUDA_SUCCESS; i++) {
        char *h = host + i * s->stride, *d = device + i * s->stride;
        if (!out)
            result = cuMemcpyAsync((CUdeviceptr)(uintptr_t)h, (CUdeviceptr)(uintptr_t)d, item_size(s), stream);
        else if (dense)
            result = cuMemcpyAsync((CUdeviceptr)(uintptr_t)d, (CUdeviceptr)(uintptr_t)h, item_size(s), stream);
        else
            result = copy_rows(d, h, s, stream);
        if (s->stride == 0)
            break; /* one item for all */
    }
    return result;
}

enum { STAGE_ALIGN = 256 };

static CUresult stage_buffer(struct kept *k)
{
    size_t size = STAGE_ALIGN;
    for (unsigned i = 0; i < k->job.n_spans; i++)
        size += (span_size(&k->job.spans[i]) + STAGE_ALIGN - 1) & ~(size_t)(STAGE_ALIGN - 1);
    k->pooled = !k->repeats;
    k->buffer = k->pooled ? aw_lib_stage_take(size, &k->buffer_size) : aligned_alloc(STAGE_ALIGN, size);
    return k->buffer ? CUDA_SUCCESS : AW_LIB_NO_MEMORY;
}

/* The copies in, the call and the copies out: nothing of another thread's call may come between, as its result would be lost. */
static pthread_mutex_t stage_lock = PTHREAD_MUTEX_INITIALIZER;

static CUresult stage_locked(struct kept *k, CUstream stream, bool *ret_begun)
{
    CUresult result = CUDA_SUCCESS;
    char *device[AW_LIB_SPANS], *at = k->buffer;
    for (unsigned i = 0; i < k->job.n_spans && result == CUDA_SUCCESS; i++) {
        struct aw_lib_span *s = &k->job.spans[i];
        device[i] = s->at;
        if (!span_size(s))
            continue;
        s->at = at;
        at += (span_size(s) + STAGE_ALIGN - 1) & ~(size_t)(STAGE_ALIGN - 1);
        /* What lies between written rows is never copied back, so it need not be read. */
        if (s->dir & AW_LIB_IN)
            result = copy_span(s->at, device[i], s, false, stream);
        *ret_begun = true;
    }
    if (result == CUDA_SUCCESS)
        result = kept_launch(k, stream);
    for (unsigned i = 0; i < k->job.n_spans && result == CUDA_SUCCESS; i++)
        if (k->job.spans[i].dir & AW_LIB_OUT && span_size(&k->job.spans[i]))
            result = copy_span(k->job.spans[i].at, device[i], &k->job.spans[i], true, stream);
    return result;
}

static CUresult stage(struct kept *k, CUstream stream, bool *ret_begun)
{
    pthread_mutex_lock(&stage_lock);
    CUresult result = stage_locked(k, stream, ret_begun);
    pthread_mutex_unlock(&stage_lock);
    return result;
}

static CUresult card_submit(const struct aw_lib_queue *queue, struct aw_lib_job *job, enum aw_lib_when when, int *ret_status)
{
    struct kept *k = kept_create(job);
    bool begun = false;
    if (!k)
        return AW_LIB_NO_MEMORY;
    CUresult result = aw_lib_queue_enter(queue);
    if (result == CUDA_SUCCESS)
        result = kept_capture(k, queue->stream);
    if (result == CUDA_SUCCESS)
        result = stage_buffer(k);
    if (result == CUDA_SUCCESS)
        result = stage(k, queue->stream, &begun);
    if (k->repeats)
        return result; /* the graph's */
    if (result == CUDA_SUCCESS && when != AW_LIB_DONE)
        return cuLaunchHostFunc(queue->stream, kept_end, k);
    if (begun || result == CUDA_SUCCESS) {
        CUresult end = cuStreamSynchronize(queue->stream);
        result = result == CUDA_SUCCESS ? end : result;
    }
    *ret_status = k->job.status;
    kept_free(k);
    return result;
}

CUresult aw_lib_submit(const struct aw_lib_queue *queue, struct aw_lib_job *job, enum aw_lib_when when, int *ret_status)
{
    *ret_status = job->status = 0;
    return queue->place == AW_LIB_HOST ? host_submit(queue, job, when, ret_status) : card_submit(queue, job, when, ret_status);
}

CUresult aw_lib_read(const struct aw_lib_queue *queue, void *ret_to, const void *from, size_t size)
{
    CUresult result = aw_lib_queue_enter(queue);
    if (result == CUDA_SUCCESS)
        result = cuMemcpyAsync((CUdeviceptr)(uintptr_t)ret_to, (CUdeviceptr)(uintptr_t)from, size, queue->stream);
    return result == CUDA_SUCCESS ? cuStreamSynchronize(queue->stream) : result;
}
