/* Recurrent networks in the v8 interface of cuDNN: descriptors, sizes and calls; the kernels are rnn_cell.c's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rnn.h"

#include <stdlib.h>
#include <string.h>

#include "cudnn_proto.h"

/* ---- Descriptors */

cudnnStatus_t awcudnn_cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t *ret)
{
    cudnnRNNDescriptor_t made = ret ? calloc(1, sizeof *made) : NULL;
    if (!ret)
        return CUDNN_STATUS_BAD_PARAM;
    if (!made)
        return CUDNN_STATUS_ALLOC_FAILED;
    *ret = made;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t d)
{
    free(d);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t *ret)
{
    cudnnRNNDataDescriptor_t made = ret ? calloc(1, sizeof *made) : NULL;
    if (!ret)
        return CUDNN_STATUS_BAD_PARAM;
    if (!made)
        return CUDNN_STATUS_ALLOC_FAILED;
    *ret = made;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t d)
{
    if (d)
        free(d->lengths);
    free(d);
    return CUDNN_STATUS_SUCCESS;
}

static bool type_good(cudnnDataType_t type)
{
    return type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_DOUBLE || type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16;
}

cudnnStatus_t awcudnn_cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t d, cudnnRNNAlgo_t algo, cudnnRNNMode_t cell,
                                               cudnnRNNBiasMode_t bias, cudnnDirectionMode_t direction,
                                               cudnnRNNInputMode_t input_mode, cudnnDataType_t type, cudnnDataType_t precision,
                                               cudnnMathType_t math, int32_t input, int32_t hidden, int32_t projected,
                                               int32_t layers, cudnnDropoutDescriptor_t dropout, uint32_t flags)
{
    if (!d || algo > CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H || cell > CUDNN_GRU || bias > CUDNN_RNN_SINGLE_REC_BIAS ||
        direction > CUDNN_BIDIRECTIONAL || input_mode > CUDNN_SKIP_INPUT || input < 1 || hidden < 1 || layers < 1 ||
        projected < 0 || projected > hidden)
        return CUDNN_STATUS_BAD_PARAM;
    if (!type_good(type) || (projected && projected != hidden && cell != CUDNN_LSTM) ||
        (input_mode == CUDNN_SKIP_INPUT && input != hidden))
        return CUDNN_STATUS_NOT_SUPPORTED;
    *d = (struct cudnnRNNStruct){ .algo = algo,
                                  .cell = cell,
                                  .bias = bias,
                                  .direction = direction,
                                  .input_mode = input_mode,
                                  .type = type,
                                  .precision = precision,
                                  .math = math,
                                  .input = input,
                                  .hidden = hidden,
                                  .projected = projected ? projected : hidden,
                                  .layers = layers,
                                  .dropout = dropout,
                                  .flags = flags };
    return CUDNN_STATUS_SUCCESS;
}

#define GIVE(ret, value) ((ret) ? (void)(*(ret) = (value)) : (void)0)

