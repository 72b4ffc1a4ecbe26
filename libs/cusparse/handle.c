/* Handles of cuSPARSE, their settings, the legacy descriptors of matrices, and the logger's settings. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "handle.h"

#include <stdlib.h>

#include "cusparse_proto.h"

enum { MAGIC = 0x73707273 };

cusparseStatus_t aw_sparse_handle_check(cusparseHandle_t handle)
{
    return handle && handle->magic == MAGIC ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_NOT_INITIALIZED;
}

cusparseStatus_t aw_sparse_status(CUresult result)
{
    return result == CUDA_SUCCESS       ? CUSPARSE_STATUS_SUCCESS
           : result == AW_LIB_NO_MEMORY ? CUSPARSE_STATUS_ALLOC_FAILED
                                        : CUSPARSE_STATUS_EXECUTION_FAILED;
}

cusparseStatus_t awcusparse_cusparseCreate(cusparseHandle_t *handle)
{
    if (!handle)
        return CUSPARSE_STATUS_INVALID_VALUE;
    struct cusparseContext *h = calloc(1, sizeof *h);
    if (!h)
        return CUSPARSE_STATUS_ALLOC_FAILED;
    if (aw_lib_queue_init(&h->queue) != CUDA_SUCCESS) {
        free(h);
        return CUSPARSE_STATUS_NOT_INITIALIZED;
    }
    h->magic = MAGIC;
    *handle = h;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t awcusparse_cusparseDestroy(cusparseHandle_t handle)
{
    cusparseStatus_t status = aw_sparse_handle_check(handle);
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    handle->magic = 0;
    free(handle);
    return CUSPARSE_STATUS_SUCCESS;
}

#define GETTER(function, type, field)                                            \
    cusparseStatus_t awcusparse_##function(cusparseHandle_t handle, type *value) \
    {                                                                            \
        cusparseStatus_t status = aw_sparse_handle_check(handle);                \
        if (status == CUSPARSE_STATUS_SUCCESS && !value)                         \
            status = CUSPARSE_STATUS_INVALID_VALUE;                              \
        if (status == CUSPARSE_STATUS_SUCCESS)                                   \
            *value = handle->field;                                              \
        return status;                                                           \
    }
#define SETTER(function, type, field, valid)                                    \
    cusparseStatus_t awcusparse_##function(cusparseHandle_t handle, type value) \
    {                                                                           \
        cusparseStatus_t status = aw_sparse_handle_check(handle);               \
        if (status == CUSPARSE_STATUS_SUCCESS && !(valid))                      \
            status = CUSPARSE_STATUS_INVALID_VALUE;                             \
        if (status == CUSPARSE_STATUS_SUCCESS)                                  \
            handle->field = value;                                              \
        return status;                                                          \
    }

GETTER(cusparseGetStream, cudaStream_t, queue.stream)
SETTER(cusparseSetStream, cudaStream_t, queue.stream, true)
GETTER(cusparseGetPointerMode, cusparsePointerMode_t, pointer_mode)
SETTER(cusparseSetPointerMode, cusparsePointerMode_t, pointer_mode, (unsigned)value <= CUSPARSE_POINTER_MODE_DEVICE)

/* ---- Legacy descriptors. */

cusparseStatus_t awcusparse_cusparseCreateMatDescr(cusparseMatDescr_t *descr)
{
    if (!descr)
        return CUSPARSE_STATUS_INVALID_VALUE;
    struct cusparseMatDescr *d = calloc(1, sizeof *d);
    if (!d)
        return CUSPARSE_STATUS_ALLOC_FAILED;
    *descr = d;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t awcusparse_cusparseDestroyMatDescr(cusparseMatDescr_t descr)
{
    free(descr);
    return CUSPARSE_STATUS_SUCCESS;
}

#define FIELD(name, type, field, largest)                                               \
    cusparseStatus_t awcusparse_cusparseSet##name(cusparseMatDescr_t descr, type value) \
    {                                                                                   \
        if (!descr || (unsigned)value > (largest))                                      \
            return CUSPARSE_STATUS_INVALID_VALUE;                                       \
        descr->field = value;                                                           \
        return CUSPARSE_STATUS_SUCCESS;                                                 \
    }                                                                                   \
    type awcusparse_cusparseGet##name(cusparseMatDescr_t descr)                         \
    {                                                                                   \
        return descr ? descr->field : (type)0;                                          \
    }

FIELD(MatType, cusparseMatrixType_t, type, CUSPARSE_MATRIX_TYPE_TRIANGULAR)
FIELD(MatFillMode, cusparseFillMode_t, fill, CUSPARSE_FILL_MODE_UPPER)
FIELD(MatDiagType, cusparseDiagType_t, diag, CUSPARSE_DIAG_TYPE_UNIT)
FIELD(MatIndexBase, cusparseIndexBase_t, base, CUSPARSE_INDEX_BASE_ONE)

/* ---- What there is to say goes to ANYWARP_LOG: settings of the logger are taken and change nothing. */

cusparseStatus_t awcusparse_cusparseLoggerSetCallback(cusparseLoggerCallback_t callback)
{
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t awcusparse_cusparseLoggerSetFile(FILE *file)
{
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t awcusparse_cusparseLoggerOpenFile(const char *name)
{
    return name ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_INVALID_VALUE;
}

cusparseStatus_t awcusparse_cusparseLoggerSetLevel(int level)
{
    return level >= 0 && level <= 5 ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_INVALID_VALUE;
}

cusparseStatus_t awcusparse_cusparseLoggerSetMask(int mask)
{
    return mask >= 0 ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_INVALID_VALUE;
}

cusparseStatus_t awcusparse_cusparseLoggerForceDisable(void)
{
    return CUSPARSE_STATUS_SUCCESS;
}
