/* NCCL's functions: communicators, and what is asked of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "group.h"
#include "nccl_proto.h"
#include "status.h"

/* ---- Communicators. */

static ncclResult_t refuse(const char *why)
{
    aw_nccl_error("%s", why);
    return ncclInvalidArgument;
}

ncclResult_t awnccl_ncclGetUniqueId(ncclUniqueId *id)
{
    if (!id)
        return refuse("ncclGetUniqueId: uniqueId is NULL");
    if (aw_nccl_id_create(id))
        return ncclSuccess;
    aw_nccl_error("ncclGetUniqueId: no port to listen at on %s", aw_nccl_address());
    return ncclSystemError;
}

/* What a program's compiler did not know, or left open, is INT_MIN. */
bool aw_nccl_config_blocking(const ncclConfig_t *config, bool otherwise)
{
    if (!config || config->size < offsetof(ncclConfig_t, blocking) + sizeof config->blocking || config->blocking == INT_MIN)
        return otherwise;
    return config->blocking != 0;
}

ncclResult_t aw_nccl_comm_join(ncclComm_t *ret, int n, const ncclUniqueId *id, int rank, bool blocking)
{
    ncclComm_t comm;
    if (!ret || n < 1 || rank < 0 || rank >= n)
        return refuse("ncclCommInitRank: the rank is not below the number of ranks, or comm is NULL");
    if (n > 1 && !aw_nccl_id_known(id))
        return refuse("ncclCommInitRank: not an id of this library's ncclGetUniqueId");
    ncclResult_t result = aw_nccl_comm_create(rank, n, id, blocking, &comm);
    if (result != ncclSuccess)
        return result;
    *ret = comm;
    return aw_nccl_group_begun(comm);
}

ncclResult_t awnccl_ncclCommInitRankConfig(ncclComm_t *ret, int n, ncclUniqueId id, int rank, ncclConfig_t *config)
{
    return aw_nccl_comm_join(ret, n, &id, rank, aw_nccl_config_blocking(config, true));
}

ncclResult_t awnccl_ncclCommInitRank(ncclComm_t *ret, int n, ncclUniqueId id, int rank)
{
    return awnccl_ncclCommInitRankConfig(ret, n, id, rank, NULL);
}

ncclResult_t awnccl_ncclCommInitRankScalable(ncclComm_t *ret, int n, int rank, int n_ids, ncclUniqueId *ids, ncclConfig_t *config)
{
    if (!ids || n_ids < 1)
        return refuse("ncclCommInitRankScalable: no id");
    return awnccl_ncclCommInitRankConfig(ret, n, ids[0], rank, config);
}

ncclResult_t awnccl_ncclCommInitAll(ncclComm_t *comms, int n, const int *devices)
{
    ncclUniqueId id;
    CUcontext before, ctx;
    int count;
    if (!comms || n < 1)
        return refuse("ncclCommInitAll: no communicators");
    if (cuInit(0) != CUDA_SUCCESS || cuDeviceGetCount(&count) != CUDA_SUCCESS || cuCtxGetCurrent(&before) != CUDA_SUCCESS)
        return ncclUnhandledCudaError;
    for (int i = 0; i < n; i++)
        if ((devices ? devices[i] : i) < 0 || (devices ? devices[i] : i) >= count)
            return refuse("ncclCommInitAll: no such device (ANYWARP_HOST_DEVICES=n makes several of the host)");
    ncclResult_t result = awnccl_ncclGetUniqueId(&id);
    awnccl_ncclGroupStart();
    for (int i = 0; i < n && result == ncclSuccess; i++) {
        bool fine = cuDevicePrimaryCtxRetain(&ctx, devices ? devices[i] : i) == CUDA_SUCCESS &&
                    cuCtxSetCurrent(ctx) == CUDA_SUCCESS;
        result = fine ? awnccl_ncclCommInitRank(&comms[i], n, id, i) : ncclUnhandledCudaError;
    }
    cuCtxSetCurrent(before);
    ncclResult_t end = awnccl_ncclGroupEnd();
    return result == ncclSuccess ? end : result;
}

