/* Batch norm and its later form, "normalization", in the v7-style interface. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cudnn_proto.h"
#include "handle.h"

/* What all forms have in common. */
struct call {
    bool spatial; /* statistics per channel, else per activation */
    bool add, activation;
    cudnnTensorDescriptor_t param; /* of scale, bias and statistics */
};

/* Sizes of statistics for `x`. */
static void derive(const struct aw_dnn_shape *x, bool spatial, struct aw_dnn_shape *ret)
{
    *ret = *x;
    for (int i = 0; i < x->n; i++)
        if (i == 0 || (spatial && i != 1))
            ret->dim[i] = 1;
    ret->type = x->type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    aw_dnn_pack(ret);
}

/* The norm's parameters: false where the sizes are not those of the mode. */
static bool norm_params(const struct call *c, const struct aw_dnn_shape *x, const void *alpha, const void *beta, double epsilon,
                        struct aw_dnn_norm *ret)
{
    *ret = (struct aw_dnn_norm){ .centred = true,
                                 .epsilon = epsilon,
                                 .activation = c->activation ? AW_DNN_RELU_FWD : -1,
                                 .alpha = aw_dnn_scale(alpha, x->type),
                                 .beta = aw_dnn_scale(beta, x->type),
                                 .param_alpha = 1 };
    derive(x, c->spatial, &ret->stats);
    return c->param && c->param->s.n && aw_dnn_same_dims(&c->param->s, &ret->stats) && epsilon >= 0;
}

