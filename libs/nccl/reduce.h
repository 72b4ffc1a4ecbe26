/* Elements: how large, and how two are made one. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_NCCL_REDUCE_H
#define AW_LIBS_NCCL_REDUCE_H

#include "mesh.h"
#include "nccl_types.h"

/* Bytes; 0: no such type. */
size_t aw_nccl_element(ncclDataType_t type);

/* A reduction of one type; what `user` of an aw_nccl_reduce_fn points to. */
struct aw_nccl_reduction {
    ncclDataType_t type;
    ncclRedOp_t op; /* sum, prod, max or min */
};
aw_nccl_reduce_fn aw_nccl_reduce;

/* data[i] = in[i] * *scalar, or, where scalar is NULL, in[i] / n; integers are divided as C does.  `data` may be `in`.  The
 * scalar is of the type. */
void aw_nccl_scale(ncclDataType_t type, void *data, const void *in, size_t count, const void *scalar, int n);

#endif
