/* Recurrent networks: LSTM, GRU and simple cells in layers, in one or both directions, and their gradients.
 *
 * Weights are in one piece of memory, in cuDNN's order: for each layer and direction the matrices of its gates for the input,
 * those for the state, and an LSTM's projection; then the biases in the same order.  The reserve space is ours: what the
 * gradients need of the forward pass, in float (or double), by layer and direction. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUDNN_RNN_H
#define AW_LIBS_CUDNN_RNN_H

#include "handle.h"

struct cudnnRNNStruct {
    cudnnRNNAlgo_t algo;
    cudnnRNNMode_t cell;
    cudnnRNNBiasMode_t bias;
    cudnnDirectionMode_t direction;
    cudnnRNNInputMode_t input_mode;
    cudnnDataType_t type, precision;
    cudnnMathType_t math;
    int input, hidden, projected, layers; /* projected: the output's size, hidden where there is no projection */
    cudnnDropoutDescriptor_t dropout;
    uint32_t flags;
    cudnnRNNClipMode_t clip;
    cudnnNanPropagation_t clip_nan;
    double clip_low, clip_high;
};

struct cudnnRNNDataStruct {
    cudnnDataType_t type;
    cudnnRNNDataLayout_t layout;
    int steps, batch, size;
    int *lengths; /* owned; of each sequence */
    double fill;
    bool fills;
};

/* What a kernel knows of the network; no pointers to descriptors. */
struct aw_dnn_rnn {
    cudnnRNNMode_t cell;
    cudnnRNNBiasMode_t bias;
    int gates, dirs, layers, input, hidden, out; /* out: size of a direction's output */
    bool skip_input, projects, training, keeps;  /* keeps: gradients are added to what is there */
    bool clips;
    double clip_low, clip_high;
    double rate;          /* of dropout between layers */
    cudnnDataType_t type; /* of weights and data */
    int steps, batch;
    cudnnRNNDataLayout_t layout;
    const int *lengths; /* owned by the program */
    double fill;
    bool fills;
};

/* Elements of the whole weight space. */
int64_t aw_dnn_rnn_weights(const struct aw_dnn_rnn *r);
/* Elements of the reserve space. */
int64_t aw_dnn_rnn_reserve(const struct aw_dnn_rnn *r);

/* One matrix and its bias: where they begin in the weight space, in elements; -1: there is none. */
struct aw_dnn_rnn_part {
    int64_t matrix, bias;
    int rows, cols;
};
/* `pseudo` is layer * directions + direction, `id` the gate's number: of the input, then of the state, then the projection. */
struct aw_dnn_rnn_part aw_dnn_rnn_part(const struct aw_dnn_rnn *r, int pseudo, int id);

/* Kernels.  y, x, hx, hy, cx, cy, weights, reserve, dropout states; x and y are the program's data as it lies. */
int aw_dnn_rnn_forward(const void *params, const struct aw_dnn_view *v);
/* dx, y, dy, hx, dhy, dhx, cx, dcy, dcx, weights, reserve. */
int aw_dnn_rnn_backward_data(const void *params, const struct aw_dnn_view *v);
/* dweights, x, hx, reserve. */
int aw_dnn_rnn_backward_weights(const void *params, const struct aw_dnn_view *v);

#endif