ncclResult_t awnccl_ncclCommDestroy(ncclComm_t comm)
{
    return comm ? aw_nccl_comm_end(comm, false) : ncclSuccess;
}

ncclResult_t awnccl_ncclCommAbort(ncclComm_t comm)
{
    return comm ? aw_nccl_comm_end(comm, true) : ncclSuccess;
}

ncclResult_t awnccl_ncclCommFinalize(ncclComm_t comm)
{
    ncclResult_t result = aw_nccl_comm_check(comm);
    if (result != ncclSuccess)
        return result;
    pthread_mutex_lock(&comm->lock);
    bool again = comm->finalized || comm->revoked;
    comm->finalized = true;
    pthread_mutex_unlock(&comm->lock);
    if (again)
        return ncclInvalidUsage;
    return comm->blocking ? aw_nccl_comm_drain(comm) : ncclInProgress;
}

ncclResult_t awnccl_ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
    ncclResult_t result = aw_nccl_comm_check(comm);
    if (result != ncclSuccess)
        return result;
    if (!error)
        return refuse("ncclCommGetAsyncError: asyncError is NULL");
    pthread_mutex_lock(&comm->lock);
    *error = comm->error != ncclSuccess                        ? comm->error
             : !comm->ready || (comm->finalized && comm->head) ? ncclInProgress
                                                               : ncclSuccess;
    pthread_mutex_unlock(&comm->lock);
    return ncclSuccess;
}

static ncclResult_t number_give(ncclComm_t comm, int *ret, size_t at)
{
    ncclResult_t result = aw_nccl_comm_check(comm);
    if (result != ncclSuccess)
        return result;
    if (!ret)
        return refuse("there is nowhere to store the result");
    memcpy(ret, (const char *)comm + at, sizeof *ret);
    return ncclSuccess;
}

ncclResult_t awnccl_ncclCommCount(ncclComm_t comm, int *count)
{
    return number_give(comm, count, offsetof(struct ncclComm, n));
}

ncclResult_t awnccl_ncclCommUserRank(ncclComm_t comm, int *rank)
{
    return number_give(comm, rank, offsetof(struct ncclComm, rank));
}

ncclResult_t awnccl_ncclCommCuDevice(ncclComm_t comm, int *device)
{
    return number_give(comm, device, offsetof(struct ncclComm, device));
}

/* ---- Reductions of the program's own. */

ncclResult_t awnccl_ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar, ncclDataType_t type, ncclScalarResidence_t where,
                                             ncclComm_t comm)
{
    ncclResult_t result = aw_nccl_comm_check(comm);
    if (result != ncclSuccess)
        return result;
    size_t size = aw_nccl_element(type);
    if (!op || !scalar || !size || (where != ncclScalarDevice && where != ncclScalarHostImmediate))
        return refuse("ncclRedOpCreatePreMulSum: no scalar, or no such type");
    pthread_mutex_lock(&comm->lock);
    int i = 0;
    while (i < AW_NCCL_REDOPS && comm->redops[i].used)
        i++;
    if (i < AW_NCCL_REDOPS) {
        comm->redops[i].used = true;
        comm->redops[i].type = type;
        comm->redops[i].on_device = where == ncclScalarDevice;
        comm->redops[i].scalar = where == ncclScalarDevice ? (uintptr_t)scalar : 0;
        if (where == ncclScalarHostImmediate)
            memcpy(&comm->redops[i].scalar, scalar, size);
        *op = (ncclRedOp_t)(ncclAvg + 1 + i);
    }
    pthread_mutex_unlock(&comm->lock);
    return i < AW_NCCL_REDOPS ? ncclSuccess : ncclInternalError;
}

ncclResult_t awnccl_ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm)
{
    ncclResult_t result = aw_nccl_comm_check(comm);
    if (result != ncclSuccess)
        return result;
    int i = (int)op - ncclAvg - 1;
    if (i < 0 || i >= AW_NCCL_REDOPS)
        return refuse("ncclRedOpDestroy: not an operation of the program's own");
    pthread_mutex_lock(&comm->lock);
    bool used = comm->redops[i].used;
    comm->redops[i].used = false;
    pthread_mutex_unlock(&comm->lock);
    return used ? ncclSuccess : ncclInvalidArgument;
}

