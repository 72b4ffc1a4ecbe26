/* ncclGroupStart and ncclGroupEnd: what a thread collects between them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_NCCL_GROUP_H
#define AW_LIBS_NCCL_GROUP_H

#include "derive.h"

/* Gives the operation to its communicator, at once or at the group's end. */
ncclResult_t aw_nccl_group_add(ncclComm_t comm, const struct aw_nccl_op *op);
/* A communicator that was begun: waited for, at once or at the group's end, where it blocks. */
ncclResult_t aw_nccl_group_begun(ncclComm_t comm);
/* One that is made of another, ended at once or at the group's end, as a thread may have several ranks of it. */
ncclResult_t aw_nccl_group_make(struct aw_nccl_making *making);

#endif