/* Only these activations go with a norm. */
static cudnnStatus_t activation_check(struct call *c, int ops, const struct cudnnActivationStruct *activation)
{
    c->add = ops == CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION;
    c->activation = false;
    if (ops == CUDNN_BATCHNORM_OPS_BN)
        return CUDNN_STATUS_SUCCESS;
    if (ops > CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION || !activation)
        return CUDNN_STATUS_BAD_PARAM;
    if (activation->mode == CUDNN_ACTIVATION_IDENTITY)
        return CUDNN_STATUS_SUCCESS;
    c->activation = true;
    return activation->mode == CUDNN_ACTIVATION_RELU ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

static cudnnStatus_t inference(cudnnHandle_t handle, const struct call *c, const void *alpha, const void *beta,
                               cudnnTensorDescriptor_t x_desc, const void *x, cudnnTensorDescriptor_t y_desc, void *y,
                               const void *scale, const void *bias, const void *mean, const void *variance, double epsilon,
                               cudnnTensorDescriptor_t z_desc, const void *z)
{
    struct aw_dnn_norm p;
    AW_DNN_NEED(handle, alpha && beta && x_desc && x && y_desc && y && scale && bias && mean && variance && c->param);
    if (!aw_dnn_same_dims(&x_desc->s, &y_desc->s) || !norm_params(c, &x_desc->s, alpha, beta, epsilon, &p))
        return CUDNN_STATUS_BAD_PARAM;
    p.given = p.variance = true;
    return AW_DNN_RUN(handle, aw_dnn_norm_forward, p, AW_DNN_MADE(y_desc, y, p.beta), AW_DNN_GIVEN(x_desc, x),
                      AW_DNN_GIVEN(c->param, mean), AW_DNN_GIVEN(c->param, variance), AW_DNN_GIVEN(c->param, scale),
                      AW_DNN_GIVEN(c->param, bias), { 0 }, { 0 }, { 0 }, { 0 }, { 0 }, { 0 },
                      AW_DNN_GIVEN(c->add ? z_desc : NULL, z));
}

static cudnnStatus_t training(cudnnHandle_t handle, const struct call *c, const void *alpha, const void *beta,
                              cudnnTensorDescriptor_t x_desc, const void *x, cudnnTensorDescriptor_t z_desc, const void *z,
                              cudnnTensorDescriptor_t y_desc, void *y, const void *scale, const void *bias, double factor,
                              void *running_mean, void *running_variance, double epsilon, void *save_mean, void *save_inverse)
{
    struct aw_dnn_norm p;
    AW_DNN_NEED(handle, alpha && beta && x_desc && x && y_desc && y && scale && bias && c->param && (!c->add || (z_desc && z)));
    if (!aw_dnn_same_dims(&x_desc->s, &y_desc->s) || !norm_params(c, &x_desc->s, alpha, beta, epsilon, &p) ||
        !running_mean != !running_variance || !save_mean != !save_inverse)
        return CUDNN_STATUS_BAD_PARAM;
    p.factor = factor;
    return AW_DNN_RUN(handle, aw_dnn_norm_forward, p, AW_DNN_MADE(y_desc, y, p.beta), AW_DNN_GIVEN(x_desc, x),
                      AW_DNN_MADE(c->param, save_mean, 0), AW_DNN_MADE(c->param, save_inverse, 0), AW_DNN_GIVEN(c->param, scale),
                      AW_DNN_GIVEN(c->param, bias), { 0 }, { 0 }, AW_DNN_GIVEN(c->param, running_mean),
                      AW_DNN_GIVEN(c->param, running_variance), AW_DNN_MADE(c->param, running_mean, 0),
                      AW_DNN_MADE(c->param, running_variance, 0), AW_DNN_GIVEN(c->add ? z_desc : NULL, z));
}

static cudnnStatus_t backward(cudnnHandle_t handle, const struct call *c, const void *alpha, const void *beta,
                              const void *param_alpha, const void *param_beta, cudnnTensorDescriptor_t x_desc, const void *x,
                              cudnnTensorDescriptor_t y_desc, const void *y, cudnnTensorDescriptor_t dy_desc, const void *dy,
                              cudnnTensorDescriptor_t dz_desc, void *dz, cudnnTensorDescriptor_t dx_desc, void *dx,
                              const void *scale, void *dscale, void *dbias, double epsilon, const void *mean, const void *inverse)
{
    struct aw_dnn_norm p;
    AW_DNN_NEED(handle, alpha && beta && param_alpha && param_beta && x_desc && x && dy_desc && dy && dx_desc && dx && scale &&
                            dscale && dbias && c->param && !mean == !inverse);
    if (!aw_dnn_same_dims(&x_desc->s, &dy_desc->s) || !aw_dnn_same_dims(&x_desc->s, &dx_desc->s) ||
        !norm_params(c, &x_desc->s, alpha, beta, epsilon, &p) || (c->activation && (!y_desc || !y)) ||
        (c->add && (!dz_desc || !dz)))
        return CUDNN_STATUS_BAD_PARAM;
    p.param_alpha = aw_dnn_scale(param_alpha, x_desc->s.type);
    p.param_beta = aw_dnn_scale(param_beta, x_desc->s.type);
    return AW_DNN_RUN(handle, aw_dnn_norm_backward, p, AW_DNN_MADE(dx_desc, dx, p.beta), AW_DNN_GIVEN(x_desc, x),
                      AW_DNN_GIVEN(dy_desc, dy), AW_DNN_GIVEN(c->param, mean), AW_DNN_GIVEN(c->param, inverse),
                      AW_DNN_GIVEN(c->param, scale), AW_DNN_MADE(c->param, dscale, p.param_beta),
                      AW_DNN_MADE(c->param, dbias, p.param_beta), { 0 }, { 0 }, AW_DNN_GIVEN(c->activation ? y_desc : NULL, y),
                      AW_DNN_MADE(c->add ? dz_desc : NULL, dz, 0));
}

/* ---- Batch norm */

cudnnStatus_t awcudnn_cudnnDeriveBNTensorDescriptor(cudnnTensorDescriptor_t derived, cudnnTensorDescriptor_t x,
                                                    cudnnBatchNormMode_t mode)
{
    if (!derived || !x || !x->s.n || mode > CUDNN_BATCHNORM_SPATIAL_PERSISTENT)
        return CUDNN_STATUS_BAD_PARAM;
    derive(&x->s, mode != CUDNN_BATCHNORM_PER_ACTIVATION, &derived->s);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnBatchNormalizationForwardInference(cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alpha,
                                                              const void *beta, cudnnTensorDescriptor_t x_desc, const void *x,
                                                              cudnnTensorDescriptor_t y_desc, void *y,
                                                              cudnnTensorDescriptor_t param, const void *scale, const void *bias,
                                                              const void *mean, const void *variance, double epsilon)
{
    struct call c = { .spatial = mode != CUDNN_BATCHNORM_PER_ACTIVATION, .param = param };
    return inference(handle, &c, alpha, beta, x_desc, x, y_desc, y, scale, bias, mean, variance, epsilon, NULL, NULL);
}

cudnnStatus_t awcudnn_cudnnBatchNormalizationForwardTraining(cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alpha,
                                                             const void *beta, cudnnTensorDescriptor_t x_desc, const void *x,
                                                             cudnnTensorDescriptor_t y_desc, void *y,
                                                             cudnnTensorDescriptor_t param, const void *scale, const void *bias,
                                                             double factor, void *running_mean, void *running_variance,
                                                             double epsilon, void *save_mean, void *save_inverse)
{
    struct call c = { .spatial = mode != CUDNN_BATCHNORM_PER_ACTIVATION, .param = param };
    return training(handle, &c, alpha, beta, x_desc, x, NULL, NULL, y_desc, y, scale, bias, factor, running_mean,
                    running_variance, epsilon, save_mean, save_inverse);
}

cudnnStatus_t awcudnn_cudnnBatchNormalizationForwardTrainingEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, const void *alpha, const void *beta,
    cudnnTensorDescriptor_t x_desc, const void *x, cudnnTensorDescriptor_t z_desc, const void *z, cudnnTensorDescriptor_t y_desc,
    void *y, cudnnTensorDescriptor_t param, const void *scale, const void *bias, double factor, void *running_mean,
    void *running_variance, double epsilon, void *save_mean, void *save_inverse, cudnnActivationDescriptor_t activation,
    void *workspace, size_t workspace_size, void *reserve, size_t reserve_size)
{
    struct call c = { .spatial = mode != CUDNN_BATCHNORM_PER_ACTIVATION, .param = param };
    cudnnStatus_t status = activation_check(&c, (int)ops, activation);
    return status != CUDNN_STATUS_SUCCESS ? status
                                          : training(handle, &c, alpha, beta, x_desc, x, z_desc, z, y_desc, y, scale, bias,
                                                     factor, running_mean, running_variance, epsilon, save_mean, save_inverse);
}

cudnnStatus_t awcudnn_cudnnBatchNormalizationBackward(cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alpha,
                                                      const void *beta, const void *param_alpha, const void *param_beta,
                                                      cudnnTensorDescriptor_t x_desc, const void *x,
                                                      cudnnTensorDescriptor_t dy_desc, const void *dy,
                                                      cudnnTensorDescriptor_t dx_desc, void *dx, cudnnTensorDescriptor_t param,
                                                      const void *scale, void *dscale, void *dbias, double epsilon,
                                                      const void *mean, const void *inverse)
{
    struct call c = { .spatial = mode != CUDNN_BATCHNORM_PER_ACTIVATION, .param = param };
    return backward(handle, &c, alpha, beta, param_alpha, param_beta, x_desc, x, NULL, NULL, dy_desc, dy, NULL, NULL, dx_desc, dx,
                    scale, dscale, dbias, epsilon, mean, inverse);
}

cudnnStatus_t awcudnn_cudnnBatchNormalizationBackwardEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, const void *alpha, const void *beta,
    const void *param_alpha, const void *param_beta, cudnnTensorDescriptor_t x_desc, const void *x,
    cudnnTensorDescriptor_t y_desc, const void *y, cudnnTensorDescriptor_t dy_desc, const void *dy,
    cudnnTensorDescriptor_t dz_desc, void *dz, cudnnTensorDescriptor_t dx_desc, void *dx, cudnnTensorDescriptor_t param,
    const void *scale, const void *bias, void *dscale, void *dbias, double epsilon, const void *mean, const void *inverse,
    cudnnActivationDescriptor_t activation, void *workspace, size_t workspace_size, void *reserve, size_t reserve_size)
{
    struct call c = { .spatial = mode != CUDNN_BATCHNORM_PER_ACTIVATION, .param = param };
    cudnnStatus_t status = activation_check(&c, (int)ops, activation);
    return status != CUDNN_STATUS_SUCCESS
               ? status
               : backward(handle, &c, alpha, beta, param_alpha, param_beta, x_desc, x, y_desc, y, dy_desc, dy, dz_desc, dz,
                          dx_desc, dx, scale, dscale, dbias, epsilon, mean, inverse);
}

