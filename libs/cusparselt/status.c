/* cuSPARSELt's version and the names and texts of its status codes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cusparseLt_proto.h"

static const struct status_text {
    const char *name, *text;
} texts[] = {
    [CUSPARSE_STATUS_SUCCESS] = { "CUSPARSE_STATUS_SUCCESS", "success" },
    [CUSPARSE_STATUS_NOT_INITIALIZED] = { "CUSPARSE_STATUS_NOT_INITIALIZED", "initialization error" },
    [CUSPARSE_STATUS_ALLOC_FAILED] = { "CUSPARSE_STATUS_ALLOC_FAILED", "out of memory" },
    [CUSPARSE_STATUS_INVALID_VALUE] = { "CUSPARSE_STATUS_INVALID_VALUE", "invalid value" },
    [CUSPARSE_STATUS_ARCH_MISMATCH] = { "CUSPARSE_STATUS_ARCH_MISMATCH", "architecture mismatch" },
    [CUSPARSE_STATUS_MAPPING_ERROR] = { "CUSPARSE_STATUS_MAPPING_ERROR", "mapping error" },
    [CUSPARSE_STATUS_EXECUTION_FAILED] = { "CUSPARSE_STATUS_EXECUTION_FAILED", "execution failed" },
    [CUSPARSE_STATUS_INTERNAL_ERROR] = { "CUSPARSE_STATUS_INTERNAL_ERROR", "internal error" },
    [CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED] = { "CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED", "matrix type not supported" },
    [CUSPARSE_STATUS_ZERO_PIVOT] = { "CUSPARSE_STATUS_ZERO_PIVOT", "zero pivot" },
    [CUSPARSE_STATUS_NOT_SUPPORTED] = { "CUSPARSE_STATUS_NOT_SUPPORTED", "operation not supported" },
    [CUSPARSE_STATUS_INSUFFICIENT_RESOURCES] = { "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES", "insufficient resources" },
};

static const struct status_text *status_find(cusparseStatus_t status)
{
    static const struct status_text unknown = { "CUSPARSE_STATUS_<unknown>", "unknown error" };
    return status >= 0 && (size_t)status < sizeof texts / sizeof texts[0] ? &texts[status] : &unknown;
}

const char *awcusparselt_cusparseLtGetErrorName(cusparseStatus_t status)
{
    return status_find(status)->name;
}

const char *awcusparselt_cusparseLtGetErrorString(cusparseStatus_t status)
{
    return status_find(status)->text;
}

/* Of the release that the table was taken from. */
enum { MAJOR = 0, MINOR = 10, PATCH = 0 };

cusparseStatus_t awcusparselt_cusparseLtGetProperty(libraryPropertyType type, int *value)
{
    static const int parts[] = { MAJOR, MINOR, PATCH };
    if (!value || type < 0 || type > 2)
        return CUSPARSE_STATUS_INVALID_VALUE;
    *value = parts[type];
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t awcusparselt_cusparseLtGetVersion(const cusparseLtHandle_t *handle, int *version)
{
    if (!handle || !version)
        return CUSPARSE_STATUS_INVALID_VALUE;
    *version = MAJOR * 1000000 + MINOR * 100 + PATCH;
    return CUSPARSE_STATUS_SUCCESS;
}
