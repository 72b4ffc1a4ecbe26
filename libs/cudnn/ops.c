/* The v7-style interface's layers without weights: tensor operations, activation, softmax, pooling, reductions. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cudnn"
#include <math.h>

#include "base/log.h"
#include "cudnn_proto.h"
#include "handle.h"

double aw_dnn_scale(const void *at, cudnnDataType_t type)
{
    return type == CUDNN_DATA_DOUBLE ? *(const double *)at : *(const float *)at;
}

/* May `a` be repeated to `c`'s sizes? */
static bool repeats(const struct aw_dnn_shape *a, const struct aw_dnn_shape *c)
{
    if (a->n > c->n)
        return false;
    for (int i = 0; i < a->n; i++)
        if (a->dim[i] != 1 && a->dim[i] != c->dim[i + c->n - a->n])
            return false;
    return true;
}

/* ---- y = alpha x + beta y, and what is like it */

static cudnnStatus_t blend(cudnnHandle_t handle, const void *alpha, cudnnTensorDescriptor_t x_desc, const void *x,
                           const void *beta, cudnnTensorDescriptor_t y_desc, void *y)
{
    AW_DNN_NEED(handle, alpha && x_desc && x && beta && y_desc && y && repeats(&x_desc->s, &y_desc->s));
    struct aw_dnn_move m = { .alpha = aw_dnn_scale(alpha, y_desc->s.type), .beta = aw_dnn_scale(beta, y_desc->s.type) };
    return AW_DNN_RUN(handle, aw_dnn_copy, m, AW_DNN_MADE(y_desc, y, m.beta), AW_DNN_GIVEN(x_desc, x));
}

cudnnStatus_t awcudnn_cudnnTransformTensor(cudnnHandle_t handle, const void *alpha, cudnnTensorDescriptor_t x_desc, const void *x,
                                           const void *beta, cudnnTensorDescriptor_t y_desc, void *y)
{
    if (x_desc && y_desc && !aw_dnn_same_dims(&x_desc->s, &y_desc->s))
        return CUDNN_STATUS_BAD_PARAM;
    return blend(handle, alpha, x_desc, x, beta, y_desc, y);
}

cudnnStatus_t awcudnn_cudnnAddTensor(cudnnHandle_t handle, const void *alpha, cudnnTensorDescriptor_t a_desc, const void *a,
                                     const void *beta, cudnnTensorDescriptor_t c_desc, void *c)
{
    return blend(handle, alpha, a_desc, a, beta, c_desc, c);
}

/* Every element becomes the parameter. */
static int set_all(const void *params, const struct aw_dnn_view *v)
{
    aw_dnn_fill(&v[0], *(const double *)params);
    return 0;
}

cudnnStatus_t awcudnn_cudnnSetTensor(cudnnHandle_t handle, cudnnTensorDescriptor_t desc, void *y, const void *value)
{
    AW_DNN_NEED(handle, desc && y && value);
    struct aw_dnn_view one = { .s = { .type = desc->s.type }, .at = (void *)value };
    double v = aw_dnn_get(&one, 0);
    return AW_DNN_RUN(handle, set_all, v, AW_DNN_MADE(desc, y, 0));
}

cudnnStatus_t awcudnn_cudnnScaleTensor(cudnnHandle_t handle, cudnnTensorDescriptor_t desc, void *y, const void *alpha)
{
    AW_DNN_NEED(handle, desc && y && alpha);
    struct aw_dnn_move m = { .alpha = aw_dnn_scale(alpha, desc->s.type) };
    return AW_DNN_RUN(handle, aw_dnn_copy, m, AW_DNN_MADE(desc, y, 0), AW_DNN_GIVEN(desc, y));
}

