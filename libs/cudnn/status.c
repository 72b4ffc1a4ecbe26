/* Status codes of cuDNN, their names, and version numbers.  Codes here are version 9's; those of 8 are made of them at its
 * libraries' edge. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cudnn_proto.h"
#include "status.h"

/* Name, code of version 8: of a family of codes in 9 the one that 8 had for all of it. */
static const struct status_name {
    cudnnStatus_t status;
    int in_8;
    const char *name;
} names[] = {
#define S(name, in_8) { CUDNN_STATUS_##name, in_8, "CUDNN_STATUS_" #name },
    S(SUCCESS, 0) S(NOT_INITIALIZED, 1) S(SUBLIBRARY_VERSION_MISMATCH, 14) S(SERIALIZATION_VERSION_MISMATCH, 14) S(DEPRECATED, 9)
        S(LICENSE_ERROR, 10) S(RUNTIME_IN_PROGRESS, 12) S(RUNTIME_FP_OVERFLOW, 13) S(SUBLIBRARY_LOADING_FAILED, 14)
            S(BAD_PARAM, 3) S(INVALID_VALUE, 5) S(BAD_PARAM_NULL_POINTER, 3) S(BAD_PARAM_MISALIGNED_POINTER, 3)
                S(BAD_PARAM_NOT_FINALIZED, 3) S(BAD_PARAM_OUT_OF_BOUND, 3) S(BAD_PARAM_SIZE_INSUFFICIENT, 3)
                    S(BAD_PARAM_STREAM_MISMATCH, 3) S(BAD_PARAM_SHAPE_MISMATCH, 3) S(BAD_PARAM_DUPLICATED_ENTRIES, 3)
                        S(BAD_PARAM_ATTRIBUTE_TYPE, 3) S(BAD_PARAM_CUDA_GRAPH_MISMATCH, 3) S(BAD_PARAM_DESCRIPTOR_TYPE, 3) S(
                            NOT_SUPPORTED, 9) S(NOT_SUPPORTED_GRAPH_PATTERN, 9) S(NOT_SUPPORTED_SHAPE, 9)
                            S(NOT_SUPPORTED_DATA_TYPE, 9) S(NOT_SUPPORTED_LAYOUT, 9) S(NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER, 9)
                                S(NOT_SUPPORTED_INCOMPATIBLE_CUDART, 9) S(NOT_SUPPORTED_ARCH_MISMATCH, 6)
                                    S(NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING, 11) S(NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE, 9)
                                        S(NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT, 9) S(NOT_SUPPORTED_PADDING, 9)
                                            S(NOT_SUPPORTED_BAD_LAUNCH_PARAM, 9) S(NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API, 9)
                                                S(NOT_SUPPORTED_INVALID_DYNAMIC_SHAPE, 9) S(INTERNAL_ERROR, 4)
                                                    S(INTERNAL_ERROR_COMPILATION_FAILED, 4) S(INTERNAL_ERROR_UNEXPECTED_VALUE, 4)
                                                        S(INTERNAL_ERROR_HOST_ALLOCATION_FAILED,
                                                          2) S(INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED,
                                                               2) S(INTERNAL_ERROR_BAD_LAUNCH_PARAM, 4)
                                                            S(INTERNAL_ERROR_TEXTURE_CREATION_FAILED, 7) S(EXECUTION_FAILED, 8)
                                                                S(EXECUTION_FAILED_CUDA_DRIVER, 8) S(EXECUTION_FAILED_CUBLAS, 8)
                                                                    S(EXECUTION_FAILED_CUDART, 8) S(EXECUTION_FAILED_CURAND, 8)
#undef S
};

