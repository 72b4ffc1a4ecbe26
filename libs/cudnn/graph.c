/* Operation graphs as programs: each operation's descriptor becomes a node, its tensors the program's, by their unique ids.
 * What no kernel does answers not-supported here, when the graph is finalized, so that programs fall back. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cudnn"
#include <stdlib.h>
#include <string.h>

#include "attention.h"
#include "backend.h"
#include "base/log.h"
#include "matmul.h"

void aw_dnn_graph_unref(struct aw_dnn_graph *graph)
{
    if (!graph || __atomic_sub_fetch(&graph->refs, 1, __ATOMIC_ACQ_REL))
        return;
    aw_dnn_program_unref(graph->program);
    free(graph);
}

static cudnnStatus_t unsupported(const char *why)
{
    aw_say(CUDNN_GRAPH, why);
    return aw_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN, why);
}

#define ATTR(name) AW_DNN_ATTRIBUTE_##name

/* Could counts of elements, and bytes from the first to the last, not be told in 64 bits? */
static bool too_large(const struct aw_dnn_shape *s)
{
    int64_t count = 1, extent = 1, run;
    for (int i = 0; i < s->n; i++)
        if (__builtin_mul_overflow(count, s->dim[i], &count) || __builtin_mul_overflow(s->dim[i] - 1, s->stride[i], &run) ||
            __builtin_add_overflow(extent, run, &extent))
            return true;
    return count > INT64_MAX / 64 || extent > INT64_MAX / 64;
}

cudnnStatus_t aw_dnn_graph_shape(const struct aw_dnn_descriptor *tensor, struct aw_dnn_shape *ret)
{
    int n = aw_dnn_attribute_ints(tensor, ATTR(TENSOR_DIMENSIONS), ret->dim, AW_DNN_DIMS);
    int strides = aw_dnn_attribute_ints(tensor, ATTR(TENSOR_STRIDES), ret->stride, AW_DNN_DIMS);
    ret->type = (cudnnDataType_t)aw_dnn_attribute_int(tensor, ATTR(TENSOR_DATA_TYPE), -1);
    ret->n = n;
    if (n < 1 || strides != n || !aw_dnn_attribute(tensor, ATTR(TENSOR_UNIQUE_ID)) || (int)ret->type < 0)
        return aw_dnn_fail(CUDNN_STATUS_BAD_PARAM, "a tensor needs a unique id, a type, dimensions and as many strides");
    for (int i = 0; i < n; i++)
        if (ret->dim[i] < 1 || ret->stride[i] < 0)
            return aw_dnn_fail(CUDNN_STATUS_BAD_PARAM, "a tensor's dimensions are positive and its strides not negative");
    if (too_large(ret))
        return aw_dnn_fail(CUDNN_STATUS_BAD_PARAM, "a tensor is larger than any memory");
    if (!aw_dnn_type_bits(ret->type)) {
        aw_say(CUDNN_GRAPH_TYPE, (int)ret->type);
        return aw_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "this data type is not implemented");
    }
    if (aw_dnn_attribute_int(tensor, ATTR(TENSOR_VECTOR_COUNT), 1) != 1 ||
        aw_dnn_attribute_int(tensor, ATTR(TENSOR_REORDERING_MODE), 0) != 0)
        return aw_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT, "vectorised and reordered tensors are not implemented");
    return CUDNN_STATUS_SUCCESS;
}

/* ---- A graph in the making */

struct producer {
    int64_t uid;
    const struct aw_dnn_descriptor *operation;
};

struct build {
    struct aw_dnn_program *program;
    int64_t *uids; /* of the program's tensors */
    int room;
    bool *written;              /* has a node written the tensor? */
    struct producer *producers; /* of the program's tensors that operations write */
    int n_producers;
    const struct aw_dnn_descriptor *operation; /* at hand */
    cudnnStatus_t status;
    /* The node that is being made. */
    int n, tensors[AW_DNN_VIEWS];
    unsigned out;                                   /* which of them it writes */
    const struct aw_dnn_shape *shape[AW_DNN_VIEWS]; /* borrowed from the program until its next tensor */
};

static bool failed(struct build *b, cudnnStatus_t status)
{
    if (b->status == CUDNN_STATUS_SUCCESS)
        b->status = status;
    return false;
}

/* One more entry beside each of the program's tensors. */
static bool room_for(struct build *b)
{
    if (b->program->n_tensors < b->room)
        return true;
    int room = b->room ? 2 * b->room : 16;
    int64_t *uids = realloc(b->uids, (size_t)room * sizeof *uids);
    b->uids = uids ? uids : b->uids;
    bool *written = realloc(b->written, (size_t)room * sizeof *written);
    b->written = written ? written : b->written;
    b->room = uids && written ? room : b->room;
    return uids && written;
}

static bool operations(struct build *b, const struct aw_dnn_descriptor *graph);

/* A ragged tensor's offsets are of each index of its first dimension. */
static bool ragged(struct build *b, const struct aw_dnn_descriptor *tensor, int number);

/* The program's number of a tensor; -1 where it was not possible. */
static int tensor_of(struct build *b, const struct aw_dnn_descriptor *tensor)
{
    struct aw_dnn_shape s;
    int64_t uid = aw_dnn_attribute_int(tensor, ATTR(TENSOR_UNIQUE_ID), 0);
    for (int i = 0; i < b->program->n_tensors; i++)
        if (b->uids[i] == uid)
            return i;
    cudnnStatus_t status = aw_dnn_graph_shape(tensor, &s);
    if (status != CUDNN_STATUS_SUCCESS)
        return failed(b, status) - 1;
    const struct aw_dnn_attribute *constant = aw_dnn_attribute(tensor, ATTR(TENSOR_CONSTANT_VALUE));
    enum aw_dnn_storage storage = constant                                                    ? AW_DNN_CONSTANT
                                  : aw_dnn_attribute_int(tensor, ATTR(TENSOR_IS_VIRTUAL), 0)  ? AW_DNN_VIRTUAL
                                  : aw_dnn_attribute_int(tensor, ATTR(TENSOR_IS_BY_VALUE), 0) ? AW_DNN_VALUE
                                                                                              : AW_DNN_USER;
    /* How programs have booleans in memory, as bits or bytes and in which order, no manual tells for sure. */
    if (storage != AW_DNN_VIRTUAL && s.type == CUDNN_DATA_BOOLEAN)
        return failed(b, unsupported("booleans in the program's memory")) - 1;
    if ((storage == AW_DNN_VALUE || storage == AW_DNN_CONSTANT) && aw_dnn_bytes(&s) > 16)
        return failed(b, unsupported("a tensor by value has more than one element")) - 1;
    /* Nobody else sees where a virtual tensor's elements are, and programs give them strides by which they lie on one another. */
    if (storage == AW_DNN_VIRTUAL && !aw_dnn_packed(&s))
        aw_dnn_pack(&s);
    int t = room_for(b) ? aw_dnn_program_tensor(b->program, &s, storage, 0) : -1;
    if (t < 0)
        return failed(b, CUDNN_STATUS_ALLOC_FAILED) - 1;
    b->uids[t] = uid;
    b->written[t] = false;
    if (constant)
        memcpy(b->program->tensors[t].value, constant->data, aw_dnn_bytes(&s));
    return ragged(b, tensor, t) ? t : -1;
}

static bool ragged(struct build *b, const struct aw_dnn_descriptor *tensor, int number)
{
    const struct aw_dnn_descriptor *offsets = aw_dnn_attribute_descriptor(tensor, ATTR(TENSOR_RAGGED_OFFSET_DESC), 0);
    if (!offsets)
        return true;
    int t = tensor_of(b, offsets);
    if (t < 0)
        return false;
    const struct aw_dnn_shape *s = &b->program->tensors[number].s, *o = &b->program->tensors[t].s;
    if (b->program->tensors[number].storage != AW_DNN_USER || o->dim[0] <= s->dim[0] || s->type == CUDNN_DATA_BOOLEAN)
        return failed(b, unsupported("offsets of a ragged tensor do not fit it"));
    b->program->tensors[number].ragged = t;
    b->program->tensors[number].scale = aw_dnn_attribute_int(tensor, ATTR(TENSOR_RAGGED_OFFSET_MULTIPLIER), 1);
    b->program->tensors[t].dir |= AW_LIB_IN;
    return true;
}

