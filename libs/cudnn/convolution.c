/* Convolution in the v7-style interface.  All of cuDNN's algorithms are one here, which needs no workspace. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "cudnn_proto.h"
#include "handle.h"

/* The kernel's parameters for a descriptor, or why there are none. */
static cudnnStatus_t convolution_params(const struct cudnnConvolutionStruct *d, enum aw_dnn_convolve_kind kind,
                                        const struct aw_dnn_shape *x, const struct aw_dnn_shape *w, const struct aw_dnn_shape *y,
                                        struct aw_dnn_convolution *ret)
{
    if (d->n > AW_DNN_SPATIAL)
        return CUDNN_STATUS_NOT_SUPPORTED;
    *ret = (struct aw_dnn_convolution){ .n = d->n, .flip = d->mode == CUDNN_CONVOLUTION, .kind = kind, .alpha = 1 };
    for (int i = 0; i < d->n; i++) {
        ret->pre[i] = ret->post[i] = d->pad[i];
        ret->stride[i] = d->stride[i];
        ret->dilation[i] = d->dilation[i];
    }
    if (!aw_dnn_convolution_valid(ret, x, w, y) || x->dim[1] != w->dim[1] * d->groups)
        return aw_dnn_fail(CUDNN_STATUS_BAD_PARAM, "sizes of the convolution's tensors do not fit each other");
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t convolve(cudnnHandle_t handle, enum aw_dnn_convolve_kind kind, const struct cudnnConvolutionStruct *d,
                              const void *alpha, const struct aw_dnn_shape *xs, const void *x, const struct aw_dnn_shape *ws,
                              const void *w, const struct aw_dnn_shape *ys, const void *y, const void *beta)
{
    struct aw_dnn_convolution p;
    cudnnStatus_t status = convolution_params(d, kind, xs, ws, ys, &p);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    p.alpha = aw_dnn_scale(alpha, xs->type);
    p.beta = aw_dnn_scale(beta, xs->type);
    unsigned out = AW_LIB_OUT | (p.beta != 0 ? AW_LIB_IN : 0);
    return AW_DNN_RUN(handle, aw_dnn_convolve, p, { xs, x, kind == AW_DNN_BACKWARD_DATA ? out : AW_LIB_IN },
                      { ws, w, kind == AW_DNN_BACKWARD_FILTER ? out : AW_LIB_IN },
                      { ys, y, kind == AW_DNN_FORWARD ? out : AW_LIB_IN });
}

cudnnStatus_t awcudnn_cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha, cudnnTensorDescriptor_t x_desc,
                                              const void *x, cudnnFilterDescriptor_t w_desc, const void *w,
                                              cudnnConvolutionDescriptor_t d, cudnnConvolutionFwdAlgo_t algo, void *workspace,
                                              size_t workspace_size, const void *beta, cudnnTensorDescriptor_t y_desc, void *y)
{
    AW_DNN_NEED(handle, alpha && x_desc && x && w_desc && w && d && beta && y_desc && y &&
                            algo <= CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED);
    return convolve(handle, AW_DNN_FORWARD, d, alpha, &x_desc->s, x, &w_desc->s, w, &y_desc->s, y, beta);
}

cudnnStatus_t awcudnn_cudnnConvolutionBackwardData(cudnnHandle_t handle, const void *alpha, cudnnFilterDescriptor_t w_desc,
                                                   const void *w, cudnnTensorDescriptor_t dy_desc, const void *dy,
                                                   cudnnConvolutionDescriptor_t d, cudnnConvolutionBwdDataAlgo_t algo,
                                                   void *workspace, size_t workspace_size, const void *beta,
                                                   cudnnTensorDescriptor_t dx_desc, void *dx)
{
    AW_DNN_NEED(handle, alpha && w_desc && w && dy_desc && dy && d && beta && dx_desc && dx &&
                            algo <= CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED);
    return convolve(handle, AW_DNN_BACKWARD_DATA, d, alpha, &dx_desc->s, dx, &w_desc->s, w, &dy_desc->s, dy, beta);
}

cudnnStatus_t awcudnn_cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void *alpha, cudnnTensorDescriptor_t x_desc,
                                                     const void *x, cudnnTensorDescriptor_t dy_desc, const void *dy,
                                                     cudnnConvolutionDescriptor_t d, cudnnConvolutionBwdFilterAlgo_t algo,
                                                     void *workspace, size_t workspace_size, const void *beta,
                                                     cudnnFilterDescriptor_t dw_desc, void *dw)
{
    AW_DNN_NEED(handle, alpha && x_desc && x && dy_desc && dy && d && beta && dw_desc && dw &&
                            algo <= CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING);
    return convolve(handle, AW_DNN_BACKWARD_FILTER, d, alpha, &x_desc->s, x, &dw_desc->s, dw, &dy_desc->s, dy, beta);
}

