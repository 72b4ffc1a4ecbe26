/* What a handle of cuSPARSE holds. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUSPARSE_HANDLE_H
#define AW_LIBS_CUSPARSE_HANDLE_H

#include "common/queue.h"
#include "cusparse_types.h"

struct cusparseContext {
    uint32_t magic;
    struct aw_lib_queue queue;
    cusparsePointerMode_t pointer_mode;
};

/* A live handle?  CUSPARSE_STATUS_NOT_INITIALIZED for NULL and what is none. */
cusparseStatus_t aw_sparse_handle_check(cusparseHandle_t handle);
/* The status for what the driver answered. */
cusparseStatus_t aw_sparse_status(CUresult result);

#endif