/* The attributes under which operations have what they write. */
static const int outputs[] = {
    ATTR(OPERATION_CONVOLUTION_FORWARD_Y),
    ATTR(OPERATION_CONVOLUTION_BWD_DATA_DX),
    ATTR(OPERATION_CONVOLUTION_BWD_FILTER_DW),
    ATTR(OPERATION_POINTWISE_YDESC),
    ATTR(OPERATION_POINTWISE_DXDESC),
    ATTR(OPERATION_MATMUL_CDESC),
    ATTR(OPERATION_REDUCTION_YDESC),
    ATTR(OPERATION_GENSTATS_SUMDESC),
    ATTR(OPERATION_GENSTATS_SQSUMDESC),
    ATTR(OPERATION_BN_FINALIZE_UPDATED_RUNNING_MEAN_DESC),
    ATTR(OPERATION_BN_FINALIZE_UPDATED_RUNNING_VAR_DESC),
    ATTR(OPERATION_BN_FINALIZE_SAVED_MEAN_DESC),
    ATTR(OPERATION_BN_FINALIZE_SAVED_INV_STD_DESC),
    ATTR(OPERATION_BN_FINALIZE_EQ_SCALE_DESC),
    ATTR(OPERATION_BN_FINALIZE_EQ_BIAS_DESC),
    ATTR(OPERATION_NORM_FWD_YDESC),
    ATTR(OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC),
    ATTR(OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC),
    ATTR(OPERATION_NORM_BWD_DXDESC),
    ATTR(OPERATION_NORM_BWD_DSCALE_DESC),
    ATTR(OPERATION_NORM_BWD_DBIAS_DESC),
    ATTR(OPERATION_RESAMPLE_FWD_YDESC),
    ATTR(OPERATION_RESAMPLE_FWD_IDXDESC),
    ATTR(OPERATION_RESAMPLE_BWD_DXDESC),
    ATTR(OPERATION_CONCAT_OUTPUT_DESC),
    ATTR(OPERATION_RESHAPE_YDESC),
    ATTR(OPERATION_TRANSPOSE_YDESC),
    ATTR(OPERATION_SLICE_YDESC),
    ATTR(OPERATION_RNG_YDESC),
    ATTR(OPERATION_SOFTMAX_YDESC),
    ATTR(OPERATION_SOFTMAX_STATS_DESC),
    ATTR(OPERATION_SOFTMAX_MAX_DESC),
    ATTR(OPERATION_SOFTMAX_SUM_EXP_DESC),
    ATTR(OPERATION_SDPA_FWD_ODESC),
    ATTR(OPERATION_SDPA_FWD_STATSDESC),
    ATTR(OPERATION_SDPA_FWD_DROPOUT_RNG_DUMP_DESC),
    ATTR(OPERATION_DIAGONAL_BAND_MASK_YDESC),
    ATTR(OPERATION_PAGED_CACHE_LOAD_YDESC),
};

static bool is_output(const struct aw_dnn_descriptor *op, int name)
{
    if (name == ATTR(OPERATION_NORM_FWD_MEAN_DESC) || name == ATTR(OPERATION_NORM_FWD_INV_VARIANCE_DESC))
        return aw_dnn_attribute_int(op, ATTR(OPERATION_NORM_FWD_PHASE), 0) == 1;
    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++)
        if (outputs[i] == name)
            return true;
    return false;
}

/* Notes what an operation writes. */
static bool produces(struct build *b, const struct aw_dnn_descriptor *op)
{
    for (const struct aw_dnn_attribute *a = op->attributes; a; a = a->next) {
        const struct aw_dnn_descriptor *tensor = is_output(op, a->name) ? aw_dnn_attribute_descriptor(op, a->name, 0) : NULL;
        if (!tensor)
            continue;
        struct producer *p = realloc(b->producers, (size_t)(b->n_producers + 1) * sizeof *p);
        if (!p)
            return failed(b, CUDNN_STATUS_ALLOC_FAILED);
        b->producers = p;
        p[b->n_producers++] = (struct producer){ aw_dnn_attribute_int(tensor, ATTR(TENSOR_UNIQUE_ID), 0), op };
    }
    return true;
}

/* Must tensor `t` wait for another operation than the one at hand? */
static bool waits(const struct build *b, int t)
{
    if (b->written[t])
        return false;
    for (int i = 0; i < b->n_producers; i++)
        if (b->producers[i].uid == b->uids[t] && b->producers[i].operation != b->operation)
            return true;
    return b->program->tensors[t].storage == AW_DNN_VIRTUAL;
}

enum use { IN, OUT, IN_OPTIONAL, OUT_OPTIONAL };

/* The tensor under an attribute of the operation becomes the node's next; an absent one its place. */
static bool take(struct build *b, const struct aw_dnn_descriptor *op, int attribute, enum use use)
{
    const struct aw_dnn_descriptor *tensor = aw_dnn_attribute_descriptor(op, attribute, 0);
    int t = -1, at = b->n++;
    b->tensors[at] = -1;
    if (!tensor)
        return use == IN_OPTIONAL || use == OUT_OPTIONAL ||
               failed(b, aw_dnn_fail(CUDNN_STATUS_BAD_PARAM, "an operation lacks one of its tensors"));
    if (tensor->type != AW_DNN_DESCRIPTOR_TENSOR || (t = tensor_of(b, tensor)) < 0)
        return failed(b, CUDNN_STATUS_BAD_PARAM);
    b->tensors[at] = t;
    struct aw_dnn_tensor *p = &b->program->tensors[t];
    bool out = use == OUT || use == OUT_OPTIONAL;
    if (!out && waits(b, t))
        return false; /* the operation's turn comes later */
    if (out && (p->storage == AW_DNN_VALUE || p->storage == AW_DNN_CONSTANT))
        return failed(b, CUDNN_STATUS_BAD_PARAM);
    /* What an earlier node wrote is in memory already: it need not come from the program. */
    p->dir |= out ? AW_LIB_OUT : b->written[t] ? 0 : AW_LIB_IN;
    b->out |= out ? 1u << at : 0;
    return true;
}

static bool take_all(struct build *b, const struct aw_dnn_descriptor *op, const int attributes[], const enum use uses[], int n)
{
    for (int i = 0; i < n; i++)
        if (!take(b, op, attributes[i], uses[i]))
            return false;
    for (int i = 0; i < b->n; i++)
        b->shape[i] = b->tensors[i] >= 0 ? &b->program->tensors[b->tensors[i]].s : NULL;
    return true;
}
#define TAKE(b, op, ...) \
    take_pairs(b, op, (const int[][2]){ __VA_ARGS__ }, (int)(sizeof((const int[][2]){ __VA_ARGS__ }) / sizeof(int[2])))

static bool take_pairs(struct build *b, const struct aw_dnn_descriptor *op, const int pairs[][2], int n)
{
    int attributes[AW_DNN_VIEWS];
    enum use uses[AW_DNN_VIEWS];
    for (int i = 0; i < n; i++) {
        attributes[i] = pairs[i][0];
        uses[i] = (enum use)pairs[i][1];
    }
    return take_all(b, op, attributes, uses, n);
}

/* The node with the tensors taken. */
static bool emit(struct build *b, aw_dnn_kernel kernel, const void *params, size_t size)
{
    if (!aw_dnn_program_node(b->program, kernel, params, size, b->n, b->tensors))
        return failed(b, CUDNN_STATUS_ALLOC_FAILED);
    for (int i = 0; i < b->n; i++)
        if (b->tensors[i] >= 0 && b->out >> i & 1)
            b->written[b->tensors[i]] = true;
    return true;
}

/* The tensor that comes with `beta` is read as well as written. */
static void accumulates(struct build *b, int at, double beta)
{
    if (beta != 0)
        b->program->tensors[b->tensors[at]].dir |= AW_LIB_IN;
}

/* ---- Operations */

