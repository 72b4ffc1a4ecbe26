/* Matrix products of the last two dimensions, C = A B.  Dimensions before them are batches: A's and B's are repeated where
 * they divide C's. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUDNN_MATMUL_H
#define AW_LIBS_CUDNN_MATMUL_H

#include "tensor.h"

struct aw_dnn_matmul {
    double padding;   /* what elements of C outside of the sizes given by tensors become */
    bool transpose_b; /* B's last two dimensions are n and k */
};

bool aw_dnn_matmul_valid(const struct aw_dnn_shape *a, const struct aw_dnn_shape *b, const struct aw_dnn_shape *c);

/* A kernel: A, B, C, and sizes m, n, k of each batch, which may be absent. */
int aw_dnn_matmul(const void *params, const struct aw_dnn_view *v);

/* C (m x n, packed) = A B of matrices whose element (i, j) is at i * stride[0] + j * stride[1]: in float. */
void aw_dnn_product_f(int64_t m, int64_t n, int64_t k, const float *a, const int64_t a_stride[2], const float *b,
                      const int64_t b_stride[2], float *c);

#endif
