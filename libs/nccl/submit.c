/* Operations on their way to streams: staging, order, capture. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "batch.h"
#include "common/stage.h"
#include "status.h"

#define AW_ROOM "nccl"

/* What belongs to one call on its way: the operations with staging in place of the program's memory, and what is left to do when
 * the last of their streams is through. */
struct trip {
    ncclComm_t comm;
    unsigned streams; /* that still have to come by; atomic */
    size_t n, n_stages;
    cudaStream_t *stream; /* each once */
    struct {
        void *buffer;
        size_t size;
    } *stages;
    struct aw_nccl_op *ops;
};

static void trip_free(void *arg)
{
    struct trip *t = arg;
    for (size_t i = 0; i < t->n_stages; i++)
        aw_lib_stage_give(t->stages[i].buffer, t->stages[i].size);
    aw_nccl_comm_unref(t->comm);
    free(t->stream);
    free(t->stages);
    free(t->ops);
    free(t);
}

static struct trip *trip_create(ncclComm_t comm, const struct aw_nccl_op *ops, size_t n)
{
    struct trip *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    pthread_mutex_lock(&comm->lock);
    comm->refs++;
    pthread_mutex_unlock(&comm->lock);
    t->comm = comm;
    t->n = n;
    t->stream = calloc(n, sizeof *t->stream);
    t->stages = calloc(n, sizeof *t->stages);
    t->ops = calloc(n, sizeof *t->ops);
    if (!t->stream || !t->stages || !t->ops) {
        trip_free(t);
        return NULL;
    }
    memcpy(t->ops, ops, n * sizeof *ops);
    for (size_t i = 0; i < n; i++) {
        unsigned k = 0;
        while (k < t->streams && t->stream[k] != ops[i].stream)
            k++;
        if (k == t->streams)
            t->stream[t->streams++] = ops[i].stream;
    }
    return t;
}

static void trip_end(void *arg)
{
    struct trip *t = arg;
    if (!__atomic_sub_fetch(&t->streams, 1, __ATOMIC_ACQ_REL))
        trip_free(t);
}

/* ---- On a card: copies to the host and back. */

static CUresult copy(void *to, const void *from, size_t size, CUstream stream)
{
    return size ? cuMemcpyAsync((CUdeviceptr)(uintptr_t)to, (CUdeviceptr)(uintptr_t)from, size, stream) : CUDA_SUCCESS;
}

/* A buffer for each operation: its input, its output, its scalar. */
static CUresult stage_in(struct trip *t)
{
    enum { ALIGN = 256 };
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < t->n && result == CUDA_SUCCESS; i++) {
        struct aw_nccl_op *op = &t->ops[i];
        size_t in = (op->in_size + ALIGN - 1) & ~(size_t)(ALIGN - 1), out = (op->out_size + ALIGN - 1) & ~(size_t)(ALIGN - 1),
               size;
        char *buffer = aw_lib_stage_take(in + out + ALIGN, &size);
        if (!buffer)
            return AW_LIB_NO_MEMORY;
        t->stages[t->n_stages].buffer = buffer;
        t->stages[t->n_stages++].size = size;
        result = copy(buffer, op->in, op->in_size, op->stream);
        if (result == CUDA_SUCCESS && op->scalar_on_device) {
            result = copy(buffer + in + out, (const void *)(uintptr_t)op->scalar, aw_nccl_element(op->type), op->stream);
            op->scalar = (uintptr_t)(buffer + in + out);
        }
        op->in = buffer;
        op->out = buffer + in;
    }
    return result;
}

static CUresult stage_out(const struct trip *t, const struct aw_nccl_op *user)
{
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < t->n && result == CUDA_SUCCESS; i++)
        result = copy(user[i].out, t->ops[i].out, user[i].out_size, user[i].stream);
    return result;
}

/* ---- To streams. */

static void batch_reached(void *arg)
{
    struct aw_nccl_batch *batch = arg;
    ncclComm_t comm = batch->comm;
    pthread_mutex_lock(&comm->lock);
    batch->pending--;
    pthread_cond_broadcast(&comm->changed);
    aw_nccl_batch_unref(batch);
    pthread_mutex_unlock(&comm->lock);
}

