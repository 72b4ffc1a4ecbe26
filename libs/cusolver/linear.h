/* Systems of equations, for the interface of each type and the 64-bit one. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUSOLVER_LINEAR_H
#define AW_LIBS_CUSOLVER_LINEAR_H

#include "call.h"

/* Handles are checked here.  Pivots are int32_t, or int64_t where `wide`. */
cusolverStatus_t aw_solver_potrf(cusolverDnHandle_t h, char t, cublasFillMode_t uplo, int64_t n, void *a, int64_t lda, int *info);
cusolverStatus_t aw_solver_potrs(cusolverDnHandle_t h, char t, cublasFillMode_t uplo, int64_t n, int64_t nrhs, const void *a,
                                 int64_t lda, void *b, int64_t ldb, int *info);
cusolverStatus_t aw_solver_getrf(cusolverDnHandle_t h, char t, int64_t m, int64_t n, void *a, int64_t lda, void *pivots,
                                 bool wide, int *info);
cusolverStatus_t aw_solver_getrs(cusolverDnHandle_t h, char t, cublasOperation_t op, int64_t n, int64_t nrhs, const void *a,
                                 int64_t lda, const void *pivots, bool wide, void *b, int64_t ldb, int *info);
cusolverStatus_t aw_solver_sytrs(cusolverDnHandle_t h, char t, cublasFillMode_t uplo, int64_t n, int64_t nrhs, const void *a,
                                 int64_t lda, const int64_t *pivots, void *b, int64_t ldb, int *info);
cusolverStatus_t aw_solver_trtri(cusolverDnHandle_t h, char t, cublasFillMode_t uplo, cublasDiagType_t diag, int64_t n, void *a,
                                 int64_t lda, int *info);

#endif
