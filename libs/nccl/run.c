/* Operations on host memory, by the engine. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "comm.h"

static bool is_float(ncclDataType_t type)
{
    return type >= ncclFloat16;
}

/* Copies a rank's own elements from `in` to `to`, multiplied where that comes before the reduction. */
static void load(ncclComm_t comm, const struct aw_nccl_op *op, void *to, const void *in, size_t count)
{
    const void *scalar = op->scalar_on_device ? (const void *)(uintptr_t)op->scalar : &op->scalar;
    if (op->factor == AW_NCCL_PREMULTIPLIED)
        aw_nccl_scale(op->type, to, in, count, scalar, 1);
    else if (op->factor == AW_NCCL_AVERAGE && is_float(op->type)) /* before, so that sums do not overflow */
        aw_nccl_scale(op->type, to, in, count, NULL, comm->n);
    else if (to != in)
        memmove(to, in, count * aw_nccl_element(op->type));
}

/* What comes after the reduction. */
static void store(ncclComm_t comm, const struct aw_nccl_op *op, void *data, size_t count)
{
    if (op->factor == AW_NCCL_AVERAGE && !is_float(op->type))
        aw_nccl_scale(op->type, data, data, count, NULL, comm->n);
}

static bool run_allreduce(ncclComm_t comm, struct aw_nccl_op *op)
{
    struct aw_nccl_reduction r = { op->type, op->op };
    load(comm, op, op->out, op->in, op->count);
    if (comm->mesh && !comm->engine->allreduce(comm->mesh, op->out, op->count, aw_nccl_element(op->type), aw_nccl_reduce, &r))
        return false;
    store(comm, op, op->out, op->count);
    return true;
}

/* Ranks other than the root have no result, but need as much memory for the engine. */
static bool run_reduce(ncclComm_t comm, struct aw_nccl_op *op)
{
    struct aw_nccl_reduction r = { op->type, op->op };
    size_t element = aw_nccl_element(op->type);
    void *scratch = comm->rank == op->root ? NULL : malloc(op->count * element);
    void *data = comm->rank == op->root ? op->out : scratch;
    if (!data)
        return false;
    load(comm, op, data, op->in, op->count);
    bool fine = !comm->mesh || comm->engine->reduce(comm->mesh, data, op->count, element, op->root, aw_nccl_reduce, &r);
    if (fine && comm->rank == op->root)
        store(comm, op, data, op->count);
    free(scratch);
    return fine;
}

/* Each rank gets everybody's elements of its own part, and adds them up in the order of ranks. */
static bool run_reduce_scatter(ncclComm_t comm, struct aw_nccl_op *op)
{
    struct aw_nccl_reduction r = { op->type, op->op };
    size_t element = aw_nccl_element(op->type), part = op->count * element, all = op->count * (size_t)comm->n;
    if (!comm->mesh) {
        load(comm, op, op->out, op->in, op->count);
        store(comm, op, op->out, op->count);
        return true;
    }
    char *parts = malloc(all * element * 2), *mine = parts ? parts + all * element : NULL;
    bool fine = parts != NULL;
    if (fine) {
        load(comm, op, mine, op->in, all);
        fine = comm->engine->alltoall(comm->mesh, mine, parts, part);
    }
    for (int i = 1; fine && i < comm->n; i++)
        aw_nccl_reduce(&r, parts, parts, parts + (size_t)i * part, op->count);
    if (fine) {
        store(comm, op, parts, op->count);
        memcpy(op->out, parts, part);
    }
    free(parts);
    return fine;
}

static bool run_alltoall(ncclComm_t comm, struct aw_nccl_op *op, size_t part)
{
    if (op->in != op->out)
        return comm->engine->alltoall(comm->mesh, op->in, op->out, part);
    void *copy = malloc(op->in_size); /* in place */
    if (!copy)
        return false;
    memcpy(copy, op->in, op->in_size);
    bool fine = comm->engine->alltoall(comm->mesh, copy, op->out, part);
    free(copy);
    return fine;
}

static bool run_collective(ncclComm_t comm, struct aw_nccl_op *op)
{
    size_t part = op->count * aw_nccl_element(op->type);
    switch (op->kind) {
    case AW_NCCL_ALLREDUCE: return run_allreduce(comm, op);
    case AW_NCCL_REDUCE: return run_reduce(comm, op);
    case AW_NCCL_REDUCESCATTER: return run_reduce_scatter(comm, op);
    default: break;
    }
    if (!comm->mesh) { /* the rest of them, for one rank, is a copy */
        if (op->out != op->in)
            memmove(op->out, op->in, part);
        return true;
    }
    switch (op->kind) {
    case AW_NCCL_BROADCAST:
        if (comm->rank == op->root && op->out != op->in)
            memmove(op->out, op->in, part);
        return comm->engine->broadcast(comm->mesh, op->out, part, op->root);
    case AW_NCCL_ALLGATHER: return comm->engine->allgather(comm->mesh, op->in, op->out, part);
    case AW_NCCL_GATHER: return comm->engine->gather(comm->mesh, op->in, op->out, part, op->root);
    case AW_NCCL_SCATTER: return comm->engine->scatter(comm->mesh, op->in, op->out, part, op->root);
    default: return run_alltoall(comm, op, part);
    }
}

/* What a rank sends to itself: the n-th send goes to the n-th receive. */
static bool run_self(ncclComm_t comm, struct aw_nccl_op *ops, size_t n)
{
    size_t r = 0;
    for (size_t s = 0; s < n; s++) {
        if (ops[s].kind != AW_NCCL_SEND || ops[s].root != comm->rank)
            continue;
        while (r < n && !(ops[r].kind == AW_NCCL_RECV && ops[r].root == comm->rank))
            r++;
        if (r == n)
            return false;
        memmove(ops[r].out, ops[s].in, ops[s].in_size < ops[r].out_size ? ops[s].in_size : ops[r].out_size);
        r++;
    }
    return true;
}

/* All sends and receives of the batch go on together. */
static bool run_transfers(ncclComm_t comm, struct aw_nccl_op *ops, size_t n, bool finish, struct aw_nccl_transfer **transfers)
{
    bool fine = finish || run_self(comm, ops, n);
    for (size_t i = 0; i < n; i++) {
        bool sends = ops[i].kind == AW_NCCL_SEND;
        if ((!sends && ops[i].kind != AW_NCCL_RECV) || ops[i].root == comm->rank)
            continue;
        if (finish) {
            if (transfers[i])
                fine = comm->engine->finish(comm->mesh, transfers[i]) && fine;
        } else if (fine) {
            transfers[i] = sends ? comm->engine->send(comm->mesh, ops[i].in, ops[i].in_size, ops[i].root) :
                                   comm->engine->receive(comm->mesh, ops[i].out, ops[i].out_size, ops[i].root);
            fine = transfers[i] != NULL;
        }
    }
    return fine;
}

bool aw_nccl_run(ncclComm_t comm, struct aw_nccl_op *ops, size_t n)
{
    struct aw_nccl_transfer **transfers = calloc(n, sizeof(void *));
    bool fine = transfers && run_transfers(comm, ops, n, false, transfers);
    for (size_t i = 0; fine && i < n; i++)
        if (ops[i].kind != AW_NCCL_SEND && ops[i].kind != AW_NCCL_RECV && ops[i].count)
            fine = run_collective(comm, &ops[i]);
    if (transfers && !fine && comm->mesh)
        comm->engine->close(comm->mesh); /* or what was begun would not end */
    if (transfers)
        fine = run_transfers(comm, ops, n, true, transfers) && fine;
    free(transfers);
    return fine;
}