/* Locked by comm->order. */
static CUresult give(struct trip *t)
{
    ncclComm_t comm = t->comm;
    struct aw_nccl_batch *batch = aw_nccl_batch_create(comm, t->ops, t->n);
    CUresult result = batch ? CUDA_SUCCESS : AW_LIB_NO_MEMORY;
    if (!batch)
        return result;
    pthread_mutex_lock(&comm->lock);
    batch->pending = t->streams;
    batch->refs += t->streams;
    batch->counts = true;
    uint32_t number = ++comm->given;
    aw_nccl_batch_queue(batch);
    pthread_mutex_unlock(&comm->lock);
    for (unsigned k = 0; k < t->streams && result == CUDA_SUCCESS; k++) {
        result = cuLaunchHostFunc(t->stream[k], batch_reached, batch);
        if (result == CUDA_SUCCESS)
            result = cuStreamWaitValue32_v2(t->stream[k], (CUdeviceptr)(uintptr_t)comm->done, number, 0);
    }
    return result;
}

static CUresult travel(struct trip *t, const struct aw_nccl_op *user)
{
    bool staged = t->comm->queue.place == AW_LIB_CARD;
    CUresult result = staged ? stage_in(t) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS) {
        pthread_mutex_lock(&t->comm->order);
        result = give(t);
        pthread_mutex_unlock(&t->comm->order);
    }
    if (result == CUDA_SUCCESS && staged)
        result = stage_out(t, user);
    /* What was given to streams cannot be taken back: after an error what they use is left to them. */
    for (unsigned k = 0, n = t->streams; k < n && result == CUDA_SUCCESS; k++)
        result = cuLaunchHostFunc(t->stream[k], trip_end, t);
    return result;
}

/* ---- In a graph: one host node, which waits for the communicator's thread. */

static void captured_run(void *arg)
{
    struct trip *t = arg;
    ncclComm_t comm = t->comm;
    struct aw_nccl_batch *batch = aw_nccl_batch_create(comm, t->ops, t->n);
    if (!batch) {
        aw_nccl_error("out of memory: a graph's collective was not done");
        return;
    }
    pthread_mutex_lock(&comm->lock);
    batch->refs++;
    if (!comm->ended)
        aw_nccl_batch_queue(batch);
    while (!batch->done && !comm->ended && !comm->cancel)
        pthread_cond_wait(&comm->changed, &comm->lock);
    bool done = batch->done;
    aw_nccl_batch_unref(batch);
    pthread_mutex_unlock(&comm->lock);
    if (!done)
        aw_nccl_error("a graph's collective was not done: its communicator has ended");
}

static CUresult capture(struct trip *t, const struct aw_nccl_op *user, CUgraph graph)
{
    CUuserObject object;
    if (t->streams > 1) {
        aw_nccl_error("operations of one group on several streams are not captured into graphs");
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    CUresult result = cuUserObjectCreate(&object, t, trip_free, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    if (result != CUDA_SUCCESS) {
        trip_free(t);
        return result;
    }
    result = cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
    if (result != CUDA_SUCCESS) {
        cuUserObjectRelease(object, 1);
        return result;
    }
    bool staged = t->comm->queue.place == AW_LIB_CARD;
    if (staged)
        result = stage_in(t);
    if (result == CUDA_SUCCESS)
        result = cuLaunchHostFunc(t->stream[0], captured_run, t);
    return result == CUDA_SUCCESS && staged ? stage_out(t, user) : result;
}

static CUresult submit(ncclComm_t comm, const struct aw_nccl_op *ops, size_t n)
{
    int status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUgraph graph = NULL;
    CUresult result = cuStreamGetCaptureInfo_v2(ops[0].stream, &status, NULL, &graph, NULL, NULL);
    if (result != CUDA_SUCCESS)
        return result;
    struct trip *t = trip_create(comm, ops, n);
    if (!t)
        return AW_LIB_NO_MEMORY;
    if (status == CU_STREAM_CAPTURE_STATUS_NONE)
        return travel(t, ops);
    return capture(t, ops, graph);
}

ncclResult_t aw_nccl_submit(ncclComm_t comm, const struct aw_nccl_op *ops, size_t n)
{
    CUcontext before;
    pthread_mutex_lock(&comm->lock);
    ncclResult_t error = comm->error;
    if (error == ncclSuccess && (comm->ended || comm->finalized || comm->suspended || comm->cancel))
        error = ncclInvalidUsage;
    pthread_mutex_unlock(&comm->lock);
    if (error != ncclSuccess)
        return error;
    if (cuCtxPushCurrent_v2(comm->queue.ctx) != CUDA_SUCCESS)
        return ncclUnhandledCudaError;
    CUresult result = submit(comm, ops, n);
    cuCtxPopCurrent_v2(&before);
    if (result == CUDA_SUCCESS)
        return ncclSuccess;
    aw_nccl_error("an operation is not given to its stream: CUDA's error %d", result);
    return ncclUnhandledCudaError;
}
