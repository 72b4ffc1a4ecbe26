/* Recurrent networks in the interface that cuDNN had before version 8's, and that version 8's libraries still have: a network
 * learns the size of its input and its type from the tensors of a call, and sequences are an array of tensors, one for each
 * step, of fewer sequences from step to step.  The bodies are rnn.c's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cudnn_proto.h"
#include "rnn.h"

#define GIVE(ret, value) ((ret) ? (void)(*(ret) = (value)) : (void)0)

/* ---- Descriptors */

cudnnStatus_t awcudnn_cudnnSetRNNDescriptor_v6(cudnnHandle_t handle, cudnnRNNDescriptor_t d, int hidden, int layers,
                                               cudnnDropoutDescriptor_t dropout, cudnnRNNInputMode_t input_mode,
                                               cudnnDirectionMode_t direction, cudnnRNNMode_t cell, cudnnRNNAlgo_t algo,
                                               cudnnDataType_t precision)
{
    AW_DNN_NEED(handle, d);
    return awcudnn_cudnnSetRNNDescriptor_v8(d, algo, cell, CUDNN_RNN_DOUBLE_BIAS, direction, input_mode, precision, precision,
                                            CUDNN_DEFAULT_MATH, hidden, hidden, 0, layers, dropout, 0);
}

cudnnStatus_t awcudnn_cudnnGetRNNDescriptor_v6(cudnnHandle_t handle, cudnnRNNDescriptor_t d, int *hidden, int *layers,
                                               cudnnDropoutDescriptor_t *dropout, cudnnRNNInputMode_t *input_mode,
                                               cudnnDirectionMode_t *direction, cudnnRNNMode_t *cell, cudnnRNNAlgo_t *algo,
                                               cudnnDataType_t *precision)
{
    AW_DNN_NEED(handle, d);
    GIVE(hidden, d->hidden);
    GIVE(layers, d->layers);
    GIVE(dropout, d->dropout);
    GIVE(input_mode, d->input_mode);
    GIVE(direction, d->direction);
    GIVE(cell, d->cell);
    GIVE(algo, d->algo);
    GIVE(precision, d->precision);
    return CUDNN_STATUS_SUCCESS;
}

/* A setting of the descriptor that is kept, its type and the values that are good. */
#define SETTING(name, T, field, good)                                        \
    cudnnStatus_t awcudnn_cudnnSetRNN##name(cudnnRNNDescriptor_t d, T value) \
    {                                                                        \
        if (!d || !(good))                                                   \
            return CUDNN_STATUS_BAD_PARAM;                                   \
        d->field = value;                                                    \
        return CUDNN_STATUS_SUCCESS;                                         \
    }                                                                        \
    cudnnStatus_t awcudnn_cudnnGetRNN##name(cudnnRNNDescriptor_t d, T *ret)  \
    {                                                                        \
        if (!d || !ret)                                                      \
            return CUDNN_STATUS_BAD_PARAM;                                   \
        *ret = d->field;                                                     \
        return CUDNN_STATUS_SUCCESS;                                         \
    }
SETTING(BiasMode, cudnnRNNBiasMode_t, bias, value <= CUDNN_RNN_SINGLE_REC_BIAS)
SETTING(MatrixMathType, cudnnMathType_t, math, value <= CUDNN_FMA_MATH)
SETTING(PaddingMode, unsigned, flags, value <= 1)

