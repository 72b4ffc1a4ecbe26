/* Communicators made of others: split, shrink, grow, and revoke, after which there is little else to do with one.
 *
 * What ranks have to tell each other goes through the parent (aw_nccl_exchange).  Shrinking needs nothing of it, as the ranks
 * that go take no part and the parent may be broken: those that stay meet where the lowest of them serves, of which each heard
 * when the parent was connected. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "derive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "batch.h"
#include "group.h"
#include "nccl_proto.h"
#include "status.h"

static ncclResult_t refuse(const char *why)
{
    aw_nccl_error("%s", why);
    return ncclInvalidArgument;
}

/* ---- Without streams. */

struct aw_nccl_exchange {
    ncclComm_t comm;
    void *out;
    size_t size;
    struct aw_nccl_batch *batch; /* by the engine */
    struct aw_nccl_visit *visit; /* of a revoked communicator */
};

/* What is set stays with the server: who comes last is not known. */
static bool visit_tell(struct aw_nccl_exchange *x, const void *in)
{
    ncclComm_t comm = x->comm;
    static const volatile int never;
    char key[16];
    struct {
        char what[8];
        unsigned count;
    } tag = { "meet", comm->exchanges++ };
    ncclUniqueId id = aw_nccl_id_derive(&comm->peers[0], &tag, sizeof tag);
    x->visit = aw_nccl_visit_begin(&id, &never);
    if (!x->visit)
        return false;
    struct aw_nccl_meeting meeting = aw_nccl_visit_meeting(x->visit);
    snprintf(key, sizeof key, "%d", comm->rank);
    return meeting.set(meeting.user, key, in, x->size);
}

static bool visit_hear(struct aw_nccl_exchange *x)
{
    struct aw_nccl_meeting meeting = aw_nccl_visit_meeting(x->visit);
    for (int i = 0; i < x->comm->n; i++) {
        char key[16];
        void *data;
        size_t size;
        snprintf(key, sizeof key, "%d", i);
        if (!meeting.get(meeting.user, key, &data, &size))
            return false;
        bool fits = size == x->size;
        if (fits)
            memcpy((char *)x->out + (size_t)i * size, data, size);
        free(data);
        if (!fits)
            return false;
    }
    return true;
}

ncclResult_t aw_nccl_exchange_begin(ncclComm_t comm, const void *in, void *out, size_t size, struct aw_nccl_exchange **ret)
{
    struct aw_nccl_op op = { .kind = AW_NCCL_ALLGATHER, .in = in, .out = out, .in_size = size, .out_size = size * (size_t)comm->n,
                             .count = size, .type = ncclUint8 };
    struct aw_nccl_exchange *x = calloc(1, sizeof *x);
    if (!x)
        return ncclSystemError;
    *x = (struct aw_nccl_exchange){ .comm = comm, .out = out, .size = size };
    bool fine = true;
    if (comm->revoked && comm->n == 1)
        memcpy(out, in, size);
    else if (comm->revoked)
        fine = comm->peers && visit_tell(x, in);
    else if ((fine = (x->batch = aw_nccl_batch_create(comm, &op, 1)))) {
        pthread_mutex_lock(&comm->lock);
        x->batch->refs++;
        aw_nccl_batch_queue(x->batch);
        pthread_mutex_unlock(&comm->lock);
    }
    if (!fine) {
        aw_nccl_visit_end(x->visit);
        free(x);
        return ncclSystemError;
    }
    *ret = x;
    return ncclSuccess;
}

static ncclResult_t batch_wait(ncclComm_t comm, struct aw_nccl_batch *batch)
{
    pthread_mutex_lock(&comm->lock);
    while (!batch->done && comm->error == ncclSuccess && !comm->cancel)
        pthread_cond_wait(&comm->changed, &comm->lock);
    ncclResult_t result = batch->done ? ncclSuccess : comm->error != ncclSuccess ? comm->error : ncclInvalidUsage;
    aw_nccl_batch_unref(batch);
    pthread_mutex_unlock(&comm->lock);
    return result;
}

ncclResult_t aw_nccl_exchange_end(struct aw_nccl_exchange *x)
{
    ncclResult_t result = ncclSuccess;
    if (x->batch)
        result = batch_wait(x->comm, x->batch);
    else if (x->visit)
        result = visit_hear(x) ? ncclSuccess : ncclRemoteError;
    aw_nccl_visit_end(x->visit);
    free(x);
    return result;
}

/* ---- Split and grow: everybody says where it goes and where the others may meet. */

enum { NO_COLOR = -1 };

struct word {
    int color, key, rank;
    int has_id;
    ncclUniqueId id;
};

struct aw_nccl_making {
    ncclComm_t comm;
    int grown; /* ranks of the one that grows; 0: split */
    bool blocking;
    ncclComm_t *ret;
    struct aw_nccl_exchange *exchange;
    struct word own, *all;
};

static int word_order(const void *a, const void *b)
{
    const struct word *x = a, *y = b;
    return x->key != y->key ? (x->key < y->key ? -1 : 1) : x->rank - y->rank;
}

