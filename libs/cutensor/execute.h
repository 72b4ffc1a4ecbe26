/* Operations as work of streams. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUTENSOR_EXECUTE_H
#define AW_LIBS_CUTENSOR_EXECUTE_H

#include "tensor.h"

/* alpha, beta and gamma, of A, B and C in elementwise operations; of contractions and reductions alpha and that of C. */
struct aw_tensor_scalars {
    double _Complex a, b, c;
};

/* Gives the operation to the stream.  `at` is by AW_TENSOR_A and so on; what has a scalar of 0 may be NULL. */
cutensorStatus_t aw_tensor_execute(struct cutensorHandle *handle, const struct cutensorOperationDescriptor *op,
                                   struct aw_tensor_scalars scalars, void *const at[AW_TENSOR_ADDRESSES], cudaStream_t stream);

#endif
