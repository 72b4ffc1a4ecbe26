/* Communicators made of others: what a thread's group keeps of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_NCCL_DERIVE_H
#define AW_LIBS_NCCL_DERIVE_H

#include "comm.h"

/* One of comm->shrunk. */
struct aw_nccl_shrunk {
    struct aw_nccl_shrunk *next;
    uint64_t set; /* of the ranks that went, hashed */
    unsigned count;
};

struct aw_nccl_making;
/* Waits for what the ranks say to each other, begins the new communicator and frees `making`. */
ncclResult_t aw_nccl_making_end(struct aw_nccl_making *making);

#endif
