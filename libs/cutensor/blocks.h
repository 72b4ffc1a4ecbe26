/* Block-sparse contractions: each block of the result is a sum of contractions of blocks, one after another in the stream. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUTENSOR_BLOCKS_H
#define AW_LIBS_CUTENSOR_BLOCKS_H

#include "execute.h"
#include "tensor.h"

/* Counted; NULL is fine. */
void aw_blocks_ref(struct aw_blocks *b);
void aw_blocks_unref(struct aw_blocks *b);
float aw_blocks_bytes(const struct aw_blocks *b); /* of all blocks that are read or written */

/* The arrays are the host's, with an address for each block. */
cutensorStatus_t aw_blocks_execute(struct cutensorHandle *handle, const struct cutensorOperationDescriptor *op,
                                   struct aw_tensor_scalars scalars, const void *const a[], const void *const b[],
                                   const void *const c[], void *const d[], cudaStream_t stream);

#endif
