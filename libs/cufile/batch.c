/* Batches: what is submitted is done before the call returns, in its order, and told by cuFileBatchIOGetStatus.  So nothing
 * waits, and there is nothing left to cancel. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cufile_proto.h"

enum { MAGIC = 0x62667563 };

struct batch {
    uint32_t magic;
    pthread_mutex_t lock;
    unsigned room, n;         /* transfers that it has room for, and that are done and not told */
    CUfileIOEvents_t *events; /* these, the oldest first */
};

static CUfileError_t error(CUfileOpError err)
{
    return (CUfileError_t){ err, 0 };
}

static struct batch *find(CUfileBatchHandle_t handle)
{
    struct batch *b = handle;
    return b && b->magic == MAGIC ? b : NULL;
}

CUfileError_t awcufile_cuFileBatchIOSetUp(CUfileBatchHandle_t *ret, unsigned room)
{
    if (!ret || !room)
        return error(CU_FILE_INVALID_VALUE);
    struct batch *b = calloc(1, sizeof *b);
    CUfileIOEvents_t *events = calloc(room, sizeof *events);
    if (!b || !events) {
        free(b);
        free(events);
        return error(CU_FILE_NOMEM_ERROR);
    }
    *b = (struct batch){ .magic = MAGIC, .room = room, .events = events };
    pthread_mutex_init(&b->lock, NULL);
    *ret = b;
    return error(CU_FILE_SUCCESS);
}

void awcufile_cuFileBatchIODestroy(CUfileBatchHandle_t handle)
{
    struct batch *b = find(handle);
    if (!b)
        return;
    b->magic = 0;
    pthread_mutex_destroy(&b->lock);
    free(b->events);
    free(b);
}

static CUfileIOEvents_t transfer(const CUfileIOParams_t *p)
{
    ssize_t n = p->opcode == CUFILE_READ
                    ? awcufile_cuFileRead(p->fh, p->u.batch.devPtr_base, p->u.batch.size, p->u.batch.file_offset,
                                          p->u.batch.devPtr_offset)
                    : awcufile_cuFileWrite(p->fh, p->u.batch.devPtr_base, p->u.batch.size, p->u.batch.file_offset,
                                           p->u.batch.devPtr_offset);
    return (CUfileIOEvents_t){ p->cookie, n < 0 ? CUFILE_FAILED : CUFILE_COMPLETE, (size_t)(n == -1 ? -CU_FILE_IO_ERROR : n) };
}

CUfileError_t awcufile_cuFileBatchIOSubmit(CUfileBatchHandle_t handle, unsigned n, CUfileIOParams_t *params, unsigned flags)
{
    struct batch *b = find(handle);
    if (!b || !n || !params || flags)
        return error(CU_FILE_INVALID_VALUE);
    for (unsigned i = 0; i < n; i++)
        if (params[i].mode != CUFILE_BATCH || (params[i].opcode != CUFILE_READ && params[i].opcode != CUFILE_WRITE))
            return error(CU_FILE_INVALID_VALUE);
    pthread_mutex_lock(&b->lock);
    bool fits = n <= b->room - b->n;
    for (unsigned i = 0; fits && i < n; i++)
        b->events[b->n++] = transfer(&params[i]);
    pthread_mutex_unlock(&b->lock);
    return error(fits ? CU_FILE_SUCCESS : CU_FILE_BATCH_FULL);
}

/* *n: how many there is room for, and how many are told.  `timeout` is not looked at: there is nothing to wait for. */
CUfileError_t awcufile_cuFileBatchIOGetStatus(CUfileBatchHandle_t handle, unsigned least, unsigned *n, CUfileIOEvents_t *events,
                                              struct timespec *timeout)
{
    struct batch *b = find(handle);
    if (!b || !n || (*n && !events) || least > *n)
        return error(CU_FILE_INVALID_VALUE);
    pthread_mutex_lock(&b->lock);
    *n = *n < b->n ? *n : b->n;
    if (*n)
        memcpy(events, b->events, *n * sizeof *events);
    b->n -= *n;
    memmove(b->events, b->events + *n, b->n * sizeof *events);
    pthread_mutex_unlock(&b->lock);
    return error(CU_FILE_SUCCESS);
}

CUfileError_t awcufile_cuFileBatchIOCancel(CUfileBatchHandle_t handle)
{
    return error(find(handle) ? CU_FILE_SUCCESS : CU_FILE_INVALID_VALUE);
}