/* Nothing here needs memory beside its tensors. */
static cudnnStatus_t no_memory(cudnnHandle_t handle, size_t *size)
{
    AW_DNN_NEED(handle, size);
    *size = 0;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, cudnnTensorDescriptor_t x,
    cudnnTensorDescriptor_t z, cudnnTensorDescriptor_t y, cudnnTensorDescriptor_t param, cudnnActivationDescriptor_t activation,
    size_t *size)
{
    return no_memory(handle, size);
}

cudnnStatus_t awcudnn_cudnnGetBatchNormalizationBackwardExWorkspaceSize(cudnnHandle_t handle, cudnnBatchNormMode_t mode,
                                                                        cudnnBatchNormOps_t ops, cudnnTensorDescriptor_t x,
                                                                        cudnnTensorDescriptor_t y, cudnnTensorDescriptor_t dy,
                                                                        cudnnTensorDescriptor_t dz, cudnnTensorDescriptor_t dx,
                                                                        cudnnTensorDescriptor_t param,
                                                                        cudnnActivationDescriptor_t activation, size_t *size)
{
    return no_memory(handle, size);
}

cudnnStatus_t awcudnn_cudnnGetBatchNormalizationTrainingExReserveSpaceSize(cudnnHandle_t handle, cudnnBatchNormMode_t mode,
                                                                           cudnnBatchNormOps_t ops,
                                                                           cudnnActivationDescriptor_t activation,
                                                                           cudnnTensorDescriptor_t x, size_t *size)
{
    return no_memory(handle, size);
}

