/* Kernels beside convolution, products and pointwise operations: reductions, norms, pooling, softmax, and what only moves
 * elements.  Each takes its parameters and its tensors in the order given; sums are taken in double. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUDNN_LAYERS_H
#define AW_LIBS_CUDNN_LAYERS_H

#include "convolve.h"
#include "pointwise.h"

/* ---- Reduction (reduce.c): y, x, indices.  y = alpha op(x) + beta y over what dimensions of y are smaller by: to 1, or to a
 * part that divides. */
struct aw_dnn_reduce {
    cudnnReduceTensorOp_t op;
    double alpha, beta;
    bool skip_nan; /* minima and maxima leave NaN out */
};
bool aw_dnn_reduce_valid(const struct aw_dnn_shape *x, const struct aw_dnn_shape *y);
int aw_dnn_reduce(const void *params, const struct aw_dnn_view *v);

/* ---- Norms (norm.c).  Statistics are over the dimensions in which mean has size 1 and x has not; scale and bias are
 * repeated. */
struct aw_dnn_norm {
    bool given;    /* mean and inverse deviation are taken, not made; else they are made and, where there is memory, written */
    bool variance; /* what is given is the variance */
    bool centred;  /* false: root mean square, there is no mean */
    double epsilon, factor; /* where no tensor has them; factor is that of new running statistics */
    double alpha, beta;
    struct aw_dnn_shape stats;      /* sizes of mean and deviation */
    int activation;                 /* a pointwise mode for y, or -1 */
    double param_alpha, param_beta; /* of the gradients of scale and bias */
};
/* y, x, mean, inverse deviation, scale, bias, epsilon, factor, running mean and variance in, and out, z (added before the
 * activation). */
int aw_dnn_norm_forward(const void *params, const struct aw_dnn_view *v);
enum { AW_DNN_NORM_FORWARD_VIEWS = 13 };
/* dx, x, dy, mean, inverse deviation, scale, dscale, dbias, epsilon, bias (with an activation), y (the same), dz.  Without
 * mean and deviation they are made anew. */
int aw_dnn_norm_backward(const void *params, const struct aw_dnn_view *v);
enum { AW_DNN_NORM_BACKWARD_VIEWS = 12 };
/* sum and sum of squares over all but the channel: x, sum, squares. */
int aw_dnn_genstats(const void *params, const struct aw_dnn_view *v);
/* Parameters of the norm as scale and bias of one multiplication (BN_FINALIZE): see norm.c for the order. */
struct aw_dnn_bn_finalize {
    bool inference;
};
int aw_dnn_bn_finalize(const void *params, const struct aw_dnn_view *v);
enum { AW_DNN_BN_FINALIZE_VIEWS = 15 };

/* ---- Pooling (pool.c).  x and y are N C spatial. */
enum aw_dnn_pool_mode {
    AW_DNN_POOL_MAX,
    AW_DNN_POOL_MEAN,
    AW_DNN_POOL_MEAN_INSIDE
}; /* of the whole window, or of what is inside */
struct aw_dnn_pool {
    enum aw_dnn_pool_mode mode;
    int n;
    int64_t window[AW_DNN_SPATIAL], pre[AW_DNN_SPATIAL], stride[AW_DNN_SPATIAL];
    double alpha, beta;
    bool skip_nan, zero_pad; /* maxima: leave NaN out; count what is outside as 0 */
};
/* y, x, index (the maximum's place in its window). */
int aw_dnn_pool_forward(const void *params, const struct aw_dnn_view *v);
/* dx, dy, x, y, index: of a maximum, either x or the index. */
int aw_dnn_pool_backward(const void *params, const struct aw_dnn_view *v);

/* ---- Softmax (softmax.c) over the dimensions from `first` to `last`. */
struct aw_dnn_softmax {
    int first, last;
    bool log;
    double alpha, beta;
};
int aw_dnn_softmax_forward(const void *params, const struct aw_dnn_view *v);  /* y, x */
int aw_dnn_softmax_backward(const void *params, const struct aw_dnn_view *v); /* dx, y, dy */

/* ---- Moves (move.c): y = alpha x + beta y. */
struct aw_dnn_move {
    double alpha, beta;
    int n, at[AW_DNN_DIMS];                        /* transpose: dimension i of y is at[i] of x */
    int64_t begin[AW_DNN_DIMS], step[AW_DNN_DIMS]; /* slice */
    int axis;                                      /* concat */
};
int aw_dnn_copy(const void *params, const struct aw_dnn_view *v);    /* y, x: x is repeated where it has size 1 */
int aw_dnn_reshape(const void *params, const struct aw_dnn_view *v); /* y, x: the same elements in row-major order */
int aw_dnn_view_as(const void *params,
                   const struct aw_dnn_view *v); /* y, x: the same elements in memory's order, neither with gaps */
int aw_dnn_transpose(const void *params, const struct aw_dnn_view *v); /* y, x */
int aw_dnn_slice(const void *params, const struct aw_dnn_view *v);     /* y, x */
int aw_dnn_concat(const void *params, const struct aw_dnn_view *v);    /* y, inputs; n of them */

/* Is y another order of x's dimensions, strides included?  Dimension i of y is ret_at[i] of x. */
bool aw_dnn_permutation(const struct aw_dnn_shape *x, const struct aw_dnn_shape *y, int ret_at[]);

/* ---- Random numbers (random.c): y, seed, offset. */
struct aw_dnn_random {
    int distribution; /* 0 Bernoulli, 1 uniform, 2 normal */
    double a, b;      /* probability of 1; least and most; mean and deviation */
    int64_t seed;     /* where no tensor has it */
};
int aw_dnn_random(const void *params, const struct aw_dnn_view *v);
/* Number `index` of the sequence `seed`, `offset`: uniform in [0, 1). */
double aw_dnn_uniform(uint64_t seed, uint64_t offset, uint64_t index);

#endif