cudnnStatus_t awcudnn_cudnnConvolutionBackwardBias(cudnnHandle_t handle, const void *alpha, cudnnTensorDescriptor_t dy_desc,
                                                   const void *dy, const void *beta, cudnnTensorDescriptor_t db_desc, void *db)
{
    AW_DNN_NEED(handle, alpha && dy_desc && dy && beta && db_desc && db && dy_desc->s.n == db_desc->s.n);
    for (int i = 0; i < db_desc->s.n; i++)
        if (db_desc->s.dim[i] != (i == 1 ? dy_desc->s.dim[1] : 1))
            return CUDNN_STATUS_BAD_PARAM;
    struct aw_dnn_reduce p = { .op = CUDNN_REDUCE_TENSOR_ADD,
                               .alpha = aw_dnn_scale(alpha, dy_desc->s.type),
                               .beta = aw_dnn_scale(beta, dy_desc->s.type) };
    return AW_DNN_RUN(handle, aw_dnn_reduce, p, AW_DNN_MADE(db_desc, db, p.beta), AW_DNN_GIVEN(dy_desc, dy));
}

/* ---- y = act(alpha1 conv(x) + alpha2 z + bias): a program of up to four nodes. */

struct fused {
    struct aw_dnn_program *p;
    void *pointers[8];
    bool good;
};

static int fused_tensor(struct fused *f, const struct aw_dnn_shape *s, const void *at, enum aw_dnn_storage storage, unsigned dir)
{
    int t = f->good ? aw_dnn_program_tensor(f->p, s, storage, dir) : -1;
    f->good &= t >= 0;
    if (t >= 0)
        f->pointers[t] = (void *)at;
    return t;
}

/* out = in + alpha2 b in a new virtual tensor. */
static int fused_add(struct fused *f, const struct aw_dnn_shape *s, int in, int b, double alpha2)
{
    struct aw_dnn_pointwise add = aw_dnn_pointwise_init(AW_DNN_ADD);
    int out = fused_tensor(f, s, NULL, AW_DNN_VIRTUAL, 0);
    add.alpha2 = alpha2;
    f->good = f->good && aw_dnn_program_node(f->p, aw_dnn_pointwise, &add, sizeof add, 3, (const int[]){ out, in, b });
    return out;
}

cudnnStatus_t awcudnn_cudnnConvolutionBiasActivationForward(
    cudnnHandle_t handle, const void *alpha1, cudnnTensorDescriptor_t x_desc, const void *x, cudnnFilterDescriptor_t w_desc,
    const void *w, cudnnConvolutionDescriptor_t d, cudnnConvolutionFwdAlgo_t algo, void *workspace, size_t workspace_size,
    const void *alpha2, cudnnTensorDescriptor_t z_desc, const void *z, cudnnTensorDescriptor_t bias_desc, const void *bias,
    cudnnActivationDescriptor_t activation, cudnnTensorDescriptor_t y_desc, void *y)
{
    struct aw_dnn_convolution conv;
    struct aw_dnn_pointwise act;
    AW_DNN_NEED(handle, alpha1 && x_desc && x && w_desc && w && d && alpha2 && bias_desc && bias && activation && y_desc && y);
    cudnnStatus_t status = convolution_params(d, AW_DNN_FORWARD, &x_desc->s, &w_desc->s, &y_desc->s, &conv);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    double scale2 = aw_dnn_scale(alpha2, x_desc->s.type);
    if (!aw_dnn_activation(activation, false, &act) || bias_desc->s.n != y_desc->s.n || bias_desc->s.dim[1] != y_desc->s.dim[1] ||
        aw_dnn_count(&bias_desc->s) != bias_desc->s.dim[1] ||
        (scale2 != 0 && (!z || !z_desc || !aw_dnn_same_dims(&z_desc->s, &y_desc->s))))
        return CUDNN_STATUS_BAD_PARAM;
    conv.alpha = aw_dnn_scale(alpha1, x_desc->s.type);
    struct aw_dnn_shape sum = y_desc->s;
    sum.type = sum.type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    struct fused f = { .p = aw_dnn_program_create() };
    f.good = f.p;
    int tx = fused_tensor(&f, &x_desc->s, x, AW_DNN_USER, AW_LIB_IN),
        tw = fused_tensor(&f, &w_desc->s, w, AW_DNN_USER, AW_LIB_IN);
    int at = fused_tensor(&f, &sum, NULL, AW_DNN_VIRTUAL, 0);
    f.good = f.good && aw_dnn_program_node(f.p, aw_dnn_convolve, &conv, sizeof conv, 3, (const int[]){ tx, tw, at });
    if (scale2 != 0)
        at = fused_add(&f, &sum, at, fused_tensor(&f, &z_desc->s, z, AW_DNN_USER, AW_LIB_IN), scale2);
    at = fused_add(&f, &sum, at, fused_tensor(&f, &bias_desc->s, bias, AW_DNN_USER, AW_LIB_IN), 1);
    int ty = fused_tensor(&f, &y_desc->s, y, AW_DNN_USER, AW_LIB_OUT);
    f.good = f.good && aw_dnn_program_node(f.p, aw_dnn_pointwise, &act, sizeof act, 2, (const int[]){ ty, at });
    status = f.good ? aw_dnn_program_submit(&handle->queue, f.p, f.pointers, AW_LIB_QUEUED) : CUDNN_STATUS_ALLOC_FAILED;
    aw_dnn_program_unref(f.p);
    return status;
}

