/* Where the ranks of a communicator find each other: a table of keys and bytes that the process which made the ncclUniqueId
 * serves over TCP.  The id holds its address and a random word, without which nothing is told. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_NCCL_MEETING_H
#define AW_LIBS_NCCL_MEETING_H

#include "mesh.h"
#include "nccl_types.h"

/* A fresh id; starts this process's server where there is none.  false: errno says why. */
bool aw_nccl_id_create(ncclUniqueId *ret_id);
bool aw_nccl_id_known(const ncclUniqueId *id);
/* Another one at the same server: who has the id and these bytes has the same. */
ncclUniqueId aw_nccl_id_derive(const ncclUniqueId *id, const void *bytes, size_t size);
/* This machine's address for others, numeric; static.  NCCL_SOCKET_IFNAME chooses the interface. */
const char *aw_nccl_address(void);

struct aw_nccl_visit; /* a connection to a server */
/* Keeps trying for as long as *cancel is 0, as ranks may come before the server is reached.  NULL: cancelled, or no memory. */
struct aw_nccl_visit *aw_nccl_visit_begin(const ncclUniqueId *id, const volatile int *cancel);
void aw_nccl_visit_end(struct aw_nccl_visit *visit);
struct aw_nccl_meeting aw_nccl_visit_meeting(struct aw_nccl_visit *visit);
/* All ranks have met: the server forgets what was set under this id.  One of them calls it. */
void aw_nccl_visit_forget(struct aw_nccl_visit *visit);

#endif