static ncclResult_t split_join(struct aw_nccl_making *m)
{
    int n = 0, rank = -1;
    if (m->own.color == NO_COLOR) {
        *m->ret = NULL;
        return ncclSuccess;
    }
    for (int i = 0; i < m->comm->n; i++)
        if (m->all[i].color == m->own.color)
            m->all[n++] = m->all[i];
    qsort(m->all, (size_t)n, sizeof *m->all, word_order);
    for (int i = 0; i < n; i++)
        if (m->all[i].rank == m->own.rank)
            rank = i;
    return aw_nccl_comm_join(m->ret, n, &m->all[0].id, rank, m->blocking);
}

static ncclResult_t grow_join(struct aw_nccl_making *m)
{
    int with = 0;
    while (with < m->comm->n && !m->all[with].has_id)
        with++;
    if (with == m->comm->n)
        return refuse("ncclCommGrow: no rank has called ncclCommGetUniqueId");
    m->comm->growing = false;
    return aw_nccl_comm_join(m->ret, m->grown, &m->all[with].id, m->comm->rank, m->blocking);
}

ncclResult_t aw_nccl_making_end(struct aw_nccl_making *m)
{
    CUcontext before;
    ncclResult_t result = aw_nccl_exchange_end(m->exchange);
    if (result == ncclSuccess && cuCtxPushCurrent_v2(m->comm->queue.ctx) != CUDA_SUCCESS)
        result = ncclUnhandledCudaError;
    else if (result == ncclSuccess) {
        result = m->grown ? grow_join(m) : split_join(m);
        cuCtxPopCurrent_v2(&before);
    }
    free(m->all);
    free(m);
    return result;
}

static ncclResult_t making_begin(struct aw_nccl_making m)
{
    struct aw_nccl_making *making = malloc(sizeof *making);
    m.own.rank = m.comm->rank;
    m.all = calloc((size_t)m.comm->n, sizeof *m.all);
    ncclResult_t result = ncclSystemError;
    if (making && m.all) {
        *making = m;
        result = aw_nccl_exchange_begin(m.comm, &making->own, m.all, sizeof m.own, &making->exchange);
    }
    if (result == ncclSuccess)
        return aw_nccl_group_make(making);
    free(m.all);
    free(making);
    return result;
}

ncclResult_t awnccl_ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *ret, ncclConfig_t *config)
{
    struct word own = { .color = color, .key = key };
    ncclResult_t result = aw_nccl_comm_check(comm);
    if (result != ncclSuccess)
        return result;
    if (!ret || color < NO_COLOR)
        return refuse("ncclCommSplit: color is negative and not NCCL_SPLIT_NOCOLOR, or newcomm is NULL");
    result = awnccl_ncclGetUniqueId(&own.id);
    if (result != ncclSuccess)
        return result;
    return making_begin((struct aw_nccl_making){ .comm = comm, .own = own, .ret = ret,
                                                 .blocking = aw_nccl_config_blocking(config, comm->blocking) });
}

ncclResult_t awnccl_ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId *id)
{
    ncclResult_t result = aw_nccl_comm_check(comm);
    if (result != ncclSuccess)
        return result;
    if (!id)
        return refuse("ncclCommGetUniqueId: uniqueId is NULL");
    if (comm->growing) {
        aw_nccl_error("ncclCommGetUniqueId: the communicator has not grown by its last id yet");
        return ncclInvalidUsage;
    }
    result = awnccl_ncclGetUniqueId(&comm->grow);
    if (result != ncclSuccess)
        return result;
    comm->growing = true;
    *id = comm->grow;
    return ncclSuccess;
}

ncclResult_t awnccl_ncclCommGrow(ncclComm_t comm, int n, const ncclUniqueId *id, int rank, ncclComm_t *ret, ncclConfig_t *config)
{
    if (!ret)
        return refuse("ncclCommGrow: newcomm is NULL");
    if (!comm && !id)
        return refuse("ncclCommGrow: a rank that joins has no id");
    if (!comm)
        return aw_nccl_comm_join(ret, n, id, rank, aw_nccl_config_blocking(config, true));
    if (rank != -1 || n <= comm->n)
        return refuse("ncclCommGrow: the rank of one that is there is -1, and there must be more than before");
    struct word own = { .has_id = id || comm->growing, .id = id ? *id : comm->grow };
    if (id && !aw_nccl_id_known(id))
        return refuse("ncclCommGrow: not an id of this library's ncclCommGetUniqueId");
    return making_begin((struct aw_nccl_making){ .comm = comm, .own = own, .ret = ret, .grown = n,
                                                 .blocking = aw_nccl_config_blocking(config, comm->blocking) });
}

/* ---- Shrink and revoke. */

/* How often this set of ranks has gone before: those that stay count alike, as none of them was in it. */
static bool shrunk_count(ncclComm_t comm, const bool *gone, unsigned *ret_count)
{
    uint64_t set = aw_hash64(gone, (size_t)comm->n * sizeof *gone);
    struct aw_nccl_shrunk *s = comm->shrunk;
    while (s && s->set != set)
        s = s->next;
    if (!s) {
        s = calloc(1, sizeof *s);
        if (!s)
            return false;
        *s = (struct aw_nccl_shrunk){ .next = comm->shrunk, .set = set };
        comm->shrunk = s;
    }
    *ret_count = s->count++;
    return true;
}