static bool convolution(struct build *b, const struct aw_dnn_descriptor *op, enum aw_dnn_convolve_kind kind)
{
    static const int attributes[3][6] = {
        { ATTR(OPERATION_CONVOLUTION_FORWARD_CONV_DESC), ATTR(OPERATION_CONVOLUTION_FORWARD_ALPHA),
          ATTR(OPERATION_CONVOLUTION_FORWARD_BETA), ATTR(OPERATION_CONVOLUTION_FORWARD_X), ATTR(OPERATION_CONVOLUTION_FORWARD_W),
          ATTR(OPERATION_CONVOLUTION_FORWARD_Y) },
        { ATTR(OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC), ATTR(OPERATION_CONVOLUTION_BWD_DATA_ALPHA),
          ATTR(OPERATION_CONVOLUTION_BWD_DATA_BETA), ATTR(OPERATION_CONVOLUTION_BWD_DATA_DX),
          ATTR(OPERATION_CONVOLUTION_BWD_DATA_W), ATTR(OPERATION_CONVOLUTION_BWD_DATA_DY) },
        { ATTR(OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC), ATTR(OPERATION_CONVOLUTION_BWD_FILTER_ALPHA),
          ATTR(OPERATION_CONVOLUTION_BWD_FILTER_BETA), ATTR(OPERATION_CONVOLUTION_BWD_FILTER_X),
          ATTR(OPERATION_CONVOLUTION_BWD_FILTER_DW), ATTR(OPERATION_CONVOLUTION_BWD_FILTER_DY) },
    };
    static const int written[] = { 2, 0, 1 };
    const int *a = attributes[kind];
    const struct aw_dnn_descriptor *d = aw_dnn_attribute_descriptor(op, a[0], 0);
    struct aw_dnn_convolution c = { .kind = kind,
                                    .flip = aw_dnn_attribute_int(d, ATTR(CONVOLUTION_CONV_MODE), 1) == CUDNN_CONVOLUTION,
                                    .alpha = aw_dnn_attribute_real(op, a[1], 1),
                                    .beta = aw_dnn_attribute_real(op, a[2], 0) };
    c.n = aw_dnn_attribute_ints(d, ATTR(CONVOLUTION_DILATIONS), c.dilation, AW_DNN_SPATIAL);
    if (c.n < 1 || aw_dnn_attribute_ints(d, ATTR(CONVOLUTION_FILTER_STRIDES), c.stride, AW_DNN_SPATIAL) != c.n ||
        aw_dnn_attribute_ints(d, ATTR(CONVOLUTION_PRE_PADDINGS), c.pre, AW_DNN_SPATIAL) != c.n ||
        aw_dnn_attribute_ints(d, ATTR(CONVOLUTION_POST_PADDINGS), c.post, AW_DNN_SPATIAL) != c.n)
        return failed(b, unsupported("a convolution of more than three spatial dimensions"));
    if (!TAKE(b, op, { a[3], kind == AW_DNN_BACKWARD_DATA ? OUT : IN }, { a[4], kind == AW_DNN_BACKWARD_FILTER ? OUT : IN },
              { a[5], kind == AW_DNN_FORWARD ? OUT : IN }))
        return false;
    if (!aw_dnn_convolution_valid(&c, b->shape[0], b->shape[1], b->shape[2]))
        return failed(
            b, aw_dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "sizes of the convolution's tensors do not fit each other"));
    accumulates(b, written[kind], c.beta);
    return emit(b, aw_dnn_convolve, &c, sizeof c);
}

/* Is `x` the result's size, or repeated to it? */
static bool repeats(const struct aw_dnn_shape *x, const struct aw_dnn_shape *y)
{
    for (int i = 0; x && i < x->n; i++) {
        int at = i + y->n - x->n;
        if (at < 0 ? x->dim[i] != 1 : x->dim[i] != 1 && x->dim[i] != y->dim[at])
            return false;
    }
    return !x || x->n <= y->n;
}

static bool pointwise(struct build *b, const struct aw_dnn_descriptor *op)
{
    const struct aw_dnn_descriptor *d = aw_dnn_attribute_descriptor(op, ATTR(OPERATION_POINTWISE_PW_DESCRIPTOR), 0);
    struct aw_dnn_pointwise p = aw_dnn_pointwise_init((int)aw_dnn_attribute_int(d, ATTR(POINTWISE_MODE), -1));
    int operands = p.mode < 1000 ? aw_dnn_pointwise_operands(p.mode) : 0;
    bool gradient = p.mode >= AW_DNN_RELU_FWD + 100 && p.mode < AW_DNN_CMP_EQ;
    if (!operands)
        return failed(b, unsupported("a pointwise mode that is not implemented"));
    p.lower = aw_dnn_attribute_real(d, ATTR(POINTWISE_RELU_LOWER_CLIP), p.lower);
    p.upper = aw_dnn_attribute_real(d, ATTR(POINTWISE_RELU_UPPER_CLIP), p.upper);
    p.slope = aw_dnn_attribute_real(d, ATTR(POINTWISE_RELU_LOWER_CLIP_SLOPE), p.slope);
    p.elu_alpha = aw_dnn_attribute_real(d, ATTR(POINTWISE_ELU_ALPHA), p.elu_alpha);
    p.softplus_beta = aw_dnn_attribute_real(d, ATTR(POINTWISE_SOFTPLUS_BETA), p.softplus_beta);
    p.swish_beta = aw_dnn_attribute_real(d, ATTR(POINTWISE_SWISH_BETA), p.swish_beta);
    p.alpha1 = aw_dnn_attribute_real(op, ATTR(OPERATION_POINTWISE_ALPHA1), 1);
    p.alpha2 = aw_dnn_attribute_real(op, ATTR(OPERATION_POINTWISE_ALPHA2), 1);
    if (gradient ? !TAKE(b, op, { ATTR(OPERATION_POINTWISE_DXDESC), OUT }, { ATTR(OPERATION_POINTWISE_XDESC), IN },
                         { ATTR(OPERATION_POINTWISE_DYDESC), IN })
                 : !TAKE(b, op, { ATTR(OPERATION_POINTWISE_YDESC), OUT }, { ATTR(OPERATION_POINTWISE_XDESC), IN },
                         { ATTR(OPERATION_POINTWISE_BDESC), operands >= 2 ? IN : IN_OPTIONAL },
                         { ATTR(OPERATION_POINTWISE_TDESC), operands == 3 ? IN : IN_OPTIONAL }))
        return false;
    for (int i = 1; i <= operands; i++)
        if (!repeats(b->shape[i], b->shape[0]))
            return failed(b, aw_dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
                                         "an operand does not fit the pointwise operation's result"));
    p.axis = (int)aw_dnn_attribute_int(d, ATTR(POINTWISE_AXIS), -1);
    if (p.mode == AW_DNN_GEN_INDEX && (p.axis < 0 || p.axis >= b->shape[0]->n))
        return failed(b, CUDNN_STATUS_BAD_PARAM);
    return emit(b, aw_dnn_pointwise, &p, sizeof p);
}

static bool matmul(struct build *b, const struct aw_dnn_descriptor *op)
{
    const struct aw_dnn_descriptor *d = aw_dnn_attribute_descriptor(op, ATTR(OPERATION_MATMUL_DESC), 0);
    struct aw_dnn_matmul m = { .padding = aw_dnn_attribute_real(d, ATTR(MATMUL_PADDING_VALUE), 0) };
    if (!TAKE(b, op, { ATTR(OPERATION_MATMUL_ADESC), IN }, { ATTR(OPERATION_MATMUL_BDESC), IN },
              { ATTR(OPERATION_MATMUL_CDESC), OUT }, { ATTR(OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC), IN_OPTIONAL },
              { ATTR(OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC), IN_OPTIONAL },
              { ATTR(OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC), IN_OPTIONAL }))
        return false;
    if (!aw_dnn_matmul_valid(b->shape[0], b->shape[1], b->shape[2]))
        return failed(
            b, aw_dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "sizes of the product's matrices do not fit each other"));
    return emit(b, aw_dnn_matmul, &m, sizeof m);
}

static bool reduction(struct build *b, const struct aw_dnn_descriptor *op)
{
    const struct aw_dnn_descriptor *d = aw_dnn_attribute_descriptor(op, ATTR(OPERATION_REDUCTION_DESC), 0);
    int64_t kind = aw_dnn_attribute_int(d, ATTR(REDUCTION_OPERATOR), -1);
    struct aw_dnn_reduce r = { .op = (cudnnReduceTensorOp_t)kind, .alpha = 1 };
    if (!TAKE(b, op, { ATTR(OPERATION_REDUCTION_YDESC), OUT }, { ATTR(OPERATION_REDUCTION_XDESC), IN }))
        return false;
    if (kind < 0 || kind > CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS || !aw_dnn_reduce_valid(b->shape[1], b->shape[0]))
        return failed(b, unsupported("a reduction that is not implemented"));
    return emit(b, aw_dnn_reduce, &r, sizeof r);
}