cudnnStatus_t awcudnn_cudnnOpTensor(cudnnHandle_t handle, cudnnOpTensorDescriptor_t op, const void *alpha1,
                                    cudnnTensorDescriptor_t a_desc, const void *a, const void *alpha2,
                                    cudnnTensorDescriptor_t b_desc, const void *b, const void *beta,
                                    cudnnTensorDescriptor_t c_desc, void *c)
{
    static const int modes[] = { AW_DNN_ADD, AW_DNN_MUL, AW_DNN_MIN, AW_DNN_MAX, AW_DNN_SQRT, AW_DNN_COMPLEMENT };
    bool one = op && op->op >= CUDNN_OP_TENSOR_SQRT;
    AW_DNN_NEED(handle, op && alpha1 && a_desc && a && beta && c_desc && c && (one || (alpha2 && b_desc && b)));
    if (!aw_dnn_same_dims(&a_desc->s, &c_desc->s) || (!one && !repeats(&b_desc->s, &c_desc->s)))
        return CUDNN_STATUS_BAD_PARAM;
    struct aw_dnn_pointwise p = aw_dnn_pointwise_init(modes[op->op]);
    cudnnDataType_t type = op->compute == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    p.alpha1 = aw_dnn_scale(alpha1, type);
    p.alpha2 = one ? 1 : aw_dnn_scale(alpha2, type);
    p.beta = aw_dnn_scale(beta, type);
    return AW_DNN_RUN(handle, aw_dnn_pointwise, p, AW_DNN_MADE(c_desc, c, p.beta), AW_DNN_GIVEN(a_desc, a),
                      AW_DNN_GIVEN(one ? NULL : b_desc, b));
}

/* ---- Reductions */

static size_t index_bytes(const struct cudnnReduceTensorStruct *r, const struct aw_dnn_shape *c)
{
    bool extreme = r->op == CUDNN_REDUCE_TENSOR_MIN || r->op == CUDNN_REDUCE_TENSOR_MAX;
    return extreme && r->indices == CUDNN_REDUCE_TENSOR_FLATTENED_INDICES ? (size_t)aw_dnn_count(c) * sizeof(uint32_t) : 0;
}

