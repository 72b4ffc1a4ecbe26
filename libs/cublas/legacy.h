/* The legacy interface: one handle for all, and the status of the last call. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUBLAS_LEGACY_H
#define AW_LIBS_CUBLAS_LEGACY_H

#include "cublas_types.h"

/* The handle, or NULL before cublasInit. */
cublasHandle_t aw_blas_legacy_handle(void);
/* Keeps a failure for cublasGetError. */
void aw_blas_legacy_end(cublasStatus_t status);
/* Letters of either case; -1, which every function refuses, for others. */
cublasOperation_t aw_blas_legacy_op(char letter);
cublasFillMode_t aw_blas_legacy_uplo(char letter);
cublasDiagType_t aw_blas_legacy_diag(char letter);
cublasSideMode_t aw_blas_legacy_side(char letter);

#endif
