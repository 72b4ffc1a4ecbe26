/* Convolutions of up to three spatial dimensions and their gradients.  x is N C spatial, w is K C/groups spatial, y is N K
 * spatial; the number of groups is what their channels say. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUDNN_CONVOLVE_H
#define AW_LIBS_CUDNN_CONVOLVE_H

#include "tensor.h"

enum aw_dnn_convolve_kind { AW_DNN_FORWARD, AW_DNN_BACKWARD_DATA, AW_DNN_BACKWARD_FILTER };

enum { AW_DNN_SPATIAL = 3 };

struct aw_dnn_convolution {
    int n; /* spatial dimensions */
    int64_t pre[AW_DNN_SPATIAL], post[AW_DNN_SPATIAL], stride[AW_DNN_SPATIAL], dilation[AW_DNN_SPATIAL];
    bool flip; /* a convolution, not a cross-correlation: the filter is turned round */
    enum aw_dnn_convolve_kind kind;
    double alpha, beta; /* of the convolution, and of what the result holds before */
};

/* Do the shapes fit each other? */
bool aw_dnn_convolution_valid(const struct aw_dnn_convolution *c, const struct aw_dnn_shape *x, const struct aw_dnn_shape *w,
                              const struct aw_dnn_shape *y);

/* A kernel: x, w, y, of which `kind` says the one that is written. */
int aw_dnn_convolve(const void *params, const struct aw_dnn_view *v);

#endif