/* Locked by nobody: an operation that is being destroyed elsewhere is the program's mistake. */
static bool reduction_read(ncclComm_t comm, ncclRedOp_t op, struct aw_nccl_op *ret)
{
    ret->op = ncclSum;
    if (op <= ncclMin) {
        ret->op = op;
        return (int)op >= 0;
    }
    if (op == ncclAvg) {
        ret->factor = AW_NCCL_AVERAGE;
        return true;
    }
    int i = (int)op - ncclAvg - 1;
    if (i >= AW_NCCL_REDOPS || !comm->redops[i].used || comm->redops[i].type != ret->type)
        return false;
    ret->factor = AW_NCCL_PREMULTIPLIED;
    ret->scalar = comm->redops[i].scalar;
    ret->scalar_on_device = comm->redops[i].on_device;
    return true;
}

/* ---- Collectives.  How many parts of `count` elements a rank gives and gets. */

static ncclResult_t collective(ncclComm_t comm, struct aw_nccl_op op, size_t in_parts, size_t out_parts)
{
    ncclResult_t result = aw_nccl_comm_check(comm);
    size_t element = aw_nccl_element(op.type);
    if (result != ncclSuccess)
        return result;
    if (!element)
        return refuse("no such type of data");
    if (op.root < 0 || op.root >= comm->n)
        return refuse("the root or peer is no rank of the communicator");
    op.in_size = op.count * element * in_parts;
    op.out_size = op.count * element * out_parts;
    if ((op.in_size && !op.in) || (op.out_size && !op.out))
        return refuse("a buffer is NULL");
    return aw_nccl_group_add(comm, &op);
}

static ncclResult_t reduction(ncclComm_t comm, struct aw_nccl_op op, ncclRedOp_t how, size_t in_parts, size_t out_parts)
{
    if (!comm)
        return aw_nccl_comm_check(comm);
    if (!reduction_read(comm, how, &op))
        return refuse("no such reduction, or of another type");
    return collective(comm, op, in_parts, out_parts);
}

#define RANKS (comm ? (size_t)comm->n : 0)
#define IS_ROOT (comm && comm->rank == root)

ncclResult_t awnccl_ncclAllReduce(const void *in, void *out, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                                  cudaStream_t stream)
{
    return reduction(comm, (struct aw_nccl_op){ .kind = AW_NCCL_ALLREDUCE, .in = in, .out = out, .count = count, .type = type,
                                                .stream = stream }, op, 1, 1);
}

ncclResult_t awnccl_ncclReduce(const void *in, void *out, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                               ncclComm_t comm, cudaStream_t stream)
{
    return reduction(comm, (struct aw_nccl_op){ .kind = AW_NCCL_REDUCE, .in = in, .out = out, .count = count, .type = type,
                                                .root = root,
                                                .stream = stream }, op, 1, IS_ROOT);
}

ncclResult_t awnccl_ncclReduceScatter(const void *in, void *out, size_t count, ncclDataType_t type, ncclRedOp_t op,
                                      ncclComm_t comm, cudaStream_t stream)
{
    return reduction(comm, (struct aw_nccl_op){ .kind = AW_NCCL_REDUCESCATTER, .in = in, .out = out, .count = count, .type = type,
                                                .stream = stream }, op, RANKS, 1);
}

ncclResult_t awnccl_ncclBroadcast(const void *in, void *out, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                                  cudaStream_t stream)
{
    return collective(comm, (struct aw_nccl_op){ .kind = AW_NCCL_BROADCAST, .in = in, .out = out, .count = count, .type = type,
                                                 .root = root,
                                                 .stream = stream }, IS_ROOT, 1);
}

ncclResult_t awnccl_ncclBcast(void *data, size_t count, ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t stream)
{
    return awnccl_ncclBroadcast(data, data, count, type, root, comm, stream);
}

ncclResult_t awnccl_ncclAllGather(const void *in, void *out, size_t count, ncclDataType_t type, ncclComm_t comm,
                                  cudaStream_t stream)
{
    return collective(comm, (struct aw_nccl_op){ .kind = AW_NCCL_ALLGATHER, .in = in, .out = out, .count = count, .type = type,
                                                 .stream = stream }, 1, RANKS);
}