cudnnStatus_t awcudnn_cudnnSetRNNProjectionLayers(cudnnHandle_t handle, cudnnRNNDescriptor_t d, int recurrent, int output)
{
    AW_DNN_NEED(handle, d && d->hidden && recurrent >= 0 && recurrent <= d->hidden && output >= 0);
    if (output || (recurrent && recurrent != d->hidden && d->cell != CUDNN_LSTM))
        return CUDNN_STATUS_NOT_SUPPORTED;
    d->projected = recurrent ? recurrent : d->hidden;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnGetRNNProjectionLayers(cudnnHandle_t handle, cudnnRNNDescriptor_t d, int *recurrent, int *output)
{
    AW_DNN_NEED(handle, d && d->hidden);
    GIVE(recurrent, d->projected == d->hidden ? 0 : d->projected);
    GIVE(output, 0);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnRNNSetClip(cudnnHandle_t handle, cudnnRNNDescriptor_t d, cudnnRNNClipMode_t mode,
                                      cudnnNanPropagation_t nan, double low, double high)
{
    AW_DNN_NEED(handle, d);
    return awcudnn_cudnnRNNSetClip_v8(d, mode, nan, low, high);
}

cudnnStatus_t awcudnn_cudnnRNNGetClip(cudnnHandle_t handle, cudnnRNNDescriptor_t d, cudnnRNNClipMode_t *mode,
                                      cudnnNanPropagation_t *nan, double *low, double *high)
{
    AW_DNN_NEED(handle, d);
    return awcudnn_cudnnRNNGetClip_v8(d, mode, nan, low, high);
}

/* ---- What a call's tensors say of the network */

/* The network for data of a type and size. */
static bool network_of(const struct cudnnRNNStruct *d, cudnnDataType_t type, int64_t input, struct cudnnRNNStruct *ret)
{
    if (!d->hidden || input < 1 || input > INT32_MAX || (d->input_mode == CUDNN_SKIP_INPUT && input != d->hidden) ||
        (type != CUDNN_DATA_FLOAT && type != CUDNN_DATA_DOUBLE && type != CUDNN_DATA_HALF && type != CUDNN_DATA_BFLOAT16))
        return false;
    *ret = *d;
    ret->type = type;
    ret->input = (int)input;
    return true;
}

static bool network_of_tensor(const struct cudnnRNNStruct *d, const struct cudnnTensorStruct *x, struct cudnnRNNStruct *ret)
{
    return x && x->s.n >= 2 && network_of(d, x->s.type, x->s.dim[1], ret);
}

/* The data that `steps` tensors of batch x size describe, packed; its lengths are to be freed.  NULL: they do not, or memory is
 * out. */
static int *data_of(int steps, const cudnnTensorDescriptor_t *tensors, struct cudnnRNNDataStruct *ret)
{
    if (steps < 1 || !tensors || !tensors[0] || tensors[0]->s.n < 2 || tensors[0]->s.dim[0] > INT32_MAX)
        return NULL;
    const struct aw_dnn_shape *first = &tensors[0]->s;
    int batch = (int)first->dim[0];
    int *lengths = calloc((size_t)batch + 1, sizeof *lengths);
    *ret = (struct cudnnRNNDataStruct){ .type = first->type,
                                        .layout = CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED,
                                        .steps = steps,
                                        .batch = batch,
                                        .size = (int)first->dim[1],
                                        .lengths = lengths };
    int64_t before = batch;
    for (int t = 0; t < steps && lengths; t++) {
        const struct cudnnTensorStruct *x = tensors[t];
        if (!x || x->s.n < 2 || x->s.dim[0] > before || x->s.dim[0] < 1 || x->s.dim[1] != first->dim[1] ||
            x->s.type != first->type) {
            free(lengths);
            return NULL;
        }
        before = x->s.dim[0];
        for (int b = 0; b < (int)before; b++)
            lengths[b] = t + 1;
    }
    return lengths;
}

/* Both sides of a network. */
struct sides {
    struct cudnnRNNStruct net;
    struct cudnnRNNDataStruct x, y;
};

static bool sides_make(const struct cudnnRNNStruct *d, int steps, const cudnnTensorDescriptor_t *x,
                       const cudnnTensorDescriptor_t *y, struct sides *ret)
{
    int *of_x = data_of(steps, x, &ret->x), *of_y = of_x ? data_of(steps, y, &ret->y) : NULL;
    if (of_x && of_y && network_of(d, ret->x.type, ret->x.size, &ret->net))
        return true;
    free(of_x);
    free(of_y);
    return false;
}

static void sides_free(struct sides *s)
{
    free(s->x.lengths);
    free(s->y.lengths);
}

static size_t weight_bytes(const struct cudnnFilterStruct *w)
{
    return w ? aw_dnn_bytes(&w->s) : 0;
}

static cudnnTensorDescriptor_t either(cudnnTensorDescriptor_t a, cudnnTensorDescriptor_t b, cudnnTensorDescriptor_t c)
{
    return a ? a : b ? b : c;
}

/* ---- Sizes and places */

cudnnStatus_t awcudnn_cudnnGetRNNParamsSize(cudnnHandle_t handle, cudnnRNNDescriptor_t d, cudnnTensorDescriptor_t x, size_t *size,
                                            cudnnDataType_t type)
{
    struct cudnnRNNStruct net;
    AW_DNN_NEED(handle, d && x && size && network_of_tensor(d, x, &net));
    net.type = type;
    return awcudnn_cudnnGetRNNWeightSpaceSize(handle, &net, size);
}

static cudnnStatus_t space(cudnnHandle_t handle, cudnnRNNDescriptor_t d, int steps, const cudnnTensorDescriptor_t *x,
                           cudnnForwardMode_t mode, size_t *ret_work, size_t *ret_reserve)
{
    struct cudnnRNNStruct net;
    struct cudnnRNNDataStruct data;
    AW_DNN_NEED(handle, d);
    int *lengths = data_of(steps, x, &data);
    cudnnStatus_t status = lengths && network_of(d, data.type, data.size, &net)
                               ? awcudnn_cudnnGetRNNTempSpaceSizes(handle, &net, mode, &data, ret_work, ret_reserve)
                               : CUDNN_STATUS_BAD_PARAM;
    free(lengths);
    return status;
}

cudnnStatus_t awcudnn_cudnnGetRNNWorkspaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t d, int steps,
                                               const cudnnTensorDescriptor_t *x, size_t *size)
{
    return size ? space(handle, d, steps, x, CUDNN_FWD_MODE_INFERENCE, size, NULL) : CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t awcudnn_cudnnGetRNNTrainingReserveSize(cudnnHandle_t handle, cudnnRNNDescriptor_t d, int steps,
                                                     const cudnnTensorDescriptor_t *x, size_t *size)
{
    return size ? space(handle, d, steps, x, CUDNN_FWD_MODE_TRAINING, NULL, size) : CUDNN_STATUS_BAD_PARAM;
}

/* A matrix (or bias) as a filter of 1 x rows x columns, and where it is. */
static cudnnStatus_t part(cudnnHandle_t handle, cudnnRNNDescriptor_t d, int pseudo, cudnnTensorDescriptor_t x,
                          cudnnFilterDescriptor_t w_desc, const void *w, int id, bool bias, cudnnFilterDescriptor_t ret_desc,
                          void **ret)
{
    struct cudnnRNNStruct net;
    struct cudnnTensorStruct tensor = { 0 };
    AW_DNN_NEED(handle, d && w_desc && ret_desc && ret && network_of_tensor(d, x, &net));
    net.type = w_desc->s.type;
    cudnnStatus_t status = bias ? awcudnn_cudnnGetRNNWeightParams(handle, &net, pseudo, weight_bytes(w_desc), w, id, NULL, NULL,
                                                                  &tensor, ret)
                                : awcudnn_cudnnGetRNNWeightParams(handle, &net, pseudo, weight_bytes(w_desc), w, id, &tensor, ret,
                                                                  NULL, NULL);
    if (status == CUDNN_STATUS_SUCCESS)
        *ret_desc = (struct cudnnFilterStruct){ .s = tensor.s, .format = CUDNN_TENSOR_NCHW };
    return status;
}

cudnnStatus_t awcudnn_cudnnGetRNNLinLayerMatrixParams(cudnnHandle_t handle, cudnnRNNDescriptor_t d, int pseudo,
                                                      cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w_desc, const void *w,
                                                      int id, cudnnFilterDescriptor_t desc, void **ret)
{
    return part(handle, d, pseudo, x, w_desc, w, id, false, desc, ret);
}

cudnnStatus_t awcudnn_cudnnGetRNNLinLayerBiasParams(cudnnHandle_t handle, cudnnRNNDescriptor_t d, int pseudo,
                                                    cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w_desc, const void *w,
                                                    int id, cudnnFilterDescriptor_t desc, void **ret)
{
    return part(handle, d, pseudo, x, w_desc, w, id, true, desc, ret);
}

/* ---- Calls */

cudnnStatus_t awcudnn_cudnnRNNForwardTraining(cudnnHandle_t handle, cudnnRNNDescriptor_t d, int steps,
                                              const cudnnTensorDescriptor_t *x_desc, const void *x,
                                              cudnnTensorDescriptor_t hx_desc, const void *hx, cudnnTensorDescriptor_t cx_desc,
                                              const void *cx, cudnnFilterDescriptor_t w_desc, const void *w,
                                              const cudnnTensorDescriptor_t *y_desc, void *y, cudnnTensorDescriptor_t hy_desc,
                                              void *hy, cudnnTensorDescriptor_t cy_desc, void *cy, void *work, size_t work_size,
                                              void *reserve, size_t reserve_size)
{
    struct sides s;
    AW_DNN_NEED(handle, d && sides_make(d, steps, x_desc, y_desc, &s));
    cudnnStatus_t status = awcudnn_cudnnRNNForward(handle, &s.net, CUDNN_FWD_MODE_TRAINING, NULL, &s.x, x, &s.y, y,
                                                   either(hx_desc, hy_desc, NULL), hx, hy, either(cx_desc, cy_desc, NULL), cx, cy,
                                                   weight_bytes(w_desc), w, work_size, work, reserve_size, reserve);
    sides_free(&s);
    return status;
}

cudnnStatus_t awcudnn_cudnnRNNForwardInference(cudnnHandle_t handle, cudnnRNNDescriptor_t d, int steps,
                                               const cudnnTensorDescriptor_t *x_desc, const void *x,
                                               cudnnTensorDescriptor_t hx_desc, const void *hx, cudnnTensorDescriptor_t cx_desc,
                                               const void *cx, cudnnFilterDescriptor_t w_desc, const void *w,
                                               const cudnnTensorDescriptor_t *y_desc, void *y, cudnnTensorDescriptor_t hy_desc,
                                               void *hy, cudnnTensorDescriptor_t cy_desc, void *cy, void *work, size_t work_size)
{
    struct sides s;
    AW_DNN_NEED(handle, d && sides_make(d, steps, x_desc, y_desc, &s));
    cudnnStatus_t status = awcudnn_cudnnRNNForward(handle, &s.net, CUDNN_FWD_MODE_INFERENCE, NULL, &s.x, x, &s.y, y,
                                                   either(hx_desc, hy_desc, NULL), hx, hy, either(cx_desc, cy_desc, NULL), cx, cy,
                                                   weight_bytes(w_desc), w, work_size, work, 0, NULL);
    sides_free(&s);
    return status;
}

cudnnStatus_t awcudnn_cudnnRNNBackwardData(cudnnHandle_t handle, cudnnRNNDescriptor_t d, int steps,
                                           const cudnnTensorDescriptor_t *y_desc, const void *y,
                                           const cudnnTensorDescriptor_t *dy_desc, const void *dy,
                                           cudnnTensorDescriptor_t dhy_desc, const void *dhy, cudnnTensorDescriptor_t dcy_desc,
                                           const void *dcy, cudnnFilterDescriptor_t w_desc, const void *w,
                                           cudnnTensorDescriptor_t hx_desc, const void *hx, cudnnTensorDescriptor_t cx_desc,
                                           const void *cx, const cudnnTensorDescriptor_t *dx_desc, void *dx,
                                           cudnnTensorDescriptor_t dhx_desc, void *dhx, cudnnTensorDescriptor_t dcx_desc,
                                           void *dcx, void *work, size_t work_size, void *reserve, size_t reserve_size)
{
    struct sides s;
    AW_DNN_NEED(handle, d && sides_make(d, steps, dx_desc, dy_desc, &s));
    cudnnStatus_t status = awcudnn_cudnnRNNBackwardData_v8(
        handle, &s.net, NULL, &s.y, y, dy, &s.x, dx, either(hx_desc, dhy_desc, dhx_desc), hx, dhy, dhx,
        either(cx_desc, dcy_desc, dcx_desc), cx, dcy, dcx, weight_bytes(w_desc), w, work_size, work, reserve_size, reserve);
    sides_free(&s);
    return status;
}

cudnnStatus_t awcudnn_cudnnRNNBackwardWeights(cudnnHandle_t handle, cudnnRNNDescriptor_t d, int steps,
                                              const cudnnTensorDescriptor_t *x_desc, const void *x,
                                              cudnnTensorDescriptor_t hx_desc, const void *hx,
                                              const cudnnTensorDescriptor_t *y_desc, const void *y, const void *work,
                                              size_t work_size, cudnnFilterDescriptor_t dw_desc, void *dw, const void *reserve,
                                              size_t reserve_size)
{
    struct sides s;
    AW_DNN_NEED(handle, d && sides_make(d, steps, x_desc, y_desc, &s));
    cudnnStatus_t status = awcudnn_cudnnRNNBackwardWeights_v8(handle, &s.net, CUDNN_WGRAD_MODE_ADD, NULL, &s.x, x, hx_desc, hx,
                                                              &s.y, y, weight_bytes(dw_desc), dw, work_size, NULL, reserve_size,
                                                              (void *)(uintptr_t)reserve);
    sides_free(&s);
    return status;
}

/* ---- The same with descriptors of data, whose attention is not there: its descriptors must be NULL, as the manual says. */

cudnnStatus_t awcudnn_cudnnRNNForwardTrainingEx(
    cudnnHandle_t handle, cudnnRNNDescriptor_t d, cudnnRNNDataDescriptor_t x_desc, const void *x, cudnnTensorDescriptor_t hx_desc,
    const void *hx, cudnnTensorDescriptor_t cx_desc, const void *cx, cudnnFilterDescriptor_t w_desc, const void *w,
    cudnnRNNDataDescriptor_t y_desc, void *y, cudnnTensorDescriptor_t hy_desc, void *hy, cudnnTensorDescriptor_t cy_desc,
    void *cy, cudnnRNNDataDescriptor_t key_desc, const void *keys, cudnnRNNDataDescriptor_t attention_desc, void *attention,
    cudnnRNNDataDescriptor_t index_desc, void *indices, cudnnRNNDataDescriptor_t query_desc, void *queries, void *work,
    size_t work_size, void *reserve, size_t reserve_size)
{
    struct cudnnRNNStruct net;
    AW_DNN_NEED(handle,
                d && x_desc && network_of(d, x_desc->type, x_desc->size, &net) && !keys && !attention && !indices && !queries);
    return awcudnn_cudnnRNNForward(handle, &net, CUDNN_FWD_MODE_TRAINING, NULL, x_desc, x, y_desc, y,
                                   either(hx_desc, hy_desc, NULL), hx, hy, either(cx_desc, cy_desc, NULL), cx, cy,
                                   weight_bytes(w_desc), w, work_size, work, reserve_size, reserve);
}

cudnnStatus_t awcudnn_cudnnRNNForwardInferenceEx(cudnnHandle_t handle, cudnnRNNDescriptor_t d, cudnnRNNDataDescriptor_t x_desc,
                                                 const void *x, cudnnTensorDescriptor_t hx_desc, const void *hx,
                                                 cudnnTensorDescriptor_t cx_desc, const void *cx, cudnnFilterDescriptor_t w_desc,
                                                 const void *w, cudnnRNNDataDescriptor_t y_desc, void *y,
                                                 cudnnTensorDescriptor_t hy_desc, void *hy, cudnnTensorDescriptor_t cy_desc,
                                                 void *cy, cudnnRNNDataDescriptor_t key_desc, const void *keys,
                                                 cudnnRNNDataDescriptor_t attention_desc, void *attention,
                                                 cudnnRNNDataDescriptor_t index_desc, void *indices,
                                                 cudnnRNNDataDescriptor_t query_desc, void *queries, void *work, size_t work_size)
{
    struct cudnnRNNStruct net;
    AW_DNN_NEED(handle,
                d && x_desc && network_of(d, x_desc->type, x_desc->size, &net) && !keys && !attention && !indices && !queries);
    return awcudnn_cudnnRNNForward(handle, &net, CUDNN_FWD_MODE_INFERENCE, NULL, x_desc, x, y_desc, y,
                                   either(hx_desc, hy_desc, NULL), hx, hy, either(cx_desc, cy_desc, NULL), cx, cy,
                                   weight_bytes(w_desc), w, work_size, work, 0, NULL);
}

cudnnStatus_t awcudnn_cudnnRNNBackwardDataEx(cudnnHandle_t handle, cudnnRNNDescriptor_t d, cudnnRNNDataDescriptor_t y_desc,
                                             const void *y, cudnnRNNDataDescriptor_t dy_desc, const void *dy,
                                             cudnnRNNDataDescriptor_t attention_desc, const void *attention,
                                             cudnnTensorDescriptor_t dhy_desc, const void *dhy, cudnnTensorDescriptor_t dcy_desc,
                                             const void *dcy, cudnnFilterDescriptor_t w_desc, const void *w,
                                             cudnnTensorDescriptor_t hx_desc, const void *hx, cudnnTensorDescriptor_t cx_desc,
                                             const void *cx, cudnnRNNDataDescriptor_t dx_desc, void *dx,
                                             cudnnTensorDescriptor_t dhx_desc, void *dhx, cudnnTensorDescriptor_t dcx_desc,
                                             void *dcx, cudnnRNNDataDescriptor_t key_desc, void *keys, void *work,
                                             size_t work_size, void *reserve, size_t reserve_size)
{
    struct cudnnRNNStruct net;
    AW_DNN_NEED(handle, d && dx_desc && network_of(d, dx_desc->type, dx_desc->size, &net) && !attention && !keys);
    return awcudnn_cudnnRNNBackwardData_v8(handle, &net, NULL, dy_desc, y, dy, dx_desc, dx, either(hx_desc, dhy_desc, dhx_desc),
                                           hx, dhy, dhx, either(cx_desc, dcy_desc, dcx_desc), cx, dcy, dcx, weight_bytes(w_desc),
                                           w, work_size, work, reserve_size, reserve);
}

cudnnStatus_t awcudnn_cudnnRNNBackwardWeightsEx(cudnnHandle_t handle, cudnnRNNDescriptor_t d, cudnnRNNDataDescriptor_t x_desc,
                                                const void *x, cudnnTensorDescriptor_t hx_desc, const void *hx,
                                                cudnnRNNDataDescriptor_t y_desc, const void *y, void *work, size_t work_size,
                                                cudnnFilterDescriptor_t dw_desc, void *dw, void *reserve, size_t reserve_size)
{
    struct cudnnRNNStruct net;
    AW_DNN_NEED(handle, d && x_desc && network_of(d, x_desc->type, x_desc->size, &net));
    return awcudnn_cudnnRNNBackwardWeights_v8(handle, &net, CUDNN_WGRAD_MODE_ADD, NULL, x_desc, x, hx_desc, hx, y_desc, y,
                                              weight_bytes(dw_desc), dw, work_size, work, reserve_size, reserve);
}