/* Without the ranks that are `gone`. */
static ncclResult_t shrink_join(ncclComm_t comm, const bool *gone, bool blocking, ncclComm_t *ret)
{
    int n = 0, rank = 0, lowest = -1;
    struct {
        uint64_t set;
        unsigned count, unused;
    } tag = { .set = aw_hash64(gone, (size_t)comm->n * sizeof *gone) };
    CUcontext before;
    for (int i = 0; i < comm->n; i++) {
        if (gone[i])
            continue;
        lowest = lowest < 0 ? i : lowest;
        rank += i < comm->rank;
        n++;
    }
    if (!shrunk_count(comm, gone, &tag.count) || cuCtxPushCurrent_v2(comm->queue.ctx) != CUDA_SUCCESS)
        return ncclSystemError;
    ncclUniqueId id = aw_nccl_id_derive(&comm->peers[lowest], &tag, sizeof tag);
    ncclResult_t result = aw_nccl_comm_join(ret, n, &id, rank, blocking);
    cuCtxPopCurrent_v2(&before);
    return result;
}

ncclResult_t awnccl_ncclCommShrink(ncclComm_t comm, int *exclude, int n_exclude, ncclComm_t *ret, ncclConfig_t *config, int flags)
{
    ncclResult_t result = aw_nccl_comm_check(comm);
    if (result != ncclSuccess)
        return result;
    if (!ret || !exclude || n_exclude < 1 || flags & ~NCCL_SHRINK_ABORT)
        return refuse("ncclCommShrink: no ranks to exclude, an unknown flag, or newcomm is NULL");
    for (int i = 0; i < n_exclude; i++)
        if (exclude[i] < 0 || exclude[i] >= comm->n || exclude[i] == comm->rank)
            return refuse("ncclCommShrink: a rank that is to go is none, or this one");
    if (flags & NCCL_SHRINK_ABORT && !comm->revoked) {
        awnccl_ncclCommGetAsyncError(comm, &result);
        aw_nccl_comm_revoke(comm, result == ncclInProgress ? ncclSuccess : result);
    } else if (!comm->revoked && (result = aw_nccl_comm_wait(comm)) != ncclSuccess)
        return result;
    if (!comm->peers)
        return ncclInvalidUsage; /* it was never connected */
    bool *gone = calloc((size_t)comm->n, sizeof *gone);
    if (!gone)
        return ncclSystemError;
    for (int i = 0; i < n_exclude; i++)
        gone[exclude[i]] = true;
    result = shrink_join(comm, gone, aw_nccl_config_blocking(config, comm->blocking), ret);
    free(gone);
    return result;
}

ncclResult_t awnccl_ncclCommRevoke(ncclComm_t comm, int flags)
{
    ncclResult_t result = aw_nccl_comm_check(comm);
    if (result != ncclSuccess)
        return result;
    if (flags)
        return refuse("ncclCommRevoke: unknown flags");
    pthread_mutex_lock(&comm->lock);
    bool late = comm->finalized;
    pthread_mutex_unlock(&comm->lock);
    if (late)
        return ncclInvalidUsage;
    aw_nccl_comm_revoke(comm, ncclSuccess);
    return ncclSuccess;
}

/* ---- Suspending gives device memory back, of which a communicator here has none. */

static ncclResult_t suspend_set(ncclComm_t comm, bool suspend)
{
    ncclResult_t result = aw_nccl_comm_check(comm);
    if (result != ncclSuccess)
        return result;
    pthread_mutex_lock(&comm->lock);
    result = comm->error != ncclSuccess                                           ? comm->error
             : comm->suspended == suspend || comm->finalized || comm->cancel ? ncclInvalidUsage
                                                                                  : ncclSuccess;
    if (result == ncclSuccess)
        comm->suspended = suspend;
    pthread_mutex_unlock(&comm->lock);
    return result;
}

ncclResult_t awnccl_ncclCommSuspend(ncclComm_t comm, int flags)
{
    if (flags != NCCL_SUSPEND_MEM)
        return refuse("ncclCommSuspend: flags are not NCCL_SUSPEND_MEM");
    return suspend_set(comm, true);
}

ncclResult_t awnccl_ncclCommResume(ncclComm_t comm)
{
    return suspend_set(comm, false);
}

ncclResult_t awnccl_ncclCommMemStats(ncclComm_t comm, ncclCommMemStat_t stat, uint64_t *value)
{
    ncclResult_t result = aw_nccl_comm_check(comm);
    if (result != ncclSuccess)
        return result;
    if (!value || stat < ncclStatGpuMemSuspend || stat > ncclStatGpuMemTotal)
        return refuse("ncclCommMemStats: no such number, or nowhere to store it");
    *value = stat == ncclStatGpuMemSuspended && comm->suspended;
    return ncclSuccess;
}
