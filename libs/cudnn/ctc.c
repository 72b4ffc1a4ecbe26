/* Connectionist temporal classification: the loss of label sequences and its gradient by the activations, by the forward-
 * backward algorithm of Graves et al. (ICML 2006) in logarithms.  Label 0 is the blank. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cudnn_proto.h"
#include "handle.h"

struct cudnnCTCLossStruct {
    cudnnDataType_t compute;
    cudnnLossNormalizationMode_t norm;
    cudnnCTCGradMode_t grad;
    int most; /* labels of a sequence; 0: not said */
};

cudnnStatus_t awcudnn_cudnnCreateCTCLossDescriptor(cudnnCTCLossDescriptor_t *ret)
{
    cudnnCTCLossDescriptor_t made = ret ? calloc(1, sizeof *made) : NULL;
    if (!ret)
        return CUDNN_STATUS_BAD_PARAM;
    if (!made)
        return CUDNN_STATUS_ALLOC_FAILED;
    *ret = made;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnDestroyCTCLossDescriptor(cudnnCTCLossDescriptor_t d)
{
    free(d);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnSetCTCLossDescriptor_v9(cudnnCTCLossDescriptor_t d, cudnnDataType_t compute,
                                                   cudnnLossNormalizationMode_t norm, cudnnCTCGradMode_t grad, int most)
{
    if (!d || compute != CUDNN_DATA_FLOAT || norm > CUDNN_LOSS_NORMALIZATION_SOFTMAX || grad > CUDNN_CTC_SKIP_OOB_GRADIENTS ||
        most < 0)
        return CUDNN_STATUS_BAD_PARAM;
    *d = (struct cudnnCTCLossStruct){ compute, norm, grad, most };
    return CUDNN_STATUS_SUCCESS;
}

/* Earlier forms say by the propagation of NaN what becomes of gradients that do not exist. */
static cudnnCTCGradMode_t grad_of(cudnnNanPropagation_t nan)
{
    return nan == CUDNN_PROPAGATE_NAN ? CUDNN_CTC_SKIP_OOB_GRADIENTS : CUDNN_CTC_ZERO_OOB_GRADIENTS;
}

cudnnStatus_t awcudnn_cudnnSetCTCLossDescriptor_v8(cudnnCTCLossDescriptor_t d, cudnnDataType_t compute,
                                                   cudnnLossNormalizationMode_t norm, cudnnNanPropagation_t nan, int most)
{
    return awcudnn_cudnnSetCTCLossDescriptor_v9(d, compute, norm, grad_of(nan), most);
}

cudnnStatus_t awcudnn_cudnnSetCTCLossDescriptorEx(cudnnCTCLossDescriptor_t d, cudnnDataType_t compute,
                                                  cudnnLossNormalizationMode_t norm, cudnnNanPropagation_t nan)
{
    return awcudnn_cudnnSetCTCLossDescriptor_v9(d, compute, norm, grad_of(nan), 0);
}

cudnnStatus_t awcudnn_cudnnSetCTCLossDescriptor(cudnnCTCLossDescriptor_t d, cudnnDataType_t compute)
{
    return awcudnn_cudnnSetCTCLossDescriptor_v9(d, compute, CUDNN_LOSS_NORMALIZATION_NONE, CUDNN_CTC_ZERO_OOB_GRADIENTS, 0);
}

#define GIVE(ret, value) ((ret) ? (void)(*(ret) = (value)) : (void)0)

cudnnStatus_t awcudnn_cudnnGetCTCLossDescriptor_v9(cudnnCTCLossDescriptor_t d, cudnnDataType_t *compute,
                                                   cudnnLossNormalizationMode_t *norm, cudnnCTCGradMode_t *grad, int *most)
{
    if (!d)
        return CUDNN_STATUS_BAD_PARAM;
    GIVE(compute, d->compute);
    GIVE(norm, d->norm);
    GIVE(grad, d->grad);
    GIVE(most, d->most);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnGetCTCLossDescriptor_v8(cudnnCTCLossDescriptor_t d, cudnnDataType_t *compute,
                                                   cudnnLossNormalizationMode_t *norm, cudnnNanPropagation_t *nan, int *most)
{
    if (d)
        GIVE(nan, d->grad == CUDNN_CTC_SKIP_OOB_GRADIENTS ? CUDNN_PROPAGATE_NAN : CUDNN_NOT_PROPAGATE_NAN);
    return awcudnn_cudnnGetCTCLossDescriptor_v9(d, compute, norm, NULL, most);
}

cudnnStatus_t awcudnn_cudnnGetCTCLossDescriptorEx(cudnnCTCLossDescriptor_t d, cudnnDataType_t *compute,
                                                  cudnnLossNormalizationMode_t *norm, cudnnNanPropagation_t *nan)
{
    return awcudnn_cudnnGetCTCLossDescriptor_v8(d, compute, norm, nan, NULL);
}

cudnnStatus_t awcudnn_cudnnGetCTCLossDescriptor(cudnnCTCLossDescriptor_t d, cudnnDataType_t *compute)
{
    return awcudnn_cudnnGetCTCLossDescriptor_v9(d, compute, NULL, NULL, NULL);
}

/* ---- The kernel */

struct ctc {
    bool softmax, skips;
    const int *labels, *label_lengths, *input_lengths; /* the host's, owned by the program; NULL: they are tensors */
};

static double log_add(double a, double b)
{
    double high = a > b ? a : b, low = a > b ? b : a;
    return high == -HUGE_VAL ? high : high + log1p(exp(low - high));
}

/* One sequence: `logs` is steps x letters, its states are a blank before, between and after the labels. */
struct sequence {
    int steps, letters, n; /* n: labels */
    const int *labels;
    const double *logs;
    double *alpha, *beta; /* steps x (2 n + 1) */
};

static int letter(const struct sequence *q, int state)
{
    return state & 1 ? q->labels[state / 2] : 0;
}

/* May a path go from state s - 2 to s? */
static bool skips_blank(const struct sequence *q, int s)
{
    return s >= 2 && s & 1 && q->labels[s / 2] != q->labels[s / 2 - 1];
}

/* Log of the probability of all paths; -infinity: there is none. */
static double forward_backward(const struct sequence *q)
{
    int states = 2 * q->n + 1;
    for (int t = 0; t < q->steps; t++)
        for (int s = 0; s < states; s++) {
            const double *last = q->alpha + (size_t)(t - 1) * (size_t)states;
            double sum = t ? last[s] : s < 2 ? 0 : -HUGE_VAL;
            if (t && s)
                sum = log_add(sum, last[s - 1]);
            if (t && skips_blank(q, s))
                sum = log_add(sum, last[s - 2]);
            q->alpha[(size_t)t * (size_t)states + (size_t)s] = sum +
                                                               q->logs[(size_t)t * (size_t)q->letters + (size_t)letter(q, s)];
        }
    for (int t = q->steps - 1; t >= 0; t--)
        for (int s = states - 1; s >= 0; s--) {
            const double *next = q->beta + (size_t)(t + 1) * (size_t)states;
            bool ends = t == q->steps - 1;
            double sum = ends ? (s >= states - 2 ? 0 : -HUGE_VAL) : next[s];
            if (!ends && s + 1 < states)
                sum = log_add(sum, next[s + 1]);
            if (!ends && s + 2 < states && skips_blank(q, s + 2))
                sum = log_add(sum, next[s + 2]);
            q->beta[(size_t)t * (size_t)states + (size_t)s] = sum +
                                                              q->logs[(size_t)t * (size_t)q->letters + (size_t)letter(q, s)];
        }
    if (!q->steps)
        return q->n ? -HUGE_VAL : 0;
    const double *end = q->alpha + (size_t)(q->steps - 1) * (size_t)states;
    return states > 1 ? log_add(end[states - 1], end[states - 2]) : end[0];
}

/* Log probabilities of one sequence, by softmax where they are activations. */
static void logs_load(const struct ctc *c, const struct aw_dnn_view *x, int64_t sequence, int steps, double *logs)
{
    int64_t letters = x->s.dim[2];
    for (int t = 0; t < steps; t++) {
        double *row = logs + t * letters, max = -HUGE_VAL, sum = 0;
        aw_dnn_load_d(x, t * x->s.stride[0] + sequence * x->s.stride[1], x->s.stride[2], letters, row);
        for (int64_t a = 0; a < letters && c->softmax; a++)
            max = row[a] > max ? row[a] : max;
        for (int64_t a = 0; a < letters && c->softmax; a++)
            sum += exp(row[a] - max);
        for (int64_t a = 0; a < letters; a++)
            row[a] = c->softmax ? row[a] - max - log(sum) : log(row[a]);
    }
}

/* One step's gradient by the activations: what the letter is given, less what the paths through it say. */
static void step_gradient(const struct sequence *q, int t, double total, double *row, double *paths)
{
    int states = 2 * q->n + 1;
    for (int a = 0; a < q->letters; a++)
        paths[a] = -HUGE_VAL;
    for (int s = 0; s < states; s++) {
        size_t at = (size_t)t * (size_t)states + (size_t)s;
        int a = letter(q, s);
        double through = q->alpha[at] + q->beta[at];
        if (through > -HUGE_VAL)
            paths[a] = log_add(paths[a], through - q->logs[(size_t)t * (size_t)q->letters + (size_t)a]);
    }
    for (int a = 0; a < q->letters; a++)
        row[a] = exp(q->logs[(size_t)t * (size_t)q->letters + (size_t)a]) - exp(paths[a] - total);
}

static void gradient_store(const struct ctc *c, const struct sequence *q, const struct aw_dnn_view *gradient, int64_t sequence,
                           double total, double *row, double *paths)
{
    bool none = total == -HUGE_VAL;
    for (int64_t t = 0; t < gradient->s.dim[0]; t++) {
        if (none && c->skips)
            continue;
        if (none || t >= q->steps)
            memset(row, 0, (size_t)q->letters * sizeof *row);
        else
            step_gradient(q, (int)t, total, row, paths);
        aw_dnn_store_d(gradient, t * gradient->s.stride[0] + sequence * gradient->s.stride[1], gradient->s.stride[2], q->letters,
                       row);
    }
}

/* Costs, gradients, activations or probabilities, labels, their numbers, numbers of steps. */
static int ctc_kernel(const void *params, const struct aw_dnn_view *v)
{
    const struct ctc *c = params;
    const int *labels = c->labels ? c->labels : v[3].at, *label_lengths = c->labels ? c->label_lengths : v[4].at;
    const int *input_lengths = c->labels ? c->input_lengths : v[5].at;
    int64_t steps = v[2].s.dim[0], batch = v[2].s.dim[1], letters = v[2].s.dim[2], most = 0;
    for (int64_t b = 0; b < batch; b++)
        most = label_lengths[b] > most ? label_lengths[b] : most;
    size_t states = 2 * (size_t)most + 1;
    double *room = malloc(((size_t)steps * ((size_t)letters + 2 * states) + 2 * (size_t)letters + 1) * sizeof *room);
    if (!room)
        return 1;
    double *logs = room, *alpha = logs + steps * letters, *beta = alpha + (size_t)steps * states,
           *row = beta + (size_t)steps * states;
    for (int64_t b = 0; b < batch; b++) {
        struct sequence q = {
            input_lengths[b] < steps ? input_lengths[b] : (int)steps, (int)letters, label_lengths[b], labels, logs, alpha, beta
        };
        logs_load(c, &v[2], b, q.steps, logs);
        double total = forward_backward(&q);
        aw_dnn_put(&v[0], b, -total);
        if (v[1].at)
            gradient_store(c, &q, &v[1], b, total, row, row + letters);
        labels += label_lengths[b];
    }
    free(room);
    return 0;
}

/* ---- Calls */

static bool tensors_good(cudnnTensorDescriptor_t probs, cudnnTensorDescriptor_t gradients)
{
    return probs && probs->s.n == 3 && probs->s.type == CUDNN_DATA_FLOAT &&
           (!gradients || aw_dnn_same_dims(&probs->s, &gradients->s));
}

cudnnStatus_t awcudnn_cudnnCTCLoss(cudnnHandle_t handle, cudnnTensorDescriptor_t probs_desc, const void *probs, const int *labels,
                                   const int *label_lengths, const int *input_lengths, void *costs,
                                   cudnnTensorDescriptor_t gradients_desc, void *gradients, cudnnCTCLossAlgo_t algo,
                                   cudnnCTCLossDescriptor_t d, void *workspace, size_t size)
{
    int64_t total = 0;
    AW_DNN_NEED(handle, d && probs && labels && label_lengths && input_lengths && costs &&
                            algo <= CUDNN_CTC_LOSS_ALGO_NON_DETERMINISTIC && tensors_good(probs_desc, gradients_desc) &&
                            (!gradients || gradients_desc));
    int64_t batch = probs_desc->s.dim[1];
    for (int64_t b = 0; b < batch; b++) {
        if (label_lengths[b] < 0 || input_lengths[b] < 0 || input_lengths[b] > probs_desc->s.dim[0])
            return CUDNN_STATUS_BAD_PARAM;
        total += label_lengths[b];
    }
    for (int64_t i = 0; i < total; i++)
        if (labels[i] < 1 || labels[i] >= probs_desc->s.dim[2])
            return CUDNN_STATUS_BAD_PARAM;
    int *copy = malloc((size_t)(total + 2 * batch + 1) * sizeof *copy);
    if (!copy)
        return CUDNN_STATUS_ALLOC_FAILED;
    memcpy(copy, labels, (size_t)total * sizeof *copy);
    memcpy(copy + total, label_lengths, (size_t)batch * sizeof *copy);
    memcpy(copy + total + batch, input_lengths, (size_t)batch * sizeof *copy);
    struct ctc c = { d->norm == CUDNN_LOSS_NORMALIZATION_SOFTMAX, d->grad == CUDNN_CTC_SKIP_OOB_GRADIENTS, copy, copy + total,
                     copy + total + batch };
    struct aw_dnn_shape cost = { .type = CUDNN_DATA_FLOAT, .n = 1, .dim = { batch }, .stride = { 1 } };
    const struct aw_dnn_operand operands[] = { { &cost, costs, AW_LIB_OUT },
                                               AW_DNN_MADE(gradients_desc, gradients, c.skips),
                                               AW_DNN_GIVEN(probs_desc, probs) };
    return aw_dnn_call_with(&handle->queue, ctc_kernel, &c, sizeof c, operands, 3, copy);
}

/* How many labels there are, which only memory of the device tells; on the host device nobody needs it. */
static cudnnStatus_t count_labels(cudnnHandle_t handle, const int *lengths, int64_t batch, int64_t *ret_total)
{
    int *copy = malloc((size_t)batch * sizeof *copy);
    CUresult result = copy ? aw_lib_read(&handle->queue, copy, lengths, (size_t)batch * sizeof *copy) : AW_LIB_NO_MEMORY;
    *ret_total = 0;
    for (int64_t b = 0; b < batch && result == CUDA_SUCCESS; b++)
        *ret_total += copy[b] > 0 ? copy[b] : 0;
    free(copy);
    return aw_dnn_status(result);
}

cudnnStatus_t awcudnn_cudnnCTCLoss_v8(cudnnHandle_t handle, cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t d,
                                      cudnnTensorDescriptor_t probs_desc, const void *probs, const int *labels,
                                      const int *label_lengths, const int *input_lengths, void *costs,
                                      cudnnTensorDescriptor_t gradients_desc, void *gradients, size_t size, void *workspace)
{
    AW_DNN_NEED(handle, d && probs && labels && label_lengths && input_lengths && costs &&
                            algo <= CUDNN_CTC_LOSS_ALGO_NON_DETERMINISTIC && tensors_good(probs_desc, gradients_desc) &&
                            (!gradients || gradients_desc));
    int64_t batch = probs_desc->s.dim[1], total = batch * d->most;
    if (handle->queue.place == AW_LIB_CARD) {
        cudnnStatus_t status = count_labels(handle, label_lengths, batch, &total);
        if (status != CUDNN_STATUS_SUCCESS)
            return status;
    }
    struct ctc c = { d->norm == CUDNN_LOSS_NORMALIZATION_SOFTMAX, d->grad == CUDNN_CTC_SKIP_OOB_GRADIENTS, NULL, NULL, NULL };
    struct aw_dnn_shape cost = { .type = CUDNN_DATA_FLOAT, .n = 1, .dim = { batch }, .stride = { 1 } };
    struct aw_dnn_shape list = { .type = CUDNN_DATA_INT32, .n = 1, .dim = { total > 0 ? total : 1 }, .stride = { 1 } };
    struct aw_dnn_shape each = { .type = CUDNN_DATA_INT32, .n = 1, .dim = { batch }, .stride = { 1 } };
    return AW_DNN_RUN(handle, ctc_kernel, c, { &cost, costs, AW_LIB_OUT }, AW_DNN_MADE(gradients_desc, gradients, c.skips),
                      AW_DNN_GIVEN(probs_desc, probs), { &list, labels, AW_LIB_IN }, { &each, label_lengths, AW_LIB_IN },
                      { &each, input_lengths, AW_LIB_IN });
}

cudnnStatus_t awcudnn_cudnnGetCTCLossWorkspaceSize_v8(cudnnHandle_t handle, cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t d,
                                                      cudnnTensorDescriptor_t probs, cudnnTensorDescriptor_t gradients,
                                                      size_t *size)
{
    AW_DNN_NEED(handle, d && size && tensors_good(probs, gradients));
    *size = 0;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnGetCTCLossWorkspaceSize(cudnnHandle_t handle, cudnnTensorDescriptor_t probs,
                                                   cudnnTensorDescriptor_t gradients, const int *labels, const int *label_lengths,
                                                   const int *input_lengths, cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t d,
                                                   size_t *size)
{
    return awcudnn_cudnnGetCTCLossWorkspaceSize_v8(handle, algo, d, probs, gradients, size);
}
