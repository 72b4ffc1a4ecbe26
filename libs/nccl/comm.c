/* Communicators and their threads: see comm.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "comm.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "batch.h"
#include "derive.h"
#include "status.h"

#define AW_ROOM "nccl"

/* ---- Words that streams wait for: pinned memory, as streams wait in no other, and never freed, as one may still look at it. */

enum { WORDS = 1024 };
static struct {
    pthread_mutex_t lock;
    uint32_t *words;
    bool used[WORDS];
} pinned = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint32_t *word_take(void)
{
    enum { PORTABLE = 1, MAPPED = 2 };
    uint32_t *word = NULL;
    pthread_mutex_lock(&pinned.lock);
    void *memory = pinned.words;
    if (!memory && cuMemHostAlloc(&memory, WORDS * sizeof(uint32_t), PORTABLE | MAPPED) == CUDA_SUCCESS)
        pinned.words = memory;
    for (int i = 0; pinned.words && i < WORDS && !word; i++)
        if (!pinned.used[i]) {
            pinned.used[i] = true;
            word = &pinned.words[i];
            *word = 0;
        }
    pthread_mutex_unlock(&pinned.lock);
    return word;
}

static void word_give(uint32_t *word)
{
    pthread_mutex_lock(&pinned.lock);
    if (word)
        pinned.used[word - pinned.words] = false;
    pthread_mutex_unlock(&pinned.lock);
}

/* ---- Batches. */

struct aw_nccl_batch *aw_nccl_batch_create(ncclComm_t comm, const struct aw_nccl_op *ops, size_t n)
{
    struct aw_nccl_batch *batch = calloc(1, sizeof *batch + n * sizeof *ops);
    if (!batch)
        return NULL;
    batch->comm = comm;
    batch->n = n;
    batch->refs = 1;
    memcpy(batch->ops, ops, n * sizeof *ops);
    return batch;
}

void aw_nccl_batch_queue(struct aw_nccl_batch *batch)
{
    ncclComm_t comm = batch->comm;
    batch->next = NULL;
    *comm->tail = batch;
    comm->tail = &batch->next;
    pthread_cond_broadcast(&comm->changed);
}

void aw_nccl_batch_unref(struct aw_nccl_batch *batch)
{
    if (!--batch->refs)
        free(batch);
}

/* ---- The thread. */

static void error_set(ncclComm_t comm, ncclResult_t error)
{
    pthread_mutex_lock(&comm->lock);
    if (comm->error == ncclSuccess)
        comm->error = error;
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->lock);
}

/* Tells everybody where this rank serves. */
static bool peers_learn(ncclComm_t comm, struct aw_nccl_mesh *mesh)
{
    ncclUniqueId own;
    ncclUniqueId *peers = calloc((size_t)comm->n, sizeof *peers);
    if (!aw_nccl_id_create(&own)) /* no id: what would meet here is refused */
        memset(&own, 0, sizeof own);
    if (peers && comm->engine->allgather(mesh, &own, peers, sizeof own)) {
        comm->peers = peers;
        return true;
    }
    free(peers);
    return false;
}

static bool connect_ranks(ncclComm_t comm)
{
    char why[256] = "out of memory";
    struct aw_nccl_visit *visit = aw_nccl_visit_begin(&comm->id, &comm->cancel);
    if (visit) {
        struct aw_nccl_meeting meeting = aw_nccl_visit_meeting(visit);
        struct aw_nccl_mesh *mesh = comm->engine->create(comm->rank, comm->n, aw_nccl_address(), &meeting, why, sizeof why);
        if (mesh && comm->rank == 0)
            aw_nccl_visit_forget(visit);
        aw_nccl_visit_end(visit);
        pthread_mutex_lock(&comm->lock);
        comm->mesh = mesh;
        pthread_mutex_unlock(&comm->lock);
        if (mesh && !peers_learn(comm, mesh)) {
            if (!comm->cancel)
                aw_nccl_error("rank %d of %d does not connect: %s", comm->rank, comm->n, comm->engine->error(mesh));
            return false;
        }
    }
    if (!comm->mesh && !comm->cancel)
        aw_nccl_error("rank %d of %d does not connect: %s", comm->rank, comm->n, why);
    return comm->mesh != NULL;
}

/* The next batch that its streams have come to, or NULL: the communicator ends. */
static struct aw_nccl_batch *batch_next(ncclComm_t comm)
{
    pthread_mutex_lock(&comm->lock);
    while (!comm->cancel && !(comm->head && !comm->head->pending && comm->error == ncclSuccess) && !(comm->ended && !comm->head))
        pthread_cond_wait(&comm->changed, &comm->lock);
    struct aw_nccl_batch *batch = comm->cancel ? NULL : comm->head;
    pthread_mutex_unlock(&comm->lock);
    return batch;
}

static void batch_done(ncclComm_t comm, struct aw_nccl_batch *batch)
{
    pthread_mutex_lock(&comm->lock);
    comm->head = batch->next;
    if (!comm->head)
        comm->tail = &comm->head;
    batch->done = true;
    if (batch->counts)
        __atomic_fetch_add(comm->done, 1, __ATOMIC_RELEASE);
    aw_nccl_batch_unref(batch);
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->lock);
}

