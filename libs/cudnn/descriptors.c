/* Descriptors of the v7-style interface: made, set, asked and destroyed.  Nothing here computes. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cudnn"
#include <limits.h>
#include <stdlib.h>

#include "base/log.h"
#include "cudnn_proto.h"
#include "handle.h"

/* ---- Making and destroying: all are plain memory of ours. */

#define LIFE(name, type)                                                  \
    cudnnStatus_t awcudnn_cudnnCreate##name##Descriptor(type *ret)        \
    {                                                                     \
        type made = ret ? calloc(1, sizeof *made) : NULL;                 \
        if (!ret)                                                         \
            return CUDNN_STATUS_BAD_PARAM;                                \
        if (!made)                                                        \
            return CUDNN_STATUS_ALLOC_FAILED;                             \
        *ret = made;                                                      \
        return CUDNN_STATUS_SUCCESS;                                      \
    }                                                                     \
    cudnnStatus_t awcudnn_cudnnDestroy##name##Descriptor(type descriptor) \
    {                                                                     \
        free(descriptor);                                                 \
        return CUDNN_STATUS_SUCCESS;                                      \
    }

LIFE(Tensor, cudnnTensorDescriptor_t)
LIFE(Filter, cudnnFilterDescriptor_t)
LIFE(Pooling, cudnnPoolingDescriptor_t)
LIFE(Activation, cudnnActivationDescriptor_t)
LIFE(OpTensor, cudnnOpTensorDescriptor_t)
LIFE(ReduceTensor, cudnnReduceTensorDescriptor_t)
LIFE(LRN, cudnnLRNDescriptor_t)
LIFE(SpatialTransformer, cudnnSpatialTransformerDescriptor_t)
LIFE(Dropout, cudnnDropoutDescriptor_t)

cudnnStatus_t awcudnn_cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *ret)
{
    cudnnConvolutionDescriptor_t made = ret ? calloc(1, sizeof *made) : NULL;
    if (!ret)
        return CUDNN_STATUS_BAD_PARAM;
    if (!made)
        return CUDNN_STATUS_ALLOC_FAILED;
    made->groups = 1;
    *ret = made;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t descriptor)
{
    free(descriptor);
    return CUDNN_STATUS_SUCCESS;
}

/* ---- Tensors */

/* Checks and keeps a shape; strides NULL: without gaps, in the order of `format`. */
static cudnnStatus_t shape_set(struct aw_dnn_shape *s, cudnnTensorFormat_t format, cudnnDataType_t type, int n, const int dim[],
                               const int stride[])
{
    struct aw_dnn_shape made = { .type = type, .n = n };
    if (n < 1 || n > CUDNN_DIM_MAX)
        return CUDNN_STATUS_NOT_SUPPORTED;
    if (!dim || format > CUDNN_TENSOR_NCHW_VECT_C)
        return CUDNN_STATUS_BAD_PARAM;
    if (!aw_dnn_type_bits(type) || format == CUDNN_TENSOR_NCHW_VECT_C) {
        aw_say(CUDNN_TENSOR, (int)type);
        return CUDNN_STATUS_NOT_SUPPORTED;
    }
    for (int i = 0; i < n; i++) {
        if (dim[i] < 1 || (stride && stride[i] < 0))
            return CUDNN_STATUS_BAD_PARAM;
        made.dim[i] = dim[i];
        made.stride[i] = stride ? stride[i] : 0;
    }
    if (!stride)
        aw_dnn_pack(&made);
    if (!stride && format == CUDNN_TENSOR_NHWC && n > 2) {
        int64_t step = dim[1];
        made.stride[1] = 1;
        for (int i = n - 1; i > 1; i--) {
            made.stride[i] = step;
            step *= dim[i];
        }
        made.stride[0] = step;
    }
    if (aw_dnn_extent(&made) > INT64_C(1) << 40)
        return CUDNN_STATUS_NOT_SUPPORTED;
    *s = made;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t desc, cudnnTensorFormat_t format, cudnnDataType_t type,
                                                 int n, int c, int h, int w)
{
    return desc ? shape_set(&desc->s, format, type, 4, (const int[]){ n, c, h, w }, NULL) : CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t awcudnn_cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t desc, cudnnDataType_t type, int n, int c, int h, int w,
                                                   int ns, int cs, int hs, int ws)
{
    return desc ? shape_set(&desc->s, CUDNN_TENSOR_NCHW, type, 4, (const int[]){ n, c, h, w }, (const int[]){ ns, cs, hs, ws })
                : CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t awcudnn_cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t desc, cudnnDataType_t type, int n, const int *dim,
                                                 const int *stride)
{
    return desc && stride ? shape_set(&desc->s, CUDNN_TENSOR_NCHW, type, n, dim, stride) : CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t awcudnn_cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t desc, cudnnTensorFormat_t format, cudnnDataType_t type,
                                                   int n, const int *dim)
{
    return desc ? shape_set(&desc->s, format, type, n, dim, NULL) : CUDNN_STATUS_BAD_PARAM;
}

