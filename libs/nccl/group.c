/* Groups: see group.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "group.h"

#include <stdlib.h>

#include "nccl_proto.h"
#include "status.h"

/* Of the thread. */
static __thread struct {
    int depth;
    ncclResult_t error; /* the first of the group's calls */
    size_t n, room, n_begun, begun_room, n_made, made_room;
    struct {
        ncclComm_t comm;
        struct aw_nccl_op op;
    } *ops;
    ncclComm_t *begun;
    struct aw_nccl_making **made;
} group;

static bool grow(void **array, size_t n, size_t *room, size_t size)
{
    if (n < *room)
        return true;
    size_t more = *room ? 2 * *room : 16;
    void *bigger = realloc(*array, more * size);
    if (!bigger)
        return false;
    *array = bigger;
    *room = more;
    return true;
}

ncclResult_t aw_nccl_group_add(ncclComm_t comm, const struct aw_nccl_op *op)
{
    if (!group.depth)
        return aw_nccl_submit(comm, op, 1);
    if (!grow((void **)&group.ops, group.n, &group.room, sizeof *group.ops))
        return group.error = ncclSystemError;
    group.ops[group.n].comm = comm;
    group.ops[group.n++].op = *op;
    return ncclSuccess;
}

ncclResult_t aw_nccl_group_begun(ncclComm_t comm)
{
    if (!comm->blocking)
        return ncclInProgress;
    if (!group.depth)
        return aw_nccl_comm_wait(comm);
    if (!grow((void **)&group.begun, group.n_begun, &group.begun_room, sizeof *group.begun))
        return group.error = ncclSystemError;
    group.begun[group.n_begun++] = comm;
    return ncclSuccess;
}

ncclResult_t aw_nccl_group_make(struct aw_nccl_making *making)
{
    if (!group.depth)
        return aw_nccl_making_end(making);
    if (!grow((void **)&group.made, group.n_made, &group.made_room, sizeof *group.made))
        return group.error = ncclSystemError;
    group.made[group.n_made++] = making;
    return ncclSuccess;
}

/* The new communicators are begun in the group, which waits for all of them. */
static void group_make_all(void)
{
    for (size_t i = 0; i < group.n_made; i++) {
        ncclResult_t result = aw_nccl_making_end(group.made[i]);
        if (group.error == ncclSuccess && result != ncclInProgress)
            group.error = result;
    }
    group.n_made = 0;
}

ncclResult_t awnccl_ncclGroupStart(void)
{
    group.depth++;
    return ncclSuccess;
}

/* The operations of one communicator, in their order, as one batch. */
static ncclResult_t group_give(size_t first)
{
    ncclComm_t comm = group.ops[first].comm;
    struct aw_nccl_op *ops = malloc((group.n - first) * sizeof *ops);
    size_t n = 0;
    if (!ops)
        return ncclSystemError;
    for (size_t i = first; i < group.n; i++)
        if (group.ops[i].comm == comm) {
            ops[n++] = group.ops[i].op;
            group.ops[i].comm = NULL;
        }
    ncclResult_t result = aw_nccl_submit(comm, ops, n);
    free(ops);
    return result;
}

ncclResult_t awnccl_ncclGroupEnd(void)
{
    if (!group.depth) {
        aw_nccl_error("ncclGroupEnd without ncclGroupStart");
        return ncclInvalidUsage;
    }
    if (group.depth == 1)
        group_make_all();
    if (--group.depth)
        return ncclSuccess;
    ncclResult_t result = group.error;
    for (size_t i = 0; i < group.n_begun; i++) {
        ncclResult_t begun = aw_nccl_comm_wait(group.begun[i]);
        result = result == ncclSuccess ? begun : result;
    }
    for (size_t i = 0; i < group.n && result == ncclSuccess; i++)
        if (group.ops[i].comm)
            result = group_give(i);
    group.n = group.n_begun = 0;
    group.error = ncclSuccess;
    return result;
}