static void *work(void *arg)
{
    ncclComm_t comm = arg;
    bool fine = !comm->engine || connect_ranks(comm);
    pthread_mutex_lock(&comm->lock);
    comm->ready = true;
    if (!fine && comm->error == ncclSuccess)
        comm->error = ncclRemoteError;
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->lock);
    for (struct aw_nccl_batch *batch; (batch = batch_next(comm));) {
        if (aw_nccl_run(comm, batch->ops, batch->n)) {
            batch_done(comm, batch);
            continue;
        }
        if (!comm->cancel)
            aw_nccl_error("rank %d of %d: %s", comm->rank, comm->n,
                          comm->mesh ? comm->engine->error(comm->mesh) : "out of memory");
        error_set(comm, comm->mesh ? ncclRemoteError : ncclSystemError);
    }
    return NULL;
}

/* ---- Beginning and end. */

static bool context_take(ncclComm_t comm)
{
    return aw_lib_queue_init(&comm->queue) == CUDA_SUCCESS && cuCtxGetDevice(&comm->device) == CUDA_SUCCESS;
}

ncclResult_t aw_nccl_comm_create(int rank, int n, const ncclUniqueId *id, bool blocking, ncclComm_t *ret_comm)
{
    ncclComm_t comm = calloc(1, sizeof *comm);
    if (!comm)
        return ncclSystemError;
    *comm = (struct ncclComm){ .rank = rank, .n = n, .blocking = blocking, .refs = 1 };
    comm->tail = &comm->head;
    if (id)
        comm->id = *id;
    pthread_mutex_init(&comm->order, NULL);
    pthread_mutex_init(&comm->lock, NULL);
    pthread_cond_init(&comm->changed, NULL);
    ncclResult_t result = ncclSuccess;
    if (!context_take(comm))
        result = ncclUnhandledCudaError;
    else if (n > 1 && !(comm->engine = aw_nccl_mesh_open()))
        result = ncclSystemError;
    else if (!(comm->done = word_take()))
        result = ncclSystemError;
    else if (pthread_create(&comm->worker, NULL, work, comm))
        result = ncclSystemError;
    if (result != ncclSuccess) {
        aw_nccl_comm_unref(comm);
        return result;
    }
    comm->started = true;
    *ret_comm = comm;
    return ncclSuccess;
}

void aw_nccl_comm_unref(ncclComm_t comm)
{
    pthread_mutex_lock(&comm->lock);
    bool last = !--comm->refs;
    pthread_mutex_unlock(&comm->lock);
    if (!last)
        return;
    if (comm->mesh)
        comm->engine->destroy(comm->mesh);
    word_give(comm->done);
    for (struct aw_nccl_shrunk *s; (s = comm->shrunk);) {
        comm->shrunk = s->next;
        free(s);
    }
    free(comm->peers);
    pthread_mutex_destroy(&comm->order);
    pthread_mutex_destroy(&comm->lock);
    pthread_cond_destroy(&comm->changed);
    free(comm);
}

ncclResult_t aw_nccl_comm_check(ncclComm_t comm)
{
    if (comm)
        return ncclSuccess;
    aw_nccl_error("a communicator is NULL");
    return ncclInvalidArgument;
}

ncclResult_t aw_nccl_comm_wait(ncclComm_t comm)
{
    pthread_mutex_lock(&comm->lock);
    while (!comm->ready)
        pthread_cond_wait(&comm->changed, &comm->lock);
    ncclResult_t error = comm->error;
    pthread_mutex_unlock(&comm->lock);
    return error;
}

ncclResult_t aw_nccl_comm_drain(ncclComm_t comm)
{
    pthread_mutex_lock(&comm->lock);
    while (!comm->ready || (comm->head && comm->error == ncclSuccess && !comm->cancel))
        pthread_cond_wait(&comm->changed, &comm->lock);
    ncclResult_t error = comm->error;
    pthread_mutex_unlock(&comm->lock);
    return error;
}

/* What is left in the queue of a communicator that ends in the middle: its streams go on. */
static void queue_drop(ncclComm_t comm)
{
    pthread_mutex_lock(&comm->lock);
    for (struct aw_nccl_batch *batch; (batch = comm->head);) {
        comm->head = batch->next;
        batch->done = true;
        aw_nccl_batch_unref(batch);
    }
    comm->tail = &comm->head;
    __atomic_store_n(comm->done, comm->given, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->lock);
}

void aw_nccl_comm_revoke(ncclComm_t comm, ncclResult_t error)
{
    pthread_mutex_lock(&comm->lock);
    bool started = comm->started;
    comm->started = false;
    comm->revoked = true;
    comm->cancel = 1;
    struct aw_nccl_mesh *mesh = comm->mesh;
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->lock);
    if (mesh)
        comm->engine->close(mesh);
    if (started)
        pthread_join(comm->worker, NULL);
    queue_drop(comm);
    pthread_mutex_lock(&comm->lock);
    comm->error = error;
    pthread_mutex_unlock(&comm->lock);
}

ncclResult_t aw_nccl_comm_end(ncclComm_t comm, bool abort)
{
    ncclResult_t result = ncclSuccess;
    if (!abort)
        result = aw_nccl_comm_drain(comm);
    pthread_mutex_lock(&comm->lock);
    comm->ended = true;
    if (abort || result != ncclSuccess)
        comm->cancel = 1;
    bool started = comm->started;
    struct aw_nccl_mesh *mesh = comm->cancel && started ? comm->mesh : NULL;
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->lock);
    if (mesh)
        comm->engine->close(mesh);
    if (started)
        pthread_join(comm->worker, NULL);
    queue_drop(comm);
    aw_nccl_comm_unref(comm);
    return result;
}
