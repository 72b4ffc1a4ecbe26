/* Names of cuSPARSE's status codes, and version numbers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cusparse_proto.h"
#include "handle.h"

static const struct status_text {
    cusparseStatus_t status;
    const char *name, *text;
} texts[] = {
    { CUSPARSE_STATUS_SUCCESS, "CUSPARSE_STATUS_SUCCESS", "success" },
    { CUSPARSE_STATUS_NOT_INITIALIZED, "CUSPARSE_STATUS_NOT_INITIALIZED", "initialization error" },
    { CUSPARSE_STATUS_ALLOC_FAILED, "CUSPARSE_STATUS_ALLOC_FAILED", "out of memory" },
    { CUSPARSE_STATUS_INVALID_VALUE, "CUSPARSE_STATUS_INVALID_VALUE", "invalid value" },
    { CUSPARSE_STATUS_ARCH_MISMATCH, "CUSPARSE_STATUS_ARCH_MISMATCH", "architecture mismatch" },
    { CUSPARSE_STATUS_MAPPING_ERROR, "CUSPARSE_STATUS_MAPPING_ERROR", "texture cannot be bound" },
    { CUSPARSE_STATUS_EXECUTION_FAILED, "CUSPARSE_STATUS_EXECUTION_FAILED", "kernel launch failure" },
    { CUSPARSE_STATUS_INTERNAL_ERROR, "CUSPARSE_STATUS_INTERNAL_ERROR", "internal error" },
    { CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED, "CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED", "matrix type not supported" },
    { CUSPARSE_STATUS_ZERO_PIVOT, "CUSPARSE_STATUS_ZERO_PIVOT", "zero pivot" },
    { CUSPARSE_STATUS_NOT_SUPPORTED, "CUSPARSE_STATUS_NOT_SUPPORTED", "operation not supported" },
    { CUSPARSE_STATUS_INSUFFICIENT_RESOURCES, "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES", "insufficient resources" },
};

static const struct status_text *status_find(cusparseStatus_t status)
{
    static const struct status_text unknown = { 0, "unrecognized error code", "unrecognized error code" };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i].status == status)
            return &texts[i];
    return &unknown;
}

const char *awcusparse_cusparseGetErrorName(cusparseStatus_t status)
{
    return status_find(status)->name;
}

const char *awcusparse_cusparseGetErrorString(cusparseStatus_t status)
{
    return status_find(status)->text;
}

/* ---- Versions, of the last release of CUDA 11 and of the first of CUDA 13 that the tables were taken from. */

#define VERSION(lib, major, minor, patch)                                                       \
    cusparseStatus_t awcusparse_cusparseGetVersion_##lib(cusparseHandle_t handle, int *version) \
    {                                                                                           \
        cusparseStatus_t status = aw_sparse_handle_check(handle);                               \
        if (status == CUSPARSE_STATUS_SUCCESS && !version)                                      \
            status = CUSPARSE_STATUS_INVALID_VALUE;                                             \
        if (status == CUSPARSE_STATUS_SUCCESS)                                                  \
            *version = (major)*1000 + (minor)*100 + (patch);                                    \
        return status;                                                                          \
    }                                                                                           \
    cusparseStatus_t awcusparse_cusparseGetProperty_##lib(libraryPropertyType type, int *value) \
    {                                                                                           \
        if (!value || (unsigned)type > PATCH_LEVEL)                                             \
            return CUSPARSE_STATUS_INVALID_VALUE;                                               \
        *value = type == MAJOR_VERSION ? (major) : type == MINOR_VERSION ? (minor) : (patch);   \
        return CUSPARSE_STATUS_SUCCESS;                                                         \
    }

VERSION(11, 11, 7, 5)
VERSION(12, 12, 6, 3)
