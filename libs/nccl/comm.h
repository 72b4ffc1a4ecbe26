/* Communicators: what a rank knows, and the thread that works for it.
 *
 * What is asked of a communicator becomes a batch of operations.  A batch is ready when every stream it was given to has come to
 * it; the communicator's thread runs batches one after another, in the order they were given, as all ranks do.  The streams wait
 * for a word in memory that counts the batches that are done, so neither they nor the program's threads are held up.  Where
 * device memory is not the host's own, operands are copied to the host before and from there after, in the streams' order.
 *
 * An error of the engine stays with the communicator (ncclCommGetAsyncError): what was given to it is not done, and streams wait,
 * until ncclCommAbort, as with NCCL. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_NCCL_COMM_H
#define AW_LIBS_NCCL_COMM_H

#include <pthread.h>

#include "common/queue.h"
#include "meeting.h"
#include "reduce.h"

enum { AW_NCCL_REDOPS = 64 }; /* of a communicator at once, made by the program */

enum aw_nccl_kind {
    AW_NCCL_ALLREDUCE, AW_NCCL_REDUCE, AW_NCCL_BROADCAST, AW_NCCL_ALLGATHER, AW_NCCL_REDUCESCATTER, AW_NCCL_ALLTOALL,
    AW_NCCL_GATHER,
    AW_NCCL_SCATTER, AW_NCCL_SEND, AW_NCCL_RECV,
};

/* What is to be done to each rank's elements beside the reduction. */
enum aw_nccl_factor { AW_NCCL_NO_FACTOR, AW_NCCL_AVERAGE, AW_NCCL_PREMULTIPLIED };

struct aw_nccl_op {
    enum aw_nccl_kind kind;
    const void *in; /* as the program knows them; while it runs, where the host finds them */
    void *out;
    size_t in_size, out_size; /* bytes, 0: this rank has none */
    size_t count;             /* elements of a rank's part */
    ncclDataType_t type;
    ncclRedOp_t op;           /* one of the four */
    enum aw_nccl_factor factor;
    uint64_t scalar;          /* of the type, or where it is on the device */
    bool scalar_on_device;
    int root;                 /* or the peer */
    cudaStream_t stream;
};

struct aw_nccl_batch;

struct ncclComm {
    int rank, n, device;
    bool blocking;
    struct aw_lib_queue queue; /* its context, and where memory is */
    ncclUniqueId id;
    const struct aw_nccl_mesh_ops *engine; /* NULL: one rank */
    struct aw_nccl_mesh *mesh;

    pthread_mutex_t order; /* held while a batch is given to its streams: all see batches in one order */
    pthread_mutex_t lock;  /* of all that follows */
    pthread_cond_t changed;
    pthread_t worker;
    bool started, ended;   /* the worker */
    bool ready;            /* connected */
    bool finalized;
    bool revoked;          /* its worker has ended; what is made of it meets at `peers` */
    bool suspended;
    volatile int cancel;   /* aborted, or revoked */
    ncclResult_t error;    /* what has gone wrong, sticky */
    struct aw_nccl_batch *head, **tail;
    uint32_t given;        /* batches, counted */
    uint32_t *done;        /* those that the worker is through with, counted; streams wait for it */
    int refs;              /* the program's, and one for each batch that streams may wait for */
    ncclUniqueId *peers;   /* of each rank: where it serves, should what is made of this one not meet through it; NULL: one
                            * rank */
    ncclUniqueId grow;     /* what new ranks come by, where `growing` */
    bool growing;
    unsigned exchanges;    /* by `peers`, counted */
    struct aw_nccl_shrunk *shrunk; /* how often it was shrunk by each set of ranks */
    struct {
        bool used, on_device;
        ncclDataType_t type;
        uint64_t scalar;
    } redops[AW_NCCL_REDOPS];
};

/* Starts connecting; ncclSuccess: *ret_comm is connected, or will be (blocking off, or `wait` false). */
ncclResult_t aw_nccl_comm_create(int rank, int n, const ncclUniqueId *id, bool blocking, ncclComm_t *ret_comm);
/* Until it is connected; its error. */
ncclResult_t aw_nccl_comm_wait(ncclComm_t comm);
/* Until all batches are done; its error. */
ncclResult_t aw_nccl_comm_drain(ncclComm_t comm);
/* A communicator of these ranks, for *ret and in the thread's group. */
ncclResult_t aw_nccl_comm_join(ncclComm_t *ret, int n, const ncclUniqueId *id, int rank, bool blocking);
/* What the configuration says, else `otherwise`. */
bool aw_nccl_config_blocking(const ncclConfig_t *config, bool otherwise);
/* Stops what it is doing, for good; its streams go on.  `error`: what it is to say from then on. */
void aw_nccl_comm_revoke(ncclComm_t comm, ncclResult_t error);
/* Ends it; `abort`: whatever it is doing. */
ncclResult_t aw_nccl_comm_end(ncclComm_t comm, bool abort);
/* NULL and bad handles: ncclInvalidArgument. */
ncclResult_t aw_nccl_comm_check(ncclComm_t comm);

/* Gives operations, which are copied, to their streams as one batch. */
ncclResult_t aw_nccl_submit(ncclComm_t comm, const struct aw_nccl_op *ops, size_t n);
/* Runs the operations of a batch on host memory; false: comm->mesh's error says why.  The worker calls it (run.c). */
bool aw_nccl_run(ncclComm_t comm, struct aw_nccl_op *ops, size_t n);
/* For what is made of a communicator: an allgather of `size` bytes each on host memory, behind all that was given before; of a
 * revoked one through where its rank 0 serves.  Both are borrowed until `end`, which waits and frees. */
struct aw_nccl_exchange;
ncclResult_t aw_nccl_exchange_begin(ncclComm_t comm, const void *in, void *out, size_t size, struct aw_nccl_exchange **ret);
ncclResult_t aw_nccl_exchange_end(struct aw_nccl_exchange *exchange);

#endif
