/* oneDNN 2.x, opened at run time: convolution and matrix products in float.  What it does not take, or where it is not
 * installed, the bodies do themselves. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUDNN_ONEDNN_H
#define AW_LIBS_CUDNN_ONEDNN_H

#include "convolve.h"

/* y (or dx, or dw: the one that `kind` writes) = the convolution, of float tensors in any layout.  False: nothing was done. */
bool aw_onednn_convolve(enum aw_dnn_convolve_kind kind, const struct aw_dnn_convolution *c, const struct aw_dnn_view *x,
                        const struct aw_dnn_view *w, const struct aw_dnn_view *y);

/* C = A B of row-major matrices, m x k and k x n; trans: the matrix is stored transposed.  Leading dimensions in elements.
 * False: nothing was done. */
bool aw_onednn_product(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                       int64_t ldb, float *c, int64_t ldc);

#endif