cudnnStatus_t awcudnn_cudnnGetReductionIndicesSize(cudnnHandle_t handle, cudnnReduceTensorDescriptor_t r,
                                                   cudnnTensorDescriptor_t a_desc, cudnnTensorDescriptor_t c_desc, size_t *size)
{
    AW_DNN_NEED(handle, r && a_desc && c_desc && size);
    *size = index_bytes(r, &c_desc->s);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnGetReductionWorkspaceSize(cudnnHandle_t handle, cudnnReduceTensorDescriptor_t r,
                                                     cudnnTensorDescriptor_t a_desc, cudnnTensorDescriptor_t c_desc, size_t *size)
{
    AW_DNN_NEED(handle, r && a_desc && c_desc && size);
    *size = 0;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnReduceTensor(cudnnHandle_t handle, cudnnReduceTensorDescriptor_t r, void *indices, size_t indices_size,
                                        void *workspace, size_t workspace_size, const void *alpha, cudnnTensorDescriptor_t a_desc,
                                        const void *a, const void *beta, cudnnTensorDescriptor_t c_desc, void *c)
{
    AW_DNN_NEED(handle, r && alpha && a_desc && a && beta && c_desc && c && a_desc->s.n == c_desc->s.n);
    for (int i = 0; i < c_desc->s.n; i++)
        if (c_desc->s.dim[i] != 1 && c_desc->s.dim[i] != a_desc->s.dim[i])
            return CUDNN_STATUS_BAD_PARAM;
    size_t need = index_bytes(r, &c_desc->s);
    if (need && r->index_type != CUDNN_32BIT_INDICES) {
        aw_say(CUDNN_INDICES);
        return CUDNN_STATUS_NOT_SUPPORTED;
    }
    if (need && (!indices || indices_size < need))
        return CUDNN_STATUS_BAD_PARAM;
    struct aw_dnn_shape places = c_desc->s;
    places.type = CUDNN_DATA_UINT32;
    aw_dnn_pack(&places);
    cudnnDataType_t type = r->compute == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    struct aw_dnn_reduce p = { r->op, aw_dnn_scale(alpha, type), aw_dnn_scale(beta, type), r->nan == CUDNN_NOT_PROPAGATE_NAN };
    return AW_DNN_RUN(handle, aw_dnn_reduce, p, AW_DNN_MADE(c_desc, c, p.beta), AW_DNN_GIVEN(a_desc, a),
                      { need ? &places : NULL, indices, AW_LIB_OUT });
}

/* ---- Activation */

bool aw_dnn_activation(const struct cudnnActivationStruct *a, bool gradient, struct aw_dnn_pointwise *ret)
{
    static const int modes[][2] = {
        [CUDNN_ACTIVATION_SIGMOID] = { AW_DNN_SIGMOID_FWD, AW_DNN_SIGMOID_BWD_BY_Y },
        [CUDNN_ACTIVATION_RELU] = { AW_DNN_RELU_FWD, AW_DNN_RELU_BWD },
        [CUDNN_ACTIVATION_TANH] = { AW_DNN_TANH_FWD, AW_DNN_TANH_BWD_BY_Y },
        [CUDNN_ACTIVATION_CLIPPED_RELU] = { AW_DNN_RELU_FWD, AW_DNN_RELU_BWD },
        [CUDNN_ACTIVATION_ELU] = { AW_DNN_ELU_FWD, AW_DNN_ELU_BWD_BY_Y },
        [CUDNN_ACTIVATION_IDENTITY] = { AW_DNN_IDENTITY, AW_DNN_IDENTITY },
        [CUDNN_ACTIVATION_SWISH] = { AW_DNN_SWISH_FWD, AW_DNN_SWISH_BWD },
    };
    if (a->mode > CUDNN_ACTIVATION_SWISH)
        return false;
    *ret = aw_dnn_pointwise_init(modes[a->mode][gradient]);
    if (a->mode == CUDNN_ACTIVATION_CLIPPED_RELU)
        ret->upper = a->coef;
    ret->elu_alpha = a->coef;
    ret->swish_beta = a->swish_beta;
    return true;
}

cudnnStatus_t awcudnn_cudnnActivationForward(cudnnHandle_t handle, cudnnActivationDescriptor_t activation, const void *alpha,
                                             cudnnTensorDescriptor_t x_desc, const void *x, const void *beta,
                                             cudnnTensorDescriptor_t y_desc, void *y)
{
    struct aw_dnn_pointwise p;
    AW_DNN_NEED(handle, activation && alpha && x_desc && x && beta && y_desc && y && aw_dnn_same_dims(&x_desc->s, &y_desc->s));
    if (!aw_dnn_activation(activation, false, &p))
        return CUDNN_STATUS_BAD_PARAM;
    p.scale = aw_dnn_scale(alpha, x_desc->s.type);
    p.beta = aw_dnn_scale(beta, x_desc->s.type);
    return AW_DNN_RUN(handle, aw_dnn_pointwise, p, AW_DNN_MADE(y_desc, y, p.beta), AW_DNN_GIVEN(x_desc, x));
}

/* A number as a tensor holds it. */
static double held(const struct aw_dnn_shape *s, double value)
{
    double room = 0;
    struct aw_dnn_view v = { *s, &room };
    aw_dnn_put(&v, 0, value);
    return aw_dnn_get(&v, 0);
}

cudnnStatus_t awcudnn_cudnnActivationBackward(cudnnHandle_t handle, cudnnActivationDescriptor_t activation, const void *alpha,
                                              cudnnTensorDescriptor_t y_desc, const void *y, cudnnTensorDescriptor_t dy_desc,
                                              const void *dy, cudnnTensorDescriptor_t x_desc, const void *x, const void *beta,
                                              cudnnTensorDescriptor_t dx_desc, void *dx)
{
    struct aw_dnn_pointwise p;
    AW_DNN_NEED(handle, activation && alpha && y_desc && dy_desc && dy && beta && dx_desc && dx &&
                            aw_dnn_same_dims(&dy_desc->s, &dx_desc->s));
    bool by_x = activation->mode == CUDNN_ACTIVATION_SWISH, by_dy = activation->mode == CUDNN_ACTIVATION_IDENTITY;
    if (!aw_dnn_activation(activation, true, &p) ||
        (by_x ? !x_desc || !x || !aw_dnn_same_dims(&x_desc->s, &dy_desc->s) : !by_dy && !y))
        return CUDNN_STATUS_BAD_PARAM;
    if (!by_x && !by_dy && !aw_dnn_same_dims(&y_desc->s, &dy_desc->s))
        return CUDNN_STATUS_BAD_PARAM;
    p.scale = aw_dnn_scale(alpha, dy_desc->s.type);
    p.beta = aw_dnn_scale(beta, dy_desc->s.type);
    if (by_dy)
        return AW_DNN_RUN(handle, aw_dnn_pointwise, p, AW_DNN_MADE(dx_desc, dx, p.beta), AW_DNN_GIVEN(dy_desc, dy));
    if (activation->mode == CUDNN_ACTIVATION_CLIPPED_RELU)
        p.upper = held(&y_desc->s, p.upper); /* what was clipped is that, which may be less than the bound */
    return AW_DNN_RUN(handle, aw_dnn_pointwise, p, AW_DNN_MADE(dx_desc, dx, p.beta),
                      AW_DNN_GIVEN(by_x ? x_desc : y_desc, by_x ? x : y), AW_DNN_GIVEN(dy_desc, dy));
}

/* ---- Softmax */

static bool softmax_params(cudnnSoftmaxAlgorithm_t algo, cudnnSoftmaxMode_t mode, const void *alpha, const void *beta,
                           const struct aw_dnn_shape *s, struct aw_dnn_softmax *ret)
{
    if (algo > CUDNN_SOFTMAX_LOG || mode > CUDNN_SOFTMAX_MODE_CHANNEL || s->n < 2)
        return false;
    *ret = (struct aw_dnn_softmax){ 1, mode == CUDNN_SOFTMAX_MODE_CHANNEL ? 1 : s->n - 1, algo == CUDNN_SOFTMAX_LOG,
                                    aw_dnn_scale(alpha, s->type), aw_dnn_scale(beta, s->type) };
    return true;
}

cudnnStatus_t awcudnn_cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algo, cudnnSoftmaxMode_t mode,
                                          const void *alpha, cudnnTensorDescriptor_t x_desc, const void *x, const void *beta,
                                          cudnnTensorDescriptor_t y_desc, void *y)
{
    struct aw_dnn_softmax p;
    AW_DNN_NEED(handle, alpha && x_desc && x && beta && y_desc && y && aw_dnn_same_dims(&x_desc->s, &y_desc->s));
    if (!softmax_params(algo, mode, alpha, beta, &x_desc->s, &p))
        return CUDNN_STATUS_BAD_PARAM;
    return AW_DNN_RUN(handle, aw_dnn_softmax_forward, p, AW_DNN_MADE(y_desc, y, p.beta), AW_DNN_GIVEN(x_desc, x));
}

cudnnStatus_t awcudnn_cudnnSoftmaxBackward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algo, cudnnSoftmaxMode_t mode,
                                           const void *alpha, cudnnTensorDescriptor_t y_desc, const void *y,
                                           cudnnTensorDescriptor_t dy_desc, const void *dy, const void *beta,
                                           cudnnTensorDescriptor_t dx_desc, void *dx)
{
    struct aw_dnn_softmax p;
    AW_DNN_NEED(handle, alpha && y_desc && y && dy_desc && dy && beta && dx_desc && dx &&
                            aw_dnn_same_dims(&y_desc->s, &dx_desc->s) && aw_dnn_same_dims(&dy_desc->s, &dx_desc->s));
    if (!softmax_params(algo, mode, alpha, beta, &y_desc->s, &p))
        return CUDNN_STATUS_BAD_PARAM;
    return AW_DNN_RUN(handle, aw_dnn_softmax_backward, p, AW_DNN_MADE(dx_desc, dx, p.beta), AW_DNN_GIVEN(y_desc, y),
                      AW_DNN_GIVEN(dy_desc, dy));
}