/* ---- "Normalization": the same with descriptors of their own for scale and bias, and for the statistics, of the same sizes. */

/* 0 and the call, or what is wrong with it. */
static cudnnStatus_t normalization(struct call *ret, cudnnNormMode_t mode, cudnnNormOps_t ops,
                                   cudnnActivationDescriptor_t activation, cudnnTensorDescriptor_t scale_bias,
                                   cudnnTensorDescriptor_t mean_var, int groups)
{
    *ret = (struct call){ .spatial = mode == CUDNN_NORM_PER_CHANNEL, .param = scale_bias };
    if (mode > CUDNN_NORM_PER_CHANNEL || groups != 1 || !scale_bias || !mean_var ||
        !aw_dnn_same_dims(&scale_bias->s, &mean_var->s) || scale_bias->s.type != mean_var->s.type)
        return CUDNN_STATUS_BAD_PARAM;
    return activation_check(ret, (int)ops, activation);
}

cudnnStatus_t awcudnn_cudnnDeriveNormTensorDescriptor(cudnnTensorDescriptor_t scale_bias, cudnnTensorDescriptor_t mean_var,
                                                      cudnnTensorDescriptor_t x, cudnnNormMode_t mode, int groups)
{
    if (!scale_bias || !mean_var || !x || !x->s.n || mode > CUDNN_NORM_PER_CHANNEL || groups != 1)
        return CUDNN_STATUS_BAD_PARAM;
    derive(&x->s, mode == CUDNN_NORM_PER_CHANNEL, &scale_bias->s);
    mean_var->s = scale_bias->s;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnNormalizationForwardInference(
    cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t ops, cudnnNormAlgo_t algo, const void *alpha, const void *beta,
    cudnnTensorDescriptor_t x_desc, const void *x, cudnnTensorDescriptor_t scale_bias, const void *scale, const void *bias,
    cudnnTensorDescriptor_t mean_var, const void *mean, const void *variance, cudnnTensorDescriptor_t z_desc, const void *z,
    cudnnActivationDescriptor_t activation, cudnnTensorDescriptor_t y_desc, void *y, double epsilon, int groups)
{
    struct call c;
    cudnnStatus_t status = normalization(&c, mode, ops, activation, scale_bias, mean_var, groups);
    return status != CUDNN_STATUS_SUCCESS
               ? status
               : inference(handle, &c, alpha, beta, x_desc, x, y_desc, y, scale, bias, mean, variance, epsilon, z_desc, z);
}

cudnnStatus_t awcudnn_cudnnNormalizationForwardTraining(
    cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t ops, cudnnNormAlgo_t algo, const void *alpha, const void *beta,
    cudnnTensorDescriptor_t x_desc, const void *x, cudnnTensorDescriptor_t scale_bias, const void *scale, const void *bias,
    double factor, cudnnTensorDescriptor_t mean_var, void *running_mean, void *running_variance, double epsilon, void *save_mean,
    void *save_inverse, cudnnActivationDescriptor_t activation, cudnnTensorDescriptor_t z_desc, const void *z,
    cudnnTensorDescriptor_t y_desc, void *y, void *workspace, size_t workspace_size, void *reserve, size_t reserve_size,
    int groups)
{
    struct call c;
    cudnnStatus_t status = normalization(&c, mode, ops, activation, scale_bias, mean_var, groups);
    return status != CUDNN_STATUS_SUCCESS ? status
                                          : training(handle, &c, alpha, beta, x_desc, x, z_desc, z, y_desc, y, scale, bias,
                                                     factor, running_mean, running_variance, epsilon, save_mean, save_inverse);
}

cudnnStatus_t awcudnn_cudnnNormalizationBackward(
    cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t ops, cudnnNormAlgo_t algo, const void *alpha, const void *beta,
    const void *param_alpha, const void *param_beta, cudnnTensorDescriptor_t x_desc, const void *x,
    cudnnTensorDescriptor_t y_desc, const void *y, cudnnTensorDescriptor_t dy_desc, const void *dy,
    cudnnTensorDescriptor_t dz_desc, void *dz, cudnnTensorDescriptor_t dx_desc, void *dx, cudnnTensorDescriptor_t scale_bias,
    const void *scale, const void *bias, void *dscale, void *dbias, double epsilon, cudnnTensorDescriptor_t mean_var,
    const void *mean, const void *inverse, cudnnActivationDescriptor_t activation, void *workspace, size_t workspace_size,
    void *reserve, size_t reserve_size, int groups)
{
    struct call c;
    cudnnStatus_t status = normalization(&c, mode, ops, activation, scale_bias, mean_var, groups);
    return status != CUDNN_STATUS_SUCCESS
               ? status
               : backward(handle, &c, alpha, beta, param_alpha, param_beta, x_desc, x, y_desc, y, dy_desc, dy, dz_desc, dz,
                          dx_desc, dx, scale, dscale, dbias, epsilon, mean, inverse);
}

cudnnStatus_t awcudnn_cudnnGetNormalizationForwardTrainingWorkspaceSize(
    cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t ops, cudnnNormAlgo_t algo, cudnnTensorDescriptor_t x,
    cudnnTensorDescriptor_t z, cudnnTensorDescriptor_t y, cudnnTensorDescriptor_t scale_bias,
    cudnnActivationDescriptor_t activation, cudnnTensorDescriptor_t mean_var, size_t *size, int groups)
{
    return no_memory(handle, size);
}

cudnnStatus_t awcudnn_cudnnGetNormalizationBackwardWorkspaceSize(cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t ops,
                                                                 cudnnNormAlgo_t algo, cudnnTensorDescriptor_t x,
                                                                 cudnnTensorDescriptor_t y, cudnnTensorDescriptor_t dy,
                                                                 cudnnTensorDescriptor_t dz, cudnnTensorDescriptor_t dx,
                                                                 cudnnTensorDescriptor_t scale_bias,
                                                                 cudnnActivationDescriptor_t activation,
                                                                 cudnnTensorDescriptor_t mean_var, size_t *size, int groups)
{
    return no_memory(handle, size);
}

cudnnStatus_t awcudnn_cudnnGetNormalizationTrainingReserveSpaceSize(cudnnHandle_t handle, cudnnNormMode_t mode,
                                                                    cudnnNormOps_t ops, cudnnNormAlgo_t algo,
                                                                    cudnnActivationDescriptor_t activation,
                                                                    cudnnTensorDescriptor_t x, size_t *size, int groups)
{
    return no_memory(handle, size);
}
