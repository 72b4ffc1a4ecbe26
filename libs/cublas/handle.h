/* What a handle of cuBLAS holds. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUBLAS_HANDLE_H
#define AW_LIBS_CUBLAS_HANDLE_H

#include "common/queue.h"
#include "cublas_types.h"

struct aw_amd_blas;

struct cublasContext {
    uint32_t magic;
    struct aw_lib_queue queue;
    cublasPointerMode_t pointer_mode;
    cublasAtomicsMode_t atomics;
    cublasMath_t math;
    int sm_target;
    bool anywhere; /* matrices may be the host's: AMD's library is not asked */
    void *workspace; /* the program's; kept, as nothing here needs any */
    size_t workspace_size;
    void *amd;       /* rocBLAS's handle, made at the first call, or NULL; under its lock */
};

/* A live handle?  CUBLAS_STATUS_NOT_INITIALIZED for NULL and what is none. */
cublasStatus_t aw_blas_handle_check(cublasHandle_t handle);
/* The status for what the driver answered. */
cublasStatus_t aw_blas_status(CUresult result);

#endif
