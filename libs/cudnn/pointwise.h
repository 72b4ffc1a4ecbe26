/* Pointwise operations: y = scale op(alpha1 x, alpha2 b, t) + beta y. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUDNN_POINTWISE_H
#define AW_LIBS_CUDNN_POINTWISE_H

#include "tensor.h"

enum {
#define POINTWISE(name, number, operands, expression) AW_DNN_##name = number,
#include "pointwise.def"
#undef POINTWISE
};

struct aw_dnn_pointwise {
    int mode, axis;                     /* the dimension whose index GEN_INDEX gives */
    double alpha1, alpha2, scale, beta; /* of x, b, the result, and of what y holds */
    double lower, upper, slope;         /* of RELU */
    double elu_alpha, softplus_beta, swish_beta;
};

/* With all parameters that have one at their default. */
struct aw_dnn_pointwise aw_dnn_pointwise_init(int mode);
/* How many of x, b and t a mode takes; 0: there is no such mode. */
int aw_dnn_pointwise_operands(int mode);

/* A kernel: y, x, b, t. */
int aw_dnn_pointwise(const void *params, const struct aw_dnn_view *v);

#endif