/* Up to `requested` entries of a shape as integers; either array may be NULL. */
static void shape_get(const struct aw_dnn_shape *s, int requested, int *dim, int *stride)
{
    for (int i = 0; i < s->n && i < requested; i++) {
        if (dim)
            dim[i] = (int)s->dim[i];
        if (stride)
            stride[i] = (int)s->stride[i];
    }
}

static void set(int *to, int64_t value)
{
    if (to)
        *to = (int)value;
}

cudnnStatus_t awcudnn_cudnnGetTensor4dDescriptor(cudnnTensorDescriptor_t desc, cudnnDataType_t *type, int *n, int *c, int *h,
                                                 int *w, int *ns, int *cs, int *hs, int *ws)
{
    int *const dim[] = { n, c, h, w }, *const stride[] = { ns, cs, hs, ws };
    if (!desc || desc->s.n != 4)
        return CUDNN_STATUS_BAD_PARAM;
    if (type)
        *type = desc->s.type;
    for (int i = 0; i < 4; i++) {
        set(dim[i], desc->s.dim[i]);
        set(stride[i], desc->s.stride[i]);
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnGetTensorNdDescriptor(cudnnTensorDescriptor_t desc, int requested, cudnnDataType_t *type, int *n,
                                                 int *dim, int *stride)
{
    if (!desc || requested < 0)
        return CUDNN_STATUS_BAD_PARAM;
    if (type)
        *type = desc->s.type;
    set(n, desc->s.n);
    shape_get(&desc->s, requested, dim, stride);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnGetTensorSizeInBytes(cudnnTensorDescriptor_t desc, size_t *size)
{
    if (!desc || !size)
        return CUDNN_STATUS_BAD_PARAM;
    *size = desc->s.n ? aw_dnn_bytes(&desc->s) : 0;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- Filters */

cudnnStatus_t awcudnn_cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t desc, cudnnDataType_t type, cudnnTensorFormat_t format,
                                                 int n, const int *dim)
{
    cudnnStatus_t status = desc ? shape_set(&desc->s, format, type, n, dim, NULL) : CUDNN_STATUS_BAD_PARAM;
    if (status == CUDNN_STATUS_SUCCESS)
        desc->format = format;
    return status;
}

cudnnStatus_t awcudnn_cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t desc, cudnnDataType_t type, cudnnTensorFormat_t format,
                                                 int k, int c, int h, int w)
{
    return awcudnn_cudnnSetFilterNdDescriptor(desc, type, format, 4, (const int[]){ k, c, h, w });
}

cudnnStatus_t awcudnn_cudnnGetFilterNdDescriptor(cudnnFilterDescriptor_t desc, int requested, cudnnDataType_t *type,
                                                 cudnnTensorFormat_t *format, int *n, int *dim)
{
    if (!desc || requested < 0)
        return CUDNN_STATUS_BAD_PARAM;
    if (type)
        *type = desc->s.type;
    if (format)
        *format = desc->format;
    set(n, desc->s.n);
    shape_get(&desc->s, requested, dim, NULL);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnGetFilter4dDescriptor(cudnnFilterDescriptor_t desc, cudnnDataType_t *type, cudnnTensorFormat_t *format,
                                                 int *k, int *c, int *h, int *w)
{
    int *const dim[] = { k, c, h, w };
    if (!desc || desc->s.n != 4)
        return CUDNN_STATUS_BAD_PARAM;
    for (int i = 0; i < 4; i++)
        set(dim[i], desc->s.dim[i]);
    return awcudnn_cudnnGetFilterNdDescriptor(desc, 0, type, format, NULL, NULL);
}

cudnnStatus_t awcudnn_cudnnGetFilterSizeInBytes(cudnnFilterDescriptor_t desc, size_t *size)
{
    if (!desc || !size)
        return CUDNN_STATUS_BAD_PARAM;
    *size = desc->s.n ? aw_dnn_bytes(&desc->s) : 0;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- Convolutions */

cudnnStatus_t awcudnn_cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t desc, int n, const int *pad, const int *stride,
                                                      const int *dilation, cudnnConvolutionMode_t mode, cudnnDataType_t compute)
{
    if (!desc || n < 0 || !pad || !stride || !dilation || mode > CUDNN_CROSS_CORRELATION)
        return CUDNN_STATUS_BAD_PARAM;
    if (n > CUDNN_DIM_MAX - 2)
        return CUDNN_STATUS_NOT_SUPPORTED;
    for (int i = 0; i < n; i++)
        if (pad[i] < 0 || stride[i] < 1 || dilation[i] < 1)
            return CUDNN_STATUS_BAD_PARAM;
    for (int i = 0; i < n; i++) {
        desc->pad[i] = pad[i];
        desc->stride[i] = stride[i];
        desc->dilation[i] = dilation[i];
    }
    desc->n = n;
    desc->mode = mode;
    desc->compute = compute;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnGetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t desc, int requested, int *n, int *pad,
                                                      int *stride, int *dilation, cudnnConvolutionMode_t *mode,
                                                      cudnnDataType_t *compute)
{
    if (!desc || requested < 0)
        return CUDNN_STATUS_BAD_PARAM;
    set(n, desc->n);
    for (int i = 0; i < desc->n && i < requested; i++) {
        set(pad ? pad + i : NULL, desc->pad[i]);
        set(stride ? stride + i : NULL, desc->stride[i]);
        set(dilation ? dilation + i : NULL, desc->dilation[i]);
    }
    if (mode)
        *mode = desc->mode;
    if (compute)
        *compute = desc->compute;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t desc, int pad_h, int pad_w, int u, int v,
                                                      int dilation_h, int dilation_w, cudnnConvolutionMode_t mode,
                                                      cudnnDataType_t compute)
{
    return awcudnn_cudnnSetConvolutionNdDescriptor(desc, 2, (const int[]){ pad_h, pad_w }, (const int[]){ u, v },
                                                   (const int[]){ dilation_h, dilation_w }, mode, compute);
}

cudnnStatus_t awcudnn_cudnnGetConvolution2dDescriptor(cudnnConvolutionDescriptor_t desc, int *pad_h, int *pad_w, int *u, int *v,
                                                      int *dilation_h, int *dilation_w, cudnnConvolutionMode_t *mode,
                                                      cudnnDataType_t *compute)
{
    if (!desc || desc->n != 2)
        return CUDNN_STATUS_BAD_PARAM;
    set(pad_h, desc->pad[0]);
    set(pad_w, desc->pad[1]);
    set(u, desc->stride[0]);
    set(v, desc->stride[1]);
    set(dilation_h, desc->dilation[0]);
    set(dilation_w, desc->dilation[1]);
    return awcudnn_cudnnGetConvolutionNdDescriptor(desc, 0, NULL, NULL, NULL, NULL, mode, compute);
}

/* One setting, its setter and getter. */
#define SETTING(kind, name, type, field, value_type, valid)            \
    cudnnStatus_t awcudnn_cudnnSet##name(type desc, value_type value)  \
    {                                                                  \
        if (!desc || !(valid))                                         \
            return CUDNN_STATUS_BAD_PARAM;                             \
        desc->field = value;                                           \
        return CUDNN_STATUS_SUCCESS;                                   \
    }                                                                  \
    cudnnStatus_t awcudnn_cudnnGet##name(type desc, value_type *value) \
    {                                                                  \
        if (!desc || !value)                                           \
            return CUDNN_STATUS_BAD_PARAM;                             \
        *value = desc->field;                                          \
        return CUDNN_STATUS_SUCCESS;                                   \
    }

SETTING(Convolution, ConvolutionMathType, cudnnConvolutionDescriptor_t, math, cudnnMathType_t, value <= CUDNN_FMA_MATH)
SETTING(Convolution, ConvolutionGroupCount, cudnnConvolutionDescriptor_t, groups, int, value > 0)
SETTING(Convolution, ConvolutionReorderType, cudnnConvolutionDescriptor_t, reorder, cudnnReorderType_t, value <= CUDNN_NO_REORDER)
SETTING(Activation, ActivationDescriptorSwishBeta, cudnnActivationDescriptor_t, swish_beta, double, true)

/* ---- Pooling */

cudnnStatus_t awcudnn_cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t desc, cudnnPoolingMode_t mode,
                                                  cudnnNanPropagation_t nan, int n, const int *window, const int *pad,
                                                  const int *stride)
{
    if (!desc || n < 0 || !window || !pad || !stride || mode > CUDNN_POOLING_MAX_DETERMINISTIC || nan > CUDNN_PROPAGATE_NAN)
        return CUDNN_STATUS_BAD_PARAM;
    if (n > CUDNN_DIM_MAX - 2)
        return CUDNN_STATUS_NOT_SUPPORTED;
    for (int i = 0; i < n; i++)
        if (window[i] < 1 || pad[i] < 0 || stride[i] < 1)
            return CUDNN_STATUS_BAD_PARAM;
    for (int i = 0; i < n; i++) {
        desc->window[i] = window[i];
        desc->pad[i] = pad[i];
        desc->stride[i] = stride[i];
    }
    desc->n = n;
    desc->mode = mode;
    desc->nan = nan;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnGetPoolingNdDescriptor(cudnnPoolingDescriptor_t desc, int requested, cudnnPoolingMode_t *mode,
                                                  cudnnNanPropagation_t *nan, int *n, int *window, int *pad, int *stride)
{
    if (!desc || requested < 0)
        return CUDNN_STATUS_BAD_PARAM;
    if (mode)
        *mode = desc->mode;
    if (nan)
        *nan = desc->nan;
    set(n, desc->n);
    for (int i = 0; i < desc->n && i < requested; i++) {
        set(window ? window + i : NULL, desc->window[i]);
        set(pad ? pad + i : NULL, desc->pad[i]);
        set(stride ? stride + i : NULL, desc->stride[i]);
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t desc, cudnnPoolingMode_t mode,
                                                  cudnnNanPropagation_t nan, int wh, int ww, int ph, int pw, int sh, int sw)
{
    return awcudnn_cudnnSetPoolingNdDescriptor(desc, mode, nan, 2, (const int[]){ wh, ww }, (const int[]){ ph, pw },
                                               (const int[]){ sh, sw });
}

cudnnStatus_t awcudnn_cudnnGetPooling2dDescriptor(cudnnPoolingDescriptor_t desc, cudnnPoolingMode_t *mode,
                                                  cudnnNanPropagation_t *nan, int *wh, int *ww, int *ph, int *pw, int *sh,
                                                  int *sw)
{
    if (!desc || desc->n != 2)
        return CUDNN_STATUS_BAD_PARAM;
    set(wh, desc->window[0]);
    set(ww, desc->window[1]);
    set(ph, desc->pad[0]);
    set(pw, desc->pad[1]);
    set(sh, desc->stride[0]);
    set(sw, desc->stride[1]);
    return awcudnn_cudnnGetPoolingNdDescriptor(desc, 0, mode, nan, NULL, NULL, NULL, NULL);
}

cudnnStatus_t awcudnn_cudnnGetPoolingNdForwardOutputDim(cudnnPoolingDescriptor_t desc, cudnnTensorDescriptor_t in, int n,
                                                        int *dim)
{
    if (!desc || !in || !dim || in->s.n != desc->n + 2 || n < in->s.n)
        return CUDNN_STATUS_BAD_PARAM;
    shape_get(&in->s, 2, dim, NULL);
    for (int i = 0; i < desc->n; i++) {
        int64_t room = in->s.dim[i + 2] + 2 * desc->pad[i] - desc->window[i];
        if (room < 0)
            return CUDNN_STATUS_BAD_PARAM;
        dim[i + 2] = (int)(room / desc->stride[i] + 1);
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnGetPooling2dForwardOutputDim(cudnnPoolingDescriptor_t desc, cudnnTensorDescriptor_t in, int *n, int *c,
                                                        int *h, int *w)
{
    int dim[4];
    if (!desc || desc->n != 2)
        return CUDNN_STATUS_BAD_PARAM;
    cudnnStatus_t status = awcudnn_cudnnGetPoolingNdForwardOutputDim(desc, in, 4, dim);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    set(n, dim[0]);
    set(c, dim[1]);
    set(h, dim[2]);
    set(w, dim[3]);
    return CUDNN_STATUS_SUCCESS;
}

/* ---- Others */

#define GIVE(ret, value) ((ret) ? (void)(*(ret) = (value)) : (void)0)

cudnnStatus_t awcudnn_cudnnSetActivationDescriptor(cudnnActivationDescriptor_t desc, cudnnActivationMode_t mode,
                                                   cudnnNanPropagation_t nan, double coef)
{
    if (!desc || mode > CUDNN_ACTIVATION_SWISH || nan > CUDNN_PROPAGATE_NAN)
        return CUDNN_STATUS_BAD_PARAM;
    *desc = (struct cudnnActivationStruct){ mode, nan, coef, 1 };
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnGetActivationDescriptor(cudnnActivationDescriptor_t desc, cudnnActivationMode_t *mode,
                                                   cudnnNanPropagation_t *nan, double *coef)
{
    if (!desc)
        return CUDNN_STATUS_BAD_PARAM;
    GIVE(mode, desc->mode);
    GIVE(nan, desc->nan);
    GIVE(coef, desc->coef);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnSetOpTensorDescriptor(cudnnOpTensorDescriptor_t desc, cudnnOpTensorOp_t op, cudnnDataType_t compute,
                                                 cudnnNanPropagation_t nan)
{
    if (!desc || op > CUDNN_OP_TENSOR_NOT || nan > CUDNN_PROPAGATE_NAN)
        return CUDNN_STATUS_BAD_PARAM;
    *desc = (struct cudnnOpTensorStruct){ op, compute, nan };
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnGetOpTensorDescriptor(cudnnOpTensorDescriptor_t desc, cudnnOpTensorOp_t *op, cudnnDataType_t *compute,
                                                 cudnnNanPropagation_t *nan)
{
    if (!desc)
        return CUDNN_STATUS_BAD_PARAM;
    GIVE(op, desc->op);
    GIVE(compute, desc->compute);
    GIVE(nan, desc->nan);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnSetReduceTensorDescriptor(cudnnReduceTensorDescriptor_t desc, cudnnReduceTensorOp_t op,
                                                     cudnnDataType_t compute, cudnnNanPropagation_t nan,
                                                     cudnnReduceTensorIndices_t indices, cudnnIndicesType_t index_type)
{
    if (!desc || op > CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS || nan > CUDNN_PROPAGATE_NAN ||
        indices > CUDNN_REDUCE_TENSOR_FLATTENED_INDICES || index_type > CUDNN_8BIT_INDICES)
        return CUDNN_STATUS_BAD_PARAM;
    *desc = (struct cudnnReduceTensorStruct){ op, compute, nan, indices, index_type };
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnGetReduceTensorDescriptor(cudnnReduceTensorDescriptor_t desc, cudnnReduceTensorOp_t *op,
                                                     cudnnDataType_t *compute, cudnnNanPropagation_t *nan,
                                                     cudnnReduceTensorIndices_t *indices, cudnnIndicesType_t *index_type)
{
    if (!desc)
        return CUDNN_STATUS_BAD_PARAM;
    GIVE(op, desc->op);
    GIVE(compute, desc->compute);
    GIVE(nan, desc->nan);
    GIVE(indices, desc->indices);
    GIVE(index_type, desc->index_type);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnSetLRNDescriptor(cudnnLRNDescriptor_t desc, unsigned n, double alpha, double beta, double k)
{
    if (!desc || n < 1 || n > 16 || k < 1e-5 || beta < 0.01)
        return CUDNN_STATUS_BAD_PARAM;
    *desc = (struct cudnnLRNStruct){ n, alpha, beta, k };
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnGetLRNDescriptor(cudnnLRNDescriptor_t desc, unsigned *n, double *alpha, double *beta, double *k)
{
    if (!desc)
        return CUDNN_STATUS_BAD_PARAM;
    GIVE(n, desc->n);
    GIVE(alpha, desc->alpha);
    GIVE(beta, desc->beta);
    GIVE(k, desc->k);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnSetSpatialTransformerNdDescriptor(cudnnSpatialTransformerDescriptor_t desc, cudnnSamplerType_t sampler,
                                                             cudnnDataType_t type, int n, const int *dim)
{
    if (!desc || !dim || sampler != CUDNN_SAMPLER_BILINEAR)
        return CUDNN_STATUS_BAD_PARAM;
    if (n != 4 || !aw_dnn_type_bits(type))
        return CUDNN_STATUS_NOT_SUPPORTED;
    for (int i = 0; i < n; i++)
        if (dim[i] < 1)
            return CUDNN_STATUS_BAD_PARAM;
    *desc = (struct cudnnSpatialTransformerStruct){ sampler, type, n, { dim[0], dim[1], dim[2], dim[3] } };
    return CUDNN_STATUS_SUCCESS;
}