/* ---- Pooling */

static cudnnStatus_t pool_params(const struct cudnnPoolingStruct *d, const struct aw_dnn_shape *x, const struct aw_dnn_shape *y,
                                 const void *alpha, const void *beta, struct aw_dnn_pool *ret)
{
    if (x->n != d->n + 2 || y->n != x->n || x->dim[0] != y->dim[0] || x->dim[1] != y->dim[1])
        return CUDNN_STATUS_BAD_PARAM;
    if (d->n < 1 || d->n > AW_DNN_SPATIAL)
        return CUDNN_STATUS_NOT_SUPPORTED;
    *ret = (struct aw_dnn_pool){ .n = d->n,
                                 .alpha = aw_dnn_scale(alpha, x->type),
                                 .beta = aw_dnn_scale(beta, x->type),
                                 .skip_nan = d->nan == CUDNN_NOT_PROPAGATE_NAN };
    ret->mode = d->mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING   ? AW_DNN_POOL_MEAN
                : d->mode == CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING ? AW_DNN_POOL_MEAN_INSIDE
                                                                         : AW_DNN_POOL_MAX;
    for (int i = 0; i < d->n; i++) {
        /* The last windows may reach past the padding, not begin behind the input. */
        int64_t room = x->dim[i + 2] + 2 * d->pad[i] - d->window[i], least = room < 0 ? 0 : room / d->stride[i] + 1;
        if (!least || y->dim[i + 2] < least ||
            (y->dim[i + 2] > least && (y->dim[i + 2] - 1) * d->stride[i] >= x->dim[i + 2] + d->pad[i]))
            return CUDNN_STATUS_BAD_PARAM;
        ret->window[i] = d->window[i];
        ret->pre[i] = d->pad[i];
        ret->stride[i] = d->stride[i];
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnPoolingForward(cudnnHandle_t handle, cudnnPoolingDescriptor_t d, const void *alpha,
                                          cudnnTensorDescriptor_t x_desc, const void *x, const void *beta,
                                          cudnnTensorDescriptor_t y_desc, void *y)
{
    struct aw_dnn_pool p;
    AW_DNN_NEED(handle, d && alpha && x_desc && x && beta && y_desc && y);
    cudnnStatus_t status = pool_params(d, &x_desc->s, &y_desc->s, alpha, beta, &p);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    return AW_DNN_RUN(handle, aw_dnn_pool_forward, p, AW_DNN_MADE(y_desc, y, p.beta), AW_DNN_GIVEN(x_desc, x));
}

cudnnStatus_t awcudnn_cudnnPoolingBackward(cudnnHandle_t handle, cudnnPoolingDescriptor_t d, const void *alpha,
                                           cudnnTensorDescriptor_t y_desc, const void *y, cudnnTensorDescriptor_t dy_desc,
                                           const void *dy, cudnnTensorDescriptor_t x_desc, const void *x, const void *beta,
                                           cudnnTensorDescriptor_t dx_desc, void *dx)
{
    struct aw_dnn_pool p;
    AW_DNN_NEED(handle,
                d && alpha && dy_desc && dy && x_desc && beta && dx_desc && dx && aw_dnn_same_dims(&x_desc->s, &dx_desc->s));
    cudnnStatus_t status = pool_params(d, &dx_desc->s, &dy_desc->s, alpha, beta, &p);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    if (p.mode == AW_DNN_POOL_MAX && !x)
        return CUDNN_STATUS_BAD_PARAM;
    return AW_DNN_RUN(handle, aw_dnn_pool_backward, p, AW_DNN_MADE(dx_desc, dx, p.beta), AW_DNN_GIVEN(dy_desc, dy),
                      AW_DNN_GIVEN(p.mode == AW_DNN_POOL_MAX ? x_desc : NULL, x));
}
