/* Names of cuBLAS's status codes, for both libraries, and version numbers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cublas_proto.h"
#include "cublasLt_proto.h"

static const struct status_text {
    cublasStatus_t status;
    const char *name, *text;
} texts[] = {
    { CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "success" },
    { CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized" },
    { CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed" },
    { CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE",
      "an unsupported value or parameter was passed to the function" },
    { CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH", "the device lacks a feature that the function needs" },
    { CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR", "an access to GPU memory space failed" },
    { CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED", "the function failed to launch on the GPU" },
    { CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed" },
    { CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED", "the functionality is not supported" },
    { CUBLAS_STATUS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR", "a license was not found" },
};

static const struct status_text *status_find(cublasStatus_t status)
{
    static const struct status_text unknown = { 0, "CUBLAS_STATUS_<unknown>", "<unknown>" };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i].status == status)
            return &texts[i];
    return &unknown;
}

const char *awcublas_cublasGetStatusName(cublasStatus_t status)
{
    return status_find(status)->name;
}

const char *awcublas_cublasGetStatusString(cublasStatus_t status)
{
    return status_find(status)->text;
}

const char *awcublaslt_cublasLtGetStatusName(cublasStatus_t status)
{
    return status_find(status)->name;
}

const char *awcublaslt_cublasLtGetStatusString(cublasStatus_t status)
{
    return status_find(status)->text;
}

/* ---- Versions, of the last release of each CUDA that the tables were taken from. */

static cublasStatus_t property(libraryPropertyType type, int major, int minor, int patch, int *ret_value)
{
    if (!ret_value || type < MAJOR_VERSION || type > PATCH_LEVEL)
        return CUBLAS_STATUS_INVALID_VALUE;
    *ret_value = type == MAJOR_VERSION ? major : type == MINOR_VERSION ? minor : patch;
    return CUBLAS_STATUS_SUCCESS;
}

/* Version of the library in three parts, and of the runtime it was made for. */
#define VERSION(lib, major, minor, patch, cudart)                                                        \
    cublasStatus_t awcublas_cublasGetVersion_v2_##lib(cublasHandle_t handle, int *version)               \
    {                                                                                                    \
        return awcublas_cublasGetVersion_##lib(version);                                                 \
    }                                                                                                    \
    cublasStatus_t awcublas_cublasGetVersion_##lib(int *version)                                         \
    {                                                                                                    \
        if (!version)                                                                                    \
            return CUBLAS_STATUS_INVALID_VALUE;                                                          \
        *version = (major) * 10000 + (minor) * 100 + (patch);                                            \
        return CUBLAS_STATUS_SUCCESS;                                                                    \
    }                                                                                                    \
    cublasStatus_t awcublas_cublasGetProperty_##lib(libraryPropertyType type, int *value)                \
    {                                                                                                    \
        return property(type, major, minor, patch, value);                                               \
    }                                                                                                    \
    cublasStatus_t awcublaslt_cublasLtGetProperty_##lib(libraryPropertyType type, int *value)            \
    {                                                                                                    \
        return property(type, major, minor, patch, value);                                               \
    }                                                                                                    \
    size_t awcublaslt_cublasLtGetVersion_##lib(void) { return (major) * 10000 + (minor) * 100 + (patch); } \
    size_t awcublas_cublasGetCudartVersion_##lib(void) { return cudart; }                                \
    size_t awcublaslt_cublasLtGetCudartVersion_##lib(void) { return cudart; }

VERSION(11, 11, 11, 3, 11080)
VERSION(12, 12, 9, 3, 12090)
VERSION(13, 13, 10, 0, 13000)
