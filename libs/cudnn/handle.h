/* Handles of cuDNN, and the descriptors of its v7-style interface.  A descriptor belongs to who made it; none is changed by a
 * call that only takes it, and what a call needs of one it copies: it may be destroyed while the call's work still waits in
 * its stream. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUDNN_HANDLE_H
#define AW_LIBS_CUDNN_HANDLE_H

#include "layers.h"
#include "program.h"
#include "status.h"

struct cudnnContext {
    uint32_t magic;
    struct aw_lib_queue queue;
};

/* A live handle? */
bool aw_dnn_handle_good(cudnnHandle_t handle);

struct cudnnTensorStruct {
    struct aw_dnn_shape s; /* n 0: not set yet */
};

struct cudnnFilterStruct {
    struct aw_dnn_shape s;
    cudnnTensorFormat_t format;
};

struct cudnnConvolutionStruct {
    int n;
    int pad[AW_DNN_DIMS], stride[AW_DNN_DIMS], dilation[AW_DNN_DIMS];
    cudnnConvolutionMode_t mode;
    cudnnDataType_t compute;
    cudnnMathType_t math;
    cudnnReorderType_t reorder;
    int groups;
};

struct cudnnPoolingStruct {
    cudnnPoolingMode_t mode;
    cudnnNanPropagation_t nan;
    int n;
    int window[AW_DNN_DIMS], pad[AW_DNN_DIMS], stride[AW_DNN_DIMS];
};

struct cudnnActivationStruct {
    cudnnActivationMode_t mode;
    cudnnNanPropagation_t nan;
    double coef, swish_beta;
};

struct cudnnOpTensorStruct {
    cudnnOpTensorOp_t op;
    cudnnDataType_t compute;
    cudnnNanPropagation_t nan;
};

struct cudnnReduceTensorStruct {
    cudnnReduceTensorOp_t op;
    cudnnDataType_t compute;
    cudnnNanPropagation_t nan;
    cudnnReduceTensorIndices_t indices;
    cudnnIndicesType_t index_type;
};

struct cudnnLRNStruct {
    unsigned n;
    double alpha, beta, k;
};

struct cudnnSpatialTransformerStruct {
    cudnnSamplerType_t sampler;
    cudnnDataType_t type;
    int n;
    int dim[AW_DNN_DIMS];
};

struct cudnnDropoutStruct {
    float rate;
    void *states; /* device memory of the program's */
    size_t size;
    unsigned long long seed;
};

/* alpha or beta of a call: double for tensors of double, else float. */
double aw_dnn_scale(const void *at, cudnnDataType_t type);

/* The pointwise form of an activation, or of its gradient by y (by x where y does not tell).  False: there is no such mode. */
bool aw_dnn_activation(const struct cudnnActivationStruct *a, bool gradient, struct aw_dnn_pointwise *ret);

/* Operands of calls. */
#define AW_DNN_GIVEN(desc, ptr)                    \
    {                                              \
        (desc) ? &(desc)->s : NULL, ptr, AW_LIB_IN \
    }
#define AW_DNN_MADE(desc, ptr, beta)                                                \
    {                                                                               \
        (desc) ? &(desc)->s : NULL, ptr, AW_LIB_OUT | ((beta) != 0 ? AW_LIB_IN : 0) \
    }
#define AW_DNN_RUN(handle, kernel, params, ...)                                                                      \
    aw_dnn_call(&(handle)->queue, kernel, &(params), sizeof(params), (const struct aw_dnn_operand[]){ __VA_ARGS__ }, \
                (int)(sizeof((const struct aw_dnn_operand[]){ __VA_ARGS__ }) / sizeof(struct aw_dnn_operand)))

/* The first check of nearly every call. */
#define AW_DNN_NEED(handle, condition)           \
    do {                                         \
        if (!aw_dnn_handle_good(handle))         \
            return CUDNN_STATUS_NOT_INITIALIZED; \
        if (!(condition))                        \
            return CUDNN_STATUS_BAD_PARAM;       \
    } while (0)

#endif
