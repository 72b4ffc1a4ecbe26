/* A batch between the program's thread (submit.c), its streams, and the communicator's thread (comm.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_NCCL_BATCH_H
#define AW_LIBS_NCCL_BATCH_H

#include "comm.h"

struct aw_nccl_batch {
    struct aw_nccl_batch *next;
    ncclComm_t comm;
    unsigned pending; /* streams that have not come to it; the communicator's lock */
    unsigned refs;    /* these, and the queue's */
    bool done, counts; /* counts: in comm->given */
    size_t n;
    struct aw_nccl_op ops[];
};

struct aw_nccl_batch *aw_nccl_batch_create(ncclComm_t comm, const struct aw_nccl_op *ops, size_t n);
/* Locked: puts it at the queue's end. */
void aw_nccl_batch_queue(struct aw_nccl_batch *batch);
/* Locked. */
void aw_nccl_batch_unref(struct aw_nccl_batch *batch);
/* Unlocked: one reference less; the last frees the communicator.  May be called by a stream: calls nothing of CUDA. */
void aw_nccl_comm_unref(ncclComm_t comm);

#endif