static bool genstats(struct build *b, const struct aw_dnn_descriptor *op)
{
    if (!TAKE(b, op, { ATTR(OPERATION_GENSTATS_XDESC), IN }, { ATTR(OPERATION_GENSTATS_SUMDESC), OUT },
              { ATTR(OPERATION_GENSTATS_SQSUMDESC), OUT }))
        return false;
    if (!repeats(b->shape[1], b->shape[0]) || !aw_dnn_same_dims(b->shape[1], b->shape[2]))
        return failed(b, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
    return emit(b, aw_dnn_genstats, "", 1);
}

static bool bn_finalize(struct build *b, const struct aw_dnn_descriptor *op)
{
    struct aw_dnn_bn_finalize f = { aw_dnn_attribute_int(op, ATTR(OPERATION_BN_FINALIZE_STATS_MODE), 0) == 1 };
    enum use sums = f.inference ? IN_OPTIONAL : IN, running = f.inference ? IN : IN_OPTIONAL;
    if (!TAKE(b, op, { ATTR(OPERATION_BN_FINALIZE_Y_SUM_DESC), sums }, { ATTR(OPERATION_BN_FINALIZE_Y_SQ_SUM_DESC), sums },
              { ATTR(OPERATION_BN_FINALIZE_SCALE_DESC), IN_OPTIONAL }, { ATTR(OPERATION_BN_FINALIZE_BIAS_DESC), IN_OPTIONAL },
              { ATTR(OPERATION_BN_FINALIZE_PREV_RUNNING_MEAN_DESC), running },
              { ATTR(OPERATION_BN_FINALIZE_PREV_RUNNING_VAR_DESC), running },
              { ATTR(OPERATION_BN_FINALIZE_UPDATED_RUNNING_MEAN_DESC), OUT_OPTIONAL },
              { ATTR(OPERATION_BN_FINALIZE_UPDATED_RUNNING_VAR_DESC), OUT_OPTIONAL },
              { ATTR(OPERATION_BN_FINALIZE_SAVED_MEAN_DESC), OUT_OPTIONAL },
              { ATTR(OPERATION_BN_FINALIZE_SAVED_INV_STD_DESC), OUT_OPTIONAL },
              { ATTR(OPERATION_BN_FINALIZE_EQ_SCALE_DESC), OUT_OPTIONAL },
              { ATTR(OPERATION_BN_FINALIZE_EQ_BIAS_DESC), OUT_OPTIONAL }, { ATTR(OPERATION_BN_FINALIZE_ACCUM_COUNT_DESC), sums },
              { ATTR(OPERATION_BN_FINALIZE_EPSILON_DESC), IN },
              { ATTR(OPERATION_BN_FINALIZE_EXP_AVERATE_FACTOR_DESC), IN_OPTIONAL }))
        return false;
    return emit(b, aw_dnn_bn_finalize, &f, sizeof f);
}

/* cuDNN's norms by number. */
enum { LAYER, INSTANCE, BATCH, GROUP, RMS, ADA_LAYER };

/* The sizes of mean and deviation: those of the tensor that has them, else what the mode and scale say. */
static bool stats_of(int mode, const struct aw_dnn_shape *x, const struct aw_dnn_shape *known, const struct aw_dnn_shape *scale,
                     struct aw_dnn_shape *ret)
{
    *ret = *x;
    ret->type = CUDNN_DATA_DOUBLE;
    for (int i = 0; i < x->n; i++) {
        bool kept = known              ? known->n == x->n && known->dim[i] == x->dim[i]
                    : mode == BATCH    ? i == 1
                    : mode == INSTANCE ? i < 2
                                       : scale && scale->n == x->n && (mode == ADA_LAYER ? i == 0 : scale->dim[i] == 1);
        ret->dim[i] = kept ? x->dim[i] : 1;
        if (known && (known->n != x->n || (known->dim[i] != 1 && known->dim[i] != x->dim[i])))
            return false;
    }
    aw_dnn_pack(ret);
    return known || mode == BATCH || mode == INSTANCE || (scale && scale->n == x->n);
}

static bool norm_forward(struct build *b, const struct aw_dnn_descriptor *op)
{
    int mode = (int)aw_dnn_attribute_int(op, ATTR(OPERATION_NORM_FWD_MODE), -1);
    bool training = aw_dnn_attribute_int(op, ATTR(OPERATION_NORM_FWD_PHASE), 0) == 1;
    struct aw_dnn_norm n = { .centred = mode != RMS, .alpha = 1, .activation = -1, .factor = 1 };
    if (mode < LAYER || mode > ADA_LAYER || mode == GROUP)
        return failed(b, unsupported("a norm's mode that is not implemented"));
    /* Statistics are made in training; in inference, of what is per sample, too. */
    bool given = !training && aw_dnn_attribute(op, ATTR(OPERATION_NORM_FWD_INV_VARIANCE_DESC));
    enum use stat = given ? IN_OPTIONAL : OUT_OPTIONAL;
    if (!TAKE(b, op, { ATTR(OPERATION_NORM_FWD_YDESC), OUT }, { ATTR(OPERATION_NORM_FWD_XDESC), IN },
              { ATTR(OPERATION_NORM_FWD_MEAN_DESC), stat }, { ATTR(OPERATION_NORM_FWD_INV_VARIANCE_DESC), stat },
              { ATTR(OPERATION_NORM_FWD_SCALE_DESC), IN_OPTIONAL }, { ATTR(OPERATION_NORM_FWD_BIAS_DESC), IN_OPTIONAL },
              { ATTR(OPERATION_NORM_FWD_EPSILON_DESC), IN_OPTIONAL },
              { ATTR(OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC), IN_OPTIONAL },
              { ATTR(OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC), IN_OPTIONAL },
              { ATTR(OPERATION_NORM_FWD_INPUT_RUNNING_VAR_DESC), IN_OPTIONAL },
              { ATTR(OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC), OUT_OPTIONAL },
              { ATTR(OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC), OUT_OPTIONAL }))
        return false;
    n.given = given;
    if (!aw_dnn_same_dims(b->shape[0], b->shape[1]) || !stats_of(mode, b->shape[1], b->shape[3], b->shape[4], &n.stats) ||
        !repeats(b->shape[4], b->shape[1]) || !repeats(b->shape[5], b->shape[1]))
        return failed(b, unsupported("a norm whose tensors' sizes do not fit each other"));
    if (!given && !b->shape[6])
        return failed(b, CUDNN_STATUS_BAD_PARAM);
    return emit(b, aw_dnn_norm_forward, &n, sizeof n);
}

static bool norm_backward(struct build *b, const struct aw_dnn_descriptor *op)
{
    int mode = (int)aw_dnn_attribute_int(op, ATTR(OPERATION_NORM_BWD_MODE), -1);
    struct aw_dnn_norm n = { .centred = mode != RMS, .alpha = 1, .activation = -1, .param_alpha = 1 };
    if (mode < LAYER || mode > ADA_LAYER || mode == GROUP)
        return failed(b, unsupported("a norm's mode that is not implemented"));
    if (!TAKE(b, op, { ATTR(OPERATION_NORM_BWD_DXDESC), OUT_OPTIONAL }, { ATTR(OPERATION_NORM_BWD_XDESC), IN },
              { ATTR(OPERATION_NORM_BWD_DYDESC), IN }, { ATTR(OPERATION_NORM_BWD_MEAN_DESC), IN_OPTIONAL },
              { ATTR(OPERATION_NORM_BWD_INV_VARIANCE_DESC), IN_OPTIONAL }, { ATTR(OPERATION_NORM_BWD_SCALE_DESC), IN_OPTIONAL },
              { ATTR(OPERATION_NORM_BWD_DSCALE_DESC), OUT_OPTIONAL }, { ATTR(OPERATION_NORM_BWD_DBIAS_DESC), OUT_OPTIONAL },
              { ATTR(OPERATION_NORM_BWD_EPSILON_DESC), IN_OPTIONAL }))
        return false;
    if (!aw_dnn_same_dims(b->shape[1], b->shape[2]) || !stats_of(mode, b->shape[1], b->shape[4], b->shape[5], &n.stats) ||
        !repeats(b->shape[5], b->shape[1]) || (!b->shape[4] && !b->shape[8]))
        return failed(b, unsupported("a norm whose tensors' sizes do not fit each other"));
    return emit(b, aw_dnn_norm_backward, &n, sizeof n);
}

/* The window's parameters.  False: not implemented, which is said. */
static bool resample_params(struct build *b, const struct aw_dnn_descriptor *d, struct aw_dnn_pool *ret)
{
    int64_t mode = aw_dnn_attribute_int(d, ATTR(RESAMPLE_MODE), -1),
            pad = aw_dnn_attribute_int(d, ATTR(RESAMPLE_PADDING_MODE), 0), post[3];
    *ret = (struct aw_dnn_pool){ .alpha = 1, .zero_pad = pad == 0 };
    ret->skip_nan = aw_dnn_attribute_int(d, ATTR(RESAMPLE_NAN_PROPAGATION), CUDNN_PROPAGATE_NAN) == CUDNN_NOT_PROPAGATE_NAN;
    ret->mode = mode == 3 ? AW_DNN_POOL_MAX : mode == 4 ? AW_DNN_POOL_MEAN_INSIDE : AW_DNN_POOL_MEAN;
    ret->n = aw_dnn_attribute_ints(d, ATTR(RESAMPLE_WINDOW_DIMS), ret->window, AW_DNN_SPATIAL);
    if ((mode != 2 && mode != 3 && mode != 4) || (mode == 3 ? pad > 1 : pad != 0) || ret->n < 1 ||
        aw_dnn_attribute_ints(d, ATTR(RESAMPLE_STRIDES), ret->stride, AW_DNN_SPATIAL) != ret->n ||
        aw_dnn_attribute_ints(d, ATTR(RESAMPLE_PRE_PADDINGS), ret->pre, AW_DNN_SPATIAL) != ret->n ||
        aw_dnn_attribute_ints(d, ATTR(RESAMPLE_POST_PADDINGS), post, AW_DNN_SPATIAL) != ret->n)
        return failed(b, unsupported("resampling other than by windows at whole places"));
    return true;
}

static bool resample_fits(const struct aw_dnn_pool *p, const struct aw_dnn_shape *x, const struct aw_dnn_shape *y)
{
    if (x->n != p->n + 2 || y->n != x->n || x->dim[0] != y->dim[0] || x->dim[1] != y->dim[1])
        return false;
    for (int i = 0; i < p->n; i++)
        if (p->window[i] < 1 || p->stride[i] < 1 || p->pre[i] < 0)
            return false;
    return true;
}

static bool resample_forward(struct build *b, const struct aw_dnn_descriptor *op)
{
    struct aw_dnn_pool p;
    if (!resample_params(b, aw_dnn_attribute_descriptor(op, ATTR(OPERATION_RESAMPLE_FWD_DESC), 0), &p) ||
        !TAKE(b, op, { ATTR(OPERATION_RESAMPLE_FWD_YDESC), OUT }, { ATTR(OPERATION_RESAMPLE_FWD_XDESC), IN },
              { ATTR(OPERATION_RESAMPLE_FWD_IDXDESC), OUT_OPTIONAL }))
        return false;
    p.alpha = aw_dnn_attribute_real(op, ATTR(OPERATION_RESAMPLE_FWD_ALPHA), 1);
    p.beta = aw_dnn_attribute_real(op, ATTR(OPERATION_RESAMPLE_FWD_BETA), 0);
    accumulates(b, 0, p.beta);
    if (!resample_fits(&p, b->shape[1], b->shape[0]) || (b->shape[2] && !aw_dnn_same_dims(b->shape[2], b->shape[0])))
        return failed(b, unsupported("resampling of tensors that do not fit each other"));
    return emit(b, aw_dnn_pool_forward, &p, sizeof p);
}

static bool resample_backward(struct build *b, const struct aw_dnn_descriptor *op)
{
    struct aw_dnn_pool p;
    if (!resample_params(b, aw_dnn_attribute_descriptor(op, ATTR(OPERATION_RESAMPLE_BWD_DESC), 0), &p) ||
        !TAKE(b, op, { ATTR(OPERATION_RESAMPLE_BWD_DXDESC), OUT }, { ATTR(OPERATION_RESAMPLE_BWD_DYDESC), IN },
              { ATTR(OPERATION_RESAMPLE_BWD_XDESC), IN_OPTIONAL }, { ATTR(OPERATION_RESAMPLE_BWD_YDESC), IN_OPTIONAL },
              { ATTR(OPERATION_RESAMPLE_BWD_IDXDESC), IN_OPTIONAL }))
        return false;
    p.alpha = aw_dnn_attribute_real(op, ATTR(OPERATION_RESAMPLE_BWD_ALPHA), 1);
    p.beta = aw_dnn_attribute_real(op, ATTR(OPERATION_RESAMPLE_BWD_BETA), 0);
    accumulates(b, 0, p.beta);
    if (!resample_fits(&p, b->shape[0], b->shape[1]) || (p.mode == AW_DNN_POOL_MAX && !b->shape[2] && !b->shape[4]))
        return failed(b, unsupported("resampling of tensors that do not fit each other"));
    return emit(b, aw_dnn_pool_backward, &p, sizeof p);
}

static bool concat(struct build *b, const struct aw_dnn_descriptor *op)
{
    const struct aw_dnn_attribute *inputs = aw_dnn_attribute(op, ATTR(OPERATION_CONCAT_INPUT_DESCS));
    struct aw_dnn_move m = { .axis = (int)aw_dnn_attribute_int(op, ATTR(OPERATION_CONCAT_AXIS), -1),
                             .n = inputs ? (int)inputs->n : 0 };
    int64_t size = 0;
    if (!TAKE(b, op, { ATTR(OPERATION_CONCAT_OUTPUT_DESC), OUT }))
        return false;
    struct aw_dnn_shape y = *b->shape[0];
    if (m.axis < 0 || m.axis >= y.n || !m.n)
        return failed(b, CUDNN_STATUS_BAD_PARAM);
    for (int i = 0; i < m.n; i++) {
        int t = tensor_of(b, aw_dnn_attribute_descriptor(op, ATTR(OPERATION_CONCAT_INPUT_DESCS), i));
        if (t < 0 || waits(b, t))
            return false;
        struct aw_dnn_tensor *p = &b->program->tensors[t];
        p->dir |= b->written[t] ? 0 : AW_LIB_IN;
        b->tensors[b->n++] = t;
        size += p->s.n == y.n ? p->s.dim[m.axis] : 0;
        for (int k = 0; k < y.n; k++)
            if (p->s.n != y.n || (k != m.axis && p->s.dim[k] != y.dim[k]))
                return failed(b, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
    }
    return size == y.dim[m.axis] ? emit(b, aw_dnn_concat, &m, sizeof m) : failed(b, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
}

static bool reshape(struct build *b, const struct aw_dnn_descriptor *op)
{
    struct aw_dnn_move m = { .alpha = 1 };
    if (!TAKE(b, op, { ATTR(OPERATION_RESHAPE_YDESC), OUT }, { ATTR(OPERATION_RESHAPE_XDESC), IN }))
        return false;
    if (aw_dnn_count(b->shape[0]) != aw_dnn_count(b->shape[1]))
        return failed(b, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
    if (aw_dnn_attribute_int(op, ATTR(OPERATION_RESHAPE_MODE), 0) != 0)
        return emit(b, aw_dnn_reshape, &m, sizeof m);
    /* The same memory under other dimensions and strides, those that the program gave, also where the tensor is virtual and lies
     * otherwise: in another order it is a transposed tensor, else a run of elements. */
    struct aw_dnn_shape x, y;
    if (aw_dnn_graph_shape(aw_dnn_attribute_descriptor(op, ATTR(OPERATION_RESHAPE_XDESC), 0), &x) != CUDNN_STATUS_SUCCESS ||
        aw_dnn_graph_shape(aw_dnn_attribute_descriptor(op, ATTR(OPERATION_RESHAPE_YDESC), 0), &y) != CUDNN_STATUS_SUCCESS)
        return failed(b, CUDNN_STATUS_BAD_PARAM);
    if (aw_dnn_permutation(&x, &y, m.at) || aw_dnn_permutation(b->shape[1], b->shape[0], m.at))
        return emit(b, aw_dnn_transpose, &m, sizeof m);
    if (!aw_dnn_packed(b->shape[0]) || !aw_dnn_packed(b->shape[1]))
        return failed(b, unsupported("another view of memory with gaps"));
    return emit(b, aw_dnn_view_as, &m, sizeof m);
}

static bool transpose(struct build *b, const struct aw_dnn_descriptor *op)
{
    struct aw_dnn_move m = { .alpha = 1 };
    int64_t at[AW_DNN_DIMS];
    if (!TAKE(b, op, { ATTR(OPERATION_TRANSPOSE_YDESC), OUT }, { ATTR(OPERATION_TRANSPOSE_XDESC), IN }))
        return false;
    int n = aw_dnn_attribute_ints(op, ATTR(OPERATION_TRANSPOSE_PERMUTATION), at, AW_DNN_DIMS);
    if (n != b->shape[0]->n || n != b->shape[1]->n)
        return failed(b, CUDNN_STATUS_BAD_PARAM);
    for (int i = 0; i < n; i++) {
        if (at[i] < 0 || at[i] >= n || b->shape[0]->dim[i] != b->shape[1]->dim[at[i]])
            return failed(b, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
        m.at[i] = (int)at[i];
    }
    return emit(b, aw_dnn_transpose, &m, sizeof m);
}

static bool slice(struct build *b, const struct aw_dnn_descriptor *op)
{
    struct aw_dnn_move m = { .alpha = 1 };
    int64_t limit[AW_DNN_DIMS];
    if (!TAKE(b, op, { ATTR(OPERATION_SLICE_YDESC), OUT }, { ATTR(OPERATION_SLICE_XDESC), IN }))
        return false;
    const struct aw_dnn_shape *y = b->shape[0], *x = b->shape[1];
    int n = aw_dnn_attribute_ints(op, ATTR(OPERATION_SLICE_START_INDICES), m.begin, AW_DNN_DIMS);
    int steps = aw_dnn_attribute_ints(op, ATTR(OPERATION_SLICE_STRIDES), m.step, AW_DNN_DIMS);
    if (n != x->n || y->n != n || aw_dnn_attribute_ints(op, ATTR(OPERATION_SLICE_LIMIT_INDICES), limit, AW_DNN_DIMS) != n ||
        (steps && steps != n) || x->type == CUDNN_DATA_BOOLEAN)
        return failed(b, CUDNN_STATUS_BAD_PARAM);
    for (int i = 0; i < n; i++) {
        m.step[i] = steps ? m.step[i] : 1;
        if (m.step[i] < 1 || m.begin[i] < 0 || limit[i] > x->dim[i] || limit[i] <= m.begin[i] ||
            y->dim[i] != (limit[i] - m.begin[i] + m.step[i] - 1) / m.step[i])
            return failed(b, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
    }
    return emit(b, aw_dnn_slice, &m, sizeof m);
}

static bool rng(struct build *b, const struct aw_dnn_descriptor *op)
{
    const struct aw_dnn_descriptor *d = aw_dnn_attribute_descriptor(op, ATTR(OPERATION_RNG_DESC), 0);
    struct aw_dnn_random r = { .distribution = (int)aw_dnn_attribute_int(d, ATTR(RNG_DISTRIBUTION), -1) };
    const struct aw_dnn_attribute *seed = aw_dnn_attribute(op, ATTR(OPERATION_RNG_SEED));
    if (r.distribution == 0)
        r.a = aw_dnn_attribute_real(d, ATTR(RNG_BERNOULLI_DIST_PROBABILITY), 0.5);
    else if (r.distribution == 1)
        r.a = aw_dnn_attribute_real(d, ATTR(RNG_UNIFORM_DIST_MINIMUM), 0),
        r.b = aw_dnn_attribute_real(d, ATTR(RNG_UNIFORM_DIST_MAXIMUM), 1);
    else
        r.a = aw_dnn_attribute_real(d, ATTR(RNG_NORMAL_DIST_MEAN), 0),
        r.b = aw_dnn_attribute_real(d, ATTR(RNG_NORMAL_DIST_STANDARD_DEVIATION), 1);
    if (r.distribution < 0 || r.distribution > 2)
        return failed(b, CUDNN_STATUS_BAD_PARAM);
    bool number = seed && seed->type == AW_DNN_INT64;
    r.seed = number ? *(const int64_t *)seed->data : 0;
    return TAKE(b, op, { ATTR(OPERATION_RNG_YDESC), OUT }, { number ? -1 : ATTR(OPERATION_RNG_SEED), IN_OPTIONAL },
                { ATTR(OPERATION_RNG_OFFSET_DESC), IN_OPTIONAL }) &&
           emit(b, aw_dnn_random, &r, sizeof r);
}

static bool softmax(struct build *b, const struct aw_dnn_descriptor *op)
{
    if (aw_dnn_attribute_int(op, ATTR(OPERATION_SOFTMAX_STATS_LOG2), 0))
        return failed(b, unsupported("softmax with statistics to base 2"));
    return TAKE(b, op, { ATTR(OPERATION_SOFTMAX_YDESC), OUT }, { ATTR(OPERATION_SOFTMAX_XDESC), IN },
                { ATTR(OPERATION_SOFTMAX_STATS_DESC), OUT_OPTIONAL }, { ATTR(OPERATION_SOFTMAX_MAX_DESC), OUT_OPTIONAL },
                { ATTR(OPERATION_SOFTMAX_SUM_EXP_DESC), OUT_OPTIONAL }, { ATTR(OPERATION_SOFTMAX_SINK_DESC), IN_OPTIONAL }) &&
           emit(b, aw_dnn_softmax_stats, "", 1);
}

/* Do a cache's pages, their table and the lengths give `s` places of `e` elements to each of B batches and H heads? */
static bool pages_fit(const struct aw_dnn_shape *cache, const struct aw_dnn_shape *table, const struct aw_dnn_shape *lengths,
                      int64_t batches, int64_t s, int64_t e)
{
    return cache->n == 4 && table->n == 4 && cache->dim[3] == e && table->dim[0] == batches && table->dim[1] == 1 &&
           table->dim[3] == 1 && (s + cache->dim[2] - 1) / cache->dim[2] <= table->dim[2] && table->type == CUDNN_DATA_INT32 &&
           (!lengths || (lengths->dim[0] == batches && aw_dnn_count(lengths) == batches));
}

static bool paged_load(struct build *b, const struct aw_dnn_descriptor *op)
{
    struct aw_dnn_shape y;
    const struct aw_dnn_descriptor *d = aw_dnn_attribute_descriptor(op, ATTR(OPERATION_PAGED_CACHE_LOAD_YDESC), 0);
    if (!TAKE(b, op, { ATTR(OPERATION_PAGED_CACHE_LOAD_YDESC), OUT }, { ATTR(OPERATION_PAGED_CACHE_LOAD_CONTAINER_DESC), IN },
              { ATTR(OPERATION_PAGED_CACHE_LOAD_PAGE_TABLE_DESC), IN }, { ATTR(OPERATION_PAGED_CACHE_LOAD_SEQUENCE_DESC), IN }))
        return false;
    if (aw_dnn_graph_shape(d, &y) != CUDNN_STATUS_SUCCESS || y.n != 4)
        return failed(b, CUDNN_STATUS_BAD_PARAM);
    /* Keys come turned; strides tell, as the program gave them. */
    struct aw_dnn_paged p = { .turned = y.stride[2] == 1 && y.stride[3] != 1 };
    if (!pages_fit(b->shape[1], b->shape[2], b->shape[3], y.dim[0], y.dim[p.turned ? 3 : 2], y.dim[p.turned ? 2 : 3]) ||
        b->shape[1]->dim[1] != y.dim[1])
        return failed(b, unsupported("a cache whose pages, table and lengths do not fit each other"));
    return emit(b, aw_dnn_paged_load, &p, sizeof p);
}

static bool sdpa(struct build *b, const struct aw_dnn_descriptor *op);
static bool band_mask(struct build *b, const struct aw_dnn_descriptor *op);

/* One operation's node. */
static bool operation(struct build *b, const struct aw_dnn_descriptor *op)
{
    b->n = 0;
    b->out = 0;
    switch (op->type) {
    case AW_DNN_DESCRIPTOR_OPERATION_CONVOLUTION_FORWARD: return convolution(b, op, AW_DNN_FORWARD);
    case AW_DNN_DESCRIPTOR_OPERATION_CONVOLUTION_BACKWARD_DATA: return convolution(b, op, AW_DNN_BACKWARD_DATA);
    case AW_DNN_DESCRIPTOR_OPERATION_CONVOLUTION_BACKWARD_FILTER: return convolution(b, op, AW_DNN_BACKWARD_FILTER);
    case AW_DNN_DESCRIPTOR_OPERATION_POINTWISE: return pointwise(b, op);
    case AW_DNN_DESCRIPTOR_OPERATION_MATMUL: return matmul(b, op);
    case AW_DNN_DESCRIPTOR_OPERATION_REDUCTION: return reduction(b, op);
    case AW_DNN_DESCRIPTOR_OPERATION_GEN_STATS: return genstats(b, op);
    case AW_DNN_DESCRIPTOR_OPERATION_BN_FINALIZE_STATISTICS: return bn_finalize(b, op);
    case AW_DNN_DESCRIPTOR_OPERATION_NORM_FORWARD: return norm_forward(b, op);
    case AW_DNN_DESCRIPTOR_OPERATION_NORM_BACKWARD: return norm_backward(b, op);
    case AW_DNN_DESCRIPTOR_OPERATION_RESAMPLE_FWD: return resample_forward(b, op);
    case AW_DNN_DESCRIPTOR_OPERATION_RESAMPLE_BWD: return resample_backward(b, op);
    case AW_DNN_DESCRIPTOR_OPERATION_CONCAT: return concat(b, op);
    case AW_DNN_DESCRIPTOR_OPERATION_RESHAPE: return reshape(b, op);
    case AW_DNN_DESCRIPTOR_OPERATION_TRANSPOSE: return transpose(b, op);
    case AW_DNN_DESCRIPTOR_OPERATION_SLICE: return slice(b, op);
    case AW_DNN_DESCRIPTOR_OPERATION_RNG: return rng(b, op);
    case AW_DNN_DESCRIPTOR_OPERATION_SOFTMAX: return softmax(b, op);
    case AW_DNN_DESCRIPTOR_OPERATION_SDPA_FWD: return sdpa(b, op);
    case AW_DNN_DESCRIPTOR_OPERATION_DIAGONAL_BAND_MASK: return band_mask(b, op);
    case AW_DNN_DESCRIPTOR_OPERATION_PAGED_CACHE_LOAD: return paged_load(b, op);
    default: return failed(b, unsupported("an operation that is not implemented"));
    }
}

/* ---- Attention as one operation: products, what is done to the scores between them, and softmax */

/* A virtual tensor of float that no descriptor has.  Its unique id is given, or none of the program's. */
static int inner(struct build *b, const struct aw_dnn_shape *like, int64_t uid)
{
    int t = room_for(b) ? aw_dnn_program_tensor(b->program, like, AW_DNN_VIRTUAL, 0) : -1;
    if (t < 0)
        return failed(b, CUDNN_STATUS_ALLOC_FAILED) - 1;
    b->uids[t] = uid;
    b->written[t] = false;
    return t;
}

static bool emit_on(struct build *b, aw_dnn_kernel kernel, const void *params, size_t size, int n, const int tensors[],
                    unsigned out)
{
    for (int i = 0; i < n; i++)
        if (tensors[i] < -1)
            return false;
    memcpy(b->tensors, tensors, (size_t)n * sizeof *tensors);
    b->n = n;
    b->out = out;
    return b->status == CUDNN_STATUS_SUCCESS && emit(b, kernel, params, size);
}

/* The operations of a subgraph, in their order, and the number of its result. */
static int subgraph(struct build *b, const struct aw_dnn_descriptor *op)
{
    const struct aw_dnn_descriptor *graph = aw_dnn_attribute_descriptor(op, ATTR(OPERATION_SDPA_FWD_SUBGRAPH), 0);
    int64_t result = aw_dnn_attribute_int(op, ATTR(OPERATION_SDPA_FWD_SUBGRAPH_OUTPUT_UID), 0);
    if (!operations(b, graph))
        return -1;
    for (int i = 0; i < b->program->n_tensors; i++)
        if (b->uids[i] == result && b->written[i])
            return i;
    return failed(b, CUDNN_STATUS_BAD_PARAM) - 1;
}

static const int sdpa_refused[] = {
    ATTR(OPERATION_SDPA_FWD_BLOCK_MASK_DESC),   ATTR(OPERATION_SDPA_FWD_CU_SEQ_LEN_QDESC),
    ATTR(OPERATION_SDPA_FWD_CU_SEQ_LEN_KVDESC), ATTR(OPERATION_SDPA_FWD_DESCALE_QDESC),
    ATTR(OPERATION_SDPA_FWD_DESCALE_KDESC),     ATTR(OPERATION_SDPA_FWD_DESCALE_VDESC),
    ATTR(OPERATION_SDPA_FWD_DESCALE_SDESC),     ATTR(OPERATION_SDPA_FWD_SCALE_SDESC),
    ATTR(OPERATION_SDPA_FWD_SCALE_ODESC),       ATTR(OPERATION_SDPA_FWD_AMAX_SDESC),
    ATTR(OPERATION_SDPA_FWD_AMAX_ODESC),
};

/* The descriptor of a tensor that an operation of the graph has under any attribute; NULL: none. */
static const struct aw_dnn_descriptor *tensor_in(const struct aw_dnn_descriptor *graph, int64_t uid)
{
    const struct aw_dnn_attribute *ops = aw_dnn_attribute(graph, ATTR(OPERATIONGRAPH_OPS));
    for (int64_t i = 0; ops && i < ops->n; i++) {
        const struct aw_dnn_descriptor *op = ((struct aw_dnn_descriptor *const *)ops->data)[i];
        for (const struct aw_dnn_attribute *a = op->attributes; a; a = a->next) {
            const struct aw_dnn_descriptor *t =
                a->type == AW_DNN_BACKEND_DESCRIPTOR ? aw_dnn_attribute_descriptor(op, a->name, 0) : NULL;
            if (t && t->type == AW_DNN_DESCRIPTOR_TENSOR && aw_dnn_attribute_int(t, ATTR(TENSOR_UNIQUE_ID), 0) == uid)
                return t;
        }
    }
    return NULL;
}

/* Keys or values out of a cache's pages: as many places as the scores have, where a subgraph says how many that are, else all
 * that the table has room for.  The number of a tensor of its own. */
static int sdpa_pages(struct build *b, const struct aw_dnn_descriptor *op, int cache, int table, int lengths)
{
    static const struct aw_dnn_paged plain = { .turned = false };
    const struct aw_dnn_tensor *t = b->program->tensors;
    const struct aw_dnn_shape c = t[cache].s, pages = t[table].s;
    struct aw_dnn_shape scores, y = c;
    const struct aw_dnn_descriptor *modifier = aw_dnn_attribute_descriptor(op, ATTR(OPERATION_SDPA_FWD_SUBGRAPH), 0);
    const struct aw_dnn_descriptor *in =
        modifier ? tensor_in(modifier, aw_dnn_attribute_int(op, ATTR(OPERATION_SDPA_FWD_SUBGRAPH_INPUT_UID), 0)) : NULL;
    if (c.n != 4 || pages.n != 4 || lengths < 0)
        return failed(b, unsupported("attention with pages without lengths")) - 1;
    y.dim[0] = pages.dim[0];
    y.dim[2] = pages.dim[2] * c.dim[2];
    if (in && aw_dnn_graph_shape(in, &scores) == CUDNN_STATUS_SUCCESS && scores.n == 4)
        y.dim[2] = scores.dim[3];
    aw_dnn_pack(&y);
    if (!pages_fit(&c, &pages, &t[lengths].s, y.dim[0], y.dim[2], y.dim[3]))
        return failed(b, unsupported("a cache whose pages, table and lengths do not fit each other")) - 1;
    int made = inner(b, &y, INT64_MIN);
    return made >= 0 && emit_on(b, aw_dnn_paged_load, &plain, sizeof plain, 4, (const int[]){ made, cache, table, lengths }, 1)
               ? made
               : -1;
}

/* Optional results of the softmax: of its own descriptor, or of the operation's. */
static bool sdpa_softmax(struct build *b, const struct aw_dnn_descriptor *op, int scores, int weights)
{
    const struct aw_dnn_descriptor *own = aw_dnn_attribute_descriptor(op, ATTR(OPERATION_SDPA_FWD_SOFTMAX_DESC), 0);
    if (own && aw_dnn_attribute_int(own, ATTR(OPERATION_SOFTMAX_STATS_LOG2), 0))
        return failed(b, unsupported("softmax with statistics to base 2"));
    b->n = 2;
    b->out = 1;
    b->tensors[0] = weights;
    b->tensors[1] = scores;
    bool good = own ? take(b, own, ATTR(OPERATION_SOFTMAX_STATS_DESC), OUT_OPTIONAL) &&
                          take(b, own, ATTR(OPERATION_SOFTMAX_MAX_DESC), OUT_OPTIONAL) &&
                          take(b, own, ATTR(OPERATION_SOFTMAX_SUM_EXP_DESC), OUT_OPTIONAL) &&
                          take(b, own, ATTR(OPERATION_SOFTMAX_SINK_DESC), IN_OPTIONAL)
                    : take(b, op, ATTR(OPERATION_SDPA_FWD_STATSDESC), OUT_OPTIONAL);
    return good && emit(b, aw_dnn_softmax_stats, "", 1);
}

/* weights = weights kept with probability 1 - p, and made larger for it. */
static int sdpa_dropout(struct build *b, const struct aw_dnn_descriptor *op, int weights)
{
    double rate = aw_dnn_attribute_real(op, ATTR(OPERATION_SDPA_FWD_DROPOUT_PROBABILITY), 0);
    struct aw_dnn_random r = { .distribution = 0, .a = 1 - rate };
    struct aw_dnn_pointwise mul = aw_dnn_pointwise_init(AW_DNN_MUL);
    const struct aw_dnn_shape s = b->program->tensors[weights].s;
    if (rate == 0)
        return weights;
    b->n = 0;
    b->out = 0;
    if (!take(b, op, ATTR(OPERATION_SDPA_FWD_DROPOUT_RNG_DUMP_DESC), OUT_OPTIONAL) ||
        !take(b, op, ATTR(OPERATION_SDPA_FWD_DROPOUT_SEED_DESC), IN) ||
        !take(b, op, ATTR(OPERATION_SDPA_FWD_DROPOUT_OFFSET_DESC), IN_OPTIONAL))
        return -2;
    if (b->tensors[0] < 0)
        b->tensors[0] = inner(b, &s, INT64_MIN);
    b->out = 1;
    int mask = b->tensors[0], out = inner(b, &s, INT64_MIN);
    mul.scale = 1 / (1 - rate);
    return mask >= 0 && out >= 0 && emit(b, aw_dnn_random, &r, sizeof r) &&
                   emit_on(b, aw_dnn_pointwise, &mul, sizeof mul, 3, (const int[]){ out, weights, mask }, 1)
               ? out
               : -2;
}

static bool sdpa(struct build *b, const struct aw_dnn_descriptor *op)
{
    struct aw_dnn_matmul product = { .transpose_b = true };
    struct aw_dnn_pointwise mul = aw_dnn_pointwise_init(AW_DNN_MUL);
    for (size_t i = 0; i < sizeof sdpa_refused / sizeof sdpa_refused[0]; i++)
        if (aw_dnn_attribute(op, sdpa_refused[i]))
            return failed(b, unsupported("attention with block masks, cumulative lengths or eight-bit scales"));
    if (!TAKE(b, op, { ATTR(OPERATION_SDPA_FWD_QDESC), IN }, { ATTR(OPERATION_SDPA_FWD_KDESC), IN },
              { ATTR(OPERATION_SDPA_FWD_VDESC), IN }, { ATTR(OPERATION_SDPA_FWD_ODESC), OUT },
              { ATTR(OPERATION_SDPA_FWD_SCALEDESC), IN_OPTIONAL }, { ATTR(OPERATION_SDPA_FWD_SEQ_LEN_QDESC), IN_OPTIONAL },
              { ATTR(OPERATION_SDPA_FWD_SEQ_LEN_KVDESC), IN_OPTIONAL },
              { ATTR(OPERATION_SDPA_FWD_PAGE_TABLE_KDESC), IN_OPTIONAL },
              { ATTR(OPERATION_SDPA_FWD_PAGE_TABLE_VDESC), IN_OPTIONAL }))
        return false;
    const int q = b->tensors[0], o = b->tensors[3], scale = b->tensors[4];
    const int lengths[] = { b->tensors[5], b->tensors[6] }, tables[] = { b->tensors[7], b->tensors[8] };
    int k = b->tensors[1], v = b->tensors[2];
    if ((tables[0] >= 0 && (k = sdpa_pages(b, op, k, tables[0], lengths[1])) < 0) ||
        (tables[1] >= 0 && (v = sdpa_pages(b, op, v, tables[1], lengths[1])) < 0))
        return false;
    const struct aw_dnn_tensor *all = b->program->tensors;
    const struct aw_dnn_shape *qs = &all[q].s, *ks = &all[k].s, *vs = &all[v].s, *os = &all[o].s;
    if (qs->n != 4 || ks->n != 4 || vs->n != 4 || os->n != 4 || qs->dim[3] != ks->dim[3] || ks->dim[2] != vs->dim[2] ||
        os->dim[3] != vs->dim[3] || os->dim[2] != qs->dim[2] || qs->dim[1] % ks->dim[1] || qs->dim[1] % vs->dim[1] ||
        qs->dim[0] != ks->dim[0] || qs->dim[0] != vs->dim[0] || qs->dim[0] != os->dim[0] || os->dim[1] != qs->dim[1])
        return failed(b, unsupported("attention whose tensors' sizes do not fit each other"));
    struct aw_dnn_shape s = { .type = CUDNN_DATA_FLOAT, .n = 4, .dim = { qs->dim[0], qs->dim[1], qs->dim[2], ks->dim[2] } };
    aw_dnn_pack(&s);
    const struct aw_dnn_descriptor *modifier = aw_dnn_attribute_descriptor(op, ATTR(OPERATION_SDPA_FWD_SUBGRAPH), 0);
    int64_t uid = aw_dnn_attribute_int(op, ATTR(OPERATION_SDPA_FWD_SUBGRAPH_INPUT_UID), INT64_MIN);
    int scores = inner(b, &s, scale < 0 && modifier ? uid : INT64_MIN);
    if (scores < 0 || !emit_on(b, aw_dnn_matmul, &product, sizeof product, 3, (const int[]){ q, k, scores }, 4))
        return false;
    if (scale >= 0) {
        int scaled = inner(b, &s, modifier ? uid : INT64_MIN);
        if (scaled < 0 || !emit_on(b, aw_dnn_pointwise, &mul, sizeof mul, 3, (const int[]){ scaled, scores, scale }, 1))
            return false;
        scores = scaled;
    }
    if (modifier && (scores = subgraph(b, op)) < 0)
        return false;
    if (lengths[0] >= 0 || lengths[1] >= 0) {
        int masked = inner(b, &s, INT64_MIN);
        if (masked < 0 || !emit_on(b, aw_dnn_length_mask, "", 1, 4, (const int[]){ masked, scores, lengths[0], lengths[1] }, 1))
            return false;
        scores = masked;
    }
    int weights = inner(b, &s, INT64_MIN);
    if (weights < 0 || !sdpa_softmax(b, op, scores, weights) || (weights = sdpa_dropout(b, op, weights)) < 0)
        return false;
    product.transpose_b = false;
    return emit_on(b, aw_dnn_matmul, &product, sizeof product, 3, (const int[]){ weights, v, o }, 4);
}

static bool band_mask(struct build *b, const struct aw_dnn_descriptor *op)
{
    struct aw_dnn_band_mask m = { (int)aw_dnn_attribute_int(op, ATTR(OPERATION_DIAGONAL_BAND_MASK_COMPARISON_MODE), -1) };
    if (m.mode < AW_DNN_CMP_EQ || m.mode > AW_DNN_CMP_LE ||
        aw_dnn_attribute(op, ATTR(OPERATION_DIAGONAL_BAND_MASK_CU_SEQ_LEN_KVDESC)) ||
        aw_dnn_attribute(op, ATTR(OPERATION_DIAGONAL_BAND_MASK_CU_SEQ_LEN_QDESC)))
        return failed(b, unsupported("a band mask with cumulative lengths or without a comparison"));
    if (!TAKE(b, op, { ATTR(OPERATION_DIAGONAL_BAND_MASK_YDESC), OUT }, { ATTR(OPERATION_DIAGONAL_BAND_MASK_XDESC), IN },
              { ATTR(OPERATION_DIAGONAL_BAND_MASK_BDESC), IN },
              { ATTR(OPERATION_DIAGONAL_BAND_MASK_SEQ_LEN_KVDESC), IN_OPTIONAL },
              { ATTR(OPERATION_DIAGONAL_BAND_MASK_SEQ_LEN_QDESC), IN_OPTIONAL },
              { ATTR(OPERATION_DIAGONAL_BAND_MASK_LEFT_BOUND_DESC), IN_OPTIONAL },
              { ATTR(OPERATION_DIAGONAL_BAND_MASK_SHIFT_RIGHT_BOUND_DESC), IN_OPTIONAL }))
        return false;
    if (!aw_dnn_same_dims(b->shape[0], b->shape[1]) || b->shape[0]->n < 3)
        return failed(b, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
    return emit(b, aw_dnn_band_mask, &m, sizeof m);
}

/* ---- The whole */

/* All operations of a graph, in an order in which what is read was written before.  False: one failed, or waits for what
 * nothing writes. */
static bool operations(struct build *b, const struct aw_dnn_descriptor *graph)
{
    const struct aw_dnn_attribute *ops = aw_dnn_attribute(graph, ATTR(OPERATIONGRAPH_OPS));
    int64_t n = ops ? ops->n : 0, left = n;
    bool *done = calloc((size_t)n + 1, sizeof *done), progress = true;
    if (!done)
        return failed(b, CUDNN_STATUS_ALLOC_FAILED);
    for (int64_t i = 0; i < n; i++)
        produces(b, ((struct aw_dnn_descriptor *const *)ops->data)[i]);
    while (left && progress && b->status == CUDNN_STATUS_SUCCESS) {
        progress = false;
        for (int64_t i = 0; i < n && b->status == CUDNN_STATUS_SUCCESS; i++) {
            b->operation = ((struct aw_dnn_descriptor *const *)ops->data)[i];
            if (done[i] || !operation(b, b->operation))
                continue;
            done[i] = progress = true;
            left--;
        }
    }
    free(done);
    return !left && b->status == CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t aw_dnn_graph_build(const struct aw_dnn_descriptor *d, struct aw_dnn_graph **ret_graph)
{
    struct build b = { .program = aw_dnn_program_create() };
    struct aw_dnn_graph *graph = NULL;
    if (!b.program)
        return CUDNN_STATUS_ALLOC_FAILED;
    if (!aw_dnn_attribute(d, ATTR(OPERATIONGRAPH_OPS)))
        b.status = aw_dnn_fail(CUDNN_STATUS_BAD_PARAM, "an operation graph without operations");
    else if (operations(&b, d)) {
        graph = malloc(sizeof *graph + (size_t)(b.program->n_tensors + 1) * sizeof graph->uids[0]);
        if (graph) {
            graph->refs = 1;
            graph->program = b.program;
            memcpy(graph->uids, b.uids, (size_t)b.program->n_tensors * sizeof graph->uids[0]);
        } else {
            b.status = CUDNN_STATUS_ALLOC_FAILED;
        }
    }
    /* Where operations wait for a virtual tensor that nothing here writes, the graph may still be another operation's part: it
     * is finalized without a program. */
    if (!graph)
        aw_dnn_program_unref(b.program);
    free(b.uids);
    free(b.written);
    free(b.producers);
    *ret_graph = graph;
    return b.status;
}