cudnnStatus_t awcudnn_cudnnGetRNNDescriptor_v8(cudnnRNNDescriptor_t d, cudnnRNNAlgo_t *algo, cudnnRNNMode_t *cell,
                                               cudnnRNNBiasMode_t *bias, cudnnDirectionMode_t *direction,
                                               cudnnRNNInputMode_t *input_mode, cudnnDataType_t *type, cudnnDataType_t *precision,
                                               cudnnMathType_t *math, int32_t *input, int32_t *hidden, int32_t *projected,
                                               int32_t *layers, cudnnDropoutDescriptor_t *dropout, uint32_t *flags)
{
    if (!d)
        return CUDNN_STATUS_BAD_PARAM;
    GIVE(algo, d->algo);
    GIVE(cell, d->cell);
    GIVE(bias, d->bias);
    GIVE(direction, d->direction);
    GIVE(input_mode, d->input_mode);
    GIVE(type, d->type);
    GIVE(precision, d->precision);
    GIVE(math, d->math);
    GIVE(input, d->input);
    GIVE(hidden, d->hidden);
    GIVE(projected, d->projected);
    GIVE(layers, d->layers);
    GIVE(dropout, d->dropout);
    GIVE(flags, d->flags);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnRNNSetClip_v8(cudnnRNNDescriptor_t d, cudnnRNNClipMode_t mode, cudnnNanPropagation_t nan, double low,
                                         double high)
{
    if (!d || mode > CUDNN_RNN_CLIP_MINMAX || nan > CUDNN_PROPAGATE_NAN || (mode == CUDNN_RNN_CLIP_MINMAX && !(low <= high)))
        return CUDNN_STATUS_BAD_PARAM;
    d->clip = mode;
    d->clip_nan = nan;
    d->clip_low = low;
    d->clip_high = high;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnRNNSetClip_v9(cudnnRNNDescriptor_t d, cudnnRNNClipMode_t mode, double low, double high)
{
    return awcudnn_cudnnRNNSetClip_v8(d, mode, CUDNN_PROPAGATE_NAN, low, high);
}

cudnnStatus_t awcudnn_cudnnRNNGetClip_v8(cudnnRNNDescriptor_t d, cudnnRNNClipMode_t *mode, cudnnNanPropagation_t *nan,
                                         double *low, double *high)
{
    if (!d)
        return CUDNN_STATUS_BAD_PARAM;
    GIVE(mode, d->clip);
    GIVE(nan, d->clip_nan);
    GIVE(low, d->clip_low);
    GIVE(high, d->clip_high);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnRNNGetClip_v9(cudnnRNNDescriptor_t d, cudnnRNNClipMode_t *mode, double *low, double *high)
{
    return awcudnn_cudnnRNNGetClip_v8(d, mode, NULL, low, high);
}

/* There is nothing to be made for a number of sequences. */
cudnnStatus_t awcudnn_cudnnBuildRNNDynamic(cudnnHandle_t handle, cudnnRNNDescriptor_t d, int batch)
{
    AW_DNN_NEED(handle, d && batch > 0);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t d, cudnnDataType_t type, cudnnRNNDataLayout_t layout,
                                                int steps, int batch, int size, const int *lengths, void *fill)
{
    if (!d || layout > CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED || steps < 1 || batch < 1 || size < 1 || !lengths)
        return CUDNN_STATUS_BAD_PARAM;
    if (!type_good(type))
        return CUDNN_STATUS_NOT_SUPPORTED;
    for (int b = 0; b < batch; b++)
        if (lengths[b] < 0 || lengths[b] > steps ||
            (layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED && b && lengths[b] > lengths[b - 1]))
            return CUDNN_STATUS_BAD_PARAM;
    int *copy = malloc((size_t)batch * sizeof *copy);
    if (!copy)
        return CUDNN_STATUS_ALLOC_FAILED;
    memcpy(copy, lengths, (size_t)batch * sizeof *copy);
    free(d->lengths);
    *d = (struct cudnnRNNDataStruct){
        .type = type, .layout = layout, .steps = steps, .batch = batch, .size = size, .lengths = copy, .fills = fill
    };
    struct aw_dnn_view one = { .s = { .type = type }, .at = fill };
    if (fill)
        d->fill = aw_dnn_get(&one, 0);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnGetRNNDataDescriptor(cudnnRNNDataDescriptor_t d, cudnnDataType_t *type, cudnnRNNDataLayout_t *layout,
                                                int *steps, int *batch, int *size, int requested, int *lengths, void *fill)
{
    if (!d || requested < 0)
        return CUDNN_STATUS_BAD_PARAM;
    GIVE(type, d->type);
    GIVE(layout, d->layout);
    GIVE(steps, d->steps);
    GIVE(batch, d->batch);
    GIVE(size, d->size);
    for (int b = 0; lengths && b < d->batch && b < requested; b++)
        lengths[b] = d->lengths[b];
    struct aw_dnn_view one = { .s = { .type = d->type }, .at = fill };
    if (fill && d->fills)
        aw_dnn_put(&one, 0, d->fill);
    return CUDNN_STATUS_SUCCESS;
}

/* ---- Weights */

static bool has_bias(const struct aw_dnn_rnn *r, bool of_state)
{
    return r->bias == CUDNN_RNN_DOUBLE_BIAS || r->bias == (of_state ? CUDNN_RNN_SINGLE_REC_BIAS : CUDNN_RNN_SINGLE_INP_BIAS);
}

/* Elements of a layer's matrices in one direction. */
static int64_t matrices(const struct aw_dnn_rnn *r, int layer)
{
    int64_t in = layer ? (int64_t)r->dirs * r->out : r->skip_input ? 0 : r->input;
    return r->gates * r->hidden * (in + r->out) + (r->projects ? (int64_t)r->out * r->hidden : 0);
}

static int64_t biases(const struct aw_dnn_rnn *r)
{
    return (int64_t)r->gates * r->hidden * (has_bias(r, false) + has_bias(r, true));
}

int64_t aw_dnn_rnn_weights(const struct aw_dnn_rnn *r)
{
    int64_t n = r->layers * r->dirs * biases(r);
    for (int layer = 0; layer < r->layers; layer++)
        n += r->dirs * matrices(r, layer);
    return n;
}

struct aw_dnn_rnn_part aw_dnn_rnn_part(const struct aw_dnn_rnn *r, int pseudo, int id)
{
    int layer = pseudo / r->dirs, in = layer ? r->dirs * r->out : r->skip_input ? 0 : r->input;
    bool of_state = id >= r->gates, projection = id == 2 * r->gates;
    int64_t at = 0, bias = 0;
    for (int p = 0; p < pseudo; p++)
        at += matrices(r, p / r->dirs);
    for (int l = 0; l < r->layers; l++)
        bias += r->dirs * matrices(r, l);
    bias += pseudo * biases(r);
    if (projection && !r->projects)
        return (struct aw_dnn_rnn_part){ -1, -1, 0, 0 };
    if (projection)
        return (struct aw_dnn_rnn_part){ at + (int64_t)r->gates * r->hidden * (in + r->out), -1, r->out, r->hidden };
    at += of_state ? (int64_t)r->gates * r->hidden * in + (int64_t)(id - r->gates) * r->hidden * r->out
                   : (int64_t)id * r->hidden * in;
    bias += of_state ? (int64_t)(has_bias(r, false) ? r->gates : 0) * r->hidden + (int64_t)(id - r->gates) * r->hidden
                     : (int64_t)id * r->hidden;
    return (struct aw_dnn_rnn_part){ of_state || in ? at : -1, has_bias(r, of_state) ? bias : -1, r->hidden,
                                     of_state ? r->out : in };
}

/* What kernels know of a network and its data; lengths are borrowed. */
static struct aw_dnn_rnn network(const struct cudnnRNNStruct *d, const struct cudnnRNNDataStruct *x)
{
    struct aw_dnn_rnn r = { .cell = d->cell,
                            .bias = d->bias,
                            .dirs = d->direction == CUDNN_BIDIRECTIONAL ? 2 : 1,
                            .layers = d->layers,
                            .input = d->input,
                            .hidden = d->hidden,
                            .out = d->projected,
                            .skip_input = d->input_mode == CUDNN_SKIP_INPUT,
                            .projects = d->projected != d->hidden,
                            .clips = d->clip == CUDNN_RNN_CLIP_MINMAX && d->cell == CUDNN_LSTM,
                            .clip_low = d->clip_low,
                            .clip_high = d->clip_high,
                            .rate = d->dropout ? (double)d->dropout->rate : 0,
                            .type = d->type };
    r.gates = d->cell == CUDNN_LSTM ? 4 : d->cell == CUDNN_GRU ? 3 : 1;
    if (x) {
        r.steps = x->steps;
        r.batch = x->batch;
        r.layout = x->layout;
        r.lengths = x->lengths;
    }
    return r;
}

cudnnStatus_t awcudnn_cudnnGetRNNWeightSpaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t d, size_t *size)
{
    AW_DNN_NEED(handle, d && size && d->hidden);
    struct aw_dnn_rnn r = network(d, NULL);
    *size = (size_t)aw_dnn_rnn_weights(&r) * (aw_dnn_type_bits(d->type) / 8);
    return CUDNN_STATUS_SUCCESS;
}

/* A matrix or bias as a tensor, and its address; it is also asked for with no memory, to learn the place. */
static void *place(cudnnTensorDescriptor_t desc, cudnnDataType_t type, int rows, int cols, const void *weights, int64_t at)
{
    desc->s = (struct aw_dnn_shape){ .type = type, .n = at < 0 ? 0 : 3, .dim = { 1, rows, cols } };
    aw_dnn_pack(&desc->s);
    return at < 0 ? NULL : (char *)weights + (size_t)at * (aw_dnn_type_bits(type) / 8);
}

cudnnStatus_t awcudnn_cudnnGetRNNWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t d, int32_t pseudo, size_t size,
                                              const void *weights, int32_t id, cudnnTensorDescriptor_t m_desc, void **m,
                                              cudnnTensorDescriptor_t b_desc, void **b)
{
    AW_DNN_NEED(handle, d && d->hidden && !m_desc == !m && !b_desc == !b && (m || b));
    struct aw_dnn_rnn r = network(d, NULL);
    size_t element = aw_dnn_type_bits(d->type) / 8;
    if (pseudo < 0 || pseudo >= r.layers * r.dirs || id < 0 || id > 2 * r.gates - (r.cell != CUDNN_LSTM) ||
        (weights && size < (size_t)aw_dnn_rnn_weights(&r) * element))
        return CUDNN_STATUS_BAD_PARAM;
    struct aw_dnn_rnn_part p = aw_dnn_rnn_part(&r, pseudo, id);
    if (m)
        *m = place(m_desc, d->type, p.rows, p.cols, weights, p.matrix);
    if (b)
        *b = place(b_desc, d->type, p.rows, 1, weights, p.bias);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnGetRNNTempSpaceSizes(cudnnHandle_t handle, cudnnRNNDescriptor_t d, cudnnForwardMode_t mode,
                                                cudnnRNNDataDescriptor_t x, size_t *workspace, size_t *reserve)
{
    AW_DNN_NEED(handle, d && d->hidden && x && x->steps && mode <= CUDNN_FWD_MODE_TRAINING);
    struct aw_dnn_rnn r = network(d, x);
    GIVE(workspace, 0);
    GIVE(reserve, mode == CUDNN_FWD_MODE_TRAINING ? (size_t)aw_dnn_rnn_reserve(&r) * (d->type == CUDNN_DATA_DOUBLE ? 8 : 4) : 0);
    return CUDNN_STATUS_SUCCESS;
}

/* ---- Calls */

/* Shapes of everything a call may take. */
struct call {
    struct aw_dnn_rnn r;
    struct aw_dnn_shape x, y, state, cell, weights, reserve, dropout;
    int *lengths; /* owned; given to the program */
};

static struct aw_dnn_shape row_of(cudnnDataType_t type, int64_t n)
{
    return (struct aw_dnn_shape){ .type = type, .n = 1, .dim = { n }, .stride = { 1 } };
}

/* Programs give states more dimensions, of size 1 behind the three: without them. */
static struct aw_dnn_shape state_of(cudnnTensorDescriptor_t d)
{
    struct aw_dnn_shape s = d ? d->s : (struct aw_dnn_shape){ 0 };
    while (s.n > 3 && s.dim[s.n - 1] == 1)
        s.n--;
    return s;
}

static bool state_fits(const struct aw_dnn_shape *s, const struct aw_dnn_rnn *r, int size)
{
    return !s->n || (s->n == 3 && s->dim[0] == r->layers * r->dirs && s->dim[1] == r->batch && s->dim[2] == size);
}

static cudnnStatus_t call_begin(cudnnRNNDescriptor_t d, cudnnRNNDataDescriptor_t x, cudnnRNNDataDescriptor_t y,
                                cudnnTensorDescriptor_t h, cudnnTensorDescriptor_t c, size_t weight_size, bool needs_reserve,
                                size_t reserve_size, struct call *ret)
{
    if (!d->hidden || !x->steps || !y->steps || x->steps != y->steps || x->batch != y->batch || x->layout != y->layout ||
        x->type != d->type || y->type != d->type || x->size != d->input ||
        y->size != d->projected * (d->direction == CUDNN_BIDIRECTIONAL ? 2 : 1))
        return aw_dnn_fail(CUDNN_STATUS_BAD_PARAM, "the network's data does not fit it");
    struct aw_dnn_rnn *r = &ret->r;
    *r = network(d, x);
    r->fill = y->fill;
    r->fills = y->fills;
    int64_t rows = (int64_t)x->steps * x->batch;
    if (x->layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED) {
        rows = 0;
        for (int b = 0; b < x->batch; b++)
            rows += x->lengths[b];
    }
    ret->x = row_of(d->type, rows * x->size);
    ret->y = row_of(d->type, rows * y->size);
    ret->weights = row_of(d->type, aw_dnn_rnn_weights(r));
    ret->reserve = row_of(d->type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT, aw_dnn_rnn_reserve(r));
    ret->dropout = row_of(CUDNN_DATA_INT64, 2);
    ret->state = state_of(h);
    ret->cell = state_of(c);
    if (!state_fits(&ret->state, r, r->out) || !state_fits(&ret->cell, r, r->hidden) ||
        weight_size < aw_dnn_bytes(&ret->weights) || (needs_reserve && reserve_size < aw_dnn_bytes(&ret->reserve)))
        return aw_dnn_fail(CUDNN_STATUS_BAD_PARAM, "the network's states, weights or reserve space do not fit it");
    ret->lengths = malloc((size_t)x->batch * sizeof *ret->lengths);
    if (!ret->lengths)
        return CUDNN_STATUS_ALLOC_FAILED;
    memcpy(ret->lengths, x->lengths, (size_t)x->batch * sizeof *ret->lengths);
    r->lengths = ret->lengths;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t call_run(cudnnHandle_t handle, aw_dnn_kernel kernel, struct call *c, const struct aw_dnn_operand operands[],
                              int n)
{
    return aw_dnn_call_with(&handle->queue, kernel, &c->r, sizeof c->r, operands, n, c->lengths);
}
#define RUN(handle, kernel, c, ...)                                             \
    call_run(handle, kernel, c, (const struct aw_dnn_operand[]){ __VA_ARGS__ }, \
             (int)(sizeof((const struct aw_dnn_operand[]){ __VA_ARGS__ }) / sizeof(struct aw_dnn_operand)))

cudnnStatus_t awcudnn_cudnnRNNForward(cudnnHandle_t handle, cudnnRNNDescriptor_t d, cudnnForwardMode_t mode,
                                      const int32_t *device_lengths, cudnnRNNDataDescriptor_t x_desc, const void *x,
                                      cudnnRNNDataDescriptor_t y_desc, void *y, cudnnTensorDescriptor_t h_desc, const void *hx,
                                      void *hy, cudnnTensorDescriptor_t c_desc, const void *cx, void *cy, size_t weight_size,
                                      const void *weights, size_t workspace_size, void *workspace, size_t reserve_size,
                                      void *reserve)
{
    struct call c;
    bool training = mode == CUDNN_FWD_MODE_TRAINING;
    AW_DNN_NEED(handle, d && x_desc && x && y_desc && y && weights && mode <= CUDNN_FWD_MODE_TRAINING && (!training || reserve) &&
                            (h_desc || (!hx && !hy)) && (c_desc || d->cell != CUDNN_LSTM || (!cx && !cy)));
    bool lstm = d->cell == CUDNN_LSTM;
    cudnnStatus_t status = call_begin(d, x_desc, y_desc, h_desc, lstm ? c_desc : NULL, weight_size, training, reserve_size, &c);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    c.r.training = training;
    bool drops = training && c.r.rate > 0 && c.r.layers > 1;
    return RUN(handle, aw_dnn_rnn_forward, &c, { &c.y, y, AW_LIB_OUT }, { &c.x, x, AW_LIB_IN }, { &c.state, hx, AW_LIB_IN },
               { &c.state, hy, AW_LIB_OUT }, { lstm ? &c.cell : NULL, cx, AW_LIB_IN }, { lstm ? &c.cell : NULL, cy, AW_LIB_OUT },
               { &c.weights, weights, AW_LIB_IN }, { training ? &c.reserve : NULL, reserve, AW_LIB_OUT },
               { drops ? &c.dropout : NULL, drops ? d->dropout->states : NULL, AW_LIB_IN | AW_LIB_OUT });
}

cudnnStatus_t awcudnn_cudnnRNNBackwardData_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t d, const int32_t *device_lengths,
                                              cudnnRNNDataDescriptor_t y_desc, const void *y, const void *dy,
                                              cudnnRNNDataDescriptor_t x_desc, void *dx, cudnnTensorDescriptor_t h_desc,
                                              const void *hx, const void *dhy, void *dhx, cudnnTensorDescriptor_t c_desc,
                                              const void *cx, const void *dcy, void *dcx, size_t weight_size, const void *weights,
                                              size_t workspace_size, void *workspace, size_t reserve_size, void *reserve)
{
    struct call c;
    AW_DNN_NEED(handle, d && y_desc && dy && x_desc && dx && weights && reserve && (h_desc || (!hx && !dhy && !dhx)) &&
                            (c_desc || d->cell != CUDNN_LSTM || (!cx && !dcy && !dcx)));
    bool lstm = d->cell == CUDNN_LSTM;
    cudnnStatus_t status = call_begin(d, x_desc, y_desc, h_desc, lstm ? c_desc : NULL, weight_size, true, reserve_size, &c);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    c.r.fill = x_desc->fill;
    c.r.fills = x_desc->fills;
    return RUN(handle, aw_dnn_rnn_backward_data, &c, { &c.x, dx, AW_LIB_OUT }, { 0 }, { &c.y, dy, AW_LIB_IN },
               { &c.state, hx, AW_LIB_IN }, { &c.state, dhy, AW_LIB_IN }, { &c.state, dhx, AW_LIB_OUT },
               { lstm ? &c.cell : NULL, cx, AW_LIB_IN }, { lstm ? &c.cell : NULL, dcy, AW_LIB_IN },
               { lstm ? &c.cell : NULL, dcx, AW_LIB_OUT }, { &c.weights, weights, AW_LIB_IN },
               { &c.reserve, reserve, AW_LIB_IN | AW_LIB_OUT });
}

cudnnStatus_t awcudnn_cudnnRNNBackwardWeights_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t d, cudnnWgradMode_t mode,
                                                 const int32_t *device_lengths, cudnnRNNDataDescriptor_t x_desc, const void *x,
                                                 cudnnTensorDescriptor_t h_desc, const void *hx, cudnnRNNDataDescriptor_t y_desc,
                                                 const void *y, size_t weight_size, void *dweights, size_t workspace_size,
                                                 void *workspace, size_t reserve_size, void *reserve)
{
    struct call c;
    AW_DNN_NEED(handle, d && x_desc && x && y_desc && dweights && reserve && mode <= CUDNN_WGRAD_MODE_SET && (h_desc || !hx));
    cudnnStatus_t status = call_begin(d, x_desc, y_desc, h_desc, NULL, weight_size, true, reserve_size, &c);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    c.r.keeps = mode == CUDNN_WGRAD_MODE_ADD;
    return RUN(handle, aw_dnn_rnn_backward_weights, &c, { &c.weights, dweights, AW_LIB_OUT | (c.r.keeps ? AW_LIB_IN : 0) }, { 0 },
               { &c.state, hx, AW_LIB_IN }, { &c.reserve, reserve, AW_LIB_IN });
}