/* Names of version 8's codes, by number. */
static const char *const names_8[] = {
    "CUDNN_STATUS_SUCCESS",
    "CUDNN_STATUS_NOT_INITIALIZED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_BAD_PARAM",
    "CUDNN_STATUS_INTERNAL_ERROR",
    "CUDNN_STATUS_INVALID_VALUE",
    "CUDNN_STATUS_ARCH_MISMATCH",
    "CUDNN_STATUS_MAPPING_ERROR",
    "CUDNN_STATUS_EXECUTION_FAILED",
    "CUDNN_STATUS_NOT_SUPPORTED",
    "CUDNN_STATUS_LICENSE_ERROR",
    "CUDNN_STATUS_RUNTIME_PREREQUISITE_MISSING",
    "CUDNN_STATUS_RUNTIME_IN_PROGRESS",
    "CUDNN_STATUS_RUNTIME_FP_OVERFLOW",
    "CUDNN_STATUS_VERSION_MISMATCH",
};

static const struct status_name *status_find(cudnnStatus_t status)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].status == status)
            return &names[i];
    return NULL;
}

cudnnStatus_t aw_dnn_status_8(cudnnStatus_t status)
{
    const struct status_name *n = status_find(status);
    return n ? (cudnnStatus_t)n->in_8 : (cudnnStatus_t)4;
}

cudnnStatus_t aw_dnn_status(CUresult result)
{
    return result == CUDA_SUCCESS       ? CUDNN_STATUS_SUCCESS
           : result == AW_LIB_NO_MEMORY ? CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED
                                        : CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER;
}

const char *awcudnn_cudnnGetErrorString_9(cudnnStatus_t status)
{
    const struct status_name *n = status_find(status);
    return n ? n->name : "CUDNN_STATUS_<unknown>";
}

const char *awcudnn_cudnnGetErrorString_8(cudnnStatus_t status)
{
    return (size_t)status < sizeof names_8 / sizeof names_8[0] ? names_8[status] : "CUDNN_STATUS_<unknown>";
}

/* ---- What the thread's last call failed at. */

static _Thread_local char last_error[256];

cudnnStatus_t aw_dnn_fail(cudnnStatus_t status, const char *why)
{
    snprintf(last_error, sizeof last_error, "%s: %s", awcudnn_cudnnGetErrorString_9(status), why);
    return status;
}

void awcudnn_cudnnGetLastErrorString(char *message, size_t max_size)
{
    if (!message || !max_size)
        return;
    snprintf(message, max_size, "%s", last_error);
    last_error[0] = '\0';
}

/* ---- Versions, of the releases that the table was taken from. */

/* `number` is the whole version, `device` the highest capability of a card it knows. */
#define VERSION(lib, major, minor, patch, number, device, cudart)                       \
    size_t awcudnn_cudnnGetVersion_##lib(void)                                          \
    {                                                                                   \
        return number;                                                                  \
    }                                                                                   \
    size_t awcudnn_cudnnGetMaxDeviceVersion_##lib(void)                                 \
    {                                                                                   \
        return device;                                                                  \
    }                                                                                   \
    size_t awcudnn_cudnnGetCudartVersion_##lib(void)                                    \
    {                                                                                   \
        return cudart;                                                                  \
    }                                                                                   \
    cudnnStatus_t awcudnn_cudnnGetProperty_##lib(libraryPropertyType type, int *value)  \
    {                                                                                   \
        if (!value || type > PATCH_LEVEL)                                               \
            return CUDNN_STATUS_BAD_PARAM;                                              \
        *value = type == MAJOR_VERSION ? major : type == MINOR_VERSION ? minor : patch; \
        return CUDNN_STATUS_SUCCESS;                                                    \
    }

VERSION(8, 8, 9, 7, 8907, 900, 12020)
VERSION(9, 9, 28, 1, 92801, 1210, 13000)

/* The sublibraries are one: they fit each other. */
#define CHECK(name)                                       \
    cudnnStatus_t awcudnn_cudnn##name##VersionCheck(void) \
    {                                                     \
        return CUDNN_STATUS_SUCCESS;                      \
    }

CHECK(Graph)
CHECK(Ops)
CHECK(Cnn)
CHECK(Adv)
CHECK(SubquadraticOps)
CHECK(OpsInfer)
CHECK(OpsTrain)
CHECK(CnnInfer)
CHECK(CnnTrain)
CHECK(AdvInfer)
CHECK(AdvTrain)