/* ---- Sizes */

cudnnStatus_t awcudnn_cudnnGetConvolutionNdForwardOutputDim(cudnnConvolutionDescriptor_t d, cudnnTensorDescriptor_t in,
                                                            cudnnFilterDescriptor_t filter, int n, int *dim)
{
    if (!d || !in || !filter || !dim || in->s.n != d->n + 2 || filter->s.n != in->s.n || n < in->s.n ||
        in->s.dim[1] != filter->s.dim[1] * d->groups)
        return CUDNN_STATUS_BAD_PARAM;
    dim[0] = (int)in->s.dim[0];
    dim[1] = (int)filter->s.dim[0];
    for (int i = 0; i < d->n; i++) {
        int64_t room = in->s.dim[i + 2] + 2 * d->pad[i] - ((filter->s.dim[i + 2] - 1) * d->dilation[i] + 1);
        if (room < 0)
            return CUDNN_STATUS_BAD_PARAM;
        dim[i + 2] = (int)(room / d->stride[i] + 1);
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnGetConvolution2dForwardOutputDim(cudnnConvolutionDescriptor_t d, cudnnTensorDescriptor_t in,
                                                            cudnnFilterDescriptor_t filter, int *n, int *c, int *h, int *w)
{
    int dim[4];
    if (!d || d->n != 2 || !n || !c || !h || !w)
        return CUDNN_STATUS_BAD_PARAM;
    cudnnStatus_t status = awcudnn_cudnnGetConvolutionNdForwardOutputDim(d, in, filter, 4, dim);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    *n = dim[0];
    *c = dim[1];
    *h = dim[2];
    *w = dim[3];
    return CUDNN_STATUS_SUCCESS;
}

/* ---- Algorithms: there is one, under the name of the one that programs like best.  Others are taken, and are the same. */

/* Milliseconds that the convolution takes, or less than 0: it failed with *ret_status.  Memory that is not given is made for
 * it. */
static float measure(cudnnHandle_t handle, enum aw_dnn_convolve_kind kind, const struct cudnnConvolutionStruct *d,
                     const struct aw_dnn_shape *const shapes[3], const void *const given[3], cudnnStatus_t *ret_status)
{
    CUdeviceptr made[3] = { 0 };
    const void *at[3];
    float one = 1, zero = 0;
    CUresult result = aw_lib_queue_enter(&handle->queue);
    for (int i = 0; i < 3 && result == CUDA_SUCCESS; i++) {
        if (!given)
            result = cuMemAlloc_v2(&made[i], aw_dnn_bytes(shapes[i]));
        at[i] = given ? given[i] : (const void *)(uintptr_t)made[i];
    }
    *ret_status = aw_dnn_status(result);
    const void *a = shapes[0]->type == CUDNN_DATA_DOUBLE ? (const void *)&(double){ 1 } : &one;
    const void *b = shapes[0]->type == CUDNN_DATA_DOUBLE ? (const void *)&(double){ 0 } : &zero;
    if (result == CUDA_SUCCESS)
        result = cuStreamSynchronize(handle->queue.stream);
    uint64_t begin = aw_clock_ns();
    if (result == CUDA_SUCCESS)
        *ret_status = convolve(handle, kind, d, a, shapes[0], at[0], shapes[1], at[1], shapes[2], at[2], b);
    if (result == CUDA_SUCCESS && cuStreamSynchronize(handle->queue.stream) != CUDA_SUCCESS)
        *ret_status = CUDNN_STATUS_EXECUTION_FAILED;
    uint64_t end = aw_clock_ns();
    for (int i = 0; i < 3; i++)
        if (made[i])
            cuMemFree_v2(made[i]);
    return (float)(end - begin) * 1e-6f;
}

/* The queries of one direction: names of its tensors in the order of the functions' arguments, and its shapes as x, w, y. */
#define QUERIES(Kind, Algo, kind, algorithm, first, a, second, b, third, c, x, w, y)                                          \
    cudnnStatus_t awcudnn_cudnnGetConvolution##Kind##AlgorithmMaxCount(cudnnHandle_t handle, int *count)                      \
    {                                                                                                                         \
        AW_DNN_NEED(handle, count);                                                                                           \
        *count = 1;                                                                                                           \
        return CUDNN_STATUS_SUCCESS;                                                                                          \
    }                                                                                                                         \
    static cudnnStatus_t find_##kind(cudnnHandle_t handle, first a, second b, cudnnConvolutionDescriptor_t d, third c,        \
                                     int requested, int *returned, cudnnConvolution##Algo##Perf_t *perf, bool run,            \
                                     const void *const given[3])                                                              \
    {                                                                                                                         \
        struct aw_dnn_convolution p;                                                                                          \
        AW_DNN_NEED(handle, a &&b &&d &&c &&returned &&perf &&requested > 0);                                                 \
        cudnnStatus_t status = convolution_params(d, kind, &x->s, &w->s, &y->s, &p);                                          \
        if (status != CUDNN_STATUS_SUCCESS)                                                                                   \
            return status;                                                                                                    \
        *returned = 1;                                                                                                        \
        *perf = (cudnnConvolution##Algo##Perf_t){                                                                             \
            .algo = algorithm, .time = -1, .determinism = CUDNN_DETERMINISTIC, .mathType = d->math                            \
        };                                                                                                                    \
        if (run)                                                                                                              \
            perf->time = measure(handle, kind, d, (const struct aw_dnn_shape *const[]){ &x->s, &w->s, &y->s }, given,         \
                                 &perf->status);                                                                              \
        return perf->status;                                                                                                  \
    }                                                                                                                         \
    cudnnStatus_t awcudnn_cudnnGetConvolution##Kind##Algorithm_v7(cudnnHandle_t handle, first a, second b,                    \
                                                                  cudnnConvolutionDescriptor_t d, third c, int requested,     \
                                                                  int *returned, cudnnConvolution##Algo##Perf_t *perf)        \
    {                                                                                                                         \
        return find_##kind(handle, a, b, d, c, requested, returned, perf, false, NULL);                                       \
    }                                                                                                                         \
    cudnnStatus_t awcudnn_cudnnFindConvolution##Kind##Algorithm(cudnnHandle_t handle, first a, second b,                      \
                                                                cudnnConvolutionDescriptor_t d, third c, int requested,       \
                                                                int *returned, cudnnConvolution##Algo##Perf_t *perf)          \
    {                                                                                                                         \
        return find_##kind(handle, a, b, d, c, requested, returned, perf, true, NULL);                                        \
    }                                                                                                                         \
    cudnnStatus_t awcudnn_cudnnGetConvolution##Kind##WorkspaceSize(cudnnHandle_t handle, first a, second b,                   \
                                                                   cudnnConvolutionDescriptor_t d, third c,                   \
                                                                   cudnnConvolution##Algo##_t algo, size_t *size)             \
    {                                                                                                                         \
        struct aw_dnn_convolution p;                                                                                          \
        AW_DNN_NEED(handle, a &&b &&d &&c &&size);                                                                            \
        cudnnStatus_t status = convolution_params(d, kind, &x->s, &w->s, &y->s, &p);                                          \
        if (status == CUDNN_STATUS_SUCCESS)                                                                                   \
            *size = 0;                                                                                                        \
        return status;                                                                                                        \
    }                                                                                                                         \
    cudnnStatus_t awcudnn_cudnnFindConvolution##Kind##AlgorithmEx(                                                            \
        cudnnHandle_t handle, first a, const void *pa, second b, const void *pb, cudnnConvolutionDescriptor_t d, third c,     \
        void *pc, int requested, int *returned, cudnnConvolution##Algo##Perf_t *perf, void *workspace, size_t workspace_size) \
    {                                                                                                                         \
        AW_DNN_NEED(handle, pa &&pb &&pc);                                                                                    \
        return find_##kind(handle, a, b, d, c, requested, returned, perf, true, (const void *const[]){ p##x, p##w, p##y });   \
    }

QUERIES(Forward, FwdAlgo, AW_DNN_FORWARD, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, cudnnTensorDescriptor_t, a,
        cudnnFilterDescriptor_t, b, cudnnTensorDescriptor_t, c, a, b, c)
QUERIES(BackwardData, BwdDataAlgo, AW_DNN_BACKWARD_DATA, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, cudnnFilterDescriptor_t, a,
        cudnnTensorDescriptor_t, b, cudnnTensorDescriptor_t, c, c, a, b)
QUERIES(BackwardFilter, BwdFilterAlgo, AW_DNN_BACKWARD_FILTER, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, cudnnTensorDescriptor_t, a,
        cudnnTensorDescriptor_t, b, cudnnFilterDescriptor_t, c, a, c, b)