ncclResult_t awnccl_ncclAlltoAll(const void *in, void *out, size_t count, ncclDataType_t type, ncclComm_t comm,
                                 cudaStream_t stream)
{
    return collective(comm, (struct aw_nccl_op){ .kind = AW_NCCL_ALLTOALL, .in = in, .out = out, .count = count, .type = type,
                                                 .stream = stream }, RANKS, RANKS);
}

ncclResult_t awnccl_ncclGather(const void *in, void *out, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                               cudaStream_t stream)
{
    return collective(comm, (struct aw_nccl_op){ .kind = AW_NCCL_GATHER, .in = in, .out = out, .count = count, .type = type,
                                                 .root = root,
                                                 .stream = stream }, 1, IS_ROOT ? RANKS : 0);
}

ncclResult_t awnccl_ncclScatter(const void *in, void *out, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                                cudaStream_t stream)
{
    return collective(comm, (struct aw_nccl_op){ .kind = AW_NCCL_SCATTER, .in = in, .out = out, .count = count, .type = type,
                                                 .root = root,
                                                 .stream = stream }, IS_ROOT ? RANKS : 0, 1);
}

ncclResult_t awnccl_ncclSend(const void *in, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream)
{
    return collective(comm, (struct aw_nccl_op){ .kind = AW_NCCL_SEND, .in = in, .count = count, .type = type, .root = peer,
                                                 .stream = stream }, 1, 0);
}

ncclResult_t awnccl_ncclRecv(void *out, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream)
{
    return collective(comm, (struct aw_nccl_op){ .kind = AW_NCCL_RECV, .out = out, .count = count, .type = type, .root = peer,
                                                 .stream = stream }, 0, 1);
}

/* ---- Memory.  Any will do, so registering changes nothing. */

ncclResult_t awnccl_ncclMemAlloc(void **ret, size_t size)
{
    CUdeviceptr at;
    struct aw_lib_queue queue = { 0 };
    if (!ret)
        return refuse("ncclMemAlloc: ptr is NULL");
    if (aw_lib_queue_init(&queue) != CUDA_SUCCESS || cuMemAlloc_v2(&at, size) != CUDA_SUCCESS)
        return ncclUnhandledCudaError;
    *ret = (void *)(uintptr_t)at;
    return ncclSuccess;
}

ncclResult_t awnccl_ncclMemFree(void *at)
{
    return !at || cuMemFree_v2((CUdeviceptr)(uintptr_t)at) == CUDA_SUCCESS ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t awnccl_ncclCommRegister(ncclComm_t comm, void *buffer, size_t size, void **handle)
{
    ncclResult_t result = aw_nccl_comm_check(comm);
    if (result == ncclSuccess && (!handle || !buffer || !size))
        return refuse("ncclCommRegister: no buffer");
    if (result == ncclSuccess)
        *handle = buffer;
    return result;
}

ncclResult_t awnccl_ncclCommDeregister(ncclComm_t comm, void *handle)
{
    (void)handle;
    return aw_nccl_comm_check(comm);
}

/* Windows make collectives quicker where ranks see each other's memory.  No communicator here has them, which NCCL says by a
 * window that is NULL and no error (NVIDIA's manual of nccl4py, Communicator.register_window: None "if NCCL returns a NULL handle
 * (e.g. windows are unsupported on this platform)"); who gives that to a function that works in a window is refused. */
ncclResult_t awnccl_ncclCommWindowRegister(ncclComm_t comm, void *buffer, size_t size, ncclWindow_t *ret_window, int flags)
{
    ncclResult_t result = aw_nccl_comm_check(comm);
    (void)flags;
    if (result == ncclSuccess && (!ret_window || !buffer || !size))
        return refuse("ncclCommWindowRegister: no buffer");
    if (result == ncclSuccess)
        *ret_window = NULL;
    return result;
}

ncclResult_t awnccl_ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window)
{
    ncclResult_t result = aw_nccl_comm_check(comm);
    return result == ncclSuccess && window ? refuse("ncclCommWindowDeregister: not a window") : result;
}
